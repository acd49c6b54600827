#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A capture of a RoboSense Helios against the formula of the vendor's driver, and against the half
of Nebula's cloud that is valid (TAP)."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
from decode import decode, payloads  # noqa: E402

# rs_driver, decoder_RSHELIOS.hpp: µs from laser to laser and from block to block, m of a unit of
# range and from the axis to the lens.
LASER_TIME, BLOCK_TIME, UNIT, RADIUS = 1.73e-6, 55.56e-6, 0.0025, 0.03498


def be(data, at, shape=()):
    """Big-endian numbers of 16 bits from an offset on."""
    return np.frombuffer(data, ">u2", int(np.prod(shape)) or 1, at).reshape(shape).astype(int)


def angles(difop, at):
    sign = np.frombuffer(difop, np.uint8, 96, at)[::3]
    value = np.array([int.from_bytes(difop[i + 1:i + 3], "big") for i in range(at, at + 96, 3)])
    return np.radians(np.where(sign == 0, value, -value) / 100)


def vendor(data):
    """Every return of the capture: x, y, z, intensity, laser and time in ns."""
    packets = payloads(f"{data}/packets_robosense/helios_32beam.pcap")
    difop = next(p for p in packets if p[:2] == b"\xa5\xff")
    rise, turn = angles(difop, 468), angles(difop, 564)
    nominal = round(36000 * (int(be(difop, 8)) // 60) * BLOCK_TIME)
    delay = np.arange(32) * LASER_TIME
    out = []
    for packet in (p for p in packets if p[:4] == b"\x55\xaa\x05\x5a"):
        start = (int.from_bytes(packet[20:26], "big") * 10**9 +
                 int.from_bytes(packet[26:30], "big") * 1000)
        blocks = np.frombuffer(packet, np.uint8, 1200, 42).reshape(12, 100)
        azimuth = blocks[:, 2].astype(int) * 256 + blocks[:, 3]
        step = np.append(np.diff(azimuth) % 36000, nominal)
        channels = blocks[:, 4:].reshape(12, 32, 3).astype(int)
        far = (channels[:, :, 0] * 256 + channels[:, :, 1]) * UNIT
        lens = np.radians((azimuth[:, None] + step[:, None] * delay / BLOCK_TIME) / 100)
        beam = lens + turn
        points = np.stack([
            far * np.cos(rise) * np.cos(beam) + RADIUS * np.cos(lens),
            -far * np.cos(rise) * np.sin(beam) - RADIUS * np.sin(lens),
            far * np.sin(rise) + 0 * beam,
            channels[:, :, 2],
            np.broadcast_to(np.arange(32), far.shape),
            start + (np.arange(12)[:, None] * BLOCK_TIME + delay) * 1e9 + 0 * beam], axis=2)
        out.append(points[far > 0])
    return np.concatenate(out), rise


def run(data):
    return decode(f"{data}/packets_robosense/helios_32beam.pcap", "robosensedec")


def formula(data):
    """Every point, all 32 beams, and when each was measured."""
    expected, rise = vendor(data)
    scans, stats, _ = run(data)
    assert stats["packets"] == 751 and stats["other"] == 1, stats
    assert all(stats[name] == 0 for name in ("foreign", "wrong-model", "corrupt", "late")), stats
    points = np.concatenate([scan.points for scan in scans])
    times = np.concatenate([scan.sensor + scan.points["time"].astype(float) * 1e9 for scan in scans])
    assert len(points) == len(expected), (len(points), len(expected))
    xyz = np.stack([points[c] for c in "xyz"], 1).astype(float)
    gap = np.linalg.norm(xyz - expected[:, :3], axis=1)
    rank = np.argsort(np.argsort(rise, kind="stable"), kind="stable")
    late = np.abs(times - expected[:, 5])
    print(f"# {len(points)} points, largest distance {gap.max() * 1e3:.4f} mm, "
          f"time {late.max():.0f} ns")
    # Floats at 154 m resolve 8 um.
    assert gap.max() < 1e-4, "a point is elsewhere"
    assert (points["ring"] == rank[expected[:, 4].astype(int)]).all()
    assert set(points["ring"]) == set(range(32))
    assert (points["intensity"] == expected[:, 3]).all()
    # Double stamps of 1.5e18 ns resolve 256 ns here.
    assert late.max() < 600, "a time is another"


def handedness(data):
    """Nebula took it for 16 beams that fire twice a block: points of the first 16 lasers are right
    but for their azimuth's interpolation, which is half of the sensor's."""
    fields = compare.read_pcd(f"{data}/packets_robosense/nebula_decoded_as_16.pcd")
    theirs = np.stack([fields[c] for c in "xyz"], axis=1).astype(float)
    scans, _, _ = run(data)
    ours = np.concatenate([scan.xyz for scan in scans])
    near = compare.nearest(theirs, ours, 0.01)
    mirrored = compare.nearest(theirs * [1, -1, 1], ours, 0.01)
    print(f"# {(near < 0.005).mean() * 100:.1f} % of Nebula's points are ours, "
          f"mirrored {(mirrored < 0.005).mean() * 100:.1f} %")
    # Half of them are valid, of which some are so far that hundredths of a degree are more than 5 mm.
    assert (near < 0.005).mean() > 0.4 and (mirrored < 0.005).mean() < 0.1


compare.run([formula, handedness], ["packets_robosense"])
