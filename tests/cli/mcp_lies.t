#!/bin/sh
# Servers of tools that break the protocol, each in one way: who called them is answered at once, the gateway goes on, and what nobody can check is not offered.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
TEST_HOME=$scratch/home
TERMINALS=$scratch/.terminals
export HELM_BUILD HELM_SOURCE TEST_HOME TERMINALS
mkdir served
cp "$HELM_SOURCE/tests/tools/mcp_liar.py" served/
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from mcp import *
WAIT = 20  # seconds that a call may take here; an answer that cannot be read must come far sooner


def added(mode, *more):
    person("mcp", "add", "liar", "--timeout", str(WAIT), "--read", "./served", *more, "--", "python3", os.getcwd() + "/served/mcp_liar.py", mode)
    return person("mcp", "approve", "liar", "--yes")


for mode in ("greets_nothing", "greets_null", "greets_text", "deep"):
    r = added(mode)
    ok("%s: a person is told that it offers nothing, or why" % mode, r.returncode == 1 and ("no tool of 'liar'" in r.stdout or "does not say what it offers: its answer" in r.stdout), r.stdout)
    g = Gateway("--server", "liar")
    began = time.time()
    ok("%s: nothing is listed" % mode, g.tools() == {})
    r = g.ask("tools/call", {"name": "echo", "arguments": {}}, timeout=WAIT)
    ok("%s: a call is answered, soon" % mode, r and ("error" in r or r["result"]["isError"]) and time.time() - began < WAIT / 2, r)
    ok("%s: the gateway goes on" % mode, g.ask("ping") is not None and g.p.poll() is None)
    g.end()

r = added("schemas")
ok("what nobody could check is left out of an approval, and named", all("not offered: %s:" % name in r.stdout for name in ("none", "list", "text", "bare", "far", "dialect", "result", "result_dialect")), r.stdout)
g = Gateway("--server", "liar")
ok("and is not in the list that a client gets", sorted(g.tools()) == ["echo", "nineteen", "seven"], g.tools())
r = g.call("dialect")
ok("a call of it is refused, with the reason", "dialect" in r.get("error", {}).get("message", ""), r)
ok("the others work", text_of(g.call("seven")) == "said")
g.end()

for mode in ("both", "neither", "null", "text", "no_list", "error_is_text", "text_is_number", "structure_is_list", "twice", "surrogate", "other_order", "no_version", "bytes"):
    added(mode)
    g = Gateway("--server", "liar")
    g.tools()
    began = time.time()
    r = g.call("echo", {"a": "x"}, timeout=WAIT)
    took = time.time() - began
    ok("%s: the caller is told at once that it is no answer" % mode, r and r.get("isError") is True and took < WAIT / 2 and ("cannot be read" in text_of(r) or "not one of the protocol" in text_of(r)), took, r)
    ok("%s: and the outcome is on record" % mode, receipts()[-1]["status"] == "FAILED", receipts()[-1])
    g.end()

added("mute", "--start", "2")
g = Gateway("--server", "liar")
began = time.time()
r = g.ask("tools/call", {"name": "echo", "arguments": {}}, timeout=WAIT)
ok("mute: who waits for its greeting waits for one start of it", r is not None and time.time() - began < 4, time.time() - began, r)
g.end()
ok("the chain is sound", helm("log", "check").returncode == 0)
finish()
PY
