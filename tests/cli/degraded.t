#!/bin/sh
# Machines that cannot meet every guarantee of the sandbox: runs are refused by name and with the remedy, until an operator has accepted less;
# then each run says so.
#
# The machine is made by a filter in front of helm that takes Landlock or namespaces away (lesser_machine_test --without), so what is tried is
# what such a kernel would do.  Whatever a row claims is tried from inside.
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
probe=$HELM_BUILD/tests/sandbox_test
machine=$HELM_BUILD/tests/lesser_machine_test
[ -x "$probe" ] && [ -x "$machine" ] || skip_all "the probe is not built: $probe"
"$machine" --without landlock true || skip_all "no filter can be installed here"

fresh_workspace
home=$scratch/home key=$(find "$scratch/home/.helm/keys" -type f -size +0 | head -n 1)
mkdir -p "$scratch/outside" "$home/.ssh"
echo precious >"$scratch/outside/file"
echo secret >"$home/.ssh/id_ed25519"
echo token >"$home/.netrc"
shm=$(mktemp /dev/shm/helm-test-XXXXXX 2>/dev/null) || shm=/dev/shm/none
[ ! -e "$shm" ] || echo shared >"$shm"

lesser() { # lesser WHAT helm ARGS...
  lack=$1
  shift 2
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$machine" --without "$lack" "$HELM_REAL" "$@"
}
run_in() { # run_in WHAT PROFILE PROBE...: as $said
  on=$1 profile=$2
  shift 2
  # shellcheck disable=SC2016 # words of the shell inside
  lesser "$on" helm profile run "$profile" --guard-mode audit --workspace "$ws" -- \
    sh -c '"$0" --probe "$@"; echo "probe said $?"' "$probe" "$1" "${2:-}" "${3:-}" >"$scratch/.attempt" 2>&1
  code=$?
  said=$(sed -n 's/^probe said //p' "$scratch/.attempt")
}
refused() {
  run_in "$1" "$2" write /dev/null
  [ $code -eq 25 ] && [ -z "$said" ] && grep -q "cannot guarantee: .*what helps here: .*helm workspace trust .*--degraded [a-z,]*write" "$scratch/.attempt" && return 0
  cat "$scratch/.attempt"
  return 1
}
refused_by() { # refused_by WHAT GUARANTEES
  run_in "$1" workspace_edit write /dev/null
  [ $code -eq 25 ] && [ -z "$said" ] && grep -q "cannot guarantee: $2;" "$scratch/.attempt" && return 0
  cat "$scratch/.attempt"
  return 1
}
told() {
  run_in "$1" "$2" write /dev/null
  [ "$said" = 0 ] && grep -q "degraded: not guaranteed on this machine: .*$3" "$scratch/.attempt" &&
    tail -n 1 "$ws/.helm/receipts.jsonl" | grep -q '"degraded": *true' && return 0
  cat "$scratch/.attempt"
  return 1
}
claims() { tail -n 1 "$ledger" | grep -q "\"$1\": *true"; }
claim_is_true() { # claim_is_true WHAT PROFILE CLAIM PROBE...: what the row claims to be closed is closed
  claim=$3
  run_in "$1" "$2" "$4" "$5" "${6:-}"
  [ -n "$said" ] || { cat "$scratch/.attempt"; return 1; }
  if claims "$claim"; then [ "$said" -ne 0 ]; else :; fi
}
unwell() { # unwell WHAT TEXT
  lesser "$1" helm doctor --skip-discovery >"$scratch/.said" 2>&1 && return 1
  grep -q "$2" "$scratch/.said" && return 0
  cat "$scratch/.said"
  return 1
}
well() { helm doctor --skip-discovery | grep "walls" | grep -q "every guarantee is met\|a supervisor, without namespaces"; }

