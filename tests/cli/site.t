#!/bin/sh
# docs/ as pages: every page is there, every link leads somewhere, nothing comes from outside, and the same tree gives the same bytes.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v cmark-gfm >/dev/null 2>&1 || skip_all "cmark-gfm is not here"
command -v python3 >/dev/null 2>&1 || skip_all "python3 is not here"

make() { HOME="$scratch/home" python3 "$HELM_SOURCE/tools/site.py" --helm "$HELM_REAL" --out "$1"; }
ok "the pages are made" make "$scratch/site"
ok "again, they are the same" sh -c 'HOME="$1/home" python3 "$2/tools/site.py" --helm "$3" --out "$1/again" >/dev/null && diff -r "$1/site" "$1/again"' - "$scratch" "$HELM_SOURCE" "$HELM_REAL"
cat >look.py <<'E2'
import html.parser, os, sys
top = sys.argv[1]
wrong, pages, ids, wanted = [], 0, {}, []
class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__(); self.path = path; self.h1 = 0
    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        if "id" in a: ids.setdefault(self.path, set()).add(a["id"])
        self.h1 += tag == "h1"
        if tag == "script" or any(k.startswith("on") for k in a): wrong.append(f"{self.path}: runs something")
        if tag == "img" and not a.get("alt"): wrong.append(f"{self.path}: a picture without words")
        for k in ("href", "src"):
            v = a.get(k, "")
            if not v: continue
            if "://" in v or v.startswith("//"):
                if k == "src" or tag == "link": wrong.append(f"{self.path}: {v} comes from outside")
                continue
            file, _, place = v.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(self.path), file)) if file else self.path
            wanted.append((self.path, to, place))
for folder, _, names in os.walk(top):
    for n in names:
        if n.endswith(".html"):
            pages += 1
            p = Page(os.path.join(folder, n)); p.feed(open(p.path, encoding="utf-8").read())
            if p.h1 != 1: wrong.append(f"{p.path}: {p.h1} headings of the first rank")
for frm, to, place in wanted:
    if not os.path.exists(to): wrong.append(f"{frm}: {to} is not there")
    elif place and place != "text" and place not in ids.get(to, ()): wrong.append(f"{frm}: {to}#{place} is not there")
print("\n".join(sorted(set(wrong)))); print(pages, "pages")
sys.exit(bool(wrong) or pages < 100)
E2
ok "every link leads somewhere, and nothing comes from outside" python3 look.py "$scratch/site"
ok "every command is in the reference" sh -c '
  HOME="$3" "$1" help --json | grep -o "\"name\": *\"[a-z-]* *[a-z-]*\"" | grep -o "[a-z-]* *[a-z-]*\"$" | tr -d "\"" | sort -u >words
  while read -r w; do grep -q ">$w</h3>" "$2/reference/commands.html" || grep -q -e "--$w" "$2/reference/commands.html" || { echo "$w"; exit 1; }; done <words' - "$HELM_REAL" "$scratch/site" "$scratch/home"
finish
