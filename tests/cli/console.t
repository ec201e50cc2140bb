#!/bin/sh
# The console without a browser: who comes in, what is shown page by page, and what only a signature does.  (console_browser.t looks at it.)
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
command -v openssl >/dev/null || skip_all "openssl is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
ok "an agent invites nobody" says 25 "only a person" helm serve invite --name eve
ok "an invitation has a name that can be shown" says 2 "a name has" terminal -- helm serve invite --name 'a b'
ok "and a URL that nobody reads on the way" says 2 "--url is" terminal -- helm serve invite --name eve --url http://evil.example
ok "an origin needs a certificate" says 2 "needs --tls-cert" helm serve --policy x --origin https://helm.example.com
ok "a passkey is not added by hand" says 1 "registered in the browser" helm approval trust add webauthn:00
for command in 'ls -la' 'rm -rf /' 'rm -rf build' 'rm -rf cache' 'rm -rf other' 'rm -rf more'; do
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s-1","cwd":"%s"}' "$command" "$PWD" | agent hook pre-tool --client claude-code >/dev/null
done
terminal -- helm serve key add --principal agent:reader --scope read --json | tr -d '\r' | sed -n 's/.*"token": "\([^"]*\)".*/\1/p' >"$scratch/reader"
terminal -- helm serve key add --principal agent:far --tenant far --scope read --json | tr -d '\r' | sed -n 's/.*"token": "\([^"]*\)".*/\1/p' >"$scratch/far"
invite() { terminal -- helm serve invite --json --name "$1" --url "$2" | tr -d '\r' | sed -n 's/.*#invite=\([^&]*\)&.*/\1/p'; }

cat >two.yaml <<'EOT'
format: helm.policy.v1
name: two
version: "1"
epoch: 1
coverage: open
rules:
  - {id: two-people, action: "*", effects: [delete], verdict: ESCALATE, approvers: 2}
