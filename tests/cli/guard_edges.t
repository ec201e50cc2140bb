#!/bin/sh
# Readings of a command that decide its answer, one case for each, beside a neighbour that stays as it was.  Nothing runs.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
fresh_workspace
guard() { helm guard check --containment none --shell "$1"; }
ok "a table that is filled from a key" says 24 "/home/u/.ssh/id_rsa" guard "psql -c '\\copy t from /home/u/.ssh/id_rsa'"
ok "from standard input" exits 0 guard "psql -c '\\copy t from stdin'"
# shellcheck disable=SC2088 # the guard expands it
ok "the directory before" says 24 "/home/.ssh/id_rsa" guard 'cd ~/.ssh; cd /tmp; cat ~-/id_rsa'
ok "the directory now" exits 0 guard 'cd ~/.ssh; cd /tmp; cat ~+/readme'
ok "a name in perl that is no quote" says 25 "/etc/passwd" guard "perl -e 'my %h=(q=>1); unlink(\"/etc/passwd\")'"
ok "and one that is" says 25 "/etc/passwd" guard "perl -e 'my \$n=q(=); unlink(q(/etc/passwd))'"
ok "a name that becomes another" says 24 ".bash_profile" guard 'rename x profile ~/.bash_x'
ok "and one that stays harmless" exits 0 guard 'rename x y ./a_x'
ok "an operand that is a machine" says 25 "dbserver" guard 'cqlsh dbserver'
ok "one that is a database here" exits 0 guard 'psql dbserver'
ok "and one that is spelled like an address" says 25 "db.example.com" guard 'mycli db.example.com'
finish
