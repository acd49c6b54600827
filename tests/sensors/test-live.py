#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A VLP-16's packets over the loopback's UDP, as a sensor sends them (TAP)."""

import itertools
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import drive  # noqa: E402
from gi.repository import Gst  # noqa: E402

LIMIT = 300  # seconds for what has to come
WAITING = 1 << 16  # bytes that lie in a socket's buffer at most, of a default of 208 KiB


def allowed_buffer():
    with open("/proc/sys/net/core/rmem_max", encoding="ascii") as file:
        return int(file.read())


def waiting(port):
    """Bytes in the buffer of the socket that is bound to a port, where the kernel says so."""
    with open("/proc/net/udp", encoding="ascii") as file:
        for line in itertools.islice(file, 1, None):
            fields = line.split()
            if int(fields[1].split(":")[1], 16) == port:
                return int(fields[4].split(":")[1], 16)
    return 0


def send(packets, port, factor):
    """Sends packets, of times in us and payloads, as fast as they were taken, times a factor. A
    machine with other work may not let the receiver run for longer than the kernel's buffer lasts:
    it is waited for then, which says nothing of the elements."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        start, held_up = time.monotonic(), 0
        for stamp, _, payload in packets:
            wait = start + stamp / 1e6 / factor - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            if waiting(port) > WAITING:
                held_up += 1
                wait_for(lambda: waiting(port) <= WAITING, "nothing is received")
            out.sendto(payload, ("127.0.0.1", port))
        print(f"# the receiver was waited for {held_up} times", flush=True)


def wait_for(condition, otherwise):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, otherwise
        time.sleep(0.001)


def wait_for_map(bus):
    """Live scans do not wait for it."""
    reading = False
    while message := bus.timed_pop_filtered(LIMIT * Gst.SECOND if reading else 0,
                                            Gst.MessageType.PROGRESS):
        kind = message.parse_progress()[0]
        reading = kind in (Gst.ProgressType.START, Gst.ProgressType.CONTINUE)
    assert not reading, "the map is not read"


def play(packets, factor, rest):
    """Statistics of a decoder that gets these packets live, and the latency that it reports."""
    pipeline = Gst.parse_launch(
        f"udpsrc name=source port=0 buffer-size={min(allowed_buffer(), 1 << 24)} ! "
        f"velodynedec name=decoder cut-angle=180 ! queue ! {rest}")
    try:
        pipeline.set_state(Gst.State.PAUSED)
        wait_for_map(pipeline.get_bus())
        pipeline.set_state(Gst.State.PLAYING)
        # Sources are live: there is no preroll to wait for, and the port is bound by now.
        decoder = pipeline.get_by_name("decoder")
        sender = threading.Thread(
            target=send, args=(packets, pipeline.get_by_name("source").get_property("port"), factor))
        sender.start()
        sender.join()
        wait_for(lambda: decoder.get_property("stats").get_value("packets") == len(packets),
                 f"not all of {len(packets)} packets arrive")
        query = Gst.Query.new_latency()
        assert decoder.get_static_pad("src").query(query), "no latency"
        pipeline.send_event(Gst.Event.new_eos())
        message = pipeline.get_bus().timed_pop_filtered(
            LIMIT * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        assert message and message.type == Gst.MessageType.EOS, "no end"
        stats = decoder.get_property("stats")
        names = [stats.nth_field_name(i) for i in range(stats.n_fields())]
        return {name: stats.get_value(name) for name in names}, query.parse_latency()
    finally:
        pipeline.set_state(Gst.State.NULL)


def check(packets, factor, rest):
    """Nothing is lost, nor wrong."""
    stats, (live, least, _) = play(packets, factor, rest)
    print(f"# {len(packets)} packets, {factor} x real time: {stats['scans']} scans, "
          f"latency {least / 1e6:.1f} ms", flush=True)
    assert live and 99e6 < least < 101e6, "latency is not a round"
    others = {name: n for name, n in stats.items() if name not in ("packets", "scans", "gaps")}
    assert not any(others.values()), others
    return stats


def fast(_, scans):
    """9 s of a sensor in 1.8 s."""
    rounds = list(itertools.chain(scans, scans, scans))
    stats = check(list(drive.velodyne(rounds)), 5, "fakesink sync=false")
    assert stats["scans"] == len(rounds) and stats["gaps"] == 0, stats


def localized(folder, scans):
    """The drive at its own rate, localized meanwhile."""
    drive.write_map(f"{folder}/town.pcd")
    subprocess.run(f"gst-launch-1.0 -q {drive.SIMULATION} ! "
                   f"trajectorysink role=ground-truth location={folder}/truth.txt "
                   "sync=false",
                   shell=True, check=True, timeout=LIMIT)
    with open(f"{folder}/truth.txt", encoding="ascii") as file:
        start = ",".join(next(line for line in file if not line.startswith("#")).split()[1:8])
    check(list(drive.velodyne(scans)), 1,
          f"ndtlocalize map-location={folder}/town.pcd resolution=2 initial-pose={start} ! "
          f"trajectorysink location={folder}/live.txt")
    first, worst = drive.check_trajectory(f"{folder}/live.txt", f"{folder}/truth.txt")
    # As from a capture: how late packets are on a busy machine changes no stamp.
    assert first < 0.05 and worst < 0.03, f"poses are up to {worst:.3f} m off, the first {first:.3f} m"


def main():
    failed = 0
    scans = drive.simulate(1800)
    with tempfile.TemporaryDirectory() as folder:
        for number, test in enumerate((fast, localized), 1):
            try:
                test(folder, scans)
                print(f"ok {number} {test.__name__}", flush=True)
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"not ok {number} {test.__name__}\n# {error}", flush=True)
    print("1..2")
    sys.exit(1 if failed else 0)


main()
