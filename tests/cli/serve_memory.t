#!/bin/sh
# A request for which the machine has no memory is answered 503, nothing of it is decided or on record, and the server goes on.  Where memory ends while something is being written, the
# process ends with a sentence; whatever was answered with ALLOW is on record, and the record is sound.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
ldd "$HELM_BUILD/helm-serve" 2>/dev/null | grep -q -e libasan -e libtsan -e libclang_rt && skip_all "a sanitizer needs more than these limits"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from serve import *
import resource

FREE = {"HELM_LIMIT_IP": "0", "HELM_LIMIT_KERNEL": "0"}
LARGE = {"list": list(range(90000))} # with memory it is allowed
NO_LIMIT = resource.RLIM_INFINITY


def size(pid): return int([l for l in open("/proc/%d/status" % pid) if l.startswith("VmData")][0].split()[1]) * 1024


def server_pid(s):
    """The process that answers: helm becomes helm-serve, or has started it."""
    children = open("/proc/%d/task/%d/children" % (s.p.pid, s.p.pid)).read().split()
    return int(children[0]) if children else s.p.pid


def bounded(pid, more):
    """From now on it may write to so much more memory than it does."""
    resource.prlimit(pid, resource.RLIMIT_DATA, (NO_LIMIT if more is None else size(pid) + more, NO_LIMIT))


def asked(s, tool, args=None, **more):
    try:
        return s.evaluate(tool, args, **more)
    except (http.client.HTTPException, OSError, ValueError) as e:
        return 0, repr(e), {}


# ---- one request is too much for the machine ----
p = Place()
s = Server(p, "--workers", "2", env=FREE)
pid = server_pid(s)
ok("with memory it is decided", [asked(s, "read_ticket", LARGE)[1]["verdict"] for i in range(3)] == ["ALLOW"] * 3 and asked(s, "read_ticket")[0] == 200)
s.stop()
s = Server(p, "--workers", "2", env=FREE)
pid = server_pid(s)
for i in range(8): asked(s, "read_ticket", {"n": i})
before = p.receipts()
bounded(pid, 4 << 20)
got = [asked(s, "read_ticket", LARGE) for i in range(12)]
ok("without memory it is 503, in the form of an error", all(st == 503 and is_error(b, 503) and b["error"]["code"] == "OUT_OF_MEMORY" for st, b, h in got), [(st, str(b)[:200]) for st, b, h in got])
ok("which says what happened and what to do", all("no memory left" in b["error"]["message"] and "try again later" in b["error"]["message"] for st, b, h in got if st == 503))
ok("no ALLOW leaves, and no verdict at all", not [b for st, b, h in got if isinstance(b, dict) and ("verdict" in b or "allow" in b or "receipt_id" in b)], got[:1])
ok("of which nothing is on record", p.receipts() == before, len(p.receipts()) - len(before))
small = [asked(s, "read_ticket", {"n": i}) for i in range(20)]
ok("others are answered meanwhile", all(st == 200 and b["verdict"] == "ALLOW" for st, b, h in small), [(st, str(b)[:100]) for st, b, h in small if st != 200])
key = [asked(s, "read_ticket", LARGE, headers={"Idempotency-Key": "large"})[0] for i in range(3)]
ok("the place of an Idempotency-Key is free again", key == [503] * 3, key)
bounded(pid, None)
ok("with memory again it is decided, by the same process", asked(s, "read_ticket", LARGE)[0] == 200 and asked(s, "read_ticket", LARGE, headers={"Idempotency-Key": "large"})[0] == 200 and server_pid(s) == pid)
fds = len(os.listdir("/proc/%d/fd" % pid))
bounded(pid, 4 << 20)
for i in range(20): asked(s, "read_ticket", LARGE)
bounded(pid, None)
ok("without losing descriptors", len(os.listdir("/proc/%d/fd" % pid)) <= fds + 8, fds, len(os.listdir("/proc/%d/fd" % pid)))
rows = {r["receipt_id"]: r for r in p.receipts()}
ok("every answer that was given is on record", all(b["receipt_id"] in rows and rows[b["receipt_id"]]["verdict"] == "ALLOW" for st, b, h in small))
ok("it ends well", s.stop() == 0)
said = p.helm("log", "check", "--all")
ok("and the record is sound", said.returncode == 0, said.stdout, said.stderr)
p.done()

# ---- memory ends anywhere: at each bound a few requests, large and small ----
p = Place()
ends, answers = [], []
s = None
for more in [0, 4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20]:
    if not s:
        s = Server(p, "--workers", "1", env=FREE)
        pid = server_pid(s)
        asked(s, "read_ticket")
    bounded(pid, more)
    for i in range(6):
        st, b, h = asked(s, *(("Bash", {"command": "a=x;" * (1 << (2 * i + 6))}) if i % 2 else ("read_ticket", {"more": more, "i": i})))
        answers.append((st, b))
        if s.p.poll() is not None: break
    try: bounded(pid, None)
    except ProcessLookupError: pass
    time.sleep(0.05)
    if s.p.poll() is not None:
        ends.append((more, s.p.returncode))
        s.log.close()
        s = None
if s: ok("it ends well", s.stop() == 0)
log = open(os.path.join(p.dir, "log")).read()
rows = {r["receipt_id"]: r for r in p.receipts()}
yes = [b for st, b in answers if isinstance(b, dict) and b.get("verdict") == "ALLOW"]
print("#", len(answers), "requests,", len(yes), "allowed,", sum(st == 503 for st, b in answers), "without memory,", sum(st == 0 for st, b in answers), "unanswered, ended at", ends)
ok("an answer is a decision, 503 or none at all", {st for st, b in answers} <= {0, 200, 503}, {st for st, b in answers})
ok("whatever was allowed is on record", all(b["receipt_id"] in rows and rows[b["receipt_id"]]["verdict"] == "ALLOW" for b in yes), len(yes))
ok("an end is one with a sentence and an exit code, not with a signal", all(code == 1 for m, code in ends) and log.count("out of memory") >= len(ends), ends, log[-600:])
said = p.helm("log", "check", "--all")
ok("and the record is sound", said.returncode == 0, said.stdout, said.stderr)
s = Server(p, env=FREE)
ok("it begins again and decides", asked(s, "read_ticket", LARGE)[0] == 200 and s.stop() == 0)
p.done()
finish()
PY
