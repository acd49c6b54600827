#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs what is missing, builds, and runs the tests that this machine can run.
#
#   tests/run.sh            everything but soak, clang-format's check and a build with sanitizers
#   tests/run.sh SUITE...   only these Meson suites: unit elements reference real streaming
#                           record sensors time trust mapping objective view clouds fleet fuzz
#                           gpu soak
#
# The last line counts: "N passed, N failed, N skipped"; the lines before it name what failed and
# why what was skipped was. What counts as one is said in docs/testing.md.
#
# Environment:
#   NDT_TEST_DATA       real scans (default ../shared/data)
#   NDT_TEST_REFERENCE  other programs' numbers (default ../shared/reference)
#   CI=true             a missing folder of these is a failure, not a reason to skip
#   JOBS                compilations and tests at a time (default: the processors)
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD

export LC_ALL=C.UTF-8 HOME=${HOME:-/tmp}
export NDT_TEST_DATA=${NDT_TEST_DATA:-$root/../shared/data}
export NDT_TEST_REFERENCE=${NDT_TEST_REFERENCE:-$root/../shared/reference}
jobs=${JOBS:-$(nproc)}
python=/usr/bin/python3 # the one that has Debian's gi
suites="unit elements reference real streaming record sensors time trust mapping objective view clouds fleet fuzz gpu soak"

for suite in "$@"; do
  case " $suites " in
  *" $suite "*) ;;
  *)
    echo "tests/run.sh: no suite \"$suite\": there are $suites" >&2
    exit 2
    ;;
  esac
done

results=$root/build/run-results # lines of: pass|fail|skip, tab, name, tab, reason

record ()
{
  printf '%s\t%s\t%s\n' "$1" "$2" "${3:-}" >>"$results"
}

finish ()
{
  local n
  for n in skip fail; do
    awk -F '\t' -v n="$n" '$1 == n { printf "%s: %s: %s\n", n, $2, $3 }' "$results" | uniq -c |
      sed -e 's/^ *1 //' -e 's/^ *\([0-9]*\) \(.*\)/\2 (\1 times)/'
  done
  awk -F '\t' '{ n[$1]++ }
    END { printf "%d passed, %d failed, %d skipped\n", n["pass"], n["fail"], n["skip"] }' "$results"
  ! grep -q '^fail' "$results"
  exit
}

# configure FOLDER OPTION...: sets a build folder up, anew only when the options changed.
configure ()
{
  local folder=$1 how=
  shift
  [ -f "$folder/build.ninja" ] && how=--reconfigure
  [ -n "$how" ] && [ "$*" = "$(cat "$folder/run-options" 2>/dev/null)" ] && return
  meson setup $how "$folder" "$@" </dev/null && echo "$*" >"$folder/run-options"
}

# run_tests FOLDER PREFIX ARGUMENT...: runs Meson's tests there and records every result.
run_tests ()
{
  local folder=$1 prefix=$2 log
  shift 2
  rm -f "$folder"/meson-logs/run*.json
  # Failures are counted from the log, whose name has the wrapper's as well.
  meson test -C "$folder" --no-rebuild --logbase run --print-errorlogs --num-processes "$jobs" \
    "$@" </dev/null || true
  for log in "$folder"/meson-logs/run*.json; do
    if [ ! -f "$log" ]; then
      record skip "${prefix}tests" "none of these suites"
    elif ! "$python" tests/results.py "$prefix" "$log" >>"$results"; then
      record fail "$log" "could not be read"
    fi
  done
}

mkdir -p build
: >"$results"

package_lists=(pipelines/packages.txt tests/packages.txt)
lists=(tests/requirements.txt tests/requirements-upgrade.txt)
case " $* " in
*" fleet "*)
  package_lists+=(tests/packages-fleet.txt)
  lists+=(tests/requirements-fleet.txt)
  ;;
esac
if ! pipelines/install-packages.sh "${package_lists[@]}"; then
  record fail packages "not installed, see above"
  finish
fi

# One list after the other: those of the second go over what the first's ask for.
install_lists ()
{
  local list
  for list in "${lists[@]}"; do
    "$venv/bin/python" -m pip install -q -r "$list" </dev/null || return
  done
}

# Packages of PyPI, in an environment of their own that sees Debian's gi and numpy.
venv=$root/.cache/venv
if ! cmp -s <(cat "${lists[@]}") "$venv/requirements"; then
  rm -rf "$venv"
  "$python" -m venv --system-site-packages "$venv" &&
    install_lists &&
    cat "${lists[@]}" >"$venv/requirements"
fi
if [ -f "$venv/requirements" ]; then
  python=$venv/bin/python
else
  record fail python-packages "those of ${lists[*]} were not installed, see above"
fi
export NDT_TEST_PYTHON=$python

# Numbers have to be read and written with a point where people write a comma.
locales=$root/.cache/locale
if [ -d "$locales/de_DE.UTF-8" ] || { mkdir -p "$locales" &&
  localedef -i de_DE -f UTF-8 "$locales/de_DE.UTF-8"; }; then
  export LOCPATH=$locales:/usr/lib/locale
fi

if ! configure build -Dwerror=true -Dtests=enabled -Dcuda-architectures=90 ||
  ! ninja -C build -j "$jobs"; then
  record fail build "see above"
  finish
fi
record pass build

if [ $# -gt 0 ]; then
  arguments=()
  export NDT_TEST_NAMED=yes # what takes long is run where its suite is named
  for suite in "$@"; do arguments+=(--suite "$suite"); done
  run_tests build "" "${arguments[@]}"
  finish
fi

run_tests build "" --no-suite soak

# Another major version lays code out differently.
if [[ $(clang-format --version 2>/dev/null) =~ version\ 14\. ]]; then
  if find ndtcore cuda gst tests pipelines -name '*.[ch]' -print0 -o -name '*.cu*' -print0 | xargs -0 clang-format --dry-run --Werror; then
    record pass clang-format
  else
    record fail clang-format "run clang-format -i on the files named above"
  fi
else
  record skip clang-format "no clang-format 14 on this machine"
fi

# build_sanitized FOLDER SANITIZERS INTROSPECTION: without CUDA, whose libraries no sanitizer knows.
# The program that the scanner of introspection makes and runs leaves memory to the system.
build_sanitized ()
{
  configure "$1" -Dwerror=true -Dtests=enabled -Dcuda=disabled -Dbenchmarks=disabled \
    "-Dintrospection=$3" -Dbuildtype=debugoptimized "-Db_sanitize=$2" -Db_lundef=false &&
    ASAN_OPTIONS=detect_leaks=0 ninja -C "$1" -j "$jobs"
}

# AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer.
if build_sanitized build-asan address,undefined auto; then
  run_tests build-asan "asan:" --suite unit --suite elements --suite streaming --suite record \
    --suite sensors --suite memory --timeout-multiplier 5 --wrapper "$root/tests/sanitize.sh"
else
  record fail asan-build "see above"
fi

# ThreadSanitizer, for programs in C.
if build_sanitized build-tsan thread disabled; then
  run_tests build-tsan "tsan:" --suite threads --timeout-multiplier 10 \
    --wrapper "$root/tests/tsan.sh"
else
  record fail tsan-build "see above"
fi

finish
