#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""One instant for a pose, one clock for a recording (TAP).

A drive at 20 m/s with motion distortion, as the packets of each vendor by each clock that it has, and as
scans of one instant without point times. Each is localized and written as TUM and MCAP, the recording
and a rosbag2 folder made of it are localized again, and the packets are sent live, recorded and then
localized. Every trajectory is read by other programs and compared with the truth by its own time
stamps.

NDT_TEST_TIME=all: all vendors by all clocks and a longer drive; without it one vendor a clock.
CI=true: missing packages are a failure.
"""

import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

try:
    import simulation
    import trajectories
except ModuleNotFoundError as missing:
    if os.environ.get("CI") == "true":
        sys.exit(f"{missing}: see tests/requirements-upgrade.txt")
    print(f"1..0 # SKIP {missing}: see tests/requirements-upgrade.txt")
    sys.exit(0)
import numpy as np
import rosbags.rosbag2
from simulation import drive

ALL = os.environ.get("NDT_TEST_TIME") == "all"
N_SCANS = 100 if ALL else 40
# What is asked of every trajectory.
MEAN_ERROR = 0.02  # m
# Of clocks resolved by arrival, one a recording. The packets of this drive come 0.5 to 1.7 ms after
# the first firing in them, which is what arrival cannot tell.
OFFSET = 0.003  # s
AGREE = 0.001  # m, between two files of one run
ON_SURFACE = 0.03  # m, median. Noise along the beam (2 cm) alone is 1.3 cm
LIMIT = 300  # s a pipeline
LOCALIZE = "ndtlocalize map-location={map} initial-pose={start} {options}"

# (combination, path): why it is not tested.
LEFT_OUT = {}

folder = None
truth = world = start_pose = None
number = failed = 0


def report(name, problem=None):
    global number, failed
    number += 1
    failed += problem is not None
    print(f"{'not ok' if problem else 'ok'} {number} {name}", flush=True)
    if problem:
        print("# " + str(problem).replace("\n", "\n# "), flush=True)


def launch(line):
    done = subprocess.run("gst-launch-1.0 -q " + line, shell=True, text=True, timeout=LIMIT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise AssertionError(f"{line}\n{done.stdout}")
    return done.stdout


def localize(source, name, record="", options=""):
    """Localizes what a source gives; writes NAME.txt and NAME.mcap."""
    line = LOCALIZE.format(map=f"{folder}/town.pcd", start=start_pose, options=options)
    return launch(f"{source} ! {line} ! tee name=localized ! queue ! "
                  f"trajectorysink location={folder}/{name}.txt "
                  f"localized. ! queue ! mcapsink {record} location={folder}/{name}.mcap")


def compare(name, poses, base, by_arrival):
    """Asserts what is asked of a trajectory; @base: the time of it at which the drive starts."""
    if len(poses.timestamps) < N_SCANS - 1:
        raise AssertionError(f"{len(poses.timestamps)} poses of {N_SCANS} scans")
    begin = poses.timestamps[0] - base
    # A scan before the drive's start or a period after it would be another fault, which is measured.
    if not -1 < begin < 1:
        raise AssertionError(f"the first stamp is {poses.timestamps[0]:.3f} s, the drive begins at "
                             f"{base:.3f} s")
    offset = trajectories.best_offset(poses, truth, base)
    if by_arrival:
        mean, largest = trajectories.mean_error(poses, truth, base + offset)
        text = f"after an offset of {offset * 1e3:.2f} ms "
    else:
        mean, largest = trajectories.mean_error(poses, truth, base)
        text = f"(the best offset is {offset * 1e3:.2f} ms) "
    print(f"# {name}: {text}mean error {mean:.4f} m, largest {largest:.4f} m", flush=True)
    if by_arrival and abs(offset) > OFFSET:
        raise AssertionError(f"{text}: more than {OFFSET * 1e3:g} ms")
    if mean > MEAN_ERROR:
        raise AssertionError(f"mean error {mean} m {text}")
    return mean


def check_points(path):
    distances = world.distances(trajectories.placed_points([pathlib.Path(path)]))
    median = float(np.median(distances))
    print(f"# median distance of points to the world {median:.4f} m", flush=True)
    if len(distances) < 1000 or median > ON_SURFACE:
        raise AssertionError(f"{len(distances)} points, median distance {median} m")


def same_poses(one, other):
    """To the bit, stamps as well."""
    if len(one.timestamps) != len(other.timestamps):
        raise AssertionError(f"{len(one.timestamps)} and {len(other.timestamps)} poses")
    if not (one.timestamps == other.timestamps).all():
        late = np.abs(one.timestamps - other.timestamps).max()
        raise AssertionError(f"stamps are up to {late} s apart")
    if not (one.positions_xyz == other.positions_xyz).all():
        off = np.abs(one.positions_xyz - other.positions_xyz).max()
        raise AssertionError(f"positions are up to {off} m apart")


def make_rosbag2(recording, out):
    """The clouds of a recording, as another recorder would have written them."""
    store = trajectories.get_typestore(trajectories.Stores.ROS2_HUMBLE)
    with trajectories.AnyReader([pathlib.Path(recording)], default_typestore=store) as reader, \
            rosbags.rosbag2.Writer(out, version=9) as writer:
        for connection in reader.connections:
            if connection.msgtype != "sensor_msgs/msg/PointCloud2":
                continue
            to = writer.add_connection(connection.topic, connection.msgtype, typestore=store)
            for _, stamp, raw in reader.messages([connection]):
                writer.write(to, stamp, raw)


def send(packets, port, start):
    """Over UDP, each when it would come; @start: of the drive, us since 1970."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for stamp, to, payload in packets:
            wait = (start + stamp) * 1e-6 - time.time()
            if wait > 0:
                time.sleep(wait)
            if to == port:  # of others the tests of sensors have a capture
                out.sendto(payload, ("127.0.0.1", port))


