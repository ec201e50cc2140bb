#!/bin/sh
# privacy: what a text gives away is found, replaced and turned back, and no value stands anywhere it should not.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

fresh_workspace
mail='ann@corp.io'
vault=$ws/.helm/privacy-vault.json audit=$ws/.helm/privacy-audit.jsonl

ok "a scan counts" says 0 "privacy_findings=2" helm privacy scan --text "$mail password=hunter2"
helm privacy scan --text "$mail" --json >scan.json
ok "and says nothing of the value" sh -c '! grep -q corp scan.json && grep -q "\"label\": \"EMAIL\"" scan.json'
helm privacy scan --text "$mail" >scan.txt
ok "standard input is read" sh -c 'printf %s "$2" | env HOME="$1" "$0" privacy scan | grep -q privacy_findings=1' "$HELM_REAL" "$scratch/home" "$mail"
ok "findings can fail a pipeline" exits 1 helm privacy scan --text "$mail" --fail-on-findings
ok "nothing found does not" exits 0 helm privacy scan --text "fine" --fail-on-findings
ok "kinds can be chosen" says 0 "privacy_findings=0" helm privacy scan --text "$mail" --skip EMAIL
ok "a quoted name is a name" says 1 "privacy_findings=1" helm privacy scan --fail-on-findings --text 'to "kim lee"@corp.io now'
ok "quotes without one are none" says 0 "privacy_findings=0" helm privacy scan --fail-on-findings --text 'say "hi" "@corp.io'
ok "others can be added" says 0 "privacy_findings=1" helm privacy scan --text "8.8.8.8 $mail" --only IP_ADDRESS
ok "a kind that is none is refused" says 2 "no kind" helm privacy scan --text x --only NAMES
ok "two texts are refused" says 2 "not both" helm privacy scan --text x --input y
ok "nothing was written" sh -c '! test -e "$0" && ! test -e "$1"' "$vault" "$audit"

mkdir -p tree/.git tree/sub
printf 'ok\nmail ann@corp.io here\n' >tree/sub/a.txt
printf 'key = "ghp_a1b2c3d4e5f6a7b8c9d0"\n' >"tree/od d.py"
printf 'ann@corp.io' >tree/.git/x
printf 'ann@corp.io\0' >tree/bin
ok "a tree is looked through" says 0 "tree/sub/a.txt:2:6: EMAIL" helm privacy scan tree
ok "all of it but .git" says 0 "2 findings in 2 files; 1 not looked into" helm privacy scan tree
ok "each with its digest" sh -c 'test "$(grep -c "digest [0-9a-f]" "$0")" = 1' scan.txt
ok "so in a tree" says 0 "EMAIL, digest " helm privacy scan tree
ok "that is complete" says 0 '"is_complete": true' helm privacy scan tree --json
ok "binary files are told in SARIF" says 0 "1 file is no text and was not looked into" helm privacy scan tree --sarif
# One that cannot be read, not even by root: it is too large.
mkdir large && echo fine >large/a && truncate -s 65M large/b
ok "a file that was not read is counted" says 1 "1 could not be read" helm privacy scan large
ok "the scan is not complete" says 1 '"is_complete": false' helm privacy scan large --json
ok "nor does it pass" exits 1 helm privacy scan large
ok "SARIF says so" says 1 '"executionSuccessful": false' helm privacy scan large --sarif
rm -r large
ok "as SARIF" says 0 '"uri": "tree/od%20d.py"' helm privacy scan tree --sarif
ok "a file that is not there is an error" says 1 "does not exist" helm privacy scan nothing

ok "a text is tokenized" says 0 "to <PRIVATE_EMAIL_1>" helm privacy tokenize --scope s --text "to $mail"
ok "the same value has the same name" says 0 "<PRIVATE_EMAIL_1> <PRIVATE_EMAIL_2>" helm privacy tokenize --scope s --text "$mail bob@corp.io"
ok "no value stands in the vault" sh -c '! grep -q corp "$0"' "$vault"
ok "which only its owner reads" sh -c 'test "$(stat -c %a "$0")" = 600 && test "$(stat -c %a "$1")" = 600' "$vault" "$scratch/home/.helm/keys/vault.key"
ok "a scope of its own begins at 1" says 0 "<PRIVATE_EMAIL_1>" helm privacy tokenize --scope t --text bob@corp.io
ok "names turn back" says 0 "bob@corp.io at <PRIVATE_EMAIL_7>" helm privacy restore --scope s --authorize "answer the customer" --text "<PRIVATE_EMAIL_2> at <PRIVATE_EMAIL_7>"
ok "that is on record" sh -c 'grep helm.privacy/restore "$0" | grep -q "answer the customer"' "$ws/.helm/receipts.jsonl"
ok "and in the audit" sh -c 'tail -n 1 "$0" | grep restore | grep -q "answer the customer" && ! grep -q corp "$0"' "$audit"
ok "the record verifies" says 0 "ADMISSIBLE" helm verify "$ws/.helm/receipts.jsonl" --key "$scratch/home/.helm/keys/root.pub"
ok "a scope that is not there is an error" says 1 "has no scope" helm privacy restore --scope nobody --text x
ok "a vault that is not there is said to be" says 1 "nope' does not exist" helm privacy restore --vault nope --text x
ok "an empty scope is refused" says 2 "scope is empty" helm privacy tokenize --scope '' --text "$mail"
ok "without a vault nothing is kept" says 0 "<PRIVATE_EMAIL_1>" helm privacy tokenize --scope u --no-vault --text "$mail"
ok "really nothing" says 1 "has no scope" helm privacy restore --scope u --text x
ok "bytes that are no text are refused" says 1 "not UTF-8" sh -c 'printf "\377 ann@corp.io" | env HOME="$1" "$0" privacy tokenize' "$HELM_REAL" "$scratch/home"
ok "an agent asks before it turns names back" exits 25 helm guard check --shell "helm privacy restore --scope s --text x"
ok "and is stopped when it tries" says 25 "agent client" governed privacy restore --scope s --text x

# Two scopes put in each other's place, one changed character, another key: none opens.
cp "$vault" kept
python3 - "$vault" <<'END'
import json, sys
v = json.load(open(sys.argv[1])); s = v["scopes"]; s["s"], s["t"] = s["t"], s["s"]; json.dump(v, open(sys.argv[1], "w"))
END
ok "a scope is opened under its own name only" says 1 "does not open" helm privacy restore --scope s --text x
ok "and nothing is written over it" exits 1 helm privacy tokenize --scope s --text new@corp.io
cp kept "$vault"
sed -i 's/"box": "./"box": "-/' "$vault"
ok "a damaged scope is said to be damaged" says 1 "damaged" helm privacy restore --scope s --text x
cp kept "$vault"
mv "$scratch/home/.helm/keys/vault.key" .
ok "without its key nothing opens, and the remedy is named" says 1 "backup of the helm home" helm privacy restore --scope s --text x
ok "nor is anything sealed with a new one beside it" says 1 "backup of the helm home" helm privacy tokenize --scope brand-new --text new@corp.io
ok "no key was made" test ! -e "$scratch/home/.helm/keys/vault.key"
mv vault.key "$scratch/home/.helm/keys/"
ok "with it all is as before" says 0 "bob@corp.io" helm privacy restore --scope s --text "<PRIVATE_EMAIL_2>"
echo '{"version": 3, "scopes": {}}' >"$vault"
ok "a vault of another version is left alone" says 1 "newer than version 2" helm privacy tokenize --text "$mail"
ok "as it was" grep -q '"version": 3' "$vault"
finish
