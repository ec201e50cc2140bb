#!/bin/sh
# Files of operators, damaged: whoever needs one is refused with one sentence that names the file and what helps, doctor is red with the same
# remedy, nothing is newly allowed, and the named remedy makes it sound again.
# shellcheck disable=SC2016,SC2317 # texts for sh -c; functions are called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
home=$scratch/home/.helm
boss=$scratch/boss

# set_up: one of each; made once, then copied.
set_up() {
  cd "$scratch" || exit 1
  if [ -d "$scratch/.all" ]; then
    rm -rf "${scratch:?}/home" "$scratch/project"
    cp -a "$scratch/.all" "$scratch/home"
    cp -a "$scratch/.project" "$scratch/project"
  else
    fresh_workspace
    helm init --path "$scratch/project" >/dev/null
    env -i HOME="$boss" sh -c 'mkdir -p "$HOME"; "$0" key create' "$HELM_REAL" >/dev/null
    env -i HOME="$boss.old" sh -c 'mkdir -p "$HOME"; "$0" key create' "$HELM_REAL" >/dev/null
    terminal TRUST -- helm approval trust add "$boss.old/.helm/keys/root.pub" --label old >/dev/null
    terminal -- helm key trust add "$boss.old/.helm/keys/root.pub" >/dev/null
    terminal -- helm serve key add --principal agent:one --scope read >/dev/null
    terminal -- helm mcp add one -- true >/dev/null
    place=$(dirname "$(find "$home/trees" -name serve-keys.json)")
    mkdir "$scratch/.older"
    cp "$home/trust/approvers.json" "$home/trust/keys.json" "$place/serve-keys.json" "$place/mcp.json" "$scratch/.older"
    terminal REMOVE -- helm approval trust remove "$boss.old/.helm/keys/root.pub" >/dev/null
    terminal TRUST -- helm approval trust add "$boss/.helm/keys/root.pub" --label boss >/dev/null
    terminal -- helm key trust remove "$boss.old/.helm/keys/root.pub" >/dev/null
    terminal -- helm key trust add "$boss/.helm/keys/root.pub" >/dev/null
    terminal -- helm serve key revoke "$(sed -n 's/^    "\([0-9a-f]*\)": {.*/\1/p' "$place/serve-keys.json")" >/dev/null
    terminal -- helm serve key add --principal agent:two --scope read >/dev/null
    terminal -- helm mcp add two -- true >/dev/null
    cp -a "$scratch/home" "$scratch/.all"
    cp -a "$scratch/project" "$scratch/.project"
  fi
  cd "$scratch/project" || exit 1
}
red() { # red NAME: doctor says it, and what helps
  helm doctor --skip-discovery >"$scratch/doctor" 2>&1 && { echo "doctor is green"; return 1; }
  grep -q "operator-file:$1" "$scratch/doctor" && tr '\n' ' ' <"$scratch/doctor" | tr -s ' ' | grep -q "helm operator-file [a-z]* $1" && return 0
  cat "$scratch/doctor"
  return 1
}
green() { # for these files
  helm doctor --skip-discovery --json >"$scratch/doctor" 2>&1
  ! grep -q '"operator-file:' "$scratch/doctor" && exits 0 helm operator-file list
}
set_up
ok "all is well at first" green
ok "the files are listed" says 0 "approvers" helm operator-file list
ok "as one document" is_json helm operator-file list --json

needs() { # needs NAME: a command that needs the file
  case $1 in
    approvers) helm key rotate --key "$boss/.helm/keys/root.key" ;;
    trusted-keys) helm key trust list ;;
    serve-keys) helm serve key list ;;
    mcp-servers) helm mcp list ;;
  esac
}
for name in approvers trusted-keys serve-keys mcp-servers; do
  case $name in
    approvers) file=$home/trust/approvers.json ;;
    trusted-keys) file=$home/trust/keys.json ;;
    serve-keys) file=$place/serve-keys.json ;;
    mcp-servers) file=$place/mcp.json ;;
  esac
  for damage in digit cut empty list remove old directory seal; do
    set_up
    case $damage in
      digit) # one digit of a key, or one letter of a name: still a well-formed document
        python3 - "$file" <<'PY'
