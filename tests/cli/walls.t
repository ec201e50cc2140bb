#!/bin/sh
# Every promise of every shipped profile, tried from inside a real run: from the profile's name to the system call.
#
# The guard only looks on here (--guard-mode audit), so what stops the probe is the wall.  The probe is a program
# (tests/unit/sandbox_test.c --probe) that tries one thing; it must be seen to have run, because a run that never started proves
# nothing about a wall.  Each wall is a case of its own, and what should work is tried too: a wall that stops everything is wrong.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

probe=$HELM_BUILD/tests/sandbox_test
[ -x "$probe" ] || skip_all "the probe is not built: $probe"
helm init >/dev/null || exit 1
home=$scratch/home/.helm ws=$scratch/home/.helm/workspace elsewhere=$scratch/elsewhere
helm init --path "$elsewhere" >/dev/null || exit 1
mkdir -p "$home/trees" && echo word >"$home/trees/probe"
mkdir -p "$scratch/project/.git" "$scratch/project/.claude" "$scratch/outside" "$home/trust"
echo '{}' >"$scratch/project/.claude/settings.json"
echo trusted >"$home/trust/known.json"
echo precious >"$scratch/outside/file"
cd "$scratch/project" || exit 1
key=$(find "$home/keys" -type f -size +0 | head -n 1)

# Credentials as people have them.
me=$scratch/home
mkdir -p "$me/.ssh" "$me/.aws" "$me/.gnupg" "$me/.config/gcloud" "$me/.kube" "$me/.mozilla" "$me/.local/share/keyrings" "$me/.docker"
for f in .ssh/id_ed25519 .aws/credentials .gnupg/pubring.kbx .config/gcloud/access_tokens.db .kube/config .mozilla/cookies.sqlite \
  .local/share/keyrings/login.keyring .docker/config.json .netrc .npmrc .pypirc .git-credentials; do
  echo secret >"$me/$f"
done
echo plain >"$me/.config/plain"

# Somebody outside to talk to: a port of the machine's loopback and a socket in the file system.
mkfifo "$scratch/serving"
"$probe" --serve "$scratch/outside/socket" <"$scratch/serving" >"$scratch/port" &
exec 8>"$scratch/serving"
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
  [ -s "$scratch/port" ] && break
  sleep 0.1
done
port=$(cat "$scratch/port")
# And somebody to be hurt, with a number that nobody inside has: those start at 1 again.
while :; do
  sleep 600 &
  other=$!
  [ $other -gt 100 ] && break
  kill $other
done

# Somebody else's terminal and shared memory, and for root the disk itself.
shm=$(mktemp /dev/shm/helm-walls-XXXXXX 2>/dev/null) || shm=
[ -z "$shm" ] || echo shared >"$shm"
disk=
for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/xvda /dev/loop0; do
  [ -n "$disk" ] || ! [ "$(head -c 1 "$d" 2>/dev/null | wc -c)" -eq 1 ] || disk=$d
done
tty=
if command -v python3 >/dev/null 2>&1; then
  mkfifo "$scratch/held"
  python3 -c 'import os, sys; m, s = os.openpty(); print(os.ttyname(s), flush=True); sys.stdin.read()' <"$scratch/held" >"$scratch/tty" &
  exec 7>"$scratch/held"
  while [ ! -s "$scratch/tty" ]; do sleep 0.1; done
  tty=$(cat "$scratch/tty")
fi

# Secrets that lie in no home, those of the account whose HOME is another one here, and another user's home.
account=$(getent passwd "$(id -u)" | cut -d: -f6)
theirs=
if [ "$(id -u)" = 0 ] && theirs=$(mktemp -d /home/helm-walls-XXXXXX 2>/dev/null); then
  trap 'chmod -R u+rwX "$scratch" 2>/dev/null; rm -rf "$scratch" "$theirs"' EXIT
  echo private >"$theirs/file"
  chmod 755 "$theirs"
else
  theirs=
  skip "another user's home" "only root can make one"
fi
echo entry >"$home/later"

