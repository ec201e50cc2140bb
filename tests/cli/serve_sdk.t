#!/bin/sh
# What the HELM SDK for TypeScript sends, as it was recorded: every method is answered so that the client understands it, or is in the list
# of what is not offered (docs/guides/serve.md).
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
recorded=$HELM_SOURCE/../shared/vectors/surfaces/sdk/ts_client_requests.json
[ -r "$recorded" ] || skip_all "the recorded requests are not here"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - "$recorded" <<'PY'
from serve import *
import hashlib
p = Place()
# A server of tools that a person has added (tests/cli/mcp.t has persons).
tree = os.path.join(p.home, ".helm/trees", hashlib.sha256(os.path.join(p.home, ".helm/workspace").encode()).hexdigest())
os.makedirs(tree, mode=0o700, exist_ok=True)
with open(os.open(tree + "/mcp.json", os.O_CREAT | os.O_WRONLY, 0o600), "w") as f:
    json.dump({"version": 1, "servers": {"s": {"command": "true", "state": "quarantined", "added_at": "2026-01-01T00:00:00Z", "launch_sha256": "sha256:00"}}}, f)
s = Server(p)
guide = open(SOURCE + "/docs/guides/serve.md").read()
absent = {l.split("`")[1] for l in guide.split("## What is not offered")[1].split("\n## ")[0].splitlines() if l.startswith("| `")}
# Things that the recorded requests name and that exist only in their recording are put in their place here.
st, one, h = s.evaluate("read_ticket", {"id": 1}, session="s1")
st, esc, h = s.evaluate("refund", {"amount": 900}, session="s1")
st, cp, h = s.ask("POST", "/api/v1/boundary/checkpoints")
st, rep, h = s.ask("POST", "/api/v1/conformance/run", {"level": "L1"})
st, pack, h = s.ask("POST", "/api/v1/evidence/export", {"session_id": "s1"}, raw=True)
real = {"/api/v1/proofgraph/receipts/h": "/api/v1/proofgraph/receipts/" + one["receipt_id"],
        "/api/v1/boundary/records/b": "/api/v1/boundary/records/" + one["decision_id"],
        "/api/v1/boundary/records/b/verify": "/api/v1/boundary/records/%s/verify" % one["decision_id"],
        "/api/v1/boundary/checkpoints/c/verify": "/api/v1/boundary/checkpoints/%s/verify" % cp["checkpoint_id"],
        "/api/v1/conformance/reports/c": "/api/v1/conformance/reports/" + rep["report_id"]}
# What the recording's stand-in accepted, and the specification refuses: no times, no hash of what was seen, another's question.
stricter = {"createApprovalCeremony": 400, "transitionApprovalCeremony": 404}
bodies = {"verifyPublicDemoReceipt": None}

def shape(want, got):
    """Every member that the client was given there is here, of the same kind."""
    if isinstance(want, dict):
        if "signature_version" in want: want = {k: v for k, v in want.items() if k not in ours}
        return isinstance(got, dict) and all(k in got and shape(v, got[k]) for k, v in want.items())
    if isinstance(want, list): return isinstance(got, list) and (not want or not got or shape(want[0], got[0]))
    return isinstance(got, type(want)) or want is None

# Members of the recording that can only ever have one value, and are left out where that is not so (doors-additions 12).
# And two of receipts: the id of ours binds every member, so nothing is added to what was signed; output_hash and args_hash say the same.
one_value = {"mcp_firewall", "sandbox", "authz"}
# Where another program can read the published OpenAPI document, it says whether an answer fits.
try:
    import jsonschema, re, yaml
    published = yaml.safe_load(open(os.path.join(os.path.dirname(sys.argv[1]), "../openapi/helm.openapi.yaml")))
except (ImportError, OSError):
    published = None
def misfits(method, path, status, got):
    if not published: return []
    ways = [(q, o) for q, o in published["paths"].items() if method.lower() in o and re.fullmatch(re.sub(r"{[^}]*}", "[^/]+", q), path.split("?")[0])]
    answer = min(ways, key=lambda w: w[0].count("{"))[1][method.lower()]["responses"].get(str(status)) if ways else None
    if not answer: return ["%s %s: %d is not said" % (method, path, status)]
    schema = answer.get("content", {}).get("application/json", {}).get("schema")
    found = jsonschema.Draft202012Validator(dict(schema, components=published["components"])).iter_errors(got) if schema else []
    return [e.message for e in found if not any(repr(m) in e.message for m in one_value)]
ours = {"decision_hash", "blob_hash"}
for r in json.load(open(sys.argv[1])):
    name, path, want = r["sdk_method"], real.get(r["path"], r["path"]), r["accepted_response"]
    body, headers = r["body"], dict(r["headers"])
    headers = {k: v for k, v in headers.items()}
    if isinstance(body, str):
        body = b'--B\r\nContent-Disposition: form-data; name="bundle"; filename="b"\r\n\r\n' + pack + b"\r\n--B--\r\n"
        headers["content-type"] = "multipart/form-data; boundary=B"
    st, got, h = s.ask(r["method"], path, body, headers={k.title(): v for k, v in headers.items()}, key=None, tenant=None, principal=None, raw=want["body"] == "<octet-stream>")
    if name in absent:
        ok(name + ": not offered, and said so", st == 501 and is_error(got, 501), st, got)
    elif name in stricter:
        ok(name + ": refused, as specified", st == stricter[name] and is_error(got, st), st, got)
    elif want["body"] == "<octet-stream>":
        ok(name, st == 200 and len(got) > 100, st)
    else:
        if isinstance(want["body"], dict) and "details" in want["body"]: want["body"]["details"] = {}
        if isinstance(want["body"], list) and want["body"] and "details" in want["body"][0]: want["body"][0]["details"] = {}
        expected = {k: v for k, v in want["body"].items() if k not in one_value} if isinstance(want["body"], dict) else want["body"]
        odd = misfits(r["method"], path, st, got)
        ok(name, st == want["status"] and shape(expected, got) and not odd, st, got, expected, odd)
ok("it ends well", s.stop() == 0 and p.helm("log", "check").returncode == 0)
p.done()
finish()
PY
