# run_bracken.sh - the tables for Bracken: the bytes that its own programs would make of our calls,
# from the references that the database was made of and no others; and what est_abundance's rules
# make of a report with them; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"

[ -n "${PYTHON3:-}" ] && [ "$PYTHON3" != : ] || { echo "1..0 # SKIP no python3"; exit 0; }
oracle() { "$PYTHON3" "$tests/oracle_bracken.py" "$@"; }
distrib() { "$kmerhash" bracken-distrib -q ${KH_DEVICE:+--device $KH_DEVICE} "$@"; }
index() { "$kmerhash" build -q --taxonomy w/taxonomy -m w/map "$@"; }

check "made-up references" oracle world w
check "a database" index --db w/s.khdb w/a.fa w/b.fa
check "one of windows" index --db m.khdb --set scheme=minhash --set stride=64 w/a.fa w/b.fa
# tables DB LENGTH STEP OPTIONS...: the oracle's, in the file want
tables() {
	db=$1; length=$2; step=$3; shift 3
	oracle nmers $length $step w/a.fa w/b.fa >nmers.fa
	classify --db $db "$@" nmers.fa | oracle distrib w/map >want
}
for of in "30 1" "100 1" "1200 7" "50 11" "300 17"; do
	tables w/s.khdb $of
	check "N and step $of" distrib --db w --outdir out --read-length ${of% *} --step ${of#* } w/a.fa w/b.fa
	same want out/database${of% *}mers.kmer_distrib "N and step $of: the same as by lines"
done
check "it has a line of unclassified ones" grep -q '^0	' out/database30mers.kmer_distrib
check "and one above genera" grep -q '^10	' out/database100mers.kmer_distrib
tables m.khdb 100 5
check "windows" distrib --db m.khdb --outdir out --read-length 100 --step 5 w/a.fa w/b.fa
same want out/database100mers.kmer_distrib "windows: the same as by lines"
mkdir over; cp w/b.fa over/database100mers.kmer_distrib
expect 2 "both a reference and an output" "a table over a reference" distrib --db w/s.khdb --outdir over --read-length 100 \
	w/a.fa over/database100mers.kmer_distrib
same w/b.fa over/database100mers.kmer_distrib "a table over a reference: it is untouched"
cp w/s.khdb over/database100mers.kmer_distrib
expect 2 "both the database and an output" "a table over the database" distrib --db over/database100mers.kmer_distrib --read-length 100 \
	w/a.fa w/b.fa
same w/s.khdb over/database100mers.kmer_distrib "a table over the database: it is untouched"
tables w/s.khdb 75 1 --confidence 0.4
check "other options of classify" distrib --db w -l 75 -O out --confidence 0.4 w/a.fa w/b.fa
same want out/database75mers.kmer_distrib "other options of classify: the same as by lines"

# all lengths at once, in the database's folder; whatever the threads, blocks and compression
check "by default" distrib --db w w/a.fa w/b.fa
check "by default: seven tables" test "$(ls w | grep -c 'database.*mers.kmer_distrib')" -eq 7
tables w/s.khdb 100 1; same want w/database100mers.kmer_distrib "by default: N = 100"
gzip -c w/a.fa >a.fa.gz; printf 'a.fa.gz\nw/b.fa\n' >list
for threads in 1 3; do
	for block in 100 1000; do
		check "$threads threads, blocks of $block" distrib --db w -O few --threads $threads --set block-size=$block --list list
		check "$threads threads, blocks of $block: the same" sh -c 'for f in few/*; do cmp $f w/${f#few/} || exit 1; done'
	done
done
check "references from a pipe" sh -c 'cat w/a.fa w/b.fa | "$1" bracken-distrib -q --db w -l 100 -O piped -' - "$kmerhash"
same w/database100mers.kmer_distrib piped/database100mers.kmer_distrib "references from a pipe: the same"
check "the other way round" distrib --db w -l 100 -O other w/b.fa w/a.fa
check "the other way round: the same numbers" sh -c '
	numbers() { awk "NR > 1 { for (i = 2; i <= NF; i++) print \$1, \$i }" "$1" | sort; }
	test "$(numbers w/database100mers.kmer_distrib)" = "$(numbers other/database100mers.kmer_distrib)"'

# one id several times
sed 's/^>s22\../>s22.1/' w/a.fa >twice.fa
"$kmerhash" build -q --taxonomy w/taxonomy -m w/map --max-unmapped 1 --set allow-duplicates --db twice.khdb twice.fa 2>/dev/null
check "sequences of one id" distrib --db twice.khdb -l 100 -O twice twice.fa
check "sequences of one id: counted" grep -q ' 22:\|	22:' twice/database100mers.kmer_distrib
expect 1 "twice.fa: sequence 's22.1' occurs more often" "sequences of one id, once more" \
	distrib --db twice.khdb -l 100 -O none twice.fa twice.fa

# --- other references than those of the database -------------------------------------------
expect 1 "[0-9]+ sequences of the database are not among the references given, of these first 's2" \
	"a file is missing" distrib --db w -O none w/a.fa
cat >cpu.py <<'EOF'
import os, resource, subprocess, sys
subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL)
print(int(1000 * sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])))
EOF
gzip -dc "$data"/genomes/*.gz >all.fa; awk '/^>/ { n++ } n < 6' all.fa >five.fa
build --db all.khdb all.fa
# All lengths of all genomes but the last: as much work as with it, if that is found out last.
if [ -n "${PYTHON3:-}" ]; then
	all=$(python cpu.py "$real" bracken-distrib -q --device cpu --threads 1 --db all.khdb -O tables all.fa)
	less=$(python cpu.py "$real" bracken-distrib -q --device cpu --threads 1 --db all.khdb -O none five.fa)
	check "what is missing is found before the work: $less of $all ms" test $((4 * less)) -lt "$all"
else skip "what is missing is found before the work" "no python3"; fi
expect 0 "[0-9]+ sequences, [0-9]+ N-mers of 1 length, " "one length" "$kmerhash" bracken-distrib --db all.khdb -O tables -l 100 --step 50 all.fa
expect 1 "1 sequence of the database is not among the references given" "a stream in which one is missing" sh -c '"$1" bracken-distrib -q --db all.khdb -O none -l 100 --step 50 - <five.fa' - "$kmerhash"
sed 's/^>s31.1/>s31.9/' w/b.fa >c.fa; sed 's/^>s31.1/>s31.9/' w/a.fa >d.fa
expect 1 "sequence 's31.9' is not in the database" "another sequence" distrib --db w -O none d.fa c.fa
expect 1 "occurs more often" "a file twice" distrib --db w -O none w/a.fa w/a.fa w/b.fa
awk 'NR == 2 { sub(/./, substr($0, 1, 1) == "A" ? "C" : "A") } 1' w/a.fa >c.fa
expect 1 "sequence 's22.0' has not the bases" "another base" distrib --db w -O none c.fa w/b.fa
awk 'NR == 2 { $0 = $0 "A" } 1' w/a.fa >c.fa
expect 1 "sequence 's22.0' has 61 bases, and 60" "a base more" distrib --db w -O none c.fa w/b.fa
printf '@r\nACGT\n+\nIIII\n' >r.fq
expect 1 "r.fq" "reads" distrib --db w -O none r.fq
expect 1 "missing.fa: No such file" "no such file" distrib --db w -O none missing.fa
nothing_left "failures" none/database100mers.kmer_distrib none/database50mers.kmer_distrib
expect 2 "no references are named" "no references" distrib --db w
expect 2 "from 2 to" "a length that is none" distrib --db w -l 100,x w/a.fa
expect 2 "from 2 to" "an empty length" distrib --db w -l 100, w/a.fa
expect 2 "100 is named twice" "a length twice" distrib --db w -l 100,50,100 w/a.fa
expect 2 "5 is less than a k-mer" "a length below k" distrib --db w -l 5 -O none w/a.fa w/b.fa
mkdir k2; : >k2/taxo.k2d
expect 2 "k2 is a database of Kraken 2: bracken-build" "a database of Kraken 2" "$kmerhash" bracken-distrib --db k2 w/a.fa
expect 2 "db FILE is needed" "no database" env -u KMERHASH_DB "$kmerhash" bracken-distrib w/a.fa
cp w/a.fa database50mers.kmer_distrib
expect 2 "is both" "a table over a reference" distrib --db w -l 50 -O . database50mers.kmer_distrib w/b.fa
same w/a.fa database50mers.kmer_distrib "a table over a reference: it is untouched"

# --- what Bracken makes of a report with them -----------------------------------------------
check "a sample" classify --db w --output - --report r.kreport w/reads.fq
check "its estimate" sh -c '"$0" "$1" estimate r.kreport w/database100mers.kmer_distrib S 10 >estimate' "$PYTHON3" "$tests/oracle_bracken.py"
# within a tenth of all reads in sum, which the report's own numbers are far from
off() { # COLUMN
	awk -v c=$1 'NR == FNR { truth[$1] = $2; all += $2; next } FNR > 1 {
		d = $(NF - 6 + c) - truth[$(NF - 5)]; sum += d < 0 ? -d : d } END { print sum / all }' w/truth estimate
}
check "its estimate is near the truth" sh -c 'awk "BEGIN { exit !($1 < 0.1) }"' - "$(off 5)"
# KH_READERS=DIR: Bracken's est_abundance.py is in DIR/NAME/bin
for d in ${KH_READERS:+"$KH_READERS"/*/bin}; do PATH=$PATH:$d; done
if bracken=$(command -v est_abundance.py); then
	check "Bracken" python "$bracken" -i r.kreport -k w/database100mers.kmer_distrib -o theirs -l S -t 10
	# its fractions come from numbers that are not rounded
	rows() { tail -n +2 "$1" | cut -f 1-6 | sort; }
	rows theirs >a; rows estimate >b; same a b "Bracken: the same estimate"
else
	skip "Bracken" "no est_abundance.py here"
fi
check "the report alone is not" sh -c 'awk "BEGIN { exit !($1 > 0.3) }"' - "$(off 3)"
check "of genera" oracle estimate r.kreport w/database100mers.kmer_distrib G 10
check "of strains" oracle estimate r.kreport w/database100mers.kmer_distrib S1 10
classify --db w --output - --report r8.kreport --set distinct w/reads.fq
check "of 8 columns" sh -c 'cut -f 1-3,6-8 r8.kreport | cmp - r.kreport'
plan
