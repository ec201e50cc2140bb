"""dsl_model.py — rules over nodes, edges and flows, judged a second time from the description of their language.

    dsl_model.py SEED DIR

makes policies, requests and facts at random and writes them into DIR/derived, in the layout of `helm conform run --suite dsl --cases DIR`, with the answers of this model.
It prints trees and never parses: what it checks is the order of rules, scopes, types, unknown facts, rewrites and the trace.  Nothing here looks at the program."""
import copy, json, os, random, sys

pick = random.choice
MODULES = "jurisdiction licenses treasury authority data tools risk contracts simulation merge".split()
TARGETS = {"node": "node", "agent": "node", "edge": "edge", "capital_flow": "flow", "data_flow": "flow"}
TAGS = ["pii", "prod", "crypto"]
FACTS = ["kyc", "score", "frozen", "limit"]


class RuleError(Exception):
    pass


def money(currency, amount):
    return {"money": [currency, amount]}


def kind_of(v):
    if isinstance(v, bool):
        return "bool"
    if isinstance(v, int):
        return "int"
    if isinstance(v, str):
        return "string"
    if isinstance(v, list):
        return "list"
    if isinstance(v, dict) and "money" in v:
        return "money"
    if isinstance(v, dict) and "duration_ms" in v:
        return "duration"
    raise RuleError("no value of the language")


def compare(op, x, y):
    kx, ky = kind_of(x), kind_of(y)
    if op == "contains":
        if kx not in ("string", "list") or ky != "string":
            raise RuleError(op)
        return y in x
    if kx != ky or kx == "list" or (kx == "money" and x["money"][0] != y["money"][0]):
        raise RuleError("other types")
    if op in ("==", "!="):
        return (x == y) == (op == "==")
    if kx not in ("int", "money", "duration"):
        raise RuleError("no order")
    a, b = {"int": lambda v: v, "money": lambda v: v["money"][1], "duration": lambda v: v["duration_ms"]}[kx](x), {"int": lambda v: v, "money": lambda v: v["money"][1], "duration": lambda v: v["duration_ms"]}[kx](y)
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


# ---- trees: ("and", a, b), ("or", a, b), ("not", a), ("known", k), ("fact", k), ("tag", t), ("primitive", p), ("type", op, text), ("compare", op, value, value) ----
# values: ("literal", v), ("ref", [names]), ("fact", k)

def text_of(v):
    if kind_of(v) == "money":
        return 'money("%s", %d)' % tuple(v["money"])
    if kind_of(v) == "duration":
        return "duration_ms(%d)" % v["duration_ms"]
    return json.dumps(v)


def value_text(v, subject):
    if v[0] == "literal":
        return text_of(v[1])
    if v[0] == "fact":
        return 'fact("%s")' % v[1]
    return ".".join(v[1]).replace("@", subject)


def source(e, subject, inside=None):
    k = e[0]
    if k in ("and", "or"):
        # A chain to the left needs no parentheses; to the right it does, or it would be another tree.
        made = source(e[1], subject, k) + " " + k + " " + source(e[2], subject, k + "-right")
        return "(" + made + ")" if inside in ("not", k + "-right") or (k == "or" and inside) or (inside or "").startswith("and" if k == "or" else "?") else made
    if k == "not":
        made = "not " + source(e[1], subject, "not")
        return "(" + made + ")" if inside == "not" else made
    if k == "known":
        return 'known(fact("%s"))' % e[1]
    if k == "fact":
        return 'fact("%s")' % e[1]
    if k in ("tag", "primitive"):
        return 'has_%s(delta.%s, "%s")' % (k, subject, e[1])
    if k == "type":
        return '%s_type(delta.%s) %s "%s"' % ("edge" if subject == "edge" else "node", subject, e[1], e[2])
    return "%s %s %s" % (value_text(e[2], subject), e[1], value_text(e[3], subject))


def some_value():
    return pick(["a", "EU", 3, 600, True, False, money("EUR", 500), money("USD", 500), {"duration_ms": 1000}])


