#!/bin/sh
# One resolution of the workspace for every command: --path or --workspace, HELM_WORKSPACE, the current directory and those above it, the one in
# the helm home.  --path means the workspace everywhere; what it names must be one.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace
other=$scratch/other
helm init --path "$other" >/dev/null
mkdir "$scratch/plain" src
echo text >src/a.txt
echo text >b.txt
git -C . init -q 2>/dev/null

rows() { # rows WORKSPACE NAME: rows of its ledger about that task
  cat "$1/.helm/task-ledger.jsonl" 2>/dev/null | grep -c "\"task_name\": \"$2\""
}
is_only_in() { # is_only_in WORKSPACE NAME
  for one in "$ws" "$other"; do
    if [ "$one" = "$1" ]; then
      [ "$(rows "$one" "$2")" -gt 0 ] || { echo "$2 is not in $one"; return 1; }
    else
      [ "$(rows "$one" "$2")" -eq 0 ] || { echo "$2 is in $one, too"; return 1; }
    fi
  done
}
saved() { # saved PATH: that is what the newest checkpoint of where one stands is of
  helm checkpoint show latest | grep -qF "paths=[\"$1\"]" || { helm checkpoint show latest; return 1; }
}

# profile run and memory capture-chat: a workspace is the workspace; the Python Helm's files are still files of it.
ok "profile run in another workspace" helm profile run inspect_local --path "$other" --task-name one -- true
ok "is on record there" is_only_in "$other" one
ok "before the profile, too" helm profile run --path "$other" inspect_local --task-name two -- true
ok "is on record there" is_only_in "$other" two
ok "and between the words" helm profile --path "$other" run inspect_local --task-name three -- true
ok "is on record there" is_only_in "$other" three
ok "a conversation in another workspace" helm memory capture-chat --path "$other" --task-name four --file README.md
ok "is on record there" is_only_in "$other" four
for gone in "$scratch/plain" "$scratch/nothing" ../plain; do
  ok "a run where $gone is none" says 1 "is not a workspace" helm profile run inspect_local --path "$gone" --task-name no -- true
  ok "a conversation where it is none" says 1 "is not a workspace" helm memory capture-chat --path "$gone" --task-name no
done
ok "nothing of it is on record" sh -c '! grep -q "\"task_name\": \"no\"" "$1/.helm/task-ledger.jsonl" "$2/.helm/task-ledger.jsonl"' - "$ws" "$other"
ok "two workspaces are one too many" says 2 "--path names one" helm profile run inspect_local --path "$other" --path "$ws" -- true
ok "a file, as the Python Helm has it" helm profile run risky_edit --path src --task-name five -- true
ok "is what is saved" saved src
ok "here" is_only_in "$ws" five
ok "by its own word" helm profile run risky_edit --include b.txt -- true
ok "the same" saved b.txt
ok "files of a conversation, as the Python Helm has them" helm memory capture-chat --task-name six --path docs/a.md --path README.md
ok "are on record" grep -q docs/a.md "$ledger"
ok "with --workspace a path is a file" helm memory capture-chat --task-name seven --workspace "$other" --path README.md
ok "of that workspace" is_only_in "$other" seven

# Where another option was called --path, it has a word of its own.
id_of() { sed -n 's/.*\(approval-[0-9a-f]*\).*/\1/p' "$1" | head -1; }
mkdir build
helm run -- rm -rf build/x >asked 2>&1
ok "an approval below a directory" says 0 "below $PWD/build" terminal APPROVE -- helm approval grant --below build --for 1h -- rm -rf build/x
ok "its --path is the workspace" says 1 "'$PWD/build' is not a workspace" terminal -- helm approval grant --path build --for 1h -- rm -rf build/x

# Named by the environment, it must be one as well.
HELM_ENV="HELM_WORKSPACE=$scratch/nothing"
for words in "guard check -- ls" "profile list" status "run -- true"; do
  # shellcheck disable=SC2086 # words on purpose
  ok "HELM_WORKSPACE names none: $words" says 1 "HELM_WORKSPACE: '$scratch/nothing' is not a workspace" helm $words
done
HELM_ENV=

# Another helm home has a default workspace and a key of its own.
before=$(cat "$ws"/.helm/*.jsonl | sha256sum)
alt=$scratch/alt
HELM_ENV="HELM_HOME=$alt"
ok "another helm home makes its own workspace" says 0 "workspace=$alt/workspace" helm init
ok "and its runs" helm run --task-name there -- true
ok "are on record there" grep -q '"task_name": "there"' "$alt/workspace/.helm/task-ledger.jsonl"
ok "which is sound" says 0 "sound   " helm log check
ok "the first one is as it was" [ "$before" = "$(cat "$ws"/.helm/*.jsonl | sha256sum)" ]
# The record of the first does not go on under the key of the second.
for words in "run --path $ws -- true" "memory capture-chat --path $ws --task-name no" "memory note new --path $ws" "policy use --path $ws"; do
  # shellcheck disable=SC2086 # words on purpose
  helm $words >said 2>&1 </dev/null
done
ok "a writer refuses, and names the helm home" says 1 "set HELM_HOME=$scratch/home/.helm" helm run --path "$ws" -- true
hook() {
  printf '{"session_id":"s","hook_event_name":"PreToolUse","cwd":"%s","tool_name":"Bash","tool_input":{"command":"touch it"}}' "$PWD" |
    helm hook pre-tool --client claude-code --path "$ws"
}
ok "so does a hook" says 0 '"permissionDecision":"deny"' hook
ok "doctor says so" says 1 "set HELM_HOME=$scratch/home/.helm" helm doctor --skip-discovery --path "$ws"
ok "reading goes on" exits 0 helm task list --path "$ws"
HELM_ENV=
ok "nothing was written" [ "$before" = "$(cat "$ws"/.helm/*.jsonl | sha256sum)" ]
ok "and the record is sound" says 0 "sound   " helm log check

# An agent cannot go to another workspace by any of these words.
judged() { # judged CODE COMMAND
  says "$1" "" helm guard check --shell "$2"
}
for option in "--path $other" "--path=$other" "--workspace $other" "--workspace=/tmp/x" "--path ../plain"; do
  ok "an agent does not leave by $option" judged 24 "helm profile run inspect_local $option -- ls"
done
ok "a file of the tree is none" judged 0 "helm profile run inspect_local --path src -- ls"
finish
