# SPDX-License-Identifier: MIT
# To be sourced by the scripts beside it (bash): usage, arguments, gst-launch-1.0 with a progress bar,
# and what became of the scans.

. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

# The comment at the head of the script.
usage ()
{
  awk 'NR > 2 && !/^#/ { exit } NR > 2 { sub (/^# ?/, ""); print }' "$0" >&2
  exit 2
}

# refuse SENTENCE: of a wrong command line.
refuse ()
{
  printf '%s: %s\n\n' "${0##*/}" "$1" >&2
  usage
}

# properties ARGUMENT...: refuses what is no PROPERTY=VALUE.
properties ()
{
  local argument
  for argument in "$@"; do
    [[ $argument =~ ^[a-z][a-z0-9-]*=.* ]] ||
      refuse "\"$argument\" is not PROPERTY=VALUE of ndtlocalize"
  done
}

# Draws PERCENT TEXT on a terminal.
bar ()
{
  local full
  printf -v full '%*s' $(($1 * 40 / 100)) ''
  printf '\r[%-40s] %3d %% %s\033[K' "${full// /#}" "$1" "$2"
  [ "$1" -lt 100 ] || echo
}

# show [CSV TOTAL]: what gst-launch-1.0 -v says, less what is no error and no warning, and what became of the
# scans by the localizer's own count: a line "localizer: scans=… tracking=… …". On a terminal a bar, of
# the progress that rosbagsrc reports, or of the scans in CSV of TOTAL.
show ()
{
  local line status n shown=-1 part=
  trap '' INT TERM
  while true; do
    status=0
    IFS= read -r -t 0.5 line || status=$?
    if [ $status -gt 128 ]; then # nothing was said, or the begin of a line
      part+=$line
      [ -t 1 ] && [ $# -eq 2 ] && [ -f "$1" ] || continue
      n=$(wc -l <"$1")
      n=$((n > 0 ? n - 1 : 0))
      [ $n -ne $shown ] && bar $((n >= $2 ? 100 : n * 100 / $2)) "$n of $2 scans"
      shown=$n
      [ $n -lt $2 ] || shift 2
      continue
    fi
    line=$part$line part=
    if [ $status -ne 0 ]; then
      break
    elif [[ $line =~ ^Progress:\ \(replay\)\ ([0-9]+)\.[0-9]\ %,\ (.*)$ ]]; then
      [ ! -t 1 ] || bar "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    elif [[ $line =~ ^/.*:\ summary\ =\ \"?(.*[^\"])\"?$ ]]; then
      printf 'localizer: %s\n' "${BASH_REMATCH[1]//\\/}"
    elif [[ $line == ERROR* || $line == WARNING* || $line == *"error:"* ]]; then
      printf '%s\n' "$line" >&2
    fi
  done
}

# summarize CSV: the line that tells how it went. A scan is tracked or degraded where it was localized, the
# latter with scores below their thresholds; predicted where it was not aligned; lost otherwise. Then as check.
summarize ()
{
  awk -F , '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { n++; last = $column["status"] }
    last == "tracking" { tracked++ }
    last == "degraded" { degraded++ }
    last == "skipped" { predicted++ }
    last != "tracking" || $column["error_m"] == "" { next }
    { compared++; m += $column["error_m"]; deg += $column["error_deg"] }
    $column["error_m"] > max { max = $column["error_m"] }
    END {
      lost = n - tracked - degraded - predicted
      printf "scans=%d tracked=%d degraded=%d predicted=%d lost=%d", n, tracked, degraded, predicted,
        lost
      if (compared)
        printf " compared=%d mean_error_m=%.4f mean_error_deg=%.4f max_error_m=%.4f", compared,
          m / compared, deg / compared, max
      print ""
    }' "$1"
  check "$1"
}

# check CSV: status 1, with a sentence, where there was no scan, where less than half of them were tracked, and
# where the last one is lost.
check ()
{
  awk -F , '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { n++; last = $column["status"] }
    last == "tracking" { tracked++ }
    END {
      problem = n == 0 ? "no scan came" \
        : last == "lost" || last == "initializing" ? "the drive is lost at its end" \
        : 2 * tracked < n ? "less than half of the scans were tracked" : ""
      if (problem) {
        print problem " (docs/troubleshooting.md)" >"/dev/stderr"
        exit 1
      }
    }' "$1"
}
