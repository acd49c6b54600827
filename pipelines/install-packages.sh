#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs the Debian or Ubuntu packages that the given lists name (one a line) and that are
# missing. Needs root or sudo only when something is missing.
#
#   pipelines/install-packages.sh LIST...
set -euo pipefail
export LC_ALL=C

mapfile -t wanted < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$@" | sort -u)

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "No Debian or Ubuntu here: install what corresponds to: ${wanted[*]}" >&2
  exit 0
fi

mapfile -t missing < <(comm -23 <(printf '%s\n' "${wanted[@]}") \
  <(dpkg-query -W -f '${db:Status-Status} ${binary:Package}\n' 2>/dev/null |
    sed -n -e 's/:[^ ]*$//' -e 's/^installed //p' | sort -u))
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null ||
    { echo "Missing packages, and neither root nor sudo to install them: ${missing[*]}" >&2; exit 1; }
  # apt may be configured by these.
  as_root=(sudo --preserve-env=http_proxy,https_proxy,no_proxy,APT_CONFIG)
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3)

echo "Installing ${missing[*]}"
"${apt[@]}" update </dev/null
"${apt[@]}" install --no-install-recommends "${missing[@]}" </dev/null
