#!/bin/sh
# container.sh [--profile docker|podman] [--user] [COMMAND...]: run COMMAND, or ./demo and then ./check, in a container as agents get it.
# The container is a minimal Debian with the packages of tools/packages.sh check, started by podman with its default capabilities, 1024 open
# files and 4096 processes. COMMAND is its process 1 and runs in a clone of HEAD: changes that are not committed are not tried.
#   --profile podman  podman's default seccomp profile: user namespaces can be made (the default)
#   --profile docker  what Docker's default forbids: no namespaces, no mounts (tests/container/docker-seccomp.json)
#   --user            as a plain user instead of root
# HELM_CONTAINER_ROOT names a directory that is kept for the next call, with the Debian and what was built; without it nothing is left behind.
# Needs root. 77 means that a container cannot be started here; the reason is printed.
set -eu
profile=podman user=no
while [ $# -gt 0 ]; do
  case $1 in
    --profile) profile=${2:-} && shift 2 || exit 2 ;;
    --user) user=yes && shift ;;
    --) shift && break ;;
    -*) profile="" && break ;;
    *) break ;;
  esac
done
case $profile in
  docker | podman) ;;
  *) echo "usage: tools/container.sh [--profile docker|podman] [--user] [COMMAND...]" >&2; exit 2 ;;
esac
[ $# -gt 0 ] || set -- sh -c './demo && ./check'

source=$(cd "$(dirname "$0")/.." && pwd)
skipped() { echo "container.sh: SKIPPED: $*" >&2; exit 77; }
[ "$(id -u)" -eq 0 ] || skipped "only root can make a fresh Debian"
sh "$source/tools/packages.sh" container || skipped "podman, runc and mmdebstrap cannot be installed here"

name=helm-$$
work=$(mktemp -d)
root=${HELM_CONTAINER_ROOT:-$work/kept}
# Images and state of podman's own stay untouched.
in_podman() { podman --root "$work/storage" --runroot "$work/run" --runtime runc --cgroup-manager cgroupfs "$@"; }
start() { in_podman run --rm --network host --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 "$@"; }
clean_up() {
  in_podman rm -f -t 0 "$name" >/dev/null 2>&1 || true
  rm -rf --one-file-system "$work" || echo "container.sh: could not remove $work" >&2
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

mkdir -p "$root"
if [ ! -e "$root/debian.ready" ]; then
  rm -rf --one-file-system "$root/debian"
  # shellcheck disable=SC2046 # words on purpose
  sh "$source/tools/debian_root.sh" "$work" "$root/debian" $(sh "$source/tools/packages.sh" --list check)
  chroot "$root/debian" useradd --uid 1000 --create-home --shell /bin/sh person
  : >"$root/debian.ready"
fi
if [ -d "$root/helm" ]; then
  chown -R 0:0 "$root/helm"
  git -C "$root/helm" fetch -q "$source" HEAD
  git -C "$root/helm" checkout -q --detach FETCH_HEAD
else
  git -c safe.directory='*' clone -q --no-hardlinks "$source" "$root/helm"
fi

set -- --workdir /helm --rootfs "$root/debian" "$@"
if [ $user = yes ]; then
  chown -R 1000:1000 "$root/helm"
  set -- --user 1000:1000 --env HOME=/home/person "$@"
fi
[ "$profile" = podman ] || set -- --security-opt seccomp="$source/tests/container/docker-seccomp.json" "$@"

start --rootfs "$root/debian" true >"$work/said" 2>&1 || skipped "podman cannot start a container: $(tail -n 1 "$work/said")"
code=0
start --name "$name" --volume "$root/helm:/helm" "$@" || code=$?
exit "$code"
