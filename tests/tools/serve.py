"""serve.py — for tests of helm-serve: start one in a private home, talk to it, and say what held, as TAP."""
import http.client, json, os, shutil, signal, socket, subprocess, sys, tempfile, threading, time, urllib.parse

BUILD = os.environ["HELM_BUILD"]
SOURCE = os.environ["HELM_SOURCE"]
HELM = os.path.join(BUILD, "helm")
ADMIN, SERVICE = "k-admin", "k-service"
POLICY = """format: helm.policy.v1
name: api
version: "1"
rules:
  - {id: read, action: read_ticket, verdict: ALLOW}
  - {id: shell, action: Bash, verdict: ALLOW}
  - {id: refunds, action: refund, verdict: ALLOW}
  - {id: large, action: refund, verdict: ESCALATE, all: [{field: params.amount, op: greater_than, value: 100}], text: A person decides about large refunds.}
"""
count = failures = 0


def ok(what, is_so, *more):
    global count, failures
    count += 1
    if not is_so:
        failures += 1
    print(("ok" if is_so else "not ok"), count, "-", what, flush=True)
    if not is_so:
        for line in more:
            print("#", str(line)[:2000], flush=True)
    return is_so


def skip(what, why):
    """A check that is left out; ./check lists it."""
    global count
    count += 1
    print("ok", count, "-", what, "# SKIP", why, flush=True)


def finish():
    print("1..%d" % count)
    sys.exit(1 if failures else 0)


class Place:
    """A home with a key and a workspace."""

    def __init__(self):
        self.dir = tempfile.mkdtemp()
        self.home = os.path.join(self.dir, "home")
        os.mkdir(self.home)
        self.env = {"PATH": os.environ["PATH"], "HOME": self.home, "LC_ALL": "C.UTF-8",
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""), "HELM_LOG_FORMAT": "json"}
        self.helm("init")
        self.policy = os.path.join(self.dir, "policy.yaml")
        self.write(POLICY)
        self.state = os.path.join(self.home, ".helm/workspace/.helm")

    def write(self, text):
        with open(self.policy + ".new", "w") as f:
            f.write(text)
        os.rename(self.policy + ".new", self.policy)

    def helm(self, *words, **more):
        return subprocess.run([HELM] + list(words), env=self.env, capture_output=True, text=True, cwd=self.dir, timeout=300, **more)

    def receipts(self):
        rows = []
        for name in sorted(os.listdir(self.state)):
            if name.startswith("receipts") and name.endswith(".jsonl"):
                with open(os.path.join(self.state, name)) as f:
                    rows += [json.loads(line) for line in f if line.endswith("\n")]
        return sorted(rows, key=lambda r: r["lamport_clock"])

    def done(self):
        shutil.rmtree(self.dir, ignore_errors=True)


class Server:
    def __init__(self, place, *args, env=None, cwd=None, **more):
        self.place = place
        self.log = open(os.path.join(place.dir, "log"), "ab")
        self.p = subprocess.Popen([HELM, "serve", "--policy", place.policy, "--port", "0"] + list(args), cwd=cwd or place.dir,
                                  env=dict(place.env, HELM_ADMIN_API_KEY=ADMIN, HELM_SERVICE_API_KEY=SERVICE, **(env or {})),
                                  stdout=subprocess.PIPE, stderr=self.log, **more)
        line = self.p.stdout.readline()
        self.ready = json.loads(line) if line else None
        self.url = urllib.parse.urlparse(self.ready["base_url"]) if self.ready else None

    def connection(self, timeout=60):
        return http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=timeout)

    def ask(self, method, path, body=None, headers=None, key=ADMIN, tenant="default", principal="system-admin", on=None, raw=False):
        """(status, body, headers); the body parsed when it is JSON."""
        h = {"Content-Type": "application/json"}
        if key:
            h["Authorization"] = "Bearer " + key
        if tenant:
            h["X-Helm-Tenant-ID"] = tenant
        if principal:
            h["X-Helm-Principal-ID"] = principal
        h.update(headers or {})
        h = {k: v for k, v in h.items() if v is not None}
        c = on or self.connection()
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        c.request(method, path, data, h)
        r = c.getresponse()
        got = r.read()
        if not on:
            c.close()
        if not raw:
            try:
                got = json.loads(got)
            except ValueError:
                pass
        return r.status, got, {k.lower(): v for k, v in r.getheaders()}

    def evaluate(self, tool, args=None, session="s1", **more):
        body = {"tool": tool, "effect_level": "r", "session_id": session}
        if args is not None:
            body["args"] = args
        return self.ask("POST", "/api/v1/evaluate", body, **more)

    def stop(self, number=signal.SIGTERM):
        self.p.send_signal(number)
        code = self.p.wait(60)
        self.log.close()
        return code


def is_error(body, status):
    """Both shapes of an error."""
    e = body.get("error", {}) if isinstance(body, dict) else {}
    return (body.get("status") == status and all(isinstance(e.get(k), str) for k in ("message", "type", "code", "reason_code"))
            and all(k in body for k in ("type", "title", "detail", "instance", "trace_id"))) if isinstance(body, dict) else False