class Paths:
    """The ways from one source to a trajectory, a subtest each."""

    def __init__(self, name, base, by_arrival):
        """@base: header stamp at which the drive starts, s; @by_arrival: what resolved it."""
        self.name, self.base, self.by_arrival = name, base, by_arrival
        self.bag = None

    def run(self, path, function):
        name = f"{self.name} {path}"
        if (self.name, path) in LEFT_OUT:
            print(f"# {name}: left out, {LEFT_OUT[self.name, path]}")
            return
        try:
            function()
            report(name)
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError) as problem:
            report(name, f"{type(problem).__name__}: {problem}")

    def recording(self, name):
        return trajectories.read_poses(f"{folder}/{name}.mcap")

    def all(self, source, record=""):
        try:
            localize(source, "direct", record)
        except (AssertionError, subprocess.SubprocessError) as problem:
            report(f"{self.name} direct", problem)
            return
        self.run("TUM", self.tum)
        self.run("MCAP", self.mcap)
        self.run("TUM and MCAP agree", self.agree)
        self.run("points by TF", lambda: check_points(f"{folder}/direct.mcap"))
        self.run("replay", self.our_own)
        # Neither DURATION nor what was done to the points stands in a bag of others.
        self.run("rosbag2", self.rosbag2)
        self.run("rosbag2 deskew=true", lambda: self.replay(self.bag, "deskew=true"))

    def tum(self):
        # The time of the stream, which begins with the first packet.
        compare("TUM", trajectories.read_tum(f"{folder}/direct.txt"), 0, True)

    def mcap(self):
        compare("MCAP", self.recording("direct"), self.base, self.by_arrival)

    def agree(self):
        means = [compare(name, poses, base, True) for name, poses, base in (
            ("TUM", trajectories.read_tum(f"{folder}/direct.txt"), 0),
            ("MCAP", self.recording("direct"), self.base))]
        if abs(means[0] - means[1]) > AGREE:
            raise AssertionError(f"mean errors of TUM and MCAP are {means}")

    def replay(self, recording, options=""):
        localize(f"rosbagsrc location={recording} ! pointcloud/x-raw", "replay",
                 "log-time=pts overwrite=true", options)
        poses = self.recording("replay")
        compare("replay", poses, self.base, self.by_arrival)
        return poses

    def our_own(self):
        same_poses(self.recording("direct"), self.replay(f"{folder}/direct.mcap"))

    def rosbag2(self):
        self.bag = pathlib.Path(f"{folder}/{self.name}-rosbag2")
        make_rosbag2(f"{folder}/direct.mcap", self.bag)
        self.replay(self.bag)


