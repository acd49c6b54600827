#!/bin/bash
# SPDX-License-Identifier: MIT
# What `meson install` leaves is complete: elements load from it, an application builds against it,
# Python reads poses with it.
#
# usage: test-install.sh SOURCE_ROOT BUILD_ROOT PREFIX LIBDIR
set -euo pipefail
source=$1 build=$2 prefix=$3 libdir=$4

if [ -n "${NDT_TEST_SANITIZER:-}" ]; then
  echo "an application without the sanitizers cannot use a library with them"
  exit 77
fi

temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
DESTDIR=$temp meson install -C "$build" --no-rebuild --quiet
root=$temp$prefix
lib=$root/$libdir

fail ()
{
  echo "$*" >&2
  (cd "$temp" && find . -type f | sort) >&2
  exit 1
}

export LD_LIBRARY_PATH=$lib
unset GST_PLUGIN_PATH
export GST_PLUGIN_PATH_1_0=$lib/gstreamer-1.0 GST_REGISTRY_1_0=$temp/registry.bin
for built in "$build"/gst/*/libgst*.so; do
  case $built in */gst/pointcloud/*) continue ;; esac
  plugin=$lib/gstreamer-1.0/${built##*/}
  [ -f "$plugin" ] || fail "${built##*/} is not installed"
  # Run-time paths into the build folder are gone: it has to find its libraries where they are now.
  gst-inspect-1.0 "$plugin" >"$temp/inspect" 2>&1 || { cat "$temp/inspect"; fail "$plugin"; }
  grep -q '^Plugin Details' "$temp/inspect" || { cat "$temp/inspect"; fail "$plugin"; }
done
"$root/bin/ndt-map" --help >/dev/null || fail "ndt-map does not run"

# The .pc file as if it lay in the real prefix.
mkdir "$temp/pc"
sed "s|^prefix=.*|prefix=$root|" "$lib/pkgconfig/gstreamer-pointcloud-1.0.pc" \
  >"$temp/pc/gstreamer-pointcloud-1.0.pc"
export PKG_CONFIG_PATH=$temp/pc
# shellcheck disable=SC2046
cc -Wall -Werror "$source/pipelines/record-app.c" -o "$temp/record-app" \
  $(pkg-config --cflags --libs gstreamer-pointcloud-1.0) || fail "record-app.c does not build"
usage=$("$temp/record-app" 2>&1 || true)
[[ $usage == usage:* ]] || fail "record-app does not run: $usage"

if [ -f "$build/gst/pointcloud/GstPointCloud-1.0.typelib" ]; then
  [ -f "$root/share/gir-1.0/GstPointCloud-1.0.gir" ] || fail "no GIR file"
  GI_TYPELIB_PATH=$lib/girepository-1.0 /usr/bin/python3 - <<'EOF' || fail "Python cannot use it"
import gi
gi.require_version("Gst", "1.0")
gi.require_version("GstPointCloud", "1.0")
from gi.repository import Gst, GstPointCloud
Gst.init(None)
assert GstPointCloud.PoseRole.ESTIMATE.value_nick == "estimate"
EOF
fi
