#!/bin/sh
# log_signer.t — the keeper of a log's keys as a process of its own: who may ask, one story whoever asks, nothing forgotten when it is killed, a database that
# was set back gets nothing.
# shellcheck disable=SC2317 # called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "no python3"
tlog() { python3 "$HELM_SOURCE/tests/tools/tlog.py" "$@"; }

# Two real users where that is possible.
keeper=$(id -u)
if [ "$keeper" -eq 0 ] && command -v setpriv >/dev/null 2>&1; then
  keeper=64322
  chmod 711 "$scratch"
fi
as_keeper() {
  if [ "$keeper" -eq "$(id -u)" ]; then
    env -i PATH="$PATH" HOME="$scratch/keeper" LC_ALL=C.UTF-8 "$@"
  else
    setpriv --reuid "$keeper" --regid "$keeper" --clear-groups env -i PATH="$PATH" HOME="$scratch/keeper" LC_ALL=C.UTF-8 "$@"
  fi
}
mkdir -m 755 "$scratch/keeper" "$scratch/run" "$scratch/bin"
cp "$HELM_REAL" "$scratch/bin/helm"
chmod 755 "$scratch/bin/helm"
[ "$keeper" -eq "$(id -u)" ] || chown "$keeper:$keeper" "$scratch/keeper" "$scratch/run"
socket=$scratch/run/socket
origin=ledger.example/team
signer=
starts() {
  as_keeper "$scratch/bin/helm" signer log --socket "$socket" --for "$(id -u)" >"$scratch/.signer" 2>&1 &
  signer=$!
  waited=0
  while ! tlog facts "$socket" team >/dev/null 2>&1; do
    sleep 0.05
    waited=$((waited + 1))
    [ $waited -lt 200 ] || { cat "$scratch/.signer"; return 1; }
  done
}
ends() { # ends [SIGNAL]: setpriv and env give their place to helm, so this is its own id
  [ -n "$signer" ] || return 0
  kill "-${1:-TERM}" "$signer" 2>/dev/null
  wait "$signer" 2>/dev/null
  signer=
  return 0
}
trap 'ends KILL; rm -rf "$scratch"' EXIT

ok "keys are made" says 0 "log_key=$origin+" as_keeper "$scratch/bin/helm" signer log-key team "$origin"
ok "and shown" says 0 "signed=0 leaves, 0 orders" as_keeper "$scratch/bin/helm" signer log-key team
ok "not made twice" says 1 "already" as_keeper "$scratch/bin/helm" signer log-key team "$origin"
ok "not for a name that is no origin" says 2 "origin" as_keeper "$scratch/bin/helm" signer log-key other "a b"
ok "the signer starts" starts
ok "not a second one" says 1 "already" as_keeper "$scratch/bin/helm" signer log --socket "$scratch/run/other" --for 0

ok "the first tree is signed" says 0 "$origin" tlog sign "$socket" team "$origin" 0 0 4
tlog sign "$socket" team "$origin" 0 4 9 >"$scratch/nine"
ok "and one that goes on from it" grep -q "^9$" "$scratch/nine"
ok "a smaller one is not: the database was set back" says 3 "LOG_SMALLER" tlog sign "$socket" team "$origin" 0 4 7
ok "nor one that grew again from there" says 3 "LOG_DIFFERENT" tlog sign "$socket" team "$origin" 7 9 11
ok "nor another one of the same size" says 3 "LOG_DIFFERENT" tlog sign "$socket" team "$origin" 7 9 9
ok "nor of another name" says 3 "LOG_ORIGIN" tlog sign "$socket" team ledger.example/other 0 9 11
ok "the same one again is, with the same signature" sh -c 'python3 "$1" sign "$2" team "$3" 0 9 9 | cmp -s - "$4"' - "$HELM_SOURCE/tests/tools/tlog.py" "$socket" "$origin" "$scratch/nine"

killed_and_remembers() {
  i=9
  while [ $i -lt 21 ]; do
    # Killed while it is asked: what it had given is what it has behind it.
    tlog sign "$socket" team "$origin" 0 "$i" $((i + 3)) >"$scratch/note" 2>/dev/null &
    asks=$!
    sleep 0.0$((i % 7))
    ends KILL
    wait "$asks"
    starts || return 1
    has=$(tlog facts "$socket" team | cut -d' ' -f1)
    if [ -s "$scratch/note" ] && grep -q "^— " "$scratch/note"; then
      [ "$has" -eq $((i + 3)) ] || { echo "gave $((i + 3)) and remembers $has"; return 1; }
    fi
    [ "$has" -eq "$i" ] || [ "$has" -eq $((i + 3)) ] || { echo "remembers $has"; return 1; }
    tlog sign "$socket" team "$origin" 0 "$has" $((i + 3)) >/dev/null || return 1
    i=$((i + 3))
  done
}
ok "killed at any moment, it remembers what it gave" killed_and_remembers

two_at_once() {
  tlog race "$socket" team "$origin" 4 15 >"$scratch/race" || return 1
  cat "$scratch/race"
  grep -q "stories=1 twice=0" "$scratch/race" && ! grep -q "notes=0" "$scratch/race"
}
ok "four sequencers at once: one story, no size twice" two_at_once

order() { tlog order "$socket" team "$origin" "$@"; }
ok "the first order is signed" says 0 '"signature"' order 1 "" freeze
ok "another one in its place is answered with it" says 3 '"kind": "freeze"' order 1 "" unfreeze
ok "one that does not continue is not" says 3 "LOG_ORDER" order 2 "" unfreeze
ok "the next one is" says 0 '"signature"' order 2 "$(tlog facts "$socket" team | cut -d' ' -f3)" unfreeze

# Files of the signer put back from an old copy: the newest note that the ledger has shows it.
set_back() {
  ends
  cp -p "$scratch/keeper/.helm/logs/team/signed.json" "$scratch/older" || return 1
  starts || return 1
  has=$(tlog facts "$socket" team | cut -d' ' -f1)
  tlog sign "$socket" team "$origin" 0 "$has" $((has + 5)) >"$scratch/newest" || return 1
  ends KILL
  cp -p "$scratch/older" "$scratch/keeper/.helm/logs/team/signed.json"
  starts || return 1
  says 3 "set back by 5 leaves" tlog sign "$socket" team "$origin" 0 "$has" $((has + 9)) "$scratch/newest"
}
ok "a signer that was set back is found, and by how much" set_back
cannot_read() { ! cat "$scratch/keeper/.helm/logs/team/log.key" >/dev/null 2>&1; }
if [ "$keeper" -ne "$(id -u)" ] && [ "$(id -u)" -ne 0 ]; then
  ok "who asks cannot read the key" cannot_read
else
  skip "who asks cannot read the key" "takes two users, neither of them root"
fi
ends
is_away() { ! tlog sign "$socket" team "$origin" 0 30 31 >/dev/null 2>&1; }
ok "when it is away, nothing is signed" is_away
finish
