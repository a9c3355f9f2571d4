# run_rooms.sh - a room of the source includes only rooms that stand before it, and lines fit
# into 100 columns with tabs of 8; speaks TAP
#
# The rooms in order, a level a line: a file includes its own room and rooms of earlier lines.
# Nothing in src/ includes cuda/.
rooms='
	base
	io kmer
	seqio
	taxonomy
	kraken2 translated
	index
	db
	classify
	sample
	cuda/kernels
	cuda/inflate
	cuda/engine
	build run
	lib page
	merge
	cuda/tables
	cuda/tables/bench cmd'
cd "$KH_SRCDIR" || exit 1

# "FILE INCLUDED" of every quoted include below the folders given.
includes() {
	find "$@" -path cuda/tables/tests -prune -o -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.cu' -o -name '*.cuh' \) -print |
		LC_ALL=C sort | xargs awk '/^#[ \t]*include[ \t]*"/ { split($0, part, "\""); print FILENAME, part[2] }'
}

# One line for each include that the order forbids.
forbidden() {
	includes src cuda | awk -v rooms="$rooms" '
		function room(path) { sub(/^src\//, "", path); sub(/\/[^\/]*$/, "", path); return path }
		BEGIN {
			n = split(rooms, line, "\n")
			for (i = 1; i <= n; i++) {
				m = split(line[i], name, " ")
				for (j = 1; j <= m; j++) level[name[j]] = i
			}
		}
		{
			from = room($1); to = room($2)
			if (!(from in level)) print $1 ": " from " is no room"
			else if (!(to in level)) print $1 ": \"" $2 "\" names no room"
			else if ($1 ~ /^src/ && to ~ /^cuda/) print $1 ": src includes " $2
			else if (to != from && level[to] >= level[from]) print $1 ": " from " includes " $2
		}'
}

n=0
verdict() { # NAME LINES
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		echo "$2" | sed 's/^/# /'
	fi
}
verdict "includes point one way" "$(forbidden)"
verdict "lines are within 100 columns" "$(find src cuda tests -name '*.[ch]' -o -name '*.cu' -o \
	-name '*.cuh' -o -name '*.inc' | LC_ALL=C sort | while read -r f; do
	expand "$f" | awk -v f="$f" 'length > 100 { print f ":" NR ": " length " columns" }'; done)"
python_verdict() { # NAME SCRIPT
	if [ -n "${PYTHON3:-}" ] && [ "$PYTHON3" != : ]; then verdict "$1" "$("$PYTHON3" "$2" --check 2>&1)"
	else verdict "$1 # SKIP no python3" ""; fi
}
python_verdict "src/README.md has the picture that the includes give" tests/rooms.py
python_verdict "files, structs and folders are within their sizes" tests/sizes.py
# Files that Makefile.am names nowhere, so that they are not compiled, not run or not packed.
# Of a program in tests/ it is enough to name the program.
unnamed() {
	find src cuda tests -name corpus -prune -o -type f \( -name '*.[ch]' -o -name '*.inc' -o \
		-name '*.cu' -o -name '*.cuh' -o -name '*.sh' -o -name '*.py' -o -name '*.js' \) -print |
		LC_ALL=C sort | awk '
			NR == FNR { for (i = 1; i <= NF; i++) named[$i] = 1; next }
			{ program = $1; sub(/\.c$/, "", program) }
			!($1 in named) && !(program in named) { print }' Makefile.am -
}
verdict "Makefile.am names every file" "$(unnamed)"
# Each room has its line in the table there.
untold() {
	for room in $rooms; do
		sed -n '/^| room /,/^$/s/^| \([^|]*\) |.*/\1/p' src/README.md | tr ', ' '\n\n' | grep -qx "$room" ||
			echo "src/README.md: no line for $room"
	done
}
verdict "src/README.md says what lives in each room" "$(untold)"
n_includes=$(includes src cuda | wc -l)
verdict "the includes were found" "$([ "$n_includes" -gt 300 ] || echo "only $n_includes")"
echo "1..$n"
