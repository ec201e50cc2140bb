#!/bin/sh
# The morning view: a week of work (tests/tools/week.py), and what 'helm report' says of it on Monday at nine, compared with what a person can read in
# tests/cases/morning/.  HELM_MORNING_WRITE=1 writes these anew.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to make a week"
[ -x "$HELM_TWIN" ] || skip_all "helm-test was not built"

fresh_workspace
project=$PWD
git init -q . && git remote add origin https://github.com/example/shop.git
echo a >api.js
echo a >cart.js
env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 TZ=UTC ASAN_OPTIONS="${ASAN_OPTIONS:-}" python3 "$HELM_SOURCE/tests/tools/week.py" "$HELM_TWIN" "$ws"
monday() { # monday ARGS...: helm on the Monday after that, at nine, on a screen of 80 columns
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 TZ=UTC COLUMNS=80 ASAN_OPTIONS="${ASAN_OPTIONS:-}" HELM_TEST_CLOCK_US=1763370000000000 "$HELM_TWIN" "$@"
}
# Ids are made anew each time, and places are somebody's.  What is cut at the end of the screen is cut elsewhere where a path is longer.
same_words() { sed -E "s,$project,/shop,g; s,$scratch/home,~,g; s/approval-[0-9a-f]{12}/approval-ID/g; s/^Helm report .*/Helm report/; s, [/~][^…]*…$, …,; s/^(The record is whole: )[0-9]+/\1N/"; }
screen() { # screen NAME ARGS...: one screen of 24 lines and 80 columns, the same as in the file
  case=$HELM_SOURCE/tests/cases/morning/$1.txt
  shift
  monday "$@" >"$scratch/.screen" || return 1
  same_words <"$scratch/.screen" >"$scratch/.words"
  [ -z "${HELM_MORNING_WRITE:-}" ] || cp "$scratch/.words" "$case"
  [ "$(wc -l <"$scratch/.screen")" -lt 24 ] || { echo "no room for a prompt on 24 lines"; cat "$scratch/.screen"; return 1; }
  diff "$case" "$scratch/.words"
}
monday report >/dev/null # the record was checked
ok "what did the agents do yesterday? is answered on one screen" screen yesterday report --since yesterday
ok "and of the week" screen week report --since 2025-11-10
ok "by rule" screen rule report --since 2025-11-10 --by rule
ok "by session" screen session report --since 2025-11-10 --by session
ok "by file" screen file report --since 2025-11-10 --by file

# Counts are of everything in the period, whatever is shown.
totals() { monday report --json "$@" | python3 -c '
import json, sys
doc = json.load(sys.stdin)
g = doc["groups"]
print(g["totals"]["stopped"], g["totals"]["asked"], g["totals"]["failed"], sum(r["count"] for r in g["rows"]), g["of"], doc["day"]["calls"])'; }
ok "numbers add up" [ "$(totals --since 2025-11-10)" = "$(totals --since 2025-11-10 --limit 1)" ]
ok "to what was done" [ "$(totals --since 2025-11-10)" = "31 2 28 61 61 194" ]
ok "yesterday is a part of it" [ "$(totals --since yesterday)" = "10 2 4 16 16 35" ]
i=0
while [ $i -lt 6000 ]; do
  i=$((i + 1))
  printf '{"at": "2025-11-16T16:%02d:%02d+00:00", "client": "codex", "session": "many", "tool": "Bash", "verdict": "ALLOW", "decision_id": "dec-%d", "preview": "true"}\n' $((i / 60 % 60)) $((i % 60)) $i
done >>"$ws/.helm/tool-calls.jsonl"
ok "three denials are not lost behind 6,000 calls" [ "$(totals --since yesterday)" = "10 2 4 16 16 6035" ]
row() { monday report --json --since yesterday | python3 -c '
import json, sys
doc = json.load(sys.stdin)
one = [r for r in doc["groups"]["rows"] if r["key"] == "denied git push: profile.network"][0]
print(one["count"], one["first_at"][:16], one["last_at"][:16], one["example"], "|", one["remedy"])
print(min(r["last_at"] for r in doc["sessions"]) >= "2025-11-16", len(doc["sessions"]), doc["lists"]["sessions"]["of"])'; }
row >"$scratch/.row"
ok "a row says since when, until when, an example and what would help" grep -qxF "7 2025-11-16T12:40 2025-11-16T12:46 git push origin main | do without it; or a person chooses another profile: helm profile use service_ops" "$scratch/.row"
ok "lists of the report are of the period" grep -qxF "True 3 3" "$scratch/.row"

# The same --since in every list, which says so.
for list in "task list" "log sessions" "failures list" "approval list" "dashboard"; do
  # shellcheck disable=SC2086 # words on purpose
  ok "$list says since when" says 0 "ince 2025-11-16 00:00" monday $list --since yesterday
  # shellcheck disable=SC2086
  ok "$list names the forms of a time" says 2 "write 2d, 36h, 90m, today," monday $list --since someday
done
tasks() { monday task list --json --limit 0 "$@" 2>/dev/null | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))'; }
ok "tasks of a period" [ "$(tasks --since yesterday)" -eq 3 ]
ok "of the week" [ "$(tasks --since 2025-11-10)" -eq 15 ]
ok "in the states that are asked for" [ "$(tasks --since 2025-11-10 --status failed)" -eq 7 ]
ok "a list that is cut says of how many" says 0 "2 of 15 tasks" monday task list --since 2025-11-10 --limit 2
ok "sessions of a period" [ "$(monday log sessions --json --since 2025-11-15 2>/dev/null | grep -c '"session"')" -eq 5 ]
ok "what waits is told also when it was asked earlier" says 0 "2 older requests wait" monday approval list --since today
ok "the original's days are days" says 0 '"days": 3' monday shadow-report --since 3 --format json
ok "and its other times are times" says 0 '"since": "2025-11-16T00:00:00+00:00"' monday shadow-report --since yesterday --format json
ok "receipts" [ "$(monday receipts list --json --limit 0 --since today | grep -c '"receipt_id"')" -eq 0 ]

# What has no row of its own, as it came over the network, is counted from the record.
fresh_workspace
helm mcp authorize-call nobody echo >/dev/null
helm mcp authorize-call nobody echo >/dev/null
ok "calls by other entry points count" says 0 "asked     2×  mcp__nobody__echo: A person must approve this first." helm report --since 1h
finish
