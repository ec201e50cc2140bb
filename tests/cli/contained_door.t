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
ok "the client reads which host, and how a person allows it" says 1 "the door refused 1 connection, the first to evil.example; a person can allow it: helm allow host evil.example" client "$H" "$refused; sleep 0.2; exit 1"
ok "only the call that was refused" sh -c '! "$@" 2>&1 | grep -q "door refused"' - env HOME="$scratch/home" PATH="$PATH" python3 "$HELM_SOURCE/tests/tools/contained_client.py" "$H" "echo nothing"
row_of() { grep '"event": *"contained"' "$calls" | tail -n 1; }
client "$H" "$admitted; $refused; sleep 0.2" >/dev/null 2>&1
ok "its row says what went through, and binds it" sh -c 'printf %s "$0" | grep -q "\"egress\": *{\"admitted\": *1, *\"refused\": *1, *\"refused_first\": *\"evil.example\"}.*\"rows_sha256\": *\[\"[0-9a-f]*\", *\"[0-9a-f]*\"\]"' "$(row_of)"
ok "the report of the session shows it" says 0 "the door refused 1, the first to evil.example" helm report --session s1
ok "as Markdown, too" says 0 "network: 1 admitted, 1 refused, the first to evil.example" helm report --session s1 --format markdown
helm run -- true >/dev/null
ok "all of it verifies" says 0 "sound" helm log check
changed() { # changed LINE: a row of the door is another one, and that is found
  cp "$rows" "$scratch/kept"
  sed -i "$1s/\"port\": *[0-9]*/\"port\": 7/" "$rows"
  says 1 "connections in egress.jsonl" helm log check --all
  rc=$?
  cp "$scratch/kept" "$rows"
  return $rc
}
ok "a row of the door that was changed is found" changed 1
cat >many.py <<'PY'
import socket
for i in range(300):
    s = socket.create_connection(("127.0.0.1", 3128))
    s.sendall(b"CONNECT evil%d.example:443 HTTP/1.1\r\n\r\n" % i)
    while s.recv(1000):
        pass
    s.close()
PY
client "$H" "python3 many.py; sleep 0.2" >/dev/null 2>&1
helm run -- true >/dev/null
ok "of very many, the first" changed "$(($(wc -l <"$rows") - 299))"
ok "and the last" changed "$(wc -l <"$rows")"
helm run --profile develop --guard-mode audit --task-id long -- python3 many.py >/dev/null
ok "of a run with more than its receipt names, the last one, too" changed "$(wc -l <"$rows")"
ok "as they were, all are sound" says 0 "sound" helm log check --all
echo precious >over
client "$H" "echo worthless > over" >/dev/null 2>&1
id=$(grep '"checkpoint_id": *"[^"]' "$calls" | tail -n 1 | sed 's/.*"checkpoint_id": *"\([^"]*\)".*/\1/')
ok "what a call writes over is saved first, and its row says where" sh -c 'grep -q worthless over && test -n "$0"' "$id"
ok "so does the receipt of its decision" grep -q "\"checkpoint_id\":\"$id\"" "$ws/.helm/receipts.jsonl"
helm checkpoint restore "$id" --yes >/dev/null 2>&1 || helm checkpoint restore "$id" >/dev/null 2>&1
ok "from where it comes back" grep -q precious over
lost() { # a connection cannot be recorded: no call of the session runs any more
  rm -f ready gone
  client --say "$H" 'touch ready' '@until gone' "$admitted; sleep 0.3" 'echo ran on > ran' >"$scratch/.lost" 2>&1 &
  pid=$!
  i=0; while [ ! -e ready ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done
  mv "$rows" "$scratch/kept" && mkdir "$rows" && : >gone
  wait $pid
  rmdir "$rows" && mv "$scratch/kept" "$rows"
  [ ! -e ran ] && grep -q "a connection could not be recorded" "$scratch/.lost" && return 0
  cat "$scratch/.lost"
  return 1
}
ok "a connection that cannot be recorded is the last thing that the session does" lost
finish
