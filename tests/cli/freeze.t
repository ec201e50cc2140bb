#!/bin/sh
# freeze: a signed stop that every decision reads first.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

helm init >/dev/null
ws=$scratch/home/.helm/workspace
ok "nothing is frozen at first" says 0 "nothing is frozen" helm freeze status
ok "freeze" says 0 "frozen=everybody" helm freeze --reason "fire drill"
ok "and how it is lifted" grep -q "to go on: helm unfreeze" "$scratch/.stdout"
ok "a harmless run is denied, with the reason" says 25 "fire drill" helm run -- true
ok "and with where to look" says 25 "helm freeze status" helm run -- true
ok "audit mode does not help" exits 25 helm run --guard-mode audit -- true
ok "approval does not help" exits 25 helm run --approve-risk -- true
call='{"tool_name":"Bash","tool_input":{"command":"ls"},"session_id":"s"}'
hook() { printf '%s' "$call" | agent hook pre-tool --client "$1"; }
ok "a hook on a call that only reads is denied" sh -c 'printf %s "$0" | grep -q SYSTEM_FROZEN' "$(hook claude-code)"
ok "status names it" says 0 "fire drill" helm freeze status
ok "and says who that is" says 0 "everybody  since" helm freeze status
ok "not by an agent's own process" says 25 "agent client" terminal --inside -- helm unfreeze
ok "nor at a terminal that it made for itself" says 25 "could be the agent's" terminal --forge -- helm unfreeze
ok "nor without a terminal" says 25 "at a terminal" helm unfreeze
ok "unfreeze" says 0 "unfrozen=everybody" terminal -- helm unfreeze --reason "drill over"
ok "runs go on" exits 0 helm run -- true
ok "twice is said" says 1 "not frozen" terminal -- helm unfreeze
ok "one principal only" says 0 "frozen=agent:codex" helm freeze --principal agent:codex
ok "that one is stopped" sh -c 'printf %s "$0" | grep -q SYSTEM_FROZEN' "$(hook codex)"
ok "others are not" sh -c 'test -z "$0"' "$(hook claude-code)"
ok "both are on record" sh -c 'grep -c "helm.freeze/" "$0" | grep -qx 3' "$ws/.helm/receipts.jsonl"
ok "which verifies" says 0 "ADMISSIBLE" helm verify "$ws/.helm/receipts.jsonl" --key "$scratch/home/.helm/keys/root.pub"
# One agent, by any name of its client.
terminal -- helm unfreeze --principal agent:codex >/dev/null
ok "one agent, by the short name of its client" says 0 "stopped=agent:claude-code" helm freeze --agent claude --reason "went astray"
ok "its calls are denied" sh -c 'printf %s "$0" | grep -q AGENT_KILLED' "$(hook claude)"
ok "by every name" sh -c 'printf %s "$0" | grep -q AGENT_KILLED' "$(hook claude-code)"
ok "others are not stopped" sh -c 'test -z "$0"' "$(hook codex)"
ok "status names the way back" says 0 "helm unfreeze --agent claude-code" helm status
ok "so does freeze status" says 0 "to go on: helm unfreeze --agent claude-code" helm freeze status
ok "nobody else is frozen" says 1 "not frozen" terminal -- helm unfreeze
helm freeze --agent claude-code --reason "again" >/dev/null
ok "stopped again, the first reason stays" says 0 "went astray" helm freeze status
ok "a name that no client has is stopped, and told" says 0 "no client is called 'nobody'" helm freeze --agent nobody
ok "that one, too" says 0 "agent:nobody" helm freeze status
for name in '' 'a/b' 'a b' 'agent:'; do
  ok "'$name' is no agent" says 2 "no name of an agent" helm freeze --agent "$name"
done
ok "an empty principal is refused" says 2 "empty" helm freeze --principal ''
for name in '*fleet' '*fleet:9999-01-01T00:00:00Z' '*fleet:x'; do
  ok "nobody freezes under a name of the fleet's, which only its orders lift: $name" says 1 "a name of the fleet's" helm freeze --principal "$name"
