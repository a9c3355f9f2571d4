# run_golden.sh - what commands print and make on data/, beside the texts in golden/; speaks TAP
#
# `make golden` writes those texts anew: to be read as a diff.  What one run has and the next has
# not (times, memory, the device's name) is left out.
: "${KH_DEVICE:=cpu}"
. "$KH_SRCDIR/tests/tap.sh"
ln -s "$data" data

# run OPTION...: the command, what it prints, how it ends; appended to .got
run() {
	echo "\$ kmerhash $*"
	"$kmerhash" "$@" 2>.err
	status=$?
	sed -e 's/\( on \)[a-z0-9:,]*: [0-9.]* .*/\1DEVICE/' -e 's/\( build\): [0-9.]* .*/\1/' -e 's/^/! /' .err
	echo "= $status"
} >>.got
# show FILE...: their texts
show() {
	for f; do
		echo "> $f"
		case $f in
		*.gz) gzip -dc "$f" ;;
		*.khdb) cksum "$f" ;;
		*.json) sed '/^  "run": {/,/^  }/d' "$f" ;;
		*) cat "$f" ;;
		esac
	done
} >>.got
# golden NAME: .got is the stored text
golden() {
	if [ -n "${KH_GOLDEN:-}" ]; then mkdir -p "$KH_GOLDEN" && cp .got "$KH_GOLDEN/$1.out"; fi
	check "$1" diff "$tests/golden/$1.out" .got
	: >.got
}

# --- help ------------------------------------------------------------------------------------
run --version
for command in '' build classify inspect merge verify; do run $command -h; done
golden help

# --- databases -------------------------------------------------------------------------------
taxa="--taxonomy data/taxonomy --accession2taxid data/taxonomy/accession2taxid.tsv"
run build --db refs.khdb $taxa data/genomes/*
show refs.khdb
touch -d @86400 refs.khdb               # its date
run inspect refs.khdb
run inspect --find CORONAVIRUS refs.khdb
run inspect --find sars-cov-2 refs.khdb
run inspect --find Klebsiella refs.khdb
run verify refs.khdb
run build --db minhash.khdb --set scheme=minhash -k 16 $taxa data/genomes/*
show minhash.khdb
run build --db none.khdb --taxonomy data/taxonomy data/genomes/*
golden build

# --- calls -----------------------------------------------------------------------------------
sim1=data/reads/tiny_sim_1.fq.gz sim2=data/reads/tiny_sim_2.fq.gz
real1=data/reads/sarscov2_real_1.fq.gz real2=data/reads/sarscov2_real_2.fq.gz
run classify --db refs.khdb --report report --json run.json $sim1 $real1
show report run.json
golden single
run classify --db refs.khdb --paired --use-names --output lines.gz --report report --set distinct \
	--classified-out c#.fq --unclassified-out u#.fq $sim1 $sim2 $real1 $real2
show lines.gz report u_1.fq u_2.fq
golden pairs
run classify --db refs.khdb --confidence 0.2 --report report --set zero-counts $real1
show report
golden confidence
run classify --db minhash.khdb --output lines --report report $sim1
show report
golden minhash
for f in data/genomes/*; do gzip -dc "$f"; done >genomes.fa
run classify --db refs.khdb --report - --output long genomes.fa
show long
golden long

# --- alignments ------------------------------------------------------------------------------
gzip -dc $real1 | head -n 160 >few_1.fq; gzip -dc $real2 | head -n 160 >few_2.fq
run classify --device cpu --db refs.khdb --paired --prefix out --write lines,paf.gz \
	--set identity few_1.fq few_2.fq
show out.tsv out.paf.gz
run classify --device cpu --db refs.khdb --sample-pass --set identity few_1.fq
golden alignments

# --- errors ----------------------------------------------------------------------------------
head -c 5000 $sim1 >cut.fq.gz
head -c 100000 refs.khdb >cut.khdb
gzip -dc $sim2 | head -n 400 >few.fq
printf '@a\nACGT\n+\nII\n' >quality.fq
printf 'a\tb\n' >text
run
run clasify
run classify
run classify --db refs.khdb --confidence 2 $sim1
run classify --db refs.khdb --no-such-option $sim1
run classify --db refs.khdb --precise $sim1
run classify --db refs.khdb --output o missing.fq
run classify --db missing.khdb $sim1
run classify --db cut.khdb $sim1
run classify --db text $sim1
run classify --db refs.khdb --output o cut.fq.gz
run classify --db refs.khdb --output o --paired $sim1 few.fq
run classify --db refs.khdb --output o quality.fq
run classify --db refs.khdb --output o text
run classify --db refs.khdb --output no-such/o $sim1
run build --db o.khdb data/genomes/*
run build --db o.khdb --taxonomy no-such data/genomes/*
run build --db o.khdb $taxa -k 99 data/genomes/*
run build --db o.khdb $taxa
run inspect text
run verify cut.khdb
golden errors
nothing_left "errors" o o.khdb
plan
