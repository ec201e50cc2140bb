#!/bin/sh
# What the doors for machines write: the gateway to tools, the proxy before models, helm serve, the console with acts of people.  No byte of one of
# their receipts, of a bundle of them or of a pack can be another unnoticed, and the second verifier accepts and refuses what ours does.
# (Notes of a fleet: tests/fleet/bytes.t.)
# shellcheck disable=SC2317 # functions are called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "the second verifier needs python3"
! grep -qa __asan_init "$HELM_REAL" || skip_all "some ten thousand documents are verified: too many under the sanitizers, where oracle/mutations does the same with fewer"
command -v openssl >/dev/null || skip_all "passkeys of this test are made by openssl"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
TEST_HOME=$scratch/home
TERMINALS=$scratch/.terminals
export HELM_BUILD HELM_SOURCE TEST_HOME TERMINALS
mkdir served
cp "$HELM_SOURCE/tests/tools/mcp_server.py" served/server.py
cat >served/plan.json <<'X'
{"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}, "annotations": {"readOnlyHint": true}},
 {"name": "remove", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": true}}, {"name": "secret", "inputSchema": {"type": "object"}}]}
X
for command in 'rm -rf build' 'rm -rf cache'; do
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s-1","cwd":"%s"}' "$command" "$PWD" | agent hook pre-tool --client claude-code >/dev/null
done

PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY' || exit 1
import mcp, re
from model import *
from passkey import *
from serve import POLICY, Server

class Here(Place):  # the home in which a person has said yes to servers and keys
    def __init__(self):
        super().__init__()
        self.home = self.env["HOME"] = os.environ["TEST_HOME"]
        self.state = os.path.join(self.home, ".helm/workspace/.helm")
p = Here()

def gateway():
    served = os.getcwd() + "/served"
    for words in (["mcp", "add", "one", "--read", served, "--redact", "--", "python3", served + "/server.py", served + "/plan.json"],
                  ["mcp", "approve", "one", "--effect", "read", "--yes"]):
        done = mcp.person(*words)
        assert done.returncode == 0, done.stdout
    g = mcp.Gateway("--server", "one")
    g.tools()
    for name in ("echo", "remove", "none"): g.call(name, {"path": "/srv/caf\u00e9 </x>"})
    g.end()

def proxy():
    m = Model()
    x = Proxy(p, m)
    m.json(chat_whole([("get_weather", {"city": "Oslo"}), ("bash", {"command": "rm -rf /"}), ("refund", {"amount": 5})]))
    for form in ("chat", "messages", "responses"): x.chat(form=form)
    m.stream(chat_stream([("get_weather", {"city": "Troms\u00f8"})]))
    x.chat(stream=True)
    x.stop()

def serve():
    p.write(POLICY + "  - {id: files, action: file_read, verdict: ALLOW}\n")
    s = Server(p)
    for tool, args in (("read_ticket", {"id": 1}), ("refund", {"amount": 500}), ("Bash", {"command": "rm -rf /"}), ("other", None)): s.evaluate(tool, args)
    s.ask("POST", "/v1/effects", {"effect": {"effect_type": "file_read", "effect_id": "eff-1", "params": {"path": "/data/a.csv"}}, "principal": "agent:a", "context": {}})
    s.stop()

def console():
    opened = subprocess.Popen([HELM, "open", "--json"], env=p.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = ""
    while not text.rstrip().endswith("}"): text += opened.stdout.readline().decode()
    url = urllib.parse.urlparse(json.loads(text)["url"])
    origin = "http://localhost:%d" % url.port
    def ask(method, path, body=None, session=None):
        h = {"Host": "localhost:%d" % url.port, "Sec-Fetch-Site": "same-origin", "X-Helm": "1"}
        if method == "POST": h.update({"Origin": origin, "Content-Type": "application/json"})
        if session: h.update({"Cookie": "__Host-helm=" + session[0], "X-Helm-Page": session[1]})
        c = http.client.HTTPConnection("127.0.0.1", url.port, timeout=60)
        c.request(method, "/api/v1/console/" + path, None if body is None else json.dumps(body), h)
        r = c.getresponse()
        got = json.loads(r.read())
        assert r.status == 200, (path, r.status, got)
        return got, re.search("__Host-helm=([^;]+)", r.getheader("set-cookie") or "")
    def come(path, body, session=None):
        got, cookie = ask("POST", path, body, session)
        return cookie.group(1), got["page"]
    me, people = come("enter", {"token": urllib.parse.parse_qs(url.fragment)["enter"][0]}), {}
    for name, kind in (("anna", "ed25519"), ("bert", "es256")):
        invited = mcp.person("serve", "invite", "--json", "--name", name, "--url", origin).stdout
        word, key = re.search("#invite=([^&]+)&", invited).group(1), Passkey(kind)
        challenge = ask("POST", "register/begin", {"invite": word}, me)[0]["challenge"]
        made = key.make(base64.urlsafe_b64decode(challenge + "=" * (-len(challenge) % 4)), origin)
        people[name] = key, come("register", dict(made, challenge=challenge, invite=word), me)
    def sign(who, path, then, asked):
        key, session = people[who]
        message = ask("POST", path, asked, session)[0]["message"]
        ask("POST", then, {"message": message, "assertion": key.over(message, origin)}, session)
    waits = {w["request"]["preview"].split(": ")[-1]: "waiting/" + w["request"]["approval_id"] for w in ask("GET", "waiting", session=me)[0]["waiting"]}
    for name, who, answer in (("rm -rf build", "anna", {"answer": "approve", "reach": "once"}), ("rm -rf cache", "bert", {"answer": "deny", "reason": "not today"})):
        sign(who, waits[name] + "/message", waits[name] + "/answer", answer)
    for act in ("freeze", "unfreeze"): sign("bert", "freeze/message", "freeze", {"act": act, "principal": "*", "reason": "drill"})
    opened.send_signal(signal.SIGINT)
    opened.wait(30)

for name, door in (("the gateway to tools", gateway), ("the proxy", proxy), ("helm serve", serve), ("the console", console)):
    before = len(p.receipts())
    door()
    with open("../made", "a") as f: f.write("%d %s\n" % (len(p.receipts()) - before, name))
PY

chain=$ws/.helm/receipts.jsonl
helm evidence export --all --out all.tar >/dev/null
bytes() { python3 "$HELM_SOURCE/tests/oracle/mutations.py" --each-kind "$HELM_BUILD/tests" "$scratch/home/.helm/keys" "$chain" all.tar; }
while read -r n name; do ok "$name wrote receipts" test "$n" -gt 3; done <"$scratch/made"
# about EFFECT: one of the receipts is about this.
about() { grep -q "\"effect_id\":\"$1" "$chain"; }
for effect in helm.mcp/ helm.approver/add helm.approval/grant helm.approval/deny helm.freeze; do ok "there is one of $effect" about "$effect"; done
ok "no byte of any kind of them is another unnoticed, and two verifiers say one thing" bytes
finish
