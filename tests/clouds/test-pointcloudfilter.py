#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""pointcloudfilter against numpy, to the bit (TAP)."""

import glob
import os
import sys
import unittest

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "record"))
import unittest_tap  # noqa: E402
from clouds import Gst, custom, data, dtype, push, read_pcd  # noqa: E402

FIELDS, STEP = "x:F32:0,y:F32:4,z:F32:8,intensity:F32:12,ring:U16:16,time:F32:20", 24
XYZIRT = "pointcloud/x-raw,format=XYZIRT"
REASONS = "not-finite range box intensity ring nth random leaf".split()
LEAF_STEPS = np.float32(1048576)


def make_points(n=5000, fields=FIELDS, step=STEP):
    random = np.random.default_rng(7)
    points = np.zeros(n, dtype(fields, step))
    for axis in "xyz":
        points[axis] = random.normal(0, 20, n)
    points["x"][::50], points["y"][3::70] = np.nan, np.inf
    points["intensity"] = random.uniform(0, 255, n)
    if "ring" in points.dtype.names:
        points["ring"] = random.integers(0, 64, n)
    if "time" in points.dtype.names:
        points["time"] = np.linspace(0, 0.1, n)
    return points


def xyz(points):
    return np.stack([points[axis].astype("f8") for axis in "xyz"], 1)


def pick(points, which):
    """Some of the points with the bytes between fields, which numpy's own indexing leaves out."""
    raw = np.frombuffer(points.tobytes(), np.dtype((np.void, points.dtype.itemsize)))
    return np.frombuffer(bytearray(raw[which].tobytes()), points.dtype)


