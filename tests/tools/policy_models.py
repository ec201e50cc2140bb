"""policy_models.py — the published rules of bounds, layers, bundles, workstations and the default policy, written a second time from their description.

    policy_models.py SEED DIR

writes cases into DIR/derived, in the layout of `helm conform run --cases DIR`, with the answers that these models give.  Nothing here looks at the program:
where both differ, one of them has misread the specification."""
import copy, hashlib, json, os, posixpath, random, re, sys
from datetime import datetime, timedelta, timezone

pick = random.choice


def compact(value):
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for c in "<>&\u2028\u2029":
        text = text.replace(c, "\\u%04x" % ord(c))
    return text


def digest(value):
    return hashlib.sha256(compact(value).encode()).hexdigest()


def maybe(chance, made):
    return made if random.random() < chance else {}


# ---- autonomy envelopes: content hash, order of the gate, windows ----

START = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
CLASSES = ["public", "internal", "confidential", "restricted"]
RADII = ["single_record", "dataset", "system_wide"]
ENVELOPE = {
    "envelope_id": "env-1", "version": "1.0.0", "format_version": "1.0.0", "valid_from": "2026-01-01T00:00:00Z", "valid_until": "2026-12-31T00:00:00Z",
    "jurisdiction_scope": {"allowed_jurisdictions": ["US", "DE"], "regulatory_mode": "strict", "prohibited_jurisdictions": ["KP"]},
    "data_handling": {"max_classification": "confidential", "redaction_policy": "pii_only"},
    "allowed_effects": [{"effect_class": "E0", "allowed": True}, {"effect_class": "E1", "allowed": True, "max_per_run": 3},
                        {"effect_class": "E2", "allowed": True, "allowed_types": ["DATA_WRITE"]}, {"effect_class": "E3", "allowed": True, "requires_approval_above": 1},
                        {"effect_class": "E4", "allowed": False}],
    "budgets": {"cost_ceiling_cents": 1000, "time_ceiling_seconds": 600, "tool_call_cap": 8, "blast_radius": "dataset"},
    "required_evidence": [], "escalation_policy": {"default_mode": "supervised"}, "attestation": {"content_hash": "", "signed_at": "0001-01-01T00:00:00Z"}}
RATES = [{"resource": "mail", "max_per_minute": 2}, {"resource": "did", "max_per_minute": 0, "max_per_day": 2, "per_instance": True}, {"resource": "*", "max_per_minute": 3},
         {"resource": "DATA_WRITE", "max_per_minute": 1, "max_per_day": 2}, {"resource": "sms", "max_per_minute": 1, "max_per_day": 5, "per_instance": True}]
RESOURCES = [{"name": "mail"}, {"name": "did", "instance": "1"}, {"name": "did", "instance": "2"}, {"name": "did"}, {"name": "sms", "instance": "x"}, {"name": "other"}]


def with_set(source, always, if_set):
    made = {k: source[k] for k in always}
    made.update({k: source[k] for k in if_set if source.get(k)})
    return made


def envelope_hash(e):
    budgets = {k: e["budgets"][k] for k in ("cost_ceiling_cents", "time_ceiling_seconds", "tool_call_cap")}
    if e["budgets"].get("rate_limits"):
        budgets["rate_limits"] = [with_set(r, ["resource", "max_per_minute"], ["max_per_day", "per_instance"]) for r in e["budgets"]["rate_limits"]]
    if e["budgets"].get("blast_radius"):
        budgets["blast_radius"] = e["budgets"]["blast_radius"]
    made = {k: e[k] for k in ("envelope_id", "version", "format_version", "valid_from", "valid_until")}
    made["jurisdiction_scope"] = with_set(e["jurisdiction_scope"], ["allowed_jurisdictions", "regulatory_mode"], ["data_residency_regions", "prohibited_jurisdictions"])
    made["data_handling"] = {k: e["data_handling"][k] for k in ("max_classification", "redaction_policy")}
    made["allowed_effects"] = [with_set(x, ["effect_class", "allowed"], ["allowed_types", "max_per_run", "requires_approval_above"]) for x in e["allowed_effects"]]
    made["budgets"] = budgets
    made["required_evidence"] = e["required_evidence"]
    made["escalation_policy"] = e["escalation_policy"]
    return "sha256:" + digest(made)


