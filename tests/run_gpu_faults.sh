# run_gpu_faults.sh - the GPU is out of memory, refuses a call, is lost, or a kernel fails: the
# run fails in one good line and leaves nothing; speaks TAP.  KH_SLOW=1: every n, not a sample.
# KH_JOBS: runs at a time, but of kernels that fail.  KH_DEVICE: the devices.  KH_COMMANDS: only these of classify,
# sample (with a second pass) and kraken (by a database of Kraken 2)
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
run_classify() { $limit "$@" "$prog" classify -q $opts --set block-size=10K --db a.khdb --paired --output "$d/o.tsv" \
	--report "$d/o.kreport" --set distinct --unclassified-out "$d/u#.fq.gz" $r1 $r2; }
run_sample() { $limit "$@" "$prog" classify -q $opts --set block-size=10K --db a.khdb --paired --sample-pass \
	--output "$d/o.tsv" --report "$d/o.kreport" $r1 $r2; }
run_kraken() { $limit "$@" "$prog" classify -q $opts --set block-size=10K --db kraken --paired --output "$d/o.tsv" \
	--report "$d/o.kreport" --unclassified-out "$d/u#.fq.gz" $r1 $r2; }

good_line() { # FILE: one line that names the device, the call and what it gave
	[ "$(wc -l <"$1")" -eq 1 ] && grep -Eq \
		-e '^kmerhash [a-z]+: cuda:[0-9]+: [A-Za-z0-9 ]+: .+ \(cudaError[A-Za-z]+\)$' \
		-e '^kmerhash [a-z]+: out of (GPU|pinned host) memory (on|for) cuda:[0-9]+: [A-Za-z ]+( of [0-9.]+ ([kMG]B|bytes))? failed' \
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

check "a database" "$prog" build -q --threads 2 --db a.khdb $tax "$data"/genomes/*.gz
for f in "$data"/genomes/*.gz; do gzip -dc "$f"; done >genomes.fa
make=$(dirname "$prog")/make_kraken
check "a database of Kraken 2" "$make" kraken "$data/taxonomy" cells=90000 genomes.fa
for command in ${KH_COMMANDS:-classify sample kraken}; do
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
# As one GPU of two, with room for the table and queues twice, for half a table, and for none.
limits_of_kraken() {
	check "limits: a table of 160 MB" "$make" large "$data/taxonomy" cells=40000000 genomes.fa
	"$prog" classify -q --device cpu --db large --output want.tsv $r1
	for of in 500000000:"replicated over 2" 310000000:"sharded over 2" 200000000:"done on the CPU"; do
		m=${of%%:*} how=${of#*:}
		check "limits: a device of $m bytes as two" env KH_CUDA_MEMORY="$m" "$prog" classify -vv \
			--threads 3 --set block-size=10K --device cuda:0,0 --db large --output got.tsv $r1
		mv .err said
		check "limits: a device of $m bytes as two: $how" grep -q "$how" said
		same want.tsv got.tsv "limits: a device of $m bytes as two: lines"
	done
}

[ ! -d want/kraken ] || limits_of_kraken

# No memory in truth: another process has it all, or leaves room for little.
held() { # MB
	mkfifo hold.$1
	"$PYTHON3" "$tests/hold_gpu.py" "$1" <hold.$1 >hold.out 2>hold.err &
	exec 3>hold.$1
	while [ ! -s hold.out ] && kill -0 $! 2>/dev/null; do sleep 0.1; done
	[ -s hold.out ] || { mv hold.err .err; not_ok "memory held by another process"; }
	d=got; rm -rf got; mkdir got
	run_classify env >/dev/null 2>.err
	status=$?
	if well_ended $status classify got .err >.why 2>&1; then
		ok "classify: $(cat hold.out): exit status $status: $(head -c 150 .err)"
	else mv .why .err; not_ok "classify: $(cat hold.out)"; fi
	exec 3>&-
	wait
}
if [ ! -d want/classify ]; then :
elif [ -z "$PYTHON3" ]; then skip "memory held by another process" "no python3"
else held 0; held 600; fi
plan
