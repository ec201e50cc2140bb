#!/bin/sh
# guide.t — docs/guides/fleet.md, line by line: from an installed PostgreSQL to the first joined machine and back.
# The users of the system that it names are homes here; the socket, the port and the cluster are the test's own.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"

pgdir=$scratch/pg
pg_make "$pgdir" || exit 1
pg_start "$pgdir" || exit 1
free=$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
mkdir -p run me
sudo() {
	case $1 in
	apt-get) return 0 ;; # it is here: otherwise all of this is skipped
	-u)
		user=$2
		shift 2
		case $user in
		postgres) $bg env -i PATH="$fleet_pg:$bin:/usr/bin:/bin" HOME="$scratch/nobody" PGHOST="$pgdir" PGUSER=postgres "$@" ;;
		helm-fleet) $bg env -i PATH="$bin:/usr/bin:/bin" HOME="$scratch/u-fleet" PGHOST="$pgdir" PGUSER=helm-fleet HELM_FLEET_DATABASE="$HELM_FLEET_DATABASE" HELM_FLEET_SIGNER="$scratch/run/socket" "$@" ;;
		*) $bg env -i PATH="$bin:/usr/bin:/bin" HOME="$scratch/u-log" "$@" ;;
		esac
		;;
	esac
}
helm() { env -i PATH="$bin:/usr/bin:/bin" HOME="$scratch/me" "$HELM_REAL" "$@"; }
HELM_FLEET_DATABASE=
bg=
bin=$scratch/bin
mkdir -p bin nobody u-fleet u-log
ln -s "$HELM_REAL" bin/helm
ln -s "$HELM_BUILD/helm-serve" bin/helm-serve
sed -n 's/^    \$ //p' "$HELM_SOURCE/docs/guides/fleet.md" |
	sed "s|/run/helm-log/socket|$scratch/run/socket|; s|--for helm-fleet|--for $(id -u)|; s|7715|$free|g" >lines
ok "the guide has lines to run" [ "$(grep -c . lines)" -ge 20 ]
exec 3<lines
while read -r line <&3; do
	case $line in
	*"&")
		(bg="exec" && eval "${line%&}") >background.out 2>&1 &
		pid=$!
		echo $pid >"background.$count.pid"
		case $line in
		*signer*) ok "$line" wait_for 10 test -S "$scratch/run/socket" ;;
		*) ok "$line" wait_for 15 grep -q ready background.out ;;
		esac
		;;
	export*) eval "$line" ;;
	*)
		run_line() { eval "$line"; }
		ok "$line" run_line
		;;
	esac
done
ok "the machine is in the ledger" sudo -u helm-fleet sh -c 'helm fleet nodes --json | grep -q "\"receipts\": [1-9]"'
finish
