#!/bin/sh
# Shell calls of a client that was started bare run inside the walls: what the hook answers, how a call is redeemed, that it behaves as it
# would without us, and that what it could not do bare it cannot do either.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
command -v bash >/dev/null 2>&1 || skip_all "bash is needed"
case $(helm version --json) in *'"user_namespaces":false'*) skip_all "no namespaces here" ;; esac

helm init >/dev/null
ws=$scratch/home/.helm/workspace
calls=$ws/.helm/tool-calls.jsonl
mkdir project outside
cd project || exit 1
git init -q . 2>/dev/null
echo precious >"$scratch/outside/file"
in_home() { env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" ${HELM_ENV:-} "$@"; }
client() { in_home python3 "$HELM_SOURCE/tests/tools/contained_client.py" "$@"; } # client [OPTIONS] COMMAND...
call() { client "$HELM_REAL" "$@"; }
gives() { # gives TEXT ARGS-OF-CLIENT...: exactly this on standard output
  want=$1
  shift
  got=$(client "$@" 2>"$scratch/.stderr")
  [ "$got" = "$want" ] && return 0
  echo "wanted: $want"
  echo "got: $got"
  cat "$scratch/.stderr"
  return 1
}
H=$HELM_REAL

silent() { [ "$(client --show "$H" "$1")" = None ]; }
ok "before anybody wants it, an allowed call is not wrapped" silent "echo hi > a"
ok "setup says that calls are contained" says 0 "contained: its shell commands run inside the walls" helm setup claude-code --scope project --yes
ok "in its document, too" says 0 '"containment": "walls"' helm setup claude-code --scope project --yes --json
ok "it is a signed act of the workspace" grep -q '"contain":{"claude-code":true}' "$ws/.helm/receipts.jsonl"
ok "a client that cannot be told another command says so" says 0 "judged, not contained" helm setup cursor --scope project --yes
ok "and cannot be told to" says 1 "judged, not contained" helm setup cursor --scope project --yes --contain on

# ---- the answer ----
answer() { printf '{"tool_name":"Bash","tool_input":{"command":"%s","timeout":5000,"run_in_background":true},"session_id":"s","cwd":"%s","tool_use_id":"u"}' "$1" "$PWD" | agent hook pre-tool --client "$2"; }
has() { answer "$1" "$2" >"$scratch/.answer"; grep -qF -e "$3" "$scratch/.answer" || { cat "$scratch/.answer"; return 1; }; }
ok "an allowed call is answered with another command" has "echo hi > a" claude-code '"permissionDecision":"allow"'
ok "which is the wrapper, by its absolute path" has "echo hi > a" claude-code "'$H' contained dec-"
ok "all other members of the input stay" has "echo hi > a" claude-code '"timeout":5000,"run_in_background":true}'
ok "a look is contained as well" has "ls" claude-code "contained look-"
ok "and leaves no receipt" sh -c '! grep -q look- "$0/.helm/receipts.jsonl"' "$ws"
ok "what a person is asked about is asked, and contained after a yes" has "git reset --hard" claude-code '"permissionDecision":"ask"'
ok "with another command" has "git reset --hard" claude-code 'contained dec-'
ok "what is asked about may stand beside what the walls let through" has "curl -s http://localhost:1/ ; git reset --hard" claude-code 'contained dec-'
ok "what leaves the walls is only asked about" sh -c '! printf %s "$0" | grep -q contained' "$(answer 'git push origin main' claude-code)"
ok "so is what writes elsewhere" has "cp a /opt/x" claude-code '"permissionDecision":"ask"'
ok "and its receipt says that nothing contains it then" sh -c 'tail -n 1 "$0/.helm/receipts.jsonl" | grep -q "\"containment\":\"none\""' "$ws"
ok "a denial stays one" has "rm -rf /" claude-code '"permissionDecision":"deny"'
other_tool() { [ -z "$(printf '{"tool_name":"Read","tool_input":{"file_path":"%s/a"},"cwd":"%s"}' "$PWD" "$PWD" | agent hook pre-tool --client claude-code)" ]; }
ok "other tools are answered as before" other_tool
ok "Codex is not contained before it is set up" sh -c 'test -z "$0"' "$(answer 'echo hi > a' codex)"
helm setup codex --scope project --yes >/dev/null
ok "and is then, in its words" has "echo hi > a" codex '"updatedInput":{"command":"'
long=$(head -c 40000 /dev/zero | tr '\0' "'")
ok "a command that is too long to be quoted twice is kept" sh -c 'test $(printf %s "$0" | wc -c) -lt 3000' "$(answer ": \\\"$long\\\"; echo kept > kept" claude-code)"

