#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A recording application: the Python sibling of record-app.c.

usage: record_app.py MAP INITIAL_POSE FOLDER SOURCE
       record_app.py town.pcd 0,0,1.8 day1 "lidartestsrc num-buffers=100"

SOURCE is written as for gst-launch-1.0, with scans of any layout. FOLDER gets velodyne/000000.bin ...
(x, y, z, intensity as floats), times.txt (seconds) and poses.csv (every scan: time, status, position, quaternion, scores). Ctrl-C
ends the recording in good order. The exit status is 1 after an error.
"""

import os
import signal
import sys

import gi
import numpy as np

gi.require_version("Gst", "1.0")
gi.require_version("GstPointCloud", "1.0")
from gi.repository import GLib, Gst, GstPointCloud  # noqa: E402

COLUMNS = "time,status,x,y,z,qx,qy,qz,qw,transformation_probability,nvtl,matched_ratio\n"


class Recorder:
    def __init__(self, map_location, initial_pose, folder, source):
        os.makedirs(os.path.join(folder, "velodyne"), exist_ok=True)
        self.times = open(os.path.join(folder, "times.txt"), "w", encoding="ascii")
        self.poses = open(os.path.join(folder, "poses.csv"), "w", encoding="ascii")
        self.poses.write(COLUMNS)
        self.n_scans = self.n_localized = 0
        self.failed = False
        self.loop = GLib.MainLoop()
        self.pipeline = Gst.parse_launch(
            f"{source} ! queue max-size-buffers=64 max-size-bytes=0 max-size-time=0 ! "
            "ndtlocalize name=localizer ! fakesink")
        self.scans = os.path.join(folder, "velodyne")
        localizer = self.pipeline.get_by_name("localizer")
        localizer.set_property("map-location", map_location)
        Gst.util_set_object_arg(localizer, "initial-pose", initial_pose)
        localizer.set_property("post-messages", True)
        localizer.get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, self.on_scan)
        self.bus = self.pipeline.get_bus()
        self.bus.add_signal_watch()
        self.bus.connect("message", self.on_message)

    def write_scan(self, pad, buffer):
        """The points with coordinates, four floats each, whatever the layout is."""
        info = GstPointCloud.PointCloudInfo.new_from_caps(pad.get_current_caps())
        xyz = GstPointCloud.point_cloud_buffer_get_xyz(buffer, info)
        points = np.zeros((len(xyz.get_data()) // 24, 4), "<f4")
        points[:, :3] = np.frombuffer(xyz.get_data()).reshape(-1, 3)
        if info.find_field("intensity"):
            values = GstPointCloud.point_cloud_buffer_get_values(buffer, info, "intensity")
            points[:, 3] = np.frombuffer(values.get_data())
        points[np.isfinite(points[:, :3]).all(axis=1)].tofile(
            os.path.join(self.scans, f"{self.n_scans:06d}.bin"))

    def on_scan(self, pad, info):
        """Streaming thread: each scan, with what ndtlocalize found, on its way to the files."""
        buffer = info.get_buffer()
        try:
            self.write_scan(pad, buffer)
        except (GLib.Error, OSError) as problem:
            print(f"a scan could not be written: {problem}", file=sys.stderr)
            self.failed = True
            GLib.idle_add(self.loop.quit)
            return Gst.PadProbeReturn.OK
        seconds = f"{buffer.pts / Gst.SECOND:.9f}"
        self.n_scans += 1
        self.times.write(seconds + "\n")
        pose = GstPointCloud.buffer_get_pose_meta(buffer, GstPointCloud.PoseRole.ESTIMATE)
        if pose is not None:
            self.n_localized += pose.status == GstPointCloud.PoseStatus.TRACKING
            numbers = [*pose.position, *pose.orientation] if pose.has_pose else [""] * 7
            numbers += [pose.transformation_probability, pose.nvtl, pose.matched_ratio]
            line = [seconds, pose.status.value_nick] + [str(n) for n in numbers]
            self.poses.write(",".join(line) + "\n")
        return Gst.PadProbeReturn.OK

    def on_message(self, _bus, message):
        """Main thread."""
        if message.type == Gst.MessageType.ERROR:
            error, debug = message.parse_error()
            print(f"{message.src.get_name()}: {error.message}\n{debug}", file=sys.stderr)
            self.failed = True
            self.loop.quit()
        elif message.type == Gst.MessageType.WARNING:
            print(f"{message.src.get_name()}: {message.parse_warning()[0].message}",
                  file=sys.stderr)
        elif message.type == Gst.MessageType.ELEMENT:
            self.on_localizer_message(message.get_structure())
        elif message.type == Gst.MessageType.EOS:
            self.loop.quit()

    @staticmethod
    def on_localizer_message(message):
        """ndtlocalize tells by the bus where it is and when it gets lost and found."""
        if message.has_name("ndt-state"):
            print(message.get_string("state"))
        elif message.has_name("ndt-pose") and message.has_field("position"):
            sequence = message.get_value("sequence")
            if sequence % 10 == 0:
                _found, array = message.get_array("position")
                x, y, z = (array.get_nth(i) for i in range(3))
                print(f"scan {sequence}: {x:.2f} {y:.2f} {z:.2f} m")

    def run(self):
        # Scans under way are still written; the bus tells when they are.
        GLib.unix_signal_add(GLib.PRIORITY_DEFAULT, signal.SIGINT,
                             lambda: self.pipeline.send_event(Gst.Event.new_eos()))
        self.pipeline.set_state(Gst.State.PLAYING)  # a failure comes by the bus
        self.loop.run()
        self.pipeline.set_state(Gst.State.NULL)
        self.bus.remove_signal_watch()
        self.times.close()
        self.poses.close()
        print(f"{self.n_scans} scans, {self.n_localized} localized")
        return 1 if self.failed else 0


if __name__ == "__main__":
    Gst.init(None)
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    try:
        sys.exit(Recorder(*sys.argv[1:]).run())
    except (GLib.Error, OSError) as problem:
        sys.exit(f"{sys.argv[0]}: {problem}")
