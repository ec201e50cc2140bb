#!/usr/bin/env python3
"""mcp_web.py — an MCP server over HTTP for tests, with a token endpoint; prints its port.  Answers lists as JSON and calls as events."""
import json, time, sys, threading, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = sys.argv[1]
sessions, tokens = set(), [0]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, code, kind, data, **headers):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/token":
            form = urllib.parse.parse_qs(body.decode())
            good = form.get("client_secret") == [SECRET] and form.get("grant_type") == ["client_credentials"] and form.get("client_id") == ["me"]
            tokens[0] += 1
            self.reply(200 if good else 401, "application/json", json.dumps({"access_token": "tok-" + SECRET, "expires_in": 3600} if good else {"error": "invalid_client"}).encode())
            return
        if self.headers.get("Authorization") not in ("Bearer " + SECRET, "Bearer tok-" + SECRET):
            self.reply(401, "application/json", b"{}")
            return
        m = json.loads(body)
        if m.get("method") == "initialize":
            sessions.add("s1")
            self.reply(200, "application/json", json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "1"}}}).encode(), Mcp_Session_Id="s1")
        elif self.headers.get("Mcp-Session-Id") not in sessions:
            self.reply(404, "application/json", b"{}")
        elif "id" not in m:
            self.reply(202, "application/json", b"")
        elif m["method"] == "tools/list":
            self.reply(200, "application/json", json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}, {"name": "forget", "inputSchema": {"type": "object"}}, {"name": "tokens", "inputSchema": {"type": "object"}}, {"name": "stays", "inputSchema": {"type": "object"}}]}}).encode())
        else:
            name = m["params"]["name"]
            if name == "forget":
                sessions.clear()
            said = str(tokens[0]) if name == "tokens" else json.dumps(m["params"]["arguments"])
            result = {"jsonrpc": "2.0", "id": m["id"], "result": {"content": [{"type": "text", "text": said}]}}
            note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}}
            if name == "stays":  # open, behind its answer
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.wfile.write(("event: message\r\ndata: %s\r\n\r\n: still here\r\n\r\n" % json.dumps(result)).encode())
                self.wfile.flush()
                time.sleep(60)
                return
            self.reply(200, "text/event-stream", ("event: message\ndata: %s\n\nevent: message\ndata: %s\n\n" % (json.dumps(note), json.dumps(result))).encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
