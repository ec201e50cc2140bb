# lib.sh — for tests of the fleet: a PostgreSQL cluster of their own, unprivileged, on a socket in a temporary directory, with fsync on.
# Where PostgreSQL is not installed the test is skipped, and says so.
# shellcheck shell=sh

. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

fleet_pg=$(for d in /usr/lib/postgresql/*/bin; do [ -x "$d/initdb" ] && echo "$d"; done | sort -V | tail -1)
[ -n "$fleet_pg" ] || skip_all "PostgreSQL is not installed (package postgresql): nothing of the fleet's ledger is tested here"

# A cluster refuses to run as root: whoever is root becomes nobody for it.
if [ "$(id -u)" -eq 0 ]; then
	pg() { setpriv --reuid=65534 --regid=65534 --clear-groups -- env -i PATH="$fleet_pg:/usr/bin:/bin" LC_ALL=C.UTF-8 HOME=/nonexistent "$@"; }
	pg_own() { chown -R 65534:65534 "$@"; }
else
	pg() { env -i PATH="$fleet_pg:/usr/bin:/bin" LC_ALL=C.UTF-8 "$@"; }
	pg_own() { :; }
fi

# pg_make DIR: a new cluster there, from a template that is made once for all tests of a run.
pg_make() {
	chmod 0711 "$scratch"
	mkdir -p "$1"
	template=${HELM_PG_TEMPLATE:-}
	if [ -z "$template" ] || [ ! -d "$template" ]; then
		pg_own "$1"
		chmod 0711 "$1"
		cd / && pg initdb -D "$1/data" -U postgres -A trust --no-locale -E UTF8 >"$1.log" 2>&1 || return 1
		cd "$scratch" || return 1
	else
		cp -a "$template/data" "$1/data"
		pg_own "$1"
	fi
	chmod 0711 "$1"
}

# pg_start DIR [SETTING...]: run it; its socket is in DIR.
pg_start() {
	pg_dir=$1
	shift
	settings=""
	for s in "$@"; do settings="$settings -c $s"; done
	# shellcheck disable=SC2086
	(cd / && pg pg_ctl -D "$pg_dir/data" -w -t 60 -l "$pg_dir/data/server.log" -o "-c listen_addresses= -c unix_socket_directories=$pg_dir -c fsync=on -c max_connections=60 -c shared_buffers=32MB $settings" start >/dev/null 2>&1)
}
# pg_stop DIR [MODE]: fast, or immediate: as if the machine had lost its power.
pg_stop() { (cd / && pg pg_ctl -D "$1/data" -w -m "${2:-fast}" stop >/dev/null 2>&1); }
pg_kill() { kill -9 "$(head -1 "$1/data/postmaster.pid")"; }
# sql DIR QUERY: as the superuser, one value a line.
sql() { (cd / && pg psql -h "$1" -U postgres -d helm -qtAX -v ON_ERROR_STOP=1 -c "$2"); }
# sql_script FILE: the same as a script, for whoever is no shell.
sql_script() {
	become=
	[ "$(id -u)" -ne 0 ] || become="setpriv --reuid=65534 --regid=65534 --clear-groups --"
	# shellcheck disable=SC2016
	printf 'cd / && exec %s env -i PATH="%s:/usr/bin:/bin" LC_ALL=C.UTF-8 psql -h "%s" -U postgres -d helm -qtAX -v ON_ERROR_STOP=1 -c "$1"\n' "$become" "$fleet_pg" "$pgdir" >"$1"
}
sql_as() { (cd / && pg psql -h "$1" -U "$2" -d helm -qtAX -v ON_ERROR_STOP=1 -c "$3") 2>&1; }

# ---- a ledger ----

# fleet_make: cluster, tables, role, tenant "acme"; sets $db (as the server logs in) and $pgdir.
fleet_make() {
	pgdir=$scratch/pg
	if ! pg_make "$pgdir" || ! pg_start "$pgdir"; then
		cat "$pgdir.log" "$pgdir/data/server.log" 2>/dev/null
		echo "Bail out! no cluster"
		exit 1
	fi
	chmod 0711 "$scratch"
	(cd / && pg createdb -h "$pgdir" -U postgres helm) || exit 1
	db="host=$pgdir dbname=helm user=helm_fleet"
	helm serve fleet migrate --database "host=$pgdir dbname=helm user=postgres" --login helm_fleet >migrate.log 2>&1 || {
		cat migrate.log
		echo "Bail out! no tables"
		exit 1
	}
	signer_start || {
		cat "$scratch/log-key.out" "$scratch/signer.log"
		echo "Bail out! no signer"
		exit 1
	}
}
# signer_start: the keeper of the logs' keys, with one for acme.
signer_start() {
	signer=$scratch/signer.sock
	mkdir -p "$scratch/keeper"
	[ -d "$scratch/keeper/.helm/logs/acme" ] || env -i PATH="$PATH" HOME="$scratch/keeper" "$HELM_REAL" signer log-key acme ledger.test/acme >"$scratch/log-key.out" 2>&1
	env -i PATH="$PATH" HOME="$scratch/keeper" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" signer log --socket "$signer" --for "$(id -u)" >"$scratch/signer.log" 2>&1 &
	echo $! >"$scratch/signer.pid"
	wait_for 10 test -S "$signer"
}
# centre ARGS...: helm fleet ARGS at the centre, which has a home of its own.
centre() {
	env -i PATH="$PATH" HOME="$scratch/centre" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" HELM_FLEET_DATABASE="$db" HELM_FLEET_SIGNER="$signer" "$HELM_REAL" fleet "$@"
}
# serve_start [NAME] [ENV...]: a front end; its pid is in $NAME.pid, its address in $url.
serve_start() {
	name=${1:-front}
	shift 2>/dev/null
	env -i PATH="$PATH" HOME="$scratch/centre" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$@" \
		"$HELM_REAL" serve fleet --database "$db" --signer "$signer" --port "${port:-0}" >"$name.out" 2>"$name.log" &
	echo $! >"$name.pid"
	waited=0
	while ! grep -q '"ready":true' "$name.out" 2>/dev/null; do
		waited=$((waited + 1))
		if [ $waited -gt 300 ] || ! is_alive "$(cat "$name.pid")"; then
			cat "$name.log"
			return 1
		fi
		sleep 0.05
	done
	url=$(sed -n 's/.*"base_url":"\([^"]*\)".*/\1/p' "$name.out")
}
serve_stop() { kill "$(cat "${1:-front}.pid")" 2>/dev/null; wait "$(cat "${1:-front}.pid")" 2>/dev/null; }

