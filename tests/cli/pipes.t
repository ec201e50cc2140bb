#!/bin/sh
# A pipe in the place of a file of the record or of the helm home, also of one that is made only now and then: no command waits for ever
# for somebody to write into it.
# shellcheck disable=SC2317 # called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

fresh_workspace
echo one >notes.txt
helm checkpoint create --label one >/dev/null
helm run -- true >/dev/null 2>&1
helm log head --sign >/dev/null
helm report >/dev/null
helm context pack --budget 500 --task notes >/dev/null 2>&1
cp -a "$scratch/home" "$scratch/.whole"
# ends ARGS...: within 20 seconds, not by a signal
ends() {
  HELM_REAL=$scratch/.bounded quietly "$@"
  rc=$?
  [ $rc -lt 124 ] || [ $rc = 126 ] || { echo "exit $rc: $*"; return 1; }
}
quietly() { "$@" >"$scratch/.said" 2>&1 </dev/null; }
printf '#!/bin/sh\nexec timeout -s KILL 20 "%s" "$@"\n' "$HELM_REAL" >"$scratch/.bounded"
chmod +x "$scratch/.bounded"
# piped FILE: a pipe in its place; a view, a writer, a check
piped() {
  rm -rf "${scratch:?}/home"
  cp -a "$scratch/.whole" "$scratch/home"
  rm -rf "${scratch:?}/home/$1"
  mkfifo "$scratch/home/$1" || return 1
  ends helm status && ends helm run -- true && ends helm log check
}
# Each kind of name once, and the names that SQLite and torn ends have.
(cd "$scratch/home" && find .helm -type f) | sed 'p; s/$/.torn/' | grep -v 'objects/.*torn$\|\.torn\.torn$\|key\.torn$' >"$scratch/.names"
for index in ops-index acts-index context-index; do
  for end in "" -journal -wal -shm; do echo ".helm/workspace/.helm/$index.sqlite3$end"; done
done >>"$scratch/.names"
sort -u "$scratch/.names" >"$scratch/.each"
while read -r name; do
  ok "a pipe as $(echo "$name" | sed 's/[0-9a-f]\{32,\}/ID/g')" piped "$name"
done <"$scratch/.each"

# The index is made again whatever stands beside it.
for kind in mkfifo mkdir; do
  rm -rf "${scratch:?}/home"
  cp -a "$scratch/.whole" "$scratch/home"
  rm -f "$ws/.helm/ops-index.sqlite3-journal"
  $kind "$ws/.helm/ops-index.sqlite3-journal"
  ok "$kind as the index's journal: views go on" exits 0 helm task list
  ok "$kind as the index's journal: a rebuild puts it away" exits 0 helm db rebuild
  ok "$kind as the index's journal: then all is well" says 0 "drift=0" helm db verify
done
finish
