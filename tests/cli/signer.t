#!/bin/sh
# signer.t — a key that another user keeps: what is recorded is signed there, what only a person may say is not signed without one, and
# nobody who runs as the agent's user can read the secret or have two receipts for one place.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

# Two real users where that is possible; the same protocol with one user elsewhere.
keeper=$(id -u)
if [ "$keeper" -eq 0 ] && command -v setpriv >/dev/null 2>&1; then
  keeper=64321
  chmod 711 "$scratch"
fi
as_keeper() { # the signer's user, in a home of its own
  if [ "$keeper" -eq "$(id -u)" ]; then
    env -i PATH="$PATH" HOME="$scratch/keeper" LC_ALL=C.UTF-8 "$@"
  else
    setpriv --reuid "$keeper" --regid "$keeper" --clear-groups env -i PATH="$PATH" HOME="$scratch/keeper" LC_ALL=C.UTF-8 "$@"
  fi
}
mkdir -m 755 "$scratch/keeper" "$scratch/run" "$scratch/bin"
cp "$HELM_REAL" "$scratch/bin/helm" # where the other user can reach it
chmod 755 "$scratch/bin/helm"
[ "$keeper" -eq "$(id -u)" ] || chown "$keeper:$keeper" "$scratch/keeper" "$scratch/run"
socket=$scratch/run/socket
signer=
signer_starts() {
  as_keeper "$scratch/bin/helm" signer run --socket "$socket" --for "$(id -u)" >"$scratch/.signer" 2>&1 &
  signer=$!
  waited=0
  while ! python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])' "$socket" 2>/dev/null; do
    sleep 0.02
    waited=$((waited + 1))
    [ $waited -lt 300 ] || { cat "$scratch/.signer"; return 1; }
  done
}
signer_ends() { # signer_ends [SIGNAL]
  [ -n "$signer" ] || return 0
  below=$(ps -o pid= --ppid "$signer" 2>/dev/null)
  for pid in $below "$signer"; do kill "-${1:-TERM}" "$pid" 2>/dev/null; done
  wait "$signer" 2>/dev/null
  waited=0
  for pid in $below; do # what it does last, it has done
    while [ $waited -lt 250 ] && grep -qs "^State:.[^Z]" "/proc/$pid/status"; do
      sleep 0.02
      waited=$((waited + 1))
    done
  done
  signer=
  return 0
}
trap 'signer_ends KILL; chmod -R u+rwX "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT
asks_signer() { # asks_signer DOCUMENT: its answer
  python3 - "$socket" "$1" <<'END'
import socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(10)
s.connect(sys.argv[1])
q = sys.argv[2].encode()
s.sendall(struct.pack(">I", len(q)) + q)
n = struct.unpack(">I", s.recv(4, socket.MSG_WAITALL))[0]
print(s.recv(n, socket.MSG_WAITALL).decode())
END
}

as_keeper "$scratch/bin/helm" key create >/dev/null
public=$(as_keeper "$scratch/bin/helm" key export)
ok "nobody listens yet: that is said" says 25 "does not answer" terminal TRUST -- helm signer use "$socket" "$public"
ok "the signer starts" signer_starts
ok "not a second one" says 1 "already" as_keeper "$scratch/bin/helm" signer run --socket "$scratch/run/other" --for 0
ok "only a person chooses a signer" says 25 "at a terminal" helm signer use "$socket" "$public"
mkdir "$scratch/third"
env -i HOME="$scratch/third" "$HELM_REAL" key create >/dev/null
ok "not with a key that the signer has not" says 25 "signer refuses" terminal TRUST -- helm signer use "$socket" "$(cat "$scratch/third/.helm/keys/root.pub")"
ok "a person does" says 0 "key_id=ed25519:$public" terminal TRUST -- helm signer use "$socket" "$public"
ok "it answers" says 0 "signer=answers" helm signer status
ok "no key of one's own beside it" says 25 "kept by a signer" helm key create
ok "no rotation from here" says 25 "kept by a signer" terminal -- helm key rotate

helm init >/dev/null
ws=$scratch/home/.helm/workspace
receipts=$ws/.helm/receipts.jsonl
mkdir -p "$ws/build"
ok "runs are recorded" exits 0 helm run --workspace "$ws" -- true
ok "signed with the signer's key" says 0 "ADMISSIBLE" helm verify "$receipts" --key "$public"
ok "the log is sound" exits 0 helm log check --workspace "$ws"
ok "a head can be signed" exits 0 helm log head --workspace "$ws" --sign
ok "doctor says the key is well" sh -c 'HOME=$1/home "$0" doctor --skip-discovery | grep -q "key.*signs"' "$HELM_REAL" "$scratch"
ok "the secret is nowhere in the user's files" sh -c '! find "$0/home" -name "*.key" | grep .' "$scratch"
if [ "$keeper" -ne "$(id -u)" ]; then
  ok "another user cannot read it" sh -c '! setpriv --reuid 64322 --regid 64322 --clear-groups cat "$0/keeper/.helm/keys/root.key"' "$scratch"
  ok "nor ask" sh -c '! setpriv --reuid 64322 --regid 64322 --clear-groups python3 -c "
