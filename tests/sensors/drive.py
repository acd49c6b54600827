# SPDX-License-Identifier: MIT
"""A simulated drive through the town, each firing from where the sensor was, as the packets that a
lidar of each vendor would send."""

import calendar
import json
import os
import random
import struct
import subprocess
import time

import gi
import numpy as np

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

Gst.init(None)

N_SCANS = 30
PERIOD = 100000  # us of a round
SIMULATION = (f"lidartestsrc num-buffers={N_SCANS} rings=16 world=town speed=8 max-range=100 "
              "motion-distortion=true")
RINGS = 16  # 2 degrees apart, from -15 up
ELEVATIONS = np.arange(-15, 16, 2)
DATE = (2023, 1, 2, 3, 4, 5)
START = calendar.timegm(DATE)


def simulate(columns, simulation=SIMULATION):
    """Ranges in m (0: none) and intensities of a drive, scans × columns × rings. Column 0 is behind
    the sensor, and they go on to the right."""
    point = np.dtype({"names": ["x", "y", "z", "intensity", "ring"],
                      "formats": ["<f4"] * 4 + ["<u2"], "offsets": [0, 4, 8, 12, 16],
                      "itemsize": 24})
    pipeline = Gst.parse_launch(f"{simulation} columns={columns} ! "
                                "pointcloud/x-raw,format=XYZIRT,framerate=10/1 ! "
                                "fakesink name=sink signal-handoffs=true sync=false")
    scans = []

    def on_scan(_, buffer, __):
        points = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), point)
        scan = np.zeros((columns, RINGS, 2))
        xyz = np.stack([points[c] for c in "xyz"], axis=1).astype(float)
        turn = 0.5 + np.arctan2(-xyz[:, 1], xyz[:, 0]) / (2 * np.pi)
        column = np.round(turn * columns).astype(int) % columns
        scan[column, points["ring"], 0] = np.linalg.norm(xyz, axis=1)
        scan[column, points["ring"], 1] = np.clip(points["intensity"], 0, 255)
        scans.append(scan)

    pipeline.get_by_name("sink").connect("handoff", on_scan)
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        300 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    assert message and message.type == Gst.MessageType.EOS, "the simulation failed"
    return np.array(scans)


def write_map(path):
    """Of the town."""
    subprocess.run([os.environ["NDT_MAP"], "simulate", path], check=True, stdout=subprocess.DEVNULL)


def channels(returns, unit, order, big_endian=False, size=3):
    """Bytes of ... × lasers × 2, lasers in an order of rings."""
    out = np.zeros(returns.shape[:-2] + (RINGS, size), np.uint8)
    raw = np.round(returns[..., order, 0] / unit).astype(int)
    out[..., 0], out[..., 1] = (raw >> 8, raw & 255) if big_endian else (raw & 255, raw >> 8)
    out[..., 2] = returns[..., order, 1]
    return out


def azimuth(column, columns, turn=18000):
    """Hundredths of a degree; column 0 is behind."""
    return (turn + round(column * 36000 / columns)) % 36000


# Encoders of packets. They yield microseconds since the start of the drive, UDP port, and payload, a
# packet with the time of its first firing. @start: what the sensor's clock shows then, us.


