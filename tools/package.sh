#!/bin/sh
# package.sh [--out DIR] [--key FILE] [--name NAME] [--try]: what is given to others, made from what is committed:
#   helm-boundary_*.deb, helm-boundary-serve_*.deb   Debian packages
#   helm-VERSION.tar.xz                              the source
#   helm-VERSION.spdx.json                           what is inside (SPDX 2.3): every library that is linked in, with its version
#   SHA256SUMS, SHA256SUMS.sig                       digests of all of it, and with --key FILE (an OpenSSH key) their signature
#   helm-VERSION.helmpack.tar, release.pub           that the build ran inside walls, what it was and what came out of it: 'helm verify' reads it
# --name NAME: packages in which the program is called NAME, for machines that have the helm of Kubernetes.
# --try installs and uses the packages in a new minimal Debian, and purges them (needs root).
# The build runs under the release build of helm that is there (HELM_BUILD); where there is none it is made first.
# Same commit, same libraries, same bytes: times are those of the commit.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
out=$source/build/packages key="" called=helm try=no
usage() { echo "usage: tools/package.sh [--out DIR] [--key FILE] [--name NAME] [--try]" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --out) [ $# -gt 1 ] || usage; out=$2; shift 2 ;;
    --key) [ $# -gt 1 ] || usage; key=$(realpath "$2"); shift 2 ;;
    --name) [ $# -gt 1 ] || usage; called=$2; shift 2 ;;
    --try) try=yes; shift ;;
    *) usage ;;
  esac
done
sh "$source/tools/packages.sh" package
mkdir -p "$out"
out=$(cd "$out" && pwd)
[ -z "$key" ] || [ -r "$key" ] || { echo "package.sh: the key $key cannot be read" >&2; exit 1; }
cd "$source"
git diff --quiet HEAD -- || { echo "package.sh: the tree has changes that are not committed; commit or stash them first" >&2; exit 1; }
version=$(cat VERSION)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
helm=${HELM_BUILD:-$source/build/release}/helm
if [ ! -x "$helm" ]; then
  { cmake --preset release && cmake --build --preset release --target helm; } >"$out/build.log" 2>&1 || { tail -n 30 "$out/build.log" >&2; exit 1; }
  rm "$out/build.log"
  helm=$source/build/release/helm
fi

# Not below the temporary directory, which every run has of its own.
work=$(mktemp -d "$out/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
name=helm-$version
git archive --prefix="$name/" HEAD | tar -xf - -C "$work"
(cd "$work" && git -C "$source" archive --prefix="$name/" HEAD | xz -T1 -6 >"$name.tar.xz")

tree=$work/$name
cp -r "$tree/packaging/debian" "$tree/debian"
for unit in "$tree"/packaging/systemd/*.service; do
  cp "$unit" "$tree/debian/helm-boundary-serve.$(basename "$unit")"
done
for unit in "$tree"/packaging/systemd/user/*.service; do
  cp "$unit" "$tree/debian/helm-boundary-serve.$(basename "$unit" .service).user.service"
done
for kind in sysusers tmpfiles; do
  cp "$tree/packaging/systemd/helm-boundary-serve.$kind" "$tree/debian/"
done
case $called in '' | [!a-z]* | *[!a-z0-9_-]*) echo "package.sh: --name takes small letters, digits, '-' and '_'" >&2; exit 2 ;; esac
if [ "$called" != helm ]; then
  sed -i "s,usr/bin/helm\\b,usr/bin/$called," "$tree"/debian/*.install "$tree"/debian/*.service
  sed -i '/^Conflicts: helm$/d' "$tree/debian/control"
  export HELM_NAME="$called"
fi
sed -i "1s/(.*)/($version)/; s/^ -- \(.*>\)  .*/ -- \1  $(date -u -R -d "@$SOURCE_DATE_EPOCH")/" "$tree/debian/changelog"

# A home of its own, with a key of its own: what it signs is named by release.pub, beside the packages.
export HOME="$work/home" HELM_HOME="$work/home/.helm"
unset HELM_WORKSPACE 2>/dev/null || true
mkdir "$HOME"
"$helm" init --path "$work" >/dev/null
"$helm" key export >"$work/release.pub"
recorded() { "$helm" run --path "$work" --profile workspace_edit --timeout 3600 "$@"; }

echo "package.sh: building $name inside walls"
recorded --task-name "build the packages of $name" --cwd "$tree" -- dpkg-buildpackage -b -us -uc >"$work/build.log" 2>&1 || {
  tail -n 40 "$work/build.log" >&2
  exit 1
}
# A manifest of what this machine compiled with is no part of what is given away.
rm -f "$work"/*.buildinfo "$work"/*.changes "$work"/*-dbgsym_*.deb
python3 "$source/tools/sbom.py" --version "$version" --helm "$tree"/obj-*/helm "$work"/*.deb >"$work/$name.spdx.json"
(cd "$work" && sha256sum -- *.deb "$name.tar.xz" "$name.spdx.json" >SHA256SUMS)
digests=$(awk '{ printf "%s\"%s\":\"%s\"", (NR > 1 ? "," : ""), $2, $1 }' "$work/SHA256SUMS")
recorded --task-name "what came out of it" --meta-json "{\"version\":\"$version\",\"commit\":\"$(git rev-parse HEAD)\",\"sha256\":{$digests}}" \
  --cwd "$work" -- sha256sum -c SHA256SUMS >/dev/null
"$helm" evidence export --path "$work" --all --out "$work/$name.helmpack.tar" >/dev/null
"$helm" verify --key "$(cat "$work/release.pub")" "$work/$name.helmpack.tar" >/dev/null
if [ -n "$key" ]; then
  (cd "$work" && ssh-keygen -q -Y sign -f "$key" -n helm-release SHA256SUMS 2>/dev/null)
  # As docs/guides/install.md has it checked by whoever gets it.
  { printf 'release namespaces="helm-release" ' && ssh-keygen -y -f "$key"; } >"$work/allowed_signers"
  (cd "$work" && ssh-keygen -Y verify -f allowed_signers -I release -n helm-release -s SHA256SUMS.sig <SHA256SUMS >/dev/null)
  rm "$work/allowed_signers"
fi
(cd "$work" && rm -f "$out"/helm-*.deb "$out/SHA256SUMS.sig" && mv -f -- *.deb "$name.tar.xz" "$name.spdx.json" SHA256SUMS* "$name.helmpack.tar" release.pub "$out/")
ls -l "$out" | awk 'NR > 1 && $NF !~ /^work/ { printf "  %10d  %s\n", $5, $NF }'
[ -n "$key" ] || echo "package.sh: not signed (--key FILE signs SHA256SUMS)"
if [ $try = yes ]; then
  sh "$source/tools/package_try.sh" "$out"
fi
