#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The scripts and applications in pipelines/ do what they say (TAP).

usage: test-pipelines.py BUILD_ROOT
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

BUILD = sys.argv[1]
ROOT = os.environ["NDT_TEST_ROOT"]
PIPELINES = os.path.join(ROOT, "pipelines")
DATA = os.environ.get("NDT_TEST_DATA") or os.path.join(ROOT, "..", "shared", "data")
HAVE_TYPELIB = os.path.exists(os.path.join(BUILD, "gst", "pointcloud", "GstPointCloud-1.0.typelib"))
APPS = {
    "c": [os.path.join(BUILD, "pipelines", "record-app")],
    "python": [sys.executable, os.path.join(PIPELINES, "record_app.py")],
}
# What the simulated drive starts with: the path starts at the origin along x, the sensor is 1.8 m
# above the road.
START = "0,0,1.8"
SCANS = 12
folder = None  # scratch of the test that runs


class Skip(Exception):
    pass


def path(*names):
    return os.path.join(folder, *names)


def run(*command, status=0, **kwargs):
    """Output of a command, which has to end with @status."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, timeout=300, cwd=folder,
                          env={**os.environ, "NDT_BUILD": BUILD}, **kwargs)
    assert done.returncode == status, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def make_map():
    run(os.environ["NDT_MAP"], "simulate", "town.pcd")


def make_truth(scans):
    run("gst-launch-1.0", "-q", "lidartestsrc", f"num-buffers={scans}", "!", "trajectorysink",
        "role=ground-truth", "location=truth.txt")
    return np.loadtxt(path("truth.txt"))


def check_recording(poses, truth, scans):
    """A recording of the first @scans scans; @poses: rows of time and position."""
    times = np.loadtxt(path("day", "times.txt"))
    # Nine digits are written.
    assert np.allclose(times, truth[:scans, 0], atol=1e-9, rtol=0)
    files = sorted(os.listdir(path("day", "velodyne")))
    assert files == [f"{i:06d}.bin" for i in range(scans)], files
    for name in files:
        points = np.fromfile(path("day", "velodyne", name), "<f4").reshape(-1, 4)
        assert len(points) > 10000 and np.isfinite(points).all()
    # The road's map has 0.25 m between points; from there the localizer is within a few
    # centimetres. 0.1 m would show a wrong column or a pose of another scan (0.8 m away).
    assert np.allclose(poses[:, 0], times, atol=1e-9, rtol=0)
    assert np.abs(poses[:, 1:4] - truth[:scans, 1:4]).max() < 0.1


def record(app, poses_of):
    if app == "python" and not HAVE_TYPELIB:
        raise Skip("built without introspection")
    make_map()
    truth = make_truth(SCANS)
    output = run(*APPS[app], "town.pcd", START, "day", f"lidartestsrc num-buffers={SCANS}")
    assert output.splitlines()[-1] == f"{SCANS} scans, {SCANS} localized", output
    # From the bus: the state that it came to, and where it is.
    assert "tracking" in output and re.search(r"^scan 10: -?\d", output, re.M), output
    check_recording(poses_of(), truth, SCANS)


def test_record_apps_take_points_of_a_decoder():
    """Of another layout than what is written: with ring and time of each."""
    make_map()
    source = f"lidartestsrc num-buffers={SCANS} ! pointcloud/x-raw,format=%s"
    for app in APPS if HAVE_TYPELIB else ["c"]:
        run(*APPS[app], "town.pcd", START, "plain", source % "XYZI_F32LE")
        run(*APPS[app], "town.pcd", START, "timed", source % "XYZIRT")
        for i in range(SCANS):
            one, other = (np.fromfile(path(day, "velodyne", f"{i:06d}.bin"), "<f4")
                          for day in ("plain", "timed"))
            assert len(one) > 40000 and (one == other).all()


def test_record_app_c():
    record("c", lambda: np.loadtxt(path("day", "poses.tum"))[:, :4])


def test_record_app_python():
    record("python", lambda: np.loadtxt(path("day", "poses.csv"), delimiter=",", skiprows=1,
                                        usecols=(0, 2, 3, 4)))
    with open(path("day", "poses.csv"), encoding="ascii") as file:
        assert {line.split(",")[1] for line in file.readlines()[1:]} == {"tracking"}


def fail(app):
    if app == "python" and not HAVE_TYPELIB:
        raise Skip("built without introspection")
    output = run(*APPS[app], "missing.pcd", START, "day", "lidartestsrc num-buffers=5", status=1)
    assert "missing.pcd" in output, output
    output = run(*APPS[app], "missing.pcd", START, "day", "nosuchelement", status=1)
    assert "nosuchelement" in output, output
    with open(path("file"), "w", encoding="ascii"):
        pass
    output = run(*APPS[app], "missing.pcd", START, "file/day", "lidartestsrc", status=1)
    assert "file/day" in output, output
    # No arguments: C says 2 as usual, sys.exit() with a text says 1.
    assert "usage:" in run(*APPS[app], status=2 if app == "c" else 1)


def test_record_app_c_errors():
    fail("c")


def test_record_app_python_errors():
    fail("python")


def interrupt(app):
    """Ctrl-C ends an endless live recording; what was counted is in the files."""
    if app == "python" and not HAVE_TYPELIB:
        raise Skip("built without introspection")
    make_map()
    with subprocess.Popen([*APPS[app], "town.pcd", START, "day", "lidartestsrc is-live=true"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
                          env=os.environ) as process:
        deadline = time.monotonic() + 300
        while not os.path.exists(path("day", "velodyne", "000004.bin")):
            assert time.monotonic() < deadline and process.poll() is None, "nothing is recorded"
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output
    scans = int(re.search(r"^(\d+) scans, \d+ localized$", output, re.M)[1])
    assert scans >= 5
    assert len(os.listdir(path("day", "velodyne"))) == scans
    assert len(np.loadtxt(path("day", "times.txt"))) == scans


def test_record_app_c_interrupt():
    interrupt("c")


def test_record_app_python_interrupt():
    interrupt("python")


def test_kitti_replays_a_recording():
    make_map()
    truth = make_truth(SCANS)
    run(*APPS["c"], "town.pcd", START, "day", f"lidartestsrc num-buffers={SCANS}")
    # Times of its own, not those of the framerate.
    times = 100 + 0.25 * np.arange(SCANS)
    np.savetxt(path("day", "times.txt"), times, fmt="%.6f")
    run(os.path.join(PIPELINES, "kitti.sh"), "day", "town.pcd", START, "out.txt", "resolution=1")
    poses = np.loadtxt(path("out.txt"))
    assert np.allclose(poses[:, 0], times, atol=1e-6, rtol=0), poses[:, 0]
    assert np.abs(poses[:, 1:4] - truth[:, 1:4]).max() < 0.1  # as above


def test_pcd_folder():
    sequence = os.path.join(DATA, "seq_kitti_drive0005")
    if not os.path.isdir(sequence) and os.environ.get("CI") != "true":
        raise Skip(f"{sequence} is missing: set NDT_TEST_DATA")
    truth = np.loadtxt(os.path.join(sequence, "poses.txt"))
    run(os.path.join(PIPELINES, "pcd-folder.sh"), os.path.join(sequence, "scans"), "5",
        os.path.join(sequence, "map_even_0.25.pcd"), ",".join(map(str, truth[0, 1:])), "out.txt",
        "resolution=1")
    poses = np.loadtxt(path("out.txt"))
    assert np.allclose(poses[:, 0], 0.2 * np.arange(50), atol=1e-6, rtol=0)  # 5 Hz
    # What is asked of this sequence; tests/real looks closer.
    assert np.linalg.norm(poses[:, 1:4] - truth[:, 1:4], axis=1).max() < 0.05


def test_pcd_folder_counts():
    """What could not be read, and where nothing is found, is said and has an exit status."""
    make_map()
    run("gst-launch-1.0", "-q", "lidartestsrc", "rings=16", "columns=512", f"num-buffers={SCANS}",
        "!", "pointcloud/x-raw,format=XYZ_F32LE", "!", "multifilesink", "location=%06d.bin")
    os.mkdir(path("scans"))
    for i in range(SCANS):
        with open(path(f"{i:06d}.bin"), "rb") as file:
            points = file.read()
        with open(path("scans", f"{i:06d}.pcd"), "wb") as file:
            n = len(points) // 12
            file.write(b"VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n"
                       b"WIDTH %d\nHEIGHT 1\nPOINTS %d\nDATA binary\n" % (n, n) + points)
    command = (os.path.join(PIPELINES, "pcd-folder.sh"), "scans", "10", "town.pcd")
    output = run(*command, START, "out.txt", "resolution=1")
    counts = f"scans={SCANS} tracked={SCANS} degraded=0 predicted=0 lost=0"
    assert output.splitlines()[-1] == counts, output
    assert f"localizer: scans={SCANS} tracking={SCANS} degraded=0 lost=0 " in output, output
    assert " is_lost=no" in output and "first_loss" not in output, output
    with open(path("scans", "000005.pcd"), "r+b") as file:
        file.truncate(1000)
    output = run(*command, START, "out.txt", "resolution=1", status=1)
    assert f"1 of {SCANS} files were not read" in output and "WARNING" in output, output
    assert f"scans={SCANS - 1} tracked={SCANS - 1} " in output, output
    # Above the town nothing is found.
    output = run(*command, "0,0,500", "out.txt", "map-search=false", status=1)
    assert re.search(r"^scans=\d+ tracked=0 ", output, re.M), output
    assert "troubleshooting.md" in output, output
    assert re.search(r"^localizer: .* is_lost=yes first_loss=0 .* first_loss_reason=no-map$", output,
                     re.M), output
    output = run(os.path.join(PIPELINES, "simulate.sh"), "results", "10", "min-start-fit=1",
                 "nvtl-threshold=100", status=1)
    assert "is_lost=yes" in output and "troubleshooting.md" in output, output


def test_scripts_refuse():
    for script, arguments, why in (
            ("kitti.sh", ("day", "map.pcd", START, "out.txt", "--realtime"), "no option --realtime"),
            ("kitti.sh", ("day", "map.pcd", START, "out.txt", "5"), '"5" is not PROPERTY=VALUE'),
            ("kitti.sh", ("day", "map.pcd", START, "out.txt"), "no day/velodyne/000000.bin"),
            ("pcd-folder.sh", ("day", "10", "map.pcd", START, "o.txt"), "no day/000000.pcd"),
            ("simulate.sh", ("results", "many"), 'not "many"')):
        output = run(os.path.join(PIPELINES, script), *arguments, status=2)
        # The sentence first, then how the script is called.
        assert output.startswith(script + ": ") and why in output.splitlines()[0], output
        assert f"pipelines/{script} " in output, output
        assert not os.path.exists(path("out")), arguments


def test_environment():
    """The programs that are installed are found by the shell that has sourced it."""
    found = run("bash", "-c", ". \"$0\" && for name in ndt-bag ndt-calibrate ndt-map ndt-replay ndt-scans; do "
                "command -v $name || exit 1; done", os.path.join(PIPELINES, "environment.sh"))
    assert [line.startswith(BUILD) for line in found.split()] == [True] * 5, found


def test_lines_in_parts():
    """A line that comes in parts, as from a pipeline that is slow, is shown as one."""
    output = run("bash", "-c", f". '{PIPELINES}/launch.sh'; {{ printf '/P/E: summ'; sleep 0.8; "
                 "printf 'ary = scans=1\\ lost=0\\n'; printf 'WARN'; sleep 0.8; "
                 "printf 'ING: late\\n'; } | show")
    assert output == "localizer: scans=1 lost=0\nWARNING: late\n", output


def test_scripts_explain_themselves():
    for script in ("kitti.sh", "pcd-folder.sh"):
        output = run(os.path.join(PIPELINES, script), status=2)
        assert output.startswith(("Localizes", "\n")) and "INITIAL_POSE" in output, output


def test_simulate():
    output = run(os.path.join(PIPELINES, "simulate.sh"), "results", "30")
    line = output.splitlines()[-1]
    values = dict(pair.split("=") for pair in line.split())
    assert list(values) == ["scans", "lost", "mean_error_m", "mean_error_deg", "max_error_m",
                            "scans_per_second", "backend"], line
    print("# " + line)
    assert values["scans"] == "30" and values["lost"] == "0", line
    # What the demonstration promises of 300.
    assert float(values["mean_error_m"]) <= 0.02 and float(values["mean_error_deg"]) <= 0.1, line
    assert float(values["scans_per_second"]) > 0 and values["backend"] in ("cpu", "cuda"), line
    poses, truth = np.loadtxt(path("results", "trajectory.txt")), np.loadtxt(
        path("results", "truth.txt"))
    errors = np.linalg.norm(poses[:, 1:4] - truth[:, 1:4], axis=1)
    # The line has four digits.
    assert abs(errors.mean() - float(values["mean_error_m"])) < 1e-4
    assert abs(errors.max() - float(values["max_error_m"])) < 1e-4
    assert os.path.getsize(path("results", "map.pcd")) > 100000
    # The scans are in it, and its end; tests/record reads such files.
    with open(path("results", "drive.mcap"), "rb") as file:
        recording = file.read()
    assert len(recording) > 30 * 100000 and recording.endswith(b"\x89MCAP0\r\n")


def main():
    global folder
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    print(f"1..{len(tests)}")
    failed = 0
    for number, (name, test) in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                test()
                print(f"ok {number} {name[5:]}", flush=True)
            except Skip as reason:
                print(f"ok {number} {name[5:]} # SKIP {reason}", flush=True)
            except Exception as problem:  # the next test says more
                failed += 1
                print(f"not ok {number} {name[5:]}")
                print("# " + f"{type(problem).__name__}: {problem}".replace("\n", "\n# "),
                      flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
