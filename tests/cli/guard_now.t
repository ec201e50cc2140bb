#!/bin/sh
# guard check and explain judge as the doors that act would, in this workspace and now; advice leads somewhere.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

helm init --path "$scratch/ws" >/dev/null
ws=$scratch/ws
cd "$ws" || exit 1
mkdir build && echo >build/x
helm profile use inspect_local >/dev/null
ok "the workspace's profile judges" says 25 "inspect_local" helm guard check -- touch file
ok "explain too" says 25 "inspect_local" helm guard explain -- touch file
ok "and batch" sh -c 'printf "%s\n" "{\"argv\":[\"touch\",\"file\"]}" | HOME="$1/home" "$0" guard check --batch | grep -q "\"selected_profile\":\"inspect_local\""' "$HELM_REAL" "$scratch"
ok "unless another one is asked for" exits 0 helm guard check --profile workspace_edit -- touch file
ok "advice is computed: under workspace_edit it is allowed" says 25 "under workspace_edit it is allowed" helm guard check -- touch file
terminal -- helm profile use workspace_edit >/dev/null
ok "a question no other profile answers gets no such advice" sh -c '! HOME="$1/home" "$0" guard check -- rm -rf build | grep -q "it is allowed"' "$HELM_REAL" "$scratch"
ok "and no rule promises one" sh -c '! HOME="$1/home" "$0" guard check -- rm -rf build | grep -q risky_edit' "$HELM_REAL" "$scratch"
terminal -- helm profile use workspace_edit --destructive checkpoint >/dev/null
ok "destructive=checkpoint is said" says 0 "destructive=checkpoint" helm guard check -- rm -rf build
ok "and what it means for this" says 0 "is saved first" helm guard explain -- rm -rf build
ok "then nothing else is advised" sh -c '! HOME="$1/home" "$0" guard explain -- rm -rf build | grep -q instead' "$HELM_REAL" "$scratch"
ok "not for what cannot be saved" sh -c '! HOME="$1/home" "$0" guard check -- sudo ls | grep -q "saved first"' "$HELM_REAL" "$scratch"
ok "as JSON" says 0 '"destructive": "checkpoint"' helm guard check --json -- rm -rf build
helm freeze --principal agent:codex >/dev/null
ok "a freeze of somebody is said" says 0 "agent:codex is frozen" helm guard check -- ls
helm freeze --reason "stop it" >/dev/null
ok "a freeze of everything denies" says 25 "deny.frozen" helm guard check -- ls
ok "and says why" says 25 "stop it" helm guard check -- ls
ok "and what it would be otherwise" says 25 "without the freeze: allow" helm guard explain -- ls
ok "as JSON" says 25 '"frozen": true' helm guard check --json -- ls
ok "with the verdict a door would give" says 25 '"verdict": "DENY"' helm guard check --json -- ls
ok "batch denies too" sh -c 'printf "%s\n" "{\"argv\":[\"ls\"]}" | HOME="$1/home" "$0" guard check --batch | grep -q "\"verdict\":\"DENY\".*deny.frozen"' "$HELM_REAL" "$scratch"
rm "$ws/.helm/freeze.json"
ok "a freeze whose file is gone denies" says 25 "deny.frozen" helm guard check -- ls
echo '{"broken' >"$ws/.helm/freeze.json"
ok "and one whose file cannot be read" says 25 "deny.frozen" helm guard check -- ls
terminal -- helm unfreeze >/dev/null
terminal -- helm unfreeze --principal agent:codex >/dev/null
echo '{"broken' >"$ws/.helm/workspace.json"
ok "a choice whose file cannot be read is what it was" says 0 "destructive=checkpoint" helm guard check -- rm -rf build
mkdir "$scratch/older" && cp -r "$HELM_SOURCE/share/workspace" "$scratch/older/.helm" && echo '{"broken' >"$scratch/older/.helm/workspace.json"
ok "where nobody has spoken, it is no default" says 1 "workspace.json" helm guard check --path "$scratch/older" -- ls
terminal -- helm workspace trust >/dev/null

# A grant that would answer is named.
if needs python3 "a grant that would answer is named"; then
  ok "before a grant nothing is said" sh -c '! HOME="$1/home" "$0" guard check -- rm -rf build | grep -q "granted already"' "$HELM_REAL" "$scratch"
  terminal APPROVE -- helm approval grant --principal agent:codex --shape -- rm -rf build >grant.txt 2>&1
  ok "a grant that answers it is said" says 0 "granted already to agent:codex" helm guard check -- rm -rf build
  ok "as JSON" says 0 '"principal": "agent:codex"' helm guard check --json -- rm -rf build
  ok "not for another command" sh -c '! HOME="$1/home" "$0" guard check -- sudo ls | grep -q "granted already"' "$HELM_REAL" "$scratch"
  echo '{"broken' >"$ws/.helm/approvals.json"
  ok "grants that cannot be read are said" says 0 "cannot be read" helm guard check -- rm -rf build
  rm "$ws/.helm/approvals.json"
fi

# Over all cases: a profile that is named permits what was refused.
needs python3 "a profile that is named permits what was refused" || { finish; exit; }
cat >advice.py <<'PY'
import json, subprocess, sys
helm, cases, home = sys.argv[1:4]
rows = []
for name in ("guard", "guard_safe", "guard_destructive"):
    for line in open(f"{cases}/{name}.jsonl"):
        row = json.loads(line)
        rows.append({k: row[k] for k in ("argv", "shell", "profile") if k in row})
def ask(questions):
    text = "\n".join(json.dumps(q) for q in questions) + "\n"
    run = subprocess.run([helm, "guard", "check", "--batch"], input=text, capture_output=True, text=True, env={"HOME": home, "PATH": "/usr/bin:/bin"})
    return [json.loads(line) for line in run.stdout.splitlines()]
answers = ask(rows)
hints = [(q, a) for q, a in zip(rows, answers) if a.get("recommended_profile")]
there = ask([dict(q, profile=a["recommended_profile"]) for q, a in hints])
wrong = [(q, a["recommended_profile"], b["verdict"]) for (q, a), b in zip(hints, there) if b["verdict"] != "ALLOW"]
print(len(rows), "cases,", len(hints), "hints,", len(wrong), "lead nowhere", wrong[:5])
sys.exit(bool(wrong) or len(answers) != len(rows) or len(hints) < 5)
PY
ok "every profile that advice names permits it" python3 advice.py "$HELM_REAL" "$HELM_SOURCE/tests/cases" "$scratch/home"
# What a rule says instead of it must not promise a profile: only the computed advice does.
ok "no rule names a profile by itself" sh -c '! HOME="$1/home" "$0" guard rules --json | grep "\"instead\"" | grep -qE "risky_edit|service_ops|workspace_edit|inspect_local"' "$HELM_REAL" "$scratch"
finish
