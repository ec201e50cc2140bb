#!/bin/sh
# browser.sh DIR: what drives a real browser in tests, from npm into DIR unless it is there; prints the browser's program (Debian's headless shell of
# Chromium), or nothing.
set -eu
mkdir -p "$1"
exec 9>"$1/lock"
flock 9
if [ ! -e "$1/node_modules/playwright-core" ] || [ ! -e "$1/node_modules/axe-core" ]; then
  echo '{"private":true}' >"$1/package.json"
  (cd "$1" && timeout 280 npm install --no-audit --no-fund --ignore-scripts playwright-core@1 axe-core@4 >npm.log 2>&1) || echo "# npm: $(tail -n 3 "$1/npm.log" | tr '\n' ' ')" >&2
fi
command -v chromium-headless-shell || command -v chromium || true
