# run_grow.sh - build --base: the bytes of a build from all references, taxonomies that have changed,
# what is refused; speaks TAP
unset KH_DEVICE                 # it is the CPU's
. "$KH_SRCDIR/tests/tap.sh"

# genome NAME SPECIES STRAIN COPIES: 3000 bases, 3 % other than the species', and behind them so many
# copies of a stretch that all genomes share
genome() {
	awk -v name="$1" -v species="$2" -v strain="$3" -v copies="$4" '
	function rnd(n) { x = x * 16807 % 2147483647; return int(x / 2147483647 * n) }
	function word(n, s) { s = ""; while (n-- > 0) s = s substr("ACGT", rnd(4) + 1, 1); return s }
	function begin(seed, i) { x = seed * 7919 + 1; for (i = 0; i < 9; i++) rnd(2) }
	BEGIN {
		begin(99); shared = word(40); begin(species); s = word(3000); begin(1000 + strain); out = ""
		for (i = 1; i <= 3000; i++) out = out (rnd(33) ? substr(s, i, 1) : word(1))
		for (i = 0; i < copies; i++) out = out shared word(24)
		printf ">%s\n%s\n", name, out
	}' >"$1.fa"
}
genome u1 5 1 0; genome a1 1 11 60; genome a2 1 12 60; genome b1 2 21 150; genome u2 6 2 1
genome a3 1 13 0; genome b2 2 22 0; genome c1 3 31 3; genome a4 1 14 150; genome n1 4 41 0
printf '%s\t%s\n' a1 1011 a2 1012 a3 1013 a4 1014 b1 1021 b2 1022 c1 201 n1 202 >map
row() { printf '%s\t|\t%s\t|\t%s\t|\n' $1 $2 $3 >>$tax/nodes.dmp; printf '%s\t|\ttaxon %s\t|\t\t|\tscientific name\t|\n' $1 $1 >>$tax/names.dmp; }
mkdir tax; tax=tax
row 1 1 no_rank; row 2 1 family; row 10 2 genus; row 20 2 genus; row 101 10 species; row 102 10 species
row 201 20 species; row 202 20 species; row 1021 102 strain; row 1022 102 strain
for i in 1011 1012 1013 1014; do row $i 101 strain; done

# strain FROM NAME SEED: one base in 60 is another one, a stretch is gone, and one is unknown
strain() {
	awk -v name="$2" -v seed="$3" '
	function rnd(n) { x = x * 16807 % 2147483647; return int(x / 2147483647 * n) }
	!/^>/ {
		x = seed * 7919 + 1; for (i = 0; i < 9; i++) rnd(2)
		s = substr($0, 1, 700 + rnd(300)) substr($0, 1050 + rnd(300)); out = ""
		for (i = 1; i <= length(s); i++) out = out (rnd(60) ? substr(s, i, 1) : substr("ACGTN", rnd(5) + 1, 1))
		printf ">%s\n%s%s\n", name, out, "NNNNNNNNNNNNNNNNNNNNNNNN" substr($0, 1, 150)
	}' "$1.fa" >"$2.fa"
}
for i in 1 2 3 4 5; do strain a1 s$i 7$i; strain b1 t$i 8$i; printf 's%s\t1011\nt%s\t1021\n' $i $i >>map; done
mix="u1.fa a1.fa s1.fa t1.fa b1.fa s2.fa u2.fa a2.fa s3.fa t2.fa c1.fa s4.fa t3.fa b2.fa s5.fa t4.fa n1.fa t5.fa"

b() { rm -f "$db"; "$kmerhash" build -q --db $db --taxonomy $tax --seqid2taxid map --max-unmapped 1 "$@"; }
whole() { db=all.khdb; b "$@"; }
first() { db=old.khdb; b "$@"; }
add() { db=new.khdb; b --base old.khdb "$@"; }
inspect() { "$kmerhash" inspect "$1" | awk -F '\t' -v name="$2" '$1 == name { print $2 }'; }

