#!/bin/sh
# Ways around a policy that do not lead around it: other names of a place, addresses beside the first one, other spellings of a server.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace

call() { # call TOOL INPUT: what the hook of an agent answers; to permit is to say nothing, and "answered" that it came to an end
  printf '{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"%s","tool_name":"%s","tool_input":%s,"tool_use_id":"u%s"}' "$PWD" "$1" "$2" "$count" |
    agent hook pre-tool --client claude-code 2>&1 && echo answered
}
cursor() { # cursor NAME INPUT
  printf '{"hook_event_name":"beforeMCPExecution","conversation_id":"s1","workspace_roots":["%s"],"tool_name":"%s","tool_input":%s}' "$PWD" "$1" "$2" |
    agent hook pre-tool --client cursor 2>&1
}
denied() { printf '%s' "$2" | grep -q "$1"; }
passes() { # passes ANSWER: permitted, and by nothing that broke
  [ "$1" = answered ] || ! printf '%s\n' "$1"
}

# ---- links ----
mkdir -p inside hidden/deep elsewhere
real=$(pwd -P)
ln -s "$real/hidden" inside/link
ln -s ../hidden inside/relative
ln -s "$real/inside" door
mkdir -p inside/a inside/b
ln -s "$real/hidden" inside/a/x
ln -s "$real/elsewhere" inside/a/out
ln -s "$real/hidden" "inside/b/two
lines"
cat >paths.yaml <<EOT
format: helm.policy.v1
name: paths
version: "1"
coverage: open
rules:
  - {id: not-hidden, action: "*", verdict: DENY, all: [{field: params.file_path, op: path_under, values: [$real/hidden]}]}
EOT
terminal -- helm policy use paths.yaml >/dev/null
for path in "$real/hidden/x" "$real/inside/link/x" "$real/inside/relative/x" inside/link/x ./inside/../inside/relative/new/file "$real/inside/link/../hidden/x"; do
  ok "denied behind a link: $path" denied not-hidden "$(call Write "{\"file_path\":\"$path\",\"content\":\"x\"}")"
done
long=$(awk 'BEGIN { for (i = 0; i < 2100; i++) printf "./" }')
deep=$(awk 'BEGIN { for (i = 0; i < 40; i++) printf "%0101d/", 0 }')
ok "denied where the client cleans the path first" denied not-hidden "$(call Write "{\"file_path\":\"$real/inside/a/out/../x/f\",\"content\":\"x\"}")"
ok "and from where the call is made" denied not-hidden "$(call Write '{"file_path":"inside/a/out/../x/f","content":"x"}')"
ok "denied behind a link whose name has two lines" denied not-hidden "$(call Write "{\"file_path\":\"$real/inside/b/two\\nlines/f\",\"content\":\"x\"}")"
ok "denied behind more than is looked up" denied not-hidden "$(call Write "{\"file_path\":\"$real/inside/${long}link/x\",\"content\":\"x\"}")"
ok "denied where nobody can look" denied read.not_understood "$(call Write "{\"file_path\":\"${deep}x\",\"content\":\"x\"}")"
ok "a name that is too long to be there is not understood" denied read.not_understood "$(call Write "{\"file_path\":\"$real/inside/$(printf '%0300d' 0)\",\"content\":\"x\"}")"
ok "a file beside it is not" passes "$(call Write "{\"file_path\":\"$real/inside/x\",\"content\":\"x\"}")"
ok "what was found stands beside what was asked" grep -q '"places": *{[^}]*hidden' "$ws/.helm/tool-calls.jsonl"
cat >only.yaml <<EOT
format: helm.policy.v1
name: only
version: "1"
rules:
  - {id: only-inside, action: "*", verdict: ALLOW, all: [{field: params.file_path, op: path_under, values: [$real/inside, $real/door]}]}
EOT
terminal -- helm policy use only.yaml >/dev/null
ok "a rule that allows a place allows it" passes "$(call Write "{\"file_path\":\"$real/inside/x\",\"content\":\"x\"}")"
ok "not through a link that leaves it" denied POLICY_VIOLATION "$(call Write "{\"file_path\":\"$real/inside/link/x\",\"content\":\"x\"}")"
ok "nor by a way up behind one" denied POLICY_VIOLATION "$(call Write "{\"file_path\":\"$real/inside/link/../x\",\"content\":\"x\"}")"
ok "a place that is a link itself is what it leads to" passes "$(call Write "{\"file_path\":\"$real/door/x\",\"content\":\"x\"}")"
ok "nobody says where links lead" says 2 "known by the door" terminal -- helm policy use only.yaml --fact 'places={}'
helm policy simulate paths.yaml --since 1d >replay.txt
ok "a replay asks with what was found then" grep -q '^15 would be as they were, 2 would change' replay.txt
ok "only what was cut, and what the other policy forbade, is another thing now" \
  sh -c 'test "$(grep "^newly" replay.txt | sed "s,.*/project/,," | sed "s,\(\./\)\{50\}.*,cut,")" = "$(printf "inside/cut\ninside/link/../x")"'
