# run_readme.sh - the tour in doc/guide.md prints what the guide says, its figures and the tables of
# doc/ are those of the CSV files, links lead somewhere, and so do those of the site; speaks TAP
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
# The read of kmerhash-method(7): lambda from base 20,000 on, base 33 changed.
gzip -dc data/genomes/Escherichia_virus_Lambda*.gz | sed 1d | tr -d '\n' |
	cut -c 20001-20060 | sed 's/^\(.\{33\}\)A/>r\n\1C/' >example.fa
printf 'C\tr\t10710\t60\t10710:8 0:2\n' >want
"$kmerhash" classify -q --db tour.khdb example.fa >got
same want got "the example in kmerhash-method(7)"
check "its bins are those of src/README.md" sh -c '"$1" inspect --targets tour.khdb | cut -f 1,4 | grep -qx "NC_001416.1.4887"' - "$kmerhash"

if [ -n "${PYTHON3:-}" ] && [ "$PYTHON3" != : ]; then
	check "make figures has been run" "$PYTHON3" "$KH_SRCDIR/doc/figures.py" --check
	check "links lead somewhere" "$PYTHON3" "$KH_SRCDIR/doc/site.py"
else
	skip "figures and links" "no python3"
fi
if python -c "import markdown" 2>messages && command -v mandoc >messages; then
	check "make site: its links lead somewhere" "$PYTHON3" "$KH_SRCDIR/doc/site.py" site
	for page in index doc/guide man/index man/kmerhash-classify.1 NEWS; do
		check "make site: $page" grep -q "<h1" site/$page.html
	done
	check "make site: nothing is loaded from elsewhere" sh -c '! grep -rqE "src=.[a-z]+:|<link|<script" site --include "*.html"'
else
	skip "make site" "no mandoc, or no Python-Markdown"
fi
plan
