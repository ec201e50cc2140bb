#!/bin/sh
# docs/guides/proxy.md: its policy, its program and its configuration, as they stand there.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from model import *
name, files = None, {}
for line in open(os.environ["HELM_SOURCE"] + "/docs/guides/proxy.md"):
    if line.startswith("    # file: "): name = line.split(": ", 1)[1].strip(); files[name] = ""
    elif name and (line.startswith("    ") and not line.startswith("    $") or not line.strip()): files[name] += line[4:] or "\n"
    else: name = None
ok("the guide has its files", set(files) == {"tools.yaml", "agent.py", "proxy.yaml"}, files.keys())
p, m = Place(), Model()
for n, text in files.items(): open(p.dir + "/" + n, "w").write(text)
ok("its policy can be used", p.helm("policy", "lint", "tools.yaml").returncode == 0, p.helm("policy", "lint", "tools.yaml").stdout)
x = Proxy(p, m, policy=files["tools.yaml"])
def agent(*words): return subprocess.run(["python3", p.dir + "/agent.py"] + list(words), env=dict(os.environ, OPENAI_BASE_URL=x.ready["base_url"] + "/v1"), capture_output=True, text=True)
m.json(chat_whole([("get_weather", {"city": "Oslo"})]))
said = agent("hello")
ok("its program gets what is allowed", said.returncode == 0 and 'calling get_weather {"city": "Oslo"}' in said.stdout and "receipt rcpt_" in said.stdout, said.stdout, said.stderr)
for call, want in ((("refund", {"amount": 500}), "helm approval approve"), (("bash", {"command": "rm -rf /"}), "refused: [helm]"), (("drop_tables", {}), "NO_POLICY_DEFINED")):
    m.json(chat_whole([call]))
    said = agent("hello")
    ok("and is told why not: " + call[0], said.returncode == 1 and want in said.stderr and "calling" not in said.stdout, said.stdout, said.stderr)
m.json(chat_whole([("refund", {"amount": 50})]))
ok("a small refund passes", agent("hello").returncode == 0)
x.stop()
os.mkdir(p.dir + "/creds")
open(p.dir + "/creds/anthropic", "w").write("sk-anthropic")
x = Proxy(p, None, "--config", "proxy.yaml", policy=files["tools.yaml"], env={"OPENAI_API_KEY": "sk-openai", "CREDENTIALS_DIRECTORY": p.dir + "/creds"})
ok("its configuration can be used", x.ready is not None)
ok("and ends", x.stop() == 0)
said = p.helm("proxy", "report", "--since", "24h")
ok("the report has what happened", "gpt-4o" in said.stdout and "drop_tables" in said.stdout, said.stdout)
p.done()
finish()
PY
