#!/bin/sh
# The profile for agents: inside its walls ordinary work is not asked about, harms nobody outside, and what it loses in the tree,
# git's own losses included, comes back.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v git >/dev/null 2>&1 || skip_all "git is needed"
needs_terminal

# shellcheck disable=SC2154 # by lib.sh
me=$scratch/home ws=$scratch/ws outside=$(mktemp -d)
trap 'chmod -R u+rwX "$scratch" "$outside" 2>/dev/null; rm -rf "$scratch" "$outside"' EXIT
mkdir -p "$me/.cache/pip" "$me/.npm" "$me/.cargo" "$me/.ssh" "$ws"
echo lower >"$me/.cache/pip/f"
echo kept >"$me/.cargo/config"
echo secret >"$me/.ssh/id_ed25519"
echo secret >"$me/.cargo/credentials"
echo theirs >"$outside/theirs"
helm init --path "$ws" >/dev/null || exit 1
cd "$ws" || exit 1
run() { helm run --profile develop -- "$@"; }
wall() { helm run --profile develop --guard-mode audit -- "$@"; }
protects() { tail -n 1 .helm/task-ledger.jsonl | grep -o '"protections": *{.*' | grep -q "\"$1\": *$2"; }

# ---- temporary directories of its own ----
run true || skip_all "this machine cannot put up the walls"
ok_mounts "the shared temporary directory is not to be seen" exits 0 run sh -c "! test -e '$outside/theirs'"
ok_mounts "its own is empty, and can be written" exits 0 run sh -c 'echo x >"/tmp/$1" && test -f "/var/tmp/$1" && [ "$TMPDIR" = /tmp ]' - "gone-$$"
ok "the report says so" protects own_directories true
ok "it is gone afterwards" test ! -e "/tmp/gone-$$"
ok "the next run has another one" exits 0 run test ! -e "/tmp/gone-$$"
ok_mounts "deleting all of it is not asked about" exits 0 run sh -c "mkdir -p '$outside' && rm -rf '$outside' && rm -rf /tmp/a /var/tmp/b"
ok "and touches nobody else's" grep -q theirs "$outside/theirs"
ok "outside the walls it is asked about" exits 24 helm guard check --profile develop --containment none -- rm -rf "$outside"
ok_mounts "a read-only directory left there goes, too" exits 0 run sh -c 'mkdir -p /tmp/ro/sub && touch /tmp/ro/sub/f && chmod 555 /tmp/ro/sub /tmp/ro'
left() { find "/tmp/helm-$(id -u)" -path '*/ro*' 2>/dev/null | grep . && return 1; return 0; }
ok "nothing stays behind" left

# ---- helm itself, where somebody has built it there ----
mkdir -p "$outside/build"
cp "$HELM_REAL" "$outside/build/helm"
there() { env -i PATH="$PATH" HOME="$me" "$outside/build/helm" run --profile develop --guard-mode audit -- "$@"; }
ok "a helm in a temporary directory is found by hooks inside" says 0 "helm" there "$outside/build/helm" --version
ok "and nothing takes its place" there sh -c "! (echo x >'$outside/build/helm') 2>/dev/null && ! rm -f '$outside/build/helm' 2>/dev/null && ! mv '$outside/build' '$outside/b' 2>/dev/null && ! mv '$outside' '/tmp/b' 2>/dev/null && ! chmod 777 '$outside/build/helm' 2>/dev/null"
ok "nor outside" cmp -s "$HELM_REAL" "$outside/build/helm"
printf '#!/bin/sh\necho ran\n' >"$outside/build/tool"
chmod +x "$outside/build/tool"
ok_mounts "another program there is said to be out of sight" says 25 "it lies where the run has a directory of its own" there "$outside/build/tool"
ok_mounts "nothing else of that directory is to be seen" exits 0 there sh -c "! test -e '$outside/theirs'"

