#!/usr/bin/env python3
"""verify_pack.py PACK.tar[.gz] --key HEX [--key HEX]...

A second verifier of evidence packs, written from docs/formats/evidence-pack.md, receipt.md and tar.md alone, with nothing but Python's
standard library.  It shares no code with the program it checks.  Prints "ADMISSIBLE" (exit 0) or "<step>: <why>" (exit 1)."""
import gzip
import hashlib
import json
import re
import sys
import unicodedata

import verify_receipt
from ed25519 import verify as ed25519_verify

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
    return manifest


ORDER = {"entries": ("path", "content_hash", "size", "content_type"),
         "signatures": ("signer_id", "signature", "algorithm", "signed_at", "key_id"),
         "seal": ("version", "algorithm", "public_key", "signed_at", "signature")}


def in_order(value, names):
    return isinstance(value, dict) and [name for name in names if name in value] == list(value)


def indented(value, depth=0):
    """Ordinary JSON with two spaces per level, < > & and two separators escaped."""
    inner = "\n" + "  " * (depth + 1)
    if isinstance(value, (dict, list)) and not value:
        return "{}" if isinstance(value, dict) else "[]"
    if isinstance(value, dict):
        rows = [indented(name) + ": " + indented(item, depth + 1) for name, item in value.items()]
        return "{" + inner + ("," + inner).join(rows) + "\n" + "  " * depth + "}"
    if isinstance(value, list):
        return "[" + inner + ("," + inner).join(indented(item, depth + 1) for item in value) + "\n" + "  " * depth + "]"
    return re.sub("[<>&\u2028\u2029]", lambda match: "\\u%04x" % ord(match.group()), canonical(value))


def check_own_spelling(text, manifest, entries):
    """A pack of ours is written in one way."""
    order = in_order(manifest, MEMBERS) and all(in_order(row, ORDER["entries"]) for row in manifest["entries"])
    order = order and [row["path"] for row in manifest["entries"]] == [entry["path"] for entry in entries]
    found = manifest.get("signatures", [])
    order = order and all(in_order(row, ORDER["signatures"]) for row in (found if isinstance(found, list) else []))
    order = order and in_order(manifest.get("seal", {}), ORDER["seal"])
    need(order and text == indented(manifest).encode(), "manifest", "spelled otherwise")


def is_own(manifest, entries):
    try:
        unnamed = manifest_hash({**manifest, "pack_id": ""}, entries)
    except Refused:
        return False
    return manifest.get("pack_id") == "pack-" + unnamed[7:39]


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


def is_detached(path, manifest, own):
    found = manifest.get("signatures")
    return not own and not found and (path.startswith("signatures/") or path == "manifest.sig.json")


def check_signatures(manifest, files, listed, keys, own):
    found = manifest.get("signatures", [])
    need(isinstance(found, list), "signature", "signatures")
    for path in sorted(files):
        if path not in listed and is_detached(path, manifest, own):
            try:
                one = parse_json(files[path])
            except Refused as refused:
                raise Refused("signature", str(refused)) from None
            names = ORDER["signatures"] + ("manifest_hash",)
            need(isinstance(one, dict) and all(name in names and type(value) is str for name, value in one.items()),
                 "signature", "more than a signature")
            found = found + [one]
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


def check_receipts(files, keys):
    """What the receipts say for themselves, and their places in the log that went along."""
    leaves, last = read_leaves(files), 0
    for path in sorted(files):
        if not path.startswith("receipts/") or not path.endswith(".json"):
            continue
        try:
            receipt = verify_receipt.parse(files[path])
        except verify_receipt.Refused:
            continue
        if not isinstance(receipt, dict) or receipt.get("signature_version") != "receipt.v5":
            continue
        try:
            chain = verify_receipt.check_receipt(receipt, keys, files[path])
        except verify_receipt.Unknown:
            chain = verify_receipt.chain_hash(receipt)
        except verify_receipt.Refused as refused:
            raise Refused("receipts", f"{path}: {refused}") from None
        if leaves:
            place = re.match(r"receipts/(\d{8})-", path)
            place = int(place.group(1)) if place else 0
            need(0 < place <= len(leaves) and leaf(bytes.fromhex(chain)) == leaves[place - 1], "transparency", path)
            last = max(last, place)
    head = files.get("transparency/head.json")
    if leaves and head is not None:
        check_head(verify_receipt.parse(head), leaves)


def leaf(data):
    return hashlib.sha256(b"\0" + data).digest()


def read_leaves(files):
    text = files.get("transparency/leaves.txt", b"")
    if not re.fullmatch(rb"([0-9a-f]{64}\n)+", text):
        return []
    return [bytes.fromhex(line.decode()) for line in text.split()]


