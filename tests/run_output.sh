# run_output.sh - outputs that cannot be written, signals, what killed runs leave; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"

check "a database" build --db a.khdb "$data"/genomes/*.gz
r1=$data/reads/tiny_sim_1.fq.gz
{ gzip -dc "$r1"; printf '@none\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n+\nIIIIIIIIIIIIIIIIIIIIIIIIIIIII\n'; } >1.fq
phix=$(echo "$data"/genomes/Escherichia_virus_phiX174*.gz)
classify --db a.khdb --output want.tsv --report want.kreport 1.fq

# --- written in place ------------------------------------------------------------------
expect 0 "" "/dev/null" classify --db a.khdb --output /dev/null --report /dev/null --json /dev/null 1.fq
check "/dev/null: is what it was" test -c /dev/null
echo a longer text than any >target; ln -s target link
expect 0 "" "a symbolic link" classify --db a.khdb --output link 1.fq
check "a symbolic link: still is one" test -L link
same want.tsv target "a symbolic link: what it points to is written"
mkfifo fifo; cat fifo >got & expect 0 "" "a FIFO" classify --db a.khdb --output fifo 1.fq; wait
same want.tsv got "a FIFO: all lines"
check "a FIFO: still is one" test -p fifo
classify --db a.khdb 1.fq >got; same want.tsv got "standard output"
{ echo before; classify --db a.khdb --output /dev/stdout 1.fq; echo behind; } >got
{ echo before; cat want.tsv; echo behind; } >two; same two got "/dev/stdout: what else is in the file stays"
classify --db a.khdb --output old.tsv 1.fq && echo more >>old.tsv
expect 1 "none.fq" "a failure" classify --db a.khdb --output old.tsv 1.fq none.fq
check "a failure: the old file is untouched" test "$(tail -n 1 old.tsv)" = more

# --- full ---------------------------------------------------------------------------------
if [ -c /dev/full ]; then
	for o in output report json classified-out unclassified-out; do
		expect 1 "/dev/full: write failed: No space" "--$o on a full device" classify --db a.khdb \
			--$o /dev/full $([ $o = output ] || echo --output o.tsv) 1.fq
	done
	expect 1 "f.gz: write failed: No space" "BGZF on a full device" sh -c 'ln -s /dev/full f.gz; "$@"' - \
		"$kmerhash" classify -q --db a.khdb --output o.tsv --unclassified-out f.gz 1.fq
	expect 1 "standard output: write failed: No space" "standard output is full" sh -c '"$@" >/dev/full' - \
		"$kmerhash" classify -q --db a.khdb 1.fq
	expect 1 "standard output" "inspect: standard output is full" sh -c '"$@" >/dev/full' - "$kmerhash" inspect a.khdb
	left && ok "full devices: no temporary file is left" || not_ok "full devices: no temporary file is left"
	rm -f o.tsv f.gz
else skip "full devices" "no /dev/full"; fi
mkdir small
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=64k none small 2>/dev/null; then
	trap 'umount "$t/small"; rm -rf "$t"' EXIT
	expect 1 "small/x.khdb: write failed: No space" "a database on a full disk" build --db small/x.khdb "$data"/genomes/*.gz
	expect 1 "temporary file of the build: write failed" "a spill on a full disk" \
		build --memory 1 --gpu-memory 200K --db small/x.khdb "$data"/genomes/*.gz
	for i in 1 2 3 4 5 6 7 8 9; do cat 1.fq; done >9.fq
	expect 1 "small/o.tsv: write failed: No space" "calls on a full disk" classify --db a.khdb --output small/o.tsv 9.fq
	expect 1 "small/c.fq: write failed: No space" "reads on a full disk" classify --db a.khdb --output o.tsv --classified-out small/c.fq 9.fq
	nothing_left "a full disk" small/x.khdb small/o.tsv small/c.fq
	umount small; trap 'rm -rf "$t"' EXIT
else skip "a full disk" "no right to mount one"; fi
ulimit_run() { (ulimit -f 8; exec "$@"); }
expect 1 "o.tsv: write failed: File too large" "a limit of file sizes" ulimit_run "$real" classify -q --db a.khdb --output o.tsv 1.fq
nothing_left "a limit of file sizes" o.tsv
expect 1 "no-such/o.tsv" "a folder that is not there" classify --db a.khdb --output no-such/o.tsv 1.fq
expect 1 "small: is a folder" "a folder" classify --db a.khdb --output small 1.fq
expect 1 "no-such/r: " "a report in a folder that is not there" classify --db a.khdb --output o.tsv --report no-such/r 1.fq
rm -f o.tsv
expect 2 "ordinary file" "a database on /dev/null" build --db /dev/null $phix
build --db - -k 14 $phix >x.khdb; check "a database on standard output" "$real" verify x.khdb
expect 2 "alone in it" "a database behind something" sh -c '"$@" >>x.khdb' - "$real" build -q --db - -k 14 --taxonomy "$data/taxonomy" $phix
check "a database behind something: that is untouched" "$real" verify x.khdb; rm -f x.khdb

# --- names that clash ----------------------------------------------------------------------
expect 2 "both an input and an output" "the output is the input" classify --db a.khdb --output 1.fq 1.fq
expect 2 "both the database and an output" "the output is the database" classify --db a.khdb --output a.khdb 1.fq
expect 2 "named for two outputs" "two outputs of one name" classify --db a.khdb --output x --report x 1.fq
expect 2 "named for two outputs" "two outputs of one file that is yet to be" classify --db a.khdb --output x --report ./x 1.fq
mkdir d; cp a.khdb d; echo old >same; ln "$phix" phix.gz 2>/dev/null || cp "$phix" phix.gz
expect 2 "named for two outputs" "two outputs of one file" classify --db a.khdb --output same --json "$t/same" 1.fq
expect 2 "is named for two outputs" "a report where the lines go" sh -c '"$@" >>same' - \
	"$real" classify -q --db a.khdb --report /dev/stdout 1.fq
expect 0 "" "lines and report into one pipe" sh -c '"$@" | cat >got' - "$real" classify -q --db a.khdb --report /dev/stdout 1.fq
cat want.tsv want.kreport >two; same two got "lines and report into one pipe: one behind the other"
expect 2 "both the database and an output" "the output is the database of a folder" classify --db d --output d/a.khdb 1.fq
expect 2 "both an input and an output" "the output is a reference" classify -R phix.gz --taxonomy "$data/taxonomy" --output phix.gz 1.fq
cp "$data/taxonomy/accession2taxid.tsv" t.khdb
expect 2 "both a table and an output" "the database is a table" build --db t.khdb --seqid2taxid t.khdb phix.gz
check "names that clash: nothing is touched" test -s 1.fq -a -s a.khdb -a ! -e x -a "$(cat same)" = old
check "names that clash: nor these" sh -c 'cmp "$1" phix.gz && cmp d/a.khdb a.khdb && cmp "$2" t.khdb' - \
	"$phix" "$data/taxonomy/accession2taxid.tsv"

# --- a name that is no UTF-8 ---------------------------------------------------------------
odd=$(printf 'd/\351.khdb'); mv d/a.khdb "$odd"
expect 0 "" "a database with a name in Latin-1" "$kmerhash" inspect --json d
check "a database with a name in Latin-1: shown with '?'" grep -q '"database": "d/?.khdb"' .out

# --- standard streams that are closed --------------------------------------------------------
expect 1 "standard output: write failed: Bad file" "no standard output" sh -c '"$@" >&-' - \
	"$real" classify -q --db a.khdb --report x.kreport 1.fq
nothing_left "no standard output" x.kreport
check "no standard output, and no need of it" sh -c '"$@" >&-' - \
	"$real" classify -q --db a.khdb --output x.tsv --report x.kreport 1.fq
same want.tsv x.tsv "no standard output, and no need of it: lines"
expect 1 "standard input: Bad file" "no standard input" sh -c '"$@" <&-' - "$real" classify -q --db a.khdb -
printf '>none\nACGTACGTACGTACGTACGT\n' >none.fa    # is warned of while the database is open
check "no standard error" sh -c '"$@" 2>&-' - "$real" build --device cpu --db x.khdb -k 14 \
	--taxonomy "$data/taxonomy" --accession2taxid "$data/taxonomy/accession2taxid.tsv" "$data"/genomes/*.gz none.fa
check "no standard error: a sound database" "$real" verify x.khdb
rm -f x.tsv x.kreport x.khdb

# --- ranks that cannot know of each other --------------------------------------------------------
if [ ! -x "${real%/*}/tests/test_comm" ]; then
	expect 2 "3 copies of this program were started, but it was built without MPI" "copies without MPI" \
		env OMPI_COMM_WORLD_SIZE=3 "$kmerhash" build -q --db m.khdb --taxonomy "$data/taxonomy" $phix
	expect 0 "" "copies without MPI, on purpose" env OMPI_COMM_WORLD_SIZE=3 KH_COMM=off \
		"$kmerhash" build -q --db m.khdb --taxonomy "$data/taxonomy" --allow-unmapped $phix
else skip "copies without MPI" "built with MPI"; fi

# --- pipes -------------------------------------------------------------------------------------
for i in 1 2 3 4 5 6 7 8 9 10; do cat 1.fq; done | sed 's/^@/@a-rather-long-name-so-that-pipes-fill-/' >10.fq
("$real" classify -q --db a.khdb --report pipe.kreport 10.fq 2>.err; echo $? >status) | head -n 1 >got
check "a closed pipe: ended by SIGPIPE" test "$(cat status)" -eq 141
check "a closed pipe: not a word" test ! -s .err
nothing_left "a closed pipe" pipe.kreport

# --- signals ------------------------------------------------------------------------------------
# A run that waits for its input, so that it is there to be stopped, with two outputs.
two_files() { [ "$(find . -name '.[!.]*.tmp' | wc -l)" -eq 2 ]; }
stopped() { # SIGNAL STATUS COMMAND...
	sig=$1 want=$2; shift 2
	mkfifo in.$sig
	(exec 9>in.$sig; head -n 40 1.fq >&9; exec sleep 1000) & writer=$!
	"$@" in.$sig 2>.err & pid=$!
	until_true two_files
	find . -name '.[!.]*.tmp' >tmp.$sig
	kill -$sig $pid; wait $pid; got=$?
	kill $writer 2>/dev/null; wait $writer 2>/dev/null
	check "SIG$sig: exit status $want" test $got -eq $want
	check "SIG$sig: there were temporary files" test "$(wc -l <tmp.$sig)" -eq 2
	rm -f in.$sig
}
set -- "$real" classify -q --db a.khdb --threads 1 --block-size 1000 --output s.tsv --classified-out s.fq.gz
for sig in INT TERM HUP; do
	if [ $sig != INT ] && sh -c "kill -$sig \$\$; :" 2>/dev/null; then
		skip "SIG$sig" "whoever started this ignores it, and so do all"
		continue
	fi
	case $sig in INT) status=130 ;; TERM) status=143 ;; HUP) status=129 ;; esac
	# A shell lets its background jobs ignore SIGINT; only another program can undo that.
	if [ $sig != INT ]; then stopped $sig $status "$@"
	elif [ -n "$PYTHON3" ]; then
		stopped INT $status "$PYTHON3" -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$@"
	else skip "SIGINT" "no python3"; continue; fi
	nothing_left "SIG$sig" s.tsv s.fq.gz
done
stopped KILL 137 "$@"
check "SIGKILL: leaves its files" test "$(find . -name '.s.*.tmp' | wc -l)" -eq 2
check "SIGKILL: none under its name" test ! -e s.tsv -a ! -e s.fq.gz
classify --db a.khdb --output s.tsv --classified-out s.fq.gz 1.fq
nothing_left "SIGKILL, then a run"
same want.tsv s.tsv "SIGKILL, then a run: as if never killed"

# shares LOG KINDS: -v's line of the workers has so many shares, which add up to about 100
shares() {
	sed -n 's/^kmerhash: [0-9]* workers: //p' "$1" | tr ',' '\n' |
		awk -v want="$2" '{ n++; sum += $1 } END { exit !(n == want && sum > 97 && sum < 103) }'
}
"$kmerhash" build -v --db v.khdb --taxonomy "$data/taxonomy" \
	--accession2taxid "$data/taxonomy/accession2taxid.tsv" "$data"/genomes/*.gz 2>v.build
check "build -v: what the workers spent their time with" shares v.build 3
"$kmerhash" classify -v --db v.khdb --output v.out "$data/reads/tiny_sim_1.fq.gz" 2>v.classify
check "classify -v: the same" shares v.classify 6
plan
