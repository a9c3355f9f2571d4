# run_databases.sh - the recipes of doc/databases.md, as they stand there, on made-up collections in the
# folders and tables of the real ones; speaks TAP
. "${KH_SRCDIR:?}/tests/tap.sh"
doc=$KH_SRCDIR/doc/databases.md
mkdir bin && ln -s "$kmerhash" bin/kmerhash && PATH=$t/bin:$PATH
# recipe NAME: runs the commands behind <!-- run: NAME -->
recipe() {
	sed -n "/^<!-- run: $1 -->/,/^<!-- end/s/^    //p" "$doc" >script
	check "$1: there are commands" test -s script
	expect 0 "" "$1" sh -e script
}
random() { awk -v n="$1" -v seed="$2" 'BEGIN { srand(seed); for (i = 0; i < n; i++) s = s substr("ACGT", 1 + int(4 * rand()), 1); print s }'; }
genome_of() { for f in "$data"/genomes/*; do case $f in *$1*) gzip -dc "$f" ;; esac; done; }

# --- the NCBI's taxonomy, with what the viruses of data/ lack ----------------------------------------
cp -R "$data/taxonomy" taxdump && chmod -R u+w taxdump
taxon() {  # TAXID PARENT RANK NAME
	printf '%s\t|\t%s\t|\t%s\t|\n' "$1" "$2" "$3" >>taxdump/nodes.dmp
	printf '%s\t|\t%s\t|\t\t|\tscientific name\t|\n' "$1" "$4" >>taxdump/names.dmp
}
taxon 131567 1 "no rank" "cellular organisms"
taxon 2 131567 domain Bacteria; taxon 1224 2 phylum Pseudomonadota; taxon 561 1224 genus Escherichia; taxon 562 561 species "Escherichia coli"
taxon 2157 131567 domain Archaea; taxon 2172 2157 genus Methanobrevibacter; taxon 2173 2172 species "Methanobrevibacter smithii"
taxon 2759 131567 domain Eukaryota; taxon 9605 2759 genus Homo; taxon 9606 9605 species "Homo sapiens"
taxon 4930 2759 genus Saccharomyces; taxon 4932 4930 species "Saccharomyces cerevisiae"

# tree FOLDER ACCESSION TAXID: an assembly in a tree of datasets, of the FASTA on standard input
tree() {
	d=$1/ncbi_dataset/data
	mkdir -p "$d/$2"
	cat >"$d/$2/$2_ASM1v1_genomic.fna"
	printf '{"accession":"%s","organism":{"taxId":%s}}\n' "$2" "$3" >>"$d/assembly_data_report.jsonl"
	printf 'x' >"$d/dataset_catalog.json"; printf 'x' >"$1/README.md"; printf 'x' >"$1/md5sum.txt"
}
{ echo ">NZ_1.1 coli"; random 6000 1; } | tree bacteria GCF_000005845.2 562
{ echo ">NZ_2.1 smithii"; random 5000 2; } | tree archaea GCF_000016525.1 2173
{ echo ">NC_000001.11 chromosome 1"; random 9000 3; } | tree human GCF_000001405.40 9606
genome_of phiX174 | tree viruses GCF_000819615.1 10847
genome_of Lambda | tree viruses GCF_000840245.1 10710
{ echo ">NC_001133.9 chromosome I"; random 4000 4 | tr ACGT acgt; } | tree fungi GCF_000146045.2 4932

taxa() { "$kmerhash" inspect --targets "$1" | cut -f 1-2 | sort; }
recipe refseq
taxa refseq.khdb >got
printf '%s\t%s\n' NC_000001.11 9606 NC_001416.1 10710 NC_001422.1 10847 NZ_1.1 562 NZ_2.1 2173 | sort >want
same want got "refseq: the taxa"
random 9000 3 | cut -c 2001-2300 | sed '1s/^/>human\n/' >reads.fa
classify --db refseq.khdb --output o.tsv --extract 9606 --unclassified-out rest.fa reads.fa
check "refseq: human reads are removed" test ! -s rest.fa -a -s o.tsv

mkdir genomes
gzip -c bacteria/ncbi_dataset/data/*/*.fna >genomes/GCF_000005845.2_ASM584v2_genomic.fna.gz
{ echo "##  See README"; printf '#assembly_accession\tbioproject\ttaxid\torganism_name\nGCF_000005845.2\tna\t562\tE. "coli"\n'; } >assembly_summary.txt
recipe ftp
check "ftp: the taxa" test "$(taxa ftp.khdb)" = "NZ_1.1	562"

# --- GTDB -----------------------------------------------------------------------------------------
g=gtdb_genomes_reps_r226/database/GCF/000/005
mkdir -p $g/845 $g/999
gzip -c bacteria/ncbi_dataset/data/*/*.fna >$g/845/GCF_000005845.2_genomic.fna.gz
{ echo ">NZ_3.1 new"; random 5000 5; } | gzip -c >$g/999/GCA_000005999.1_genomic.fna.gz
{ echo ">NZ_2.1 smithii"; random 5000 2; } | gzip -c >$g/999/GCF_000016525.1_genomic.fna.gz
printf 'accession\tambiguous_bases\tgenome_size\tgtdb_representative\tgtdb_taxonomy\tncbi_taxid\n' | tee head >/dev/null
{ cat head
printf 'RS_GCF_000005845.2\t0\t6000\tt\td__Bacteria;p__Pseudomonadota;c__Gammaproteobacteria;o__Enterobacterales;f__Enterobacteriaceae;g__Escherichia;s__Escherichia coli\t562\n'
printf 'RS_GCF_000005846.1\t0\t5500\tf\td__Bacteria;p__Pseudomonadota;c__Gammaproteobacteria;o__Enterobacterales;f__Enterobacteriaceae;g__Escherichia;s__Escherichia coli\t562\n'
printf 'GB_GCA_000005999.1\t0\t5000\tt\td__Bacteria;p__Bacillota_A;c__C;o__O;f__F;g__G;s__G sp1\t7\n'; } | gzip -c >bac120_metadata.tsv.gz
{ cat head; printf 'RS_GCF_000016525.1\t0\t5000\tt\td__Archaea;p__P;c__C;o__O;f__F;g__Methanobrevibacter_A;s__Methanobrevibacter_A smithii\t2173\n'; } | gzip -c >ar53_metadata.tsv.gz
recipe gtdb
taxa gtdb.khdb | grep -v '^NZ_[23]' >got
grep -v NZ_2 want >few; same few got "gtdb: the NCBI's numbers"
check "gtdb: taxa of its own" test "$(taxa gtdb.khdb | grep -c '^NZ_[23].1	[0-9]*$')" -eq 2
check "gtdb: its taxonomy" grep -q "^9606	|	9605	|	species	|" gtdb_taxdump/nodes.dmp
check "gtdb: its names" grep -q '	|	Methanobrevibacter_A smithii	|		|	scientific name	|$' gtdb_taxdump/names.dmp
if command -v taxonkit >/dev/null; then
	check "gtdb: TaxonKit reads it" sh -c 'echo 562 | taxonkit --data-dir gtdb_taxdump lineage | grep -q "Gammaproteobacteria;.*;Escherichia coli"'
else skip "gtdb: TaxonKit reads it" "no taxonkit"; fi

recipe "gtdb size"
check "gtdb size: representatives only" test "$(cat .out)" = 16000

rna() { random "$@" | tr T U; }
{ echo ">AB1.1.1500 Bacteria;Pseudomonadota;Gammaproteobacteria;Enterobacterales;Enterobacteriaceae;Escherichia;Escherichia coli"; rna 1500 6
echo ">AB2.1.1500 Bacteria;Bacillota;Bacilli;Lactobacillales;Streptococcaceae;Streptococcus;Streptococcus mitis"; rna 1500 7; } |
	gzip -c >SILVA_138.2_SSURef_NR99_tax_silva.fasta.gz
recipe silva
{ echo ">r"; random 1500 7 | cut -c 401-650; } >read.fa
classify --db silva.khdb --use-names read.fa >got
check "silva: a read of one region" grep -q "Streptococcus mitis" got

{ for name in "Streptococcus;Streptococcus oralis" "Streptococcus;uncultured bacterium" "uncultured;uncultured bacterium" "uncultured;human gut metagenome"; do
	i=$((i + 1)); echo ">AB$i.1.1500 Bacteria;Bacillota;Bacilli;Lactobacillales;Streptococcaceae;$name"; rna 1500 8$i
done; gzip -dc SILVA*.gz; } | gzip -c >more.gz && mv more.gz SILVA_138.2_SSURef_NR99_tax_silva.fasta.gz
recipe "silva named"
"$kmerhash" inspect --taxa named.khdb | awk -F '\t' '$3 > 0 { sub(/^ */, "", $6); print $4, $6 }' | sort >got
printf '%s\n' "F Streptococcaceae" "G Streptococcus" "S Escherichia coli" "S Streptococcus mitis" "S Streptococcus oralis" | sort >want
same want got "silva named: the taxa of its sequences"

