#!/bin/sh
# Long records: what a command needs does not grow with what was recorded, and what it does not show it does not read.
#
# Every command that reads records runs on a store and on one that is four times as long.  At ten million records 64 MiB leave some six
# bytes for each, so what is allowed to grow is less than that: a list of anything, one entry for each receipt, would be found.
# shellcheck disable=SC2154 # scratch is lib.sh's
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
store=$HELM_BUILD/tests/store_tool peak=$HELM_BUILD/tests/peak_tool
keys=$scratch/home/.helm/keys
export LC_ALL=C

peak_of() { # peak_of WORKSPACE ARGS...: KiB, as $kib
  at=$1
  shift
  env -i PATH="$PATH" HOME="$scratch/home" HELM_WORKSPACE="$at" "$peak" "$scratch/.kib" "$HELM_REAL" "$@" >"$scratch/.said" 2>&1 </dev/null
  code=$?
  kib=$(cat "$scratch/.kib")
}
helm init --path "$scratch/few" >/dev/null
helm init --path "$scratch/many" >/dev/null
cd "$scratch/few" || exit 1
peak_of "$scratch/few" --version
[ "$kib" -lt 12000 ] || skip_all "this build needs $kib KiB for nothing"
# A decision and an outcome for each task, its four rows and two calls of a client beside them; small files, so that there are some dozens.
start=1700000000000000
"$store" "$scratch/few/.helm" "$keys" 12000 0 250000 $start 1000000 0 2 || exit 1
"$store" "$scratch/many/.helm" "$keys" 48000 0 250000 $start 1000000 0 2 || exit 1

# grows KIB ARGS...: on the long one it ends well, needs at most so much more than on the short one, and never more than 32 MiB
grows() {
  most=$1
  shift
  peak_of "$scratch/few" "$@"
  few=$kib
  peak_of "$scratch/many" "$@"
  [ $code -eq 0 ] || { echo "exit $code: $*"; cat "$scratch/.said"; return 1; }
  [ "$kib" -le $((few + most)) ] && [ "$kib" -le 32768 ] || { echo "$* needs $few KiB for 12000 receipts and $kib for 48000"; return 1; }
}
# Of 36,000 more receipts, with 72,000 more rows: 512 KiB are five bytes for each record.
ok "receipts list, which makes the index of actions" grows 16384 receipts list # the pages that it keeps
ok "receipts list" grows 512 receipts list
ok "receipts tail" grows 512 receipts tail
ok "receipts show of an old one" grows 512 receipts show 40
ok "receipts show of a new one" grows 512 receipts show 11990
ok "receipts list of one task" grows 512 receipts list --task task-7
ok "receipts export" grows 512 receipts export
ok "log head" grows 512 log head
ok "log prove" grows 512 log prove 5
ok "evidence export of a task, which checks the record first" grows 12288 evidence export --task task-7 --out "$scratch/p.tar"
ok "profile ledger" grows 512 profile ledger
ok "guard tune" grows 512 guard tune --since 365d
# What has buffers of a fixed size fills them with the long one: piles for comparing rows, windows for two threads, the cache of the index.
ok "log check --all" grows 12288 log check --all
ok "log check" grows 12288 log check
ok "db rebuild" grows 16384 db rebuild
ok "status" grows 16384 status
ok "status --brief" grows 16384 status --brief
ok "dashboard" grows 16384 dashboard
ok "report" grows 16384 report
ok "task list" grows 16384 task list
# All of it is added to the index, however busy the machine is: what is not, is searched in another way.
ok "context, before there is an index of it" grows 16384 context --fresh no-such-word
ok "task show" grows 16384 task show task-7
ok "log sessions" grows 16384 log sessions
ok "approval list" grows 512 approval list
ok "doctor" grows 16384 doctor --skip-discovery
ok "doctor --deep" grows 16384 doctor --deep --skip-discovery
ok "evidence export --all" grows 8192 evidence export --all --out "$scratch/all.tar"

# ---- what is not shown is not read ----
# Every byte counts that is read or mapped of a file of the chain that is neither among the oldest nor among the newest, and of the oldest packed
# piece of the ledger of tasks.
trace_of() { # trace_of ARGS...: what it reads, as a file; only these calls stop it, where the kernel can choose
  strace -f -y $only -e trace=read,pread64,readv,preadv,mmap -o "$scratch/.trace" \
    env -i PATH="$PATH" HOME="$scratch/home" HELM_WORKSPACE="$scratch/many" "$HELM_REAL" "$@" >/dev/null 2>&1
}
reads_some() { [ "$(grep -cF "<$scratch/many/.helm/$1>" "$scratch/.trace")" -gt 0 ]; }
reads_none() { # reads_none FILES ARGS...
  files=$1
  shift
  trace_of "$@" || { echo "$* failed"; return 1; }
  [ -s "$scratch/.trace" ] || { echo "nothing was traced"; return 1; }
  for file in $files; do
    reads_some "$file" && { echo "$* reads $file"; return 1; }
  done
  return 0
}
only=--seccomp-bpf
strace -f $only -o /dev/null true 2>/dev/null || only=
if strace -o /dev/null true 2>/dev/null; then
  chain=receipts-000010.jsonl tasks=segments/waiting/task-ledger-000001.jsonl
  [ -e "$scratch/many/.helm/$tasks" ] || tasks=segments/task-ledger-000001.jsonl.zst
  trace_of log check --all
  for file in $chain $tasks; do ok "(a whole check reads $file)" reads_some "$file"; done
  for what in "receipts list" "receipts tail" "receipts show 47990" "receipts list --task task-7" "status" "status --brief" "dashboard" \
    "report" "task list" "task list --status failed" "task show task-23990" "log sessions" "log head" "approval list" "profile ledger" "checkpoint list" \
    "freeze status" "workspace show" "guard tune" "db query --limit 5"; do
    # shellcheck disable=SC2086 # words on purpose
    ok "$what reads no file that it does not show" reads_none "$chain $tasks" $what
  done
  ok "a run reads none of the chain" reads_none $chain run -- true # it may pack a piece of a ledger that waits for that
fi

lost_edge() { rm -f "$scratch/few/.helm/log/edge" "$scratch/many/.helm/log/edge"; }
lost_edge
ok "a run without the edge" grows 2048 run -- true
lost_edge
ok "a view without the edge" grows 2048 status --brief
damaged() { # the same byte of the oldest file, which has no end to be taken from
  for one in few many; do printf X | dd of="$scratch/$one/.helm/receipts-000001.jsonl" bs=1 seek=5000 conv=notrunc 2>/dev/null; done
}
damaged
ok "log repair of damage in the oldest file" grows 12288 log repair --yes
each_archive() { # each to a place of its own
  peak_of "$scratch/few" archive --yes --before 2023-11-15 --to "$scratch/archive-few"
  few=$kib
  peak_of "$scratch/many" archive --yes --before 2023-11-15 --to "$scratch/archive-many"
  [ $code -eq 0 ] || { cat "$scratch/.said"; return 1; }
  [ -e "$scratch/archive-many/receipts-000001.jsonl" ] && [ "$kib" -le $((few + 2048)) ] || { echo "$few KiB, then $kib"; return 1; }
}
ok "archive" each_archive

finish
