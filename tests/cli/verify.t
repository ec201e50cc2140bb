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
ok "several files: all must hold" says 1 "TAMPERED" helm verify receipt.json edited.json --key $key
ok "JSON is one document" is_json helm verify receipt.json edited.json --key $key --json
echo "$key" >key.pub
ok "a key file" says 0 "ADMISSIBLE" helm verify receipt.json --key key.pub
printf '{"keys":[{"key_id":"k","public_key_hex":"%s"}]}' $key >trust.json
ok "a trust file" says 0 "ADMISSIBLE" helm verify receipt.json --trust trust.json
printf '{"k":"nonsense"}' >bad-trust.json
ok "a trust file that cannot be read is an error, not less trust" says 1 "not a public key" helm verify receipt.json --trust bad-trust.json
ok "a key that is none is misuse" says 2 "neither 64 hex digits nor" helm verify receipt.json --key nonsense
ok "no file is misuse" exits 2 helm verify
ok "a missing file is an error" says 1 "nowhere" helm verify nowhere.json
echo '{"hello":1}' >strange.json
ok "what is no record is not established" says 1 "UNVERIFIED" helm verify strange.json
echo '{"receipt_id":' >torn.json
ok "what cannot be read is tampered with, at its place" says 1 "torn.json:" helm verify torn.json
finish