# ---- as without us ----
for shell in bash zsh dash; do
  needs $shell "$shell: as without us" || continue
  ok "$shell: output" gives "hello" --shell $shell "$H" "echo hello"
  ok "$shell: exit code" exits 7 client --shell $shell "$H" "exit 7"
  ok "$shell: quotes and expansions" gives "a'b|\"|3|x  y|\\" --shell $shell "$H" 'printf "%s" "a'"'"'b" "|" \" "|" $((1+2)) "|" "x  y" "|" \\'
  ok "$shell: standard input" gives "in" --shell $shell --stdin in "$H" "cat"
  ok "$shell: a directory that is changed is the next one's" gives "$PWD/sub" --shell $shell "$H" "mkdir -p sub; cd sub" "pwd"
  ok "$shell: not after a failure" gives "$PWD" --shell $shell "$H" "cd sub; false" "pwd"
  ok "$shell: \$0 and arguments" gives "$shell 0" --shell $shell "$H" 'echo "$0 $#"'
  ok "$shell: standard error is apart" gives "" --shell $shell "$H" "echo x >&2"
  ok "$shell: its own options" gives "on" --shell $shell --state "set -u" "$H" 'case $- in *u*) echo on ;; esac'
done
for shell in bash zsh; do
  needs $shell "$shell: functions and aliases" || continue
  state='f() { echo "f $1"; }; if [ -n "${BASH_VERSION:-}" ]; then shopt -s expand_aliases; fi; alias ll="echo aliased"'
  ok "$shell: functions that were loaded" gives "f 1" --shell $shell --state "$state" "$H" "f 1"
  ok "$shell: aliases" gives "aliased x" --shell $shell --state "$state" "$H" "ll x"
  ok "$shell: many functions" gives "ok" --shell $shell --state 'i=0; while [ $i -lt 300 ]; do i=$((i+1)); eval "f$i() { echo $(head -c 1000 /dev/zero | tr "\\0" x); }"; done' "$H" 'f300 >/dev/null && echo ok'
done
ok "a plain shell -c, too" gives "x" --plain "$H" "echo x"
ok "set -e there, too" exits 1 client --plain "$H" "set -e; false; echo no"
ok "death by a signal" exits 143 call 'kill -TERM $$'
ok "the mask of new files" gives "600 a" --state 'umask 077' "$H" 'rm -f m; : > m; stat -c "%a a" m'
ok "the environment" gives "v" "$H" 'true' 'echo "${PROBE:-v}"'
probe_env() { HELM_ENV="PROBE=1" client "$H" 'echo $PROBE' | grep -qx 1; }
ok "variables of the client" probe_env
ok "a command of 60 kB" gives "60000" "$H" "x=$(head -c 60000 /dev/zero | tr '\0' a); echo \${#x}"
ok "a command full of quotes" gives "8000" "$H" "x=\"$(head -c 8000 /dev/zero | tr '\0' "'")\"; echo \${#x}"
tty_says() { client --tty "$H" "$1" | tr -d '\r' | grep -qx "$2"; }
ok "a terminal is one" tty_says '[ -t 0 ] && [ -t 1 ] && echo terminal' terminal
ok "what is typed is read" tty_says 'echo ready; read x; echo "got $x"' "got typed"
ok "^C arrives" exits 5 client --tty "$H" 'trap "exit 5" INT; echo "ready^C"; sleep 20 & wait'
ok "a pipe that nobody reads any more ends it" gives "y" "$H" 'yes | head -n 1'

# ---- one session ----
cat >server.py <<'PY'
import socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 8123)); s.listen()
open("server.ready", "w").close()
while True:
    c, _ = s.accept(); c.sendall(b"served\n"); c.close()
