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

# Gates over an evidence pack.
mkdir -p pack/07_ATTESTATIONS pack/09_SCHEMAS/tool_io
echo '{"type":"object"}' >pack/09_SCHEMAS/tool_io/read.json
ok "a gate that has what it needs passes" says 0 "pass" helm conform run --gate G2A --evidence pack
ok "a level names its scale and every reason" says 1 "gate_level L1: failed" helm conform run --level L1 --evidence pack
ok "with the published codes" says 1 "BUILD_IDENTITY_MISSING" helm conform run --level L1 --evidence pack
ok "also as JSON" is_json helm conform run --profile SMB --evidence pack --json
ok "an archive is a pack, too" sh -c "tar -C pack -cf pack.tar 07_ATTESTATIONS 09_SCHEMAS"
ok "and passes the same" says 0 "pass" helm conform run --gate G2A --evidence pack.tar
ok "a level that is a profile is none" says 2 "there is no level 'L3'" helm conform run --level L3 --evidence pack
ok "one scale at a time" says 2 "two scales" helm conform run --level L1 --profile SMB --evidence pack
ok "gates need evidence" says 2 "--evidence" helm conform run --level L1
ok "cases and gates are two runs" says 2 "one after the other" helm conform run --level L1 --evidence pack --cases cases
ok "what a profile demands beyond gates is said not to be checked" says 1 "not checked: proof_capsule_routing" \
  helm conform run --profile AGENTIC_WEB_ROUTER --evidence pack
ok "the list has levels, profiles and gates" says 0 "GX_TENANT" helm conform list

mkdir -p bare/07_ATTESTATIONS
echo '{"keys":[]}' >bare/07_ATTESTATIONS/trusted_roots.json
ok "a gate with nothing to look at was not run" says 1 "not run" helm conform run --gate G4 --evidence bare
ok "so with packs" says 1 '"not_run": 1' helm conform run --gate G12 --evidence bare --json
ok "beside one that passes, too, the run has not passed" says 1 "failed, 1 of 2 gates" helm conform run --gate G4 --gate G13 --evidence bare
mkdir -p empty/protocols/conformance/workstation/v1
echo '{"modes":[{"id":"one"}],"fixtures":{}}' >empty/protocols/conformance/workstation/v1/conformance-pack.json
ok "a level is not shown by nothing" says 1 "0 passed, 0 failed, 1 not supported" helm conform run --suite workstation --cases empty

# Files that are no JSON, and cases that lack a member: reported, never a crash.
mkdir -p broken/bundles
echo '{' >broken/bundles/bad.json
ok "a bundle that is no JSON fails its gate" says 1 "BUNDLE_HASH_DIFFERS:bundles/bad.json" \
  helm conform run --gate G14 --evidence broken
mkdir -p odd/derived odd/core/pkg/mcp/testdata
echo '{"policy":{},"cases":[{"destination":"x.example"}]}' >odd/derived/egress-firewall-cases.json
ok "a case without an answer fails" says 1 "0 passed, 1 failed" helm conform run --suite egress --cases odd
echo '{"vectors":[{"id":"t","kind":"tool_call","expected_verdict":"DENY","expected_reason":"NONE"}]}' \
  >odd/core/pkg/mcp/testdata/mcp_2026_07_28_authz_vectors.json
ok "so does a call that states no scopes" says 1 "0 passed, 1 failed" helm conform run --suite mcp --cases odd
echo '{"decide":[{"id":"a"}],"effect_facts":[{"id":"b","expected_facts":[{"class":"network"}]}]}' >odd/derived/shell-guard-cases.json
ok "and a case of the shell without a command" says 1 "0 passed, 2 failed" helm conform run --suite shell --cases odd

# What is not supported says why; what is near an answer is not the answer.
facts() { printf '{"effect_facts":[{"id":"f","command":"curl https://a.example/x","expected_facts":[{"class":"%s","target":"%s"}]}]}' "$1" "$2" >odd/derived/shell-guard-cases.json; }
facts network https://a.example/x
ok "a fact is met by its own target" says 0 "1 passed, 0 failed" helm conform run --suite shell --cases odd
facts network https://a.example/
ok "a part of the target is another one" says 1 "0 passed, 1 failed" helm conform run --suite shell --cases odd
facts weather https://a.example/x
ok "a class nobody knows is not supported, with the reason" says 1 "not supported: f: no effect here is of the class 'weather'" \
  helm conform run --suite shell --cases odd
echo '{"pass":["sudo ls","ls"]}' >odd/derived/shell-guard-cases.json
ok "what is asked about by decision is not supported, with the reason" says 0 "not supported: sudo ls: here a person is asked" \
  helm conform run --suite shell --cases odd
echo '{"pass":["rm -rf /","ls"]}' >odd/derived/shell-guard-cases.json
ok "any other question about a command that must pass fails" says 1 "1 passed, 1 failed, 0 not supported" helm conform run --suite shell --cases odd

# Errors of reading are errors.
mkdir -p odd/tests/conformance/denial-legibility odd/policies/deep
echo '{' >odd/tests/conformance/denial-legibility/golden.json
ok "a golden file that is no JSON is an error" says 1 "golden.json" helm conform run --suite denial-legibility --cases odd
ln -s loop odd/policies/deep/loop
ok "a folder below that cannot be read is an error" says 1 "loop" helm conform run --suite policy-packs --cases odd

# The report for others.
helm init >/dev/null
revision=0123456789abcdef0123456789abcdef01234567
ok "a signed report needs the revision" says 2 "--revision" helm conform run --gate G2A --evidence pack --signed
ok "and says who signed it" says 0 "signed by ed25519:" helm conform run --gate G2A --evidence pack --signed --revision $revision --output out
ok "the digest is that of the report" sh -c '[ "$(sha256sum <out/conform_report.json | cut -c1-64)" = "$(cat out/conform_report.json.sha256)" ]'
ok "report v1 fits its schema" helm schema validate "$HELM_SOURCE/schemas/conformance-report.schema.json" out/conformance_report_v1.json
ok "it names what passed" grep -q '"G2A"' out/conformance_report_v1.json
ok "a registry entry is about the vectors" says 2 "suite v1" helm conform run --cases "$HELM_SOURCE/tests/cases/records" --registry-entry
finish
