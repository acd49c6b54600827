#!/bin/bash
# SPDX-License-Identifier: MIT
# Localizes a folder of PCD files 000000.pcd, 000001.pcd, … in a map.
#
#   pipelines/pcd-folder.sh FOLDER RATE MAP INITIAL_POSE OUTPUT.txt [PROPERTY=VALUE...]
#
# RATE is in scans per second (10). MAP is a PCD file or a folder of them, INITIAL_POSE of the first
# scan in it is "x,y,z" or "x,y,z,yaw" (metres, degrees; more forms: gst-inspect-1.0 ndtlocalize).
# OUTPUT.txt gets a TUM line per scan: time x y z qx qy qz qw. More arguments are properties of
# ndtlocalize; there are no options. The last line counts the scans; the exit status is 1 where none
# came, one of the files could not be read, or the drive is lost.
set -euo pipefail
. "$(dirname "$0")/launch.sh"
for argument in "$@"; do
  [[ $argument != --* ]] || refuse "there is no option $argument"
done
[ $# -ge 5 ] || usage
folder=$1 rate=$2 map=$3 initial_pose=$4 output=$5
shift 5
properties "$@"
[ -f "$folder/000000.pcd" ] || refuse "there is no $folder/000000.pcd"
[[ $rate =~ ^[1-9][0-9]*$ ]] || refuse "RATE is a whole number of scans per second, not \"$rate\""

csv=$(mktemp)
trap 'rm -f "$csv"' EXIT
scans=0
while [ -f "$folder/$(printf '%06d' $scans).pcd" ]; do
  scans=$((scans + 1))
done
gst-launch-1.0 -v -e \
  multifilesrc location="${folder//%/%%}/%06d.pcd" ! pcddec framerate="$rate/1" ! \
  ndtlocalize map-location="$map" initial-pose="$initial_pose" "$@" ! tee name=localized ! \
  queue ! trajectorysink location="$output" \
  localized. ! queue ! trajectorysink format=csv location="$csv" 2>&1 | show "$csv" "$scans"
summarize "$csv"
came=$(($(wc -l <"$csv") - 1))
if [ "$came" -ne "$scans" ]; then
  echo "$((scans - came)) of $scans files were not read, see the warnings" >&2
  exit 1
fi
