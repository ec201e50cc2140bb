#!/usr/bin/env python3
"""mutants.py [N] [--every] [--rooms A,B] [--invariants] [--list] [--only TEXT] [--tests RE] [--part K/M] [--again] [--budget S]
           [--jobs N]: does some test notice when the program is wrong?

  --every      one mistake in every function that judges (below), instead of N: some hours, so with --part
  --rooms A,B  only in these folders of src/
  --invariants for each invariant of docs/INVARIANTS.md, N mistakes (1) in the code it names, given only to the tests it names
  --list       say which mistakes would be made
  --only TEXT  only those with TEXT in their file, function or mutation; with --invariants, those of INV-nnn,INV-nnn
  --tests RE   only tests whose name matches, and only what they need is built: while working on one room
  --part K/M   the K-th of M equal parts of what was chosen
  --again      only those that no run has caught so far: while working on tests
  --budget S   per mutant only tests of S seconds in all, the best first: quicker, and calls some survivors that are none

A mutant is the program with one small mistake: a condition negated, an error not returned, a call left out, DENY become ALLOW.
Each one must make at least one test fail.  One that does not, a survivor, is either a gap, and gets a test, or means the same
as the original, and gets a line with the reason in tools/mutants.allow:

    file | function | original => mutated | reason

All N mistakes are in ONE build: every chosen place reads `mutant(17) ? mutated : original`, and the number of the active one
comes from a file.  A first run of every test without a mistake must pass, and notes which places it reaches; a mutant is then
given only to tests that reach it, those that are quick and that caught its neighbours first, until one fails.

The mistaken program must not harm the machine it runs on: tests ask it to judge `rm -rf /`, and a mutant may say yes.  So
each worker lives in namespaces of its own in which everything is read-only but empty temporary directories, without network,
and each test has its own pid namespace, which also ends whatever a test left behind.

The choice is the same every time: places are ranked by a hash of what they are, not of where they stand, one per function before a second.
All of src/ takes part.  Three of four mistakes go to functions that judge, in turn from each room, until each has one.  A function judges when
its file is one of JUDGING_FILE or a word of its name is one of JUDGING_WORDS: it decides (decide, judge, verdict, settle, gate, escalate, refuse,
deny), permits (permit, allow, may, must, grant, approve, quorum, scope), verifies (verify, check, valid, match, proof, chain), authenticates
(auth, login, person, passkey, token, trust, sign, key, revoke), records (record, append, seal, receipt, draw), or keeps something in or out
(protect, hidden, frozen, confine, redact, mask, limit).

Exit: 0 when every survivor is explained, 1 when not, 2 for wrong usage."""
import copy, ctypes, fcntl, hashlib, itertools, json, os, queue, re, shutil, socket, struct, subprocess, sys, threading, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORK = os.environ.get("HELM_MUTANTS") or os.path.join(ROOT, "build", "mutants")  # another one for a second run beside the first
TREE, BUILD, STATE, PLACE = (os.path.join(WORK, part) for part in ("tree", "build", "state", "place"))
ALLOW = os.path.join(ROOT, "tools", "mutants.allow")
INVARIANTS = os.path.join(ROOT, "docs", "INVARIANTS.md")
DEFAULT_COUNT = 260
# Tests about the source tree or about how the shipped program is linked: no mistake in a function is their business.
TEST_FILE = re.compile(r"tests/(\w+/\w+)\.(c|t)$")  # one test; what several use lies in other files
NOT_OURS = re.compile(r"^(tree/|cli/(linking|install|readme|tree_checks|clients)$)")

# ---- reading C ----

TOKEN = re.compile(r"""
  (?P<comment>/\*.*?\*/|//[^\n]*)
 |(?P<pp>^[ \t]*\#(?:[^\n\\]|\\\n|\\.)*)
 |(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
 |(?P<number>\b\d[\w.]*)
 |(?P<name>[A-Za-z_]\w*)
 |(?P<op>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|[^\s])
""", re.X | re.S | re.M)
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
TYPE_WORDS = set("""int char long short unsigned signed bool void float double const struct enum union static AUTO size_t ssize_t
  uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t off_t pid_t mode_t DIR FILE typedef extern volatile""".split())
SWAPS = {"==": "!=", "!=": "==", "<": "<=", ">": ">=", "<=": "<", ">=": ">", "&&": "||", "||": "&&", "true": "false",
         "false": "true", "V_DENY": "V_ALLOW", "V_ESCALATE": "V_ALLOW", "V_ALLOW": "V_DENY"}
WEIGHT = {"verdict": 6, "branch": 2, "sum": 3, "factor": 1, "drop call": 3, "drop check": 3, "drop loop": 2, "return ok": 3, "compare": 2, "logic": 2, "truth": 2, "negate": 1,
          "not": 1, "constant": 0.5}
# Calls that are not left out: what gives memory and descriptors back cannot be missed from outside, and which members a report
# has is for the tests of formats.
UNSEEN = re.compile(r"free|close|arena|done$|destroy|munlock|memzero|va_(start|end)|memcpy|memset|madvise|init$|assert|BUG"
                    r"|json_(set|push)|buf_add|snprintf|hint|note|name_member|_text$|prefetch")
