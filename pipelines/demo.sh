#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs what is missing (Debian, Ubuntu), builds, and runs the main job: localizes 300 simulated
# scans of a 64-ring sensor in a map of the same town, from a first pose that is wrong by 0.5 m and
# 3 degrees (pipelines/simulate.sh). results/ has the map and the trajectory afterwards.
#
# The last line is for programs:
# demo: scans=300 lost=0 mean_error_m=… mean_error_deg=… max_error_m=… scans_per_second=… backend=…
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8

pipelines/install-packages.sh pipelines/packages.txt
[ -f build/build.ninja ] || meson setup build </dev/null
ninja -C build

log=$(mktemp)
trap 'rm -f "$log"' EXIT
pipelines/simulate.sh results 300 | tee "$log"
echo "The map, the trajectory, the true one and the errors of each scan are in results/; results/drive.png shows them"
echo "demo: $(tail -n 1 "$log")"
