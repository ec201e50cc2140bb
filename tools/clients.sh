#!/bin/sh
# clients.sh marks|settings — what the rows of src/clients/ say, one per line, for scripts:
#   marks     the variables that agent clients and guarded runs set for what they start
#   settings  the files of agent clients' settings, below a home directory or a project ("x/" is everything in x)
# Nothing is written twice: tests/unit/clients_test.c holds this output against the rows themselves.
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in
marks) macro=MARKS ;;
settings) macro=FILES ;;
*)
	echo "usage: clients.sh marks|settings" >&2
	exit 2
	;;
esac
# Every text inside MARKS(...) or FILES(...), which end with the first closing parenthesis.
cat src/clients/*.c | tr '\n' ' ' | grep -oE "[^A-Z]$macro\([^)]*\)" | grep -oE '"[^"]*"' | tr -d '"' | LC_ALL=C sort -u
