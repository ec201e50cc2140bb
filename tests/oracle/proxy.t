#!/bin/sh
# Streams of models by chance, cut anywhere: the proxy finds the calls that another reader finds, and lets every byte through once they are allowed.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/tests/proxy_tool" ] || skip_all "helm-serve was not built"
PYTHONPATH=$HELM_SOURCE/tests/tools PROXY_TOOL=$HELM_BUILD/tests/proxy_tool python3 - <<'PY'
import json, os, random, subprocess, sys
from reassemble import *
count, seed = int(os.environ.get("PROXY_STREAMS", "1000")), int(os.environ.get("PROXY_SEED", "17"))
made, lines = [], []
for i in range(count):
    r = random.Random(seed * 1000003 + i)
    form, rows = stream(r)
    raw = encode(r, form, rows)
    made.append((form, raw))
    lines.append(json.dumps({"form": form, "pieces": [p.hex() for p in pieces(r, raw)]}))
said = subprocess.run([os.environ["PROXY_TOOL"]], input="\n".join(lines) + "\n", capture_output=True, text=True)
got = [json.loads(x) for x in said.stdout.split("\n") if x]
bad = []
for i, ((form, raw), g) in enumerate(zip(made, got)):
    want = READ[form](events(raw))
    have = sorted((c["name"], json.dumps(c.get("input"), sort_keys=True)) for c in g["calls"])
    if g.get("fault") or any("fault" in c for c in g["calls"]) or have != want or bytes.fromhex(g["passed"]) != raw or g["left"]:
        bad.append((i, form, g.get("fault"), [c.get("fault") for c in g["calls"]], want, have, bytes.fromhex(g["passed"]) == raw, g["left"]))
print("%s 1 - %d streams are read as another reader reads them, and leave byte for byte" % ("not ok" if bad or len(got) != count else "ok", count))
for b in bad[:3]: print("#", b)
if len(got) != count: print("#", len(got), said.stderr[-500:])
# The same, damaged, and every call refused: in what leaves no reader finds one.
made, lines = [], []
for i in range(count):
    r = random.Random(seed * 7919 + i)
    form, rows = stream(r)
    raw = damaged(r, encode(r, form, rows))
    made.append(raw)
    lines.append(json.dumps({"form": form, "deny": True, "pieces": [p.hex() for p in pieces(r, raw)]}))
said = subprocess.run([os.environ["PROXY_TOOL"]], input="\n".join(lines) + "\n", capture_output=True, text=True)
left = [bytes.fromhex(json.loads(x)["passed"]) for x in said.stdout.split("\n") if x]
worse = [(i, left[i][-300:]) for i in range(len(left)) if not made[i].startswith(left[i]) or lenient_calls(left[i])]
is_good = not worse and len(left) == count
print("%s 2 - of %d damaged streams nothing leaves in which any reader finds a call" % ("ok" if is_good else "not ok", count))
for w in worse[:3]: print("#", w)
if len(left) != count: print("#", len(left), said.stderr[-500:])
print("1..2")
sys.exit(1 if bad or len(got) != count or not is_good else 0)
PY
