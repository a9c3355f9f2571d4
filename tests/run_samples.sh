# run_samples.sh - many samples by one load: the bytes of runs of their own, bad sheets, samples
# that fail, what is already done; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"

r=$data/reads
check "a database" build --db a.khdb "$data"/genomes/*.gz
for i in 1 2; do
	gzip -dc "$r/tiny_sim_$i.fq.gz" >sim_$i.fq
	gzip -dc "$r/sarscov2_real_$i.fq.gz" >real_$i.fq
done
cp "$r/tiny_sim_1.fq.gz" "sim 1.fq.gz"
tests_built=${KH_TESTS:-$(dirname "$real")/tests}
# samples OPTIONS...: the sheet's, in the folder out
samples() { "$kmerhash" classify --db a.khdb --samples sheet --outdir out "$@"; }
# alone SAMPLE OPTIONS...: a run of its own, in the folder own
alone() { s=$1; shift; classify --db a.khdb --output own/$s.tsv --report own/$s.report --json own/$s.json "$@"; }
json() { sed '/^  "run": {/,/^  }/d' "$1"; }
# as_alone SAMPLE: its files are those of its own run
as_alone() {
	same own/$1.tsv out/$1.tsv "$2, $1: lines"
	same own/$1.report out/$1.report "$2, $1: report"
	json own/$1.json >a; json out/$1.json >b; same a b "$2, $1: summary"
}

# --- sheets ---------------------------------------------------------------------------
cat >sheet <<EOF
sample	reads1	reads2
pairs	sim_1.fq	sim_2.fq
single	sim 1.fq.gz	
many	sim_1.fq	sim_2.fq
many	real_1.fq	real_2.fq
real.2	$r/sarscov2_real_1.fq.gz	$r/sarscov2_real_2.fq.gz
empty	none.fq	
many2	sim_2.fq	
EOF
: >none.fq
mkdir own
alone pairs --paired sim_1.fq sim_2.fq
alone single sim_1.fq
alone many --paired sim_1.fq sim_2.fq real_1.fq real_2.fq
alone real.2 --paired real_1.fq real_2.fq
alone empty none.fq
for threads in 1 2; do
	for block in 1M 500; do
		rm -rf out
		expect 0 "5 samples|6 samples" "$threads threads, blocks of $block" samples --threads $threads --set block-size=$block
		for s in pairs single many real.2 empty; do as_alone $s "$threads threads, blocks of $block"; done
	done
done
sed 's/	/,/g; 1s/.*/sample,run,fastq_1,fastq_2/; 2,$s/,/,"x, y",/; s/"x, y",sim 1.fq.gz/"x, y","sim 1.fq.gz"/' sheet | sed 's/$/\r/' >sheet.csv
cp sheet tsv; cp sheet.csv sheet; rm -rf out
expect 0 "" "a sheet as nf-core has it" samples
for s in pairs single many; do as_alone $s "a sheet as nf-core has it"; done
sed '1s/.*/sample	fq1	fq2/' tsv | gzip >sheet; rm -rf out
expect 0 "" "a sheet with fq1 and fq2, by gzip" samples; as_alone many "a sheet with fq1 and fq2"
printf 'sample\treads1\nsingle\tsim_1.fq\n' >sheet; rm -rf out
expect 0 "" "a sheet without second mates" samples; as_alone single "a sheet without second mates"

# single reads beside pairs: the lines of both, in order
printf 'sample\treads1\treads2\nmix\tsim_1.fq\tsim_2.fq\nmix\treal_1.fq\t\nmix\treal_1.fq.gz\treal_2.fq\n' >sheet
gzip -c real_1.fq >real_1.fq.gz
rm -rf out
expect 0 "" "single reads beside pairs" samples --classified-out c#.fq --unclassified-out u.fq.gz
classify --db a.khdb --output 1.tsv --paired --classified-out p#.fq --unclassified-out u1.fq sim_1.fq sim_2.fq
classify --db a.khdb --output 2.tsv --classified-out s.fq --unclassified-out u2.fq real_1.fq
classify --db a.khdb --output 3.tsv --paired --classified-out q#.fq --unclassified-out u3.fq real_1.fq real_2.fq
cat 1.tsv 2.tsv 3.tsv >want; same want out/mix.tsv "single reads beside pairs: lines"
cat p_1.fq q_1.fq >want; same want out/mix.c_1.fq "single reads beside pairs: first mates"
cat p_2.fq q_2.fq >want; same want out/mix.c_2.fq "single reads beside pairs: second mates"
same s.fq out/mix.c.fq "single reads beside pairs: single reads"
cat u1.fq u2.fq u3.fq >want; gzip -dc out/mix.u.fq.gz >got; same want got "single reads beside pairs: unclassified"
check "single reads beside pairs: report" test "$(awk '$5 == 0 || $5 == 1 { n += $2 } END { print n }' out/mix.report)" -eq "$(wc -l <out/mix.tsv)"

