# shellcheck shell=sh
# crash.sh — run a command of helm again and again, with a fault one system call later each time; source it after lib.sh.
#
#   crash_sweep RESET CHECK ARGS...
#
# For every fault (killed, killed half way, disk full once, broken from then on, short write) and every counted call N: run
# RESET, run `helm_twin ARGS` with the fault at call N, run CHECK with the exit code as $1 and the fault as $2.  CHECK uses
# plain `helm` and fails when something acknowledged is lost or something half-written is seen.  Ends when the command is
# over before call N; it must then have succeeded.  Extra variables for all runs: HELM_ENV, as ever.
crash_sweep() {
  crash_reset=$1
  crash_check=$2
  shift 2
  crash_env=${HELM_ENV:-}
  for crash_fault in KILL_AT=%d TEAR_AT=%d FAIL_AT=%d:ENOSPC FAIL_AT=%d+:EIO SHORT_AT=%d; do
    crash_n=0
    while :; do
      crash_n=$((crash_n + 1))
      # shellcheck disable=SC2059 # a format on purpose
      crash_now=$(printf "$crash_fault" "$crash_n")
      HELM_ENV=$crash_env
      "$crash_reset" || { echo "reset before $crash_now failed"; return 1; }
      : >"${scratch:?}/.trace"
      HELM_ENV="$crash_env HELM_TEST_TRACE=$scratch/.trace HELM_TEST_$crash_now"
      helm_twin "$@" >"$scratch/.crash" 2>&1
      crash_rc=$?
      HELM_ENV=$crash_env
      crash_calls=$(wc -l <"$scratch/.trace")
      "$crash_check" "$crash_rc" "$crash_now" || { echo "after $crash_now"; cat "$scratch/.crash"; return 1; }
      if [ "$crash_calls" -lt "$crash_n" ]; then
        [ "$crash_rc" -eq 0 ] || { echo "undisturbed, it failed"; cat "$scratch/.crash"; return 1; }
        break
      fi
      [ "$crash_n" -lt 5000 ] || { echo "never ends"; return 1; }
    done
    echo "$crash_fault: $((crash_n - 1)) calls"
  done
  [ "$crash_n" -gt 1 ] || { echo "no call was counted: the sweep shows nothing"; return 1; }
}