# split N OPTION...: the first N references, then the others
split() {
	few=$1; shift; old=; new=; i=0
	for f in $mix; do i=$((i + 1)); if [ $i -le $few ]; then old="$old $f"; else new="$new $f"; fi; done
	first "$@" $old && case $* in *keep-all*) add --set keep-all $new;; *) add $new;; esac && cmp all.khdb new.khdb
}
for o in "-k 12" "-k 12 --set scheme=minhash" "-k 14 --set stride=64" "-k 12 --set stride=256" "-k 12 --set keep-all" "-k 12 --set keep-repeats" \
	"-k 12 --max-db-size 120K" "-k 13 --set smer-len=9"; do
	# what is chosen by the number of bases is told
	o="$o --set total-bases=50K"
	check "$o: of all" whole $o $mix
	for i in 1 2 4 5 9 13 17; do check "$o, $i of 18" split $i $o; done
done
# another limit for NEW: the bytes of a build from all with that, whatever the old one was
o="-k 12 --set total-bases=50K"
check "a limit: of all" whole $o --max-db-size 110K $mix
for was in "" "--max-db-size 90K" "--max-db-size 120K"; do
	first $o $was u1.fa a1.fa s1.fa t1.fa b1.fa
	check "a limit ${was:+beside $was}: added" add --max-db-size 110K s2.fa u2.fa a2.fa s3.fa t2.fa c1.fa s4.fa t3.fa b2.fa s5.fa t4.fa n1.fa t5.fa
	same all.khdb new.khdb "a limit ${was:+beside $was}: the same"
done
check "a limit: it is kept" test "$(wc -c <new.khdb)" -le 112640
# one base in a thousand that differs is an allele that reads do not ask for, but references that are added do
once() {
	awk -v name="$2" -v at="$3" '/^>/ { print ">" name }
		!/^>/ { print substr($0, 1, at - 1) (substr($0, at, 1) == "A" ? "C" : "A") substr($0, at + 1) }' "$1.fa" >"$2.fa"
	printf '%s\t1011\n' "$2" >>map
}
once a1 v1 900; once a1 v2 1200; few="--set total-bases=50K -k 12"
whole $few a1.fa v1.fa v2.fa; first $few a1.fa v1.fa; add v2.fa; same all.khdb new.khdb "few alleles, and one more"
first $few a1.fa; add v1.fa; mv new.khdb old.khdb; add v2.fa s1.fa; whole $few a1.fa v1.fa v2.fa s1.fa; same all.khdb new.khdb "few alleles, and many more"
whole --set total-bases=50K -k 12 $mix
db=x.khdb; b --set keep-all --set total-bases=50K -k 12 $mix
size_of_text() { od -An -tu8 -j224 -N8 $1 | tr -d ' '; }     # its bytes, by kmerhash-db(5)
check "much of the strains is left out ($(size_of_text all.khdb) of $(size_of_text x.khdb) bytes)" test $(($(size_of_text all.khdb) * 3)) -lt $(($(size_of_text x.khdb) * 2))
rm -f x.khdb
rest="s5.fa t4.fa n1.fa t5.fa"; start=${mix%" $rest"}
first --set total-bases=50K -k 12 u1.fa a1.fa s1.fa; add t1.fa b1.fa s2.fa u2.fa a2.fa; mv new.khdb old.khdb
add s3.fa t2.fa c1.fa s4.fa t3.fa b2.fa; mv new.khdb old.khdb; add $rest; same all.khdb new.khdb "added to three times"
for o in "--threads 1" "--threads 8" "--memory 1" "--set block-size=100"; do add $o $rest; same all.khdb new.khdb "$o"; done
cat $rest | add -; same all.khdb new.khdb "standard input"
check "it is sound" "$kmerhash" verify -q new.khdb
expect 0 "" "a dry run" "$kmerhash" build --dry-run --max-unmapped .5 --base old.khdb --db y.khdb --taxonomy $tax --seqid2taxid map $rest
nothing_left "a dry run" y.khdb

