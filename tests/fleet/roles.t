#!/bin/sh
# roles.t — an engineer sees what their own machines sent and nothing else, by whatever route: every row of the front end's tables of routes is tried, also one that was added
# since, with the numbers of a machine that is not theirs; what comes back must not have a trace of it.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal

fleet_make
fleet_two_tenants
serve_start front || exit 1
for m in anna bert; do joined_asking acme $m; done
joined_asking beta carl
ask_there anna "rm -rf mine-of-anna"
ask_there bert "rm -rf secret-of-bert"
act anna 3
act bert 5
node_of() { sql "$pgdir" "SELECT node_id FROM fleet.node_key WHERE key = '\\x$(cat "$scratch/m/$1/.helm/keys/root.pub")'"; }
node_anna=$(node_of anna)
node_bert=$(node_of bert)
# On a machine of one's own each would have a name of its own.
for m in anna bert; do sql "$pgdir" "UPDATE fleet.node SET host = 'host-of-$m', owner = 'user-of-$m' WHERE node_id = $(node_of $m)"; done
for m in anna bert carl; do machine $m fleet sync >/dev/null 2>&1; done
centre freeze --tenant acme --node "$node_bert" --reason "secret-reason-of-bert" >/dev/null
centre lease 15m --tenant acme >/dev/null 2>&1
for m in anna bert; do machine $m fleet sync >/dev/null 2>&1; done
in_tree() { [ "$(sql "$pgdir" 'SELECT sum(tree_size) FROM fleet.log')" = "$(sql "$pgdir" 'SELECT sum(head) FROM fleet.chain')" ]; }
wait_for 20 in_tree
sql "$pgdir" "INSERT INTO fleet.fork SELECT tenant_id, chain_id, 1, '\\x00', '\\x01', '{\"fork-of-bert\":1}', false FROM fleet.chain WHERE node_id = $node_bert"
ok "who sees some machines is told which" says 0 "$node_anna  user-of-anna@host-of-anna" centre reader invite ann --tenant acme --machines user-of-anna@host-of-anna --link "http://localhost:${url##*:}"
centre reader invite ann --tenant acme --link "http://localhost:${url##*:}" >ann.link
ok "and keeps that with another invitation" grep -q "sees 1 machine of acme" ann.link
centre reader invite all --tenant acme --link "http://localhost:${url##*:}" >all.link

