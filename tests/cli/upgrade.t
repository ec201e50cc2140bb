#!/bin/sh
# A state of every earlier build (tests/cases/states/) opens with the program of today: views agree, nothing untouched is called damaged, a run
# records, a checkpoint comes back, and shipped files are brought up to date without widening anything.
# shellcheck disable=SC2016,SC2034,SC2317 # for another shell; read by rec; called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

needs_terminal
states=$HELM_SOURCE/tests/cases/states
share=$HELM_SOURCE/share
# open_state DAY: its home is $scratch/home, and we stand in its project
open_state() {
  cd "$scratch" || exit 1
  chmod -R u+rwX home 2>/dev/null
  rm -rf home
  tar xzf "$states/$1.tar.gz" && mv operator home && cd home/project || exit 1
}
# wrong: names of doctor's checks that are not in order
wrong() { helm doctor --skip-discovery --json "$@" | python3 -c 'import json, sys; print(*sorted({c["name"] for c in json.load(sys.stdin)["checks"] if not c["ok"]}))'; }
nothing_new_is_wrong() { got=$(wrong "$@"); [ "$got" = "$usual" ] || { echo "wrong: $got, in a fresh workspace: $usual"; return 1; }; }
sums() { find . -path ./.helm -prune -o -type f -print | sort | xargs sha256sum; }
is_shipped() { cmp references/execution_profiles.json "$share/execution_profiles.json" && cmp references/tool_groups.json "$share/tool_groups.json"; }
rec() { helm reconcile --json "$@" | python3 -c "import json, sys; d = json.load(sys.stdin); sys.exit(not ($check))" || { helm reconcile "$@"; return 1; }; }
ok "every text that was shipped is listed" sh "$HELM_SOURCE/tools/shipped.sh" --check
fresh_workspace
helm init --path . >/dev/null
usual=$(wrong) # what the machine lacks

for archive in "$states"/*.tar.gz; do
  day=$(basename "$archive" .tar.gz)
  open_state "$day"
  sums >"$scratch/sums"
  ok "$day: status" exits 0 helm status
  ok "$day: it asks for nobody's trust" sh -c '! "$@" 2>&1 | grep -q "workspace trust"' - env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" status --brief
  ok "$day: doctor finds nothing wrong" nothing_new_is_wrong
  ok "$day: report" exits 0 helm report
  ok "$day: its runs are shown" says 0 completed helm task show first
  ok "$day: the record is sound" exits 0 helm log check --all
  ok "$day: the question still waits" says 0 "rm -rf notes.txt" helm approval list
  ok "$day: views wrote nothing into the tree" sh -c 'find . -path ./.helm -prune -o -type f -print | sort | xargs sha256sum | cmp - "$0"' "$scratch/sums"
  ok "$day: a run records" exits 0 helm run --task-id new -- true
  ok "$day: where everything else is" says 0 completed helm task show new
  ok "$day: the record goes on soundly" exits 0 helm log check --all
  ok "$day: a checkpoint comes back" exits 0 helm checkpoint restore latest --yes
  ok "$day: with what was saved" test "$(cat notes.txt)" = one
  ok "$day: a freeze of then holds" exits 25 helm run --path ../second -- true

  open_state "$day"
  check="d['ok'] and d['summary']['drift_skipped'] == d['summary']['overwritten'] == 0"
  ok "$day: nothing of it is called touched" rec
  check="d['ok'] and d['converged']"
  ok "$day: reconcile --apply brings all of it up to date" rec --apply
  ok "$day: as this release ships it" is_shipped
  ok "$day: nothing is kept aside of what nobody wrote" sh -c '! ls references .helm | grep -q bak'
  check="d['converged'] and d['summary']['upgraded'] == d['summary']['added'] == 0"
  ok "$day: a second look finds nothing" rec --apply
  ok "$day: doctor still finds nothing wrong" nothing_new_is_wrong

  open_state "$day"
  ok "$day: init does the same" exits 0 helm init --path .
  ok "$day: as this release ships it, by init" is_shipped
done

# ---- one that somebody changed ----
open_state 2026-11-15
sed -i 's/"network": "loopback"/"network": "full"/' references/execution_profiles.json
cp references/execution_profiles.json "$scratch/mine"
ok "a change is told" says 0 "status=drifted" helm reconcile
ok "with what to type to see it, to keep it, to replace it" sh -c '"$@" | grep -c "helm reconcile --diff\|helm workspace trust\|next=helm reconcile --apply" | grep -qx 3' - env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" reconcile --apply
ok "it stays" cmp references/execution_profiles.json "$scratch/mine"
ok "the other one was brought up to date" cmp references/tool_groups.json "$share/tool_groups.json"
ok "doctor says that nobody accepted it" sh -c 'echo "$0" | grep -qw trust' "$(wrong)"
check="d['ok'] and d['converged'] and d['summary']['overwritten'] == 1"
ok "--force replaces it, and says converged" rec --apply --force
ok "it is kept beside" cmp references/execution_profiles.json.bak "$scratch/mine"
ok "then nothing is wrong" nothing_new_is_wrong

# ---- trusting a tree does not pin what an earlier release shipped ----
open_state 2026-11-15
ok "a workspace with old shipped files can be trusted" trust .
ok "none of them is what holds then" sh -c '! grep -q "\"accepted\": *{ *\"references/execution" "$0"/.helm/trees/*/posture.json' "$scratch/home"
ok "the profiles of this release hold" says 0 develop helm profile list
ok "and can be brought up to date in the tree" exits 0 helm reconcile --apply
ok "without another question" nothing_new_is_wrong