ok "the whole machine: every guarantee is met" well
whole() { # whole PROFILE: without namespaces the supervised sandbox meets everything
  run_in namespaces "$1" write /dev/null
  [ "$code" -eq 0 ] && [ "$said" = 0 ] && ! grep -q degraded "$scratch/.attempt" &&
    tail -n 1 "$ledger" | grep "\"sandbox\": *\"supervised\"" | grep -q "\"degraded\": *false" && return 0
  cat "$scratch/.attempt"
  return 1
}
for p in inspect_local workspace_edit risky_edit service_ops develop; do
  ok "without namespaces: $p runs, and every guarantee is met" whole $p
done
for lacking in landlock landlock,namespaces; do
  for p in inspect_local workspace_edit risky_edit service_ops; do
    ok "without $lacking: $p is refused, with the remedy" refused "$lacking" "$p"
  done
  ok "without $lacking: doctor is not healthy" unwell "$lacking" "runs are refused"
done
ok "an agent cannot accept less" says 25 "only a person" agent workspace trust --degraded write --workspace "$ws"
all=write,read,network,processes,state,end,privilege,own,autorun
ok "where every guarantee is met there is nothing to accept" says 1 "nothing to accept" terminal -- helm workspace trust --degraded yes --workspace "$ws"
ok "another name is none" says 2 "not 'gravity'" helm workspace trust --degraded write,gravity --workspace "$ws"
# Exactly those that are named.
ok "an operator accepts one guarantee less" terminal TRUST -- helm workspace trust --degraded write --workspace "$ws"
ok "it is shown" says 0 "degraded_guarantees=write" helm workspace show --workspace "$ws"
ok "in the document, too" says 0 '"degraded_guarantees": ' helm workspace show --json --workspace "$ws"
if [ "$(sandbox_kind)" = namespaces ]; then
  ok "without landlock: then a run goes on without it" told landlock workspace_edit write
else
  skip "without landlock: then a run goes on without it" "this machine has no namespaces, either"
fi
ok "without both: another one that is unmet refuses it" refused_by landlock,namespaces "read, processes, state, own"
offered() { # yes stands for those that cannot be met now
  lesser landlock,namespaces helm workspace trust --degraded yes --json --workspace "$ws" >"$scratch/.said" 2>&1
  grep -q "cannot guarantee write, read, processes, state, own," "$scratch/.said" && return 0
  cat "$scratch/.said"
  return 1
}
ok "yes stands for what cannot be met here" offered
ok "all of them can be accepted" terminal TRUST -- helm workspace trust --degraded $all --workspace "$ws"
ok "it is shown as before" says 0 "degraded=yes" helm workspace show --workspace "$ws"
unwell_here() { ! helm doctor --skip-discovery >"$scratch/.said" 2>&1 && grep -q "an operator has accepted" "$scratch/.said"; }
ok "the whole machine is not healthy, either" unwell_here
for lacking in landlock namespaces landlock,namespaces; do
  for p in inspect_local workspace_edit; do
    [ $lacking = namespaces ] || ok "without $lacking: $p runs and says so" told "$lacking" $p write
    ok "without $lacking: $p: keys that are said to be hidden are" claim_is_true "$lacking" $p keys_hidden read "$key"
    [ ! -r /etc/shadow ] || ok "without $lacking: $p: the passwords of the machine, too" claim_is_true "$lacking" $p keys_hidden read /etc/shadow
    ok "without $lacking: $p: credentials, too" claim_is_true "$lacking" $p keys_hidden read "$home/.ssh/id_ed25519"
    ok "without $lacking: $p: and single files of them" claim_is_true "$lacking" $p keys_hidden read "$home/.netrc"
    ok "without $lacking: $p: state that is said to be protected is" claim_is_true "$lacking" $p state_protected write "$ws/.helm/receipts.jsonl.x"
    ok "without $lacking: $p: files that are said to be confined are" claim_is_true "$lacking" $p files_confined write "$scratch/outside/file"
    ok "without $lacking: $p: shared memory that is said to be closed is" claim_is_true "$lacking" $p shared_closed read "$shm"
    ok "without $lacking: $p: modes that are said to be confined are" claim_is_true "$lacking" $p metadata_confined chmod "$scratch/outside/file"
  done
  ok "without $lacking: doctor is not healthy" unwell "$lacking" "runs go on without"
