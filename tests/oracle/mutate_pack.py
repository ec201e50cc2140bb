#!/usr/bin/env python3
"""mutate_pack.py PACK.tar DIR: writes damaged copies of a pack, each named <what>.<step it must be refused at>.tar."""
import io
import json
import os
import sys
import tarfile


def read(pack):
    with tarfile.open(pack) as tar:
        return [(member, tar.extractfile(member).read() if member.isfile() else b"") for member in tar]


def archive(rows):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member, content in rows:
            copy = tarfile.TarInfo(member.name)
            copy.type, copy.linkname, copy.size = member.type, member.linkname, len(content) if member.isfile() else 0
            tar.addfile(copy, io.BytesIO(content))
    data = buffer.getvalue()
    # tarfile fills the last record with zeros; two blocks are enough.
    end = len(data.rstrip(b"\0"))
    return data[:(end + 511) // 512 * 512] + bytes(1024)


def write(path, rows):
    with open(path, "wb") as file:
        file.write(archive(rows))


def entry(name, kind=tarfile.REGTYPE, link=""):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


def with_manifest(rows, change):
    out = []
    for member, content in rows:
        if member.name == "manifest.json":
            manifest = json.loads(content)
            change(manifest)
            content = json.dumps(manifest, indent=2).encode()
        out.append((member, content))
    return out


def edit(*path, to):
    def change(manifest):
        at = manifest
        for step in path[:-1]:
            at = at[step]
        if to is None:
            del at[path[-1]]
        else:
            at[path[-1]] = to(at[path[-1]]) if callable(to) else to
    return change


def flip(text):
    return ("1" if text[-1] != "1" else "2").join((text[:-1], ""))


MANIFEST = [
    ("version-2", "manifest", edit("version", to="2.0.0")),
    ("version-0", "manifest", edit("version", to="0.9.0")),
    ("version-number", "manifest", edit("version", to=1)),
    ("version-lowered", "manifest_hash", edit("version", to="1.0.0")),
    ("no-entries", "manifest", edit("entries", to=[])),
    ("entry-twice", "manifest", edit("entries", to=lambda e: e + e[:1])),
    ("entry-escapes", "manifest", edit("entries", 0, "path", to="../x")),
    ("entry-hash-upper", "manifest", edit("entries", 0, "content_hash", to=str.upper)),
    ("entry-hash-flipped", "manifest_hash", edit("entries", 0, "content_hash", to=flip)),
    ("entry-size", "manifest_hash", edit("entries", 0, "size", to=lambda n: n + 1)),
    ("entry-size-float", "manifest", edit("entries", 0, "size", to=1.5)),
    ("entry-type", "manifest_hash", edit("entries", 0, "content_type", to="text/html")),
    ("entry-dropped", "manifest_hash", edit("entries", to=lambda e: e[1:])),
    ("actor", "manifest_hash", edit("actor_did", to="did:helm:other")),
    ("created", "manifest_hash", edit("created_at", to="2001-01-01T00:00:00Z")),
    ("created-no-time", "manifest", edit("created_at", to="yesterday")),
    ("policy-gone", "manifest", edit("policy_hash", to=None)),
    ("hash-flipped", "manifest_hash", edit("manifest_hash", to=flip)),
    ("root-flipped", "signature", edit("entries_merkle_root", to=flip)),
    ("root-gone", "signature", edit("entries_merkle_root", to=None)),
    ("seal-gone", "signature", edit("seal", to=None)),
    ("seal-flipped", "signature", edit("seal", "signature", to=flip)),
    ("seal-key", "signature", edit("seal", "public_key", to="00bda3ad078388b0929f3e1bca293271c28fedd6fd9a57819867301cd4177df2")),
    ("seal-time", "signature", edit("seal", "signed_at", to="2001-01-01T00:00:00Z")),
    ("seal-version", "signature", edit("seal", "version", to="helm-pack-seal/v2")),
    ("signatures-gone", "signature", edit("signatures", to=None)),
    ("signature-flipped", "signature", edit("signatures", 0, "signature", to=flip)),
    ("signer", "signature", edit("signatures", 0, "signer_id", to="somebody else")),
    ("signed-at", "signature", edit("signatures", 0, "signed_at", to="2001-01-01T00:00:00Z")),
    ("algorithm", "signature", edit("signatures", 0, "algorithm", to="ML-DSA-65")),
    ("unknown-member", "manifest", lambda m: m.update(note="x")),
    ("case-variant", "manifest", lambda m: m.update(Version="1.1.0")),
]


def archives(rows):
    files = [row for row in rows if row[0].name != "manifest.json"]
    first = files[0]
    yield "content-edited", "content_hash", [(m, c if m.name != first[0].name else b"?" + c[1:]) for m, c in rows]
    yield "content-longer", "content_hash", [(m, c if m.name != first[0].name else c + b"\n") for m, c in rows]
    yield "file-missing", "completeness", [row for row in rows if row[0].name != first[0].name]
    yield "file-extra", "completeness", rows + [(entry("zz-extra"), b"x")]
    yield "no-manifest", "other", files
    yield "symlink", "archive", rows + [(entry("zz-link", tarfile.SYMTYPE, "/etc/passwd"), b"")]
    yield "hardlink", "archive", rows + [(entry("zz-link", tarfile.LNKTYPE, first[0].name), b"")]
    yield "device", "archive", rows + [(entry("zz-dev", tarfile.CHRTYPE), b"")]
    yield "fifo", "archive", rows + [(entry("zz-fifo", tarfile.FIFOTYPE), b"")]
    yield "traversal", "archive", rows + [(entry("../evil"), b"x")]
    yield "absolute", "archive", rows + [(entry("/abs"), b"x")]
    yield "twice", "archive", rows + [(entry(first[0].name), first[1])]
    yield "case", "archive", rows + [(entry(first[0].name.upper()), b"x")]
    yield "below-file", "archive", rows + [(entry(first[0].name + "/x"), b"x")]
    yield "junk-signature", "completeness", rows + [(entry("signatures/x.json"), b"{}")]


def main(pack, to):
    rows = read(pack)
    for name, step, change in MANIFEST:
        write(os.path.join(to, f"{name}.{step}.tar"), with_manifest(rows, change))
    for name, step, changed in archives(rows):
        write(os.path.join(to, f"{name}.{step}.tar"), changed)
    with open(pack, "rb") as file:
        data = bytearray(file.read())
    for name, at in (("bit-name", 3), ("bit-mtime", 140), ("bit-checksum", 149), ("bit-padding", 512 + len(rows[0][1]) + 1),
                     ("bit-end", len(data) - 1)):
        copy = bytearray(data)
        copy[at] ^= 1
        with open(os.path.join(to, f"{name}.archive.tar"), "wb") as file:
            file.write(copy)
    for name, copy in (("cut", data[:-512]), ("cut-short", data[:700]), ("behind", data + b"x" * 512)):
        with open(os.path.join(to, f"{name}.archive.tar"), "wb") as file:
            file.write(copy)
    with open(os.path.join(to, "empty.other.tar"), "wb"):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