PY
cat >ask.py <<'PY'
import socket
s = socket.create_connection(("127.0.0.1", 8123)); print(s.recv(100).decode().strip())
PY
ok "a server of one call is asked by the next" gives "served" "$H" "python3 server.py >/dev/null 2>&1 & while [ ! -e server.ready ]; do sleep 0.05; done" "python3 ask.py"
ok "and is gone with its client" exits 1 python3 ask.py
rm -f server.ready
ok "another client has a loopback of its own" exits 1 call "python3 ask.py 2>/dev/null"
ok "temporary files of one call are there in the next" gives "kept" "$H" 'echo kept > "$TMPDIR/t"' 'cat "$TMPDIR/t"'
ok_mounts "shared memory, too" gives "kept" "$H" 'echo kept > /dev/shm/t' 'cat /dev/shm/t'
ok "and not outside" test ! -e /dev/shm/t
can_mount_proc && has_proc=yes || has_proc=
left_process="a process that one call left is looked at and ended by the next"
[ -n "$has_proc" ] || skip "$left_process" "$no_proc"
[ -z "$has_proc" ] || ok "$left_process" gives "sleep ok" "$H" 'sleep 50.5 >/dev/null 2>&1 & echo $! > pid' 'basename "$(readlink "/proc/$(cat pid)/exe")" | tr "\n" " " && ls "/proc/$(cat pid)/fd" >/dev/null && kill "$(cat pid)" && echo ok'

# ---- the walls ----
closed() { call "$1" >/dev/null 2>&1; ! [ -e "$2" ]; }
cat >evil.py <<'PY'
import os, sys
open(sys.argv[1], "w").close()
PY
ok "a program that the guard does not know cannot write outside" closed "python3 evil.py $scratch/outside/new" "$scratch/outside/new"
ok "nor in the home directory" closed "python3 evil.py $scratch/home/new" "$scratch/home/new"
ok "nor in Helm's home" closed "python3 evil.py $scratch/home/.helm/calls/dec-x" "$scratch/home/.helm/calls/dec-x"
in_file() { # a client that keeps what is printed in a file
  client --state "exec 2>>'$scratch/.file'" "$H" "$1" >/dev/null 2>&1
  grep -qF -e "$2" "$scratch/.file" && return 0
  cat "$scratch/.file"
  return 1
}
: >"$scratch/.file"
ok "where the client keeps it in a file, a call that failed at a wall says at which, and how a person opens it" in_file "python3 evil.py $scratch/outside/new" "the sandbox refused $scratch/outside/new: the profile workspace_edit lets it write only in the work tree; to allow that place: helm allow path $scratch/outside"
ok "its row says so, too" sh -c 'grep "\"event\": *\"contained\"" "$0" | tail -n 1 | grep -q refused_by_wall' "$calls"
by_pipe() { # the client tells afterwards what it read from a pipe
  client --after "$H" "$1" >"$scratch/.said" 2>&1
  grep -qF -e "$2" "$scratch/.said" && return 0
  cat "$scratch/.said"
  return 1
}
ok "where it takes a pipe, its model is told after the call" by_pipe "python3 evil.py $scratch/outside/new" "remark: the sandbox refused $scratch/outside/new: the profile workspace_edit lets it write only in the work tree; to allow that place: helm allow path $scratch/outside"
ok "and the row of the call says so" sh -c 'tail -n 1 "$0" | grep -q refused_by_wall' "$calls"
ok "a failure that no wall caused is not blamed on one" sh -c '! grep -q remark "$0"' "$(by_pipe "ls nothing-here; false" x >/dev/null; echo "$scratch/.said")"
ok "nor is one in a call that went well" sh -c '! grep -q remark "$0"' "$(by_pipe "echo $scratch/outside/new: Permission denied >&2" x >/dev/null; echo "$scratch/.said")"
# Another repository of the person's: to stand there makes nothing writable.
mkdir "$scratch/victim" && git init -q "$scratch/victim" 2>/dev/null
elsewhere() { # elsewhere HOW: goes there by HOW, and then tries to write by a program that nobody knows
  client "$H" "$1" "python3 $PWD/evil.py silent" "python3 $PWD/evil.py $scratch/victim/silent" >"$scratch/.went" 2>&1
  [ ! -e "$scratch/victim/silent" ] && [ ! -e silent ] && grep -q "Read-only\|Permission denied" "$scratch/.went" && return 0
  cat "$scratch/.went"
  return 1
}
cat >hop.py <<'PY'
import os, sys
open(os.environ["TMPDIR"] + "/." + os.environ["HELM_TASK_ID"] + ".cwd", "w").write(sys.argv[1] + "\n")
PY
elsewhere_allowed() {
  terminal -- helm allow path "$scratch/victim" >/dev/null
  client "$H" "cd $scratch/victim" "python3 $PWD/evil.py loud" >"$scratch/.went" 2>&1
  terminal -- helm allow remove "$scratch/victim" >/dev/null
  rm "$scratch/victim/loud" && return 0
  cat "$scratch/.went"
  return 1
}
ok "a cd into another repository makes it no work tree" elsewhere "cd $scratch/victim"
ok "nor does a program that says where the shell went" elsewhere "python3 hop.py $scratch/victim"
ok "from there the work tree is what it was" gives "here" "$H" "cd $scratch/victim" "echo here > $PWD/from && cat $PWD/from"
ok "one that a person has allowed can be written" elsewhere_allowed
ok "a repository in the work tree can be written" gives "in" "$H" "git init -q nested && cd nested" "python3 ../evil.py in && ls"
cat >peek.py <<'PY'
import os, sys
for p in sys.argv[1:]:
    try:
        print(sorted(os.listdir(p)) if os.path.isdir(p) else open(p).read(20))
    except OSError:
        print("closed")