done
ok "agent or principal" says 2 "give one of" helm freeze --agent claude --principal x
ok "lifted by any name" says 0 "unfrozen=agent:claude-code" terminal -- helm unfreeze --agent claude
ok "so is one without a client" says 0 "unfrozen=agent:nobody" terminal -- helm unfreeze --agent nobody
ok "it goes on" sh -c 'test -z "$0"' "$(hook claude)"
# A fence is obeyed only when somebody known has signed it.
ok "no fence is lifted where there is none" says 1 "not frozen" terminal -- helm unfreeze --fence
echo '{"command": {"tenant_id": "local"}, "signature": "00"}' >fence.json
ok "a fence for another place is refused" says 25 "another scope" helm freeze --fence fence.json
ok "a file that is no command is refused" sh -c 'echo x >"$3"; HOME="$1" "$0" freeze --path "$2" --fence "$3"; test $? -ne 0' "$HELM_REAL" "$scratch/home" "$ws" fence.json
ok "nothing is fenced by it" says 0 "nothing is frozen" helm freeze status
mkdir -m 700 "$scratch/ops" && HOME=$scratch/ops "$HELM_REAL" key create >/dev/null 2>&1
fence() { # fence ID EPOCH: a command by the key of ops, signed, in fence.json
  python3 - "$scratch/ops/.helm/keys/root.key" "$ws" "$1" "$2" <<'END'
import datetime, json, subprocess, sys
key, root, name, epoch = sys.argv[1:]
now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
when = lambda t: t.strftime("%Y-%m-%dT%H:%M:%SZ")
c = dict(contract_version="emergency-stop-fence.v1", audience="helm", key_id="ops", command_id=name, tenant_id="local", workspace_id=root,
         epoch=int(epoch), actor_id="ann", reason="a runaway agent", issued_at=when(now), expires_at=when(now + datetime.timedelta(minutes=5)))
open("payload", "w").write(json.dumps(dict(c, action="FENCE"), sort_keys=True, separators=(",", ":")))
open("ops.der", "wb").write(bytes.fromhex("302e020100300506032b657004220420" + open(key).read().strip()))
sig = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey", "ops.der", "-in", "payload"], check=True, capture_output=True).stdout
json.dump(dict(command=c, signature=sig.hex()), open("fence.json", "w"))
END
}
fence c1 5
ok "by a key that nobody registered it is refused" exits 25 helm freeze --fence fence.json
terminal TRUST -- helm approval trust add "$scratch/ops/.helm/keys/root.pub" --label ops >/dev/null
ok "by a registered one it is obeyed" says 0 "fenced=$ws" helm freeze --fence fence.json
ok "every call is denied" sh -c 'printf %s "$0" | grep -q EMERGENCY_STOP_FENCED' "$(hook codex)"
ok "again it has the same answer, signed" says 0 '"kernel_signature"' helm freeze --fence fence.json --json
answered() { # the answer's signature is that of the chain's key, over the state with its action
  helm freeze --fence fence.json --json >ack.json && cp "$scratch/home/.helm/keys/root.pub" root.hex && python3 - <<'END'
import json, subprocess
ack, pub = json.load(open("ack.json")), open("root.hex").read().strip()
ack = ack.get("acknowledgement", ack)
state = {k: v for k, v in ack["state"].items() if k != "receipt_hash"}
assert pub in json.dumps(state), "the state names another key"
open("ack.payload", "w").write(json.dumps(dict(state, action="FENCE_ACK"), sort_keys=True, separators=(",", ":"), ensure_ascii=False))
open("ack.sig", "wb").write(bytes.fromhex(ack["kernel_signature"]))
open("ack.der", "wb").write(bytes.fromhex("302a300506032b6570032100" + pub))
subprocess.run(["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-keyform", "DER", "-inkey", "ack.der", "-in", "ack.payload", "-sigfile", "ack.sig"], check=True)
END
}
ok "by the key of the chain, which it names" answered
ok "a run is refused as fenced" says 25 "an emergency stop fences this workspace" helm run -- true
helm freeze >/dev/null
ok "everything frozen beside it is said as such" sh -c 'printf %s "$0" | grep -q SYSTEM_FROZEN' "$(hook codex)"
terminal -- helm unfreeze >/dev/null
ok "the way back is named" says 0 "to go on: helm unfreeze --fence" helm freeze status
ok "a plain unfreeze does not lift it" says 1 "not frozen" terminal -- helm unfreeze
ok "a person lifts it" exits 0 terminal -- helm unfreeze --fence
ok "calls go on" sh -c 'test -z "$0"' "$(hook codex)"
fence c2 4
ok "an old command fences no more" exits 25 helm freeze --fence fence.json
helm freeze --principal agent:codex >/dev/null
# The file in the tree is a copy: damaged, emptied or removed, what a person decided holds, and is told.
frozen() { hook codex | grep -q SYSTEM_FROZEN; }
for text in '{' '{}' '[]' ''; do
  printf %s "$text" >"$ws/.helm/freeze.json"
  ok "a damaged file ($text) lifts nothing" frozen
  ok "others go on, and are told ($text)" says 0 "what a person decided holds" helm run -- true
  ok "so is whoever asks ($text)" says 0 "freeze.json" helm status --brief
  ok "it is not healthy ($text)" says 1 "freeze.json" helm doctor --skip-discovery
