# run_taxonomy.sh - taxonomies, mappings, sequences without a taxon; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"
phix=$(echo "$data"/genomes/Escherichia_virus_phiX174*.gz)
t3=$(echo "$data"/genomes/Enterobacteria_phage_T3*.gz)
t7=$(echo "$data"/genomes/Escherichia_phage_T7*.gz)
map=$data/taxonomy/accession2taxid.tsv

# b STATUS "MESSAGE" NAME OPTIONS...
b() {
	status=$1 message=$2 name=$3; shift 3
	rm -f x.khdb
	expect "$status" "$message" "$name" "$kmerhash" build --db x.khdb -k 16 "$@"
	cp .err message
	if [ "$status" -eq 0 ]; then check "$name: a sound database" "$kmerhash" verify -q x.khdb
	else nothing_left "$name" x.khdb; fi
}
# tax NAME: a copy to be damaged, in the folder "tax"
tax() { rm -rf tax; cp -r "$data/taxonomy" tax; chmod -R u+w tax; }
row() { printf '%s\t|\t%s\t|\t%s\t|\n' "$@" >>tax/nodes.dmp; printf '%s\t|\tsome name\t|\t\t|\tscientific name\t|\n' "$1" >>tax/names.dmp; }

# --- dump files: tests/test_taxonomy.c has what is wrong with them -----------------------
tax; b 0 "" "good" --taxonomy tax -a $map $phix
tax; row 77777 88888 genus; b 1 "nodes.dmp:[0-9]+: .*88888" "a missing parent" --taxonomy tax -a $map $phix
tax; printf '999\t|\t10847\t|\n' >tax/merged.dmp
printf 'NC_001422.1\t999\n' >m.tsv; b 0 "" "a merged taxid" --taxonomy tax -m m.tsv $phix
check "a merged taxid: the new one" sh -c '"$1" inspect --targets x.khdb | cut -f2 | grep -qx 10847' - "$kmerhash"
b 1 "none" "no such folder" --taxonomy none -a $map $phix

# --- taxids of sequences -----------------------------------------------------------------
b 1 "none.tsv" "a mapping that is missing" --taxonomy "$data/taxonomy" -a none.tsv $phix
printf 'NC_001422.1\t10847\nNC_003298.1\tx\n' >m.tsv
b 1 "m.tsv:2" "a bad row" --taxonomy "$data/taxonomy" -m m.tsv $phix
printf 'NC_001422.1\t4000000\n' >m.tsv
b 1 "none of 1 sequence has a taxon" "a taxid that is not in the taxonomy" --taxonomy "$data/taxonomy" -m m.tsv $phix
printf 'NC_001422.1\t10847\n' >m.tsv
b 0 "1 of 2 sequences has no taxon and is left out" "half unmapped" --max-unmapped 0.5 --taxonomy "$data/taxonomy" -m m.tsv $phix $t3
check "half unmapped: named" grep -q "no taxon: NC_003298.1 in $t3\$" message
check "half unmapped: listed" sh -c '[ "$("$1" inspect --unmapped x.khdb)" = NC_003298.1 ]' - "$kmerhash"
cp x.khdb half.khdb
b 1 "1 of 2 sequences has no taxon, more than" "half unmapped, over the limit" \
	--max-unmapped 0.4 --taxonomy "$data/taxonomy" -m m.tsv $phix $t3
b 1 "no table of taxids was given .--accession2taxid, --seqid2taxid, --assemblies or --lineage." "no table" \
	--taxonomy "$data/taxonomy" $phix $t3
