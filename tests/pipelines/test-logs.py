#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What each element says of itself with GST_DEBUG=6 (TAP): test-logs.py FOLDER_OF_NDT_MAP

An element has a category of its name. Caps, segments, latency and flushes are at INFO or DEBUG, each
scan at LOG, each decision at DEBUG. LINES has a pipeline for each element and the lines that it has
to write: level and a regular expression.
"""

import os
import re
import subprocess
import sys
import tempfile

# element: (pipeline, [(level, what)])
LINES = {
    "ndtlocalize": (
        "lidartestsrc rings=16 columns=128 num-buffers=4 ! "
        "ndtlocalize map-location=town.pcd initial-pose=0,0,1.8 min-points=1 ! fakesink",
        [("INFO", r"caps pointcloud/x-raw, format="),
         ("INFO", r"segment time segment start=0:00:00"),
         ("INFO", r"backend cpu|backend cuda"),
         ("INFO", r"map: .*backend: a map of \d+ voxels of 2 m"),  # of ndtcore, forwarded
         ("INFO", r"scan 0: state tracking after none"),
         ("DEBUG", r"latency: live 0, minimum 0:00:00\.02"),
         ("LOG", r"batch of \d+ scans"),
         ("LOG", r"scan 3 of 0:00:00\.\d+: tracking, by constant-velocity at \(.*\), tp [\d.]+, "
                 r"nvtl [\d.]+, matched [\d.]+, \d+ points, \d+ iterations, upload [\d.]+ ms")]),
    "ndtlocalize rejections": (
        "lidartestsrc rings=16 columns=128 num-buffers=3 ! "
        "ndtlocalize map-location=town.pcd initial-pose=900,0,1.8 max-skips=0 ! fakesink",
        [("DEBUG", r"scan 0 rejected: no-map, tp 0, nvtl 0, matched 0\.000, \d+ points; 1 in a row"),
         ("INFO", r"scan 0: state lost after none")]),
    "mcapsink": (
        "lidartestsrc rings=16 columns=128 num-buffers=4 ! "
        "mcapsink location=a-%d.mcap max-size-time=200000000 chunk-size=1",
        [("INFO", r"caps pointcloud/x-raw, format="),
         ("INFO", r"log times are those of the buffers"),
         ("INFO", r"opened \S+/a-0\.mcap"),
         ("INFO", r"finished \S+/a-0\.mcap: \d+ bytes, \d+ messages"),
         ("INFO", r"segment time segment start=0:00:00"),
         ("DEBUG", r"\d+ chunks, \d+ messages and \d+ bytes are written"),
         ("DEBUG", r"file 1 begins at log time 200000000"),
         ("DEBUG", r"all linked inputs have ended"),
         ("LOG", r"\d+ bytes at log time 100000000, stamp 100000000")]),
    "mcapmux": (
        "lidartestsrc rings=16 columns=128 num-buffers=2 ! mcapmux ! fakesink",
        [("INFO", r"stream mcap-\w+ begins"),
         ("INFO", r"stream finished: \d+ bytes, \d+ messages"),
         ("LOG", r"\d+ bytes at log time 100000000")]),
    "rawpointcloudparse": (
        "multifilesrc location=%d.bin ! rawpointcloudparse format=XYZI_F32LE framerate=10/1 ! fakesink",
        [("INFO", r"caps pointcloud/x-raw, format="),
         ("DEBUG", r"segment time segment start=0:00:00"),
         ("LOG", r"scan of \d+ bytes at 0:00:00\.1")]),
    "poseinject": (
        "lidartestsrc rings=16 columns=128 num-buffers=2 ! "
        "poseinject location=far.txt ! fakesink",
        [("INFO", r"2 poses of \"far\.txt\""),
         ("INFO", r"caps pointcloud/x-raw, format="),
         ("DEBUG", r"segment time segment start=0:00:00"),
         ("DEBUG", r"no pose for scan 1 at 0:00:00\.1"),
         ("LOG", r"scan at 0:00:00\.1")]),
    "trajectorysink": (
        "lidartestsrc rings=16 columns=128 num-buffers=2 ! trajectorysink role=ground-truth location=t.txt",
        [("INFO", r"writing \"\S+/t\.txt\""),
         ("INFO", r"caps pointcloud/x-raw, format="),
         ("DEBUG", r"segment time segment start=0:00:00"),
         ("LOG", r"scan at 0:00:00\.1")]),
    "pointcloudrender": (
        "lidartestsrc rings=16 columns=128 num-buffers=2 ! pointcloudrender map-location=town.pcd ! "
        "video/x-raw,width=64,height=48 ! fakesink",
        [("INFO", r"caps pointcloud/x-raw, format="),
         ("INFO", r"a map of \d+ points is drawn"),
         ("DEBUG", r"segment time segment start=0:00:00"),
         ("LOG", r"scan 1: \d+ points, status 0"),
         ("LOG", r"frame at 0:00:00\.1")]),
    "pointcloudview": (
        "lidartestsrc rings=16 columns=128 num-buffers=2 ! pointcloudview port=0",
        [("INFO", r"caps pointcloud/x-raw, format="),
         ("INFO", r"The view is at http://127\.0\.0\.1:\d+/"),
         ("LOG", r"scan 1: \d+ points, status 0")]),
}


def log_of(pipeline, folder):
    path = os.path.join(folder, "log")
    result = subprocess.run(
        ["gst-launch-1.0", "-q", *pipeline.split()], cwd=folder, capture_output=True, text=True,
        timeout=300, check=False,
        env=os.environ | {"GST_DEBUG": "6", "GST_DEBUG_FILE": path, "GST_DEBUG_NO_COLOR": "1"})
    if result.returncode != 0:
        return None, result.stderr
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(), ""


def main():
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(sys.argv[1], "ndt-map"), "simulate", "town.pcd"], cwd=folder,
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["gst-launch-1.0", "-q", *(
            "lidartestsrc rings=16 columns=128 num-buffers=2 ! pointcloud/x-raw,format=XYZI_F32LE ! "
            "multifilesink location=%d.bin").split()], cwd=folder, check=True)
        with open(os.path.join(folder, "far.txt"), "w", encoding="ascii") as file:
            file.write("0 0 0 0 0 0 0 1\n0.05 0 0 0 0 0 0 1\n")
        print(f"1..{len(LINES)}")
        for number, (name, (pipeline, lines)) in enumerate(LINES.items(), 1):
            log, problem = log_of(pipeline, folder)
            category = name.split()[0]
            said = {level: [] for level in ("ERROR", "WARN", "FIXME", "INFO", "DEBUG", "LOG")}
            for line in (log or "").splitlines():
                match = re.match(r"\S+ +\d+ +\S+ (\w+) +(\S+) [^:]+:\d+:[^:]*:(?:<[^>]*>)? ?(.*)", line)
                if match and match[2] == category and match[1] in said:
                    said[match[1]].append(match[3])
            missing = [what for what in lines
                       if not any(re.search(what[1], text) for text in said[what[0]])]
            good = log is not None and not missing
            failed |= not good
            for what in missing:
                print(f"# {category} does not say at {what[0]}: {what[1]}")
            if not good and problem:
                print("# " + problem.replace("\n", "\n# "))
            print(f"{'ok' if good else 'not ok'} {number} - {name}")
    return failed


sys.exit(main())
