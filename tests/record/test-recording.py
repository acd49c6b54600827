#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What mcapsink records, read by Python's mcap and rosbags: values, stamps, indexes, checksums; and
what is left after a kill, a full disk, a cut (TAP).

    test-recording.py RECORD_FOREVER BAG_DUMP
"""

import glob
import hashlib
import os
import random
import resource
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import unittest_tap

RECORD_FOREVER = sys.argv.pop(1)
BAG_DUMP = sys.argv.pop(1)
SECOND = 10**9


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def missing(what):
    """A reason to skip, but a failure where everything has to be there."""
    if os.environ.get("CI") == "true":
        sys.exit(what + " is missing")
    skip_all(what + " is missing")


try:
    import gi

    gi.require_version("Gst", "1.0")
    gi.require_version("GstPointCloud", "1.0")
    from gi.repository import GLib, Gst, GstPointCloud
except (ImportError, ValueError) as error:
    skip_all(error)
try:
    from mcap.exceptions import McapError
    from mcap.reader import NonSeekingReader, make_reader
    from mcap.records import (Attachment, Channel, Chunk, DataEnd, Message, MessageIndex, Metadata,
                              Schema)
    from mcap.stream_reader import StreamReader, breakup_chunk
    from mcap_ros2.decoder import DecoderFactory
except ImportError:
    missing("Python's mcap or mcap-ros2-support")
try:
    from rosbags.highlevel import AnyReader
except ImportError:
    missing("Python's rosbags")

Gst.init(None)

# A custom layout with a gap, an array and every width of number.
FIELDS = [("x", 7, 0, 1), ("y", 7, 4, 1), ("z", 7, 8, 1), ("ring", 4, 12, 1), ("t", 8, 16, 1),
          ("rgb", 2, 24, 3)]
NAMES = {7: "F32", 4: "U16", 8: "F64", 2: "U8"}
CLOUD_CAPS = ('pointcloud/x-raw,format=CUSTOM,point-step=28,framerate=10/1,frame-id=top,fields="'
              + "\\,".join(f"{n}:{NAMES[t]}:{o}" + (f":{c}" if c > 1 else "")
                           for n, t, o, c in FIELDS) + '"')
EPOCH = 1_700_000_000 * SECOND + 123_456_789


def cloud(i):
    """The bytes of scan i: of another size each; one is empty."""
    return random.Random(i).randbytes(28 * (137 * i % 1000))


def pts(i):
    return 7 * SECOND + 100_000_001 * i


def pose(i):
    generator = random.Random(1000 + i)
    return {
        "position": [generator.uniform(-1e6, 1e6) for _ in range(3)],
        "orientation": [0.5, -0.5, 0.5, 0.5],
        "covariance": [generator.random() for _ in range(36)],
        "nvtl": generator.random() * 3,
        "transformation-probability": generator.random(),
        "sequence": i,
        "iterations": i % 7,
        "timestamp": pts(i) + 100_000_000,
    }


def pose_structure(i):
    p = pose(i)
    text = "pose, role=(string)estimate, status=(string)tracking"
    text += ", parent-frame=(string)world, child-frame=(string)base"
    for key in ("position", "orientation", "covariance"):
        text += f", {key}=(double)< " + ", ".join(repr(v) for v in p[key]) + " >"
    for key in ("nvtl", "transformation-probability"):
        text += f", {key}=(double){p[key]!r}"
    text += f", matched-ratio=(double)0.75, sequence=(guint64){i}, iterations=(uint){p['iterations']}"
    text += f", timestamp=(guint64){p['timestamp']}"
    structure, _ = Gst.Structure.from_string(text)
    assert structure, text
    return structure


def make_cloud(i, with_pose=True, with_reference=True):
    data = cloud(i)
    buffer = Gst.Buffer.new_wrapped(data) if data else Gst.Buffer.new()
    buffer.pts = pts(i)
    if with_pose:
        assert GstPointCloud.buffer_add_pose_meta_from_structure(buffer, pose_structure(i))
    if with_reference:
        buffer.add_reference_timestamp_meta(
            Gst.Caps.from_string("timestamp/x-unix"), EPOCH + pts(i), Gst.CLOCK_TIME_NONE)
    return buffer


def wait(pipeline, types=Gst.MessageType.EOS | Gst.MessageType.ERROR):
    message = pipeline.get_bus().timed_pop_filtered(300 * SECOND, types)
    assert message, "no end within five minutes"
    if message.type == Gst.MessageType.ERROR:
        error, debug = message.parse_error()
        raise RuntimeError(f"{error.message} ({debug})")
    return message


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="recording-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self, sink, n=30):
        """n clouds with poses, and a raw packet after each, through @sink named rec."""
        pipeline = Gst.parse_launch(
            f"appsrc name=clouds format=time caps={CLOUD_CAPS.replace(' ', '')!s} ! rec.cloud_0 "
            f"appsrc name=packets format=time caps=application/x-lidar,maker=(string)acme "
            f"! rec.data_0 {sink}")
        clouds, packets = (pipeline.get_by_name(name) for name in ("clouds", "packets"))
        for source in (clouds, packets):
            source.set_property("max-bytes", 0)
        pipeline.set_state(Gst.State.PLAYING)
        for i in range(n):
            clouds.emit("push-buffer", make_cloud(i))
            packet = Gst.Buffer.new_wrapped(b"packet %d" % i)
            packet.pts = pts(i)
            packets.emit("push-buffer", packet)
        clouds.emit("end-of-stream")
        packets.emit("end-of-stream")
        try:
            wait(pipeline)
        finally:
            pipeline.set_state(Gst.State.NULL)

    def check_cloud(self, message, i):
        self.assertEqual(message.header.frame_id, "top")
        self.assertEqual(message.header.stamp.sec * SECOND + message.header.stamp.nanosec,
                         EPOCH + pts(i))
        self.assertEqual((message.height, message.width), (1, len(cloud(i)) // 28))
        self.assertEqual([(f.name, f.datatype, f.offset, f.count) for f in message.fields], FIELDS)
        self.assertEqual((message.point_step, message.row_step), (28, len(cloud(i))))
        self.assertFalse(message.is_bigendian)
        self.assertFalse(message.is_dense)
        self.assertEqual(bytes(message.data), cloud(i))

    def check_pose(self, message, i):
        p = pose(i)
        self.assertEqual(message.header.frame_id, "world")
        self.assertEqual(message.header.stamp.sec * SECOND + message.header.stamp.nanosec,
                         EPOCH + pts(i) + 100_000_000)
        self.assertEqual([getattr(message.pose.pose.position, k) for k in "xyz"], p["position"])
        self.assertEqual([getattr(message.pose.pose.orientation, k) for k in "xyzw"],
                         p["orientation"])
        self.assertEqual(list(message.pose.covariance), p["covariance"])

    def check_transform(self, message, i):
        (t,) = message.transforms
        self.assertEqual((t.header.frame_id, t.child_frame_id), ("world", "base"))
        self.assertEqual([getattr(t.transform.translation, k) for k in "xyz"],
                         pose(i)["position"])
        self.assertEqual([getattr(t.transform.rotation, k) for k in "xyzw"],
                         pose(i)["orientation"])

    def check_diagnostics(self, message, i):
        (status,) = message.status
        values = {v.key: v.value for v in status.values}
        level = status.level if isinstance(status.level, int) else status.level[0]
        self.assertEqual(level, 0)
        self.assertEqual((values["role"], values["status"]), ("estimate", "tracking"))
        for key in ("nvtl", "transformation-probability"):
            self.assertEqual(float(values[key]), pose(i)[key])
        self.assertEqual(int(values["sequence"]), i)
        self.assertEqual(int(values["iterations"]), pose(i)["iterations"])

    def checks(self):
        return {"/points": self.check_cloud, "/points/pose": self.check_pose,
                "/tf": self.check_transform, "/diagnostics": self.check_diagnostics}

    def check_by_mcap(self, path, n=30, compression=""):
        with open(path, "rb") as file:
            reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
            summary = reader.get_summary()
            self.assertEqual(summary.statistics.message_count, 5 * n)
            self.assertEqual(summary.statistics.message_start_time, pts(0))
            self.assertEqual(summary.statistics.message_end_time, pts(n - 1))
            self.assertEqual(summary.statistics.chunk_count, len(summary.chunk_indexes))
            self.assertEqual({c.compression for c in summary.chunk_indexes}, {compression})
            topics = {c.topic: c for c in summary.channels.values()}
            self.assertEqual(sorted(topics),
                             ["/data", "/diagnostics", "/points", "/points/pose", "/tf"])
            self.assertEqual(topics["/data"].message_encoding, "application/x-lidar")
            self.assertEqual(topics["/data"].schema_id, 0)
            self.assertEqual(topics["/points/pose"].metadata,
                             {"gst.cloud": "/points", "gst.role": "estimate"})
            self.assertEqual(Gst.Caps.from_string(topics["/points"].metadata["gst.caps"])
                             .get_structure(0).get_string("frame-id"), "top")
            seen = {topic: 0 for topic in topics}
            for _, channel, message in reader.iter_messages(topics=["/data"]):
                self.assertEqual(message.data, b"packet %d" % seen["/data"])
                self.assertEqual(message.log_time, pts(seen["/data"]))
                seen["/data"] += 1
            for _, channel, message, decoded in reader.iter_decoded_messages(
                    topics=list(self.checks())):
                i = seen[channel.topic]
                self.assertEqual(message.log_time, pts(i))
                self.assertEqual(message.sequence, i)
                self.checks()[channel.topic](decoded, i)
                seen[channel.topic] += 1
            self.assertEqual(set(seen.values()), {n})
            # By the index: of some seconds in the middle.
            some = [m.sequence for _, _, m in reader.iter_messages(
                topics=["/points"], starting_at=pts(10), ending_before=pts(20))]
            self.assertEqual(some, list(range(10, 20)))
            (record,) = reader.iter_metadata()
            self.assertEqual((record.name, record.metadata["log-time"]), ("recorder", "pts"))
            (attachment,) = reader.iter_attachments()
            self.assertEqual(attachment.name, "pipeline.dot")
            self.assertTrue(b"GstAppSrc" in attachment.data)
        self.check_sums(path)

    def check_sums(self, path):
        """Every checksum is there and right, and every index points at its message."""
        with open(path, "rb") as file:
            content = file.read()
        self.assertEqual(content[:8], b"\x89MCAP0\r\n")
        self.assertEqual(content[-8:], content[:8])
        summary_start, _, summary_crc = struct.unpack("<QQL", content[-28:-8])
        self.assertEqual(summary_crc, crc32(content[summary_start:-12]))
        chunk = None
        with open(path, "rb") as file:
            for record in StreamReader(file, emit_chunks=True, validate_crcs=True).records:
                if isinstance(record, DataEnd):
                    self.assertNotEqual(record.data_section_crc, 0)
                    self.assertEqual(record.data_section_crc,
                                     crc32(content[:summary_start - 13]))
                elif isinstance(record, Chunk):
                    self.assertNotEqual(record.uncompressed_crc, 0)
                    chunk = [r for r in breakup_chunk(record, validate_crc=True)
                             if isinstance(r, Message)]
                    self.assertEqual(record.message_start_time, min(m.log_time for m in chunk))
                    self.assertEqual(record.message_end_time, max(m.log_time for m in chunk))
                elif isinstance(record, MessageIndex):
                    self.assertEqual(
                        [time for time, _ in record.records],
                        [m.log_time for m in chunk if m.channel_id == record.channel_id])

    def check_by_rosbags(self, path, n=30):
        from pathlib import Path

        seen = {topic: 0 for topic in self.checks()}
        with AnyReader([Path(path)]) as reader:
            self.assertEqual(reader.message_count, 5 * n)
            wanted = [c for c in reader.connections if c.topic in seen]
            for connection, timestamp, raw in reader.messages(wanted):
                i = seen[connection.topic]
                self.assertEqual(timestamp, pts(i))
                self.checks()[connection.topic](reader.deserialize(raw, connection.msgtype), i)
                seen[connection.topic] += 1
        self.assertEqual(set(seen.values()), {n})


def crc32(data):
    import zlib

    return zlib.crc32(data)


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
            self.assertEqual(make_reader(file).get_summary().statistics.chunk_count, 150)

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
            f"lidartestsrc num-buffers=3 ! ndtlocalize name=ndt ! mcapsink location={path} "
            "metadata=drive,vehicle=bus,number=(int)7")
        pipeline.get_by_name("ndt").set_property("map", map_path)
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
        ndt.set_property("map", maps[0])
        pipeline.set_state(Gst.State.PLAYING)
        bus = pipeline.get_bus()
        ndt.set_property("map", maps[1])
        while True:
            message = bus.timed_pop_filtered(
                60 * SECOND, Gst.MessageType.ELEMENT | Gst.MessageType.ERROR)
            self.assertIsNotNone(message)
            self.assertEqual(message.type, Gst.MessageType.ELEMENT)
            if message.get_structure().get_name() == "ndt-map":
                break
        scan = message.get_structure().get_value("scan")
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
        pipeline = Gst.parse_launch(
            f"lidartestsrc num-buffers=1 map-location={map_path} ! fakesink")
        pipeline.set_state(Gst.State.PLAYING)
        wait(pipeline)
        pipeline.set_state(Gst.State.NULL)
        with open(map_path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        pipeline = Gst.parse_launch(
            f"lidartestsrc is-live=true rings=16 columns=64 ! ndtlocalize map={map_path} "
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

    def copy(self, location, path, source="rosbagsrc name=bag", sink="mcapsink name=rec",
             **properties):
        """All streams of recordings through a source and a sink."""
        pipeline = Gst.parse_launch(f"{source} {sink}")
        bag, rec = pipeline.get_by_name("bag"), pipeline.get_by_name("rec")
        for name, value in {"diagnostics-topic": "", "tf-topic": "", "log-time": "pts",
                            "attach-pipeline": False}.items():
            Gst.util_set_object_arg(rec, name, str(value))
        for name, value in properties.items():
            bag.set_property(name, value)
        (pipeline.get_by_name("from") or bag).set_property("location", location)
        (pipeline.get_by_name("to") or rec).set_property("location", path)

        def link(_, pad):
            kind = {"cloud": "cloud_%u", "pose": "pose_%u"}.get(pad.name.split("_")[0], "data_%u")
            assert pad.link(rec.request_pad_simple(kind)) == Gst.PadLinkReturn.OK

        bag.connect("pad-added", link)
        try:
            pipeline.set_state(Gst.State.PLAYING)
            wait(pipeline)
        finally:
            pipeline.set_state(Gst.State.NULL)

    def test_timestamps(self):
        """Time stamps of the header, or log times; the other one of a cloud is in a meta."""
        path = self.path("a.mcap")
        self.record(f"mcapsink name=rec location={path}", 5)
        unix = Gst.Caps.from_string("timestamp/x-unix")
        for timestamps in ("header", "log"):
            pipeline = Gst.parse_launch(
                f"rosbagsrc location={path} timestamps={timestamps} ! pointcloud/x-raw ! "
                "appsink name=out sync=false")
            pipeline.set_state(Gst.State.PLAYING)
            for i in range(5):
                buffer = pipeline.get_by_name("out").emit("pull-sample").get_buffer()
                meta = buffer.get_reference_timestamp_meta(unix)
                if timestamps == "header":
                    self.assertEqual(buffer.pts, EPOCH + pts(i))
                    self.assertIsNone(meta)
                else:
                    self.assertEqual(buffer.pts, pts(i))
                    self.assertEqual(meta.timestamp, EPOCH + pts(i))
            wait(pipeline)
            pipeline.set_state(Gst.State.NULL)

    def test_raw_copies(self):
        """Nothing of MCAP's conformance set is lost: messages, attachments, metadata records."""
        data = os.environ.get("NDT_TEST_DATA") or os.path.join(
            os.environ["NDT_TEST_ROOT"], "..", "shared", "data")
        bags = sorted(glob.glob(os.path.join(data, "mcap_conformance", "*", "*.mcap")))
        if not bags:
            if os.environ.get("CI") == "true":
                self.fail("mcap_conformance is missing")
            self.skipTest("mcap_conformance is missing")

        def content(path, own=False):
            messages, attachments, metadata, schemas, channels = [], [], [], {}, {}
            with open(path, "rb") as file:
                for r in StreamReader(file, validate_crcs=True).records:
                    if isinstance(r, Schema):
                        schemas[r.id] = (r.name, r.encoding, r.data)
                    elif isinstance(r, Channel):
                        channels[r.id] = (r.topic, r.message_encoding, sorted(r.metadata.items()),
                                          schemas.get(r.schema_id))
                    elif isinstance(r, Message):
                        messages.append((r.log_time, channels[r.channel_id], r.publish_time, r.sequence,
                                         r.data))
                    elif isinstance(r, Attachment):
                        attachments.append(
                            (r.name, r.media_type, r.log_time, r.create_time, r.data))
                    elif isinstance(r, Metadata):
                        metadata.append((r.name, sorted(r.metadata.items())))
            if own:  # the recorder's own comes first
                self.assertEqual(metadata.pop(0)[0], "recorder")
                with open(path, "rb") as file:
                    statistics = make_reader(file).get_summary().statistics
                self.assertEqual((statistics.attachment_count, statistics.metadata_count - 1),
                                 (len(attachments), len(metadata)))
            return sorted(messages, key=lambda m: m[0]), attachments, metadata

        ways = (("rosbagsrc name=bag", "mcapsink name=rec"),
                ("filesrc name=from ! mcapdemux name=bag", "mcapmux name=rec ! filesink name=to"),
                ("filesrc name=from ! queue ! mcapdemux name=bag", "mcapsink name=rec"))
        numbers = [0, 0, 0]
        for i, bag in enumerate(bags):
            # Each way a third of the set, but all ways what there is little of.
            is_rare = "Attachment" in bag or "Metadata" in bag
            for way, (source, sink) in enumerate(ways):
                if not is_rare and i % len(ways) != way:
                    continue
                with self.subTest(f"{os.path.relpath(bag, data)} {source}"):
                    path = self.path(f"{i}-{way}.mcap")
                    expected = content(bag)
                    if expected == ([], [], []):
                        with self.assertRaises(RuntimeError):
                            self.copy(bag, path, source, sink, raw=True)
                        continue
                    self.copy(bag, path, source, sink, raw=True)
                    self.assertEqual(content(path, own=True), expected)
                    numbers = [n + len(e) for n, e in zip(numbers, expected)]
        self.assertTrue(all(n > 20 for n in numbers), numbers)

    def test_attach(self):
        """Attachments and metadata of an application, and where a file has them of two runs."""
        path = self.path("a.mcap")
        pipeline = Gst.parse_launch(
            "appsrc name=source caps=application/x-mcap-attachment,name=(string)calibration.yaml,"
            "media-type=(string)text/yaml ! rec.data_0 lidartestsrc num-buffers=2 world=hall ! "
            f"rec.cloud_0 mcapsink name=rec location={path} attach-pipeline=false")
        source = pipeline.get_by_name("source")
        source.emit("push-buffer", Gst.Buffer.new_wrapped(b"yaw: 0.5"))
        source.emit("end-of-stream")
        pipeline.set_state(Gst.State.PLAYING)
        wait(pipeline)
        pipeline.set_state(Gst.State.NULL)
        with open(path, "rb") as file:
            (attachment,) = make_reader(file, validate_crcs=True).iter_attachments()
        self.assertEqual((attachment.name, attachment.media_type, attachment.data),
                         ("calibration.yaml", "text/yaml", b"yaw: 0.5"))
        # Taken out again.
        out = self.path("out.yaml")
        pipeline = Gst.parse_launch(f"rosbagsrc raw=true location={path} ! "
                                    f"application/x-mcap-attachment ! filesink location={out}")
        pipeline.set_state(Gst.State.PLAYING)
        wait(pipeline)
        pipeline.set_state(Gst.State.NULL)
        with open(out, "rb") as file:
            self.assertEqual(file.read(), b"yaw: 0.5")

    def test_bags(self):
        """rosbag2's own bags and MCAP's conformance set, written again."""
        data = os.environ.get("NDT_TEST_DATA") or os.path.join(
            os.environ["NDT_TEST_ROOT"], "..", "shared", "data")
        bags = []
        for name in ("rosbag2_small", "mcap_conformance"):
            found = [path for kind in ("*.mcap", "*.db3")
                     for path in glob.glob(os.path.join(data, name, "**", kind), recursive=True)]
            if not found:
                if os.environ.get("CI") == "true":
                    self.fail(f"{name} is missing")
                self.skipTest(f"{name} is missing")
            bags += sorted(found)

        def content(path):
            # From start to end: not all of the set have all indexes.
            with open(path, "rb") as file:
                return sorted(
                    (m.log_time, c.topic, c.message_encoding, s and s.name, s and s.data, m.data,
                     m.publish_time, sorted(c.metadata.items()))
                    for s, c, m in NonSeekingReader(file, validate_crcs=True).iter_messages())

        def database(path):
            """What rosbag2's SQLite holds: no definition of types, no time of publishing."""
            copy = self.path("copy.db3")
            for suffix in ("", "-wal"):  # SQLite writes beside what it reads
                if os.path.exists(path + suffix):
                    shutil.copy(path + suffix, copy + suffix)
            connection = sqlite3.connect(copy)
            try:
                return sorted(connection.execute(
                    "SELECT timestamp, name, serialization_format, type, data "
                    "FROM messages JOIN topics ON topics.id = topic_id"))
            finally:
                connection.close()
                for left in glob.glob(copy + "*"):
                    os.unlink(left)

        def without_definitions(messages):
            return sorted((time, topic, encoding, name, data)
                          for time, topic, encoding, name, _, data, _, _ in messages)

        self.assertTrue(any(bag.endswith(".db3") for bag in bags))
        copied = 0
        for i, bag in enumerate(bags):
            with self.subTest(os.path.relpath(bag, data)):
                try:
                    expected = database(bag) if bag.endswith(".db3") else content(bag)
                except (McapError, EOFError, struct.error):
                    continue  # made to be damaged
                path = self.path(f"{i}.mcap")
                if not expected and not bag.endswith(".db3"):
                    with self.assertRaisesRegex(RuntimeError, "no messages"):
                        self.copy(bag, path)
                    continue
                self.copy(bag, path)
                written = content(path)
                if bag.endswith(".db3"):
                    written = without_definitions(written)
                self.assertEqual(written, expected)
                copied += len(expected)
        self.assertGreater(copied, 100)

    def test_synced(self):
        """Cut where the file is said to be safe, it has all that was written up to there."""
        path = self.path("cut.mcap")
        pipeline = Gst.parse_launch(
            "fakesrc sizetype=fixed sizemax=16000 is-live=false filltype=pattern ! "
            "pointcloud/x-raw,format=XYZI_F32LE,framerate=10/1 ! identity sleep-time=500 ! "
            f"mcapsink name=rec location={path} chunk-size=100000 sync-interval=20000000")
        sink = pipeline.get_by_name("rec")
        pipeline.set_state(Gst.State.PLAYING)
        deadline = time.monotonic() + 300
        synced = 0
        while synced < 1_000_000 and time.monotonic() < deadline:
            synced = sink.get_property("stats").get_uint64("synced-bytes").value
            time.sleep(0.005)
        self.assertGreater(synced, 1_000_000)
        with open(path, "rb") as file:
            content = file.read(synced)
        pipeline.set_state(Gst.State.NULL)
        with open(self.path("copy.mcap"), "wb") as file:
            file.write(content)
        n, chunks, rest = read_cut(self.path("copy.mcap"))
        self.assertEqual(rest, 0)
        self.assertGreaterEqual(n * 16000, 0.9 * synced)

    def test_pause(self):
        """A stream that pauses: what came is on the disk after both intervals; cut there."""
        path = self.path("pause.mcap")
        pipeline = Gst.parse_launch(
            f"appsrc name=clouds format=time caps={CLOUD_CAPS.replace(' ', '')!s} ! mcapsink "
            f"name=rec location={path} chunk-duration=300000000 sync-interval=100000000 "
            "attach-pipeline=false")
        clouds, rec = pipeline.get_by_name("clouds"), pipeline.get_by_name("rec")
        pipeline.set_state(Gst.State.PLAYING)
        for i in range(3):
            clouds.emit("push-buffer", make_cloud(i))
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            stats = rec.get_property("stats")
            if stats.get_uint64("messages").value == 12:
                break
            time.sleep(0.01)
        written = stats.get_uint64("bytes").value
        # The next fdatasync; and no other message comes.
        while rec.get_property("stats").get_uint64("synced-bytes").value < written:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        with open(path, "rb") as file:
            content = file.read(written)
        pipeline.set_state(Gst.State.NULL)
        with open(self.path("copy.mcap"), "wb") as file:
            file.write(content)
        self.assertEqual(count_by_mcap(self.path("copy.mcap")), 12)


