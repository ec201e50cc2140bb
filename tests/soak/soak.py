#!/usr/bin/env python3
"""soak.py [--minutes N] [--seed N] [--agents N] [--build DIR] [--keep]: many agents at once, and a model that knows what they were told.

Agents call hooks, run commands, save, restore and prune files, check, repair and export, in throw-away homes, with the programs of a
build.  Beside them a person chooses, freezes, pauses, accepts and rotates keys: at a terminal that was there before the agents, or with
a registered key.  Homes of earlier builds (tests/cases/states) are opened, worked in and brought up to date.  Meanwhile processes are
killed at random moments, system calls fail (helm-test, which is helm with a twin of the outside world) or limits are too low, clocks
step, derived files, ledger entries, receipts, signed heads, histories of keys, lists of checkpoints and packs are damaged and repaired,
closed files are archived (helm-small closes them early), and the disk of one home is filled and freed, and read-only for a while
(needs root: a small tmpfs).

The model remembers what was acknowledged: an exit code that says done, or an answer that was printed.  Every minute, and at the end,
all agents wait, and what the model remembers is compared with what is recorded:

  lost          acknowledged, and not there any more (a receipt, a row, a checkpoint, a pack); or lost with a damage, and not named
  false alarm   something was called damaged, or refused, and nothing was wrong
  wrong state   a run is called something it is not (a completed one failed, a killed one running), or a call ends without a word
  hang          a call that did not end

A hook that denies because time ran out, on a machine that is overloaded by others, is counted as late.
A process that was killed told nothing, so nothing is expected of it, except that it breaks nothing; one whose system call failed may
refuse, and what it calls done is done.  A refusal counts only where
nothing was damaged and the disk was not full.

The seed decides what each agent does and when it is killed; the order in which the kernel runs them is not ours, so a seed makes
the same load again, not the same moment.  Prints one line of counts, and where every finding is noted, which is kept always; exit 1,
with the directory kept, when any of the four is not zero."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from agents import Agent
from model import SOURCE, TERMINAL, TIMEOUT_S, Counts, Site
from trouble import Filler

TMPFS_BYTES = 256 << 20


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--minutes", type=float, default=10)
    ap.add_argument("--seed", type=int, default=None)
    ap.add_argument("--agents", type=int, default=4)
    ap.add_argument("--build", default=os.path.join(SOURCE, "build", "release"))
    ap.add_argument("--keep", action="store_true")
    ap.add_argument("--kill", type=float, default=0.08, help="how likely one call is killed")
    ap.add_argument("--fault", type=float, default=0.12, help="how likely a system call of one call fails, or it gets less than it needs")
    ap.add_argument("--without", default="", help="what not to do: names of operations, and 'clock'; separated by commas")
    args = ap.parse_args()
    seed = args.seed if args.seed is not None else int.from_bytes(os.urandom(4), "big")
    os.nice(10)
    root = tempfile.mkdtemp(prefix="helm-soak.")
    counts = Counts(os.path.join(root, "findings"))
    print("soak: seed %d, %g minutes, %d agents a home, in %s" % (seed, args.minutes, args.agents, root), flush=True)
    stop, mounted, terminals = threading.Event(), None, os.path.join(root, "terminals")
    os.makedirs(terminals)
    subprocess.run([sys.executable, TERMINAL, "--serve", terminals], check=True)  # before there is any agent
    args.build = os.path.abspath(args.build)  # its programs are started from other directories
    sites = [Site("disk", os.path.join(root, "disk"), os.path.join(root, "packs"), terminals, args.build, counts, seed)]
    small = os.path.join(root, "small")
    os.makedirs(small)
    if os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=%d,mode=0700" % TMPFS_BYTES, "helm-soak", small], capture_output=True).returncode == 0:
        mounted = small
        sites.append(Site("small", os.path.join(small, "s"), os.path.join(root, "packs-small"), terminals, args.build, counts, seed))
    else:
        print("soak: without a full disk: only root can mount a small one", flush=True)
    threads = []
    started = time.monotonic()
    try:
        for s in sites:
            s.begin()
            n = args.agents if s.name == "disk" else max(2, args.agents // 2)
            threads += [Agent(s, i, seed, stop, args) for i in range(n)]
        if mounted:
            threads.append(Filler(sites[1], mounted, seed, stop))
        for t in threads:
            t.start()
        end = started + args.minutes * 60
        while time.monotonic() < end:
            time.sleep(max(0.1, min(60, end - time.monotonic())))
            if time.monotonic() >= end:
                break
            for s in sites:
                with s.gate.alone():
                    s.compare(False)
            counts.note("after %.0f s: %s" % (time.monotonic() - started, dict(counts.n)))
        stop.set()
        for t in threads:
            t.join(TIMEOUT_S * 2)
        for s in sites:
            s.compare(True)
    finally:
        stop.set()
        shutil.rmtree(terminals, ignore_errors=True)  # which ends their server
        errors = [t.error for t in threads if getattr(t, "error", None)]
        n = counts.n
        failed = bool(errors or n["lost"] or n["false_alarms"] or n["wrong_states"] or n["hangs"])
        if mounted and failed:
            shutil.copytree(mounted, os.path.join(root, "small-kept"), symlinks=True, ignore_dangling_symlinks=True)
        if mounted:
            subprocess.run(["umount", mounted], capture_output=True)
    for text in errors:
        print(text)
    counts.note("calls: %s" % dict(counts.by_op))
    print("soak: seed=%d minutes=%.1f %s" % (seed, (time.monotonic() - started) / 60, " ".join("%s=%d" % (name, n[name]) for name in (
        "ops", "kills", "faults", "clock_steps", "rotations", "damages", "packs", "key_damages", "repairs", "partly_back", "kept_aside", "prunes", "exports", "archives",
        "brought_back", "upgrades", "approvals", "freezes", "acts", "mended", "typed", "full_disks", "read_only", "refused_in_trouble", "late",
        "slow", "lost", "false_alarms", "wrong_states", "hangs"))), flush=True)
    for text in counts.late[:20]:
        print("soak: late: %s" % text[:2000])
    if failed or args.keep:
        print("soak: what it left is in %s" % root)
    else:
        kept = root + ".findings"
        shutil.copyfile(os.path.join(root, "findings"), kept)
        shutil.rmtree(root, ignore_errors=True)
        print("soak: what it noted is in %s" % kept)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
