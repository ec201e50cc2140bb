#!/bin/sh
# A task is done when the record shows it: evidence and claims of runs, what a person adds by hand, and plans that a run is held to.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to read answers"
ws=/var/tmp/helm-completion.$$
trap 'chmod -R u+rwX "$scratch" "$ws" 2>/dev/null; rm -rf "$scratch" "$ws"' EXIT
helm init --path "$ws" >/dev/null || { echo "Bail out! helm init failed"; exit 1; }
cd "$ws" || exit 1
HELM_ENV="HELM_WORKSPACE=$ws"
last() { # last EXPRESSION: of the newest row of the ledger, as r
  tail -n 1 .helm/task-ledger.jsonl | python3 -c 'import json,sys; r=json.loads(sys.stdin.read()); sys.exit(0 if eval(sys.argv[1]) else json.dumps(r))' "$1"
}

# ---- what a run shows by itself ----
ok "a run that writes" helm run --task-id w1 -- sh -c 'echo text >docs/a.md'
sum=$(sha256sum docs/a.md | cut -c1-64)
ok "shows its end and the file as it is" last 'r["evidence_refs"]==["process_exit:0","filesystem_stat:docs/a.md#sha256='"$sum"'"]'
ok "claims both, and both hold" last '[(c["claim_id"],c["ok"]) for c in r["finalization_gate"]["claims"]]==[("command_completed",True),("file_changed:docs/a.md",True)]'
ok "so it is verified" last 'r["finalization_gate"]["arbiter"]=="pass" and r["operational_status"]=="verified"'
ok "a person sees it" says 0 "claim=holds file_changed:docs/a.md" helm task show --plain w1
ok "what is deleted is shown as gone" sh -c '"$@" && tail -n 1 .helm/task-ledger.jsonl | grep -q "filesystem_stat:docs/a.md#absent"' - env HOME="$scratch/home" HELM_WORKSPACE="$ws" "$HELM_REAL" run --approve-risk -- rm docs/a.md
printf 'all:\ntest:\n\t@true\n' >Makefile
ok "tests that passed are evidence of their own" sh -c '"$@" && tail -n 1 .helm/task-ledger.jsonl | grep -q tests_passed' - env HOME="$scratch/home" HELM_WORKSPACE="$ws" "$HELM_REAL" run -- make test
for how in 'make test -n' 'make test --dry-run' 'make test -kn' 'make test --version' 'make check --help' 'make test -h' './pytest' "$ws/pytest" 'env/../pytest' 'env/pytest'; do
  printf '#!/bin/sh\nexit 0\n' >pytest && chmod +x pytest && mkdir -p env && ln -sf /bin/true env/pytest
  # shellcheck disable=SC2086 # words on purpose
  helm run -- $how >/dev/null 2>&1
  ok "what runs no tests shows none: $how" last 'r["exit_code"]==0 and r["evidence_refs"][0]=="process_exit:0" and "test_result:passed" not in r["evidence_refs"]'
done
HELM_ENV="HELM_WORKSPACE=$ws PATH=$ws:$PATH"
helm run -- pytest >/dev/null 2>&1
HELM_ENV="HELM_WORKSPACE=$ws"
ok "nor does a program of the tree that is found by its name" last 'r["exit_code"]==0 and "test_result:passed" not in r["evidence_refs"]'
exits 3 helm run --task-id f1 -- sh -c 'exit 3' >/dev/null
ok "what has failed claims nothing" last 'r["evidence_refs"]==["process_exit:3"] and "finalization_gate" not in r and r["operational_status"]=="failed"'
ok "a large file is known by its size" sh -c '"$@" && tail -n 1 .helm/task-ledger.jsonl | grep -q "big#size=3000000"' - env HOME="$scratch/home" HELM_WORKSPACE="$ws" "$HELM_REAL" run -- sh -c 'head -c 3000000 /dev/zero >big'
promised='{"completion_claims":[{"claim_id":"released","claim":"it is out","evidence_type":"service_readback","evidence_refs":["service_readback:registry"]}]}'
ok "a promise that nothing shows is kept, and said" says 0 "claims more than it shows" helm run --task-id p1 --meta-json "$promised" -- true
ok "and is not verified" last 'r["operational_status"]=="needs_verification" and r["finalization_gate"]["refuter"]["missing_claims"]==["released"]'
ok "nobody may be told that it is done" says 3 "claim_evidence" helm harness reply --task-id p1

