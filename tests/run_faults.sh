# run_faults.sh - the n-th call of a kind fails, is short or is interrupted: the run fails in
# one good line, or its result is as ever; speaks TAP.  KH_SLOW=1: every n, not a sample
here=$PWD
lib=${KH_PRELOAD:-$here/tests/preload_fail.so}
[ -f "$lib" ] || { echo "1..0 # SKIP no preload library in this build"; exit 0; }
. "$KH_SRCDIR/tests/tap.sh"

build --db a.khdb "$data"/genomes/*.gz
gzip -dc "$data/reads/tiny_sim_1.fq.gz" | head -n 400 >1.fq
gzip -dc "$data/reads/tiny_sim_2.fq.gz" | head -n 400 | gzip -c >2.fq.gz
mkdir want got
# On the CPU: what a GPU's libraries do when they get no memory is not ours.
run_build() { $limit "$@" "$real" build -q --threads 1 -k 16 --memory 100K --db "$d/x.khdb" --taxonomy "$data/taxonomy" \
	-a "$data/taxonomy/accession2taxid.tsv" "$data"/genomes/*.gz; }
run_plain() { $limit "$@" "$real" classify -q --device cpu --threads 1 --db a.khdb --output "$d/o.tsv" 1.fq; }
run_classify() { $limit "$@" "$real" classify -q --device cpu --threads 1 --db a.khdb --paired --output "$d/o.tsv" \
	--report "$d/o.kreport" --set distinct --classified-out "$d/c#.fq" --unclassified-out "$d/u.fq.gz" 1.fq 2.fq.gz; }

"$real" build -q --set total-bases=192055 --db b.khdb --taxonomy "$data/taxonomy" -a "$data/taxonomy/accession2taxid.tsv" \
	"$data"/genomes/*T[37]*.gz
run_several() { $limit "$@" "$real" classify -q --device cpu --threads 1 --db a.khdb --db b.khdb --output "$d/o.tsv" 1.fq; }
run_bracken() { $limit "$@" "$real" bracken-distrib -q --device cpu --threads 1 --db a.khdb --outdir "$d" --step 50 \
	--read-length 100,150 "$data/genomes"; }
set -- "$data"/genomes/*.gz; more=$1; shift
"$real" build -q -k 16 --db g.khdb --taxonomy "$data/taxonomy" -a "$data/taxonomy/accession2taxid.tsv" "$@"
# From a stream, which is kept in a file, to be read twice.
run_stream() { $limit "$@" "$real" build -q --threads 1 --set block-size=16K --db "$d/x.khdb" --taxonomy "$data/taxonomy" \
	-a "$data/taxonomy/accession2taxid.tsv" - <all.fa; }
run_base() { $limit "$@" "$real" build -q --threads 1 --base g.khdb --db "$d/x.khdb" --taxonomy "$data/taxonomy" \
	-a "$data/taxonomy/accession2taxid.tsv" "$more"; }

# One run with a fault: 0 if all is as it should be.
fault() { # COMMAND KIND HOW N
	d=got
	rm -rf got; mkdir got
	run_$1 env LD_PRELOAD="$lib" KH_FAIL="$2:$4" KH_FAIL_HOW="$3" >.out 2>.err
	status=$?
	case $status in
	0) for f in want/$1/*; do cmp "$f" "got/${f##*/}" || return 1; done ;;
	1) [ "$3" = fail ] || { echo "$3 is no reason to fail"; return 1; }
	   ! grep "Cannot allocate memory" .err || { echo "of what is not said"; return 1; }
	   [ "$(wc -l <.err)" -eq 1 ] && grep -Eq '^kmerhash [a-z-]*: .' .err || { echo "not one line:"; cat .err; return 1; }
	   # No output has its name, as one has not.
	   for f in got/*; do [ ! -e "$f" ] || { echo "$f is there"; return 1; }; done ;;
	*) echo "exit status $status"; cat .err; return 1 ;;
	esac
	[ -z "$(find got . -name '.*.tmp' -o -name '.kmerhash-spill*')" ] || { echo "a temporary file is left"; return 1; }
	[ "$status" -eq 0 ] || failed=$((failed + 1))
}

# The first calls, ever wider steps, and the last ones: 1 .. $1.
sample() {
	i=1
	while [ $i -le "$1" ]; do
		echo $i
		if [ "${KH_SLOW:-0}" = 1 ] || [ $i -lt 12 ]; then i=$((i + 1)); else i=$((i + 1 + i / 5)); fi
	done
	for i in 0 1 2 3 4 5; do [ $i -ge "$1" ] || echo $(($1 - i)); done
}

faults() { # COMMAND KIND HOW
	d=got; rm -rf got count; mkdir got
	run_$1 env LD_PRELOAD="$lib" KH_FAIL="$2:0" KH_FAIL_COUNT="$t/count" >/dev/null 2>&1
	count=$(cat count || echo 0); failed=0 runs=0
	for i in $(sample "$count" | sort -nu); do
		if ! fault "$1" "$2" "$3" $i >.why 2>&1; then
			{ echo "$1, call $i of $count: $2 $3"; cat .why; } >.err; not_ok "$1: $2 $3"; return
		fi
		runs=$((runs + 1))
	done
	if [ $runs -eq 0 ] || { [ "$3" = fail ] && [ $failed -eq 0 ]; }; then
		echo "of $runs calls none made it fail" >.err; not_ok "$1: $2 $3"
	else ok "$1: $2 $3: $runs of $count calls, $failed made it fail"; fi
}

for command in build classify plain bracken; do
	mkdir want/$command; d=want/$command
	check "$command: without a fault" run_$command env
	for kind in alloc read write fsync rename close; do
		faults $command $kind fail
	done
	for kind in read write; do
		for how in short eintr; do faults $command $kind $how; done
	done
done
mkdir want/several; d=want/several
check "several databases: without a fault" run_several env
for kind in alloc read close; do faults several $kind fail; done
mkdir want/base; d=want/base
check "base: without a fault" run_base env
for kind in alloc write fsync rename close; do faults base $kind fail; done
gzip -dc "$data"/genomes/*.gz >all.fa
mkdir want/stream; d=want/stream
check "stream: without a fault" run_stream env
KH_SLOW=1 faults stream alloc fail
# A caller of the library goes on: after an error the same call succeeds, and all calls are as without
# one.  Short reads, pairs, and fragments of many segments; also with translated seeds.
awk '/^>/ { if (s) print s; s = ""; next } { s = s $0 } END { print s }' all.fa |
	awk '{ for (i = 1; i + 30000 < length($0); i += 9000) print substr($0, i, 30000)
		for (i = 1; i + 150 < length($0); i += 700) print substr($0, i, 150)
		for (i = 1; i + 9000 < length($0); i += 8000) printf "%s\t%s\n", substr($0, i, 4500), substr($0, i + 4500, 4500) }' >sequences
"$real" build -q -k 16 --db t.khdb --taxonomy "$data/taxonomy" -a "$data/taxonomy/accession2taxid.tsv" "$@"
"$real" build -q -k 16 --translated --db tt.khdb --taxonomy "$data/taxonomy" -a "$data/taxonomy/accession2taxid.tsv" "$@"
XDG_CACHE_HOME=$t/stamps; export XDG_CACHE_HOME
for db in t tt; do
	run_caller() { $limit "$@" "${KH_LIBRARY_FAULTS:-$here/tests/library_faults}" $db.khdb 1.fq r.report <sequences; }
	run_caller env >calls.want 2>.err; rm -f r.report
	check "a caller of the library: $db" [ -s calls.want ]
	run_caller env LD_PRELOAD="$lib" KH_FAIL=alloc:0 KH_FAIL_COUNT="$t/count" >/dev/null 2>&1
	count=$(cat count || echo 0); failed=0; rm -f r.report
	for i in $(sample "$count" | sort -nu); do
		run_caller env LD_PRELOAD="$lib" KH_FAIL="alloc:$i" >calls.got 2>.err; status=$?
		[ -s .err ] && failed=$((failed + 1))
		rm -f r.report
		if [ $status -ne 0 ] || ! cmp -s calls.want calls.got; then
			echo "alloc $i of $count: exit status $status" >>.err; break
		fi
		status=0; : >.err
	done
	if [ $status -eq 0 ] && [ ! -s .err ] && [ $failed -gt 0 ]; then ok "a caller of the library: $db: $failed calls failed"
	else not_ok "a caller of the library: $db: $failed calls failed"; fi
done
plan
