# profile list, show, policy: with and without a workspace.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

lists_six() { [ "$(helm profile list | wc -l)" -eq 7 ]; }
columns() { helm profile list | awk -F '  +' 'NF != 5 { exit 1 }'; }

ok "six profiles ship and need no workspace" lists_six
ok "a row has five fields in columns" columns
ok "it says what may be written, what may be reached and what is saved first" sh -c \
  '"$@" | grep -qE "^inspect_local  +nothing  +none  +never  " && "$@" | grep -qE "^service_ops  +work tree  +open  "' - \
  env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" profile list
ok "the list is JSON" is_json helm profile list --json
ok "one profile is JSON" is_json helm profile show risky_edit --json
ok "a profile shows its rights" says 0 '"writes_allowed": "depends-on-target"' helm profile show remote_handoff --json
ok "an unknown profile names the known ones" says 2 \
  "inspect_local, remote_handoff, risky_edit, service_ops, workspace_edit" helm profile show yolo
ok "no skill policy is one line" says 0 "no skill has a profile policy" helm profile policy
ok "no skill policy is still JSON" is_json helm profile policy --json

mkdir -p ws/.helm/checkpoints ws/references ws/skills/writer
cat >ws/references/execution_profiles.json <<'EOF'
{"profiles": {"mine": {"backend": "local", "checkpoint": "never", "writes_allowed": true, "network_allowed": false}}}
EOF
echo '{"allowed_profiles": ["mine"], "default_profile": "mine"}' >ws/skills/writer/contract.json
helm key create >/dev/null 2>&1
ok "a workspace's own profiles count for nothing before somebody accepts them" exits 0 helm profile show risky_edit --path ws
echo '{"default_profile": "mine"}' >ws/.helm/workspace.json
ok "a person is told what they are" says 0 "mine: is a new profile" trust ws
ok "accepted, they take the place of the shipped ones" says 0 "mine     work tree" helm profile list --path ws
ok "a shipped one is then unknown" exits 2 helm profile show risky_edit --path ws
ok "a skill's contract shows in the policy" says 0 '"default_profile": "mine"' helm profile policy --path ws

echo '{"profiles": {"mine": {"backend": "local", "checkpoint": "never"}}}' >ws/references/execution_profiles.json
trust ws >/dev/null
ok "a right that is left out is named" says 0 "does not say 'writes_allowed'" helm profile list --path ws
echo '{"profiles": []}' >ws/references/execution_profiles.json
ok "a broken file cannot be accepted" says 1 "execution_profiles.json" terminal TRUST -- helm workspace trust --path ws
ok "what was accepted holds" says 0 "mine" helm profile list --path ws
echo '{"profiles": {"mine": {"backend": "local", "checkpoint": "never"}}}' >ws/references/execution_profiles.json
echo '{"profiles": {"mine": {"deny": ["no_such"]}}}' >ws/references/tool_groups.json
ok "nor can a broken group file" says 1 "no_such" terminal TRUST -- helm workspace trust --path ws

helm init --path chosen >/dev/null
call='{"session_id":"s","tool_name":"Bash","tool_input":{"command":"curl https://example.org/"},"cwd":"'$scratch'/chosen"}'
hook() { printf '%s' "$call" | agent hook pre-tool --client claude-code --workspace chosen; }
quiet() { [ -z "$(hook)" ]; }
ok "a refusal names the profile that would permit it" says 0 "helm profile use service_ops" hook
ok "a profile can be chosen" says 0 "default_profile=service_ops" terminal -- helm profile use service_ops --path chosen
ok "and agents' calls are judged by it" quiet
ok "so is a run; it says which profile may permit it" says 25 " --profile service_ops -- curl https://example.org/" helm run --profile workspace_edit --workspace chosen -- curl https://example.org/
ok "status says that it was chosen" says 0 "service_ops, chosen for this workspace" helm status --brief --path chosen
helm init --path chosen/below >/dev/null
ok "one below it has inherited it, and says from where" says 0 "service_ops, inherited from $scratch/chosen" helm status --brief --path chosen/below
ok "what becomes of what destroys is said with the choice" says 0 "destructive=checkpoint" terminal -- helm profile use develop --path chosen
ok "also when it falls back to asking" says 0 "destructive=ask" terminal -- helm profile use workspace_edit --path chosen
ok "the profile that is shipped can be chosen as well" says 0 "workspace_edit, chosen for this workspace" helm status --brief --path chosen
terminal -- helm profile use service_ops --path chosen >/dev/null
ok "the choice is on record" says 0 "helm.profile/use" helm receipts show "$(helm receipts list --path chosen --json | sed -n 's/.*"receipt_id": "\(.*\)".*/\1/p' | sed -n 2p)" --path chosen
ok "the rest of the file is as it was" grep -q helm_version chosen/.helm/workspace.json
ok "an unknown one is not chosen" exits 2 helm profile use yolo --path chosen
HELM_ENV=HELM_TASK_ID=t
ok "a guarded run cannot choose" says 25 "a person does that" helm profile use risky_edit --path chosen
HELM_ENV=
echo '{' >chosen/.helm/workspace.json
ok "a choice whose file cannot be read is what it was" quiet
ok "and a run says so" says 0 "workspace.json cannot be read: what a person decided holds" helm run --path chosen -- true
mkdir -p older/.helm && echo '{' >older/.helm/workspace.json
ok "where nobody has chosen, it stops a run" says 1 "which profile this workspace has chosen cannot be read" helm run --path older -- true

finish
