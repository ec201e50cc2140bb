#!/bin/sh
# Real clients through helm proxy: the vendors' libraries in all their ways to stream, Claude Code and Codex, against a model that misbehaves on demand.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
[ "${HELM_TEST_CLIENTS:-}" = 1 ] || skip_all "real clients are downloaded and driven only by ./check --all"
for tool in npm node python3 git; do
  command -v $tool >/dev/null 2>&1 || skip_all "$tool is not there"
done
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
sdks=${HELM_TEST_SDKS:-$HELM_SOURCE/build/sdks}
sh "$HELM_SOURCE/tests/clients/sdks.sh" "$sdks"
clients=$(sh "$HELM_SOURCE/tests/clients/install.sh" "${HELM_TEST_CLIENT_DIR:-$HELM_SOURCE/build/clients}")
export HELM_BUILD HELM_SOURCE
SDKS=$sdks CLIENTS=$clients PYTHONPATH=$HELM_SOURCE/tests/tools:$HELM_SOURCE/tests/clients python3 - <<'PY'
from model import *
import drive
p, m = Place(), Model()
weather, export = ("get_weather", {"city": "Oslo"}), ("credential_export", {"path": "/etc/passwd"})
def behave(seen):
    form = next((f for f, path in PATHS.items() if seen["path"].split("?")[0] == path), None)
    if not form:
        data = json.dumps({"object": "list", "model": "e", "data": [{"object": "embedding", "index": 0, "id": "m", "embedding": [0.5]}], "usage": {"prompt_tokens": 1, "total_tokens": 1}}).encode()
        return 200, [("Content-Type", "application/json"), ("Content-Length", str(len(data)))], [data]
    body = json.loads(seen["body"])
    is_second = any(isinstance(i, dict) and (i.get("role") == "tool" or i.get("type") == "function_call_output") for i in body.get("messages") or body.get("input") or [])
    calls = {"allowed": [weather], "loop": [] if is_second else [weather], "denied": [export], "both": [weather, export], "dies": [weather]}.get(body["model"], [])
    if not body.get("stream"):
        data = json.dumps(WHOLES[form](calls)).encode()
        return 200, [("Content-Type", "application/json"), ("Content-Length", str(len(data)))], [data]
    raw = STREAMS[form](calls)
    if body["model"] == "dies": return 200, [("Content-Type", "text/event-stream")], [raw[:len(raw) * 2 // 3], DIE]
    if body["model"] == "slow": return 200, [("Content-Type", "text/event-stream")], [raw[:300]] + [b": wait\n\n", 0.05] * 200
    return 200, [("Content-Type", "text/event-stream")], [raw]
m.say = behave
x = Proxy(p, m)
said = subprocess.run(["node", os.path.join(os.environ["HELM_SOURCE"], "tests/clients/proxy.mjs")], env=dict(os.environ, BASE=x.ready["base_url"]), capture_output=True, text=True, timeout=300)
rows = [l for l in said.stdout.split("\n") if l.startswith(("ok ", "not ok ", "#"))]
for l in rows:
    if l.startswith("#"): print(l)
    else: ok(l.split(" - ", 1)[1], l.startswith("ok"))
ok("the libraries ran to their end", "1.." in said.stdout, said.stdout[-500:], said.stderr[-1500:])
x.stop()

# Agent clients: their model is reached through the proxy, and no hook is set up.  One call that the policy allows, one that it refuses; both harmless.
programs = dict(line.split(" ", 1) for line in os.environ["CLIENTS"].split("\n") if " " in line)
project, home = p.dir + "/project", p.dir + "/clienthome"
answers = {"claude-code": drive.claude_answer, "codex": drive.codex_answer}
POLICY = """format: helm.policy.v1
name: agents
rules:
  - {id: all, action: "*", verdict: ALLOW}
  - {id: not-that, action: "*", verdict: DENY, when: "has(input.params.command) && input.params.command.contains('other.txt') || has(input.params.cmd) && input.params.cmd.contains('other.txt')", text: The other file is not to be made.}
"""
for client, program in programs.items():
    if not os.access(program, os.X_OK): skip(client, "it is not there"); continue
    for on_deny in ("error", "rewrite"):
        os.makedirs(project, exist_ok=True); os.makedirs(home, exist_ok=True)
        subprocess.run(["git", "init", "-q", project])
        for f in ("safe.txt", "other.txt"):
            if os.path.exists(project + "/" + f): os.remove(project + "/" + f)
        calls, told = ["echo hello > %s/%s.txt" % (project, f) for f in ("safe", "other")], []
        def next_call(n): return calls[n] if n < len(calls) else None
        def agent(seen):
            path = seen["path"].split("?")[0]
            if path.endswith("/messages") or path.endswith("/responses"):
                body = json.loads(seen["body"])
                data = answers[client](body, next_call, told)
                if client == "claude-code" and not body.get("stream"):  # asked again, for a whole one
                    n = sum(1 for t in body["messages"] if isinstance(t["content"], list) for c in t["content"] if c.get("type") == "tool_result")
                    data = json.dumps(messages_whole([("Bash", {"command": next_call(n), "description": "d"})] if next_call(n) else [])).encode()
                    return 200, [("Content-Type", "application/json"), ("Content-Length", str(len(data)))], [data]
                return 200, [("Content-Type", "text/event-stream")], [data]
            return 404, [("Content-Type", "application/json"), ("Content-Length", "2")], [b"{}"]
        m.say = agent
        x = Proxy(p, m, "--on-deny", on_deny, policy=POLICY)
        env = {"PATH": os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8", "TERM": "dumb"}
        if client == "claude-code":
            env.update(ANTHROPIC_BASE_URL=x.ready["base_url"], ANTHROPIC_API_KEY="sk-ant-test", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1", IS_SANDBOX="1")
            words = [program, "-p", "go", "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"]
        else:
            env.update(CODEX_HOME=home + "/.codex", PROXY_KEY="sk-test")
            os.makedirs(home + "/.codex", exist_ok=True)
            with open(home + "/.codex/config.toml", "w") as f:
                f.write('model = "gpt-5"\nmodel_provider = "proxy"\n[model_providers.proxy]\nname = "proxy"\nbase_url = "%s/v1"\nenv_key = "PROXY_KEY"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n[projects."%s"]\ntrust_level = "trusted"\n' % (x.ready["base_url"], project))
            words = [program, "exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "go"]
        try:
            said = subprocess.run(words, cwd=project, env=env, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL)
            out = said.stdout + said.stderr
        except subprocess.TimeoutExpired as t:
            out = "timeout: " + str(t.stdout)[-500:] + str(t.stderr)[-500:]
        ok("%s, %s: the allowed call was carried out" % (client, on_deny), os.path.exists(project + "/safe.txt"), out[-1500:])
        ok("%s, %s: the other one was not" % (client, on_deny), not os.path.exists(project + "/other.txt"))
        denied = [r for r in p.receipts() if r["metadata"].get("source") == "proxy.call" and r["verdict"] != "ALLOW" and r["metadata"]["proxy"]["wire"] == ("messages" if client == "claude-code" else "responses")]
        ok("%s, %s: that is on record" % (client, on_deny), denied, out[-800:])
        ok("%s, %s: and its user is told why" % (client, on_deny), "helm" in out and ("not allowed" in out or "not approved" in out or "was not carried out" in out), out[-1500:])
        x.stop()
p.done()
finish()
PY
