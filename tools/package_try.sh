#!/bin/sh
# package_try.sh DIR: do the packages of DIR install, work, stay apart and go in a minimal Debian where nothing else is?
#  1. installed in a bare root: users are made, the program runs as a plain user, units are well formed
#  2. the first day, in a real browser: an agent's hour, a question answered with a key, its proof green, one flipped bit red (tests/clients/done.mjs)
#  3. booted: systemd itself starts, watches and stops the units (systemd-nspawn)
#  4. upgraded, removed, purged: keys and records stay
# What cannot be done here is said with SKIP and the reason; the rest stands.  Needs root (a new root); 77 means "skipped".  HELM_FRESH_SUITE names another
# Debian than 12.
set -eu
dir=$(cd "$1" && pwd)
tools=$(cd "$(dirname "$0")" && pwd)
source=$(dirname "$tools")
[ "$(id -u)" -eq 0 ] || { echo "package_try.sh: SKIPPED: only root can make a fresh Debian" >&2; exit 77; }
sh "$tools/packages.sh" fresh
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
say() { printf '== packages: %s\n' "$*"; }
skip() { printf '== packages: SKIP %s\n' "$*"; }

say "a minimal Debian"
sh "$tools/debian_root.sh" "$work" "$root" systemd libcurl4 libmicrohttpd12 libgnutls30 libpq5 postgresql
# What is read there is tried: the pages of docs/ are not left out.
cat >"$root/etc/dpkg/dpkg.cfg.d/zz-helm" <<'CFG'
path-include=/usr/share/doc/helm-boundary/*
path-include=/usr/share/man/man1/*
CFG
mkdir "$root/packages"
cp "$dir"/*.deb "$root/packages/"
cat >"$root/installed" <<'INSIDE'
set -eu
export DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8
say() { printf '== packages: %s\n' "$*"; }
say "helm alone needs no other package"
dpkg -i /packages/helm-boundary_*.deb
helm version
test -s /usr/share/bash-completion/completions/helm
test -s /usr/share/man/man1/helm.1.gz
useradd --create-home person
as_person() { setpriv --reuid person --regid person --init-groups env -i PATH="$PATH" HOME=/home/person LANG=C.UTF-8 "$@"; }
as_person helm init
as_person helm guard check --shell 'rm -rf /' && { echo "the guard let it pass" >&2; exit 1; }
as_person helm status --brief

say "the network doors"
dpkg -i /packages/helm-boundary-serve_*.deb >/dev/null
systemd-sysusers --dry-run >/dev/null
getent passwd helm-serve helm-sign helm-log helm-fleet
test -d /etc/helm || systemd-tmpfiles --create
helm serve routes | grep -q /api/v1/evaluate
systemd-analyze verify --man=no helm-serve.service helm-signer.service helm-fleet.service helm-log.service helm-ship@person.service
XDG_RUNTIME_DIR=/tmp systemd-analyze verify --user --man=no helm-ship.service
for unit in helm-serve helm-signer helm-fleet helm-log helm-ship@person; do
  test "$(systemctl is-enabled $unit.service 2>/dev/null || true)" != enabled
done
test ! -e /etc/systemd/user/default.target.wants/helm-ship.service
test "$(stat -c '%U %a' /var/lib/helm-log)" = "helm-log 700"
test "$(stat -c '%U %a' /var/lib/helm-fleet)" = "helm-fleet 700"

say "the unit's own command answers, as its user"
cat >/etc/helm/policy.yaml <<'POLICY'
format: helm.policy.v1
name: first
version: "1"
rules:
  - {id: read, action: read_ticket, verdict: ALLOW}
POLICY
mkdir -p /var/lib/helm-serve && chown helm-serve: /var/lib/helm-serve && chmod 0700 /var/lib/helm-serve
as_serve() { setpriv --reuid helm-serve --regid helm-serve --clear-groups env -i PATH="$PATH" HOME=/var/lib/helm-serve HELM_HOME=/var/lib/helm-serve/home "$@"; }
as_serve helm init --path /var/lib/helm-serve/workspace >/dev/null
as_serve helm serve --workspace /var/lib/helm-serve/workspace --policy /etc/helm/policy.yaml --port 0 >/ready 2>/serve.log &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  grep -q ready /ready && break
  sleep 0.5
done
grep -q '"ready":true' /ready || { cat /serve.log >&2; exit 1; }
kill "$server"
wait "$server" || true
setpriv --reuid person --regid person --init-groups ls /var/lib/helm-serve 2>/dev/null && { echo "another user reads the record" >&2; exit 1; }
as_person mkdir -p /home/person/project
INSIDE
cat >"$root/gone" <<'INSIDE'
set -eu
export DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8
say() { printf '== packages: %s\n' "$*"; }
say "upgraded in place, and gone: keys and records stay"
dpkg -i /packages/*.deb >/dev/null
dpkg --purge helm-boundary-serve helm-boundary >/tmp/purged 2>&1
grep 'kept' /tmp/purged
test ! -e /usr/bin/helm
test -s /home/person/.helm/keys/root.key
test -d /var/lib/helm-serve/workspace/.helm
test -d /var/lib/helm-log && test -d /var/lib/helm-fleet
getent passwd helm-sign >/dev/null
INSIDE
# Inside of systemd: one unit of ours does this and ends the machine.
cat >"$root/booted" <<'INSIDE'
export LANG=C.UTF-8
said() { echo "$*" >>/result; }
held() { what=$1; shift; if "$@" >/held.log 2>&1; then said "ok $what"; else said "NOT $what"; sed 's/^/  # /' /held.log | tail -n 8 >>/result; fi; cat /held.log >>/booted.log; }
until_so() { for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do "$@" >/dev/null 2>&1 && return 0; sleep 0.5; done; return 1; }
answers() { port=${1:-7714} bash -c 'exec 3<>/dev/tcp/127.0.0.1/$port && printf "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n" >&3 && head -n 1 <&3 | grep -q " 200 "'; }
pid() { systemctl show -P MainPID "$1"; }
runs_as() { [ "$(stat -c %U "/proc/$(pid "$1")")" = "$2" ]; }
held "the unit starts, and is ready when it says so" systemctl start helm-serve.service
held "it answers" until_so answers
held "as its own user" runs_as helm-serve helm-serve
held "its state is its own alone" sh -c '[ "$(stat -c "%U %a" /var/lib/helm-serve)" = "helm-serve 700" ]'
held "what it is closed to, as systemd sees it" systemd-analyze security --threshold=15 helm-serve.service
first=$(pid helm-serve)
kill -9 "$first"
another() { [ "$(pid helm-serve)" != 0 ] && [ "$(pid helm-serve)" != "$first" ] && answers; }
held "killed, it is there again" until_so another
held "a changed policy is taken over with the next word" systemctl reload helm-serve.service
held "and it answers still" until_so answers
echo 'HELM_SIGNER_OPTIONS="--for person"' >/etc/helm/signer.env
held "the keeper of keys starts" systemctl start helm-signer.service
held "its socket is there" until_so test -S /run/helm-signer/socket
held "as its own user" runs_as helm-signer helm-sign
held "it is closed, too" systemd-analyze security --threshold=8 helm-signer.service
held "the server reads nothing of it" sh -c '! setpriv --reuid helm-serve --regid helm-serve --clear-groups ls /var/lib/helm-signer'
# A fleet: its ledger, the keeper of its keys, and a machine that sends what is recorded there.
as() { user=$1; shift; setpriv --reuid "$user" --regid "$user" --init-groups env -i PATH="$PATH" LANG=C.UTF-8 HOME="$(getent passwd "$user" | cut -d: -f6)" "$@"; }
held "without its configuration the ledger is not started, and that is no failure" sh -c 'systemctl start helm-fleet.service helm-log.service; ! systemctl is-active helm-fleet.service'
systemctl start postgresql.service
held "there is a database" until_so as postgres psql -c 'SELECT 1'
held "its tables are made" sh -c 'setpriv --reuid postgres --regid postgres --init-groups env HOME=/var/lib/postgresql sh -c "createdb helm && helm serve fleet migrate --database dbname=helm --login helm-fleet"'
held "the keys of the log are made" as helm-log helm signer log-key acme ledger.test/acme
echo 'HELM_FLEET_DATABASE=dbname=helm' >/etc/helm/fleet.env
held "the keeper of the log's keys starts" systemctl start helm-log.service
held "its socket is there, too" until_so test -S /run/helm-log/socket
held "a tenant is made" as helm-fleet helm fleet tenant add acme --database dbname=helm
held "the ledger starts, and is ready when it says so" systemctl start helm-fleet.service
held "it answers on its own port" until_so answers 7715
held "each as its own user" sh -c '[ "$(stat -c %U "/proc/$(systemctl show -P MainPID helm-fleet)")" = helm-fleet ] && [ "$(stat -c %U "/proc/$(systemctl show -P MainPID helm-log)")" = helm-log ]'
held "what the ledger is closed to" systemd-analyze security --threshold=15 helm-fleet.service
held "what the keeper is closed to" systemd-analyze security --threshold=8 helm-log.service
held "the ledger reads no key of it" sh -c '! setpriv --reuid helm-fleet --regid helm-fleet --clear-groups ls /var/lib/helm-log'
as helm-fleet helm fleet token --database dbname=helm >/token 2>>/booted.log
# Of whom no agent was heard yet: joining takes a person.
useradd --create-home worker
chown worker /token
as worker helm init >>/booted.log 2>&1
held "who has joined nothing sends nothing, and that is no failure" sh -c 'systemctl start helm-ship@worker.service; ! systemctl is-active helm-ship@worker.service && ! systemctl is-failed helm-ship@worker.service'
held "a machine joins" as worker helm fleet join http://127.0.0.1:7715 --token-file /token
held "what sends starts" systemctl start helm-ship@worker.service
as worker sh -c 'cd && helm run -- true' >>/booted.log 2>&1 || true
in_ledger() { [ "$(as postgres psql -qtAX -d helm -c 'SELECT count(*) FROM fleet.receipt')" -gt 0 ]; }
held "what is recorded comes to the ledger" until_so in_ledger
signed() { [ "$(as postgres psql -qtAX -d helm -c 'SELECT coalesce(max(tree_size), 0) FROM fleet.checkpoint')" -gt 0 ]; }
held "and under a signed checkpoint" until_so signed
# It looks at the log with its next sign of life, every 30 seconds, or when it starts.
systemctl restart helm-ship@worker.service
held "the machine is heard, and has checked the log" until_so sh -c 'setpriv --reuid helm-fleet --regid helm-fleet --clear-groups env HOME=/var/lib/helm-fleet helm fleet nodes --database dbname=helm --json | grep -q "\"standing\": *\"good\""'
held "it is closed as far as it can be" systemd-analyze security --threshold=25 helm-ship@worker.service
first=$(pid helm-fleet)
kill -9 "$first"
ledger_again() { [ "$(pid helm-fleet)" != 0 ] && [ "$(pid helm-fleet)" != "$first" ] && answers 7715; }
held "killed, the ledger is there again" until_so ledger_again
held "an upgrade leaves it answering" sh -c 'dpkg -i /packages/*.deb'
held "after the upgrade" until_so answers
held "the ledger, too" until_so answers 7715
held "and what sends" until_so systemctl is-active helm-ship@worker.service
held "the fleet ends when it is told to" systemctl stop helm-ship@worker.service helm-fleet.service helm-log.service
held "it ends when it is told to" systemctl stop helm-serve.service helm-signer.service
held "and nothing has failed" sh -c '! systemctl --failed --no-legend | grep helm'
{ systemctl status --no-pager helm-serve.service helm-signer.service; journalctl --no-pager -u helm-serve -u helm-signer -u helm-fleet -u helm-log -u 'helm-ship@*'; } >>/booted.log 2>&1
said "end"
systemctl --no-block poweroff
INSIDE
cat >"$root/etc/systemd/system/helm-try.service" <<'UNIT'
[Unit]
Description=what tools/package_try.sh tries
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh /booted
TimeoutStartSec=240
FailureAction=poweroff
UNIT

# in_root SCRIPT: in a namespace of its own, without a network.
in_root() {
  unshare --mount --pid --ipc --uts --net --propagation private --fork --kill-child sh -eu -c '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    ip link set lo up 2>/dev/null || true
    chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh "$2"' - "$root" "$1"
}
in_root /installed

# ---- the first day ----
modules=${HELM_TEST_BROWSER:-$source/build/browser}
chromium=""
command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 && chromium=$(sh "$source/tests/clients/browser.sh" "$modules")
if [ -z "$chromium" ] || [ ! -e "$modules/node_modules/axe-core" ]; then
  skip "the first day in a browser: node, npm or Chromium is not here"
else
  say "the first day, in a browser"
  cat >"$work/helm" <<WRAP
#!/bin/sh
exec chroot "$root" setpriv --reuid person --regid person --init-groups env -i PATH=/usr/bin:/bin HOME=/home/person LANG=C.UTF-8 TERM=dumb sh -c 'cd /home/person/project && exec helm "\$@"' helm "\$@"
WRAP
  chmod +x "$work/helm"
  mkdir -p "$work/scratch"
  HELM="$work/helm" SOURCE="$source" SCRATCH="$work/scratch" MODULES="$modules/node_modules" BROWSER="$chromium" SANDBOX=--no-sandbox SHOTS="${HELM_TEST_SHOTS:-}" \
    unshare --mount --pid --ipc --net --propagation private --fork --kill-child --mount-proc sh -eu -c '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    ip link set lo up
    exec timeout 300 node "$2/tests/clients/done.mjs"' - "$root" "$source"
fi

# ---- booted ----
if ! command -v systemd-nspawn >/dev/null 2>&1; then
  skip "systemd-nspawn is not here (package systemd-container): no unit was started by systemd"
else
  say "booted by systemd-nspawn"
  mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
  ln -sf ../helm-try.service "$root/etc/systemd/system/multi-user.target.wants/helm-try.service"
  rm -f "$root/result"
  timeout 300 systemd-nspawn --quiet --boot --register=no --keep-unit --private-network --machine=helm-try --directory="$root" systemd.unit=multi-user.target >"$work/nspawn.log" 2>&1 </dev/null || true
  rm -f "$root/etc/systemd/system/multi-user.target.wants/helm-try.service" "$root/etc/systemd/system/helm-try.service"
  if [ ! -s "$root/result" ]; then
    skip "systemd-nspawn does not boot here: $(grep -v '^$' "$work/nspawn.log" | tail -n 1)"
  else
    sed 's/^/   /' "$root/result"
    grep -q '^end$' "$root/result" || { echo "it did not come to its end" >&2; tail -n 20 "$root/booted.log" >&2; exit 1; }
    ! grep -q '^NOT' "$root/result" || { tail -n 40 "$root/booted.log" >&2; exit 1; }
  fi
fi

in_root /gone
say "all of it works"
