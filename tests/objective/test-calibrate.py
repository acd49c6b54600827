#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ndt-calibrate, from files to files: a recorded drive split into two halves, as if of two sensors
that are mounted elsewhere (TAP).

    test-calibrate.py NDT-CALIBRATE
"""

import os
import struct
import subprocess
import sys
import tempfile

import numpy as np
import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

TOOL = sys.argv[1]
DATA = os.path.join(os.environ.get("NDT_TEST_DATA", "../shared/data"), "seq_kitti_drive0005")
# x, y, z (m), roll, pitch, yaw (degrees)
MOUNTS = {"left": (0.8, 0.5, -0.2, 1, 3, 40), "right": (-0.6, -0.5, 0.1, -2, 2, -120)}
OFF = (0.2, -0.15, 0.15, 3, -2, 3.5)


def tool(*arguments, status=0):
    done = subprocess.run([TOOL, *arguments], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def rotation(roll, pitch, yaw):
    a, b, c = np.radians((roll, pitch, yaw))
    x = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    y = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    z = np.array([[np.cos(c), -np.sin(c), 0], [np.sin(c), np.cos(c), 0], [0, 0, 1]])
    return z @ y @ x


def read_pcd(path):
    with open(path, "rb") as file:
        data = file.read()
    end = data.index(b"DATA binary\n") + len(b"DATA binary\n")
    return np.frombuffer(data[end:], "<f4").reshape(-1, 4)[:, :3].astype(float)


def write_pcd(path, points):
    n = len(points)
    header = (f"VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH {n}\nHEIGHT 1\n"
              f"VIEWPOINT 0 0 0 1 0 0 0\nPOINTS {n}\nDATA binary\n")
    with open(path, "wb") as file:
        file.write(header.encode() + points.astype("<f4").tobytes())


def split(work):
    """The halves of each scan, seen from where their sensors would be."""
    for name in (*MOUNTS, "even", "odd"):
        os.makedirs(f"{work}/{name}")
    for file in sorted(os.listdir(f"{DATA}/scans_all")):
        points = read_pcd(f"{DATA}/scans_all/{file}")
        for name, mount in MOUNTS.items():
            half = points[(points[:, 1] > 0) == (name == "left")]
            write_pcd(f"{work}/{name}/{file}", (half - mount[:3]) @ rotation(*mount[3:]))
        # And every other point, so that both see the same.
        write_pcd(f"{work}/even/{file}", points[::2])
        mount = MOUNTS["right"]
        write_pcd(f"{work}/odd/{file}", (points[1::2] - mount[:3]) @ rotation(*mount[3:]))


def text(pose):
    return ",".join(str(v) for v in pose)


def start(mount):
    return text(np.add(mount, OFF))


def check(result, name, sensor=None):
    """Of the sensor-pose as ndtlocalize takes it: 1 cm, 0.1 degrees."""
    pose = np.array([float(v) for v in result["sensors"][sensor or name]["sensor-pose"].split(",")])
    mount = MOUNTS[name]
    metres = np.linalg.norm(pose[:3] - mount[:3])
    turn = rotation(*pose[3:]).T @ rotation(*mount[3:])
    degrees = np.degrees(np.arccos(np.clip((np.trace(turn) - 1) / 2, -1, 1)))
    print(f"# {name}: off by {1000 * metres:.1f} mm, {degrees:.3f} degrees")
    assert metres < 0.01 and degrees < 0.1, (name, pose)
    return metres


def in_a_map(work):
    out = tool("--map", f"{DATA}/map_even_0.25.pcd", "--trajectory", f"{DATA}/poses_all.txt",
               "--no-time-offset", "--output", f"{work}/out.yaml", "--picture", f"{work}/out.svg",
               "--start", f"left={start(MOUNTS['left'])}", "--start", f"right={start(MOUNTS['right'])}",
               f"left={work}/left", f"right={work}/right")
    print("# " + out.strip().replace("\n", "\n# "))
    with open(f"{work}/out.yaml", encoding="utf-8") as file:
        result = yaml.safe_load(file)
    for name in MOUNTS:
        off = check(result, name)
        sensor = result["sensors"][name]
        assert sensor["converged"] is True and sensor["observed"]["yaw"] == "yes", sensor
        assert sensor["observed"]["time"] == "not estimated" and sensor["time-offset"] == 0
        # It knows as much as its word says (calibration.md: "yes" is up to 5 mm, "weakly" ten times
        # that), and what it claims covers what it is off by: three sigmas, beside the 0.5 cm to which
        # this map and its poses agree (PROVENANCE.md).
        sigma = np.array([sensor["standard-deviations"][axis] for axis in "xyz"])
        for axis, value in zip("xyz", sigma):
            word = "yes" if value <= 0.005 else "weakly" if value <= 0.05 else "no"
            assert value > 0 and sensor["observed"][axis] == word, sensor
        assert off <= 3 * np.linalg.norm(sigma) + 0.005, (off, sensor)
    assert "yaw is observed" in out
    with open(f"{work}/out.svg", encoding="utf-8") as file:
        assert "<svg" in file.read()


def without_a_map(work):
    """By the first sensor's scans."""
    tool("--trajectory", f"{DATA}/poses_all.txt", "--period", "0.1", "--no-time-offset", "--output",
         f"{work}/pair.yaml", "--picture", f"{work}/pair.png", "--start", f"odd={start(MOUNTS['right'])}",
         f"even={work}/even", f"odd={work}/odd")
    with open(f"{work}/pair.yaml", encoding="utf-8") as file:
        result = yaml.safe_load(file)
    assert result["sensors"]["even"]["reference"] is True
    check(result, "right", "odd")
    with open(f"{work}/pair.png", "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">I", data[16:20])[0] == 960


def late(work):
    """Scans whose names are times, 15 ms late."""
    os.makedirs(f"{work}/late")
    begin = 1500000000
    for i, file in enumerate(sorted(os.listdir(f"{work}/odd"))):
        os.link(f"{work}/odd/{file}", f"{work}/late/{begin + 0.1 * i + 0.015:.6f}.pcd")
    poses = np.loadtxt(f"{DATA}/poses_all.txt")
    with open(f"{work}/late.txt", "w", encoding="utf-8") as out:
        for i, row in enumerate(poses):
            out.write(f"{begin + 0.1 * i:.6f} " + " ".join(f"{v:.9f}" for v in row[1:]) + "\n")
    out = tool("--map", f"{DATA}/map_even_0.25.pcd", "--trajectory", f"{work}/late.txt", "--output",
               f"{work}/late.yaml", "--start", f"late={start(MOUNTS['right'])}", f"late={work}/late")
    with open(f"{work}/late.yaml", encoding="utf-8") as file:
        result = yaml.safe_load(file)
    sensor = result["sensors"]["late"]
    offset, sigma = sensor["time-offset"], sensor["standard-deviations"]["time"]
    print("# " + out.strip().replace("\n", "\n# ") + f"\n# {1000 * offset:.2f} ms late, by {1000 * sigma:.2f} ms")
    # A delay is told apart from a shift along the way by changes of speed and turns alone, and this
    # drive has 3.1 to 4.9 m/s. The centimetre that is asked for of poses is 3.3 ms at its least
    # speed; half a millisecond is asked for, and reached, of the simulated drive.
    assert abs(offset - 0.015) < min(0.0033, 3 * sigma) and sensor["observed"]["time"] != "no", sensor


def little_in_common(work):
    """Halves of a scan have a strip and the traffic ahead in common: that is said."""
    out = tool("--trajectory", f"{DATA}/poses_all.txt", "--no-time-offset", "--output", f"{work}/halves.yaml",
               "--start", f"left={text(MOUNTS['left'])}", "--start", f"right={start(MOUNTS['right'])}",
               f"left={work}/left", f"right={work}/right")
    assert "x is not observed" in out and "y is weakly observed" in out, out
    with open(f"{work}/halves.yaml", encoding="utf-8") as file:
        sensor = yaml.safe_load(file)["sensors"]["right"]
    pose = np.array([float(v) for v in sensor["sensor-pose"].split(",")])
    # What it is off by, more than a decimetre, is what it says that it may be: three sigmas.
    off = np.abs(pose - MOUNTS["right"])
    sigma = np.array([sensor["standard-deviations"][k] for k in ("x", "y", "z", "roll", "pitch", "yaw")])
    print(f"# off by {off}, sigma {sigma}")
    # The map's and the poses' own errors beside it (PROVENANCE.md): 0.5 cm, 0.008 degrees.
    assert np.all(off <= 3 * sigma + np.repeat((0.005, 0.008), 3)), (off, sigma)


def wrong_usage(work):
    """Status 2, a sentence, and nothing written."""
    common = ("--trajectory", f"{DATA}/poses_all.txt", "--output", f"{work}/none.yaml")
    for arguments, words in (
            ((), "--trajectory, --output"),
            ((*common, f"{work}/left"), "is not NAME=VALUE"),
            ((*common, f"a={work}/left"), "a second sensor is missing"),
            ((*common, f"a={work}/left", f"a={work}/right"), "given before"),
            ((*common, "--start", "b=0,0,0", f"a={work}/left"), "no sensor"),
            ((*common, "--start", "a=0,0", f"a={work}/left"), "0,0"),
            ((*common, "--resolution", "0", f"a={work}/left"), "--resolution"),
            ((*common, "--max-range", "nan", f"a={work}/left"), "ranges"),
            ((*common, "--unknown"), "--unknown")):
        out = tool(*arguments, status=2)
        assert words in out, (words, out)
    out = tool("--trajectory", f"{work}/missing", "--output", f"{work}/none.yaml", f"a={work}/left",
               status=1)
    assert "missing" in out
    os.makedirs(f"{work}/few")
    write_pcd(f"{work}/few/0.pcd", np.zeros((10, 3)))
    out = tool(*common, "--map", f"{DATA}/map_even_0.25.pcd", f"a={work}/few", status=2)
    assert "--period" in out, out
    os.makedirs(f"{work}/later")
    write_pcd(f"{work}/later/4000000000.000000000.pcd", np.zeros((10, 3)))
    for sensors in ((f"a={work}/later", f"b={work}/left"),
                    ("--map", f"{DATA}/map_even_0.25.pcd", f"a={work}/later")):
        out = tool(*common, *sensors, status=2)
        assert "one clock" in out and "4000000000.000" in out, out
    assert not os.path.exists(f"{work}/none.yaml")


def main():
    if not os.path.isdir(DATA):
        if os.environ.get("CI") == "true":
            sys.exit(f"{DATA} is missing: set NDT_TEST_DATA")
        print("1..0 # SKIP seq_kitti_drive0005 is missing: set NDT_TEST_DATA")
        return 0
    tests = (in_a_map, without_a_map, late, little_in_common, wrong_usage)
    with tempfile.TemporaryDirectory() as work:
        split(work)
        return tap.run(tests, work)


if __name__ == "__main__":
    sys.exit(main())