check "no table: no sequence is named" sh -c '! grep -q "no taxon: \|inspect" message'
printf 'NC_001422.1\t10847\nNC_003298.1\t77777\n' >odd.tsv
b 1 "no taxon: NC_003298.1 in .*: the taxonomy lacks taxid 77777" "a taxid that the taxonomy lacks" --taxonomy "$data/taxonomy" -m odd.tsv $phix $t3
check "a taxid that the taxonomy lacks: no database is named" sh -c '! grep -q "inspect" message'
b 1 "1 of 2 sequences has no taxon, more than build --max-unmapped 0.05 allows" "one of twenty is the limit" --taxonomy "$data/taxonomy" -m m.tsv $phix $t3
b 1 "2 of 3 sequences have no taxon, more than" "two of three unmapped" --taxonomy "$data/taxonomy" -m m.tsv $phix $t3 $t7
b 0 "2 of 3" "two of three unmapped, allowed" --max-unmapped 0.7 --taxonomy "$data/taxonomy" -m m.tsv $phix $t3 $t7
b 0 "2 of 2" "all unmapped, allowed" --max-unmapped 1 --taxonomy "$data/taxonomy" $t3 $t7
expect 0 "" "all unmapped: an empty database classifies" classify --db x.khdb --output o.tsv "$data/reads/tiny_sim_1.fq.gz"
check "all unmapped: all U" test "$(grep -c '^U' o.tsv)" -eq 300 -a "$(grep -c '^C' o.tsv)" -eq 0
# What has no taxon leaves no trace: bins are those of the targets alone, in any place.
for order in "$t3 $phix" "$phix $t3"; do
	b 0 "" "unmapped before or behind" --max-unmapped 0.5 --taxonomy "$data/taxonomy" -m m.tsv $order
	"$kmerhash" inspect --targets x.khdb >targets
	check "unmapped before or behind: first bin 0" grep -q '^NC_001422.1	10847	5386	0	' targets
	classify --db x.khdb --output o.tsv "$data/reads/tiny_sim_1.fq.gz"
	cp o.tsv o.$(echo "$order" | cksum | cut -c1-5).tsv
done
set -- o.[0-9]*.tsv
same "$1" "$2" "unmapped before or behind: same calls"
# Header tags go first, then tables in order.
gzip -dc $phix | sed '1s/$/ kraken:taxid|10710/' >tag.fa
b 0 "" "a tag in the header" --taxonomy "$data/taxonomy" -m m.tsv tag.fa
check "a tag in the header: goes first" sh -c '"$1" inspect --targets x.khdb | cut -f2 | grep -qx 10710' - "$kmerhash"
printf 'NC_001422.1\t10760\n' >m2.tsv
b 0 "" "two tables" --taxonomy "$data/taxonomy" -m m.tsv -m m2.tsv -a $map $phix
check "two tables: the first decides" sh -c '"$1" inspect --targets x.khdb | cut -f2 | grep -qx 10847' - "$kmerhash"

# --- options --------------------------------------------------------------------------------
b 2 "taxonomy DIR is needed" "no taxonomy" $phix
b 2 "no references" "no references" --taxonomy "$data/taxonomy"
b 2 "unknown option '--frobnicate'" "an unknown option" --taxonomy "$data/taxonomy" --frobnicate $phix
b 2 "kmer-len: 40" "k too large" --taxonomy "$data/taxonomy" -k 40 $phix
b 2 "s-mers of" "s-mers that do not fit" --taxonomy "$data/taxonomy" --set smer-len=15 $phix
b 2 "scheme: 'x'" "an unknown scheme" --taxonomy "$data/taxonomy" --set scheme=x $phix
b 2 "a stride is 16, 32, 64, 128, 256 or 512" "a stride that is none" --taxonomy "$data/taxonomy" --set stride=200 $phix
for size in 5Q -5 ' -5' +5 '5 ' ' 5' '5K ' 5KB 0x5 1.5G 99999999999G ''; do
	b 2 "memory: '[^']*' is not a size" "a size that is none, '$size'" --taxonomy "$data/taxonomy" --memory "$size" $phix
done
b 2 "threads: ' 2' is not a whole number" "a number with a blank" --taxonomy "$data/taxonomy" --threads ' 2' $phix
b 0 "4096 threads asked for, [0-9]* CPUs are there" "threads above the CPUs" \
	--threads 4096 --taxonomy "$data/taxonomy" -a $map $phix
gzip -dc $phix | build --db x.khdb -k 16 - && ok "standard input with -k" || not_ok "standard input with -k"
expect 0 "" "standard input without -k" sh -c 'gzip -dc "$2" | "$1" build --db y.khdb -t "$3/taxonomy" -a "$3/taxonomy/accession2taxid.tsv" -' - "$kmerhash" $phix "$data"
cp $phix ref.fa.gz
expect 2 "both a reference and an output" "the database is a reference" build --db ref.fa.gz ref.fa.gz
same $phix ref.fa.gz "the database is a reference: it is untouched"
# --- a taxonomy of 3000 levels: a report indents 1000 of them, and says so -------------------
mkdir deep
awk 'BEGIN { for (i = 1; i <= 3000; i++) printf "%d\t|\t%d\t|\tclade\t|\n", i, (i > 1 ? i - 1 : 1) }' >deep/nodes.dmp
awk 'BEGIN { for (i = 1; i <= 3000; i++) printf "%d\t|\tn%d\t|\t\t|\tscientific name\t|\n", i, i }' >deep/names.dmp
printf 'NC_001422.1\t3000\n' >m.tsv
b 0 "" "3000 levels" --taxonomy deep -m m.tsv $phix
expect 0 "warning: the taxonomy has 2999 levels below the root.*1000" "3000 levels: a warning" "$kmerhash" inspect --taxa x.khdb
deepest() { awk -F '\t' '{ match($6, /^ */); if (RLENGTH > most) most = RLENGTH } END { print NR, most }' "$1"; }
check "3000 levels: 3000 rows, 2000 blanks at most" test "$(deepest .out)" = "3000 2000"
cp .out deep.kreport
expect 1 "deep.kreport:1001: .*deeper than 1000 levels cannot be read" "3000 levels: merge" "$kmerhash" merge deep.kreport

