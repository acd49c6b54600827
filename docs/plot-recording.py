#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Draws a recording from above with nothing of ours: rosbags reads it, matplotlib draws.

usage: plot-recording.py FILE.mcap PICTURE.png

Each scan lies where its pose in /points/pose puts it. pip install rosbags matplotlib
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rosbags.highlevel import AnyReader

recording, picture = sys.argv[1:]
poses, scans = {}, {}
with AnyReader([Path(recording)]) as reader:
    for connection, time, raw in reader.messages():
        if connection.topic == "/points/pose":
            poses[time] = reader.deserialize(raw, connection.msgtype).pose.pose
        elif connection.topic == "/points":
            scans[time] = reader.deserialize(raw, connection.msgtype)

points = []
for time, scan in list(scans.items())[::5]:
    p, q = poses[time].position, poses[time].orientation
    axis, w = np.array([q.x, q.y, q.z]), q.w
    v = np.frombuffer(scan.data, np.float32).reshape(-1, scan.point_step // 4)[::3, :3]
    v = v[np.linalg.norm(v, axis=1) < 60].astype(float)
    points.append(v + 2 * np.cross(axis, np.cross(axis, v) + w * v) + [p.x, p.y, p.z])
points = np.concatenate(points)
path = np.array([[p.position.x, p.position.y] for p in poses.values()])

figure, axes = plt.subplots(figsize=(9, 6), dpi=110)
drawn = axes.scatter(*points[:, :2].T, c=points[:, 2], s=0.05, cmap="viridis", vmin=0, vmax=6)
axes.plot(*path.T, color="red", linewidth=1.5, label=f"{len(path)} poses of /points/pose")
axes.set(aspect="equal", xlabel="x in map, m", ylabel="y in map, m",
         title=f"{Path(recording).name}: /points by its poses")
axes.legend(loc="upper right")
figure.colorbar(drawn, label="height, m")
figure.savefig(picture, bbox_inches="tight")
