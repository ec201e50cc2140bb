"""place.py: a workspace that a person governs beside the agents of soak.py, and the model of what holds there.

A person chooses, freezes, pauses and accepts; acts are killed on the way, the tree's copies are changed, the document is damaged.  What
was acknowledged must hold; what was killed holds or does not, and nothing between."""
import collections
import contextlib
import hashlib
import json
import os


class Word(collections.namedtuple("Word", "profile frozen paused accepted")):
    """What a person has decided about a place."""

    def freeze(self, who):
        return self._replace(frozen=self.frozen | {who})

    def unfreeze(self, who):
        return self._replace(frozen=self.frozen - {who})

    def pause(self, profile):
        return self._replace(paused=self.paused | {profile})

    def resume(self, profile):
        return self._replace(paused=self.paused - {profile})

    def use(self, profile):
        return self._replace(profile=profile)

    def accept(self, digest, profile):
        return self._replace(accepted=digest, profile=profile or self.profile)


class Place:
    """A workspace of its own that a person governs.  `may_hold` is every word that may be in force: one, after an act that was
    acknowledged; the one before, too, after an act that was killed or refused, until it was looked at."""
    ACCEPTABLE = "references/execution_profiles.json"

    def __init__(self, agent, root):
        self.agent, self.s, self.r, self.root = agent, agent.s, agent.r, root
        self.may_hold = None
        self.tokens = {}

    def act(self):
        """False: this place is of no use any more (it could not be made, or not be mended, in trouble)."""
        if self.may_hold is None:
            return self.make()
        if len(self.may_hold) == 1:
            word = next(iter(self.may_hold))
            if "*" in word.frozen:
                self.unfreeze("*")
            else:
                getattr(self, self.r.choice(["use", "use", "freeze_one", "freeze_all", "pause", "accept", "copies", "spoil"]))()
        return self.may_hold is not None and self.look()

    def make(self):
        since = self.agent.since()
        done = self.s.person([], ["init", "--path", self.root])  # a word about the default workspace holds: a person takes it out
        if done.code or "does not stand alone" in done.out:
            self.s.refused(since, "a workspace cannot be made", done)
            return False
        self.may_hold = {Word("workspace_edit", frozenset(), frozenset(), None)}
        return True

    def took(self, done, since, what, change):
        """The model after an act."""
        changed = {change(w) for w in self.may_hold}
        self.may_hold = changed if done.code == 0 else changed | self.may_hold
        if done.code == 0:
            self.s.counts.add("acts")
        else:
            self.s.refused(since, what, done)
        return done.code == 0

    def simply(self, kind, args, what, change):
        since = self.agent.since()
        done = self.agent.call(kind, args + ["--path", self.root], kill=0.3)
        return done, self.took(done, since, what, change)

    def answered(self, kind, words, args, what, change):
        since = self.agent.since()
        done = self.agent.answer(kind, words, args + ["--path", self.root], kill=0.3)
        return self.took(done, since, what, change)

    def use(self):
        profile = self.r.choice(["inspect_local", "workspace_edit", "risky_edit", "service_ops"])
        self.answered("use", [], ["profile", "use", profile], "a choice is refused", lambda w: w.use(profile))

    def freeze_one(self):
        who = self.r.choice(["agent:codex", "agent:cursor"])
        if who in next(iter(self.may_hold)).frozen:
            self.unfreeze(who)
        else:
            self.simply("freeze", ["freeze", "--principal", who], "a freeze is refused", lambda w: w.freeze(who))

    def freeze_all(self):
        self.simply("freeze", ["freeze"], "a freeze is refused", lambda w: w.freeze("*"))

    def unfreeze(self, who):
        self.answered("unfreeze", [], ["unfreeze"] + ([] if who == "*" else ["--principal", who]), "a freeze is not lifted",
                      lambda w: w.unfreeze(who))

    def pause(self):
        """Who was killed did not tell the token: a second pause tells another one."""
        profile = self.r.choice(["risky_edit", "service_ops"])
        if profile in next(iter(self.may_hold)).paused and profile in self.tokens:
            self.simply("resume", ["profile", "resume", profile, "--token", self.tokens[profile]], "a pause is not ended",
                        lambda w: w.resume(profile))
            return
        self.tokens.pop(profile, None)
        done, is_done = self.simply("pause", ["profile", "pause", profile, "--reason", "soak", "--json"], "a pause is refused",
                                    lambda w: w.pause(profile))
        if is_done:
            self.tokens[profile] = json.loads(done.out)["resume_token"]

    def accept(self):
        """Blanks behind the document change its bytes, and nothing else."""
        path = os.path.join(self.root, self.ACCEPTABLE)
        try:
            with open(path, "rb") as f:
                text = f.read()
            with open(path + ".new", "wb") as f:
                f.write(text.rstrip() + b"\n" * self.r.randint(2, 9))  # with one, they are the shipped ones
            os.rename(path + ".new", path)
            with open(path, "rb") as f:
                digest = "sha256:" + hashlib.sha256(f.read()).hexdigest()
        except OSError:  # the disk is full
            return
        # What the tree's copy chooses is offered, too, and taken with the rest.
        profile = None
        with contextlib.suppress(OSError, ValueError):
            with open(os.path.join(self.root, ".helm", "workspace.json"), encoding="utf-8") as f:
                profile = json.load(f).get("default_profile")
        self.answered("trust", ["TRUST"], ["workspace", "trust"], "files are not accepted", lambda w: w.accept(digest, profile))

    def copies(self):
        """What the tree says about itself permits nothing: its copies go, or say what permits most."""
        name, text = self.r.choice([("freeze.json", "{}"), ("profile-pause-state.json", "{}"),
                                    ("workspace.json", '{"default_profile": "service_ops"}')])
        path = os.path.join(self.root, ".helm", name)
        try:
            if self.r.random() < 0.5:
                os.unlink(path)
            else:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
        except OSError:  # the disk is full: an empty file would be damage
            with contextlib.suppress(OSError):
                os.unlink(path)

    def spoil(self):
        """The document is damaged: it is written again from the record, with all that was decided; where its seal does not prove that,
        nothing goes until a person has said everything again."""
        name = hashlib.sha256(os.path.realpath(self.root).encode()).hexdigest()
        path = os.path.join(self.s.home, ".helm", "trees", name, "posture.json")
        since = self.agent.since()
        if not self.s.is_calm(since) or not self.agent.spoil(path):
            return
        done = self.agent.call("run", ["run", "--path", self.root, "--", "true"], kill=0)
        if done.code == 0 and "it was written again from the signed act" in done.err:
            shown, before = self.show(since), next(iter(self.may_hold))
            self.s.counts.add("mended")
            if not shown:
                self.may_hold = None
            elif not shown.paused >= before.paused or not shown.frozen >= before.frozen:
                self.s.counts.found("lost", "%s: %s was written again, and of %s there is %s" % (self.s.name, self.root, before, shown))
            return
        if done.code == 0:
            self.s.counts.found("wrong_states", "%s: what governs %s was changed, and it runs: %s" % (self.s.name, self.root, done))
        for args in (["freeze"], ["unfreeze"], ["workspace", "trust"], ["profile", "use", "workspace_edit"]):
            args = args + ["--path", self.root]
            if args[0] == "freeze":
                done = self.agent.call("freeze", args, kill=0)
            else:
                done = self.agent.answer(args[0], ["TRUST"] if "trust" in args else [], args, kill=0)
            if done.code:
                self.s.refused(since, "a place is not mended by %s" % args, done)
                self.may_hold = None
                return
        shown = self.show(since)
        if not shown:
            self.may_hold = None
            return
        before = next(iter(self.may_hold))
        self.s.counts.add("mended")
        if not shown.paused >= before.paused or not shown.frozen >= before.frozen - {"*"}:
            self.s.counts.found("lost", "%s: %s was mended, and of %s there is %s" % (self.s.name, self.root, before, shown))
        self.may_hold = {Word("workspace_edit", before.frozen - {"*"}, before.paused, shown.accepted)}

    def show(self, since):
        """What helm says holds here; None when it could not say."""
        done = self.agent.call("show", ["workspace", "show", "--json", "--path", self.root], kill=0)
        try:
            doc = json.loads(done.out)
            return Word(doc["profile"], frozenset(doc["frozen"]), frozenset(doc["paused"]), doc["accepted"].get(self.ACCEPTABLE))
        except (ValueError, TypeError, KeyError):
            self.s.refused(since, "what holds here is not told", done)
            return None

    def look(self):
        """A run finishes what was interrupted, and ends as what holds says; then it must be one of the words that may hold."""
        since = self.agent.since()
        task = self.agent.new("run")
        done = self.agent.call("run", ["run", "--path", self.root, "--task-id", task, "--", "true"], kill=0)
        shown = self.show(since)
        if not shown:
            return True
        if not self.s.is_calm(since):
            return True
        if shown not in self.may_hold:
            self.s.counts.found("wrong_states", "%s: in %s holds %s, not %s" % (self.s.name, self.root, shown,
                                                                                 sorted(map(str, self.may_hold))))
            return False
        self.may_hold = {shown}
        want = 25 if "*" in shown.frozen else 26 if shown.profile in shown.paused else 0
        if done.code != want:
            self.s.refused(since, "%s holds, and a run ends otherwise" % (shown,), done)
        return True
