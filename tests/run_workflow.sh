# run_workflow.sh - the Snakemake workflow and its wrappers on data/; speaks TAP
: "${KH_SRCDIR:?}"
[ "${KH_ORACLES:-}" != no ] || { echo "1..0 # SKIP KH_ORACLES=no"; exit 0; }
if ! command -v "${SNAKEMAKE:=snakemake}" >/dev/null; then
	echo "1..0 # SKIP no snakemake"
	exit 0
fi
built=$PWD
. "$KH_SRCDIR/tests/tap.sh"
XDG_CACHE_HOME=$t/cache
export XDG_CACHE_HOME

# A program in front of kmerhash: with a file `stop` here it begins to write the report of
# sarscov2_real in place, says so, and goes on for ever.
mkdir bin && cat >bin/kmerhash <<END && chmod +x bin/kmerhash || exit 1
#!/bin/sh
case \$* in
*results/sarscov2_real.report*)
	if [ -e "$t/stop" ]; then
		echo half >results/sarscov2_real.report
		echo >"$t/stopped"
		exec sleep 60
	fi ;;
esac
exec "$real" "\$@"
END
PATH=$t/bin:$PATH

# A working folder of its own for the test configuration; data_root stays what it is there.
ln -s "$data" data
folder() { mkdir "$1" && cp -R "$KH_SRCDIR/.test/config" "$1/" && chmod -R u+w "$1"; }
folder run && folder batch && mkdir local || exit 1
snake() {
	"$SNAKEMAKE" --snakefile "$KH_SRCDIR/workflow/Snakefile" --directory "$dir" --cores 2 \
		--profile "$KH_SRCDIR/workflow/profiles/default" "$@" >.err 2>&1
}
# clade SAMPLE TAXID: fragments in it, by the report
clade() { awk -F '\t' -v id="$2" '$5 == id { print $2 }' "run/results/$1.report"; }
says() { grep -q -e "$1" .err; }

dir=run
check "lint" snake --lint
# the sheet as nf-core's pipelines write it, and a column that means nothing here
tr '\t' , <run/config/samples.tsv | sed '1s/fq1,fq2/fastq_1,fastq_2/; s/^/x,/; 1s/^x/strandedness/' >run/config/samples.csv
sed 's/samples.tsv/samples.csv/' run/config/config.yaml >.config && cat .config >run/config/config.yaml
tail -n 1 run/config/samples.csv | grep -q '^x,both,' || not_ok "a sheet with commas"
if command -v ktImportText >/dev/null; then echo "krona: true" >>run/config/config.yaml; fi

# Snakemake and all that it started, killed in the middle.
: >stop
dir=run setsid "$SNAKEMAKE" --snakefile "$KH_SRCDIR/workflow/Snakefile" --directory run --cores 2 \
	--profile "$KH_SRCDIR/workflow/profiles/default" >killed 2>&1 &
until_true [ -e stopped ]
kill -s KILL -- -$!
rm stop
check "a run that was killed is completed by the next one" snake
[ "$(clade tiny_sim 10710)" = 50 ] && [ "$(clade tiny_sim 10847)" = 50 ] &&
	[ "$(clade tiny_sim 694002)" = 100 ] && [ "$(clade sarscov2_real 694009)" -ge 95 ]
check "the reports have the organisms that the reads came from" [ $? -eq 0 ]
passed() { for s in tiny_sim sarscov2_real both; do tr -d '\n ' <"$1/results/$s.json" | grep -q '"sample_pass":true' || return; done; }
check "the sample as a whole is looked at" passed run
there() { for s in tiny_sim sarscov2_real both; do [ -s "$1/results/$s.html" ] && grep -q "	yes	" "$1/results/$s.profile.tsv" || return; done; }
check "each sample has a page and a profile" there run
check "the page of all has what the profiles say" sh -c 'grep -q "\"detected\".*\[\"yes\"," run/results/taxa.html'

if command -v ktImportText >/dev/null; then
	check "Krona's page has all samples" [ "$(grep -o '<dataset>[^<]*' run/results/krona.html | wc -l)" = 8 ]
else
	skip "Krona's page has all samples" "no ktImportText"
