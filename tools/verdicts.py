#!/usr/bin/env python3
"""verdicts.py OLD NEW — two builds of helm judge every command of the case files, and must say the same, to the byte.

For whoever changes how rules are kept or asked.  Every command is judged under four profiles, in and outside a sandbox, with the
shipped rules alone and with a workspace's file that uses every condition.  Compared is the whole decision but its time."""
import json
import os
import re
import subprocess
import sys
import tempfile

FILES = ["guard", "guard_classes", "guard_destructive", "guard_safe", "effects", "everyday"]
PROFILES = [None, "inspect_local", "develop", "service_ops"]
RULES = {
    "version": 1,
    "absolute_deny": [
        {"id": "x.tag", "type": "effect", "when": {"kind": ["write", "read"], "tag": ["write.*"], "not_flags": ["append"]}},
        {"id": "x.host", "type": "effect", "when": {"host": ["*.example.org", "10.0.0.0/8", "169.254.169.254"]}},
        {"id": "x.target", "type": "effect", "when": {"target": ["/etc/**", "/usr/*"], "not_class": ["sys"]}},
    ],
    "require_approval": [
        {"id": "x.program", "type": "effect", "action": "warn", "when": {"program": ["g*", "c?t"], "not_program": "git"}},
        {"id": "x.where", "type": "effect", "when": {"where": "elsewhere", "certainty": ["prefixed", "dynamic"]}},
        {"id": "x.above", "type": "effect", "when": {"above": True, "flags": ["recursive"]}},
        {"id": "x.profile", "type": "effect", "when": {"profile": "*edit", "profile_writes": False}},
        {"id": "x.contained", "type": "effect", "when": {"contained": True, "kind": "network"}},
        {"id": "x.all", "type": "effect", "when": {"where": "any", "class": ["home", "up"], "certainty": "certain"}},
    ],
    "override": {"risk.git_clean": "deny", "x.above": "deny"},
}


def questions(root):
    rows = []
    for name in FILES:
        with open(os.path.join(root, "tests/cases", name + ".jsonl"), encoding="utf-8") as f:
            for line in f:
                row = json.loads(line) if line.strip() else {}
                rows += [{k: row[k] for k in ("shell", "argv", "profile") if k in row}] if row else []
    return rows


def answers(helm, where, env, rows, profile, containment):
    text = "".join(json.dumps({"id": i, **({"profile": profile} if profile else {}), **row}) + "\n" for i, row in enumerate(rows))
    args = [helm, "guard", "check", "--batch", "--full", "--containment", containment]
    done = subprocess.run(args, input=text.encode(), stdout=subprocess.PIPE, cwd=where, env=env, check=False)
    lines = []
    for line in done.stdout.decode().splitlines():
        doc = json.loads(re.sub(r"/proc/[0-9]+", "/proc/PID", line))  # of "/proc/self", which is each process's own
        doc.pop("evaluated_at", None)
        lines.append(json.dumps(doc, sort_keys=True))
    return lines


def main():
    old, new = (os.path.abspath(p) for p in sys.argv[1:3])
    rows = questions(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    compared = different = 0
    with tempfile.TemporaryDirectory() as top:
        home, where = os.path.join(top, "home"), os.path.join(top, "home", "work")
        os.makedirs(where)
        env = {"HOME": home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        subprocess.run([old, "init"], cwd=where, env=env, check=True, stdout=subprocess.DEVNULL)
        for own in (False, True):
            if own:
                os.makedirs(os.path.join(where, "references"), exist_ok=True)
                with open(os.path.join(where, "references", "guard_policy.json"), "w", encoding="utf-8") as f:
                    json.dump(RULES, f)
            for profile in PROFILES:
                for containment in ("none", "walls"):
                    was = answers(old, where, env, rows, profile, containment)
                    now = answers(new, where, env, rows, profile, containment)
                    if len(was) != len(rows) or len(now) != len(rows):
                        sys.exit(f"{len(rows)} questions, {len(was)} and {len(now)} answers")
                    compared += len(rows)
                    for row, x, y in zip(rows, was, now):
                        if x != y:
                            different += 1
                            if different <= 5:
                                print(profile, containment, json.dumps(row), x[:600], y[:600], sep="\n  ")
    print(f"{compared} decisions compared, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main())
