#!/bin/sh
# policy new, lint, fmt, compile, import, sign, verify, pack show: policies as files.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

says() { # says TEXT COMMAND...: its output contains the text
  wanted=$1
  shift
  case $("$@" 2>&1) in *"$wanted"*) ;; *) "$@"; return 1 ;; esac
}
fails() { ! "$@" >/dev/null 2>&1; }

# ---- a policy to start from
ok "new lists templates" says "two-people" helm policy new
ok "and writes one with its tests" helm policy new two-people --out prod.yaml --name prod
ok "under its new name" grep -qx "name: prod" prod.yaml
ok "the tests know the new file" grep -qx "policy: prod.yaml" prod.test.yaml
ok "a file that is there stays" fails helm policy new two-tools --out prod.yaml
ok "no such template" says "there is no template 'x'" helm policy new x

# ---- lint
ok "a shipped policy can be used" helm policy lint prod.yaml
cat >bad.yaml <<'P'
apiVersion: helm.mindburn.run/v1
kind: PolicyBundle
metadata:
  name: x
rules:
  - id: a
    action: file_write
    expression: 'params.path.startsWith("/etc/"'
    verdict: DENY
P
ok "a bundle's mistake has file, line, column, word and fix" says "bad.yaml:9:14: error: RULE_INVALID: this is no verdict of a bundle, at 'DENY'" helm policy lint bad.yaml
ok "and what to write" says "a bundle says BLOCK" helm policy lint bad.yaml
ok "a broken expression stops the load" says "bad.yaml:8:48: error: POLICY_EXPRESSION" helm policy lint bad.yaml
ok "exit 1" fails helm policy lint bad.yaml
ok "as JSON" says '"line": 9' helm policy lint bad.yaml --json
ok "another version is refused" says VERSION_INCOMPATIBLE sh -c "printf 'apiVersion: helm.mindburn.run/v2\nmetadata: {name: x}\n' | '$HELM_REAL' policy lint -"
ok "standard input" says "can be used" sh -c "'$HELM_REAL' policy lint - <prod.yaml"
printf 'format: helm.policy.v1\nname: x\nversion: "1"\nrules:\n- {id: a, action: x, verdict: ALLOW, when: context.ok}\n' >warn.yaml
ok "what is only doubtful can be used" helm policy lint warn.yaml
ok "but not with --strict" fails helm policy lint --strict warn.yaml

{ printf 'format: helm.policy.v1\nname: x\nversion: "1"\nrules:\n'; i=0; while [ $i -lt 250 ]; do echo "- {id: r$i, action: x, verdict: MAYBE}"; i=$((i + 1)); done; } >many.yaml
ok "what is not shown is counted" says "and 50 more, which are not shown" helm policy lint many.yaml
ok "in JSON, too" says '"left_out": 50' helm policy lint many.yaml --json
printf 'name: x\nversion: "1"\nrules:\n- {id: a, action: EXECUTE_COMMAND, verdict: ALLOW}\n' >noformat.yaml
ok "a policy without its first line is told to get it" says "has no 'format'; write 'format: helm.policy.v1'" helm policy lint noformat.yaml
printf '\357\273\277format: helm.policy.v1\nname: x\n' >bom.yaml
ok "a byte order mark is named" says "bom.yaml:1:1: error: POLICY_BOM" helm policy lint bom.yaml
printf 'format: helm.policy.v1\nname: x\nversion: "1"\nrules:\n  - id: a\n    action: AGENT_TOL_CALL\n    verdict: DENY\n    when: |\n      true &&\n      inptu.tool == "x"\n' >slips.yaml
ok "a variable that is none is an error where it stands" says "slips.yaml:10:7: error: POLICY_VARIABLE" helm policy lint slips.yaml
sed -i 's/inptu/input/' slips.yaml
ok "an action that is nearly one is warned of" says "write 'AGENT_TOOL_CALL'" helm policy lint slips.yaml
ok "what a pack rests on is a note" says "note: POLICY_RESTS_ON: pack 'eu-gdpr' counts only while" helm policy lint "$HELM_SOURCE/share/policies/packs/jurisdictions.yaml"
cat >ops.yaml <<'P'
format: helm.policy.v1
name: ops
version: "1"
rules:
  - {id: a, action: EXECUTE_COMMAND, verdict: ALLOW, all: [{field: params.n, op: at_most, value: 3}, {field: params.path, op: starts_with, value: /x}, {field: params.path, op: not_contains, value: ..}]}