JUDGING_FILE = re.compile(r"/(decide/.*|sandbox|landlock|seccomp|settle|guard|freeze|approver)\.c$")
JUDGING_WORDS = set("""decide decides decided judge judged judges verdict settle gate escalate refuse refused refuses deny denied
  permit permits permitted allow allows allowed may must grant grants approve approved approval quorum scope
  verify verifies verified check checks checked valid match matches proof chain
  auth authenticate authorize login person operator passkey token trust trusted sign signs signed signer signature signatures key revoke revoked
  record records recorded append seal sealed receipt draw draws
  protect protected hidden frozen writable confine redact mask limit kernel""".split())


def judges(file, func):
    return bool(JUDGING_FILE.search(file)) or not JUDGING_WORDS.isdisjoint(func.split("_"))


class Tok:
    __slots__ = ("kind", "text", "start", "end")

    def __init__(self, m):
        self.kind, self.text, self.start, self.end = m.lastgroup, m.group(), m.start(), m.end()


class Place:
    """One possible mistake: source[start:end] becomes render(n)."""

    def __init__(self, reader, func, kind, start, end, render, before, after, judged):
        self.file, self.func, self.kind, self.start, self.end, self.render = reader.name, func, kind, start, end, render
        squeeze = lambda text: re.sub(r"\s+", " ", text).strip()
        self.before, self.after = squeeze(before), squeeze(after)
        self.line = reader.source.count("\n", 0, start) + 1
        self.judged, self.number, self.turn = judged, 0, 1
        self.row, self.only = "", None  # the invariant it was chosen for, and the names of its tests
        what = "\0".join((func, kind, self.before, self.after))
        u = (int.from_bytes(hashlib.sha256(what.encode()).digest()[:6], "big") + 1) / 2 ** 48
        self.rank = u ** (1 / WEIGHT[kind])

    def mutation(self):
        """What the place is known by: the second of the same in a function says so."""
        return f"{self.before} => {self.after or '(left out)'}" + (f" [{self.turn}]" if self.turn > 1 else "")

    def key(self):
        return (self.file, self.func, self.mutation())