PY
ok "sessions, tickets and keys are not seen inside" sh -c '! printf %s "$0" | grep -q "[0-9a-f]\{8\}\|root.key\|socket"' "$(call "python3 peek.py $scratch/home/.helm $scratch/home/.helm/sessions $scratch/home/.helm/calls $scratch/home/.helm/keys" 2>&1)"
[ -n "$has_proc" ] || skip "processes outside are not seen" "$no_proc"
[ -z "$has_proc" ] || ok "processes outside are not seen" sh -c 'test "$0" -lt 20' "$(call 'ls -d /proc/[0-9]* | wc -l')"
cat >arm.py <<'PY'
import os
for d, f in ((".gem" + "ini", "sett" + "ings.json"), ("deep/er", ".en" + "vrc")):
    os.makedirs(d)
    open(d + "/" + f, "w").write("{}")
PY
arm() { call 'python3 arm.py' >"$scratch/.armed" 2>&1; [ ! -e .gemini/settings.json ] && grep -q "would start programs later" "$scratch/.armed" || { cat "$scratch/.armed"; ls -a .gemini; return 1; }; }
ok "what arms later code is held, and told" arm
ok "deep in the tree, too, when the call has ended" test -e deep/er/.envrc.held-by-helm
cat >plant.py <<'PY'
open("fresh/sub/.en" + "vrc", "w").write("x")
open("deep/.en" + "vrc", "w").write("x")
PY
ok "in a directory that an earlier call made, and that was there before" gives ".envrc.held-by-helm
.envrc.held-by-helm" "$H" "mkdir -p fresh/sub" "python3 plant.py" "ls -A fresh/sub" "ls -A deep | grep held"
cat >later.py <<'PY'
import os
os.makedirs("quiet/sub/one")
open("quiet/sub/one/.en" + "vrc", "w").write("x")
PY
quiet() { # the tree was walked, nothing was heard for three calls, and then something comes
  client "$H" "mkdir -p quiet/sub" true "sleep 0.3" true "sleep 0.3" "python3 later.py" "sleep 0.5" true >/dev/null 2>&1
  i=0
  while [ -e quiet/sub/one/.envrc ] && [ $i -lt 50 ]; do
    sleep 0.1
    i=$((i + 1))
  done
  [ -e quiet/sub/one/.envrc.held-by-helm ]
}
ok "settings deeper in the tree are held also when long nothing had changed" quiet
ok "that is on record with the call, before it was answered" grep -q '"event": *"contained".*"left_behind": *\[.*"quiet/sub/one/.envrc"' "$calls"
cat >late.py <<'PY'
import os, time
os.close(0), os.close(1), os.close(2)
while not os.path.exists("go-late"):
    time.sleep(0.02)
