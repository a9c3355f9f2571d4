# run_references.sh - references as they come: folders, NCBI's datasets, GTDB, SILVA, streams; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"

taxa="--taxonomy $data/taxonomy --accession2taxid $data/taxonomy/accession2taxid.tsv"
# made NAME OPTIONS... : a database x.khdb, or a failed case
made() { name=$1; shift; rm -f x.khdb; expect 0 "" "$name" "$kmerhash" build --db x.khdb "$@"; }
# bad STATUS "MESSAGE" NAME OPTIONS...: none is made, and nothing is left
bad() {
	status=$1 message=$2 name=$3; shift 3
	rm -f x.khdb
	expect "$status" "$message" "$name" "$kmerhash" build --db x.khdb "$@"
	cp .err all
	nothing_left "$name" x.khdb
}
targets() { "$kmerhash" inspect --targets "$1" | cut -f 1-2; }

# --- folders ----------------------------------------------------------------------------
check "the files as they are" build --db want.khdb "$data"/genomes/*.gz
mkdir -p tree/b/c tree/a tree/z
i=0
for f in "$data"/genomes/*.gz; do
	i=$((i + 1))
	case $i in
	1) cp "$f" tree/a/1.fa.gz ;;
	2) gzip -dc "$f" >tree/a/2.fna ;;
	3) gzip -dc "$f" >tree/b/3.ffn ;;
	4) cp "$f" tree/b/c/4.fasta.gz ;;
	5) cp "$f" tree/z/5.fna.gz ;;
	6) gzip -dc "$f" >tree/z/6.fa ;;
	esac
done
echo "no reference" | tee tree/README.txt tree/a/md5.fna.md5 >tree/a/.hidden.fa
ln -s .. tree/b/c/loop
made "a folder" $taxa tree
same want.khdb x.khdb "a folder: the bytes of its files"
made "two folders and a file" $taxa tree/a/ tree/b tree/z/5.fna.gz tree/z/6.fa
same want.khdb x.khdb "two folders and a file: the same"
printf 'tree/a\r\n\ntree/b\ntree/z\n' >list
made "a list of folders" $taxa --list list; same want.khdb x.khdb "a list of folders: the same"
rm -f x.khdb
check "a list on standard input" sh -c 'cat list | "$1" build -q --db x.khdb $2 --list -' - "$kmerhash" "$taxa"
same want.khdb x.khdb "a list on standard input: the same"
sim=$data/reads/tiny_sim_1.fq.gz
cp -r tree others; mv others/a/2.fna others/a/2.fas; : >others/x.gbff
made "files called .fas" $taxa others
check "a file that is passed over: it is named, once" test "$(grep -c 'are passed over: 1, the first is others/x.gbff$' .err)" -eq 1
same want.khdb x.khdb "files called .fas: the same"
made "files that are known to be no references" $taxa tree
check "files that are known to be no references: nothing is said" sh -c '! grep -q "passed over" .err'
printf '\050\265\057\375rest' >others/y.fna.zst
bad 1 "others/y.fna.zst: zstd-compressed.*'zstd -dc'" "a reference that is compressed otherwise" $taxa others
rm -r others
mkdir none
bad 1 "none: no file called \*.fa" "a folder without references" $taxa none
bad 1 "none: no file called" "all errors at once: one" $taxa none missing.fa tree gone.fa
check "all errors at once: more" test "$(grep -c 'missing.fa: No such file\|gone.fa: No such file' all)" -eq 2 -a "$(wc -l <all)" -eq 3

# --- a table of assemblies ----------------------------------------------------------------
cut -f 2-3 "$data/taxonomy/accession2taxid.tsv" | sed 1d >taxids
targets want.khdb | while read -r id taxid; do
	f=$(find tree -type f ! -name '.*' | while read -r f; do
		{ case $f in *.gz) gzip -dc "$f" ;; *) cat "$f" ;; esac; } | grep -q "^>$id" && echo "$f"
	done)
	printf '%s\t%s\n' "$f" "$taxid"
done >assemblies
made "a table of assemblies" --taxonomy "$data/taxonomy" --assemblies assemblies
same want.khdb x.khdb "a table of assemblies: the same"
printf 'tree/a\t10847\n' >two
made "a table with a folder" --taxonomy "$data/taxonomy" -A two
check "a table with a folder: one taxon" test "$(targets x.khdb | cut -f 2 | tr '\n' ' ')" = "10847 10847 "
printf 'tree/a/2.fna 10847\ntree/a/2.fna\tx\n\t5\ntree/nothing.fa\t10847\n' >bad
bad 1 'bad:1: column 1: "tree/a/2.fna 10847": expected a file, a tab and a taxid' "a bad table of assemblies" --taxonomy "$data/taxonomy" -A bad
check "a bad table of assemblies: all errors" test "$(grep -c 'bad:2: column 2: "x" is not a taxid\|bad:3: column 1\|tree/nothing.fa: No such' all)" -eq 3

# with a header, as CSV, as NCBI's assembly_summary.txt
{ printf 'taxid\tnote\tfile\n'; awk -F '\t' '{ printf "%s\tx\t%s\n", $2, $1 }' assemblies; } >header.tsv
made "a table of assemblies with a header" --taxonomy "$data/taxonomy" -A header.tsv
same want.khdb x.khdb "a table of assemblies with a header: the same"
{ printf '\357\273\277"path",taxid\r\n'; sed 's/^/"/; s/\t/",/; s/$/\r/' assemblies; } >a.csv
made "a table of assemblies with commas" --taxonomy "$data/taxonomy" -A a.csv
same want.khdb x.khdb "a table of assemblies with commas: the same"
tr '\t' , <assemblies >b.csv
made "a table with commas and no header" --taxonomy "$data/taxonomy" -A b.csv
same want.khdb x.khdb "a table with commas and no header: the same"
mkdir named
{ echo '##  See ftp://ftp.ncbi.nlm.nih.gov/genomes/README_assembly_summary.txt for a description'
printf '#assembly_accession\tbioproject\ttaxid\tspecies_taxid\torganism_name\n'
i=0; while read -r path taxid; do
	i=$((i + 1)); a=GCF_00000000$i.1
	case $path in *.gz) cp "$path" named/${a}_ASM${i}v1_genomic.fna.gz ;; *) gzip -c "$path" >named/${a}_ASM${i}v1_genomic.fna.gz ;; esac
	printf '%s\tPRJNA1\t%s\t1\tA "name", Inc.\n' $a $taxid
done <assemblies; printf 'GCF_999999999.1\tx\t10847\t1\tx\n'; } >assembly_summary.txt
made "assembly_summary.txt" --taxonomy "$data/taxonomy" -A assembly_summary.txt named
targets x.khdb | sort >got; targets want.khdb | sort >ids; same ids got "assembly_summary.txt: the taxa"
bad 1 "no reference has in its name one of the 7 accessions in --assemblies" "accessions of other files" --taxonomy "$data/taxonomy" -A assembly_summary.txt tree
printf 'accession\torganism\n' >bad
bad 1 'bad:1: no column "taxid" in the header; expected taxid, and file or accession' "a header without taxids" --taxonomy "$data/taxonomy" -A bad tree
printf 'name,taxid\n' >bad
bad 1 'bad:1: no column "file" in the header' "a header without files" --taxonomy "$data/taxonomy" -A bad tree
printf 'accession,taxid\nGCF_000000001.1,10847\nGCF_000000001.1,10710\n' >bad
bad 1 'bad: GCF_000000001.1 has two taxids, 10[78][14][07] and' "an accession with two taxids" --taxonomy "$data/taxonomy" -A bad named

# --- a tree of datasets -------------------------------------------------------------------
report=ncbi/ncbi_dataset/data/assembly_data_report.jsonl
mkdir -p ncbi/ncbi_dataset/data
i=0
while read -r path taxid; do
	i=$((i + 1)); a=GCF_00000000$i.1; folder=ncbi/ncbi_dataset/data/$a
	mkdir $folder
	case $path in *.gz) gzip -dc "$path" ;; *) cat "$path" ;; esac >$folder/${a}_ASM${i}v1_genomic.fna
	cp $folder/*_genomic.fna $folder/cds_from_genomic.fna
	printf '{"accession":"%s","assemblyInfo":{"biosample":{}},"organism":{"organismName":"\\u00e9","taxId":%s}}\n' $a $taxid
done <assemblies >$report
made "a tree of datasets" --taxonomy "$data/taxonomy" ncbi
same want.khdb x.khdb "a tree of datasets: the same, without a table"
cp $report good.jsonl
sed 3d good.jsonl >$report
bad 1 "GCF_000000003.1: the assembly is not in assembly_data_report.jsonl" "an assembly that the report lacks" --taxonomy "$data/taxonomy" ncbi
sed '2s/"taxId"/"taxid"/; 4s/.$//' good.jsonl >$report
bad 1 'jsonl:2: no taxid "organism"' "a report without a taxid" --taxonomy "$data/taxonomy" ncbi/ncbi_dataset
check "a report that is cut off" grep -q 'jsonl:4: column' all
# interrupted: an assembly without its folder, one with an empty folder, one without its genome
cp good.jsonl $report
mkdir gone; mv ncbi/ncbi_dataset/data/GCF_000000002.1 gone; mv ncbi/ncbi_dataset/data/GCF_000000003.1/*_genomic.fna gone
bad 1 "$report: 2 of 6 assemblies in it have no sequences here, the first is GCF_000000002.1: run datasets rehydrate" \
	"a tree with holes" --taxonomy "$data/taxonomy" ncbi
mkdir ncbi/ncbi_dataset/data/GCF_000000002.1
bad 1 "2 of 6 assemblies" "a tree with an empty folder" --taxonomy "$data/taxonomy" ncbi/ncbi_dataset/data/
bad 1 "2 of 6 assemblies" "a tree with holes, dry run" --dry-run --taxonomy "$data/taxonomy" ncbi
rmdir ncbi/ncbi_dataset/data/GCF_000000002.1; mv gone/*_genomic.fna ncbi/ncbi_dataset/data/GCF_000000003.1; mv gone/GCF* ncbi/ncbi_dataset/data
{ cat good.jsonl; head -n 1 good.jsonl; } >$report
made "a report that lists an assembly twice" --taxonomy "$data/taxonomy" ncbi; same want.khdb x.khdb "a report that lists an assembly twice: the same"
cp good.jsonl $report

# --- lineages -----------------------------------------------------------------------------
cat >numbers.py <<'EOF'
"""Numbers of taxa as kmerhash-build(1) says: oracle PATHS, a line each."""
import sys
def number(path):
    h = 0xcbf29ce484222325
    for byte in path.encode():
        h = ((h ^ byte) * 0x100000001b3) % 2 ** 64
    return 2 + h % (2 ** 31 - 2)
paths, used = set(), {}
for line in sys.stdin:
    parts = [p.strip() for p in line.rstrip("\n").split(";")]
    parts = [p for p in parts if p and not (p[1:] == "__")]
    paths.update(";".join(parts[:i + 1]) for i in range(len(parts)))
for path in sorted(paths, key=str.encode):
    x = number(path)
    while x in used:
        x = x + 1 if x < 2 ** 31 - 1 else 2
    used[x] = path
    print(x, path.split(";")[-1].split("__")[-1], sep="\t")
EOF
l=d__Viruses
cat >gtdb.tsv <<EOF
RS_GCF_000000001.1	$l;p__Uroviricota;c__;o__Caudo;f__Auto;g__Teetrevirus;s__Virus T3
GB_GCF_000000002.1	$l;p__Uroviricota;c__;o__Caudo;f__Auto;g__Tesepti;s__Virus T7
GCF_000000003.1	$l; p__Uroviricota;c__;o__Caudo;f__Sipho;g__Lambda;s__Lambda
RS_GCF_000000004.1	$l;p__Phixviricota;c__;o__;f__;g__;s__phiX
RS_GCF_000000005.1	$l;p__P289938;c__C;o__O;f__F;g__Beta;s__MERS
RS_GCF_000000006.1	$l;p__P402708;c__C;o__O;f__F;g__Beta;s__SARS
RS_GCF_999999999.1	d__Bacteria;p__P289938;c__C;o__O;f__F;g__G;s__S
RS_GCF_999999998.1	d__Bacteria;p__P402708;c__C;o__O;f__F;g__G;s__S
EOF
made "GTDB's table" --lineage gtdb.tsv ncbi
targets x.khdb | cut -f 1 >got; targets want.khdb | cut -f 1 >ids; same ids got "GTDB's table: all are targets"
"$kmerhash" inspect --taxa x.khdb | sed 's/^.*	\([0-9]*\)	 */\1	/' | sort >got
if [ -n "${PYTHON3:-}" ]; then
	{ echo "1	root"; head -n 6 gtdb.tsv | cut -f 2 | python numbers.py; } | sort >want
	same want got "GTDB's table: numbers and names as the page says"
	# two phyla of one number: the smaller path keeps it
	sed 's/d__Viruses/d__Bacteria/' gtdb.tsv >clash.tsv
	made "two paths of one number" --lineage clash.tsv ncbi
	"$kmerhash" inspect --taxa x.khdb | sed 's/^.*	\([0-9]*\)	 */\1	/' | sort >got
	{ echo "1	root"; cut -f 2 clash.tsv | python numbers.py; } | sort | grep -v '	[GS]$' >want
	same want got "two paths of one number: as the page says"
	check "two paths of one number: they are" sh -c 'grep -q "^1227881108	P289938$" got && grep -q "^1227881109	P402708$" got'
