#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Localizes recorded scans through gst-launch-1.0, with their reference poses as the truth (TAP).

The errors are printed: the summary of trajectorysink.
"""

import os
import re
import subprocess
import sys
import tempfile

import gi
import numpy as np

gi.require_version("Gst", "1.0")
gi.require_version("GstPointCloud", "1.0")
from gi.repository import Gst, GstPointCloud  # noqa: E402

ROOT = os.environ["NDT_TEST_ROOT"]
DATA = os.environ.get("NDT_TEST_DATA") or os.path.join(ROOT, "..", "shared", "data")


def localize(pipeline):
    """Runs a pipeline that ends in trajectorysink. Returns the numbers of its summary."""
    line = "gst-launch-1.0 -q " + pipeline
    done = subprocess.run(line, shell=True, text=True, timeout=500, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    print("# " + done.stdout.strip().replace("\n", "\n# "))
    summary = re.search(r"^trajectory: (.*)$", done.stdout, re.M)
    if done.returncode or not summary:
        raise AssertionError(f"exit status {done.returncode}: {line}")
    return {key: float(value) for key, value in
            (pair.split("=") for pair in summary.group(1).split())}


def assert_within(numbers, scans, metres, degrees):
    assert numbers["scans"] == numbers["compared"] == scans, "scans are missing"
    assert numbers["lost"] == 0, "scans are lost"
    assert numbers["max_error_m"] <= metres, f"more than {metres} m off"
    assert numbers["max_error_deg"] <= degrees, f"more than {degrees} degrees off"


def first_pose(path):
    """The first pose of a TUM file as initial-pose takes it."""
    with open(path, encoding="ascii") as file:
        return ",".join(file.readline().split()[1:8])


def kitti(folder, _):
    """From the first pose by constant velocity. Another program stays within 2.2 cm with a
    coarser map, ours within 2.5; 5 cm and 0.2 degrees are what is asked for of the
    default and of lm. Of lbfgs 10 cm are: what docs/objective.md counts as right in its tables."""
    for optimizer, metres in ("newton", 0.05), ("lm", 0.05), ("lbfgs", 0.10):
        numbers = localize(
            f"multifilesrc location={folder}/scans/%06d.pcd ! pcddec framerate=5/1 "
            f"! poseinject location={folder}/poses.txt match=index role=ground-truth "
            f"! ndtlocalize map-location={folder}/map_even_0.25.pcd resolution=1 "
            f"initial-pose={first_pose(folder + '/poses.txt')} optimizer={optimizer} "
            "! trajectorysink reference-role=ground-truth print-summary=true")
        assert_within(numbers, 50, metres, 0.2)


def balm(folder, _):
    """Up to 90 degrees between scans: only odometry helps. The poses are good to 3 cm and 0.15
    degrees, so that 10 cm and 0.5 degrees are fair. Three seeds: noise must not be lucky."""
    poses = f"poseinject location={folder}/poses.txt match=index"
    for seed, optimizer in ((0, "newton"), (1, "newton"), (2, "newton"), (0, "lm"), (0, "lbfgs")):
        numbers = localize(
            f"multifilesrc location={folder}/scans/%06d.pcd ! pcddec framerate=1/1 "
            f"! {poses} role=ground-truth ! {poses} role=prior count=1 "
            f"! {poses} role=odometry relative-translation-noise=0.05 rotation-noise=1 seed={seed} "
            f"! ndtlocalize map-location={folder}/map_even_0.20.pcd resolution=1 "
            f"optimizer={optimizer} "
            "! trajectorysink reference-role=ground-truth print-summary=true")
        assert_within(numbers, 50, 0.10, 0.5)


def read_points(path):
    """x, y, z of a PCD file, as our own decoder reads them."""
    pipeline = Gst.parse_launch(f"filesrc location={path} blocksize=100000000 ! pcddec "
                                "! appsink name=sink sync=false")
    pipeline.set_state(Gst.State.PLAYING)
    sample = pipeline.get_by_name("sink").emit("pull-sample")
    info = GstPointCloud.PointCloudInfo.new_from_caps(sample.get_caps())
    data = GstPointCloud.point_cloud_buffer_get_xyz(sample.get_buffer(), info).get_data()
    pipeline.set_state(Gst.State.NULL)
    return np.frombuffer(data, np.float64).reshape(-1, 3)


def rotation(q):
    x, y, z, w = q / np.linalg.norm(q)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                     [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def apollo(folder, work):
    """Two scans at UTM coordinates, 0.8 m and a degree apart: the first is the map, its pose the
    start for the second. The poses are good to 1 cm relative to each other; 5 cm and 0.3 degrees
    leave room for the scans' motion, which is not compensated. Thinned by a grid: the rings on the
    ground lie around the sensor in both scans, and all points together pull towards no motion. One
    scan is half a map: the second fits it by 0.5 of what a whole one gives."""
    poses = np.loadtxt(f"{folder}/pcds/poses.txt")
    points = read_points(f"{folder}/pcds/1.pcd")
    points = points[np.isfinite(points).all(axis=1)]
    points = points[np.linalg.norm(points, axis=1) > 2] @ rotation(poses[0, 5:9]).T + poses[0, 2:5]
    with open(f"{work}/map.pcd", "wb") as file:
        file.write(f"VERSION 0.7\nFIELDS x y z\nSIZE 8 8 8\nTYPE F F F\nCOUNT 1 1 1\n"
                   f"WIDTH {len(points)}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\n"
                   f"POINTS {len(points)}\nDATA binary\n".encode())
        file.write(points.astype("<f8").tobytes())
    np.savetxt(f"{work}/truth.txt", poses[1:2, 1:], fmt="%.9f")
    start = ",".join(repr(float(v)) for v in poses[0, 2:9])
    for resolution in 1, 2:
        numbers = localize(
            f"multifilesrc location={folder}/pcds/%d.pcd index=2 stop-index=2 "
            f"! pcddec framerate=10/1 "
            f"! ndtlocalize map-location={work}/map.pcd resolution={resolution} initial-pose={start} "
            f"scan-leaf-size=0.5 min-start-fit=0.4 "
            f"! trajectorysink reference-location={work}/truth.txt "
            "reference-match=index print-summary=true")
        assert_within(numbers, 1, 0.05, 0.3)


TESTS = ((kitti, "seq_kitti_drive0005"), (balm, "seq_balm_os0"), (apollo, "pair_apollo_utm"))


def main():
    Gst.init(None)
    print(f"1..{len(TESTS)}", flush=True)
    failed = 0
    for number, (test, name) in enumerate(TESTS, 1):
        folder = os.path.realpath(os.path.join(DATA, name))
        if not os.path.isdir(folder) and os.environ.get("CI") != "true":
            print(f"ok {number} {test.__name__} # SKIP {folder} is missing", flush=True)
            continue
        with tempfile.TemporaryDirectory() as work:
            try:
                test(folder, work)
                print(f"ok {number} {test.__name__}", flush=True)
            except Exception as error:  # pylint: disable=broad-except
                failed += 1
                print(f"not ok {number} {test.__name__}\n# {error}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
