# run_cmd.sh - what is common to commands: help, versions, dry runs; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"

# --- help and versions -------------------------------------------------------------------------
"$real" -h >want; "$real" help >got; same want got "help: the list of commands"
for c in $(sed -n 's/^  \([a-z-]*\) .*/\1/p' want); do
	"$real" $c -h >want.c; "$real" help $c >got.c
	same want.c got.c "help $c"
done
expect 2 "'none' is not a command" "help of what is no command" "$real" help none
has() { printf '%s\n' "$2" >.line; name=$1; shift 2; check "$name" grep -Eq -f .line "$@"; }
"$real" --version >one; "$real" --version -v >all; "$real" version --verbose >all.2
sed -i 's/^\(memory\t\)[0-9.]*/\1N/' all.2; sed 's/^\(memory\t\)[0-9.]*/\1N/' all >all.1      # others take memory meanwhile
same all.1 all.2 "--version -v: version --verbose"
check "--version: one line" test "$(wc -l <one)" -eq 1
head -n 1 all >first; same one first "--version -v begins with it"
for line in 'build	.*(gcc|clang).*, with(out)? CUDA' 'libraries	zlib [0-9.]+, jansson' 'cpu	[0-9]+ threads' \
	'memory	[0-9.]+ GB left ' 'devices	cpu; '; do
	has "--version -v: ${line%%	*}" "^$line" all
done
expect 2 "takes no 'x'" "--version x" "$real" --version x

# --- configure --with-cuda-arch, with a compiler that only looks like nvcc ----------------------------
mkdir -p cuda/bin cuda/lib64 made; ar cr cuda/lib64/libcudart_static.a
cat >cuda/bin/nvcc <<'X' && chmod +x cuda/bin/nvcc
#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" != -o ] || o=$2; shift; done
echo 'int f(int *p); int f(int *p) { return p != 0; }' | ${CC:-cc} -x c -c -o "$o" -
X
name="machine code of each architecture, and PTX of the newest"
if [ -e "$KH_SRCDIR/config.status" ]; then skip "$name" "the source folder is configured itself"; else
	(cd made && unset NVCC NVCCFLAGS && "$KH_SRCDIR/configure" -q --with-cuda="$t/cuda" --with-cuda-arch="100 80,90") >.err 2>&1
	has "$name" '^CUDA_ARCH_FLAGS = .*,code=sm_100 .*,code=sm_80 .*,code=sm_90 .*_100,code=compute_100$' made/Makefile
fi

# --- a folder that cannot be made ----------------------------------------------------------------
check "a database" build --db made.khdb "$data"/genomes/*.gz
check "a report" classify --db made.khdb --report s.report --output - "$data/reads/tiny_sim_1.fq.gz"
for folder in /sys/kmerhash none/folder; do
	[ -d "${folder%/*}" ] || [ $folder = none/folder ] || continue
	expect 1 "^kmerhash merge: $folder: cannot be made: " "merge into $folder" "$real" merge --outdir $folder s.report
	expect 1 "^kmerhash inspect: $folder: cannot be made: " "inspect into $folder" "$real" inspect --taxdump $folder made.khdb
	expect 1 "^kmerhash bracken-distrib: $folder: cannot be made: " "bracken-distrib into $folder" \
		"$real" bracken-distrib --db made.khdb --outdir $folder "$data/genomes"
done
expect 1 "^kmerhash merge: s.report: is no folder" "merge into a file" "$real" merge --outdir s.report s.report

# --- options and settings ------------------------------------------------------------------------
expect 2 "unknown option '--reprot', did you mean --report?" "an option that is misspelt" "$real" classify --reprot x
expect 2 "unknown option '--quux' " "one that is nothing like it" "$real" classify --quux
expect 2 "option '--re' may be --report, --resume" "an option cut too short" "$real" classify --re x
expect 2 "option '--h' may be --html, --help" "so is one of --help" "$real" classify --h
# Every prefix that one option of -h alone begins with is this option: it lacks its argument, or has one too many.
prefixes() {
	"$real" "$1" -h | sed -n 's/^  \(-.,\|   \) --\([a-z0-9-]* [A-Z]*\).*/\2/p' | awk '
		{ for (i = 1; i <= length($1); i++) { p = substr($1, 1, i); n[p]++; arg[p] = $2 } }
		END { for (p in n) if (n[p] == 1) print "--" p (arg[p] ? "" : "=x") }'
}
for c in $(sed -n 's/^  \([a-z-]*\) .*/\1/p' want); do
	prefixes "$c" >words
	while read -r word; do "$real" "$c" "$word" 2>&1; done <words | grep -v "option '--.*' \(needs an\|takes no\) argument" >said
	check "options of $c, shortened" test -s words -a ! -s said
	sed 's/^/# /' said
