#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Captures of Velodyne lidars against what other programs decode of them (TAP)."""

import os
import shutil
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
from decode import decode  # noqa: E402


def polar(xyz):
    return np.arctan2(xyz[:, 1], xyz[:, 0]), np.linalg.norm(xyz, axis=1)


def nebula(name, cloud, resolution, data):
    """The scan that Nebula decoded, with the same calibration. It rounds azimuths to 0.01 degrees
    and goes on with the last block's step in another way: the beams of a block, 0.4 degrees, may
    differ by a part of that, 12 cm at 17 m; what is seen is half of that. That ranges, elevations and times are
    right to the resolution is what the comparison with velodyne-decoder says."""
    folder = f"{data}/packets_nebula"
    scans, stats, warnings = decode(f"{folder}/{name}/{name}.pcap",
                                    f"velodynedec calibration-location={folder}/calibration/{name.upper()}.yaml")
    assert not warnings and stats["packets"] > 300, (warnings, stats)
    fields = compare.read_pcd(f"{folder}/{name}/{cloud}.pcd")
    theirs = np.stack([fields[c] for c in "xyz"], axis=1).astype(float)
    ours = np.concatenate([scan.xyz for scan in scans])
    # Turned to azimuth 0, both have (range, elevation) only; each of theirs is among ours.
    gaps = compare.nearest(theirs, ours)
    print(f"# {name}: {len(theirs)} points, median {np.median(gaps) * 1e3:.2f} mm, "
          f"largest {gaps.max() * 1e3:.1f} mm")
    assert np.median(gaps) < resolution, "half of the points are elsewhere"
    assert gaps.max() < 0.06, "a point is missing"


def nebula_vlp_16(data):
    # 2 mm
    nebula("vlp16", "1673400472138016708", 0.002, data)


def nebula_vlp_32c(data):
    # 4 mm
    nebula("vlp32", "1713492677464078412", 0.004, data)


def in_order(xyz, ring, time):
    """By laser and time; of two returns the nearer first. Times in slots of 1.152 us, the finest
    there is."""
    slot = np.round((time - time.min()) * 1e6 / 1.152).astype(int)
    order = np.lexsort((np.linalg.norm(xyz, axis=1), slot, ring))
    return xyz[order], ring[order], slot[order]


def without_jumps(path, folder):
    """A capture without those packets whose azimuth jumps over what the sensor does not see:
    velodyne-decoder lets no time pass there, though the stamp of the packet behind says so."""
    with open(path, "rb") as file:
        data = file.read()
    out, at, n = [data[:24]], 24, 0
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at + 8:at + 12], "little")
        packet = data[end - 1206:end]
        azimuths = np.array([int.from_bytes(packet[i:i + 2], "little") for i in range(2, 1202, 100)])
        steps = np.diff(azimuths) % 36000
        if ((steps > 200) & (steps < 35800)).any():
            n += 1
        else:
            out.append(data[at:end])
        at = end
    copy = os.path.join(folder, os.path.basename(path))
    with open(copy, "wb") as file:
        file.write(b"".join(out))
    return copy, n


def field_of_view(data):
    """A VLP-32C that sees 180 degrees: one scan a turn, cut where it sees nothing, though that lies
    within a packet; times over it go on as the stamp of the packet behind says."""
    scans, stats, warnings = decode(f"{data}/packets_nebula/vlp32/vlp32.pcap", "velodynedec")
    assert not warnings and stats["late"] == stats["gaps"] == 0, (warnings, stats)
    for scan in scans[2:5]:
        turn = np.degrees(np.arctan2(-scan.points["y"], scan.points["x"])) % 360
        first, last = np.median(turn[:64]), np.median(turn[-64:])
        print(f"# {len(scan.points)} points, from {first:.0f} to {last:.0f} degrees, "
              f"{scan.duration / 1e6:.2f} ms")
        assert 260 < first < 280 and 80 < last < 100, "cut within what it sees"
        assert abs(scan.duration - 1e8) < 3e5, "not a turn"
        # 180 degrees; firings follow each other within 0.3 ms.
        times = np.unique(scan.points["time"])
        assert times.max() < 0.051 and np.diff(times).max() < 3e-4, "a hole in the times"


def velodyne_decoder(data):
    try:
        import velodyne_decoder as other
    except ImportError:
        return "velodyne-decoder is not installed"
    samples = f"{data}/packets_velodyne_pcap"
    captures = [
        (f"{data}/packets_nebula/vlp16/vlp16.pcap", None),
        (f"{data}/packets_nebula/vlp32/vlp32.pcap", None),
        (f"{samples}/mrpt/sample_velodyne_hdl32.pcap", other.Model.HDL32E),
        (f"{samples}/mrpt/sample_velodyne_vlp16_gps.pcap", None),
        (f"{samples}/rust-lidar-utils/velodyne-test/test_files/velodyne_vlp16.pcap", None),
        (f"{samples}/rust-lidar-utils/velodyne-test/test_files/velodyne_vlp32.pcap", None),
    ]
    folder = tempfile.mkdtemp()
    for path, model in captures:
        if path.endswith("vlp32/vlp32.pcap"):
            path, n = without_jumps(path, folder)
            assert n == 5
        scans, _, _ = decode(path, "velodynedec" + (" model=hdl-32e" if model else ""))
        config = other.Config()
        config.min_range, config.max_range, config.model = 0, 1e6, model
        theirs = list(other.read_pcap(path, config))
        start = theirs[0][0].device
        rows = np.concatenate([points for _, points in theirs]).astype(float)
        times = np.concatenate([s.device - start + p[:, 4].astype(float) for s, p in theirs])
        b = in_order(rows[:, :3], rows[:, 6].astype(int), times)
        a = in_order(np.concatenate([s.xyz for s in scans]),
                     np.concatenate([s.points["ring"] for s in scans]).astype(int),
                     np.concatenate([s.sensor * 1e-9 + s.points["time"].astype(float)
                                     for s in scans]))
        name = os.path.basename(path)
        assert len(a[0]) == len(b[0]), f"{name}: {len(a[0])} points, theirs are {len(b[0])}"
        assert (a[1] == b[1]).all(), f"{name}: rings differ"
        # A stamp is in the nearest slot or, where float rounds, beside it.
        assert np.abs(a[2] - b[2]).max() <= 1, f"{name}: times differ"
        (turn_a, range_a), (turn_b, range_b) = polar(a[0]), polar(b[0])
        turns = np.degrees(np.abs(np.remainder(turn_a - turn_b + np.pi, 2 * np.pi) - np.pi))
        rise = np.abs(a[0][:, 2] - b[0][:, 2])
        print(f"# {name}: {len(turns)} points, ranges within {np.abs(range_a - range_b).max():.5f} "
              f"m, z {rise.max():.5f} m, azimuths {np.percentile(turns, 95):.4f} degrees (95 %)")
        # The resolution of a range is 2 mm; their angles are in radians of single precision.
        assert np.abs(range_a - range_b).max() < 1e-3
        # An angle of their table is rounded to 0.01 degrees: 17 mm at 100 m.
        assert (rise < 1e-3 + range_a * np.radians(0.01)).all()
        # Azimuths are interpolated between blocks; their rate is the mean of several. Where packets
        # are missing they interpolate across the hole, up to 2 % of the points of one capture.
        assert np.percentile(turns, 95) < 0.02
    shutil.rmtree(folder)


compare.run([nebula_vlp_16, nebula_vlp_32c, field_of_view, velodyne_decoder], ["packets_nebula", "packets_velodyne_pcap"])
