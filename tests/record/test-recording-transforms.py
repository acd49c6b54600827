#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Trees of frames in recordings: each frame has one parent, and what is composed from transforms is
the pose that was recorded; paths (TAP)."""

import math
import os
import subprocess

import unittest_tap
from recording import (CLOUD_CAPS, EPOCH, Folder, Gst, GstPointCloud, SECOND, DecoderFactory,
                       make_reader, wait)

N = 20
PERIOD = SECOND // 10


def quaternion(yaw):
    return (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))


def compose(a, b):
    """Of planar poses (x, y, yaw)."""
    c, s = math.cos(a[2]), math.sin(a[2])
    return (a[0] + c * b[0] - s * b[1], a[1] + s * b[0] + c * b[1], a[2] + b[2])


def planar(translation, rotation):
    return (translation.x, translation.y, 2 * math.atan2(rotation.z, rotation.w))


def in_odom(time):
    """Odometry at @time, seconds: a straight line, so that interpolation is exact."""
    return (8 * time, 0.5 * time, 0.3)


def in_map(time):
    """The truth: odometry drifts."""
    return compose((100 + 0.2 * time, -50, 0.1), in_odom(time))


def add_pose(buffer, role, pose, parent, timestamp):
    text = (f"pose, role=(string){role}, status=(string)tracking, parent-frame=(string){parent}, "
            f"child-frame=(string)base_link, timestamp=(guint64){timestamp}, position=(double)< "
            f"{pose[0]!r}, {pose[1]!r}, 0.0 >, orientation=(double)< "
            + ", ".join(repr(q) for q in quaternion(pose[2])) + " >")
    structure, _ = Gst.Structure.from_string(text)
    assert structure, text
    assert GstPointCloud.buffer_add_pose_meta_from_structure(buffer, structure)


class Transforms(Folder):
    def record(self, sink, odometry_rate=20, on_clouds=False):
        """Clouds with estimates of the scan's end, and odometry on a pad or on the clouds."""
        pipeline = Gst.parse_launch(
            f"appsrc name=clouds format=time caps={CLOUD_CAPS.replace(' ', '')!s} ! rec.cloud_0 "
            f"appsrc name=odometry format=time caps=pose/x-raw ! rec.pose_0 {sink}")
        clouds, poses = (pipeline.get_by_name(name) for name in ("clouds", "odometry"))
        rec = pipeline.get_by_name("rec")
        mount = Gst.Structure.new_empty("sensor-pose")
        mount.set_value("parent-frame", "base_link")
        mount.set_value("pose", GstPointCloud.PointCloudPose.new_from_string("1,0.25,2,90"))
        pipeline.set_state(Gst.State.PLAYING)
        if not on_clouds:
            for i in range(N * odometry_rate // 10 + odometry_rate):
                buffer = Gst.Buffer.new()
                buffer.pts = i * SECOND // odometry_rate
                add_pose(buffer, "odometry", in_odom(buffer.pts / SECOND), "odom", buffer.pts)
                poses.emit("push-buffer", buffer)
        poses.emit("end-of-stream")
        # Odometry is there before the estimates, as in life, where these are later.
        while not on_clouds and rec.get_static_pad("pose_0").get_sticky_event(
                Gst.EventType.EOS, 0) is None:
            pass
        clouds.get_static_pad("src").push_event(
            Gst.Event.new_stream_start("clouds"))
        clouds.get_static_pad("src").push_event(
            Gst.Event.new_custom(Gst.EventType.CUSTOM_DOWNSTREAM_STICKY, mount))
        for i in range(N):
            buffer = Gst.Buffer.new_wrapped(bytes(28))
            buffer.pts = i * PERIOD
            end = buffer.pts + PERIOD
            buffer.add_reference_timestamp_meta(
                Gst.Caps.from_string("timestamp/x-unix"), EPOCH + buffer.pts, Gst.CLOCK_TIME_NONE)
            add_pose(buffer, "estimate", in_map(end / SECOND), "map", end)
            if on_clouds:
                add_pose(buffer, "odometry", in_odom(end / SECOND), "odom", end)
            clouds.emit("push-buffer", buffer)
        clouds.emit("end-of-stream")
        try:
            wait(pipeline)
        finally:
            pipeline.set_state(Gst.State.NULL)

    def read(self, path):
        messages = {}
        with open(path, "rb") as file:
            reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
            for _, channel, message, decoded in reader.iter_decoded_messages():
                messages.setdefault(channel.topic, []).append((channel, message, decoded))
        return messages

    def transforms(self, messages, topic="/tf"):
        """(parent, child) → {stamp: planar pose}"""
        tree = {}
        for _, _, decoded in messages.get(topic, []):
            (t,) = decoded.transforms
            stamp = t.header.stamp.sec * SECOND + t.header.stamp.nanosec
            tree.setdefault((t.header.frame_id, t.child_frame_id), {})[stamp] = planar(
                t.transform.translation, t.transform.rotation)
        return tree

    def check_close(self, a, b):
        # Interpolated on a line: what doubles leave at 100 m.
        for x, y in zip(a, b):
            self.assertAlmostEqual(x, y, delta=1e-9)

    def test_map_odom(self):
        for on_clouds in (False, True):
            with self.subTest(on_clouds=on_clouds):
                path = self.path(f"{on_clouds}.mcap")
                self.record(f"mcapsink name=rec location={path} tf-mode=map-odom",
                            on_clouds=on_clouds)
                messages = self.read(path)
                tree = self.transforms(messages)
                self.assertEqual(sorted(tree), [("map", "odom"), ("odom", "base_link")])
                self.assertEqual(len(tree["map", "odom"]), N)
                for stamp, pose in tree["map", "odom"].items():
                    time = (stamp - EPOCH) / SECOND
                    self.check_close(compose(pose, in_odom(time)), in_map(time))
                for stamp, pose in tree["odom", "base_link"].items():
                    self.check_close(pose, in_odom((stamp - EPOCH) / SECOND))

    def test_sensor_pose(self):
        """ndtlocalize tells where the sensor is on the body."""
        world, path = self.path("map.pcd"), self.path("a.mcap")
        subprocess.run([os.environ["NDT_MAP"], "simulate", world], check=True,
                       stdout=subprocess.DEVNULL)
        pipeline = Gst.parse_launch(
            f"lidartestsrc num-buffers=3 ! ndtlocalize map-location={world} "
            "initial-pose=0,0,0 sensor-pose=0,0,1.8 body-frame=car "
            f"! mcapsink location={path}")
        pipeline.set_state(Gst.State.PLAYING)
        wait(pipeline)
        pipeline.set_state(Gst.State.NULL)
        messages = self.read(path)
        tree = self.transforms(messages, "/tf_static")
        ((frames, poses),) = tree.items()
        self.assertEqual(frames, ("car", messages["/points"][0][2].header.frame_id))
        self.assertEqual(len(poses), 1)
        self.assertEqual([child for _, child in self.transforms(messages)], ["car"])

    def test_two_parents(self):
        """Transforms of a recording that passes through, and an estimate of the same frame."""
        first, path = self.path("first.mcap"), self.path("a.mcap")
        self.record(f"mcapsink name=rec location={first} tf-role=odometry", on_clouds=True)
        for mode, expected in (("pose", True), ("map-odom", False)):
            pipeline = Gst.parse_launch(
                f"rosbagsrc name=bag location={first} mcapsink name=rec location={path} "
                f"tf-mode={mode} overwrite=true")
            bag, rec = pipeline.get_by_name("bag"), pipeline.get_by_name("rec")

            def link(_, pad):
                kind = {"cloud": "cloud_%u", "pose": "pose_%u"}.get(
                    pad.name.split("_")[0], "data_%u")
                assert pad.link(rec.request_pad_simple(kind)) == Gst.PadLinkReturn.OK

            bag.connect("pad-added", link)
            pipeline.set_state(Gst.State.PLAYING)
            warnings = []
            while True:
                message = pipeline.get_bus().timed_pop_filtered(
                    60 * SECOND,
                    Gst.MessageType.WARNING | Gst.MessageType.ERROR | Gst.MessageType.EOS)
                self.assertNotIn(message.type, (None, Gst.MessageType.ERROR))
                if message.type == Gst.MessageType.EOS:
                    break
                warnings.append(message.parse_warning()[0].message)
            pipeline.set_state(Gst.State.NULL)
            self.assertEqual(any("base_link has two parents" in w for w in warnings), expected,
                             warnings)

    def test_no_odometry(self):
        """That nothing is made of estimates is said."""
        path = self.path("a.mcap")
        pipeline = Gst.parse_launch(
            f"lidartestsrc num-buffers=20 rings=16 columns=64 ! mcapsink location={path} "
            "tf-mode=map-odom tf-role=ground-truth")
        pipeline.set_state(Gst.State.PLAYING)
        message = wait(pipeline, Gst.MessageType.WARNING | Gst.MessageType.ERROR)
        self.assertIn("tf-mode=pose", message.parse_warning()[0].message)
        wait(pipeline)
        pipeline.set_state(Gst.State.NULL)
        self.assertNotIn("/tf", self.read(path))

    def test_pose(self):
        """Without it the estimate alone, with its own instant."""
        path = self.path("a.mcap")
        self.record(f"mcapsink name=rec location={path}")
        tree = self.transforms(self.read(path))
        self.assertEqual(list(tree), [("map", "base_link")])
        self.assertEqual(sorted(tree["map", "base_link"]),
                         [EPOCH + (i + 1) * PERIOD for i in range(N)])

    def test_mount(self):
        """In each file, once, and latched where rosbag2 plays it."""
        pattern = self.path("%d.mcap")
        self.record(f"mcapsink name=rec location={pattern} max-size-time={SECOND}", on_clouds=True)
        for i in range(2):
            messages = self.read(self.path(f"{i}.mcap"))
            ((channel, _, decoded),) = messages["/tf_static"]
            (t,) = decoded.transforms
            self.assertEqual((t.header.frame_id, t.child_frame_id), ("base_link", "top"))
            self.assertEqual([getattr(t.transform.translation, k) for k in "xyz"], [1, 0.25, 2])
            self.check_close(planar(t.transform.translation, t.transform.rotation),
                             (1, 0.25, math.pi / 2))
            self.assertIn("durability: 1\n", channel.metadata["offered_qos_profiles"])

    def test_topics(self):
        path = self.path("a.mcap")
        self.record(f"mcapsink name=rec location={path} cloud_0::path-topic=/path "
                    "cloud_0::odometry-topic=/kinematic_state tf-topic=\"\"")
        messages = self.read(path)
        self.assertNotIn("/tf", messages)
        self.assertNotIn("/tf_static", messages)
        self.assertEqual(len(messages["/kinematic_state"]), N)
        ((_, message, decoded),) = messages["/path"]
        self.assertEqual(message.log_time, messages["/points"][0][1].log_time)
        self.assertEqual(decoded.header.frame_id, "map")
        self.assertEqual(len(decoded.poses), N)
        for i, pose in enumerate(decoded.poses):
            self.assertEqual(pose.header.stamp.sec * SECOND + pose.header.stamp.nanosec,
                             EPOCH + (i + 1) * PERIOD)
            self.check_close(planar(pose.pose.position, pose.pose.orientation),
                             in_map((i + 1) * PERIOD / SECOND))
        # The velocity of the drive, in the body's frame: that of the map's is turned.
        twist = messages["/kinematic_state"][5][2].twist.twist
        speed = math.hypot(8, 0.5)
        self.assertAlmostEqual(math.hypot(twist.linear.x, twist.linear.y), speed, delta=0.25)

    def test_options_off(self):
        path = self.path("a.mcap")
        self.record(f"mcapsink name=rec location={path} cloud_0::odometry-topic=\"\"")
        self.assertEqual(sorted(self.read(path)), ["/diagnostics", "/points", "/points/pose",
                                                   "/pose/odometry", "/tf", "/tf_static"])


if __name__ == "__main__":
    unittest_tap.run()
