# run_kraken2.sh - databases of Kraken 2: the lines that kraken2 gives, options, reports, and bad
# folders; speaks TAP
#
# The databases are made here (make_kraken.c).  golden/kraken2.out has what Kraken 2 2.17.1 gives with
# them; where kraken2 is installed, it is asked, too.
here=$PWD
. "$KH_SRCDIR/tests/tap.sh"
make=$here/tests/make_kraken
reads=$tests/corpus/kraken2
for f in "$data"/genomes/*.gz; do f=${f##*/}; gzip -dc "$data/genomes/$f" >"${f%.gz}"; done
db() { name=$1; shift; check "a database: $name" "$make" "$name" "$data/taxonomy" "$@" ./*.fa; }
db dna cells=90000
db spaced k=24 l=12 seed=ccffcf toggle=0 cells=150000
db alike k=31 l=31 cells=250000
db few least=b000000000000000 cells=20000
db wide cells=90000 cell=40
db protein k=15 l=12 cells=250000 protein=1
db old complement=0 cells=90000

# --- lines ---------------------------------------------------------------------------
# Each case: a database, options of both programs, and reads; to a file of this name.
cases() {
	case_of dna "" "$reads/odd.fa"
	case_of dna "--paired" "$reads/odd_1.fq" "$reads/odd_2.fq"
	case_of dna "--confidence 0.2 --minimum-hit-groups 3 --use-names" "$reads/odd.fa"
	case_of dna "--minimum-base-quality 22" "$reads/odd_1.fq"
	case_of dna "--quick --paired" "$reads/odd_1.fq" "$reads/odd_2.fq"
	case_of dna "--quick --minimum-hit-groups 0" "$reads/odd.fa"
	case_of spaced "--minimum-hit-groups 1" "$reads/odd.fa"
	case_of alike "--confidence 0.05" "$reads/odd.fa"
	case_of few "" "$reads/odd.fa"
	case_of wide "" "$reads/odd.fa"
	case_of protein "" "$reads/odd.fa"
	case_of protein "--paired --confidence 0.01" "$reads/odd_1.fq" "$reads/odd_2.fq"
	case_of protein "--quick" "$reads/odd_1.fq"
	case_of old "" "$reads/odd.fa"
	case_of old "--paired" "$reads/odd_1.fq" "$reads/odd_2.fq"
}
n_cases=15
say() { echo "== $*" | sed "s|$reads/||g"; }

# Options of kraken2 as those of classify.
ours() {
	echo "$*" | sed 's/--use-mpa-style/--set mpa-style/; s/--report-zero-counts/--set zero-counts/
		s/--quick/--set quick/; s/--\(minimum-[a-z-]*\) /--set \1=/g'
}
case_of() {
	base=$1 options=$2; shift 2
	say "$base" $options "$@"
	classify --db "$base" $(ours "$options") "$@"
}
cases >ours 2>.err
same "$tests/golden/kraken2.out" ours "lines: those of Kraken 2"
check "lines: all cases" [ "$(grep -c '^==' ours)" = $n_cases ]
classify --db dna "$reads/odd.fa" >dna.tsv
for m in 1 2; do paste - - - - <"$reads/odd_$m.fq" >t$m; done
paste -d '\n' t1 t2 | tr '\t' '\n' >both.fq
classify --db dna --interleaved both.fq >interleaved.tsv
classify --db dna --paired "$reads/odd_1.fq" "$reads/odd_2.fq" >paired.tsv
same paired.tsv interleaved.tsv "lines: mates in one file"
for o in "--threads 1" "--threads 3 --set block-size=900" "--threads 2 --set block-size=20000"; do
	check "lines: $o" sh -c "'$kmerhash' classify -q --db dna --paired $o '$reads'/odd_[12].fq | cmp - paired.tsv"
done
gzip -c "$reads/odd_1.fq" >odd_1.fq.gz
classify --db dna --paired odd_1.fq.gz "$reads/odd_2.fq" >gz.tsv; same paired.tsv gz.tsv "lines: of .gz files"

# --- beside the program ----------------------------------------------------------------
classify --db dna --report ours.kreport --output - "$reads"/odd_[12].fq
check "report: a row for the unclassified, and root" [ "$(cut -f 4 ours.kreport | head -n 2 | tr '\n' ' ')" = "U R " ]
check "report: all fragments" [ "$(awk -F '\t' '{ n += $3 } END { print n }' ours.kreport)" = 120 ]
if command -v kraken2 >/dev/null; then
	case_of() {
		base=$1 options=$2; shift 2
		say "$base" $options "$@"
		kraken2 --db "./$base" $options "$@" 2>>kraken2.err
	}
	cases >theirs
	# versions before 2.14 know no cells of 40 bits
	for f in ours theirs; do awk '/^== / { on = $2 != "wide" } on' $f >$f.32; done
	same ours.32 theirs.32 "kraken2 here: the same lines"
	classify --db dna --report ours.kreport --output - "$data"/reads/tiny_sim_[12].fq.gz
	kraken2 --db ./dna --report theirs.kreport --output - --gzip-compressed "$data"/reads/tiny_sim_[12].fq.gz 2>.err
	# ranks are letters of their own in older versions
	for f in ours theirs; do cut -f 1-3,5- $f.kreport | sort >$f.rows; done
	same ours.rows theirs.rows "kraken2 here: the same rows of a report"
	for o in --use-mpa-style --report-zero-counts; do
		classify --db dna $(ours "$o") --report ours.kreport --output - "$reads/odd.fa"
		kraken2 --db ./dna $o --report theirs.kreport --output - "$reads/odd.fa" 2>.err
		[ $o = --use-mpa-style ] && fields=1- || fields=1-3,5-
		for f in ours theirs; do cut -f $fields $f.kreport | sort >$f.rows; done
		same ours.rows theirs.rows "kraken2 here: the same rows with $o"
	done
	for p in "" theirs_; do
		set -- --db ./dna --paired --minimum-base-quality 20 --classified-out ${p}c#.fq \
			--unclassified-out ${p}u#.fq --output - "$reads"/odd_[12].fq
		if [ "$p" ]; then kraken2 "$@" 2>.err; else classify $(ours "$@"); fi
	done
	for f in c_1 c_2 u_1 u_2; do same $f.fq theirs_$f.fq "kraken2 here: reads to $f.fq"; done
	zcat "$data"/reads/tiny_sim_1.fq.gz >many.fq
	classify --db dna many.fq >ours.tsv; kraken2 --db ./dna many.fq >theirs.tsv 2>.err
	same ours.tsv theirs.tsv "kraken2 here: more reads"
else
	skip "kraken2 here" "kraken2 is not installed"
fi

# --- options -----------------------------------------------------------------------------
expect 0 "" "verify: a sound one" "$kmerhash" verify dna
expect 2 "need a database that kmerhash has built" "no --sample-pass" classify --db dna --sample-pass --output - "$reads/odd.fa"
expect 2 "need a database that kmerhash has built" "no --profile" classify --db dna --profile p --output - "$reads/odd.fa"
expect 2 "reads can be classified, and nothing else" "no inspect" "$kmerhash" inspect dna
check "inspect --find: a taxon, whose genomes it does not know" sh -c '"$1" inspect --find Root dna | grep -qx "1	no rank	root	-	-	-"' - "$kmerhash"
expect 2 "both the database and an output" "an output that is the table" classify --db dna --output dna/hash.k2d "$reads/odd.fa"
check "--json, --html" classify --db dna --json j.json --html p.html --output - "$reads/odd.fa"
classify --db dna --extract 10239 --classified-out x.fa --output - "$reads/odd.fa"
base=$(sed -n 2p "$reads/odd.fa")
printf '>a some  words\t\n%.40s  \r\n\n%s\n' "$base" "$(echo "$base" | cut -c 41-)" >lines.fa
classify --db dna --unclassified-out u.fa --output - lines.fa
check "a read in one line" [ "$(cat u.fa)" = ">a some  words
$base" ]
check "--extract" [ "$(grep -c '^>' x.fa)" = "$(awk '$1 == "C" && $3 != 1' dna.tsv | wc -l)" ]

# --- called as kraken2 --------------------------------------------------------------------
rm -f o.tsv; mkdir bin; ln -s "$real" bin/kraken2; mkdir dbs; mv few dbs
front() { bin/kraken2 "$@" 2>front.err; }
front --db dna --paired --output o.tsv --report o.kreport "$reads"/odd_[12].fq
same paired.tsv o.tsv "called as kraken2: lines"
classify --db dna --set mpa-style --output - --report mpa.kreport "$reads/odd.fa"
check "--use-mpa-style and --report-minimizer-data" front --db dna --use-mpa-style --report-minimizer-data \
	--output - --report o.mpa "$reads/odd.fa"
same mpa.kreport o.mpa "called as kraken2: without minimizers in the style of MetaPhlAn"
check "called as kraken2: what it says" grep -q '^  [0-9]* sequences unclassified (' front.err
front -db ./dna --gzip-compressed --conf 0.2 --minimum-hit-groups=3 --use-names --fastq-input "$reads/odd.fa" >o.tsv
classify --db dna --confidence 0.2 --set minimum-hit-groups=3 --use-names "$reads/odd.fa" >want.tsv
same want.tsv o.tsv "called as kraken2: options"
KRAKEN2_DB_PATH=nowhere:dbs KRAKEN2_NUM_THREADS=2 front --db few "$reads/odd.fa" >o.tsv
classify --db dbs/few "$reads/odd.fa" >want.tsv; same want.tsv o.tsv "called as kraken2: KRAKEN2_DB_PATH"
KRAKEN2_DEFAULT_DB=dbs/few front "$reads/odd.fa" >o.tsv; same want.tsv o.tsv "called as kraken2: KRAKEN2_DEFAULT_DB"
front --db dna --no-such-option "$reads/odd.fa" >o.tsv; same dna.tsv o.tsv "called as kraken2: an unknown option"
check "called as kraken2: a word about it" grep -q no-such-option front.err
if command -v bzip2 >/dev/null; then
	bzip2 -c "$reads/odd.fa" >odd.fa.bz2
	front --db dna odd.fa.bz2 >o.tsv; same dna.tsv o.tsv "called as kraken2: bzip2"
	head -c 2000 odd.fa.bz2 >cut.fa.bz2
	expect 1 "cut.fa.bz2: bzip2 cannot read it to its end" "called as kraken2: half a file" bin/kraken2 --db dna --output o.tsv cut.fa.bz2
else
	skip "called as kraken2: bzip2" "bzip2 is not installed"
fi
# As pipelines call it: with the folder of the link in front of PATH.
ln -s "$real" bin/k2; mkdir other run
printf '#!/bin/sh\necho "$@": by the other k2\n' >other/k2; chmod +x other/k2
for m in 1 2; do gzip -c "$reads/odd_$m.fq" >run/s_$m.fastq.gz; done
(cd run; PATH=$t/bin:$t/other:$PATH
	kraken2 --db ../dna --threads 2 --report s.report.txt --gzip-compressed --unclassified-out s.unclassified#.fastq \
		--classified-out s.classified#.fastq --output s.reads.txt --paired s_1.fastq.gz s_2.fastq.gz 2>../front.err
	kraken2 --db ../dna --threads 2 --report alone.report.txt --gzip-compressed --output /dev/null s_1.fastq.gz 2>>../front.err
	k2 classify --db ../dna --threads 2 --paired --report k2.report.txt --output k2.txt --classified-out k2.c#.fastq \
		--unclassified-out k2.u#.fastq --confidence 0 s_1.fastq.gz s_2.fastq.gz 2>>../front.err
	cd ..; KRAKEN2_DB_PATH=dbs k2 classify --db dna --interleaved --log k2.log both.fq 2>>front.err >o.tsv
	k2 build --db x >built)
same paired.tsv run/s.reads.txt "a pipeline's kraken2: lines"
same paired.tsv run/k2.txt "a pipeline's k2: lines"
same run/s.report.txt run/k2.report.txt "a pipeline's k2: the report"
for m in 1 2; do
	same run/s.classified_$m.fastq run/k2.c_$m.fastq "a pipeline's k2: classified reads $m"
	same run/s.unclassified_$m.fastq run/k2.u_$m.fastq "a pipeline's k2: unclassified reads $m"
done
check "a pipeline's kraken2: a report without lines" [ -s run/alone.report.txt ]
same paired.tsv o.tsv "called as k2: mates in one file, and a database here"
check "called as k2: another command" grep -qx 'build --db x: by the other k2' built
expect 1 "no other k2 in PATH" "called as k2: no other one" env PATH="$t/bin" k2 build
check "called as kraken2: --version" [ "$(echo $(front --version) | sed 's/^.*Kraken version //; s/ .*$//')" = 2.17.1 ]
expect 64 "Need to specify input filenames" "called as kraken2: no reads" bin/kraken2 --db dna
expect 1 "unable to find the database" "called as kraken2: no such database" bin/kraken2 --db nothing "$reads/odd.fa"
# a database of kmerhash's own
build --db own.khdb "$data"/genomes/*.gz; classify --db own.khdb "$reads/odd.fa" >own.tsv
for db in own.khdb ./own.khdb; do front --db $db "$reads/odd.fa" >o.tsv; same own.tsv o.tsv "called as kraken2: $db"; done
check "called as kraken2: $db: no warning" sh -c '! grep warning front.err'
KRAKEN2_DB_PATH=dbs front --db own.khdb --minimum-hit-groups 3 --confidence 0.2 "$reads/odd.fa" >o.tsv
check "called as kraken2: own.khdb: an option without meaning" grep -q "own.khdb is not Kraken 2's, so --minimum-hit-groups is ignored" front.err
check "called as kraken2: own.khdb: an option of another meaning" grep -q "so --confidence is the share of a read's 12-mers" front.err
classify --db own.khdb --confidence 0.2 "$reads/odd.fa" >own.tsv; same own.tsv o.tsv "called as kraken2: own.khdb: options"
front --db dna --minimum-hit-groups 3 --confidence 0.2 "$reads/odd.fa" >o.tsv
check "called as kraken2: Kraken 2's: no warning" sh -c '! grep warning front.err'
expect 1 "even number" "called as kraken2: one file of two" bin/kraken2 --db dna --paired "$reads/odd.fa"

# --- bad folders --------------------------------------------------------------------------
rm -f o.tsv
bad() { # NAME PATTERN COMMAND...: done in a copy of the database
	name=$1 pattern=$2; shift 2
	rm -rf bad; cp -r dna bad; (cd bad && "$@") 2>.err
	expect 1 "$pattern" "bad: $name" classify --db bad --output o.tsv "$reads/odd.fa"
	nothing_left "bad: $name" o.tsv
}
poke() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }
cut_off() { head -c "$2" "$1" >part && mv part "$1"; }
for f in hash taxo opts; do bad "no $f.k2d" "$f.k2d: No such file" rm $f.k2d; done
bad "an empty table" "hash.k2d: 0 bytes" cut_off hash.k2d 0
bad "half a table" "a table of 90000 cells" cut_off hash.k2d 100000
bad "a table that is too long" "a table of 90000 cells" sh -c 'echo >>hash.k2d'
bad "no cells" "a table of 0 cells" poke hash.k2d 0 '\0\0\0\0\0\0\0\0'
bad "bits of cells" "keys of 26 bits and values of 7" poke hash.k2d 24 '\7'
bad "a taxon beyond the taxonomy" "cell 90 has taxon 63" sh -c 'printf "\377\377\377\377" | dd of=hash.k2d bs=1 seek=392 conv=notrunc'
bad "no taxonomy" "this is no taxonomy" poke taxo.k2d 0 x
bad "half a taxonomy" "are said to be there" cut_off taxo.k2d 2000
bad "a parent below its child" "parent 99 cannot be" poke taxo.k2d 312 '\143'
bad "children that are not there" "children" poke taxo.k2d 104 '\11'
bad "a name beyond the names" "name at" poke taxo.k2d 224 '\377\377\377\377'
bad "no options" "opts.k2d: 0 bytes" cut_off opts.k2d 0
bad "another version" "a database of version 1" poke opts.k2d 52 '\1'
bad "minimizers that are too long" "minimizers of 32 characters" poke opts.k2d 8 ' '
bad "k below l" "k-mers of 30 characters" poke opts.k2d 0 '\36'
plan
