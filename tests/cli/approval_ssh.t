#!/bin/sh
# approval_ssh.t — a key of OpenSSH answers, also one in a hardware authenticator: exactly that question, on exactly those terms, and
# nothing else that is signed.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
command -v ssh-keygen >/dev/null 2>&1 || skip_all "ssh-keygen (openssh-client) is needed to make real signatures"

helm init >/dev/null
mkdir project && cd project && helm init --path . >/dev/null
receipts=.helm/receipts.jsonl
newest() { helm approval list --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["requests"][-1]["approval_id"])'; }
ask() { # a question of its own, by a run: $id
  mkdir -p "$1"
  helm run -- rm -rf "$1" >/dev/null 2>&1
  id=$(newest)
}
message() { helm approval message "$@" >"$scratch/answer"; }
signs() { ssh-keygen -q -Y sign -f "$1" -n "${2:-helm-approval@v1}" "$scratch/answer" >/dev/null 2>&1; }
touch_sk() { python3 "$HELM_SOURCE/tests/tools/sk.py" sign "${2:-mine}" "$scratch/answer" ${1:+"$1"}; }
answer() { helm approval approve "$id" --signed "$scratch/answer"; }

ssh-keygen -q -t ed25519 -N '' -f "$scratch/id" -C somebody
ssh-keygen -q -t ed25519 -N '' -f "$scratch/other" -C other
python3 "$HELM_SOURCE/tests/tools/sk.py" key mine >"$scratch/sk.pub"
ok "ssh-keygen takes our authenticator's key for one" sh -c 'ssh-keygen -l -f "$0" | grep -q ED25519-SK' "$scratch/sk.pub"

# Registering.
ok "a plain key is registered by a person" says 0 "$(ssh-keygen -l -f "$scratch/id.pub" | cut -d' ' -f2)" \
  terminal TRUST -- helm approval trust add "$scratch/id.pub"
ok "by nobody else" says 25 "at a terminal" helm approval trust add "$scratch/sk.pub"
ok "a hardware key, too" says 0 "SHA256:" terminal TRUST -- helm approval trust add "$scratch/sk.pub" --label mine
ok "not twice" says 1 "trusted already" terminal TRUST -- helm approval trust add "$(cat "$scratch/sk.pub")"
ok "not for receipts" says 1 "signs no receipts" helm key trust add "$scratch/id.pub"
ssh-keygen -q -t ecdsa -N '' -f "$scratch/ec"
ok "no algorithm that is not verified" says 1 "algorithm" helm approval trust add "$scratch/ec.pub"

# Real signatures.
ask one
ok "the answer can be written down" message "$id" --once
ok "it is one JSON document when asked for" is_json helm approval message "$id" --json
ok "nothing is granted by that" sh -c '! grep -q helm.approval/grant "$0"' "$receipts"
ok "without a signature it is none" says 1 "answer.sig" answer
signs "$scratch/other"
ok "a key nobody registered" says 25 "no registered key" answer
rm "$scratch/answer.sig"
signs "$scratch/id" git
ok "a signature for something else" says 25 "something else" answer
rm "$scratch/answer.sig"
signs "$scratch/id"
ok "ssh itself calls it good" sh -c 'echo "me $(cat "$0/id.pub")" >"$0/allowed" && ssh-keygen -q -Y verify -f "$0/allowed" -I me -n helm-approval@v1 -s "$0/answer.sig" <"$0/answer"' "$scratch"
ok "the answer says everything: no term beside it" says 2 "does not go with" helm approval approve "$id" --signed "$scratch/answer" --shape
cp "$scratch/answer" "$scratch/first"
cp "$scratch/answer.sig" "$scratch/first.sig"
sed -i 's/"once":true/"once":false/' "$scratch/answer"
ok "a changed term" says 25 "not over this text" answer
cp "$scratch/first" "$scratch/answer"
HELM_ENV=CLAUDECODE=1
ok "not from inside an agent" says 25 "terminal of your own" answer
HELM_ENV=
ok "the real one grants" says 0 "Granted" answer
ok "once" says 1 "approved already" answer
ok "the record names the key and holds the signature" sh -c 'grep -q "\"ssh_key\":\"ssh-ed25519 " "$0" && grep -q "BEGIN SSH SIGNATURE" "$0"' "$receipts"
ok "what was asked passes" sh -c 'env -i PATH="$PATH" HOME="$0/home" "$1" run -- rm -rf one' "$scratch" "$HELM_REAL"

