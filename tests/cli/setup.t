#!/bin/sh
# Settings of agent clients: our entries go in, are tested, and come out again; everything else stays as it was.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

helm init >/dev/null
ws=$scratch/home/.helm/workspace
mkdir -p project/.git project/.claude
cd project || exit 1
project=$scratch/project
settings=$project/.claude/settings.json
same() { cmp "$1" "$2"; }
put() { printf '%s' "$2" >"$1"; }
original='{
    "model": "opus",   "big": 1.50,
    "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "echo mine"}]}]},
    "env": { }
}'
put "$settings" "$original"
cp "$settings" before.json

ok "a dry run says what it would write" says 0 "hook pre-tool --client claude-code" helm setup claude-code --dry-run
ok "and writes nothing" same "$settings" before.json
ok "no state either" test ! -e "$ws/.helm/setup.json"
ok "nobody there to approve: refused" says 2 "--yes" sh -c 'HOME="$1/home" "$0" setup claude-code </dev/null' "$HELM_REAL" "$scratch"
ok "an unknown client is wrong usage" exits 2 helm setup nobody --yes
ok "nothing armed: the exit code of status says so" says 1 "not guarded" helm setup status
ok "and how to install it in that very place" says 1 "'helm setup claude-code --scope user' installs it" helm setup status claude-code
ok "what will become of what destroys is said before it is approved" says 0 "will be asked about or denied (destructive=ask" helm setup claude-code --dry-run
ok "it installs, and tests itself" says 0 "a destructive call was denied, and its receipt rcpt_" helm setup claude-code --yes
ok "what was there stays" grep -q '"model": "opus",   "big": 1.50,' "$settings"
ok "and is still JSON" is_json cat "$settings"
ok "a failure of ours blocks" grep -q '"onFailure": "block"' "$settings"
ok "also when there is no program any more" grep -qF ' || exit 2"' "$settings"
ok "the outcome is asked for too" grep -q 'hook post-tool' "$settings"
ok "the self-test is marked as one where calls are listed" grep -q '"self_test": *true' "$ws/.helm/tool-calls.jsonl"
ok "and in its receipt" grep -q '"self_test":true' "$ws/.helm/receipts.jsonl"
ok "the receipt is on record and verifies" says 0 ADMISSIBLE helm verify "$ws/.helm/receipts.jsonl" --key "$scratch/home/.helm/keys/root.pub"
ok "no recovery file is left" test ! -e "$ws/.helm/setup-recovery.json"
ok "status says armed" says 0 "armed" helm setup status claude-code
ok "and no view that nobody asks" exits 1 sh -c 'printf %s "$0" | grep "Agents: none connected"' "$(helm status --brief)"
ok "also when it is asked about all" says 0 "armed" helm setup status
ok "so does the doctor" says 0 "agent:claude-code:project" helm doctor --skip-discovery
cp "$settings" installed.json
helm setup claude-code --yes >/dev/null
ok "again: replaced, not doubled" same "$settings" installed.json
helm init --path "$scratch/other" >/dev/null
ok "pointing it to another workspace is said" says 0 "until now $ws, from now on $scratch/other" helm setup claude-code --yes --workspace "$scratch/other"
ok "and back, in JSON" says 0 "\"previous_workspace\": \"$scratch/other\"" helm setup claude-code --yes --json
ok "to the same one: not a word" sh -c 'HOME="$1/home" "$0" setup claude-code --yes >said && ! grep "until now" said' "$HELM_REAL" "$scratch"
rm -f said
ok "that is the file as installed" same "$settings" installed.json
# The walls are those of the workspace by which the hook decides, wherever one stands.
terminal -- helm setup claude-code --yes --workspace "$scratch/other" --contain off >/dev/null
ok "status speaks of the walls where the hook decides" says 0 "judged, not contained" helm setup status claude-code
ok "not of those where one stands" sh -c '! printf %s "$0" | grep -q "inside walls"' "$(helm setup status claude-code)"
ok "nor does the doctor" sh -c 'printf %s "$0" | grep -q "agent:claude-code:project .*judged, not contained"' "$(helm doctor --skip-discovery)"
terminal -- helm setup claude-code --yes --workspace "$scratch/other" --contain on >/dev/null
helm init --path "$scratch/third" >/dev/null
ok "also from a workspace that contains nothing itself" says 0 "inside walls" helm setup status claude-code --path "$scratch/third"
ok "where the doctor says the same" says 0 "shell commands of claude-code are sandboxed" helm doctor --skip-discovery --path "$scratch/third"
helm setup claude-code --yes >/dev/null
removed_whole() { terminal -- helm setup remove claude-code --yes >/dev/null && cmp "$settings" before.json; }
ok "removed, byte for byte" removed_whole
ok "removing again finds nothing" says 0 "nothing of ours was there" terminal -- helm setup remove claude-code --yes

