#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Packets to points, beside velodyne-decoder and ouster-sdk on the same captures (TAP).

usage: test-decode-speed.py BENCH_DECODE

Packets lie in memory. What is timed ends with x, y and z of every point; ours goes through the
element, a buffer a packet. Each takes turns with the other, and its fastest round counts: what else
runs on the machine only ever slows one down, and there are more turns while we are too slow."""

import os
import subprocess
import sys
import time
import warnings

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
from decode import payloads  # noqa: E402

# A sanitizer slows us alone: points are compared there, not times.
SANITIZED = "NDT_TEST_SANITIZER" in os.environ
TURNS = 1 if SANITIZED else 6
MAX_TURNS = 1 if SANITIZED else 60
ROUNDS = 1 if SANITIZED else 20


def ours(capture, decoder):
    """Seconds and points of the fastest of some rounds."""
    out = subprocess.run([sys.argv[1], capture, decoder, str(ROUNDS)], check=True, text=True,
                         capture_output=True).stdout
    numbers = dict(pair.split("=") for pair in out.split())
    return float(numbers["seconds"]), int(numbers["points"])


def race(name, capture, decoder, theirs, factor):
    """Has to be factor times as fast as theirs, a function that returns the number of points."""
    mine = other = np.inf
    for turn in range(MAX_TURNS):
        if turn >= TURNS and other >= factor * mine:
            break
        seconds, points = ours(capture, decoder)
        mine = min(mine, seconds)
        for _ in range(ROUNDS):
            start = time.perf_counter()
            their_points = theirs()
            other = min(other, time.perf_counter() - start)
    print(f"# {name}: {points} points in {mine * 1e6:.0f} us, theirs {other * 1e6:.0f} us: "
          f"{other / mine:.1f} times as fast")
    assert points == their_points, f"{name}: {points} points, theirs are {their_points}"
    assert SANITIZED or other >= factor * mine, \
        f"{name}: {other / mine:.2f} times as fast instead of {factor}"


def velodyne_decoder(data):
    try:
        import velodyne_decoder as other
    except ImportError:
        return "velodyne-decoder is not installed"
    for path, model in (("packets_nebula/vlp16/vlp16.pcap", None),
                        ("packets_nebula/vlp32/vlp32.pcap", None),
                        ("packets_velodyne_pcap/mrpt/sample_velodyne_hdl32.pcap",
                         other.Model.HDL32E)):
        capture = f"{data}/{path}"
        packets = [payload for payload in payloads(capture) if len(payload) == 1206]
        config = other.Config()
        config.min_range, config.max_range, config.model = 0, 1e6, model

        def theirs():
            decoder, points = other.StreamDecoder(config), 0
            for i, packet in enumerate(packets):
                scan = decoder.decode(i * 1e-3, packet)
                points += len(scan[1]) if scan else 0
            scan = decoder.finish()
            return points + (len(scan[1]) if scan else 0)

        race(os.path.basename(path), capture, "velodynedec" + (" model=hdl-32e" if model else ""),
             theirs, 10)


def ouster_sdk(data):
    try:
        import ouster.sdk.core as other
    except ImportError:
        return "ouster-sdk is not installed"
    warnings.simplefilter("ignore")  # of names that its next version will not have
    folder = f"{data}/packets_ouster/pcaps"
    for capture, metadata in (("OS-0-128-U1_v2.3.0_1024x10", "OS-0-128-U1_v2.3.0_1024x10"),
                              ("OS-0-32-U1_v2.2.0_1024x10", "OS-0-32-U1_v2.2.0_1024x10"),
                              ("OS-1-128_v2.3.0_1024x10_lb_n3", "OS-1-128_v2.3.0_1024x10"),
                              ("OS-1-64_1024x10_fw20", "OS-1-64_sensor_config_reduced"),
                              ("crc_test", "crc_test")):
        with open(f"{folder}/{metadata}.json", encoding="utf-8") as file:
            info = other.SensorInfo(file.read())
        size = other.PacketFormat(info).lidar_packet_size
        table, packets = other.XYZLut(info), []
        for payload in payloads(f"{folder}/{capture}.pcap"):
            if len(payload) == size:
                packets.append(other.LidarPacket(size))
                packets[-1].buf[:] = np.frombuffer(payload, np.uint8)
                packets[-1].host_timestamp = 1

        def points_of(frame):
            return sum(table(frame.field(name))[..., 0].size
                       for name in ("RANGE", "RANGE2") if name in frame.fields)

        def theirs():
            batch, frame, points, is_new = other.FrameBatcher(info), None, 0, True
            for packet in packets:
                frame = other.LidarFrame(info) if is_new else frame
                is_new = batch(packet, frame)
                points += points_of(frame) if is_new else 0
            return points + (0 if is_new else points_of(frame))

        race(capture, f"{folder}/{capture}.pcap", f"ousterdec metadata-location={folder}/{metadata}.json",
             theirs, 1)


compare.run([velodyne_decoder, ouster_sdk])
