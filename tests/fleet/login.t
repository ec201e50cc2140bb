#!/bin/sh
# login.t — people come in at a fleet's front end with a passkey: registered by a link that works once, asked for by a challenge that counts once, at any of several front ends;
# a session ends with its key, its person, or after eight hours, and so do its streams.  In a real browser: login_browser.t.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal

fleet_make
fleet_two_tenants
serve_start other || exit 1
url2=$url
serve_start front || exit 1
joined_asking acme anna
joined_asking acme bert
act anna 2
for m in anna bert; do machine $m fleet sync >/dev/null 2>&1; done
centre reader add look --tenant acme >acme.reader
ok "a link that holds a token is not made any more, and says what to do" says 2 "helm fleet reader invite tom --link https://l.example" centre reader add tom --tenant acme --link https://l.example
ok "who is invited gets a link, which names the log's key" says 0 "https://l.example/console/#invite=hfi_acme" centre reader invite tom --tenant acme --link https://l.example
ok "and is in the list" says 0 "invited" centre reader list --tenant acme
ok "an invitation says where to" says 2 "--link" centre reader invite tom --tenant acme
ok "a program and a person have two names" says 1 "another name" centre reader invite look --tenant acme --link https://l.example
ok "also the other way round" says 1 "another name" centre reader add tom --tenant acme
ok "a machine that is not there is not named" says 1 "helm fleet nodes" centre reader invite eve --tenant acme --machines nowhere --link https://l.example
ok "nor does anybody come of that" says_not 0 eve centre reader list --tenant acme

cat >drive.py <<'PY'
import os, sys, time, subprocess
sys.path.insert(0, os.environ["HELM_SOURCE"] + "/tests/tools")
from front import *
import hashlib
front, other, scratch = Front(sys.argv[1]), Front(sys.argv[2]), sys.argv[3]
database, signer, pg = sys.argv[4:7]
helm = lambda *words: centre(scratch, database, signer, *words)
invite = lambda name, *more, tenant="acme": invite_of(helm("reader", "invite", name, "--tenant", tenant, "--link", front.origin, *more))
def sql(text):
    r = subprocess.run(["sh", pg, text], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    return r.stdout.strip()

# ---- registering
tom = Person(front)
word = invite("tom")
st, begun, _ = front.post("register/begin", {"invite": word})
ok("an invitation may be looked at, and is not used by that", st == 200 and begun["label"] == "tom" and begun["rp_id"] == "localhost" and front.post("register/begin", {"invite": word})[0] == 200, begun)
for what, how in [("no key is registered with user verification missing", dict(flags=0x41)), ("no key is registered with presence missing", dict(flags=0x44)), ("no key is registered with another origin", dict(origin="http://localhost:1")), ("no key is registered with another origin's name", dict(origin="https://evil.example")), ("no key is registered with another challenge", dict(challenge=os.urandom(32)))]:
    st, doc = tom.register(word, **how)
    ok(what, st == 403 and code(doc).startswith("WEBAUTHN_"), st, doc)
st, doc = Person(front, rp="evil.example").register(word)
ok("nor one for another name", st == 403 and code(doc) == "WEBAUTHN_RP", st, doc)
st, doc = tom.register(word, change={"challenge": b64(os.urandom(32))})
ok("nor for a challenge that we did not give", st == 403 and code(doc) == "CHALLENGE_USED", st, doc)
login_challenge = front.post("challenge", {})[1]["challenge"]
st, doc = tom.register(word, challenge=unb64(login_challenge), change={"challenge": login_challenge})
ok("nor for one that was given to come in", st == 403 and code(doc) == "CHALLENGE_USED", st, doc)
ok("only for a page of ours", all(front.ask("POST", p, b, dict(front.browser, **h))[0] == 403 for h in [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"X-Helm": None}] for p, b in [("register/begin", {"invite": word}), ("register", {"invite": word}), ("challenge", {}), ("login", {})]))
ok("nobody is invited by a word that is none", all(code(front.post("register/begin", {"invite": w})[1]) == "PASSKEY_INVITE" for w in ["", "x", "hfi_", "hfi_acme.00", "hfi_nobody.00", word[:-1], word.replace("acme", "beta"), "hfr_acme.00", "hfi_'; DROP TABLE person;--.x"]))
st, doc = tom.register(word)
ok("then one is, and the person is in", st == 200 and doc["label"] == "tom" and tom.get("me")[0] == 200, st, doc)
st, me = tom.get("me")
ok("as who they are", me["reader"] == "tom" and me["role"] == "auditor" and me["key_id"].startswith("webauthn:") and me["tenant"] == "acme", me)
ok("the cookie is for this host, unreadable, strict, for eight hours", all(x in tom.set for x in ["__Host-helm=", "Secure", "HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=28800"]) and "Domain" not in tom.set, tom.set)
ok("the invitation is used up", code(Person(front).register(word)[1]) == "PASSKEY_INVITE")
ok("also at another front end", code(Person(other).register(word)[1]) == "PASSKEY_INVITE")
ok("nothing of a session is kept but digests", tom.word not in sql("SELECT encode(cookie_sha256, 'escape') || encode(page_sha256, 'escape') FROM fleet.session") and sql("SELECT encode(page_sha256, 'hex') FROM fleet.session WHERE name = 'tom'") == hashlib.sha256(tom.word.encode()).hexdigest())
short = invite("late", "--expires", "1h")
sql("UPDATE fleet.person SET invite_until = now() - interval '1 second' WHERE name = 'late'")
ok("an invitation whose time is over opens nothing", code(Person(front).register(short)[1]) == "PASSKEY_INVITE")
es = Person(front, kind="es256")
ok("a key of the other kind is registered, too", es.register(invite("ella"))[0] == 200 and es.login()[0] == 200 and es.get("me")[1]["reader"] == "ella")
thief = Person(front)
thief.key.id = tom.key.id
ok("nobody registers a key under the number of another's", code(thief.register(invite("eve"))[1]) == "PASSKEY_REFUSED")

