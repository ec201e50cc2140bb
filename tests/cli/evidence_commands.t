#!/bin/sh
# What is run afterwards to show that work was done: by a list that the tree alone cannot make longer, inside the same walls, on record.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

python3 -c 'import unittest' 2>/dev/null || skip_all "python3 with unittest is needed"
ws=/var/tmp/helm-evidence.$$
trap 'chmod -R u+rwX "$scratch" "$ws" 2>/dev/null; rm -rf "$scratch" "$ws"' EXIT
helm init --path "$ws" >/dev/null || { echo "Bail out! helm init failed"; exit 1; }
cd "$ws" || exit 1
HELM_ENV="HELM_WORKSPACE=$ws"
last() { # last EXPRESSION: of the newest row of the ledger, as r; all rows are rows
  python3 -c 'import json,sys; rows=[json.loads(l) for l in open(".helm/task-ledger.jsonl")]; r=rows[-1]; g=r.get("evidence_gathering"); sys.exit(0 if eval(sys.argv[1]) else json.dumps(r))' "$1"
}
bundle() { # bundle ID EXPRESSION: of the kept document, as d
  python3 -c 'import json,sys; d=json.load(open(".helm/task-bundles/%s/verification-evidence.json"%sys.argv[1])); sys.exit(0 if eval(sys.argv[2]) else json.dumps(d))' "$1" "$2"
}
mkdir t
cat >t/test_page.py <<'P'
import os, unittest
class Page(unittest.TestCase):
    def test_page(self):
        with open("docs/page.md") as f:
            self.assertEqual(f.read(), "right\n")
    def test_walls(self):
        print("secret of the walls")
        with self.assertRaises(OSError):
            open(os.path.join(os.environ["HOME"], "outside"), "w")
P
tests='["python3","-m","unittest","discover","-s","t"]'

# ---- one that passes ----
ok "a run with evidence" helm run --task-id p1 --evidence-command-json "$tests" -- sh -c 'echo right >docs/page.md'
ok "claims can rest on what it showed" last '"verification_result:passed" in r["evidence_refs"] and "test_result:passed" in r["evidence_refs"] and r["operational_status"]=="verified"'
ok "and one does" last '("verification_passed",True) in [(c["claim_id"],c["ok"]) for c in r["finalization_gate"]["claims"]]'
ok "its row says what was run" last 'g["ok"] and g["status"]=="passed" and g["command_results"][0]["kind"]=="test" and g["command_results"][0]["exit_code"]==0'
ok "which is a task of its own, below it and before its end" last '[(x["parent_task_id"],x["profile"],x["status"],x.get("protections",{}).get("files_confined")) for x in rows if x["task_id"]==g["command_results"][0]["task_id"]][-1]==("p1","workspace_edit","completed",True)'
ok "decided and on record by itself" sh -c '"$@" | grep -q ALLOW' - env HOME="$scratch/home" HELM_WORKSPACE="$ws" "$HELM_REAL" task show --history "$(tail -n 1 .helm/task-ledger.jsonl | python3 -c 'import json,sys; print(json.loads(sys.stdin.read())["evidence_gathering"]["command_results"][0]["task_id"])')" --json
ok "the log of commands knows what it was" grep -q '"component": "evidence"' .helm/command-log.jsonl
ok "the whole is kept, and the row has its digest" sh -c 'grep -q "$(sha256sum .helm/task-bundles/p1/verification-evidence.json | cut -c1-64)" .helm/task-ledger.jsonl'
ok "with all that is said of it" bundle p1 'd["schema_version"]==1 and d["ok"] and d["limits"]=={"max_commands":8,"timeout_seconds":300,"output_chars":12000} and d["requested_command_count"]==1 and d["file_results"][0]["path"]=="docs/page.md" and d["command_results"][0]["allowlist_prefix"]==["python3","-m","unittest"] and d["command_results"][0]["stderr_truncated"] is False'
ok "its output is not the run's" sh -c '[ "$("$@")" = only ]' - env HOME="$scratch/home" HELM_WORKSPACE="$ws" "$HELM_REAL" run --evidence-command-json "$tests" -- echo only
ok "a person sees it" says 0 "evidence=passed python3 -m unittest" helm task show --plain p1
ok "the log is sound" helm log check

# ---- one that does not ----
ok "one that fails fails the run" says 30 "VERIFICATION FAILED: python3 -m unittest discover -s t failed: it ended with 1" helm run --task-id f1 --evidence-command-json "$tests" -- sh -c 'echo wrong >docs/page.md'
ok "which is not completed" last 'r["status"]=="needs_verification" and r["failure_stage"]=="verification" and r["exit_code"]==0 and r["operational_status"]=="needs_verification" and r["next_action"]'
ok "and shows nothing but its own end" last 'not [x for x in r["evidence_refs"] if x.startswith(("verification_result","test_result"))]'
ok "nobody may be told that it is done" exits 3 helm harness reply --task-id f1
ok "nor say so by hand" says 2 "only a run shows that" helm task complete f1 --evidence verification_result:passed
echo right >docs/page.md
ok "one of several is enough for that" exits 30 helm run --evidence-command-json "$tests" --evidence-command-json '["python3","-m","unittest","nowhere"]' -- true
ok "and each is told" last '[x["status"] for x in g["command_results"]]==["passed","failed"]'
exits 3 helm run --evidence-command-json "$tests" -- sh -c 'exit 3' >/dev/null
ok "of what has failed nothing is verified" last 'r["status"]=="failed" and g is None and r["exit_code"]==3'

