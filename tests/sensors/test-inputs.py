#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Captures that are not as the manual has them: clocks that jump, fields of view, several sensors,
packets of another vendor, ports where nothing comes (TAP)."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import compare  # noqa: E402
from decode import Gst, decode  # noqa: E402


def cases(data, name):
    return f"{data}/cases/{name}"


def records(path):
    """Records of a pcap file: header, frame."""
    with open(path, "rb") as file:
        data = file.read()
    at, out = 24, []
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at + 8:at + 12], "little")
        out.append((data[at:at + 16], data[at + 16:end]))
        at = end
    return data[:24], out


def write(path, head, frames):
    with open(path, "wb") as file:
        file.write(head + b"".join(a + b for a, b in frames))
    return path


def whole_turns(scans, n):
    """All but the first and the last two scans are of a turn, and n points, to 2 %."""
    for scan in scans[1:-2]:
        assert abs(scan.duration - 1e8) < 1e6, scan.duration
        assert abs(len(scan.points) / n - 1) < 0.02, (len(scan.points), n)
    for before, after in zip(scans[1:], scans[2:]):
        assert abs(after.pts - before.pts - before.duration) < 1e6, "a time is lost"


def field_of_view(data):
    """270 to 90 degrees: 13 times a sector, wherever the angle of the cut is."""
    for angle in (0, 180, 45):
        scans, stats, warnings = decode(cases(data, "velodyne_sector/sector_270_90.pcap"),
                                        f"velodynedec cut-angle={angle}")
        # Before the first jump nothing is known: there the angle cuts.
        assert len(scans) == (14 if angle == 45 else 13), len(scans)
        assert not warnings and stats["gaps"] == 0, (warnings, stats)
        whole_turns(scans[len(scans) - 13:], 5716)


def fields_of_view(data):
    """The same of other vendors, cut out of whole captures by azimuth (degrees, where it is in a
    packet): all vendors go through one place."""
    folder = tempfile.mkdtemp()
    nebula = f"{data}/packets_nebula"
    velodyne = cases(data, "velodyne_sector/whole.pcap")
    samples = [(velodyne, "velodynedec", 2, "<", 100, 260),
               (velodyne, "velodynedec", 2, "<", 350, 10),
               (velodyne, "velodynedec", 2, "<", 40, 320),
               (f"{nebula}/xt32/xt32.pcap", "hesaidec", 12, "<", 270, 90),
               (f"{nebula}/40p/40p.pcap", "hesaidec", 2, "<", 300, 120),
               (f"{data}/packets_robosense/helios_32beam.pcap", "robosensedec", 44, ">", 270, 90)]
    for path, decoder, at, order, begin, end in samples:
        head, frames = records(path)
        kept = []
        for header, frame in frames:
            azimuth = int.from_bytes(frame[42 + at:44 + at], "little" if order == "<" else "big") / 100
            if frame[42:44] == b"\xa5\xff" or (azimuth - begin) % 360 < (end - begin) % 360:
                kept.append((header, frame))
        scans, stats, warnings = decode(write(f"{folder}/sector.pcap", head, kept), decoder)
        print(f"# {os.path.basename(path)} {begin} to {end}: {len(scans)} scans of "
              f"{[len(s.points) for s in scans]} points, {[round(s.duration / 1e6) for s in scans]} ms")
        assert not warnings and stats["gaps"] == 0, (warnings, stats)
        turns = scans[1:-1]
        assert turns and all(abs(s.duration - 1e8) < 1.5e6 for s in turns)
        sizes = [len(s.points) for s in turns]
        assert max(sizes) < 1.2 * min(sizes), sizes
        assert all(s.points["time"].max() < s.duration * 1e-9 for s in turns)
    shutil.rmtree(folder)


def hour(data):
    """A counter that goes on over the hour, and one that begins anew 30 ms late."""
    whole, _, _ = decode(f"{data}/packets_nebula/vlp16/vlp16.pcap", "velodynedec")
    n = sum(len(s.points) for s in whole)
    for name in ("over", "late_wrap"):
        scans, stats, warnings = decode(cases(data, f"velodyne_hour/{name}.pcap"), "velodynedec")
        assert not warnings and stats["corrupt"] == stats["late"] == 0, (warnings, stats)
        assert sum(len(s.points) for s in scans) == n
        for before, after in zip(scans, scans[1:]):
            assert before.sensor + before.duration == after.sensor, "the time does not go on"


