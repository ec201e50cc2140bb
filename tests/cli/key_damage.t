#!/bin/sh
# Damaged keys: each kind of damage is found by every view that shows keys, healed or repaired by one command, and trusts nothing that was damaged.
# shellcheck disable=SC2016,SC2317 # texts for sh -c; functions are called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
keys=$scratch/home/.helm/keys
history=$keys/history.jsonl

# three_links: created, rotated, the first key revoked; a receipt under each key, so that the chain carries the rotation.
three_links() {
  if [ -d "$scratch/.three" ]; then
    rm -rf "${scratch:?}/home"
    cp -a "$scratch/.three" "$scratch/home"
  else
    fresh_workspace
    first=$(helm key export)
    helm run -- true >/dev/null 2>&1
    cp "$history" "$scratch/one.jsonl"
    cp "$keys/root.key" "$scratch/first.key"
    terminal -- helm key rotate >/dev/null
    second=$(helm key export)
    helm run -- true >/dev/null 2>&1
    cp "$history" "$scratch/two.jsonl"
    terminal -- helm key revoke "$first" >/dev/null
    cp "$history" "$scratch/three.jsonl"
    cp -a "$scratch/home" "$scratch/.three"
  fi
  cd "$scratch/project" || exit 1
}
flip() { # flip FILE OFFSET: one bit of one byte
  python3 - "$1" "$2" <<'PY'
import sys
path, at = sys.argv[1], int(sys.argv[2])
data = bytearray(open(path, 'rb').read())
data[at] ^= 1
open(path, 'wb').write(data)
PY
}
sound() {
  says 0 "unbroken; in force: $second" helm key history &&
    exits 0 helm key show && exits 0 helm run -- true && cmp "$history" "$scratch/three.jsonl"
}
# found: every view that shows keys says so and what to type.
found() {
  says 1 "$1" helm key history && says 1 "helm key" helm key history && exits 1 helm key show && exits 1 helm key history --json
}

three_links
ok "all is well at first" sound

# ---- root.pub is derived ----
for damage in flip cut empty garbage directory; do
  three_links
  case $damage in
    flip) flip "$keys/root.pub" 10 ;;
    cut) truncate -s 20 "$keys/root.pub" ;;
    empty) : >"$keys/root.pub" ;;
    garbage) echo "no key at all" >"$keys/root.pub" ;;
    directory) rm "$keys/root.pub" && mkdir "$keys/root.pub" ;;
  esac
  ok "root.pub, $damage: the next command makes it again and says so" says 0 "root.pub did not belong to root.key; it was made again" helm run -- true
  ok "root.pub, $damage: the key is right" test "$(cat "$keys/root.pub")" = "$second"
  ok "root.pub, $damage: nothing is said twice" sh -c '"$@" 2>&1 | grep -c "made again" | grep -qx 0' sh env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" key show
  ok "root.pub, $damage: sound" sound
done
three_links
rm "$keys/root.pub"
ok "root.pub removed: nothing is wrong" sound
three_links
cp "$scratch/first.key" "$keys/root.key"
ok "an exchanged root.key is not made right by its public half" says 1 "is not the secret of the key in force" helm key show
ok "nothing runs under it" exits 1 helm run -- true

# ---- the history ----
size=$(wc -c <"$scratch/three.jsonl")
second_line=$(($(head -1 "$scratch/three.jsonl" | wc -c) + 40))
for damage in flip1 flip2 flip3 cut torn empty remove swap drop2 old1 old2; do
  three_links
  case $damage in
    flip1) flip "$history" 40 ;;
    flip2) flip "$history" "$second_line" ;;
    flip3) flip "$history" $((size - 30)) ;;
    cut) head -2 "$scratch/three.jsonl" >"$history" ;;
    torn) truncate -s $((size - 5)) "$history" ;;
    empty) : >"$history" ;;
    remove) rm "$history" ;;
    swap) { sed -n 2p "$scratch/three.jsonl"; sed -n 1p "$scratch/three.jsonl"; sed -n 3p "$scratch/three.jsonl"; } >"$history" ;;
    drop2) sed 2d "$scratch/three.jsonl" >"$history" ;;
    old1) cp "$scratch/one.jsonl" "$history" ;;
    old2) cp "$scratch/two.jsonl" "$history" ;;
  esac
  ok "history, $damage: found" found BROKEN
  ok "history, $damage: the old key is not said to be in force" sh -c '! "$@" 2>&1 | grep -q unbroken' sh env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" key history
  ok "history, $damage: no rotation on top of it" exits 1 terminal -- helm key rotate
  cp "$history" "$scratch/damaged.jsonl" 2>/dev/null
  ok "history, $damage: repair only says without --yes" exits 1 helm key repair
  case $damage in
    remove) ;;
    *) ok "history, $damage: and changes nothing" cmp "$history" "$scratch/damaged.jsonl" ;;
  esac
  ok "history, $damage: an agent cannot repair" exits 25 agent key repair --yes
  case $damage in
    cut) ok "history, $damage: a copy brings it back" says 0 "in the key history again" terminal -- helm key repair --from "$scratch/three.jsonl" --yes ;;
    *) ok "history, $damage: repaired" says 0 "in the key history again" terminal -- helm key repair --yes ;;
  esac
  ok "history, $damage: sound" sound
  ok "history, $damage: repairing twice changes nothing" says 0 "is unbroken" terminal -- helm key repair --yes
  case $damage in
    remove) ;;
    *) ok "history, $damage: what was damaged is kept" sh -c 'cat "$0".damaged-* | cmp - "$1"' "$history" "$scratch/damaged.jsonl" ;;
  esac
