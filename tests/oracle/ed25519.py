"""Ed25519 (RFC 8032) under the strict rule of docs/formats/projection.md, in plain Python: for the second verifiers only.

Multiples of the base point and of keys are kept in tables, and answers are remembered: a run of many thousand documents asks mostly about
the same few signatures."""
import functools
import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)
IDENTITY = (0, 1, 1, 0)


def point_add(p, q):
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c = 2 * p[3] * q[3] * D % P
    d = 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def point_mul(s, p):
    q = IDENTITY
    while s:
        if s & 1:
            q = point_add(q, p)
        p = point_add(p, p)
        s >>= 1
    return q


def point_eq(p, q):
    return (p[0] * q[2] - q[0] * p[2]) % P == 0 and (p[1] * q[2] - q[1] * p[2]) % P == 0


def point_decode(data):
    """The point, or None when the encoding is not canonical or not on the curve."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= P:
        return None
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * SQRT_M1 % P
    if (x * x - x2) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def in_group(p):
    return p is not None and not point_eq(p, IDENTITY) and point_eq(point_mul(L, p), IDENTITY)


@functools.lru_cache(maxsize=64)
def table_of(encoded):
    """table[i][d] is d * 16**i times the point; None when the point is none that a key may be."""
    p = point_decode(encoded)
    if not in_group(p):
        return None
    table = []
    for _ in range(64):
        row = [IDENTITY]
        for _ in range(15):
            row.append(point_add(row[-1], p))
        table.append(row)
        p = point_add(row[-1], p)
    return table


def table_mul(table, s):
    q = IDENTITY
    for row in table:
        if s & 15:
            q = point_add(q, row[s & 15])
        s >>= 4
    return q


BASE = bytes.fromhex("58" + "66" * 31)


@functools.lru_cache(maxsize=1 << 16)
def verify(key, message, signature):
    if len(key) != 32 or len(signature) != 64:
        return False
    table, r = table_of(key), point_decode(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if s >= L or table is None or r is None:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    return point_eq(table_mul(table_of(BASE), s), point_add(r, table_mul(table, k))) and in_group(r)
