#!/bin/sh
# The lines of the README that people copy (Quickstart, A three-minute demo, Workflows), typed as they stand there: from the home
# directory, from a project and from the workspace.  Each ends as it should, and what it records lies in the workspace that was named.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v git >/dev/null || skip_all "git is not here"
HOME=$scratch/home
export HOME

# What each line ends with; "git" and "ruff": as that program does by itself where one stands.
cat >"$scratch/lines" <<'LINES'
git helm profile run inspect_local --task-name "first look" -- git status --short
0 helm status --brief
0 helm dashboard
git helm profile run inspect_local --task-name "inspect current repository" -- git status --short
0 helm checkpoint create --label before-risky-work --include $HELM_WORKSPACE
0 helm report --format markdown
0 helm dashboard
0 helm doctor
0 helm status --brief
0 helm dashboard
git helm profile run inspect_local --task-name "inspect repository state" -- git status --short
ruff helm profile run workspace_edit --task-name "tighten typing in api/" -- ruff check api/
0 helm survey
0 helm onboard --use-detected --dry-run
0 helm onboard --use-detected
0 helm checkpoint-recommend
0 helm checkpoint list
0 helm task list --status running
0 helm task doctor
0 helm report --format markdown
0 helm context --mode decisions --explain-ranking --json
0 helm context --mode timeline --since 2026-05-01
0 helm context --mode entity --entity project_helm
0 helm context --mode reflect-candidates
0 helm privacy scan --text "Contact alice@example.com" --json
0 helm privacy tokenize --scope task-123 --text "Contact alice@example.com"
0 helm skill-lifecycle negative-claims --persist
0 helm skill-lifecycle revalidation-due
2 helm skill-lifecycle revalidate-claim --skill old-skill --claim-id sha256:abc123 --status resolved --note "command now exists"
0 helm run-contract --json
0 helm capability-diff --json
0 helm skill-promotion digest --json
0 helm shadow-report --since 14 --format md --with-recommendations
0 helm health state --json
1 helm health select --json
LINES

wanted() { # wanted CODE: the exit code where one stands
  case $1 in
  git) git status --short >/dev/null 2>&1 ;;
  ruff) ruff check api/ >/dev/null 2>&1 ;;
  *) return "$1" ;;
  esac
}
type_all() { # type_all [OPTIONS]: every line, here; OPTIONS stand behind the words of each command
  while read -r code line; do
    [ -n "${1:-}" ] && line=$(printf '%s\n' "$line" | sed "s| -- | $1 -- |; t; s|\$| $1|")
    wanted "$code"
    want=$?
    eval "$line" >"$scratch/.typed" 2>&1 </dev/null
    got=$?
    [ $got -eq $want ] || { echo "exit $got, wanted $want: $line"; head -5 "$scratch/.typed"; return 1; }
  done <"$scratch/lines"
}
runs() { # runs WORKSPACE: how many runs its ledger has ended
  grep -c '"status": "\(completed\|failed\)"' "$1/.helm/task-ledger.jsonl"
}
holds() { [ "$1" = "$2" ] || { echo "is $1, wanted $2"; return 1; }; }
everything() { find "$@" -type f -exec sha256sum {} + | sort; }

ok "helm init --path ~/.helm/workspace" helm init --path ~/.helm/workspace
export HELM_WORKSPACE=~/.helm/workspace
HELM_ENV="HELM_WORKSPACE=$HELM_WORKSPACE"
mkdir "$scratch/project"
git -C "$scratch/project" init -q
echo text >"$scratch/project/notes.txt"

n=0
for place in "$scratch/home" "$scratch/project" "$HELM_WORKSPACE"; do
  cd "$place" || exit 1
  n=$((n + 1))
  ok "every line, from ${place#"$scratch"/}" type_all
  ok "its runs are on record in the workspace" holds "$(runs "$HELM_WORKSPACE")" $((4 * n))
  ok "its checkpoint is listed there" says 0 before-risky-work helm checkpoint list
  ok "and can be brought back from there" exits 0 helm checkpoint restore before-risky-work --dry-run
done
cd "$scratch/project" || exit 1
ok "the project holds what it held" holds "$(find . -path ./.git -prune -o -type f -print)" "./notes.txt"
ok "so does the home directory" holds "$(ls -A "$scratch/home")" ".helm"
ok "the record is sound" exits 0 helm log check

# "Every command also accepts --path /custom/workspace".
custom=$scratch/custom
ok "another workspace" helm init --path "$custom"
everything "$HELM_WORKSPACE" >"$scratch/before"
grep -v -- --include "$scratch/lines" >"$scratch/lines.path" && mv "$scratch/lines.path" "$scratch/lines"
ok "every line with --path" type_all "--path $custom"
ok "is on record there" holds "$(runs "$custom")" 4
ok "and nowhere else" sh -c 'find "$1" -type f -exec sha256sum {} + | sort | cmp - "$2"' - "$HELM_WORKSPACE" "$scratch/before"
finish
