#!/bin/sh
# status, brief, dashboard and doctor tell how things stand, and none of them says that all is well while something is not.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
PATH=/usr/bin:/bin # agents that are installed on this machine are no part of this

fresh() { # a new home and workspace
  chmod -R u+rwX "$scratch/home" 2>/dev/null
  rm -rf "${scratch:?}/home" "${scratch:?}/project"
  mkdir "$scratch/home" "$scratch/project"
  cd "$scratch/project" || exit 1
  helm init >/dev/null
  state=$scratch/home/.helm/workspace/.helm
}
call() { # call COMMAND [CLIENT]
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s1","cwd":"%s/project","tool_use_id":"u%s"}' "$1" "$scratch" "$$" |
    agent hook pre-tool --client "${2:-claude-code}" >/dev/null 2>&1
}
everywhere() { # everywhere TEXT [DOCTOR-EXIT]: all four say it, for people and for programs
  text=$1
  for view in "status" "status --brief" "dashboard"; do
    # shellcheck disable=SC2086 # words on purpose
    says 0 "$text" helm $view || { echo "in: $view"; return 1; }
    # shellcheck disable=SC2086 # words on purpose
    says 0 "$text" helm $view --json || { echo "in: $view --json"; return 1; }
  done
  says "${2:-0}" "$text" helm doctor --skip-discovery || return 1
  says "${2:-0}" "$text" helm doctor --skip-discovery --json
}
not_well() { # nothing claims that all is well
  for view in "status --brief" "dashboard" "status"; do
    # shellcheck disable=SC2086 # words on purpose
    ! helm $view 2>&1 | grep -qi "all is well\|health=ok" || { echo "$view says that all is well"; return 1; }
  done
  helm status --brief --json | grep -q '"health": "attention"' || return 1
  helm status --json | grep -q '"health": "attention"' || return 1
  helm dashboard --json | grep -q '"health": "attention"'
}
first() { helm status --brief | head -1 | grep -qF -e "$1" || { helm status --brief; return 1; }; }
not_healthy() { says 1 "healthy=no" helm doctor --skip-discovery && says 1 '"healthy": false' helm doctor --skip-discovery --json; }

fresh
ok "a new workspace is well" first "All is well."
ok "and healthy" says 0 "healthy=yes" helm doctor --skip-discovery
ok "and the doctor calls nothing degraded that nobody needs" sh -c '! printf %s "$0" | grep -qi "degraded\|unavailable"' "$(helm doctor)"
ok "lists of the newest say so" says 0 "recent_tasks=0 (the newest; 'helm task list')" helm status --plain
ok "and says which profile is in force" says 0 "workspace_edit" helm status --brief
ok "and what holds agents' calls" says 0 "checked, not sandboxed" helm status --brief
ok "or that no client asks at all" says 0 "Agents: none connected" helm status --brief
ok "which doctor says too" says 0 "containment" helm doctor --skip-discovery
ok "nobody has called" says 0 "No agent has called yet" helm status --brief
helm init --path "$scratch/longer" >/dev/null
"$HELM_BUILD/tests/store_tool" "$scratch/longer/.helm" "$scratch/home/.helm/keys" 2000 0 20000 1700000000000000 1000000 0 0
ok "nor in a longer record, all of which was looked through" says 0 "No agent has called yet" helm status --brief --path "$scratch/longer"

# (a) only calls of agents happened
call "ls"
ok "calls that passed are no reason to worry" first "All is well."
ok "but they are told" says 0 "1 passed, 0 asked, 0 refused" helm status --brief
ok "and by the dashboard" says 0 "1 passed, 0 asked, 0 refused" helm dashboard
call "rm -rf /"
call "git reset --hard"
ok "refused calls are not well" not_well
ok "and are told everywhere" everywhere "1 call of agents was refused in the last 24 hours"
ok "asked ones too" everywhere "1 call of agents needed a person in the last 24 hours"
ok "brief counts them" says 0 "1 passed, 1 asked, 1 refused" helm status --brief
ok "the first sentence says it" first "refused"

# (e) something waits
ok "what waits is told everywhere" everywhere "1 request waits for your answer"
ok "with the next step" says 0 "Next: helm approval list" helm status --brief

