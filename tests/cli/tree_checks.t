#!/bin/sh
# The checks of the tree can fail: each rule of tools/layers.sh and tools/invariants.sh, and the comparison of tools/reproducible.sh,
# against a small tree that breaks it.
# shellcheck disable=SC2059,SC2317 # formats on purpose; called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
tree=$scratch/tree

fresh() {
  rm -rf "$tree"
  mkdir -p "$tree/src/base" "$tree/src/model" "$tree/src/verify" "$tree/src/record" "$tree/src/cli" "$tree/src/kernel/task" "$tree/src/propose/shell" "$tree/docs" "$tree/tests/unit"
  cp "$HELM_SOURCE/docs/ARCHITECTURE.md" "$tree/docs/"
  printf '/* a comment with open(x) and printf(y) */\n#include "base/err.h"\nint f(void)\n{\n\ts->open(s);\n\tg("time(0)");\n}\n' \
    >"$tree/src/base/a.c"
}
layers() { env HELM_SOURCE="$tree" sh "$HELM_SOURCE/tools/layers.sh"; }
invariants() { env HELM_SOURCE="$tree" sh "$HELM_SOURCE/tools/invariants.sh" && echo passed; }
breaks() { # breaks FILE CONTENT MESSAGE
  fresh
  printf "$2" >"$tree/$1"
  says 1 "$3" layers
}

fresh
ok "a clean tree passes" exits 0 layers
ok "an include upwards is found" breaks src/base/b.c '#include "model/effect.h"\n' "base may not see model"
ok "an include sideways is found" breaks src/verify/b.c '#include "record/record.h"\n' "verify may not see record"
ok "a private header is found" breaks src/cli/b.c '#include "record/index.h"\n' "record does not show this to cli"
ok "the private header of a sub-folder is found" breaks src/kernel/b.c '#include "kernel/task/parts.h"\n' "kernel/task does not show this to kernel"
ok "a sub-folder that looks into another is found" breaks src/propose/shell/b.c '#include "propose/programs/programs.h"\n' "propose/shell may not see propose/programs"
ok "the inside of a room is found" breaks src/kernel/b.c '#include "propose/shell/shell.h"\n' "propose/shell does not show this to kernel"
ok "a folder that is not in the picture is found" breaks src/kernel/task/b.c '#include "nowhere/x.h"\n' "no such folder in docs/ARCHITECTURE.md: nowhere"
undrawn() {
  fresh
  mkdir "$tree/src/attic"
  says 1 "src/attic: not in docs/ARCHITECTURE.md" layers
}
ok "a folder that nobody drew is found" undrawn
misnumbered() {
  fresh
  mkdir "$tree/docs/decisions"
  echo '# 0003. X' >"$tree/docs/decisions/0003-x.md"
  says 1 "the next decision is 0001" layers
}
ok "a gap in the decisions is found" misnumbered
ok "a bare name is found" breaks src/base/b.c '#include "err.h"\n' "name the room"
ok "printing below the doors is found" breaks src/base/b.c 'int f(void)\n{\n\tprintf("x");\n}\n' "only cli and serve print"
ok "a direct open is found" breaks src/model/b.c 'int f(void)\n{\n\treturn open("x", 0);\n}\n' "outside world"
ok "a direct time is found" breaks src/cli/b.c 'int f(void)\n{\n\treturn !time (0);\n}\n' "outside world"
ok "a library in a header is found" breaks src/base/b.h '#include <sodium.h>\n' "must not show a library"
two_users() {
  fresh
  echo '#include <sodium.h>' >"$tree/src/base/b.c"
  echo '#include <sodium.h>' >"$tree/src/model/b.c"
  says 1 "one of several that include <sodium.h>" layers
}
ok "two users of a library are found" two_users
long_file() {
  fresh
  awk 'BEGIN { for (i = 0; i < 901; i++) print "int x" i ";" }' >"$tree/src/base/b.c"
  says 1 "longer than 900 lines" layers
}
ok "a long file is found" long_file
long_function() {
  fresh
  awk 'BEGIN { print "int f(void)\n{"; for (i = 0; i < 90; i++) print "\tg();"; print "}" }' >"$tree/src/base/b.c"
  says 1 "function longer than 90 lines: int f(void)" layers
}
ok "a long function is found" long_function

