#!/bin/bash
# SPDX-License-Identifier: MIT
# A recording of simulated scans in memory, copied to another recording, and localized between the two:
# seconds and processor seconds of both, run in turn, and the ratio of each pair of runs.
#
#   tests/bench/recording-to-recording.sh [RUNS [SCANS [PROPERTY=VALUE...]]]   (default: 7 pairs, 300 scans)
#
# PROPERTY=VALUE: of ndtlocalize. QUEUE=1: with a queue before the sink. PROCESSORS: a list for taskset, 0,1
# unless set. WORK: a folder in memory with room for two recordings, of 1.6 MB a scan; /dev/shm unless set.
# In an environment in which ndt-map and the elements are found (pipelines/environment.sh). Needs no Python.
set -euo pipefail
runs=${1:-7} scans=${2:-300}
shift $(($# < 2 ? $# : 2))
work=$(mktemp -d "${WORK:-/dev/shm}/recording.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'cat "$work/log"' ERR
cd "$work"

ndt-map simulate --seed=3 map.pcd >log 2>&1
gst-launch-1.0 -q lidartestsrc seed=3 rings=64 columns=1024 speed=10 num-buffers="$scans" ! \
  mcapsink attach-pipeline=false location=in.mcap

# once [ELEMENT...]: seconds and processor seconds from recording to recording through the elements.
once ()
{
  local TIMEFORMAT='%R %U %S'
  rm -f out.mcap
  { time taskset -c "${PROCESSORS:-0,1}" gst-launch-1.0 -q rosbagsrc location=in.mcap name=b b.cloud_0 "$@" ! \
      mcapsink attach-pipeline=false location=out.mcap >log 2>&1; } 2>&1
}

for ((i = 0; i < runs; i++)); do
  copied=$(once)
  localized=$(once ! ndtlocalize map-location=map.pcd initial-pose=0,0,1.8 deskew=false "$@" ${QUEUE:+! queue})
  awk -v c="$copied" -v l="$localized" 'BEGIN {
    split (c, a, " "); split (l, b, " ")
    printf "%.3f %.3f %.3f %.3f %.3f\n", a[1], a[2] + a[3], b[1], b[2] + b[3], b[1] / a[1] }'
done >rows
[ -s rows ] || { cat log; exit 1; }
median ()
{
  sort -g -k"$1,$1" rows | awk -v k="$1" '{ v[NR] = $k } END { printf "%.2f (%.2f to %.2f)", v[int ((NR + 1) / 2)], v[1], v[NR] }'
}
echo "copied:    $(median 1) s, $(median 2) s of processors"
echo "localized: $(median 3) s, $(median 4) s of processors"
echo "localized / copied: $(median 5)"
