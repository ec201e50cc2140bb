#!/usr/bin/env python3
"""A person at a terminal with a shell, for tests of what runs on it.

session.py [--size ROWSxCOLUMNS] STEP... -- COMMAND...: start COMMAND below a shell with job control, and take the steps one after the other:

  wait:TEXT     until the terminal has shown TEXT since the last step; ends with 1 when that takes longer than 20 seconds
  type:TEXT     as if a person typed it; \\n, \\x1a and the like are understood
  size:RxC      the window gets another size
  signal:N      the command itself gets signal N
  mode:raw      the terminal is in raw mode (mode:cooked: it is not); ends with 1 when not so after 5 seconds
  shell         the shell has the terminal again: the command was stopped or has ended

Prints what the terminal showed.  Exit code: the command's own as the shell saw it, or 1 with a line about the step that failed."""
import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

PROMPT = b"SHELL-PROMPT>"


class Terminal:
    def __init__(self, rows, columns):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["PS1"] = PROMPT.decode()
            os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])
        self.resize(rows, columns)
        self.shown, self.at = b"", 0

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.shown += data
        return bool(data)

    def wait(self, text, seconds=20):
        end = time.monotonic() + seconds
        while text not in self.shown[self.at:]:
            left = end - time.monotonic()
            if left <= 0 or (not self.read(left) and left < 0.01):
                return False
        self.at = self.shown.index(text, self.at) + len(text)
        return True

    def is_raw(self):
        return not termios.tcgetattr(self.fd)[3] & termios.ICANON

    def mode(self, raw):
        end = time.monotonic() + 5
        while self.is_raw() != raw and time.monotonic() < end:
            self.read(0.05)
        return self.is_raw() == raw

    def foreground(self):
        return os.tcgetpgrp(self.fd)


def take(t, step):
    what, _, text = step.partition(":")
    if what == "wait":
        return t.wait(text.encode())
    if what == "type":
        os.write(t.fd, codecs.decode(text, "unicode_escape").encode())
        return True
    if what == "size":
        t.resize(*map(int, text.split("x")))
        return True
    if what == "signal":
        os.kill(t.foreground(), int(text))
        return True
    if what == "mode":
        return t.mode(text == "raw")
    return t.wait(PROMPT)


def main():
    args, size = sys.argv[1:], (24, 80)
    if args[0] == "--size":
        size = tuple(map(int, args[1].split("x")))
        args = args[2:]
    steps, command = args[: args.index("--")], args[args.index("--") + 1:]
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in command)
    t = Terminal(*size)
    code, failed = 1, None
    if t.wait(PROMPT):
        os.write(t.fd, quoted.encode() + b"\n")
        t.wait(b"\n")
        failed = next((step for step in steps if not take(t, step)), None)
    if not failed:
        os.write(t.fd, b"echo CODE=$?=\n")
        if t.wait(b"CODE=") and t.wait(b"CODE=") and t.wait(b"="):
            code = int(t.shown[:t.at].rsplit(b"=", 2)[1])
        else:
            failed = "end"
    os.write(1, t.shown)
    if failed:
        print("\nstep failed:", failed)
    os.kill(t.pid, signal.SIGHUP)
    os.kill(t.pid, signal.SIGKILL)
    return 1 if failed else code


sys.exit(main())
