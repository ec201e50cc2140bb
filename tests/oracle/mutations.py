#!/usr/bin/env python3
"""mutations.py TOOLS KEYS CHAIN PACK: thousands of changed receipts, bundles, chains and packs before two verifiers.
mutations.py --every-byte TOOLS KEYS CHAIN PACK: each byte of each receipt of the chain changed, and as many of the pack as there is time for.
mutations.py --each-kind TOOLS KEYS CHAIN PACK: the same of one receipt of each kind, of a bundle and, in steps, of a larger pack; and some
thousand other changes of them.

TOOLS is the directory of verify_tool, which answers as `helm verify` does, and sign_tool; KEYS is the one of root.key and root.pub.  The
other verifier is verify_receipt.py and verify_pack.py, written from docs/formats.  Both must accept the same documents and refuse the
same, and no byte of a receipt, a bundle or a pack may be another unnoticed."""
import copy
import itertools
import json
import random
import re
import subprocess
import sys
import zlib

import mutate_pack
import verify_pack
import verify_receipt

BYTES = [b" ", b"\t", b"\n", b"\r", b"\0", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"1", b"-", b".", b"e", b"a", b"A", b"\xff",
         b"\\u0041", b"\\/", b"null", b'"x":1,', b"\xc3\xa9", b"\\u00e9", b"\\u00E9"]
VALUES = ["", "x", "0", 0, 1, -1, 7, 2**53 - 1, 2**53, 1.5, True, False, None, [], {}, ["x"], {"x": 1}, {"a": "b"},
          "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.100000Z", "2026-01-01T00:00:00.1Z", "2026-01-01T01:00:00+01:00", "ws-x",
          "receipt.v5", "decision_record.v4", "decision_record.v9", "a" * 64, "A" * 64, "0" * 128, "sha256:" + "0" * 64]
NAMES = ["extra", "x-note", "Verdict", "blob_hash", "created_at", "hash", "log_id", "leaf_index", "transparency", "merkle_root", "metadata",
         "subject", "tool_name", "correlation_id", "retry_count", "public_key_set", "ver\u017fion", "evidence", "id", "risk_tier", "log_id\0x", "tool_name\0"]


