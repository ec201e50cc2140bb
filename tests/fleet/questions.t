#!/bin/sh
# questions.t — a machine asks, the centre answers: whose answers count is said by a root key that is nowhere near the ledger; each answer ends in a
# receipt that names the order, and that flows up as the confirmation.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
needs_terminal

fleet_make
# key_of NAME: somebody's own key, at home.
key_of() {
	mkdir -p "$scratch/$1"
	[ -e "$scratch/$1/.helm/keys/root.pub" ] || env -i HOME="$scratch/$1" "$HELM_REAL" key create >/dev/null
	cat "$scratch/$1/.helm/keys/root.pub"
}
root=$(key_of offline)
boss=$(key_of boss)
stranger=$(key_of stranger)
centre tenant add acme --root "$root" >/dev/null
serve_start front || exit 1
machine anna init >/dev/null 2>&1
centre token >anna.token
ok "a machine that was told another root key does not join" says 1 "not the one that was given" machine anna fleet join "$url" --token-file "$scratch/anna.token" --root "$boss"
ok "one that was told this one does" machine anna fleet join "$url" --token-file "$scratch/anna.token" --root "$root" --ship questions
ok "and has pinned it" grep -q "\"root_key\": *\"$root\"" "$scratch/m/anna/.helm/fleet/joined.json"
# ask NAME COMMAND: an agent there wants that; the last line says what it was told.
ask() {
	printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s","cwd":"%s"}' "$2" "$scratch/m/$1" | hook "$1"
}
# waiting NAME WORD: the id of the question there that has the word in it and is not answered; nothing: there is none.
waiting() { machine "$1" approval list --json | python3 -c 'import json, sys; print("".join(q["approval_id"] for q in json.load(sys.stdin)["requests"] if q["preview"].endswith(sys.argv[1])))' "$2"; }
sync() { machine "$1" fleet sync >sync.out 2>&1; }
ask anna "rm -rf main" >ask.out 2>&1
first=$(waiting anna main)
ok "something is asked on the machine" test -n "$first" || cat ask.out
sync anna
ok "the centre sees what is asked" says 0 "rm -rf main" centre questions
ok "and which it is" says 0 "$first" centre questions --json

# Nobody may answer yet.
ok "an answer is given" says 0 "Order 1 is given" centre approve "$first" --key "$scratch/boss/.helm/keys/root.key"
sync anna
ok "without approvers it is refused, and the centre sees that" says 0 '"refused": 1' centre orders --json
ok "it is on record why" grep -q '"refused":{"code":"FLEET_APPROVERS"' "$(chain_of anna)"
ok "the question still waits" [ "$(waiting anna main)" = "$first" ]

# The list, signed offline.
offline() { env -i PATH="$PATH" HOME="$scratch/offline" "$HELM_REAL" fleet approvers sign "$@" --root-key "$scratch/offline/.helm/keys/root.key" --origin ledger.test/acme; }
offline "boss=$boss" --serial 2 >list.json
sed 's/"boss"/"chef"/' list.json >forged.json
ok "a list that the root key did not sign is not given" says 1 "not signed by the root key" centre approvers give "$scratch/forged.json"
ok "the list is given" centre approvers give "$scratch/list.json"
sync anna
ok "the machine has taken it" grep -q "$boss" "$scratch/m/anna/.helm/fleet/approvers.json"
ok "and confirmed it" says 0 '"obeyed": 1' centre orders --json

# Who is not on it.
centre approve "$first" --key "$scratch/stranger/.helm/keys/root.key" >/dev/null 2>&1
sync anna
ok "somebody who is not on the list approves nothing" grep -q '"refused":{"code":"APPROVER_UNKNOWN"' "$(chain_of anna)"
ok "the question waits" [ "$(waiting anna main)" = "$first" ]

