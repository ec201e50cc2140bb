#!/usr/bin/env python3
"""make_records.py DIR: write the cases of tests/cases/records into DIR.

A second implementation of the record formats, from docs/formats only, with nothing but the standard library: canonical JSON,
Ed25519, ML-DSA-65 (signing), Merkle trees.  It makes one sound document per kind and then breaks it in the ways that matter;
what the program must answer is written beside each.  Signing key: seed 0x2a x 32; a stranger's: 0x5c x 32.
"""
import base64
import copy
import hashlib
import json
import os
import sys

SEED, STRANGER = b"\x2a" * 32, b"\x5c" * 32
OUT = sys.argv[1] if len(sys.argv) > 1 else "."
LINES = []
UNSET = "0001-01-01T00:00:00Z"


def sha(data):
    return hashlib.sha256(data).hexdigest()


def name_key(name):
    return name.encode("utf-16-be")


def canon(v):
    if isinstance(v, dict):
        return "{" + ",".join(canon(k) + ":" + canon(v[k]) for k in sorted(v, key=name_key)) + "}"
    if isinstance(v, list):
        return "[" + ",".join(map(canon, v)) + "]"
    if isinstance(v, str):
        return json.dumps(v, ensure_ascii=False).replace("\x7f", "\x7f")
    return json.dumps(v)


def cb(v):
    return canon(v).encode()


def hexof(v):
    return sha(cb(v))


def prefixed(v):
    return "sha256:" + sha(v if isinstance(v, bytes) else cb(v))


# ---- Ed25519 -------------------------------------------------------------------------------------------------------

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def edwards_add(a, b):
    x1, y1, z1, t1 = a
    x2, y2, z2, t2 = b
    e, f = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    g, h = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return e * f % P, g * h % P, f * g % P, e * h % P


def edwards_mul(k, p):
    r = (0, 1, 1, 0)
    while k:
        if k & 1:
            r = edwards_add(r, p)
        p = edwards_add(p, p)
        k >>= 1
    return r


