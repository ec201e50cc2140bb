#!/bin/sh
# many.t — many machines at once, each with a key and a chain of its own, over HTTP with real signatures: everything that was acknowledged is there once, in one tree.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
bench=${HELM_BUILD:-build/release}/helm-bench
[ -x "$bench" ] || skip_all "helm-bench is not built"
machines=${HELM_MACHINES:-40}
seconds=${HELM_MACHINES_SECONDS:-4}
period=${HELM_MACHINES_PERIOD_MS:-500}

fleet_make
centre tenant add acme >/dev/null
serve_start front HELM_LIMIT_NODE=1000 || exit 1
centre token --uses "$machines" >many.token
mkdir nodes
"$bench" --machines "$url" "$scratch/many.token" "$machines" "$seconds" "$period" "$scratch/nodes" >many.out 2>many.log
ended=$?
sed 's/^/# /' many.out many.log
said() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" many.out; }
ok "all of them have joined, and nothing was refused" [ $ended = 0 ]
ok "each has sent" [ "$(said receipts)" -ge $((machines * 3)) ]
ok "what was acknowledged is there, each once" [ "$(sql "$pgdir" 'SELECT count(*) || count(DISTINCT (chain_id, lamport))::text FROM fleet.receipt')" = "$(said receipts)$(said receipts)" ]
ok "in as many chains as machines" [ "$(sql "$pgdir" 'SELECT count(*) FROM fleet.chain')" = "$machines" ]
ok "in one tree, which is signed" wait_for 30 settled
# As the audit does, but for machines that were not heard: those have ended.
ok "whose tiles lead to its root, without a gap" sh -c '! echo "$1" | grep -q "^gap\|^fork\|^tree\|^rolled" && echo "$1" | grep -q "leaves in the tree"' sh "$(centre audit 2>&1)"
finish
