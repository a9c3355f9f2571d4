# run_tables.sh - every table in the forms that other programs and people give it; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"
[ -n "${PYTHON3:-}" ] || { echo "1..0 # SKIP no python3"; exit 0; }

forms="bom crlf blank comment quotes more bom,crlf bom,comment,blank quotes,bom,more,crlf,comment,blank"
tax="--taxonomy $data/taxonomy"
mkdir genomes reads
for f in "$data"/genomes/*.gz; do gzip -dc "$f" >"genomes/$(basename "${f%.gz}")"; done
cut -f 2-3 "$data/taxonomy/accession2taxid.tsv" >ids.header
sed 1d ids.header >ids
b() { db=$1; shift; rm -f "$db"; "$kmerhash" build -q --db "$db" "$@" 2>err; }
b want.khdb $tax --seqid2taxid ids genomes
for f in genomes/*; do
	id=$(sed -n '1s/^>\([^ ]*\).*/\1/p' "$f")
	printf '%s\t%s\n' "$f" "$(awk -v id="$id" '$1 == id { print $2 }' ids)"
done >files
cut -f 1 files >list
awk -F '\t' 'BEGIN { print "taxid,file" } { print $2 "," $1 }' files >files.csv
{ printf 'seqid\ttaxid\tnote\n'; sed 's/$/\tx/' ids; } >own
sed 's/\t/,/' ids >ids.csv
awk -F '\t' '{ print $0 "\tsome name" }' ids >krakenuniq

# table NAME KIND FILE OPTIONS...: each form of FILE gives the bytes of want.khdb; @ stands for it
table() {
	name=$1 kind=$2 file=$3; shift 3
	"$PYTHON3" "$tests/table_forms.py" none "$kind" <"$file" >t.none
	for form in none $forms; do
		"$PYTHON3" "$tests/table_forms.py" "$form" "$kind" <"$file" >table
		if b x.khdb "$@" && cmp -s x.khdb want.khdb; then ok "$name: $form"
		else cp err .err; not_ok "$name: $form"; fi
	done
}
table "ids and taxids" tab ids $tax -m table genomes
table "ids and taxids with NCBI's header" tab ids.header $tax -m table genomes
table "ids and taxids with a header" tab own $tax -m table genomes
table "ids and taxids between commas" comma ids.csv $tax -m table genomes
table "ids, taxids and names" tab krakenuniq $tax -m table genomes
table "accession2taxid" tab "$data/taxonomy/accession2taxid.tsv" $tax -a table genomes
table "files and taxids" tab files $tax -A table
table "files and taxids with a header" comma files.csv $tax -A table
table "a list of references" none list $tax -m ids -l table
cp -r "$data/taxonomy" dump; chmod -R u+w dump
for dmp in nodes names; do
	for form in $forms; do
		cp "$data/taxonomy/$dmp.dmp" dump
		"$PYTHON3" "$tests/table_forms.py" "$form" bar <"$data/taxonomy/$dmp.dmp" >dump/$dmp.dmp
		check "$dmp.dmp: $form" b x.khdb --taxonomy dump -m ids genomes
		same x.khdb want.khdb "$dmp.dmp: $form: the same"
	done
	cp "$data/taxonomy/$dmp.dmp" dump
done
# merged twice over, and in a circle
printf '#\n5000001\t|\t5000002\t|\n5000002\t|\t%s\t|\n5000003\t|\t5000004\t|\n5000004\t|\t5000003\t|\n' \
	"$(sed -n '1s/.*\t//p' ids)" >dump/merged.dmp
sed '1s/\t.*/\t5000001/' ids >old; b x.khdb --taxonomy dump -m old genomes
same x.khdb want.khdb "a taxid that was merged twice: the same"
sed '1s/\t.*/\t5000003/' ids >old
expect 1 "has no taxon" "taxids merged into each other" "$kmerhash" build -q --db x.khdb --taxonomy dump -m old genomes

# lineages
i=0; while read -r id _; do i=$((i + 1)); printf '%s\td__Viruses;p__P;c__C;o__O;f__F;g__G%s;s__G%s x, y\n' "$id" $i $i; done <ids >l
b want.khdb --lineage l genomes
table "lineages" tab l --lineage table genomes
{ printf 'id\tlineage\n'; cat l; } >l.header
table "lineages with a header" tab l.header --lineage table genomes

