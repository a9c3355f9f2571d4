# run_translated.sh - translated seeds: section and calls beside oracle_translated.py; speaks TAP
[ -n "$PYTHON3" ] || { echo "1..0 # SKIP no python3"; exit 0; }
. "$KH_SRCDIR/tests/tap.sh"
make_db() { db=$1; shift; "$kmerhash" build -q --translated --db "$db" --taxonomy world/taxonomy "$@" world/refs.fa; }
tiny() { "$kmerhash" build -q --taxonomy "$data/taxonomy" --accession2taxid "$data/taxonomy/accession2taxid.tsv" "$@" "$data"/genomes/*.gz; }
calls() { db=$1; shift; "$kmerhash" classify -q --db "$db" --output calls.tsv ${2:+--paired} "$@" && oracle oracle_translated.py calls "$db" calls.tsv "$@"; }

check "genomes that are mostly genes" "$PYTHON3" "$tests/make_genes.py" world
check "build" make_db a.khdb
expect 0 "" "it is sound" "$kmerhash" verify a.khdb
check "the section" oracle oracle_translated.py section a.khdb world/taxonomy world/refs.fa
head -n 840 world/reads.fq | sed 's/^@r/@l/' >world/some.fq
check "a threshold has been raised" "$PYTHON3" -c 'import sys; sys.path.insert(0, sys.argv[1])
from oracle_translated import Database, Section
assert max(g[2] for g in Section(Database("a.khdb")).genera) > 55' "$tests"
check "reads" calls a.khdb world/reads.fq
check "long reads" calls a.khdb world/long.fq
mv calls.tsv long.tsv
check "long reads and short ones, as pairs" calls a.khdb world/long.fq world/some.fq
check "pairs" calls a.khdb world/pairs_1.fq world/pairs_2.fq
check "pairs: some are called a family only" grep -q "^C	[^	]*	1[01]	[^	]*	1[01]:0 " calls.tsv
check "long reads and pairs: so are some of them" sh -c 'grep -q "^C	[^	]*	1[01]	[^	]*	1[01]:0 " long.tsv'
mv calls.tsv pairs.tsv
check "small genomes" tiny --db tiny.khdb --translated
check "small genomes: the section" oracle oracle_translated.py section tiny.khdb "$data/taxonomy" "$data"/genomes/*.gz

# How strict calls are.
for level in balanced sensitive; do
	check "$level: pairs" "$kmerhash" classify -q --db a.khdb --set unknown=$level --output $level.tsv --paired world/pairs_1.fq world/pairs_2.fq
	check "$level: what is called" env LEVEL=$level "$PYTHON3" "$tests/oracle_translated.py" calls a.khdb $level.tsv world/pairs_1.fq world/pairs_2.fq
	check "$level: long reads" "$kmerhash" classify -q --db a.khdb --set unknown=$level --output b.tsv world/long.fq
	check "$level: of them" env LEVEL=$level "$PYTHON3" "$tests/oracle_translated.py" calls a.khdb b.tsv world/long.fq
	check "$level: more than strict" test "$(grep -c ^C $level.tsv)" -gt "$(grep -c ^C pairs.tsv)"
done
check "sensitive: more than balanced" test "$(grep -c ^C sensitive.tsv)" -gt "$(grep -c ^C balanced.tsv)"
check "strict" "$kmerhash" classify -q --db a.khdb --set unknown=strict --output b.tsv --paired world/pairs_1.fq world/pairs_2.fq
same pairs.tsv b.tsv "strict: as without it"
expect 2 "'lax' is none of strict, balanced and sensitive" "a wrong level" "$kmerhash" classify --db a.khdb --set unknown=lax world/long.fq

# What depends on nothing but references and reads.
for how in "-p 1" "-p 4 --set block-size=10000"; do
	check "build $how" make_db b.khdb $how
	same a.khdb b.khdb "build $how: the same bytes"
	check "classify $how" "$kmerhash" classify -q --db a.khdb --output b.tsv $how --paired world/pairs_1.fq world/pairs_2.fq
	same pairs.tsv b.tsv "classify $how: the same lines"
done
check "KH_SIMD=none: build" env KH_SIMD=none "$kmerhash" build -q --translated --db b.khdb --taxonomy world/taxonomy world/refs.fa
same a.khdb b.khdb "KH_SIMD=none: the same bytes"
check "KH_SIMD=none: classify" env KH_SIMD=none "$kmerhash" classify -q --db a.khdb --output b.tsv --paired world/pairs_1.fq world/pairs_2.fq
same pairs.tsv b.tsv "KH_SIMD=none: the same lines"

# Without the seeds all else is the same.
check "without" "$kmerhash" build -q --db none.khdb --taxonomy world/taxonomy world/refs.fa
check "without: classify" "$kmerhash" classify -q --db none.khdb --output none.tsv --paired world/pairs_1.fq world/pairs_2.fq
awk -F '\t' 'BEGIN { OFS = FS } $1 == "C" && index($5, $3 ":0") == 1 { $1 = "U"; $3 = 0; sub(/^[^ ]* /, "", $5) } { print }' pairs.tsv >dna.tsv
same none.tsv dna.tsv "calls of the rule for DNA are the same"
expect 0 "warning: --set unknown is for one database built with --translated" "no seeds" "$kmerhash" classify --db none.khdb --set unknown=strict --output b.tsv world/long.fq
check "--confidence: no such calls" "$kmerhash" classify -q --db a.khdb --confidence 0.01 --output b.tsv --paired world/pairs_1.fq world/pairs_2.fq
check "--confidence: none" sh -c '! grep -q "^C.*	[0-9]*:0 " b.tsv'
# A family with more than three times as many species in other genera as one of its own has.
mkdir wide && cp world/taxonomy/* wide
for taxid in 119 $(seq 1190 1199); do
	rank=species parent=119
	[ "$taxid" -gt 119 ] || rank=genus parent=11
	printf '%s\t|\t%s\t|\t%s\t|\n' "$taxid" "$parent" "$rank" >>wide/nodes.dmp
	printf '%s\t|\tother %s\t|\t\t|\tscientific name\t|\n' "$taxid" "$taxid" >>wide/names.dmp
done
check "ten more species in a family" "$kmerhash" build -q --translated --db wide.khdb --taxonomy wide world/refs.fa
check "ten more: the section" oracle oracle_translated.py section wide.khdb wide world/refs.fa
check "ten more: pairs" calls wide.khdb world/pairs_1.fq world/pairs_2.fq
check "ten more: the family is called" grep -q "^C	[^	]*	11	[^	]*	11:0 " calls.tsv
check "ten more: no genus of it" sh -c '! grep -q "^C	[^	]*	11.	[^	]*	11.:0 " calls.tsv'
check "ten more: genera of the other one" grep -q "^C	[^	]*	10.	[^	]*	10.:0 " calls.tsv

# Genera of such a family that are so near that thresholds tell: one has 237, two have 243 and more.
check "near genera" "$PYTHON3" "$tests/make_genes.py" near 0.3
check "near: build" "$kmerhash" build -q --translated --db near.khdb --taxonomy wide near/refs.fa
check "near: the section" oracle oracle_translated.py section near.khdb wide near/refs.fa
check "near: the family is called of one of three" "$PYTHON3" -c 'import sys; sys.path.insert(0, sys.argv[1])
from oracle_translated import Database, Section
genera = Section(Database("near.khdb")).genera
assert [g[0] == g[3] for g in genera[3:6]] == [False, True, True], genera' "$tests"

# The second pass: a few such calls in a genus of which no species is there are dropped.
genus=$(awk -F '\t' '$1 == "C" && $3 > 99 && index($5, $3 ":0") == 1 { n[$3]++ } END { for (g in n) print n[g], g }' pairs.tsv | sort -n | tail -n 1 | cut -d " " -f 2)
# sample N: N pairs called that genus, and 5000 of nothing
sample() {
	awk -F '\t' -v g="$genus" -v n="$1" '$1 == "C" && $3 == g && index($5, g ":0") == 1 && n-- > 0 { print $2 }' pairs.tsv >ids
	for mate in 1 2; do
		{ awk 'NR == FNR { want["@" $1]; next } FNR % 4 == 1 { on = $1 in want } on' ids world/pairs_$mate.fq
		  awk 'BEGIN { srand(1); for (i = 0; i < 5000; i++) { s = ""; for (j = 0; j < 100; j++) s = s substr("ACGT", 1 + int(4 * rand()), 1); print "@n" i "\n" s "\n+\n" s } }'
		} >s_$mate.fq
	done
	"$kmerhash" classify -q --db a.khdb --sample-pass --output s.tsv --report s.report --profile s.profile --json s.json --paired s_1.fq s_2.fq
}
check "ten pairs of a genus" sample 10
check "ten: they stay" test "$(grep -c "^C.*	$genus:0 " s.tsv)" -eq 10
check "ten: so says the report" sh -c 'grep -q "	10	10	G	$1	" s.report' - "$genus"
check "ten: so says the profile" grep -q "	10 reads are like its proteins only, too few or too unlike for an unknown species	$genus	" s.profile
check "nine pairs of it" sample 9
check "nine: none is called" test "$(grep -c "^C" s.tsv)" -eq 0
check "nine: so says the report" sh -c 'grep -q "	5009	5009	U	0	" s.report && ! grep -q "	G	" s.report'
check "nine: so says the profile" sh -c '! grep -q "unknown species" s.profile'
check "nine: so says the summary" grep -q '"classified": 0' s.json

# Unknown species, and, by a database without a genus, an unknown genus: final calls and rows of the profile.
unknown() {
	db=$1; shift
	"$kmerhash" classify -q --db "$db" --output first.tsv ${2:+--paired} "$@" &&
	"$kmerhash" classify -q --db "$db" --sample-pass --output final.tsv --profile u.profile --report u.report ${2:+--paired} "$@" &&
	oracle oracle_translated.py sample "$db" first.tsv final.tsv u.profile "$@"
}
awk 'NR % 4 == 1 { name = $0 } NR % 4 == 2 { seq = $0 } NR % 4 == 0 && length(seq) <= 512 { print name "\n" seq "\n+\n" $0 }' world/reads.fq >short.fq
awk '/^>/ { on = !/taxid.101/ } on' world/refs.fa >less.fa
check "without a genus" "$kmerhash" build -q --translated --db less.khdb --taxonomy world/taxonomy less.fa
check "unknown species: reads" unknown a.khdb short.fq
check "unknown species: pairs" unknown a.khdb world/pairs_1.fq world/pairs_2.fq
awk -F '\t' '$3 > 0 { print $5, $3 }' u.report | sort >counts
awk -F '\t' '{ n[$3]++ } END { for (t in n) print t, n[t] }' final.tsv | sort >lines
same lines counts "unknown species: the report has the counts of the lines"
check "unknown species: merge leaves them out" sh -c '"$1" merge --output m.tsv u.profile && ! grep -q unknown.species m.tsv' - "$kmerhash"
awk '/^>/ { on = /taxid.101/; next } on { for (i = 1; i + 149 <= length($0); i += 200) { s = substr($0, i, 150); print "@g" n++ "\n" s "\n+"; gsub(/./, "I", s); print s } }' world/refs.fa >genus.fq
check "unknown genus: pairs" unknown less.khdb world/pairs_1.fq world/pairs_2.fq
check "unknown genus: reads of it" unknown less.khdb genus.fq
check "unknown genus: there is one" grep -q "^unknown genus of family 0	genus	yes	" u.profile
mv final.tsv one.tsv
mv u.profile one.profile
check "unknown genus: on eight threads" "$kmerhash" classify -q --db less.khdb --sample-pass --output final.tsv --profile u.profile -p 8 --set block-size=10000 genus.fq
same one.tsv final.tsv "unknown genus: the same lines"
same one.profile u.profile "unknown genus: the same profile"

# What cannot be.
expect 2 "16, 32, 64, 128, 256 or 512" "strides" make_db b.khdb --set stride=100
check "without translated seeds" tiny --db g.khdb
expect 2 "those of --base" "not with --base" "$kmerhash" build --translated --base g.khdb --db b.khdb --taxonomy "$data/taxonomy" "$data"/genomes/*T7*
tab=$(printf '\t')
mkdir bad
check "bad sections" "$PYTHON3" "$tests/make_bad_dbs.py" tiny.khdb bad translated
while IFS=$tab read -r file want; do
	expect 1 "^kmerhash verify: bad/$file: .*($want)" "$file" "$kmerhash" verify "bad/$file"
done <bad/list
plan
