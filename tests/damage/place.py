"""place.py: a home with one of everything that Helm keeps, made once; each case of the damage matrix gets a copy.

The home is made in two halves, and a copy of the first half is the source of old copies of a file."""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
AGENT = os.path.join(SOURCE, "tests", "tools", "agent.py")
TERMINAL = os.path.join(SOURCE, "tests", "tools", "terminal.py")
TIMEOUT_S = 60


class Done:
    """How one call ended.  A code below zero is a signal; None: it did not end."""

    def __init__(self, args, code, out, err):
        self.args, self.code, self.out, self.err = args, code, out, err

    def __str__(self):
        return "helm %s: exit %s\n%s%s" % (" ".join(self.args), self.code, self.out[:1200], self.err[:1200])


class Home:
    """A home directory `root`/home with a workspace, a project in `root`/project, and an approver's key beside them."""

    def __init__(self, root, build, terminals=""):
        self.root, self.build, self.terminals = root, build, terminals
        self.home, self.project = os.path.join(root, "home"), os.path.join(root, "project")
        self.helm_home = os.path.join(self.home, ".helm")
        self.boss = os.path.join(root, "boss", ".helm", "keys", "root.key")

    def env(self, more=None):
        env = {"PATH": os.environ["PATH"], "HOME": self.home, "LC_ALL": "C.UTF-8", "HELM_HOME": self.helm_home}
        if "ASAN_OPTIONS" in os.environ:
            env["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"]
        env.update(more or {})
        return env

    def call(self, *args, stdin=b"", program="helm", prefix=(), env=None):
        argv = list(prefix) + [os.path.join(self.build, program)] + list(args)
        try:
            p = subprocess.run(argv, cwd=self.project, env=self.env(env), input=stdin, capture_output=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired as e:
            return Done(args, None, (e.stdout or b"").decode("utf-8", "replace"), "did not end in %d s" % TIMEOUT_S)
        return Done(args, p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace"))

    def must(self, *args, code=0, **how):
        done = self.call(*args, **how)
        if done.code != code:
            sys.exit("Bail out! the home cannot be made (exit %d wanted): %s" % (code, done))
        return done

    def operator(self, *args):
        """As an operator who answers with a registered key."""
        return self.call(*args, "--key", self.boss)

    def typed(self, *args):
        """As an operator at a terminal of their own, who types the word that is asked for."""
        word = {"operator-file": {"reset": "RESET", "accept": "ACCEPT"}.get(args[1], "YES"), "workspace": "TRUST"}.get(args[0], "YES")
        p = subprocess.run([sys.executable, TERMINAL, "--seconds", str(TIMEOUT_S), word, "--", os.path.join(self.build, "helm")] + list(args),
                           cwd=self.project, env=self.env({"TERMINALS": self.terminals, "TERM": "dumb"}), capture_output=True)
        return Done(args, p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace"))

    def hook(self, command, use, client="claude-code", when="pre-tool", session="s1"):
        doc = {"tool_name": "Bash", "tool_input": {"command": command}, "session_id": session, "cwd": self.project, "tool_use_id": use}
        if when == "post-tool":
            doc["tool_response"] = {"stdout": "x"}
        return self.call("hook", when, "--client", client, stdin=json.dumps(doc).encode(), prefix=(sys.executable, AGENT))

    def write(self, name, text):
        with open(os.path.join(self.project, name), "w", encoding="utf-8") as f:
            f.write(text)

    # ---- making it ----

    def make(self):
        for path in ("home", "project", "boss", "friend-1", "friend-2"):
            os.makedirs(os.path.join(self.root, path))
        self.must("init")
        self.first_approver(self.new_key("boss"))
        subprocess.run(["git", "init", "-q", self.project], check=True)
        for i in range(10):
            self.write("f%d.txt" % i, "file %d\n" % i)
        for i in range(30):  # a program that puts ledgers aside early leaves a sealed piece
            self.must("run", "--task-id", "early-%d" % i, "--", "true", program="helm-small")
        self.half(1)
        shutil.copytree(self.home, self.root + ".old", symlinks=True)
        self.half(2)
        self.warm()

    def new_key(self, name):
        """A key of somebody else; its public half."""
        home = os.path.join(self.root, name, ".helm")
        self.must("key", "create", env={"HOME": os.path.dirname(home), "HELM_HOME": home})
        with open(os.path.join(home, "keys", "root.pub"), encoding="utf-8") as f:
            return f.read().strip()

    def policy(self, n):
        """One that allows what the matrix does, so that profiles and guard rules decide as before."""
        path = os.path.join(self.root, "policy-%d.yaml" % n)
        with open(path, "w", encoding="utf-8") as f:
            f.write("format: helm.policy.v1\nname: matrix\nversion: \"1\"\nepoch: %d\nrules:\n  - id: runs\n    action: EXECUTE_COMMAND\n    verdict: ALLOW\n"
                    "  - id: calls\n    action: AGENT_TOOL_CALL\n    verdict: ALLOW\n" % n)
        return path

    def first_approver(self, public):
        """Only an operator at a terminal registers the first one; who may is tested elsewhere."""
        trust = os.path.join(self.helm_home, "trust")
        os.makedirs(trust, exist_ok=True)
        with open(os.path.join(trust, "approvers.json"), "w", encoding="utf-8") as f:
            json.dump({"keys": [{"public_key_hex": public}]}, f)

    def half(self, n):
        self.must("run", "--task-id", "task-%d" % n, "--", "sh", "-c", "echo %d >made.txt" % n)
        self.must("run", "--task-id", "failed-%d" % n, "--", "sh", "-c", "exit 3", code=3)
        self.must("run", "--task-id", "denied-%d" % n, "--", "rm", "-rf", "/usr/lib", code=25)
        for i in range(3):
            self.hook("echo %d >note.txt" % i, "use-%d-%d" % (n, i))
            self.hook("echo %d >note.txt" % i, "use-%d-%d" % (n, i), when="post-tool")
        asked = self.must("run", "--task-id", "asked-%d" % n, "--", "git", "reset", "--hard", "x%d" % n, code=24)
        request = asked.err.split("approval approve ")[1].split()[0]
        self.must("approval", "approve", request, "--key", self.boss)
        self.must("run", "--task-id", "again-%d" % n, "--", "git", "clean", "-fdx", code=24)  # it waits
        self.must("checkpoint", "create", "--label", "label-%d" % n)
        self.write("f%d.txt" % n, "changed\n")
        self.must("memory", "write", "--text", "the staging host number %d listens on port 844%d" % (n, n))
        self.must("memory", "write", "--layer", "long_term_memory", "--text", "run make test number %d before each commit" % n)
        self.must("freeze", "--principal", "agent:%s" % ("codex", "cursor")[n - 1])
        self.must("profile", "pause", ("risky_edit", "service_ops")[n - 1], "--reason", "matrix")
        self.must("profile", "use", "workspace_edit", *(["--destructive", "checkpoint"] if n == 2 else []), "--key", self.boss)
        self.must("key", "rotate", "--reason", "matrix", "--key", self.boss)
        os.makedirs(os.path.join(self.home, "kept-%d" % n))
        self.must("allow", "path", "--read", os.path.join(self.home, "kept-%d" % n), "--key", self.boss)
        self.must("privacy", "tokenize", "--text", "call 010-1234-567%d" % n, "--scope", "matrix")
        self.must("serve", "key", "add", "--principal", "agent:billing-%d" % n, "--key", self.boss)
        self.must("mcp", "add", "tools-%d" % n, "--key", self.boss, "--", "cat")
        self.must("policy", "use", self.policy(n), "--key", self.boss)
        self.must("key", "trust", "add", self.new_key("friend-%d" % n), "--label", "other %d" % n, "--key", self.boss)
        self.must("log", "anchor", "--to", os.path.join(self.home, "anchor-%d.json" % n))
        self.must("log", "head", "--sign")
        self.must("run", "--task-id", "last-%d" % n, "--", "true")

    def warm(self):
        """Derived files: indexes and caches."""
        for args in (["report"], ["db", "rebuild"], ["context", "staging", "host"], ["log", "check"], ["status"], ["memory", "entries"]):
            self.call(*args)

    def copy(self, to):
        """Paths are inside of state (the workspace's own), so the copy takes the place of the original: `to` is where it is kept."""
        shutil.copytree(self.root, to, symlinks=True)

    def restore(self, kept):
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(kept, self.root, symlinks=True)

    def files(self):
        """Every file of the state, relative to the home; locks and journals of databases hold nothing."""
        found = []
        for base, dirs, names in os.walk(self.helm_home):
            dirs.sort()
            for name in sorted(names):
                path = os.path.join(base, name)
                if name.endswith((".lock", "-journal")) or name in ("lock", ".gitignore") or not os.path.isfile(path):
                    continue
                found.append(os.path.relpath(path, self.home))
        return found
