"""front.py — for tests: a browser's requests to the console of a fleet's front end, and people who come in there with a passkey."""
import base64, http.client, json, os, re, subprocess, sys, time, urllib.parse
sys.path.insert(0, os.environ["HELM_SOURCE"] + "/tests/tools")
from passkey import Passkey, b64

unb64 = lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
code = lambda doc: doc.get("error", {}).get("code") if isinstance(doc, dict) else None


def ok(what, so, *more):
    print("%s %s" % ("ok" if so else "NOT", what))
    if not so:
        print("#", *[str(m)[:800] for m in more])


class Front:
    """One front end, by its address."""

    def __init__(self, url):
        self.port = urllib.parse.urlparse(url).port
        self.origin = "http://localhost:%d" % self.port
        self.browser = {"Sec-Fetch-Site": "same-origin", "X-Helm": "1", "Origin": self.origin}

    def ask(self, method, path, body=None, headers=None, base="/api/v1/console/", timeout=60):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        h = {"Host": "localhost:%d" % self.port}
        if body is not None:
            h["Content-Type"] = "application/json"
        h.update(headers or {})
        c.request(method, base + path, None if body is None else json.dumps(body), {k: v for k, v in h.items() if v is not None})
        r = c.getresponse()
        text = r.read()
        try:
            return r.status, json.loads(text), r
        except ValueError:
            return r.status, text, r

    def post(self, path, body, **headers):
        return self.ask("POST", path, body, dict(self.browser, **headers))


class Person:
    """Somebody with a passkey and, once they came in, a session."""

    def __init__(self, front, key=None, **how):
        self.front, self.key, self.handle, self.h = front, key or Passkey(**how), None, None

    def took(self, answer):
        st, doc, r = answer
        if st == 200:
            self.set = r.getheader("set-cookie")
            self.cookie, self.word = re.search("__Host-helm=[^;]+", self.set).group(0), doc["page"]
            self.h = {"Cookie": self.cookie, "X-Helm-Page": self.word}
        return st, doc

    def register(self, invite, front=None, change=None, challenge=None, origin=None, **more):
        f = front or self.front
        st, begun, _ = self.front.post("register/begin", {"invite": invite})
        if st != 200:
            return st, begun
        self.handle = begun["user_handle"]
        made = self.key.make(challenge or unb64(begun["challenge"]), origin or f.origin, **more)
        return self.took(f.post("register", dict({"invite": invite, "challenge": begun["challenge"], **made}, **(change or {}))))

    def login(self, front=None, challenge=None, change=None, origin=None, **more):
        f = front or self.front
        asked = self.front.post("challenge", {})[1]
        self.sent = {"challenge": asked["challenge"], "assertion": dict(self.key.get(challenge or unb64(asked["challenge"]), origin or f.origin, **more), user_handle=self.handle)}
        self.sent["assertion"].update(change or {})
        return self.took(f.post("login", self.sent))

    def get(self, path, front=None, **more):
        f = front or self.front
        return f.ask("GET", path, None, dict(f.browser, **dict(self.h, **more)))[:2]

    def post(self, path, body, front=None, **more):
        f = front or self.front
        return f.ask("POST", path, body, dict(f.browser, **dict(self.h, **more)))[:2]

    def listen(self, seconds, front=None, last=None, until=None):
        """What a stream says, and whether it has ended by itself within that time."""
        f = front or self.front
        c = http.client.HTTPConnection("127.0.0.1", f.port, timeout=seconds)
        c.request("GET", "/api/v1/console/events", None, dict(f.browser, Host="localhost:%d" % f.port, **self.h, **({"Last-Event-ID": str(last)} if last is not None else {})))
        r, text, end = c.getresponse(), b"", time.time() + seconds
        ended = False
        try:
            while time.time() < end and not (until and until(text)):
                c.sock and c.sock.settimeout(max(0.1, end - time.time()))
                got = r.read1(65536)
                if not got:
                    ended = True
                    break
                text += got
        except OSError:
            pass
        except http.client.HTTPException:
            ended = True
        c.close()
        return r.status, text.decode(), ended


def centre(scratch, database, signer, *words):
    """helm fleet WORDS at the centre."""
    home = os.path.join(scratch, "centre")
    return subprocess.run([os.environ["HELM_REAL"], "fleet", *words], env={"PATH": os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8", "HELM_FLEET_DATABASE": database, "HELM_FLEET_SIGNER": signer, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}, cwd=home, capture_output=True, text=True)


def invite_of(result):
    found = re.search(r"#invite=(hfi_[^&]+)&log=", result.stdout)
    assert found, (result.stdout, result.stderr)
    return found.group(1)
