#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""docs/troubleshooting.md names properties that there are, and messages that the sources have; errors
and warnings of elements are on it, or name what to set (TAP).

usage: test-troubleshooting.py SOURCE_ROOT
"""

import glob
import os
import re
import subprocess
import sys

ROOT = sys.argv[1]
# Not ours, or no elements.
OTHERS = ("ndt-map", "ndt-bag", "file", "gst-launch-1.0", "mcap", "tcpdump", "sysctl", "please", "no")


def join(code):
    """Literals beside each other as one, without the conversions of GLib between them."""
    code = re.sub(r'"\s*G_G?U?INT64_FORMAT\s*"|"\s*G_GSIZE_FORMAT\s*"', "", code)
    return re.sub(r'(?<!\\)"\s*"', "", code)


def sources():
    """All text in quotes, as printf puts it together, and what scripts say."""
    text = ""
    for folder in "gst", "ndtcore", "cuda":
        for path in glob.glob(os.path.join(ROOT, folder, "**", "*.[ch]"), recursive=True):
            with open(path, encoding="utf-8") as file:
                code = file.read()
            code = join(code)
            text += "\n".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', code)) + "\n"
    for path in glob.glob(os.path.join(ROOT, "pipelines", "*.sh")):
        with open(path, encoding="utf-8") as file:
            text += file.read()
    return text.replace('\\"', '"')


def element_messages():
    """Sentences of GST_ELEMENT_ERROR and GST_ELEMENT_WARNING, less those that are texts of others."""
    for path in glob.glob(os.path.join(ROOT, "gst", "**", "*.c"), recursive=True):
        with open(path, encoding="utf-8") as file:
            code = join(file.read())
        for call in re.findall(r"GST_ELEMENT_(?:ERROR|WARNING)(?:_WITH_DETAILS)? \((.*?)\);", code, re.S):
            sentence = re.search(r'\("((?:[^"\\]|\\.)*)"', call)
            # The rest of shorter ones is written elsewhere.
            if sentence and len(re.findall(r"[A-Za-z]+", re.sub(r"%\w*", "", sentence[1]))) > 3:
                yield os.path.relpath(path, ROOT), sentence[1].replace('\\"', '"')


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
    problems = [[], [], []]
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
    parts = [part.strip() for message in quoted for part in message.split("…")
             if len(part.strip()) > 6]
    messages = list(element_messages())
    for path, sentence in messages:
        if not any(part in sentence for part in parts) and not re.search(
                r"\bset\b|\bput\b|\bcheck\b|propert|[a-z]+=", sentence, re.I):
            problems[2].append(f"{path}: \"{sentence}\" neither says what to set nor is on the page")
    print("1..3")
    for i, (name, count) in enumerate((("messages", len(quoted)), ("properties", n_names),
                                       ("errors and warnings", len(messages)))):
        for problem in problems[i]:
            print(f"# {problem}")
        bad = bool(problems[i]) or count < 50
        print(f"{'not ok' if bad else 'ok'} {i + 1} {name}: {count}")
    return any(problems)


if __name__ == "__main__":
    sys.exit(main())
