# run_oracle.sh - the program against independent implementations in Python; speaks TAP
[ -n "$PYTHON3" ] || { echo "1..0 # SKIP no python3"; exit 0; }
here=$PWD
. "$KH_SRCDIR/tests/tap.sh"

# It does not pass on what says nothing, or stops early.
fails() { ( include "$@" ) | grep -q '^not ok'; }
check "a test without output fails" fails printf ""
check "a test that stops early fails" fails printf '1..2\nok 1 - a\n'

# calls DATABASE READS [MATES] [OPTION...]
calls() {
	db=$1; shift
	opts=; files=
	for a; do case $a in -*|0*) opts="$opts $a" ;; *) files="$files $a" ;; esac; done
	set -- $files
	classify --db "$db" --output calls.tsv $opts ${2:+--paired} $files &&
	oracle oracle_classify.py "$db" calls.tsv $opts $files
}

# aligned [--paired] READS [MATES]: alignments beside the bases, and lines as without them
aligned() {
	classify --db syncmer.khdb --output plain.tsv "$@" &&
	classify --db syncmer.khdb --output lines.tsv --set identity --paf a.paf "$@" &&
	cut -f 1-5 lines.tsv | cmp - plain.tsv || return
	[ "$1" != --paired ] || shift
	oracle check_paf.py a.paf "$1${2:+,$2}" $genomes lines.tsv
}

# second DATABASE READS [MATES]: the same with the column of the second-best taxon
second() {
	db=$1; shift
	classify --db "$db" --output calls.tsv --set second-best ${2:+--paired} "$@" &&
	oracle oracle_classify.py "$db" calls.tsv --second-best "$@"
}

# inspected DATABASE: what it has, by the program and by the other reader
inspected() {
	"$kmerhash" inspect "$1" >inspected.txt && "$kmerhash" inspect --json "$1" >inspected.json &&
	oracle check_inspect.py "$1" inspected.txt <inspected.json
}

# index DATABASE REFERENCE...: all of it
index() { [ "${KH_ORACLES:-}" = no ] || include "$PYTHON3" "$tests/oracle_db.py" "$@"; }

