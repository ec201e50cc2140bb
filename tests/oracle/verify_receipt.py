#!/usr/bin/env python3
"""verify_receipt.py FILE --key HEX [--key HEX]... [--ledgers DIR]

A second verifier of receipts, bundles and chains, written from docs/formats (receipt, decision-record, projection, canonical-json) alone, with
nothing but Python's standard library.  It shares no code with the program it checks.  With the state's directory
the notes of calls in it are compared with what receipts say of them (receipt.md, "Notes").  Prints "ADMISSIBLE" (exit 0) or why not (exit 1)."""
import hashlib
import json
import pathlib
import re
import subprocess
import sys

from ed25519 import verify as ed25519_verify

SIGNED = ("args_hash", "decision_id", "effect_id", "lamport_clock", "output_hash", "policy_hash", "prev_hash", "reason_code",
          "receipt_id", "session_id", "signature_version", "status", "verdict")
ALWAYS = ("receipt_id", "decision_id", "effect_id", "external_reference_id", "status", "timestamp", "prev_hash", "lamport_clock")
UNSET = ("created_at", "installed_at", "issued_at")
OTHERS = """output_hash args_hash verdict reason_code policy_hash session_id signature_version correlation_id effect_type executor_id
key_id metadata public_key_set signature signature_algorithm signature_profile subject tool_name type action blob_hash content_hash counterparty
decision_hash direction effect_graph_node_id emergency_activation_id emergency_delegation_session_id emergency_scope_hash evidence gateway_id hash id
idempotency_key installed_by launch_id merkle_root model_hash network_log_ref pack_hash pack_id pack_name pack_version prev_receipt_id retry_count
risk_tier runtime_type runtime_version safe_dep_reason_code safe_dep_state sandbox_lease_id scope_hash secret_events_ref skill_content_hash
skill_id tool_fingerprint""".split()
OBJECTS = ("bundled_artifacts", "port_exposures", "projection_paths", "provenance", "replay_script", "witness_signatures", "transparency")
OUTSIDE = ("log_id", "leaf_index", "transparency")
TIMES, FREE, MAPS, INTEGERS = ("timestamp",) + UNSET, ("metadata", "subject"), ("public_key_set", "evidence"), ("lamport_clock", "retry_count")
KNOWN = set(ALWAYS) | set(UNSET) | set(OTHERS) | set(OBJECTS) | set(OUTSIDE)
DECISION = """action correlation_id effect_digest env_fingerprint gate_roster_hash id input_context intervention phenotype_hash policy_backend
policy_content_hash policy_decision_hash policy_epoch policy_version proposal_id reason reason_code requirement_set_hash resource
risk_accumulation_window session_centroid_hash signature signature_type signature_version snapshot state_cursor step_id subject_id threat_scan
timestamp trajectory_risk_score verdict""".split()
SAFE = 2**53 - 1


class Refused(Exception):
    pass


class Unknown(Refused):
    """Not shown to be changed; only that no key given fits."""


def need(condition, why):
    if not condition:
        raise Refused(why)


# ---- JSON ----


class Number(str):
    """A number as it was written."""


