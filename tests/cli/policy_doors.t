#!/bin/sh
# One policy, put in use once, and every door obeys it from then on: runs, hooks, contained calls, supervised sessions, guard check, the boundary over HTTP, the
# gateway to tools and the proxy; also those that were started before.  What all of them use up is one sum.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
git init -q . 2>/dev/null
TEST_HOME=$scratch/home
TERMINALS=$scratch/.terminals
SCRATCH=$scratch
export HELM_BUILD HELM_SOURCE TEST_HOME TERMINALS SCRATCH
project=$PWD
terminal -- helm profile use workspace_edit >/dev/null 2>&1 || terminal USE -- helm profile use workspace_edit >/dev/null

# "Read anything here, these tools with these arguments, so many calls and 20 euro a day, personal data stays in the EU, production needs two people."
cat >team.yaml <<EOF
format: helm.policy.v1
name: team
version: "1"
epoch: 1
rules:
  - {id: read-anything-here, action: "*", effects: [read], all: [{field: effect.target, op: path_under, values: [$project]}], verdict: ALLOW}
  - {id: read-tool, action: AGENT_TOOL_CALL, all: [{field: tool, op: in, values: [Read, Grep]}, {field: params.file_path, op: path_under, values: [$project]}], verdict: ALLOW}
  - {id: these-tools, action: "*", all: [{field: tool, op: in, values: [Bash, bash, echo, mcp__notes__echo]}], verdict: ALLOW}
  - {id: small, action: buy, all: [{field: params.estimated_cost_cents, op: at_most, value: 1500}], verdict: ALLOW}
  - {id: export, action: export, verdict: ALLOW}
  - id: personal-data-stays
    action: export
    all: [{field: params.data_class, op: equals, value: pii}, {field: params.destination, op: region_not_in, values: [EU]}]
    verdict: DENY
    reason_code: JURISDICTION_VIOLATION
    text: Personal data stays in the EU.
  - {id: never-touch, action: "*", all: [{field: tool, op: equals, value: touch}], verdict: DENY, text: Nobody touches anything.}
  - id: two-people
    action: "*"
    effects: [delete]
    all: [{field: facts.stage, op: equals, value: production}]
    verdict: ESCALATE
    approvers: 2
    text: In production this takes two people.
  - {id: model, action: LLM_INFERENCE, verdict: ALLOW}
regions: [{match: eu-*, region: EU}]
limits:
  budgets:
    - {id: calls, limit: 500, unit: requests, period: day}
    - {id: money, limit: 2000, unit: cents, period: day, actions: [buy]}
EOF
printf 'format: helm.policy.v1\nname: door\nversion: "1"\nrules:\n  - {id: any, action: "*", verdict: ALLOW}\n' >door.yaml
cp "$HELM_SOURCE/tests/tools/mcp_server.py" server.py
echo '{"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}, {"name": "other", "inputSchema": {"type": "object"}}]}' >plan.json
terminal -- helm mcp add notes --read . -- python3 "$PWD/server.py" "$PWD/plan.json" >/dev/null
terminal -- helm mcp approve notes --tool echo --tool other --yes >/dev/null

call() { # call TOOL INPUT: what the hook of an agent answers
  printf '{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"%s","tool_name":"%s","tool_input":%s,"tool_use_id":"u%s"}' "$project" "$1" "$2" "$count" |
    agent hook pre-tool --client claude-code 2>&1
}
has() { printf '%s' "$2" | grep -q "$1" || { printf '%s\n' "$2"; return 1; }; }
silent() { [ -z "$1" ] || { printf '%s\n' "$1"; return 1; }; }

