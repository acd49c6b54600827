#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ndt-map make, from files to files, and localization in what it makes (TAP).

    test-make.py NDT-MAP
"""

import filecmp
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

TOOL = sys.argv[1]


def tool(*arguments, status=0):
    done = subprocess.run([TOOL, *arguments], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def launch(line):
    done = subprocess.run(["gst-launch-1.0", "-q", *line.split()], capture_output=True,
                          encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def positions(path):
    """Of a TUM file, by time."""
    rows = np.loadtxt(path)
    return rows[:, 0], rows[:, 1:4]


def rigid(a, b):
    """Residuals of @a moved onto @b, metres."""
    ca, cb = a.mean(0), b.mean(0)
    u, _, v = np.linalg.svd((a - ca).T @ (b - cb))
    d = np.diag([1, 1, np.sign(np.linalg.det(v.T @ u.T))])
    r = v.T @ d @ u.T
    return np.linalg.norm((a - ca) @ r.T - (b - cb), axis=1)


def simulated(work):
    """Scans with their motion as PCD files: compensated, the same bytes every time."""
    os.mkdir(f"{work}/scans")
    launch("lidartestsrc seed=5 num-buffers=100 rings=32 columns=512 motion-distortion=true "
           f"moving-objects=0 ! tee name=t ! queue ! pcdenc ! multifilesink location={work}/scans/%06d.pcd "
           f"t. ! queue ! trajectorysink role=ground-truth location={work}/truth.txt")
    text = tool("make", "--output", f"{work}/made", f"{work}/scans")
    print("# " + text.strip().replace("\n", "\n# "))
    assert "motion within scans: compensated" in text and "tracked 100" in text, text
    _, truth = positions(f"{work}/truth.txt")
    times, made = positions(f"{work}/made/poses.txt")
    assert len(made) == 100 and abs(times[1] - times[0] - 0.1) < 1e-9
    # The true poses are those of scans' ends, and the poses of PCD files those of their begins.
    off = rigid(made[1:], truth[:-1])
    print(f"# off by {off.mean():.3f} m in the mean, {off.max():.3f} m at most")
    # The first scan's velocity is known by the second one's only.
    assert off.mean() <= 0.05 and off.max() <= 0.2, off
    tool("make", "-o", f"{work}/again", "--n-threads=1", f"{work}/scans")
    for name in "map.pcd", "poses.txt", "edges.csv", "covariances.csv":
        assert filecmp.cmp(f"{work}/made/{name}", f"{work}/again/{name}", shallow=False), name
    rows = np.loadtxt(f"{work}/made/covariances.csv", delimiter=",", skiprows=1)
    names = open(f"{work}/made/covariances.csv", encoding="utf-8").readline().strip().split(",")
    upper = [names.index(a + a) for a in "xyzabc"]
    # From scan to scan the way is less certain, and the first one is where the map begins.
    assert rows.shape == (100, 22) and np.all(rows[0, 1:] == 0), rows.shape
    assert np.all(np.diff(rows[:, upper], axis=0) >= -1e-12) and np.all(rows[-1, upper] > 0)
    assert "points: " in tool("info", "--resolution=1", f"{work}/made/map.pcd")


def kitti(work):
    """A map of the even scans; the odd ones localized in it agree with odometry over all."""
    scans = os.path.join(os.environ.get("NDT_TEST_DATA", ""), "seq_kitti_drive0005", "scans_all")
    if not os.path.isdir(scans):
        if os.environ.get("CI") == "true":
            raise AssertionError(f"{scans} is missing: set NDT_TEST_DATA")
        return "SKIP no test data"
    for folder in "even", "odd":
        os.mkdir(f"{work}/{folder}")
    for i in range(100):
        shutil.copy(f"{scans}/{i:06d}.pcd", f"{work}/{('even', 'odd')[i % 2]}/{i // 2:06d}.pcd")
    tool("make", "--period=0.2", "-o", f"{work}/map", f"{work}/even")
    tool("make", "-o", f"{work}/all", scans)
    _, whole = positions(f"{work}/all/poses.txt")
    first = ",".join(f"{x:.3f}" for x in whole[1])
    launch(f"multifilesrc location={work}/odd/%06d.pcd ! pcddec framerate=5/1 "
           f"! ndtlocalize map-location={work}/map/map.pcd resolution=1 initial-pose={first} "
           f"! trajectorysink location={work}/odd.txt")
    _, odd = positions(f"{work}/odd.txt")
    assert len(odd) == 50
    off = rigid(odd, whole[1::2])
    print(f"# KITTI: off by {off.mean():.4f} m in the mean, {off.max():.4f} m at most")
    assert off.mean() <= 0.02, off
    return None


def given(work):
    """Positions from elsewhere, noisy, with some far off: the map is in their frame, with its georeference."""
    os.mkdir(f"{work}/scans")
    launch("lidartestsrc seed=5 num-buffers=120 rings=32 columns=512 speed=15 moving-objects=0 ! tee name=t ! queue "
           f"! pcdenc ! multifilesink location={work}/scans/%06d.pcd "
           f"t. ! queue ! trajectorysink role=ground-truth location={work}/truth.txt")
    rows = np.loadtxt(f"{work}/truth.txt")
    yaw, place = np.radians(40), np.array([388096, 3948996, 55.0])
    turn = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    truth = rows[:, 1:4] @ turn.T + place
    rng = np.random.default_rng(3)
    noisy = truth + rng.normal(0, 0.2, truth.shape)
    # Every scan around the third submap's begin: one factor is 40 m off.
    noisy[30:34] += [40, -20, 0]
    os.mkdir(f"{work}/gnss")
    with open(f"{work}/gnss/fixes.txt", "w", encoding="utf-8") as file:
        for row, p in zip(rows, noisy):
            file.write(f"{row[0]:.9f} {p[0]:.4f} {p[1]:.4f} {p[2]:.4f} 0 0 0 1\n")
    with open(f"{work}/gnss/map_projector_info.yaml", "w", encoding="utf-8") as file:
        file.write("projector_type: LocalCartesianUTM\nvertical_datum: WGS84\n")
    text = tool("make", "-o", f"{work}/made", "-t", f"{work}/gnss/fixes.txt", "--sigma=0.2", f"{work}/scans")
    print("# " + text.strip().replace("\n", "\n# "))
    _, made = positions(f"{work}/made/poses.txt")
    off = np.linalg.norm(made - truth, axis=1)
    print(f"# given positions: off by {off.mean():.3f} m in the mean, {off.max():.3f} m at most")
    # Some ten factors of 0.2 m an axis: a common shift of 0.1 m, and a heading of 0.1 m over half the way.
    assert off.mean() <= 0.25 and off.max() <= 0.6, off
    assert "LocalCartesianUTM" in open(f"{work}/made/map_projector_info.yaml", encoding="utf-8").read()
    assert b"SIZE 8 8 8" in open(f"{work}/made/map.pcd", "rb").read(400)
    assert "\npose,0," in open(f"{work}/made/edges.csv", encoding="utf-8").read()
    tool("make", "-o", f"{work}/again", "--n-threads=1", "-t", f"{work}/gnss/fixes.txt", "--sigma=0.2", f"{work}/scans")
    for name in "map.pcd", "poses.txt", "edges.csv":
        assert filecmp.cmp(f"{work}/made/{name}", f"{work}/again/{name}", shallow=False), name
    # Fixes hold the poses: these are no less certain than a fix.
    table = np.loadtxt(f"{work}/made/covariances.csv", delimiter=",", skiprows=1)
    assert np.all(table[:, 1] > 0) and np.all(table[:, 1] < 0.2 ** 2), table[:, 1].max()
    # With rotations: exact ones leave no doubt.
    tool("make", "-o", f"{work}/exact", "-t", f"{work}/truth.txt", "--sigma=0.02", "--sigma-turn=0.1", f"{work}/scans")
    _, made = positions(f"{work}/exact/poses.txt")
    off = np.linalg.norm(made - rows[:, 1:4], axis=1)
    print(f"# true poses: off by {off.mean():.3f} m in the mean, {off.max():.3f} m at most")
    assert off.max() <= 0.05, off
    assert "--sigma" in tool("make", "-o", f"{work}/x", "--sigma=0", f"{work}/scans", status=2)
    assert "--trajectory" in tool("make", "-o", f"{work}/x", "--recorded-poses", f"{work}/scans", status=1)


def kill_when(ready, *arguments):
    """Kills the tool as soon as @ready() says so; one that ended first is started again."""
    for _ in range(5):
        with subprocess.Popen([TOOL, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            while run.poll() is None and not ready():
                time.sleep(0.001)
            run.send_signal(signal.SIGKILL)
        if run.returncode == -signal.SIGKILL:
            return
        assert run.returncode == 0, run.returncode
    raise AssertionError("ended before it could be killed")


def size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def resumed(work):
    """A run that was killed, three times, goes on and makes the bytes of one run; others are refused."""
    for name, seed, n in ("drive", 5, 1100), ("other", 6, 120):
        os.mkdir(f"{work}/{name}")
        launch(f"lidartestsrc seed={seed} num-buffers={n} rings=16 columns=256 speed=20 moving-objects=0 ! pcdenc "
               f"! multifilesink location={work}/{name}/%06d.pcd")
    one, out = f"{work}/one", f"{work}/out/drive"
    kept = f"{out}.resume"
    command = ("make", "-o", out, "--resume", f"{work}/drive")
    text = tool("make", "-o", one, f"{work}/drive")
    print("# " + text.strip().replace("\n", "\n# "))
    assert not os.path.exists(f"{one}.resume")
    kill_when(lambda: size(f"{kept}/state") > 0, *command)
    for arguments, why in (([f"{work}/drive", "--resolution=2"], "other options"),
                           ([f"{work}/other"], "not those")):
        text = tool("make", "-o", out, "--resume", *arguments, status=1)
        assert why in text and "remove the folder" in text, text
    half = size(f"{kept}/points")
    kill_when(lambda: size(f"{kept}/points") > 3 * half, *command)
    kill_when(lambda: size(f"{kept}/closures") > 0, *command)
    # What is cut off at the end of a file, or was not finished, is not believed.
    with open(f"{kept}/points", "ab") as file:
        file.write(bytes(1000))
    with open(f"{kept}/closures", "ab") as file:
        file.write(bytes(100))
    text = tool(*command)
    assert "goes on there" in text, text
    assert not os.path.exists(kept)
    for name in "map.pcd", "poses.txt", "edges.csv":
        assert filecmp.cmp(f"{one}/{name}", f"{out}/{name}", shallow=False), name
    # A damaged state, and damaged points.
    kill_when(lambda: size(f"{kept}/state") > 0, *command)
    for name in "points", "state":
        data = bytearray(open(f"{kept}/{name}", "rb").read())
        data[len(data) // 2] ^= 1
        with open(f"{kept}/{name}", "wb") as file:
            file.write(data)
        text = tool(*command, status=1)
        assert name in text and "damaged" in text, text


def refused(work):
    """What cannot be done says why."""
    os.mkdir(f"{work}/empty")
    assert "--output" in tool("make", "nowhere", status=2)
    assert "ranges" in tool("make", "-o", f"{work}/x", "--min-range=9", "--max-range=3", "a.pcd", status=2)
    tool("make", "-o", f"{work}/x", f"{work}/empty", status=1)
    with open(f"{work}/few.pcd", "w", encoding="utf-8") as file:
        file.write("FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 2\nHEIGHT 1\nDATA ascii\n1 2 3\n4 5 6\n")
    assert "enough points" in tool("make", "-o", f"{work}/x", f"{work}/few.pcd", status=1)


if __name__ == "__main__":
    sys.exit(tap.run((simulated, kitti, given, resumed, refused), in_folders=True))
