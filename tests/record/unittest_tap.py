# SPDX-License-Identifier: MIT
"""Runs the tests of unittest in the program and prints TAP, so that skips say why."""

import sys
import unittest


def run():
    tests = [t for suite in unittest.defaultTestLoader.loadTestsFromName("__main__")
             for t in suite]
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        result = unittest.TestResult()
        test.run(result)
        name = test.id().split(".")[-1][5:]
        for _, trace in result.failures + result.errors:
            print("# " + trace.replace("\n", "\n# "))
        if not result.wasSuccessful():
            failed += 1
            print(f"not ok {number} {name}")
        elif result.skipped:
            print(f"ok {number} {name} # SKIP {result.skipped[0][1]}")
        else:
            print(f"ok {number} {name}")
        sys.stdout.flush()
    sys.exit(failed > 0)
