#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/constants.md and the sources have the same constants with the same values.

    test-constants.py SOURCE-ROOT             TAP
    test-constants.py SOURCE-ROOT --update    writes the values of the sources into the page

A section of the page that is headed by the name of a file ("### `ndtcore/…`") has a table whose
first two columns are constants of that file and their values.
"""
import os
import re
import sys

PAGE = 'docs/constants.md'
HEADER = 'ndtcore/base/ndt-tuning.h'
DEFINE = re.compile(r'^#define ([A-Z][A-Z0-9_]*)[ \t]+(\S.*?)[ \t]*(?:/\*.*)?$', re.MULTILINE)
ROW = re.compile(r'^\| `([A-Z][A-Z0-9_]*)` \| `([^`]*)` \|')


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


def check(root, lines):
    """Faults: of values and names, and of what the page leaves out of the header."""
    wrong, known = [], {}
    seen = set()
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
    missing = [f'{name} of {HEADER} has no row'
               for name in defines(root, HEADER) if (HEADER, name) not in seen]
    return wrong, missing


def update(root, lines):
    for number, path, name, value in list(rows(lines)):
        actual = defines(root, path).get(name, value)
        lines[number] = lines[number].replace(f'| `{name}` | `{value}` |', f'| `{name}` | `{actual}` |')
    return lines


def main():
    root = sys.argv[1]
    with open(os.path.join(root, PAGE), encoding='utf-8') as file:
        lines = file.read().split('\n')
    if '--update' in sys.argv:
        with open(os.path.join(root, PAGE), 'w', encoding='utf-8') as file:
            file.write('\n'.join(update(root, lines)))
        return 0
    wrong, missing = check(root, lines)
    # The check finds what it is for.
    n_rows = len(list(rows(lines)))
    first = next(number for number, *_ in rows(lines))
    changed = lines[:first] + [re.sub(r'` \| `[^`]*`', '` | `-1`', lines[first], count=1)] + lines[first + 1:]
    without = lines[:first] + lines[first + 1:]
    finds = len(check(root, changed)[0]) == len(wrong) + 1 and \
        len(check(root, without)[1]) == len(missing) + 1
    print('1..3')
    for number, (name, faults) in enumerate((('values', wrong), ('header', missing)), 1):
        for fault in faults:
            print(f'# {PAGE}: {fault}')
        print(f'{"not ok" if faults else "ok"} {number} {name}')
    print(f'{"ok" if finds and n_rows > 50 else "not ok"} 3 rules')
    return 1 if wrong or missing or not finds else 0


if __name__ == '__main__':
    sys.exit(main())