cat >drive.py <<'PY'
import os, subprocess, sys
sys.path.insert(0, os.environ["HELM_SOURCE"] + "/tests/tools")
from front import *
front, scratch, database, signer, script, mine, theirs = Front(sys.argv[1]), *sys.argv[2:8]
def sql(text):
    r = subprocess.run(["sh", script, text], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    return r.stdout.strip()
def come(name):
    p = Person(front)
    word = re.search("#invite=([^&]+)&", open(os.path.join(scratch, name + ".link")).read()).group(1)
    st, doc = p.register(word)
    assert st == 200, (st, doc)
    return p
ann, whole = come("ann"), come("all")
rows = lambda text: [x for x in sql(text).split("\n") if x]
own = "(SELECT chain_id FROM fleet.chain WHERE node_id = %s)"
leaves = rows("SELECT 'leaf-' || (s.leaf_first + i) FROM fleet.span s, generate_series(0, s.n - 1) i WHERE chain_id IN " + own % theirs)
decisions = rows("SELECT DISTINCT decision_id FROM fleet.receipt WHERE decision_id <> '' AND chain_id IN " + own % theirs)
questions = rows("SELECT approval_id FROM fleet.asked WHERE chain_id IN " + own % theirs)
sessions = rows("SELECT session_id FROM fleet.chain WHERE node_id = " + theirs)
keys = rows("SELECT encode(key, 'hex') FROM fleet.node_key WHERE node_id = " + theirs)
marks = [theirs, "of-bert"] + decisions + questions + sessions + keys
assert leaves and decisions and questions and sessions and keys, (leaves, decisions, questions)
for name, m in [("decisions", decisions), ("sessions", sessions)]:
    assert not set(m) & set(rows("SELECT decision_id FROM fleet.receipt WHERE chain_id IN " + own % mine) + rows("SELECT session_id FROM fleet.chain WHERE node_id = " + mine)), name

# ---- the tables of routes, as they are in the program
routes = []
for name in ["look.c", "door.c"]:
    text = open(os.environ["HELM_SOURCE"] + "/src/serve/fleet/" + name).read()
    for method, api, path, rest in re.findall(r'\{ "([A-Z]+)",\s+(API )?"([^"]+)",(.*?)\}', text, re.S):
        routes.append((method, ("/api/v1/console/" if api else "") + path, rest))
more = sum(len(re.findall(r'\{ "(?:GET|POST|PUT|DELETE|PATCH|HEAD)",', open(os.path.join(os.environ["HELM_SOURCE"], "src/serve/fleet", f)).read())) for f in os.listdir(os.environ["HELM_SOURCE"] + "/src/serve/fleet") if f.endswith(".c"))
ok("every row of a table of routes is read", len(routes) == more and len(routes) > 30, len(routes), more)

PLAIN = {"{what}": ["search", "nodes", "orders", "questions"], "{tenant}": ["acme"], "{*rest}": ["checkpoint", "tile/entries/000"], "{*page}": ["now"], "{session}": sessions, "{clock}": ["1"], "{size}": ["1"], "{after}": ["0"]}
QUERIES = ["", "?node=" + theirs, "?host=host-of-bert", "?session=" + sessions[0], "?q=of-bert", "?q=rm", "?limit=500&count=1", "?format=csv", "?format=jsonl", "?format=csv&node=" + theirs, "?verdict=stopped", "?since=0"]
BODIES = [{}, {"node": theirs}, {"nodes": [theirs]}, {"answer": "approve", "reach": "once"}, {"answer": "approve", "reach": "once", "node": theirs}, {"answer": "deny", "reason": "x", "node": theirs}, {"act": "freeze", "nodes": [theirs], "reason": "x"}, {"message": "helm:act:v1\n{}", "node": theirs}, {"limit": 100}]
def spelled(path):
    todo, done = [path], []
    while todo:
        p = todo.pop()
        hole = re.search(r"\{[^}]*\}", p)
        if not hole:
            done.append(p)
            continue
        for x in PLAIN.get(hole.group(0), [theirs] + leaves[:2] + leaves[-1:] + decisions[:2] + questions + sessions):
            todo.append(p.replace(hole.group(0), urllib.parse.quote(x), 1))
    return done
def walk(person):
    """(leaks, answers, faults): what came back to somebody who tries everything."""
    leaks, answers, faults = set(), {}, set()
    for method, path, rest in routes:
        for p in spelled(path):
            asks = [(p + q, None) for q in QUERIES] if method == "GET" else [(p, b) for b in BODIES]
            if path.endswith("/events") or "IS_STREAM" in rest:
                st, text, _ = person.listen(3, last=0)
                tried = [(p, {"Last-Event-ID": 0}, st, text)]
            elif p.startswith("/console") or p.startswith("/docs") or "/fleet/orders/" in p:
                continue  # pages without data; what only a machine's own signature opens, and waits
            elif path.endswith("/leave") or path.endswith("/enter"):
                continue
            else:
                tried = []
                for full, body in asks:
                    st, doc, r = front.ask(method, full, body, dict(front.browser, **person.h), base="")
                    tried.append((full, body, st, doc.decode("latin1") if isinstance(doc, bytes) else json.dumps(doc)))
            for full, body, st, text in tried:
                answers.setdefault((method, path), []).append((full, body, st, text))
                # What was asked for may be named in the refusal, or in the page's own words; not what is known about it.
                echo = urllib.parse.unquote(full) + json.dumps(body)
                if any(m in text for m in marks if m not in echo or st == 200):
                    leaks.add((method, path, full, json.dumps(body)))
                if st >= 500:
                    faults.add((method, full, json.dumps(body), st, text[:200]))
    return leaks, answers, faults

leaks, answers, faults = walk(ann)
ok("no route gives an engineer anything of a machine that is not theirs", not leaks, *sorted(leaks)[:6])
ok("and none fails at it", not faults, *sorted(faults)[:4])
tried = {k for k in answers}
ok("every route was tried but those without data", {(m, p) for m, p, _ in routes} - tried == {("GET", "/console"), ("GET", "/console/{*page}"), ("GET", "/docs"), ("GET", "/docs/{*page}"), ("GET", "/v1/fleet/orders/{after}"), ("POST", "/api/v1/console/enter"), ("POST", "/api/v1/console/leave")}, {(m, p) for m, p, _ in routes} - tried)
ok("what is about all of them is refused, and says why", all(st == 403 and "about all machines" in text for (m, p), list_ in answers.items() if re.search("/console/(freeze|log$)", p) for _, _, st, text in list_), [x for (m, p), l in answers.items() if re.search("/console/(freeze|log$)", p) for x in l][:3])
ok("so is another's machine, and its evidence", code(ann.get("machines/" + theirs)[1]) == "ENGINEER" and ann.get("machines/" + theirs)[0] == 403 and code(ann.post("evidence", {"node": theirs})[1]) == "ENGINEER" and ann.get("machines/12345")[0] == 403)
ok("an act of another's is not there", all(ann.get("acts/" + x)[0] == 404 for x in leaves[:3] + leaves[-1:] + decisions[:2]))
ok("nor is a question", all(ann.post("waiting/%s/message" % q, {"answer": "approve"})[0] == 404 for q in questions))

# ---- the same walk finds it when the filter is not there
POLICIES = "ALTER POLICY theirs ON fleet.%s USING (%s)"
was = {t: sql("SELECT qual FROM pg_policies WHERE policyname = 'theirs' AND tablename = '%s'" % t) for t in ["node", "node_key", "chain", "directive"]}
for t in was:
    sql(POLICIES % (t, "true"))
found = {p.rsplit("/console/", 1)[-1] for _, p, _, _ in walk(ann)[0]}
for t, q in was.items():
    sql("SET search_path = fleet; " + POLICIES % (t, q))
ok("without it the same walk turns red, by every kind of route", {"now", "waiting", "machines", "acts", "acts/values", "acts/export", "acts/{id}", "evidence", "events", "waiting/{id}/message"} <= found, found)
ok("with it, it is as before", not walk(ann)[0])

# ---- what is theirs is there, and counted by itself
count = lambda node, more="": int(sql("SELECT count(*) FROM fleet.receipt WHERE chain_id IN %s %s" % (own % node, more)))
now, everything = ann.get("now")[1], whole.get("now")[1]
ok("now counts their own", now["machines"] == 1 and now["waiting"] == 1 and now["stopped_24h"] == count(mine, "AND verdict > 1") == now["stopped_all"] and everything["machines"] == 2 and everything["stopped_24h"] == now["stopped_24h"] + count(theirs, "AND verdict > 1"), now)
doc, acts = ann.get("acts?limit=2&count=1")[1], []
ok("a count is of their own", doc["count"] == count(mine), doc)
acts += doc["acts"]
while doc["next"] is not None:
    doc = ann.get("acts?limit=2&before=" + doc["next"])[1]
    acts += doc["acts"]
ok("acts: every one of their own, once", len(acts) == len({a["id"] for a in acts}) == count(mine) and {a["node"] for a in acts} == {mine}, len(acts), count(mine))
one = ann.get("acts/" + acts[0]["id"])[1]
ok("one of them with its proof", "proof" in one["decision"] and one["keys"], one)
st, m = ann.get("machines/" + mine)
ok("their machine, and the orders that concern it", st == 200 and m["chains"] and m["keys"] and [o["kind"] for o in m["orders"]] == ["lease"] and m["orders"][0]["meant"] == 1 and {"freeze", "lease"} <= {o["kind"] for o in whole.get("machines")[1]["orders"]}, st, m.get("orders"))
st, pack, _ = front.ask("POST", "evidence", {}, dict(front.browser, **ann.h))
open(os.path.join(scratch, "pack"), "wb").write(pack if isinstance(pack, bytes) else b"")
ok("evidence of their own", st == 200 and len(pack) > 1000, st, pack if st != 200 else "")
ok("their question waits for them", [q["node"] for q in ann.get("waiting")[1]["waiting"]] == [mine])
ok("and can be answered", ann.post("waiting/%s/message" % ann.get("waiting")[1]["waiting"][0]["request"]["approval_id"], {"answer": "approve", "reach": "once"})[0] == 200)
st, text, _ = ann.listen(3, last=0)
ids = [int(x) for x in re.findall(r"^id: (\d+)\nevent: (?!begin)", text, re.M)]
ok("a stream has all of theirs, each once", len(ids) == len(set(ids)) == count(mine), ids, count(mine))
me = ann.get("me")[1]
ok("the page is told", me["role"] == "engineer" and whole.get("me")[1]["role"] == "auditor", me)

# ---- the database itself
ok("what an engineer's role may read is filtered, but for what is the tenant's", rows("SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'fleet' AND c.relkind IN ('r', 'p', 'v', 'm') AND has_table_privilege('helm_engineer', c.oid, 'SELECT') AND NOT EXISTS (SELECT FROM pg_policies p WHERE p.tablename = c.relname AND p.policyname = 'theirs' AND p.permissive = 'RESTRICTIVE') ORDER BY 1") == ["checkpoint", "log", "tenant", "tile"])
ok("it writes nothing", rows("SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'fleet' AND has_table_privilege('helm_engineer', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')") == [])
r = subprocess.run(["sh", script, "SET ROLE helm_engineer; SET helm.tenant = '1'; SELECT count(*) FROM fleet.receipt"], capture_output=True, text=True)
ok("who does not say which machines gets an error", r.returncode != 0 and "helm.machines" in r.stderr, r.stdout, r.stderr)

# ---- another role
helm = lambda *words: centre(scratch, database, signer, *words)
r = helm("reader", "set", "ann", "--tenant", "acme", "--machines", "host-of-bert,%s" % mine)
ok("the centre changes what they see", r.returncode == 0 and "sees 2 machines" in r.stdout and ann.get("me")[0] == 401, r.stdout, r.stderr)
ann.login()
ok("with the next session", ann.get("now")[1]["machines"] == 2 and ann.get("machines/" + theirs)[0] == 200 and ann.get("log")[0] == 403)
helm("reader", "set", "ann", "--tenant", "acme", "--machines", "all")
ann.login()
ok("all of them is an auditor", ann.get("log")[0] == 200 and ann.get("me")[1]["role"] == "auditor")
ok("and the list says it", "all" in [x for x in helm("reader", "list", "--tenant", "acme").stdout.split("\n") if x.startswith("ann")][0])
PY
sql_script sql.sh
drive "$url" "$scratch" "$db" "$signer" "$scratch/sql.sh" "$node_anna" "$node_bert"
ok "the pack of an engineer verifies alone" says 0 "ADMISSIBLE" env -i PATH="$PATH" HOME="$scratch/nobody" "$HELM_REAL" verify "$scratch/pack" --log-key "$(sql "$pgdir" "SELECT log_vkey FROM fleet.tenant WHERE name = 'acme'")"
fleet_end
finish
