#!/bin/sh
# Notes, tiles, roots and proofs against Go's own library of the checksum database (golang.org/x/mod/sumdb), both ways.
# shellcheck disable=SC2317 # called through ok
. "${HELM_SOURCE:-.}/tests/oracle/oracle.sh"
tool=$HELM_BUILD/tests/tlog_tool
[ -x "$tool" ] || skip_all "tlog_tool is not built"
need go
[ -d /usr/share/gocode/src/golang.org/x/mod/sumdb ] || skip_all "golang-golang-x-mod-dev is not installed"

mkdir -p gocache && cp "$ORACLE/tlog.go" .
if ! HOME=$PWD GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$HELM_BUILD/oracle-go GOFLAGS='' CGO_ENABLED=0 GOTOOLCHAIN=local \
  go build -o theirs tlog.go >build.log 2>&1; then
  cat build.log >&2
  echo "not ok 1 - go builds tlog.go"
  echo "1..1"
  exit 1
fi

sizes="1 2 3 255 256 257 511 512 600 4096 65535 65536 65537 70000"
agrees_on_logs() {
  mkdir log || return 1
  # shellcheck disable=SC2086 # sizes are words
  "$tool" make log $sizes || return 1
  # shellcheck disable=SC2086
  ./theirs check log $sizes >count || return 1
  [ "$(cat count)" -eq 125 ] || { echo "only $(cat count) proofs were compared"; return 1; }
}
# One bit of one tile: their reader says no, so a yes above means something.
finds_a_changed_tile() {
  cp -r log other || return 1
  printf 'x' | dd of=other/tile/0/001 bs=1 seek=77 conv=notrunc 2>/dev/null
  ! ./theirs check other 512 2>/dev/null
}
their_notes_open_here() {
  ./theirs note >theirs.txt || return 1
  vkey=$(sed -n 1p theirs.txt)
  sed 1,2d theirs.txt >theirs.note
  "$tool" open "$vkey" <theirs.note >text || return 1
  printf 'one\n\ntwo é\n' | cmp -s - text || return 1
  sed 's/two/too/' theirs.note >changed.note
  ! "$tool" open "$vkey" <changed.note 2>/dev/null
}
our_notes_open_there() {
  vkey=$(sed -n 1p theirs.txt) skey=$(sed -n 2p theirs.txt)
  printf 'three\n\nfour\n' >text
  "$tool" sign "$skey" <text >ours.note || return 1
  ./theirs open "$vkey" <ours.note || return 1
  sed 's/four/for/' ours.note >changed.note
  ! ./theirs open "$vkey" <changed.note 2>/dev/null
}

ok "checkpoints, tiles, roots, consistency and inclusion proofs are those of Go" agrees_on_logs
ok "a changed tile is found by their reader" finds_a_changed_tile
ok "their notes open here, changed ones do not" their_notes_open_here
ok "our notes, signed with their key, open there" our_notes_open_there
finish