# --- options --------------------------------------------------------------------------
cp tsv sheet; rm -rf out
expect 0 "" "lines by gzip" samples --write lines.gz,report,json --set distinct
gzip -dc out/many.tsv.gz >got; same own/many.tsv got "lines by gzip: the same"
alone many --set distinct --paired sim_1.fq sim_2.fq real_1.fq real_2.fq
same own/many.report out/many.report "8 columns"
rm -rf out
expect 0 "" "no lines" samples --write report,json --confidence 0.3 -q
check "no lines: said nothing" test ! -s .err
check "no lines: there are none" test -z "$(ls out | grep tsv)"
alone many --confidence 0.3 --paired sim_1.fq sim_2.fq real_1.fq real_2.fq
same own/many.report out/many.report "no lines: the report"
check "a folder that merge takes" sh -c '"$1" merge out | head -n 1 | grep -q "empty	many	many2	pairs"' - "$kmerhash"
check "what is recorded" sh -c 'for w in \"xxh3\" \"mtime_ns\" \"checksum\" \"command\" \"parameters\" \"machine\"; do grep -q "$w" out/many.json || exit 1; done'

# --- bad sheets: all errors at once, before the database ----------------------------------
# bad "MESSAGE" NAME: of the sheet on standard input, which is not gone on with
bad() {
	rm -rf bad
	expect 1 "^kmerhash classify: $1" "$2" "$kmerhash" classify --db none.khdb --samples sheet --outdir bad
	cp .err all
	check "$2: nothing is there" test -z "$(ls bad 2>/dev/null)"
}
cat >sheet <<EOF
sample	reads1	reads2
a	missing.fq	
a b	sim_1.fq	
x/y	sim_1.fq	
c		sim_2.fq
d	sim_1.fq	sim_1.fq
e	sim_1.fq	
e	sim_1.fq	sim_2.fq
f	sim_1.fq
.g	sim_1.fq	
	sim_1.fq	
h	-	
i	$r	
EOF
bad 'sheet:3: column 1: "a b" cannot be the name' "bad rows"
for m in 'sheet:4: column 1: "x/y" cannot' 'sheet:5: column 2: no reads; expected a file, as there are second mates' \
	'sheet:6: column 3: "sim_1.fq" is named for both mates' 'sheet:8: column 2: "sim_1.fq" is named for sample e a second time' \
	'sheet:9: 2 columns, expected 3' 'sheet:10: column 1: ".g"' 'sheet:11: column 1: ""' 'sheet:12: column 2: "-" is not' \
	'missing.fq: No such file' "$r: is a"; do
	check "bad rows: $m" grep -Fq "$m" all