# ---- with it
old = dict(tom.h)
st, doc = tom.login()
ok("a registered key comes in", st == 200 and tom.get("now")[0] == 200 and tom.h["Cookie"] != old["Cookie"], doc)
replayed = front.post("login", tom.sent)
ok("what was signed counts once", replayed[0] == 403 and code(replayed[1]) == "CHALLENGE_USED", replayed[:2])
replayed = other.post("login", tom.sent, Origin=other.origin)
ok("at any front end", replayed[0] == 403, replayed[:2])
for what, want, how in [("nobody comes in with user verification missing", "WEBAUTHN_PRESENCE", dict(flags=0x01)), ("nobody comes in with presence missing", "WEBAUTHN_PRESENCE", dict(flags=0x04)), ("nobody comes in with another origin", "WEBAUTHN_ORIGIN", dict(origin="http://localhost:1")), ("nobody comes in with another challenge", "WEBAUTHN_CHALLENGE", dict(challenge=os.urandom(32))), ("nobody comes in with another kind", "WEBAUTHN_TYPE", dict(kind="webauthn.create")), ("nobody comes in with a changed signature", "WEBAUTHN_INVALID", dict(change={"signature": b64(bytes(64))})), ("nobody comes in with a part missing", "WEBAUTHN_FORMAT", dict(change={"signature": ""})), ("nobody comes in with a key that nobody has", "PASSKEY_UNKNOWN", dict(change={"id": b64(os.urandom(32))})), ("nobody comes in with no owner", "PASSKEY_UNKNOWN", dict(change={"user_handle": None})), ("nobody comes in with another tenant's owner", "PASSKEY_UNKNOWN", dict(change={"user_handle": b64(bytes([0, 0, 0, 2]) + bytes(12))})), ("nobody comes in with nonsense", "PASSKEY_UNKNOWN", dict(change={"id": "\ud7ff'; --"}))]:
    before = tom.h
    st, doc = tom.login(**how)
    ok(what, st == 403 and code(doc) == want, st, doc)
    tom.h = before
wrong = Person(front, key=Passkey(rp="evil.example"))
wrong.key.id, wrong.key.key, wrong.key.count, wrong.handle = tom.key.id, tom.key.key, 99, tom.handle
ok("nor by a signature for another name", code(wrong.login()[1]) == "WEBAUTHN_RP")
for what, challenge in [("nor by a challenge that we did not give", b64(os.urandom(32))), ("nor by one that was given to register", front.post("register/begin", {"invite": invite("sven")})[1]["challenge"]), ("nor by one that is over", None)]:
    if challenge is None:
        raw = bytearray(unb64(front.post("challenge", {})[1]["challenge"]))
        raw[7] ^= 0xFF
        challenge = b64(bytes(raw))
    st, doc, _ = front.post("login", {"challenge": challenge, "assertion": dict(tom.key.get(unb64(challenge), front.origin), user_handle=tom.handle)})
    ok(what, st == 403 and code(doc) == "CHALLENGE_USED", st, doc)
copy = Person(front, key=tom.key)
copy.handle, tom.key.count = tom.handle, 1
st, doc = copy.login()
ok("nor by a copy of the key, which has counted less", st == 403 and code(doc) == "PASSKEY_REFUSED", st, doc)
tom.key.count = 1000
asked = other.post("challenge", {}, Origin=other.origin)[1]
sent = {"challenge": asked["challenge"], "assertion": dict(tom.key.get(unb64(asked["challenge"]), front.origin), user_handle=tom.handle)}
st, doc = tom.took(front.post("login", sent))
ok("a challenge of one front end is answered at another", st == 200, st, doc)
ok("a session of one is one at another", tom.get("me", other)[0] == 200 and tom.get("now", other)[0] == 200)
for what, h in [("the cookie alone", {"X-Helm-Page": None}), ("the word alone", {"Cookie": None}), ("another's word", {"X-Helm-Page": es.word}), ("another tenant's name", {"Cookie": tom.cookie.replace("acme", "beta")}), ("a cut cookie", {"Cookie": tom.cookie[:-2]}), ("another page", {"Sec-Fetch-Site": "cross-site"})]:
    ok(what + " opens nothing", tom.get("me", **h)[0] in (401, 403), tom.get("me", **h))