import socket,sys
s=socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(sys.argv[1]); s.sendall(bytes(4)+b\"x\"); sys.exit(0 if s.recv(1) else 1)" "$0"' "$socket"
else
  skip "two users" "takes root"
fi

# What only a person may say.
mkdir -p "$scratch/home/.ssh" && echo secret >"$scratch/home/.ssh/id_rsa"
helm run --workspace "$ws" -- cat "$scratch/home/.ssh/id_rsa" >/dev/null 2>&1
id=$(helm approval list --json --workspace "$ws" | python3 -c 'import json,sys; print(json.load(sys.stdin)["requests"][-1]["approval_id"])')
ok "a terminal alone grants nothing" says 25 "takes a person's key" terminal APPROVE -- helm approval approve "$id" --workspace "$ws"
printf '%s' "$called" | agent hook pre-tool --client claude-code >/dev/null
ok "nor one that an agent has made" exits 25 terminal --forge APPROVE -- helm approval approve "$id" --workspace "$ws"
ok "nothing was granted" sh -c '! grep -q "helm.approval/grant" "$0"' "$receipts"
ok "freezing needs nobody" says 0 "frozen=everybody" helm freeze --workspace "$ws" --reason drill
ok "lifting does" says 25 "takes a person's key" terminal -- helm unfreeze --workspace "$ws"
register_approver
ok "a key that only this user registered is not enough" says 25 "takes a person's key" terminal -- helm unfreeze --workspace "$ws" --key "$boss"
as_keeper mkdir -p "$scratch/keeper/.helm/trust"
as_keeper sh -c 'cat >"$0"' "$scratch/keeper/.helm/trust/approvers.json" <"$scratch/home/.helm/trust/approvers.json"
ok "registered with the signer it is" says 0 "unfrozen" terminal -- helm unfreeze --workspace "$ws" --key "$boss"
ok "and grants" says 0 "Granted" terminal -- helm approval approve "$id" --workspace "$ws" --key "$boss"
ok "a profile, too" exits 0 terminal -- helm profile use service_ops --workspace "$ws" --key "$boss"
ok "not without" says 25 "takes a person's key" terminal -- helm profile use risky_edit --workspace "$ws"

# A key of OpenSSH, which only a grant takes.
if command -v ssh-keygen >/dev/null 2>&1; then
  ssh-keygen -q -t ed25519 -N '' -f "$scratch/id" -C somebody
  mkdir -p "$ws/build"
  helm run --workspace "$ws" -- cat "$scratch/home/.ssh/id_rsa" >/dev/null 2>&1
  id=$(helm approval list --json --workspace "$ws" | python3 -c 'import json,sys; print(json.load(sys.stdin)["requests"][-1]["approval_id"])')
  helm approval message "$id" --once --workspace "$ws" >"$scratch/answer"
  ssh-keygen -q -Y sign -f "$scratch/id" -n helm-approval@v1 "$scratch/answer" >/dev/null 2>&1
  ok "an ssh key is registered by a person" exits 0 terminal TRUST -- helm approval trust add "$scratch/id.pub"
  ok "only here that is not enough" says 25 "takes a person's key" helm approval approve "$id" --signed "$scratch/answer" --workspace "$ws"
  as_keeper sh -c 'cat >"$0"' "$scratch/keeper/.helm/trust/approvers.json" <"$scratch/home/.helm/trust/approvers.json"
  ok "registered with the signer it grants" says 0 "Granted" helm approval approve "$id" --signed "$scratch/answer" --workspace "$ws"
  ok "and what it granted runs" exits 0 helm run --workspace "$ws" -- cat "$scratch/home/.ssh/id_rsa"
else
  skip "a grant by an ssh key" "ssh-keygen is not installed (openssh-client)"
fi

# Asking the signer oneself.
tip() { tail -n 1 "$receipts"; }
# forge HOW: a receipt made by hand for the place behind the newest one; prints the question
forge() {
  PYTHONPATH=$HELM_SOURCE/tests/oracle PYTHONDONTWRITEBYTECODE=1 python3 - "$receipts" "$1" <<'END'
import hashlib, json, sys
from verify_receipt import Number, project
digest = lambda r, *but: hashlib.sha256(project(json.loads(json.dumps(r), parse_int=Number), but)).hexdigest()
lines = open(sys.argv[1]).read().splitlines()
how = sys.argv[2]
old = json.loads(lines[-1])
canonical = lambda d: json.dumps(d, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
base = json.loads(lines[-2]) if how in ("second", "again") else old
new = dict(old) if how == "again" else {k: v for k, v in old.items() if k not in ("metadata", "subject", "type")}
for gone in ("log_id", "leaf_index", "signature"):
    new.pop(gone, None)
if how != "again":
    new.update(prev_hash=digest(base), lamport_clock=base["lamport_clock"] + 1, effect_id="helm.test/forged", status="RECORDED", decision_id="dec-x")
if how == "gap":
    new["lamport_clock"] += 1
if how == "grant":
    new.update(effect_id="helm.approval/grant", metadata={"grant": {"grant_id": "grant-000000000000"}})
if how == "word":
    new.update(effect_id="helm.freeze/set", metadata={"posture": {"version": 1, "root": "/x", "at": "x", "accepted": {"a": "sha256:0"}}})
    new["output_hash"] = "sha256:" + hashlib.sha256(canonical(new["metadata"]["posture"])).hexdigest()
if how == "chain":
    new["session_id"] = "another"
if how == "replayed":
    taken = [json.loads(l) for l in lines if '"helm.approval/grant"' in l][-1]
    new.update({k: taken[k] for k in ("effect_id", "metadata", "output_hash", "args_hash", "type")})
if how != "again":
    new["receipt_id"] = "rcpt_x." + (digest(new, "receipt_id", "signature") if how != "unmarked" else "0" * 64)
print(json.dumps({"op": "receipt", "record": new}))
END
}
answered() { asks_signer "$(forge "$1")" | grep -q "$2"; }
ok "no second receipt for one place" answered second SIGNER_AHEAD
ok "the same question gets the same answer" answered again "$(tip | python3 -c 'import json,sys; print(json.load(sys.stdin)["signature"])')"
ok "no receipt with a place left out" answered gap SIGNER_FORK
ok "no chain that it has not signed from the beginning" answered chain SIGNER_UNKNOWN
ok "no receipt whose members are not bound" answered unmarked SIGNER_REFUSES
ok "no grant by hand" answered grant SIGNER_PERSON
ok "no loosening inside a freeze" answered word SIGNER_PERSON
ok "no word of a person a second time" answered replayed SIGNER_USED
for junk in '{' '[]' '{"op":"receipt"}' '{"op":"pack","record":{}}' '{"op":"head","record":{"chain_id":"x","head":{"tree_size":1}}}' \
  '{"op":"link","record":{"event":"revoked"}}' '{"op":"decision","record":{}}'; do
  ok "refused: $junk" sh -c 'printf %s "$0" | grep -q "\"error\""' "$(asks_signer "$junk")"
done
ok "packs are signed by somebody else" says 25 "signs no packs" helm evidence export --all --out p.tar --workspace "$ws"

# What the signer signed and nobody wrote comes into the chain before anything else.
ok "whoever asks oneself is answered" answered next '"signature"'
n=$(wc -l <"$receipts")
ok "the next run goes on behind that" exits 0 helm run --workspace "$ws" -- true
ok "and it is on record" sh -c 'sed -n "$(($1 + 1))p" "$0" | grep -q helm.test/forged' "$receipts" "$n"
ok "the chain is whole" says 0 "ADMISSIBLE" helm verify "$receipts" --key "$public"
ok "and the log sound" exits 0 helm log check --workspace "$ws"

# Far behind: more than one answer of the signer can bring.
far_behind() { # four large receipts behind the newest one, asked for by hand and written by nobody
  PYTHONPATH=$HELM_SOURCE/tests/oracle PYTHONDONTWRITEBYTECODE=1 python3 - "$receipts" "$socket" <<'END'
import hashlib, json, socket, struct, sys
from verify_receipt import Number, project
digest = lambda r, *but: hashlib.sha256(project(json.loads(json.dumps(r), parse_int=Number), but)).hexdigest()
last = json.loads(open(sys.argv[1]).read().splitlines()[-1])
s = socket.socket(socket.AF_UNIX)
s.settimeout(10)
s.connect(sys.argv[2])
for i in range(4):
    new = {k: v for k, v in last.items() if k not in ("metadata", "subject", "type", "log_id", "leaf_index", "signature")}
    new.update(prev_hash=digest(last), lamport_clock=last["lamport_clock"] + 1, effect_id="helm.test/large", status="RECORDED", decision_id="dec-%d" % i,
               metadata={"text": "x" * 400000})
    new["receipt_id"] = "rcpt_x." + digest(new, "receipt_id", "signature")
    q = json.dumps({"op": "receipt", "record": new}).encode()
    s.sendall(struct.pack(">I", len(q)) + q)
    answer = json.loads(s.recv(struct.unpack(">I", s.recv(4, socket.MSG_WAITALL))[0], socket.MSG_WAITALL))
    last = dict(new, signature=answer["signature"])
END
}
ok "four large receipts that nobody wrote" far_behind
# Asked for once more than fits into a socket's buffer, and taken by nobody: five times, and then one question of somebody else.
patient() {
  PYTHONDONTWRITEBYTECODE=1 python3 - "$socket" "$(forge next)" <<'END'
import socket, struct, sys, time
q = sys.argv[2].encode()
held = []
for i in range(5):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(struct.pack(">I", len(q)) + q)
    held.append(s)
time.sleep(0.2)
began = time.monotonic()
s = socket.socket(socket.AF_UNIX)
s.settimeout(30)
s.connect(sys.argv[1])
s.sendall(struct.pack(">I", 2) + b"{}")
s.recv(struct.unpack(">I", s.recv(4, socket.MSG_WAITALL))[0], socket.MSG_WAITALL)
took = time.monotonic() - began
print("answered after %.1f s" % took)
big = struct.unpack(">I", held[0].recv(4, socket.MSG_WAITALL))[0]
whole = held[0].recv(big, socket.MSG_WAITALL)
sys.exit(0 if took < 5 and big > 500000 and len(whole) == big else 1)
END
}
ok "nobody waits for who does not take an answer, and it is given whole to who comes for it" patient
n=$(wc -l <"$receipts")
ok "whoever is far behind catches up" exits 0 helm run --workspace "$ws" -- true
ok "with all of it" sh -c '[ "$(sed -n "$(($1 + 1)),$(($1 + 4))p" "$0" | grep -c helm.test/large)" -eq 4 ]' "$receipts" "$n"
ok "and the chain is whole" says 0 "ADMISSIBLE" helm verify "$receipts" --key "$public"

# No more signatures than a thousand a second, and two thousand at once.
rate() {
  python3 - "$socket" "$public" <<'END'
import json, socket, struct, sys, time
key = sys.argv[2]
q = json.dumps({"op": "link", "record": {"event": "created", "key": key, "signer": key, "sequence": 1, "version": "helm-key-history/v1", "prev_hash": ""}}).encode()
s = socket.socket(socket.AF_UNIX)
s.settimeout(30)
s.connect(sys.argv[1])
began = time.monotonic()
signatures = set()
for i in range(3500):
    s.sendall(struct.pack(">I", len(q)) + q)
    signatures.add(s.recv(struct.unpack(">I", s.recv(4, socket.MSG_WAITALL))[0], socket.MSG_WAITALL))
took = time.monotonic() - began
print("%.2f s, %s" % (took, signatures))
sys.exit(0 if took >= 1.4 and len(signatures) == 1 and b'"signature"' in signatures.pop() else 1)
END
}
ok "signatures are given at a bounded rate, and all of them in the end" rate

# Nobody waits for somebody who is silent.
python3 -c '
import socket,sys,time
held=[]
for i in range(40):
    s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b"\0\0"); held.append(s)
print("held", flush=True)
time.sleep(20)' "$socket" >"$scratch/.held" &
silent=$!
waited=0
while ! grep -q held "$scratch/.held" && [ $waited -lt 200 ]; do sleep 0.05; waited=$((waited + 1)); done
ok "forty silent connections keep nobody from recording" exits 0 helm run --workspace "$ws" -- true
kill "$silent" 2>/dev/null
wait "$silent" 2>/dev/null

# Killed and away.
signer_ends KILL
ok "without it nothing runs" says 25 "does not answer" helm run --workspace "$ws" -- touch "$ws/made"
ok "really nothing" test ! -e "$ws/made"
ok "a hook denies" sh -c 'test -n "$0"' "$(printf '{"tool_name":"Bash","tool_input":{"command":"touch x"},"session_id":"s"}' | agent hook pre-tool --client claude-code 2>&1)"
ok "status says so" exits 1 helm signer status
ok "doctor, too" sh -c '! HOME=$1/home "$0" doctor --skip-discovery >"$1/.doctor" 2>&1 && grep -q "does not answer" "$1/.doctor"' "$HELM_REAL" "$scratch"
ok "started again, it knows what it signed" signer_starts
ok "and goes on" exits 0 helm run --workspace "$ws" -- true
ok "for no place twice" answered second SIGNER_AHEAD
cp "$receipts" "$scratch/saved"
head -n 3 "$scratch/saved" >"$receipts"
rm -rf "$ws/.helm/log"
ok "a chain that was cut back comes back, as long as the signer has it" exits 0 helm run --workspace "$ws" -- true
ok "with everything" sh -c '[ "$(wc -l <"$0")" -gt "$(wc -l <"$1")" ]' "$receipts" "$scratch/saved"

# The signer's user changes the key.
cp "$HELM_SOURCE/tests/tools/terminal.py" "$scratch/bin/terminal.py"
chmod 755 "$scratch/bin/terminal.py"
ok "another key, by the signer's user" exits 0 as_keeper python3 "$scratch/bin/terminal.py" --inside -- "$scratch/bin/helm" key rotate
next=$(as_keeper "$scratch/bin/helm" key export)
ok "it is another one" test "$next" != "$public"
ok "the signer that runs goes on with the one it has" exits 0 helm run --workspace "$ws" -- true
signer_ends TERM
signer_starts
ok "started again, it says which key it has now" says 25 "helm signer use SOCKET $next" helm run --workspace "$ws" -- touch "$ws/made"
ok "and nothing ran" test ! -e "$ws/made"
ok "only a person follows it" says 25 "at a terminal" helm signer use "$socket" "$next"
ok "not to a key that its history does not lead to" says 25 "does not lead" terminal TRUST -- helm signer use "$socket" "$(cat "$scratch/third/.helm/keys/root.pub")"
as_keeper cp "$scratch/keeper/.helm/keys/history.jsonl" "$scratch/keeper/history"
as_keeper sed -i '$s/"possession":"../"possession":"00/' "$scratch/keeper/.helm/keys/history.jsonl"
ok "not by a link that the new key has not signed" says 25 "does not lead" terminal TRUST -- helm signer use "$socket" "$next"
as_keeper cp "$scratch/keeper/history" "$scratch/keeper/.helm/keys/history.jsonl"
ok "a person does" says 0 "key_id=ed25519:$next" terminal TRUST -- helm signer use "$socket" "$next"
ok "the chain goes on" exits 0 helm run --workspace "$ws" -- true
ok "and says how one key came after the other" sh -c 'grep -q "helm.key/continues" "$0"' "$receipts"
ok "whoever trusts the new key believes all of it" says 0 "ADMISSIBLE" helm verify "$receipts" --key "$next"
ok "and whoever trusts the old one" says 0 "ADMISSIBLE" helm verify "$receipts" --key "$public"
ok "what a person said under the old key still counts" says 0 service_ops helm status --workspace "$ws"
ok "the history is the signer's" cmp "$scratch/home/.helm/keys/history.jsonl" "$scratch/keeper/.helm/keys/history.jsonl"

# A key of one's own is not handed over: whoever has read it could have signed anything with it.
mkdir "$scratch/before"
before() { env -i PATH="$PATH" HOME="$scratch/before" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" "$@"; }
before init >/dev/null
before run -- true >/dev/null 2>&1
own=$(cat "$scratch/before/.helm/keys/root.pub")
ok "a home with a key of its own takes no signer" says 1 "helm home of its own" env -i PATH="$PATH" HOME="$scratch/before" TERM=dumb TERMINALS="$scratch/.terminals" \
  python3 "$HELM_SOURCE/tests/tools/terminal.py" TRUST -- "$HELM_REAL" signer use "$socket" "$next"
mv "$scratch/before/.helm" "$scratch/before/.helm-until-now"
ok "with a new home it does" says 0 "key_id" env -i PATH="$PATH" HOME="$scratch/before" TERM=dumb TERMINALS="$scratch/.terminals" \
  python3 "$HELM_SOURCE/tests/tools/terminal.py" TRUST -- "$HELM_REAL" signer use "$socket" "$next"
before init >/dev/null
ok "a new chain is signed by the signer" exits 0 before run -- true
ok "what the old key signed is still verified by it" says 0 "ADMISSIBLE" before verify "$scratch/before/.helm-until-now/workspace/.helm/receipts.jsonl" --key "$own" \
  --history "$scratch/before/.helm-until-now/keys/history.jsonl"
ok "and says nothing about the new one" exits 1 before verify "$scratch/before/.helm/workspace/.helm/receipts.jsonl" --key "$own"
signer_ends TERM
ok "it takes its socket with it" test ! -e "$socket"
finish