if [ -x "$here/tests/dump_features" ]; then
	include "$PYTHON3" "$tests/oracle_sampling.py" "$here/tests/dump_features" "$data"/genomes/*.gz
else skip "features" "no tests/dump_features here"; fi
genomes=$(echo "$data"/genomes/*.gz)
sim="$data/reads/tiny_sim_1.fq.gz $data/reads/tiny_sim_2.fq.gz"
real="$data/reads/sarscov2_real_1.fq.gz $data/reads/sarscov2_real_2.fq.gz"
check "made-up reads" "$PYTHON3" "$tests/make_world.py" reads 400 made.fq $genomes
check "made-up pairs" "$PYTHON3" "$tests/make_world.py" pairs 200 made_1.fq made_2.fq $genomes
check "made-up short reads" "$PYTHON3" "$tests/make_world.py" short 1000 short.fq $genomes
check "300 strains" "$PYTHON3" "$tests/make_world.py" strains 300 strains "$data"
check "60 strains of 4 species" "$PYTHON3" "$tests/make_world.py" strains 60 sisters "$data" 4
check "280 species" "$PYTHON3" "$tests/make_world.py" strains 280 many "$data" 280
check "120 species" "$PYTHON3" "$tests/make_world.py" strains 120 crowd "$data" 120

for scheme in syncmer minhash; do
	check "$scheme: build" build --db $scheme.khdb --set scheme=$scheme $genomes
	index $scheme.khdb $genomes
	check "$scheme: inspect" inspected $scheme.khdb
	check "$scheme: pairs" calls $scheme.khdb $sim
	check "$scheme: real reads" calls $scheme.khdb ${real% *}
	check "$scheme: made-up reads, long ones too" calls $scheme.khdb made.fq
	check "$scheme: made-up pairs" calls $scheme.khdb made_1.fq made_2.fq
	check "$scheme: confidence" calls $scheme.khdb made.fq --confidence 0.9
done
check "the second-best taxon" second syncmer.khdb made.fq
check "the second-best taxon, pairs" second syncmer.khdb made_1.fq made_2.fq
check "short reads" calls syncmer.khdb short.fq
called=$(grep -c ^C calls.tsv)
check "of short reads $called are called, more than half" test "$called" -gt 500
if [ -n "${KH_DEVICE:-}" ]; then skip "alignments" "by the CPU"; else
	set -- $sim
	check "alignments of pairs" aligned --paired "$1" "$2"
	set -- $real
	check "alignments of real pairs" aligned --paired "$1" "$2"
	check "alignments of made-up reads, long ones too" aligned made.fq
	check "alignments of made-up pairs" aligned --paired made_1.fq made_2.fq
	"$PYTHON3" "$tests/check_paf.py" make from.fa $genomes
	check "alignments where reads come from" aligned from.fa
	check "nearly all reads have one" test "$(cut -f 1 a.paf | sort -u | grep -c from)" -gt 390
fi
# calls below the species
check "strains: references and reads" "$PYTHON3" "$tests/make_world.py" below below "$data"
for keep in "" "--set keep-all"; do
	check "strains$keep: build" "$kmerhash" build -q --db text.khdb $keep --taxonomy below/taxonomy below/refs.fa
	index text.khdb below/refs.fa
	check "strains$keep: reads" calls text.khdb below/reads.fq
	check "strains$keep: long reads" calls text.khdb below/long.fq
	check "strains$keep: pairs" calls text.khdb below/pairs_1.fq below/pairs_2.fq
	told=$(awk -F '\t' 'index($2, $3 "-") == 1 && $3 > 9000001' calls.tsv | wc -l)
	wrong=$(awk -F '\t' 'index($2, $3 "-") != 1 && $3 > 9000001' calls.tsv | wc -l)
	check "strains$keep: $told of 180 pairs of a strain are called it, and $wrong another one" test "$told" -ge 25 -a "$wrong" -le 2
done
# the species' own reference, the fourth, comes with its first strain
awk '/^>/ { n++ } { print >"below/" (n == 1 || n == 4 ? 1 : n <= 3 ? 2 : 3) ".fa" }' below/refs.fa
check "strains, one part: build" "$kmerhash" build -q --db 1.khdb --set total-bases=60K --taxonomy below/taxonomy below/1.fa
for part in 2 3; do
	check "strains: add part $part" "$kmerhash" build -q --base $((part - 1)).khdb --db $part.khdb --taxonomy below/taxonomy below/$part.fa
done
check "strains, at once: build" "$kmerhash" build -q --db text.khdb --set total-bases=60K --taxonomy below/taxonomy below/1.fa below/2.fa below/3.fa
same text.khdb 3.khdb "strains: the same"
check "minhash, other windows: build" build --db odd.khdb --set scheme=minhash --set stride=128 --set features=3 $genomes
index odd.khdb $genomes
check "minhash, other windows: pairs" calls odd.khdb made_1.fq made_2.fq
for stride in 64 512; do
	check "other k, bins of $stride: build" build --db odd.khdb -k 21 --set smer-len=11 --set stride=$stride $genomes
	index odd.khdb $genomes
	check "other k, bins of $stride: reads" calls odd.khdb made.fq
	check "other k, bins of $stride: pairs" calls odd.khdb made_1.fq made_2.fq
done
check "small k: build" build --db dense.khdb -k 9 $genomes
index dense.khdb $genomes
check "small k: pairs" calls dense.khdb made_1.fq made_2.fq
for scheme in syncmer minhash; do
	check "$scheme, some of the features: build" build --db some.khdb --set scheme=$scheme --max-db-size 150K $genomes
	index some.khdb $genomes
	check "$scheme, some of the features: pairs" calls some.khdb made_1.fq made_2.fq
done

# Where there is no room for text.
for scheme in syncmer minhash; do
	check "$scheme, without text: build" build --db thin.khdb --set scheme=$scheme --max-db-size 80K $genomes
	index thin.khdb $genomes
	check "$scheme, without text: there is none" sh -c '"$1" inspect thin.khdb | grep -qx "bases of text	0"' - "$kmerhash"
	check "$scheme, without text: inspect" inspected thin.khdb
	check "$scheme, without text: pairs" calls thin.khdb made_1.fq made_2.fq
	check "$scheme, without text: reads, long ones too" calls thin.khdb made.fq
	called=$(grep -c ^C calls.tsv)
	check "$scheme, without text: of 400 reads $called are called" test "$called" -gt 100
done
build --db no.khdb --max-db-size 80K --dry-run $genomes >dry.txt
check "without text: a dry run says as much" grep -q '^database	[78][0-9]\{4\}	' dry.txt
for o in "--sample-pass" "--profile p" "--paf a.paf" "--set identity" "--set second-best"; do
	expect 2 "lacks the bases of its references" "without text: no $o" "$kmerhash" classify --db thin.khdb --device cpu --output o.tsv $o made.fq
done
expect 2 "as it lacks the bases of its references" "without text: nothing is added" build --base thin.khdb --db grown.khdb $genomes
expect 2 "targets, taxa and an empty index need" "translated seeds: no room" build --translated --db no.khdb --max-db-size 80K $genomes

# What many species have has no alleles, and is called none of them.
check "elements: references" "$PYTHON3" "$tests/make_world.py" elements elements "$data"
check "elements: build" "$kmerhash" build -q --db elements.khdb --taxonomy elements/taxonomy elements/first.fa elements/second.fa
cat elements/first.fa elements/second.fa >elements.fa
index elements.khdb elements.fa
check "elements: reads" calls elements.khdb elements/reads.fq
classify --db elements.khdb --output o.tsv elements/reads.fq
check "elements: no read is called a species" sh -c '! cut -f 3 o.tsv | grep -q "^80000"'
check "elements: build of a half" "$kmerhash" build -q --db half.khdb --set total-bases=170K --taxonomy elements/taxonomy elements/first.fa
check "elements: add the other one" "$kmerhash" build -q --base half.khdb --db grown.khdb --taxonomy elements/taxonomy elements/second.fa
check "elements: build of all" "$kmerhash" build -q --db all.khdb --set total-bases=170K --taxonomy elements/taxonomy elements/first.fa elements/second.fa
same all.khdb grown.khdb "elements: the same"
# long reads that fit several species, nearly as well
check "close species: reads" "$PYTHON3" "$tests/make_world.py" sisters close "$data"
check "close species: build" "$kmerhash" build -q --db close.khdb --taxonomy close/taxonomy close/refs.fa
head -n 800 close/long.fq >long.fq
check "close species: long reads" calls close.khdb long.fq
check "close species: the second-best taxon" second close.khdb long.fq
check "close species: long reads with gaps, over which they lie in different ways" calls close.khdb close/gaps.fq
check "close species: the second-best taxon of these" second close.khdb close/gaps.fq
head -n 1200 close/reads.fq >short.fq
check "close species: the second-best taxon of short reads" second close.khdb short.fq
# A contig that is joined of two genomes: its call is of one of them, and the other is the second-best.
{ echo ">joined"; gzip -dc "$data"/genomes/*T7*.gz | sed -n '2,60p'; gzip -dc "$data"/genomes/*Lambda*.gz | sed -n '2,40p'; } >joined.fa
classify --db syncmer.khdb --output o.tsv --set second-best joined.fa
check "a contig of two genomes: both are named" sh -c 'cut -f 3,6 o.tsv | grep -q "^10760	10710:[0-9][0-9][0-9]"'
expect 2 "not with --sample-pass" "the second-best taxon and the sample pass" "$kmerhash" classify --db syncmer.khdb --set second-best --sample-pass joined.fa

classify --db syncmer.khdb --output o.tsv --set lineage-column ${sim% *}
check "a lineage" sh -c 'cut -f 6 o.tsv | grep -q "^d__Viruses;.*;s__Escherichia virus T7$"'
classify --db syncmer.khdb --output a.tsv --sample-pass --set lineage-column ${sim% *}
check "lineages behind the sample pass: as many columns" test "$(awk -F '\t' '{ print NF }' o.tsv a.tsv | sort -u)" = 6

# A genome that ends in a repeat, and reads of that: none and all are called, by --set keep-repeats.
repeat=$(printf 'TTAGGGTTAGGGTTAGGGTTAGGGTTAGGGTTACGG%.0s' 1 2 3 4)
{ gzip -dc "$data"/genomes/*phiX174*.gz; echo "$repeat$repeat$repeat"; } >tail.fa
quality=$(printf %s "$repeat" | tr A-Z I)
printf '@%s\n%s\n+\n%s\n' one "$repeat" "$quality" two "GG${repeat#????}TT" "$quality" >tail.fq
for scheme in syncmer minhash; do
	check "repeats, $scheme: build" build --db without.khdb --set scheme=$scheme -k 18 tail.fa
	check "repeats, $scheme: build with them" build --db with.khdb --set scheme=$scheme -k 18 --set keep-repeats tail.fa
	for them in without with; do
		index $them.khdb tail.fa
		check "repeats, $scheme, $them: reads" calls $them.khdb tail.fq
		check "repeats, $scheme, $them: other reads" calls $them.khdb made.fq
	done
	classify --db without.khdb --output calls.tsv tail.fq
	check "repeats, $scheme: none is called" test "$(cut -f 1 calls.tsv | tr -d '\n')" = UU
	classify --db with.khdb --output calls.tsv tail.fq
	check "repeats, $scheme: all are called with them" test "$(cut -f 1 calls.tsv | tr -d '\n')" = CC
done

gzip -dc "$data"/genomes/*phiX174*.gz | head -n 5 >tiny.fa
check "few bases: build" build --db tiny.khdb -k 9 tiny.fa
index tiny.khdb tiny.fa

# world DIR OPTION...: a database of DIR, DIR.khdb, and the calls of its reads
world() {
	dir=$1; shift
	check "$dir $*: build" "$kmerhash" build -q --db "$dir.khdb" --taxonomy "$dir/taxonomy" "$@" "$dir/refs.fa"
	index "$dir.khdb" "$dir/refs.fa"
	check "$dir $*: inspect" inspected "$dir.khdb"
	check "$dir $*: reads" calls "$dir.khdb" "$dir/reads.fq"
	cp calls.tsv $dir.tsv
	check "$dir $*: made-up reads, long ones too" calls "$dir.khdb" made.fq
}
number_of() { "$kmerhash" inspect "$1" | awk -F '\t' -v name="$2" '$1 == name { print $2 }'; }

# Of a species with 300 strains nearly all text is left out, and its reads are called.
world strains
check "strains: few locations are left" \
	test "$(number_of strains.khdb locations)" -lt $((3 * $(number_of strains.khdb features)))
called=$(awk '$1 == "C" && ($3 == 10847 || $3 >= 9000000)' strains.tsv | wc -l)
check "strains: $called of 300 reads are called the species or a strain" test "$called" -ge 295
# Strains that are all kept, so that lists are cut by species.
world sisters
world sisters --set keep-all
# Reads have more places than are compared.
world crowd
check "crowd: made-up pairs" calls crowd.khdb made_1.fq made_2.fq
# Seeds of very many species have no bins.
world many
over=$(number_of many.khdb overpopulated)
check "many species: $over overpopulated features" test "${over:-0}" -gt 100
plan