def sensor(which, clock):
    """Packets of a vendor by a clock: from a capture, and live."""
    paths = Paths(f"{which.name}-{clock.name}", drive.START,
                  simulation.is_resolved_by_arrival(which, clock))
    scans = simulation.simulate(which, N_SCANS)
    packets = list(simulation.packets(which, clock, drive.START * 1000000, scans))
    drive.write_capture(f"{folder}/drive.pcap", packets)
    decoder = simulation.decoder(folder, which, clock)
    paths.all(f"lidarpcapsrc location={folder}/drive.pcap ! {decoder}", "overwrite=true")
    if not paths.by_arrival:
        # By choice of the arrival's clock all the same.
        paths.run("header-stamp=capture", lambda: capture_stamps(paths, decoder))
    paths.run("live", lambda: live(paths, which, clock, decoder, scans))


def capture_stamps(paths, decoder):
    localize(f"lidarpcapsrc location={folder}/drive.pcap ! {decoder}", "capture",
             "header-stamp=capture overwrite=true")
    compare("header-stamp=capture", paths.recording("capture"), drive.START, True)
    check_points(f"{folder}/capture.mcap")


def live(paths, which, clock, decoder, scans):
    """Recorded as it comes over UDP, and localized afterwards."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(
            f"exec gst-launch-1.0 -e -q udpsrc address=127.0.0.1 port={port} buffer-size=4194304 ! "
            f"{decoder} ! queue max-size-buffers=0 max-size-bytes=0 max-size-time=0 ! "
            f"mcapsink overwrite=true location={folder}/live.mcap",
            shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as recorder:
        # Whether it listens already cannot be asked without a packet.
        while f":{port:04X} " not in pathlib.Path("/proc/net/udp").read_text(encoding="ascii"):
            if recorder.poll() is not None:
                raise AssertionError(recorder.stdout.read())
            time.sleep(0.05)
        # Packets have their time in them: as many seconds ahead as it takes to make them.
        start, ahead = 0, 2
        while start * 1000 < time.time_ns() + 200000000:
            start = (time.time_ns() // 1000000000 + ahead) * 1000000
            packets = list(simulation.packets(which, clock, start, scans))
            ahead *= 2
        if any(to != which.port for _, to, _ in packets):
            # One port for both kinds of RoboSense's packets.
            packets = [(stamp, which.port, payload) for stamp, _, payload in packets]
        sender = threading.Thread(
            target=send, args=([(s, port, p) for s, _, p in packets], port, start))
        sender.start()
        sender.join()
        time.sleep(0.5)
        recorder.send_signal(2)
        output, _ = recorder.communicate(timeout=LIMIT)
        if recorder.returncode != 0:
            raise AssertionError(output)
    localize(f"rosbagsrc location={folder}/live.mcap ! pointcloud/x-raw", "live-replay",
             "log-time=pts overwrite=true")
    compare("live", paths.recording("live-replay"), start * 1e-6, paths.by_arrival)


def without_times():
    """Scans of one instant, that of their stamps, without point times."""
    paths = Paths("undistorted", 0, False)
    paths.all(f"{simulation.DRIVE} rings=16 columns=1800 num-buffers={N_SCANS} ! "
              "pointcloud/x-raw,format=XYZI_F32LE,framerate=10/1", "overwrite=true")


def main():
    global folder, truth, world, start_pose
    with tempfile.TemporaryDirectory() as folder:
        truth = simulation.Truth(folder, N_SCANS // 10)
        world = simulation.World(folder, truth)
        subprocess.run([os.environ["NDT_MAP"], "simulate", f"{folder}/town.pcd"], check=True,
                       stdout=subprocess.DEVNULL)
        start_pose = ",".join(f"{v:.6f}" for v in (*truth.position(0), *truth.quaternions([0])[0]))
        without_times()
        for which, clock in simulation.COMBINATIONS if ALL else simulation.SHORT:
            sensor(which, clock)
    print(f"1..{number}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
