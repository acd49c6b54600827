#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs a C test in a build with -Db_sanitize=thread: tsan.sh COMMAND...
#
# GLib and GStreamer are not instrumented: what they do themselves is left out, and GLib's locks are
# those of tsan-locks.c, so that what they order is seen.
export NDT_TEST_SANITIZER=thread G_SLICE=always-malloc
# A scanner of plugins would not be instrumented; and what plugins start while they are scanned must
# not be there when gst-check forks.
export GST_REGISTRY_FORK=no
if [ -n "${GST_REGISTRY_1_0:-}" ] && ! [ -f "$GST_REGISTRY_1_0" ]; then
  GST_CHECKS=none "$@" >/dev/null 2>&1
fi
export TSAN_OPTIONS=report_signal_unsafe=0:ignore_noninstrumented_modules=1
exec "$@"
