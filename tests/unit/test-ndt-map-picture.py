#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Pictures of ndt-map (TAP): what is drawn where.

usage: test-ndt-map-picture.py NDT_MAP
"""

import os
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

NDT_MAP = sys.argv[1]
FOLDER = tempfile.TemporaryDirectory(prefix="ndt-map-picture-")
MARGIN = 56  # pixels around the map, as of ndt-picture.c
GRID = 40    # a pixel of the map differs from white and from the grid by more than this in a channel


def path(name):
    return os.path.join(FOLDER.name, name)


def write(name, points):
    points = np.asarray(points, "<f4")
    with open(path(name), "wb") as file:
        file.write((f"VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH {len(points)}\n"
                    f"HEIGHT 1\nPOINTS {len(points)}\nDATA binary\n").encode() + points.tobytes())
    return path(name)


def run(*arguments, status=0):
    done = subprocess.run([NDT_MAP, "picture", *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def png(name):
    """Pixels of an 8-bit RGB file, rows from the top."""
    data = open(path(name), "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack_from(">IIBB", data, at + 8)
            assert (depth, color) == (8, 2)
        elif kind == b"IDAT":
            parts += data[at + 8:at + 8 + size]
        at += size + 12
    raw = np.frombuffer(zlib.decompress(parts), np.uint8).reshape(height, 1 + 3 * width)
    rows = np.zeros((height, width, 3), np.int64)
    before = np.zeros(3 * width, np.int64)
    for y in range(height):  # the five filters of PNG
        kind, line = raw[y, 0], raw[y, 1:].astype(np.int64)
        if kind == 2:
            line = (line + before) % 256
        elif kind in (1, 3, 4):
            for x in range(3 * width):
                a = line[x - 3] if x >= 3 else 0
                b, c = before[x], before[x - 3] if x >= 3 else 0
                p = a + b - c
                best = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
                line[x] = (line[x] + (a if kind == 1 else (a + b) // 2 if kind == 3 else best)) % 256
        rows[y] = line.reshape(width, 3)
        before = line
    return rows


def pixel(picture, bounds, width, x, y):
    """The pixel of a place: scale and edge as run_picture() chooses them."""
    (x0, x1), (y0, y1) = bounds
    edge = 0.02 * max(x1 - x0, y1 - y0) + 0.5
    scale = width / (x1 - x0 + 2 * edge)
    rows = int(np.ceil((y1 - y0 + 2 * edge) * scale))
    return picture[int(MARGIN + rows - 1 - np.floor((y - y0 + edge) * scale)),
                   int(MARGIN + np.floor((x - x0 + edge) * scale))]


def test_heights():
    """Low points are dark violet, high ones yellow, each in its place; where nothing is it is white."""
    square = [(x, y) for x in np.arange(0, 5, 0.02) for y in np.arange(0, 5, 0.02)]
    low = [(x, y, 0) for x, y in square]
    high = [(x + 35, y + 15, 8) for x, y in square]
    write("map.pcd", low + high + [(np.nan, 1, 1)])
    out = run("-o", path("map.png"), "-w", "400", path("map.pcd"))
    assert f"picture: {path('map.png')}" in out
    picture, bounds = png("map.png"), ((0, 39.98), (0, 19.98))
    assert picture.shape[1] == 400 + 2 * MARGIN
    assert list(pixel(picture, bounds, 400, 2.5, 2.5)) == [68, 1, 83]
    assert list(pixel(picture, bounds, 400, 37.5, 17.5)) == [253, 231, 36]
    for x, y in ((37.5, 2.5), (2.5, 17.5), (21, 11)):
        assert pixel(picture, bounds, 400, x, y).min() > 255 - GRID, (x, y)


def test_trajectory_and_errors():
    """The line is red where the poses are; the printed errors are those of the files."""
    with open(path("truth.txt"), "w", encoding="utf-8") as truth, \
            open(path("poses.txt"), "w", encoding="utf-8") as poses:
        for i in range(40):
            truth.write(f"{i / 10} {i} 10 0 0 0 0 1\n")
            poses.write(f"{i / 10} {i} 10.25 0 0 0 0 1\n")
    out = run("-o", path("drive.png"), "-w", "400", "-t", path("poses.txt"), "-e", path("truth.txt"),
              path("map.pcd"))
    assert "poses compared: 40" in out and "mean error: 0.2500 m, 0.0000 degrees" in out, out
    red = pixel(png("drive.png"), ((0, 39.98), (0, 19.98)), 400, 20, 10.25)
    assert red[0] > 150 and red[1] < 120 and red[2] < 120, red
    run("-o", path("drive.svg"), "-t", path("poses.txt"), path("map.pcd"))
    assert b"<svg" in open(path("drive.svg"), "rb").read(300)


def test_statuses():
    """Poses of a CSV file have the colours of their statuses, without gaps, and other words that of the file."""
    words = ["tracking"] * 10 + ["degraded"] * 10 + ["lost"] * 10 + ["skipped"] * 5 + ["else"] * 5
    with open(path("poses.csv"), "w", encoding="utf-8") as file:
        file.write("time,status,x,y,z,qx,qy,qz,qw\n")
        for i, word in enumerate(words):
            file.write(f"{i / 10},{word},{i},10,0,0,0,0,1\n")
    run("-o", path("status.png"), "-w", "800", "-t", path("poses.csv"), path("map.pcd"))
    picture, bounds = png("status.png"), ((0, 39.98), (0, 19.98))
    for x, color in ((5, (26, 153, 51)), (15, (242, 153, 0)), (25, (230, 26, 26)), (32, (153, 77, 230)), (38, (214, 38, 41)),
                     (9.5, (242, 153, 0)), (19.5, (230, 26, 26))):
        # The line is 2 pixels high, a pixel 0.05 m.
        near = [pixel(picture, bounds, 800, x, 10 + y) for y in (-0.05, 0, 0.05)]
        assert min(np.abs(at - color).max() for at in near) < GRID, (x, near, color)


def test_age():
    """With --color age a pixel has the colour of its newest file."""
    square = np.array([(x, y, 0) for x in np.arange(0, 5, 0.02) for y in np.arange(0, 5, 0.02)])
    os.makedirs(path("tiles"), exist_ok=True)
    for name, shift, days in (("old.pcd", 0, 30), ("new.pcd", 20, 1), ("both.pcd", 0.5, 1)):
        points = square + [shift, 0, 0] if name != "both.pcd" else square[square[:, 0] < 1] + [shift, 0, 0]
        write(os.path.join("tiles", name), points)
        when = os.stat(path("map.pcd")).st_mtime - days * 86400
        os.utime(path(os.path.join("tiles", name)), (when, when))
    run("-o", path("age.png"), "-w", "400", "-c", "age", path("tiles"))
    picture, bounds = png("age.png"), ((0, 24.98), (0, 4.98))
    assert list(pixel(picture, bounds, 400, 4, 2.5)) == [253, 231, 36]
    for x in (22.5, 1):
        assert list(pixel(picture, bounds, 400, x, 2.5)) == [68, 1, 83], x


def test_recording_without_reader():
    """A recording is read by ndt-bag; where that is not, a sentence says so."""
    with open(path("drive.mcap"), "wb") as file:
        file.write(b"\x89MCAP0\r\n")
    before = os.environ["PATH"]
    os.environ["PATH"] = FOLDER.name
    try:
        assert "ndt-bag" in run("-o", path("x.png"), "-t", path("drive.mcap"), path("map.pcd"), status=1)
    finally:
        os.environ["PATH"] = before


def test_refused():
    """Each mistake has its sentence, and leaves no file."""
    assert ".png or .svg" in run("-o", path("x.jpg"), path("map.pcd"), status=1)
    assert "no such file" in run("-o", path("x.png"), path("missing.pcd"), status=1).lower()
    assert "no points" in run("-o", path("x.png"), write("empty.pcd", np.zeros((0, 3))), status=1)
    assert "--output" in run(path("map.pcd"), status=2)
    assert "--width" in run("-o", path("x.png"), "-w", "3", path("map.pcd"), status=2)
    assert "--color" in run("-o", path("x.png"), "-c", "red", path("map.pcd"), status=2)
    with open(path("later.txt"), "w", encoding="utf-8") as later:
        later.write("1000 0 0 0 0 0 0 1\n1001 0 0 0 0 0 0 1\n")
    out = run("-o", path("x.png"), "-t", path("poses.txt"), "-e", path("later.txt"), path("map.pcd"), status=1)
    assert "of one clock" in out, out
    assert not os.path.exists(path("x.png"))


sys.exit(tap.run(tap.named(globals())))
