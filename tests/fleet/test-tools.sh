#!/bin/bash
# SPDX-License-Identifier: MIT
# Manual pages say what the programs' --help and the registry say, completion offers it, and the
# library's ABI is that of its soversion.
#
# usage: test-tools.sh SOURCE_ROOT BUILD_ROOT
set -euo pipefail
source=$1 build=$2
export LC_ALL=C.UTF-8
failed=0

fail ()
{
  echo "$*" >&2
  failed=1
}

tools=("$build/ndtcore/tools/ndt-map" "$build/gst/mcap/ndt-bag" "$build/gst/replay/ndt-replay" "$build/gst/scans/ndt-scans"
  "$build/ndtcore/tools/ndt-calibrate")
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

# --- manual pages
if command -v help2man >/dev/null; then
  for page in "$build"/docs/man/*.1 "$source/docs/man/gst-ndt.7"; do
    name=$(basename "${page%.*}")
    if command -v man >/dev/null; then
      man --warnings -E UTF-8 -l "$page" >"$temp/page" 2>"$temp/warnings" || fail "$name is no manual page"
      [ ! -s "$temp/warnings" ] || fail "$name: $(cat "$temp/warnings")"
      grep -Eq "^ *$name +- +[a-z]" "$temp/page" || fail "$name has no NAME: $(head -8 "$temp/page")"
    fi
  done
  while read -r name command; do
    # shellcheck disable=SC2086
    for option in $($command --help 2>&1 | grep -oe '--[a-z][a-z-]*' | sort -u); do
      [ "$option" = --help-all ] || grep -qF -e "$(sed 's/-/\\-/g' <<<"$option")" "$build/docs/man/$name.1" ||
        fail "$name.1 does not have $option"
    done
  done < <(for command in $("${tools[0]}" --help | sed -n 's/^ *ndt-map \([a-z][a-z]*\) .*/\1/p' | sort -u); do
    [ -e "$build/docs/man/ndt-map-$command.1" ] || fail "ndt-map $command has no page in docs/man/meson.build"
    echo "ndt-map-$command ${tools[0]} $command"; done
    for tool in "${tools[@]:1}"; do echo "${tool##*/} $tool"; done)
elif [ -n "${CI:-}" ]; then
  fail "no help2man"
fi
for element in $(for plugin in ${GST_PLUGIN_PATH_1_0//:/ }; do
  for file in "$plugin"/libgst*.so; do
    gst-inspect-1.0 "$file" 2>/dev/null | sed -n 's/^  \([a-z][a-z0-9]*\): .*/\1/p'
  done
done | sort -u); do
  case $element in
  *typefind*) ;;
  *) grep -q "\b$element\b" "$source/docs/man/gst-ndt.7" || fail "gst-ndt.7 does not have $element" ;;
  esac
done

# --- completion
# complete WORD...: what is offered for the last one.
offered ()
{
  bash -c '. "$1"; shift; compopt () { :; }
    COMP_WORDS=("${@##*/}"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _gst_ndt_complete "$1" "${!#}" "${@:$#-1:1}"; printf "%s\n" "${COMPREPLY[@]}"' - \
    "$source/ndtcore/tools/completion.bash" "$@" | sort | tr '\n' ' '
}
[[ $(offered "${tools[0]}" "") == *"build "*"info "*"simulate tile "* ]] || fail "ndt-map: $(offered "${tools[0]}" "")"
[ "$(offered "${tools[0]}" bu)" = "build " ] || fail "ndt-map bu: $(offered "${tools[0]}" bu)"
[ "$(offered "${tools[0]}" build --tr)" = "--trajectory= " ] || fail "ndt-map build --tr: $(offered "${tools[0]}" build --tr)"
[ "$(offered "${tools[0]}" build --encoding asc)" = "ascii " ] || fail "ndt-map build --encoding asc"
[[ $(offered "${tools[1]}" "") == "info merge poses " ]] || fail "ndt-bag: $(offered "${tools[1]}" "")"
[[ $(offered "${tools[2]}" --re) == *"--realtime"*"--reference="*"--resume"* ]] || fail "ndt-replay --re: $(offered "${tools[2]}" --re)"
(cd "$source" && [ "$(offered "${tools[0]}" info READ)" = "README.md " ]) || fail "ndt-map info READ"

# --- the library: what an application was built with stays. A change that breaks it needs another
# soversion, and the dump of tests/fleet/update-abi.sh.
library=$build/gst/pointcloud/libgstpointcloud-1.0.so.1
abi=$source/tests/fleet/libgstpointcloud.abi
if [ -n "${NDT_TEST_SANITIZER:-}" ]; then
  echo "the ABI of a build with sanitizers is its own"
elif command -v abidiff >/dev/null; then
  status=0
  abidiff --no-added-syms --headers-dir2 "$source/gst/pointcloud" --drop-private-types "$abi" "$library" \
    >"$temp/abi" 2>&1 || status=$?
  # 4: it changed, 8: so that programs break (libabigail's manual of abidiff).
  [ $((status & ~4)) = 0 ] || fail "the ABI is another: $(cat "$temp/abi")"
elif [ -n "${CI:-}" ]; then
  fail "no abidiff"
fi

[ $failed = 0 ] && echo "manual pages, completion and ABI are as they should be"
exit $failed