def some_compare():
    literal = some_value()
    left = pick([("ref", ["delta", pick(["amount", "name", "regions", "flag", "missing"])]), ("ref", ["snapshot", "sla", pick(["limit", "none"])]), ("ref", ["delta", "@", pick(["risk", "kind", "nothing"])]),
                 ("fact", pick(FACTS))])
    if isinstance(literal, str):
        return ("compare", pick(["==", "!=", "contains"]), left, ("literal", literal))
    if isinstance(literal, bool):
        return ("compare", pick(["==", "!="]), left, ("literal", literal))
    op = pick(["==", "!=", "<", "<=", ">", ">="])
    return ("compare", op, ("literal", literal), left) if random.random() < .3 else ("compare", op, left, ("literal", literal))


def some_expression(depth, target):
    n = random.random()
    if depth and n < .3:
        return ("and", some_expression(depth - 1, target), some_expression(depth - 1, target))
    if depth and n < .55:
        return ("or", some_expression(depth - 1, target), some_expression(depth - 1, target))
    if depth and n < .7:
        return ("not", some_expression(depth - 1, target))
    if target in ("node", "agent", "edge") and n < .74:
        return ("type", pick(["==", "!="]), pick(["TOOL", "ENTITY"]))
    return pick([lambda: ("known", pick(FACTS)), lambda: ("known", pick(FACTS)), lambda: ("fact", pick(FACTS)), lambda: ("tag", pick(TAGS)), lambda: ("tag", pick(TAGS)), lambda: ("primitive", "shield"), some_compare, some_compare])()


def facts_used(e):
    if e[0] == "fact":
        return {e[1]}
    return {v[1] for v in e[2:4] if v[0] == "fact"} if e[0] == "compare" else set()


def known(e, k):
    """(keys known if it is true, if it is false); raises KeyError where a fact is used that may be unknown."""
    if e[0] == "known":
        return {e[1]}, set()
    if e[0] == "not":
        t, f = known(e[1], k)
        return f, t
    if e[0] in ("and", "or"):
        t1, f1 = known(e[1], k)
        t2, f2 = known(e[2], k | (t1 if e[0] == "and" else f1))
        return (t1 | t2, f1 & f2) if e[0] == "and" else (t1 & t2, f1 | f2)
    if facts_used(e) - k:
        raise KeyError(e)
    return set(), set()


