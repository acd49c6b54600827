#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ndt-map update, crop and merge: maps that are changed, and drives through what they were (TAP).

    test-edit.py NDT-MAP NDT-SCANS
"""

import csv
import filecmp
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

TOOL, SCANS = map(os.path.abspath, sys.argv[1:])
os.environ["PATH"] = os.path.dirname(SCANS) + ":" + os.environ["PATH"]
HEADER = "VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH {0}\nHEIGHT 1\nPOINTS {0}\nDATA binary\n"


def tool(*arguments, status=0):
    done = subprocess.run([TOOL, *arguments], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def launch(line):
    done = subprocess.run(["gst-launch-1.0", "-q", *line.split()], capture_output=True,
                          encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def read(path):
    """Of a binary PCD file with x, y and z alone."""
    data = open(path, "rb").read()
    begin = data.index(b"DATA binary\n") + len(b"DATA binary\n")
    kind = np.float64 if b"SIZE 8 8 8" in data[:begin] else np.float32
    return np.frombuffer(data, kind, offset=begin).reshape(-1, 3).astype(float)


def write(path, xyz):
    with open(path, "wb") as file:
        file.write(HEADER.format(len(xyz)).encode() + xyz.astype(np.float32).tobytes())


def inside(xyz, low, high, margin=0.0):
    return ((xyz >= np.array(low) - margin) & (xyz <= np.array(high) + margin)).all(1)


def changes(folder):
    with open(f"{folder}/changes.csv", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file)]


def alter(xyz, car, other, shift):
    """Takes what is in the box @car out, and puts a copy of what is in @other elsewhere."""
    taken = inside(xyz, *car)
    copy = xyz[inside(xyz, *other)] + shift
    return np.concatenate([xyz[~taken], copy]), xyz[taken], copy


def check_found(folder, taken, copy):
    """What was taken out is new to the drives, and what was put in is gone."""
    gone, added = read(f"{folder}/gone.pcd"), read(f"{folder}/added.pcd")
    box = copy.min(0), copy.max(0)
    right = inside(gone, *box, 0.1).sum()
    print(f"# gone: {right} of {len(copy)} points that were put in, and {len(gone) - right} others; "
          f"added: {len(added)} for {len(taken)} that were taken out")
    # The far side of it nobody sees; nor what is within half a metre of the ground.
    assert right >= 0.5 * len(copy) and len(gone) - right <= 0.1 * len(copy), right
    # Its lower and upper edges lie on what stays.
    hull = taken.min(0), taken.max(0)
    assert len(added) >= 60 and inside(added, *hull, 0.3).mean() >= 0.9, len(added)


def simulated(work):
    """A town with a car less and one more, three drives in traffic that agree."""
    tool("simulate", "--seed=5", "--noise-seed=9", f"{work}/all.pcd")
    launch("lidartestsrc seed=5 num-buffers=55 speed=10 rings=16 columns=128 ! trajectorysink role=ground-truth "
           f"location={work}/way.txt")
    text = tool("crop", "--trajectory", f"{work}/way.txt", "--radius=42", "-o", f"{work}/way.pcd", f"{work}/all.pcd")
    print("# " + text.strip().replace("\n", "\n# "))
    tool("build", "--leaf=0.2", "-o", f"{work}/town.pcd", f"{work}/way.pcd")
    town = read(f"{work}/town.pcd")
    altered, taken, copy = alter(town, ((46.5, -5.3, 0.2), (54, -1.8, 2)), ((29, -5.3, 0.2), (34.5, -1.8, 2)),
                                 np.array([0, 6, 0]))
    assert len(taken) > 200 and len(copy) > 200
    write(f"{work}/altered.pcd", altered)
    drives = [f"{work}/drive{i}.mcap" for i in (1, 2, 3)]
    for i, drive in enumerate(drives, 1):
        launch(f"lidartestsrc seed=5 num-buffers=55 rings=32 columns=1024 noise-seed={i} path-offset=0.{i} speed=10 "
               f"moving-objects=12 ! mcapsink location={drive}")
    text = tool("update", "-o", f"{work}/found", "--apply", f"{work}/new.pcd", f"{work}/altered.pcd", *drives)
    print("# " + text.strip().replace("\n", "\n# "))
    check_found(f"{work}/found", taken, copy)
    assert len(changes(f"{work}/found")) <= 6
    if os.path.exists(f"{work}/found/changes.png"):
        assert open(f"{work}/found/changes.png", "rb").read(4) == b"\x89PNG"
    # Applied: what is found is in it, and nothing else is lost.
    gone, added, new = (len(read(f"{work}/{name}.pcd")) for name in ("found/gone", "found/added", "new"))
    assert new == len(altered) - gone + added
    tool("update", "-o", f"{work}/again", f"{work}/altered.pcd", *drives)
    for name in "gone.pcd", "added.pcd", "changes.csv":
        assert filecmp.cmp(f"{work}/found/{name}", f"{work}/again/{name}", shallow=False), name
    # Where nothing changed, nothing is found: traffic is not.
    text = tool("update", "-o", f"{work}/same", f"{work}/town.pcd", *drives[:2])
    wrong = len(read(f"{work}/same/gone.pcd")) + len(read(f"{work}/same/added.pcd"))
    print(f"# unchanged: {wrong} points of {len(town)}")
    assert wrong <= 60, text
    # One drive alone says nothing by default.
    assert "have to agree" in tool("update", "-o", f"{work}/x", f"{work}/town.pcd", drives[0], status=2)


def kitti(work):
    """A map of the even scans, drives of the odd ones, by turns."""
    scans = os.path.join(os.environ.get("NDT_TEST_DATA", ""), "seq_kitti_drive0005", "scans_all")
    if not os.path.isdir(scans):
        if os.environ.get("CI") == "true":
            raise AssertionError(f"{scans} is missing: set NDT_TEST_DATA")
        return "SKIP no test data"
    tool("make", "-o", f"{work}/all", scans)
    poses = [line for line in open(f"{work}/all/poses.txt", encoding="utf-8") if not line.startswith("#")]
    assert len(poses) == 100
    for name, which in ("even", range(0, 100, 2)), ("a", range(1, 100, 4)), ("b", range(3, 100, 4)):
        os.mkdir(f"{work}/{name}")
        with open(f"{work}/{name}.txt", "w", encoding="utf-8") as file:
            file.writelines(poses[i] for i in which)
        for i in which:
            os.symlink(f"{scans}/{i:06d}.pcd", f"{work}/{name}/{i:06d}.pcd")
    tool("make", "--period=0.2", "-o", f"{work}/map", f"{work}/even")
    drives = ["-t", f"{work}/a.txt", "-t", f"{work}/b.txt"]
    text = tool("update", "-o", f"{work}/same", *drives, f"{work}/map/map.pcd", f"{work}/a", f"{work}/b")
    town = read(f"{work}/map/map.pcd")
    gone, added = read(f"{work}/same/gone.pcd"), read(f"{work}/same/added.pcd")
    print(f"# KITTI unchanged: {len(gone)} gone, {len(added)} added, of {len(town)} points")
    # What moves there (a cyclist, a van) is in no two drives at one place.
    assert len(gone) <= 0.005 * len(town) and len(added) <= 0.005 * len(town), text
    # A part of a wall less, and a box in the middle of the street.
    grid = np.mgrid[0:2:0.2, 0:2:0.2].reshape(2, -1).T
    box = np.concatenate([np.c_[grid, np.full(len(grid), z)] for z in (0.0, 2.0)]
                         + [np.c_[np.full(len(grid), x), grid] for x in (0.0, 2.0)]
                         + [np.c_[grid[:, 0], np.full(len(grid), y), grid[:, 1]] for y in (0.0, 2.0)])
    way = np.loadtxt(f"{work}/all/poses.txt")[60, 1:4]
    box = box - 1 + way + [0, 0, -0.2]
    write(f"{work}/altered.pcd", np.concatenate([town, box]))
    tool("update", "-o", f"{work}/found", *drives, f"{work}/altered.pcd", f"{work}/a", f"{work}/b")
    found = inside(read(f"{work}/found/gone.pcd"), box.min(0), box.max(0), 0.01).sum()
    print(f"# KITTI: {found} of {len(box)} points of a box on the way are gone")
    assert found >= 0.6 * len(box)
    return None


def crop(work):
    """Points in a box, a polygon, along a way, and all others; with intensities and the georeference."""
    rng = np.random.default_rng(1)
    xyz = rng.uniform(-50, 50, (5000, 3))
    os.mkdir(f"{work}/in")
    xyzi = np.c_[xyz, rng.uniform(0, 1, 5000)].astype(np.float32)
    with open(f"{work}/in/map.pcd", "wb") as file:
        file.write((HEADER.replace("x y z", "x y z intensity").replace("4 4 4", "4 4 4 4").replace("F F F", "F F F F")
                    .format(5000)).encode() + xyzi.tobytes())
    with open(f"{work}/in/map_projector_info.yaml", "w", encoding="utf-8") as file:
        file.write("projector_type: MGRS\nvertical_datum: WGS84\nmgrs_grid: 54SUE\n")
    xyz = xyzi[:, :3].astype(float)

    def cropped(name, *arguments):
        tool("crop", "-o", f"{work}/{name}/map.pcd", *arguments, f"{work}/in/map.pcd")
        data = open(f"{work}/{name}/map.pcd", "rb").read()
        begin = data.index(b"DATA binary\n") + len(b"DATA binary\n")
        assert "54SUE" in open(f"{work}/{name}/map_projector_info.yaml", encoding="utf-8").read()
        return np.frombuffer(data, np.float32, offset=begin).reshape(-1, 4)

    box = ((xyz >= [-10, -20, -5]) & (xyz < [30, 5, 5])).all(1)
    assert np.array_equal(cropped("box", "--box=-10,-20,-5,30,5,5"), xyzi[box])
    assert np.array_equal(cropped("out", "--box=-10,-20,-5,30,5,5", "--outside"), xyzi[~box])
    flat = ((xyz[:, :2] >= [-10, -20]) & (xyz[:, :2] < [30, 5])).all(1)
    assert np.array_equal(cropped("flat", "--box=-10,-20,30,5"), xyzi[flat])
    triangle = (xyz[:, 0] > 0) & (xyz[:, 1] > 0) & (xyz[:, 0] + xyz[:, 1] < 40)
    assert np.array_equal(cropped("polygon", "--polygon=0,0,40,0,0,40"), xyzi[triangle])
    with open(f"{work}/way.txt", "w", encoding="utf-8") as file:
        file.writelines(f"{i} {i} {-i} 0 0 0 0 1\n" for i in range(30))
    way = np.min([np.hypot(xyz[:, 0] - i, xyz[:, 1] + i) for i in range(30)], axis=0) <= 7
    assert np.array_equal(cropped("way", f"--trajectory={work}/way.txt", "--radius=7"), xyzi[way])
    assert "one of" in tool("crop", "-o", f"{work}/x.pcd", f"{work}/in/map.pcd", status=2)
    assert "corners" in tool("crop", "-o", f"{work}/x.pcd", "--polygon=0,0,1,1", f"{work}/in/map.pcd", status=2)
    assert "--box" in tool("crop", "-o", f"{work}/x.pcd", "--box=3,0,1,1", f"{work}/in/map.pcd", status=2)
    assert "nothing is written" in tool("crop", "-o", f"{work}/x.pcd", "--box=90,90,91,91", f"{work}/in/map.pcd",
                                        status=1)


def numbers(text):
    """Of the line that says the transform."""
    line = next(line for line in text.splitlines() if line.startswith("transform of"))
    return np.array([float(x) for x in line.split(": ")[1].split(",")])


def merge(work):
    """Halves of a town that overlap: searched for, from a rough transform, and refused where they are of two towns."""
    for seed in 5, 6:
        tool("simulate", f"--seed={seed}", f"--noise-seed={seed}", f"{work}/town{seed}.pcd")
        tool("build", "--leaf=0.3", "-o", f"{work}/{seed}.pcd", f"{work}/town{seed}.pcd")
    town = read(f"{work}/5.pcd")
    place, yaw = np.array([100, -30, 2.0]), np.radians(70)
    turn = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    one, other = town[town[:, 0] < 40], town[town[:, 0] > -20]
    write(f"{work}/one.pcd", one)
    write(f"{work}/other.pcd", (other - place) @ turn)
    for name, arguments in ("searched", ()), ("given", ("--transform=101,-31,2.3,0,0,72",)):
        text = tool("merge", "--leaf=0.3", "-o", f"{work}/{name}.pcd", *arguments, f"{work}/one.pcd", f"{work}/other.pcd")
        found = numbers(text)
        off = np.linalg.norm(found[:3] - place)
        turned = np.degrees(abs(2 * np.arctan2(found[5], found[6]) - yaw))
        print(f"# {name}: off by {off:.4f} m, {turned:.4f} degrees; {text.splitlines()[1]}")
        # A voxel's mean is good to millimetres; the places reach some 100 m.
        assert off <= 0.02 and turned <= 0.02, text
        joined = read(f"{work}/{name}.pcd")
        # Where both have a cube its centroid is one point.
        assert len(town) * 0.9 <= len(joined) <= len(town) * 1.4, (len(joined), len(town))
    tool("merge", "--leaf=0.3", "-o", f"{work}/again.pcd", "--n-threads=1", f"{work}/one.pcd", f"{work}/other.pcd")
    assert filecmp.cmp(f"{work}/searched.pcd", f"{work}/again.pcd", shallow=False)
    for arguments in (), ("--transform=0,0,0,0,0,0",):
        text = tool("merge", "-o", f"{work}/x.pcd", *arguments, f"{work}/one.pcd", f"{work}/6.pcd", status=1)
        assert "cannot be joined" in text and not os.path.exists(f"{work}/x.pcd"), text


if __name__ == "__main__":
    sys.exit(tap.run((simulated, kitti, crop, merge), in_folders=True))
