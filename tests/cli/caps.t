#!/bin/sh
# A list that is cut says of how many, and how to see the rest; a number that is called a count is a total.
# shellcheck disable=SC2154 # scratch is lib.sh's
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
command -v python3 >/dev/null || skip_all "python3 is not here"

mkdir -p ws/src
helm init --path ws >/dev/null
cd ws || exit 1
payload() { printf '{"tool_name":"Bash","tool_input":{"command":"rm -rf src/%s"},"session_id":"s1","tool_use_id":"u%s"}' "$1" "$1"; }
asks() { payload "$1" | agent hook pre-tool --client claude-code >/dev/null; }
gives() { # gives EXPRESSION ARGS...: of the JSON document d
  expression=$1
  shift
  helm "$@" --json | python3 -c "import json,sys; d=json.load(sys.stdin); sys.exit(0 if ($expression) else str(d)[:400])"
}

# ---- questions that wait: the document holds 200, the rest stands in the log ----
n=0
while [ $n -lt 208 ]; do
  n=$((n + 1))
  asks $n
done
id() { helm approval list --limit 1000 --json | python3 -c "import json,sys; print([q['approval_id'] for q in json.load(sys.stdin)['requests'] if q['preview'].endswith('src/$1')][0])"; }
kept() { python3 -c 'import json,sys; d=json.load(open(".helm/approvals.json")); sys.exit(0 if len(d["requests"]) == 200 and len(d["waiting_in_log"]) == 8 else str([len(d["requests"]), len(d.get("waiting_in_log", {}))]))'; }
ok "the document keeps the newest 200 and knows of the others" kept
ok "the list counts all" says 0 "208 requests wait for an answer" helm approval list
ok "and says how many it shows" says 0 "200 of 208, all with: helm approval list --limit 208" helm approval list
ok "which then are all" gives "len(d['requests']) == 208 and d['shown'] == 208 and d['total'] == 208" approval list --limit 208
ok "without a word about a cut" sh -c '! HOME="$1" "$0" approval list --limit 208 | grep -q "all with"' "$HELM_REAL" "$scratch/home"
ok "JSON says both numbers" gives "len(d['requests']) == 200 and d['shown'] == 200 and d['total'] == 208" approval list
ok "status counts all" gives "d['approvals']['pending'] == 208" status
ok "the dashboard, too" says 0 "208 requests wait" helm dashboard
ok "a limit that is none is told" says 2 "--limit takes 1 to 10000" helm approval list --limit 0

# An old one, which only the log has, is answered like any other, and is then counted no more.
old=$(id 3)
ok "an old one is shown" says 0 "rm -rf src/3" helm approval show "$old"
ok "and answered" exits 0 terminal DENY -- helm approval deny "$old" --reason no
ok "and no longer counted" gives "d['total'] == 207 and d['shown'] == 200" approval list
ok "nor listed" gives "'$old' not in [q['approval_id'] for q in d['requests']]" approval list --limit 1000
newest=$(id 208)
ok "one that the document has is answered" exits 0 terminal DENY -- helm approval deny "$newest" --reason no
ok "the others are still counted" gives "d['total'] == 206" approval list --limit 1000
ok "and all shown" gives "len(d['requests']) == 206" approval list --limit 1000

# A document of a version that did not note them.
asks new-1
asks new-2
python3 -c 'import json
d = json.load(open(".helm/approvals.json")); d.pop("waiting_in_log"); json.dump(d, open(".helm/approvals.json", "w"))'
ok "without the note they are found in the log" gives "d['total'] == 208 and d['shown'] == 200" approval list
ok "and listed" gives "len(d['requests']) == 208" approval list --limit 1000
python3 -c 'import json
d = json.load(open(".helm/approvals.json")); d["waiting_in_log"] = "none"; json.dump(d, open(".helm/approvals.json", "w"))'
ok "a note that is no object is damage: the document is put aside and made again, and says so" says 0 "not a document of approvals" helm approval list

# ---- search ----
i=0
while [ $i -lt 30 ]; do
  i=$((i + 1))
  echo "a line about herons $i"
done >memory-lines
mkdir -p memory
cp memory-lines memory/herons.md
ok "a search says of how many" says 0 "20 of 30, more with --offset 20" helm context herons
ok "and its last page says nothing" sh -c '! HOME="$1" "$0" context herons --offset 20 | grep -q "more with"' "$HELM_REAL" "$scratch/home"
ok "its summary says whether that is all" gives "d['summary']['total'] == 30 and d['summary']['complete'] is True" context herons --summary

# ---- memory ----
n=0
while [ $n -lt 12 ]; do
  n=$((n + 1))
  helm run --task-id "task-$n" -- true >/dev/null 2>&1
  helm memory op archive --task-id "task-$n" --subject s --reason r --evidence e >/dev/null 2>&1
done
ok "the last states say that there are more" says 0 "the newest 10; there are more, all with --limit 0" helm context recent-state
ok "and JSON" gives "d['count'] == 10 and d['has_more'] is True" context recent-state
ok "all of them are all" gives "d['count'] >= 12 and d['has_more'] is False" context recent-state --limit 0
ok "the history of memory, too" says 0 "the newest 5; there are more, all with --limit 0" helm memory history --limit 5
ok "its newest is the last" gives "d['count'] == 5 and d['items'][-1]['task_id'] == 'task-12'" memory history --limit 5
ok "and nothing when it is whole" sh -c '! HOME="$1" "$0" memory history --limit 0 2>&1 | grep -q "there are more"' "$HELM_REAL" "$scratch/home"
finish
