#!/bin/sh
# Memories of other programs: found, adopted by a person, searched and never written.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

# hides TEXT command...: it ends well and does not say the text.  matches PATTERN command...: a line of it fits.
hides() {
  unwanted=$1
  shift
  exits 0 "$@" && ! cat "$scratch/.stdout" "$scratch/.stderr" | grep -F -e "$unwanted"
}
matches() {
  pattern=$1
  shift
  exits 0 "$@" && cat "$scratch/.stdout" "$scratch/.stderr" | grep -e "$pattern"
}

fresh_workspace
vault=$scratch/home/Notes
mkdir -p "$vault/.obsidian" "$scratch/home/.claude/projects/-w/memory" "$scratch/home/old/.helm" "$scratch/home/.hermes/notes"
printf 'walrus in the vault\n' >"$vault/n.md"
printf 'walrus of claude\n' >"$scratch/home/.claude/projects/-w/memory/MEMORY.md"
printf '{"task_id": "p1", "task_name": "walrus of python", "status": "completed"}\n' >"$scratch/home/old/.helm/task-ledger.jsonl"
printf 'walrus of hermes\n' >"$scratch/home/.hermes/notes/a.md"
before=$(find "$vault" "$scratch/home/.claude" "$scratch/home/old" "$scratch/home/.hermes" -printf '%p %T@ %s\n' | sort)

ok "a vault is found" says 0 "detected_obsidian=$vault" helm survey
ok "a project's memory of Claude Code" matches "detected_claude-code=.*/-w/memory" helm survey
ok "a workspace of the Python Helm" says 0 "detected_helm=$scratch/home/old" helm survey
ok "what to do is said" matches "next=helm adopt .*--name obsidian-main" helm survey
ok "JSON" is_json helm survey --json
ok "a dry run first" says 0 "plan=helm adopt" helm onboard --use-detected --dry-run
ok "which changes nothing" test ! -e "$ws/.helm/context_sources.json"
ok "nor does a choice that nobody made" says 0 "Nothing was chosen" helm onboard
ok "one, not yet" says 0 "nothing was changed" helm adopt --from-path "$vault" --dry-run
ok "an agent cannot adopt" exits 25 governed adopt --from-path "$vault"
ok "and the guard says so before" says 25 deny helm guard check --json -- helm adopt --from-path /x
ok "all of it" says 0 "applied=obsidian-main" helm onboard --use-detected --skip-checks
ok "on record" says 0 "helm.context/adopt" helm receipts list
ok "the vault is searched" says 0 "walrus in the vault" helm context walrus
ok "and Claude Code's memory" says 0 "walrus of claude" helm context walrus
ok "and tasks of the Python Helm" says 0 "walrus of python" helm context walrus
ok "one source alone" hides "walrus of claude" helm context walrus --adapter obsidian-main
ok "how fresh it is" says 0 '"source_freshness": {"age_seconds"' helm context walrus --adapter obsidian-main
ok "listed" says 0 "obsidian-main" helm sources
ok "nothing of it is put before a session unasked" hides "walrus in the vault" helm context pack --task walrus
after=$(find "$vault" "$scratch/home/.claude" "$scratch/home/old" "$scratch/home/.hermes" -printf '%p %T@ %s\n' | sort)
ok "nothing outside was written" test "$before" = "$after"
mkfifo "$vault/pipe.md"
ok "what is no file is named, and nobody waits for it" says 0 "'pipe.md' was not searched: it is no file" helm context walrus
rm "$vault/pipe.md"
ok "what is gone is said" says 0 "cannot be opened" sh -c 'mv "$1" "$1.away" && env -i HOME="$2" "$0" context walrus; mv "$1.away" "$1"' "$HELM_REAL" "$vault" "$scratch/home"
ok "ended" says 0 "obsidian-main" helm sources --remove obsidian-main
ok "and not searched any more" hides "walrus in the vault" helm context walrus
ok "what was never adopted" exits 1 helm sources --remove nobody
ok "the helm home is nobody's context" says 1 "must stay closed" helm adopt --from-path "$scratch/home/.helm"
ok "nor the whole machine" exits 1 helm adopt --from-path /
ok "nor the workspace itself" exits 1 helm adopt --from-path "$ws"
ok "a name is no path" exits 1 helm adopt --from-path "$vault" --name ../x
printf '{"sources": [{"name": "x", "kind": "generic", "root": "%s", "state_dir_name": ".helm"}, {"name": 3}]}' "$scratch/home/.helm" >"$ws/.helm/context_sources.json"
ok "not by way of the file either" says 0 "Helm's own keys" helm context walrus
ok "a record that is none is said" says 0 "record 2 was left out" helm sources
# What came with the files of a repository is told, and read only when a person adopts it.
record() { printf '{"sources": [{"name": "brought", "kind": "%s", "root": "%s", "state_dir_name": "%s", "mode": "read-only"}]}\n' "$2" "$3" "$4" >"$1/.helm/context_sources.json"; }
clone=$scratch/clone
mkdir -p "$clone/.helm" "$clone/.git"
record "$clone" codex "$vault" .helm
helm init --path "$clone" >/dev/null
ok "a repository adopts nothing" hides "walrus in the vault" helm context walrus --path "$clone"
ok "it is told" says 0 "nobody adopted it here" helm sources --path "$clone"
ok "status does not have it" hides '"brought"' helm status --json --path "$clone"
HELM_ENV="HELM_WORKSPACE=$clone"
helm memory capture-chat --task-name 'update notes in obsidian' --task-id t1 >/dev/null
ok "nor is it a proof" says 2 "does not prove notes" helm memory finalize --task-id t1 --layer notes --file "$vault/n.md"
HELM_ENV=
helm adopt --path "$clone" --from-path "$vault" --name mine --kind codex >/dev/null
ok "a person adopts it" says 0 "walrus in the vault" helm context walrus --path "$clone"
record "$clone" codex "$scratch/home/.claude" .helm
ok "what the repository makes of it later is not read" hides "walrus of claude" helm context walrus --path "$clone"
# A place of our own: what lies in it counts, until a repository can have brought it.
helm init --path "$scratch/own" >/dev/null
record "$scratch/own" generic "$vault" .helm
ok "our own place has what lies in it" says 0 "walrus in the vault" helm context walrus --path "$scratch/own"
record "$scratch/own" generic "$vault" ../old/.helm
ok "a state is a name, no path" says 0 "record 1 was left out" helm context walrus --path "$scratch/own"
ln -s "$scratch/home/old/.helm" "$vault/.linked"
record "$scratch/own" helm "$vault" .linked
ok "and no link" hides "walrus of python" helm context walrus --path "$scratch/own"
rm "$vault/.linked"
record "$scratch/own" generic "$vault" .helm
mkdir "$scratch/own/.git"
ok "in a repository it does not count" hides "walrus in the vault" helm context walrus --path "$scratch/own"
mkdir -p "$scratch/unpacked/.helm"
record "$scratch/unpacked" generic "$vault" .helm
helm init --path "$scratch/unpacked" >/dev/null
ok "nor does one that was there before" hides "walrus in the vault" helm context walrus --path "$scratch/unpacked"
ok "a new place is made by adopting" says 0 "adopted_name=generic-Notes" helm adopt --path "$scratch/new" --from-path "$vault"

finish
