# run_readme.sh - the tour in doc/guide.md prints what the guide says, its figures and the tables of
# doc/ are those of the CSV files, and what its links name is there; speaks TAP
. "${KH_SRCDIR:?}/tests/tap.sh"
ln -s "$data" data
tour() { sed -n '/^<!-- tour/,/^<!-- end/s/^    //p' "$KH_SRCDIR/doc/guide.md"; }
tour | sed -n 's/^\$ //p' >commands
# Messages go to stderr, and have times.
tour | grep -v '^\$ \|^kmerhash: ' >want
mkdir bin; ln -s "$kmerhash" bin/kmerhash
step_by_step() { PATH=$t/bin:$PATH sh -e ./commands >got 2>messages || { cat messages; return 1; }; }
check "each step of the tour" step_by_step
same want got "prints what the guide says"
tour | sed -n 's/^kmerhash: //p' >said
while IFS= read -r line; do check "and says: $line" grep -qxF "kmerhash: $line" messages; done <said
check "the tour makes a page" test -s sim.html

# Of Markdown files, the files that links name, and the headings in them.
headings() { sed -n 's/^##* //p' "$1" | tr A-Z a-z | sed 's/[^a-z0-9 _-]//g; s/ /-/g'; }
links() {
	for f; do
		sed 's/](/\n](/g' "$KH_SRCDIR/$f" | sed -n 's/^](\([^):]*\)).*/\1/p' | while IFS= read -r to; do
			file=$KH_SRCDIR/$(dirname "$f")/${to%%#*}
			case $to in "#"*) file=$KH_SRCDIR/$f ;; esac
			[ -e "$file" ] || echo "$f: $to"
			case $to in *"#"*) headings "$file" | grep -qxF -e "${to#*#}" || echo "$f: $to" ;; esac
		done
	done
}
links README.md doc/guide.md packaging/python/README.md doc/databases.md doc/accuracy.md doc/speed.md src/README.md tests/README.md >missing
check "links name files and headings that are there" sh -c '! grep . missing >&2'
if [ -n "${PYTHON3:-}" ] && [ "$PYTHON3" != : ]; then
	check "make figures has been run" "$PYTHON3" "$tests/bench/figures.py" --check
else
	skip "make figures has been run" "no python3"
fi
plan