import re, sys
text = open(sys.argv[1]).read()
hits = [m for m in re.finditer(r'"(?:[0-9a-f]{64}|true|agent:two)"', text)]
at = hits[-1].start() + 3
open(sys.argv[1], 'w').write(text[:at] + ('1' if text[at] != '1' else '2') + text[at + 1:])
PY
        ;;
      cut) truncate -s $(($(wc -c <"$file") / 2)) "$file" ;;
      empty) : >"$file" ;;
      list) echo '[]' >"$file" ;;
      remove) rm "$file" ;;
      old) cp "$scratch/.older/$(basename "$file")" "$file" ;;
      directory) rm "$file" && mkdir "$file" ;;
      seal) truncate -s 10 "$file.seal" ;;
    esac
    ok "$name, $damage: whoever needs it is refused, and told what helps" says 1 "helm operator-file" needs "$name"
    ok "$name, $damage: doctor is red with the same remedy" red "$name"
    ok "$name, $damage: an agent accepts nothing" exits 25 agent operator-file accept "$name"
    ok "$name, $damage: and resets nothing" exits 25 agent operator-file reset "$name"
    case $damage in
      digit)
        case $name in
          approvers | trusted-keys) # no key of its name: nothing an operator could accept
            ok "$name, $damage: a key that is not the one of its name cannot be accepted" exits 1 terminal ACCEPT -- helm operator-file accept "$name"
            ok "$name, $damage: it stays refused" red "$name"
            ok "$name, $damage: reset" exits 0 terminal RESET -- helm operator-file reset "$name"
            ;;
          *) ok "$name, $damage: an operator who has looked accepts it" exits 0 terminal ACCEPT -- helm operator-file accept "$name" ;;
        esac
        ;;
      seal | old) ok "$name, $damage: an operator who has looked accepts it" exits 0 terminal ACCEPT -- helm operator-file accept "$name" ;;
      *) ok "$name, $damage: an operator starts it anew" exits 0 terminal RESET -- helm operator-file reset "$name" ;;
    esac
    ok "$name, $damage: sound" green
    rm -rf "$file" "$file.seal"
    cp -a "$scratch/.all/${file#"$scratch/home/"}" "$scratch/.all/${file#"$scratch/home/"}.seal" "$(dirname "$file")"
    ok "$name, $damage: a copy of both is enough" green
  done
done

# An older copy of the approvers does not let a removed one in again.
set_up
cp "$scratch/.older/approvers.json" "$home/trust/approvers.json"
ok "a removed approver is not let in by an older copy" says 1 "older copy" helm key rotate --key "$boss.old/.helm/keys/root.key"
# Written by an older version: no seal, and nothing is wrong.
set_up
rm "$home/trust/approvers.json.seal"
ok "a file without a seal counts" exits 0 helm key rotate --key "$boss/.helm/keys/root.key"
ok "and is listed so" says 0 "unsealed" helm operator-file list
sed -i 's/"public_key_hex": "\(.\)./"public_key_hex": "\1z/' "$home/trust/approvers.json"
ok "a changed digit is found without a seal, too" red approvers

# Settings: an older copy opens nothing that was closed since.
set_up
settings=$place/posture.json
if terminal -- helm profile use inspect_local >/dev/null 2>&1 && [ -e "$settings" ]; then
  cp "$settings" "$scratch/posture.old"
  exits 0 terminal -- helm freeze
  rm -f "$scratch/project/.helm/freeze.json"
  cp "$scratch/posture.old" "$settings"
  ok "an older copy of the settings opens nothing: the newest act holds" says 25 "frozen" helm run -- true
  ok "doctor is red" exits 1 helm doctor --skip-discovery
  ok "the file is the newest act again" sh -c '! cmp -s "$0" "$1"' "$settings" "$scratch/posture.old"
  ok "and the freeze is lifted as ever" exits 0 terminal UNFREEZE -- helm unfreeze
  ok "runs go on" exits 0 helm run -- true
  truncate -s 5 "$settings.seal"
  ok "a seal alone that is damaged stops nothing: the act is signed" exits 0 helm run -- true
else
  ok "settings were made" false
fi
finish
