#!/bin/sh
# The program needs at most libc, libm and the loader at run time, and nothing else; and it is hardened.
# shellcheck disable=SC2016,SC2317 # texts for sh -c; called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v ldd >/dev/null || skip_all "no ldd"
command -v readelf >/dev/null || skip_all "no readelf"
ldd "$HELM_REAL" >libraries || skip_all "ldd cannot read the program"
grep -q -e libasan -e libclang_rt libraries && skip_all "a sanitizer build is linked normally"

only_libc() {
  awk '{ print $1 }' libraries | grep -vE '^(linux-vdso\.so\.1|linux-gate\.so\.1|libc\.so\.6|libm\.so\.6|statically|/.*/ld-linux.*\.so\.[0-9]+)$' >other
  ! test -s other || { cat other; return 1; }
}
ok "only libc, libm and the loader" only_libc
exports_nothing() {
  readelf -W --dyn-syms "$HELM_REAL" | awk '$7 != "UND" && $5 == "GLOBAL" && $8 ~ /^(sodium|sqlite3|crypto_|SHA256|yaml_|pcre2|ZSTD)/ { print $8 }' >names
  ! test -s names || { head names; return 1; }
}
ok "nothing of the linked-in libraries is visible" exports_nothing
has() { readelf -W "$1" "$HELM_REAL" | grep -qE "$2"; }
ok "position independent" has -h 'Type: +DYN'
ok "no code can be loaded into it from outside, or libc is shared" sh -c 'test "$(LD_PRELOAD=/no/such/library.so "$0" version 2>&1 >/dev/null | wc -c)" = 0 || grep -q libc.so libraries' "$HELM_REAL"
ok "all bindings at start" has -d 'BIND_NOW|Flags: +NOW'
ok "read-only relocations" has -l GNU_RELRO
ok "no executable stack" sh -c '! readelf -W -l "$0" | grep GNU_STACK | grep -q E' "$HELM_REAL"
# What runs before libc has begun (docs/decisions/0052) calls nobody, and leaves nothing to be relocated.
begins_alone() {
  [ -z "$(nm -u "$early")" ] && ! readelf -W -S "$early" | grep -qE '\.rela?\.data' || { nm -u "$early"; return 1; }
}
early=$HELM_BUILD/CMakeFiles/helmcli.dir/src/cli/hook_inside.c.o
if nm "$HELM_REAL" 2>/dev/null | grep -q ' helm_begin$'; then ok "what runs before libc needs no symbol and no relocation" begins_alone; fi
# The same for the first look at stack and memory, but for what it goes on with.
looks_alone() {
  nm -u "$first" | awk '{ print $2 }' | grep -vx -e _start -e hook_inside_begin -e _GLOBAL_OFFSET_TABLE_ >others
  ! test -s others && ! readelf -W -S "$first" | grep -qE '\.rela?\.data' || { cat others; return 1; }
}
first=$HELM_BUILD/CMakeFiles/helm.dir/src/cli/sys/begin.c.o
if [ -e "$first" ]; then ok "what looks at stack and memory before libc needs no symbol and no relocation" looks_alone; fi
# Two functions of one name in two archives: the linker takes whichever it meets first, and says nothing.
names_apart() {
  for archive in helmcore helmserve; do
    nm --defined-only "$HELM_BUILD/lib$archive.a" 2>/dev/null | awk '$2 == "T" || $2 == "D" || $2 == "B" { print $3 }' | sort -u >"$archive.names"
  done
  comm -12 helmcore.names helmserve.names >both
  test -s helmserve.names && ! test -s both || { cat both; return 1; }
}
if [ -e "$HELM_BUILD/libhelmserve.a" ]; then ok "no name is used by helm and by helm-serve for two things" names_apart; fi
no_paths() {
  # Not in the middle of another path: the tree may lie in "/src", and "./src/" is meant to be there.
  places=$(printf '%s|%s' "$HELM_SOURCE" "$HELM_BUILD" | sed 's/[]\.+*^$(){}?[]/\\&/g')
  ! strings -a "$HELM_REAL" | grep -E "(^|[^[:alnum:]_./-])($places)/" | head -5 | grep .
}
if needs strings "no path of the machine that built it"; then ok "no path of the machine that built it" no_paths; fi
finish
