#!/bin/sh
# Plans of runs and conversations, what becomes of them, notes with a lifecycle and the tree of summaries.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

needs_terminal
command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to read answers"
fresh_workspace
ws=$scratch/project/ws
ledger=$ws/.helm/task-ledger.jsonl
helm init --path "$ws" >/dev/null
HELM_ENV="HELM_WORKSPACE=$ws"
last() { # last EXPRESSION: of the newest row, as r
  tail -n 1 "$ledger" | python3 -c 'import json,sys; r=json.loads(sys.stdin.read()); p=r.get("memory_capture"); sys.exit(0 if eval(sys.argv[1]) else json.dumps(p))' "$1"
}
doc() { # doc EXPRESSION command...: of the document that it prints, as d
  want=$1
  shift
  "$@" >"$scratch/.doc" 2>"$scratch/.stderr"
  python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); sys.exit(0 if eval(sys.argv[2]) else json.dumps(d))' "$scratch/.doc" "$want" || { cat "$scratch/.stderr"; return 1; }
}
here() { (cd "$ws" && helm run --path "$ws" "$@"); }

# ---- runs ----
ok "a run that changes nothing to remember" here -- true
ok "has a plan that says so" last 'p["finalization_status"]=="no_capture_needed" and p["relevant"] is False and p["task_exit_code"]==0'
ok "one that writes documentation" here --task-name 'write the guide' -- sh -c 'echo x >docs/guide.md'
ok "is to be remembered, for its path" last 'p["relevant"] and "path:docs/" in p["reasons"] and p["touched_paths"]==["docs/guide.md"] and p["recommended_layers"]==["daily_memory","long_term_memory"]'
ok "what it deletes is touched" here --task-name 'clean up' -- rm docs/guide.md
ok "from the record" last '"docs/guide.md" in p["touched_paths"]'
ok "the same again" here --task-name 'write the guide' -- sh -c 'echo y >docs/guide.md'
ok "refreshes what was before" last 'p["supersession"]["state"]=="refreshes_prior_state" and len(p["supersession"]["supersedes_task_ids"])==1'
# Earlier tasks are read while a command runs, and once more when somebody has written to the ledger meanwhile.
here --task-name 'look twice' --task-id long-one -- sh -c 'n=0; until [ -e "$0" ] || [ $n -gt 600 ]; do sleep 0.1; n=$((n + 1)); done' "$ws/docs/go" >/dev/null 2>&1 &
n=0
until grep -q '"status": "running".*"task_id": "long-one"' "$ledger" || [ $n -gt 600 ]; do sleep 0.1; n=$((n + 1)); done
ok "beside a long run a short one of the same name" here --task-name 'look twice' --task-id short-one -- true
: >"$ws/docs/go"
wait
ok "is what the long one follows, though it came after its beginning" last 'r["task_id"]=="long-one" and p["supersession"]["supersedes_task_ids"]==["short-one"]'
ok "one that fails" exits 3 here --task-name 'stage it' -- sh -c 'exit 3'
ok "is raw, and supersedes nothing" last 'p["quality_label"]["status"]=="raw" and p["supersession"]["state"]=="not_applicable" and p["event_types"]==[]'
ok "words count as words" last '"word:tag" not in p["reasons"]'
ok "queued and running rows have no plan" sh -c '! grep -E "\"status\": \"(queued|running)\"" "$1" | grep -q memory_capture' - "$ledger"

# ---- conversations ----
ok "a conversation" helm memory capture-chat --task-name 'update the router docs' --path docs/r.md --path README.md --task-id chat-1
ok "leaves a receipt that has its rows" sh -c 'tail -n 1 "$1/.helm/receipts.jsonl" | grep -q "helm.memory/capture-chat.*rows_sha256"' - "$ws"
ok "with a tool of its own" last 'r["experience_attribution"]["tool_selected"]==["conversation"] and "command" not in r'
ok "no name, no record" exits 2 helm memory capture-chat --task-name '  '
ok "an id that is none" exits 2 helm memory capture-chat --task-name x --task-id '../x'
ok "secrets are not in its rows" helm memory capture-chat --task-name 'set password=hunter2hunter2 in the deploy config'
ok "anywhere" sh -c '! grep -rq hunter2hunter2 "$1"' - "$ws"

