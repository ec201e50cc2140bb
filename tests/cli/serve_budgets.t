#!/bin/sh
# Budgets that an administrator sets over HTTP: they refuse more than the policy does, for every server of the workspace, and what is drawn stands in the chain.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
export HELM_BUILD HELM_SOURCE
fresh_workspace
cd "$scratch" || exit 1
add() { terminal -- helm serve key add --json "$@" | tr -d '\r' | sed -n 's/.*"token": "\([^"]*\)".*/\1/p'; }
add --principal user:other --tenant other --scope admin >foreign
add --principal agent:a --scope evaluate,read >agent
cat >budgets.py <<'PY'
from serve import *
scratch = sys.argv[1]
p = Place(); shutil.rmtree(p.home); os.symlink(scratch + "/home", p.home); p.helm("init")
p.write(POLICY + "limits: {budgets: [{id: own, limit: 1000, unit: requests, period: day}]}\n")
a, b = Server(p), Server(p)
put = lambda name, body, s=a, **who: s.ask("PUT", "/api/v1/budgets/" + name, body, **who)
verdict = lambda s=a, **args: (lambda r: (r[1]["verdict"], r[1]["reason_code"]))(s.evaluate("refund", dict(args, amount=1)))
st, x, h = a.ask("GET", "/api/v1/budgets")
ok("those of the policy are told", st == 200 and [y["budget_id"] for y in x] == ["own"] and x[0]["tool_call_limit"] == 1000 and x[0]["source"] == "policy", x)
st, x, h = put("calls", {"subject": "*", "window": "day", "max_tool_calls": 3})
ok("one is set", st == 200 and x["budget_id"] == "calls" and x["tool_call_limit"] == 3 and x["updated_at"], x)
row = [r for r in p.receipts() if r["effect_id"] == "helm.serve/budget"][-1]
ok("on record, with who did it", row["metadata"]["serve_budget"]["tool_call_limit"] == 3 and row["executor_id"] == "system-admin", row)
ok("what is allowed is counted", [verdict()[0] for i in range(3)] == ["ALLOW"] * 3)
ok("and then refused", verdict() == ("DENY", "BUDGET_EXCEEDED"), verdict())
st, x, h = a.ask("GET", "/api/v1/budgets")
ok("what was drawn is told", [(y["budget_id"], y.get("tool_calls")) for y in x] == [("calls", 3), ("own", 3)], x)
for i in range(100):
    if verdict(b)[0] == "DENY": break
    time.sleep(0.1)
ok("another server of the workspace knows of it", verdict(b) == ("DENY", "BUDGET_EXCEEDED"))
a.stop(); b.stop()
a = Server(p)
ok("and one that is started later", verdict(a) == ("DENY", "BUDGET_EXCEEDED"))
ok("more is allowed when it is raised", put("calls", {"window": "day", "tool_call_limit": 5}, a)[0] == 200 and [verdict(a)[0] for i in range(3)] == ["ALLOW", "ALLOW", "DENY"])
ok("without a limit it is gone", put("calls", {}, a)[0] == 200 and verdict(a)[0] == "ALLOW" and [y["budget_id"] for y in a.ask("GET", "/api/v1/budgets")[1]] == ["own"])
ok("money is counted by what a request says", put("money", {"window": "day", "spend_limit_cents": 1000, "approval_required_above_cents": 300}, a)[0] == 200
   and [verdict(a, estimated_cost_cents=n)[0] for n in (200, 400, 250, 300, 300)] == ["ALLOW", "ESCALATE", "ALLOW", "ALLOW", "DENY"], [r["verdict"] for r in p.receipts()[-4:]])
for name, body in (("a b", {"tool_call_limit": 1}), ("x", {"tool_call_limit": -1}), ("x", {"tool_call_limit": 1.5}), ("x", {"tool_call_limit": 1, "window": "fortnight"}), ("x", {"tool_call_limit": 1, "subject": "agent:a"}),
                   ("x", {"tool_call_limit": 1, "max_tool_calls": 2}), ("x", {"max_egress_bytes": 1}), ("x", {"budget_id": "y", "tool_call_limit": 1}), ("x", {"tool_call_limit": 10 ** 30})):
    st, x, h = put(urllib.parse.quote(name), body, a)
    ok("refused: %s %s" % (name, json.dumps(body)), st == 400 and is_error(x, 400), st, x)
key = lambda n: dict(key=open(scratch + "/" + n).read().strip(), tenant=None, principal=None)
ok("another tenant sets none for everybody", put("x", {"tool_call_limit": 1}, a, **key("foreign"))[0] == 403 and a.ask("GET", "/api/v1/budgets", **key("foreign"))[0] == 403)
ok("nor does who only asks", put("x", {"tool_call_limit": 1}, a, **key("agent"))[0] == 403)
ok("it ends well", a.stop() == 0 and p.helm("log", "check").returncode == 0)
finish()
PY
PYTHONPATH=$HELM_SOURCE/tests/tools python3 budgets.py "$scratch" | sed 's/^1\.\..*/# the end/; s/^ok [0-9]*/# ok/; s/^not ok [0-9]*/# NOT ok/' >budgets.out
cat budgets.out
ok "budgets bound ($(grep -c '^# ok' budgets.out) checks)" sh -c '! grep -q "^# NOT" budgets.out && grep -q "^# the end" budgets.out'
finish