# token_link TENANT NAME: a link as they were before there were invitations: it opens as long as its token does.
token_link() {
	printf 'http://localhost:%s/console/#enter=%s&log=%s\n' "${url##*:}" "$(centre reader add "$2" --tenant "$1")" "$(sql "$pgdir" "SELECT log_vkey FROM fleet.tenant WHERE name = '$1'")"
}
# drive WORDS...: drive.py of this test; each "ok WHAT" and "NOT WHAT" that it says is a test.
drive() {
	HELM_REAL=$HELM_REAL HELM_SOURCE=$HELM_SOURCE python3 drive.py "$@" >drive.out 2>&1 || echo "NOT the driver ended" >>drive.out
	while IFS= read -r line; do
		case $line in
		"ok "*) ok "${line#ok }" true ;;
		"NOT "*) ok "${line#NOT }" false ;;
		*) printf '# %s\n' "$line" ;;
		esac
	done <drive.out
}

# ---- what must hold after every failure ----

# whole NAME...: of every machine all receipts, each once, in one tree.
whole() {
	for m in "$@"; do
		key=$(cat "$scratch/m/$m/.helm/keys/root.pub")
		have=$(sql "$pgdir" "SELECT count(*) || ' ' || count(DISTINCT lamport) || ' ' || max(lamport) FROM fleet.receipt r JOIN fleet.chain c USING (chain_id) JOIN fleet.node_key k USING (node_id) WHERE k.key = '\\x$key'")
		n=$(head_of "$m")
		[ "$have" = "$n $n $n" ] || { echo "$m: $have of $n"; return 1; }
	done
	[ "$(sql "$pgdir" 'SELECT count(DISTINCT leaf_first), sum(n) FROM fleet.span')" = "$(sql "$pgdir" 'SELECT count(*) , (SELECT tree_size FROM fleet.log) FROM fleet.span')" ]
}
# The tree has all of it, and is the one that was signed.
settled() { [ "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" = "$(sql "$pgdir" 'SELECT sum(head) FROM fleet.chain')" ] && [ "$(sql "$pgdir" 'SELECT max(tree_size) FROM fleet.checkpoint')" = "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" ]; }
sound() { wait_for 30 settled && whole "$@" && says 0 "Every chain is whole" centre audit; }
sync_anna() { machine anna fleet sync; }
again() { wait_for 30 sync_anna && sound anna; }
# pg_again DIR: after a kill, when all of it is gone.
pg_again() {
	wait_for 20 sh -c "! pgrep -f '$1/data' >/dev/null"
	rm -f "$1/data/postmaster.pid"
	pg_start "$1"
}

