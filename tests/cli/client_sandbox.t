#!/bin/sh
# Contained calls of a client that runs shell commands in a sandbox of its own: nothing of the helm home can be written there, nothing can be
# connected to, and the call reaches its session all the same.  It gets no more rights by that, and fails closed where no way is left.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
command -v bash >/dev/null 2>&1 || skip_all "bash is needed"
# The keeper takes the wrapper's socket with pidfd_getfd().  Docker's default profile refuses that call, and a client's sandbox as well.
python3 -c 'import ctypes, os; c = ctypes.CDLL(None); f = c.syscall(434, os.getpid(), 0); raise SystemExit(c.syscall(438, f, 0, 0) < 0)' ||
  skip_all "this place refuses pidfd_getfd(), by which a call is taken out of a client's own sandbox"
case $(helm version --json) in *'"user_namespaces":false'*) skip_all "no namespaces here" ;; esac

helm init >/dev/null
ws=$scratch/home/.helm/workspace
calls=$ws/.helm/tool-calls.jsonl
sessions=$scratch/home/.helm/sessions
mkdir project outside keep
cd project || exit 1
git init -q . 2>/dev/null
helm setup claude-code --scope project --yes >/dev/null
helm setup codex --scope project --yes >/dev/null
H=$HELM_REAL
in_home() { env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" KEEP="$scratch/keep" HELM_SOURCE="$HELM_SOURCE" "$@"; }
sandbox="python3 $HELM_SOURCE/tests/tools/client_sandbox.py"
inside=
client() { in_home python3 "$HELM_SOURCE/tests/tools/contained_client.py" --inside "$inside" "$@"; } # client [OPTIONS] HELM COMMAND...
call() { client "$H" "$@"; }
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
row_of() { grep '"event": *"contained"' "$calls" | tail -n 1; }
cat >evil.py <<'PY'
import sys
open(sys.argv[1], "w").close()
PY
cat >other.py <<'PY'
# Two calls are allowed; the pipe of the first is used to ask for the second.
import array, os, socket, struct, sys, fcntl
sys.path.insert(0, os.path.join(os.environ["HELM_SOURCE"], "tests", "tools"))
import contained_client
import re
helm = sys.argv[1]
c = contained_client.Client(helm)
ids = [re.findall(r"dec-[0-9a-f]+", c.wrapped("echo %s > crossed" % name))[0] for name in ("first", "second")]
sessions = os.path.join(os.environ["HOME"], ".helm/sessions")
pipe = [os.path.join(d, ids[0]) for d, _, names in os.walk(sessions) if ids[0] in names][0]
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
os.dup2(theirs.fileno(), 200)
fd = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
fcntl.lockf(fd, fcntl.LOCK_SH)
assert os.read(fd, 1) == b"c"
ours.settimeout(20)
assert ours.recv(1) == b"k"
texts = b"".join(t.encode() + b"\0" for t in (ids[1], "echo second > crossed", os.getcwd(), "/bin/sh", "sh", "22", "", "0", "", "PATH=/bin:/usr/bin"))
memory = os.memfd_create("call")
os.write(memory, texts)
socket.send_fds(ours, [struct.pack("IIiIQ", 1, 0, 0, 10, len(texts))], [memory, 0, 1, 2])
answer, fds, _, _ = socket.recv_fds(ours, 100, 8)
print(struct.unpack("IIiIQ", answer)[0], os.pread(fds[0], 500, 0).split(b"\0")[0].decode())
try:
    os.read(fd, 1)
except BlockingIOError:
    pass
print("crossed" if os.path.exists("crossed") else "nothing happened")
PY

tried=0
for kind in bwrap claude landlock; do
  $sandbox $kind true 2>/dev/null || { echo "# SKIP $kind cannot be had here"; continue; }
  tried=$((tried + 1))
  inside="$sandbox $kind --write $PWD --write $scratch/keep"
  ok "$kind: a call runs" gives "made" "$H" "echo made > made-$kind; cat made-$kind"
  ok "$kind: in Helm's sandbox" sh -c 'printf %s "$0" | grep -q "\"files_confined\": *true" && ! printf %s "$0" | grep -q reads_only' "$(row_of)"
  ok "$kind: a look, too" gives "made" "$H" "cat made-$kind"
  ok "$kind: exit code" exits 7 client "$H" "exit 7"
  ok "$kind: death by a signal" exits 143 call 'kill -TERM $$'
  ok "$kind: standard input" gives "in" --stdin in "$H" "cat"
  ok "$kind: standard error is apart" gives "" "$H" "echo x >&2"
  ok "$kind: a directory that is changed is the next one's" gives "$PWD/sub" "$H" "mkdir -p sub; cd sub" "pwd"
  ok "$kind: functions of the client's shell" gives "f 1" --state 'f() { echo "f $1"; }' "$H" "f 1"
  ok "$kind: as Codex starts it" gives "x" --plain --client codex "$H" "echo x"
  ok "$kind: one session" gives "kept" "$H" 'echo kept > "$TMPDIR/t"' 'cat "$TMPDIR/t"'
  ok "$kind: proxies of the client's sandbox are not passed on" gives "direct" --state "export HTTPS_PROXY=http://u:p@localhost:3128" "$H" 'echo "${HTTPS_PROXY:-direct}"'
  outside() { call "python3 evil.py $scratch/outside/new" >/dev/null 2>&1; [ ! -e "$scratch/outside/new" ]; }
  ok "$kind: nothing is written outside" outside
  killed() { # the client's sandbox is ended while a call runs: the command ends, too
    rm -f started survived
    client --plain "$H" 'echo x > started; sleep 2; echo x > survived' >/dev/null 2>&1 &
    i=0; while [ ! -e started ] && [ $i -lt 100 ]; do sleep 0.05; i=$((i + 1)); done
    for p in $(pgrep -f "contained d[e]c-.*survived"); do kill -9 "$p" 2>/dev/null; done
    wait
    sleep 2
    [ -e started ] && [ ! -e survived ]
  }
  ok "$kind: ended with its wrapper" killed

  # ---- a client whose sandbox lets nothing be written ----
  inside="$sandbox $kind --write $scratch/keep"
  readonly_tree() { call "echo x > never-$kind" >/dev/null 2>&1; [ ! -e "never-$kind" ]; }
  ok "$kind, read-only: the call writes nothing in the work tree" readonly_tree
  ok "$kind, read-only: and its row says so" sh -c 'printf %s "$0" | grep -q "\"reads_only\": *true"' "$(row_of)"
  unknown() { call "python3 evil.py never-$kind" >/dev/null 2>&1; [ ! -e "never-$kind" ]; }
  ok "$kind, read-only: nor does a program that the guard does not know" unknown
  ok "$kind, read-only: it reads" gives "made" "$H" "cat made-$kind"
  ok "$kind, read-only: temporary files are its own" gives "t" "$H" 'echo t > "$TMPDIR/t"; cat "$TMPDIR/t"'

  # ---- redeeming ----
  inside="$sandbox $kind --write $PWD"
  redeem() { client --then "$2" "$H" "$1"; } # redeem COMMAND TEXT: TEXT is run by the client that may run COMMAND; $W is what the hook answered
  ok "$kind: not twice" says 25 "no call" redeem "echo twice >> twice-$kind" "$inside bash -c \"\$W\"; $inside bash -c \"\$W\""
  ok "$kind: it happened once" sh -c 'test "$(cat "$0")" = twice' "twice-$kind"
  ok "$kind: not with another text" says 25 "another command" redeem "echo changed >> text" "$inside bash -c \"\$(printf %s \"\$W\" | sed 's/echo changed/echo other/')\""
  ok "$kind: the refusal is on record, although the wrapper could not write it" sh -c 'tail -n 1 "$0/.helm/receipts.jsonl" | grep -q "deny.not_redeemed"' "$ws"
  foreign() { one=$(in_home python3 "$HELM_SOURCE/tests/tools/contained_client.py" --show "$H" "echo foreign >> foreign") && in_home $inside bash -c "$one"; }
  ok "$kind: not below another process than the client's" exits 25 foreign
  ok "$kind: not where the way is gone" says 25 "own sandbox" redeem "echo gone >> gone" "rm -f $sessions/*/calls/*; $inside bash -c \"\$W\""
  ok "$kind: that says what to type" says 25 "claude --settings" redeem "echo gone >> gone" "rm -f $sessions/*/calls/*; $inside bash -c \"\$W\""
  ok "$kind: nothing that was refused has happened" sh -c '! ls text foreign gone 2>/dev/null | grep .'
done
[ "$tried" -gt 0 ] || skip_all "no sandbox like those of clients can be had here"
ok "the pipe of one call is no way for another" eval 'in_home python3 other.py "$H" >"$scratch/.other" 2>&1; grep -q "^3 this is the way of another call" "$scratch/.other" && grep -q "^nothing happened" "$scratch/.other" || { cat "$scratch/.other"; false; }'
if $sandbox bwrap true 2>/dev/null; then
  inside="$sandbox bwrap --write $PWD --hide $scratch/home/.helm"
  ok "a sandbox that hides the helm home: refused, with what to do" says 25 "codex --sandbox danger-full-access" redeem "echo hidden >> hidden" "$inside bash -c \"\$W\""
  ok "nothing has happened there" test ! -e hidden
fi
inside=
ok "a call that is allowed has a pipe" redeem "echo x > plain" "ls $sessions/*/calls/\$ID"
ok "one that came by the socket leaves none" redeem "echo x > plain" "bash -c \"\$W\" && ! ls $sessions/*/calls/\$ID"
gone() { i=0; while [ -n "$(ls "$sessions" 2>/dev/null)" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done; [ -z "$(ls "$sessions" 2>/dev/null)" ]; }
ok "nothing of the sessions stays" gone
ok "everything verifies" helm log check
finish
