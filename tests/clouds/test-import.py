#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ndt-map import: origins, georeferences and what it warns of, against numpy and laspy (TAP).

usage: test-import.py NDT_MAP
"""

import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

NDT_MAP = sys.argv[1]
CI = os.environ.get("CI") == "true"
FOLDER = tempfile.TemporaryDirectory(prefix="import-")
rng = np.random.default_rng(1)

try:
    import laspy
    from pypcd4 import PointCloud
except ImportError as error:
    if CI:
        print("1..1\nnot ok 1 - packages of tests/requirements.txt:", error)
        sys.exit(1)
    print("1..0 # SKIP", error, "(tests/requirements.txt)")
    sys.exit(0)

INFO = "map_projector_info.yaml"


def path(*names):
    os.makedirs(os.path.join(FOLDER.name, *names[:-1]), exist_ok=True)
    return os.path.join(FOLDER.name, *names)


def run(*arguments, status=0):
    done = subprocess.run([NDT_MAP, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == status, (arguments, done)
    return done.stdout + done.stderr


def write_info(folder, text):
    with open(path(folder, INFO), "w", encoding="utf-8") as file:
        file.write(text)


def read_info(folder):
    with open(path(folder, INFO), encoding="utf-8") as file:
        return file.read()


def write(name, xyz):
    PointCloud.from_xyz_points(xyz.astype("f8")).save(name)
    return name


def read(name):
    cloud = PointCloud.from_path(name)
    return cloud, np.column_stack([cloud.pc_data[axis].astype(float) for axis in "xyz"])


def ground():
    return rng.uniform(0, 1, (20000, 3)) * (50, 50, 0.5)


def hall(noise=0.01, shift=0.0):
    """Floor and walls of 30 m × 20 m × 6 m, 900 points a square metre of surface; with @shift half of
    the points of walls stand beside the others."""
    def sheet(size, n):
        return rng.uniform(0, 1, (n, 2)) * size
    parts = []
    floor = sheet((30, 20), 300000)
    parts.append(np.column_stack([floor, np.zeros(len(floor))]))
    for axis, at, length in ((0, 0.3, 20), (0, 29.7, 20), (1, 0.3, 30), (1, 19.7, 30)):
        wall = sheet((length, 6), length * 6 * 200)
        across = np.full(len(wall), at) + shift * (np.arange(len(wall)) % 2)
        columns = [across, wall[:, 0], wall[:, 1]] if axis == 0 else [wall[:, 0], across, wall[:, 1]]
        parts.append(np.column_stack(columns))
    xyz = np.vstack(parts)
    return xyz + rng.normal(0, noise, xyz.shape)


def test_origin():
    """A map in UTM: an origin is chosen, taken off in double, and remembered with intensities."""
    n = 5000
    las = laspy.create(point_format=3, file_version="1.2")
    las.header.scales, las.header.offsets = [1e-3] * 3, [388000, 4000000, 0]
    source = rng.uniform(0, 1, (n, 3)) * (2000, 1500, 50) + (388096, 4123456, 30)
    las.x, las.y, las.z = source.T
    las.intensity = rng.integers(0, 65536, n)
    las.write(path("utm", "a.las"))
    exact = np.column_stack([np.asarray(las.x), np.asarray(las.y), np.asarray(las.z)])
    text = run("import", "-o", path("out", "map.pcd"), path("utm", "a.las"))
    assert "points: 5000, with intensity" in text
    assert "georeference: Local, origin at easting 389000 m, northing 4124000 m, height 0 m" in text
    cloud, xyz = read(path("out", "map.pcd"))
    assert cloud.pc_data["x"].dtype == np.float32
    # The nearest float, of what is less than 1,024 m: no other step has lost anything.
    assert np.array_equal(xyz, (exact - (389000, 4124000, 0)).astype("f4").astype(float))
    assert np.array_equal(cloud.pc_data["intensity"], np.asarray(las.intensity).astype("f4"))
    assert read_info("out") == ("projector_type: Local\n# metres that were taken off the coordinates\n"
                                "origin:\n  easting: 389000\n  northing: 4124000\n  height: 0\n")
    assert "georeference: Local, origin at easting 389000 m" in run(
        "info", "--resolution=100", path("out", "map.pcd"))

    text = run("import", "--double", "--origin=388000.5,4e6,-10", "-o", path("own", "map.pcd"),
               path("utm", "a.las"))
    _, xyz = read(path("own", "map.pcd"))
    assert np.array_equal(xyz, exact - (388000.5, 4e6, -10))
    # Again, from there: origins add up.
    run("import", "--double", "--origin=95.5,0,0", "-o", path("twice", "map.pcd"),
        path("own", "map.pcd"))
    assert "easting: 388096\n  northing: 4000000\n  height: -10\n" in read_info("twice")


def test_near_the_origin():
    """Nothing is moved, and nothing said of where it is."""
    xyz = rng.uniform(-100, 100, (1000, 3))
    run("import", "-o", path("near", "map.pcd"), write(path("near-source", "a.pcd"), xyz))
    assert np.array_equal(read(path("near", "map.pcd"))[1], xyz.astype("f4").astype(float))
    assert os.listdir(path("near", "")) == ["map.pcd"]


def test_autoware():
    """What Autoware's file says is kept; its forms are those of its documentation."""
    xyz = ground()
    for name, text, expected in (
            ("mgrs", "# header\nprojector_type: MGRS\nvertical_datum: WGS84\nmgrs_grid: 54SUE\n",
             "MGRS 54SUE, heights of WGS84"),
            ("cartesian", 'projector_type: "LocalCartesianUTM"\nvertical_datum: WGS84\nmap_origin:\n'
             "  latitude: 35.6762  # [deg]\n  longitude: 139.6503\n  altitude: 1.5\n",
             "LocalCartesianUTM, heights of WGS84, projected from latitude 35.6762, "
             "longitude 139.6503, altitude 1.5 m"),
            ("local", "projector_type: Local\nother:\n  latitude: x\nscale_factor: 1.0\n", "Local")):
        write(path(name, "map.pcd"), xyz)
        write_info(name, text)
        assert f"georeference: {expected}\n" in run("info", path(name, "map.pcd")), name
        assert f"georeference: {expected}\n" in run("info", path(name, "")), name
        run("import", "-o", path(name + "-out", "map.pcd"), path(name, "map.pcd"))
        assert f"georeference: {expected}\n" in run("info", path(name + "-out", "map.pcd"))
        for command in ("import", "convert"):
            image = path(name + "-image", command + ".ndtmap")
            run(command, "-o", image, path(name, "map.pcd"))
            assert f"georeference: {expected}\n" in run("info", image), command
    text = run("import", "--map-origin=47.5,8.5,400", "-o", path("given", "map.pcd"),
               path("local", "map.pcd"))
    assert "latitude 47.5, longitude 8.5, altitude 400 m" in text