# ---- what becomes of it ----
ok "it waits" doc 'any(i["task_id"]=="chat-1" for i in d["items"])' helm memory pending-captures --json
ok "a file that is not there proves nothing" says 1 "proves nothing" helm memory finalize --task-id chat-1 --layer daily_memory --file memory/2026-01-01.md
ok "nor one of another layer" exits 2 helm memory finalize --task-id chat-1 --layer long_term_memory --file docs/r.md
ok "nor one outside" exits 2 helm memory finalize --task-id chat-1 --layer daily_memory --file ../../etc/passwd
ok "nor a layer that was not planned" exits 2 helm memory finalize --task-id chat-1 --layer ontology --id x
helm memory write --task-id chat-1 --text 'the router is described in docs/r.md' >/dev/null
day=$(date -u +%F)
ok "a layer is written" helm memory finalize --task-id chat-1 --layer daily_memory --file "memory/$day.md"
ok "partly" last 'p["finalization_status"]=="capture_partial" and p["proofs"][0]["sha256"]'
ok "and all of it" helm memory finalize --task-id chat-1 --layer long_term_memory --file "$ws/MEMORY.md"
ok "then it is written" last 'p["finalization_status"]=="capture_written"'
ok "and is to be crystallized" doc '[i["blockers"] for i in d["items"] if i["task_id"]=="chat-1"][0].count("missing_crystallization")==1' helm memory review-queue --json --limit 0
ok "people are told what that means, and the command" says 0 "not kept yet (missing_crystallization): helm memory crystallize --task-id chat-1" helm memory review-queue --limit 0
ok "and how it leaves the queue" says 0 "helm memory op archive --task-id chat-1" helm memory review-queue --limit 0
ok "once" doc 'd["id"].startswith("crystal-")' helm memory crystallize --task-id chat-1
ok "not twice" exits 1 helm memory crystallize --task-id chat-1
ok "an operation closes a capture" doc 'd["status"]=="recorded"' helm memory op write --subject s --reason r --evidence e --task-id chat-1
ok "an archived task leaves the queue" doc 'd["operation"]=="archive"' helm memory op archive --subject s --reason r --evidence e --task-id chat-1
ok "for good" doc 'all(i["task_id"]!="chat-1" for i in d["items"])' helm memory review-queue --json --limit 0
ok "an operation about nobody is told" helm memory op write --subject s --reason r --evidence e --task-id ghost
ok "by audit-coherence" doc 'not d["ok"] and any(i["kind"]=="memory_operation_unknown_task" for i in d["issues"])' helm memory audit-coherence --json
ok "a label moves with evidence" exits 2 helm memory label --task-id chat-1 --to promoted
ok "up" doc 'd["status"]=="promoted" and d["transition_approved"]' helm memory label --task-id chat-1 --to promoted --evidence 'seen twice' --json
ok "and down" doc 'd["status"]=="deprecated"' helm memory label --task-id chat-1 --to deprecated --reason gone --json
ok "never up from there" exits 2 helm memory label --task-id chat-1 --to candidate --evidence x
ok "all of it is on record" exits 0 helm log check

