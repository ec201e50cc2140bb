#!/usr/bin/env python3
"""matrix.py [--build DIR] [--workers N] [--only TEXT] [--sample N] [--seed N] [--verbose]: every kind of state file, damaged in every way,
under every command.

A case is one file of a home that has one of everything (place.py), damaged in one way: a byte flipped at the beginning, in the middle or
near the end, cut, emptied, removed, two lines or halves swapped, replaced by an old copy, or (what is bound) a directory in its place.  Then every command is called.  What must
hold, whatever was damaged:

  ends       no command dies by a signal, hangs, or speaks of a bug; one that fails says why
  agrees     all views give the same verdict on the record: log check, doctor, report, status, status --brief, evidence export and verify
  found      damage to what was recorded is found
  closed     what was frozen, paused or denied before is so still
  repaired   the commands that the messages name, and nothing else, make the record sound and doctor as green as it was before;
             repairing once more changes nothing; a run is recorded then

Prints one line of TAP for each kind of file."""
import argparse
import collections
import fnmatch
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading

from place import TERMINAL, Home

HASH = re.compile(r"[0-9a-f]{64}|[0-9a-f]{32}")
WAYS = ("flip-start", "flip-middle", "flip-end", "cut", "empty", "remove", "swap", "old", "directory")

# Looked at in this order; the first pattern counts.  `bound`: what receipts or signatures speak of, so that damage must be found.
KINDS = [
    ("*/receipts.jsonl", "bound"), ("*/log/heads.jsonl", "bound"), ("*/task-ledger.jsonl", "bound"), ("*/command-log.jsonl", "bound"),
    ("*/tool-calls.jsonl", "bound"), ("*/segments/*", "bound"), (".helm/keys/history.jsonl", "bound"),
    ("*/task-bundles/task-1/*", "shown"), ("*/task-bundles/*", None), ("*/state-snapshots/*early*", None), ("*/state-snapshots/*task-1*", "shown"),
    ("*/state-snapshots/*", None), ("*", "other"),
]
# Commands that only look.  The first six give a verdict on the record.
LOOKS = [
    ["log", "check", "--json"], ["doctor", "--json"], ["report", "--json"], ["status", "--json"], ["status", "--brief"],
    ["log", "head"], ["log", "prove", "0"], ["receipts", "list"], ["task", "list"], ["task", "show", "task-1"], ["task", "doctor"],
    ["task", "bundle", "task-1"], ["approval", "list"], ["approval", "trust", "list"], ["checkpoint", "list"], ["checkpoint", "check"],
    ["checkpoint", "prune"], ["key", "show"], ["key", "history"], ["key", "trust", "list"], ["memory", "entries"], ["memory", "verify"],
    ["context", "staging", "host"], ["db", "verify"], ["freeze", "status"], ["profile", "paused"], ["profile", "show", "workspace_edit"],
    ["workspace", "show"], ["policy", "show"], ["mcp", "list"], ["serve", "key", "list"], ["guard", "check", "--", "make"], ["agent", "list"],
    ["egress", "list"], ["allow", "list"], ["failures", "list"], ["skill", "list"], ["loops", "runs"], ["report"], ["status"], ["doctor"],
]
# What a message may name to put things right.  Each is an operator's, or does no harm.
NAMED = re.compile(r"helm ((?:log repair|checkpoint repair|checkpoint prune|key repair|operator-file reset|operator-file accept|db rebuild|memory repair|memory rebuild|task recover|task doctor"
                   r"|workspace trust|workspace repair|init|policy use|workspace reconcile|reconcile)\b[^\n;,.'\"`)]*)")
FLAGS = {"log repair": ["--yes"], "key repair": ["--yes"], "checkpoint repair": ["--yes"], "checkpoint prune": ["--apply"], "task doctor": ["--fix"]}
NO_REPAIR = {  # where nothing can be put right by a command, and why
    "*/keys/root.key": "a secret that is lost is lost: operations.md, 'A lost key'",
    "*/keys/vault.key": "a secret that is lost is lost",
}
NOT_SEEN = [  # what nobody could tell from the files alone, and why
    ("*/command-log.jsonl", ("swap",), "entries of two tasks: receipts bind the order within one"),
    ("*/log/heads.jsonl", ("swap",), "two signed heads: each stands for itself, and they are read in the order of their sizes"),
]
OPEN = [  # known, and told; each is a place to work on
]


