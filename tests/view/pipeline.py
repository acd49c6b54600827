# SPDX-License-Identifier: MIT
"""A pipeline that ends in pointcloudview, for the tests here; the last argument is ndt-map."""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "record"))
try:
    import gi

    gi.require_version("Gst", "1.0")
    from gi.repository import Gst
    import numpy as np
    import websockets
except (ImportError, ValueError) as error:
    # What a test needs is there where CI runs it.
    if os.environ.get("CI"):
        print(f"1..1\nnot ok 1 {error}")
        sys.exit(1)
    print(f"1..0 # SKIP {error}")
    sys.exit(0)

NDT_MAP = sys.argv.pop(1)
Gst.init(None)
FOLDER = tempfile.TemporaryDirectory(prefix="view-")
MAP = os.path.join(FOLDER.name, "hall.pcd")
subprocess.run([NDT_MAP, "simulate", "--world=hall", MAP], check=True, stdout=subprocess.DEVNULL)


def map_points():
    """Points of the map, which ndt-map simulate writes as binary floats."""
    with open(MAP, "rb") as file:
        return np.frombuffer(file.read().split(b"DATA binary\n", 1)[1], "<f4").reshape(-1, 3)


class Pipeline:
    """A pipeline that ends in pointcloudview name=view."""

    def __init__(self, view="", source="world=hall rings=32 is-live=true",
                 middle=f"ndtlocalize map-location={MAP} initial-pose=0,0,1.8"):
        self.pipeline = Gst.parse_launch(
            f"lidartestsrc name=source {source} ! {middle} ! pointcloudview name=view port=0 {view}")
        self.view = self.pipeline.get_by_name("view")
        assert self.pipeline.set_state(Gst.State.PLAYING) != Gst.StateChangeReturn.FAILURE
        self.pipeline.get_state(60 * Gst.SECOND)
        self.url = self.view.get_property("url")
        self.socket_url = self.url.replace("http://", "ws://")

    def stats(self, name):
        return self.view.get_property("stats").get_value(name)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        error = self.pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
        self.pipeline.set_state(Gst.State.NULL)
        assert error is None, error.parse_error()
