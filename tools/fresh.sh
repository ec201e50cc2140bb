#!/bin/sh
# fresh.sh — do ./demo, ./check and the README's install lines work on a machine where nothing is installed yet?
# Makes a minimal Debian in a throw-away directory and runs them there: as root, who lets them install what they need, and as a
# plain user without sudo, for whom root has installed it.  The tree in there is a clone of HEAD: what is not committed is not tried.
# tools/debian_root.sh says where packages come from.  Nothing is left behind, also when interrupted.
# Needs root (a new root, mounts); 77 means "skipped".
# HELM_FRESH_SUITE names another Debian than 12; HELM_FRESH_CHECK arguments for ./check.
set -eu

if [ "${1:-}" != inside ]; then
  source=$(cd "$(dirname "$0")/.." && pwd)
  [ "$(id -u)" -eq 0 ] || { echo "fresh.sh: SKIPPED: only root can make a fresh Debian" >&2; exit 77; }
  sh "$source/tools/packages.sh" fresh
  work=$(mktemp -d)
  child=""
  clean_up() {
    # The end of unshare is the end of every process in there, and with them of their mounts: none of them is visible out here.
    [ -z "$child" ] || kill -KILL "$child" 2>/dev/null || true
    for _ in 1 2 3 4 5 6 7 8 9 10; do
      rm -rf --one-file-system "$work" 2>/dev/null && return 0
      sleep 0.3
    done
    echo "fresh.sh: could not remove $work" >&2
    return 1
  }
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  # In the background, so that a signal is acted upon at once; and it ends with us, however we end.
  setpriv --pdeathsig KILL unshare --mount --pid --ipc --uts --propagation private --mount-proc --fork --kill-child \
    sh "$0" inside "$source" "$work" &
  child=$!
  code=0
  wait "$child" || code=$?
  child=""
  exit "$code"
fi

# From here on in namespaces of our own.
source=$2 work=$3
suite=${HELM_FRESH_SUITE:-bookworm}
started=$(date +%s)
say() { printf '\n== fresh: %s (%s s)\n' "$*" "$(($(date +%s) - started))"; }
# In memory where there is plenty of it: faster, and gone with the namespace.
if awk '$1 == "MemAvailable:" { exit $2 < 8 * 1024 * 1024 }' /proc/meminfo; then
  mount -t tmpfs -o mode=700,size=6g tmpfs "$work"
fi

say "a minimal Debian ($suite)"
root=$work/root
sh "$source/tools/debian_root.sh" "$work" "$root"
# Archives behind https are believed as they are out here; everything else in there still has no certificates.
if [ -r /etc/ssl/certs/ca-certificates.crt ] && grep -q '^deb https:' "$work/sources.list"; then
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/apt/archive-ca.crt"
  echo 'Acquire::https::CaInfo "/etc/apt/archive-ca.crt";' >"$root/etc/apt/apt.conf.d/98archive-ca"
fi
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
cp -L /etc/hosts "$root/etc/hosts"
echo fresh >"$root/etc/hostname"
chroot "$root" useradd --create-home --shell /bin/sh person

# Two clones: a build must not find what another user left.
for home in root home/person; do
  git -c safe.directory='*' clone -q --no-hardlinks "$source" "$root/$home/helm"
done
chroot "$root" chown -R person: /home/person

# What runs in the new root.
cat >"$root/inside" <<'INSIDE'
set -eu
as_root() { (cd /root/helm && env -i PATH="$PATH" HOME=/root LANG=C.UTF-8 ${PROXIES:-} "$@"); }
as_person() { (cd /home/person/helm && setpriv --reuid person --regid person --init-groups env -i PATH="$PATH" HOME=/home/person LANG=C.UTF-8 "$@"); }
say() { printf '\n== fresh: %s (%s s)\n' "$*" "$(($(date +%s) - STARTED))"; }

say "./demo as a plain user, nothing installed: it must say what is missing"
if as_person ./demo >/refused 2>&1; then echo "it ran without a compiler?" >&2; exit 1; fi
cat /refused
grep -q 'As root: apt-get install .*libsodium-dev' /refused

say "./demo as root"
as_root ./demo
say "./check $CHECK as root"
as_root ./check $CHECK
say "./demo as a plain user"
as_person ./demo
say "./check $CHECK as a plain user"
as_person ./check $CHECK
say "what both built is the same program"
cmp /root/helm/build/release/helm /home/person/helm/build/release/helm
say "the README's install lines as a plain user"
sed -n '/^## Install/,/^## /s/^    //p' /root/helm/README.md >/install-lines
cat /install-lines
as_person sh -eu -c '. /install-lines; command -v helm; helm --version'
say "all of it works on a fresh Debian; it takes $(du -shx / 2>/dev/null | cut -f1)"
INSIDE

# The new root, and nothing of the old one.
say "entering it"
proxies=$(env | grep -iE '^(http|https|ftp|no)_proxy=[^ ]*$' || true)
mount --bind "$root" "$root"
cd "$root"
mount -t proc -o nosuid,nodev,noexec proc proc
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs sys
mount -t tmpfs -o nosuid,mode=755 tmpfs dev
for name in null zero full random urandom tty; do
  : >"dev/$name"
  mount --bind "/dev/$name" "dev/$name"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts dev/pts
mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for name in stdin:0 stdout:1 stderr:2; do ln -s "fd/${name#*:}" "dev/${name%:*}"; done
mkdir .outside
pivot_root . .outside
cd /
umount -l /.outside
rmdir /.outside
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  CHECK="${HELM_FRESH_CHECK:-}" PROXIES="$proxies" STARTED="$started" sh /inside
