#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long a list of drives takes with so many workers, and at what price, by the times that drives took.

  fleet_simulate.py TIMES [--drives=10000] [--workers=1,2,…,1000] [--bandwidth=MB/S] [--price=P] …

TIMES is drives.jsonl of fleet.py, or drives.csv of tests/bench/fleet-scaling.sh. That one has the times with several
numbers of workers on one machine: the simulated machines then slow a drive down as that one did, and have as many
workers as the largest number. A simulated drive has the time and the bytes of one that is drawn from TIMES.

Workers take the drives in their order. All share a storage of --bandwidth: where they ask for more, all are slowed
down by the same factor. With --stragglers=SHARE,FACTOR so many attempts take FACTOR times as long. With
--losses=PER_HOUR,SECONDS a worker is lost so often per hour of work, its drive starts anew elsewhere, and the worker is
replaced after so many seconds. With --failures=SHARE so many attempts end with a status that is tried again. Prints, of
all seeds, medians, and the 95th percentile of the seconds.
"""

import argparse
import csv
import heapq
import json
import math
import random
import statistics
import sys


def read_times(path):
    """Drives as (seconds, bytes, seconds of driving), and by how much so many workers on a machine slow one down."""
    if path.endswith(".jsonl"):
        with open(path, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        return [(row["seconds"], row.get("bytes") or 0, row.get("duration_s") or 0)
                for row in rows if row["seconds"] > 0], {1: 1.0}
    by_workers = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            by_workers.setdefault(int(row["workers"]), []).append(
                (float(row["seconds"]), int(row["bytes_in"]) + int(row["bytes_out"]), float(row["duration_s"])))
    least = min(by_workers)
    base = statistics.fmean(drive[0] for drive in by_workers[least])
    return by_workers[least], {n: statistics.fmean(drive[0] for drive in drives) / base
                               for n, drives in by_workers.items()}


def slowdown(table, workers):
    """Of a machine with so many workers, linear between those of the table."""
    known = sorted(table)
    for low, high in zip(known, known[1:]):
        if low <= workers <= high:
            return table[low] + (table[high] - table[low]) * (workers - low) / (high - low)
    return table[known[0] if workers < known[0] else known[-1]]


def draw(times, n, duration, spread, rng):
    """Drives for a run; duration: of driving each has, 0 as measured; spread: sigma of the logarithm of its length."""
    drives = []
    for _ in range(n):
        seconds, size, driven = rng.choice(times)
        length = (duration / driven if duration and driven else 1) * math.exp(rng.gauss(0, spread) if spread else 0)
        drives.append((seconds * length, size * length, driven * length))
    return drives


def simulate(drives, workers, rng, slow=1.0, bandwidth=0, stragglers=(0, 1), losses=(0, 0), failures=0, attempts=3):
    """Runs the queue. All that is at work goes on at the same share of its full speed, so that events of work are
    ordered by a clock that runs with that share ("work"), whatever comes and goes meanwhile."""
    waiting = list(range(len(drives)))[::-1]
    tries = [0] * len(drives)
    work, at_work, back = 0.0, [], []  # heaps of (clock of work, …) and of (time, …)
    now = demand = busy = 0.0
    free, running, retried, given_up = workers, 0, 0, 0
    while waiting or at_work:
        while free and waiting:
            drive = waiting.pop()
            seconds, size, _ = drives[drive]
            length = seconds * slow * (stragglers[1] if rng.random() < stragglers[0] else 1)
            lost = rng.expovariate(losses[0] / 3600) if losses[0] else math.inf
            need = size / length
            tries[drive] += 1
            heapq.heappush(at_work, (work + min(length, lost), drive, lost < length, need))
            demand += need
            free, running = free - 1, running + 1
        share = min(1, bandwidth / demand) if bandwidth and demand > 0 else 1
        until = now + (at_work[0][0] - work) / share if at_work else math.inf
        if back and back[0] <= until:
            busy += running * (back[0] - now)
            work, now = work + (back[0] - now) * share, heapq.heappop(back)
            free += 1
            continue
        busy += running * (until - now)
        now = until
        work, drive, lost, need = heapq.heappop(at_work)
        running -= 1
        demand = demand - need if running else 0.0
        if lost:
            heapq.heappush(back, now + losses[1])
        else:
            free += 1
        if lost or (failures and rng.random() < failures):
            if tries[drive] < attempts:
                retried += 1
                waiting.insert(0, drive)
            else:
                given_up += 1
    return {"seconds": now, "busy": busy, "retried": retried, "given_up": given_up,
            "moved": sum(size for _, size, _ in drives)}


def pair(text):
    first, _, second = text.partition(",")
    return float(first), float(second or 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times")
    parser.add_argument("--drives", type=int, default=10000, help="how many (10000)")
    parser.add_argument("--duration", type=float, default=0, help="seconds that each drives (as measured)")
    parser.add_argument("--spread", type=float, default=0, help="sigma of the logarithm of drives' lengths (0)")
    parser.add_argument("--workers", default="1,2,4,8,16,32,64,125,250,500,1000")
    parser.add_argument("--bandwidth", type=float, default=0, help="MB/s of the storage that all share (0: any)")
    parser.add_argument("--stragglers", type=pair, default=(0, 1), help="SHARE,FACTOR")
    parser.add_argument("--losses", type=pair, default=(0, 0), help="PER_HOUR,SECONDS")
    parser.add_argument("--failures", type=float, default=0, help="share of the attempts")
    parser.add_argument("--attempts", type=int, default=3, help="of a drive (3)")
    parser.add_argument("--seeds", type=int, default=5, help="runs, with seeds 1, 2 … (5)")
    parser.add_argument("--price", type=float, default=0, help="of a worker's hour")
    arguments = parser.parse_args()
    times, table = read_times(arguments.times)
    if not times:
        parser.error(f"{arguments.times} has no drives")
    for workers in map(int, arguments.workers.split(",")):
        rows = []
        for seed in range(1, arguments.seeds + 1):
            rng = random.Random(seed)
            drives = draw(times, arguments.drives, arguments.duration, arguments.spread, rng)
            row = simulate(drives, workers, rng, slowdown(table, min(workers, max(table))), arguments.bandwidth * 1e6,
                           arguments.stragglers, arguments.losses, arguments.failures, arguments.attempts)
            row["speedup"] = sum(drive[0] for drive in drives) / row["seconds"]
            driven = sum(drive[2] for drive in drives)
            if arguments.price and driven:
                row["price"] = arguments.price * workers * row["seconds"] / driven * 1000
            rows.append(row)
        middle = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
        late = sorted(row["seconds"] for row in rows)[math.ceil(0.95 * len(rows)) - 1]
        print(f"workers={workers} seconds={middle['seconds']:.1f} seconds_p95={late:.1f} "
              f"speedup={middle['speedup']:.2f} busy={middle['busy'] / middle['seconds'] / workers:.3f} "
              f"MB_per_s={middle['moved'] / middle['seconds'] / 1e6:.0f} retried={middle['retried']:.0f} "
              f"given_up={middle['given_up']:.0f}" +
              (f" price_of_1000_hours={middle['price']:.2f}" if "price" in middle else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