# (b) frozen
fresh
helm freeze --reason "odd traffic" >/dev/null
ok "frozen is not well" not_well
ok "frozen is told everywhere" everywhere "everything is frozen: odd traffic" 1
ok "who, since when, and how to go on" says 0 "by user:$(id -u): odd traffic. To go on: helm unfreeze" helm status --brief
ok "as JSON too" says 0 '"by": "user:' helm status --json
ok "nothing is healthy while nothing is allowed" not_healthy
ok "doctor names the remedy" says 1 "remedy: helm unfreeze" helm doctor --skip-discovery
fresh
helm freeze --principal agent:codex --reason "" >/dev/null
ok "a freeze of one is told" everywhere "agent:codex is frozen" 1

# paused
fresh
helm profile pause workspace_edit --reason "on holiday" >/dev/null
ok "paused is not well" not_well
ok "paused is told everywhere" everywhere "the profile workspace_edit is paused: on holiday" 1
ok "guard check denies it" says 25 "on holiday" helm guard check -- touch file

# (c) another profile
fresh
helm profile use inspect_local >/dev/null
ok "another profile is told everywhere" everywhere "inspect_local"
ok "also by the first sentence" first "the profile is inspect_local"
ok "which does not say that all is well" sh -c '! printf %s "$0" | grep -q "All is well"' "$(helm status --brief)"

# (d) what destroys is saved and runs
fresh
terminal -- helm profile use workspace_edit --destructive checkpoint >/dev/null
ok "destructive=checkpoint is told everywhere" everywhere "checkpoint"
ok "also by the first sentence" first "what destroys is saved first and then runs"
ok "which does not say that all is well" sh -c '! printf %s "$0" | grep -q "All is well"' "$(helm status --brief)"

fresh
helm run -- true >/dev/null
ok "a head is kept elsewhere" helm log anchor --to "$scratch/elsewhere.json"
ok "and that is nothing wrong" sh -c '! printf %s "$0" | grep -q anchors' "$(helm status --brief; helm doctor --skip-discovery)"
echo '{"anchors": {}}' >"$state/log/anchors.json"
ok "anchors that are no list are" everywhere "is not a list of anchors" 1
ok "what doctor says to people is no JSON" sh -c '! printf %s "$0" | grep -qE "[[{]\""' "$(helm doctor)"

# (f) state files that cannot be read
for file in workspace.json freeze.json approvals.json profile-pause-state.json checkpoints/index.json setup.json log/anchors.json long-running-runtime.json; do
  fresh
  mkdir -p "$state/log"
  echo '{"broken' >"$state/$file"
  ok "$file cannot be read: not well" not_well
  ok "$file cannot be read: told everywhere" everywhere "$(basename "$file")" 1
  ok "$file cannot be read: not healthy" not_healthy
  ok "$file cannot be read: doctor has a remedy" says 1 "remedy:" helm doctor --skip-discovery
done
fresh
echo '{"broken' >"$state/freeze.json"
ok "the remedy for freeze.json works" sh -c 'HOME="$1/home" "$0" freeze >/dev/null && test -s "$2/freeze.json"' "$HELM_REAL" "$scratch" "$state"
fresh
mkdir -p "$scratch/home/.helm/workspace/references"
echo '{"broken' >"$scratch/home/.helm/workspace/references/guard_policy.json"
ok "a policy that cannot be read is told everywhere" everywhere "everything is asked about" 1

fresh
mkdir -p "$scratch/home/.helm/workspace/references"
echo '{"broken' >"$scratch/home/.helm/workspace/references/checkpoint_policy.json"
ok "a policy of checkpoints that cannot be read: named, with the remedy" says 1 "how checkpoints are kept cannot be read; mend references/checkpoint_policy.json, or move it away" helm doctor --skip-discovery --path "$scratch/home/.helm/workspace"
fresh
cp "$scratch/home/.helm/keys/root.key" "$scratch/home/.helm/keys/next.key"
cp "$scratch/home/.helm/keys/root.pub" "$scratch/home/.helm/keys/next.pub"
ok "what a killed rotation left is named" says 0 "a rotation is under way or was interrupted (keys/next.key)" helm doctor --skip-discovery
helm run -- true >/dev/null
ok "and is gone with the next command that signs" test ! -e "$scratch/home/.helm/keys/next.key"
ok "which leaves nothing to name" sh -c '! printf %s "$0" | grep -q "rotation is under way"' "$(helm doctor --skip-discovery)"

