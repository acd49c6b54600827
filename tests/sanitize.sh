#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs a test of the build with sanitizers: sanitize.sh COMMAND...
#
# The programs that load our plugins (gst-launch-1.0, GStreamer's scanner, Python) are not
# instrumented, so that the run-time has to be preloaded. Leaks, and new[] with a plain delete, are
# looked for in our own programs alone: shells and Python leave memory to the system when they end,
# and modules of Python free memory otherwise than they took it.
here=$(dirname "$0")
own=0
grep -q libasan "$1" && own=1
export LD_PRELOAD NDT_TEST_SANITIZER=address
LD_PRELOAD=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)
export ASAN_OPTIONS=detect_leaks=$own:alloc_dealloc_mismatch=$own
ASAN_OPTIONS+=:allocator_may_return_null=1:fast_unwind_on_malloc=0
export LSAN_OPTIONS=suppressions=$here/leaks.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
exec "$@"
