#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A simulated drive, as the packets that a lidar of each vendor would send: from the capture to the
trajectory in one line of gst-launch-1.0 (TAP)."""

import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import drive  # noqa: E402


def launch(line):
    done = subprocess.run("gst-launch-1.0 " + line, shell=True, text=True, timeout=500,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0 and "WARNING" not in done.stdout, done.stdout
    return done.stdout


def check(folder, start, name, decoder):
    out = launch(f"lidarpcapsrc location={folder}/{name}.pcap ! {decoder} ! "
                 f"ndtlocalize map-location={folder}/town.pcd resolution=2 "
                 f"initial-pose={start} ! "
                 f"trajectorysink location={folder}/{name}.txt print-summary=true")
    assert re.search(rf"^trajectory: scans={drive.N_SCANS} .*lost=0", out, re.M), out
    first, worst = drive.check_trajectory(f"{folder}/{name}.txt", f"{folder}/truth.txt")
    # Lasers that fire one after another and lenses off the axis, which the simulation does not have,
    # are within what is asked of a compensated drive.
    assert worst < 0.03, f"{worst} m"
    # Without compensation it is 33 cm off.
    assert first < 0.05, f"first scan {first} m"


def delayed_velodyne(scans):
    """Of which poses do not get worse: stamps are spaced by the sensor's clock."""
    return drive.delayed(drive.velodyne(scans), 6)


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        drive.ouster_metadata(f"{folder}/ouster.json")
        drive.write_map(f"{folder}/town.pcd")
        launch(f"{drive.SIMULATION} ! "
               f"trajectorysink role=ground-truth location={folder}/truth.txt sync=false")
        with open(f"{folder}/truth.txt", encoding="ascii") as file:
            poses = [line.split() for line in file if not line.startswith("#")]
        start, scans = ",".join(poses[0][1:8]), {}
        vendors = [(drive.velodyne, 1800, "velodynedec cut-angle=180"),
                   (delayed_velodyne, 1800, "velodynedec cut-angle=180"),
                   (drive.hesai, 2000, "hesaidec cut-angle=270"),
                   (drive.robosense, 1800, "robosensedec cut-angle=180"),
                   (drive.ouster, 1024, f"ousterdec metadata-location={folder}/ouster.json")]
        for number, (encode, columns, decoder) in enumerate(vendors, 1):
            name = encode.__name__
            try:
                if columns not in scans:
                    scans[columns] = drive.simulate(columns)
                drive.write_capture(f"{folder}/{name}.pcap", encode(scans[columns]))
                check(folder, start, name, decoder)
                print(f"ok {number} {name}", flush=True)
            except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
                failed += 1
                print(f"not ok {number} {name}\n# {error}", flush=True)
    print(f"1..{len(vendors)}")
    sys.exit(1 if failed else 0)


main()