def write(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def line(value):
    """Canonical JSON, as receipts are stored."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()


def places(value, path=()):
    """Every member and item, at any depth."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield path + (name,)
        yield from places(item, path + (name,))


def holder(value, path):
    for step in path[:-1]:
        value = value[step]
    return value


def spin(r, text):
    """Another text of the same length in one character."""
    at = r.randrange(len(text)) if text else 0
    return text[:at] + r.choice("0123456789abcdefABCDEF.-_x") + text[at + 1:]


def edit(r, receipt, other):
    """One member of a receipt changed, taken, added or exchanged."""
    receipt = copy.deepcopy(receipt)
    path = r.choice(list(places(receipt)))
    at, name, kind = holder(receipt, path), path[-1], r.randrange(8)
    if kind == 0:
        del at[name]
    elif kind == 1 and isinstance(at[name], str):
        at[name] = spin(r, at[name])
    elif kind == 2 and isinstance(at[name], str):
        at[name] = at[name].upper() if r.randrange(2) else at[name] + " "
    elif kind == 3 and isinstance(at[name], int):
        at[name] = r.choice([at[name] + 1, float(at[name]), str(at[name]), -at[name]])
    elif kind == 4:
        receipt[r.choice(NAMES)] = r.choice(VALUES)
    elif kind == 5 and other:
        take = r.choice([name for name in other])
        receipt[take] = other[take]
    elif kind == 6 and isinstance(at, dict):
        at[r.choice(NAMES)] = r.choice(VALUES)
    else:
        at[name] = r.choice(VALUES)
    return receipt


def respell(r, receipt):
    """The same values, written otherwise."""
    kind = r.randrange(5)
    if kind == 0:
        return json.dumps(receipt, indent=r.choice([None, 1, 2])).encode()
    if kind == 1:
        names = list(receipt)
        r.shuffle(names)
        return write({name: receipt[name] for name in names})
    data = line(receipt)
    if kind == 2:
        return re.sub(rb":(\d+)([,}])", r.choice([rb":\1.0\2", rb":\1e0\2", rb":0\1\2", rb": \1\2"]), data, count=r.randrange(1, 4))
    if kind == 3:
        return data.replace(b"/", b"\\/", 1) if r.randrange(2) else data.replace(b"a", b"\\u0061", r.randrange(1, 3))
    return data.replace(b"\xc3\xa9", r.choice([b"\\u00e9", b"\\u00E9"])) + r.choice([b"", b"\n", b" ", b"\n\n", b"\r\n"])


def damage(r, data):
    """Bytes changed, taken, put in or moved."""
    data = bytearray(data)
    at, kind = r.randrange(len(data)), r.randrange(5)
    if kind == 0:
        data[at] ^= 1 << r.randrange(8)
    elif kind == 1:
        del data[at:at + r.randrange(1, 4)]
    elif kind == 2:
        data[at:at] = r.choice(BYTES)
    elif kind == 3:
        data[at] = r.randrange(256)
    else:
        data[at:at] = data[r.randrange(len(data)):][:r.randrange(1, 9)]
    return bytes(data)


def one_receipt(r, receipts):
    receipt, kind = r.choice(receipts), r.randrange(4)
    if kind == 0:
        return damage(r, line(receipt))
    if kind == 1:
        return respell(r, receipt)
    changed = edit(r, receipt, r.choice(receipts))
    return line(changed) if r.randrange(4) else write(changed)


def one_bundle(r, chain):
    rows, kind = copy.deepcopy(chain), r.randrange(6)
    if kind == 0:
        return damage(r, write({"receipts": rows}))
    if kind == 1:
        del rows[r.randrange(len(rows))]
    elif kind == 2:
        i, j = r.randrange(len(rows)), r.randrange(len(rows))
        rows[i], rows[j] = rows[j], rows[i]
    elif kind == 3:
        rows.insert(r.randrange(len(rows)), r.choice(rows))
    elif kind == 4:
        i = r.randrange(len(rows))
        rows[i] = edit(r, rows[i], r.choice(rows))
    wrapped = rows if r.randrange(2) else {"receipts": rows}
    return json.dumps(wrapped, indent=r.choice([None, 2]), ensure_ascii=bool(r.randrange(2))).encode()


def one_chain(r, lines):
    lines, kind = list(lines), r.randrange(7)
    i, j = r.randrange(len(lines)), r.randrange(len(lines))
    if kind == 0:
        return damage(r, b"\n".join(lines) + b"\n")
    if kind == 1:
        del lines[i]
    elif kind == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 3:
        lines.insert(i, r.choice([b"", b" ", lines[j], b"{}"]))
    elif kind == 4:
        lines[i] = line(edit(r, json.loads(lines[i]), json.loads(lines[j])))
    elif kind == 5:
        lines[i] = respell(r, json.loads(lines[i])).replace(b"\n", b" ")
    return b"\n".join(lines) + r.choice([b"\n", b""])


def one_pack(r, rows, data):
    kind = r.randrange(4)
    if kind == 0:
        return damage(r, data)
    if kind == 1:
        rows = list(rows)
        at = r.randrange(len(rows))
        rows[at] = rows[at][0], damage(r, rows[at][1] or b"x")
    elif kind == 2:
        def change(manifest):
            changed = edit(r, manifest, None)
            manifest.clear()
            manifest.update(changed)
        rows = mutate_pack.with_manifest(rows, change)
    else:
        name = r.choice(["signatures/x.json", "manifest.sig.json", "extra", "receipts/x.json", "transparency/x"])
        rows = rows + [(mutate_pack.entry(name), r.choice([b"{}", b"x", rows[0][1]]))]
    return mutate_pack.archive(rows)


def flips(data, step=1, start=0):
    """Every byte, each with one bit turned; which bit goes round."""
    for at in range(start, len(data), step):
        copy_ = bytearray(data)
        copy_[at] ^= 1 << (at // step % 8)
        yield bytes(copy_)


def second(data, keys):
    try:
        if data[:2] == b"\x1f\x8b" or data[257:262] == b"ustar":
            verify_pack.verify(data, keys)
        else:
            verify_receipt.verify(data, keys)
        return None
    except (verify_receipt.Refused, verify_pack.Refused) as refused:
        return str(refused) or "refused"


def ask(tool, key, documents):
    asked = "".join(data.hex() + "\n" for _, data, _ in documents).encode()
    return subprocess.run([tool, key], input=asked, stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()


def signed(tools, seed, receipt, **changes):
    """The receipt with some members changed, signed again."""
    receipt = {**receipt, **changes}
    message = line({name: receipt[name] for name in verify_receipt.SIGNED})
    made = subprocess.run([tools + "/sign_tool", "sign", seed], input=message, stdout=subprocess.PIPE, check=True)
    return {**receipt, "signature": made.stdout.decode().split()[1]}


def others(tools, seed, receipt):
    """A receipt from before marks, and two of somebody else: with a decision, and with something free."""
    old = signed(tools, seed, receipt, receipt_id=receipt["receipt_id"].split(".")[0])
    stranger = {"session_id": "agent-7", "receipt_id": "r-7", "leaf_index": 12, "log_id": "theirs"}
    free = {"subject": {"note": "free", "n": 1.5}, "metadata": {"x": [1, 2.5, -0.0, 1e21, "e"]}, "extra": 1}
    return {"an old receipt": old, "a stranger's": signed(tools, seed, receipt, **stranger),
            "a free one": signed(tools, seed, receipt, **stranger, **free)}


def read(key_dir, chain_file, pack_file):
    with open(key_dir + "/root.key", encoding="ascii") as file:
        seed = file.read().strip()
    with open(key_dir + "/root.pub", encoding="ascii") as file:
        key = file.read().strip()
    with open(chain_file, "rb") as file:
        lines = file.read().splitlines()
    with open(pack_file, "rb") as file:
        pack = file.read()
    return seed, key, lines, pack


def judge(tools, key, documents, whole):
    """Both verifiers about each document; how many differ from each other, or from what is wanted."""
    keys, wrong, accepted, asks = [bytes.fromhex(key)], 0, 0, 0
    for some in iter(lambda left=iter(documents): list(itertools.islice(left, 500)), []):
        for (what, data, wanted), answer in zip(some, ask(tools + "/verify_tool", key, some), strict=True):
            asks += 1
            ours = answer.startswith("ADMISSIBLE")
            # That no flip passes is asked of ours; of the other one, for its time, every sixteenth.
            theirs = "not asked" if wanted is False and asks % 16 else second(data, keys)
            accepted += ours
            if ours == (theirs is None) and (wanted is None or ours == wanted) and (what not in whole or ours):
                continue
            wrong += 1
            if wrong <= 10:
                print(what, "ours:", answer, "second:", theirs, data[:3000])
    print(asks, "documents,", accepted, "accepted,", wrong, "differ")
    return 1 if wrong else 0


def kind(receipt):
    """What receipts that were written by the same line of code have in common."""
    return (receipt["receipt_id"].split("-")[0], str(receipt.get("executor_id", "")).split(":")[0], str(receipt.get("effect_id")).split("-")[0],
            receipt.get("verdict"), tuple(sorted(receipt.get("metadata") or {})))


def each_kind(tools, key_dir, chain_file, pack_file):
    r = random.Random(20261117)
    _, key, lines, pack = read(key_dir, chain_file, pack_file)
    chain, rows = [json.loads(text) for text in lines], mutate_pack.read(pack_file)
    kinds = {kind(receipt): text for text, receipt in zip(reversed(lines), reversed(chain))}
    receipts = [json.loads(text) for text in kinds.values()]
    pair = json.dumps({"receipts": chain[-2:]}, indent=2, ensure_ascii=False).encode()
    whole = {f"receipt {at}": text for at, text in enumerate(kinds.values())} | {"a bundle": pair, "the pack": pack}
    documents = [(what, data, None) for what, data in whole.items()]
    for what, data in whole.items():
        documents += [(f"flip of {what}", changed, False) for changed in flips(data, max(1, len(data) // 8000))]
    for count, what, make in ((1500, "receipt", lambda: one_receipt(r, receipts)), (500, "bundle", lambda: one_bundle(r, chain[-4:])),
                              (500, "pack", lambda: one_pack(r, rows, pack))):
        documents += [(what, make(), None) for _ in range(count)]
    print(len(chain), "receipts,", len(kinds), "kinds,", len(pack), "bytes of a pack")
    return judge(tools, key, documents, whole)


def every_byte(tools, key_dir, chain_file, pack_file):
    """Of a pack that is long every n-th byte, each time others: where it begins is by what is in it."""
    _, key, lines, pack = read(key_dir, chain_file, pack_file)
    whole = {f"receipt {at}": text for at, text in enumerate(lines)}
    step = max(1, len(pack) // 15000)
    print(len(pack), "bytes of a pack, in steps of", step)
    documents = itertools.chain(
        ((what, data, None) for what, data in (whole | {"the pack": pack}).items()),
        ((f"flip of {what}", changed, False) for what, data in whole.items() for changed in flips(data)),
        (("flip of the pack", changed, False) for changed in flips(pack, step, zlib.crc32(pack) % step)))
    return judge(tools, key, documents, whole | {"the pack": pack})


def main(tools, key_dir, chain_file, pack_file):
    r = random.Random(20261116)
    seed, key, lines, pack = read(key_dir, chain_file, pack_file)
    chain, rows = [json.loads(text) for text in lines], mutate_pack.read(pack_file)
    more = others(tools, seed, chain[0])
    receipts = chain + 2 * list(more.values())
    bundle = json.dumps({"receipts": chain[:2]}, indent=2, ensure_ascii=False).encode()
    whole = {"a receipt": line(chain[1]), "a bundle": bundle, "a chain": b"\n".join(lines) + b"\n", "a pack": pack}
    whole.update({name: line(receipt) for name, receipt in more.items()})
    documents = [(what, data, None) for what, data in whole.items()]
    for what in ("a receipt", "a bundle"):
        documents += [("flip of " + what, data, False) for data in flips(whole[what])]
    documents += [("flip of a pack", data, False) for data in flips(pack, max(1, len(pack) // 1500))]
    for count, what, make in ((4000, "receipt", lambda: one_receipt(r, receipts)), (2000, "bundle", lambda: one_bundle(r, chain[:4])),
                              (2000, "chain", lambda: one_chain(r, lines)), (2000, "pack", lambda: one_pack(r, rows, pack))):
        documents += [(what, make(), None) for _ in range(count)]
    return judge(tools, key, documents, whole)


if __name__ == "__main__":
    ways = {"--every-byte": every_byte, "--each-kind": each_kind}
    sys.exit(ways[sys.argv[1]](*sys.argv[2:]) if sys.argv[1] in ways else main(*sys.argv[1:]))