done
expect 2 "option '--paired' takes no argument" "an argument that is too many" "$real" classify --paired=3
expect 2 "unknown option '-K'" "a letter" "$real" classify -K
for word in -db -db=x -output -read-length -max-db-size=3G; do
	case $word in -r*) command=bracken-distrib ;; -m*) command=build ;; *) command=classify ;; esac
	expect 2 "^kmerhash $command: ${word%%=*} has one dash: -${word%%=*} " "$word" "$real" $command $word x y
done
expect 1 "y: No such file" "letters together" "$real" classify -qdx -ol -- y -db
expect 2 "'--db' is not a command, did you mean kmerhash classify --db ...?" "no command, but an option of two" "$real" --db X reads.fq
expect 2 "'--db=X' is not a command, did you mean kmerhash classify --db=X ...?" "no command, but an option with its value" "$real" --db=X reads.fq
expect 2 "'-p' is not a command, did you mean kmerhash classify -p ...?" "no command, but a letter" "$real" -p 4
expect 2 "'--taxonomy' is not a command, did you mean kmerhash build --taxonomy ...?" "no command, but an option of build" "$real" --taxonomy t
expect 2 "'--none' is not a command .kmerhash help lists them.$" "no command, and an option of none" "$real" --none
expect 2 "'verfy' is not a command, did you mean verify?" "a command that is misspelt" "$real" verfy
expect 2 "max-unmapped 1 does the same" "an option that is gone" "$real" build --allow-unmapped
expect 2 "set smer-len needs a value: --set smer-len=N" "a setting without its value" "$real" build --set smer-len
expect 2 "smer-len is a setting: --set smer-len=N" "a setting as an option" "$real" build --smer-len 9
expect 2 "no-verify is a setting: --set no-verify " "a setting without a value as an option" "$real" classify --no-verify
expect 2 "set smer-len: 'x' is not a whole number" "a value that is none" "$real" build --set smer-len=x
expect 2 "set keep-repeats takes no value" "a value that is too many" "$real" build --set keep-repeats=1
expect 2 "'smer' is none of the settings" "a setting that is none" "$real" build --set smer=3
expect 0 "" "settings are listed" "$real" build --set help
has "settings are listed: one" '^  smer-len=N  ' .out