# attempt PROFILE WHAT ARGS: $said becomes 0 when the probe got through, or the error number it met.
attempt() {
  in=$1
  shift
  # shellcheck disable=SC2016 # words of the shell inside
  helm profile run "$in" --guard-mode audit --workspace "${at:-$ws}" -- \
    sh -c '"$0" --probe "$@"; echo "probe said $?"' "$probe" "$1" "${2:-}" "${3:-}" \
    >"$scratch/.attempt" 2>&1
  said=$(sed -n 's/^probe said //p' "$scratch/.attempt")
  [ -n "$said" ] && return 0
  echo "the probe did not run:"
  cat "$scratch/.attempt"
  return 1
}
open() { # open PROFILE WHAT ARGS...: it gets through
  attempt "$@" || return 1
  [ "$said" -eq 0 ] && return 0
  echo "refused with $said: $*"
  return 1
}
closed() { # closed PROFILE WHAT ARGS...: it is tried, and refused
  attempt "$@" || return 1
  [ "$said" -ne 0 ] && return 0
  echo "got through: $*"
  return 1
}
# inside PROFILE TEXT COMMAND...: what it prints
inside() {
  in=$1 text=$2
  shift 2
  helm profile run "$in" --guard-mode audit --workspace "$ws" -- "$@" >"$scratch/.attempt" 2>&1
  grep -qxF -e "$text" "$scratch/.attempt" && return 0
  cat "$scratch/.attempt"
  return 1
}
at_elsewhere() { at=$elsewhere "$@"; }
closed_fd() { closed "$1" fd 9 9<"$scratch/outside/file"; }
unchanged() { [ "$(cat "$scratch/outside/file")" = precious ]; }
private_place() { # a run has a place for temporary files of its own, and nothing of it is left
  # shellcheck disable=SC2016 # words of the shell inside
  inside "$1" "kept" sh -c 'echo kept >"$TMPDIR/note" && cat "$TMPDIR/note"' &&
    inside "$1" "empty" sh -c '[ -z "$(ls "$TMPDIR")" ] && echo empty'
}
secret_variable() { HELM_ENV="SERVICE_TOKEN=sesame" inside "$1" "token=$2" sh -c 'echo "token=$SERVICE_TOKEN"'; }
handed_on() { HELM_ENV="HELM_GUARD_MODE=enforce HELM_APPROVAL=yes" inside "$1" "gates=" sh -c 'echo "gates=$HELM_GUARD_MODE$HELM_APPROVAL"'; }

