#!/bin/bash
# SPDX-License-Identifier: MIT
# Debian packages: built of a tarball in a clean chroot of Debian 12, checked by lintian, installed
# into a bare one, tried by debian/tests as autopkgtest would, and purged, which leaves nothing.
#
# usage: test-package.sh SOURCE_ROOT BUILD_ROOT
#
# Unit tests of the package (debian/rules) are left out: they were run by the suites. Takes some minutes: only where the suite is named (NDT_TEST_NAMED, set by tests/run.sh), and exit
# status 77 otherwise. NDT_TEST_PACKAGES=FOLDER keeps the packages.
set -euo pipefail
source=$1 build=$2

skip ()
{
  echo "$1"
  exit 77
}

[ -n "${NDT_TEST_NAMED:-}" ] || skip "packages are built where the suite fleet is named"
command -v mmdebstrap >/dev/null || { [ -n "${CI:-}" ] && echo "no mmdebstrap" >&2 && exit 1; skip "no mmdebstrap"; }

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
# mmdebstrap's own temporary folder has to be one that programs are run in.
export TMPDIR=$work
mode=auto
[ "$(id -u)" != 0 ] || mode=root
version=$(sed -n "s/^  version : '\(.*\)',/\1/p" "$source/meson.build")
mkdir "$work/source" "$work/packages"
chmod 755 "$work"

# A release's tarball is of what is committed, and debian/ is added to it by the package.
tarball=$work/source/gst-ndt_$version.orig.tar.xz
if git -C "$source" rev-parse --git-dir >/dev/null 2>&1; then
  meson dist -C "$build" --no-tests --allow-dirty --formats xztar >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; exit 1; }
  mv "$build/meson-dist/gst-ndt-$version.tar.xz" "$tarball"
else
  tar -C "$source" --exclude=./build\* --exclude=./.cache --transform "s|^\.|gst-ndt-$version|" -cJf "$tarball" .
fi
tar -C "$work/source" -xf "$tarball"
mv "$work/source/gst-ndt-$version" "$work/source/gst-ndt"

dependencies=$(sed -n '/^Build-Depends:/,/^$/p' "$source/debian/control" |
  sed -e 's/^Build-Depends://' -e 's/([^)]*)//g' -e '/dh-sequence/d' -e 's/debhelper-compat/debhelper/' |
  tr -d ' \n')
cat >"$work/build.sh" <<'EOF'
set -eu
cd /root/source/gst-ndt
export LC_ALL=C.UTF-8 DEB_BUILD_OPTIONS="nocheck parallel=$1"
dpkg-checkbuilddeps
dpkg-buildpackage -us -uc
cd ..
# no-debian-changes: the release's tarball has debian/ itself.
lintian --allow-root --fail-on error,warning --tag-display-limit 0 --suppress-tags no-debian-changes ./*.changes
mkdir /root/packages
cp ./*.deb /root/packages
EOF
echo "== build in a clean chroot"
mmdebstrap --quiet --mode=$mode --variant=buildd --format=null --include="${dependencies%,},lintian" \
  --customize-hook="copy-in '$work/source' /root" \
  --customize-hook="copy-in '$work/build.sh' /root" \
  --customize-hook="chroot \"\$1\" sh /root/build.sh ${JOBS:-$(nproc)}" \
  --customize-hook="copy-out /root/packages '$work'" \
  bookworm /dev/null </dev/null
ls -l "$work/packages"
[ -z "${NDT_TEST_PACKAGES:-}" ] || cp "$work"/packages/*.deb "$NDT_TEST_PACKAGES"

# What packages leave behind is compared without what belongs to apt and the chroot.
cat >"$work/try.sh" <<'EOF'
set -eu
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
files ()
{
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /root -o -path /var/lib/apt \
    -o -path /var/cache -o -path /var/log -o -path /var/lib/dpkg -o -path /run \) -prune -o -print | sort
}
apt="apt-get -q -y --no-install-recommends -o Acquire::Retries=3"
# What our packages and tests depend on stays; what is left of ours alone is asked for.
depends=$(dpkg-deb -f /root/packages/gstreamer1.0-ndt_*.deb Depends >/dev/null; for p in /root/packages/*.deb; do
  dpkg-deb -f "$p" Depends; done | tr ',' '\n' | sed -e 's/(.*//' -e 's/|.*//' -e 's/:any//' -e 's/ //g' |
  grep -v -e gstpointcloud -e gst-ndt -e gstreamer1.0-ndt | sort -u)
$apt install $depends $(sed -n '/^Depends:/,/^Restrictions:/p' /root/tests/control |
  sed -e 's/^Depends://' -e '/^Restrictions:/d' | tr ',' '\n' | sed 's/ //g' |
  grep -v -e gstpointcloud -e gst-ndt -e gstreamer1.0-ndt | sort -u) >/dev/null
files >/root/before
dpkg -i /root/packages/*.deb
mkdir -p /root/tree/pipelines
cp /root/record-app.c /root/tree/pipelines
cd /root/tree
for test in simulated-drive application; do
  echo "== debian/tests/$test"
  /root/tests/$test
done
echo "== purge"
cd /
$apt purge $(dpkg-query -W -f '${Package}\n' '*gstpointcloud*' '*gst-ndt*' gstreamer1.0-ndt 2>/dev/null) >/dev/null
files >/root/after
rm -rf /root/.cache
diff /root/before /root/after
EOF
echo "== install into a bare system"
mmdebstrap --quiet --mode=$mode --variant=apt --format=null \
  --customize-hook="copy-in '$work/packages' /root" \
  --customize-hook="copy-in '$source/debian/tests' /root" \
  --customize-hook="copy-in '$source/pipelines/record-app.c' /root" \
  --customize-hook="copy-in '$work/try.sh' /root" \
  --customize-hook='chroot "$1" bash /root/try.sh' \
  bookworm /dev/null </dev/null
echo "packages: built, checked, installed, tried and purged"