# machine NAME ARGS...: helm as user NAME on a machine of its own (a home of its own).
machine() {
	who=$1
	shift
	mkdir -p "$scratch/m/$who"
	# shellcheck disable=SC2086
	(cd "$scratch/m/$who" && env -i PATH="$PATH" HOME="$scratch/m/$who" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" ${MACHINE_ENV:-} "$HELM_REAL" "$@")
}
# machine_new NAME: with a workspace, joined.
machine_new() {
	machine "$1" init >/dev/null 2>&1 || return 1
	centre token >"$1.token" || return 1
	machine "$1" fleet join "$url" --token-file "$scratch/$1.token"
}
# hook NAME: a call on standard input, as an agent client there makes it.
hook() {
	(cd "$scratch/m/$1" && env -i PATH="$PATH" HOME="$scratch/m/$1" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
		python3 "$HELM_SOURCE/tests/tools/agent.py" "$HELM_REAL" hook pre-tool --client claude-code)
}
# act NAME [N]: so many calls of an agent there are judged and recorded.
act() {
	n=${2:-1}
	while [ "$n" -gt 0 ]; do
		printf '{"tool_name":"Bash","tool_input":{"command":"rm -rf /etc/%s"},"session_id":"s","cwd":"%s"}' "$n" "$scratch/m/$1" |
			hook "$1" >/dev/null 2>&1
		n=$((n - 1))
	done
}
chain_of() { echo "$scratch/m/$1/.helm/workspace/.helm/receipts.jsonl"; }
head_of() { grep -c . "$(chain_of "$1")"; }
# says_not CODE TEXT COMMAND...: it ends so, says something, and not this.
says_not() {
	wanted=$1
	unwanted=$2
	shift 2
	said=$("$@" 2>&1)
	ended=$?
	[ "$ended" = "$wanted" ] && [ -n "$said" ] && case $said in *"$unwanted"*) false ;; esac || {
		printf '%s\n' "exit $ended, and says:" "$said"
		return 1
	}
}
# allowed NAME COMMAND: an agent there asks to run that, and it is on record that it may.
allowed() {
	had=$(grep -c '"verdict":"ALLOW"' "$(chain_of "$1")")
	printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s","cwd":"%s"}' "$2" "$scratch/m/$1" | hook "$1" >allowed.out 2>&1
	[ "$(grep -c '"verdict":"ALLOW"' "$(chain_of "$1")")" -gt "$had" ] || {
		cat allowed.out
		return 1
	}
}
wait_for() { # wait_for SECONDS COMMAND...: until it succeeds
	left=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.1
	done
}
fleet_end() {
	for p in "$scratch"/*.pid; do
		[ -e "$p" ] && kill "$(cat "$p")" 2>/dev/null
	done
	[ -n "${pgdir:-}" ] && pg_stop "$pgdir" immediate
	if mountpoint -q "${pgdir:-/nowhere}/small" 2>/dev/null; then umount -l "$pgdir/small"; fi
}
trap 'fleet_end; chmod -R u+rwX "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT

# fleet_two_tenants: acme, whose root key is at offline/, and beta beside it.
fleet_two_tenants() {
	env -i PATH="$PATH" HOME="$scratch/keeper" "$HELM_REAL" signer log-key beta ledger.test/beta >>"$scratch/log-key.out" 2>&1
	kill "$(cat signer.pid)"
	wait "$(cat signer.pid)" 2>/dev/null
	rm -f "$signer"
	signer_start
	mkdir -p "$scratch/offline" "$scratch/centre"
	env -i HOME="$scratch/offline" "$HELM_REAL" key create >/dev/null
	root=$(cat "$scratch/offline/.helm/keys/root.pub")
	centre tenant add acme --root "$root" >/dev/null
	centre tenant add beta >/dev/null
}
# joined_asking TENANT NAME: a machine that sends its questions, too.
joined_asking() {
	machine "$2" init >/dev/null 2>&1
	centre token --tenant "$1" >"$2.token"
	if [ "$1" = acme ]; then set -- "$1" "$2" --root "$root"; fi
	name=$2
	shift 2
	machine "$name" fleet join "$url" --token-file "$scratch/$name.token" --ship questions "$@" >/dev/null
}
# ask_there NAME COMMAND: an agent there wants that.
ask_there() { printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s","cwd":"%s"}' "$2" "$scratch/m/$1" | hook "$1" >/dev/null 2>&1; }
# at_terminal NAME WORDS...: terminal.py on that machine.
at_terminal() {
	who=$1
	shift
	(cd "$scratch/m/$who" && env -i PATH="$PATH" HOME="$scratch/m/$who" LC_ALL=C.UTF-8 TERM=dumb TERMINALS="$scratch/.terminals" python3 "$HELM_SOURCE/tests/tools/terminal.py" "$@")
}
# two_people NAME: deleting there takes two people from now on.
two_people() {
	cat >"$scratch/m/$1/two.yaml" <<'Y'
format: helm.policy.v1
name: two
version: "1"
rules:
  - {id: any, action: "*", verdict: ALLOW}
  - {id: two, action: "*", effects: [delete], verdict: ESCALATE, approvers: 2, text: This takes two people.}
Y
	at_terminal "$1" USE -- "$HELM_REAL" policy use two.yaml >use.out 2>&1 || cat use.out
}
# lines_of FILE: what a driver has said, "ok ..." and "NOT ...", as lines of this test.
lines_of() {
	while IFS= read -r line; do
		case $line in
		"ok "*) ok "${line#ok }" true ;;
		"NOT "*) ok "${line#NOT }" false ;;
		*) printf '# %s\n' "$line" ;;
		esac
	done <"$1"
}
# forge KIND [AT]: whoever has the control key makes an order of it, with the body on standard input, as nothing of ours would give it.
forge() {
	cat >"$scratch/forge.body"
	sql "$pgdir" "$(python3 "$HELM_SOURCE/tests/tools/forge_order.py" "$signer" "$@" <"$scratch/forge.body")" >/dev/null
}