def base_point():
    y = 4 * pow(5, P - 2, P) % P
    xx = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(xx, (P + 3) // 8, P)
    if (x * x - xx) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x % 2:
        x = P - x
    return x, y, 1, x * y % P


BASE = base_point()


def encode(p):
    zi = pow(p[2], P - 2, P)
    x, y = p[0] * zi % P, p[1] * zi % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def expand(seed):
    h = hashlib.sha512(seed).digest()
    a = int.from_bytes(h[:32], "little") & (1 << 254) - 8 | 1 << 254
    return a, h[32:]


def public(seed):
    return encode(edwards_mul(expand(seed)[0], BASE))


def sign(message, seed=SEED):
    a, prefix = expand(seed)
    pub = encode(edwards_mul(a, BASE))
    r = int.from_bytes(hashlib.sha512(prefix + message).digest(), "little") % L
    big_r = encode(edwards_mul(r, BASE))
    h = int.from_bytes(hashlib.sha512(big_r + pub + message).digest(), "little") % L
    return big_r + ((r + h * a) % L).to_bytes(32, "little")


KEY, OTHER_KEY = public(SEED).hex(), public(STRANGER).hex()


def sign_hex(message, seed=SEED):
    return sign(message, seed).hex()


# ---- ML-DSA-65, signing (FIPS 204, deterministic) ---------------------------------------------------------------------

Q, N, ROWS, COLS, ETA, TAU, BETA, OMEGA = 8380417, 256, 6, 5, 4, 49, 196, 55
G1, G2, DROP = 1 << 19, (Q - 1) // 32, 13
ZETAS = [pow(1753, int(f"{i:08b}"[::-1], 2), Q) for i in range(N)]


def shake256(data, n):
    return hashlib.shake_256(data).digest(n)


def ntt(w):
    w, m, ln = list(w), 0, 128
    while ln:
        for start in range(0, N, 2 * ln):
            m += 1
            for j in range(start, start + ln):
                t = ZETAS[m] * w[j + ln] % Q
                w[j + ln], w[j] = (w[j] - t) % Q, (w[j] + t) % Q
        ln //= 2
    return w


def intt(w):
    w, m, ln = list(w), N, 1
    while ln < N:
        for start in range(0, N, 2 * ln):
            m -= 1
            for j in range(start, start + ln):
                t = w[j]
                w[j] = (t + w[j + ln]) % Q
                w[j + ln] = -ZETAS[m] * (t - w[j + ln]) % Q
        ln *= 2
    return [x * 8347681 % Q for x in w]


def pack_bits(values, bits):
    n = 0
    for i, x in enumerate(values):
        n |= x << bits * i
    return n.to_bytes(len(values) * bits // 8, "little")


def centred(x, m):
    x %= m
    return x - m if x > m // 2 else x


def reject_ntt(seed):
    stream, out, at = hashlib.shake_128(seed).digest(2048), [], 0
    while len(out) < N:
        z = stream[at] | stream[at + 1] << 8 | (stream[at + 2] & 127) << 16
        at += 3
        if z < Q:
            out.append(z)
    return out


def reject_bounded(seed):
    out = []
    for b in shake256(seed, 1024):
        for half in (b & 15, b >> 4):
            if half < 9 and len(out) < N:
                out.append(4 - half)
    return out


def in_ball(seed):
    stream, c, at = shake256(seed, 1024), [0] * N, 8
    signs = int.from_bytes(stream[:8], "little")
    for i in range(N - TAU, N):
        while stream[at] > i:
            at += 1
        j = stream[at]
        at += 1
        c[i], c[j] = c[j], -1 if signs >> i + TAU - N & 1 else 1
    return c


def decompose(r):
    r %= Q
    r0 = centred(r, 2 * G2)
    return (0, r0 - 1) if r - r0 == Q - 1 else ((r - r0) // (2 * G2), r0)


def mldsa_keys(seed):
    h = shake256(seed + bytes([ROWS, COLS]), 128)
    rho, rho2, k = h[:32], h[32:96], h[96:]
    a = [[reject_ntt(rho + bytes([s, r])) for s in range(COLS)] for r in range(ROWS)]
    s1 = [reject_bounded(rho2 + i.to_bytes(2, "little")) for i in range(COLS)]
    s2 = [reject_bounded(rho2 + (COLS + i).to_bytes(2, "little")) for i in range(ROWS)]
    s1n, t1, t0 = [ntt(s) for s in s1], [], []
    for r in range(ROWS):
        w = intt([sum(a[r][s][i] * s1n[s][i] for s in range(COLS)) % Q for i in range(N)])
        t = [(w[i] + s2[r][i]) % Q for i in range(N)]
        low = [centred(x, 1 << DROP) if x % (1 << DROP) != 1 << DROP - 1 else 1 << DROP - 1 for x in t]
        t0.append(low)
        t1.append([(x - y) >> DROP for x, y in zip(t, low)])
    pk = rho + b"".join(pack_bits(t, 10) for t in t1)
    return pk, (a, k, s1n, [ntt(s) for s in s2], [ntt(t) for t in t0], shake256(pk, 64))


def mldsa_sign(keys, message):
    a, k, s1, s2, t0, tr = keys
    mu = shake256(tr + b"\0\0" + message, 64)
    rho, kappa = shake256(k + bytes(32) + mu, 64), 0
    while True:
        y = []
        for s in range(COLS):
            bits = int.from_bytes(shake256(rho + (kappa + s).to_bytes(2, "little"), 640), "little")
            y.append([G1 - (bits >> 20 * i & 0xFFFFF) for i in range(N)])
        kappa += COLS
        yn = [ntt(p) for p in y]
        w = [intt([sum(a[r][s][i] * yn[s][i] for s in range(COLS)) % Q for i in range(N)]) for r in range(ROWS)]
        w1 = [[decompose(x)[0] for x in row] for row in w]
        tilde = shake256(mu + b"".join(pack_bits(row, 4) for row in w1), 48)
        c = ntt(in_ball(tilde))
        mul = lambda p: [centred(x, Q) for x in intt([c[i] * p[i] % Q for i in range(N)])]
        z = [[centred(y[s][i] + d, Q) for i, d in enumerate(mul(s1[s]))] for s in range(COLS)]
        cs2, ct0 = [mul(p) for p in s2], [mul(p) for p in t0]
        low = [[decompose(w[r][i] - cs2[r][i])[1] for i in range(N)] for r in range(ROWS)]
        big = lambda rows: max(abs(x) for row in rows for x in row)
        if big(z) >= G1 - BETA or big(low) >= G2 - BETA or big(ct0) >= G2:
            continue
        hints = [
            [i for i in range(N) if decompose(w[r][i] - cs2[r][i])[0] != decompose(w[r][i] - cs2[r][i] + ct0[r][i])[0]]
            for r in range(ROWS)
        ]
        if sum(map(len, hints)) > OMEGA:
            continue
        flat, ends = [], []
        for row in hints:
            flat += row
            ends.append(len(flat))
        packed = bytes(flat + [0] * (OMEGA - len(flat)) + ends)
        return tilde + b"".join(pack_bits([G1 - x for x in p], 20) for p in z) + packed


# ---- writing cases -------------------------------------------------------------------------------------------------


def write(path, data):
    path = os.path.join(OUT, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def case(id, doc, expect, name=None, note=None):
    file = name or id + ".json"
    write(file, doc if isinstance(doc, bytes) else (json.dumps(doc, ensure_ascii=False, indent=1) + "\n").encode())
    row = {"id": id, "files": [file], "expect": expect}
    if note:
        row["note"] = note
    LINES.append(json.dumps(row, ensure_ascii=False))


def mutations(family, make, wrap, edits, result=lambda error: {"result": "reject", **({"error": error} if error else {})}):
    """One case per edit of a fresh sound record; an edit is (name, function on the record, error or None)."""
    for name, edit, error in edits:
        record = make()
        edit(record)
        case(f"{family}/{name}", wrap(record), result(error))


def setter(member, value):
    def edit(r):
        r[member] = value

    return edit


def dropper(member):
    def edit(r):
        del r[member]

    return edit


def flip(member):
    def edit(r):
        s = r[member]
        r[member] = s[:-1] + ("0" if s[-1] != "0" else "1")

    return edit


REJECT, ACCEPT = {"result": "reject"}, {"result": "accept"}

# ---- canonical JSON, Ed25519, identifiers ----------------------------------------------------------------------------


def base_families():
    for name, text in {
        "order": '{"b":1,"a":2,"":3}',
        "surrogates": '{"\\ufffd":1,"\\ud800\\udc00":2}',
        "numbers-kept": "[1e2,1.50,-0,9007199254740993]",
        "escapes": '"\\u0000\\u001f\\"\\\\/<>&\\u2028"',
    }.items():
        value = json.loads(text, parse_float=str, parse_int=str) if name == "numbers-kept" else json.loads(text)
        out = "[" + ",".join(value) + "]" if name == "numbers-kept" else canon(value)
        case(
            f"canonical-json/{name}",
            {"input_text": text},
            {"result": "value", "canonical": out, "sha256": sha(out.encode()), "interoperable": name != "numbers-kept"},
        )
    for name, data in {
        "duplicate": b'{"a":1,"a":2}', "lone-surrogate": b'"\\ud800"', "overlong": b'"\xc0\xaf"', "bom": b"\xef\xbb\xbf1",
        "leading-zero": b"01", "control": b'"\x01"', "trailing": b"{} {}", "empty": b"", "nul": b"1\x00",
    }.items():
        case(f"canonical-json/reject-{name}", data, REJECT, name=f"canonical-json/reject-{name}.bin")

    msg = b"strict"
    good = sign(msg)
    s_plus_l = good[:32] + (int.from_bytes(good[32:], "little") + L).to_bytes(32, "little")
    small = (1).to_bytes(32, "little")
    order8 = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"
    doc = lambda k, s: {"public_key": k, "message_hex": msg.hex(), "signature": s.hex()}
    case("ed25519-strict/valid", doc(KEY, good), ACCEPT)
    case("ed25519-strict/s-plus-l", doc(KEY, s_plus_l), REJECT)
    case("ed25519-strict/small-order-r", doc(KEY, small + good[32:]), REJECT)
    case("ed25519-strict/small-order-key", doc(order8, bytes.fromhex(order8) + bytes(32)), REJECT)
    mixed = edwards_add(edwards_mul(expand(SEED)[0], BASE), (0, P - 1, 1, 0))
    case("ed25519-strict/mixed-order-key", doc(encode(mixed).hex(), good), REJECT)
    case("ed25519-strict/short-key", doc(KEY[:62], good), REJECT)
    case("ed25519-strict/other-key", doc(OTHER_KEY, good), REJECT)

    for name, urn, ok in [
        ("hash", "urn:helm:receipt:" + "a" * 64, True), ("assigned", "urn:helm:session:s-1", True),
        ("not-a-hash", "urn:helm:receipt:r1", False), ("unknown-type", "urn:helm:thing:a", False),
        ("upper-scheme", "URN:helm:key:a", False), ("empty", "urn:helm:key:", False),
        ("too-long", "urn:helm:key:" + "x" * 256, False), ("extra-colon", "urn:helm:key:a:b", False),
    ]:
        case(f"identifiers/{name}", {"urn": urn}, ACCEPT if ok else REJECT)
    text = "6:tenant3:d-1"
    case("identifiers/receipt-id", {"tenant": "tenant", "decision_id": "d-1"},
         {"result": "value", "receipt_id": "rcpt-" + sha(text.encode()), "hashed_text": text})


# ---- receipts --------------------------------------------------------------------------------------------------------

V5 = ["args_hash", "decision_id", "effect_id", "lamport_clock", "output_hash", "policy_hash", "prev_hash", "reason_code",
      "receipt_id", "session_id", "signature_version", "status", "verdict"]


def chain_hash(r):
    view = {k: v for k, v in r.items() if k not in ("transparency", "log_id", "leaf_index")}
    for m in ("output_hash", "args_hash", "verdict", "reason_code", "policy_hash", "session_id", "correlation_id"):
        if view.get(m) == "":
            del view[m]
    for m in ("created_at", "installed_at", "issued_at"):
        view.setdefault(m, UNSET)
    return hexof(view)


def seal_receipt(r, seed=SEED):
    r["signature"] = sign_hex(cb({m: r[m] for m in V5}), seed)
    return r


def receipt(i=1, prev="", **more):
    r = {
        "receipt_id": f"rcpt-{i}", "decision_id": f"dec-{i}", "effect_id": "EXECUTE_TOOL", "external_reference_id": "",
        "status": "DENY", "output_hash": "", "timestamp": f"2026-03-01T12:00:0{i % 10}.25Z", "executor_id": "agent.ünal",
        "prev_hash": prev, "lamport_clock": i, "args_hash": "sha256:" + sha(b"%d" % i), "signature_version": "receipt.v5",
        "verdict": "DENY", "reason_code": "POLICY_VIOLATION", "policy_hash": "sha256:" + "c" * 64, "session_id": "s-1",
        "metadata": {"n": 3, "note": "<a>"}, "signature_profile": "classical", "signature_algorithm": "ed25519",
        "key_id": "k1", "public_key_set": {"ed25519": KEY},
    }
    r.update(more)
    return seal_receipt(r)


def chain(n):
    rs, prev = [], ""
    for i in range(1, n + 1):
        rs.append(receipt(i, prev))
        prev = chain_hash(rs[-1])
    return rs


def receipts():
    one = lambda r: {"receipt": r, "public_key": "ed25519:" + KEY}
    case("receipt-v5/valid", one(receipt()), ACCEPT)
    case("receipt-v5/stranger", one(seal_receipt(receipt(), STRANGER)), {"result": "reject", "error": "signature_rejected"})
    mutations("receipt-v5", receipt, one, [
        ("edited-" + m, setter(m, "x"), "signature_rejected") for m in V5 if m not in ("lamport_clock", "signature_version")
    ] + [
        ("missing-" + m, dropper(m), "contract_mismatch") for m in V5 if m != "signature_version"
    ] + [
        ("clock-too-large", setter("lamport_clock", 2**53), "non_interoperable_number"),
        ("clock-edited", setter("lamport_clock", 2), "signature_rejected"),
        ("null-member", setter("verdict", None), "contract_mismatch"),
        ("other-version", setter("signature_version", "receipt.v6"), "unsupported receipt signature version"),
    ])

    text = lambda r: json.dumps(r, ensure_ascii=False).encode()
    note = "public key " + KEY
    base = text(receipt())
    for name, data in {
        "duplicate": base.replace(b'"verdict": "DENY"', b'"verdict": "DENY", "verdict": "ALLOW"'),
        "case-variant": base[:-1] + b', "Verdict": "ALLOW"}', "long-s": base[:-1] + ', "ſtatus": "x"}'.encode(),
        "nested-duplicate": base.replace(b'"n": 3', b'"n": 3, "n": 4'), "trailing": base + b" {}", "list": b"[" + base + b"]",
        "clock-exponent": base.replace(b'"lamport_clock": 1', b'"lamport_clock": 1e0'),
        "clock-text": base.replace(b'"lamport_clock": 1', b'"lamport_clock": "1"'),
        "signature-upper": base.replace(receipt()["signature"].encode(), receipt()["signature"].upper().encode()),
        "profile-hybrid": base.replace(b'"classical"', b'"hybrid"'), "algorithm": base.replace(b'"ed25519",', b'"rsa",'),
    }.items():
        case(f"receipt-strict/{name}", data, REJECT, name=f"receipt-strict/{name}.receipt.json", note=note)
    case("receipt-strict/valid", base, ACCEPT, name="receipt-strict/valid.receipt.json", note=note)

    checks = lambda **k: {"identity": "pass", "integrity": "pass", "policy": "pass", "execution_observation": "pass",
                          "closure": "pass", "permit": "not_applicable", **k}
    bundle = lambda rs, key=KEY: {"receipts": rs, "trusted_public_key": key}
    three = chain(3)
    case("receipt-chain/valid", bundle(three),
         {"valid": True, "checks": checks(), "chain_hashes": [chain_hash(r) for r in three]})
    case("receipt-chain/single", bundle(chain(1)), {"valid": True, "checks": checks(closure="not_applicable")})
    case("receipt-chain/dropped", bundle([three[0], three[2]]), {"valid": False, "checks": checks(closure="fail")})
    case("receipt-chain/swapped", bundle([three[0], three[2], three[1]]), {"valid": False, "checks": checks(closure="fail")})
    case("receipt-chain/stranger-key", bundle(three, OTHER_KEY), {"valid": False, "checks": checks(identity="fail")})
    edited = copy.deepcopy(three)
    edited[0]["timestamp"] = "2026-03-01T12:00:09Z"
    case("receipt-chain/unsigned-member-edited", bundle(edited), {"valid": False, "checks": checks(closure="fail")})
    edited = copy.deepcopy(three)
    edited[1]["verdict"] = "ALLOW"
    case("receipt-chain/verdict-edited", bundle(edited), {"valid": False, "checks": checks(identity="fail", closure="fail")})
    same = [three[0], receipt(1, chain_hash(three[0]), receipt_id="again")]
    case("receipt-chain/clock-repeated", bundle(same), {"valid": False, "checks": checks(closure="fail")})
    case("receipt-chain/empty", bundle([]), {"valid": False, "error": "no receipts supplied"})

    def legacy():
        r = receipt()
        for m in ("signature_version", "verdict", "reason_code", "policy_hash", "session_id"):
            del r[m]
        r["signature"] = sign_hex(legacy_text(r).encode())
        return r

    def legacy_text(r):
        return ":".join(str(r[m]) for m in ("receipt_id", "decision_id", "effect_id", "status", "output_hash", "prev_hash",
                                            "lamport_clock", "args_hash"))

    case("receipt-legacy/valid", one(legacy()),
         {"result": "accept", "preimage": "v4-fields", "preimage_text": legacy_text(legacy()), "legacy": True})
    mutations("receipt-legacy", legacy, one, [
        ("edited", setter("status", "ALLOW"), "signature_rejected"), ("empty-version", setter("signature_version", ""), None),
        ("unknown-version", setter("signature_version", "v9"), "unsupported receipt signature version"),
        ("other-field-edited", setter("args_hash", ""), "signature_rejected"),
    ])
    stripped = receipt()
    del stripped["signature_version"]
    case("receipt-legacy/tag-deleted", one(stripped), {"result": "reject", "error": "signature_rejected"})

    write("verify/receipt.json", canon(receipt()).encode() + b"\n")
    write("verify/chain.jsonl", b"".join(cb(r) + b"\n" for r in chain(5)))
    return three


# ---- decisions, intents, permits ----------------------------------------------------------------------------------------


def decision_members(d, version):
    scan = d.get("threat_scan")
    m = {k: d.get(k, "") for k in ("effect_digest", "id", "phenotype_hash", "policy_content_hash", "reason_code", "verdict")}
    m.update(reason_hash=sha(d["reason"].encode()), signature_version=version)
    if version != "decision_record.v2":
        m["threat_scan_hash"] = prefixed(scan) if scan else ""
    if version == "decision_record.v4":
        m.update({k: d[k] for k in ("action", "resource", "signature_type", "subject_id")})
    return m


def decision(version="decision_record.v4"):
    d = {
        "id": "dec-7", "proposal_id": "p", "step_id": "s", "phenotype_hash": "sha256:" + "1" * 64, "policy_version": "3",
        "subject_id": "agent:a", "action": "EXECUTE", "resource": "fs.write", "effect_digest": "2" * 64,
        "policy_content_hash": "sha256:" + "3" * 64, "state_cursor": "", "env_fingerprint": "", "verdict": "ESCALATE",
        "reason": "a person must look: “really”", "reason_code": "APPROVAL_REQUIRED", "signature_type": "ed25519:k1",
        "timestamp": "2026-03-01T00:00:00Z",
        "threat_scan": {"scan_id": "t", "max_severity": "LOW", "finding_count": 0, "trust_level": "TRUSTED",
                        "input_hash": "sha256:" + "4" * 64},
    }
    if version:
        d["signature_version"] = version
        text = canon(decision_members(d, version))
    else:
        text = ":".join([d["id"], d["verdict"], d["reason"], d["phenotype_hash"], d["policy_content_hash"], d["effect_digest"]])
    d["signature"] = sign_hex(text.encode())
    return d, text


def decisions():
    wrap = lambda d: {"decision": d, "public_key": KEY}
    for name, version in [("v4", "decision_record.v4"), ("v3", "decision_record.v3"), ("v2", "decision_record.v2"), ("untagged", None)]:
        d, text = decision(version)
        case(f"decision/{name}", wrap(d), {"result": "accept", "preimage": text, "content_hash": prefixed(text.encode()),
                                            "grants_new_authority": name == "v4"})
    mutations("decision", lambda: decision()[0], wrap, [
        ("edited-" + m, setter(m, "x"), "signature_rejected")
        for m in ("reason", "verdict", "resource", "subject_id", "action", "signature_type", "reason_code", "effect_digest", "id")
    ] + [("unknown-tag", setter("signature_version", "decision_record.v5"), "unsupported_version"),
         ("scan-dropped", dropper("threat_scan"), "signature_rejected"),
         ("downgraded", setter("signature_version", "decision_record.v3"), "signature_rejected")])
    v3 = decision("decision_record.v3")[0]
    del v3["threat_scan"]
    case("decision/v3-without-scan", wrap(v3), {"result": "reject", "error": "contract_mismatch"})
    outside = decision()[0]
    outside["timestamp"] = "2027-01-01T00:00:00Z"
    case("decision/timestamp-is-outside", wrap(outside), ACCEPT)
    write("verify/decision.json", cb(decision()[0]) + b"\n")

    def intent(taint=("pii", "secret")):
        binding = {"effect_type": "mail.send", "params": {"to": "a@example.org", "n": 2}, "irreversible": True}
        i = {"signature_version": "authorized_execution_intent.v2", "id": "i-1", "decision_id": "dec-7",
             "effect_digest_hash": hexof(binding), "effect_binding": binding, "issued_at": "2026-03-01T00:00:00Z",
             "expires_at": "2026-03-01T00:05:00Z", "signer": "kernel", "signature_type": "ed25519:k1",
             "allowed_tool": "mail.send", "taint": ["pii", "secret"]}
        i["signature"] = sign_hex(cb(i))
        i["taint"] = list(taint)
        return i

    wrap = lambda i: {"intent": i, "public_key": KEY}
    plain = intent()
    case("intent/valid", wrap(plain), {"result": "accept", "preimage": canon({k: v for k, v in plain.items() if k != "signature"}),
                                       "effect_digest": plain["effect_digest_hash"]})
    case("intent/taint-normalised", wrap(intent((" PII", "secret", "pii"))), ACCEPT)
    mutations("intent", intent, wrap, [("edited-" + m, setter(m, "x"), "signature_rejected")
                                       for m in ("id", "decision_id", "signer", "allowed_tool", "effect_digest_hash")]
              + [("unknown-tag", setter("signature_version", "x"), "unsupported_version"),
                 ("binding-edited", lambda i: i["effect_binding"].update(effect_type="rm"), "signature_rejected"),
                 ("times-swapped", setter("expires_at", "2026-03-01T00:06:00Z"), "signature_rejected")])

    def permit():
        p = {"permit_id": "pm-1", "intent_hash": "sha256:" + "5" * 64, "verdict_hash": "sha256:" + "6" * 64, "effect_type": "READ",
             "connector_id": "c", "scope": {"allowed_action": "c.read", "allowed_params": ["b", "a"]}, "resource_ref": "r",
             "expires_at": "2026-03-01T12:30:00Z", "single_use": True, "nonce": "7" * 64,
             "issued_at": "2026-03-01T14:00:00.5+02:00", "issuer_id": "bridge", "evidence_bindings": {"k": "v"}}
        full = dict(p, signature_version="effect_permit.v1", plan_hash="", policy_hash="", issued_at="2026-03-01T12:00:00.5Z",
                    scope=dict(p["scope"], deny_patterns=[]))
        p["signature"] = sign_hex(cb(full))
        return p

    wrap = lambda p: {"permit": p, "issuer_public_key": "ed25519:" + KEY}
    rejected = "permit_signature_rejected"
    case("sealed/effect-permit-v1/valid", wrap(permit()), ACCEPT)
    mutations("sealed/effect-permit-v1", permit, wrap, [
        ("edited-" + m, setter(m, "x"), rejected)
        for m in ("permit_id", "intent_hash", "verdict_hash", "connector_id", "resource_ref", "nonce", "issuer_id")
    ] + [("unsigned", dropper("signature"), "permit_unsigned"), ("reusable", setter("single_use", False), rejected),
         ("upper-case", lambda p: p.update(signature=p["signature"].upper()), "invalid_encoding"),
         ("wider-scope", lambda p: p["scope"].update(allowed_params=["a", "b", "c"]), rejected),
         ("later-expiry", setter("expires_at", "2026-03-01T12:31:00Z"), rejected)])
    case("sealed/effect-permit-v1/same-time-other-offset", wrap(dict(permit(), issued_at="2026-03-01T12:00:00.500Z")), ACCEPT)


# ---- foreign receipts ------------------------------------------------------------------------------------------------------


def foreign():
    def external(n=2):
        rs, prev = [], None
        for i in range(1, n + 1):
            r = {"schema_version": "external_decision_receipt.v1", "kind": "external_decision_receipt",
                 "format_id": "helm_external.v1", "receipt_id": f"e-{i}", "action": "mail.send", "verdict": "deny",
                 "decision_time": f"2026-03-0{i}T00:00:00Z", "signature_algorithm": "Ed25519", "signing_key_id": "vk"}
            if prev:
                r["prev_receipt_hash"] = prev
            prev = prefixed(r)
            message = cb(r)
            r.update(receipt_hash=prev, signature=sign_hex(message))
            rs.append(r)
        return {"schema_version": "external_decision_receipt_bundle.v1", "format_id": "helm_external.v1", "receipts": rs,
                "public_keys": [{"key_id": "vk", "algorithm": "Ed25519", "public_key_hex": KEY}]}

    def ext(name, doc, grade, key=KEY):
        case(f"external-decision/{name}", {"document": doc, **({"trusted_public_key": key} if key else {})},
             {"classification": grade, "verified": grade != "unverified"})

    ext("trusted", external(), "crypto_conformant")
    ext("bundle-key", external(), "crypto_compatible_non_conformant", None)
    ext("other-key", external(), "unverified", OTHER_KEY)
    ext("no-receipts", dict(external(), receipts=[]), "unverified")
    keyless = external()
    keyless["public_keys"] = []
    ext("no-key", keyless, "unverified", None)
    for name, edit in {
        "edited": lambda r: r.update(verdict="allow"), "unsigned": lambda r: r.pop("signature"),
        "hash-wrong": lambda r: r.update(receipt_hash="sha256:" + "0" * 64), "link-broken": lambda r: r.pop("prev_receipt_hash"),
        "native-claim": lambda r: r.update(kind="helm_native_receipt"), "algorithm": lambda r: r.update(signature_algorithm="ES256"),
    }.items():
        doc = external()
        edit(doc["receipts"][1])
        ext(name, doc, "unverified")
    doc = external(1)
    doc["receipts"][0]["signature"] = base64.urlsafe_b64encode(bytes.fromhex(doc["receipts"][0]["signature"])).decode().rstrip("=")
    ext("base64url-unpadded", doc, "crypto_conformant")

    def host(n=2):
        rs, prev = [], None
        for i in range(1, n + 1):
            r = {"schema_version": "external_host_receipt.v1", "receipt_id": f"h-{i}", "source_vendor": "rec",
                 "source_profile": "p-v1", "host_id": "host", "receipt_hash": "", "signature_algorithm": "Ed25519",
                 "event": {"destination_ip": "203.0.113.7", "destination_port": 443, "protocol": "tcp",
                           "timestamp": f"2026-03-0{i}T00:00:00Z"}, "recorded_at": UNSET}
            if prev:
                r["prev_receipt_hash"] = prev
            prev = prefixed(r)
            r["receipt_hash"] = prev
            r["signature"] = sign_hex(cb(r))
            rs.append(r)
        return {"schema_version": "external_receipt_chain.v1", "chain_id": "c", "source_vendor": "rec", "source_profile": "p-v1",
                "created_at": "2026-03-03T00:00:00Z", "receipts": rs,
                "receipt_chain_hash": prefixed("\n".join(r["receipt_hash"] for r in rs).encode())}

    def hosted(name, doc, failed, key=KEY):
        case(f"host-evidence/{name}", {"chain": doc, "trusted_public_key": key},
             {"verified": not failed, "failed_checks": ["external_host:" + f for f in failed]})

    hosted("valid", host(), [])
    hosted("other-key", host(), ["signature"], OTHER_KEY)
    hosted("no-receipts", dict(host(), receipts=[]), ["receipts"])
    hosted("chain-hash", dict(host(), receipt_chain_hash="sha256:" + "0" * 64), ["chain_hash"])
    doc = host()
    doc["receipts"][1]["event"]["destination_port"] = 80
    hosted("event-edited", doc, ["receipt_hash", "signature", "chain_hash"])
    doc = host()
    doc["receipts"][0]["event"]["destination_port"] = 80
    hosted("first-event-edited", doc, ["receipt_hash", "signature", "prev_hash", "chain_hash"])
    doc = host()
    for m in ("schema_version", "source_vendor", "source_profile"):
        del doc["receipts"][0][m]
    hosted("defaults", doc, [])

    def counterfactual(**more):
        r = {"receipt_id": "cf-1", "enforcement": "counterfactual", "would_have_verdict": "DENY", "reason_code": "POLICY_VIOLATION",
             "observe_grant_id": "og", "boundary_record_id": "b", "boundary_record_hash": "sha256:" + "8" * 64,
             "policy_epoch": "e1", "created_at": "2026-03-01T00:00:00.5Z", **more}
        h = prefixed(r)
        r.update(receipt_hash=h, signer_key_id=KEY, signature=sign_hex(("counterfactual:" + h).encode()))
        return r

    wrap = lambda r: {"receipt": r, "public_key": KEY}
    case("counterfactual/valid", wrap(counterfactual()), {"result": "accept", "receipt_hash": counterfactual()["receipt_hash"]})
    case("counterfactual/allow-needs-no-reason", wrap({k: v for k, v in counterfactual(would_have_verdict="ALLOW").items()}), ACCEPT)
    for name, more in {"enforced": {"enforcement": "enforced"}, "no-grant": {"observe_grant_id": ""}, "no-reason": {"reason_code": "x"},
                       "no-verdict": {"would_have_verdict": "MAYBE"}}.items():
        case(f"counterfactual/{name}", wrap(counterfactual(**more)), REJECT)
    bare = counterfactual()
    bare["signature"] = sign_hex(bare["receipt_hash"].encode())
    case("counterfactual/no-domain", wrap(bare), REJECT)
    mutations("counterfactual", counterfactual, wrap, [("edited", setter("policy_epoch", "e2"), "hash_mismatch")])

    def workstation():
        r = {"receipt_version": "agent_run_receipt.v1", "decision_id": "w-1", "policy_profile": "observe", "verdict": "DENY",
             "reason_code": "X", "observed_only": False, "created_at": "2026-03-01T00:00:00Z", "receipt_hash": "", "signature": "",
             "request": {"request_id": "q", "tool_id": "net", "action": "a", "effect_type": "E", "effect_mode": "operate",
                         "occurred_at": "2026-03-01T00:00:00Z"}, "signer_key_id": "ed25519:" + KEY}
        message = cb(r)
        r.update(receipt_hash=sha(message), signature=sign_hex(message))
        return r

    def described(kind, path, data):
        write("verify/provenance/" + path, data)
        return {"kind": kind, "path": path, "hash": sha(data), "size": len(data)}

    pack = {"version": "agent_provenance_pack.v1", "pack_id": "pp", "object_hash_alg": "sha256", "canonical_json": "jcs", "capture_profile": "hash_only",
            "objects": [described("transcript", "objects/a.txt", b"said\n"), described("diff", "objects/b.txt", b"done\n")],
            "redaction_report": described("redaction", "redaction.json", b'{"status":"redacted","version":"1"}\n')}
    view = {"version": pack["version"], "objects": sorted(pack["objects"] + [pack["redaction_report"]], key=lambda o: (o["kind"], o["hash"]))}
    pack["root_hash"] = hexof(view)
    signed = {n: pack[n] for n in ("capture_profile", "pack_id", "root_hash", "version")}
    pack["signing"] = {"signer_key_id": "k", "signature_hex": sign_hex(cb(signed))}
    write("verify/provenance/manifest.json", cb(pack) + b"\n")

    good = workstation()
    case("workstation-receipt/valid", {"receipt": good}, {"integrity": True, "receipt_hash": good["receipt_hash"], "trusted_with": KEY})
    for name, edit in {"edited": setter("verdict", "ALLOW"), "key-swapped": setter("signer_key_id", "ed25519:" + OTHER_KEY),
                       "hash-edited": flip("receipt_hash"), "signature-edited": flip("signature")}.items():
        r = workstation()
        edit(r)
        case(f"workstation-receipt/{name}", {"receipt": r}, {"integrity": False})


# ---- graphs, logs, journals -----------------------------------------------------------------------------------------------


def merkle(leaves):
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + merkle(leaves[:k]) + merkle(leaves[k:])).digest()


def inclusion(leaves, i):
    if len(leaves) == 1:
        return []
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return inclusion(leaves[:k], i) + [merkle(leaves[k:])] if i < k else inclusion(leaves[k:], i - k) + [merkle(leaves[:k])]


def consistency(leaves, m, whole=True):
    if m == len(leaves):
        return [] if whole else [merkle(leaves)]
    k = 1 << (len(leaves) - 1).bit_length() - 1
    if m <= k:
        return consistency(leaves[:k], m, whole) + [merkle(leaves[k:])]
    return consistency(leaves[k:], m - k, False) + [merkle(leaves[:k])]


def logs(three):
    def node(kind, lamport, parents, seq, **more):
        n = {"kind": kind, "lamport": lamport, "parents": parents, "payload": {"n": seq}, "principal": "p", "principal_seq": seq,
             "sig": "", **more}
        n["node_hash"] = hexof(n)
        n["ts_unix_ms"] = 1772000000000 + seq
        return n

    def graph():
        a = node("INTENT", 1, None, 1)
        b = node("EFFECT", 2, [a["node_hash"]], 2, sig="ab", sig_purpose="author")
        return [a, b, node("CHECKPOINT", 3, [b["node_hash"]], 3)]

    good = graph()
    case("proofgraph/valid", {"nodes": good}, {"result": "accept", "heads": [good[2]["node_hash"]], "lamport": 3})
    for name, edit, expect in [
        ("payload", lambda g: g[1]["payload"].update(n=9), {"error": "node hash mismatch", "node_index": 1}),
        ("time-is-outside", lambda g: g[1].update(ts_unix_ms=1), None),
        ("parents-empty-list", lambda g: g[0].update(parents=[]), {"error": "node hash mismatch", "node_index": 0}),
        ("parent-missing", lambda g: g.pop(0), {"error": "not found"}),
        ("purpose", lambda g: g.__setitem__(1, node("EFFECT", 2, [g[0]["node_hash"]], 2, sig="ab", sig_purpose="blessing")), {}),
        ("clock", lambda g: g.__setitem__(2, node("CHECKPOINT", 2, [g[1]["node_hash"]], 3)), {"error": "clock order"}),
    ]:
        g = graph()
        edit(g)
        case(f"proofgraph/{name}", {"nodes": g}, ACCEPT if expect is None else {"result": "reject", **expect})
    union = sorted(n["node_hash"] for n in good)
    case("proofgraph/merge", {"replica_a": good[:2], "replica_b": good[1:]}, {"result": "value", "node_hashes_sorted": union})

    pair = lambda x, y: sha((x + y).encode())
    leaves = [sha(b"%d" % i) for i in range(5)]

    def condense(ls):
        rows = [ls]
        while len(rows[-1]) > 1:
            r = rows[-1]
            rows.append([pair(r[i], r[i + 1] if i + 1 < len(r) else r[i]) for i in range(0, len(r), 2)])
        return rows

    for n in (1, 3, 5):
        rows = condense(leaves[:n])
        root = rows[-1][0]
        proofs = []
        for i in range(n):
            path, at = [], i
            for r in rows[:-1]:
                sib = at ^ 1
                path.append(r[sib] if sib < len(r) else r[at])
                at //= 2
            proofs.append({"receipt_id": f"r{i}", "receipt_hash": leaves[i], "merkle_root": root, "siblings": path,
                           "leaf_index": i, "leaf_count": n})
        case(f"condensation/{n}-leaves", {"leaves": leaves[:n], "window_start": 4, "window_end": 9, "proofs": proofs},
             {"result": "value", "merkle_root": root, "checkpoint_id": "cp-" + sha((root + "4-9").encode())[:12], "all_proofs": "accept"})
        if n == 3:
            for name, edit in {"sibling": lambda p: p["siblings"].__setitem__(0, "0" * 64), "count-zero": setter("leaf_count", 0),
                               "index": setter("leaf_index", 3), "siblings-text": lambda p: p.update(siblings="ab", merkle_root=p["receipt_hash"]), "path-long": lambda p: p["siblings"].append("0" * 64)}.items():
                p = copy.deepcopy(proofs[0])
                edit(p)
                case(f"condensation/{name}", {"proof": p}, REJECT)

    inputs = [bytes.fromhex(sha(b"leaf%d" % i)) for i in range(7)]
    ls = [hashlib.sha256(b"\0" + x).digest() for x in inputs]
    root = lambda n: merkle(ls[:n]).hex()
    inc = lambda i, n: {"leaf_index": i, "tree_size": n, "leaf_hash": ls[i].hex(), "root_hash": root(n),
                        "audit_path": [h.hex() for h in inclusion(ls[:n], i)]}
    con = lambda m, n: {"old_size": m, "new_size": n, "old_root": root(m), "new_root": root(n),
                        "consistency_path": [h.hex() for h in consistency(ls[:n], m)]}

    def head(n=7, seed=SEED):
        pub = public(seed)
        h = {"log_id": sha(pub), "root_hash": root(n), "timestamp": "2026-03-01T00:00:00Z", "tree_size": n}
        return dict(h, public_key=pub.hex(), signature=sign_hex(cb(h), seed))

    case("translog/log", {"leaf_inputs_hex": [x.hex() for x in inputs], "inclusion_proofs": [inc(i, n) for n in (1, 2, 5, 7) for i in range(n)],
                          "consistency_proofs": [con(m, n) for n in (2, 5, 7) for m in range(1, n + 1)], "sth": head(),
                          "trusted_public_key": KEY},
         {"result": "accept", "roots": [root(n) for n in range(1, 8)], "log_id": sha(public(SEED))})
    def tl(name, doc, error):
        case(f"translog/{name}", doc, {"result": "reject", "error": error})

    p = inc(2, 7)
    tl("inclusion-long", {"inclusion_proof": dict(p, audit_path=p["audit_path"] + [root(7)]), "trusted_root": root(7)}, "audit path longer than expected")
    tl("inclusion-short", {"inclusion_proof": dict(p, audit_path=p["audit_path"][:-1]), "trusted_root": root(7)}, "audit path shorter than expected")
    tl("inclusion-index", {"inclusion_proof": dict(p, leaf_index=3), "trusted_root": root(7)}, "inclusion proof root mismatch")
    tl("inclusion-range", {"inclusion_proof": dict(p, leaf_index=7), "trusted_root": root(7)}, "index not below size")
    tl("inclusion-own-root", {"inclusion_proof": p, "trusted_root": root(6)}, "inclusion proof root mismatch")
    tl("inclusion-hex", {"inclusion_proof": dict(p, audit_path=["z" * 64] + p["audit_path"][1:]), "trusted_root": root(7)}, "undecodable hash")
    c = con(3, 7)
    roots = {"trusted_old_root": root(3), "trusted_new_root": root(7)}
    tl("consistency-long", {"consistency_proof": dict(c, consistency_path=c["consistency_path"] + [root(7)]), **roots}, "consistency path longer than expected")
    tl("consistency-short", {"consistency_proof": dict(c, consistency_path=c["consistency_path"][:-1]), **roots}, "consistency path shorter than expected")
    tl("consistency-old", {"consistency_proof": c, **dict(roots, trusted_old_root=root(2))}, "does not reproduce old root (split view)")
    tl("consistency-new", {"consistency_proof": c, **dict(roots, trusted_new_root=root(6))}, "does not reproduce new root (split view)")
    tl("head-unsigned", {"sth": {k: v for k, v in head().items() if k != "signature"}, "trusted_public_key": KEY}, "STH is unsigned")
    tl("head-size", {"sth": dict(head(), tree_size=6), "trusted_public_key": KEY}, "STH signature invalid")
    rootless = {"log_id": sha(public(SEED)), "root_hash": "z" * 64, "timestamp": "2026-03-01T00:00:00Z", "tree_size": 7}
    tl("head-rootless", {"sth": dict(rootless, public_key=KEY, signature=sign_hex(cb(rootless))), "trusted_public_key": KEY}, "undecodable hash")
    tl("head-stranger", {"sth": head(7, STRANGER), "trusted_public_key": KEY}, "STH signature invalid")
    tl("equivocation", {"sth_a": head(), "sth_b": dict(head(), root_hash=root(6))}, "equivocation")

    events, prev = [], ""
    for i in range(4):
        e = {"sequence": i, "timestamp": f"2026-03-0{i + 1}T00:00:00Z", "actor": "a", "action": "b", "payload": {"i": i}, "previous_hash": prev, "hash": ""}
        e["hash"] = prev = hexof(e)
        events.append(e)
    tip = {"sequence": 3, "hash": prev}
    case("journals/audit-log", {"events": events, "head": tip}, {"result": "accept", "head": prev})
    case("journals/audit-log-cut", {"events": events[:3], "head": tip}, {"result": "reject", "reason": "head side file differs"})
    bad = copy.deepcopy(events)
    bad[2]["action"] = "c"
    case("journals/audit-log-edited", {"events": bad, "head": tip}, {"result": "reject", "at": 2})
    case("journals/audit-log-dropped", {"events": events[:1] + events[2:], "head": tip}, {"result": "reject", "at": 1})

    write("verify/audit-log.jsonl", b"".join(cb(e) + b"\n" for e in events))

    rows, prev = [], "0" * 64
    for i in range(3):
        row = {"aat_version": "1.0", "record_id": f"t{i}", "sequence": i, "timestamp": "2026-03-01T00:00:00Z", "agent_id": "a",
               "action_type": "tool_call", "action": "read", "resource": "r", "payload_hash": sha(b"%d" % i), "previous_record_hash": prev,
               "record_hash": ""}
        row["record_hash"] = prev = hexof(row)
        row["signature"] = {"algorithm": "Ed25519", "public_key": base64.b64encode(public(SEED)).decode(),
                            "value": base64.b64encode(sign(bytes.fromhex(prev))).decode()}
        rows.append(cb(row) + b"\n")
    write("verify/audit-trail.jsonl", b"".join(rows))
    case("journals/trail-edited", rows[0] + rows[1].replace(b'"read"', b'"raed"') + rows[2], {"result": "reject", "at": 1}, name="journals/trail-edited.jsonl")
    case("journals/trail-respaced", rows[0] + rows[1] + rows[2].replace(b",", b", ", 1), {"result": "reject", "at": 2}, name="journals/trail-respaced.jsonl")
    case("journals/trail-no-json", rows[0] + b"{\n" + rows[2], {"result": "reject", "at": 1}, name="journals/trail-no-json.jsonl")
    case("journals/trail-algorithm", rows[0].replace(b'"Ed25519"', b'"Ed448"') + rows[1], {"result": "reject", "at": 0}, name="journals/trail-algorithm.jsonl")

    lines, prev = [], "GENESIS"
    for i in range(1, 4):
        row = {"receipt_id": f"r{i}", "timestamp": "2026-03-01T00:00:00Z", "upstream": "http://u", "input_hash": "sha256:" + sha(b"%d" % i),
               "output_hash": "sha256:o", "tool_calls_intercepted": 0, "status": "ok", "lamport_clock": i, "prev_hash": prev}
        row["signature"] = sign_hex(f"r{i}:sha256:o:ok:{i}".encode())
        lines.append(json.dumps(row, separators=(",", ":")).encode())
        prev = "sha256:" + sha(lines[-1])

    def journal(name, rows, expect):
        case(f"journals/{name}", b"".join(r + b"\n" for r in rows), dict(expect, public_key=KEY), name=f"journals/{name}.jsonl")

    journal("proxy", lines, {"result": "accept", "next_prev_hash": prev})
    journal("proxy-gap", [lines[0], lines[2]], REJECT)
    journal("proxy-blank", [lines[0], b"", lines[1]], REJECT)
    journal("proxy-respaced", [lines[0].replace(b":", b": ", 1), lines[1]], REJECT)


# ---- hybrid -----------------------------------------------------------------------------------------------------------------


def hybrid():
    pk, keys = mldsa_keys(SEED)

    def make(**more):
        r = receipt(signature_profile="hybrid", signature_algorithm="Hybrid-Ed25519-MLDSA65",
                    public_key_set={"ed25519": KEY, "ml-dsa-65": pk.hex()})
        text = cb({m: r[m] for m in V5})
        r["signature"] = "hybrid:" + sign_hex(text) + ":" + mldsa_sign(keys, text).hex()
        return dict(r, **more)

    wrap = lambda r: {"receipt": r, "ed25519_public_key": KEY, "mldsa65_public_key": pk.hex()}
    good = make()
    sig = good["signature"]
    case("hybrid/valid", wrap(good), {"result": "accept", "profile": "hybrid"})
    for name, s in {"classical-half-wrong": sig[:20] + ("0" if sig[20] != "0" else "1") + sig[21:], "other-half-wrong": sig[:-1] + ("0" if sig[-1] != "0" else "1"),
                    "cut": sig[:-32], "no-separator": sig.replace(":", ".", 2).replace(".", ":", 1), "stripped": sig[7:135],
                    "one-byte-changed": sig[:3000] + ("0" if sig[3000] != "0" else "1") + sig[3001:]}.items():
        case(f"hybrid/{name}", wrap(make(signature=s)), REJECT)
    case("hybrid/declared-classical", wrap(make(signature_profile="classical", signature_algorithm="ed25519")), REJECT)
    case("hybrid/no-post-quantum-key", {"receipt": good, "ed25519_public_key": KEY}, REJECT)


# ---- sealed records -------------------------------------------------------------------------------------------------------------

H = lambda c: "sha256:" + c * 64


def seal(record, member):
    record[member] = prefixed({k: v for k, v in record.items() if k != member})
    return record


def payload_signature(record, domain, members, seed=SEED):
    payload = {"algorithm": "ed25519", "contract_version": record["contract_version"], "domain": domain,
               "signing_key_ref": record["signing_key_ref"], **{m: record[m] for m in members.split()}}
    return "ed25519:" + sign_hex(cb(payload), seed)


def connector():
    return seal({"schema_version": "approval-connector-authority.v1", "contract_version": "2026-07-17.1", "state": "certified",
                 "binding_ref": "b", "tenant_id": "t", "workspace_id": "w", "pack_id": "p", "pack_version": "1", "action": "install",
                 "connector_action": "install", "connector_id": "c", "connector_version": "1", "release_scope_kind": "global",
                 "release_authority_id": "ra", "connector_executor_kind": "digital", "connector_signature_ref": "s",
                 "connector_signer_id": "pub", "connector_sandbox_profile": "sb", "connector_drift_policy_ref": "d",
                 "certification_ref": "cr", "certification_authority": "ca", "release_registry_revision": 1,
                 "pack_manifest_hash": H("a"), "effect_hash": H("1"), "policy_hash": H("3"), "connector_binary_hash": H("9"),
                 "connector_signature_hash": H("6"), "certification_hash": H("b"), "release_authority_hash": H("4")}, "authority_hash")


def consumption(**more):
    return seal({"schema_version": "approval-grant-consumption.v1", "contract_version": "2026-07-17", "action": "install",
                 "approval_id": "a", "grant_id": "g", "grant_hash": H("e"), "tenant_id": "t", "workspace_id": "w", "audience": "packs",
                 "consumed_by": "dp", "consumed_at": "2026-03-01T12:09:00Z", "grant_issued_at": "2026-03-01T12:08:00Z",
                 "grant_expires_at": "2026-03-01T12:15:00Z", "pack_id": "p", "pack_version": "1", "pack_manifest_hash": H("a"),
                 "effect_hash": H("1"), "policy_hash": H("3"), "kernel_trust_root_id": "root", "signing_key_ref": "kms://a",
                 "connector_authority": connector(), **more}, "consumption_hash")


def sealed_records():
    domain, members = "HELM/ApprovalGrantConsumptionSignature/v1", "consumption_hash kernel_trust_root_id"
    wrap = lambda c, s=None: {"consumption": c, "signature": s or payload_signature(c, domain, members), "public_key": "ed25519:" + KEY}
    f = "sealed/approval-consumption-v1"
    no = lambda error: {"result": "reject", "error": error}
    case(f + "/valid", wrap(consumption()), ACCEPT)
    case(f + "/late", wrap(consumption(consumed_at="2026-03-01T12:15:00Z")), no("inactive_consumption"))
    case(f + "/action", wrap(consumption(action="delete")), no("contract_mismatch"))
    case(f + "/other-effect", wrap(consumption(effect_hash=H("2"))), no("connector_authority_rejected"))
    case(f + "/edited", wrap(dict(consumption(), consumed_by="other")), no("hash_mismatch"))
    case(f + "/stranger", wrap(consumption(), payload_signature(consumption(), domain, members, STRANGER)), no("signature_rejected"))
    case(f + "/other-domain", wrap(consumption(), payload_signature(consumption(), "HELM/ApprovalGrantSignature/v1", members)), no("signature_rejected"))

    def admission(c, **more):
        return seal({"schema_version": "approval-dispatch-admission.v1", "contract_version": "2026-07-17.1", "state": "NOT_STARTED",
                     "coverage": "new_governed_dispatches_only", "admission_id": "ad", "attempt_id": "at", "idempotency_key_hash": H("7"),
                     "admitted_by": c["consumed_by"], "issued_at": "2026-03-01T12:09:01Z", "expires_at": "2026-03-01T12:09:31Z",
                     **{m: c[m] for m in ("action", "approval_id", "grant_id", "grant_hash", "consumption_hash", "tenant_id", "workspace_id",
                                          "audience", "effect_hash", "kernel_trust_root_id", "signing_key_ref", "connector_authority")},
                     **more}, "admission_hash")

    def admit(name, expect, at="2026-03-01T12:09:02Z", edit=None, **more):
        c = consumption()
        a = admission(c, **more)
        s = payload_signature(a, "HELM/ApprovalDispatchAdmissionSignature/v1", "admission_hash kernel_trust_root_id")
        if edit:
            edit(a)
        case("sealed/approval-dispatch-admission-v1/" + name, {"admission": a, "consumption": c, "signature": s,
                                                               "public_key": "ed25519:" + KEY, "verification_time": at}, expect)

    admit("valid", ACCEPT)
    admit("expired", no("inactive_admission"), at="2026-03-01T12:09:31Z")
    admit("too-long", no("inactive_admission"), expires_at="2026-03-01T12:10:02Z")
    admit("other-grant", no("consumption_binding_rejected"), grant_id="g2")
    admit("edited", no("hash_mismatch"), edit=setter("attempt_id", "x"))
    admit("started", no("contract_mismatch"), state="STARTED")

    key = {"public_key": "ed25519:" + KEY, "key_not_before": "2026-03-01T11:00:00Z", "key_not_after": "2026-03-01T14:00:00Z"}

    def release(**more):
        r = {"schema_version": "connector-release-authority.v1", "contract_version": "2026-07-17", "algorithm": "ed25519", "state": "certified",
             "scope_kind": "global", "authority_id": "ra", "connector_id": "c", "connector_version": "1", "connector_executor_kind": "digital",
             "connector_sandbox_profile": "sb", "connector_drift_policy_ref": "d", "connector_signature_ref": "s", "connector_signer_id": "pub",
             "connector_signature_hash": H("6"), "connector_binary_hash": H("9"), "certification_ref": "cr", "certification_hash": H("b"),
             "certification_authority": "ca", "registry_revision": 1, "signed_at": "2026-03-01T11:59:00Z", "valid_from": "2026-03-01T12:00:00Z",
             "valid_until": "2026-03-02T12:00:00Z", "signing_key_ref": "kms://r", **more}
        r = {k: v for k, v in r.items() if v is not None}
        return seal(r, "authority_hash")

    def statement(r):
        s = payload_signature(r, "HELM/ConnectorReleaseAuthoritySignature/v1", "authority_hash authority_id registry_revision")
        return {"authority": r, "envelope": {"authority": r, "signature": s[8:]}}

    def revoke(c, **more):
        return release(**{"state": "revoked", "registry_revision": 2, "previous_authority_hash": c["authority_hash"],
                          "revokes_authority_hash": c["authority_hash"], "valid_until": None, "signed_at": "2026-03-01T12:01:00Z",
                          "valid_from": "2026-03-01T12:01:00Z", **more})

    def released(name, expect, c=None, r="default", question="verify both statements and the certified -> revoked chain", at="2026-03-01T12:02:00Z"):
        c = c or release()
        doc = {"trust": dict(key, authority_id="ra", signing_key_ref="kms://r"), "verification_time": at, "question": question, "certified": statement(c)}
        if r:
            doc["revoked"] = statement(revoke(c) if r == "default" else r)
        case("sealed/connector-release-authority-v1/" + name, doc, expect)

    first = release()
    released("valid", ACCEPT)
    released("other-authority", no("authority_rejected"), release(authority_id="x"))
    released("other-key-ref", no("trust_rejected"), release(signing_key_ref="kms://x"))
    released("key-window", no("trust_rejected"), release(signed_at="2026-03-01T14:00:00Z"))
    released("revision", no("contract_rejected"), release(registry_revision=2**53))
    released("no-end", no("contract_rejected"), release(valid_until=None))
    released("scope", no("contract_rejected"), release(tenant_id="t"))
    released("gap", no("current_state_rejected"), first, revoke(first, registry_revision=3))
    released("expired", no("inactive_authority"), first, None, "is the certified statement current at verification_time, no revocation known?", "2026-03-02T12:00:00Z")
    released("stale", no("current_state_rejected"), question="is the certified statement the current state, given the later revocation?")
    released("rollback", no("current_state_rejected"), first, revoke(first) | {"signed_at": "2026-03-01T11:00:00Z"}, "chain rule only: compare")

    bound = {"admission_id": "ad", "attempt_id": "at", "tenant_id": "t", "workspace_id": "w", "audience": "packs", "connector_id": "gh",
             "connector_version": "1", "connector_action": "issue", "outcome": "APPLIED", "idempotency_key_hash": H("1"), "effect_hash": H("2"),
             "response_hash": H("3"), "connector_execution_ref": "x", "proof_session_ref": "ps", "intent_ref": "in", "effect_ref": "ef",
             "reconciliation_ref": "rc"}

    def close(name, expect, ack=None, rec=None, after=None):
        a = seal({"schema_version": "connector-effect-acknowledgement.v1", "contract_version": "2026-07-18", "algorithm": "ed25519",
                  "acknowledgement_id": "ak", "issuer_id": "pub", "observed_at": "2026-03-01T12:00:00.123456Z", "signing_key_ref": "kms://a",
                  **bound, **(ack or {})}, "acknowledgement_hash")
        r = {"schema_version": "effect-close-receipt.v1", "contract_version": "2026-07-18", "close_id": "cl", "closed_by": "dp", "state": "COMPLETED",
             "prior_state": "UNCERTAIN", "closed_at": "2026-03-01T12:00:01Z", "evidence_pack_ref": "ep", "evidence_pack_hash": H("4"),
             "reservation_sequence": 3, "reservation_head_hash": H("5"), "kernel_trust_root_id": "root", "signing_key_ref": "kms://k",
             "acknowledgement_hash": a["acknowledgement_hash"], **bound, **(rec or {})}
        r = seal({k: v for k, v in r.items() if v is not None}, "receipt_hash")
        s = payload_signature(a, "HELM/ConnectorEffectAcknowledgementSignature/v1", "acknowledgement_hash connector_id connector_version issuer_id")
        doc = {"acknowledgement": a, "acknowledgement_envelope": {"acknowledgement": a, "signature": s[8:]}, "acknowledgement_signature": s,
               "acknowledgement_trust": dict(key, issuer_id="pub", signing_key_ref="kms://a"), "receipt": r,
               "receipt_signature": payload_signature(r, "HELM/EffectCloseReceiptSignature/v1", "receipt_hash kernel_trust_root_id"), "receipt_trust": key}
        doc = copy.deepcopy(doc)
        if after:
            after(doc)
        case("sealed/effect-close-v1/" + name, doc, expect)

    close("valid", ACCEPT)
    close("acknowledgement-edited", no("acknowledgement_hash_mismatch"), after=lambda d: d["acknowledgement"].update(response_hash=H("9")))
    close("acknowledgement-issuer", no("acknowledgement_trust_rejected"), ack={"issuer_id": "x"})
    close("acknowledgement-signature", no("acknowledgement_signature_rejected"), after=lambda d: flip("acknowledgement_signature")(d))
    close("receipt-edited", no("receipt_hash_mismatch"), after=lambda d: d["receipt"].update(evidence_pack_hash=H("9")))
    close("receipt-signature", no("receipt_signature_rejected"), after=lambda d: flip("receipt_signature")(d))
    close("receipt-other-outcome", no("acknowledgement_binding_rejected"), rec={"outcome": "NOT_APPLIED", "effect_ref": None})
    close("applied-without-effect", no("receipt_contract_rejected"), rec={"effect_ref": None})
    close("uncertain-unreconciled", no("receipt_contract_rejected"), rec={"reconciliation_ref": None})
    close("observed-later", no("acknowledgement_binding_rejected"), ack={"observed_at": "2026-03-01T12:10:00Z"})

    fence = {"command_id": "dc", "disposition_sequence": 1, "tenant_id": "t", "workspace_id": "w", "audience": "packs", "fence_command_id": "fc",
             "fence_command_hash": H("1"), "fence_epoch": 7, "fence_receipt_hash": H("2"), "admission_id": "ad", "reservation_sequence": 3,
             "reservation_head_hash": H("3"), "reservation_state": "STARTED", "action": "HOLD", "disposition_ref": "dr"}

    def dispose(name, expect, command=None, rec=None, after=None):
        c = seal({"schema_version": "effect-disposition-command.v1", "contract_version": "2026-07-18", "algorithm": "ed25519", "authority_id": "cp",
                  "actor_id": "op", "reason": "hold it", "issued_at": "2026-03-01T13:00:00Z", "expires_at": "2026-03-01T13:05:00Z",
                  "signing_key_ref": "kms://c", **fence, **(command or {})}, "command_hash")
        r = seal({"schema_version": "effect-disposition-receipt.v1", "contract_version": "2026-07-18", "receipt_id": "ri", "accepted_by": "k",
                  "accepted_at": "2026-03-01T13:00:01Z", "state": "ACCEPTED", "execution_authority": "NONE", "kernel_trust_root_id": "root",
                  "signing_key_ref": "kms://k", "command_hash": c["command_hash"], **fence, **(rec or {})}, "receipt_hash")
        s = payload_signature(c, "HELM/EffectDispositionCommandSignature/v1", "command_hash audience authority_id")
        doc = copy.deepcopy({"command": c, "command_envelope": {"command": c, "signature": s[8:]}, "command_signature": s,
               "command_trust": dict(key, authority_id="cp", signing_key_ref="kms://c", audience="packs"), "receipt": r,
               "receipt_signature": payload_signature(r, "HELM/EffectDispositionReceiptSignature/v1", "receipt_hash kernel_trust_root_id"),
               "receipt_trust": dict(key, kernel_trust_root_id="root")})
        if after:
            after(doc)
        case("sealed/effect-disposition-v1/" + name, doc, expect)

    dispose("valid", ACCEPT)
    dispose("command-edited", no("command_hash_mismatch"), after=lambda d: d["command"].update(reservation_head_hash=H("9")))
    dispose("command-authority", no("command_trust_rejected"), command={"authority_id": "x"})
    dispose("command-too-long", no("command_contract_rejected"), command={"expires_at": "2026-03-01T13:10:01Z"})
    dispose("command-predecessor", no("command_contract_rejected"), command={"previous_receipt_hash": H("8")})
    dispose("receipt-other-command", no("command_binding_rejected"), rec={"command_hash": H("8")})
    dispose("receipt-grants-execution", no("receipt_contract_rejected"), rec={"execution_authority": "FULL"})
    dispose("receipt-signature", no("receipt_signature_rejected"), after=lambda d: flip("receipt_signature")(d))

    spec = {"approval_id": "a", "tenant_id": "t", "workspace_id": "w", "audience": "spec", "generated_spec_id": "gs", "generated_spec_hash": H("1"),
            "execution_plan_hash": H("2"), "plan_transaction_hash": H("3"), "write_set_hash": H("4"), "verification_scope_hash": H("5"),
            "policy_envelope_hash": H("6"), "policy_version": "1", "policy_epoch": "e", "action": "approve_generated_spec",
            "requesting_principal_id": "user:r", "authority_source": "as", "authority_version": "1", "authority_snapshot_hash": H("7"),
            "server_identity": "k", "contract_version": "2026-07-22"}

    def ceremony(name, expect, challenge=None, grant=None, use=None, states=5, at="2026-03-01T12:01:01Z", after=None):
        c = seal({"schema_version": "generated-spec-approval-challenge.v1", "domain": "HELM/GeneratedSpecApprovalChallenge/v1", "challenge_id": "ch",
                  "required_role": "r", "quorum": 1, "nonce": "4" * 64, "hold_started_at": "2026-03-01T12:00:00Z", "eligible_at": "2026-03-01T12:01:00Z",
                  "issued_at": "2026-03-01T12:01:00Z", "expires_at": "2026-03-01T12:05:00Z", **spec, **(challenge or {})}, "challenge_hash")
        g = seal({"schema_version": "generated-spec-approval-grant.v1", "domain": "HELM/GeneratedSpecApprovalGrant/v1", "grant_id": "g",
                  "approver_principal_ids": ["user:a"], "ceremony_hash": H("8"), "signer_set_hash": H("9"), "nonce": "5" * 64,
                  "issued_at": "2026-03-01T12:01:00Z", "expires_at": "2026-03-01T12:03:00Z", "kernel_trust_root_id": "root", "signing_key_ref": "kms://g",
                  "challenge_hash": c["challenge_hash"], **spec, **(grant or {})}, "grant_hash")
        u = seal({"schema_version": "generated-spec-approval-consumption.v1", "domain": "HELM/GeneratedSpecApprovalConsumption/v1", "consumed_by": "cp",
                  "consumed_at": "2026-03-01T12:01:01Z", "grant_issued_at": g["issued_at"], "grant_expires_at": g["expires_at"],
                  **{m: g[m] for m in ("grant_id", "grant_hash", "approver_principal_ids", "ceremony_hash", "signer_set_hash", "kernel_trust_root_id",
                                       "signing_key_ref", "challenge_hash")}, **spec, **(use or {})}, "consumption_hash")
        names = ["HOLD_PENDING", "CHALLENGE_ISSUED", "QUORUM_VERIFIED", "GRANT_ISSUED", "CONSUMED", "CONSUMED"]
        doc = copy.deepcopy({"challenge": c, "grant": g, "consumption": u, "grant_public_key": "ed25519:" + KEY, "consumption_public_key": "ed25519:" + KEY,
               "grant_signature": payload_signature(g, "HELM/GeneratedSpecApprovalGrantSignature/v1", "grant_hash kernel_trust_root_id"),
               "consumption_signature": payload_signature(u, "HELM/GeneratedSpecApprovalConsumptionSignature/v1", "consumption_hash kernel_trust_root_id"),
               "lifecycle": {"states": names[:states]}, "verification_time": at})
        if after:
            after(doc)
        case("sealed/generated-spec-approval-ceremony-v1/" + name, doc, expect)

    ceremony("valid", ACCEPT)
    ceremony("challenge-edited", no("challenge_hash_mismatch"), after=lambda d: d["challenge"].update(policy_epoch="x"))
    ceremony("challenge-not-utc", no("contract_mismatch"), challenge={"issued_at": "2026-03-01T13:01:00+01:00"})
    ceremony("challenge-nonce", no("contract_mismatch"), challenge={"nonce": "g" * 64})
    ceremony("challenge-held-too-short", no("contract_mismatch"), challenge={"hold_started_at": "2026-03-01T12:01:00Z"})
    ceremony("approver-twice", no("contract_mismatch"), grant={"approver_principal_ids": ["user:a", "user:a"]})
    ceremony("requester-approves", no("contract_mismatch"), grant={"approver_principal_ids": ["user:r"]})
    ceremony("quorum", no("quorum_not_verified"), challenge={"quorum": 2})
    ceremony("grant-other-spec", no("grant_binding_rejected"), grant={"generated_spec_id": "x"})
    ceremony("grant-expired", no("inactive_grant"), at="2026-03-01T12:03:00Z")
    ceremony("consumption-other-grant", no("consumption_binding_rejected"), use={"grant_id": "x"})
    ceremony("consumed-twice", no("transition_conflict"), states=6)
    ceremony("grant-signature", no("signature_rejected"), after=lambda d: flip("grant_signature")(d))


def more_sealed():
    no = lambda error: {"result": "reject", "error": error}
    files = {"a.conf": "x=1\n", "b.nft": "table\n"}
    listing = [{"path": p, "sha256": prefixed(files[p].encode())} for p in sorted(files)]

    def record(r, drop_signature=False):
        view = dict(r, record_hash="")
        if not drop_signature:
            view["signature"] = ""
        r["record_hash"] = prefixed(view)
        r["signature"] = "ed25519:" + sign_hex(cb(view))
        return r

    def boundary(name, expect, after=None, verdict="MATCH", result="PASS"):
        profile = {"profile_id": "p", "mode_tier": "enforce"}
        r = record({"schema_version": "profile_compile_receipt.v1", "receipt_id": "bp", "profile_id": "p", "mode_tier": "enforce",
                    "policy_input_hash": prefixed(profile), "artifacts": listing, "artifact_set_hash": prefixed(listing),
                    "compiled_at": "2026-03-01T00:00:00Z", "kernel_version": "1", "signer_key_id": "k"})
        a = record({"schema_version": "posture_attestation.v1", "attestation_id": "pa", "receipt_id": "bp", "receipt_hash": r["record_hash"],
                    "verdict": verdict, "checks": [{"property": "x", "result": result}], "signer_key_id": "k"}, True)
        doc = copy.deepcopy({"profile_input": profile, "compile_receipt": r, "artifacts": files, "attestation_match": a, "public_key": KEY})
        if after:
            after(doc)
        case("sealed/boundary-profile-v1/" + name, doc, expect)

    boundary("valid", ACCEPT)
    boundary("match-unsigned", no("attestation_unsigned"), lambda d: d["attestation_match"].pop("signature"))
    boundary("drift-unsigned", ACCEPT, lambda d: d["attestation_match"].pop("signature"), "DRIFT", "FAIL")
    boundary("attestation-signature-number", no("signature_rejected"), lambda d: d["attestation_match"].update(signature=1))
    boundary("edited", no("hash_mismatch"), lambda d: d["compile_receipt"].update(mode_tier="observe"))
    boundary("input", no("input_hash_mismatch"), lambda d: d["profile_input"].update(mode_tier="observe"))
    boundary("artifact", no("artifact_mismatch"), lambda d: d["artifacts"].update({"a.conf": "x=2\n"}))
    boundary("extra-artifact", no("artifact_mismatch"), lambda d: d["artifacts"].update({"c": ""}))
    boundary("signature", no("signature_rejected"), lambda d: flip("signature")(d["compile_receipt"]))
    boundary("unbound", no("binding_mismatch"), lambda d: d["attestation_match"].update(receipt_hash=H("0")))
    boundary("third-unbound", no("binding_mismatch"), lambda d: d.update(attestation=dict(d["attestation_match"], receipt_hash=H("0"))))
    boundary("drift-unbound", no("binding_mismatch"), lambda d: d.update(attestation_drift=dict(d["attestation_match"], receipt_hash=H("0"))))
    boundary("match-with-failure", no("verdict_inconsistent"), result="FAIL")
    boundary("drift-without-failure", no("verdict_inconsistent"), verdict="DRIFT")

    def update(name, expect, after=None):
        entries = [dict(e, size=len(files[e["path"]].encode())) for e in listing]
        m = record({"schema_version": "update_bundle_manifest.v1", "bundle_id": "u", "created_at": "2026-03-01T00:00:00Z", "entries": entries,
                    "artifact_set_hash": prefixed(entries), "kernel_version": "1", "signer_key_id": "k"})
        doc = copy.deepcopy({"manifest": m, "payloads": files, "public_key": KEY})
        if after:
            after(doc)
        case("sealed/update-bundle-v1/" + name, doc, expect)

    update("valid", ACCEPT)
    update("entry", no("set_hash_mismatch"), lambda d: flip("sha256")(d["manifest"]["entries"][0]))
    update("version", no("hash_mismatch"), lambda d: d["manifest"].update(kernel_version="2"))
    update("payload", no("payload_mismatch"), lambda d: d["payloads"].update({"a.conf": "x=2\n"}))
    update("payload-missing", no("payload_mismatch"), lambda d: d["payloads"].pop("a.conf"))
    update("signature", no("signature_rejected"), lambda d: flip("signature")(d["manifest"]))

    keyring = {"keys": {"kk": {"kernel_signer_profile": "classical", "kernel_public_key": KEY}}}

    def stop(name, expect, command=None, state=None, after=None):
        c = {"contract_version": "emergency-stop-fence.v1", "audience": "k", "key_id": "cp", "command_id": "c1", "tenant_id": "t", "workspace_id": "w",
             "epoch": 7, "actor_id": "op", "reason": "stop\u2028now", "issued_at": "2026-03-01T20:00:00Z", "expires_at": "2026-03-01T20:05:00Z", **(command or {})}
        payload = cb(dict(c, action="FENCE"))
        st = {**c, "command_hash": prefixed(payload), "fenced_at": "2026-03-01T20:00:03Z", "kernel_key_id": "kk", "kernel_signer_profile": "classical",
              "kernel_public_key": KEY, **(state or {})}
        ack = cb(dict(st, action="FENCE_ACK"))
        st["receipt_hash"] = prefixed(ack)
        doc = {"command": c, "command_envelope": {"command": c, "signature": sign_hex(payload)}, "command_public_key": KEY,
               "acknowledgement": {"state": st, "kernel_signature": sign_hex(ack)}}
        doc = copy.deepcopy(doc)
        if after:
            after(doc)
        case("sealed/emergency_stop/" + name, {"vector": doc, "keyring": keyring}, expect)

    stop("valid", ACCEPT)
    stop("audience", no("audience_must_be_nonempty_after_trim"), {"audience": " \t"})
    stop("expiry", no("expires_at_must_be_after_issued_at"), {"expires_at": "2026-03-01T20:00:00Z"})
    stop("window", no("expiry_window_exceeds_ten_minutes"), {"expires_at": "2026-03-01T20:10:01Z"})
    stop("signature-space", no("signature_must_be_exact_lowercase_raw_hex"), after=lambda d: d["command_envelope"].update(signature=" " + d["command_envelope"]["signature"]))
    stop("unpinned", no("kernel_key_id_is_not_pinned"), state={"kernel_key_id": "x"})
    stop("profile", no("kernel_signer_profile_is_not_supported"), state={"kernel_signer_profile": "hybrid"})
    stop("other-command", no("hash_mismatch"), state={"command_hash": H("0")})

    people = {c: bytes([0x30 + i]) * 32 for i, c in enumerate("abc")}
    snapshot = {"authority_source": "as", "authority_version": "1", "domain": "HELM/ApprovalAuthoritySnapshot/v1", "keys": [
        {"key_id": "key-" + c, "public_key": "ed25519:" + public(s).hex(), "principal_id": "p-" + c, "credential_id": "c-" + c, "device_id": "d-" + c,
         "tenant_id": "t", "workspace_ids": ["w"], "roles": ["admin"], "actions": ["install"], "audiences": ["packs"], "enabled": True,
         "not_before": "2026-03-01T11:00:00Z", "not_after": "2026-03-01T13:00:00Z"} for c, s in people.items()]}

    def approve(name, expect, who="ab", snap=None, after=None, challenge=None):
        snap = snap or snapshot
        ch = {"schema_version": "approval-challenge.v1", "contract_version": "2026-07-17", "domain": "HELM/ApprovalChallenge/v1", "challenge_id": "ch",
              "approval_id": "a", "tenant_id": "t", "workspace_id": "w", "audience": "packs", "pack_id": "p", "pack_version": "1",
              "pack_manifest_hash": H("a"), "action": "install", "connector_authority": connector(), "intent_hash": H("0"), "effect_hash": H("1"),
              "plan_hash": H("2"), "decision": "ALLOW", "policy_version": "1", "policy_epoch": "e", "policy_hash": H("3"), "authority_source": "as",
              "authority_version": "1", "authority_snapshot_hash": prefixed(snap), "server_identity": "k", "required_role": "admin", "quorum": 2,
              "issued_at": "2026-03-01T12:00:00Z", "expires_at": "2026-03-01T12:30:00Z", **(challenge or {})}
        ch_hash, entries = prefixed(ch), []
        for c in who:
            body = {"domain": "HELM/ApprovalAssertion/v1", "schema_version": "approval-assertion.v1", "contract_version": "2026-07-15", "challenge_id": "ch",
                    "challenge_hash": ch_hash, "key_id": "key-" + c, "algorithm": "ed25519"}
            body["signature"] = "ed25519:" + sign_hex(hashlib.sha256(cb(body)).digest(), people[c])
            entries.append({"key_id": "key-" + c, "signature": body["signature"], "assertion": body, "assertion_hash": prefixed(body)})
        doc = copy.deepcopy({"authority_snapshot": snap, "challenge": ch, "challenge_hash": ch_hash, "verified_at": "2026-03-01T12:10:00Z", "assertions": entries})
        if after:
            after(doc)
        case("sealed/approval/" + name, doc, expect)

    approve("quorum", {"result": "accept", "status": "verified"})
    approve("outer-signature", no("signature_rejected"), after=lambda d: d["assertions"][0].update(signature=d["assertions"][1]["signature"]))
    approve("outer-signature-gone", no("signature_rejected"), after=lambda d: d["assertions"][0].pop("signature"))
    approve("outer-key", no("signature_rejected"), after=lambda d: d["assertions"][1].update(key_id="key-x"))
    approve("inner-key-unknown", no("signature_rejected"), after=lambda d: d["assertions"][1]["assertion"].update(key_id="key-x"))
    approve("over-quorum", {"result": "accept", "status": "verified_over_quorum"}, "abc")
    approve("one-short", no("quorum_not_met"), "a")
    approve("twice", no("duplicate_signer"), "aa")
    def forge(entry):
        flip("signature")(entry["assertion"])
        entry["signature"] = entry["assertion"]["signature"]

    approve("signature", no("signature_rejected"), after=lambda d: forge(d["assertions"][1]))
    approve("surplus-signature", no("signature_rejected"), "abc", after=lambda d: forge(d["assertions"][2]))
    approve("challenge-edited", no("challenge_hash_mismatch"), after=lambda d: d["challenge"].update(plan_hash=H("9")))
    approve("connector-edited", no("connector_authority_rejected"), after=lambda d: d["challenge"]["connector_authority"].update(connector_id="x"))
    off = copy.deepcopy(snapshot)
    off["keys"][1]["enabled"] = False
    approve("key-disabled", no("authority_rejected"), snap=off)
    approve("role", no("authority_rejected"), challenge={"required_role": "owner"})


# ---- launch effect receipts ---------------------------------------------------------------------------------------------------


def launch():
    names = (
            "effect_id tenant_id workspace_id mission_id effect_ordinal input_schema_hash input_hash idempotency_key "
            "plan_hash request_hash args_c14n_hash kernel_verdict_ref kernel_verdict_hash principal audience "
            "kernel_trust_root_id approval_artifact_ref approval_artifact_hash approval_consumption_ref "
            "approval_consumption_hash dispatch_admission_ref dispatch_admission_hash effect_reservation_ref "
            "effect_reservation_hash effect_permit_ref effect_permit_hash permit_nonce permit_consumption_ref "
            "permit_consumption_hash proof_session_ref evidence_reservation_ref policy_epoch emergency_fence_epoch "
            "connector_contract_hash connector_authority_ref connector_authority_hash dependency_set_ref "
            "dependency_set_hash "
    ).split()

    def make(evidence=("artifact:a",), **more):
        r = {n: H("1") if n.endswith("_hash") else n for n in names}
        r.update(effect_ordinal=1, emergency_fence_epoch=4, idempotency_key=H("2"), permit_nonce="n" * 22, effect_id="COMPANY_ARTIFACT_UPDATE")
        chain_id = prefixed({n: r[n] for n in names})
        node = {"artifact_refs": sorted(evidence), "evidence_reservation_ref": r["evidence_reservation_ref"], "lamport": 1, "parent_hashes": [],
                "proof_session_ref": r["proof_session_ref"]}
        node["node_hash"] = prefixed(node)
        r.update(schema_version="launch_effect_receipt.v1", receipt_version="1.0", kind="helm_native_receipt", receipt_chain_id=chain_id,
                 receipt_revision=1, reconciliation_revision=0, decision_id=r["kernel_verdict_ref"], verdict="ALLOW", tool="helm-company-state",
                 action="urn:helm:company-artifact:update", timestamp="2026-03-01T12:00:00Z", lamport=2, proofgraph_node=node["node_hash"],
                 signer_key_id="k", payload_hash=r["request_hash"], metadata={"profile": "launch_effect_receipt.v1"}, result_hash=H("3"),
                 reconciliation_locator_hash=H("4"), outcome="UNKNOWN", reconciliation_status="PENDING", dependency_state="FROZEN",
                 dependency_state_hash=H("5"), receipt_id="", signature="", **more)
        r["receipt_id"] = hexof(r)
        r["signature"] = base64.b64encode(sign(r["receipt_id"].encode())).decode()
        binding = {**{n: r[n] for n in names}, "connector_id": r["tool"], "action_urn": r["action"]}
        return {"receipt": r, "authority_binding": binding, "evidence_dag": {"nodes": [node]}, "public_key": "ed25519:" + KEY}

    def launched(name, expect, edit=None, **more):
        doc = copy.deepcopy(make(**more))
        if edit:
            edit(doc)
        case("launch-receipt/" + name, doc, expect)

    no = lambda error: {"result": "reject", "error": error}
    launched("valid", {"result": "accept", "receipt_id": make()["receipt"]["receipt_id"]})
    launched("edited", no("receipt_id_mismatch"), lambda d: d["receipt"].update(result_hash=H("9")))
    launched("binding-edited", no("binding_mismatch"), lambda d: d["authority_binding"].update(tenant_id="x"))
    launched("binding-short", no("binding_mismatch"), lambda d: d["authority_binding"].pop("audience"))
    launched("unknown-member", no("binding_mismatch"), lambda d: d["receipt"].update(note="x"))
    launched("route-where-none-belongs", no("binding_mismatch"), provider_id="p")
    launched("reconciled-ahead", no("binding_mismatch"), lambda d: d["receipt"].update(reconciliation_revision=2))
    launched("reconciled-before-all", no("binding_mismatch"), lambda d: d["receipt"].update(reconciliation_revision=-1))
    launched("no-clock", no("binding_mismatch"), lambda d: d["receipt"].update(lamport=0))
    launched("unsafe-integer", no("unsafe_integer"), lambda d: d["receipt"].update(lamport=2**53))
    launched("signature-encoding", no("invalid_encoding"), lambda d: d["receipt"].update(signature=d["receipt"]["signature"][:-1]))
    launched("stranger", no("signature_rejected"), lambda d: d["receipt"].update(
        signature=base64.b64encode(sign(d["receipt"]["receipt_id"].encode(), STRANGER)).decode()))
    launched("evidence-is-a-receipt", no("evidence_cycle"), evidence=("RECEIPT:x",))
    launched("evidence-edited", no("binding_mismatch"), lambda d: d["evidence_dag"]["nodes"][0].update(lamport=0))
    case("launch-receipt/integers", {"value": {"a": 1.0, "b": [2, 1e0]}}, {"result": "value", "hash": prefixed(b'{"a":1,"b":[2,1]}')})
    own = {"schema_version": "provider_certification.v1", "n": 1.0, "record_hash": "", "signature": ""}
    sealed = prefixed(cb(dict(own, n=1)))
    full = dict(own, record_hash=sealed, signature="ed25519:" + sign_hex(cb(dict(own, n=1))))
    verdict = {"kernel_verdict_hash": H("1"), "kernel_verdict_signature": "x", "a": 1}
    for wrapper in ("artifact", "value", "input"):
        case("launch-receipt/own-hash-" + wrapper, {wrapper: full}, {"result": "value", "hash": sealed})
        case("launch-receipt/own-verdict-" + wrapper, {wrapper: verdict},
             {"result": "value", "hash": prefixed(dict(verdict, kernel_verdict_hash="", kernel_verdict_signature=""))})
    case("launch-receipt/own-hash-declared", {"artifact": full, "declared_hash": sealed}, ACCEPT)
    case("launch-receipt/fraction", {"value": 1.5}, no("unsafe_integer"))
    case("launch-receipt/declared", {"artifact": {"a": 1}, "declared_hash": H("0")}, no("hash_mismatch"))


def main():
    base_families()
    three = receipts()
    decisions()
    foreign()
    logs(three)
    hybrid()
    sealed_records()
    more_sealed()
    launch()
    write("cases.jsonl", ("\n".join(LINES) + "\n").encode())
    print(len(LINES), "cases")


main()
