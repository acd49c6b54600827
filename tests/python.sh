#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a test in Debian's Python, the one that has gi and numpy, or in that of NDT_TEST_PYTHON.
python=${NDT_TEST_PYTHON:-/usr/bin/python3}
if ! [ -x "$python" ]; then
  echo "1..0 # SKIP $python is missing"
  exit 0
fi
exec "$python" "$@"
