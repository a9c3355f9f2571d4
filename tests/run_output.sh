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
	for o in output report json html classified-out unclassified-out; do
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
	expect 1 "temporary file of the build: write failed|have to be kept, but there are" "a spill on a full disk" \
		build --memory 1 --db small/x.khdb "$data"/genomes/*.gz
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
mkdir d; cp a.khdb d; echo old >same; cp "$phix" phix.gz
expect 2 "named for two outputs" "a page where the report goes" classify --db a.khdb --output o.tsv --report y --html y 1.fq
expect 2 "both an input and an output" "a page where the reads are" classify --db a.khdb --output o.tsv --html 1.fq 1.fq
expect 2 "named for two outputs" "two outputs of one file" classify --db a.khdb --output same --json "$t/same" 1.fq
expect 2 "is named for two outputs" "a report where the lines go" sh -c '"$@" >>same' - \
	"$real" classify -q --db a.khdb --report /dev/stdout 1.fq
expect 0 "" "lines and report into one pipe" sh -c '"$@" | cat >got' - "$real" classify -q --db a.khdb --report /dev/stdout 1.fq
cat want.tsv want.kreport >two; same two got "lines and report into one pipe: one behind the other"
expect 2 "both the database and an output" "the output is the database of a folder" classify --db d --output d/a.khdb 1.fq
cp "$data/taxonomy/accession2taxid.tsv" t.khdb
expect 2 "both a table and an output" "the database is a table" build --db t.khdb --seqid2taxid t.khdb phix.gz
check "names that clash: nothing is touched" test -s 1.fq -a -s a.khdb -a ! -e x -a "$(cat same)" = old
check "names that clash: nor these" sh -c 'cmp "$1" phix.gz && cmp d/a.khdb a.khdb && cmp "$2" t.khdb' - \
	"$phix" "$data/taxonomy/accession2taxid.tsv"

# --- the same, by other ways -----------------------------------------------------------------
tax=$data/taxonomy
ln -s meet one.link; ln -s meet two.link; mkdir e; ln -s ../1.fq e/1.link
expect 2 "named for two outputs" "two links to a file that is yet to be" \
	classify --db a.khdb --output one.link --report two.link 1.fq
expect 2 "named for two outputs" "a link to the other output" classify --db a.khdb --output meet --report two.link 1.fq
expect 2 "both an input and an output" "a link to the input" classify --db a.khdb --output e/1.link 1.fq
expect 2 "both an input and standard|both an input and an output" "standard input is the output" \
	sh -c '"$@" <1.fq' - "$real" classify -q --db a.khdb --output 1.fq -
expect 2 "both an input and an output" "standard output is the input" sh -c '"$@" >>1.fq' - "$real" classify -q --db a.khdb 1.fq
expect 2 "both an input and an output" "standard output is standard input" \
	sh -c '"$@" <1.fq >>1.fq' - "$real" classify -q --db a.khdb -
expect 2 "" "standard error is the output" sh -c '"$@" 2>log' - \
	"$real" classify -q --db a.khdb --output log 1.fq
check "standard error is the output: said there" grep -q "both standard error" log
check "output and messages in one file" sh -c '"$@" >log 2>&1' - "$real" classify --db a.khdb 1.fq
cp -r "$tax" tax; chmod u+w tax tax/*; echo "$phix" >list; cp list list.khdb
expect 2 "both a file of the taxonomy and an output" "the database is nodes.dmp" "$kmerhash" build --db tax/nodes.dmp --taxonomy tax phix.gz
expect 2 "both the list of references and an output" "the database is the list" build --db list.khdb --list list.khdb
expect 2 "both a reference and an output" "the database is in the list" sh -c 'cp phix.gz ref.khdb; echo ref.khdb >list; "$@"' - \
	"$real" build --db ref.khdb --list list --taxonomy "$tax"
expect 2 "both the database and an output" "inspect writes to the database" sh -c '"$@" >>d/a.khdb' - "$real" inspect d/a.khdb
expect 2 "both the database and an output" "verify writes to the database" sh -c '"$@" >>d/a.khdb' - "$real" verify d/a.khdb
expect 2 "named by an empty string" "an empty name" classify --db a.khdb --output "" 1.fq
expect 2 "first mates and for the second" "a file as its own mate" classify --db a.khdb --paired 1.fq ./1.fq
check "other ways: nothing is touched" sh -c 'cmp d/a.khdb a.khdb && diff -r tax "$1" && cmp ref.khdb phix.gz && [ ! -e meet ] && cmp list.khdb - <<X
$2
X' - "$tax" "$phix"

# --- descriptors ----------------------------------------------------------------
classify --db a.khdb --output plain.tsv 1.fq
for name in /dev/fd/9 /proc/self/fd/9; do
	{ echo before >&9; classify --db a.khdb --output $name 1.fq; echo behind >&9; } 9>got
	{ echo before; cat plain.tsv; echo behind; } >two; same two got "$name: what else is in the file stays"
done
{ echo before >&2; classify --db a.khdb --output /dev/stderr 1.fq; } 2>got
{ echo before; cat plain.tsv; } >two; same two got "/dev/stderr: what else is in the file stays"
# The report's name is taken when all is written: its rename fails, and the lines have no name.
mkfifo late; (exec 8>late; cat 1.fq >&8; until_true test -n "$(find . -name '.late.kreport.*')"; mkdir late.kreport) &
expect 1 "late.kreport: rename failed" "one of two outputs fails" classify --db a.khdb --output late.tsv --report late.kreport late
wait; rmdir late.kreport
nothing_left "one of two outputs fails" late.tsv
rm -f plain.tsv

# --- a name that is no UTF-8 ---------------------------------------------------------------
odd=$(printf 'd/\351.khdb'); mv d/a.khdb "$odd"
expect 0 "" "a database with a name in Latin-1" "$kmerhash" inspect --json d
check "a database with a name in Latin-1: shown escaped" grep -q '"database": "d/\\\\xe9.khdb"' .out
esc=$(printf 'no\033[2Jsuch\nfile\351\302\233.fq')
expect 1 "no.x1b.2Jsuch.x0afile.xe9.xc2.x9b.fq: No such file" "a name with control characters" \
	"$kmerhash" classify --db a.khdb --output none "$esc"
printf '%s' "$esc" >name; "$kmerhash" classify --db a.khdb --output none "$(cat name)" 2>said
check "a name with control characters: one line without them" sh -c '[ "$(LC_ALL=C tr -d "\040-\176" <said | wc -c)" -eq 1 ]'
if [ -n "$PYTHON3" ]; then
	printf '@r\033]0;x\007\351\nACGT\n+\nIIII\n' >esc.fq
	"$PYTHON3" -c 'import pty, sys
pty.spawn(sys.argv[1:])' "$real" classify -q --db a.khdb esc.fq >got
	check "ids on a terminal" grep -q 'r.x1b]0;x.x07.xe9	' got
else skip "ids on a terminal" "no python3"; fi

# --- standard streams that are closed --------------------------------------------------------
expect 1 "standard output: write failed: Bad file" "no standard output" sh -c '"$@" >&-' - \
	"$real" classify -q --db a.khdb --report x.kreport 1.fq
nothing_left "no standard output" x.kreport
check "no standard output, and no need of it" sh -c '"$@" >&-' - \
	"$real" classify -q --db a.khdb --output x.tsv --report x.kreport 1.fq
same want.tsv x.tsv "no standard output, and no need of it: lines"
expect 1 "standard input: Bad file" "no standard input" sh -c '"$@" <&-' - "$real" classify -q --db a.khdb -
printf '>none\nACGTACGTACGTACGTACGT\n' >none.fa    # is warned of while the database is open
check "no standard error" sh -c '"$@" 2>&-' - "$real" build --max-unmapped .5 --db x.khdb -k 14 \
	--taxonomy "$data/taxonomy" --accession2taxid "$data/taxonomy/accession2taxid.tsv" "$data"/genomes/*.gz none.fa
check "no standard error: a sound database" "$real" verify x.khdb
rm -f x.tsv x.kreport x.khdb

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
set -- "$real" classify -q --db a.khdb --threads 1 --set block-size=1000 --output s.tsv --classified-out s.fq.gz
for sig in INT TERM HUP QUIT ALRM USR1 USR2 XCPU; do
	if [ $sig != INT ] && [ $sig != QUIT ] && sh -c "ulimit -c 0; kill -$sig \$\$; :" 2>/dev/null; then
		skip "SIG$sig" "the shell that runs this ignores it, and so does what it starts"
		continue
	fi
	case $sig in INT) status=130 ;; TERM) status=143 ;; HUP) status=129 ;; QUIT) status=131 ;;
	ALRM) status=142 ;; USR1) status=138 ;; USR2) status=140 ;; XCPU) status=152 ;; esac
	# A shell lets its background jobs ignore SIGINT and SIGQUIT; only another program can undo that.
	if [ $sig != INT ] && [ $sig != QUIT ]; then stopped $sig $status "$@"
	elif [ -n "$PYTHON3" ]; then
		stopped $sig $status "$PYTHON3" -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$@"
	else skip "SIG$sig" "no python3"; continue; fi
	nothing_left "SIG$sig" s.tsv s.fq.gz
done
# Process 1 of a container: the kernel keeps signals without a handler from it, also its own.
if unshare -pf --kill-child true 2>/dev/null; then
	for sig in TERM HUP USR1; do
		case $sig in TERM) status=143 ;; HUP) status=129 ;; USR1) status=138 ;; esac
		mkfifo in.one
		(exec 9>in.one; head -n 40 1.fq >&9; exec sleep 1000) & writer=$!
		unshare -pf --kill-child "$@" in.one 2>.err & pid=$!
		until_true two_files
		kill -$sig $(cat /proc/$pid/task/$pid/children); wait $pid; got=$?
		kill $writer 2>/dev/null; wait $writer 2>/dev/null; rm -f in.one
		check "SIG$sig as process 1: exit status $status" test $got -eq $status
		nothing_left "SIG$sig as process 1" s.tsv s.fq.gz
	done
else skip "signals as process 1" "no right to make a process 1"; fi
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
check "build -v: what the workers spent their time with" shares v.build 4
"$kmerhash" classify -v --db v.khdb --output v.out "$data/reads/tiny_sim_1.fq.gz" 2>v.classify
check "classify -v: the same" shares v.classify 6
plan
