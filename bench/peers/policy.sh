#!/bin/sh
# policy.sh — other policy engines on the task of `helm policy bench`: tools with conditions on their arguments, 1, 100 and 10,000 rules.
# Installs them from npm by name into a folder of its own (PEERS, default: a temporary one) and prints one line per engine and size:
# engine rules load_ms p50_ns p95_ns p99_ns mean_ns wrong.  Needs node, npm and a registry; nothing of it is part of Helm.
# OPA's WebAssembly needs a compiled policy, and no compiler was found on npm or in Debian 12 (bench/README.md): it takes part when `opa` is installed.
set -eu
cd "$(dirname "$0")/../.."
helm=${HELM:-build/release/helm}
[ -x "$helm" ] || { echo "build it first: cmake --preset release && cmake --build --preset release" >&2; exit 1; }
command -v node >/dev/null && command -v npm >/dev/null || { echo "node and npm are needed" >&2; exit 1; }
place=${PEERS:-$(mktemp -d)}
[ -n "${PEERS:-}" ] || trap 'rm -rf "$place"' EXIT
mkdir -p "$place"
cp bench/peers/policy.mjs "$place"
(cd "$place" && npm init -y >/dev/null && npm install --no-audit --no-fund --silent casbin @casl/ability @cedar-policy/cedar-wasm @open-policy-agent/opa-wasm >/dev/null) ||
	echo "some engines could not be installed; the others are measured" >&2
for rules in 1 100 10000; do
	node "$place/policy.mjs" make "$rules" "$place/rules.json" "$place/requests.ndjson"
	"$helm" policy bench "$place/rules.json" "$place/requests.ndjson" | tr -d ' \n{}"' |
		sed "s/^/helm $rules /; s/,/ /g; s/[a-z0-9_]*://g"
	echo
	for engine in map casl casbin cedar opa; do
		(cd "$place" && node policy.mjs run "$engine" "$rules" rules.json requests.ndjson 2>/dev/null) || echo "$engine $rules - not measured"
	done
done
