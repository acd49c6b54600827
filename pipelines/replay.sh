#!/bin/bash
# SPDX-License-Identifier: MIT
# Localizes a recording (MCAP or rosbag2: a file, a folder, a pattern) in a map.
#
#   pipelines/replay.sh [OPTION...] RECORDING MAP INITIAL_POSE [FOLDER [PROPERTY=VALUE...]]
#
# FOLDER (replay) gets replay-00000.mcap, the clouds with their new poses; trajectory.txt (TUM: time x y
# z qx qy qz qw) and trajectory.csv (status, scores and error of each scan as well). INITIAL_POSE is
# "x,y,z" or "x,y,z,yaw" (metres, degrees). More arguments are properties of ndtlocalize. The last line
# tells how it went, with the error where a reference is known: the recording's own true poses, or
#
#   --reference FILE   a trajectory (TUM, KITTI, CSV), compared by time
#   --topic TOPIC      of the clouds (default: the first that there is)
#   --realtime         at the speed of the recording, not as fast as it goes
#   --resume           go on behind the last scan that FOLDER's recording has, from its pose (INITIAL_POSE
#                      where there is none); the trajectories are made again of what was recorded
set -euo pipefail
. "$(dirname "$0")/environment.sh"
usage ()
{
  sed -n '3,18s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

reference=() topics=() clock=() resume=
while [[ ${1:-} == --* ]]; do
  case $1 in
  --reference) reference=(reference-location="${2:?$(usage)}" reference-match=time) && shift ;;
  --topic) topics=(topics="<\"${2:?$(usage)}\">") && shift ;;
  --realtime) clock=(! clocksync) ;;
  --resume) resume=yes ;;
  *) usage ;;
  esac
  shift
