#!/usr/bin/env python3
"""layers.py TABLES HELM SCRATCH CLIENT HOW HAS [MACHINE...] — one session of a client that writes everywhere it should not.

Reads the client's tables (session_tables_test --print), puts a program of the client's name on PATH that writes every place of them in one way (HOW),
runs it under `helm agent`, and compares the home byte for byte.  HAS: "old", the places exist before; "new", they do not.  Prints what is wrong, and
nothing when all is well.
"""
import json, os, shutil, signal, stat, subprocess, sys, time

tables, helm, scratch, name, how, has = sys.argv[1:7]
machine = sys.argv[7:]
EVIL = "evil-by-a-session\n"

def read_tables():
    all, one = {}, None
    for line in subprocess.run([tables, "--print"], check=True, capture_output=True, text=True).stdout.splitlines():
        word, rest = line.split(" ", 1)
        if word == "client":
            one = all.setdefault(rest, {})
        one.setdefault(word, []).append(rest)
    return all

table = read_tables()[name]
program, variable = table["program"][0], table["variable"][0]
state = table["state"]
carried = [row.split(" ") for row in table.get("carried", [])]

# Everything by which something could start: what the tables name, what every client has, and the shell's and git's own.
EXTRA = ["CLAUDE.md", "AGENTS.md", "agents/x.md", "commands/x.md", "skills/x/SKILL.md", "plugins/x/plugin.json", "hooks/x.sh", "hooks.json",
         "local/claude", "bin/x", "shell-snapshots/x.sh", "settings.json", "settings.local.json", "managed_config.toml", "config.toml",
         "prompts/x.md", "rules/x.rules", "output-styles/x.md", "keybindings.json", "statusline.sh", "projects/p/x.sh", "projects/p/memory/MEMORY.md"]
HOME = [".bashrc", ".profile", ".zshrc", ".gitconfig", ".config/git/config", ".ssh/config", ".local/bin/ls", ".config/autostart/x.desktop"]
SAMPLE = {"lines": '{"old":1}\n', "json": '[{"old":1}]\n', "members": json.dumps({"numStartups": 1, "mcpServers": {"old": {"command": "true"}},
          "projects": {"/p": {"hasTrustDialogAccepted": False, "lastCost": 1}}, "oauthAccount": {"accountUuid": "A"}}),
          "login": json.dumps({"claudeAiOauth": {"accessToken": "old", "expiresAt": 5}, "tokens": {"account_id": "A", "access_token": "old"},
          "last_refresh": "2026-01-01T00:00:00Z", "OPENAI_API_KEY": None})}

def samples():
    for row in carried:
        path, kind, suffix = (row + [""])[:3]
        yield (path + "p/s" + suffix if path.endswith("/") else path), kind

places = [p if not p.endswith("/") else p + "y" for p in table.get("closed", [])]
places += [f.replace("*", "x") if not f.endswith("/") else f + "y" for f in table.get("file", []) if any(f.startswith(s) for s in state)]
places += [d + e for d in state if d.endswith("/") for e in EXTRA] + HOME
places = sorted(set(places) - {p for p, _ in samples()})

home, project, bin = (os.path.join(scratch, n) for n in ("home", "project", "bin"))

def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)

def snapshot():
    found = {}
    for top, dirs, files in os.walk(home):
        if top == home:
            dirs[:] = [d for d in dirs if d != ".helm"]
        for n in dirs + files:
            path = os.path.join(top, n)
            st = os.lstat(path)
            content = os.readlink(path) if stat.S_ISLNK(st.st_mode) else open(path, "rb").read() if stat.S_ISREG(st.st_mode) else None
            found[os.path.relpath(path, home)] = (stat.S_IFMT(st.st_mode), stat.S_IMODE(st.st_mode), content)
    return found

WRITER = r'''#!/usr/bin/env python3
import json, os, sys, time, subprocess
job = json.load(open(%(job)r))
how, evil, home = job["how"], job["evil"], os.environ["HOME"]
moved = os.environ.get(job["variable"]) if job["variable"] != "-" else None
def inside(path):
    "where this client has its state now"
    if moved and path.startswith(job["state"][0]):
        return os.path.join(moved, path[len(job["state"][0]):])
    if moved and path in job["moved"]:
        return os.path.join(moved, path)
    return os.path.join(home, path)
def attempt(do):
    try:
        do()
    except OSError:
        pass
def plain(path, text):
    attempt(lambda: os.makedirs(os.path.dirname(path), exist_ok=True))
    def write():
        with open(path, "w") as f:
            f.write(text)
    attempt(write)
def do(path, text):
    attempt(lambda: os.makedirs(os.path.dirname(path), exist_ok=True))
    if how == "rename":
        plain(path + ".tmp", text)
        attempt(lambda: os.rename(path + ".tmp", path))
        attempt(lambda: os.unlink(path + ".tmp"))
    elif how == "symlink":
        attempt(lambda: os.unlink(path))
        attempt(lambda: os.symlink(job["target"], path))
    elif how == "hardlink":
        attempt(lambda: os.unlink(path))
        attempt(lambda: os.link(job["target"], path))
    elif how == "fifo":
        attempt(lambda: os.unlink(path))
        attempt(lambda: os.mkfifo(path))
    else:
        plain(path, text)
        if how == "chmod":
            attempt(lambda: os.chmod(path, 0o6777))
            attempt(lambda: os.chmod(os.path.dirname(path), 0o311))
def all():
    for path in job["places"]:
        for at in {inside(path), os.path.join(job["home"], path)}:
            do(at, evil)
    for path, text in job["samples"]:
        do(inside(path), text)
if how == "background":
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(0.2)
            all()
            os._exit(0)
        os._exit(0)
    time.sleep(0.4)
else:
    all()
print("written")
if how == "kill":
    open(os.path.join(job["project"], "ready"), "w").close()
    time.sleep(60)
'''

