#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""ndt-map against numpy (TAP).

usage: test-ndt-map.py NDT_MAP
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

NDT_MAP = sys.argv[1]
FOLDER = tempfile.mkdtemp(prefix="ndt-map-")
rng = np.random.default_rng(1)


def path(name):
    return os.path.join(FOLDER, name)


def run(*arguments, status=0):
    """Output of ndt-map, which has to end with @status."""
    done = subprocess.run([NDT_MAP, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def write(name, points, dtype="<f8", data="binary"):
    size = np.dtype(dtype).itemsize
    head = (f"VERSION .7\nFIELDS x y z\nSIZE {size} {size} {size}\nTYPE F F F\nCOUNT 1 1 1\n"
            f"WIDTH {len(points)}\nHEIGHT 1\nPOINTS {len(points)}\nDATA {data}\n")
    os.makedirs(os.path.dirname(path(name)), exist_ok=True)
    with open(path(name), "wb") as file:
        file.write(head.encode() + np.ascontiguousarray(points, dtype).tobytes())
    return path(name)


def read(name):
    """Points of a binary or ascii file with x, y, z alone."""
    with open(path(name), "rb") as file:
        head, data = re.split(rb"(?<=DATA binary\n)|(?<=DATA ascii\n)", file.read(), maxsplit=1)
    n = int(re.search(rb"^POINTS (\d+)", head, re.M)[1])
    dtype = "<f" + re.search(rb"^SIZE (\d)", head, re.M)[1].decode()
    if b"DATA ascii" in head:
        points = np.array([line.split() for line in data.decode().splitlines()], float)
    else:
        points = np.frombuffer(data, dtype)
    return points.reshape(n, 3).astype(float)


def value(output, name):
    return re.search(rf"^{re.escape(name)}: (.*)$", output, re.M)[1]


def centroids(points, leaf):
    """Of the cells of a grid, sorted."""
    cells = np.floor(points / leaf).astype(np.int64)
    unique, which = np.unique(cells, axis=0, return_inverse=True)
    which = which.ravel()
    sums = np.zeros((len(unique), 3))
    corners = unique * leaf
    np.add.at(sums, which, points - corners[which])
    return corners + sums / np.bincount(which)[:, None]


def sort(points):
    return points[np.lexsort(points.T)]


def test_join():
    a = rng.uniform(-20, 20, (5000, 3)) + [588348.9, 4141240.2, -30]
    b = rng.uniform(-20, 20, (3000, 3)) + [588360.9, 4141240.2, -30]
    b[7] = np.nan
    write("maps/b.pcd", b)
    write("maps/a.pcd", a)
    out = run("build", "--double", "-o", path("all.pcd"), path("maps"))
    assert value(out, "points written") == "7999", out
    expected = np.vstack([a, b[np.isfinite(b).all(1)]])
    assert (read("all.pcd") == expected).all()  # in the order of names, to the bit

    run("build", "--double", "--leaf", "1.5", "-o", path("thin.pcd"), path("maps"))
    thin = read("thin.pcd")
    want = centroids(expected, 1.5)
    assert len(thin) == len(want)
    # Each side rounds at coordinates of 4e6: 1e-9 m is two units in the last place.
    assert np.abs(sort(thin) - sort(want)).max() < 4e-9


def test_single_precision():
    points = rng.uniform(-20, 20, (100, 3))
    write("near.pcd", points)
    out = run("build", "-o", path("near32.pcd"), "-e", "ascii", path("near.pcd"))
    assert (read("near32.pcd").astype(np.float32) == points.astype(np.float32)).all()
    assert "--double" not in out
    write("far.pcd", points + [500000, 0, 0])
    out = run("build", "-o", path("far32.pcd"), path("far.pcd"))
    assert "use --double" in out, out


def test_scans():
    scans = [rng.uniform(-10, 10, (400, 3)).astype(np.float32) for _ in range(3)]
    angles = [0.1, 0.9, 2.0]
    lines, moved = [], []
    for i, (scan, angle) in enumerate(zip(scans, angles)):
        write(f"scans/{i:03}.pcd", scan, "<f4")
        c, s = np.cos(angle), np.sin(angle)
        rotation, shift = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), np.array([100. * i, 5, -1])
        ranges = np.linalg.norm(scan.astype(float), axis=1)
        kept = scan[(ranges >= 3) & (ranges <= 9)].astype(float)
        if i == 1:
            lines.append(" ".join(["nan"] * 12))
            continue
        lines.append(" ".join(f"{v:.17g}" for v in np.hstack([rotation, shift[:, None]]).ravel()))
        moved.append(kept @ rotation.T + shift)
    with open(path("kitti.txt"), "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    out = run("build", "-d", "-o", path("map.pcd"), "-t", path("kitti.txt"), "--min-range", "3",
              "--max-range", "9", path("scans"))
    assert value(out, "scans with a pose") == "2", out
    expected = np.vstack(moved)
    have = read("map.pcd")
    assert have.shape == expected.shape, (have.shape, expected.shape)
    # Products of three terms up to 200 round at 1e-14 each.
    assert np.abs(have - expected).max() < 1e-12

    with open(path("short.txt"), "w", encoding="ascii") as file:
        file.write(lines[0] + "\n")
    out = run("build", "-o", path("no.pcd"), "-t", path("short.txt"), path("scans"), status=1)
    assert "1 poses for 3 scans" in out, out
    assert not os.path.exists(path("no.pcd"))


def test_info():
    points = np.stack(np.meshgrid(np.arange(40) / 4, np.arange(40) / 4, np.arange(12) / 4),
                      -1).reshape(-1, 3) + 0.125
    write("grid.pcd", points)
    out = run("info", "--resolution", "1", "--levels", "2", path("grid.pcd"))
    assert value(out, "points") == str(len(points)), out
    assert value(out, "x") == "0.125 to 9.875 m (9.750 m)", out
    assert value(out, "voxels of 1 m") == str(10 * 10 * 3), out
    assert value(out, "voxels of 2 m") == str(5 * 5 * 2), out
    assert "voxels of 4 m" not in out
    assert 48 < float(value(out, "bytes per voxel")) <= 192, out
    assert value(out, "load time").endswith(" s")


def metadata(name):
    """Of a folder of tiles: the size, and corners by names."""
    with open(path(name + "/pointcloud_map_metadata.yaml"), encoding="ascii") as file:
        lines = dict(line.strip().split(": ") for line in file)
    size = float(lines.pop("x_resolution"))
    assert float(lines.pop("y_resolution")) == size
    return size, {name: tuple(map(float, corner.strip("[]").split(", ")))
                  for name, corner in lines.items()}


def assert_tiles(folder, points, size):
    """Each tile has the points of its square, in the order in which they came, to the bit."""
    have, corners = metadata(folder)
    assert have == size
    cells = np.floor(points[:, :2] / size)
    assert len(corners) == len(np.unique(cells, axis=0))
    for name, corner in corners.items():
        inside = (cells == np.round(np.array(corner) / size)).all(1)
        assert (read(folder + "/" + name) == points[inside]).all(), name
    files = set(os.listdir(path(folder)))
    assert files == set(corners) | {"pointcloud_map_metadata.yaml"}, files


def test_tile():
    points = rng.uniform(-50, 50, (20000, 3)) + [588348.9, 4141240.2, -30]
    other = rng.uniform(-30, 30, (5000, 3)).astype(np.float32).astype(float) + [588348, 4141240, 0]
    points[11] = np.inf
    write("cut/b.pcd", points)
    write("cut/a.pcd", other)
    out = run("tile", "--size", "12.5", "-o", path("new/tiles"), path("cut"))
    assert value(out, "files") == "2" and value(out, "points") == "24999", out
    everything = np.vstack([other, np.delete(points, 11, axis=0)])
    assert_tiles("new/tiles", everything, 12.5)
    assert value(out, "tiles") == str(len(metadata("new/tiles")[1])), out
    info = run("info", "-r", "8", path("new/tiles"))
    assert value(info, "tiles") == value(out, "tiles"), info
    assert value(info, "largest tile") == "12.500 m x 12.500 m", info
    assert value(info, "points") == "24999", info
    # The same map, but for the order in which cells on borders are added up.
    whole = run("info", "-r", "8", path("cut"))
    for name in "x", "y", "z", "voxels of 8 m", "voxels of 32 m":
        assert value(info, name) == value(whole, name), name

    # Floats stay floats; borders belong to the tile above them, and −0 to none of its own.
    edges = np.array([[0, 0, 0], [-0.0, -0.0, 1], [20, -20, 2], [-20, 39.99, 3], [19.99, 0, 4]])
    write("edges.pcd", edges, "<f4")
    run("tile", "-o", path("edges"), path("edges.pcd"))
    assert_tiles("edges", edges.astype(np.float32).astype(float), 20)

    # Without metadata the boxes are those of the points.
    os.remove(path("new/tiles/pointcloud_map_metadata.yaml"))
    info = run("info", "-r", "8", path("new/tiles"))
    assert value(info, "largest tile").startswith("12.4"), info


def peak(*arguments):
    """Bytes of memory that ndt-map had at most, pages of mapped files included."""
    with subprocess.Popen([NDT_MAP, *arguments], stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss * 1024


# Ground and walls of a town of 400 m, to 4 mm, as maps are that were thinned.
LARGE = """
import sys
import numpy as np
rng, n = np.random.default_rng(1), int(sys.argv[2])
points = np.empty((n, 3), np.float32)
points[:, :2] = rng.integers(0, 400 << 8, (n, 2), np.int32) / np.float32(256)
points[:, 2] = rng.integers(0, 64, n, np.int32) / np.float32(256)
points[::2, 0] = np.round(points[::2, 0] / 20) * 20
points[::2, 2] *= 30
with open(sys.argv[1], "wb") as file:
    file.write(b"FIELDS x y z\\nWIDTH %d\\nDATA binary\\n" % n + points.tobytes())
"""


def test_memory():
    if os.environ.get("NDT_TEST_SANITIZER"):
        return "SKIP sanitizers take memory of their own"
    n = 10_000_000
    size = n * 12
    # In a process of its own: what this one has at most, its children are said to have had.
    subprocess.run([sys.executable, "-c", LARGE, path("large.pcd"), str(n)], check=True)
    run("build", "-e", "binary_compressed", "-o", path("packed.pcd"), path("large.pcd"))
    for name in "large.pcd", "packed.pcd":
        have = peak("info", path(name))
        print(f"# {name}: {have / size:.2f} of the points' size")
        assert have <= 2 * size, (name, have / size)
        os.remove(path(name))
    return None


# After test_memory, since it takes memory itself.
def test_tile_larger_than_memory():
    # 64 MiB of points are kept, 72 MB are cut: into 441 tiles.
    subprocess.run([sys.executable, "-c", LARGE, path("all.pcd"), "6000000"], check=True)
    have = peak("tile", "-o", path("all"), path("all.pcd"))
    with open(path("all.pcd"), "rb") as file:
        points = np.frombuffer(file.read()[-72_000_000:], "<f4").reshape(-1, 3).astype(float)
    size, corners = metadata("all")
    cells = np.floor(points[:, :2] / size) * size
    for name in ("0_0.pcd", "200_380.pcd", "400_0.pcd"):
        inside = (cells == corners[name]).all(1)
        assert inside.any() and (read("all/" + name) == points[inside]).all(), name
    n_bytes = sum(os.path.getsize(path("all/" + name)) for name in corners)
    assert 72_000_000 < n_bytes < 72_000_000 + 1000 * len(corners), n_bytes
    assert len(os.listdir(path("all"))) == len(corners) + 1
    subprocess.run(["rm", "-r", path("all")], check=True)
    os.remove(path("all.pcd"))
    print(f"# {have >> 20} MiB")
    if not os.environ.get("NDT_TEST_SANITIZER"):
        # The file is mapped, and buffers grow by doubling.
        assert have < 72_000_000 + (2 * 64 << 20) + (30 << 20), have


# Of the maps that lidartestsrc of version 0.1 wrote with the properties of the same names.
SIMULATED = {
    (): "f533e662affe5088b311f440c52333f3f8da40a5f3c53f7f601e9726182b0b3f",
    ("--world=tunnel", "--seed", "1", "--noise-seed", "3", "--map-spacing=0.7"):
        "530ff20e7c7b810134321347443231215587909fa923054a701505f35e4a4219",
    ("--world=highway", "--map-spacing=1", "--range-noise=0.05"):
        "3cb3344ac676d34451e3272a92b66069f81983be92779114566fa7868df1d978",
    ("--world=hall", "--seed=4294967295", "--offset=388096,3948996,0", "--map-spacing=0.5"):
        "ea3e8d4fd0603c73b82de04282fcbf51f25959e39c891837b45f5403057a5937",
}


def test_simulate():
    for options, digest in SIMULATED.items():
        output = run("simulate", *options, path("world.pcd"))
        with open(path("world.pcd"), "rb") as file:
            assert hashlib.sha256(file.read()).hexdigest() == digest, options
        assert value(run("info", path("world.pcd")), "points") == value(output, "points written")
        os.remove(path("world.pcd"))


def test_wrong_usage():
    for arguments in ([], ["frobnicate"], ["build"], ["build", "a.pcd"], ["info"],
                      ["info", "a", "b"], ["build", "-o", "x", "--leaf", "-1", "y"],
                      ["build", "-o", "x", "--frob", "y"], ["build", "-o", "x", "-e", "zip", "y"],
                      ["build", "-o", "x", "--max-range", "3", "y"],
                      ["build", "-o", "x", "-t", "z", "--min-range", "3", "--max-range", "2", "y"],
                      ["tile"], ["tile", "a.pcd"], ["tile", "-o", "x"],
                      ["tile", "-o", "x", "-s", "0", "y"], ["tile", "-o", "x", "-s", "-5", "y"],
                      ["simulate"], ["simulate", "a", "b"], ["simulate", "--world=moon", "a"],
                      ["simulate", "--seed=-1", "a"], ["simulate", "--noise-seed=4294967296", "a"],
                      ["simulate", "--range-noise=nan", "a"], ["simulate", "--map-spacing=0", "a"],
                      ["simulate", "--offset=1,2", "a"], ["simulate", "--offset=1,2,inf", "a"],
                      ["tile", "-o", "x", "-s", "nan", "y"], ["tile", "-o", "x", "-s", "inf", "y"]):
        run(*arguments, status=2)
    write("one.pcd", np.zeros((1, 3)))
    for arguments in (["-r", "0"], ["-r", "2000"], ["--levels", "0"], ["--levels", "4"],
                      ["--min-points", "-1"]):
        run("info", *arguments, path("one.pcd"), status=2)
    for arguments in (["--help"], ["--version"], ["build", "--help"], ["info", "--help"],
                      ["tile", "--help"], ["simulate", "--help"]):
        assert "ndt-map" in run(*arguments)


def test_failures():
    cut = write("cut.pcd", np.zeros((10, 3)))
    with open(cut, "r+b") as file:
        file.truncate(os.path.getsize(cut) - 1)
    os.makedirs(path("empty"), exist_ok=True)
    write("none.pcd", np.zeros((0, 3)))
    write("few.pcd", np.zeros((3, 3)))
    write("apart.pcd", np.array([[0., 0, 0], [1e7, 0, 0]]))
    out = path("out.pcd")
    write("taken/a.pcd", np.zeros((3, 3)))
    os.makedirs(path("broken"), exist_ok=True)
    grid = np.stack(np.meshgrid(np.arange(5) / 4, np.arange(5) / 4, [0.1, 0.2]), -1).reshape(-1, 3)
    write("broken/a.pcd", grid)
    with open(path("broken/pointcloud_map_metadata.yaml"), "w", encoding="ascii") as file:
        file.write("x_resolution: 20\ny_resolution: 20\nb.pcd: [0, 0]\n")
    for arguments, because in (
            (["info", path("missing.pcd")], "missing.pcd"),
            (["info", cut], "truncated"),
            (["info", path("empty")], "no PCD, PLY or LAS files"),
            (["info", path("few.pcd")], "few.pcd"),
            (["build", "-o", out, cut], "truncated"),
            (["build", "-o", out, path("none.pcd")], "no points"),
            (["build", "-o", out, "-l", "0.1", path("apart.pcd")], "leaves of 0.1 m"),
            (["build", "-o", path("no/such/folder.pcd"), path("few.pcd")], "cannot write"),
            (["build", "-o", out, "-t", path("missing.txt"), path("few.pcd")], "missing.txt"),
            (["simulate", path("no/such/folder.pcd")], "cannot write"),
            (["info", path("broken")], "does not list"),
            (["tile", "-o", path("cut-tiles"), path("few.pcd"), cut], "truncated"),
            (["tile", "-o", path("none-tiles"), path("none.pcd")], "no points"),
            (["tile", "-o", path("taken"), path("few.pcd")], "choose an empty folder"),
            (["tile", "-o", path("few.pcd") + "/tiles", path("few.pcd")], "cannot make"),
            (["tile", "-o", path("missing"), path("missing.pcd")], "missing.pcd")):
        text = run(*arguments, status=1)
        assert because in text, text
    assert not os.path.exists(out)
    assert not os.path.exists(path("missing"))
    for folder in "cut-tiles", "none-tiles":
        assert os.listdir(path(folder)) == []


status = tap.run(tap.named(globals()))
subprocess.run(["rm", "-r", FOLDER], check=True)
sys.exit(status)
