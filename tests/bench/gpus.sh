#!/bin/sh
# gpus.sh - several GPUs, or one as several: same bytes as the CPU, faults, tools, and times
#
#	gpus.sh STEP...
#
#	machine          GPUs, links, cores, memory
#	unit             what GPUs send each other, pairs to owners, builds and runs on lists of devices
#
#	build-equal      small data: CPU, one GPU, two, all, one as if it were three; spilled; both
#	                 schemes; and with a tandem repeat, for which ranges are divided anew
#	build-mpi        the same by mpirun -np 2, each process with its own GPUs, and a process that has none
#	build-L          L on 1, 2 and all GPUs with 16 threads each: index ready, phases of the last run
#	build-side-L     the GPU side alone: L from memory, packed (kmerhash-bench build)
#
#	classify-equal   small data: CPU, one GPU, all of them replicated and sharded
#	classify-L       times and shares on L, and the reports of all ways beside each other
#	threads-L        report only on all GPUs by number of threads
#	lookup-S lookup-L   look-ups a second of a GPU by placement
#
#	exchange-equal   small data: CPU, and an index in parts asked by all-to-all, over 1, 2, ... GPUs, by
#	                 peer copies and by NCCL
#	exchange-sanitize   it under compute-sanitizer, on one GPU and on one as two (a tool that lets kernels
#	                 wait for one another would hang on several)
#	exchange-processes   the same over 2 processes of a GPU each, with mpirun
#	exchange-faults  2 processes of a GPU each, build and classify: the GPU of one runs out of memory, is
#	                 lost, a kernel of it traps; a process is killed or stopped.  All end, no file is left.
#	                 70 s
#	exchange-S exchange-L   reads/s, report only: replicated, peers, exchanged
#
# What names programs and folders is as in gpu.sh, whose data of S and L is used where it is there.
# GPUS: how many; where there are not so many, the first one acts as several, and what needs others
# (NCCL, several processes) is left out.  THREADS: of the run on all of them; the run on one has 16.
# TIMES: how often the reads of L are given, for a run that is not over before all threads run.
# MPI: mpirun with options.
GPU_FUNCTIONS=1
. "$(dirname "$0")/gpu.sh"
: "${GPUS:=4}" "${THREADS:=$((16 * GPUS))}" "${TIMES:=4}" "${KH_COMM_TIMEOUT:=60}"
: "${MPI:=mpirun --allow-run-as-root --oversubscribe}"
export KH_COMM_TIMEOUT NCCL_NVLS_ENABLE=0
SET=gpus
all=$(gpus "$GPUS")
numbers=$(printf '%d\n' 1 2 "$GPUS" | sort -nu)

machine() {
	nvidia-smi --query-gpu=index,name,memory.total --format=csv,noheader
	nvidia-smi topo -m 2>/dev/null | sed -n "1,$((GPUS + 1))p"
	lscpu | grep -E '^(Model name|CPU\(s\)|NUMA)'
	free -g | sed -n 2p
}

# By NCCL as well, where there are several.
unit() {
	for t in test_gpu_shard test_gpu_comm test_exchange test_backend nccl; do
		way=; [ $t != nccl ] || { has 2 || continue; way=nccl t=test_backend; }
		KH_GPU_COMM=$way KH_REQUIRE=cuda CMOCKA_MESSAGE_OUTPUT=TAP timeout 200 "$TESTS/$t" >"$OUT/$t$way.log" 2>&1 \
			&& say "ok: $t $way" || { fail "$t $way"; grep -v '^ok' "$OUT/$t$way.log" | head -20; }
	done
}

# --- build -----------------------------------------------------------------------------
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
	has 2 || { say "# build-mpi needs two GPUs"; return; }
	tandem_data
	for set in small tandem; do
		for o in "" "--set scheme=minhash"; do
			build $set cpu "$WORK/cpu.khdb" $o >"$OUT/equal.log" 2>&1 || fail "build on cpu: $(tail -1 "$OUT/equal.log")"
			for per in 1 2; do
				has $((2 * per)) || continue
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

