#!/bin/sh
# hostile.t — a machine that does not keep to the rules, a tenant that looks at another, a role that wants more: nothing of it is taken.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
for tool in python3 openssl zstd; do command -v $tool >/dev/null || skip_all "no $tool"; done

fleet_make
centre tenant add acme >/dev/null
env -i PATH="$PATH" HOME="$scratch/keeper" "$HELM_REAL" signer log-key other ledger.test/other >/dev/null 2>&1
centre tenant add other >/dev/null
token() { centre token --tenant acme; }
serve_start front || exit 1
for m in anna bert; do
	machine $m init >/dev/null 2>&1
	token >$m.token
	machine $m fleet join "$url" --token-file "$scratch/$m.token" >/dev/null
	act $m 3
done
machine eve init >/dev/null 2>&1
act eve 2
bad() {
	m=$1
	shift
	python3 "$HELM_SOURCE/tests/fleet/hostile.py" "$url" "${origin:-ledger.test/acme}" "$scratch/m/$m" "$@" 2>&1
}
gets() { # gets "STATUS CODE" MACHINE VERB...
	want=$1
	shift
	got=$(bad "$@")
	case $got in "$want"*) return 0 ;; esac
	echo "$got"
	return 1
}
count() { sql "$pgdir" "SELECT count(*) FROM fleet.receipt"; }

ok "a key that has not joined sends nothing" gets "403 FLEET_KEY_UNKNOWN" eve good
ok "a signature that does not hold" gets "401 UNAUTHENTICATED" anna tamper signature
ok "a body that was changed on the way" gets "401 UNAUTHENTICATED" anna tamper body
ok "a request for another origin" gets "401 UNAUTHENTICATED" anna tamper origin
ok "a request of an hour ago" gets "401 FLEET_CLOCK" anna clock -3600
ok "a receipt that was changed" gets "422 FLEET_RECEIPT" anna changed
ok "a chain that begins with its second receipt" gets "409 FLEET_HEAD" anna gap
ok "receipts in another order" gets "422 FLEET_RECEIPT" anna order
ok "a header of another version" gets "400 FLEET_BATCH" anna header version '"helm-fleet-batch/2"'
ok "a header that counts too many" gets "400 FLEET_BATCH" anna header count 9
ok "a header with a member more" gets "400 FLEET_BATCH" anna header more 1
ok "a caption that is not what was judged" gets "400 FLEET_BATCH" anna caption
ok "a question that no receipt asks" gets "400 FLEET_BATCH a question is about no receipt" anna question approval-1
ok "a question whose id is none" gets "400 FLEET_BATCH a line behind the receipts is no question" anna question "$(printf 'approval-\033[2J')"
ok "something that is no frame" gets "400 FLEET_BATCH" anna garbage
ok "a frame that would become very large" gets "400 FLEET_BATCH" anna bomb
ok "a body that is too large" gets "400 FLEET_BATCH" anna large
ok "nothing of all that is stored" [ "$(count)" = 0 ]
ok "the chain of another machine, by a machine that has joined" gets "422 FLEET_RECEIPT" anna foreign "$scratch/m/bert"
machine bert fleet sync >/dev/null
ok "nor when the ledger has it" gets "422 FLEET_RECEIPT" anna foreign "$scratch/m/bert"
ok "and the other machine is none the worse for it" [ "$(count)" = "$(head_of bert)" ]
before=$(count)
bad anna parts >parts.out
ok "pieces that overlap, come again or too early are taken once" [ "$(cut -d' ' -f1 parts.out | tr '\n' ' ')" = "200 200 200 200 200 200 " ]
ok "what is stored, sent again with a byte changed, does not verify" gets "422 FLEET_RECEIPT" anna changed
ok "and is no fork: nobody has signed it" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.fork")$(sql "$pgdir" "SELECT count(*) FROM fleet.chain WHERE state <> 1")" = 00 ]
ok "each receipt is there once" [ $(($(count) - before)) = "$(head_of anna)" ]
# Too often is once a second here: a busy machine asks no faster.
fast=$url
serve_start slow HELM_LIMIT_NODE=1
ok "a machine that asks too often waits" sh -c 'echo "$1" | grep -q 429' sh "$(bad anna flood 200)"
serve_stop slow
url=$fast

