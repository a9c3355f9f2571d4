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
check "README is short" test "$(wc -l <"$KH_SRCDIR/README.md")" -le 100
# The read of kmerhash-method(7): lambda from base 20,000 on, base 33 changed.
gzip -dc data/genomes/Escherichia_virus_Lambda*.gz | sed 1d | tr -d '\n' |
	cut -c 20001-20060 | sed 's/^\(.\{33\}\)A/>r\n\1C/' >example.fa
printf 'C\tr\t10710\t60\t10710:8 0:2\n' >want
"$kmerhash" classify -q --db tour.khdb example.fa >got
same want got "the example in kmerhash-method(7)"
check "its bins are those of src/README.md" sh -c '"$1" inspect --targets tour.khdb | cut -f 1,4 | grep -qx "NC_001416.1.4887"' - "$kmerhash"
# Its sample: 600 pairs of lambda, and 40 of a strain of T7, from its first $1 bases.
sample_of() {
	for name in Lambda T7; do gzip -dc data/genomes/*"$name".*.gz | sed 1d | tr -d '\n'; echo; done |
		awk -v most="$1" '
		function some(i) { return i * i * 31 + i * 7919 }
		function code(b) { return index("ACGT", b) }
		function pairs(text, n, most,   i, j, f, mate) {
			for (i = 0; i < n; i++) {
				f = substr(text, some(i) % most + 1, 400); mate = ""
				for (j = 400; j > 250; j--) mate = mate substr("TGCA", code(substr(f, j, 1)), 1)
				print ">" NR "." i "\n" substr(f, 1, 150) >"sample_1.fa"
				print ">" NR "." i "\n" mate >"sample_2.fa"
			}
		}
		NR == 1 { pairs($0, 600, length($0) - 400) }
		NR == 2 {
			for (i = 1; i <= length($0); i++) {
				b = substr($0, i, 1)
				strain = strain (some(i) % 1009 < 30 ? substr("CGTA", code(b), 1) : b)
			}
			pairs(strain, 40, most)
		}'
	"$kmerhash" classify -q --db tour.khdb --paired --sample-pass --profile sample.tsv --output sample.calls sample_1.fa sample_2.fa
	# detected, identity, verdict, stretches and what is expected of T7; taxid of its 40 pairs
	awk -F '\t' '$1 ~ /T7$/ { print $3, $8, $12, $19, $20 }' sample.tsv
	awk -F '\t' '$2 ~ /^2[.]/ { n[$3]++ } END { for (t in n) print t, n[t] }' sample.calls
}
printf 'yes 97.0 present 38 37.5\n1985738 40\n' >want
sample_of 39537 >got
same want got "the sample in kmerhash-method(7): T7 is present"
printf 'no 97.0 reads of a relative that is not in the database 35 37.5\n110456 40\n' >want
sample_of 13000 >got
same want got "in the first third of T7 it is a relative"

if [ -n "${PYTHON3:-}" ] && [ "$PYTHON3" != : ]; then
	check "make figures has been run" "$PYTHON3" "$KH_SRCDIR/doc/figures.py" --check
	check "no number at a line's begin is taken for a list" sh -c 'cd "$1" && ! grep -nE "^ *[0-9]+[.)] " README.md doc/*.md' - "$KH_SRCDIR"
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
