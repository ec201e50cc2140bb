#!/bin/sh
# taken.t — what leaves by the console of a fleet is on record before it is given: packs and exports, who, over what, when and the digest, as orders for no machine in the chain
# that the control key signs.  What cannot be put on record is not given.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal

fleet_make
fleet_two_tenants
serve_start front || exit 1
for m in anna bert; do joined_asking acme $m; done
joined_asking beta carl
act anna 3
act bert 1
for m in anna bert carl; do machine $m fleet sync >/dev/null 2>&1; done
sleep 2
centre reader add look --tenant acme >acme.reader
centre reader add other --tenant acme >other.reader
centre reader add look --tenant beta >beta.reader

cat >drive.py <<'PY'
import concurrent.futures, hashlib, http.client, json, os, sys, urllib.parse
port, what = urllib.parse.urlparse(sys.argv[1]).port, sys.argv[2]
def ok(text, so, *more):
    print("%s %s" % ("ok" if so else "NOT", text))
    if not so:
        print("#", *[str(m)[:600] for m in more])
def ask(method, path, body=None, who="acme"):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request(method, "/api/v1/console/" + path, None if body is None else json.dumps(body), {"Host": "localhost:%d" % port, "Authorization": "Bearer " + open(who + ".reader").read().strip(), **({"Content-Type": "application/json"} if body is not None else {})})
    r = c.getresponse()
    return r.status, r.read(), r
digest = lambda text: "sha256:" + hashlib.sha256(text).hexdigest()
def taken(query="", who="acme"):
    st, text, _ = ask("GET", "evidence" + query, None, who)
    assert st == 200, (st, text)
    return json.loads(text)
code = lambda text: json.loads(text).get("error", {}).get("code")
if what == "take":
    ok("nothing was taken at first", taken() == {"taken": [], "next": None}, taken())
    st, pack, r = ask("POST", "evidence", {})
    first = taken()["taken"][0]
    ok("a pack is on record, with who, what, when and the digest of the bytes that were given", st == 200 and first["what"] == "pack" and first["by"] == "reader:look" and first["over"] == {} and first["sha256"] == digest(pack) and first["bytes"] == len(pack) and first["at"] > "2020" and str(first["order"]) == r.getheader("helm-order"), first)
    node = json.loads(ask("GET", "machines")[1])["machines"][0]["node"]
    st, one, _ = ask("POST", "evidence", {"node": node}, "other")
    first = taken()["taken"][0]
    ok("one of a machine says which, and who it was", st == 200 and first["over"] == {"node": node} and first["by"] == "reader:other" and first["sha256"] == digest(one), first)
    st, csv, _ = ask("GET", "acts/export?format=csv&verdict=DENY&q=" + urllib.parse.quote("rm -rf <b>"))
    first = taken()["taken"][0]
    ok("an export has the filter in it, and how many rows", st == 200 and first["what"] == "csv" and first["over"]["verdict"] == "DENY" and first["over"]["q"] == "rm -rf <b>" and first["rows"] == 0 and first["sha256"] == digest(csv), first)
    st, lines, _ = ask("GET", "acts/export?format=jsonl")
    first = taken()["taken"][0]
    ok("the other form, too", st == 200 and first["what"] == "jsonl" and first["rows"] == lines.count(b"\n") > 3 and first["sha256"] == digest(lines), first)
    ok("what is refused is not on record", ask("GET", "acts/export?format=xls")[0] == 400 and ask("POST", "evidence", {"node": "x"})[0] == 400 and ask("POST", "evidence", {"node": "7"})[0] == 404 and len(taken()["taken"]) == 4, ask("POST", "evidence", {"node": "7"}))
    long = ask("GET", "acts/export?format=csv&q=" + "x" * 3000)
    ok("nor is a filter so long that machines would have to read it; it is refused", long[0] == 400 and b"too long" in long[1] and ask("GET", "acts/export?format=csv&verdict=%FF")[0] == 400 and len(taken()["taken"]) == 4, long[:2])
    ok("a reader of another tenant sees nothing of it", taken("", "beta")["taken"] == [])
    got, at, steps = [], "?limit=1", 0
    while at and steps < 10:
        doc = taken(at)
        got += [x["order"] for x in doc["taken"]]
        at, steps = "?limit=1&before=" + doc["next"] if doc["next"] else None, steps + 1
    ok("they are paged, none lost and none twice", got == [x["order"] for x in taken()["taken"]] and steps == 4, got)
    ok("a wrong page is refused", ask("GET", "evidence?before=x")[0] == 400 and ask("GET", "evidence?limit=0")[0] == 400)
    ok("orders for machines do not have them", all(x["kind"] != "taken" for x in json.loads(ask("GET", "machines")[1])["orders"]))
    open("pack", "wb").write(ask("POST", "evidence", {})[1])
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        many = list(pool.map(lambda i: ask("GET", "acts/export?format=csv&q=at-once-%d" % i), range(24)))
    given = [r.getheader("helm-order") for st, _, r in many if st == 200]
    rows = [x for x in taken("?limit=200")["taken"] if x["over"].get("q", "").startswith("at-once-")]
    ok("many at once: each that was given has a record of its own", len(given) == len(set(given)) == len(rows) > 0 and all(st in (200, 503) for st, _, _ in many) and sorted(map(int, given)) == sorted(x["order"] for x in rows), [st for st, _, _ in many], given)
    print("# %d of 24 at once were given" % len(given))
