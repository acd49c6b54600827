#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Thousands of recorded drives, each by ndt-replay: a manifest in, a row a drive out.

  fleet.py run MANIFEST OUT [--jobs=N]          on this machine; fleet_ray.py and fleet_slurm.py on others
  fleet.py drive MANIFEST OUT --index=I --of=N  every N-th drive from the I-th on: what a task of a cluster runs
  fleet.py report MANIFEST OUT [--price=P]      OUT/drives.jsonl, .parquet (with pyarrow) and .html

MANIFEST is CSV (with a line of names), JSON lines (.jsonl) or Parquet (with pyarrow) with the columns recording and map,
and may have drive (a name: default is the recording's), start (as ndt-replay's START) and options (more arguments of
ndt-replay, as in a shell). Paths are relative to the manifest.

OUT/DRIVE/ gets what ndt-replay writes and row.json, which is written last: the drive is done when that is there and of
the same line of the manifest. So any number of workers may be killed, and the job started again: what is done is not
done again, and a drive is done by one worker at a time (a lock). NDT_REPLAY names the program (default ndt-replay).
"""

import argparse
import concurrent.futures
import csv
import fcntl
import hashlib
import html
import json
import os
import re
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import time

RESULTS = {0: "localized", 1: "failed", 2: "usage", 3: "not-localized", 4: "bad-input", 5: "no-map",
           6: "environment", 130: "interrupted"}
AGAIN = {"failed", "environment", "interrupted", "crashed"}  # what may end otherwise next time
COLUMNS = ("recording", "map", "start", "options")


def read_manifest(path):
    """Drives in the order of their maps, so that neighbours share what is in memory."""
    base = os.path.dirname(os.path.abspath(path))
    if path.endswith(".parquet"):
        import pyarrow.parquet  # only for this format
        rows = pyarrow.parquet.read_table(path).to_pylist()
    elif path.endswith(".jsonl"):
        with open(path, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file if line.strip()]
    else:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    drives, names = [], set()
    for number, row in enumerate(rows, 1):
        drive = {name: str(row.get(name) or "") for name in COLUMNS}
        if not drive["recording"] or not drive["map"]:
            sys.exit(f"{path}: drive {number} has no recording or no map")
        for name in ("recording", "map"):
            if "://" not in drive[name]:
                drive[name] = os.path.join(base, drive[name])
        name = str(row.get("drive") or os.path.splitext(os.path.basename(drive["recording"].rstrip("/")))[0])
        drive["drive"] = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".") or "_"
        if drive["drive"] in names:
            sys.exit(f"{path}: two drives are called {drive['drive']}: give the column drive")
        names.add(drive["drive"])
        drive["base"] = base
        drives.append(drive)
    return sorted(drives, key=lambda drive: (drive["map"], drive["drive"]))


def line_digest(drive):
    return hashlib.sha256(json.dumps([drive[name] for name in COLUMNS]).encode()).hexdigest()


def read_row(drive, out):
    """The row of a drive that is done; None: it is not."""
    try:
        with open(os.path.join(out, drive["drive"], "row.json"), encoding="utf-8") as file:
            row = json.load(file)
    except (OSError, ValueError):
        return None
    return row if row.get("line") == line_digest(drive) else None


def write_whole(path, text):
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)


def run_once(drive, folder, limits, lock):
    """Result, seconds, processor seconds, bytes of memory at most, the last line of what was said."""
    command = [os.environ.get("NDT_REPLAY", "ndt-replay"), "--resume", drive["recording"], drive["map"],
               drive["start"] or "auto", folder, *shlex.split(drive["options"])]

    def limit():
        os.setsid()
        if limits.memory:  # of the heap: devices map far more addresses than they use
            resource.setrlimit(resource.RLIMIT_DATA, (limits.memory << 20,) * 2)

    begun = time.monotonic()
    with open(os.path.join(folder, "log.txt"), "w", encoding="utf-8") as log:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       cwd=drive["base"], preexec_fn=limit, pass_fds=(lock.fileno(),))
        except OSError as error:
            return "environment", 0, 0, 0, str(error)
    late = False
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if limits.time and time.monotonic() - begun > limits.time and not late:
            late = True
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    with open(os.path.join(folder, "log.txt"), encoding="utf-8", errors="replace") as log:
        said = [line for line in log.read().splitlines() if line]
    result = "timeout" if late else RESULTS.get(process.returncode, "crashed")
    return (result, time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024,
            said[-1] if said else "")


def run_drive(drive, out, limits):
    """The drive's row, made or found. Waits for another worker that has the drive."""
    folder = os.path.join(out, drive["drive"])
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, ".lock"), "w", encoding="ascii") as lock:
        # The program has the lock as well: where a worker is killed and its program goes on, the next
        # worker waits for that, and finds the report.
        fcntl.flock(lock, fcntl.LOCK_EX)
        row = read_row(drive, out)
        if row:
            return row
        for attempt in range(1, limits.attempts + 1):
            result, seconds, cpu, memory, said = run_once(drive, folder, limits, lock)
            if result not in AGAIN or attempt == limits.attempts:
                break
            time.sleep(min(2 ** attempt * limits.pause, 60))
        row = {"drive": drive["drive"], "result": result, "attempts": attempt, "recording": drive["recording"],
               "map": drive["map"], "seconds": round(seconds, 3), "cpu_seconds": round(cpu, 3),
               "memory_bytes": memory, "said": said, "line": line_digest(drive)}
        try:
            with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
                report = json.load(file)
        except (OSError, ValueError):
            report = {}
        if report.get("result") == result:
            status = report.get("status", {})
            row |= {"problem": report.get("problem"), "scans": report.get("scans"),
                    "tracking": status.get("tracking", {}).get("share"),
                    "lost": status.get("lost", {}).get("share"), "backend": report.get("backend"),
                    "start": report.get("start", {}).get("source"),
                    "bytes": (report["inputs"]["recording"].get("bytes") or 0) + sum(
                        entry.stat().st_size for entry in os.scandir(folder) if entry.is_file()),
                    "duration_s": report.get("duration_s"), "distance_m": report.get("distance_m"),
                    "largest_gap_s": report.get("largest_gap_s"),
                    "first_loss_s": report.get("first_loss_s"),
                    "error_mean_m": report.get("error", {}).get("mean_m"),
                    "recording_sha256": report["inputs"]["recording"]["sha256"],
                    "map_sha256": report["inputs"]["map"]["sha256"]}
        write_whole(os.path.join(folder, "row.json"), json.dumps(row, indent=1) + "\n")
        return row


