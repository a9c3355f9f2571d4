#!/bin/sh
# gpu.sh - the CUDA backend on one GPU: same bytes as the CPU, faults, and tools; gpu/rates has times
#
#	gpu.sh [STEP...]        without a step: all from small to sanitize
#
#	small           lines and reports of small data, CPU beside CUDA
#	unit            the unit tests of the backend
#	library         libkmerhash beside the command, callers side by side; the page of a sample
#	bracken         tables for Bracken, CPU beside CUDA
#	parsed          reads that the GPU parses, plain and inflated there: lines and reports, CPU beside CUDA
#	golden          the scripts of tests/ on the device
#	faults          tests/run_gpu_faults.sh
#	two             processes that share the GPU
#	sanitize        compute-sanitizer
#	equal-S equal-L the calls of a million reads, CPU beside CUDA: 100 species of 5 or of 45 strains
#
# KMERHASH and SIMGEN name the programs, TESTS the folder of the unit tests and of
# kmerhash_faults, WORK a folder in memory; nothing of a build folder is needed.  GOLDEN: scripts of
# `golden`.  What failed is said and counted.
set -u
: "${KMERHASH:=kmerhash}" "${SIMGEN:=simgen}" "${TESTS:=tests}" "${WORK:=/dev/shm/khgpu}" "${OUT:=.}"
: "${RUNS:=3}" "${PYTHON3=$(command -v python3)}" "${GOLDEN:=golden identical oracle input db output}"
SRC=$(cd "$(dirname "$0")/../.." && pwd)
KMERHASH=$(cd "$(dirname "$(command -v "$KMERHASH")")" && pwd)/$(basename "$KMERHASH")
TESTS=$(cd "$TESTS" && pwd)
mkdir -p "$WORK" "$OUT"
OUT=$(cd "$OUT" && pwd)
failed=0

say() { printf '%s\n' "$*"; }
fail() { failed=$((failed + 1)); say "FAILED: $*"; }

# same A B: the same bytes?
same() { cmp -s "$1" "$2" && say "same: $3" || fail "$3 differs ($(cmp "$1" "$2" 2>&1 | head -1))"; }

# has N: are there so many GPUs?
has() { [ "$(nvidia-smi -L 2>/dev/null | wc -l)" -ge "$1" ]; }

# at_work WORD...: the words, files of reads with the folder in front
at_work() { for w; do case $w in *.fq | *.fq.gz) echo "$WORK/$w" ;; *) echo "$w" ;; esac; done; }

# gpus N: a list of the first N; of the first one N times, where there are not so many
gpus() {
	if has "$1"; then echo "cuda:$(seq -s, 0 $(($1 - 1)))"
	else echo "cuda:$(seq "$1" | sed 's/.*/0/' | paste -sd, -)"; fi
}

# refs NAME options...: references and taxonomy of simgen
refs() {
	n=$1; shift
	[ -d "$WORK/$n" ] || { mkdir -p "$WORK/$n"; "$SIMGEN" refs --out "$WORK/$n" "$@" >/dev/null 2>&1; }
	du -shL "$WORK/$n" | sed 's/^/# references /'
}

build() { # NAME DB options...
	n=$1 db=$2; shift 2
	"$KMERHASH" build -v --db "$db" --taxonomy "$WORK/$n" \
		--accession2taxid "$WORK/$n/accession2taxid.tsv" "$@" "$WORK/$n"/refs.*.fa
}

equal() { # NAME prefix options of build
	n=$1; shift
	build "$n" "$WORK/cpu.khdb" "$@" >"$OUT/equal.log" 2>&1 || fail "build: $(tail -1 "$OUT/equal.log")"
	for in in "$n.fq" "--paired $n.p_1.fq $n.p_2.fq" "--set distinct $n.fq" "$n.long.fq"; do
		set -- $(at_work $in)
		for d in cpu cuda; do
			"$KMERHASH" classify -q --device $d --db "$WORK/cpu.khdb" --report "$WORK/$d.rep" \
				--output "$WORK/$d.out" "$@" >"$OUT/equal.log" 2>&1 || fail "classify on $d $in: $(tail -1 "$OUT/equal.log")"
		done
		same "$WORK/cpu.out" "$WORK/cuda.out" "lines of $in"
		same "$WORK/cpu.rep" "$WORK/cuda.rep" "report of $in"
	done
}

