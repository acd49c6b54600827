#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fleet.py's drives on Ray: on this machine, or on a cluster that --address names.

  fleet_ray.py MANIFEST OUT [--address=auto] [--cpus=2] [--gpus=0] …

OUT and the recordings are on a file system that all nodes share. A drive has --cpus processors and --gpus devices (0.5:
two drives share one). A node that is lost costs the drives that it had: Ray runs them again elsewhere.
"""

import argparse
import os
import sys

import ray

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fleet  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest")
    parser.add_argument("out")
    parser.add_argument("--address", help="of a cluster; default: one on this machine")
    parser.add_argument("--cpus", type=float, default=1, help="of a drive (1)")
    parser.add_argument("--gpus", type=float, default=0, help="of a drive (0)")
    parser.add_argument("--jobs", type=int, help="processors of a Ray on this machine (all)")
    fleet.add_limits(parser)
    arguments = parser.parse_args()
    drives = fleet.read_manifest(arguments.manifest)
    os.makedirs(arguments.out, exist_ok=True)
    out = os.path.abspath(arguments.out)
    here = os.path.dirname(os.path.abspath(__file__))
    ray.init(address=arguments.address, num_cpus=None if arguments.address else arguments.jobs,
             include_dashboard=False, logging_level="warning", log_to_driver=False,
             runtime_env={"env_vars": {"PYTHONPATH": here}})

    # A worker that dies is no attempt of the drive: Ray starts the task again.
    @ray.remote(num_cpus=arguments.cpus, num_gpus=arguments.gpus, max_retries=arguments.attempts)
    def run(drive):
        return fleet.run_drive(drive, out, arguments)

    waiting = {run.remote(drive): drive for drive in drives if not fleet.read_row(drive, out)}
    while waiting:
        ready, _ = ray.wait(list(waiting))
        for task in ready:
            drive = waiting.pop(task)
            try:
                row = ray.get(task)
                print(f"{row['drive']}: {row['result']}", flush=True)
            except ray.exceptions.RayError as error:
                print(f"{drive['drive']}: {type(error).__name__}: no worker could do it", file=sys.stderr)
    ray.shutdown()
    return fleet.finish(drives, out, arguments.price)


if __name__ == "__main__":
    sys.exit(main())
