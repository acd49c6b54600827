#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/constants.md, docs/constants-devices.md and the sources have the same constants with the same values.

    test-constants.py SOURCE-ROOT             TAP
    test-constants.py SOURCE-ROOT --update    writes the values of the sources into the pages

A section of a page that is headed by the name of a file ("### `ndtcore/…`") has a table whose
first two columns are constants of that file and their values. A section of its own has those that
follow from something else, by file. In the folders of ROOMS each #define of a number is on a page,
in the one or in the other; elsewhere most are of formats, and a file has its constants there where a
section names it.
"""
import os
import re
import sys

PAGES = ('docs/constants.md', 'docs/constants-devices.md')
HEADER = 'ndtcore/base/ndt-tuning.h'
DEFINE = re.compile(r'^#define ([A-Z][A-Z0-9_]*)[ \t]+(\S.*?)[ \t]*(?:/\*.*)?$', re.MULTILINE)
ROW = re.compile(r'^\| `([A-Z][A-Z0-9_]*)` \| `([^`]*)` \|')
FOLLOWS = '## What follows from something else'
FOLLOWING = re.compile(r'^\| `([^`]*/[^`]*)` \| ((?:`[A-Z][A-Z0-9_]*` ?)+)\|')
# Where alignments, searches, prediction and judgement are.
ROOMS = ('ndtcore/align', 'ndtcore/base/ndt-tuning.h', 'ndtcore/map', 'ndtcore/math', 'ndtcore/motion',
         'ndtcore/odometry', 'ndtcore/registration', 'ndtcore/scan', 'ndtcore/track', 'cuda/align',
         'cuda/device', 'cuda/frames', 'cuda/map', 'cuda/scan', 'cuda/search', 'gst/ndt', 'gst/odometry')
# A decimal number that is no part of a name, in an expression without text. Masks and sentinels are
# hexadecimal or names.
NUMBER = re.compile(r'(?<![\w.])\d(?![xX])')


def defines(root, path):
    with open(os.path.join(root, path), encoding='utf-8') as file:
        return {name: value.strip() for name, value in DEFINE.findall(file.read())}


def rows(lines):
    """(number of the line, file, constant, value) of each row."""
    path = None
    for number, line in enumerate(lines):
        heading = re.match(r'^#+ `([^`]+)`', line)
        if line.startswith('#'):
            path = heading[1] if heading else None
        row = ROW.match(line)
        if row and path:
            yield number, path, row[1], row[2]


def following(lines):
    """(number of the line, file, constant) of each that follows from something else."""
    inside = False
    for number, line in enumerate(lines):
        if line.startswith('#'):
            inside = line == FOLLOWS
        row = FOLLOWING.match(line) if inside else None
        for name in re.findall('`([^`]*)`', row[2]) if row else ():
            yield number, row[1], name


def sources(root):
    for room in ROOMS:
        path = os.path.join(root, room)
        if os.path.isfile(path):
            yield room
        for folder, _, files in os.walk(path):
            for file in sorted(files):
                if file.endswith(('.c', '.h', '.cu', '.cuh')):
                    yield os.path.relpath(os.path.join(folder, file), root)


def is_number(value):
    return bool(NUMBER.search(value)) and '"' not in value


def check(root, lines):
    """Faults: of values and names, and of what the page leaves out of the rooms."""
    wrong, known = [], {}
    seen = set()
    for number, path, name in following(lines):
        if not os.path.exists(os.path.join(root, path)) or name not in defines(root, path):
            wrong.append(f'line {number + 1}: {path} has no {name}')
        if (path, name) in seen:
            wrong.append(f'line {number + 1}: {name} of {path} a second time')
        seen.add((path, name))
    for number, path, name, value in rows(lines):
        if not os.path.exists(os.path.join(root, path)):
            wrong.append(f'line {number + 1}: there is no {path}')
            continue
        known.setdefault(path, defines(root, path))
        actual = known[path].get(name)
        if (path, name) in seen:
            wrong.append(f'line {number + 1}: {name} of {path} a second time')
        seen.add((path, name))
        if actual is None:
            wrong.append(f'line {number + 1}: {path} has no {name}')
        elif actual != value:
            wrong.append(f'line {number + 1}: {name} of {path} is {actual}, not {value} '
                         '(test-constants.py ROOT --update writes it)')
    missing = [f'{name} of {path} ({value}) has no row'
               for path in sources(root) for name, value in defines(root, path).items()
               if (path, name) not in seen and (path == HEADER or is_number(value))]
    return wrong, missing


def update(root, lines):
    for number, path, name, value in list(rows(lines)):
        actual = defines(root, path).get(name, value)
        lines[number] = lines[number].replace(f'| `{name}` | `{value}` |', f'| `{name}` | `{actual}` |')
    return lines


def main():
    root = sys.argv[1]
    lines = []
    for page in PAGES:
        with open(os.path.join(root, page), encoding='utf-8') as file:
            of_page = file.read().split('\n')
        if '--update' in sys.argv:
            with open(os.path.join(root, page), 'w', encoding='utf-8') as file:
                file.write('\n'.join(update(root, of_page)))
        lines += of_page
    if '--update' in sys.argv:
        return 0
    wrong, missing = check(root, lines)
    # The check finds what it is for.
    n_rows = len(list(rows(lines)))
    first = next(number for number, *_ in rows(lines))
    changed = lines[:first] + [re.sub(r'` \| `[^`]*`', '` | `-1`', lines[first], count=1)] + lines[first + 1:]
    finds = len(check(root, changed)[0]) == len(wrong) + 1
    # A row of the header, one of a file, one of those that follow.
    of_file = next(number for number, path, *_ in rows(lines) if path == 'ndtcore/math/ndt-optimizer.h')
    follows, _, _ = next(following(lines))
    for gone in first, of_file, follows:
        n_gone = lines[gone].split('|')[2].count('`') // 2 if gone == follows else 1
        without = lines[:gone] + lines[gone + 1:]
        finds = finds and len(check(root, without)[1]) == len(missing) + n_gone
    print('1..3')
    for number, (name, faults) in enumerate((('values', wrong), ('rows', missing)), 1):
        for fault in faults:
            print(f'# {" and ".join(PAGES)}: {fault}')
        print(f'{"not ok" if faults else "ok"} {number} {name}')
    print(f'{"ok" if finds and n_rows > 50 else "not ok"} 3 rules')
    return 1 if wrong or missing or not finds else 0


if __name__ == '__main__':
    sys.exit(main())