done
[ $# -ge 3 ] || usage
recording=$1 map=$2 initial_pose=$3 folder=${4:-replay}
shift $(($# < 4 ? $# : 4))
mkdir -p "$folder"
# Any name of a folder, in a pattern of names to write and in one to read (gst-launch-1.0 takes one \).
numbered=${folder//%/%%}/replay-%05d.mcap
recorded=$(sed 's/[][*?]/\\\\&/g' <<<"$folder")/replay-*.mcap

# join FILE: adds what a run wrote to FILE.part, less a last line that is not whole.
join ()
{
  [ -f "$1.part" ] || return 0
  [ -z "$(tail -c 1 "$1.part")" ] || sed -i '$d' "$1.part"
  if [[ $1 == *.csv && -s $1 ]]; then
    # The line of names is there; scans are numbered on.
    awk -F , -v OFS=, -v n=$(($(wc -l <"$1") - 1)) 'NR > 1 { $1 += n; print }' "$1.part" >>"$1"
  elif [ -s "$1" ]; then
    sed '/^#/d' "$1.part" >>"$1"
  else
    cat "$1.part" >>"$1"
  fi
  rm "$1.part"
}

start=()
shopt -s nullglob
if [ "$resume" ]; then
  # A kill takes the chunk that the recording had open, and the lines that a trajectory had: what was
  # recorded is what there is. Only the last file can be without a whole scan, and has no end then.
  files=("$folder"/replay-*.mcap)
  if [ ${#files[@]} -gt 0 ] && [[ $(tail -c 7 "${files[-1]}" | tr -d '\0') != MCAP* ]] &&
    ! gst-launch-1.0 -q rosbagsrc location="${files[-1]}" ! fakesink num-buffers=1 >/dev/null 2>&1; then
    mv "${files[-1]}" "${files[-1]}.unreadable"
    files=("$folder"/replay-*.mcap)
  fi
  rm -f "$folder"/trajectory.{txt,csv}{,.part}
  if [ ${#files[@]} -gt 0 ]; then
    gst-launch-1.0 -q rosbagsrc location="$recorded" ! pointcloud/x-raw ! tee name=recorded ! \
      queue ! trajectorysink location="$folder/trajectory.txt.part" \
      recorded. ! queue ! trajectorysink format=csv location="$folder/trajectory.csv.part" \
      "${reference[@]}" >&2
  fi
  join "$folder/trajectory.txt"
  join "$folder/trajectory.csv"
  # Nanoseconds have more digits than awk's numbers.
  last=$(tail -n 1 "$folder/trajectory.csv" 2>/dev/null | cut -d , -f 2 | grep '^[0-9]' || true)
  if [ "$last" ]; then
    fraction=${last#*.}000000000
    [[ $last == *.* ]] || fraction=000000000
    start=(start-time=$((10#${last%.*} * 1000000000 + 10#${fraction:0:9} + 1)))
  fi
  pose=$(grep -v '^#' "$folder/trajectory.txt" 2>/dev/null | tail -n 1 | cut -d ' ' -f 2-8 | tr ' ' , || true)
  initial_pose=${pose:-$initial_pose}
else
  rm -f "$folder"/replay-*.mcap "$folder"/trajectory.{txt,csv}{,.part}
fi
before=("$folder"/replay-*.mcap)

# show: gst-launch-1.0's lines; those of progress as a bar on a terminal.
show ()
{
  local line percent bar
  trap '' INT TERM
  while IFS= read -r line; do
    if [[ $line =~ ^Progress:\ \(replay\)\ ([0-9]+)\.[0-9]\ %,\ (.*)$ ]]; then
      [ -t 1 ] || continue
      percent=${BASH_REMATCH[1]}
      printf -v bar '%*s' $((percent * 40 / 100)) ''
      printf '\r[%-40s] %3d %% %s\033[K' "${bar// /#}" "$percent" "${BASH_REMATCH[2]}"
      [ "$percent" -lt 100 ] || echo
    elif [[ $line == ERROR* || $line == WARNING* || $line == *"error:"* ]]; then
      printf '%s\n' "$line" >&2
    fi
  done
}

# In a group of its own: an interrupt of the terminal ends the stream, and the files are finished.
set -m
gst-launch-1.0 -e rosbagsrc location="$recording" "${topics[@]}" "${start[@]}" ! pointcloud/x-raw \
  "${clock[@]}" ! ndtlocalize map-location="$map" initial-pose="$initial_pose" "$@" ! tee name=localized ! \
  queue ! trajectorysink location="$folder/trajectory.txt.part" \
  localized. ! queue ! trajectorysink format=csv location="$folder/trajectory.csv.part" \
  "${reference[@]}" \
  localized. ! queue ! mcapsink location="$numbered" log-time=pts > >(show) 2>&1 &
pid=$!
stopped=
trap 'stopped=yes; kill -INT $pid 2>/dev/null || true' INT TERM
status=0
wait $pid || status=$?
while kill -0 $pid 2>/dev/null; do
  status=0
  wait $pid || status=$?
done
# A run that had no scan left to localize leaves no file.
if [ $status -eq 0 ] && [ "$(wc -l <"$folder/trajectory.csv.part")" -le 1 ]; then
  for file in "$folder"/replay-*.mcap; do
    [[ " ${before[*]} " == *" $file "* ]] || rm "$file"
  done
fi
join "$folder/trajectory.txt"
join "$folder/trajectory.csv"
[ $status -eq 0 ] || exit $status
[ -z "$stopped" ] || echo "stopped: --resume goes on" >&2

# A scan is lost that is not tracked, or whose pose is none.
awk -F , '
  NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
  { n++ }
  $column["status"] != "tracking" { lost++; next }
  $column["error_m"] == "" { next }
  { compared++; m += $column["error_m"]; deg += $column["error_deg"] }
  $column["error_m"] > max { max = $column["error_m"] }
  END {
    printf "scans=%d lost=%d", n, lost
    if (compared)
      printf " compared=%d mean_error_m=%.4f mean_error_deg=%.4f max_error_m=%.4f", compared,
        m / compared, deg / compared, max
    print ""
  }' "$folder/trajectory.csv"
[ -z "$stopped" ] || exit 130
