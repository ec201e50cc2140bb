#!/bin/sh
# What the official clients of both generations sent to servers of both eras (tests/cases/mcp_transcripts.json), sent again to the gateway: it answers with at
# least what those servers answered, member for member.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
TEST_HOME=$scratch/home
export HELM_BUILD HELM_SOURCE TEST_HOME
mkdir served
cp "$HELM_SOURCE/tests/tools/mcp_server.py" served/server.py
echo '{"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}], "answers": {"echo": {"content": [{"type": "text", "text": "hi"}], "isError": false}}}' >served/plan.json
terminal -- helm mcp add test --read "$PWD/served" -- python3 "$PWD/served/server.py" "$PWD/served/plan.json" >/dev/null
terminal -- helm mcp approve test --yes >/dev/null
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from mcp import *
import http.client
cases = json.load(open(os.path.join(os.environ["HELM_SOURCE"], "tests/cases/mcp_transcripts.json")))
NAMES = {"serverInfo", "io.modelcontextprotocol/serverInfo", "ttlMs", "cacheScope", "supportedVersions", "capabilities"}

def lacks(want, got, at="$"):
    """The first thing in `want` that `got` does not have, or has otherwise."""
    if isinstance(want, dict):
        if not isinstance(got, dict): return at
        for k, v in want.items():
            if k not in got: return at + "." + k
            if k in NAMES:
                if type(v) is not type(got[k]): return at + "." + k
            elif lacks(v, got[k], at + "." + k): return lacks(v, got[k], at + "." + k)
        return None
    if isinstance(want, list):
        return at if not isinstance(got, list) or len(got) != len(want) else next((x for x in (lacks(w, g, "%s[%d]" % (at, i)) for i, (w, g) in enumerate(zip(want, got))) if x), None)
    return None if want == got else at

def is_probe_of_old(want): return want.get("error", {}).get("code") == -32601  # we know the newer era

for name in sorted(k for k in cases if k.startswith("stdio")):
    g, wrong = Gateway("--server", "test", hello=False), None
    for step in cases[name]:
        m = step["message"]
        if step["from"] == "client":
            g.send(m)
        elif not is_probe_of_old(m):
            wrong = wrong or lacks(m, g.wait(m["id"]) or {})
        else:
            wrong = wrong or (None if "result" in (g.wait(m["id"]) or {}) else "discover")
    ok("%s over its streams" % name, wrong is None, wrong)
    g.end()

p = subprocess.Popen([HELM, "mcp", "gateway", "--transport", "http", "--port", "0", "--server", "test"], env=environment(), stdout=subprocess.PIPE, stderr=open("http.log", "wb"))
port = int(json.loads(p.stdout.readline())["base_url"].rsplit(":", 1)[1])
for name in sorted(k for k in cases if k.startswith("http")):
    session, wrong = None, None
    for step in cases[name]:
        q, want = step["request"], step["response"]
        headers = {k: session if k == "mcp-session-id" else v for k, v in q["headers"].items()}
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        c.request(q["method"], q["path"], json.dumps(q["body"]) if q["body"] else None, headers)
        r = c.getresponse()
        body = r.read()
        session = r.getheader("mcp-session-id") or session
        if want["body"] and is_probe_of_old(want["body"]):
            continue
        if r.status != want["status"]: wrong = wrong or "%s %s: %d" % (q["method"], (q["body"] or {}).get("method"), r.status)
        for k, v in want["headers"].items():
            if k == "allow" and r.getheader(k) != v: wrong = wrong or k
        if want["body"]: wrong = wrong or lacks(want["body"], json.loads(body))
    ok("%s over HTTP" % name, wrong is None, wrong)
p.terminate()
p.wait(10)
finish()
PY
