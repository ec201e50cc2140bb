#!/bin/sh
# Records of every kind that is written here: runs, refusals, calls of agents, acts of a person, memory, skills, policies.  No byte of one of their
# receipts, or of a pack with all of them, can be another unnoticed, and the second verifier accepts what ours does.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "the second verifier needs python3"
! grep -qa __asan_init "$HELM_REAL" || skip_all "some ten thousand documents are verified: too many under the sanitizers, where oracle/mutations does the same with fewer"
needs_terminal

helm init --path ws >/dev/null
cd ws || exit 1
hook() { printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s"}' "$1" | agent hook pre-tool --client claude-code; }
{
  helm run --task-id t-1 -- true
  helm run --task-id t-2 -- rm -rf /
  hook "rm -rf /"
  hook "touch x"
  helm memory write --layer long_term_memory --text 'Releases are cut on Tuesdays'
  helm skill new one && helm skill accept one
  helm freeze --reason x && terminal -- helm unfreeze
  terminal APPROVE -- helm profile use inspect_local
  terminal APPROVE -- helm allow host example.org
  helm checkpoint create --label a && helm checkpoint restore a
  helm policy new two-people --out p.yaml && terminal APPROVE -- helm policy use p.yaml
  helm run --task-id t-3 -- true
} >../made 2>&1
cd .. || exit 1
helm evidence export --all --out p.tar --path ws >/dev/null
# kinds N: at least so many that differ in what they are about.
kinds() {
  python3 - "$1" <<'END'
import json, sys
rows = [json.loads(text) for text in open("ws/.helm/receipts.jsonl")]
kinds = {(row["receipt_id"].startswith("rcpt_dec-"), str(row.get("executor_id", "")).split(":")[0], row.get("tool_name"), str(row.get("effect_id"))[:12],
          ",".join(sorted(row.get("metadata") or {}))) for row in rows}
print(len(rows), "receipts", len(kinds), "kinds")
sys.exit(len(kinds) < int(sys.argv[1]))
END
}
ok "receipts of many kinds are there" kinds 8
ok "no byte of any of them is another unnoticed" python3 "$HELM_SOURCE/tests/oracle/mutations.py" --every-byte "$HELM_BUILD/tests" "$scratch/home/.helm/keys" ws/.helm/receipts.jsonl p.tar
finish