def read_cut(path):
    """Clouds and chunks of a file without an end, and the bytes behind its last whole record; they
    are checked."""
    with open(path, "rb") as file:
        content = file.read()
    if len(content) < 8:
        return 0, 0, len(content)
    assert content[:8] == b"\x89MCAP0\r\n"
    position, clouds, chunks = 8, 0, 0
    pattern = bytes(range(256)) * 63
    while position + 9 <= len(content):
        (size,) = struct.unpack_from("<Q", content, position + 1)
        if position + 9 + size > len(content):
            break
        if content[position] == 6:
            chunks += 1
            start, end, uncompressed, crc, name = struct.unpack_from("<QQQLL", content, position + 9)
            assert name == 0
            records = content[position + 9 + 40:position + 9 + size]
            assert len(records) == uncompressed
            assert crc32(records) == crc
            offset = 0
            while offset < len(records):
                (length,) = struct.unpack_from("<Q", records, offset + 1)
                if records[offset] == 5:
                    sequence, log_time = struct.unpack_from("<LQ", records, offset + 11)
                    assert sequence == clouds
                    assert log_time == clouds * SECOND // 10
                    data = records[offset + 31:offset + 9 + length]
                    assert data[-16001:-1] == pattern[:16000]
                    clouds += 1
                offset += 9 + length
            assert offset == len(records)
        position += 9 + size
    return clouds, chunks, len(content) - position


