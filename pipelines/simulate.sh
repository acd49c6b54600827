#!/bin/bash
# SPDX-License-Identifier: MIT
# Simulates two drives of a 64-ring sensor through the same town, makes a map of the scans of one
# and localizes the scans of the other in it.
#
#   pipelines/simulate.sh [FOLDER [SCANS [PROPERTY=VALUE...]]]
#
# FOLDER (results) gets map.pcd, drive.mcap (the scans with their poses, for rosbagsrc and the tools of
# ROS 2), trajectory.txt (TUM: time x y z qx qy qz qw), trajectory.csv (status, scores and error of each
# scan as well), truth.txt, and drive.png (map, trajectory and errors). SCANS: 300. More arguments are properties of
# ndtlocalize; there are no options. The last line tells how it went; the exit status is 1 where the drive is
# lost.
set -euo pipefail
. "$(dirname "$0")/launch.sh"
for argument in "$@"; do
  [[ $argument != --* ]] || refuse "there is no option $argument"
done
folder=${1:-results} scans=${2:-300}
shift $(($# < 2 ? $# : 2))
properties "$@"
[[ $scans =~ ^[1-9][0-9]*$ ]] || refuse "SCANS is a number, not \"$scans\""
mkdir -p "$folder"
rm -f "$folder/trajectory.csv"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# drive FOLDER PROPERTY=VALUE...: records a drive as FOLDER/000000.bin … and its true poses.
drive ()
{
  local to=$1
  shift
  mkdir "$to"
  gst-launch-1.0 -q lidartestsrc world=town rings=64 "$@" ! \
    pointcloud/x-raw,format=XYZ_F32LE,framerate=10/1 ! tee name=scans ! \
    queue ! multifilesink location="$to/%06d.bin" \
    scans. ! queue ! trajectorysink role=ground-truth location="$to/truth.txt"
}

# pcd FILE.bin: the points of a headerless file as a PCD file.
pcd ()
{
  local n=$(($(stat -c %s "$1") / 12))
  printf 'VERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH %d\nHEIGHT 1\n' "$n"
  printf 'VIEWPOINT 0 0 0 1 0 0 0\nPOINTS %d\nDATA binary\n' "$n"
  cat "$1"
}

# The drive that is mapped begins 10 m earlier, keeps 0.8 m to the left, and has other noise and
# other traffic.
echo "Simulating the drive that is mapped"
drive "$scratch/mapped" num-buffers=$((scans + 40)) start-offset=-10 path-offset=0.8 noise-seed=1

echo "Mapping"
mkdir "$scratch/pcd"
for scan in "$scratch"/mapped/*.bin; do
  name=${scan##*/}
  pcd "$scan" >"$scratch/pcd/${name%.bin}.pcd"
done
ndt-map build --trajectory "$scratch/mapped/truth.txt" --leaf 0.2 --min-range 2 --max-range 60 \
  --output "$folder/map.pcd" "$scratch/pcd"
rm -r "$scratch/pcd" "$scratch/mapped"

echo "Simulating the drive that is localized"
drive "$scratch/drive" num-buffers="$scans" noise-seed=2
cp "$scratch/drive/truth.txt" "$folder/truth.txt"

# The first pose as somebody would give it: 0.5 m and 3 degrees of yaw off the true one.
initial_pose=$(awk '!/^#/ {
    yaw = atan2(2 * ($8 * $7 + $5 * $6), 1 - 2 * ($6 * $6 + $7 * $7)) * 180 / atan2(0, -1)
    printf "%.4f,%.4f,%.4f,%.4f", $2 + 0.4, $3 - 0.3, $4, yaw + 3
    exit
  }' "$folder/truth.txt")

echo "Localizing from $initial_pose (x, y, z, yaw)"
gst-launch-1.0 -v multifilesrc location="$scratch/drive/%06d.bin" ! \
  rawpointcloudparse format=XYZ_F32LE framerate=10/1 ! \
  ndtlocalize map-location="$folder/map.pcd" initial-pose="$initial_pose" scan-leaf-size=0.5 "$@" ! \
  tee name=localized ! \
  queue ! mcapsink overwrite=true location="$folder/drive.mcap" \
  localized. ! queue ! trajectorysink location="$folder/trajectory.txt" \
  localized. ! queue ! trajectorysink format=csv location="$folder/trajectory.csv" \
  reference-location="$folder/truth.txt" reference-match=index 2>&1 | tee "$scratch/log" |
  show "$folder/trajectory.csv" "$scans"

# A build without Cairo says so, and draws nothing.
ndt-map picture --trajectory "$folder/trajectory.csv" --errors "$folder/truth.txt" \
  --output "$folder/drive.png" "$folder/map.pcd" >/dev/null || true

seconds=$(sed -n 's/^Execution ended after \([0-9]*\):\([0-9]*\):\([0-9.]*\)$/\1 \2 \3/p' "$scratch/log" |
  awk '{ print 3600 * $1 + 60 * $2 + $3 }')
backend=$(sed -n 's/.*: active-backend = "\{0,1\}\([a-z]*\).*/\1/p' "$scratch/log" | tail -n 1)

# A scan is lost that is not tracked, or whose pose is none.
awk -F , -v seconds="$seconds" -v backend="$backend" '
  NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
  { n++ }
  $column["status"] != "tracking" || $column["error_m"] == "" { lost++; next }
  { m += $column["error_m"]; deg += $column["error_deg"] }
  $column["error_m"] > max { max = $column["error_m"] }
  END {
    found = n - lost
    printf "scans=%d lost=%d mean_error_m=%.4f mean_error_deg=%.4f max_error_m=%.4f ", n, lost,
      found ? m / found : 0, found ? deg / found : 0, max
    printf "scans_per_second=%.1f backend=%s\n", n / seconds, backend
  }' "$folder/trajectory.csv"
check "$folder/trajectory.csv"
