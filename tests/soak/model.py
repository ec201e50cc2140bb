"""model.py: one home of a soak, and what was acknowledged there.

Every call of helm goes through Site.call(); what it acknowledged is remembered, and compare() holds that against what is recorded."""
import collections
import contextlib
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
TERMINAL = os.path.join(SOURCE, "tests", "tools", "terminal.py")
AGENT = os.path.join(SOURCE, "tests", "tools", "agent.py")
LITTLE_BYTES = 24 << 20  # with less than this free, a refusal is no surprise
TIMEOUT_S = 120
SLOW_S = 20  # longer than this is told
SMALL_SHARE = 0.3  # of the calls close files early


class Gate:
    """Agents pass together; whoever examines waits until none is inside, and lets none in."""

    def __init__(self):
        self.cond = threading.Condition()
        self.inside = 0
        self.closed = False

    @contextlib.contextmanager
    def work(self):
        with self.cond:
            while self.closed:
                self.cond.wait()
            self.inside += 1
        try:
            yield
        finally:
            with self.cond:
                self.inside -= 1
                self.cond.notify_all()

    @contextlib.contextmanager
    def alone(self):
        with self.cond:
            while self.closed:
                self.cond.wait()
            self.closed = True
            while self.inside:
                self.cond.wait()
        try:
            yield
        finally:
            with self.cond:
                self.closed = False
                self.cond.notify_all()


class Counts:
    def __init__(self, log_path):
        self.lock = threading.Lock()
        self.n = collections.Counter()
        self.by_op = collections.Counter()
        self.log = open(log_path, "a", encoding="utf-8")
        self.seen = set()
        self.late = []  # what it was, and beside what

    def add(self, what, n=1):
        with self.lock:
            self.n[what] += n

    def once(self, what, which):
        with self.lock:
            self.n[what] += (what, which) not in self.seen
            self.seen.add((what, which))

    def note(self, text):
        with self.lock:
            self.log.write("%s %s\n" % (time.strftime("%H:%M:%S"), text))
            self.log.flush()

    def found(self, kind, text, once=None):
        """One finding.  The same one is counted once, however often it is looked at."""
        with self.lock:
            if once is not None:
                if once in self.seen:
                    return
                self.seen.add(once)
            self.n[kind] += 1
            line = "%s %s: %s" % (time.strftime("%H:%M:%S"), kind, text)
            self.log.write(line + "\n")
            self.log.flush()
            if self.n[kind] <= 20:
                print("#", line[:2000], flush=True)


class Done:
    """How one call of helm ended."""

    def __init__(self, code, out, err, killed, took=0.0, fault=""):
        self.code, self.out, self.err, self.killed, self.took, self.fault = code, out, err, killed, took, fault

    def __str__(self):
        return "%sexit %s, stdout %r, stderr %r" % (self.fault and "with %s: " % self.fault, self.code, self.out[:1500], self.err[:1500])


def choose_fault(rng, is_hook):
    """One thing that goes wrong in a call: its name, what precedes the program, its environment.  helm-test fails, cuts or dies at
    the N-th system call that writes, or fails one that looks; a limit makes the kernel do it."""
    at = rng.randint(1, rng.choice((8, 40, 200)))
    kind = rng.choice(["FAIL_AT", "FAIL_AT", "FAIL_AT", "LOOK_FAIL_AT", "LOOK_FAIL_AT", "SHORT_AT", "KILL_AT", "TEAR_AT"] +
                      ([] if is_hook else ["fsize", "nofile", "as", "stack"]))
    value = str(at)
    if kind == "FAIL_AT":
        value += rng.choice((":EIO", ":ENOSPC", "+:ENOSPC", "+:EROFS", ":EMFILE", ":EDQUOT"))
    elif kind == "LOOK_FAIL_AT":  # never that something is not there: no disk says so
        value = str(at * 3) + rng.choice((":EIO", ":EMFILE", ":ENOMEM"))
    elif not kind.isupper():
        value = str(rng.choice({"fsize": (0, 4096, 1 << 16, 1 << 20), "nofile": (8, 24, 36, 48), "as": (14 << 20, 24 << 20, 48 << 20),
                                "stack": (16 << 10, 256 << 10, 1 << 20)}[kind]))
        return "%s=%s" % (kind, value), ["prlimit", "--%s=%s" % (kind, value)], {}
    return "%s=%s" % (kind, value), [], {"HELM_TEST_" + kind: value}


