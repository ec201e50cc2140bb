#!/usr/bin/env python3
"""Says bytes to the door of a run and prints what comes back: speak.py [--wait SECONDS] [--pause] WORD...

A WORD is text with the escapes of Python; between words it waits for an answer, unless --pause is given: then for a moment only.
speak.py --many N TARGET: N tunnels at once, each with a line that must come back.
speak.py --bytes CONNECT HELLO: the second word goes out byte by byte.
A word hello=NAME is what a TLS client says first that wants NAME."""
import socket
import ssl
import sys
import time

DOOR = ("127.0.0.1", 3128)


def hello(name):
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = ssl._create_unverified_context().wrap_bio(into, out, server_hostname=name or None)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def many(n, target):
    open_ones = []
    for _ in range(n):
        s = socket.create_connection(DOOR, timeout=30)
        s.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target))
        open_ones.append(s)
    good = 0
    for i, s in enumerate(open_ones):
        if s.recv(1000).startswith(b"HTTP/1.1 200"):
            s.sendall(b"line %d\n" % i)
    for i, s in enumerate(open_ones):
        good += s.recv(1000) == b"line %d\n" % i
    print("%d of %d" % (good, n))


def bytewise(first, name):
    s = socket.create_connection(DOOR, timeout=3)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.sendall(first.encode().decode("unicode_escape").encode("latin-1"))
    s.recv(1000)
    try:
        for b in hello(name):
            s.sendall(bytes([b]))
        print("came back" if s.recv(1000) else "ended")
    except OSError:
        print("ended")


words = sys.argv[1:]
wait, pause = 5, False
while words and words[0].startswith("--"):
    option = words.pop(0)
    if option == "--many":
        many(int(words[0]), words[1].encode())
        sys.exit(0)
    if option == "--bytes":
        bytewise(words[0], words[1][6:])
        sys.exit(0)
    if option == "--wait":
        wait = float(words.pop(0))
    if option == "--pause":
        pause = True
s = socket.create_connection(DOOR, timeout=wait)
for i, word in enumerate(words):
    data = hello(word[6:]) if word.startswith("hello=") else word.encode().decode("unicode_escape").encode("latin-1")
    try:
        s.sendall(data)
        if pause:
            time.sleep(0.1)
        elif i + 1 < len(words):
            sys.stdout.buffer.write(s.recv(65536))
    except OSError as why:
        print("error:", why)
try:
    while True:
        data = s.recv(65536)
        if not data:
            print("[end]")
            break
        sys.stdout.buffer.write(data)
except TimeoutError:
    print("[open]")
except OSError as why:
    print("error:", why)