class Gate:
    def __init__(self, envelope):
        self.e, self.calls, self.cost, self.counts, self.windows = envelope, 0, 0, {}, {}

    def rates(self, q, now):
        wanted = []
        for r in self.e["budgets"].get("rate_limits", []):
            hits = [{"name": "*"}] if r["resource"] == "*" else [x for x in q.get("resources") or [{"name": q["effect_type"]}] if x["name"] == r["resource"]]
            for hit in hits if r.get("per_instance") else hits[:1]:
                instance = hit.get("instance", "") if r.get("per_instance") else ""
                if r.get("per_instance") and not instance:
                    return "RATE_LIMIT_INSTANCE_REQUIRED"
                for kind, start in (("minute", now.replace(second=0)), ("day", now.replace(hour=0, minute=0, second=0))):
                    if r.get("max_per_" + kind, 0) > 0:
                        wanted.append(((r["resource"], instance, kind, start), r["max_per_" + kind]))
        for key, limit in wanted:
            if self.windows.get(key, 0) >= limit:
                return "RATE_LIMIT_%s_EXCEEDED" % key[2].upper()
        for key, _ in wanted:
            self.windows[key] = self.windows.get(key, 0) + 1
        return None

    def refusal(self, at, q):
        e, b, now = self.e, self.e["budgets"], START + timedelta(seconds=at)
        scope = e["jurisdiction_scope"]
        if now > datetime.fromisoformat(e["valid_until"].replace("Z", "+00:00")):
            return "ENVELOPE_EXPIRED"
        if q["jurisdiction"] and (q["jurisdiction"] in scope["prohibited_jurisdictions"] or q["jurisdiction"] not in scope["allowed_jurisdictions"]):
            return "JURISDICTION_DENIED"
        own = next((x for x in e["allowed_effects"] if x["effect_class"] == q["effect_class"] and x["allowed"]), None)
        if not own or (own.get("allowed_types") and q["effect_type"] and q["effect_type"] not in own["allowed_types"]):
            return "EFFECT_CLASS_DENIED"
        n = self.counts.get(q["effect_class"], 0)
        if 0 < own.get("max_per_run", 0) <= n:
            return "EFFECT_COUNT_EXCEEDED"
        if 0 < own.get("requires_approval_above", 0) <= n:
            return "ESCALATION_REQUIRED"
        if q["data_class"] and (q["data_class"] not in CLASSES or CLASSES.index(q["data_class"]) > CLASSES.index(e["data_handling"]["max_classification"])):
            return "DATA_CLASSIFICATION_EXCEEDED"
        if q["estimated_cost"] > 0 and self.cost + q["estimated_cost"] > b["cost_ceiling_cents"]:
            return "COST_CEILING_EXCEEDED"
        if self.calls + 1 > b["tool_call_cap"]:
            return "TOOL_CALL_CAP_EXCEEDED"
        if at > b["time_ceiling_seconds"]:
            return "TIME_CEILING_EXCEEDED"
        if q["blast_radius"] and b.get("blast_radius") and (q["blast_radius"] not in RADII or RADII.index(q["blast_radius"]) > RADII.index(b["blast_radius"])):
            return "BLAST_RADIUS_EXCEEDED"
        return self.rates(q, now)

    def step(self, at, q):
        code = self.refusal(at, q)
        made = {"at_seconds": at, "request": q, "expected_allowed": code is None}
        if code:
            made["expected_violation"] = code
        else:
            self.calls, self.cost = self.calls + 1, self.cost + q["estimated_cost"]
            self.counts[q["effect_class"]] = self.counts.get(q["effect_class"], 0) + 1
        if code == "ESCALATION_REQUIRED":
            made["expected_escalation"] = "require_approval"
        return made


def some_envelope():
    e = copy.deepcopy(ENVELOPE)
    e["budgets"].update(cost_ceiling_cents=pick([1, 100, 5000]), time_ceiling_seconds=pick([10, 600, 200000]), tool_call_cap=pick([1, 4, 50]), blast_radius=pick([""] + RADII),
                        rate_limits=random.sample(RATES, random.randint(0, 3)))
    e["budgets"] = {k: v for k, v in e["budgets"].items() if v}
    for x in e["allowed_effects"]:
        if random.random() < .3:
            x["max_per_run"] = random.randint(1, 3)
        if random.random() < .2:
            x["requires_approval_above"] = random.randint(1, 3)
        x["allowed"] ^= random.random() < .2
    e["data_handling"]["max_classification"] = pick(CLASSES)
    e["valid_until"] = pick(["2026-12-31T00:00:00Z", "2026-06-01T12:05:00Z", "2026-06-01T12:00:30Z"])
    e["attestation"]["content_hash"] = envelope_hash(e)
    return e


def some_request(i):
    q = {"effect_class": pick(["E0"] * 8 + ["E1"] * 4 + ["E2", "E3", "E3", "E4"] + ["E9"] * (i % 5 == 0)), "effect_type": pick(["", "DATA_WRITE", "NOTIFY", "mail"]),
         "jurisdiction": pick([""] * 9 + ["US", "DE"] + ["KP", "FR"] * (i % 6 == 0)), "data_class": pick([""] * 9 + ["public", "internal"] + ["confidential", "restricted", "odd"] * (i % 4 == 0)),
         "estimated_cost": pick([0, 0, 1, 99, 500]), "blast_radius": pick([""] * 9 + ["single_record"] + ["dataset", "system_wide", "tenant"] * (i % 4 == 2))}
    if random.random() < .4:
        q["resources"] = random.sample(RESOURCES, random.randint(1, 3))
    return q


