#!/bin/bash
# SPDX-License-Identifier: MIT
# Instructions that the inner loop takes for the first chunk of 128 points of the test kernel-arm, by
# instruction set: single steps here, qemu's log of single instructions for 64-bit ARM. Calls are of
# each of the four neighbourhoods of the score and of least squares on three levels, and a second
# time with the lists of candidates kept.
#
#   kernel-instructions.sh BUILD
#
# Needs ninja's target tests/unit/kernel-record of BUILD, gcc, aarch64-linux-gnu-gcc and
# qemu-aarch64-static, on x86-64 with AVX-512.
set -euo pipefail

build=$(realpath "${1:?kernel-instructions.sh BUILD}")
root=$(realpath "$(dirname "$0")/../..")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$build/tests/unit/kernel-record" "$dir/chunks"

# $1: compiler; others: its options. Writes $dir/replay, sets $entry, and $begin and $end of all functions of
# ndt-kernel.c, which the compiler may not inline into the one.
make() {
  local flags at size name
  # shellcheck disable=SC2207
  flags=(-std=c11 -D_DEFAULT_SOURCE -O3 -ffp-contract=fast -Wno-psabi -I"$root" $(pkg-config --cflags-only-I glib-2.0)
    -DNDT_KERNEL_NAME=ndt_kernel_generic -DG_LOG_DOMAIN='"ndt"')
  "$@" "${flags[@]}" -c "$root/ndtcore/align/ndt-kernel.c" -o "$dir/kernel.o"
  "$@" "${flags[@]}" -static -no-pie "$dir/kernel.o" "$root/tests/unit/kernel-replay.c" -o "$dir/replay" -lm
  begin=ffffffff end=0
  while read -r at size name; do
    [ "$name" != ndt_kernel_generic ] || entry=$at
    ((16#$at >= 16#$begin)) || begin=$at
    ((16#$at + size <= 16#$end)) || end=$(printf '%x' $((16#$at + size)))
  done < <(readelf -sW "$dir/kernel.o" | awk '$4 == "FUNC" { print $8 }' | sort |
    join -1 1 -2 3 -o 2.1,2.2,2.3 - <(readelf -sW "$dir/replay" | awk '$4 == "FUNC" { print $2, $3, $8 }' | sort -k3,3))
}

avx2='-mavx2 -mfma -mpopcnt -mbmi'
# shellcheck disable=SC2034
avx512="$avx2 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mprefer-vector-width=512"
gcc -std=c11 -D_GNU_SOURCE -O2 "$root/tests/bench/count-steps.c" -o "$dir/count-steps"
calls=14
for set in generic avx2 avx512; do
  case $set in generic) options='' ;; *) options=${!set} ;; esac
  # shellcheck disable=SC2086
  make gcc $options
  echo "$set $("$dir/count-steps" $calls "$entry" "$begin" "$end" "$dir/replay" "$dir/chunks")"
done > "$dir/counts"
make aarch64-linux-gnu-gcc
# One line a block of one instruction; the log ends with the pipe.
(qemu-aarch64-static -singlestep -d exec,nochain -dfilter "0x$begin..0x$(printf %x $((16#$end - 1)))" \
  "$dir/replay" "$dir/chunks" 2>&1 >/dev/null || true) |
  awk -v entry="$entry" -v calls=$calls '
    /^Trace/ && tolower ($0) ~ entry { if (called++ == calls) exit }
    /^Trace/ { n++ }
    END { print "NEON", n }' >> "$dir/counts"
awk -v calls=$calls '{ printf "%-10s %9.1f thousand instructions a call\n", $1, $2 / calls / 1000 }' "$dir/counts"