# ---- an agent is decided about ----
helm profile use inspect_local >/dev/null 2>&1 || terminal -- helm profile use inspect_local >/dev/null 2>&1
ok "an agent writes what its profile permits" governed memory capture-chat --task-name 'agent work on the docs'
ok "as an agent" sh -c 'grep -q "\"decision_id\".*helm memory capture-chat\|helm memory capture-chat" "$1/.helm/receipts.jsonl"' - "$ws"
cp "$ws/MEMORY.md" before.md
ok "and not more" exits 25 governed memory write --layer long_term_memory --text 'an agent wants this to be remembered'
ok "then nothing is written" cmp before.md "$ws/MEMORY.md"
ok "what it may not decide" exits 25 governed memory accept mem-20260101000000000000
terminal -- helm profile use workspace_edit >/dev/null 2>&1 || helm profile use workspace_edit >/dev/null 2>&1
ok "with a profile that writes" governed memory write --layer long_term_memory --text 'an agent found that tests need a terminal'
ok "it is the agent's word" doc 'd["items"][-1]["trust"]=="agent" and d["items"][-1]["writer"]=="agent"' helm memory entries --json
person=$(helm memory write --layer long_term_memory --text 'the person decides about releases' --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["entry"])')
ok "an agent does not take back a person's word" exits 25 governed memory revert "$person"
ok "nor replace it" doc 'd["status"]=="waiting"' governed memory write --json --supersedes "$person" --text 'the agent decides about all releases'
printf 'a line that a person typed\n' >>"$ws/MEMORY.md"
cp "$ws/MEMORY.md" base.md
grep -v "$person" base.md >ours.md
ok "nor drop it in a merge" exits 25 governed memory merge MEMORY.md --base base.md --input ours.md
sed 's/that a person typed/that an agent typed/' base.md >ours.md
ok "nor change what a person typed" says 25 "a person's line" governed memory merge MEMORY.md --base base.md --input ours.md
ok "which stands as it was" cmp base.md "$ws/MEMORY.md"
{ cat base.md; echo 'ok'; echo 'the second mirror lies in another building'; } >ours.md
ok "an agent's new lines go through the gate" doc 'd["lines"]==["the second mirror lies in another building"] and d["left_out"][0]["as"]=="junk"' governed memory merge MEMORY.md --json --base base.md --input ours.md
cp "$ws/MEMORY.md" base.md
sed 's/^the second mirror/the third mirror/' base.md >ours.md
ok "what an agent wrote an agent changes" doc 'd["lines"]==["the third mirror lies in another building"]' governed memory merge MEMORY.md --json --base base.md --input ours.md
ok "in the file" grep -q '^the third mirror' "$ws/MEMORY.md"
ok "in place of it" sh -c '! grep -q "^the second mirror" "$1/MEMORY.md"' - "$ws"
{ cat "$ws/MEMORY.md"; seq -f 'the number of the day is %g and nothing else' 1 201; } >ours.md
ok "and not too many at once" says 1 "at most 200 lines" governed memory merge MEMORY.md --base "$ws/MEMORY.md" --input ours.md
ok "a frozen place remembers nothing of an agent" helm freeze --reason test
ok "not a line" exits 25 governed memory write --text 'written while everything is frozen'
ok "all of it is sound" exits 0 helm memory verify
ok "nothing is frozen any more" terminal UNFREEZE -- helm unfreeze
HELM_ENV=
ok "in the default place, too, an agent may write memory" governed memory write --layer long_term_memory --text 'agents remember something in the default place'
ok "and only that" exits 25 governed run -- sh -c "echo x >$scratch/home/.helm/workspace/MEMORY.md"
HELM_ENV="HELM_WORKSPACE=$ws"

