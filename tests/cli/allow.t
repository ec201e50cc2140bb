#!/bin/sh
# A run that failed at a wall says at which, and a person opens just that place: for the walls and for the guard, on record, until it
# is taken back.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

# shellcheck disable=SC2154 # by lib.sh
ws=$scratch/ws out=$scratch/out
mkdir -p "$ws" "$out/sub" "$scratch/home/.ssh"
echo secret >"$scratch/home/.ssh/id_ed25519"
helm init --path "$ws" >/dev/null || exit 1
cd "$ws" || exit 1
mkdir .git
wall() { helm run --profile workspace_edit --guard-mode audit -- "$@"; }
row() { tail -n 1 .helm/task-ledger.jsonl; }
wall true || skip_all "this machine cannot put up the walls"

# ---- what a wall refused ----
ok "a path outside is named, with what a person can do" says 1 "helm allow path $out/sub" wall touch "$out/sub/f"
ok "the row says so, too" sh -c 'printf %s "$0" | grep -q "\"refused_by_wall\": *\"the sandbox refused"' "$(row)"
ok "a file in a place that does not exist is about the place above" says 1 "helm allow path $out" wall mkdir "$out/new"
ok "what starts programs later is not to be allowed" sh -c '! printf %s "$0" | grep -q "allow path"' "$(wall sh -c 'mkdir -p .git/hooks; echo x >.git/hooks/pre-commit' 2>&1)"
ok "an ordinary failure is not blamed on a wall" sh -c '! printf %s "$0" | grep -q "the sandbox"' "$(wall sh -c 'cat nothing-here; exit 3' 2>&1)"
ok "nor is one in the tree" sh -c '! printf %s "$0" | grep -q "the sandbox"' "$(wall sh -c 'echo "./x: Permission denied" >&2; exit 1' 2>&1)"
ok "nor what succeeds" sh -c '! printf %s "$0" | grep -q "the sandbox"' "$(wall sh -c 'echo "/etc/x: Permission denied"' 2>&1)"
ok "a host is named" says 6 "the sandbox refused registry.example.org" wall sh -c 'echo "curl: (6) Could not resolve host: registry.example.org" >&2; exit 6'

ok "the root directory can be listed" says 0 usr wall ls /
ok "reading is not explained as writing" sh -c '! printf %s "$0" | grep -q "allow path"' "$(wall sh -c 'echo "/bin/ls: cannot open directory '"'/srv'"': Permission denied" >&2; exit 2' 2>&1)"
ok "nor is the program that speaks taken for what was refused" says 1 "helm allow path $out" wall sh -c "echo \"/bin/sh: $out/f: Permission denied\" >&2; exit 1"

# ---- allowing it ----
ok "an agent cannot allow anything" exits 25 governed allow path "$out" --path "$ws"
ok "nothing is allowed so far" says 0 "nothing is allowed" helm allow list
ok "a person can" says 0 "allowed=$out" terminal -- helm allow path "$out" --path "$ws"
ok "it is on record" says 0 "helm.path/allow" sh -c 'cat "$0"' .helm/receipts.jsonl
ok "the walls let it" exits 0 wall touch "$out/sub/f"
ok "and the file is there" test -e "$out/sub/f"
ok "its neighbour stays closed" exits 1 wall touch "$scratch/other"
ok "the guard judges it like the tree" exits 0 helm guard check -- sh -c "echo x > $out/sub/f"
ok "but a checkpoint does not hold it" exits 24 helm guard check --profile develop --containment walls -- rm -rf "$out/sub"
ok "so nothing unknown is deleted unasked any more" says 24 "checkpoints do not hold it" helm guard check --profile develop --containment walls -- sh -c 'rm -rf "$X"'
ok "it is listed" says 0 "$out" helm allow list
ok "as JSON" is_json helm allow list --json
for place in / /usr/local "$scratch/home" "$scratch/home/.helm" "$ws/.helm" "$scratch/home/.ssh" "$scratch/nowhere"; do
  ok "refused: $(basename "$place")" exits 1 terminal -- helm allow path "$place" --path "$ws"
done
ln -s "$out" "$scratch/link"
ok "a link is named by what it leads to" says 1 "leads to '$out'" terminal -- helm allow path "$scratch/link" --path "$ws"
ok "taking it back" says 0 "forbidden=$out" helm allow remove "$out"
ok "closes it" exits 1 wall touch "$out/sub/g"
ok "what was not allowed cannot be taken back" says 1 "nobody has allowed" helm allow remove "$out"
wants() { helm egress check registry.example.org --profile develop; }
ok "a host that nobody named is closed" exits 1 wants
ok "and asked about" exits 24 helm guard check --profile develop --containment walls -- curl -s https://registry.example.org/x
ok "a person names it" says 0 "allowed=registry.example.org" terminal -- helm allow host registry.example.org --path "$ws"
ok "then the door lets it through" exits 0 wants
ok "and the guard" exits 0 helm guard check --profile develop --containment walls -- curl -s https://registry.example.org/x
ok "it is listed, too" says 0 "host  registry.example.org" helm allow list
ok "until it is taken back" says 0 "forbidden=registry.example.org" helm allow remove registry.example.org
ok "and closed again" exits 1 wants
ok "a word that is none is refused" exits 2 helm allow everything
finish
