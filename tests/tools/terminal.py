#!/usr/bin/env python3
"""A person's terminal, for tests.

terminal.py [--inside | --forge] [--seconds N] WORD... -- COMMAND...: run COMMAND on a terminal, and type the next WORD whenever it waits for one
(its output ends in ": ", "> " or "] ").  Prints what the terminal showed; the exit code is the command's, 124 when time is up.

terminal.py --serve DIR [PID]: stay, and make such terminals for whoever asks in DIR, until DIR or the process PID is gone.  Such a terminal hangs on a process
that was there before the test did anything, as the terminal of a person hangs on something older than the agents they watch.  Without
a server, or with --inside, the terminal is made by the caller, who may be an agent; with --forge by a process that has left the caller
first, so that nobody is above it."""
import json
import os
import pty
import select
import sys
import time


def drive(words, command, limit, cwd=None, env=None):
    pid, fd = pty.fork()
    if pid == 0:
        if cwd:
            os.chdir(cwd)
        os.execvpe(command[0], command, env if env is not None else os.environ)
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
        if words and shown[seen:].endswith((b": ", b"> ", b"] ")):
            seen = len(shown)
            os.write(fd, words.pop(0).encode() + b"\n")
    return shown, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def answer(place, name):
    with open(os.path.join(place, name)) as f:
        ask = json.load(f)
    os.unlink(os.path.join(place, name))
    shown, code = drive(ask["words"], ask["command"], ask["limit"], ask["cwd"], ask["env"])
    temporary = os.path.join(place, "." + name)
    with open(temporary, "wb") as f:
        f.write(shown + b"\n%d" % code)
    os.rename(temporary, os.path.join(place, name[:-4] + ".done"))


def serve(place, owner):
    """Leaves its parents, then answers questions: a file in the directory, and a byte in its pipe to wake us."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for fd in range(3):
        os.dup2(os.open("/dev/null", os.O_RDWR), fd)
    os.mkfifo(os.path.join(place, "wake"))
    wake = os.open(os.path.join(place, "wake"), os.O_RDWR | os.O_NONBLOCK)
    open(os.path.join(place, "ready"), "w").close()
    while os.path.isdir(place) and (not owner or os.path.exists("/proc/" + owner)):
        try:
            names = [n for n in os.listdir(place) if n.endswith(".ask")]
        except OSError:
            break
        for name in names:
            taken = os.path.join(place, name[:-4] + ".now")
            try:
                os.rename(os.path.join(place, name), taken)
            except OSError:
                continue
            if os.fork() == 0:
                try:
                    answer(place, os.path.basename(taken))
                finally:
                    os._exit(0)
        while True:  # those that have ended
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
        if select.select([wake], [], [], 1)[0]:
            os.read(wake, 4096)
    os._exit(0)


def ask(place, words, command, limit):
    name = os.path.join(place, "%d-%d" % (os.getpid(), time.monotonic_ns()))
    with open(name + ".tmp", "w") as f:
        json.dump({"words": words, "command": command, "limit": limit, "cwd": os.getcwd(),
                   "env": {k: v for k, v in os.environ.items() if k != "TERMINALS"}}, f)
    os.rename(name + ".tmp", name + ".ask")
    try:
        wake = os.open(os.path.join(place, "wake"), os.O_WRONLY | os.O_NONBLOCK)
        os.write(wake, b"x")
        os.close(wake)
    except OSError:
        pass  # the server looks by itself after a second, or is gone
    end = time.monotonic() + limit + 5
    while not os.path.exists(name + ".done"):
        if time.monotonic() > end:
            return b"no terminal", 125
        time.sleep(0.005)
    with open(name + ".done", "rb") as f:
        shown, _, code = f.read().rpartition(b"\n")
    os.unlink(name + ".done")
    return shown, int(code)


def forge(words, command, limit):
    back, to = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        while os.getppid() == os.getsid(0):
            time.sleep(0.001)
        shown, code = drive(words, command, limit)
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


def main():
    args = sys.argv[1:]
    if args[0] == "--serve":
        serve(args[1], args[2] if len(args) > 2 else "")
        return 0
    split = args.index("--")
    words, command = args[:split], args[split + 1:]
    limit = 30.0
    if "--seconds" in words:
        at = words.index("--seconds")
        limit = float(words[at + 1])
        del words[at:at + 2]
    place = os.environ.get("TERMINALS")
    how = {"--inside": drive, "--forge": forge}.get(words[0] if words else "")
    if how:
        shown, code = how(words[1:], command, limit)
    elif place:
        shown, code = ask(place, words, command, limit)
    else:
        shown, code = drive(words, command, limit)
    sys.stdout.write(shown.decode(errors="replace").replace("\r\n", "\n"))
    return code


sys.exit(main())
