#!/bin/sh
# SPDX-License-Identifier: MIT
# Describes the ABI of the built library, for a release: later builds are compared with it.
#
# usage: update-abi.sh BUILD_ROOT
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")"
abidw --headers-dir ../../gst/pointcloud --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs \
  --type-id-style hash --out-file libgstpointcloud.abi "$build/gst/pointcloud/libgstpointcloud-1.0.so.1"
