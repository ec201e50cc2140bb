#!/bin/sh
# witness.t — a witness as a process of its own: what it answers to each question (c2sp.org/tlog-witness), one story of a log that tells two, nothing forgotten
# when it is killed; and a log that asks several.
# shellcheck disable=SC2317 # called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "no python3"
[ -x "$(dirname "$HELM_REAL")/helm-serve" ] || skip_all "helm-serve is not built"
tool=$HELM_BUILD/tests/tlog_tool
tlog() { python3 "$HELM_SOURCE/tests/tools/tlog.py" "$@"; }
origin=ledger.example/team
pids=
trap 'for p in $pids; do kill -KILL "$p" 2>/dev/null; done; rm -rf "$scratch"' EXIT

# A log of two signers with one key: what a log needs that wants to tell two stories.
as() { who=$1; shift; env -i PATH="$PATH" HOME="$scratch/$who" LC_ALL=C.UTF-8 "$HELM_REAL" "$@"; }
mkdir -m 700 "$scratch/one" "$scratch/two" "$scratch/run" "$scratch/w1" "$scratch/w2" "$scratch/w3"
as one signer log-key team "$origin" >"$scratch/keys"
log_key=$(sed -n 's/^log_key=//p' "$scratch/keys")
cp -rp "$scratch/one/.helm" "$scratch/two/.helm"
for n in one two; do
  env -i PATH="$PATH" HOME="$scratch/$n" LC_ALL=C.UTF-8 "$HELM_REAL" signer log --socket "$scratch/run/$n" --for "$(id -u)" >"$scratch/.$n" 2>&1 &
  pids="$pids $!"
done
for n in one two; do
  waited=0
  until tlog facts "$scratch/run/$n" team >/dev/null 2>&1; do
    sleep 0.05
    waited=$((waited + 1))
    [ "$waited" -lt 200 ] || { cat "$scratch/.$n"; break; }
  done
done
note() { tlog sign "$scratch/run/$1" team "$origin" "$2" "$3" "$4" >"$scratch/note.$1.$4"; } # SIGNER STORY OLD SIZE

# starts WITNESS KEY...: sets url and witness
starts() {
  home=$1
  shift
  : >"$scratch/.ready.$home"
  env -i PATH="$PATH" HOME="$scratch/$home" LC_ALL=C.UTF-8 "$HELM_REAL" witness serve --port 0 "$@" >"$scratch/.ready.$home" 2>"$scratch/.said.$home" &
  witness=$!
  pids="$pids $witness"
  waited=0
  until grep -q base_url "$scratch/.ready.$home"; do
    sleep 0.05
    waited=$((waited + 1))
    [ "$waited" -lt 200 ] || { cat "$scratch/.said.$home"; return 1; }
  done
  url=$(sed -n 's/.*"base_url":"\([^"]*\)".*/\1/p' "$scratch/.ready.$home")
}
add() { # add FILE STORY OLD SIZE: the answer; its first line is status and type
  tlog add "$url/add-checkpoint" "$3" "$4" "$2" <"$1"
}

answers() { # answers STATUS WORDS FILE STORY OLD SIZE
  want=$1 words=$2
  shift 2
  add "$@" >"$scratch/said" || return 1
  head -n 1 "$scratch/said" | grep -q "^$want " && grep -q "$words" "$scratch/said" && return 0
  cat "$scratch/said"
  return 1
}

ok "without a key there is no witness" says 1 "witness key" as w1 witness serve --port 0 --log "$log_key"
ok "a key is made" says 0 "witness.example/1+" as w1 witness key witness.example/1
ok "not twice" says 1 "already" as w1 witness key witness.example/2
ok "a log has to be named" says 2 "name the logs" as w1 witness serve --port 0
ok "and not another witness" says 1 "not of a log" as w1 witness serve --port 0 --log "$(as w1 witness key)"
printf '# our logs\n\n  %s\n' "$log_key" >"$scratch/logs"
ok "it starts" starts w1 --logs "$scratch/logs"
first=$url

note one 0 0 4
note one 0 4 9
ok "200: the first checkpoint gets a cosignature" answers 200 "^— witness.example/1 "  "$scratch/note.one.4" 0 0 4
ok "200: the next one, with its proof" answers 200 . "$scratch/note.one.9" 0 4 9
ok "200: the same again" answers 200 . "$scratch/note.one.9" 0 9 9
conflict_says_size() { add "$scratch/note.one.9" 0 4 9 | tr '\n' ' ' | grep -q '^409 text/x.tlog.size 9 $'; }
ok "409: from elsewhere, with the size" conflict_says_size
ok "409: an older one" answers 409 . "$scratch/note.one.4" 0 0 4
ok "400: backwards" answers 400 . "$scratch/note.one.4" 0 9 4
ok "400: nonsense" sh -c 'printf nonsense | python3 "$1" add "$2/add-checkpoint" 0 4 0 | grep -q "^400 "' - "$HELM_SOURCE/tests/tools/tlog.py" "$url"
sed 's/^9$/10/' "$scratch/note.one.9" >"$scratch/false"
ok "403: not signed by the log" answers 403 . "$scratch/false" 0 9 10
{ sed '/^— /d' "$scratch/note.one.9"; echo "— other.example/log AAAAAAAAAAA="; } >"$scratch/foreign"
ok "403: not signed by anybody known" answers 403 . "$scratch/foreign" 0 9 9
sed "s|^$origin\$|else.example/log|; s|^— $origin|— else.example/log|" "$scratch/note.one.9" >"$scratch/else"
ok "404: a log that it does not know" answers 404 . "$scratch/else" 0 9 9

