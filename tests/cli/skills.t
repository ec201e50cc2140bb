#!/bin/sh
# Skills under contract: each member of a contract, and attempts to leave it: by a shell, by python, by a child, by a hook.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to read answers"
PATH=/usr/bin:/bin # a python3 that is one program and no chain of scripts
command -v python3 >/dev/null 2>&1 || skip_all "python3 of the system is not here"
w=/var/tmp/helm-skills.$$
trap 'chmod -R u+rwX "$scratch" "$w" 2>/dev/null; rm -rf "$scratch" "$w"' EXIT
helm init --path "$w" >/dev/null || { echo "Bail out! helm init failed"; exit 1; }
cd "$w" || exit 1
HELM_ENV="HELM_WORKSPACE=$w"
mkdir -p docs src/private secret
echo int >src/a.c
echo key >src/private/x

contract() { # contract NAME JSON: the skill with this contract, accepted
  mkdir -p "skills/$1"
  printf -- '---\nname: %s\ndescription: a test\n---\n# %s\n' "$1" "$1" >"skills/$1/SKILL.md"
  printf '%s\n' "$2" >"skills/$1/contract.json"
  helm skill accept "$1" >/dev/null
}
under() { # under SKILL PROFILE command...
  s=$1 p=$2
  shift 2
  helm profile run "$p" --skill "$s" -- "$@"
}
lacks_text() { # lacks_text TEXT command...: it ends well, and does not say that
  t=$1
  shift
  "$@" >"$scratch/.said" 2>&1 || { cat "$scratch/.said"; return 1; }
  ! grep -qF -e "$t" "$scratch/.said" || { cat "$scratch/.said"; return 1; }
}
absent() { [ ! -e "$1" ] || { ls -l "$1"; return 1; }; }
field() { python3 -c 'import json,sys
v=json.load(sys.stdin)
for k in sys.argv[1].split("."): v=v[int(k)] if isinstance(v,list) else v.get(k)
print(v)' "$1"; }
both='"allowed_profiles":["workspace_edit","service_ops"],"default_profile":"workspace_edit"'
# The guard reads literal paths; these are only known when it runs, so that walls have to hold.
cat >docs/try.py <<'P'
import os, subprocess, sys
def say(word, fn):
    try:
        fn()
        print(word, "done")
    except (OSError, subprocess.CalledProcessError):
        print(word, "refused")
target = "".join(sys.argv[1:2]) or "s" + "rc"
say("write", lambda: open(os.path.join(target, "w"), "w"))
say("child", lambda: subprocess.run(["sh", "-c", "echo x > " + os.path.join(target, "c")], check=True))
say("remove", lambda: os.unlink(os.path.join(target, "a.c")))
say("mkdir", lambda: os.mkdir(os.path.join(target, "d")))
say("rename", lambda: os.rename("docs/try.py", os.path.join(target, "try.py")))
say("link", lambda: os.link("docs/try.py", os.path.join(target, "hard")))
P

# ---- paths ----
contract paths "{\"skill\":\"paths\",$both,\"paths\":{\"write\":[\"docs\",\"new/place\"],\"hidden\":[\"src/private\"]}}"
ok "what the contract names can be written" under paths workspace_edit sh -c 'echo x >docs/a && echo y >new/place/b'
ok "a shell cannot write elsewhere" says 25 "skill 'paths'" under paths workspace_edit sh -c 'echo x >src/b'
ok "nor can python" exits 25 under paths workspace_edit python3 -c 'open("src/b","w")'
ok "nor tools that write in place" exits 25 under paths workspace_edit sed -i s/int/x/ src/a.c
ok "it is on record" says 0 skill.paths helm task list --json --limit 1
ok "where the guard cannot know, walls hold: write, child, remove, mkdir, rename, link" lacks_text "done" under paths workspace_edit python3 docs/try.py
ok "nothing was done" sh -c '[ "$(ls src)" = "a.c
private" ]'
ok "what is hidden cannot be read" exits 25 under paths workspace_edit cat src/private/x
mkdir -p .helm/task-bundles/copy && echo key >.helm/task-bundles/copy/x
ok "nor a copy that Helm keeps" lacks_text key under paths workspace_edit python3 -c 'import sys; p="."+"helm/task-bundles/copy/x"
try: print(open(p).read())
except OSError as e: print("no", e.errno)'
ok "nor when the guard does not know" lacks_text key under paths workspace_edit python3 -c 'import sys; p="s"+"rc/private/x"
try: print(open(p).read())
except OSError as e: print("no", e.errno)'
ok "the root of the tree is closed" absent README.new
rm -rf docs/sub
contract sub "{\"skill\":\"sub\",$both,\"paths\":{\"write\":[\"docs/sub\"]}}"
ln -s "$w/src" docs/sub
ok "a link in the place of what may be written opens nothing" says 0 refused under sub workspace_edit python3 docs/try.py docs/sub
ok "nothing came through it" absent src/w
rm docs/sub
contract none "{\"skill\":\"none\",$both,\"paths\":{\"write\":[]}}"
ok "an empty list writes nothing" exits 25 under none workspace_edit touch docs/x

# ---- hosts ----
contract hosts "{\"skill\":\"hosts\",$both,\"hosts\":[]}"
ok "no host, though the profile has the network" exits 25 under hosts service_ops curl -s https://example.com
cat >docs/net.py <<'P'
import socket
try:
    s = getattr(socket, "soc" + "ket")(socket.AF_INET, socket.SOCK_STREAM)
    s.settimeout(2)
    s.connect(("192.0.2.1", 80))
    print("reached")
except OSError:
    print("closed")
P
ok "nor by a program that nobody can read" lacks_text reached under hosts service_ops python3 docs/net.py
contract one "{\"skill\":\"one\",$both,\"hosts\":[\"example.com\"]}"
ok "one host: another is refused" exits 25 under one service_ops curl -s https://example.org
ok "the same profile without the contract would ask nobody" exits 0 helm profile run service_ops --guard-json -- curl -s https://example.org
ok "one host: that one is judged fine" lacks_text deny helm profile run service_ops --skill one --guard-json -- curl -s https://example.com

# ---- commands ----
contract cmds "{\"skill\":\"cmds\",$both,\"commands\":[\"python3 docs/start.py\",\"cat docs\"]}"
cat >docs/start.py <<'P'
import os, shutil, subprocess
for argv in (["/usr/bin/id"], ["sh", "-c", "id"], ["/bin/ls"], ["/usr/bin/env", "id"]):
    try:
        r = subprocess.run(argv, capture_output=True)
        print("ran" if r.returncode == 0 else "refused")
    except OSError:
        print("refused")
shutil.copy("/usr/bin/id", "docs/id")
os.chmod("docs/id", 0o755)
try:
    print("ran" if subprocess.run(["docs/id"]).returncode == 0 else "refused")
except OSError:
    print("refused")
P
ok "a command of the list runs" exits 0 under cmds workspace_edit python3 docs/start.py
ok "programs that it starts do not" lacks_text ran under cmds workspace_edit python3 docs/start.py
ok "another program does not" says 25 "it runs ls" under cmds workspace_edit ls
ok "the same program with other words does not" exits 25 under cmds workspace_edit python3 docs/try.py
ok "behind a shell, too" exits 25 under cmds workspace_edit sh -c 'python3 docs/start.py; id'
cp /usr/bin/id docs/python3
ok "nor a file of the tree that has the name of a program of the list" exits 25 under cmds workspace_edit docs/python3 docs/start.py
rm -f docs/id docs/python3

# ---- tools ----
contract tools "{\"skill\":\"tools\",$both,\"tools\":[\"read_file\",\"git_diff\"]}"
ok "without the group of changes nothing is written" exits 25 under tools workspace_edit touch docs/t
ok "walls hold it, too" says 0 refused under tools workspace_edit python3 docs/try.py docs
ok "without that of the network nothing is reached" exits 25 under tools service_ops curl -s https://example.com
ok "reading is fine" exits 0 under tools workspace_edit cat src/a.c

# ---- budget and runner ----
contract slow "{\"skill\":\"slow\",$both,\"budget\":{\"seconds\":1,\"output_mb\":1,\"processes\":64}}"
ok "its time is bounded" exits 124 under slow workspace_edit sleep 20
ok "more time cannot be asked for" exits 124 helm profile run workspace_edit --skill slow --timeout 60 -- sleep 20
# Each limit, from inside: by the program itself, by a shell and by a child.
cat >docs/more.py <<'P'
import os, subprocess, sys
def files():
    return [open("docs/more.py") for _ in range(200)]
def write():
    with open("docs/large", "wb") as f:
        for _ in range(8): f.write(b"x" * 1000000); f.flush()
def memory():
    return bytearray(900 << 20)
def children():
    running = [subprocess.Popen(["sleep", "3"]) for _ in range(60)]
    [p.wait() for p in running]
def output():
    for _ in range(8): sys.stdout.write("x" * 1000000); sys.stdout.flush()
what = sys.argv[1]
try:
    globals()[what]()
    sys.stderr.write(what + " done\n")
except (OSError, MemoryError):
    sys.stderr.write(what + " refused\n")
P
cat >docs/child.py <<'P'
import subprocess, sys
sys.exit(subprocess.run([sys.executable, "docs/more.py", sys.argv[1]]).returncode)
P
# The sanitizers take more memory than anybody has.
memory='"memory_mb":512,' limits="files write memory output"
! grep -qa __asan_init "$HELM_REAL" || memory='' limits="files write output"
contract small "{\"skill\":\"small\",$both,\"budget\":{\"processes\":30,$memory\"file_mb\":2,\"open_files\":64,\"output_mb\":1}}"
beyond() { # beyond SCRIPT WHAT: it runs, and does not get there
  under small workspace_edit python3 "docs/$1.py" "$2" >/dev/null 2>"$scratch/.said"
  ! grep -q -e "done" -e GUARD "$scratch/.said" || { cat "$scratch/.said"; return 1; }
}
# The kernel counts no processes of root's without a control group, and the row says so (sum_of_processes).
if [ "$(id -u)" -eq 0 ]; then
  skip "a limit of the contract is not left: children" "the kernel does not count root's processes"
else
  limits="$limits children"
fi
for limit in $limits; do
  ok "a limit of the contract is not left: $limit" beyond more "$limit"
  ok "nor by a child: $limit" beyond child "$limit"
done
ok "a shell does not get a larger file, either" sh -c '! "$@" && [ "$(wc -c <docs/shell)" -le 2097152 ]' - env HOME="$scratch/home" HELM_WORKSPACE="$w" "$HELM_REAL" profile run workspace_edit --skill small -- sh -c 'head -c 5000000 /dev/zero >docs/shell'
ok "nor raises what it was given" sh -c '! "$@" 2>/dev/null' - env HOME="$scratch/home" HELM_WORKSPACE="$w" "$HELM_REAL" profile run workspace_edit --skill small -- sh -c 'ulimit -n 4096 && echo raised'
for limit in files write memory; do
  ok "without the contract the same is done: $limit" says 0 "$limit done" helm profile run workspace_edit -- python3 docs/more.py "$limit"
done
contract thrice "{\"skill\":\"thrice\",$both,\"budget\":{\"calls_per_day\":2}}"
ok "calls a day: the first" exits 0 under thrice workspace_edit true
ok "calls a day: the second" exits 0 under thrice workspace_edit true
ok "calls a day: no third" says 25 "skill:thrice" under thrice workspace_edit true
contract entry "{\"skill\":\"entry\",$both,\"runner\":{\"entrypoint\":\"python3 docs/net.py\",\"strict_required\":true}}"
ok "only its entrypoint starts it" exits 25 under entry workspace_edit python3 docs/try.py
ok "which does" exits 0 under entry workspace_edit python3 docs/net.py
ok "skill run starts it" says 0 closed helm skill run entry

# ---- profiles, validity, pins ----
contract prof '{"skill":"prof","allowed_profiles":["inspect_local"],"default_profile":"inspect_local"}'
ok "another profile is refused" says 1 "only under inspect_local" under prof workspace_edit true
ok "and the way that its contract has is said" says 1 "helm run --profile inspect_local --skill prof -- COMMAND" under prof workspace_edit true
ok "advice does not lead out of a contract" says 25 "the contract of skill 'prof' does not have the profile that this takes" under prof inspect_local touch out
contract bad "{\"skill\":\"bad\",$both,\"paths\":{\"write\":[\"../x\"]}}"
ok "an invalid contract runs nothing" says 1 "below the tree" under bad workspace_edit true
contract typo "{\"skill\":\"typo\",$both,\"budget\":{\"second\":1}}"
ok "a misspelled limit is no limit, so it runs nothing" says 1 "no such limit" under typo workspace_edit true
ok "validate says so" says 1 "budget.second" helm skill validate typo
printf 'more\n' >>skills/paths/SKILL.md
ok "changed files are refused" says 25 "helm skill accept paths" under paths workspace_edit true
ok "... until a person accepts them" helm skill accept paths
ok "then it runs" exits 0 under paths workspace_edit true
mkdir -p skills/first && cp skills/paths/contract.json skills/first/
ok "the first use pins" exits 0 under first workspace_edit true
printf '{"skill":"first"}\n' >skills/first/contract.json
echo more >skills/first/more.md
ok "what was changed and what was added is named" says 0 "changed: contract.json, added: more.md" helm skill show first
rm skills/first/more.md
ok "so a contract cannot be widened afterwards" says 25 "not those that were accepted" under first workspace_edit true
ok "guard-mode off does not take a contract off" exits 25 helm profile run workspace_edit --skill paths --guard-mode off -- touch src/off
ok "a pin is a receipt" says 0 helm.skill/pin sh -c 'grep -h -o helm.skill/pin .helm/receipts.jsonl | head -1'

# ---- hooks ----
hook() { # hook SESSION TOOL INPUT [CLIENT]
  printf '{"session_id":"%s","cwd":"%s","tool_name":"%s","tool_input":%s}' "$1" "$w" "$2" "$3" | helm hook pre-tool --client "${4:-claude-code}" 2>&1
}
denied() { hook "$@" >"$scratch/.said"; grep -q 'HELM denied' "$scratch/.said" || { cat "$scratch/.said"; return 1; }; }
passes() { hook "$@" >"$scratch/.said"; ! grep -q 'HELM denied\|helm: ' "$scratch/.said" || { cat "$scratch/.said"; return 1; }; }
ok "before a skill is active a session writes" passes s1 Write "{\"file_path\":\"$w/src/h\",\"content\":\"x\"}"
ok "a skill is activated by its tool" passes s1 Skill '{"skill":"paths"}'
ok "it is listed" says 0 s1 helm skill sessions
ok "then a file elsewhere is refused" denied s1 Write "{\"file_path\":\"$w/src/h\",\"content\":\"x\"}"
ok "one of the contract is not" passes s1 Write "{\"file_path\":\"$w/docs/h\",\"content\":\"x\"}"
ok "a shell call elsewhere is refused" denied s1 Bash '{"command":"echo x > src/h"}'
ok "one whose text nobody can read, too" denied s1 Bash '{"command":"python3 docs/try.py"}'
ok "one that hides what it does, too" denied s1 Bash '{"command":"eval \"$X\""}'
ok "a second name for a file elsewhere is a change of that file" denied s1 Bash '{"command":"ln src/a.c docs/second"}'
ok "a look-up reaches a host" denied s1 Bash '{"command":"getent hosts example.com"}'
for c in 'grep -r key src' 'grep -rn key .' 'cat src/*/x' 'tar cf docs/x.tar src' 'find src -type f -exec cat {} +' 'git show HEAD:src/private/x' 'rg key' 'cat \"$X\"' 'cat .helm/checkpoints/index.json' 'diff -r src docs'; do
  ok "without walls nobody reads around what is hidden: $c" denied s1 Bash "{\"command\":\"$c\"}"
done
ok "nor by a search of the client" denied s1 Grep '{"pattern":"key"}'
ok "nor out of what Helm keeps" denied s1 Read "{\"file_path\":\"$w/.helm/checkpoints/index.json\"}"
ok "names may be listed" passes s1 Bash '{"command":"ls -R src"}'
ok "and files read that are named" passes s1 Bash '{"command":"grep -n int src/a.c"}'
ok "what is hidden is not read" denied s1 Read "{\"file_path\":\"$w/src/private/x\"}"
ok "other files are" passes s1 Read "{\"file_path\":\"$w/src/a.c\"}"
ok "another session is free" passes s2 Write "{\"file_path\":\"$w/src/h\",\"content\":\"x\"}"
ok "a second skill adds to the first" passes s1 Skill '{"skill":"tools"}'
ok "what either forbids is forbidden" denied s1 Write "{\"file_path\":\"$w/docs/h\",\"content\":\"x\"}"
contract twice "{\"skill\":\"twice\",$both,\"budget\":{\"calls_per_day\":2}}"
ok "a session under a budget" passes s5 Skill '{"skill":"twice"}'
ok "has so many calls" passes s5 Bash '{"command":"touch docs/h1"}'
ok "and so many" passes s5 Bash '{"command":"touch docs/h2"}'
ok "and no more" denied s5 Bash '{"command":"touch docs/h3"}'
ok "another session draws on the same" passes s6 Skill '{"skill":"twice"}'
ok "and has none left" denied s6 Bash '{"command":"touch docs/h4"}'
ok "a skill that does not fit is not activated" denied s3 Skill '{"skill":"prof"}'
ok "nor an invalid one" denied s3 Skill '{"skill":"bad"}'
ok "one that is none of ours is none of our business" passes s3 Skill '{"skill":"somebody-elses"}'
printf -- '---\nname: agent\ndescription: x\nallowed-tools: Read, Bash(git diff:*)\n---\n' >"$scratch/SKILL.md"
mkdir -p .claude/skills/agent && cp "$scratch/SKILL.md" .claude/skills/agent/
ok "a client's own skill is activated, too" passes s4 Skill '{"skill":"agent"}'
ok "its allowed-tools hold" denied s4 Write "{\"file_path\":\"$w/docs/h\",\"content\":\"x\"}"
ok "also when the agent shells around them" denied s4 Bash '{"command":"echo x > docs/h"}'
ok "what they allow is allowed" passes s4 Bash '{"command":"git diff HEAD"}'
ok "a client without a tool for skills activates one by reading it" passes c1 Bash '{"command":"cat skills/paths/SKILL.md"}' codex
ok "and is held to it" denied c1 Bash '{"command":"echo x > src/h"}' codex

# ---- looking ----
ok "usage adds up" [ "$(helm skill usage --json | python3 -c 'import json,sys; print(all(s["runs"] == s["completed"] + s["failed"] + s["blocked"] + s["other"] for s in json.load(sys.stdin)))')" = True ]
ok "usage counts" [ "$(helm skill usage paths --json | field 0.left_contract)" -gt 3 ]
ok "route finds by words" says 0 '"direct"' helm skill route paths please --min-score 30 --json
ok "nothing fits" exits 1 helm skill route xyzzy
ok "a typo is answered with the nearest name" says 1 "did you mean paths" helm skill show pths
ok "programs and variables that a skill needs, as the Python Helm takes them" helm skill create --name needs --description x --bins jq git --env TOKEN HOME2
ok "are all in its text" sh -c 'grep -q jq "$1" && grep -q git "$1" && grep -q HOME2 "$1"' - "$w/skills/needs/SKILL.md"
finish