EOT
cat >"$scratch/console.py" <<'PY'
import hashlib, re, select
from serve import *
from passkey import *
scratch = sys.argv[1]
env = {"PATH": os.environ["PATH"], "HOME": scratch + "/home", "LC_ALL": "C.UTF-8", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
opened = subprocess.Popen([HELM, "open", "--json"], cwd=scratch + "/project", env=env, stdout=subprocess.PIPE, stderr=open(scratch + "/server.log", "wb"))
text = ""
while not text.rstrip().endswith("}"): text += opened.stdout.readline().decode()
doc = json.loads(text)
url = urllib.parse.urlparse(doc["url"])
port, words = url.port, urllib.parse.parse_qs(url.fragment)
origin = "http://localhost:%d" % port
ok("the link names this machine, a word and the key of the workspace", url.hostname == "localhost" and len(words["enter"][0]) == 43 and re.fullmatch("[0-9a-f]{64}", words["key"][0]), doc)
argv = open("/proc/%d/task/%d/children" % (opened.pid, opened.pid)).read().split()[0]
ok("the word is in no list of processes", words["enter"][0] not in open("/proc/%s/cmdline" % argv).read() and words["enter"][0] not in open("/proc/%s/environ" % argv).read())
state = scratch + "/home/.helm/workspace/.helm"
receipts = lambda: [json.loads(l) for l in open(state + "/receipts.jsonl")]

def ask(method, path, body=None, session=None, host="localhost:%d" % port, drop=(), to="127.0.0.1", **more):
    h = {"Host": host, "Sec-Fetch-Site": "same-origin", "X-Helm": "1"}
    if method == "POST": h.update({"Origin": origin, "Content-Type": "application/json"})
    if session: h.update({"Cookie": "other=1; __Host-helm=" + session[0], "X-Helm-Page": session[1]})
    h.update({k.replace("_", "-"): v for k, v in more.items()})
    for name in drop: h.pop(name, None)
    c = http.client.HTTPConnection(to, port, timeout=60)
    c.request(method, path if path.startswith("/console") else "/api/v1/console/" + path, None if body is None else json.dumps(body), h)
    r = c.getresponse(); got = r.read(); c.close()
    try: got = json.loads(got)
    except ValueError: pass
    return r.status, got, {k.lower(): v for k, v in r.getheaders()}
def come(answer):
    st, b, h = answer
    return (re.search("__Host-helm=([^;]+)", h.get("set-cookie", "")).group(1), b["page"]) if st == 200 else None

# Coming in.
st, b, h = ask("GET", "/console/")
ok("pages are there without data", st == 200 and b"<title>Helm" in b and "default-src 'none'" in h["content-security-policy"] and h["cross-origin-opener-policy"] == "same-origin" and h["referrer-policy"] == "no-referrer" and "x-frame-options" in h)
ok("once for the same text", ask("GET", "/console/_/app.css", If_None_Match=ask("GET", "/console/_/app.css")[2]["etag"])[0] == 304)
ok("and nothing else", ask("GET", "/console/_/..%2fshare")[0] == 404 and ask("GET", "/console/_/missing.js")[0] == 404)
ok("the other address of this machine is the same server", ask("GET", "/console/", to="::1")[0] == 200 if socket.has_ipv6 and os.path.exists("/proc/net/if_inet6") and "00000000000000000000000000000001" in open("/proc/net/if_inet6").read() else True)
for host in ("evil.example:%d" % port, "localhost.evil.example:%d" % port, "localhost:1", "localhost", "127.0.0.1:%d.evil" % port):
    ok("the name %s is misdirected" % host, ask("GET", "/console/", host=host)[0] == 421 and ask("GET", "me", host=host)[0] == 421)
st, b, h = ask("GET", "me")
ok("nobody is let in without a session", st == 401 and is_error(b, 401), b)
for name in ("Origin", "Sec-Fetch-Site", "X-Helm"):
    ok("the link is not taken without " + name, ask("POST", "enter", {"token": words["enter"][0]}, drop=[name])[0] == 403)
ok("nor from another origin", ask("POST", "enter", {"token": words["enter"][0]}, Origin="http://localhost:%d" % (port + 1))[0] == 403)
ok("a wrong word is refused", ask("POST", "enter", {"token": "x"})[1]["error"]["code"] == "LINK_USED")
first = ask("POST", "enter", {"token": words["enter"][0]})
me = come(first)
ok("the right one comes in", me and all(w in first[2]["set-cookie"] for w in ("Secure", "HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=28800")), first)
ok("once", ask("POST", "enter", {"token": words["enter"][0]})[0] == 403)
ok("a session is cookie and word together", ask("GET", "me", session=me)[0] == 200 and ask("GET", "me", session=(me[0], "x"))[0] == 401 and ask("GET", "me", session=("x", me[1]))[0] == 401)
for site in ("cross-site", "same-site", "none"):
    ok("not for a page that is %s" % site, ask("GET", "me", session=me, Sec_Fetch_Site=site)[0] == 403)
st, b, h = ask("GET", "me", session=me)
ok("it looks, and cannot register where no person opened it", b["label"] is None and b["may_register"] is None and b["public_key"] == words["key"][0] and b["rp_id"] == "localhost", b)
c = http.client.HTTPConnection("127.0.0.1", port); c.request("GET", "/api/v1/receipts", headers={"Cookie": "__Host-helm=" + me[0], "X-Helm-Page": me[1], "Sec-Fetch-Site": "same-origin"})
ok("the session opens nothing beside the console", c.getresponse().status == 401)

# Looking.
def get(path, session=me):
    st, b, h = ask("GET", path, session=session)
    return b if st == 200 else (st, b)
now = get("now")
ok("now: what was stopped, what waits", now["stopped_24h"] == 5 and now["waiting"] == 4 and len(now["stopped"]) == 5, now)
record = get("log")["record"]
ok("the log page has the verdict on the record", record["sound"] and "checked up to receipt" in record["text"], record)
calls = state + "/tool-calls.jsonl"; kept = open(calls, "rb").read()
with open(calls, "r+b") as f: f.write(kept.replace(b"Bash", b"Bosh", 1))
record, stands = get("log")["record"], get("now")["standing"]
ok("and says what is wrong as soon as it is", not record["sound"] and record["why"] and record["remedy"] and [w for w in stands["wrong"] if w["name"] == "record"], (record, stands["wrong"]))
with open(calls, "r+b") as f: f.write(kept)
ok("and that it is right again", get("log")["record"]["sound"])
acts = get("acts?session=s-1")
ok("acts: the newest first, also those that only read", [a["caption"] for a in acts["acts"]] == ["rm -rf more", "rm -rf other", "rm -rf cache", "rm -rf build", "rm -rf /", "ls -la"] and acts["acts"][5]["id"].startswith("call-") and acts["next"] is None, acts)
seen, cursor = [], ""
while cursor is not None:
    page = get("acts?session=s-1&limit=2" + ("&before=" + cursor if cursor else "")); seen += [a["id"] for a in page["acts"]]; cursor = page["next"]
ok("page by page, each once", seen == [a["id"] for a in acts["acts"]], seen)
ok("filters", [a["caption"] for a in get("acts?verdict=DENY")["acts"]] == ["rm -rf /"] and len(get("acts?verdict=stopped")["acts"]) == 5 and len(get("acts?q=CACHE")["acts"]) == 1 and get("acts?q=%25")["acts"] == [] and len(get("acts?session=s-1&count=1&limit=1")["acts"]) == 1 and get("acts?session=s-1&count=1")["count"] == 6 and get("acts?session=s-1&verdict=stopped&count=1")["count"] == 5 and get("acts?from=2999-01-01T00:00:00Z")["acts"] == [])
ok("what is no filter is said", get("acts?before=x")[0] == 400 and get("acts?limit=0")[0] == 400 and get("acts?from=x")[0] == 400)
denied = get("acts/" + acts["acts"][4]["id"][:12])
line = denied["decision"]["receipt"]
ok("one act has the very line that was signed, and the one before", line == open(state + "/receipts.jsonl").read().split("\n")[json.loads(line)["lamport_clock"] - 1] and (denied["decision"]["previous"] is None) == (json.loads(line)["lamport_clock"] == 1), denied)
ok("with what was asked, which the receipt's digest is of", denied["decision"]["shown"]["arguments"] == {"command": "rm -rf /"} and "sha256:" + hashlib.sha256(json.dumps(denied["decision"]["shown"], sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest() == json.loads(line)["metadata"]["shown_sha256"], denied["decision"].get("shown"))
ok("a question too", all(w["shown"]["arguments"] == {"command": w["request"]["preview"].split(": ")[1]} for w in get("waiting")["waiting"]), get("waiting")["waiting"])
head = denied["decision"]["proof"]["head"]
ok("and a head over it", head["tree_size"] >= json.loads(line)["lamport_clock"] and denied["call"]["preview"] == "rm -rf /", head)
ok("none of that name", get("acts/dec-ffffffffff")[0] == 404)
st, csv, h = ask("GET", "acts/export?format=csv&verdict=DENY", session=me)
ok("as a file", st == 200 and csv.decode().split("\r\n")[1].count('"rm -rf /"') == 1 and "attachment" in h["content-disposition"], csv)
whole, parts, at = ask("GET", "acts/export?format=csv", session=me), [], ""
while True:
    st, part, h2 = ask("GET", "acts/export?format=csv&limit=2" + at, session=me)
    parts.append(part)
    if "helm-next" not in h2: break
    at = "&before=" + h2["helm-next"]
ok("a file that does not fit into one answer goes on where it stopped", len(parts) > 2 and b"".join(parts) == whole[1] and "helm-next" not in whole[2], len(parts), whole)
ok("every other view answers", all(not isinstance(get(v), tuple) for v in ("sessions", "waiting", "freeze", "log", "evidence", "policy", "mcp", "spend", "memory", "acts/values")), [v for v in ("sessions", "waiting", "freeze", "log", "evidence", "policy", "mcp", "spend", "memory", "acts/values") if isinstance(get(v), tuple)])
ok("a command as a tree", len(ask("POST", "explain", {"command": "ls; rm -rf /"}, session=me)[1]["steps"]) == 2)
ok("no option is smuggled in", ask("POST", "explain", {"command": "--help"}, session=me)[0] in (200, 422) and ask("POST", "policy/simulate", {"policy": "x", "since": "1d --fact a=b"}, session=me)[0] == 400)
reader = {"Authorization": "Bearer " + open(scratch + "/reader").read().strip()}
ok("a key that reads sees the same, without a browser", ask("GET", "acts?session=s-1", drop=["Sec-Fetch-Site", "X-Helm"], **reader)[1] == acts)
far = {"Authorization": "Bearer " + open(scratch + "/far").read().strip()}
ok("another tenant sees nothing of it", not [a for a in ask("GET", "acts", **far)[1]["acts"] if "key-add" not in a["caption"]] and ask("GET", "acts/" + acts["acts"][4]["id"], **far)[0] == 404 and ask("GET", "acts/" + acts["acts"][5]["id"], **far)[0] == 404 and "rm" not in json.dumps(ask("GET", "acts/values", **far)[1]) and "s-1" not in json.dumps(ask("GET", "acts/values", **far)[1]) and all(ask("GET", v, **far)[0] == 403 for v in ("sessions", "waiting", "freeze", "log", "policy", "mcp", "spend", "memory")), ask("GET", "acts/" + acts["acts"][4]["id"], **far))

# As it happens.
def stream(last=None, session=None):
    session = session or me
    s = socket.create_connection(("127.0.0.1", port)); s.settimeout(30)
    s.sendall(("GET /api/v1/console/events HTTP/1.1\r\nHost: localhost:%d\r\nSec-Fetch-Site: same-origin\r\nCookie: __Host-helm=%s\r\nX-Helm-Page: %s\r\n%s\r\n" % (port, session[0], session[1], "Last-Event-ID: %s\r\n" % last if last else "")).encode())
    return s
def until(s, n):
    got = b""
    while len(re.findall(rb"\nevent: (?!begin)", got)) < n:
        more = s.recv(65536); got += more
        if not more: return got
    return [int(x) for x in re.findall(rb"id: (\d+)\nevent: (?!begin)", got)]
mine = [r["lamport_clock"] for r in receipts() if r["lamport_clock"] > 1 and r["metadata"].get("tenant") != "far"]
came = until(stream("1"), len(mine))
ok("what was before comes from a place on, without what is another tenant's", came == mine, came, mine)
ok("a place that is none is refused", ask("GET", "events", session=me, Last_Event_ID="x")[0] == 400)

# Keys.
mine, other = Passkey(), Passkey("es256")
def invite(name, where=None):
    with open(scratch + "/ask", "w") as f: f.write("%s %s\n" % (name, where or origin))
    os.rename(scratch + "/ask", scratch + "/asked")
    while not os.path.exists(scratch + "/given"): time.sleep(0.05)
    got = open(scratch + "/given").read().strip(); os.unlink(scratch + "/given")
    return got
def un64(text): return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
def register(key, word, **more):
    st, b, h = ask("POST", "register/begin", {"invite": word} if word else {}, session=me)
    if st != 200: return st, b, h
    return ask("POST", "register", dict({"challenge": b["challenge"]}, **dict({"invite": word} if word else {}, **key.make(un64(b["challenge"]), more.pop("origin", origin), **more))), session=me)
ok("no key is registered without an invitation", register(mine, None)[1]["error"]["code"] == "PASSKEY_INVITE" and register(mine, "x" * 43)[1]["error"]["code"] == "PASSKEY_INVITE")
word = invite("anna")
ok("nor without its person", register(mine, word, flags=0x41)[1]["error"]["code"] == "WEBAUTHN_PRESENCE")
ok("which uses the invitation up", register(mine, word)[1]["error"]["code"] == "PASSKEY_INVITE")
anna = come(register(mine, invite("anna")))
bert = come(register(other, invite("bert")))
ok("two are registered, of both kinds", anna and bert and [k["passkey"]["algorithm"] for k in json.load(open(scratch + "/home/.helm/trust/approvers.json"))["keys"]] == ["ed25519", "es256"])
ok("on record", [r["metadata"]["label"] for r in receipts() if r["effect_id"] == "helm.approver/add"] == ["anna", "bert"])
def login(key, **more):
    st, b, h = ask("POST", "challenge", {})
    return ask("POST", "login", {"challenge": more.pop("other", b["challenge"]), "assertion": key.get(un64(b["challenge"]), more.pop("origin", origin), **more)})
again = come(login(mine))
ok("a key comes in", again and get("me", again)["label"] == "anna" and come(login(other)))
st, b, h = ask("POST", "challenge", {}); body = {"challenge": b["challenge"], "assertion": mine.get(un64(b["challenge"]), origin)}
ok("a challenge counts once", ask("POST", "login", body)[0] == 200 and ask("POST", "login", body)[1]["error"]["code"] == "CHALLENGE_USED")
ok("one that nobody gave does not count", login(mine, other="A" * 43)[1]["error"]["code"] == "CHALLENGE_USED")
for what, code, how in (("origin", "WEBAUTHN_ORIGIN", dict(origin="http://localhost:1")), ("type", "WEBAUTHN_TYPE", dict(kind="webauthn.create")), ("presence", "WEBAUTHN_PRESENCE", dict(flags=4)), ("verification", "WEBAUTHN_PRESENCE", dict(flags=1))):
    ok("a login with wrong %s is refused" % what, login(mine, **how)[1]["error"]["code"] == code)
stranger = Passkey(); stranger.id = mine.id
ok("nor somebody else's key under this name", login(stranger)[1]["error"]["code"] == "WEBAUTHN_INVALID")
elsewhere = Passkey(rp="evil.example"); elsewhere.id, elsewhere.key = mine.id, mine.key
ok("nor this one, used for another name", login(elsewhere)[1]["error"]["code"] == "WEBAUTHN_RP")
mine.count = 1
ok("nor one that counts back", login(mine)[1]["error"]["code"] == "WEBAUTHN_COUNTER")
mine.count = 1000

# Acting.
waiting = {w["request"]["preview"]: w["request"] for w in get("waiting")["waiting"]}
q = {k.split(": ")[1]: v["approval_id"] for k, v in waiting.items()}
def sign(path, then, asked, key=mine, session=anna, change=lambda m: m, **more):
    st, b, h = ask("POST", path, asked, session=session)
    if st != 200: return st, b, h
    return ask("POST", then, {"message": change(b["message"]), "assertion": key.over(b["message"], more.pop("origin", origin), **more)}, session=session)
def answer(name, asked, **more): return sign("waiting/%s/message" % q[name], "waiting/%s/answer" % q[name], asked, **more)
once = {"answer": "approve", "reach": "once"}
def count(effect): return len([r for r in receipts() if r["effect_id"] == effect])
for what, code, how in (("challenge", "WEBAUTHN_CHALLENGE", dict(change=lambda m: m.replace('"once":true', '"once":false'))), ("origin", "WEBAUTHN_ORIGIN", dict(origin="http://localhost:1")), ("verification", "WEBAUTHN_PRESENCE", dict(flags=1)), ("presence", "WEBAUTHN_PRESENCE", dict(flags=4)),
                        ("key", "APPROVER_UNKNOWN", dict(key=Passkey()))):
    st, b, h = answer("rm -rf build", once, **how)
    ok("an answer with wrong %s is refused" % what, st == 403 and b["error"]["code"] == code, b)
st, b, h = ask("POST", "waiting/%s/message" % q["rm -rf build"], once, session=anna)
st, b, h = ask("POST", "waiting/%s/answer" % q["rm -rf cache"], {"message": b["message"], "assertion": mine.over(b["message"], origin)}, session=anna)
ok("an answer to another question is none", st == 403 and b["error"]["code"] == "APPROVAL_MESSAGE", b)
forged = b"helm:approval:v2\n" + json.dumps({"grant": {"grant_id": "grant-000000000000"}, "request_sha256": "sha256:0"}, separators=(",", ":"), sort_keys=True).encode()
st, b, h = ask("POST", "waiting/%s/answer" % q["rm -rf build"], {"message": forged.decode(), "assertion": mine.over(forged.decode(), origin)}, session=anna)
ok("nor is something that is no grant", st == 403 and b["error"]["code"] == "APPROVAL_MESSAGE", b)
ok("and nothing was granted", count("helm.approval/grant") == 0)
st, b, h = answer("rm -rf build", once)
ok("a yes is on record, with what was signed", st == 200 and count("helm.approval/grant") == 1, b)
grant = [r for r in receipts() if r["effect_id"] == "helm.approval/grant"][0]
who = grant["metadata"]["approver"]
message = "helm:approval:v2\n" + json.dumps({"grant": grant["metadata"]["grant"], "request_sha256": who["request_sha256"]}, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
ok("which can be verified from the receipt alone", json.loads(un64(who["client_data_json"]))["challenge"] == b64(hashlib.sha256(message.encode()).digest()) and who["algorithm"] == "ed25519" and grant["executor_id"].endswith("(anna)"), who)
ok("it is answered once", answer("rm -rf build", once)[0] == 409)
st, b, h = answer("rm -rf cache", {"answer": "approve", "reach": "shape", "hours": 2}, key=other, session=bert)
ok("the other kind answers, and for whatever is alike", st == 200 and [r["metadata"]["grant"]["reach"] for r in receipts() if r["effect_id"] == "helm.approval/grant"][-1] == "shape", b)
st, b, h = answer("rm -rf other", {"answer": "deny", "reason": "not today"})
ok("a no is signed, too", st == 200 and [r["metadata"]["denial"]["reason"] for r in receipts() if r["effect_id"] == "helm.approval/deny"] == ["not today"], b)

# Several people.
cara = Passkey(); second = Passkey(); unnamed = come(register(second, invite("anna"))); third = come(register(cara, invite("cara")))
for name in ("prod", "logs"): invite("+two", name)
waits = {w["request"]["preview"].split(": ")[1]: w for w in get("waiting")["waiting"]}
q.update({k: w["request"]["approval_id"] for k, w in waits.items()})
ok("a question for two waits, and nobody has said yes", waits["rm -rf prod"]["request"]["approvers"] == 2 and "said_yes" not in waits["rm -rf prod"], waits)
yes = {"answer": "approve"}
def held(name): return ask("POST", "waiting/%s/message" % q[name], yes, session=anna)[1].get("error", {}).get("code") == "APPROVAL_HOLD"
while held("rm -rf prod") or held("rm -rf logs"): time.sleep(0.3)
st, b, h = answer("rm -rf prod", yes)
had = count("helm.approval/grant")
ok("the first yes is on record and grants nothing", st == 200 and b["missing"] == 1 and count("helm.approval/assert") == 1, b)
def yes_of(name): return [y["label"] for w in get("waiting")["waiting"] if w["request"]["approval_id"] == q[name] for y in w["said_yes"]]
ok("it is seen who", yes_of("rm -rf prod") == ["anna"])
ok("one key twice does not count", answer("rm -rf prod", yes)[1]["error"]["code"] == "APPROVAL_TWICE")
ok("nor does another key of the same person", answer("rm -rf prod", yes, key=second)[1]["error"]["code"] == "APPROVAL_TWICE")
ok("nor an unknown one", answer("rm -rf prod", yes, key=Passkey())[1]["error"]["code"] == "APPROVER_UNKNOWN")
st, b, h = ask("POST", "waiting/%s/message" % q["rm -rf logs"], yes, session=bert); foreign = b["message"]
def send(name, message, key=other): return ask("POST", "waiting/%s/answer" % q[name], {"message": message, "assertion": key.over(message, origin)}, session=bert)
ok("nor a yes to another question", send("rm -rf prod", foreign)[1]["error"]["code"] == "APPROVAL_MESSAGE")
ok("nor one to fewer people", send("rm -rf logs", foreign.replace('"quorum":2', '"quorum":1'))[1]["error"]["code"] == "APPROVAL_MESSAGE")
ok("nor one that lasts longer", send("rm -rf logs", re.sub('"expires_at":"20', '"expires_at":"21', foreign))[1]["error"]["code"] == "APPROVAL_MESSAGE")
grantish = "helm:approval:v2\n" + foreign.split("\n", 1)[1]
ok("nor an answer that one person would give", send("rm -rf logs", grantish)[1]["error"]["code"] == "APPROVAL_MESSAGE")
ok("nothing of that is granted", count("helm.approval/grant") == had and count("helm.approval/assert") == 1)
st, b, h = answer("rm -rf prod", yes, key=other, session=bert)
grant = [r for r in receipts() if r["effect_id"] == "helm.approval/grant"][-1]["metadata"]
ok("the second, with a key of the other kind, makes the grant", st == 200 and count("helm.approval/grant") == had + 1 and grant["grant"]["approvers"] == 2 and [x["algorithm"] for x in grant["quorum"]["assertions"]] == ["webauthn-ed25519", "webauthn-es256"], b)
signed = "helm:quorum:v1\n" + json.dumps(grant["quorum"]["challenge"], separators=(",", ":"), sort_keys=True)
ok("with which both have signed one challenge, as the receipt alone shows", all(json.loads(un64(x["client_data_json"]))["challenge"] == b64(hashlib.sha256(signed.encode()).digest()) for x in grant["quorum"]["assertions"]))
def stops(said): return re.search('"permissionDecision": ?"(ask|deny)"', said)
ok("it lets the call through", not stops(invite("+two", "prod")))
said = invite("+two", "prod")
ok("once", stops(said), said)
st, b, h = ask("POST", "waiting/%s/message" % q["rm -rf logs"], yes, session=anna); shown = b["message"]
ok("of two who were shown it at once, the first counts", send("rm -rf logs", foreign)[1].get("missing") == 1)
st, b, h = send("rm -rf logs", shown, key=mine)
ok("and the other looks again", b["error"]["code"] == "APPROVAL_MESSAGE" and "look again" in b["detail"] and answer("rm -rf logs", yes)[0] == 200, b)

st, b, h = ask("POST", "freeze/message", {"act": "freeze", "principal": "*", "reason": "drill"}, session=anna)
body = {"message": b["message"], "assertion": mine.over(b["message"], origin)}
ok("a freeze is signed", ask("POST", "freeze", dict(body, message=body["message"].replace("drill", "dril1")), session=anna)[0] == 403)
st, b, h = sign("freeze/message", "freeze", {"act": "freeze", "principal": "*", "reason": "drill"})
ok("and holds", st == 200 and get("freeze")["frozen"][0]["principal"] == "*" and "anna" in get("freeze")["frozen"][0]["by"], b)
ok("the same again is refused", ask("POST", "freeze", body, session=anna)[1]["error"]["code"] in ("CHALLENGE_USED", "WEBAUTHN_COUNTER"))
ok("nothing is granted meanwhile", answer("rm -rf more", once)[1]["error"]["code"] == "SYSTEM_FROZEN")
ok("nor does anybody come to register", register(Passkey(), invite("carl"))[0] == 403)
st, b, h = ask("POST", "freeze/message", {"act": "freeze", "principal": "agent:x", "reason": ""}, session=anna)
st, b, h = ask("POST", "freeze", {"message": b["message"].replace('"freeze"', '"unfreeze"').replace("agent:x", "*"), "assertion": mine.over(b["message"], origin)}, session=anna)
ok("a freeze is no permission to lift one", st == 403 and get("freeze")["frozen"] != [], b)
st, b, h = sign("freeze/message", "freeze", {"act": "unfreeze", "principal": "*", "reason": "over"})
ok("it is lifted", st == 200 and get("freeze")["frozen"] == [], b)
ok("every receipt is sound", subprocess.run([HELM, "log", "check", "--all"], env=env, cwd=scratch, capture_output=True).returncode == 0)
# A session that may not act cannot: there is nothing it could send.
ok("a session by link answers only with a signature", ask("POST", "waiting/%s/answer" % q["rm -rf more"], {"message": "helm:act:v1\n{}", "assertion": mine.over("helm:act:v1\n{}", origin)}, session=me)[0] == 403)
ok("leaving ends it", ask("POST", "leave", {}, session=again)[0] == 200 and ask("GET", "me", session=again)[0] == 401)
def ends(s, seconds):
    got, until = b"", time.monotonic() + seconds
    while time.monotonic() < until:
        s.settimeout(max(0.01, until - time.monotonic()))
        try: more = s.recv(65536)
        except socket.timeout: return False
        got += more
        if not more or got.endswith(b"\r\n0\r\n\r\n") or got == b"0\r\n\r\n": return True
    return False
hers, his = stream(session=anna), stream(session=bert)
ok("who is registered hears on", not ends(his, 4))
key_id = get("me", bert)["key_id"]
person = subprocess.run([sys.executable, os.environ["HELM_SOURCE"] + "/tests/tools/terminal.py", "REMOVE", "--", HELM, "approval", "trust", "remove", key_id], cwd=scratch + "/project", env=dict(env, TERM="dumb", TERMINALS=scratch + "/.terminals"), capture_output=True)
ok("a key is taken away", person.returncode == 0, person.stdout)
ok("who came with it hears nothing more", ends(his, 20))
ok("nor asks anything", ask("GET", "me", session=bert)[0] == 401)
ok("and others do", not ends(hers, 3) and ask("GET", "me", session=anna)[0] == 200)
hers.close()
opened.send_signal(signal.SIGINT)
ok("it ends as it is told to", opened.wait(30) == 0)

# A person who opens it at a terminal of their own is invited by that, for one key.
import pty
own = Place()
def hook(command, **more): subprocess.run([sys.executable, os.environ["HELM_SOURCE"] + "/tests/tools/agent.py", HELM, "hook", "pre-tool", "--client", "claude-code"], cwd=own.dir, env=own.env, capture_output=True, input=json.dumps(dict({"tool_name": "Bash", "tool_input": {"command": command}, "session_id": "s-1", "cwd": own.dir}, **more)).encode())
hook("rm -rf /", self_test=True)
for i in range(25): hook("rm -rf /opt/x%d" % i)
hook("rm -rf /", self_test=True)
pid, fd = pty.fork()
if pid == 0:
    os.chdir(own.dir); os.execve(HELM, [HELM, "open", "--print"], dict(own.env, USER="carla", TERM="dumb"))
text = ""
while "\n" not in text: text += os.read(fd, 4096).decode()
url = urllib.parse.urlparse(text.strip()); port = url.port; origin = "http://localhost:%d" % port
me = come(ask("POST", "enter", {"token": urllib.parse.parse_qs(url.fragment)["enter"][0]}, host="localhost:%d" % port))
here = {"host": "localhost:%d" % port}
ok("whoever comes by their link may register", ask("GET", "me", session=me, **here)[1]["may_register"] == "carla")
now = ask("GET", "now", session=me, **here)[1]
ok("a self-test is not counted as something that was stopped", now["stopped_24h"] == 25 and now["self_tests_24h"] == 2, now)
ok("its rows are marked, and no others", [r.get("self_test") for r in now["stopped"]] == [True] + [None] * 19 and ask("GET", "acts/" + now["stopped"][0]["id"], session=me, **here)[1]["act"]["self_test"] is True, now)
ok("now says how many there are beside those it shows", len(now["stopped"]) == 20 and now["stopped_all"] == 27, now)
hers = Passkey()
def register_here(key):
    st, b, h = ask("POST", "register/begin", {}, session=me, **here)
    return ask("POST", "register", dict({"challenge": b["challenge"]}, **key.make(un64(b["challenge"]), origin)), session=me, **here) if st == 200 else (st, b, h)
ok("one key", register_here(hers)[0] == 200 and register_here(Passkey())[0] == 403 and [k["label"] for k in json.load(open(own.home + "/.helm/trust/approvers.json"))["keys"]] == ["carla"])
os.write(fd, b"\x03")
ok("and Ctrl-C ends it", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0)
own.done()
open(scratch + "/over", "w").close()
finish()
PY
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 "$scratch/console.py" "$scratch" >"$scratch/console.tap" 2>&1 &
driver=$!
# A person at a terminal answers whoever asks for an invitation.
while kill -0 $driver 2>/dev/null; do
  if [ -e "$scratch/asked" ]; then
    read -r name where <"$scratch/asked"
    rm "$scratch/asked"
    case $name in
    +two)
      terminal -- helm policy use two.yaml >&2
      printf '{"tool_name":"Bash","tool_input":{"command":"rm -rf %s"},"session_id":"s-1","cwd":"%s"}' "$where" "$PWD" | agent hook pre-tool --client claude-code >"$scratch/.given"
      ;;
    *) invite "$name" "$where" >"$scratch/.given" ;;
    esac
    mv "$scratch/.given" "$scratch/given"
  fi
  sleep 0.05
done
while read -r verdict rest; do
  case $verdict$rest in
  ok*) ok "${rest#* - }" true ;;
  not\ ok* | notok*) ok "${rest#* - }" false ;;
  '#'*) echo "$verdict $rest" ;;
  1..*) ;;
  *) echo "# $verdict $rest" ;;
  esac
done <"$scratch/console.tap"
ok "to its end" test -e "$scratch/over"
finish
