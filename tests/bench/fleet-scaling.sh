#!/bin/bash
# SPDX-License-Identifier: MIT
# How the time of a list of drives falls with the number of workers, each of which runs ndt-replay for one
# drive after the other with one thread, and what a map that is opened in place of read gains.
#
#   tests/bench/fleet-scaling.sh [DRIVES [SCANS [WORKERS...]]]   (default: 32 drives of 100 scans, 1 2 4 8 16)
#
# In an environment in which ndt-replay, ndt-map and the elements are found (pipelines/environment.sh). Needs
# no Python. WORK=FOLDER keeps what is made.
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
  [ -f "$1.mcap" ] || gst-launch-1.0 -q lidartestsrc rings=16 num-buffers="$2" start-offset="$1" n-threads=1 ! \
    mcapsink location="$1.mcap"
}
export -f make_drive
seq "$drives" | xargs -P "$(nproc)" -I{} bash -c "make_drive {} $scans"

# once MAP WORKERS: seconds and processor seconds of all drives.
once ()
{
  rm -rf out
  TIMEFORMAT='%R %U %S'
  { time seq "$drives" | xargs -P "$2" -I{} ndt-replay {}.mcap "$1" '{},0,1.8' out/{} n-threads=1 >log 2>&1; } 2>&1
}

printf '%-12s %8s %9s %10s %11s %8s\n' map workers seconds scans/s processor-s speedup
for map in town.pcd town.ndtmap; do
  first=
  for n in $workers; do
    read -r real user system < <(once "$map" "$n")
    first=${first:-$real}
    awk -v map="$map" -v n="$n" -v t="$real" -v u="$user" -v s="$system" -v scans=$((drives * scans)) -v first="$first" \
      'BEGIN { printf "%-12s %8d %9.2f %10.0f %11.2f %8.2f\n", map, n, t, scans / t, u + s, first / t }'
  done
done
