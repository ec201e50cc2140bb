#!/bin/sh
# Whatever a session writes below the home directory, in whatever way, only what starts nothing is there afterwards: clients x places x
# {there, not there} x ways to write, generated from the tables of src/clients/.  Compared byte for byte.
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace
git init -q . 2>/dev/null
home=$scratch/home
tables=$HELM_BUILD/tests/session_tables_test
machine=$HELM_BUILD/tests/lesser_machine_test
[ -x "$tables" ] || skip_all "the unit tests are not built"

one() { # one CLIENT HOW HAS [MACHINE...]
  said=$(python3 "$HELM_SOURCE/tests/tools/layers.py" "$tables" "$HELM_REAL" "$scratch" "$@" 2>&1)
  chmod -R u+rwX "$home" 2>/dev/null
  [ -z "$said" ] || { printf '%s\n' "$said"; return 1; }
}
clients=$("$tables" --print | sed -n 's/^client //p')
ways() { # ways CLIENT FEW: all of them for the two that most people use
  case $1 in claude-code | codex) echo plain rename symlink hardlink fifo chmod background kill ;; *) echo "$2" ;; esac
}
for client in $clients; do
  for how in $(ways "$client" "plain symlink chmod kill"); do
    for has in old new; do
      ok "$client, $how, $has: nothing stays that could start something" one "$client" "$how" $has
    done
  done
done
# Mounts, and no overlay: as in a container whose home lies on one.
no_overlay() {
  helm run --profile inspect_local -- true
  grep -q '"overlay": true' "$home/.helm/machine.json" || return 1
  sed -i 's/"overlay": true/"overlay": false/' "$home/.helm/machine.json"
}
can_overlay() {
  mkdir -p "$scratch/o/l" "$scratch/o/u" "$scratch/o/w" && unshare -Urm mount -t overlay overlay -o "lowerdir=$scratch/o/l,upperdir=$scratch/o/u,workdir=$scratch/o/w,userxattr" "$scratch/o/l"
}
if can_overlay 2>/dev/null; then
  ok "where the kernel lays one directory over another, sessions have it" sh -c 'grep -q "\"overlay\": true" "$0"' "$home/.helm/machine.json"
fi
chmod -R u+rwX "$scratch/o" 2>/dev/null
if no_overlay >/dev/null 2>&1; then
  for how in plain rename symlink chmod kill; do
    for has in old new; do
      ok "claude-code, $how, $has, without overlays: the same" one claude-code $how $has
    done
  done
  ok "it was no overlay" grep -q '"overlay": false' "$home/.helm/machine.json"
  rm "$home/.helm/machine.json"
else
  skip "without overlays" "this machine has none anyway"
fi
if [ -x "$machine" ] && "$machine" --without namespaces true; then
  for client in $clients; do
    for how in $(ways "$client" "plain kill"); do
      for has in old new; do
        ok "$client, $how, $has, without mounts: the same" one "$client" "$how" $has "$machine" --without namespaces
      done
    done
  done
else
  skip "without mounts" "this machine cannot be made one without namespaces"
fi
finish