# ---- notes ----
mkdir -p "$ws/notes"
note=$ws/notes/n.md
printf -- '---\nsource_id: s1\nscope: ops/build\nprovenance:\n  kind: web_fetch\n  agent: helm\nstate: captured\nconfidence: 0.5\n---\n' >"$note"
ok "a note in order" doc 'd["state"]=="captured" and d["retention"]=="raw_capture" and not d["problems"]' helm memory note notes/n.md --json
ok "an agent's text goes into it" doc 'd["draft"]=="body"' helm memory note notes/n.md --draft 'first draft' --json
ok "and over its own" doc 'd["draft"]=="body"' helm memory note notes/n.md --draft 'second draft' --json
echo 'a line of mine' >>"$note"
ok "never over a person's" doc 'd["draft"]=="agent_redraft" and d["state"]=="reviewed"' helm memory note notes/n.md --draft 'third draft' --json
ok "which stays" grep -q 'a line of mine' "$note"
ok "a state is not jumped over" exits 2 helm memory note notes/n.md --to promoted
ok "it is applied" helm memory note notes/n.md --to applied
printf -- '---\nsource_id: s1\nscope: ops/low\nprovenance:\n  kind: web_fetch\n  agent: helm\nstate: applied\nconfidence: 0.99\napplied_without_side_effects: 9\n---\n' >"$ws/notes/sure.md"
ok "an agent promotes nothing, however sure the note is of itself" says 2 "promoting takes a person" governed memory note notes/sure.md --to promoted
ok "a note lies where notes lie" says 2 "is no note" helm memory note memory/ontology/x.md --to reviewed
ok "a person promotes it" doc 'd["state"]=="promoted"' helm memory note notes/n.md --to promoted --json
ok "with the time" grep -q '^promoted_at: ' "$note"
ok "it is rejected" helm memory note notes/n.md --to rejected
ok "for good" exits 2 helm memory note notes/n.md --to reviewed
printf -- '---\nstate: promoted\nscope: ops\nconfidence: 7\n---\n' >"$ws/notes/bad.md"
ok "what is wrong with a note is told" doc 'len(d["problems"])==6' helm memory note notes/bad.md --json
ok "wording that claims too much" exits 3 helm state lint-phrase --state reviewed --text 'The fix was applied.'
ok "or not" exits 0 helm memory lint-phrase --state reviewed --text 'The fix was not applied.'
ok "inside a word it is none" exits 0 helm memory lint-phrase --state reviewed --text 'It was misapplied'
ok "in another sentence it does not help" exits 3 helm memory lint-phrase --state reviewed --text 'It was not seen. It was applied.'
ok "in Korean" exits 3 helm memory lint-phrase --state applied --text '운영 규칙으로 반영했습니다'
ok "negated" exits 0 helm memory lint-phrase --state captured --text '아직 정책에 반영하지 않았습니다'
ok "a state that is none" exits 2 helm state lint-phrase --state x --text y
mkdir -p vault/00-Inbox vault/Other
ok "folders of a vault" doc 'd["missing"]==["10-Topics","20-Sources","30-Decisions","40-Audit","90-Rejected"] and d["extra"]==["Other"]' helm frontmatter validate-vault vault --json
ok "that are missing" exits 3 helm frontmatter validate-vault vault
ok "no vault" exits 2 helm frontmatter validate-vault nowhere

# ---- summaries ----
for t in a b c; do
  ok "topic $t" helm memory-tree refresh --trigger task_ledger_change --topic $t --text "what is known about $t: $(printf 'word %.0s' $(seq 40))"
done
ok "a source" helm memory-tree refresh --trigger cron --source s1 --text 'a summary'
ok "cron makes no topic" exits 2 helm memory-tree refresh --trigger cron --topic a --text x
ok "an id that is none" exits 2 helm memory-tree refresh --trigger cron --source '../x' --text x
ok "one page" helm memory-tree refresh --trigger global_compact
ok "over all of them" grep -q 'included_topics: \[a, b, c\]' "$ws/memory/tree/global/current.md"
ok "within its budget" helm memory-tree refresh --trigger global_compact --budget 120
ok "the oldest left out" grep -q 'excluded_topics: \[a\]' "$ws/memory/tree/global/current.md"
ok "and named only there" sh -c '! grep -q "^## a" "$1/memory/tree/global/current.md"' - "$ws"
echo 'mine' >>"$ws/memory/tree/topic/b.md"
ok "a summary that a person edited stays" says 1 "edited by hand" helm memory-tree refresh --trigger task_ledger_change --topic b --text other
ok "all of it" grep -q '^mine$' "$ws/memory/tree/topic/b.md"
ok "taken as it is" helm memory-tree refresh --trigger obsidian_user_edit --topic b
ok "it is listed" doc 'd["topics"]==["a","b","c"] and d["sources"]==["s1"] and d["global_summary_present"]' helm memory-tree status --json
finish
