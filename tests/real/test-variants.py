#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recorded drives as a newcomer tries them, by defaults: starts, poses and axes that are wrong, and
what the warnings say of them (TAP). The folders' reference poses are the truth."""

import csv
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.environ["NDT_TEST_ROOT"]
DATA = os.environ.get("NDT_TEST_DATA") or os.path.join(ROOT, "..", "shared", "data")

# Scans of a drive, from its first on: enough for the fourth one, which a search finds.
N_SCANS = 30

# Right is what the suite trust calls so.
RIGHT_METRES = 0.2


def pose_text(position, q):
    return ",".join(f"{v:.6f}" for v in (*position, *q))


class Drive:
    """A folder's scans in the map of the others."""

    def __init__(self, name, grid, rate, work):
        self.folder = os.path.join(DATA, name)
        self.map = os.path.join(self.folder, grid)
        self.rate = rate
        self.work = work
        self.poses = np.loadtxt(os.path.join(self.folder, "poses.txt"))

    def write(self, name, positions):
        """The truth's orientations at other positions."""
        path = os.path.join(self.work, name)
        np.savetxt(path, np.hstack([self.poses[:, :1], positions, self.poses[:, 4:8]]), fmt="%.6f")
        return path

    def run(self, localizer, *inputs, scans="scans", n=N_SCANS):
        """Returns the rows of all scans, and what gst-launch-1.0 has written."""
        out = os.path.join(self.work, "out.csv")
        folder = scans if os.path.isabs(scans) else os.path.join(self.folder, scans)
        line = (f"multifilesrc location={folder}/%06d.pcd stop-index={n - 1} "
                f"! pcddec framerate={self.rate}/1 {' '.join(inputs)} "
                f"! ndtlocalize map-location={self.map} {localizer} "
                f"! trajectorysink format=csv location={out} "
                f"reference-location={self.folder}/poses.txt reference-match=index")
        done = subprocess.run("gst-launch-1.0 " + line, shell=True, text=True, timeout=500,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, f"exit status {done.returncode}: {line}\n{done.stdout}"
        with open(out, encoding="ascii") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == n, f"{len(rows)} of {n} scans: {line}"
        wrong = [row["index"] for row in rows
                 if row["status"] == "tracking" and float(row["error_m"]) > 0.5]
        assert not wrong, f"wrong and tracking: scans {wrong}: {line}"
        return rows, done.stdout

    def inject(self, path, role):
        return f"! poseinject location={path} match=index role={role}"

    def start(self, shift=(0, 0, 0)):
        return pose_text(self.poses[0, 1:4] + shift, self.poses[0, 4:8])


def count(rows):
    """Tracking and right."""
    return sum(row["status"] == "tracking" and float(row["error_m"]) < RIGHT_METRES for row in rows)


def starts_aside(drive):
    """The scans fit, but not where they start: a search confirms that within three scans, and the
    warning is of the start."""
    for metres in 4, 8:
        for shift in (metres, 0, 0), (0, -metres, 0), (-metres, 0, 0):
            # Odometry, since BALM turns by 90 degrees from scan to scan.
            odometry = drive.inject(f"{drive.folder}/poses.txt", "odometry")
            rows, said = drive.run(f"initial-pose={drive.start(shift)}", odometry)
            assert count(rows) >= len(rows) - 4, f"{shift}: {count(rows)}\n{said}"
            assert "check the odometry" not in said, said
            if "from where it was expected" in said:
                fits = float(re.search(r"it fits ([0-9.]+) m", said).group(1))
                # Where the first scan fitted nowhere the next ones are compared with its start, and
                # KITTI's car drives 1.4 m until the one that is warned of.
                assert abs(fits - metres) < 1.6, said
                assert "initial-pose" in said, said


def no_start(drive):
    """Nothing is wrong while the map is searched for the first scans."""
    odometry = drive.inject(f"{drive.folder}/poses.txt", "odometry")
    rows, said = drive.run("", odometry)
    assert count(rows) == len(rows) - 3, f"{count(rows)}\n{said}"
    assert "WARNING" not in said, said
    rows, said = drive.run("map-search=false", odometry)
    assert count(rows) == 0
    assert "there is no pose to start from; set initial-pose" in said, said


def upside_down(drive):
    """A body is searched for upright: what says how its sensor is turned is named."""
    folder = os.path.join(drive.work, "scans")
    os.makedirs(folder)
    n = 8
    for i in range(n):
        with open(f"{drive.folder}/scans/{i:06d}.pcd", "rb") as file:
            head, points = file.read().split(b"DATA binary\n", 1)
        points = np.frombuffer(points, "<f4").reshape(-1, 4) * np.float32([1, -1, -1, 1])
        with open(f"{folder}/{i:06d}.pcd", "wb") as file:
            file.write(head + b"DATA binary\n" + points.astype("<f4").tobytes())
    rows, said = drive.run("", scans=folder, n=n)
    assert count(rows) == 0
    assert "sensor-pose" in said, said


def wrong_priors(drive):
    """Odometry that leads where scans fit outweighs priors that are off, all alike or far off now
    and then."""
    truth = drive.poses[:, 1:4]
    odometry = drive.inject(f"{drive.folder}/poses.txt", "odometry")
    constant = drive.write("constant.txt", truth + (9, 18, 0))
    sometimes = truth.copy()
    sometimes[5::9] += (50, -60, 0)
    sometimes = drive.write("sometimes.txt", sometimes)
    for path in constant, sometimes:
        rows, said = drive.run(
            f"initial-pose={drive.start()}", odometry, drive.inject(path, "prior"))
        assert count(rows) == len(rows), f"{path}: {count(rows)} of {len(rows)}\n{said}"


def settings(drive):
    """Scans that do not fit for a property's sake: the warning names it."""
    _, said = drive.run(f"initial-pose={drive.start()} resolution=1 scan-leaf-size=5", n=6)
    assert "scan-leaf-size=5" in said, said
    tiles = os.path.join(drive.work, "tiles")
    subprocess.run([os.environ["NDT_MAP"], "tile", "--size", "10", "--output", tiles, drive.map],
                   check=True, stdout=subprocess.DEVNULL)
    drive.map = tiles
    _, said = drive.run(f"initial-pose={drive.start((6, 0, 0))} map-radius=8", n=6)
    assert "set max-range to 7" in said, said


def lost_in_a_turn(drive):
    """BALM turns by up to 90 degrees from scan to scan, KITTI drives straight."""
    _, said = drive.run(f"initial-pose={drive.start()}")
    assert ("give it odometry" in said) == (drive.rate == 1), said


TESTS = (starts_aside, no_start, upside_down, wrong_priors, settings, lost_in_a_turn)
DRIVES = (("seq_kitti_drive0005", "map_even_0.25.pcd", 5), ("seq_balm_os0", "map_even_0.20.pcd", 1))


def main():
    print(f"1..{len(TESTS) * len(DRIVES)}", flush=True)
    failed = number = 0
    for name, grid, rate in DRIVES:
        for test in TESTS:
            number += 1
            what = f"{number} {test.__name__} {name}"
            if not os.path.isdir(os.path.join(DATA, name)) and os.environ.get("CI") != "true":
                print(f"ok {what} # SKIP {name} is missing", flush=True)
                continue
            with tempfile.TemporaryDirectory() as work:
                try:
                    test(Drive(name, grid, rate, work))
                    print(f"ok {what}", flush=True)
                except Exception as error:  # pylint: disable=broad-except
                    failed += 1
                    text = str(error).replace("\n", "\n# ")
                    print(f"not ok {what}\n# {text}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
