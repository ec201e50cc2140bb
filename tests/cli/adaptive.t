#!/bin/sh
# The harness: what work must bring before it starts, what must be seen before it counts as done.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to read answers"
fresh_workspace
cd "$ws" || exit 1
# get EXPRESSION: of the document on standard input, as d; check(NAME) is whether that check holds.
get() {
  python3 -c '
import json, sys
d = json.load(sys.stdin)
def check(name):
    return next((c["ok"] for c in d["checks"] if c["name"] == name), None)
print(eval(sys.argv[1]))' "$1"
}
pre() { helm harness preflight --json "$@" -- git status; }
skill() { # skill NAME JSON
  mkdir -p "skills/$1"
  printf -- '---\nname: %s\ndescription: x\n---\n' "$1" >"skills/$1/SKILL.md"
  printf '%s' "$2" >"skills/$1/contract.json"
}

# ---- how strict ----
level() { pre "$@" --task-name x --runtime-target y | get 'd["enforcement_level"]'; }
ok "a good model that looks: light" [ "$(level --profile inspect_local --model gpt-5.4)" = light ]
ok "and that risks something: balanced" [ "$(level --profile risky_edit --model gpt-5.4)" = balanced ]
ok "a middling one is balanced" [ "$(level --profile workspace_edit --model gemini-2.5-pro)" = balanced ]
ok "and strict where it hands over" [ "$(level --profile remote_handoff --model-tier enhanced)" = strict ]
ok "a small one is strict" [ "$(level --profile service_ops --model gemma4:e4b)" = strict ]
ok "one that nobody knows is held like a small one" [ "$(level --profile risky_edit --model zork-9)" = strict ]
ok "and that is said" says 0 "'zork-9' is not known" pre --profile inspect_local --model zork-9
ok "no model is a person's" [ "$(level --profile inspect_local)" = light ]
mkdir -p references/adaptive_harness.d
echo '{"model_aliases": {"zork": "frontier"}}' >references/adaptive_harness.d/10-ours.json
ok "a file of the workspace names more models" [ "$(level --profile inspect_local --model zork-9)" = light ]
echo '[1]' >references/adaptive_harness.d/20-bad.json
ok "one that is none is an error" says 1 "20-bad.json must be an object" helm harness policy
rm references/adaptive_harness.d/20-bad.json
ok "the policy has what was laid over it" says 0 zork helm harness policy --json

