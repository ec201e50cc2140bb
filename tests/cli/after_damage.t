#!/bin/sh
# Damage that is no changed byte of a receipt: something else in the place of a file, a list that nests too deep, entries that no run has
# written.  Every view says it, the command that is named makes it sound again, and a second repair finds nothing.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to damage files"

set_up() { # a record with a run, a restore that left something out, and an entry of memory
  cd "$scratch" || exit 1
  if [ -d made ]; then
    rm -rf home
    cp -a made home
  else
    fresh_workspace
    cd "$scratch" || exit 1
    helm run --task-id one -- true >/dev/null 2>&1
    echo first >project/f
    (cd project && helm checkpoint create --label x >/dev/null 2>&1 && echo second >f && helm checkpoint restore "$(point)" --yes >/dev/null 2>&1)
    helm memory write --text "the staging host listens on port 8080" >/dev/null 2>&1
    helm log head --sign >/dev/null
    helm status --brief >/dev/null
    cp -a home made
  fi
  state=$ws/.helm
  cd "$scratch/project" || exit 1
}
point() { helm checkpoint list --json | sed -n 's/.*"checkpoint_id": "\([^"]*-x\)".*/\1/p' | head -1; }
miss() { echo "# $*"; return 1; }
green() {
  helm log check >o 2>&1 || { cat o; miss "log check is not sound"; return 1; }
  helm doctor --skip-discovery >o 2>&1 || { grep -A1 ^fail o; miss "doctor is red"; return 1; }
  helm status >o 2>&1; grep "NOT SOUND" o && { miss "status calls it not sound"; return 1; }
  helm evidence export --all --out pack.tar >o 2>&1 || { cat o; miss "export"; return 1; }
  helm verify pack.tar --key "$scratch/home/.helm/keys/root.pub" >o 2>&1 || { cat o; miss "verify"; return 1; }
  rm -f pack.tar
}
red() {
  helm log check >o 2>&1 && { miss "log check is sound"; return 1; }
  grep -q "log repair" o || { cat o; miss "log check names no repair"; return 1; }
  helm doctor --skip-discovery >o 2>&1 && { miss "doctor is green"; return 1; }
  helm status --plain >o 2>&1; grep -q '^health=ok' o && { miss "status is ok"; return 1; }
  helm status --brief >o 2>&1; head -1 o | grep -q "^Needs attention" || { head -2 o; miss "status --brief is well"; return 1; }
  helm report >o 2>&1; grep -q "NOT SOUND\|helm: " o || { head -5 o; miss "report is whole"; return 1; }
  helm evidence export --all --out pack.tar >o 2>&1 && { miss "export"; return 1; }
  return 0
}
mended() {
  helm log repair --yes >o 2>&1 || { cat o; miss "the repair"; return 1; }
  green || return 1
  helm run -- true >o 2>&1 || { cat o; miss "a run afterwards"; return 1; }
  helm log repair --yes >o 2>&1
  grep -q "nothing to repair" o || { cat o; miss "a second repair has work"; return 1; }
}
set_up
ok "all is well at first" green

# ---- something else in the place of a file ----
put() { # put KIND FILE
  set_up
  rm -f "$state/$2"
  case $1 in
    directory) mkdir "$state/$2" ;;
    link) ln -s /nonexistent/x "$state/$2" ;;
    pipe) mkfifo "$state/$2" ;;
  esac
}
for kind in directory link pipe; do
  for file in receipts.jsonl task-ledger.jsonl command-log.jsonl memory-entries.jsonl approvals-log.jsonl log/heads.jsonl; do
    put $kind $file
    ok "a $kind in the place of $file: every view says so" red
    ok "a $kind in the place of $file: repaired" mended
    ok "a $kind in the place of $file: kept aside" sh -c 'ls -d "$0".damaged-* >/dev/null' "$state/$file"
  done
done
put link approvals-log.jsonl
ok "without --yes it is only said" says 1 "would put approvals-log.jsonl aside, which is a symbolic link" helm log repair
ok "and nothing is changed" test -h "$state/approvals-log.jsonl"

# ---- entries that no run has written ----
change() { # change FILE PYTHON: `b` is its text
  python3 - "$state/$1" "$2" <<'PY'
import sys
path, code = sys.argv[1:]
scope = {"b": open(path, encoding="utf-8").read()}
before = scope["b"]
exec(code, scope)
assert scope["b"] != before, "nothing was changed"
with open(path, "r+", encoding="utf-8") as f:
    f.write(scope["b"])
    f.truncate()
PY
}
changed() {
  set_up
  change "$@" && red
}
ok "the entry of a restore that is changed is found" changed task-ledger.jsonl 'i = b.rindex("\"written\": 1"); b = b[:i] + "\"written\": 7" + b[i + 12:]'
ok "and repaired" mended
ok "so is one that is gone" changed task-ledger.jsonl 'b = "".join(l for l in b.splitlines(True) if "\"stage\": \"finished\"" not in l)'
ok "and repaired, too" mended
ok "an entry of memory that names another receipt is found" changed memory-entries.jsonl 'b = b.replace("rcpt_dec-", "rcpt_dex-", 1)'
ok "and repaired: memory" mended
ok "so is one that names another clock" changed memory-entries.jsonl 'i = b.index("receipt_clock\": ") + 16; b = b[:i] + "9" + b[i:]'
ok "and one whose clock has another name" changed memory-entries.jsonl 'b = b.replace("receipt_clock", "receipt_clocq", 1)'
moved_on() {
  set_up
  helm task block one --reason "waits for a review" >o 2>&1 || { cat o; return 1; }
  green && change task-ledger.jsonl 'b = b.replace("waits for a review", "waits for a holiday")' && red
}
ok "a move of an operator that is changed is found" moved_on
ok "and repaired: the move" mended

# ---- a list that nests too deep is damaged like any other ----
set_up
index=$(find "$scratch/home/.helm" -name index.json | head -1)
python3 -c 'import sys; open(sys.argv[1], "w").write("[" * 100000)' "$index"
ok "a list of checkpoints that nests too deep names its repair" says 1 "helm checkpoint repair" helm checkpoint list
ok "which makes it anew" says 0 "nothing is lost" helm checkpoint repair --yes
ok "with everything that was saved" sh -c 'test -n "$0"' "$(point)"
ok "and doctor is green" exits 0 helm doctor --skip-discovery
finish
