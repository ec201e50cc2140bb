#!/bin/sh
# A key that was lost and made anew: no view says that all is well while nobody vouches for the older receipts, and a person can.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
PATH=/usr/bin:/bin # agents that are installed on this machine are no part of this
needs_terminal
fresh_workspace
helm run -- true >/dev/null
lost=$(helm key export)
rm -r "$scratch/home/.helm/keys"
ok "without a key nothing runs" says 1 "there is no signing key" helm run -- true
helm key create >/dev/null
cp "$ws/.helm/receipts.jsonl" "$scratch/kept"
cp "$ledger" "$scratch/kept.ledger"
ok "a new key does not go on by itself" says 1 "helm key trust add $lost" helm run -- true
ok "and has written nothing" sh -c 'cmp "$0/.helm/receipts.jsonl" "$1" && cmp "$0/.helm/task-ledger.jsonl" "$1.ledger"' "$ws" "$scratch/kept"
ok "the check does not trust what the lost key signed" says 1 "UNTRUSTED" helm log check
ok "status does not say that all is well" sh -c '! printf %s "$0" | grep -q "All is well"' "$(helm status --brief)"
ok "but what is wrong, and what to do" says 1 "helm key trust add $lost" helm doctor --skip-discovery
ok "a repair has nothing to mend, and says why that is not all" says 1 "signed by keys that count here" helm log repair --yes
ok "an agent does not vouch for it" exits 25 agent key trust add "$lost"
ok "a person does" terminal TRUST -- helm key trust add "$lost" --label 'my lost key'
ok "then the record is sound" says 0 "sound   " helm log check --all
ok "work goes on under the new key" helm run -- true
ok "and it is still sound" says 0 "sound   " helm log check --all
ok "and all is well" says 0 "All is well" helm status --brief
ok "a key that nobody named still does not count" sh -c '
  sed -i "s/$2/$(printf %064d 7)/" "$1/home/.helm/trust/keys.json" && ! HOME="$1/home" "$0" log check --all' "$HELM_REAL" "$scratch" "$lost"
finish
