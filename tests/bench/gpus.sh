#!/bin/sh
# gpus.sh - several GPUs, or one as several: same bytes as the CPU, faults, tools, and times
#
#	gpus.sh STEP...
#
#	machine          GPUs, links, cores, memory
#	unit             the backend on lists of devices
#
#	classify-equal   small data: CPU, one GPU, all of them replicated and sharded
#	classify-L       times and shares on L, and the reports of all ways beside each other
#	threads-L        report only on all GPUs by number of threads
#	size             GBP (200) of references in species of their own, from pipes: time and memory of the build,
#	                 bytes a base; PAIRS million pairs (10) each 1, 5 and 8 % off: pairs a second, precision, recall
#
# What names programs and folders is as in gpu.sh, whose data of S and L is used where it is there.
# GPUS: how many; where there are not so many, the first one acts as several.  THREADS: of the run on
# all of them; the run on one has 16.  TIMES: how often the reads of L are given, for a run that is not
# over before all threads run.
GPU_FUNCTIONS=1
. "$(dirname "$0")/gpu.sh"
: "${GPUS:=4}" "${THREADS:=$((16 * GPUS))}" "${TIMES:=4}"
SET=gpus
all=$(gpus "$GPUS")

machine() {
	nvidia-smi --query-gpu=index,name,memory.total --format=csv,noheader
	nvidia-smi topo -m 2>/dev/null | sed -n "1,$((GPUS + 1))p"
	lscpu | grep -E '^(Model name|CPU\(s\)|NUMA)'
	free -g | sed -n 2p
}

refs_L() { refs L --genera 20 --species 5 --length 4000000 --seed 7 --strains 45 --files 16; }

# --- classify --------------------------------------------------------------------------
# placed WAY: does the log say that the index lies so on all GPUs?
placed() {
	case $1 in
	auto | replicate) how=replicated ;;
	shard) how=sharded ;;
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
	build small "$WORK/small.khdb" >"$OUT/equal.log" 2>&1 || fail "build: $(tail -1 "$OUT/equal.log")"
	set -- "cpu cuda:0 auto replicate shard"
	ways "$1" "reads" --db "$WORK/small.khdb" "$WORK/small.fq"
	ways "$1" "pairs" --db "$WORK/small.khdb" --paired "$WORK/small.p_1.fq" "$WORK/small.p_2.fq"
	ways "$1" "long reads" --db "$WORK/small.khdb" "$WORK/small.long.fq"
	ways "$1" "reads with features" --db "$WORK/small.khdb" --set distinct "$WORK/small.fq"
	ways "$1" "the second pass" --db "$WORK/small.khdb" --sample-pass "$WORK/small.fq"
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
	[ -s "$WORK/L.khdb" ] || build L "$WORK/L.khdb" >"$OUT/L.log" 2>&1 || fail "build L: $(tail -1 "$OUT/L.log")"
	reads=; for i in $(seq "$TIMES"); do reads="$reads $WORK/L.fq"; done
}

classify_L() {
	data_L
	write_rate | tee "$OUT/write"
	one="--device cuda:0 --threads 16 --db $WORK/L.khdb" rest="--threads $THREADS --db $WORK/L.khdb"
	copies="--device $all --set placement=replicate $rest" shards="--device $all --set placement=shard $rest"
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

# species NODES: stdin has lines of classify; precision and recall at the species
species() {
	awk -F'\t' 'NR == FNR { parent[$1] = $3; if ($5 == "species") is[$1] = 1; next }
		function up(t) { while (t in parent && !(t in is) && t != 1) t = parent[t]; return t in is ? t : 0 }
		{ n = split($2, a, "_"); real = up(a[n]); call = $1 == "C" ? up($3) : 0
			of += real > 0; right += call > 0 && call == real; wrong += call > 0 && call != real }
		END { printf "precision %.4f, recall %.4f of %d", right / (right + wrong), right / of, of }' "$1" -
}

size() {
	: "${GBP:=200}" "${PAIRS:=10}" "${FILES:=32}"
	world="--genera $((GBP * 50)) --species 5 --strains 1 --seed 17"
	mkdir -p "$WORK/X"
	# shellcheck disable=SC2086
	"$SIMGEN" refs --out "$WORK/X" $world --length 10000 >/dev/null 2>&1
	rm -f "$WORK"/X/refs.*
	for i in $(seq 0 $((FILES - 1))); do mkfifo "$WORK/X/refs.$(printf %03d "$i").fa"; done
	mkdir -p "$WORK/X/pipes" && mv "$WORK"/X/refs.* "$WORK/X/pipes"
	first=$(date +%s.%N)
	# shellcheck disable=SC2086
	"$SIMGEN" refs --out "$WORK/X/pipes" $world --length "${LENGTH:-4000000}" --files "$FILES" >/dev/null 2>&1 &
	"$KMERHASH" build -v --threads "$THREADS" --db "$WORK/X.khdb" --taxonomy "$WORK/X" --set total-bases="${GBP}000000000" \
		--accession2taxid "$WORK/X/accession2taxid.tsv" "$WORK"/X/pipes/refs.*.fa >"$OUT/size.log" 2>&1 ||
		{ fail "build: $(tail -1 "$OUT/size.log")"; return; }
	wait
	bases=$(sed -n 's/.* species, \([0-9]*\) bases.*/\1/p' "$OUT/size.log")
	echo "$(date +%s.%N) $first $bases $(wc -c <"$WORK/X.khdb")" |
		awk '{ printf "%.1f Gbp from pipes: %.1f s from the first byte, %.4f bytes a base\n", $3 * 1e-9, $1 - $2, $4 / $3 }'
	tail -4 "$OUT/size.log"
	for off in 1 5 8; do
		# shellcheck disable=SC2086
		"$SIMGEN" reads --out "$WORK/X.$off" $world --length "${LENGTH:-4000000}" --reads "${PAIRS}000000" --read-length 150 --paired \
			--error "0.0$off" --alien .1 --read-seed "$off" >/dev/null 2>&1
		for what in "" "--sample-pass"; do
			# shellcheck disable=SC2086
			"$KMERHASH" classify -v --device "${DEVICE:-$all}" --threads "$THREADS" --db "$WORK/X.khdb" --output - --report "$WORK/X.rep" $what \
				--paired "$WORK/X.${off}_1.fq" "$WORK/X.${off}_2.fq" >"$OUT/run.log" 2>&1 || fail "$off %: $(tail -1 "$OUT/run.log")"
			echo "$off % off, report $what: $(sed -n 's/.* classify on //p' "$OUT/run.log")"
			grep 'index' "$OUT/run.log" | head -2
		done
		for mate in 1 2; do head -4000000 "$WORK/X.${off}_$mate.fq" >"$WORK/X.head_$mate.fq"; done
		"$KMERHASH" classify -q --device "${DEVICE:-$all}" --threads "$THREADS" --db "$WORK/X.khdb" \
			--paired "$WORK/X.head_1.fq" "$WORK/X.head_2.fq" >"$WORK/X.lines" || fail "$off %: lines"
		echo "$off % off: $(species "$WORK/X/nodes.dmp" <"$WORK/X.lines")"
		rm -f "$WORK"/X.*.fq "$WORK/X.${off}"_*
	done
}

steps "$@"
