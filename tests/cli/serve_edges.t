#!/bin/sh
# helm serve: of several effects each must be allowed; what was refused leaves nothing on record; nobody answers while everything is frozen.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
export HELM_BUILD HELM_SOURCE
fresh_workspace
cd "$scratch" || exit 1
terminal -- helm serve key add --json --principal user:anna --scope approve,read | tr -d '\r' | sed -n 's/.*"token": "\([^"]*\)".*/\1/p' >anna
cat >edges.py <<'PY'
import uuid
from serve import *
scratch = sys.argv[1]
p = Place(); shutil.rmtree(p.home); os.symlink(scratch + "/home", p.home); p.helm("init")
p.write(POLICY + """  - {id: notify, action: NOTIFY, verdict: ALLOW}
  - {id: infra, action: INFRA_CHANGE, verdict: ALLOW}
""")
A, B = "sha256:" + "a" * 64, "sha256:" + "b" * 64
manifest = {"tool_id": "mailer", "version": "1.0.0", "schema_pins": {"input_schema_hash": A, "output_schema_hash": B}}
with open(p.dir + "/authority.json", "w") as f:
    json.dump({"format": "helm.serve.authority.v1", "manifests": {"mailer": manifest}, "ceilings": {"max_budget_usd": 10, "max_blast_radius": "tenant"},
               "estimates": {"mailer": {"cost_usd": 1, "blast_radius": "single_record"}}, "a2a": {"agent_id": "agent:b", "features": [], "keys": [], "rules": []}}, f)
s = Server(p, "--authority", p.dir + "/authority.json")
def court(effects):
    st, x, h = s.ask("POST", "/v1/authority/evaluate", {"request_id": str(uuid.uuid4()), "intent": {"type": "mail", "goal": "say hello"},
        "tool_call_draft": {"tool_id": "mailer", "tool_version": "1.0.0", "args_hash": A, "input_schema_hash": A, "output_schema_hash": B},
        "effects": effects, "policy_epoch": "0", "idempotency_key": "idem-" + str(uuid.uuid4()), "timestamp": "2026-01-01T00:00:00Z"})
    return st, x.get("decision", {}).get("result"), "token" in x
for effects, wanted in ((["NOTIFY"], "ALLOW"), (["NOTIFY", "NOTIFY"], "ALLOW"), (["AUDIT_LOG"], "DENY"), (["AUDIT_LOG", "NOTIFY"], "DENY"),
                        (["NOTIFY", "AUDIT_LOG"], "DENY"), (["NOTIFY", "AUDIT_LOG", "NOTIFY"], "DENY")):
    got = court(effects)
    ok("effects %s: %s, with a token for ALLOW only" % (effects, wanted), got == (200, wanted, wanted == "ALLOW"), got)

for body in ({"action": "read_ticket", "tool": "refund", "resource": "r"}, {"tool": "read_ticket", "effect_level": "r", "resource": "x"},
             {"tool": "read_ticket", "effect_level": "r", "session_id": "a", "context": {"session_id": "b"}}):
    n = len(p.receipts())
    st, b, h = s.ask("POST", "/api/v1/evaluate", body)
    ok("two spellings that differ: 400, and nothing is decided: %s" % sorted(body), st == 400 and len(p.receipts()) == n and "verdict" not in b, st, b)

anna = dict(key=open(scratch + "/anna").read().strip(), tenant=None, principal=None)
st, b, h = s.evaluate("refund", {"amount": 500})
asked = b["approval_id"]
def state(): return [x for x in s.ask("GET", "/api/v1/approvals", **anna)[1] if x["approval_id"] == asked][0]
seen = {"expected_ceremony_hash": state()["ceremony_hash"]}
p.helm("freeze", "--reason", "a fire")
for word in ("approve",):
    n = len(p.receipts())
    st, b, h = s.ask("POST", "/api/v1/approvals/%s/%s" % (asked, word), seen, **anna)
    ok("while everything is frozen nobody says yes", st == 403 and b["error"]["code"] == "SYSTEM_FROZEN", st, b)
    ok("nothing of it is on record, and the question waits", len(p.receipts()) == n and state()["state"] == "pending", state())
ok("it ends well", s.stop() == 0)
finish()
PY
PYTHONPATH=$HELM_SOURCE/tests/tools python3 edges.py "$scratch" | sed 's/^1\.\..*/# the end/; s/^ok [0-9]*/# ok/; s/^not ok [0-9]*/# NOT ok/' >edges.out
cat edges.out
ok "answers at their edges ($(grep -c '^# ok' edges.out) checks)" sh -c '! grep -q "^# NOT" edges.out && grep -q "^# the end" edges.out'
finish