done
printf 'name\treads1\na\tsim_1.fq\n' >sheet; bad 'sheet:1: no column "sample"' "no samples"
printf 'sample,r\na,sim_1.fq\n' >sheet; bad 'sheet:1: no column "reads1"' "no reads"
printf 'sample,reads1,fq1\na,b,c\n' >sheet; bad 'sheet:1: column 3: "fq1" is there a second time' "reads twice"
printf 'sample,reads1\n"a,b\n' >sheet; bad 'sheet:2: column 1: a quotation mark' "a quote without an end"
printf 'sample,reads1\n' >sheet; bad 'sheet: no sample' "no rows"
printf '' >sheet; bad 'sheet: no sample' "an empty sheet"
printf 'sample\treads1\ta\n%s\t%s\tx\n' s out/s.tsv >sheet; mkdir -p out; cp sim_1.fq out/s.tsv
expect 2 'sheet: out/s.tsv is both an input and an output' "an output that is an input" samples
same sim_1.fq out/s.tsv "an output that is an input: it is untouched"
# A row a case: what would be written over, the message, a sample's name, the folder, options.
mkdir over over/refs; cp -r "$data/taxonomy" over/tax; cp "$data"/genomes/*.gz over/refs; cp a.khdb over/d.profile
cp over/tax/accession2taxid.tsv over/m.tsv; ln -s over links; mkdir -p over/tree/GCF_1.1
printf '{"accession":"GCF_1.1","organism":{"taxId":10847}}\n' >over/tree/assembly_data_report.jsonl
gzip -dc "$data"/genomes/Escherichia_virus_phiX174*.gz >over/tree/GCF_1.1/x.fna
sums() { find over -type f | sort | xargs cksum; }
refs="--taxonomy over/tax --accession2taxid over/m.tsv"
while IFS='|' read -r what message sample outdir options; do
	printf 'sample\treads1\n%s\tsim_1.fq\n' "$sample" >over/run1.tsv; sums >sums.was
	expect 2 "$message" "over $what" "$kmerhash" classify --samples over/run1.tsv --outdir "$outdir" $options
	sums >sums.is; same sums.was sums.is "over $what: it is untouched"
done <<EOF
the sheet|both the sheet and an output|run1|over|--db a.khdb
the sheet, by a link|both the sheet and an output|run1|links|--db a.khdb
the database, by a page|both the database and an output|s|over/x|--db over/d.profile --html over/d.profile
the database, by a profile|both the database and an output|d|over|--db over/d.profile --profile profile
the reads|both an input and an output|s|over/x|--db a.khdb --html sim_1.fq
EOF
sums >sums.was
expect 2 "both the report of a tree and an output" "build over the report of a tree" "$kmerhash" build $refs \
	--db over/tree/assembly_data_report.jsonl over/tree
sums >sums.is; same sums.was sums.is "of operands: it is untouched"
# Reads twice, by whatever names; what is no file only once.
mkfifo pipe; ln -s sim_1.fq link.fq; ln sim_2.fq hard.fq
while IFS='|' read -r message rows; do
	printf "sample\treads1\treads2\n$rows" >sheet; rm -rf bad
	expect 1 "$message" "twice: $rows" "$kmerhash" classify --db a.khdb --samples sheet --outdir bad </dev/zero
	nothing_left "twice: $rows" bad
done <<'EOF'
sheet:3: column 2: "./sim_1.fq" is named for sample a a second time|a\tsim_1.fq\t\na\t./sim_1.fq\t\n
sheet:3: column 2: "link.fq" is named for sample a a second time|a\tsim_1.fq\tsim_2.fq\na\tlink.fq\t\n
sheet:2: column 3: "hard.fq" is named for sample a a second time|a\tsim_2.fq\thard.fq\n
sheet:5: column 2: "link.fq" is named for sample a a second time|a\tsim_1.fq\t\nb\tsim_1.fq\t\nc\tsim_2.fq\t\na\tlink.fq\t\n
sheet:3: column 2: "./pipe" is no file: it can be read only once, and sample a has it|a\tpipe\t\nb\t./pipe\t\n
sheet:3: column 2: "pipe" is named for sample a a second time|a\tpipe\t\na\tpipe\t\n
sheet:3: column 2: "/dev/stdin" is no file|a\t/dev/fd/0\t\nb\t/dev/stdin\t\n
EOF
printf 'sample\treads1\na\tsim_1.fq\nb\tlink.fq\nc\t/dev/null\nd\t/dev/null\n' >sheet; rm -rf out
expect 0 "" "the same file for two samples" samples; same out/a.tsv out/b.tsv "the same file for two samples"
expect 2 "can be read only once" "one stream twice, of operands" sh -c 'cat sim_1.fq | "$1" classify --db a.khdb --output x.tsv - /dev/stdin' - "$kmerhash"
expect 2 "link.fq is named twice, the other time as sim_1.fq: its reads would count twice" "one file twice, of operands" \
	"$kmerhash" classify --db a.khdb --output x.tsv sim_1.fq link.fq
cp tsv sheet
for w in lines,lines.gz lines.gz,report,lines paf,json,paf.gz; do
	expect 2 "(lines|paf)(.gz)? or (lines|paf)(.gz)?, not both" "--write $w" samples --write $w
done
for o in "--classified-out " "--unclassified-out " "--profile " "--paf "; do
	expect 2 "has no '/'" "${o}with a slash" samples $o/tmp/x/c.fq
done
cp tsv sheet
expect 2 "needs --outdir" "no folder" "$kmerhash" classify --db a.khdb --samples sheet
expect 2 "need --samples" "a folder without a sheet" "$kmerhash" classify --db a.khdb --outdir out sim_1.fq
expect 2 "not both" "a sheet and reads" samples sim_1.fq
expect 2 "no --output, --report" "a sheet and a report" samples --report x
expect 2 "which reads are paired" "a sheet and --paired" samples --paired
expect 2 "write: 'x' is none of" "a result that is none" samples --write report,x
expect 1 "none/out: cannot be made: No such file" "a folder that cannot be made" classify --db a.khdb --samples sheet --outdir none/out
expect 1 "sim_1.fq: is no folder" "a folder that is a file" classify --db a.khdb --samples sheet --outdir sim_1.fq
expect 1 "nosheet" "a sheet that is missing" classify --db a.khdb --samples nosheet --outdir out

cp tsv sheet; rm -rf out; mkdir -p out/single.tsv
expect 1 "nothing is classified" "a run with a folder in place of a result" samples
rm -rf out

# --- samples that fail -------------------------------------------------------------------
head -c 20000 sim_1.fq >cut.fq
{ head -n 3 tsv; echo "bad	cut.fq	"; tail -n +4 tsv; echo "odd	sim_1.fq	real_1.fq"; } >sheet
rm -rf out
expect 1 'sample bad: cut.fq:250: record' "samples that fail, --set keep-going" samples --set keep-going
cp .err all
check "samples that fail: both are told" grep -q 'sample odd: ' all
check "samples that fail: how many" grep -q '2 of 8 samples failed' all
nothing_left "samples that fail" out/bad.tsv out/bad.report out/bad.json out/odd.tsv out/odd.json
alone pairs --paired sim_1.fq sim_2.fq
alone single sim_1.fq
alone many --paired sim_1.fq sim_2.fq real_1.fq real_2.fq
for s in pairs single many; do as_alone $s "beside samples that fail"; done
rm -rf out
expect 1 'stopped, [0-9]* of 8 samples (is|are) done' "samples that fail, without it" samples --threads 1
nothing_left "samples that fail, without it" out/bad.tsv out/many2.json
check "samples that fail, without it: what was done before is there" test -s out/pairs.json

# A FIFO that nobody writes to, or that gives nothing, does not keep a run that has failed.
mkfifo dead; printf 'sample\treads1\nwait\tdead\nbad\tcut.fq\n' >sheet
expect 1 "stopped, 0 of 2 samples are done" "a FIFO without a writer" timeout 60 "$kmerhash" classify --db a.khdb --samples sheet --outdir out --threads 2
sleep 100 >dead & idle=$!
expect 1 "stopped, 0 of 2 samples are done" "a FIFO that gives nothing" timeout 60 "$kmerhash" classify --db a.khdb --samples sheet --outdir out --threads 2
kill $idle; wait $idle 2>.err
# Names of files that are not UTF-8 stand in summaries.
printf 'sample\treads1\nodd\tsim_1.fq\n' >sheet; odd=$(printf '\344')
expect 0 "" "names that are not UTF-8" samples --profile $odd.tsv --classified-out $odd --unclassified-out u$odd
check "names that are not UTF-8: recorded" grep -q '\\\\xe4.tsv' out/odd.json
expect 0 "is there already" "names that are not UTF-8: done" samples --resume --profile $odd.tsv --classified-out $odd --unclassified-out u$odd

# --- what is already done -------------------------------------------------------------------
cp tsv sheet; rm -rf out
expect 0 "" "a first run" samples
cp -r out first; touch stamp; sleep 0.1
expect 0 "sample many: is there already" "--resume" samples --resume
check "--resume: all six" test "$(grep -c 'is there already' .err)" -eq 6
check "--resume: nothing is written" test -z "$(find out -newer stamp)"
rm out/pairs.tsv
cat real_1.fq sim_1.fq >"sim 1.fq"; gzip -c "sim 1.fq" >"sim 1.fq.gz"
expect 0 "" "--resume: an output is missing, an input is another" samples --resume
check "--resume: these two are done" test "$(grep -c 'is there already' .err)" -eq 4
same first/pairs.tsv out/pairs.tsv "--resume: the missing one is there again"
check "--resume: the other one is done anew" test "$(wc -l <out/single.tsv)" -eq 400
touch sim_1.fq
expect 0 "" "--resume: the time of an input is another" samples --resume
check "--resume: so its samples are done" test "$(grep -c 'is there already' .err)" -eq 4
expect 0 "" "--resume: another parameter" samples --resume --confidence 0.1
check "--resume: then all are done" test "$(grep -c 'is there already' .err)" -eq 0
head -c 500 sim_1.fq >bad.fq
printf 'sample\treads1\treads2\nfirst\tsim_1.fq\t\n' >two.tsv
classify --db a.khdb --samples two.tsv --outdir two; printf 'bad\tbad.fq\t\n' >>two.tsv
expect 1 "stopped, 0 of 2 samples are done, 1 was before" "--resume: one was done, one fails" \
	"$kmerhash" classify --db a.khdb --samples two.tsv --outdir two --resume --threads 1
build --db b.khdb -k 16 "$data"/genomes/*.gz
expect 0 "" "--resume: another database" "$kmerhash" classify --db b.khdb --confidence 0.1 --samples sheet --outdir out --resume
check "--resume: then all are done, too" test "$(grep -c 'is there already' .err)" -eq 0
mkdir moved; mv b.khdb moved
expect 0 "" "--resume: the database has moved" "$kmerhash" classify --db moved/b.khdb --confidence 0.1 --samples sheet --outdir out --resume
check "--resume: then none is" test "$(grep -c 'is there already' .err)" -eq 6
echo "{" >out/many.json
expect 0 "" "--resume: a summary that is damaged" "$kmerhash" classify --db moved --confidence 0.1 --samples sheet --outdir out --resume
check "--resume: that sample is done" test "$(grep -c 'is there already' .err)" -eq 5

# --- names by --prefix and --write ------------------------------------------------------------
mkdir pre
# prefixed FILES OPTIONS...: a run with --prefix makes these files
prefixed() {
	want=$1; shift
	check "--prefix $*" classify --db a.khdb --prefix pre/x "$@" sim_1.fq
	check "--prefix $*: its files" test "$(ls pre | tr '\n' ' ')" = "$want "
}
classify --db a.khdb --report want.report --html want.html --profile want.profile.tsv \
	--output want.tsv sim_1.fq
prefixed "x.json x.report x.tsv"; same want.tsv pre/x.tsv "--prefix: the lines"; same want.report pre/x.report "--prefix: the report"
rm pre/*; prefixed "x.html x.profile.tsv x.report x.tsv.gz" --write lines.gz,report,html,profile
gzip -dc pre/x.tsv.gz >got; same want.tsv got "--write: lines by gzip"
for e in profile.tsv; do same want.$e pre/x.$e "--write: $e"; done
rm pre/*; prefixed "r x.json" --report pre/r --output -
rm pre/*; prefixed "x.json" --write json
check "--prefix: no lines on the standard output" test ! -s .out
expect 1 "no-such/x.*: No such file" "--prefix: a folder that is not there" classify --db a.khdb --prefix no-such/x sim_1.fq
expect 2 "write: '' is none of" "--write: nothing" classify --db a.khdb --prefix pre/y --write report, sim_1.fq
expect 2 "needs --prefix" "--write: no names" classify --db a.khdb --write report sim_1.fq
expect 2 "--prefix or" "--prefix beside a sheet" samples --prefix pre/x
expect 2 "json among --write" "--resume without summaries" samples --resume --write report
rm -rf out; expect 0 "" "samples: --write" samples --write report,html,profile
check "samples: --write: their files" test "$(ls out | sed 's/^real\.2/real2/; s/^[^.]*\.//' | sort -u | tr '\n' ' ')" = "html profile.tsv report "
check "samples: --write: the page of all, and of each" test "$(ls out/*.html | wc -l)" -eq "$(($(ls out/*.report | wc -l) + 1))"

# resumed "MESSAGE or empty" NAME: one sample s of the sheet, in $into; s.tsv is that of a new run
into=res
resumed() {
	rm -rf new; classify --db a.khdb --samples sheet --outdir new
	expect 0 "" "$2" "$kmerhash" classify --db a.khdb --samples sheet --outdir "$into" --resume
	check "$2: is it there?" test "$(grep -c 'is there already' .err)" -eq $([ -z "$1" ] && echo 0 || echo 1)
	same new/s.tsv "$into/s.tsv" "$2: the lines of a new run"
}
printf 'sample\treads1\treads2\ns\tsim_1.fq\t\ns\tsim_2.fq\t\n' >sheet
resumed "" "single reads"; resumed "there already" "single reads again"
printf 'sample\treads1\treads2\ns\tsim_1.fq\tsim_2.fq\n' >sheet
resumed "" "mended to pairs"; resumed "there already" "pairs again"
cp -r res copy; rm copy/s.tsv; into=copy; resumed "" "a copied folder with a hole"
cp -r res copied; into=copied; resumed "there already" "a copied folder"
rm -rf res; resumed "there already" "a copied folder, the first one is gone"
printf x | dd of=copied/s.tsv bs=1 seek=5 conv=notrunc 2>.err; resumed "" "a byte of the lines is another"
into=$(printf 'n\377'); resumed "" "a folder that is not UTF-8"; resumed "there already" "a folder that is not UTF-8, again"
mkfifo stream; printf 'sample\treads1\ns\tstream\n' >sheet; into=piped
(cat sim_1.fq >stream) & expect 0 "" "a stream" "$kmerhash" classify --db a.khdb --samples sheet --outdir piped; wait
(cat real_1.fq >stream) & expect 0 "" "other data by a stream" "$kmerhash" classify --db a.khdb --samples sheet --outdir piped --resume; wait
check "other data by a stream: is read" test "$(wc -l <piped/s.tsv)" -eq "$(($(wc -l <real_1.fq) / 4))"
printf 'sample\treads1\ns\tsim_1.fq\n' >sheet; rm -rf piped; mkdir piped; mkfifo piped/s.json
(cat piped/s.json >got) & expect 0 "" "a stream in place of a summary" "$kmerhash" classify --db a.khdb --samples sheet --outdir piped --resume; wait
check "a stream in place of a summary: it gets one" grep -q '"fragments"' got
# Killed between the renames of a run with other parameters, over older results.
if [ -f "$tests_built/preload_fail.so" ]; then
	printf 'sample\treads1\ns\tsim_1.fq\n' >sheet; into=killed
	classify --db a.khdb --samples sheet --outdir killed; cp -r killed killed.was
	for i in 1 2 3; do
		rm -rf killed; cp -r killed.was killed
		LD_PRELOAD=$tests_built/preload_fail.so KH_FAIL=rename:$i KH_FAIL_HOW=kill "$real" classify -q --db a.khdb --samples sheet \
			--outdir killed --use-names 2>.err
		check "killed before rename $i" test $? -eq 137
		resumed "" "killed before rename $i, then run as before"
	done
else skip "killed between renames" "no preload_fail.so"; fi
if [ -n "${PYTHON3:-}" ] && [ -f "$tests_built/preload_fail.so" ]; then
	one=$(ls "$data"/genomes/Escherichia_virus_phiX174*.gz)
	build --db one.khdb -k 14 "$one"
	check "random histories of --resume" env KH_GENOME="$one" "$PYTHON3" "$tests/resume_states.py" "$real" one.khdb \
		"$tests_built/preload_fail.so" states $([ -n "${KH_SLOW:-}" ] && echo 500 || echo 25) ${KH_SEED:-1}
else skip "random histories" "no python3, or no preload_fail.so"; fi

# --- a page of all samples ------------------------------------------------------------------
# data_of PAGE: taxa and samples, without what the run says of itself, as in its commands
data_of() { sed -n 's/,"readout":\["[^]]*\]//g; s/.*id="data">\(.*\)"facts":.*/\1/p' "$1"; }
cp tsv sheet; rm -rf out
gzip -dc "$r/tiny_sim_1.fq.gz" | gzip >"sim 1.fq.gz"
expect 0 "" "a page" samples --html all.html --write report,json
awk -F '\t' 'NR > 1 && !seen[$1]++ { print $1 "\tout/" $1 ".report" }' tsv >names
"$kmerhash" merge -q --format html --list names --output want.html
data_of all.html >got; data_of want.html >want
check "a page: it has the samples" grep -q '"many2"' got
same want got "a page: as merge makes it of the reports"
expect 0 "is there already" "a page, when all is there" samples --html again.html.gz --write report,json --resume
gzip -dc again.html.gz >again.html; data_of again.html >got; same want got "a page, when all is there: the same"
echo "bad	cut.fq	" >>sheet
expect 1 "1 of 7 samples failed" "a page beside a sample that fails" samples --html bad.html --write report,json --set keep-going
data_of bad.html >got; same want got "a page beside a sample that fails: of the others"
expect 1 "stopped" "no page where all stops" samples --html none.html --write report,json --threads 1
nothing_left "no page where all stops" none.html
cat >told.py <<'EOF'
# What profiles say in the page of all samples is what they say in the page of each, of more digits; but
# for the last column, the second-best species.
from page_data import page_data


