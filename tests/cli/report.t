#!/bin/sh
# report: never silently partial, says what became of what was asked, and which calls are only a self-test.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

helm init --path "$scratch/ws" >/dev/null
cd "$scratch/ws" || exit 1
state=$scratch/ws/.helm
pre() { # pre COMMAND ID [SESSION]
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"%s","cwd":"%s/ws","tool_use_id":"%s"}' "$1" "${3:-s1}" "$scratch" "$2" |
    agent hook pre-tool --client claude-code
}
post() { # post COMMAND ID
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"tool_response":{"exit_code":0},"session_id":"s1","cwd":"%s/ws","tool_use_id":"%s"}' "$1" "$scratch" "$2" |
    agent hook post-tool --client claude-code
}
asked_id() { sed -n 's/.*helm approval approve \(approval-[0-9a-f]*\).*/\1/p' | head -1; }
mkdir build d1 d2 d3

pre "rm -rf /" u-denied >/dev/null
pre "rm -rf build" u-client >/dev/null
post "rm -rf build" u-client
id=$(pre "rm -rf d1" u-approved | asked_id)
terminal APPROVE -- helm approval approve "$id" >/dev/null 2>&1
pre "rm -rf d1" u-again >/dev/null
post "rm -rf d1" u-again
id=$(pre "rm -rf d2" u-refused | asked_id)
terminal DENY -- helm approval deny "$id" >/dev/null 2>&1
pre "rm -rf d3" u-waiting >/dev/null
printf '{"at": "%s", "client": "codex", "session": "self", "tool": "Bash", "verdict": "DENY", "self_test": true, "preview": "rm -rf /self"}\n' "$(date -u +%Y-%m-%dT%H:%M:%S+00:00)" >>"$state/tool-calls.jsonl"

became() { # became PREVIEW TEXT, in every form
  for format in text markdown; do
    helm report --format $format | sed 's/\\//g' | grep -F -e "$1" | grep -qF -e "$2" || { helm report --format $format; return 1; }
  done
  helm report --format html | tr '\n' ' ' | sed 's/<div class="item/\n&/g' | grep -F -e "$1" | grep -qF -e "$2" || return 1
  helm report --json | tr -d '\n' | sed 's/"at":/\n&/g' | grep -F -e "$1" | grep -qF -e "\"became\": \"$2"
}
ok "a denied call did not run" became "rm -rf /" "denied"
ok "answered in the client" became "rm -rf build" "done, answered in the client"
ok "approved and called again" became "rm -rf d1" "approved by user:"
ok "refused by a person" became "rm -rf d2" "refused by user:"
ok "still waiting" became "rm -rf d3" "waiting for an answer"
ok "a self-test is marked in the text" says 0 "denied (self-test)" helm report
helm report --out page.html >/dev/null && helm report --out page.json >/dev/null && helm report --out page.md >/dev/null
ok "a file has the form that its name says" sh -c 'head -1 page.html | grep -qi "<!doctype html" && head -1 page.json | grep -q "^{" && head -1 page.md | grep -q "^# "'
rm -f page.*
ok "on the page" says 0 "self-test of helm setup" helm report --format html
ok "in Markdown" says 0 "self-test of helm setup" helm report --format markdown
ok "and among the sessions" says 0 "self (self-test)" helm log sessions
ok "one session tells it too" says 0 "waiting for an answer" helm report --session s1
mv "$state/approvals.json" "$scratch/kept.json"
ok "what a person said is known from the receipts when the request is gone" became "rm -rf d2" "refused by user:"
mv "$scratch/kept.json" "$state/approvals.json"

# Lists that are cut say so.
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
  helm run --task-id "ok-$n" --task-name "good $n" -- true >/dev/null 2>&1
done
for n in 1 2 3; do helm checkpoint create --label "point $n" >/dev/null 2>&1; done
for format in text markdown html; do
  ok "$format says what it leaves out" says 0 "10 of 14, all with --limit 0" helm report --limit 10 --format $format
  ok "$format with --limit 0 leaves nothing out" sh -c '! HOME="$1/home" "$0" report --limit 0 --format $2 | grep -q "all with"' "$HELM_REAL" "$scratch" $format
  ok "$format with --limit 0 has the oldest" says 0 "good 1" helm report --limit 0 --format $format
