#!/bin/sh
# gpus.sh - several GPUs, or one as several: same bytes as the CPU, and a database of 200 Gbp
#
#	gpus.sh STEP...
#
#	unit             the backend on lists of devices
#	classify-equal   small data: CPU, one GPU, all of them replicated and sharded
#	size             GBP (200) of references in species of their own: time and memory of the build, bytes a base;
#	                 PAIRS million pairs (10) each 1, 5 and 8 % off: pairs a second, precision, recall.  WORK has room
#	                 for 1.8 bytes a base: from pipes files would be read one after the other, each as fast as it is made
#
# What names programs and folders is as in gpu.sh.  GPUS: how many; where there are not so many, the
# first one acts as several.  THREADS: of the runs of `size`.
GPU_FUNCTIONS=1
. "$(dirname "$0")/gpu.sh"
: "${GPUS:=4}" "${THREADS:=$((16 * GPUS))}"
all=$(gpus "$GPUS")

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
	"$SIMGEN" refs --out "$WORK/X" $world --length "${LENGTH:-4000000}" --files "$FILES" >/dev/null 2>&1
	first=$(date +%s.%N)
	"$KMERHASH" build -v --threads "$THREADS" --db "$WORK/X.khdb" --taxonomy "$WORK/X" \
		--accession2taxid "$WORK/X/accession2taxid.tsv" "$WORK"/X/refs.*.fa >"$OUT/size.log" 2>&1 ||
		{ fail "build: $(tail -1 "$OUT/size.log")"; return; }
	ready=$(date +%s.%N)
	rm -f "$WORK"/X/refs.*.fa
	bases=$(sed -n 's/.* species, \([0-9]*\) bases.*/\1/p' "$OUT/size.log")
	echo "$ready $first $bases $(wc -c <"$WORK/X.khdb")" |
		awk '{ printf "%.1f Gbp from files in memory: %.1f s, %.4f bytes a base\n", $3 * 1e-9, $1 - $2, $4 / $3 }'
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
