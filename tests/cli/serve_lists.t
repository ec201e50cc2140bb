#!/bin/sh
# Lists over HTTP that are cut: each says how many there are, or that there are more, and its pages together are all of it.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from serve import *

p = Place()
s = Server(p, env={"HELM_LIMIT_IP": "0", "HELM_LIMIT_KERNEL": "0", "HELM_LIMIT_ADMIN": "0", "HELM_LIMIT_EVIDENCE": "0"})
on = s.connection()
MANY = 213
ids = []
for i in range(MANY):
    st, b, h = s.evaluate("refund", {"amount": 1000 + i}, session="s%d" % (i % 70), on=on)
    ids.append(b.get("approval_id"))
ok("so many questions were asked", len(set(ids)) == MANY and None not in ids, ids[:3])


def page(path, **query):
    st, b, h = s.ask("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))
    return st, b, h.get("x-total-count"), h.get("x-has-more")


def names(rows): return [r["approval_id"] for r in rows]


# ---- what waits ----
A = "/api/v1/approvals"
st, b, total, more = page(A, state="pending")
ok("without a limit the newest 200, and of how many", st == 200 and names(b) == ids[-200:] and total == str(MANY) and more == "true", st, len(b), total, more)
st, b, total, more = page(A, state="pending", limit=1000)
ok("all with a limit, and none is missing", names(b) == ids and total == str(MANY) and more == "false", len(b), total, more)
st, b, total, more = page(A, state="pending", limit=MANY)
ok("a limit that fits exactly", names(b) == ids and more == "false", len(b), total, more)
st, b, total, more = page(A, state="pending", limit=1)
ok("one is the newest", names(b) == ids[-1:] and total == str(MANY) and more == "true", b, total, more)
got, offset, said = [], 0, []
while offset < 2 * MANY:
    st, b, total, more = page(A, state="pending", limit=50, offset=offset)
    got, offset = names(b) + got, offset + len(b)
    said.append((len(b), total, more))
    if more == "false": break
ok("pages together are all of it, each question once", got == ids and {t for _, t, _ in said} == {str(MANY)} and [m for _, _, m in said] == ["true"] * 4 + ["false"], said)
st, b, total, more = page(A, state="pending", offset=200)
ok("what only the log still has is on the second page", names(b) == ids[:MANY - 200] and total == str(MANY) and more == "false", len(b), total, more)
st, b, total, more = page(A, state="pending", offset=MANY)
ok("behind the end is nothing", st == 200 and b == [] and total == str(MANY) and more == "false", st, b, total, more)
st, b, total, more = page(A)
ok("without a state they are counted, too", names(b) == ids[-200:] and total == str(MANY) and more == "true", len(b), total, more)
wrong = {k: page(A, **q)[:2] for k, q in {"limit 0": {"limit": 0}, "limit 1001": {"limit": 1001}, "limit x": {"limit": "x"}, "offset -1": {"offset": -1}, "offset x": {"offset": "x"}, "offset 10001": {"offset": 10001}}.items()}
ok("a limit or an offset that is none is 400, with a sentence", all(st == 400 and is_error(b, 400) and b["error"]["message"] for st, b in wrong.values()), wrong)
old = [x for x in page(A, state="pending", limit=1000)[1] if x["approval_id"] == ids[0]][0]
st, b, h = s.ask("POST", A + "/%s/deny" % ids[0], {"expected_ceremony_hash": old["ceremony_hash"], "reason": "no"})
st2, b2, total, more = page(A, state="pending", limit=1000)
ok("the oldest is answered, and counted no more", st == 200 and total == str(MANY - 1) and names(b2) == ids[1:], st, b, total)

# ---- others ----
st, b, total, more = page("/api/v1/boundary/records", limit=10)
ok("records: that there are more", st == 200 and len(b) == 10 and more == "true", st, len(b), more)
st, b, total, more = page("/api/v1/boundary/records", limit=1000)
ok("and that there are not", len(b) == MANY and more == "false", len(b), more)
st, b, total, more = page("/api/v1/boundary/records", limit=MANY)
ok("also when it fits exactly", len(b) == MANY and more == "false", len(b), more)
st, b, total, more = page("/api/v1/proofgraph/sessions")
ok("sessions: of how many", st == 200 and len(b) == 50 and int(total) >= 70 and more == "true", st, len(b), total, more)
st, rest, total2, more = page("/api/v1/proofgraph/sessions", offset=50)
ok("and the rest", len({x["session_id"] for x in b + rest}) == int(total) == int(total2) and more == "false", len(rest), total, more)
st, b, h = s.ask("GET", "/api/v1/receipts?limit=10")
ok("receipts: that there are more, and where they go on", b["has_more"] is True and b["next_cursor"], b["has_more"])
st, b, h = s.ask("GET", "/api/v1/console/waiting?limit=5")
ok("the console: what is shown, of how many", st == 200 and b["shown"] == 5 == len(b["waiting"]) and b["total"] == MANY - 1, st, b.get("shown"), b.get("total"))
for i in range(230): s.ask("POST", "/api/v1/boundary/checkpoints", on=on)
st, b, h = s.ask("GET", "/api/v1/console/log")
ok("heads of the log: the newest 200, and of how many", st == 200 and len(b["heads"]) == 200 and b["heads_total"] == 230 and b["heads"][-1]["timestamp"] >= b["heads"][0]["timestamp"], st, len(b.get("heads", [])), b.get("heads_total"))
key = os.path.join(p.dir, "key")
with open(key, "w") as f: f.write(ADMIN)
os.chmod(key, 0o600)
remote = ("--url", "http://%s:%d" % (s.url.hostname, s.url.port), "--api-key-file", key)
said = p.helm("approval", "list", "--json", *remote)
ok("helm approval list of another machine lists all", said.returncode == 0 and len(json.loads(said.stdout)) == MANY - 1, said.stderr, said.stdout[:200])
project = os.path.join(p.dir, "project")
os.mkdir(project)
for i in range(3):
    call = json.dumps({"tool_name": "Bash", "tool_input": {"command": "rm -rf src"}, "session_id": "client-%d" % i, "cwd": project, "tool_use_id": "u%d" % i})
    subprocess.run([sys.executable, os.path.join(SOURCE, "tests/tools/agent.py"), HELM, "hook", "pre-tool", "--client", "claude-code"], env=p.env, cwd=project, input=call, capture_output=True, text=True, timeout=60)
st, b, h = s.ask("GET", "/api/v1/console/sessions?limit=2")
ok("sessions of clients there, too", st == 200 and b["shown"] == 2 == len(b["sessions"]) and b["total"] == 3, st, b)
ok("it ends well", s.stop() == 0)
p.done()
finish()
PY
