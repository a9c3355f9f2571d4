#!/bin/sh
# gpu_tables.sh - tables over several GPUs: tests, tools, and the papers' experiments
#
#	gpu_tables.sh STEP...		tables-test tables-sanitize tables-bench
#
# BENCH names kmerhash-bench, built with --with-tables; TESTS and OUT are as in gpu.sh.  A short table comes last.
GPU_FUNCTIONS=1
. "$(dirname "$0")/gpu.sh"
: "${BENCH:=kmerhash-bench}"
: "${LOG2N:=28}" "${MODES_LOG2N:=26}" "${RUNS:=5}"
export NCCL_NVLS_ENABLE=0 KH_REQUIRE=cuda CMOCKA_MESSAGE_OUTPUT=TAP

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

steps "$@"