else skip "numbers of taxa" "no python3"; fi
check "GTDB's table: ranks" sh -c '"$1" inspect --taxa x.khdb | cut -f 4 | sort -u | tr "\n" " " | grep -qx "C D F G O P R S "' - "$kmerhash"
sort -r gtdb.tsv >reverse.tsv; gzip -c reverse.tsv >reverse.tsv.gz
made "GTDB's table" --lineage gtdb.tsv ncbi; mv x.khdb g.khdb
made "GTDB's table, in another order, by gzip" -L reverse.tsv.gz ncbi
same g.khdb x.khdb "GTDB's table, in another order: the same"
# GTDB's table of metadata, and GTDB-Tk's results
{ printf 'accession\tchecksum\tgtdb_taxonomy\tncbi_taxid\n'; awk -F '\t' '{ printf "%s\t7\t%s\t9\n", $1, $2 }' gtdb.tsv; } >metadata.tsv
made "GTDB's metadata" --lineage metadata.tsv ncbi; same g.khdb x.khdb "GTDB's metadata: the same"
mkdir mags; for f in ncbi/ncbi_dataset/data/GCF*/GCF*_genomic.fna; do a=${f##*/GCF_00000000}; cp "$f" mags/bin.${a%%.*}.fa; done
{ printf 'user_genome\tclassification\tfastani_reference\n'; awk -F '\t' '{ sub(/^.*GCF_0*/, "", $1); sub(/\..*/, "", $1); printf "bin.%s\t%s\tN/A\n", $1, $2 }' gtdb.tsv; } >gtdbtk.tsv
made "GTDB-Tk's results" --lineage gtdbtk.tsv mags; same g.khdb x.khdb "GTDB-Tk's results: the same"
printf 'accession\tchecksum\tncbi_taxid\n1\t2\t3\n' >bad
bad 1 'bad:1: 3 columns, and none of them is called gtdb_taxonomy' "a table without lineages" -L bad ncbi
check "a table without lineages: said once" test "$(wc -l <all)" -eq 1
head -n 3 gtdb.tsv >one.tsv; tail -n +4 gtdb.tsv >two.tsv
made "two tables" -L one.tsv -L two.tsv ncbi; same g.khdb x.khdb "two tables: the same"
mkdir flat; for f in ncbi/ncbi_dataset/data/GCF*/GCF*_genomic.fna; do gzip -c "$f" >flat/"${f##*/}".gz; done
made "genomes by accession in one folder" -L gtdb.tsv flat; same g.khdb x.khdb "genomes by accession in one folder: the same"
{ printf 'accession\ttaxonomy\n'; paste ids gtdb.tsv | head -n 6 | cut -f 1,3; } >ids.tsv
made "lineages of sequences" -L ids.tsv tree; same g.khdb x.khdb "lineages of sequences: the same"
{ echo "1	d__A;p__B"; echo "6	d__A;p__B;s__C"; } >names.tsv
made "files called as the id" --max-unmapped 1 -L names.tsv tree
check "files called as the id: found" test "$(targets x.khdb | wc -l)" -eq 2
classify --db want.khdb --output want.tsv "$sim"
classify --db g.khdb --output g.tsv "$sim"
check "the same calls, by other numbers" sh -c 'cut -f 1,2,5 want.tsv | sed "s/[0-9]*:/:/g" >a; cut -f 1,2,5 g.tsv | sed "s/[0-9]*:/:/g" >b; cmp a b'
# --- bad ones
printf 'x\n\td__A\ny\td__A;x__B;p__C\nz\tp__A;d__B\nw\t;;\nv\td__A;B\nu\td__A\nu\td__B\n' >bad
bad 1 'bad:1: one column, expected an id' "bad lineages" -L bad tree
for m in 'bad:2: column 1: the id is empty' 'bad:3: column 2: .*some parts have a rank' 'bad:4: column 2: "d__B" stands behind a part with p__' \
	'bad:5: column 2: ";;" names no taxon' 'bad:6: column 2: .*some parts'; do
	check "bad lineages: $m" grep -q "$m" all
done
printf 'u\td__A\nv\td__A\nu\td__B\n' >bad
bad 1 'bad:3: column 1: "u" has another lineage in bad:1' "an id with two lineages" -L bad tree
printf 'w\td__A\nu\td__C\n' >bad2; head -n 2 bad >bad1
bad 1 'bad2:2: column 1: "u" has another lineage in bad1:1' "an id with two lineages in two tables" -L bad1 -L bad2 -L gtdb.tsv tree
bad 2 "no meaning without a --taxonomy" "lineages and taxids" -L gtdb.tsv -m taxids ncbi
bad 1 "none of 6 sequences|have no taxon" "lineages of other genomes" -L clash.tsv tree

# --- lineages beside a taxonomy -------------------------------------------------------------
# two of the files by lineages, some of whose taxa the taxonomy has; four by their accessions
t7=$(for f in flat/*; do gzip -dc "$f" | grep -q '>NC_001604' && echo "$f"; done)
t3=$(for f in flat/*; do gzip -dc "$f" | grep -q '>NC_003298' && echo "$f"; done)
acc() { f=${1##*/}; echo "${f%%_ASM*}"; }
r="d__Viruses;p__Uroviricota;c__Caudoviricetes;o__Neworder;f__Autographiviridae"
{ echo "$(acc "$t7")	$r;g__Teseptimavirus;s__Escherichia virus T7"
  echo "$(acc "$t3")	$r;g__Teetrevirus_A;s__Escherichia virus T3"; } >some.tsv
