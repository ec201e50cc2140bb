#!/bin/sh
# Sessions of browsers: judged by profile, noted or held, counted, and owing proof that they cleaned up.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to read answers"
fresh_workspace
field() { python3 -c 'import json,sys; d=json.load(sys.stdin); print([k for k in sorted(d) if d[k] is True])'; }
flags() { helm browser check --json "$@" --url-pattern https://shop.example.org/x | field; }
ok "looking may read" [ "$(flags --profile inspect_local --action read)" = "['allow_single_session']" ]
ok "and in several sessions" [ "$(flags --profile inspect_local --action crawl_batch --parallel)" = "['allow_parallel', 'allow_single_session']" ]
ok "it changes nothing" [ "$(flags --profile inspect_local --action submit)" = "['block_mutation']" ]
ok "nor does it log in" [ "$(flags --profile inspect_local --action read --logged-in)" = "['require_user_login']" ]
ok "live work may log in" [ "$(flags --profile service_ops --action read --logged-in)" = "['allow_single_session', 'require_user_login']" ]
ok "and change, when a person confirms" [ "$(flags --profile service_ops --action submit)" = "['allow_single_session', 'require_confirmation']" ]
ok "but not in several sessions" [ "$(flags --profile service_ops --action submit --parallel)" = "['require_confirmation']" ]
ok "risky work owes proof" [ "$(flags --profile risky_edit --action screenshot)" = "['allow_single_session', 'require_cleanup_evidence']" ]
ok "which nothing owes that may not begin" [ "$(flags --profile risky_edit --action fillform)" = "['block_mutation']" ]
ok "small edits use no browser" [ "$(flags --profile workspace_edit --action read)" = "[]" ]
ok "nor does what is handed over" exits 27 helm browser check --profile remote_handoff --action read --url-pattern x.org
ok "a profile that nobody described asks and does not begin" [ "$(flags --profile develop --action read)" = "['require_confirmation']" ]
ok "an action that nobody knows, too" [ "$(flags --profile inspect_local --action dance)" = "['require_confirmation']" ]
ok "and one without a place" exits 27 helm browser check --profile inspect_local --action read
mkdir -p "$ws/skills/browser-site-notes"
echo "Prices load late." >"$ws/skills/browser-site-notes/shop.example.org.md"
ok "a note about the site is found by its host" says 0 browser-site-notes/shop.example.org.md helm browser check --profile inspect_local --action read --url-pattern 'https://me@*.shop.example.org.:8443/a' --json
ln -s /etc/passwd "$ws/skills/browser-site-notes/evil.example.org.md"
ok "one that leads outside is none" says 0 '"existing_site_note": null' helm browser check --profile inspect_local --action read --url-pattern evil.example.org --json
ok "nor is one that is named and not there" says 0 '"existing_site_note": null' helm browser check --profile inspect_local --action read --url-pattern x.org --site-note nowhere.md --json

# ---- only noted ----
cd "$scratch/project" || exit 1
with() { helm profile run "$@"; }
ok "by default it is only noted" with inspect_local --task-id s1 --browser-action submit --browser-url-pattern https://x.org -- true
ok "for the shadow report" says 0 '"block_mutation_true": 1' helm shadow-report --format json --feature browser_verifier
ok "and the run is completed" says 0 '"status": "completed"' helm task show s1 --json

# ---- held ----
held() { HELM_ENV="HELM_BROWSER_GATE=1" helm profile run "$@"; }
ok "held, what it blocks does not run" exits 27 held inspect_local --task-id b1 --browser-action submit --browser-url-pattern https://x.org -- echo it-ran
ok "nothing ran" [ -z "$(held inspect_local --browser-action submit --browser-url-pattern https://x.org -- echo it-ran 2>/dev/null)" ]
ok "the row says why" says 0 '"browser_block_reason": "this profile changes nothing' helm task show b1 --json
ok "the decision is signed" says 0 deny.browser helm receipts list --limit 1 --json
ok "approving does not help" exits 27 held inspect_local --approve-risk --browser-action submit --browser-url-pattern https://x.org -- true
ok "what reads runs" held inspect_local --browser-action read --browser-url-pattern https://x.org -- true
ok "what changes waits for a person" exits 24 held service_ops --task-id b2 --browser-action submit --browser-url-pattern https://x.org -- true
ok "in a state of its own" says 0 '"status": "browser_requires_approval"' helm task show b2 --json
ok "who may say yes" held service_ops --task-id b3 --approve-risk --browser-action submit --browser-url-pattern https://x.org -- true
ok "and that is in the ledger" grep -q browser_approved_with_risk "$ledger"
echo note >"$ws/skills/browser-site-notes/x.org.md"
ok "a note of the tree answers no question" exits 24 held service_ops --browser-action submit --browser-url-pattern https://x.org -- true
old_name() { HELM_ENV="OPENCLAW_BROWSER_GATE=true $1" helm profile run workspace_edit --browser-action read --browser-url-pattern x.org -- true; }
ok "the old name of the switch is understood" exits 27 old_name A=1
ok "and the new one wins" old_name HELM_BROWSER_GATE=0
ok "the guard's own denial stays one" exits 25 held inspect_local --browser-action read --browser-url-pattern x.org -- rm -rf /

# ---- proof ----
ok "risky work that does not clean up is not done" exits 28 held risky_edit --task-id c1 --browser-action read --browser-url-pattern x.org -- true
ok "its state says what it owes" says 0 '"status": "browser_cleanup_required"' helm task show c1 --json
ok "another word is none" exits 2 helm browser cleanup c1 --status clean
helm profile run inspect_local --task-id plain -- true
ok "a task without a browser has nothing to clean" exits 2 helm browser cleanup plain --status ok
ok "nor has one that is not there" exits 1 helm browser cleanup nowhere --status ok
ok "somebody says it" helm browser cleanup c1 --status ok --evidence 'profile directory removed'
ok "then it is completed" says 0 '"status": "completed"' helm task show c1 --json
ok "and the report counts it" says 0 '"missing_cleanup_count": 0' helm shadow-report --format json --feature cleanup_evidence_gate

# ---- as many as there may be ----
now=$(date -u +%Y-%m-%dT%H:%M:%S+00:00)
for i in 1 2 3 4 5; do
  printf '{"task_id": "open-%s", "status": "running", "profile": "inspect_local", "started_at": "%s", "browser_recon": {"allow_single_session": true}}\n' "$i" "$now"
done >>"$ledger"
ok "five sessions are enough" exits 27 held inspect_local --task-id m1 --browser-action read --browser-url-pattern x.org -- true
ok "and that is counted" says 0 '"inspect_local": 1' helm shadow-report --format json --feature max_sessions_hits
printf '{"task_id": "open-1", "status": "running", "profile": "inspect_local", "started_at": "%s", "cleanup_status": "ok", "browser_recon": {}}\n' "$now" >>"$ledger"
ok "one that was closed makes room" held inspect_local --browser-action read --browser-url-pattern x.org -- true
for i in 1 2 3; do
  printf '{"task_id": "rl-%s", "status": "failed", "profile": "service_ops", "started_at": "%s", "meta": {"harness": {"retrieval_evidence": {"exit_classification": "fetch_blocked"}}}}\n' "$i" "$now"
done >>"$ledger"
ok "who was turned away three times today rests" exits 27 held service_ops --browser-action read --browser-url-pattern x.org -- true
finish
