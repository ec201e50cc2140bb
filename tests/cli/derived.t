#!/bin/sh
# Files that are made from others: damaged in every way, the next command works, what is told is told once, and everything is sound afterwards.
# shellcheck disable=SC2016,SC2317 # texts for sh -c; functions are called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to damage files"

set_up() {
  cd "$scratch" || exit 1
  if [ -d "$scratch/.made" ]; then
    rm -rf "${scratch:?}/home"
    cp -a "$scratch/.made" "$scratch/home"
  else
    fresh_workspace
    for _ in 1 2 3; do helm run -- true >/dev/null 2>&1; done
    mkdir gone
    helm run -- rm -rf gone >/dev/null 2>&1
    helm report >/dev/null 2>&1
    helm db rebuild >/dev/null 2>&1
    helm context true >/dev/null 2>&1
    helm doctor --skip-discovery >/dev/null 2>&1
    helm log check >/dev/null 2>&1
    cp -a "$scratch/home" "$scratch/.made"
  fi
  state=$scratch/home/.helm/workspace/.helm
  cd "$scratch/project" || exit 1
}
damage() { # damage KIND FILE
  python3 - "$1" "$2" <<'PY'
import os, sys
kind, path = sys.argv[1:]
data = bytearray(open(path, 'rb').read())
if kind == 'flip':
    data[len(data) // 2] ^= 1
elif kind == 'cut':
    del data[len(data) // 2:]
elif kind == 'empty':
    data = b''
elif kind == 'garbage':
    data = bytes((i * 7 + 3) % 256 for i in range(len(data)))
os.unlink(path)
if kind == 'directory':
    os.mkdir(path)
elif kind != 'remove':
    open(path, 'wb').write(data)
    os.chmod(path, 0o600)
PY
}
works() {
  exits 0 helm run -- true && exits 0 helm report && exits 0 helm status && exits 0 helm approval list && exits 0 helm context true &&
    exits 0 helm db rebuild && exits 0 helm db verify && says 0 sound helm log check --all
}
quiet() { # nothing is told twice
  exits 0 helm run -- true && ! grep -E "note:|warning:" "$scratch/.stderr"
}
set_up
ok "all is well at first" works
place=$(dirname "$(find "$scratch/home/.helm/trees" -name verified.json | head -1)")
place=${place#"$scratch/home/"}
for file in .helm/workspace/.helm/log/edge .helm/workspace/.helm/log/leaves .helm/workspace/.helm/ops-index.sqlite3 \
  .helm/workspace/.helm/context-index.sqlite3 .helm/workspace/.helm/approvals.json .helm/workspace/.helm/open-runs/boot .helm/machine.json \
  "$place/verified.json" .helm/keys/root.pub; do
  for kind in flip cut empty garbage remove directory; do
    set_up
    [ -e "$scratch/home/$file" ] || continue
    damage $kind "$scratch/home/$file"
    ok "$(basename "$file"), $kind: every command works" works
    ok "$(basename "$file"), $kind: and is quiet afterwards" quiet
  done
done

set_up
damage flip "$state/log/leaves"
rm "$state/log/edge"
ok "wrong leaves are told" says 0 "made again" helm run -- true
set_up
damage garbage "$state/ops-index.sqlite3"
ok "a damaged index is told" says 0 "it is made again from the ledgers" helm db rebuild
set_up
damage cut "$state/approvals.json"
ok "damaged approvals are told" says 0 "must be asked again" helm approval list
ok "once" sh -c '! "$@" 2>&1 | grep -q warning' sh env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" approval list
ok "what was damaged is kept" sh -c 'ls "$0"/approvals.json.damaged-*' "$state"

# What cannot be healed says what to type.
set_up
damage directory "$state/log/lock"
ok "a directory in the place of a lock is named with what helps" says 1 "mv 'log/lock'" helm run -- true
set_up
damage cut "$state/workspace.json"
ok "settings in the tree that cannot be read are named with what helps" says 1 "helm profile use NAME" helm run -- true
finish