def test_damaged_georeference():
    write(path("bad", "map.pcd"), ground())
    for text, because in (("projector_type MGRS\n", "line 1: no “key: value”"),
                          ("a: b\nmap_origin:\n  latitude: north\n", "line 3: “latitude” cannot be"),
                          ("map_origin:\n  latitude: 91\n", "“latitude” cannot be “91”"),
                          ("origin: {easting: 1}\norigin:\n  easting: nan\n", "“easting” cannot be"),
                          ("mgrs_grid: " + "x" * 64 + "\n", "“mgrs_grid” cannot be"),
                          ("#" * (1 << 21), "larger than 1 MiB")):
        write_info("bad", text)
        for arguments in (["import", "-o", path("bad-out.pcd"), path("bad", "map.pcd")],
                          ["info", path("bad", "map.pcd")]):
            said = run(*arguments, status=1)
            assert because in said and INFO in said, said
    assert not os.path.exists(path("bad-out.pcd"))


def test_two_maps_in_a_folder():
    """A map does not take another's place on Earth."""
    source = write(path("source", "a.pcd"), ground())
    run("import", "--origin=10,0,0", "-o", path("both", "a.pcd"), source)
    text = run("import", "--origin=20,0,0", "-o", path("both", "b.pcd"), source, status=1)
    assert "of another map (Local, origin at easting 10 m" in text, text
    assert not os.path.exists(path("both", "b.pcd"))
    run("import", "--origin=10,0,0", "-o", path("both", "b.pcd"), source)


def warnings_of(xyz, *options):
    source = write(path("warned", "a.pcd"), xyz)
    shutil.rmtree(path("warned-out", ""))
    text = run("import", "-r", "1", *options, "-o", path("warned-out", "map.pcd"), source)
    return [line.split(": ", 2)[2] for line in text.splitlines()
            if line.startswith("ndt-map: the map looks wrong")]


def turned(xyz, degrees):
    a = np.radians(degrees)
    return xyz @ np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]]).T


def test_good():
    for noise in (0.005, 0.02, 0.05):
        assert warnings_of(hall(noise)) == [], noise
    assert warnings_of(turned(hall(), 1)) == []


def test_double_walls():
    for shift in (0.12, 0.2, 0.3):
        said = warnings_of(hall(0.01, shift))
        assert len(said) == 1 and "surfaces are double" in said[0], (shift, said)
        centimetres = float(said[0].split("double, ")[1].split(" cm")[0])
        assert abs(centimetres - 100 * shift) <= 1, said  # printed in whole ones


def test_tilt():
    for degrees in (3, 8, 20):
        said = warnings_of(turned(hall(), degrees))
        assert len(said) == 1 and "off the vertical" in said[0], (degrees, said)
        measured = float(said[0].split("stand ")[1].split(" degrees")[0])
        assert abs(measured - degrees) < 0.3, said


def test_units():
    xyz = hall()
    said = warnings_of(xyz * 10000)
    assert any("millimetres" in line for line in said), said
    assert warnings_of(xyz * 1000, "--scale=0.001") == []
    assert any("kilometres" in line for line in warnings_of(xyz * 0.001))
    tall = write(path("tall", "a.pcd"), xyz[:, [2, 0, 1]] * (0.2, 0.2, 5))
    assert "is z up?" in run("import", "-o", path("tall-out", "map.pcd"), tall)


def test_density():
    said = warnings_of(rng.uniform(0, 60, (20000, 3)))
    assert any("fewer than" in line and "a voxel needs 6" in line for line in said), said


def test_usage():
    source = write(path("usage", "a.pcd"), hall()[:100])
    for arguments in ([], ["-o", "x.pcd"], ["--origin=1,2", "-o", "x.pcd", source],
                      ["--scale=0", "-o", "x.pcd", source],
                      ["--map-origin=95,0,0", "-o", "x.pcd", source]):
        assert "ndt-map import" in run("import", *arguments, status=2)


sys.exit(tap.run(tap.named(globals())))