done
# Nothing of a run is left, also where no pid namespace ends it: whatever left its session, ignores signals, or lost its parents.
mark=4$$
left() { # the marked processes that still run; the pattern does not match itself
  grep -lzE "^${mark}[.][0-9]|chai[n]-$mark" /proc/[0-9]*/cmdline 2>/dev/null
  return 0
}
strays_end() { # strays_end TEXT: what the command leaves
  lesser namespaces helm profile run workspace_edit --guard-mode audit --workspace "$ws" -- sh -c "$1" >"$scratch/.attempt" 2>&1
  rest=$(left)
  [ -z "$rest" ] && grep -q begun "$scratch/.attempt" && return 0
  cat "$scratch/.attempt"
  echo "$rest"
  return 1
}
ok "without namespaces: a stray in a session of its own is ended" strays_end "setsid sleep $mark.1 & echo begun"
ok "without namespaces: many of them, deaf to signals" strays_end "i=0; while [ \$i -lt 60 ]; do (trap '' TERM HUP INT; setsid sleep $mark.\$i &) & i=\$((i + 1)); done; echo begun"
ok "without namespaces: one whose parents have gone" strays_end "(setsid sh -c '(setsid sh -c \"sleep $mark.2 & sleep $mark.3\" &) & sleep 0.2' &) & sleep 0.1; echo begun"
# Both end by themselves when the file is gone, whatever happens here.
: >"chain-$mark"
ok "without namespaces: one that goes on making others" strays_end "(setsid sh -c 'while [ -e chain-$mark ]; do sleep 0.01 & wait; done' >/dev/null 2>&1 &) & sleep 0.3; echo begun"
ok "without namespaces: one that is always another" strays_end "(setsid sh -c 'f() { [ ! -e chain-$mark ] || (f &) }; f' >/dev/null 2>&1 &) & sleep 0.3; echo begun"
ok "without namespaces: also in the command's own group" strays_end "sh -c 'f() { [ ! -e chain-$mark ] || (f &) }; f' >/dev/null 2>&1 & sleep 0.3; echo begun"
rm -f "chain-$mark"
out_of_time() { # a command that does not listen is killed: what it has put elsewhere ends, too
  lesser namespaces helm profile run workspace_edit --timeout 1 --guard-mode audit --workspace "$ws" -- \
    sh -c "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep $mark.7' & echo begun; sleep $mark.8; sleep $mark.9" >"$scratch/.attempt" 2>&1
  [ $? -eq 124 ] && [ -z "$(left)" ] && grep -q begun "$scratch/.attempt"
}
ok "without namespaces: nor when its time is over and it does not listen" out_of_time
killed_helm() { # helm itself is killed: the kernel ends the run
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$machine" --without namespaces "$HELM_REAL" \
    profile run workspace_edit --guard-mode audit --workspace "$ws" -- sh -c "echo begun; setsid sleep $mark.5 & sleep $mark.6" >"$scratch/.attempt" 2>&1 &
  helm_pid=$!
  waited=0
  while [ "$(left | wc -l)" -lt 2 ] && [ $waited -lt 250 ]; do sleep 0.02; waited=$((waited + 1)); done
  kill -9 $helm_pid
  wait $helm_pid 2>/dev/null
  waited=0
  while [ -n "$(left)" ] && [ $waited -lt 250 ]; do sleep 0.02; waited=$((waited + 1)); done
  [ -z "$(left)" ] && grep -q begun "$scratch/.attempt"
}
ok "without namespaces: a run does not outlive helm" killed_helm
ok "it can be taken back" terminal TRUST -- helm workspace trust --degraded no --workspace "$ws"
ok "and runs are refused again" refused landlock workspace_edit
rm -f "$shm"
finish
