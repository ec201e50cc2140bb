#!/bin/sh
# fleet_pack.t — an auditor with a pack, the key of the log and that of a witness: helm verify says what holds, and what was not given.
# shellcheck disable=SC2317 # called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
tool=$HELM_BUILD/tests/fleet_pack_tool
[ -x "$tool" ] || skip_all "fleet_pack_tool is not built"
"$tool" "$scratch/pack.tar" >"$scratch/keys" || exit 1
log=$(sed -n 1p "$scratch/keys")
control=$(sed -n 2p "$scratch/keys")
witness=$(sed -n 3p "$scratch/keys")
pack=$scratch/pack.tar

ok "with the log's key and a witness's it is admissible" says 0 "ADMISSIBLE" helm verify "$pack" --log-key "$log" --witness-key "$witness" --control-key "$control"
ok "it says who cosigned" says 0 "1 cosigned, first at 2023-11-14" helm verify "$pack" --log-key "$log" --witness-key "$witness"
ok "and what it does not show" says 0 "is not shown by it" helm verify "$pack" --log-key "$log"
ok "without a witness that is said" says 0 "another log" helm verify "$pack" --log-key "$log"
printf 'log %s\nwitness w %s\nquorum w\n' "$log" "$witness" >"$scratch/policy"
ok "by a policy" says 0 "ADMISSIBLE" helm verify "$pack" --policy "$scratch/policy"
ok "nothing given: unchanged, and not trusted" says 1 "UNVERIFIED" helm verify "$pack"
ok "and what to give" says 1 "--log-key" helm verify "$pack"
ok "another control key" says 1 "another control key" helm verify "$pack" --log-key "$log" --control-key "$log"
ok "another key in the place of the log's" says 1 "no signature of a known key" helm verify "$pack" --log-key "$control"
ok "a witness's key is one" says 2 "witness" helm verify "$pack" --log-key "$log" --witness-key "$log"
ok "a witness needs its log" says 2 "--log-key" helm verify "$pack" --witness-key "$witness"
ok "a key is one" says 2 "no key" helm verify "$pack" --log-key nonsense

# One byte of a receipt.
at=$(grep -abo '"effect_id"' "$pack" | sed -n '1s/:.*//p')
cp "$pack" "$scratch/other.tar"
printf 'F' | dd of="$scratch/other.tar" bs=1 seek=$((at + 2)) conv=notrunc 2>/dev/null
ok "one byte changed" says 1 "TAMPERED" helm verify "$scratch/other.tar" --log-key "$log" --witness-key "$witness"
head -c 20000 "$pack" >"$scratch/cut.tar"
ok "cut off" says 1 "TAMPERED" helm verify "$scratch/cut.tar" --log-key "$log"
tar -xf "$pack" -C "$scratch" 2>/dev/null && ok "any tar opens it" test -s "$scratch/chains/00000001/receipts.jsonl"
is_json() { helm verify "$pack" --log-key "$log" --witness-key "$witness" --json | python3 -c 'import json,sys; d=json.load(sys.stdin); assert d["admissible"] and d["results"][0]["values"]["tree_size"]=="4"'; }
ok "as JSON" is_json
finish