class Reader:
    """Finds the places of one file.  A small parser of statements: expressions stay lists of tokens."""

    def __init__(self, name, source):
        self.name, self.source, self.places = name, source, []
        self.toks = [Tok(m) for m in TOKEN.finditer(source) if m.lastgroup != "comment"]
        self.functions = 0
        self.find_functions()

    def match(self, i):
        """Index of the bracket that closes the one at i."""
        depth = 0
        for j in range(i, len(self.toks)):
            t = self.toks[j].text
            if t in OPEN:
                depth += 1
            elif t in CLOSE:
                depth -= 1
                if depth == 0:
                    return j
        raise ValueError("unbalanced")

    def find_functions(self):
        i, start = 0, 0
        while i < len(self.toks):
            t = self.toks[i]
            if t.kind == "pp" or t.text == ";":
                start = i + 1
            elif t.text == "(" or t.text == "[":
                i = self.match(i)
            elif t.text == "{":
                end = self.match(i)
                head = self.toks[start:i]
                names = [k for k in range(len(head) - 1) if head[k].kind == "name" and head[k + 1].text == "("
                         and head[k].text != "__attribute__"]
                if names and head[-1].text == ")":
                    self.func = head[names[0]].text
                    words = [x.text for x in head[:names[0]] if x.text not in ("static", "inline", "const")]
                    self.returns = " ".join(words)
                    self.judged = judges(self.name, self.func)
                    self.functions += 1
                    self.block(i, end)
                    start = end + 1
                elif "=" not in [x.text for x in head]:
                    start = end + 1
                i = end
            i += 1

    # -- statements; each returns the index after it --

    def block(self, i, end):
        i += 1
        while i < end:
            i = self.statement(i)
        return end + 1

    def statement(self, i):
        t = self.toks[i]
        nxt = self.toks[i + 1].text if i + 1 < len(self.toks) else ""
        if t.kind == "pp" or t.text == ";":
            return i + 1
        if t.text == "{":
            return self.block(i, self.match(i))
        if t.text in ("if", "while", "switch", "for"):
            return self.headed(i)
        if t.text == "else":
            return self.statement(i + 1)
        if t.text == "do":
            i = self.statement(i + 1)  # now at `while`
            close = self.match(i + 1)
            return close + 2
        if t.text in ("case", "default"):
            while self.toks[i].text != ":":
                i += 1
            return i + 1
        if t.kind == "name" and nxt == ":" and t.text not in TYPE_WORDS:
            return i + 2
        if t.kind == "name" and nxt == "(" and t.text not in TYPE_WORDS and t.text != "return":
            close = self.match(i + 1)
            after = self.toks[close + 1]
            if after.text == "{" or after.kind == "name":  # a loop made by a macro
                return self.statement(close + 1)
        return self.simple(i)

    def headed(self, i):
        word, close = self.toks[i].text, self.match(i + 1)
        inner = (i + 2, close)
        if word == "for":
            cuts, k = [], i + 2
            while k < close:
                if self.toks[k].text in OPEN:
                    k = self.match(k)
                elif self.toks[k].text == ";":
                    cuts.append(k)
                k += 1
            if len(cuts) == 2 and cuts[1] > cuts[0] + 1:  # a bound that is off by one is the sanitizers' business
                text = self.text(cuts[0] + 1, cuts[1])
                self.add("drop loop", cuts[0] + 1, cuts[1], lambda n: f"(({text}) && !mutant({n}))", f"for (; {text};)",
                         "for (; false;)")
        elif word != "switch":
            self.condition(word, *inner, body=close + 1)
        return self.statement(close + 1)

    def text(self, a, b):
        return self.source[self.toks[a].start:self.toks[b - 1].end] if b > a else ""

    def usable(self, a, b):
        return b > a and all(t.kind != "pp" for t in self.toks[a:b])

    def add(self, kind, a, b, render, before, after):
        if self.usable(a, b):
            p = Place(self, self.func, kind, self.toks[a].start, self.toks[b - 1].end, render, before, after, self.judged)
            p.turn += sum((q.func, q.before, q.after) == (p.func, p.before, p.after) for q in self.places)
            self.places.append(p)

    def condition(self, word, a, b, body):
        text = self.text(a, b)
        if self.toks[body].kind == "name" and self.toks[body + 1].text == "(" and UNSEEN.search(self.toks[body].text):
            return
        self.add("negate", a, b, lambda n: f"(!!({text}) != mutant({n}))", f"{word} ({text})", f"{word} (!({text}))")
        if word == "if" and self.toks[body].text in ("return", "{") and self.leaves(body):
            self.add("drop check", a, b, lambda n: f"(({text}) && !mutant({n}))", f"if ({text}) return", "if (false) return")
        self.expression(a, b, show=f"{word} (%s)")

    def leaves(self, i):
        """The branch at i ends by leaving the function."""
        if self.toks[i].text == "return":
            return True
        end, k, last = self.match(i), i + 1, None
        while k < end:
            if self.toks[k].text in OPEN:
                k = self.match(k)
            elif self.toks[k].text in (";", "}") and k + 1 < end:
                last = k + 1
            k += 1
        return self.toks[last if last else i + 1].text == "return"

    def swapped(self, a, b):
        """(kind, index of the token, new text) for each token of the span that can be changed by itself."""
        for k in range(a, b):
            t, prev = self.toks[k], self.toks[k - 1]
            if t.text in SWAPS and t.kind in ("op", "name"):
                kind = ("verdict" if t.text.startswith("V_") else "truth" if t.kind == "name"
                        else "logic" if t.text in ("&&", "||") else "compare")
                # `fd < 0` means the same as `fd <= 0` wherever it is used; so does a bound that only chooses the smaller of two.
                if t.text in ("<", ">=") and self.toks[k + 1].text == "0":
                    continue
                if t.text in ("<", ">", "<=", ">=") and any(self.toks[x].text == "?" for x in range(a, b)):
                    continue
                yield kind, k, SWAPS[t.text]
            elif t.text == "!" and self.toks[k + 1].text != "!" and prev.text != "!":
                yield "not", k, ""
            elif t.kind == "number" and re.fullmatch(r"[1-9]\d*", t.text) and prev.text in ("<", ">", "<=", ">=", "==", "!="):
                yield "constant", k, str(int(t.text) + 1)
            elif t.kind == "number" and re.fullmatch(r"\d+\.\d+", t.text) and float(t.text):
                yield "factor", k, f"{t.text} * 10"

    def expression(self, a, b, show="%s", wrap=None):
        """Changes of single tokens; the whole of it stands twice, once with the change."""
        text = self.text(a, b)
        for kind, k, new in self.swapped(a, b):
            if any(self.toks[x].text == "{" for x in range(a, k)):
                continue
            changed = self.text(a, k) + text[self.toks[k - 1].end - self.toks[a].start if k > a else 0:
                                             self.toks[k].start - self.toks[a].start] + new + \
                text[self.toks[k].end - self.toks[a].start:]
            make = wrap or (lambda n, old, new_text: f"(mutant({n}) ? ({new_text}) : ({old}))")
            self.add(kind, a, b, lambda n, c=changed, m=make: m(n, text, c), show % text, show % changed)
        self.branches(a, b, show)

    def branches(self, a, b, show):
        """`c ? x : y` becomes x, or y: a choice that is not made."""
        marks, k = [], a
        while k < b:
            if self.toks[k].text in OPEN:
                k = self.match(k)
            elif self.toks[k].text in ("?", ":", "=", ",", ";"):
                marks.append(k)
            k += 1
        if [self.toks[m].text for m in marks] != ["?", ":"]:
            return
        text = self.text(a, b)
        for x, y in ((marks[0] + 1, marks[1]), (marks[1] + 1, b)):
            one = self.text(x, y)
            if one and "NULL" not in one:
                self.add("branch", a, b, lambda n, one=one: f"(mutant({n}) ? ({one}) : ({text}))", show % text, show % one)

    def simple(self, i):
        """return, call, assignment, declaration: up to the semicolon."""
        end = i
        while self.toks[end].text != ";":
            end = self.match(end) + 1 if self.toks[end].text in OPEN else end + 1
        words = [t.text for t in self.toks[i:end]]
        if words[0] in ("static", "typedef", "break", "continue", "goto", "_Static_assert", "asm", "__asm__"):
            return end + 1
        if words[0] == "return":
            self.returned(i, end)
        elif self.is_declaration(i, end):
            if words.count("=") == 1:
                eq = i + words.index("=")
                if self.toks[eq + 1].text != "{":
                    self.expression(eq + 1, end, show=self.text(i, eq + 1) + " %s")
        else:
            self.effect(i, end)
        return end + 1

    def is_declaration(self, i, end):
        first, second = self.toks[i], self.toks[i + 1]
        return first.text in TYPE_WORDS or (first.kind == "name" and (second.kind == "name" or (
            second.text == "*" and self.toks[i + 2].kind == "name")))

    def returned(self, i, end):
        text = self.text(i + 1, end)
        both = lambda n, old, new: f"(mutant({n}) ? ({new}) : ({old}))"
        if self.returns == "int" and text not in ("0", "OK", "") and "{" not in text:
            plain = re.fullmatch(r"-?\w+", text)
            self.add("return ok", i + 1, end, lambda n: f"(mutant({n}) ? ((void)({text}), 0) : ({text}))", f"return {text}",
                     "return 0" if plain else f"return ({text}, 0)")
        if self.returns == "bool" and text not in ("true", "false", ""):
            self.add("negate", i + 1, end, lambda n: f"(!!({text}) != mutant({n}))", f"return {text}", f"return !({text})")
        self.expression(i + 1, end, show="return %s", wrap=both)

    def effect(self, i, end):
        text = self.text(i, end)
        words = [t.text for t in self.toks[i:end]]
        k = i
        if words[0] == "(" and words[1] == "void":
            k = i + 3
        if self.toks[k].kind == "name" and self.toks[k + 1].text == "(" and self.match(k + 1) == end - 1:
            if not UNSEEN.search(self.toks[k].text):
                self.add("drop call", i, end, lambda n: f"do {{ if (!mutant({n})) {text}; }} while (0)", text + ";", "")
            return
        sums = [x for x in range(len(words)) if words[x] in ("+=", "-=")]
        if len(sums) == 1 and not {"=", "?", ","} & set(words[:sums[0]]):
            at = i + sums[0]
            other = self.text(i, at) + (" -= " if words[sums[0]] == "+=" else " += ") + self.text(at + 1, end)
            self.add("sum", i, end, lambda n: f"do {{ if (mutant({n})) {other}; else {text}; }} while (0)", text + ";", other + ";")
            return
        if "=" in words or "|=" in words or "&=" in words:
            op = next(x for x in range(len(words)) if words[x] in ("=", "|=", "&="))
            right = i + op + 1
            if right < end and self.toks[right].text != "{":
                self.expression(right, end, show=self.text(i, right) + " %s")


