#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Odometry beside small_gicp's VGICP, and with NDT_TEST_MAPPING=all beside KISS-ICP, on the same scans in one run, one
thread each (TAP).

    test-peers.py TEST-ODOMETRY
"""

import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

# What is compared: a recorded drive, and a simulated one of 300 scans, which has other rings.
ROWS = ("kitti", "distorted")
# Whose scans need no times of points.
KISS_ROWS = ("kitti", "hall", "balm")


def read(path):
    data = open(path, "rb").read()
    at, scans = 0, []
    while at < len(data):
        n = int(np.frombuffer(data, np.uint32, 1, at)[0])
        scans.append(np.frombuffer(data, np.float32, 3 * n, at + 4).reshape(n, 3).astype(np.float64))
        at += 4 + 12 * n
    return scans


def vgicp(scans):
    """Milliseconds of processor time a scan, with its documentation's settings for odometry."""
    import small_gicp
    voxels = small_gicp.GaussianVoxelMap(1.0)
    pose, step = np.eye(4), np.eye(4)
    begin = time.process_time()
    for k, scan in enumerate(scans):
        points, _ = small_gicp.preprocess_points(scan, 0.25, num_threads=1)
        if k > 0:
            result = small_gicp.align(voxels, points, init_T_target_source=pose @ step, num_threads=1)
            step = np.linalg.inv(pose) @ result.T_target_source
            pose = result.T_target_source
        voxels.insert(points, pose)
    return 1e3 * (time.process_time() - begin) / len(scans)


def kiss(scans, truth):
    """Milliseconds a scan with its defaults, and metres that the last pose is off, the first one aligned."""
    from kiss_icp.config.parser import load_config
    from kiss_icp.kiss_icp import KissICP
    config = load_config(None)
    config.data.deskew = False  # the scans are of one instant, or compensated
    config.registration.max_num_threads = 1
    odometry = KissICP(config)
    begin = time.process_time()
    for scan in scans:
        odometry.register_frame(scan, np.array([]))
    milliseconds = 1e3 * (time.process_time() - begin) / len(scans)
    x, y, z, w = truth[0, 3:]
    first = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                      [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                      [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
    way = first.T @ (truth[-1, :3] - truth[0, :3])
    return milliseconds, np.linalg.norm(odometry.last_pose[:3, 3] - way)


def beside_kiss(program, row, work):
    """Not farther off at the end than KISS-ICP, and not slower; None: it is not there."""
    try:
        import kiss_icp  # noqa: F401
    except ImportError:
        if os.environ.get("CI") == "true":
            raise
        return None
    dump = f"{work}/{row}"
    scans, truth = read(dump), np.loadtxt(f"{dump}.txt")
    milliseconds, off = kiss(scans, truth)
    text = subprocess.run([program, "--row", row], check=True, capture_output=True, encoding="utf-8").stdout
    ours = float(re.findall(r"([0-9.]+) ms a scan", text)[-1])
    end = float(re.findall(r"end ([0-9.]+) m", text)[-1])
    print(f"# {row}, {len(scans)} scans: ours {end:.3f} m off at the end, {ours:.1f} ms a scan; "
          f"KISS-ICP {off:.3f} m, {milliseconds:.1f} ms")
    return end <= off and ours <= milliseconds


def main():
    program = sys.argv[1]
    try:
        import small_gicp  # noqa: F401
    except ImportError as error:
        if os.environ.get("CI") == "true":
            raise
        print(f"1..0 # SKIP {error}")
        return 0
    is_long = os.environ.get("NDT_TEST_MAPPING") == "all"
    print(f"1..{len(ROWS) + (len(KISS_ROWS) if is_long else 0)}")
    failed = False
    with tempfile.TemporaryDirectory() as work:
        for number, row in enumerate(ROWS, 1):
            dump = f"{work}/{row}"
            if subprocess.run([program, "--row", row, "--dump", dump], check=False).returncode == 77:
                print(f"ok {number} {row} # SKIP no test data")
                continue
            scans = read(dump)[:100]
            # The better of two, turn about: others use this machine, too.
            theirs = ours = np.inf
            for _ in range(2):
                theirs = min(theirs, vgicp(scans))
                text = subprocess.run([program, "--row", row], check=True, capture_output=True,
                                      encoding="utf-8").stdout
                ours = min(ours, float(re.findall(r"([0-9.]+) ms a scan", text)[-1]))
            good = ours <= 0.5 * theirs
            failed = failed or not good
            print(f"# {row}: ours {ours:.1f} ms a scan, VGICP {theirs:.1f} ms")
            print(f"{'ok' if good else 'not ok'} {number} {row}")
        for number, row in enumerate(KISS_ROWS if is_long else (), len(ROWS) + 1):
            if subprocess.run([program, "--row", row, "--dump", f"{work}/{row}"], check=False).returncode == 77:
                print(f"ok {number} {row} # SKIP no test data")
                continue
            good = beside_kiss(program, row, work)
            failed = failed or good is False
            print(f"{'not ok' if good is False else 'ok'} {number} {row} beside KISS-ICP"
                  + (" # SKIP no kiss-icp" if good is None else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
