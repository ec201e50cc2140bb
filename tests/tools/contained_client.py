#!/usr/bin/env python3
"""contained_client.py — a small agent client: asks the hook before each shell command and runs what it answers.

usage: contained_client.py [OPTIONS] HELM COMMAND...

Runs the commands one after the other as Claude Code does: in a fresh shell, by eval, the working directory carried from one to the next.
  --shell S     which shell (default bash)
  --state TEXT  commands that the shell runs first, like a snapshot of functions and aliases
  --bare        without hook: for comparison
  --stdin TEXT  on standard input, instead of nothing
  --plain       `S -c COMMAND`, as Codex does, instead of eval
  --show        only print what the hook answers
  --then TEXT   run TEXT in bash instead of the answer, which is $W; its ticket is $T and its number $ID
  --tty         on a pseudo-terminal; what is read from it is printed
  --say         print the exit code behind each command's output
  --inside W    the shell is started by these words, as by a client that has a sandbox of its own (client_sandbox.py)
  --after       tell the hook what each command printed, and print what it remarks
A command "@until FILE" is the client's own: it waits until there is such a file.
The exit code is that of the last command; 99 when the hook did not answer with another command."""
import json, os, pty, re, shlex, subprocess, sys, tempfile, time


class Client:
    def __init__(self, helm, shell="bash", state="", bare=False, plain=False, session="s1", client="claude-code", cwd=None, inside=""):
        self.helm, self.shell, self.state, self.bare, self.plain = helm, shell, state, bare, plain
        self.session, self.client, self.cwd, self.uses = session, client, cwd or os.getcwd(), 0
        self.inside = shlex.split(inside)

    def hook(self, verb, command, more=None, said=""):
        doc = {"session_id": self.session, "cwd": self.cwd, "tool_name": "Bash", "tool_use_id": "use%d" % self.uses,
               "tool_input": dict({"command": command, "description": "d"}, **(more or {}))}
        if verb == "post-tool":
            doc["tool_response"] = {"stdout": "", "stderr": said}
        p = subprocess.run([self.helm, "hook", verb, "--client", self.client], input=json.dumps(doc).encode(),
                           stdout=subprocess.PIPE, cwd=self.cwd)
        return json.loads(p.stdout) if p.stdout.strip() else {}

    def wrapped(self, command):
        """What the client is to run, or None."""
        if self.bare:
            return command
        self.uses += 1
        answer = self.hook("pre-tool", command).get("hookSpecificOutput", {})
        if answer.get("permissionDecision") not in ("allow", "ask"):
            return None
        return answer.get("updatedInput", {}).get("command")

    def argv(self, text, keep):
        if self.plain:
            return self.inside + [self.shell, "-c", text]
        quoted = "'" + text.replace("'", "'\"'\"'") + "'"
        head = self.state + "\n" if self.state else ""
        return self.inside + [self.shell, "-c", head + "eval " + quoted + " && pwd -P >| " + keep]

    def start(self, text, keep="/dev/null", **how):
        return subprocess.Popen(self.argv(text, keep), cwd=self.cwd, **how)

    def run(self, command, stdin=b""):
        """(exit code, standard output, standard error)"""
        text = self.wrapped(command)
        if text is None:
            return 99, b"", b"not wrapped\n"
        with tempfile.NamedTemporaryFile(dir=os.environ.get("KEEP")) as keep:
            p = self.start(text, keep.name, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            out, err = p.communicate(stdin)
            went = open(keep.name).read().strip()
        if went:
            self.cwd = went
        return p.returncode, out, err


def on_terminal(c, command):
    """The command on a pseudo-terminal; what it prints, and its exit code."""
    text = c.wrapped(command)
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(c.cwd)
        argv = c.argv(text, "/dev/null")
        os.execvp(argv[0], argv)
    out = b""
    while True:
        try:
            got = os.read(fd, 4096)
        except OSError:
            got = b""
        if not got:
            break
        out += got
        if b"ready" in out:
            os.write(fd, b"\x03" if b"ready^C" in out else b"typed\n")
            sys.stdout.buffer.write(out)
            out = b""
    sys.stdout.buffer.write(out)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(words):
    how, stdin, tty, say, show, then, after = {}, b"", False, False, False, None, False
    while words and words[0].startswith("--"):
        w = words.pop(0)
        if w in ("--shell", "--state", "--session", "--client", "--cwd", "--inside"):
            how[w[2:]] = words.pop(0)
        elif w == "--stdin":
            stdin = words.pop(0).encode()
        elif w == "--then":
            then = words.pop(0)
        elif w in ("--bare", "--plain"):
            how[w[2:]] = True
        elif w == "--tty":
            tty = True
        elif w == "--say":
            say = True
        elif w == "--show":
            show = True
        elif w == "--after":
            after = True
        else:
            sys.exit(__doc__)
    c = Client(words.pop(0), **how)
    code = 0
    for command in words:
        if command.startswith("@until "):
            until = time.monotonic() + 20
            while not os.path.exists(command[7:]) and time.monotonic() < until:
                time.sleep(0.02)
            continue
        if show:
            print(c.wrapped(command))
            continue
        if then is not None:
            text = c.wrapped(command) or ""
            number = (re.findall(r"(?:dec|look)-[0-9a-f]+", text) or [""])[0]
            code = subprocess.call(["bash", "-c", then], env=dict(os.environ, W=text, ID=number, H=c.helm,
                                                                  T=os.path.join(os.environ["HOME"], ".helm/calls", number)))
            continue
        if tty:
            code = on_terminal(c, command)
            continue
        code, out, err = c.run(command, stdin)
        sys.stdout.buffer.write(out)
        sys.stdout.buffer.flush()
        sys.stderr.buffer.write(err)
        sys.stderr.buffer.flush()
        if say:
            print("exit", code, flush=True)
        if not c.bare and code != 99:
            remark = c.hook("post-tool", command, said=err.decode(errors="replace") if after else "")
            if remark:
                print("remark:", remark["hookSpecificOutput"]["additionalContext"], flush=True)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(sys.argv[1:])