def envelopes(n):
    sequences = []
    for i in range(n):
        e, at, steps = some_envelope(), 0, []
        gate = Gate(e)
        for _ in range(random.randint(3, 14)):
            at += pick([0] * 5 + [1, 7, 29, 60, 60] + [40000] * (i % 7 == 1))
            steps.append(gate.step(at, some_request(i)))
        sequences.append({"id": "sequence-%d" % i, "envelope": e, "steps": steps,
                          "final_counters": {"envelope_id": "env-1", "envelope_version": "1.0.0", "tool_call_count": gate.calls, "cost_accumulated": gate.cost,
                                             "effect_counts": gate.counts, "elapsed_seconds": at}})
    return {"clock_start": "2026-06-01T12:00:00Z", "envelope": ENVELOPE, "gate_sequences": sequences, "validation": []}


# ---- layers ----

ACTIONS = ["*", "funds.*", "funds.send", "fund*", "read.file", "read.*", "pay", "pay.*", "funds.send.now", "fun<d>&", "f", "f*"]


def overlap(a, b):
    return "*" in (a, b) or a == b or (a.endswith("*") and b.startswith(a[:-1])) or (b.endswith("*") and a.startswith(b[:-1]))


def layer_form(layer):
    return {"name": layer["name"], "priority": layer["priority"], "rules": [{k: r[k] for k in ("id", "action", "verdict", "reason")} for r in layer["rules"]]}


def stacks(n):
    cases = []
    for i in range(n):
        priorities = random.sample(range(9), random.randint(1, 4))
        layers = [{"name": pick(["P", "L<", "é"]) + str(k), "priority": p,
                   "rules": [{"id": "r%d" % x, "action": pick(ACTIONS), "verdict": pick(["ALLOW", "DENY", "DENY", "ESCALATE", "ALLOW"]), "reason": pick(["", "a & b", "why"])}
                             for x in range(random.randint(1, 3))]} for k, p in enumerate(priorities)]
        order = sorted(layers, key=lambda layer: layer["priority"])
        conflicts = [{"layer_a": high["name"], "layer_b": low["name"], "rule_a": a["id"], "rule_b": b["id"], "action": a["action"],
                      "detail": 'lower-priority layer "%s" attempts to ALLOW action "%s" that higher-priority layer "%s" DENYs' % (low["name"], b["action"], high["name"])}
                     for k, high in enumerate(order) for low in order[k + 1:] for a in high["rules"] for b in low["rules"]
                     if a["verdict"] == "DENY" and b["verdict"] == "ALLOW" and overlap(a["action"], b["action"])]
        rows = [{"name": layer["name"], "rule_count": len(layer["rules"]), "hash": digest(layer_form(layer))} for layer in order]
        answer = {"verdict": "CONFLICT" if conflicts else "CONSISTENT", "layers": rows}
        answer["hash"] = digest({"verdict": answer["verdict"], "conflicts": conflicts or None, "layers": rows})
        if conflicts:
            answer["conflicts"] = conflicts
        cases.append({"id": "stack-%d" % i, "layers": layers, "expected_validate": answer,
                      "expected_compiled_hash": digest([dict(layer_form(layer), hash=digest(layer_form(layer))) for layer in layers])})
    return {"cases": cases}


# ---- bundles ----