many=$(awk 'BEGIN { for (i = 0; i < 300; i++) printf "\"f%d\",", i; print "\"x\"" }')
ok "where there is more than is looked at, it is a doubt" denied POLICY_VIOLATION "$(call Write "{\"more\":[$many],\"file_path\":\"$real/inside/x\",\"content\":\"x\"}")"

cat >names.yaml <<'EOT'
format: helm.policy.v1
name: names
version: "1"
coverage: open
rules:
  - {id: no-env, action: "*", verdict: DENY, all: [{field: params.file_path, op: path_names, values: [.env]}]}
EOT
ln -s .env inside/notes
terminal -- helm policy use names.yaml >/dev/null
ok "a name behind a link is one" denied no-env "$(call Write "{\"file_path\":\"$real/inside/notes\",\"content\":\"x\"}")"
ok "also where there is more than is looked at" denied no-env "$(call Write "{\"more\":[$many],\"file_path\":\"$real/inside/notes\",\"content\":\"x\"}")"
ok "another name is not" passes "$(call Write "{\"file_path\":\"$real/inside/other\",\"content\":\"x\"}")"

# ---- what a command does ----
mkdir -p keep plain
touch keep/x plain/a.o plain/b.o
ln -s keep lnk
cat >effects.yaml <<EOT
format: helm.policy.v1
name: effects
version: "1"
coverage: open
rules:
  - {id: keep-it, action: "*", verdict: DENY, effects: [delete, write, move, read], all: [{field: effect.target, op: path_under, values: [$real/keep]}]}
EOT
terminal -- helm policy use effects.yaml >/dev/null
ok "denied as it is written" says 25 keep-it helm run -- rm keep/x
ok "denied behind a link" says 25 keep-it helm run -- rm "$real/lnk/x"
ok "also from where it is run" says 25 keep-it helm run -- rm lnk/x
ok "for a program that writes" says 25 keep-it helm run -- tee lnk/x
ok "or copies" says 25 keep-it helm run -- cp paths.yaml lnk/x
ok "or makes links" says 25 keep-it helm run -- ln -f paths.yaml lnk/x
for command in 'cd lnk && rm x' 'rm k*/x' 'rm [k]eep/x' 'mv k* z' 'mv K* z' 'rm */x' 'rm ?eep/x' 'rm lnk/*' 'rm l*/x' 'rm keep/*' 'rm ke$X' 'rm plain/$X' \
  'ln -s keep plain/c.o; rm plain/*.o/x' 'ln -s ../keep/x plain/c.o; tee plain/*.o' 'cat plain/**' 'cd "$X" && cat x'; do
  ok "denied by what a shell makes of it: $command" says 25 keep-it helm run -- bash -c "$command"
  ok "and before it is run" says 25 keep-it helm guard check --shell "$command"
  ok "also as an agent's call" denied keep-it "$(call Bash "$(printf '%s' "$command" | python3 -c 'import json, sys; print(json.dumps({"command": sys.stdin.read()}))')")"
done
mkdir -p outer/inner
sed "s,/keep],/outer/inner]," effects.yaml >inner.yaml
terminal -- helm policy use inner.yaml >/dev/null
for command in 'mv outer z' 'mv out* z' 'cd outer && mv inner z' 'rm -r outer' 'mv ./outer/../outer z'; do
  ok "what is moved or deleted takes along what lies in it: $command" says 25 keep-it helm guard check --shell "$command"
done
ok "what lies beside it is not" exits 0 helm guard check --shell 'mv plain z'
ok "nor is what only reads above it" exits 0 helm guard check --shell 'ls outer'
terminal -- helm policy use effects.yaml >/dev/null
for command in 'rm $X' 'eval "$X"'; do
  ok "denied where nobody knows what it is about: $command" says 25 keep-it helm guard check --shell "$command"
