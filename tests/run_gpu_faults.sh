# run_gpu_faults.sh - the GPU is out of memory, refuses a call, is lost, or a kernel fails: the
# run fails in one good line and leaves nothing; speaks TAP.  KH_SLOW=1: every n, not a sample.
# KH_JOBS: runs at a time, but of kernels that fail.  KH_DEVICE: the devices.  KH_COMMANDS: only these of build, spill,
# classify, sample (with a second pass) and kraken (by a database of Kraken 2)
here=$PWD
prog=${KH_FAULTS:-$here/tests/kmerhash_faults}
. "$KH_SRCDIR/tests/tap.sh"
jobs=${KH_JOBS:-4}
limit=; ! command -v timeout >/dev/null || limit="timeout 60"
need_gpu "$prog"

opts="--device ${KH_DEVICE:-cuda} --threads 3"
tax="--taxonomy $data/taxonomy --accession2taxid $data/taxonomy/accession2taxid.tsv"
r1=$data/reads/tiny_sim_1.fq.gz r2=$data/reads/tiny_sim_2.fq.gz
# Each writes to the folder $d; "$@" stands in front of the program.
run_build() { $limit "$@" "$prog" build -q $opts --set block-size=30K --db "$d/x.khdb" $tax "$data"/genomes/*.gz; }
# The least memory that this many workers ask for: nothing stays on the device while they read.
spill_limit=$("$prog" build -q $opts --set block-size=30K -k 16 --set gpu-memory=1 --db no.khdb $tax "$data"/genomes/*.gz 2>&1 |
	sed -n 's/.* need \([0-9]*\) bytes of the memory of cuda:.*/\1/p')
run_spill() { $limit "$@" "$prog" build -q $opts --set block-size=30K -k 16 --memory 100K --set gpu-memory="$spill_limit" \
	--db "$d/x.khdb" $tax "$data"/genomes/*.gz; }
run_classify() { $limit "$@" "$prog" classify -q $opts --set block-size=10K --db a.khdb --paired --output "$d/o.tsv" \
	--report "$d/o.kreport" --set distinct --unclassified-out "$d/u#.fq.gz" $r1 $r2; }
run_sample() { $limit "$@" "$prog" classify -q $opts --set block-size=10K --db a.khdb --paired --sample-pass \
	--output "$d/o.tsv" --report "$d/o.kreport" $r1 $r2; }
run_kraken() { $limit "$@" "$prog" classify -q $opts --set block-size=10K --db kraken --paired --output "$d/o.tsv" \
	--report "$d/o.kreport" --unclassified-out "$d/u#.fq.gz" $r1 $r2; }

good_line() { # FILE: one line that names the device, the call and what it gave
	[ "$(wc -l <"$1")" -eq 1 ] && grep -Eq \
		-e '^kmerhash [a-z]+: cuda:[0-9]+: [A-Za-z0-9 ]+: .+ \(cudaError[A-Za-z]+\)$' \
		-e '^kmerhash [a-z]+: out of (GPU|pinned host) memory (on|for) cuda:[0-9]+: [A-Za-z ]+( of [0-9.]+ MB)? failed' \
		-e '^kmerhash [a-z]+: out of GPU memory on cuda:[0-9]+: [0-9.]+ MB are more than the [0-9.]+ MB that are left' \
		-e '^kmerhash [a-z]+: [0-9]+ workers with blocks of [0-9]+ bytes need [0-9]+ bytes of the memory of cuda:[0-9]+, of which [0-9]+ may be used' \
		-e '^kmerhash [a-z]+: one of 256 ranges (of about|has) [0-9]+ pairs' \
		-e '^kmerhash classify: the index does not fit: .* would lie on cuda:[0-9]+, .* and has [0-9]+ free$' \
		-e '^kmerhash [a-z]+: no CUDA device can be used here: .+ \(cudaError[A-Za-z]+\)$' "$1"
}

# As a run must end: 1 in one good line and without a file, or 0 and with the right bytes.
well_ended() { # STATUS COMMAND FOLDER STDERR
	case $1 in
	0) for f in want/"$2"/*; do cmp "$f" "$3/${f##*/}" || return 1; done ;;
	1) good_line "$4" || { echo "not one good line:"; cat "$4"; return 1; }
	   [ -z "$(ls -A "$3")" ] || { echo "left behind: $(ls -A "$3")"; return 1; } ;;
	124) echo "it hangs"; return 1 ;;
	*) echo "exit status $1"; cat "$4"; return 1 ;;
	esac
}