def bundles(n):
    cases = []
    word = lambda text: json.dumps(text, ensure_ascii=False)
    for i in range(n):
        rules = [{"id": "r%d" % k, "action": pick(ACTIONS), "verdict": pick(["BLOCK", "ALLOW", "ESCALATE", "block", "Allow"])} for k in random.sample(range(99), random.randint(1, 4))]
        for r in rules:
            if random.random() < .5:
                r["expression"] = pick(["a < 1 && b > 2", "true", 'x == "é"', "(((", "u\u2028v"])
            if random.random() < .5:
                r["reason"] = pick(["w & x", "", "tab\there", '"q" \\ z', "\U0001f600"])
        name, version = pick(["n", "a<b", "é"]), pick(["1", "1.2.0", ""])
        flow = "".join("  - {%s}\n" % ", ".join("%s: %s" % (k, word(v)) for k, v in r.items()) for r in rules)
        block = "".join("  - %s  # remark\n" % "\n    ".join("%s: %s" % (k, word(v)) for k, v in r.items()) for r in rules)
        head = "metadata:\n  version: %s\n  name: %s\n" % (word(version), word(name))
        cases.append({"id": "bundle-%d" % i, "yaml": head + "rules:\n" + flow if i % 2 else "# a bundle\nrules:\n" + block + head,
                      "expected": {"valid": True, "rule_count": len(rules), "actions": sorted({r["action"] for r in rules}, key=str.encode),
                                   "hash": digest({"name": name, "version": version, "rules": [{k: r.get(k, "") for k in ("id", "action", "expression", "verdict", "reason")} for r in rules]})}})
    for i, (yaml, code) in enumerate([("metadata: {name: h}\nrules:\n  - {id: a, action: x, verdict: DENY}\n", "RULE_INVALID"), ("metadata: {name: h}\nrules:\n  - {action: x, verdict: ALLOW}\n", "RULE_INVALID"),
                                      ("metadata: {name: h}\nrules:\n  - {id: a, action: x}\n", "RULE_INVALID"), ('metadata: {name: ""}\nrules: []\n', "BUNDLE_INVALID"), ("rules: []\n", "BUNDLE_INVALID")]):
        cases.append({"id": "bad-%d" % i, "yaml": yaml, "expected": {"valid": False, "error": code}})
    return {"cases": cases, "compose": []}


# ---- workstation profiles ----

EVENTS = {"file_write": "FILE_WRITE draft", "draft_edit": "FILE_WRITE draft", "prompt_injection": "TAINTED_CONTEXT observe", "tainted_context": "TAINTED_CONTEXT observe"}
EVENTS.update({k: "%s operate" % k.upper() for k in "network_egress mcp_tool_call memory_write recurring_loop deploy_publish secret_read payment_initiate".split()})
PERMISSIONS = {"NETWORK_EGRESS": "network.egress", "FILE_WRITE": "file.write", "FILE_DRAFT": "file.write", "MCP_TOOL_CALL": "mcp.mutate", "MEMORY_WRITE": "memory.write", "RECURRING_LOOP": "loop.register",
               "DEPLOY_PUBLISH": "deploy.publish", "SECRET_READ": "secret.read", "PAYMENT_INITIATE": "payment.initiate"}


def profile(roots, permissions, hosts, classes, default_ttl, max_ttl):
    return {"id": "workstation.observe_draft.v1", "mode": "enforceable", "observe": {"allowed_actions": ["git.status"]}, "draft": {"workspace_roots": roots, "allow_generated_artifacts": True},
            "operate": {"permissions": permissions}, "egress": {"allowlist": [{"host": h, "protocol": "https"} for h in hosts]}, "memory": {"default_ttl_days": default_ttl, "max_ttl_days": max_ttl, "allowed_classes": classes},
            "recurring_loops": {k: True for k in ("require_schedule", "require_max_runtime", "require_tool_scope", "require_expiration")}}


PROFILES = {"closed": profile(["."], [], [], ["M1_EPISODIC"], 30, 30), "some": profile(["docs", "examples"], ["network.egress"], ["api.github.com"], ["M1_EPISODIC"], 7, 14),
            "absolute": profile(["/workspace"], ["memory.write", "Network.Egress", "loop.register", "file.write"], ["api.example.com"], ["episodic", "semantic"], 7, 30),
            "much": profile(["."], sorted(set(PERMISSIONS.values()) - {"file.write"}) + ["shell.operate"], ["api.github.com", "example.com"], ["M1_EPISODIC", "M3_SEMANTIC"], 30, 30)}


