#!/bin/sh
# The gateway over HTTP: sessions, the era without them, who may come, streams; and servers that are reached by a url.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
TEST_HOME=$scratch/home
TERMINALS=$scratch/.terminals
export HELM_BUILD HELM_SOURCE TEST_HOME TERMINALS
mkdir served
cp "$HELM_SOURCE/tests/tools/mcp_server.py" served/server.py
cat >served/plan.json <<'X'
{"tools": [{"name": "echo", "description": "Say it back.", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}},
 {"name": "slow", "inputSchema": {"type": "object"}}, {"name": "slower", "inputSchema": {"type": "object"}}], "delay": {"slow": 20, "slower": 0.3},
 "capabilities": {"tools": {}, "resources": {}}, "updates": true}
X
terminal -- helm mcp add test --pass resources --read "$PWD/served" -- python3 "$PWD/served/server.py" "$PWD/served/plan.json" >/dev/null
terminal -- helm mcp approve test --yes >/dev/null
bob=$(terminal -- helm serve key add --principal agent:bob --tenant b --scope evaluate | tr -d '\r' | grep '^helm_')
export BOB="$bob"
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from mcp import *
import http.client, socket
p = subprocess.Popen([HELM, "mcp", "gateway", "--transport", "http", "--port", "0", "--client", "codex"], env=environment(), stdout=subprocess.PIPE, stderr=open("http.log", "wb"))
ready = json.loads(p.stdout.readline())
port = int(ready["base_url"].rsplit(":", 1)[1])
ok("the ready line names the port", ready["ready"] and port > 0, ready)

def http_ask(method, body=None, path="/mcp", **headers):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    h = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    h.update({k.replace("_", "-"): v for k, v in headers.items()})
    c.request(method, path, body if isinstance(body, (bytes, str, type(None))) else json.dumps(body), {k: v for k, v in h.items() if v})
    r = c.getresponse()
    data = r.read()
    try: data = json.loads(data)
    except ValueError: pass
    return r.status, data, {k.lower(): v for k, v in r.getheaders()}

