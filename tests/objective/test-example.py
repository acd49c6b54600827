#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The examples of docs/objective.md are the programs that run here, and print what the page says (TAP).

    test-example.py SOURCE-ROOT PROGRAM NUMBER...

PROGRAM is of tests/objective/PROGRAM.c; numbers are what it prints, within 0.02.
"""

import os
import re
import subprocess
import sys


def main():
    root, program, *expected = sys.argv[1:]
    with open(f"{root}/docs/objective.md", encoding="utf-8") as file:
        page = file.read()
    with open(f"{root}/tests/objective/{os.path.basename(program)}.c", encoding="utf-8") as file:
        source = file.read()
    blocks = re.findall(r"^```c\n(.*?)^```$", page, re.M | re.S)
    shown = source[source.index("#include"):]
    same = shown in blocks
    done = subprocess.run([program], capture_output=True, encoding="utf-8", check=False)
    right = done.returncode == 0 and f"\n```\n{done.stdout.strip()}\n```\n" in page
    values = [float(v) for v in re.findall(r"-?\d+\.\d+", done.stdout)]
    near = len(values) == len(expected) and all(abs(a - float(b)) < 0.02 for a, b in zip(values, expected))
    print("1..3")
    for i, (ok, name) in enumerate(((same, "source"), (right, "output"), (near, "result")), 1):
        print(f"{'ok' if ok else 'not ok'} {i} {name}")
    print("# " + f"{done.stdout.strip()} {done.stderr.strip()}".replace("\n", "\n# "))
    return 0 if same and right and near else 1


if __name__ == "__main__":
    sys.exit(main())
