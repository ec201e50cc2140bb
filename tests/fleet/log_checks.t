#!/bin/sh
# log_checks.t — each machine holds the log's checkpoint against the one before, and says so with its next sign of life: the centre shows who found what, and who has not looked for long.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
centre reader add look >reader
for m in anna bert carl; do machine_new $m >/dev/null 2>&1; done
act anna 2
machine anna fleet sync >/dev/null 2>&1
wait_for 20 settled
machine anna fleet sync >/dev/null 2>&1
machine bert fleet sync >/dev/null 2>&1

cat >ask.py <<'PY'
import json, sys, urllib.request
def get(path):
    with urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/api/v1/console/" + path, headers={"Authorization": "Bearer " + open("reader").read().strip()})) as r:
        return json.load(r)
node = sys.argv[2]
log, now, one = get("log"), get("now"), get("machines/" + node)["machine"]
row = [x for x in log["checks"] if x["node"] == node]
print("standing=%s" % row[0]["log"]["standing"] if row else "standing=none")
print("sizes=%s" % (row and 0 <= row[0]["log"].get("from", -1) <= row[0]["log"].get("to", -1) <= log["receipts"] and row[0]["log"]["to"] > 1))
print("why=%s" % row[0]["log"].get("why", "") if row else "")
print("first=%s" % (log["checks"][0]["node"] == node))
print("wrong=%s" % (node in [x["node"] for x in now["wrong"]]))
print("worst=%s" % (bool(now["wrong"]) and now["wrong"][0]["node"] == node))
print("same=%s" % (one["log"]["standing"] == row[0]["log"]["standing"] if row else "none"))
PY
node_of() { sed -n 's/.*"node": *"\([0-9]*\)".*/\1/p' "$scratch/m/$1/.helm/fleet/joined.json" | head -1; }
seen() { python3 ask.py "$url" "$(node_of "$1")" 2>&1; }
change() { python3 - "$scratch/m/$1/.helm/fleet/state.json" "$2" <<'PY'
import json, sys
doc = json.load(open(sys.argv[1]))
exec(sys.argv[2])
json.dump(doc, open(sys.argv[1], "w"))
PY
}
# A machine that has no guard is not right for that reason: here all have one, as far as the ledger knows.
armed() { sql "$pgdir" "UPDATE fleet.node SET beat = convert_to(replace(convert_from(beat, 'UTF8'), '\"armed\":[]', '\"armed\":[{\"client\":\"x\",\"scope\":\"user\",\"state\":\"armed\"}]'), 'UTF8') WHERE beat IS NOT NULL" >/dev/null; }

armed
ok "a machine that has checked the log is shown so" says 0 "standing=good" seen anna
ok "with the sizes it compared" says 0 "sizes=True" seen anna
ok "one page of it says what the list says" says 0 "same=True" seen anna
ok "it is right" says 0 "wrong=False" seen anna
record_of() { centre nodes --json | python3 -c 'import json, sys; print([(x["record"]["standing"], x["standing"], x["record"].get("why", "")) for x in json.load(sys.stdin) if x["node"] == sys.argv[1]])' "$(node_of "$1")"; }
ok "its own record is sound, it says" says 0 "('sound', " record_of anna
cp "$scratch/m/anna/.helm/workspace/.helm/tool-calls.jsonl" calls.kept
sed -i '1s/Bash/Bosh/' "$scratch/m/anna/.helm/workspace/.helm/tool-calls.jsonl"
machine anna fleet sync >/dev/null 2>&1
ok "one whose record is not sound says so, and is red" says 0 "('not sound', 'red', 'receipt" record_of anna
ok "for eyes, too" says 0 "record not sound" centre nodes
cp calls.kept "$scratch/m/anna/.helm/workspace/.helm/tool-calls.jsonl"
machine anna fleet sync >/dev/null 2>&1
armed
ok "one that has joined and was never heard has never checked it" says 0 "standing=never" seen carl
ok "it stands in the first beat after the check, not in the next round" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.node WHERE convert_from(beat, 'UTF8') LIKE '%\"result\":\"good\"%'")" -ge 1 ]

# This machine has seen a larger tree: the ledger that it is shown now was set back.
change anna 'doc["checkpoint_size"] = 100000'
machine anna fleet sync >sync.out 2>&1
armed
ok "a log that was set back has failed there, and why is said" says 0 "had shown 100000 before" seen anna
ok "with that very round" says 0 "standing=failed" seen anna
ok "it comes first" says 0 "first=True" seen anna
ok "and is the first of those that are not right" says 0 "worst=True" seen anna
ok "the centre's list says so" says 0 "log check failed" centre nodes
ok "and the audit finds it" says 1 "does not believe the log" centre audit
change anna 'doc["checkpoint_size"] = 0; doc.pop("checkpoint", None)'
machine anna fleet sync >/dev/null 2>&1
machine anna fleet sync >/dev/null 2>&1
ok "a good one behind it does not take that away: a person looks first" says 0 "standing=failed" seen anna
change anna 'doc.pop("alarm", None)'
machine anna fleet sync >/dev/null 2>&1
machine anna fleet sync >/dev/null 2>&1
armed
ok "then it holds again" says 0 "standing=good" seen anna
ok "and is right again" says 0 "wrong=False" seen anna

# One that is heard and has not looked for long: by the machine's own clock, from its check to its heartbeat.
sql "$pgdir" "UPDATE fleet.node SET beat = convert_to(regexp_replace(convert_from(beat, 'UTF8'), '\"checked\":\\{\"at\":\"[^\"]*\"', '\"checked\":{\"at\":\"2020-01-01T00:00:00Z\"'), 'UTF8') WHERE host <> '' AND node_id = $(node_of bert)" >/dev/null
armed
ok "one that has not checked it for long is shown so" says 0 "standing=old" seen bert
ok "and is not right" says 0 "wrong=True" seen bert
sql "$pgdir" "UPDATE fleet.node SET beat = convert_to('{\"at\":\"2020-01-01T00:00:00Z\",\"armed\":\"<img>\",\"checked\":{\"at\":\"2020-01-01T00:00:00Z\",\"from\":\"x\",\"to\":[],\"result\":\"<img src=x>\"}}', 'UTF8') WHERE node_id = $(node_of bert)" >/dev/null
ok "what a machine says of it may be anything, and is not good then" says 0 "standing=failed" seen bert
sql "$pgdir" "UPDATE fleet.node SET beat = convert_to('{\"at\":7,\"checked\":{\"at\":{},\"result\":\"good\"}}', 'UTF8') WHERE node_id = $(node_of bert)" >/dev/null
ok "without a time it is never" says 0 "standing=never" seen bert
centre retire "$(node_of bert)" >/dev/null 2>&1
ok "one that was retired is asked no more" says 0 "standing=none" seen bert
fleet_end
finish