rows() { # rows EXIT MESSAGE TEXT
  fresh
  printf 'cmocka_unit_test(good),\n' >"$tree/tests/unit/x_test.c"
  printf 'static int used(void)\n{\n\treturn 0;\n}\nint by_table(void)\n{\n\treturn used();\n}\nint unused(void)\n{\n\treturn used();\n}\n' >"$tree/src/cli/x.c"
  printf 'static int (*const table[])(void) = { by_table };\nint main(void)\n{\n\treturn table[0]();\n}\n' >"$tree/src/cli/main.c"
  printf "$3" >"$tree/docs/INVARIANTS.md"
  says "$1" "$2" invariants
}
ok "a row with its test passes" rows 0 passed 'INV-001: x\ncode: src/cli/x.c::used\nverify: tests/unit/x_test.c::good\n'
ok "no rows at all are found" rows 1 "no invariants" 'nothing\n'
ok "a row without test is found" rows 1 "INV-001: no verify line" 'INV-001: x\ncode: src/cli/x.c::used\nINV-002: y\ncode: src/cli/x.c::used\nverify: tests/unit/x_test.c::good\n'
ok "a missing test is found" rows 1 "no test 'goo'" 'INV-001: x\ncode: src/cli/x.c::used\nverify: tests/unit/x_test.c::goo\n'
ok "a missing file is found" rows 1 "no such file" 'INV-001: x\ncode: src/cli/x.c::used\nverify: tests/unit/y_test.c::good\n'
ok "a number used twice is found" rows 1 "used twice" 'INV-001: x\ncode: src/cli/x.c::used\nverify: tests/unit/x_test.c::good\nINV-001: x\ncode: src/cli/x.c::used\nverify: tests/unit/x_test.c::good\n'
ok "a row without code is found" rows 1 "INV-001: no code line" 'INV-001: x\nverify: tests/unit/x_test.c::good\n'
ok "code that is not there is found" rows 1 "INV-001: src/cli/x.c::gone: no such function" 'INV-001: x\ncode: src/cli/x.c::gone\nverify: tests/unit/x_test.c::good\n'
ok "nor is a file" rows 1 "src/cli/y.c: no such file" 'INV-001: x\ncode: src/cli/y.c\nverify: tests/unit/x_test.c::good\n'
ok "code that no program reaches is found" rows 1 "src/cli/x.c::unused: no program reaches it" 'INV-001: x\ncode: src/cli/x.c::by_table src/cli/x.c::unused\nverify: tests/unit/x_test.c::good\n'
ok "a number that another row covers is not used again" rows 1 "INV-002: number used twice" 'INV-001: x\ncode: src/cli/x.c\nalso: INV-002\nverify: tests/unit/x_test.c::good\nINV-002: y\ncode: src/cli/x.c\nverify: tests/unit/x_test.c::good\n'
covered() {
  rows 0 passed 'INV-001: x\ncode: src/cli/x.c\nalso: INV-007\nverify: tests/unit/x_test.c::good\n' && echo "as INV-007 says" >"$tree/CHANGES.md" && says 0 passed invariants &&
    echo "/* INV-008 */" >>"$tree/src/cli/x.c" && says 1 "src/cli/x.c: INV-008 is not in" invariants
}
ok "a cited number is found in the row that covers it, and nowhere else" covered
cites() { # cites EXIT MESSAGE TEXT: of SECURITY.md
  rows 0 passed 'INV-001: x\ncode: src/cli/x.c::used\nverify: tests/unit/x_test.c::good\n'
  printf '%s\n' "$3" >"$tree/SECURITY.md"
  says "$1" "$2" invariants
}
ok "SECURITY.md cites what is there" cites 0 passed "a promise (INV-001)"
ok "and what is not there is found" cites 1 "SECURITY.md: INV-002" "a promise (INV-001, INV-002)"
promised='## What is promised

- **In short.** It holds (INV-001). So does
  this, too (INV-001).
'
ok "each sentence of a promise cites one" cites 0 passed "$promised"
ok "a promise without an invariant is named" cites 1 "a promise without an invariant: And more" "$promised- **More.** It holds (INV-001). And more."
ok "what is not promised needs none" cites 0 passed "$promised
## What is not promised

- Anything else."
ok "a test that is not there is found" cites 1 "no such test: tests/cli/nowhere.t" "as in tests/cli/nowhere.t"

program() { # program EXIT MESSAGE EXPRESSION: a program whose main returns it, built twice
  fresh
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(helm C)\nadd_executable(helm main.c)\n' >"$tree/CMakeLists.txt"
  printf '#include <stdio.h>\nint main(void)\n{\n\treturn puts(%s);\n}\n' "$3" >"$tree/main.c"
  cmake -G Ninja -S "$tree" -B "$tree/build/first" -DCMAKE_BUILD_TYPE=Release >/dev/null || return 1
  says "$1" "$2" env HELM_SOURCE="$tree" HELM_BUILD="$tree/build/first" sh "$HELM_SOURCE/tools/reproducible.sh"
}
ok "the same program twice passes" program 0 "  -" '"x"'
ok "a path in the program is found" program 1 "the two builds differ" __FILE__
ok "a time in the program is found" program 1 "the two builds differ" __TIME__