helm setup claude-code --yes >/dev/null
sed 's/"opus"/"sonnet"/' "$settings" >edited && cp edited "$settings"
terminal -- helm setup remove claude-code --yes >/dev/null
sed 's/"opus"/"sonnet"/' before.json >wanted.json
ok "edited since: only ours goes" same "$settings" wanted.json
rm "$settings"
rmdir .claude
helm setup claude-code --yes >/dev/null
ok "a new file is private" sh -c 'test "$(stat -c %a "$0")" = 600' "$settings"
terminal -- helm setup remove claude-code --yes >/dev/null
ok "and goes again, with its directory" test ! -e .claude

refuses() { # refuses TEXT: setup fails, says it, and leaves no trace
  says 1 "$1" helm setup claude-code --yes && [ ! -e "$ws/.helm/setup-recovery.json" ]
}
mkdir .claude elsewhere
put "$settings" '{ "a": 1, // note
}'
cp "$settings" before.json
ok "a file that does not parse is refused and named" refuses "$settings"
ok "and stays" same "$settings" before.json
put "$settings" '{"hooks": []}'
ok "hooks of another shape are refused" refuses "'hooks' must be an object"
rm "$settings"
put elsewhere/settings.json '{}'
ln -s ../elsewhere/settings.json "$settings"
ok "a link is refused" refuses "symbolic link"
rm -r .claude
ln -s elsewhere .claude
ok "a linked directory too" refuses "symbolic link"
ok "nothing was written through it" sh -c 'test "$(cat elsewhere/settings.json)" = "{}"'
rm .claude

ok "codex is installed" says 1 "NOT ARMED YET" helm setup codex --yes
ok "and never called armed before it is trusted" says 1 "not_armed" helm setup status codex
ok "nor contained: a hook that the client skips holds no walls" says 1 "not contained yet: once it is armed" helm setup codex --yes
ok "also in the document" says 1 '"containment": "none"' helm setup codex --yes --json
contains() { helm status --brief | grep -q "shell commands of .*codex.* are sandboxed"; } # do the views say that its commands run inside walls?
ok "and no view says that its commands run inside walls" exits 1 contains
ok "and says that once" sh -c '! printf %s "$0" | grep -qi "not_armed.*not armed"' "$(helm setup status codex)"
ok "the doctor says so and is not content" says 1 "trust it with /hooks" helm doctor --skip-discovery
state() { helm setup status codex --json | grep -c '"armed": true'; }
# The hash of a trusted hook, computed by another program.
hash=$(python3 - "$project/.codex/hooks.json" <<'PY'
import hashlib, json, sys
g = json.load(open(sys.argv[1]))["hooks"]["PreToolUse"][0]
h = dict(g["hooks"][0], **{"async": False})
d = {"event_name": "pre_tool_use", "matcher": g["matcher"], "hooks": [h]}
print("sha256:" + hashlib.sha256(json.dumps(d, sort_keys=True, separators=(",", ":")).encode()).hexdigest())
PY
)
mkdir -p "$scratch/home/.codex"
cat >"$scratch/home/.codex/config.toml" <<TOML
[hooks.state."$project/.codex/hooks.json:pre_tool_use:0:0"]
trusted_hash = "$hash"
TOML
ok "trusted, in a project that is not: still not armed" sh -c 'test "$0" = 0' "$(state)"
printf '[projects."%s"]\ntrust_level = "trusted"\n' "$project" >>"$scratch/home/.codex/config.toml"
ok "trusted: armed" sh -c 'test "$0" = 1' "$(state)"
ok "and its commands run inside walls" contains
sed -i 's/sha256:..../sha256:0000/' "$scratch/home/.codex/config.toml"
ok "another version trusted: not armed" says 1 "another version" helm setup status codex
terminal -- helm setup remove codex --yes >/dev/null
ok "taken away: no walls of it any more" exits 1 contains

