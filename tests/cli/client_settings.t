#!/bin/sh
# Every file that steers an agent client, as src/clients/ lists them: the guard asks, the walls of a run refuse, doctor and setup
# status know it.  A client that is added there is tested here.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

project=${scratch:?}/project
mkdir -p "$project/.git"
cd "$project" || exit 1
helm init --path "$project" >/dev/null

example() { # a file that a row means
  case $1 in
  */) echo "$1one" ;;
  *'*'*) echo "$1" | sed 's/\*/-more/' ;;
  *) echo "$1" ;;
  esac
}
asks() { # asks FILE: neither the shell nor a tool may write it without more
  ! helm guard check --shell "echo x > $1" >/dev/null || return 1
  helm hook pre-tool --client claude-code --workspace . >answer <<JSON
{"tool_name":"Write","tool_input":{"file_path":"$project/$1"},"cwd":"$project"}
JSON
  grep -qE '"permissionDecision":"(deny|ask)"' answer || { cat answer; return 1; }
}
tries() { # tries COMMAND: in a run that the guard lets through, so that only the wall is left
  rm -f ran
  helm run --guard-mode audit -- sh -c "echo yes >ran; $1" >"$scratch/.run" 2>&1
  [ -s ran ] || { echo "the run did not happen"; cat "$scratch/.run"; return 1; }
}
refuses() { # refuses FILE
  tries "echo changed >'$1'" || return 1
  [ "$(cat "$1")" = before ] || { echo "$1 was changed"; return 1; }
  tries "rm -f '$1'" || return 1
  [ -e "$1" ] || { echo "$1 was removed"; return 1; }
  case $1 in
  */*)
    tries "mv '${1%%/*}' moved && mkdir -p '${1%/*}' && echo changed >'$1'" || return 1
    [ "$(cat "$1")" = before ] || { echo "the directory of $1 was moved away"; return 1; }
    ;;
  esac
}
knows() { # knows NAME FILE: of the user as well, which is where every client looks
  case $2 in */*) mkdir -p "$scratch/home/${2%/*}" ;; esac
  echo before >"$scratch/home/$2"
  helm setup status --json | grep -qF "\"$scratch/home/${1%/}\""
  code=$?
  rm -r "${scratch:?}/home/${2%%/*}"
  return $code
}
doctor_knows() { helm doctor --skip-discovery | grep -q "agent:$1:project"; }

settings=$(sh "$HELM_SOURCE/tools/clients.sh" settings)
put() { # put ROW: sets file, and makes it
  file=$(example "$1")
  case $file in */*) mkdir -p "${file%/*}" ;; esac
  echo before >"$file"
}
# Walls first: whoever has called a hook may not run in audit mode any more.
for row in $settings; do
  put "$row"
  ok "$row: the wall refuses" refuses "$file"
  rm -rf "${file%%/*}" moved
done
for row in $settings; do
  put "$row"
  ok "$row: the guard asks" asks "$file"
  case $row in */) name=$row ;; *) name=$file ;; esac
  ok "$row: status knows it" knows "$name" "$file"
  rm -rf "${file%%/*}"
done

# A client without a hook of ours is told, too, and that it is not guarded is no failure of the doctor.
mkdir .gemini
echo '{}' >.gemini/settings.json
ok "doctor knows a client that has no hook" doctor_knows gemini
ok "and says what to do" says 0 "helm agent" helm doctor --skip-discovery
ok "setup says that there is none" says 1 "no hook for Gemini CLI" helm setup gemini --yes
rm -r .gemini

# The marks of agents, as the same rows have them.
marked() { HELM_ENV="$1=1" helm approval approve approval-000000000000; }
for mark in $(sh "$HELM_SOURCE/tools/clients.sh" marks); do
  ok "$mark: nobody approves in there" says 25 "$mark is set" marked "$mark"
done
finish
