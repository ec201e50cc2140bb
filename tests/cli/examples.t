#!/bin/sh
# Every example of every command is run in a fresh workspace: it must be understood, and must not fail for a reason of ours.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"

helm init >/dev/null
cat >run.py <<'PY'
import json, os, subprocess, sys
helm, home = sys.argv[1], sys.argv[2]
env = {"PATH": os.path.dirname(helm) + ":" + os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8",
       "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
doc = json.loads(subprocess.run([helm, "help", "--json"], capture_output=True, env=env).stdout)
bad = n = 0
for c in doc["commands"]:
    if not c.get("examples"):
        print("no example:", c["name"]); pass
    for line in (c.get("examples") or "").splitlines():
        if not line.startswith("$ "):
            continue
        text = line[2:].split("   #")[0]
        n += 1
        r = subprocess.run(["sh", "-c", text], capture_output=True, env=env, cwd=home, stdin=subprocess.DEVNULL, timeout=60)
        # 2 is wrong usage, 126 and above a crash or a program that is not there
        if r.returncode in (2, 126, 127) or r.returncode > 128 or r.returncode < 0:
            bad += 1
            print(f"exit {r.returncode}: {text}\n{r.stdout.decode()}{r.stderr.decode()}")
print(n, "examples")
sys.exit(1 if bad or not n else 0)
PY
ok "examples work" python3 run.py "$HELM_REAL" "$scratch/home"
finish