done
ok "nothing of it was done" test -e keep/x
ok "a pattern that cannot mean it passes" exits 0 helm run -- bash -c 'rm plain/a.*'
ok "it was done" test ! -e plain/a.o
ln -s ../keep/x plain/c.o
ok "not when one of the files is a link" says 25 keep-it helm run -- bash -c 'cat plain/*.o'
ok "another one is no matter of it" exits 0 helm run -- bash -c 'cat plain/b*'
sed 's/coverage: open/coverage: closed/; s/id: keep-it/id: only-plain/; s/DENY/ALLOW/; s,/keep],/plain],' effects.yaml >plain.yaml
terminal -- helm policy use plain.yaml >/dev/null
ok "a rule that allows a place allows patterns in it" exits 0 helm run -- bash -c 'cat plain/b*'
ok "not when one of the files is a link" says 25 "only under conditions" helm run -- bash -c 'cat plain/*.o'
ok "nor what is not known" says 25 "only under conditions" helm guard check --shell 'cat plain/$X'
sed 's/read],/read, secret_read],/; s/path_under, values: .*/path_names, values: [.env]}]}/' effects.yaml >env.yaml
terminal -- helm policy use env.yaml >/dev/null
for command in 'cat .e*' 'cat .en?' 'cat plain/../.e*' 'cat "$X"' 'cat .env'; do
  ok "a name that a pattern may mean is one: $command" says 25 keep-it helm guard check --shell "$command"
done
ok "one that it cannot mean is not" exits 0 helm guard check --shell 'cat plain/b*'
rm lnk
helm policy simulate effects.yaml --since 1d --json >replay.json
changed() { grep -o '"what": *"[^"]*' replay.json | grep -F "$1"; }
ok "a replay finds where targets led" exits 1 changed lnk/x
ok "and patterns" exits 1 changed plain/a.
ok "what another policy forbade is another thing now" changed hidden/x

# ---- what links are kept as ----
ln -s "$real/elsewhere" tools
call Bash "{\"command\":\"$real/tools/echo anna.meier@firma.example --password=hunter2secret\"}" >/dev/null
call Bash "{\"command\":\"$real/inside/../tools/echo bert.meier@firma.example --password=hunter3secret\"}" >/dev/null
call mcp__s__get "{\"password\":\"$real/door/hunter4secret\"}" >/dev/null
grep -o '"places": *{[^}]*}' "$ws/.helm/tool-calls.jsonl" | tail -n 3 >places.txt
ok "where links lead is kept of each" test "$(wc -l <places.txt)" = 3
ok "without credentials and people, also in names" sh -c '! grep -E "meier|hunter" places.txt'
ok "by the names that the arguments have now" grep -q "/tools/echo \[REDACTED\] --password=\[REDACTED\]\": \"$real/elsewhere/echo \[REDACTED" places.txt
sed "s,id: not-hidden,id: no-tools,; s,params.file_path,params.command,; s,/hidden],/elsewhere]," paths.yaml >tools.yaml
ok "so that a replay still finds where they led" says 0 "2      newly denied   no-tools" helm policy simulate tools.yaml --since 1d

# ---- programs ----
mkdir -p w
printf '#!/bin/sh\ntouch "%s/b"\n' "$real" >w/ls
chmod 755 w/ls
cat >closed.yaml <<'EOT'
format: helm.policy.v1
name: closed
version: "1"
rules:
  - {id: three, action: EXECUTE_COMMAND, verdict: ALLOW, when: 'input.tool in ["echo", "ls", "make"]'}
EOT
sed 's/id: three/id: list/; s/when: .*}/all: [{field: tool, op: in, values: [echo, ls, make]}]}/' closed.yaml >listed.yaml
for policy in closed.yaml listed.yaml; do
  terminal -- helm policy use "$policy" >/dev/null
  for command in 'ls; touch b' 'make; rm -f b' 'echo | touch b' ./w/ls 'env ls' "sh -c 'touch b'" 'ls && ./w/ls' 'echo $(touch b)' 'find . -exec touch b ;' 'PATH=w ls' '"$X" b' \
    'echo x | sh' 'f() { touch b; }; ls; f' 'ls <(touch b)' 'command touch b' 'exec touch b' 'alias ls=touch; ls' 'echo "`touch b`"' 'make & touch b' 'ls "' '> b'; do
    ok "$policy: what is not on the list is not started: $command" exits 25 helm guard check --shell "$command"
  done
  for command in ls 'ls; echo x' 'echo a | ls && make' '/usr/bin/ls' '(ls)' 'command ls' 'exec ls' 'if ls; then echo x; fi'; do
    ok "$policy: what is on it is: $command" exits 0 helm guard check --shell "$command"
  done
  ok "$policy: a run asks the same" exits 25 helm run -- touch b
  ok "$policy: by whatever place" exits 25 helm run -- /usr/bin/touch b
  ok "$policy: and a file of the tree is no program of that name" exits 25 helm run -- ./w/ls
  ok "$policy: one of the system is" exits 0 helm run -- /bin/ls
