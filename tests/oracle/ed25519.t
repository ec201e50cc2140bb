#!/bin/sh
# Ed25519 against openssl and minisign: both ways, random keys and messages.
# shellcheck disable=SC2317 # called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
tool=$HELM_BUILD/tests/sign_tool
[ -x "$tool" ] || skip_all "sign_tool is not built"
command -v openssl >/dev/null || command -v minisign >/dev/null || skip_all "neither openssl nor minisign is here"
command -v basenc >/dev/null || skip_all "no basenc"

hex() { basenc --base16 -w0 | tr A-F a-f; }
unhex() { tr a-f A-F | tr -d '\n' | basenc --base16 -d; }
random_hex() { head -c "$1" /dev/urandom | hex; }
ours() { # ours SEED FILE: sets pub and sig
  "$tool" sign "$1" <"$2" >pair || return 1
  pub=$(sed -n 1p pair)
  sig=$(sed -n 2p pair)
}

openssl_agrees() {
  i=0
  while [ "$i" -lt 20 ]; do
    i=$((i + 1))
    seed=$(random_hex 32)
    head -c $((i * 37)) /dev/urandom >message
    ours "$seed" message || return 1
    printf '302e020100300506032b657004220420%s' "$seed" | unhex >key.der
    openssl pkey -inform DER -in key.der -out key.pem || return 1
    openssl pkey -in key.pem -pubout -outform DER | tail -c 32 | hex >their_pub
    [ "$pub" = "$(cat their_pub)" ] || { echo "public keys differ for seed $seed"; return 1; }
    openssl pkeyutl -sign -inkey key.pem -rawin -in message -out their_sig || return 1
    [ "$sig" = "$(hex <their_sig)" ] || { echo "signatures differ for seed $seed"; return 1; }
    openssl pkey -in key.pem -pubout -out pub.pem
    printf %s "$sig" | unhex >our_sig
    openssl pkeyutl -verify -pubin -inkey pub.pem -rawin -in message -sigfile our_sig >/dev/null || return 1
    echo x >>message
    "$tool" verify "$pub" "$sig" <message && { echo "a changed message was accepted"; return 1; }
  done
  return 0
}

# A minisign key is "Ed", 8 bytes of id, 32 of key; a signature "Ed", the id, 64 bytes; the last line signs the signature and
# the trusted comment.
minisign_signs() {
  minisign -G -W -f -p mini.pub -s mini.key >/dev/null || return 1
  echo "signed by minisign" >message
  minisign -S -l -s mini.key -m message -x message.minisig >/dev/null </dev/null || return 1
  pub=$(sed -n 2p mini.pub | base64 -d | tail -c 32 | hex)
  sed -n 2p message.minisig | base64 -d >raw
  [ "$(head -c 2 raw)" = Ed ] || { echo "not a plain signature"; return 1; }
  "$tool" verify "$pub" "$(tail -c 64 raw | hex)" <message
}
minisign_verifies() {
  seed=$(random_hex 32)
  id=$(random_hex 8)
  echo "signed by helm" >message
  ours "$seed" message || return 1
  first=$sig
  comment="timestamp:0"
  { printf %s "$first" | unhex; printf %s "$comment"; } >global
  ours "$seed" global || return 1
  {
    echo "untrusted comment: helm"
    { printf Ed; printf '%s%s' "$id" "$pub" | unhex; } | base64 -w0
    echo
  } >ours.pub
  {
    echo "untrusted comment: helm"
    { printf Ed; printf '%s%s' "$id" "$first" | unhex; } | base64 -w0
    echo
    echo "trusted comment: $comment"
    printf %s "$sig" | unhex | base64 -w0
    echo
  } >message.minisig
  minisign -V -p ours.pub -m message -x message.minisig
}

if needs openssl "openssl"; then
  ok "openssl: same keys, same signatures, each accepts the other's" openssl_agrees
fi
if needs minisign "minisign"; then
  ok "minisign's signature is accepted here" minisign_signs
  ok "our signature is accepted by minisign" minisign_verifies
fi
finish