# Who is.
centre approve "$first" --key "$scratch/boss/.helm/keys/root.key" >/dev/null 2>&1
sync anna
ok "whoever is on it does" says 0 "an approver of the fleet" machine anna approval list --all --json
ok "the receipt is a grant that names the order and the person" sh -c 'grep "\"effect_id\":\"helm.approval/grant\"" "$1" | grep "\"kind\":\"grant\"" | grep -q "\"label\":\"boss\""' sh "$(chain_of anna)"
order_state() { centre orders --json | tr -d ' \n' | sed 's/},{/\n/g' | grep "\"kind\":\"$1\"" | head -1; }
ok "the centre counts it as obeyed" sh -c 'echo "$1" | grep -q "\"obeyed\":1"' sh "$(order_state grant)"
ok "no question waits at the centre" wait_for 10 says 0 "Nothing waits" centre questions
ok "and what was asked for is let through now" allowed anna "rm -rf main"
ok "by that grant" grep -q '"settled_by":"grant"' "$(chain_of anna)"

# The same order once more: as after a kill between doing it and noting that.
before=$(grep -c '"helm.approval/grant"' "$(chain_of anna)")
rm "$scratch/m/anna/.helm/fleet/state.json"
sync anna
ok "orders that are heard again grant nothing again" [ "$(grep -c '"helm.approval/grant"' "$(chain_of anna)")" = "$before" ]
ok "and a list is not set back by them" grep -q "$boss" "$scratch/m/anna/.helm/fleet/approvers.json"

# No.
ask anna 'rm -rf other' >/dev/null 2>&1
second=$(waiting anna other)
sync anna
ok "a no" centre deny "$second" --reason "not today"
sync anna
ok "settles it on the machine, with the reason" sh -c 'grep "\"effect_id\":\"helm.approval/deny\"" "$1" | grep "not today" | grep -q "\"kind\":\"deny\""' sh "$(chain_of anna)"

# A key of OpenSSH.
if command -v ssh-keygen >/dev/null; then
	ssh-keygen -q -t ed25519 -N '' -f "$scratch/ssh" -C dora
	offline "dora=$scratch/ssh.pub" --serial 3 >list.json
	centre approvers give "$scratch/list.json" >/dev/null
	ask anna 'rm -rf third' >/dev/null 2>&1
	third=$(waiting anna third)
	sync anna
	centre approve "$third" --message >message 2>/dev/null
	ssh-keygen -q -Y sign -n helm-approval@v1 -f "$scratch/ssh" message 2>/dev/null
	ok "an answer signed by a key of OpenSSH is given" centre approve "$third" --signed "$scratch/message"
	sync anna
	ok "and counts" sh -c 'grep "\"effect_id\":\"helm.approval/grant\"" "$1" | grep -q "\"label\":\"dora\""' sh "$(chain_of anna)"
	ask anna 'rm -rf fourth' >/dev/null 2>&1
	fourth=$(waiting anna fourth)
	sync anna
	centre approve "$fourth" --key "$scratch/boss/.helm/keys/root.key" >/dev/null 2>&1
	sync anna
	ok "whoever is not on the newest list approves no more" [ "$(waiting anna fourth)" = "$fourth" ]
	offline "boss=$boss" --serial 2 >list.json
	centre approvers give "$scratch/list.json" >/dev/null
	sync anna
	ok "an older list is refused" grep -q '"refused":{"code":"FLEET_APPROVERS_OLD"' "$(chain_of anna)"
	# Frozen: nothing is loosened.
	centre freeze >/dev/null
	centre approve "$fourth" --message >message 2>/dev/null
	rm -f message.sig
	ssh-keygen -q -Y sign -n helm-approval@v1 -f "$scratch/ssh" message 2>/dev/null
	centre approve "$fourth" --signed "$scratch/message" >/dev/null
	sync anna
	ok "a freeze stands above an answer" grep -q '"refused":{"code":"SYSTEM_FROZEN"' "$(chain_of anna)"
	centre unfreeze >/dev/null
	sync anna
fi

