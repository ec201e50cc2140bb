#!/bin/sh
# tenants.t — two tenants of one ledger, one witness for both: what it cosigned of one log says nothing about the other.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"

fleet_make
env -i PATH="$PATH" HOME="$scratch/keeper" "$HELM_REAL" signer log-key beta ledger.test/beta >>"$scratch/log-key.out" 2>&1
kill "$(cat signer.pid)"
wait "$(cat signer.pid)" 2>/dev/null
rm -f "$signer"
signer_start
for t in acme beta; do centre tenant add $t >/dev/null || echo "# no tenant $t"; done
key_of() { sql "$pgdir" "SELECT log_vkey FROM fleet.tenant WHERE name = '$1'"; }

mkdir -p witness
env -i PATH="$PATH" HOME="$scratch/witness" LC_ALL=C.UTF-8 "$HELM_REAL" witness key witness.test/1 >witness.key 2>&1
witness_key=$(grep -o 'witness.test/1+[^ ]*' witness.key | head -1)
env -i PATH="$PATH" HOME="$scratch/witness" LC_ALL=C.UTF-8 "$HELM_REAL" witness serve --log "$(key_of acme)" --log "$(key_of beta)" --port 0 >witness.out 2>witness.log &
echo $! >witness.pid
wait_for 10 grep -q ready witness.out || sed 's/^/# /' witness.log
witness_url=$(sed -n 's/.*"base_url":"\([^"]*\)".*/\1/p' witness.out)
printf 'log %s\nwitness w %s %s\nquorum w\n' "$(key_of acme)" "$witness_key" "$witness_url" >policy
env -i PATH="$PATH" HOME="$scratch/centre" LC_ALL=C.UTF-8 "$HELM_REAL" serve fleet --database "$db" --signer "$signer" --witnesses policy --port 0 >front.out 2>front.log &
echo $! >front.pid
wait_for 15 grep -q ready front.out || sed 's/^/# /' front.log
url=$(sed -n 's/.*"base_url":"\([^"]*\)".*/\1/p' front.out)

# in_tenant TENANT NAME N: a machine of that tenant with so many receipts.
in_tenant() {
	machine "$2" init >/dev/null 2>&1
	centre token --tenant "$1" >"$2.token"
	machine "$2" fleet join "$url" --token-file "$scratch/$2.token" >/dev/null
	act "$2" "$3"
	machine "$2" fleet sync >/dev/null
}
cosigned() { [ "$(sql "$pgdir" "SELECT coalesce(max(tree_size), 0) FROM fleet.checkpoint c JOIN fleet.tenant t USING (tenant_id) WHERE t.name = '$1' AND cosigned = 1")" -ge "$2" ]; }
in_tenant acme anna 5
ok "the log of one tenant is cosigned" wait_for 15 cosigned acme 5
in_tenant beta bert 1
ok "and the smaller log of another one" wait_for 15 cosigned beta 1
act bert 1
machine bert fleet sync >/dev/null
ok "which grows" wait_for 15 cosigned beta 2
centre reader add tom --tenant acme >tom.token
ok "a reader of one tenant sees its machine, and nothing of another" [ "$(env -i PATH="$PATH" HOME="$scratch/reader" "$HELM_REAL" fleet nodes --json --url "$url" --token-file tom.token | grep -c '"node"')" = 1 ]
ok "nor with its token under another's name" [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $(sed 's/hfr_acme/hfr_beta/' tom.token)" -H 'Content-Type: application/json' -d '{}' "$url/v1/fleet/view/nodes")" = 401 ]
ok "nobody was taken for set back" sh -c '! grep -q "TLOG_QUORUM\|ROLLED_BACK" front.log'
finish
