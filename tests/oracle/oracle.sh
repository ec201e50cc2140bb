# shellcheck shell=sh
# oracle.sh — what differential tests start with: the tool that answers for us, and the packages that answer for others.
# A tool that is missing skips the test, loudly.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
# shellcheck disable=SC2034 # for the tests
TOOL=$HELM_BUILD/tests/json_tool
ORACLE=$HELM_SOURCE/tests/oracle

need() { # need PROGRAM
  command -v "$1" >/dev/null 2>&1 || skip_all "$1 is not installed"
}

# Packages are installed once per build directory, by name, from whatever source this machine's npm uses. Tests run side by side: one
# installs and the others wait for it.
need_packages() {
  need node
  need npm
  modules=$HELM_BUILD/oracle
  mkdir -p "$modules" && : >>"$modules/lock" || skip_all "cannot write to the build directory"
  (
    flock 9
    cmp -s "$ORACLE/package.json" "$modules/.ready" && exit 0
    rm -rf "$modules/node_modules"
    cp "$ORACLE/package.json" "$modules/" && cd "$modules" &&
      timeout 120 npm install --no-package-lock --no-audit --no-fund --loglevel=error --fetch-retries=1 >npm.log 2>&1 &&
      cp package.json .ready
  ) 9<"$modules/lock" || skip_all "npm cannot install the packages of tests/oracle/package.json"
  export NODE_PATH="$modules/node_modules"
}