# A server that was taken: it has the control key and shows another question than the one on record.
ask anna 'rm -rf fifth' >/dev/null 2>&1
fifth=$(waiting anna fifth)
offline "boss=$boss" --serial 9 >list.json
centre approvers give "$scratch/list.json" >/dev/null
sync anna
sql "$pgdir" "UPDATE fleet.asked SET request = convert_to(replace(convert_from(request, 'UTF8'), 'fifth', 'harmless'), 'UTF8') WHERE approval_id = '$fifth'" >/dev/null
ok "the centre is shown something else" says 0 "harmless" centre questions
centre approve "$fifth" --key "$scratch/boss/.helm/keys/root.key" >/dev/null 2>&1
sync anna
ok "what a person said yes to is not what was asked: refused" grep -q '"refused":{"code":"APPROVAL_MESSAGE"' "$(chain_of anna)"
ok "and the question waits" [ "$(waiting anna fifth)" = "$fifth" ]

# It shows one thing in its list and has another signed: whoever signs sees what is signed.
ask anna 'rm -rf sixth' >/dev/null 2>&1
sixth=$(waiting anna sixth)
sync anna
mine=$scratch/boss/.helm/keys/root.key
orders() { sql "$pgdir" "SELECT count(*) FROM fleet.directive"; }
before=$(orders)
sql "$pgdir" "UPDATE fleet.asked SET request = (SELECT request FROM fleet.asked WHERE approval_id = '$sixth') WHERE approval_id = '$fifth'" >/dev/null
another="answers with another question than"
ok "asked for one question the ledger answers with another: nothing is signed" says 25 "$another '$fifth'" centre approve "$fifth" --key "$mine"
ok "nor written to be signed" says 25 "$another" centre approve "$fifth" --message
ok "nor denied" says 25 "$another" centre deny "$fifth"
ok "no order was given" [ "$(orders)" = "$before" ]
at_terminal() { # at_terminal WORD ARGS...: helm fleet approve ARGS, where somebody types WORD
	typed=$1
	shift
	env -i PATH="$PATH" HOME="$scratch/centre" LC_ALL=C.UTF-8 TERM=dumb ASAN_OPTIONS="${ASAN_OPTIONS:-}" HELM_FLEET_DATABASE="$db" HELM_FLEET_SIGNER="$signer" TERMINALS="$scratch/.terminals" \
		python3 "$HELM_SOURCE/tests/tools/terminal.py" "$typed" -- "$HELM_REAL" fleet approve "$@"
}
ok "at a terminal the request itself is shown, and another word gives nothing" says 1 "rm -rf sixth" at_terminal yes "$sixth" --key "$mine"
ok "nothing was ordered by that" [ "$(orders)" = "$before" ]
centre approve "$sixth" --message >message 2>shown
ok "what is to be signed elsewhere is shown, too" grep -q "command .*rm -rf sixth" shown
ok "beside the bytes that are signed" sh -c 'grep -q "^helm:approval:v2$" message && ! grep -q "command  " message'
cp message other
: >other.sig
ask anna 'rm -rf seventh' >/dev/null 2>&1
sync anna
ok "what was signed for one question answers no other" says 25 "answers '$sixth'" centre approve "$(waiting anna seventh)" --signed "$scratch/other"
ok "without a terminal the key is the word, and the request is shown" says 0 "rm -rf sixth" centre approve "$sixth" --key "$mine"
ok "the word at a terminal is as good" says 0 "is given" at_terminal APPROVE "$sixth" --key "$mine"
sync anna
ok "and the yes counts" [ -z "$(waiting anna sixth)" ]

# Whoever makes tokens names a root key in them; that alone makes it nobody's word.
machine bert init >/dev/null 2>&1
centre token >bert.token
ok "without --root a machine joins, and says that nobody answers from there" says 0 "No root key is pinned" machine bert fleet join "$url" --token-file "$scratch/bert.token" --ship questions
ok "the root key of a token is not pinned by itself" sh -c 'grep -q "\"origin\"" "$1" && ! grep -q root_key "$1"' sh "$scratch/m/bert/.helm/fleet/joined.json"
ok "--root is for joining, and not for another workspace" says 2 "--root" machine bert fleet join --root "$root"
ask bert 'rm -rf ninth' >/dev/null 2>&1
ninth=$(waiting bert ninth)
sync bert
ok "a list that is right elsewhere is refused there" grep -q '"refused":{"code":"FLEET_NO_ROOT"' "$(chain_of bert)"
centre approve "$ninth" --key "$mine" >/dev/null 2>&1
sync bert
ok "and nobody's yes counts" [ "$(waiting bert ninth)" = "${ninth:-none}" ]
ok "status says whose word it is" says 0 "of those whom root key $root names" machine anna fleet status
ok "and where it is nobody's" says 0 "no root key is pinned" machine bert fleet status

