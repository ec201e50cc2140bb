#!/bin/sh
# The gateway before a server of tools over HTTP that breaks off its answer, sends what is no answer, or stalls: the client always has one answer with a sentence, the outcome is
# on record, and the next call goes through.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
TEST_HOME=$scratch/home
TERMINALS=$scratch/.terminals
export HELM_BUILD HELM_SOURCE TEST_HOME TERMINALS
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from mcp import *
from raw_upstream import CLOSE, RESET, STALL, RawUpstream
import http.client

v = RawUpstream()
OK, JSON, SSE = b"HTTP/1.1 200 OK\r\n", b"Content-Type: application/json\r\n", b"Content-Type: text/event-stream\r\n"


def document(d):
    text = json.dumps(d).encode()
    return OK + JSON + b"Connection: close\r\nMcp-Session-Id: s1\r\nContent-Length: %d\r\n\r\n" % len(text) + text


def greets(body):
    """The greeting and the list are in order, and so is a call of "good"; any other call is answered by what the test says."""
    m = json.loads(body or b"{}")
    say = lambda result: document({"jsonrpc": "2.0", "id": m.get("id"), "result": result})
    if m.get("method") == "initialize": return say({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "raw", "version": "1"}})
    if "id" not in m: return b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    if m["method"] == "tools/list": return say({"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("good", "bad")]})
    if m["method"] == "tools/call" and m["params"]["name"] == "good": return say({"content": [{"type": "text", "text": "well"}]})
    return None


v.answers = greets
added = person("mcp", "add", "raw", "--url", v.url, "--timeout", "2")
given = person("mcp", "approve", "raw", "--yes")
ok("the server is known", added.returncode == 0 and given.returncode == 0, added.stdout, added.stderr, given.stdout, given.stderr)

whole = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "x" * 200}]}}).encode()
BROKEN = {
    "closes before its answer": [CLOSE],
    "resets before its answer": [RESET],
    "closes inside its status line": [b"HTTP/1.1 20", CLOSE],
    "closes inside its headers": [OK + b"Content-Ty", CLOSE],
    "closes behind its headers' last but one line": [OK + JSON + b"Content-Length: 2\r\n", CLOSE],
    "resets inside its headers": [OK + JSON, RESET],
    "sends a first line that is none": [b"this is no HTTP\r\n\r\n", CLOSE],
    "sends bytes": [bytes(range(128, 256)) * 8, CLOSE],
    "sends a status that is none": [b"HTTP/1.1 000 OK\r\n" + JSON + b"Content-Length: 2\r\n\r\n{}"],
    "sends an interim answer alone": [b"HTTP/1.1 100 Continue\r\n\r\n", CLOSE],
    "announces a body and sends none": [OK + JSON + b"Content-Length: 50\r\n\r\n", CLOSE],
    "closes inside its body": [OK + JSON + b"Content-Length: 5000\r\n\r\n" + whole[:40], CLOSE],
    "closes inside a body of no length": [OK + JSON + b"\r\n" + whole[:40], CLOSE],
    "closes inside a chunk": [OK + JSON + b"Transfer-Encoding: chunked\r\n\r\n400\r\n" + whole[:40], CLOSE],
    "sends a chunk without a size": [OK + JSON + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"],
    "sends an empty body": [OK + JSON + b"Content-Length: 0\r\n\r\n"],
    "sends what is no JSON": [OK + JSON + b"Content-Length: 5\r\n\r\nnope!"],
    "sends a page": [b"HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\n<h1>no</h1>"],
    "sends the answer to another question": [OK + JSON + b"Content-Length: %d\r\n\r\n" % len(whole.replace(b'"id": 1', b'"id": 987654')) + whole.replace(b'"id": 1', b'"id": 987654')],
    "sends events and no answer": [OK + SSE + b"\r\n: hello\n\nevent: message\ndata: {}\n\n", CLOSE],
    "closes inside an event": [OK + SSE + b"\r\nevent: message\ndata: " + whole[:40], CLOSE],
    "resets inside an event": [OK + SSE + b"\r\nevent: message\ndata: " + whole[:40], RESET],
    "stalls before its answer": [STALL],
    "stalls inside its headers": [OK + b"Content-Ty", STALL],
    "stalls inside its body": [OK + JSON + b"Content-Length: 5000\r\n\r\n" + whole[:40], STALL],
    "stalls inside its events": [OK + SSE + b"\r\nevent: message\ndata: " + whole[:40], STALL],
}
p = subprocess.Popen([HELM, "mcp", "gateway", "--transport", "http", "--port", "0", "--client", "codex"], env=environment(), stdout=subprocess.PIPE, stderr=open("http.log", "wb"))
port = int(json.loads(p.stdout.readline())["base_url"].rsplit(":", 1)[1])
session = {}


def over_http(name):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    ask = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": {}}} if name else {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
    try:
        c.request("POST", "/mcp", json.dumps(ask), dict({"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}, **session))
        r = c.getresponse()
        if not name: session.update({"Mcp-Session-Id": r.getheader("Mcp-Session-Id"), "Mcp-Protocol-Version": "2025-11-25"})
        b = r.read()
        return r.status, json.loads(b)
    except (http.client.HTTPException, OSError, ValueError) as e:
        return 0, repr(e)


over_http(None)
g = Gateway()
for door, call in {"http": lambda: over_http("raw__bad"), "stdio": lambda: (200, g.ask("tools/call", {"name": "raw__bad", "arguments": {}}, timeout=60))}.items():
    for what, pieces in BROKEN.items():
        v.say = pieces
        before, asked = len(receipts()), v.asked
        st, m = call()
        made = receipts()[before:]
        result = m.get("result") if isinstance(m, dict) else None
        wrong = []
        if st != 200 or not result or result.get("isError") is not True or len(text_of(result)) < 20: wrong.append(("answer", st, m))
        if what.startswith("stalls") and "took too long" not in text_of(result): wrong.append(("sentence", text_of(result)))
        if v.asked == asked: wrong.append("it was not asked")
        end = [r for r in made if r.get("type") == "outcome"][-1:]
        if not end or end[0]["status"] not in (("TIMED_OUT",) if what.startswith("stalls") else ("FAILED", "UNKNOWN", "INCOMPLETE")): wrong.append(("record", [(r.get("type"), r.get("status")) for r in made]))
        ok("%s: a server that %s: one answer that says so, and its record" % (door, what), not wrong, *wrong)
    r = over_http("raw__good")[1]["result"] if door == "http" else g.call("raw__good")
    ok("%s: the next call goes through" % door, text_of(r) == "well", r)
g.end()
# One that does not even greet: the call has an answer, and there is no result.
v.answers = None
for what in ("closes before its answer", "closes inside its headers", "closes inside its body", "sends bytes", "stalls inside its headers"):
    v.say = BROKEN[what]
    g = Gateway()
    m = g.ask("tools/call", {"name": "raw__good", "arguments": {}}, timeout=60)
    said = text_of(m["result"]) if m and "result" in m else (m or {}).get("error", {}).get("message", "")
    ok("a server that %s when it is greeted: one answer that says so" % what, m and len(said) > 20 and (m.get("result") or {"isError": True}).get("isError"), m)
    g.end()
said = helm("mcp", "receipts", "raw")
ok("a list of receipts that is cut says so", said.returncode == 0 and "the newest 50; there are more, with --limit N" in said.stderr, said.stderr)
said = helm("mcp", "receipts", "raw", "--limit", "5000")
ok("and nothing when it is whole", said.returncode == 0 and "there are more" not in said.stderr, said.stderr)
p.terminate()
ok("it ends in order", p.wait(20) == 0)
finish()
PY
