#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What mcapsink and mcapmux record, read by Python's mcap and rosbags: values, stamps, indexes,
checksums, attachments (TAP)."""

import hashlib
import os
import struct
import subprocess
import time

import unittest_tap
from recording import (DecoderFactory, Folder, Gst, SECOND, make_reader, wait)


class Files(Folder):
    def test_compressions(self):
        for name in ("none", "lz4", "zstd"):
            with self.subTest(name):
                path = self.path(name + ".mcap")
                self.record(f"mcapsink name=rec location={path} compression={name} "
                            "chunk-size=50000")
                self.check_by_mcap(path, compression="" if name == "none" else name)
                self.check_by_rosbags(path)

    def test_large_messages(self):
        """A chunk size below that of a message: each has a chunk and its index."""
        path = self.path("large.mcap")
        self.record(f"mcapsink name=rec location={path} chunk-size=1")
        self.check_by_mcap(path)
        with open(path, "rb") as file:
            self.assertEqual(make_reader(file).get_summary().statistics.chunk_count, 180)

    def test_mux(self):
        path = self.path("mux.mcap")
        self.record(f"mcapmux name=rec ! filesink location={path}")
        self.check_by_mcap(path)
        self.check_by_rosbags(path)

    def test_split(self):
        pattern = self.path("part-%05d.mcap")
        for limit in ("max-size-bytes=100000", f"max-size-time={SECOND}"):
            with self.subTest(limit):
                before = set(os.listdir(self.folder))
                self.record(f"mcapsink name=rec location={pattern} {limit} chunk-size=20000 "
                            "attach-pipeline=false")
                parts = sorted(set(os.listdir(self.folder)) - before)
                self.assertGreater(len(parts), 2)
                seen = {topic: 0 for topic in self.checks()}
                for part in parts:
                    if "bytes" in limit:
                        self.assertLessEqual(os.path.getsize(self.path(part)), 100000)
                    self.check_sums(self.path(part))
                    with open(self.path(part), "rb") as file:
                        reader = make_reader(file, validate_crcs=True,
                                             decoder_factories=[DecoderFactory()])
                        messages = list(reader.iter_decoded_messages(topics=list(seen)))
                        # In the order of arrival: two sources are not in step.
                        times = [m.log_time for _, _, m in
                                 reader.iter_messages(log_time_order=False)]
                    if "time" in limit:
                        self.assertLess(max(times) - times[0], SECOND)
                    for _, channel, message, decoded in messages:
                        self.checks()[channel.topic](decoded, seen[channel.topic])
                        seen[channel.topic] += 1
                self.assertEqual(set(seen.values()), {30})

    def test_live(self):
        """Log times are those of the day, and the stamps keep their distances."""
        path = self.path("live.mcap")
        before = time.time_ns()
        pipeline = Gst.parse_launch(
            f"lidartestsrc is-live=true num-buffers=4 ! mcapsink location={path}")
        pipeline.set_state(Gst.State.PLAYING)
        wait(pipeline)
        pipeline.set_state(Gst.State.NULL)
        with open(path, "rb") as file:
            times = [m.log_time for _, _, m in make_reader(file).iter_messages(["/points"])]
        self.assertEqual(len(times), 4)
        # The clock of the pipeline and that of the day may drift apart by a little.
        self.assertGreater(times[0], before - SECOND // 10)
        self.assertLess(times[-1], time.time_ns() + SECOND)
        self.assertEqual({b - a for a, b in zip(times, times[1:])}, {SECOND // 10})

    def test_pause(self):
        """Log times are those of the day after a pause as well."""
        path = self.path("pause.mcap")
        pipeline = Gst.parse_launch("lidartestsrc is-live=true num-buffers=6 rings=16 columns=64 ! "
                                    f"mcapsink name=rec location={path} chunk-size=1")
        rec = pipeline.get_by_name("rec")
        pipeline.set_state(Gst.State.PLAYING)
        deadline = time.monotonic() + 120
        while rec.get_property("stats").get_uint64("messages").value < 4:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        pipeline.set_state(Gst.State.PAUSED)
        time.sleep(1.5)  # more than what the other scans take
        resumed = time.time_ns()
        pipeline.set_state(Gst.State.PLAYING)
        wait(pipeline)
        pipeline.set_state(Gst.State.NULL)
        with open(path, "rb") as file:
            times = [m.log_time for _, _, m in make_reader(file).iter_messages(["/points"])]
        self.assertGreaterEqual(len(times), 3)  # a live source may skip what it does not play
        self.assertGreater(times[-1], resumed)
        self.assertLess(times[-1], time.time_ns() + SECOND // 10)


class Provenance(Folder):
    def test_provenance(self):
        """The map's checksum, the pipeline and what the user says of it."""
        map_path, path = self.path("a map.pcd"), self.path("out.mcap")
        points = b"".join(struct.pack("<fff", x * 0.2, y * 0.2, 0) for x in range(50)
                          for y in range(50))
        header = (b"VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 2500\n"
                  b"HEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2500\nDATA binary\n")
        with open(map_path, "wb") as file:
            file.write(header + points)
        pipeline = Gst.parse_launch(
            "lidartestsrc is-live=true num-buffers=10 ! ndtlocalize name=ndt ! "
            f"mcapsink location={path} "
            "metadata=drive,vehicle=bus,number=(int)7")
        pipeline.get_by_name("ndt").set_property("map-location", map_path)
        pipeline.set_state(Gst.State.PLAYING)
        wait(pipeline)
        pipeline.set_state(Gst.State.NULL)
        with open(path, "rb") as file:
            reader = make_reader(file, validate_crcs=True)
            attachments = {a.name: a.data for a in reader.iter_attachments()}
            metadata = {m.name: m.metadata for m in reader.iter_metadata()}
        digest = hashlib.sha256(header + points).hexdigest()
        self.assertEqual(attachments["map.sha256"].decode(), f"{digest}  {map_path}\n")
        self.assertTrue(b"GstNdtLocalize" in attachments["pipeline.dot"])
        self.assertEqual(metadata["drive"], {"vehicle": "bus", "number": "7"})

    def test_maps(self):
        """A map that changes: both checksums, each from the first cloud aligned with it."""
        maps, digests = [self.path("one.pcd"), self.path("other.pcd")], []
        for number, name in enumerate(maps):
            content = b"".join(struct.pack("<fff", x * 0.2, y * 0.2, number) for x in range(50)
                               for y in range(50))
            content = (b"VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n"
                       b"WIDTH 2500\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2500\nDATA binary\n"
                       + content)
            with open(name, "wb") as file:
                file.write(content)
            digests.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
        path = self.path("out.mcap")
        pipeline = Gst.parse_launch(
            "lidartestsrc is-live=true rings=16 columns=64 ! ndtlocalize name=ndt ! "
            f"mcapsink location={path} log-time=pts")
        ndt = pipeline.get_by_name("ndt")
        ndt.set_property("map-location", maps[0])
        pipeline.set_state(Gst.State.PLAYING)
        bus = pipeline.get_bus()
        ndt.set_property("map-location", maps[1])
        while True:
            message = bus.timed_pop_filtered(
                60 * SECOND, Gst.MessageType.ELEMENT | Gst.MessageType.ERROR)
            self.assertIsNotNone(message)
            self.assertEqual(message.type, Gst.MessageType.ELEMENT)
            if message.get_structure().get_name() == "ndt-map":
                break
        scan = message.get_structure().get_value("scan")
        content, deadline = b"", time.monotonic() + 120
        while digests[1].encode() not in content:  # what ends before is without it
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
            if os.path.exists(path):
                with open(path, "rb") as file:
                    content = file.read()
        pipeline.send_event(Gst.Event.new_eos())
        wait(pipeline)
        pipeline.set_state(Gst.State.NULL)
        with open(path, "rb") as file:
            reader = make_reader(file, validate_crcs=True)
            found = [a for a in reader.iter_attachments() if a.name == "map.sha256"]
            times = [m.log_time for _, _, m in reader.iter_messages(["/points"])]
        # The first may not have been used for any scan.
        expected = [(times[scan], digests[1])]
        if scan > 0:
            expected.insert(0, (times[0], digests[0]))
        self.assertEqual([(a.log_time, a.data.decode()) for a in found], expected)

    def test_map_while_recording(self):
        """The end does not wait for a map's checksum that was known before."""
        map_path, path = self.path("town.pcd"), self.path("out.mcap")
        subprocess.run([os.environ["NDT_MAP"], "simulate", map_path], check=True,
                       stdout=subprocess.DEVNULL)
        with open(map_path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        pipeline = Gst.parse_launch(
            f"lidartestsrc is-live=true rings=16 columns=64 ! ndtlocalize map-location={map_path} "
            f"initial-pose=0,0,1.8 ! mcapsink location={path}")
        pipeline.set_state(Gst.State.PLAYING)
        wanted, content, deadline = f"{digest}  {map_path}\n".encode(), b"", time.monotonic() + 120
        while wanted not in content:
            self.assertLess(time.monotonic(), deadline, "the checksum is not there while it records")
            time.sleep(0.02)
            if os.path.exists(path):
                with open(path, "rb") as file:
                    content = file.read()
        os.unlink(map_path)
        pipeline.send_event(Gst.Event.new_eos())
        wait(pipeline)
        pipeline.set_state(Gst.State.NULL)
        with open(path, "rb") as file:
            found = [a.data for a in make_reader(file).iter_attachments() if a.name == "map.sha256"]
        self.assertEqual(found, [wanted])


if __name__ == "__main__":
    unittest_tap.run()
