#!/bin/sh
# The build step that makes a table of share/programs/: what it accepts, and how it says what is wrong.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
generate=$HELM_BUILD/generate/generate-programs
[ -x "$generate" ] || skip_all "the build step is not in this build"

printf 'HANDLER(one)\n{\n}\n\n/* HANDLER(no) */\nHANDLER(two)\n{\n}\n' >code.c
# refused MESSAGE: the table on standard input is refused with exactly this place and text.
refused() {
  cat >x.txt
  rm -f out.c
  "$generate" out.c code.c x.txt >said 2>&1 && return 1
  cat said
  test ! -e out.c && grep -qF "$1" said
}
base='base  read.query  run: one
cup  run: two
'
good() { printf '%s' "$base" >x.txt && "$generate" out.c code.c x.txt; }
ok "a good table is taken" good
with() { printf '%s%s\n' "$base" "$2" | refused "$1"; }
ok "a tag that nobody knows" with "x.txt:3: error: there is no tag 'read.nothing'" 'dog  read.nothing'
ok "a handler that is not there" with "x.txt:3: error: no HANDLER(three) is in src/propose/programs/" 'dog  run: three'
ok "values of a program that is not there" with "x.txt:3: error: there is no program 'dog'" 'values dog  text: -c'
ok "a meaning that nobody knows" with "x.txt:3: error: there is no meaning 'nonsense:'" 'values cup  nonsense: -c'
ok "values without options" with "x.txt:3: error: values need programs, a meaning and options" 'values cup'
ok "a program out of order" with "x.txt:3: error: 'ant' does not come after 'cup'" 'ant  read.query'
ok "a program twice" with "x.txt:3: error: 'cup' does not come after 'cup'" 'cup  read.query'
ok "neither tag nor handler" with "x.txt:3: error: 'dog' needs a tag or 'run:'" 'dog'
ok "a name that is a path" with "a program's name is in lower case and no path" '/bin/dog  read.query'
ok "options that cannot be read" with "x.txt:3: error: 'a:,b' is no item of options" 'dog  read.query  options: n= a:,b'
ok "an item of options with a strange sign" with "'a!' is no item of options" 'dog  read.query  options: a!'
ok "options nobody defined" with "there are no options '@x' above in this file" 'dog  read.query  options: @x'
ok "verbs nobody defined" with "there are no verbs '@x' above in this file" 'dog  read.query  verbs: @x'
ok "a flag that is none" with "there is no flags 'loud'" 'dog  read.query  flags: loud'
ok "a mode that is none" with "there is no mode 'loud'" 'dog  read.query  mode: loud'
ok "an attribute that is none" with "x.txt:3: error: 'colour:' is not expected here" 'dog  read.query  colour: red'
ok "an attribute of verbs at a program" with "'needs:' is not for programs" 'dog  read.query  needs: -f'
ok "an attribute of programs at a verb" with "x.txt:4: error: 'options:' is not for verbs" 'dog  read.query
  rm  read.query  options: n='
ok "a verb without a tag" with "x.txt:4: error: there is no tag 'rm'" 'dog  read.query
  rm'
ok "a verb below nothing" sh -c 'printf "  rm  read.query\n" | { cat >x.txt; ! "$0" out.c x.txt 2>said; grep -qF "x.txt:1: error: a verb belongs below" said; }' "$generate"
ok "an option without its dashes" with "'force': an option is -x or --name" 'dog  read.query
  rm  read.query  needs: force'
ok "an empty alternative" with "an alternative between bars is empty" 'dog  read.query
  rm||del  read.query'
ok "more words than are looked at" with "more than three words of a verb" 'dog  read.query
  a b c d  read.query'
ok "own verbs besides shared ones" with "'dog' has other verbs already" 'verbs @x
  rm  read.query
dog  read.query  verbs: @x
  cp  read.query'
ok "shared options nobody uses" with "no program uses the options '@x'" 'options @x  n='
ok "a tab" with "use blanks, not tabs" 'dog	read.query'
ok "the line that is meant, behind one that goes on" with "x.txt:5: error: there is no tag 'x'" 'dog  read.query  options: n= :a,\
   m=
eel  x'
twice() { printf 'dog  read.query\n' >y.txt && printf 'dog  read.query  run: one\neel  run: two\n' | { cat >x.txt; ! "$generate" out.c code.c y.txt x.txt >said 2>&1; } &&
  grep -q "'dog' stands in [xy].txt:1 too" said; }
ok "a program in two files" twice
ok "a handler that no row runs" refused "code.c:6: error: no row of share/programs/ runs HANDLER(two)" <<EOF
dog  run: one
EOF
finish
