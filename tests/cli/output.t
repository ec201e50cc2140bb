#!/bin/sh
# What commands print, all of them: text for people, one JSON document with --json, lines that keep to the screen's width.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"

cat >output.py <<'PY'
import json, os, re, shlex, subprocess, sys
helm, home, what = sys.argv[1:4]
project = os.path.join(home, "project")  # a directory one works in: the home itself is saved by nobody
os.makedirs(project, exist_ok=True)
env = {"PATH": os.path.dirname(helm) + ":" + os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8",
       "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
bad = 0

def run(words, columns=None, stdin=b""):
    e = dict(env, COLUMNS=str(columns)) if columns else env
    return subprocess.run([helm] + words, capture_output=True, env=e, cwd=project, input=stdin, timeout=60)

def text(words, columns=None):
    return run(words, columns).stdout.decode()

def fail(*words):
    global bad
    bad += 1
    print(*words)

def document(words):
    return json.loads(run(words).stdout)

def is_document(said):
    try:
        json.loads(said)
    except ValueError:
        return False
    return True

commands = document(["help", "--json"])["commands"]

def prepare():
    for words in (["init"], ["run", "--task-name", "first of two tasks", "--", "true"], ["run", "--", "ls"], ["run", "--", "rm", "-rf", "x"],
                  ["checkpoint", "create", "--label", "a"], ["skill", "new", "first"], ["skill-lifecycle", "scan"], ["log", "head", "--sign"], ["evidence", "export", "--all", "--out", "p.tar"]):
        run(words)
    with open(os.path.join(project, "doc.json"), "w") as f:
        f.write('{"a": 1}\n')
    with open(os.path.join(project, "p.policy"), "w") as f:
        f.write('module data { rule r { scope: node when: has_tag(delta.node, "pii") enforce: deny explain: CPI.DATA.FORBIDDEN.PII } }\n')
    with open(os.path.join(project, "pack.yaml"), "w") as f:
        f.write("kind: IndustryPack\nmetadata: {name: x, version: 1.0.0, industry: x}\nspec: {}\n")
    with open(os.path.join(project, "request.json"), "w") as f:
        f.write('{"subjects": [{"target": "node", "value": {"tags": ["pii"]}}]}\n')
    with open(os.path.join(project, "p.yaml"), "w") as f:
        f.write('format: helm.policy.v1\nname: p\nrules:\n  - {id: one, action: x, verdict: ALLOW}\n')
    with open(os.path.join(project, "p.test.yaml"), "w") as f:
        f.write('format: helm.policy-test.v1\ntests:\n  - {name: t, request: {action: x}, expect: {verdict: ALLOW}}\n')
    with open(os.path.join(project, "bench.json"), "w") as f:
        f.write('[{"tool": "read", "prefix": "/srv/", "max": 10}]\n')
    with open(os.path.join(project, "bench.ndjson"), "w") as f:
        f.write('{"tool": "read", "args": {"path": "/srv/a", "size": 1, "mode": "ro"}, "expect": true}\n')
    with open(os.path.join(project, "script.sh"), "w") as f:
        f.write("ls\nrm -rf /\n")
    with open(os.path.join(project, "r.jsonl"), "wb") as f:
        f.write(run(["receipts", "export"]).stdout)

# How each command is called here.  One that has arguments no line knows must be given one.
SPECIAL = {
    "harness contract": "--skill first", "harness preflight": "--profile inspect_local -- true", "harness run": "--profile inspect_local -- true", "harness postflight": "--task-id TASK", "harness record-evidence": "--task-id TASK --completion-evidence review:read", "edit read": "doc.json", "edit check": "doc.json", "browser check": "--profile inspect_local --action read --url-pattern x.org", "browser cleanup": "TASK --status ok", "action-scope evaluate": "--message 'show it'",
    "failures show": "00000000", "agent keep": "TASK .claude/x", "agent discard": "TASK", "task state": "TASK", "harness file-intake": "doc.json", "trace show": "TASK", "trace diff": "TASK TASK", "trace replay": "TASK", "loops inspect": "docs-sweep", "loops validate": "doc.json", "loops run": "docs-sweep", "loops resume": "x", "health watch": "--current-model x --duration-seconds 0",
    "skill show": "first", "skill run": "first", "skill accept": "first", "skill route": "first", "skill new": "second", "skill create": "--name third --description x", "skill draft-from-task": "--task-id TASK --name x --description y", "skill assess-draft": "--name x", "skill promote-draft": "--name x", "skill-diff": "--name x", "skill-review": "--name x", "skill-approve": "--name x", "skill-reject": "--name x --reason y",
    "skill-promotion details": "00000000", "skill-promotion approve": "00000000", "skill-promotion reject": "00000000", "skill-promotion reply": "'approve 00000000'", "skill-intake scan": ".", "skill-intake classify": "x", "skill-intake validate": "x --risk-class D0 --default-action y",
    "skill-lifecycle pin": "first", "skill-lifecycle unpin": "first", "skill-lifecycle archive": "first", "skill-lifecycle restore": "first", "skill-lifecycle view": "first", "skill-lifecycle revalidate-claim": "--skill first --claim-id x", "skill-lifecycle promote-from-trajectory": "--name x --description y",
    "curator pin": "first", "curator unpin": "first", "curator archive": "first", "curator restore": "first", "curator view": "first", "curator revalidate-claim": "--skill first --claim-id x", "curator promote-from-trajectory": "--name x --description y",
    "verify": "r.jsonl", "guard scan": "script.sh", "schema validate": "doc.json doc.json", "canonical": "doc.json",
    "evidence prove": "p.tar manifest.json", "evidence export": "--all --out q.tar", "conform run": "--cases .", "serve": "--policy none.yaml", "proxy pin": "request.json", "proxy sign-prices": "prices.json", "witness serve": "--log none", "witness ask": "--policy none --tiles . none", "proxy": "--upstream https://127.0.0.1:1/v1 --policy none.yaml", "serve key": "list", "serve invite": "--name x", "open": "--port 70000", "serve reload": "--url http://127.0.0.1:1", "policy eval": "true", "policy bench": "bench.json bench.ndjson", "policy lint": "p.policy", "policy fmt": "p.policy", "policy new": "two-tools", "policy compile": "p.policy", "policy import": "p.policy", "policy sign": "p.policy", "policy verify": "p.policy", "pack show": "pack.yaml", "policy explain": "p.policy --request request.json", "policy test": "p.yaml", "policy coverage": "p.yaml", "policy simulate": "p.yaml", "policy diff": "p.yaml p.yaml", "policy use": "p.yaml", "policy shadow": "report", "policy revoke": "00 --reason x", "profile pause": "inspect_local --reason x", "task complete": "TASK --force --evidence note:x",
    "task block": "TASK --reason because", "task mark-stale": "TASK --reason because", "task reclaim": "TASK --reason because",
    "profile resume": "inspect_local --token x", "log anchor": "--to anchor.json", "hook post-tool": "--client codex", "hook session-start": "--client claude-code", "adopt": "--from-path /usr",
    "hook pre-tool": "--client codex", "key revoke": "00", "approval grant": "-- rm -rf x", "profile run": "inspect_local -- true",
    "egress check": "example.com", "run": "-- true", "agent": "true", "outside": "dec-1", "agent stop": "TASK", "guard check": "-- ls", "guard explain": "-- ls", "completion": "bash", "setup": "claude-code --dry-run",
    "log consistency": "1", "memory capture-chat": "--task-name x", "memory finalize": "--task-id TASK --layer notes --file notes/x.md", "memory crystallize": "--task-id TASK --force", "memory op": "write --subject s --reason r --evidence e", "memory label": "--task-id TASK --to stale", "memory write": "--text 'the build needs make'", "memory accept": "mem-0", "memory reject": "mem-0", "memory revert": "mem-0", "memory merge": "MEMORY.md --base doc.json --input doc.json", "memory blame": "MEMORY.md", "memory note": "notes/x.md", "memory lint-phrase": "--state applied --text applied", "state lint-phrase": "--state applied --text applied", "frontmatter validate-vault": ".", "memory-tree refresh": "--trigger global_compact", "archive": "--before 2001-01-01", "contained": "dec-0 -- sh true", "key trust": "list", "operator-file": "list", "signer use": "/nowhere 00", "signer run": "--socket /nowhere/socket --for 0", "approval trust": "list", "freeze": "status", "allow": "list", "demo": "--path demo-ws", "privacy social": "--message 'read this post'",
    "mcp show": "nobody --seen", "mcp diff": "nobody --seen", "mcp add": "x -- true", "mcp approve": "nobody", "mcp revoke": "nobody", "mcp quarantine": "nobody", "mcp remove": "nobody",
    "signer log-key": "x", "signer log": "--socket /nowhere/socket --for 0", "serve fleet": "migrate --database host=/nowhere", "fleet tenant": "list --database host=/nowhere", "fleet token": "--database host=/nowhere",
    "fleet nodes": "--database host=/nowhere", "fleet search": "--database host=/nowhere", "fleet audit": "--database host=/nowhere", "fleet export": "--out q.pack --database host=/nowhere", "fleet freeze": "--database host=/nowhere",
    "fleet unfreeze": "--database host=/nowhere", "fleet lease": "off --database host=/nowhere", "fleet revoke-key": "00 --database host=/nowhere", "fleet orders": "--database host=/nowhere", "fleet questions": "--database host=/nowhere", "fleet approve": "approval-0 --message --database host=/nowhere", "fleet deny": "approval-0 --database host=/nowhere",
    "fleet approvers": "give none.json", "fleet root": "give none.json", "fleet retire": "1 --database host=/nowhere", "fleet reader": "list --database host=/nowhere",
    "mcp shadow": "report", "mcp authorize-call": "nobody echo", "mcp child": "nobody", "mcp import": "--dry-run",
}

def ids():
    tasks = document(["task", "list", "--json"])
    asked = document(["approval", "list", "--json", "--all"])
    request = re.search(r"approval-[0-9a-f]+", json.dumps(asked))
    return {"TASK": tasks[0]["task_id"], "CHECKPOINT": "latest", "PROFILE": "inspect_local", "CLIENT": "claude-code",
            "RECEIPT": "1", "REQUEST": request.group(0), "REQUEST|GRANT": request.group(0), "GRANT": "grant-x", "PACK": "p.tar",
            "RECEIPT|INDEX": "0"}

def call(c, known):
    name, args = c["name"], c["arguments"]
    if name in SPECIAL:
        tail = SPECIAL[name].replace("TASK", known["TASK"])
    elif args == "" or args.startswith("["):
        tail = ""
    elif args in known:
        tail = known[args]
    else:
        fail("no call is known for '%s %s'; add it to SPECIAL in tests/cli/output.t" % (name, args))
        tail = ""
    return name.split(), shlex.split(tail)

def is_json(out, is_lines):
    try:
        if is_lines:
            for line in out.splitlines():
                json.loads(line)
        else:
            json.loads(out)
        return True
    except ValueError:
        return False

# Prints what another program printed, or prints line by line while time goes on.
CHILD = ("run", "agent", "profile run", "skill run", "hook pre-tool", "hook post-tool", "hook session-start", "contained", "mcp gateway", "mcp child", "fleet ship")
# Their exit code 2 is an answer.
REFUSES = ("harness postflight", "browser cleanup", "skill-lifecycle restore", "skill-lifecycle revalidate-claim", "curator restore", "curator revalidate-claim",
           "profile audit-manifest-quality")
STREAM = ("receipts tail", "receipts export", "trace export")

def rule():
    known, seen = ids(), 0
    for c in commands:
        words, tail = call(c, known)
        if c["name"] in CHILD:
            continue
        seen += 1
        plain = run(words + tail)
        if plain.returncode == 2 and c["name"] not in REFUSES:
            fail("wrong usage:", words, tail, plain.stderr.decode())
        if not c["document"] and plain.stdout[:1] in (b"{", b"[") and is_document(plain.stdout):
            fail("JSON by default:", words, plain.stdout[:60])
        out = run(words + ["--json"] + tail).stdout
        if not out.strip() and (c["name"] in STREAM or c["name"] in REFUSES):
            continue
        if c["name"] != "completion" and not is_json(out, c["name"] in STREAM):
            fail("not JSON with --json:", words, tail, out[:80])
    print(seen, "commands")
    if seen < 80:
        fail("too few")

# A line is longer than the screen only where it ends in one word that fits nowhere, or in a command that is to be pasted.
def too_wide(line, width):
    if len(line) <= width or not line.split() or re.match(r"\s*(helm |.{0,%d}(: |')helm )" % (width // 2), line):
        return False
    start = len(line.rstrip()) - len(line.split()[-1])
    return start > width // 2 or (start > 0 and len(line.split()) > 1 and len(line.split()[-1]) <= width // 2)

def check_width(words, width):
    for line in text(words, width).splitlines():
        if too_wide(line, width):
            fail("too wide:", words, repr(line))

def same_words(words, width):
    def plain(columns):  # where there is little room, times are those of the clock on the wall
        shown = re.sub(r"\b(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|\+00:00)?", r"\1-\2", text(words, columns))
        return [re.sub(r".*[0-9].*", "N", w) for w in shown.split()]
    if plain(width) != plain(500):
        fail("other words at", width, "columns:", words)

LISTS = ("status", "status --brief", "dashboard", "task list", "checkpoint list", "receipts list", "receipts show 1", "profile list",
         "profile show inspect_local", "profile ledger", "approval list", "guard rules", "guard explain -- rm -rf x", "report",
         "setup status", "doctor", "key show", "log check", "help --all", "help checkpoint", "help look", "evidence summary p.tar")

def width():
    for line in LISTS:
        words = line.split()
        if not text(words):
            fail("prints nothing:", words)
        check_width(words, 60)
        same_words(words, 60)
    for c in commands:
        shown = text(c["name"].split() + ["--help"]).split("\nexamples:")[0]
        for line in shown.splitlines():
            if too_wide(line, 80):
                fail("help too wide:", c["name"], repr(line))

def overview():
    lines = text(["--help"]).splitlines()
    if not 24 <= len(lines) <= 41 or max(map(len, lines)) > 80:
        fail("the overview is", len(lines), "lines of up to", max(map(len, lines)), "columns")
    check_width(["--help"], 60)
    shown = text(["--help"])
    for c in commands:
        noun = c["name"].split()[0]
        if not c["plumbing"] and not re.search(r"(?m)^(\w+)? +%s( |$)" % re.escape(noun), shown):
            fail("the overview lacks", c["name"])
        if not re.search("  %s\\s" % c["name"], text(["help", "--all"]) + " "):
            fail("help --all lacks", c["name"])
        if not re.search("  %s\\s" % c["name"], text(["help", c["group"]]) + " "):
            fail("help", c["group"], "lacks", c["name"])
    for word in ("canonical", "conform", "schema", "hook ", "db "):
        if word in shown:
            fail("plumbing in the overview:", word)

# The same on a terminal of 60 columns, with colour: escape sequences stay whole and take no room.
def terminal():
    import fcntl, pty, struct, termios
    for line in ("--help", "help checkpoint", "task list", "dashboard", "guard explain -- rm -rf x", "profile list"):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        p = subprocess.Popen([helm] + line.split(), stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, cwd=project,
                             env=dict(env, TERM="xterm-256color"))
        os.close(slave)
        out = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            out += part
        p.wait()
        os.close(master)
        shown = out.decode()
        plain = re.sub("\033\\[[0-9;]*m", "", shown)
        if "\033[" not in shown:
            fail("no colour:", line)
        if "\033" in plain:
            fail("a broken escape sequence:", line)
        for one in plain.splitlines():
            if too_wide(one, 60):
                fail("too wide:", line, repr(one))

# Files of the home with their times: what a command has written.
def written():
    seen = {}
    for where, _, names in os.walk(home):
        for name in names:
            file = os.path.join(where, name)
            st = os.lstat(file)
            seen[file] = (st.st_size, st.st_mtime_ns, st.st_ino)
    return seen

# --path names the workspace, for every command.  One that is not there is told, and nothing is written; only these make it, and hooks
# say it in the form of their clients.
MAKES = ("init", "demo", "adopt", "onboard")
HOOKS = ("hook pre-tool", "hook post-tool", "hook session-start")
CALL = b'{"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "touch x"}, "hook_event_name": "PreToolUse"}'

def nowhere():
    known, gone = ids(), os.path.join(home, "gone")
    before = written()
    for c in commands:
        if c["name"] in MAKES:
            continue
        words, tail = call(c, known)
        said = run(words + ["--path", gone] + tail, stdin=CALL)
        if said.returncode == 0 and c["name"] not in HOOKS:
            fail("ends with 0:", words, tail)
        if gone not in (said.stdout + said.stderr).decode():
            fail("does not name the path:", words, tail, said.stdout + said.stderr)
        after = written()
        if after != before or os.path.exists(gone):
            fail("has written:", words, tail, [f for f in after if after[f] != before.get(f)])
            before = after
    print(len(commands), "commands")

prepare()
{"terminal": terminal, "rule": rule, "nowhere": nowhere, "width": width, "overview": overview}[what]()
sys.exit(1 if bad else 0)
PY
ok "the overview is one screen, and nothing is missing" python3 output.py "$HELM_REAL" "$scratch/home" overview
ok "nothing is wider than the screen, and no word is broken" python3 output.py "$HELM_REAL" "$scratch/home" width
ok "nor on a terminal, where there is colour" python3 output.py "$HELM_REAL" "$scratch/home" terminal
ok "every command refuses a workspace that is not there, and writes nothing" python3 output.py "$HELM_REAL" "$scratch/home" nowhere
ok "every command prints text, and one JSON document with --json" python3 output.py "$HELM_REAL" "$scratch/home" rule
# A command that is meant to be pasted stays one line, however narrow the screen.
whole() { # whole TEXT COMMAND...
  want=$1
  shift
  HELM_ENV="COLUMNS=30" helm "$@" >"$scratch/.narrow" 2>&1
  grep -qF -e "$want" "$scratch/.narrow" && return 0
  cat "$scratch/.narrow"
  return 1
}
ok "a command in quotes is not cut in two" whole "'helm setup codex --scope user'" setup status codex
words() { # words COMMAND...: what standard error says on a narrow screen keeps to it, and breaks no word
  HELM_ENV="COLUMNS=30" helm "$@" 2>"$scratch/.narrow" >/dev/null
  [ "$(wc -l <"$scratch/.narrow")" -gt 1 ] && ! grep -v "'\|/" "$scratch/.narrow" | grep -qE '.{31}' && return 0
  cat "$scratch/.narrow"
  return 1
}
ok "errors are wrapped between words, too" words status --path "$scratch"
ok "and what a run is refused for" words run -- sudo true
ok "nor is one behind a colon" whole "helm setup remove claude-code --scope user" setup claude-code --scope user --yes
finish