# ./check with a cmake and a ctest that only say how they end.
checked() { # checked EXIT MESSAGE CMAKE-EXIT CTEST-EXIT OPTION...
  fresh
  mkdir -p "$tree/tools" "$tree/bin" "$tree/build/release" "$tree/build/asan"
  cp "$HELM_SOURCE/check" "$tree/check"
  cp "$HELM_SOURCE/tools/check_run.py" "$tree/tools/"
  : >"$tree/tools/packages.sh"
  printf '<testsuite><testcase name="cli/before" status="run"/></testsuite>' >"$tree/build/release/tests.xml" # by the run before
  printf 'echo "SKIPPED: not now"\nexit 77\n' >"$tree/tools/fresh.sh"
  printf '#!/bin/sh\necho "cmake $*"\nexit %s\n' "$3" >"$tree/bin/cmake"
  cat >"$tree/bin/ctest" <<SH
#!/bin/sh
echo "ctest \$*"
while [ "\$1" != --output-junit ]; do shift; done
cat >"\$2" <<XML
<testsuite><testcase name="cli/one" status="run"><system-out>ok 1 - one
ok 2 - two # SKIP no sshd
SKIPPED: not root
[  SKIPPED ] give_away
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] give_away</system-out></testcase>
<testcase name="cli/two" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>1..0 # SKIP no node</system-out></testcase>
${tests:-}</testsuite>
XML
${no_results:+rm "\$2"}
exit $4
SH
  for tool in clang-format shellcheck git; do printf '#!/bin/sh\necho x\n' >"$tree/bin/$tool"; done
  chmod +x "$tree"/bin/*
  want=$1 text=$2
  shift 4
  says "$want" "$text" env PATH="$tree/bin:$PATH" sh "$tree/check" "$@"
}
# One for the format, one for the scripts, one for the build, and the test that ran.
last_line() { [ "$(tail -n 1 "$scratch/.stdout")" = "$1" ] || { cat "$scratch/.stdout"; return 1; }; }
passes_with() { checked 0 "$1" 0 0 && last_line "4 passed, 0 failed, 3 skipped"; }
ok "a check whose tests pass passes, and counts" passes_with "release cli/two: no node"
ok "a check that a test left out is listed" passes_with "release cli/one (two): no sshd"
ok "also one of a unit test, once" passes_with "release cli/one (give_away): not root"
fails_with() { checked 1 "$1" 0 8 && last_line "$2"; }
tests='<testcase name="cli/bad" status="fail"><failure message="Timeout"/></testcase>'
ok "a check whose tests fail fails" fails_with "release cli/bad: Timeout" "4 passed, 1 failed, 3 skipped"
tests='<testcase name="cli/missing" status="notrun"><skipped message="Unable to find executable"/></testcase>'
ok "a test whose program is missing has failed" fails_with "release cli/missing: Unable to find executable" "4 passed, 1 failed, 3 skipped"
tests=
ok "also where no test is said to have failed" fails_with "release ctest: exit code 8" "4 passed, 1 failed, 3 skipped"
no_results=yes
ok "a run that leaves no results fails" checked 1 "cannot be read" 0 0
no_results=
ok "a check that cannot configure insists on the tests, and fails" checked 1 "-DHELM_REQUIRE_TESTS=ON" 1 0
ok "what was skipped is said" checked 0 "check fresh machine: see its output above" 0 0 --fresh
only_release() { checked 0 "== test release" 0 0 "$@" && ! grep -q asan "$scratch/.stdout" && grep -q 'LE slow' "$scratch/.stdout"; }
ok "by default only the release build, without the slow tests" only_release
ok "--quick is the same" only_release --quick
everything() { checked 0 "== test asan" 0 0 "$@" && grep -q '^ctest --preset release.*-j [0-9]* *$' "$scratch/.stdout" && last_line "6 passed, 0 failed, 6 skipped"; }
ok "--all has the sanitizers and the slow tests" everything --all
ok "--clients is the same" everything --clients
ok "an option it does not know is refused" checked 2 "usage: ./check" 0 0 --frsh
as_nobody() { # the test's user, or nobody where that is root; the script comes in as text, since nobody may not read our home
  if [ "$(id -u)" -ne 0 ]; then "$@"; else setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; fi
}
not_root() { (cd / && as_nobody sh -s <"$HELM_SOURCE/tools/fresh.sh"); }
ok "a fresh machine needs root, and says so" says 77 "SKIPPED: only root" not_root

# mutants: where a mistake may be put.  Not in comments, texts, macros, tables, what is static, or labels.
if needs python3 "where a mistake may be put"; then
  cat >"$scratch/sample.c" <<'EOC'
#define M(x) ((x) == 1)
/* if (a == b) return 1; */
static const int table[] = { 1 == 1, 2 };
static int f(int a)
{
	static int kept = 1 == 2;
	const char *s = "a == b";
	switch (a) {
	case 3 == 3:
		return -1;
	}
	if (a == 2)
		call(a);
	else
		other("x", a);
	return a && s;
}
EOC
  cat >"$scratch/wanted" <<'EOC'
10 return -1 => return 0
12 if (a == 2) => if (!(a == 2))
12 if (a == 2) => if (a != 2)
12 if (a == 2) => if (a == 3)
13 call(a); => (left out)
15 other("x", a); => (left out)
16 return a && s => return (a && s, 0)
16 return a && s => return a || s
EOC
  places() {
    PYTHONDONTWRITEBYTECODE=1 python3 -c 'import sys
sys.path.insert(0, sys.argv[1] + "/tools")
import mutants
for p in mutants.Reader("x.c", open(sys.argv[2]).read()).places:
    print(p.line, p.mutation())' "$HELM_SOURCE" "$scratch/sample.c" | diff "$scratch/wanted" -
  }
  ok "mistakes are put where a program acts, and nowhere else" places
fi
finish