class Event:
    def __init__(self, event, profile):
        kind, mode = EVENTS.get(event["type"], "SHELL_COMMAND observe").split()
        self.e, self.p = event, profile
        self.type = event.get("effect_type", "WORKSTATION_" + kind)
        self.kind, self.mode = self.type.replace("WORKSTATION_", ""), event.get("effect_mode", mode)
        self.operates = "operate" in (self.mode, mode) or any(v == self.kind + " operate" for v in EVENTS.values())

    def permission(self):
        have = [x.lower() for x in self.p["operate"]["permissions"]]
        need = PERMISSIONS.get(self.kind, self.type)
        if self.kind == "SHELL_COMMAND" and (self.e["type"] == "shell_operate" or "operate" in self.e["action"].lower()):
            need = "shell.operate"
        return "OPERATE_PERMISSIONS_EMPTY" if not have else None if need.lower() in have or self.type.lower() in have else "OPERATE_PERMISSION_NOT_GRANTED"

    def file(self):
        path = posixpath.normpath(self.e["target"] or ".")
        is_inside = path == "." or any((path.startswith("/") == root.startswith("/") and below(path, root)) or (root == "." and path[0] != "/") for root in self.p["draft"]["workspace_roots"])
        return None if is_inside and not below(path, "..") else "DRAFT_TARGET_OUTSIDE_WORKSPACE_SCOPE"

    def network(self):
        scheme, _, rest = self.e["target"].rpartition("://")
        host = rest.split("/")[0].split(":")[0].lower()
        if not self.p["egress"]["allowlist"]:
            return "EGRESS_ALLOWLIST_EMPTY"
        if not any(host == x["host"] and (scheme or "https").lower() == x["protocol"] for x in self.p["egress"]["allowlist"]):
            return "EGRESS_DESTINATION_NOT_ALLOWED"
        return self.permission()

    def memory(self):
        asked = self.e["memory_effect"]
        if asked["memory_class"].lower() not in [x.lower() for x in self.p["memory"]["allowed_classes"]]:
            return "MEMORY_CLASS_DISALLOWED"
        return "MEMORY_TTL_EXCEEDS_POLICY" if (asked["ttl_days"] or self.p["memory"]["default_ttl_days"]) > self.p["memory"]["max_ttl_days"] else None

    def loop(self):
        return next(("RECURRING_LOOP_MISSING_" + code for member, code in (("schedule", "SCHEDULE"), ("max_runtime", "MAX_RUNTIME"), ("tool_scope", "TOOL_SCOPE"), ("expires_at", "EXPIRATION"))
                     if not self.e["recurring_loop_effect"].get(member)), None)

    def refusal(self):
        if self.operates and {x.lower() for x in self.e.get("taint_labels", [])} & {"prompt_injection", "tainted_context", "untrusted_tool_output"}:
            return "TAINTED_CONTEXT_REQUIRES_DENY"
        if self.kind in ("FILE_WRITE", "FILE_DRAFT"):
            return (self.permission() if self.mode == "operate" else None) or self.file()
        if self.kind == "NETWORK_EGRESS":
            return self.network()
        if self.kind in ("MEMORY_WRITE", "RECURRING_LOOP"):
            return self.permission() or (self.memory() if self.kind == "MEMORY_WRITE" else self.loop())
        return self.permission() if self.operates else None


def workstation(n):
    cases = []
    targets = ["docs/a", "./docs/../docs/b", "../x", "/workspace/a", "/workspace", "/workspace2/a", "/workspace/../etc", "src/x", "", ".", "docs", "docsx/a", "https://api.github.com/x", "http://api.github.com/",
               "api.github.com", "https://api.github.com:8443/x", "https://example.com/", "https://API.example.com", "ftp://api.github.com", "https://evil.example/api.github.com"]
    for i in range(n):
        loop = {"schedule": "D", "max_runtime": "1m", "tool_scope": ["a"], "expires_at": "2026-07-01T00:00:00Z"}
        event = {"event_id": "event-%d" % i, "type": pick(list(EVENTS) * 2 + ["shell_command", "shell_operate", "validation_run"]), "tool_id": "t", "action": pick(["run", "operate", "Operate-it", "git.status"]), "target": pick(targets),
                 **maybe(.25, {"effect_mode": pick(["observe", "draft", "operate"])}), **maybe(.2, {"effect_type": "WORKSTATION_" + pick(list(PERMISSIONS) + ["SHELL_COMMAND", "VALIDATION_RUN"])}),
                 **maybe(.2, {"taint_labels": pick([["prompt_injection"], ["pii"], ["untrusted_tool_output", "x"], ["Tainted_Context"]])}),
                 "memory_effect": {"memory_class": pick(["M1_EPISODIC", "m3_semantic", "episodic", "X", ""]), "ttl_days": pick([0, 7, 14, 15, 30, 31])},
                 "recurring_loop_effect": {k: v for k, v in loop.items() if random.random() > .15}}
        said = {name: Event(event, p).refusal() for name, p in PROFILES.items()}
        cases.append({"event": event, "expected": {name: {"verdict": "DENY" if code else "ALLOW", "reason_code": code or ""} for name, code in said.items()}})
    return {"profiles": PROFILES, "cases": cases}


# ---- the default policy ----

PACKS = {"EU": "eu-gdpr", "US": "us-state-ccpa", "JP": "jp-appi", "CN": "cn-pipl", "BR": "br-lgpd", "KR": "kr-pipa", "IN": "in-dpdpa", "SG": "sg-pdpa", "UK": "uk-dpa", "AU": "au-privacy"}
PERSONAL = {"personal", "sensitive", "special_category", "pii"}
# pack: regions that personal data may go to, and what excuses another one
EXPORTS = {"eu-gdpr": ("EU UK JP KR CH", None), "cn-pipl": ("CN", None), "jp-appi": ("JP EU UK", "params.consent"), "sg-pdpa": ("SG", "context.transfer_agreement"),
           "br-lgpd": ("BR EU", "context.standard_clauses"), "in-dpdpa": ("IN", "context.consent_notice"), "kr-pipa": ("KR EU UK", "params.consent"), "uk-dpa": ("UK EU", None),
           "au-privacy": ("AU", "context.enforceable_protections")}
