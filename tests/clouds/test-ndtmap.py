#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Finished maps through ndt-map and ndtlocalize: the poses of the points that they are made of (TAP).

usage: test-ndtmap.py NDT_MAP
"""

import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

NDT_MAP = sys.argv[1]
FOLDER = tempfile.TemporaryDirectory(prefix="ndtmap-")


def path(name):
    return os.path.join(FOLDER.name, name)


def run(*arguments, status=0):
    done = subprocess.run([NDT_MAP, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == status, (arguments, done)
    return done.stdout + done.stderr


def launch(map_name, settings="resolution=1 initial-pose=0,0,1.8", status=0):
    """The trajectory of a drive in a map; what was said where it failed."""
    poses = path("poses.txt")
    if os.path.exists(poses):
        os.remove(poses)
    done = subprocess.run(
        f"gst-launch-1.0 lidartestsrc num-buffers=15 noise-seed=5 rings=32 columns=512 ! "
        f"ndtlocalize backend=cpu map-location={path(map_name)} {settings} ! "
        f"trajectorysink location={poses}",
        shell=True, capture_output=True, text=True, timeout=300)
    assert (done.returncode != 0) == status, done
    if status:
        return done.stdout + done.stderr
    with open(poses, encoding="ascii") as file:
        return [line for line in file if not line.startswith("#")]


def test_poses():
    """To the bit, from each way to make one."""
    run("simulate", "--map-spacing=0.4", path("town.pcd"))
    expected = launch("town.pcd")
    assert len(expected) == 15
    run("convert", "-r", "1", "-o", path("town.ndtmap"), path("town.pcd"))
    assert launch("town.ndtmap") == expected
    run("build", "-r", "1", "-o", path("built.ndtmap"), path("town.pcd"))
    assert launch("built.ndtmap") == expected
    # All of it is mapped, whatever the radius.
    assert launch("town.ndtmap", "resolution=1 initial-pose=0,0,1.8 map-radius=40") == expected
    # Searched for in all of it: by the voxels, whose order is another.
    assert launch("town.ndtmap", "resolution=1") == launch("town.pcd", "resolution=1")
    # Tiles are a map of several regions.
    run("tile", "-s", "50", "-o", path("tiles"), path("town.pcd"))
    run("convert", "-r", "1", "-o", path("tiles.ndtmap"), path("tiles"))
    assert launch("tiles.ndtmap") == launch("tiles")


def test_covariance():
    """The other choice that makes another map."""
    settings = "resolution=2 covariance-estimate=autoware initial-pose=0,0,1.8"
    run("convert", "--covariance-estimate=autoware", "-o", path("autoware.ndtmap"), path("town.pcd"))
    assert launch("autoware.ndtmap", settings) == launch("town.pcd", settings)
    text = launch("autoware.ndtmap", "resolution=2", status=1)
    assert "set covariance-estimate=autoware" in text, text


def test_refused():
    text = launch("town.ndtmap", "resolution=2", status=1)
    assert "set resolution=1, or make another by ndt-map convert" in text, text
    with open(path("town.ndtmap"), "rb") as file:
        data = file.read()
    for name, damaged, because in (
            ("cut.ndtmap", data[:len(data) // 2], "bytes are missing"),
            ("newer.ndtmap", data[:12] + b"\2" + data[13:], "made by a newer program"),
            ("older.ndtmap", data[:12] + b"\0" + data[13:], "is of version 0"),
            ("flipped.ndtmap", data[:-40] + bytes([data[-40] ^ 1]) + data[-39:], "is damaged")):
        with open(path(name), "wb") as file:
            file.write(damaged)
        text = launch(name, status=1)
        assert because in text and name in text, text
        assert because in run("info", path(name), status=1)
    for command in ("build", "tile"):
        text = run(command, "-o", path("no" + command), path("town.ndtmap"), status=1)
        assert "is a finished map, whose points are gone" in text, text
    assert "has to end in .ndtmap" in run("convert", "-o", path("a.pcd"), path("town.pcd"), status=2)
    assert "resolution has to be" in run("convert", "-r", "0", "-o", path("a.ndtmap"),
                                         path("town.pcd"), status=2)
    assert not os.path.exists(path("a.ndtmap"))


def test_info():
    text = run("info", path("town.ndtmap"))
    points = run("info", "-r", "1", path("town.pcd"))
    for line in points.splitlines():
        if not line.startswith("load time"):
            assert line in text, line
    assert re.search(r"^version: 1$", text, re.M) and re.search(r"^tiles: \d+ of 32 m$", text, re.M)


def test_picture():
    """Drawn by the means of its voxels, as many pixels wide as that of its points."""
    done = subprocess.run([NDT_MAP, "picture", "--width", "300", "-o", path("a.svg"),
                           path("town.ndtmap")], capture_output=True, text=True, timeout=300)
    if "built without Cairo" in done.stderr:
        return "SKIP no Cairo"
    assert done.returncode == 0, done
    assert os.path.getsize(path("a.svg")) > 10000
    return None


sys.exit(tap.run(tap.named(globals())))
