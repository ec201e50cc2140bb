#!/bin/sh
# install_mcp.sh DIR: official clients and servers of the Model Context Protocol, from npm into DIR unless they are there.
# The conformance suite wants a function of a newer node, for something that is not used here; a copy of it does without.
set -eu
mkdir -p "$1"
exec 9>"$1/lock"
flock 9
suite=$1/node_modules/@modelcontextprotocol/conformance/dist
if [ ! -e "$suite/plain.js" ]; then
  echo '{"private":true,"type":"module"}' >"$1/package.json"
  (cd "$1" && timeout 400 npm install --no-audit --no-fund --ignore-scripts \
    @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/core@2.4.0 @modelcontextprotocol/conformance@0.1.16 \
    @modelcontextprotocol/inspector@0.15.0 @modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31 \
    >npm.log 2>&1) || echo "# npm: $(tail -n 3 "$1/npm.log" | tr '\n' ' ')" >&2
  sed 's/globSync as \([a-z]*\),/default as \1,/' "$suite/index.js" >"$suite/plain.js"
fi
