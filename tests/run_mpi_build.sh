# run_mpi_build.sh - build by several processes: the bytes that one makes, and errors that all
# processes end with; speaks TAP
. "$KH_SRCDIR/tests/mpi.sh"

# Made-up genomes, a few files of MB, some sequences without a taxon: the index is of several blocks
# of checksums.
genomes() { # SEED SEQUENCES LINES
	awk -v seed="$1" -v n="$2" -v lines="$3" 'BEGIN {
		srand(seed); split("A C G T", b, " ")
		for (i = 0; i < 4096; i++) {
			w[i] = ""
			for (x = 4096 + i; x > 1; x = int(x / 4)) w[i] = w[i] b[x % 4 + 1]
		}
		for (q = 0; q < n; q++) {
			printf ">s%d_%d kraken:taxid|%d\n", seed, q, q % 3 ? 10760 : q % 2 ? 1010718 : 10719
			for (l = 0; l < lines; l++) {
				s = ""
				for (j = 0; j < 14; j++) s = s w[int(rand() * 4096)]
				print s
			}
		}
	}'
}
for i in 1 2 3 4; do genomes $i $((i * 6)) $((9000 / i)) >g$i.fa; done
genomes 5 300 5 >small.fa
for f in "$data"/genomes/*.gz; do gzip -dc "$f"; done >all.fa

# --- equal bytes ----------------------------------------------------------------------------
# With KH_DEVICE=cuda and KH_GPUS=N each process has a GPU of its own.
gpus=${KH_GPUS:-1} own=
case ${KH_DEVICE:-} in cuda*) own='--device cuda:$OMPI_COMM_WORLD_LOCAL_RANK' ;; esac
# a third of the made-up sequences has no taxon
build() { "$kmerhash" build -q --max-unmapped .5 --taxonomy "$data/taxonomy" --accession2taxid "$data/taxonomy/accession2taxid.tsv" "$@"; }
by_processes() { # PROCESSES OPTION...
	size=$1; shift
	processes "$size" sh -c "exec \"\$@\" $own" - "$real" build -q --max-unmapped .5 --taxonomy "$data/taxonomy" \
		--accession2taxid "$data/taxonomy/accession2taxid.tsv" "$@"
}
# compare NAME "RANKS..." OPTION... REFERENCE...: what one process makes; by so many
compare() {
	name=$1; sizes=$2; shift 2
	build --db want.khdb --threads 1 "$@" >.err 2>&1 || { not_ok "$name: by one process"; return; }
	for size in $sizes; do
		[ -z "$own" ] || [ "$size" -le "$gpus" ] || continue
		if by_processes "$size" --db got.khdb "$@" >.err 2>&1 && cmp want.khdb got.khdb >.err 2>&1
		then ok "$name: $size processes"; else not_ok "$name: $size processes"; fi
	done
	rm -f want.khdb got.khdb
}
compare "whole genomes" "1 2 3 4" --threads 2 "$data"/genomes/*.gz
compare "several blocks of checksums" "2 3 4" --threads 2 -k 18 --set smer-len=16 g?.fa
compare "spilled" "3" --threads 2 --memory 100K -k 18 g?.fa
compare "limited in size" "2 4" --threads 2 --max-db-size 100K "$data"/genomes/*.gz
compare "minhash, small blocks" "3" --threads 2 --set block-size=5000 --set scheme=minhash -k 18 small.fa all.fa g4.fa
compare "pieces of a few bases" "2" --set block-size=100 -k 18 "$data"/genomes/*T[37]*.gz all.fa --set allow-duplicates
# One plain file is cut where records begin: of a few records, of one, of CR LF, with '>' elsewhere.
cat g?.fa >one.fa
compare "one file" "2 3 4" --threads 2 --set block-size=50K -k 18 one.fa
genomes 6 1 4000 | sed 's/|10719/|10760/' >single.fa
compare "one record" "3" -k 18 single.fa
awk '/^>/ { $0 = $0 " >not >one" } { printf "%s\r\n", $0 }' small.fa >crlf.fa
compare "CR LF, > in headers" "2 4" -k 18 crlf.fa
compare "large files, cut, and small ones" "3 4" -k 18 small.fa one.fa "$data"/genomes/*T[37]*.gz g1.fa --set allow-duplicates
gzip -c one.fa >one.fa.gz
compare "one file, gz" "3" -k 18 one.fa.gz
: >empty.fa
compare "an empty file, and the same file twice" "4" --set allow-duplicates -k 18 empty.fa small.fa g4.fa small.fa
# Long headers: k is first guessed too large, and all is read again.
awk '/^>/ { printf "%s ", $0; for (i = 0; i < 20000; i++) printf "long "; print ""; next } 1' small.fa >headers.fa
compare "read again for another k" "3" all.fa headers.fa
compare "no sequence" "2" --max-unmapped 1 -k 18 empty.fa empty.fa
sed 's/kraken:taxid|[0-9]*//' g3.fa >none.fa
compare "none of a process's sequences has a taxon" "2 3" --max-unmapped 1 -k 18 none.fa g4.fa
compare "the first has none" "3" --max-unmapped 1 -k 18 none.fa small.fa g4.fa

