#!/bin/sh
# Published packs and fixtures, where they are present beside the tree.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
shared="$HELM_SOURCE/../shared/vectors/kernel"
[ -d "$shared" ] || skip_all "published packs: ../shared/vectors is not here"
launch=$shared/reference_packs/launchpad
self=--allow-self-attested

failed() { # failed NAMES... -- command...: exactly these checks fail, in this order
  want=""
  while [ "$1" != -- ]; do
    want="$want$1
"
    shift
  done
  shift
  "$@" --json | python3 -c 'import json,sys
for c in json.load(sys.stdin)["checks"]:
    if c["status"] == "fail": print(c["name"])' >"$scratch/.failed"
  printf %s "$want" | diff - "$scratch/.failed"
}
for pack in "$launch/hermes/evidence-pack.tar" "$launch/kilocode/evidence-pack.tar" "$launch/codex-local-container"; do
  ok "${pack##*launchpad/}: only the seal fails without a key" failed evidence_pack_seal -- helm evidence verify "$pack"
  ok "${pack##*launchpad/}: consistent under its own key" exits 0 helm evidence verify "$pack" $self
done
ok "hermes: the old seal form" says 0 '"seal_form": "legacy"' helm evidence verify "$launch/hermes/evidence-pack.tar" $self --json
ok "codex: the current one" says 0 '"seal_form": "current"' helm evidence verify "$launch/codex-local-container" $self --json
minimal=$shared/fixtures/minimal
ok "minimal: index hash" says 1 daa3e17ccd06ebbf0e579f79314b514638879f0ece2926dfae00f55a7767f88e helm evidence verify "$minimal" --json
ok "minimal: root" says 1 f63b50553834243bf75336d04314255ce5dafd33a97ca47a1bbb53d23606e28e helm evidence verify "$minimal" --json
ok "workstation: files and root hold, signatures are not trusted" failed evidence_pack_seal policy_decision_hashes \
  embedded_signature_trust -- helm evidence verify "$shared/fixtures/workstation/sample-evidencepack" $self
ok "an unsealed bundle fails for its seal only" failed evidence_pack_seal -- \
  helm evidence verify "$shared/core/pkg/connectors/ton/acton/testdata/evidencepack/build_ok"
python3 - "$shared/core/pkg/evidencepack/testdata/inclusion_proof_profile_v1.json" <<'PY'
import json, sys
doc = json.load(open(sys.argv[1]))
open("root", "w").write(doc["entries_merkle_root"])
for v in doc["vectors"]:
    json.dump(v["proof"], open(("good-" if v["expect_valid"] else "bad-") + v["name"] + ".json", "w"))
PY
for proof in good-*.json; do ok "$proof" says 0 ADMISSIBLE helm verify "$proof" --root "$(cat root)"; done
for proof in bad-*.json; do ok "$proof" says 1 TAMPERED helm verify "$proof" --root "$(cat root)"; done
finish
