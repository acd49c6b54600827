#!/bin/bash
# SPDX-License-Identifier: MIT
# Localizes a folder of PCD files 000000.pcd, 000001.pcd, … in a map.
#
#   pipelines/pcd-folder.sh FOLDER RATE MAP INITIAL_POSE OUTPUT.txt [PROPERTY=VALUE...]
#
# RATE is in scans per second (10). MAP is a PCD file or a folder of them, INITIAL_POSE of the first
# scan in it is "x,y,z" or "x,y,z,yaw" (metres, degrees; more forms: gst-inspect-1.0 ndtlocalize).
# OUTPUT.txt gets a TUM line per scan: time x y z qx qy qz qw. More arguments are properties of
# ndtlocalize.
set -euo pipefail
[ $# -ge 5 ] || { sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
. "$(dirname "$0")/environment.sh"
folder=$1 rate=$2 map=$3 initial_pose=$4 output=$5
shift 5

exec gst-launch-1.0 -q \
  multifilesrc location="$folder/%06d.pcd" ! pcddec framerate="$rate/1" ! \
  ndtlocalize map-location="$map" initial-pose="$initial_pose" "$@" ! \
  trajectorysink location="$output" print-summary=true
