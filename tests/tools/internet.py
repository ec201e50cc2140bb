#!/usr/bin/env python3
"""An internet for tests, on the loopback: internet.py FILE PID serves until PID is gone, and writes its ports to FILE.

web    HTTP/1.1: /hello says hello; /head says the head that came; /to?URL redirects there; /big?N sends N bytes; POST /count says how many bytes came
echo   gives back what it gets
first  speaks first, as ssh servers do
quiet  accepts and never answers
spare  a port that nobody serves yet"""
import os
import socket
import sys
import threading
import time


def read_head(c):
    text = b""
    while b"\r\n\r\n" not in text:
        more = c.recv(65536)
        if not more:
            return None, b""
        text += more
    head, _, rest = text.partition(b"\r\n\r\n")
    return head, rest


def read_body(c, head, rest):
    low = head.lower()
    if b"transfer-encoding: chunked" in low:
        while not rest.endswith(b"0\r\n\r\n"):
            rest += c.recv(65536)
        count, at = 0, 0
        while True:
            end = rest.index(b"\r\n", at)
            size = int(rest[at:end], 16)
            if not size:
                return count
            count += size
            at = end + 4 + size
    for line in low.split(b"\r\n"):
        if line.startswith(b"content-length:"):
            want = int(line.split(b":")[1])
            got = len(rest)
            while got < want:
                got += len(c.recv(min(65536, want - got)))
            return got
    return 0


def answer(c, status, body, more=b""):
    c.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\n" % len(body) + more + b"\r\n" + body)


def web(c):
    while True:
        head, rest = read_head(c)
        if head is None:
            return
        method, target = head.split(b" ")[:2]
        path, _, query = target.partition(b"?")
        if method == b"POST":
            if b"100-continue" in head:
                c.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            answer(c, b"200 OK", b"%d\n" % read_body(c, head, rest))
        elif path == b"/hello":
            answer(c, b"200 OK", b"hello\n", b"Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n")
        elif path == b"/head":
            answer(c, b"200 OK", head + b"\n")
        elif path == b"/to":
            answer(c, b"302 Found", b"", b"Location: " + query + b"\r\n")
        elif path == b"/big":
            n = int(query)
            c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % n)
            while n > 0:
                c.sendall(b"x" * min(n, 1 << 16))
                n -= 1 << 16
        else:
            answer(c, b"404 Not Found", b"nothing here\n")
        if b"connection: close" in head.lower():
            return


def echo(c):
    while True:
        data = c.recv(65536)
        if not data:
            return
        c.sendall(data)


def first(c):
    c.sendall(b"SSH-2.0-test\r\n")
    c.sendall(b"you said " + c.recv(1000))


def quiet(c):
    time.sleep(600)


def serve(s, fn):
    def one(c):
        try:
            fn(c)
        except (OSError, ValueError, IndexError):
            pass
        c.close()

    while True:
        threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()


with open(sys.argv[1] + ".new", "w") as to:
    for name in ("web", "echo", "first", "quiet"):
        s = socket.create_server(("127.0.0.1", 0), backlog=2000)
        threading.Thread(target=serve, args=(s, globals()[name]), daemon=True).start()
        to.write("%s=%d\n" % (name, s.getsockname()[1]))
    s = socket.create_server(("127.0.0.1", 0))
    to.write("spare=%d\n" % s.getsockname()[1])
    s.close()
os.rename(sys.argv[1] + ".new", sys.argv[1])
while os.path.exists("/proc/%s" % sys.argv[2]):
    time.sleep(0.2)
