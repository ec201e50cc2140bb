#!/usr/bin/env python3
"""reached.py [--unreached] [FILE | FILE::FUNCTION]...: is this code of src/ part of a program?

  --unreached  list every function of src/ that no program reaches

Code that only tests call promises nothing: no program does it.  This reads src/ as text and follows names: from each main(), through the
bodies of functions, the tables and the macros that they name, to what those name.  A name in a file stands for what that file defines, else
for what the tree defines.  What a macro makes at the top of a file (a handler of a program, a row of a command) and what stands in a .def
file counts as reached: the tables that name it are made when the program is built.  So this may call something reached that is not, and
never the other way round.

Exit: 0 when each of them is reached, 1 when one is not (named on standard output), 2 for wrong usage."""
import os, re, sys

ROOT = os.environ.get("HELM_SOURCE") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAME = re.compile(r"[A-Za-z_]\w*")
NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\\n|\\.)*)", re.M)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M)
# Called from outside of what is read here: by the system, and in the place of functions of libraries.
ROOTS = {"main", "recv", "gnutls_record_recv"}


class Tree:
    def __init__(self, root):
        self.uses = {}  # (file or "" for the whole tree, name) -> names in it
        self.ends = {}  # of the file that is read: where a bracket closes
        self.static = {}  # file -> names that only it knows
        self.functions = {}  # file -> functions that it defines
        self.roots = set()  # (file, name) that are looked up at the beginning
        self.pasted = []  # (macro, file, what stands before ##, what stands behind)
        for folder, dirs, files in sorted(os.walk(os.path.join(root, "src"))):
            dirs.sort()
            for name in sorted(files):
                path = os.path.join(folder, name)
                short = os.path.relpath(path, root)
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                if name.endswith(".def"):
                    self.roots |= {("", n) for n in NAME.findall(NOISE.sub(" ", text))}
                elif name.endswith((".c", ".h")):
                    self.read(short, NOISE.sub(" ", text))
        self.in_headers = {name: (header, name) for header, names in self.static.items() if header.endswith(".h") for name in names}
        self.paste()

    def paste(self):
        """`row_##id` names whatever is called row_...: which of them is known only when it is built."""
        known = {name for _, name in self.uses}
        for macro, file, before, after in self.pasted:
            params = 3  # shorter ones are parameters
            for name in known:
                if (len(before) > params and name.startswith(before)) or (len(after) > params and name.endswith(after)):
                    self.uses[macro].add((file, name))

    def add(self, file, name, is_static, text):
        key = (file if is_static else "", name)
        self.uses.setdefault(key, set()).update((file, n) for n in NAME.findall(text) if n != name)
        if is_static:
            self.static.setdefault(file, set()).add(name)

    def read(self, file, text):
        for m in DEFINE.finditer(text):
            self.add(file, m.group(1), False, m.group(2))
            for before, after in re.findall(r"(\w*)\s*##\s*(\w*)", m.group(2)):
                self.pasted.append((("", m.group(1)), file, before, after))
        text = DIRECTIVE.sub(" ", text)
        marks = [(m.start(), m.group()) for m in re.finditer(r"[(){};]", text)]
        self.ends, stack = {}, []
        for at, mark in marks:
            if mark in "({":
                stack.append(at)
            elif mark in ")}" and stack:
                self.ends[stack.pop()] = at
        start, until = 0, 0
        for at, mark in marks:
            if at < until:
                continue
            if mark == "{":
                until = self.item(file, text, start, at, self.ends.get(at, len(text))) + 1
                start = until
            elif mark == "(":
                until = self.ends.get(at, len(text))
            elif mark == ";":
                self.statement(file, text[start:at])
                start = at + 1

    def item(self, file, text, start, brace, end):
        """What has a body: a function, a table, a type.  Returns where it ends."""
        head, body = text[start:brace], text[brace:end + 1]
        bare = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", head, flags=re.S)
        if "=" in bare:
            stop = text.find(";", end)
            stop = len(text) if stop < 0 else stop
            names = re.findall(r"(\w+)\s*(?:\[[^]]*\]\s*)*=", bare)
            self.table(file, bare, names[:1], text[brace:stop])
            return stop
        call = re.search(r"(\w+)\s*\(", bare)
        if call and bare.rstrip().endswith(")"):
            name = call.group(1)
            if name.isupper():
                self.roots |= {(file, n) for n in NAME.findall(bare + body)}
            else:
                self.add(file, name, bool(re.search(r"\bstatic\b", bare)), bare[call.end():] + body)
                self.functions.setdefault(file, []).append(name)
                if "constructor" in head:
                    self.roots.add((file, name))
        else:
            # A type, or a list of values: whoever names one of its members names nothing that runs.  `struct x {...} table = {...}` goes on.
            tail = re.match(r"\s*(const\s+)?\w+\s*(\[[^]]*\]\s*)*=\s*\{", text[end + 1:])
            if tail:
                open_at = end + 1 + tail.end() - 1
                stop = text.find(";", self.ends.get(open_at, end))
                names = re.findall(r"(\w+)\s*(?:\[[^]]*\]\s*)*=", tail.group())
                self.table(file, bare, names[:1], text[open_at:stop])
                return stop
        return end

    def table(self, file, head, names, body):
        for name in names:
            self.add(file, name, bool(re.search(r"\bstatic\b", head)), head + body)
        if not names:  # whatever it is called
            self.roots |= {(file, n) for n in NAME.findall(body)}

    def statement(self, file, text):
        """Without a body: a prototype says nothing; a macro's call, or a value, does."""
        call = re.match(r"\s*([A-Z][A-Z0-9_]*)\s*\(", text)
        if call:
            self.roots |= {(file, n) for n in NAME.findall(text)}
        elif "=" in text:
            names = re.findall(r"(\w+)\s*(?:\[[^]]*\]\s*)*=", text)
            self.table(file, text, names[:1], text.split("=", 1)[1])

    def find(self, file, name):
        if name in self.static.get(file, ()):
            return (file, name)
        if ("", name) in self.uses:
            return ("", name)
        return self.in_headers.get(name)

    def reach(self):
        todo = [self.find(f, n) for f, n in self.roots]
        todo += [key for key in self.uses if key[1] in ROOTS]
        seen = set()
        while todo:
            key = todo.pop()
            if key and key not in seen:
                seen.add(key)
                todo += [self.find(f, n) for f, n in self.uses[key]]
        return seen


def main(words):
    if not words:
        print("usage: reached.py [--unreached] [FILE | FILE::FUNCTION]...", file=sys.stderr)
        return 2
    tree = Tree(ROOT)
    seen, wrong = tree.reach(), 0
    if words == ["--unreached"]:
        for file, names in sorted(tree.functions.items()):
            for name in names:
                if tree.find(file, name) not in seen:
                    print(f"{file}::{name}")
        return 0
    for word in words:
        file, _, func = word.partition("::")
        names = tree.functions.get(file, [])
        if not os.path.isfile(os.path.join(ROOT, file)):
            said = "no such file"
        elif func and func not in names:
            said = "no such function"
        elif not any(tree.find(file, n) in seen for n in ([func] if func else names)):
            said = "no program reaches it"
        else:
            continue
        print(f"{word}: {said}")
        wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
