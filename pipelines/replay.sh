#!/bin/bash
# SPDX-License-Identifier: MIT
# Localizes a recording (MCAP or rosbag2: a file, a folder, a pattern) in a map.
#
#   pipelines/replay.sh [OPTION...] RECORDING MAP INITIAL_POSE [FOLDER [PROPERTY=VALUE...]]
#
# FOLDER (replay) gets replay-00000.mcap, the clouds with their new poses; trajectory.txt (TUM: time x y
# z qx qy qz qw) and trajectory.csv (status, scores and error of each scan as well). INITIAL_POSE is
# "x,y,z" or "x,y,z,yaw" (metres, degrees). More arguments are properties of ndtlocalize. Options may
# stand anywhere. The last line counts the scans, with the error where a reference is known: the
# recording's own true poses, or that of --reference. The exit status is 1 where no scan came or the
# drive is lost, 130 where it was stopped.
#
#   --reference FILE   a trajectory (TUM, KITTI, CSV), compared by time
#   --topic TOPIC      of the clouds (default: the first that there is)
#   --realtime         at the speed of the recording, not as fast as it goes
#   --resume           go on behind the last scan that FOLDER's recording has, from its pose (INITIAL_POSE
#                      where there is none); the trajectories are made again of what was recorded
set -euo pipefail
. "$(dirname "$0")/launch.sh"

reference=() topics=() clock=() words=() resume=
while [ $# -gt 0 ]; do
  case $1 in
  --reference | --topic) [ $# -ge 2 ] || refuse "$1 needs a value" ;;&
  --reference)
    [ -f "$2" ] || refuse "there is no file $2 to compare with"
    reference=(reference-location="$2" reference-match=time)
    shift
    ;;
  --topic) topics=(topics="<\"${2//\"/\\\"}\">") && shift ;;
  --realtime) clock=(! clocksync) ;;
  --resume) resume=yes ;;
  --help) usage ;;
  --*) refuse "there is no option $1" ;;
  *) words+=("$1") ;;
  esac
  shift
done
[ ${#words[@]} -ge 3 ] || usage
recording=${words[0]} map=${words[1]} initial_pose=${words[2]} folder=${words[3]:-replay}
set -- "${words[@]:4}"
properties "$@"
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
      "${reference[@]}" \
      recorded. ! queue ! trajectorysink format=csv timestamps=scan location="$folder/scans.csv" >&2
  fi
  join "$folder/trajectory.txt"
  join "$folder/trajectory.csv"
  # Behind the last scan, not its pose, which may be of the scan's end, where the next one begins.
  # Nanoseconds have more digits than awk's numbers.
  last=$(tail -n 1 "$folder/scans.csv" 2>/dev/null | cut -d , -f 2 | grep '^[0-9]' || true)
  if [ "$last" ]; then
    fraction=${last#*.}000000000
    [[ $last == *.* ]] || fraction=000000000
    start=(start-time=$((10#${last%.*} * 1000000000 + 10#${fraction:0:9} + 1)))
  fi
  rm -f "$folder/scans.csv"
  pose=$(grep -v '^#' "$folder/trajectory.txt" 2>/dev/null | tail -n 1 | cut -d ' ' -f 2-8 | tr ' ' , || true)
  initial_pose=${pose:-$initial_pose}
else
  rm -f "$folder"/replay-*.mcap "$folder"/trajectory.{txt,csv}{,.part}
fi
before=("$folder"/replay-*.mcap)

# In a group of its own: an interrupt of the terminal ends the stream, and the files are finished.
set -m
exec 3> >(exec 3>&- && show)
shower=$!
gst-launch-1.0 -v -e rosbagsrc location="$recording" "${topics[@]}" "${start[@]}" ! pointcloud/x-raw \
  "${clock[@]}" ! ndtlocalize map-location="$map" initial-pose="$initial_pose" "$@" ! tee name=localized ! \
  queue ! trajectorysink location="$folder/trajectory.txt.part" \
  localized. ! queue ! trajectorysink format=csv location="$folder/trajectory.csv.part" \
  "${reference[@]}" \
  localized. ! queue ! mcapsink location="$numbered" log-time=pts >&3 2>&1 &
pid=$!
exec 3>&-
stopped=
trap 'stopped=yes; kill -INT $pid 2>/dev/null || true' INT TERM
status=0
wait $pid || status=$?
while kill -0 $pid 2>/dev/null; do
  status=0
  wait $pid || status=$?
done
wait $shower 2>/dev/null || true
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

status=0
summarize "$folder/trajectory.csv" || status=$?
[ -z "$stopped" ] || exit 130
exit $status
