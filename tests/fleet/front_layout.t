#!/bin/sh
# front_layout.t — the pages of a fleet's console at 320, 768 and 1280 pixels, in light and in dark: with nothing, with one machine, after a day's work, when every text is hostile, and with
# ten thousand of everything.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ "${HELM_TEST_CLIENTS:-}" = 1 ] || skip_all "a real browser is driven only by ./check --all"
! grep -qa __asan_init "$HELM_REAL" || skip_all "pages lie the same under the sanitizers; front_browser.t drives the server there"
needs_terminal

fleet_make
fleet_two_tenants
serve_start front || exit 1
token_link acme look >reader.link
FLEET_LINK=$(cat reader.link)
export FLEET_LINK
# stage NAME: what is there is looked at; its lines are lines of this test.
stage() {
	(STAGE=$1 drive_browser fleet_layout.mjs) >stage.out 2>&1
	grep -q '^1\.\.0' stage.out && { cat stage.out; exit 77; }
	grep -q '^1\.\.' stage.out || echo "not ok - it did not come to its end" >>stage.out
	while IFS= read -r line; do
		case $line in
		"ok "*) ok "$1: ${line#* - }" true ;;
		"not ok "*) ok "$1: ${line#* - }" false ;;
		1..*) ;;
		*) printf '# %s\n' "${line#\# }" ;;
		esac
	done <stage.out
}
told() { centre "$@" --tenant acme >/dev/null 2>&1; }
taken() { curl -sS -o /dev/null -H "Authorization: Bearer $(sed 's/.*enter=\([^&]*\)&.*/\1/' reader.link)" "$url/api/v1/console/acts/export?format=csv&q=$1"; }

settled_all() { [ "$(sql "$pgdir" 'SELECT sum(tree_size) FROM fleet.log')" = "$(sql "$pgdir" 'SELECT sum(head) FROM fleet.chain')" ] && [ "$(sql "$pgdir" 'SELECT max(tree_size) FROM fleet.checkpoint')" = "$(sql "$pgdir" 'SELECT max(tree_size) FROM fleet.log')" ]; }

stage empty
joined_asking acme anna
ask_there anna "rm -rf main"
machine anna fleet sync >/dev/null 2>&1
wait_for 20 settled_all
stage one

for m in bert carl dora; do joined_asking acme $m; done
two_people dora
act anna 3
act bert 5
ask_there bert "rm -rf other"
ask_there dora "rm -rf what-takes-two"
for m in bert carl dora anna; do machine $m fleet sync >/dev/null 2>&1; done
python3 - "$url" >words <<'PY'
import base64, json, os, sys, urllib.parse
sys.path.insert(0, os.environ["HELM_SOURCE"] + "/tests/tools")
from passkey import Passkey, b64
p = Passkey("ed25519")
doc = {"algorithm": "ed25519", "credential_id": b64(p.id), "origin": "http://localhost:%d" % urllib.parse.urlparse(sys.argv[1]).port, "public_key_hex": p.x.hex(), "rp_id": "localhost"}
print("helm-passkey:" + b64(json.dumps(doc, sort_keys=True, separators=(",", ":")).encode()))
PY
env -i PATH="$PATH" HOME="$scratch/offline" "$HELM_REAL" fleet approvers sign "boss=$(cat words)" --root-key "$scratch/offline/.helm/keys/root.key" --origin ledger.test/acme >list.json
told approvers give "$scratch/list.json"
told freeze --reason "a drill on a calm day"
for m in anna bert; do machine $m fleet sync >/dev/null 2>&1; done
told unfreeze --reason "it was a drill"
for m in anna bert carl dora; do machine $m fleet sync >/dev/null 2>&1; done
python3 - "$scratch/m/carl/.helm/fleet/state.json" <<'PY'
import json, sys
doc = json.load(open(sys.argv[1])); doc["checkpoint_size"] = 100000; json.dump(doc, open(sys.argv[1], "w"))
PY
machine carl fleet sync >/dev/null 2>&1
taken rm
taken ""
wait_for 20 settled_all
stage day

