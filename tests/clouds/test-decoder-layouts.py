#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The points of all decoders in every format, and in both recording applications (TAP).

    test-decoder-layouts.py BUILD-ROOT
"""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

BUILD = sys.argv.pop(1)
ROOT = os.environ["NDT_TEST_ROOT"]
for folder in "record", "sensors":
    sys.path.insert(0, os.path.join(ROOT, "tests", folder))
import drive  # noqa: E402
import unittest_tap  # noqa: E402
from clouds import FORMATS, Gst, dtype  # noqa: E402

SCANS = 8
APPS = {"c": [os.path.join(BUILD, "pipelines", "record-app")],
        "python": [sys.executable, os.path.join(ROOT, "pipelines", "record_app.py")]}
# docs/sensors.md, "Points".
CUSTOM = dtype("x:F32:0,y:F32:4,z:F32:8,intensity:F32:12,ring:U16:16,return:U8:18,time:F32:20", 24)


class Decoders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        work = cls.folder.name
        drive.ouster_metadata(f"{work}/ouster.json")
        drive.write_map(f"{work}/town.pcd")
        simulation = drive.SIMULATION.replace(f"num-buffers={drive.N_SCANS}", f"num-buffers={SCANS}")
        scans, cls.sources = {}, {}
        for encode, columns, decoder in (
                (drive.velodyne, 1800, "velodynedec cut-angle=180"),
                (drive.hesai, 2000, "hesaidec cut-angle=270"),
                (drive.robosense, 1800, "robosensedec cut-angle=180"),
                (drive.ouster, 1024, f"ousterdec metadata-location={work}/ouster.json")):
            if columns not in scans:
                scans[columns] = drive.simulate(columns, simulation)
            name = encode.__name__
            drive.write_capture(f"{work}/{name}.pcap", encode(scans[columns]))
            cls.sources[name] = f"lidarpcapsrc location={work}/{name}.pcap ! {decoder}"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def scans(self, line):
        pipeline = Gst.parse_launch(f"{line} ! appsink name=sink sync=false")
        pipeline.set_state(Gst.State.PLAYING)
        scans = []
        while sample := pipeline.get_by_name("sink").emit("pull-sample"):
            buffer = sample.get_buffer()
            scans.append((buffer.pts, buffer.extract_dup(0, buffer.get_size())))
        message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        pipeline.set_state(Gst.State.NULL)
        self.assertIsNone(message and message.parse_error())
        self.assertEqual(len(scans), SCANS)
        return scans

    def test_formats(self):
        """What a decoder makes of itself and what pointcloudconvert makes of its own layout."""
        for name, source in self.sources.items():
            own = self.scans(f"{source} ! pointcloud/x-raw,format=CUSTOM")
            for format_name in "XYZIRT", "XYZI_F32LE", "XYZ_F32LE":
                caps = f"pointcloud/x-raw,format={format_name}"
                with self.subTest(decoder=name, format=format_name):
                    direct = self.scans(f"{source} ! {caps}")
                    kind = dtype(*FORMATS[format_name])
                    for (pts, content), (other_pts, other) in zip(own, direct):
                        self.assertEqual(pts, other_pts)
                        points, others = np.frombuffer(content, CUSTOM), np.frombuffer(other, kind)
                        self.assertGreater(len(points), 5000)
                        for field in kind.names:
                            self.assertEqual(points[field].tobytes(), others[field].tobytes())
                    converted = self.scans(f"{source} ! pointcloud/x-raw,format=CUSTOM ! "
                                           f"pointcloudconvert ! {caps}")
                    for (_, one), (_, other) in zip(direct, converted):
                        one, other = np.frombuffer(one, kind), np.frombuffer(other, kind)
                        for field in kind.names:
                            self.assertEqual(one[field].tobytes(), other[field].tobytes())

    def test_recording_applications(self):
        """Every scan is written and localized."""
        for app, command in APPS.items():
            for name, source in self.sources.items():
                work = os.path.join(self.folder.name, app, name)
                with self.subTest(app=app, decoder=name):
                    done = subprocess.run(
                        [*command, f"{self.folder.name}/town.pcd", "0,0,1.8", work, source],
                        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
                    self.assertEqual(done.returncode, 0, done.stdout)
                    self.assertEqual(done.stdout.splitlines()[-1],
                                     f"{SCANS} scans, {SCANS} localized", done.stdout)
                    scans = self.scans(source)
                    for i, (pts, content) in enumerate(scans):
                        points = np.frombuffer(content, CUSTOM)
                        points = points[np.isfinite(points["x"])]
                        written = np.fromfile(f"{work}/velodyne/{i:06d}.bin", "<f4").reshape(-1, 4)
                        for k, field in enumerate(("x", "y", "z", "intensity")):
                            self.assertTrue((points[field] == written[:, k]).all())
                    times = np.loadtxt(f"{work}/times.txt")
                    self.assertTrue(np.allclose(times, [pts / 1e9 for pts, _ in scans], atol=1e-9))


# unittest_tap runs tests by themselves, without the class's fixtures.
Decoders.setUpClass()
try:
    unittest_tap.run()
finally:
    Decoders.tearDownClass()
