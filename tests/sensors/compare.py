# SPDX-License-Identifier: MIT
"""Clouds against clouds, whatever the order of their points."""

import os
import sys

import numpy as np

ROOT = os.environ["NDT_TEST_ROOT"]
DATA = os.environ.get("NDT_TEST_DATA") or os.path.join(ROOT, "..", "shared", "data")


def nearest(points, others, cell=0.1):
    """Distance of each point to the nearest of others, up to a cell (m; then infinite)."""
    base = np.floor(others / cell).astype(np.int64)
    order = np.lexsort(base.T)
    base, others = base[order], others[order]

    def key(cells):
        return (cells[:, 0] * 2097152 + cells[:, 1]) * 2097152 + cells[:, 2]

    keys = key(base)
    order = np.argsort(keys, kind="stable")
    keys, others = keys[order], others[order]
    best = np.full(len(points), np.inf)
    home = np.floor(points / cell).astype(np.int64)
    for shift in np.ndindex(3, 3, 3):
        wanted = key(home + np.array(shift) - 1)
        at, end = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, "right")
        while True:
            todo = np.nonzero(at < end)[0]
            if len(todo) == 0:
                break
            gap = np.linalg.norm(points[todo] - others[at[todo]], axis=1)
            best[todo] = np.minimum(best[todo], gap)
            at[todo] += 1
    return best


def read_pcd(path):
    """Fields of a PCD file, binary or of text, by name."""
    types = {("F", 4): "<f4", ("F", 8): "<f8", ("U", 1): "u1", ("U", 2): "<u2", ("U", 4): "<u4",
             ("I", 4): "<i4"}
    with open(path, "rb") as file:
        header = {}
        while "DATA" not in header:
            words = file.readline().decode("ascii").split()
            header[words[0]] = words[1:]
        dtype = np.dtype([(name, types[kind, int(size)]) for name, kind, size in
                          zip(header["FIELDS"], header["TYPE"], header["SIZE"])])
        if header["DATA"] == ["ascii"]:
            return np.loadtxt(file, dtype)
        assert header["DATA"] == ["binary"], header["DATA"]
        return np.frombuffer(file.read(), dtype, int(header["POINTS"][0]))


def run(tests, folders=()):
    """Runs functions (TAP): each gets the folder of data, of which these are needed, and returns a
    reason to skip it."""
    failed = 0
    missing = [name for name in folders if not os.path.isdir(os.path.join(DATA, name))]
    for number, test in enumerate(tests, 1):
        name = test.__name__
        if missing:
            reason = f"{DATA}/{missing[0]} is missing: set NDT_TEST_DATA"
            if os.environ.get("CI") == "true":
                print(f"not ok {number} {name}\n# {reason}")
                failed += 1
            else:
                print(f"ok {number} {name} # SKIP {reason}")
            continue
        try:
            skip = test(DATA)
            print(f"ok {number} {name}" + (f" # SKIP {skip}" if skip else ""), flush=True)
        except (AssertionError, OSError) as error:
            failed += 1
            print(f"not ok {number} {name}\n# {type(error).__name__}: {error}", flush=True)
    print(f"1..{len(tests)}")
    sys.exit(1 if failed else 0)
