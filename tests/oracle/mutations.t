#!/bin/sh
# Thousands of changed receipts, bundles, chains and packs: helm verify and a second verifier, written from docs/formats alone, accept
# and refuse the same; and no byte of a receipt, a bundle or a pack can be another unnoticed.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "the second verifier needs python3"

helm init --path ws >/dev/null
cd ws || exit 1
# Shell and names with characters that have more than one spelling.
helm run --task-id t-1 --task-name "$(printf 'caf\303\251 </x>')" -- true >/dev/null 2>&1
helm run --task-id t-2 -- sh -c "exit 3" >/dev/null 2>&1
helm run --task-id t-3 -- rm -rf / >/dev/null 2>&1
cd .. || exit 1
helm evidence export --task t-1 --out p.tar --path ws >/dev/null
ok "two verifiers, one answer" python3 "$HELM_SOURCE/tests/oracle/mutations.py" "$HELM_BUILD/tests" "$scratch/home/.helm/keys" \
  ws/.helm/receipts.jsonl p.tar
finish
