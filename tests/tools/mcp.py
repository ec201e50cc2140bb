"""mcp.py — for tests of the gateway: start one, speak the protocol with it, and say what held, as TAP."""
import json, os, queue, subprocess, sys, threading, time

HELM = os.path.join(os.environ["HELM_BUILD"], "helm")
count = failures = 0


def ok(what, is_so, *more):
    global count, failures
    count += 1
    if not is_so:
        failures += 1
    print(("ok" if is_so else "not ok"), count, "-", what, flush=True)
    if not is_so:
        for line in more:
            print("#", str(line)[:3000], flush=True)
    return is_so


def finish():
    print("1..%d" % count)
    sys.exit(1 if failures else 0)


def environment(**more):
    return dict({"PATH": os.environ["PATH"], "HOME": os.environ["TEST_HOME"], "LC_ALL": "C.UTF-8",
                 "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}, **more)


def helm(*words, **more):
    return subprocess.run([HELM] + list(words), env=environment(), capture_output=True, text=True, timeout=120, **more)


def person(*words, says=()):
    """helm, by a person at a terminal who types these words when asked."""
    terminal = os.path.join(os.environ["HELM_SOURCE"], "tests/tools/terminal.py")
    return subprocess.run([sys.executable, terminal] + list(says) + ["--", HELM] + list(words), capture_output=True, text=True, timeout=120,
                          env=environment(TERM="dumb", TERMINALS=os.environ["TERMINALS"]))


def receipts():
    state = os.path.join(os.environ["TEST_HOME"], ".helm/workspace/.helm")
    rows = []
    for name in sorted(os.listdir(state)):
        if name.startswith("receipts") and name.endswith(".jsonl"):
            with open(os.path.join(state, name)) as f:
                rows += [json.loads(line) for line in f if line.endswith("\n")]
    return sorted(rows, key=lambda r: r["lamport_clock"])


class Gateway:
    """helm mcp gateway over its streams."""

    def __init__(self, *args, hello=True, **env):
        self.errors = open("gateway.log", "ab")
        self.p = subprocess.Popen([HELM, "mcp", "gateway"] + list(args), env=environment(**env), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=self.errors)
        self.n = 0
        self.heard = []  # what answers nothing
        self.answers = {}
        self.cond = threading.Condition()
        self.is_over = False
        threading.Thread(target=self.listen, daemon=True).start()
        if hello:
            self.hello = self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def listen(self):
        for line in self.p.stdout:
            m = json.loads(line)
            with self.cond:
                if "id" in m and "method" not in m:
                    self.answers.setdefault(json.dumps(m["id"]), []).append(m)
                else:
                    self.heard.append(m)
                self.cond.notify_all()
        with self.cond:
            self.is_over = True
            self.cond.notify_all()

    def raw(self, text):
        self.p.stdin.write(text if isinstance(text, bytes) else text.encode())
        self.p.stdin.flush()

    def send(self, message):
        self.raw(json.dumps(message) + "\n")

    def begin(self, method, params=None, id=None):
        self.n += 1
        id = self.n if id is None else id
        self.send(dict({"jsonrpc": "2.0", "id": id, "method": method}, **({"params": params} if params is not None else {})))
        return id

    def wait(self, id, timeout=30):
        key, until = json.dumps(id), time.time() + timeout
        with self.cond:
            while not self.answers.get(key) and not self.is_over and time.time() < until:
                self.cond.wait(0.1)
            return self.answers[key].pop(0) if self.answers.get(key) else None

    def ask(self, method, params=None, timeout=30):
        return self.wait(self.begin(method, params), timeout)

    def call(self, name, args=None, timeout=30, **more):
        m = self.ask("tools/call", dict({"name": name, "arguments": args if args is not None else {}}, **more), timeout)
        return (m or {}).get("result", m)

    def tools(self):
        return {t["name"]: t for t in self.ask("tools/list")["result"]["tools"]}

    def end(self, timeout=10):
        self.p.stdin.close()
        began = time.time()
        try:
            self.p.wait(timeout)
        except subprocess.TimeoutExpired:
            self.p.kill()
        return time.time() - began


def text_of(result):
    return "".join(c.get("text", "") for c in (result or {}).get("content", []))


def verdict_of(result):
    return (result or {}).get("_meta", {}).get("helm/decision", {}).get("verdict")