# reports, lists of them, sheets of samples
b a.khdb $tax --seqid2taxid ids genomes
for s in tiny_sim sarscov2_real; do for m in 1 2; do cp "$data/reads/${s}_$m.fq.gz" reads/; done; done
classify -q --db a.khdb --paired --report s.report --output - reads/tiny_sim_1.fq.gz reads/tiny_sim_2.fq.gz
"$kmerhash" merge s.report >want
printf 's\ts.report\n' >l2
for form in $forms; do
	"$PYTHON3" "$tests/table_forms.py" "$form" tab <l2 >list
	"$kmerhash" merge --list list >got 2>.err; same want got "merge's list: $form"
	case $form in *quotes*|*more*) continue ;; esac
	"$PYTHON3" "$tests/table_forms.py" "$form" bar <s.report >s2
	[ "${form#*comment}" != "$form" ] && sed -i '2,$ { /^# made/d }' s2
	printf 's\ts2\n' >l3; "$kmerhash" merge --list l3 >got 2>.err; same want got "a report: $form"
done
printf 'sample,reads1,reads2\na,reads/tiny_sim_1.fq.gz,reads/tiny_sim_2.fq.gz\nb,reads/sarscov2_real_1.fq.gz,\n' >sheet.csv
tr , '\t' <sheet.csv >sheet.tsv
run() { rm -rf out; "$kmerhash" classify -q --db a.khdb --samples "$1" --outdir out --write report,lines >.out 2>"$t/.err" && cat out/*; }
run sheet.csv >want
for form in none $forms; do
	for kind in comma tab; do
		sheet=sheet.csv; [ $kind = comma ] || sheet=sheet.tsv
		"$PYTHON3" "$tests/table_forms.py" "$form" $kind <$sheet >table
		run table >got; same want got "a sheet, $kind: $form"
	done
done
# nf-core/mag and nf-core/taxprofiler
printf 'sample,group,short_reads_1,short_reads_2,long_reads\na,0,reads/tiny_sim_1.fq.gz,reads/tiny_sim_2.fq.gz,\nb,0,reads/sarscov2_real_1.fq.gz,,\n' >mag.csv
run mag.csv >got; same want got "a sheet of nf-core/mag"
gzip -dc reads/sarscov2_real_1.fq.gz | awk 'NR % 4 == 1 { sub(/^@/, ">"); print } NR % 4 == 2' >reads/b.fa
printf 'sample,run_accession,instrument_platform,fastq_1,fastq_2,fasta\na,1,ILLUMINA,reads/tiny_sim_1.fq.gz,reads/tiny_sim_2.fq.gz,\nb,2,ILLUMINA,,,reads/b.fa\n' >taxprofiler.csv
run taxprofiler.csv >got; same want got "a sheet of nf-core/taxprofiler, with a row that has only fasta"
printf 'sample,short_reads_1,short_reads_2,long_reads\nb,,,reads/b.fa\na,reads/tiny_sim_1.fq.gz,reads/tiny_sim_2.fq.gz,\n' >long.csv
run long.csv >got; same want got "a sheet of nf-core/mag, with a row that has only long reads"

# mates in one file, which a sheet does not read
for yes in yes YES; do
	printf 'sample,interleaved,fq1\na,no,reads/tiny_sim_1.fq.gz\nb,%s,reads/tiny_sim_2.fq.gz\n' $yes >mates.csv; rm -rf out
	expect 2 "mates.csv:3: interleaved reads are not read by a sheet" "interleaved: $yes" "$kmerhash" classify --db a.khdb --samples mates.csv --outdir out
	check "interleaved: $yes: the sheet alone" "$kmerhash" classify --set check-sheet=mates.csv
done
printf 'sample,interleaved,fq1,fq2\na,no,reads/tiny_sim_1.fq.gz,reads/tiny_sim_2.fq.gz\nb,,reads/sarscov2_real_1.fq.gz,\n' >no.csv
run no.csv >got; run sheet.csv >want; same want got "interleaved: no, and nothing"
printf 'sample,interleaved,fq1,fq2\na,x,1.fq,\nb,yes,1.fq,2.fq\n' >odd.csv
expect 1 'odd.csv:2: column 2: "x" is neither yes nor no' "interleaved: x" "$kmerhash" classify --set check-sheet=odd.csv
expect 1 'odd.csv:3: column 2: "yes", and second mates have a file of their own' "interleaved, and second mates" "$kmerhash" classify --set check-sheet=odd.csv

# what has two meanings
printf 'NC_001422.1\t10847\t10760\n' >two
expect 1 'two:1: both "10847" and "10760" may be the taxid of "NC_001422.1"' "two columns of numbers" \
	"$kmerhash" build -q --db x.khdb $tax -m two genomes
printf '\377\376a\0' >wide
for o in -m -a -A -L -l; do
	expect 1 "wide: UTF-16 text" "UTF-16: $o" "$kmerhash" build -q --db x.khdb $tax $o wide genomes
done
plan
