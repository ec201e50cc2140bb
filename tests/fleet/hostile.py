#!/usr/bin/env python3
"""hostile.py URL ORIGIN HOME VERB ...: requests of a machine that does not keep to the rules, signed with the key in HOME by openssl.
Prints the status and the code of the answer."""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

url, origin, home = sys.argv[1:4]
started = int(time.time())


def sign(message):
    with open(f"{home}/.helm/keys/root.key", encoding="ascii") as f:
        seed = bytes.fromhex(f.read().strip())
    der = bytes.fromhex("302e020100300506032b657004220420") + seed
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/key", "wb") as f:
            f.write(der)
        with open(f"{d}/msg", "wb") as f:
            f.write(message)
        return subprocess.run(
            ["openssl", "pkeyutl", "-sign", "-inkey", f"{d}/key", "-keyform", "DER", "-rawin", "-in", f"{d}/msg"],
            capture_output=True, check=True).stdout.hex()


def pub():
    with open(f"{home}/.helm/keys/root.pub", encoding="ascii") as f:
        return f.read().strip()


def send(method, path, body=b"", at=None, tamper=None, key=None, kind="application/zstd"):
    at = int(time.time()) if at is None else at
    said = origin if tamper != "origin" else "elsewhere.test/x"
    message = f"helm:fleet:v1\n{said}\n{method}\n{path}\n{hashlib.sha256(body).hexdigest()}\n{at}\n".encode()
    signature = sign(message)
    if tamper == "signature":
        signature = ("0" if signature[0] != "0" else "1") + signature[1:]
    if tamper == "body":
        body += b" "
    headers = {"Helm-Origin": origin, "Helm-Key": "ed25519:" + (key or pub()), "Helm-Time": str(at),
               "Helm-Signature": signature, "Content-Type": kind}
    request = urllib.request.Request(url + path, data=body if method == "POST" else None, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as r:
            return r.status, json.loads(r.read() or b"{}")
    except urllib.error.HTTPError as e:
        text = e.read()
        try:
            return e.code, json.loads(text)
        except ValueError:
            return e.code, {}


def chain():
    path = f"{home}/.helm/workspace/.helm/receipts.jsonl"
    with open(path, "rb") as f:
        return f.read().splitlines()


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c", "--content-size", f"--stream-size={len(data)}"], input=data, capture_output=True, check=True).stdout


def batch(lines, first, prev, session, captions=(), **header):
    head = {"count": len(lines), "first": first, "prev_hash": prev, "session_id": session, "version": "helm-fleet-batch/1"}
    head.update(header)
    text = json.dumps(head, separators=(",", ":"), sort_keys=True).encode() + b"\n"
    for line in lines:
        text += line + b"\n"
    for c in captions:
        text += json.dumps(c, separators=(",", ":"), sort_keys=True).encode() + b"\n"
    return zstd(text)


def show(answer):
    status, doc = answer
    print(status, doc.get("error", {}).get("code", ""), doc.get("detail", doc.get("state", "")))


def main():
    verb = sys.argv[4]
    lines = chain()
    docs = [json.loads(x) for x in lines]
    session = docs[0]["session_id"] if docs else "ws-none"
    path = f"/v1/fleet/chains/{session}/receipts"
    whole = lambda **h: batch(lines, 1, "", session, **h)  # noqa: E731
    if verb == "good":
        show(send("POST", path, whole()))
    elif verb == "tamper":
        show(send("POST", path, whole(), tamper=sys.argv[5]))
    elif verb == "clock":
        show(send("POST", path, whole(), at=int(time.time()) + int(sys.argv[5])))
    elif verb == "changed":  # one member of one receipt
        docs[-1]["reason_code"] = "NO_MATTER"
        bad = lines[:-1] + [json.dumps(docs[-1], separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()]
        show(send("POST", path, batch(bad, 1, "", session)))
    elif verb == "gap":
        show(send("POST", path, batch(lines[1:], 2, docs[1]["prev_hash"], session)))
    elif verb == "order":
        show(send("POST", path, batch(lines[::-1], 1, "", session)))
    elif verb == "header":
        show(send("POST", path, whole(**{sys.argv[5]: json.loads(sys.argv[6])})))
    elif verb == "caption":
        show(send("POST", path, whole(captions=[{"decision_id": docs[-1]["decision_id"], "text": "not what was judged"}])))
    elif verb == "question":  # with this id; no receipt has it
        ask = {"approval_id": sys.argv[5], "expires_at": "2099-01-01T00:00:00Z"}
        show(send("POST", path, whole(captions=[{"approval_id": sys.argv[5], "request": ask}])))
    elif verb == "garbage":
        show(send("POST", path, os.urandom(1000)))
    elif verb == "bomb":
        show(send("POST", path, zstd(b"\n" * (1 << 28))))
    elif verb == "large":
        show(send("POST", path, os.urandom(2 << 20)))
    elif verb == "foreign":  # a chain of another machine, sent by this one
        other = sys.argv[5]
        global home
        mine, home = home, other
        theirs = chain()
        home = mine
        s = json.loads(theirs[0])["session_id"]
        show(send("POST", f"/v1/fleet/chains/{s}/receipts", batch(theirs, 1, "", s)))
    elif verb == "parts":  # overlapping, again, out of order
        n = len(lines)
        for a, b in ((0, 2), (0, 2), (1, 3), (0, n), (n - 1, n), (2, n)):
            prev = "" if a == 0 else docs[a]["prev_hash"]
            show(send("POST", path, batch(lines[a:b], a + 1, prev, session)))
    elif verb == "flood":
        print(sorted({send("GET", f"/v1/fleet/chains/{session}/at/0")[0] for _ in range(int(sys.argv[5]))}))
    elif verb == "beat":  # NUMBER (or none) HEAD SECONDS TIMES: a heartbeat of that number, signed once, sent so often
        number, head, ago, times = sys.argv[5:9]
        body = {"heads": [{"session_id": session, "head": int(head), "head_hash": "00" * 32}], "order": 0, "at": "2026-01-01T00:00:00Z"}
        if number != "none":
            body["sent_us"] = json.loads(number)
        for _ in range(int(times)):
            show(send("POST", "/v1/fleet/beat", json.dumps(body, separators=(",", ":"), sort_keys=True).encode(), at=started + int(ago), kind="application/json"))
    elif verb == "get":
        show(send("GET", sys.argv[5]))


main()
