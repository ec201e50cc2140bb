#!/bin/sh
# The gateway to tools for a client inside a supervised session: it runs outside, for who is inside, and gives nobody more than it gives outside.
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
git init -q . 2>/dev/null
home=$scratch/home
mkdir served
cp "$HELM_SOURCE/tests/tools/mcp_server.py" served/server.py
echo '{"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}, {"name": "home", "inputSchema": {"type": "object"}}]}' >served/plan.json
terminal -- helm mcp add test --read "$PWD/served" -- python3 "$PWD/served/server.py" "$PWD/served/plan.json" >/dev/null
terminal -- helm mcp approve test --tool echo --yes >/dev/null
terminal -- helm profile use workspace_edit >/dev/null 2>&1 || terminal USE -- helm profile use workspace_edit >/dev/null
# A client that knows nothing but what its settings say.
cat >"$scratch/client" <<SH
#!/bin/sh
exec python3 - "$HELM_REAL" "\$@" <<'PY'
import json, subprocess, sys
p = subprocess.Popen([sys.argv[1], "mcp", "gateway"] + sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
def ask(id, method, params):
    try:
        p.stdin.write((json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n").encode()); p.stdin.flush()
    except BrokenPipeError:
        return None
    line = p.stdout.readline()
    return json.loads(line) if line else None
said = [ask(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}})]
if said[0]:
    said.append(ask(2, "tools/list", {}))
    for i, (name, args) in enumerate([("echo", {"path": "x"}), ("echo", {"path": "/etc/shadow"}), ("home", {})]):
        said.append(ask(3 + i, "tools/call", {"name": name, "arguments": args}))
try: p.stdin.close()
except BrokenPipeError: pass
print(json.dumps({"said": said, "exit": p.wait(10), "error": p.stderr.read().decode()[-600:]}))
PY
SH
chmod +x "$scratch/client"
helm agent "$scratch/client" -- --server test >said.json 2>said.err || { cat said.err said.json; }
check() { python3 -c 'import json,sys
d = json.load(open(sys.argv[1]))
s = d["said"]
r = [m.get("result", m) for m in s[2:]] if len(s) > 2 else []
'"$2"' or sys.exit("%s" % d)' "$1"; }
ok "a client inside a session has the tools of its servers" check said.json '[t["name"] for t in s[1]["result"]["tools"]] == ["echo"] and d["exit"] == 0'
ok "a call goes through" check said.json 'r[0]["content"][0]["text"] == "{\"path\": \"x\"}"'
ok "another is asked about, as outside" check said.json 'r[1]["isError"] and r[1]["_meta"]["helm/decision"]["verdict"] == "ESCALATE"'
ok "and what nobody approved, too" check said.json 'r[2]["isError"] and r[2]["_meta"]["helm/decision"]["verdict"] == "ESCALATE"'
ok "all on record outside" says 0 "mcp__test__echo" grep -h '"mcp__test__echo"' "$ws/.helm/receipts.jsonl"
ok "with the client that the session is for" says 0 "client" grep -h '"executor_id":"agent:' "$ws/.helm/receipts.jsonl"
helm agent "$scratch/client" -- --server nobody >said.json 2>said.err
ok "a server that is not there is none inside either" check said.json 's[0] is None and d["exit"] != 0'
helm agent "$scratch/client" -- --server ../../etc >said.json 2>said.err
ok "a name that is none is refused at the desk" check said.json 's[0] is None and "no name of a server" in d["error"]'
helm agent "$scratch/client" -- --server test --transport http --port 0 >said.json 2>said.err
ok "no gateway over HTTP is started from inside" check said.json 's[0] is None and d["exit"] == 25'
helm agent "$scratch/client" -- --server test --config gateway.toml >said.json 2>said.err
ok "nor one by a file of the tree" check said.json 's[0] is None and d["exit"] == 25'

# Whoever is ended takes the gateway along.
cat >"$scratch/leaver" <<SH
#!/bin/sh
mkfifo "$PWD/pipe"
"$HELM_REAL" mcp gateway --server test <"$PWD/pipe" >"$PWD/out" 2>/dev/null &
exec 3>"$PWD/pipe"
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}' >&3
while [ ! -s "$PWD/out" ]; do sleep 0.05; done
kill -9 \$\$
SH
chmod +x "$scratch/leaver"
helm agent "$scratch/leaver" >/dev/null 2>&1
ok "it had begun" test -s out
gone() { for _ in $(seq 40); do ps -ef | grep -v grep | grep -q "$home/.helm/workspace.*mcp.*transport\|mcp child test --workspace $home" || return 0; sleep 0.1; done; ps -ef | grep "$home" | cut -c1-150; return 1; }
ok "with the session its gateway ends, and its servers" gone
ok "the record is whole" helm log check
finish
