#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""pointcloudview as a server of Foxglove's WebSocket protocol (TAP): messages decoded by Python's
mcap-ros2-support from the schemas that it advertises.

usage: test-foxglove.py NDT_MAP
"""

import json
import os
import struct
import sys
import unittest

import pipeline
import numpy as np
import websockets.sync.client as ws
from mcap.records import Schema
from mcap_ros2.decoder import DecoderFactory

import unittest_tap

PROTOCOLS = ("foxglove.sdk.v1", "foxglove.websocket.v1")


class Client:
    """A client that knows the channels, and decodes what it gets."""

    def __init__(self, url, protocol=PROTOCOLS[0]):
        self.socket = ws.connect(url, subprotocols=[protocol], max_size=None).__enter__()
        assert self.socket.subprotocol == protocol
        self.info = json.loads(self.socket.recv(30))
        advertise = json.loads(self.socket.recv(30))
        assert advertise["op"] == "advertise"
        self.channels = {c["topic"]: c for c in advertise["channels"]}
        self.decoders = {}

    def send(self, **message):
        self.socket.send(json.dumps(message))

    def subscribe(self, *topics):
        """Subscriptions have the number of their channel and 100."""
        self.send(op="subscribe", subscriptions=[
            {"id": 100 + self.channels[t]["id"], "channelId": self.channels[t]["id"]} for t in topics])

    def receive(self):
        """(topic, time in ns, message), or (None, None, a text's object); "" is the topic of a
        subscription that subscribe() did not make."""
        data = self.socket.recv(300)  # a slow machine, with sanitizers
        if isinstance(data, str):
            return None, None, json.loads(data)
        op, number, time = struct.unpack_from("<BIQ", data)
        assert op == 1
        channel = next((c for c in self.channels.values() if c["id"] == number - 100), None)
        if channel is None:
            return "", time, None
        if number not in self.decoders:
            schema = Schema(id=1, name=channel["schemaName"], encoding=channel["schemaEncoding"],
                            data=channel["schema"].encode())
            self.decoders[number] = DecoderFactory().decoder_for(channel["encoding"], schema)
        return channel["topic"], time, self.decoders[number](data[13:])

    def wait(self, topic):
        while True:
            got, time, message = self.receive()
            if got == topic:
                return time, message

    def status(self):
        while True:
            topic, _, message = self.receive()
            if topic is None and message["op"] == "status":
                return message

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.socket.close()


def cdr_pose(x, y, z, yaw, frame=b"map\0"):
    """A PoseWithCovarianceStamped."""
    head = struct.pack("<iII", 0, 0, len(frame)) + frame
    head += b"\0" * (-len(head) % 8)
    return b"\0\1\0\0" + head + struct.pack("<7d36d", x, y, z, 0, 0, np.sin(yaw / 2), np.cos(yaw / 2),
                                            *[0.0] * 36)


class Foxglove(unittest.TestCase):
    def test_every_channel_is_decoded(self):
        """Both versions: the info, the channels, and a message of each that fits the others."""
        for protocol in PROTOCOLS:
            with pipeline.Pipeline() as running, Client(running.socket_url, protocol) as client:
                self.assertEqual(client.info["op"], "serverInfo")
                self.assertIn("clientPublish", client.info["capabilities"])
                self.assertEqual(set(client.channels), {"/points", "/map", "/points/pose", "/tf", "/diagnostics"})
                client.subscribe(*client.channels)
                seen = {}
                while len(seen) < 5:
                    topic, time, message = client.receive()
                    if topic:
                        seen[topic] = time, message
                _, points = seen["/points"]
                self.assertEqual([f.name for f in points.fields], ["x", "y", "z", "intensity"])
                self.assertEqual(len(points.data), points.width * points.point_step)
                xyz = np.frombuffer(bytes(points.data), "<f4").reshape(-1, 4)[:, :3]
                self.assertTrue(np.isfinite(xyz).all() and len(xyz) > 500)
                self.assertEqual(points.header.frame_id, seen["/tf"][1].transforms[0].child_frame_id)
                self.assertEqual(seen["/tf"][1].transforms[0].header.frame_id, "map")
                pose = seen["/points/pose"][1]
                self.assertEqual(pose.header.frame_id, "map")
                self.assertLess(np.hypot(pose.pose.pose.position.z - 1.8, 0), 0.2)
                self.assertTrue(seen["/diagnostics"][1].status[0].values)
                self.check_map(seen["/map"][1])

    def check_map(self, message):
        xyz = np.frombuffer(bytes(message.data), "<f8").reshape(-1, 3)
        self.assertEqual((message.header.frame_id, len(xyz)), ("map", message.width * message.height))
        known = pipeline.map_points()
        self.assertTrue((xyz.min(axis=0) >= known.min(axis=0) - 1e-3).all())
        self.assertTrue((xyz.max(axis=0) <= known.max(axis=0) + 1e-3).all())
        self.assertGreater(len(xyz), 1000)

    def test_points_lie_in_the_map(self):
        """Points placed by the pose that is sent beside them lie in the map: the same frames."""
        with pipeline.Pipeline() as running, Client(running.socket_url) as client:
            client.subscribe("/points", "/points/pose")
            pairs = {}
            while not any(len(pair) == 2 for pair in pairs.values()):
                topic, time, message = client.receive()
                if topic:
                    pairs.setdefault((message.header.stamp.sec, message.header.stamp.nanosec), {})[topic] = message
            pair = next(pair for pair in pairs.values() if len(pair) == 2)
            xyz = np.frombuffer(bytes(pair["/points"].data), "<f4").reshape(-1, 4)[:, :3]
            q, p = pair["/points/pose"].pose.pose.orientation, pair["/points/pose"].pose.pose.position
            x, y, z, w = q.x, q.y, q.z, q.w
            rotation = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                                 [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                                 [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
            placed = xyz @ rotation.T + [p.x, p.y, p.z]
            cells = {tuple(c) for c in np.floor(pipeline.map_points() / 0.5).astype(int)}
            near = [any((i + a, j + b, k + c) in cells for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1))
                    for i, j, k in np.floor(placed[::7] / 0.5).astype(int)]
            # All but those of moving objects, which no map has.
            self.assertGreater(np.mean(near), 0.9)

    def test_late_client_gets_the_map(self):
        """The map is latched: who subscribes late gets it, once; of scans the next."""
        with pipeline.Pipeline() as running:
            with Client(running.socket_url) as first:
                first.subscribe("/map")
                first.wait("/map")
            with Client(running.socket_url) as late:
                late.subscribe("/map", "/points")
                topics = []
                while topics.count("/points") < 5:
                    topics.append(late.receive()[0])
                self.assertEqual(topics.count("/map"), 1)
                late.send(op="unsubscribe", subscriptionIds=[100 + late.channels["/points"]["id"]])
                late.send(op="nonsense")
                self.assertIn("no such operation", late.status()["message"])
                with self.assertRaises(TimeoutError):
                    late.socket.recv(2)

    def test_initial_pose(self):
        """/initialpose is taken if allowed, and what cannot be taken is refused with a sentence."""
        for allow, level, words in (("true", 0, "is used"), ("false", 2, "allow-control=true")):
            with pipeline.Pipeline(f"allow-control={allow}") as running, Client(running.socket_url) as client:
                client.send(op="advertise", channels=[
                    {"id": 7, "topic": "/initialpose", "encoding": "cdr",
                     "schemaName": "geometry_msgs/msg/PoseWithCovarianceStamped"},
                    {"id": 8, "topic": "/goal", "encoding": "cdr", "schemaName": "x"}])
                client.socket.send(struct.pack("<BI", 1, 7) + cdr_pose(0.2, 0.1, 1.8, 0.05))
                answer = client.status()
                self.assertEqual(answer["level"], level, answer)
                self.assertIn(words, answer["message"])
                for payload in (struct.pack("<BI", 1, 7) + b"\0\1\0\0short", struct.pack("<BI", 1, 8) + cdr_pose(0, 0, 0, 0),
                                struct.pack("<BI", 1, 9), b"\2", struct.pack("<BI", 1, 7) + cdr_pose(float("nan"), 0, 0, 0)):
                    client.socket.send(payload)
                    self.assertEqual(client.status()["level"], 2, payload[:8])

    def test_what_cannot_be_done_is_said(self):
        """Texts that are wrong have an answer, and the connection goes on."""
        with pipeline.Pipeline() as running, Client(running.socket_url) as client:
            for text in ("[]", "{", '{"op": 1}', '{"op": "subscribe"}', '{"op": "subscribe", "subscriptions": [1]}',
                         '{"op": "subscribe", "subscriptions": [{"id": 1, "channelId": 99}]}',
                         '{"op": "subscribe", "subscriptions": [{"id": -1, "channelId": 1}]}',
                         '{"op": "advertise", "channels": [{}]}', '{"op": "unsubscribe", "subscriptionIds": [{}]}',
                         json.dumps({"op": "subscribe", "subscriptions": [{"id": i, "channelId": 1} for i in range(200)]}),
                         '{"op": "getParameters", "parameterNames": []}', "[" * 60000):
                client.socket.send(text)
                self.assertEqual(client.status()["level"], 2, text[:60])
            # Of 200 subscriptions it has as many as one may have, and gets its messages.
            self.assertEqual(struct.unpack_from("<B", client.socket.recv(60))[0], 1)
            with Client(running.socket_url) as other:
                other.subscribe("/points")
                other.wait("/points")


unittest_tap.run()
