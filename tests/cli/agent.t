#!/bin/sh
# Supervised sessions: a whole client inside the walls, on a terminal of its own, with hooks that ask the supervisor; what is permitted
# and does not fit through the walls is done outside, once; and nothing inside gets further than that.
#
# The client is a script that behaves like one.
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace
git init -q . 2>/dev/null
register_approver
unchosen() {
  helm agent sh -- -c 'printf "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"touch x\"},\"session_id\":\"s\",\"tool_use_id\":\"d\",\"cwd\":\"%s\"}" "$PWD" | "$0" hook pre-tool --client claude-code' "$HELM_REAL" &&
    [ "$(newest | member profile)" = develop ] && is "$(grep -h '"hook/claude-code"' "$ws/.helm/receipts.jsonl" | tail -n 1 | member metadata.profile)" develop
}
project=$scratch/project
home=$scratch/home

# client NAME: a script from standard input, that finds these.
client() {
  {
    cat <<SH
#!/bin/sh
helm=$HELM_REAL ws=$ws home=$home project=$project scratch=$scratch
ask() { # ask ID COMMAND: the hook before a shell call
  printf '{"tool_name":"Bash","tool_input":{"command":"%s","timeout":7},"session_id":"s","tool_use_id":"%s","cwd":"%s"}' "\$2" "\$1" "\$PWD" |
    \$helm hook pre-tool --client claude-code
}
told() { # told ID: the hook after it
  printf '{"tool_name":"Bash","tool_input":{},"tool_response":{"exit_code":0},"session_id":"s","tool_use_id":"%s"}' "\$1" |
    \$helm hook post-tool --client claude-code
}
SH
    cat
  } >"$scratch/$1"
  chmod +x "$scratch/$1"
}
session() { helm agent "$@"; }
newest() { helm agent report --json; }
member() { python3 -c 'import json,sys
v = json.load(sys.stdin)
for n in sys.argv[1].split("."):
    v = v[int(n)] if n.isdigit() else v[n]
print(v)' "$1"; }
is() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }

ok "where nobody has chosen a profile, a session and its calls have the one for agents" unchosen
# The others run scripts that lie in /tmp, which that profile keeps for itself.
terminal -- helm profile use workspace_edit >/dev/null 2>&1 || terminal USE -- helm profile use workspace_edit

