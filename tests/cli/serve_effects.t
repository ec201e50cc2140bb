#!/bin/sh
# helm serve: effects of a gateway, the authority court, agents among each other.  What is used once stands in the chain.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
command -v openssl >/dev/null || skip_all "openssl is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
import base64, hashlib, uuid
from serve import *

class Key:
    """An Ed25519 key, by openssl."""
    def __init__(self, where):
        self.file = where
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", where], check=True, capture_output=True)
        self.pub = subprocess.run(["openssl", "pkey", "-in", where, "-pubout", "-outform", "DER"], check=True, capture_output=True).stdout[-32:]
    def sign(self, text):
        with open(self.file + ".msg", "wb") as f: f.write(text)
        return subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", self.file, "-rawin", "-in", self.file + ".msg"], check=True, capture_output=True).stdout.hex()

def verifies(pub_hex, text, sig_hex, where):
    der = bytes.fromhex("302a300506032b6570032100" + pub_hex)
    for name, data in ((".pub", der), (".txt", text), (".sig", bytes.fromhex(sig_hex))):
        with open(where + name, "wb") as f: f.write(data)
    return subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", where + ".pub", "-rawin", "-in", where + ".txt", "-sigfile", where + ".sig"], capture_output=True).returncode == 0

H = lambda x: "sha256:" + hashlib.sha256(json.dumps(x, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
p = Place()
p.write(POLICY + """  - {id: files, action: file_read, verdict: ALLOW}
  - {id: notify, action: NOTIFY, verdict: ALLOW}
  - {id: infra, action: INFRA_CHANGE, verdict: ALLOW}
""")
peer, stranger = Key(p.dir + "/peer"), Key(p.dir + "/stranger")
A, B = "sha256:" + "a" * 64, "sha256:" + "b" * 64
manifest = {"tool_id": "mailer", "version": "1.0.0", "schema_pins": {"input_schema_hash": A, "output_schema_hash": B}}
authority = {"format": "helm.serve.authority.v1",
    "manifests": {"mailer": manifest, "wiper": dict(manifest, tool_id="wiper", required_preflight_checks=["backup_is_fresh"])},
    "ceilings": {"max_budget_usd": 10.50, "max_blast_radius": "tenant"},
    "estimates": {"mailer": {"cost_usd": 1, "blast_radius": "single_record"},
                  "wiper": {"cost_usd": 2, "blast_radius": "dataset", "rollback_plan": True, "dual_control": True, "checks": {"backup_is_fresh": True}}},
    "a2a": {"agent_id": "agent:b", "features": ["METERING_RECEIPTS", "DISPUTE_REPLAY", "EVIDENCE_EXPORT"],
            "keys": [{"kid": "k1", "agent_id": "agent:a", "alg": "ed25519-v2", "public_key": base64.b64encode(peer.pub).decode(), "active": True}],
            "rules": [{"rule_id": "no-payments", "origin_agent": "*", "target_agent": "agent:b", "denied_features": ["AGENT_PAYMENTS"], "action": "DENY"}]}}
with open(p.dir + "/authority.json", "w") as f: json.dump(authority, f)
s = Server(p, "--authority", p.dir + "/authority.json")

# ---- effects ----
def submit(eid, kind="file_read", params=None, headers=None, principal="agent:a", path="/v1/effects", **more):
    return s.ask("POST", path, {"effect": {"effect_type": kind, "effect_id": eid, "params": {"path": "/data/a.csv"} if params is None else params}, "principal": principal, "context": {}}, headers=headers, **more)
st, b, h = submit("eff-1")
ok("an effect that the policy allows is allowed, with an intent", st == 200 and b["verdict"] == "ALLOW" and b["intent"]["intent_id"].startswith("intent-dec-"), b)
row = p.receipts()[-1]
ok("its receipt is the last of the chain, in the shape of this API", b["receipt"]["receipt_id"] == row["receipt_id"].split(".")[-1] and b["receipt"]["lamport"] == row["lamport_clock"] and base64.b64decode(b["receipt"]["signature"]).hex() == row["signature"], b)
ok("for whom it was asked, and by whom, is on record", row["executor_id"] == "agent:a" and row["metadata"]["asked_by"] == "system-admin", row)
ok("the key is used up in the same receipt", [d for d in row["metadata"]["draws"] if d["kind"] == "nonce"], row["metadata"])
intent = b["intent"]
text = b"HELM/EffectIntent/v1\n" + json.dumps({k: v for k, v in intent.items() if k != "signature"}, sort_keys=True, separators=(",", ":")).encode()
pub = p.helm("key", "export").stdout.strip().split()[-1].replace("ed25519:", "")
ok("the intent is signed by the boundary's key", verifies(pub, text, intent["signature"], p.dir + "/v"), intent)
st, again, h = submit("eff-1")
ok("the same effect is answered once", again == b and h.get("idempotency-replayed") == "true" and p.receipts()[-1]["receipt_id"] == row["receipt_id"], again)
st, x, h = submit("eff-1", params={"path": "/other"})
ok("another one with its id is refused", st == 409 and is_error(x, 409), x)
st, x, h = submit("eff-other", headers={"Idempotency-Key": "k-1"}); st, y, h = s.ask("GET", "/v1/effects/idempotency/k-1")
ok("a key says which effect it stands for", y == {"exists": True, "existing_effect_id": "eff-other"}, y)
st, y, h = s.ask("GET", "/v1/effects/idempotency/never")
ok("and one that was not used, that", st == 200 and y == {"exists": False, "existing_effect_id": None}, y)
st, x, h = s.ask("GET", "/v1/effects/eff-1/lifecycle")
ok("it is approved", st == 200 and x["state"] == "APPROVED" and x["pdp_decision_id"] == intent["decision_id"], x)
st, x, h = s.ask("POST", "/v1/effects/eff-1/complete", {"intent_id": "intent-dec-0", "success": True})
ok("another intent completes nothing", st == 409 and is_error(x, 409), x)
done = []
ts = [threading.Thread(target=lambda: done.append(s.ask("POST", "/v1/effects/eff-1/complete", {"intent_id": intent["intent_id"], "success": True, "output": base64.b64encode(b"hi").decode()})[0])) for i in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
ok("of eight completions at once one counts", sorted(done) == [200] + [409] * 7, done)
st, x, h = s.ask("GET", "/v1/effects/eff-1/lifecycle")
ok("it is completed", x["state"] == "COMPLETED" and x["completed_at"], x)
outcome = [r for r in p.receipts() if r["type"] == "outcome"]
ok("on record once, with what came out as a digest", len(outcome) == 1 and outcome[0]["metadata"]["output_sha256"] == "sha256:" + hashlib.sha256(b"hi").hexdigest(), outcome)
st, x, h = s.ask("POST", "/v1/effects/none-such/complete", {"intent_id": "x", "success": True})
ok("what was never submitted is not there", st == 404 and is_error(x, 404), x)
st, x, h = submit("eff-2", "unknown_thing")
ok("what no rule covers is denied, and has no intent", st == 200 and x["verdict"] == "DENY" and x["reason_code"] == "NO_POLICY_DEFINED" and "intent" not in x, x)
st, x, h = s.ask("POST", "/v1/effects/eff-2/complete", {"intent_id": "intent-" + x["receipt"]["decision_id"], "success": True})
ok("nothing follows a denial", st == 409, x)
st, x, h = s.ask("GET", "/v1/effects/eff-2/lifecycle")
ok("which is its state", x["state"] == "DENIED", x)
st, x, h = submit("eff-3", "refund", {"amount": 500})
ok("a question is asked, and uses up no key", x["verdict"] == "ESCALATE" and x["approval_id"] and "draws" not in p.receipts()[-1]["metadata"], x)
st, x, h = s.ask("POST", "/v1/effects", {"effect": {"effect_type": "", "effect_id": "", "params": None}, "principal": "", "context": None})
for what, bad in (("an effect that is a text", {"effect": "x", "principal": "agent:a"}), ("one that is a list", {"effect": [1], "principal": "agent:a"}), ("a principal that is a number", {"effect": {"effect_type": "file_read", "effect_id": "kind-1", "params": {}}, "principal": 5})):
    got, y, _ = s.ask("POST", "/v1/effects", bad)
    ok("so is " + what, got == 200 and y["verdict"] == "DENY" and y["reason_code"] == "ENVELOPE_INVALID", got, y)
ok("what is empty is an answer, not an error", st == 200 and x["verdict"] == "DENY" and x["reason_code"] == "ENVELOPE_INVALID", x)
st, x, h = s.ask("POST", "/v1/effects", {})
ok("so is what is missing", st == 200 and x["verdict"] == "DENY", x)
st, x, h = s.ask("POST", "/v1/effects", {"effect": {"effect_type": "file_read", "effect_id": "e9"}, "principal": "a", "harness": {"pdp_behavior": "timeout"}})
ok("nobody describes the world to this server", st == 403 and is_error(x, 403), x)
st, x, h = submit("eff-5", path="/v1/decide")
ok("the other name is the same", st == 200 and x["verdict"] == "ALLOW", x)
answers = []
ts = [threading.Thread(target=lambda: answers.append(submit("eff-race")[1])) for i in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
ok("eight at once with one id have one decision", len({a["receipt"]["decision_id"] for a in answers}) == 1 and all(a["verdict"] == "ALLOW" for a in answers), [a.get("verdict") for a in answers])

st, x, h = s.ask("POST", "/v1/effects", {"effect": {"effect_type": "file_read", "effect_id": "eff-parent", "params": {"path": "/data/a.csv"}}, "principal": "agent:a", "context": {"claimed_parent_hash": "sha256:" + "0" * 64}})
ok("a parent that is claimed and not known is a denial", x["verdict"] == "DENY" and x["reason_code"] == "PROVENANCE_FAILURE", x)
for what, parent in (("that stands in the chain", p.receipts()[-1]["prev_hash"]), ("with its prefix", "sha256:" + p.receipts()[-2]["prev_hash"])):
    st, x, h = s.ask("POST", "/v1/effects", {"effect": {"effect_type": "file_read", "effect_id": "eff-parent-" + what.replace(" ", "-"), "params": {"path": "/data/a.csv"}}, "principal": "agent:a", "context": {"claimed_parent_hash": parent}})
    ok("one " + what + " is known", x["verdict"] == "ALLOW", x)
st, x, h = submit("eff-signed", params={"path": "/data/a.csv", "bundle_hash": "sha256:abc123", "signature": "invalid"})
ok("so is a signature that nobody can check", x["verdict"] == "DENY" and x["reason_code"] == "VERIFICATION_FAILURE", x)
st, mine, h = submit("eff-17")
st, x, h = submit("eff-17", principal="agent:n", headers={"Idempotency-Key": "of-a-neighbour"})
ok("a neighbour uses the same id", x["verdict"] == "ALLOW", x)
st, x, h = s.ask("POST", "/v1/effects/eff-17/complete", {"intent_id": mine["intent"]["intent_id"], "success": True})
ok("which keeps nobody from completing their own", st == 200, x)

# ---- a decision point ----
st, x, h = s.ask("POST", "/v1/pdp/evaluate", {"effect": {"effect_type": "file_read", "effect_id": "e-10", "params": {}}, "subject": {"principal": "agent:a", "tenant": "default"}})
ok("an answer in the shape of decision points", st == 200 and x["allow"] is True and x["obligations"] == [] and x["decision_hash"] == H({k: x[k] for k in ("allow", "policy_ref", "reason_code")}), x)
st, x, h = s.ask("POST", "/v1/pdp/evaluate", {"effect": {"effect_type": "refund", "effect_id": "e-11", "params": {"amount": 500}}})
ok("a question is no, with what must come first", x["allow"] is False and x["obligations"][0]["type"] == "approval", x)
st, x, h = s.ask("POST", "/v1/pdp/evaluate", {"effect": {"effect_type": "file_read", "effect_id": "e-12"}, "subject": {"tenant": "other"}})
ok("for another tenant nobody answers", st == 403, x)

# ---- the court ----
def asked(**more):
    q = {"request_id": str(uuid.uuid4()), "intent": {"type": "mail", "goal": "say hello"},
         "tool_call_draft": {"tool_id": "mailer", "tool_version": "1.0.0", "args_hash": A, "input_schema_hash": A, "output_schema_hash": B},
         "effects": ["NOTIFY"], "policy_epoch": "0", "idempotency_key": "idem-" + str(uuid.uuid4()), "timestamp": "2026-01-01T00:00:00Z"}
    q.update(more); return q
def court(q): return s.ask("POST", "/v1/authority/evaluate", q)
q = asked()
st, x, h = court(q)
ok("the court allows, with a token", st == 200 and x["decision"]["result"] == "ALLOW" and x["token"]["bound_draft_hash"] == H(q["tool_call_draft"]) and "signature" in x["token"], x)
token = x["token"]
ok("which is on record", p.receipts()[-1]["type"] == "permit" and p.receipts()[-1]["metadata"]["token_hash"] == token["token_hash"])
def commit(**more):
    c = {"token": token, "tool_call_draft": q["tool_call_draft"], "idempotency_key": q["idempotency_key"]}; c.update(more)
    return s.ask("POST", "/v1/authority/commit", c)
for what, more, code in (("another draft", {"tool_call_draft": dict(q["tool_call_draft"], args_hash=B)}, "TOKEN_DRAFT"), ("another key", {"idempotency_key": "x"}, "TOKEN_IDEMPOTENCY"),
                         ("a longer life", {"token": dict(token, expires_at="2099-01-01T00:00:00Z")}, "TOKEN_SIGNATURE"), ("no signature", {"token": {k: v for k, v in token.items() if k != "signature"}}, "TOKEN_SIGNATURE")):
    st, x, h = commit(**more)
    ok("with %s the token is worth nothing" % what, st == 409 and x["error"]["code"] == code, x)
used = []
ts = [threading.Thread(target=lambda: used.append(commit()[0])) for i in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
ok("it is used once, by whoever comes first", sorted(used) == [200] + [409] * 7, used)
ok("and that is on record", len([r for r in p.receipts() if r["effect_id"] == "helm.authority/commit"]) == 1)
d = q["tool_call_draft"]
for what, more, code in (("a schema that has moved", {"tool_call_draft": dict(d, input_schema_hash=B)}, "DENY_SCHEMA_DRIFT"), ("an unknown tool", {"tool_call_draft": dict(d, tool_id="other")}, "DENY_SCHEMA_DRIFT"),
                         ("an old epoch", {"policy_epoch": "7"}, "DENY_POLICY_EPOCH_EXPIRED"), ("an effect that has no type", {"effects": ["SOMETHING"]}, "DENY_EFFECT_NOT_TYPED"),
                         ("no idempotency key", {"idempotency_key": ""}, "DENY_INVARIANT_FAIL"), ("both", {"policy_epoch": "7", "idempotency_key": ""}, "DENY_POLICY_EPOCH_EXPIRED")):
    st, x, h = court(asked(**more))
    ok("refused: " + what, st == 200 and x["decision"]["result"] == "DENY" and x["decision"]["reason_codes"] == [code] and "token" not in x, x)
    ok("and on record as a denial", p.receipts()[-1]["verdict"] == "DENY" and p.receipts()[-1]["metadata"]["rule"] == "court:" + code, p.receipts()[-1]["metadata"])
wipe = asked(tool_call_draft=dict(d, tool_id="wiper"), effects=["INFRA_CHANGE"])
st, x, h = court(wipe)
ok("what cannot be taken back needs a preflight", x["decision"]["reason_codes"] == ["DENY_PREFLIGHT_FAIL"], x)
st, x, h = s.ask("POST", "/v1/authority/preflight", wipe)
ok("which passes when everything that is asked for holds", st == 200 and x["passed"] is True, x)
st, x, h = court(wipe)
ok("and then it is allowed", x["decision"]["result"] == "ALLOW", x)
st, x, h = court(dict(wipe, idempotency_key="another"))
ok("for that draft and key only", x["decision"]["reason_codes"] == ["DENY_PREFLIGHT_FAIL"], x)
ok("no decision is made beside the kernel: the policy has the last word", court(asked(effects=["AUDIT_LOG"]))[1]["decision"]["result"] == "DENY")

# ---- agents ----
def envelope(key=peer, **more):
    e = {"envelope_id": "env-" + str(uuid.uuid4()), "schema_version": {"major": 1, "minor": 9, "patch": 0}, "origin_agent_id": "agent:a", "target_agent_id": "agent:b",
         "required_features": [], "offered_features": ["EVIDENCE_EXPORT", "METERING_RECEIPTS", "IATP_AUTH"], "payload_hash": A}
    e.update(more)
    text = b"HELM/A2AEnvelope/v2\n" + json.dumps(e, sort_keys=True, separators=(",", ":")).encode()
    e["signature"] = {"kid": "k1", "alg": "ed25519-v2", "agent_id": e["origin_agent_id"], "sig": key.sign(("sha256:" + hashlib.sha256(text).hexdigest()).encode())}
    return e
meet = lambda e: s.ask("POST", "/v1/a2a/negotiate", e)
st, x, h = meet(envelope())
ok("features that both have are agreed on, in our order", st == 200 and x["accepted"] is True and x["agreed_features"] == ["METERING_RECEIPTS", "EVIDENCE_EXPORT"] and x["receipt_id"].startswith("a2a-neg:"), x)
ok("on record", p.receipts()[-1]["status"] == "ACCEPTED" and p.receipts()[-1]["metadata"]["negotiation_id"] == x["receipt_id"])
ok("what another key has signed is no envelope of this agent", meet(envelope(stranger))[1].get("deny_reason") == "SIGNATURE_INVALID")
for what, e, why in (("a key of somebody else", envelope(stranger), "SIGNATURE_INVALID"), ("an agent that nobody knows", dict(envelope(), signature=dict(envelope()["signature"], kid="k9")), "AGENT_NOT_TRUSTED"),
                     ("features changed after signing", dict(envelope(), offered_features=["DISPUTE_REPLAY"]), "SIGNATURE_INVALID"), ("another major version", envelope(schema_version={"major": 2, "minor": 0, "patch": 0}), "VERSION_INCOMPATIBLE"),
                     ("one that has expired", envelope(expires_at="2020-01-01T00:00:00Z"), "VERSION_INCOMPATIBLE"), ("a feature that a rule denies", envelope(required_features=["AGENT_PAYMENTS"]), "POLICY_VIOLATION"),
                     ("a feature that is not here", envelope(required_features=["IATP_AUTH"]), "FEATURE_MISSING"), ("an envelope for somebody else", envelope(target_agent_id="agent:z"), "POLICY_VIOLATION"), ("no envelope at all", {}, "SIGNATURE_INVALID")):
    st, x, h = meet(e)
    ok("refused: " + what, st == 200 and x["accepted"] is False and x["deny_reason"] == why and p.receipts()[-1]["status"] == "REFUSED", x)

def kept(): return s.evaluate("read_ticket", {"n": 9}, headers={"Idempotency-Key": "kept"})
ok("an answer is given again under its key", kept()[1]["verdict"] == "ALLOW" and kept()[2].get("idempotency-replayed") == "true")
with open(p.policy) as f: text = f.read()
p.write(text.replace("{id: read, action: read_ticket, verdict: ALLOW}", "{id: read, action: read_ticket, verdict: DENY, text: No more.}"))
s.p.send_signal(signal.SIGHUP)
for i in range(100):
    if s.evaluate("read_ticket", {"n": 10})[1]["verdict"] == "DENY": break
    time.sleep(0.05)
ok("but not when another policy decides", kept()[1]["verdict"] == "DENY", kept()[1])
def allowed(): return s.ask("POST", "/api/v1/evaluate", {"tool": "refund", "effect_level": "w", "session_id": "k", "args": {"amount": 1}}, headers={"Idempotency-Key": "frozen"})[1]
ok("another one", allowed()["verdict"] == "ALLOW")
p.helm("freeze", "--reason", "drill")
ok("nor after a freeze", allowed()["reason_code"] == "SYSTEM_FROZEN", allowed())
st, x, h = commit()
ok("a freeze stops tokens", st == 403 and x["error"]["code"] == "SYSTEM_FROZEN", x)
ok("and agreements", meet(envelope())[0] == 403)
st, x, h = submit("eff-5", path="/v1/decide")
ok("an effect that was allowed before is not told again", st == 403 and x["error"]["code"] == "SYSTEM_FROZEN", (st, x))
ok("and effects", submit("eff-frozen")[1]["reason_code"] == "SYSTEM_FROZEN")
s.stop()
ok("the chain is sound", p.helm("log", "check").returncode == 0)

# ---- starting ----
for what, doc in (("a member that nobody knows", dict(authority, more=1)), ("another format", {"format": "x"}), ("a feature that is none", dict(authority, a2a=dict(authority["a2a"], features=["FLYING"])))):
    with open(p.dir + "/bad.json", "w") as f: json.dump(doc, f)
    r = p.helm("serve", "--policy", p.policy, "--port", "0", "--authority", p.dir + "/bad.json")
    ok("refused at the start: " + what, r.returncode == 1 and "bad.json" in r.stderr, r.stderr)
p2 = Place(); t = Server(p2)
st, x, h = t.ask("POST", "/v1/a2a/negotiate", envelope())
ok("without a file there is nobody to agree with", st == 501 and is_error(x, 501), x)
st, x, h = t.ask("POST", "/v1/authority/evaluate", asked())
ok("and no tool whose schema is known", x["decision"]["reason_codes"] == ["DENY_SCHEMA_DRIFT"], x)
t.stop(); p2.done(); p.done()
finish()
PY
