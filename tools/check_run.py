#!/usr/bin/env python3
"""check_run.py — runs the long parts of ./check, shows how far they are, and counts.

check_run.py build LOG COMMAND...
    Runs a build. Its output goes to LOG; the part of it that says what failed is printed.
check_run.py test RESULTS PRESET [--again] [CTEST OPTION]...
    Runs the tests of a preset and appends a line for each to RESULTS. --again runs failed tests once more, alone; a
    test that passes only then counts as passed and gets a line "unsteady".
check_run.py counts RESULTS
    Prints what was skipped and what failed, and as the last line "N passed, N failed, N skipped". Exits 1 when
    something failed.

A line of RESULTS: OUTCOME, PART, NAME and REASON, separated by tabs. OUTCOME is passed, failed, skipped or unsteady.
A test that was skipped has one line "skipped". A test that ran has one line "passed" or "failed", and one line "skipped"
for each check inside it that it left out and said so:
    ok 7 - a login over ssh # SKIP sshd is not installed       (TAP: skip in tests/cli/lib.sh)
    SKIPPED: only root can make devices                        (cmocka: skip_because() in tests/tools/unit.h)
    [  SKIPPED ] name_of_the_test
"""
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

NO_REASON = "it gives no reason"
SILENCE = 20  # seconds between two lines of progress where there is no terminal


class Progress:
    """One line that is rewritten on a terminal; elsewhere a line every SILENCE seconds."""

    def __init__(self):
        self.terminal = sys.stdout.isatty()
        self.shown = 0
        self.last = time.monotonic()

    def show(self, text):
        if self.terminal:
            print("\r" + text[:100].ljust(self.shown), end="", flush=True)
            self.shown = len(text[:100])
        elif time.monotonic() - self.last >= SILENCE:
            print(text, flush=True)
            self.last = time.monotonic()

    def write(self, line):
        self.clear()
        print(line, flush=True)

    def clear(self):
        if self.shown:
            print("\r" + " " * self.shown + "\r", end="", flush=True)
            self.shown = 0


def run(command, on_line):
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as child:
        for line in child.stdout:
            on_line(line.rstrip("\n"))
    return child.returncode


def build(log_path, command):
    progress = Progress()
    lines = []

    with open(log_path, "w", encoding="utf-8") as log:

        def on_line(line):
            lines.append(line)
            print(line, file=log)
            step = re.match(r"\[(\d+)/(\d+)\]", line)
            if step:
                progress.show(f"  {step[1]} of {step[2]} steps")

        code = run(command, on_line)
    progress.clear()
    if code:
        first = next((i for i, line in enumerate(lines) if re.search(r"FAILED:|[Ee]rror", line)), max(0, len(lines) - 60))
        print("\n".join(lines[first : first + 60]))
    return code


def skipped_checks(output):
    """The checks that a test left out, as pairs of name and reason."""
    found = {}
    reason = None
    for line in output.splitlines():
        tap = re.match(r"(?:# )?(?:not )?ok\b\s*\d*\s*(?:- )?(.*?)\s*# SKIP\b:?\s*(.*)", line, re.IGNORECASE)
        if tap:
            found.setdefault(tap[1] or "a check", tap[2] or NO_REASON)
            continue
        said = re.match(r"SKIPPED: (.*)", line)
        if said:
            reason = said[1]
            continue
        cmocka = re.match(r"\[  SKIPPED \] (\w+)$", line)
        if cmocka:
            found.setdefault(cmocka[1], reason or NO_REASON)
            reason = None
    return sorted(found.items())


def whole_reason(output):
    for pattern in (r"^1\.\.0\s*# SKIP\b:?\s*(.*)", r"SKIPPED: (.*)"):
        said = re.search(pattern, output, re.MULTILINE | re.IGNORECASE)
        if said and said[1]:
            return said[1]
    return NO_REASON