class Judge:
    def __init__(self, rules, asked):
        self.rules, self.asked = sorted(rules, key=lambda r: (MODULES.index(r["module"]), r["priority"], r["id"].encode())), asked

    def ref(self, names, target, value):
        at = value if names[1] == "@" else {"delta": self.asked["delta"], "snapshot": self.asked["snapshot"]}[names[0]].get(names[1])
        for name in names[2:]:
            if not isinstance(at, dict) or "money" in at or "duration_ms" in at:
                raise RuleError("missing")
            at = at.get(name)
        if at is None:
            raise RuleError("missing")
        return at

    def value(self, v, target, subject):
        return v[1] if v[0] == "literal" else self.asked["facts"][v[1]] if v[0] == "fact" else self.ref(v[1], target, subject)

    def holds(self, e, target, s):
        k = e[0]
        if k == "and":
            return self.holds(e[1], target, s) and self.holds(e[2], target, s)
        if k == "or":
            return self.holds(e[1], target, s) or self.holds(e[2], target, s)
        if k == "not":
            return not self.holds(e[1], target, s)
        if k == "known":
            return e[1] in self.asked["facts"]
        if k == "fact":
            if not isinstance(self.asked["facts"][e[1]], bool):
                raise RuleError("no bool")
            return self.asked["facts"][e[1]]
        if k == "tag":
            return e[1] in s.get("tags", [])
        if k == "primitive":
            return e[1] in s.get("primitives", [])
        if k == "type":
            have = s.get("edge_type" if target == "edge" else "node_type")
            if have is None:
                raise RuleError("no type")
            return compare(e[1], have, e[2])
        return compare(e[1], self.value(e[2], target, s), self.value(e[3], target, s))

    def in_scope(self, r, target, s):
        if r["target"] != target:
            return False
        for name, op, literal in r["predicates"]:
            if name not in s or not compare(op, s[name], literal):
                return False
        return (not r["in"] or s.get("jurisdiction") in r["in"]) and (not r["tagged"] or bool(set(r["tagged"]) & set(s.get("tags", []))))

    def round(self, target, s):
        """(steps, the rule that was triggered or None, it failed)"""
        steps = []
        for r in self.rules:
            name = r["module"] + "." + r["id"]
            try:
                if not self.in_scope(r, target, s):
                    steps.append([name, "SKIP"])
                    continue
                fired = self.holds(r["when"], target, s)
            except RuleError:
                return steps + [[name, "FAIL"]], r, True
            steps.append([name, "FAIL" if fired else "PASS"])
            if fired:
                return steps, r, False
        return steps, None, False

    def rewritten(self, r, s):
        s = copy.deepcopy(s)
        for op, word in r["ops"]:
            if op == "bind_jurisdiction":
                s["jurisdiction"] = word
            else:
                member = "tags" if op == "add_tag" else "primitives"
                s[member] = sorted(set(s.get(member, [])) | {word})
        return s

    def subject(self, target, s):
        rewrites = []
        while True:
            steps, r, failed = self.round(target, s)
            if r and not failed and r["action"] == "rewrite" and len(rewrites) < 4:
                s = self.rewritten(r, s)
                rewrites.append(r["module"] + "." + r["id"])
                continue
            break
        made = {"verdict": "ALLOW", "steps": steps}
        if r:
            made.update(verdict="DENY", rule=r["module"] + "." + r["id"], code=r["code"])
            if failed:
                made.update(code="SCHEMA.SCHEMA.INVARIANT_BREACH." + r["id"].upper(), error=True)
            elif r["action"] == "rewrite":
                made["rewrite_limit"] = True
            elif r["action"] == "require_approval":
                made.update(verdict="ESCALATE", approver_role="cfo")
            elif r["action"] == "needs_facts":
                made.update(verdict="ESCALATE", fact_requests=["kyc", "aml"])
            if r["patch"] and not failed:
                made["suggested_patches"] = ["fix"]
        if rewrites:
            made.update(rewrites=rewrites, final_subject=s)
        return made

    def answer(self):
        each = [self.subject(x["target"], x["value"]) for x in self.asked["subjects"]]
        worst = max(each, key=lambda x: {"ALLOW": 0, "ESCALATE": 1, "DENY": 2}[x["verdict"]])
        return {**{k: worst[k] for k in ("verdict", "code", "rule") if k in worst}, "subjects": each}


# ---- making them ----

def some_rule(module, name):
    target = pick(list(TARGETS))
    action = pick(["deny", "deny", "require_approval", "needs_facts", "rewrite"])
    r = {"module": module, "id": name, "priority": pick([1000, 1000, -5, 1, 2, 100]), "target": target, "predicates": [], "in": [], "tagged": [], "action": action, "patch": random.random() < .3,
         "when": some_expression(3, target), "code": "CPI.%s.FORBIDDEN.%s" % (pick(["TOOLS", "DATA", "RISK"]), name.upper()), "ops": []}
    for _ in range(pick([0, 0, 1, 2])):
        r["predicates"].append(pick([("kind", "==", "TOOL"), ("kind", "!=", "ENTITY"), ("risk", ">=", 3), ("risk", "<", 3), ("kind", "contains", "T"), ("cost", ">", money("EUR", 5))]))
    if random.random() < .25:
        r["in"] = random.sample(["EU", "EEA", "US"], pick([1, 2]))
    if random.random() < .25:
        r["tagged"] = random.sample(TAGS, pick([1, 2]))
    if action == "rewrite":
        r["ops"] = [pick([("add_tag", pick(TAGS)), ("attach_primitive", "shield"), ("bind_jurisdiction", pick(["EU", "US"]))]) for _ in range(pick([1, 2]))]
    return r


def words(list_of):
    return json.dumps(list_of) if len(list_of) > 1 or random.random() < .5 else json.dumps(list_of[0])


