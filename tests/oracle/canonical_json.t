#!/bin/sh
# Canonical JSON against node's `canonicalize`, python, and ECMAScript's numbers.
. "${HELM_SOURCE:-.}/tests/oracle/oracle.sh"
need_packages
need python3

ok "canonical bytes are those of RFC 8785" node "$ORACLE/canonical.js" "$TOOL"
ok "numbers from doubles are those of ECMAScript" node "$ORACLE/doubles.js" "$TOOL"
ok "we accept what strict python accepts, and nothing else" python3 "$ORACLE/strict.py" "$TOOL"
finish
