#!/bin/sh
# scripted_client.sh FILE: stands in for an agent client in ./demo: its "model" is FILE, one shell command per line.  As a real client does,
# it asks `helm hook pre-tool` before each of them, runs only what is let through, and reports afterwards.
set -u
n=0
escaped() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g'; }
while IFS= read -r call; do
  n=$((n + 1))
  printf '  agent: %s\n' "$call"
  about="\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"$(escaped "$call")\"},\"session_id\":\"unattended\",\"cwd\":\"$(escaped "$PWD")\",\"tool_use_id\":\"call-$n\""
  answer=$(printf '{%s}' "$about" | helm hook pre-tool --client claude-code) || answer='"permissionDecision":"deny"'
  case $answer in
    *'"permissionDecision":"deny"'* | *'"permissionDecision":"ask"'*)
      printf '%s\n' "$answer" | sed -n 's/.*kernel=[A-Z_]* \(.*\)\. Rule: .*/    helm: \1/p'
      continue
      ;;
  esac
  sh -c "$call" </dev/null 2>&1 | sed 's/^/    /'
  printf '{%s,"tool_response":{}}' "$about" | helm hook post-tool --client claude-code >/dev/null
done <"$1"
