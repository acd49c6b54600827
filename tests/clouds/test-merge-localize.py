#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Localization by two lidars that are merged, beside each by itself (TAP)."""

import os
import subprocess
import sys
import tempfile
import unittest

import gi
import numpy as np

gi.require_version("Gst", "1.0")
gi.require_version("GstPointCloud", "1.0")
from gi.repository import Gst, GstPointCloud  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "record"))
import unittest_tap  # noqa: E402

Gst.init(None)
SCANS = 120
# Up to 20 m/s; one looks ahead and down, the other back, half a period later.
DRIVE = ("seed=3 rings=16 columns=256 speed=20 lateral-acceleration=4 longitudinal-acceleration=3 "
         "motion-distortion=true moving-objects=8 odometry=true "
         # Of wheels and a gyroscope over a tenth of a second. Ten times as much, the simulator's
         # default, is 9 cm at 50 m, and more in the points than what is to be compensated.
         "odometry-translation-noise=0.005 odometry-rotation-noise=0.01")
MOUNTS = "1.2,0.4,0.3,0,10,20", "-1.5,-0.5,0.1,0,5,-160"
SOURCES = [f"lidartestsrc {DRIVE} num-buffers={SCANS} noise-seed={i + 1} sensor-pose={mount} "
           f"start-time={i * 50000000}" for i, mount in enumerate(MOUNTS)]
LOCALIZE = "ndtlocalize initial-pose=0,0,1.8 scan-leaf-size=1 min-range=3"


def position(buffer, role):
    meta = GstPointCloud.buffer_get_pose_meta(buffer, role)
    return np.array(list(meta.position)) if meta and meta.has_pose else None


class Localize(unittest.TestCase):
    def errors(self, line):
        """Of the clouds that bear the true pose: metres from it, after the start."""
        with tempfile.TemporaryDirectory() as work:
            subprocess.run([os.environ["NDT_MAP"], "simulate", "--seed", "3", f"{work}/map.pcd"],
                           check=True, capture_output=True)
            pipeline = Gst.parse_launch(line.replace("LOCALIZE", f"{LOCALIZE} map-location={work}/map.pcd")
                                        + " ! appsink name=sink sync=false max-buffers=4")
            pipeline.set_state(Gst.State.PLAYING)
            errors, statuses = [], []
            while sample := pipeline.get_by_name("sink").emit("pull-sample"):
                buffer = sample.get_buffer()
                truth = position(buffer, GstPointCloud.PoseRole.GROUND_TRUTH)
                estimate = position(buffer, GstPointCloud.PoseRole.ESTIMATE)
                meta = GstPointCloud.buffer_get_pose_meta(buffer, GstPointCloud.PoseRole.ESTIMATE)
                statuses.append(meta.status.value_nick)
                if truth is not None:
                    errors.append(np.linalg.norm(estimate - truth))
            message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            pipeline.set_state(Gst.State.NULL)
        self.assertIsNone(message and message.parse_error())
        self.assertEqual(len(errors), SCANS)
        return np.array(errors[5:]), statuses.count("tracking")

    def test_both_are_as_good_as_the_better(self):
        results = []
        for name, line in (
                ("first", f"{SOURCES[0]} ! LOCALIZE sensor-pose={MOUNTS[0]}"),
                ("second", f"{SOURCES[1]} ! LOCALIZE sensor-pose={MOUNTS[1]}"),
                ("both, compensated by odometry",
                 f"{SOURCES[0]} ! m. {SOURCES[1]} ! m. pointcloudmerge name=m "
                 f"sink_0::sensor-pose={MOUNTS[0]} sink_1::sensor-pose={MOUNTS[1]} ! LOCALIZE"),
                ("both, compensated by ndtlocalize",
                 f"{SOURCES[0]} ! m. {SOURCES[1]} ! m. pointcloudmerge name=m compensate=false "
                 f"sink_0::sensor-pose={MOUNTS[0]} sink_1::sensor-pose={MOUNTS[1]} ! LOCALIZE")):
            errors, tracking = self.errors(line)
            print(f"# {name}: mean {errors.mean():.4f} m, largest {errors.max():.4f} m, "
                  f"{tracking} tracking", flush=True)
            results.append(errors.mean())
        better = min(results[:2])
        self.assertLessEqual(results[2], better)
        self.assertLessEqual(results[3], better)


unittest_tap.run()
