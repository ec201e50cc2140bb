"""week.py — a week of work, for tests of views: hundreds of calls of agents and of runs, each at its own hour, by the program itself with a fixed clock.

Usage: week.py TWIN WORKSPACE, in the directory of a project; HOME is the home that it happens in.  The same week every time: who calls what, and when."""
import json, os, subprocess, sys
from datetime import datetime, timezone

TWIN, WORKSPACE, PROJECT = sys.argv[1], sys.argv[2], os.getcwd()
MONDAY = int(datetime(2025, 11, 10, tzinfo=timezone.utc).timestamp())
calls = 0


def helm(day, minute, *words, given=None):
    """One helm at this minute of this day, the first being Monday."""
    env = dict(os.environ, HELM_TEST_CLOCK_US=str((MONDAY + day * 86400 + minute * 60) * 1000000), HELM_TEST_SEED=str(day * 1440 + minute))
    return subprocess.run([TWIN, *words], env=env, input=given or "", text=True, capture_output=True)


def call(day, minute, client, session, tool, what, code=None, write=None):
    """A call of an agent; with an exit code also the note that it was made, before which it writes what it writes."""
    global calls
    calls += 1
    doc = {"tool_name": tool, "tool_input": what, "session_id": session, "cwd": PROJECT, "tool_use_id": "u%d" % calls}
    helm(day, minute, "hook", "pre-tool", "--client", client, given=json.dumps(doc))
    if code is None: return
    if write:
        with open(write, "a") as f: f.write("%d\n" % calls)
    helm(day, minute, "hook", "post-tool", "--client", client, given=json.dumps(dict(doc, tool_response={"exit_code": code})))


def bash(day, minute, client, session, command, code=None): call(day, minute, client, session, "Bash", {"command": command}, code)


def run(day, minute, *words): helm(day, minute, "run", "--path", WORKSPACE, "--", *words)


def a_day(day):
    """What is alike on every day: looking, testing, changing, and two things that are refused."""
    s, t = "claude-%d" % day, "codex-%d" % day
    for n in range(12): bash(day, 540 + 9 * n, "claude-code", s, "git status --short")
    for n in range(6):
        path = PROJECT + "/" + ("cart.js" if n % 2 else "api.js")
        call(day, 660 + 5 * n, "claude-code", s, "Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, 0, path)
    for n in range(4): bash(day, 700 + 7 * n, "claude-code", s, "jq . package.json", 5 if n < 3 else 0)
    for n in range(day + 1): bash(day, 760 + n, "codex", t, "git push origin main")
    bash(day, 800, "codex", t, "ls -la")
    run(day, 820, "true")
    run(day, 830, "sh", "-c", "exit 3")


for day in range(7): a_day(day)
# Sunday, the day before the report: what is asked, what is never allowed, and what can be undone.
os.mkdir("build")
for n in range(3): bash(6, 900 + n, "codex", "codex-6", "rm -rf /")
bash(6, 910, "codex", "codex-6", "cat ~/.ssh/id_ed25519")
helm(6, 915, "profile", "run", "risky_edit", "--workspace", WORKSPACE, "--", "true")
bash(6, 920, "claude-code", "claude-6", "rm -rf build")
