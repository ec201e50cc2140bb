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

# So many receipts that they are lines of files.
helm init --path many >/dev/null
"$HELM_BUILD/tests/store_tool" many/.helm "$scratch/home/.helm/keys" 10400 10
helm evidence export --all --out many.tar --path many >/dev/null
ok "many receipts are lines" sh -c 'tar tf many.tar | grep -qx receipts/000000000001-000000004096.jsonl'
ok "the second verifier reads receipts as lines" says 0 ADMISSIBLE oracle many.tar --key "$key"
ok "and so do we" says 0 "10400 receipts stand in the log of 10400" helm evidence verify many.tar --key "$key"
mkdir lines && tar xf many.tar -C lines
sed -i '2{h;d};3{G}' lines/receipts/000000004097-000000008192.jsonl
ok "two that changed places are found" exits 1 helm evidence verify lines --key "$key"
helm evidence export --session session-of-a-client --out few.tar --path many >/dev/null
ok "a choice of them, in files of their own, too" says 0 ADMISSIBLE oracle few.tar --key "$key"

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
