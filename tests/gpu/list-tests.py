#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lists the C tests of a build for tests/gpu/run.sh, a line each: suite, name, executable relative
to the build, time limit in seconds.

    list-tests.py BUILD OUTPUT
"""
import json
import os
import sys

SUITES = ["unit", "elements", "reference", "real", "streaming", "gpu"]


def main(build, output):
    with open(os.path.join(build, "meson-info", "intro-tests.json")) as f:
        tests = json.load(f)
    lines = []
    for test in tests:
        suites = [s.split(":")[-1] for s in test["suite"]]
        suite = next((s for s in SUITES if s in suites), None)
        program = os.path.relpath(test["cmd"][0], build)
        # Scripts and programs of the system need what is not there.
        if suite is None or program.startswith("..") or len(test["cmd"]) > 1:
            continue
        lines.append((SUITES.index(suite), suite, test["name"], program, str(test["timeout"])))
    with open(output, "w") as f:
        for line in sorted(lines):
            f.write("\t".join(line[1:]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
