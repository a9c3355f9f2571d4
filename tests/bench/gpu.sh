#!/bin/sh
# gpu.sh - the CUDA backend on one GPU: same bytes as the CPU, tools, and times
#
#	gpu.sh STEP...		small unit sanitize S L
#
# KMERHASH and SIMGEN name the programs, TESTS the folder of the unit tests, WORK a folder
# in memory.  A table of times goes to stdout; what failed is said and counted.
set -u
: "${KMERHASH:=kmerhash}" "${SIMGEN:=simgen}" "${TESTS:=tests}" "${WORK:=/dev/shm/khgpu}" "${OUT:=.}"
: "${RUNS:=3}"
mkdir -p "$WORK"
failed=0

say() { printf '%s\n' "$*"; }
fail() { failed=$((failed + 1)); say "FAILED: $*"; }

# same A B: the same bytes?
same() { cmp -s "$1" "$2" && say "same: $3" || fail "$3 differs ($(cmp "$1" "$2" 2>&1 | head -1))"; }

# refs NAME options...: references and taxonomy of simgen
refs() {
	n=$1; shift
	[ -d "$WORK/$n" ] || { mkdir -p "$WORK/$n"; "$SIMGEN" refs --out "$WORK/$n" "$@" >/dev/null 2>&1; }
	du -shL "$WORK/$n" | sed 's/^/# references /'
}

build() { # NAME DEVICE DB options...
	n=$1 d=$2 db=$3; shift 3
	"$KMERHASH" build -v --device "$d" --db "$db" --taxonomy "$WORK/$n" \
		--accession2taxid "$WORK/$n/accession2taxid.tsv" "$@" "$WORK/$n"/refs.*.fa
}

equal() { # NAME prefix options of build
	n=$1; shift
	build "$n" cpu "$WORK/cpu.khdb" "$@" >"$OUT/equal.log" 2>&1 || fail "build on cpu: $(tail -1 "$OUT/equal.log")"
	build "$n" cuda "$WORK/gpu.khdb" "$@" >"$OUT/equal.log" 2>&1 || fail "build on cuda: $(tail -1 "$OUT/equal.log")"
	same "$WORK/cpu.khdb" "$WORK/gpu.khdb" "database of $n $*"
	for in in "$n.fq" "--paired $n.p_1.fq $n.p_2.fq" "--report-minimizer-data $n.fq" "--precise $n.long.fq"; do
		set -- ; for w in $in; do case $w in *.fq) set -- "$@" "$WORK/$w" ;; *) set -- "$@" "$w" ;; esac; done
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
	equal small --scheme minhash
	equal small -k 18 --gpu-memory 4M
}

unit() {
	for t in test_kernels test_backend; do
		KH_REQUIRE=cuda CMOCKA_MESSAGE_OUTPUT=TAP timeout 100 "$TESTS/$t" >"$OUT/$t.log" 2>&1 \
			&& say "ok: $t" || { fail "$t"; grep -v '^ok' "$OUT/$t.log" | head -20; }
	done
}

sanitize() {
	small_data
	head -c 300000 "$WORK/small/refs.000.fa" >"$WORK/tiny.fa" 2>/dev/null || head -c 300000 "$WORK"/small/refs.*.fa >"$WORK/tiny.fa"
	head -n 4000 "$WORK/small.fq" >"$WORK/tiny.fq"
	head -n 400 "$WORK/small.long.fq" >"$WORK/tiny.long.fq"
	for tool in ${TOOLS:-memcheck racecheck initcheck synccheck}; do
		s="compute-sanitizer --tool $tool --error-exitcode 9"
		[ $tool = memcheck ] && s="$s --leak-check full"
		timeout 120 $s "$KMERHASH" build -q --device cuda --threads 2 --db "$WORK/tiny.khdb" --taxonomy "$WORK/small" \
			--accession2taxid "$WORK/small/accession2taxid.tsv" "$WORK/tiny.fa" >"$OUT/$tool.build.log" 2>&1 \
			&& say "clean: $tool build" || { fail "$tool build"; tail -25 "$OUT/$tool.build.log"; }
		timeout 120 $s "$KMERHASH" classify -q --device cuda --threads 2 --db "$WORK/tiny.khdb" --output /dev/null \
			"$WORK/tiny.fq" "$WORK/tiny.long.fq" >"$OUT/$tool.classify.log" 2>&1 \
			&& say "clean: $tool classify" || { fail "$tool classify"; tail -25 "$OUT/$tool.classify.log"; }
	done
}

