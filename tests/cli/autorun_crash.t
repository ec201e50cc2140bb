#!/bin/sh
# helm is killed at each of its system calls, around a command that leaves auto-run files; and so is the run that finishes the clean-up.  Behind
# one more run nothing of it stays, and nothing of the operator's own is lost.
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace
git init -q . 2>/dev/null || skip_all "git is needed"
mkdir -p .claude own/deep
echo '{"mine": 1}' >.claude/settings.json
echo mine >own/deep/.envrc
printf '[user]\n\tname = me\n' >>.git/config
ln -s own/deep .codex
rm -rf .git/hooks
cat >plant.py <<'PY'
import os
def put(name, text="evil\n"):
    try:
        os.makedirs(os.path.dirname("./" + name), exist_ok=True)
        open(name, "a").write(text)
    except OSError:
        pass
for name in (".en" + "vrc", ".vs" + "code/tasks.json", "new/.en" + "vrc", ".git/hooks/pre-commit", ".mcp" + ".json"):
    put(name)
put(".git/config", "[core]\n\tfsmonitor = touch pwned\n")
put(".cla" + "ude/settings.json")
os.chmod(".vs" + "code", 0)
os.chmod(".", 0o311)
PY
sleep 0.1
home=$scratch/home
picture() { find . -path ./.helm -prune -o \( -name '.envrc' -o -name tasks.json -o -name .mcp.json -o -name pre-commit -o -path ./.git/config -o -name settings.json \
  -o -path ./.codex \) -printf '%p %y %m %l ' -exec sh -c 'test -f "$1" && cksum <"$1" || echo' - {} \; | sort; }
before=$(picture)
as_before() {
  now=$(picture)
  [ "$now" = "$before" ] && [ -z "$(find "$home/.helm/journal" -name '*.json')" ] && [ "$(stat -c %a .)" = 755 ] && return 0
  echo "$now" | diff - "$scratch/.before"
  find "$home/.helm/journal" -name '*.json'
  return 1
}
echo "$before" >"$scratch/.before"
tidy() { find . -name '*.held-by-helm*' -prune -exec rm -rf {} +; rm -rf new .vscode; }
clock() { echo $(($(date +%s%N) / 1000)); } # the twin's own would be another than that of the file system
hurt() { # hurt N: killed at its N-th call; 0: it got through
  HELM_ENV="HELM_TEST_KILL_AT=$1 HELM_TEST_CLOCK_US=$(clock)" helm_twin run --guard-mode audit -- python3 plant.py >"$scratch/.o" 2>&1
}
sweep() {
  n=0
  while :; do
    n=$((n + 1))
    hurt $n
    code=$?
    helm run -- true >"$scratch/.then" 2>&1 || { echo "after call $n ($code):"; cat "$scratch/.o" "$scratch/.then"; return 1; }
    as_before || { echo "after call $n ($code):"; cat "$scratch/.o" "$scratch/.then"; return 1; }
    tidy
    [ $code -eq 137 ] || break
    [ $n -lt 400 ] || { echo "it never gets through"; return 1; }
  done
  [ $n -gt 20 ] || { echo "only $n calls"; return 1; }
}
ok "killed at every call of a run" sweep
# Killed while its command has done everything, and then the one that cleans up, too.
leave() {
  helm run --guard-mode audit -- sh -c 'python3 plant.py; : >own/go; exec sleep 60' >"$scratch/.o" 2>&1 &
  for _ in $(seq 400); do [ -e own/go ] && break; sleep 0.02; done
  pid=$(python3 -c 'import glob,json,sys
for f in glob.glob(sys.argv[1] + "/*.json"): print(json.load(open(f))["pid"])' "$home/.helm/journal")
  kill -9 "$pid"
  wait
  rm -f own/go
}
sweep_recovery() {
  n=0
  while :; do
    n=$((n + 1))
    leave
    HELM_ENV="HELM_TEST_KILL_AT=$n HELM_TEST_CLOCK_US=$(clock)" helm_twin task recover --path "$ws" >"$scratch/.o" 2>&1
    code=$?
    helm run -- true >"$scratch/.then" 2>&1 || { echo "after call $n ($code):"; cat "$scratch/.o" "$scratch/.then"; return 1; }
    as_before || { echo "after call $n ($code):"; cat "$scratch/.o" "$scratch/.then"; return 1; }
    tidy
    [ $code -eq 137 ] || break
    [ $n -lt 200 ] || { echo "it never gets through"; return 1; }
  done
  [ $n -gt 5 ] || { echo "only $n calls"; cat "$scratch/.o"; return 1; }
}
ok "killed at every call of the clean-up" sweep_recovery
ok "the record is whole" helm log check
ok "nothing is owed" helm task doctor --fix
finish
