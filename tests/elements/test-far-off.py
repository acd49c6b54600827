#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What scores say of scans that are localized in the wrong place, in the simulated town (TAP)."""

import os
import subprocess
import sys
import tempfile

import gi
import numpy as np

gi.require_version("Gst", "1.0")
gi.require_version("GstPointCloud", "1.0")
from gi.repository import Gst, GstPointCloud  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

SCANS = 20
# Where the drive begins, and places in the same streets that it does not come to.
RIGHT = "0,0,1.8"
# Found for a drive that starts 0.8 m along its path.
WRONG = "-55,-1,1.8", "40,0,1.8", "20,10,1.8,90"
# What a scan of the town's own voxels would reach of the largest NVTL: see docs/mathematics.md.
EXPECTED = {1: 0.583, 2: 0.717}


def drive(start, resolution, options=""):
    """Status, NVTL as a part of what is expected, matched ratio and error in metres of each scan."""
    pipeline = Gst.parse_launch(
        f"lidartestsrc rings=16 columns=512 num-buffers={SCANS} start-offset=0.8 ! ndtlocalize backend=cpu "
        f"map-location=town.pcd resolution={resolution} initial-pose={start} {options} "
        "! appsink name=sink sync=false")
    largest = {1: 2.217, 2: 4.197}[resolution] * EXPECTED[resolution]
    sink = pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    scans = []
    while sample := sink.emit("pull-sample"):
        estimate, truth = (GstPointCloud.buffer_get_pose_meta(sample.get_buffer(), role) for role in
                           (GstPointCloud.PoseRole.ESTIMATE, GstPointCloud.PoseRole.GROUND_TRUTH))
        scans.append((estimate.status, estimate.nvtl / largest, estimate.matched_ratio,
                      np.linalg.norm(np.subtract(list(estimate.position), list(truth.position)))))
    pipeline.set_state(Gst.State.NULL)
    assert len(scans) == SCANS
    return scans


def test_scores():
    """A scan in its place reaches what is expected, others do not."""
    for resolution in EXPECTED:
        for start in (RIGHT, *WRONG):
            scans = drive(start, resolution)
            nvtl, matched, metres = np.array([scan[1:] for scan in scans]).T
            print(f"# {resolution} m, from {start}: NVTL {nvtl.min():.2f} to {nvtl.max():.2f}, "
                  f"matched {matched.min():.2f} to {matched.max():.2f}, "
                  f"{metres.min():.2f} to {metres.max():.2f} m off")
            tracks = np.array([scan[0] == GstPointCloud.PoseStatus.TRACKING for scan in scans])
            # By default, from the first scan on.
            assert not tracks[metres > 0.1].any(), f"{start} is called tracking"
            assert (nvtl[metres < 0.1] > 0.9).all() and (nvtl[metres > 3] < 0.85).all()
            # A start in the wrong place may come to the right one, but not at once.
            assert tracks.all() if start == RIGHT else metres[0] > 3


def test_thresholds():
    """A threshold on NVTL between the two tells them apart as well, from the first scan on."""
    off = "min-fit=0 min-start-fit=0"
    for resolution, fraction in (1, 0.52), (2, 0.62):
        for start in (RIGHT, *WRONG):
            scans = drive(start, resolution, f"{off} nvtl-threshold-fraction={fraction}")
            tracking = [scan for scan in scans
                        if scan[0] == GstPointCloud.PoseStatus.TRACKING]
            assert all(scan[3] < 0.1 for scan in tracking), f"{start} is called tracking"
            assert start != RIGHT or len(tracking) == SCANS


def main():
    Gst.init(None)
    tests = test_scores, test_thresholds
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run([os.environ["NDT_MAP"], "simulate", "town.pcd"], check=True,
                       stdout=subprocess.DEVNULL)
        status = tap.run(tests)
        os.chdir("/")
    return status


sys.exit(main())
