#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each row of fields in docs/inputs.md names a test that there is, and each property of its budgets is
one (TAP).

    test-inputs-page.py SOURCE-ROOT
"""
import os
import re
import sys

PAGE = 'docs/inputs.md'
TEST = re.compile(r'`(tests/[^`]+)` `(\w+)` \|$')
PROPERTY = re.compile(r'`(\w+) ([a-z-]+)`')


def fields(root, lines):
    """Rows below the budgets, the heads of tables left out."""
    wrong, n = [], 0
    for number, line in enumerate(lines, 1):
        if not line.startswith('| ') or line.endswith('| test |'):
            continue
        n += 1
        row = TEST.search(line)
        if not row:
            wrong.append(f'line {number}: no test')
            continue
        path, name = row.groups()
        try:
            with open(os.path.join(root, path), encoding='utf-8') as file:
                if not re.search(rf'\b{name}\b', file.read()):
                    wrong.append(f'line {number}: {path} has no {name}')
        except FileNotFoundError:
            wrong.append(f'line {number}: there is no {path}')
    if n < 50:
        wrong.append(f'{n} rows are not the table')
    return wrong


def budgets(root, lines):
    with open(os.path.join(root, 'docs/reference.md'), encoding='utf-8') as file:
        sections = re.split(r'^## ', file.read(), flags=re.MULTILINE)
    of = {section.split('\n', 1)[0].strip('` '): section for section in sections}
    found = [(e, p) for line in lines if line.startswith('| ') for e, p in PROPERTY.findall(line)]
    wrong = [f'{e} has no property {p}' for e, p in found if f'| `{p}` |' not in of.get(e, '')]
    return wrong if len(found) >= 10 else wrong + [f'{len(found)} properties are not the table']


def main():
    root = sys.argv[1]
    with open(os.path.join(root, PAGE), encoding='utf-8') as file:
        text = file.read()
    table = text.split('## Budgets', 1)[1].split('## Captures', 1)
    wrong = {'budgets': budgets(root, table[0].split('\n')),
             'fields': fields(root, table[1].split('\n'))}
    print('1..2')
    for number, (name, lines) in enumerate(wrong.items(), 1):
        for line in lines:
            print(f'# {PAGE}: {line}')
        print(f'{"not " if lines else ""}ok {number} {name}')
    sys.exit(any(wrong.values()))


main()