made "lineages beside a taxonomy" --set move-taxa -L some.tsv $taxa flat
"$kmerhash" inspect --taxa x.khdb | sed 's/^.*	\([A-Z0-9]*\)	\([0-9]*\)	 */\1 \2 /' >got
for row in "D 10239 Viruses" "P 2731618 Uroviricota" "C 2731619 Caudoviricetes" "F 2731643 Autographiviridae" "G 110456 Teseptimavirus" \
	"S 1985738 Escherichia virus T7" "S 2732706 Escherichia virus T3" "S 10847 Escherichia virus phiX174" "G 694002 Betacoronavirus"; do
	check "lineages beside a taxonomy: $row" grep -qx "$row" got
done
check "a taxon that the taxonomy lacks has a number of its own" sh -c 'grep -q "^O [0-9]* Neworder$" got && grep -q "^G [0-9]* Teetrevirus_A$" got'
lineage_of() {  # TAXID: by the dump files
	awk -F '\t' -v x="$1" 'FNR == NR { up[$1] = $3; next } $7 == "scientific name" { name[$1] = $3 }
		END { while (x != 1) { line = name[x] ";" line; x = up[x] } print line }' dump/nodes.dmp dump/names.dmp
}
check "inspect --taxdump" "$kmerhash" inspect --taxdump dump x.khdb
check "a known taxon: its lineage is the one of the table" test "$(lineage_of 1985738)" = "Viruses;Uroviricota;Caudoviricetes;Neworder;Autographiviridae;Teseptimavirus;Escherichia virus T7;"
check "others stay where they are" test "$(lineage_of 694009 | sed 's/^.*\(Betacoronavirus;\)/\1/')" = "Betacoronavirus;Sarbecovirus;Severe acute respiratory syndrome-related coronavirus;"
mv x.khdb beside.khdb
classify --db beside.khdb --output b.tsv --extract 694009 --classified-out sars.fq "$sim"
check "classify --extract: numbers of the NCBI" test "$(grep -c '^@' sars.fq)" = "$(cut -f 3 b.tsv | grep -c '^694009$\|^2697049$')"
"$kmerhash" inspect --targets beside.khdb | cut -f 1-2 >by_seq
made "the taxonomy that was written, with its numbers" --taxonomy dump -m by_seq flat
same beside.khdb x.khdb "the taxonomy that was written: the same database"
made "a part of them" --set total-bases=192055 --set move-taxa -L some.tsv $taxa "$t7" "$t3"; mv x.khdb part.khdb
made "added to" --base part.khdb --set move-taxa -L some.tsv $taxa $(ls flat/* | grep -v "$t7\|$t3"); mv x.khdb grown.khdb
made "of all" --set total-bases=192055 --set move-taxa -L some.tsv $taxa "$t7" "$t3" $(ls flat/* | grep -v "$t7\|$t3")
same x.khdb grown.khdb "lineages beside a taxonomy, added to: the same"
# a name that another domain has, too, is no match; one that the table puts below a new domain is none either
sed 's/d__Viruses/d__Others/' some.tsv >other.tsv
made "another domain" -L other.tsv $taxa flat
check "another domain: no number of the taxonomy" sh -c '"$1" inspect --taxa x.khdb | grep "Teseptimavirus$" | grep -qv "	110456	"' - "$kmerhash"
# A lineage that skips ranks moves no taxon: the database is that of the taxonomy with one species more.
new="d__Viruses;g__Teetrevirus;s__New phage"
{ echo "$(acc "$t7")	d__Viruses;c__Caudoviricetes;g__Teseptimavirus;s__Escherichia virus T7"; echo "$(acc "$t3")	$new"
  echo "other	f__Autographiviridae;g__Teetrevirus;s__Escherichia virus T3"; } >skip.tsv
made "lineages that skip ranks" -L skip.tsv $taxa flat; mv x.khdb skip.khdb
number=$("$kmerhash" inspect --taxa skip.khdb | sed -n 's/.*	\([0-9]*\)	 *New phage$/\1/p')
check "lineages that skip ranks: the number of the path" test "$number" = "$(python3 -c "h = 0xcbf29ce484222325
for c in b'$new': h = (h ^ c) * 0x100000001b3 % 2**64
print(2 + h % (2**31 - 2))")"
cp -r "$data/taxonomy" longer
printf '%s\t|\t2732693\t|\tspecies\t|\n' "$number" >>longer/nodes.dmp
printf '%s\t|\tNew phage\t|\t\t|\tscientific name\t|\n' "$number" >>longer/names.dmp
"$kmerhash" inspect --targets skip.khdb | cut -f 1-2 >by_seq
made "the same species in the taxonomy" --taxonomy longer -m by_seq flat
same skip.khdb x.khdb "lineages that skip ranks: the taxonomy with one species more"
made "of all, lineages that skip ranks" --set total-bases=192055 -L skip.tsv $taxa "$t7" "$t3" $(ls flat/* | grep -v "$t7\|$t3"); mv x.khdb all.khdb
made "a part, lineages that skip ranks" --set total-bases=192055 -L skip.tsv $taxa "$t7" "$t3"; mv x.khdb part.khdb
made "added to, lineages that skip ranks" --base part.khdb -L skip.tsv $taxa $(ls flat/* | grep -v "$t7\|$t3")
same all.khdb x.khdb "lineages that skip ranks, added to: the same"
printf '100\t|\t10699\t|\tgenus\t|\n' >>longer/nodes.dmp
printf '100\t|\tTeetrevirus\t|\t\t|\tscientific name\t|\n' >>longer/names.dmp
echo "$(acc "$t3")	d__Viruses;f__Autographiviridae;g__Teetrevirus;s__Escherichia virus T3" >homonym.tsv
made "of two genera of a name, the one of the lineage's family" --taxonomy longer -m by_seq -L homonym.tsv flat
# one that says what the taxonomy denies is an error
elsewhere() { # NAME LINEAGE PATTERN: the second row
	{ head -n 1 skip.tsv; echo "$(acc "$t3")	$2"; } >bad.tsv
	bad 1 "^kmerhash build: bad.tsv:2: column 2: $3: write its lineage as there, or --set move-taxa moves it\$" "$1" -L bad.tsv $taxa flat
	check "$1: one line" test "$(wc -l <all)" -eq 1
}
elsewhere "another family" "d__Viruses;f__Siphoviridae;g__Teetrevirus;s__New phage" \
	'"g__Teetrevirus" is taxid 2732693, which lies below Studiervirinae in the taxonomy, not below "f__Siphoviridae"'
elsewhere "a family that is misspelt" "d__Viruses;o__Caudovirales;f__Autographivirida;g__Teetrevirus;s__Escherichia virus T3" \
	'"g__Teetrevirus" is taxid 2732693, which lies below Studiervirinae in the taxonomy, not below "f__Autographivirida", which is not there'
# below another first part it is a taxon of its own: a species of that name elsewhere is worth a warning
echo "$(acc "$t3")	o__Nidovirales;s__Escherichia virus T3" >odd.tsv
expect 0 'warning: odd.tsv:1: column 2: "s__Escherichia virus T3" is a new taxon, as taxid 2732706 of that name does not lie below "o__Nidovirales"$' \
	"a species that the taxonomy has elsewhere" "$real" build --db x.khdb -m by_seq -L odd.tsv $taxa flat
check "a species that the taxonomy has elsewhere: one line" test "$(grep -c "a new taxon" .err)" -eq 1
"$real" build --db x.khdb -m by_seq -L homonym.tsv $taxa flat 2>said
check "a species that the taxonomy has there: no warning" sh -c '! grep "a new taxon" said'
echo "$(acc "$t3")	g__Nogenus;s__Nogenus nova" >odd.tsv
expect 0 'warning: odd.tsv:1: column 2: "g__Nogenus" is a new taxon below the root, as the taxonomy has none of this name and rank$' \
	"a first part that the taxonomy lacks" "$real" build --db x.khdb -m by_seq -L odd.tsv $taxa flat
check "a first part that the taxonomy lacks: one line" test "$(grep -c "a new taxon" .err)" -eq 1
# a strain that shares its text with another one of its species has no locations, but is listed
gzip -dc "$t3" | sed '1s/^>[^ ]*/>mine1/' >mine1.fa
printf 'mine1\ts__Escherichia virus T3;t__MY-1\n' >own.tsv
made "a strain of one's own" -L own.tsv $taxa "$t3" mine1.fa
check "a strain of one's own: inspect lists it" sh -c '"$1" inspect --taxa x.khdb | grep -q "^  0.00	0	0	S1	[0-9]*	 *MY-1\$"' - "$kmerhash"
check "a strain of one's own: and no row of what is unclassified" sh -c '! "$1" inspect --taxa x.khdb | grep -q unclassified' - "$kmerhash"
# a strain of which every 60th base is another one is told, whichever file is first, and also where one is added
# to a database of the other
lambda=$data/genomes/Escherichia_virus_Lambda.NC_001416.1.fa.gz
gzip -dc "$lambda" | awk '!/^>/ { x = x $0 } END { for (i = 60; i <= length(x); i += 60) {
	c = substr(x, i, 1); x = substr(x, 1, i - 1) (c == "A" ? "C" : "A") substr(x, i + 1) } print ">mine2\n" x }' >mine2.fa
