# run_input.sh - bad and odd inputs: exit status, message, what is left (which inputs are bad, and their
# messages: tests/corpus); speaks TAP
. "$KH_SRCDIR/tests/tap.sh"

check "a database" build --db a.khdb "$data"/genomes/*.gz
gzip -dc "$data/reads/tiny_sim_1.fq.gz" >1.fq
gzip -dc "$data/reads/tiny_sim_2.fq.gz" >2.fq
cp "$data/reads/tiny_sim_1.fq.gz" 1.fq.gz
gzip -dc "$data"/genomes/Escherichia_virus_phiX174*.gz >phix.fa
outputs="o.tsv o.kreport o.json o.c.fq o.u.fq o.c_1.fq o.c_2.fq o.u_1.fq o.u_2.fq"

c() { classify --db a.khdb --output o.tsv --report o.kreport --json o.json --threads 2 "$@"; }
# bad "MESSAGE" NAME OPTIONS... READS: fails with 1 and that message, whatever the blocks
bad() {
	message=$1 name=$2; shift 2
	for block in 100 1M; do
		expect 1 "^kmerhash classify: .*$message" "$name, blocks of $block" \
			c --classified-out o.c#.fq --unclassified-out o.u#.fq --set block-size=$block "$@"
		check "$name: one line" test "$(wc -l <"$t/.err")" -eq 1
		nothing_left "$name" $outputs
	done
}
# good NAME LINES OPTIONS... READS: so many lines
good() {
	name=$1 lines=$2; shift 2
	rm -f $outputs
	expect 0 "" "$name" c "$@"
	check "$name: $lines lines" test "$(wc -l <o.tsv)" -eq "$lines"
	check "$name: all files are there" test -s o.kreport -a -s o.json
	rm -f $outputs
}

# --- mates ----------------------------------------------------------------------------
head -n 400 2.fq >short.fq
bad "(100.*300|300.*100)" "unequal mates" --paired 1.fq short.fq
sed '5s/.*/@other/' 2.fq >other.fq
bad "other" "mates of different names" --paired 1.fq other.fq
good "mates of different names, allowed" 300 --paired --set no-mate-check 1.fq other.fq
{ cat 1.fq; head -n 4 2.fq; } >odd.fq
bad "mate" "interleaved, an odd number" --interleaved --set no-mate-check odd.fq
for blank in ' ' '\t '; do
	awk -v b="$blank" 'NR % 4 == 1 { sub(/^@/, "@" b) } { print }' 1.fq >blank.fq
	good "names behind '@' and blanks" 300 blank.fq
	awk 'NR % 4 == 1 { sub(/^@/, ">"); print } NR % 4 == 2' blank.fq >blank.fa
	for f in 1.fq blank.fq blank.fa; do classify -q --db a.khdb --output $f.tsv $f; done
	same 1.fq.tsv blank.fq.tsv "names behind '@' and blanks: the same lines"
	same 1.fq.tsv blank.fa.tsv "names behind '>' and blanks: the same lines"
done
sed 's/^>/>  /' phix.fa >spaced.fa
check "references with blanks behind '>'" build --db s.khdb spaced.fa
build -q --db p.khdb phix.fa
same p.khdb s.khdb "references with blanks behind '>': the same"

# --- cut and damaged ---------------------------------------------------------------------
size=$(wc -c <1.fq)
head -c $((size - 20)) 1.fq >cut.fq
bad "cut.fq.*record 300" "FASTQ cut in its quality" cut.fq
size=$(wc -c <1.fq.gz)
head -c $((size / 2)) 1.fq.gz >cut.fq.gz
bad "cut.fq.gz" "gzip cut" cut.fq.gz
at=$((size / 3))
{ head -c $at 1.fq.gz; printf '\377\000\377'; tail -c +$((at + 4)) 1.fq.gz; } >flip.fq.gz
{ head -c $((size - 8)) 1.fq.gz; printf 'abcd'; tail -c 4 1.fq.gz; } >crc.fq.gz
{ cat 1.fq.gz; echo garbage; } >tail.fq.gz
# Threads that inflate together, in chunks of 4 KiB, say what one says.
for f in cut flip crc tail; do
	c $f.fq.gz 2>want
	KH_GZ_TOGETHER=1 c --set block-size=5000 $f.fq.gz 2>got
	same want got "inflated together: the same message for $f.fq.gz"
	check "inflated together: a message for $f.fq.gz" grep -q "^kmerhash classify: $f" got