done
ok "calls too" says 0 "2 of 6, all with --limit 0" helm report --limit 2
ok "checkpoints too" says 0 "all with --limit 0" helm report --limit 2 --format markdown
ok "JSON has the numbers" says 0 '"of": 14' helm report --limit 10 --json
all_json() { [ "$(helm report --limit 0 --json | grep -c '"command_preview": "true"')" -ge 14 ]; }
ok "and all with --limit 0" all_json
ok "counts are over all runs" says 0 "14 runs: completed 14" helm report --limit 2
ok "a negative limit is refused" says 2 "from 0" helm report --limit -1
ok "task list says it" says 0 "10 of 14 tasks, all with --limit 0" helm task list --limit 10
ok "and nothing when it is whole" sh -c '! HOME="$1/home" "$0" task list --limit 0 2>&1 | grep -q "all with"' "$HELM_REAL" "$scratch"
ok "receipts list says it" says 0 "all with --limit 0" helm receipts list --limit 3
# ---- what an agent wrote is text ----
printf '{"at": "2026-01-01T00:00:00+00:00", "client": "codex", "session": "ev*il", "tool": "Ba`sh", "verdict": "ALLOW", "tool_use_id": "m1", "preview": "x [click](http://evil) <img src=y>\\n# Heading"}\n' >>"$state/tool-calls.jsonl"
printf '{"at": "2026-01-01T00:00:01+00:00", "client": "codex", "session": "ev*il", "tool_use_id": "m1", "outcome": "done", "changed_files": ["a`b`[c](d)"]}\n' >>"$state/tool-calls.jsonl"
plain_session() {
  helm report --session 'ev*il' --format markdown >"$scratch/session.md" || return 1
  grep -qF 'ev\*il' "$scratch/session.md" || { cat "$scratch/session.md"; return 1; }
  ! grep -q '^# Heading\|[^\\]\[\|[^\\]`\|[^\\]<' "$scratch/session.md" || { cat "$scratch/session.md"; return 1; }
}
ok "nothing an agent wrote formats a session" plain_session

# ---- the last day, on one page ----
now=$(date -u +%Y-%m-%dT%H:%M:%S+00:00)
row() { printf "$@" >>"$state/tool-calls.jsonl"; }
for n in 1 2 3 4 5 6 7 8 9 10; do
  row '{"at": "%s", "client": "codex", "session": "d", "tool": "Bash", "verdict": "ALLOW", "decision_id": "dec-%s", "tool_use_id": "d%s", "checkpoint_id": "point-%s", "preview": "rm -rf some/rather/long/name/of/a/directory/that/does/not/fit/on/any/line/of/a/page/number-%s"}\n' "$now" "$n" "$n" "$n" "$n"
  row '{"at": "%s", "client": "codex", "session": "d", "tool_use_id": "d%s", "outcome": "done", "changed_files": ["c%s"], "deleted_files": ["x%s", "y%s"], "refused_by_wall": "/srv/%s may not be written"}\n' "$now" "$n" "$n" "$n" "$n" "$n"
  printf '{"at": "%s", "host": "bad%s.example", "port": 443, "verdict": "refused", "bytes_out": 0, "bytes_in": 0}\n' "$now" "$n" >>"$state/egress.jsonl"
  printf '{"at": "%s", "host": "good%s.example", "port": 443, "verdict": "admitted", "bytes_out": 1500, "bytes_in": 2500000}\n' "$now" "$n" >>"$state/egress.jsonl"
done
row '{"at": "%s", "client": "codex", "session": "d", "tool": "Bash", "verdict": "ALLOW", "decision_id": "dec-p", "tool_use_id": "p", "settled_by": "grant", "preview": "git push origin main"}\n' "$now"
mkdir -p "$scratch/ws/.git/logs"
printf '%040d %040d A <a@b> 1000 +0000\tcommit: too old\n%040d %040d A > <a@b> %s +0000\tcommit (amend): Tidy up\n%040d %040d A <a@b> %s +0000\treset: moving\nbroken\n' 0 1 1 2 "$(date +%s)" 2 3 "$(date +%s)" >"$scratch/ws/.git/logs/HEAD"
page() { helm report >"$scratch/page" 2>&1 && grep -qF -e "$1" "$scratch/page" || { cat "$scratch/page"; return 1; }; }
# The rows above that are from January end the day.
ok "the page tells what was done" page "Last 24 hours: 11 calls of codex, from "
ok "in numbers" page "10 files changed, 20 deleted; 1 commit"
ok "which commits" page "000000000000  Tidy up"
ok "what can be undone, and how" page "helm checkpoint restore point-10  rm -rf some"
ok "how much more there is" page "Can be undone (11; all: helm checkpoint list)"
ok "what the walls refused" page "/srv/10 may not be written"
ok "and the door" page "connection to bad10.example:443; to open it: helm allow host bad10.example:443"
ok "what left the walls" page "git push origin main  (permitted)"
ok "through the door, too" page "good10.example:443: 1 connection, 1 kB out, 2.5 MB in"
ok "who answered" page "approved by user:"
fits() { # in how many columns
  helm report | python3 -c 'import sys; t = sys.stdin.read().split("\n"); print(len(t), max(map(len, t))); sys.exit(len(t) > 61 or max(map(len, t)) > 100)'
}
ok "it is one page of 60 lines and 100 columns" fits
deep=$scratch/$(printf 'a-rather-long-name/%.0s' 1 2 3 4 5 6 7)project
mkdir -p "$deep" && (cd "$deep" && helm init --path . >/dev/null)
ok "also of a place with a long name" sh -c 'HOME="$1/home" "$0" report --path "$2" | head -n 1 | grep -q "^Helm report  …/.*/project  20"' "$HELM_REAL" "$scratch" "$deep"
ok "with --limit nothing is cut" sh -c 'HOME="$1/home" "$0" report --limit 20 | grep -q "on/any/line/of/a/page/number-1$"' "$HELM_REAL" "$scratch"
ok "as JSON it is a member" says 0 '"undo_count": 10' helm report --json
ok "--public takes paths from it, too" exits 0 helm report --public --format json
finish
