#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ndt-replay: what it writes, its exit statuses, the same bytes every time (TAP).

usage: test-replay.py NDT_REPLAY NDT_BAG
"""

import glob
import hashlib
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer

REPLAY, BAG = map(os.path.abspath, sys.argv[1:3])
ROOT = os.environ["NDT_TEST_ROOT"]
DATA = os.environ.get("NDT_TEST_DATA") or os.path.join(ROOT, "..", "shared", "data")
sys.path.insert(0, os.path.join(ROOT, "tests", "record"))
import geodesy  # noqa: E402
import unittest_tap  # noqa: E402

START = "0,0,1.8"  # of the simulated drive
SCANS = 12
LONG = 120  # 12 s at its own rate


def run(*command, status=0, cwd=None, **kwargs):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, timeout=300, cwd=cwd, **kwargs)
    if done.returncode != status:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def messages(path, prefix=None):
    """Topic, both times, sequence number, schema and bytes of each message, in the order read."""
    with open(path, "rb") as file:
        return [(channel.topic, message.log_time, message.publish_time, message.sequence,
                 schema.name if schema else None, schema.data if schema else None,
                 channel.message_encoding, dict(channel.metadata), message.data)
                for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages()
                if prefix is None or channel.topic.startswith(prefix)]


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.common = tempfile.mkdtemp()
        run(os.environ["NDT_MAP"], "simulate", "town.pcd", cwd=cls.common)

    def setUp(self):
        if not hasattr(type(self), "common"):
            self.setUpClass()
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.symlink(os.path.join(self.common, "town.pcd"), self.path("town.pcd"))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def record(self, scans, *properties, location="drive.mcap"):
        run("gst-launch-1.0", "-q", "lidartestsrc", "rings=16", f"num-buffers={scans}", *properties,
            "!", "mcapsink", f"location={location}", cwd=self.folder)

    def replay(self, *arguments, status=0):
        """The last line's numbers, and the report."""
        output = run(REPLAY, *arguments, status=status, cwd=self.folder)
        line = dict(pair.split("=") for pair in output.splitlines()[-1].split())
        out = arguments[3] if len(arguments) > 3 else "replay"
        with open(self.path(out, "report.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["exit_status"], status, output)
        self.assertEqual(report["result"], line["result"], output)
        return line, report

    def wait_for_scans(self, end):
        """Until the trajectory in out/ has some rows."""
        name = self.path("out", "trajectory.csv")
        while time.monotonic() < end:
            if os.path.exists(name):
                with open(name, encoding="ascii") as file:
                    if len(file.readlines()) > 4:
                        return
            time.sleep(0.02)
        self.fail("no scan came")

    def test_a_bag(self):
        """All that it had is there as it stood, and the poses under the prefix."""
        self.record(SCANS)
        line, report = self.replay("drive.mcap", "town.pcd", START)
        self.assertEqual((line["result"], line["scans"], line["tracked"]),
                         ("localized", str(SCANS), str(SCANS)))
        # Far above the simulated sensor's noise, far below the distance between scans (0.8 m).
        self.assertLess(float(line["max_error_m"]), 0.1)
        before = messages(self.path("drive.mcap"))
        after = messages(self.path("replay", "replay.mcap"))
        self.assertEqual(sorted(before, key=repr), sorted(
            (m for m in after if not m[0].startswith("/ndt/")), key=repr))
        self.assertEqual([m[1] for m in after], sorted(m[1] for m in after))
        added = {}
        for message in after:
            if message[0].startswith("/ndt/"):
                added[message[0], message[4]] = added.get((message[0], message[4]), 0) + 1
        self.assertEqual(added, {
            ("/ndt/pose", "geometry_msgs/msg/PoseWithCovarianceStamped"): SCANS,
            ("/ndt/odom", "nav_msgs/msg/Odometry"): SCANS,
            ("/ndt/tf", "tf2_msgs/msg/TFMessage"): SCANS,
            ("/ndt/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"): SCANS})
        # The report says what went in, and what the trajectory's file says.
        self.assertEqual(report["inputs"]["recording"]["sha256"], sha256(self.path("drive.mcap")))
        self.assertEqual(report["inputs"]["map"]["sha256"], sha256(self.path("town.pcd")))
        self.assertEqual(report["scans"], SCANS)
        self.assertEqual(report["status"]["tracking"], {"scans": SCANS, "share": 1.0})
        self.assertEqual(report["start"], {"source": "given", "detail": None, "pose": START})
        self.assertAlmostEqual(report["duration_s"], (SCANS - 1) * 0.1, places=9)
        self.assertAlmostEqual(report["largest_gap_s"], 0.1, places=9)
        self.assertIsNone(report["first_loss_s"])
        self.assertEqual((report["summary"]["tracking"], report["summary"]["is-lost"]), (SCANS, False))
        self.assertAlmostEqual(report["speed_mps"]["p50"], 8, delta=0.5)  # the source's
        poses = np.loadtxt(self.path("replay", "trajectory.txt"))
        steps = np.linalg.norm(np.diff(poses[:, 1:4], axis=0), axis=1)
        self.assertAlmostEqual(report["distance_m"], steps.sum(), places=6)
        self.assertFalse(glob.glob(self.path("replay", "*.part*")))
        # A map that is a folder has the digest of sha256sum's list.
        os.mkdir(self.path("maps"))
        shutil.copy(self.path("town.pcd"), self.path("maps", "town.pcd"))
        _, report = self.replay("drive.mcap", "maps", START)
        listed = run("sha256sum", "town.pcd", cwd=self.path("maps"))
        self.assertEqual(report["inputs"]["map"]["sha256"],
                         hashlib.sha256(listed.encode()).hexdigest())

    def test_the_same_bytes(self):
        """Whatever else the machine does, however many threads there are, in realtime as well."""
        self.record(SCANS, "motion-distortion=true")
        names = ("replay.mcap", "trajectory.txt", "trajectory.csv")
        self.replay("drive.mcap", "town.pcd", START, "one", "n-threads=1")
        runs = [subprocess.Popen(
            [REPLAY, "drive.mcap", "town.pcd", START, f"other{i}", f"n-threads={i + 1}",
             *(["--realtime"] if i == 2 else [])], cwd=self.folder, stdout=subprocess.DEVNULL)
                for i in range(4)]
        for process in runs:
            self.assertEqual(process.wait(300), 0)
        expected = [sha256(self.path("one", name)) for name in names]
        for i in range(4):
            # The parameters stand in the recording's metadata: without it.
            self.assertEqual(messages(self.path("one", "replay.mcap")),
                             messages(self.path(f"other{i}", "replay.mcap")))
            for name, digest in zip(names[1:], expected[1:]):
                self.assertEqual(sha256(self.path(f"other{i}", name)), digest, (i, name))
        # With the same parameters all bytes, the report's as well.
        self.replay("drive.mcap", "town.pcd", START, "again", "n-threads=1")
        for name in (*names, "report.json"):
            self.assertEqual(sha256(self.path("again", name)), sha256(self.path("one", name)), name)

    def test_exit_statuses(self):
        self.record(SCANS)
        run(os.environ["NDT_MAP"], "simulate", "--world=hall", "hall.pcd", cwd=self.folder)
        for arguments, status, why in (
                ((), 2, "RECORDING and MAP"),
                (("drive.mcap", "town.pcd", "here"), 2, "START"),
                (("drive.mcap", "town.pcd", START, "out", "more"), 2, "not PROPERTY=VALUE"),
                (("drive.mcap", "town.pcd", START, "--topic"), 2, "--topic"),
                (("drive.mcap", "town.pcd", START, "--fast"), 2, "--fast"),
                (("drive.mcap", "town.pcd", START, "nothing=1"), 2, "nothing"),
                (("drive.mcap", "town.pcd", START, "resolution=wide"), 2, "resolution"),
                (("drive.mcap", "town.pcd", START, "--reference", "none.txt"), 2, "none.txt"),
                (("drive.mcap", "none.pcd", START), 5, "none.pcd"),
                (("none.mcap", "town.pcd", START), 4, "none.mcap"),
                (("drive.mcap", "town.pcd", START, "--topic=/none"), 4, "/none")):
            output = run(REPLAY, *arguments, status=status, cwd=self.folder)
            self.assertIn(why, output)
        with open(self.path("drive.mcap"), "rb") as file:
            recording = file.read()
        with open(self.path("cut.pcd"), "wb") as cut, open(self.path("town.pcd"), "rb") as whole:
            cut.write(whole.read(100000))
        with open(self.path("noise.mcap"), "wb") as file:
            file.write(recording[:40] + os.urandom(100000))
        for arguments, status, why in (
                (("drive.mcap", "cut.pcd", START), 5, "cut.pcd"),
                (("noise.mcap", "town.pcd", START), 4, "no messages"),
                # In another place nothing is found, wherever it is looked for.
                (("drive.mcap", "hall.pcd", START), 3, "lost")):
            _, report = self.replay(*arguments, status=status)
            self.assertIn(why, report["problem"])
        # A folder that cannot be made: the environment.
        with open(self.path("file"), "w", encoding="ascii"):
            pass
        run(REPLAY, "drive.mcap", "town.pcd", START, "file/out", status=6, cwd=self.folder)
        # So is a plugin that is not installed.
        run(REPLAY, "drive.mcap", "town.pcd", START, status=6, cwd=self.folder,
            env={**os.environ, "GST_PLUGIN_PATH_1_0": "/nonexistent",
                 "GST_REGISTRY_1_0": self.path("registry")})

    def merge_pose(self, topic, body, name, drive="drive.mcap"):
        """@drive with a PoseWithCovarianceStamped as @name."""
        self.merge(topic, "geometry_msgs/msg/PoseWithCovarianceStamped", b"\x00\x01\x00\x00" + body, name, drive)

    def merge(self, topic, kind, data, name, drive):
        with open(self.path("pose.mcap"), "wb") as file:
            writer = Writer(file)
            writer.start(profile="ros2", library="test")
            schema = writer.register_schema(kind, "ros2msg", b"")
            channel = writer.register_channel(topic, "cdr", schema)
            writer.add_message(channel, log_time=50000000, publish_time=50000000,
                               data=data)
            writer.finish()
        run(BAG, "merge", "--output", name, drive, "pose.mcap", cwd=self.folder)

    def test_starts(self):
        """Given, of a table, of the recording: the one that is used is in the report."""
        self.record(SCANS, "start-offset=30")
        true = "30,0,1.8"
        with open(self.path("starts.csv"), "w", encoding="ascii") as file:
            file.write(f"# drive, pose\nother.mcap,0,0,500\ndrive.mcap, {true}\n")
        _, report = self.replay("drive.mcap", "town.pcd", "--starts=starts.csv")
        self.assertEqual(report["start"], {"source": "table", "detail": "starts.csv", "pose": true})
        # Somebody sets a pose in RViz, four seconds of recording before the first scan are without.
        def cdr(text):
            return struct.pack("<I", len(text) + 1) + text.encode() + b"\0"

        def pose(x, y, variances):
            body = struct.pack("<iI", 0, 0) + cdr("map")
            body += b"\0" * (-len(body) % 8) + struct.pack("<7d", x, y, 1.8, 0, 0, 0, 1)
            return body + struct.pack("<36d", *(variances[i // 7] if i % 7 == 0 else 0 for i in range(36)))

        body = pose(30, 0, [0] * 6)
        self.merge_pose("/initialpose", body, "both.mcap")
        _, report = self.replay("both.mcap", "town.pcd")
        self.assertEqual((report["start"]["source"], report["start"]["detail"]),
                         ("recording", "/initialpose"))
        self.assertEqual([float(x) for x in report["start"]["pose"].split(",")[:3]], [30, 0, 1.8])
        # A receiver's, 2 m aside and without a heading: that of the drive is another one.
        self.record(SCANS, "start-offset=150", location="aside.mcap")
        self.replay("aside.mcap", "town.pcd", "search")
        with open(self.path("replay", "trajectory.txt"), encoding="ascii") as file:
            line = next(line for line in file if not line.startswith("#"))
        x, y = (float(v) for v in line.split()[1:3])
        self.merge_pose("/sensing/gnss/pose_with_covariance", pose(x + 1.5, y - 1.5, [4, 4, 9, 0, 0, 1e9]),
                        "gnss.mcap", "aside.mcap")
        line, report = self.replay("gnss.mcap", "town.pcd")
        self.assertEqual((report["start"]["source"], report["start"]["detail"], report["start"]["uncertainty"]),
                         ("recording", "/sensing/gnss/pose_with_covariance", "<2.0,2.0,3.0,180>"))
        self.assertEqual(line["tracked"], str(SCANS))
        # The same as a position on Earth, in a map that says where it is.
        origin = (49.0, 8.4, 110.0)
        place = geodesy.from_enu((x + 1.5, y - 1.5, 1.8), origin)
        self.merge("/fix", "sensor_msgs/msg/NavSatFix", geodesy.fix_message(0, place, (4, 4, 9)), "fix.mcap",
                   "aside.mcap")
        for projector, source in (("LocalCartesian", "recording"), ("TransverseMercator", "search")):
            with open(self.path("map_projector_info.yaml"), "w", encoding="ascii") as file:
                file.write(f"projector_type: {projector}\nvertical_datum: WGS84\nmap_origin:\n  latitude: 49.0\n"
                           "  longitude: 8.4\n  altitude: 110.0\n")
            line, report = self.replay("fix.mcap", "town.pcd")
            self.assertEqual(report["start"]["source"], source)
            if source == "recording":
                self.assertEqual(line["tracked"], str(SCANS))
                self.assertEqual((report["start"]["detail"], report["start"]["uncertainty"]),
                                 ("/fix", "<2.0,2.0,3.0,180>"))
                np.testing.assert_allclose([float(v) for v in report["start"]["pose"].split(",")[:3]],
                                           [x + 1.5, y - 1.5, 1.8], atol=1e-3)
        os.remove(self.path("map_projector_info.yaml"))
        # The transforms of a recording that was localized before.
        run("gst-launch-1.0", "-q", "rosbagsrc", "location=drive.mcap", "!", "pointcloud/x-raw", "!",
            "ndtlocalize", "map-location=town.pcd", f"initial-pose={true}", "!", "mcapsink",
            "location=posed.mcap", cwd=self.folder)
        _, report = self.replay("posed.mcap", "town.pcd")
        self.assertEqual((report["start"]["source"], report["start"]["detail"]), ("recording", "/tf"))
        # A heading below zero is no option.
        line, _ = self.replay("drive.mcap", "town.pcd", "29.7,0.2,1.8,-2")
        self.assertEqual(line["tracked"], str(SCANS))

    def test_other_inputs(self):
        """A folder of PCD files by number, not by name; a capture with its decoder."""
        sequence = os.path.join(DATA, "seq_kitti_drive0005")
        if not os.path.isdir(sequence):
            if os.environ.get("CI") == "true":
                self.fail(f"{sequence} is missing")
            self.skipTest(f"{sequence} is missing: set NDT_TEST_DATA")
        truth = np.loadtxt(os.path.join(sequence, "poses.txt"))
        os.mkdir(self.path("scans"))
        for i in range(12):
            os.symlink(os.path.join(sequence, "scans", f"{i:06d}.pcd"), self.path("scans", f"{i}.pcd"))
        start = ",".join(map(str, truth[0, 1:]))
        map_location = os.path.join(sequence, "map_even_0.25.pcd")
        self.assertIn("--rate", run(REPLAY, "scans", map_location, start, status=2, cwd=self.folder))
        line, _ = self.replay("scans", map_location, start, "out", "--rate=5")
        self.assertEqual((line["scans"], line["tracked"]), ("12", "12"))
        poses = np.loadtxt(self.path("out", "trajectory.txt"))
        self.assertTrue(np.allclose(poses[:, 0], 0.2 * np.arange(12), atol=1e-6))
        # As tests/real asks of this sequence.
        self.assertLess(np.linalg.norm(poses[:, 1:4] - truth[:12, 1:4], axis=1).max(), 0.05)
        recorded = messages(self.path("out", "replay.mcap"))
        for topic in ("/points", "/ndt/pose", "/ndt/odom", "/ndt/tf", "/ndt/diagnostics"):
            self.assertEqual(sum(m[0] == topic for m in recorded), 12, topic)

        captures = sorted(glob.glob(os.path.join(DATA, "packets_velodyne_pcap", "**", "*.pcap"),
                                    recursive=True))
        self.assertTrue(captures)
        self.assertIn("--decoder", run(REPLAY, captures[0], "town.pcd", START, status=2,
                                       cwd=self.folder))
        # It is not of this town: what counts is that its scans come and are judged.
        _, report = self.replay(captures[0], "town.pcd", START, "packets", "--decoder=velodynedec",
                                status=3)
        self.assertGreater(report["scans"], 0)

    def test_any_names(self):
        self.record(5, location="it's 1.mcap")
        os.rename(self.path("it's 1.mcap"), self.path('a "b" \\c 100%.mcap'))
        line, _ = self.replay('a "b" \\c 100%.mcap', "town.pcd", START, "it's [1], 100% *")
        self.assertEqual(line["tracked"], "5")

    def test_odd_locations(self):
        """A pipe or a device is not waited for; home and file URIs are taken, as by all others."""
        self.record(3)
        os.mkfifo(self.path("pipe"))
        there = f"file://{self.folder}"
        for arguments, status, why in (
                (("pipe", "town.pcd", START), 4, "is not a regular file"),
                (("/dev/zero", "town.pcd", START), 4, "is not a regular file"),
                (("-", "town.pcd", START), 4, "standard input is not read"),
                (("drive.mcap", "pipe", START), 5, "is not a regular file"),
                (("drive.mcap", "/dev/zero", START), 5, "is not a regular file"),
                (("drive.mcap", "-", START), 5, "standard input is not read"),
                (("drive.mcap", "town.pcd", "--starts=pipe"), 2, "is not a regular file"),
                (("drive.mcap", "town.pcd", START, "--reference=pipe"), 2, "is not a regular file"),
                (("drive.mcap", "town.pcd", START, "-"), 2, "standard output"),
                (("drive.mcap", "town.pcd", START, "~nobody/out"), 2, "~nobody")):
            output = run(REPLAY, *arguments, status=status, cwd=self.folder)
            self.assertIn(why, output)
        home = {**os.environ, "HOME": self.folder}
        for name, folder in (("~/out", "out"), (there + "/uri", "uri")):
            run(REPLAY, there + "/drive.mcap", "~/town.pcd", START, name, cwd=self.common, env=home)
            self.assertTrue(os.path.exists(self.path(folder, "report.json")))
        self.assertEqual([name for name in os.listdir(self.common) if name[0] in "~f-"], [])
        self.assertEqual([name for name in os.listdir(self.folder) if name[0] in "~-"], [])

    def test_resume(self):
        """What is done is not done again; what was killed starts over, and gives the same bytes."""
        self.record(LONG)
        self.replay("drive.mcap", "town.pcd", START, "whole")
        arguments = ("drive.mcap", "town.pcd", START, "out")
        with subprocess.Popen([REPLAY, "--realtime", *arguments], cwd=self.folder,
                              stdout=subprocess.DEVNULL) as process:
            end = time.monotonic() + 300
            self.wait_for_scans(end)
            process.kill()
        self.assertFalse(os.path.exists(self.path("out", "report.json")))
        run(REPLAY, "--resume", *arguments, cwd=self.folder)
        for name in ("replay.mcap", "trajectory.txt", "trajectory.csv", "report.json"):
            self.assertEqual(sha256(self.path("out", name)), sha256(self.path("whole", name)), name)
        self.assertFalse(glob.glob(self.path("out", "*.part*")))
        about = os.stat(self.path("out", "replay.mcap"))
        self.assertIn("done before", run(REPLAY, "--resume", *arguments, cwd=self.folder))
        self.assertEqual(os.stat(self.path("out", "replay.mcap")).st_mtime_ns, about.st_mtime_ns)
        # Another parameter is another drive.
        self.assertNotIn("done before", run(REPLAY, "--resume", *arguments, "resolution=1",
                                            cwd=self.folder))

    def test_stops(self):
        """SIGTERM ends the stream; the report says so."""
        self.record(LONG)
        with subprocess.Popen([REPLAY, "--realtime", "drive.mcap", "town.pcd", START, "out"],
                              cwd=self.folder, stdout=subprocess.PIPE, text=True) as process:
            end = time.monotonic() + 300
            self.wait_for_scans(end)
            process.send_signal(signal.SIGTERM)
            output = process.communicate(timeout=300)[0]
        self.assertEqual(process.returncode, 130, output)
        with open(self.path("out", "report.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["result"], "interrupted")
        self.assertTrue(0 < report["scans"] < LONG, report["scans"])
        self.assertEqual(len(messages(self.path("out", "replay.mcap"), "/ndt/pose")), report["scans"])

    def test_progress(self):
        """A bar on a terminal, nothing in a pipe."""
        self.record(LONG)
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execv(REPLAY, [REPLAY, "--realtime", "drive.mcap", "town.pcd", START, "out"])
        shown = b""
        end = time.monotonic() + 300
        while time.monotonic() < end:
            ready, _, _ = select.select([terminal], [], [], 1)
            try:
                shown += os.read(terminal, 65536) if ready else b""
            except OSError:  # the other side is closed
                break
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0, shown)
        bars = [float(p) for p in re.findall(rb"\r\[#* *\] ([0-9.]+) %", shown)]
        self.assertTrue(len(bars) > 1 and bars == sorted(bars), shown)
        output = run(REPLAY, "drive.mcap", "town.pcd", START, "out", cwd=self.folder)
        self.assertEqual(len(output.splitlines()), 1, output)


class Merge(unittest.TestCase):
    """ndt-bag merge."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, times, topic, n_attachments=0):
        with open(self.path(name), "wb") as file:
            writer = Writer(file, chunk_size=1000, compression=CompressionType.NONE)
            writer.start(profile="ros2", library="test")
            schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
            channel = writer.register_channel(topic, "cdr", schema, {"of": name})
            for i in range(n_attachments):
                writer.add_attachment(5, 6, f"file{i}", "text/plain", f"{name} {i}".encode())
            for i, when in enumerate(times):
                writer.add_message(channel, log_time=when, publish_time=when + 7, sequence=100 + i,
                                   data=f"{name} {i}".encode() * 10)
            writer.add_metadata("about", {"name": name})
            writer.finish()

    def test_merge(self):
        self.write("a.mcap", range(0, 1000, 10), "/a", 2)
        self.write("b.mcap", range(5, 1500, 15), "/b", 1)
        for compression in ("none", "lz4", "zstd"):
            output = run(BAG, "merge", f"--compression={compression}", "-o", "out.mcap", "a.mcap",
                         "b.mcap", cwd=self.folder)
            self.assertIn("200 messages, 5 attachments", output)
            both = messages(self.path("a.mcap")) + messages(self.path("b.mcap"))
            # Of equal times the first input's come first; Python's sort keeps that order.
            self.assertEqual(messages(self.path("out.mcap")), sorted(both, key=lambda m: m[1]))
            with open(self.path("out.mcap"), "rb") as file:
                reader = make_reader(file)
                self.assertEqual([(a.name, a.data) for a in reader.iter_attachments()], [
                    ("file0", b"a.mcap 0"), ("file1", b"a.mcap 1"), ("file0", b"b.mcap 0")])
                self.assertEqual([m.metadata for m in reader.iter_metadata()], [
                    {"name": "a.mcap"}, {"name": "b.mcap"}])

    def test_faults(self):
        self.write("a.mcap", range(0, 1000, 10), "/a")
        run(BAG, "merge", "a.mcap", status=2, cwd=self.folder)
        run(BAG, "merge", "-o", "out.mcap", "--compression=rar", "a.mcap", status=2, cwd=self.folder)
        run(BAG, "merge", "-o", "out.mcap", "none.mcap", status=1, cwd=self.folder)
        run(BAG, "merge", "-o", "no/out.mcap", "a.mcap", status=1, cwd=self.folder)
        self.assertFalse(os.path.exists(self.path("out.mcap")))
        # A chunk that is damaged is left out, said, and has an exit status.
        with open(self.path("a.mcap"), "r+b") as file:
            data = file.read()
            place = data.index(b"a.mcap 50a")
            file.seek(place)
            file.write(b"X")
        output = run(BAG, "merge", "-o", "out.mcap", "a.mcap", status=1, cwd=self.folder)
        self.assertIn("damaged", output)
        self.assertLess(len(messages(self.path("out.mcap"))), 100)


if __name__ == "__main__":
    unittest_tap.run()
