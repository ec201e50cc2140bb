#!/bin/sh
# Contained calls under a profile that names hosts: what goes through the door of their session and what is refused there, how the client
# hears of it, and how it is bound.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
command -v bash >/dev/null 2>&1 || skip_all "bash is needed"
unshare -n true 2>/dev/null || unshare -rn true 2>/dev/null || skip_all "no network namespaces here"

# The internet of this test: servers on the loopback outside.
python3 "$HELM_SOURCE/tests/tools/internet.py" "$scratch/ports" $$ >/dev/null 2>&1 &
waited=0
while [ ! -e "$scratch/ports" ] && [ $waited -lt 500 ]; do
  sleep 0.02
  waited=$((waited + 1))
done
. "$scratch/ports"
# shellcheck disable=SC2154 # by the file above
web=$web

helm init >/dev/null || exit 1
ws=$scratch/home/.helm/workspace
rows=$ws/.helm/egress.jsonl calls=$ws/.helm/tool-calls.jsonl
terminal -- helm profile use develop >/dev/null
terminal -- helm allow host "127.0.0.1:$web" >/dev/null
mkdir project
cd project || exit 1
git init -q . 2>/dev/null
cp "$HELM_SOURCE/tests/tools/speak.py" .
helm setup claude-code --scope project --yes >/dev/null || exit 1
H=$HELM_REAL
client() { env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" ${HELM_ENV:-} python3 "$HELM_SOURCE/tests/tools/contained_client.py" "$@"; }
admitted="python3 speak.py 'CONNECT 127.0.0.1:$web HTTP/1.1\r\n\r\n' 'GET /hello HTTP/1.0\r\n\r\n'"
refused="python3 speak.py 'CONNECT evil.example:443 HTTP/1.1\r\n\r\n'"

client "$H" true >/dev/null 2>&1 || skip_all "this machine cannot put up the walls"
ok "a host that a person allowed is reached" says 0 "hello" client "$H" "$admitted"
ok "another one is refused, and the session goes on" says 0 "still here" client "$H" "$refused" "echo still here"
ok "both are on record" sh -c 'grep -q "\"verdict\": *\"admitted\"" "$0" && grep -q "\"host\": *\"evil.example\".*\"verdict\": *\"refused\"" "$0"' "$rows"
finish