ok("a session is no token", front.ask("GET", "me", None, {"Authorization": "Bearer " + tom.cookie.split("=", 1)[1]})[0] == 401)
ok("the word of an old session neither", tom.get("me", **{"Cookie": old["Cookie"]})[0] == 401)
tom2 = Person(front, key=tom.key)
tom2.handle = tom.handle
tom2.login()
ok("who leaves has left everywhere", tom2.get("me", other)[0] == 200 and tom2.post("leave", {})[0] == 200 and tom2.get("me", other)[0] == 401 and tom.get("me")[0] == 200)
token = open(os.path.join(scratch, "acme.reader")).read().strip()
ok("a program's token works as before", front.ask("GET", "me", None, {"Authorization": "Bearer " + token})[1]["role"] == "auditor" and front.post("enter", {"token": token})[0] == 200)

# ---- nonces of acts, at another front end
st, asked = tom.post("freeze/message", {"act": "freeze", "nodes": [], "reason": "x"})
st, doc = tom.post("freeze", {"message": asked["message"], "assertion": tom.key.over(asked["message"], front.origin)}, other)
ok("an act that one front end has written is known at another", code(doc) == "FLEET_APPROVERS", st, doc)
st, doc = tom.post("freeze", {"message": asked["message"], "assertion": tom.key.over(asked["message"], front.origin)})
ok("and counts once at both", code(doc) == "CHALLENGE_USED", st, doc)

# ---- how it ends
st, text, ended = tom.listen(2)
ok("a stream goes on", st == 200 and not ended and "event: begin" in text, st, text, ended)
import threading
def ends_when(person, what, do, at=None, seconds=12):
    result = []
    t = threading.Thread(target=lambda: result.append(person.listen(seconds, at)))
    t.start()
    time.sleep(1.5)
    began = time.time()
    do()
    t.join()
    ok(what + ", and its stream", result[0][0] == 200 and result[0][2] and time.time() - began < seconds and person.get("me", at)[0] == 401, result, person.get("me", at))
def until(seconds):
    sql("UPDATE fleet.session SET until = now() + interval '%d seconds' WHERE name = 'tom'" % seconds)
until(2)
ends_when(tom, "a session ends when its time is over", lambda: None)
tom.login()
ends_when(tom, "changed rights end it at another front end", lambda: helm("reader", "set", "tom", "--tenant", "acme", "--machines", "all"), other)
ok("the key opens a new one", tom.login()[0] == 200)
ends_when(tom, "leaving ends it", lambda: tom.post("leave", {}))
tom.login()
again = []
ends_when(tom, "a new invitation ends it", lambda: again.append(invite("tom")), other)
ok("the lost key opens nothing", code(tom.login()[1]) == "PASSKEY_UNKNOWN")
new = Person(front)
ok("the new one does", new.register(again[0])[0] == 200 and new.get("me")[1]["reader"] == "tom")
ends_when(new, "who is removed is out", lambda: helm("reader", "revoke", "tom", "--tenant", "acme"), other)
ok("with the key as well", code(new.login()[1]) == "PASSKEY_UNKNOWN")
gone = invite("gina")
helm("reader", "revoke", "gina", "--tenant", "acme")
ok("an invitation that was taken back opens nothing", code(Person(front).register(gone)[1]) == "PASSKEY_INVITE")
st, doc, r = front.post("enter", {"token": token})
half = re.search("__Host-helm=([^.]+)", r.getheader("set-cookie")).group(1)
soon = int(time.time()) + 3
mark = hashlib.sha256(("helm:fleet-session:v1\n%s\n%d" % (token, soon)).encode()).hexdigest()[:32]
by_token = Person(front, key=tom.key)
by_token.h = {"Cookie": "__Host-helm=%s.%d.%s" % (half, soon, mark), "X-Helm-Page": doc["page"]}
ends_when(by_token, "a session of a token ends when its time is over", lambda: None)
PY
sql_script sql.sh
drive "$url" "$url2" "$scratch" "$db" "$signer" "$scratch/sql.sh"
ok "who came in is in the front end's log" grep -q "tom of acme came in with the key webauthn:" front.log
ok "no word of a session or an invitation is" sh -c '! grep -q "hf[is]_acme" front.log other.log'
fleet_end
finish
