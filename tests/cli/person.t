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
# Older means older: who began in the same moment as the first agent may be its own.
first_began() { # TICKS: the first agent here began so long after the program that makes the terminals
  python3 - .helm/tool-calls.jsonl "$scratch/.terminals" "$1" <<'PY'
import glob, json, sys
rows, place, later = sys.argv[1:]
for name in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        if ("--serve\0" + place + "\0").encode() in open(name, "rb").read():
            began = int(open(name.replace("cmdline", "stat")).read().rsplit(")", 1)[1].split()[19])
    except OSError:
        pass
row = json.loads(open(rows).read().splitlines()[-1])
row.update(client_pid=4194303, client_start=began + int(later))
open(rows, "w").write(json.dumps(row) + "\n")
PY
}
first_began 0
ok "nor at one that hangs on a program as old as the first of them" says 25 "could be the agent's" terminal APPROVE -- helm approval approve "$id"
first_began 1
ok "a moment older is older" says 1 "Nothing was changed" terminal no -- helm approval approve "$id"
cp "$scratch/calls.whole" .helm/tool-calls.jsonl
# What cannot be read answers nothing: not who has called here, not which keys count, not what is frozen.
mv .helm/tool-calls.jsonl "$scratch/calls" && mkdir .helm/tool-calls.jsonl
ok "not when it cannot be known who has called" says 1 "tool-calls.jsonl" terminal APPROVE -- helm approval approve "$id"
rmdir .helm/tool-calls.jsonl && mv "$scratch/calls" .helm/tool-calls.jsonl
mv "$scratch/home/.helm/callers.jsonl" "$scratch/callers" && mkdir "$scratch/home/.helm/callers.jsonl"
ok "nor who has called anywhere" says 1 "callers.jsonl" terminal APPROVE -- helm approval approve "$id"
rmdir "$scratch/home/.helm/callers.jsonl" && mv "$scratch/callers" "$scratch/home/.helm/callers.jsonl"
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
# From inside walls that way is not open: neither the older program nor anything it could be asked through is in reach.
question inside
types='python3 "$0/tests/tools/terminal.py" APPROVE -- "$1" approval approve "$2"'
from_inside() {
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 TERM=dumb ASAN_OPTIONS="${ASAN_OPTIONS:-}" TERMINALS="$scratch/.terminals" \
    timeout 60 "$HELM_REAL" "$@" -- sh -c "$types" "$HELM_SOURCE" "$HELM_REAL" "$id"
}
in_session() {
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 TERM=dumb ASAN_OPTIONS="${ASAN_OPTIONS:-}" TERMINALS="$scratch/.terminals" \
    timeout 60 "$HELM_REAL" agent sh -- -c "$types" "$HELM_SOURCE" "$HELM_REAL" "$id"
}
still_waits() { ! "$@" 2>&1 | grep Granted && says 0 "$id" helm approval list; }
ok "nor from inside a guarded run" still_waits from_inside run
ok "nor from inside a supervised session" still_waits in_session
ok "whose question a person can still answer" says 0 "Granted" terminal APPROVE -- helm approval approve "$id"
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
else
  skip "a key that cannot be read answers nothing" "root can read every file"
fi
chmod 600 "$boss"
ok "the key does" says 0 "Granted" terminal -- helm approval approve "$id" --key "$boss"

# Whoever only looks around is an agent, too.
mkdir ../other && cd ../other && helm init --path . >/dev/null
called='{"tool_name":"Read","tool_input":{"file_path":"'$PWD'/x"},"session_id":"reader"}'
question four
ok "not below a process whose calls all only read" says 25 "agent client" terminal --inside APPROVE -- helm approval approve "$id"
ok "nor at a terminal that such a one has made" says 25 "could be the agent's" terminal --forge APPROVE -- helm approval approve "$id"
ok "nothing but reading was called" sh -c '! grep -q "\"decision_id\": *\"" .helm/tool-calls.jsonl'
ok "a person's own terminal counts" says 0 "Granted" terminal APPROVE -- helm approval approve "$id"

# An agent of one workspace is nobody's person, wherever it goes, and where no workspace is.
away() { # away WORKSPACE WORDS... -- COMMAND: what an agent that has called in "other" tries from elsewhere, at a terminal that it made
  at=$1
  shift
  HELM_ENV="HELM_WORKSPACE=$at" terminal --forge "$@"
}
called_in() { printf '%s' "$called" | python3 "$HELM_SOURCE/tests/tools/agent.py" env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" hook pre-tool --client claude-code >/dev/null; }
called_in
mkdir ../made && cd ../made && helm init --path . >/dev/null
ok "nobody has called in the new one" test ! -e .helm/tool-calls.jsonl
ok "yet no agent chooses a profile there" says 25 "could be the agent's" away "$PWD" -- helm profile use service_ops
ok "nor ends a policy" says 25 "could be the agent's" away "$PWD" NONE -- helm policy use --none
ok "nor registers a key" says 25 "could be the agent's" away "$PWD" TRUST -- helm approval trust add "${boss%.key}.pub"
mkdir "$scratch/plain"
in_plain() { (cd "$scratch/plain" && terminal --forge -- helm key rotate --reason x); }
ok "nor rotates one where no workspace is" says 25 "could be the agent's" in_plain
ok "a person does" exits 0 terminal -- helm profile use service_ops
many() { # callers that have ended leave nothing but the first of them
  for _ in 1 2 3 4 5 6 7 8; do
    python3 -c 'import sys; [print("{\"client_pid\":%d,\"client_start\":%d,\"at\":\"2100-01-01T00:00:00+00:00\"}" % (5000000 + i, 10**12 + i)) for i in range(150)]' >>"$scratch/home/.helm/callers.jsonl"
    called_in
  done
  [ "$(wc -c <"$scratch/home/.helm/callers.jsonl")" -lt 70000 ]
}
first=$(head -n 1 "$scratch/home/.helm/callers.jsonl")
ok "what is kept of them stays small" many
ok "and has the first of them" grep -qxF -e "$first" "$scratch/home/.helm/callers.jsonl"
ok "and still counts" says 25 "could be the agent's" away "$PWD" -- helm profile use workspace_edit
finish
