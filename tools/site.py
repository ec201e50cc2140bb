#!/usr/bin/env python3
"""site.py --helm PROGRAM --out DIR: docs/ as pages that can be read without anything else, with a reference made from the program's own tables.

Needs cmark-gfm (a package of Debian).  Plain files, no script, no outside host: any web server, or a browser from the disk, shows them.
The same tree and program give the same bytes."""
import argparse
import html
import json
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STYLE = os.path.join(TOP, "docs", "site.css")

# What the menu shows, in this order.  A page of docs/ that is not named stands under the last two headings, by its folder.
MENU = [
    ("Start", ["guides/getting-started.md", "guides/install.md", "concepts.md"]),
    ("Guides", ["guides/agents.md", "guides/how-commands-are-understood.md", "guides/policy.md", "guides/mcp.md", "guides/serve.md", "guides/proxy.md",
                "guides/skills.md", "guides/console.md", "guides/fleet.md", "guides/audit.md", "guides/migrating.md", "guides/from-the-go-kernel.md"]),
    ("Operations", ["guides/operations.md", "SECURITY.md"]),
    ("Reference", ["reference/commands.md", "reference/routes.md", "reason-codes.md", "reference/schemas.md"]),
    ("Inside", ["comparison.md", "ARCHITECTURE.md", "INVARIANTS.md", "benchmarks.md", "CHANGES.md"]),
]


