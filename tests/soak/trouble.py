"""trouble.py: what goes wrong in the homes of a soak: files are damaged and repaired, disks are full or read-only, homes are of an earlier build.

Each damage is one that a bad disk makes, or somebody who tidies up.  What a repair cannot bring back it names, and the model expects
no more, and no less."""
import contextlib
import glob
import json
import os
import random
import shutil
import subprocess
import tarfile
import threading
import time

from model import LITTLE_BYTES, SOURCE, read_tree

STATES = sorted(glob.glob(os.path.join(SOURCE, "tests", "cases", "states", "*.tar.gz")))
DERIVED = ("log/leaves", "log/edge", "ops-index.sqlite3", "log/heads.jsonl")
ROWS = ("task-ledger.jsonl", "command-log.jsonl", "tool-calls.jsonl", "receipts.jsonl")


class Trouble:
    """The part of an agent that damages and repairs."""

    @contextlib.contextmanager
    def trouble(self, *locks):
        """Alone with those locks; what others are refused meanwhile is no finding.  Gives False when there is trouble already."""
        s = self.s
        with contextlib.ExitStack() as stack:
            for lock in (s.mend,) + locks:
                stack.enter_context(lock)
            with s.lock:
                is_free = s.trouble % 2 == 0
                s.trouble += is_free
            try:
                yield is_free
            finally:
                with s.lock:
                    s.trouble += is_free

    def insist(self, kind, args):
        """Until it is not disturbed any more."""
        for chance in (0.25, 0.25, 0.25, 0):
            done = self.call(kind, args, kill=chance)
            if not done.killed and not done.fault:
                break
        return done

    # ---- the record ----

    def damage(self):
        """Changes a file, as a bad disk would, beside everybody who works; then repairs.  Derived files come back; of the record, an entry
        of a run that nobody asks for is lost, and the repair puts that on record."""
        s = self.s
        with self.trouble() as is_free:
            what = self.r.choice(DERIVED + ROWS)
            path = os.path.join(s.state, what)
            if not is_free or not (self.spoil_entry(what) if what in ROWS else self.spoil_derived(path)):
                return
            s.counts.add("damages")
            s.counts.note("%s: %s is damaged" % (s.name, what))
            repair = self.insist("repair", ["log", "repair", "--yes"])
            if what.endswith("sqlite3"):
                self.insist("rebuild", ["db", "rebuild"])
            done = self.call("check", ["log", "check", "--all"], kill=0)
            if done.code or "leaves are not those" in done.out:
                s.counts.found("false_alarms", "%s: %s was changed, and the repair (%s) did not help: %s" % (s.name, what, repair, done))
                return
            again = self.call("repair", ["log", "repair", "--yes"], kill=0)
            if again.code == 0 and not self.is_full():
                s.counts.found("wrong_states", "%s: %s was repaired (%s), and then again: %s" % (s.name, what, repair, again))
            s.counts.add("repairs")

    def is_full(self):
        room = os.statvfs(self.s.root)
        return room.f_bavail * room.f_frsize < LITTLE_BYTES

    def spoil_entry(self, name):
        """One letter of the newest entry of a run, or a call, of its own."""
        task, path = self.new("spoilt"), os.path.join(self.s.state, name)
        if name == "tool-calls.jsonl":
            done = self.call("hook", ["hook", "pre-tool", "--client", "claude-code"], kill=0,
                             stdin=self.payload(task, "echo a > %s/note.txt" % self.dir))
        else:
            done = self.call("run", ["run", "--task-id", task, "--", "true"], kill=0)
        if done.code or done.out:
            return False
        try:
            with open(path, "r+b") as f:
                text = f.read()
                at = text.rfind(task.encode())
                if at < 0:  # the ledger was put aside since, or a receipt does not name it
                    return False
                f.seek(at)
                f.write(b"S")
            return True
        except OSError:
            return False

    def spoil_derived(self, path):
        """Another byte, a shorter file, an empty one, or none."""
        how = self.r.choice(["byte", "byte", "cut", "empty", "gone"])
        if how == "byte":
            return self.spoil(path)
        try:
            if how == "gone":
                os.unlink(path)
            else:
                size = os.path.getsize(path)
                os.truncate(path, self.r.randrange(size) if how == "cut" and size else 0)
            return True
        except OSError:
            return False

    def spoil(self, path):
        try:
            with open(path, "r+b") as f:
                size = os.fstat(f.fileno()).st_size
                if not size:
                    return False
                at = self.r.randrange(size)
                f.seek(at)
                old = f.read(1)
                f.seek(at)
                f.write(b"0" if old != b"0" else b"1")
            return True
        except OSError:
            return False

    # ---- checkpoints ----

    def stores(self, what):
        return sorted(glob.glob(os.path.join(self.s.home, ".helm", "trees", "*", "checkpoints", what)))

    def listed(self):
        """Those that must be listed and are not; and what was said."""
        with self.s.lock:  # before the call: one that is made beside it need not be in its answer
            known = list(self.s.points)
        done = self.call("list", ["checkpoint", "list", "--json", "--limit", "0"], kill=0)
        return done, [p for p in known if p not in self.s.maybe_gone and p not in done.out]

    def damage_points(self):
        """The list of checkpoints is damaged; a repair makes it again from what was saved."""
        s = self.s
        with self.trouble(s.saves) as is_free:
            found = self.stores("index.json")
            if not is_free or not found or not self.spoil_derived(self.r.choice(found)):
                return
            s.counts.add("damages")
            done = self.insist("repair", ["checkpoint", "repair", "--yes"])
            listed, gone = self.listed()
            if (done.code and not s.hurt) or listed.code or gone:
                s.counts.found("lost", "%s: the list of checkpoints was damaged, and the repair (%s) did not bring back %s: %s" % (
                    s.name, done, gone, listed))
            s.counts.add("repairs")

    def damage_packs(self):
        """One byte of what was saved: the check names it, the repair takes it out, and everything else comes back."""
        s = self.s
        with self.trouble(s.saves) as is_free:
            found = self.stores("objects/pack-*.pack")
            if not is_free or not found:
                return
            pack = self.r.choice(found)
            if not self.spoil(pack):
                return
            with s.lock:
                s.hurt |= set(s.points)
            s.counts.add("damages")
            s.counts.add("packs")
            seen = self.call("check", ["checkpoint", "check", "--read-data"], kill=0)
            if seen.code == 0 and os.path.exists(pack):  # a checkpoint beside us may have replaced it
                s.counts.found("wrong_states", "%s: %s was changed, and the check does not see it: %s" % (s.name, pack, seen))
            done = self.insist("repair", ["checkpoint", "repair", "--yes"])
            listed, gone = self.listed()
            for point in [p for p in gone if p in done.out]:  # its list of files is lost, and that was said
                s.points.pop(point, None)
                gone.remove(point)
            left = self.call("check", ["checkpoint", "check", "--read-data"], kill=0)
            if listed.code or gone or done.code not in (0, 1) or "helm checkpoint repair" in left.out + left.err:
                s.counts.found("lost", "%s: %s was changed; the repair (%s) left %s, without %s: %s" % (
                    s.name, pack, done, listed, gone, left))
            s.counts.add("repairs")

    # ---- keys ----

    def damage_keys(self):
        """The history of keys, its end, or the public half: they come back by themselves or by a repair, and nothing else is trusted."""
        s = self.s
        with self.trouble(s.keys) as is_free:
            keys = os.path.join(s.home, ".helm", "keys")
            path = os.path.join(keys, self.r.choice(["history.jsonl", "history.jsonl", "history.end", "root.pub"]))
            if not is_free:
                return
            kept = {}
            for n in ("history.jsonl", "history.end", "root.pub"):
                with contextlib.suppress(OSError):
                    with open(os.path.join(keys, n), "rb") as f:
                        kept[n] = f.read()
            if not self.spoil_derived(path):
                return
            s.counts.add("damages")
            s.counts.add("key_damages")
            args = ["key", "repair", "--yes"]
            done = self.insist("keyrepair", args + ["--key", s.boss + ".key"])
            check = self.call("check", ["log", "check", "--all"], kill=0)
            run = self.call("run", ["run", "--task-id", self.new("run"), "--", "true"], kill=0)
            with contextlib.suppress(OSError):
                with open(os.path.join(keys, "history.jsonl"), "rb") as f:
                    now = f.read()
                if not self.is_full() and (check.code or run.code or now != kept.get("history.jsonl")):
                    s.counts.found("lost", "%s: %s was changed; the repair (%s): check %s, run %s, the history is %sthe same" % (
                        s.name, path, done, check, run, "" if now == kept.get("history.jsonl") else "not "))
            s.counts.add("repairs")

    # ---- a home of an earlier build ----

    def upgrade(self):
        """Opened, worked in and brought up to date by the program of today, with kills and faults on the way."""
        s, since = self.s, self.since()
        root = os.path.join(s.root, self.new("old"))
        try:
            with tarfile.open(self.r.choice(STATES)) as t:
                t.extractall(root, filter="tar")
        except OSError:
            shutil.rmtree(root, ignore_errors=True)
            return
        how = {"home": os.path.join(root, "operator"), "cwd": os.path.join(root, "operator", "project")}
        done = {}

        def step(name, args, want=0, **more):
            done[name] = self.call("old", args, **how, **more)
            if not done[name].killed and done[name].code != want:
                s.refused(since, "a home of an earlier build: %s ends otherwise" % args, done[name])
            return done[name].code == want

        steps = [("status", ["status", "--brief"]), ("run", ["run", "--task-id", "new", "--", "true"]), ("reconcile", ["reconcile", "--apply"]),
                 ("save", ["checkpoint", "create", "--label", "today"]), ("list", ["task", "list"])]
        self.r.shuffle(steps)
        is_run = False
        for name, args in steps:
            is_done = step(name, args)
            is_run = is_run or (name == "run" and is_done)
        step("check", ["log", "check", "--all"], kill=0)
        step("frozen", ["run", "--path", "../second", "--", "true"], want=25, kill=0)
        for task in ["first"] + ["new"] * is_run:
            if step("task", ["task", "show", task], kill=0) and "completed" not in done["task"].out:
                s.counts.found("lost", "%s: in a home of an earlier build task %s is %s" % (s.name, task, done["task"]))
        if step("reconcile", ["reconcile", "--apply"], kill=0) and s.is_calm(since):
            for name in ("execution_profiles.json", "tool_groups.json"):
                with open(os.path.join(how["cwd"], "references", name), "rb") as f, open(os.path.join(SOURCE, "share", name), "rb") as g:
                    if f.read() != g.read():
                        s.counts.found("wrong_states", "%s: %s is not as shipped after %s" % (s.name, name, done["reconcile"]))
        if step("restore", ["checkpoint", "restore", "before", "--yes"], kill=0) and read_tree(how["cwd"]).get("notes.txt") != b"one\n":
            s.counts.found("lost", "%s: a checkpoint of an earlier build does not come back: %s" % (s.name, done["restore"]))
        s.counts.add("upgrades")
        shutil.rmtree(root, ignore_errors=True)


