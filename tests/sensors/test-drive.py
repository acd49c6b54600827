#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A simulated drive, as the packets that a VLP-16 would send: from the capture to the trajectory in
one line of gst-launch-1.0 (TAP)."""

import os
import re
import struct
import subprocess
import sys
import tempfile

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

N_SCANS = 30
COLUMNS = 1800  # of a round: 0.2 degrees a firing
FIRINGS = 24  # of a packet
SIMULATION = (f"lidartestsrc num-buffers={N_SCANS} rings=16 columns={COLUMNS} world=town speed=8 "
              "max-range=100 motion-distortion=false")


def firings(points):
    """Range in units of 2 mm and intensity by column, in the order of a turn to the right, and
    ring."""
    out = np.zeros((COLUMNS, 16, 2), int)
    xyz = np.stack([points[c] for c in "xyz"], axis=1).astype(float)
    turn = np.degrees(np.arctan2(-xyz[:, 1], xyz[:, 0]))
    column = np.round(turn / 360 * COLUMNS).astype(int) % COLUMNS
    out[column, points["ring"], 0] = np.round(np.linalg.norm(xyz, axis=1) / 0.002)
    out[column, points["ring"], 1] = np.clip(points["intensity"], 0, 255)
    return out


def packets(scan, number):
    """Payloads of a round and their times in microseconds. Lasers fire one after another; that the
    simulation's fire at once makes 0.06 degrees of yaw."""
    lasers = [(ring % 8) * 2 + (ring // 8) for ring in range(16)]
    for first in range(0, COLUMNS, FIRINGS):
        stamp = number * 100000 + round(first / COLUMNS * 100000)
        payload = b""
        for column in range(first, first + FIRINGS, 2):
            block = np.zeros((2, 16, 3), np.uint8)
            for firing in range(2):
                returns = scan[column + firing]
                block[firing, lasers, 0] = returns[:, 0] & 255
                block[firing, lasers, 1] = returns[:, 0] >> 8
                block[firing, lasers, 2] = returns[:, 1]
            payload += struct.pack("<HH", 0xeeff, column * 20) + block.tobytes()
        yield stamp, payload + struct.pack("<IBB", stamp, 0x37, 0x22)


def write_capture(path):
    """Drives, and writes what the sensor sends."""
    point = np.dtype({"names": ["x", "y", "z", "intensity", "ring"],
                      "formats": ["<f4"] * 4 + ["<u2"], "offsets": [0, 4, 8, 12, 16],
                      "itemsize": 24})
    pipeline = Gst.parse_launch(f"{SIMULATION} ! pointcloud/x-raw,format=XYZIRT,framerate=10/1 ! "
                                "fakesink name=sink signal-handoffs=true sync=false")
    scans = []

    def on_scan(_, buffer, __):
        ok, mapped = buffer.map(Gst.MapFlags.READ)
        assert ok
        scans.append(firings(np.frombuffer(bytes(mapped.data), point)))
        buffer.unmap(mapped)

    pipeline.get_by_name("sink").connect("handoff", on_scan)
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        100 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    assert message and message.type == Gst.MessageType.EOS, "the simulation failed"
    pipeline.set_state(Gst.State.NULL)
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for number, scan in enumerate(scans):
            for stamp, payload in packets(scan, number):
                udp = struct.pack(">HHHH", 2368, 2368, 8 + len(payload), 0) + payload
                ip = struct.pack(">BBHHHBBH4B4B", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0,
                                 192, 168, 1, 201, 255, 255, 255, 255) + udp
                frame = bytes(12) + b"\x08\x00" + ip
                file.write(struct.pack("<IIII", 1700000000 + stamp // 1000000, stamp % 1000000,
                                       len(frame), len(frame)) + frame)


def launch(line):
    done = subprocess.run("gst-launch-1.0 -q " + line, shell=True, text=True, timeout=200,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print("# " + done.stdout.strip().replace("\n", "\n# "))
    assert done.returncode == 0 and "WARNING" not in done.stdout, line
    return done.stdout


def main():
    Gst.init(None)
    with tempfile.TemporaryDirectory() as folder:
        capture, truth, town = (f"{folder}/{name}" for name in
                                ("drive.pcap", "truth.txt", "town.pcd"))
        write_capture(capture)
        launch(f"{SIMULATION.replace('rings=16', 'rings=16 map-location=' + town)} ! "
               f"trajectorysink role=ground-truth location={truth} sync=false")
        with open(truth, encoding="ascii") as file:
            poses = [line.split() for line in file if not line.startswith("#")]
        start = ",".join(poses[0][1:8])
        out = launch(f"lidarpcapsrc location={capture} port=2368 ! velodynedec ! "
                     f"poseinject location={truth} match=index role=ground-truth ! "
                     f"ndtlocalize map={town} resolution=2 initial-pose={start} ! "
                     "trajectorysink reference-role=ground-truth print-summary=true")
    summary = re.search(r"^trajectory: (.*)$", out, re.M)
    assert summary, out
    numbers = {key: float(value) for key, value in
               (pair.split("=") for pair in summary.group(1).split())}
    assert numbers["scans"] == numbers["compared"] == N_SCANS, numbers
    # The map's noise and the yaw of 0.06 degrees: what ndtlocalize reaches on the simulation's own
    # clouds, 2 cm, and a centimetre for each.
    assert numbers["lost"] == 0 and numbers["max_error_m"] < 0.04, numbers


print("1..1")
try:
    main()
    print("ok 1 drive")
except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
    print(f"not ok 1 drive\n# {error}")
    sys.exit(1)
