#!/bin/bash
# SPDX-License-Identifier: MIT
# Localizes a KITTI sequence (odometry layout: velodyne/000000.bin …, times.txt) in a map.
#
#   pipelines/kitti.sh SEQUENCE MAP INITIAL_POSE OUTPUT.txt [PROPERTY=VALUE...]
#
# MAP is a PCD file or a folder of them, INITIAL_POSE of the first scan in it is "x,y,z" or
# "x,y,z,yaw" (metres, degrees; more forms: gst-inspect-1.0 ndtlocalize). OUTPUT.txt gets a TUM
# line per scan: time x y z qx qy qz qw. More arguments are properties of ndtlocalize; there are no
# options. The last line counts the scans; the exit status is 1 where none came or the drive is lost.
set -euo pipefail
. "$(dirname "$0")/launch.sh"
for argument in "$@"; do
  [[ $argument != --* ]] || refuse "there is no option $argument"
done
[ $# -ge 4 ] || usage
sequence=$1 map=$2 initial_pose=$3 output=$4
shift 4
properties "$@"
[ -f "$sequence/velodyne/000000.bin" ] || refuse "there is no $sequence/velodyne/000000.bin"
[ -f "$sequence/times.txt" ] || refuse "there is no $sequence/times.txt"

csv=$(mktemp)
trap 'rm -f "$csv"' EXIT
scans=$(find -L "$sequence/velodyne" -maxdepth 1 -name '[0-9]*.bin' | wc -l)
gst-launch-1.0 -v -e \
  multifilesrc location="${sequence//%/%%}/velodyne/%06d.bin" ! \
  rawpointcloudparse format=XYZI_F32LE framerate=10/1 times-location="$sequence/times.txt" ! \
  ndtlocalize map-location="$map" initial-pose="$initial_pose" "$@" ! tee name=localized ! \
  queue ! trajectorysink location="$output" \
  localized. ! queue ! trajectorysink format=csv location="$csv" 2>&1 | show "$csv" "$scans"
summarize "$csv"