def kind_of(name):
    for pattern, what in KINDS:
        if fnmatch.fnmatch(name, pattern):
            return what
    return None


def damage(path, way, old):
    """Does it; False when this way makes no difference here."""
    if way == "directory":
        os.unlink(path)
        os.mkdir(path)
        return True
    with open(path, "rb") as f:
        was = f.read()
    text = bytearray(was)
    if way.startswith("flip"):
        if not text:
            return False
        at = {"flip-start": min(len(text) - 1, 12), "flip-middle": len(text) // 2, "flip-end": max(0, len(text) - 30)}[way]
        while at < len(text) and not chr(text[at]).isalnum():
            at += 1
        if at == len(text):
            at = len(text) // 2
        text[at] = ord("7") if text[at] != ord("7") else ord("3")
    elif way == "cut":
        text = text[:len(text) * 2 // 3]
    elif way == "empty":
        text = bytearray()
    elif way == "swap":
        lines = was.splitlines(keepends=True)
        if len(lines) > 1 and lines[-1] != lines[-2]:
            lines[-1], lines[-2] = lines[-2], lines[-1]
            text = bytearray(b"".join(lines))
        else:
            half = len(text) // 2
            text = text[half:] + text[:half]
    elif way == "old":
        if not os.path.isfile(old):
            return False
        with open(old, "rb") as f:
            text = bytearray(f.read())
    if way == "remove":
        os.unlink(path)
        return True
    if bytes(text) == was:
        return False
    with open(path, "r+b") as f:  # as a disk does it: the file stays the same one
        f.write(text)
        f.truncate(len(text))
    return True


def document(done):
    try:
        return json.loads(done.out)
    except ValueError:
        return None


def tree_digest(top):
    """Of everything that a repair may not change when there is nothing to repair."""
    h = hashlib.sha256()
    for base, dirs, names in sorted(os.walk(top)):
        dirs.sort()
        for name in sorted(names):
            path = os.path.join(base, name)
            if name.endswith((".lock", "-journal", ".sqlite3", ".cache")) or not os.path.isfile(path) or os.path.islink(path):
                continue
            if name in ("verified.json", "verdict.json", "callers.jsonl", "edge", "boot"):
                continue
            with open(path, "rb") as f:
                h.update(("%s %s\n" % (os.path.relpath(path, top), hashlib.sha256(f.read()).hexdigest())).encode())
    return h.hexdigest()


class Case:
    def __init__(self, home, name, way):
        self.h, self.name, self.way = home, name, way
        self.wrong = []
        self.known = set()
        self.said = []

    def fail(self, what, text):
        for pattern, kind, why in OPEN:
            if what == kind and fnmatch.fnmatch("/" + self.name, pattern):
                self.known.add(why)
                return
        self.wrong.append((what, text))

    def call(self, *args, **how):
        done = self.h.call(*args, **how)
        text = done.out + done.err
        if done.code is None or done.code < 0 or done.code >= 128 or "bug at" in text:
            self.fail("ends", str(done))
        elif done.code and not text.strip():
            self.fail("ends", "says nothing: %s" % done)
        self.said.append(text)
        return done

    # ---- the verdict, as each view gives it ----

    def verdicts(self):
        """{view: True (sound), False, or None (it did not say)}."""
        said = {}
        check = self.call("log", "check", "--json")
        said["log check"] = check.code == 0
        doctor = self.call("doctor", "--json")
        said["doctor"] = not self.new_failures(doctor)
        report = document(self.call("report", "--json"))
        record = (report or {}).get("record") or {}
        said["report"] = record.get("sound") if report is not None else False
        status = document(self.call("status", "--json"))
        said["status"] = (status.get("record") or {}).get("sound") if isinstance(status, dict) else False
        brief = document(self.call("status", "--brief", "--json"))
        said["status --brief"] = (brief.get("record") or {}).get("sound") if isinstance(brief, dict) else False
        pack = os.path.join(self.h.root, "pack.tar")
        export = self.call("evidence", "export", "--all", "--out", pack)
        said["evidence"] = export.code == 0
        if export.code == 0:
            key = self.call("key", "export").out.strip()
            said["evidence"] = self.call("evidence", "verify", pack, "--key", key).code == 0
            os.unlink(pack)
        return said

    def new_failures(self, done):
        doc = document(done)
        if doc is None:
            return ["no document: %s" % done]
        return ["%s: %s" % (c.get("name"), c.get("detail")) for c in doc.get("checks", []) if not c.get("ok") and c.get("name") not in self.h.red]

    def agree(self, when):
        said = self.verdicts()
        record = {k: v for k, v in said.items() if k != "doctor"}
        if False in record.values() and True in record.values():
            self.fail("agrees", "%s: %s" % (when, said))
        if not said["log check"] and said["doctor"]:
            self.fail("agrees", "%s: doctor is green: %s" % (when, said))
        return said

    # ---- what must stay closed ----

    def closed(self, when):
        for client in ("codex", "cursor"):
            done = self.h.hook("touch x", "closed", client=client)
            if done.code == 0 and "deny" not in done.out and "block" not in done.out:
                self.fail("closed", "%s: %s is frozen, and was allowed: %s" % (when, client, done))
        for profile in ("risky_edit", "service_ops"):
            if self.h.call("profile", "run", profile, "--", "true").code == 0:
                self.fail("closed", "%s: %s is paused, and a run was started" % (when, profile))
        if self.h.call("run", "--", "rm", "-rf", "/usr/lib").code == 0:
            self.fail("closed", "%s: rm -rf /usr/lib ran" % when)

    # ---- repairs ----

    def repairs(self):
        named = []
        for text in self.said:
            for m in NAMED.finditer(text):
                args = m.group(1).split()
                noun = " ".join(args[:2])
                for flag in FLAGS.get(noun, []):
                    if flag not in args:
                        args.append(flag)
                args = [a for a in args if not a.isupper() and not a.startswith("<") and a != "--path"]  # it is the default workspace
                if args not in named:
                    named.append(args)
        return named

    def repair(self):
        self.said = []
        for _ in range(4):  # one repair may uncover the next
            verdict = self.call("log", "check")
            doctor = self.call("doctor", "--json")
            if verdict.code == 0 and not self.new_failures(doctor):
                break
            self.call("checkpoint", "list")
            self.call("run", "--", "true")
            named = self.repairs()
            self.said = []
            for args in named:
                done = self.h.call(*args)
                if done.code:
                    done = self.h.operator(*args)
                if done.code:
                    done = self.h.typed(*args)
                self.said.append(done.out + done.err)  # one that cannot help names the one that does
                if done.code is None or done.code < 0 or done.code >= 128:
                    self.fail("ends", str(done))
        for pattern, _ in NO_REPAIR.items():
            if fnmatch.fnmatch("/" + self.name, pattern):
                return
        verdict = self.call("log", "check")
        red = self.new_failures(self.call("doctor", "--json"))
        if verdict.code or red:
            self.fail("repaired", "not after what was named: %s\n%s" % (red, verdict))
            return
        before = tree_digest(self.h.helm_home)
        self.h.call("log", "repair", "--yes")
        if tree_digest(self.h.helm_home) != before:
            self.fail("repaired", "log repair of a sound record changes something")
        done = self.call("run", "--task-id", "after", "--", "true")
        if done.code:
            self.fail("repaired", "a run is not recorded afterwards: %s" % done)
        self.agree("after the repair")

    def run(self):
        path = os.path.join(self.h.home, self.name)
        if self.way == "directory" and kind_of(self.name) != "bound":
            return False
        if not damage(path, self.way, os.path.join(self.h.root + ".old", self.name)):
            return False
        said = self.agree("damaged")
        for args in LOOKS:
            self.call(*args)
        self.closed("damaged")
        if kind_of(self.name) == "bound" and said["log check"] and not any(
                fnmatch.fnmatch(self.name, pattern) and self.way in ways for pattern, ways, _ in NOT_SEEN):
            self.fail("found", "log check says sound: %s" % said)
        self.repair()
        self.closed("repaired")
        return True


class Worker(threading.Thread):
    def __init__(self, root, build, queue, results, lock, terminals):
        super().__init__(daemon=True)
        self.terminals = terminals
        self.root, self.build, self.queue, self.results, self.lock = root, build, queue, results, lock
        self.error = None

    def run(self):
        try:
            self.work()
        except BaseException as e:  # noqa: B902: a mistake of this program: said, and the matrix fails
            import traceback
            self.error = "%s %s" % (traceback.format_exc(), e)

    def work(self):
        home = Home(os.path.join(self.root, "h"), self.build, self.terminals)
        home.make()
        home.red = {c["name"] for c in json.loads(home.call("doctor", "--json").out)["checks"] if not c["ok"]}
        kept = os.path.join(self.root, "kept")
        home.copy(kept)
        while True:
            with self.lock:
                if not self.queue:
                    return
                name, way = self.queue.pop(0)
            found = [n for n in home.files() if HASH.sub("#", n) == name]
            if not found:  # made by another worker at another second
                found = [n for n in home.files() if fnmatch.fnmatch(HASH.sub("#", n), re.sub(r"\d{8}T\d{6}Z", "*", name))]
            if not found:
                continue
            case = Case(home, found[0], way)
            made = case.run()
            with self.lock:
                if made:
                    self.results.append((name, way, case.wrong, case.known))
            home.restore(kept)


def names_of(root, build):
    """The kinds of files of such a home, each once."""
    home = Home(os.path.join(root, "first"), build)
    home.make()
    seen = []
    for name in home.files():
        if kind_of(name) is None:
            continue
        short = HASH.sub("#", name)
        if short not in seen:
            seen.append(short)
    shutil.rmtree(home.root)
    shutil.rmtree(home.root + ".old")
    return seen


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--workers", type=int, default=2)
    ap.add_argument("--only", default="")
    ap.add_argument("--way", default="")
    ap.add_argument("--sample", type=int, default=0, help="so many ways for each file, by the seed; 0: all")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--verbose", action="store_true")
    args = ap.parse_args()
    root = tempfile.mkdtemp(prefix="helm-damage.")
    build = os.path.abspath(args.build)
    pick = random.Random(args.seed)
    terminals = os.path.join(root, "terminals")
    os.makedirs(terminals)
    subprocess.run([sys.executable, TERMINAL, "--serve", terminals], check=True)  # before there is any agent
    try:
        names = [n for n in names_of(root, build) if re.search(args.only, n)]
        queue = []
        for name in names:
            ways = [w for w in WAYS if args.way in w]
            queue += [(name, w) for w in (pick.sample(ways, args.sample) if args.sample else ways)]
        results, lock = [], threading.Lock()
        workers = [Worker(os.path.join(root, "w%d" % i), build, queue, results, lock, terminals) for i in range(args.workers)]
        for w in workers:
            os.makedirs(w.root)
            w.start()
        for w in workers:
            w.join()
        for w in workers:
            if w.error:
                print("Bail out! %s" % w.error)
                return 1
    finally:
        shutil.rmtree(root, ignore_errors=True)
    by_name, count, bad = collections.OrderedDict((n, []) for n in names), 0, 0
    known = collections.Counter()
    for name, way, wrong, why in results:
        by_name[name].append((way, wrong))
        known.update(why)
    kinds = collections.Counter()
    for i, (name, ways) in enumerate(by_name.items(), 1):
        failed = [(way, wrong) for way, wrong in ways if wrong]
        count += len(ways)
        bad += len(failed)
        print("%s %d - %s, damaged in %d ways" % ("not ok" if failed else "ok", i, name, len(ways)))
        for way, wrong in failed:
            for what, text in wrong:
                kinds[what] += 1
                text = text.strip()
                print("#   %s: %s: %s" % (way, what, (text if args.verbose else text[:700]).replace("\n", "\n#     ")))
    print("1..%d" % len(by_name))
    for why, n in known.items():
        print("# open, %d cases: %s" % (n, why))
    print("# %d cases, %d with findings: %s" % (count, bad, dict(kinds)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
