#!/bin/sh
# verify: two answers, one headline, exit codes, and what is broken first.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

key=197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61
other=ed6a47a39da869b5446155e40b2d93f1e3f0167be26732bae7a3ef9d8e3a3fd3
cases=$HELM_SOURCE/tests/cases/records
cp "$cases/verify/receipt.json" "$cases/verify/chain.jsonl" "$cases/verify/decision.json" .

ok "a receipt under a trusted key is admissible" says 0 "ADMISSIBLE" helm verify receipt.json --key $key
ok "without a key it is not, whatever it carries" says 1 "UNVERIFIED" helm verify receipt.json
ok "under another key it is not trusted" says 1 "UNVERIFIED" helm verify receipt.json --key $other
sed 's/"DENY"/"ALLOW"/' receipt.json >edited.json
ok "an edited receipt is tampered with" says 1 "TAMPERED" helm verify edited.json --key $key
sed 's/"signature_version":"receipt.v5",//' receipt.json >untagged.json
ok "deleting the version does not select an older form" says 1 "allow-legacy" helm verify untagged.json --key $key
sed 's/"verdict":"DENY"/"verdict":"DENY","Verdict":"ALLOW"/' receipt.json >case.json
ok "a member that hides behind another's case is refused" says 1 "letter case" helm verify case.json --key $key

ok "a chain is admissible" says 0 "ADMISSIBLE" helm verify chain.jsonl --key $key
ok "its end is not established" says 0 "not established" helm verify chain.jsonl --key $key
ok "without a key nobody is identified, whatever key it brings along" says 1 "FAIL  identity: line 1" helm verify chain.jsonl
sed '2d' chain.jsonl >gap.jsonl
ok "a dropped receipt breaks the next one's link" says 1 "line 2" helm verify gap.jsonl --key $key
ok "and the member is named" says 1 "prev_hash" helm verify gap.jsonl --key $key
sed '1!G;h;$!d' chain.jsonl >turned.jsonl
ok "order matters" says 1 "TAMPERED" helm verify turned.jsonl --key $key
sed '2s/agent/Agent/' chain.jsonl >unsigned.jsonl
ok "an unsigned member is protected by the next link" says 1 "closure" helm verify unsigned.jsonl --key $key
{ cat chain.jsonl; echo; cat chain.jsonl; } >blank.jsonl
ok "an empty line is corruption" says 1 "TAMPERED" helm verify blank.jsonl --key $key

ok "a decision record" says 0 "decision record" helm verify decision.json --key $key

# journals of others
cp "$cases/verify/audit-trail.jsonl" "$cases/verify/audit-log.jsonl" "$cases/journals/proxy.jsonl" .
ok "an audit trail" says 0 "ADMISSIBLE" helm verify audit-trail.jsonl --key $key
ok "not without a key" says 1 "UNVERIFIED" helm verify audit-trail.jsonl
ok "nor under another" says 1 "UNVERIFIED" helm verify audit-trail.jsonl --key $other
trail() { # trail SCRIPT HEADLINE TEXT: changed by sed, it is answered so
  sed "$1" audit-trail.jsonl >changed.jsonl
  ! cmp -s audit-trail.jsonl changed.jsonl && says 1 "$2" helm verify changed.jsonl --key $key && grep -qF -e "$3" "$scratch/.stdout"
}
ok "an audit trail: a record is edited" trail '2s/"action":"read"/"action":"write"/' TAMPERED "record 2"
ok "an audit trail: a record is dropped" trail 2d TAMPERED "previous_record_hash"
ok "an audit trail: a signature is edited" trail '2s/"value":"...../"value":"AAAAA/' TAMPERED "signature_rejected"
ok "an audit trail: a signature is no base64" trail '3s/"value":"/"value":"!/' TAMPERED "base64 of key and signature"
ok "an audit trail: another algorithm" trail '3s/Ed25519/RSA/' UNVERIFIED "unsupported_algorithm"
ok "an audit trail: a signature is taken off" trail '2s/"signature":{[^}]*},//' UNVERIFIED "not established"
ok "an audit trail: another spelling" trail '1s/":"/": "/' TAMPERED "canonical JSON"
ok "an audit log is unchanged, and nobody signed it" says 1 "unchanged   yes" helm verify audit-log.jsonl
sed 2d audit-log.jsonl >cut-log.jsonl
ok "a record of an audit log is dropped" says 1 "TAMPERED" helm verify cut-log.jsonl
ok "a proxy journal" says 0 "ADMISSIBLE" helm verify proxy.jsonl --key $key
ok "without a key it is unchanged, no more" says 1 "UNVERIFIED" helm verify proxy.jsonl
ok "under another key it is not what it says" says 1 "a signature by a given key" helm verify proxy.jsonl --key $other

# decisions of others: the cases hold them together with the key, so they are taken out first
if needs python3 "decisions of others"; then
  for name in trusted edited; do
    python3 -c 'import json, sys; json.dump(json.load(open(sys.argv[1]))["document"], sys.stdout)' "$cases/external-decision/$name.json" >$name-decision.json
  done
  ok "a decision made elsewhere, under its key" says 0 '"self_attested": false' helm verify trusted-decision.json --key $key --json
  ok "under the key it brings along" says 1 '"self_attested": true' helm verify trusted-decision.json --json
  ok "under another key nothing is established" says 1 '"integrity": "not established"' helm verify trusted-decision.json --key $other --json
  ok "edited, under its key" says 1 TAMPERED helm verify edited-decision.json --key $key
  ok "edited, under the key it brings along" says 1 TAMPERED helm verify edited-decision.json
