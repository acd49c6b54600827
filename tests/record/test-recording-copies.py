#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recordings that pass through rosbagsrc or mcapdemux and a recorder: nothing is lost (TAP)."""

import glob
import os
import shutil
import sqlite3
import struct

import unittest_tap
from recording import (Attachment, CLOUD_CAPS, Channel, Folder, Gst, McapError, Message, Metadata,
                       NonSeekingReader, SECOND, Schema, StreamReader, log_time, make_cloud,
                       make_reader, wait)


class Copies(Folder):
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
        late = 3 * SECOND  # within what stamps of one clock are apart
        pipeline = Gst.parse_launch(f"appsrc name=clouds format=time caps={CLOUD_CAPS.replace(' ', '')!s} "
                                    f"! mcapsink location={path}")
        clouds = pipeline.get_by_name("clouds")
        pipeline.set_state(Gst.State.PLAYING)
        for i in range(5):
            buffer = make_cloud(i, with_reference=False)
            buffer.pts = log_time(i)
            buffer.add_reference_timestamp_meta(Gst.Caps.from_string("timestamp/x-unix"),
                                                log_time(i) - late, Gst.CLOCK_TIME_NONE)
            clouds.emit("push-buffer", buffer)
        clouds.emit("end-of-stream")
        wait(pipeline)
        pipeline.set_state(Gst.State.NULL)
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
                    self.assertEqual(buffer.pts, log_time(i) - late)
                    self.assertIsNone(meta)
                else:
                    self.assertEqual(buffer.pts, log_time(i))
                    self.assertEqual(meta.timestamp, log_time(i) - late)
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


if __name__ == "__main__":
    unittest_tap.run()
