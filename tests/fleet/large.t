#!/bin/sh
# large.t — a front end with much in it: what is taken along comes in pieces, a pack that a page could not hold is refused before it is made, orders are counted without a row for each machine, and
# who does not listen holds back nobody.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
command -v python3 >/dev/null || skip_all "no python3"

fleet_make
centre tenant add acme >/dev/null
serve_start front HELM_LIMIT_KERNEL=100000 || exit 1
machine_new anna >/dev/null
act anna 9
machine anna fleet sync >/dev/null
wait_for 30 settled
machine anna fleet sync >/dev/null # and what came of that
wait_for 30 settled
centre reader add look >acme.reader
cat >look.py <<'PY'
import http.client, json, os, socket, sys, time, urllib.parse
port = urllib.parse.urlparse(sys.argv[1]).port
token = {"Authorization": "Bearer " + open("acme.reader").read().strip(), "Host": "localhost:%d" % port}
def ask(path, method="GET", body=None):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request(method, "/api/v1/console/" + path, body, dict(token, **({"Content-Type": "application/json"} if body else {})))
    r = c.getresponse()
    return r.status, r.read(), r.getheader("Helm-Next")
PY

# Captions as long as nobody would send them: a million bytes each.
sql "$pgdir" "UPDATE fleet.receipt SET caption = repeat('x', 1000000)" >/dev/null
cat >export.py <<'PY'
from look import *
ids, sizes, next = [], [], ""
while True:
    st, text, more = ask("acts/export?format=jsonl" + next)
    assert st == 200, (st, text[:300])
    sizes.append(len(text))
    ids += [json.loads(l)["id"] for l in text.splitlines()]
    if not more:
        break
    next = "&before=" + more
print(len(ids), len(set(ids)), max(sizes) < 6 << 20, len(sizes) > 1, ids == sorted(ids, key=lambda x: -int(x[5:])))
st, csv, more = ask("acts/export?format=csv")
print(csv.count(b"\r\n"), len(csv) < 6 << 20, more is not None)
PY
python3 export.py "$url" >export.out 2>&1
n=$(sql "$pgdir" "SELECT tree_size FROM fleet.log")
ok "a file of acts comes in pieces of some million bytes, each row once, in order" grep -q "^$n $n True True True$" export.out
ok "so does a table" sh -c 'tail -n 1 "$1" | grep -q " True True$"' sh export.out
sql "$pgdir" "UPDATE fleet.receipt SET caption = NULL" >/dev/null
python3 export.py "$url" >export.out 2>&1
ok "what is small is one piece" [ "$(tail -n 1 export.out)" = "$((n + 1)) True False" ]

# A pack is measured before it is made: the sizes here are a lie, and who would unpack by them would fail otherwise.
sql "$pgdir" "CREATE TABLE kept AS SELECT chain_id, first, raw FROM fleet.bundle; UPDATE fleet.bundle SET raw = 400000000" >/dev/null
cat >evidence.py <<'PY'
from look import *
print(*ask("evidence", "POST", "{}")[:2])
PY
python3 evidence.py "$url" >evidence.out 2>&1
ok "a pack that is larger than a page takes is refused before it is made" grep -q '^413 .*helm fleet export' evidence.out
sql "$pgdir" "UPDATE fleet.bundle b SET raw = k.raw FROM kept k WHERE k.chain_id = b.chain_id AND k.first = b.first; DROP TABLE kept" >/dev/null
python3 evidence.py "$url" >evidence.out 2>&1
ok "one that is not is given" grep -q '^200 ' evidence.out

# Machines that nobody has heard.
centre freeze >/dev/null
sql "$pgdir" "INSERT INTO fleet.node SELECT (jsonb_populate_record(n, jsonb_build_object('node_id', n.node_id + i, 'host', 'far' || lpad(i::text, 4, '0')))).* FROM fleet.node n, generate_series(1, 250) i" >/dev/null
machine anna fleet sync >/dev/null
orders() { centre orders --json | python3 -c 'import json, sys; o = json.load(sys.stdin)[0]; print(o["meant"], o["obeyed"], o["refused"], len(o["missing"]), o["missing"][-1])'; }
ok "an order counts every machine, names some that have not answered, and says how many more there are" [ "$(orders)" = "251 1 0 101 and 150 more" ]
ok "so does the list for people" says 0 "and 150 more" centre orders
ok "an order for one machine counts one" sh -c '[ "$1" = "1 0 0 1" ]' sh "$(centre freeze --node 7 >/dev/null; sql "$pgdir" "UPDATE fleet.node SET node_id = 7 WHERE host = 'far0001'" >/dev/null; orders | cut -d' ' -f1-4)"