[ -z "$own" ] || [ "$gpus" -ge 3 ] || own='--device cpu'
ln -s target.khdb link.khdb; build --db want.khdb -k 18 small.fa g4.fa
check "through a symbolic link" by_processes 3 --db link.khdb -k 18 small.fa g4.fa
same want.khdb target.khdb "through a symbolic link: the bytes"
processes 3 "$real" build --max-unmapped .5 --device cpu --taxonomy "$data/taxonomy" --db got.khdb -k 18 small.fa g4.fa 2>.err
check "only process 0 says how it went" test "$(grep -c '3 processes' .err)" -eq 1 -a "$(grep -c '^kmerhash: ' .err)" \
	-eq "$("$kmerhash" build --max-unmapped .5 --device cpu --taxonomy "$data/taxonomy" --db got.khdb -k 18 small.fa g4.fa 2>&1 | wc -l)"
check "KH_COMM=off: each by itself" processes 2 env KH_COMM=off sh -c '"$@" --db $OMPI_COMM_WORLD_RANK.khdb' - \
	"$real" build --max-unmapped .5 -q --taxonomy "$data/taxonomy" -k 18 small.fa g4.fa
check "KH_COMM=off: both are there" sh -c 'cmp 0.khdb want.khdb && cmp 1.khdb want.khdb'
rm -f ./*.khdb

# --- errors ----------------------------------------------------------------------------------------
said() { check "$1" grep -q -e "$2" .log; }
as_one() { sed 's/kmerhash build: //; s/[()]/./g' one; }
cat one.fa >late.fa; printf '>x\nAC\001GT\n' >>late.fa
expect 1 "process 2: late.fa \(from byte [0-9]+ on\):.* found byte 0x01" "a bad input, cut" by_processes 3 --db f.khdb -k 18 late.fa
cp g4.fa bad.fa; printf '>x\nAC\001GT\n' >>bad.fa
expect 1 "process 1: bad.fa.* found byte 0x01" "a bad input" by_processes 3 --db f.khdb -k 18 g1.fa bad.fa g3.fa
cp .err .log; said "a bad input: process 0 says whose" "^kmerhash build: process 1 failed: bad.fa"
expect 1 "none-such.fa: No such file" "a missing input" by_processes 3 --db f.khdb -k 18 g1.fa g2.fa none-such.fa
build --db f.khdb -k 18 g1.fa g2.fa g3.fa g1.fa 2>one
expect 1 "$(as_one)" "a sequence twice: as one process says it" by_processes 3 --db f.khdb -k 18 g1.fa g2.fa g3.fa g1.fa
awk 'NR == 2000 { print ">" } 1' g3.fa >noid.fa
build --db f.khdb -k 18 g1.fa g2.fa noid.fa 2>one
expect 1 "$(as_one)" "a sequence without id: as one process says it" by_processes 3 --db f.khdb -k 18 g1.fa g2.fa noid.fa
expect 1 "more than build --max-unmapped" "too many without a taxon" by_processes 2 --db f.khdb -k 18 none.fa g4.fa
expect 2 "cannot read standard input" "standard input" by_processes 2 --db f.khdb -k 18 -
expect 2 "cannot read standard input" "/dev/stdin" by_processes 2 --db f.khdb -k 18 /dev/stdin </dev/zero
expect 2 "no references are named" "wrong usage" by_processes 2 --db f.khdb
# each RANKS OPTION...: with -k 18, taxonomy and reference of process N in rN
each() {
	size=$1; shift
	processes "$size" sh -c 'cd r$OMPI_COMM_WORLD_RANK && exec "$@"' - "$real" build --max-unmapped .5 -q $device --db ../f.khdb --taxonomy tax \
		-k 18 "$@" r.fa
}
for r in 0 1 2; do mkdir r$r; cp -r "$data/taxonomy" r$r/tax; cp one.fa r$r/r.fa; done
expect 0 "" "copies of inputs" each 3
rm -f f.khdb
sed 's/^\(10760	|	[0-9]*	|	\)[a-z ]*/\1genus/' "$data/taxonomy/nodes.dmp" >r2/tax/nodes.dmp
expect 1 "process 2 has another taxonomy than process 0" "another taxonomy" each 3
cp "$data/taxonomy/nodes.dmp" r2/tax/; cat one.fa g1.fa >r1/r.fa
expect 1 "process 1 failed: r.fa: is another file for process 0" "another file of the same name" each 3
cp one.fa r1/r.fa; mv r2/r.fa r2/other.fa
expect 1 "process 2 failed: r.fa: No such file" "a file that one process lacks" each 3
rm -r r?
expect 2 "process 1 was started with other options than process 0" "other options" \
	processes 2 sh -c 'exec "$@" -k $((18 + OMPI_COMM_WORLD_RANK))' - "$real" build --max-unmapped .5 -q $device --db f.khdb \
	--taxonomy "$data/taxonomy" g1.fa g2.fa