# Doors that stay open are started before the policy is put in use.
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - >doors.out 2>&1 <<'PY' &
import os, sys, time
import mcp
from serve import Server
from model import *
p = Place.__new__(Place)
p.dir, p.home = os.environ["SCRATCH"] + "/project", os.environ["TEST_HOME"]
p.policy, p.state = p.dir + "/door.yaml", p.home + "/.helm/workspace/.helm"
p.env = {"PATH": os.environ["PATH"], "HOME": p.home, "LC_ALL": "C.UTF-8", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
s, m, g = Server(p), Model(), mcp.Gateway("--server", "notes")
x = Proxy(p, m, policy=open(p.policy).read())
def said(what, *words): print(what, *words, flush=True)
def chat(*calls):
    m.json(chat_whole(calls))
    st, b, h = x.chat()
    return st, json.loads(b).get("error", {}).get("message", "")
def evaluate(tool, args, **more):
    st, b, h = s.evaluate(tool, args, **more)
    return b.get("verdict"), b.get("reason_code") or "-"
said("before serve", *evaluate("Bash", {"command": "touch " + p.dir + "/x"}))
said("before mcp", mcp.verdict_of(g.call("echo", {"a": "1"})), mcp.verdict_of(g.call("other", {})))
said("before proxy", *chat(("bash", {"command": "touch " + p.dir + "/x"})))
open("ready", "w").close()
while not os.path.exists("used"): time.sleep(.02)
said("serve shell", *evaluate("Bash", {"command": "touch " + p.dir + "/x"}))
said("serve echo", *evaluate("Bash", {"command": "echo x"}))
said("serve delete", *evaluate("Bash", {"command": "rm " + p.dir + "/team.yaml"}))
said("serve buy", *evaluate("buy", {"estimated_cost_cents": 1500}))
said("serve buy more", *evaluate("buy", {"estimated_cost_cents": 501}))
said("serve buy rest", *evaluate("buy", {"estimated_cost_cents": 500}))
said("serve big", *evaluate("buy", {"estimated_cost_cents": 1501}))
said("serve pii", *evaluate("export", {"data_class": "pii", "destination": "us-east-1"}))
said("serve pii eu", *evaluate("export", {"data_class": "pii", "destination": "eu-west-1"}))
said("serve none", *evaluate("teleport", {}))
said("serve forged", *evaluate("export", {"data_class": "pii", "destination": "us-east-1", "facts": {"stage": "test"}}, ))
said("mcp", mcp.verdict_of(g.call("echo", {"a": "1"})), mcp.verdict_of(g.call("other", {})))
said("proxy touch", *chat(("bash", {"command": "touch " + p.dir + "/x"})))
said("proxy echo", *chat(("bash", {"command": "echo x"})))
said("proxy none", *chat(("teleport", {})))
g.end(); x.stop(); s.stop()
said("done")
PY
waited=0
while [ ! -e ready ] && [ $waited -lt 1500 ]; do sleep 0.02; waited=$((waited + 1)); done
ok "doors are open" test -e ready
ok "the policy can be used" says 0 "can be used" helm policy lint team.yaml
ok "a person puts it in use" says 0 "Every door obeys it" terminal -- helm policy use team.yaml --fact stage=production
touch used

ok "run: allowed by its tool" says 0 "hello" helm run -- echo hello
ok "run: denied, and names the rule and its line" says 25 "Nobody touches anything. (policy team 1, rule never-touch, team.yaml:17:5)" helm run -- touch x
ok "run: production asks" says 24 "In production this takes two people." helm run -- rm team.yaml
ok "run: reading here" says 0 "format" helm run -- cat team.yaml
ok "run: reading elsewhere" says 25 "" helm run -- cat /etc/hosts
ok "guard check" says 25 "never-touch" helm guard check --shell 'touch x'
ok "guard check: beside what is allowed" says 25 "never-touch" helm guard check --shell 'echo a; touch x'
ok "hook: a tool with its arguments" silent "$(call Read "{\"file_path\":\"$project/team.yaml\"}")"
ok "hook: with others" has POLICY_VIOLATION "$(call Read '{"file_path":"/etc/hosts"}')"
ok "hook: what a shell call starts" has never-touch "$(call Bash '{"command":"touch x"}')"
ok "hook: production asks" has "two people" "$(call Bash '{"command":"rm team.yaml"}')"
contained() { # contained COMMAND: by a client whose calls are made inside walls
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" python3 "$HELM_SOURCE/tests/tools/contained_client.py" "$@" 2>&1
}
sum=13
case $(helm version --json) in
*'"user_namespaces":false'*) ;;
*)
  helm setup claude-code --scope project --yes >/dev/null
  ok "contained: a call is wrapped" has "contained dec-" "$(contained --show "$HELM_REAL" 'echo hello')"
  ok "contained: allowed" has hello "$(contained "$HELM_REAL" 'echo hello')"
  sum=15
  ok "contained: denied" has "not wrapped" "$(contained "$HELM_REAL" 'touch x')"
  ;;
esac
cat >client <<SH
#!/bin/sh
printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s3","tool_use_id":"%s","cwd":"%s"}' "\$1" "\$\$" "$project" | $HELM_REAL hook pre-tool --client claude-code
SH
chmod +x client
ok "session: denied" has never-touch "$(helm agent "$project/client" -- 'touch x' 2>&1)"
ok "session: allowed" sh -c '! printf %s "$0" | grep -q deny' "$(helm agent "$project/client" -- 'echo x' 2>&1)"

wait
doors() { grep -q "^$1\$" doors.out || { cat doors.out; return 1; }; }
ok "they all let it pass before" doors "before serve ALLOW -"
ok "the gateway, too" doors "before mcp ALLOW ALLOW"
ok "and the proxy" doors "before proxy 200 "
ok "HTTP: what a command starts" doors "serve shell DENY POLICY_VIOLATION"
ok "HTTP: allowed" doors "serve echo ALLOW -"
ok "HTTP: production asks" doors "serve delete ESCALATE APPROVAL_REQUIRED"
ok "HTTP: money" doors "serve buy ALLOW -"
ok "HTTP: a cent too much" doors "serve buy more DENY BUDGET_EXCEEDED"
ok "HTTP: the rest of it" doors "serve buy rest ALLOW -"
ok "HTTP: arguments that no rule allows" doors "serve big DENY POLICY_VIOLATION"
ok "HTTP: personal data" doors "serve pii DENY JURISDICTION_VIOLATION"
ok "HTTP: in the EU" doors "serve pii eu ALLOW -"
ok "HTTP: what nobody allowed" doors "serve none DENY .*"
ok "HTTP: facts of the caller count for nothing" doors "serve forged DENY JURISDICTION_VIOLATION"
ok "gateway: one tool of a server, and not the other" doors "mcp ALLOW DENY"
ok "proxy: what a command starts" doors "proxy touch 403 .*Nobody touches.*"
ok "proxy: allowed" doors "proxy echo 200 "
ok "proxy: what nobody allowed" doors "proxy none 403 .*"
ok "all of them have come to an end" doors "done"
helm policy limits >limits.out
ok "what all doors have used up is one sum" sh -c 'cat limits.out; grep -q "^calls .* $0 .* 500 " limits.out' "$sum"
finish
