#!/usr/bin/env python3
"""verify_pack.py PACK.tar[.gz] --key HEX [--key HEX]...

A second verifier of evidence packs, written from docs/formats/evidence-pack.md and tar.md alone, with nothing but Python's
standard library.  It shares no code with the program it checks.  Prints "ADMISSIBLE" (exit 0) or "<step>: <why>" (exit 1)."""
import gzip
import hashlib
import json
import re
import sys
import unicodedata

# ---- Ed25519 (RFC 8032), strict ----

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)


def point_add(p, q):
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c = 2 * p[3] * q[3] * D % P
    d = 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def point_mul(s, p):
    q = (0, 1, 1, 0)
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


BASE = point_decode(bytes.fromhex("58" + "66" * 31))
IDENTITY = (0, 1, 1, 0)


def in_group(p):
    return p is not None and not point_eq(p, IDENTITY) and point_eq(point_mul(L, p), IDENTITY)


def ed25519_verify(key, message, signature):
    if len(key) != 32 or len(signature) != 64:
        return False
    a, r = point_decode(key), point_decode(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if s >= L or not in_group(a) or not in_group(r):
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    return point_eq(point_mul(s, BASE), point_add(r, point_mul(k, a)))


# ---- refusing ----


class Refused(Exception):
    def __init__(self, step, why):
        super().__init__(f"{step}: {why}")
        self.step = step


def need(condition, step, why):
    if not condition:
        raise Refused(step, why)


# ---- the archive ----


def check_path(path):
    need(0 < len(path.encode()) <= 1024, "archive", "path length")
    need(not re.search(r"[\x00-\x1f\x7f\\]", path) and not re.match(r"^.:", path), "archive", f"path {path!r}")
    need(all(part not in ("", ".", "..") for part in path.split("/")), "archive", f"path {path!r}")


def octal(field):
    match = re.fullmatch(rb"([0-7]+)[ \0]*", field)
    need(match, "archive", "a number is not octal")
    return int(match.group(1), 8)


def parse_header(block):
    total = sum(block) - sum(block[148:156]) + 8 * 0x20
    need(block[148:156] in (b"%06o\0 " % total, b"%06o \0" % total), "archive", "checksum")
    need(block[257:265] in (b"ustar\x0000", b"ustar  \0"), "archive", "not a ustar file")
    name = block[:100].split(b"\0")[0]
    prefix = block[345:500].split(b"\0")[0] if block[257:265] == b"ustar\x0000" else b""
    return prefix + b"/" + name if prefix else name, octal(block[124:136]), chr(block[156] or 0x30)


def pax_path(body):
    path = None
    while body:
        match = re.match(rb"([1-9][0-9]{0,5}) ([^=]+)=", body)
        need(match, "archive", "pax record")
        size = int(match.group(1))
        need(size <= len(body) and body[size - 1:size] == b"\n" and match.end() < size, "archive", "pax record")
        key, value = match.group(2), body[match.end():size - 1]
        need(key in (b"path", b"mtime", b"atime", b"ctime", b"uid", b"gid", b"uname", b"gname", b"comment"),
             "archive", "pax key")
        if key == b"path":
            need(path is None, "archive", "two paths")
            path = value
        body = body[size:]
    return path


def read_tar(data):
    """{path: content} of an archive, refusing whatever is not plain files and directories."""
    files, folded, at, long_path = {}, {}, 0, None

    def claim(path, kind):
        key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        known = folded.get(key)
        need(known is None or (known[0] == path and "implied" in (kind, known[1]) and "file" not in (kind, known[1])),
             "archive", f"{path!r} twice, in two cases, or as file and directory")
        folded[key] = (path, kind)

    need(len(data) % 512 == 0, "archive", "not whole blocks")
    while True:
        block = data[at:at + 512]
        need(len(block) == 512, "archive", "no end")
        at += 512
        if block == bytes(512):
            need(long_path is None, "archive", "extended header without file")
            need(len(data) - at >= 512 and not any(data[at:]), "archive", "end")
            return files
        raw, size, kind = parse_header(block)
        body, pad = data[at:at + size], -size % 512
        need(len(body) == size and data[at + size:at + size + pad] == bytes(pad), "archive", "content or padding")
        at += size + pad
        if kind == "x":
            need(long_path is None and 0 < size <= 65536, "archive", "extended header")
            long_path = pax_path(body)
            continue
        need(kind in "05", "archive", f"type {kind!r}")
        try:
            path = (long_path or raw).decode()
        except UnicodeDecodeError:
            raise Refused("archive", "path is not UTF-8") from None
        long_path = None
        if kind == "5":
            need(size == 0, "archive", "directory with content")
            path = path.rstrip("/") if path != "./" else "."
            if path == ".":
                continue
        path = path[2:] if path.startswith("./") else path
        check_path(path)
        for i, char in enumerate(path):
            if char == "/":
                claim(path[:i], "implied")
        claim(path, "file" if kind == "0" else "dir")
        if kind == "0":
            files[path] = body


# ---- JSON ----


class Number(str):
    """A number as it was written."""


def no_duplicates(pairs):
    names = [name for name, _ in pairs]
    need(len(set(names)) == len(names), "manifest", "a member twice")
    return dict(pairs)


def no_constant(text):
    raise ValueError(text)


def parse_json(data):
    try:
        text = data.decode("utf-8")
        value = json.loads(text, object_pairs_hook=no_duplicates, parse_int=Number, parse_float=Number,
                           parse_constant=no_constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # lone surrogates
        return value
    except (ValueError, RecursionError) as error:
        raise Refused("manifest", str(error)[:80]) from None


def canonical(value):
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


# ---- the pack ----

MEMBERS = ("version", "pack_id", "created_at", "actor_did", "intent_id", "policy_hash", "entries", "manifest_hash",
           "entries_merkle_root", "signatures", "seal")
HASH = re.compile(r"sha256:[0-9a-f]{64}")


def prefixed(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def print_time(text):
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", text)
    need(match, "manifest", "created_at")
    fraction = (match.group(2) or "")[:9].rstrip("0")
    zone = "Z" if match.group(3) in ("Z", "+00:00", "-00:00") else match.group(3)
    return match.group(1) + ("." + fraction if fraction else "") + zone


def read_entries(manifest):
    entries = manifest.get("entries")
    need(isinstance(entries, list) and entries, "manifest", "entries")
    for entry in entries:
        need(isinstance(entry, dict) and isinstance(entry.get("path"), str), "manifest", "entry")
        try:
            check_path(entry["path"])
        except Refused as refused:
            raise Refused("manifest", str(refused)) from None
        need(isinstance(entry.get("content_hash"), str) and HASH.fullmatch(entry["content_hash"]), "manifest", "content_hash")
        need(isinstance(entry.get("content_type"), str), "manifest", "content_type")
        need(isinstance(entry.get("size"), Number) and re.fullmatch(r"0|[1-9][0-9]*", entry["size"])
             and int(entry["size"]) < 2**53, "manifest", "size")
    entries = [{name: entry[name] for name in ("path", "content_hash", "size", "content_type")} for entry in entries]
    entries.sort(key=lambda entry: entry["path"].encode())
    need(all(x["path"] != y["path"] for x, y in zip(entries, entries[1:])), "manifest", "a path twice")
    return entries


def read_manifest(files):
    need("manifest.json" in files, "manifest", "missing")
    manifest = parse_json(files["manifest.json"])
    need(isinstance(manifest, dict), "manifest", "not an object")
    need(not any(name != known and name.casefold() == known for name in manifest for known in MEMBERS), "manifest", "case")
    version = re.fullmatch(r"1\.(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})", str(manifest.get("version")))
    need(isinstance(manifest.get("version"), str) and version, "manifest", "version")
    return manifest, int(version.group(1)) >= 1


def manifest_hash(manifest, entries):
    names = ("actor_did", "intent_id", "pack_id", "policy_hash", "version", "created_at")
    need(all(isinstance(manifest.get(name), str) for name in names), "manifest", "a member is not a text")
    preimage = {name: manifest[name] for name in names}
    preimage["created_at"] = print_time(manifest["created_at"])
    preimage["entries"] = entries
    return prefixed(canonical(preimage).encode())


def merkle_root(entries):
    level = [hashlib.sha256(b"\0" + canonical(entry).encode()).digest() for entry in entries]
    while len(level) > 1:
        level += level[-1:] * (len(level) % 2)
        level = [hashlib.sha256(b"\1" + level[i] + level[i + 1]).digest() for i in range(0, len(level), 2)]
    return "sha256:" + level[0].hex()


def hex_bytes(text, size):
    need(isinstance(text, str) and re.fullmatch("[0-9a-f]{%d}" % (2 * size), text), "signature", "not lower-case hex")
    return bytes.fromhex(text)


def trusted(keys, message, signature):
    return any(ed25519_verify(key, message, signature) for key in keys)


def check_seal(manifest, keys):
    seal = manifest["seal"]
    need(isinstance(seal, dict) and seal.get("version") == "helm-pack-seal/v1" and seal.get("algorithm") == "ed25519",
         "signature", "seal")
    signature, key = hex_bytes(seal.get("signature"), 64), hex_bytes(seal.get("public_key"), 32)
    open_seal = {name: value for name, value in seal.items() if name != "signature"}
    message = canonical({**manifest, "seal": open_seal}).encode()
    need(ed25519_verify(key, message, signature), "signature", "the manifest was changed after it was sealed")
    need(trusted(keys, message, signature), "signature", "the seal is not by a trusted key")


def check_signatures(manifest, files, listed, keys):
    found = manifest.get("signatures", [])
    need(isinstance(found, list), "signature", "signatures")
    for path in sorted(files):
        if path not in listed and (path.startswith("signatures/") or path == "manifest.sig.json"):
            try:
                found = found + [parse_json(files[path])]
            except Refused as refused:
                raise Refused("signature", str(refused)) from None
    need(found, "signature", "the pack is not signed")
    for one in found:
        need(isinstance(one, dict) and one.get("algorithm", "Ed25519") == "Ed25519", "signature", "algorithm")
        need(one.get("manifest_hash", manifest["manifest_hash"]) == manifest["manifest_hash"], "signature", "other manifest")
        need(trusted(keys, manifest["manifest_hash"].encode(), hex_bytes(one.get("signature"), 64)), "signature", "not trusted")


# ---- keys that receipts in the pack tell of (docs/formats/key-history.md) ----


def seam_links(files):
    """The links that receipts of changed keys carry, each as signed, in the order of the chain."""
    for path in sorted(files):
        if not re.fullmatch(r"receipts/[^/]+\.json", path) or b"helm.key/continues" not in files[path]:
            continue
        try:
            receipt = parse_json(files[path])
        except Refused:
            continue
        about = receipt.get("metadata") if isinstance(receipt, dict) else None
        if receipt.get("effect_id") == "helm.key/continues" and isinstance(about, dict) \
                and receipt.get("output_hash") == prefixed(canonical(about).encode()):
            yield from (link for link in about.get("links", []) if isinstance(link, dict))


def rotation(link):
    """(key before, key behind) of a link that both of them signed; or None."""
    if link.get("version") != "helm-key-history/v1" or link.get("event") != "rotated" \
            or link.get("signer") != link.get("previous_key"):
        return None
    message = canonical({name: value for name, value in link.items() if name not in ("signature", "possession")}).encode()
    try:
        before, behind = hex_bytes(link.get("previous_key"), 32), hex_bytes(link.get("key"), 32)
        signatures = hex_bytes(link.get("signature"), 64), hex_bytes(link.get("possession"), 64)
    except Refused:
        return None
    both = ed25519_verify(before, message, signatures[0]) and ed25519_verify(behind, message, signatures[1])
    return (before, behind) if both else None


def follow_keys(files, keys):
    """The keys given, and those tied to them by changes of keys that the receipts tell of, in either direction."""
    known, changes = set(keys), [pair for pair in map(rotation, seam_links(files)) if pair] if keys else []
    for _ in changes:
        for pair in changes:
            if known & set(pair):
                known |= set(pair)
    return sorted(known)


def verify(data, keys):
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, ValueError) as error:
            raise Refused("archive", str(error)) from None
    files = read_tar(data)
    keys = follow_keys(files, keys)
    manifest, is_sealed = read_manifest(files)
    entries = read_entries(manifest)
    need(manifest.get("manifest_hash") == manifest_hash(manifest, entries), "manifest_hash", "differs")
    for entry in entries:
        if entry["path"] in files:
            need(prefixed(files[entry["path"]]) == entry["content_hash"], "content_hash", entry["path"])
    for entry in entries:
        if entry["path"] in files:
            need(len(files[entry["path"]]) == int(entry["size"]), "size", entry["path"])
    listed = {entry["path"] for entry in entries}
    for path in sorted(listed - set(files)):
        raise Refused("completeness", path + " is missing")
    for path in sorted(set(files) - listed - {"manifest.json", "manifest.sig.json"}):
        need(path.startswith("signatures/"), "completeness", path + " is not listed")
    need(not is_sealed or "seal" in manifest, "signature", "version 1.1 without seal")
    if "seal" in manifest:
        check_seal(manifest, keys)
    check_signatures(manifest, files, listed, keys)
    if is_sealed or "entries_merkle_root" in manifest:
        need(manifest.get("entries_merkle_root") == merkle_root(entries), "merkle_root", "differs")


def main(args):
    pack, keys = args[0], []
    for flag, value in zip(args[1::2], args[2::2]):
        if flag != "--key":
            sys.exit(__doc__)
        keys.append(bytes.fromhex(value.strip()))
    try:
        with open(pack, "rb") as file:
            verify(file.read(), keys)
    except Refused as refused:
        print(refused)
        return 1
    print("ADMISSIBLE")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
