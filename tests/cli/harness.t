#!/bin/sh
# Evidence objects by content, answers of models by their shape, and what a task must still do.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to read answers"
fresh_workspace
field() { python3 -c 'import json,sys; print(json.load(sys.stdin).get(sys.argv[1]))' "$1"; }
is() { # is FIELD VALUE FILE
  got=$(helm harness file-intake "$3" --json | field "$1")
  [ "$got" = "$2" ] || { echo "$got"; return 1; }
}
printf '%%PDF-1.4\n' >a.pdf
printf '\211PNG\r\n\032\n0000' >b.png
printf '\211PNG\r\n\032\n0000' >c.txt
printf 'hello\n' >d.txt
printf '{"a": 1}\n' >e.json
printf 'MZ\220\000' >invoice.pdf
printf 'PK\003\004....[Content_Types].xml' >f.docx
printf 'PK\003\004....x' >g.zip
: >h.txt
head -c 300 /dev/urandom | tr -d '\000' >i.bin
tar cf j.tar d.txt
ok "a PDF" is route_decision pdf_document a.pdf
ok "an image" is route_decision image_ocr b.png
ok "an image that is called a text" is mismatch True c.txt
ok "is not parsed" exits 1 helm harness file-intake c.txt
ok "a text" is route_decision text_loader d.txt
ok "JSON" is detected_type json e.json
ok "a program that is called an invoice" is mismatch True invoice.pdf
ok "is looked at by a person" is route_decision manual_review invoice.pdf
ok "a document in a zip" is route_decision office_document f.docx
ok "a zip is not safe" is safe_to_parse False g.zip
ok "a tar is found behind its first block" is detected_type tar j.tar
ok "nothing is said to be empty" is detected_type empty h.txt
ok "noise is nothing that is known" is safe_to_parse False i.bin
ok "a file that is not there" exits 1 helm harness file-intake nowhere

stage() { got=$(helm harness retrieval --json "$@" | field next_attempt_stage); echo "$got"; }
ok "blocked: another address next" [ "$(stage --status 403)" = transformed_url ]
ok "then a browser, where it may be used" [ "$(stage --status 403 --stage transformed_url --browser-allowed)" = browser_snapshot ]
ok "and not otherwise" [ "$(stage --status 403 --stage transformed_url)" = None ]
ok "a login stops" [ "$(helm harness retrieval --text 'please log in: sign in' --json | field exit_classification)" = auth_required ]
ok "unsafe stops before all else" [ "$(helm harness retrieval --unsafe --status 403 --json | field exit_classification)" = unsafe ]

