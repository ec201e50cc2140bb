#!/bin/sh
# Which sandbox stands on this machine is tried once, said in every place where it matters, and cached; the cache chooses the kind and permits nothing.
# shellcheck disable=SC2016 # words of the shell inside
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
machine=$HELM_BUILD/tests/lesser_machine_test
home=$scratch/home
cache=$home/.helm/machine.json

in_place() { # in_place VARIABLE helm ARGS...
  HELM_ENV=$1
  shift
  "$@"
  code=$?
  HELM_ENV=
  return $code
}
ok "init says which sandbox stands" says 0 "sandbox=" helm init --path "$scratch/ws"
ok "the answer is cached for its user alone" sh -c '[ ! -e "$0" ] || [ "$(stat -c %a "$0")" = 600 ]' "$cache"
ok "in a devcontainer it says that the record vanishes, and how to keep it" says 0 "its record and its key vanish with it" \
  in_place REMOTE_CONTAINERS=1 helm init --path "$scratch/ws"
ok "with a line to paste" says 0 '"mounts": ["source=helm-home,target=/helm,type=volume"]' in_place REMOTE_CONTAINERS=1 helm init --path "$scratch/ws"
cd "$scratch/ws" || exit 1
ok "status says it in one line" says 0 "Sandbox of runs: " helm status --plain
ok "and names the kind for programs" says 0 '"sandbox": ' helm status --json
ok "doctor shows each guarantee with its mechanism" says 0 "privilege  no_new_privs and dropped capabilities  tried" helm doctor --skip-discovery
ok "and in its document" says 0 '"guarantee": "autorun"' helm doctor --skip-discovery --json

[ -s "$cache" ] || { finish; exit; }
helm run -- true >/dev/null 2>&1
cached() { [ "$(stat -c %i "$cache")" = "$inode" ]; }
inode=$(stat -c %i "$cache")
helm run -- true
ok "a run leaves the cache as it is" cached
for damage in '' '{' '{"version": 1}' '[]' 'x'; do
  printf %s "$damage" >"$cache"
  ok "a run with the cache '$damage' is as before" helm run -- true
done
ok "and has made it anew" grep -q '"version": 1' "$cache"
rm -f "$cache"
mkdir "$cache"
ok "one that cannot be written does no harm" helm run -- true
rmdir "$cache"
helm run -- true

fits() { # fits SCHEMA FILE
  helm schema validate "$HELM_SOURCE/schemas/$1.schema.json" "$2"
}
protections() { tail -n 1 .helm/task-ledger.jsonl | python3 -c 'import json, sys; print(json.dumps(json.loads(sys.stdin.read())["protections"]))' >"$scratch/protections.json"; }
ok "the cache fits its schema" fits machine "$cache"
protections
ok "what the row says of the sandbox fits its schema" fits protections "$scratch/protections.json"

# A filter in front is another machine: the cache of the whole one is not used for it.
lesser() {
  lack=$1
  shift 2
  env -i PATH="$PATH" HOME="$home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$machine" --without "$lack" "$HELM_REAL" "$@"
}
says_why() { lesser namespaces helm doctor --skip-discovery | grep -q "no namespaces: the kernel refuses new namespaces: Operation not permitted"; }
if [ -x "$machine" ] && "$machine" --without landlock true; then
  ok "without Landlock none stands, and status says so" says 0 "Sandbox of runs: none: this machine cannot guarantee write" lesser landlock helm status --plain
  ok "doctor says which mechanism is not there" says 1 "the kernel offers no Landlock" lesser landlock helm doctor --skip-discovery
  ok "and what helps" says 1 "what helps here: " lesser landlock helm doctor --skip-discovery
  ok "where namespaces are refused doctor says why" says_why
  ok "the whole machine is as before" helm run -- true
fi

# The cache says which kind; each run judges its own guarantees.  A cache that claims the supervised kind gets no run that is not met.
python3 - "$cache" <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
d.update(namespaces=False, supervisor=True, unmet={"namespaces": ["write"], "supervised": []})
json.dump(d, open(sys.argv[1], "w"))
P
ok "status says what the supervised kind does not give" says 0 "not given: a loopback of its own" helm status
met_or_refused() { # it runs with every guarantee, or is refused by name
  helm run -- true >"$scratch/.attempt" 2>&1
  case $? in
  0) tail -n 1 .helm/task-ledger.jsonl | grep -q '"degraded": *false' ;;
  25) grep -q "cannot guarantee: " "$scratch/.attempt" ;;
  *) cat "$scratch/.attempt" && false ;;
  esac
}
ok "a run is met in full or refused, whatever the cache says" met_or_refused
# Directories of its own without mounts.
terminal TRUST -- helm workspace trust --degraded write,read,network,processes,state,end,privilege,own,autorun >/dev/null
mkdir -p "$home/.cargo/registry/cache/index" "$home/.npm"
echo old >"$home/.cargo/registry/cache/index/a.crate"
inside() { helm run --profile develop --guard-mode audit -- sh -c "$@"; }
ok "temporary files have a directory of the run, under all three names" inside '[ -d "$TMPDIR" ] && [ -z "$(ls "$TMPDIR")" ] && [ "$TMP" = "$TMPDIR" ] && [ "$TEMP" = "$TMPDIR" ] && echo x >"$TMPDIR/f"'
ok "caches are led to directories of the run" inside 'touch "$npm_config_cache/n" "$XDG_CACHE_HOME/c" "$CARGO_HOME/registry/cache/index/b.crate"'
ok "and nothing of them stays" sh -c '[ -z "$(ls "$0/.npm")" ] && [ "$(ls "$0/.cargo/registry/cache/index")" = a.crate ]' "$home"
ok "what a cache held is read" inside '[ "$(cat "$CARGO_HOME/registry/cache/index/a.crate")" = old ]'
ok "the old cache is not written" inside '! touch ~/.npm/n 2>/dev/null'
plain() { # a profile without layers
  helm run -- env >"$scratch/.attempt" 2>&1 && ! grep "^npm_config_cache=" "$scratch/.attempt" && return 0
  cat "$scratch/.attempt"
  return 1
}
ok "a profile without layers keeps its variables" plain
protections
ok "of the other kind, too" fits protections "$scratch/protections.json"
ok "the row says which sandbox stood, and how" sh -c 'tail -n 1 .helm/task-ledger.jsonl | grep "\"sandbox\": *\"supervised\"" | grep -q "\"own\": *\"environment\""'
ok "and what it does not give" sh -c 'tail -n 1 .helm/task-ledger.jsonl | grep -q "\"not_given\": *\[\"names and sizes of hidden files"'
finish