def rpc(method, params=None, id=1): return dict({"jsonrpc": "2.0", "id": id, "method": method}, **({"params": params} if params is not None else {}))
hello = rpc("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
st, b, h = http_ask("POST", hello)
session = h.get("mcp-session-id")
ok("initialize begins a session", st == 200 and session and b["result"]["protocolVersion"] == "2025-11-25", st, b, h)
ok("news are promised: a session has a stream for them", b["result"]["capabilities"]["tools"]["listChanged"] is True and b["result"]["capabilities"]["resources"] == {"listChanged": True, "subscribe": True}, b)
at = {"Mcp_Session_Id": session, "Mcp_Protocol_Version": "2025-11-25"}
st, b, h = http_ask("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, **at)
ok("a notification is taken", st == 202 and b == b"", st, b)
st, b, h = http_ask("POST", rpc("tools/list"), **at)
names = [t["name"] for t in b["result"]["tools"]]
ok("tools are listed, Helm's own among them", st == 200 and "test__echo" in names and "helm_status" in names, names)
st, b, h = http_ask("POST", rpc("tools/call", {"name": "test__echo", "arguments": {"a": "x"}}), **at)
ok("a call goes through", st == 200 and text_of(b["result"]) == '{"a": "x"}', b)
st, b, h = http_ask("POST", rpc("tools/call", {"name": "helm_guard_check", "arguments": {"command": ["rm", "-rf", "/"]}}), **at)
ok("Helm's own tools answer, with structure", st == 200 and b["result"].get("structuredContent", {}).get("exit_code") == 25, b)
st, b, h = http_ask("POST", rpc("tools/call", {"name": "helm_status", "arguments": {"no-such": 1}}), **at)
ok("and check what they are given", b["error"]["code"] == -32602, b)
ok("nothing that answers a question is a tool", not any("approve" in n or "deny" in n for n in names), names)
st, b, h = http_ask("POST", rpc("resources/list"), **at)
ok("resources are passed on where a person let them", st == 200 and b["result"]["resources"][0]["uri"] == "helm://test/test://a", b)
st, b, h = http_ask("POST", rpc("resources/read", {"uri": "helm://test/test://a"}), **at)
ok("and read, on record", b["result"]["contents"][0]["text"] == "hello" and b["result"]["contents"][0]["uri"] == "helm://test/test://a" and receipts()[-1]["tool_name"] == "mcp__test__resources/read", b, receipts()[-1])
st, b, h = http_ask("POST", rpc("resources/read", {"uri": "helm://test/file:///etc/shadow"}), **at)
ok("judged like any reading", "error" in b and "Access Denied" in b["error"]["message"], b)

# what is wrong
st, b, h = http_ask("POST", "{nope", **at)
ok("what is no JSON is 400", st == 400 and b["error"]["code"] == -32700, st, b)
st, b, h = http_ask("POST", [rpc("ping")], **at)
ok("a batch is 400", st == 400 and b["error"]["code"] == -32600, st, b)
st, b, h = http_ask("POST", rpc("ping"), Mcp_Session_Id="0" * 32)
ok("a session that is none is 404", st == 404, st, b)
st, b, h = http_ask("POST", rpc("ping"), Mcp_Session_Id=session, Mcp_Protocol_Version="1999-01-01")
ok("a version that is none is 400", st == 400, st, b)
st, b, h = http_ask("POST", rpc("ping"), Origin="https://evil.example", **at)
ok("a page of elsewhere is not let in", st == 403, st, b)
st, b, h = http_ask("POST", rpc("ping"), Host="evil.example", **at)
ok("nor by a name that leads here", st == 403, st, b)
st, b, h = http_ask("POST", rpc("ping"), Origin="http://localhost:5173", **at)
ok("one of this machine is", st == 200, st, b)
st, b, h = http_ask("GET", None, Accept="text/event-stream")
ok("there is no stream to open without a session", st == 405 and h["allow"] == "POST, DELETE", st, h)
st, b, h = http_ask("GET", None, Accept="text/event-stream", Mcp_Session_Id="0" * 32)
ok("nor for one that is none", st == 404, st, h)
def stream():
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    c.request("GET", "/mcp", None, dict({k.replace("_", "-"): v for k, v in at.items()}, Accept="text/event-stream"))
    return c.getresponse()
def next_event(s):
    while True:
        l = s.readline()
        if not l: return None
        if l.startswith(b"data: "): return json.loads(l[6:])
s = stream()
ok("a session has one", s.status == 200 and s.headers["Content-Type"] == "text/event-stream", s.status)
person("mcp", "approve", "test", "--tool", "echo", "--tool", "slow*", "--yes")
http_ask("POST", rpc("tools/list"), **at)
ok("by which it hears that tools changed", next_event(s)["method"] == "notifications/tools/list_changed")
second = stream()
ok("the next one takes its place", next_event(s) is None)
person("mcp", "approve", "test", "--yes")
http_ask("POST", rpc("tools/list"), **at)
ok("and hears instead", next_event(second)["method"] == "notifications/tools/list_changed")
st, b, h = http_ask("POST", rpc("resources/subscribe", {"uri": "helm://test/test://a"}), **at)
m = next_event(second)
ok("what it watches is told under the name that it knows", b["result"] == {} and m == {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "helm://test/test://a"}}, b, m)
second.close()
st, b, h = http_ask("GET", None, path="/api/v1/receipts")
ok("nothing else is open here", st == 404, st, b)

# progress
st, b, h = http_ask("POST", rpc("tools/call", {"name": "test__slower", "arguments": {}, "_meta": {"progressToken": 7}}), **at)
lines = [json.loads(l[6:]) for l in b.decode().splitlines() if l.startswith("data: ")]
ok("who wants progress gets a stream", h["content-type"] == "text/event-stream" and [m["params"]["progress"] for m in lines if "method" in m] == [1, 2] and "result" in lines[-1], b)

# the era without sessions
meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}}
new = {"Mcp_Protocol_Version": "2026-07-28"}
st, b, h = http_ask("POST", rpc("server/discover", {"_meta": meta}), Mcp_Method="server/discover", **new)
ok("the newer era is discovered without a session", st == 200 and b["result"]["supportedVersions"][0] == "2026-07-28", b)
st, b, h = http_ask("POST", rpc("tools/call", {"name": "test__echo", "arguments": {"a": "n"}, "_meta": meta}), Mcp_Method="tools/call", Mcp_Name="test__echo", **new)
ok("and calls", st == 200 and b["result"]["resultType"] == "complete", b)
st, b, h = http_ask("POST", rpc("tools/call", {"name": "test__echo", "arguments": {"a": "n"}, "_meta": meta}), Mcp_Method="tools/call", Mcp_Name="other", **new)
ok("headers and body must agree", st == 400 and b["error"]["code"] == -32020, st, b)
said = []
t = threading.Thread(target=lambda: said.append(http_ask("POST", rpc("tools/call", {"name": "test__slower", "arguments": {}, "_meta": meta}, 3), **new)))
t.start(); time.sleep(0.1)
http_ask("POST", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3, "_meta": meta}}, **new)
t.join()
ok("nobody calls off what another one asked under the same id", said[0][0] == 200 and "result" in said[0][1], said)
st, b, h = http_ask("POST", rpc("tools/list", {"_meta": dict(meta, **{"io.modelcontextprotocol/protocolVersion": "2030-01-01"})}), Mcp_Protocol_Version="2030-01-01")
ok("an unknown version is 400 with those that are known", st == 400 and b["error"]["code"] == -32022, st, b)

