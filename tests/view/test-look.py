#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What other programs show (TAP): Foxglove's layout by its SDK, the blueprint and a recording by Rerun's
command line, trajectories by evo, and the README's way from nothing to a picture in the browser.

usage: test-look.py NDT_MAP
"""

import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import typing
import unittest
import urllib.request

import pipeline
import foxglove.layouts as layouts
from mcap.reader import make_reader

import browser
import unittest_tap
from pipeline import Gst, MAP

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Programs of the Python that runs this.
PROGRAMS = os.path.dirname(sys.executable)
FOLDER = tempfile.TemporaryDirectory(prefix="look-")


def path(name):
    return os.path.join(FOLDER.name, name)


def run(*command):
    """Output of a program of the Python packages, that ends well."""
    program = os.path.join(PROGRAMS, command[0])
    done = subprocess.run([program, *command[1:]], cwd=FOLDER.name, capture_output=True, text=True, timeout=300,
                          env={**{k: v for k, v in os.environ.items() if k != "LD_PRELOAD"},  # a sanitizer's
                               "HOME": FOLDER.name, "RERUN_ANALYTICS_DISABLED": "1"})
    assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout + done.stderr


def record():
    running = Gst.parse_launch(
        f"lidartestsrc world=hall rings=16 num-buffers=10 ! ndtlocalize map-location={MAP} initial-pose=0,0,1.8 ! "
        f"tee name=t ! queue ! mcapsink map=auto location={path('drive.mcap')} "
        f"t. ! queue ! trajectorysink location={path('poses.txt')} "
        f"t. ! queue ! trajectorysink role=ground-truth location={path('truth.txt')}")
    running.set_state(Gst.State.PLAYING)
    message = running.get_bus().timed_pop_filtered(300 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    running.set_state(Gst.State.NULL)
    assert message.type == Gst.MessageType.EOS, message.parse_error()


record()


def topics():
    with open(path("drive.mcap"), "rb") as file:
        return {channel.topic for channel in make_reader(file).get_summary().channels.values()}


def snake(name):
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def build(kind, fields):
    """An object of a class of the SDK, whose constructor refuses what it does not know."""
    return kind(**{snake(key): value for key, value in fields.items()})


def build_content(content):
    if content["type"] == "split":
        items = [layouts.SplitItem(proportion=i["proportion"], content=build_content(i["content"]))
                 for i in content["items"]]
        return layouts.SplitContainer(direction=content["direction"], items=items)
    panel = getattr(layouts, content["panelType"] + "Panel")
    config = typing.get_type_hints(panel)["config"]
    return panel(title=content["title"], config=build(config, content["config"]))


class Foxglove(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(ROOT, "pipelines", "foxglove-layout.json"), encoding="utf-8") as file:
            self.layout = json.load(file)

    def test_layout_is_one(self):
        """The SDK's classes take the layout and write the same."""
        self.assertTrue(inspect.isclass(layouts.ThreeDeePanel))
        built = layouts.Layout(content=build_content(self.layout["content"]))
        self.assertEqual(json.loads(built.to_json()), self.layout)

    def test_topics_are_ours(self):
        """What the layout shows is in a recording, and what it publishes is what pointcloudview takes."""
        text = json.dumps(self.layout)
        shown = set(re.findall(r'"(/[a-z_/]+)', text))
        self.assertIn("/initialpose", shown)
        self.assertEqual(shown - topics(), {"/initialpose"})
        keys = set(re.findall(r'key==\\"([a-z-]+)\\"', text.replace('\\\\"', '\\"')))
        self.assertEqual(keys, {"status", "reason", "nvtl", "matched-ratio"})


class Rerun(unittest.TestCase):
    def test_recording(self):
        """Rerun checks the recording, and its importer makes points and transforms of it."""
        run("rerun", "mcap", "check", path("drive.mcap"))
        run("rerun", "mcap", "convert", "--application-id", "gst-ndt", "-o", path("drive.rrd"), path("drive.mcap"))
        text = run("rerun", "rrd", "print", path("drive.rrd"))
        self.assertIn('"gst-ndt"', text)
        for entity, component in (("/map", "Points3D:positions"), ("/points", "Points3D:positions"),
                                  ("/tf", "Transform3D:translation")):
            self.assertRegex(text, rf"- {entity} - .*{component}")

    def test_blueprint(self):
        """The stored blueprint and one made anew can be loaded, for the application that the recording is of."""
        run("python3" if os.path.exists(os.path.join(PROGRAMS, "python3")) else os.path.basename(sys.executable),
            os.path.join(ROOT, "pipelines", "rerun-blueprint.py"), path("new.rbl"))
        for name in (os.path.join(ROOT, "pipelines", "rerun.rbl"), path("new.rbl")):
            self.assertIn("without error", run("rerun", "rrd", "verify", name))
            text = run("rerun", "rrd", "print", "-vvv", name)
            self.assertIn('"gst-ndt"', text)
            for entity in ("/map", "/points", "/tf", "/diagnostics", "/points/pose"):
                self.assertIn(entity, text)
                self.assertIn(entity, topics())


class Evo(unittest.TestCase):
    def test_errors(self):
        """evo reads both trajectories, and their errors are small."""
        text = run("evo_ape", "tum", path("truth.txt"), path("poses.txt"))
        self.assertLess(float(re.search(r"rmse\s+([\d.]+)", text)[1]), 0.1)


@unittest.skipUnless(browser.find() or os.environ.get("CI"), "no chromium on this machine")
class Newcomer(unittest.TestCase):
    def test_three_commands(self):
        """The README's three lines: a map, a localized stream, and the page in a browser."""
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            lines = re.search(r"^Three commands.*?^```console\n(.*?)^```$", file.read(), re.M | re.S)[1].splitlines()
        self.assertEqual(len(lines), 3)
        simulate, localize, look = lines
        self.assertRegex(localize, r" &$")
        program, url = look.split()
        self.assertEqual(program, "xdg-open")
        environment = {**os.environ, "PATH": os.path.dirname(os.environ["NDT_MAP"]) + ":" + os.environ["PATH"]}
        subprocess.run(["bash", "-e", "-c", simulate], cwd=FOLDER.name, env=environment, check=True,
                       stdout=subprocess.DEVNULL)
        # Not in the background, so that it can be ended.
        process = subprocess.Popen(["bash", "-c", "exec " + localize[:-2]], cwd=FOLDER.name, env=environment,
                                   stdout=subprocess.DEVNULL)
        try:
            def answers():
                self.assertIsNone(process.poll(), "the pipeline ended")
                try:
                    return urllib.request.urlopen(url, timeout=30).status == 200
                except OSError:
                    return False

            browser.wait(answers)
            page = browser.Page(url)
            try:
                browser.wait(lambda: page.data("status") == "tracking" and int(page.data("mapPoints") or 0) > 1000)
            finally:
                page.close()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


unittest_tap.run()
