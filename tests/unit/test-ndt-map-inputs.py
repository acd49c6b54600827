#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What ndt-map makes of names, orders and paths as people and shells give them (TAP).

usage: test-ndt-map-inputs.py NDT_MAP
"""

import os
import pty
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

NDT_MAP = os.path.abspath(sys.argv[1])
FOLDER = tempfile.mkdtemp(prefix="ndt-map-inputs-")
# A map of one voxel.
SEVEN = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1), (1, 0, 1), (0, 1, 1)]
DATA = os.environ.get("NDT_TEST_DATA", "../shared/data")


def path(*names):
    return os.path.join(FOLDER, *names)


def run(*arguments, status=0, **more):
    """Output and messages of ndt-map, which has to end with @status."""
    done = subprocess.run([NDT_MAP, *arguments], capture_output=True, timeout=300, **more)
    text = (done.stdout + done.stderr).decode(errors="backslashreplace")
    assert done.returncode == status, (arguments, done.returncode, text)
    return text


def write(name, points, fields="x y z", counts=None, sizes=None, data="ascii"):
    n = len(fields.split())
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w") as file:
        file.write(f"VERSION .7\nFIELDS {fields}\nSIZE {sizes or ' '.join('8' * n)}\n"
                   f"TYPE {' '.join('F' * n)}\nCOUNT {counts or ' '.join('1' * n)}\n"
                   f"WIDTH {len(points)}\nHEIGHT 1\nPOINTS {len(points)}\nDATA {data}\n")
        for point in points:
            file.write(" ".join(repr(float(value)) for value in point) + "\n")
    return name


def read(name):
    with open(name) as file:
        text = file.read()
    return sorted(tuple(map(float, line.split()))
                  for line in text.split("DATA ascii\n")[1].splitlines())


def kitti(x):
    return f"1 0 0 {x} 0 1 0 0 0 0 1 0\n"


def scans(folder, names):
    """Scan i is the point (0, i, 0), and its pose moves it by 100 i along x. Poses are in the order
    of @names."""
    for i, name in enumerate(names):
        write(path(folder, name), [(0, i, 0)])
    with open(path(folder + ".txt"), "w") as file:
        file.writelines(kitti(100 * i) for i in range(len(names)))
    return [(100.0 * i, float(i), 0.0) for i in range(len(names))]


def build(folder, *inputs, poses=None, status=0):
    text = run("build", "-t", poses or path(folder + ".txt"), "-e", "ascii", "--double", "-o",
               path("out.pcd"), *(inputs or [path(folder)]), status=status)
    return text, (read(path("out.pcd")) if status == 0 else None)


def test_natural_order():
    cases = {
        "plain": [f"{i}.pcd" for i in range(12)],
        "words": [f"scan_{i}_full.PCD" for i in range(112)],
        "two": [f"{i // 10}-{i % 10 * 5}.pcd" for i in range(120)],
        "mixed": ["9.pcd", "010.pcd", "11.pcd", "0100.pcd", "101.pcd"],
        "nested": [f"cloud{i}.pcd" for i in (0, 2, 10, 21, 100)],
    }
    for folder, names in cases.items():
        expected = scans(folder, names)
        assert build(folder)[1] == expected, folder
    # As a shell's pattern has them; where they are spelt out otherwise, that is their order.
    text, points = build("plain", *sorted(path("plain", name) for name in cases["plain"]))
    assert points == scans("plain", cases["plain"]), points
    assert "order of characters" in text and "0.pcd to 11.pcd" in text, text
    backwards = [path("plain", name) for name in reversed(cases["plain"])]
    points = build("plain", *backwards)[1]
    assert points == [(100.0 * i, 11.0 - i, 0.0) for i in range(12)], points
    # A map of tiles is in that order, too.
    out = run("build", "-e", "ascii", "-o", path("joined.pcd"), path("plain"))
    with open(path("joined.pcd")) as file:
        lines = file.read().split("DATA ascii\n")[1].splitlines()
    assert [float(line.split()[1]) for line in lines] == list(range(12)), out


def test_counts():
    scans("few", ["1.pcd", "2.pcd", "3.pcd"])
    with open(path("more.txt"), "w") as file:
        file.writelines(kitti(i) for i in range(4))
    text = build("few", poses=path("more.txt"), status=1)[0]
    assert "4 poses for 3 scans" in text, text
    assert not os.path.exists(path("none.pcd"))


def tum(times):
    return "".join(f"{t} {100 * i} 0 0 0 0 0 1\n" for i, t in enumerate(times))


def test_times():
    # Seconds and nanoseconds that are not padded, decimals, whole nanoseconds.
    t0 = 1403636580
    cases = {
        "stamps": [f"{t0}_{ns}.pcd" for ns in (5, 90, 1000, 20000000)],
        "decimals": [f"{t0}.{rest}.pcd" for rest in ("05", "25", "5", "75")],
        "whole": [f"lidar_{t0 * 10**9 + ns}.pcd" for ns in (0, 10**8, 2 * 10**8)],
    }
    for folder, names in cases.items():
        expected = scans(folder, names)
        assert build(folder)[1] == expected, folder
    # Poses with times have to be those of the scans.
    expected = scans("timed", [f"{t0}.{i}00000000.pcd" for i in range(5)])
    good = [f"{t0}.{i}00000001" for i in range(5)]
    bad = [f"{t0}.{i}00000000" for i in (0, 1, 2, 4, 5)]
    other_clock = [f"{i}.0" for i in range(5)]
    for name, times, status in (("good", good, 0), ("bad", bad, 1), ("other", other_clock, 0)):
        with open(path(name + ".txt"), "w") as file:
            file.write(tum(times))
        text, points = build("timed", poses=path(name + ".txt"), status=status)
        assert status or points == expected, (name, points)
        assert not status or "is nearest to pose" in text, text


def test_poses_are_said():
    scans("said", ["0.pcd", "1.pcd"])
    with open(path("said.csv"), "w") as file:
        file.write("#timestamp [ns], p_x [m], p_y [m], p_z [m], q_w [], q_x [], q_y [], q_z []\n"
                   "1403636580000000000,0,0,0,1,0,0,0\n1403636580100000000,100,0,0,1,0,0,0\n")
    text, points = build("said", poses=path("said.csv"))
    assert points == [(0.0, 0.0, 0.0), (100.0, 1.0, 0.0)]
    assert "poses: by names: times of 'timestamp [ns]' in nanoseconds" in text, text
    with open(path("said.csv"), "w") as file:
        file.write("0,0,0,0,1,0,0,0\n0.1,100,0,0,1,0,0,0\n")
    text = build("said", poses=path("said.csv"), status=1)[0]
    assert "8 numbers by ',' and no line of names" in text, text


def test_case_of_a_report():
    folder = os.path.join(DATA, "cases", "unpadded_names")
    if not os.path.isdir(folder):
        return "SKIP no cases in NDT_TEST_DATA"
    poses, files = os.path.join(folder, "poses.txt"), os.path.join(folder, "scans")
    run("build", "-t", poses, "--leaf", "0.25", "-o", path("report.pcd"), files)
    padded = path("padded")
    os.mkdir(padded)
    for name in os.listdir(files):
        os.symlink(os.path.join(os.path.abspath(files), name), os.path.join(padded, name.zfill(8)))
    run("build", "-t", poses, "--leaf", "0.25", "-o", path("padded.pcd"), padded)
    with open(path("report.pcd"), "rb") as a, open(path("padded.pcd"), "rb") as b:
        assert a.read() == b.read()
    return None


def test_padding_of_no_bytes():
    points = [(1, 2, 3, 9), (4, 5, 6, 9)]
    name = write(path("padding.pcd"), points, "x y z _ intensity", "1 1 1 0 1")
    run("build", "-e", "ascii", "-o", path("out.pcd"), name)
    assert read(path("out.pcd")) == [(1, 2, 3), (4, 5, 6)]
    name = write(path("padding.pcd"), [p[:3] for p in points], "_ x y _ z _", "0 1 1 0 1 0",
                 "1 8 8 0 8 4")
    run("build", "-e", "ascii", "-o", path("out.pcd"), name)
    assert read(path("out.pcd")) == [(1, 2, 3), (4, 5, 6)]
    name = write(path("padding.pcd"), points, "x y z intensity", "1 1 1 0")
    assert "COUNT of field 'intensity' cannot be '0'" in run("info", name, status=1)


def test_far_tiles():
    """Tiles at 1e15 m, where twelve digits are the same for many."""
    points = [(1e15 + 20 * i + 3, 5, 0) for i in range(40)] + [(30, -7, 0)]
    write(path("far.pcd"), points)
    text = run("tile", "--size", "20", "-o", path("far"), path("far.pcd"))
    names = [name for name in os.listdir(path("far")) if name.endswith(".pcd")]
    assert "tiles: 41" in text and len(names) == 41, (text, len(names))
    assert "20_-20.pcd" in names and "1000000000000020_0.pcd" in names, names
    with open(path("far", "pointcloud_map_metadata.yaml")) as file:
        lines = file.read()
    assert "1000000000000780_0.pcd: [1000000000000780, 0]" in lines, lines
    write(path("farther.pcd"), [(1e17, 0, 0), (0, 0, 0)])
    text = run("tile", "--size", "20", "-o", path("farther"), path("farther.pcd"), status=1)
    assert "too far from the origin" in text, text
    # Corners keep their short names where these place them.
    write(path("near.pcd"), [(2.2, 0.1, 0)])
    run("tile", "--size", "0.3", "-o", path("near"), path("near.pcd"))
    assert "2.1_0.pcd" in os.listdir(path("near"))


def test_links_are_not_followed():
    """What is spilt goes to a file of its own."""
    victim = path("victim")
    with open(victim, "w") as file:
        file.write("keep")
    os.mkdir(path("linked"))
    for x in range(3):
        os.symlink(victim, path("linked", f"{1000 * x}_0.pcd.part"))
    # More than the buffers hold: 64 MiB.
    n = 1000000
    with open(path("large.pcd"), "wb") as file:
        file.write(f"FIELDS x y z\nSIZE 8 8 8\nTYPE F F F\nWIDTH {n}\nHEIGHT 1\n"
                   f"DATA binary\n".encode())
        import struct
        file.write(struct.pack("<3d", 1, 2, 3) * (n // 2) + struct.pack("<3d", 1001, 2, 3) * (n // 2))
    text = run("tile", "--size", "1000", "-o", path("linked"), *[path("large.pcd")] * 4)
    assert f"points: {4 * n}" in text, text
    with open(victim) as file:
        assert file.read() == "keep"
    assert os.path.getsize(path("linked", "0_0.pcd")) > 2 * n * 24
    assert sorted(os.listdir(path("linked"))) == sorted(
        [f"{1000 * x}_0.pcd.part" for x in range(3)] +
        ["0_0.pcd", "1000_0.pcd", "pointcloud_map_metadata.yaml"])


def test_nested_metadata():
    for i, text in enumerate(("[" * 200000, "a: " + "{b: " * 60000, "- " * 100000,
                              "x_resolution: 20\na.pcd: " + "[" * 200000)):
        folder = f"nested-{i}"
        write(path(folder, "a.pcd"), SEVEN)
        with open(path(folder, "pointcloud_map_metadata.yaml"), "w") as file:
            file.write(text + "\n")
        began = time.monotonic()
        said = run("info", path(folder), status=1)
        assert "16 deep" in said, said
        # It took 40 s.
        assert time.monotonic() - began < 5


def test_exit_status():
    """2 is for the command line, 1 for what is wrong with the map."""
    write(path("huge.pcd"), [(0, 0, 0), (1e9, 0, 0)])
    assert "too large for this resolution" in run("info", path("huge.pcd"), status=1)
    assert "resolution has to be" in run("info", "-r", "0", path("huge.pcd"), status=2)
    assert run("join", path("huge.pcd"), status=2).startswith("ndt-map: there is no command “join”")


def test_paths():
    write(path("home", "a map.pcd"), SEVEN)
    tiles = path("home", "tiles")
    run("tile", "-o", tiles, path("home", "a map.pcd"))
    home = {**os.environ, "HOME": path("home")}
    for name in ("~/a map.pcd", "file://" + path("home", "a%20map.pcd"),
                 "file://localhost" + path("home", "a%20map.pcd"), "~/tiles", "file://" + tiles, "~"):
        assert "points: 7" in run("info", name, env=home), name
        run("build", "-o", "~/built.pcd", name, env=home)
        assert os.path.exists(path("home", "built.pcd"))
        os.remove(path("home", "built.pcd"))
    run("build", "-o", "file://" + path("home", "b%20c.pcd"), "~/a map.pcd", env=home)
    assert os.path.exists(path("home", "b c.pcd"))
    with open(path("home", "poses.txt"), "w") as file:
        file.write(kitti(5))
    run("build", "-t", "~/poses.txt", "-o", path("out.pcd"), "~/a map.pcd", env=home)
    # A file of that name goes first; relative to where the caller is.
    write(path("home", "file:", "x", "y.pcd"), SEVEN + [(1, 1, 0)])
    assert "points: 8" in run("info", "file://x/y.pcd", cwd=path("home"))
    refusals = {
        "-": "standard input", "": "no name of a file", "~nobody/a.pcd": "another user's home",
        "http://host/a.pcd": "no file's", "file://host/a.pcd": "another host",
        "file:///a%zz.pcd": "no valid URI",
    }
    for name, because in refusals.items():
        for arguments in (["info", name], ["build", "-o", path("x.pcd"), name],
                          ["tile", "-o", path("x"), name],
                          ["build", "-t", name, "-o", path("x.pcd"), path("home", "a map.pcd")]):
            text = run(*arguments, status=1)
            assert because in text, (arguments, text)
        # Before anything is read, which may take long.
        for command in (["build"], ["crop", "--box=-1,-1,1,1"], ["import"], ["merge", path("none.pcd")]):
            text = run(*command, "-o", name, path("none.pcd"), status=2)
            assert because in text, (command, text)


def test_pipes():
    """Nobody writes to them: they must not be waited for."""
    os.mkfifo(path("pipe.pcd"))
    os.mkdir(path("with-pipe"))
    os.mkfifo(path("with-pipe", "a.pcd"))
    for arguments in (["info", path("pipe.pcd")], ["build", "-o", path("x.pcd"), path("pipe.pcd")],
                      ["tile", "-o", path("x"), path("pipe.pcd")], ["info", path("with-pipe")],
                      ["build", "-t", path("pipe.pcd"), "-o", path("x.pcd"), path("far.pcd")],
                      ["info", "/dev/zero"], ["info", "/dev/stdin"]):
        text = run(*arguments, status=1, stdin=subprocess.DEVNULL)
        assert "not a regular file" in text, text
    text = run("build", "-o", path("pipe.pcd"), path("far.pcd"), status=1)
    assert "not a regular file" in text, text


def test_names_in_other_encodings():
    name = os.fsencode(path("")) + b"K\xf6ln.pcd"
    with open(name, "wb") as file:
        file.write(b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 7\nHEIGHT 1\nDATA ascii\n" +
                   b"".join(b"%d %d %d\n" % point for point in SEVEN))
    folder = os.fsencode(path("")) + b"Stra\xdfe"
    for environment in ({**os.environ, "LC_ALL": "C.UTF-8"}, {**os.environ, "LC_ALL": "C"}):
        for arguments in ((b"info", name), (b"build", b"-o", folder + b".pcd", name),
                          (b"info", folder + b".pcd"), (b"tile", b"-o", folder, name),
                          (b"info", folder)):
            run(*arguments, env=environment)
        subprocess.run([b"rm", b"-r", folder], check=True)
        # Messages show them.
        for arguments in ((b"info", name + b"x"), (b"build", b"-o", folder + b"/x", name),
                          (b"build", b"-t", name, b"-o", folder, name)):
            assert "ndt-map-inputs-" in run(*arguments, status=1, env=environment)


def on_terminal(*arguments):
    """What ndt-map writes to a terminal that is its standard error."""
    main, terminal = pty.openpty()
    text = b""
    with subprocess.Popen([NDT_MAP, *arguments], stdout=subprocess.DEVNULL,
                          stderr=terminal) as process:
        os.close(terminal)
        while True:
            try:
                got = os.read(main, 4096)
            except OSError:
                break
            if not got:
                break
            text += got
        assert process.wait() == 0
    os.close(main)
    return text.decode()


def test_progress():
    with open(path("slow.pcd"), "w") as file:
        n = 300000
        file.write(f"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH {n}\nHEIGHT 1\nDATA ascii\n")
        file.writelines(f"{i % 977}.25 {i % 1009}.5 {i % 31}.125\n" for i in range(n))
    for command in (["build", "--leaf", "1", "-o", path("slow-map.pcd")],
                    ["tile", "-o", path("slow-tiles")]):
        # Reading, which tells how far it is, takes longer than 2 s on any machine of today.
        inputs = [path("slow.pcd")] * 120
        began = time.monotonic()
        text = on_terminal(*command, *inputs)
        took = time.monotonic() - began
        assert took < 2 or ("of 120 files" in text and "million points" in text), (took, text)
        assert took < 2 or text.endswith("\r\033[K"), text[-80:]
        subprocess.run(["rm", "-rf", path("slow-tiles")], check=True)
        # Nothing where it is no terminal.
        quiet = subprocess.run([NDT_MAP, *command, *inputs[:40]], capture_output=True, timeout=300,
                               check=True)
        assert quiet.stderr == b"", quiet.stderr
        subprocess.run(["rm", "-rf", path("slow-tiles")], check=True)
    # What is done at once shows nothing.
    write(path("quick.pcd"), [(1, 2, 3)])
    assert on_terminal("build", "-o", path("quick-map.pcd"), path("quick.pcd")) == ""


status = tap.run(tap.named(globals()))
subprocess.run(["rm", "-r", FOLDER], check=True)
sys.exit(status)
