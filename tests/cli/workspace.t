#!/bin/sh
# init, detect, doctor, and which directory is the workspace.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

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

mkdir -p repo/below other/docs project/sub
git init -q repo 2>/dev/null || mkdir -p repo/.git
ok "init in a repository says what git will see" says 0 "git sees MEMORY.md, references/ as new" helm init --path repo
ok "also below its top" says 0 "as new: commit them or not, as you like; it ignores .helm/" helm init --path repo/below
quiet_init() { ! helm init --path repo | grep -q "git sees"; }
ok "not again" quiet_init
helm init --path project >"$scratch/.init"
ok "elsewhere it has nothing to say of git" sh -c '! grep -q "git sees" "$0"' "$scratch/.init"
ok "init elsewhere" says 0 "project" cat "$scratch/.init"
from_below() { (cd project/sub && helm "$@"); }
ok "found from below" says 0 "workspace=$scratch/project" from_below doctor --skip-discovery
ok "detect looks where it stands, too" says 0 "source=cwd" from_below detect
ok "a directory with docs is generic only when named" says 0 "layout=generic" helm detect --path other
mkdir -p "$scratch/home/.openclaw"
ok "another runtime that is here is told" says 0 "found_openclaw=$scratch/home/.openclaw" helm detect
rmdir "$scratch/home/.openclaw"
mkdir "$scratch/home/nowhere"
ok "~ is not a workspace although it has .helm" says 0 "layout=unknown" helm detect --path "$scratch/home/nowhere"
ok "the home directory leads to the nested workspace" says 0 "source=nested" helm detect --path "$scratch/home"
HELM_ENV="HELM_WORKSPACE=$scratch/project"
ok "HELM_WORKSPACE counts" says 0 "source=env" helm detect
ok "--path wins over it" says 0 "workspace=$scratch/other" helm detect --path other
HELM_ENV=
# Without a workspace here: the work tree one stands in, its checkpoints beside Helm's own files.
tree=$scratch/home/code/app
mkdir -p "$tree/src/deep" "$tree/.git" "$scratch/home/code/plain"
for i in 1 2 3; do echo "source $i" >"$tree/src/$i.c"; done
in_tree() { (cd "$tree/src/deep" && helm "$@"); }
kept=$scratch/home/.helm/trees
ok "a dry run says which directory" says 0 "would save $tree: 3 files" in_tree checkpoint create --dry-run
kept_of_it() { ls "$kept"/*/tree.json >/dev/null 2>&1; }
makes_nothing() { ! kept_of_it; }
ok "and makes nothing" makes_nothing
ok "there are none at first" says 0 "no checkpoints of $tree yet" in_tree checkpoint list
ok "looking makes nothing either" makes_nothing
ok "a checkpoint is of the tree" says 0 "\"root\": \"$tree\"" in_tree checkpoint create --label mine --json
ok "and says how many files" grep -q '"files": 3' "$scratch/.stdout"
ok "it is kept in the helm home" sh -c 'grep -q "\"tree\": \"$1\"" "$0"/*/tree.json' "$kept" "$tree"
ok "for nobody else" sh -c 'test "$(stat -c %a "$0"/* | sort -u)" = 700' "$kept"
ok "and not in the tree" test ! -e "$tree/.helm"
ok "nor in the default workspace" sh -c '! grep -q mine "$0/.helm/checkpoints/index.json" 2>/dev/null' "$ws"
rm -rf "$tree/src/1.c" "$tree/src/2.c"
ok "it brings the files back" says 0 "written=2" in_tree checkpoint restore mine
ok "really" grep -q "source 2" "$tree/src/2.c"
ok "on record" grep -q "checkpoint restore" "$ws/.helm/task-ledger.jsonl"
ok "an absolute path" says 0 "unchanged=1" in_tree checkpoint restore mine --only "$tree/src/2.c"
ok "another tree has its own" says 0 "no checkpoints of $scratch/home/code/plain yet" sh -c 'cd "$1/home/code/plain" && HOME="$1/home" "$0" checkpoint list' "$HELM_REAL" "$scratch"
ok "a named workspace is itself" says 0 "no checkpoints of $ws yet" in_tree checkpoint list --path "$ws"
ok "status says which place" says 0 "tree=$tree" in_tree status --plain
ok "risky_edit saves the tree" exits 0 in_tree profile run risky_edit -- sh -c 'rm ../3.c'
in_tree checkpoint list >"$scratch/.list"
ok "and says so in its list" grep -q risky_edit-checkpoint "$scratch/.list"
ok "latest brings back what it deleted" says 0 "written=1" in_tree checkpoint restore latest
ok "really" grep -q "source 3" "$tree/src/3.c"
in_tree run --guard-mode audit -- sh -c "ls -R '$kept'; ls '$tree/src'" >"$scratch/.ls" 2>&1
ok "a run sees the tree" grep -q 2.c "$scratch/.ls"
ok "and not what is kept of it" sh -c '! grep -qE "tree.json|index.json" "$0"' "$scratch/.ls"
terminal -- helm profile use workspace_edit --destructive checkpoint >/dev/null
ok "a loss in the tree is undone, not asked" exits 0 sh -c 'cd "$2/src" && HOME="$1/home" "$0" run -- rm -rf 1.c' "$HELM_REAL" "$scratch" "$tree"
ok "as it says" says 0 "written=1" in_tree checkpoint restore latest
in_tree profile use workspace_edit --destructive ask >/dev/null
refused() { says 1 "$2" sh -c 'cd "$2" && HOME="$1/home" "$0" checkpoint create' "$HELM_REAL" "$scratch" "$1"; }
ok "not the home directory" refused "$scratch/home" "it is the home directory"
ok "nor above it" refused "$scratch" "it is the home directory, or above it"
ok "nor /" refused / "it is the whole machine"
ok "nor the system's" refused /etc "it is a system directory"
ok "nor Helm's own" refused "$kept" "it is Helm's own"
ok "it says what to do" refused / "helm init --path DIR"
ok "nor does a run that must save first" says 1 "the required checkpoint failed" sh -c 'cd "$1/home" && HOME="$1/home" "$0" profile run risky_edit -- true' "$HELM_REAL" "$scratch"

if [ "$(id -u)" -ne 0 ]; then
  mkdir closed && chmod 500 closed
  ok "a place that cannot be made is one line" says 1 "cannot create workspace" helm init --path closed/w
else
  ok "a place that cannot be made is one line" says 1 "cannot create workspace" helm init --path /proc/w
fi
ok "a file in the way is one line" says 1 "not a directory" sh -c ': >file; HOME='"$scratch/home"' '"$HELM_REAL"' init --path file/w'
printf '{"a":1}\nnot json\n' >"$ws/.helm/task-ledger.jsonl"
ok "a torn ledger is counted" says 1 "1 of 2 lines cannot be read, the first is line 2" helm doctor --skip-discovery

# ---- twenty at once, the first time ----
mkdir "$scratch/crowd"
crowd_init() { env -i PATH="$PATH" HOME="$scratch/crowd" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" "$@"; }
n=0
while [ $n -lt 20 ]; do
  n=$((n + 1))
  { crowd_init init >"$scratch/crowd.$n" 2>&1 && echo fine >"$scratch/crowd.$n"; } &
done
wait
ok "twenty first inits at once all succeed" sh -c 'cat "$0".* | sort -u | grep -qx fine && test "$(cat "$0".* | sort -u | wc -l)" -eq 1' "$scratch/crowd"
ok "with one key" test "$(grep -c created "$scratch/crowd/.helm/keys/history.jsonl")" -eq 1
ok "and a workspace that is whole" exits 0 crowd_init doctor --skip-discovery

# ---- names that would command the terminal ----
evil=$(printf 'e\033[31mvil')
mkdir "$evil"
helm init --path "$evil" >"$scratch/shown" 2>&1
ok "init prints no raw escape" sh -c 'grep -q vil "$0" && ! LC_ALL=C grep -q "$(printf "\033")" "$0"' "$scratch/shown"
for words in "doctor --skip-discovery" detect status dashboard; do
  # shellcheck disable=SC2086 # words on purpose
  helm $words --path "$evil" >"$scratch/shown" 2>&1
  ok "$words prints no raw escape" sh -c '! LC_ALL=C grep -q "$(printf "\033")" "$0"' "$scratch/shown"
done
helm freeze --principal "$evil" --reason "$evil" --path "$evil" >"$scratch/shown" 2>&1
helm freeze status --path "$evil" >>"$scratch/shown" 2>&1
terminal -- helm unfreeze --principal "$evil" --path "$evil" >>"$scratch/shown" 2>&1
ok "nor does freeze" sh -c 'grep -q vil "$0" && ! LC_ALL=C grep -q "$(printf "\033")" "$0"' "$scratch/shown"
finish