fi
printf 'bracken:\n  read_length: 150\n' >local/passed.yaml
{ cat local/passed.yaml; printf 'classify:\n  sample_pass: false\n'; } >local/bracken.yaml
passed() { ! snake --configfile "$t/run/config/config.yaml" "$t/local/passed.yaml" -n && says 'bracken needs calls of single reads'; }
check "Bracken beside the sample pass: said before the first job" passed
with="--configfile $t/run/config/config.yaml $t/local/bracken.yaml"
# shellcheck disable=SC2086
check "tables for Bracken" snake $with -- resources/bracken/database150mers.kmer_distrib
check "tables for Bracken: they are" grep -q '^10847	10847:5237:5237 $' run/resources/bracken/database150mers.kmer_distrib
if command -v bracken >/dev/null; then
	# shellcheck disable=SC2086
	check "Bracken" snake $with
	check "Bracken: a species has the reads of its report" [ "$(awk -F '\t' '$2 == 10847 { print $6 }' run/results/bracken/tiny_sim.bracken)" = 50 ]
else
	skip "Bracken" "no bracken"; skip "Bracken: a species has the reads of its report" "no bracken"
fi

# Bracken fails on a report without reads; where it is not installed, so does this.
folder blank; : >none.fq
printf 'sample\tfq1\tfq2\nblank\t%s\t\ntiny_sim\treads/tiny_sim_1.fq.gz\t\n' "$t/none.fq" >blank/config/samples.tsv
command -v bracken >/dev/null || { cat >bin/bracken <<'END' && chmod +x bin/bracken; }
#!/bin/sh
while getopts d:i:o:w:r:l:t: option; do
	case $option in i) i=$OPTARG ;; o) o=$OPTARG ;; w) w=$OPTARG ;; esac
done
grep -q '	S	' "$i" || { echo 'Error: no reads found. Please check your Kraken report' >&2; exit 1; }
echo name >"$o"; cp "$i" "$w"
END
dir=blank
check "a blank sample beside another, with Bracken" snake --configfile "$t/blank/config/config.yaml" "$t/local/bracken.yaml" -- \
	results/bracken/blank.bracken results/bracken/tiny_sim.bracken

# Nothing but blanks: no reads, none that is classified, and an empty .gz; a MultiQC that finds nothing
# makes no page.
folder blanks; printf '@a\nNNNN\n+\nIIII\n' >n.fq; : | gzip >none.fq.gz
printf 'sample\tfq1\tfq2\nempty\t%s\t\nn\t%s\t\npairs\t%s\t%s\n' "$t/none.fq" "$t/n.fq" "$t/none.fq.gz" "$t/none.fq" >blanks/config/samples.tsv
printf 'multiqc: true\n' >local/multiqc.yaml
if command -v ktImportText >/dev/null; then echo "krona: true" >>local/multiqc.yaml; fi
printf '#!/bin/sh\necho "No analysis results found. Cleaning up"\n' >bin/multiqc; chmod +x bin/multiqc
whole="summary.tsv taxa.tsv taxa.biom taxa.html multiqc.html"
results() { for s in empty n pairs; do [ -s "$1/results/$s.profile.tsv" ] && [ -s "$1/results/$s.html" ] && [ -s "$1/results/bracken/$s.bracken" ] || return; done
	for f in $whole; do [ -s "$1/results/$f" ] || return; done; }
for dir in blanks blanks2; do
	[ $dir = blanks ] || { folder $dir; cp blanks/config/samples.tsv $dir/config/; printf 'classify:\n  batch: true\n' >>local/multiqc.yaml; }
	check "$dir: nothing but blank samples" snake --configfile "$t/$dir/config/config.yaml" "$t/local/bracken.yaml" "$t/local/multiqc.yaml"
	check "$dir: all results are there" results $dir
	check "$dir: the table has no taxa" [ "$(cut -f 3,5- $dir/results/taxa.tsv | tr '\t\n' ' ;')" = "name empty n pairs;unclassified 0 1 0;root 0 0 0;" ]
done
rm bin/multiqc; dir=blank
if command -v multiqc >/dev/null; then
	skip "no MultiQC: said before the first job" "there is one"
else
	folder early; dir=early
	early() { ! snake --configfile "$t/early/config/config.yaml" "$t/local/multiqc.yaml" && says 'multiqc is not in PATH.*`multiqc`' && [ ! -e early/resources ]; }
	check "no MultiQC: said before the first job" early
	dir=blank
