# run_mpi_classify.sh - classify by several processes: the bytes that one makes, and errors that all
# processes end with; speaks TAP
build=$PWD
. "$KH_SRCDIR/tests/mpi.sh"
export SOURCE_DATE_EPOCH=86400  # what a page says of today

build --db a.khdb "$data"/genomes/*.gz
build --db b.khdb "$data"/genomes/*T[37]*.gz
gzip -dc "$data/reads/tiny_sim_1.fq.gz" "$data/reads/sarscov2_real_1.fq.gz" >1.fq
gzip -dc "$data/reads/tiny_sim_2.fq.gz" "$data/reads/sarscov2_real_2.fq.gz" >2.fq
gzip -c 2.fq >2.fq.gz
paste - - - - <1.fq >1.tab; paste - - - - <2.fq >2.tab
paste -d '\n' 1.tab 2.tab | tr '\t' '\n' >both.fq
# Reads of whole genomes and of pieces of them, longer and shorter than a segment; empty ones.
gzip -dc "$data"/genomes/*.gz >long.fa
awk '!/^>/ { s = s $0 }
	END { for (i = 0; i < 60; i++) printf ">r%d\n%s\n", i, substr(s, 1 + 1999 * i, 157 * (i % 13)) }' \
	long.fa >pieces.fa; sed '/^>/!s/.$//' pieces.fa >pieces2.fa
cat pieces.fa >>long.fa

# --- equal bytes ----------------------------------------------------------------------------
run_in() {
	folder=$1; shift
	rm -rf "$folder"; mkdir "$folder"
	(cd "$folder" && "$@" -d ../a.khdb --json json >lines) 2>.err || return
	sed '/"run"/,$d' "$folder/json" >.json; mv .json "$folder/json"
	[ ! -e "$folder/html" ] || sed -i 's/"label":"Command","value":"[^"]*"//' "$folder/html"
}
# compare NAME "RANKS..." OPTIONS...: what one process makes, by so many
compare() {
	name=$1; sizes=$2; shift 2
	run_in want "$kmerhash" classify -q "$@" || { not_ok "$name: by one process"; return; }
	for size in $sizes; do
		if few_gpus "$size"; then skip "$name: $size processes" "not so many GPUs"; continue; fi
		if run_in got processes_apart "$size" "$real" classify $device -q -p 2 "$@" && diff -r want got >.err 2>&1; then
			ok "$name: $size processes"
		else not_ok "$name: $size processes"; fi
	done
}
compare "single" "2 3 4" --set block-size=20K --use-names -r report ../1.fq
compare "pairs, .gz in and out, reads out" "3" --set block-size=20K -P -r report -o o.tsv.gz -C 'c#.fq' -U 'u#.fq.gz' \
	../1.fq ../2.fq.gz
compare "interleaved, distinct features" "3" --set block-size=20K -i --set distinct -r report ../both.fq
compare "long reads, confidence" "3" --set block-size=5K -c 0.1 --set distinct -r report ../long.fa
compare "second-best, long reads" "3" --set block-size=5K --set second-best --set lineage-column ../long.fa
compare "second-best, pairs" "2" --set block-size=20K --set second-best -P ../1.fq ../2.fq
compare "long pairs" "4" --set block-size=3K -P --set no-mate-check -U 'u.fa' ../pieces.fa ../pieces2.fa
for i in 1 2 3 4 5 6 7 8 9 10; do cat 1.fq; done >ten_1.fq
for i in 1 2 3 4 5 6 7 8 9 10; do cat 2.fq; done >ten_2.fq
compare "sample pass and profile" "2 3" --set block-size=20K -P --sample-pass --profile p.tsv --html html -r report -C 'c#.fq' \
	../ten_1.fq ../ten_2.fq
compare "sample pass and profile of long reads" "3" --set block-size=5K --sample-pass --profile p.tsv --html html ../long.fa
compare "no reads" "3" -r report --set distinct /dev/null

expect 2 "made by one process, not by 2" "build" processes 2 "$real" build -q --db x.khdb --taxonomy "$data/taxonomy" "$data"/genomes/*.gz
nothing_left "build" x.khdb
expect 2 "and one process" "alignments" processes 2 "$real" classify -q -p 2 -d a.khdb -o - --paf a.paf 1.fq

# --- faults ----------------------------------------------------------------------------------------
# Reads for ever, by a FIFO: a run that is in the midst of it.  pid of process N to .pidN, mpirun's to .mpirun
start() {
	rm -f in .pid*; mkfifo in; : >.log
	while :; do cat 1.fq || exit; done >in 2>/dev/null & feeder=$!
	timeout -k 5 "$seconds" mpirun $patience -n 3 sh -c 'echo $$ >.pid$OMPI_COMM_WORLD_RANK; exec "$@"' sh \
		"$real" classify --device cpu -v -p 1 -d a.khdb -r r -o o.tsv "$@" in >.out 2>.log & run=$!
	until_true begun
	sleep 0.5
}
begun() { [ "$(grep -c 'of the index on' .log)" -eq 3 ]; }
# finish NAME: ends with an error, in good time, and leaves nothing
finish() {
	wait $run; status=$?
	kill $feeder 2>/dev/null; wait $feeder 2>/dev/null
	cp .log .err
	if [ $status -ne 0 ] && [ $status -ne 124 ]; then ok "$1: all end"; else not_ok "$1: status $status"; fi
	until_true left r o.tsv; nothing_left "$1" r o.tsv
}
named() { if grep -Eq -e "$1" .log; then ok "$2"; else cp .log .err; not_ok "$2"; fi; }
patience=$patient
start
patience=
kill -KILL "$(cat .pid1)"
finish "a process is killed"
named "rank 1 .*(signal 9|Killed)|process 1 (failed|does not)" "a process is killed: it is named"
KH_COMM_TIMEOUT=4; export KH_COMM_TIMEOUT
start
kill -STOP "$(cat .pid2)"
finish "a process stops answering"
named "process 2 does not answer: nothing heard of it for 4 s" "a process stops answering: it is named"
kill -KILL "$(cat .pid2)" 2>/dev/null
# Here mpirun does nothing about it, and may end with status 0: the others must find out.  (What process 0 has
# begun is left then, under no name of its own.)
patience="--mca orte_enable_recovery 1"
for r in 1 0; do
	what="process $r is killed, and mpirun lets the others be"
	start
	kill -KILL "$(cat .pid$r)"
	wait $run; status=$?
	kill $feeder 2>/dev/null; wait $feeder 2>/dev/null
	check "$what: all end" test $status -ne 124 -a $status -ne 137
	named "process $r does not answer: nothing heard of it for 4 s" "$what: it is named"
	check "$what: no output" test ! -e r -a ! -e o.tsv
	[ $r -eq 0 ] || nothing_left "$what" r o.tsv
	rm -f .r.*.tmp .o.tsv.*.tmp
done
patience=
unset KH_COMM_TIMEOUT

# one_db_each OPTIONS...: the database of process N is N.khdb
one_db_each() { processes 3 sh -c 'exec "$@" -d $OMPI_COMM_WORLD_RANK.khdb' sh "$real" classify --device cpu -q \
	-p 1 -r r -o o.tsv "$@" 1.fq; }
cp a.khdb 0.khdb; cp a.khdb 1.khdb; cp b.khdb 2.khdb
expect 1 "process 2 has another database than process 0 \(digest" "another database" one_db_each
rm 2.khdb
expect 1 "process 2 failed: 2.khdb: No such file" "a database that is not there" one_db_each
cp a.khdb 2.khdb; printf x | dd of=2.khdb bs=1 seek=5000 conv=notrunc 2>/dev/null
expect 1 "process 2 failed: 2.khdb: damaged" "a damaged database" one_db_each
cp a.khdb 2.khdb
expect 0 "" "copies of one database" one_db_each
expect 2 "process 1 was started with other options than process 0" "other options" processes 2 sh -c \
	'exec "$@" -d $OMPI_COMM_WORLD_RANK.khdb -c 0.$OMPI_COMM_WORLD_RANK' sh "$real" classify --device cpu -q -o o.tsv 1.fq
rm -f r o.tsv
expect 2 "none of auto, replicate, shard, host and host-lists" "a wrong placement" "$kmerhash" classify -d a.khdb --set placement=all 1.fq
expect 2 "several processes cannot read standard input" "standard input" processes 2 "$real" classify $device -q -d a.khdb - <1.fq
mkfifo pipe; cat 1.fq >pipe & expect 0 "" "a FIFO" processes 2 "$real" classify $device -q -d a.khdb -o o.tsv pipe; rm o.tsv
expect 2 "several processes cannot read standard input" "/dev/stdin" processes 2 "$real" classify $device -q -d a.khdb /dev/stdin </dev/zero
expect 0 "" "one process: no effect" "$kmerhash" classify -q -d a.khdb --set placement=shard -o - 1.fq
head -c 3000 2.fq.gz >cut.fq.gz
expect 1 "process 0 failed: cut.fq.gz: .*cut off" "an input that is cut off" processes 3 "$real" classify $device -q -p 2 \
	-d a.khdb -r r -o o.tsv cut.fq.gz
nothing_left "an input that is cut off" r o.tsv
expect 1 "process 0 failed: .*No space left" "an output that is full" processes 3 "$real" classify $device -q -p 2 -d a.khdb \
	-r r -o /dev/full 1.fq
nothing_left "an output that is full" r
# Translated seeds are looked at where the reads are.
if [ -n "$PYTHON3" ] && "$PYTHON3" "$tests/make_genes.py" world; then
	check "translated seeds: build" "$real" build -q --device cpu --translated -d t.khdb -t world/taxonomy world/refs.fa
	check "translated seeds: one process" "$real" classify $device -q -d t.khdb -o one.tsv --paired world/pairs_1.fq world/pairs_2.fq
	check "translated seeds" processes 2 "$real" classify $device -q -p 2 -d t.khdb -o o.tsv --paired world/pairs_1.fq world/pairs_2.fq
	same one.tsv o.tsv "translated seeds: the same lines"
else skip "translated seeds" "no python3"; fi
plan
