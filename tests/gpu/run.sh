#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs every C test on a host that has a GPU and its driver, and of software only bash: neither
# Meson nor Python. Tests and libraries were built elsewhere.
#
#   tests/gpu/run.sh BUILD [LIST]             the tests of LIST (default BUILD/tests/gpu/gpu-tests.list)
#   tests/gpu/run.sh --sanitize BUILD [LIST]  the named set below under compute-sanitizer's four tools
#
# BUILD holds the executables where the build made them. LIST is made by the build. The last line
# counts: "N passed, N failed, N skipped"; a program that skips all that it has is skipped.
set -uo pipefail

sanitize=
if [ "${1:-}" = --sanitize ]; then
  sanitize=yes
  shift
fi
build=${1:?usage: tests/gpu/run.sh [--sanitize] BUILD [LIST]}
list=${2:-$build/tests/gpu/gpu-tests.list}
work=$(mktemp -d)
NDT_TEST_ROOT=${NDT_TEST_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
export NDT_TEST_ROOT
# A folder each, as tests that look into them expect.
plugins=$(find "$build/gst" -name 'libgst*.so' ! -name 'libgstpointcloud*' -printf '%h\n' | sort -u)
[ -z "$plugins" ] || export GST_PLUGIN_PATH_1_0=${plugins//$'\n'/:}
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# judge NAME STATUS LOG: counts a program's result and says what there is to say of it.
judge ()
{
  local name=$1 status=$2 log=$3 n_ok n_skip
  n_ok=$(grep -c '^ok ' "$log")
  n_skip=$(grep -ci '^ok .*# skip' "$log")
  if [ "$status" = 77 ] || { [ "$status" = 0 ] && [ "$n_ok" -gt 0 ] && [ "$n_ok" = "$n_skip" ]; }; then
    skipped=$((skipped + 1))
    echo "skip: $name: $(grep -iE '# skip|missing|skip' "$log" | tail -n 1)"
  elif [ "$status" = 0 ]; then
    passed=$((passed + 1))
    [ "$n_skip" = 0 ] || echo "of $name skipped: $(grep -i '^ok .*# skip' "$log" | tr '\n' ';')"
  else
    failed=$((failed + 1))
    echo "fail: $name: status $status"
    tail -n 25 "$log"
  fi
}

if [ -n "$sanitize" ]; then
  # Short runs of every kernel: grids and clusters, thinning, maps, frames, motion, sequences.
  for tool in memcheck racecheck synccheck initcheck; do
    for name in faults/edges backends/thin backends/sanitize frames/sanitize motion/sanitize \
      odometry/sanitize overview/sanitize \
      sequences/sanitize sequences/out-of-turn terms/sanitize expression/sanitize; do
      timeout 300 compute-sanitizer --tool "$tool" --error-exitcode 9 \
        "$build/tests/gpu/test-${name%/*}" -p "/gpu/${name#backends/}" >"$work/log" 2>&1
      judge "$tool of $name" $? "$work/log"
    done
  done
else
  while IFS=$'\t' read -r suite name program limit; do
    export GST_REGISTRY_1_0=$work/registry.$name.bin
    G_TEST_SRCDIR=. timeout "$limit" "$build/$program" </dev/null >"$work/log" 2>&1
    judge "$suite/$name" $? "$work/log"
  done <"$list"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
