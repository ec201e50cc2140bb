#!/bin/sh
# HTTP as bytes: helm serve over TCP, TLS and its socket, and helm proxy read a request in one way or refuse it, with one answer, and then the connection ends: what
# follows is nobody's request.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE PYTHONPATH="$HELM_SOURCE/tests/tools"
cat >wire.py <<'PY'
import ssl
from model import *
from serve import ADMIN, Server
FREE = {"HELM_LIMIT_IP": "0", "HELM_LIMIT_KERNEL": "0", "HELM_LIMIT_SECONDS": "6"}
p, m = Place(), Model()
m.json(chat_whole())
p.write("""format: helm.policy.v1
name: wire
version: "1"
rules:
  - {id: read, action: read_ticket, verdict: ALLOW}
""")

class Listener:
    """Where requests go to: how a connection is made, the lines that a good request has, its path and body, and where one sees that it was carried out."""
    def __init__(self, what, connect, path, head, body, done): self.what, self.connect, self.path, self.head, self.body, self.done = what, connect, path, head, body, done
    def request(self, first=None, head=None, body=None, length=True, more=b""):
        body = self.body if body is None else body
        return ((first or b"POST %s HTTP/1.1" % self.path) + b"\r\n" + (self.head if head is None else head) + more + (b"Content-Length: %d\r\n" % len(body) if length else b"") + b"\r\n" + body)
    def say(self, *pieces, wait=10, half=True):
        """All that comes back until the connection ends."""
        c = self.connect(); c.settimeout(wait); got = b""
        try:
            for i, x in enumerate(pieces):
                if i: time.sleep(0.03)
                try: c.sendall(x)
                except OSError: break
            while (more := c.recv(65536)): got += more
            ended = True
        except TimeoutError: ended = False
        except OSError: ended = True
        c.close()
        return got, ended
def statuses(got):
    """Of each answer that came, by its length."""
    found = []
    while got:
        head, sep, rest = got.partition(b"\r\n\r\n")
        if not sep or not head.startswith(b"HTTP/1."): return found + ["?"]
        lines = {l.split(b":", 1)[0].lower(): l.split(b":", 1)[1].strip() for l in head.split(b"\r\n")[1:]}
        n = int(lines.get(b"content-length", b"0"))
        found.append(int(head.split(b" ")[1])); got = rest[n:]
    return found