# --- a machine without a GPU -----------------------------------------------------------------------
CUDA_VISIBLE_DEVICES= "$real" build --db a.khdb --taxonomy "$data/taxonomy" \
	--accession2taxid "$data/taxonomy/accession2taxid.tsv" "$data"/genomes/*.gz 2>said
check "no GPU: not a word of CUDA" sh -c '! grep -i cuda said'

# --- dry runs ----------------------------------------------------------------------------------------
dry_build() { build --dry-run "$@" "$data"/genomes/*.gz; }
dry_build --db x.khdb >plan
nothing_left "build --dry-run" x.khdb
for line in 'references	6' 'bases	192055' 'k	14' 'features	[0-9]+' 'share of features	[01][.][0-9]+' 'holds bases	yes' 'memory	[0-9]+	[0-9.]+ ([kM]B|bytes)' 'temporary file	[0-9]+	[0-9.]+ ([kM]B|bytes)' 'database	[0-9]+	[0-9.]+ ([kM]B|bytes)' \
	'seconds to read	[0-9]+[.][0-9]' 'seconds to find taxa	[0-9]+[.][0-9]'; do
	has "build --dry-run: ${line%%	*}" "^$line\$" plan
done
# What it foretells is what comes, within a sixth: also of many strains, and of a part of the features.
value() { sed -n "s/^$1	//p" plan | cut -f 1; }
# foretold NAME DATABASE: the size and the features
foretold() {
	check "build --dry-run: the size, $1" awk -v is="$(wc -c <"$2")" -v said="$(value database)" 'BEGIN { exit !(said * 6 > is * 5 && said * 6 < is * 7) }'
	check "build --dry-run: the features, $1" awk -v is="$("$real" inspect "$2" | sed -n 's/^features	//p')" -v said="$(value features)" \
		'BEGIN { exit !(said * 6 > is * 5 && said * 6 < is * 7) }'
	check "build --dry-run: the share, $1" awk -v is="$("$real" inspect "$2" | sed -n 's/^share of features	//p')" -v said="$(value "share of features")" \
		'BEGIN { exit !(said * 6 > is * 5 && said * 6 < is * 7) }'
}
foretold "a few genomes" a.khdb
# an index alone, and the least size with bases that the warning names
expect 0 "warning: --max-db-size 100K has no room for the bases of the references: an index alone" "an index alone" \
	"$real" build --taxonomy "$data/taxonomy" --accession2taxid "$data/taxonomy/accession2taxid.tsv" --max-db-size 100K --db thin.khdb "$data"/genomes/*.gz
"$real" build --dry-run --taxonomy "$data/taxonomy" --accession2taxid "$data/taxonomy/accession2taxid.tsv" --max-db-size 100K --db x.khdb \
	"$data"/genomes/*.gz >plan 2>said
roomy=$(sed -n 's/.*GPUs; \([0-9]*K\) has room for them$/\1/p' said)
foretold "an index alone" thin.khdb
has "build --dry-run: no bases" '^holds bases	no$' plan
for k in "$roomy" "$((${roomy%K} - 1))K"; do
	build --max-db-size "$k" --db "$k.khdb" "$data"/genomes/*.gz
	"$real" inspect "$k.khdb" | sed -n 's/^bases of text	//p'
done >texts
printf '%s\n' 192055 0 >bounds; same bounds texts "bases from the size on that the warning names"
: >empty.fa
build --dry-run --db x.khdb "$data"/genomes/*.gz empty.fa >plan
foretold "a file without sequences" a.khdb
if [ -n "${PYTHON3:-}" ] && [ "$PYTHON3" != : ]; then
	# 30 strains of each of 2 species of 400 kbp, at one base in a hundred
	"$PYTHON3" -c 'import random
random.seed(7)
with open("strains.fa", "w") as f, open("strains.map", "w") as m:
    for taxid in (10847, 10710):
        species = random.choices("ACGT", k=400000)
        for n in range(30):
            strain = [random.choice("ACGT") if random.random() < .01 else c for c in species]
            print(">s%d.%d\n%s" % (taxid, n, "".join(strain)), file=f)
            print("s%d.%d\t%d" % (taxid, n, taxid), file=m)'
	for o in "" "--set scheme=minhash" "--set keep-all"; do
		set -- -q --taxonomy "$data/taxonomy" --seqid2taxid strains.map $o --db strains.khdb strains.fa
		"$real" build --dry-run "$@" >plan; "$real" build "$@"
		foretold "strains ${o:-as usual}" strains.khdb
	done
	rm strains.*
else skip "build --dry-run: the size of many strains" "no python3"; fi
dry_build --db x.khdb --max-db-size 150K >plan
check "build --dry-run: a limit of size" test "$(value database)" -le 153600 -a "$(value database)" -gt 150000
for dry in "" --dry-run; do
	expect 2 "max-db-size 40K is too small: targets, taxa and an empty index need 5[0-9]K$" "build $dry: a limit that is too small" \
		"$real" build $dry --taxonomy "$data/taxonomy" --accession2taxid "$data/taxonomy/accession2taxid.tsv" --max-db-size 40K --db x.khdb "$data"/genomes/*.gz
done
expect 2 "max-db-size: 0 is less than 1" "build: a limit of no bytes" build --db x.khdb --max-db-size 0 "$data"/genomes/*.gz
expect 1 "no-such/x.khdb: " "build --dry-run: a folder that is not there" dry_build --db no-such/x.khdb
expect 1 "none.tsv: No such file" "build --dry-run: a table that is not there" dry_build --db x.khdb --seqid2taxid none.tsv
expect 2 "device 'gpu' is not one of auto, cpu, cuda" "build --device of another name" build --device gpu --db x.khdb "$data"/genomes/*.gz
expect 1 "none.fa: No such file" "build --dry-run: a reference that is not there" build --dry-run --db x.khdb none.fa

# --- messages on input that is kept in a file, to be read twice ----------------------------------------
cat "$data"/genomes/*.gz | head -c 1000 >cut.gz; mkfifo genome.fa.gz
expect 1 "build: standard input: gzip data end early at byte 1000" "build: standard input that is cut" build --db x.khdb - <cut.gz
cat cut.gz >genome.fa.gz & expect 1 "build: genome.fa.gz: gzip data end early" "build: a FIFO that is cut" build --db x.khdb genome.fa.gz
expect 0 "of 7 files has no sequence; the first is standard input" "build: empty standard input" \
	"$real" build --taxonomy "$data/taxonomy" --accession2taxid "$data/taxonomy/accession2taxid.tsv" --db x.khdb "$data"/genomes/*.gz - </dev/null

r1=$data/reads/tiny_sim_1.fq.gz
"$kmerhash" classify -h >help
check "classify -h: a heading and an example in front of each group" test "$(grep -c '^[A-Z][a-z ]*:$' help)" -eq 10 -a "$(grep -c '^    kmerhash classify --db ' help)" -eq 9
grep '^    kmerhash' help | grep -o -e '--[a-z-]*' | sort -u >shown; grep -o '^  .. *--[a-z-]*\|^  -., --[a-z-]*' help | grep -o -e '--[a-z-]*' | sort -u >known
check "classify -h: the examples' options are its options" test -z "$(comm -23 shown known)" -a -s shown
for device in gpu cudax cuda0 CPU ''; do
	expect 2 "device '$device' is not one of auto, cpu, cuda" "a device that is none, '$device'" "$real" classify --db a.khdb \
		--device "$device" --output - "$r1"
done
"$real" classify --device cpu --db a.khdb --output - "$r1" >/dev/null 2>said
check "classify: the memory of a job, with the mapped database" grep -q ' [kM]B of memory beside the [0-9]* kB of the mapped database$' said
# --- where the time goes -------------------------------------------------------------------------
"$real" classify -q --db a.khdb --output - --json j.json "$r1"
seconds() { sed -n 's/^ *"seconds_'"$1"'": \([0-9.e-]*\),$/\1/p' j.json; }
check "seconds: database and classify are within the total" awk -v d="$(seconds database)" -v c="$(seconds classify)" \
	-v t="$(seconds total)" 'BEGIN { exit !(d > 0 && c > 0 && d + c <= t + 0.001) }'
rm -f j.json
# --- what the environment says of threads ----------------------------------------------------------
unset KMERHASH_THREADS SLURM_CPUS_PER_TASK OMP_NUM_THREADS
# threads N NAME VARIABLE=VALUE...: a run would have so many
threads() {
	want=$1 name=$2; shift 2
	env "$@" "$real" classify --device cpu --db a.khdb --output - --json j.json "$r1" 2>.err
	has "threads: $name" "^ *\"threads\": $want,\$" j.json
}
"$real" classify -q --device cpu --db a.khdb --output - --json j.json "$r1"
all=$(sed -n 's/^ *"threads": \([0-9]*\),$/\1/p' j.json)
threads 1 "SLURM_CPUS_PER_TASK" SLURM_CPUS_PER_TASK=1
threads 1 "OMP_NUM_THREADS" OMP_NUM_THREADS=1
threads 1 "Slurm's before OpenMP's" SLURM_CPUS_PER_TASK=1 OMP_NUM_THREADS=$((all + 1))
threads 1 "ours before both" KMERHASH_THREADS=1 SLURM_CPUS_PER_TASK=$((all + 1))
threads "$all" "what is no number" OMP_NUM_THREADS=4,2
if command -v taskset >.err 2>&1; then
	cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
	check "threads: the CPUs that the process may use" sh -c 'taskset -c "$1" "$2" classify -q --device cpu --db a.khdb --output - --json j.json "$3" && grep -q "^ *\"threads\": 1,$" j.json' - "$cpu" "$real" "$r1"
else skip "threads: the CPUs that the process may use" "no taskset"; fi

# --- hints -------------------------------------------------------------------------------------------
cp "$r1" x_1.fq.gz; cp "$data/reads/tiny_sim_2.fq.gz" x_2.fq.gz
expect 0 "x_1.fq.gz and x_2.fq.gz look like mates: --paired" "mates without --paired" "$real" classify --db a.khdb --output - x_1.fq.gz x_2.fq.gz
"$real" classify --db a.khdb --output - --paired x_1.fq.gz x_2.fq.gz 2>said
check "mates with --paired: no hint" sh -c '! grep -q "look like" said'
"$real" classify --db a.khdb --output - x_2.fq.gz x_1.fq.gz 2>said
check "other files: no hint" sh -c '! grep -q "look like" said'
# Mates that are swapped, by the names of their files, or by those of reads.
swapped="first mates are read from x_2.fq.gz and second ones from x_1.fq.gz: are they swapped"
expect 0 "$swapped" "swapped files" "$real" classify --db a.khdb --output - --paired x_2.fq.gz x_1.fq.gz
check "swapped files: it is said once" test "$(grep -c swapped .err)" = 1
printf 'sample,reads1,reads2\na,x_1.fq.gz,x_2.fq.gz\nb,x_2.fq.gz,x_1.fq.gz\n' >swapped.csv
expect 0 "$swapped" "swapped files in a sheet" "$real" classify --db a.khdb --samples swapped.csv --outdir swapped
cp x_1.fq.gz one.fq.gz; cp x_2.fq.gz two.fq.gz
expect 0 "of 300 pairs the first mate is called the second one" "swapped reads" "$real" classify --db a.khdb --output - --paired two.fq.gz one.fq.gz
gzip -dc two.fq.gz one.fq.gz | awk 'NR <= 1200 { a[NR] = $0; next } { a[NR] = $0 } END { for (i = 1; i <= 8; i += 4) { for (k = 0; k < 4; k++) print a[i + k]; for (k = 0; k < 4; k++) print a[1200 + i + k] } }' >both.fq
expect 0 "of 2 pairs the first mate is called the second one" "swapped reads in one file" "$real" classify --db a.khdb --output - --interleaved both.fq
"$real" classify --db a.khdb --output - --paired one.fq.gz two.fq.gz 2>said
check "mates in order: no hint" sh -c '! grep -q "swapped" said'
gzip -dc one.fq.gz | sed 's,/1$,,' >none_1.fq; gzip -dc two.fq.gz | sed 's,/2$,,' >none_2.fq
"$real" classify --db a.khdb --output - --paired none_1.fq none_2.fq 2>said
check "mates without numbers: no hint" sh -c '! grep -q "swapped" said'
printf 'BAM\1\0\0\0\0' | gzip >x.bam
expect 1 "x.bam:1: .*a BAM file: pipe the output of 'samtools fastq'" "a BAM file" "$real" classify --db a.khdb --output - x.bam
printf 'sample\treads1\na\tx_1.fq.gz\n' >sheet
gzip -dc "$r1" | head -n 4 >1.fq
expect 0 "kmerhash: 1 read, 1 classified" "one read is no reads" "$real" classify --db a.khdb --output - 1.fq
expect 0 "kmerhash: 1 sample, 300 fragments" "one sample is no samples" "$real" classify --db a.khdb --samples sheet --outdir one.out
# --- completion ----------------------------------------------------------------------------------------
sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' want >commands
"$real" merge -h | grep -Eo -e '--[a-z-]+' | sort >options
completion=$KH_SRCDIR/src/cmd/completion
# in_bash WORD...: what is offered for the last one
in_bash() { bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kmerhash "$1"; printf "%s\n" "${COMPREPLY[@]}"' "$completion/kmerhash" "$real" "$@"; }
in_zsh() { zsh -f "$tests/complete.zsh" "$completion/_kmerhash" "$real" "$@"; }
for shell in bash zsh; do
	command -v $shell >.err || { skip "completion in $shell" "no $shell here"; continue; }
	in_$shell '' | grep -v -e '^--' -e '^help$' >got; same commands got "completion in $shell: commands"
	in_$shell merge -- | sort >got; same options got "completion in $shell: options of merge"
	in_$shell merge --format '' | grep -c . >got
	echo 6 >six; same six got "completion in $shell: formats of merge"
	in_$shell merge --set '' | sort >got
	printf '%s\n' controls= help log-json profile= >keys; same keys got "completion in $shell: settings of merge"
done

# --- messages as JSON ----------------------------------------------------------------------------------
# json STATUS NAME COMMAND...: all that it says is lines of JSON; .messages has level, command, message
json() {
	status=$1 name=$2; shift 2
	"$@" >.out 2>.err; [ $? -eq "$status" ] && "$PYTHON3" -c 'import datetime, json, sys
for line in open(".err", "rb"):
    x = json.loads(line.decode("utf-8", "strict"))
    datetime.datetime.strptime(x["time"], "%Y-%m-%dT%H:%M:%S.%fZ")
    print(x["level"], x["command"], x["message"].encode("unicode_escape").decode(), sep="\t")' >.messages 2>>.err &&
		ok "--set log-json: $name" || not_ok "--set log-json: $name"
}
r=$data/reads/tiny_sim_1.fq.gz
if [ -n "${PYTHON3:-}" ] && [ "$PYTHON3" != : ]; then
	json 0 "a run" "$real" classify --set log-json -v --db a.khdb --output - "$r"
	has "--set log-json: what a run says" '^info	classify	300 reads, 300 classified' .messages
	has "--set log-json: and with -v" '^debug	classify	' .messages
	json 0 "quiet" "$real" classify -q --set log-json --db a.khdb --output - "$r"
	check "--set log-json: quiet is quiet" test ! -s .messages
	json 1 "an error" "$real" classify --db a.khdb --set log-json "$(printf 'no "such\\file\n\377')"
	printf '%s\n' 'error	classify	no "such\file\x0a\xff: No such file or directory' | sed 's/\\/\\\\/g' >want
	same want .messages "--set log-json: odd names"
	json 2 "wrong usage, before it" "$real" build --threads x --set log-json
	has "--set log-json: wrong usage" "^error	build	--threads: 'x' is not a whole number" .messages
	printf 'sample\treads1\na/b\tx.fq\n\ty\n' >sheet
	json 1 "several errors" "$real" classify --set log-json --db a.khdb --samples sheet --outdir out
	check "--set log-json: a line for each" test "$(wc -l <.messages)" -gt 2
	json 1 "verify" "$real" verify --set log-json sheet
	json 1 "inspect" "$real" inspect --set log-json sheet
else skip "--set log-json" "no python3"; fi
plan
