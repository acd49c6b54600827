#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs test-expression-nvrtc with the NVRTC of tests/requirements.txt: compiling needs no device (TAP).

    test-nvrtc.py PROGRAM
"""

import importlib.util
import os
import sys


def main():
    program = sys.argv[1]
    try:
        spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    except ModuleNotFoundError:
        spec = None
    folders = [os.path.join(folder, "lib") for folder in spec.submodule_search_locations] if spec else []
    before = os.environ.get("LD_LIBRARY_PATH")
    environment = dict(os.environ, LD_LIBRARY_PATH=":".join(folders + ([before] if before else [])))
    os.execve(program, [program], environment)


if __name__ == "__main__":
    main()
