#!/bin/sh
# Expressions against another implementation of CEL (@marcbachmann/cel-js): a table, and random ones over typed variables.
. "${HELM_SOURCE:-.}/tests/oracle/oracle.sh"
need_packages

ok "cel-js agrees with every case, and at random" node "$ORACLE/expression.js" "$TOOL" 4000
finish
