#!/bin/sh
# Evidence packs before a second verifier, written from docs/formats alone: it accepts ours, and both refuse each of a list of
# damaged copies at the same step.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "the second verifier needs python3"
oracle() { python3 "$HELM_SOURCE/tests/oracle/verify_pack.py" "$@"; }

helm init --path ws >/dev/null
helm key create >/dev/null
key=$(cat "$scratch/home/.helm/keys/root.pub")
long=$(printf 'l%.0s' $(seq 120))
for name in task-ledger command-log "$long" d\'ej\`a; do
  printf '{"task_id":"t","text":"<caf\303\251> \\u0001","updated_at":"2026-04-13T09:10:00.120+00:00"}\n' >"ws/.helm/$name.jsonl"
done
helm evidence export --all --out p.tar --path ws >/dev/null

ok "the second verifier accepts our pack" says 0 ADMISSIBLE oracle p.tar --key "$key"
ok "not without the key" says 1 signature oracle p.tar
ok "not under another key" says 1 signature oracle p.tar --key 197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61
gzip -k p.tar
ok "compressed too" says 0 ADMISSIBLE oracle p.tar.gz --key "$key"

mkdir mutants
python3 "$HELM_SOURCE/tests/oracle/mutate_pack.py" p.tar mutants || exit 1
for pack in mutants/*.tar; do
  step=${pack%.tar}
  step=${step##*.}
  if [ "$step" = other ]; then
    ok "$pack: is no pack" says 2 "NOT A RECORD" helm evidence verify "$pack" --key "$key"
    ok "$pack: nor to helm verify" says 2 "NOT A RECORD" helm verify "$pack" --key "$key"
    continue
  fi
  code=1
  [ "$step" = archive ] && code=2
  ok "$pack: we refuse it" says "$code" "first failure: $step" helm evidence verify "$pack" --key "$key"
  ok "$pack: and so does the second verifier" says 1 "$step" oracle "$pack" --key "$key"
done
finish
