#!/bin/sh
# What a session wrote in the home directory and did not come back: listed, kept aside, and put into place by an operator alone.
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace
git init -q . 2>/dev/null
home=$scratch/home
mkdir -p "$scratch/bin"
cat >"$scratch/bin/claude" <<'SH2'
#!/bin/sh
mkdir -p "$HOME/.claude/skills/tidy" "$HOME/.claude/projects/p"
echo "by an agent" >"$HOME/.claude/skills/tidy/SKILL.md"
echo "by an agent" >"$HOME/.claude/CLAUDE.md"
echo '{"s":1}' >"$HOME/.claude/projects/p/s.jsonl"
echo shot >"$HOME/.bashrc"
SH2
chmod +x "$scratch/bin/claude"
session() { PATH=$scratch/bin:$PATH helm agent --profile workspace_edit claude-code; }
id() { helm agent report --json | sed -n 's/^ *"task_id": *"\([^"]*\)".*/\1/p' | head -n 1; }

ok "the end says that something was not kept" says 0 "3 files that the session wrote in the home directory were not kept" session
task=$(id)
listed() {
  helm agent report >"$scratch/report"
  grep -q '/.claude/CLAUDE.md' "$scratch/report" && grep -q '/.claude/skills/tidy/SKILL.md' "$scratch/report" && grep -q '/.bashrc' "$scratch/report" &&
    grep -q "helm agent keep $task" "$scratch/report" && return 0
  cat "$scratch/report"
  return 1
}
ok "the report lists it, and what to type" listed
ok "its document fits its schema" helm schema validate "$HELM_SOURCE/schemas/session-layer.schema.json" "$home/.helm/layers/$task/layer.json"
ok "the transcript is there" grep -q '"s":1' "$home/.claude/projects/p/s.jsonl"
ok "an agent cannot keep it" exits 25 agent agent keep "$task" .claude/CLAUDE.md
ok "nor remove it" exits 25 agent agent discard "$task"
ok "and it is not there" test ! -e "$home/.claude/CLAUDE.md"
ok "the operator keeps one" says 0 "kept=$home/.claude/skills/tidy/SKILL.md" terminal -- helm agent keep "$task" .claude/skills/tidy/SKILL.md
ok "it is in its place" grep -q "by an agent" "$home/.claude/skills/tidy/SKILL.md"
ok "it is on record" grep -q 'helm.session/keep' "$ws/.helm/receipts.jsonl"
ok "the log is sound" helm log check
ok "a path that leads elsewhere is refused" exits 1 terminal -- helm agent keep "$task" ../../keys/x
ok "one that is not kept aside is not there" exits 1 terminal -- helm agent keep "$task" .claude/nothing
ok "the report says that it is no longer kept aside" says 0 "SKILL.md  12 bytes, no longer kept aside" helm agent report
ok "the rest is removed" says 0 "discarded=$task" terminal -- helm agent discard "$task"
ok "nothing of it is left aside" test ! -e "$home/.helm/layers/$task/kept"
ok "a session that nobody knows has nothing aside" says 1 "nothing of session 'unknown' is kept aside" terminal -- helm agent discard unknown
finish