# The other signer has the same key, and tells another story from leaf 6 on.
note two 6 0 9
note two 6 9 12
ok "409: another tree of the same size, signed by the log" answers 409 . "$scratch/note.two.9" 6 9 9
ok "422: one that grew from another story" answers 422 . "$scratch/note.two.12" 6 9 12
kept() {
  set -- "$scratch"/w1/.helm/witness/conflicts/*.txt
  [ $# -eq 2 ] || { ls "$scratch/w1/.helm/witness/conflicts"; return 1; }
  grep -l "^12$" "$@" | xargs grep -c "^— $origin " | grep -q 2
}
ok "both of its notes are kept" kept
# As if it had done so a hundred times: what it does now is kept all the same, and what another log does, too.
conflicts=$scratch/w1/.helm/witness/conflicts
of_log=$(for f in "$conflicts"/*.txt; do basename "$f"; done | head -1 | cut -c1-16)
i=0
while [ $i -lt 100 ]; do echo old >"$conflicts/$of_log-$i.txt"; i=$((i + 1)); done
rm "$(grep -l "^12$" "$conflicts"/*.txt)"
answers 422 . "$scratch/note.two.12" 6 9 12 >/dev/null
ok "behind a hundred of one log the newest is kept" sh -c 'grep -c "^— $1 " "$2" | grep -q 2 && grep -q "^12$" "$2"' - "$origin" "$conflicts/$of_log-newest.txt"
note one 0 9 12
ok "the true story goes on" answers 200 . "$scratch/note.one.12" 0 9 12

# Killed at any moment: what it gave, it knows.
killed() {
  at=12
  while [ "$at" -lt 24 ]; do
    note one 0 "$at" $((at + 3))
    add "$scratch/note.one.$((at + 3))" 0 "$at" $((at + 3)) >"$scratch/answer" 2>/dev/null &
    asks=$!
    sleep "0.0$((at % 8))"
    kill -KILL "$witness"
    wait "$witness" 2>/dev/null
    wait "$asks"
    starts w1 --log "$log_key" || return 1
    has=$(add "$scratch/note.one.9" 0 0 9 | sed -n 2p)
    if grep -q "^200 " "$scratch/answer" && grep -q "^— witness" "$scratch/answer"; then
      [ "$has" -eq $((at + 3)) ] || { echo "gave $((at + 3)), has $has"; return 1; }
    fi
    [ "$has" -eq "$at" ] || [ "$has" -eq $((at + 3)) ] || { echo "has $has"; return 1; }
    add "$scratch/note.one.$((at + 3))" 0 "$has" $((at + 3)) >"$scratch/answer"
    grep -q "^200 " "$scratch/answer" || { cat "$scratch/answer"; return 1; }
    at=$((at + 3))
  done
}
ok "killed at any moment, it remembers what it gave" killed

# A race: many at once offer different trees; each size is cosigned once.
race() {
  rm -f "$scratch"/answer.*
  note one 0 12 25 2>/dev/null || tlog sign "$scratch/run/one" team "$origin" 0 24 25 >"$scratch/note.one.25"
  tlog sign "$scratch/run/two" team "$origin" 6 12 25 >"$scratch/note.two.25"
  asking=
  for n in 1 2 3 4; do
    add "$scratch/note.one.25" 0 24 25 >"$scratch/answer.one.$n" &
    asking="$asking $!"
    add "$scratch/note.two.25" 6 24 25 >"$scratch/answer.two.$n" &
    asking="$asking $!"
  done
  for p in $asking; do wait "$p"; done
  ! grep -l "^200 " "$scratch"/answer.two.* && grep -q "^200 " "$scratch"/answer.one.*
}
ok "asked by many at once, it tells one story" race

# A log asks three witnesses; one of them is away.
if [ -x "$tool" ]; then
  mkdir "$scratch/log"
  "$tool" make "$scratch/log" 5 300 70000 || exit 1
  vkey=$(cat "$scratch/log/log.vkey")
  as w2 witness key witness.example/2 >/dev/null
  as w3 witness key witness.example/3 >/dev/null
  starts w2 --log "$vkey" && two=$url
  starts w3 --log "$vkey" && three=$url third=$witness
  {
    echo "log $vkey"
    echo "witness a $(as w1 witness key) $first"
    echo "witness b $(as w2 witness key) $two/"
    echo "witness c $(as w3 witness key) $three"
    echo "group g 2 a b c"
    echo "quorum g"
  } >"$scratch/policy"
  ask() { as one witness ask "$scratch/log/$1.checkpoint" --policy "$scratch/policy" --tiles "$scratch/log"; }
  ok "two of three cosign: that is the quorum" says 0 "— witness.example/3 " ask 300
  ok "from where each of them stands" says 0 "— witness.example/2 " ask 70000
  ok "not back to a smaller one" says 1 "larger tree, of 70000 leaves" ask 300
  kill -KILL "$third"
  quick() {
    before=$(date +%s)
    says 1 "not the quorum" ask 70000 || return 1
    [ $(($(date +%s) - before)) -le 10 ]
  }
  ok "one is not, and nobody waits long" quick
fi
finish
