#!/bin/sh
# What a request does not say allows nothing: in the policies of the guides and in those that are shipped, a member that a rule asks about and that is missing, null
# or of another kind leads to DENY or ESCALATE.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
export HELM_REAL HELM_SOURCE
HOME=$scratch/home python3 - <<'PY'
import glob, json, os, re, subprocess, sys
source, helm, count, failures = os.environ["HELM_SOURCE"], os.environ["HELM_REAL"], 0, 0
env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
def ok(what, is_so, *more):
    global count, failures
    count += 1; failures += not is_so
    print("ok" if is_so else "not ok", count, "-", what, flush=True)
    for line in () if is_so else more: print("#", str(line)[:1500], flush=True)
def run(*words): return subprocess.run([helm] + list(words), env=env, capture_output=True, text=True, timeout=60)
def verdict(policy, request):
    with open("request.json", "w") as f: json.dump(request, f)
    r = run("policy", "explain", "request.json", "--policy", policy)
    return r.stdout.split(" ", 1)[0].strip() or r.stderr
def blocks(guide):
    """Files of a guide: {name: the last text of it}."""
    found = {}
    for m in re.finditer(r"(?m)^    # file: (\S+)\n((?:    .*\n)*)", open(source + "/docs/guides/" + guide).read()):
        found.setdefault(m.group(1), []).append(re.sub("(?m)^    ", "", m.group(2)))
    return found

# The first policy of the guides.
for guide, name in (("serve.md", "policy.yaml"), ("proxy.md", "tools.yaml")):
    with open(name, "w") as f: f.write(blocks(guide)[name][0])
    ask = lambda params: verdict(name, {"action": "refund", "params": params})
    ok(guide + ": a small refund is allowed", ask({"amount": 50}) == "ALLOW" and ask({"amount": 100}) == "ALLOW", ask({"amount": 50}))
    ok(guide + ": a large one is asked about", ask({"amount": 101}) == "ESCALATE", ask({"amount": 101}))
    for params in ({}, {"amount": None}, {"amount": "50"}, {"amount": "5000"}, {"amount": [50]}, {"amount": {}}, {"amount": True}, {"amount": ""}, {"Amount": 50}, {"amounts": 50}):
        ok("%s: %s is not" % (guide, json.dumps(params)), ask(params) in ("DENY", "ESCALATE"), ask(params))

# Of every test that expects a refusal: the same request with one member less.
def members(text):
    depth, at, parts = 0, 0, []
    for i, c in enumerate(text + ","):
        depth += c in "[{"; depth -= c in "]}"
        if c == "," and not depth: parts.append(text[at:i].strip()); at = i + 1
    return [p for p in parts if p]
def without(block, word):
    """[(what, the block with that member gone or null)]"""
    m = re.search(r"request: .*?%s: \{((?:[^{}]|\{[^{}]*\})*)\}" % word, block)
    every = members(m.group(1)) if m else []
    for i, one in enumerate(every):
        name = one.split(":")[0]
        for how, changed in (("gone", every[:i] + every[i + 1:]), ("null", every[:i] + [name + ": null"] + every[i + 1:])):
            yield name, how, block[:m.start(1)] + ", ".join(changed) + block[m.end(1):]
def property(what, folder, test, policy, text, matters):
    head, *tests = re.split(r"(?m)^  - name: ", text)
    out, n = [], 0
    for t in tests:
        if not re.search("expect: {verdict: (DENY|ESCALATE)", t): continue
        for name, how, changed in without(t, "params"):
            if not matters(name): continue
            n += 1
            out.append("  - name: " + re.sub(r"expect: \{.*\}", "expect: {verdict: ALLOW}", re.sub(r"^.*", lambda m: "case %d %s %s" % (n, name, how), changed, count=1)))
    if not n: return 0
    with open(test, "w") as f: f.write(re.sub("(?m)^policy:.*\n", "", head).replace("tests:", "policy: %s\ntests:" % policy) + "".join(out))
    r = run("policy", "test", test)
    done = re.search(r"(\d+) passed, (\d+) failed", r.stdout)
    ok("%s: none of %d requests with one member less is allowed" % (what, n), done and done.group(1) == "0" and int(done.group(2)) == n, r.stdout[:1500], r.stderr)
    return n
total = 0
for path in sorted(glob.glob(source + "/share/policies/*.test.yaml") + glob.glob(source + "/share/policies/packs/*.test.yaml")):
    base = os.path.basename(path).replace(".test.yaml", "")
    text = open(path.replace(".test", "")).read()
    with open(base + ".yaml", "w") as f: f.write(text)
    # Packs object to what is there; of amounts, ages and places they ask for what is not.
    compared = set(re.findall(r"field: params\.(\w+), operator: (?:greater_than|less_than|at_least|at_most|not_in)", text))
    is_pack = "/packs/" in path
    total += property(base, os.path.dirname(path), base + ".test.yaml", base + ".yaml", open(path).read(), (lambda name: name in compared) if is_pack else lambda name: True)
guide = blocks("policy.md")
for name in ("limits", "production"):
    with open(name + ".yaml", "w") as f: f.write(guide[name + ".yaml"][-1])
    total += property("policy.md, " + name, None, name + ".test.yaml", name + ".yaml", guide[name + ".test.yaml"][-1], lambda name: True)
ok("there were many of them", total > 40, total)
with open("bare.test.yaml", "w") as f: f.write("format: helm.policy-test.v1\npolicy: production.yaml\ntests:\n  - name: nobody said which stage it is\n    request: {command: \"psql -c 'DROP TABLE users'\"}\n    expect: {verdict: ESCALATE, rule: two-people}\n")
r = run("policy", "test", "bare.test.yaml")
ok("policy.md: a stage that nobody named counts as production", "1 passed" in r.stdout, r.stdout, r.stderr)
print("1..%d" % count)
sys.exit(failures > 0)
PY
