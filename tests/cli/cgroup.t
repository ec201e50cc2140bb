#!/bin/sh
# Control groups of the real kernel: what a run leaves is ended by them where no pid namespace does it, a group that a killed helm left is
# ended by the next, and sums are bounded where the group was delegated.  The decisions: tests/unit/cgroup_test.c.
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
machine=$HELM_BUILD/tests/lesser_machine_test
own=$(sed -n 's/^0:://p' /proc/self/cgroup)
place=
for root in /sys/fs/cgroup /sys/fs/cgroup/unified; do
  [ -z "$place" ] && [ -e "$root$own/cgroup.procs" ] && mkdir "$root$own/helm-test-$$" 2>/dev/null && place=$root$own/helm-test-$$
done
[ -n "$place" ] || skip_all "no control group (v2) can be made below '$own': needs root, or a delegated one"
clean() { # whatever happens: nothing of ours stays in the kernel
  [ ! -e "$place/cgroup.kill" ] || echo 1 >"$place/cgroup.kill"
  sleep 0.1
  find "$place" -depth -type d -exec rmdir {} + 2>/dev/null
  chmod -R u+rwX "$scratch" 2>/dev/null
  rm -rf "$scratch"
}
trap clean EXIT
[ -e "$place/cgroup.kill" ] || skip_all "this kernel's control groups cannot kill (5.14)"
"$machine" --without namespaces true || skip_all "no filter can be installed here"
fresh_workspace
terminal TRUST -- helm workspace trust --degraded write,read,network,processes,state,end,privilege,own,autorun --workspace "$ws" >/dev/null 2>&1

# grouped WHAT helm ARGS...: alone in a delegated group, on a machine without WHAT.
turn=0
grouped() {
  lack=$1
  turn=$((turn + 1))
  mkdir -p "$place/$turn"
  shift 2
  # shellcheck disable=SC2016 # words of the shell inside
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
    sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$place/$turn" ${lack:+"$machine" --without "$lack"} "$HELM_REAL" "$@"
}
mark=5$$
left() {
  grep -lzE "^${mark}[.][0-9]" /proc/[0-9]*/cmdline 2>/dev/null
  return 0
}
grep -qwE "pids|memory" "$place/cgroup.controllers" && sed 's/[^ ]*/+&/g' "$place/cgroup.controllers" >"$place/cgroup.subtree_control"
groups_left() { find "$place" -mindepth 1 -type d -name 'helm-run-*'; }
claims() { tail -n 1 "$ledger" | grep -q "\"$1\": *true" && tail -n 1 "$ws/.helm/receipts.jsonl" | grep -q "\"$1\": *true"; }
kept() { # whoever can write to the groups can leave them: nothing is claimed then
  if claims files_confined || claims metadata_confined; then claims "$1"; else ! claims "$1"; fi
}
ended() { # ended TEXT: all of it, with its group
  grouped namespaces helm profile run workspace_edit --guard-mode audit --workspace "$ws" -- sh -c "$1" >"$scratch/.attempt" 2>&1
  [ -z "$(left)" ] && [ -z "$(groups_left)" ] && grep -q begun "$scratch/.attempt" && kept group_kill && return 0
  cat "$scratch/.attempt"
  left
  groups_left
  return 1
}
ok "strays end with their group, and the receipt says so" ended "setsid sleep $mark.1 & setsid sh -c 'trap \"\" TERM; sleep $mark.2' & echo begun"
ok "also those that make a session for each child" ended "f() { sleep $mark.3 & setsid sh -c 'sleep $mark.4 & exec setsid sleep $mark.5' & }; i=0; while [ \$i -lt 30 ]; do f; i=\$((i + 1)); done; echo begun"
inside() { # the run is in a group of its own, and cannot leave it
  grouped namespaces helm profile run workspace_edit --guard-mode audit --workspace "$ws" -- \
    sh -c "cat /proc/self/cgroup; echo \$\$ >'$place/cgroup.procs' || echo stays" >"$scratch/.attempt" 2>&1
  grep -q '^0::.*/helm-run-' "$scratch/.attempt" && { grep -q stays "$scratch/.attempt" || ! claims files_confined; } && return 0
  cat "$scratch/.attempt"
  return 1
}
ok "a run is in a group of its own, and stays there" inside
crowded() { # a shell is in the group, too
  # shellcheck disable=SC2016 # words of the shell inside
  mkdir -p "$place/crowd" && env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
    sh -c 'echo $$ >"$0/cgroup.procs" && "$@"; exit $?' "$place/crowd" "$HELM_REAL" profile run workspace_edit --guard-mode audit --workspace "$ws" -- \
    cat /proc/self/cgroup >"$scratch/.attempt" 2>&1 && grep -q '/crowd$' "$scratch/.attempt" && ! claims sum_of_processes && ! claims sum_of_memory && ! claims group_kill
}
ok "where helm is not alone in its group none is made, and none claimed" crowded
swept() { # a group with a process in it, and nobody who holds its lock
  other=$place/$((turn + 1))/helm-run-1-0
  mkdir -p "$other" || return 1
  # shellcheck disable=SC2016 # words of the shell inside
  sh -c 'echo $$ >"$0/cgroup.procs" && exec sleep "$1"' "$other" "$mark.6" &
  waited=0
  while [ -z "$(left)" ] && [ $waited -lt 250 ]; do sleep 0.02; waited=$((waited + 1)); done
  [ -n "$(left)" ] || return 1
  grouped namespaces helm profile run workspace_edit --guard-mode audit --workspace "$ws" -- true >"$scratch/.attempt" 2>&1
  waited=0
  while [ -n "$(left)" ] && [ $waited -lt 250 ]; do sleep 0.02; waited=$((waited + 1)); done
  [ -z "$(left)" ] && return 0
  cat "$scratch/.attempt"
  return 1
}
ok "what a killed helm left is ended by the next" swept
killed() { # helm is killed: the warden ends the group, and takes it away
  grouped namespaces helm profile run workspace_edit --guard-mode audit --workspace "$ws" -- sh -c "setsid sleep $mark.7 & sleep $mark.8" >/dev/null 2>&1 &
  waited=0
  while [ -z "$(left)" ] && [ $waited -lt 250 ]; do sleep 0.02; waited=$((waited + 1)); done
  # shellcheck disable=SC2044 # numbers
  for pid in $(find "$place/$((turn + 1))" -name cgroup.procs ! -path '*/helm-run-*' -exec cat {} +); do # helm and its warden
    case $(tr '\0' ' ' <"/proc/$pid/cmdline") in "$HELM_REAL"*) kill -9 "$pid" && break ;; esac
  done
  wait
  waited=0
  while [ -n "$(left)$(find "$place/$((turn + 1))" -name 'helm-run-*')" ] && [ $waited -lt 250 ]; do sleep 0.02; waited=$((waited + 1)); done
  [ -z "$(left)$(find "$place/$((turn + 1))" -name 'helm-run-*')" ] && return 0
  left
  groups_left
  return 1
}
ok "nothing outlives a killed helm, and its group goes" killed
turn=$((turn + 1)) # that was in the background