# ---- what an operator accepted stays, until they say otherwise ----
open_state 2026-11-15
sed -i 's/"network": "loopback"/"network":  "none"/' references/execution_profiles.json
ok "a stricter one is accepted" trust .
cp references/execution_profiles.json "$scratch/mine"
check="not d['converged'] and d['summary']['accepted_skipped'] == 1"
ok "--apply leaves it" rec --apply
ok "as it was" cmp references/execution_profiles.json "$scratch/mine"
check="d['converged'] and d['summary']['overwritten'] == 1"
ok "--force replaces it" rec --apply --force
ok "what was accepted holds on" sh -c 'echo "$0" | grep -qw trust' "$(wrong)"
ok "until the operator says so" trust .
ok "then nothing is wrong, either" nothing_new_is_wrong

# ---- one file cannot be written ----
open_state 2026-11-15
rm references/tool_groups.json
mkdir references/tool_groups.json
check="not d['ok'] and not d['converged'] and d['summary']['blocked'] == 1 and d['summary']['upgraded'] == 1"
ok "what is in the way of one file is told, and the others are mended" rec --apply
ok "that is no success" exits 1 helm reconcile --apply

# ---- the same states where they were made ----
if unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /home' 2>/dev/null; then
  cat >"$scratch/in-place" <<'END'
mount -t tmpfs none /home && cd /home && tar xzf "$1" --no-same-owner && cd "operator/$2" || exit 99
shift 2
exec env -i PATH="$PATH" HOME=/home/operator LC_ALL=C.UTF-8 "$@"
END
  in_place() { # in_place DAY WORKSPACE ARGS...
    archive=$states/$1.tar.gz
    where=$2
    shift 2
    unshare --user --map-root-user --mount sh "$scratch/in-place" "$archive" "$where" "$HELM_REAL" "$@"
  }
  for archive in "$states"/*.tar.gz; do
    day=$(basename "$archive" .tar.gz)
    ok "$day: settings of then hold where they were made" says 0 '"name": "inspect_local"' in_place "$day" second status --json
    ok "$day: so does the freeze" says 0 fixture in_place "$day" second status --json
    ok "$day: trust is asked of nobody there" sh -c 'echo "$0" | grep -qv "workspace trust"' "$(in_place "$day" project status --brief 2>&1)"
  done
else
  skip "states where they were made" "this user cannot make a mount namespace here"
fi
finish
