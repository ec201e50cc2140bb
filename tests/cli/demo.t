#!/bin/sh
# ./demo runs to its end, and each line it shows, read by a shell, is the command it ran: it can be pasted.
# shellcheck disable=SC2016,SC2317 # texts for sh -c; called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
. "$HELM_SOURCE/tools/quote.sh"

# words ARGS...: the arguments, each ended by a line that no argument of these tests has
cat >words.sh <<'W'
words() { for word in "$@"; do printf '%s\n<end>\n' "$word"; done; }
W
. ./words.sh
round_trip() {
  words "$@" >sent
  # Read by a new shell, as a pasted line would be.
  { cat words.sh; printf 'words '; quoted "$@"; echo; } >line.sh
  sh line.sh >back && cmp sent back
}
ok "plain words are left as they are" test "$(quoted helm run --profile=x -- git status)" = 'helm run --profile=x -- git status'
ok "an empty word survives" round_trip a '' b
ok "variables and tildes survive" round_trip 'X=rm; $X -fr ~' '~' '$HOME' '`id`' '$(id)'
ok "quotes survive" round_trip "it's" "'" "''" '"' "a'\"b" "\\'" '\'
ok "operators survive" round_trip 'a&b' 'a|b' 'a;b' '<x' '>x' '(x)' '{a,b}' '!' '!!' '#x' '*' '?' '[a]' '^a' '%1'
ok "spaces, tabs and newlines survive" round_trip ' a  b ' "$(printf 'a\tb')" 'two
lines' 'ends so
'
ok "letters beyond ASCII survive" round_trip 'ä' '日本' "$(printf '\033[1m')"

# The demo with a helm that notes its arguments before it is the real one.
# It does not lie below the temporary directory, which the demo's agent does not see.
noting=$(mktemp -d "$HELM_BUILD/noting.XXXXXX")
# shellcheck disable=SC2154 # by lib.sh
trap 'chmod -R u+rwX "$scratch" 2>/dev/null; rm -rf "$scratch" "$noting"' EXIT
cat >"$noting/helm" <<W
#!/bin/sh
[ ! -e '$scratch/words.sh' ] || . '$scratch/words.sh'
# Behind walls this directory is another one, and what an agent calls there is not shown.
[ ! -e '$scratch/words.sh' ] || words "\$@" >>'$scratch/ran'
exec '$HELM_REAL' "\$@"
W
chmod +x "$noting/helm"
ok "the demo runs to its end" exits 0 env NO_COLOR=1 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_SOURCE/demo" "$noting/helm"
cp .stdout shown 2>/dev/null
# What it showed, run by a shell whose helm only notes.
{ cat words.sh; echo 'helm() { words "$@"; }'; sed -n 's/^\$ \(helm .*\)/\1/p' shown; } >pasted.sh
: >call.json
sh pasted.sh >back 2>&1
ok "it shows commands" sh -c 'test "$(grep -c "^[$] helm " shown)" -ge 15'
ok "each line shown is what was run" cmp back ran
ok "an agent worked, or it is said why none could" sh -c 'grep -q "the server says 42" shown && grep -q "I got nothing" shown || grep -q "^sandbox=none: " shown'
ok "it ends with the page" sh -c 'sed -n "/^[$] helm report/,\$p" shown | grep -q "The record: checked up to receipt"'
# A machine where no sandbox stands: it says what works there, runs nothing, and ends well.
machine=$HELM_BUILD/tests/lesser_machine_test
without() { # without WHAT
  env NO_COLOR=1 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$machine" --without "$1" "$HELM_SOURCE/demo" "$HELM_REAL" >lesser 2>&1 || { cat lesser; return 1; }
  grep -q "^sandbox=none: this machine cannot guarantee write" lesser && grep -q "What works here without it" lesser &&
    grep -q "not run: this machine cannot guarantee: write" lesser && ! grep -q "agent: git log" lesser && return 0
  cat lesser
  return 1
}
if [ -x "$machine" ] && "$machine" --without landlock true; then
  ok "without Landlock it says what works and what does not" without landlock
fi
ok "the sandbox that stands is said at the start" sh -c 'sed -n "1,/^2\. /p" shown | grep -q "^sandbox=."'
# A copy below the temporary directory, and a home there, too: what an agent needs is put where it is seen, under its own name.
mkdir -p copy && cp -r "$HELM_SOURCE/demo" "$HELM_SOURCE/tools" copy/
printf '#!/bin/sh\necho "called ${0##*/}"; readlink -f "$0"; exit 9\n' >copy/named
chmod +x copy/named
below_tmp() {
  case $scratch/ in /tmp/* | /var/tmp/*) ;; *) return 0 ;; esac
  env HOME="$scratch" NO_COLOR=1 copy/demo copy/named >below 2>&1
  grep -q "clone it somewhere else" below || { grep -q "^called helm$" below && grep -q "/helm$" below && ! grep -q "^/tmp/\|^/var/tmp/" below; } || { cat below; return 1; }
}
ok "a copy below the temporary directory is shown from where an agent sees it" below_tmp
ok "a destructive text is shown quoted" grep -qxF "\$ helm guard check --shell 'X=rm; \$X -fr ~'" shown
finish
