#!/bin/sh
# Every command that a document shows is one, with the options it is shown with: in blocks, and in the middle of a sentence.  (Guides with lines to type are typed by
# tests of their own; this is about everything else that a reader may copy.)
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null 2>&1 || skip_all "python3 is not here"
helm help --json >help.json
cat >look.py <<'PY'
import glob, json, os, re, shlex, sys
top = sys.argv[1]
table = {c["name"]: {o["name"] for o in c["options"]} | {"json", "path", "workspace", "help"} for c in json.load(open("help.json"))["commands"]}
nouns = {n.split()[0] for n in table}
shown, wrong, pages = 0, [], sys.argv[2:] or sorted(glob.glob(top + "/docs/guides/*.md") + [top + "/README.md", top + "/docs/concepts.md", top + "/docs/comparison.md", top + "/SECURITY.md", top + "/CONTRIBUTING.md"])
def judge(where, text):
    global shown
    try: words = shlex.split(text, comments=True)
    except ValueError: words = text.split()
    while words and (re.fullmatch(r"[A-Z_]+=\S*", words[0]) or words[0] in ("sudo", "$", "exec")): words.pop(0)
    if not words or words[0] != "helm" or len(words) < 2: return
    words = words[1:]
    if words[0].startswith("-"): return
    if re.fullmatch(r"[A-Z]+|…|\.\.\.|<.*>|\[.*", words[0]): return
    shown += 1
    name = next((" ".join(words[:n]) for n in (3, 2, 1) if " ".join(words[:n]) in table), None)
    if name is None:
        # A noun alone, or with several verbs: `helm approval`, `helm mcp list|show`.
        noun, verbs = words[0], re.split(r"[|,/]", words[1]) if len(words) > 1 else []
        if noun in nouns and all(v == "…" or "%s %s" % (noun, v) in table for v in verbs if not v.startswith("-")): return
        wrong.append("%s: no such command: helm %s" % (where, " ".join(words[:3])))
        return
    rest = words[len(name.split()):]
    if "--" in rest: rest = rest[:rest.index("--")]
    for w in rest:
        m = re.match(r"\[?--([a-z][a-z0-9-]*)", w)
        if m and m.group(1) not in table[name]: wrong.append("%s: helm %s has no --%s" % (where, name, m.group(1)))
        if w in ("|", ">", "&&", ";", "||", "&"): break
for page in pages:
    for n, line in enumerate(open(page, encoding="utf-8"), 1):
        where = "%s:%d" % (os.path.relpath(page, top), n)
        if line.startswith("    "):
            for part in re.split(r"&&|\||;", line.strip()) if "'" not in line and '"' not in line else [line.strip()]: judge(where, part.strip())
        else:
            for code in re.findall(r"`([^`]+)`", line): judge(where, code)
print("%d commands in %d pages" % (shown, len(pages)))
for w in wrong: print("wrong", w)
PY
python3 look.py "$HELM_SOURCE" >look.out 2>&1
sed 's/^/# /' look.out
ok "documents show commands" sh -c 'test "$(sed -n "s/ commands in.*//p" look.out)" -ge 300'
printf '    $ helm run --nonsense -- ls\n\nUse `helm approval forget ID`, `helm mcp list|guess`, and `helm run -- ls --fine`.\n' >bad.md
python3 look.py "$HELM_SOURCE" bad.md >bad.out
ok "what is none is found" sh -c 'test "$(grep -c "^wrong" bad.out)" -eq 3 || { cat bad.out; false; }'
ok "each of them is one, with the options it has" sh -c '! grep -q "^wrong\|Traceback" look.out'
finish