# calling off by closing
c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
c.request("POST", "/mcp", json.dumps(rpc("tools/call", {"name": "test__slow", "arguments": {}})), {"Content-Type": "application/json", "Accept": "application/json", "Mcp-Session-Id": session})
time.sleep(0.5); c.sock.shutdown(socket.SHUT_RDWR); c.close()
until = time.time() + 10
while time.time() < until and not any(x["status"] == "CANCELLED" for x in receipts()): time.sleep(0.05)
ok("who closes the connection calls it off", any(x["status"] == "CANCELLED" for x in receipts()))
st, b, h = http_ask("DELETE", None, **at)
ok("a session is ended", st == 200, st)
st, b, h = http_ask("POST", rpc("ping"), **at)
ok("and is none then", st == 404, st)
p.terminate()
ok("it ends well", p.wait(10) == 0, p.returncode)

# in helm serve, with keys
open("policy.yaml", "w").write("""format: helm.policy.v1
name: door
version: "1"
rules:
  - {id: calls, action: AGENT_TOOL_CALL, verdict: ALLOW}
  - id: no
    action: AGENT_TOOL_CALL
    when: input.tool == "mcp__test__slow"
    verdict: DENY
    text: Not by this door.
""")
p = subprocess.Popen([HELM, "serve", "--policy", "policy.yaml", "--port", "0"], env=environment(HELM_ADMIN_API_KEY="k-admin"), stdout=subprocess.PIPE, stderr=open("serve.log", "wb"))
port = int(json.loads(p.stdout.readline())["base_url"].rsplit(":", 1)[1])
key = {"Authorization": "Bearer k-admin", "X-Helm-Tenant-ID": "default", "X-Helm-Principal-ID": "system-admin"}
st, b, h = http_ask("POST", hello)
ok("helm serve has it for who has a key", st == 401, st, b)
st, b, h = http_ask("POST", hello, **key)
ok("and begins a session", st == 200, st, b)
at = dict(key, Mcp_Session_Id=h["mcp-session-id"])
st, b, h = http_ask("POST", rpc("tools/call", {"name": "test__echo", "arguments": {"a": "s"}}), **at)
ok("calls go through", text_of(b["result"]) == '{"a": "s"}' and receipts()[-1]["executor_id"] == "system-admin", b)
st, b, h = http_ask("POST", rpc("tools/call", {"name": "test__slow", "arguments": {}}), **at)
ok("and obey the policy of the door", verdict_of(b["result"]) == "DENY" and "Not by this door" in text_of(b["result"]), b)
st, b, h = http_ask("POST", rpc("tools/call", {"name": "helm_receipts_list", "arguments": {}}), **at)
ok("Helm's own tools are there for an administrator", st == 200 and "structuredContent" in b["result"], b)
bob = {"Authorization": "Bearer " + os.environ["BOB"]}
st, b, h = http_ask("POST", hello, **bob)
at = dict(bob, Mcp_Session_Id=h.get("mcp-session-id", ""))
st, b, h = http_ask("POST", rpc("tools/list"), **at)
ok("and for nobody else: they tell of every tenant", st == 200 and [t["name"] for t in b["result"]["tools"] if t["name"].startswith("helm_")] == [] and "test__echo" in str(b), b)
st, b, h = http_ask("POST", rpc("tools/call", {"name": "helm_receipts_list", "arguments": {}}), **at)
ok("nor called", b.get("error", {}).get("message", "").startswith("Unknown tool"), b)
st, b, h = http_ask("POST", rpc("ping"), **key)
ok("a session is needed here", st == 400, st, b)

