#!/bin/sh
# What can be undone need not be asked: where the workspace says so, what would be lost is saved first, and really comes back.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

ws=$scratch/ws
mkdir "$ws"
helm init --path "$ws" >/dev/null 2>&1 || helm init "$ws" >/dev/null
calls=$ws/.helm/tool-calls.jsonl
call() { # call COMMAND: the payload of a shell call
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s","cwd":"%s","tool_use_id":"u"}' "$1" "$ws"
}
ask() { call "$2" | agent hook pre-tool --client "$1" --path "$ws"; }
passes() { out=$(ask claude-code "$1") && [ -z "$out" ] || { echo "$out"; return 1; }; }
asks() { # asks COMMAND [TEXT]
  out=$(ask claude-code "$1")
  printf '%s' "$out" | grep -q '"permissionDecision":"ask"' || { echo "not asked: $out"; return 1; }
  printf '%s' "$out" | grep -qF -e "${2:-}" || { echo "$out"; return 1; }
}
last() { tail -n 1 "$ws/.helm/receipts.jsonl"; }
field() { last | sed -n "s/.*\"$1\": *\"\\([^\"]*\\)\".*/\\1/p"; }
receipt_says() { last | grep -qE "\"$1\": *\"$2\""; }
fill() {
  mkdir -p "$ws/build/sub/empty"
  echo one >"$ws/build/a.o"
  echo two >"$ws/build/sub/b.o"
  chmod 640 "$ws/build/a.o"
}
fill

ok "by default a loss is asked about" asks "rm -rf build"
ok "and saved first, where the client can ask" asks "rm -rf build" "helm checkpoint restore"
ok "the receipt of a question names the checkpoint" receipt_says checkpoint_id '[^"]+'
ok "a client that cannot ask gets no checkpoint" sh -c '! printf %s "$0" | grep -q "checkpoint restore"' "$(ask codex "rm -rf build")"
ok "the choice is made by a command" says 0 default_profile=workspace_edit terminal -- helm profile use workspace_edit --destructive checkpoint --path "$ws"

