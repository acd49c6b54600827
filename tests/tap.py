# SPDX-License-Identifier: MIT
"""Runs functions as tests and prints TAP."""
import sys
import tempfile
import traceback


def named(names):
    """Of a program's globals(): its functions test_…"""
    return [test for name, test in names.items() if name.startswith("test_")]


def run(tests, *arguments, in_folders=False):
    """Each test is called with the arguments, and with an empty folder of its own before them where
    @in_folders. What it returns is its directive ("SKIP why"); an exception fails it. Returns the
    program's exit status."""
    failed = 0
    print(f"1..{len(tests)}", flush=True)
    for number, test in enumerate(tests, 1):
        name = test.__name__.removeprefix("test_")
        try:
            if in_folders:
                with tempfile.TemporaryDirectory() as folder:
                    directive = test(folder, *arguments)
            else:
                directive = test(*arguments)
            print(f"ok {number} {name}" + (f" # {directive}" if directive else ""), flush=True)
        except Exception as error:  # the others say more
            failed = 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"not ok {number} {name}")
            print(f"# line {where.lineno} of {where.filename}: {type(error).__name__}")
            print("# " + str(error).replace("\\n", "\n").replace("\n", "\n# "), flush=True)
    sys.stdout.flush()
    return failed