def read_junit(path):
    """Outcome, reason and skipped checks of each test, by name."""
    tests = {}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        status = case.get("status")
        if status == "run":
            tests[case.get("name")] = ("passed", "", skipped_checks(output))
            continue
        # A test whose program is missing is "notrun", too, and that is a failure.
        why = next((e.get("message") or "" for e in case if e.tag in ("failure", "skipped")), "")
        if status == "notrun" and why.startswith("SKIP_"):
            tests[case.get("name")] = ("skipped", whole_reason(output), [])
        else:
            tests[case.get("name")] = ("failed", why, skipped_checks(output))
    return tests


def run_ctest(preset, options):
    """Runs ctest and shows how far it is. Returns its exit code and the tests as read_junit() gives them."""
    junit = os.path.abspath(f"build/{preset}/tests.xml")
    if os.path.exists(junit):
        os.remove(junit)
    progress = Progress()
    state = {"failed": 0, "skipped": 0, "over": False}

    def on_line(line):
        done = re.match(r"\s*(\d+)/(\d+) +Test +#\d+: (\S+) .*?(Passed|\*\*\*\S+)", line)
        if done:
            if done[4] == "***Skipped":
                state["skipped"] += 1
            elif done[4] != "Passed":
                state["failed"] += 1
                progress.write(line)
            progress.show(f"  {done[1]} of {done[2]} tests, {state['failed']} failed, {state['skipped']} skipped: {done[3]}")
        elif re.match(r"\d+% tests passed", line):
            state["over"] = True
        elif not state["over"] and line.strip() and not re.match(r"\s*(Start +\d+:|Test project )", line):
            progress.write(line)

    code = run(
        ["ctest", "--preset", preset, "--output-junit", junit, "--test-output-size-passed", "1000000"] + options, on_line
    )
    progress.clear()
    try:
        return code, read_junit(junit)
    except (OSError, ElementTree.ParseError) as problem:
        print(f"The results of the tests cannot be read: {problem}")
        return code or 1, {}


def test(results_path, preset, options):
    again = "--again" in options
    code, tests = run_ctest(preset, [option for option in options if option != "--again"])
    unsteady = []
    failed = [name for name, (outcome, _, _) in tests.items() if outcome == "failed"]
    if failed and again:
        print(f"\n== once more and alone: {' '.join(failed)}", flush=True)
        code, second = run_ctest(preset, ["--rerun-failed", "-j", "1"])
        tests.update(second)
        unsteady = [name for name in failed if second.get(name, ("failed",))[0] == "passed"]
    rows = []
    for name, (outcome, reason, checks) in sorted(tests.items()):
        rows.append((outcome, preset, name, reason))
        rows += [("skipped", preset, f"{name} ({check})", why) for check, why in checks]
    rows += [("unsteady", preset, name, "") for name in unsteady]
    if code and not any(row[0] == "failed" for row in rows):
        rows.append(("failed", preset, "ctest", f"exit code {code}"))
    with open(results_path, "a", encoding="utf-8") as results:
        for row in rows:
            print("\t".join(field.replace("\t", " ").replace("\n", " ") for field in row), file=results)
    return 1 if code else 0


def counts(results_path):
    with open(results_path, encoding="utf-8") as results:
        rows = [tuple(line.rstrip("\n").split("\t")) for line in results]
    for outcome, heading in (("unsteady", "passed only when run again"), ("skipped", "skipped"), ("failed", "failed")):
        listed = [row for row in rows if row[0] == outcome]
        if listed:
            print(f"\n== {heading}")
        for _, part, name, reason in listed:
            print(f"{part} {name}{': ' if reason else ''}{reason}")
    number = {outcome: sum(row[0] == outcome for row in rows) for outcome in ("passed", "failed", "skipped")}
    print(f"\n{number['passed']} passed, {number['failed']} failed, {number['skipped']} skipped")
    return 1 if number["failed"] else 0


def main():
    words = sys.argv[1:]
    if len(words) >= 3 and words[0] == "build":
        return build(words[1], words[2:])
    if len(words) >= 3 and words[0] == "test":
        return test(words[1], words[2], words[3:])
    if len(words) == 2 and words[0] == "counts":
        return counts(words[1])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