os.makedirs("." + "vscode", exist_ok=True)
open("." + "envrc", "w").write("echo armed")
open("late-done", "w")
PY
late() { # late COMMAND...: a process that outlives its call, and arms when no call runs
  rm -f late-done .envrc .envrc.held-by-helm
  client "$H" '(sleep 0.3; touch go-late) & python3 late.py & true' "@until late-done" "$@" >/dev/null 2>&1
  i=0; while [ -e .envrc ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
  rm -f go-late
  [ -e late-done ] && [ -e .envrc.held-by-helm ]
}
ok "what a process arms that outlived its call is held before the next" late true
ok "or when the session ends" late
cat >during.py <<'PY'
import os, time
open("." + "envrc", "w").write("echo armed")
open("during-done", "w")
time.sleep(60)
PY
during() { # the client is killed while a call runs that has armed something
  rm -f during-done .envrc .envrc.held-by-helm
  client "$H" 'python3 during.py' >/dev/null 2>&1 &
  i=0; while [ ! -e during-done ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done
  for p in $(pgrep -f "contained_client.py $H python3 during.py"); do kill -9 "$p"; done
  wait
  i=0; while [ -e .envrc ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
  [ -e during-done ] && [ -e .envrc.held-by-helm ]
}
ok "and what a call armed that was cut off with its client" during
new_secret() { # made by the person while the session lasts
  client "$H" 'true' 'i=0; while [ ! -e go ] && [ $i -lt 100 ]; do sleep 0.05; i=$((i+1)); done' "python3 peek.py $scratch/home/.netrc" >"$scratch/.peek" 2>&1 &
  pid=$!
  sleep 1
  echo "token-abc" >"$scratch/home/.netrc"
  : >go
  wait $pid
  rm -f go
  ! grep -q token-abc "$scratch/.peek"
}
ok "a secret that appears later is closed for the next call" new_secret
replaced_secret() { # saved as programs save: another file under the same name
  rm -f gone ready
  client "$H" "python3 peek.py $scratch/home/.netrc" 'touch ready' '@until gone' "python3 peek.py $scratch/home/.netrc" >"$scratch/.peek" 2>&1 &
  pid=$!
  i=0; while [ ! -e ready ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done
  echo "token-def" >"$scratch/home/.netrc.lock"
  mv "$scratch/home/.netrc.lock" "$scratch/home/.netrc"
  : >gone
  wait $pid
  [ -e ready ] && [ "$(wc -l <"$scratch/.peek")" -eq 2 ] && ! grep -q token "$scratch/.peek" && return 0
  cat "$scratch/.peek"
  return 1
}
ok "one that is replaced by another file is closed again" replaced_secret

# ---- the record ----
row_of() { grep '"event": *"contained"' "$calls" | tail -n 1; }
call 'exit 3' >/dev/null 2>&1
ok "each call leaves a row with exit code and walls" sh -c 'printf %s "$0" | grep -q "\"exit_code\": *3" && printf %s "$0" | grep -q "\"files_confined\": *true"' "$(row_of)"
call 'echo x > recorded' >/dev/null 2>&1
ok "the outcome's receipt names the walls" sh -c 'tail -n 1 "$0/.helm/receipts.jsonl" | grep -q "\"keys_hidden\":true"' "$ws"
ok "everything verifies" helm log check

ignores() { # a client that does not know how to run another command
  printf '{"tool_name":"Bash","tool_input":{"command":"echo own > own"},"session_id":"old","cwd":"%s","tool_use_id":"old1"}' "$PWD" >"$scratch/.call"
  agent hook pre-tool --client claude-code <"$scratch/.call" >/dev/null
  sed 's/}$/,"tool_response":{}}/' "$scratch/.call" | agent hook post-tool --client claude-code
  tail -n 1 "$ws/.helm/receipts.jsonl" | grep -q '"containment":"none"'
}
ok "a client that runs its own command all the same is seen" ignores
# Commands that a client has for its shells: its own program under another name.
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
mkdir -p "$scratch/bin" && cp "$python" "$scratch/bin/codex"
own_command() { # own_command CLIENT: what its apply_patch says about a patch, which is no Python
  HELM_ENV="PYTHONHOME=$("$python" -c 'import sys; print(sys.base_prefix)')" in_home "$scratch/bin/codex" "$HELM_SOURCE/tests/tools/contained_client.py" \
    --client "$1" "$H" "apply_patch <<'EOF'
*** Begin Patch
*** Add File: patched
+x
*** End Patch
EOF" 2>&1
}
ok "a command of the client itself is found inside" eval 'own_command codex | grep -q SyntaxError || { own_command codex; false; }'
ok "for the client that has it" eval 'own_command claude-code | grep -q "not found"'
ok "status says what is contained, and not what nobody has trusted yet" says 0 "shell commands of claude-code are sandboxed" helm status
ok "setup status, too" says 0 "judged, not contained" sh -c '"$@"; true' - env -i PATH="$PATH" HOME="$scratch/home" "$H" setup status

# ---- redeeming ----
redeem() { client --then "$2" "$H" "$1"; } # redeem COMMAND TEXT: TEXT is run by the client that may run COMMAND; $W is what the hook answered
ok "redeemed by who it was given to" redeem "echo once >> once" 'bash -c "$W"'
ok "not twice" says 25 "no call" redeem "echo twice >> twice" 'bash -c "$W"; bash -c "$W"'
ok "it happened once" sh -c 'test "$(cat twice)" = twice'
ok "the refusal is on record" sh -c 'tail -n 1 "$0/.helm/receipts.jsonl" | grep -q deny.not_redeemed' "$ws"
ok "not with another text" says 25 "another command" redeem "echo changed >> text" 'bash -c "$(printf %s "$W" | sed "s/echo changed/echo other/")"'
ok "that does not use it up" redeem "echo changed >> text" 'bash -c "$(printf %s "$W" | sed "s/echo changed/echo other/")"; bash -c "$W"'
ok "not in another directory" says 25 "another directory" redeem "echo there >> place" "cd '$scratch/outside' && bash -c \"\$W\""
ok "not late" says 25 "its time is over" redeem "echo late >> late" 'sed -i "s/\"expires_us\": *[0-9]*/\"expires_us\":1/" "$T"; bash -c "$W"'
ok "not after another start of the machine" says 25 "not run" redeem "echo boot >> boot" 'sed -i "s/\"boot\": *\"[^\"]*\"/\"boot\":\"x\"/" "$T"; bash -c "$W"'
ok "not for another session" says 25 "not run" redeem "echo session >> session" 'sed -i "s/\"session\": *\"s1\"/\"session\":\"s2\"/" "$T"; bash -c "$W"'
ok "a look that was made more is judged again" says 25 "more than look" redeem "ls" 'sed -i "s/\"command\": *\"ls\"/\"command\":\"echo forged > forged\"/" "$T"; bash -c "$(printf %s "$W" | sed "s/ls. \"/echo forged > forged'"'"' \"/")"'
ok "a ticket that is not what was signed is refused" says 25 "another call" redeem "echo good > good" 'sed -i "s/echo good > good/echo worse > worse/" "$T"; bash -c "$(printf %s "$W" | sed "s/echo good > good/echo worse > worse/")"'
ok "a decided call that says it only looks is judged, too" says 25 "more than look" redeem "echo look > look" 'sed -i "s/\"look\": *false/\"look\":true/" "$T"; bash -c "$W"'
ok "an unknown number" says 25 "no call 'dec-0'" redeem "true" '"$H" contained dec-0 -- sh "echo x"'
ok "a number that is a path" says 25 "no call" redeem "true" '"$H" contained ../keys/root.key -- sh "echo x"'
foreign() { one=$(client --show "$H" "echo foreign >> foreign") && in_home bash -c "$one"; }
ok "not below another process than the client's" says 25 "another session" foreign
ok "not while everything is frozen" says 25 "frozen" redeem "echo frozen >> frozen" '"$H" freeze --reason test >/dev/null; bash -c "$W"'
ok "again when a person has ended that" terminal -- helm unfreeze --reason over
ok "of many at once one succeeds" redeem "echo raced >> raced" 'for i in 1 2 3 4 5 6 7 8; do bash -c "$W" & done >/dev/null 2>&1; wait; [ "$(cat raced)" = raced ]'
ok "nothing that was refused has happened" sh -c '! ls forged worse look foreign frozen late boot session place "$0/outside/place" 2>/dev/null | grep .' "$scratch"
ok "an agent that writes such a call itself is refused" sh -c 'printf %s "$0" | grep -q "\"deny\"\|\"ask\""' "$(answer "helm contained dec-1 -- sh ls" claude-code)"

# ---- ends ----
keepers() { in_home python3 - "$scratch/home/.helm/sessions" <<'PY'
import os, sys
n = 0
for d in os.listdir("/proc"):
    if d.isdigit():
        try:
            if open("/proc/%s/comm" % d).read().strip() == "helm-session" and open("/proc/%s/environ" % d).read().find(os.path.dirname(os.path.dirname(sys.argv[1]))) >= 0: n += 1
        except OSError: pass
print(n)
PY
}
gone() { i=0; while [ "$(keepers)" != 0 ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done; [ "$(keepers)" = "${1:-0}" ]; }
cat >kills.py <<'PY'
import os, signal, subprocess, sys, time
sys.path.insert(0, os.path.join(os.environ["HELM_SOURCE"], "tests", "tools"))
import contained_client
what, helm = sys.argv[1], sys.argv[2]
c = contained_client.Client(helm)
def find(name):
    for d in os.listdir("/proc"):
        try:
            if d.isdigit() and open("/proc/%s/comm" % d).read().strip() == name and os.environ["HOME"] in open("/proc/%s/environ" % d).read(): yield int(d)
        except OSError: pass
c.run("true")
p = c.start(c.wrapped("echo $$ > started; sleep 30.731 & sleep 30.731; echo survived > survived"), stdin=subprocess.DEVNULL)
for i in range(200):
    if os.path.exists("started") and os.path.getsize("started"): break
    time.sleep(0.02)
keeper = [k for k in find("helm-session")]
if what == "keeper":
    for k in keeper: os.kill(k, signal.SIGKILL)
elif what == "wrapper":
    for w in subprocess.run(["pgrep", "-P", str(p.pid)], stdout=subprocess.PIPE).stdout.split(): os.kill(int(w), signal.SIGKILL)
elif what == "term":
    for w in subprocess.run(["pgrep", "-P", str(p.pid)], stdout=subprocess.PIPE).stdout.split(): os.kill(int(w), signal.SIGTERM)
elif what == "group":
    os.kill(p.pid, signal.SIGKILL)
    for w in subprocess.run(["pgrep", "-P", str(p.pid)], stdout=subprocess.PIPE).stdout.split(): os.kill(int(w), signal.SIGKILL)
code = p.wait(20)
time.sleep(0.3)
left = int(subprocess.run(["sh", "-c", "ps -eo args | grep -c '^sleep 30.731$'"], stdout=subprocess.PIPE).stdout or 0)
print("code", code, "left", left, "again", c.run("echo works")[1].decode().strip())
PY
killed() { # killed WHAT WANTED
  rm -f started survived
  got=$(HELM_ENV="HELM_SOURCE=$HELM_SOURCE" in_home python3 kills.py "$1" "$H" 2>&1 | tail -n 1)
  # shellcheck disable=SC2254 # a pattern
  case $got in $2) [ ! -e survived ] && return 0 ;; esac
  echo "$got"
  return 1
}
ok "the keeper killed: the call ends, nothing runs on, the next call works" killed keeper "code [1-9]* left 0 again works"
ok "the wrapper killed: what it ran ends, and the session goes on" killed wrapper "code [1-9]* left 0 again works"
ok "the wrapper asked to end: what it ran is" killed term "code [1-9]* left 0 again works"
ok "when the client ends its session does" gone 0
ok "nothing of it stays in the helm home" sh -c 'test -z "$(ls "$0/home/.helm/sessions" 2>/dev/null)"' "$scratch"
ok "helm gone: the call fails" exits 127 redeem "echo gone > gone" 'bash -c "$(printf %s "$W" | sed "s#^.*| .*helm. contained#true | /nonexistent/helm contained#; s#; } 7<&0.*##")" 7<&0'

# ---- machines that can do less ----
machine=$HELM_BUILD/tests/lesser_machine_test
if [ -x "$machine" ] && "$machine" --without landlock true; then
  lesser() { in_home "$machine" --without "$1" python3 "$HELM_SOURCE/tests/tools/contained_client.py" "$H" "echo made > lesser"; }
  ok "a machine without landlock: refused, with the remedy" says 25 "helm workspace trust --degraded write" lesser landlock
  ok "nothing has happened there" test ! -e lesser
  ok "a machine without namespaces: the supervised sandbox stands" lesser namespaces
  ok "as it should" test -s lesser
  ok "and the row says which one it was" sh -c 'printf %s "$0" | grep "\"sandbox\": *\"supervised\"" | grep -q "\"degraded\": *false"' "$(row_of)"
  ok "nothing of it runs on" gone 0
  rm -f lesser
  ok "a person accepts less" terminal TRUST -- helm workspace trust --degraded write,read,network,processes,state,end,privilege,own,autorun
  ok "then it runs without both" lesser landlock,namespaces
  ok "as it should" test -s lesser
  ok "and the row says what is missing" sh -c 'printf %s "$0" | grep -q "\"degraded\": *true"' "$(row_of)"
  ok "nothing of it runs on" gone 0
  terminal TRUST -- helm workspace trust --degraded no >/dev/null
fi

# ---- off ----
ok "an agent cannot end it" says 25 "only a person" agent setup claude-code --scope project --yes --contain off
ok "a person can" terminal -- helm setup claude-code --scope project --yes --contain off
ok "then calls are judged, not contained" silent "echo hi > a"
ok "setting it up again leaves it off" says 0 "judged, not contained" helm setup claude-code --scope project --yes
ok "until it is said" says 0 "contained:" helm setup claude-code --scope project --yes --contain on
# ---- under develop, in a project that is its own workspace ----
mkdir "$scratch/own" && cd "$scratch/own" || exit 1
git init -q . 2>/dev/null
helm init --path . >/dev/null
terminal -- helm setup claude-code --scope project --yes >/dev/null
own() { # own COMMAND TEXT: the answer of the hook has TEXT
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"o","cwd":"%s","tool_use_id":"u"}' "$1" "$PWD" |
    agent hook pre-tool --client claude-code --workspace "$PWD" >"$scratch/.answer"
  grep -qF -e "$2" "$scratch/.answer" || { cat "$scratch/.answer"; return 1; }
}
ok "setup by a person chooses develop" says 0 "profile=develop" helm status --plain
ok "a temporary directory of its own is deleted without a question" own 'T=$(mktemp -d /tmp/work.XXXXXX) && cp -r . $T && rm -rf $T' '"permissionDecision":"allow"'
ok "and what stands beside it may use the network that the walls have" own 'curl -s http://localhost:1/; D=$(cat d); rm -rf $D' '"permissionDecision":"allow"'
HELM_ENV="HELM_WORKSPACE=$scratch/own"
ok "a call writes into memory around the gate" call 'echo "- a line that a call wrote" >>MEMORY.md'
ok "what a call writes into memory is in its row" sh -c 'grep "\"event\": *\"contained\"" .helm/tool-calls.jsonl | tail -n 1 | grep -q "memory_outside.*MEMORY.md"'
ok "and is not told to the next session" sh -c '! printf %s "$0" | grep -q "that a call wrote"' "$(helm context pack)"
ok "blame knows that a program wrote it" says 0 '"writer": "run"' helm memory blame MEMORY.md --json
ok "what leaves is asked about, whatever stands beside it" own 'T=$(mktemp -d /tmp/work.XXXXXX); rm -rf $T; git push origin main' '"permissionDecision":"ask"'
finish
