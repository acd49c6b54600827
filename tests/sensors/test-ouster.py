#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Captures of Ouster lidars against Ouster's own decoding (TAP)."""

import glob
import hashlib
import json
import os
import sys
import warnings

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
from decode import decode, payloads  # noqa: E402

# Capture, metadata, packets that are decoded.
CAPTURES = [
    ("OS-0-128-U1_v2.3.0_1024x10", "OS-0-128-U1_v2.3.0_1024x10", 64),
    ("OS-0-32-U1_v2.2.0_1024x10", "OS-0-32-U1_v2.2.0_1024x10", 64),
    ("OS-1-128_v2.3.0_1024x10_lb_n3", "OS-1-128_v2.3.0_1024x10", 192),
    ("OS-1-32-G_v2.1.1_1024x10", "OS-1-32-G_v2.1.1_1024x10", 64),
    ("OS-1-64_1024x10_fw20", "OS-1-64_sensor_config_reduced", 64),
    ("OS-2-32-U0_v2.0.0_1024x10", "OS-2-32-U0_v2.0.0_1024x10", 64),
    ("crc_test", "crc_test", 34),
    ("shot_limiting_test", "shot_limiting_test", 1),
    ("windowed_frame1", "windowed_frame1_0", 17),
    ("windowed_frame2", "windowed_frame2_0", 15),
]


def run(data, capture, metadata):
    folder = f"{data}/packets_ouster/pcaps"
    return decode(f"{folder}/{capture}.pcap", f"ousterdec metadata-location={folder}/{metadata}.json")


def planes(scan, rows):
    """Points of each return, rows × columns."""
    return scan.points.reshape(-1, rows, 1024)


def digests(data):
    """Every range, to the millimetre, and reflectivity, as the digests of Ouster's fields have
    them. Ranges are found back from points."""
    paths = sorted(glob.glob(f"{data}/packets_ouster/pcaps/*_digest.json"))
    assert len(paths) == 4, paths
    for path in paths:
        name = os.path.basename(path)[:-len("_digest.json")]
        with open(path, encoding="utf-8") as file:
            expected = json.load(file)["scans"]
        with open(path.replace("_digest", ""), encoding="utf-8") as file:
            metadata = json.load(file)
        scans, stats, texts = run(data, name, name)
        assert not texts and stats["late"] == 0 and len(scans) == len(expected), (stats, texts)
        origin = metadata["lidar_origin_to_beam_origin_mm"]
        turn = 2 * np.pi * (1 - np.arange(1024) / 1024)
        start = np.stack([-origin * np.cos(turn), -origin * np.sin(turn),
                          np.full(1024, metadata["lidar_to_sensor_transform"][11])], 1)
        for scan, fields in zip(scans, expected):
            returns = planes(scan, len(metadata["beam_altitude_angles"]))
            assert len(returns) == (2 if "RANGE2" in fields else 1)
            for points, suffix in zip(returns, ("", "2")):
                xyz = np.stack([points[c] for c in "xyz"], 2).astype(float) * 1e3
                length = np.linalg.norm(xyz - start, axis=2) + origin
                ranges = np.where(np.isfinite(length), np.round(length), 0).astype(np.uint32)
                assert hashlib.md5(ranges.tobytes()).hexdigest() == fields["RANGE" + suffix], name
                assert fields["REFLECTIVITY" + suffix] in [
                    hashlib.md5(points["intensity"].astype(kind).tobytes()).hexdigest()
                    for kind in (np.uint8, np.uint16)], name