ok "cursor" says 0 "armed" helm setup cursor --yes
ok "cursor's file has a version" grep -q '"version": 1' .cursor/hooks.json
terminal -- helm setup remove cursor --yes >/dev/null
ok "cursor's file goes" test ! -e .cursor
hermes=$scratch/home/.hermes/config.yaml
ok "hermes: a new file" says 0 "armed" helm setup hermes --yes
ok "what fails blocks" grep -q "fail_closed: true" "$hermes"
terminal -- helm setup remove hermes --yes >/dev/null
ok "and goes again" test ! -e "$scratch/home/.hermes"
mkdir "$scratch/home/.hermes"
printf '# my settings\nmodel: x  # why\nhooks:\n  pre_tool_call:\n  # first\n  - matcher: terminal\n    command: echo mine\n' >"$hermes"
cp "$hermes" before.yaml
ok "hermes: a file with comments" says 0 "receipt rcpt_" helm setup hermes --yes
ok "they stay" grep -q "model: x  # why" "$hermes"
ok "status says armed" says 0 "armed" helm setup status hermes
ok "an agent may not touch that file" exits 25 helm guard check --shell "echo 'hooks: {}' > ~/.hermes/config.yaml"
sed -i 's/fail_closed: true/fail_closed: false/' "$hermes"
ok "an entry that fails open is told" says 0 "fail_closed" helm setup status hermes
sed -i 's/fail_closed: false/fail_closed: true/; s/model: x/model: y/' "$hermes"
terminal -- helm setup remove hermes --yes >/dev/null
sed 's/model: x/model: y/' before.yaml >wanted.yaml
ok "edited since: only ours goes" same "$hermes" wanted.yaml
cp before.yaml "$hermes"
helm setup hermes --yes >/dev/null
terminal -- helm setup remove hermes --yes >/dev/null
removed_whole() { terminal -- helm setup remove claude-code --yes >/dev/null && cmp "$settings" before.json; }
ok "removed, byte for byte" same "$hermes" before.yaml
echo 'hooks: {pre_tool_call: []}' >"$hermes"
ok "a shape that cannot be edited is refused" says 1 "cannot be edited in place" helm setup hermes --yes
rm -r "$scratch/home/.hermes"
ok "hermes has no settings of a project" says 2 "--scope user" helm setup hermes --scope project --yes
ok "deepseek is not edited, but told what to paste" says 1 "fail_closed: true" helm setup deepseek --yes
ok "JSON is one document" is_json helm setup claude-code --yes --json
ok "an alias is the same client" says 0 "claude-code" helm setup status claude
ok "a missing entry is seen" sh -c 'sed -i s/post-tool/no-tool/ "$2"; HOME="$1/home" "$0" setup status claude-code | grep -q degraded' "$HELM_REAL" "$scratch" "$settings"
sed -i 's/no-tool/post-tool/; s/"onFailure": "block"/"x": 1/' "$settings"
ok "a missing onFailure is told" says 0 "onFailure" helm setup status claude-code
put .claude/settings.local.json '{"disableAllHooks": true}'
ok "hooks switched off: not armed" says 1 "disableAllHooks" helm setup status claude-code
ok "the doctor is not content" exits 1 helm doctor --skip-discovery
rm .claude/settings.local.json
sed -i "s|$HELM_REAL|/nowhere/helm|" "$settings"
ok "a program that is gone: broken" says 1 "/nowhere/helm" helm setup status claude-code
ok "a moved program is replaced" sh -c 'HOME="$1/home" "$0" setup claude-code --yes >/dev/null && ! grep -q nowhere "$2" && test "$(grep -c pre-tool "$2")" = 1' "$HELM_REAL" "$scratch" "$settings"
terminal -- helm setup remove claude-code --yes >/dev/null
ok "user scope goes to the home directory" sh -c 'HOME="$1/home" "$0" setup claude-code --scope user --yes >/dev/null && test -s "$1/home/.claude/settings.json" && ! test -e "$2"' "$HELM_REAL" "$scratch" "$settings"
ok "a project without entries is guarded by those of the user" says 0 "the settings of the user guard it" helm setup status claude-code
terminal -- helm setup remove claude-code --yes >/dev/null

# What the agent itself may not do about it.
stops() { exits "$1" helm guard check --shell "$2"; }
mkdir -p .claude .codex
ok "an agent may look at the status" stops 0 "helm setup status"
ok "but not set up" stops 25 "helm setup claude-code --yes"
ok "nor remove" stops 25 "$HELM_REAL setup remove claude-code --yes"
ok "nor delete the settings by a pattern" stops 25 "rm .claude/*"
ok "nor their directory" stops 25 "rm -r .claude"
ok "nor move it away without a person" stops 24 "mv .codex aside"
ok "making one is ordinary work" stops 0 "mkdir -p .claude/commands"
rmdir .claude .codex

# Killed at every step that changes something: what is left is the old or the new file, and repair ends it.
killed() {
  mkdir -p .claude
  put "$settings" "$original"
  cp "$settings" before.json
  n=1
  while [ $n -lt 40 ]; do
    HELM_ENV="HELM_TEST_KILL_AT=$n" helm_twin setup claude-code --yes >"$scratch/.killed" 2>&1
    code=$?
    cmp -s "$settings" before.json || grep -q 'hook pre-tool' "$settings" || { echo "step $n: half a file"; return 1; }
    helm setup repair claude-code >"$scratch/.repair" 2>&1 || { echo "step $n:"; cat "$scratch/.repair"; return 1; }
    [ ! -e "$ws/.helm/setup-recovery.json" ] || { echo "step $n: recovery file left"; return 1; }
    terminal -- helm setup remove claude-code --yes >/dev/null 2>&1 || { echo "step $n: remove"; return 1; }
    cmp "$settings" before.json || { echo "step $n"; return 1; }
    [ $code -eq 0 ] && break
    n=$((n + 1))
  done
  [ $n -gt 5 ] && [ $n -lt 40 ] || { echo "ended at step $n, code $code"; cat "$scratch/.killed"; return 1; }
}
ok "killed anywhere, repaired, and removed without a trace" killed
helm setup claude-code --yes >/dev/null
mv "$scratch/home/.helm/keys/root.pub" "$scratch/home/.helm/keys/away"
cp "$settings" installed.json
failing() { says 1 "nothing was installed" helm setup claude-code --yes; }
ok "a self-test that fails takes everything back" failing
ok "and the file is as it was" same "$settings" installed.json
finish
