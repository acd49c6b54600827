#!/bin/bash
# SPDX-License-Identifier: MIT
# ndt-replay of the build folder: localizes a recorded drive (docs/replay.md).
#
#   pipelines/replay.sh [OPTION...] RECORDING MAP [START [FOLDER]] [PROPERTY=VALUE...]
. "$(dirname "$0")/environment.sh"
exec ndt-replay "$@"
