#!/bin/sh
# Our own cases of packs, proofs, disclosures and tapes; their answers were computed by another implementation.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
cases=$HELM_SOURCE/tests/cases/packs
ok "every case is answered right" says 0 "61 passed, 0 failed, 0 not supported" helm conform run --cases "$cases"
key=197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61
ok "a pack made elsewhere verifies here" says 0 ADMISSIBLE helm verify "$cases/evidencepack-v1/own-valid-signed.tar" --key $key
ok "a native one too" says 0 ADMISSIBLE helm verify "$cases/native-pack/own-valid.tar" --key $key
ok "an old seal says what it does not cover" says 0 "not covered" helm verify "$cases/native-pack/own-legacy.tar" --key $key
finish