mkdir -p gg_13_8_otus/taxonomy gg_13_8_otus/rep_set
{ echo ">228054"; random 1500 6; echo ">367523"; random 1500 7; } >gg_13_8_otus/rep_set/99_otus.fasta
l="k__Bacteria; p__Firmicutes; c__Bacilli; o__Lactobacillales; f__Streptococcaceae; g__Streptococcus; s__"
printf "%s\t$l%s\n" 228054 "" 367523 mitis >gg_13_8_otus/taxonomy/99_otu_taxonomy.txt
recipe greengenes
classify --db greengenes.khdb --use-names read.fa >got
check "greengenes: a read of one region" grep -q "Streptococcus mitis" got

recipe fungi
check "fungi: the taxa" test "$(taxa fungi.khdb)" = "NC_001133.9	4932"

mkdir plasmid
{ for i in 1 2 3 4 5 6; do echo ">NZ_P$i.1 plasmid"; random 2000 1$i; done; } | gzip -c >plasmid/plasmid.1.1.genomic.fna.gz
{ printf 'accession\taccession.version\ttaxid\tgi\n'; for i in 1 2 3 4 5; do printf 'NZ_P%s\tNZ_P%s.1\t562\t0\n' $i $i; done; } | gzip -c >nucl_gb.accession2taxid.gz
recipe plasmids
check "plasmids: the taxa" test "$(taxa plasmids.khdb | grep -c '	562$')" -eq 5
plan
