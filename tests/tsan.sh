#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs a test of a build with -Db_sanitize=thread: tsan.sh COMMAND...
#
# GLib and GStreamer are not instrumented: what they do themselves is left out, and GLib's locks are
# those of tsan-locks.c, so that what they order is seen.
# A scanner of plugins would not be instrumented.
export GST_REGISTRY_FORK=no G_SLICE=always-malloc NDT_TEST_SANITIZER=thread
export TSAN_OPTIONS=die_after_fork=0:report_signal_unsafe=0:ignore_noninstrumented_modules=1
exec "$@"
