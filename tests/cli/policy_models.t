#!/bin/sh
# The policy engine beside a second reading of its specification: models of bounds, layers, bundles, the default policy and rules over graphs in Python, and expressions
# and rules over graphs whose answers were written down by hand.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"

readings="$HELM_SOURCE/tests/cases/policy-readings"
ok "expressions" says 0 "passed, 0 failed, 0 not supported" helm conform run --suite language --cases "$readings"
ok "rules over graphs" says 0 "passed, 0 failed, 0 not supported" helm conform run --suite dsl --cases "$readings"
ok "statements and addresses" says 0 "33 passed, 0 failed, 0 not supported" helm conform run --suite mutations --cases "$readings"
for seed in 1 20261117; do
  python3 "$HELM_SOURCE/tests/tools/policy_models.py" $seed made
  ok "envelopes, seed $seed" says 0 "100 passed, 0 failed, 0 not supported" helm conform run --suite envelope --cases made
  ok "layers, seed $seed" says 0 "80 passed, 0 failed, 0 not supported" helm conform run --suite stacks --cases made
  ok "bundles, seed $seed" says 0 "65 passed, 0 failed, 0 not supported" helm conform run --suite bundles --cases made
  ok "workstations, seed $seed" says 0 "400 passed, 0 failed, 0 not supported" helm conform run --suite workstation --cases made
  ok "decisions, seed $seed" says 0 "400 passed, 0 failed, 0 not supported" helm conform run --suite mutations --cases made
  python3 "$HELM_SOURCE/tests/tools/dsl_model.py" $seed made
  ok "rules over graphs, seed $seed" says 0 "800 passed, 0 failed, 0 not supported" helm conform run --suite dsl --cases made
done
sed 's/"EFFECT_CLASS_DENIED"/"COST_CEILING_EXCEEDED"/g' made/derived/autonomy-envelope-cases.json >wrong && mv wrong made/derived/autonomy-envelope-cases.json
ok "a model that is wrong is found out" says 1 "FAIL sequence" helm conform run --suite envelope --cases made
sed 's/"PASS"/"SKIP"/' made/derived/dsl-evaluation-cases.json >wrong && mv wrong made/derived/dsl-evaluation-cases.json
ok "also about rules over graphs" says 1 "FAIL made-" helm conform run --suite dsl --cases made
finish