refs_L() { refs L --genera 20 --species 5 --length 4000000 --seed 7 --strains 45 --files 16; }

# ready N: rows of the table of build-L
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

build_L() {
	refs_L
	for n in $numbers; do ready "$n"; done
}

build_side_L() {
	refs_L
	for n in $numbers; do
		"$KMERHASH-bench" --repeat 5 --threads $((16 * n)) --device "$(gpus "$n")" build "$WORK"/L/refs.*.fa || fail "kmerhash-bench build on $n GPUs"
	done
}

# --- classify --------------------------------------------------------------------------
# placed WAY: does the log say that the index lies so on all GPUs?
placed() {
	case $1 in
	auto | replicate) how=replicated ;;
	shard-peer) how="sharded, read from peers" ;;
	*) return 0 ;;
	esac
	[ "$(grep -c "^kmerhash: index $how: " "$OUT/way.log")" = "$GPUS" ]
}

# ways WAYS WHAT OPTIONS...: lines and report of each way in $WORK/way.*, against those of the first
ways() {
	which=$1 what=$2 ref=; shift 2
	for w in $which; do
		case $w in
		cpu | cuda:*) set -- --device "$w" "$@" ;;
		*) set -- --device "$all" --set placement="$w" "$@" ;;
		esac
		"$KMERHASH" classify -v "$@" --report "$WORK/way.$w.rep" --output "$WORK/way.$w.out" >"$OUT/way.log" 2>&1 ||
			fail "$what, $w: $(tail -1 "$OUT/way.log")"
		placed "$w" || fail "$what, $w: the index lies elsewhere"
		case $w in cpu | cuda:*) shift 2 ;; *) shift 4 ;; esac
		if [ -z "$ref" ]; then ref=$w; continue; fi
		same "$WORK/way.$ref.out" "$WORK/way.$w.out" "lines of $what, $w"
		same "$WORK/way.$ref.rep" "$WORK/way.$w.rep" "report of $what, $w"
	done
	rm -f "$WORK"/way.*
}

classify_equal() {
	small_data
	for o in "" "--set scheme=minhash"; do
		build small cpu "$WORK/small.khdb" $o >"$OUT/equal.log" 2>&1 || fail "build: $(tail -1 "$OUT/equal.log")"
		set -- "cpu cuda:0 auto replicate shard-peer"
		ways "$1" "reads $o" --db "$WORK/small.khdb" "$WORK/small.fq"
		ways "$1" "pairs $o" --db "$WORK/small.khdb" --paired "$WORK/small.p_1.fq" "$WORK/small.p_2.fq"
		ways "$1" "long reads $o" --db "$WORK/small.khdb" "$WORK/small.long.fq"
		ways "$1" "reads with features $o" --db "$WORK/small.khdb" --set distinct "$WORK/small.fq"
	done
}

# rates WHAT OPTIONS...: a row of the table: M reads/s, seconds for the database, whole; sets $median
rates() {
	what=$1 median=0; shift
	: >"$OUT/rates"
	for i in $(seq "$RUNS"); do
		a=$(date +%s.%N)
		timeout 90 "$KMERHASH" classify -v "$@" >"$OUT/run.log" 2>&1 || { fail "$what: $(tail -1 "$OUT/run.log")"; return; }
		b=$(date +%s.%N)
		sed -n 's/.* classify on cuda: \([0-9]*\) reads.s, [0-9.]* s and \([0-9.]*\) s for.*/\1 \2/p' "$OUT/run.log" |
			awk -v a="$a" -v b="$b" '{ print $1 * 1e-6, $2, b - a }' >>"$OUT/rates"
	done
	median=$(sort -n "$OUT/rates" | awk '{ r[NR] = $1 } END { print r[int((NR + 1) / 2)] }')
	sort -n "$OUT/rates" | awk -v w="$what" '{ r[NR] = $1; d += $2; s += $3 }
		END { printf "%-34s %8.1f %8.1f %8.1f  %6.2f %6.2f\n", w, r[1], r[int((NR + 1) / 2)], r[NR], d / NR, s / NR }'
	sed -n 's/^kmerhash: index \(.*\)/  \1/p' "$OUT/run.log" >>"$OUT/placements.log"
}

