#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Captures of Hesai lidars against the clouds that Nebula decoded of them (TAP)."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
from decode import decode  # noqa: E402


def nebula(data, name, calibration, cloud):
    folder = f"{data}/packets_nebula"
    scans, stats, warnings = decode(f"{folder}/{name}/{name}.pcap",
                                    f"hesaidec calibration-location={folder}/calibration/{calibration}.csv")
    assert not warnings and stats["packets"] > 1000 and stats["late"] == stats["gaps"] == 0, stats
    fields = compare.read_pcd(f"{folder}/{name}/{cloud}.pcd")
    theirs = np.stack([fields[c] for c in "xyz"], axis=1).astype(float)
    gaps = compare.nearest(theirs, np.concatenate([scan.xyz for scan in scans]), 0.005)
    print(f"# {name}: {len(theirs)} points, largest distance {gaps.max() * 1e6:.1f} um")
    # Ranges are in units of 4 mm; floats at 100 m resolve 8 um.
    assert gaps.max() < 5e-5, "a point is elsewhere"
    # One of the scans is theirs, which leaves out second returns within 10 cm of the first, and near
    # ones. It may begin a few blocks earlier or later.
    same = [(compare.nearest(scan.xyz, theirs, 0.005) < 5e-5).mean() for scan in scans[:4]]
    print(f"# {name}: {max(same) * 100:.1f} % of scan {np.argmax(same)} are theirs")
    assert max(same) > 0.85, "no scan is theirs"
    scan = scans[int(np.argmax(same))]
    for before, after in zip(scans, scans[1:]):
        assert before.sensor + before.duration == after.sensor, "a time is lost"
    # The returns of a laser at an instant: the last is the farther one.
    points = scan.points
    far = np.sqrt(sum(points[c].astype(float)**2 for c in "xyz"))
    two = (points["ring"][:-1] == points["ring"][1:]) & (points["time"][:-1] == points["time"][1:])
    assert two.sum() > 500
    farther = np.where(far[1:] > far[:-1], points["return"][1:], points["return"][:-1])[two]
    assert (farther == 2).all(), "returns are mixed up"


def pandar_40p(data):
    nebula(data, "40p", "Pandar40P", "1673400149711850138")


def pandar_64(data):
    nebula(data, "64", "Pandar64", "1673403880898440686")


def qt64(data):
    nebula(data, "qt64", "PandarQT64", "1673401196087570870")


def xt32(data):
    nebula(data, "xt32", "PandarXT32", "1673400678101968885")


def nominal(data):
    """Without its file the manual's angles: within half a degree of each laser's own."""
    folder = f"{data}/packets_nebula"
    for name, calibration in (("40p", "Pandar40P"), ("64", "Pandar64"), ("qt64", "PandarQT64"),
                              ("xt32", "PandarXT32")):
        angles = np.loadtxt(f"{folder}/calibration/{calibration}.csv", delimiter=",", skiprows=1)
        scans, _, _ = decode(f"{folder}/{name}/{name}.pcap", "hesaidec")
        points = scans[2].points
        rise = np.degrees(np.arctan2(points["z"], np.hypot(points["x"], points["y"])))
        gap = np.abs(rise - np.sort(angles[:, 1])[points["ring"]])
        print(f"# {name}: within {gap.max():.3f} degrees")
        assert gap.max() < 0.5, name


compare.run([pandar_40p, pandar_64, qt64, xt32, nominal])