def clock_set(data):
    """PTP sets an Ouster's clock 37 s ahead, and back by half a second: one event, one scan."""
    folder = tempfile.mkdtemp()
    metadata = f"{data}/packets_ouster/pcaps/OS-1-128_v2.3.0_1024x10.json"
    ahead = cases(data, "ouster_clock_jump/plus37s.pcap")
    head, frames = records(ahead)
    back = []
    step = None
    for header, frame in frames:
        packet = bytearray(frame)
        for column in range(16):
            at = 42 + 32 + column * (12 + 128 * 12)
            time = int.from_bytes(packet[at:at + 8], "little")
            first = time if step is None else step
            step = first
            if time > first + 20 * 10**9:
                time -= 37 * 10**9 + 450 * 10**6
            packet[at:at + 8] = time.to_bytes(8, "little")
        back.append((header, bytes(packet)))
    for path, jump in ((ahead, "37.0"), (write(f"{folder}/back.pcap", head, back), "-0.4")):
        scans, stats, warnings = decode(path, f"ousterdec metadata-location={metadata}")
        full = [np.isfinite(s.points["x"]).mean() for s in scans]
        print(f"# {len(scans)} scans, {stats['restarts']} jump, {stats['late']} late, "
              f"durations {[round(s.duration / 1e6, 1) for s in scans]}")
        assert stats["restarts"] == 1 and 14 <= len(scans) <= 15, (len(scans), stats)
        assert any(f"jumped by {jump}" in text for text in warnings), warnings
        assert all(abs(s.duration - 1e8) < 5e5 for s in scans)
        for scan in scans:
            times = scan.points["time"][np.isfinite(scan.points["x"])]
            assert times.min() >= 0 and times.max() < 0.1005, (times.min(), times.max())
        assert sum(share < 0.9 * np.median(full) for share in full) <= 1, full
    shutil.rmtree(folder)


def two_sensors(data):
    """Only the first one's packets, or those that are asked for; both addresses are said."""
    whole, _, _ = decode(f"{data}/packets_nebula/vlp16/vlp16.pcap", "velodynedec")
    for name in ("same_clock", "other_clock"):
        path = cases(data, f"velodyne_two_sensors/{name}.pcap")
        scans, stats, warnings = decode(path, "velodynedec")
        assert [len(s.points) for s in scans] == [len(s.points) for s in whole]
        assert stats["other-source"] == 603 and stats["restarts"] == 0, stats
        assert len(warnings) == 1 and "src-ip" in warnings[0], warnings
        assert "192.168.1.201" in warnings[0] and "192.168.1.202" in warnings[0], warnings
        scans, stats, _ = decode(path, "velodynedec src-ip=192.168.1.202")
        assert stats["other-source"] == 603 and stats["scans"] == 5, stats
        _, stats, warnings = decode(path, "velodynedec", "src-ip=192.168.1.202")
        assert stats["other-source"] == 0 and stats["packets"] == 603 and not warnings


def pcapng(data):
    """Interfaces of different links, whichever comes first."""
    whole, _, _ = decode(f"{data}/packets_nebula/vlp16/vlp16.pcap", "velodynedec")
    for name in ("ether_null", "null_first"):
        scans, stats, _ = decode(cases(data, f"pcapng_mixed/{name}.pcapng"), "velodynedec")
        assert stats["packets"] == 615 and stats["bad-size"] == 0, stats
        assert [len(s.points) for s in scans] == [len(s.points) for s in whole]


def fails(path, decoder, source=""):
    """What the error says that ends a pipeline. (gst-launch 1.22 may hang where an error comes at
    once, whatever the elements.)"""
    try:
        decode(path, decoder, source)
    except AssertionError as error:
        return str(error)
    raise AssertionError(f"{decoder} ended without an error")


def other_vendor(data):
    """Not a single scan is an error that says whose packets they are, or what ports there are."""
    nebula = f"{data}/packets_nebula"
    for path, decoder, hint in ((f"{nebula}/xt32/xt32.pcap", "velodynedec", "hesaidec"),
                                (f"{nebula}/vlp16/vlp16.pcap", "hesaidec", "velodynedec"),
                                (f"{nebula}/vlp16/vlp16.pcap", "robosensedec", "velodynedec"),
                                (f"{data}/packets_robosense/helios_32beam.pcap", "hesaidec",
                                 "robosensedec")):
        text = fails(path, decoder)
        assert "Not a single scan" in text and f"use {hint}" in text, text
    text = fails(f"{nebula}/vlp16/vlp16.pcap", "velodynedec", "dst-port=9")
    assert "2368" in text, text


