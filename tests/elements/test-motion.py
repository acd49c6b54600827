#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Motion compensation and the sensor's mount of ndtlocalize, against the simulation's truth (TAP)."""

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

# A drive at up to 20 m/s and 50 degrees a second; a scan takes 0.1 s.
SOURCE = ("lidartestsrc seed=3 rings=32 columns=512 speed=20 lateral-acceleration=4 "
          "longitudinal-acceleration=3")


def matrix(pose):
    """A pose as a 4x4 matrix."""
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
                     "child": GLib.quark_to_string(meta.child_frame)}


def run(pipeline):
    """Poses of role estimate and ground truth of each scan."""
    pipeline = Gst.parse_launch(pipeline + " ! appsink name=sink sync=false max-buffers=4")
    started = pipeline.set_state(Gst.State.PLAYING) != Gst.StateChangeReturn.FAILURE
    sink = pipeline.get_by_name("sink")
    pairs = []
    while started and (sample := sink.emit("pull-sample")):
        buffer = sample.get_buffer()
        pairs.append([read_pose(buffer, role) for role in (
            GstPointCloud.PoseRole.ESTIMATE, GstPointCloud.PoseRole.GROUND_TRUTH)])
    message = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if message:
        raise AssertionError(message.parse_error())
    return pairs


def distances(pairs, sensor_in_body=np.eye(4)):
    return np.array([np.linalg.norm((matrix(e) @ sensor_in_body)[:3, 3] - matrix(t)[:3, 3])
                     for e, t in pairs])


def deskew(work):
    """By the velocity of the tracker itself, once it has one."""
    errors = {}
    for on in "false", "true":
        pairs = run(f"{SOURCE} num-buffers=200 motion-distortion=true noise-seed=2 "
                    f"! ndtlocalize map-location={work}/map.pcd initial-pose=0,0,1.8 scan-leaf-size=1 "
                    f"min-range=3 deskew={on}")
        assert len(pairs) == 200
        errors[on] = distances(pairs)[3:]
        print(f"# deskew={on}: mean {errors[on].mean():.4f} m, max {errors[on].max():.4f} m")
    truth = [matrix(t) for _, t in pairs]
    steps = [np.linalg.inv(a) @ b for a, b in zip(truth, truth[1:])]
    speed = max(10 * np.linalg.norm(s[:3, 3]) for s in steps)
    turn = max(10 * np.degrees(np.arccos(min(1, (np.trace(s[:3, :3]) - 1) / 2))) for s in steps)
    print(f"# at up to {speed:.1f} m/s and {turn:.1f} degrees a second")
    assert speed > 19 and turn > 45
    assert errors["false"].mean() > 0.5, "the scans are not distorted"
    assert errors["true"].mean() <= 0.03, "motion is not compensated"
    # Where it turns in or out, the velocity lags by some of a scan's change.
    assert errors["true"].max() <= 0.08, "a scan is far off"


def coarse(work):
    """Sensors of few rings and columns: every stamp is right, and every scan is told to fit it."""
    for sensor in "rings=32 columns=512", "rings=16 columns=256":
        pipeline = Gst.parse_launch(
            f"lidartestsrc seed=3 {sensor} num-buffers=120 motion-distortion=true noise-seed=2 "
            f"! ndtlocalize name=n map-location={work}/map.pcd initial-pose=0,0,1.8 scan-leaf-size=1 deskew=true "
            "! fakesink")
        pipeline.set_state(Gst.State.PLAYING)
        pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        stats = pipeline.get_by_name("n").get_property("stats")
        tracking, rejected = (stats.get_uint64(name)[1] for name in ("tracking", "rejected-implausible-motion"))
        pipeline.set_state(Gst.State.NULL)
        print(f"# {sensor}: {tracking} of 120 tracking, {rejected} rejected by their motion")
        assert tracking == 120 and rejected == 0


def late(work):
    """Stamps that are up to 80 ms late: what is told of the scans that they do not fit."""
    random = np.random.default_rng(1)
    pipeline = Gst.parse_launch(
        f"{SOURCE} num-buffers=60 motion-distortion=true noise-seed=2 ! identity name=delay "
        f"signal-handoffs=true ! ndtlocalize name=n map-location={work}/map.pcd initial-pose=0,0,1.8 "
        "scan-leaf-size=1 min-range=3 deskew=true ! appsink name=sink sync=false max-buffers=4")

    def delay(_, buffer):
        buffer.pts += int(random.integers(0, 80)) * Gst.MSECOND

    pipeline.get_by_name("delay").connect("handoff", delay)
    pipeline.set_state(Gst.State.PLAYING)
    pairs, degraded = [], 0
    while sample := pipeline.get_by_name("sink").emit("pull-sample"):
        buffer = sample.get_buffer()
        pairs.append([read_pose(buffer, role) for role in (
            GstPointCloud.PoseRole.ESTIMATE, GstPointCloud.PoseRole.GROUND_TRUTH)])
        meta = GstPointCloud.buffer_get_pose_meta(buffer, GstPointCloud.PoseRole.ESTIMATE)
        degraded += meta.status == GstPointCloud.PoseStatus.DEGRADED
    message = pipeline.get_bus().pop_filtered(Gst.MessageType.WARNING)
    rejected = pipeline.get_by_name("n").get_property("stats").get_uint64("rejected-implausible-motion")[1]
    pipeline.set_state(Gst.State.NULL)
    print(f"# late stamps: {degraded} of {len(pairs)} degraded, largest error {distances(pairs).max():.3f} m")
    assert len(pairs) == 60 and 0 < degraded == rejected
    assert message and "velocity of an earlier one" in message.parse_warning()[0].message
    # Half of a scan's way is a metre, and what was believed of wrong stamps was tens of metres.
    assert distances(pairs).max() < 0.6


