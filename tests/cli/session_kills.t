#!/bin/sh
# A supervised session in which anything is killed at any moment: nothing runs on, whoever was told "yes" has it on record, and the record is whole.
# And on machines that can do less.
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace
git init -q . 2>/dev/null
home=$scratch/home

# A client that asks, does and tells, until it is ended; two at a time.  What it was told is written down as soon as it is.
cat >client.py <<'PY'
import json, os, subprocess, sys, threading, time
helm, name = sys.argv[1], sys.argv[2]
said = os.open("told-" + name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
def hook(verb, use, **more):
    call = {"tool_name": "Bash", "tool_input": {"command": "touch made-" + use}, "session_id": name, "tool_use_id": use, "cwd": os.getcwd(), **more}
    return subprocess.run([helm, "hook", verb, "--client", "claude-code", "--workspace", os.getcwd()], input=json.dumps(call), text=True, capture_output=True)
def work(n):
    for i in range(100000):
        use = "%s-%d-%d" % (name, n, i)
        time.sleep(0.01)
        p = hook("pre-tool", use)
        if p.returncode == 0 and not p.stdout:
            os.write(said, (use + "\n").encode())
            hook("post-tool", use, tool_response={"exit_code": 0})
        elif p.returncode not in (0, 2, -9) or (p.returncode == 0 and '"deny"' not in p.stdout):
            os.write(said, ("neither yes nor no: %d %s\n" % (p.returncode, p.stdout)).encode())
subprocess.Popen(["sh", "-c", "sleep 1000; :", os.getcwd() + "/lives"])
open("ready-" + name, "w").close()
for n in (1, 2):
    threading.Thread(target=work, args=(n,)).start()
PY
cat >sweep.py <<'PY'
import glob, json, os, random, signal, subprocess, sys, time
helm, home, ws, kind, rounds = sys.argv[1:5] + [int(sys.argv[5])]
env = {"PATH": os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
random.seed(7)
def processes():
    for d in glob.glob("/proc/[0-9]*"):
        try:
            yield int(d[6:]), open(d + "/cmdline").read().split("\0")
        except (OSError, UnicodeDecodeError):
            pass
def children(pid):
    found = []
    for task in glob.glob("/proc/%d/task/*/children" % pid):
        try:
            found += map(int, open(task).read().split())
        except OSError:
            pass
    return found
def victim(session):
    if kind == "supervisor":
        return session.pid
    if kind == "warden":  # ours, inside: everything else is below it
        return next(iter(children(session.pid)), None)
    hooks = [p for p, words in processes() if words[1:2] == ["hook"] and os.getcwd() in words]
    return random.choice(hooks) if hooks else None
def alive():
    return [p for p, words in processes() if os.getcwd() + "/lives" in words]
told = []
for n in range(rounds):
    name = "%s%d" % (kind, n)
    session = subprocess.Popen([helm, "agent", "--profile", "workspace_edit", sys.executable, "--", "client.py", helm, name], env=env,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # Some while it begins, some once it works, some once somebody was told something.
    until = time.monotonic() + 60
    mark = "told-" if n % 3 == 2 or kind == "hook" else "ready-" if n % 3 else None
    while mark and time.monotonic() < until and not (os.path.exists(mark + name) and (mark == "ready-" or os.path.getsize(mark + name))):
        time.sleep(0.01)
    time.sleep(random.random() * 0.25)
    for _ in range(8 if kind == "hook" else 1):
        who, until = None, time.monotonic() + 10
        while not who and time.monotonic() < until:
            who = victim(session)
            time.sleep(0 if who else 0.01)
        if who:
            try:
                os.kill(who, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02 if kind == "hook" else 0)
    if kind == "hook":
        session.send_signal(signal.SIGTERM)
    try:
        session.wait(20)
    except subprocess.TimeoutExpired:
        session.kill()
        session.wait()
        print("round %d: the session did not end" % n)
    until = time.monotonic() + 5
    while alive() and time.monotonic() < until:
        time.sleep(0.02)
    if alive():
        print("round %d: something runs on" % n)
        for p in alive():
            os.kill(p, signal.SIGKILL)
    if os.path.exists("told-" + name):
        told += open("told-" + name).read().split("\n")[:-1]
rows = {}
for line in open(ws + "/.helm/tool-calls.jsonl"):
    row = json.loads(line)
    if row.get("verdict"):
        rows[row.get("tool_use_id")] = row
decided = {json.loads(line)["decision_id"] for line in open(ws + "/.helm/receipts.jsonl")}
for use in told:
    row = rows.get(use)
    if not row or row["verdict"] != "ALLOW" or row["decision_id"] not in decided:
        print("told and not on record: " + use)
print("kept" if told else "nobody was told anything")
PY
sweep() { # sweep KIND ROUNDS
  python3 sweep.py "$HELM_REAL" "$home" "$ws" "$1" "$2" >"$scratch/.sweep" 2>&1
  [ "$(cat "$scratch/.sweep")" = kept ] && helm log check >/dev/null && return 0
  cat "$scratch/.sweep"
  helm log check
  return 1
}
ok "the supervisor killed at any moment: nothing runs on, and what was told is on record" sweep supervisor 6
ok_mounts "what holds the walls killed at any moment, too" sweep warden 4
ok "hooks killed at any moment leave the session and its record whole" sweep hook 2
ended() { helm agent true && ! helm agent list --all | grep -e running -e lost; }
ok "the next session finds and ends what was lost" ended

# ---- machines that can do less ----
machine=$HELM_BUILD/tests/lesser_machine_test
if [ -x "$machine" ] && "$machine" --without landlock true; then
  lesser() { # lesser WHAT: a session there
    env -i PATH="$PATH" HOME="$home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$machine" --without "$1" "$HELM_REAL" agent --profile workspace_edit sh -- -c 'echo made >lesser'
  }
  for lack in landlock landlock,namespaces; do
    ok "a machine without $lack: refused, with the remedy" says 25 "helm workspace trust --degraded write" lesser $lack
  done
  ok "nothing has happened there" test ! -e lesser
  ok "a machine without namespaces: the supervised sandbox stands" lesser namespaces
  ok "the row says so" sh -c 'tail -n 1 "$0" | grep "\"sandbox\": *\"supervised\"" | grep -q "\"degraded\": *false"' "$ledger"
  terminal TRUST -- helm workspace trust --degraded write,read,network,processes,state,end,privilege,own,autorun >/dev/null
  for lack in landlock landlock,namespaces; do
    rm -f lesser
    ok "without $lack: what a person accepted runs" lesser $lack
    ok "without $lack: as it should" test -s lesser
    ok "without $lack: and the row says what is missing" sh -c 'tail -n 1 "$0" | grep -q "\"degraded\": *true"' "$ledger"
  done
fi
finish