write_rate() {
	a=$(date +%s.%N)
	dd if=/dev/zero of="$WORK/rate" bs=4M count=1000 2>/dev/null
	b=$(date +%s.%N)
	rm -f "$WORK/rate"
	echo "$a $b" | awk '{ printf "# one new file: %.2f GB/s\n", 4.194304 / ($2 - $1) }'
}

# clock WHAT command...: seconds of the whole command, and what its log says
clock() {
	what=$1; shift
	for i in $(seq "$RUNS"); do
		a=$(date +%s.%N)
		timeout 60 "$KMERHASH" "$@" >"$OUT/run.log" 2>&1 || { fail "$what: $(tail -1 "$OUT/run.log")"; return; }
		b=$(date +%s.%N)
		echo "$a $b" | awk -v w="$what" '{ printf "%-34s %6.2f s whole; ", w, $2 - $1 }'
		sed -n 's/^kmerhash: seconds: \(.*\)/\1; /p; s/.* classify on [a-z]*: \(.*database\), .*/\1/p' "$OUT/run.log" | tr '\n' ' '
		echo
	done
	cat "$OUT/run.log" >>"$OUT/$SET.log"
}

big() { # SET strains reads
	SET=$1
	o="--genera 20 --species 5 --length 4000000 --seed 7 --strains $2"
	a=$(date +%s)
	refs "$1" $o --files 16
	"$SIMGEN" reads --out "$WORK/$1" $o --reads "$3" --novel 0.3 --alien 0.05 --read-seed 3 >/dev/null 2>&1
	say "# made in $(($(date +%s) - a)) s, $(nproc) cores; $(ls -l "$WORK/$1.fq" | awk '{ print $5 }') bytes of reads"
	write_rate
	db=$WORK/$1.khdb
	clock "$1 build" build -v --device cuda --db "$db" --taxonomy "$WORK/$1" \
		--accession2taxid "$WORK/$1/accession2taxid.tsv" "$WORK/$1"/refs.*.fa
	ls -l "$db" | awk '{ print "# database " $5 " bytes" }'
	clock "$1 lines" classify -v --device cuda --db "$db" --output "$WORK/out.txt" "$WORK/$1.fq"
	rm -f "$WORK/out.txt"
	clock "$1 report only" classify -v --device cuda --db "$db" --output - --report "$WORK/rep.txt" "$WORK/$1.fq"
	clock "$1 lines as .gz" classify -v --device cuda --db "$db" --output "$WORK/out.txt.gz" "$WORK/$1.fq"
	rm -f "$WORK/out.txt.gz"
}

# Two processes on one GPU, of each kind: both finish with the same bytes.
two() {
	small_data
	build small cpu "$WORK/cpu.khdb" >/dev/null 2>&1
	for i in 1 2 3 4; do
		build small cuda "$WORK/two.$i.khdb" >"$OUT/two.$i.log" 2>&1 &
		"$KMERHASH" classify -q --device cuda --db "$WORK/cpu.khdb" --output "$WORK/two.$i.out" "$WORK/small.fq" 2>"$OUT/two.c$i.log" &
	done
	wait
	for i in 1 2 3 4; do
		same "$WORK/cpu.khdb" "$WORK/two.$i.khdb" "database of process $i of 4"
		same "$WORK/two.1.out" "$WORK/two.$i.out" "lines of process $i of 4"
	done
	rm -f "$WORK"/two.* "$OUT"/two.*
}

for step in "$@"; do
	case $step in
	bench-*) s=${step#bench-}; "$KMERHASH" bench --repeat 5 --db "$WORK/$s.khdb" pipeline "$WORK/$s"/refs.*.fa || fail "$step" ;;
	S) big S 5 10000000 ;;
	L) big L 45 30000000 ;;
	equal-S) build S cpu "$WORK/cpu.khdb" >"$OUT/equal.log" 2>&1; same "$WORK/cpu.khdb" "$WORK/S.khdb" "database of S"; "$KMERHASH" verify "$WORK/S.khdb" || fail verify; rm -f "$WORK/cpu.khdb" ;;
	*) $step ;;
	esac
done
[ $failed = 0 ] && say "all well" || say "$failed failed"
exit $((failed > 0))
