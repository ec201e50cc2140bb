#!/bin/sh
# reproducible.sh — build the release twice, in two directories of different names, and compare every byte of the program.
# Slow: it is run by `ctest -L slow` and before a release.
set -eu
source=$(cd "${HELM_SOURCE:-$(dirname "$0")/..}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The second build must not be the first one out of a cache.
export CCACHE_DISABLE=1
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_BUILD_PARALLEL_LEVEL || true

build() { # build DIRECTORY
	mkdir -p "$1"
	(cd "$source" && tar -cf - --exclude=./build --exclude=./.git .) | tar -xf - -C "$1"
	(cd "$1" && cmake --preset release -DBUILD_TESTING=OFF >configure.log && cmake --build --preset release --target helm -j2 >build.log) || {
		tail -n 30 "$1/build.log" || cat "$1/configure.log"
		exit 1
	}
}
build "$work/a"
build "$work/second/place with a longer name"
if cmp "$work/a/build/release/helm" "$work/second/place with a longer name/build/release/helm"; then
	sha256sum <"$work/a/build/release/helm"
	exit 0
fi
echo "reproducible.sh: the two builds differ"
command -v diffoscope >/dev/null && diffoscope --max-report-size 4000 "$work/a/build/release/helm" \
	"$work/second/place with a longer name/build/release/helm"
exit 1