# ---- what is not on the list is not run ----
rejected() { # rejected ARRAY WHY
  rm -f docs/ran
  says 30 "$2" helm run --evidence-command-json "$1" -- true && [ ! -e docs/ran ] && last 'g["command_results"][0]["status"]=="rejected" and "task_id" not in g["command_results"][0]'
}
ok "another command" rejected '["touch","docs/ran"]' "not on the list"
ok "the beginning of one" rejected '["npm"]' "not on the list"
ok "a word that only begins like it" rejected '["npm","tests"]' "not on the list"
ok "an option before it" rejected '["python3","-I","-m","unittest"]' "not on the list"
for word in 'a;b' 'a&b' 'a|b' 'a<b' 'a>b' 'a$(b)' 'a${b}' 'a`b' 'a\nb' 'a\rb'; do
  ok "a word like $word" rejected "[\"npm\",\"test\",\"$word\"]" "a character of the shell"
done
mkdir bin
printf '#!/bin/sh\ntouch docs/ran\n' >bin/npm
chmod +x bin/npm
ok "a program of that name elsewhere" rejected '["bin/npm","test"]' "not the one that PATH finds"
ok "by its whole path neither" rejected "[\"$ws/bin/npm\",\"test\"]" "not the one that PATH finds"
ok "the one that PATH finds may be named by its path" helm run --evidence-command-json "[\"$(command -v python3)\",\"-m\",\"unittest\",\"discover\",\"-s\",\"t\"]" -- true
for bad in '{}' '[]' '"npm test"' '[1]' '[""]' 'x'; do
  ok "$bad is no command" exits 2 helm run --evidence-command-json "$bad" -- touch docs/ran
done
ok "so nothing ran" [ ! -e docs/ran ]
set --
for _ in 1 2 3 4 5 6 7 8 9; do set -- "$@" --evidence-command-json '["python3","-m","unittest","t.test_page.Page.test_page"]'; done
touch t/__init__.py
ok "there is a bound" says 30 "more than 8 commands" helm run "$@" -- true
ok "and what is behind it is not run" last '[x["status"] for x in g["command_results"]]==["passed"]*8+["rejected"]'

# ---- decided like anything else ----
ok "where nothing may be written it cannot either" helm profile run inspect_local --evidence-command-json '["python3","-m","unittest","t.test_page.Page.test_walls"]' -- true
ok "under the same profile" last '[x["profile"] for x in rows if x["parent_task_id"]==r["task_id"]][-1]=="inspect_local"'
printf '{"version": 1, "absolute_deny": [{"id": "no_tests", "patterns": ["unittest"]}]}' >references/guard_policy.json
ok "what the guard denies is not run" says 30 "GUARD DENY" helm run --evidence-command-json "$tests" -- true
ok "and its denial is on record" last 'g["command_results"][0]["status"]=="rejected" and [x["status"] for x in rows if x["task_id"]==g["command_results"][0]["task_id"]][-1]=="blocked"'
rm references/guard_policy.json
printf '{"objective":"x","scope":["docs"],"tasks":[{"task_id":"t1","title":"x","acceptance_criteria":["x"]}],"verification":["x"],"rollback_note":"x"}' >plan.json
printf 'import unittest\nclass W(unittest.TestCase):\n    def test_w(self): open("outside.md", "w").close()\n' >t/test_w.py
ok "it is held to the same plan" exits 30 helm run --consensus-plan plan.json --evidence-command-json '["python3","-m","unittest","t.test_w"]' -- touch docs/x
ok "by walls" [ ! -e outside.md ]
rm t/test_w.py

# ---- a command that shows something by itself ----
ok "tests that are the command" helm run --task-id r1 -- python3 -m unittest discover -s t
ok "are not run a second time" last '"verification_result:passed" in r["evidence_refs"] and g["command_results"][0]["reused"] and not [x for x in rows if x["parent_task_id"]=="r1"]'
ok "a command that is none shows none" helm run -- true
ok "so nothing is said" last 'g is None and not [x for x in r["evidence_refs"] if x.startswith("verification_result")]'

