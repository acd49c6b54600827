#!/bin/bash
# SPDX-License-Identifier: MIT
# Localizes a KITTI sequence (odometry layout: velodyne/000000.bin …, times.txt) in a map.
#
#   pipelines/kitti.sh SEQUENCE MAP INITIAL_POSE OUTPUT.txt [PROPERTY=VALUE...]
#
# MAP is a PCD file or a folder of them, INITIAL_POSE of the first scan in it is "x,y,z" or
# "x,y,z,yaw" (metres, degrees; more forms: gst-inspect-1.0 ndtlocalize). OUTPUT.txt gets a TUM
# line per scan: time x y z qx qy qz qw. More arguments are properties of ndtlocalize.
set -euo pipefail
[ $# -ge 4 ] || { sed -n '3,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
. "$(dirname "$0")/environment.sh"
sequence=$1 map=$2 initial_pose=$3 output=$4
shift 4

exec gst-launch-1.0 -q \
  multifilesrc location="$sequence/velodyne/%06d.bin" ! \
  rawpointcloudparse format=XYZI_F32LE framerate=10/1 times-location="$sequence/times.txt" ! \
  ndtlocalize map-location="$map" initial-pose="$initial_pose" "$@" ! \
  trajectorysink location="$output" print-summary=true
