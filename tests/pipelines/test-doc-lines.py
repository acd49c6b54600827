#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs every command line that the documentation shows (TAP).

usage: test-doc-lines.py SOURCE_ROOT TOOLS

Runs are the blocks fenced as ```sh whose first word is gst-launch-1.0, gst-inspect-1.0 or ndt-map
in README.md and docs/, and the |[ ... ]| blocks of the elements' comments in gst/, in which a line that begins with none of them goes on with the one before. Blocks
fenced as ```console are shown only: they need a sensor or a screen.

The blocks of one file run in order in one empty folder, so that a later block may read what an
earlier one wrote. In it lie the links of DATA to folders of NDT_TEST_DATA; blocks that name them are
skipped where that folder is missing.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

PROGRAMS = ("gst-launch-1.0", "gst-inspect-1.0", "ndt-map")
LIMIT = 300  # seconds a block; a sanitizer's build needs many times an ordinary one's
DATA = {"kitti": "seq_kitti_drive0005", "balm": "seq_balm_os0",
        "talker": "rosbag2_small/rosbag2_py/test/resources/mcap/talker",
        "nebula": "packets_nebula", "ouster": "packets_ouster",
        "velodyne": "packets_velodyne_pcap"}


def blocks(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".md"):
        found = re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
    else:
        found = re.findall(r"^ \* \|\[(?: *<!--.*?-->)?\n(.*?)^ \* \]\|", text, re.M | re.S)
        found = [re.sub(r"^ \* ?", "", block, flags=re.M) for block in found]
        found = [re.sub(rf"\s*\\?\n(?!{'|'.join(PROGRAMS)})", " ", block) for block in found]
    return [block.strip() for block in found if block.strip().startswith(PROGRAMS)]


def main():
    root, tools = sys.argv[1:]
    os.environ["PATH"] = tools + ":" + os.environ["PATH"]
    data = os.environ.get("NDT_TEST_DATA") or os.path.join(root, "..", "shared", "data")
    readme = os.path.join(root, "README.md")
    files = [readme]
    files += sorted(glob.glob(os.path.join(root, "docs", "**", "*.md"), recursive=True))
    files += sorted(glob.glob(os.path.join(root, "gst", "**", "*.c"), recursive=True))
    number = failed = 0
    for path in files:
        with tempfile.TemporaryDirectory() as folder:
            have = set()
            # Who reads the README has the repository alone.
            for link, name in DATA.items() if path != readme else ():
                if os.path.isdir(os.path.join(data, name)):
                    os.symlink(os.path.realpath(os.path.join(data, name)),
                               os.path.join(folder, link))
                    have.add(link)
            for i, block in enumerate(blocks(path)):
                number += 1
                name = f"{os.path.relpath(path, root)}:{i + 1}"
                missing = [link for link in DATA if link not in have and path != readme
                           and re.search(rf"\b{link}/", block)]
                if missing and os.environ.get("CI") != "true":
                    print(f"ok {number} {name} # SKIP {DATA[missing[0]]} is not in {data}")
                    continue
                try:
                    done = subprocess.run(["bash", "-e", "-c", block], cwd=folder, text=True,
                                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, timeout=LIMIT)
                    status, output = done.returncode, done.stdout
                except subprocess.TimeoutExpired as late:
                    status, output = f"none within {LIMIT} s", (late.stdout or b"").decode()
                # gst-launch-1.0 tells of a mistyped property by a warning alone.
                bad = status != 0 or "WARNING: erroneous pipeline" in output
                failed += bad
                print(f"{'not ok' if bad else 'ok'} {number} {name}", flush=True)
                if bad:
                    print(f"# {block}\n# exit status {status}".replace("\n", "\n# "))
                    print("# " + output[-3000:].replace("\n", "\n# "), flush=True)
    print(f"1..{number}")
    if number == 0:
        print("Bail out! no command line found")
    sys.exit(1 if failed or number == 0 else 0)


if __name__ == "__main__":
    main()