share() { echo "$1 $2" | awk -v w="$3" '{ printf "%-34s %8.2f\n", w, ($2 > 0 ? $1 / $2 : 0) }'; }

data_L() {
	refs_L
	[ -s "$WORK/L.fq" ] || "$SIMGEN" reads --out "$WORK/L" --genera 20 --species 5 --length 4000000 --seed 7 --strains 45 \
		--reads 30000000 --novel 0.3 --alien 0.05 --read-seed 3 >/dev/null 2>&1
	[ -s "$WORK/L.khdb" ] || build L cuda:0 "$WORK/L.khdb" >"$OUT/L.log" 2>&1 || fail "build L: $(tail -1 "$OUT/L.log")"
	reads=; for i in $(seq "$TIMES"); do reads="$reads $WORK/L.fq"; done
}

classify_L() {
	data_L
	write_rate | tee "$OUT/write"
	one="--device cuda:0 --threads 16 --db $WORK/L.khdb" rest="--threads $THREADS --db $WORK/L.khdb"
	copies="--device $all --set placement=replicate $rest" shards="--device $all --set placement=shard-peer $rest"
	printf '%-34s %8s %8s %8s  %6s %6s\n' "# $TIMES times the reads of L" least "M read/s" most "db s" "all s"
	rates "1 GPU, 16 threads, report" $one --output - --report "$WORK/1.rep" $reads; one_r=$median
	rates "1 GPU, $THREADS threads, report" --device cuda:0 $rest --output - --report "$WORK/x.rep" $reads
	rates "$GPUS GPUs replicated, report" $copies --output - --report "$WORK/n.rep" $reads; all_r=$median
	rates "$GPUS GPUs sharded, report" $shards --output - --report "$WORK/s.rep" $reads; peer_r=$median
	same "$WORK/1.rep" "$WORK/n.rep" "report of L, replicated"
	same "$WORK/1.rep" "$WORK/s.rep" "report of L, sharded"
	rates "1 GPU, 16 threads, .gz" $one --output "$WORK/out.gz" $reads; one_z=$median
	rates "$GPUS GPUs replicated, .gz" $copies --output "$WORK/out.gz" $reads; all_z=$median
	rates "$GPUS GPUs sharded, .gz" $shards --output "$WORK/out.gz" $reads; peer_z=$median
	rm -f "$WORK/out.gz"
	rates "1 GPU, reads once, report" $one --output - "$WORK/L.fq"
	rates "$GPUS GPUs, reads once, report" $copies --output - "$WORK/L.fq"
	rates "$GPUS GPUs, one file of lines" $copies --output "$WORK/out.txt" "$WORK/L.fq"; lines=$median
	bytes=$(wc -c <"$WORK/out.txt")
	rm -f "$WORK/out.txt"
	share "$all_r" "$one_r" "report: replicated / one (3)"
	share "$all_z" "$one_z" ".gz: replicated / one (3)"
	share "$peer_r" "$all_r" "report: sharded / replicated (0.5)"
	share "$peer_z" "$all_z" ".gz: sharded / replicated (0.5)"
	echo "$lines $bytes $(sed 's/.*: //; s/ .*//' "$OUT/write")" |
		awk '{ r = $1 * $2 / 30e9; printf "%-34s %8.2f  of %.2f GB/s: %.2f\n", "one file, GB/s (0.9)", r, $3, r / $3 }'
	sort -u "$OUT/placements.log"
}

threads_L() {
	data_L
	RUNS=1
	for t in 16 32 48 $THREADS; do
		rates "$GPUS GPUs, $t threads, report" --device "$all" --threads $t --db "$WORK/L.khdb" --output - $reads
	done
}

