#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Includes go down only (docs/architecture.md, "Rooms").

    test-layers.py SOURCE-ROOT

Five rules, as tables; add a folder where it belongs:
- LAYERS: a file of a folder includes headers of its own folder and of those before it in its list.
- PLAIN: no file of these folders includes a header of GStreamer, gst* files (elements and their
  helpers) of the folder excepted.
- No circles: files of ndtcore and cuda whose functions call each other's.
- MAX_FILES: a folder of the product with more sources is divided.
- QUIET: libraries read no environment and print nothing but by their log.
"""
import collections
import os
import re
import sys

# From the ground up; files that lie in no folder are above them all.
LAYERS = {
    'cuda': ['expression', 'device', 'frames', 'scan', 'map', 'search', 'align'],
    'ndtcore': ['base', 'math', 'objective', 'expression', 'scan', 'motion', 'map', 'cloudfile', 'mapfile', 'posefile', 'align',
                'registration', 'calibration', 'odometry', 'track', 'mapping', 'sim', 'tools'],
    'gst/mcap': ['container', 'remote', 'ros', 'bag', 'messages', 'write', 'record', 'replay', 'tools'],
}

# What the folders may include beside their own and the system's headers.
MAY_INCLUDE = {
    'ndtcore': ['ndtcore'],
    'cuda': ['cuda', 'ndtcore'],
}

# Folders without GStreamer, with all below. Files named gst* and plugin* are elements'.
PLAIN = [
    'ndtcore',
    'cuda',
    'gst/lidardec',
    'gst/lidarpcap',
    'gst/lidartest',
    'gst/mcap/container',
    'gst/mcap/bag',
    'gst/mcap/remote',
    'gst/mcap/ros',
    'gst/render',
    'gst/scene',
    'gst/view',
]

# Sources in one folder, and folders that may have more, with the reason.
MAX_FILES = 22
LARGE = {
    'gst/pointcloud': 'headers are installed, and included in the tree, as gst/pointcloud/NAME',
}

# file: reason. An exception that is not needed fails.
EXCEPTIONS = {}

# Folders whose files call none of these functions, but for those of TOOLS and of MAY_READ.
QUIET = ['ndtcore', 'cuda']
TOOLS = 'ndtcore/tools/'
LOUD = re.compile(r'\b((?:g_|secure_)?getenv|g_print|g_printerr|printf|puts|perror)\s*\(')
MAY_READ = {
    'ndtcore/base/ndt-instructions.c': 'NDT_KERNEL, of tests of each set of instructions',
}

SOURCES = ('.c', '.h', '.cu', '.cuh', '.cpp')
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.DOTALL)
DEFINITION = re.compile(r'^(ndt_\w+) \((?=[^;]*?\)\s*\{)', re.MULTILINE)
WORD = re.compile(r'\bndt_\w+')


def sources(root, folder):
    """Paths from @root of the C and CUDA files in @folder and below."""
    for path, _, names in os.walk(os.path.join(root, folder)):
        for name in sorted(names):
            if name.endswith(SOURCES):
                yield os.path.relpath(os.path.join(path, name), root)


def includes(root, path):
    """(from the project, path from @root or name of the system's header) of a file."""
    with open(os.path.join(root, path), encoding='utf-8') as file:
        text = file.read()
    for quote, name in INCLUDE.findall(text):
        beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if quote == '"' and os.path.exists(os.path.join(root, beside)):
            yield True, beside
        elif quote == '"' and os.path.exists(os.path.join(root, name)):
            yield True, name
        else:
            yield False, name


def is_element(path):
    return os.path.basename(path).startswith(('gst', 'plugin'))


def check_layers(root):
    faults = []
    for top, layers in LAYERS.items():
        for folder in sorted(os.listdir(os.path.join(root, top))):
            if os.path.isdir(os.path.join(root, top, folder)) and folder not in layers:
                faults.append(f'{top}/{folder} is in no layer')
        for path in sources(root, top):
            layer = path.split('/')[1]
            if path.count('/') == 1:
                continue
            for own, name in includes(root, path):
                if own and name.startswith(top + '/'):
                    other = name.split('/')[1]
                    if other in layers and layers.index(other) > layers.index(layer):
                        faults.append(f'{path} includes {name}, which lies above it')
    for top, folders in MAY_INCLUDE.items():
        for path in sources(root, top):
            for own, name in includes(root, path):
                if own and name.split('/')[0] not in folders:
                    faults.append(f'{path} includes {name}: of the project it may use {folders}')
    return faults


def check_plain(root):
    faults = []
    needed = set()
    for folder in PLAIN:
        for path in sources(root, folder):
            if is_element(path):
                continue
            for own, name in includes(root, path):
                if (own and is_element(name)) or (not own and name.startswith('gst/')) or \
                        name in EXCEPTIONS:
                    needed.add(path)
                    if path not in EXCEPTIONS and name not in EXCEPTIONS:
                        faults.append(f'{path} includes {name}, which is of GStreamer')
    for path in EXCEPTIONS:
        if path not in needed:
            faults.append(f'{path} is an exception that is not needed')
    return faults


def check_circles(root):
    """Circles of files of ndtcore and cuda by what they call: layout makes functions easy to tell,
    since the name of one that is defined begins its line."""
    faults = []
    for top in MAY_INCLUDE:
        defined, texts = {}, {}
        for path in sources(root, top):
            with open(os.path.join(root, path), encoding='utf-8') as file:
                texts[path] = COMMENT.sub('', file.read())
            node = os.path.splitext(path)[0]
            if not path.endswith('.h'):
                for name in DEFINITION.findall(texts[path]):
                    defined[name] = node
        uses = {}
        for path, text in texts.items():
            node = os.path.splitext(path)[0]
            if not path.endswith('.h'):
                others = {defined[name] for name in WORD.findall(text) if name in defined}
                uses.setdefault(node, set()).update(others - {node})
        done = set()

        def walk(node, way):
            if node in way:
                faults.append(' -> '.join(way[way.index(node):] + [node]))
                return
            if node in done:
                return
            for other in sorted(uses.get(node, ())):
                walk(other, way + [node])
            done.add(node)

        for node in sorted(uses):
            walk(node, [])
    return faults


def check_sizes(root):
    faults = []
    for top in ('ndtcore', 'cuda', 'gst'):
        counts = collections.Counter(os.path.dirname(path) for path in sources(root, top))
        faults += [f'{folder} has {n} sources, more than {MAX_FILES}'
                   for folder, n in sorted(counts.items()) if n > MAX_FILES and folder not in LARGE]
        faults += [f'{folder} is large no more' for folder in LARGE
                   if folder.split('/')[0] == top and 0 < counts[folder] <= MAX_FILES]
    return faults


def check_quiet(root):
    faults = []
    needed = set()
    for folder in QUIET:
        for path in sources(root, folder):
            if path.startswith(TOOLS):
                continue
            with open(os.path.join(root, path), encoding='utf-8') as file:
                calls = LOUD.findall(COMMENT.sub('', file.read()))
            needed.update([path] if calls else [])
            if path not in MAY_READ:
                faults += [f'{path} calls {call}' for call in calls]
    faults += [f'{path} is an exception that is not needed'
               for path in MAY_READ if path not in needed and os.path.exists(os.path.join(root, path))]
    return faults


def check_rules():
    """The rules find what they forbid."""
    import tempfile
    with tempfile.TemporaryDirectory() as root:
        for top in list(MAY_INCLUDE) + PLAIN:
            os.makedirs(os.path.join(root, top), exist_ok=True)

        def write(path, *names):
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as file:
                file.writelines(f'#include {name}\n' for name in names)

        write('ndtcore/align/ndt-a.h', '"ndtcore/base/ndt-b.h"')
        write('ndtcore/base/ndt-b.h', '<glib.h>')
        write('gst/mcap/ros/cdr.h')
        for path in EXCEPTIONS:
            write(path, '<gst/gst.h>')
        ok = check_layers(root) == [] and check_plain(root) == [] and check_circles(root) == [] and \
            check_sizes(root) == [] and check_quiet(root) == []
        write('ndtcore/base/ndt-b.h', '"ndtcore/align/ndt-a.h"')
        write('gst/mcap/ros/cdr.h', '<gst/gst.h>')
        write('gst/mcap/ros/gstbag.h', '<gst/gst.h>')
        write('gst/mcap/ros/bag.c', '"gstbag.h"')
        write('ndtcore/new/ndt-c.c')
        for i in range(MAX_FILES + 1):
            write(f'gst/many/{i}.c')
        for name, other in (('a', 'b'), ('b', 'a')):
            with open(os.path.join(root, f'cuda/ndt-cuda-{name}.c'), 'w', encoding='utf-8') as file:
                file.write(f'int\nndt_cuda_{name} (int n)\n{{\n  return ndt_cuda_{other} (n);\n}}\n')
        with open(os.path.join(root, 'ndtcore/base/ndt-b.c'), 'w', encoding='utf-8') as file:
            file.write('  if (g_getenv ("DEBUG")) /* getenv () */\n    g_printerr ("printf");\n')
        return ok and len(check_layers(root)) == 2 and len(check_plain(root)) == 2 and \
            len(check_circles(root)) > 0 and len(check_sizes(root)) == 1 and \
            len(check_quiet(root)) == 2


def main():
    root = sys.argv[1]
    print('1..6')
    failed = 0
    tests = [('layers', check_layers), ('plain', check_plain), ('circles', check_circles),
             ('sizes', check_sizes), ('quiet', check_quiet)]
    for i, (name, check) in enumerate(tests, 1):
        faults = check(root)
        for fault in faults:
            print('# ' + fault)
        print(f'{"not ok" if faults else "ok"} {i} {name}')
        failed += bool(faults)
    ok = check_rules()
    print(f'{"ok" if ok else "not ok"} 6 rules')
    return 1 if failed or not ok else 0


if __name__ == '__main__':
    sys.exit(main())
