#!/bin/sh
# One shadow for policies, profiles and skills: a candidate decides beside what is in use, answers nobody, and its differences are noted.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace

different() { helm policy shadow report --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["different"])'; }
ok "a profile as candidate, by a person" says 0 started terminal -- helm policy shadow start --profile inspect_local
ok "what both allow is the same" helm profile run workspace_edit -- true
ok "nothing is noted" [ "$(different)" = 0 ]
ok "what it would deny is done all the same" helm profile run workspace_edit -- touch a
ok "and noted" [ "$(different)" = 1 ]
ok "with the rule" says 0 profile.write helm policy shadow report
ok "it ends" says 0 stopped terminal -- helm policy shadow stop
mkdir -p "$ws/skills/docs"
printf '{"skill":"docs","allowed_profiles":["workspace_edit"],"default_profile":"workspace_edit","paths":{"write":["docs"]}}' >"$ws/skills/docs/contract.json"
ok "a skill as candidate" says 0 started terminal -- helm policy shadow start --skill docs
ok "what leaves its contract is done" helm profile run workspace_edit -- touch b
ok "and noted with the rule" says 0 skill.paths helm policy shadow report
ok "a skill that is not valid would deny" sh -c 'printf "{\"paths\":1}" >"$1/skills/docs/contract.json"' - "$ws"
helm profile run workspace_edit -- touch c
ok "as it says" says 0 skill.contract helm policy shadow report
ok "a window must be above 0" exits 1 helm shadow-report --since -3
ok "and a feature one that there is" exits 2 helm shadow-report --feature nope
finish
