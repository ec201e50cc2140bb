#!/usr/bin/env python3
"""proxy.py LISTEN TARGET MODEFILE — a loopback proxy that fails as MODEFILE says: pass; drop (no connection lives); stall (nothing moves);
cut N (answers end after N bytes); lose (requests arrive, answers do not)."""
import socket
import sys
import threading
import time

listen, target, mode_file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


def mode():
    with open(mode_file, encoding="ascii") as f:
        return f.read().split()


def pump(source, to, is_answer):
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


server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", listen))
server.listen(64)
print(server.getsockname()[1], flush=True)
while True:
    client, _ = server.accept()
    if mode()[0] == "drop":
        client.close()
        continue
    try:
        other = socket.create_connection(("127.0.0.1", target))
    except OSError:
        client.close()
        continue
    threading.Thread(target=pump, args=(client, other, False), daemon=True).start()
    threading.Thread(target=pump, args=(other, client, True), daemon=True).start()
