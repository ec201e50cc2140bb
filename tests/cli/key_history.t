#!/bin/sh
# key rotate, revoke, history, trust: old receipts stay verifiable, and a revoked key's later ones are not trusted.
# shellcheck disable=SC2016,SC2317 # texts for sh -c; functions are called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
. "$HELM_SOURCE/tests/tools/crash.sh"
keys=$scratch/home/.helm/keys
history=$keys/history.jsonl
ws=$scratch/ws
mkdir "$ws"

ok "no history yet" says 1 "no key history" helm key history
ok "nothing to rotate" says 1 "helm key create" terminal -- helm key rotate
exits 0 helm init --path "$ws"
cd "$ws" || exit 1
chain=$ws/.helm/receipts.jsonl
ok "the first key is the first link" says 0 "created" helm key history
first=$(helm key export)
exits 0 helm run -- true
before=$(cat "$keys/root.key")
ok "rotate" says 0 "event=rotated" terminal -- helm key rotate --reason "yearly"
second=$(helm key export)
ok "there is another key" test "$first" != "$second"
ok "the old secret is gone" sh -c '! grep -rq "$1" "$0"' "$keys" "$before"
ok "history" says 0 "unbroken; in force: $second" helm key history
ok "history --json" is_json helm key history --json
exits 0 helm run -- true

ok "the history verifies with the first key" says 0 "ADMISSIBLE" helm verify "$history" --key "$first"
ok "and with the second" says 0 "ADMISSIBLE" helm verify "$history" --key "$second"
ok "the chain itself tells of the change: one key reaches the other" says 0 "ADMISSIBLE" helm verify "$chain" --key "$second"
ok "from the other end too" says 0 "ADMISSIBLE" helm verify "$chain" --key "$first"
grep -v helm.key/continues "$chain" | head -1 >"$scratch/before.jsonl"
ok "where the chain does not tell of it, one key covers its own part" exits 1 helm verify "$scratch/before.jsonl" --key "$second"
ok "with the history it does" says 0 "ADMISSIBLE" helm verify "$chain" --key "$second" --history "$history"
ok "from the other end too" says 0 "ADMISSIBLE" helm verify "$chain" --key "$first" --history "$history"
other=3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29
ok "a history is worth nothing to a stranger" says 1 "none of the keys you trust" helm verify "$chain" --key $other --history "$history"
ok "the log is sound across the rotation" says 0 "sound" helm log check

ok "the key in force cannot be revoked" says 1 "helm key rotate" terminal -- helm key revoke "$second"
ok "an unknown key neither" says 1 "cannot revoke" terminal -- helm key revoke $other
ok "something else is no key" says 1 "not a public key" terminal -- helm key revoke zz
ok "a time that is none" says 2 "'soon' is none" terminal -- helm key revoke "$first" --since soon
cp "$history" "$scratch/before-revocation.jsonl"
ok "revoke from a time on" says 0 "event=revoked" terminal -- helm key revoke "$first" --since 2020-01-01T00:00:00Z --reason stolen
ok "what the key signed since is not trusted" says 1 "not in force" helm verify "$chain" --key "$second" --history "$history"
ok "it was, before the revocation" says 0 "ADMISSIBLE" helm verify "$chain" --key "$second" --history "$scratch/before-revocation.jsonl"
ok "log check says so, and calls it no damage" says 1 "UNTRUSTED" helm log check

sed -i '2s/yearly/weekly/' "$history"
ok "a changed link is found" says 1 "BROKEN" helm key history
ok "and named" says 1 "line 2" helm verify "$history" --key "$first"
ok "and not used" says 1 "does not verify" helm verify "$chain" --key "$second" --history "$history"

ok "no trusted keys yet" says 0 "No keys are trusted" helm key trust list
ok "trust one" says 0 "$other" terminal -- helm key trust add $other --label "a colleague"
ok "not twice" says 1 "trusted already" terminal -- helm key trust add $other
ok "list" says 0 "a colleague" helm key trust list
ok "list --json" is_json helm key trust list --json
ok "it is a trust file" says 1 "UNVERIFIED" helm verify "$chain" --trust "$scratch/home/.helm/trust/keys.json"
ok "a file with a key" exits 0 terminal -- helm key trust add "$keys/root.pub"
ok "no key" says 1 "not a public key" terminal -- helm key trust add nothing-like-it
ok "remove" exits 0 terminal -- helm key trust remove $other
ok "only once" says 1 "not among" terminal -- helm key trust remove $other
ok "another action is misuse" exits 2 terminal -- helm key trust keep $other
ok "and so is a missing key" exits 2 terminal -- helm key trust add

# Without a terminal a registered key answers.
HELM_ENV="HELM_HOME=$scratch/approver" helm key create >/dev/null 2>&1
ok "not without a person" says 25 "at a terminal" helm key rotate
reset() {
  rm -rf "$scratch/sweep"
  mkdir -p "$scratch/sweep/trust"
  printf '{"keys": [{"public_key_hex": "%s"}]}' "$(cat "$scratch/approver/keys/root.pub")" >"$scratch/sweep/trust/approvers.json"
  HELM_ENV="HELM_HOME=$scratch/sweep" helm key create >/dev/null 2>&1
}
unbroken() { # whatever happened: a key that loads, in force by an unbroken history
  HELM_ENV="HELM_HOME=$scratch/sweep" helm key show | grep -q "public_key=" || return 1
  [ ! -e "$scratch/sweep/keys/next.key" ] && [ ! -e "$scratch/sweep/keys/next.pub" ] || return 1 # finished or undone by that very command
  force=$(HELM_ENV="HELM_HOME=$scratch/sweep" helm key export)
  HELM_ENV="HELM_HOME=$scratch/sweep" helm key history | grep -q "in force: $force"
}
HELM_ENV="HELM_HOME=$scratch/sweep"
ok "a crash at any call of a rotation leaves the key the history names" crash_sweep reset unbroken key rotate --key "$scratch/approver/keys/root.key"
finish