# (g) the end of the chain
damaged_chain() { # damaged_chain WHAT TEXT: after three receipts and some damage
  ok "$1: not well" not_well
  ok "$1: told everywhere" everywhere "$2" 1
  ok "$1: not healthy" not_healthy
  ok "$1: doctor has a remedy" says 1 "helm log repair" helm doctor --skip-discovery
  helm log repair --yes >/dev/null 2>&1
  ok "$1: which mends it" says 0 "healthy=yes" helm doctor --skip-discovery
  ok "$1: and says so" sh -c 'HOME="$1/home" "$0" log check >/dev/null' "$HELM_REAL" "$scratch"
}
with_receipts() {
  fresh
  for n in 1 2 3; do helm run --task-id "t$n" -- true >/dev/null; done
}
with_receipts
ok "a whole chain is well" first "All is well."
sed -i '$s/"verdict":"ALLOW"/"verdict":"DENY"/' "$state/receipts.jsonl"
damaged_chain "a changed newest receipt" "is not the one the log knows"
with_receipts
sed -i '$d' "$state/receipts.jsonl"
damaged_chain "a tail cut off" "the chain ends at"
with_receipts
printf 'garbage\n' >>"$state/receipts.jsonl"
damaged_chain "garbage behind it" "is no receipt"
with_receipts
printf '{"half' >>"$state/receipts.jsonl"
ok "a write that never ended is no damage" first "All is well."
helm run --task-id t4 -- true >/dev/null
ok "the next writer sets it aside" first "All is well."
with_receipts
printf '%s' "$(cat "$state/receipts.jsonl")" >"$state/whole" && mv "$state/whole" "$state/receipts.jsonl"
ok "nor is a newline that is missing" first "All is well."
with_receipts
sed -i '4s/"verdict":"ALLOW"/"verdict":"DENY"/' "$state/receipts.jsonl"
damaged_chain "a receipt before the newest changed" "does not continue the one before it"
with_receipts
rm "$state/receipts.jsonl"
damaged_chain "the chain gone" "has none"
with_receipts
sed -i 'x;$G;$!{x;p;x};1d' "$state/task-ledger.jsonl" 2>/dev/null
printf 'garbage\n' >>"$state/task-ledger.jsonl"
ok "a line of a ledger that cannot be read is told everywhere" everywhere "task-ledger.jsonl cannot be read" 1

# (g) everything, when asked for
with_receipts
mkdir "$scratch/project/src"
for n in 1 2 3 4 5 6 7 8; do echo "file $n" >"$scratch/project/src/$n"; done
helm checkpoint create >/dev/null
ok "deep: all of it is read" says 0 "6 receipts, all verified" helm doctor --deep --skip-discovery
ok "deep: also the checkpoints" says 0 "1, all can be restored" helm doctor --deep --skip-discovery
pack=$(find "$scratch/home/.helm" -path '*checkpoints/objects*' -name '*.pack' | head -n 1)
ok "deep: there is a pack" test -n "$pack"
size=$(wc -c <"$pack")
printf 'XXXXXXXX' | dd of="$pack" bs=1 seek=$((size / 3)) conv=notrunc 2>/dev/null
ok "deep: a damaged pack is found" says 1 "objects are damaged" helm doctor --deep --skip-discovery
ok "deep: with a remedy" says 1 "helm checkpoint repair" helm doctor --deep --skip-discovery
helm checkpoint repair --yes >/dev/null
ok "deep: which works" says 0 "all can be restored" helm doctor --deep --skip-discovery
with_receipts
sed -i '2s/"ALLOW"/"DENY!"/' "$state/receipts.jsonl"
ok "deep: a changed receipt is found" says 1 "record:all" helm doctor --deep --skip-discovery

# (h) the key
with_receipts
mv "$scratch/home/.helm/keys/root.key" "$scratch/kept.key"
ok "no key: not well" not_well
ok "no key: told everywhere" everywhere "there is no signing key" 1
ok "no key: not healthy" not_healthy
ok "no key: the remedy" says 1 "helm key create" helm doctor --skip-discovery
cp "$scratch/kept.key" "$scratch/home/.helm/keys/root.key"
chmod 644 "$scratch/home/.helm/keys/root.key"
ok "a key others can read is told everywhere" everywhere "root.key" 1
ok "with the remedy" says 1 "chmod 600" helm doctor --skip-discovery
chmod 600 "$scratch/home/.helm/keys/root.key"
ok "in order again" first "All is well."
rm "$scratch/home/.helm/keys/"*
helm key create >/dev/null
ok "a key that did not sign the chain is told everywhere" everywhere "no key of this user" 1

