#!/bin/sh
# helm serve answers what waits at the same time together: one look, one write, one sync.  Each has its own answer all the same, also where one of them is
# stopped, asked about, broken, too large or more than a budget has; and what a person says before they are looked at counts for all of them.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
TERMINALS=$scratch/.terminals
export HELM_BUILD HELM_SOURCE TERMINALS
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from serve import *

def evaluate(tool, args, session="many", key=ADMIN, more=""):
    body = json.dumps({"tool": tool, "effect_level": "r", "session_id": session, "args": args})
    return ("POST /api/v1/evaluate HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\nX-Helm-Tenant-ID: default\r\n"
            "X-Helm-Principal-ID: system-admin\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s" % (key, more, len(body), body)).encode()

def together(s, texts, meanwhile=None):
    """All of them wait when the server goes on."""
    callers = [socket.create_connection((s.url.hostname, s.url.port), timeout=60) for t in texts]
    time.sleep(0.2)
    s.p.send_signal(signal.SIGSTOP)
    while {open("/proc/%d/task/%s/stat" % (s.p.pid, t)).read().rsplit(")", 1)[1].split()[0] for t in os.listdir("/proc/%d/task" % s.p.pid)} != {"T"}: time.sleep(0.01)
    for c, text in zip(callers, texts): c.sendall(text)
    if meanwhile: meanwhile()
    s.p.send_signal(signal.SIGCONT)
    answers = []
    for c in callers:
        got = b""
        while True:
            more = c.recv(65536)
            if not more: break
            got += more
        head, _, rest = got.partition(b"\r\n\r\n")
        answers.append((int(head.split()[1]) if head else 0, json.loads(rest) if rest else None))
        c.close()
    return answers

p = Place()
p.write(POLICY + "limits: {budgets: [{id: few, limit: 30, unit: requests, period: day}]}\n")
s = Server(p, env={"HELM_LIMIT_IP": "0", "HELM_LIMIT_KERNEL": "0", "HELM_LIMIT_MEMORY": "1500000"})
s.evaluate("nothing")
kinds = {
    "allowed": lambda n: evaluate("read_ticket", {"n": n}),
    "stopped": lambda n: evaluate("drop_table", {"n": n}),
    "asked": lambda n: evaluate("refund", {"amount": 500 + n}),
    "broken": lambda n: evaluate("read_ticket", {}).replace(b'"tool"', b'"tolo"'),
    "strange": lambda n: evaluate("read_ticket", {}, key="nobody"),
    "large": lambda n: evaluate("Bash", {"command": "a=x;" * 100000}),
    "once": lambda n: evaluate("read_ticket", {"n": n}, more="Idempotency-Key: k%d\r\n" % n),
}
plan = [list(kinds)[i % len(kinds)] for i in range(56)]
before = len(p.receipts())
got = together(s, [kinds[k](i) for i, k in enumerate(plan)])
of = lambda kind: [a for a, k in zip(got, plan) if k == kind]
ok("what is allowed is allowed", all(a[0] == 200 and a[1]["verdict"] == "ALLOW" for a in of("allowed") + of("once")), of("allowed"), of("once"))
ok("what is not is not", all(a[0] == 200 and a[1]["verdict"] == "DENY" for a in of("stopped")), of("stopped"))
ok("a question has its own id", len({a[1]["approval_id"] for a in of("asked") if a[1]["verdict"] == "ESCALATE"}) == 8, of("asked"))
ok("what is broken, comes from nobody or needs too much memory ends alone", {a[0] for a in of("broken")} == {400} and {a[0] for a in of("strange")} == {401} and {a[0] for a in of("large")} == {413}, [a[0] for a in got])
rows = {r["receipt_id"]: r for r in p.receipts()[before:]}
answered = [a[1]["receipt_id"] for a in got if a[0] == 200]
ok("each answer is one receipt, and there is no other", sorted(answered) == sorted(r for r in rows if rows[r]["type"] == "decision") and len(set(answered)) == len(answered), len(answered), len(rows))
ok("with its own verdict", all(rows[a[1]["receipt_id"]]["verdict"] == a[1]["verdict"] and rows[a[1]["receipt_id"]]["decision_id"] == a[1]["decision_id"] for a in got if a[0] == 200))

# Of what is left of a budget nobody has more than is there.
left = 30 - len(of("allowed")) - len(of("once"))
got = together(s, [evaluate("read_ticket", {"n": i}) for i in range(40)])
yes = [a for a in got if a[1]["verdict"] == "ALLOW"]
no = [a for a in got if a[1]["verdict"] == "DENY" and a[1]["reason_code"] == "BUDGET_EXCEEDED"]
ok("a budget is drawn to its end, and not beyond", len(yes) == left > 0 and len(no) == 40 - left, len(yes), len(no))

ok("it ends well", s.stop() == 0)
said = p.helm("log", "check", "--all")
ok("and the chain is sound", said.returncode == 0, said.stdout, said.stderr)
p.done()

# Another key signs from one moment on.
p = Place()
s = Server(p, env={"HELM_LIMIT_IP": "0", "HELM_LIMIT_KERNEL": "0"})
old, said = s.evaluate("read_ticket")[1]["receipt_id"], []
def rotate():
    terminal = os.path.join(SOURCE, "tests/tools/terminal.py")
    said.append(subprocess.run([sys.executable, terminal, "--", HELM, "key", "rotate"], env=dict(p.env, TERM="dumb", TERMINALS=os.environ["TERMINALS"]), capture_output=True, text=True, timeout=120))
got = together(s, [evaluate("read_ticket", {"n": i}) for i in range(20)], rotate)
keys = {r["receipt_id"]: r["key_id"] for r in p.receipts()}
mine = {keys[a[1]["receipt_id"]] for a in got}
ok("a key that was changed while they waited has signed all of them", said[0].returncode == 0 and len(mine) == 1 and keys[old] not in mine, said[0].stdout, said[0].stderr, mine)

# A number that no receipt may hold is on record as its text.
p.write(POLICY.replace("- {id: refunds, action: refund, verdict: ALLOW}", "- {id: refunds, action: refund, verdict: ALLOW, binds: {amount: params.amount}}"))
s.p.send_signal(signal.SIGHUP)
time.sleep(0.5)
got = together(s, [evaluate("refund", {"amount": a}) for a in (1.5, 7, -0.0, 2 ** 53 + 1, 1e300)])
bound = {r["receipt_id"]: r["metadata"]["policy"].get("bound") for r in p.receipts() if r["type"] == "decision"}
ok("a fraction that a policy binds keeps nobody from an answer", [a[0] for a in got] == [200] * 5, got)
ok("and is on record as its text", "1.5" in json.dumps(bound[got[0][1]["receipt_id"]]) and "7" in json.dumps(bound[got[1][1]["receipt_id"]]), [bound[a[1]["receipt_id"]] for a in got])

# A person stops everything while they wait: none of them goes through.
got = together(s, [evaluate("read_ticket", {"n": i}) for i in range(40)], lambda: said.append(p.helm("freeze", "--reason", "drill")))
ok("what was sent before a freeze and looked at after it is stopped", said[1].returncode == 0 and {(a[1]["verdict"], a[1]["reason_code"]) for a in got} == {("DENY", "SYSTEM_FROZEN")}, said[1].stderr, got[:2])
ok("it ends well", s.stop() == 0)
said = p.helm("log", "check", "--all")
ok("and the chain is sound", said.returncode == 0, said.stdout, said.stderr)
p.done()
finish()
PY