# a key that is revoked
c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
c.request("GET", "/mcp", None, dict({k.replace("_", "-"): v for k, v in at.items()}, Accept="text/event-stream"))
s = c.getresponse()
ok("who has a key has a stream for news here", s.status == 200, s.status)
keys = json.loads(helm("serve", "key", "list", "--json").stdout)
person("serve", "key", "revoke", [k for k in keys if k["principal"] == "agent:bob"][0]["key_id"])
ok("which ends with the key", s.read() is not None)

# the registry, over the API
st, b, h = http_ask("GET", None, "/api/v1/mcp/registry", **key)
ok("the registry is what it is", st == 200 and [(r["server_id"], r["state"], r["transport"]) for r in b] == [("test", "approved", "stdio")] and "echo" in b[0]["tool_names"], b)
ok("and tells nobody how a server is started", "server.py" not in str(b), b)
st, b, h = http_ask("GET", None, "/api/v1/mcp/registry/nobody", **key)
ok("one that is not there is 404", st == 404, st, b)
ask = {"server_id": "test", "tool_name": "echo", "args": {"a": "x"}}
open("policy.yaml", "a").write("  - {id: api, action: mcp__test__echo, verdict: ALLOW}\n  - {id: other, action: mcp__test__other, verdict: ALLOW}\n")
p.send_signal(1)
time.sleep(0.5)
st, b, h = http_ask("POST", ask, "/api/v1/mcp/authorize-call", **key)
ok("a call of an approved tool is allowed", st == 200 and b["verdict"] == "ALLOW", st, b)
st, b, h = http_ask("POST", dict(ask, tool_name="other"), "/api/v1/mcp/authorize-call", **key)
ok("one that nobody approved is not, whatever the policy says", st == 403 and b["verdict"] == "ESCALATE", st, b)
st, b, h = http_ask("POST", {"reason": "gone"}, "/api/v1/mcp/registry/test/revoke", **key)
ok("an administrator withdraws a server", st == 200 and b["state"] == "revoked" and receipts()[-1]["effect_id"] == "helm.mcp/revoke", st, b)
st, b, h = http_ask("POST", ask, "/api/v1/mcp/authorize-call", **key)
ok("and then nothing of it is allowed, at any door", st == 403 and b["verdict"] == "DENY", st, b)
st, b, h = http_ask("POST", {}, "/api/v1/mcp/registry/test/approve", **key)
ok("to approve takes a person at a terminal", st == 501 and "helm mcp approve" in str(b), st, b)
p.terminate()
ok("and it ends well, too", p.wait(10) == 0, p.returncode)
finish()
PY