REGIONS = {"eu-west-2": "UK", "ap-southeast-1": "SG", "ap-southeast-2": "AU", "ap-northeast-1": "JP", "ap-northeast-2": "KR", "ap-south-1": "IN", "sa-east-1": "BR"}
PREFIXES = {"eu-": "EU", "us-": "US", "cn-": "CN", "ca-": "CA", "me-": "AE"}
SYSTEM = "/etc /bin /sbin /usr /boot /dev /proc /sys /lib /var/lib /root".split()


def empty(v):
    return v is None or v is False or v in ("", [], {})


def region(place):
    place = place.lower()
    return REGIONS.get(place) or PREFIXES.get(place[:3], "UNKNOWN")


def clean(path):
    return re.sub("^//", "/", posixpath.normpath(path))


def below(path, root):
    return path == root or path.startswith(root + "/")


def active_packs(context):
    codes = ([context["jurisdiction"]] if "jurisdiction" in context else []) + context.get("jurisdictions", [])
    return [PACKS[c] for c in dict.fromkeys(codes)] + [context[k] for k in ("industry", "business_preset") if k in context]


def pack_says(pack, kind, p, c):
    """(verdict, code) of the rules of one pack, or None."""
    violation = ("DENY", "JURISDICTION_VIOLATION")
    is_personal = p.get("data_class") in PERSONAL
    if kind == "data_export" and pack in EXPORTS and is_personal and "destination" in p:
        regions, excuse = EXPORTS[pack]
        excused = excuse and not empty((p if excuse.startswith("params") else c).get(excuse.split(".")[1]))
        if region(p["destination"]) not in regions.split() and not excused:
            return violation
    if kind == "data_process" and is_personal and empty(p.get({"eu-gdpr": "lawful_basis", "uk-dpa": "lawful_basis", "br-lgpd": "legal_basis"}.get(pack, "data_class"))):
        return violation
    if kind == "data_process" and pack == "in-dpdpa" and p.get("subject_age", 99) < 18 and empty(p.get("guardian_consent")):
        return violation
    if kind == "data_collect" and pack == "kr-pipa" and {"ssn", "biometric", "medical", "genetic", "religion"} & set(p["fields"]) and p["purpose"] in ("marketing", "advertising", "profiling"):
        return violation
    if kind == "data_retain" and pack == "au-privacy" and p["retention_days"] > p["max_allowed_days"]:
        return violation
    if kind == "data_export" and pack == "healthcare" and p.get("data_class") in ("phi", "health_data") and empty(p.get("authorization")):
        return ("DENY", "POLICY_VIOLATION")
    if kind == "trade_execute" and pack == "finance" and c.get("market_hours") is False:
        return ("DENY", "POLICY_VIOLATION")
    if kind == "document_share" and pack == "legal" and p["classification"] in ("attorney-client", "work-product"):
        return ("ESCALATE", "TEMPORAL_INTERVENTION")
    return None


def base_says(kind, p, c):
    """What the rules outside of packs say, in their order."""
    if kind == "file_write" and any(below(clean(p["path"]), root) for root in SYSTEM):
        yield ("DENY", "POLICY_VIOLATION")
    if kind == "file_read":
        names = clean(p["path"]).split("/")
        if clean(p["path"]) == "/etc/shadow" or {".ssh", ".aws", ".gnupg"} & set(names) or re.fullmatch(r"\.env(\..*)?|id_(rsa|ed25519|ecdsa)", names[-1]):
            yield ("DENY", "POLICY_VIOLATION")
    if (kind == "financial_transfer" and p["amount_cents"] >= 100000) or kind == "database_delete":
        yield ("ESCALATE", "TEMPORAL_INTERVENTION")
    if kind == "harness_mutation" and empty(c.get("approval_ref")):
        yield ("DENY", "APPROVAL_REQUIRED")
    if kind == "generated_spec_execute":
        if p["effect_class"] in ("E3", "E4") and empty(p.get("verification_scope")):
            yield ("ESCALATE", "MISSING_REQUIREMENT")
        if not empty(p.get("stale_dependency_refs")) or any(set(p.get("write_set", [])) & set(spec["write_set"]) for spec in c.get("open_generated_specs", [])):
            yield ("ESCALATE", "CONTEXT_MISMATCH")