elif what == "away":
    before = len(taken("?limit=200")["taken"])
    for how, path, body in [("POST", "evidence", {}), ("GET", "acts/export?format=csv", None), ("GET", "acts/export?format=jsonl", None)]:
        st, text, r = ask(how, path, body)
        ok("without the keeper of the key nothing is given: %s %s" % (how, path), st == 503 and code(text) == "NOT_ON_RECORD" and len(text) < 2000 and b"rm -rf" not in text, st, text[:300])
    ok("and nothing is on record", len(taken("?limit=200")["taken"]) == before)
    ok("looking goes on", ask("GET", "acts")[0] == 200)
elif what == "back":
    ok("with it again it is given", ask("POST", "evidence", {})[0] == 200)
elif what == "pieces":
    st, a, r = ask("GET", "acts/export?format=csv")
    cut = r.getheader("helm-next")
    st2, b, r2 = ask("GET", "acts/export?format=csv&before=" + cut)
    rows = taken()["taken"][:2]
    ok("each piece of a long export is on record by itself, where it begins and with its digest", st == st2 == 200 and [x["sha256"] for x in rows] == [digest(b), digest(a)] and rows[0]["over"]["before"] == int(cut) < rows[1]["over"]["before"] and rows[1]["rows"] == 20000 and rows[0]["rows"] > 4000, rows)
elif what == "often":
    st, text, _ = ask("GET", "acts/export?format=csv")
    ok("who takes without end is told to wait", st == 429 and code(text) == "TAKEN_TOO_OFTEN", st, text[:200])
    ok("and nobody else is", ask("GET", "acts/export?format=csv", None, "other")[0] in (200, 503))
PY
drive() {
	python3 drive.py "$url" "$1" >drive.out 2>&1 || { echo "NOT the driver ended"; tail -5 drive.out; } >>drive.out
	lines_of drive.out
}
drive take
key=$(sql "$pgdir" "SELECT log_vkey FROM fleet.tenant WHERE name = 'acme'")
ok "a pack has in it what was taken before it" says 0 '"kind":"taken"' tar xOf pack orders.jsonl
ok "and verifies" says 0 "ADMISSIBLE" env -i PATH="$PATH" HOME="$scratch/nobody" "$HELM_REAL" verify "$scratch/pack" --log-key "$key"
ok "at a terminal it is listed, too" says 0 "reader:other" centre orders --taken --tenant acme
ok "what was ordered is listed without it" says_not 0 "taken" centre orders --tenant acme
had=$(head_of anna)
machine anna fleet sync >sync.out 2>&1
newest=$(sql "$pgdir" "SELECT max(seq) FROM fleet.directive WHERE tenant_id = 1")
ok "machines follow the chain that has them" grep -q "\"order\": *${newest}[,}]" "$scratch/m/anna/.helm/fleet/state.json"
ok "and do nothing about them" [ "$(grep -c '"kind":"taken"' "$(chain_of anna)")" = 0 ]
ok "nobody is alarmed" sh -c '! grep -q "\"alarm\"" "$1"' sh "$scratch/m/anna/.helm/fleet/state.json"
ok "nothing was recorded there for them" [ $(($(head_of anna) - had)) -le 1 ]
audited() { centre audit --tenant acme --json; }
ok "the chain of orders is whole" says_not 0 '"kind": "order"' audited
# Somebody with the database takes one away.
sql "$pgdir" "BEGIN; CREATE TABLE kept AS SELECT * FROM fleet.directive WHERE tenant_id = 1 AND kind = 'taken' ORDER BY seq LIMIT 1; DELETE FROM fleet.directive d USING kept k WHERE d.tenant_id = k.tenant_id AND d.seq = k.seq; COMMIT" >/dev/null
ok "one that was taken out of the database is found" says 1 "order" centre audit --tenant acme
sql "$pgdir" "INSERT INTO fleet.directive SELECT * FROM kept; UPDATE fleet.directive SET body = convert_to(replace(convert_from(body, 'UTF8'), 'reader:look', 'reader:nobo'), 'UTF8') WHERE tenant_id = 1 AND seq = (SELECT seq FROM kept)" >/dev/null
ok "and one that names somebody else" says 1 "order" centre audit --tenant acme
sql "$pgdir" "UPDATE fleet.directive d SET body = k.body FROM kept k WHERE d.tenant_id = k.tenant_id AND d.seq = k.seq" >/dev/null

kill "$(cat signer.pid)"
wait "$(cat signer.pid)" 2>/dev/null
rm -f "$signer"
drive away
signer_start
drive back
sql "$pgdir" "INSERT INTO fleet.receipt SELECT c.tenant_id, c.chain_id, c.head + i, now(), now(), decode(md5(i::text) || md5(i::text), 'hex'), 1, 'decision', '', '', 'Bash', 'agent:x', 'dec-' || i, 'ls ' || i FROM (SELECT * FROM fleet.chain WHERE tenant_id = 1 ORDER BY chain_id LIMIT 1) c, generate_series(1, 25000) i;
INSERT INTO fleet.span SELECT c.tenant_id, c.chain_id, c.head + 1 + k * 100, 100, l.tree_size + k * 100 FROM (SELECT * FROM fleet.chain WHERE tenant_id = 1 ORDER BY chain_id LIMIT 1) c JOIN fleet.log l USING (tenant_id), generate_series(0, 249) k;
UPDATE fleet.log SET tree_size = tree_size + 25000 WHERE tenant_id = 1" >/dev/null
drive pieces
sql "$pgdir" "INSERT INTO fleet.directive(tenant_id, seq, kind, body, hash, made_by) SELECT 1, 100000 + i, 'taken', '{}', '\\x00', 'reader:look' FROM generate_series(1, 600) i" >/dev/null
drive often
fleet_end
finish
