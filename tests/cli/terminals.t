#!/bin/sh
# terminals.t — programs that make terminals, started by a process that is governed and by nobody who is: sshd, tmux, screen, script, expect,
# and namespaces.  Each sentence of SECURITY.md about them, also those that say where it ends.
#
# Whoever is root may do anything, so all of it runs as a plain user.  Started as root, this makes one, in a mount namespace with a passwd of
# its own, and a real sshd that belongs to root; otherwise what needs those is skipped.
if [ "$(id -u)" -eq 0 ] && [ -z "${TERMINALS_ROOT:-}" ] && command -v setpriv >/dev/null 2>&1 && unshare -m true 2>/dev/null; then
  : "${HELM_BUILD:=$PWD/build/dev}" "${HELM_SOURCE:=$PWD}"
  TERMINALS_ROOT=$(mktemp -d)
  chmod 755 "$TERMINALS_ROOT"
  trap 'rm -rf "$TERMINALS_ROOT"' EXIT
  export HELM_BUILD HELM_SOURCE TERMINALS_ROOT
  # Where the other user can reach it.
  mkdir -p "$TERMINALS_ROOT/tree/src" "$TERMINALS_ROOT/build"
  cp "$HELM_BUILD/helm" "$TERMINALS_ROOT/build/helm"
  cp -R "$HELM_SOURCE/src/clients" "$TERMINALS_ROOT/tree/src/clients"
  cp -R "$HELM_SOURCE/tools" "$TERMINALS_ROOT/tree/tools"
  mkdir "$TERMINALS_ROOT/tree/tests"
  cp -R "$HELM_SOURCE/tests/tools" "$HELM_SOURCE/tests/cli" "$TERMINALS_ROOT/tree/tests/"
  chmod -R a+rX "$TERMINALS_ROOT"
  mkdir -m 777 "$TERMINALS_ROOT/tmp"
  cat >"$TERMINALS_ROOT/inside" <<'END'
set -u
here=$TERMINALS_ROOT
cp /etc/passwd "$here/passwd"
echo "helmtest:x:64321:64321::$here/tmp:/bin/sh" >>"$here/passwd"
cp /etc/group "$here/group"
echo "helmtest:x:64321:" >>"$here/group"
chmod 644 "$here/passwd" "$here/group"
mount --bind "$here/passwd" /etc/passwd && mount --bind "$here/group" /etc/group || exit 1
cp "$(command -v setsid)" "$here/sshd" && chmod 4755 "$here/sshd"
SSHD_PORT=
server=
if command -v sshd >/dev/null 2>&1 && command -v ssh >/dev/null 2>&1; then
  mount -t tmpfs none /run && mkdir -m 755 /run/sshd
  ssh-keygen -q -t ed25519 -N '' -f "$here/host"
  ssh-keygen -q -t ed25519 -N '' -f "$here/id"
  chown 64321:64321 "$here/id"
  SSHD_PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  "$(command -v sshd)" -D -f /dev/null -h "$here/host" -p "$SSHD_PORT" -o ListenAddress=127.0.0.1 -o UsePAM=no -o StrictModes=no \
    -o PidFile=none -o "AuthorizedKeysFile=$here/id.pub" 2>"$here/sshd.log" &
  server=$!
fi
export SSHD_PORT
TMPDIR=$here/tmp HOME=$here/tmp HELM_SOURCE=$here/tree HELM_BUILD=$here/build \
  setpriv --reuid 64321 --regid 64321 --clear-groups sh "$here/tree/tests/cli/terminals.t"
code=$?
[ -z "$server" ] || kill "$server"
exit $code
END
  unshare -m sh "$TERMINALS_ROOT/inside"
  exit $?
fi
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
port=${SSHD_PORT:-}