def values(page, sample):
    return {page["taxa"]["taxid"][int(i)]: v for i, v in sample["values"].items() if v[3] or v[1]}


def same(x, y):
    return abs(x - y) < 0.02 if isinstance(x, float) and isinstance(y, float) else x == y


every, seen = page_data("all.html"), 0
for sample in every["samples"]:
    page = page_data("out/%s.html" % sample["name"])
    have, want = values(every, sample), values(page, page["samples"][0])
    assert page["samples"][0]["name"] == sample["name"]
    assert have.keys() == want.keys(), (sample["name"], have.keys() ^ want.keys())
    for taxid, row in have.items():
        assert all(map(same, row[:-1], want[taxid])), (sample["name"], row, want[taxid])
        seen += row[0] == "yes"
assert seen >= 4, seen
EOF
cp tsv sheet; rm -rf out
expect 0 "" "pages with profiles" samples --html all.html --write html,report,json --sample-pass
by_python "pages with profiles: that of all has what those of each have" told.py
"$kmerhash" merge -q --format html --list names --set profile=profile.tsv --output want.html
data_of all.html >got; data_of want.html >want; same want got "pages with profiles: as merge makes them"
expect 0 "is there already" "pages with profiles, when all is there" samples --html again.html --write html,report,json --sample-pass --resume
data_of again.html >got; same want got "pages with profiles, when all is there: the same"
expect 2 "mpa-style" "a page of reports without counts" samples --html none.html --set mpa-style
expect 1 "No such file" "a page in a folder that is not there" samples --html none/all.html
check "a page in a folder that is not there: nothing is classified" sh -c '! grep -q "sample" .err'
cp tsv sheet
expect 2 "both an input and an output" "a page over reads" samples --html sim_2.fq

