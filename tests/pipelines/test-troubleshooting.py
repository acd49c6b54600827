#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""docs/troubleshooting.md names properties that there are, and messages that the sources have (TAP).

usage: test-troubleshooting.py SOURCE_ROOT
"""

import glob
import os
import re
import subprocess
import sys

ROOT = sys.argv[1]
# Not ours, or no elements.
OTHERS = ("ndt-map", "ndt-bag", "gst-launch-1.0", "mcap", "tcpdump", "sysctl", "please", "no")


def sources():
    """All text in quotes, as printf puts it together, and what scripts say."""
    text = ""
    for folder in "gst", "ndtcore", "cuda":
        for path in glob.glob(os.path.join(ROOT, folder, "**", "*.[ch]"), recursive=True):
            with open(path, encoding="utf-8") as file:
                code = file.read()
            # Conversions of GLib stand between two literals.
            code = re.sub(r'"\s*G_G?U?INT64_FORMAT\s*"|"\s*G_GSIZE_FORMAT\s*"', "", code)
            code = re.sub(r'(?<!\\)"\s*"', "", code)
            text += "\n".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', code)) + "\n"
    for path in glob.glob(os.path.join(ROOT, "pipelines", "*.sh")):
        with open(path, encoding="utf-8") as file:
            text += file.read()
    return text.replace('\\"', '"')


def properties(element):
    """Names, or None where there is no such element."""
    done = subprocess.run(["gst-inspect-1.0", element], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        return None
    return set(re.findall(r"^  ([a-z][a-z0-9-]*) *:", done.stdout, re.M))


def main():
    with open(os.path.join(ROOT, "docs", "troubleshooting.md"), encoding="utf-8") as file:
        page = file.read()
    problems = [[], []]
    text = sources()
    quoted = re.findall(r"“([^”]*)”", page)
    for message in quoted:
        # Of what is between the places that are filled in, every part stands in the sources.
        parts = [part.strip() for part in message.split("…") if len(part.strip()) > 2]
        problems[0] += [f"no source says “{part}”" for part in parts if part not in text]
    known, n_names = {}, 0
    for span in re.findall(r"`([^`\n]+)`", page):
        words = span.split()
        if len(words) < 2 or words[0] in OTHERS or not re.fullmatch(r"[a-z][a-z0-9]*", words[0]):
            continue
        element, names = words[0], [word.split("=")[0] for word in words[1:] if "!" not in span]
        if element not in known:
            known[element] = properties(element)
        if known[element] is None:
            problems[1].append(f"there is no element {element} (`{span}`)")
            continue
        n_names += len(names)
        problems[1] += [f"{element} has no property {name}" for name in names
                        if name not in known[element]]
    print("1..2")
    for i, (name, count) in enumerate((("messages", len(quoted)), ("properties", n_names))):
        for problem in problems[i]:
            print(f"# {problem}")
        bad = bool(problems[i]) or count < 50
        print(f"{'not ok' if bad else 'ok'} {i + 1} {name}: {count}")
    return any(problems)


if __name__ == "__main__":
    sys.exit(main())