done
ok "nothing of it was done" test ! -e b
sed 's/id: three/id: no-touch/; s/ALLOW, when: .*}/DENY, all: [{field: tool, op: in, values: [touch]}]}/; s/EXECUTE_COMMAND/"*"/; s/^rules/coverage: open\nrules/' closed.yaml >touch.yaml
terminal -- helm policy use touch.yaml >/dev/null
ok "denied by its name" says 25 no-touch helm run -- touch q
ok "by its place" says 25 no-touch helm run -- /usr/bin/touch q
ok "behind another program" says 25 no-touch helm run -- env touch q
ok "in a text" says 25 no-touch helm run -- sh -c 'touch q'
for command in '/usr/bin/touch q' '/usr//bin/touch q' '/usr/bin/../bin/touch q' '/proc/self/root/usr/bin/touch q' '../../../usr/bin/touch q' 'env //bin/touch q' 'ls; touch q' 'echo $(touch q)' '"$X" q' 'command touch q'; do
  ok "the same before it is run: $command" says 25 no-touch helm guard check --shell "$command"
done
ok "and in an agent's call" denied no-touch "$(call Bash '{"command":"ls; /usr/bin/touch q"}')"
ok "another program is not" exits 0 helm run -- ls
ok "nor is another call" passes "$(call Bash '{"command":"ls; echo touch"}')"
ok "nor a file" passes "$(call Write "{\"file_path\":\"$real/inside/touch\",\"content\":\"x\"}")"
cat >bash.yaml <<'EOT'
format: helm.policy.v1
name: bash
version: "1"
rules:
  - {id: bash, action: AGENT_TOOL_CALL, verdict: ALLOW, all: [{field: tool, op: equals, value: Bash}]}
EOT
terminal -- helm policy use bash.yaml >/dev/null
ok "a tool that is allowed may start programs that no rule is about" passes "$(call Bash '{"command":"ls; echo x"}')"
call Bash '{"command":"ls; /usr/bin/touch replayed"}' >/dev/null
helm policy simulate touch.yaml --since 1d >replay.txt
ok "a replay asks for the same programs" grep -q '^1 *newly denied *no-touch' replay.txt
cat >two.yaml <<'EOT'
format: helm.policy.v1
name: two
version: "1"
coverage: open
rules: []
limits:
  budgets:
    - {id: two, limit: 2, unit: requests, period: day}
EOT
terminal -- helm policy use two.yaml >/dev/null
ok "a request is counted once, however many programs it starts" exits 0 helm run -- sh -c 'ls; echo x; ls'
ok "also the second" exits 0 helm run -- sh -c 'ls; echo x; ls'
ok "not the third" says 25 two helm run -- ls

# ---- addresses ----
cat >egress.yaml <<'EOT'
format: helm.policy.v1
name: egress
version: "1"
coverage: open
egress: {allowed_domains: [ok.example]}
rules: []
EOT
terminal -- helm policy use egress.yaml >/dev/null
terminal -- helm profile use service_ops >/dev/null
ok "an address that is listed is no matter of it" passes "$(call WebFetch '{"url":"https://ok.example/"}')"
for input in '{"url":"https://ok.example/","endpoint":"https://evil.example/"}' '{"url":"https://ok.example/","more":[{"uri":"evil.example"}]}' \
  '{"uri":"https://evil.example/"}' '{"url":["https://ok.example/","https://evil.example/"]}'; do
  ok "each address counts: $input" denied DATA_EGRESS "$(call WebFetch "$input")"
  ok "also of a tool that nobody knows: $input" denied DATA_EGRESS "$(call mcp__s__get "$input")"