ok "then it runs without a question" passes "rm -rf build"
ok "the receipt says why" receipt_says settled_by checkpoint
ok "it is no approval" sh -c '! printf %s "$0" | grep -q "\"approved\""' "$(last)"
ok "the session shows what undoes it" sh -c 'tail -n 1 "$0" | grep -q "\"checkpoint_id\""' "$calls"
id=$(field checkpoint_id)
rm -rf "$ws/build"
ok "the receipt's checkpoint brings it back" exits 0 helm checkpoint restore "$id" --path "$ws"
whole() { [ "$(cat "$ws/build/a.o" "$ws/build/sub/b.o")" = "one
two" ] && [ -d "$ws/build/sub/empty" ] && [ "$(stat -c %a "$ws/build/a.o")" = 640 ]; }
ok "with content, modes and empty directories" whole
ok "the receipts verify" exits 0 helm log check --path "$ws"

ok "several at once" passes "rm -rf build/sub build/a.o"
ok "what is in a directory" passes "rm -rf build/*"
ok "and what is made after it" passes "rm -rf build && mkdir -p build && make -j4"
ok "what is not there" passes "rm -rf nowhere"
ok "what find selects" passes "find build -name '*.o' -delete"
ok "modes" passes "chmod -R go-w build"
flip() { # flip FILE OFFSET: one bit of a file
  byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
  # shellcheck disable=SC2059 # the byte is in the format
  printf "\\$(printf %03o $((byte ^ 1)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
mkdir "$ws/five"
for i in 1 2 3 4 5; do echo "file number $i" >"$ws/five/$i"; done
helm checkpoint create --include five --path "$ws" >/dev/null 2>&1
for pack in "$ws"/.helm/checkpoints/objects/*.pack; do flip "$pack" 12; done
comes_back() {
  passes "rm -rf five" || return 1
  id=$(field checkpoint_id)
  rm -rf "$ws/five"
  helm checkpoint restore "$id" --path "$ws" || return 1
  for i in 1 2 3 4 5; do [ "$(cat "$ws/five/$i")" = "file number $i" ] || return 1; done
}
ok "what the store holds already is read back before it is relied upon" comes_back
echo log >"$ws/run.log"
ok "emptying a file" passes "truncate -s 0 run.log"
id=$(field checkpoint_id)
: >"$ws/run.log"
helm checkpoint restore "$id" --path "$ws" >/dev/null
ok "comes back" grep -q log "$ws/run.log"

ok "outside it asks" asks "rm -rf $scratch/elsewhere"
ok "climbing asks" asks "rm -rf build/sub/../sub" "not written out"
mkdir "$ws/src"
echo precious >"$ws/src/a.c"
ok "a directory that cannot be entered asks" asks "cd nonexist; rm -rf src" "not certain"
ok "a way there in steps asks" asks "cd nonexist; cd $ws/build; rm -rf src" "not certain"
ok "a relative way asks" asks "cd build && rm -rf sub" "not certain"
ok "an absolute one is enough" passes "cd $ws && rm -rf build"
ok "then what would be lost without it is saved, too" passes "cd $ws/build; rm -rf src"
id=$(field checkpoint_id)
rm -rf "$ws/src"
helm checkpoint restore "$id" --path "$ws" >/dev/null
ok "as it turns out" grep -q precious "$ws/src/a.c"
ok "another program in between asks" asks "timeout 5 rm -rf build" "another program"
ok "so does one that repeats" asks "parallel rm -rf ::: build" "another program"
printf 'rm -rf build\n' >"$ws/clean.sh"
ok "and a script, which may change" asks "sh clean.sh" "another program"
ok "but not a shell" passes "bash -c 'rm -rf build'"
ok "a pattern for directories asks" asks "rm -rf build/*/" "not written out"
ok "something unknown asks" asks "rm -rf build/\$X"
ok "a variable asks" asks "D=build; rm -rf \$D" "not written out"
ok "what a search hands over asks" asks "find build -name '*.o' | xargs rm -rf"
ok "a second reason asks" asks "rm -rf build; kill -9 1234"
ok "destroying beyond recovery asks" asks "shred -u run.log"
mkdir "$scratch/far"
echo far >"$scratch/far/f"
ln -s "$scratch/far" "$ws/out"
ln -s "$scratch/far" "$ws/build/out"
ok "through a link asks" asks "rm -rf out/f"
ok "a link asks" asks "rm -rf out"
ok "a link that leads out below it asks" asks "rm -rf build" "it is a link"
rm "$ws/build/out"
ln -s a.o "$ws/build/in"
ok "a link that stays inside is saved" passes "rm -rf build"
ok "but asks where links may be followed" asks "find build -type f -delete" "it is a link"
rm "$ws/build/in" "$ws/out"
ln "$ws/run.log" "$scratch/other-name"
ok "a file with a second name asks before it is emptied" asks "truncate -s 0 run.log" "second name"
rm "$scratch/other-name"
ok "a link made on the way asks" asks "ln -s $scratch/far d; rm -rf d/f" "could change where"
ok "so does one made in a loop" asks "for i in 1 2; do rm -rf d/f; ln -s $scratch/far d; done" "could change where"
ok "or at the same time" asks "rm -rf d/f & ln -s $scratch/far d" "could change where"
ok "or by a script" asks "make; rm -rf build" "could change where"

echo 'build/sub' >"$ws/.helmignore"
ok "what .helmignore leaves out asks" asks "rm -rf build/sub" ".helmignore"
ok "also below" asks "rm -rf build" "left out"
rm "$ws/.helmignore"
mkfifo "$ws/build/pipe"
ok "what cannot be saved asks" asks "rm -rf build" "fifo"
rm "$ws/build/pipe"
mkdir -p "$ws/mod/.git"
ok "version control asks" asks "rm -rf mod/.git"
ok "also below" asks "rm -rf mod" "left out"
rm -rf "$ws/mod"
if [ "$(id -u)" -ne 0 ]; then
  chmod 0 "$ws/build/a.o"
  ok "what cannot be read asks" asks "rm -rf build" "unreadable"
  chmod 640 "$ws/build/a.o"
else
  skip "what cannot be read asks" "root can read every file"
fi
mkdir -p "$ws/references"
printf '{"max_files": 1}' >"$ws/references/checkpoint_policy.json"
ok "over the limits asks" asks "rm -rf build" "more than 1 file;"
rm "$ws/references/checkpoint_policy.json"
mv "$ws/.helm/checkpoints" "$scratch/checkpoints.away"
: >"$ws/.helm/checkpoints"
ok "a store that cannot be written asks" asks "rm -rf build"
ok "and the receipt says why" receipt_says checkpoint_error '[^"]+'
rm "$ws/.helm/checkpoints"
mv "$scratch/checkpoints.away" "$ws/.helm/checkpoints"
agent_twin() {
  # shellcheck disable=SC2086 # words on purpose
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" HELM_TEST_CLOCK_US=1767225600000000 ${HELM_ENV:-} \
    python3 "$HELM_SOURCE/tests/tools/agent.py" "$HELM_TWIN" "$@"
}
twin() { call "rm -rf build" | agent_twin hook pre-tool --client claude-code --path "$ws" 2>"$scratch/.e"; }
any_fault() { # whatever fails: a pass has a receipt, and the receipt a checkpoint that can be restored
  n=1
  passed=0
  while [ $n -le 60 ]; do
    lines=$(wc -l <"$ws/.helm/receipts.jsonl")
    out=$(HELM_ENV="HELM_TEST_FAIL_AT=$n:$1" twin)
    code=$?
    if [ $code -eq 0 ] && [ -z "$out" ]; then
      passed=$((passed + 1))
      [ "$(wc -l <"$ws/.helm/receipts.jsonl")" -gt "$lines" ] || { echo "at $n: no receipt"; return 1; }
      id=$(field checkpoint_id)
      [ -n "$id" ] && helm checkpoint preview "$id" --path "$ws" >"$scratch/.o" 2>&1 || { echo "at $n: $id"; cat "$scratch/.o"; return 1; }
    fi
    n=$((n + 1))
  done
  [ $passed -gt 0 ] && [ $passed -lt 60 ] || { echo "passed $passed"; return 1; }
}
ok "whatever fails while it is saved, nothing passes unsaved" any_fault EIO
ok "nor on a full disk" any_fault ENOSPC
echo new >"$ws/build/new.o"
ok "what takes too long asks" sh -c 'printf %s "$0" | grep -q "took too long"' "$(HELM_ENV="HELM_TEST_CLOCK_STEP_US=700000" twin)"
ok "the workspace itself stays denied" sh -c 'printf %s "$0" | grep -q "\"permissionDecision\":\"deny\""' "$(ask claude-code "rm -rf .")"
ok "denials stay denials" sh -c 'printf %s "$0" | grep -q "\"permissionDecision\":\"deny\""' "$(ask claude-code "rm -rf /")"

# git
if needs git "what git destroys"; then
  repo() { git -C "$ws" -c user.name=t -c user.email=t@example.org "$@" >/dev/null 2>&1; }
  repo init
  echo committed >"$ws/tracked.txt"
  repo add tracked.txt
  repo commit -m start
  echo mine >"$ws/tracked.txt"
  ok "throwing away changes" passes "git checkout -- tracked.txt"
  id=$(field checkpoint_id)
  repo checkout -- tracked.txt
  ok "really throws them away" grep -q committed "$ws/tracked.txt"
  helm checkpoint restore "$id" --path "$ws" >/dev/null
  ok "and they come back" grep -q mine "$ws/tracked.txt"
  ok "reset" passes "git reset --hard"
  ok "restore" passes "git restore ."
  ok "cleaning asks while it would take Helm's state along" asks "git clean -fd" ".gitignore"
  echo .helm/ >"$ws/.gitignore"
  ok "and passes when it does not" passes "git clean -fd"
  ok "ignored files too ask" asks "git clean -fdx"
  ok "another work tree asks" asks "git --work-tree=/ reset --hard"
  ok "also by its variable" asks "GIT_WORK_TREE=/ git reset --hard"
  ok "also by its exported variable" asks "export GIT_DIR=/x/.git; git reset --hard"
  ok "a configured work tree asks" sh -c 'printf "[core]\n\tworktree = /\n" >>"$1/.git/config"; exit 0' - "$ws"
  ok "as it says" asks "git reset --hard" "does not lie whole"
  mkdir -p "$ws/inner/.git"
  ok "another repository, perhaps, asks" asks "cd $ws/inner; git reset --hard"
  ok "branches are not files" asks "git branch -D x"
fi

# what a call changed
post() { # post COMMAND
  call "$1" | sed 's/}$/,"tool_response":{"exit_code":0}}/' | agent hook post-tool --client claude-code --path "$ws"
}
note() { tail -n 1 "$calls"; }
notes() { note | grep -qF -e "$1" || { note; return 1; }; }
passes "echo x > new.txt"
echo x >"$ws/new.txt"
post "echo x > new.txt"
ok "a written file is noted" notes '"changed_files": ["new.txt"]'
ok "its receipt has the number" sh -c 'tail -n 1 "$0" | grep -q "\"changed_files\": *1"' "$ws/.helm/receipts.jsonl"
passes "mv new.txt old.txt"
mv "$ws/new.txt" "$ws/old.txt"
post "mv new.txt old.txt"
ok "a moved one is gone" notes '"deleted_files": ["new.txt"]'
ok "and is there under its new name" notes '"changed_files": ["old.txt"]'
passes "rm -rf build"
rm -rf "$ws/build/sub"
post "rm -rf build"
ok "what a checkpoint knows is gone is listed file by file" notes '"deleted_files": ["build/sub/b.o"]'
fill
passes "make"
echo made >"$ws/build/made.o"
post "make"
ok "what an unknown program wrote is found by its time" notes build/made.o
ok "which is said to be no full answer" notes '"changes_partial": true'
printf '{"tool_name":"Write","tool_input":{"file_path":"%s/w.txt","content":"x"},"session_id":"s","cwd":"%s","tool_use_id":"w"}' "$ws" "$ws" >w.json
agent hook pre-tool --client claude-code --path "$ws" <w.json
echo x >"$ws/w.txt"
agent hook post-tool --client claude-code --path "$ws" <w.json
ok "an edit is noted" notes '"changed_files": ["w.txt"]'
ok "reading is not" sh -c 'test -z "$0"' "$(passes "ls"; post "ls"; note | grep -F changed_files)"
ok "the session shows files" says 0 'changed: w.txt' helm report --session s --format markdown --path "$ws"
ok "and what undoes a loss" says 0 'helm checkpoint restore' helm report --session s --format html --path "$ws"
ok "the list of sessions counts them" says 0 FILES helm log sessions --path "$ws"

# guarded runs
fill
rm -rf "$ws/.git"
run() { (cd "$ws" && helm run --path "$ws" -- "$@"); }
ok "a guarded run too" says 0 "can be undone with: helm checkpoint restore" run rm -rf build
ok "did it" test ! -e "$ws/build"
id=$(tail -n 1 "$ws/.helm/task-ledger.jsonl" | sed -n 's/.*"checkpoint_id": *"\([^"]*\)".*/\1/p')
ok "its row names the checkpoint" test -n "$id"
ok "which brings it back" exits 0 helm checkpoint restore "$id" --path "$ws"
ok "whole" whole
ln -s "$scratch/far" "$ws/build/out"
ok "a run that cannot be undone is stopped with the reason" says 24 "it is a link" run rm -rf build
rm "$ws/build/out"
ok "the choice can be taken back" exits 0 helm profile use workspace_edit --destructive ask --path "$ws"
ok "and then it asks again" says 24 "APPROVAL REQUIRED" run rm -rf build
ok "a wrong choice is refused" exits 2 helm profile use workspace_edit --destructive maybe --path "$ws"
finish