def velodyne(scans, start=0):
    """A VLP-16. Its lasers fire one after another, the simulation's at once."""
    columns, order = 1800, [(i % 2) * 8 + i // 2 for i in range(RINGS)]
    for number, scan in enumerate(scans):
        for first in range(0, columns, 24):
            stamp = number * PERIOD + round(first / columns * PERIOD)
            blocks = channels(scan[first:first + 24], 0.002, order).reshape(12, -1)
            yield stamp, 2368, b"".join(
                struct.pack("<HH", 0xeeff, azimuth(first + 2 * i, columns)) + block.tobytes()
                for i, block in enumerate(blocks)) + struct.pack(
                    "<IBB", (start + stamp) % 3600000000, 0x37, 0x22)


def delayed(packets, seed):
    """Packets that a busy machine gets up to 80 ms late: one in a hundred begins to wait, those that
    follow wait as well, and all come at once then."""
    rand, release = random.Random(seed), 0
    for stamp, port, payload in packets:
        if rand.random() < 0.01:
            release = stamp + rand.randint(5000, 80000)
        yield max(stamp, release), port, payload


def hesai(scans, start=START * 1000000):
    """A PandarXT-16. Its azimuth begins at y, and where the simulation has x."""
    columns, order = 2000, list(range(RINGS))[::-1]
    for number, scan in enumerate(scans):
        for first in range(0, columns, 8):
            stamp = number * PERIOD + first * 50
            blocks = channels(scan[first:first + 8], 0.004, order, size=4).reshape(8, -1)
            # The stamp of a packet is that of its last block, less 5.632 us.
            at = start + stamp + 7 * 50 - 6
            date = time.gmtime(at // 1000000)
            yield stamp, 2368, bytes.fromhex("eeff0601 0000 10080104 0201") + b"".join(
                struct.pack("<H", azimuth(first + i, columns, 27000)) + block.tobytes()
                for i, block in enumerate(blocks)) + bytes(10) + b"\x37" + struct.pack(
                    "<H6BIB", 600, date.tm_year - 1900, *date[1:6], at % 1000000,
                    0x42) + bytes(4)


def robosense(scans, start=START * 1000000):
    """A Helios-16P, whose lens lies 35 mm before its axis."""
    columns, order = 1800, list(range(RINGS))
    lens = 0.03498 / np.cos(np.radians(ELEVATIONS))
    difop = bytearray(1248)
    difop[:8] = bytes.fromhex("a5ff005a11115555")
    difop[300] = 4
    for i, elevation in enumerate(ELEVATIONS):
        difop[468 + 3 * i:471 + 3 * i] = struct.pack(
            ">BH", int(elevation < 0), int(abs(elevation)) * 100)
    for number, scan in enumerate(scans):
        yield number * PERIOD, 7788, bytes(difop)
        scan = scan.copy()
        scan[..., 0] = np.where(scan[..., 0] > 0, scan[..., 0] - lens, 0)
        for first in range(0, columns, 24):
            stamp = number * PERIOD + round(first / columns * PERIOD)
            blocks = channels(scan[first:first + 24], 0.0025, order, True).reshape(12, -1)
            header = bytearray(42)
            header[:6] = bytes.fromhex("55aa055a0001")
            header[20:30] = struct.pack(">HII", 0, *divmod(start + stamp, 1000000))
            header[30:32] = bytes([6, 3])
            yield stamp, 6699, bytes(header) + b"".join(
                struct.pack(">HH", 0xffee, azimuth(first + 2 * i, columns)) + block.tobytes()
                for i, block in enumerate(blocks)) + bytes.fromhex("0000000000ff")


def ouster(scans, start=START * 1000000):
    """An OS1 of 16 beams, which looks back at its first column."""
    columns = 1024
    for number, scan in enumerate(scans):
        returns = scan[:, ::-1]
        pixels = np.zeros((columns, RINGS, 12), np.uint8)
        pixels[..., :4] = np.round(returns[..., 0] * 1000).astype("<u4")[..., None].view(np.uint8)
        pixels[..., 4] = returns[..., 1]
        for first in range(0, columns, 16):
            stamp = number * PERIOD + round(first / columns * PERIOD)
            body = b"".join(
                struct.pack("<QHH", (start + number * PERIOD) * 1000 +
                            round(column / columns * PERIOD * 1000), column, 1) +
                pixels[column].tobytes() for column in range(first, first + 16))
            yield stamp, 7502, struct.pack("<HH", 1, number) + bytes(28) + body + bytes(32)


def ouster_metadata(path, mode="TIME_FROM_PTP_1588"):
    with open(path, "w", encoding="ascii") as file:
        json.dump({
            "prod_line": "OS-1-16",
            # A pulse's seconds are those of a GNSS receiver where it is read, and else counted.
            "config_params": {"timestamp_mode": mode, "multipurpose_io_mode": "INPUT_NMEA_UART",
                              "nmea_leap_seconds": 0},
            "beam_altitude_angles": [float(e) for e in ELEVATIONS[::-1]],
            "beam_azimuth_angles": [0.0] * RINGS, "lidar_origin_to_beam_origin_mm": 0,
            "lidar_to_sensor_transform": [-1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
            "data_format": {"columns_per_frame": 1024, "columns_per_packet": 16,
                            "pixels_per_column": RINGS,
                            "udp_profile_lidar": "RNG19_RFL8_SIG16_NIR16"}}, file)


def read_trajectory(path):
    """Times and positions."""
    with open(path, encoding="ascii") as file:
        rows = [line.split()[:4] for line in file if not line.startswith("#")]
    return np.array(rows, float)


def check_trajectory(path, truth):
    """Largest errors of the first scan, which has to tell its velocity itself, and of all others."""
    ours, true = read_trajectory(path), read_trajectory(truth)
    assert len(ours) == len(true) == N_SCANS, f"{len(ours)} poses"
    errors = np.linalg.norm(ours[:, 1:] - true[:, 1:], axis=1)
    print(f"# errors: first scan {errors[0]:.3f} m, then mean {errors[1:].mean():.3f} m, "
          f"largest {errors[1:].max():.3f} m")
    return errors[0], errors[1:].max()


def write_capture(path, packets, start=START * 1000000):
    """A pcap of Ethernet. @start: of the drive, us since 1970."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for stamp, port, payload in packets:
            udp = struct.pack(">HHHH", port, port, 8 + len(payload), 0) + payload
            ip = struct.pack(">BBHHHBBH4B4B", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0,
                             192, 168, 1, 201, 255, 255, 255, 255) + udp
            frame = bytes(12) + b"\x08\x00" + ip
            file.write(struct.pack("<IIII", *divmod(start + stamp, 1000000), len(frame),
                                   len(frame)) + frame)
