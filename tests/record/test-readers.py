#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What the readers find in the MCAP conformance set and in rosbag2's bags, compared with the
set's own listing and with what Python's rosbags and mcap find.

    test-readers.py BAG_DUMP
"""

import glob
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import unittest_tap

DUMP = sys.argv.pop(1)
DATA = os.environ.get("NDT_TEST_DATA") or os.path.join(
    os.environ["NDT_TEST_ROOT"], "..", "shared", "data"
)
OPCODES = {
    1: "Header",
    2: "Footer",
    3: "Schema",
    4: "Channel",
    5: "Message",
    9: "Attachment",
    11: "Statistics",
    12: "Metadata",
    13: "MetadataIndex",
    10: "AttachmentIndex",
    8: "ChunkIndex",
    14: "SummaryOffset",
    15: "DataEnd",
}


def missing(what):
    """A reason to skip, but a failure where everything has to be there."""
    if os.environ.get("CI") == "true":
        raise AssertionError(what + " is missing")
    raise unittest.SkipTest(what + " is missing")


def folder(name):
    path = os.path.join(DATA, name)
    if not os.path.isdir(path):
        missing(path)
    return path


def module(name):
    try:
        return __import__(name, fromlist=["x"])
    except ImportError:
        missing("Python's " + name)


def dump(*arguments):
    result = subprocess.run([DUMP, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, (arguments, result.stderr)
    return [json.loads(line) for line in result.stdout.splitlines()]


def messages(location, start=0):
    """(topic, schema, log time, hash of the data) of each message, and the last line."""
    rows = dump(location, start)
    channels = {r["number"]: r for r in rows if r.get("record") == "channel"}
    return [
        (
            channels[r["channel"]]["topic"],
            channels[r["channel"]].get("schema"),
            r["log_time"],
            r["data"],
        )
        for r in rows
        if r.get("record") == "message"
    ], rows[-1]


def sha(data):
    return hashlib.sha256(bytes(data)).hexdigest()


def expected_record(record):
    """A record of the listing in the form of bag-dump."""
    fields = dict(record["fields"])
    row = {}
    for key, value in fields.items():
        if key == "data":
            row[key] = sha(int(x) for x in value)
        elif key == "metadata":
            row[key] = value
        elif key in ("name", "topic", "encoding", "message_encoding", "media_type"):
            row[key] = value
        else:
            row[key] = int(value)
    return row


COMPARED = ("Schema", "Channel", "Message", "Attachment", "Metadata")


class Conformance(unittest.TestCase):
    def listing(self):
        files = sorted(glob.glob(os.path.join(folder("mcap_conformance"), "*", "*.mcap")))
        self.assertGreaterEqual(len(files), 208)
        for path in files:
            with open(path[:-4] + "json") as f:
                yield path, json.load(f)["records"]

    def test_records_of_a_stream(self):
        for path, listed in self.listing():
            with self.subTest(os.path.basename(path)):
                rows = dump("--stream", path, 7)
                self.assertEqual(rows[-1], {"complete": 1, "damaged": 0})
                # Message indexes are in the files and not in the listing.
                rows = [r for r in rows[:-1] if r["opcode"] != 7]
                self.assertEqual(
                    [OPCODES[r["opcode"]] for r in rows], [r["type"] for r in listed]
                )
                for row, record in zip(rows, listed):
                    if record["type"] not in COMPARED:
                        continue
                    self.assertEqual(row.pop("parsed"), 1)
                    row.pop("opcode")
                    if "metadata" in row:
                        row["metadata"].pop("")
                    self.assertEqual(row, expected_record(record))

    def test_messages_by_time(self):
        for path, listed in self.listing():
            with self.subTest(os.path.basename(path)):
                rows = [expected_record(r) for r in listed if r["type"] == "Message"]
                rows.sort(key=lambda r: r["log_time"])
                found = dump(path)
                self.assertEqual(found[-1]["damaged"], 0)
                self.assertEqual(found[-1]["warning"], "")
                found = [r for r in found if r["record"] == "message"]
                for key in ("sequence", "log_time", "publish_time", "data"):
                    self.assertEqual([r[key] for r in found], [r[key] for r in rows])

    def test_seeking(self):
        for path, listed in self.listing():
            if "TenMessages" not in path:
                continue
            rows = sorted(
                int(dict(r["fields"])["log_time"]) for r in listed if r["type"] == "Message"
            )
            for start in (1, 4, 9, 10):
                found, _ = messages(path, start)
                self.assertEqual([m[2] for m in found], [t for t in rows if t >= start], path)


class Rosbag2(unittest.TestCase):
    def test_bags(self):
        highlevel = module("rosbags.highlevel")
        rosbag2 = module("rosbags.rosbag2")
        bags = glob.glob(os.path.join(folder("rosbag2_small"), "**", "metadata.yaml"), recursive=True)
        bags += glob.glob(os.path.join(folder("packets_nebula"), "*", "*", "metadata.yaml"))
        compared = 0
        for metadata in sorted(bags):
            bag = os.path.dirname(metadata)
            with self.subTest(bag[len(DATA) :]):
                try:
                    with rosbag2.Reader(bag) as reader:
                        rows = [
                            (c.topic, c.msgtype, time, sha(data)) for c, time, data in reader.messages()
                        ]
                except Exception as error:  # that reader's own limits
                    print("# rosbags does not read %s: %s" % (bag, error))
                    continue
                found, end = messages(bag)
                self.assertEqual(end["damaged"], 0)
                if not rows and found:  # it believes the count in metadata.yaml
                    continue
                # Messages of one time have no order.
                self.assertEqual(sorted(found), sorted(rows))
                self.assertEqual([m[2] for m in found], sorted(m[2] for m in found))
                compared += len(rows)
        self.assertGreater(compared, 100)

    def test_sqlite_files(self):
        files = glob.glob(os.path.join(folder("rosbag2_small"), "**", "*.db3"), recursive=True)
        files += glob.glob(os.path.join(folder("packets_nebula"), "**", "*.db3"), recursive=True)
        self.assertGreater(len(files), 20)
        for path in files:
            with self.subTest(path[len(DATA) :]):
                found, end = messages(path)
                with sqlite3.connect("file:%s?mode=ro&immutable=1" % path, uri=True) as base:
                    rows = base.execute(
                        "SELECT name, type, timestamp, data FROM messages "
                        "JOIN topics ON topic_id = topics.id ORDER BY timestamp, messages.id"
                    )
                    rows = [(*row[:3], sha(row[3])) for row in rows]
                self.assertEqual(end["damaged"], 0)
                self.assertEqual(found, rows)
                if rows:  # by time
                    start = rows[len(rows) // 2][2]
                    found, _ = messages(path, start)
                    self.assertEqual(found, [row for row in rows if row[2] >= start])

    def test_compressed(self):
        """As rosbag2 compresses: whole files, or each message."""
        zstandard = module("zstandard")
        plain = os.path.join(
            folder("rosbag2_small"), "rosbag2_py/test/resources/sqlite3/talker/talker.db3"
        )
        rows, _ = messages(plain)
        self.assertGreater(len(rows), 0)
        pack = zstandard.ZstdCompressor().compress
        with tempfile.TemporaryDirectory() as scratch:
            with open(plain, "rb") as f, open(os.path.join(scratch, "a.db3.zstd"), "wb") as g:
                g.write(pack(f.read()))
            self.assertEqual(messages(scratch)[0], rows)
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "a.db3")
            shutil.copyfile(plain, path)
            os.chmod(path, 0o600)
            with sqlite3.connect(path) as base:
                for number, data in base.execute("SELECT id, data FROM messages").fetchall():
                    base.execute("UPDATE messages SET data = ? WHERE id = ?", (pack(data), number))
            with open(os.path.join(scratch, "metadata.yaml"), "w") as f:
                f.write(
                    "rosbag2_bagfile_information:\n  compression_format: zstd\n"
                    "  compression_mode: MESSAGE\n  relative_file_paths:\n    - a.db3\n"
                )
            self.assertEqual(messages(scratch)[0], rows)

    def test_mcap_files(self):
        reader = module("mcap.reader")
        for path in glob.glob(os.path.join(folder("rosbag2_small"), "**", "*.mcap"), recursive=True):
            with self.subTest(path[len(DATA) :]):
                with open(path, "rb") as f:
                    try:
                        rows = [
                            (c.topic, s.name if s else None, m.log_time, sha(m.data))
                            for s, c, m in reader.make_reader(f).iter_messages()
                        ]
                    except Exception as error:
                        print("# mcap does not read %s: %s" % (path, error))
                        continue
                found, end = messages(path)
                self.assertEqual(end["damaged"], 0)
                self.assertEqual(found, rows)


class Written(unittest.TestCase):
    """Files of Python's writer, with the compressions and shapes that the sets above lack."""

    def write(self, path, overlap=False, **options):
        writer = module("mcap.writer")
        compression = writer.CompressionType[options.pop("compression", "NONE")]
        rows = []
        with open(path, "wb") as f:
            w = writer.Writer(f, chunk_size=options.pop("chunk_size", 2000), compression=compression, **options)
            w.start("ros2")
            schema = w.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
            channels = [w.register_channel("/t%d" % i, "cdr", schema) for i in range(3)]
            for i in range(300):
                # Out of order by up to 50 messages: several chunks.
                time = 10**18 + (i + (i * 7919 % 50 if overlap else 0)) * 1000
                data = bytes([i % 251]) * (i % 97)
                w.add_message(channels[i % 3], time, data, time - 5, i)
                rows.append(("/t%d" % (i % 3), "std_msgs/msg/String", time, sha(data)))
            w.finish()
        return rows

    def check(self, **options):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "a.mcap")
            rows = self.write(path, **options)
            found, end = messages(path)
            self.assertEqual(found, sorted(rows, key=lambda r: r[2]))
            self.assertEqual((end["warning"], end["damaged"]), ("", 0))
            middle = sorted(r[2] for r in rows)[150]
            found, _ = messages(path, middle)
            self.assertEqual(
                found, sorted((r for r in rows if r[2] >= middle), key=lambda r: r[2])
            )

    def test_compressions(self):
        for compression in ("NONE", "LZ4", "ZSTD"):
            self.check(compression=compression)

    def test_out_of_order(self):
        self.check(compression="ZSTD", overlap=True)

    def test_without_index(self):
        index = module("mcap.writer").IndexType
        self.check(compression="LZ4", overlap=True, index_types=index.NONE)
        self.check(overlap=True, use_chunking=False)
        self.check(overlap=True, use_summary_offsets=False, repeat_channels=False)

    def test_several_files(self):
        with tempfile.TemporaryDirectory() as scratch:
            rows = self.write(os.path.join(scratch, "a.mcap"), overlap=True)
            rows += self.write(os.path.join(scratch, "b.mcap"), compression="LZ4")
            found, end = messages(scratch)
            self.assertEqual(len(found), 600)
            self.assertEqual(sorted(found), sorted(rows))
            self.assertEqual([m[2] for m in found], sorted(m[2] for m in found))
            self.assertEqual(messages(os.path.join(scratch, "*.mcap"))[0], found)

    def test_damaged_chunk(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "a.mcap")
            rows = self.write(path, compression="NONE")
            with open(path, "r+b") as f:
                data = f.read()
                f.seek(len(data) // 3)
                f.write(bytes([data[len(data) // 3] ^ 1]))
            found, end = messages(path)
            self.assertEqual(end["damaged"], 1)
            self.assertIn("checksum", end["warning"])
            self.assertLess(len(found), 300)
            # One chunk of 2000 bytes has no more than these.
            self.assertGreater(len(found), 300 - 2000 // 31)
            self.assertLessEqual(set(found), set(rows))


if __name__ == "__main__":
    unittest_tap.run()
