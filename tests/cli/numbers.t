#!/bin/sh
# Every number is a total: three denials, then ten thousand calls that passed, and each view says three.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
fresh_workspace
ws=$scratch/home/.helm/workspace
PATH=/usr/bin:/bin
"$HELM_BUILD/tests/store_tool" --denied 3 --door api "$ws/.helm" "$scratch/home/.helm/keys" 20006 0 0 "$((($(date +%s) - 1800) * 1000000))" 20000 || exit 1

# value JSON.PATH FILE
value() { python3 -c 'import json, sys
v = json.load(open(sys.argv[2]))
for name in sys.argv[1].split("."): v = v[name]
print(v)' "$1" "$2"; }
is() { # is EXPECTED PATH FILE
  got=$(value "$2" "$3")
  [ "$got" = "$1" ] || { echo "$3: $2 is $got, not $1"; return 1; }
}

# A view that must be quick may have counted a part; then it says so with the number.
helm status --brief >brief
part_is_named() {
  grep -q "in the last 24 hours: 10000 passed, 0 asked, 3 refused" brief || grep -q "(counted in the newest [0-9,]* of 20,0[0-9][0-9] receipts)" brief || { cat brief; return 1; }
}
ok "the first brief has totals, or says of how many" part_is_named
ok "and is not calm" sh -c '! head -1 brief | grep -q "All is well"'

helm status --json >status.json
helm status --brief --json >brief.json
helm dashboard --json >dashboard.json
helm report --json >report.json
helm doctor --skip-discovery --json >doctor.json
for view in status brief dashboard; do
  ok "$view: refused in the last day" is 3 calls.other_doors.last_24_hours.refused $view.json
  ok "$view: passed in the last day" is 10000 calls.other_doors.last_24_hours.passed $view.json
  ok "$view: refused in the last hour" is 3 calls.other_doors.last_hour.refused $view.json
  ok "$view: it is a total" is True calls.other_doors.complete $view.json
  ok "$view: needs attention" is attention health $view.json
done
helm status --brief >brief2
ok "brief says it in its first line" grep -q "^Needs attention: 3 calls over HTTP" brief2
ok "report: denied" is 3 receipts.denied report.json
ok "report: allowed" is 10000 receipts.allowed report.json
ok "report: of so many" is "$(value receipts.total report.json)" receipts.count report.json
ok "report: all of it" is True complete report.json
ok "report: the record is sound" is True record.sound report.json
ok "report for people" says 0 "10000 allowed, 0 asked, 3 denied" helm report
ok "doctor has the same reason" grep -q "3 calls over HTTP" doctor.json
ok "receipts list finds the three" sh -c '[ "$(HOME="$1/home" "$0" receipts list --verdict DENY --limit 0 --json | grep -c "\"verdict\": \"DENY\"")" -ge 3 ]' "$HELM_REAL" "$scratch"

# The console has the same numbers and the same sentence.
if command -v python3 >/dev/null && [ -x "$HELM_BUILD/helm-serve" ]; then
  cat >"$scratch/now.py" <<'PY'
import http.client, json, os, re, subprocess, sys, time, urllib.parse
scratch, helm = sys.argv[1:]
env = {"PATH": os.environ["PATH"], "HOME": scratch + "/home", "LC_ALL": "C.UTF-8", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
server = subprocess.Popen([helm, "open", "--json"], cwd=scratch + "/project", env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
text = ""
while not text.rstrip().endswith("}"): text += server.stdout.readline().decode()
url = urllib.parse.urlparse(json.loads(text)["url"])
port, words = url.port, urllib.parse.parse_qs(url.fragment)
session = None
def ask(method, path, body=None):
    h = {"Host": "localhost:%d" % port, "Sec-Fetch-Site": "same-origin", "X-Helm": "1"}
    if method == "POST": h.update({"Origin": "http://localhost:%d" % port, "Content-Type": "application/json"})
    if session: h.update({"Cookie": "__Host-helm=" + session[0], "X-Helm-Page": session[1]})
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request(method, "/api/v1/console/" + path, None if body is None else json.dumps(body), h)
    r = c.getresponse(); got = json.loads(r.read()); c.close()
    return got, r.headers
got, h = ask("POST", "enter", {"token": words["enter"][0]})
session = (re.search("__Host-helm=([^;]+)", h["set-cookie"]).group(1), got["page"])
for i in range(40): # while it says that it is behind, the next look goes on
    doc = ask("GET", "now")[0]
    if not doc["behind"]: break
json.dump(doc, open(scratch + "/now.json", "w"))
server.terminate(); server.wait(20)
PY
  timeout 60 python3 "$scratch/now.py" "$scratch" "$HELM_REAL" || exit 1
  ok "console: stopped in the last day" is 3 stopped_24h "$scratch/now.json"
  ok "console: and ever" is 3 stopped_all "$scratch/now.json"
  ok "console: by HTTP" is 3 standing.calls.other_doors.last_24_hours.refused "$scratch/now.json"
  ok "console: needs attention" is attention standing.health "$scratch/now.json"
  ok "console: the sentence of the brief" is "$(head -1 brief2)" standing.headline "$scratch/now.json"
else
  skip "the console" "helm-serve was not built, or python3 is not here"
fi
finish
