#!/usr/bin/env python3
"""agent.py [--first COMMAND INPUT] COMMAND...: a program that starts COMMAND and waits for it, as an agent client starts a hook: whoever
asks for the caller of the hook finds this process.  With --first the same process has run another command before, given INPUT."""
import subprocess
import sys

args = sys.argv[1:]
if args[0] == "--first":
    subprocess.run(["sh", "-c", args[1]], input=args[2].encode(), stdout=subprocess.DEVNULL, check=False)
    args = args[3:]
sys.exit(subprocess.call(args))
