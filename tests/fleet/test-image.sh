#!/bin/bash
# SPDX-License-Identifier: MIT
# The image of pipelines/fleet/Containerfile, built by buildah without a registry, and a drive in it. A root made by
# mmdebstrap stands for the image debian:12. No daemon and no namespaces: chroot isolation, files are copied between layers.
#
# usage: test-image.sh SOURCE_ROOT
#
# Compiles the packages anew: some ten minutes, 6 GB. Only with NDT_TEST_IMAGE; exit status 77 otherwise.
set -euo pipefail
source=$1
[ -n "${NDT_TEST_IMAGE:-}" ] || { echo "images are built where NDT_TEST_IMAGE is set"; exit 77; }
for program in buildah mmdebstrap; do
  command -v $program >/dev/null || { echo "no $program" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
export TMPDIR=$work STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
image ()
{
  buildah --root "$work/root" --runroot "$work/run" "$@"
}

mkdir "$work/base" "$work/source"
mmdebstrap --quiet --variant=minbase bookworm "$work/base/debian.tar" </dev/null
printf 'FROM scratch\nADD debian.tar /\nCMD ["bash"]\n' >"$work/base/Containerfile"
image bud -q -t docker.io/library/debian:12 "$work/base"
# What is committed and what is changed, without what .dockerignore leaves out.
if git -C "$source" rev-parse --git-dir >/dev/null 2>&1; then
  git -C "$source" ls-files -z | tar -C "$source" --null -T - -cf - | tar -C "$work/source" -xf -
else
  tar -C "$source" --exclude=./build\* --exclude=./.cache -cf - . | tar -C "$work/source" -xf -
fi
cd "$work/source"
image bud --pull-never -f pipelines/fleet/Containerfile -t gst-ndt:test .

entry=$(image inspect --type=image -f '{{index .OCIv1.Config.Entrypoint 0}}' gst-ndt:test)
[ "$entry" = ndt-replay ] || { echo "the image starts $entry" >&2; exit 1; }
container=$(image from --pull-never gst-ndt:test)
cat >"$work/drive.sh" <<'EOF'
set -eu
cd /tmp
! command -v gcc
ndt-map simulate town.pcd
gst-launch-1.0 -q lidartestsrc rings=16 num-buffers=20 ! mcapsink attach-pipeline=false location=drive.mcap
ndt-replay drive.mcap town.pcd 0,0,1.8 single
printf 'recording,map,start\ndrive.mcap,town.pcd,"0,0,1.8"\n' >manifest.csv
python3 /usr/share/gst-ndt/fleet/fleet.py run manifest.csv out
cmp single/trajectory.txt out/drive/trajectory.txt
EOF
image copy -q "$container" "$work/drive.sh" /drive.sh
image run "$container" -- bash /drive.sh | tee "$work/said"
grep -q '^drives=1 done=1 localized=1' "$work/said"
echo "image: built, and a drive replayed in it"
