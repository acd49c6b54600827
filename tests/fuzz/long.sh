#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs every fuzz target for a long time, many at once, each process with a seed of its own.
#
#   tests/fuzz/long.sh BUILD SECONDS [JOBS [OUT]]
#
# BUILD is a build folder with tests, by GCC (fuzz-main.c). JOBS processes (default: the processors) run
# for SECONDS. Each takes the target that has run the fewest inputs so far, so that the slow ones get
# the most time. A table has the inputs, the processor seconds and the inputs a second of each target. OUT
# (default: a new folder) keeps what was printed and, of what failed, the input, as
# TARGET-SEED/crash. With the OUT of a run before, its counts and seeds go on. The exit status is 1 where
# something failed or ran nothing.
#
# NDT_FUZZ_TARGETS: only these, names with blanks between. NDT_FUZZ_SLICE: seconds of a process, 15.
# NDT_FUZZ_SEED: where seeds begin, 0; another one makes other inputs.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: long.sh BUILD SECONDS [JOBS [OUT]]}" && pwd) || exit 2
seconds=${2:?usage: long.sh BUILD SECONDS [JOBS [OUT]]}
jobs=${3:-$(nproc)}
out=${4:-$(mktemp -d)}
slice=${NDT_FUZZ_SLICE:-15}
mkdir -p "$out/state"
out=$(cd "$out" && pwd)
# Inputs that are files are written anew each time.
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || export TMPDIR=/dev/shm
end=$((SECONDS + seconds))
export G_DEBUG=fatal-warnings
# Shorter stacks and a smaller quarantine are faster, and keep what is found.
export ASAN_OPTIONS=allocator_may_return_null=1:malloc_context_size=8:quarantine_size_mb=16:max_malloc_fill_size=0

declare -A corpus
while read -r target name; do
  [[ " ${NDT_FUZZ_TARGETS:-$target} " = *" $target "* ]] || continue
  corpus[$target]=$name
  # inputs, seconds, running, seeds, failures
  read -r inputs time _ seeds failures 2>/dev/null <"$out/state/$target" || inputs=0 time=0 seeds=0 failures=0
  echo "$inputs $time 0 $seeds $failures" >"$out/state/$target"
done <"$build/tests/fuzz/fuzz.list"

# The target that has the fewest inputs, those of running processes at its rate so far included; one that
# failed three times is left alone. Called with the lock.
choose ()
{
  local target inputs time running seeds failures guess best= least=
  for target in "${!corpus[@]}"; do
    read -r inputs time running seeds failures <"$out/state/$target"
    [ "$failures" -lt 3 ] || continue
    guess=$((inputs + running * slice * (time > 0 ? inputs / time : 100)))
    if [ -z "$least" ] || [ "$guess" -lt "$least" ]; then
      best=$target least=$guess
    fi
  done
  echo "$best"
}

# update TARGET INPUTS SECONDS RUNNING SEEDS FAILURES: adds to what is known of it.
update ()
{
  local a b c d e
  read -r a b c d e <"$out/state/$1"
  echo "$((a + $2)) $((b + $3)) $((c + $4)) $((d + $5)) $((e + $6))" >"$out/state/$1"
}

work ()
{
  local target seed left begin status inputs folder
  while left=$((end - SECONDS)) && [ "$left" -gt 1 ]; do
    {
      flock 9
      target=$(choose)
      [ -n "$target" ] || return 0
      update "$target" 0 0 1 1 0
      seed=$((${NDT_FUZZ_SEED:-0} + $(cut -d ' ' -f 4 "$out/state/$target")))
    } 9>"$out/lock"
    folder=$out/$target-$seed
    mkdir -p "$folder"
    begin=$SECONDS
    (cd "$folder" && NDT_FUZZ_SECONDS=$((left < slice ? left : slice)) \
      "$build/tests/fuzz/fuzz-$target" "$here/corpus/${corpus[$target]}" 1000000000 "$seed" >log 2>&1)
    status=$?
    inputs=$(sed -n -e 's/^[0-9]* inputs and \([0-9]*\) changed ones.*/\1/p' -e 's/^failed after \([0-9]*\) inputs$/\1/p' "$folder/log" | tail -1)
    {
      flock 9
      update "$target" "${inputs:-0}" $((SECONDS - begin)) -1 0 $((status != 0))
    } 9>"$out/lock"
    [ "$status" != 0 ] || rm -rf "$folder"
  done
}

for ((i = 0; i < jobs; i++)); do work & done
wait

failed=0
printf '%-20s %12s %9s %9s %6s %s\n' target inputs seconds "a second" seeds failures
for target in $(printf '%s\n' "${!corpus[@]}" | sort); do
  read -r inputs time _ seeds failures <"$out/state/$target"
  printf '%-20s %12d %9d %9d %6d %d\n' "$target" "$inputs" "$time" $((inputs / (time > 0 ? time : 1))) "$seeds" "$failures"
  if [ "$failures" != 0 ] || [ "$inputs" = 0 ]; then failed=1; fi
done
echo "$out"
for log in "$out"/*-*/log; do
  [ ! -f "$log" ] || { echo "== $log"; tail -n 30 "$log"; }
done
exit $failed
