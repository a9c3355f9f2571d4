#!/bin/sh
# gpu_tables.sh - tables over several GPUs: tests, tools, and the papers' experiments
#
#	gpu_tables.sh STEP...		tables-test tables-sanitize tables-bench tables-nccl
#
# BENCH names kmerhash-bench, built with --with-tables, TESTS the folder of the unit tests, OUT a folder for logs and CSV.
# A short table comes last.
set -u
: "${BENCH:=kmerhash-bench}" "${TESTS:=tests}" "${OUT:=.}"
: "${LOG2N:=28}" "${MODES_LOG2N:=26}" "${RUNS:=5}"
export NCCL_NVLS_ENABLE=0 KH_REQUIRE=cuda CMOCKA_MESSAGE_OUTPUT=TAP
failed=0

say() { printf '%s\n' "$*"; }
fail() { failed=$((failed + 1)); say "FAILED: $*"; }

# check NAME SECONDS command...
check() {
	name=$1 limit=$2; shift 2
	from=$(date +%s)
	if timeout "$limit" "$@" >"$OUT/$name.log" 2>&1; then
		say "ok: $name, $(($(date +%s) - from)) s"
	else
		fail "$name, status $?"
		grep -Ev '^(ok|TAP|1\.\.)' "$OUT/$name.log" | head -25
	fi
}

# About 90 s.  The HashGraph of one GPU shares its kernels; three members on one GPU, too.
tables_test() {
	for t in hashgraph1 hashgraph2; do
		check "test_tables.$t" 100 env KH_TABLE=$t "$TESTS/test_tables"
		check "test_tables_ops.$t" 100 env KH_TABLE=$t "$TESTS/test_tables_ops"
	done
	check test_gpu_comm 240 "$TESTS/test_gpu_comm"
	check test_tables_multi 240 "$TESTS/test_tables_multi"
	check test_tables_multi.three 240 env KH_MEMBERS=3 CUDA_VISIBLE_DEVICES=0 "$TESTS/test_tables_multi"
}

# About 60 s a tool.  With several members on one GPU.
tables_sanitize() {
	for tool in ${TOOLS:-memcheck racecheck initcheck synccheck}; do
		check "$tool.test_tables_multi" 240 env KH_SMALL=1 KH_MEMBERS=3 CUDA_VISIBLE_DEVICES=0 \
			compute-sanitizer --tool "$tool" --error-exitcode 9 "$TESTS/test_tables_multi"
		check "$tool.test_tables" 120 env KH_SMALL=1 KH_TABLE=hashgraph2 \
			compute-sanitizer --tool "$tool" --error-exitcode 9 "$TESTS/test_tables"
	done
}

# About 150 s with 4 GPUs.
tables_bench() {
	check bench.gpus 280 "$BENCH" --experiment gpus --log2n "$LOG2N" --repeat "$RUNS" tables
	check bench.chunks 100 "$BENCH" --experiment chunks --log2n "$LOG2N" --repeat "$RUNS" tables
	check bench.modes 280 "$BENCH" --experiment modes --log2n "$MODES_LOG2N" \
		--repeat "$RUNS" tables
	check bench.one 100 "$BENCH" --experiment targets --table hashgraph2 \
		--log2n "$LOG2N" --repeat "$RUNS" tables
	{ cat "$OUT/bench.gpus.log"; tail -qn +2 "$OUT/bench.chunks.log" "$OUT/bench.modes.log"; } >"$OUT/gpus.csv"
	grep -c WRONG "$OUT/gpus.csv" | sed 's/^/# wrong: /'
	grep -q WRONG "$OUT/gpus.csv" && fail "a check of the bench"
	say "# one GPU, hashgraph2: $(awk -F, '$2 == "multi" && $5 == 1 { print $7 " built, " $8 " retrieved, G/s" }' "$OUT/bench.one.log")"
	awk -F, '
	NR == 1 { printf "%-11s %-28s %4s %6s %5s %8s %8s %6s %6s  %s\n", "table", "case", "GPUs", "r",
		"bits", "build", "query", "eff", "check", "note"; next }
	NF > 9 {
		name = $2               # what has no case of its own on one GPU
		sub(/^(phases|gpus chunks)/, "weak scaling", name)
		key = $1 name $5 $11 $12
		if ($6 == 1) { b[key] = $7; q[key] = $8 }
		x = $8 > 0 ? q[key] : b[key]
		y = $8 > 0 ? $8 : $7
		printf "%-11s %-28s %4d %6g %2d/%-2d %8.2f %8.2f %6s %6s  %s\n", $1, $2, $6, $5, $11, $12, $7, $8,
			(x > 0 ? sprintf("%.2f", y / x / $6) : "-"), $10, $15
	}' "$OUT/gpus.csv" >"$OUT/gpus.txt"
	grep -E '^table|weak scaling|phases|chunks|distributed' "$OUT/gpus.txt"
	say "# the others: $OUT/gpus.txt"
}

# way NAME ENVIRONMENT...: the exchange by 1, 2 .. 16 chunks
way() {
	w=chunks.$1; shift
	check "$w" 30 env "$@" "$BENCH" --experiment chunks --log2n "$LOG2N" --repeat 2 tables
	grep -q WRONG "$OUT/$w.log" && fail "a check of $w"
	awk -F, -v w="$w" '$2 == "gpus chunks" { printf "%-18s %6.2f G/s  %s\n", w, $7, $15 }' "$OUT/$w.log"
}

# About 60 s: what NCCL gives by settings, beside copies from peer to peer.  By one chunk nothing
# runs beside it.
tables_nccl() {
	way peers KH_GPU_COMM=
	way nccl KH_GPU_COMM=nccl NCCL_DEBUG=INFO NCCL_DEBUG_FILE="$OUT/nccl.log"
	grep -sm1 'p2p channels' "$OUT/nccl.log" | sed 's/.*NCCL INFO/# NCCL:/'
	grep -sm2 ' via ' "$OUT/nccl.log" | sed 's/.*NCCL INFO/# NCCL:/'
	way nccl-64 KH_GPU_COMM=nccl NCCL_MIN_P2P_NCHANNELS=64
	way nccl-16 KH_GPU_COMM=nccl NCCL_MAX_P2P_NCHANNELS=16
	way nccl-2M KH_GPU_COMM=nccl NCCL_P2P_NVL_CHUNKSIZE=2097152 NCCL_BUFFSIZE=16777216
}

for step in "$@"; do
	from_step=$(date +%s)
	case $step in
	tables-test) tables_test ;;
	tables-sanitize) tables_sanitize ;;
	tables-bench) tables_bench ;;
	tables-nccl) tables_nccl ;;
	*) fail "no step is called $step" ;;
	esac
	say "# $step: $(($(date +%s) - from_step)) s"
done
[ $failed = 0 ] && say "all well" || say "$failed failed"
exit $((failed > 0))