fi
check "a blank sample: a table without rows" test "$(cut -f 1,2,7 blank/results/bracken/blank.bracken)" = "name	taxonomy_id	fraction_total_reads"
[ ! -e bin/bracken ] || rm bin/bracken
dir=run

printf '%s\t%s\n' sample fragments tiny_sim 300 tiny_sim_single 300 tiny_sim_mates 300 \
	tiny_sim_runs 600 sarscov2_real 100 sarscov2_single 100 sarscov2_mates 100 both 400 >want
cut -f1,2 run/results/summary.tsv >got
same want got "the summary has a line for each sample"

nothing() { snake && says 'Nothing to be done'; }
check "a further run does nothing" nothing

# A sample whose file ends inside a record, one job for all samples and one for each.
gzip -dc "$data/reads/tiny_sim_1.fq.gz" | head -c 10000 >local/cut.fq
for dir in run batch; do
	printf 'cut\t%s\t\t\n' "$t/local/cut.fq" >>$dir/config/samples.tsv
done
printf 'x,cut,%s,,\n' "$t/local/cut.fq" >>run/config/samples.csv
printf 'classify:\n  batch: true\n' >>batch/config/config.yaml
if command -v multiqc >/dev/null; then
	sed -i 's/^multiqc:.*/multiqc: true/' batch/config/config.yaml
fi
fails() { ! snake --keep-going && grep -q 'cut.fq:[0-9]*: record [0-9]*' $dir/logs/kmerhash/"$1".log; }
dir=run
check "a FASTQ file that is cut off fails, and the log says where" fails cut
nothing_left "of it" run/results/cut.*
nothing_left "of what an earlier run said of all samples" run/results/summary.tsv run/results/taxa.tsv
dir=batch
check "so it does where one job has all samples" fails batch
gzip -dc "$data/reads/tiny_sim_1.fq.gz" >local/cut.fq
check "the whole file mends it" snake
check "and only its sample is done again" [ "$(grep -c 'is there already' batch/logs/kmerhash/batch.log)" = 8 ]
alike() {
	for f in run/results/*.report run/results/*.tsv.gz; do
		cmp "$f" "batch/results/${f##*/}" || return 1
	done
}
check "the bytes are those of a job for each sample" alike
if command -v multiqc >/dev/null; then
	check "MultiQC has all samples" grep -q 'Found 9 reports' batch/logs/multiqc.log
else
	skip "MultiQC has all samples" "no multiqc"
fi

sed -i 's/^samples:/smaples:/' run/config/config.yaml
dir=run
unknown() { ! snake && says smaples; }
check "an unknown key of the configuration is an error" unknown

# A sheet that the program refuses, and a folder of references in which a genome is added or replaced.
folder small; dir=small; cp -R "$data" small/data; chmod -R u+w small/data
sed 's/^data_root:.*/data_root: data/; s/, biom, html//' "$KH_SRCDIR/.test/config/config.yaml" >small/config/config.yaml
mv small/data/genomes/Escherichia_virus_phiX174* .; phix=$(echo Escherichia_virus_phiX174*)
sheet() { printf "sample\tfq1\tfq2\n$1" >small/config/samples.tsv; }
refused() { ! snake && grep -q "$1" small/logs/kmerhash/a.log && [ ! -e small/results/a.report ]; }
sheet 'a\treads/tiny_sim_1.fq.gz\t\na\treads/tiny_sim_1.fq.gz\t\n'; check "a row twice" refused "a second time"
sheet 'a\treads/tiny_sim_1.fq.gz\treads/../reads/tiny_sim_1.fq.gz\n'; check "mates of one file" refused "a second time"
sheet 'a\treads/tiny_sim_1.fq.gz\t\tx\n'; check "a column too many" refused "columns"
cp small/data/reads/tiny_sim_1.fq.gz small/data/reads/copy.gz
sheet 'a\treads/tiny_sim_1.fq.gz\treads/copy.gz\n'; check "a copy as mates" refused "the same bytes"
sheet 'a\treads/tiny_sim_1.fq.gz\t\n'; check "the sheet is mended" snake
check "then nothing" nothing
hits() { awk -F '\t' '$5 == 10847 { print $2 }' small/results/a.report; }
check "a genome is not there" [ -z "$(hits)" ]
touch -d 2020-01-01 "$phix"; mkdir small/data/genomes/more 2>.err; mv "$phix" small/data/genomes/
check "a genome is added, an old file" snake; check "it is seen" [ "$(hits)" = 50 ]
gzip -dc small/data/genomes/"$phix" | sed '1!y/ACGT/TGCA/' | gzip -c >other.gz; touch -d 2019-01-01 other.gz
check "then nothing, again" nothing
mv other.gz small/data/genomes/"$phix"
check "a genome is replaced by an older file" snake; check "that is seen" [ "$(hits)" != 50 ]