# --- a newer taxonomy: the bytes of a build from all references with it ------------------------
change() { rm -rf newer; cp -r tax newer; tax=newer; }
edit() { sed "$1" newer/$2 >newer/x && mv newer/x newer/$2; }
# changed NAME "MESSAGE": with another taxonomy
changed() {
	db=all.khdb; expect 0 "" "$1: of all" b --set total-bases=50K -k 12 $mix
	db=new.khdb; rm -f new.khdb
	expect 0 "$2" "$1: added" "$kmerhash" build --db new.khdb --taxonomy $tax --seqid2taxid map --max-unmapped 1 --base old.khdb $rest
	same all.khdb new.khdb "$1: same bytes"
	tax=tax
}
first --set total-bases=50K -k 12 $start
change; edit 's/taxon 102/renamed/' names.dmp; changed "renamed" "under another name"
change; edit 's/^102	|	10	/102	|	20	/' nodes.dmp; changed "a species in another genus" " 1 under another parent"
# The order of ids without a taxon is not known of the old ones, so there are none here.
change; edit '/^102[12]*	/d' nodes.dmp; edit '/^102[12]*	/d' names.dmp
all_of="$mix"; mix=$(echo $mix | sed 's/u[12].fa//g'); tax=tax; first --set total-bases=50K -k 12 ${mix%"$rest"}
tax=newer; changed "a species is removed" "3 no more"; mix=$all_of; first --set total-bases=50K -k 12 $start
change; edit 's/^1011	|	101	|	strain/1011	|	102	|	strain/' nodes.dmp; tax=tax
expect 1 "the genomes of 'taxon 101' .taxid 101. are of several species in the new taxonomy" "a species is split" \
	"$kmerhash" build --db x.khdb --taxonomy newer --seqid2taxid map --max-unmapped .5 --base old.khdb $rest
nothing_left "a species is split" x.khdb
first --set keep-all --set total-bases=50K -k 12 $start; tax=newer; whole --set keep-all --set total-bases=50K -k 12 $mix
add --set keep-all $rest; tax=tax; same all.khdb new.khdb "a species is split, of which all was kept"
db=old.khdb; b --translated --set total-bases=50K -k 12 $start
expect 2 "nothing can be added to it, as it has translated seeds" "translated seeds" \
	"$kmerhash" build --db x.khdb --taxonomy tax --seqid2taxid map --base old.khdb $rest
nothing_left "translated seeds" x.khdb

# --- lineages ----------------------------------------------------------------------------------
# The number of a path is a hash, and of two paths with one number the lesser keeps it: P402708 has
# another one where P289938 is known, too (run_references.sh), and so have species and strains.
printf '%s\t%s\n' a1 "d__Bacteria;p__P402708" b1 "d__Bacteria;p__Q;c__C;o__O;f__F;g__B;s__b" >few.tsv
{ cat few.tsv; printf '%s\t%s\n' a2 "d__Bacteria;p__P289938" c1 "d__Bacteria;p__P289938;c__C"; } >more.tsv
# lineage TABLE OPTION...: into $db
lineage() { rm -f "$db"; "$kmerhash" build -q --db $db --lineage "$@"; }
calls() { "$kmerhash" classify -q --db $1 --use-names a1.fa a2.fa | cut -f 3; }
db=old.khdb; lineage few.tsv -k 12 a1.fa b1.fa
db=all.khdb; lineage more.tsv -k 12 a1.fa b1.fa a2.fa c1.fa
db=new.khdb; expect 0 "" "two paths of one number: added" lineage more.tsv --base old.khdb a2.fa c1.fa
same all.khdb new.khdb "two paths of one number: the bytes of a build from all"
calls new.khdb >.got; check "two paths of one number: the phylum of each" grep -q "^P402708 (taxid 1227881109)$" .got
# Without letters in front of the names, and with an empty rank.
sed 's/[dpcofgs]__//g; s/;F;B;b/;F;;B;b/' few.tsv >plain.few.tsv; sed 's/[dpcofgs]__//g; s/;F;B;b/;F;;B;b/' more.tsv >plain.more.tsv
db=old.khdb; lineage plain.few.tsv -k 12 a1.fa b1.fa
db=all.khdb; lineage plain.more.tsv -k 12 a1.fa b1.fa a2.fa c1.fa
db=new.khdb; expect 0 "" "names without letters: added" lineage plain.more.tsv --base old.khdb a2.fa c1.fa
same all.khdb new.khdb "names without letters: the bytes of a build from all"
# A taxonomy of another kind has none of the old taxa.
five="a2.fa a3.fa b2.fa c1.fa n1.fa"
tax=tax; first -k 12 a1.fa b1.fa
printf '%s\td__Z;s__%s\n' a2 x a3 x b2 y c1 y n1 y >other.tsv
db=x.khdb; expect 1 "2 of 2 targets of old.khdb have no taxon in the lineages given.*same kind" "lineages for a dump" \
	lineage other.tsv --base old.khdb $five