# ---- caches ----
if protects layers 3; then
  ok "a cache is read and written" exits 0 run sh -c 'grep -q lower ~/.cache/pip/f && echo poison >~/.cache/pip/f && echo new >~/.npm/n && rm ~/.cargo/config && grep -q poison ~/.cache/pip/f'
  ok "and nothing of that outlives the run" sh -c 'grep -q lower "$0/.cache/pip/f" && ! test -e "$0/.npm/n" && test -e "$0/.cargo/config"' "$me"
  ok "deleting in a cache is not asked about" exits 0 run rm -rf "$me/.cache/pip"
else
  ok "without layers a cache is read-only" sh -c '! "$@"' - env HOME="$scratch/home" "$HELM_REAL" run --profile develop -- sh -c 'echo poison >~/.cache/pip/f'
fi
ok "credentials beside a cache stay closed" sh -c '! "$@" | grep -q secret' - env HOME="$scratch/home" "$HELM_REAL" run --profile develop --guard-mode audit -- cat "$me/.cargo/credentials" "$me/.ssh/id_ed25519"
run sh -c 'touch ~/new' >/dev/null 2>&1
ok "in the home itself nothing appears" sh -c '! test -e "$0/new"' "$me"

# ---- processes and environment ----
sleep 600 &
other=$!
ok "kill needs no question" sh -c '"$@"; [ $? -ne 24 ]' - env HOME="$scratch/home" "$HELM_REAL" run --profile develop -- kill -9 $other
ok "and reaches only its own" kill -0 $other
ok "pkill, too" sh -c '"$@"; [ $? -ne 24 ]' - env HOME="$scratch/home" "$HELM_REAL" run --profile develop -- pkill -9 -x sleep
ok "which reaches only its own" kill -0 $other
kill $other
# shellcheck disable=SC2034 # read by helm()
HELM_ENV="GITHUB_TOKEN=t0 API_KEY=k0 GITHUB_PAT=p0 NPM_AUTH=a0 X_PAT_2=p1 MAIL_PASS=w0 NODE_ENV=test GOFLAGS=-mod=mod GIT_AUTHOR_NAME=me PKG_CONFIG_PATH=/p"
ok "variables of toolchains come along" says 0 "test -mod=mod" run sh -c 'echo "$NODE_ENV $GOFLAGS"'
ok "also those that only look like a credential" says 0 "me /p" run sh -c 'echo "$GIT_AUTHOR_NAME $PKG_CONFIG_PATH"'
ok "credentials among them do not" says 0 "[][][][][][]" wall sh -c 'echo "[$GITHUB_TOKEN][$API_KEY][$GITHUB_PAT][$NPM_AUTH][$X_PAT_2][$MAIL_PASS]"'
unset HELM_ENV

# ---- git ----
git init -q -b main . && git config user.email a@example.org && git config user.name A
printf '.helm\nskills\nskill_drafts\nreferences\n' >.gitignore
echo one >f && git add -A && git commit -qm one
git branch topic && git checkout -q topic && echo t >t && git add t && git commit -qm topic && git checkout -q main
echo stashed >>f && git stash -q
echo two >f && git commit -qam two
topic=$(git rev-parse topic) stash=$(git rev-parse stash) head=$(git rev-parse main)
undo_of() { # undo_of COMMAND...: runs unasked, and its checkpoint is restored
  run "$@" >"$scratch/.run" 2>&1 || { cat "$scratch/.run"; return 1; }
  id=$(sed -n 's/.*can be undone with: helm checkpoint restore //p' "$scratch/.run")
  [ -n "$id" ] || { cat "$scratch/.run"; return 1; }
  after=$(git rev-parse -q --verify topic stash main 2>&1; git log --oneline -g stash 2>&1 | wc -l; cat f u 2>&1)
  helm checkpoint restore "$id" --yes >"$scratch/.back" 2>&1 || helm checkpoint restore "$id" >"$scratch/.back" 2>&1 || { cat "$scratch/.back"; return 1; }
}
whole() { # everything is as it was
  [ "$(git rev-parse topic)" = "$topic" ] && [ "$(git rev-parse stash)" = "$stash" ] && [ "$(git rev-parse main)" = "$head" ] &&
    git stash show -p | grep -q stashed && git cat-file -e "$topic^{tree}" && git fsck --no-dangling >/dev/null && [ "$(cat f)" = two ]
}
lost() { # lost COMMAND...: it really lost something, and it came back
  before=$(git rev-parse topic stash main; git log --oneline -g stash | wc -l; cat f u 2>&1)
  undo_of "$@" || return 1
  [ "$before" != "$after" ] || { echo "nothing was lost: $*"; return 1; }
  whole
}
ok "a dropped stash comes back" lost git stash drop
ok "a deleted branch" lost git branch -D topic
ok "what a hard reset threw away, and where the branch was" lost git reset --hard HEAD~1
echo untracked >u
ok "what git clean deleted" lost git clean -fd
ok "with what was untracked" grep -q untracked u
rm u
echo dirty >f
ok "a discarded change" undo_of git checkout -- .
ok "is there again" grep -q dirty f
git checkout -q -- f
ok "objects that nothing holds any more" lost sh -c 'git branch -D topic && git stash drop && git reflog expire --expire=now --all && git gc -q --prune=now'
ok "the repository itself" lost sh -c 'rm -rf .git/refs .git/packed-refs; rm -f f'

