#!/bin/sh
# Our own cases of packs, proofs, disclosures and tapes; their answers were computed by another implementation.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
cases=$HELM_SOURCE/tests/cases/packs
ok "every case is answered right" says 0 "61 passed, 0 failed, 0 not supported" helm conform run --cases "$cases"
key=197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61
ok "a pack made elsewhere verifies here" says 0 ADMISSIBLE helm verify "$cases/evidencepack-v1/own-valid-signed.tar" --key $key
ok "a native one too" says 0 ADMISSIBLE helm verify "$cases/native-pack/own-valid.tar" --key $key
ok "an old seal says what it does not cover" says 0 "not covered" helm verify "$cases/native-pack/own-legacy.tar" --key $key

# Every check is named with its answer, also those that could not be made.
checks() { # checks FILE NAME=STATUS...
  file=$1
  shift
  helm verify "$cases/$file" --key $key --json >"$scratch/.checks"
  for want in "$@"; do
    tr -d ' \n' <"$scratch/.checks" | grep -qF -e "{\"name\":\"${want%=*}\",\"status\":\"${want#*=}\"" && continue
    echo "not so: $want"
    cat "$scratch/.checks"
    return 1
  done
}
ok "an archive that is cut fails as such" checks evidencepack-v1/own-cut.tar archive=fail
ok "what the pack has not is not applicable" checks native-pack/own-valid.tar file_hashes=not_applicable
ok "an edited manifest" checks evidencepack-v1/own-hash-flipped.tar archive=pass manifest_hash=fail signature=fail merkle_root=pass
ok "a version that is not known stops the rest" checks evidencepack-v1/own-version-2.tar manifest=fail manifest_hash=not_applicable \
  signature=not_applicable merkle_root=not_applicable
ok "the form is told" sh -c 'grep -q "\"form\": \"tar\"" "$0"' "$scratch/.checks"
other=ed6a47a39da869b5446155e40b2d93f1e3f0167be26732bae7a3ef9d8e3a3fd3
ok "under another key the seal is not trusted" says 1 "by none of the keys given" helm verify "$cases/evidencepack-v1/own-valid-signed.tar" --key $other
finish