nothing_left "lineages for a dump" x.khdb
db=old.khdb; lineage more.tsv -k 12 a1.fa b1.fa a2.fa
db=x.khdb; expect 2 "old.khdb has taxa of lineages, such as 'P402708', which the taxonomy in tax cannot have" "a dump for lineages" \
	"$kmerhash" build -q --db x.khdb --taxonomy tax --seqid2taxid map --base old.khdb a3.fa a4.fa b2.fa c1.fa n1.fa
{ cat few.tsv; printf 'b2\td__Bacteria;p__Q\n'; } >lost.tsv
expect 1 "1 of 3 targets.*allows$" "a table without an old genome" lineage lost.tsv --max-unmapped .3 --base old.khdb b2.fa
nothing_left "a dump for lineages" x.khdb
# One whose species have, by chance, the numbers of the lineages: they are others.
for letters in more plain.more; do
	db=old.khdb; lineage $letters.tsv -k 12 a1.fa b1.fa a2.fa
	"$kmerhash" inspect --taxdump same old.khdb; sed 's/P402708/P other/; s/B b/S other/' same/names.dmp >.x; mv .x same/names.dmp
	expect 2 "old.khdb has taxa of lineages, such as '[PB].*', which the taxonomy in same cannot have" "a dump of the same numbers, $letters" \
		"$kmerhash" build -q --db x.khdb --taxonomy same --seqid2taxid map --max-unmapped 1 --base old.khdb a3.fa
	nothing_left "a dump of the same numbers, $letters" x.khdb; rm -r same
done
# Lineages beside a dump, which has some of their taxa under its own numbers.
mkdir joined; tax=joined; row 1 1 no_rank; row 2 1 domain; row 7 2 kingdom; row 8 7 phylum; row 9 8 genus; row 10 9 species; row 11 10 strain; tax=tax
sed -i 's/taxon 2	/Bacteria	/; s/taxon 8	/P289938	/' joined/names.dmp
printf 'n1\t11\n' >joined.map    # a strain of the dump, below a genus that only lineages have
{ cat few.tsv; printf '%s\t%s\n' a2 "d__Bacteria;p__P289938;g__G;s__s new" b2 "d__Bacteria;p__R;g__H;s__taxon 10"; } >some.tsv
{ cat some.tsv; printf '%s\t%s\n' c1 "d__Bacteria;p__P289938;c__C"; } >all.tsv
both() { rm -f "$db"; "$kmerhash" build -q --db $db --taxonomy joined --seqid2taxid joined.map "$@"; }
db=old.khdb; both --set move-taxa --lineage some.tsv -k 12 n1.fa a1.fa b1.fa a2.fa
db=all.khdb; both --set move-taxa --lineage all.tsv -k 12 n1.fa a1.fa b1.fa a2.fa c1.fa
db=new.khdb; expect 0 "" "lineages beside a dump: added" both --set move-taxa --lineage all.tsv --base old.khdb c1.fa
same all.khdb new.khdb "lineages beside a dump: the bytes of a build from all"
db=x.khdb; expect 2 "old.khdb has taxa of lineages, such as 'taxon 11', which the taxonomy in joined cannot have" "lineages beside a dump: the dump alone" \
	both --base old.khdb --max-unmapped 1 a3.fa
