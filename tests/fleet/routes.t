#!/bin/sh
# routes.t — every route of a fleet's front end, from its table: it is listed with who may call it, and whoever brings nothing that opens it is refused.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
centre reader add look >reader
helm serve routes --json >routes.json
cat >drive.py <<'PY'
import http.client, json, re, sys, urllib.parse
port = urllib.parse.urlparse(sys.argv[1]).port
rows = [r for r in json.load(open("routes.json")) if r["server"] == "fleet"]
def ok(text, so, *more):
    print("%s %s" % ("ok" if so else "NOT", text))
    if not so:
        print("#", *[str(m)[:700] for m in more])
def ask(r, headers=None, path=None):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    h = {"Host": "localhost:%d" % port, **(headers or {})}
    body = {"json": "{}", "json?": "{}", "bytes": "x"}.get(r["body"])
    if body:
        h["Content-Type"] = "application/json" if r["body"] != "bytes" else "application/zstd"
    c.request(r["method"], path or re.sub(r"{[^}]*}", "1", r["path"]), body, h)
    a = c.getresponse()
    text = a.read() if not (r["stream"] and a.status == 200) else b""
    c.close()
    return a.status, text
of = lambda auth: [r for r in rows if r["auth"] == auth]
ok("the routes of a fleet are in the list, each with who may call it", len(rows) > 25 and {r["auth"] for r in rows} == {"public", "machine", "reader"} and all(r["what"] for r in rows), sorted({r["auth"] for r in rows}))
doc = json.loads(ask({"method": "GET", "body": None, "stream": False}, path="/openapi.json")[1])
ok("the front end's own OpenAPI document is this table", sorted((m.upper(), p) for p, ms in doc["paths"].items() for m in ms) == sorted((r["method"], r["path"]) for r in rows))
ok("it says what opens each", all(doc["paths"][r["path"]][r["method"].lower()].get("security", [{}])[0].keys() == {"machine": {"machine"}, "reader": {"bearer"}, "public": set()}[r["auth"]] for r in rows) and all(k in doc["components"]["securitySchemes"] for k in ("machine", "bearer")))
key = {"Helm-Origin": "ledger.test/acme", "Helm-Key": "ed25519:" + "0" * 64, "Helm-Time": "1", "Helm-Signature": "0" * 128}
bad = [(r["method"], r["path"], st) for r in of("machine") for h in (None, key, {"Authorization": "Bearer " + open("reader").read().strip()}) for st, _ in [ask(r, h)] if st != 401]
ok("no route of machines answers without a signature that holds", not bad and len(of("machine")) >= 7, bad)
browser = {"Sec-Fetch-Site": "same-origin", "X-Helm": "1", "Origin": "http://localhost:%d" % port}
bad = [(r["method"], r["path"], st) for r in of("reader") for h in (browser, {"Authorization": "Bearer hfr_acme.00"}, {"Authorization": "Bearer helm_0_0"}, dict(browser, Cookie="__Host-helm=AA.99999999999.00", **{"X-Helm-Page": "AA"}), key) for st, _ in [ask(r, h)] if st not in (401, 403)]
ok("no route of readers answers without a token that opens something", not bad and len(of("reader")) >= 15, bad)
bad = [(r["path"], st) for r in of("reader") if "/view/" not in r["path"] and "{" not in r["path"] and r["method"] == "GET" and not r["stream"] and "export" not in r["path"] for st, _ in [ask(r, {"Authorization": "Bearer " + open("reader").read().strip()})] if st != 200]
ok("with one they do", not bad, bad)
bad = [(r["path"], st) for r in of("public") if "console/" not in r["path"] and "docs" not in r["path"] and "/log/" not in r["path"] for st, _ in [ask(r)] if st in (401, 403)]
ok("what is public is", not bad, bad)
st, text = ask({"method": "GET", "body": None, "stream": False}, path="/nothing")
ok("what is not there says where the list is", st == 404 and b"/openapi.yaml" in text, text)
PY
python3 drive.py "$url" >drive.out 2>&1 || { echo "NOT the driver ended"; tail -5 drive.out; } >>drive.out
lines_of drive.out
listed() { helm serve routes; }
ok "as a list for people, too" says 0 "/v1/fleet/beat" listed
ok "and those of a witness" says 0 "/add-checkpoint" listed
fleet_end
finish
