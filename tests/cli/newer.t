#!/bin/sh
# State of a newer release is refused with one sentence that names file and version, nothing of it is changed, and nothing is allowed by it.
# A projection of a newer release is made again.
# shellcheck disable=SC2016,SC2317 # for another shell; called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

fresh_workspace
helm init --path . >/dev/null
mkdir sub
helm run --task-id first -- true
place=$(grep -l "$PWD\"" "$scratch"/home/.helm/trees/*/place.json)
tree=$(dirname "$place")
everything() { (cd "$scratch" && find home project -type f ! -name '*.lock' | sort | xargs sha256sum); }
unchanged() { everything | cmp - "$scratch/.before" || { everything | diff "$scratch/.before" -; return 1; }; }

# ---- the workspace itself ----
cp .helm/workspace.json "$scratch/workspace.json"
sed -i 's/"schema_version": 1/"schema_version": 99/' .helm/workspace.json
everything >"$scratch/.before"
for command in "status" "status --brief" "doctor" "report" "log check" "init --path ." "init --force --path ." "reconcile --apply --force" "run -- true" "checkpoint create" \
  "freeze --reason x" "profile use inspect_local" "workspace trust" "guard check -- ls" "db rebuild" "task list" "approval list" "memory write --layer long_term_memory --text x" "detect" "setup status"; do
  # shellcheck disable=SC2086 # words on purpose
  ok "$command: refused" says 1 "$PWD/.helm/workspace.json is of version 99, newer than version 1 that this program reads" helm $command
done
ok "what to do is said" says 1 "upgrade helm, or use the release that wrote it" helm status
call='{"tool_name":"Bash","tool_input":{"command":"ls"},"session_id":"s1"}'
hooked() { printf %s "$call" | helm hook pre-tool --client claude-code; }
ok "an agent's call is denied" says 0 '"permissionDecision":"deny"' hooked
ok "and why" says 0 "is of version 99" hooked
ok "nothing was written anywhere" unchanged
ok "help needs no workspace" exits 0 helm --help
for version in '"2"' 1.5 null '"new"' 99999999999999999999; do
  sed "s/\"schema_version\": 1/\"schema_version\": $version/" "$scratch/workspace.json" >.helm/workspace.json
  ok "version $version is not guessed at" says 1 "workspace.json" helm status
done
sed '/"schema_version"/d' "$scratch/workspace.json" >.helm/workspace.json
ok "a file without a version is of before versions" exits 0 helm status
cp "$scratch/workspace.json" .helm/workspace.json
ok "put back, it opens" exits 0 helm status

# ---- single files: newer FILE EXIT COMMAND...: refused, and left as they are ----
newer() {
  file=$1
  code=$2
  shift 2
  rm -f "$scratch/.had"
  [ ! -e "$file" ] || cp "$file" "$scratch/.had"
  mkdir -p "$(dirname "$file")"
  printf '{"version": 99, "schema_version": 99, "runtime_state_schema_version": 99}\n' >"$file"
  sha256sum "$file" >"$scratch/.sum"
  says "$code" "$(basename "$file") is of version 99" helm "$@" && sha256sum -c --quiet "$scratch/.sum" && [ -z "$(find "$(dirname "$file")" -name "$(basename "$file")?*" ! -name '*.lock')" ]
  result=$?
  rm -f "$file"
  [ ! -e "$scratch/.had" ] || cp "$scratch/.had" "$file"
  return $result
}
ok "approvals: list" newer .helm/approvals.json 1 approval list
ok "approvals: a question" newer .helm/approvals.json 24 run -- rm -rf sub
ok "what was asked about is not done" test -d sub
ok "approvals: status names them" newer .helm/approvals.json 0 status --brief
ok "pauses of runs: status names them" newer .helm/long-running-runtime.json 0 status --brief
ok "guards of clients: change" newer .helm/setup.json 1 setup claude-code --scope project
ok "guards of clients: status names them" newer .helm/setup.json 0 status --brief
ok "guards of clients: an interrupted change" newer .helm/setup-recovery.json 1 setup repair claude-code
ok "servers of tools" newer "$tree/mcp.json" 1 mcp list
ok "keys of programs" newer "$tree/serve-keys.json" 1 serve key list
ok "skills" newer .helm/skill-lifecycle/usage.json 1 skill-lifecycle status
ok "models" newer .helm/model-health-state.json 1 health state
ok "vault" newer .helm/privacy-vault.json 1 privacy tokenize --scope a --text 'write to a@example.com'
ok "fleet" newer "$scratch/home/.helm/fleet/joined.json" 1 fleet status
rm -rf "$scratch/home/.helm/fleet"
ok "a place nobody has decided about: everything is frozen" newer "$tree/place.json" 25 run -- true

# ---- what was decided about a place ----
helm profile use inspect_local >/dev/null
cp "$tree/posture.json" "$scratch/posture.json"
sed -i 's/"version": *1\b/"version": 99/' "$tree/posture.json"
everything >"$scratch/.before"
ok "settings of a newer version: everything is frozen" says 25 "posture.json is of version 99" helm run --task-id frozen -- true
cp "$tree/posture.json" "$scratch/newer.json"
ok "no act makes others in their place" says 1 "posture.json is of version 99" helm freeze --reason x
ok "nor by doing both" sh -c '! "$@"' - env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" unfreeze
ok "they are left as they are" cmp "$tree/posture.json" "$scratch/newer.json"
ok "doctor says so" says 1 "posture.json is of version 99" helm doctor --skip-discovery
cp "$scratch/posture.json" "$tree/posture.json"
cp "$tree/posture.json" "$scratch/act.json"
printf '{"posture": {"version": 99}}' >"$tree/posture.intent"
ok "so is an unfinished change of a newer release" says 25 "posture.intent is of version 99" helm run -- true
ok "which is not finished by guessing" says 1 "posture.intent is of version 99" helm freeze --reason x
ok "it is left" grep -q 99 "$tree/posture.intent"
rm "$tree/posture.intent"
ok "with them back, work goes on" exits 0 helm run -- true

# ---- projections ----
helm report >/dev/null
if needs python3 "an index of a newer release is made again"; then
  python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute("UPDATE schema_info SET value = 99 WHERE key = ?", ("schema_version",)); c.commit()' .helm/ops-index.sqlite3
  ok "an index of a newer release is made again" says 0 first helm task list
  ok "and is right" exits 0 helm db verify
fi
finish
