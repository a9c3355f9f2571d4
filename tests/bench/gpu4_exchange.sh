#!/bin/sh
# gpu4_exchange.sh - an index in parts over GPUs, asked by all-to-all: same bytes, tools, and times
#
#	gpu4_exchange.sh STEP...
#
#	exchange-unit      the kernels and the whole backend
#	exchange-equal     small data: CPU, and exchanged over 1, 2, ... GPUs, by peer copies and by NCCL
#	exchange-processes     the same over 2 processes of a GPU each, with mpirun
#	exchange-faults    2 processes of a GPU each, build and classify: the GPU of one runs out of memory, is
#	                   lost, a kernel of it traps; a process is killed or stopped.  All end, no file is left.
#	                   70 s
#	exchange-sanitize  compute-sanitizer on one GPU (a tool that lets kernels wait for one another
#	                   would hang on several)
#	exchange-peers     on shares of one GPU, which send each other by peer copies:
#	                   the same bytes, and compute-sanitizer with several members
#	lookup-S lookup-L  look-ups a second of a GPU: local, peers, exchanged
#	exchange-S exchange-L   reads/s, report only: replicated, peers, exchanged
#
# What names programs and folders is as in gpu.sh, whose data of S and L is used.  GPUS: how many;
# THREADS: of the run on all of them.
GPU_FUNCTIONS=1
. "$(dirname "$0")/gpu.sh"
: "${GPUS:=4}" "${THREADS:=$((16 * GPUS))}" "${RUNS:=3}"
export NCCL_NVLS_ENABLE=0

devices() { echo "cuda:$(seq -s, 0 $(($1 - 1)))"; }

unit() {
	for t in test_exchange test_backend nccl; do
		way=; [ $t != nccl ] || { [ "$GPUS" -gt 1 ] || continue; way=nccl t=test_backend; }
		KH_GPU_COMM=$way KH_REQUIRE=cuda CMOCKA_MESSAGE_OUTPUT=TAP timeout 200 "$TESTS/$t" >"$OUT/$t$way.log" 2>&1 \
			&& say "ok: $t $way" || { fail "$t $way"; grep -v '^ok' "$OUT/$t$way.log" | head -20; }
	done
}

# exchanged WHAT N OPTIONS...: N GPUs against the CPU
exchanged() {
	what=$1 n=$2; shift 2
	timeout 120 "$KMERHASH" classify -v --device "$(devices "$n")" --set placement=shard-exchange "$@" --report "$WORK/x.rep" \
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
		[ "$n" = 1 ] || KH_GPU_COMM=nccl exchanged "$what, NCCL" "$n" "$@"
		n=$((n * 2))
	done
}

equal_small() {
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

on_peers() {
	devices() { echo cuda:0,0,0; }
	small_data
	build small cpu "$WORK/small.khdb" >"$OUT/equal.log" 2>&1 || fail "build: $(tail -1 "$OUT/equal.log")"
	GPUS=1
	each_input all_counts
	TOOLS="memcheck racecheck" sanitize_exchange cuda:0,0
}

# rates_of SET: M reads/s of the ways, medians of RUNS
rates_of() {
	printf '%-28s %10s %10s %10s\n' "# $1, M reads/s" least median most
	for w in replicate shard-peer shard-exchange; do
		: >"$OUT/rates"
		for i in $(seq "$RUNS"); do
			timeout 90 "$KMERHASH" classify -v --device "$(devices "$GPUS")" --threads "$THREADS" --set placement=$w \
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
	exchange-unit) unit ;;
	exchange-equal) equal_small ;;
	exchange-processes) ranks_small ;;
	exchange-faults) ranks_faults ;;
	exchange-sanitize) sanitize_exchange cuda:0 ;;
	exchange-peers) (failed=0; on_peers; exit $failed) || fail "$step" ;;
	lookup-*) "$KMERHASH-bench" --repeat 3 --db "$WORK/${step#lookup-}.khdb" --device "$(devices "$GPUS")" placement || fail "$step" ;;
	exchange-S | exchange-L) rates_of "${step#exchange-}" ;;
	*) fail "no step $step" ;;
	esac
	say "# $step: $(($(date +%s) - began)) s"
done
[ $failed = 0 ] && say "all well" || say "$failed failed"
exit $((failed > 0))