# A genome and a file that a table names are replaced by files of the same size and time.
gzip -dc small/data/genomes/"$phix" | sed '1!y/ACGT/TGCA/' >phix.fa; rm small/data/genomes/"$phix"; cp phix.fa small/data/genomes/phix.fa
cp small/data/genomes/phix.fa named.fa; printf '%s\t10847\n' "$t/named.fa" >small/data/table.tsv
check "a genome that is not compressed" snake; check "then nothing, once more" nothing
again() { touch -r "$1" times; sed '1!y/ACGT/TGCA/' "$1" >other; [ "$(wc -c <other)" = "$(wc -c <"$1")" ] || return; cat other >"$1"; touch -r times "$1"; }
was=$(hits); again small/data/genomes/phix.fa
check "a genome of other bases, of that size and time" snake; check "that is seen, too" [ "$(hits)" != "$was" ]
rm small/data/genomes/phix.fa; sed -i 's/^references:/&\n  assemblies: [table.tsv]/' small/config/config.yaml
check "a genome that a table names" snake; check "then nothing, with a table" nothing
was=$(hits); again named.fa
check "it has other bases, of that size and time" snake; check "which is seen" [ "$(hits)" != "$was" ]

# The lineage of a sequence in its header.
mkdir small/data/gene; gzip -dc "$data/genomes/$phix" | sed '1s/.*/>X1 Viruses;Microviridae;Sinsheimervirus/' >small/data/gene/x.fa
cp small/config/config.yaml whole.yaml
sed -i '/^references:/,/^[^ ]/{/^ /d}; s/^references:.*/&\n  fasta: [gene]\n  header_lineage: true/' small/config/config.yaml
check "lineages in headers" snake; check "lineages in headers: their names" grep -q 'Sinsheimervirus$' small/results/a.report
mv whole.yaml small/config/config.yaml
gzip -dc "$data/reads/tiny_sim_1.fq.gz" >small/data/reads/plain.fq
sheet 'a\treads/plain.fq\t\n'; check "reads" snake; check "then nothing, with these reads" nothing
was=$(cksum <small/results/a.report); again small/data/reads/plain.fq
check "other reads, of that size and time" snake
check "and they are seen" [ "$(cksum <small/results/a.report)" != "$was" ]
sheet 'a\treads/tiny_sim_1.fq.gz\t\n'; check "the reads before" snake
# A database of Kraken 2 in which a cell is another one.
if [ -x "$built/tests/make_kraken" ]; then
	gzip -dc "$data"/genomes/*.gz >refs.fa; "$built/tests/make_kraken" small/data/k2 "$data/taxonomy" cells=90000 refs.fa >.out 2>&1
	cp small/config/config.yaml config.kept
	{ sed '/^references:/,/accession2taxid.tsv/d' config.kept; printf 'database: k2\nclassify:\n  profile: false\n  sample_pass: false\n'; } >small/config/config.yaml
	check "a database of Kraken 2" snake; check "then nothing, with Kraken 2" nothing
	was=$(cksum <small/results/a.report); touch -r small/data/k2/hash.k2d times
	head -c 20000 small/data/k2/hash.k2d >cut; head -c 400000 /dev/zero | cat cut - | head -c "$(wc -c <small/data/k2/hash.k2d)" >zeros
	cat zeros >small/data/k2/hash.k2d; touch -r times small/data/k2/hash.k2d
	check "a table with other cells, of that size and time" snake
	check "and that is seen" [ "$(cksum <small/results/a.report)" != "$was" ]
	cp config.kept small/config/config.yaml
else skip "a database of Kraken 2" "no tests/make_kraken"; fi

# Several databases: one answer, as of the command, by a job for each sample and by one for all.
made() { name=$1; shift; "$kmerhash" build -q --db small/data/"$name".khdb --taxonomy "$data/taxonomy" \
	--accession2taxid "$data/taxonomy/accession2taxid.tsv" --set total-bases=200000 "$@"; }
made a "$data"/genomes/E*.gz; made b "$data"/genomes/[MS]*.gz
cp small/config/config.yaml config.kept
{ sed '/^references:/,/accession2taxid.tsv/d' config.kept; echo 'database: [a.khdb, b.khdb]'; } >small/config/config.yaml
of_both() { "$kmerhash" classify -q --device cpu --db small/data/a.khdb --db small/data/b.khdb --sample-pass --report want \
	"$data/reads/tiny_sim_1.fq.gz" && [ "$(cut -f 5 want | grep -cx '10847\|694002')" = 2 ] && cmp want small/results/a.report; }
check "two databases" snake; check "two databases: one answer" of_both; check "then nothing, with two" nothing
made b "$data"/genomes/M*.gz
check "one of two is replaced" snake; check "one of two is replaced: seen" of_both

# A job for each sample and database, and one that joins them; then on two hosts, each with one of the databases,
# from which the candidates are copied to a third.
printf 'classify:\n  parts: true\n' >local/parts.yaml
sheet 'a\treads/tiny_sim_1.fq.gz\t\nb\treads/tiny_sim_1.fq.gz\treads/tiny_sim_2.fq.gz\n'
check "two samples" snake; mv small/results listed
parts() { snake --configfile "$t/$dir/config/config.yaml" "$t/local/parts.yaml" "$@"; }
like_listed() { for f in listed/*.report listed/*.tsv.gz listed/*.profile.tsv listed/taxa.tsv; do cmp "$f" "$dir/results/${f##*/}" || return; done; }
check "lint, with jobs for each" parts --lint
check "jobs for samples and databases" parts; check "jobs for samples and databases: joined" like_listed
nothing_left "when they are joined" small/resources/candidates/*
nothing_more() { parts && says 'Nothing to be done'; }
asks() { memory=$1; shift; parts "$@" && says "mem_mb=$memory,"; }
only_joined() { parts && says 'rule kmerhash_classify:' && ! says 'rule kmerhash_candidates:'; }
check "then nothing, with jobs for each" nothing_more
for dir in host0 host1 joined; do mkdir -p $dir/data $dir/resources/candidates; cp -R small/config $dir/; ln -s "$data/reads" $dir/data/reads; done
mv small/data/a.khdb host0/data/; mv small/data/b.khdb host1/data/
for part in 0 1; do
	dir=host$part
	check "$dir: candidates by its database, in memory for it" asks 2000 --notemp -- resources/candidates/a.$part.cand resources/candidates/b.$part.cand
	cp $dir/resources/candidates/* joined/resources/candidates/; cp $dir/data/*.khdb joined/data/
done
dir=joined; touch joined/resources/candidates/*
check "candidates of two hosts, and none that is made anew" only_joined; check "candidates of two hosts: joined" like_listed
dir=small
mkdir -p small/data/k2 && : >small/data/k2/hash.k2d && echo 'database: k2' >local/k2.yaml
of_kraken() { ! snake --configfile "$t/small/config/config.yaml" "$t/local/k2.yaml" && says 'sample_pass. and .profile'; }
check "a database of Kraken 2 with the sample pass is refused before anything runs" of_kraken
cp config.kept small/config/config.yaml

# Sheets as other pipelines write them, and the program's.
gzip -dc "$data/reads/tiny_sim_1.fq.gz" | awk 'NR % 4 == 1 { sub(/^@/, ">"); print } NR % 4 == 2' >small/data/reads/a.fa
fragments() { awk -F '\t' 'NR > 1 { printf "%s %s ", $1, $2 }' small/results/summary.tsv; }
# sheet_of NAME FRAGMENTS LINE...
sheet_is() { name=$1 want=$2; shift 2; printf '%s\n' "$@" >small/config/samples.tsv; check "$name" snake; check "$name: its reads" [ "$(fragments)" = "$want " ]; }
reads=reads/tiny_sim_
sheet_is "nf-core/mag" "a 300 b 300" sample,group,short_reads_1,short_reads_2,long_reads a,0,${reads}1.fq.gz,${reads}2.fq.gz, b,0,,,${reads}2.fq.gz
sheet_is "nf-core/taxprofiler" "a 300 c 300" sample,run_accession,instrument_platform,fastq_1,fastq_2,fasta \
	a,1,ILLUMINA,${reads}1.fq.gz,${reads}2.fq.gz, c,2,ILLUMINA,,,reads/a.fa
sheet_is "blank rows, comments, quotation marks" "a 300" '# made by a program' ',,' '"sample","READS1"' '# and more' "\"a\",\"${reads}1.fq.gz\"" ''
sheet_is "types of samples" "a 300 b 300" sample,fq1,type "a,${reads}1.fq.gz,stool" "b,${reads}2.fq.gz,Blank"
check "beside the negative controls" [ "$(cut -f 1 small/results/samples.blanks.tsv | sort -u | tr '\n' ' ')" = "a sample " ]
gzip -dc "$data/reads/tiny_sim_1.fq.gz" >1.fq; gzip -dc "$data/reads/tiny_sim_2.fq.gz" >2.fq
awk 'FNR == NR { a[FNR] = $0; next } { b[FNR] = $0 } END { for (i = 1; i <= FNR; i += 4) {
	for (k = 0; k < 4; k++) print a[i + k]; for (k = 0; k < 4; k++) print b[i + k] } }' 1.fq 2.fq >small/data/reads/both.fq
sheet_is "mates in one file" "a 300" sample,fq1,interleaved a,reads/both.fq,yes
printf 'sample,short_reads_1,short_reads_2,long_reads\na,%s1.fq.gz,%s2.fq.gz,reads/a.fa\n' $reads $reads >small/config/samples.tsv
both() { ! snake && says "a has pairs beside single"; }
check "pairs and long reads, which need a batch" both
printf 'classify:\n  batch: true\n' >local/batch.yaml
check "pairs and long reads in a batch" snake --configfile "$t/small/config/config.yaml" "$t/local/batch.yaml"
check "pairs and long reads in a batch: all" [ "$(fragments)" = "a 600 " ]

# The example of config/README.md.
folder example; dir=example; mkdir example/resources
sed -n '/^```yaml/,/^```$/p' "$KH_SRCDIR/config/README.md" | grep -v '^```' >example/config/config.yaml
printf 'sample,fq1\na,reads/tiny_sim_1.fq.gz\n' >example/config/samples.tsv
ln -s "$data/genomes" "$data/taxonomy" example/resources/; mv example/resources/taxonomy example/resources/taxdump; ln -s "$data/reads" example/
while IFS='	' read -r _ id taxid _; do
	for f in "$data"/genomes/*"$id"*; do [ ! -e "$f" ] || printf 'resources/genomes/%s\t%s\n' "${f##*/}" "$taxid"; done
done <"$data/taxonomy/accession2taxid.tsv" >example/resources/files.tsv
check "the example of config/README.md" snake
check "the example of config/README.md: its results" test -s example/results/taxa.tsv -a -s example/results/taxa.html -a -s example/results/a.profile.tsv

# The wrappers, by the rules of their own tests.
mkdir wrappers prefix && ln -s "$KH_SRCDIR/workflow/wrappers" prefix/master
ln -s "$data/genomes" "$data/reads" "$data/taxonomy" wrappers/
for w in build bracken-distrib classify merge; do
	echo "include: '$KH_SRCDIR/workflow/wrappers/bio/kmerhash/$w/test/Snakefile'"
done >wrappers/Snakefile
check "wrappers" "$SNAKEMAKE" --snakefile wrappers/Snakefile --directory wrappers --cores 2 \
	--wrapper-prefix "file://$t/prefix/" taxa.tsv bracken/database150mers.kmer_distrib
[ "$(awk -F '\t' '$1 == 10847 { print $5, $6 }' wrappers/taxa.tsv)" = "50 50" ]
check "they make the table" [ $? -eq 0 ]
check "and tables for Bracken" grep -q '^10847	10847:1048:1048 $' wrappers/bracken/database150mers.kmer_distrib
plan