# What no profile opens.
for p in inspect_local workspace_edit risky_edit service_ops; do
  ok "$p: the signing key cannot be read" closed $p read "$key"
  ok "$p: the keys cannot be listed" closed $p list "$home/keys"
  ok "$p: a key cannot be put there" closed $p write "$home/keys/new.key"
  ok "$p: whom we trust cannot be read" closed $p read "$home/trust/known.json"
  ok "$p: what a person decided about places cannot be listed" closed $p list "$home/trees"
  ok "$p: nor be read" closed $p read "$home/trees/probe"
  ok "$p: nor be changed" closed $p write "$home/trees/probe"
  ok "$p: with the workspace elsewhere, ~/.helm cannot be listed" at_elsewhere closed $p list "$home"
  ok "$p: nor the key there be read" at_elsewhere closed $p read "$key"
  ok "$p: the ledger cannot be changed" closed $p write "$ws/.helm/task-ledger.jsonl"
  ok "$p: receipts cannot be changed" closed $p write "$ws/.helm/receipts.jsonl"
  ok "$p: receipts cannot be cut" closed $p truncate "$ws/.helm/receipts.jsonl"
  ok "$p: receipts cannot be removed" closed $p unlink "$ws/.helm/receipts.jsonl"
  ok "$p: the state cannot be moved away" closed $p rename "$ws/.helm" "$ws/moved"
  ok "$p: nothing new appears in the state" closed $p write "$ws/.helm/new"
  ok "$p: the rules of the workspace cannot be changed" closed $p write "$ws/references/execution_profiles.json"
  ok "$p: the settings that arm the guard cannot be changed" closed $p write "$scratch/project/.claude/settings.json"
  ok "$p: a file outside cannot be written" closed $p write "$scratch/outside/file"
  ok "$p: a file outside cannot be made" closed $p write "$scratch/outside/new"
  ok "$p: a file outside cannot be removed" closed $p unlink "$scratch/outside/file"
  ok "$p: a mode outside cannot be changed" closed $p chmod "$scratch/outside/file"
  ok "$p: the shared /tmp cannot be written" closed $p write "/tmp/helm-walls-$$"
  ok "$p: a process outside cannot be signalled" closed $p kill $other
  ok "$p: a process outside cannot be traced" closed $p ptrace $other
  ok "$p: nor its environment be read" closed $p read /proc/$other/environ
  [ -z "$tty" ] || ok "$p: another terminal cannot be written to" closed $p write "$tty"
  [ -z "$tty" ] || ok "$p: nor be read" closed $p read "$tty"
  [ -z "$shm" ] || ok "$p: shared memory of others cannot be read" closed $p read "$shm"
  [ -z "$disk" ] || ok "$p: the disk itself cannot be read" closed $p read "$disk"
  ok "$p: an open file is not handed down" closed_fd $p
  ok "$p: the covers cannot be taken off" closed $p umount "$home/keys"
  ok "$p: nothing can be mounted" closed $p mount "$scratch/project"
  ok "$p: no new user namespace" closed $p unshare
  ok "$p: no raw socket" closed $p raw
  ok "$p: no io_uring" closed $p io_uring
  ok "$p: gates and approvals are not handed on" handed_on $p
  for f in .aws/credentials .gnupg/pubring.kbx .config/gcloud/access_tokens.db .kube/config .mozilla/cookies.sqlite .local/share/keyrings/login.keyring; do
    ok "$p: ~/$f cannot be read" closed $p read "$me/$f"
  done
  for f in /etc/shadow /etc/gshadow /etc/ssl/private /etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ed25519_key; do
    [ ! -e $f ] || ok "$p: $f cannot be read" closed $p read $f
  done
  for f in .npmrc .docker/config.json .netrc .git-credentials; do
    case $p in service_ops) break ;; esac # which names them
    [ "$account" = "$me" ] || [ ! -s "$account/$f" ] || ok "$p: nor ~/$f of the account" closed $p read "$account/$f"
  done
  [ -z "$theirs" ] || ok "$p: another user's home cannot be read" closed $p read "$theirs/file"
  [ -z "$theirs" ] || ok "$p: nor listed" closed $p list "$theirs"
  for f in /dev/fuse /dev/net/tun /dev/kmsg /dev/uinput; do
    [ ! -e $f ] || ok "$p: $f cannot be opened" closed $p read $f
  done
  ok "$p: nothing in ~/.helm but the workspace is seen" closed $p read "$home/later"
  ok "$p: nor can anything beside them" closed $p read "$me/.config/plain"
  ok "$p: reading outside is open" open $p read "$scratch/outside/file"
  ok "$p: the sink is open" open $p write /dev/null
  ok "$p: temporary files have a place of their own" private_place $p
done

# Writing: not for who looks around.
ok "inspect_local: the work tree cannot be written" closed inspect_local write "$scratch/project/made"
ok "inspect_local: the workspace cannot be written" closed inspect_local write "$ws/made"
ok "inspect_local: the state cannot even be read" closed inspect_local read "$ws/.helm/task-ledger.jsonl"
ok "inspect_local: shared memory cannot be written" closed inspect_local write /dev/shm/made
for p in workspace_edit risky_edit service_ops; do
  ok "$p: the work tree can be written" open $p write "$scratch/project/made-$p"
  ok "$p: the workspace can be written" open $p write "$ws/made-$p"
  ok_mounts "$p: the state cannot be read" closed $p read "$ws/.helm/task-ledger.jsonl"
  ok "$p: a mode in the work tree can be changed" open $p chmod "$scratch/project/made-$p"
  ok "$p: no file is made to run as its owner" closed $p setuid "$scratch/project/made-$p"
  ok "$p: nothing leaves the work tree through a link" closed $p symlink-out "$scratch/project" "$scratch/outside/file"