# Another tenant.
origin=ledger.test/other
ok "a machine of one tenant is unknown to the other" gets "403 FLEET_KEY_UNKNOWN" anna good
unset origin
as() { sql_as "$pgdir" helm_fleet "$1"; }
ok "without a tenant nothing is seen" [ "$(as "SET ROLE helm_read; SELECT count(*) FROM fleet.receipt")" = 0 ]
ok "with another tenant neither" [ "$(as "SET ROLE helm_read; SET helm.tenant = '2'; SELECT count(*) FROM fleet.receipt")" = 0 ]
ok "with its own tenant all of it" [ "$(as "SET ROLE helm_read; SET helm.tenant = '1'; SELECT count(*) FROM fleet.receipt")" = "$(count)" ]
refused() { as "$1" | grep -q "permission denied\|row-level security"; }
ok "a row for another tenant is refused" refused "SET ROLE helm_ingest; SET helm.tenant = '2'; INSERT INTO fleet.fork VALUES (1, 1, 1, '', '', '', false, now())"
for table in bundle receipt span directive fork; do
	ok "nobody changes $table" refused "SET ROLE helm_ingest; SET helm.tenant = '1'; UPDATE fleet.$table SET tenant_id = 1"
	ok "nobody deletes from $table" refused "SET ROLE helm_console; SET helm.tenant = '1'; DELETE FROM fleet.$table"
done
ok "partitions are not reached beside their table" refused "SET ROLE helm_read; SELECT * FROM fleet.receipt_$(date -u +%Y_%m)"
ok "the login has no right of its own" refused "SELECT * FROM fleet.receipt"
ok "the sequencer's role stores no receipt" refused "SET ROLE helm_seq; SET helm.tenant = '1'; INSERT INTO fleet.receipt SELECT * FROM fleet.receipt"

# A server that must not start.
starts_not() { db=$1 serve_start bad >bad.out 2>&1 && return 1; grep -q "$2" bad.log || { cat bad.log; return 1; }; }
ok "a superuser is refused" starts_not "host=$pgdir dbname=helm user=postgres" "superuser"
sql "$pgdir" "CREATE ROLE strong LOGIN BYPASSRLS; GRANT helm_ingest, helm_seq, helm_read, helm_console TO strong"
ok "a role that passes over row-level security is refused" starts_not "host=$pgdir dbname=helm user=strong" "row-level security"
for s in synchronous_commit=off synchronous_commit=local; do
	ok "$s is refused" starts_not "host=$pgdir dbname=helm user=helm_fleet options='-c $s'" "synchronous_commit"
done
sql "$pgdir" "INSERT INTO fleet.schema_version(v, sha256) SELECT max(v) + 2, '' FROM fleet.schema_version"
ok "a schema from the future is refused" starts_not "$db" "newer helm"
sql "$pgdir" "DELETE FROM fleet.schema_version WHERE sha256 = ''; UPDATE fleet.schema_version SET sha256 = '\\x00'"
ok "a schema of another making is refused" starts_not "$db" "not a ledger of this helm"
pg_stop "$pgdir"
pg_start "$pgdir" full_page_writes=off
ok "full_page_writes=off is refused" starts_not "$db" "full_page_writes"
pg_stop "$pgdir"
(cd / && pg pg_ctl -D "$pgdir/data" -w -l "$pgdir/data/server.log" -o "-c listen_addresses= -c unix_socket_directories=$pgdir -c fsync=off" start >/dev/null 2>&1)
ok "fsync=off is refused" starts_not "$db" "fsync"
finish
