#!/bin/sh
# helm shadow-report: what is counted of rows that gates left while they only watched, and the advice at each edge.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to write rows"
fresh_workspace
cat >rows.py <<'PY'
"""rows.py STATE WHAT N BAD: N rows of this kind, BAD of them such that the gate would have stopped, or missed, something."""
import json, os, sys, time
state, what, n, bad = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
ledger, proxy = os.path.join(state, "task-ledger.jsonl"), os.path.join(state, "traces", "proxy-events.jsonl")
os.makedirs(os.path.dirname(proxy), exist_ok=True)
for f in (ledger, proxy):
    open(f, "w").close()
def row(i):
    is_bad = i < bad
    return {"browser": (ledger, {"status": "browser_recon_shadow", "browser_recon": {"block_mutation": is_bad}}),
            "pause": (ledger, {"status": "blocked_by_pause"}),
            "repair": (proxy, {"verdict": "abort" if is_bad else "ok"}),
            "older": (proxy, {"action": "give_up" if is_bad else "nudge_and_retry"}),
            "other": (proxy, {"action": "something else"}),
            "respond": (proxy, {"event_type": "terminal_without_tool", "tool_required": is_bad}),
            "cleanup": (ledger, dict({"status": "completed", "browser_recon": {"require_cleanup_evidence": True}}, **({} if is_bad else {"cleanup_status": "closed"})))}[what]
for i in range(n):
    file, doc = row(i)
    with open(file, "a") as f:
        f.write(json.dumps(dict(doc, task_id="t%d" % i, timestamp=at, started_at=at)) + "\n")
PY
advice() { # advice FEATURE KIND N BAD
  python3 rows.py "$ws/.helm" "$2" "$3" "$4" && helm shadow-report --with-recommendations --format json --feature "$1" >report.json &&
    python3 -c '
import json, sys
def find(d, k):
    if isinstance(d, dict):
        if k in d and isinstance(d[k], dict) and "verdict" in d[k]: return d[k]["verdict"]
        for v in d.values():
            x = find(v, k)
            if x: return x
print(find(json.load(open("report.json")), sys.argv[1]))' "$1"
}
is() { # is VERDICT FEATURE KIND N BAD
  wanted=$1
  shift
  got=$(advice "$@")
  [ "$got" = "$wanted" ] || { echo "$*: $got, wanted $wanted"; cat report.json; return 1; }
}
ok "browser: nothing seen" is no_signal browser_verifier browser 0 0
ok "browser: too little" is needs_more_data browser_verifier browser 9 0
ok "browser: ten are enough" is ready_to_enforce browser_verifier browser 10 4
ok "browser: half of them stopped" is caution browser_verifier browser 10 5
ok "pause: nothing seen" is no_signal pause_gate pause 0 0
ok "pause: one is enough" is ready_to_enforce pause_gate pause 1 0
ok "repair: too little" is needs_more_data model_repair repair 4 0
ok "repair: five are enough" is ready_to_enforce model_repair repair 5 2
ok "repair: half of them given up" is caution model_repair repair 6 3
ok "repair: rows of older writers count" is caution model_repair older 6 3
ok "repair: and are ready, too" is ready_to_enforce model_repair older 5 2
ok "repair: an action that is no verdict does not count" is needs_more_data model_repair other 9 0
ok "respond: nothing seen" is no_signal synthetic_respond_inferred respond 0 0
ok "respond: three of ten would have helped" is ready_to_enforce synthetic_respond_inferred respond 10 3
ok "respond: fewer" is caution synthetic_respond_inferred respond 10 2
ok "cleanup: nothing owed" is no_signal cleanup_evidence_gate cleanup 0 0
ok "cleanup: most is given" is ready_to_enforce cleanup_evidence_gate cleanup 10 2
ok "cleanup: three of ten are missing" is caution cleanup_evidence_gate cleanup 10 3

# What a report says of the record, and a decision of what was used.
fresh_workspace
helm run -- true >/dev/null
ok "a page says that the record was checked for it" says 0 "checked when this page was made" helm report --format html
ok "a list says how far it was checked" says 0 "- Record: checked up to receipt 2" helm report --format markdown
ok "what was not violated is not there" sh -c '! grep -q violation "$0"' "$(helm guard check --json -- ls >one.json; echo one.json)"
ok "what was, is named" says 25 '"denied_used"' helm guard check --json -- curl https://example.com
finish