# The self-test of setup is not what agents did.
fresh
printf '{"at": "%s", "client": "codex", "session": "x", "tool": "Bash", "verdict": "DENY", "self_test": true, "preview": "rm -rf /"}\n' "$(date -u +%Y-%m-%dT%H:%M:%S+00:00)" >>"$state/tool-calls.jsonl"
ok "a self-test is no refused call" first "All is well."
ok "but told as what it is" says 0 "self-test" helm status --brief
# A receipt that was changed in the middle: whoever runs next is refused, and every view knows it before.
fresh
helm run -- true
helm run -- true
helm run -- true
sed -i '1s/"ALLOW"/"DENY!"/' "$state/receipts.jsonl"
ok "a changed receipt is not well" not_well
ok "and told everywhere" everywhere "nothing is allowed until it is mended" 1
ok "as the next run does" says 1 "log check" helm run -- true
quietly_repair() { helm log repair --yes >/dev/null && rm "$state/log/edge"; }
ok "once it is on record" quietly_repair
ok "it is well again, also for who has to look at all of it" sh -c '! printf %s "$0" | grep -q "mended\|Needs attention: .*record"' "$(helm status --brief)"
ok "and the run that was refused is told" first "1 task failed"

# The guard in front of an agent was put in, and somebody took it out, or broke the file.
fresh
helm setup claude-code --scope project --yes >/dev/null 2>&1
ok "an armed guard is well" first "All is well."
echo '{bad' >"$scratch/project/.claude/settings.json"
ok "a broken guard is not" not_well
ok "and is told everywhere" everywhere "guard in front of claude-code" 1
rm -r "$scratch/project/.claude"
ok "nor is one that is gone" not_well
ok "which is told, too" everywhere "are gone" 1

# An agent that is here and that nothing guards is no calm; one that is not here need not be guarded.
fresh
mkdir -p "$scratch/bin"
printf '#!/bin/sh\n' >"$scratch/bin/claude" && chmod +x "$scratch/bin/claude"
usual=$PATH
ok "without any agent: nothing is guarded" says 1 "No agent is guarded here, and none that Helm knows was found" helm setup status
ok "and nothing is expected" says 0 '"expected": false' helm status --json
PATH=$scratch/bin:$usual
ok "an agent that nothing guards is not well" not_well
ok "and told everywhere" everywhere "no agent is guarded here: helm setup claude-code"
ok "the first sentence says it" first "no agent is guarded here: helm setup claude-code"
ok "with the next step" says 0 "Next: helm setup claude-code" helm status --brief
ok "setup says the same" says 1 "No agent is guarded here: helm setup claude-code" helm setup status
helm setup claude-code --scope user --yes >/dev/null 2>&1
ok "once it is guarded all is well" first "All is well."
ok "and setup agrees" exits 0 helm setup status
PATH=$usual
fresh
mkdir -p "$scratch/home/.codex"
echo 'model = "x"' >"$scratch/home/.codex/config.toml"
ok "settings of an agent in the home count, too" first "no agent is guarded here: helm setup codex"

# A full disk: an empty file can still be made there.  The first thing that a view writes is a trial.
fresh
full() { # full TEXT EXIT ARGS...
  text=$1 code=$2
  shift 2
  HELM_ENV="HELM_TEST_FAIL_AT=1:ENOSPC" says "$code" "$text" helm_twin "$@"
}
ok "nobody calls a full disk well" full "cannot write in $state: No space left on device; nothing can be recorded" 0 status --brief
ok "nor does the long form" full "health=attention" 0 status --plain
once() { # the first sentence names what is wrong; what that means and its remedy are told once, below
  HELM_ENV="HELM_TEST_FAIL_AT=1:ENOSPC" helm_twin status --brief >"$scratch/brief"
  head -1 "$scratch/brief" | grep -q "No space left on device" && [ "$(grep -c "nothing can be recorded" "$scratch/brief")" = 1 ]
}
ok "the first sentence names it, and what it means is told once" once
ok "the remedy is room, not permissions" full "make room, for example with 'helm checkpoint prune" 0 status --brief
ok "nor the dashboard" full "No space left on device" 0 dashboard
ok "and the doctor says how to look" full "df -h $state" 1 doctor --skip-discovery
ok "no trace is left of the trial" sh -c 'test -z "$(find "$0" -newer "$1" -name ".*" -type f -size +60k)"' "$state" "$state/workspace.json"

# Checkpoints of the tree one stands in are seen by every view.
fresh
echo x >"$scratch/project/file"
helm checkpoint create --label here >/dev/null
ok "status knows the checkpoints of this tree" says 0 "-here" helm status --json
ok "and so does the report" says 0 "here" helm report
finish
