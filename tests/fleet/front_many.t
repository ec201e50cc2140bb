#!/bin/sh
# front_many.t — the console of a fleet with a hundred thousand acts: a page costs about what it costs with few of them, and no question reads everything.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
! grep -qa __asan_init "$HELM_REAL" || skip_all "times are compared, and mean nothing under the sanitizers"

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
machine_new anna >/dev/null 2>&1
act anna 3
machine anna fleet sync >/dev/null 2>&1
wait_for 20 settled
many="$(sql "$pgdir" 'SELECT node_id FROM fleet.node')"
machine_new bert >/dev/null 2>&1
act bert 2
machine bert fleet sync >/dev/null 2>&1
wait_for 20 settled
centre reader add look >reader
# Somebody who sees the other machine.
centre reader invite ben --machines "$(sql "$pgdir" "SELECT node_id FROM fleet.node WHERE node_id <> $many")" --link "http://localhost:${url##*:}" >ben.link
cat >ask.py <<'PY'
import http.client, json, os, sys, time, urllib.parse
port, token = urllib.parse.urlparse(sys.argv[1]).port, open("reader").read().strip()
def ask(path):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    began = time.time()
    c.request("GET", "/api/v1/console/" + path, None, {"Host": "localhost:%d" % port, "Authorization": "Bearer " + token})
    r = c.getresponse()
    doc = json.loads(r.read())
    assert r.status == 200, (r.status, doc)
    return time.time() - began, doc
best = lambda path: min(ask(path)[0] for _ in range(7))
views = ["acts?limit=50", "acts/values", "now", "machines", "log", "me", "acts?limit=50&verdict=stopped"]
times = {v: best(v) for v in views}
if sys.argv[2] == "few":
    json.dump(times, open("few.json", "w"))
    sys.exit()
few = json.load(open("few.json"))
size = ask("me")[1]["length"]
for v in views:
    print("# %s: %.1f ms with few, %.1f ms with %d" % (v, few[v] * 1000, times[v] * 1000, size))
ok = lambda what, so: print(("ok " if so else "NOT ") + what)
ok("there are a hundred thousand", size > 100000)
# Whatever is a page: what is counted up to a hundred thousand, or looked for, is not one.
ok("a page costs at most ten times what it costs with few", all(times[v] <= 10 * max(few[v], 0.004) for v in ["acts?limit=50", "machines", "log", "me"]))
seen, before, pages = [], None, 0
while pages < 4:
    doc = ask("acts?limit=500" + ("&before=" + before if before else ""))[1]
    seen += [int(x["id"][5:]) for x in doc["acts"]]
    before, pages = doc["next"], pages + 1
ok("pages go on without a gap", seen == list(range(size - 1, size - 1 - 2000, -1)))
t, doc = ask("acts?q=needle-in-it&limit=50")
rows, steps = list(doc["acts"]), 1
while doc["next"] is not None:
    t2, doc = ask("acts?q=needle-in-it&limit=50&before=" + doc["next"])
    rows, steps, t = rows + doc["acts"], steps + 1, max(t, t2)
print("# one of a hundred thousand by its text: %d steps, the longest %.0f ms" % (steps, t * 1000))
ok("one act is found by its text, in few steps", len(rows) == 1 and steps <= 3)
ok("none of which takes as if it had compared each with each", t <= 200 * max(few["acts?limit=50"], 0.004))
t, doc = ask("acts?tool=none&limit=50")
ok("a search that finds nothing says how far it came, or that it is the end", doc["acts"] == [] and (doc["is_cut"] == (doc["next"] is not None)))
t, doc = ask("acts?limit=1&count=1")
ok("they are counted when asked", doc["count"] >= 100000)
sys.path.insert(0, os.environ["HELM_SOURCE"] + "/tests/tools")
from front import Front, Person, re
ben = Person(Front(sys.argv[1]))
ben.register(re.search("#invite=([^&]+)&", open("ben.link").read()).group(1))
def took(path):
    began = time.time()
    st, doc = ben.get(path)
    return time.time() - began, st, doc
asked = [took("acts?limit=50") for _ in range(7)]
t, doc = min(x[0] for x in asked), asked[0][2]
print("# the acts of an engineer among those of others: %.1f ms" % (t * 1000))
ok("an engineer's page has their own", len(doc["acts"]) >= 2 and doc["next"] is None and len({x["node"] for x in doc["acts"]}) == 1)
ok("and costs at most ten times a page with few", t <= 10 * max(few["acts?limit=50"], 0.004))
PY
python3 ask.py "$url" few || echo "# few"
# Rows as the projection has them; what they stand for is not there, so no proof is asked of them.
sql "$pgdir" "INSERT INTO fleet.receipt SELECT c.tenant_id, c.chain_id, c.head + i, now() - interval '1 hour' + make_interval(secs => i / 100.0), now(), decode(md5(i::text) || md5(i::text), 'hex'), CASE WHEN i % 50 = 0 THEN 2 ELSE 1 END,
 'decision', '', CASE WHEN i % 50 = 0 THEN 'deny.rm_root' ELSE '' END, 'Bash', 'agent:claude-code', 'dec-' || i, CASE WHEN i = 777 THEN 'needle-in-it' ELSE 'ls -la directory-' || i END FROM fleet.chain c, generate_series(1, 100000) i WHERE c.node_id = $many;
INSERT INTO fleet.span SELECT c.tenant_id, c.chain_id, c.head + 1 + k * 100, 100, l.tree_size + k * 100 FROM fleet.chain c, fleet.log l, generate_series(0, 999) k WHERE c.node_id = $many;
UPDATE fleet.chain SET head = head + 100000, sequenced = sequenced + 100000 WHERE node_id = $many; UPDATE fleet.log SET tree_size = tree_size + 100000; ANALYZE fleet.receipt; ANALYZE fleet.span" >/dev/null
python3 ask.py "$url" many >many.out 2>&1 || cat many.out
lines_of many.out
fleet_end
finish