done
rm "$ws/.helm/freeze.json"
ok "without it, too" frozen
ok "the refusal says so" sh -c 'printf %s "$0" | grep -q "freeze.json does not say"' "$(hook codex)"
cp "$ws/.helm/workspace.json" "$scratch/kept"
echo '{"agent:x": {"receipt_id": "r", "metadata": {"reason": "by an older tool"}}}' >"$ws/.helm/freeze.json"
ok "a freeze that only the file knows counts" says 0 "agent:x" helm freeze status
ok "and can be lifted" exits 0 terminal -- helm unfreeze --principal agent:x
ok "what holds is written again" grep -q agent:codex "$ws/.helm/freeze.json"
# The document in the helm home.
word=$(ls -d "$scratch"/home/.helm/trees/*/posture.json)
cp "$word" "$scratch/word"
sed 's/agent:codex/agent:nobody/' "$scratch/word" >"$word"
ok "a changed word is written again from the signed act" says 0 "was written again from the signed act" helm run -- true
ok "and holds as before" frozen
cp "$word.seal" "$scratch/seal"
helm freeze --principal agent:other >/dev/null
cp "$scratch/seal" "$word.seal"
ok "with an older seal nobody knows which act is the newest: everything is frozen" says 25 "cannot be believed" helm run -- true
ok "and cannot be lifted as it is" says 1 "helm workspace repair" terminal -- helm unfreeze
ok "it is told" says 0 "cannot be believed" helm status --brief
ok "it is a finding of the check" says 1 "helm workspace repair" helm log check
ok "no agent repairs it" exits 25 helm guard check --shell "helm workspace repair"
ok "an operator does" says 0 "as the newest act in the record says" terminal -- helm workspace repair
ok "what was frozen is" says 0 "agent:codex" helm freeze status
ok "by the newest act" says 0 "agent:other" helm freeze status
ok "the check is sound" exits 0 helm log check
ok "a second repair finds nothing" says 0 "nothing to repair" terminal -- helm workspace repair
terminal -- helm unfreeze --principal agent:other >/dev/null 2>&1
ok "runs go on again" exits 0 helm run -- true
rm "$word"
ok "a lost word is found in the record" frozen
ok "and kept again by the next command" sh -c 'test -s "$0"' "$word"
ok "an agent cannot lift it" exits 25 helm guard check --shell "helm unfreeze"
ok "nor from inside a run" sh -c 'HELM_TASK_ID=x HOME="$1" "$0" unfreeze; test $? -eq 25' "$HELM_REAL" "$scratch/home"

# A freeze, or its end, that cannot be recorded does not happen, and whoever asked is told.
unrecorded() { # unrecorded COMMAND...: with a record that cannot be written it fails, and nothing is frozen or lifted by it
  before=$(cat "$ws/.helm/freeze.json" 2>/dev/null)
  mv "$ws/.helm/receipts.jsonl" "$ws/.helm/kept" && mkdir "$ws/.helm/receipts.jsonl"
  exits 1 "$@"
  rc=$?
  rmdir "$ws/.helm/receipts.jsonl" && mv "$ws/.helm/kept" "$ws/.helm/receipts.jsonl"
  [ $rc -eq 0 ] && [ "$(cat "$ws/.helm/freeze.json" 2>/dev/null)" = "$before" ]
}
quietly() { "$@" >/dev/null 2>&1; }
no_freeze() { fresh_workspace && quietly helm run -- true && unrecorded helm freeze && exits 0 helm run -- true; }
ok "a freeze that cannot be recorded does not happen" no_freeze
no_lift() {
  fresh_workspace
  quietly helm freeze && unrecorded terminal -- helm unfreeze && exits 25 helm run -- true
}
ok "nor does its end" no_lift
each_failure() { # whoever is told that a freeze is lifted finds it lifted, whatever failed
  n=6 # where writing begins; before, files are opened
  while [ $n -le 11 ]; do
    fresh_workspace
    quietly helm freeze || return 1
    if (HELM_REAL=$HELM_TWIN HELM_ENV="HELM_TEST_FAIL_AT=$n:EIO" quietly terminal -- helm unfreeze) && test -e "$ws/.helm/freeze.json"; then
      echo "call $n failed, and nobody was told"
      return 1
    fi
    n=$((n + 1))
  done
}
ok "a freeze that could not be lifted is not said to be" each_failure
no_lock() {
  fresh_workspace
  lock=$(ls -d "$scratch"/home/.helm/trees/*)/posture.lock
  rm -f "$lock" && mkdir "$lock" && exits 1 helm freeze && test ! -e "$ws/.helm/freeze.json"
}
ok "nor when it cannot be had alone" no_lock
said_first() { fresh_workspace && quietly helm freeze --reason lunch && says 25 "frozen everything: lunch" helm run --path "$ws" -- rm -rf x; }
ok "what is frozen is said to be, whatever the command would do" said_first
# A stop that cannot be recorded is not said to be one.
fresh_workspace
mv "$ws/.helm/receipts.jsonl" kept 2>/dev/null
mkdir "$ws/.helm/receipts.jsonl"
unsaid() { ! helm freeze "$@" >said 2>&1 && ! grep -q "stopped=\|frozen=" said; }
ok "a stop that cannot be recorded is told" unsaid --agent codex
ok "so is a freeze" unsaid
finish
