#!/bin/sh
# package_try.sh DIR: do the packages of DIR install, work, stay apart and go in a minimal Debian where nothing else is?
# Users are made, the program runs as a plain user, units are well formed and as closed as they promise, keys and records outlive a purge.
# Needs root (a new root); 77 means "skipped".  HELM_FRESH_SUITE names another Debian than 12.
set -eu
dir=$(cd "$1" && pwd)
tools=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "package_try.sh: SKIPPED: only root can make a fresh Debian" >&2; exit 77; }
sh "$tools/packages.sh" fresh
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
say() { printf '== packages: %s\n' "$*"; }

say "a minimal Debian"
sh "$tools/debian_root.sh" "$work" "$root" systemd libcurl4 libmicrohttpd12 libgnutls30 libpq5
mkdir "$root/packages"
cp "$dir"/*.deb "$root/packages/"
cat >"$root/inside" <<'INSIDE'
set -eu
export DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8
say() { printf '== packages: %s\n' "$*"; }
say "helm alone needs no other package"
dpkg -i /packages/helm-boundary_*.deb
helm version
test -s /usr/share/bash-completion/completions/helm
useradd --create-home person
as_person() { setpriv --reuid person --regid person --init-groups env -i PATH="$PATH" HOME=/home/person LANG=C.UTF-8 "$@"; }
as_person helm init
as_person helm guard check --shell 'rm -rf /' && { echo "the guard let it pass" >&2; exit 1; }
as_person helm status --brief

say "the network doors"
dpkg -i /packages/helm-boundary-serve_*.deb >/dev/null
systemd-sysusers --dry-run >/dev/null
getent passwd helm-serve helm-sign
test -d /etc/helm || systemd-tmpfiles --create
helm serve routes | grep -q /api/v1/evaluate
systemd-analyze verify --man=no helm-serve.service helm-signer.service
test "$(systemctl is-enabled helm-serve.service 2>/dev/null || true)" != enabled

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

say "upgraded in place, and gone: keys and records stay"
dpkg -i /packages/*.deb >/dev/null
dpkg --purge helm-boundary-serve helm-boundary >/tmp/purged 2>&1
grep 'kept' /tmp/purged
test ! -e /usr/bin/helm
test -s /home/person/.helm/keys/root.key
test -d /var/lib/helm-serve/workspace/.helm
getent passwd helm-sign >/dev/null
say "all of it works"
INSIDE
mount --bind "$root" "$root" 2>/dev/null || true
code=0
unshare --mount --pid --ipc --uts --net --propagation private --fork --kill-child sh -eu -c '
  mount -t proc proc "$1/proc"
  mount --rbind /dev "$1/dev"
  ip link set lo up 2>/dev/null || true
  chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh /inside' - "$root" || code=$?
umount "$root" 2>/dev/null || true
exit "$code"
