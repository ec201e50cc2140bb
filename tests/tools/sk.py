#!/usr/bin/env python3
"""A hardware authenticator in software: sk-ssh-ed25519 keys and the signatures `ssh-keygen -Y sign` would make with them.

sk.py key NAME                          prints the public key line of the key that NAME stands for
sk.py sign NAME FILE [MEMBER=VALUE...]  writes FILE.sig; flags=, counter=, namespace=, application=, claim= make one part wrong

Its Ed25519 is the textbook's (RFC 8032), so that it shares nothing with what it tests."""
import base64, hashlib, struct, sys

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
BY = 4 * pow(5, P - 2, P) % P


def recover(y):
    xx = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(xx, (P + 3) // 8, P)
    if (x * x - xx) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    return P - x if x & 1 else x


B = (recover(BY), BY, 1, recover(BY) * BY % P)


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, p):
    q = (0, 1, 1, 0)
    while n:
        if n & 1:
            q = add(q, p)
        p, n = add(p, p), n >> 1
    return q


def encode(p):
    z = pow(p[2], P - 2, P)
    x, y = p[0] * z % P, p[1] * z % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def secret(seed):
    h = hashlib.sha512(seed).digest()
    n = int.from_bytes(h[:32], "little") & ((1 << 254) - 8) | 1 << 254
    return n, h[32:]


def public(seed):
    return encode(times(secret(seed)[0], B))


def number(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % L


def sign(seed, message):
    n, prefix = secret(seed)
    pub = public(seed)
    r = number(prefix, message)
    point = encode(times(r, B))
    s = (r + number(point, pub, message) * n) % L
    return point + s.to_bytes(32, "little")


def string(b):
    return struct.pack(">I", len(b)) + b


TYPE = b"sk-ssh-ed25519@openssh.com"


def blob(seed, application):
    return string(TYPE) + string(public(seed)) + string(application)


def main():
    action, name = sys.argv[1:3]
    seed = hashlib.sha256(name.encode()).digest()
    if action == "key":
        print(TYPE.decode(), base64.b64encode(blob(seed, b"ssh:")).decode(), name)
        return
    given = dict(word.split("=", 1) for word in sys.argv[4:])
    space = given.get("namespace", "helm-approval@v1").encode()
    application = given.get("application", "ssh:").encode()
    flags, counter = int(given.get("flags", 1)), int(given.get("counter", 7))
    with open(sys.argv[3], "rb") as f:
        digest = hashlib.sha512(f.read()).digest()
    frame = b"SSHSIG" + string(space) + string(b"") + string(b"sha512") + string(digest)
    told = struct.pack(">BI", flags, counter)
    raw = sign(seed, hashlib.sha256(application).digest() + told + hashlib.sha256(frame).digest())
    # claim=: the application that is written down, where it is not the one that was signed for
    claimed = given.get("claim", application.decode()).encode()
    whole = b"SSHSIG" + struct.pack(">I", 1) + string(blob(seed, claimed)) + string(space) + string(b"")
    whole += string(b"sha512") + string(string(TYPE) + string(raw) + told)
    text = base64.b64encode(whole[: int(given.get("cut", len(whole)))]).decode()
    with open(sys.argv[3] + ".sig", "w") as f:
        f.write("-----BEGIN SSH SIGNATURE-----\n")
        f.writelines(text[i : i + 70] + "\n" for i in range(0, len(text), 70))
        f.write("-----END SSH SIGNATURE-----\n")


main()