class Filler(threading.Thread):
    """Fills the small disk of a site, and frees it again; or makes it read-only for a while."""

    def __init__(self, site, mount, seed, stop):
        super().__init__(daemon=True)
        self.s, self.mount, self.stop_at, self.r = site, mount, stop, random.Random("%s/filler" % seed)

    def wait_until_free(self):
        """A process that was forked while the file was open holds it until it has begun its own program, on a busy machine for long."""
        time.sleep(0.3)
        for _ in range(600):
            room = os.statvfs(self.s.root)
            if room.f_bavail * room.f_frsize > 2 * LITTLE_BYTES:
                return
            time.sleep(0.1)
        self.s.counts.note("%s: the disk stays full by itself" % self.s.name)

    def fill(self):
        path = os.path.join(self.s.root, "filler")
        with self.s.gate.work(), self.s.mend:
            with self.s.lock:
                self.s.trouble += 1
            with open(path, "wb", buffering=0) as f:
                size = 1 << 20
                while size >= 512:
                    try:
                        f.write(b"\0" * size)
                    except OSError:
                        size //= 2
            self.s.counts.add("full_disks")
            time.sleep(self.r.uniform(0.2, 1.5))
            os.unlink(path)
            self.wait_until_free()
            with self.s.lock:
                self.s.trouble += 1

    def remount(self, how):
        return subprocess.run(["mount", "-o", "remount," + how, self.mount], capture_output=True).returncode == 0

    def close(self):
        """Read-only: between two calls, since a file that is open for writing would prevent it.  Views go on."""
        with self.s.gate.alone():
            with self.s.lock:
                self.s.trouble += 1
            is_closed = self.remount("ro")
            if is_closed:
                self.s.counts.add("read_only")
                self.s.read_only = self.s.counts.n["read_only"]
        if is_closed:
            time.sleep(self.r.uniform(0.5, 3))
            self.s.read_only = 0
            self.remount("rw")
        with self.s.lock:
            self.s.trouble += 1

    def run(self):
        while not self.stop_at.wait(self.r.uniform(4, 12)):
            if self.r.random() < 0.6:
                self.fill()
            else:
                self.close()