def rule_text(r):
    subject = TARGETS[r["target"]]
    scope = r["target"] + ("(%s)" % " and ".join("%s %s %s" % (n, op, text_of(v)) for n, op, v in r["predicates"]) if r["predicates"] else "")
    scope += " in " + words(r["in"]) if r["in"] else ""
    scope += " tagged " + words(r["tagged"]) if r["tagged"] else ""
    names = {"add_tag": "tag", "attach_primitive": "primitive", "bind_jurisdiction": "jurisdiction"}
    action = {"deny": "deny", "require_approval": 'require_approval("cfo")', "needs_facts": 'needs_facts(["kyc", "aml"])',
              "rewrite": "rewrite({ %s })" % " ".join('%s(%s = "%s")' % (op, names[op], v) for op, v in r["ops"])}[r["action"]]
    priority = "" if r["priority"] == 1000 and random.random() < .8 else " [priority = %d]" % r["priority"]
    return "  rule %s%s {\n    scope: %s\n    when: %s\n    enforce: %s\n    explain: %s%s\n  }\n" % (r["id"], priority, scope, source(r["when"], subject), action, r["code"], "\n    patch: fix()" if r["patch"] else "")


def policy_text(rules):
    made = ""
    modules = list(dict.fromkeys(r["module"] for r in rules))
    random.shuffle(modules)
    for m in modules:
        own = [r for r in rules if r["module"] == m]
        random.shuffle(own)
        made += "module %s {\n%s%s}\n" % (m, "  template fix { add_tag(tag = \"fixed\") }\n" if any(r["patch"] for r in own) else "", "".join(map(rule_text, own)))
    return made


def some_subject():
    target = pick(list(TARGETS))
    value = {}
    if random.random() < .8:
        value["tags"] = random.sample(TAGS, random.randint(0, 3))
    for name, made in (("primitives", [["shield"], []]), ("jurisdiction", ["EU", "US", "JP"]), ("kind", ["TOOL", "ENTITY", 7]), ("risk", [1, 3, 9, "high"]), ("cost", [money("EUR", 5), money("EUR", 6), money("USD", 6)]),
                       ("edge_type" if target == "edge" else "node_type", ["TOOL", "ENTITY"])):
        if random.random() < .6:
            value[name] = pick(made)
    return {"target": target, "value": value}


def some_request():
    choose = lambda **all_of: {k: pick(v) for k, v in all_of.items() if random.random() < .7}
    return {"subjects": [some_subject() for _ in range(pick([1, 1, 2, 3]))],
            "delta": choose(amount=[money("EUR", 499), money("EUR", 501), 3, 600], name=["a", "EU", "abc"], regions=[["EU", "US"], ["a"], []], flag=[True, False]),
            "snapshot": choose(sla=[{"limit": {"duration_ms": 999}}, {"limit": {"duration_ms": 1000}}, {"limit": 3}, {}]),
            "facts": choose(kyc=["a", "EU"], score=[3, 599, 600], frozen=[True, False, "yes"], limit=[money("EUR", 500), {"duration_ms": 1000}])}


def is_legal(r):
    try:
        known(r["when"], set())
        return True
    except KeyError:
        return False


def guarded(r):
    """The same rule with every fact that it uses known: most expressions are none that may be written otherwise."""
    def all_facts(e):
        return facts_used(e) | set().union(*[all_facts(x) for x in e[1:] if isinstance(x, tuple) and x[0] not in ("literal", "ref")] or [set()])
    e = r["when"]
    for k in sorted(all_facts(e)):
        e = ("and", ("known", k), e) if random.random() < .5 else ("or", ("not", ("known", k)), e)
    return dict(r, when=e)


def evaluations(n):
    cases = []
    while len(cases) < n:
        rules = [some_rule(pick(MODULES), "r%d" % i) for i in range(random.randint(1, 5))]
        rules = [r if is_legal(r) else guarded(r) for r in rules]
        if all(map(is_legal, rules)):
            asked = some_request()
            cases.append({"id": "made-%d" % len(cases), "source": policy_text(rules), "input": asked, "expected": Judge(rules, asked).answer()})
    return {"cases": cases}


def statics(n):
    cases = []
    for i in range(n):
        rules = [some_rule("data", "r0")]
        cases.append({"id": "static-%d" % i, "source": policy_text(rules), "expected": "accept" if is_legal(rules[0]) else "E_UNKNOWN_GUARD"})
    return {"cases": cases}


if __name__ == "__main__":
    random.seed(int(sys.argv[1]))
    os.makedirs(sys.argv[2] + "/derived", exist_ok=True)
    for name, made in (("dsl-static", statics(400)), ("dsl-evaluation", evaluations(400))):
        with open("%s/derived/%s-cases.json" % (sys.argv[2], name), "w") as f:
            json.dump(made, f)
