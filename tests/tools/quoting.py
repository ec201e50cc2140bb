#!/usr/bin/env python3
"""quoting.py — generated commands print and write the same, bare and contained.

usage: quoting.py HELM COUNT [SEED] [SHELL...]

Commands are made of quotes, expansions, here-documents, pipes, groups, substitutions, redirections, arithmetic, functions, globs and odd
characters.  Many go into one call, each in a subshell with its own output, because what is tested is that the text arrives as it was;
some go alone, for exit codes.  Ends with 0 when all are the same, and prints each difference otherwise."""
import os, random, shutil, sys, tempfile
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from contained_client import Client

WORDS = ["a", "b c", "'", '"', "\\", "$", "$x", "`", "é", "日本", "\t", " ", "*", "?", "[a]", "~", "#", "!", "{a,b}", "&", ";", "|", "<", ">",
         "(", ")", "%s", "%d", "-n", "--", "=", "\x01", "\x7f", "''", '""', "$$x", "${x}", "\\n", "\\0", "'\\''", "EOF", "\n", "\r", "$(", "}}"]


def single(r):
    return "'" + "".join(r.choice(WORDS) for _ in range(r.randint(0, 4))).replace("'", "'\\''") + "'"


def double(r):
    s = "".join(r.choice(WORDS) for _ in range(r.randint(0, 4)))
    return '"' + "".join("\\" + c if c in '\\"$`' else c for c in s) + '"'


def word(r, depth=0):
    kinds = [lambda: single(r), lambda: double(r), lambda: r.choice(["a", "b", "1", "$x", '"$x"', "${x:-d}", "${#x}", "${x%b}", "$((2*3))", "\\$", "\\'", "\\\\"]),
             lambda: "*.none", lambda: "~nobody"]
    if depth < 2:
        kinds += [lambda: "$(" + simple(r, depth + 1) + ")", lambda: '"$(' + simple(r, depth + 1) + ')"', lambda: "`echo " + r.choice(["q", "$x"]) + "`"]
    return "".join(r.choice(kinds)() for _ in range(r.randint(1, 2)))


def simple(r, depth=0):
    k = r.randint(0, 11)
    if k <= 4:
        return "printf '<%s>' " + " ".join(word(r, depth) for _ in range(r.randint(1, 3)))
    if k == 5:
        return "x=" + word(r, depth) + "; printf '%s' \"$x\""
    if k == 6:
        return "printf '%s\\n' " + word(r, depth) + " | tr a-c A-C"
    if k == 7 and depth == 0:
        mark = r.choice(["EOF", "'EOF'", '"E F"', "-T"])
        name = mark.strip("'\"-")
        return "cat <<" + mark + "\n" + "".join(c for c in r.choice(["$x 'a' \"b\"", "plain", "\\$x \\\\", "tab\tx"])) + "\n" + name
    if k == 8:
        return "{ printf 1; (exit %d) || printf \"$?\"; }" % r.randint(0, 3)
    if k == 9:
        return "f() { printf '[%s]' \"$@\"; }; f " + word(r, depth) + " " + word(r, depth)
    if k == 10:
        return "for i in " + word(r, depth) + " z; do printf '%s.' \"$i\"; done"
    return "if [ " + double(r) + " = " + double(r) + " ]; then printf y; else printf n; fi"


def main(helm, count, seed=1, *shells):
    r, failures, done = random.Random(int(seed)), 0, 0
    top = tempfile.mkdtemp(dir=os.getcwd(), prefix="quoting.")
    try:
        for shell in shells or ("bash",):
            bare, held = os.path.join(top, "bare-" + shell), os.path.join(top, "held-" + shell)
            os.mkdir(bare), os.mkdir(held)
            b, c = Client(helm, shell=shell, bare=True, cwd=bare), Client(helm, shell=shell, cwd=held)
            n = 0
            while n < int(count) // len(shells or (1,)):
                batch = [simple(r) for _ in range(1 if n % 500 < 5 else 100)]
                text = "\n".join("( %s\n) >o%d 2>&1 || printf 'x%%s' \"$?\" >>o%d" % (one, i, i) for i, one in enumerate(batch)) if len(batch) > 1 else batch[0]
                for k in (b, c):
                    for f in os.listdir(k.cwd):
                        os.unlink(os.path.join(k.cwd, f))
                got = [k.run(text) for k in (b, c)]
                files = [{f: open(os.path.join(k.cwd, f), "rb").read().replace(k.cwd.encode(), b"CWD") for f in os.listdir(k.cwd)} for k in (b, c)]
                if got[1][0] == 99:
                    sys.exit("the hook did not wrap: %r" % text[:500])
                if got[0][:2] != got[1][:2]:
                    failures += 1
                    print("differs: %r\n  bare %r\n  held %r" % (text[:300], got[0], got[1]))
                for f in set(files[0]) | set(files[1]):
                    if files[0].get(f) != files[1].get(f):
                        failures += 1
                        print("differs: %r\n  bare %r\n  held %r" % (batch[int(f[1:])], files[0].get(f), files[1].get(f)))
                n += len(batch)
            done += n
    finally:
        shutil.rmtree(top)
    print("%d commands, %d differences" % (done, failures))
    sys.exit(failures > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
