#!/bin/sh
# The command line itself: help, usage errors, suggestions, JSON, pipes.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

ok "helm alone is a usage error" says 2 "helm --help" helm
ok "--help lists commands" says 0 "create or complete a workspace" helm --help
ok "--version" says 0 "helm $(cat "$HELM_SOURCE/VERSION")" helm --version
ok "an unknown command is answered with the nearest" says 2 "did you mean 'init'" helm initt
ok "an unknown option is answered with the nearest" says 2 "did you mean '--force'" helm init --forse
ok "a usage line comes with it" says 2 "usage: helm init" helm init --forse
ok "a flag takes no value" says 2 "takes no value" helm init --force=yes
ok "a missing value is said" says 2 "needs a value" helm init --path
ok "superfluous arguments are refused" says 2 "unexpected argument" helm init one
ok "help of every command works" sh -c '"$0" help --json >all.json' "$HELM_REAL"
ok "help --json is JSON" is_json helm help --json
ok "version --json is JSON" is_json helm version --json
ok "an error under --json is JSON too" is_json helm doctor --json --nonsense
every_help() {
  names=$(helm help --json | python3 -c 'import json,sys
for c in json.load(sys.stdin)["commands"]: print(c["name"])')
  echo "$names" | while read -r name; do
    # shellcheck disable=SC2086 # two words on purpose
    helm $name --help | grep -q '^usage: helm' || { echo "no help for $name"; exit 1; }
  done
}
if command -v python3 >/dev/null; then ok "each command explains itself" every_help; fi
ok "no colour in a pipe" sh -c '! env -i HOME="$1" TERM=xterm "$0" --help | grep -q "$(printf "\033")"' "$HELM_REAL" "$scratch/home"
ok "a closed pipe ends quietly" sh -c '"$0" help --json 2>err | head -c 1 >/dev/null; ! test -s err' "$HELM_REAL"
ok "a full disk is an error, not silence" sh -c '"$0" help --json >/dev/full 2>err; test $? -eq 1 && grep -q "cannot write" err' "$HELM_REAL"
ok "bash completion offers commands" says 0 "doctor" helm completion words -- d
ok "and options" says 0 "--skip-discovery" helm completion words -- doctor --s
if command -v bash >/dev/null; then
  ok "the bash script completes" bash -c 'PATH="$1:$PATH"; . <("$1/helm" completion bash); COMP_WORDS=(helm doc); COMP_CWORD=1; _helm; [ "${COMPREPLY[0]}" = doctor ]' - "$HELM_BUILD"
fi
if command -v zsh >/dev/null; then ok "the zsh script parses" sh -c '"$0" completion zsh >z && zsh -n z' "$HELM_REAL"; fi
if command -v fish >/dev/null; then ok "the fish script parses" sh -c '"$0" completion fish >f && fish --no-execute f' "$HELM_REAL"; fi
if command -v mandoc >/dev/null; then ok "the man page has no errors" sh -c '"$0" help --man >helm.1 && mandoc -T lint -W error helm.1' "$HELM_REAL"; fi
finish
