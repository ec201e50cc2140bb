#!/bin/sh
# front_people.t — what takes several people is answered at the console of a fleet's front end, each by a passkey of their own: who has said yes so far is shown, nobody counts twice,
# and the machine looks at each.  In a real browser: front_browser.t.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal

fleet_make
fleet_two_tenants
serve_start front || exit 1
joined_asking acme anna
two_people anna
centre reader add look --tenant acme >acme.reader
mkdir -p "$scratch/greta"
env -i HOME="$scratch/greta" "$HELM_REAL" key create >/dev/null
at_terminal anna TRUST -- "$HELM_REAL" approval trust add "$scratch/greta/.helm/keys/root.pub" --label greta >trust.out 2>&1 || cat trust.out

cat >drive.py <<'PY'
import base64, http.client, json, os, subprocess, sys, time, urllib.parse
sys.path.insert(0, os.environ["HELM_SOURCE"] + "/tests/tools")
from passkey import Passkey, b64
url, scratch, HELM = sys.argv[1:4]
port = urllib.parse.urlparse(url).port
origin = "http://localhost:%d" % port
def ok(text, so, *more):
    print("%s %s" % ("ok" if so else "NOT", text))
    if not so:
        print("#", *[str(m)[:700] for m in more])
def ask(method, path, body=None):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request(method, "/api/v1/console/" + path, None if body is None else json.dumps(body), {"Host": "localhost:%d" % port, "Authorization": "Bearer " + open("acme.reader").read().strip(), **({"Content-Type": "application/json"} if body is not None else {})})
    r = c.getresponse()
    return r.status, json.loads(r.read())
