#!/bin/sh
# sdks.sh DIR: the vendors' client libraries that tests drive, from npm into DIR unless they are there.
set -eu
mkdir -p "$1"
exec 9>"$1/lock"
flock 9
if [ ! -e "$1/node_modules/openai" ] || [ ! -e "$1/node_modules/@anthropic-ai/sdk" ]; then
  echo '{"private":true}' >"$1/package.json"
  (cd "$1" && timeout 280 npm install --no-audit --no-fund --ignore-scripts \
    openai @anthropic-ai/sdk @langchain/openai @langchain/core @openai/agents >npm.log 2>&1) || echo "# npm: $(tail -n 3 "$1/npm.log" | tr '\n' ' ')" >&2
fi
