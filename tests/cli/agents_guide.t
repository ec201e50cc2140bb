#!/bin/sh
# docs/guides/agents.md works as it stands there: every line that it shows is typed, with a script in the place of the client.  A line that nobody types is an error.
# shellcheck disable=SC2016,SC2086 # lines of a guide are words
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace
guide=$HELM_SOURCE/docs/guides/agents.md
sed -n 's/^    //p' "$guide" | sed 's/  *#.*//' >"$scratch/lines"
typed=0
# shows WORD COMMAND...: however it ends.
shows() {
	word=$1
	shift
	"$@" 2>&1 | grep -q "$word"
}
# has WORDS: the guide shows exactly this line, and it is about to be typed.
has() { grep -qxF -e "$1" "$scratch/lines" && typed=$((typed + $(grep -cxF -e "$1" "$scratch/lines"))); }
# A client that says which version it is and does nothing.
mkdir -p "$scratch/bin" my-project
printf '#!/bin/sh\ncase "$*" in *--version*) echo "2.1.0 (Claude Code)" ;; esac\nexit 0\n' >"$scratch/bin/claude"
cp "$scratch/bin/claude" "$scratch/bin/codex"
chmod +x "$scratch/bin/claude" "$scratch/bin/codex"
PATH=$scratch/bin:$PATH

has "helm init" && ok "helm init" helm init
has "cd my-project" && cd my-project || exit 1
git init -q . 2>/dev/null
has "helm setup claude-code" && ok "the guard is put in front of the client" says 0 "claude-code" terminal APPROVE -- helm setup claude-code
has "helm setup status" && ok "and its status says so" shows claude-code helm setup status
has "helm doctor" && ok "doctor looks, among other checks" shows workspace helm doctor
has "helm setup claude-code --contain off" && ok "judge only, by a person" says 0 "claude-code" terminal APPROVE -- helm setup claude-code --contain off
has "codex --sandbox danger-full-access" && ok "Codex without its own sandbox" exits 0 codex --sandbox danger-full-access
has "claude --settings '{\"sandbox\":{\"enabled\":false}}'" && ok "Claude Code without" exits 0 claude --settings '{"sandbox":{"enabled":false}}'
has "helm profile use workspace_edit --destructive checkpoint" && ok "a profile, by a person" says 0 "workspace_edit" terminal YES -- helm profile use workspace_edit --destructive checkpoint
has "helm agent claude-code" && ok "the client on a terminal of its own" exits 0 terminal -- helm agent claude-code
has 'helm agent claude-code --profile service_ops -- -p "fix the tests"' && ok "under another profile, with words of its own" exits 0 terminal -- helm agent claude-code --profile service_ops -- -p "fix the tests"
has "helm agent list" && ok "what runs" exits 0 helm agent list
has "helm agent report" && ok "a page about the last one" says 0 "claude" helm agent report
has "helm agent --detach claude-code" && ok "without this window" exits 0 terminal -- helm agent --detach claude-code
has "helm agent keep TASK .claude/skills/tidy/SKILL.md" && ok "nothing is kept of a session that nobody knows" exits 1 terminal -- helm agent keep no-such-task .claude/skills/tidy/SKILL.md
has "helm agent discard TASK" && ok "nor discarded" exits 1 terminal -- helm agent discard no-such-task
has "helm agent stop TASK" && ok "one that is not there is not stopped, and that is said" exits 1 helm agent stop no-such-task
has "helm report" && ok "the last 24 hours" exits 0 helm report
printf '{"tool_name":"Bash","tool_input":{"command":"cat ~/.ssh/id_ed25519"},"session_id":"s","cwd":"%s"}' "$PWD" | agent hook pre-tool --client claude-code >/dev/null 2>&1
id=$(helm approval list --json | grep -o 'approval-[0-9a-f]*' | head -n 1)
has "helm approval list" && ok "what waits" says 0 "${id:-no question}" helm approval list
has "helm approval approve approval-1a2b3c4d5e6f" && ok "it is shown, then the word is taken" exits 0 terminal APPROVE -- helm approval approve "$id"
has "helm watch" && ok "the same, live" exits 0 terminal q -- helm watch
has "helm setup remove claude-code" && ok "and taken away again" exits 0 terminal APPROVE -- helm setup remove claude-code
ok "no line is left" [ "$typed" = "$(grep -c . "$scratch/lines")" ] || { echo "# $typed of $(grep -c . "$scratch/lines")"; cat "$scratch/lines"; }
finish
