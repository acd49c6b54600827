#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The example of docs/objective.md is the program that runs here, and prints what the page says (TAP).

    test-example.py SOURCE-ROOT PROGRAM
"""

import re
import subprocess
import sys


def main():
    root, program = sys.argv[1:]
    with open(f"{root}/docs/objective.md", encoding="utf-8") as file:
        page = file.read()
    with open(f"{root}/tests/objective/example-residual.c", encoding="utf-8") as file:
        source = file.read()
    blocks = re.findall(r"^```c\n(.*?)^```$", page, re.M | re.S)
    shown = source[source.index("#include"):]
    same = shown in blocks
    done = subprocess.run([program], capture_output=True, encoding="utf-8", check=False)
    said = re.search(r"^```\n(centre .*)\n```$", page, re.M)
    right = done.returncode == 0 and said is not None and done.stdout.strip() == said[1]
    # The points are of a circle around (3, -1) with the radius 2; Huber leaves a trace of the others.
    values = [float(v) for v in re.findall(r"-?\d+\.\d+", done.stdout)]
    near = len(values) == 3 and all(abs(a - b) < 0.02 for a, b in zip(values, (3, -1, 2)))
    print("1..3")
    for i, (ok, name) in enumerate(((same, "source"), (right, "output"), (near, "result")), 1):
        print(f"{'ok' if ok else 'not ok'} {i} {name}")
    print(f"# {done.stdout.strip()} {done.stderr.strip()}")
    return 0 if same and right and near else 1


if __name__ == "__main__":
    sys.exit(main())