# Another question.
ask two
cp "$scratch/first" "$scratch/answer"
cp "$scratch/first.sig" "$scratch/answer.sig"
ok "an answer to another question" says 25 "not about request" answer

# A hardware key, and everything that can be wrong with it.
message "$id" --once
for wrong in flags=0 flags=4 namespace=git application=ssh:web application=https://example.org claim=ssh:web cut=150; do
  touch_sk $wrong
  ok "refused: $wrong" sh -c '! "$@" && ! grep -q "$0" .helm/approvals-log.jsonl' "$id" env -i HOME="$scratch/home" "$HELM_REAL" approval approve "$id" --signed "$scratch/answer"
done
touch_sk flags=0
ok "nobody touched it: that is said" says 25 "without being touched" answer
touch_sk "" stranger
ok "another device" says 25 "no registered key" answer
touch_sk
ok "touched, it grants" says 0 "Granted" answer
ok "and is named" sh -c 'grep -q "\"ssh_key\":\"sk-ssh-ed25519@openssh.com " "$0"' "$receipts"

# The key alone, where a person has said so.
register_approver_beside() {
  python3 - "$scratch/home/.helm/trust/approvers.json" "$1" <<'END'
import json, sys
doc = json.load(open(sys.argv[1]))
doc["keys"].append({"public_key_hex": open(sys.argv[2]).read().strip()})
json.dump(doc, open(sys.argv[1], "w"))
END
  rm -f "$scratch/home/.helm/trust/approvers.json.seal" # written by hand: without a digest of what helm wrote last
}
mkdir "$scratch/.boss" && env -i HOME="$scratch/.boss" "$HELM_REAL" key create >/dev/null
register_approver_beside "$scratch/.boss/.helm/keys/root.pub"
ok "a person makes the key the only way" says 0 "accepted" terminal TRUST -- helm workspace trust --require-key yes --key "$scratch/.boss/.helm/keys/root.key"
ask three
ok "then no terminal answers" says 25 "only a registered key" terminal APPROVE -- helm approval approve "$id"
ok "nor one that an agent has made" exits 25 terminal --forge APPROVE -- helm approval approve "$id"
message "$id" --once
touch_sk counter=8
ok "a touched key does" says 0 "Granted" answer

# Terms.
ask four
message "$id" --for 2h
python3 - "$scratch/answer" <<'END'
import re, sys
text = open(sys.argv[1]).read()
open(sys.argv[1], "w").write(re.sub(r'"expires_at":"\d+', '"expires_at":"2099', text))
END
touch_sk
ok "no grant for ever, whoever signs it" says 1 "30 days" answer
message "$id" --for 2h
sed -i 's/"covers":\[{/"covers":[{"rule":"x"},{/' "$scratch/answer"
touch_sk
ok "nothing that was not asked" says 25 "not about request" answer
printf 'anything' >"$scratch/answer"
touch_sk
ok "no other text" says 1 "no answer to sign" answer
helm freeze --reason test >/dev/null
message "$id" --once
touch_sk
ok "nothing while everything is frozen" says 25 "frozen" answer
ok "the log is sound" exits 0 helm log check
ok "all of it verifies" says 0 "ADMISSIBLE" helm verify "$receipts" --key "$scratch/home/.helm/keys/root.pub"
finish
