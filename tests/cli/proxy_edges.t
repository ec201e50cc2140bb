#!/bin/sh
# helm proxy: calls whose members are not what they must be, and paths that nobody can read, are refused and leave nothing.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from model import *
p, m = Place(), Model()
x = Proxy(p, m)
weather = ("get_weather", {"city": "Oslo"})
def call(doc): return doc["choices"][0]["message"]["tool_calls"][0]
for what, change in (("a name that is a number", lambda c: c["function"].update(name=7)), ("a name that is a list", lambda c: c["function"].update(name=["get_weather"])),
                     ("an id that is an object", lambda c: c.update(id={"x": 1})), ("arguments that are an object of another kind", lambda c: c["function"].update(arguments=7)),
                     ("no name", lambda c: c["function"].pop("name")), ("a name of null", lambda c: c["function"].update(name=None))):
    doc = chat_whole([weather])
    change(call(doc))
    m.json(doc)
    st, b, h = x.chat()
    ok("%s: refused" % what, st == 403 and b"Oslo" not in b, st, b)
m.json(chat_whole([weather]))
st, b, h = x.chat()
ok("and as it should be it passes", st == 200 and b"Oslo" in b, st, b)
for path in ("/v1/%zz/content", "/v1/%", "/v1/x%00y/content"):
    m.say = (200, [("Content-Type", "application/octet-stream")], [json.dumps(chat_whole([("credential_export", {"path": "/etc/passwd"})])).encode()])
    st, b, h = x.ask(path, method="GET")
    ok("%s: a path that nobody can read gives nothing away" % path, st in (400, 403, 404) and b"passwd" not in b, st, b)
m.say = (200, [("Content-Type", "application/octet-stream")], [b"\xff" * 3000000])
st, b, h = x.ask("/v1/images/i/content", method="GET")
ok("bytes of another place pass as they come", st == 200 and b == b"\xff" * 3000000, st, len(b))
ok("it ends well", x.stop() == 0)
finish()
PY
