#!/bin/sh
# docs/guides/console.md works as it stands there: every line that it shows is typed, those of a fleet by tests/fleet/front_console.t and front_browser.t.
# shellcheck disable=SC2016
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
guide=$HELM_SOURCE/docs/guides/console.md
sed -n 's/^    \$ //p' "$guide" >lines
# line WORDS: the one of the guide that begins so, without its remark.
line() { grep -F -e "$1" lines | head -n 1 | sed 's/  *#.*//'; }

$(line "helm open") --json >open.out 2>open.log &
echo $! >open.pid
waited=0
while ! grep -q '^}' open.out 2>/dev/null && [ $waited -lt 100 ]; do sleep 0.1; waited=$((waited + 1)); done
ok "helm open prints a link that names the key" sh -c 'grep -q "/console/#enter=.*&key=$(cat "$1/.helm/keys/root.pub")" open.out' - "$scratch/home"
ok "the link leads to a page" python3 - <<'PY'
import json, urllib.request
url = json.load(open("open.out"))["base_url"]
with urllib.request.urlopen(urllib.request.Request(url + "/console/", headers={"Host": "localhost:" + url.rsplit(":", 1)[1]})) as r:
    assert r.status == 200 and b"<main" in r.read()
PY
# The function that started it is another process than the server.
pkill -P "$(cat open.pid)" 2>/dev/null
kill "$(cat open.pid)" 2>/dev/null
invite=$(line "helm serve invite")
# shellcheck disable=SC2086
ok "a person invites, as it is shown" says 0 "https://helm.example.com/console/#invite=" terminal -- $invite
list=$(line "helm approval trust list")
# shellcheck disable=SC2086
ok "whose keys count is listed" exits 0 $list
remove=$(line "helm approval trust remove" | sed 's/…/0000/')
# shellcheck disable=SC2086
ok "a key is removed by a person who says so" says 1 "not among the trusted ones" terminal REMOVE -- $remove
serve=$(line "helm serve fleet")
for option in $(printf '%s\n' "$serve $(grep "^helm fleet reader invite" lines) $(line "helm fleet approvers sign")" | grep -o -e '--[a-z-]*' | sort -u); do
	ok "the tests of the fleet use $option" sh -c 'grep -q -e "$1" "$2"/tests/fleet/front_*.t "$2"/tests/fleet/login.t "$2"/tests/fleet/lib.sh "$2"/tests/cli/*.t "$2"/tests/clients/*.mjs' - "$option" "$HELM_SOURCE"
done
ok "no line is left" [ "$(grep -vc -e '^helm open' -e '^helm serve invite' -e '^helm approval trust' -e '^helm serve fleet' -e '^helm fleet reader invite' -e '^helm fleet approvers' lines)" = 0 ]
finish