done
if command -v bgzip >/dev/null; then
	bgzip -c 1.fq >1.bgz
	head -c -28 1.bgz >noeof.bgz
	good "BGZF without its end, allowed" 300 --set allow-no-eof noeof.bgz
else skip "BGZF without its end" "no bgzip"; fi

# --- not what it should be -----------------------------------------------------------------
echo "some text" >text
bad "text" "neither FASTA nor FASTQ" text
mkdir folder
bad "folder" "a folder" folder
bad "none.fq: No such file" "missing input" none.fq
# Inputs are looked at before the database is: the message is about them.
expect 1 "none.fq" "missing input, missing database" classify --db none.khdb 1.fq none.fq
expect 1 "none.khdb" "missing database" classify --db none.khdb 1.fq

# --- small, odd, right ----------------------------------------------------------------------------
: >empty.fq; : >empty2.fq
gzip -c empty.fq >empty.fq.gz
for f in empty.fq empty.fq.gz "--paired empty.fq empty2.fq" "--interleaved empty.fq"; do
	rm -f $outputs
	case $f in --*) names="o.c_1.fq o.c_2.fq o.u_1.fq o.u_2.fq" ;; *) names="o.c#.fq o.u#.fq" ;; esac
	expect 0 "" "empty: $f" c --classified-out o.c#.fq --unclassified-out o.u#.fq $f
	for o in o.tsv $names; do check "empty: $o is there" test -e $o -a ! -s $o; rm -f $o; done
	check "empty: report" grep -q 'R	1	root' o.kreport
	check "empty: summary" grep -q '"input": 0' o.json
done
expect 0 "" "empty: BGZF out" c --unclassified-out u.fq.gz empty.fq
check "empty: BGZF out is sound" gzip -t u.fq.gz
printf '@a\nACGTACG\n+\nIIIIIII\n@b\n\n+\n\n@c\nNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN\n+\nIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII\n' >odd.fq
printf 'U\ta\t0\t7\t0:0\nU\tb\t0\t0\t0:0\nU\tc\t0\t40\tA:27\n' >odd.want
c odd.fq; same odd.want o.tsv "short, empty, all N: U lines"
c phix.fa; cp o.tsv want.tsv
check "phiX174 is called as one read of 5386 bases" grep -q '^C	NC_001422.1	10847	5386' want.tsv
sed 's/T/U/g;1s/.*/>NC_001422.1/' phix.fa >rna.fa; c rna.fa; same want.tsv o.tsv "RNA"

# --- references ---------------------------------------------------------------------------------------
refs() {
	message=$1 name=$2; shift 2
	expect 1 "^kmerhash build: .*$message" "references: $name" build --db r.khdb --threads 2 --set block-size=500 -k 18 "$@"
	nothing_left "references: $name" r.khdb
}
refs "phix.fa is given twice: leave one out" "the same file twice" phix.fa phix.fa
refs "phix.fa and ./phix.fa are the same file: leave one out" "the same file by two names" phix.fa ./phix.fa
printf 'phix.fa\t10847\n' >phix.tsv; mkdir phix; ln phix.fa phix
refs "phix.fa is given twice: give it by --assemblies only" "a file in a table, and by its name" --assemblies phix.tsv phix.fa
refs "phix/phix.fa and phix.fa are the same file: give it by --assemblies only" "a file in a table, and in a folder" \
	--assemblies phix.tsv phix