P
ok "every operator that is documented can be written" says "can be used" helm policy lint ops.yaml

# ---- fmt
ok "fmt lays it out" says '  - {id: a' helm policy fmt warn.yaml
ok "check says that it is not" fails helm policy fmt --check warn.yaml
helm policy fmt warn.yaml >laid.yaml
ok "what it prints has its layout" helm policy fmt --check laid.yaml
ok "with the same rules" says '"id": "a"' helm policy compile laid.yaml

# ---- compile
ok "the document" says '"format": "helm.policy.v1"' helm policy compile prod.yaml
ok "with the place of each rule" says '"origin": "prod.yaml:6:5"' helm policy compile prod.yaml
cat >x.yaml <<'P'
apiVersion: helm.mindburn.run/v1
kind: PolicyBundle
metadata: {name: x, version: "1"}
rules:
  - {id: r1, action: a, verdict: BLOCK, reason: x}
P
sed 's/BLOCK/ALLOW/; s/name: x/name: y/' x.yaml >y.yaml
ok "of several bundles the strictest counts" says '"verdict": "DENY"' helm policy compile y.yaml x.yaml
ok "or the first, when that is asked for" says '"verdict": "ALLOW"' helm policy compile --compose first y.yaml x.yaml
ok "and the difference is told" says "different verdicts" helm policy compile y.yaml x.yaml
ok "only bundles become one" says "only bundles" helm policy compile x.yaml prod.yaml
ok "the content hash of a bundle" says "content hash" helm policy compile --hash x.yaml

# ---- serve policies
mkdir serve
printf '{"pack_id": "p", "version": 1, "actions": [{"action": "a"}]}' >serve/p.json
printf 'name = "n"\nprofile = "q"\nreference_pack = "./p.json"\n[server]\nbind = "127.0.0.1"\nport = 1\n[receipts]\nstore = "s"\npath = "r"\n' >serve/s.toml
ok "a serve policy finds its pack" says '"n:a"' helm policy compile serve/s.toml
sed 's,./p.json,../x.yaml,' serve/s.toml >serve/t.toml
ok "and never outside its folder" says "must lie beside the policy" helm policy compile serve/t.toml

# ---- import
printf '{"version": "1", "name": "old", "rules": [{"id": "a", "action": "BLOCK", "expression": "true"}]}' >old.json
ok "older shapes are imported" says '"verdict": "DENY"' helm policy import old.json
ok "and nothing else reads them" says "helm policy import" helm policy compile old.json
ok "into a new file" helm policy import old.json --out new.json
ok "which is a policy" helm policy lint new.json

# ---- sign, verify
helm init >/dev/null
key=$(helm key export)
ok "sign" helm policy sign x.yaml --out signed.json
ok "verify" helm policy verify signed.json --key "$key"
ok "not without a key" says "add --key ed25519:" helm policy verify signed.json
ok "and not by another one" says "no trust root" helm policy verify signed.json --key 3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c
ok "what is not required is not said to be" says "the policy is not signed; 'helm policy sign' signs it" helm policy verify x.yaml
ok "a private key is not taken for a public one" says "is a private key" helm policy verify signed.json --key "$(find "$scratch" -name root.key | head -n 1)"
ok "not unsigned" says "not signed" helm policy verify x.yaml --key "$key"
sed 's/"BLOCK"/"ALLOW"/' signed.json >changed.json
ok "not when a word was changed" says "not one of its bytes" helm policy verify changed.json --key "$key"
ok "not below the epoch in use" says "epoch" helm policy verify signed.json --key "$key" --epoch 1
hash=$(helm policy compile --hash x.yaml --json | sed -n 's/.*"content_hash": "\([0-9a-f]*\)".*/\1/p')
printf '["sha256:%s"]' "$hash" >revoked.json
ok "not when it was revoked" says "revoked" helm policy verify signed.json --key "$key" --revoked revoked.json

