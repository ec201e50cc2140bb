"""passkey.py — for tests: an authenticator and the browser around it, by the openssl program.  It says whatever it is told to."""
import base64, hashlib, json, os, subprocess, tempfile


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Passkey:
    def __init__(self, kind="ed25519", rp="localhost"):
        self.dir = tempfile.mkdtemp()
        self.key, self.kind, self.rp, self.count = os.path.join(self.dir, "key.pem"), kind, rp, 0
        how = ["-algorithm", "ed25519"] if kind == "ed25519" else ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
        subprocess.run(["openssl", "genpkey"] + how + ["-out", self.key], check=True, capture_output=True)
        der = subprocess.run(["openssl", "pkey", "-in", self.key, "-pubout", "-outform", "DER"], check=True, capture_output=True).stdout
        self.x, self.y = (der[-32:], b"") if kind == "ed25519" else (der[-64:-32], der[-32:])
        self.id = os.urandom(32)

    def sign(self, message):
        path = os.path.join(self.dir, "message")
        with open(path, "wb") as f:
            f.write(message)
        how = ["pkeyutl", "-sign", "-rawin", "-inkey", self.key, "-in", path] if self.kind == "ed25519" else ["dgst", "-sha256", "-sign", self.key, path]
        return subprocess.run(["openssl"] + how, check=True, capture_output=True).stdout

    def client(self, kind, challenge, origin):
        return json.dumps({"type": kind, "challenge": b64(challenge), "origin": origin, "crossOrigin": False}, separators=(",", ":")).encode()

    def data(self, flags, tail=b""):
        self.count += 1
        return hashlib.sha256(self.rp.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big") + tail

    def make(self, challenge, origin, flags=0x45):
        """What navigator.credentials.create() gives."""
        cose = (b"\xa4\x01\x01\x03\x27\x20\x06\x21\x58\x20" + self.x) if self.kind == "ed25519" else (b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20" + self.x + b"\x22\x58\x20" + self.y)
        data = self.data(flags, bytes(16) + len(self.id).to_bytes(2, "big") + self.id + cose)
        return {"client_data_json": b64(self.client("webauthn.create", challenge, origin)),
                "attestation_object": b64(b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58" + bytes([len(data)]) + data)}

    def get(self, challenge, origin, flags=0x05, kind="webauthn.get"):
        """What navigator.credentials.get() gives."""
        client, data = self.client(kind, challenge, origin), self.data(flags)
        return {"id": b64(self.id), "authenticator_data": b64(data), "client_data_json": b64(client), "signature": b64(self.sign(data + hashlib.sha256(client).digest()))}

    def over(self, message, origin, **more):
        return self.get(hashlib.sha256(message.encode()).digest(), origin, **more)