one() { # COMMAND KIND N: got/N.failed, or got/N.wrong with what is wrong
	d=got/$3; mkdir "$d"
	case $(($3 % 4)) in 0) e=719 ;; 1) e=214 ;; 2) e=46 ;; 3) e=999 ;; esac
	run_$1 env KH_CUDA_FAIL="$2:$3" KH_CUDA_STATUS=$e >"$d.out" 2>"$d.err"
	status=$?
	well_ended $status "$1" "$d" "$d.err" >"$d.why" 2>&1 || mv "$d.why" "$d.wrong"
	[ $status -eq 0 ] || : >"$d.failed"
}

# The first calls, ever wider steps, and the last ones: 1 .. $1.
sample() {
	i=1
	while [ $i -le "$1" ]; do
		echo $i
		if [ "${KH_SLOW:-0}" = 1 ]; then i=$((i + 1)); else i=$((i + 1 + i / 2)); fi
	done
	for i in 0 2 5 11; do [ $i -ge "$1" ] || echo $(($1 - i)); done
}

faults() { # COMMAND KIND COUNT
	rm -rf got; mkdir got
	runs=0 at_once=$jobs
	# many kernels that trap at once have taken a device off the bus
	[ "$2" != kernel ] || at_once=1
	for i in $(sample "$3" | sort -nu); do
		one "$1" "$2" "$i" &
		runs=$((runs + 1))
		[ $((runs % at_once)) -ne 0 ] || wait
	done
	wait
	wrong=$(find got -name '*.wrong' | sort | head -n 1)
	failed=$(find got -name '*.failed' | wc -l)
	if [ -n "$wrong" ]; then
		{ echo "$1, $2, call ${wrong##*/} of $3:"; cat "$wrong"; } >.err
		not_ok "$1: $2"
	elif [ "$failed" -eq 0 ]; then
		echo "nothing failed" >.err; not_ok "$1: $2"
	else ok "$1: $2: $runs of $3, $failed made it fail"; fi
}

check "a database" "$prog" build -q --device cpu --threads 2 --db a.khdb $tax "$data"/genomes/*.gz
for f in "$data"/genomes/*.gz; do gzip -dc "$f"; done >genomes.fa
make=$(dirname "$prog")/make_kraken
check "a database of Kraken 2" "$make" kraken "$data/taxonomy" cells=90000 genomes.fa
for command in ${KH_COMMANDS:-build spill classify sample kraken}; do
	d=want/$command; mkdir -p $d
	check "$command: without a fault" run_$command env KH_CUDA_COUNT="$t/count"
	read -r allocs calls kernels <count
	faults $command alloc "$allocs"
	faults $command full "$allocs"
	faults $command call "$calls"
	faults $command lost "$calls"
	faults $command kernel "$kernels"
	rm -rf got; mkdir got; d=got
	check "$command: afterwards" run_$command env
	well_ended 0 $command got .err >.why 2>&1 && ok "$command: afterwards, the same bytes" ||
		{ mv .why .err; not_ok "$command: afterwards, the same bytes"; }
done

# --- limits of memory -----------------------------------------------------------------
build_r() { # DB options...: what it says, to .err
	db=$1; shift
	$limit "$prog" build ${loud:--v} --device "${KH_DEVICE:-cuda}" --threads 2 --set block-size=60K -k 18 --db "$db" $tax "$@" r.fa
}

# The plan's own numbers: never more than what was planned, of what the program counted and of
# what was allocated.
within() { # BYTES
	awk -v most="$(cat most)" -v limit="$1" '
		/MB of memory planned/ { if ($8 > $3 + 0.05) { print "planned " $3 ", taken " $8; bad = 1 } n++ }
		END { if (!n) { print "no line of memory"; bad = 1 }
		      if (most > limit) { print most " bytes were allocated, of " limit; bad = 1 }
		      exit bad }' .err
}

limits_of_build() {
	# Made-up references, so that there is something to spill: 60 sequences of 60 kb.
	awk 'BEGIN { srand(11); for (i = 0; i < 60; i++) { printf ">r%d taxid|10710\n", i
		for (j = 0; j < 600; j++) { s = ""; for (k = 0; k < 100; k++) s = s substr("ACGT", 1 + int(4 * rand()), 1); print s } } }' >r.fa
	check "limits: by the CPU" "$prog" build -q --device cpu --threads 2 -k 18 --db r.cpu.khdb $tax r.fa
	# What the program asks for is enough, and so is everything above it.  It asks twice: for its buffers
	# before it has read anything, then for one range of the pairs that the sizes of the files announce.
	rm -f got.khdb
	least=1
	for asked in 1 2; do
		build_r got.khdb --set gpu-memory="$least" 2>.err
		status=$?
		named=$(sed -n 's/.* needs\{0,1\} \([0-9]*\) bytes of the memory of cuda:.*/\1/p' .err)
		[ $status -ne 0 ] || { rm got.khdb; break; }
		least=${named:-$least}
	done
	if [ "$least" -gt 1 ]; then ok "limits: the least is named: $least bytes"
	else not_ok "limits: the least is named"; least=8388608; fi
	nothing_left "limits: nothing is left" got.khdb
	for more in 0 2000000 4000000 8000000 16000000 64000000; do
		m=$((least + more))
		rm -f got.khdb
		if KH_CUDA_MOST=most build_r got.khdb --set gpu-memory=$m 2>.err && cmp r.cpu.khdb got.khdb >>.err 2>&1 && within $m >why
		then ok "limits: --set gpu-memory=$m: $(grep -o '[0-9]* waves' .err | head -n 1)"
		else cat why >>.err 2>/dev/null; not_ok "limits: --set gpu-memory=$m"; fi
	done
	# The same of a device that has no more, whatever the program asks for: half of it may be taken.
	for more in 0 4000000 32000000; do
		m=$((2 * (least + more)))
		rm -f got.khdb
		if KH_CUDA_MEMORY=$m KH_CUDA_MOST=most build_r got.khdb 2>.err && cmp r.cpu.khdb got.khdb >>.err 2>&1 && within $m >why
		then ok "limits: a device of $m bytes: $(grep -o '[0-9]* waves' .err | head -n 1)"
		else cat why >>.err 2>/dev/null; not_ok "limits: a device of $m bytes"; fi
	done
	# Other processes take the most of it, sooner or later: it is made with what is left, or it is said
	# that there is not enough; never something else.
	wrong=; made=0
	for at in 2 4 6 8 10 12 14 16 20 24 28 32 40; do
		m=$((2 * (least + 16000000)))
		rm -f got.khdb
		KH_CUDA_MEMORY=$m KH_CUDA_OTHERS=$at:$((m - least - 2000000)) loud=-q build_r got.khdb 2>.err
		status=$?
		if [ $status -eq 0 ] && cmp r.cpu.khdb got.khdb >>.err 2>&1; then made=$((made + 1))
		elif [ $status -ne 1 ] || ! good_line .err || [ -e got.khdb ]; then wrong=$at; break; fi
	done
	if [ -z "$wrong" ] && [ $made -gt 0 ]; then ok "limits: memory that others take: made $made times of 13"
	else not_ok "limits: memory that others take from allocation ${wrong:-any} on"; fi
	rm -f got.khdb
}