def first(work):
    """Each the first scan: the velocity is what it tells itself. One at rest stays as it is."""
    for speed, place, limit in ((0, 0, 0.02), (0, 90, 0.02), (8, 0, 0.05), (8, 37, 0.05), (12, 0, 0.05),
                                (12, 90, 0.08), (20, 0, 0.05), (20, 90, 0.08), (25, 0, 0.05)):
        errors = {}
        for on in "false", "true":
            source = (f"lidartestsrc seed=3 rings=32 columns=512 speed={speed} lateral-acceleration=30 "
                      f"longitudinal-acceleration=30 start-offset={place} num-buffers=1 noise-seed=2 "
                      "motion-distortion=true")
            truth = run(source)[0][1]
            start = ",".join(map(str, truth["position"] + truth["orientation"]))
            errors[on] = distances(run(f"{source} ! ndtlocalize map-location={work}/map.pcd scan-leaf-size=1 "
                                       f"min-range=3 initial-pose={start} deskew={on}"))[0]
        print(f"# first scan at {speed} m/s, {place} m: {errors['false']:.3f} m, "
              f"deskew {errors['true']:.3f} m")
        assert errors["false"] > 0.04 * speed
        assert errors["true"] <= limit
        assert speed > 0 or errors["true"] == errors["false"]


def by_odometry(work):
    """The first scan by odometry around it, at a speed that it does not tell itself."""
    speed, errors = 1, []
    for steps in (), (0, 200), (0, 100):
        pipeline = Gst.parse_launch(
            f"lidartestsrc seed=3 rings=32 columns=512 speed={speed} num-buffers=1 noise-seed=2 "
            f"motion-distortion=true ! ndtlocalize name=n map-location={work}/map.pcd scan-leaf-size=1 min-range=3 "
            "initial-pose=0,0,1.8 deskew=true ! appsink name=sink sync=false "
            + ("appsrc name=poses format=time caps=pose/x-raw ! n.pose_0" if steps else ""))
        for at in steps:
            buffer = Gst.Buffer.new()
            buffer.pts = at * Gst.MSECOND
            GstPointCloud.buffer_add_pose_meta(buffer, GstPointCloud.PoseRole.ODOMETRY,
                                               [5 + speed * at / 1000, 7, 0], [0, 0, 0, 1])
            pipeline.get_by_name("poses").emit("push-buffer", buffer)
        if steps:
            pipeline.get_by_name("poses").emit("end-of-stream")
        pipeline.set_state(Gst.State.PLAYING)
        buffer = pipeline.get_by_name("sink").emit("pull-sample").get_buffer()
        errors.append(distances([[read_pose(buffer, role) for role in (
            GstPointCloud.PoseRole.ESTIMATE, GstPointCloud.PoseRole.GROUND_TRUTH)]])[0])
        pipeline.set_state(Gst.State.NULL)
    print("# first scan at 1 m/s: {:.3f} m, by odometry before and after it {:.3f} m, at its end {:.3f} m"
          .format(*errors))
    assert errors[0] > 0.04 and max(errors[1:]) < 0.02


def without_times(work):
    """Scans of a turning sensor whose points bear no times are warned of once motion shows them; others
    are not."""
    for distorted, said in ("true", True), ("false", False):
        pipeline = Gst.parse_launch(
            f"lidartestsrc seed=3 rings=32 columns=512 speed=15 num-buffers=40 noise-seed=2 "
            f"motion-distortion={distorted} ! capsfilter caps=pointcloud/x-raw,format=XYZI_F32LE "
            "! capssetter join=false replace=true caps=pointcloud/x-raw,format=XYZI_F32LE,framerate=10/1 "
            f"! ndtlocalize name=n map-location={work}/map.pcd initial-pose=0,0,1.8 scan-leaf-size=1 "
            "min-range=3 batch-size=1 ! fakesink")
        bus, warnings = pipeline.get_bus(), []
        pipeline.set_state(Gst.State.PLAYING)
        while True:
            message = bus.timed_pop_filtered(
                Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR | Gst.MessageType.WARNING)
            if message.type != Gst.MessageType.WARNING:
                break
            warnings.append(message.parse_warning()[0].message)
        pipeline.set_state(Gst.State.NULL)
        assert message.type == Gst.MessageType.EOS, message.parse_error()
        print(f"# motion-distortion={distorted}: {warnings}")
        # Scans that are blurred may also fit too badly to be tracking, which is a warning of its own.
        assert sum("stamp-position" in w for w in warnings) == said and bool(warnings) == said