# Who does not listen.
cat >ears.py <<'PY'
from look import *
def open_events(small):
    s = socket.socket()
    if small:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", port))
    s.sendall(("GET /api/v1/console/events HTTP/1.1\r\n" + "".join("%s: %s\r\n" % x for x in token.items()) + "\r\n").encode())
    return s
def hear(s, until):
    text = b""
    s.settimeout(30)
    while until not in text:
        got = s.recv(4096)
        if not got:
            break
        text = text[-100:] + got
    return until in text
def step(name, so):
    print(name, so)
    sys.stdout.flush()
# It takes nothing, until what is sent to it waits at the server: its connection holds no more.
deaf, pace = open_events(True), open_events(False)
assert hear(pace, b"event: begin")
def waits():
    ours = "%04X" % deaf.getsockname()[1]
    for line in open("/proc/net/tcp").readlines()[1:]:
        x = line.split()
        if x[2].endswith(":" + ours):
            return int(x[4].split(":")[0], 16)
before = 0
for i in range(1, 60):
    step("want", i)
    assert hear(pace, b'"decision_id":"loud%d-1"' % i)
    time.sleep(0.2) # so that what was taken is on its way
    now = waits()
    if now - before < 100000:
        break
    before = now
step("deaf", True)
while not os.path.exists("many.done"):
    time.sleep(0.05)
ear = open_events(False)
step("listens", hear(ear, b"event: begin"))
step("heard", hear(ear, b'"decision_id":"last-1"'))
PY
python3 ears.py "$url" >ears.out 2>&1 &
echo $! >ears.pid
# put NAME COUNT CAPTION: so many receipts are in the tree, behind all that are there.
put() {
	sql "$pgdir" "WITH l AS (SELECT tree_size AS at FROM fleet.log), r AS (INSERT INTO fleet.receipt(tenant_id, chain_id, lamport, received_at, at, chain_hash, verdict, rtype, reason, rule, tool, principal, decision_id, caption)
	 SELECT 1, c.chain_id, 1000000 + l.at + i, now(), now(), sha256('x'), 2, 'decision', '', '', '', '', '$1-' || i, $3 FROM l, generate_series(1, $2) i, (SELECT min(chain_id) AS chain_id FROM fleet.chain) c RETURNING 1)
	 INSERT INTO fleet.span(tenant_id, leaf_first, chain_id, lamport_first, n) SELECT 1, l.at, (SELECT min(chain_id) FROM fleet.chain), 1000000 + l.at + 1, $2 FROM l" >/dev/null
	sql "$pgdir" "UPDATE fleet.log SET tree_size = tree_size + $2" >/dev/null
}
i=1
while wait_for 30 grep -q -e "want $i" -e "deaf True" ears.out && ! grep -q "deaf True" ears.out; do
	put "loud$i" 1 "repeat('x', 250000)"
	i=$((i + 1))
	wait_for 30 grep -q -e "want $i" -e "deaf True" ears.out
done
put many 4000 NULL
: >many.done
wait_for 20 grep -q "listens True" ears.out
put last 1 NULL
ok "who does not take what they are sent holds back nobody, however far behind they are" wait_for 20 grep -q "heard True" ears.out
kill "$(cat ears.pid)" 2>/dev/null

# Orders that are together more than a machine takes in one answer: it gets them in several.
python3 -c 'import json; print(json.dumps({"what": "csv", "over": {"q": "x" * 90000}}))' | FORGE_COUNT=100 FORGE_NODE=0 python3 "$HELM_SOURCE/tests/tools/forge_order.py" "$signer" taken >orders.sql
(cd / && pg psql -h "$pgdir" -U postgres -d helm -qtAX -v ON_ERROR_STOP=1 -1 -f -) <orders.sql >/dev/null
ok "nine megabytes of orders are there" [ "$(sql "$pgdir" "SELECT sum(length(body)) > 9000000 FROM fleet.directive")" = t ]
centre freeze --reason behind-all-of-them >/dev/null
machine anna fleet sync >sync.out 2>&1
ok "a machine that is behind them hears the freeze at their end" grep -q behind-all-of-them "$(chain_of anna)"
finish
