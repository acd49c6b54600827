#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""pipelines/fleet/fleet_simulate.py against what can be computed by hand or in closed form (TAP)."""

import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = os.environ["NDT_TEST_ROOT"]
FLEET = os.path.join(ROOT, "pipelines", "fleet")
sys.path[:0] = [FLEET, os.path.join(ROOT, "tests", "record")]
import fleet_simulate  # noqa: E402
import unittest_tap  # noqa: E402

HOUR = 3600
UNLIMITED = 10 ** 6


def simulate(drives, workers, seed=1, **options):
    return fleet_simulate.simulate(drives, workers, random.Random(seed), **options)


class Simulate(unittest.TestCase):
    def test_queue(self):
        """Undisturbed: the next drive goes to the worker that is free first."""
        rng = random.Random(3)
        drives = [(rng.uniform(1, 9), 0, 0) for _ in range(200)]
        for workers in 1, 3, 16, 200, 1000:
            free = [0.0] * workers
            for seconds, _, _ in drives:
                first = min(range(workers), key=lambda i: free[i])
                free[first] += seconds
            row = simulate(drives, workers)
            self.assertAlmostEqual(row["seconds"], max(free))
            self.assertAlmostEqual(row["busy"], sum(drive[0] for drive in drives))
            self.assertEqual((row["retried"], row["given_up"]), (0, 0))

    def test_storage(self):
        self.assertAlmostEqual(simulate([(10, 100, 0)] * 2, 2, bandwidth=10)["seconds"], 20)
        # 20 B/s are asked for and 15 are there: both at 3/4 until the short one ends at 5 / 0.75, then 5 s.
        self.assertAlmostEqual(simulate([(10, 100, 0), (5, 50, 0)], 2, bandwidth=15)["seconds"], 5 / 0.75 + 5)
        self.assertAlmostEqual(simulate([(10, 100, 0), (5, 50, 0)], 2, bandwidth=20)["seconds"], 10)
        drives = [(1 + i % 3, 100 * (1 + i % 3), 0) for i in range(3000)]
        row = simulate(drives, 100, bandwidth=1000)
        self.assertAlmostEqual(row["seconds"], row["moved"] / 1000, delta=0.01 * row["seconds"])

    def test_losses(self):
        """A drive of length L that starts anew at losses of rate r takes (exp (r L) - 1) / r of work in the mean, with
        the variance (exp (2 r L) - 1 - 2 r L exp (r L)) / r^2."""
        n, rate = 4000, 0.5
        row = simulate([(HOUR, 0, 0)] * n, 50, losses=(rate, 60), attempts=UNLIMITED)
        mean = math.expm1(rate) / rate
        sigma = math.sqrt((math.exp(2 * rate) - 1 - 2 * rate * math.exp(rate)) / rate ** 2 / n)
        self.assertAlmostEqual(row["busy"] / HOUR / n, mean, delta=4 * sigma)
        self.assertEqual(row["given_up"], 0)
        # Each loss stops the one worker there is for a minute.
        one = simulate([(HOUR, 0, 0)] * 50, 1, losses=(rate, 60), attempts=UNLIMITED)
        self.assertGreater(one["retried"], 0)
        self.assertAlmostEqual(one["seconds"] - one["busy"], 60 * one["retried"], places=3)

    def test_retries(self):
        n, share = 20000, 0.2
        row = simulate([(1, 0, 0)] * n, 100, failures=share, attempts=3)
        # Binomial: four of its sigmas.
        for count, p in (row["given_up"], share ** 3), (row["retried"] / (share + share ** 2) * share, share):
            self.assertAlmostEqual(count, n * p, delta=4 * math.sqrt(n * p))
        self.assertAlmostEqual(row["busy"], n + row["retried"])

    def test_stragglers(self):
        n = 20000
        row = simulate([(1, 0, 0)] * n, 100, stragglers=(0.01, 10))
        self.assertAlmostEqual(row["busy"], n * 1.09, delta=4 * 9 * math.sqrt(n * 0.01))

    def test_program(self):
        program = os.path.join(FLEET, "fleet_simulate.py")
        with tempfile.TemporaryDirectory() as folder:
            table = os.path.join(folder, "drives.csv")
            with open(table, "w", encoding="utf-8") as file:
                file.write("map,workers,drive,seconds,cpu_seconds,bytes_in,bytes_out,scans,duration_s\n"
                           "m,1,1,2,2,60,40,100,10\nm,1,2,2,2,60,40,100,10\n"
                           "m,4,1,3,2,60,40,100,10\nm,4,2,3,2,60,40,100,10\n")
            self.assertEqual(fleet_simulate.read_times(table), ([(2, 100, 10)] * 2, {1: 1, 4: 1.5}))
            self.assertAlmostEqual(fleet_simulate.slowdown({1: 1, 4: 1.5}, 2), 1 + 0.5 / 3)
            self.assertEqual(fleet_simulate.slowdown({1: 1, 4: 1.5}, 9), 1.5)
            command = [sys.executable, program, table, "--drives=100", "--workers=1,4,100", "--price=0.1"]
            output = subprocess.check_output(command, text=True)
            rows = [dict(part.split("=") for part in line.split()) for line in output.splitlines()]
            # 100 drives of 2 s; four workers slow each other down to 3 s.
            self.assertEqual([float(row["seconds"]) for row in rows], [200, 75, 3])
            self.assertEqual([float(row["speedup"]) for row in rows], [1, 2.67, 66.67])
            # 200 s of a worker are 1000 s of driving: 0.2 hours of a worker an hour.
            self.assertEqual([float(row["price_of_1000_hours"]) for row in rows], [20, 30, 30])
            noisy = [*command, "--stragglers=0.1,5", "--losses=1,60", "--spread=0.5", "--duration=3600"]
            self.assertEqual(subprocess.check_output(noisy), subprocess.check_output(noisy))
            with open(os.path.join(folder, "drives.jsonl"), "w", encoding="utf-8") as file:
                for seconds in 2, 4:
                    file.write(json.dumps({"seconds": seconds, "bytes": 7, "duration_s": None}) + "\n")
            self.assertEqual(fleet_simulate.read_times(file.name), ([(2, 7, 0), (4, 7, 0)], {1: 1}))


if __name__ == "__main__":
    unittest_tap.run()
