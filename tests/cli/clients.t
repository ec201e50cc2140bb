#!/bin/sh
# Real agent clients, with Helm put in front of them by setup: what must not happen does not, what may does, and all is on record.
# The clients come from npm into build/; the model they talk to is a script on loopback.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

[ "${HELM_TEST_CLIENTS:-}" = 1 ] || skip_all "real clients are downloaded and driven only by ./check --all"
for tool in npm node python3 git; do
  command -v $tool >/dev/null 2>&1 || skip_all "$tool is not there"
done
clients=$(sh "$HELM_SOURCE/tests/clients/install.sh" "$HELM_SOURCE/build/clients")
claude=$(printf '%s\n' "$clients" | sed -n 's/^claude-code //p')
codex=$(printf '%s\n' "$clients" | sed -n 's/^codex //p')

helm init >/dev/null
ws=$scratch/home/.helm/workspace
mkdir "$scratch/bin"
cp "$HELM_REAL" "$scratch/bin/helm"
project=$scratch/project
log=$scratch/told.json
# Three calls: one that may happen, one a person would have to approve, one that is never allowed.  All harmless here, and none
# that a client refuses by itself.
safe="echo hello > $project/safe.txt"
asked="find $project/victim -delete"
denied="find $ws/victim -delete"

fresh() {
  rm -rf "$project" "$ws/victim"
  mkdir -p "$project/victim" "$ws/victim"
  git -C "$project" init -q
  cd "$project" || exit 1
}
drive() { # drive CLIENT [--bypass-trust] CALL...
  who=$1
  shift
  case $who in claude-code) program=$claude ;; *) program=$codex ;; esac
  python3 "$HELM_SOURCE/tests/clients/drive.py" "$who" "$program" "$scratch/home" "$project" "$log" "$@"
}
install() { env -i PATH="$PATH" HOME="$scratch/home" "$scratch/bin/helm" setup "$@"; }
told() { grep -qF -e "$1" "$log" || { cat "$log"; return 1; }; }
on_record() { # on_record CLIENT
  python3 - "$ws/.helm/tool-calls.jsonl" "$1" <<'PY'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
verdicts = [r["verdict"] for r in rows if r.get("client") == sys.argv[2] and "verdict" in r and "agent_task" not in r and "self-test" not in r["session"]]
print(verdicts)
sys.exit(0 if verdicts == ["ALLOW", "ESCALATE", "DENY"] else 1)
PY
}
common() { # common CLIENT: after a run of all three
  ok "$1: the safe call happened" test -s "$project/safe.txt"
  ok "$1: what needs a person did not" test -d "$project/victim"
  ok "$1: what is never allowed did not" test -d "$ws/victim"
  ok "$1: the model was told why, and what to do instead" told "Remediation:"
  ok "$1: all three are on record" on_record "$1"
  ok "$1: and it verifies" says 0 ADMISSIBLE helm verify "$ws/.helm/receipts.jsonl" --key "$scratch/home/.helm/keys/root.pub"
  mv "$scratch/home/.helm/keys" "$scratch/home/.helm/away"
}
supervised() { # supervised CLIENT: all of it in a session; what the guard lets pass and the walls do not is stopped as well
  rm -rf "$project/victim" "$project/safe.txt"
  mkdir -p "$project/victim"
  HELM_AGENT="$scratch/bin/helm agent --profile service_ops" drive "$1" "$safe" "sh -c 'echo bad >$scratch/bad'" "$asked" "$denied"
}
in_session() { # in_session CLIENT: after that
  ok "$1 in a session: the safe call happened" test -s "$project/safe.txt"
  ok "$1 in a session: nothing was written outside" test ! -e "$scratch/bad"
  ok "$1 in a session: nothing was destroyed" test -d "$ws/victim" -a -d "$project/victim"
  ok "$1 in a session: its hooks asked the supervisor" sh -c "'$scratch/bin/helm' agent report --workspace '$ws' | grep -q '4 calls: '"
  ok "$1 in a session: the log is sound" helm log check
}
contained() { # contained CLIENT: its shell commands run inside the walls, and one session holds them together
  echo 'open("'"$scratch"'/home/he" + "ld", "w")' >held.py
  ok "$1: a script that the guard does not know" drive "$1" "python3 held.py || echo no" "echo left > \"\$TMPDIR/left\"" "cat \"\$TMPDIR/left\""
  ok "$1: cannot write outside" test ! -e "$scratch/home/held"
  ok "$1: calls share one place" told left
  ok "$1: the record names the walls" grep -q '"containment": *"walls"' "$ws/.helm/tool-calls.jsonl"
  ok "$1: nothing ran bare" python3 -c 'import json, sys
assert not [r for r in map(json.loads, open(sys.argv[1])) if r.get("containment") == "none"]' "$ws/.helm/tool-calls.jsonl"
}
runs() { # runs PROGRAM
  HOME="$scratch/home" timeout 60 "$1" --version >"$scratch/.version" 2>&1 && echo "# $(tail -n 1 "$scratch/.version")"
}