def tree_root(nodes):
    if len(nodes) == 1:
        return nodes[0]
    half = 1
    while 2 * half < len(nodes):
        half *= 2
    return hashlib.sha256(b"\1" + tree_root(nodes[:half]) + tree_root(nodes[half:])).digest()


def check_head(head, leaves):
    size = int(head.get("tree_size", "0")) if isinstance(head.get("tree_size"), str) else 0
    need(0 < size <= len(leaves) and head.get("root_hash") == tree_root(leaves[:size]).hex(), "transparency", "head")


# ---- receipts and the log ----

SIGNED = ("args_hash", "decision_id", "effect_id", "lamport_clock", "output_hash", "policy_hash", "prev_hash", "reason_code",
          "receipt_id", "session_id", "signature_version", "status", "verdict")


UNHASHED = ("transparency", "log_id", "leaf_index")
OPTIONAL = ("output_hash", "args_hash", "verdict", "reason_code", "policy_hash", "session_id", "signature_version")

TIMES = {name: "0001-01-01T00:00:00Z" for name in ("created_at", "installed_at", "issued_at")}  # written when absent, too


def each_receipt(files):
    """(place, document, name) of every receipt, in files of their own or as lines."""
    for path in sorted(files):
        if not path.startswith("receipts/"):
            continue
        if path.endswith(".jsonl"):
            need(files[path].endswith(b"\n"), "receipts", path + " has a line without end")
            for number, line in enumerate(files[path].split(b"\n")[:-1], 1):
                receipt = parse_json(line)
                need(isinstance(receipt, dict), "receipts", f"{path} line {number}")
                yield int(receipt.get("lamport_clock", "0")), receipt, f"{path} line {number}"
        elif path.endswith(".json"):
            receipt = parse_json(files[path])
            place = re.match(r"receipts/(\d{8})-", path)
            if isinstance(receipt, dict) and receipt.get("signature_version") == "receipt.v5":
                yield int(place.group(1)) if place else 0, receipt, path


def check_receipts(files, keys):
    """Every receipt of a key given is what was signed; the leaf at its place is its own; the head is the root of the leaves.
    Signatures are slow here, so of many receipts only some are verified."""
    leaves = files.get("transparency/leaves.txt", b"").split(b"\n")[:-1]
    count = sum(1 for _ in each_receipt(files))
    for i, (place, receipt, name) in enumerate(each_receipt(files)):
        hashed = {key: value for key, value in receipt.items()
                  if key not in UNHASHED and not (key in OPTIONAL and value == "")}
        hashed["timestamp"] = print_time(hashed["timestamp"])
        chain = hashlib.sha256(canonical({**TIMES, **hashed}).encode()).digest()
        if leaves:
            need(0 < place <= len(leaves) and hashlib.sha256(b"\0" + chain).hexdigest().encode() == leaves[place - 1],
                 "transparency", name + " does not stand where it says")
        if count > 50 and i % (count // 25):
            continue
        message = canonical({key: receipt[key] for key in SIGNED}).encode()
        key = bytes.fromhex(receipt["public_key_set"]["ed25519"])
        need(ed25519_verify(key, message, bytes.fromhex(receipt["signature"])), "receipts", name)
    if leaves and "transparency/head.json" in files:
        head = parse_json(files["transparency/head.json"])
        size = int(head["tree_size"])
        need(rfc6962_root([bytes.fromhex(leaf.decode()) for leaf in leaves[:size]]).hex() == head["root_hash"],
             "transparency", "root")


def rfc6962_root(leaves):
    """Pairs of neighbours; a last one without a partner goes up as it is."""
    while len(leaves) > 1:
        leaves = [hashlib.sha256(b"\1" + leaves[i] + leaves[i + 1]).digest() if i + 1 < len(leaves) else leaves[i]
                  for i in range(0, len(leaves), 2)]
    return leaves[0]


def verify(data, keys):
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, ValueError) as error:
            raise Refused("archive", str(error)) from None
    files = read_tar(data)
    keys = follow_keys(files, keys)
    manifest = read_manifest(files)
    entries = read_entries(manifest)
    own = is_own(manifest, entries)
    if own:
        check_own_spelling(files["manifest.json"], manifest, entries)
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
    for path in sorted(set(files) - listed - {"manifest.json"}):
        need(is_detached(path, manifest, own), "completeness", path + " is not listed")
    seal = manifest.get("seal")
    need(not own or "seal" in manifest, "signature", "no seal")
    if own or (isinstance(seal, dict) and seal.get("version") == "helm-pack-seal/v1"):
        check_seal(manifest, keys)
    check_signatures(manifest, files, listed, keys, own)
    check_receipts(files, keys)
    if own or "entries_merkle_root" in manifest:
        need(manifest.get("entries_merkle_root") == merkle_root(entries), "merkle_root", "differs")
    check_receipts(files, keys)


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