class Site:
    """One home, its workspace, one directory to work in, and what was acknowledged there."""

    def __init__(self, name, root, packs, terminals, build, counts, seed):
        self.name, self.root, self.terminals, self.counts = name, root, terminals, counts
        self.helm, self.twin, self.small = (os.path.join(build, n) for n in ("helm", "helm-test", "helm-small"))
        self.home, self.work = os.path.join(root, "home"), os.path.join(root, "work")
        self.packs, self.archive = packs, packs + "-archive"
        for path in (self.home, self.work, self.packs):
            os.makedirs(path)
        self.ws = os.path.join(self.home, ".helm", "workspace")
        self.state = os.path.join(self.ws, ".helm")
        self.gate = Gate()
        self.lock = threading.Lock()
        self.trouble = 0  # odd while something is damaged or full; every change is a new number
        self.mend = threading.Lock()  # held by whoever damages and repairs
        self.keys = threading.Lock()  # one rotation at a time says which key is current
        self.saves = threading.Lock()  # one prune at a time
        self.moves = threading.Lock()  # one archive at a time
        self.random = random.Random("%s/%s" % (seed, name))
        self.took = {}  # how long a kind of call usually takes
        self.calls = {}  # tool_use_id -> what was answered
        self.outcomes = {}  # tool_use_id -> exit code said
        self.runs = {}  # task_id -> the states it may be in
        self.tries = set()  # task ids of killed runs
        self.points = collections.OrderedDict()  # checkpoint -> (agent directory, contents)
        self.maybe_gone = set()  # of a prune that was killed
        self.unsure = 0  # so many prunes were
        self.pruned = set()  # of those that were not; perhaps before whoever made one heard of it
        self.kept_packs = []
        self.hurt = set()  # checkpoints of which files may be lost, since a pack was damaged
        self.read_only = 0  # not zero while the disk is; every time another number
        self.frozen = {}
        self.going = {}  # what each thread calls now
        self.rounds = 0

    # ---- calling helm ----

    def env(self, extra=None):
        env = {"PATH": os.environ["PATH"], "HOME": self.home, "LC_ALL": "C.UTF-8", "TERM": "dumb"}
        env.update(extra or {})
        return env

    def is_calm(self, since):
        with self.lock:
            return self.trouble == since and since % 2 == 0

    def call(self, kind, args, rng=None, stdin=b"", clock=None, kill=0.0, fault=0.0, prefix=(), home=None, cwd=None):
        """Runs helm.  kill: how likely it is ended on the way, at a moment within twice the usual time.  fault: how likely one of its
        system calls fails, or it gets less than it needs."""
        program, extra, wrong = self.helm, {"HOME": home or self.home}, ""
        if rng and rng.random() < fault:
            wrong, before, more = choose_fault(rng, args[0] == "hook")
            program, prefix = self.twin, list(prefix) + before
            extra.update(more)
            self.counts.add("faults")
        if clock is not None:
            program = self.twin
            extra["HELM_TEST_CLOCK_US"] = str(int(clock * 1000000))
            self.counts.add("clock_steps")
        elif not wrong and rng and rng.random() < SMALL_SHARE:  # closes files of the record when they are small
            program = self.small
        if args[0] == "hook":  # by a client of its own: whoever calls a hook is no person, and we are one below
            prefix = list(prefix) + [sys.executable, AGENT]
        started = time.monotonic()
        self.going[threading.get_ident()] = (kind, started)
        p = subprocess.Popen(list(prefix) + [program] + args, cwd=cwd or self.work, env=self.env(extra), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        timer, shot = None, []
        if rng and rng.random() < kill:
            usual = self.took.get(kind, 0.03)
            # Two in three are hit on the way; half of the others while they begin.
            delay = rng.uniform(0, usual * (1.5 if rng.random() < 0.7 else 0.3))

            def shoot():
                shot.append(1)
                with contextlib.suppress(ProcessLookupError):
                    if AGENT in prefix:
                        os.killpg(p.pid, signal.SIGKILL)
                    else:
                        p.send_signal(signal.SIGKILL)
            timer = threading.Timer(delay, shoot)
            timer.start()
        try:
            out, err = p.communicate(stdin, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, signal.SIGABRT)
            out, err = p.communicate()
            self.counts.found("hangs", "%s: %s (%s): no end within %d s" % (self.name, args, wrong, TIMEOUT_S))
        if timer:
            timer.cancel()
        took = time.monotonic() - started
        if took > SLOW_S:
            self.counts.add("slow")
            self.counts.note("%s: %s took %.1f s (%s), load %.1f" % (self.name, args, took, wrong, os.getloadavg()[0]))
        killed = p.returncode in (-signal.SIGKILL, 256 - signal.SIGKILL) and (bool(shot) or wrong.startswith(("KILL", "TEAR")))
        if killed:
            self.counts.add("kills")
        else:
            self.took[kind] = 0.8 * self.took.get(kind, took) + 0.2 * took
        self.counts.add("ops")
        with self.counts.lock:
            self.counts.by_op[kind] += 1
        done = Done(p.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), killed, took, wrong)
        is_silent = not out and not err and p.returncode not in (0, 7) and not killed and "+" not in wrong  # which fails for the sentence, too
        if wrong and (is_silent or "bug at" in done.err):
            self.counts.found("wrong_states", "%s: %s ends without a sentence: %s" % (self.name, args, done))
        if p.returncode in (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGABRT, -signal.SIGILL, -signal.SIGFPE):
            self.counts.found("false_alarms", "%s: %s crashed: %s" % (self.name, args, done))
        return done

    def person(self, words, args):
        """A person at a terminal of their own; what it showed is `out`."""
        p = subprocess.run([sys.executable, TERMINAL, "--seconds", str(TIMEOUT_S)] + words + ["--", self.helm] + args, cwd=self.work,
                           env=self.env({"TERMINALS": self.terminals}), capture_output=True, timeout=2 * TIMEOUT_S)
        self.counts.add("ops")
        self.counts.add("typed")
        return Done(p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace"), False)

    def refused(self, since, what, done):
        """Something that should have worked did not."""
        if done.killed or done.fault:
            return
        room = os.statvfs(self.root)
        if "could not be decided in time" in done.out and os.getloadavg()[0] > 2 * (os.cpu_count() or 1):
            self.counts.add("late")  # others use this machine as well
            text = "%s: %s, after %.1f s, load %.1f, beside %s: %s" % (
                self.name, what, done.took, os.getloadavg()[0],
                sorted("%s for %.1f s" % (k, time.monotonic() - t) for k, t in list(self.going.values())), done)
            self.counts.late.append(text)
            self.counts.note("late: " + text)
        elif self.is_calm(since) and room.f_bavail * room.f_frsize > LITTLE_BYTES:
            self.counts.found("false_alarms", "%s: %s: %s" % (self.name, what, done))
        else:
            self.counts.add("refused_in_trouble")

    def begin(self):
        done = self.call("init", ["init"])
        if done.code:
            sys.exit("soak: helm init failed: %s" % done)
        second = os.path.join(self.root, "boss")
        os.makedirs(second)
        subprocess.run([self.helm, "key", "create"], env=dict(self.env(), HOME=second), check=True, capture_output=True)
        self.boss = os.path.join(second, ".helm", "keys", "root")
        done = self.person(["TRUST"], ["approval", "trust", "add", self.boss + ".pub", "--label", "boss"])
        if done.code:
            sys.exit("soak: an approver could not be registered: %s" % done)
        done = self.call("use", ["profile", "use", "workspace_edit", "--destructive", "checkpoint", "--key", self.boss + ".key"])
        if done.code:
            sys.exit("soak: the profile could not be chosen: %s" % done)

        self.usual = self.doctor()  # what this machine lacks

    def doctor(self):
        done = self.call("doctor", ["doctor", "--skip-discovery", "--json"])
        try:
            return {(c["name"], c.get("detail", "") if c["name"] not in ("disk",) else "") for c in json.loads(done.out)["checks"] if not c["ok"]}
        except (ValueError, KeyError) as e:
            self.counts.found("false_alarms", "%s: doctor: %s: %s" % (self.name, e, done))
            return set()

    # ---- what is recorded ----

    def rows(self, name):
        """All rows of a ledger, read from its files and not through helm: what was put aside first, packed or not, here or archived."""
        stem, files = name[:-len(".jsonl")], {}
        for folder in [os.path.join(self.state, w) for w in ("", "segments", "segments/waiting")] + [self.archive, self.archive + "/segments"]:
            for one in os.listdir(folder) if os.path.isdir(folder) else []:
                if one.startswith(stem + "-") and one.endswith((".jsonl", ".jsonl.zst")):
                    files.setdefault(one.split(".")[0], os.path.join(folder, one))  # of two copies the one in the state counts
        found = []
        for one in sorted(files):
            found += self.lines(files[one])
        return found + self.lines(os.path.join(self.state, name))

    def lines_of(self, paths):
        return [row for path in paths for row in self.lines(path)]

    def lines(self, path):
        found = []
        if not os.path.exists(path):
            return found
        if path.endswith(".zst"):
            text = subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout
        else:
            with open(path, "rb") as f:
                text = f.read()
        for line in text.split(b"\n"):
            try:
                if line:
                    found.append(json.loads(line.decode("utf-8", "replace")))
            except ValueError:
                self.counts.add("torn_lines")
        return found

    # ---- the comparison; nobody works meanwhile ----

    def compare(self, is_last):
        c, name = self.counts, self.name
        self.rounds += 1
        settle = "settle-%s-%d" % (name, self.rounds)
        done = self.call("run", ["run", "--task-id", settle, "--", "true"])
        if done.code:
            c.found("false_alarms", "%s: nothing goes on: %s" % (name, done))
        else:
            self.runs[settle] = {"completed"}
        done = self.call("check", ["log", "check", "--all"])
        if done.code:
            c.found("false_alarms", "%s: log check: %s" % (name, done))
        self.compare_chain()
        self.compare_runs()
        self.compare_freezes()
        self.compare_points(is_last)
        wrong = self.doctor()
        if wrong - self.usual:
            c.found("false_alarms", "%s: doctor calls wrong: %s" % (name, wrong - self.usual))
        for pack in self.kept_packs:
            self.verify_pack(pack)

    def compare_chain(self):
        c, name = self.counts, self.name
        receipts = self.rows("receipts.jsonl")
        decisions = collections.defaultdict(list)
        for r in receipts:
            decisions[r.get("decision_id")].append(r)
        rows = self.rows("tool-calls.jsonl")
        first = {r.get("tool_use_id"): r for r in rows if "verdict" in r}
        last = {r.get("tool_use_id"): r for r in rows if "outcome" in r}
        # What a repair took out with a damaged one, because they were signed together: named in its receipt, and kept beside the file.
        aside = {r.get("tool_use_id") for r in self.lines_of(glob.glob(os.path.join(self.state, "tool-calls*.damaged-*")))}
        for use, said in self.calls.items():
            row = first.get(use)
            if not row and use in aside:
                c.once("kept_aside", use)
            elif not row:
                c.found("lost", "%s: the row of call %s, answered %s" % (name, use, said), ("call", name, use))
            elif said != "quiet" and not decisions.get(row.get("decision_id")):
                c.found("lost", "%s: the receipt of call %s, answered %s" % (name, use, said), ("call", name, use))
        for use in self.outcomes:
            row, before = last.get(use), first.get(use)
            if not row and use in aside:
                c.once("kept_aside", use)
            elif not row:
                c.found("lost", "%s: the outcome row of call %s" % (name, use), ("end", name, use))
            elif before and before.get("decision_id") and not any(
                    r.get("type") == "outcome" or str(r.get("receipt_id", "")).split(".")[0].endswith("_outcome")
                    for r in decisions.get(before["decision_id"], [])):
                c.found("lost", "%s: the outcome receipt of call %s" % (name, use), ("end", name, use))
        self.decisions = decisions

    def compare_runs(self):
        c, name = self.counts, self.name
        history = collections.defaultdict(list)
        for row in self.rows("task-ledger.jsonl"):
            history[row.get("task_id")].append(row)
        for task, allowed in self.runs.items():
            states = [r.get("status") for r in history.get(task, [])]
            if not states:
                c.found("lost", "%s: the rows of run %s" % (name, task), ("run", name, task))
                continue
            if states[-1] not in allowed:
                c.found("wrong_states", "%s: run %s is called %s: %s" % (name, task, sorted(allowed), states), ("run", name, task))
            elif "failed" in states and "failed" not in allowed:
                c.found("wrong_states", "%s: run %s was called failed in between: %s" % (name, task, states), ("run", name, task))
            decision = history[task][-1].get("decision_id")
            ends = self.decisions.get(decision, [])
            want = 2 if allowed <= {"completed", "failed"} else 1
            if len(ends) < want:
                c.found("lost", "%s: %d of %d receipts of run %s" % (name, want - len(ends), want, task), ("receipt", name, task))
        for task in self.tries:
            rows = history.get(task)
            if rows and rows[-1].get("status") in ("running", "queued"):
                c.found("wrong_states", "%s: the killed run %s is called %s" % (name, task, rows[-1]["status"]), ("run", name, task))

    def compare_freezes(self):
        for who, is_frozen in self.frozen.items():
            done = self.call("status", ["freeze", "status", "--json"])
            if done.code == 0 and is_frozen is not None and (who in done.out) != is_frozen:
                self.counts.found("wrong_states", "%s: %s is %sfrozen: %s" % (self.name, who, "" if is_frozen else "not ", done))

    def compare_points(self, is_last):
        c, name = self.counts, self.name
        done = self.call("list", ["checkpoint", "list", "--json", "--limit", "0"])
        try:
            listed = json.loads(done.out)
        except ValueError:
            listed = None
        if done.code or listed is None:
            c.found("false_alarms", "%s: checkpoint list: %s" % (name, done))
            return
        if isinstance(listed, dict):
            listed = listed.get("checkpoints", [])
        have = {p.get("checkpoint_id") for p in listed}
        gone = [p for p in self.points if p not in have]
        for point in gone:
            if point not in self.maybe_gone:
                c.found("lost", "%s: checkpoint %s" % (name, point), ("point", name, point))
            del self.points[point]
        todo = list(self.points)
        if not is_last and len(todo) > 12:
            todo = self.random.sample(todo, 12)
        for point in todo:
            where, contents = self.points[point]
            before = read_tree(os.path.join(self.work, where))
            if point in self.hurt:
                write_tree(os.path.join(self.work, where), {})
            done = self.call("restore", ["checkpoint", "restore", point, "--yes", "--delete-new", "--no-backup", "--only", where])
            got = read_tree(os.path.join(self.work, where))
            if point in self.hurt and done.code == 1 and not self.untold(done, where, got, contents):
                c.add("partly_back")
            elif done.code or got != contents:
                c.found("lost", "%s: checkpoint %s does not restore: %s; %s" % (name, point, done, differ(got, contents)),
                        ("point", name, point))
            write_tree(os.path.join(self.work, where), before)

    @staticmethod
    def untold(done, where, got, contents):
        """After damage of a pack: files that are not back and not named, or that are back otherwise."""
        return [n for n in contents if n not in got and os.path.join(where, n) not in done.out + done.err] + \
            [n for n in got if got[n] != contents.get(n)]

    def verify_pack(self, pack):
        """Sealed by the key that was in force then: all there ever were are given."""
        keys = []
        with open(os.path.join(self.home, ".helm", "keys", "history.jsonl"), encoding="utf-8") as f:
            for line in f:
                with contextlib.suppress(ValueError):
                    keys += ["--key", json.loads(line)["key"]]
        done = self.call("verify", ["evidence", "verify", pack] + keys)
        if done.code:
            self.counts.found("lost", "%s: pack %s does not verify: %s" % (self.name, pack, done), ("pack", self.name, pack))


def read_tree(root):
    found = {}
    for where, _, names in os.walk(root):
        for n in names:
            path = os.path.join(where, n)
            with open(path, "rb") as f:
                found[os.path.relpath(path, root)] = f.read()
    return found


def write_tree(root, contents):
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    for name, data in contents.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)


def differ(got, want):
    missing, extra = sorted(set(want) - set(got)), sorted(set(got) - set(want))
    other = sorted(n for n in got if n in want and got[n] != want[n])
    return "missing %s, too many %s, different %s" % (missing[:5], extra[:5], other[:5])
