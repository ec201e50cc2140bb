#!/bin/sh
# console.t — the console at the centre of a fleet: every machine and how it stands, one of them, orders and who has confirmed them; and nothing of it elsewhere.
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
fleet_make
centre tenant add acme >/dev/null
serve_start front
for m in anna bert carl; do
	machine_new $m >/dev/null 2>&1
	act $m 2
	machine $m fleet sync >/dev/null
done
cp -a "$scratch/m/carl" "$scratch/carl.old"
act carl 2
machine carl fleet sync >/dev/null
rm -rf "$scratch/m/carl"
cp -a "$scratch/carl.old" "$scratch/m/carl"
act carl 1
machine carl fleet sync >/dev/null 2>&1
bert=$(machine bert fleet status --json | sed -n 's/.*"node": "\([0-9]*\)".*/\1/p')
centre freeze --node "$bert" --reason "what is it doing" >/dev/null
machine bert fleet sync >/dev/null
machine bert fleet sync >/dev/null

# open_console NAME [ENV...]: in the centre's home; its document is in NAME.out.
open_console() {
	name=$1
	shift
	env -i PATH="$PATH" HOME="$scratch/centre" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@" "$HELM_REAL" open --json >"$name.out" 2>"$name.log" &
	echo $! >"$name.pid"
	wait_for 20 grep -q '^}' "$name.out" || cat "$name.log"
}
env -i PATH="$PATH" HOME="$scratch/centre" LC_ALL=C.UTF-8 "$HELM_REAL" init >/dev/null 2>&1
open_console with HELM_FLEET_DATABASE="$db"
open_console without
[ -z "${HELM_TEST_HOLD:-}" ] || sleep "$HELM_TEST_HOLD" # to look at it
cat >look.py <<'PY'
import http.client, json, re, sys, urllib.parse
def page(file):
    url = urllib.parse.urlparse(json.load(open(file))["url"])
    where = {"Host": "localhost:%d" % url.port, "Sec-Fetch-Site": "same-origin", "X-Helm": "1", "Origin": "http://localhost:%d" % url.port, "Content-Type": "application/json"}
    def ask(method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", url.port, timeout=60)
        c.request(method, "/api/v1/console/" + path, None if body is None else json.dumps(body), where)
        r = c.getresponse()
        return r.status, json.loads(r.read()), r
    st, doc, r = ask("POST", "enter", {"token": urllib.parse.parse_qs(url.fragment)["enter"][0]})
    where.update({"Cookie": re.search("__Host-helm=[^;]+", r.getheader("set-cookie")).group(0), "X-Helm-Page": doc["page"]})
    return lambda path: ask("GET", path)[:2]
ask, far = page("with.out"), page("without.out")
st, doc = ask("machines")
by = {m["node"]: m for m in doc.get("machines", [])}
print("all", len(by), sorted(m["standing"] for m in by.values()))
frozen = [m for m in by.values() if m.get("frozen")]
print("frozen", [m["node"] for m in frozen] == [sys.argv[1]])
print("order", [(o["kind"], o["meant"], o["obeyed"]) for o in doc["orders"]])
red = [m for m in by.values() if m["standing"] == "red"][0]
st, one = ask("machines/" + red["node"])
print("one", st, one["machine"]["wrong"] != "", len(one["acts"]) > 2, {a["verdict"] for a in one["acts"]} >= {"DENY"})
print("nobody", ask("machines/99")[0], ask("machines/--database=x")[0], ask("machines?tenant=-x")[0])
print("me", ask("me")[1]["has_fleet"], far("me")[1]["has_fleet"], far("machines")[0], far("machines")[1]["error"]["code"])
PY
python3 look.py "$bert" >look.out 2>&1 || cat look.out
ok "every machine is there, and one that was set back is red" grep -q "^all 3 .*'red'" look.out
ok "the one that was frozen says so" grep -q "^frozen True" look.out
ok "an order counts who has confirmed it" grep -q "^order \[('freeze', 1, 1)\]" look.out
ok "one machine has what is wrong with it, and what it did" grep -q "^one 200 True True True" look.out
ok "a number that nobody has is nobody's, and no option" grep -q "^nobody 404 404 400" look.out
ok "where there is no ledger there is no such page" grep -q "^me True False 404 NO_FLEET" look.out
cat look.out | sed 's/^/# /'
fleet_end
finish
