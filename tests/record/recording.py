# SPDX-License-Identifier: MIT
"""Recordings with known values, and checks of them by Python's mcap and rosbags, for
test-recording*.py."""

import os
import random
import shutil
import struct
import sys
import tempfile
import unittest

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


def log_time(i):
    """Of scan i: its PTS, moved to the time of day by what the first cloud says."""
    return EPOCH + pts(i)


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

    def check_odometry(self, message, i):
        """A velocity between two poses of one orientation, in the body's frame."""
        self.check_pose(message, i)
        self.assertEqual(message.child_frame_id, "base")
        twist = message.twist
        linear = [getattr(twist.twist.linear, k) for k in "xyz"]
        if i == 0:
            self.assertEqual((linear, list(twist.covariance)), ([0] * 3, [-1] + [0] * 35))
            return
        seconds = (pts(i) - pts(i - 1)) / SECOND
        a, b = pose(i - 1)["position"], pose(i)["position"]
        # The body's axes in the parent: x is along z, y along -x, z along -y.
        x, y, z = ((b[k] - a[k]) / seconds for k in range(3))
        for value, expected in zip(linear, (z, -x, -y)):
            # Doubles of 1e7 m/s after some twenty operations.
            self.assertAlmostEqual(value, expected, delta=1e-7)
        self.assertEqual([getattr(twist.twist.angular, k) for k in "xyz"], [0] * 3)
        self.assertEqual(list(twist.covariance), [0] * 36)

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
                "/points/odom": self.check_odometry,
                "/tf": self.check_transform, "/diagnostics": self.check_diagnostics}

    def check_by_mcap(self, path, n=30, compression=""):
        with open(path, "rb") as file:
            reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
            summary = reader.get_summary()
            self.assertEqual(summary.statistics.message_count, 6 * n)
            self.assertEqual(summary.statistics.message_start_time, log_time(0))
            self.assertEqual(summary.statistics.message_end_time, log_time(n - 1))
            self.assertEqual(summary.statistics.chunk_count, len(summary.chunk_indexes))
            self.assertEqual({c.compression for c in summary.chunk_indexes}, {compression})
            topics = {c.topic: c for c in summary.channels.values()}
            self.assertEqual(sorted(topics),
                             ["/data", "/diagnostics", "/points", "/points/odom", "/points/pose",
                              "/tf"])
            self.assertEqual(topics["/data"].message_encoding, "application/x-lidar")
            self.assertEqual(topics["/data"].schema_id, 0)
            self.assertEqual(topics["/points/pose"].metadata,
                             {"gst.cloud": "/points", "gst.role": "estimate"})
            self.assertEqual(Gst.Caps.from_string(topics["/points"].metadata["gst.caps"])
                             .get_structure(0).get_string("frame-id"), "top")
            seen = {topic: 0 for topic in topics}
            for _, channel, message in reader.iter_messages(topics=["/data"]):
                self.assertEqual(message.data, b"packet %d" % seen["/data"])
                self.assertEqual(message.log_time, log_time(seen["/data"]))
                seen["/data"] += 1
            for _, channel, message, decoded in reader.iter_decoded_messages(
                    topics=list(self.checks())):
                i = seen[channel.topic]
                self.assertEqual(message.log_time, log_time(i))
                self.assertEqual(message.sequence, i)
                self.checks()[channel.topic](decoded, i)
                seen[channel.topic] += 1
            self.assertEqual(set(seen.values()), {n})
            # By the index: of some seconds in the middle.
            some = [m.sequence for _, _, m in reader.iter_messages(
                topics=["/points"], starting_at=log_time(10), ending_before=log_time(20))]
            self.assertEqual(some, list(range(10, 20)))
            (record,) = reader.iter_metadata()
            self.assertEqual((record.name, record.metadata["log-time"]), ("recorder", "pts"))
            self.assertEqual(record.metadata["log-time-offset"], str(EPOCH))
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
            self.assertEqual(reader.message_count, 6 * n)
            wanted = [c for c in reader.connections if c.topic in seen]
            for connection, timestamp, raw in reader.messages(wanted):
                i = seen[connection.topic]
                self.assertEqual(timestamp, log_time(i))
                self.checks()[connection.topic](reader.deserialize(raw, connection.msgtype), i)
                seen[connection.topic] += 1
        self.assertEqual(set(seen.values()), {n})


def crc32(data):
    import zlib

    return zlib.crc32(data)


def count_by_mcap(path):
    n = 0
    with open(path, "rb") as file:
        try:
            for record in StreamReader(file, validate_crcs=True).records:
                n += isinstance(record, Message)
        except (McapError, struct.error, EOFError):
            pass  # the end is cut
    return n
