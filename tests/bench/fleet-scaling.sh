#!/bin/bash
# SPDX-License-Identifier: MIT
# How the time of a list of drives falls with the number of workers, each of which runs ndt-replay for one
# drive after the other with one thread, and what a map that is opened in place of read gains.
#
#   tests/bench/fleet-scaling.sh [DRIVES [SCANS [WORKERS...]]]   (default: 32 drives of 100 scans, 1 2 4 8 16)
#
# In an environment in which ndt-replay, ndt-map and the elements are found (pipelines/environment.sh). Needs
# no Python. RINGS and COLUMNS of a scan: 16 and 1024 unless set. MAPS: "town.pcd town.ndtmap" unless set.
# WORK=FOLDER keeps what is made, with drives.csv: a row a drive for fleet_simulate.py.
set -euo pipefail
drives=${1:-32} scans=${2:-100}
shift $(($# < 2 ? $# : 2))
workers=${*:-1 2 4 8 16}
work=${WORK:-$(mktemp -d)}
[ -n "${WORK:-}" ] || trap 'rm -rf --one-file-system "$work"' EXIT
mkdir -p "$work"
cd "$work"

[ -f town.pcd ] || ndt-map simulate town.pcd >log 2>&1
[ -f town.ndtmap ] || ndt-map convert --output town.ndtmap town.pcd >log 2>&1
make_drive ()
{
  [ -f "$1.mcap" ] || gst-launch-1.0 -q lidartestsrc rings="${RINGS:-16}" columns="${COLUMNS:-1024}" \
    num-buffers="$2" start-offset="$1" n-threads=1 ! mcapsink location="$1.mcap"
}
# replay DRIVE MAP WORKERS: a row with the drive's seconds, processor seconds, and bytes in and out. A line is
# one write, so that those of several workers do not mix.
replay ()
{
  local real user system in out TIMEFORMAT='%R %U %S'
  read -r real user system < <({ time ndt-replay "$1.mcap" "$2" "$1,0,1.8" "out/$1" n-threads=1 >"log.$1" 2>&1; } 2>&1)
  in=$(stat -c %s "$1.mcap") out=$(stat -c %s "out/$1"/* | awk '{ n += $1 } END { print n }')
  awk -v row="$2,$3,$1,$real" -v cpu="$user $system" -v io="$in,$out" -v scans="$4" \
    'BEGIN { split (cpu, c, " "); printf "%s,%.3f,%s,%d,%.1f\n", row, c[1] + c[2], io, scans, scans / 10 }'
}
export -f make_drive replay
seq "$drives" | xargs -P "$(nproc)" -I{} bash -c "make_drive {} $scans"
printf 'map,workers,drive,seconds,cpu_seconds,bytes_in,bytes_out,scans,duration_s\n' >drives.csv

# once MAP WORKERS: seconds and processor seconds of all drives.
once ()
{
  local TIMEFORMAT='%R %U %S'
  rm -rf out
  mkdir out
  { time seq "$drives" | xargs -P "$2" -I{} bash -c "replay {} $1 $2 $scans" >>drives.csv 2>log; } 2>&1
}

printf '%-12s %8s %9s %10s %11s %8s\n' map workers seconds scans/s processor-s speedup
for map in ${MAPS:-town.pcd town.ndtmap}; do
  first=
  for n in $workers; do
    read -r real user system < <(once "$map" "$n")
    first=${first:-$real}
    awk -v map="$map" -v n="$n" -v t="$real" -v u="$user" -v s="$system" -v scans=$((drives * scans)) -v first="$first" \
      'BEGIN { printf "%-12s %8d %9.2f %10.0f %11.2f %8.2f\n", map, n, t, scans / t, u + s, first / t }'
  done
done