done
ok "also of Cursor's calls, in a text" denied 'evil.example' "$(cursor get '"{\"url\":\"https://evil.example/\"}"')"
ok "and as they are" denied 'evil.example' "$(cursor get '{"url":"https://evil.example/"}')"
for input in '{"args":{"host":"evil.example"}}' '{"args":["https://evil.example/"]}' '{"command":{"url":"https://evil.example/"}}'; do
  ok "under the names of commands, too: $input" denied DATA_EGRESS "$(call mcp__s__get "$input")"
done
ok "what is written to a file goes nowhere" passes "$(call Write "{\"file_path\":\"$real/inside/x\",\"content\":\"https://evil.example/\"}")"

# ---- servers ----
cat >mcp.yaml <<'EOT'
format: helm.policy.v1
name: servers
version: "1"
coverage: open
mcp: {servers: {}}
rules: []
EOT
terminal -- helm policy use mcp.yaml >/dev/null
for tool in mcp__github__push MCP__github__push mcp_github_push Mcp__push mcp__; do
  ok "a server that nobody approved, however it is spelled: $tool" denied "Nobody has approved server" "$(call "$tool" '{"x":1}')"
done
ok "also where the client does not tell it" denied "Nobody has approved server ''" "$(cursor push '{"x":1}')"
ok "or a tool pretends to" denied "Nobody has approved server ''" "$(cursor github__push '{"x":1}')"
ok "another tool is not one of a server" passes "$(call Read '{"file_path":"/etc/hosts"}')"
# ---- what is kept ----
call Bash '{"command":"echo anna.meier@firma.example"}' >/dev/null
call Bash '{"command":"git push git@github.example:org/repo.git"}' >/dev/null
kept() { grep -o '"asked": *{.*' "$ws/.helm/tool-calls.jsonl" | sed 's/"at":.*//'; }
kept >asked.txt
ok "what was asked is kept without what belongs to people" sh -c '! grep -q "\"command\": *\"[^\"]*anna" asked.txt'
ok "that it was there is seen" grep -q 'echo \[REDACTED\]' asked.txt
ok "a place on a machine is no person" grep -q 'git@github.example:org' asked.txt

# ---- sessions ----
cat >session.yaml <<'EOT'
format: helm.policy.v1
name: session
version: "1"
coverage: open
rules: []
limits:
  budgets:
    - {id: two-each, limit: 2, unit: requests, per: session, period: day}
EOT
ok "lint says that limits per session begin again" says 0 "whoever begins another session has it afresh" helm policy lint session.yaml
ok "and that each workspace counts for itself" says 0 "two workspaces have the limit twice" helm policy lint session.yaml
terminal -- helm policy use session.yaml >/dev/null
ran() { env HELM_SESSION="$1" HOME="$scratch/home" "$HELM_REAL" run -- echo "$1"; }
ok "the first of two" exits 0 ran one
ok "the second" exits 0 ran two
ok "another word in the environment is no other session" says 25 two-each ran three
ok "nor is none" says 25 two-each helm run -- echo four
ok "a client's session is its own" passes "$(call Write "{\"file_path\":\"$real/inside/s\",\"content\":\"x\"}")"

# ---- what is wanted above ----
mkdir -p below
agent init --path below >/dev/null 2>&1
below() { (cd below && "$@"); }
cp mcp.yaml below/
terminal -- helm policy use --none --require-signature yes >/dev/null
ok "where only signed policies are taken, none other is taken below" says 25 "only signed policies are taken in" below terminal -- helm policy use mcp.yaml
ok "also when it says so itself" says 25 "only signed policies are taken in" below terminal -- helm policy use mcp.yaml --require-signature no
terminal -- helm policy use --require-signature no >/dev/null
ok "until that is taken back above" says 0 "Every door" below terminal -- helm policy use mcp.yaml
sed 's/^version:/epoch: 5\nversion:/' mcp.yaml >five.yaml
terminal -- helm policy use five.yaml >/dev/null
ok "an epoch that was in use above is not gone back from below" says 25 "is older than 5" below terminal -- helm policy use mcp.yaml

# ---- another home ----
cat >no.yaml <<'EOT'
format: helm.policy.v1
name: no
version: "1"
epoch: 9
coverage: open
rules:
  - {id: nobody-writes, action: AGENT_TOOL_CALL, verdict: DENY, all: [{field: tool, op: equals, value: Write}]}
EOT
terminal -- helm policy use no.yaml >/dev/null
helm setup claude-code --yes >/dev/null 2>&1
hook=$(python3 -c 'import json; print(json.load(open(".claude/settings.json"))["hooks"]["PreToolUse"][0]["hooks"][0]["command"])')
HELM_ENV="HELM_HOME=$scratch/other" helm key create >/dev/null
hooked() { # hooked HOME: the hook as it was put in, with another home in the client's environment
  printf '{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"%s","tool_name":"Write","tool_input":{"file_path":"%s/inside/y","content":"x"},"tool_use_id":"u9"}' "$PWD" "$real" |
    env HOME="$1" HELM_HOME="$scratch/other" sh -c "$hook" 2>&1
}
ok "a hook asks the home that the person set it up with" denied nobody-writes "$(hooked "$scratch/home")"
ok "whatever the environment of the client says" denied nobody-writes "$(hooked "$scratch")"
finish
