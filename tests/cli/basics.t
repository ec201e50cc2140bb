#!/bin/sh
# The command line itself: help, usage errors, suggestions, JSON, pipes.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

ok "helm alone is a usage error" says 2 "helm --help" helm
ok "--help lists commands" says 0 "create or complete a workspace" helm --help
ok "--version" says 0 "helm $(cat "$HELM_SOURCE/VERSION")" helm --version
ok "an unknown command is answered with the nearest" says 2 "did you mean 'init'" helm initt
ok "an unknown option is answered with the nearest" says 2 "did you mean '--force'" helm init --forse
ok "also before --help, in a group" says 2 "did you mean 'guard check'" helm guard chek --help
ok "and behind it" says 1 "did you mean 'status'" helm --help stauts
ok "a client that is missing is asked for by name" says 2 "claude-code, codex, or any program" helm agent
ok "and one that is to be guarded, too" says 2 "known are claude-code" helm setup
ok "no option is said to be repeatable twice" sh -c '! "$0" help --json | grep -i "several times\|(repeatable)"' "$HELM_REAL"
ok "a noun, too" says 2 "did you mean 'checkpoint'" helm chekpoint list
ok "also of a command that has verbs beside it" says 2 "did you mean 'serve routes'" helm serve rotues
ok "and where nothing else is wrong" says 2 "did you mean 'proxy report'" helm proxy repotr
ok "and its verb" says 2 "did you mean 'checkpoint restore'" helm checkpoint restor
ok "a verb without its noun is found" says 2 "did you mean 'checkpoint restore'" helm restore
ok "a verb of another noun is not offered" says 2 "see 'helm help log'" helm log zzzzzz
ok "what is like nothing is not guessed at" says 2 "see 'helm --help'" helm frobnicate
ok "swapped letters are found" says 2 "did you mean 'status'" helm sttaus
ok "a longer option, too" says 2 "did you mean '--skip-discovery'" helm doctor --skip-discovry
ok "an option like nothing is not guessed at" sh -c '! "$0" init --qqqq 2>&1 | grep -q "did you mean"' "$HELM_REAL"
ok "help explains a group" says 0 "checkpoint restore" helm help work
ok "help explains a noun" says 0 "bring files back" helm help checkpoint
ok "help of nothing says where to look" says 1 "helm help --all" helm help nonsense
ok "a usage line comes with it" says 2 "usage: helm init" helm init --forse
ok "a flag takes no value" says 2 "takes no value" helm init --force=yes
ok "a missing value is said" says 2 "needs a value" helm init --path
ok "superfluous arguments are refused" says 2 "unexpected argument" helm init one
ok "help of every command works" sh -c '"$0" help --json >all.json' "$HELM_REAL"
ok "help --json is JSON" is_json helm help --json
ok "version --json is JSON" is_json helm version --json
closed() { HELM_ENV="HOME=/proc" says 1 "HELM_HOME can name another place" helm init; }
ok "a home that cannot be written in: which variable helps is said" closed
ok "and one that names something that exists, where those are listed" says 2 "missing argument: TASK ('helm task list' names them)" helm task show
ok "but nothing that is new" sh -c '! "$0" mcp add 2>&1 | grep -q "names them"' "$HELM_REAL"
ok "a missing argument says where it is explained" says 2 "'helm setup --help' explains it" helm setup
ok "help for a word that is almost a command names it" says 1 "did you mean 'receipts'" helm help receipt
ok "an error under --json is JSON too" is_json helm doctor --json --nonsense
every_help() {
  names=$(helm help --json | python3 -c 'import json,sys
for c in json.load(sys.stdin)["commands"]: print(c["name"])')
  echo "$names" | while read -r name; do
    # shellcheck disable=SC2086 # two words on purpose
    helm $name --help | grep -Eq '^usage:( helm|$)' || { echo "no help for $name"; exit 1; }
  done
}
if needs python3 "each command explains itself"; then ok "each command explains itself" every_help; fi
ok "no colour in a pipe" sh -c '! env -i HOME="$1" TERM=xterm "$0" --help | grep -q "$(printf "\033")"' "$HELM_REAL" "$scratch/home"
ok "a closed pipe ends quietly" sh -c '"$0" help --json 2>err | head -c 1 >/dev/null; ! test -s err' "$HELM_REAL"
ok "a full disk is an error, not silence" sh -c '"$0" help --json >/dev/full 2>err; test $? -eq 1 && grep -q "cannot write" err' "$HELM_REAL"
ok "bash completion offers commands" says 0 "doctor" helm completion words -- d
ok "and options" says 0 "--skip-discovery" helm completion words -- doctor --s
helm init >/dev/null
helm run --task-id task-one -- true
mkdir "$scratch/project" && cd "$scratch/project" || exit 1
echo x >file
helm checkpoint create --label before >/dev/null
helm run -- rm -rf x >/dev/null 2>&1
offers() { # offers WORD -- WORDS...: the candidates for the last of the words have it
  wanted=$1
  shift
  helm completion words "$@" >candidates && grep -qx -e "$wanted" candidates
}
ok "profiles are offered" offers risky_edit -- profile use ''
ok "as values of options" offers inspect_local -- run --profile i
ok "clients are offered" offers claude-code -- setup repair cl
ok "verbs and clients stand together" offers status -- setup ''
ok "tasks are offered" offers task-one -- task show ''
ok "checkpoints are offered" offers '.*-before' -- checkpoint restore 2
ok "by their labels, too" offers before -- checkpoint restore b
ok "requests are offered" offers 'approval-.*' -- approval approve ''
ok "receipts are offered" offers 'rcpt_.*' -- receipts show rcpt
ok "choices are offered" offers remove -- key trust ''
ok "another workspace is asked where it is named" sh -c '! "$0" completion words -- task show --path /nowhere "" | grep .' "$HELM_REAL"
ok "nothing is offered behind --" sh -c '! "$0" completion words -- run -- "" | grep .' "$HELM_REAL"
quiet() { [ -z "$(helm completion words -- "$@" 2>&1)" ]; }
ok "nonsense is answered with nothing" quiet nonsense more words
echo '{' >"$scratch/home/.helm/workspace/.helm/approvals.json"
ok "a broken file is answered with nothing" quiet approval approve ''
mkdir -p "$scratch/home/.helm/workspace/.helm/checkpoints" && printf '[{"checkpoint_id":"a b$(x)"},{"checkpoint_id":"fine"}]' >"$scratch/home/.helm/workspace/.helm/checkpoints/index.json"
ok "a name that a shell would read is not offered" sh -c '! env -i HOME="$1" "$0" completion words -- checkpoint show "" | grep "x)"' "$HELM_REAL" "$scratch/home"
if needs bash "the bash script completes"; then
  ok "the bash script completes names" env -i HOME="$scratch/home" PATH="$HELM_BUILD:$PATH" bash -c '. <(helm completion bash); COMP_WORDS=(helm task show task-o); COMP_CWORD=3; _helm; [ "${COMPREPLY[0]}" = task-one ]'
  ok "and options' values" env -i HOME="$scratch/home" PATH="$HELM_BUILD:$PATH" bash -c '. <(helm completion bash); COMP_WORDS=(helm run --profile ri); COMP_CWORD=3; _helm; [ "${COMPREPLY[0]}" = risky_edit ]'
  ok "the bash script completes" bash -c 'PATH="$1:$PATH"; . <("$1/helm" completion bash); COMP_WORDS=(helm doc); COMP_CWORD=1; _helm; [ "${COMPREPLY[0]}" = doctor ]' - "$HELM_BUILD"
fi
if needs zsh "the zsh script parses"; then ok "the zsh script parses" sh -c '"$0" completion zsh >z && zsh -n z' "$HELM_REAL"; fi
if needs fish "the fish script parses"; then ok "the fish script parses" sh -c '"$0" completion fish >f && fish --no-execute f' "$HELM_REAL"; fi
if needs mandoc "the man page has no errors"; then ok "the man page has no errors" sh -c '"$0" help --man >helm.1 && mandoc -T lint -W error helm.1' "$HELM_REAL"; fi

# A stack too small for deep input: nothing is begun, and a hook blocks.
small_stack() { sh -c 'ulimit -s 256; exec "$@"' - env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" "$@"; }
if [ "$(small_stack --version 2>/dev/null)" = "$(helm --version)" ]; then
  ok "a small stack is said" says 1 "ulimit -s" small_stack status
  ok "and blocks a hook" exits 2 small_stack hook pre-tool --client claude-code
fi
finish
