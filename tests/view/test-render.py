#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Pictures of pointcloudrender (TAP).

usage: test-render.py NDT_MAP

With NDT_WRITE_GOLDEN=1 the pictures to compare with are written anew: look at them before.
"""

import os
import unittest

import pipeline
import numpy as np

import unittest_tap
from pictures import pixels, write_png
from pipeline import Gst, MAP

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
SOURCE = "lidartestsrc world=hall rings=32 columns=512"
# A channel that differs by more, of 255, is another colour: neighbours of the ramp differ by 4 at most.
OTHER = 16
# Sums in another order (compilers, processors) move a point by a pixel where it lies at the edge of one:
# a few in ten thousand. A scan that is 0.1 m aside changes more than thirty times as many (below).
SHARE = 0.005


class Frames:
    """Buffers that come out of a pipeline, and what was said on its bus."""

    def __init__(self, launch, seconds=300):
        self.pipeline = Gst.parse_launch(launch + " ! appsink name=out sync=false")
        sink = self.pipeline.get_by_name("out")
        self.render = self.pipeline.get_by_name("render")
        self.pipeline.set_state(Gst.State.PLAYING)
        self.frames, self.times, self.durations, self.caps = [], [], [], None
        while True:
            sample = sink.emit("try-pull-sample", seconds * Gst.SECOND)
            if sample is None:
                break
            buffer, self.caps = sample.get_buffer(), sample.get_caps().get_structure(0)
            size = self.caps.get_int("height")[1], self.caps.get_int("width")[1]
            data = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8)
            self.frames.append(data.reshape(*size, 4)[:, :, 2::-1].astype(int))
            self.times.append(buffer.pts)
            self.durations.append(buffer.duration)
        self.messages = []
        bus = self.pipeline.get_bus()
        while (message := bus.pop_filtered(Gst.MessageType.ERROR | Gst.MessageType.WARNING)) is not None:
            is_error = message.type == Gst.MessageType.ERROR
            text = (message.parse_error() if is_error else message.parse_warning())[0].message
            assert not is_error, text
            self.messages.append(text)
        self.stats = self.render.get_property("stats")
        self.pipeline.set_state(Gst.State.NULL)


def draw(options="", n=3, caps="width=320,height=180", source=SOURCE, pose="role=ground-truth"):
    return Frames(f"{source} num-buffers={n} ! pointcloudrender name=render {pose} {options} ! video/x-raw,{caps}")


def difference(a, b):
    """Share of pixels that have another colour."""
    return (np.abs(a - b).max(axis=2) > OTHER).mean()


class Render(unittest.TestCase):
    def test_golden(self):
        """Each view and colouring is the picture that was looked at."""
        for name, options in (("chase", "color=residual distance=15"), ("top", "view=top color=height distance=25"),
                              ("side", "view=side color=ring follow=false"),
                              ("intensity", "view=top color=intensity distance=15")):
            drawn = draw(f"map-location={MAP} words=false {options}").frames[-1]
            path = os.path.join(GOLDEN, f"render-{name}.png")
            if os.environ.get("NDT_WRITE_GOLDEN"):
                write_png(path, drawn)
            with open(path, "rb") as file:
                golden = pixels(file.read())
            self.assertLess(difference(drawn, golden), SHARE, name)
            # What is golden shows something, and a scan that is elsewhere is another picture.
            self.assertGreater((golden != golden[0, 0]).any(axis=2).mean(), 0.05, name)
            moved = draw(f"map-location={MAP} words=false {options} sensor-pose=0.1,0.1,0.1").frames[-1]
            self.assertGreater(difference(moved, golden), 3 * SHARE, name)

    def test_size_and_rate(self):
        """Caps say them; without, a scan is a frame of 1280 × 720."""
        free = draw(caps="pixel-aspect-ratio=1/1")
        self.assertEqual([f.shape for f in free.frames], 3 * [(720, 1280, 3)])
        self.assertEqual(free.times, [0, 100 * Gst.MSECOND, 200 * Gst.MSECOND])
        self.assertEqual(free.durations, 3 * [100 * Gst.MSECOND])
        fast = draw(caps="width=64,height=48,framerate=30/1")
        expected = [Gst.util_uint64_scale(i, Gst.SECOND, 30) for i in range(7)]
        self.assertEqual(fast.times, expected)
        self.assertEqual([a + b for a, b in zip(fast.times, fast.durations)][:-1], expected[1:])
        # Frames 1 and 4 are nearer to the scan before them than half a frame to the one after, as are 2 and 5.
        self.assertEqual(fast.stats.get_value("frames"), 7)
        self.assertEqual(fast.stats.get_value("repeated"), 4)
        for same in ((0, 1), (0, 2), (3, 4), (3, 5)):
            np.testing.assert_array_equal(fast.frames[same[0]], fast.frames[same[1]])
        self.assertTrue((fast.frames[2] != fast.frames[3]).any())
        slow = draw(n=9, caps="width=64,height=48,framerate=5/1")
        self.assertEqual(slow.times, [i * 200 * Gst.MSECOND for i in range(5)])
        self.assertEqual(slow.stats.get_value("scans"), 9)

    def test_only_what_changed(self):
        """The map is drawn once while the camera stays, and with each frame that moves it."""
        still = draw(f"map-location={MAP} view=top follow=false", n=5)
        self.assertEqual(still.stats.get_value("map-draws"), 1)
        self.assertTrue((still.frames[0] != still.frames[4]).any())
        moving = draw(f"map-location={MAP} view=chase", n=5)
        self.assertEqual(moving.stats.get_value("map-draws"), 5)

    def test_words(self):
        """Words are in the corner, and nowhere else."""
        for view in ("chase", "top"):
            words, none = (draw(f"view={view} words={words}", n=1, caps="width=640,height=360").frames[0]
                           for words in ("true", "false"))
            changed = (words != none).any(axis=2)
            self.assertGreater(changed[:180, :320].mean(), 0.05)
            self.assertFalse(changed[:, 320:].any())
            # A scale bar where there is no perspective.
            self.assertEqual(changed[300:, :320].any(), view == "top")

    def test_map_of_the_localizer(self):
        """The map comes by the event, before the first frame; the ellipse and the way are drawn."""
        localized = Frames(f"{SOURCE} num-buffers=4 ! ndtlocalize map-location={MAP} initial-pose=0,0,1.8 ! "
                           "pointcloudrender name=render words=false view=top ! video/x-raw,width=320,height=180")
        without = draw("words=false view=top", n=4)
        for with_map, bare in zip(localized.frames, without.frames):
            self.assertGreater((with_map != with_map[0, 0]).any(axis=2).mean(),
                               1.05 * (bare != bare[0, 0]).any(axis=2).mean())
        # Green: the way of poses that track, a line of two pixels. The truth of the simulator has no status.
        green = lambda picture: (np.abs(picture - [0x4d, 0xe6, 0x66]).max(axis=2) < 4).sum()
        self.assertGreater(green(localized.frames[-1]), green(without.frames[-1]) + 10)

    def test_map_that_cannot_be_read(self):
        """It is said, and frames go on."""
        drawn = draw("map-location=/missing.pcd", n=2)
        self.assertEqual(len(drawn.frames), 2)
        self.assertEqual(len(drawn.messages), 1)
        self.assertIn("The map is not drawn", drawn.messages[0])

    def test_files(self):
        """A PNG, and a WebM whose frames can be decoded."""
        folder = pipeline.FOLDER.name
        png, webm = os.path.join(folder, "one.png"), os.path.join(folder, "drive.webm")
        for launch in (f"{SOURCE} num-buffers=1 ! pointcloudrender ! videoconvert ! pngenc ! filesink location={png}",
                       f"{SOURCE} num-buffers=5 ! pointcloudrender ! video/x-raw,width=160,height=120 ! videoconvert ! "
                       f"vp8enc deadline=1 ! webmmux ! filesink location={webm}"):
            running = Gst.parse_launch(launch)
            running.set_state(Gst.State.PLAYING)
            message = running.get_bus().timed_pop_filtered(300 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
            self.assertEqual(message.type, Gst.MessageType.EOS, launch)
            running.set_state(Gst.State.NULL)
        with open(png, "rb") as file:
            self.assertEqual(pixels(file.read()).shape, (720, 1280, 3))
        counted = Gst.parse_launch(f"filesrc location={webm} ! matroskademux ! vp8dec ! fakesink name=out sync=false")
        counted.set_state(Gst.State.PLAYING)
        message = counted.get_bus().timed_pop_filtered(300 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        self.assertEqual(message.type, Gst.MessageType.EOS)
        self.assertEqual(counted.get_by_name("out").get_property("stats").get_value("rendered"), 5)
        counted.set_state(Gst.State.NULL)

    def test_seek(self):
        """After a seek frames begin anew, and the way with them."""
        path = os.path.join(pipeline.FOLDER.name, "seek.mcap")
        recording = Gst.parse_launch(f"{SOURCE} num-buffers=40 ! mcapsink location={path}")
        recording.set_state(Gst.State.PLAYING)
        recording.get_bus().timed_pop_filtered(300 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        recording.set_state(Gst.State.NULL)
        running = Gst.parse_launch(f"rosbagsrc location={path} ! pointcloudrender name=render words=false ! "
                                   "video/x-raw,width=64,height=48,framerate=10/1 ! "
                                   "appsink name=out sync=false max-buffers=2")
        sink = running.get_by_name("out")
        running.set_state(Gst.State.PLAYING)

        def pull():
            buffer = sink.emit("try-pull-sample", 60 * Gst.SECOND).get_buffer()
            return buffer.pts, buffer.extract_dup(0, buffer.get_size())

        first = pull()
        for _ in range(5):
            pull()
        self.assertTrue(running.seek_simple(Gst.Format.TIME, Gst.SeekFlags.FLUSH, 0))
        self.assertEqual(pull(), first)
        running.set_state(Gst.State.NULL)


unittest_tap.run()