def live(data):
    """Live, after three seconds: nothing comes, with the port; or what comes instead. The wall clock
    is beside the sensor's."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    port = receiver.getsockname()[1]
    receiver.close()
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    other.bind(("127.0.0.2", 0))
    packets = [f[42:] for _, f in records(f"{data}/packets_nebula/vlp16/vlp16.pcap")[1]]
    for decoder, sends, text in (("velodynedec", False, f"port {port}"),
                                 ("hesaidec", True, "use velodynedec"),
                                 ("velodynedec", True, None)):
        pipeline = Gst.parse_launch(
            f"udpsrc address=127.0.0.1 port={port} ! {decoder} name=decoder ! "
            "fakesink name=sink signal-handoffs=true sync=false")
        stamps = []

        def on_scan(_, buffer, __, stamps=stamps):
            caps = Gst.Caps.from_string("timestamp/x-unix, source=(string)arrival")
            meta = buffer.get_reference_timestamp_meta(caps)
            stamps.append(meta.timestamp if meta else None)
        pipeline.get_by_name("sink").connect("handoff", on_scan)
        pipeline.set_state(Gst.State.PLAYING)
        # Its socket is bound once it is READY; the sink waits for a scan.
        begin = time.time()
        for packet in packets if sends else []:
            sender.sendto(packet, ("127.0.0.1", port))
            if text is None:
                other.sendto(packet, ("127.0.0.1", port))
            time.sleep(0.0006)
        bus = pipeline.get_bus()
        # Twice the three seconds, for a busy machine.
        found, end = [], time.time() + (7 if text else 1)
        while time.time() < end:
            message = bus.timed_pop_filtered(Gst.SECOND // 4, Gst.MessageType.WARNING)
            if message:
                found.append(message.parse_warning()[0].message)
            if text and any("in 3 s" in f for f in found):
                break
        pipeline.set_state(Gst.State.NULL)
        if text:
            silence = [f for f in found if "in 3 s" in f]
            assert len(silence) == 1 and text in silence[0], found
        else:
            # A second sensor sends the same, as udpsrc tells.
            assert len(stamps) >= 3 and len(found) == 1, (stamps, found)
            assert "127.0.0.1" in found[0] and "127.0.0.2" in found[0], found
            assert all(begin - 1 < s * 1e-9 < time.time() for s in stamps), (begin, stamps)


def logs(data):
    """What a decoder says by levels: nothing at 3, the model, caps and calibration at 4, refused
    packets at 5, each scan at 6."""
    nebula = f"{data}/packets_nebula"
    line = (f"gst-launch-1.0 lidarpcapsrc location={nebula}/vlp16/vlp16.pcap ! velodynedec "
            f"calibration-location={nebula}/calibration/VLP16.yaml ! fakesink")

    def run(level, text=line):
        done = subprocess.run(text.split(), capture_output=True, text=True, timeout=60, check=True,
                              env=dict(os.environ, GST_DEBUG=f"velodynedec:{level}",
                                       GST_DEBUG_NO_COLOR="1"))
        return done.stderr
    assert "velodynedec" not in run(3)
    text = run(6)
    for part in ("the sensor is a VLP-16", "packets of 192.168.1.201 are decoded", "VLP16.yaml",
                 "caps pointcloud/x-raw", "segment", "scan 3: 14879 points"):
        assert part in text, (part, text)
    assert "scan 3" not in run(5)
    two = cases(data, "velodyne_two_sensors/same_clock.pcap")
    text = run(5, f"gst-launch-1.0 lidarpcapsrc location={two} ! velodynedec ! fakesink")
    assert text.count("packet of 192.168.1.202, not of 192.168.1.201") == 603


def time_of_day(data):
    """The capture's, of the same instant as PTS."""
    path = f"{data}/packets_nebula/vlp16/vlp16.pcap"
    head, frames = records(path)
    unit = 1 if head[:4] == bytes.fromhex("4d3cb2a1") else 1000
    start = (int.from_bytes(frames[0][0][:4], "little") * 10**9 +
             int.from_bytes(frames[0][0][4:8], "little") * unit)
    pipeline = Gst.parse_launch(f"lidarpcapsrc location={path} ! velodynedec ! "
                                "fakesink name=sink signal-handoffs=true sync=false")
    found = []

    def on_scan(_, buffer, __):
        meta = buffer.get_reference_timestamp_meta(Gst.Caps.from_string("timestamp/x-unix"))
        own = buffer.get_reference_timestamp_meta(Gst.Caps.from_string("timestamp/x-lidar"))
        found.append((meta.timestamp - buffer.pts, own is not None))
    pipeline.get_by_name("sink").connect("handoff", on_scan)
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        60 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    assert message.type == Gst.MessageType.EOS
    assert found and all(offset == start and both for offset, both in found), (found, start)


compare.run([field_of_view, fields_of_view, hour, clock_set, two_sensors, pcapng, other_vendor, live,
             logs, time_of_day], ["cases", "packets_nebula", "packets_robosense", "packets_ouster"])
