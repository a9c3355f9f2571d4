#!/bin/sh
# gpu4_build.sh - build on several GPUs: same bytes, and times
#
#	gpu4_build.sh STEP...
#
#	build-unit       what GPUs send each other, pairs to owners, builds on lists of devices
#	build-equal      small data: CPU, one GPU, two, all, one as if it were three; spilled; both
#	                 schemes; and with a tandem repeat, for which ranges are divided anew
#	build-mpi        the same by mpirun -np 2, each process with its own GPUs, and a process that has none
#	build-L          L on 1, 2 and all GPUs with 16 threads each: index ready, phases of the last run
#	build-side-L     the GPU side alone: L from memory, packed (kmerhash-bench build)
#
# What names programs and folders is as in gpu.sh, whose data of L is used where it is there.
# GPUS: how many.  MPI: mpirun with options.
GPU_FUNCTIONS=1
. "$(dirname "$0")/gpu.sh"
: "${GPUS:=4}" "${MPI:=mpirun --allow-run-as-root --oversubscribe}"
: "${KH_COMM_TIMEOUT:=60}"
export KH_COMM_TIMEOUT

# gpus N: a list of the first N
gpus() { echo "cuda:$(seq -s, 0 $(($1 - 1)))"; }
numbers=$(printf '%d\n' 1 2 "$GPUS" | sort -nu)

build_unit() {
	for t in test_gpu_shard test_gpu_comm test_backend; do
		KH_REQUIRE=cuda CMOCKA_MESSAGE_OUTPUT=TAP timeout 200 "$TESTS/$t" >"$OUT/$t.log" 2>&1 \
			&& say "ok: $t" || { fail "$t"; grep -v '^ok' "$OUT/$t.log" | head -20; }
	done
}

# A repeat of 41 bases, a tenth of all: a few keys have most of the pairs.
tandem_data() {
	small_data
	[ -d "$WORK/tandem" ] && return
	cp -r "$WORK/small" "$WORK/tandem"
	awk 'BEGIN { s = "GATTACAGGCCTTAACGTCAGTACCATGGCATTAGCAAGTC"
		for (i = 0; i < 20000; i++) { printf "%s", s; if (i % 50 == 49) print "" } }' </dev/null >>"$WORK/tandem/refs.000.fa"
}

# built WHAT SET options...: against $WORK/cpu.khdb
built() {
	what=$1; shift
	rm -f "$WORK/n.khdb"
	"$@" >"$OUT/built.log" 2>&1 || fail "$what: $(tail -1 "$OUT/built.log")"
	same "$WORK/cpu.khdb" "$WORK/n.khdb" "$what$(sed -n 's/.*the largest share of \(.*\)/; largest of \1/p' "$OUT/built.log" | tail -1)"
	rm -f "$WORK/n.khdb"
}

build_equal() {
	tandem_data
	for set in small tandem; do
		for o in "" "--set scheme=minhash"; do
			build $set cpu "$WORK/cpu.khdb" $o >"$OUT/equal.log" 2>&1 || fail "build on cpu: $(tail -1 "$OUT/equal.log")"
			for d in $(for n in $numbers; do gpus "$n"; done) cuda:0,0,0; do
				for m in "" "--threads 8 --set block-size=64K --set gpu-memory=12M"; do
					built "$set $o $m on $d" build $set "$d" "$WORK/n.khdb" $o $m
				done
			done
		done
	done
}

# processes N PER DEVICES options...: N processes of PER GPUs each
processes() {
	n=$1 per=$2; shift 2
	PER=$per $MPI -np "$n" sh -c 'from=$((OMPI_COMM_WORLD_LOCAL_RANK * PER))
		CUDA_VISIBLE_DEVICES=$(seq -s, $from $((from + PER - 1))) exec "$@"' sh "$KMERHASH" build -v "$@"
}

