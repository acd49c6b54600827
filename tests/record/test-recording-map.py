#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Maps in recordings (TAP): mcapsink map=auto, read by the Python packages mcap and mcap-ros2-support.

usage: test-recording-map.py NDT_BAG
"""

import os
import subprocess
import sys
import tempfile
import unittest

from recording import DecoderFactory, Gst, make_reader
import numpy as np

import unittest_tap

NDT_BAG, NDT_MAP = sys.argv.pop(1), os.environ["NDT_MAP"]
FOLDER = tempfile.TemporaryDirectory(prefix="recording-map-")
SOURCE = "lidartestsrc world=hall rings=16 columns=256"


def path(name):
    return os.path.join(FOLDER.name, name)


MAP = path("hall.pcd")
subprocess.run([NDT_MAP, "simulate", "--world=hall", MAP], check=True, stdout=subprocess.DEVNULL)


def run(launch):
    pipeline = Gst.parse_launch(launch)
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(300 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    assert message.type == Gst.MessageType.EOS, message.parse_error()


def map_points():
    with open(MAP, "rb") as file:
        return np.frombuffer(file.read().split(b"DATA binary\n", 1)[1], "<f4").reshape(-1, 3).astype(float)


def record(name, sink="", localizer=f"map-location={MAP}", source=f"{SOURCE} num-buffers=5"):
    run(f"{source} ! ndtlocalize initial-pose=0,0,1.8 {localizer} ! mcapsink location={path(name)} {sink}")
    return path(name)


def read(name):
    """(topic, channel, message) of a file."""
    with open(name, "rb") as file:
        return [(channel.topic, channel, message) for _, channel, message in
                make_reader(file).iter_messages(log_time_order=False)]


def decode(name):
    """Clouds of the topic /map."""
    with open(name, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        return [message for *_, message in reader.iter_decoded_messages(topics=["/map"])]


def xyz_of(message):
    assert [(f.name, f.offset, f.datatype) for f in message.fields] == [("x", 0, 8), ("y", 8, 8), ("z", 16, 8)]
    return np.frombuffer(bytes(message.data), "<f8").reshape(-1, 3)


class Map(unittest.TestCase):
    def check(self, name, most):
        """One map, of points of the file, all over it, no more than it may have."""
        clouds = decode(name)
        self.assertEqual(len(clouds), 1)
        xyz, known = xyz_of(clouds[0]), map_points()
        self.assertEqual((clouds[0].header.frame_id, clouds[0].width * clouds[0].height), ("map", len(xyz)))
        # The edge of the cubes doubles until there are few enough: an eighth at the least.
        self.assertTrue(most / 8 <= len(xyz) <= most, len(xyz))
        self.assertTrue({tuple(p) for p in xyz} <= {tuple(p) for p in known})
        # Within an edge of the cubes, of which the whole hall has no more than there may be points.
        edge = 2 * np.cbrt(np.prod(np.ptp(known, axis=0)) / most) + 1
        np.testing.assert_allclose(xyz.min(axis=0), known.min(axis=0), atol=edge)
        np.testing.assert_allclose(xyz.max(axis=0), known.max(axis=0), atol=edge)

    def test_once_and_early(self):
        """The map stands before the first scan, once, latched; by default there is none."""
        name = record("auto.mcap", "map=auto max-map-points=3000")
        self.check(name, 3000)
        messages = read(name)
        topics = [topic for topic, *_ in messages]
        self.assertEqual(topics.count("/map"), 1)
        self.assertLess(topics.index("/map"), topics.index("/points"))
        channel, message = next((c, m) for t, c, m in messages if t == "/map")
        self.assertIn("durability: 1", channel.metadata["offered_qos_profiles"])
        self.assertEqual(message.log_time, min(m.log_time for *_, m in messages))
        self.assertNotIn("/map", [topic for topic, *_ in read(record("none.mcap"))])

    def test_tiles(self):
        """Of a map in tiles, of which a part is in memory, all is recorded."""
        subprocess.run([NDT_MAP, "tile", "--size=10", "--output=" + path("tiles"), MAP], check=True,
                       stdout=subprocess.DEVNULL)
        self.check(record("tiles.mcap", "map=auto max-map-points=3000",
                          f"map-location={path('tiles')} map-radius=15"), 3000)

    def test_live(self):
        """A live recording that ends at once has it as well."""
        self.check(record("live.mcap", "map=auto max-map-points=3000", source=f"{SOURCE} num-buffers=3 is-live=true"), 3000)

    def test_each_file(self):
        """Each file of a recording has it."""
        record("split-%d.mcap", "map=auto max-map-points=3000 max-size-time=200000000")
        names = sorted(n for n in os.listdir(FOLDER.name) if n.startswith("split-"))
        self.assertGreater(len(names), 1)
        for name in names:
            self.check(path(name), 3000)

    def test_is_no_scan(self):
        """It is not what rosbagsrc gives to a localizer, and ndt-bag says what it is."""
        name = record("replay.mcap", "map=auto")
        info = subprocess.run([NDT_BAG, "info", name], check=True, capture_output=True, text=True).stdout
        rows = {line.split()[0]: line for line in info.splitlines() if line.startswith("/")}
        self.assertIn("a map", rows["/map"])
        self.assertIn("message_0", rows["/map"])
        self.assertIn("cloud_0", rows["/points"])
        again = path("again.mcap")
        run(f"rosbagsrc location={name} ! ndtlocalize map-location={MAP} initial-pose=0,0,1.8 ! mcapsink location={again}")
        with open(again, "rb") as file:
            self.assertEqual(len(list(make_reader(file).iter_messages(topics=["/points"]))), 5)

    def test_poses(self):
        """ndt-bag poses gives the poses, statuses and scores that trajectorysink writes; ndt-map draws them."""
        name, csv = path("poses.mcap"), path("poses.csv")
        run(f"{SOURCE} num-buffers=6 ! ndtlocalize initial-pose=0,0,1.8 map-location={MAP} ! tee name=t ! queue ! "
            f"mcapsink location={name} t. ! queue ! trajectorysink format=csv location={csv}")
        text = subprocess.run([NDT_BAG, "poses", name], check=True, capture_output=True, text=True).stdout
        with open(csv, encoding="utf-8") as file:
            expected = [line.split(",") for line in file.read().splitlines()]
        rows = [line.split(",") for line in text.splitlines()]
        self.assertEqual(len(rows), 7)
        last = rows[0].index("iterations") + 1
        self.assertEqual([row[:last] for row in rows], [row[:last] for row in expected])
        truth = subprocess.run([NDT_BAG, "poses", "--topic=/points/pose/ground_truth", name], check=True,
                               capture_output=True, text=True).stdout.splitlines()
        self.assertEqual((len(truth), truth[1].split(",")[2]), (7, ""))
        refused = subprocess.run([NDT_BAG, "poses", "--topic=/none", name], capture_output=True, text=True)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("no poses of the topic /none", refused.stderr)
        environment = {**os.environ, "PATH": os.path.dirname(NDT_BAG) + ":" + os.environ["PATH"]}
        done = subprocess.run([NDT_MAP, "picture", "-w", "300", "-o", path("drive.svg"), "-t", name, MAP], env=environment,
                              capture_output=True, text=True)
        if "built without Cairo" not in done.stderr:
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(os.path.getsize(path("drive.svg")), 1000)

    def test_map_that_is_not_there(self):
        """It is said, and the recording goes on."""
        name = path("missing.mcap")
        pipeline = Gst.parse_launch(f"{SOURCE} num-buffers=3 ! identity name=i ! mcapsink map=auto location={name}")
        source = pipeline.get_by_name("i").get_static_pad("src")
        structure = Gst.Structure.from_string('ndt-map, location=(string)/missing.pcd')[0]

        def send(pad, info):
            pad.push_event(Gst.Event.new_custom(Gst.EventType.CUSTOM_DOWNSTREAM_STICKY, structure))
            return Gst.PadProbeReturn.REMOVE

        source.add_probe(Gst.PadProbeType.BUFFER, send)
        pipeline.set_state(Gst.State.PLAYING)
        bus, warnings = pipeline.get_bus(), []
        while True:
            message = bus.timed_pop_filtered(
                60 * Gst.SECOND, Gst.MessageType.WARNING | Gst.MessageType.ERROR | Gst.MessageType.EOS)
            self.assertNotEqual(message.type, Gst.MessageType.ERROR)
            if message.type == Gst.MessageType.EOS:
                break
            warnings.append(message.parse_warning()[0].message)
        pipeline.set_state(Gst.State.NULL)
        self.assertEqual(len(warnings), 1)
        self.assertIn("The map is not recorded: ", warnings[0])
        self.assertEqual([t for t, *_ in read(name)].count("/points"), 3)


unittest_tap.run()