def changed(kind):
    """What a session makes of a file that comes back: something new, and something that must not."""
    if kind == "members":
        return json.dumps({"numStartups": 7, "theme": {"not": "a text"}, "mcpServers": {"evil": {"command": "evil"}}, "hooks": {"x": "evil"},
                           "env": {"A": "evil"}, "projects": {"/p": {"hasTrustDialogAccepted": True, "lastCost": 9, "mcpServers": {"evil": 1}},
                           "/q": {"lastCost": 3, "allowedTools": ["evil"]}}, "oauthAccount": {"accountUuid": "B"}})
    if kind == "login":
        return json.dumps({"claudeAiOauth": {"accessToken": "evil", "expiresAt": 9}, "tokens": {"account_id": "B", "access_token": "evil"},
                           "last_refresh": "2026-09-09T00:00:00Z", "OPENAI_API_KEY": "evil"})
    return SAMPLE[kind] + ('{"new":1}\n' if kind == "lines" else "") if has == "old" or kind == "json" else '{"new":1}\n'

def main():
    os.chdir(project)
    for d in state:
        shutil.rmtree(os.path.join(home, d), ignore_errors=True) if d.endswith("/") else os.path.exists(os.path.join(home, d)) and os.unlink(os.path.join(home, d))
    for p in HOME:
        if os.path.lexists(os.path.join(home, p)):
            os.unlink(os.path.join(home, p))
    if has == "old":
        for p in places:
            put(os.path.join(home, p), "old\n")
        for p, kind in samples():
            put(os.path.join(home, p), SAMPLE[kind])
    target = os.path.join(project, "target")
    put(target, EVIL)
    os.chmod(target, 0o755)
    job = os.path.join(project, "job.json")
    json.dump({"how": how, "evil": EVIL, "places": places, "samples": [(p, changed(k)) for p, k in samples()], "variable": variable, "state": state,
               "moved": table.get("moved", []), "home": home, "project": project, "target": target}, open(job, "w"))
    os.makedirs(bin, exist_ok=True)
    put(os.path.join(bin, program), WRITER % {"job": job})
    os.chmod(os.path.join(bin, program), 0o755)
    before = snapshot()
    env = {"PATH": bin + ":" + os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
    argv = machine + [helm, "agent", "--profile", "workspace_edit", name]
    if os.path.exists("ready"):
        os.unlink("ready")
    if how == "kill":
        p = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        until = time.monotonic() + 20
        while not os.path.exists("ready") and time.monotonic() < until:
            time.sleep(0.02)
        if not os.path.exists("ready"):
            sys.exit("the session did not begin")
        pid = p.pid
        if machine:  # the filter stands in front of helm and becomes it
            pid = p.pid
        os.kill(pid, signal.SIGKILL)
        p.wait()
        if snapshot() != before:
            print("something changed before the layer was ended")
        until = time.monotonic() + 10
        said = ""
        while "put in order" not in said and time.monotonic() < until:
            said += subprocess.run(machine + [helm, "run", "--profile", "inspect_local", "--", "true"], env=env, capture_output=True, text=True).stderr
        if "put in order" not in said:
            print("the next run does not say that it ended the layer: " + said)
    else:
        p = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if "written" not in p.stdout:
            sys.exit("the session did not run: %s%s" % (p.stdout, p.stderr))
    check(before, snapshot(), env)

def check(before, after, env):
    back = {p for p, _ in samples()}
    dirs = {os.path.dirname(p) for p in back}
    for d in list(dirs):
        while d:
            dirs.add(d)
            d = os.path.dirname(d)
    for path in sorted(set(before) | set(after)):
        if before.get(path) == after.get(path):
            continue
        kind, mode, content = after.get(path, (0, 0, None))
        if path in dirs and kind == stat.S_IFDIR and path not in before and mode == 0o700:
            continue
        if path not in back or kind != stat.S_IFREG or mode & 0o7111 or (path in before and before[path][1] != mode):
            print("%s: %s became %s" % (path, before.get(path), after.get(path)))
        elif content is not None and b"evil" in content:
            print("%s holds what must not come back: %s" % (path, content))
    for path, kind in samples():
        content = after.get(path, (0, 0, b""))[2] or b""
        came = how in ("plain", "rename", "chmod", "background", "kill")
        if kind == "lines" and came != (b'"new"' in content):
            print("%s: %s" % (path, content))
        if kind == "members" and came:
            doc = json.loads(content)
            wanted = {"numStartups": 7, "projects": {"/p": {"lastCost": 9}, "/q": {"lastCost": 3}}}
            if has == "old":
                wanted = json.loads(SAMPLE[kind])
                wanted["numStartups"] = 7
                wanted["projects"]["/p"]["lastCost"] = 9
                wanted["projects"]["/q"] = {"lastCost": 3}
            if doc != wanted:
                print("%s: %s" % (path, doc))
    report = json.loads(subprocess.run([helm, "agent", "report", "--json"], env=env, capture_output=True, text=True).stdout)
    told = {row["path"] for row in report.get("session_left", [])}
    missing = [p for p in places if any(p.startswith(s) for s in state) and p not in told and not any(p.startswith(d) for d in table.get("dropped", []))]
    closed = [c for c in table.get("closed", [])]
    if has == "old":
        missing = [p for p in missing if not any(p == c or (c.endswith("/") and p.startswith(c)) for c in closed)]
    if how in ("plain", "rename", "kill", "symlink", "fifo", "background") and missing:
        print("the report does not tell: %s" % missing)

main()