fi

# a pack about the making of something
provenance() { # provenance SCRIPT FILE: a copy with one file changed by sed
  rm -rf changed
  cp -r "$cases/verify/provenance" changed && chmod -R u+w changed && sed -i "$1" "changed/$2" && ! diff -rq "$cases/verify/provenance" changed
}
ok "a provenance pack" says 0 "ADMISSIBLE" helm verify "$cases/verify/provenance" --key $key
ok "its class" says 0 '"class": "crypto_conformant_advisory"' helm verify "$cases/verify/provenance" --key $key --json
ok "without a key its hashes are all that is shown" says 1 '"class": "hash_conformant"' helm verify "$cases/verify/provenance" --json
ok "nor is it trusted under another" says 1 '"class": "hash_conformant"' helm verify "$cases/verify/provenance" --key $other --json
provenance 's/said/Said/' objects/a.txt >/dev/null
ok "a changed object" says 1 '"class": "unverified"' helm verify changed --key $key --json
provenance 's/redacted/redaction_failed/' redaction.json >/dev/null
ok "a redaction that failed" says 1 "redaction_report:status" helm verify changed --key $key --json
provenance 's/"root_hash":"./"root_hash":"z/' manifest.json >/dev/null
ok "another root" says 1 "manifest:root_hash" helm verify changed --key $key --json
provenance 's/hash_only/everything/' manifest.json >/dev/null
ok "a profile nobody knows" says 1 '"class": "unverified"' helm verify changed --key $key --json

ok "several files: all must hold" says 1 "TAMPERED" helm verify receipt.json edited.json --key $key
ok "JSON is one document" is_json helm verify receipt.json edited.json --key $key --json
echo "$key" >key.pub
ok "a key file" says 0 "ADMISSIBLE" helm verify receipt.json --key key.pub
printf '{"keys":[{"key_id":"k","public_key_hex":"%s"}]}' $key >trust.json
ok "a trust file" says 0 "ADMISSIBLE" helm verify receipt.json --trust trust.json
printf '{"k":"nonsense"}' >bad-trust.json
ok "a trust file that cannot be read is an error, not less trust" says 1 "not a public key" helm verify receipt.json --trust bad-trust.json
printf '{"version":"evidence-pack-trust/v9","keys":[{"key_id":"k","public_key_hex":"%s"}]}' $key >new-trust.json
ok "nor is one of a version that is not known" says 1 "known version" helm verify receipt.json --trust new-trust.json
printf '{"keys":[{"key_id":"k","public_key_hex":"%s","not_after":"2020-01-01T00:00:00Z"}]}' $key >old-trust.json
ok "a key that was no longer in force: a receipt" says 1 "UNVERIFIED" helm verify receipt.json --trust old-trust.json
ok "a decision" says 1 "UNVERIFIED" helm verify decision.json --trust old-trust.json
ok "a key that is none is misuse" says 2 "neither 64 hex digits nor" helm verify receipt.json --key nonsense
ok "no file is misuse" exits 2 helm verify
ok "a missing file is an error" says 1 "nowhere" helm verify nowhere.json
echo '{"hello":1}' >strange.json
ok "what is no record is said to be none" says 2 "this is not a record Helm knows" helm verify strange.json
not_tampered() { ! grep -q TAMPERED "$scratch/.stdout"; }
ok "and not called tampered with" not_tampered
echo 'Dear diary' >diary.txt
: >empty
printf '[1, 2, 3]' >list.json
printf '{"a": {"b": [1' >cut.json
printf '\177ELF\002\001\001' >program
mkdir -p folder/sub && echo x >folder/sub/file
tar -cf folder.tar folder
ln -s nowhere folder/link
tar -czf folder.tar.gz folder/sub
for f in diary.txt empty list.json cut.json program folder folder.tar folder.tar.gz; do
  ok "$f is no record" says 2 "NOT A RECORD" helm verify "$f" --key $key
  ok "and not called tampered with ($f)" not_tampered
done
ok "a record that fails beside it is what counts" exits 1 helm verify diary.txt edited.json --key $key
ok "a whole one does not make up for it" exits 2 helm verify receipt.json diary.txt --key $key
ok "JSON says it too" says 2 '"headline": "NOT A RECORD"' helm verify diary.txt --json
echo '{"receipt_id":' >torn.json
ok "a record that was cut off is damaged, at its place" says 1 "torn.json:" helm verify torn.json
ok "and is called that" says 1 "DAMAGED" helm verify torn.json
head -c 400 receipt.json >short.json
ok "a shortened receipt" says 1 "DAMAGED" helm verify short.json --key $key
head -c "$(($(wc -c <chain.jsonl) - 20))" chain.jsonl >short.jsonl
ok "a shortened chain" says 1 "DAMAGED" helm verify short.jsonl --key $key
printf '{"receipt_id": "a", "receipt_id": "b"}' >twice.json
ok "one that was made ambiguous is tampered with" says 1 "TAMPERED" helm verify twice.json
helm init --path ledgers >/dev/null
helm run --path ledgers -- true >/dev/null 2>&1
helm run --path ledgers -- true >/dev/null 2>&1
ok "a ledger is no record, and not called tampered with" says 2 "NOT A RECORD" helm verify ledgers/.helm/task-ledger.jsonl
finish
