#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""pointcloudconvert against numpy, to the bit (TAP)."""

import glob
import os
import sys
import unittest

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "record"))
import unittest_tap  # noqa: E402
from clouds import (FORMATS, TYPES, custom, data, dtype, edgefirst, push, read_pcd)  # noqa: E402

TIMES = ["time", "t", "timestamp", "time_stamp", "timeStamp", "offset_time", "time_offset"]


def convert(values, kind):
    """@values as @kind: rounded to even, saturated, NaN an integer 0."""
    kind = np.dtype(kind)
    values = values.astype("f8")
    if kind.kind == "f":
        limit = np.finfo(kind).max
        return np.where(np.isinf(values), values, np.clip(values, -limit, limit)).astype(kind)
    limits = np.iinfo(kind)
    return np.nan_to_num(np.clip(np.rint(values), limits.min, limits.max)).astype(kind)


def converted(points, fields, step, big_endian=False, renames=None):
    """What points become in another layout; gaps are 0."""
    kind = dtype(fields, step, big_endian)
    out = np.zeros(len(points), kind)
    for name in kind.names:
        source = (renames or {}).get(name, name)
        if source not in points.dtype.names:
            source = next((t for t in TIMES if name in TIMES and t in points.dtype.names), None)
        if source is None:
            continue
        values, to = points[source], kind[name].base
        scale = 1
        if name in TIMES and source in TIMES and points.dtype[source].kind != to.kind and \
                "f" in (points.dtype[source].kind, to.kind):
            scale = 1e9 if points.dtype[source].kind == "f" else 1e-9
        if values.dtype.newbyteorder("=") == to.newbyteorder("="):
            new = values  # the same bits, those of a NaN as well
        else:
            new = convert(values.astype("f8") * scale, to)
        if out[name].ndim == 2:
            new = new.reshape(len(out), -1)
            n = min(new.shape[1], out[name].shape[1])
            out[name][:, :n] = new[:, :n]
        else:
            out[name] = new[:, 0] if new.ndim == 2 else new
    return out.tobytes()


def random_points(fields, step, big_endian=False, n=1000):
    """Values of any size, NaN and infinities among them; coordinates such as clouds have."""
    random = np.random.default_rng(1)
    points = np.zeros(n, dtype(fields, step, big_endian))
    for name in points.dtype.names:
        kind = points.dtype[name].base
        shape = points[name].shape
        if name in "xyz":
            points[name] = random.normal(0, 50, shape)
        elif kind.kind == "f":
            values = random.normal(0, 1, shape) * 10.0 ** random.uniform(-3, 12, shape)
            values[::17], values[5::31], values[7::31] = np.nan, np.inf, -np.inf
            values[::3] = np.round(values[::3]) + 0.5
            points[name] = values
        else:
            limits = np.iinfo(kind)
            points[name] = random.integers(limits.min, limits.max, shape, endpoint=True)
    return points


