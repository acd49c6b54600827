#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints the results in a testlog.json of Meson: a line "pass|fail|skip TAB name TAB reason" each.

usage: results.py PREFIX TESTLOG

A TAP subtest counts as one; so does a check of gst-check, whose summary says how many there were.
Any other program counts as one.
"""

import json
import re
import sys

TAP = re.compile(r"^(ok|not ok)\b\s*\d*\s*-?\s*([^#]*?)\s*(?:#\s*(SKIP|TODO)\b\s*(.*))?$", re.I)
MISSING = re.compile(r"^\S+ is missing: set NDT_TEST_\w+$", re.M)
CHECK = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$", re.M)


def last_line(test):
    """Why a test ended as it did: what it printed last."""
    for stream in ("stderr", "stdout"):
        lines = [line.strip() for line in test.get(stream, "").splitlines()]
        lines = [line for line in lines if line and not line.startswith("(test program exited")]
        if lines:
            return re.sub(r"^1\.\.0 # SKIP ", "", lines[-1])
    return "no reason given"


def results(test):
    """Yields (status, subtest, reason)."""
    verdict, out = test["result"], test.get("stdout", "")
    failed = verdict not in ("OK", "SKIP", "EXPECTEDFAIL")
    checks = CHECK.search(out)
    tap = [match for match in map(TAP.match, out.splitlines()) if match]
    n_failed = 0
    if verdict == "SKIP" and not tap:
        yield "skip", "", last_line(test)
    elif checks:
        n, n_failed = int(checks[1]), int(checks[2]) + int(checks[3])
        # gst-check knows no skips: a check without its data says so and ends.
        skips = MISSING.findall(test.get("stderr", ""))
        for _ in range(n - n_failed - len(skips)):
            yield "pass", "", ""
        for reason in skips:
            yield "skip", "", reason
        for _ in range(n_failed):
            yield "fail", "", last_line(test)
    elif tap and re.search(r"^1\.\.\d+", out, re.M):
        for match in tap:
            if match[3] and match[3].upper() == "SKIP":
                yield "skip", match[2], match[4] or "no reason given"
            elif match[1].lower() == "ok":
                yield "pass", match[2], ""
            else:
                n_failed += 1
                yield "fail", match[2], "see above"
    elif not failed:
        yield "pass", "", ""
    # Crashes and timeouts leave no failed subtest behind.
    if failed and n_failed == 0:
        yield "fail", "", verdict.lower() + ": " + last_line(test)


def main():
    prefix, path = sys.argv[1:]
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            test = json.loads(line)
            # Meson keeps the diagnostics of TAP to itself.
            if "not ok" in test.get("stdout", ""):
                print(test["stdout"], file=sys.stderr)
            name = prefix + re.sub(r"^[^/]* / ", "", test["name"])
            for status, subtest, reason in results(test):
                full = (name + " " + subtest).strip()
                print(status, full, " ".join(reason.split()), sep="\t")


if __name__ == "__main__":
    main()