def table(l):
    """(what, the bytes): each is refused with 400."""
    good, first, crlf = l.request(), b"POST %s HTTP/1.1\r\n" % l.path, b"\r\n"
    host = next(x for x in l.head.split(crlf) if x.lower().startswith(b"host"))
    chunk = lambda text: l.request(length=False, more=b"Transfer-Encoding: chunked\r\n", body=text)
    n = len(l.body)
    whole = b"%x\r\n%s\r\n0\r\n\r\n" % (n, l.body)
    yield "bare LF everywhere", good.replace(crlf, b"\n")
    yield "bare LF behind the first line", good.replace(crlf, b"\n", 1)
    yield "bare LF behind a field", first + l.head.replace(crlf, b"\n", 1) + b"Content-Length: %d\r\n\r\n" % n + l.body
    yield "bare LF as the empty line", good.replace(b"\r\n\r\n", b"\r\n\n")
    yield "bare LF before CRLF", good.replace(b"\r\n\r\n", b"\n\r\n")
    yield "a field hidden behind a bare LF", l.request(more=b"X-A: b\nX-C: d\r\n")
    yield "a bare CR in a value", l.request(more=b"X-A: b\rX-C: d\r\n")
    yield "a bare CR as the end of a line", good.replace(crlf, b"\r", 1)
    yield "CR CR LF", l.request(more=b"X-A: b\r\r\n")
    yield "NUL in a value", l.request(more=b"X-A: b\0c\r\n")
    yield "NUL at the end of a value", l.request(more=b"X-A: b\0\r\n")
    yield "NUL in a name", l.request(more=b"X-\0A: b\r\n")
    yield "NUL in the target", l.request(first=b"POST %s\0 HTTP/1.1" % l.path)
    yield "NUL in the method", l.request(first=b"PO\0ST %s HTTP/1.1" % l.path)
    yield "another control character", l.request(more=b"X-A: b\x07\r\n")
    yield "DEL", l.request(more=b"X-A: b\x7f\r\n")
    yield "a folded field", l.request(more=b"X-A: b\r\n c\r\n")
    yield "a folded field, by a tab", l.request(more=b"X-A: b\r\n\tc\r\n")
    yield "a first field that is folded", first + b" X-A: b\r\n" + l.head + b"Content-Length: %d\r\n\r\n" % n + l.body
    yield "a space before the colon", l.request(more=b"X-A : b\r\n")
    yield "a tab before the colon", l.request(more=b"X-A\t: b\r\n")
    yield "Content-Length with a space before the colon", l.request(length=False, more=b"Content-Length : %d\r\n" % n)
    yield "Transfer-Encoding with a space before the colon", l.request(more=b"Transfer-Encoding : chunked\r\n")
    yield "a line without a colon", l.request(more=b"X-A\r\n")
    yield "a field without a name", l.request(more=b": b\r\n")
    yield "a name that is none", l.request(more=b"X(A): b\r\n")
    yield "two lengths", l.request(more=b"Content-Length: %d\r\n" % n)
    yield "two lengths that differ", l.request(more=b"Content-Length: 1\r\n")
    for bad in (b"%d, %d" % (n, n), b"+%d" % n, b"-1", b"-%d" % n, b"0x%x" % n, b"%d.0" % n, b"%da" % n, b"%d %d" % (n, n), b"", b"a", b"1e1", b"99999999999999999999", b"18446744073709551616", b"9223372036854775808", b"\xc2\xb2"):
        yield "the length '%s'" % bad.decode("utf-8"), l.request(length=False, more=b"Content-Length: %s\r\n" % bad)
    yield "a length and chunks", l.request(more=b"Transfer-Encoding: chunked\r\n", body=whole)
    yield "chunks and a length", l.request(length=False, more=b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n" % len(whole), body=whole)
    yield "chunks, said twice", l.request(length=False, more=b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", body=whole)
    for bad in (b"identity", b"gzip", b"gzip, chunked", b"chunked, identity", b"xchunked", b"chunked;a=b", b"\"chunked\"", b"chunke", b""):
        yield "the coding '%s'" % bad.decode(), l.request(length=False, more=b"Transfer-Encoding: %s\r\n" % bad, body=whole)
    yield "chunks in HTTP/1.0", l.request(first=b"POST %s HTTP/1.0" % l.path, length=False, more=b"Transfer-Encoding: chunked\r\n", body=whole)
    yield "an extension of a chunk", chunk(b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (n, l.body))
    yield "an extension without a name", chunk(b"%x;\r\n%s\r\n0\r\n\r\n" % (n, l.body))
    yield "an extension of the last chunk", chunk(b"%x\r\n%s\r\n0;a\r\n\r\n" % (n, l.body))
    yield "an extension with a bare LF", chunk(b"%x;\n%s\r\n0\r\n\r\n" % (n, l.body))
    yield "a chunk's size with a space", chunk(b"%x \r\n%s\r\n0\r\n\r\n" % (n, l.body))
    yield "a chunk's size behind a space", chunk(b" %x\r\n%s\r\n0\r\n\r\n" % (n, l.body))
    yield "a chunk's size with 0x", chunk(b"0x%x\r\n%s\r\n0\r\n\r\n" % (n, l.body))
    yield "a chunk's size with a sign", chunk(b"+%x\r\n%s\r\n0\r\n\r\n" % (n, l.body))
    yield "a chunk's size that is too long", chunk(b"%017x\r\n%s\r\n0\r\n\r\n" % (n, l.body))
    yield "a chunk's size that is none", chunk(b"\r\n%s\r\n0\r\n\r\n" % l.body)
    yield "a chunk's size and a bare LF", chunk(b"%x\n%s\r\n0\r\n\r\n" % (n, l.body))
    yield "a chunk and a bare LF", chunk(b"%x\r\n%s\n0\r\n\r\n" % (n, l.body))
    yield "a chunk without its end", chunk(b"%x\r\n%s0\r\n\r\n" % (n, l.body))
    yield "the last chunk and a bare LF", chunk(b"%x\r\n%s\r\n0\n\r\n" % (n, l.body))
    yield "the end and a bare LF", chunk(b"%x\r\n%s\r\n0\r\n\n" % (n, l.body))
    yield "a trailer", chunk(b"%x\r\n%s\r\n0\r\nX-A: b\r\n\r\n" % (n, l.body))
    yield "a target of another host", l.request(first=b"POST http://other.example%s HTTP/1.1" % l.path)
    yield "a whole target", l.request(first=b"POST http://%s%s HTTP/1.1" % (host.split(b":", 1)[1].strip(), l.path))
    yield "a target that is no path", l.request(first=b"POST %s HTTP/1.1" % l.path[1:])
    yield "a target with a space", l.request(first=b"POST %s x HTTP/1.1" % l.path)
    yield "a target with a fragment", l.request(first=b"POST %s#x HTTP/1.1" % l.path)
    yield "a target that is no ASCII", l.request(first=b"POST %s\xff HTTP/1.1" % l.path)
    yield "two spaces behind the method", l.request(first=b"POST  %s HTTP/1.1" % l.path)
    yield "two spaces before the version", l.request(first=b"POST %s  HTTP/1.1" % l.path)
    yield "a space behind the version", l.request(first=b"POST %s HTTP/1.1 " % l.path)
    yield "a tab behind the method", l.request(first=b"POST\t%s HTTP/1.1" % l.path)
    yield "a space before the method", l.request(first=b" POST %s HTTP/1.1" % l.path)
    yield "an empty line first", crlf + good
    yield "a bare LF first", b"\n" + good
    yield "no version", l.request(first=b"POST %s" % l.path)
    for v in (b"HTTP/0.9", b"HTTP/1.2", b"HTTP/2.0", b"HTTP/3", b"http/1.1", b"HTTP/1.10", b"HTTP/01.1", b"HTTP/1.", b"HTTP/1"):
        yield "the version " + v.decode(), l.request(first=b"POST %s %s" % (l.path, v))
    yield "no host", l.request(head=b"".join(x + crlf for x in l.head.split(crlf)[:-1] if not x.lower().startswith(b"host")))
    yield "two hosts", l.request(more=host + crlf)
    yield "two hosts that differ", l.request(more=b"Host: other.example\r\n")
    yield "a length that is one of this connection only", l.request(more=b"Connection: close, Content-Length\r\n")
    yield "a host that is one of this connection only", l.request(more=b"Connection: host\r\n")
    yield "another protocol", b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + b"\0" * 40
    yield "the beginning of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

def examine(l, tls=False):
    got, ended = l.say(l.request(more=b"Connection: close\r\n"))
    before = l.done()
    ok(l.what + ": a good request is answered", statuses(got) == [200] and ended, got)
    got, ended = l.say(l.request(length=False, more=b"Connection: close\r\nTransfer-Encoding: chunked\r\n", body=b"".join(b"%x\r\n%s\r\n" % (len(l.body[i:i + 9]), l.body[i:i + 9]) for i in range(0, len(l.body), 9)) + b"0\r\n\r\n"))
    ok(l.what + ": one in chunks, too", statuses(got) == [200] and l.done() == before + 1, got)
    text = l.request(more=b"Connection: close\r\n")
    got, ended = l.say(*[text[i:i + 1] for i in range(40)] + [text[40:]])
    ok(l.what + ": one in single bytes, too", statuses(got) == [200] and l.done() == before + 2, got)
    got, ended = l.say(l.request() + l.request(more=b"Connection: close\r\n"))
    ok(l.what + ": two in one go, too", statuses(got) == [200, 200] and l.done() == before + 4, got)
    follow = l.request(more=b"X-Smuggled: yes\r\n")
    for what, text in table(l):
        for how in ("whole", "pieces", "second"):
            if how == "pieces" and not any(w in what for w in ("LF", "NUL", "length", "extension", "chunk", "colon")): continue
            if how == "second" and not any(w in what for w in ("bare LF everywhere", "NUL in a value", "two lengths", "an extension of a chunk", "a length and chunks", "no host")): continue
            before = l.done()
            cut = text.find(b"\r\n") + 5
            pieces = [l.request() + text + follow] if how == "second" else [text + follow] if how == "whole" else [text[:cut], text[cut:-3], text[-3:] + follow]
            got, ended = l.say(*pieces)
            want = [200, 400] if how == "second" else [400]
            ok("%s: %s%s" % (l.what, what, {"whole": "", "pieces": ", in pieces", "second": ", as the second request"}[how]), statuses(got) == want and ended and l.done() == before + (how == "second"), statuses(got), ended, l.done() - before, got[:600])
    got, ended = l.say(l.request(first=b"POST %s HTTP/1.1" % (l.path + b"a" * 70000)), wait=20)
    ok(l.what + ": a first line that is too long is refused", statuses(got) in ([414], [431], [400]) and ended, got[:300])
    got, ended = l.say(l.request(more=b"X-A: %s\r\n" % (b"a" * 70000)), wait=20)
    ok(l.what + ": so is a field", statuses(got) in ([431], [400], [413]) and ended, got[:300])
    ok(l.what + ": and then all is well", statuses(l.say(l.request(more=b"Connection: close\r\n"))[0]) == [200])

def tcp(url): return lambda: socket.create_connection((url.hostname, url.port))
def local():
    c = socket.socket(socket.AF_UNIX); c.connect(p.dir + "/sock"); return c
def rows(): return sum(r.get("tool_name") == "read_ticket" for r in p.receipts())
ask = b'{"tool":"read_ticket","effect_level":"r","session_id":"wire"}'
head = b"Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nX-Helm-Tenant-ID: default\r\nX-Helm-Principal-ID: system-admin\r\n" % ADMIN.encode()
which = sys.argv[1]
if which == "serve":
    s = Server(p, "--listen", "unix:" + p.dir + "/sock", env=FREE)
    examine(Listener("serve", tcp(s.url), b"/api/v1/evaluate", head, ask, rows))
    if os.path.exists(p.dir + "/sock"): examine(Listener("serve, socket", local, b"/api/v1/evaluate", b"Host: localhost\r\nContent-Type: application/json\r\n", ask, rows))
    ok("it ends well, and the chain is sound", s.stop() == 0 and p.helm("log", "check", "--all").returncode == 0)
elif which == "tls":
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", p.dir + "/key", "-out", p.dir + "/cert", "-days", "2", "-subj", "/CN=localhost"], capture_output=True)
    s = Server(p, "--tls-cert", p.dir + "/cert", "--tls-key", p.dir + "/key", env=FREE)
    context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    examine(Listener("serve, TLS", lambda: context.wrap_socket(tcp(s.url)()), b"/api/v1/evaluate", head, ask, rows))
    ok("it ends well", s.stop() == 0)
elif which == "proxy":
    x = Proxy(p, m, env={"HELM_LIMIT_SECONDS": "6"})
    examine(Listener("proxy", tcp(x.url), b"/v1/chat/completions", b"Host: localhost\r\nContent-Type: application/json\r\n", b'{"model":"m","messages":[]}', lambda: len(m.seen)))
    ok("it ends well", x.stop() == 0)
finish()
PY
part() { # part NAME: its lines, counted on
  timeout 280 python3 wire.py "$1" >"$1.out" 2>"$1.err"
  code=$?
  while IFS= read -r line; do
    case $line in
    "ok "* | "not ok "*)
      count=$((count + 1))
      case $line in "not ok"*) failures=$((failures + 1)); printf 'not ok %d -%s\n' $count "${line#*-}" ;; *) printf 'ok %d -%s\n' $count "${line#*-}" ;; esac ;;
    1..*) code=0 ;;
    *) printf '%s\n' "$line" ;;
    esac
  done <"$1.out"
  [ $code -eq 0 ] || sed 's/^/# /' "$1.err"
  ok "$1 was examined to its end" [ $code -eq 0 ]
}
part serve
part proxy
if command -v openssl >/dev/null; then part tls; else skip "over TLS" "openssl is not here"; fi
finish
