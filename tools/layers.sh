#!/bin/sh
# layers.sh — the rules of docs/ARCHITECTURE.md that a machine can check: who includes whom, who touches the outside world,
# who prints, and how long files and functions may be.  Prints each offending line; exit 1 when there is one.
set -u
cd "${HELM_SOURCE:-$(dirname "$0")/..}" || exit 1
export LC_ALL=C

files=$(find src -name '*.[ch]' | sort)
all=$(find src tests fuzz bench -name '*.[ch]' 2>/dev/null | sort)
report=$(mktemp) || exit 1
trap 'rm -f "$report"' EXIT

# 1. Includes point down, and from another room only its own header is visible.
# shellcheck disable=SC2086 # lists of names without spaces
awk '
BEGIN {
	sees["base"] = " "
	sees["model"] = " base "
	sees["proof"] = sees["privacy"] = sees["model"] "model "
	lower = sees["proof"] "proof privacy "
	sees["propose"] = sees["decide"] = sees["record"] = lower
	sees["execute"] = lower "propose decide record "
	sees["remember"] = sees["observe"] = sees["execute"] "execute "
	sees["verify"] = sees["proof"] "proof "
	sees["kernel"] = sees["observe"] "remember observe verify "
	sees["cli"] = sees["serve"] = sees["kernel"] "kernel "
	open_room = " base model proof "
}
/^#[ \t]*include[ \t]*"/ {
	split(FILENAME, at, "/")
	room = at[2]
	split($0, quoted, "\"")
	slash = index(quoted[2], "/")
	to = substr(quoted[2], 1, slash - 1)
	if (!(room in sees))
		print FILENAME ":" FNR ": no such room in the picture: " room
	else if (slash == 0)
		print FILENAME ":" FNR ": name the room: " $0
	else if (to != room && !index(sees[room], " " to " "))
		print FILENAME ":" FNR ": " room " may not see " to ": " $0
	else if (to != room && !index(open_room, " " to " ") && quoted[2] != to "/" to ".h")
		print FILENAME ":" FNR ": only " to "/" to ".h is visible from " room ": " $0
}' $files >>"$report"

# 2. A library is known to one .c file, so that it can be replaced there.
for header in sodium.h sqlite3.h pcre2.h yaml.h zstd.h utf8proc.h openssl/ jansson.h curl/ microhttpd.h libpq-fe.h zlib.h; do
	# shellcheck disable=SC2086
	users=$(grep -lE "^#[ 	]*include[ 	]*<$header" $files)
	for user in $users; do
		case $user in
		*.h) echo "$user: a header must not show a library: <$header>" ;;
		esac
	done >>"$report"
	[ "$(echo "$users" | wc -w)" -le 1 ] || echo "$users" | sed "s|\$|: one of several that include <$header>|" >>"$report"
done

# The rest looks at code without comments and texts: blanked, line numbers kept.
# shellcheck disable=SC2086
code() {
	awk -v rule="$1" -v pattern="$2" '
	FNR == 1 { in_comment = 0 }
	{
		line = $0
		out = ""
		while (line != "") {
			if (in_comment) {
				end = index(line, "*/")
				if (!end) { line = ""; break }
				line = substr(line, end + 2)
				in_comment = 0
			} else if (match(line, /\/\*|\/\/|"([^"\\]|\\.)*"|'"'"'([^'"'"'\\]|\\.)+'"'"'/)) {
				out = out substr(line, 1, RSTART - 1) " "
				token = substr(line, RSTART, 2)
				rest = substr(line, RSTART + RLENGTH)
				if (token == "/*") { in_comment = 1; line = rest }
				else if (token == "//") line = ""
				else line = rest
			} else {
				out = out line
				line = ""
			}
		}
		if ((" " out) ~ pattern)
			print FILENAME ":" FNR ": " rule ": " $0
	}' "$3" </dev/null
}
call() { # call NAMES: one of them called as a plain function, not as a member
	printf '(^|[^A-Za-z0-9_>.])(%s)[ \t]*[(]' "$1"
}

for file in $files; do
	# 3. Only the doors print.
	case $file in
	src/cli/* | src/serve/*) ;;
	*) code "only cli and serve print" "$(call 'printf|vprintf|fprintf|vfprintf|puts|putchar|fputs|fputc|perror|dprintf')" "$file" ;;
	esac
	# 4. Only the door to the system goes through it.
	case $file in
	src/base/sys.c | src/base/proc.c | src/execute/*) ;;
	*)
		code "only base/sys.c touches the outside world" "$(call \
			'open|openat|creat|fopen|opendir|fdopendir|time|gettimeofday|clock_gettime|getenv|secure_getenv|getrandom|getentropy|fork|vfork|posix_spawnp?|execv|execve|execvp|fexecve|rename|renameat|unlink|unlinkat|mkdir|mkdirat|fsync|fdatasync|ftruncate|flock|nanosleep|usleep|sleep|socket')" "$file"
		;;
	esac
done >>"$report"

# 5. What does not fit into a head.
# shellcheck disable=SC2086
awk '
function close_file() { if (last > 900) print name ":" last ": longer than 900 lines" }
FNR == 1 { close_file(); name = FILENAME; start = 0 }
{ last = FNR }
/^{$/ { start = FNR; what = previous }
/^}/ { if (start && FNR - start + 2 > 90) print FILENAME ":" start ": function longer than 90 lines: " what; start = 0 }
{ previous = $0 }
END { close_file() }' $all >>"$report"

[ -s "$report" ] || exit 0
cat "$report"
exit 1