expect 0 "" "references: without the folder, as the message says" build --db r.khdb -k 18 --assemblies phix.tsv
rm -f r.khdb
cat phix.fa >copy.fa
refs "copy.fa: sequence 'NC_001422.1' occurs for the second time .sequence 2 of the input.: leave a copy out" "a copy" phix.fa copy.fa
refs "1.fq" "FASTQ" 1.fq
refs "none.fa" "missing" phix.fa none.fa
refs "text" "no sequences" text
expect 0 "" "references: the same file twice, allowed" build --db r.khdb --set allow-duplicates phix.fa phix.fa
rm -f r.khdb
if [ "${KH_SLOW:-0}" = 1 ]; then
	kmerhash=$real                  # this may take minutes, and 15 GB of disk
	awk 'BEGIN { print ">NC_001422.1"; srand(1); s = ""; for (i = 0; i < 100000; i++) s = s substr("ACGT", 1 + int(rand() * 4), 1)
		for (i = 0; i < 43100; i++) print s }' >big.fa
	expect 0 "" "a reference of more than 4 GiB" build --memory 1G --db big.khdb -k 18 big.fa
	check "a reference of more than 4 GiB: its length" sh -c '"$1" inspect --targets big.khdb | grep -q "	4310000000	"' - "$kmerhash"
	expect 0 "" "a read of more than 4 GiB" classify --db a.khdb --output o.tsv big.fa
	check "a read of more than 4 GiB: its length" grep -q '	4310000000	' o.tsv
	rm -f big.fa big.khdb
else skip "a record of more than 4 GiB" "KH_SLOW=1 runs it"; fi
# --- without an end ------------------------------------------------------------------------
# Whatever has no line end is judged by its first bytes: 1 GB of address space is enough to refuse
# what is endless.  A sanitizer needs more than that for itself, and goes by the messages alone.
rm -f $outputs
bounded() { (ulimit -v 1000000; "$real" --version >/dev/null 2>&1) && ulimit -v 1000000; :; }
endless() { # "MESSAGE" NAME COMMAND-THAT-WRITES...
	message=$1 label=$2; shift 2
	for block in 1000 1M; do
		"$@" | (bounded; timeout 60 "$real" classify -q --device cpu --threads 1 --set block-size=$block \
			--db a.khdb --output o.tsv -) 2>said
		check "$label, blocks of $block: $message" grep -Eq "$message" said
	done
	nothing_left "$label" o.tsv
}
blanks() { yes '          ' | tr -d '\n'; }
endless "found byte 0x00" "zeros" cat /dev/zero
endless "more than 1 MiB of blanks" "blanks" blanks
endless "expected a nucleotide, found byte 0x00" "zeros in a record of FASTA" sh -c 'printf ">a\nACGT"; cat /dev/zero'
endless "expected a nucleotide, found byte 0x00" "zeros in a record of FASTQ" sh -c 'printf "@a\nACGT"; cat /dev/zero'
endless "found byte 0x00" "zeros far behind the start" sh -c 'printf ">a\n"; yes ACGTACGTACGT | head -c 3000000; cat /dev/zero'
endless "more than 64 MiB" "a header without end" sh -c 'printf ">"; yes | tr -d "\n"'
endless "more than 64 MiB" "a line of '+' without end" sh -c 'printf "@a\nACGT\n+"; yes | tr -d "\n"'
endless "more than 64 MiB longer|quality has" "qualities without end" sh -c 'printf "@a\nACGT\n+\n"; yes | tr -d "\n"'
endless "found byte 0x00" "a gzip bomb of zeros" sh -c 'head -c 100000000 /dev/zero | gzip -1; head -c 100000000 /dev/zero | gzip -1'
sed 's/^>.*/>phix/' phix.fa >one.fa
for what in "cat /dev/zero" "blanks"; do
	{ cat one.fa; $what; } | (bounded; timeout 60 "$real" build -q --threads 1 --set total-bases=5386 --db e.khdb \
		--taxonomy "$data/taxonomy" --max-unmapped 1 -) 2>said
	check "a reference and then $what" grep -Eq "found byte 0x00|more than 1 MiB of blanks" said
	nothing_left "a reference and then $what" e.khdb
