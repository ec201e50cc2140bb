#!/bin/sh
# JSON Schema against ajv: the table of cases, and random schemas and values.
. "${HELM_SOURCE:-.}/tests/oracle/oracle.sh"
need_packages

ok "ajv agrees with every case, and at random" node "$ORACLE/schema.js" "$TOOL" "$HELM_SOURCE/tests/cases/schema.jsonl" 2000
finish