printf 'mine2\ts__Escherichia virus Lambda;t__MY-2\n' >own2.tsv
# reads: 300 of 150 bases
reads() { awk '!/^>/ { x = x $0 } END { for (i = 1; i < 30000; i += 100) printf ">r%d\n%s\n", i, substr(x, i, 150) }'; }
reads <mine2.fa >mine2.reads; gzip -dc "$lambda" | reads >lambda.reads
# called: how many reads are called the strain, and how many of the species'
called() {
	for reads in mine2 lambda; do "$kmerhash" classify -q --use-names --db x.khdb $reads.reads | grep -c '	MY-2 (taxid '; done
}
for first in "$lambda" mine2.fa; do
	of=${first##*/}; [ $first = mine2.fa ] && then=$lambda || then=mine2.fa
	made "$of and a strain" -L own2.tsv $taxa $first $then; set -- $(called)
	check "$of and a strain: $1 of 300 reads are called it, and $2 of the species'" test $1 -ge 295 -a $2 -eq 0
	check "$of and a strain: the text is the species' own" \
		sh -c '"$1" inspect --taxa x.khdb | grep -q "^  0.00	0	0	S1	[0-9]*	 *MY-2\$"' - "$kmerhash"
	made "$of alone" -L own2.tsv $taxa --set total-bases=100K $first; mv x.khdb first.khdb
	made "$of, and the other one is added" --base first.khdb -L own2.tsv $taxa $then; set -- $(called)
	check "$of, and the other one is added: $1 of 300 reads are called the strain, and $2 of the species'" \
		test $1 -ge 240 -a $2 -eq 0
done
bad 2 "move-taxa is for lineages beside a --taxonomy" "nothing to move" --set move-taxa -L gtdb.tsv ncbi

# --- SILVA --------------------------------------------------------------------------------
i=0
for f in flat/*; do
	i=$((i + 1))
	case $i in
	6) tax='Eukaryota;Amorphea;Obazoa;Opisthokonta;Holozoa;Choanozoa;Metazoa;Homo;Homo sapiens' ;;
	*) tax="Bacteria;Pseudomonadota;Gamma;Entero;Enterobacteriaceae;Genus$((i / 2));species $i" ;;
	esac
	gzip -dc $f | tr T U | sed "1s/^>\([^ ]*\) .*/>\1.1.$i $tax/"
done >silva.fasta
made "SILVA's headers" --header-lineage silva.fasta
"$kmerhash" inspect --taxa x.khdb >got
check "SILVA's headers: a species" grep -q '	S	[0-9]*	 *species 3$' got
check "SILVA's headers: a genus" grep -q '	G	[0-9]*	 *Genus1$' got
check "SILVA's headers: of more than seven parts the first and the last have a rank" \
	grep -q '	S	[0-9]*	 *Homo sapiens$' got
check "SILVA's headers: the others have no rank" grep -q '	D6	[0-9]*	 *Metazoa$' got
check "SILVA's headers: nor the last but one" grep -q '	D7	[0-9]*	 *Homo$' got
sed 's/^>\([^ ]*\) .*/>\1;tax=d:Bacteria,p:Pseudomonadota;/' silva.fasta >usearch.fa
mv x.khdb s.khdb
bad 1 "none of 6 sequences has a lineage in its header line, or in a table that --lineage TABLE names" \
	"USEARCH's headers, which have no lineage" --header-lineage usearch.fa
mv s.khdb x.khdb
mv x.khdb s.khdb
rm -f x.khdb; check "SILVA's headers, on standard input" sh -c 'gzip -c silva.fasta | "$1" build -q --db x.khdb --header-lineage -' - "$kmerhash"
same s.khdb x.khdb "SILVA's headers, on standard input: the same"

# --- streams ------------------------------------------------------------------------------
cat flat/*.gz >all.fa.gz
check "standard input" sh -c 'cat all.fa.gz | "$1" build -q --db y.khdb $2 -' - "$kmerhash" "$taxa"
same want.khdb y.khdb "standard input: the same"
mkfifo fifo
(cat all.fa.gz >fifo) &
check "a FIFO" build --db z.khdb fifo
same want.khdb z.khdb "a FIFO: the same"
wait
nothing_left "streams"
rm -f y.khdb; check "standard input and --set total-bases" sh -c 'cat all.fa.gz | "$1" build -q --db y.khdb --set total-bases=190K $2 -' - "$kmerhash" "$taxa"
same want.khdb y.khdb "standard input and --set total-bases: the same"
# follows BASES "K S-MER STRIDE": what a build makes of so many bases
follows() {
	check "$1 bases: build" "$kmerhash" build -q --db y.khdb --set total-bases="$1" $taxa flat
	"$kmerhash" inspect y.khdb >y.txt
	check "$1 bases: k, s and stride are $2" test "$2" = "$(awk -F '\t' '$1 == "k" || $1 == "s-mer" || $1 == "stride" { printf "%s%s", c, $2; c = " " }' y.txt)"
}
follows 33554432 "17 9 16"
follows 33554433 "18 10 16"
follows 130000000 "18 10 32"
follows 1G "18 10 64"
follows 8000000000 "18 8 64"
follows 100000000001 "20 10 64"
follows 1T "20 10 512"

# --- texts by gzip --------------------------------------------------------------------------
classify --db want.khdb --output o.tsv --report o.kreport --json o.json "$sim"
check "a report and a summary by gzip" classify --db want.khdb --output o.tsv.gz --report o2.kreport.gz --json o2.json.gz "$sim"
gzip -dc o2.kreport.gz >got; same o.kreport got "a report by gzip: the same"
check "a summary by gzip: it is" sh -c 'gzip -dc o2.json.gz | grep -q "\"input\": 300"'
plan
