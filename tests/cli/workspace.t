#!/bin/sh
# init, detect, doctor, and which directory is the workspace.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

ws=$scratch/home/.helm/workspace
ok "doctor before init says what to do" says 1 "helm init --path" helm doctor --skip-discovery
ok "init makes the default workspace" says 0 "workspace=$ws" helm init
ok "its parts are there" test -f "$ws/references/execution_profiles.json" -a -d "$ws/.helm/checkpoints" -a -f "$ws/MEMORY.md"
ok "state is private" sh -c 'test "$(stat -c %a "$0/.helm")" = 700' "$ws"
ok "doctor is content" says 0 "healthy=yes" helm doctor --skip-discovery
ok "doctor --json is JSON" is_json helm doctor --json
echo "my own line" >>"$ws/MEMORY.md"
ok "init again keeps what is there" says 0 "created=0" helm init
ok "the edit survived" grep -q "my own line" "$ws/MEMORY.md"
ok "--force restores and keeps a copy" says 0 "replaced=MEMORY.md" helm init --force
ok "the copy has the edit" grep -q "my own line" "$ws/MEMORY.md.bak"
echo "{" >"$ws/references/execution_profiles.json"
ok "a broken reference is named with its place" says 1 "execution_profiles.json:2:1" helm doctor --skip-discovery
helm init --force >/dev/null

mkdir -p project/sub other/docs
ok "init elsewhere" says 0 "project" helm init --path project
from_below() { (cd project/sub && helm "$@"); }
ok "found from below" says 0 "workspace=$scratch/project" from_below doctor --skip-discovery
ok "detect looks where it stands, too" says 0 "source=cwd" from_below detect
ok "a directory with docs is generic only when named" says 0 "layout=generic" helm detect --path other
ok "~ is not a workspace although it has .helm" says 0 "layout=unknown" helm detect --path "$scratch/home/nowhere"
ok "the home directory leads to the nested workspace" says 0 "source=nested" helm detect --path "$scratch/home"
HELM_ENV="HELM_WORKSPACE=$scratch/project"
ok "HELM_WORKSPACE counts" says 0 "source=env" helm detect
ok "--path wins over it" says 0 "workspace=$scratch/other" helm detect --path other
HELM_ENV=
if [ "$(id -u)" -ne 0 ]; then
  mkdir closed && chmod 500 closed
  ok "a place that cannot be made is one line" says 1 "cannot create workspace" helm init --path closed/w
else
  ok "a place that cannot be made is one line" says 1 "cannot create workspace" helm init --path /proc/w
fi
ok "a file in the way is one line" says 1 "not a directory" sh -c ': >file; HOME='"$scratch/home"' '"$HELM_REAL"' init --path file/w'
printf '{"a":1}\nnot json\n' >"$ws/.helm/task-ledger.jsonl"
ok "a torn ledger is counted" says 1 "1 of 2 lines cannot be read, the first is line 2" helm doctor --skip-discovery
finish
