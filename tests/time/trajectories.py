# SPDX-License-Identifier: MIT
"""What others read of our outputs: evo of TUM files and of recordings, rosbags of transforms and
points. Times are s since 1970 or since the start of the stream, as they stand there."""

import copy

import numpy as np
import rosbags.rosbag2
from evo.core import metrics, trajectory
from evo.tools import file_interface
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation, Slerp


def read_tum(path):
    return file_interface.read_tum_trajectory_file(path)


def read_poses(path, topic="/points/pose"):
    """Of a recording, by header stamp."""
    with rosbags.rosbag2.Reader(path) as reader:
        return file_interface.read_bag_trajectory(reader, topic)




def mean_error(poses, truth, base):
    """Mean and largest distance to the truth by the poses' own times, by evo; @base: the time at which
    the drive starts."""
    times = poses.timestamps - base
    true = trajectory.PoseTrajectory3D(
        positions_xyz=truth.position(times),
        orientations_quat_wxyz=np.roll(truth.quaternions(times), 1, axis=1),
        timestamps=poses.timestamps)
    ape = metrics.APE(metrics.PoseRelation.translation_part)
    ape.process_data((true, copy.deepcopy(poses)))
    return ape.get_statistic(metrics.StatisticsType.mean), \
        ape.get_statistic(metrics.StatisticsType.max)


def best_offset(poses, truth, base):
    """Seconds that the poses' times are late, by the least squares of the distances."""
    offset = 0.0
    for _ in range(5):
        times = poses.timestamps - base - offset
        off = poses.positions_xyz - truth.position(times)
        velocity = truth.velocity(times)
        offset -= np.sum(off * velocity) / np.sum(velocity * velocity)
    return offset


def seconds(stamp):
    return stamp.sec + stamp.nanosec * 1e-9


POINT_TYPES = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 8: "<f8"}


def points_of(cloud):
    """Of sensor_msgs/PointCloud2: positions n × 3, and seconds since the stamp (0 without a field)."""
    dtype = np.dtype({"names": [f.name for f in cloud.fields],
                      "formats": [POINT_TYPES[f.datatype] for f in cloud.fields],
                      "offsets": [f.offset for f in cloud.fields], "itemsize": cloud.point_step})
    data = np.frombuffer(cloud.data.tobytes(), dtype)
    xyz = np.stack([data[c] for c in "xyz"], axis=1).astype(float)
    time = data["time"].astype(float) if "time" in dtype.names else np.zeros(len(xyz))
    good = np.isfinite(xyz).all(axis=1)
    return xyz[good], time[good]


def placed_points(paths, n_scans=10, n_points=400):
    """Points of some clouds of a recording in the map, each by TF at the cloud's header stamp plus the
    point's time; interpolated between transforms as tf2 does, and never beyond them."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    transforms, clouds = [], []
    with AnyReader(paths, default_typestore=store) as reader:
        for connection, _, raw in reader.messages():
            if connection.topic == "/tf":
                for t in reader.deserialize(raw, connection.msgtype).transforms:
                    if t.child_frame_id == "lidar":
                        p, q = t.transform.translation, t.transform.rotation
                        transforms.append((seconds(t.header.stamp), p.x, p.y, p.z, q.x, q.y, q.z,
                                           q.w))
            elif connection.msgtype == "sensor_msgs/msg/PointCloud2":
                clouds.append(reader.deserialize(raw, connection.msgtype))
    tf = np.array(sorted(transforms))
    slerp = Slerp(tf[:, 0], Rotation.from_quat(tf[:, 4:]))
    out, rand = [], np.random.default_rng(1)
    # The first scans have to tell their velocity themselves.
    for cloud in clouds[2:-2:max(1, (len(clouds) - 4) // n_scans)]:
        xyz, time = points_of(cloud)
        some = rand.choice(len(xyz), min(n_points, len(xyz)), replace=False)
        at = seconds(cloud.header.stamp) + time[some]
        inside = (at >= tf[0, 0]) & (at <= tf[-1, 0])
        at, xyz = at[inside], xyz[some][inside]
        where = np.stack([np.interp(at, tf[:, 0], tf[:, i]) for i in (1, 2, 3)], axis=1)
        out.append(slerp(at).apply(xyz) + where)
    return np.concatenate(out)