def sandbox_says(p, c):
    if p["sandbox"] != "wasi" or p.get("attempt") == "socket_connect":
        return "SANDBOX_VIOLATION"
    if p.get("attempt") == "fuel_exhaustion":
        return "BUDGET_EXCEEDED"
    if p.get("attempt") in ("read", "write") and not any(below(clean(p["path"]), d) for d in p["filesystem_preopens"]):
        return "SANDBOX_VIOLATION"
    if "code_hash" in p:
        return None if c.get("generated_code_grant") else "SANDBOX_VIOLATION"
    words = p["command"].split()
    is_bad = p.get("gas_limit", 10000) < 10000 or re.search(r"while true|until false|for\(\(;;\)\)", p["command"]) or words[0] not in "echo cat true printf sha256sum wc sort sleep".split()
    return "SANDBOX_VIOLATION" if is_bad or (words[0] == "sleep" and int(words[1]) * 1000 > p.get("timeout_ms", 1 << 40)) else None


def judge(v):
    effect, c = v["input"]["effect"], v["input"]["context"]
    kind, p = effect["effect_type"], effect["params"]
    if not v["input"]["principal"]:
        return "DENY", "ENVELOPE_INVALID"
    if any(kind == k and m in p and not isinstance(p[m], str) for k, m in (("api_call", "url"), ("file_read", "path"), ("file_write", "path"))):
        return "DENY", "SCHEMA_VIOLATION"
    if "tenant_id" in p and "caller_tenant_id" in c and p["tenant_id"] != c["caller_tenant_id"]:
        return "DENY", "TENANT_ISOLATION"
    if "claimed_parent_hash" in c:
        return "DENY", "PROVENANCE_FAILURE"
    if kind in ("launch", "Exec"):
        return "DENY", "NO_POLICY_DEFINED"
    if v.get("pdp_behavior"):
        return "DENY", "PDP_ERROR"
    if kind == "data_export" and p.get("destination") == "external" and "data_class" not in p:
        return "DENY", "PDP_DENY"
    if (kind == "deploy" and empty(c.get("review_approved"))) or (kind == "mcp_tool_call" and not (c["server_approved"] and c["tool_discovered"])):
        return "DENY", "MISSING_REQUIREMENT"
    said = list(base_says(kind, p, c)) + [x for x in (pack_says(pack, kind, p, c) for pack in active_packs(c)) if x]
    for x in said:
        if x[0] == "DENY":
            return x
    if kind == "exec" and sandbox_says(p, c):
        return "DENY", sandbox_says(p, c)
    if "budget_id" in effect and (v.get("budget_behavior") or "budget_remaining_cents" not in c):
        return "DENY", "BUDGET_ERROR"
    if "budget_id" in effect and p.get("estimated_cost_cents", 1) > c["budget_remaining_cents"]:
        return "DENY", "BUDGET_EXCEEDED"
    if said:
        return said[0]
    if c.get("calls_in_window", 0) >= c.get("max_calls_per_window", 1):
        return "ESCALATE", "TEMPORAL_THROTTLE"
    return "ALLOW", None


def some_params(kind):
    places = ["eu-west-1", "eu-west-2", "EU-WEST-1", "us-east-1", "ca-central-1", "me-south-1", "cn-north-1", "external", "mars"] + list(REGIONS)
    word = pick([True, False, "yes", "", None])
    return {
        "file_write": lambda: {"path": pick(["/etc/passwd", "/etcetera/x", "/tmp/../etc/x", "/usrlocal", "/var/lib/x", "/var/library/x", "/tmp/a", "/root", "/home/root/x", "//etc/x", "/libx", "data/x", "/boot/", 7])},
        "file_read": lambda: {"path": pick(["/data/a.csv", "/home/u/.ssh/config", "/home/u/.sshx", "/etc/shadow", "/etc/shadow.bak", "/etc/../etc/shadow", "/a/.env", "/a/.env.local", "/a/.environment", "/a/id_rsa", "/a/id_rsa.txt", ".env", "/a/xid_rsa"])},
        "api_call": lambda: maybe(.5, {"url": pick(["https://x", "", 5])}),
        "exec": lambda: {"sandbox": pick(["wasi"] * 4 + ["docker", ""]), "command": pick(["echo hi", "rm -rf /", "while true; do :; done", "until false; do :; done", "sleep 4", "sleep 6", "true", "ls", "sort a", "for((;;)); do :; done"]),
                         **maybe(.5, {"gas_limit": pick([1, 9999, 10000, 10**6])}), **maybe(.5, {"timeout_ms": 5000}),
                         **pick([{}, {}, {"attempt": "fuel_exhaustion"}, {"attempt": "socket_connect"}, {"code_hash": "sha256:x"},
                                 {"attempt": pick(["read", "write"]), "path": pick(["/in/a", "/in/../x", "/inx/a", "/in"]), "filesystem_preopens": pick([["/in"], []]), "code_hash": "sha256:x"}])},
        "data_export": lambda: {**maybe(.7, {"data_class": pick(sorted(PERSONAL) + ["general", "phi", "health_data", "Personal"])}), **maybe(.7, {"destination": pick(places)}), **maybe(.3, {"consent": word}), **maybe(.3, {"authorization": word})},
        "data_process": lambda: {"data_class": pick(sorted(PERSONAL) + ["general"]), **maybe(.5, {"lawful_basis": pick(["contract", "", None])}), **maybe(.5, {"legal_basis": pick(["contract", ""])}),
                                 **maybe(.5, {"subject_age": pick([5, 17, 18])}), **maybe(.5, {"guardian_consent": pick([True, False])})},
        "data_collect": lambda: {"fields": random.sample(["ssn", "name", "medical", "email", "religion"], 2), "purpose": pick(["marketing", "profiling", "support"])},
        "data_retain": lambda: {"retention_days": pick([100, 365, 366]), "max_allowed_days": 365},
        "document_share": lambda: {"classification": pick(["attorney-client", "work-product", "public"])},
        "financial_transfer": lambda: {"amount_cents": pick([1, 99999, 100000])},
        "generated_spec_execute": lambda: {"effect_class": pick(["E2", "E3", "E4"]), **maybe(.5, {"verification_scope": pick(["s", "", None])}), **maybe(.3, {"stale_dependency_refs": pick([[], ["x"]])}), **maybe(.5, {"write_set": pick([["a", "b"], ["c"]])})},
        "mcp_tool_call": lambda: {"server_id": "s", "tool": "t"},
        "data_read": lambda: maybe(.5, {"tenant_id": pick(["t1", "t2"])}),
    }.get(kind, dict)()


