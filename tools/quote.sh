# shellcheck shell=sh
# quote.sh — sourced by ./demo: quoted WORD... prints the words as one line that a shell reads back as exactly these words, so
# that what is shown can be pasted.  Words that need no quotes get none.
quoted() {
  quoted_space=''
  for quoted_word in "$@"; do
    printf '%s' "$quoted_space"
    quoted_space=' '
    case $quoted_word in
      '' | *[!A-Za-z0-9_@%+:,./=-]*)
        # Each single quote is put between two quoted parts; the x keeps a newline at the end.
        quoted_word=$(printf '%sx' "$quoted_word" | sed "s/'/'\\\\''/g")
        printf "'%s'" "${quoted_word%x}" ;;
      *) printf '%s' "$quoted_word" ;;
    esac
  done
}