if runs "$claude"; then
  fresh
  ok "claude-code: it runs in a session, without setup" supervised claude-code
  in_session claude-code
  fresh
  ok "claude-code: setup arms it" says 0 "armed:" install claude-code --yes
  ok "claude-code: the client runs" drive claude-code "$safe" "$asked" "$denied"
  common claude-code
  ok "claude-code: without its key" drive claude-code "$denied" "$asked"
  ok "claude-code: still nothing is destroyed" test -d "$ws/victim" -a -d "$project/victim"
  ok "claude-code: and the model hears that" told INBOX_SIGNER_UNAVAILABLE
  mv "$scratch/home/.helm/away" "$scratch/home/.helm/keys"
  contained claude-code
  rm "$scratch/bin/helm"
  ok "claude-code: without Helm's program" drive claude-code "$asked" "$denied"
  ok "claude-code: nothing is destroyed either" test -d "$ws/victim" -a -d "$project/victim"
  ok "claude-code: and status sees it" says 1 broken helm setup status claude-code
  cp "$HELM_REAL" "$scratch/bin/helm"
  nothing_left() { terminal -- helm setup remove claude-code --yes >/dev/null && ! test -e .claude; }
  ok "claude-code: removed, and nothing is left" nothing_left
else
  skip "claude-code" "the client does not run here: $(tail -n 1 "$scratch/.version")"
fi

if runs "$codex"; then
  fresh
  ok "codex: setup says that it is not armed yet" says 1 "NOT ARMED YET" install codex --yes
  mkdir -p "$scratch/home/.codex"
  printf '[projects."%s"]\ntrust_level = "trusted"\n' "$project" >"$scratch/home/.codex/config.toml"
  # Nobody has trusted the hook, and the project would switch it off: in a session it is armed by the command line.
  printf '[features]\nhooks = false\n' >"$project/.codex/config.toml"
  ok "codex: it runs in a session, with hooks that nobody has trusted" supervised codex
  in_session codex
  rm "$project/.codex/config.toml"
  # Trust, as a person gives it in /hooks: the hash of the hook as it is.
  python3 "$HELM_SOURCE/tests/clients/drive.py" --trust "$project/.codex/hooks.json" >>"$scratch/home/.codex/config.toml"
  ok "codex: trusted, status says armed" says 0 "project  armed" helm setup status codex
  ok "codex: it runs in a session" supervised codex
  in_session codex
  rm -f "$project/safe.txt"
  ok "codex: the client runs" drive codex "$safe" "$asked" "$denied"
  common codex
  ok "codex: without its key" drive codex "$denied" "$asked"
  ok "codex: still nothing is destroyed" test -d "$ws/victim" -a -d "$project/victim"
  ok "codex: and the model hears that" told INBOX_SIGNER_UNAVAILABLE
  mv "$scratch/home/.helm/away" "$scratch/home/.helm/keys"
  contained codex
  rm "$scratch/bin/helm"
  ok "codex: without Helm's program" drive codex "$asked" "$denied"
  ok "codex: nothing is destroyed either" test -d "$ws/victim" -a -d "$project/victim"
  cp "$HELM_REAL" "$scratch/bin/helm"
  # What "not armed" means: without trust the client skips the hook, and says nothing.
  sed -i '/^\[hooks/d; /^trusted_hash/d' "$scratch/home/.codex/config.toml"
  ok "codex: untrusted, status does not call it armed" says 1 "not_armed" helm setup status codex
  drive codex "$asked" >/dev/null 2>&1
  if [ -d "$project/victim" ]; then echo "# codex: an untrusted hook was not skipped this time"; else echo "# codex: an untrusted hook was skipped, as said"; fi
  mkdir -p "$project/victim"
  ok "codex: with trust waived for automation" drive codex --bypass-trust "$asked"
  ok "codex: the call does not happen" test -d "$project/victim"
else
  skip "codex" "the client does not run here: $(tail -n 1 "$scratch/.version")"
fi
[ "$count" -gt "$skipped" ] || skip_all "no client runs here"
finish
