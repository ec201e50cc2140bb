#!/bin/sh
# actions: every view tells the same state of an action in the same words, and the same numbers.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
command -v python3 >/dev/null 2>&1 || skip_all "python3 compares the views"

helm init --path "$scratch/ws" >/dev/null
cd "$scratch/ws" || exit 1
pre() { # pre COMMAND ID
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s1","cwd":"%s/ws","tool_use_id":"%s"}' "$1" "$scratch" "$2" |
    agent hook pre-tool --client claude-code
}
post() { # post COMMAND ID CODE
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"tool_response":{"exit_code":%s},"session_id":"s1","cwd":"%s/ws","tool_use_id":"%s"}' "$1" "$3" "$scratch" "$2" |
    agent hook post-tool --client claude-code
}
asked_id() { sed -n 's/.*helm approval approve \(approval-[0-9a-f]*\).*/\1/p' | head -1; }
mkdir build d1 d2 d3 d4 d5
echo kept >d5/file

helm run -- true >/dev/null 2>&1
helm run -- sh -c 'exit 1' >/dev/null 2>&1
pre "rm -rf /" u-denied >/dev/null
pre "rm -rf build" u-client >/dev/null
post "rm -rf build" u-client 0
id=$(pre "rm -rf d1" u-approved | asked_id)
terminal APPROVE -- helm approval approve "$id" >/dev/null 2>&1
pre "rm -rf d1" u-again >/dev/null
post "rm -rf d1" u-again 3
id=$(pre "rm -rf d2" u-refused | asked_id)
terminal DENY -- helm approval deny "$id" >/dev/null 2>&1
id=$(pre "rm -rf d3" u-unused | asked_id)
terminal APPROVE -- helm approval approve "$id" >/dev/null 2>&1
pre "rm -rf d4" u-waiting >/dev/null
pre "rm -rf d5" u-undone >"$scratch/undone"
saved=$(sed -n 's/.*checkpoint restore \([^ "]*\).*/\1/p' "$scratch/undone" | head -1)
rm -rf d5
post "rm -rf d5" u-undone 0
helm checkpoint restore "$saved" --yes >/dev/null 2>&1
me=$(helm approval list --all --json | sed -n 's/.*"responder": "\(user:[^ "]*\).*/\1/p' | head -1)

# The fixture, and what every view has to say of each.
cat >"$scratch/expected" <<LIST
true	done
sh -c 'exit 1'	failed, exit 1
rm -rf /	denied
rm -rf build	done, answered in the client
rm -rf d1	approved by $me
rm -rf d1	failed, exit 3
rm -rf d2	refused by $me
rm -rf d3	approved by $me, not called again
rm -rf d4	waiting for an answer
rm -rf d5	undone
LIST

