#!/bin/sh
# Confirming is one thing: --dry-run shows, --yes does, and without either it is asked at a terminal; where nobody sits at one nothing is changed.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

# Every command of the table.  --apply is the original's word, and stays where it had it.
helm help --json >"$scratch/help.json"
walk() { python3 - "$scratch/help.json" "$1" <<'END'
import json, sys
APPLY = {"reconcile", "checkpoint prune"} | {f + " " + v for f in ("skill-lifecycle", "curator") for v in ("stale", "archive", "restore", "promote-from-trajectory")}
wrong = []
for c in json.load(open(sys.argv[1]))["commands"]:
    names = {o["name"] for o in c["options"]}
    if sys.argv[2] == "yes" and "yes" in names and "dry-run" not in names: wrong.append(c["name"] + " takes --yes and has no --dry-run")
    if sys.argv[2] == "yes" and c["confirms"] != ("yes" in names): wrong.append(c["name"] + ": help says something else about confirming")
    if sys.argv[2] == "apply" and ("apply" in names) != (c["name"] in APPLY): wrong.append(c["name"] + " and --apply")
    if sys.argv[2] == "looks" and c["class"] == "looks" and "yes" in names: wrong.append(c["name"] + " looks, and takes --yes")
print("\n".join(wrong))
sys.exit(bool(wrong))
END
}
if needs python3 "the table"; then
  ok "what takes --yes can be shown first" walk yes
  ok "--apply only where the original has it" walk apply
  ok "what only looks is not confirmed" walk looks
fi

# What changes files, each alike.
damaged() { # a workspace whose list of checkpoints is damaged
  fresh_workspace
  cd "$ws" || exit 1
  helm checkpoint create --label one >/dev/null && printf '{' >"$ws/.helm/checkpoints/index.json"
  before=$(cat "$ws/.helm/checkpoints/index.json")
}
is_as_before() { [ "$(cat "$ws/.helm/checkpoints/index.json")" = "$before" ]; }
damaged
ok "--dry-run shows" says 0 "would be made anew" helm checkpoint repair --dry-run
ok "and changes nothing" is_as_before
ok "also beside --yes" says 0 "would be made anew" helm checkpoint repair --dry-run --yes
ok "and changes nothing then" is_as_before
ok "without a terminal it is shown, and said what to type" says 1 "add --yes" helm checkpoint repair
ok "and nothing is changed" is_as_before
ok "a program is not asked" exits 1 helm checkpoint repair --json
ok "and changes nothing, either" is_as_before
ok "at a terminal it is asked about" says 1 "repair it? [y/N]" terminal n -- helm checkpoint repair
ok "no is no" is_as_before
ok "yes is yes" says 0 "nothing is lost" terminal y -- helm checkpoint repair
ok "then it is done" sh -c '! '"grep -qx '{' '$ws/.helm/checkpoints/index.json'"
damaged
ok "--yes does it" says 0 "nothing is lost" helm checkpoint repair --yes
ok "what has nothing to do asks nothing" says 0 "nothing to repair" helm checkpoint repair

fresh_workspace
helm run -- true >/dev/null 2>&1
printf 'this is no receipt\n' >>"$ws/.helm/receipts.jsonl"
sum=$(cksum <"$ws/.helm/receipts.jsonl")
ok "log repair shows with 0" says 0 "would sign a seam" helm log repair --dry-run
ok "and says what to type with 1" says 1 "add --yes" helm log repair
ok "the chain is as it was" [ "$(cksum <"$ws/.helm/receipts.jsonl")" = "$sum" ]
ok "log repair does it" exits 0 helm log repair --yes
ok "the log is sound" exits 0 helm log check

# Names that changed say so.
ok "an option with a new name names it" says 2 "--grant K" helm guard tune --apply 1
ok "another" says 2 "--since 30d" helm guard tune --days=30
finish