# --- sequences of several files that are called alike, as contigs of assemblies are ---------------
mkdir bins
for i in 1 2 3; do
	f=$(echo $phix $t3 $t7 | cut -d ' ' -f $i)
	gzip -dc "$f" | sed 's/^>.*/>k141_1 flag=1/' >bins/$i.fa
done
printf 'bins/1.fa\t10847\nbins/2.fa\t10760\nbins/3.fa\t10760\n' >bins.tsv
b 0 "2 sequences have the name of an earlier one" "contigs of several files that are called alike" --taxonomy "$data/taxonomy" -A bins.tsv
check "contigs of several files that are called alike: the taxa of their files" \
	test "$("$kmerhash" inspect --targets x.khdb | cut -f 1-2 | tr '\t\n' '  ')" = "k141_1 10847 k141_1 10760 k141_1 10760 "
printf 'k141_1\t10847\n' >m.tsv
b 1 "bins/2.fa: sequence 'k141_1' occurs for the second time.*allow-duplicates" "the same, with taxa by sequence" \
	--taxonomy "$data/taxonomy" -m m.tsv bins/1.fa bins/2.fa
cat bins/1.fa bins/2.fa >bins/4.fa; printf 'bins/4.fa\t10847\n' >one.tsv
b 1 "bins/4.fa: sequence 'k141_1' occurs for the second time" "contigs of one file that are called alike" --taxonomy "$data/taxonomy" -A one.tsv
cp bins/1.fa bins/7.fa; printf 'bins/1.fa\t10847\nbins/7.fa\t10760\n' >copy.tsv
b 1 "sequence 'k141_1' is the same in bins/1.fa .taxid 10847. and in bins/7.fa .taxid 10760.: leave one out .--set allow-duplicates" \
	"a file and its copy" --taxonomy "$data/taxonomy" -A copy.tsv
b 0 "" "a file and its copy, allowed" --set allow-duplicates --taxonomy "$data/taxonomy" -A copy.tsv
ln bins/1.fa bins/5.fa; printf 'bins/1.fa\t10847\nbins/5.fa\t10760\n' >same.tsv
b 1 "bins/1.fa .taxid 10847. and bins/5.fa .taxid 10760. are the same file: leave one out" "a file with two names and two taxids" \
	--taxonomy "$data/taxonomy" -A same.tsv

# --- references that can never be found --------------------------------------------------------
{ gzip -dc $phix; printf '>short\nACGTACGT\n>unknown\n'; head -c 400 /dev/zero | tr '\0' N; printf '\n>nothing\n>wide\nNNNN\n'; gzip -dc $t3 | sed 1d; } >odd.fa
printf 'NC_001422.1\t10847\nshort\t10760\nunknown\t10760\nnothing\t10760\nwide\t10760\n' >m.tsv
b 0 "warning: 3 of 5 sequences with a taxon can never be found, as they have no 16 bases" "no k-mer is known" --taxonomy "$data/taxonomy" -m m.tsv odd.fa
check "no k-mer is known: named" test "$(grep -c 'never found: \(short\|unknown\|nothing\) (taxid 10760)$' message)" -eq 3
b 0 "warning: 3 of 5" "no k-mer is known, in blocks of 100 bytes" --set block-size=100 --taxonomy "$data/taxonomy" -m m.tsv odd.fa
: >bins/6.fa; printf 'bins/1.fa\t10847\nbins/6.fa\t10760\n' >empty.tsv
b 0 "warning: 1 of 2 files has no sequence; the first is bins/6.fa" "a file of 0 bytes that a table names" --taxonomy "$data/taxonomy" -A empty.tsv
plan
