#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""pcdenc against numpy, pypcd4 and pcddec (TAP)."""

import glob
import os
import sys
import tempfile
import unittest

import numpy as np
import pypcd4

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "record"))
import unittest_tap  # noqa: E402
from clouds import (FORMATS, TYPES, Gst, custom, data, dtype, push, read_pcd)  # noqa: E402

ENCODINGS = "ascii", "binary", "binary_compressed"


def make_points(fields, step, n=500):
    random = np.random.default_rng(3)
    points = np.zeros(n, dtype(fields, step))
    for name in points.dtype.names:
        kind, shape = points.dtype[name].base, points[name].shape
        if kind.kind == "f":
            values = random.normal(0, 1, shape) * 10.0 ** random.uniform(-30, 30, shape)
            values[::17], values[5::31], values[7::31] = np.nan, np.inf, -np.inf
            points[name] = values
        else:
            limits = np.iinfo(kind)
            points[name] = random.integers(limits.min, limits.max, shape, endpoint=True)
    return points


def same(one, other):
    """Bit for bit, but for the payload of a NaN in text."""
    if one.dtype.base.kind == "f":
        nan = np.isnan(one)
        return bool((nan == np.isnan(other)).all() and (one[~nan] == other[~nan]).all())
    return bool((one == other).all())


class Encode(unittest.TestCase):
    def encode(self, points, caps, encoding):
        stream = push(f"pcdenc name=e encoding={encoding}", [(caps, points.tobytes())], stats="e")
        self.assertIsNone(stream.error)
        self.assertEqual(len(stream.samples), 1)
        self.assertEqual(stream.caps().get_name(), "pointcloud/x-pcd")
        buffer = stream.samples[0].get_buffer()
        self.assertEqual((buffer.pts, buffer.duration), (0, 10 ** 8))
        return stream.bytes()

    def check_file(self, file, points, encoding, organized=None):
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "cloud.pcd")
            with open(path, "wb") as out:
                out.write(file)
            read, header = read_pcd(path)
            self.assertEqual(header["DATA"], [encoding])
            self.assertEqual((int(header["WIDTH"][0]), int(header["HEIGHT"][0])),
                             organized or (len(points), 1))
            self.assertEqual(read.dtype.names, points.dtype.names)
            for name in points.dtype.names:
                self.assertEqual(read.dtype[name], points.dtype[name])
                self.assertTrue(same(points[name], read[name]), name)
                if encoding != "ascii":
                    self.assertEqual(points[name].tobytes(), read[name].tobytes())
            if len(points):
                other = pypcd4.PointCloud.from_path(path)
                for name in points.dtype.names:
                    if points[name].ndim == 1:
                        self.assertTrue(same(points[name], other.pc_data[name]), name)

    def test_layouts(self):
        """All types, several elements, gaps, overlaps; three encodings."""
        layouts = dict(FORMATS)
        layouts["types"] = (",".join(f"f{i}:{kind}:{8 * i}" for i, kind in enumerate(TYPES)), 64)
        layouts["gaps"] = ("z:F64:3,y:F64:11,x:F64:19,tag:U8:30,normal:F32:33:3", 50)
        layouts["overlap"] = ("x:F32:0,y:F32:4,z:F32:8,rgb:U32:12,red:U8:14", 16)
        for name, (fields, step) in layouts.items():
            points = make_points(fields, step)
            for encoding in ENCODINGS:
                caps = f"pointcloud/x-raw,format={name}" if name in FORMATS else custom(fields, step)
                with self.subTest(layout=name, encoding=encoding):
                    self.check_file(self.encode(points, caps, encoding), points, encoding)

    def test_organized_and_empty(self):
        fields, step = FORMATS["XYZI_F32LE"]
        points = make_points(fields, step, 12)
        for encoding in ENCODINGS:
            file = self.encode(points, "pointcloud/x-raw,format=XYZI_F32LE,width=4,height=3", encoding)
            self.check_file(file, points, encoding, (4, 3))
            file = self.encode(points[:0], "pointcloud/x-raw,format=XYZI_F32LE", encoding)
            self.check_file(file, points[:0], encoding)

    def test_back_and_forth(self):
        """Other programs' files, decoded, encoded and decoded again: the same points and layout."""
        folder = data("files_pcd")
        if not folder:
            self.skipTest("files_pcd of NDT_TEST_DATA is missing")
        n_read = 0
        for path in sorted(glob.glob(os.path.join(folder, "**", "*.pcd"), recursive=True)):
            # Two that are none, and one with padding that the decoder leaves in the points.
            if os.path.basename(path) in ("ascii_empty.pcd", "ascii_invalid_header.pcd",
                                          "ascii_with_underscore.pcd"):
                continue
            content = open(path, "rb").read()
            plain = push("pcddec", [("pointcloud/x-pcd", content)])
            for encoding in ENCODINGS:
                stream = push(f"pcddec ! pcdenc encoding={encoding} ! pcddec",
                              [("pointcloud/x-pcd", content)])
                with self.subTest(path=path, encoding=encoding):
                    self.assertIsNone(stream.error)
                    self.assertTrue(stream.samples[0].get_caps().is_equal(plain.samples[0].get_caps()))
                    if encoding == "ascii":
                        one, other = (np.frombuffer(s.bytes(), "u1") for s in (plain, stream))
                        # Some files have NaN with a payload, in floats and their colours.
                        structure = plain.caps()
                        kind = dtype(structure.get_string("fields"),
                                     structure.get_int("point-step")[1])
                        one, other = one.view(kind), other.view(kind)
                        for name in kind.names:
                            self.assertTrue(same(one[name], other[name]), name)
                    else:
                        self.assertEqual(stream.bytes(), plain.bytes())
            n_read += 1
        self.assertGreater(n_read, 28)

    def test_files_of_a_stream(self):
        """One file a buffer for multifilesink; read back with the framerate."""
        with tempfile.TemporaryDirectory() as work:
            pipeline = Gst.parse_launch(
                "lidartestsrc num-buffers=3 columns=64 rings=16 ! tee name=t ! queue ! "
                f"pcdenc encoding=binary_compressed ! multifilesink location={work}/%03d.pcd "
                f"t. ! queue ! multifilesink location={work}/%03d.bin")
            pipeline.set_state(Gst.State.PLAYING)
            message = pipeline.get_bus().timed_pop_filtered(
                60 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
            self.assertEqual(message.type, Gst.MessageType.EOS)
            pipeline.set_state(Gst.State.NULL)
            fields, step = FORMATS["XYZIRT"]
            for i in range(3):
                points = np.fromfile(f"{work}/{i:03d}.bin", dtype(fields, step))
                self.assertGreater(len(points), 500)
                read, _ = read_pcd(f"{work}/{i:03d}.pcd")
                for name in points.dtype.names:
                    self.assertEqual(points[name].tobytes(), read[name].tobytes())

    def test_bad_scans(self):
        fields, step = FORMATS["XYZ_F32LE"]
        points = make_points(fields, step).tobytes()
        stream = push("pcdenc name=e",
                      [(f"pointcloud/x-raw,format=XYZ_F32LE,width={len(points) // 12},height=1", content)
                       for content in (points, points[:-12], points)], stats="e")
        self.assertIsNone(stream.error)
        self.assertEqual([s.get_buffer().pts for s in stream.samples], [0, 2 * 10 ** 8])
        self.assertEqual(stream.stats.get_uint64("bad")[1], 1)


unittest_tap.run()
