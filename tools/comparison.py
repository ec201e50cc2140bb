#!/usr/bin/env python3
"""comparison.py [--bench FILE] [--peers FILE] [--all] [--out FILE]: the figures of docs/comparison.md, made anew.

Runs build/release/helm-bench and bench/peers/policy.sh, one after the other, on this machine (or takes what they printed before), and puts the tables between the two marks
of the page; the words around them are written by people.  Where another engine was quicker, or a promise was not kept, the page says so.  No name of the machine is written."""
import argparse
import datetime
import json
import os
import platform
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN, END = "<!-- figures: made by tools/comparison.py -->", "<!-- end of figures -->"
# The figures that are about other programs; the rest are about Helm's own sizes, take long, and come with --all.
BESIDE = ["startup", "sha256", "guard_check", "guard_exec", "json_parse", "policy_decide", "checkpoint_first", "checkpoint_again", "checkpoint_restore", "receipt_append", "verify_chain", "hook_pass",
          "hook_decide", "run_overhead"]
ENGINES = {"helm": "Helm", "map": "a map by hand, JavaScript", "casl": "CASL", "casbin": "Casbin", "cedar": "Cedar, WebAssembly", "opa": "OPA, WebAssembly"}


def said(*words):
    try:
        got = subprocess.run(words, cwd=TOP, capture_output=True, text=True, timeout=3600 if len(words) != 2 else 600)
    except subprocess.TimeoutExpired:
        return json.dumps({"name": words[-1], "skipped": "it took too long on this machine"}) + "\n"
    if not got.stdout.strip():
        sys.exit("comparison.py: %s says nothing: %s" % (words[-1], got.stderr.strip()[-300:]))
    return got.stdout


def machine():
    memory = int(open("/proc/meminfo").readline().split()[1]) // 1048576
    load = os.getloadavg()[0]
    return "%d processors (%s), %d GiB, Linux %s, load %.1f when it was written" % (os.cpu_count(), platform.machine(), memory, platform.release().split("-")[0], load)


def number(v):
    return "%.3g" % v if abs(v) < 1000 else "{:,.0f}".format(v)


def promises(lines):
    """Rows of helm-bench: name, ours, the yardstick's, ratio; those that were not measured; those that were not kept."""
    rows, left, broken = [], [], []
    for line in lines:
        doc = json.loads(line)
        if "skipped" in doc:
            left.append("%s: %s" % (doc["name"], doc["skipped"]))
            continue
        rows.append("| `%s` | %s %s | %s | %s | %s%s |" % (doc["name"], number(doc["value"]), doc["unit"], number(doc["baseline"]), number(doc["ratio"]), doc.get("promised", "–"), "" if doc.get("kept", True) else ", not kept"))
        if doc.get("kept") is False or doc.get("ok") is False:
            broken.append(doc["name"])
    return rows, left, broken


def nanoseconds(v):
    return "%.1f s" % (v / 1e9) if v >= 1e9 else "%.1f ms" % (v / 1e6) if v >= 1e6 else "%.1f µs" % (v / 1e3) if v >= 1e4 else "%d ns" % v


def engines(lines):
    """{engine: {rules: (p50, load_ms, wrong) or None}}"""
    out = {}
    for line in lines:
        words = line.split()
        if len(words) >= 8 and words[0] in ENGINES:
            out.setdefault(words[0], {})[int(words[1])] = (float(words[3]), float(words[2]), int(float(words[7])))
        elif len(words) >= 3 and words[0] in ENGINES:
            out.setdefault(words[0], {})[int(words[1])] = None
    return out


def engine_tables(found):
    sizes = sorted({n for row in found.values() for n in row})
    out = ["| engine | " + " | ".join("{:,} rule{}".format(n, "" if n == 1 else "s") for n in sizes) + " |", "|---|" + "---|" * len(sizes)]
    for name, title in ENGINES.items():
        if name in found:
            out.append("| %s | %s |" % (title, " | ".join((nanoseconds(found[name][n][0]) + (", %d wrong" % found[name][n][2] if found[name][n][2] else "")) if found[name].get(n) else "not measured" for n in sizes)))
    ahead = []
    for name, row in found.items():
        for n in sizes:
            ours, theirs = (found.get("helm") or {}).get(n), row.get(n)
            if name == "helm" or not ours or not theirs:
                continue
            if theirs[0] < ours[0]:
                ahead.append("%s answers quicker with %s rules (%s to our %s)" % (ENGINES[name], "{:,}".format(n), nanoseconds(theirs[0]), nanoseconds(ours[0])))
            if theirs[1] < ours[1]:
                ahead.append("%s is ready quicker with %s rules (%s ms to our %s ms)" % (ENGINES[name], "{:,}".format(n), number(theirs[1]), number(ours[1])))
    return out, ahead


def page(text, figures):
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        sys.exit("comparison.py: the page has no place for figures, or two")
    head, rest = text.split(BEGIN)
    return head + BEGIN + "\n\n" + "\n".join(figures) + "\n\n" + END + rest.split(END)[1]


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--bench", help="what helm-bench printed; without it, it is run")
    args.add_argument("--peers", help="what bench/peers/policy.sh printed; without it, it is run")
    args.add_argument("--all", action="store_true", help="every figure of helm-bench, also those that are not about other programs")
    args.add_argument("--out", default=os.path.join(TOP, "docs", "comparison.md"))
    a = args.parse_args()
    bench = open(a.bench).read() if a.bench else "".join(said("build/release/helm-bench", *([] if a.all else [name])) for name in ([""] if a.all else BESIDE))
    peers = open(a.peers).read() if a.peers else said("sh", "bench/peers/policy.sh")
    rows, left, broken = promises([l for l in bench.splitlines() if l.startswith("{")])
    table, ahead = engine_tables(engines(peers.splitlines()))
    figures = ["Measured %s in one run: %s." % (datetime.datetime.now(datetime.timezone.utc).strftime("%-d %B %Y"), machine()), "",
               *(["There was more to do than processors: what starts programs or waits for the disk is measured badly here, and is to be measured again on a calm machine.", ""] if os.getloadavg()[0] > os.cpu_count() else []),
               "One decision about a tool with conditions on its arguments, median; every engine is handed the parsed request:", ""] + table
    figures += ["", "Where others were ahead in this run: " + ("; ".join(ahead) + "." if ahead else "nowhere.")]
    figures += ["", "What Helm promises, each as a ratio to a yardstick in the same run (bench/README.md says what each is):", "", "| figure | ours | yardstick | ratio | promised |", "|---|---|---|---|---|"] + rows
    figures += ["", "Not kept in this run: " + (", ".join("`%s`" % n for n in broken) + "." if broken else "none.")]
    if left:
        figures += ["", "Not measured: " + "; ".join(left) + "."]
    text = page(open(a.out).read(), figures)
    open(a.out, "w").write(text)


if __name__ == "__main__":
    main()