def ouster_sdk(data):
    try:
        import ouster.sdk.core as other
    except ImportError:
        return "ouster-sdk is not installed"
    warnings.simplefilter("ignore")  # of names that its next version will not have
    folder = f"{data}/packets_ouster/pcaps"
    for capture, metadata, n_packets in CAPTURES:
        scans, stats, texts = run(data, capture, metadata)
        assert not texts and stats["packets"] - stats["other"] == n_packets, (capture, stats, texts)
        with open(f"{folder}/{metadata}.json", encoding="utf-8") as file:
            info = other.SensorInfo(file.read())
        table, batch, theirs = other.XYZLut(info), other.FrameBatcher(info), []
        frame = other.LidarFrame(info)
        for payload in payloads(f"{folder}/{capture}.pcap"):
            if len(payload) != other.PacketFormat(info).lidar_packet_size:
                continue
            packet = other.LidarPacket(len(payload))
            packet.buf[:] = np.frombuffer(payload, np.uint8)
            packet.host_timestamp = 1
            if batch(packet, frame):
                theirs.append(frame)
                frame = other.LidarFrame(info)
        # A frame that its last packet completed is there already.
        theirs += [frame] if np.any(np.asarray(frame.timestamp)) else []
        assert len(scans) == len(theirs), f"{capture}: {len(scans)} scans, theirs {len(theirs)}"
        worst = 0
        for scan, frame in zip(scans, theirs):
            names = ["RANGE"] + (["RANGE2"] if "RANGE2" in frame.fields else [])
            shape = np.asarray(frame.field("RANGE")).shape
            times = np.asarray(frame.timestamp).astype(np.int64)
            valid = np.asarray(frame.status) & 1 == 1
            assert scan.sensor == times[valid].min(), f"{capture}: the first firing"
            ours = scan.points.reshape((len(names),) + shape)
            for points, name in zip(ours, names):
                xyz = np.stack([points[c] for c in "xyz"], 2)
                there = np.asarray(frame.field(name)) > 0
                assert (np.isfinite(xyz).all(axis=2) == there).all(), f"{capture}: other returns"
                gap = np.abs(xyz - table(np.asarray(frame.field(name))))[there]
                worst = max(worst, gap.max() if gap.size else 0)
                # A time within a scan is a float of seconds: 7 ns at 0.1 s.
                offsets = points["time"][0][valid].astype(np.float64) * 1e9
                late = np.abs(offsets + (int(scan.sensor) - times[valid]))
                assert late.max() < 10, f"{capture}: times differ by {late.max()} ns"
        print(f"# {capture}: {len(scans)} scans, within {worst * 1e6:.0f} um")
        # Ranges are in mm; floats at 200 m resolve 15 um, and there are a few of them in a sum.
        assert worst < 1e-4, f"{capture}: points {worst} m apart"


def windows(data):
    """Only columns of the window come, and a scan is what came of them."""
    for name in ("windowed_frame1", "windowed_frame2"):
        with open(f"{data}/packets_ouster/pcaps/{name}_0.json", encoding="utf-8") as file:
            first, last = json.load(file)["lidar_data_format"]["column_window"]
        scans, _, _ = run(data, name, name + "_0")
        seen = np.isfinite(scans[0].points["x"].reshape(128, 512)).any(axis=0).nonzero()[0]
        inside = (seen >= first) & (seen <= last) if first <= last else \
            (seen >= first) | (seen <= last)
        assert len(seen) > 100 and inside.all(), (name, seen, first, last)


def metadata_files(data):
    """Metadata of every firmware are read; malformed ones are refused or used as far as they are
    whole, never a crash."""
    import subprocess
    folder = f"{data}/packets_ouster/metadata"
    for path in sorted(glob.glob(f"{folder}/*.json") + glob.glob(f"{folder}/malformed/*.json")):
        line = f"gst-launch-1.0 -q fakesrc num-buffers=0 ! ousterdec metadata-location={path} ! fakesink"
        done = subprocess.run(line, shell=True, text=True, capture_output=True, timeout=300)
        if "malformed" not in path:
            assert done.returncode == 0, (path, done.stderr)
        else:
            assert done.returncode == 0 or "no metadata of an Ouster" in done.stderr, done.stderr


compare.run([digests, ouster_sdk, windows, metadata_files], ["packets_ouster"])
