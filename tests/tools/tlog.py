"""tlog.py — a log of its own making, for tests of those who vouch for logs: leaves, roots and consistency proofs as RFC 6962 defines them, read from
there and not from our sources; questions to the signer of a log, and to a witness.

  tlog.py sign SOCKET NAME ORIGIN STORY OLD SIZE [NEWEST]   the signer's note, or "error CODE" and exit 3
  tlog.py facts SOCKET NAME                                 size and order number
  tlog.py race SOCKET NAME ORIGIN PROCESSES STEPS           several ask at once, each for the next tree it believes in
  tlog.py add URL OLD SIZE STORY <note                      status and body of a witness's answer
  tlog.py order SOCKET NAME ORIGIN SEQ PREV KIND            the signed order
"""
import base64, hashlib, json, os, socket, struct, sys, urllib.error, urllib.request


def leaf(i, story):
    """Stories agree up to leaf number `story`; 0 is the true one."""
    entry = hashlib.sha256(b"entry %d %d" % (i, story if story and i >= story else 0)).digest()
    return hashlib.sha256(b"\0" + entry).digest()


def node(a, b):
    return hashlib.sha256(b"\1" + a + b).digest()


def split(n):
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def root(leaves):
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return node(root(leaves[:k]), root(leaves[k:]))


def subproof(m, leaves, whole):
    if m == len(leaves):
        return [] if whole else [root(leaves)]
    k = split(len(leaves))
    if m <= k:
        return subproof(m, leaves[:k], whole) + [root(leaves[k:])]
    return subproof(m - k, leaves[k:], False) + [root(leaves[:k])]


def consistency(old, leaves):
    return subproof(old, leaves, True) if 0 < old <= len(leaves) else []


def tree(size, story):
    return [leaf(i, story) for i in range(size)]


def b64(h):
    return base64.b64encode(h).decode()


def head(origin, size, story):
    return "%s\n%d\n%s\n" % (origin, size, b64(root(tree(size, story))))


def request(old, size, story, checkpoint):
    lines = ["old %d" % old] + [b64(h) for h in consistency(old, tree(size, story))]
    return "\n".join(lines) + "\n\n" + checkpoint


class Line:
    def __init__(self, path):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(10)
        self.s.connect(path)

    def ask(self, op, record):
        q = json.dumps({"op": op, "record": record}).encode()
        self.s.sendall(struct.pack(">I", len(q)) + q)
        n = struct.unpack(">I", self.whole(4))[0]
        return json.loads(self.whole(n))

    def whole(self, n):
        got = b""
        while len(got) < n:
            part = self.s.recv(n - len(got))
            if not part:
                raise ConnectionError("hung up")
            got += part
        return got


def sign(line, name, origin, story, old, size, newest=None):
    record = {"log": name, "request": request(old, size, story, head(origin, size, story))}
    if newest:
        record["newest"] = newest
    return line.ask("log_head", record)


def race(path, name, origin, processes, steps):
    """Each believes in a story of its own, from leaf 4 on; what is signed at all must be of one story."""
    pids = []
    for p in range(processes):
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(r)
            line, got, size = Line(path), [], 4
            story = 0 if p == 0 else 4 + p
            for _ in range(steps):
                last = int(line.ask("log_facts", {"log": name})["last"].split("\n")[1])
                size = max(size, last) + 1
                answer = sign(line, name, origin, story, last, size)
                if "note" in answer:
                    got.append([story, size, answer["note"]])
            os.write(w, json.dumps(got).encode())
            os._exit(0)
        os.close(w)
        pids.append((pid, r))
    notes = []
    for pid, r in pids:
        with os.fdopen(r, "rb") as f:
            notes += json.loads(f.read() or b"[]")
        os.waitpid(pid, 0)
    stories = sorted({s for s, _, _ in notes})
    roots = {}
    for _, size, note in notes:
        roots.setdefault(size, set()).add(note.split("\n")[2])
    twice = [s for s, r in roots.items() if len(r) > 1]
    print("notes=%d stories=%d twice=%d" % (len(notes), len(stories), len(twice)))


def add(url, body):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body.encode(), {"Content-Type": "text/plain"}), timeout=10) as r:
            return r.status, r.headers.get("Content-Type"), r.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.headers.get("Content-Type"), e.read().decode()


def main(argv):
    if argv[0] == "sign":
        answer = sign(Line(argv[1]), argv[2], argv[3], int(argv[4]), int(argv[5]), int(argv[6]),
                      open(argv[7]).read() if len(argv) > 7 else None)
        if "error" in answer:
            print("error", answer["error"], answer["text"])
            return 3
        sys.stdout.write(answer["note"])
    elif argv[0] == "facts":
        answer = Line(argv[1]).ask("log_facts", {"log": argv[2]})
        print(answer["last"].split("\n")[1], answer["order_seq"], answer["order_hash"])
    elif argv[0] == "race":
        race(argv[1], argv[2], argv[3], int(argv[4]), int(argv[5]))
    elif argv[0] == "add":
        status, kind, body = add(argv[1], request(int(argv[2]), int(argv[3]), int(argv[4]), sys.stdin.read()))
        print(status, kind)
        sys.stdout.write(body)
    elif argv[0] == "order":
        order = {"version": "helm-fleet-order/1", "origin": argv[3], "seq": int(argv[4]), "prev_hash": argv[5], "kind": argv[6]}
        answer = Line(argv[1]).ask("log_order", {"log": argv[2], "order": order})
        print(json.dumps(answer, sort_keys=True))
        return 3 if "error" in answer else 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