def said(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def commands(helm):
    doc = json.loads(said(helm, "help", "--json"))
    out = ["# Commands", "", f"Made from the table of commands of version {doc['version']}. `helm COMMAND --help` says the same.", ""]
    groups = {}
    for c in doc["commands"]:
        groups.setdefault(c["group"], []).append(c)
    for group, rows in groups.items():
        out += [f"## {group}", ""]
        for c in rows:
            words = f"helm {c['name']}" + (" [options]" if c["options"] else "") + (f" {c['arguments']}" if c["arguments"] else "")
            out += [f"### {c['name']}", "", c["help"].rstrip(".").capitalize() + ".", "", f"    {words}", ""]
            if c.get("about"):
                out += [cell(c["about"]), ""]
            if c["options"]:
                out += ["| option | |", "|---|---|"]
                out += [f"| `--{o['name']}{' ' + cell(o['value']) if o.get('value') else ''}` | {cell(o['help'])}{' (required)' if o.get('required') else ''} |" for o in c["options"]]
                out += [""]
            if c.get("examples"):
                out += [f"    {line}" for line in c["examples"].split("\n")] + [""]
    return "\n".join(out)


def routes(helm):
    rows = json.loads(said(helm, "serve", "routes", "--json"))
    out = ["# Routes", "", "What each server offers, made from its table of routes."]
    for server, head in [
        ("serve", ["## helm serve", "", "`GET /openapi.yaml` is the same for programs."]),
        ("fleet", ["## helm serve fleet", "", "`machine`: signed by the key of a machine that has joined (docs/formats/fleet-wire.md). `reader`: a session or token of the console (docs/formats/console.md). `GET /openapi.yaml` there is the same for programs."]),
        ("witness", ["## helm witness serve"]),
    ]:
        out += ["", *head, "", "| method | path | who | what |", "|---|---|---|---|"]
        out += [f"| {r['method']} | `{cell(r['path'])}` | {cell(r['auth'])}{' (' + ', '.join(r['scopes']) + ')' if r['scopes'] else ''} | {cell(r['what'])} |" for r in rows if r["server"] == server]
    return "\n".join(out) + "\n"


def schemas():
    out = ["# Schemas", "", "One JSON Schema for each document; `helm schema validate` checks with them.", "", "| file | |", "|---|---|"]
    for name in sorted(os.listdir(os.path.join(TOP, "schemas"))):
        if name.endswith(".schema.json"):
            with open(os.path.join(TOP, "schemas", name), encoding="utf-8") as f:
                doc = json.load(f)
            out.append(f"| `{name}` | {cell(doc.get('title') or doc.get('description') or '')} |")
    return "\n".join(out) + "\n"


def sources(helm):
    """Every page as {path: text}."""
    pages = {}
    for folder, _, names in os.walk(os.path.join(TOP, "docs")):
        for name in names:
            if name.endswith(".md"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as f:
                    pages[os.path.relpath(path, os.path.join(TOP, "docs"))] = f.read()
    for name, path in (("SECURITY.md", "SECURITY.md"), ("CHANGES.md", "CHANGES.md"), ("benchmarks.md", "bench/README.md"), ("index.md", "README.md")):
        with open(os.path.join(TOP, path), encoding="utf-8") as f:
            pages[name] = f.read()
    pages["reference/commands.md"] = commands(helm)
    pages["reference/routes.md"] = routes(helm)
    pages["reference/schemas.md"] = schemas()
    return pages


def title(text, path):
    m = re.search(r"^# (.+)$", text, re.M)
    return re.sub(r"[`*]", "", m.group(1)) if m else path


def target(path, up):
    return up + re.sub(r"\.md$", ".html", path)


def menu(pages, here):
    up = "../" * here.count("/")
    listed, out = {"index.md"}, []
    groups = [(head, [p for p in paths if p in pages]) for head, paths in MENU]
    for _, paths in groups:
        listed.update(paths)
    for head, folder in (("Formats", "formats/"), ("Decisions", "decisions/")):
        groups.append((head, sorted(p for p in pages if p.startswith(folder) and p not in listed)))
    for _, paths in groups:
        listed.update(paths)
    groups.append(("More", sorted(p for p in pages if p not in listed)))
    for head, paths in groups:
        if not paths:
            continue
        is_open = " open" if here in paths or head == "Start" else ""
        out.append(f"<details{is_open}><summary>{head}</summary><ul>")
        for p in paths:
            mark = ' aria-current="page"' if p == here else ""
            out.append(f'<li><a href="{html.escape(target(p, up))}"{mark}>{html.escape(title(pages[p], p))}</a></li>')
        out.append("</ul></details>")
    return "\n".join(out)


def links(body, pages, here):
    """Pages that are named become links: `docs/guides/policy.md`, docs/formats/x.md, links to .md files."""
    up = "../" * here.count("/")
    body = re.sub(r'href="docs/([\w/.-]+\.md)(#[^"]*)?"', lambda m: f'href="{target(m.group(1), up)}{m.group(2) or ""}"', body)
    body = re.sub(r'href="(?!https?:|#)([^"]+?)\.md(#[^"]*)?"', r'href="\1.html\2"', body)

    def page(m):
        name = m.group(1)
        return f'<a href="{target(name, up)}">docs/{name}</a>' if name in pages else m.group(0)
    body = re.sub(r"(?<![\w/\"])docs/([\w/.-]+\.md)(?![\w\"])", page, body)
    # Anchors for headings, so that a place can be sent to somebody.
    seen = {}

    def head(m):
        name = re.sub(r"[^a-z0-9]+", "-", re.sub(r"<[^>]+>", "", m.group(2)).lower()).strip("-")
        seen[name] = seen.get(name, 0) + 1
        name += f"-{seen[name]}" if seen[name] > 1 else ""
        return f'<h{m.group(1)} id="{name}">{m.group(2)}</h{m.group(1)}>'
    body = re.sub(r"<h([1-6])>(.*?)</h\1>", head, body, flags=re.S)
    return body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')


PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Helm</title>
<link rel="stylesheet" href="{up}site.css">
</head>
<body>
<a class="skip" href="#text">To the text</a>
<nav aria-label="Pages"><p class="name"><a href="{up}index.html">Helm</a> <span>{version}</span></p>
{menu}
</nav>
<main id="text">
{body}
</main>
</body>
</html>
"""


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--helm", required=True)
    p.add_argument("--out", required=True)
    a = p.parse_args()
    if not shutil.which("cmark-gfm"):
        sys.exit("site.py: cmark-gfm is missing (Debian package cmark-gfm)")
    pages = sources(a.helm)
    with open(os.path.join(TOP, "VERSION"), encoding="utf-8") as f:
        version = f.read().strip()
    shutil.rmtree(a.out, ignore_errors=True)
    for path, text in sorted(pages.items()):
        body = subprocess.run(["cmark-gfm", "-e", "table"], input=text, check=True, capture_output=True, text=True).stdout
        to = os.path.join(a.out, re.sub(r"\.md$", ".html", path))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(to, "w", encoding="utf-8") as f:
            f.write(PAGE.format(title=html.escape(title(text, path)), up="../" * path.count("/"), version=html.escape(version),
                                menu=menu(pages, path), body=links(body, pages, path)))
    shutil.copy(STYLE, a.out)
    shutil.copytree(os.path.join(TOP, "docs", "pictures"), os.path.join(a.out, "pictures"))
    print(f"{len(pages)} pages in {a.out}")


main()