done

# Whoever starts in the home directory, or above it, does not get all of it as a work tree.
started_in() { # started_in DIR COMMAND...
  dir=$1
  shift
  (cd "$dir" && "$@")
}
ok "the home directory is no work tree" started_in "$scratch/home" closed workspace_edit write "$scratch/home/.profile"
ok "nor is what lies above it" started_in "$scratch" closed workspace_edit write "$scratch/outside/file"
ok "nor is all there is" started_in / closed workspace_edit write "$scratch/outside/file"

# A profile of the workspace's own may name one more place.
mkdir "$scratch/extra"
sed 's|"profiles": {|"profiles": { "one_more": { "description": "x", "backend": "local", "runtime_backend": "local-shell", "runtime_target_kind": "workspace", "isolation": "shared-session", "handoff_required": false, "writes_allowed": true, "network_allowed": false, "checkpoint": "never", "network": "none", "sandbox": "required", "limits": { "file_mb": 1, "open_files": 40, "output_mb": 1, "processes": 900 }, "write_paths": ["'"$scratch/extra"'"], "intended_for": ["x"] },|' \
  "$elsewhere/references/execution_profiles.json" >"$scratch/profiles" && cp "$scratch/profiles" "$elsewhere/references/execution_profiles.json"
trust "$elsewhere" >/dev/null
ok "a place that a profile names can be written" at_elsewhere open one_more write "$scratch/extra/made"
ok "its neighbours cannot" at_elsewhere closed one_more write "$scratch/outside/new"

limited() { # limited TEXT COMMAND...: what it says under that profile
  text=$1
  shift
  helm profile run one_more --guard-mode audit --workspace "$elsewhere" -- "$@" >"$scratch/.attempt" 2>&1
  grep -q "$text" "$scratch/.attempt" && return 0
  tail -c 500 "$scratch/.attempt"
  return 1
}
ok "a file does not grow beyond its limit" limited "File too large\|File size limit\|failed" sh -c "head -c 2000000 /dev/zero >$scratch/extra/big || echo failed"
ok "and is no larger" test "$(wc -c <"$scratch/extra/big")" -le 1048576
ok "open files are limited" limited "^40$" sh -c "ulimit -n"
ok "processes are limited" limited "^900$" sh -c "ulimit -u 2>/dev/null || ulimit -p"
ok "no limit can be raised again" limited "rror\|not permitted\|bad limit\|ermission" sh -c "ulimit -n 60"
ok "a run that prints too much is ended" limited "printed more than 1 MiB" sh -c "yes"
if ! grep -qa __asan_init "$HELM_REAL"; then # the sanitizers take more memory than anybody has
  sed -i 's/"output_mb": 1,/"output_mb": 1, "memory_mb": 200,/' "$elsewhere/references/execution_profiles.json" && trust "$elsewhere" >/dev/null
  ok "memory of each process is limited" limited "^204800$" sh -c "ulimit -v"
  ok "and cannot be had beyond it" limited "Cannot allocate\|exhausted" sh -c "head -c 300000000 /dev/zero | tail -c 300000000 >/dev/null"
fi

# Network: none, one's own loopback, all of it.
ok "inspect_local: not even a loopback of its own" closed inspect_local loopback
ok "inspect_local: no datagrams" closed inspect_local udp
for p in workspace_edit risky_edit; do
  ok "$p: has a loopback of its own" open $p loopback
done
for p in inspect_local workspace_edit risky_edit; do
  ok "$p: nobody outside can be reached" closed $p connect "$port"
  ok "$p: no socket in the file system can be reached" closed $p unix "$scratch/outside/socket"
  ok "$p: secrets of the environment stay outside" secret_variable $p ""
