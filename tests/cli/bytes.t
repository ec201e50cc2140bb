#!/bin/sh
# Names and commands may hold any byte.  A command that is not UTF-8 is denied (strings.t); the record stays readable, and old rows with raw bytes are read.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

helm init >/dev/null
state=$scratch/home/.helm/workspace/.helm
mkdir project && cd project || exit 1
odd=$(printf 'a\377b')
helm run --task-id t-file --task-name "$(printf 'na\377me')" -- touch "$odd" >/dev/null 2>&1
helm run --task-id t-shell -- sh -c "rm -rf /srv/$odd" >/dev/null 2>&1
printf '#!/bin/sh\nexit 3\n' >"$odd" && chmod +x "$odd"
helm run --task-id t-program -- "./$odd" >/dev/null 2>&1
helm run --task-id t-ask -- rm -rf "$odd" >/dev/null 2>&1

valid() { iconv -f UTF-8 -t UTF-8 "$1" >/dev/null; }
for file in task-ledger.jsonl command-log.jsonl receipts.jsonl approvals.json; do
  [ -e "$state/$file" ] || continue
  ok "$file is UTF-8" valid "$state/$file"
done
ok "the record is sound" says 0 "sound" helm log check
ok "the name of the task is readable" says 0 'na\xFFme' helm task list
ok "and the command" says 0 'a\xFFb' helm task show t-file
ok "status counts them" says 0 "4 tasks were stopped by the guard" helm status
ok "report tells of them" says 0 'a\xFFb' helm report
ok "as JSON" is_json helm report --format json
ok "as a page" exits 0 helm report --format html --out r.html
ok "which is UTF-8" valid r.html
ok "sessions" exits 0 helm log sessions
ok "evidence" exits 0 helm evidence export --all --out pack.tar
ok "verify" exits 0 helm verify "$state/receipts.jsonl" --key "$scratch/home/.helm/keys/root.pub"
ok "verify the pack" exits 0 helm verify pack.tar --key "$scratch/home/.helm/keys/root.pub"
ok "guard as JSON" is_json helm guard check --json -- touch "$odd"

# The digest is over the bytes, not over how they are shown: the four characters \xFF are another command.
digest() { helm receipts list --task "$1" --json | sed -n 's/.*"args_hash": "\(.*\)".*/\1/p' | head -1; }
helm run --task-id t-spelt -- touch 'a\xFFb' >/dev/null 2>&1
differ() { [ -n "$(digest t-file)" ] && [ "$(digest t-file)" != "$(digest t-spelt)" ]; }
ok "what is shown alike is proven apart" differ

# Rows of an older version.
printf '{"task_id": "t-old", "task_name": "o\377ld", "status": "completed", "exit_code": 0, "started_at": "2026-01-01T00:00:00+00:00", "finished_at": "2026-01-01T00:00:01+00:00"}\n' >>"$state/task-ledger.jsonl"
ok "an old row is read" says 0 'o\xFFld' helm task list
ok "doctor names it" says 0 "not UTF-8" helm doctor --skip-discovery
ok "and is content" says 0 "healthy=yes" helm doctor --skip-discovery
finish