helm init >/dev/null
mkdir project && cd project && helm init --path . >/dev/null
question() { # a new question: $id
  mkdir -p "$1"
  helm run -- rm -rf "$1" >/dev/null 2>&1
  id=$(helm approval list --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["requests"][-1]["approval_id"])')
}
plain() { env -i SHELL=/bin/sh PATH="$PATH:/usr/sbin" HOME="$scratch/home" LC_ALL=C.UTF-8 TERM=vt100 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@"; }
# by_agent COMMAND...: a process that has called a hook here, and then starts this.
by_agent() { plain python3 "$HELM_SOURCE/tests/tools/agent.py" --first "'$HELM_REAL' hook pre-tool --client claude-code" "$called" "$@"; }
# The answer to the question, given at a terminal that somebody else makes: what was said in .said, the exit code in .code.
cat >"$scratch/approve" <<END
#!/bin/sh
cd "$scratch/project"
env -i PATH="\$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" approval approve "\$(cat "$scratch/.id")" \$(cat "$scratch/.with" 2>/dev/null) 2>"$scratch/.said"
echo \$? >"$scratch/.code.new"
mv "$scratch/.code.new" "$scratch/.code"
END
chmod 755 "$scratch/approve"
# answered CODE TEXT COMMAND...: COMMAND has the answer given, and it ends like that.  Some of them leave that to a server, and return before.
answered() {
  want_code=$1
  want_text=$2
  shift 2
  rm -f "$scratch/.code" "$scratch/.said"
  printf '%s' "$id" >"$scratch/.id"
  "$@" >"$scratch/.shown" 2>&1
  waited=0
  while [ ! -e "$scratch/.code" ] && [ $waited -lt 300 ]; do
    sleep 0.1
    waited=$((waited + 1))
  done
  cat "$scratch/.shown" "$scratch/.said"
  [ "$(cat "$scratch/.code")" -eq "$want_code" ] && cat "$scratch/.shown" "$scratch/.said" | grep -qF -e "$want_text"
}

# Made by a process that is governed.
question one
with_script() { printf 'APPROVE\n' | "$@" script -qec "$scratch/approve" /dev/null; }
needs script "script" && ok "script" answered 25 "agent client" with_script by_agent
needs expect "expect" && ok "expect" answered 25 "agent client" by_agent expect -c "spawn $scratch/approve; expect {: } {send APPROVE\\r}; expect eof"
with_tmux() { "$@" sh -c 'tmux -S "$0/.tmux" -f /dev/null new-session -d "$0/approve" && sleep 0.5 && tmux -S "$0/.tmux" send-keys APPROVE Enter; true' "$scratch"; }
needs tmux "a tmux of its own" && ok "a tmux of its own" answered 25 "could be the agent's" with_tmux by_agent
mkdir -m 700 "$scratch/.screen"
with_screen() { "$@" sh -c 'export SCREENDIR="$0/.screen"; screen -dmS of-agent "$0/approve" && sleep 0.5 && screen -S of-agent -X stuff "APPROVE
"; true' "$scratch"; }
needs screen "a screen of its own" && ok "a screen of its own" answered 25 "could be the agent's" with_screen by_agent
# A pseudo-terminal in a namespace of its own: left parents behind, and seems to come from outside, or to be as old as it likes.
cat >"$scratch/spaces.py" <<'END'
import ctypes, os, subprocess, sys
how, terminal, command = sys.argv[1:4]
libc = ctypes.CDLL(None, use_errno=True)
uid, gid = os.getuid(), os.getgid()
if libc.unshare(0x10000000 | 0x20000 | {"pid": 0x20000000, "time": 0x80}[how]):
    sys.exit(125)
for name, text in ("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1"):
    with open("/proc/self/" + name, "w") as f:
        f.write(text)
if how == "time":
    with open("/proc/self/timens_offsets", "w") as f:
        f.write("boottime -20 0\n" if len(sys.argv) < 5 else sys.argv[4])
    sys.exit(subprocess.call(["setsid", sys.executable, terminal, "--forge", "APPROVE", "--", command]))
first = os.fork()  # process 1 there
if first == 0:
    libc.mount(b"none", b"/", None, 0x44000, None)
    if libc.mount(b"proc", b"/proc", b"proc", 0, None):
        os._exit(1)
    os.execvp("sleep", ["sleep", "20"])
import time
time.sleep(0.3)
second = os.fork()  # its parent is outside
if second == 0:
    fd = os.open(f"/proc/{first}/ns/mnt", os.O_RDONLY) if os.path.exists(f"/proc/{first}/ns/mnt") else -1
    libc.setns(fd, 0x20000)
    os.chdir("/")
    os.execv(sys.executable, [sys.executable, terminal, "APPROVE", "--", command])
code = os.waitstatus_to_exitcode(os.waitpid(second, 0)[1])
os.kill(first, 9)
sys.exit(code)
END
in_spaces() { by_agent python3 "$scratch/spaces.py" "$@" "$HELM_SOURCE/tests/tools/terminal.py" "$scratch/approve"; }
if unshare -Ur --pid --fork --mount-proc true 2>/dev/null; then
  ok "a pid namespace of its own, entered from outside" answered 25 "could be the agent's" in_spaces pid
else
  skip "a pid namespace of its own" "a plain user cannot make a pid namespace with a /proc of its own here"
fi
if unshare -Ur --time --fork true 2>/dev/null; then
  ok "a time namespace of its own, in which everything is old" answered 25 "time namespace" in_spaces time
else
  skip "a time namespace of its own" "a plain user gets no time namespace here"
fi
# A program with the set-user-id bit, under a name that somebody chose for it.
if [ -n "${TERMINALS_ROOT:-}" ]; then
  with_set_id() {
    by_agent python3 "$HELM_SOURCE/tests/tools/terminal.py" --forge APPROVE -- "$TERMINALS_ROOT/sshd" --fork --wait \
      setpriv --reuid 64321 --regid 64321 --clear-groups "$scratch/approve"
  }
  ok "a program of root's that is called sshd and was started by anybody" answered 25 "could be the agent's" with_set_id
else
  skip "a program with the set-user-id bit" "takes root and a mount namespace"
fi
ok "nothing of that was granted" sh -c '! grep -q "helm.approval/grant" .helm/receipts.jsonl'

# An sshd that anybody can start.
own=
if [ ! -x /usr/sbin/sshd ] || ! command -v ssh >/dev/null 2>&1 || ! id -un >/dev/null 2>&1; then
  skip "an sshd of its own" "takes openssh-server, and a user who has a name"
else
  ssh-keygen -q -t ed25519 -N '' -f "$scratch/own_host"
  ssh-keygen -q -t ed25519 -N '' -f "$scratch/own_id"
  own=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  by_agent setsid -f /usr/sbin/sshd -D -f /dev/null -h "$scratch/own_host" -p "$own" -o ListenAddress=127.0.0.1 -o UsePAM=no -o StrictModes=no \
    -o "PidFile=$scratch/own.pid" -o "AuthorizedKeysFile=$scratch/own_id.pub"
fi
with_ssh() { # with_ssh KEY PORT COMMAND WHO...: somebody logs in, at a terminal of their own, and types when they are asked
  key=$1
  to=$2
  command=$3
  tt=-tt
  [ "$to" != "$own" ] || tt=-T
  shift 3
  "$@" python3 "$HELM_SOURCE/tests/tools/terminal.py" --inside APPROVE -- ssh $tt -F none -i "$key" -o IdentitiesOnly=yes -o StrictHostKeyChecking=no \
    -o UserKnownHostsFile=/dev/null -o ConnectionAttempts=20 -p "$to" 127.0.0.1 "$command"
}
# A plain user's sshd cannot always make a terminal; what is started there can.
on_own() {
  with_ssh "$scratch/own_id" "$own" "python3 '$HELM_SOURCE/tests/tools/terminal.py' --inside APPROVE -- '$scratch/approve'" by_agent
}
[ -z "$own" ] || ok "an sshd of its own" answered 25 "could be the agent's" on_own
[ ! -s "$scratch/own.pid" ] || kill "$(cat "$scratch/own.pid")"

# Root's, which lets people in.
if [ -n "$port" ]; then
  ok "a login is a person" answered 0 "Granted" with_ssh "$TERMINALS_ROOT/id" "$port" "$scratch/approve" plain
  question two
  ok "the limit: so is a login by a process that is governed and has a key for it" answered 0 "Granted" with_ssh "$TERMINALS_ROOT/id" "$port" "$scratch/approve" by_agent
  register_approver
  ok "a person makes a registered key the only way" says 0 "accepted" terminal TRUST -- helm workspace trust --require-key yes --key "$boss"
  question three
  ok "then that is refused" answered 25 "only a registered key" with_ssh "$TERMINALS_ROOT/id" "$port" "$scratch/approve" by_agent
else
  skip "a login by root's sshd" "takes root, a mount namespace and openssh-server"
fi
plain tmux -S "$scratch/.tmux" kill-server 2>/dev/null
finish
