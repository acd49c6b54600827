#!/bin/bash
# SPDX-License-Identifier: MIT
# Fails when an alignment of the reference pair takes 10 % more instructions than it took
# (docs/performance-cpu.md). Counts do not depend on what else the machine does, as times do. The
# AVX2 path: valgrind knows no AVX-512.
#
#   test-instructions.sh ALIGN-ONCE EXPECTED
#
# EXPECTED is what one alignment took, in thousands, as compiled here; 0: not known.
set -uo pipefail

skip ()
{
  echo "$1"
  exit 77
}

program=$1 expected=$2
[ -z "${NDT_TEST_SANITIZER:-}" ] || skip "sanitizers count with it, and do not run in valgrind"
type valgrind >/dev/null 2>&1 || skip "valgrind is not installed"
grep -q avx2 /proc/cpuinfo || skip "this processor has no AVX2"
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# Meson has malloc fill what it gives, which would count.
unset MALLOC_PERTURB_
NDT_KERNEL=avx2 valgrind --quiet --tool=callgrind --callgrind-out-file="$out" \
  --toggle-collect=ndt_backend_set_scan --toggle-collect=ndt_backend_align \
  "$program" pair-1m radius
status=$?
[ $status -eq 77 ] && skip "no data"
[ $status -eq 0 ] || exit 1

count=$(($(awk '/^(summary|totals):/ { n = $2 } END { print n + 0 }' "$out") / 1000))
echo "$count thousand instructions an alignment, expected $expected"
[ "$count" -gt 0 ] || exit 1
[ "$expected" -gt 0 ] || skip "what this compiler makes is not known"
[ $((count * 10)) -le $((expected * 11)) ]