class Convert(unittest.TestCase):
    maxDiff = 500

    def check(self, caps, points, out_caps, fields, step, big_endian=False, options="",
              renames=None):
        stream = push(f"pointcloudconvert {options}", [(caps, points.tobytes())], out_caps)
        self.assertIsNone(stream.error)
        self.assertEqual(len(stream.samples), 1)
        self.assertEqual(stream.bytes(), converted(points, fields, step, big_endian, renames))
        buffer = stream.samples[0].get_buffer()
        self.assertEqual((buffer.pts, buffer.duration), (0, 10 ** 8))
        return stream

    def test_all_types_and_byte_orders(self):
        """Every type of ROS's PointField to every other, from and to both byte orders."""
        base = "x:F32:0,y:F32:4,z:F32:8"
        for kind in TYPES:
            for other in TYPES:
                for big, other_big in (False, False), (True, False), (False, True), (True, True):
                    fields, out = f"{base},v:{kind}:13,w:{kind}:21", f"v:{other}:1,{base.replace('F32', 'F64').replace(':4', ':17').replace(':8', ':25').replace('x:F64:0', 'x:F64:9')}"
                    points = random_points(fields, 29, big)
                    caps = edgefirst(fields, 29, len(points), 1, True) if big else custom(fields, 29)
                    out_caps = edgefirst(out, 33, len(points), 1, True) if other_big \
                        else custom(out, 33)
                    with self.subTest(kind=kind, other=other, big=big, other_big=other_big):
                        self.check(caps, points, out_caps, out, 33, other_big)

    def test_files(self):
        """All layouts of other programs' PCD files, to each known format and a packed one."""
        folder = data("files_pcd")
        if not folder:
            self.skipTest("files_pcd of NDT_TEST_DATA is missing")
        paths = sorted(glob.glob(os.path.join(folder, "**", "*.pcd"), recursive=True))
        self.assertGreater(len(paths), 30)
        n_read = 0
        for path in paths:
            if os.path.basename(path) in ("ascii_empty.pcd", "ascii_invalid_header.pcd"):
                continue
            points, header = read_pcd(path)
            names = {"X": "x", "Y": "y", "Z": "z"}
            points = points.astype(np.dtype([(names.get(n, n), *points.dtype.descr[i][1:])
                                             for i, n in enumerate(points.dtype.names)]))
            targets = dict(FORMATS)
            targets["CUSTOM"] = ("z:F64:1,y:F64:9,x:F64:17,intensity:U8:25,rgb:U32:26", 31)
            for name, (fields, step) in targets.items():
                caps = custom(fields, step) if name == "CUSTOM" else f"pointcloud/x-raw,format={name}"
                stream = push("pcddec ! pointcloudconvert",
                              [("pointcloud/x-pcd", open(path, "rb").read())], caps)
                with self.subTest(path=path, to=name):
                    self.assertIsNone(stream.error)
                    self.assertEqual(stream.bytes(), converted(points, fields, step))
                    if int(header["HEIGHT"][0]) > 1:
                        self.assertEqual(stream.caps().get_int("width")[1], int(header["WIDTH"][0]))
            n_read += 1
        self.assertGreater(n_read, 30)

    def test_passes_what_is_right(self):
        """The same memory leaves where points are as they should be, whatever their caps are called."""
        fields, step = FORMATS["XYZI_F32LE"]
        points = random_points(fields, step)
        for caps, out in (("pointcloud/x-raw,format=XYZI_F32LE", "pointcloud/x-raw"),
                          (custom(fields, step), "pointcloud/x-raw,format=XYZI_F32LE"),
                          ("pointcloud/x-raw,format=XYZI_F32LE", custom(fields, step)),
                          ("pointcloud/x-raw,format=XYZI_F32LE", "application/x-lidar"),
                          ("application/x-lidar", "pointcloud/x-raw,format=XYZI_F32LE")):
            with self.subTest(caps=caps, out=out):
                stream = push("pointcloudconvert name=c", [(caps, points.tobytes())] * 3, out, "c")
                self.assertIsNone(stream.error)
                self.assertEqual([stream.bytes(i) for i in range(3)], [points.tobytes()] * 3)
                self.assertEqual(stream.stats.get_uint64("scans")[1], 0, "scans were converted")

    def test_rename_and_times(self):
        """A name by a property; nanoseconds become seconds, and back."""
        fields = "x:F32:0,y:F32:4,z:F32:8,reflectivity:U16:12,t:U32:16"
        points = random_points(fields, 20)
        points["t"] //= 50
        self.check(custom(fields, 20), points, "pointcloud/x-raw,format=XYZIRT", *FORMATS["XYZIRT"],
                   options="rename=reflectivity:intensity", renames={"intensity": "reflectivity"})
        fields, out = FORMATS["XYZIRT"], "x:F32:0,y:F32:4,z:F32:8,t:U32:12"
        points = random_points(*fields)
        points["time"] = np.linspace(0, 0.1, len(points))
        self.check("pointcloud/x-raw,format=XYZIRT", points, custom(out, 16), out, 16)

    def test_says_what_is_lost(self):
        points = random_points("x:F32:0,y:F32:4,z:F32:8,intensity:F32:12", 16)
        points["intensity"] = 300
        out = "x:F32:0,y:F32:4,z:F32:8,intensity:U8:12,ring:U16:13"
        stream = push("pointcloudconvert name=c",
                      [("pointcloud/x-raw,format=XYZI_F32LE", points.tobytes())] * 2,
                      custom(out, 15), "c")
        self.assertEqual(len(stream.samples), 2)
        self.assertEqual(len(stream.warnings), 2, stream.warnings)
        self.assertIn("do not have ring", stream.warnings[0])
        self.assertIn("do not fit", stream.warnings[1])
        self.assertEqual(stream.stats.get_uint64("saturated")[1], 2000)

    def test_refuses(self):
        good = random_points(*FORMATS["XYZ_F32LE"]).tobytes()
        no_z = custom("x:F32:0,y:F32:4,range:F32:8", 12)
        stream = push("pointcloudconvert ! pointcloud/x-raw,format=XYZ_F32LE", [(no_z, good)])
        self.assertIn('"z" is missing', stream.error)
        stream = push("pointcloudconvert rename=range ! pointcloud/x-raw,format=XYZ_F64LE",
                      [("pointcloud/x-raw,format=XYZ_F32LE", good)])
        self.assertIn("rename", stream.error)
        # A scan that is none is left out, and the others come.
        stream = push("pointcloudconvert name=c ! pointcloud/x-raw,format=XYZ_F64LE",
                      [(f"pointcloud/x-raw,format=XYZ_F32LE,width={len(good) // 12},height=1", content)
                       for content in (good, good[:-12], good)], stats="c")
        self.assertIsNone(stream.error)
        self.assertEqual([s.get_buffer().pts for s in stream.samples], [0, 2 * 10 ** 8])
        self.assertEqual(stream.stats.get_uint64("bad")[1], 1)
        self.assertIn("of its caps", stream.warnings[0])

    def test_edgefirst(self):
        """Their caps count the points of each cloud, both ways."""
        fields, step = "x:F32:0,y:F32:4,z:F32:8,intensity:U16:12", 14
        sizes = [10, 20, 20, 5]
        clouds = [random_points(fields, step, n=n) for n in sizes]
        stream = push("pointcloudconvert ! pointcloud/x-raw,format=XYZI_F32LE",
                      [(edgefirst(fields, step, len(c)), c.tobytes()) for c in clouds])
        self.assertIsNone(stream.error)
        for i, cloud in enumerate(clouds):
            self.assertEqual(stream.bytes(i), converted(cloud, *FORMATS["XYZI_F32LE"]))
        # As edgefirstzenohsub sends them, without fields.
        bare = edgefirst(fields, step, 10).replace(f'fields="{fields}",', "")
        stream = push(f"pointcloudconvert fields={fields} ! pointcloud/x-raw,format=XYZI_F32LE",
                      [(bare, clouds[0].tobytes())])
        self.assertEqual(stream.bytes(), converted(clouds[0], *FORMATS["XYZI_F32LE"]))
        stream = push("pointcloudconvert ! pointcloud/x-raw,format=XYZI_F32LE",
                      [(bare, clouds[0].tobytes())])
        self.assertIn("“fields”", stream.error)
        # Out: caps change with the number of points; an empty cloud has no caps of theirs.
        points = [random_points(*FORMATS["XYZI_F32LE"], n=n) for n in (10, 20, 0, 5)]
        for template in ("application/x-pointcloud2",
                         # Their elements' pads have this text.
                         'application/x-pointcloud2,fields="ANY"'):
            stream = push("pointcloudconvert", [("pointcloud/x-raw,format=XYZI_F32LE", p.tobytes())
                                                for p in points], template)
            self.assertIsNone(stream.error)
            self.assertEqual([stream.caps(i).get_int("width")[1] for i in range(3)], [10, 20, 5])
            self.assertEqual([stream.bytes(i) for i in range(3)],
                             [p.tobytes() for p in points if len(p)])
            self.assertEqual(stream.caps().get_boolean("is-bigendian")[1], False)
        self.assertEqual(stream.caps().get_string("fields"), "ANY")

    def test_dlstreamer(self):
        """Floats x, y, z, intensity: what leaves g3dlidarparse and what it reads."""
        fields = "x:F64:0,y:F64:8,z:F64:16,intensity:U8:24,ring:U16:25"
        points = random_points(fields, 27)
        for out in "application/x-lidar", "application/octet-stream":
            self.check(custom(fields, 27), points, out, *FORMATS["XYZI_F32LE"])
        floats = random_points(*FORMATS["XYZI_F32LE"])
        self.check("application/x-lidar", floats, "pointcloud/x-raw,format=XYZ_F64LE",
                   *FORMATS["XYZ_F64LE"])

    def test_organized(self):
        fields, step = FORMATS["XYZI_F32LE"]
        points = random_points(fields, step, n=12)
        caps = "pointcloud/x-raw,format=XYZI_F32LE,width=4,height=3"
        for options, width in ("", 4), ("organized=false", None):
            for out in "XYZ_F64LE", "XYZI_F32LE":
                stream = push(f"pointcloudconvert {options} ! pointcloud/x-raw,format={out}",
                              [(caps, points.tobytes())])
                self.assertIsNone(stream.error)
                self.assertEqual(stream.bytes(), converted(points, *FORMATS[out]))
                structure = stream.caps()
                self.assertEqual(structure.get_int("width")[1] if structure.has_field("width")
                                 else None, width)

    def test_chooses_what_loses_least(self):
        fields, step = FORMATS["XYZIRT"]
        points = random_points(fields, step).tobytes()
        for formats, chosen in (("{ XYZ_F32LE, XYZI_F32LE }", "XYZI_F32LE"),
                                ("{ XYZ_F32LE, XYZI_F32LE, CUSTOM }", "CUSTOM")):
            stream = push("pointcloudconvert",
                          [("pointcloud/x-raw,format=XYZIRT,frame-id=lidar,framerate=10/1", points)],
                          f"pointcloud/x-raw,format={formats}")
            self.assertIsNone(stream.error)
            self.assertEqual(stream.caps().get_string("format"), chosen)
            self.assertEqual(stream.caps().get_string("frame-id"), "lidar")


unittest_tap.run()
