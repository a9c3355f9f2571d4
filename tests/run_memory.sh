# run_memory.sh - less memory than a command would take: features go to disk by themselves, or the
# message says what is needed and what is there; speaks TAP
lib=${KH_PRELOAD:-$PWD/tests/preload_fail.so}
. "$KH_SRCDIR/tests/tap.sh"

own_space || { echo "1..0 # SKIP a limit of address space does not suit this build"; exit 0; }
# The limits are for a program that maps 9000 KiB; one that maps more gets so much more.
limited() { (ulimit -v $(($1 + own - 9000)); shift; exec timeout "$seconds" "$@"); }

# 16 million bases at random: 39 MB of features.
awk 'BEGIN {
	srand(7); split("A C G T", base, " ")
	for (i = 0; i < 4096; i++) { s = ""; for (j = 0; j < 50; j++) s = s base[1 + int(4 * rand())]; piece[i] = s }
	for (i = 0; i < 16; i++) {
		printf ">s%d kraken:taxid|10710\n", i
		for (j = 0; j < 20000; j++) print piece[int(4096 * rand())]
	}
}' >refs.fa
tax="--taxonomy $data/taxonomy"
sized() { "$@" -p 2 -k 18 $tax refs.fa; }
check "a database" sized "$real" build -q --db a.khdb

# --- build -----------------------------------------------------------------------------------
for v in 200000 100000 74000; do
	expect 0 "" "build in $v KiB of address space" sized limited $v "$real" build --db b.khdb
	same a.khdb b.khdb "build in $v KiB of address space: the same bytes"
	rm -f b.khdb
done
expect 0 "of features, and .* MB of memory are left of its address space .ulimit -v.: what does not fit" \
	"build in 74000 KiB: says that features go to disk" sized limited 74000 "$real" build --db b.khdb
rm -f b.khdb
expect 1 "needs about [0-9.]+ [MG]B of memory even if all features go to disk, and [0-9.]+ MB are left of its address space" \
	"build in 45000 KiB: both numbers" sized limited 45000 "$real" build -q --db b.khdb
nothing_left "build in 45000 KiB" b.khdb
if [ -f "$lib" ]; then
	expect 1 "out of memory.*its address space is limited .ulimit -v." "memory that is not there after all: the limit" \
		sized limited 200000 env KH_FAIL=alloc:150 LD_PRELOAD="$lib" "$real" build -q --db b.khdb
	nothing_left "memory that is not there after all" b.khdb
else skip "memory that is not there after all" "no preload library in this build"; fi
expect 1 "needs about [0-9.]+ [MG]B" "build with blocks that are too large" \
	sized limited 200000 "$real" build -q --set block-size=64M --db b.khdb
cat refs.fa >in.fifo.fa; mkfifo in.fifo
feed_fifo() { timeout "$seconds" sh -c 'cat refs.fa >in.fifo' & limited 74000 "$real" build -q --db b.khdb -p 2 -k 18 $tax in.fifo; }
expect 0 "" "build from a pipe, of unknown size, in 74000 KiB" feed_fifo
wait
same a.khdb b.khdb "build from a pipe in 74000 KiB: the same bytes"

# --- classify -----------------------------------------------------------------------------------
gzip -dc "$data/reads/tiny_sim_1.fq.gz" >1.fq
expect 1 "the reads need about [0-9.]+ [MG]B of memory.* [0-9.]+ MB are left" "classify with blocks that are too large" limited 400000 \
	"$real" classify -q --device cpu -p 4 --set block-size=64M --db a.khdb --output o.tsv 1.fq
cp a.khdb big.khdb; truncate -s 2G big.khdb
printf "sample\treads1\na\t1.fq\nb\t1.fq\n" >sheet.tsv
expect 1 "the reads need about [0-9.]+ [MG]B of memory" "classify --samples with blocks that are too large" limited 400000 \
	"$real" classify -q --device cpu -p 4 --set block-size=64M --db a.khdb --samples sheet.tsv --outdir out
expect 1 "big.khdb: 2.1 GB to be mapped, and [0-9.]+ MB are left of the address space" "classify, a database that does not fit into the address space" \
	limited 400000 "$real" classify -q --device cpu -p 1 --db big.khdb --output o.tsv 1.fq
nothing_left "classify" o.tsv
for command in inspect verify; do
	expect 1 "big.khdb: 2.1 GB to be mapped, and [0-9.]+ MB are left" "$command, a database that does not fit" \
		limited 400000 "$real" $command -p 1 big.khdb
done
plan