# ---- packs
ok "with their rules" says "rule eu-" helm pack show "$HELM_SOURCE/share/policies/packs/jurisdictions.yaml"
ok "and no empty heading" sh -c '! "$@" | grep -q "^: , as"' sh "$HELM_REAL" pack show "$HELM_SOURCE/share/policies/packs/jurisdictions.yaml"
ok "packs are shown" says "eu-gdpr" helm pack show "$HELM_SOURCE/share/policies/packs/jurisdictions.yaml"
cat >soc.json <<'P'
{"pack_id": "soc", "version": 1, "compliance_framework": "SOC2", "programs": [{"program_id": "p", "controls": [{"control_id": "CC6.1", "description": "access"}],
 "policy_rules": [{"action": "deny", "condition": "privilege_tier < STANDARD AND effect_type != READ", "reason": "SOC2 CC6.1: no"}]}]}
P
ok "controls and the code in receipts" says "SOC2:CC6.1" helm pack show soc.json
ok "what nothing supplies" says "nothing here supplies privilege_tier" helm pack show soc.json --as policy
ok "as a mapping it has no rule" sh -c "! '$HELM_REAL' policy compile soc.json | grep -q layers"
ok "as policy it has one" says '"POLICY_VIOLATION"' helm policy compile soc.json --as policy
ok "a policy is no pack" says "is no pack" helm pack show prod.yaml

# ---- what is wrong in a member that the engine reads: file, line, column, the word, and where to look ----
placed() { # placed LINE:COLUMN WORD MEMBERS: what lint says first about a policy with these members
  printf 'format: helm.policy.v1\nname: x\nversion: "1"\nrules:\n  - {id: a, action: b, verdict: ALLOW}\n%b\n' "$3" >placed.yaml
  helm policy lint placed.yaml >placed.out 2>&1 && { echo "it can be used"; return 1; }
  grep -q "^placed.yaml:$1: error: .*, at '$2'\$" placed.out && grep -q '^  .' placed.out || { cat placed.out; return 1; }
}
ok "a member of a section that is none" placed 6:10 allowed 'egress: {allowed: [x]}'
ok "a value of another kind" placed 7:20 api.example.com 'egress:\n  allowed_domains: api.example.com'
ok "a word that is none of those" placed 6:33 fine 'mcp: {servers: {github: {state: fine}}}'
ok "in a list" placed 8:35 requets 'limits:\n  budgets:\n    - {id: calls, limit: 5, unit: requets, period: day}'
ok "a number that is none" placed 8:26 many 'limits:\n  budgets:\n    - {id: calls, limit: many, unit: requests, period: day}'
ok "a gate that is none" placed 6:18 identiy 'requires_gates: [identiy]'
ok "a field that is none" placed 6:12 parms.x 'binds: {a: parms.x}'
ok "a session that is none" placed 6:38 s 'delegation: {sessions: [{session_id: s}]}'
ok "a setting that is none" placed 6:13 alow 'missing_is: alow'
ok "a section that nobody reads" placed 6:1 identity 'identity: {}'
ok "a field in a rule" placed 7:53 parms.x '  - {id: c, action: c, verdict: ALLOW}\n  - {id: b, action: c, verdict: DENY, all: [{field: parms.x, op: equals, value: 1}]}'
ok "an effect in a rule" placed 6:49 reed '  - {id: b, action: c, verdict: DENY, effects: [reed]}'
ok "all commands say it so" sh -c '"$0" policy compile placed.yaml 2>&1 | grep -q "placed.yaml:6:49: "' "$HELM_REAL"
ok "and as JSON" sh -c '"$@" policy lint placed.yaml --json | python3 -c "import json,sys; d=json.load(sys.stdin); x=[p for p in d[\"problems\"] if p[\"severity\"]==\"error\"][0]; assert (x[\"line\"],x[\"column\"],x[\"word\"])==(6,49,\"reed\"), x"' sh "$HELM_REAL"
printf 'format: helm.policy.v1\nname: x\nversion: "1"\nmissing_is: false\nrules:\n  - {id: a, action: b, verdict: ALLOW}\n' >plain.yaml
ok "a word that YAML takes for something else is that word" helm policy lint plain.yaml
finish