# ---- before ----
ok "plain work passes" exits 0 pre --profile inspect_local
ok "a risky one needs a name" exits 2 pre --profile risky_edit
ok "and passes with one" exits 0 pre --profile risky_edit --task-name edit
ok "what is handed over needs a place" exits 2 pre --profile remote_handoff --task-name x
skill router '{"allowed_profiles":["inspect_local","remote_handoff"],"default_profile":"inspect_local","context":{"required":true,"query":"router","include":["memory","tasks"],"failed_include":["commands"]},"approval_keywords":["buy"],"failure_downgrade":{"steps":[{"when":"context_hydration","action":"ask"}]}}'
ok "a profile that its contract does not allow" [ "$(pre --skill router --profile workspace_edit --request 'check router' | get 'check("skill_profile")')" = False ]
ok "a skill that has nothing to do with it" [ "$(pre --skill router --profile workspace_edit --request 'cook soup' | get 'check("skill_relevance")')" = False ]
ok "context that is required makes it balanced" [ "$(pre --skill router --profile inspect_local --request 'check router' | get 'd["enforcement_level"]')" = balanced ]
ok "and must be looked up" [ "$(pre --skill router --profile inspect_local --request 'check router' | get 'check("context_hydration")')" = False ]
ok "with what helps then" says 2 '"action": "ask"' pre --skill router --profile inspect_local --request 'check router'
ok "by these questions" [ "$(pre --skill router --profile inspect_local --request 'check router' | get 'd["hydration_commands"]')" = "[['helm', 'context', 'router', '--include', 'memory', 'tasks', '--limit', '6'], ['helm', 'context', 'router', '--include', 'commands', '--failed-only', '--limit', '6']]" ]
ok "somebody may say that it was" exits 0 pre --skill router --profile inspect_local --request 'check router' --context-confirmed
ok "a word that needs approval" [ "$(pre --skill router --profile inspect_local --request 'buy a router' --context-confirmed | get 'check("approval_boundary")')" = False ]
ok "is for handing over" [ "$(pre --skill router --profile remote_handoff --request 'buy a router' --context-confirmed --task-name x --runtime-target y | get 'check("approval_boundary")')" = True ]
skill strict '{"allowed_profiles":["risky_edit"],"default_profile":"risky_edit","runner":{"entrypoint":"scripts/go.sh","strict_required":true},"route_decision":{"tool_rules":[{"match_any":["go.sh"]}]}}'
ok "a strict runner must be the one" [ "$(pre --skill strict --profile risky_edit --task-name 'strict work' | get 'check("preferred_runner")')" = False ]
ok "and a tool must fit the rules" [ "$(pre --skill strict --profile risky_edit --task-name 'strict work' | get 'check("route_decision")')" = False ]
ok "which it does" exits 0 helm harness preflight --skill strict --profile risky_edit --task-name 'strict work' -- sh scripts/go.sh
way() { helm harness preflight --skill strict --profile risky_edit --task-name 'strict work' --json --route-decision-json "$1" -- sh scripts/go.sh | get 'check("route_decision")'; }
ok "a way of one's own must have a known stage" [ "$(way '{"task_type":"x","stage":"dance","chosen_tool":"go.sh","next_action":"run"}')" = False ]
ok "and a known end" [ "$(way '{"task_type":"x","stage":"route","chosen_tool":"go.sh","next_action":"fly"}')" = False ]
ok "and all its members" [ "$(way '{"stage":"route","chosen_tool":"go.sh","next_action":"run"}')" = False ]
ok "then it passes" [ "$(way '{"task_type":"x","stage":"route","chosen_tool":"go.sh","next_action":"run"}')" = True ]
ok "evidence must be an object" [ "$(pre --profile inspect_local --browser-evidence-json '[1]' | get 'check("browser_evidence_shape")')" = False ]
ok "with what is asked for; false is something" [ "$(pre --profile inspect_local --browser-evidence-json '{"reason":"r","evidence":"e","api_reusable":false,"next_action":"x"}' | get 'check("browser_evidence_contract")')" = True ]
ok "a blank is nothing" [ "$(pre --profile inspect_local --browser-evidence-json '{"reason":" ","evidence":"e","api_reusable":0,"next_action":"x"}' | get 'check("browser_evidence_contract")')" = False ]
ok "what is no JSON is an error" exits 2 pre --profile inspect_local --browser-evidence-json '{'
mode() { pre --profile inspect_local --request "$1" | get 'd["interaction_workflow"]["mode"]'; }
ok "a plan first" [ "$(mode 'design the cache')" = diverge_then_converge ]
ok "a plan and the work" [ "$(mode 'design and implement the cache')" = converge_with_tradeoff_note ]
ok "in Korean, too" [ "$(mode '캐시 설계')" = diverge_then_converge ]
tool() { helm harness preflight --profile inspect_local --json -- "$@" | get 'd["route_decision"]["chosen_tool"]'; }
ok "the tool of a module" [ "$(tool python3 -m pytest -q)" = pytest ]
ok "of a text" [ "$(tool python3 -c 'print(1)')" = python-inline ]
ok "of a shell's text" [ "$(tool bash -lc 'A=1 python3 tools/x.py')" = x.py ]
ok "of a script" [ "$(tool sh scripts/go.sh)" = go.sh ]
ok "with variables before it" [ "$(tool env)" = env ]

