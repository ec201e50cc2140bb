#!/usr/bin/env python3
"""terminal.py [--inside] [--seconds N] WORD... -- COMMAND...: run COMMAND on a terminal, and type the next WORD whenever it waits
for one (its output ends in ": " or "> ").  The terminal hangs on no process of the test, as a person's own one would; with --inside
it is started by the caller.  Prints what the terminal showed; the exit code is the command's, 124 when time is up."""
import os
import pty
import select
import sys
import time

args = sys.argv[1:]
split = args.index("--")
words, command = args[:split], args[split + 1:]
inside = "--inside" in words
limit = 30.0
if "--seconds" in words:
    at = words.index("--seconds")
    limit = float(words[at + 1])
    del words[at:at + 2]
words = [w for w in words if w != "--inside"]


def drive():
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    shown, seen, end = b"", 0, time.monotonic() + limit
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            return shown, 124
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
        if words and shown[seen:].endswith((b": ", b"> ")):
            seen = len(shown)
            os.write(fd, words.pop(0).encode() + b"\n")
    return shown, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def detached():
    back, to = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        while os.getppid() == os.getsid(0):
            time.sleep(0.001)
        shown, code = drive()
        os.write(to, shown + b"\n%d" % code)
        os._exit(0)
    os.close(to)
    os.wait()
    data = b""
    while True:
        more = os.read(back, 65536)
        if not more:
            break
        data += more
    shown, _, code = data.rpartition(b"\n")
    return shown, int(code)


shown, code = drive() if inside else detached()
sys.stdout.write(shown.decode(errors="replace").replace("\r\n", "\n"))
sys.exit(code)