# ---- completed by hand ----
ok "without evidence nothing is completed" exits 2 helm task complete f1
ok "an end that it did not have is no evidence" says 2 "ended with 3" helm task complete f1 --evidence process_exit:0
ok "nor is a file that is not there" says 2 "is not what is there" helm task complete f1 --evidence file:docs/none.md
ok "nor one that is another by now" says 2 "is not what is there" helm task complete f1 --evidence "filesystem_stat:MEMORY.md#sha256=$sum"
ok "nor one outside" says 2 "no file of the workspace" helm task complete f1 --evidence file:../../etc/passwd
ok "nor tests that nobody ran" says 2 "only a run shows that" helm task complete f1 --evidence test_result:passed
ok "nor a task that is none" says 2 "no such task" helm task complete f1 --evidence task:nobody
ok "nor a checkpoint that is none" says 2 "no such checkpoint" helm task complete f1 --evidence checkpoint:none
ok "nothing of that changed it" says 0 "status=failed" helm task show --plain f1
printf '[{"claim_id":"a","claim":"the guide is written","evidence_type":"filesystem_stat","evidence_refs":["filesystem_stat:docs/none.md"]}]' >claims.json
ok "a claim that the record does not show is refused" says 2 "does not show what is claimed: a" helm task complete f1 --evidence note:x --claims claims.json
echo guide >docs/guide.md
sum=$(sha256sum docs/guide.md | cut -c1-64)
printf '[{"claim_id":"a","claim":"the guide is written","evidence_type":"filesystem_stat","evidence_refs":["filesystem_stat:docs/guide.md#sha256=%s"]},{"claim_id":"b","claim":"it was run","evidence_type":"process_exit","evidence_refs":["process_exit:3"],"depends_on":["a"]}]' "$sum" >claims.json
ok "one that it shows completes it" says 0 "status=completed" helm task complete f1 --evidence file:docs/guide.md --claims claims.json
ok "and it is verified" last 'r["operational_status"]=="verified" and len(r["finalization_gate"]["claims"])==2'
ok "the word of a person counts as that" says 0 "status=completed" helm task complete p1 --force --evidence review:read-it
ok "and shows nothing" last 'r["operational_status"]=="needs_verification" and "review:read-it" not in r["evidence_refs"]'

