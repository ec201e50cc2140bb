#!/bin/sh
# reproducible.sh — is the program the same, byte for byte, wherever and by whomever it is built?
# One of the two builds is the release build that is there (HELM_BUILD; brought up to date first).  The other one is made here from a
# copy of the source: another directory of another depth and with a space in it, the build outside of it, and another locale, time
# zone, umask, home, file times and number of jobs; without ccache, so that it is compiled and not remembered.
# Where the build that is there was compiled through a launcher, as ccache, that may write other paths into it, or remember what
# was compiled elsewhere: then both are made here.
# Takes as long as one build (or two): `ctest -LE slow` leaves it out.
set -eu
source=$(cd "${HELM_SOURCE:-$(dirname "$0")/..}" && pwd)
first=${HELM_BUILD:-$source/build/release}
[ -f "$first/CMakeCache.txt" ] || (cd "$source" && cmake --preset release >/dev/null)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What was chosen for the build that is there is chosen for every other.
sed -nE 's/^(CMAKE_BUILD_TYPE|CMAKE_C_COMPILER|CMAKE_C_FLAGS|HELM_BUNDLE|HELM_STATIC):([A-Z]+)=(.*)$/set(\1 "\3" CACHE \2 "")/p' \
	"$first/CMakeCache.txt" >"$work/choices.cmake"

build() { # build SOURCE BUILD JOBS: copies the source there and builds helm from it
	mkdir -p "$1"
	# What git has or would take: a build directory is no source.
	(cd "$source" && { git ls-files -z -co --exclude-standard 2>/dev/null || find . \( -name .git -o -name build \) -prune -o -type f -print0; } |
		tar -cf - --null -T -) | tar -xmf - -C "$1"
	{ cmake -G Ninja -C "$work/choices.cmake" -S "$1" -B "$2" -DBUILD_TESTING=OFF && cmake --build "$2" --target helm -j "$3"; } \
		>"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
}

if grep -qE '^CMAKE_C_COMPILER(_LAUNCHER)?:.*ccache|^CMAKE_C_COMPILER_LAUNCHER:[A-Z]+=.' "$first/CMakeCache.txt"; then
	first=$work/a/build/release
	(unset CMAKE_C_COMPILER_LAUNCHER && CCACHE_DISABLE=1 && export CCACHE_DISABLE && build "$work/a" "$first" "$(nproc)")
else
	cmake --build "$first" --target helm >/dev/null
fi

second=$work/b
umask 027
export CCACHE_DISABLE=1 LC_ALL=tr_TR.UTF-8 TZ=Pacific/Kiritimati HOME="$work"
unset CMAKE_C_COMPILER_LAUNCHER SOURCE_DATE_EPOCH || true
build "$work/other place/with a longer/name" "$second" "$(($(nproc) + 1))"
if cmp "$first/helm" "$second/helm"; then
	sha256sum <"$second/helm"
	exit 0
fi
echo "reproducible.sh: the two builds differ"
command -v diffoscope >/dev/null && diffoscope --max-report-size 4000 "$first/helm" "$second/helm"
exit 1
