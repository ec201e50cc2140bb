"""raw_upstream.py — for tests of the proxy and the gateway: an upstream that answers with bytes as no library sends them, and then closes.

`say` is the answer to everything: pieces that are sent one after the other.  CLOSE ends the connection, RESET cuts it, STALL leaves it open without a word until the
other side goes; behind the last piece it is closed.  `answers`, when it is set, is asked first: bytes that it gives for a body are the answer instead."""
import socket, struct, threading

CLOSE, RESET, STALL = object(), object(), object()


class RawUpstream:
    def __init__(self):
        self.say, self.asked, self.answers = [], 0, None
        self.s = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = "http://127.0.0.1:%d/v1" % self.s.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            c, _ = self.s.accept()
            threading.Thread(target=self.answer, args=(c,), daemon=True).start()

    def take_request(self, c):
        """Its body, whole, so that what follows is about the answer and nothing else; None: there was none."""
        got = b""
        while b"\r\n\r\n" not in got:
            more = c.recv(65536)
            if not more: return None
            got += more
        head, _, body = got.partition(b"\r\n\r\n")
        length = [int(l.split(b":")[1]) for l in head.split(b"\r\n") if l.lower().startswith(b"content-length:")]
        while length and len(body) < length[0]:
            more = c.recv(65536)
            if not more: return None
            body += more
        return body

    def answer(self, c):
        try:
            body = self.take_request(c)
            known = self.answers(body) if self.answers and body is not None else None
            if known is not None:
                c.sendall(known)
            elif body is not None:
                self.asked += 1
                for p in self.say:
                    if p is STALL:
                        while c.recv(65536): pass
                        break
                    if p is RESET: c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    if p is RESET or p is CLOSE: break
                    c.sendall(p)
        except OSError:
            pass
        c.close()