def decisions(n):
    kinds = "noop file_read file_write api_call exec exec data_read data_export data_export data_process data_collect data_retain trade_execute document_share financial_transfer database_delete deploy generated_spec_execute harness_mutation mcp_tool_call launch Exec".split()
    vectors = []
    for i in range(n):
        kind = pick(kinds)
        c = pick([{}, {"jurisdiction": pick(list(PACKS))}, {"jurisdictions": random.sample(list(PACKS), pick([1, 2, 3]))}])
        c = {**c, **maybe(.3, {"industry": pick(["healthcare", "finance", "legal", "education"])}), **maybe(.2, {"business_preset": "enterprise"}), **maybe(.4, {"market_hours": pick([True, False])}),
             **maybe(.05, {"claimed_parent_hash": "sha256:" + "0" * 64}), **maybe(.2, {"caller_tenant_id": "t1"}), **maybe(.5, {"review_approved": pick([True, False, "r"])}), **maybe(.5, {"approval_ref": pick(["a", ""])}),
             **maybe(.5, {"generated_code_grant": pick([True, False])}), **maybe(.15, {"max_calls_per_window": 5, "calls_in_window": pick([4, 5, 6]), "window_seconds": 60})}
        for name in ("transfer_agreement", "standard_clauses", "consent_notice", "enforceable_protections"):
            c.update(maybe(.25, {name: pick([True, False, "x"])}))
        if kind == "mcp_tool_call":
            c.update(server_approved=pick([True, True, False]), tool_discovered=pick([True, True, False]))
        if kind == "generated_spec_execute":
            c.update(maybe(.5, {"open_generated_specs": [{"id": "s", "write_set": ["b"]}]}))
        effect = {"effect_type": kind, "effect_id": "e%d" % i, "params": some_params(kind)}
        v = {"id": "decision-%d" % i, "input": {"effect": effect, "principal": "" if random.random() < .03 else "agent:m", "context": c}}
        if random.random() < .15:
            effect["budget_id"] = "b"
            c.update(maybe(.8, {"budget_remaining_cents": pick([0, 1, 99, 100])}))
            effect["params"].update(maybe(.5, {"estimated_cost_cents": pick([0, 1, 100, 101])}))
            v.update(maybe(.15, {"budget_behavior": "error"}))
        # The default policy asks about servers with its rules, behind decision points: both refuse, and only the code differs.
        if kind != "mcp_tool_call":
            v.update(maybe(.05, {"pdp_behavior": pick(["unreachable", "timeout", "malformed_response"])}))
        verdict, code = judge(v)
        v["expected"] = {"verdict": verdict, "reason_code": code}
        if verdict == "ALLOW":
            v["expected"]["active_packs"] = active_packs(c)
        vectors.append(v)
    return {"vectors": vectors}


if __name__ == "__main__":
    random.seed(int(sys.argv[1]))
    os.makedirs(sys.argv[2] + "/derived", exist_ok=True)
    for name, made in (("autonomy-envelope", envelopes(100)), ("cpi-stack", stacks(80)), ("policy-bundle", bundles(60)), ("workstation-evaluate", workstation(100)), ("decision-mutations", decisions(400))):
        with open("%s/derived/%s.json" % (sys.argv[2], name if name.endswith("s") else name + "-cases"), "w") as f:
            json.dump(made, f)
