#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What is left of a recording after a kill, a full disk, a cut (TAP).

    test-recording-faults.py RECORD_FOREVER BAG_DUMP
"""

import os
import random
import resource
import select
import signal
import struct
import subprocess
import sys
import time

import unittest_tap
from recording import (CLOUD_CAPS, Folder, Gst, SECOND, count_by_mcap, crc32, make_cloud,
                       make_reader)

RECORD_FOREVER = sys.argv.pop(1)
BAG_DUMP = sys.argv.pop(1)


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


SOURCE = ("fakesrc format=time datarate=160000 sizetype=fixed sizemax=16000 "
          "filltype=pattern {limit} ! "
          "pointcloud/x-raw,format=XYZI_F32LE,framerate=10/1 ! "
          "mcapsink name=rec location={path} chunk-size={chunk} {more}")


class Cut(Folder):
    def test_synced(self):
        """Cut where the file is said to be safe, it has all that was written up to there."""
        path = self.path("cut.mcap")
        pipeline = Gst.parse_launch(
            "fakesrc format=time datarate=160000 sizetype=fixed sizemax=16000 filltype=pattern ! "
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
            if stats.get_uint64("messages").value == 15:
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
        self.assertEqual(count_by_mcap(self.path("copy.mcap")), 15)


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


if __name__ == "__main__":
    unittest_tap.run()
