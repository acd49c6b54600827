#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""lidarodometry against the simulation's truth, and before ndtlocalize (TAP)."""

import hashlib
import os
import subprocess
import sys
import tempfile

import gi
import numpy as np

gi.require_version("Gst", "1.0")
gi.require_version("GstPointCloud", "1.0")
from gi.repository import GLib, Gst, GstPointCloud  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

SOURCE = "lidartestsrc seed=7 rings=32 columns=512 speed=10 noise-seed=3"
ROLES = (GstPointCloud.PoseRole.ODOMETRY, GstPointCloud.PoseRole.GROUND_TRUTH)


def matrix(pose):
    p, (x, y, z, w) = pose["position"], pose["orientation"]
    m = np.eye(4)
    m[:3, :3] = [[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                 [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                 [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]
    m[:3, 3] = p
    return m


def read_pose(buffer, role):
    meta = GstPointCloud.buffer_get_pose_meta(buffer, role)
    return meta and {"position": list(meta.position), "orientation": list(meta.orientation),
                     "covariance": np.array(list(meta.covariance)).reshape(6, 6),
                     "status": meta.status, "time": meta.timestamp - buffer.pts,
                     "parent": GLib.quark_to_string(meta.parent_frame),
                     "child": GLib.quark_to_string(meta.child_frame)}


def run(pipeline, seek_at=None):
    """Of each scan its odometry, the true pose and a digest of its points; and the messages."""
    pipeline = Gst.parse_launch(pipeline + " ! appsink name=sink sync=false max-buffers=4")
    started = pipeline.set_state(Gst.State.PLAYING) != Gst.StateChangeReturn.FAILURE
    sink = pipeline.get_by_name("sink")
    scans, messages, stats = [], [], None
    while started and (sample := sink.emit("pull-sample")):
        buffer = sample.get_buffer()
        ok, view = buffer.map(Gst.MapFlags.READ)
        digest = hashlib.sha256(view.data).hexdigest()
        buffer.unmap(view)
        scans.append([*(read_pose(buffer, role) for role in ROLES), digest])
        del sample, buffer
    element = pipeline.get_by_name("odometry")
    if element:
        stats = element.get_property("stats").to_string()
    while message := pipeline.get_bus().pop():
        if message.type == Gst.MessageType.ERROR:
            pipeline.set_state(Gst.State.NULL)
            raise AssertionError(message.parse_error())
        if message.get_structure():
            messages.append(message.get_structure().copy())
    pipeline.set_state(Gst.State.NULL)
    return scans, messages, stats


def distances(scans, sensor_in_body=np.eye(4)):
    """Metres from the true pose, both counted from the first scan."""
    body = [matrix(t) @ np.linalg.inv(sensor_in_body) for _, t, _ in scans]
    first = np.linalg.inv(body[0]) if len(body) else None
    return np.array([np.linalg.norm((first @ b)[:3, 3] - matrix(o)[:3, 3])
                     for b, (o, _, _) in zip(body, scans)])


def still(_):
    """Scans of one instant: the pose is of the PTS."""
    scans, _, stats = run(f"{SOURCE} num-buffers=80 ! lidarodometry name=odometry")
    off = distances(scans)
    print(f"# {len(scans)} scans, off by {off.max():.3f} m at most; {stats}")
    assert len(scans) == 80 and off.max() <= 0.1, off
    first, last = scans[0][0], scans[-1][0]
    assert first["position"] == [0, 0, 0] and first["orientation"] == [0, 0, 0, 1]
    assert (last["parent"], last["child"]) == ("odom", "lidar")
    assert all(o["time"] == 0 for o, _, _ in scans)
    assert all(o["status"] == GstPointCloud.PoseStatus.TRACKING for o, _, _ in scans)
    sigma = np.sqrt(np.trace(last["covariance"][:3, :3]))
    assert off[-1] / 3 <= sigma <= 1, sigma
    assert np.all(np.linalg.eigvalsh(last["covariance"]) > 0)
    assert "scans=(guint64)80" in stats and "started=(guint64)1" in stats


def moving(_):
    """Scans with their motion: the pose is of their end, and the points leave as they came."""
    source = f"{SOURCE} motion-distortion=true num-buffers=80"
    scans, _, _ = run(f"{source} ! lidarodometry")
    plain, _, _ = run(source)
    off = distances(scans)
    wrong = distances(run(f"{source} ! lidarodometry deskew=false")[0])
    print(f"# off by {off.max():.3f} m at most, not compensated {wrong.max():.3f} m")
    # The first scan's velocity is known by the second one's, to some decimetres a second.
    assert off[:3].max() <= 0.2 and off.max() <= 0.2, off
    assert off[3:].std() <= 0.03, off
    assert wrong[3:].std() > 2 * off[3:].std(), wrong
    assert all(o["time"] == 100000000 for o, _, _ in scans)
    assert [d for _, _, d in scans] == [d for _, _, d in plain]


def mounted(_):
    """Poses are those of the body that carries the sensor."""
    scans, _, _ = run(f"{SOURCE} num-buffers=40 ! lidarodometry sensor-pose=1.2,0.3,1.6,0,0,90")
    mount = np.eye(4)
    mount[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    mount[:3, 3] = [1.2, 0.3, 1.6]
    off = distances(scans, mount)
    assert off.max() <= 0.1, off
    assert scans[-1][0]["child"] == "base_link"


def localized(work):
    """ndtlocalize predicts by it, and finds its way through a gap of its own map."""
    _, messages, _ = run(f"{SOURCE} num-buffers=40 ! lidarodometry ! ndtlocalize "
                         f"map-location={work}/map.pcd initial-pose=0,0,1.8 post-messages=true")
    poses = [m for m in messages if m.get_name() == "ndt-pose"]
    predictions = [m.get_string("prediction") for m in poses]
    assert len(poses) == 40 and predictions[1:] == ["odometry"] * 39, predictions
    assert all(m.get_string("status") == "tracking" for m in poses)


def replaced(_):
    """Odometry that scans bring makes room."""
    scans, _, _ = run(f"{SOURCE} num-buffers=20 odometry=true odometry-translation-noise=0.2 "
                      "! lidarodometry odometry-frame=by_lidar")
    assert distances(scans).max() <= 0.1
    assert scans[-1][0]["parent"] == "by_lidar"


def refused(_):
    """Settings that contradict each other."""
    try:
        run(f"{SOURCE} num-buffers=2 ! lidarodometry min-range=50 max-range=40")
    except AssertionError as error:
        assert "ranges" in str(error), error
    else:
        raise AssertionError("started")


def main():
    Gst.init(None)
    checks = (still, moving, mounted, localized, replaced, refused)
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([os.environ["NDT_MAP"], "simulate", "--seed=7", f"{work}/map.pcd"], check=True,
                       stdout=subprocess.DEVNULL)
        return tap.run(checks, work)


if __name__ == "__main__":
    sys.exit(main())