# ---- choosing ----

def room_of(p):
    return p.file.split("/")[1]


def read_places(root, rooms=None):
    places, functions = [], 0
    for room in sorted(rooms or os.listdir(os.path.join(root, "src"))):
        for folder, dirs, files in sorted(os.walk(os.path.join(root, "src", room))):
            dirs.sort()
            for name in sorted(files):
                if name.endswith(".c"):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as f:
                        reader = Reader(os.path.relpath(path, root), f.read())
                    places += reader.places
                    functions += reader.functions
    return places, functions


def without_overlap(group, most=1 << 30):
    """The best places of these first, none inside another, none twice."""
    taken = []
    for p in sorted(group, key=lambda p: (-p.rank, p.file, p.start)):
        if all(p.file != q.file or p.end <= q.start or q.end <= p.start for q in taken) and all(p.key() != q.key() for q in taken):
            taken.append(p)
        if len(taken) == most:
            break
    return taken


def in_turn(places):
    """The first of each room, then the second of each."""
    seen, order = {}, []
    for p in places:
        seen[room_of(p)] = seen.get(room_of(p), 0) + 1
        order.append((seen[room_of(p)], p))
    return [p for _, p in sorted(order, key=lambda o: (o[0], room_of(o[1])))]


def numbered(chosen):
    chosen = sorted(chosen, key=lambda p: (p.file, p.start))
    for number, p in enumerate(chosen, 1):
        p.number = number
    return chosen


