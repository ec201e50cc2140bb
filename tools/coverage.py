#!/usr/bin/env python3
"""coverage.py BUILD: what the tests of an instrumented build never did (called by tools/coverage.sh).

The files named in STRICT must have every branch taken.  What cannot be taken by a test stands in tools/coverage.allow with the
reason.  A condition whose only consequence is BUG(...) needs no entry: it is a promise, not a code path.  Of all other files the
lines are counted, and those below 90 % are listed.
"""
import json
import os
import re
import subprocess
import sys

STRICT = re.compile(r"src/(decide/|proof/|base/json|propose/shell/).*\.c$")
ALLOW = "tools/coverage.allow"
LEAST = 90.0


def allowed():
    """FILE -- SOURCE LINE -- REASON"""
    entries = []
    with open(ALLOW, encoding="utf-8") as f:
        for number, text in enumerate(f, 1):
            if not text.strip() or text.startswith("#"):
                continue
            parts = [part.strip() for part in text.split(" -- ")]
            if len(parts) != 3 or not all(parts):
                sys.exit(f"{ALLOW}:{number}: expected FILE -- SOURCE LINE -- REASON")
            entries.append(parts)
    return entries


def counts(build):
    """{file: {line: (executions, [branch counts])}}, over all objects."""
    data = {}
    gcda = [os.path.join(where, name) for where, _, names in os.walk(build) for name in names
            if name.endswith(".gcda") and "/src/" in where]
    for path in sorted(gcda):
        run = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", path],
                             capture_output=True, text=True, check=True)
        for line in filter(None, run.stdout.split("\n")):
            for source in json.loads(line)["files"]:
                found = re.search(r"src/.*", source["file"])
                if not found or source["file"].startswith("/usr"):
                    continue
                seen = data.setdefault(found.group(), {})
                for row in source["lines"]:
                    branches = [b["count"] for b in row["branches"] if not b.get("throw")]
                    old = seen.get(row["line_number"])
                    # One line may belong to several functions or objects.
                    seen[row["line_number"]] = (row["count"] + old[0], old[1] + branches) if old else (
                        row["count"], branches)
    return data


def is_promise(text, line):
    """Does the condition that ends at or after this line lead to BUG() only?"""
    depth = 0
    for at in range(line - 1, min(line + 6, len(text))):
        depth += text[at].count("(") - text[at].count(")")
        if depth <= 0:
            return text[at].lstrip().startswith("BUG(") or (at + 1 < len(text) and
                                                            text[at + 1].lstrip().startswith("BUG("))
    return False


def main():
    build = sys.argv[1]
    data = counts(build)
    entries = allowed()
    used = set()
    missed = []
    strict_total = strict_taken = 0
    low = []
    rooms = {}
    for name in sorted(data):
        if not name.endswith(".c"):
            continue
        with open(name, encoding="utf-8") as f:
            text = f.read().split("\n")
        lines = data[name]
        done = sum(1 for row in lines.values() if row[0])
        room = rooms.setdefault(os.path.dirname(name), [0, 0])
        room[0] += done
        room[1] += len(lines)
        if not STRICT.match(name):
            if 100.0 * done / len(lines) < LEAST:
                low.append((100.0 * done / len(lines), name))
            continue
        for number, (_, branches) in sorted(lines.items()):
            strict_total += len(branches)
            strict_taken += sum(1 for count in branches if count)
            if all(branches):
                continue
            source = text[number - 1].strip()
            entry = next((i for i, e in enumerate(entries) if e[0] == name and e[1] == source), None)
            if entry is not None:
                used.add(entry)
            elif not is_promise(text, number):
                missed.append(f"{name}:{number}: {branches.count(0)} of {len(branches)} branches never taken: {source}")
    for name, (done, total) in sorted(rooms.items()):
        print(f"{name:14} {100.0 * done / total:5.1f} % of {total} lines")
    for share, name in sorted(low):
        print(f"below {LEAST:.0f} %: {name} {share:.1f} %")
    print(f"where every branch counts: {strict_taken} of {strict_total} branches taken, "
          f"{len(used)} lines allowed by {ALLOW}")
    stale = [e for i, e in enumerate(entries) if i not in used]
    for e in stale:
        print(f"{ALLOW}: not needed any more: {e[0]} -- {e[1]}")
    for text in missed:
        print(text)
    return 1 if missed or stale else 0


if __name__ == "__main__":
    sys.exit(main())