done
ok "service_ops: others can be reached" open service_ops connect "$port"
ok_mounts "service_ops: a socket in the file system can be reached" open service_ops unix "$scratch/outside/socket"
mkdir -p "$me/.screen"
mkfifo "$scratch/served"
"$probe" --serve "$me/.screen/1.pts" <"$scratch/served" >"$scratch/port2" &
exec 6>"$scratch/served"
while [ ! -s "$scratch/port2" ]; do sleep 0.01; done
ok "service_ops: not one behind which somebody types for it" closed service_ops unix "$me/.screen/1.pts"
HELM_ENV="XDG_RUNTIME_DIR=$me/.screen"
ok "service_ops: nor any of a person's session" closed service_ops unix "$me/.screen/1.pts"
HELM_ENV="XDG_RUNTIME_DIR=$scratch/outside SSH_AUTH_SOCK=$scratch/outside/socket"
ok_mounts "service_ops: but the agent that holds the keys it may read" open service_ops unix "$scratch/outside/socket"
ok "service_ops: with nothing beside it" closed service_ops read "$scratch/outside/file"
HELM_ENV="XDG_RUNTIME_DIR=$scratch/outside"
ok "service_ops: and without a name it is one of them" closed service_ops unix "$scratch/outside/socket"
HELM_ENV="DOCKER_HOST=unix://$scratch/outside/socket"
ok "service_ops: nor one that starts containers" closed service_ops unix "$scratch/outside/socket"
HELM_ENV="TMUX=$scratch/outside/socket,12,0"
ok "service_ops: nor the terminal it was started in" closed service_ops unix "$scratch/outside/socket"
HELM_ENV=
ok_mounts "service_ops: and that one is still there" open service_ops unix "$scratch/outside/socket"
exec 6>&-
ok "service_ops: the environment is handed down" secret_variable service_ops sesame

# What pushing and publishing needs is named by the profile with the network, and by no other.
for f in .ssh/id_ed25519 .docker/config.json .netrc .npmrc .pypirc .git-credentials; do
  ok "service_ops: ~/$f can be read" open service_ops read "$me/$f"
  for p in inspect_local workspace_edit risky_edit; do
    ok "$p: ~/$f cannot be read" closed $p read "$me/$f"
  done
done

# Own variables are handed down, and where to find things.
inside_env() { HELM_ENV="HELM_NOTE=one OPENCLAW_NOTE=two" inside inspect_local "one two" sh -c 'echo "$HELM_NOTE $OPENCLAW_NOTE"'; }
ok "inspect_local: variables of ours are handed down" inside_env

# Temporary files of another run, while that lasts.
# shellcheck disable=SC2016 # words of the shell inside
helm profile run workspace_edit --guard-mode audit --workspace "$ws" -- sh -c 'echo sesame >"$TMPDIR/mine"; : >"$0/wrote"; while [ ! -e "$0/seen" ]; do sleep 0.05; done' "$scratch/project" >/dev/null 2>&1 &
writer=$!
i=0; while [ ! -e "$scratch/project/wrote" ] && [ $i -lt 400 ]; do sleep 0.05; i=$((i + 1)); done
lies_there() { grep -rqx sesame "/tmp/helm-$(id -u)"; }
ok "temporary files of a run lie in one place" lies_there
for p in inspect_local workspace_edit risky_edit service_ops; do
  ok "$p: and no other run reads them" inside $p "found 0" sh -c 'echo "found $(grep -rlx sesame /tmp/helm-* 2>/dev/null | wc -l)"'
done
: >"$scratch/project/seen"
wait $writer

handed_over() {
  says 0 "handoff_required" helm profile run remote_handoff --guard-mode audit --runtime-target box -- touch "$scratch/project/handed" &&
    ! test -e "$scratch/project/handed"
}
ok "remote_handoff: nothing runs here" handed_over
ok "nothing outside was changed" unchanged
[ -z "$shm" ] || rm -f "$shm"
exec 7>&-
kill $other
exec 8>&-
wait
finish
