#!/bin/sh
# Installed under another name (Kubernetes has a helm, too): hints, help, man pages, completions, hooks and the guard follow it.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

ok "it is installed under the name that was asked for" env HELM_NAME=warden DESTDIR="$scratch/root" cmake --install "$HELM_BUILD" --prefix /usr
ok "a name that is none is refused" sh -c '! HELM_NAME="a b" DESTDIR="$2/none" cmake --install "$1" --prefix /usr' - "$HELM_BUILD" "$scratch"
usr=$scratch/root/usr
ok "nothing is called helm where programs are" test ! -e "$usr/bin/helm"
ok "man pages have that name" test -s "$usr/share/man/man1/warden.1" -a -s "$usr/share/man/man1/warden-policy.1"
ok "and speak of it" sh -c 'grep -q "^.B warden policy use" "$1" && ! grep -qE "^\.B helm |.helm (run|policy|status)" "$1"' - "$usr/share/man/man1/warden-policy.1"
ok "completions ask it" sh -c 'grep -q "(warden completion words" "$1/bash-completion/completions/warden" && grep -q "^#compdef warden" "$1/zsh/site-functions/_warden" && grep -q "complete -c warden" "$1/fish/vendor_completions.d/warden.fish"' - "$usr/share"
if needs bash "bash completes its words"; then
  ok "bash completes its words" sh -c 'PATH="$1/bin:$PATH" bash -c ". \"$1/share/bash-completion/completions/warden\"; COMP_WORDS=(warden polic); COMP_CWORD=1; _warden; printf \"%s\n\" \"\${COMPREPLY[@]}\"" - "$1" | grep -qx policy' - "$usr"
fi

HELM_REAL=$usr/bin/warden
fresh_workspace
says_no_helm() { ! grep -E "(^|[^-/._[:alnum:]])helm ($families|--help|<)" "$1"; }
families=$(helm help --families | tr '\n' '|')run
# Everything that a person is told names a program that is there.
for words in --help "help --all" "help policy" "policy use --help" chekpoint "policy" status "status --brief" dashboard doctor "doctor --json" "status --json" \
  "setup status" "setup claude-code --yes" "log check" report "approval list" "mcp list" "skill list" "policy show" "memory review-queue" \
  "agent list" "task list" "checkpoint list" "verify nothing" "run -- git push" "guard check -- warden approval approve x" "guard explain -- rm -rf /" \
  "workspace trust" "help --man setup" "help --man"; do
  # shellcheck disable=SC2086 # words on purpose
  helm $words >"$scratch/said" 2>&1
  ok "'$words' advises no other program" says_no_helm "$scratch/said"
done
helm verify nothing 2>"$scratch/error"
ok "errors begin with its name" grep -q '^warden: ' "$scratch/error"

# The guard knows itself by both names, and Kubernetes' program by its own.
ok "an agent does not answer for a person" exits 25 helm guard check -- warden approval approve x
ok "nor by its path" exits 25 helm guard check -- /usr/local/bin/warden unfreeze
ok "nor by the name it usually has" exits 25 helm guard check -- helm approval approve x
ok "nor in another home" sh -c 'HOME="$2" "$1" guard check --json -- env HOME=/tmp/x warden run -- true | grep -q tamper' - "$HELM_REAL" "$scratch/home"
ok "looking is looking" exits 0 helm guard check -- warden status --brief
ok "charts are judged as charts" sh -c 'HOME="$2" "$1" guard check --json -- helm uninstall web | grep -q cloud' - "$HELM_REAL" "$scratch/home"

# Hooks.
helm setup claude-code --scope user --yes >"$scratch/said" 2>&1
ok "setup puts in a hook by its own path" grep -q "warden.* hook pre-tool" "$scratch/home/.claude/settings.json"
helm setup status >"$scratch/said" 2>&1
ok "and knows it again" grep -qE "claude-code +user +(armed|guarded|installed)" "$scratch/said"
payload='{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git push"},"cwd":"'$PWD'"}'
echo "$payload" | helm hook pre-tool --client claude-code >"$scratch/said"
ok "its answer advises no other program" says_no_helm "$scratch/said"

# What was recorded stays as it was: "helm status" may have been Kubernetes' own.
helm run -- echo helm status >/dev/null 2>&1
ok "a recorded command keeps its words" sh -c '"$@" | grep -q "echo helm status"' - env HOME="$scratch/home" "$HELM_REAL" task list --json
ok "a name that is no plain word is not taken" sh -c 'cp "$1" "$2/Per Son" && "$2/Per Son" --version | grep -q "^helm "' - "$HELM_REAL" "$scratch"
finish