# --- killed, and run again -------------------------------------------------------------------
rm -rf out; mkfifo fifo
{ cat tsv; echo "last	fifo	"; } >sheet
"$real" classify -q --db a.khdb --samples sheet --outdir out 2>.err &
pid=$!
until_true test -s out/many2.json
kill -KILL $pid; wait $pid 2>.err
check "killed: what was done is there" test -s out/many.json -a -s out/single.tsv
check "killed: what was not is not" test ! -e out/last.json -a ! -e out/last.tsv
(cat sim_1.fq >fifo) &
expect 0 "sample many: is there already" "killed: run again" samples --resume
wait
check "killed: all is there" test -s out/last.json -a "$(wc -l <out/last.tsv)" -eq 300
nothing_left "killed"

# --- many of them: memory, and temporary files -------------------------------------------------
{ echo "sample	reads1"; i=0; while [ $i -lt 150 ]; do i=$((i + 1)); echo "s$i	sim_1.fq"; done; } >sheet
rm -rf out
expect 0 "150 samples" "150 samples" samples --write report,json --html 150.html
check "150 samples: all are there" test "$(ls out | wc -l)" -eq 300
check "150 samples: their page has them" test "$(grep -o '"unclassified":' 150.html | wc -l)" -eq 150
awk 'BEGIN { print "sample\treads1"; for (i = 0; i < 20000; i++) print "s\tnone" i ".fq" }' >large
expect 1 "more errors are not shown" "20000 files of a sample" timeout 20 "$kmerhash" classify --db a.khdb --samples large --outdir out
check "150 samples: all alike" test "$(cksum out/*.report | cut -d ' ' -f 1 | sort -u | wc -l)" -eq 1
nothing_left "150 samples"
plan