lookup() { # SET
	"$KMERHASH-bench" --repeat 3 --db "$WORK/$1.khdb" --device "$all" placement || fail "lookup of $1"
}

# --- exchanged -------------------------------------------------------------------------
# exchanged WHAT N OPTIONS...: N GPUs against the CPU
exchanged() {
	what=$1 n=$2; shift 2
	timeout 120 "$KMERHASH" classify -v --device "$(gpus "$n")" --set placement=shard-exchange "$@" --report "$WORK/x.rep" \
		--output "$WORK/x.out" >"$OUT/x.log" 2>&1 || fail "$what, $n GPUs: $(tail -1 "$OUT/x.log")"
	grep -q "sharded, exchanged" "$OUT/x.log" || fail "$what, $n GPUs: not exchanged"
	same "$WORK/c.out" "$WORK/x.out" "lines of $what, exchanged over $n"
	same "$WORK/c.rep" "$WORK/x.rep" "report of $what, exchanged over $n"
}

on_cpu() {
	"$KMERHASH" classify -q --device cpu "$@" --report "$WORK/c.rep" --output "$WORK/c.out" >"$OUT/c.log" 2>&1 ||
		fail "on the CPU: $(tail -1 "$OUT/c.log")"
}

each_input() { # COMMAND: called with what it is, and the options
	db="--db $WORK/small.khdb"
	$1 "reads" $db "$WORK/small.fq"
	$1 "pairs" $db --paired "$WORK/small.p_1.fq" "$WORK/small.p_2.fq"
	$1 "long reads" $db "$WORK/small.long.fq"
	$1 "reads with features" $db --set distinct "$WORK/small.fq"
	$1 "long reads with features" $db --set distinct "$WORK/small.long.fq"
}

all_counts() {
	what=$1; shift
	on_cpu "$@"
	n=1
	while [ "$n" -le "$GPUS" ]; do
		KH_GPU_COMM= exchanged "$what" "$n" "$@"
		[ "$n" = 1 ] || ! has "$n" || KH_GPU_COMM=nccl exchanged "$what, NCCL" "$n" "$@"
		n=$((n * 2))
	done
}

exchange_equal() {
	small_data
	for o in "" "--set scheme=minhash"; do
		build small cpu "$WORK/small.khdb" $o >"$OUT/equal.log" 2>&1 || fail "build: $(tail -1 "$OUT/equal.log")"
		each_input all_counts
	done
	rm -f "$WORK"/[cx].out "$WORK"/[cx].rep
}

# Two processes, each with one of the GPUs.
two_ranks() {
	what=$1; shift
	on_cpu "$@"
	timeout 120 mpirun --allow-run-as-root --oversubscribe -n 2 --bind-to none sh -c \
		'CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK exec "$0" "$@"' "$KMERHASH" classify -v --device cuda:0 \
		--set placement=shard "$@" --report "$WORK/x.rep" --output "$WORK/x.out" >"$OUT/x.log" 2>&1 ||
		fail "$what, 2 processes: $(tail -1 "$OUT/x.log")"
	grep -q "sharded, exchanged" "$OUT/x.log" || fail "$what, 2 processes: not exchanged"
	same "$WORK/c.out" "$WORK/x.out" "lines of $what, 2 processes"
	same "$WORK/c.rep" "$WORK/x.rep" "report of $what, 2 processes"
}

ranks_small() {
	has 2 || { say "# exchange-processes needs two GPUs"; return; }
	small_data
	build small cpu "$WORK/small.khdb" >"$OUT/equal.log" 2>&1 || fail "build: $(tail -1 "$OUT/equal.log")"
	each_input two_ranks
}

