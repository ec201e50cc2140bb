#!/usr/bin/env python3
"""proxy.py LISTEN TARGET MODEFILE — a loopback proxy that fails as MODEFILE says: pass; drop (no connection lives); stall (nothing moves);
cut N (answers end after N bytes); lose (requests arrive, answers do not); greet (PostgreSQL lets in, and hears nothing afterwards).
LISTEN and TARGET are ports, or paths of sockets."""
import socket
import sys
import threading
import time

listen, target, mode_file = sys.argv[1:4]
READY = b"Z\0\0\0\5"


def mode():
    with open(mode_file, encoding="ascii") as f:
        return f.read().split()


def reach(name):
    if "/" not in name:
        return socket.create_connection(("127.0.0.1", int(name)))
    s = socket.socket(socket.AF_UNIX)
    s.connect(name)
    return s


def pump(source, to, is_answer, ready):
    sent = 0
    try:
        while True:
            data = source.recv(65536)
            if not data:
                break
            how = mode()
            while how[0] == "stall":
                time.sleep(0.05)
                how = mode()
            if is_answer and READY in data:
                ready.set()
            if how[0] == "greet" and not is_answer and ready.is_set():
                while mode()[0] == "greet":
                    time.sleep(0.05)
                break
            if how[0] == "drop" or (is_answer and how[0] == "lose"):
                break
            if is_answer and how[0] == "cut":
                data = data[: max(0, int(how[1]) - sent)]
            to.sendall(data)
            sent += len(data)
            if is_answer and how[0] == "cut" and sent >= int(how[1]):
                break
    except OSError:
        pass
    for s in (source, to):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


server = socket.socket(socket.AF_UNIX if "/" in listen else socket.AF_INET)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(listen if "/" in listen else ("127.0.0.1", int(listen)))
server.listen(64)
print(listen if "/" in listen else server.getsockname()[1], flush=True)
while True:
    client, _ = server.accept()
    if mode()[0] == "drop":
        client.close()
        continue
    try:
        other = reach(target)
    except OSError:
        client.close()
        continue
    is_ready = threading.Event()
    threading.Thread(target=pump, args=(client, other, False, is_ready), daemon=True).start()
    threading.Thread(target=pump, args=(other, client, True, is_ready), daemon=True).start()
