#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What pointcloudview, pointcloudrender and mcapsink map=auto leave behind (TAP): nothing that GStreamer's
tracer of leaks knows of, and threads and files of the process only as long as they run.

usage: test-leaks.py NDT_MAP
"""

import json
import os
import re
import signal
import subprocess
import unittest

import pipeline
import websockets.sync.client as ws

import browser
import unittest_tap
from pipeline import Gst, MAP, Pipeline

SOURCE = f"lidartestsrc world=hall rings=16 columns=256 is-live=true ! ndtlocalize map-location={MAP} initial-pose=0,0,1.8"


class Leaks(unittest.TestCase):
    def test_objects(self):
        """After a stream with clients of both protocols no object is alive."""
        path = os.path.join(pipeline.FOLDER.name, "leaks.mcap")
        process = subprocess.Popen(
            ["gst-launch-1.0", "-e", *f"{SOURCE} ! tee name=t ! queue ! pointcloudview port=0 allow-control=true t. ! queue ! "
             f"pointcloudrender ! video/x-raw,width=64,height=48,framerate=25/1 ! fakesink t. ! queue ! "
             f"mcapsink map=auto location={path}".split()],
            env={**os.environ, "GST_TRACERS": "leaks", "GST_DEBUG": "GST_TRACER:7", "GST_DEBUG_NO_COLOR": "1"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            url = None
            for line in process.stdout:
                if match := re.search(r"The view is at (http://\S+)", line):
                    url = match[1].replace("http", "ws")
                    break
            self.assertIsNotNone(url)
            with ws.connect(url, subprotocols=["ndt.view.v1"], max_size=None) as page:
                n = 0
                while n < 5:
                    message = page.recv(60)
                    if not isinstance(message, str):
                        n += 1
                        page.send("ack")
                page.send('{"pose": [0, 0, 1.8, 0]}')
                while not isinstance(message, str):
                    message = page.recv(60)
                    page.send("ack")
                self.assertIn("accepted", message)
            with ws.connect(url, subprotocols=["foxglove.sdk.v1"], max_size=None) as foxglove:
                foxglove.send(json.dumps({"op": "subscribe", "subscriptions": [
                    {"id": i, "channelId": i} for i in range(1, 6)]}))
                for _ in range(10):
                    foxglove.recv(60)
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors[-2000:])
        alive = [line for line in errors.splitlines() if "object-alive, type-name=(string)" in line and "%s" not in line]
        self.assertEqual(alive, [])

    def test_threads_and_files(self):
        """Starting and stopping many times leaves the process as it was."""
        def count():
            return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

        def once():
            with Pipeline() as running, ws.connect(running.socket_url, subprotocols=["ndt.view.v1"], max_size=None) as client:
                client.recv(60)
            drawn = Gst.parse_launch(f"lidartestsrc world=hall rings=16 num-buffers=2 ! pointcloudrender map-location={MAP} "
                                     "role=ground-truth ! video/x-raw,width=64,height=48 ! fakesink")
            drawn.set_state(Gst.State.PLAYING)
            drawn.get_bus().timed_pop_filtered(60 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
            drawn.set_state(Gst.State.NULL)

        # Pools of GLib keep threads and their files for later; they are there after the first times.
        for _ in range(3):
            once()
        before = count()
        for _ in range(5):
            once()
        browser.wait(lambda: all(now <= then for now, then in zip(count(), before)))


unittest_tap.run()