expect 1 "no-such/f.khdb" "a folder that is not there" by_processes 2 --db no-such/f.khdb -k 18 g1.fa g2.fa
nothing_left "errors" f.khdb
mkdir small
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=2m none small 2>/dev/null; then
	trap 'umount "$t/small"; rm -rf "$t"' EXIT
	expect 1 "small/f.khdb: write failed: No space" "a full disk" by_processes 3 --db small/f.khdb -k 18 g1.fa g2.fa g3.fa
	expect 1 "temporary file of the build: write failed|features have to be kept, but there are" "a spill on a full disk" \
		by_processes 3 --memory 1 --db small/f.khdb -k 18 g1.fa g2.fa g3.fa
	nothing_left "a full disk" small/f.khdb
	umount small; trap 'rm -rf "$t"' EXIT
else skip "a full disk" "no right to mount one"; fi

# --- processes that go --------------------------------------------------------------------------------
# A build that waits in its midst, process 1 for a FIFO that nobody writes to; pid of process N to .pidN,
# its exit status to .statusN.
start() {
	rm -f .pid* .status* fifo; mkfifo fifo
	timeout -k 5 "$seconds" mpirun "$@" -n 3 sh -c '"$@" '"$own"' & echo $! >.pid$OMPI_COMM_WORLD_RANK
		wait; wait $!; echo $? >.status$OMPI_COMM_WORLD_RANK' - \
		"$real" build --max-unmapped .5 -q --taxonomy "$data/taxonomy" --db f.khdb -k 18 g1.fa g2.fa fifo g3.fa >.out 2>.log & run=$!
	until_true begun
	sleep 0.5
}
begun() { [ "$(cat .pid? 2>/dev/null | wc -l)" -eq 3 ] && [ -n "$(find . -name '.f.khdb.*.tmp')" ]; }
# finish NAME: in good time, and nothing is left.  (A process that is killed while a disk holds up its unlink()
# may outlive mpirun.)
finish() {
	wait $run; got=$?
	check "$1: ended" test $got -ne 124 -a $got -ne 137
	until_true left f.khdb; nothing_left "$1" f.khdb
}
export KH_COMM_TIMEOUT=4
for r in 0 1; do
	start $patient; kill -KILL "$(cat .pid$r)"; finish "process $r killed"
	# Open MPI then ends with status 0; the processes do not.
	start --mca orte_enable_recovery 1; kill -KILL "$(cat .pid$r)"; finish "process $r killed, and mpirun lets the others be"
	check "process $r killed, and mpirun lets the others be: not one has status 0" \
		sh -c 'cat .status? | grep . && ! grep -x 0 .status?'
	said "process $r killed, and mpirun lets the others be: named" "process $r does not answer: nothing heard of it for 4 s"
done
for r in 0 2; do
	start; kill -STOP "$(cat .pid$r)"; finish "process $r stopped"
	said "process $r stopped: named" "process $r does not answer: nothing heard of it for 4 s"
done
plan
