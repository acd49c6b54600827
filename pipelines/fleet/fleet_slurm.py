#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fleet.py's drives as a Slurm array.

  fleet_slurm.py MANIFEST OUT [--tasks=N] [--sbatch="--cpus-per-task=2 --gres=gpu:1 --time=2:00:00"] …

Each of N tasks does every N-th drive that is not done. OUT, the recordings and this folder are on a file system that all
nodes share. The call waits for the array and writes the page; started again it submits what is left. Tasks that Slurm
kills or requeues cost the drive that they had.
"""

import argparse
import os
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fleet  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest")
    parser.add_argument("out")
    parser.add_argument("--tasks", type=int, default=100, help="of the array (100)")
    parser.add_argument("--sbatch", default="", help="more options of sbatch")
    parser.add_argument("--rounds", type=int, default=3, help="arrays, each of what the one before left (3)")
    fleet.add_limits(parser)
    arguments = parser.parse_args()
    drives = fleet.read_manifest(arguments.manifest)
    os.makedirs(arguments.out, exist_ok=True)
    out = os.path.abspath(arguments.out)
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fleet.py")
    limits = [f"--{name}={getattr(arguments, name)}" for name in ("attempts", "pause", "time", "memory")]
    for _ in range(arguments.rounds):
        left = sum(fleet.read_row(drive, out) is None for drive in drives)
        if left == 0:
            break
        tasks = min(arguments.tasks, len(drives))
        task = shlex.join([sys.executable, program, "drive", os.path.abspath(arguments.manifest), out, f"--of={tasks}",
                           *limits])
        script = os.path.join(out, "task.sh")
        fleet.write_whole(script, f"#!/bin/sh\nexec {task} --index=$SLURM_ARRAY_TASK_ID\n")
        # Requeued where its node is lost. What a task prints is in its drives' folders.
        done = subprocess.run(["sbatch", "--wait", "--requeue", f"--array=0-{tasks - 1}", "--job-name=ndt-fleet",
                               f"--output={out}/task-%a.log", *shlex.split(arguments.sbatch), script])
        if done.returncode < 0:
            return 1
    return fleet.finish(drives, out, arguments.price)


if __name__ == "__main__":
    sys.exit(main())
