#!/bin/sh
# conform run: what counts as passed, failed and not supported.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

mkdir cases cases/x
printf '{"urn":"urn:helm:key:a"}' >cases/x/good.json
printf '{"urn":"nonsense"}' >cases/x/bad.json
line() { printf '{"id":"%s","files":["%s"],"expect":%s}\n' "$1" "$2" "$3"; }

line identifiers/a x/good.json '{"result":"accept"}' >cases/cases.jsonl
ok "a case that is met passes" says 0 "1 passed, 0 failed, 0 not supported" helm conform run --cases cases
line unheard-of/b x/good.json '{"result":"accept"}' >>cases/cases.jsonl
ok "an unknown family is not supported, not passed" says 0 "1 passed, 0 failed, 1 not supported" helm conform run --cases cases
line identifiers/c x/bad.json '{"result":"accept"}' >>cases/cases.jsonl
ok "a case that is not met fails" says 1 "FAIL identifiers/c" helm conform run --cases cases
ok "and the report is JSON" is_json helm conform run --cases cases --json
line identifiers/d x/good.json '{"result":"accept","digest":"x"}' >cases/cases.jsonl
ok "every member of the answer counts" says 1 "1 failed" helm conform run --cases cases
line identifiers/e ../outside.json '{"result":"accept"}' >cases/cases.jsonl
printf '{"urn":"urn:helm:key:a"}' >outside.json
ok "files outside the directory are not read" says 1 "1 failed" helm conform run --cases cases
line unheard-of/b x/good.json '{"result":"accept"}' >cases/cases.jsonl
ok "nothing passed is not success" says 1 "0 passed" helm conform run --cases cases
: >cases/cases.jsonl
ok "no case at all is an error" says 1 "no case" helm conform run --cases cases
ok "a missing directory is an error" says 1 "cannot read cases" helm conform run --cases nowhere
ok "the directory must be named" says 2 "--cases" helm conform run
ok "our own cases pass" says 0 " 0 failed, 0 not supported" helm conform run --cases "$HELM_SOURCE/tests/cases/records"
finish