# Which terminal a person sat at is not the same each time.
anywhere() { sed 's# at /dev/pts/[0-9]*##'; }
# compare VIEW: a list of "sentence TAB state" on standard input is a part of the fixture, and not empty.
compare() {
  anywhere | sort >"$scratch/view" && [ -s "$scratch/view" ] || { echo "$1 shows nothing"; return 1; }
  sort "$scratch/expected" | comm -13 - "$scratch/view" >"$scratch/more"
  [ ! -s "$scratch/more" ] || { echo "$1 says otherwise:"; cat "$scratch/more"; return 1; }
  [ "$(wc -l <"$scratch/view")" -eq "$2" ] || { echo "$1 has $(wc -l <"$scratch/view") rows, wanted $2:"; cat "$scratch/view"; return 1; }
}
pick() { python3 -c 'import json,sys
doc = json.load(sys.stdin)
def out(x): print("%s\t%s" % (x["sentence"], x.get("became") or x["state_text"]))
'"$1"; }
stopped() { helm report --json --limit 0 | pick 'for x in doc["stopped_calls"]: out(x)' | compare "report" 7; }
session() { helm report --session s1 --json | pick 'for x in doc["calls"]: out(x)' | compare "report --session" 8; }
receipts() { helm receipts list --json --limit 0 | pick 'for x in doc["actions"].values(): x["state"] != "recorded" and out(x)' | compare "receipts list" 10; }
approvals() { helm approval list --all --json | pick 'for x in doc["requests"]: out(x["action"])' | compare "approval list" 6; }
ok "report: calls that did not just pass" stopped
ok "report --session: every call" session
ok "receipts list: every action" receipts
ok "approval list --all: every question" approvals
one_by_one() { # one_by_one: receipts show of each
  for receipt in $(helm receipts list --json --limit 0 | python3 -c 'import json,sys; [print(x["receipt_id"]) for x in json.load(sys.stdin)["actions"].values() if x["state"] != "recorded"]'); do
    helm receipts show "$receipt" --json | pick 'out(doc["action"])'
  done | compare "receipts show" 10
}
ok "receipts show: each of them" one_by_one
questions() {
  for question in $(helm approval list --all --json | python3 -c 'import json,sys; [print(x["approval_id"]) for x in json.load(sys.stdin)["requests"]]'); do
    helm approval show "$question" --json | pick 'out(doc["action"])'
  done | compare "approval show" 6
}
ok "approval show: each question" questions

# The same words where a person reads them.
text_has() { # text_has SENTENCE STATE COMMAND...: on one line
  sentence=$1
  words=$2
  shift 2
  COLUMNS=400 "$@" | tr -d '\\' | anywhere | grep -F -e "$sentence" | grep -qF -e "$words" || { "$@"; return 1; }
}
wide() { HELM_ENV="COLUMNS=400" helm "$@"; }
while IFS="$(printf '\t')" read -r sentence words; do
  ok "receipts list says of $sentence: $words" text_has "$sentence" "$words" wide receipts list --limit 0
done <"$scratch/expected"
grep -v '^true\|^sh -c\|exit 3' "$scratch/expected" >"$scratch/stopped"
while IFS="$(printf '\t')" read -r sentence words; do
  ok "report says of $sentence: $words" text_has "$sentence" "$words" wide report --limit 0
  ok "its session, too: $sentence" text_has "$sentence" "$words" wide report --session s1
  ok "in Markdown: $sentence" text_has "$sentence" "$words" wide report --limit 0 --format markdown
done <"$scratch/stopped"
ok "receipts show begins with what was asked" sh -c 'env -i HOME="$1/home" "$0" receipts show 3 | head -2 | tr "\n" "|" | grep -qF "sh -c '"'exit 1'"'|  state    failed, exit 1|"' "$HELM_REAL" "$scratch"
nothing_asked() { ! wide receipts list --limit 0 | grep -qw 'ESCALATE\|asked'; }
ok "no list still says 'asked'" nothing_asked

# The same numbers.
cat >"$scratch/numbers.py" <<'PY'
import json, subprocess, sys
helm = lambda *x: json.loads(subprocess.run([sys.argv[1], *x, "--json"], stdout=subprocess.PIPE, env={"HOME": sys.argv[2], "PATH": "/usr/bin:/bin"}).stdout)
want = {"done": 2, "failed": 2, "denied": 1, "approved": 2, "refused": 1, "waiting": 1, "undone": 1}
report, status, sessions = helm("report"), helm("status"), helm("log", "sessions")
session = [x for x in (sessions["sessions"] if isinstance(sessions, dict) else sessions) if x["session"] == "s1"][0]
mine = dict(want, done=1, failed=1)
for name, got, right in [("report", report["action_states"], want), ("status", status["action_states"], want), ("log sessions", session["states"], mine),
                         ("approvals", {"waiting": status["approvals"]["pending"]}, {"waiting": want["waiting"]})]:
    if got != right:
        print(name, got, "not", right)
        sys.exit(1)
PY
ok "report, status and log sessions count the same" python3 "$scratch/numbers.py" "$HELM_REAL" "$scratch/home"

# What is asked while nobody answers expires, without another word on record.
expire() { # the question is a day older, and so is the end of its time
  python3 - "$scratch/ws/.helm/approvals.json" <<'PY'
import json, sys
doc = json.load(open(sys.argv[1]))
for entry in doc["requests"].values():
    entry["request"]["expires_at"] = "2020-01-01T00:00:00.000000Z"
json.dump(doc, open(sys.argv[1], "w"))
PY
}
expire
sed -i 's/^rm -rf d4.*/rm -rf d4	expired, nobody answered/' "$scratch/expected"
ok "expired: report" stopped
ok "expired: receipts list" receipts
ok "expired: approval list" approvals

# The index is a projection: made anew it says the same.
rm -f "$scratch/ws/.helm/acts-index.sqlite3"*
ok "an index that is made anew says the same" receipts
rm -f "$scratch/ws/.helm/acts-index.sqlite3"*
mkdir "$scratch/ws/.helm/acts-index.sqlite3"
ok "where it cannot be written, too" receipts
rmdir "$scratch/ws/.helm/acts-index.sqlite3"

# What came by HTTP, in the console's own answers and on the command line.
[ -x "$HELM_BUILD/helm-serve" ] || { skip "actions by HTTP" "helm-serve was not built"; finish; }
cat >"$scratch/by_http.py" <<'PY'
from serve import *

p = Place()
s = Server(p)
s.evaluate("Bash", {"command": "rm -rf /"})
s.evaluate("refund", {"amount": 5})
s.evaluate("refund", {"amount": 500})
s.evaluate("refund", {"amount": 600})
answered = [x for x in s.ask("GET", "/api/v1/approvals?state=pending")[1]][0]["approval_id"]
listed = json.loads(p.helm("receipts", "list", "--limit", "0", "--json").stdout)
told = {k: (x["sentence"], x["state"], x["state_text"], x["rule"], x["entry_point"]) for k, x in listed["actions"].items() if x["state"] != "recorded"}
st, acts, h = s.ask("GET", "/api/v1/console/acts?count=1")
seen = {x["id"]: (x["sentence"], x["state"], x["state_text"], x["rule"], x["entry_point"]) for x in acts["acts"] if x["state"] != "recorded"}
ok("the console has the actions of the command line, in its words", seen == told and len(seen) == 4, seen, told)
ok("each names its tool and how it came", sorted(x[0] for x in seen.values()) == ["Bash by HTTP", "refund by HTTP", "refund by HTTP", "refund by HTTP"] or all(x[0].endswith("by HTTP") for x in seen.values()), seen)
ok("two of them wait", sorted(x[1] for x in seen.values()) == ["allowed", "denied", "waiting", "waiting"], seen)
ok("a rule of a policy has one name", any(x[3] == "policy:large" for x in seen.values()) and any(x[3] == "policy:refunds" for x in seen.values()), seen)
counted = {x["value"]: x["count"] for x in s.ask("GET", "/api/v1/console/acts/values")[1]["rule"]}
ok("by which it is counted", counted.get("policy:large") == 2 and counted.get("policy:refunds") == 1, counted)
now, status = s.ask("GET", "/api/v1/console/now")[1], json.loads(p.helm("status", "--json").stdout)
ok("the numbers are those of status", now["action_states"] == status["action_states"] == {"waiting": 2, "denied": 1, "allowed": 1} and now["waiting"] == 2, now["action_states"], status["action_states"])
one = s.ask("GET", "/api/v1/console/acts/" + [k for k, x in seen.items() if x[1] == "denied"][0])[1]
ok("one action says the same", one["act"]["state_text"] == "denied" and one["act"]["sentence"] == "Bash by HTTP" or one["act"]["sentence"].startswith("Bash "), one["act"])
waits = s.ask("GET", "/api/v1/console/waiting")[1]
ok("and so do questions", {x["action"]["state"] for x in waits["waiting"]} == {"waiting"}, waits)
s.stop()
finish()
PY
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 "$scratch/by_http.py" >"$scratch/http.tap" 2>&1
while read -r line; do
  case $line in
    ok*) ok "${line#* - }" true ;;
    not*) ok "${line#* - }" sh -c 'cat "$0"; false' "$scratch/http.tap" ;;
  esac
done <"$scratch/http.tap"
ok "all of that was asked" grep -q '^1[.][.]' "$scratch/http.tap"
finish