def order(row):
    """The worst first."""
    return row["result"] == "localized", row.get("tracking") or 0, -row["seconds"], row["drive"]


def sketch(folder):
    """The way as a small SVG, seen from above: green where tracked, red elsewhere."""
    try:
        with open(os.path.join(folder, "trajectory.csv"), encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row.get("x")]
    except OSError:
        return ""
    rows = rows[::max(1, len(rows) // 200)]
    if len(rows) < 2:
        return ""
    x, y = [float(row["x"]) for row in rows], [float(row["y"]) for row in rows]
    size = max(max(x) - min(x), max(y) - min(y), 1)
    place = [(5 + 90 * (a - min(x)) / size, 95 - 90 * (b - min(y)) / size) for a, b in zip(x, y)]
    dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="1.5" '
                   f'fill="{"#2a7" if row["status"] == "tracking" else "#c33"}"/>'
                   for (a, b), row in zip(place, rows))
    return f'<svg width="100" height="100" viewBox="0 0 100 100">{dots}</svg>'


def costs(rows, price):
    done = [row for row in rows if row.get("scans") and row["cpu_seconds"]]
    if not done:
        return {}
    scans, seconds = sum(row["scans"] for row in done), sum(row["seconds"] for row in done)
    cpu, driven = sum(row["cpu_seconds"] for row in done), sum(row.get("duration_s") or 0 for row in done)
    values = {"scans": scans, "scans_per_second_and_worker": scans / seconds, "scans_per_cpu_second": scans / cpu}
    if driven:
        values["hours_of_drive_per_worker_hour"] = driven / seconds
        if price:
            values["price_of_1000_hours"] = 1000 * seconds / driven * price
    return values


def report(drives, out, price=0):
    """All rows there are, as files; returns those, and the drives that have none."""
    rows, missing = [], []
    for drive in drives:
        row = read_row(drive, out)
        rows.append(row) if row else missing.append(drive["drive"])
    rows.sort(key=order)
    write_whole(os.path.join(out, "drives.jsonl"), "".join(json.dumps(row) + "\n" for row in rows))
    try:
        import pyarrow
        import pyarrow.parquet
        table = pyarrow.Table.from_pylist([{key: row.get(key) for key in {k: 0 for r in rows for k in r}} for row in rows])
        pyarrow.parquet.write_table(table, os.path.join(out, "drives.parquet.part"))
        os.replace(os.path.join(out, "drives.parquet.part"), os.path.join(out, "drives.parquet"))
    except ImportError:
        pass  # Parquet is for those that have it
    names = ("drive", "result", "problem", "scans", "tracking", "lost", "largest_gap_s", "first_loss_s",
             "error_mean_m", "seconds", "attempts")
    counts = {}
    for row in rows:
        counts[row["result"]] = counts.get(row["result"], 0) + 1
    seconds = [row["seconds"] for row in rows]
    slow = 3 * statistics.median(seconds) if seconds else 0

    def cell(row, name):
        value = row.get(name)
        text = "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
        if name == "seconds" and value > slow:
            text += " (straggler)"
        return f"<td>{html.escape(text)}</td>"

    page = ["<!DOCTYPE html><meta charset=utf-8><title>Drives</title><style>body{font:14px sans-serif}"
            "td,th{padding:2px 8px;text-align:left;vertical-align:top}tr:nth-child(even){background:#f3f3f3}</style>",
            f"<h1>{len(rows)} of {len(drives)} drives</h1><p>",
            html.escape(", ".join(f"{n} {name}" for name, n in sorted(counts.items()))), "</p><p>",
            html.escape(", ".join(f"{name.replace('_', ' ')} {value:.4g}"
                                  for name, value in costs(rows, price).items())), "</p>"]
    if missing:
        page.append(f"<p>Not done: {html.escape(', '.join(missing))}</p>")
    page.append("<table><tr>" + "".join(f"<th>{name}</th>" for name in names) + "<th></th></tr>")
    for row in rows:
        page.append("<tr>" + "".join(cell(row, name) for name in names) +
                    f"<td>{sketch(os.path.join(out, row['drive']))}</td></tr>")
    write_whole(os.path.join(out, "drives.html"), "\n".join(page) + "</table>\n")
    return rows, missing


def finish(drives, out, price):
    rows, missing = report(drives, out, price)
    good = sum(row["result"] == "localized" for row in rows)
    print(f"drives={len(drives)} done={len(rows)} localized={good} page={os.path.join(out, 'drives.html')}")
    return 0 if not missing else 1


def add_limits(parser):
    parser.add_argument("--attempts", type=int, default=3, help="of a drive that ends as another might not (3)")
    parser.add_argument("--pause", type=float, default=1, help="seconds before the second, doubled each time (1)")
    parser.add_argument("--time", type=float, default=0, help="seconds that a drive may take (0: any)")
    parser.add_argument("--memory", type=int, default=0, help="MiB that a drive may take (0: any)")
    parser.add_argument("--price", type=float, default=0, help="of a worker's hour, for the page")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("run", "drive", "report"):
        command = commands.add_parser(name)
        command.add_argument("manifest")
        command.add_argument("out")
        add_limits(command)
        command.add_argument("--jobs", type=int, default=1)
        command.add_argument("--index", type=int, default=0)
        command.add_argument("--of", type=int, default=1)
    arguments = parser.parse_args()
    drives = read_manifest(arguments.manifest)
    os.makedirs(arguments.out, exist_ok=True)
    out = os.path.abspath(arguments.out)
    if arguments.command == "report":
        return finish(drives, out, arguments.price)
    mine = drives[arguments.index::arguments.of]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(lambda drive: run_drive(drive, out, arguments), mine):
            print(f"{row['drive']}: {row['result']}", flush=True)
    return finish(drives, out, arguments.price) if arguments.command == "run" else 0


if __name__ == "__main__":
    sys.exit(main())