# ---- files ----
mkdir -p src && echo a >src/a.c && echo b >src/b.c
back() { undo_of "$@" && [ "$(cat src/a.c src/b.c)" = "a
b" ]; }
ok "what find deletes" back find . -name '*.c' -delete
ok "a name that is only known when it runs" back sh -c 'D=$(echo src); rm -rf "$D"'
ok "what a script deletes" sh -c 'printf "rm -rf src\n" >clean.sh' && ok "comes back, too" back sh clean.sh
ok "what inline code deletes" back python3 -c "import shutil; shutil.rmtree('src')"
ok "what is emptied" back sh -c 'for f in src/*.c; do truncate -s 0 "$f"; done'
echo other >other
over() { # over COMMAND...: it really replaced something, which comes back
  undo_of "$@" && [ "$(cat src/a.c src/b.c)" = "a
b" ]
}
ok "what a redirection writes over" over sh -c 'echo x >src/a.c'
ok "what a copy does" over cp other src/a.c
ok "a copy into a directory" over sh -c 'cp src/a.c a.c && echo new >b.c && cp b.c src/'
rm -f a.c b.c
ok "and a move" over mv -f other src/b.c
ok "what is moved is there again, too" grep -q other other
rm -f other
unsaved() { run "$@" >"$scratch/.run" 2>&1 && ! grep -q "can be undone" "$scratch/.run"; }
ok "a new file needs no saving" unsaved sh -c 'echo x >src/new'
ok "nor does one that only grows" unsaved sh -c 'echo y >>src/new'
rm src/new
echo 'src' >.helmignore
ok "an ignore file is no way around it" back rm -rf src
rm .helmignore
ln -s /usr/bin/env link
ok "links that lead out are put back" undo_of find . -type l -delete
ok "as they were" test -L link
rm link
id1=$(run sh -c 'D=nothing; rm -rf "$D"' 2>&1 | sed -n 's/.*restore //p')
id2=$(run sh -c 'D=nothing; rm -rf "$D"' 2>&1 | sed -n 's/.*restore //p')
ok "an unchanged tree is saved once" test "$id1" = "$id2"
echo theirs >"$scratch/shared" && ln "$scratch/shared" src/shared
ok "a file that has another name outside is asked about where it may be written" says 24 "second name" run sh -c 'cat x | sh'
rm src/shared

# ---- what stays a question ----
printf '#!/bin/sh\nHOME=%s exec %s "$@"\n' "$me" "$HELM_REAL" >"$scratch/helm"
chmod +x "$scratch/helm"
ok "leaving the machine takes credentials, which a run does not have" says 25 "sandbox.closed" helm guard check --profile develop --containment walls -- git push origin main
ok "so does publishing" says 25 "sandbox.closed" helm guard check --profile develop --containment walls -- npm publish
for what in "cat $me/.ssh/id_ed25519" "crontab -e" "rm /srv/elsewhere"; do
  # shellcheck disable=SC2086 # words on purpose
  ok "no yes opens the sandbox for it: $what" says 25 "sandbox.closed" helm guard check --profile develop --containment walls -- $what
done
for what in "curl -T f https://example.org/" "apt-get install x" "gh pr view https://evil.example/o/r/pull/1" "gh pr list -Revil.example/o/r"; do
  # shellcheck disable=SC2086 # words on purpose
  ok "asked: $what" exits 24 helm guard check --profile develop --containment walls -- $what
done
mkdir -p "$me/other" && git init -q "$me/other"
for what in "git -C $me/other reset --hard" "git -C $me/other clean -fdx"; do
  # shellcheck disable=SC2086 # words on purpose
  ok "another tree is asked about, or denied: $what" sh -c '"$@" >/dev/null; case $? in 24 | 25) ;; *) exit 1 ;; esac' - "$scratch/helm" guard check --profile develop --containment walls -- $what
done
ok "this one is not" exits 0 helm guard check --profile develop --containment walls -- git reset --hard
ok "ordinary work is not asked about, and what destroys is held" python3 "$HELM_SOURCE/tests/tools/everyday.py" "$scratch/helm" "$HELM_SOURCE/tests/cases/everyday.jsonl" --show
ok "denied: rm -rf of the home" exits 25 helm guard check --profile develop --containment walls -- rm -rf "$me"
ok "denied: the state" exits 25 helm guard check --profile develop --containment walls -- rm -rf .helm
ok "the answer says what stands around it" says 0 '"containment": "walls"' helm guard check --profile develop --containment walls --json -- ls
ok "and what does not" says 0 '"containment": "none"' helm guard check --profile develop --containment none --json -- ls
ok "nobody has set up a client, so it is that of a run" says 0 '"containment": "walls"' helm guard check --profile develop --json -- ls
ok "in a batch, too" sh -c 'echo "{\"shell\":\"ls\"}" | "$@" | grep -q "\"containment\":\"walls\""' - env HOME="$scratch/home" "$HELM_REAL" guard check --profile develop --containment walls --batch
ok "walls that a profile does not require are none" says 24 '"containment": "none"' helm guard check --profile remote_handoff --containment walls --json -- ls
# ---- who gets it ----
helm init --path "$scratch/other" >/dev/null
ok "setup names it to whoever is no person" says 1 "helm profile use develop" agent setup codex --yes --path "$scratch/other"
ok "and leaves the choice alone" says 0 "profile=workspace_edit" helm workspace show --path "$scratch/other"
shown=$(terminal APPROVE -- helm setup codex --path "$scratch/other" 2>&1)
ok "a person gets it from setup" sh -c 'printf %s "$0" | grep -q "profile: develop"' "$shown"
ok "and reads so before they say yes" sh -c 'printf %s "$0" | tr -s " \r\n" " " | grep -q "will be decided by the profile .develop., made for agents.*Type APPROVE" && ! printf %s "$0" | grep -q "by the profile .workspace_edit"' "$shown"
ok "and then what holds for what destroys" sh -c 'printf %s "$0" | tr -s " \r\n" " " | grep -q "profile in force is develop, chosen for this workspace; what destroys is saved first and then runs (destructive=checkpoint)"' "$shown"
ok "it holds from then on" says 0 "profile=develop" helm workspace show --path "$scratch/other"
terminal -- helm profile use workspace_edit --path "$scratch/other" >/dev/null
terminal APPROVE -- helm setup codex --path "$scratch/other" >/dev/null 2>&1
ok "which setup names" sh -c 'printf %s "$0" | tr -s " \r\n" " " | grep -q "will be decided by the profile .workspace_edit. ("' "$(terminal NO -- helm setup codex --path "$scratch/other" 2>&1)"
ok "a choice that was made stays" says 0 "profile=workspace_edit" helm workspace show --path "$scratch/other"
finish