SOURCE = ("fakesrc sizetype=fixed sizemax=16000 filltype=pattern {limit} ! "
          "pointcloud/x-raw,format=XYZI_F32LE,framerate=10/1 ! "
          "mcapsink name=rec location={path} chunk-size={chunk} {more}")


class Interrupted(Folder):
    def test_kills(self):
        """100 kills at random times: what was said to be written is there."""
        generator = random.Random(6)
        recorded = 0
        for i in range(100):
            path = self.path(f"{i}.mcap")
            # Up to 20 ms at full speed, or it would be gigabytes.
            process = subprocess.Popen(
                [RECORD_FOREVER, SOURCE.format(path=path, chunk=generator.randrange(1, 400_000),
                                               limit="", more="sync-interval=0")],
                stdout=subprocess.PIPE)
            ready, _, _ = select.select([process.stdout], [], [], 300)
            self.assertTrue(ready, "nothing was written for five minutes")
            time.sleep(generator.random() * 0.02)
            process.send_signal(signal.SIGKILL)
            lines = process.stdout.read().split(b"\n")
            self.assertEqual(process.wait(), -signal.SIGKILL)
            process.stdout.close()
            # A line may have been cut.
            said = int(lines[-2]) if len(lines) > 1 else 0
            clouds, chunks, rest = read_cut(path)
            self.assertGreaterEqual(chunks, said)
            self.assertGreaterEqual(clouds, said)
            # A reader that we did not write gets as much of it.
            if i % 10 == 0:
                self.assertEqual(count_by_mcap(path), clouds)
            # So does our own; a file without a chunk has nothing to read.
            dump = subprocess.run([BAG_DUMP, path], capture_output=True, check=False)
            self.assertEqual(dump.stdout.count(b'"record": "message"'), clouds, dump.stderr)
            self.assertIn(dump.returncode, (0,) if clouds else (0, 1), dump.stderr)
            recorded += clouds
            os.unlink(path)
        self.assertGreater(recorded, 100)

    def run_full(self, path, wrapper=(), **more):
        line = SOURCE.format(path=path, chunk=100_000, limit="num-buffers=2000",
                             more="attach-pipeline=false")
        return subprocess.run([*wrapper, "gst-launch-1.0", *line.split()], capture_output=True,
                              text=True, timeout=300, check=False, **more)

    def check_full(self, path, limit):
        size = os.path.getsize(path)
        self.assertLessEqual(size, limit)
        # All but the chunk that did not fit and what is reserved for the end.
        self.assertGreater(size, limit - 150_000)
        with open(path, "rb") as file:
            reader = make_reader(file, validate_crcs=True)
            statistics = reader.get_summary().statistics
            messages = [m.sequence for _, _, m in reader.iter_messages()]
        self.assertEqual(statistics.message_count, len(messages))
        self.assertEqual(messages, list(range(len(messages))))
        self.assertGreater(len(messages) * 16000, limit - 250_000)
        self.check_sums(path)

    def test_size_limit(self):
        path = self.path("limited.mcap")

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, 5_000_000))

        result = self.run_full(path, preexec_fn=limit, restore_signals=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("No room to record in", result.stderr)
        self.check_full(path, 5_000_000)

    def test_full_disk(self):
        """In a mount namespace of its own a small tmpfs; the file is copied out of it."""
        folder, path = self.path("disk"), self.path("full.mcap")
        os.mkdir(folder)
        mount = ["unshare", "--mount"]
        script = f"mount -t tmpfs -o size=8m none {folder} && "
        if subprocess.run([*mount, "sh", "-c", script + "true"], capture_output=True,
                          check=False).returncode:
            self.skipTest("no right to mount a tmpfs")
        script += f'"$@"; status=$?; cp {folder}/full.mcap {path}; exit $status'
        result = self.run_full(f"{folder}/full.mcap", [*mount, "sh", "-c", script, "sh"])
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("No space left on device", result.stderr)
        self.check_full(path, 8 << 20)


def count_by_mcap(path):
    n = 0
    with open(path, "rb") as file:
        try:
            for record in StreamReader(file, validate_crcs=True).records:
                n += isinstance(record, Message)
        except (McapError, struct.error, EOFError):
            pass  # the end is cut
    return n


if __name__ == "__main__":
    unittest_tap.run()