def steady(work, element):
    """Mean error of localizing distorted scans that an element has compensated."""
    pairs = run(f"{SOURCE} num-buffers=60 motion-distortion=true noise-seed=2 ! {element} "
                f"! ndtlocalize map-location={work}/map.pcd initial-pose=0,0,1.8 scan-leaf-size=1 min-range=3")
    assert len(pairs) == 60
    error = distances(pairs)[5:].mean()
    print(f"# {element.split()[0]}: mean {error:.4f} m")
    return error


def by_poses(work):
    """pointclouddeskew, by the poses on the scans."""
    assert steady(work, "pointclouddeskew role=ground-truth") <= 0.03


def by_file(work):
    """By a trajectory file, whose poses are of the scans' ends and stamped so."""
    run(f"{SOURCE} num-buffers=60 motion-distortion=true noise-seed=2 ! tee name=t "
        f"! queue ! trajectorysink location={work}/truth.txt role=ground-truth t. ! queue")
    assert steady(work, f"pointclouddeskew location={work}/truth.txt") <= 0.03


def passes(work):
    """What cannot be compensated passes as it is; a file that cannot be used is an error."""
    pairs = run(f"{SOURCE} num-buffers=3 ! pointcloud/x-raw,format=XYZI_F32LE "
                "! pointclouddeskew role=ground-truth")
    assert len(pairs) == 3
    with open(f"{work}/kitti.txt", "w", encoding="ascii") as file:
        file.write("1 0 0 0 0 1 0 0 0 0 1 0\n" * 3)
    for bad in f"{work}/none.txt", f"{work}/kitti.txt", f"{work}/map.pcd":
        try:
            run(f"{SOURCE} num-buffers=3 ! pointclouddeskew location={bad}")
        except AssertionError as error:
            print(f"# {error.args[0][0].message}")
        else:
            raise AssertionError(f"{bad} is no trajectory with times, and nothing said so")


def mount(work):
    """The body's pose, from a sensor that is mounted ahead, above and turned: with its mount applied it
    is the sensor's true pose, and its covariance is the sensor's carried over the lever arm."""
    mount = np.eye(4)
    mount[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    mount[:3, 3] = [1.5, -0.5, 2]
    localize = f"ndtlocalize map-location={work}/map.pcd scan-leaf-size=1 min-range=3"
    # The path starts at the origin along x: the body stands across it, its origin at R (-mount).
    start = matrix(run(f"{SOURCE} num-buffers=1 ! {localize} initial-pose=0,0,1.8")[0][1])
    body = start @ np.linalg.inv(mount)
    yaw = np.degrees(np.arctan2(body[1, 0], body[0, 0]))
    pairs = run(f"{SOURCE} num-buffers=20 ! {localize} sensor-pose=1.5,-0.5,2,90 body-frame=car "
                f"initial-pose={body[0, 3]},{body[1, 3]},{body[2, 3]},{yaw}")
    plain = run(f"{SOURCE} num-buffers=20 ! {localize} initial-pose=0,0,1.8")
    errors = distances(pairs, mount)
    print(f"# sensor-pose: mean {errors.mean():.4f} m, max {errors.max():.4f} m")
    assert errors.max() <= 0.05
    assert pairs[0][0]["child"] == "car"
    for (with_mount, _), (without, _) in zip(pairs[5:], plain[5:]):
        # What other neighbouring starts leave: the same optimum, to some tenths of a millimetre.
        far = np.linalg.norm((matrix(with_mount) @ mount)[:3, 3] - matrix(without)[:3, 3])
        assert far < 0.02, f"{far} m from the sensor's pose"
        big = with_mount["covariance"]
        small = without["covariance"]
        # b = s - R m: an error w of the rotation (of the map's axes) moves the body by (s - b) x w more.
        # Whether that is more or less than the sensor's depends on how both are correlated.
        x, y, z = matrix(without)[:3, 3] - matrix(with_mount)[:3, 3]
        lever = np.eye(6)
        lever[:3, 3:] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
        sigma = np.sqrt(np.diag(big))
        assert np.abs((lever @ small @ lever.T - big) / np.outer(sigma, sigma)).max() < 0.01
        assert np.allclose(big, big.T, atol=1e-12)
        assert np.linalg.eigvalsh(big).min() > 0


def main():
    Gst.init(None)
    tests = (deskew, coarse, late, first, by_odometry, mount, without_times, by_poses,
             by_file, passes)
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([os.environ["NDT_MAP"], "simulate", "--seed=3", "--map-spacing=0.2",
                        f"{work}/map.pcd"], check=True, stdout=subprocess.DEVNULL)
        return tap.run(tests, work)


if __name__ == "__main__":
    sys.exit(main())