small_data() {
	[ -d "$WORK/small" ] && return
	o="--genera 5 --species 3 --strains 4 --length 150000 --seed 7"
	refs small $o
	"$SIMGEN" reads --out "$WORK/small" $o --reads 60000 --novel 0.3 --alien 0.05 --read-seed 3 >/dev/null 2>&1
	"$SIMGEN" reads --out "$WORK/small.p" $o --reads 30000 --paired --novel 0.3 --read-seed 4 >/dev/null 2>&1
	# long reads, and one that is a genome
	awk '/^>/ { next } n++ % 90 == 0 { print ">l" n } { print }' "$WORK"/small/refs.00[0-7].fa >"$WORK/small.long.fq"
	cat "$WORK"/small/refs.008.fa >>"$WORK/small.long.fq"
}

small() {
	small_data
	equal small
	sample_pass
	equal small --set keep-repeats
	equal small -k 8 --set smer-len=6
	equal small --translated --threads 2 --set block-size=64K
	sample_pass
	equal small --set keep-all --set total-bases=20G
	everywhere
}

# Calls on the GPU as on the CPU, wherever the database lies: with a limit, part of it on the host.
everywhere() {
	build small "$WORK/cpu.khdb" >"$OUT/equal.log" 2>&1 || fail "build: $(tail -1 "$OUT/equal.log")"
	need=$("$KMERHASH" classify -q --device cuda --threads 16 --set gpu-memory=1 --db "$WORK/cpu.khdb" --output - "$WORK/small.fq" 2>&1 |
		sed -n 's/.* needs \([0-9]*\) bytes with .*/\1/p')
	tight=$((need + $(wc -c <"$WORK/cpu.khdb") / 3))
	for in in small.fq "--paired small.p_1.fq small.p_2.fq" "--set distinct small.fq" "--sample-pass small.fq" small.long.fq \
		"--sample-pass small.long.fq" "--confidence 0.6 small.fq"; do
		set -- $(at_work $in)
		for how in cpu:placement=auto cuda:placement=replicate cuda:0,0:placement=shard cuda:placement=host \
			cuda:placement=host-lists cuda:gpu-memory=$tight; do
			f="$WORK/${how%%:*}" d=${how%:*} p=${how##*:}
			case "$p $in" in gpu-memory*--sample-pass*) continue ;; esac    # which needs more than these
			"$KMERHASH" classify -v --set verify --threads 16 --device $d --set $p --db "$WORK/cpu.khdb" --report "$f.rep" \
				--output "$f.out" "$@" 2>"$OUT/equal.log" ||
				fail "classify on $d, $p $in: $(tail -1 "$OUT/equal.log")"
			[ $d != cpu ] || continue
			case $p in placement=host* | gpu-memory*)
				grep -q 'index on the host' "$OUT/equal.log" || fail "$p: the index is not on the host" ;;
			esac
			same "$WORK/cpu.out" "$f.out" "lines of $in on $d, $p"
			same "$WORK/cpu.rep" "$f.rep" "report of $in on $d, $p"
		done
	done
	# by itself a run takes the GPU, but for alignments
	"$KMERHASH" classify --db "$WORK/cpu.khdb" --output - "$WORK/small.fq" 2>&1 | grep -q "classify on cuda:" ||
		fail "a run did not take the GPU by itself"
	"$KMERHASH" classify --db "$WORK/cpu.khdb" --output - --paf "$WORK/cpu.paf" "$WORK/small.fq" 2>&1 |
		grep -q "classify on cpu:" || fail "a run with alignments did not take the CPU by itself"
}

# The second pass: lines, report and profile of one sample, and of several.
sample_pass() {
	printf 'sample\treads1\treads2\na\t%s\t\nb\t%s\t%s\nc\t%s\t\n' "$WORK/small.fq" "$WORK/small.p_1.fq" \
		"$WORK/small.p_2.fq" "$WORK/small.long.fq" >"$WORK/sheet"
	for in in "$WORK/small.fq" "--paired $WORK/small.p_1.fq $WORK/small.p_2.fq"; do
		for d in cpu cuda cuda:0,0; do
			# shellcheck disable=SC2086  # several words
			"$KMERHASH" classify -q --device $d --db "$WORK/cpu.khdb" --sample-pass --output "$WORK/$d.out" \
				--report "$WORK/$d.rep" --profile "$WORK/$d.profile" $in || fail "sample pass on $d $in"
		done
		for d in cuda cuda:0,0; do
			for f in out rep profile; do same "$WORK/cpu.$f" "$WORK/$d.$f" "sample pass on $d, $f of ${in%% *}"; done
		done
	done
	for d in cpu cuda; do
		"$KMERHASH" classify -q --device $d --db "$WORK/cpu.khdb" --sample-pass --profile p.tsv \
			--samples "$WORK/sheet" --outdir "$WORK/many.$d" || fail "samples on $d"
	done
	for f in "$WORK"/many.cpu/*; do
		case $f in *.json) ;; *) same "$f" "$WORK/many.cuda/${f##*/}" "samples, ${f##*/}" ;; esac
	done
	rm -rf "$WORK"/many.*
}

