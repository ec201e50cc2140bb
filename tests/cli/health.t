#!/bin/sh
# Which models answer: probes over a real connection, keys that stand nowhere, waiting after failures, selection; the shadow report's words.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to answer probes"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve is not built"
helm init --path ws >/dev/null || { echo "Bail out! helm init failed"; exit 1; }
cat >server.py <<'P'
import http.server, json, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        n = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(n).decode()
        with open("seen.txt", "a") as f:
            f.write(json.dumps({"path": self.path, "auth": self.headers.get("authorization"), "goog": self.headers.get("x-goog-api-key"), "body": body}) + "\n")
        code, out = 200, {"choices": [{"message": {"content": "ok"}}]}
        if "limited" in body: code, out = 429, {"error": "slow down"}
        if "empty" in body: out = {"choices": []}
        if "broken" in body: code, out = 500, {"error": "token sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD is bad"}
        if "generate" in self.path: out = {"candidates": [1], "response": "ok"}
        data = json.dumps(out).encode()
        self.send_response(code)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *a): pass
s = http.server.HTTPServer(("127.0.0.1", 0), H)
print(s.server_port, flush=True)
s.serve_forever()
P
python3 server.py >port &
server=$!
trap 'kill $server; chmod -R u+rwX "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT
waited=0
while [ ! -s port ] && [ $waited -lt 200 ]; do sleep 0.05; waited=$((waited + 1)); done
at="http://127.0.0.1:$(cat port)"
model() { printf '{"ref":"%s","provider":"%s","priority":%s,"probe":{"kind":"%s","model":"%s","url":"%s","api_key_env":"TEST_KEY","timeout_seconds":5}}' "$@"; }
cat >ws/references/model_recovery_policy.json <<E2
{"version":1,"fresh_after_seconds":300,"fallback_stale_after_seconds":1800,"models":[
 $(model a/limited a 10 openai_compatible_chat_completion limited "$at/v1/chat/completions"),
 $(model b/good b 20 openai_chat_completion good "$at/v1/chat/completions"),
 $(model c/empty c 30 openai_chat_completion empty "$at/v1/chat/completions"),
 $(model d/broken d 40 openai_chat_completion broken "$at/v1/chat/completions"),
 $(model e/goog e 50 google_generate_content goog "$at/generateContent"),
 $(model f/gone f 60 ollama_generate x "http://127.0.0.1:9/api/generate")]}
E2
HELM_ENV="HELM_WORKSPACE=$scratch/ws TEST_KEY=very-secret-key-value"
helm health probe --json >probe.json
field() { python3 -c 'import json,sys
r={x["model"]:x for x in json.load(open("probe.json"))["results"]}
print(r[sys.argv[1]].get(sys.argv[2]))' "$1" "$2"; }
ok "a limit is degraded, and the key is fine" [ "$(field a/limited status) $(field a/limited generation_status) $(field a/limited auth_status)" = "degraded rate_limit healthy" ]
ok "an answer is healthy" [ "$(field b/good status)" = healthy ]
ok "nothing is down" [ "$(field c/empty status) $(field c/empty generation_status)" = "down empty" ]
ok "an error is down" [ "$(field d/broken status) $(field d/broken auth_status)" = "down failed" ]
ok "google is asked with a header" [ "$(field e/goog status)" = healthy ]
ok "nobody there is down" [ "$(field f/gone status) $(field f/gone generation_status)" = "down failed" ]
ok "keys came as headers" grep -q '"Bearer very-secret-key-value"' seen.txt
ok "never in an address" sh -c '! grep -o "\"path\": \"[^\"]*" seen.txt | grep -q secret'
ok "and stand nowhere" sh -c '! grep -rq very-secret-key-value ws probe.json home'
ok "nor does one that a provider repeats" sh -c '! grep -rq sk-abcdefghijklmnop ws probe.json'
ok "the best one that answers is selected" says 0 '"b/good"' helm health select --json
before=$(wc -l <seen.txt)
helm health probe --json >again.json
ok "those that failed are not asked again at once" [ "$(($(wc -l <seen.txt) - before))" -eq 2 ]
ok "unless somebody insists" sh -c 'b=$(wc -l <seen.txt); "$@" >/dev/null; [ $(($(wc -l <seen.txt) - b)) -eq 5 ]' - env HOME="$scratch/home" HELM_WORKSPACE="$scratch/ws" TEST_KEY=x "$HELM_REAL" health probe --again
ok "a model that nobody knows" says 1 '"unknown"' helm health probe --model no/such --json
ok "only those above the current one" sh -c 'b=$(wc -l <seen.txt); "$@" >/dev/null; [ $(($(wc -l <seen.txt) - b)) -le 1 ]' - env HOME="$scratch/home" HELM_WORKSPACE="$scratch/ws" TEST_KEY=x "$HELM_REAL" health probe --current-model b/good
HELM_ENV="HELM_WORKSPACE=$scratch/ws"
ok "without the key it is not asked" says 1 missing helm health probe --model b/good --json
ok "providers are names, not values" says 0 '"configured": true' env HOME="$scratch/home" GROQ_API_KEY=hidden-value "$HELM_REAL" health providers --json
ok "no value is printed" sh -c '! GROQ_API_KEY=hidden-value "$1" health providers --json | grep -q hidden-value' - "$HELM_REAL"
finish
