#!/bin/sh
# helm serve shows the documents that are installed beside it, and nothing else of the disk.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
command -v curl >/dev/null 2>&1 || skip_all "curl is not here"
fresh_workspace
html=$scratch/tree/share/doc/helm-boundary/html
mkdir -p "$scratch/tree/bin" "$scratch/tree/libexec/helm" "$html/guides"
cp "$HELM_BUILD/helm" "$scratch/tree/bin/"
cp "$HELM_BUILD/helm-serve" "$scratch/tree/libexec/helm/"
HELM_REAL=$scratch/tree/bin/helm
echo '<h1>All of it</h1>' >"$html/index.html"
echo '<h1>One</h1>' >"$html/guides/one.html"
echo secret >"$scratch/tree/share/doc/secret.html"
ln -s ../secret.html "$html/out.html"
printf 'format: helm.policy.v1\nname: t\nversion: "1"\nrules:\n  - {id: read, action: read_ticket, verdict: ALLOW}\n' >p.yaml
env -i PATH="$PATH" HOME="$scratch/home" ASAN_OPTIONS="${ASAN_OPTIONS:-}" HELM_ADMIN_API_KEY=0123456789abcdef0123456789abcdef "$HELM_REAL" serve --policy p.yaml --port 0 >ready 2>log &
server=$!
waited=0
while ! grep -q ready ready && [ $waited -lt 300 ]; do sleep 0.1; waited=$((waited + 1)); done
url=$(grep -o 'http[^"]*' ready)
get() { curl -s -o body -D head --path-as-is "$url$1"; code=$(sed -n '1s/[^ ]* \([0-9]*\).*/\1/p' head); }
gives() { get "$1"; [ "$code" = "$2" ] || { echo "$1: $code"; return 1; }; [ -z "${3:-}" ] || grep -q "$3" body; }
ok "the first page" gives /docs/ 200 'All of it'
ok "its address leads there" gives /docs 302
ok "a page further down" gives /docs/guides/one.html 200 One
ok "without any script" sh -c 'grep -qi "^content-security-policy: default-src .none.; style-src" head && ! grep -qi script-src head'
ok "what is not there is not" gives /docs/none.html 404
ok "a link leads nowhere else" gives /docs/out.html 404
ok "nor do two dots" gives /docs/../secret.html 404
ok "however they are written" gives /docs/%2e%2e/secret.html 404
ok "nor an absolute name" gives "/docs//etc/passwd" 404
ok "other kinds of files are none" gives /docs/guides 404
rm -r "$html"
ok "where they are not installed it says so" gives /docs/ 404 'not installed'
kill "$server"
wait "$server"
finish