done

# --- files that change, descriptors that do not block ----------------------------------------
mkfifo gate
for how in longer shorter; do
	cp 1.fq grows.fq; rm -f $outputs said
	{ c --threads 1 --paired --set no-mate-check --set block-size=1000 grows.fq gate 2>said; echo $? >status; } &
	exec 7>gate; head -n 40 2.fq >&7; until_true test -e said
	sleep 1
	if [ $how = longer ]; then cat 2.fq >>grows.fq; else head -c 20000 1.fq >cut; cat cut >grows.fq; fi
	tail -n +41 2.fq >&7; exec 7>&-; wait
	check "a file that becomes $how: exit status" test "$(cat status)" -eq 1
	check "a file that becomes $how: message" grep -q "grows.fq: became $how while it was read" said
	nothing_left "a file that becomes $how" $outputs
done
rm -f gate
if [ -n "$PYTHON3" ]; then
	# Both ends do not block, and what is at the other end takes its time.
	cat >slow.py <<'X'
import os, subprocess, sys, time
data = open(sys.argv[1], 'rb').read() * 20
r, w = os.pipe(); r2, w2 = os.pipe()
os.set_blocking(r, False); os.set_blocking(w2, False)
p = subprocess.Popen(sys.argv[3:], stdin=r, stdout=w2)
os.close(r); os.close(w2)
if os.fork() == 0:
    os.close(r2)
    for i in range(0, len(data), 300000):
        time.sleep(0.02); os.write(w, data[i:i + 300000])
    os._exit(0)
os.close(w)
out = open(sys.argv[2], 'wb')
while True:
    b = os.read(r2, 20000)
    if not b: break
    out.write(b); time.sleep(0.002)
sys.exit(p.wait())
X
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do cat 1.fq; done >20.fq
	classify --db a.khdb --output want.20 20.fq
	expect 0 "" "descriptors that do not block" "$PYTHON3" slow.py 1.fq got.20 "$real" classify -q --db a.khdb -
	same want.20 got.20 "descriptors that do not block: lines"
	expect 0 "" "inspect to one that does not block" "$PYTHON3" slow.py 1.fq got.txt "$real" inspect --targets a.khdb
	"$real" inspect --targets a.khdb >want.txt; same want.txt got.txt "inspect to one that does not block: all"
else skip "descriptors that do not block" "no python3"; fi

# --- two FIFOs of one writer --------------------------------------------------------------------
mkfifo f1 f2
for i in 1 2 3 4 5 6 7 8 9 10; do cat 1.fq; done >ten_1.fq
for i in 1 2 3 4 5 6 7 8 9 10; do cat 2.fq; done >ten_2.fq
(exec 5>f1 6>f2; trap '' PIPE; cat ten_1.fq >&5; cat ten_2.fq >&6) 2>/dev/null & writer=$!
rm -f $outputs
expect 1 "f2: nothing has come for 2 s, and f1, .* waits for it" "one writer, all of one file first" \
	env KMERHASH_MATE_TIMEOUT=2 "$real" classify -q --device cpu --db a.khdb --output o.tsv --threads 2 \
	--set block-size=2000 --paired f1 f2
kill $writer 2>/dev/null; wait $writer 2>/dev/null
nothing_left "one writer, all of one file first" o.tsv
rm f1 f2                # what the killed writer started may still hold them
mkfifo f1 f2
(exec 5>f1 6>f2
for i in 1 2 3 4 5 6 7 8 9 10; do cat 1.fq >&5; sleep 0.3; cat 2.fq >&6; done) & writer=$!
expect 0 "" "one writer, in turn" env KMERHASH_MATE_TIMEOUT=2 "$real" classify -q --device cpu --db a.khdb \
	--output o.tsv --threads 2 --paired f1 f2
wait $writer
classify --db a.khdb --output want.two --paired ten_1.fq ten_2.fq
same want.two o.tsv "one writer, in turn: lines"
rm -f $outputs

plan