# ---- plans ----
plan() { printf '{"objective":"write the docs","scope":%s,"tasks":[{"task_id":"t1","title":"guide","scope":%s,"acceptance_criteria":["the guide is there"]}],"verification":["read it"],"rollback_note":"git checkout"}' "$1" "${2:-$1}" >plan.json; }
plan '["docs"]'
ok "inside of its plan it writes" helm run --task-id k1 --consensus-plan plan.json -- sh -c 'echo x >docs/k.md'
ok "and that is verified" last 'r["consensus_plan"]["status"]=="approved" and r["scope_gate"]=={"ok":True,"scope":["docs"],"violations":[]} and r["operational_status"]=="verified"'
ok "what leaves it is refused" says 25 "leaves the plan of this task" helm run --consensus-plan plan.json -- sh -c 'echo x >docs/l.md; echo x >notes.md'
ok "so nothing is there" [ ! -e notes.md ]
ok "what cannot be read is held by the kernel" sh -c '! "$@" 2>/dev/null; [ ! -e py.md ]' - env HOME="$scratch/home" HELM_WORKSPACE="$ws" "$HELM_REAL" run --consensus-plan plan.json -- python3 -c 'import sys; open(sys.argv[1]+".md","w")' py
plan '["docs/new.md"]'
helm run --consensus-plan plan.json -- sh -c 'echo x >docs/new.md; echo x >docs/other.md' >/dev/null 2>&1
ok "a file beside the one that was planned is told" last 'r["scope_gate"]["violations"]==["docs/other.md"] and r["finalization_gate"]["refuter"]["scope_violation"] and r["operational_status"]=="needs_verification"'
plan '["Dockerfile"]'
ok "a file without a dot in its name is a file" helm run --consensus-plan plan.json -- sh -c 'echo x >Dockerfile'
ok "it is one, and in the plan" sh -c '[ -f Dockerfile ]'
ok "and that is verified, too" last 'r["scope_gate"]["ok"] and r["touched_paths"]==["Dockerfile"]'
plan '["deep/er/LICENSE"]'
ok "its directory is made for it" helm run --consensus-plan plan.json -- sh -c 'echo x >deep/er/LICENSE'
ok "and only that" [ -f deep/er/LICENSE ]
plan '["made/"]'
ok "what ends in a slash is a directory" helm run --consensus-plan plan.json -- sh -c 'echo x >made/a'
ok "so it is made" [ -f made/a ]
# A program that is no text: nobody can read in it what it will do.
printf '#include <unistd.h>\nint main(void) { return unlink("docs/kept.md"); }\n' >tool.c
if cc -o tool tool.c 2>/dev/null; then
  plan '["docs/next.md"]'
  echo x >docs/kept.md
  helm run --approve-risk --consensus-plan plan.json -- ./tool >/dev/null 2>&1
  ok "what is gone is told, though nobody named it" last 'r["scope_gate"]["violations"]==["docs/kept.md"] and r["deleted_paths"]==["docs/kept.md"] and r["operational_status"]=="needs_verification"'
  plan '["docs"]'
  echo x >docs/kept.md
  helm run --approve-risk --consensus-plan plan.json -- ./tool >/dev/null 2>&1
  ok "inside of the plan that is as it should be" last 'r["scope_gate"]["ok"] and r["deleted_paths"]==["docs/kept.md"]'
fi
plan '["docs"]'
helm run --approve-risk --consensus-plan plan.json -- python3 -c 'for i in range(501): open("docs/n%d" % i, "w")' >/dev/null 2>&1
ok "more than is compared is not taken for good" last 'not r["scope_gate"]["ok"] and r["scope_gate"]["reason"]=="not all could be compared" and r["operational_status"]=="needs_verification"'
ok "and a person is told" says 0 "not all could be compared" sh -c 'env HOME="$1" HELM_WORKSPACE="$2" "$3" task show "$(tail -n 1 .helm/task-ledger.jsonl | python3 -c "import json,sys; print(json.loads(sys.stdin.read())[\"task_id\"])")"' - "$scratch/home" "$ws" "$HELM_REAL"
rm -f docs/n*
for bad in '["/etc"]' '["../x"]' '["."]' '["*"]' '[]' '"docs"' '[1]'; do
  plan "$bad"
  ok "a scope of $bad is none" exits 29 helm run --consensus-plan plan.json -- touch never
done
plan '["docs"]' '["src"]'
ok "a task outside of its plan is not started" exits 29 helm run --consensus-plan plan.json -- touch never
ok "and the row says why" last 'r["status"]=="blocked" and r["failure_stage"]=="consensus_plan" and r["next_action"]'
ok "none of them was" [ ! -e never ]
printf '{"scope":["docs"]}' >plan.json
ok "what must hold is never made up" exits 29 helm run --task-name x --consensus-plan plan.json -- touch docs/never
ok "but may be said beside it" helm profile run risky_edit --task-name 'write it' --acceptance 'the file is there' --consensus-plan plan.json -- touch docs/said
printf '{"scope":["docs"],"profile":"service_ops"}' >plan.json
ok "a plan for another profile is none" exits 29 helm run --consensus-plan plan.json --acceptance x -- true
printf 'nothing' >plan.json
ok "nor is a file that is none" exits 1 helm run --consensus-plan plan.json -- true
HELM_ENV="HELM_WORKSPACE=$ws HELM_CONSENSUS_GATE=1"
ok "where plans are asked for, risky work has one" exits 29 helm profile run risky_edit -- touch docs/x
ok "and what is named like a workflow" exits 29 helm run --task-name 'the release workflow' -- touch docs/x
ok "other work needs none" helm run --task-name 'write a page' -- touch docs/y
finish
