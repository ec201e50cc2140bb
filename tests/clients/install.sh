#!/bin/sh
# install.sh DIR: the real agent clients that tests drive, from npm into DIR unless they are there; prints a line "NAME PROGRAM" for each.
# Without install scripts the program itself lies in the package of its platform.
set -eu
mkdir -p "$1"
bin=$1/node_modules/.bin
# Two tests may want them at once.
exec 9>"$1/lock"
flock 9
if [ ! -e "$bin/claude" ] || [ ! -e "$bin/codex" ]; then
  echo '{"private":true}' >"$1/package.json"
  (cd "$1" && timeout 200 npm install --no-audit --no-fund --ignore-scripts \
    @anthropic-ai/claude-code@2.1.197 @openai/codex@0.166.0 >npm.log 2>&1) || echo "# npm: $(tail -n 3 "$1/npm.log" | tr '\n' ' ')" >&2
fi
claude=$bin/claude
for file in "$1"/node_modules/@anthropic-ai/claude-code-linux-*/claude; do
  [ ! -x "$file" ] || claude=$file
done
printf 'claude-code %s\ncodex %s\n' "$claude" "$bin/codex"
