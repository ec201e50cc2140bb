#!/bin/sh
# packages.sh [--list] [build|check|oracle|clients|package|fresh|container]: install what is missing, by name, and nothing else.
# --list prints the names of all of them instead, whether they are installed or not.
# As root directly, otherwise with sudo; says what and why before it does; does nothing when everything is there.
set -eu

build="gcc libc6-dev cmake ninja-build pkg-config git
  libsodium-dev libssl-dev libsqlite3-dev libpcre2-dev libyaml-dev libzstd-dev libutf8proc-dev zlib1g-dev
  libmicrohttpd-dev libgnutls28-dev libcurl4-openssl-dev libpq-dev"
check="make zstd libcmocka-dev clang-format shellcheck python3 strace libjansson-dev shfmt minisign openssl openssh-client curl bubblewrap"
oracle="ca-certificates nodejs npm zsh fish mandoc tmux screen expect cmark-gfm chromium-headless-shell golang-go golang-golang-x-mod-dev socat"
# Tests start clusters of their own (tests/fleet/); where systemd runs, the package would start one that nobody asked for.
[ -d /run/systemd/system ] || oracle="$oracle postgresql"
# Its service would be started where systemd runs, and nobody asked for that.
[ -d /run/systemd/system ] || oracle="$oracle openssh-server"
fresh="mmdebstrap git"
container="$fresh podman runc"
package="debhelper dpkg-dev xz-utils git python3 openssh-client cmark-gfm"

list=no
if [ "${1:-}" = --list ]; then
  list=yes
  shift
fi
case "${1:-build}" in
  build) wanted=$build why="to build helm" ;;
  check) wanted="$build $check" why="to build helm and run its tests" ;;
  oracle | clients) wanted="$build $check $oracle" why="to build helm, run its tests and compare with other tools" ;;
  package) wanted="$build $package" why="to make packages" ;;
  fresh) wanted=$fresh why="to make a fresh Debian" ;;
  container) wanted=$container why="to try helm in a container" ;;
  *) echo "usage: tools/packages.sh [--list] [build|check|oracle|clients|package|fresh|container]" >&2; exit 2 ;;
esac
if [ $list = yes ]; then
  # shellcheck disable=SC2086 # words on purpose
  printf '%s\n' $wanted
  exit 0
fi

missing=""
for package in $wanted; do
  # A tool that is there already need not come from its package.
  case $package in
    cmake | git | gcc | make | shellcheck | clang-format | python3 | strace | curl | mmdebstrap | podman | runc | shfmt | minisign | openssl | zstd | npm | zsh | fish | mandoc | tmux | screen | expect | socat)
      command -v "$package" >/dev/null 2>&1 && continue ;;
    openssh-client) command -v ssh-keygen >/dev/null 2>&1 && continue ;;
    bubblewrap) command -v bwrap >/dev/null 2>&1 && continue ;;
    nodejs) command -v node >/dev/null 2>&1 && continue ;;
    ninja-build) command -v ninja >/dev/null 2>&1 && continue ;;
  esac
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  run=""
elif command -v sudo >/dev/null 2>&1; then
  run="sudo"
else
  echo "Missing packages $why; this user cannot install them.  As root: apt-get install --no-install-recommends$missing" >&2
  exit 1
fi
# Tests that need packages of their own run at the same time, and apt-get does not wait for another one.
if command -v flock >/dev/null 2>&1; then
  exec 9<"$0"
  flock 9
fi
echo "Installing missing packages $why:$missing"
# shellcheck disable=SC2086 # the lists are words on purpose
{ $run apt-get update -q >/dev/null && $run env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing >/dev/null; } || {
  echo "Could not install:$missing" >&2
  exit 1
}
