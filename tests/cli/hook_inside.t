#!/bin/sh
# Hooks inside a supervised session: what the client wrote goes to the supervisor, and what it answers to the client, whatever the size and
# whatever goes wrong; and what is kept there from call to call is never older than what a person has said.
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace
project=$scratch/project
terminal USE -- helm profile use workspace_edit >/dev/null 2>&1

cat >"$project/inside.py" <<'PY'
import json, os, subprocess, sys, time
helm, mode = sys.argv[1], sys.argv[2]
def call(command):
    return json.dumps({"tool_name": "Bash", "tool_input": {"command": command}, "session_id": "s", "cwd": os.getcwd()})
def hook(payload, words=("pre-tool", "--client", "claude-code"), **how):
    p = subprocess.run([helm, "hook", *words], input=payload, text=True, capture_output=True, **how)
    return p.returncode, p.stdout, p.stderr
def is_denied(answer, why):
    code, out, err = answer
    return code == 0 and json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "deny" and why in out
if mode == "forms":
    silent = (0, "", "")
    said = {
        "allowed": hook(call("touch x")) == silent,
        "denied": is_denied(hook(call("rm -rf /")), "deny.rm_root"),
        "large": is_denied(hook(call("rm -rf / # " + "x" * 100000)), "deny.rm_root"),
        "too large": hook(call("# " + "x" * (9 << 20)))[0] == 2,
        "empty": hook("")[0] == 2,
        "no call": hook("[]")[0] == 2,
        "named workspace": is_denied(hook(call("rm -rf /"), ("pre-tool", "--client", "claude-code", "--workspace", "/nowhere")), "deny.rm_root"),
        "other spelling": is_denied(hook(call("rm -rf /"), ("pre-tool", "--client=claude-code")), "deny.rm_root"),
        "other client": hook(call("rm -rf /"), ("pre-tool", "--client", "codex"))[1].find("deny.rm_root") > 0,
        "unknown client": hook(call("ls"), ("pre-tool", "--client", "nobody"))[0] == 2,
        "odd client": hook(call("ls"), ("pre-tool", "--client", 'x","ask":"status'))[0] == 2,
        "no client": hook(call("ls"), ("pre-tool",))[0] == 2,
        "after": hook(call("touch x"), ("post-tool", "--client", "claude-code")) == silent,
        "after nothing": hook("", ("post-tool", "--client", "claude-code"))[0] == 1,
        "help": "usage" in hook("", ("pre-tool", "--help"))[1].lower(),
    }
    # A client that has closed its end of the pipe still sees a block, not a death by a signal.
    r, w = os.pipe()
    os.close(r)
    p = subprocess.run([helm, "hook", "pre-tool", "--client", "claude-code"], input=call("rm -rf /"), text=True, stdout=w, stderr=subprocess.PIPE)
    said["nobody reads"] = p.returncode == 2
    # A stream that is closed is not taken for the line to the supervisor.
    for closed in ("<&-", ">&-", "2>&-"):
        began = time.monotonic()
        p = subprocess.run(["sh", "-c", '"$0" hook pre-tool --client claude-code ' + closed, helm], input=call("rm -rf /"), text=True, capture_output=True)
        said["closed " + closed] = (p.returncode == 2 or (closed != ">&-" and "deny.rm_root" in p.stdout)) and time.monotonic() - began < 8
    print(" ".join(n for n in said if not said[n]) or "all")
elif mode == "one":
    print(hook(call("touch x"))[1] or "allowed", flush=True)
    open("asked", "w").close()
    while not os.path.exists("changed"):
        time.sleep(0.02)
    print(hook(call("touch x"))[1] or "allowed")
PY
inside() { helm agent python3 -- inside.py "$HELM_REAL" "$@"; }
ok "every form of a hook is answered, and what goes wrong is a block" says 0 "all" inside forms

# between WORD COMMAND...: what the second of two calls hears when that was done between them.
between() {
  rm -f "$project/asked" "$project/changed"
  inside one >"$scratch/said" 2>&1 &
  pid=$! i=0
  while [ ! -e "$project/asked" ] && [ $i -lt 400 ]; do sleep 0.05; i=$((i + 1)); done
  word=$1
  shift
  "$@" || echo "failed: $*"
  : >"$project/changed"
  wait $pid
  [ "$(head -n 1 "$scratch/said")" = allowed ] && sed 1d "$scratch/said" | grep -q "$word" && return 0
  cat "$scratch/said"
  return 1
}
rule() { echo '{"version":1,"absolute_deny":[{"id":"no_touch","patterns":["touch"]}]}' >"$ws/references/guard_policy.json"; }
ok "nothing between two calls changes nothing" between allowed true
ok "a stricter rule that appears in the workspace counts for the next call" between no_touch rule
rm -f "$ws"/references/guard_policy.json*
broken() { echo '{' >"$ws/references/guard_policy.json"; }
ok "one that cannot be read asks about everything" between fail_closed broken
rm -f "$ws"/references/guard_policy.json*
choose() { python3 - "$ws/.helm/workspace.json" <<'PY'
import json, sys
doc = json.load(open(sys.argv[1]))
doc["default_profile"] = "inspect_local"
json.dump(doc, open(sys.argv[1], "w"))
PY
}
ok "a stricter profile in the workspace's file, too" between profile.write choose
finish