# Sums, where this machine has the controllers for it.
mkdir -p "$ws/references"
for limit in "pids processes 40 sum_of_processes" "memory memory_mb 64 sum_of_memory"; do
  # shellcheck disable=SC2086 # words on purpose
  set -- $limit
  grep -qw "$1" "$place/cgroup.controllers" || { echo "# NOT TRIED on the real kernel: this machine's groups have no '$1' controller (only: $(cat "$place/cgroup.controllers"))"; continue; }
  helm profile list --json --workspace "$ws" >/dev/null 2>&1
  python3 - "$HELM_SOURCE/share/execution_profiles.json" "$ws/references/execution_profiles.json" "$2" "$3" <<'END'
import json, sys
doc = json.load(open(sys.argv[1]))
for p in doc["profiles"].values():
    p["limits"] = {sys.argv[3]: int(sys.argv[4])}
json.dump(doc, open(sys.argv[2], "w"))
END
  terminal TRUST -- helm workspace trust --workspace "$ws" >/dev/null 2>&1
  bounded() {
    if [ "$1" = pids ]; then
      # shellcheck disable=SC2016 # words of the shell inside
      text='i=0; while [ $i -lt 80 ]; do sleep 3 & i=$((i + 1)); done; echo all'
    else
      text='for i in 1 2 3 4; do head -c 30000000 /dev/zero | tail -c 30000000 | (sleep 1; wc -c) & done; wait && echo all'
    fi
    grouped "" helm profile run workspace_edit --guard-mode audit --workspace "$ws" -- sh -c "$text" >"$scratch/.attempt" 2>&1
    claims "$2" || { cat "$scratch/.attempt"; tail -n 1 "$ledger"; return 1; }
    if [ "$1" = pids ]; then ! grep -q '^all' "$scratch/.attempt"; else [ "$(grep -c '^30000000' "$scratch/.attempt")" -lt 4 ]; fi
  }
  ok "the sum of $2 is bounded, also for root" bounded "$1" "$4"
done
finish
