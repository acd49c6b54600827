# SPDX-License-Identifier: MIT
"""The drive of this suite: its truth, its world, and its packets by vendor and clock."""

import dataclasses
import os
import subprocess
import sys

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation, RotationSpline

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sensors"))
import drive  # noqa: E402

SPEED = 20  # m/s; turns are slower
DRIVE = (f"lidartestsrc world=town speed={SPEED} lateral-acceleration=4 longitudinal-acceleration=3 "
         "moving-objects=0")
# International Atomic Time, which PTP counts, is ahead of UTC since 2017 (IERS Bulletin C 52).
TAI_OFFSET = 37


@dataclasses.dataclass(frozen=True)
class Clock:
    """What a sensor's clock counts.

    resolved_by: "sensor" where its time is a time of day, "arrival" where a recorder has to look at
    when packets came."""

    name: str
    resolved_by: str

    def shows(self, start):
        """Microseconds of the clock when it is @start, us since 1970."""
        return {
            # Since the full hour, by GPS.
            "hour": start % 3600000000,
            # Since power was switched on; not synchronized.
            "boot": 1234500000,
            # UTC: by GPS, by NTP, or by a PTP master that counts it.
            "utc": start,
            # By a PTP master that counts TAI, as IEEE 1588 has it.
            "tai": start + TAI_OFFSET * 1000000,
        }[self.name]


HOUR, BOOT = Clock("hour", "arrival"), Clock("boot", "arrival")
UTC, TAI = Clock("utc", "sensor"), Clock("tai", "sensor")


@dataclasses.dataclass(frozen=True)
class Sensor:
    """columns: of a round; packet: us that it takes to fire what is in one; port: of its points."""

    name: str
    encode: object
    columns: int
    packet: float
    port: int
    element: str


VELODYNE = Sensor("velodyne", drive.velodyne, 1800, 4e5 / 300, 2368, "velodynedec")
HESAI = Sensor("hesai", drive.hesai, 2000, 400, 2368, "hesaidec")
ROBOSENSE = Sensor("robosense", drive.robosense, 1800, 4e5 / 300, 6699, "robosensedec")
OUSTER = Sensor("ouster", drive.ouster, 1024, 1e5 / 64, 7502, "ousterdec")

# Ouster says in its metadata what it counts.
OUSTER_MODES = {"boot": "TIME_FROM_INTERNAL_OSC", "utc": "TIME_FROM_SYNC_PULSE_IN",
                "tai": "TIME_FROM_PTP_1588"}

# What the vendors' manuals offer. A VLP-16 counts within the hour, by GPS or since it was switched on,
# and does not say which; Pandar XT and Helios send a date and a time, of whatever they are
# synchronized to.
COMBINATIONS = [(VELODYNE, HOUR), (VELODYNE, BOOT), (HESAI, UTC), (HESAI, TAI), (ROBOSENSE, UTC),
                (ROBOSENSE, TAI), (OUSTER, BOOT), (OUSTER, UTC), (OUSTER, TAI)]


def is_resolved_by_arrival(sensor, clock):
    """Where the packets do not say that they count TAI, 37 s from arrival are no time of day."""
    return clock.resolved_by == "arrival" or clock is TAI and sensor is not OUSTER


# One vendor a clock.
SHORT = [(VELODYNE, HOUR), (OUSTER, BOOT), (HESAI, UTC), (OUSTER, TAI)]

# From the end of a packet's last firing to its arrival, us: on a cable.
LATENCY = 100


def simulate(sensor, n_scans):
    """What packets() takes."""
    return drive.simulate(sensor.columns, f"{DRIVE} num-buffers={n_scans} rings=16 "
                                          "motion-distortion=true")


def packets(sensor, clock, start, scans):
    """Arrival in us since the start of the drive, port and payload; @start: us since 1970."""
    for stamp, port, payload in sensor.encode(scans, clock.shows(start)):
        yield stamp + round(sensor.packet) + LATENCY, port, payload


def decoder(folder, sensor, clock):
    """The element with its properties."""
    if sensor is not OUSTER:
        return sensor.element
    path = f"{folder}/ouster-{clock.name}.json"
    drive.ouster_metadata(path, OUSTER_MODES[clock.name])
    return f"{sensor.element} metadata-location={path}"


class Truth:
    """Poses of the sensor at any time of the drive, s since its start."""

    def __init__(self, folder, seconds):
        path = f"{folder}/truth.txt"
        # Without motion-distortion a scan and its truth are of the PTS.
        subprocess.run(
            f"gst-launch-1.0 -q {DRIVE} rings=16 columns=16 num-buffers={50 * (seconds + 2)} ! "
            "pointcloud/x-raw,framerate=50/1 ! "
            f"trajectorysink role=ground-truth location={path} sync=false",
            shell=True, check=True, timeout=300)
        rows = np.loadtxt(path)
        # Steps of 20 ms; a cubic spline is within 0.1 mm of the drive between them.
        self.times = rows[:, 0]
        self._position = CubicSpline(self.times, rows[:, 1:4])
        self._rotation = RotationSpline(self.times, Rotation.from_quat(rows[:, 4:8]))

    def position(self, times):
        return self._position(times)

    def velocity(self, times):
        return self._position(times, 1)

    def quaternions(self, times):
        """x, y, z, w"""
        return self._rotation(times).as_quat()


class World:
    """Surfaces of the town near the drive."""

    def __init__(self, folder, truth):
        path = f"{folder}/surfaces.pcd"
        # Without noise: what is measured is the distance to the surface.
        subprocess.run([os.environ["NDT_MAP"], "simulate", "--range-noise=0", "--map-spacing=0.2",
                        path], check=True, stdout=subprocess.DEVNULL)
        with open(path, "rb") as file:
            data = file.read()
        points = np.frombuffer(data[data.index(b"DATA binary\n") + 12:], "<f4").reshape(-1, 3)
        os.unlink(path)
        path = cKDTree(truth.position(truth.times[::10])[:, :2])
        near, _ = path.query(points[:, :2], distance_upper_bound=45)
        self._points = points[np.isfinite(near)].astype(float)
        self._tree = cKDTree(self._points)

    def distances(self, points):
        """Metres from each point to the plane through the map's points around it."""
        _, index = self._tree.query(points, k=8)
        around = self._points[index]
        centre = around.mean(axis=1)
        _, _, axes = np.linalg.svd(around - centre[:, None])
        return np.abs(np.einsum("ij,ij->i", points - centre, axes[:, 2]))
