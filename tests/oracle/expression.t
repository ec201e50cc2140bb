#!/bin/sh
# Expressions against another implementation of CEL (@marcbachmann/cel-js): a table, and random ones over typed variables.
. "${HELM_SOURCE:-.}/tests/oracle/oracle.sh"
need_packages
[ -d "$NODE_PATH/@marcbachmann/cel-js" ] || skip_all "@marcbachmann/cel-js is not installed; remove $HELM_BUILD/oracle"

ok "cel-js agrees with every case, and at random" node "$ORACLE/expression.js" "$TOOL" 4000
finish