unit() {
	KH_REQUIRE=cuda CMOCKA_MESSAGE_OUTPUT=TAP timeout 200 "$TESTS/test_backend" >"$OUT/unit.log" 2>&1 \
		&& say "ok: test_backend" || { fail test_backend; grep -v '^ok' "$OUT/unit.log" | head -20; }
}

library_db() {
	small_data
	[ -e "$WORK/library.khdb" ] || "$KMERHASH" build -q --db "$WORK/library.khdb" --taxonomy "$WORK/small" \
		--accession2taxid "$WORK/small/accession2taxid.tsv" "$WORK"/small/*.fa
}

# DEVICE: of the library (cuda; cpu where there is none, to try the step).
library() {
	library_db
	awk 'NR % 4 == 1 { printf "%s\t", substr($1, 2) } NR % 4 == 2' "$WORK/small.fq" >"$WORK/library.tsv"
	head -n 15000 "$WORK/library.tsv" >"$WORK/library.some.tsv"
	for d in cpu "${DEVICE:-cuda}"; do
		"$TESTS/library_example" -d $d "$WORK/library.khdb" <"$WORK/library.tsv" >"$WORK/library.$d" || fail "library_example on $d"
		"$KMERHASH" classify -q --device $d --db "$WORK/library.khdb" --sample-pass --output "$WORK/lines.$d" \
			--html "$WORK/page.$d" "$WORK/small.fq" || fail "a page on $d"
		sed -i -E 's/"label":"Command","value":"[^"]*"//; s/"value":"[0-9-]+ [0-9:]+ UTC"//' \
			"$WORK/page.$d"
	done
	same "$WORK/library.cpu" "$WORK/library.${DEVICE:-cuda}" "calls of the library"
	same "$WORK/lines.cpu" "$WORK/lines.${DEVICE:-cuda}" "lines of the sample pass"
	same "$WORK/page.cpu" "$WORK/page.${DEVICE:-cuda}" "the page, with coverage"
	grep -q '"coverage":{"' "$WORK/page.cpu" || fail "coverage in the page"
	"$TESTS/library_check" "$WORK/library.khdb" "${DEVICE:-cuda}" 0 <"$WORK/library.some.tsv" >"$OUT/library_check.log" &&
		! grep '^not ok' "$OUT/library_check.log" && say "ok: library_check" || fail "library_check"
}

bracken() {
	library_db
	for d in cpu "${DEVICE:-cuda}"; do
		a=$(date +%s.%N)
		"$KMERHASH" bracken-distrib -q --device $d --db "$WORK/library.khdb" --outdir "$WORK/bracken.$d" \
			--read-length 50,100,300 "$WORK"/small/*.fa || fail "bracken-distrib on $d"
		say "bracken-distrib on $d: $(date +%s.%N | awk -v a="$a" '{ printf "%.2f", $1 - a }') s"
	done
	for n in 50 100 300; do
		same "$WORK/bracken.cpu/database${n}mers.kmer_distrib" \
			"$WORK/bracken.${DEVICE:-cuda}/database${n}mers.kmer_distrib" "tables for Bracken, N = $n"
	done
}

parsed() {
	library_db
	for f in small small.p_1 small.p_2; do
		awk 'NR % 12 == 2 { $0 = substr($0, 1, NR % 90) "NNN" substr($0, NR % 90 + 4) } 1' "$WORK/$f.fq" | tee "$WORK/${f}n.fq" | gzip >"$WORK/$f.fq.gz"
	done
	pairs="--paired small.p_1.fq.gz small.p_2.fq.gz"
	for in in small.fq.gz smalln.fq "$pairs" "--paired small.p_1n.fq small.p_2n.fq" "--use-names $pairs" "--sample-pass $pairs" "--sample-pass small.fq.gz"; do
		# shellcheck disable=SC2046,SC2086  # several words
		set -- $(at_work $in)
		for d in cpu "${DEVICE:-cuda}"; do
			KH_GZ_TOGETHER=1 "$KMERHASH" classify -v --device "$d" --db "$WORK/library.khdb" --report "$WORK/$d.rep" \
				--set parse=device --output "$WORK/$d.out" "$@" 2>"$OUT/parsed.log" || fail "$in on $d: $(tail -1 "$OUT/parsed.log")"
		done
		grep -Eq ' [0-9]{4,} records were parsed on the device' "$OUT/parsed.log" || fail "$in: the host has parsed"
		same "$WORK/cpu.out" "$WORK/${DEVICE:-cuda}.out" "lines of $in"
		same "$WORK/cpu.rep" "$WORK/${DEVICE:-cuda}.rep" "report of $in"
	done
}

sanitize() {
	small_data
	# the first 20 kb of genomes, three strains of each species and then the fourth: lists that are cut, of targets in a row and not
	for i in 0 1; do
		awk -v i=$i '/^>/ { n = 0; genome++ } (genome % 4 == 0) == i && n++ < 251' "$WORK"/small/refs.00[0-3].fa
	done >"$WORK/tiny.fa"
	head -n 4000 "$WORK/small.fq" >"$WORK/tiny.fq"
	head -n 400 "$WORK/small.long.fq" >"$WORK/tiny.long.fq"
	for i in 1 2; do head -n 4000 "$WORK/small.p_$i.fq" | tee "$WORK/tiny.p_$i.fq" | gzip >"$WORK/tiny.p_$i.fq.gz"; done
	"$KMERHASH" build -q --threads 2 --db "$WORK/tiny.khdb" --taxonomy "$WORK/small" \
		--accession2taxid "$WORK/small/accession2taxid.tsv" "$WORK/tiny.fa"
	for tool in ${TOOLS:-memcheck racecheck initcheck synccheck}; do
		s="compute-sanitizer --tool $tool --error-exitcode 9"
		[ $tool = memcheck ] && s="$s --leak-check full"
		for w in replicate host; do
			timeout 120 $s "$KMERHASH" classify -q --device cuda --set placement=$w --threads 2 --db "$WORK/tiny.khdb" \
				--output /dev/null "$WORK/tiny.fq" "$WORK/tiny.long.fq" >"$OUT/$tool.classify.log" 2>&1 \
				&& say "clean: $tool classify, $w" || { fail "$tool classify, $w"; tail -25 "$OUT/$tool.classify.log"; }
		done
		for in in "tiny.fq tiny.long.fq" "--paired tiny.p_1.fq tiny.p_2.fq" "--sample-pass --paired tiny.p_1.fq tiny.p_2.fq" \
			"--paired tiny.p_1.fq.gz tiny.p_2.fq.gz"; do
			set -- $(at_work $in)
			KH_GZ_TOGETHER=1 timeout 120 $s "$KMERHASH" classify -q --device cuda --threads 3 --set block-size=64K --db "$WORK/tiny.khdb" \
				--output "$WORK/tiny.out" "$@" >"$OUT/$tool.match.log" 2>&1 \
				&& say "clean: $tool classify, $in" || { fail "$tool classify, $in"; tail -25 "$OUT/$tool.match.log"; }
		done
		timeout 120 $s "$KMERHASH" classify -q --device cuda --threads 2 --db "$WORK/tiny.khdb" --sample-pass --profile "$WORK/tiny.prof" \
			--output "$WORK/tiny.out" "$WORK/tiny.fq" "$WORK/tiny.long.fq" >"$OUT/$tool.sample.log" 2>&1 \
			&& say "clean: $tool sample pass" || { fail "$tool sample pass"; tail -25 "$OUT/$tool.sample.log"; }
	done
}

# Four processes on one GPU: all finish with the same bytes.
two() {
	small_data
	build small "$WORK/cpu.khdb" >/dev/null 2>&1
	"$KMERHASH" classify -q --device cpu --db "$WORK/cpu.khdb" --output "$WORK/two.cpu.out" "$WORK/small.fq"
	for i in 1 2 3 4; do
		"$KMERHASH" classify -q --device cuda --db "$WORK/cpu.khdb" --output "$WORK/two.$i.out" "$WORK/small.fq" 2>"$OUT/two.c$i.log" &
	done
	wait
	for i in 1 2 3 4; do
		same "$WORK/two.cpu.out" "$WORK/two.$i.out" "lines of process $i of 4"
	done
	rm -f "$WORK"/two.* "$OUT"/two.*
}

# script NAME: a script of tests/, by what it says
script() {
	(cd "$WORK" && KH_REQUIRE=cuda KH_SRCDIR="$SRC" KMERHASH="$KMERHASH" PYTHON3="$PYTHON3" TMPDIR="$WORK" \
		KH_FAULTS="$TESTS/kmerhash_faults" timeout 500 sh "$SRC/tests/$1" >"$OUT/$1.log" 2>&1)
	if [ $? -eq 0 ] && grep -q '^1\.\.[1-9]' "$OUT/$1.log" && ! grep -q '^not ok' "$OUT/$1.log"; then
		say "ok: $1: $(grep -c '^ok' "$OUT/$1.log") cases, $(grep -c '# SKIP' "$OUT/$1.log") skipped"
	else
		say "FAILED: $1"
		grep -v '^ok' "$OUT/$1.log" | head -n 30
	fi
}

# Side by side: each waits for the GPU to come up more than for anything else.
golden() {
	for s in $GOLDEN; do
		KH_DEVICE=cuda script run_$s.sh >"$OUT/golden.$s" &
	done
	wait
	for s in $GOLDEN; do
		cat "$OUT/golden.$s"
		! grep -q FAILED "$OUT/golden.$s" || failed=$((failed + 1))
	done
}

faults() {
	KH_JOBS=8 script run_gpu_faults.sh >"$OUT/faults"
	cat "$OUT/faults"
	grep '^ok' "$OUT/run_gpu_faults.sh.log" | sed 's/^/  /'
	! grep -q FAILED "$OUT/faults" || failed=$((failed + 1))
}

# calls NAME REFERENCE-OPTIONS...: lines and report of the million reads, to NAME.out, NAME.rep
calls() {
	to=$1; shift
	"$KMERHASH" classify -q "$@" --report "$WORK/$to.rep" --output "$WORK/$to.out" "$WORK/million.fq" >"$OUT/equal.log" 2>&1 ||
		fail "$to: $(tail -1 "$OUT/equal.log")"
}

same_calls() { # A B WHAT
	say "# $(wc -l <"$WORK/$1.out") lines, $(grep -c '^C' "$WORK/$1.out") classified"
	same "$WORK/$1.out" "$WORK/$2.out" "lines $3"
	same "$WORK/$1.rep" "$WORK/$2.rep" "report $3"
	rm -f "$WORK/$1.out" "$WORK/$2.out" "$WORK/$1.rep" "$WORK/$2.rep"
}

million() { # SET strains: a million of its reads
	refs "$1" --genera 20 --species 5 --length 4000000 --seed 7 --strains "$2" --files 16
	"$SIMGEN" reads --out "$WORK/million" --genera 20 --species 5 --length 4000000 --seed 7 --strains "$2" \
		--reads 1000000 --novel 0.3 --alien 0.05 --read-seed 3 >/dev/null 2>&1
}

equal_big() { # SET strains
	million "$1" "$2"
	[ -s "$WORK/$1.khdb" ] || build "$1" "$WORK/$1.khdb" >"$OUT/equal.log" 2>&1 ||
		fail "build: $(tail -1 "$OUT/equal.log")"
	for d in cpu cuda; do calls $d --device $d --db "$WORK/$1.khdb" --set distinct; done
	same_calls cpu cuda "of a million reads of $1"
}

equal_S() { equal_big S 5; }
equal_L() { equal_big L 45; }

# steps STEP...: each is a function, with _ for -
steps() {
	for step in "$@"; do
		began=$(date +%s)
		$(echo "$step" | tr - _)
		say "# $step: $(($(date +%s) - began)) s"
	done
	[ $failed = 0 ] && say "all well" || say "$failed failed"
	exit $((failed > 0))
}

[ -z "${GPU_FUNCTIONS:-}" ] || return 0    # only these were wanted

[ $# -gt 0 ] || set -- small unit library bracken parsed golden faults two sanitize
steps "$@"
