#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a manual page of a program's --help.
#
# usage: help-page.sh HELP2MAN PROGRAM COMMAND PAGE DESCRIPTION VERSION OUTPUT
#
# The date is that of SOURCE_DATE_EPOCH, if set, so that builds can be repeated to the bit. The
# encoding is one that has the characters of GLib's help.
set -eu
export LC_ALL=C.UTF-8
"$1" --no-info --no-discard-stderr --locale=C.UTF-8 --section=1 --source="gst-ndt $6" \
  --manual="gst-ndt" --version-string="$6" --name="$5" --output="$7.tmp" "$2$3"
# The page is named after the command, not after the program alone.
title=$(printf %s "$4" | tr '[:lower:]' '[:upper:]')
sed -e "s/^\.TH [^ ]* /.TH $title /" -e "/^\.SH NAME/{n;s/^.* \\\\- /$4 \\\\- /}" "$7.tmp" >"$7"
rm "$7.tmp"