# --- faults on processes ------------------------------------------------------------------------
# pair COMMAND...: two processes with a GPU each, of the program with injected faults; process 1 in the environment
# $ONE.  $OUT/process.pidN, .statusN: of process N
pair() {
	rm -f "$OUT"/process.*
	timeout -k 5 60 mpirun $MCA --allow-run-as-root --oversubscribe -n 2 --bind-to none sh -c 'r=$OMPI_COMM_WORLD_RANK
		[ $r = 0 ] || export $ONE
		CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK "$@" & echo $! >"$0.pid$r"
		wait $!; s=$?; echo $s >"$0.status$r"; exit $s' "$OUT/process" "$TESTS/kmerhash_faults" "$@"
}
pair_build() {
	pair build -q --device cuda:0 --threads 4 --db "$WORK/f/db.khdb" --taxonomy "$WORK/small" \
		--accession2taxid "$WORK/small/accession2taxid.tsv" "$WORK"/small/refs.*.fa
}
pair_classify() { # INPUT
	pair classify -v --device cuda:0 --set placement=shard --threads 4 --db "$WORK/small.khdb" --report "$WORK/f/x.rep" \
		--output "$WORK/f/x.out" "$1"
}

# well_ended WHAT STATUS COMMAND: an error, and no file; or all is well, if the run did not need the call
well_ended() {
	said=$(grep -m1 -E '^kmerhash (build|classify): |signal 9|Killed|exit code: 137' "$OUT/f.log" | cut -c1-160)
	case $2:$3 in
	0:build) same "$WORK/small.khdb" "$WORK/f/db.khdb" "$1" ;;
	0:*) same "$WORK/c.out" "$WORK/f/x.out" "$1" ;;
	124:* | 137:*) fail "$1: it hangs" ;;
	*) if [ -n "$(ls -A "$WORK/f")" ]; then fail "$1: left $(ls -A "$WORK/f" | head -3)"
	   elif [ -z "$said" ]; then fail "$1: status $2, and nobody says why: $(head -3 "$OUT/f.log")"
	   else say "ok: $1: status $2: $said"; fi ;;
	esac
	rm -rf "$WORK/f"; mkdir "$WORK/f"
}

# A run on reads without end, of which process 1 gets a signal.  Process 0 ends by itself, or with mpirun.
signalled() { # SIGNAL
	rm -f "$WORK/in"; mkfifo "$WORK/in"
	while :; do cat "$WORK/small.fq"; done >"$WORK/in" 2>/dev/null & feeder=$!
	pair_classify "$WORK/in" >"$OUT/f.log" 2>&1 & run=$!
	i=0
	while [ $i -lt 200 ] && ! grep -qE 'index sharded|part of the index' "$OUT/f.log"; do sleep 0.1; i=$((i + 1)); done
	sleep 2
	kill -"$1" "$(cat "$OUT/process.pid1")"
	i=0
	while [ $i -lt 400 ] && [ ! -s "$OUT/process.status0" ] && kill -0 $run 2>/dev/null; do sleep 0.1; i=$((i + 1)); done
	kill -KILL "$(cat "$OUT/process.pid1")" 2>/dev/null
	kill $feeder 2>/dev/null
	wait $feeder 2>/dev/null
	wait $run; status=$?
	[ $status != 137 ] || status=1  # what process 1 ended with
	[ ! -s "$OUT/process.status0" ] || status=$(cat "$OUT/process.status0")
	[ $i -lt 400 ] || status=124
	well_ended "classify: process 1 gets $1$MCA" $status classify
}

ranks_faults() {
	has 2 || { say "# exchange-faults needs two GPUs"; return; }
	small_data
	build small cpu "$WORK/small.khdb" >"$OUT/equal.log" 2>&1 || fail "build: $(tail -1 "$OUT/equal.log")"
	on_cpu --db "$WORK/small.khdb" "$WORK/small.fq"
	rm -rf "$WORK/f"; mkdir "$WORK/f"
	export ONE= MCA= KH_COMM_TIMEOUT=10
	for command in build classify; do
		ONE="KH_CUDA_COUNT=$OUT/count"
		pair_$command "$WORK/small.fq" >"$OUT/f.log" 2>&1
		well_ended "$command: no fault" $? $command
		read -r allocs calls kernels <"$OUT/count"
		# most calls of classify only ask whether something has come, more or less of them each time
		for f in alloc:$((allocs / 2)) full:$((allocs * 3 / 4)) call:$((calls / 10)) lost:$((calls / 20)) \
			lost:$((calls / 4)) kernel:$((kernels / 4)); do
			ONE="KH_CUDA_FAIL=$f"
			pair_$command "$WORK/small.fq" >"$OUT/f.log" 2>&1
			well_ended "$command: $f of $allocs, $calls, $kernels" $? $command
		done
	done
	ONE="KH_CUDA_FAIL="
	signalled KILL
	MCA=" --mca orte_enable_recovery 1"
	signalled KILL
	signalled STOP
	MCA=
}

