#!/bin/sh
# key show, create, export: what is made, what is refused, and that the secret stays where it is.
# shellcheck disable=SC2016,SC2317 # texts for sh -c; functions are called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
. "$HELM_SOURCE/tests/tools/crash.sh"
keys=$scratch/home/.helm/keys

mode() { stat -c %a "$1"; }
has_mode() { [ "$(mode "$2")" = "$1" ] || { echo "$2 has mode $(mode "$2")"; return 1; }; }
matches() { grep -Eq -e "$1" "$scratch/.stdout" || { cat "$scratch/.stdout"; return 1; }; }

ok "without a key, show says what to do" says 1 "helm key create" helm key show
ok "and export too" says 1 "helm key create" helm key export
ok "an error is a document under --json" is_json helm key show --json
ok "create makes one" says 0 "key_id=ed25519:" helm key create
ok "the directory is closed" has_mode 700 "$keys"
ok "and so is the file" has_mode 600 "$keys/root.key"
ok "the seed is 64 hex digits, no newline" sh -c 'test "$(wc -c <"$0")" = 64 && grep -Eq "^[0-9a-f]{64}$" "$0"' "$keys/root.key"
before=$(cat "$keys/root.key")
ok "a second create is refused" says 1 "never overwritten" helm key create
ok "and so is force" exits 2 helm key create --force
ok "the key is still the same" test "$before" = "$(cat "$keys/root.key")"

ok "show" says 0 "file=$keys/root.key" helm key show
ok "show --json" is_json helm key show --json
ok "export prints the public key" exits 0 helm key export
ok "as 64 hex digits" matches '^[0-9a-f]{64}$'
ok "which is root.pub" test "$(cat "$scratch/.stdout")" = "$(cat "$keys/root.pub")"
ok "export --out writes a file" exits 0 helm key export --out pub.hex
ok "with the same line" test "$(cat pub.hex)" = "$(cat "$keys/root.pub")"
ok "and does not overwrite one" says 1 "exists already" helm key export --out pub.hex
no_secret() {
  { helm key show; helm key show --json; helm key export; helm key export --json; helm key create; helm doctor; helm version --json; } >all.txt 2>&1
  ! grep -qi -e "$before" all.txt
}
ok "no command prints the secret" no_secret

chmod 640 "$keys/root.key"
ok "a readable key is refused, with the remedy" says 1 "chmod 600" helm key show
chmod 600 "$keys/root.key"
chmod 750 "$keys"
ok "an open directory is refused" says 1 "chmod 700" helm key show
chmod 700 "$keys"
mv "$keys/root.key" "$keys/real.key"
ln -s real.key "$keys/root.key"
ok "a link is refused" says 1 "symbolic link" helm key show
rm "$keys/root.key"
printf 'zz' >"$keys/root.key"
chmod 600 "$keys/root.key"
ok "something else than a key is refused" says 1 "expected 64 hex digits" helm key show
mv "$keys/real.key" "$keys/root.key"
echo 3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c >"$keys/root.pub"
ok "an exchanged public key is noticed, and made again" says 0 "root.pub did not belong to root.key; it was made again" helm key show
echo 3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c >"$keys/root.pub"
mv "$keys/history.jsonl" "$keys/history.away"
mv "$keys/history.end" "$keys/end.away"
ok "not where no history says which of the two is right" says 1 "exchanged" helm key show
mv "$keys/history.away" "$keys/history.jsonl"
mv "$keys/end.away" "$keys/history.end"
rm "$keys/root.pub"
ok "a missing one is not needed" says 0 "key_id=" helm key show

HELM_ENV="HELM_HOME=$scratch/elsewhere"
ok "HELM_HOME moves it" says 0 "file=$scratch/elsewhere/keys/root.key" helm key create
HELM_ENV="HELM_HOME=$scratch/a HELM_TEST_SEED=7"
exits 0 helm_twin key create
first=$(helm key export)
HELM_ENV="HELM_HOME=$scratch/b HELM_TEST_SEED=7"
exits 0 helm_twin key create
ok "the same seed makes the same key, in the twin only" test -n "$first" -a "$first" = "$(helm key export)"

reset() { rm -rf "$scratch/sweep"; }
none_or_whole() { # acknowledged: it is there; otherwise it loads, or creating works
  [ "$1" -ne 0 ] || [ -e "$scratch/sweep/keys/root.pub" ] || return 1
  if [ -e "$scratch/sweep/keys/root.key" ]; then helm key show; else helm key create; fi >/dev/null
}
HELM_ENV="HELM_HOME=$scratch/sweep"
ok "a crash at any call leaves no key or a whole one" crash_sweep reset none_or_whole key create
finish