verdict() { got=$(printf '%s' "$1" | { shift; helm model-repair evaluate --json "$@"; } | field verdict); echo "$got"; }
ok "text is fine" [ "$(verdict '{"content":"hi"}')" = ok ]
ok "nothing is asked again" [ "$(verdict '{"content":""}')" = nudge_and_retry ]
ok "until that is enough" [ "$(verdict '{"content":""}' --attempt 2)" = give_up ]
ok "a required tool that is missing ends it" [ "$(verdict '{"content":""}' --tool-required)" = abort ]
ok "broken arguments are asked again" [ "$(verdict '{"tool_calls":[{"name":"x","arguments":"{oops"}]}')" = nudge_and_retry ]
ok "a call without a name, too" [ "$(verdict '{"tool_calls":[{"function":{"arguments":"{}"}}]}')" = nudge_and_retry ]
printf '{"content":""}' | helm model-repair evaluate --tool-required --record >/dev/null
ok "what is kept is counted by the shadow report" says 0 '"event_count": 1' helm shadow-report --format json --feature model_repair

mkdir -p "$ws/references"
echo '{"abort_on": [], "nudge_on": ["terminal_without_tool"], "max_retries": 1}' >"$ws/references/local_model_proxy_policy.json"
ok "the workspace says what is asked again" [ "$(verdict '{"content":""}' --tool-required)" = nudge_and_retry ]
ok "and what is not" [ "$(verdict '{"tool_calls":[{"name":"x","arguments":"{oops"}]}')" = give_up ]
ok "and how often" [ "$(verdict '{"content":""}' --tool-required --attempt 1)" = give_up ]
ok "the rules are shown as they are" says 0 '"max_retries": 1' helm model-repair check --json
again() { printf '{"content":""}' | HELM_ENV="HELM_MODEL_REPAIR=$1" helm model-repair loop-step --tool-required --json | field call_again; }
ok "a gate that is on has the model called again" [ "$(again 1)" = True ]
ok "one that watches does not" [ "$(again 0)" = False ]
rm "$ws/references/local_model_proxy_policy.json"

# ---- a tool to answer with ----
names() { python3 -c 'import json,sys; print([t.get("function",t)["name"] for t in json.load(sys.stdin)["tools"]])'; }
ok "respond is added" [ "$(printf '{"tools":[{"name":"x"}]}' | helm respond inject | names)" = "['x', 'respond']" ]
ok "once" [ "$(printf '{"tools":[{"name":"respond"}]}' | helm respond inject | names)" = "['respond']" ]
ok "not for a large model" [ "$(printf '[]' | HELM_ENV=HELM_SYNTHETIC_RESPOND=1 helm respond inject --tier L4_cloud_provider | names)" = "[]" ]
ok "for a local one, where it is wanted" [ "$(printf '[]' | HELM_ENV=HELM_SYNTHETIC_RESPOND=1 helm respond inject --tier L3_local_model | names)" = "['respond']" ]
ok "and not otherwise" [ "$(printf '[]' | helm respond inject --tier L3_local_model | names)" = "[]" ]
said='{"content":null,"tool_calls":[{"function":{"name":"respond","arguments":"{\"message\":\"hi\"}"}},{"name":"x","arguments":{}},{"name":"respond","arguments":{"message":"no"}}]}'
ok "its message becomes the answer" [ "$(printf '%s' "$said" | helm respond strip | field content)" = hi ]
ok "and others stay" [ "$(printf '%s' "$said" | helm respond strip | field tool_calls)" = "[{'name': 'x', 'arguments': {}}]" ]
ok "what cannot be read stays as it was" says 0 _strip_warning sh -c 'printf "{\"tool_calls\":[{\"name\":\"respond\",\"arguments\":\"{\"}]}" | "$0" respond strip' "$HELM_REAL"
ok "one that is missing is said" exits 1 sh -c 'echo "{\"content\":\"x\"}" | "$0" respond finalize --tool-required' "$HELM_REAL"

# ---- what a message asks for ----
scope() { helm action-scope evaluate --json --message "$1" | field locked_scope; }
ok "the narrowest verb locks" [ "$(scope 'check the file and delete docs/x')" = inspect ]
ok "whole words" [ "$(scope 'a checklist for Postgres')" = None ]
ok "in Korean" [ "$(scope '캘린더 일정 삭제해줘')" = delete ]
ok "no verb is refused" says 3 no_verb_detected helm action-scope evaluate --message 'hello there'
ok "what changes needs a target" says 3 missing_explicit_target helm action-scope evaluate --message 'delete it'
ok "which may be a path" exits 0 helm action-scope evaluate --message 'delete docs/old.md'
ok "or given" exits 0 helm action-scope evaluate --message 'delete it' --target report
ok "more than was asked for is refused" exits 3 helm action-scope evaluate --message 'show docs/x' --attempt delete
ok "less is not" exits 0 helm action-scope evaluate --message 'update docs/x' --attempt inspect
ok "nor is what a resource does not permit" exits 3 helm action-scope evaluate --message 'delete docs/x' --attempt delete --resource telegram_outbound
ok "one that nobody knows" exits 2 helm action-scope evaluate --message 'show x' --attempt inspect --resource moon
ok "budgets of texts" says 0 '"browser.snapshot"' helm compression profiles --json
ok "what is promised holds here" exits 0 helm verify-contract
ok "and is told one by one" says 0 '"guard_fails_closed"' helm verify-contract --json
ok "a watch is launched" says 0 '"launched": true' helm health launch --current-model none --json

ok "a task has steps" helm task state t1 --require build --require test
ok "one that nobody requires is none" exits 2 helm task state t1 --done ship
ok "it is not final before all are done" says 2 "not done: 'build'" helm task state t1 --finalize
ok "in any order" helm task state t1 --done test --done build
ok "nor while something is in the way" sh -c '! "$@"' - env HOME="$scratch/home" "$HELM_REAL" task state t1 --blocker review --finalize
ok "then it is" [ "$(helm task state t1 --unblock review --finalize --json | field is_final)" = True ]
ok "another task knows nothing of it" [ "$(helm task state t2 --json | field finalization_state)" = pending ]
helm run --task-id t3 -- true >/dev/null 2>&1
ok "a task that the ledger calls completed is final, if nobody wants more" [ "$(helm task state t3 --json | field finalization_state)" = finalized ]
ok "and says so" [ "$(helm task state t3 --json | field task_status)" = completed ]
ok "with a step open it is not" [ "$(helm task state t3 --require review --json | field is_final)" = False ]
helm run --task-id t4 -- false >/dev/null 2>&1
ok "one that failed is not" [ "$(helm task state t4 --json | field finalization_state)" = pending ]

# ---- gates ----
printf '{"a":\n' >bad.json
printf '[x]\ny = 1\n' >good.toml
ok "files of known kinds are read" says 1 '"failed"' helm gates run --json bad.json good.toml
ok "a good one passes" exits 0 helm gates run good.toml
printf '{"by_extension":{"sh":["sh","-n","{path}"]},"before_complete":[{"name":"done","run":["test","-e","done"],"profile":"inspect_local"}]}' >"$ws/references/gate_policy.json"
printf 'if\n' >"bad one.sh"
ok "others by a command, also with a blank in the name" says 1 '"failed"' helm gates run --json "bad one.sh"
helm profile run inspect_local --task-id g1 -- false
ok "a gate that does not hold refuses the completion" says 1 "gate 'done' does not hold" helm task complete g1 --evidence note:x
touch "$ws/done"
ok "one that does is evidence" helm task complete g1 --evidence note:x
ok "in the row" says 0 gate:done helm task show g1 --json
printf '{"before_complete":[{"name":"wide","run":["true"],"profile":"service_ops"}]}' >"$ws/references/gate_policy.json"
ok "a tree does not choose a profile that reaches further" says 1 "not 'service_ops'" helm task complete g1 --evidence note:y
finish