# ---- run ----
run() { helm harness run --json "$@" 2>/dev/null; }
ok "work runs, and its output stays out of the document" [ "$(run --profile inspect_local --task-id h1 -- echo hello | get 'd["run_exit_code"]')" = 0 ]
ok "which goes to standard error" [ "$(helm harness run --profile inspect_local -- echo hello 2>&1 >/dev/null | grep -c hello)" -ge 1 ]
ok "the row says how it was held" says 0 '"enforcement_level": "light"' helm task show h1 --json
ok "what may not run does not" exits 2 run --profile risky_edit -- true
ok "and leaves no task" says 0 '"task_id": null' helm harness preflight --profile inspect_local --json -- true
ok "what fails ends with its own code" exits 7 run --profile inspect_local -- sh -c 'exit 7'
ok "what shows nothing needs a look" exits 3 run --profile workspace_edit --model gemini --task-id h2 -- true
ok "and its state says so" says 0 '"status": "needs_verification"' helm task show h2 --json
cd "$scratch/project" || exit 1
ok "what it did shows itself" exits 0 run --profile workspace_edit --model gemini --task-id h3 -- sh -c 'echo x >new.md'
cd "$ws" || exit 1
ok "context is looked up when asked for" [ "$(run --skill router --profile inspect_local --request 'check router' --auto-hydrate -- true | get 'len(d["hydration"])')" = 2 ]

# ---- afterwards ----
ok "a task that is not there" exits 2 helm harness postflight --task-id nowhere
ok "one that needs a look may not be called done" exits 3 helm harness reply --task-id h2
ok "evidence is added" exits 3 helm harness record-evidence --task-id h2 --completion-evidence review:read-it
ok "and is on record" says 0 'helm.memory/evidence' helm receipts list --limit 3 --json
ok "nothing is no evidence" exits 2 helm harness record-evidence --task-id h2
ok "nor is a word without a kind" exits 2 helm harness record-evidence --task-id h2 --completion-evidence 'finished'
helm task complete h2 --evidence review:read-it --force >/dev/null
ok "then it may" exits 0 helm harness reply --task-id h2
ok "no task at all" [ "$(helm harness reply --task-id nowhere --json | get 'd["reason"]')" = task_not_found ]
skill web '{"allowed_profiles":["inspect_local"],"default_profile":"inspect_local","require_finalization_written":false,"browser_work":{"required":true},"file_intake":{"when_any":["attachment"]}}'
ok "evidence that a contract asks for is taken from the row" exits 0 run --skill web --profile inspect_local --task-id w1 --task-name 'web browser snapshot' -- true
ok "and marked" says 0 '"inferred": true' helm task show w1 --json
ok "what cannot be seen is missed" exits 3 run --skill web --profile inspect_local --task-id w2 --task-name 'web attachment' -- true
ok "until somebody says it" exits 0 helm harness record-evidence --task-id w2 --browser-evidence-json '{"reason":"r","evidence":"e","api_reusable":false,"next_action":"none"}' --file-intake-evidence-json '{"path":"a","claimed_type":"pdf","detected_type":"pdf","detector":"magic_bytes","route_decision":"pdf_document"}'
ok "the row of its experience says that evidence is there" sh -c "grep '\"task_id\": \"w1\"' .helm/task-ledger.jsonl | tail -1 | grep -q inferred"
helm profile run inspect_local --skill web --task-id w3 --task-name 'browser click' -- true
ok "older rows are filled" [ "$(helm harness backfill-evidence --task-id w3 --json | get 'd["browser_backfilled"], d["updated"]')" = "(1, 1)" ]
ok "once" [ "$(helm harness backfill-evidence --task-id w3 --json | get 'd["updated"]')" = 0 ]
ok "a secret in evidence is not kept" sh -c "! grep -q ghp_0123456789abcdefghijABCDEFGHIJ012345 .helm/task-ledger.jsonl" "$(helm harness record-evidence --task-id w2 --completion-evidence note:ghp_0123456789abcdefghijABCDEFGHIJ012345 >/dev/null)"
finish
