#!/usr/bin/env python3
"""client_sandbox.py KIND [--write DIR]... [--hide DIR]... COMMAND...: COMMAND in a sandbox like those in which agent clients run shell commands.

  bwrap     Codex 0.166: bubblewrap with a read-only view of all files, own pids and network; connect() fails
  claude    Claude Code 2.1: the same, but socket(AF_UNIX) fails
  landlock  Landlock, which lets everything be read, and the filter of bwrap; no namespaces
  seccomp   only the filter (the part of bwrap that is set up inside)

DIR can be written (--write), or is empty (--hide, not with landlock); everything else is read-only.  Exit 77: this machine cannot do that."""
import ctypes
import os
import platform
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {"x86_64": (0xC000003E, 41, 42), "aarch64": (0xC00000B7, 198, 203)}  # architecture, socket, connect
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
READ, ALL = 1 | 4 | 8, (1 << 13) - 1
SET_NO_NEW_PRIVS, SET_SECCOMP = 38, 22


def fail(why):
    sys.stderr.write("client_sandbox: %s: %s\n" % (why, os.strerror(ctypes.get_errno())))
    sys.exit(77)


def filter_calls(is_claude):
    """EPERM for connect(), or for socket(AF_UNIX)."""
    arch, socket, connect = NUMBERS[platform.machine()]
    load, equal, give = 0x20, 0x15, 0x06
    refuse, allow = 0x00050000 | 1, 0x7FFF0000
    steps = [(load, 0, 0, 4), (equal, 1, 0, arch), (give, 0, 0, refuse), (load, 0, 0, 0)]
    if is_claude:
        steps += [(equal, 0, 3, socket), (load, 0, 0, 16), (equal, 0, 1, 1), (give, 0, 0, refuse)]
    else:
        steps += [(equal, 0, 1, connect), (give, 0, 0, refuse)]
    steps.append((give, 0, 0, allow))
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *s) for s in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(text)))
    if LIBC.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0) or LIBC.prctl(SET_SECCOMP, 2, program, 0, 0):
        fail("seccomp")


def lock_files(writable):
    handled = ctypes.create_string_buffer(struct.pack("Q", ALL))
    rules = LIBC.syscall(LANDLOCK_CREATE, handled, 8, 0)
    if rules < 0:
        fail("Landlock")
    for path, rights in [("/", READ), ("/dev/null", READ & ~8 | 2)] + [(d, ALL) for d in writable]:
        fd = os.open(path, os.O_PATH)
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, fd))
        if LIBC.syscall(LANDLOCK_ADD, rules, 1, rule, 0):
            fail(path)
        os.close(fd)
    LIBC.prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if LIBC.syscall(LANDLOCK_RESTRICT, rules, 0):
        fail("Landlock")
    os.close(rules)


def main(words):
    kind, writable, hidden = words.pop(0), [], []
    while words[0] in ("--write", "--hide"):
        (writable if words[0] == "--write" else hidden).append(words[1])
        del words[:2]
    if kind in ("bwrap", "claude"):
        binds = [w for d in writable for w in ("--bind", d, d)] + [w for d in hidden for w in ("--tmpfs", d)]
        inner = [sys.executable, os.path.abspath(__file__), "seccomp-claude" if kind == "claude" else "seccomp"]
        words = ["bwrap", "--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--unshare-net",
                 "--proc", "/proc"] + binds + ["--"] + inner + words
    elif kind == "landlock":
        lock_files(writable)
    if kind not in ("bwrap", "claude"):
        filter_calls(kind == "seccomp-claude")
    try:
        os.execvp(words[0], words)
    except OSError as e:
        sys.stderr.write("client_sandbox: %s: %s\n" % (words[0], e))
        sys.exit(77)


if __name__ == "__main__":
    main(sys.argv[1:])
