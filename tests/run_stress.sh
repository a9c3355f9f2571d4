# run_stress.sh - kills at random moments, many commands with one output, and limits: whatever
# happens, outputs are whole or not there, and no temporary file is left; speaks TAP
#
# KH_SLOW=1 in the environment: it takes some minutes.  KH_SEED=N repeats the moments of the kills.
. "$KH_SRCDIR/tests/tap.sh"
[ -n "${KH_SLOW:-}" ] || { echo "1..0 # SKIP KH_SLOW is not set"; exit 0; }
seed=${KH_SEED:-$(date +%s)}
echo "# KH_SEED=$seed"
# random N: a number from 0 to N - 1, to $random (by the generator of POSIX's C example)
random() { seed=$(((seed * 1103515245 + 12345) % 2147483648)); random=$((seed / 65536 % $1)); }

check "a database" build --db a.khdb "$data"/genomes/*.gz
gzip -dc "$data/reads/tiny_sim_1.fq.gz" "$data/reads/sarscov2_real_1.fq.gz" >one.fq
i=0; while [ $i -lt 20 ]; do cat one.fq; i=$((i + 1)); done >1.fq
mkdir genomes; for g in "$data"/genomes/*.gz; do i=0; while [ $i -lt 8 ]; do gzip -dc "$g" | sed "s/^>/>c$i./;s/\$/ /;s/ \$//"; i=$((i + 1)); done; done >many.fa
classify --db a.khdb --output want.tsv --report want.kreport --json want.json --classified-out want.fq.gz 1.fq
run_build() { "$real" build -q -p 2 -k 16 --memory 100K --max-unmapped 1 --db "$1" --taxonomy "$data/taxonomy" many.fa; }
check "another database" run_build want.khdb

# --- killed at a random moment --------------------------------------------------------------------
# Each output is whole or not there.  Signals that can be caught leave nothing else; what SIGKILL
# leaves is removed by the next run that writes the same names.
whole() { for f; do [ ! -e "got.$f" ] || cmp -s "want.$f" "got.$f" || { echo "got.$f is not whole" >.err; return 1; }; done; }
none_left() { ! find . -maxdepth 1 -name '.got*' | grep . >.err; }
start() { # what the n-th kill hits
	if [ $(($1 % 3)) -eq 0 ]; then exec "$real" build -q -p 2 -k 16 --memory 100K --max-unmapped 1 \
		--db got.khdb --taxonomy "$data/taxonomy" many.fa
	else exec "$real" classify -q --device "${KH_DEVICE:-cpu}" -p 2 --set block-size=16K --db a.khdb --output got.tsv --report got.kreport \
		--classified-out got.fq.gz 1.fq; fi
}
# How long they take, in milliseconds: the moment of a kill lies in that.
milliseconds() { begun=$(date +%s%N); "$@"; took=$((($(date +%s%N) - begun) / 1000000 + 10)); }
milliseconds run_build got.khdb; build_takes=$took
milliseconds classify --db a.khdb --output got.tsv --report got.kreport --classified-out got.fq.gz 1.fq; classify_takes=$took
bad=0; caught=0
i=0
while [ $i -lt 90 ]; do
	i=$((i + 1))
	rm -f got.tsv got.kreport got.fq.gz got.khdb
	start $i >/dev/null 2>&1 &
	pid=$!
	takes=$classify_takes; [ $((i % 3)) -ne 0 ] || takes=$build_takes
	random $takes; sleep $((random / 1000)).$(printf '%03d' $((random % 1000)))
	set -- INT TERM HUP QUIT KILL
	random 5; shift $random; signal=$1; [ $i -lt 88 ] || signal=KILL
	kill -"$signal" $pid 2>/dev/null && caught=$((caught + 1))
	wait $pid 2>/dev/null
	whole tsv kreport fq.gz khdb || { bad=$((bad + 1)); sed "s/^/# kill $i, $signal: /" .err; }
	[ $signal = KILL ] || none_left || { bad=$((bad + 1)); sed "s/^/# kill $i, $signal: left: /" .err; }
	[ $i -eq 90 ] || find . -maxdepth 1 -name '.got*' -exec rm {} +
done
check "90 kills: no output is half there, nothing is left" test $bad -eq 0
check "90 kills: some hit a run ($caught)" test $caught -gt 20
classify --db a.khdb --output got.tsv --report got.kreport --classified-out got.fq.gz 1.fq
run_build got.khdb
check "after SIGKILL: the next run removes what was left" none_left
check "after SIGKILL: the next run makes all outputs" sh -c 'for f in tsv kreport fq.gz khdb; do cmp want.$f got.$f || exit 1; done'

# --- many commands with one output ------------------------------------------------------------------
# Each makes one of two contents; the output is one of them, whole, all the time.
head -n 4000 1.fq >2.fq
classify --db a.khdb --output want.2 2.fq
racing=0
i=0
while [ $i -lt 235 ]; do
	i=$((i + 1))
	"$real" classify -q --device "${KH_DEVICE:-cpu}" -p 1 --db a.khdb --output race.tsv $((i % 2 + 1)).fq 2>>race.err &
	if [ $((i % 8)) -eq 0 ]; then
		[ ! -e race.tsv ] || { cp race.tsv race.now; cmp -s race.now want.tsv || cmp -s race.now want.2 || racing=$((racing + 1)); }
		wait
	fi
done
wait
check "235 commands with one output: it is whole whenever it is there" test $racing -eq 0
check "235 commands with one output: one of them wins" sh -c 'cmp -s race.tsv want.tsv || cmp -s race.tsv want.2'
check "235 commands with one output: none fails" sh -c '[ ! -s race.err ] || { sort race.err | uniq -c | head; exit 1; }'
nothing_left "235 commands with one output"

# --- limits ---------------------------------------------------------------------------------------------
# At each limit a command makes all its outputs, or says why not in one line and makes none.
limit_run() { # NAME LIMITS COMMAND...: under these options of ulimit
	name=$1; limits=$2; shift 2
	rm -f got.*
	# through a pipe: the limit is not for what the command says
	status=$({ { (ulimit $limits || exit 99; exec timeout "$seconds" "$@") 2>&1; echo $? >&3; } | cat >.err; } 3>&1)
	case $status in
	99) skip "$name" "the limit cannot be set"; return ;;
	0) if whole tsv khdb && { [ -e got.tsv ] || [ -e got.khdb ]; }; then ok "$name: all is there"; else not_ok "$name: all is there"; fi ;;
	1) if [ ! -e got.tsv ] && [ ! -e got.khdb ] && grep -q '^kmerhash' .err; then ok "$name: an error"; else not_ok "$name: an error"; fi ;;
	*) echo "exit status $status" >>.err; not_ok "$name" ;;
	esac
	nothing_left "$name"
}
small_classify() { limit_run "classify, ulimit $*" "$*" "$real" classify -q --device "${KH_DEVICE:-cpu}" -p 2 --db a.khdb --output got.tsv 1.fq; }
small_build() { limit_run "build, ulimit $*" "$*" "$real" build -q -p 2 -k 16 --max-unmapped 1 --db got.khdb --taxonomy "$data/taxonomy" many.fa; }
if own_space; then
	for v in 11000 21000 36000 51000 71000 111000 191000; do
		small_classify -v $((own + v)); small_build -v $((own + v))
	done
else skip "limits of address space" "they do not suit this build"; fi
for f in 0 1 8 64 512 4096; do small_classify -f $f; small_build -f $f; done
for o in 5 6 7 8 10 16; do small_classify -n $o; small_build -n $o; done
for s in 64 256 1024; do small_classify -s $s; small_build -s $s; done

plan
