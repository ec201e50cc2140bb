"""Run each text in bash with a harmless command `p`, and compare its words with those our evaluator gives it.  Prints TAP.

usage: words_oracle.py WORDS_TEST CORPUS   (texts separated by lines of "%%"; only p and builtins are used in them)"""
import subprocess
import sys

PRELUDE = "p() { local IFS=' '; echo \"p $*\"; }\n"
ENVIRONMENT = {"LANG": "C.UTF-8", "EDITOR": "vi", "EMPTY": "", "HOME": "/home/u", "PATH": "/usr/bin:/bin"}


def bash_words(text):
    run = subprocess.run(["bash", "-c", PRELUDE + text], capture_output=True, env=ENVIRONMENT, check=False, timeout=10)
    return [line for line in run.stdout.decode(errors="replace").splitlines() if line == "p" or line.startswith("p ")]


def our_words(program, text):
    run = subprocess.run([program, "--steps", text], capture_output=True, check=True)
    lines = [line.strip(" ") for line in run.stdout.decode(errors="replace").splitlines()]
    return [line for line in lines if line == "p" or line.startswith("p ")]


def main():
    program, corpus = sys.argv[1:3]
    with open(corpus, encoding="utf-8", newline="") as f:
        texts = f.read().rstrip("\n").split("\n%%\n")
    failures = 0
    for text in texts:
        theirs, mine = [x.strip() for x in bash_words(text)], our_words(program, text)
        if theirs != mine:
            failures += 1
            print(f"# {text!r}\n#   bash {theirs}\n#   ours {mine}")
    print(f"{'not ok' if failures else 'ok'} 1 - {len(texts)} texts give the words bash gives")
    print("1..1")
    return 1 if failures else 0


sys.exit(main())
