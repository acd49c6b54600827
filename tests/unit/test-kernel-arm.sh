#!/bin/bash
# SPDX-License-Identifier: MIT
# The plain kernel, compiled for 64-bit ARM, whose compiler makes NEON of its vectors, computes under
# qemu's user emulation what it does here.
#
#   test-kernel-arm.sh KERNEL-RECORD KERNEL-REPLAY SOURCE-ROOT
set -euo pipefail

record=$1 replay=$2 root=$3 cc=aarch64-linux-gnu-gcc
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$record" "$dir/chunks"
"$replay" "$dir/chunks"

[ "$(uname -m)" = x86_64 ] || { echo "this is no x86-64: the test above was the one"; exit 0; }
[ -z "${NDT_TEST_SANITIZER:-}" ] || exit 0 # what follows is not instrumented
type $cc qemu-aarch64-static >/dev/null 2>&1 ||
  { echo "$cc or qemu-aarch64-static is not installed"; exit 77; }
# Types of GLib are those of any processor with longs of 64 bits.
# shellcheck disable=SC2046
$cc -std=c11 -D_DEFAULT_SOURCE -O3 -ffp-contract=fast -Wno-psabi -static -I"$root" \
  $(pkg-config --cflags-only-I glib-2.0) -DNDT_KERNEL_NAME=ndt_kernel_generic -DG_LOG_DOMAIN='"ndt"' \
  "$root/ndtcore/align/ndt-kernel.c" "$root/tests/unit/kernel-replay.c" -o "$dir/replay" -lm
qemu-aarch64-static "$dir/replay" "$dir/chunks"