def no_duplicates(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a member twice")
    return dict(pairs)


def no_constant(text):
    raise ValueError(text)


def depth(value):
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


def parse(data):
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=no_duplicates, parse_int=Number, parse_float=Number,
                           parse_constant=no_constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # lone surrogates
    except (ValueError, RecursionError) as error:
        raise Refused(str(error)[:80]) from None
    need(depth(value) <= 64, "too deep")
    return value


def canonical(value):
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def is_text(value):
    return isinstance(value, str) and not isinstance(value, Number)


def text(value, name):
    """A member as text; "" when it is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if is_text(found) else ""


def integer(value):
    """The whole number, or None: within 2^53-1, in decimal digits."""
    if not isinstance(value, Number) or not re.fullmatch(r"-?(0|[1-9][0-9]*)", value):
        return None
    number = int(value)
    return number if -SAFE <= number <= SAFE else None


# ---- projection ----


def through_double(value):
    if isinstance(value, Number):
        number = float(value)
        if number == int(number) if abs(number) < 1e21 else False:
            return Number("-0" if str(number) == "-0.0" else str(int(number)))
        return Number(re.sub(r"e([+-])0*", r"e\1", repr(number)))
    if isinstance(value, dict):
        return {name: through_double(item) for name, item in value.items()}
    return [through_double(item) for item in value] if isinstance(value, list) else value


def print_time(value):
    need(is_text(value), "a time is no text")
    match = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", value)
    need(match and match.group(0).isascii(), "no time")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    days = [31, 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    need(1 <= month <= 12 and 1 <= day <= days[month - 1] and hour < 24 and minute < 60 and second < 60, "no time")
    fraction = (match.group(7) or "")[:9].rstrip("0")
    zone = match.group(8)
    need(zone == "Z" or (int(zone[1:3]) < 24 and int(zone[4:]) < 60), "no time")
    zone = "Z" if zone in ("Z", "+00:00", "-00:00") else zone
    return value[:19] + ("." + fraction if fraction else "") + zone


def is_empty(value):
    return value is None or value is False or value in ("", [], {}) or (isinstance(value, Number) and integer(value) == 0)


def fold(name):
    return name.replace("\u017f", "s").replace("\u212a", "k").translate({c: c + 32 for c in range(65, 91)})


def check_names(value, known):
    for name in value:
        need(name in known or fold(name) == name or fold(name) not in known, f"{name!r} differs in letter case only")


def project_member(name, value):
    if name in TIMES:
        return "0001-01-01T00:00:00Z" if value is None else print_time(value)
    if name in INTEGERS or name == "leaf_index":
        number = 0 if value is None else integer(value)
        need(number is not None and (name == "retry_count" or number >= 0), f"{name} is no such number")
        return Number(str(number))
    if name in FREE:
        return through_double(value)
    if name in MAPS:
        need(isinstance(value, dict) and all(is_text(item) for item in value.values()), f"{name} is no map of texts")
        return value
    need(name not in OBJECTS, f"{name}: not in this verifier")
    need(value is None or is_text(value), f"{name} is no text")
    return value or ""


def project(receipt, without=()):
    check_names(receipt, KNOWN)
    out = {}
    for name in KNOWN - set(OUTSIDE) - set(without):
        value = receipt.get(name)
        if name in ALWAYS or name in UNSET or not is_empty(value):
            out[name] = project_member(name, value)
    return canonical(out).encode()


def chain_hash(receipt):
    return hashlib.sha256(project(receipt)).hexdigest()


# ---- a receipt ----


def hex_bytes(value, size):
    need(is_text(value) and re.fullmatch("[0-9a-f]{%d}" % (2 * size), value), "not lower-case hex")
    return bytes.fromhex(value)


def signer(keys, message, signature):
    """The key given under which it verifies, or None."""
    return next((key for key in keys if ed25519_verify(key, message, signature)), None)


def preimage(receipt):
    for name in SIGNED:
        value = receipt.get(name)
        if name == "lamport_clock":
            need(integer(value) is not None and integer(value) >= 0, "clock")
        else:
            need(is_text(value), f"{name} is missing or no text")
    return canonical({name: receipt[name] for name in SIGNED}).encode()


def check_profile(receipt):
    profile, algorithm = receipt.get("signature_profile"), receipt.get("signature_algorithm")
    need((profile in (None, "") and algorithm in (None, "")
          and not any(receipt.get(name, "") is None for name in ("signature_profile", "signature_algorithm")))
         or (profile == "classical" and algorithm == "ed25519"), "profile")


def decision_hash(decision):
    need(isinstance(decision, dict), "no decision")
    check_names(decision, DECISION)
    need(decision.get("signature_version") == "decision_record.v4", "decision version")
    reason = decision.get("reason", "")
    need(is_text(reason), "reason")
    view = {}
    for name in ("action", "effect_digest", "id", "phenotype_hash", "policy_content_hash", "reason_code", "resource",
                 "signature_type", "subject_id", "verdict"):
        value = decision.get(name)
        need(value is None or is_text(value), name)
        view[name] = value or ""
    need(decision.get("threat_scan") is None, "threat scans: not in this verifier")
    view.update(reason_hash=hashlib.sha256(reason.encode()).hexdigest(), threat_scan_hash="",
                signature_version="decision_record.v4")
    return canonical(view).encode()


def check_subject(receipt, keys, ours):
    subject = receipt.get("subject")
    is_decision = isinstance(subject, dict) and ("verdict" in subject or
                                                 text(subject, "signature_version").startswith("decision_record."))
    if "subject" not in receipt or not (ours or is_decision):
        return
    message = decision_hash(subject)
    kind = text(subject, "signature_type")
    need(not kind.startswith(("ml-dsa-65:", "Hybrid-Ed25519-MLDSA65:")), "algorithm")
    need(signer(keys, message, hex_bytes(subject.get("signature"), 64)), "the decision's signature")
    need(receipt["output_hash"] == "sha256:" + hashlib.sha256(message).hexdigest(), "output_hash")
    need(receipt["decision_id"] == text(subject, "id"), "decision_id")


def plain_numbers(value):
    if isinstance(value, Number):
        return value != "-0" and integer(value) is not None
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(plain_numbers(item) for item in items)


def mark_of(receipt):
    match = re.fullmatch(r"rcpt_.*\.([0-9a-f]{64})", receipt["receipt_id"], re.S)
    return match.group(1) if match else None


def check_ours(receipt, key):
    mark = mark_of(receipt)
    need(mark is None or mark == hashlib.sha256(project(receipt, ("receipt_id", "signature"))).hexdigest(), "the mark")
    need(all(name in receipt for name in ALWAYS), "a member is missing")
    for name, value in receipt.items():
        need(name in KNOWN and name not in UNSET + OBJECTS, f"{name} is not written")
        need(value is not None, f"{name} is null")
        need(value not in ("", [], {}) and value is not False or name in ALWAYS + SIGNED, f"{name} is empty")
        need(plain_numbers(value), f"a number in {name}")
    time = receipt["timestamp"] if is_text(receipt.get("timestamp")) else ""
    need(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", time) and not time.endswith(".000000Z"), "timestamp")
    need(receipt.get("public_key_set") == {"ed25519": key.hex()} and receipt.get("signature_algorithm") == "ed25519", "key")
    need(receipt.get("key_id") == "ed25519:" + key.hex(), "key_id")
    need(receipt.get("log_id") == hashlib.sha256(key).hexdigest(), "log_id")
    index = int(receipt["lamport_clock"]) - 1
    need("leaf_index" not in receipt if index == 0 else integer(receipt.get("leaf_index")) == index, "leaf_index")


def check_claims(receipt):
    need(is_text(receipt.get("log_id", "")), "log_id")
    need("leaf_index" not in receipt or (integer(receipt["leaf_index"]) or 0) >= 0 and integer(receipt["leaf_index"]) is not None,
         "leaf_index")
    need(isinstance(receipt.get("transparency", {}), dict), "transparency")


def is_ours(receipt):
    return isinstance(receipt, dict) and (text(receipt, "session_id").startswith("ws-")
                                          or (is_text(receipt.get("receipt_id")) and mark_of(receipt) is not None))


def check_receipt(receipt, keys, line=None):
    """The chain hash of a receipt that holds; `line` are its bytes where they must be canonical."""
    need(isinstance(receipt, dict), "no object")
    chain = chain_hash(receipt)
    check_profile(receipt)
    need("signature_version" in receipt and receipt["signature_version"] == "receipt.v5", "version")
    message, signature = preimage(receipt), hex_bytes(receipt.get("signature"), 64)
    key = signer(keys, message, signature)
    if key is None:
        declared = text(receipt.get("public_key_set"), "ed25519")
        if re.fullmatch("[0-9a-fA-F]{64}", declared) and not ed25519_verify(bytes.fromhex(declared), message, signature):
            raise Refused("the signature")
        raise Unknown("no key given fits")
    ours = is_ours(receipt)
    check_subject(receipt, keys, ours)
    if not ours:
        check_claims(receipt)
        return chain
    check_ours(receipt, key)
    need(line is None or line == canonical(receipt).encode() or line == canonical(receipt).encode() + b"\n", "spelling")
    return chain


# ---- documents ----


def check_links(receipts, hashes, by_session):
    last = {}
    for receipt, chain in zip(receipts, hashes):
        session = receipt["session_id"] if by_session else ""
        if session in last:
            before, clock = last[session]
            previous = receipt["prev_hash"]
            need((previous[7:] if previous.startswith("sha256:") else previous) == before, "prev_hash")
            need(int(receipt["lamport_clock"]) > clock, "lamport_clock")
        last[session] = chain, int(receipt["lamport_clock"])


def check_escapes(data):
    for escape in re.findall(rb"\\(u[0-9a-fA-F]{4}|.)", data):
        need(escape != b"/" and escape[1:] == escape[1:].lower(), "escapes")


def verify(data, keys):
    """Raises Refused unless the document is admissible under these keys."""
    first, newline, rest = data.partition(b"\n")
    try:
        row = parse(first)
    except Refused:
        row = None
    if isinstance(row, dict) and "receipt_id" in row and rest:
        lines = data.split(b"\n")
        lines = lines[:-1] if lines[-1] == b"" else lines
        rows = [parse(line) for line in lines]
        check_links(rows, [check_receipt(row, keys, line) for row, line in zip(rows, lines)], True)
        return
    doc = parse(data)
    rows = doc if isinstance(doc, list) else doc.get("receipts") if isinstance(doc, dict) and "receipts" in doc else [doc]
    need(isinstance(rows, list) and rows, "no receipts")
    check_links(rows, [check_receipt(row, keys) for row in rows], False)
    if any(is_ours(row) for row in rows):
        check_escapes(data)


# ---- notes ----


def pieces_of_ledger(state):
    """Number and text of each piece of tool-calls.jsonl; the newest file has the number behind the last name."""
    found, last = {}, 0
    for path in [*state.glob("segments/tool-calls-*"), *state.glob("segments/waiting/tool-calls-*")]:
        number = int(path.name[len("tool-calls-"):][:6])
        last = max(last, number)
        if path.name.endswith(".jsonl.zst") and number not in found:
            found[number] = subprocess.run(["zstd", "-dqc", str(path)], check=True, capture_output=True).stdout
        elif path.name.endswith(".jsonl"):
            found[number] = path.read_bytes()
    newest = state / "tool-calls.jsonl"
    found[last + 1] = newest.read_bytes() if newest.exists() else b""
    return found


def check_notes(data, state):
    pieces = pieces_of_ledger(pathlib.Path(state))
    for line in data.splitlines():
        about = parse(line).get("metadata")
        notes = about.get("notes") if isinstance(about, dict) else None
        if notes is None:
            continue
        match = re.fullmatch(r"(0|[1-9][0-9]*)-(0|[1-9][0-9]*)", text(notes, "range"))
        need(match and set(notes) == {"range", "sha256"}, "notes without a range")
        start, end = int(match.group(1)), int(match.group(2))
        need(start < end, "notes without a range")
        total = b""
        for number in range((start >> 40) + 1, (end >> 40) + 2):
            need(number in pieces or number == (end >> 40) + 1, f"notes in piece {number}, which is not there")
            piece, base = pieces.get(number, b""), (number - 1) << 40
            total += piece[max(start - base, 0):max(end - base, 0)]
        need(hashlib.sha256(total).hexdigest() == text(notes, "sha256"), f"the notes {match.group(0)} are others")


def main(args):
    keys = [bytes.fromhex(value.strip()) for flag, value in zip(args[1::2], args[2::2]) if flag == "--key"]
    try:
        with open(args[0], "rb") as file:
            data = file.read()
        verify(data, keys)
        for state in [value for flag, value in zip(args[1::2], args[2::2]) if flag == "--ledgers"]:
            check_notes(data, state)
    except Refused as refused:
        print(f"refused: {refused}")
        return 1
    print("ADMISSIBLE")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
