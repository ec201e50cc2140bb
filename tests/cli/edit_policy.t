#!/bin/sh
# How files are changed: after a look, a part at a time, and not again and again when it fails.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to read answers"
fresh_workspace
cd "$scratch/project" || exit 1
helm init --path . >/dev/null
codes() { helm edit check --json "$@" | python3 -c 'import json,sys; print(",".join(json.load(sys.stdin)["codes"]))'; }
head -c 9000 /dev/zero | tr '\0' x >long.txt
echo short >short.txt
seen=$(helm edit read long.txt --json)
ok "a part of what was read may be changed" exits 0 helm edit check long.txt --read-evidence-json "$seen"
ok "what was not read is not" [ "$(codes long.txt)" = missing_read_evidence ]
ok "what is new needs no look" exits 0 helm edit check fresh.txt --rewrite
ok "all of a long file needs a reason" [ "$(codes long.txt --rewrite --read-evidence-json "$seen")" = missing_whole_file_rewrite_reason ]
ok "that is one of those that count" [ "$(codes long.txt --rewrite --reason style --read-evidence-json "$seen")" = whole_file_rewrite_not_allowed ]
ok "and nobody says that a long file is small" [ "$(codes long.txt --rewrite --reason small_file --read-evidence-json "$seen")" = whole_file_rewrite_not_allowed ]
ok "what somebody asked for does" exits 0 helm edit check long.txt --rewrite --reason explicit_user_request --read-evidence-json "$seen"
ok "a short one may be written anew" [ "$(codes short.txt --rewrite --read-evidence-json "$(helm edit read short.txt --json)")" = "" ]
mkdir -p dist
cp long.txt dist/out.txt
ok "so may what is made by a program" [ "$(codes dist/out.txt --rewrite --read-evidence-json "$(helm edit read dist/out.txt --json)")" = "" ]
ok "evidence about another file is none" [ "$(codes short.txt --read-evidence-json "$seen" | cut -d, -f1)" = read_evidence_path_mismatch ]
ok "nor is one that does not say when" [ "$(codes long.txt --read-evidence-json "$(printf '%s' "$seen" | sed 's/"read_at": "[^"]*"/"read_at": ""/')")" = read_evidence_missing_read_at ]
echo more >>long.txt
ok "a file that changed since must be read again" [ "$(codes long.txt --read-evidence-json "$seen")" = read_evidence_stale_mtime,read_evidence_stale_size ]
next() { helm edit check short.txt --json --failures "$1" --read-evidence-json "$(helm edit read short.txt --json)" | python3 -c 'import json,sys; print(json.load(sys.stdin)["next"])'; }
ok "once may fail" [ "$(next 1)" = retry ]
ok "twice is enough" [ "$(next 2)" = reload_context_then_decompose ]
mkdir -p skills/x
echo y >skills/x/SKILL.md
ok "what reaches far wants a checkpoint" says 1 '"requires_checkpoint": true' helm edit check skills/x/SKILL.md --json
ok "nobody is held without a file" says 0 '"held": false' helm edit policy --json

# ---- tools of a client ----
echo 0 >../n
call() { # call TOOL INPUT: the verdict of a call of the session s1
  n=$(($(cat ../n) + 1))
  echo "$n" >../n
  printf '{"session_id":"s1","hook_event_name":"PreToolUse","cwd":"%s","tool_name":"%s","tool_use_id":"u%s","tool_input":%s}' "$PWD" "$1" "$n" "$2" >before.json
  helm hook pre-tool --client claude-code <before.json >answer.json 2>/dev/null
  grep -q '"permissionDecision": *"deny"' answer.json && echo deny || echo allow
}
after() { # after TOOL INPUT RESPONSE: what became of the last call
  n=$(cat ../n)
  printf '{"session_id":"s1","hook_event_name":"PostToolUse","cwd":"%s","tool_name":"%s","tool_use_id":"u%s","tool_input":%s,"tool_response":%s}' "$PWD" "$1" "$n" "$2" "$3" >after.json
  helm hook post-tool --client claude-code <after.json >/dev/null 2>&1
}
edit='{"file_path":"'$PWD'/long.txt","old_string":"more","new_string":"less"}'
write='{"file_path":"'$PWD'/long.txt","content":"new"}'
read='{"file_path":"'$PWD'/long.txt"}'
ok "without a policy tools are free" [ "$(call Edit "$edit")" = allow ]
echo '{"max_patch_failures_per_file": 2}' >references/edit_policy.json
ok "with one, what was not read is not changed" [ "$(call Edit "$edit")" = deny ]
ok "and the model is told why" grep -q missing_read_evidence answer.json
ok "it reads" [ "$(call Read "$read")" = allow ]
ok "and changes a part" [ "$(call Edit "$edit")" = allow ]
after Edit "$edit" '{"is_error":true}'
ok "which may fail once" [ "$(call Edit "$edit")" = allow ]
after Edit "$edit" '{"is_error":true}'
ok "and not twice" [ "$(call Edit "$edit")" = deny ]
ok "then it looks again" [ "$(call Read "$read")" = allow ]
ok "and may go on" [ "$(call Edit "$edit")" = allow ]
sed -i s/more/less/ long.txt
after Edit "$edit" '{}'
ok "what it changed itself it knows" [ "$(call Edit "$edit")" = allow ]
ok "all of a long file it does not write" [ "$(call Write "$write")" = deny ]
ok "a new one it does" [ "$(call Write "{\"file_path\":\"$PWD/new.txt\",\"content\":\"x\"}")" = allow ]
echo by somebody else >>long.txt
ok "what another has changed must be read again" [ "$(call Edit "$edit")" = deny ]
ok "another session has read nothing" [ "$(call Read "$read" >/dev/null; printf '{"session_id":"s2","hook_event_name":"PreToolUse","cwd":"%s","tool_name":"Edit","tool_use_id":"v1","tool_input":%s}' "$PWD" "$edit" | helm hook pre-tool --client claude-code 2>/dev/null | grep -c '"permissionDecision": *"deny"')" = 1 ]
echo '{' >references/edit_policy.json
ok "a policy that cannot be read lets nothing be changed" [ "$(call Write "{\"file_path\":\"$PWD/newer.txt\",\"content\":\"x\"}")" = deny ]
ok "and everything be read" [ "$(call Read "$read")" = allow ]
finish