def choose(places, count, every):
    by_function = {}
    for p in places:
        by_function.setdefault((p.file, p.func), []).append(p)
    rounds = []
    for group in by_function.values():
        for turn, p in enumerate(without_overlap(group)):
            rounds.append((turn, -p.rank, p.file, p.start, 0, p))
    rounds.sort(key=lambda r: r[:5])
    first = in_turn([r[5] for r in rounds if r[0] == 0 and r[5].judged])
    rest = [r[5] for r in rounds if r[0] > 0 or not r[5].judged]
    if every:
        return numbered(first)
    share = min(len(first), count * 3 // 4)
    return numbered(first[:share] + rest[:count - share])


# ---- invariants ----

class Invariant:
    def __init__(self, name):
        self.name, self.code, self.tests, self.places = name, [], [], []


def read_invariants():
    """The rows of docs/INVARIANTS.md: a number, files or functions (file::function), tests (file::name)."""
    rows = []
    with open(INVARIANTS, encoding="utf-8") as f:
        for line in f:
            start = re.match(r"(INV-\d+):", line)
            if start:
                rows.append(Invariant(start.group(1)))
            elif line.startswith("code: ") and rows:
                rows[-1].code += line[6:].split()
            elif line.startswith("verify: ") and rows:
                rows[-1].tests.append(line[8:].strip().split("::", 1)[0])
    return rows


def test_name(path):
    """tests/unit/x_test.c is unit/x_test, tests/cli/x.t is cli/x."""
    return re.sub(r"^tests/|\.(c|t)$", "", path)


def choose_for(rows, places, count):
    """`count` mistakes for each invariant: the best of the code that it names first, then of the second, and so on round."""
    chosen, here = {}, {}
    for p in places:
        here.setdefault(p.file, []).append(p)
    for row in rows:
        groups = []
        for code in row.code:
            file, _, func = code.partition("::")
            groups.append(without_overlap([p for p in here.get(file, []) if not func or p.func == func], count * 20))
        turns = [p for turn in itertools.zip_longest(*groups) for p in turn if p]
        for p in turns:
            # What another invariant has chosen at the same place cannot stand there twice.
            clash = [q for q in chosen.get(p.file, []) if q is not p and not (p.end <= q.start or q.end <= p.start)]
            if not clash and len(row.places) < count and p not in row.places:
                row.places.append(p)
                if p not in chosen.setdefault(p.file, []):
                    chosen[p.file].append(p)
    return numbered([p for group in chosen.values() for p in group])


# ---- building ----

RUNTIME = r"""/* Which mistake is active, and which places were reached.  Made by tools/mutants.py. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int mutant_active;
unsigned char *mutant_reached;
__attribute__((constructor)) static void mutant_begin(void)
{
	char text[16] = { 0 };
	int fd = open("@STATE@/active", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		mutant_active = (int)strtol(text, 0, 10);
	if (fd >= 0)
		close(fd);
	fd = open("@STATE@/reached", O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		void *map = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		mutant_reached = map == MAP_FAILED ? 0 : map;
		close(fd);
	}
}
"""
HEAD = ("extern int mutant_active; extern unsigned char *mutant_reached; static inline int mutant(int n) { if (mutant_reached) "
        "mutant_reached[n] = 1; return mutant_active == n; }\n#line 1\n")


def write_if_new(path, data):
    if os.path.exists(path):
        with open(path, "rb") as f:
            if f.read() == data:
                return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def make_tree(chosen):
    """A copy of the tree with the mistakes in it.  Files that did not change keep their time, so that little is rebuilt."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True)
    names = {n.decode() for n in listed.stdout.split(b"\0") if n}
    by_file, digest = {}, hashlib.sha256()
    for p in chosen:
        by_file.setdefault(p.file, []).append(p)
    for name in sorted(names):
        source, target = os.path.join(ROOT, name), os.path.join(TREE, name)
        if os.path.islink(source) or not os.path.isfile(source):
            continue
        with open(source, "rb") as f:
            data = f.read()
        if name in by_file:
            text = data.decode()
            for p in sorted(by_file[name], key=lambda p: -p.start):
                text = text[:p.start] + p.render(p.number) + text[p.end:]
            data = (HEAD + text).encode()
        elif name == "tests/cli/lib.sh":  # the first failure is enough
            data = data.replace(b'echo "not ok $count - $what"', b'echo "not ok $count - $what"; exit 1')
        if not TEST_FILE.match(name) and not name.startswith(("tools/", "docs/")) and "/" in name:
            digest.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
        write_if_new(target, data)
        shutil.copymode(source, target)
    runtime = "src/base/mutant_runtime.c"
    write_if_new(os.path.join(TREE, runtime), RUNTIME.replace("@STATE@", STATE).encode())
    for folder, _, files in os.walk(TREE):
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), TREE)
            if path not in names and path != runtime:
                os.remove(os.path.join(TREE, path))
    return digest.hexdigest()


def run_or_end(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit("mutants: the build with the mistakes in it failed\n" + (done.stdout + done.stderr)[-6000:])


def configure():
    run_or_end(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -w"])


def build(tests):
    """All of it, or what the given tests run."""
    targets = []
    if tests and not any(name.startswith("oracle/") for name in tests):
        targets = ["--target", "helm", "helm-serve", "helm-test", "helm-small", "store_tool", "lesser_machine_test"]
        targets += [name.split("/")[1] for name in tests if name.startswith(("unit/", "crash/"))]
    run_or_end(["cmake", "--build", BUILD] + targets)


def list_tests(wanted=None, is_built=True):
    """Those that are not slow, or those that are wanted, slow or not.  What is not built yet has no command."""
    shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=BUILD, check=True, capture_output=True, text=True)
    tests = []
    for t in json.loads(shown.stdout)["tests"]:
        props = {p["name"]: p["value"] for p in t["properties"]}
        if NOT_OURS.search(t["name"]) or (is_built and not t.get("command")):
            continue
        if ("slow" in props.get("LABELS", []) and not wanted) or (wanted and not wanted(t["name"])):
            continue
        tests.append({"name": t["name"], "command": t.get("command"), "cwd": props.get("WORKING_DIRECTORY", TREE),
                      "env": props.get("ENVIRONMENT", []), "skip": props.get("SKIP_RETURN_CODE", -1)})
    return tests


# ---- running: the worker ----

def close_world():
    """In fresh namespaces: everything read-only but empty temporary directories of our own; only the loopback."""
    libc = ctypes.CDLL(None, use_errno=True)

    def must(rc, what):
        if rc:
            sys.exit(f"mutants: cannot close the world off ({what}): {os.strerror(ctypes.get_errno())}")

    def mount(kind, place, options):
        must(libc.mount(b"none", place.encode(), kind.encode(), 6, options.encode()), place)

    attributes = (ctypes.c_uint64 * 4)(1, 0, 0, 0)  # read-only, recursively
    must(libc.mount(b"none", b"/", None, 0x44000, None), "private mounts")
    must(libc.syscall(442, -100, b"/", 0x8000, ctypes.byref(attributes), 32), "read-only")
    for place in ("/tmp", "/var/tmp", "/dev/shm"):
        if ROOT.startswith(place + "/"):
            sys.exit(f"mutants: the tree lies in {place}, which is emptied for every test; put it elsewhere")
        mount("tmpfs", place, "mode=1777")
    for place in (STATE, PLACE):
        os.makedirs(place, exist_ok=True)
    mount("tmpfs", STATE, "mode=0777")
    mount("tmpfs", PLACE, "mode=0777")  # for tests whose files must not lie in /tmp, which a run may have for itself
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14s", b"lo", 0x49, b""))


def empty(folder):
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)


def run_one(job):
    """Run one test under one mutant in a pid namespace; whatever is left of it ends with that."""
    for folder in ("/tmp", "/var/tmp", PLACE):
        empty(folder)
    with open(STATE + "/active", "w") as f:
        f.write(str(job["mutant"]))
    reached = STATE + "/reached"
    if job["record"]:
        with open(reached, "wb") as f:
            f.truncate(65536)
        os.chmod(reached, 0o666)
    elif os.path.exists(reached):
        os.remove(reached)
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "USER", "LOGNAME")}
    env.update(e.split("=", 1) for e in job["env"])
    env["HELM_TEST_PLACE"] = PLACE
    started = time.monotonic()
    with open(STATE + "/output", "wb") as out:
        # The shell is process 1 there: it waits for whoever lost its parent, as an init does.
        spaces = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--", "sh", "-c", '"$@"; exit $?', "sh"]
        child = subprocess.Popen(spaces + job["command"], cwd=job["cwd"], env=env, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=out, start_new_session=True)
        try:
            code = child.wait(job["timeout"])
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            code = "timeout"
    spent = time.monotonic() - started
    hits = []
    if job["record"]:
        with open(reached, "rb") as f:
            hits = [i for i, byte in enumerate(f.read()) if byte]
    try:
        with open(STATE + "/output", "rb") as f:
            output = f.read()[-3000:].decode(errors="replace")
    except OSError:
        output = ""
    return {"code": code, "time": spent, "hits": hits, "output": output}


def worker():
    close_world()
    for line in sys.stdin:
        print(json.dumps(run_one(json.loads(line))), flush=True)


class Worker:
    def __init__(self):
        spaces = ["--mount", "--net", "--ipc"] if os.geteuid() == 0 else \
            ["--user", "--map-current-user", "--keep-caps", "--mount", "--net", "--ipc"]
        self.process = subprocess.Popen(["unshare"] + spaces + [sys.executable, os.path.abspath(__file__), "--worker"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, test, mutant, timeout, record=False):
        job = {k: test[k] for k in ("command", "cwd", "env")} | {"mutant": mutant, "timeout": timeout, "record": record}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("mutants: a worker ended by itself")
        answer = json.loads(line)
        answer["failed"] = answer["code"] not in (0, test["skip"])
        return answer

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def in_parallel(workers, items, do):
    """do(worker, item) for each item, one worker per thread."""
    todo, errors = queue.Queue(), []
    for item in items:
        todo.put(item)

    def loop(w):
        try:
            while not errors:
                do(w, todo.get_nowait())
        except queue.Empty:
            pass
        except BaseException as problem:  # a thread that dies must end the program
            errors.append(problem)

    threads = [threading.Thread(target=loop, args=(w,)) for w in workers]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


def file_digest(name):
    for end in (".c", ".t"):
        path = os.path.join(TREE, "tests", name + end)
        if os.path.exists(path):
            with open(path, "rb") as f:
                return hashlib.sha256(f.read()).hexdigest()
    return ""


def baseline(workers, tests, digest):
    """Every test without a mistake; sets its time and what it reaches.  What is known of the same build and test is not run again."""
    failed, kept, known = [], os.path.join(WORK, "baseline.json"), {}
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as f:
            old = json.load(f)
        known = old["tests"] if old["digest"] == digest else {}
    for t in tests:
        t["file"] = file_digest(t["name"])
        if t["name"] in known and known[t["name"]][2] != t["file"]:
            del known[t["name"]]
        if t["name"] in known:
            t["time"], t["hits"] = known[t["name"]][0], set(known[t["name"]][1])

    def do(w, test):
        got = w.run(test, 0, 900, record=True)
        test["time"], test["hits"] = got["time"], set(got["hits"])
        if got["failed"]:
            failed.append((test["name"], got))

    todo = [t for t in tests if t["name"] not in known]
    in_parallel(workers, sorted(todo, key=lambda t: t["name"].startswith("unit/")), do)
    for name, got in failed:
        print(f"mutants: {name} fails without any mistake ({got['code']}):\n{got['output']}")
    bad = {name for name, _ in failed}
    known.update({t["name"]: [t["time"], sorted(t["hits"]), t["file"]] for t in tests if t["name"] not in bad})
    with open(kept, "w", encoding="utf-8") as f:
        json.dump({"digest": digest, "tests": known}, f)
    if failed:
        sys.exit(1)


def hunt(workers, tests, chosen, budget):
    """Gives each mutant to the tests that reach it until one fails.  Adds p.caught, p.ran."""
    kills, lock, done = {}, threading.Lock(), [0]
    log = open(os.path.join(WORK, "last.jsonl"), "a", encoding="utf-8")

    def order(p):
        """Quick tests first, and those that are named after the place or caught its neighbours."""
        words = [w for w in re.split(r"[/.]", p.file)[1:-1] if len(w) > 3]

        def cost(t):
            near = sum(w in t["name"] for w in words)
            return (t["time"] + 0.02) / (1 + 8 * near + 4 * kills.get((p.file, t["name"]), 0))

        return sorted((t for t in tests if p.number in t["hits"] and (p.only is None or t["name"] in p.only)), key=cost)

    def do(w, p):
        p.caught, p.ran = None, []
        with lock:
            tries = order(p)
        spent = 0
        for test in tries:
            spent += test["time"]
            if spent > budget and p.ran:
                break
            got = w.run(test, p.number, max(20, 8 * test["time"]))
            p.ran.append(test["name"])
            if got["failed"]:
                p.caught = test["name"]
                with lock:
                    kills[p.file, test["name"]] = kills.get((p.file, test["name"]), 0) + 1
                break
        with lock:
            done[0] += 1
            log.write(json.dumps([(p.row, *p.key()), p.caught]) + "\n")
            log.flush()
            how = f"caught by {p.caught}" if p.caught else f"SURVIVED {len(p.ran)} tests"
            print(f"[{done[0]}/{len(chosen)}] {p.row}{' ' if p.row else ''}{p.file}:{p.line} {p.func}: {p.mutation()}: {how}", flush=True)

    in_parallel(workers, chosen, do)


# ---- the verdict ----

def read_allowed():
    entries = {}
    if os.path.exists(ALLOW):
        with open(ALLOW, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                if not line.strip() or line.startswith("#"):
                    continue
                parts = [part.strip() for part in re.split(r" \| ", line.rstrip("\n"))]
                if len(parts) < 4 or not parts[-1]:
                    sys.exit(f"tools/mutants.allow:{number}: not `file | function | original => mutated | reason`")
                entries[parts[0], parts[1], " | ".join(parts[2:-1])] = number
    return entries


def by_room(chosen, allowed):
    """One line for each room: made, caught, allowed, survived."""
    print("\nroom        made  caught  allowed  survivors")
    for room in sorted({room_of(p) for p in chosen}):
        here = [p for p in chosen if room_of(p) == room]
        let = sum(p.key() in allowed for p in here)
        caught = sum(p.key() not in allowed and bool(p.caught) for p in here)
        print(f"{room:10}{len(here):6}{caught:8}{let:9}{len(here) - let - caught:11}")


def report(chosen, places, allowed, seconds):
    ran = [p for p in chosen if p.key() not in allowed]
    survivors = [p for p in ran if not p.caught]
    known = {p.key() for p in places}
    stale = [number for key, number in allowed.items() if key not in known]
    for p in survivors:
        print(f"\nSURVIVOR {p.row}{' ' if p.row else ''}{p.file}:{p.line} in {p.func}()\n  - {p.before}\n  + {p.after or '(left out)'}\n"
              f"  tests: {' '.join(p.ran) or 'none reaches it'}\n  key: {' | '.join(p.key())}")
    for number in sorted(stale):
        print(f"tools/mutants.allow:{number}: there is no such place any more; take the line out")
    by_room(chosen, allowed)
    print(f"\n{len(chosen)} mutants: {len(ran) - len(survivors)} caught, {len(chosen) - len(ran)} allowed, "
          f"{len(survivors)} survivors; {seconds / 60:.1f} minutes")
    return 1 if survivors or stale else 0


def caught_before():
    """Keys of the mutants that some test has caught in this tree's earlier runs."""
    path = os.path.join(WORK, "last.jsonl")
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as f:
        return {tuple(key) for key, caught in map(json.loads, f) if caught}


USAGE = ("usage: mutants.py [N] [--every] [--rooms A,B] [--invariants] [--list] [--only TEXT] [--tests RE] [--part K/M] [--again]\n"
         "                  [--budget S] [--jobs N]")


def options(words):
    """What was asked for, or None for wrong usage."""
    o = {"count": 0, "every": False, "rooms": None, "invariants": False, "list": False, "only": "", "tests": None, "part": (1, 1),
         "again": False, "budget": 1e9, "jobs": os.cpu_count() or 1}
    try:
        while words:
            word = words.pop(0)
            if word in ("--every", "--invariants", "--list", "--again"):
                o[word[2:]] = True
            elif word == "--rooms":
                o["rooms"] = words.pop(0).split(",")
            elif word == "--only":
                o["only"] = words.pop(0)
            elif word == "--tests":
                o["tests"] = re.compile(words.pop(0))
            elif word == "--part":
                k, m = map(int, words.pop(0).split("/"))
                o["part"] = (k, m) if 1 <= k <= m else None
            elif word == "--budget":
                o["budget"] = float(words.pop(0))
            elif word == "--jobs":
                o["jobs"] = int(words.pop(0))
            elif 0 < int(word) < 65536:
                o["count"] = int(word)
            else:
                return None
    except (IndexError, ValueError, re.error):
        return None
    rooms = set(os.listdir(os.path.join(ROOT, "src")))
    return o if o["part"] and o["jobs"] > 0 and (not o["rooms"] or set(o["rooms"]) <= rooms) else None


def for_invariants(o, places):
    """(what is built, what is hunted, names of the tests) of the mode in which an invariant's own tests must be enough."""
    rows = [r for r in read_invariants() if not o["only"] or r.name in o["only"].split(",")]
    rows = rows[o["part"][0] - 1::o["part"][1]]
    chosen, hunted = choose_for(rows, places, o["count"] or 1), []
    for row in rows:
        if not row.places:
            print(f"{row.name}: nothing in its code can be made wrong: {' '.join(row.code) or 'it names none'}")
        names = {test_name(t) for t in row.tests}
        if o["tests"]:
            names = {n for n in names if o["tests"].search(n)}
        for p in row.places if names else []:
            mine = copy.copy(p)
            mine.row, mine.only = row.name, names
            hunted.append(mine)
    return chosen, hunted, {name for p in hunted for name in p.only}


def main(words):
    if words == ["--worker"]:
        return worker()
    o = options(words)
    if not o:
        print(USAGE, file=sys.stderr)
        return 2
    started, allowed = time.monotonic(), read_allowed()
    places, functions = read_places(ROOT)
    names = None
    if o["invariants"]:
        chosen, hunted, names = for_invariants(o, places)
    else:
        chosen = choose([p for p in places if not o["rooms"] or room_of(p) in o["rooms"]], o["count"] or DEFAULT_COUNT, o["every"])
        hunted = [p for p in chosen if o["only"] in " | ".join(p.key())][o["part"][0] - 1::o["part"][1]]
    print(f"{len(places)} places in {functions} functions, {len(chosen)} chosen in {len({(p.file, p.func) for p in chosen})}")
    known = caught_before() if o["again"] else set()
    hunted = [p for p in hunted if (p.row, *p.key()) not in known]
    if o["list"]:
        for p in hunted:
            print(f"{p.row}{' ' if p.row else ''}{p.file}:{p.line} [{p.kind}] {p.func}: {p.mutation()}")
        return 0
    digest = make_tree(chosen)
    wanted = (lambda name: (names is None or name in names) and (not o["tests"] or o["tests"].search(name))) \
        if names is not None or o["tests"] else None
    configure()
    build([t["name"] for t in list_tests(wanted, is_built=False)] if wanted else None)
    tests = list_tests(wanted)
    for place in (STATE, PLACE):
        os.makedirs(place, exist_ok=True)
    workers = [Worker() for _ in range(o["jobs"])]
    print(f"built in {time.monotonic() - started:.0f} s; {len(tests)} tests without a mistake first", flush=True)
    baseline(workers, tests, digest)
    print(f"they pass, {time.monotonic() - started:.0f} s; now the mutants", flush=True)
    hunt(workers, tests, [p for p in hunted if p.key() not in allowed], o["budget"])
    for w in workers:
        w.end()
    return report(hunted, places, allowed, time.monotonic() - started)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