sql "$pgdir" "UPDATE fleet.tenant SET root_key = '\\x$stranger'" >/dev/null
env -i PATH="$PATH" HOME="$scratch/stranger" "$HELM_REAL" fleet approvers sign "stranger=$stranger" --root-key "$scratch/stranger/.helm/keys/root.key" --origin ledger.test/acme >forged.json
ok "a list by another root key is given, where the database names that one" says 0 "is given" centre approvers give "$scratch/forged.json"
sync anna
ok "the machine believes the one that it pinned, and says so" says 1 "ALARM FLEET_ORDER" machine anna fleet status
ok "its list is as it was" grep -q "$boss" "$scratch/m/anna/.helm/fleet/approvers.json"

# More questions than are shown.
ask anna 'rm -rf tenth' >/dev/null 2>&1
sync anna
open=$(centre questions --json 2>/dev/null | grep -c '"seen_at"')
ok "all that wait are shown, and nothing is said of more" sh -c '[ "$1" -gt 1 ] && ! grep -q . "$2"' sh "$open" "$(centre questions >/dev/null 2>more.err; echo more.err)"
ok "one of them, and that there are more" says 0 "more with --limit" centre questions --limit 1
ok "to programs, too" says 0 "more with --limit" centre questions --limit 1 --json
ok "who get as many as they asked for" [ "$(centre questions --limit 1 --json 2>/dev/null | grep -c '"seen_at"')" = 1 ]
ok "of one machine alone" says 0 "rm -rf ninth" centre questions --node "$(sed -n 's/.*"node": *"\([0-9]*\)".*/\1/p' "$scratch/m/bert/.helm/fleet/joined.json")" --limit 1
sql "$pgdir" "INSERT INTO fleet.asked SELECT tenant_id, chain_id, 'approval-many-' || i, lamport, request, expires_at, now() - interval '1 day' FROM fleet.asked, generate_series(1, 1000) i WHERE approval_id = '$fifth'" >/dev/null
ok "a thousand older ones do not hide the others in silence" says 0 "of one machine" centre questions
sql "$pgdir" "DELETE FROM fleet.asked WHERE approval_id LIKE 'approval-many-%'" >/dev/null
ok "the order that answers one is named beside it" [ "$(centre questions --json 2>/dev/null | python3 -c 'import json, sys; print(max(q.get("order", 0) for q in json.load(sys.stdin) if q["approval_id"] == sys.argv[1]))' "$ninth")" = "$(sql "$pgdir" "SELECT max(seq) FROM fleet.directive WHERE kind = 'grant'")" ]

# Texts of machines are for a terminal like any others: none of them is told what to do.
esc=$(printf '\033')
ask anna 'rm -rf eighth' >/dev/null 2>&1
sync anna
sql "$pgdir" "UPDATE fleet.node SET host = E'\\x1b[2Jhost', owner = E'\\x1b]0;user'; UPDATE fleet.receipt SET principal = E'\\x1b[2Jwho', tool = E'\\x1b[2Jtool', rule = E'\\x1b[2Jrule'; UPDATE fleet.asked SET approval_id = E'\\x1b[2J' || approval_id, request = convert_to(replace(convert_from(request, 'UTF8'), 'agent:claude-code', 'agent:\\u001b[2J'), 'UTF8')" >/dev/null
# plain WORD ARGS...: it says the word, and there is no escape in it.
plain() {
	word=$1
	shift
	centre "$@" >said 2>&1
	if ! grep -qF -e "$word" said || grep -q "$esc" said; then
		od -c said | head -20
		return 1
	fi
}
ok "questions are shown without escapes of machines" plain 'agent:\x1B[2J' questions
ok "machines, too" plain '\x1B[2Jhost' nodes
ok "and what was found" plain '\x1B[2Jwho' search
finish
