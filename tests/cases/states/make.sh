#!/bin/sh
# make.sh HELM OUT.tar.gz: a small state as this build of helm leaves it, made at a neutral place.
# Usage, as root: unshare -m sh tests/cases/states/make.sh build/release/helm tests/cases/states/2026-11-18.tar.gz
set -u
helm=$(realpath "$1") out=$(realpath "$2")
mount -t tmpfs none /home || exit 1
cp "$helm" /home/helm
h() { env -i PATH=/usr/bin:/bin HOME=/home/operator LC_ALL=C.UTF-8 /home/helm "$@" >/dev/null || echo "exit $?: $*" >&2; }
mkdir -p /home/operator
h init
# project: nobody has decided anything there.  second: somebody has.
for place in project second; do
  mkdir /home/operator/$place && cd /home/operator/$place || exit 1
  h init --path /home/operator/$place
  echo one >notes.txt
  h run --task-id first -- true
  h run --task-id second -- false
  h checkpoint create --label before
  echo two >notes.txt
  h run --task-id third -- sh -c 'echo three >made.txt'
  h run --task-id asked -- rm -rf notes.txt
  h memory write --layer long_term_memory --text 'The build needs gcc'
done
h profile use inspect_local
h freeze --reason fixture
h report
cd /home/operator/project || exit 1
printf '{"tool_name":"Bash","tool_input":{"command":"ls"},"session_id":"s1"}' | h hook pre-tool --client claude-code
h log check
cd /home || exit 1
rm -rf helm operator/.helm/callers.* operator/.helm/machine.json operator/.helm/calls operator/.helm/sessions
tar --sort=name --owner=0 --group=0 --numeric-owner --exclude='*.sqlite3-journal' -czf "$out" operator
