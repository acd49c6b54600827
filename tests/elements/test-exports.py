#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What plugins show to the programs that load them: their two entry points and nothing else.

Every plugin of a process shares one space of names: a function of ours that is shown may be called
in place of another plugin's with the same name, or be replaced by it.

usage: test-exports.py NM; the plugins are those of GST_PLUGIN_PATH_1_0.
"""

import os
import pathlib
import subprocess
import sys


def exports(nm, library):
    lines = subprocess.run([nm, "-D", "--defined-only", "--format=posix", library], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return {line.split()[0] for line in lines}


def main():
    folders = os.environ["GST_PLUGIN_PATH_1_0"].split(":")
    plugins = [path for folder in folders for path in sorted(pathlib.Path(folder).glob("libgst*.so"))]
    print(f"1..{len(folders)}")
    failed = len(plugins) != len(folders)
    if failed:
        print(f"Bail out! {len(plugins)} plugins in {len(folders)} folders")
        return failed
    for i, plugin in enumerate(plugins):
        name = plugin.stem.removeprefix("libgst")
        shown = exports(sys.argv[1], plugin)
        expected = {f"gst_plugin_{name}_get_desc", f"gst_plugin_{name}_register"}
        if shown != expected:
            failed = True
            print("# missing:", *sorted(expected - shown))
            print("# too many:", *sorted(shown - expected))
        print(f"{'ok' if shown == expected else 'not ok'} {i + 1} {name}")
    return failed


sys.exit(main())
