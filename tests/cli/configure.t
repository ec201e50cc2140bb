#!/bin/sh
# Configuring on a machine that lacks something: what only tests need may be missing, and what the build needs is named as the Debian
# package to install.
# shellcheck disable=SC2016,SC2317 # texts for sh -c; called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

# A pkg-config that does not know the modules named in $HIDDEN.
cat >pkg-config <<'W'
#!/bin/sh
for word in "$@"; do
  case " $HIDDEN " in *" $word "*) exit 1 ;; esac
done
PATH=${PATH#*:} exec pkg-config "$@"
W
chmod +x pkg-config
configure() { # configure "HIDDEN MODULES" OPTION...
  hidden=$1
  shift
  env -u PKG_CONFIG -u CC PATH="$scratch:$PATH" HIDDEN="$hidden" cmake -G Ninja -S "$HELM_SOURCE" -B "$scratch/build" -DCMAKE_BUILD_TYPE=Release "$@"
}
build_has() { ninja -C "$scratch/build" -t targets all | grep -q "^$1:"; }

ok "without cmocka it says what would add the tests" says 0 "the Debian package libcmocka-dev would add them" configure "cmocka jansson"
ok "in one line" test "$(grep -c libcmocka-dev "$scratch/.stdout")$(grep -c libcmocka-dev "$scratch/.stderr")" = 10
ok "and what would add the figure of helm-bench" grep -q "the Debian package libjansson-dev would add it" "$scratch/.stdout"
ok "helm can be built" build_has helm
no_tests() { ! build_has helm-test && ! build_has tests/json_test; }
ok "tests cannot" no_tests
ok "a run of no tests is not a success" sh -c 'cd "$0" && ! ctest --no-tests=error' "$scratch/build"
ok "who needs the tests is refused" says 1 "libcmocka-dev" configure cmocka -DHELM_REQUIRE_TESTS=ON
ok "and gets them once it is there" exits 0 configure "" -DHELM_REQUIRE_TESTS=ON
ok "each of them" build_has tests/json_test
ok "a missing library is named as its package" says 1 "Missing Debian packages: libsodium-dev zlib1g-dev" configure "libsodium zlib" --fresh
ok "no build program: its package is named" says 1 "Missing Debian packages: ninja-build" \
  env -i PATH="$scratch/bin" "$(command -v cmake)" -G Ninja -S "$HELM_SOURCE" -B "$scratch/other" -DCMAKE_C_COMPILER="$(command -v gcc)"
ok "no compiler: its package is named" says 1 "Missing Debian packages: gcc" \
  env -i PATH="$scratch/bin" "$(command -v cmake)" -G Ninja -S "$HELM_SOURCE" -B "$scratch/third" -DCMAKE_MAKE_PROGRAM="$(command -v ninja)"
# The presets of the tests hold the same for ./check.
ok "each test preset insists on tests" sh -c 'test "$(grep -c noTestsAction.*error "$0")" = "$(sed -n "/testPresets/,\$p" "$0" | grep -c configurePreset)"' "$HELM_SOURCE/CMakePresets.json"
finish
