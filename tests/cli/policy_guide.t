#!/bin/sh
# docs/guides/policy.md works as it stands there: files are written, lines with $ are typed and end as they say ("exit N" in the comment, otherwise 0), and each
# line of answer that is shown is in the answer.  What a person does is typed at a terminal.
# shellcheck disable=SC2317,SC2034 # called through ok; variables are read by lines of the guide and by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace
[ -z "${GUIDE_REPOSITORY:-}" ] || git init -q . || exit 1 # where the guide wants its project to be a repository, without a remote

guide=${GUIDE:-$HELM_SOURCE/docs/guides/policy.md}
# Blocks, one after the other, with a line "%%" between them.
awk '
  /^    / { if (blank && open) { nextline = substr($0, 5); if (nextline ~ /^# file: / || nextline ~ /^\$ /) print "%%"; else print "" } print substr($0, 5); open = 1; blank = 0; next }
  /^$/ { blank = 1; next }
  { if (open) print "%%"; open = 0; blank = 0 }
  END { print "%%" }' "$guide" >blocks

typed() { # typed LINE: as a person at a terminal where only a person may, in a plain shell otherwise
  case $1 in
  "helm policy use "* | "helm policy shadow start"* | "helm policy shadow stop"*)
    eval "set -- $1"
    terminal -- "$@"
    ;;
  "helm approval approve "*--key*) eval "$1" ;;
  "helm approval approve "*)
    eval "set -- $1"
    terminal APPROVE -- "$@"
    ;;
  "helm approval trust "* | "helm key trust add "*)
    eval "set -- $1"
    terminal TRUST -- "$@"
    ;;
  HELM_HOME=*) HELM_ENV=$(eval "echo ${1%% *}") && eval "${1#* }" && HELM_ENV= ;;
  *) eval "$1" ;;
  esac
}

# step LINE EXPECTED-FILE
step() {
  want=$(printf '%s\n' "$1" | sed -n 's/.*# exit \([0-9]*\).*/\1/p')
  what=$(printf '%s\n' "$1" | sed 's/ *# exit [0-9]*.*//')
  typed "$what" >answer 2>&1 </dev/null
  got=$?
  HELM_ENV=
  asked=$(grep -o 'approval-[0-9a-f]*' answer | head -n 1)
  [ -n "$asked" ] && [ -z "$ID" ] && ID=$asked
  [ "$got" = "${want:-0}" ] || { echo "ends with $got, not ${want:-0}"; cat answer; return 1; }
  sed 's/[0-9-]\{10\} [0-9:]\{5\} [A-Z]*/TIME/g' answer >timeless # the guide has another day
  sed 's/[0-9-]\{10\} [0-9:]\{5\} [A-Z]*/TIME/g' "$2" >wanted
  while IFS= read -r said; do
    grep -qF -e "$said" timeless || { echo "does not say: $said"; cat answer; return 1; }
  done <wanted
}

HOME=$scratch/home
ID=
files=0
steps=0
: >expected
line=
while IFS= read -r text <&3; do
  case $text in
  '# file: '*)
    name=${text#'# file: '}
    : >"$name"
    mode='file'
    files=$((files + 1))
    ;;
  '%%' | '$ '*)
    if [ -n "$line" ]; then
      ok "$line" step "$line" expected
      line=
    fi
    : >expected
    mode=
    case $text in '$ '*)
      line=${text#'$ '}
      steps=$((steps + 1))
      ;;
    esac
    ;;
  *)
    if [ "$mode" = file ]; then printf '%s\n' "$text" >>"$name"; else printf '%s\n' "$text" >>expected; fi
    ;;
  esac
done 3<blocks
ok "the guide has files and lines to type" [ $((files >= ${GUIDE_FILES:-7} && steps >= ${GUIDE_STEPS:-18})) = 1 ]
finish