# Every text that a machine or an agent says.
nasty="<img src=x onerror=window.hurt=1> $(printf '\342\200\256')gpj.exe $(printf '%0160d' 7) https://example.com/$(printf '%090d' 3)?a=b"
sql "$pgdir" "UPDATE fleet.node SET host = host || ' $nasty', owner = '$nasty'; UPDATE fleet.receipt SET caption = '$nasty ' || lamport, rule = CASE WHEN rule LIKE 'order:%' THEN rule ELSE '$nasty' END, tool = '$nasty', principal = '$nasty';
UPDATE fleet.node SET beat = convert_to(regexp_replace(convert_from(beat, 'UTF8'), '\"why\":\"[^\"]*\"', '\"why\":\"$nasty\"'), 'UTF8') WHERE beat IS NOT NULL" >/dev/null
told freeze --reason "$nasty"
taken "%3Cimg%20src%3Dx%20onerror%3Dwindow.hurt%3D2%3E%E2%80%AE$(printf '%0160d' 7)"
stage hostile

# Ten thousand of everything.
sql "$pgdir" "DELETE FROM fleet.directive WHERE tenant_id = 1 AND kind = 'freeze' AND seq = (SELECT max(seq) FROM fleet.directive WHERE tenant_id = 1 AND kind = 'freeze');
UPDATE fleet.node SET host = 'host-' || node_id, owner = 'root'; UPDATE fleet.receipt SET caption = 'ls ' || lamport, rule = CASE WHEN rule LIKE 'order:%' THEN rule ELSE 'deny.rm_root' END, tool = 'Bash', principal = 'agent:claude-code';
INSERT INTO fleet.node(tenant_id, node_id, host, owner, seen_at, beat) SELECT 1, i, 'host-' || i, 'user-' || i % 7, now() - make_interval(secs => i % 4000), (SELECT beat FROM fleet.node WHERE beat IS NOT NULL AND tenant_id = 1 ORDER BY node_id LIMIT 1) FROM generate_series(1, 10000) i;
INSERT INTO fleet.receipt SELECT c.tenant_id, c.chain_id, c.head + i, now() - make_interval(secs => 20000 - i), now(), decode(md5(i::text) || md5(i::text), 'hex'), CASE WHEN i % 3 = 0 THEN 2 ELSE 1 END, 'decision', '', CASE WHEN i % 3 = 0 THEN 'deny.rm_root' ELSE '' END, 'Bash', 'agent:claude-code', 'dec-' || i, 'ls -la directory-' || i FROM (SELECT * FROM fleet.chain WHERE tenant_id = 1 ORDER BY chain_id LIMIT 1) c, generate_series(1, 10000) i;
INSERT INTO fleet.span SELECT c.tenant_id, c.chain_id, c.head + 1 + k * 100, 100, l.tree_size + k * 100 FROM (SELECT * FROM fleet.chain WHERE tenant_id = 1 ORDER BY chain_id LIMIT 1) c JOIN fleet.log l USING (tenant_id), generate_series(0, 99) k;
UPDATE fleet.chain SET head = head + 10000, sequenced = sequenced + 10000 WHERE chain_id = (SELECT chain_id FROM fleet.chain WHERE tenant_id = 1 ORDER BY chain_id LIMIT 1);
UPDATE fleet.log SET tree_size = tree_size + 10000 WHERE tenant_id = 1;
INSERT INTO fleet.directive(tenant_id, seq, kind, body, hash, made_by) SELECT 1, 100000 + i, 'taken', convert_to('{\"at\":\"2026-01-02T03:04:05Z\",\"body\":{\"what\":\"csv\",\"by\":\"reader:look\",\"over\":{\"verdict\":\"DENY\",\"before\":' || i || '},\"sha256\":\"sha256:' || md5(i::text) || md5(i::text) || '\",\"bytes\":1000,\"rows\":' || i || '}}', 'UTF8'), '\\\\x00', 'reader:x' FROM generate_series(1, 10000) i;
ANALYZE" >/dev/null
stage many
fleet_end
finish
