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

# 1. Includes point down, and other folders see only what a folder shows.  The tables of the picture are the rules: nothing is
# written twice.  A row: | folder | may use | shows | ... ; "all above" are the rows before it; a sub-folder may use the
# headers of its own room and the sub-folders that its row names.
# shellcheck disable=SC2086 # lists of names without spaces
awk '
function fail(what) { print FILENAME ":" FNR ": " what ": " $0 }
# The folder a header or file lies in, without src/: "kernel", "kernel/task".
function folder_of(path) { sub(/\/[^\/]*$/, "", path); return path }
FILENAME ~ /ARCHITECTURE.md$/ {
	if ($0 ~ /^## /)
		in_table = ($0 == "## Layers")
	if (!in_table || $0 !~ /^\| `/)
		next
	gsub(/`|,/, "")
	split($0, cell, /[ ]*\|[ ]*/)
	folder = cell[2]
	if (cell[3] ~ /^all above/)
		uses[folder] = seen_rooms
	else
		uses[folder] = " " cell[3] " "
	shows[folder] = " " cell[4] " "
	if (folder !~ /\//)
		seen_rooms = seen_rooms " " folder " "
	known[folder] = 1
	next
}
/^#[ \t]*include[ \t]*"/ {
	from = folder_of(substr(FILENAME, 5))
	split($0, quoted, "\"")
	header = quoted[2]
	if (!index(header, "/")) {
		fail("name the room")
		next
	}
	to = folder_of(header)
	room = from; sub(/\/.*/, "", room)
	to_room = to; sub(/\/.*/, "", to_room)
	if (!(from in known) || !(to in known))
		fail("no such folder in docs/ARCHITECTURE.md: " (from in known ? to : from))
	else if (from == to || (to == room && from != room))
		; # its own folder, or the headers that its room keeps for all of its folders
	else if (to_room != room && !index(uses[room], " " to_room " "))
		fail(room " may not see " to_room)
	else if (to_room == room && from != room && !index(uses[from], " " to " "))
		fail(from " may not see " to)
	else if (shows[to] ~ /every header/ || index(shows[to], " " substr(header, length(to) + 2) " "))
		;
	else if (to_room == room && header == to "/" substr(to, length(room) + 2) ".h")
		; # a room sees the manual of its own sub-folder
	else
		fail(to " does not show this to " from)
}' docs/ARCHITECTURE.md $files >>"$report"

# 2. A library is known to one .c file, so that it can be replaced there.
for header in sodium.h sqlite3.h pcre2.h yaml.h zstd.h utf8proc.h openssl/ jansson.h curl/ microhttpd.h gnutls/ libpq-fe.h zlib.h; do
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

# 6. The picture names every folder there is and no other; decisions are numbered without gaps, and say their number.
find src -type d | sed '1d; s|^src/||' | sort >"$report.there"
awk '/^## / { in_table = ($0 == "## Layers") } in_table && /^\| `/ { gsub(/`/, ""); print $2 }' docs/ARCHITECTURE.md | sort >"$report.drawn"
comm -23 "$report.there" "$report.drawn" | sed 's|.*|src/&: not in docs/ARCHITECTURE.md|' >>"$report"
if [ -d docs/decisions ]; then
	comm -13 "$report.there" "$report.drawn" | sed 's|.*|docs/ARCHITECTURE.md: there is no src/&|' >>"$report"
	number=0
	for file in docs/decisions/*.md; do
		number=$((number + 1))
		want=$(printf '%04d' $number)
		case $file in
		docs/decisions/"$want"-*) head -1 "$file" | grep -q "^# ${want}[.] " || echo "$file: its first line does not say $want" ;;
		*) echo "$file: the next decision is $want" ;;
		esac
	done >>"$report"
fi
rm -f "$report.there" "$report.drawn"

[ -s "$report" ] || exit 0
cat "$report"
exit 1
