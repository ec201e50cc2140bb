#!/bin/sh
# written.t — files that a run or a call has written are read once more: what does not parse is said, with its place, and stands in the entry.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

# last_row NAME: that member of the newest task's row.
last_row() {
  tail -n 1 "$ledger" | python3 -c 'import json,sys; print(json.dumps(json.load(sys.stdin).get(sys.argv[1])))' "$1"
}
# gate PATH: what the entry says of this file.
gate() {
  tail -n 1 "$ledger" | python3 -c 'import json,sys
print(*[g["status"] + " " + g.get("detail", "") for g in json.load(sys.stdin).get("validation_gates", []) if g["path"] == sys.argv[1]])' "$1"
}
run_sh() { helm run -- sh -c "$1" 2>&1; }

fresh_workspace
ok "a JSON file that does not parse is said, with its place" \
  says 0 'Hint: written, but it does not parse: c.json:1:9: expected a member name' helm run -- sh -c 'printf "{\"a\": 1,}" >c.json'
ok "and stands in the entry" test "$(last_row write_validation)" = '{"checked_paths": ["c.json"], "ok": false, "validator": "helm"}'
ok "one that parses says nothing" test -z "$(run_sh 'echo "{}" >c.json')"
ok "and stands there as good" test "$(gate c.json)" = "passed "
ok "YAML" says 0 'y.yaml:2:1: expected YAML' helm run -- sh -c 'echo "a: [1" >y.yaml'
ok "TOML" says 0 't.toml:1:5: expected' helm run -- sh -c 'echo "x = = 1" >t.toml'
ok "a C header without its end" says 0 'h.h:1: #if without #endif' helm run -- sh -c 'echo "#if X" >h.h'
ok "a comment in C without its end" says 0 'a.c:2: a comment that does not end' helm run -- sh -c 'printf "int a;\n/* x\n" >a.c'
ok "quotes, comments and conditions in C that are right" test -z \
  "$(run_sh "printf '#ifdef A\n# if B\n#error don'\"'\"'t\n# endif\n#endif // x\nchar *s = \"/*\"; char c = 39;\n' >b.h")"
ok "a merge that nobody finished" says 0 'm.py:1: marks of a merge conflict' \
  helm run -- sh -c 'printf "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n" >m.py'
if [ -x /usr/bin/python3 ]; then
  ok "Python" says 0 'x.py: line 1: ' helm run -- sh -c 'echo "def f(:" >x.py'
  ok "Python that parses is not executed" test -z "$(run_sh 'echo "open(\"made\", \"w\")" >z.py')"
  ok "and leaves nothing behind" test "$(gate z.py):$(ls -d made __pycache__ 2>/dev/null)" = "passed :"
else
  skip "Python" "there is no /usr/bin/python3"
fi
if [ -x /bin/bash ]; then
  ok "shell" says 0 's.sh: line 2: syntax error' helm run -- sh -c 'echo "if true; then" >s.sh'
else
  skip "shell" "there is no /bin/bash"
fi
ok "dialects are not judged: JSON with comments, templates, anchors" test -z \
  "$(run_sh 'echo "{ // x" >tsconfig.json; echo "a: {{ b }" >t.yaml; printf "a: &x 1\nb: *x\n" >an.yaml; mkdir node_modules; echo "{" >node_modules/p.json')"
ok "a link that leads out of the tree is not read" test -z "$(run_sh 'ln -s /etc/hostname l.json')"
ok "many are counted" says 0 '2 more do not parse' helm run -- sh -c 'for i in 1 2 3 4 5 6 7; do echo "{" >$i.json; done'
if [ -x /usr/bin/python3 ]; then
  ok "where there are no namespaces, too" says 0 'w.py: line 1: ' env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 \
    ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_BUILD/tests/lesser_machine_test" --without namespaces "$HELM_REAL" run -- sh -c 'echo "def f(:" >w.py'
else
  skip "where there are no namespaces, too" "there is no /usr/bin/python3"
fi
# shellcheck disable=SC2034 # lib.sh reads it
HELM_ENV="HELM_VALIDATION_GATES=0"
ok "the switch: nothing is read" test -z "$(run_sh 'echo "{" >c.json')"
ok "nor said in the entry" test "$(last_row write_validation)" = null
HELM_ENV=

# A tool of a client: the model hears it.
call() { # call EVENT ID FILE
  printf '{"session_id":"s","tool_name":"Write","tool_use_id":"%s","cwd":"%s","tool_input":{"file_path":"%s","content":"{"},"tool_response":{"ok":true}}' \
    "$2" "$PWD" "$PWD/$3" | helm hook "$1" --client claude-code
}
fresh_workspace
call pre-tool u1 d.json >/dev/null
echo '{' >d.json
ok "after a tool of a client the model is told" says 0 '"additionalContext":"written, but it does not parse: d.json:2:1' call post-tool u1 d.json
call pre-tool u2 e.json >/dev/null
echo '{}' >e.json
ok "and nothing when all is well" test -z "$(call post-tool u2 e.json)"
finish