def split_mix(seed, i):
    """SplitMix64 (Steele, Lea, Flood), as a number from 0 to 1."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (i.astype("u8") + np.uint64(1)) * np.uint64(0x9e3779b97f4a7c15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94d049bb133111eb)
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype("f8") * 2.0 ** -53


def fma(a, b, c):
    """In float: the product of two floats and its sum with a third fit long doubles well enough
    that rounding once is rounding once (the sum is near 0 here)."""
    return (a.astype("g") * b.astype("g") + c.astype("g")).astype("f4")


def thin(points, leaf, centroid):
    """The first point of each cube in the order of points, moved to the mean."""
    p = xyz(points)
    leaf32 = np.float32(leaf)
    inverse = np.float32(1) / leaf32
    origin = np.zeros(3)
    if points.dtype["x"].itemsize == 8:
        origin = np.floor(p[0] / leaf) * leaf
    q = (p - origin).astype("f4")
    index = np.floor(q * inverse).astype("i4")
    _, first, group = np.unique(index, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    kept = pick(points, np.sort(first))
    if not centroid:
        return kept
    offsets = np.rint(fma(-index.astype("f4"), np.broadcast_to(leaf32, q.shape), q)
                      * inverse * LEAF_STEPS).astype("i8")
    sums = np.zeros((len(first), 3), "i8")
    np.add.at(sums, group, offsets)
    counts = np.bincount(group)
    order = np.argsort(first)
    mean = (sums[order].astype("f8") / counts[order][:, None]).astype("f4") / LEAF_STEPS
    middle = fma(index[np.sort(first)].astype("f4"), np.broadcast_to(leaf32, mean.shape),
                 mean * leaf32)
    for k, axis in enumerate("xyz"):
        kept[axis] = origin[k] + middle[:, k].astype("f8")
    return kept


class Filter(unittest.TestCase):
    def run_filter(self, options, points, caps=XYZIRT, n=1):
        stream = push(f"pointcloudfilter name=f {options}", [(caps, points.tobytes())] * n,
                      stats="f")
        self.assertIsNone(stream.error)
        self.assertEqual(len(stream.samples), n)
        for index, sample in enumerate(stream.samples):
            buffer = sample.get_buffer()
            self.assertEqual((buffer.pts, buffer.duration), (index * 10 ** 8, 10 ** 8))
        return stream

    def check(self, options, points, expected, reasons, caps=XYZIRT):
        """@reasons: of each point that went, by name."""
        stream = self.run_filter(options, points, caps)
        self.assertEqual(stream.bytes(), expected.tobytes())
        counts = {name: stream.stats.get_uint64(name)[1] for name in REASONS}
        self.assertEqual(counts, {**dict.fromkeys(REASONS, 0), **reasons})
        self.assertEqual(stream.stats.get_uint64("points")[1], len(points))
        self.assertEqual(len(points) - sum(counts.values()), len(expected))

    def rules(self, points):
        """Pairs of options and which points they keep."""
        p = xyz(points)
        square = p[:, 0] * p[:, 0] + p[:, 1] * p[:, 1] + p[:, 2] * p[:, 2]
        x, y, z = p.T
        return [
            ("min-range=5 max-range=40", (square >= 25) & (square <= 1600), "range"),
            ('include-boxes="<\\"-10,-20,-30,10,20,30\\", \\"12,0,0,15,5,5\\">" '
             'exclude-boxes="<\\"-1,-2,-3,1,2,3\\">"',
             (((abs(x) <= 10) & (abs(y) <= 20) & (abs(z) <= 30)) |
              ((x >= 12) & (x <= 15) & (y >= 0) & (y <= 5) & (z >= 0) & (z <= 5))) &
             ~((abs(x) <= 1) & (abs(y) <= 2) & (abs(z) <= 3)), "box"),
            ("min-intensity=10.5 max-intensity=200",
             (points["intensity"] >= 10.5) & (points["intensity"] <= 200), "intensity"),
            ('rings="<0, 2, 63>"', np.isin(points["ring"], (0, 2, 63)), "ring"),
        ]

    def test_each(self):
        points = make_points()
        finite = np.isfinite(xyz(points)).all(1)
        self.check("", points, pick(points, finite), {"not-finite": (~finite).sum()})
        for options, keep, reason in self.rules(points):
            with self.subTest(options=options):
                self.assertTrue(100 < (finite & keep).sum() < finite.sum())
                self.check(options, points, pick(points, finite & keep), {
                    "not-finite": (~finite).sum(), reason: (finite & ~keep).sum()})

    def test_all_at_once(self):
        """In the order of the properties, thinned last."""
        points = make_points()
        left, counts, options = np.isfinite(xyz(points)).all(1), {}, []
        counts["not-finite"] = (~left).sum()
        for option, keep, reason in self.rules(points):
            if reason == "ring":
                option, keep = 'rings="<' + ",".join(map(str, range(40))) + '>"', points["ring"] < 40
            options.append(option)
            counts[reason] = (left & ~keep).sum()
            left = left & keep
        options.append("nth=2 fraction=0.7 seed=99 leaf-size=4")
        index = np.flatnonzero(left)
        counts["nth"] = len(index) - len(index[::2])
        index = index[::2]
        stays = split_mix(99, index) < 0.7
        counts["random"] = (~stays).sum()
        rest = pick(points, index[stays])
        expected = thin(rest, 4, True)
        counts["leaf"] = len(rest) - len(expected)
        self.assertGreater(counts["leaf"], 10)
        self.check(" ".join(options), points, expected, counts)

    def test_nth_and_random(self):
        points = make_points()
        finite = pick(points, np.isfinite(xyz(points)).all(1))
        self.check("nth=7", finite, pick(finite, slice(None, None, 7)), {"nth": len(finite) - len(finite[::7])})
        stays = split_mix(5, np.arange(len(finite))) < 0.25
        self.check("fraction=0.25 seed=5", finite, pick(finite, stays), {"random": (~stays).sum()})
        # Another choice for each scan, the same in each run.
        one, other = (self.run_filter("fraction=0.25 seed=5", finite, n=2) for _ in range(2))
        self.assertNotEqual(one.bytes(0), one.bytes(1))
        self.assertEqual([one.bytes(i) for i in (0, 1)], [other.bytes(i) for i in (0, 1)])

    def test_leaf(self):
        """Floats around the sensor, and doubles in a map's coordinates."""
        fields = "intensity:U8:0,x:F64:1,y:F64:9,z:F64:17"
        far = make_points(5000, fields, 25)
        for k, axis in enumerate("xyz"):
            far[axis] += (388096.25, 3948996.5, 41.0)[k]
        for points, caps in (make_points(), XYZIRT), (far, custom(fields, 25)):
            finite = pick(points, np.isfinite(xyz(points)).all(1))
            for leaf in 0.3, 1.0, 5.0:
                for mode in "centroid", "first":
                    expected = thin(finite, leaf, mode == "centroid")
                    with self.subTest(leaf=leaf, mode=mode, caps=caps):
                        self.check(f"leaf-size={leaf} leaf-point={mode}", points, expected, {
                            "not-finite": len(points) - len(finite),
                            "leaf": len(finite) - len(expected)}, caps)

    def test_files(self):
        """Other programs' layouts: all bytes of the points that stay, padding included."""
        folder = data("files_pcd")
        if not folder:
            self.skipTest("files_pcd of NDT_TEST_DATA is missing")
        n_read = 0
        for path in sorted(glob.glob(os.path.join(folder, "**", "*.pcd"), recursive=True)):
            if os.path.basename(path) in ("ascii_empty.pcd", "ascii_invalid_header.pcd"):
                continue
            points, header = read_pcd(path)
            if "x" not in points.dtype.names:
                continue
            p = xyz(points)
            square = p[:, 0] * p[:, 0] + p[:, 1] * p[:, 1] + p[:, 2] * p[:, 2]
            middle = float(np.sqrt(np.median(square[np.isfinite(square)]))) if len(points) else 1.0
            keep = np.isfinite(p).all(1) & (square >= middle * middle)
            stream = push(f"pcddec ! pointcloudfilter min-range={middle!r}",
                          [("pointcloud/x-pcd", open(path, "rb").read())])
            with self.subTest(path=path):
                self.assertIsNone(stream.error)
                self.assertEqual(stream.bytes(), pick(points, keep).tobytes())
                self.assertFalse(stream.caps().has_field("width"))
            n_read += 1
        self.assertGreater(n_read, 28)

    def test_shared_memory(self):
        """A scan that somebody else has too stays as it is."""
        points = make_points()
        keep = np.isfinite(xyz(points)).all(1) & (points["ring"] == 3)
        stream = push('tee name=t ! queue ! pointcloudfilter rings="<3>" ! m. '
                      't. ! queue ! identity ! m. funnel name=m', [(XYZIRT, points.tobytes())])
        self.assertIsNone(stream.error)
        self.assertEqual(sorted([stream.bytes(0), stream.bytes(1)], key=len),
                         [pick(points, keep).tobytes(), points.tobytes()])

    def test_says_what_it_cannot(self):
        points = make_points()
        plain = make_points(fields="x:F32:0,y:F32:4,z:F32:8,intensity:F32:12", step=16)
        stream = push('pointcloudfilter rings="<1>"',
                      [("pointcloud/x-raw,format=XYZI_F32LE", plain.tobytes())] * 3)
        self.assertEqual(len(stream.samples), 3)
        self.assertEqual(len(stream.warnings), 1)
        self.assertIn("“rings” does nothing", stream.warnings[0])
        organized = f"{XYZIRT},width={len(points)},height=1"
        stream = push("pointcloudfilter name=f", [(organized, points.tobytes()),
                                                  (organized, points[:-1].tobytes()),
                                                  (organized, points.tobytes())], stats="f")
        self.assertEqual(len(stream.samples), 2)
        self.assertEqual(stream.stats.get_uint64("bad")[1], 1)
        element = Gst.ElementFactory.make("pointcloudfilter")
        Gst.util_set_object_arg(element, "exclude-boxes", '<"1,2,3">')
        self.assertEqual(element.set_state(Gst.State.PAUSED), Gst.StateChangeReturn.FAILURE)
        element.set_state(Gst.State.NULL)


unittest_tap.run()
