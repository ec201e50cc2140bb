#!/bin/sh
# story.t — three workspaces under three users join; one is frozen from the centre, one is rolled back and caught, the database is killed twice; an auditor with
# the pack, the log's key and a witness's key verifies what happened.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"

# Three users of the system where we may become them; otherwise three homes.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && [ -x "$HELM_REAL" ] && setpriv --reuid=61001 --regid=61001 --clear-groups -- "$HELM_REAL" --version >/dev/null 2>&1; then
	uid_of() { case $1 in anna) echo 61001 ;; bert) echo 61002 ;; *) echo 61003 ;; esac; }
	as_user() {
		uid=$(uid_of "$1")
		shift
		setpriv --reuid="$uid" --regid="$uid" --clear-groups -- "$@"
	}
	own() { chown -R "$(uid_of "$1"):$(uid_of "$1")" "$scratch/m/$1"; }
	chmod 0711 "$scratch"
	umask 022
else
	echo "# not as three users of the system: that takes root"
	as_user() {
		shift
		"$@"
	}
	own() { :; }
fi
machine() {
	who=$1
	shift
	[ -d "$scratch/m/$who" ] || { mkdir -p "$scratch/m/$who" && own "$who"; }
	(cd "$scratch/m/$who" && as_user "$who" env -i PATH="$PATH" HOME="$scratch/m/$who" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" "$@")
}
hook() {
	(cd "$scratch/m/$1" && as_user "$1" env -i PATH="$PATH" HOME="$scratch/m/$1" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
		python3 "$HELM_SOURCE/tests/tools/agent.py" "$HELM_REAL" hook pre-tool --client claude-code)
}

fleet_make
centre tenant add acme >/dev/null
log_key=$(sql "$pgdir" "SELECT log_vkey FROM fleet.tenant")
control_key=$(sql "$pgdir" "SELECT control_vkey FROM fleet.tenant")

# A witness that somebody else runs.
mkdir -p witness
w() { env -i PATH="$PATH" HOME="$scratch/witness" LC_ALL=C.UTF-8 "$HELM_REAL" witness "$@"; }
w key witness.test/1 >witness.key 2>&1
witness_key=$(grep -o 'witness.test/1+[^ ]*' witness.key | head -1)
env -i PATH="$PATH" HOME="$scratch/witness" LC_ALL=C.UTF-8 "$HELM_REAL" witness serve --log "$log_key" --port 0 >witness.out 2>witness.log &
echo $! >witness.pid
wait_for 10 grep -q ready witness.out
witness_url=$(sed -n 's/.*"base_url":"\([^"]*\)".*/\1/p' witness.out)
printf 'log %s\nwitness w %s %s\nquorum w\n' "$log_key" "$witness_key" "$witness_url" >policy
env -i PATH="$PATH" HOME="$scratch/centre" LC_ALL=C.UTF-8 "$HELM_REAL" serve fleet --database "$db" --signer "$signer" --witnesses policy --port 0 >front.out 2>front.log &
echo $! >front.pid
wait_for 15 grep -q ready front.out || cat front.log
url=$(sed -n 's/.*"base_url":"\([^"]*\)".*/\1/p' front.out)

for m in anna bert carl; do
	ok "$m joins" machine_new $m
	ok "$m has a home that is $m's own" [ "$(stat -c %u "$scratch/m/$m/.helm/workspace")" = "$(as_user "$m" id -u)" ]
	act $m 4
	machine $m fleet sync >/dev/null
done
cp -a "$scratch/m/carl" "$scratch/carl.old"
act carl 3
machine carl fleet sync >/dev/null

for i in 1 2; do
	act anna 3
	(machine anna fleet sync >/dev/null 2>&1) &
	pg_kill "$pgdir"
	wait_for 20 sh -c "! pgrep -f '$pgdir/data' >/dev/null"
	rm -f "$pgdir/data/postmaster.pid"
	pg_start "$pgdir"
	again() { machine anna fleet sync >/dev/null 2>&1; }
	ok "the database is killed, time $i, and the machine goes on" wait_for 30 again
done

bert=$(machine bert fleet status --json | sed -n 's/.*"node": "\([0-9]*\)".*/\1/p')
centre freeze --node "$bert" --reason "what is it doing" >/dev/null
machine bert fleet sync >/dev/null
ok "one is frozen from the centre, and has confirmed it" says 0 "1 of 1" centre orders
ok "the others go on" allowed anna "touch note"

rm -rf "$scratch/m/carl"
cp -a "$scratch/carl.old" "$scratch/m/carl"
act carl 1
ok "one was rolled back, went on, and is caught" says 1 FLEET_FORK machine carl fleet sync
ok "the audit says what there is to say" says 1 "two receipts at" centre audit
settled() { [ "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" = "$(sql "$pgdir" 'SELECT sum(head) FROM fleet.chain')" ] && [ "$(sql "$pgdir" 'SELECT max(tree_size) FROM fleet.checkpoint WHERE cosigned = 1')" = "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" ]; }
ok "all of it is in one tree, signed and cosigned" wait_for 30 settled || cat front.log

ok "evidence leaves the house" centre export --out "$scratch/fleet.pack"
serve_stop front
pg_stop "$pgdir"
auditor() { env -i PATH="$PATH" HOME="$scratch/auditor" LC_ALL=C.UTF-8 "$HELM_REAL" verify "$scratch/fleet.pack" "$@"; }
mkdir auditor
ok "an auditor with the log's and a witness's key verifies it" says 0 ADMISSIBLE auditor --log-key "$log_key" --witness-key "$witness_key"
ok "and the orders, with the control key" says 0 ADMISSIBLE auditor --log-key "$log_key" --witness-key "$witness_key" --control-key "$control_key"
ok "without keys nothing is trusted" says 1 UNVERIFIED auditor
python3 - fleet.pack <<'PY'
import sys
p = sys.argv[1]
b = bytearray(open(p, "rb").read())
i = b.index(b'"reason_code":"')
b[i + 16] ^= 1
open(p, "wb").write(b)
PY
ok "one bit, and it is not" says 1 TAMPERED auditor --log-key "$log_key" --witness-key "$witness_key"
finish