code = lambda doc: doc.get("error", {}).get("code")
def helm(home, *words):
    return subprocess.run([HELM, *words], env={"PATH": os.environ["PATH"], "HOME": scratch + "/" + home, "LC_ALL": "C.UTF-8", "HELM_FLEET_DATABASE": sys.argv[4], "HELM_FLEET_SIGNER": sys.argv[5], "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}, cwd=scratch + "/" + home, capture_output=True, text=True)
def sync():
    helm("m/anna", "fleet", "sync"); helm("m/anna", "fleet", "sync"); time.sleep(0.3)
def chain():
    return [json.loads(l) for l in open(scratch + "/m/anna/.helm/workspace/.helm/receipts.jsonl")]
def word(p):
    doc = {"algorithm": "ed25519" if p.kind == "ed25519" else "es256", "credential_id": b64(p.id), "origin": origin, "public_key_hex": (p.x + p.y).hex(), "rp_id": "localhost"}
    return "helm-passkey:" + b64(json.dumps(doc, sort_keys=True, separators=(",", ":")).encode())
boss, spare, dora, emil, stranger = [Passkey(k) for k in ("ed25519", "ed25519", "es256", "ed25519", "ed25519")]
r = helm("offline", "fleet", "approvers", "sign", "boss=" + word(boss), "boss=" + word(spare), "dora=" + word(dora), "emil=" + word(emil), "--root-key", scratch + "/offline/.helm/keys/root.key", "--origin", "ledger.test/acme")
open("list.json", "w").write(r.stdout)
r2 = helm("centre", "fleet", "approvers", "give", scratch + "/list.json", "--tenant", "acme")
ok("there is a list", r.returncode == 0 and r2.returncode == 0, r.stderr, r2.stderr)
def asks(command):
    subprocess.run(["python3", os.environ["HELM_SOURCE"] + "/tests/tools/agent.py", HELM, "hook", "pre-tool", "--client", "claude-code"], env={"PATH": os.environ["PATH"], "HOME": scratch + "/m/anna", "LC_ALL": "C.UTF-8"}, cwd=scratch + "/m/anna", input=json.dumps({"tool_name": "Bash", "tool_input": {"command": command}, "session_id": "s", "cwd": scratch + "/m/anna"}), capture_output=True, text=True)
    time.sleep(2.1)
    sync()
    return entry(command)
def entry(command):
    return ([x for x in ask("GET", "waiting")[1]["waiting"] if x["request"]["preview"].endswith(command)] or [None])[0]
def message(q, **more):
    return ask("POST", "waiting/%s/message" % q["request"]["approval_id"], {"answer": "approve", "node": q["node"], **more})
def yes(q, key, text=None):
    text = text or message(q)[1]["message"]
    return ask("POST", "waiting/%s/answer" % q["request"]["approval_id"], {"node": q["node"], "message": text, "assertion": dict(key.over(text, origin), more="a\0b")})
labels = lambda q: [x["label"] for x in q["said_yes"]]

q = asks("rm -rf prod")
ok("it is shown that it takes two, and that nobody has said yes", q and q["request"]["approvers"] == 2 and q["said_yes"] == [] and "order" not in q, q)
st, doc = message(q)
ok("all sign one challenge about this very question", st == 200 and doc["message"].startswith("helm:quorum:v1\n") and json.loads(doc["message"].split("\n", 1)[1])["quorum"] == 2 and len(doc["credentials"]) == 4, doc)
ok("a stranger says nothing", code(yes(q, stranger)[1]) == "APPROVER_UNKNOWN")
fewer = doc["message"].replace('"quorum":2', '"quorum":1')
ok("nor does a challenge to fewer people", code(yes(q, boss, fewer)[1]) == "ACT_OTHER", yes(q, boss, fewer))
alone = "helm:approval:v2\n" + json.dumps({"grant": {}, "request_sha256": "sha256:" + "0" * 64}, sort_keys=True, separators=(",", ":"))
ok("nor the answer of one person", yes(q, boss, alone)[0] == 403, yes(q, boss, alone))
ok("nothing was ordered by any of it", entry("rm -rf prod")["said_yes"] == [])
st, done = yes(q, boss, doc["message"])
q = entry("rm -rf prod")
ok("the first says yes, as an order", st == 200 and done["order"] > 0 and labels(q) == ["boss"] and q["said_yes"][0]["order"] == done["order"], done, q)
given = ask("GET", "machines")[1]["orders"][0]["order"]
ok("with what machines read of the assertion, and nothing that a browser adds", given["seq"] == done["order"] and sorted(given["body"]["passkey"]) == ["authenticator_data", "client_data_json", "id", "signature"], given)
st, again = yes(q, boss)
ok("who has said yes does not say it twice, also before the machine has heard it", st == 409 and code(again) == "APPROVAL_TWICE", again)
ok("nor with another key of theirs", code(yes(q, spare)[1]) == "APPROVAL_TWICE")
sync()
q = entry("rm -rf prod")
ok("then the machine has counted it", labels(q) == ["boss"] and "order" not in q["said_yes"][0] and any(r["effect_id"] == "helm.approval/assert" for r in chain()), q)
ok("and granted nothing", not any(r["type"] == "grant" for r in chain()))
ok("twice is refused after that, too", code(yes(q, boss)[1]) == "APPROVAL_TWICE" and code(yes(q, spare)[1]) == "APPROVAL_TWICE")
ok("the next one signs what the first has signed", message(q)[1]["message"] == doc["message"])
other = json.loads(doc["message"].split("\n", 1)[1])
other["nonce"] = "f" * 32
other = "helm:quorum:v1\n" + json.dumps(other, sort_keys=True, separators=(",", ":"))
st, said = yes(q, dora, other)
ok("another challenge to the same question is too late", st == 409 and code(said) == "APPROVAL_MESSAGE", said)
st, done = yes(q, dora)
ok("a second person, with a key of the other kind", st == 200 and done["order"] > 0, done)
ok("enough have said yes: a third is not asked", code(yes(q, emil)[1]) == "FLEET_QUESTION", yes(q, emil))
sync()
grants = [r for r in chain() if r["type"] == "grant"]
ok("the machine makes the grant of both", len(grants) == 1 and len(grants[0]["metadata"]["quorum"]["assertions"]) == 2 and grants[0]["metadata"]["grant"]["approvers"] == 2, grants)
for i in range(20):
    if not entry("rm -rf prod"):
        break
    time.sleep(0.3)
ok("it waits no more, and stands below", not entry("rm -rf prod") and ask("GET", "waiting")[1]["answered"][0]["state"] == "approved", entry("rm -rf prod"))

q = asks("rm -rf cache")
r = helm("m/anna", "approval", "approve", q["request"]["approval_id"], "--key", scratch + "/greta/.helm/keys/root.key")
sync()
q = entry("rm -rf cache")
ok("who answered at the machine is counted here, too", r.returncode == 0 and len(q["said_yes"]) == 1 and q["said_yes"][0]["key_id"].startswith("ed25519:"), r.stderr, q)
ok("the second, here, makes the grant", yes(q, emil)[0] == 200 and (sync() or sum(r["type"] == "grant" for r in chain()) == 2), chain()[-1])

q = asks("rm -rf logs")
yes(q, boss); sync()
q = entry("rm -rf logs")
st, asked = ask("POST", "waiting/%s/message" % q["request"]["approval_id"], {"answer": "deny", "reason": "no", "node": q["node"]})
st2, done = ask("POST", "waiting/%s/answer" % q["request"]["approval_id"], {"node": q["node"], "message": asked["message"], "assertion": dora.over(asked["message"], origin)})
ok("one no is enough, and the page says so", st == st2 == 200 and entry("rm -rf logs")["order"] == done["order"], asked, done)
sync()
ok("the machine has it as denied", any(r["type"] == "denial" for r in chain()), chain()[-1])
PY
HELM_SOURCE=$HELM_SOURCE python3 drive.py "$url" "$scratch" "$HELM_REAL" "$db" "$signer" >drive.out 2>&1 || { echo "NOT the driver ended"; sed 's/^/# /' drive.out | tail -5; } >>drive.out
lines_of drive.out
fleet_end
finish