# ---- the list ----
printf '{"allowed_prefixes": [["true"], ["python3", "-m", "unittest"]]}' >references/evidence_commands.json
ok "what the tree adds does not count" rejected '["true"]' "not on the list"
ok "and that is said" says 30 "what it would loosen does not count" helm run --evidence-command-json '["true"]' -- true
ok "what both have does" helm run --evidence-command-json "$tests" -- true
printf '{"limits": {"max_commands": 1}, "allowed_prefixes": [["python3", "-m", "unittest", "t.test_page"], ["npm", "test"]]}' >references/evidence_commands.json
ok "a stricter one counts" rejected "$tests" "not on the list"
ok "without a word of anybody" sh -c '! "$@" | grep -q evidence_commands' - env HOME="$scratch/home" "$HELM_REAL" status --brief --path "$ws"
ok "its limits, too" says 30 "more than 1 commands" helm run --evidence-command-json '["python3","-m","unittest","t.test_page"]' --evidence-command-json '["python3","-m","unittest","t.test_page"]' -- true
for bad in '{' '[]' '{"allowed_prefixes": [["npm"], "x"]}' '{"allowed_prefixes": [[]]}' '{"limits": {"max_commands": 0}}' '{"limits": {"timeout_seconds": "long"}}' '{"schema_version": 2}' '{"repository_prefixes": [{"prefixes": []}]}'; do
  printf '%s' "$bad" >references/evidence_commands.json
  ok "with $bad nothing counts" rejected "$tests" "cannot be read"
done
printf '{"limits": {"timeout_seconds": 1}, "allowed_prefixes": [["sleep"], ["true"]], "repository_prefixes": [{"root": ".", "prefixes": [["test", "-e"]]}, {"root": "elsewhere", "prefixes": [["false"]]}]}' >references/evidence_commands.json
ok "a person is shown what it adds, and accepts it" says 0 "'sleep' shows that work was done" trust "$ws"
ok "then it counts" helm run --evidence-command-json '["true"]' -- true
ok "by the word of a person" last 'g["allowlist"]=="accepted" and g["command_results"][0]["kind"]=="verification"'
ok "in place of the shipped one" rejected "$tests" "not on the list"
ok "also for one repository" helm run --evidence-command-json '["test","-e","docs/page.md"]' -- true
ok "and not for another" rejected '["false"]' "not on the list"
ok "one that does not end is ended" says 30 "no end within 1 s" helm run --evidence-command-json '["sleep","60"]' -- true
ok "which is told as that" last 'g["command_results"][0]["status"]=="timeout"'
printf '{"allowed_prefixes": [["touch"]]}' >references/evidence_commands.json
ok "what the file becomes later does not count" rejected '["touch","docs/ran"]' "not on the list"

# ---- services ----
readback() { printf '{"source":"registry","command":%s%s}' "$1" "${2:-}"; }
ok "what nobody accepted does not ask a service" says 30 "no readback command that a person accepted" helm run --service-evidence-json "$(readback '["grep","-q","right","docs/page.md"]')" -- true
ok "nor does a command of the other list" says 30 "no readback command that a person accepted" helm run --service-evidence-json "$(readback '["true"]')" -- true
printf '{"allowed_prefixes": [["true"]], "service_readback_prefixes": [["grep", "-q"]]}' >references/evidence_commands.json
ok "in the tree alone neither" says 30 "no readback command that a person accepted" helm run --service-evidence-json "$(readback '["grep","-q","right","docs/page.md"]')" -- true
ok "a person accepts it as that" says 0 "'grep -q' shows what a service has" trust "$ws"
ok "then the service is asked" helm run --task-id s1 --service-evidence-json "$(readback '["grep","-q","right","docs/page.md"]')" -- true
ok "and what it shows is evidence" last '"service_readback:registry" in r["evidence_refs"] and r["operational_status"]=="verified" and g["service_results"][0]["provenance"]=="evidence_gatherer_command"'
ok "that the change is claimed by" last '"service_change_verified" in [c["claim_id"] for c in r["finalization_gate"]["claims"]]'
ok "the whole is kept" bundle s1 'd["service_results"][0]["source"]=="registry" and d["service_results"][0]["status"]=="passed" and d["requested_command_count"]==1'
ok "a person sees it, too" says 0 "readback=passed registry" helm task show --plain s1
ok "a service that shows something else" says 30 "failed: it ended with 1" helm run --service-evidence-json "$(readback '["grep","-q","wrong","docs/page.md"]')" -- true
ok "shows nothing" last 'r["status"]=="needs_verification" and not [x for x in r["evidence_refs"] if x.startswith("service_readback")]'
ok "the word of a caller shows nothing either" says 30 "rejected" helm run --service-evidence-json '{"source":"registry","provenance":"actual_remote_readback","ok":true,"status":"passed"}' -- true
ok "and is no evidence" last '"provenance" not in g["service_results"][0] and not [x for x in r["evidence_refs"] if x.startswith("service_readback")]'
ok "a readback command is no evidence command" rejected '["grep","-q","right","docs/page.md"]' "not on the list"
for bad in '[]' '{}' '{"source":""}' '{"source":"a\nb"}' '{"source":"x","command":[]}' '{"source":"x","command":"true"}'; do
  ok "$bad names no service" exits 2 helm run --service-evidence-json "$bad" -- true
done
ok "the log is still sound" helm log check
finish
