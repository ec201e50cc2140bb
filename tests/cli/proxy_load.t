#!/bin/sh
# helm proxy: many streams at once, each with a call that is decided in the middle; PROXY_AT_ONCE of them (200; a thousand take some seconds more).
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
import asyncio, resource
from model import *
count = int(os.environ.get("PROXY_AT_ONCE", "200"))
p = Place()
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, most) if most > 0 else 8192, most))
raw, refused = chat_stream([("get_weather", {"city": "Oslo"})], text="a b c d"), chat_stream([("credential_export", {"path": "/etc/passwd"})], text="a b c d")
gate = []
async def model(r, w):
    try:
        while True:
            head = await r.readuntil(b"\r\n\r\n")
            body = await r.readexactly(int(next(l for l in head.split(b"\r\n") if l.lower().startswith(b"content-length")).split(b":")[1]))
            w.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            parts = [e + b"\n\n" for e in (refused if b'"no"' in body else raw).split(b"\n\n")[:-1]]
            for i, part in enumerate(parts):
                w.write(b"%x\r\n%s\r\n" % (len(part), part))
                await w.drain()
                if i == 3:  # all are open before any goes on
                    gate.append(1)
                    while len(gate) < count: await asyncio.sleep(0.01)
            w.write(b"0\r\n\r\n")
            await w.drain()
    except (asyncio.IncompleteReadError, ConnectionError): pass
    finally: w.close()
async def one(x, i):
    r, w = await asyncio.open_connection(x.url.hostname, x.url.port)
    body = json.dumps({"model": "no" if i % 5 == 0 else "m", "stream": True, "messages": [{"role": "user", "content": str(i)}]}).encode()
    w.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    got, out = b"", b""
    while not got.endswith(b"\r\n0\r\n\r\n"):
        more = await r.read(65536)
        if not more: break
        got += more
    w.close()
    rest = got.partition(b"\r\n\r\n")[2]
    while rest:
        n, _, rest = rest.partition(b"\r\n")
        out, rest = out + rest[:int(n or b"0", 16)], rest[int(n or b"0", 16) + 2:]
        if n == b"0": break
    return without_comment(out)
async def main():
    server = await asyncio.start_server(model, "127.0.0.1", 0, backlog=2048)
    class Where: url = "http://127.0.0.1:%d/v1" % server.sockets[0].getsockname()[1]
    x = await asyncio.get_running_loop().run_in_executor(None, lambda: Proxy(p, Where))
    tasks = [asyncio.create_task(one(x, i)) for i in range(count)]
    while len(gate) < count: await asyncio.sleep(0.01)
    memory = int(next(l for l in open("/proc/%d/status" % x.p.pid) if l.startswith("VmRSS")).split()[1])
    got = await asyncio.gather(*tasks)
    ok("%d streams at once: what is allowed is the same to the byte" % count, all(g == raw for i, g in enumerate(got) if i % 5), [g[-300:] for i, g in enumerate(got) if i % 5 and g != raw][:2])
    ok("and nothing of what is not leaves", all(b"passwd" not in g and b"error" in g for i, g in enumerate(got) if i % 5 == 0))
    ok("in bounded memory", memory < (1500000 if "asan" in BUILD else 60000 + count * 200), memory)
    print("#", memory, "KiB")
    await asyncio.get_running_loop().run_in_executor(None, x.stop)
asyncio.run(main())
rows = p.receipts()
ok("each has its decision about the request, about the call, and its outcome", [sum(r["metadata"].get("source") == s for r in rows) for s in ("proxy.request", "proxy.call", "proxy.outcome")] == [count] * 3)
ok("the log is sound", p.helm("log", "check").returncode == 0)
p.done()
finish()
PY
