# run_identical.sh - the same bytes whatever the threads, blocks, compression, partition,
# memory and device (the first run of each is on the CPU); speaks TAP
. "$KH_SRCDIR/tests/tap.sh"

mkdir in
for f in "$data"/genomes/*.gz "$data"/reads/*.fq.gz; do
	cp "$f" in/ && gzip -dc "$f" >"in/$(basename "$f" .gz)"
done
genomes=$(echo in/*.fa); genomes_gz=$(echo in/*.fa.gz)
cat in/*.fa >all.fa
cat in/*.fa.gz >all.fa.gz               # several gzip members
awk '/^>/ { printf "%s%s\n", (NR > 1 ? "\n" : ""), $0; next } { printf "%s", tolower($0) }' all.fa >long.fa

is_db() { what=$1; shift; check "$what: build" build "$@"; same ref.khdb x.khdb "$what"; rm -f x.khdb; }

# --- databases ------------------------------------------------------------------------
for scheme in syncmer minhash; do
	s="-k 18 --set scheme=$scheme"
	check "$scheme: build" build --db ref.khdb --threads 1 $s $genomes
	is_db "$scheme: 2 threads" --db x.khdb --threads 2 $s $genomes
	is_db "$scheme: gz" --db x.khdb $s $genomes_gz
	is_db "$scheme: one file" --db x.khdb $s all.fa
	is_db "$scheme: one file of several gzip members" --db x.khdb $s all.fa.gz
	is_db "$scheme: long lines, lower case, no newline at the end" --db x.khdb $s long.fa
	for block in 1 100 4099 64K 1M; do
		is_db "$scheme: blocks of $block" --db x.khdb --threads 2 --set block-size=$block $s all.fa
	done
	is_db "$scheme: blocks of 100, gz" --db x.khdb --threads 2 --set block-size=100 $s $genomes_gz
	is_db "$scheme: 1 byte of memory" --db x.khdb --threads 2 --memory 1 $s all.fa
	is_db "$scheme: 50K of memory, small blocks" --db x.khdb --threads 2 --memory 50K --set block-size=5000 $s all.fa
	mv ref.khdb $scheme.khdb
	s="--set scheme=$scheme --max-db-size 150K"
	check "$scheme, limited: build" build --db ref.khdb --threads 1 $s $genomes
	check "$scheme, limited: its size" test "$(wc -c <ref.khdb)" -le 153600 -a "$(wc -c <ref.khdb)" -ge 148000
	is_db "$scheme, limited: 2 threads, small blocks" --db x.khdb --threads 2 --set block-size=5000 $s all.fa
	is_db "$scheme, limited: gz" --db x.khdb $s $genomes_gz
	is_db "$scheme, limited: 1 byte of memory" --db x.khdb --memory 1 $s all.fa
	build --db x.khdb $s - <all.fa; same ref.khdb x.khdb "$scheme, limited: standard input"; rm -f x.khdb ref.khdb
done
check "limited, but not less than all: build" build --db x.khdb -k 18 --max-db-size 1M $genomes
check "limited, but not less than all" test "$("$kmerhash" inspect x.khdb | sed -n 's/^share of features	//p')" = 1.000000
expect 2 "an empty index need" "a limit too small" build --db x.khdb -k 18 --max-db-size 20K $genomes
rm -f x.khdb
check "no -k: build" build --db ref.khdb --threads 1 $genomes
is_db "no -k: gz, 2 threads" --db x.khdb --threads 2 $genomes_gz
export KH_GZ_TOGETHER=1         # by as few threads as this machine may have
is_db "no -k: gz, inflated together" --db x.khdb --threads 2 --set block-size=9000 $genomes_gz
is_db "no -k: the same, several gzip members" --db x.khdb --threads 2 --set block-size=9000 all.fa.gz
unset KH_GZ_TOGETHER
ln -s syncmer.khdb ref2.khdb; mv syncmer.khdb ref.khdb
build --db x.khdb -k 18 - <all.fa; same ref.khdb x.khdb "standard input"; rm -f x.khdb
build --db x.khdb -k 18 - <all.fa.gz; same ref.khdb x.khdb "standard input, gz"; rm -f x.khdb
mkfifo fifo; cat all.fa >fifo & build --db x.khdb -k 18 fifo; wait; same ref.khdb x.khdb "FIFO"; rm -f x.khdb
echo "$genomes" | tr ' ' '\n' >list
check "list of files: build" build --db x.khdb -k 18 --list list; same ref.khdb x.khdb "list of files"; rm -f x.khdb
tr '\n' '\0' <list >list0
expect 1 "list0:1: column [0-9]*: a NUL byte; expected names of files" "list of files that end in NUL" build --db x.khdb -k 18 --list list0
if command -v bgzip >/dev/null; then
	bgzip -c all.fa >all.bgz
	is_db "BGZF" --db x.khdb --threads 2 --set block-size=3000 -k 18 all.bgz
else skip "BGZF" "no bgzip"; fi

# --- calls -------------------------------------------------------------------------------
db=ref.khdb
# is_run NAME OPTION... READS: calls, report, reads out and summary as the first time
is_run() {
	what=$1; shift
	rm -f x.*
	check "$what" classify --db $db --output x.tsv --report x.kreport --json x.json \
		--set distinct --classified-out "x.c$s.fq" --unclassified-out "x.u$s.fq.gz" "$@"
	sed '/^  "run": {/,/^  }/d' x.json >x.counts 2>/dev/null
	check "$what: same bytes" same_files
}
same_files() {
	for f in ref.*; do
		case $f in *.json | *.khdb) ;; *) cmp "$f" "x${f#ref}" || return ;; esac
	done
}
first_run() {
	rm -f ref.[!k]*
	"$kmerhash" classify -q --db $db --output ref.tsv --report ref.kreport --json ref.json \
		--device cpu --threads 1 \
		--set distinct --classified-out "ref.c$s.fq" --unclassified-out "ref.u$s.fq.gz" "$@"
	sed '/^  "run": {/,/^  }/d' ref.json >ref.counts
}

r1=in/tiny_sim_1.fq r2=in/tiny_sim_2.fq
split -l 100 $r1 part_1.; split -l 100 $r2 part_2.
awk 'NR % 4 == 1 { getline a < o; getline b < o; getline c < o; getline d < o; m = a "\n" b "\n" c "\n" d }
     { print } NR % 4 == 0 { print m }' o=$r2 $r1 >inter.fq
variants() { # options, then plain files, then gz
	o=$1 plain=$2 gz=$3
	is_run "$o 2 threads" $o --threads 2 $plain
	is_run "$o gz" $o $gz
	for block in 1 100 64K 1M; do
		is_run "$o blocks of $block" $o --threads 2 --set block-size=$block $plain
	done
	is_run "$o blocks of 300, gz" $o --threads 2 --set block-size=300 $gz
	export KH_GZ_TOGETHER=1
	for threads in 1 2 8; do
		is_run "$o gz, inflated together, $threads threads" $o --threads $threads --set block-size=9000 $gz
	done
	unset KH_GZ_TOGETHER
}
s=; first_run $r1
check "single: some lines" test "$(wc -l <ref.tsv)" -eq 300
variants "" "$r1" "$r1.gz"
is_run "single: split" part_1.*
is_run "single: the index where it is mapped" --device cpu --set placement=host $r1
is_run "single: the index copied" --device cpu --set placement=replicate --threads 2 $r1
cp $r1 larger.fq
# More reads than the index has bytes: it may be copied.
while [ "$(wc -c <larger.fq)" -lt "$(wc -c <$db)" ]; do cat $r1 >>larger.fq; done
for where in host auto replicate; do
	"$kmerhash" classify -q --db $db --device cpu --threads 2 --set placement=$where --output $where.tsv larger.fq
done
check "more reads than index: the index where it is mapped" test -s host.tsv
check "more reads than index: the same bytes" cmp host.tsv auto.tsv
check "more reads than index: the same bytes of a copy" cmp host.tsv replicate.tsv
rm larger.fq host.tsv auto.tsv replicate.tsv
is_run "single: standard input" - <$r1
is_run "single: standard input, gz" --threads 2 - <$r1.gz
cat $r1 >fifo & is_run "single: FIFO" fifo; wait
export KH_GZ_TOGETHER=1
cat $r1.gz >fifo & is_run "single: FIFO, gz, inflated together" --threads 2 --set block-size=9000 fifo; wait
unset KH_GZ_TOGETHER
s=#; first_run --paired $r1 $r2
variants --paired "$r1 $r2" "$r1.gz $r2.gz"
is_run "pairs: one file plain, one gz" --paired --threads 2 --set block-size=1000 $r1 $r2.gz
is_run "pairs: split" --paired $(for p in part_1.*; do echo $p part_2.${p#part_1.}; done)
is_run "pairs: interleaved" --interleaved inter.fq
is_run "pairs: interleaved, blocks of 100" --interleaved --threads 2 --set block-size=100 inter.fq
is_run "pairs: interleaved, standard input" --interleaved - <inter.fq
# One writer of two FIFOs, which waits for the one to be read, or opened, while the other is; text
# of more than a pipe holds.
for i in 0 1 2 3 4 5 6 7 8 9; do cat inter.fq; done >inter10.fq
mkfifo fifo1 fifo2
two_fifos() { $limit awk '{ print >(int((NR - 1) / 4) % 2 ? "fifo2" : "fifo1") }' inter10.fq & }
first_run --interleaved inter10.fq
for threads in 1 2; do
	two_fifos; is_run "pairs: FIFOs of one writer, $threads threads" --paired --threads $threads fifo1 fifo2; wait
done
db=minhash.khdb
first_run --paired $r1 $r2
is_run "minhash: 2 threads, small blocks" --paired --threads 2 --set block-size=100 $r1.gz $r2.gz
# Lines on standard output, and no other output asked for.
"$kmerhash" classify -q --db $db --paired $r1 $r2 >x.tsv
same ref.tsv x.tsv "lines alone, on standard output"
"$kmerhash" classify -q --db $db --paired --output - --report x.kreport $r1 $r2 >x.none
same /dev/null x.none "--output -: no lines"
# A database by a symbolic link.
build --db plain.khdb "$data"/genomes/*.gz
ln -s linked.khdb link.khdb && build --db link.khdb "$data"/genomes/*.gz
same plain.khdb linked.khdb "a database written through a symbolic link"
check "the same sequences, another k: digest" sh -c '
	a=$("$1" inspect ref.khdb | grep ^digest); b=$("$1" inspect plain.khdb | grep ^digest); [ "$a" = "$b" ]' - "$kmerhash"

# --- alignments -----------------------------------------------------------------------------
if [ -n "${KH_DEVICE:-}" ]; then skip "alignments" "they are made on the CPU"; else
	classify --db ref.khdb --threads 1 --output o.tsv --paf one.paf --set identity --paired $r1 $r2
	classify --db ref.khdb --threads 3 --set block-size=900 --output x.tsv --paf x.paf.gz --set identity --paired $r1 $r2
	gzip -dc x.paf.gz >x.paf
	same one.paf x.paf "alignments: 3 threads, blocks of 900, gz"
	same o.tsv x.tsv "identity: 3 threads, blocks of 900"
fi
plan