build_mpi() {
	tandem_data
	for set in small tandem; do
		for o in "" "--set scheme=minhash"; do
			build $set cpu "$WORK/cpu.khdb" $o >"$OUT/equal.log" 2>&1 || fail "build on cpu: $(tail -1 "$OUT/equal.log")"
			for per in 1 2; do
				[ $((2 * per)) -le "$GPUS" ] || continue
				for m in "" "--set block-size=64K --set gpu-memory=12M"; do
					built "2 processes of $per GPUs, $set $o $m" processes 2 $per --device cuda --threads 4 --db "$WORK/n.khdb" \
						--taxonomy "$WORK/$set" --accession2taxid "$WORK/$set/accession2taxid.tsv" $o $m "$WORK/$set"/refs.*.fa
				done
			done
		done
	done
	# one GPU for two processes: an error of all, and no file
	rm -f "$WORK/n.khdb"
	KH_COMM_TIMEOUT=20 timeout 100 $MPI -np 2 "$KMERHASH" build --device cuda:0 --db "$WORK/n.khdb" --taxonomy "$WORK/small" \
		--accession2taxid "$WORK/small/accession2taxid.tsv" "$WORK"/small/refs.*.fa >"$OUT/built.log" 2>&1 \
		&& fail "two processes on one GPU" || say "two processes on one GPU: $(grep -m1 '^kmerhash build:' "$OUT/built.log")"
	[ -e "$WORK/n.khdb" ] && fail "two processes on one GPU left a file"
}

# ready WHAT N: rows of the table of build-L
ready() {
	n=$1
	: >"$OUT/ready"
	for i in $(seq "$RUNS"); do
		timeout 90 "$KMERHASH" build -v --device "$(gpus "$n")" --threads $((16 * n)) --db "$WORK/n.khdb" --taxonomy "$WORK/L" \
			--accession2taxid "$WORK/L/accession2taxid.tsv" "$WORK"/L/refs.*.fa >"$OUT/run.log" 2>&1 ||
			{ fail "L on $n GPUs: $(tail -1 "$OUT/run.log")"; return; }
		cat "$OUT/run.log" >>"$OUT/build-L.log"
		r=$(sed -n 's/.*seconds: \([0-9.]*\) from the first block read to the index in memory.*/\1/p' "$OUT/run.log")
		s=$(sed -n 's/.* \([0-9.]*\) reading and sampling.*/\1/p' "$OUT/run.log")
		echo "$r $s" >>"$OUT/ready"
	done
	sort -n "$OUT/ready" | awk -v n="$n" '{ r[NR] = $1; s[NR] = $2 } END { printf "%d GPUs, %d threads  ready %.3f %.3f %.3f s; reading %.2f s\n",
		n, 16 * n, r[1], r[int((NR + 1) / 2)], r[NR], s[int((NR + 1) / 2)] }'
	sed -n 's/^kmerhash: \(cuda:.*seconds\)/  \1/p; s/^kmerhash: \(the largest\)/  \1/p' "$OUT/run.log"
	cksum <"$WORK/n.khdb" >"$OUT/sum.$n"
	[ "$n" = 1 ] || { cmp -s "$OUT/sum.1" "$OUT/sum.$n" && say "same: L on 1 and $n GPUs" || fail "L differs on $n GPUs"; }
	rm -f "$WORK/n.khdb"
}

data_L() { refs L --genera 20 --species 5 --length 4000000 --seed 7 --strains 45 --files 16; }

build_L() {
	data_L
	for n in $numbers; do ready "$n"; done
}

build_side_L() {
	data_L
	for n in $numbers; do
		"$KMERHASH-bench" --repeat 5 --threads $((16 * n)) --device "$(gpus "$n")" build "$WORK"/L/refs.*.fa || fail "kmerhash-bench build on $n GPUs"
	done
}

for step in "$@"; do
	a=$(date +%s)
	case $step in
	build-unit) build_unit ;;
	build-equal) build_equal ;;
	build-mpi) build_mpi ;;
	build-L) build_L ;;
	build-side-L) build_side_L ;;
	*) fail "no step $step" ;;
	esac
	say "# $step: $(($(date +%s) - a)) s"
done
[ $failed = 0 ] && say "all well" || say "$failed failed"
exit $((failed > 0))
