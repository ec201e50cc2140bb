# strict.py — what is JSON: ours against python's json made strict (duplicates, constants, surrogates refused), over
# documents damaged at random.  Where both accept, the canonical bytes must agree too.
import json
import random
import subprocess
import sys


class Token(str):
    """A number, as it was written."""


def pairs(items):
    if len({name for name, _ in items}) != len(items):
        raise ValueError("duplicate")
    return dict(items)


def refuse(text):
    raise ValueError(text)


def write(v):
    if isinstance(v, Token):
        return str(v)
    if isinstance(v, dict):
        names = sorted(v, key=lambda s: s.encode("utf-16-be"))
        return "{" + ",".join(write(n) + ":" + write(v[n]) for n in names) + "}"
    if isinstance(v, list):
        return "[" + ",".join(write(x) for x in v) + "]"
    return json.dumps(v, ensure_ascii=False)


def other(data):
    try:
        v = json.loads(data.decode("utf-8"), object_pairs_hook=pairs, parse_constant=refuse, parse_float=Token, parse_int=Token)
        text = write(v)
        text.encode("utf-8")  # a lone surrogate cannot
        return text
    except (ValueError, RecursionError):
        return None


def damage(r, seed):
    data = bytearray(seed)
    for _ in range(r.randrange(1, 4)):
        at = r.randrange(len(data) + 1)
        kind = r.randrange(4)
        if kind == 0 and at < len(data):
            del data[at:at + r.randrange(1, 4)]
        elif kind == 1:
            data[at:at] = r.choice(PIECES)
        elif kind == 2 and at < len(data):
            data[at] = r.randrange(256)
        else:
            other_at = r.randrange(len(data) + 1)
            data[at:at] = data[other_at:other_at + r.randrange(1, 9)]
    return bytes(data)


PIECES = [b'"', b"\\", b"\\u", b"\\ud83d", b"\\ude00", b"{", b"}", b"[", b"]", b",", b":", b"0", b"-", b".", b"e", b"1", b" ",
          b"\n", b"\t", b"\0", b"\x7f", b"\xc3\xa9", b"\xff", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"null", b"true", b"NaN",
          b'"a":1,', b"\\n", b"\x1f", b"\xef\xbb\xbf", b"\xc2\xa0"]
SEEDS = [b'{"a":1,"b":[true,false,null],"c":{"d":"e","f":-1.5e+10}}', b'["\\u00e9\\ud83d\\ude00\\n\\\\\\/","x"]', b" [ 1 , 2.50 ] ",
         '{"정책":"\U0001f600","\ufb33":"\u2028"}'.encode(), b'"' + b"abcdefgh" * 4 + b'"', b"[0,-0,10,1e5,1E-5,0.001]", b"{}",
         b'{"a":{"a":{"a":[[[]]]}},"aa":"a","":0}']


def main():
    r = random.Random(20260413)
    documents = SEEDS + [damage(r, r.choice(SEEDS)) for _ in range(60000)]
    asked = "".join(d.hex() + "\n" for d in documents)
    answers = subprocess.run([sys.argv[1], "canonical"], input=asked.encode(), stdout=subprocess.PIPE, check=True)
    lines = answers.stdout.split(b"\n")
    wrong = accepted = 0
    for d, line in zip(documents, lines):
        ours = None if line.startswith(b"! ") else line.decode()
        theirs = other(d)
        accepted += theirs is not None
        if ours != theirs:
            wrong += 1
            if wrong <= 10:
                print(d, "ours:", line, "python:", theirs)
    print(len(documents), "documents,", accepted, "accepted,", wrong, "differ")
    return 1 if wrong else 0


sys.exit(main())
