#!/usr/bin/env python3
"""soak.py [--minutes N] [--seed N] [--agents N] [--build DIR] [--keep]: many agents at once, and a model that knows what they were told.

Agents call hooks, run commands, save and restore files, check, repair and export, in throw-away homes, with the programs of a build.
Beside them a person chooses, freezes, pauses, accepts and rotates keys: at a terminal that was there before the agents, or with a
registered key.  Meanwhile processes are killed at random moments, clocks step (helm-test, which is helm with another clock), derived files
are damaged, closed files are archived (helm-small closes them early), and the disk of one home is filled and freed (needs root: a small tmpfs).

The model remembers what was acknowledged: an exit code that says done, or an answer that was printed.  Every minute, and at the end,
all agents wait, and what the model remembers is compared with what is recorded:

  lost          acknowledged, and not there any more (a receipt, a row, a checkpoint, a pack)
  false alarm   something was called damaged, or refused, and nothing was wrong
  wrong state   a run is called something it is not (a completed one failed, a killed one running)

A hook that denies because time ran out, on a machine that is overloaded by others, is counted as late.
A process that was killed told nothing, so nothing is expected of it, except that it breaks nothing.  A refusal counts only where
nothing was damaged and the disk was not full.

The seed decides what each agent does and when it is killed; the order in which the kernel runs them is not ours, so a seed makes
the same load again, not the same moment.  Prints one line of counts, and where every finding is noted, which is kept always; exit 1,
with the directory kept, when any of the three is not zero."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from agents import Agent, Filler
from model import SOURCE, TERMINAL, TIMEOUT_S, Counts, Site

TMPFS_BYTES = 256 << 20


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--minutes", type=float, default=10)
    ap.add_argument("--seed", type=int, default=None)
    ap.add_argument("--agents", type=int, default=4)
    ap.add_argument("--build", default=os.path.join(SOURCE, "build", "release"))
    ap.add_argument("--keep", action="store_true")
    ap.add_argument("--kill", type=float, default=0.08, help="how likely one call is killed")
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
            threads.append(Filler(sites[1], seed, stop))
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
        failed = bool(errors or n["lost"] or n["false_alarms"] or n["wrong_states"])
        if mounted and failed:
            shutil.copytree(mounted, os.path.join(root, "small-kept"), symlinks=True, ignore_dangling_symlinks=True)
        if mounted:
            subprocess.run(["umount", mounted], capture_output=True)
    for text in errors:
        print(text)
    counts.note("calls: %s" % dict(counts.by_op))
    print("soak: seed=%d minutes=%.1f ops=%d kills=%d clock_steps=%d rotations=%d damages=%d repairs=%d prunes=%d exports=%d archives=%d brought_back=%d "
          "approvals=%d freezes=%d acts=%d mended=%d typed=%d full_disks=%d refused_in_trouble=%d late=%d "
          "lost=%d false_alarms=%d wrong_states=%d" % (
              seed, (time.monotonic() - started) / 60, n["ops"], n["kills"], n["clock_steps"], n["rotations"], n["damages"],
              n["repairs"], n["prunes"], n["exports"], n["archives"], n["brought_back"], n["approvals"], n["freezes"], n["acts"], n["mended"], n["typed"],
              n["full_disks"], n["refused_in_trouble"], n["late"], n["lost"], n["false_alarms"], n["wrong_states"]), flush=True)
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