# ---- as bare ----
client plain <<'SH'
cat
echo out; echo err >&2
exit 7
SH
bare() { [ "$(echo in | session "$scratch/plain" 2>"$scratch/err"; echo $?)" = "in
out
7" ] && [ "$(cat "$scratch/err")" = err ]; }
ok "streams and exit code are the client's" bare
client dies <<'SH'
kill -TERM $$
SH
died() { python3 - "$HELM_REAL" "$scratch/dies" "$home" <<'PY'
import os, subprocess, sys
p = subprocess.run([sys.argv[1], "agent", sys.argv[2]], env={"PATH": os.environ["PATH"], "HOME": sys.argv[3]})
sys.exit(0 if p.returncode == -15 else "ended with %d" % p.returncode)
PY
}
ok "who dies by a signal is seen to die by it" died
ok "a client that is not there is 127" exits 127 session "$scratch/nothing-here"
ok "and it is said what helps" says 127 "name its program with its path" session "$scratch/nothing-here"
ok "a detached one that is not there never began" says 1 "'$scratch/nothing-here' is not there" helm agent --detach "$scratch/nothing-here"
ok "and left no session" sh -c '! printf %s "$0" | grep -q "nothing-here.*running"' "$(helm agent list --all)"
client refused <<SH
printf '{"tool_name":"Bash","tool_use_id":"w","session_id":"s","cwd":"%s","tool_input":{"command":"touch $home/new"},"tool_response":{"stdout":"","stderr":"touch: cannot touch %s: Permission denied"}}' "\$PWD" "'$home/new'" |
  $HELM_REAL hook post-tool --client claude-code
SH
wall_told() {
  session "$scratch/refused" >"$scratch/said" 2>&1
  grep -q "additionalContext\":\"the sandbox refused $home/new: .*helm allow path DIR" "$scratch/said" && return 0
  cat "$scratch/said"
  return 1
}
ok "what a wall refused is told to the model after the call, with what a person can do" wall_told

# ---- hooks ----
client calls <<'SH'
ask u1 'ls'
ask u2 'touch made'
touch made
told u2 || echo "after $?"
ask u3 'rm -rf /'
$helm hook pre-tool --client claude-code </dev/null
echo "payload $?"
SH
calls() {
  session "$scratch/calls" >"$scratch/said" 2>&1 || { cat "$scratch/said"; return 1; }
  grep -q '"permissionDecision":"deny".*deny.rm_root' "$scratch/said" && is "$(grep -c hookSpecific "$scratch/said")" 1 &&
    grep -q 'payload 2' "$scratch/said"
}
ok "a hook inside gets the supervisor's answer: silence, or a refusal in the client's words; no payload is a block" calls
on_record() {
  id=$(newest | member task_id)
  python3 - "$ws/.helm/tool-calls.jsonl" "$ws/.helm/receipts.jsonl" "$id" <<'PY'
import json, sys
rows = [r for r in map(json.loads, open(sys.argv[1])) if r.get("agent_task") == sys.argv[3]]
verdicts = [r["verdict"] for r in rows if "verdict" in r]
assert verdicts == ["ALLOW", "ALLOW", "DENY"], verdicts
assert all(r["client_pid"] > 0 and r["client_start"] > 0 for r in rows if "verdict" in r), rows
chain = [json.loads(line) for line in open(sys.argv[2])]
mine = [c for c in chain if c.get("metadata", {}).get("task_id") == sys.argv[3]]
assert len([c for c in mine if c["metadata"]["door"] == "agent"]) == 2, mine
assert len([c for c in mine if c["metadata"]["door"] == "hook/claude-code"]) == 2, mine
decided = [r["decision_id"] for r in rows if r.get("tool_use_id") == "u2" and "verdict" in r][0]
assert any(c["decision_id"] == decided and c["status"] == "COMPLETED" for c in chain)
PY
}
ok "its calls are on record with the session's id, and so is what became of them" on_record
ok "the log is sound" helm log check
ok "a task row says that it is a session" sh -c "grep -q '\"kind\": *\"agent\"' '$ledger'"
client looks <<'SH'
ask k1 'ls'
ask k2 'rm -rf /' >/dev/null
$helm status
$helm status --json >look.json
SH
looks() {
  says 0 "(looks under workspace_edit): 2 calls, 0 asked, 1 refused" session "$scratch/looks" && is "$(member agent_session.client <look.json)" looks
}
ok "status inside says which session it is in" looks
client asks <<'SH'
$helm agent sh
SH
ok "a session in a session is refused" says 25 "inside a supervised session already" session "$scratch/asks"
ok "outside of a session there is nothing to redeem" says 1 "not inside a supervised session" helm outside dec-1
client rotated <<'SH'
ask o1 'touch one'
touch asked
while [ ! -e rotated ]; do sleep 0.05; done
ask o2 'touch two'
SH
wait_for() {
  waited=0
  while [ ! -e "$1" ] && [ $waited -lt 400 ]; do
    sleep 0.05
    waited=$((waited + 1))
  done
}
# The supervisor signs by the key that is in force, also when that is another one than at its last call.
rotated() {
  rm -f asked rotated
  session "$scratch/rotated" >"$scratch/said" 2>&1 &
  wait_for asked
  terminal -- helm key rotate --reason test >/dev/null 2>&1 || return 1
  touch rotated
  wait $!
  helm log check && python3 - "$ws/.helm/receipts.jsonl" <<'PY'
import json, sys
calls = [r for r in map(json.loads, open(sys.argv[1])) if r.get("metadata", {}).get("door") == "hook/claude-code"][-2:]
old, new = (r["key_id"].split(":")[1] for r in calls)
assert old != new and old not in json.dumps(calls[1]), calls
PY
}
ok "a key that is exchanged meanwhile counts from the next call on" rotated
storm() {
  session "$scratch/storm" >"$scratch/said" 2>&1 || { cat "$scratch/said"; return 1; }
  is "$(newest | member calls.all)" 24 && is "$(grep -c hookSpecific "$scratch/said")" 24 && helm log check
}
client storm <<'SH'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do ask "s$i" "rm -rf / $i" & done
wait
SH
ok "many at once are all answered and all on record" storm
meanwhile() {
  rm -f "$scratch/said"
  session "$scratch/waits" >"$scratch/said" 2>&1 &
  while ! grep -q first "$scratch/said" 2>/dev/null; do sleep 0.02; done
  helm freeze --reason test >/dev/null; : >"$project/go"
  wait $!
  terminal UNFREEZE -- helm unfreeze >/dev/null 2>&1 || helm unfreeze --key "$boss" >/dev/null
  grep -q SYSTEM_FROZEN "$scratch/said" || { cat "$scratch/said"; return 1; }
}
client waits <<'SH'
ask f1 'touch a'; echo first
while [ ! -e go ]; do sleep 0.02; done
ask f2 'touch b'
SH
ok "what a person decides meanwhile counts for the next call" meanwhile

client crowd <<'SH'
python3 - <<'PY'
import ctypes, select, socket, time
libc = ctypes.CDLL(None)
def call():
    fd = libc.socket(1, 1, 0x48454c4d)
    return socket.socket(fileno=fd) if fd >= 0 else None
silent = [s for s in (call() for _ in range(400)) if s]
until, gone = time.monotonic() + 5, set()
while time.monotonic() < until and len(silent) - len(gone) > 192:
    gone.update(select.select([s for s in silent if s not in gone], [], [], 0.2)[0])
print("left", 128 <= len(silent) - len(gone) <= 192, len(silent) - len(gone))
for s in silent:
    s.close()
# One byte now and then does not keep anybody waiting for longer than a message may take (ten seconds).  Whoever comes while the crowd is still leaving
# is turned away at once: that one asks again.  On a busy machine the end may come late, but it is the desk that makes it.
def is_ended():
    while time.monotonic() - began < 60:
        try:
            if select.select([slow], [], [], 1)[0]:
                return True
            slow.sendall(b" ")
        except OSError:
            return True
    return False
for _ in range(100):
    began = time.monotonic()
    slow = call()
    ended, took = is_ended(), time.monotonic() - began
    if took > 5:
        break
    slow.close()
    time.sleep(0.1)
print("slow", ended and took > 9, took)
PY
ask after 'rm -rf /'
SH
crowd() {
  session "$scratch/crowd" >"$scratch/said" 2>&1 || { cat "$scratch/said"; return 1; }
  grep -q '^left True' "$scratch/said" && grep -q '^slow True' "$scratch/said" && grep -q deny.rm_root "$scratch/said" || { cat "$scratch/said"; return 1; }
}
ok "who asks and says nothing is not kept by the hundred, nor is who says it slowly, and the next one is answered" crowd

# ---- the walls ----
client attacks <<'SH'
cat "$home/.helm/keys/root.key" >/dev/null 2>&1 && echo "read the key"
ls "$home/.helm/keys" 2>/dev/null | grep -q . && echo "saw the keys"
(echo x >>"$ws/.helm/receipts.jsonl") 2>/dev/null && echo "wrote the chain"
(echo x >"$home/outside") 2>/dev/null && echo "wrote in the home"
(head -c 1 /proc/1/mem || cat /proc/1/environ) 2>/dev/null | grep -q . && echo "read the supervisor"
[ -z "${HAS_PROC:-}" ] || for p in /proc/[0-9]*; do
  tr '\0' ' ' <$p/cmdline 2>/dev/null | grep -q terminal.py && echo "saw other processes"
done
kill -0 "$HELM_OUTER" 2>/dev/null && echo "signalled the supervisor"
mkdir -p .helm-test && (mkfifo "$ws/.helm/x") 2>/dev/null && echo "made a file in the state"
python3 - <<'PY'
import socket, os, ctypes
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        socket.socket(socket.AF_UNIX, kind)
        print("made a unix socket")
    except OSError:
        pass
# Somebody at the desk who says nonsense, or nothing.
for text in (b"\n", b"{}\n", b'{"ask":"hook","bytes":99999999}\n', b'{"ask":"outside","id":"x"}\n', b"x" * 70000, b'{"ask":"sign"}\n'):
    s = socket.socket(fileno=ctypes.CDLL(None).socket(1, 1, 0x48454c4d))
    s.sendall(text)
    said = s.recv(65536)
    if b'"error"' not in said:
        print("answered", text[:40], said)
s = socket.socket(fileno=ctypes.CDLL(None).socket(1, 1, 0x48454c4d))
s.close()
PY
echo done
SH
attacks() {
  is "$(HELM_ENV="HELM_OUTER=$$ HAS_PROC=$has_proc" session "$scratch/attacks" 2>&1)" "done" && helm log check
}
can_mount_proc && has_proc=yes || has_proc=
[ -n "$has_proc" ] || skip "a client sees no processes outside" "$no_proc"
ok "key, chain, home, supervisor and other programs are out of reach, and nonsense at the desk is refused" attacks

# ---- the terminal ----
client screen <<'SH'
tty; stty size
trap 'echo resized $(stty size)' WINCH
echo ready
line=
while [ -z "$line" ]; do read -r line; done
echo "got $line"
python3 - <<'PY'
import fcntl, os, termios
try:
    fcntl.ioctl(0, termios.TIOCSTI, b"x")
    print("typed")
except OSError:
    print("cannot type")
try:
    print("terminals:", sorted(os.listdir("/dev/pts")))
except PermissionError: # without a devpts of its own all of it is closed
    print("terminals:", [os.path.basename(os.ttyname(1)), "ptmx"])
try:
    fd = os.open("/dev/tty", os.O_RDWR)
    print("own:", os.ttyname(1), os.get_terminal_size(fd))
except OSError as e:
    print(e)
PY
kill -STOP $$
echo again
exit 3
SH
person() { env HOME="$home" python3 "$HELM_SOURCE/tests/tools/session.py" "$@"; }
screen() {
  person --size 30x90 wait:ready mode:raw size:40x100 'wait:resized 40 100' 'type:hello\n' 'wait:got hello' wait:own: shell mode:cooked \
    'type:fg\n' wait:again shell mode:cooked -- "$HELM_REAL" agent "$scratch/screen" >"$scratch/said"
  is $? 3 || { cat "$scratch/said"; return 1; }
  own=0
  [ "$(sandbox_kind)" = namespaces ] || own='[0-9]*' # one of the machine's
  for line in "/dev/pts/$own" '30 90' 'cannot type' "terminals: \['$own', 'ptmx'\]" "own: /dev/pts/$own os.terminal_size(columns=100, lines=40)" Stopped; do
    grep -q "$line" "$scratch/said" || { echo "no $line"; cat "$scratch/said"; return 1; }
  done
}
ok "its terminal is its own: size, keys, stop and go on as bare, exit code, and the person's is given back" screen
# A shell that is interrupted just before it starts a command may go on to wait for it, also without Helm: the client here is one program.
client loops <<'SH'
exec python3 -c 'import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
print("ready", flush=True)
signal.alarm(60)
signal.pause()'
SH
interrupted() {
  person wait:ready mode:raw 'type:\x03' shell mode:cooked -- "$HELM_REAL" agent "$scratch/loops" >"$scratch/said"
  is $? 130 || { cat "$scratch/said"; return 1; }
}
ok "Ctrl-C ends the client, not the supervisor's record" interrupted
ok "and the terminal is given back when the supervisor is told to end" sh -c "
  env HOME='$home' python3 '$HELM_SOURCE/tests/tools/session.py' wait:ready mode:raw signal:15 shell mode:cooked -- '$HELM_REAL' agent '$scratch/loops' >/dev/null; [ \$? -eq 143 ]"

# ---- outside ----
if command -v curl >/dev/null 2>&1; then
  python3 - "$scratch/port" "$scratch/served" $$ <<'PY' &
import http.server, os, sys, threading, time
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(sys.argv[2], "a") as f:
            f.write(self.path + "\n")
        self.send_response(200); self.end_headers(); self.wfile.write(b"from outside\n")
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
threading.Thread(target=s.serve_forever, daemon=True).start()
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(s.server_address[1]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
while os.path.exists(sys.argv[1]) and os.path.exists("/proc/" + sys.argv[3]):
    time.sleep(0.1)
PY
  while [ ! -s "$scratch/port" ]; do sleep 0.02; done
  url=http://0.0.0.0:$(cat "$scratch/port") # not a name of this machine to the guard, and yet this machine
  client pushes <<SH
ask p1 'curl -s $url/push'
curl -s -m 2 $url/direct; echo "direct \$?"
while [ ! -e approved ]; do sleep 0.02; done
answer=\$(ask p2 'curl -s $url/push')
printf '%s\n' "\$answer" >answer.json
command=\$(python3 -c 'import json; print(json.load(open("answer.json"))["hookSpecificOutput"]["updatedInput"]["command"])')
echo "instead \$command"
sh -c "\$command"; echo "first \$?"
sh -c "\$command"; echo "second \$?"
while [ ! -e other ]; do sleep 0.02; done
SH
  client steals <<'SH'
sh -c "$(python3 -c 'import json; print(json.load(open("'$project'/answer.json"))["hookSpecificOutput"]["updatedInput"]["command"])')"; echo "stolen $?"
SH
  outside() {
    rm -f "$scratch/said"
    session "$scratch/pushes" >"$scratch/said" 2>&1 &
    while ! grep -q direct "$scratch/said" 2>/dev/null; do sleep 0.02; done
    asked=$(helm approval list --json | grep -o 'approval-[0-9a-f]*' | tail -n 1)
    helm approval approve "$asked" --key "$boss" >"$scratch/err" 2>&1 || { cat "$scratch/err"; return 1; }
    : >"$project/approved"
    while ! grep -q second "$scratch/said" 2>/dev/null && kill -0 $! 2>/dev/null; do sleep 0.02; done
    session "$scratch/steals" >>"$scratch/said" 2>&1
    : >"$project/other"
    wait $! || { cat "$scratch/said"; return 1; }
    for line in 'needs approval for Bash' 'risk.leaves_walls' 'direct 7' 'from outside' 'first 0' 'permits nothing here' 'second 25' 'stolen 25'; do
      grep -q "$line" "$scratch/said" || { echo "no $line"; cat "$scratch/said"; return 1; }
    done
    grep -q '"permissionDecision":"deny"' "$scratch/said" || { echo "the client was to ask"; return 1; }
    grep -q '"timeout":7' answer.json || { cat answer.json; return 1; }
    is "$(cat "$scratch/served")" /push
  }
  ok "what a person permitted and the walls stop is done outside, exactly once, for this session only" outside
  told_outside() {
    id=$(helm agent list --all --json | python3 -c 'import json,sys; print([s["task_id"] for s in json.load(sys.stdin)["sessions"] if s["client"] == "pushes"][0])')
    helm agent report "$id" >"$scratch/said" && grep -q '1 left the walls' "$scratch/said" && grep -q 'curl -s .*/push *(completed)' "$scratch/said" || { cat "$scratch/said"; return 1; }
    is "$(helm agent report "$id" --json | member outside.0.profile)" service_ops && helm log check
  }
  ok "the report says what left the walls" told_outside
  # A network by name: the client's own service is named for it, and nothing else.
  mkdir -p "$scratch/net"
  cat >"$scratch/net/claude" <<SH
#!/bin/sh
curl -s --noproxy "" "\$ANTHROPIC_BASE_URL/service"
curl -s --noproxy "" "http://127.0.0.1:1/"
SH
  chmod +x "$scratch/net/claude"
  python3 - "$HELM_SOURCE/share/execution_profiles.json" >"$ws/references/execution_profiles.json" <<'PY'
import json, sys
doc = json.load(open(sys.argv[1]))
doc["profiles"]["netted"] = dict(doc["profiles"]["workspace_edit"], network="named", network_allowed=True, egress=["example.com"])
json.dump(doc, sys.stdout)
PY
  by_name() {
    trust "$ws" >"$scratch/said" 2>&1 || { cat "$scratch/said"; return 1; }
    PATH=$scratch/net:$PATH HELM_ENV="ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat "$scratch/port")" session claude-code --profile netted >"$scratch/said" 2>&1
    grep -q 'from outside' "$scratch/said" && grep -q '127.0.0.1:1 is not named' "$scratch/said" || { cat "$scratch/said"; return 1; }
    grep -q '"rule": *"127.0.0.1:' "$ws/.helm/egress.jsonl" || { cat "$ws/.helm/egress.jsonl"; return 1; }
    PATH=$scratch/net:$PATH HELM_ENV="ANTHROPIC_BASE_URL=http://me:word@127.0.0.1:$(cat "$scratch/port")" session claude-code --profile netted >"$scratch/said" 2>&1
    grep -q 'from outside' "$scratch/said" || { cat "$scratch/said"; return 1; }
    PATH=$scratch/net:$PATH HELM_ENV="ANTHROPIC_BASE_URL=http://*/" says 1 "ANTHROPIC_BASE_URL" session claude-code --profile netted
  }
  ok "where the network is by name, the client's service is named for it and nothing else" by_name
  rm "$scratch/port"
else
  skip "what leaves the walls" "curl is not installed"
fi

# ---- what the session wrote meanwhile ----
# redeems NAME COMMAND [ENV...]: a person permits COMMAND, the client does what standard input says, and only then redeems it.
redeems() {
  {
    cat <<SH
ask "$1-1" '$2' >&2; echo asked
while [ ! -e approved ]; do sleep 0.02; done
ask "$1-2" '$2' >answer.json
SH
    cat
    cat <<'SH'
sh -c "$(python3 -c 'import json; print(json.load(open("answer.json"))["hookSpecificOutput"]["updatedInput"]["command"])')"; echo "redeemed $?"
sh -c "$(python3 -c 'import json; print(json.load(open("answer.json"))["hookSpecificOutput"]["updatedInput"]["command"])')" 2>/dev/null; echo "again $?"
SH
  } | client "$1"
  rm -f "$scratch/said" "$project/approved" "$project/ran"
  session "$scratch/$1" >"$scratch/said" 2>&1 &
  job=$!
  while ! grep -q asked "$scratch/said" 2>/dev/null && kill -0 $job 2>/dev/null; do sleep 0.02; done
  asked=$(grep -o 'approval-[0-9a-f]*' "$scratch/said" | tail -n 1)
  helm approval approve "$asked" --key "$boss" >"$scratch/err" 2>&1 || { cat "$scratch/err" "$scratch/said"; : >"$project/approved"; wait $job; return 1; }
  : >"$project/approved"
  wait $job
}
said() { # said LINE...: all of them
  for line in "$@"; do
    grep -q -e "$line" "$scratch/said" || { echo "no $line"; cat "$scratch/said"; return 1; }
  done
}
if needs git "a repository in a session"; then
  # A remote that needs no network: what a person has set up to be run in ssh's place.
  cat >"$scratch/ssh" <<SH
#!/bin/sh
if [ -e $project/slow ]; then
  : >$project/started
  while [ ! -e $project/late ]; do sleep 0.02; done
fi
shift
exec sh -c "\$*"
SH
  chmod +x "$scratch/ssh"
  rm -rf .git
  git init -q -b master . && rm -rf .git/hooks && git init -q --bare "$project/remote"
  git config core.sshCommand "$scratch/ssh" && git config ssh.variant simple && git remote add origin "far.example:$project/remote"
  git -c user.name=n -c user.email=n@example.com commit -q --allow-empty -m one
  as_it_was() {
    redeems honest 'git push origin master' <<'SH'
git config branch.master.remote origin
printf '{"tool_name":"mcp__x__run","tool_input":{"command":"git push origin master"},"session_id":"s","tool_use_id":"m","cwd":"%s"}' "$PWD" |
  $helm hook pre-tool --client claude-code | grep -q updatedInput || echo "no other tool"
SH
    said 'redeemed 0' 'again 25' 'no other tool' && is "$(git -C remote rev-parse master)" "$(git rev-parse master)" && is "$(git config branch.master.remote)" origin
  }
  ok "what the person's own configuration starts is started, and ordinary settings of the session stay" as_it_was
  printf '#!/bin/sh\n: >%s\n' "$project/ran" >"$scratch/evil"
  chmod +x "$scratch/evil"
  by_setting() {
    redeems setting 'git push origin master' <<SH
cat $scratch/evil >evil; chmod +x evil
git config core.sshCommand "$project/evil"
SH
    said 'redeemed 0' 'again 25' 'not taken over from this run into .git/config: git would run core.sshcommand' &&
      [ ! -e ran ] && is "$(git config core.sshCommand)" "$scratch/ssh"
  }
  ok "a setting that was planted after the person's yes is not in force for the command" by_setting
  by_hook() {
    redeems hook 'git push origin master' <<SH
mkdir .git/hooks; cp $scratch/evil .git/hooks/pre-push
echo : >.envrc
SH
    said 'redeemed 126' 'again 25' '.envrc (held' && [ ! -e ran ] && [ ! -e .git/hooks/pre-push ]
  }
  ok "a hook cannot be planted, and what else starts something keeps the command inside" by_hook
  held_on_record() {
    helm agent report --json | python3 -c 'import json,sys
one = json.load(sys.stdin)["outside"][0]
assert one["status"] == "failed" and ".envrc" in one["why"], one' &&
      helm agent report | grep -q '.envrc' && helm log check
  }
  ok "the report says that it was kept inside, and why" held_on_record
  below() {
    git init -q sub
    redeems below 'git -C sub push' <<SH
git -C sub config core.fsmonitor $project/evil
mkdir -p sub/.git/remotes; echo "URL: far.example:$project/elsewhere" >sub/.git/remotes/origin
SH
    said 'redeemed 24' 'has changed since it was permitted' && [ ! -e ran ] && ! git -C sub config --get core.fsmonitor
  }
  ok "also in a repository below" below
  changed_on_record() {
    helm agent report --json | python3 -c 'import json,sys
one = json.load(sys.stdin)["outside"][0]
assert one["status"] == "blocked" and "has changed since it was permitted" in one["why"], one'
  }
  ok "and of what has become another command, that it has" changed_on_record
  # The name of a remote is what the settings make of it: the answer holds for the address that it was given for.
  git init -q --bare "$project/elsewhere"
  elsewhere() { # elsewhere NAME COMMAND SETTING...: the settings that the session changes once it has its permit
    name=$1 command=$2
    shift 2
    printf 'git config %s\n' "$@" | redeems "$name" "$command"
    said 'redeemed' 'again 25' 'not taken over from this run into .git/config: a run may not set' || return 1
    git -C elsewhere rev-parse -q --verify master && { echo "it went there"; return 1; }
    git config --unset remote.origin.pushurl
    git config remote.origin.url "far.example:$project/remote"
  }
  ok "a push does not go where its remote leads only since the person's yes" elsewhere url 'git push origin master' \
    "remote.origin.url far.example:$project/elsewhere"
  ok "nor to an address for pushes that was added" elsewhere pushurl 'git push origin master' "remote.origin.pushurl far.example:$project/elsewhere"
  git config branch.master.remote origin
  ok "nor to another remote" elsewhere other-remote 'git push' \
    "remote.evil.url far.example:$project/elsewhere" "remote.evil.fetch +refs/heads/*:refs/remotes/evil/*" "branch.master.remote evil"
  git config branch.master.remote origin
  asked_then_moved() { # between the question and the answer, too
    client moved <<SH
ask moved-1 'git push origin master:moved' >&2; echo asked
while [ ! -e approved ]; do sleep 0.02; done
ask moved-2 'git push origin master:moved'
SH
    rm -f "$scratch/said" "$project/approved"
    session "$scratch/moved" >"$scratch/said" 2>&1 &
    job=$!
    while ! grep -q asked "$scratch/said" 2>/dev/null && kill -0 $job 2>/dev/null; do sleep 0.02; done
    asked=$(grep -o 'approval-[0-9a-f]*' "$scratch/said" | tail -n 1)
    helm approval show "$asked" >"$scratch/shown" 2>&1
    git config remote.origin.url "far.example:$project/elsewhere"
    helm approval approve "$asked" --key "$boss" >"$scratch/err" 2>&1
    : >"$project/approved"
    wait $job
    git config remote.origin.url "far.example:$project/remote"
    grep -q "origin (far.example:$project/remote)" "$scratch/shown" || { cat "$scratch/shown"; return 1; }
    ! grep -q updatedInput "$scratch/said" && return 0
    cat "$scratch/said"
    return 1
  }
  ok "the question names the address, and its answer holds for no other" asked_then_moved
  # The directory it was permitted in, and nothing that was put in its place.
  mkdir -p "$project/here" && git init -q -b master "$scratch/theirs" && git -C "$scratch/theirs" -c user.name=n -c user.email=n@example.com commit -q --allow-empty -m theirs
  in_here() { # the client stands in it
    {
      cat <<SH
cd $project/here
ask "$1-1" 'git push origin master' >&2; echo asked
while [ ! -e $project/approved ]; do sleep 0.02; done
ask "$1-2" 'git push origin master' >$project/answer.json
cd $project
$2
sh -c "\$(python3 -c 'import json; print(json.load(open("answer.json"))["hookSpecificOutput"]["updatedInput"]["command"])')"; echo "redeemed \$?"
SH
    } | client "$1"
    rm -f "$scratch/said" "$project/approved"
    session "$scratch/$1" >"$scratch/said" 2>&1 &
    job=$!
    while ! grep -q asked "$scratch/said" 2>/dev/null && kill -0 $job 2>/dev/null; do sleep 0.02; done
    asked=$(grep -o 'approval-[0-9a-f]*' "$scratch/said" | tail -n 1)
    helm approval approve "$asked" --key "$boss" >"$scratch/err" 2>&1
    : >"$project/approved"
    wait $job
    rm -rf here && mkdir here
    rm -rf moved
  }
  ok "a directory that stays what it was is entered" eval 'in_here stays : && said "redeemed 0"'
  ok "a link in its place is not" eval 'in_here link "rmdir here; ln -s $scratch/theirs here" && said "redeemed 2[45]"'
  ok "nor is another directory" eval 'in_here fresh "mkdir moved; mv here moved; mkdir here" && said "redeemed 25" "no longer the directory"'
  ok "nor the same one, moved below another" eval 'in_here below2 "mkdir moved; mv here moved/here; ln -s moved/here here" && said "redeemed 2[45]"'
  # In both the command stays the same, and so does what it is asked about first.
  changed() { # changed NAME: standard input is the script that the session puts in the place of the one that was permitted
    cat >"$scratch/changed"
    echo 'git push origin master' >dep.sh
    redeems "$1" 'sh dep.sh' <<SH
cat $scratch/changed >dep.sh
SH
    said 'redeemed 24' 'again 25' 'has changed since it was permitted; propose it again' && [ ! -e ran ]
  }
  ok "a script that would now do what nobody was asked about is not run" changed other <<SH
git push origin master; cat $home/.ssh/id_ed25519; : >$project/ran
SH
  ok "nor is one that was changed at all" changed same <<SH
git push origin master; touch $project/ran
SH
  fetches() { # what the wider profile would not even ask about
    echo 'curl -s http://example.invalid/x' >dep.sh
    redeems fetches 'sh dep.sh' <<SH
echo 'curl -s http://example.invalid/other; : >$project/ran' >dep.sh
SH
    said 'redeemed 24' 'has changed since it was permitted; propose it again' && [ ! -e ran ]
  }
  ok "also where nobody would be asked about what it has become" fetches
  replaced() {
    echo 'curl -s http://example.invalid/x' >dep.sh
    redeems replaced './dep.sh' <<SH
cp /bin/echo dep.sh
SH
    said 'redeemed 24' 'has changed since it was permitted; propose it again'
  }
  chmod +x dep.sh 2>/dev/null
  ok "nor is what nobody can read any more" replaced
  unchanged() {
    echo 'git push origin master' >dep.sh
    redeems unchanged 'sh dep.sh' </dev/null
    said 'redeemed 0' 'again 25'
  }
  ok "and one that is as it was judged is run" unchanged
  too_late() {
    redeems late 'git push origin master' <<SH
: >slow
(while [ ! -e started ]; do sleep 0.02; done; git config core.fsmonitor $project/evil; echo : >.envrc; : >late) &
SH
    said 'redeemed 0' 'left behind what would start programs later: .envrc (held' 'into .git/config: git would run core.fsmonitor' && [ ! -e ran ] &&
      ! git config --get core.fsmonitor && newest | grep -q "\.envrc" && helm agent report | grep -q "\.envrc"
  }
  ok "what is planted while the command runs is found when it has ended, and the report says so" too_late
  rm -rf sub remote evil dep.sh slow started late .envrc.held*
fi

# ---- life ----
client lives <<'SH'
ask l1 'touch alive'
: >alive
sleep 1000.5 &
exec sleep 1000.25
SH
living() { # living: a session that runs; sets $pid
  rm -f "$project/alive"
  session "$scratch/lives" >"$scratch/said" 2>&1 &
  job=$!
  while [ ! -e "$project/alive" ]; do sleep 0.02; done
  id=$(helm agent list --json | member sessions.0.task_id)
  pid=$(helm agent list --json | member sessions.0.pid)
}
gone() { # nothing of it runs on
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -q 'sleep 1000\.[25]' || return 0
    sleep 0.1
  done
  echo "it still runs"
  return 1
}
stopped() {
  living
  helm agent stop "$id" >"$scratch/out" || { cat "$scratch/out"; return 1; }
  wait $job
  is $? 143 && gone && is "$(helm agent list --json | member sessions)" '[]' && says 0 "running              no" helm agent stop "$id"
}
ok "a session is listed while it runs, and stopped with everything in it" stopped
killed() {
  living
  kill -9 "$pid"
  wait $job 2>/dev/null
  gone || return 1
  is "$(helm agent report "$id" --json | member status)" lost || return 1
  session true && is "$(helm agent report "$id" --json | member status)" failed && helm log check && helm doctor >/dev/null
}
ok "with its supervisor killed nothing runs on, and the record is whole" killed
client_killed() {
  living
  inner=$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' >/dev/null; for p in /proc/[0-9]*; do
    tr '\0' ' ' <"$p/cmdline" 2>/dev/null | grep -q '^sleep 1000.25' && echo "${p#/proc/}"; done | head -n 1)
  kill -9 "$inner"
  wait $job 2>/dev/null
  is $? 137 && gone && is "$(helm agent report "$id" --json | member status)" failed && helm log check
}
ok "with its client killed the rest ends, and the record says how" client_killed
ok "an unknown session is said to be one" says 1 "no session is called" helm agent report no-such-session

# ---- judged where it works, wherever its supervisor stands ----
client destroys <<'SH'
mkdir -p junk && echo x >junk/f
ask d1 'rm -rf junk' >answered.new
mv answered.new answered
SH
undoes() { # undoes WORD...: helm agent WORD... from another directory; what the call would lose is saved
  rm -f answered
  ( cd / && helm agent --profile workspace_edit "$@" --cwd "$project" "$scratch/destroys" ) >"$scratch/said" 2>&1
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do
    [ -e answered ] && break
    sleep 0.2
  done
  grep -q 'it can be undone' answered && return 0
  cat "$scratch/said" answered
  return 1
}
ok "a session for another directory saves what its calls destroy there" undoes
ok "and so does a detached one" undoes --detach

# ---- detached ----
client sits <<'SH'
trap 'echo resized $(stty size); : >sized' WINCH
tty; echo ready
while :; do
  read -r line || continue
  echo "got $line."
  [ "$line" != end ] || exit 4
done
SH
away() { # away: a session without a terminal; sets $id
  id=$(helm agent --detach --json "$scratch/sits" | member task_id)
}
detached() {
  away
  is "$(helm agent list --json | member sessions.0.detached)" True && says 0 "running, detached" helm agent list || return 1
  person --size 30x90 wait:ready 'wait:resized 30 90' mode:raw 'type:one\n' 'wait:got one.' size:40x100 'wait:resized 40 100' 'type:\x1dd' 'wait:goes on' shell mode:cooked \
    -- "$HELM_REAL" agent attach "$id" >"$scratch/said" || { cat "$scratch/said"; return 1; }
  grep -q /dev/pts/0 "$scratch/said" || { cat "$scratch/said"; return 1; }
  # Another window: what was shown is there, one key is sent by typing it twice, and Ctrl-Z does not end in nowhere.
  person 'wait:got one.' 'type:\x1b[93;5u\x1d\n' 'wait:got' 'type:\x1atwo\n' 'wait:got two.' 'type:end\n' 'wait:The session has ended' shell mode:cooked \
    -- "$HELM_REAL" agent attach >"$scratch/said" || { cat "$scratch/said"; return 1; }
  until [ "$(helm agent report "$id" --json | member status)" = failed ]; do sleep 0.02; done
  is "$(helm agent report "$id" --json | member exit_code)" 4 && says 1 "does not run any more" helm agent attach "$id" && helm log check
}
ok "a detached session goes on without a window, and is left and come back to" detached
client talks <<'SH'
seq 1 100000
: >talked
echo all said
exec sleep 1000.75
SH
much() {
  rm -f talked
  id=$(helm agent --detach --json "$scratch/talks" | member task_id)
  for _ in 1 2 3 4 5 6 7 8 9 10; do [ -e talked ] || sleep 0.5; done
  [ -e talked ] || { echo "it waits for somebody who reads"; return 1; }
  person 'wait:all said' 'type:\x1dd' 'wait:goes on' shell -- "$HELM_REAL" agent attach "$id" >"$scratch/said" || { tail -c 300 "$scratch/said"; return 1; }
  helm agent stop "$id" >/dev/null
  # The last of it, from the beginning of a line to its end, and not all.
  tr -d '\r' <"$scratch/said" | awk '/^[0-9]+$/ { if (n && $1 != n + 1) bad = 1; n = $1; if (!first) first = n }
    END { exit !(first > 1000 && n == 100000 && !bad) }' || { head -c 300 "$scratch/said"; return 1; }
}
ok "without anybody there it does not wait, and the last of what it showed is kept" much
one_guest() {
  rm -f sized
  away
  person wait:ready 'wait:The session has ended' shell -- "$HELM_REAL" agent attach "$id" >"$scratch/said" 2>&1 &
  job=$!
  while [ ! -e sized ] && kill -0 $job 2>/dev/null; do sleep 0.02; done
  person 'wait:somebody else is attached' shell mode:cooked -- "$HELM_REAL" agent attach "$id" >"$scratch/second" 2>&1
  second=$?
  helm agent stop "$id" >/dev/null
  wait $job || { cat "$scratch/said"; return 1; }
  is "$second" 25 || { cat "$scratch/second"; return 1; }
}
ok "one at a time sits there, and sees the end" one_guest
client inside <<SH
\$helm agent attach; echo "attached \$?"
\$helm agent --detach true; echo "detached \$?"
python3 -c 'import socket
try:
    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    print("made a unix socket")
except OSError:
    pass'
ls \$home/.helm/attach 2>/dev/null | grep -q . && echo "saw the socket"
true
SH
not_from_inside() {
  away
  session "$scratch/inside" >"$scratch/said" 2>&1
  helm agent stop "$id" >/dev/null
  said 'attached 25' 'detached 25' && ! grep -e 'made a' -e 'saw the' "$scratch/said"
}
ok "nothing inside a session sits down at one" not_from_inside
ok "and an agent's call may not either" says 25 deny. helm guard check -- helm agent attach
unbegun() {
  helm freeze --reason test >/dev/null
  says 25 frozen helm agent --detach "$scratch/sits"
  refused=$?
  terminal UNFREEZE -- helm unfreeze >/dev/null 2>&1 || helm unfreeze --key "$boss" >/dev/null
  [ $refused -eq 0 ] && is "$(helm agent list --json | member sessions)" '[]'
}
ok "one that is refused says why to whoever starts it" unbegun
left_alone() {
  away
  kill -9 "$(helm agent list --json | member sessions.0.pid)"
  until [ "$(helm agent list --json | member sessions)" = '[]' ]; do sleep 0.02; done
  says 1 "does not run any more" helm agent attach "$id" && [ -d "$home/.helm/attach/$id" ] || return 1
  old=$id
  away
  [ ! -e "$home/.helm/attach/$old" ] && helm agent stop "$id" >/dev/null && [ ! -e "$home/.helm/attach/$id" ] && helm log check
}
ok "what a killed one has left is taken away by the next" left_alone

# ---- clients ----
mkdir -p "$scratch/bin"
untouched() {
  rm -rf "$home/.claude" "$home/.claude.json"
  helm freeze --reason test >/dev/null
  PATH=$scratch/bin:$PATH says 25 frozen session claude-code
  denied=$?
  terminal UNFREEZE -- helm unfreeze >/dev/null 2>&1 || helm unfreeze --key "$boss" >/dev/null
  [ $denied -eq 0 ] && [ ! -e "$home/.claude" ] && [ ! -e "$home/.claude.json" ]
}
cat >"$scratch/bin/claude" <<'SH'
#!/bin/sh
printf '%s\n' "$@" >args
: >"$HOME/.claude/history" && echo "state written"
(echo '{}' >"$HOME/.claude.json") 2>/dev/null && echo "file written"
(echo '{"disableAllHooks":true}' >"$HOME/.claude/settings.json") 2>/dev/null && echo "settings written"
(mv "$HOME/.claude/settings.json" "$HOME/.claude/x") 2>/dev/null && echo "settings moved"
cat "$HOME/.netrc" 2>/dev/null
env | grep -c -e '^ANTHROPIC_API_KEY=k' -e '^AWS_SECRET=' -e "^CLAUDE_CODE_TMPDIR=$TMPDIR"
SH
chmod +x "$scratch/bin/claude"
ok "a session that is refused has made nothing" untouched
mkdir -p "$home/.claude"
echo '{"a":1}' >"$home/.claude/settings.json"
echo netrc >"$home/.netrc"
known() {
  is "$(PATH=$scratch/bin:$PATH HELM_ENV="ANTHROPIC_API_KEY=k AWS_SECRET=s" session claude-code -- -p hello 2>&1)" "state written
file written
2" && is "$(cat "$home/.claude/settings.json")" '{"a":1}' &&
    python3 - <<'PY'
import json
words = open("args").read().split("\n")
assert words[0] == "--settings" and words[2:4] == ["-p", "hello"], words
settings = json.loads(words[1])
assert settings["disableAllHooks"] is False
assert settings["sandbox"] == {"enabled": False}
assert " hook pre-tool --client claude-code " in settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
PY
}
ok "Claude Code gets its own state, its own variables, and hooks that its settings cannot switch off" known
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >args\n' >"$scratch/bin/codex"
chmod +x "$scratch/bin/codex"
by_words() {
  PATH=$scratch/bin:$PATH session codex -- exec it || return 1
  # What Codex hashes when a person trusts a hook, made by another program.
  python3 - <<'PY'
import hashlib, json, re
words = open("args").read().split("\n")
assert words[:5] == ["-c", "features.hooks=true", "-c", 'sandbox_mode="danger-full-access"', "-c"] and words[6:8] == ["exec", "it"], words
text = words[5]
assert text.startswith("hooks={")
hooks = json.loads(re.sub(r'("(?:[^"\\]|\\.)*")=', r"\1:", text[len("hooks="):]))
for event, label in (("PreToolUse", "pre_tool_use"), ("PostToolUse", "post_tool_use")):
    box, = hooks[event]
    one, = box["hooks"]
    assert " hook %s --client codex " % ("pre-tool" if event == "PreToolUse" else "post-tool") in one["command"], one
    said = {"event_name": label, "hooks": [dict(one, **{"async": False})], "matcher": box["matcher"]}
    digest = "sha256:" + hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    assert hooks["state"]["/<session-flags>/config.toml:%s:0:0" % label] == {"trusted_hash": digest, "enabled": True}, hooks["state"]
PY
}
ok "Codex is told on its command line which hooks it has, that they are trusted and on" by_words
own_sandbox() { # own_sandbox WORD...: asked for by name, it is refused before anything is started
  rm -f args
  PATH=$scratch/bin:$PATH says 2 "own sandbox" session codex -- exec "$@" it && [ ! -e args ]
}
ok "a client's own sandbox, which cannot be made inside, is not dropped without a word" own_sandbox -s read-only
ok "in either spelling" own_sandbox --sandbox=workspace-write
none_of_its_own() { PATH=$scratch/bin:$PATH session codex -- exec -s danger-full-access it; }
ok "none of its own is what it has anyway" none_of_its_own
unarmed() { says 25 "'helm setup hermes' puts it in" session hermes; }
ok "a client that would not ask is not started, and the remedy is named" unarmed
finish
