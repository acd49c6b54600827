# SPDX-License-Identifier: MIT
"""A headless Chromium that a test drives by the DevTools protocol."""

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time

import websockets.sync.client


def find():
    """Path of the browser, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Page:
    """One page of a browser of its own."""

    def __init__(self, url, width=900, height=700):
        self.folder = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        # Root has no sandbox, and no machine of tests has a GPU.
        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--use-angle=swiftshader",
             "--enable-unsafe-swiftshader", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-port=0", f"--user-data-dir={self.folder.name}",
             f"--window-size={width},{height}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            # What GLib warns of in there is not ours, nor what a sanitizer that is preloaded finds.
            env={k: v for k, v in os.environ.items() if k not in ("G_DEBUG", "LD_PRELOAD")})
        port_file = os.path.join(self.folder.name, "DevToolsActivePort")
        wait(lambda: os.path.exists(port_file) and open(port_file, encoding="utf-8").read().count("\n") > 0)
        port, path = open(port_file, encoding="utf-8").read().split("\n")[:2]
        self.numbers = itertools.count(1)
        self.socket = websockets.sync.client.connect(f"ws://127.0.0.1:{port}{path}", max_size=None)
        target = self.call("Target.createTarget", url=url)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv(timeout=60))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def data(self, name):
        """What the page says of itself in an attribute of its body."""
        return self.evaluate(f"document.body?.dataset.{name} || ''")

    def picture(self):
        """PNG of the page."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def drag(self, start, end):
        for kind, (x, y), buttons in (("mousePressed", start, 1), ("mouseMoved", end, 1),
                                      ("mouseReleased", end, 0)):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                      buttons=buttons, clickCount=1)

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(30)
        self.folder.cleanup()


def wait(condition, seconds=120):
    """As long as a slow machine with other work may need."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError("it did not come")