expect 1 "1 of 4 targets of old.khdb has no taxon in the lineages given" "lineages beside a dump: the lineages alone" \
	lineage all.tsv --base old.khdb c1.fa
nothing_left "lineages beside a dump" x.khdb
tax=tax; first -k 12 u1.fa a1.fa u2.fa b1.fa

# --- what is refused ---------------------------------------------------------------------------
# no STATUS "MESSAGE" NAME ARGUMENT...
no() {
	status=$1 text=$2 what=$3; shift 3
	expect "$status" "$text" "$what" "$kmerhash" build --db x.khdb --taxonomy tax --seqid2taxid map "$@"
	nothing_left "$what" x.khdb
}
no 1 "a1.fa: sequence 'a1' is in old.khdb already" "an id again" --base old.khdb a2.fa a1.fa
no 1 "u1.fa: sequence 'u1' is in old.khdb already" "an id without a taxon again" --base old.khdb u1.fa
no 1 "a2.fa is given twice" "a new file twice" --base old.khdb a2.fa a2.fa
sed n a2.fa >a2.copy.fa
no 1 "sequence 'a2' occurs for the second time" "a new id twice" --base old.khdb a2.fa a2.copy.fa
db=x.khdb; expect 0 "" "--set allow-duplicates" b --base old.khdb --set allow-duplicates a1.fa; rm -f x.khdb
# what is new needs a taxon, however many old sequences have one
added() { status=$1 text=$2 what=$3; shift 3; expect "$status" "$text" "$what" "$kmerhash" build --db x.khdb --taxonomy tax --base old.khdb "$@"; }
added 1 "no table of taxids was given for the new sequences" "no table for what is new" a2.fa
printf 'b2\t1022\n' >b2.map
added 1 "none of 1 new sequence has a taxon of this taxonomy$" "nothing new has a taxon" -m b2.map a2.fa
added 1 "1 of 2 new sequences has no taxon, more than build --max-unmapped 0.4 allows" "the share of what is new" \
	--max-unmapped .4 -m b2.map a2.fa b2.fa
nothing_left "new sequences without a taxon" x.khdb
added 0 "1 of 2 new sequences has no taxon and is left out" "new sequences without a taxon, allowed" --max-unmapped .5 -m b2.map a2.fa b2.fa
check "new sequences without a taxon: the old ones are not named" sh -c '! grep -q u1 "$1"' - "$t/.err"; rm -f x.khdb
no 1 "none.khdb: No such file" "none" --base none.khdb a2.fa
no 2 "no references are named" "nothing to add" --base old.khdb
for o in "-k 12" "--set scheme=syncmer" "--set smer-len=8" "--set features=4" "--set stride=64" "--translated" "--set keep-repeats" "--set total-bases=1M"; do
	no 2 "are those of --base" "$o" --base old.khdb $o a2.fa
done
cp old.khdb copy.khdb; ln -s copy.khdb link.khdb; ln copy.khdb hard.khdb
for name in copy.khdb link.khdb ./copy.khdb hard.khdb; do
	expect 2 "" "--db $name" "$kmerhash" build --db $name --taxonomy tax --seqid2taxid map --base copy.khdb a2.fa
	same old.khdb copy.khdb "--db $name: it is as it was"
done
head -c $(($(wc -c <old.khdb) - 5000)) old.khdb >bad.khdb; no 1 "truncated" "cut off" --base bad.khdb a2.fa
{ head -c 6000 old.khdb; printf damage; tail -c +6007 old.khdb; } >bad.khdb
no 1 "bad.khdb: damaged: the checksum of bytes" "bytes that are others" --base bad.khdb a2.fa
plan