done

three_links
rm "$history"
mkdir "$history"
ok "a directory in the place of the history: found" exits 1 helm key history
ok "repaired" exits 0 terminal -- helm key repair --yes
ok "sound" sound

# What nobody has any more can be given up, by an operator.
three_links
cp "$scratch/one.jsonl" "$history"
rm "$keys/history.end"
ok "found by the key in force alone" found "its last links are missing"
ok "only the rotation comes from the record" says 1 "can be brought back: 2 links" helm key repair
ok "that leads to the key in force" says 0 "2 links are in the key history again" terminal -- helm key repair --yes
ok "the history is unbroken again" says 0 "unbroken; in force: $second" helm key history
three_links
: >"$history"
rm -f "$keys/history.end"
ok "without the first link nothing leads to the key in force" says 1 "Lost: the links that lead from" helm key repair
ok "a new line of keys, for an operator" says 0 "begins a new line" terminal -- helm key repair --lost --yes
ok "it holds" says 0 "unbroken; in force: $second" helm key history

# ---- history.end is derived ----
for damage in flip cut empty remove; do
  three_links
  case $damage in
    flip) flip "$keys/history.end" 30 ;;
    cut) truncate -s 20 "$keys/history.end" ;;
    empty) : >"$keys/history.end" ;;
    remove) rm "$keys/history.end" ;;
  esac
  ok "history.end, $damage: nothing is lost" sound
  ok "history.end, $damage: repair writes it again" exits 0 terminal -- helm key repair --yes
  ok "history.end, $damage: it is as it was" cmp "$keys/history.end" "$scratch/.three/.helm/keys/history.end"
done

# ---- root.key ----
three_links
cp "$keys/root.key" "$scratch/good.key"
flip "$keys/root.key" 7
ok "one wrong digit of the secret: nothing runs" exits 1 helm run -- true
ok "the remedy is named" says 1 "helm key repair" helm key history
ok "it is found by its public key" exits 0 terminal -- helm key repair --yes
ok "the secret is the one it was" cmp "$keys/root.key" "$scratch/good.key"
ok "sound" sound
for damage in cut empty remove; do
  three_links
  case $damage in
    cut) truncate -s 30 "$keys/root.key" ;;
    empty) : >"$keys/root.key" ;;
    remove) rm "$keys/root.key" ;;
  esac
  ok "root.key, $damage: nothing runs" exits 1 helm run -- true
  ok "root.key, $damage: what remains possible is said" says 1 "helm key create" helm key history
  ok "root.key, $damage: with the key to vouch for" says 1 "helm key trust add $second" helm key history
  cp "$scratch/good.key" "$keys/root.key"
  chmod 600 "$keys/root.key"
  ok "root.key, $damage: a copy is enough" sound
done

# ---- a damaged history beside what older keys have signed ----
# count: receipts that are in the chain
count() { cat "$ws"/.helm/receipts*.jsonl | grep -c lamport_clock; }
# older_keys: a choice that the first key has signed, a rotation, a receipt of the second key
older_keys() {
  three_links
  rm -rf "${scratch:?}/home"
  fresh_workspace
  ws=$scratch/home/.helm/workspace
  terminal -- helm profile use workspace_edit >/dev/null
  helm run -- true >/dev/null 2>&1
  terminal -- helm key rotate >/dev/null
  helm run -- true >/dev/null 2>&1
  helm log head --sign >/dev/null
  before=$(count)
  cp "$history" "$scratch/whole.jsonl"
}
for damage in flip empty cut; do
  older_keys
  case $damage in
    flip) flip "$history" 40 ;;
    empty) : >"$history" ;;
    cut) head -1 "$scratch/whole.jsonl" >"$history" ;;
  esac
  flip "$ws/.helm/log/heads.jsonl" 20
  if [ $damage = empty ]; then
    ok "history, $damage: what an older key has decided is not believed, and the remedy is the one that helps" says 25 "helm key repair" helm run -- true
    ok "history, $damage: nothing is written in its place" says 1 "helm key repair" helm freeze
  fi
  ok "history, $damage: the record is not repaired without it" says 1 "helm key repair" helm log repair --yes
  ok "history, $damage: no receipt is taken out" test "$(count)" -ge "$before"
  ok "history, $damage: an operator repairs it all the same" exits 0 terminal -- helm key repair --yes
  ok "history, $damage: it is as it was" cmp "$history" "$scratch/whole.jsonl"
  ok "history, $damage: then the record is repaired" exits 0 helm log repair --yes
  ok "history, $damage: and sound" exits 0 helm log check --all
  ok "history, $damage: with every receipt" test "$(count)" -ge "$before"
  ok "history, $damage: work goes on" exits 0 helm run -- true
  ok "history, $damage: what was chosen still holds" says 0 '"decided_by": "' helm workspace show --json
done
# Links that are lost for good: receipts that a trusted one continues stay, whoever has signed them.
older_keys
: >"$history"
rm "$keys/history.end"
flip "$ws/.helm/log/heads.jsonl" 20
ok "lost links are accepted by an operator" exits 0 terminal -- helm key repair --lost --yes
ok "then the record can be repaired" exits 0 helm log repair --yes
ok "receipts of the lost keys stay where trusted ones continue them" test "$(count)" -ge "$before"
finish
