#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Recordings that others made, damaged or meant to do harm, and the names that they go by.

    test-bag-inputs.py BAG_DUMP NDT_BAG
"""

import json
import os
import pathlib
import re
import resource
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

NDT_BAG = os.path.abspath(sys.argv.pop(2))
DUMP = os.path.abspath(sys.argv.pop(1))
DATA = os.environ.get("NDT_TEST_DATA") or os.path.join(
    os.environ["NDT_TEST_ROOT"], "..", "shared", "data"
)
CLOUD = "sensor_msgs/msg/PointCloud2"
START = 1764000000 * 10**9
MIB = 1 << 20


def missing(what):
    if os.environ.get("CI") == "true":
        raise AssertionError(what + " is missing")
    raise unittest.SkipTest(what + " is missing")


def case(name):
    path = os.path.join(DATA, "cases", name)
    if not os.path.exists(path):
        missing(path)
    return path


def writer():
    try:
        return __import__("mcap.writer", fromlist=["x"])
    except ImportError:
        missing("Python's mcap")


# Sanitizers take address space and memory of their own, and time: a stack is walked for each
# allocation (tests/sanitize.sh), in Python and gst-launch-1.0 as well: there are fewer of what is
# counted in many thousands there, still more than the bounds, and times are not compared.
SANITIZED = "NDT_TEST_SANITIZER" in os.environ

# Prints the error of a pipeline. gst-launch-1.0 1.22 hangs now and then where one comes before preroll.
FAILING = """
import sys
import gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst
Gst.init(None)
pipeline = Gst.parse_launch(sys.argv[1])
pipeline.set_state(Gst.State.PLAYING)
message = pipeline.get_bus().timed_pop_filtered(60 * Gst.SECOND, Gst.MessageType.ERROR | Gst.MessageType.EOS)
pipeline.set_state(Gst.State.NULL)
print(message.parse_error()[0].message)
"""
MANY = 25 if SANITIZED else 1


def run(*arguments, nobody=False, memory=None, env=None, cwd=None, limit=60):
    def prepare():
        if memory and not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if nobody and os.getuid() == 0:
            os.setgroups([])
            os.setuid(65534)

    return subprocess.run(
        [str(a) for a in arguments], capture_output=True, errors="surrogateescape", timeout=limit,
        preexec_fn=prepare, env={**os.environ, **(env or {})}, cwd=cwd)


def cdr_string(data, text):
    """Appends a string of CDR to what follows the header of four bytes."""
    data += b"\0" * (-len(data) % 4)
    return data + struct.pack("<I", len(text) + 1) + text + b"\0"


def cloud(frame=b"lidar", n=4, seconds=START // 10**9):
    """A PointCloud2 of n points x, y, z."""
    data = cdr_string(struct.pack("<iI", seconds, 0), frame)
    data += b"\0" * (-len(data) % 4) + struct.pack("<III", 1, n, 3)
    for i, name in enumerate((b"x", b"y", b"z")):
        data = cdr_string(data, name)
        data += b"\0" * (-len(data) % 4) + struct.pack("<IB", 4 * i, 7)
        data += b"\0" * (-len(data) % 4) + struct.pack("<I", 1)
    data += b"\0" * 1
    data += b"\0" * (-len(data) % 4) + struct.pack("<III", 12, 12 * n, 12 * n)
    return b"\0\1\0\0" + data + bytes(12 * n) + b"\1"


class Inputs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.folder.chmod(0o755)

    def dump(self, location, **options):
        result = run(DUMP, location, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = [json.loads(line) for line in result.stdout.splitlines()]
        return [r for r in rows if r["record"] == "message"], rows

    def refused(self, location, *words, **options):
        """Quickly, in little memory, and by what is wrong."""
        result = run(DUMP, location, memory=600 * MIB, limit=20, **options)
        self.assertEqual(result.returncode, 1, result.stdout[:200])
        for word in words:
            self.assertIn(word, result.stderr)

    def launch(self, *arguments, limit=120):
        """A pipeline's exit status, what it printed, and its memory in MiB."""
        time_program = shutil.which("time") or missing("the program time")
        launch = shutil.which("gst-launch-1.0") or missing("gst-launch-1.0")
        result = run(time_program, "-f", "maxrss=%M", launch, *arguments, limit=limit)
        output = result.stdout + result.stderr
        return result.returncode, output, int(output.split("maxrss=")[1].split()[0]) // 1024

    def write(self, name, messages, topics=("/t",), schema=CLOUD, **options):
        """messages: (topic, log time, data)"""
        module = writer()
        compression = module.CompressionType[options.pop("compression", "NONE")]
        path = self.folder / name
        with open(path, "wb") as f:
            w = module.Writer(f, compression=compression, **options)
            w.start("ros2")
            number = w.register_schema(schema, "ros2msg", b"float32 x")
            channels = {t: w.register_channel(t, "cdr", number) for t in topics}
            for topic, log, data in messages:
                w.add_message(channels[topic], log, data, log)
            w.finish()
        return path

    # SQLite

    def bag(self, name="bag"):
        folder = self.folder / name
        folder.mkdir()
        path = folder / "drive_0.db3"
        shutil.copyfile(case("db3_wal/drive_0.db3"), path)
        return folder, path

    def test_wal_mode(self):
        for left in (False, True):  # what a recorder that died leaves beside it
            for read_only in (False, True):
                with self.subTest(left=left, read_only=read_only):
                    folder, path = self.bag("bag%d%d" % (left, read_only))
                    if left:
                        base = sqlite3.connect(path)
                        base.execute("PRAGMA wal_autocheckpoint=0")
                        base.execute("INSERT INTO messages (topic_id, timestamp, data) SELECT "
                                     "topic_id, timestamp + 10, data FROM messages")
                        base.commit()
                        wal = (folder / "drive_0.db3-wal").read_bytes()
                        base.close()
                        shutil.copyfile(case("db3_wal/drive_0.db3"), path)
                        (folder / "drive_0.db3-wal").write_bytes(wal)
                    for file in folder.iterdir():
                        file.chmod(0o444 if read_only else 0o666)
                    folder.chmod(0o555 if read_only else 0o777)
                    before = sorted(os.listdir(folder))
                    self.assertEqual(before, ["drive_0.db3"] + ["drive_0.db3-wal"] * left)
                    messages, _ = self.dump(folder, nobody=True)
                    self.assertEqual(len(messages), 20 if left else 10)
                    self.assertEqual(sorted(os.listdir(folder)), before)
                    folder.chmod(0o755)

    def test_views(self):
        endless = ("CREATE VIEW %s AS WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM "
                   "c) SELECT id, id AS topic_id, id AS timestamp, zeroblob(9) AS data, 'n' AS name, "
                   "'t' AS type, 'cdr' AS serialization_format, '' AS offered_qos_profiles FROM c")
        for table in ("messages", "topics", "Messages"):
            with self.subTest(table):
                _, path = self.bag("bag" + table)
                path.chmod(0o644)
                with sqlite3.connect(path) as base:
                    base.execute("PRAGMA journal_mode=DELETE")
                    base.execute("ALTER TABLE %s RENAME TO other" % table)
                    base.execute(endless % table)
                base.close()
                self.refused(path, "no table", table)

    def test_computed_columns(self):
        """An expression that takes long in one instruction, where no clock is looked at."""
        slow = "length(replace(hex(zeroblob(30000000)), '0', '11'))"
        for table, column in (("messages", "timestamp"), ("messages", "id"), ("topics", "type")):
            with self.subTest(column):
                _, path = self.bag("bag" + column)
                path.chmod(0o644)
                with sqlite3.connect(path) as base:
                    base.execute("PRAGMA journal_mode=DELETE")
                    names = [r[1] for r in base.execute("PRAGMA table_info(%s)" % table)]
                    base.execute("ALTER TABLE %s RENAME TO other" % table)
                    base.execute("CREATE TABLE %s (%s)" % (table, ", ".join(
                        n + (" AS (%s)" % slow if n == column else "") for n in names)))
                    given = ", ".join(n for n in names if n != column)
                    base.execute("INSERT INTO %s (%s) SELECT %s FROM other LIMIT 1" % (table, given, given))
                base.close()
                self.refused(path, "is computed", table)

    def long_bag(self):
        """Millions of messages without an index of times, that are sorted for seconds."""
        path = self.folder / "long.db3"
        with sqlite3.connect(path) as base:
            base.execute("PRAGMA journal_mode=OFF")
            base.execute("CREATE TABLE topics (id INTEGER PRIMARY KEY, name TEXT, type TEXT, "
                         "serialization_format TEXT, offered_qos_profiles TEXT)")
            base.execute("INSERT INTO topics VALUES (1, '/points', '%s', 'cdr', '')" % CLOUD)
            base.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, topic_id INTEGER, "
                         "timestamp INTEGER, data BLOB)")
            base.execute("INSERT INTO messages SELECT value, 1, %d + abs(random() %% 1000000000), x'00' FROM "
                         "(WITH RECURSIVE c(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM c "
                         "LIMIT %d) SELECT value FROM c)" % (START, 6000000))
        base.close()
        return path

    def test_long_queries(self):
        """A query has an end by max-query-time, opening by max-open-time, and both by a stop."""
        path = self.long_bag()
        # The range of times of each file takes reading all of it.
        files = self.folder / "files"
        files.mkdir()
        for i in range(12):
            (files / ("%d.db3" % i)).hardlink_to(path)
        for limit, location in (("max-query-time", path), ("max-open-time", files)):
            begin = time.monotonic()
            result = run(sys.executable, "-c", FAILING,
                         "rosbagsrc location=%s %s=1 ! fakesink" % (location, limit))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(limit, result.stdout)
            # 1 s, and what a busy machine needs to start and to end.
            self.assertLess(time.monotonic() - begin, 30)
        launch = subprocess.Popen([shutil.which("gst-launch-1.0"), "rosbagsrc", "location=%s" % path,
                                   "!", "fakesink"], stdout=subprocess.DEVNULL)
        time.sleep(1.5)
        self.assertIsNone(launch.poll())
        begin = time.monotonic()
        launch.send_signal(signal.SIGINT)
        launch.wait(60)
        self.assertLess(time.monotonic() - begin, 5)

    # metadata.yaml

    def test_metadata_that_is_no_text(self):
        def fifo(path):
            os.mkfifo(path)

        def device(path):
            path.symlink_to("/dev/zero")

        def sparse(path):
            with open(path, "wb") as f:
                f.truncate(8 << 30)

        def huge(path):
            with open(path, "wb") as f:
                f.write(b"\n" * (17 << 20))

        for make in (fifo, device, sparse, huge):
            with self.subTest(make.__name__):
                folder = self.folder / make.__name__
                folder.mkdir()
                path = self.write(make.__name__ + "/a.mcap", [("/t", START, cloud())])
                make(folder / "metadata.yaml")
                self.refused(folder, "metadata.yaml")
                # Of a file by its own name it only is the neighbour.
                self.assertEqual(len(self.dump(path, memory=600 * MIB, limit=20)[0]), 1)

    def test_many_lines(self):
        """Lines are not memory."""
        folder = self.folder / "lines"
        folder.mkdir()
        self.write("lines/a.mcap", [("/t", START, cloud())])
        (folder / "metadata.yaml").write_bytes(
            b"x:\n" * ((5 << 20) // MANY) + b"  relative_file_paths:\n    - a.mcap\n")
        self.assertEqual(len(self.dump(folder, memory=600 * MIB, limit=20)[0]), 1)

    # Times

    def test_message_at_zero(self):
        module = writer()
        for types in (module.IndexType.ALL, module.IndexType.CHUNK, module.IndexType.NONE):
            for statistics in (True, False):
                for compression in ("NONE", "ZSTD"):
                    with self.subTest(types=types, statistics=statistics):
                        path = self.write(
                            "zero.mcap", [("/t", t, cloud()) for t in (0, 5, 10**9)], chunk_size=1,
                            use_statistics=statistics, index_types=types, compression=compression)
                        messages, rows = self.dump(path)
                        self.assertEqual([m["log_time"] for m in messages], [0, 5, 10**9])
                        self.assertEqual((rows[0]["start"], rows[0]["end"]), (0, 10**9))
                        self.assertEqual(rows[-1]["damaged"], 0)

    def test_chunk_without_messages(self):
        """Its times are 0, which is no time of a message."""
        module = writer()
        path = self.folder / "a.mcap"
        for types in (module.IndexType.ALL, module.IndexType.CHUNK, module.IndexType.NONE):
            for statistics in (True, False):
                with open(path, "wb") as f:
                    w = module.Writer(f, chunk_size=1000, index_types=types, use_statistics=statistics,
                                      compression=module.CompressionType.NONE)
                    w.start("ros2")
                    number = w.register_schema(CLOUD, "ros2msg", b"x" * 2000)
                    channel = w.register_channel("/t", "cdr", number)
                    getattr(w, "_Writer__finalize_chunk")()
                    w.add_message(channel, START, cloud(), START)
                    w.finish()
                messages, rows = self.dump(path)
                self.assertEqual(len(messages), 1)
                self.assertEqual((rows[0]["start"], rows[0]["end"]), (START, START))

    def test_one_log_time(self):
        """Some writers leave log times at 0: stamps are the times then."""
        clouds = [("/t", 0, cloud(seconds=START // 10**9 + i)) for i in range(30)]
        path = self.write("zeros.mcap", clouds)
        for options, first, last in (((), START, START + 29 * 10**9), (("timestamps=log",), 0, 0)):
            status, output, _ = self.launch(
                "-v", "rosbagsrc", "location=%s" % path, *options, "!", "fakesink", "silent=false")
            self.assertEqual(status, 0, output)
            self.assertEqual("same log time" in output, not options)
            times = [int(h) * 3600 + int(m) * 60 + float(s) for h, m, s in
                     re.findall(r"pts: (\d+):(\d+):([\d.]+),", output)]
            self.assertEqual(len(times), 30)
            self.assertEqual((times[0], times[-1]), (first // 10**9, last // 10**9))
        # One message has one time.
        status, output, _ = self.launch(
            "rosbagsrc", "location=%s" % self.write("one.mcap", clouds[:1]), "!", "fakesink")
        self.assertNotIn("same log time", output)

    def test_statistics_without_times(self):
        path = self.write("a.mcap", [("/t", START + i, cloud()) for i in range(5)],
                          enable_crcs=False)
        data = bytearray(path.read_bytes())
        # A record of 46 bytes and its counts; behind these are the earliest and the latest time.
        place = data.rindex(b"\x0b" + struct.pack("<QQ", 56, 5)) + 9 + 26
        self.assertEqual(struct.unpack_from("<QQ", data, place), (START, START + 4))
        struct.pack_into("<QQ", data, place, 0, 0)
        path.write_bytes(data)
        _, rows = self.dump(path)
        self.assertEqual((rows[0]["start"], rows[0]["end"]), (START, START + 4))

    # Budgets

    def test_names(self):
        messages = [("/t", START + i * 1000, cloud(b"f%d" % i + b"x" * 900)) for i in range(200000 // MANY)]
        path = self.write("names.mcap", messages, compression="ZSTD", chunk_size=8 * MIB)
        self.assertLess(path.stat().st_size, 20 * MIB)
        status, output, memory = self.launch(
            "rosbagsrc", "location=%s" % path, "!", "fakesink")
        self.assertEqual(status, 0, output)
        self.assertIn("max-names", output)
        self.assertTrue(SANITIZED or memory < 150, memory)
        status, output, _ = self.launch(
            "rosbagsrc", "location=%s" % path, "max-names=300000", "!", "fakesink")
        self.assertNotIn("max-names", output)

    def test_names_of_metadata(self):
        module = writer()
        path = self.folder / "keys.mcap"
        with open(path, "wb") as f:
            w = module.Writer(f, compression=module.CompressionType.NONE)
            w.start("ros2")
            number = w.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
            channel = w.register_channel("/s", "cdr", number, {"key %d" % i: "x" for i in range(5000)})
            w.add_message(channel, START, b"x", START)
            w.add_metadata("m", {"entry %d" % i: "x" for i in range(5000)})
            w.finish()
        for options in ((), ("raw=true",)):
            status, output, _ = self.launch(
                "rosbagsrc", "location=%s" % path, *options, "!", "fakesink")
            self.assertEqual(status, 0, output)
            self.assertEqual(output.count("property max-names"), 1)
            status, output, _ = self.launch("rosbagsrc", "location=%s" % path, "max-names=20000",
                                            *options, "!", "fakesink")
            self.assertNotIn("max-names)", output)

    def test_topics(self):
        topics = ["/t%d" % i for i in range(5000 if SANITIZED else 16000)]
        path = self.write("topics.mcap", [(t, START + i, cloud()) for i, t in enumerate(topics)],
                          topics=topics, chunk_size=MIB)
        begin = time.monotonic()
        status, output, _ = self.launch("rosbagsrc", "location=%s" % path, "!", "fakesink")
        self.assertTrue(SANITIZED or time.monotonic() - begin < 12)
        self.assertEqual(status, 0, output)
        self.assertIn("max-topics", output)
        result = run(NDT_BAG, "info", path)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(result.stdout.splitlines()), 2 + len(topics))

    def test_large_chunk(self):
        path = self.write("bomb.mcap", [("/t", START, bytes(300 * MIB)), ("/t", START + 1, cloud())],
                          compression="ZSTD", chunk_size=1)
        self.assertLess(path.stat().st_size, MIB)
        for source in (["rosbagsrc", "location=%s" % path],
                       ["filesrc", "location=%s" % path, "!", "queue", "!", "mcapdemux"]):
            status, output, memory = self.launch(*source, "!", "fakesink")
            self.assertEqual(status, 0, output)
            self.assertIn("max-record-size", output)
            self.assertTrue(SANITIZED or memory < 200, memory)
            status, output, _ = self.launch(
                *source, "max-record-size=%d" % (512 * MIB), "!", "fakesink")
            self.assertNotIn("max-record-size", output)

    def test_unpacked_file(self):
        zstandard = __import__("zstandard")
        path = self.folder / "a.mcap.zstd"
        path.write_bytes(zstandard.ZstdCompressor().compress(b"\x89MCAP0\r\n" + bytes(100 * MIB)))
        status, output, _ = self.launch(
            "rosbagsrc", "location=%s" % path, "max-unpacked-size=1000000", "!", "fakesink")
        self.assertNotEqual(status, 0)
        self.assertIn("max-unpacked-size", output)

    def test_definitions(self):
        """Schemas that are kept for the whole file have a bound together."""
        module = writer()
        path = self.folder / "schemas.mcap"
        with open(path, "wb") as f:
            w = module.Writer(f, chunk_size=1, compression=module.CompressionType.ZSTD,
                              repeat_schemas=False)
            w.start("ros2")
            for i in range(60):
                number = w.register_schema("a/msg/T%d" % i, "ros2msg", bytes(8 * MIB))
                w.add_message(w.register_channel("/t%d" % i, "cdr", number), START + i, b"x", START)
            w.finish()
        self.assertLess(path.stat().st_size, MIB)
        messages, rows = self.dump(path, memory=600 * MIB)
        self.assertGreater(rows[-1]["damaged"], 0)
        self.assertIn("too large", rows[-1]["warning"])
        self.assertGreater(len(messages), 0)

    def test_chunk_named_over_and_over(self):
        """An index whose few bytes each have a chunk of 100 MiB unpacked again."""
        module = writer()
        path = self.folder / "again.mcap"
        with open(path, "wb") as f:
            w = module.Writer(f, chunk_size=1, compression=module.CompressionType.ZSTD,
                              index_types=module.IndexType.CHUNK, use_statistics=False)
            w.start("ros2")
            channel = w.register_channel("/t", "cdr", w.register_schema(CLOUD, "ros2msg", b"x"))
            w.add_message(channel, START, bytes(100 * MIB), START)
            indexes = getattr(w, "_Writer__chunk_indices")
            indexes *= 2000
            w.finish()
        messages, rows = self.dump(path, limit=20)
        self.assertEqual(len(messages), 1)

    def test_journal_that_is_a_pipe(self):
        folder, path = self.bag()
        path.chmod(0o644)
        base = sqlite3.connect(path)
        base.execute("PRAGMA journal_mode=DELETE")
        base.close()
        os.mkfifo(folder / "drive_0.db3-journal")
        self.refused(path, "-journal", "not a regular file")

    def test_messages_of_no_channel(self):
        """Each is looked for once, not in all chunks for each message."""
        module = writer()
        path = self.folder / "lost.mcap"
        with open(path, "wb") as f:
            w = module.Writer(f, chunk_size=1, compression=module.CompressionType.NONE)
            w.start("ros2")
            channel = w.register_channel("/t", "cdr", w.register_schema(CLOUD, "ros2msg", b"x"))
            w.add_message(channel, START, b"x", START)
            for i in range(1, 40000 // MANY):
                w.add_message(999, START + i, b"x", START)
            w.finish()
        begin = time.monotonic()
        messages, rows = self.dump(path)
        self.assertTrue(SANITIZED or time.monotonic() - begin < 10)
        self.assertEqual((len(messages), rows[-1]["damaged"]), (1, 40000 // MANY - 1))

    # Names of files

    def test_locations(self):
        self.write("a.mcap", [("/t", START, cloud())])
        home = {"HOME": str(self.folder)}
        odd = os.fsencode(self.folder) + b"/caf\xe9 %41#?.mcap"
        shutil.copyfile(self.folder / "a.mcap", odd)
        shutil.copyfile(case("db3_wal/drive_0.db3"), os.fsencode(self.folder) + b"/\xe9%41?.db3")
        for location, n in (("a.mcap", 1), ("./a.mcap", 1), ("~/a.mcap", 1), ("~/a.*", 1),
                            (self.folder.as_uri() + "/a.mcap", 1),
                            (self.folder.as_uri() + "/caf%E9%20%2541%23%3F.mcap", 1),
                            (os.fsdecode(odd), 1),
                            (os.fsdecode(os.fsencode(self.folder) + b"/\xe9%41?.db3"), 10)):
            with self.subTest(location):
                self.assertEqual(len(self.dump(location, env=home, cwd=self.folder)[0]), n)
        # Sorted and read as a folder too.
        self.assertEqual(len(self.dump(".", cwd=self.folder)[0]), 12)
        self.refused("-", "mcapdemux")
        self.refused("ftp://example.org/a.mcap", "file:///")
        self.refused("file://elsewhere/a.mcap", "names no file")

    # What cannot be decoded

    def test_no_clouds(self):
        for name, words in (("ros1", ("/points", "ros1", "sensor_msgs/PointCloud2", "ROS 2")),
                            ("noschema", ("/points", "cdr", "no type", "schema"))):
            path = case("mcap_no_schema/%s.mcap" % name)
            for source in (["rosbagsrc", "location=%s" % path],
                           ["filesrc", "location=%s" % path, "!", "queue", "!", "mcapdemux"]):
                status, output, _ = self.launch(*source, "!", "pointcloud/x-raw", "!", "fakesink")
                self.assertNotEqual(status, 0)
                for word in words:
                    self.assertIn(word, output)
            result = run(NDT_BAG, "info", path)
            self.assertEqual(result.returncode, 0, result.stderr)
            for word in words:
                self.assertIn(word, result.stdout)
        # Velodyne's, Nebula's, RoboSense's (as in packets_robosense/helios_32beam.db3), Ouster's.
        for number, schema in enumerate(("velodyne_msgs/msg/VelodyneScan", "nebula_msgs/msg/NebulaPackets",
                                         "robosense_msgs/msg/RobosenseScan", "ouster_sensor_msgs/msg/PacketMsg",
                                         "hesai_ros_driver/msg/UdpFrame")):
            packets = self.write(f"p{number}.mcap", [("/packets", START, b"\0\1\0\0")],
                                 topics=["/packets"], schema=schema)
            self.assertIn("packets of a sensor", run(NDT_BAG, "info", packets).stdout)
        old = self.folder / "a.bag"
        old.write_bytes(b"#ROSBAG V2.0\n" + bytes(4096))
        self.refused(old, "ROS 1")

    def test_nothing_decodable(self):
        """Clouds that all are left out are no drive that has ended; one good one is."""
        clouds = {"short": cloud()[:-13] + b"\1", "datatype": cloud().replace(b"\4\0\0\0\7", b"\4\0\0\0\x63"),
                  "step": cloud().replace(struct.pack("<II", 12, 48), bytes(8))}
        words = {"short": "damaged", "datatype": "has datatype 99", "step": "point-step"}
        for name, data in clouds.items():
            self.assertNotEqual(data, cloud())
            path = self.write(f"{name}.mcap", [("/t", START + i, data) for i in range(3)])
            error = run(sys.executable, "-c", FAILING,
                        f"rosbagsrc location={path} ! pointcloud/x-raw ! fakesink").stdout
            self.assertIn(words[name], error)
            self.assertIn('3 of topic "/t" are left out', error)
            error = run(sys.executable, "-c", FAILING,
                        f"filesrc location={path} ! queue ! mcapdemux ! fakesink").stdout
            self.assertIn(words[name], error)
            path = self.write(f"one-{name}.mcap", [("/t", START + i, data if i else cloud()) for i in range(3)])
            status, output, _ = self.launch("rosbagsrc", f"location={path}", "!", "fakesink")
            self.assertEqual(status, 0, output)

    def test_logs(self):
        """What an operator asks a log for, in the element's own category."""
        path = case("late_cloud/late.mcap")
        launch = shutil.which("gst-launch-1.0") or missing("gst-launch-1.0")
        for category, source in (
                ("rosbagsrc", ["rosbagsrc", "location=%s" % path, "name=bag"]),
                ("mcapdemux", ["filesrc", "location=%s" % path, "!", "mcapdemux", "name=bag"])):
            result = run(launch, *source, "bag.cloud_0", "!", "queue", "!", "fakesink", "async=false",
                         "bag.pose_0", "!", "queue", "!", "fakesink", "async=false",
                         env={"GST_DEBUG": category + ":6", "GST_DEBUG_NO_COLOR": "1"})
            self.assertEqual(result.returncode, 0, result.stderr)
            lines = [line for line in result.stderr.splitlines() if " %s " % category in line]
            for level, words in (("INFO", "pad cloud_0 has /points"), ("INFO", "pad pose_0 has /odom"),
                                 ("DEBUG", "caps pointcloud/x-raw"), ("DEBUG", "time segment"),
                                 ("DEBUG", "gap "), ("LOG", "logged at %d" % START)):
                self.assertTrue([x for x in lines if " %s " % level in x and words in x], words)
            messages = [x for x in lines if " LOG " in x and "logged at" in x]
            self.assertEqual(len(messages), 270)

    def test_info(self):
        result = run(NDT_BAG, "info", case("clock_boot/mixed.mcap"))
        self.assertEqual(result.returncode, 0, result.stderr)
        head, names, points, odom = result.stdout.splitlines()
        self.assertIn("2.980 s", head)
        self.assertEqual(points.split()[:6], ["/points", CLOUD, "cdr", "cloud_0", "30", "10"])
        self.assertIn("-20416.6 d", points)
        self.assertIn("lidar", points)
        self.assertEqual(odom.split()[:6],
                         ["/odom", "nav_msgs/msg/Odometry", "cdr", "pose_0", "150", "50"])
        self.assertIn("odom > base_link", odom)
        self.assertIn("+0.000 s", odom)
        part = run(NDT_BAG, "info", "--seconds=1", case("clock_boot/mixed.mcap")).stdout
        self.assertEqual(part.splitlines()[2].split()[4], "10")
        # What broke off is shown, and is no success.
        data = pathlib.Path(case("clock_boot/mixed.mcap")).read_bytes()
        cut = self.folder / "cut.mcap"
        cut.write_bytes(data[: len(data) // 2])
        result = run(NDT_BAG, "info", cut)
        self.assertEqual(result.returncode, 1)
        self.assertIn("cut off", result.stderr)
        self.assertIn("/odom", result.stdout)
        for wrong in ((), ("info",), ("what", cut), ("info", "--seconds=x", cut)):
            self.assertEqual(run(NDT_BAG, *wrong).returncode, 2)


if __name__ == "__main__":
    unittest_tap.run()
