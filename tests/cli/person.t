#!/bin/sh
# person.t — how far a terminal goes as the proof of a person: each sentence of SECURITY.md about it, also those that say where it ends.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

helm init >/dev/null
mkdir project && cd project && helm init --path . >/dev/null
question() { # a new question: $id
  mkdir -p "$1"
  helm run -- rm -rf "$1" >/dev/null 2>&1
  id=$(helm approval list --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["requests"][-1]["approval_id"])')
}
approves() { helm approval approve "$id"; }
# An agent that asks a program which was there before it, as it could ask tmux, to type for it.
drives_older() {
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 TERM=dumb ASAN_OPTIONS="${ASAN_OPTIONS:-}" TERMINALS="$scratch/.terminals" \
    python3 "$HELM_SOURCE/tests/tools/agent.py" --first "'$HELM_REAL' hook pre-tool --client claude-code" "$called" \
    python3 "$HELM_SOURCE/tests/tools/terminal.py" "$@"
}

question one
ok "there is a question" says 0 "rm -rf one" helm approval show "$id"
ok "no terminal, no person" says 25 "at a terminal" approves
ok "not inside a guarded run" sh -c '! "$@"' x env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" run -- "$HELM_REAL" approval approve "$id"
for mark in $(sh "$HELM_SOURCE/tools/clients.sh" marks); do
  HELM_ENV=$mark=1
  ok "not where an agent client has left its mark: $mark" says 25 "terminal of your own" terminal APPROVE -- helm approval approve "$id"
done
HELM_ENV=
ok "not below a process that has called a hook here" says 25 "agent client" terminal --inside APPROVE -- helm approval approve "$id"
ok "not at a terminal that one has made since, having left its parents" says 25 "could be the agent's" terminal --forge APPROVE -- helm approval approve "$id"
cp .helm/tool-calls.jsonl "$scratch/calls.whole"
python3 - .helm/tool-calls.jsonl <<'PY'
import json, sys
row = json.loads(open(sys.argv[1]).read().splitlines()[-1])
row.update(client_pid=4194303, client_start=row.get("client_start", 0) + 10**9)
with open(sys.argv[1], "a") as f:
    f.write((json.dumps(row, separators=(",", ":")) + "\n") * 3000)
PY
ok "nor when another one has called a thousand times since" says 25 "could be the agent's" terminal --forge APPROVE -- helm approval approve "$id"
cp "$scratch/calls.whole" .helm/tool-calls.jsonl
# What cannot be read answers nothing: not who has called here, not which keys count, not what is frozen.
mv .helm/tool-calls.jsonl "$scratch/calls" && mkdir .helm/tool-calls.jsonl
ok "not when it cannot be known who has called" says 1 "tool-calls.jsonl" terminal APPROVE -- helm approval approve "$id"
rmdir .helm/tool-calls.jsonl && mv "$scratch/calls" .helm/tool-calls.jsonl
register_approver
cp "$scratch/home/.helm/trust/approvers.json" "$scratch/approvers"
printf '{"keys": [' >"$scratch/home/.helm/trust/approvers.json"
ok "not when it cannot be known which keys count" says 1 "approvers.json" terminal -- helm approval approve "$id" --key "$boss"
rm "$scratch/home/.helm/trust/approvers.json"
printf '{' >.helm/freeze.json
ok "nothing is loosened when it cannot be known what is frozen" says 1 "freeze.json" terminal APPROVE -- helm approval approve "$id"
rm .helm/freeze.json
ok "nothing of that was granted" sh -c '! grep -q helm.approval/grant .helm/receipts.jsonl'
ok "at a terminal that is older than all of them, yes" says 0 "Granted" terminal APPROVE -- helm approval approve "$id"

# Where it ends, and what closes it.
question two
ok "the limit: whoever drives an older terminal is taken for a person" says 0 "Granted" drives_older APPROVE -- "$HELM_REAL" approval approve "$id"
register_approver
ok "a person makes the key the only way" says 0 "accepted" terminal TRUST -- helm workspace trust --require-key yes --key "$boss"
question three
ok "then that is refused" says 25 "only a registered key" drives_older APPROVE -- "$HELM_REAL" approval approve "$id"
ok "so is a terminal that one has made" exits 25 terminal --forge APPROVE -- helm approval approve "$id"
ok "and a person's own" says 25 "only a registered key" terminal APPROVE -- helm approval approve "$id"
ok "no terminal takes that back" says 25 "only a registered key" drives_older TRUST -- "$HELM_REAL" workspace trust --require-key no
chmod 0 "$boss"
if [ "$(id -u)" -ne 0 ]; then
  ok "a key that cannot be read answers nothing" exits 1 drives_older -- "$HELM_REAL" approval approve "$id" --key "$boss"
fi
chmod 600 "$boss"
ok "the key does" says 0 "Granted" terminal -- helm approval approve "$id" --key "$boss"
finish