# As one GPU of two, with room for the table and queues twice, for half a table, and for none.
limits_of_kraken() {
	check "limits: a table of 160 MB" "$make" large "$data/taxonomy" cells=40000000 genomes.fa
	"$prog" classify -q --device cpu --db large --output want.tsv $r1
	for of in 500000000:"replicated over 2" 310000000:"sharded over 2" 200000000:"done on the CPU"; do
		m=${of%%:*} how=${of#*:}
		check "limits: a device of $m bytes as two" env KH_CUDA_MEMORY="$m" KH_CUDA_MOST=most "$prog" classify -vv \
			--threads 3 --set block-size=10K --device cuda:0,0 --db large --output got.tsv $r1
		mv .err said
		check "limits: a device of $m bytes as two: $how" grep -q "$how" said
		same want.tsv got.tsv "limits: a device of $m bytes as two: lines"
	done
}

[ ! -d want/build ] || limits_of_build
[ ! -d want/kraken ] || limits_of_kraken

# No memory in truth: another process has it all, or leaves room for little.
held() { # MB
	mkfifo hold.$1
	"$PYTHON3" "$tests/hold_gpu.py" "$1" <hold.$1 >hold.out 2>hold.err &
	exec 3>hold.$1
	while [ ! -s hold.out ] && kill -0 $! 2>/dev/null; do sleep 0.1; done
	[ -s hold.out ] || { mv hold.err .err; not_ok "memory held by another process"; }
	for command in build classify; do
		[ -d want/$command ] || continue
		d=got; rm -rf got; mkdir got
		run_$command env >/dev/null 2>.err
		status=$?
		if well_ended $status $command got .err >.why 2>&1; then
			ok "$command: $(cat hold.out): exit status $status: $(head -c 150 .err)"
		else mv .why .err; not_ok "$command: $(cat hold.out)"; fi
	done
	exec 3>&-
	wait
}
if [ -z "$PYTHON3" ]; then skip "memory held by another process" "no python3"
else held 0; held 600; fi
plan