sanitize_exchange() { # DEVICES
	small_data
	build small cpu "$WORK/small.khdb" >"$OUT/equal.log" 2>&1 || fail "build: $(tail -1 "$OUT/equal.log")"
	head -n 4000 "$WORK/small.fq" >"$WORK/tiny.fq"
	head -n 400 "$WORK/small.long.fq" >"$WORK/tiny.long.fq"
	for tool in ${TOOLS:-memcheck racecheck initcheck synccheck}; do
		s="compute-sanitizer --tool $tool --error-exitcode 9"
		[ $tool = memcheck ] && s="$s --leak-check full"
		timeout 200 $s "$KMERHASH" classify -q --device "$1" --set placement=shard-exchange --threads 2 --db "$WORK/small.khdb" \
			--output /dev/null "$WORK/tiny.fq" "$WORK/tiny.long.fq" >"$OUT/$tool.exchange.log" 2>&1 \
			&& say "clean: $tool exchange on $1" || { fail "$tool exchange"; tail -25 "$OUT/$tool.exchange.log"; }
	done
}

# rates_of SET: M reads/s of the ways, medians of RUNS
rates_of() {
	printf '%-28s %10s %10s %10s\n' "# $1, M reads/s" least median most
	for w in replicate shard-peer shard-exchange; do
		: >"$OUT/rates"
		for i in $(seq "$RUNS"); do
			timeout 90 "$KMERHASH" classify -v --device "$all" --threads "$THREADS" --set placement=$w \
				--db "$WORK/$1.khdb" --output - --report "$WORK/$w.rep" "$WORK/$1.fq" "$WORK/$1.fq" >"$OUT/run.log" 2>&1 ||
				fail "$1 $w: $(tail -1 "$OUT/run.log")"
			sed -n 's/.* classify on cuda: \([0-9]*\) reads.s.*/\1/p' "$OUT/run.log" >>"$OUT/rates"
		done
		sort -n "$OUT/rates" | awk -v w="$w, $GPUS GPUs" '{ r[NR] = $1 * 1e-6 }
			END { printf "%-28s %10.1f %10.1f %10.1f\n", w, r[1], r[int((NR + 1) / 2)], r[NR] }'
	done
	sed -n 's/^kmerhash: exchange: /# last run: /p' "$OUT/run.log"
	same "$WORK/replicate.rep" "$WORK/shard-exchange.rep" "report of $1, exchanged"
}

for step in "$@"; do
	began=$(date +%s)
	case $step in
	build-equal) build_equal ;;
	build-mpi) build_mpi ;;
	build-L) build_L ;;
	build-side-L) build_side_L ;;
	classify-equal) classify_equal ;;
	classify-L) classify_L ;;
	threads-L) threads_L ;;
	lookup-*) lookup "${step#lookup-}" ;;
	exchange-equal) exchange_equal ;;
	exchange-sanitize) for d in cuda:0 cuda:0,0; do sanitize_exchange $d; done ;;
	exchange-processes) ranks_small ;;
	exchange-faults) ranks_faults ;;
	exchange-S | exchange-L) rates_of "${step#exchange-}" ;;
	machine | unit) $step ;;
	*) fail "no step $step" ;;
	esac
	say "# $step: $(($(date +%s) - began)) s"
done
[ $failed = 0 ] && say "all well" || say "$failed failed"
exit $((failed > 0))
