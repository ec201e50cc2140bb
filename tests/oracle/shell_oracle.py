"""Compare Helm's shell parser with bash -n (accepted or refused) and shfmt --to-json (what stands in the text).

usage: shell_oracle.py DUMP CORPUS   where DUMP CORPUS prints one JSON line of counts per text.
Prints TAP.  Every text is also cut at several places, because broken texts matter as much as whole ones."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

SEPARATOR = "\n%%\n"
# Texts our parser refuses on purpose although `bash -n` says nothing (it looks inside only when they run).
STRICTER = re.compile(r"`|<<|\$\{[ \t\n|]")
# Read without `shopt -s extglob`.
LOOSER = re.compile(r"[?*+@!]\(")
# Texts bash -n lets pass and then refuses to run, and comments shfmt continues over a backslash.
QUIRKS = {"[[ ]]", "[[ a && ]]", "[[ ! ]]", "echo $((1)+2)", "a && \\", "!(a)", "a #b \\\nc"}
SAME = ("commands", "words", "assigns", "redirects", "subshells", "groups", "ifs", "loops", "cases", "functions",
        "conditions", "arithmetics", "substitutions", "processes")


def bash_accepts(text):
    run = subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True, env={"PATH": os.environ["PATH"],
                         "LC_ALL": "C.UTF-8"}, check=False)
    complaints = [line for line in run.stderr.decode(errors="replace").splitlines() if "warning:" not in line]
    return run.returncode == 0 and not complaints


def tally(node, counts):
    if isinstance(node, list):
        for item in node:
            tally(item, counts)
        return
    if not isinstance(node, dict):
        return
    kind = node.get("Type")
    if kind == "CallExpr":
        counts["commands"] += 1
        counts["words"] += len(node.get("Args") or [])
        counts["assigns"] += len(node.get("Assigns") or [])
    elif kind == "DeclClause":
        counts["commands"] += 1
        counts["words"] += 1 + len(node.get("Args") or [])
    elif kind == "LetClause":
        counts["lets"] = counts.get("lets", 0) + 1
    names = {"Subshell": "subshells", "Block": "groups", "WhileClause": "loops", "ForClause": "loops", "CaseClause": "cases",
             "FuncDecl": "functions", "TestClause": "conditions", "ArithmCmd": "arithmetics", "CmdSubst": "substitutions",
             "ProcSubst": "processes"}
    if kind in names:
        counts[names[kind]] += 1
    if kind == "IfClause" and node.get("Cond"):
        counts["ifs"] += 1
        for other in [node.get("Else")]:
            while other:
                if other.get("Cond"):
                    counts["ifs"] += 1
                other = other.get("Else")
    counts["redirects"] += len(node.get("Redirs") or [])
    for value in node.values():
        if isinstance(value, (dict, list)):
            tally(value, counts)


def shfmt_counts(text):
    run = subprocess.run(["shfmt", "--to-json", "-ln", "bash"], input=text.encode(), capture_output=True, check=False)
    if run.returncode != 0:
        return None
    counts = dict.fromkeys(SAME, 0)
    tally(json.loads(run.stdout), counts)
    return None if "lets" in counts else counts


def cuts(text):
    n = len(text)
    return [text[:n * k // 4] for k in (1, 2, 3)] + [text[:-1]]


def dump(program, texts):
    with tempfile.NamedTemporaryFile("w", suffix=".txt", newline="") as f:
        f.write(SEPARATOR.join(texts))
        f.flush()
        out = subprocess.run([program, "--dump", f.name], capture_output=True, check=True).stdout
    return [json.loads(line) for line in out.decode(errors="replace").splitlines()]


def main():
    program, corpus = sys.argv[1:3]
    with open(corpus, encoding="utf-8", newline="") as f:
        texts = f.read().rstrip("\n").split(SEPARATOR)
    whole = len(texts)
    seen = set(texts)
    for text in texts[:whole]:
        for piece in cuts(text):
            if piece.strip() and piece not in seen and "\n%%" not in piece:
                seen.add(piece)
                texts.append(piece)
    ours = dump(program, texts)
    assert len(ours) == len(texts), (len(ours), len(texts))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        accepted = list(pool.map(bash_accepts, texts))
        trees = list(pool.map(shfmt_counts, texts[:whole]))
    failures = 0
    for i, text in enumerate(texts):
        mine, theirs = ours[i], accepted[i]
        if text in QUIRKS or mine["ok"] == theirs or (theirs and STRICTER.search(text)) or (mine["ok"] and LOOSER.search(text)):
            continue
        failures += 1
        print(f"# bash {'accepts' if theirs else 'refuses'}, we {'accept' if mine['ok'] else 'refuse'}: {text!r}")
    print(f"{'not ok' if failures else 'ok'} 1 - {len(texts)} texts accepted and refused as by bash -n")
    compared = differing = 0
    for i, text in enumerate(texts[:whole]):
        if not ours[i]["ok"] or trees[i] is None or text in QUIRKS:
            continue
        compared += 1
        wrong = {k: (ours[i][k], trees[i][k]) for k in SAME if ours[i][k] != trees[i][k]}
        if wrong:
            differing += 1
            print(f"# (ours, shfmt) {wrong}: {text!r}")
    print(f"{'not ok' if differing else 'ok'} 2 - {compared} trees as shfmt's")
    print("1..2")
    return 1 if failures or differing else 0


sys.exit(main())
