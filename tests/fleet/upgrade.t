#!/bin/sh
# upgrade.t — a ledger of before there were people: migrated, its readers go on as they were, and people come in without anything granted anew to the role that servers log in as.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"

pgdir=$scratch/pg
pg_make "$pgdir" && pg_start "$pgdir" || exit 1
chmod 0711 "$scratch"
(cd / && pg createdb -h "$pgdir" -U postgres helm) || exit 1
db="host=$pgdir dbname=helm user=helm_fleet"
# As it was made then: five roles, three migrations.
sql "$pgdir" "DO \$\$ DECLARE r text; BEGIN FOREACH r IN ARRAY ARRAY['helm_owner', 'helm_ingest', 'helm_seq', 'helm_read', 'helm_console'] LOOP EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS NOINHERIT', r); END LOOP; END \$\$;
CREATE ROLE helm_fleet LOGIN NOINHERIT NOSUPERUSER NOBYPASSRLS; GRANT helm_ingest, helm_seq, helm_read, helm_console TO helm_fleet;
CREATE SCHEMA fleet AUTHORIZATION helm_owner; SET ROLE helm_owner; CREATE TABLE fleet.schema_version(v int4 PRIMARY KEY, sha256 bytea NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
for v in 1 2 3; do
	sql "$pgdir" "SET ROLE helm_owner; SET search_path = fleet; $(cat "$HELM_SOURCE/share/fleet/00$v.sql")
INSERT INTO schema_version(v, sha256) VALUES ($v, '\\x$(sha256sum <"$HELM_SOURCE/share/fleet/00$v.sql" | cut -d' ' -f1)')"
done
token=hfr_acme.$(printf '%048d' 7)
signer_start || exit 1
keys=$(sed -n 's/.*\(ledger.test[^ ]*\).*/\1/p' log-key.out | tr '\n' ' ')
sql "$pgdir" "INSERT INTO fleet.tenant(tenant_id, name, origin, log_vkey, control_vkey) VALUES (1, 'acme', 'ledger.test/acme', '${keys%% *}', '${keys##* }');
INSERT INTO fleet.log VALUES (1, 0, sha256('')); INSERT INTO fleet.reader(tenant_id, token_sha256, name, expires_at, made_by) VALUES (1, sha256('$token'), 'old', now() + interval '1 day', 'user:0')"
ok "a server wants the tables first" sh -c '! "$1" serve fleet --database "$2" --signer "$3" --port 0 >early.out 2>early.log && grep -q "helm serve fleet migrate" early.log' sh "$HELM_REAL" "$db" "$signer"
ok "they are advanced, with no login named" says 0 "it was at 3" helm serve fleet migrate --database "host=$pgdir dbname=helm user=postgres"
serve_start front || exit 1
ask() { curl -s -H "Authorization: Bearer $token" "$url/api/v1/console/$1" -H "Host: localhost:${url##*:}"; }
ok "a reader of before reads as before" [ "$(ask me | grep -c '"reader": *"old"')" = 1 ]
ok "and is in the list" says 0 old centre reader list
ok "a link of before still opens: its token has a session" [ "$(curl -s -o /dev/null -w '%{http_code}' -H 'Sec-Fetch-Site: same-origin' -H 'X-Helm: 1' -H "Origin: http://localhost:${url##*:}" -H "Host: localhost:${url##*:}" -H 'Content-Type: application/json' -d "{\"token\":\"$token\"}" "$url/api/v1/console/enter")" = 200 ]
machine_new anna >/dev/null 2>&1
act anna 2
machine anna fleet sync >/dev/null 2>&1
centre reader invite ann --machines "$(sql "$pgdir" 'SELECT node_id FROM fleet.node')" --link "http://localhost:${url##*:}" >ann.link
cat >drive.py <<'PY'
import os, sys
sys.path.insert(0, os.environ["HELM_SOURCE"] + "/tests/tools")
from front import *
ann = Person(Front(sys.argv[1]))
assert ann.register(re.search("#invite=([^&]+)&", open("ann.link").read()).group(1))[0] == 200
st, doc = ann.get("machines")
assert st == 200 and len(doc["machines"]) == 1, (st, doc)
PY
ok "an engineer comes in, by the role that was there" env HELM_SOURCE="$HELM_SOURCE" HELM_REAL="$HELM_REAL" python3 drive.py "$url"
fleet_end
finish
