#!/bin/sh
# evidence and replay: export, verify, prove, summary; what is refused and how it is said.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

helm init --path ws >/dev/null
rm -rf "$scratch/home/.helm/keys"
ok "nothing recorded, nothing exported" says 1 "helm key create" helm evidence export --all --out p.tar --path ws
helm key create >/dev/null
ok "an empty workspace has no pack" says 1 "nothing recorded matches" helm evidence export --all --out p.tar --path ws
cat >ws/.helm/task-ledger.jsonl <<'ROWS'
{"task_id":"t1","status":"done","updated_at":"2026-04-13T09:10:00.123456+00:00"}
{"task_id":"t2","status":"queued","updated_at":"2026-04-14T09:10:00+00:00"}
ROWS
pub=$scratch/home/.helm/keys/root.pub

ok "what to export must be said" says 2 "--all" helm evidence export --out p.tar --path ws
ok "and only once" says 2 "say what to export" helm evidence export --all --task t1 --out p.tar --path ws
ok "export" says 0 "Exported 1 file to" helm evidence export --all --out p.tar --path ws
ok "it verifies with the key" says 0 "ADMISSIBLE" helm evidence verify p.tar --key "$pub"
ok "not without one" says 1 "UNVERIFIED" helm evidence verify p.tar
ok "not with another" says 1 "none of the keys" helm evidence verify p.tar \
  --key 197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61
ok "the report is JSON" is_json helm evidence verify p.tar --key "$pub" --json
ok "manifest first" sh -c 'tar tf p.tar | head -1 | grep -qx manifest.json'
ok "the tar of everybody reads it" sh -c 'tar xf p.tar -O transcripts/task-ledger.jsonl | cmp - ws/.helm/task-ledger.jsonl'

# The same content on another machine: other clock, user names, times of files, locale.
cp p.tar first.tar
touch -d 2001-01-01 ws/.helm/task-ledger.jsonl
cp -r ws ws2
HELM_ENV="LC_ALL=de_DE.UTF-8 TZ=Asia/Tokyo USER=other" helm_twin evidence export --all --out p.tar --path ws2 >/dev/null
ok "the same content gives the same bytes" cmp first.tar p.tar

ok "by task" says 0 "Exported 1 file to" helm evidence export --task t1 --out t.tar --path ws
ok "holds that task only" sh -c 'tar xf t.tar -O transcripts/task-ledger.jsonl | grep -c . | grep -qx 1'
ok "by time" says 0 "Exported" helm evidence export --since 2026-04-14T00:00:00Z --out t.tar --path ws
ok "nothing in that span" says 1 "nothing recorded matches" helm evidence export --until 2020-01-01T00:00:00Z --out t.tar --path ws
ok "a time must be one" says 2 "takes a time, and 'someday' is none" helm evidence export --since someday --out t.tar --path ws

ok "summary" says 0 "task-ledger.jsonl" helm evidence summary p.tar
ok "prove" is_json helm evidence prove p.tar transcripts/task-ledger.jsonl
ok "what is not there is not proved" says 1 "is not in the pack" helm evidence prove p.tar nothing
helm evidence prove p.tar transcripts/task-ledger.jsonl --out proof.json
root=$(tar xf p.tar -O manifest.json | sed -n 's/.*"entries_merkle_root": "\(.*\)".*/\1/p')
ok "one entry shown, with its proof" says 0 ADMISSIBLE helm verify ws/.helm/task-ledger.jsonl --proof proof.json \
  --entry transcripts/task-ledger.jsonl --root "$root"
ok "without a root it shows nothing" says 1 "empty merkle path" helm verify ws/.helm/task-ledger.jsonl --proof proof.json
ok "other content is not it" says 1 "content does not match" helm verify proof.json --proof proof.json --root "$root"
ok "another entry is not it" says 1 "not for the entry asked for" helm verify ws/.helm/task-ledger.jsonl --proof proof.json \
  --entry receipts/x.json --root "$root"
ok "directories verify too" sh -c "mkdir d && tar xf p.tar -C d"
ok "and so they do" says 0 ADMISSIBLE helm evidence verify d --key "$pub"
gzip -k p.tar
ok "compressed too" says 0 ADMISSIBLE helm evidence verify p.tar.gz --key "$pub"

echo >>d/transcripts/task-ledger.jsonl
ok "a byte more is found and named" says 1 "content_hash: the content of 'transcripts/task-ledger.jsonl'" \
  helm evidence verify d --key "$pub"
ok "and nothing is proved from it" says 1 "content_hash" helm evidence prove d transcripts/task-ledger.jsonl
rm d/transcripts/task-ledger.jsonl
ok "a file less is found" says 1 completeness helm evidence verify d --key "$pub"
tar xf p.tar -C d
ln -s /etc/passwd d/link
ok "a link is refused" says 2 "symlink" helm evidence verify d --key "$pub"
rm d/link
echo x >d/extra
ok "a file more is found" says 1 "'extra' is in the pack but not in the manifest" helm evidence verify d --key "$pub"
head -c 700 p.tar >cut.tar
ok "a cut archive cannot be read" says 2 "archive" helm evidence verify cut.tar --key "$pub"
head -c 20000000 /dev/zero >zeros
tar cf - zeros | gzip -9 >bomb.tar.gz
ok "a bomb is refused" says 2 "bomb" helm evidence verify bomb.tar.gz
ok "no file is an error" says 1 "cannot open" helm evidence verify nowhere.tar

ok "nothing to play back" says 1 FAILED helm replay p.tar
ok "a trust file" sh -c "printf '{\"trusted_keys\":{\"me\":\"%s\"}}' \"\$(cat $pub)\" >trust.json"
ok "is enough" says 0 ADMISSIBLE helm evidence verify p.tar --trust trust.json
echo '{"trusted_keys":{"me":"nonsense"}}' >trust.json
ok "a bad one is refused" says 1 "is not a public key" helm evidence verify p.tar --trust trust.json
helm init --path live >/dev/null
helm run --path live -- true
helm evidence export --all --out live.tar --path live >/dev/null
ok "a signed head over all receipts goes along" says 0 "2 receipts stand in the log of 2" helm evidence verify live.tar --key "$pub"
cp live.tar live1.tar
helm evidence export --all --out live.tar --path live >/dev/null
ok "exporting again gives the same bytes" cmp live.tar live1.tar
ok "a live pack plays back" says 0 COMPLETE helm replay live.tar
mkdir changed && tar xf live.tar -C changed
sed -i 's/"ALLOW"/"DENY!"/' changed/receipts/*
ok "one that was changed does not" says 1 "the pack was changed" helm replay changed
# A leaf is damaged: a cache, which is made again and not believed.
for change in '1s/^[0-9]/a/;t;1s/^./0/' '1s/^./x/'; do
  sed -i "$change" live/.helm/log/leaves
  helm evidence export --all --out leaf.tar --path live >/dev/null
  ok "a damaged leaf ($change) does not get into a pack" says 0 "2 receipts stand in the log of 2" helm evidence verify leaf.tar --key "$pub"
done
finish
