#!/bin/sh
# helm-serve started by hand: what helm asks a person about is asked there, too, and the guard knows the program.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
word=$(printf x | sha256sum | cut -c1-64)
link='"token_sha256":"'$word'","token_expires_us":99999999999999999'
ok "an agent opens no link into the console" sh -c '! "$@" 2>said >/dev/null && grep -q "agent\|person" said' - \
  env -i PATH="$PATH" HOME="$scratch/home" ASAN_OPTIONS="${ASAN_OPTIONS:-}" CLAUDECODE=1 timeout 20 "$HELM_BUILD/helm-serve" '{"workspace":"'"$ws"'","port":0,"console":{'"$link"'}}'
ok "nor does it invite itself" sh -c '! "$@" 2>said >/dev/null && grep -q "agent\|person" said' - \
  env -i PATH="$PATH" HOME="$scratch/home" ASAN_OPTIONS="${ASAN_OPTIONS:-}" CLAUDECODE=1 timeout 20 "$HELM_BUILD/helm-serve" '{"workspace":"'"$ws"'","port":0,"console":{"invite":"dirk",'"$link"'}}'
ok "without a terminal nobody is invited" sh -c '! "$@" 2>said >/dev/null </dev/null && grep -q terminal said' - \
  env -i PATH="$PATH" HOME="$scratch/home" ASAN_OPTIONS="${ASAN_OPTIONS:-}" timeout 20 "$HELM_BUILD/helm-serve" '{"workspace":"'"$ws"'","port":0,"console":{"invite":"dirk",'"$link"'}}'
ok "an agent joins no fleet" sh -c '! "$@" 2>said >/dev/null && grep -q "agent\|person" said' - \
  env -i PATH="$PATH" HOME="$scratch/home" ASAN_OPTIONS="${ASAN_OPTIONS:-}" CLAUDECODE=1 timeout 20 "$HELM_BUILD/helm-serve" '{"ship":{"do":"join","url":"http://127.0.0.1:1","token":"x","ship":"captions","workspace":"'"$ws"'"}}'
ok "nothing was joined" test ! -e "$scratch/home/.helm/fleet/joined.json"
ok "the guard knows it" exits 25 helm guard check --containment none -- helm-serve '{}'
ok "by its path" exits 25 helm guard check --containment none -- /usr/libexec/helm/helm-serve '{}'
ok "from a script" exits 25 helm guard check --containment none -- python3 -c "import subprocess; subprocess.run(['helm-serve','{}'])"

# A program that asked for a link and ended has nobody left who knows of the console.
ends() {
  sh -c '"$@" >"$0" 2>&1 & i=0; while ! grep -q "^}" "$0" && [ $i -lt 400 ]; do sleep 0.05; i=$((i + 1)); done' "$scratch/opened" \
    env -i PATH="$PATH" HOME="$scratch/home" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" open --json
  pid=$(sed -n 's/.*"pid": \([0-9]*\).*/\1/p' "$scratch/opened")
  [ -n "$pid" ] && grep -q "\"stop\": \"kill $pid\"" "$scratch/opened" || { cat "$scratch/opened"; return 1; }
  i=0
  while [ -d "/proc/$pid" ] && ! grep -q '^State:.Z' "/proc/$pid/status" && [ $i -lt 200 ]; do
    sleep 0.05
    i=$((i + 1))
  done
  [ $i -lt 200 ] || { kill "$pid"; return 1; }
}
ok "a console ends with the program that opened it, and says how to end it" ends

# Under another name, helm-serve judges by that name, too.
mkdir -p "$scratch/tree"
cp "$HELM_BUILD/helm" "$scratch/tree/Warden-1.2"
cp "$HELM_BUILD/helm-serve" "$scratch/tree/"
other=$scratch/tree/Warden-1.2
ok "names with capitals and dots are known to the guard" exits 25 env -i PATH="$PATH" HOME="$scratch/home" "$other" guard check -- Warden-1.2 unfreeze
printf 'format: helm.policy.v1\nname: t\nversion: "1"\nrules:\n  - {id: all, action: Bash, verdict: ALLOW}\n' >p.yaml
env -i PATH="$PATH" HOME="$scratch/home" ASAN_OPTIONS="${ASAN_OPTIONS:-}" HELM_ADMIN_API_KEY=0123456789abcdef0123456789abcdef "$other" serve --policy p.yaml --port 0 >ready 2>log &
server=$!
waited=0
while ! grep -q ready ready && [ $waited -lt 300 ]; do sleep 0.1; waited=$((waited + 1)); done
url=$(grep -o 'http[^"]*' ready)
asked() {
  python3 - "$url/api/v1/evaluate" "$1" <<'PY'
import json, sys, urllib.request
body = {"tool": "Bash", "effect_level": "w", "session_id": "s", "args": {"command": sys.argv[2]}}
head = {"Authorization": "Bearer 0123456789abcdef0123456789abcdef", "X-Helm-Tenant-ID": "default",
        "X-Helm-Principal-ID": "system-admin", "Content-Type": "application/json"}
print(urllib.request.urlopen(urllib.request.Request(sys.argv[1], json.dumps(body).encode(), head)).read().decode())
PY
}
ok "over HTTP, too" sh -c 'printf %s "$1" | grep -q "\"verdict\":\"DENY\""' - "$(asked 'Warden-1.2 unfreeze')"
ok "other words pass" sh -c 'printf %s "$1" | grep -q "\"verdict\":\"ALLOW\""' - "$(asked 'ls')"
kill "$server"
wait "$server"
finish
