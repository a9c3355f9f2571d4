# run_select.sh - reads by taxon: --extract and --exclude; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"
check "a database" build --db a.khdb "$data"/genomes/*.gz
for m in 1 2; do
	gzip -dc "$data/reads/tiny_sim_$m.fq.gz" "$data/reads/sarscov2_real_$m.fq.gz" >all_$m.fq
done
c() { classify --db a.khdb --output o.tsv "$@"; }
# ids FILE: of the reads in it, less what says which mate
ids() { sed -n '1~4s/^@\([^ /]*\).*/\1/p' "$1"; }
# called CODE...: ids of the fragments with such a taxid (0: unclassified), in order
called() { awk -F '\t' -v want=" $* " 'index(want, " " $3 " ") { print $2 }' o.tsv | sed 's/ .*//; s|/.*||'; }
# by independent means: the taxa below Nidovirales, and below Teseptimavirus
corona="1335626 2697049 694009 694002 11118 2509511 2509494 2501931 2499399 76804"
t7="110456 1985738 10760"

check "as it was" c --paired --classified-out c#.fq --unclassified-out u#.fq all_1.fq all_2.fq
cp o.tsv want.tsv
awk -F '\t' '$1 == "C" { print $2 }' o.tsv | sed 's|/.*||' >want; ids c_1.fq >got; same want got "as it was: the classified"

check "--extract" c --paired --extract 76804 --classified-out c#.fq --unclassified-out u#.fq all_1.fq all_2.fq
same want.tsv o.tsv "--extract: lines do not change"
called $corona >want; ids c_1.fq >got; same want got "--extract: a clade"
ids c_2.fq >got; same want got "--extract: second mates, too"
check "--extract: there are some" test -s want
check "--extract: their taxids" grep -q 'kraken:taxid|2697049' c_1.fq
awk -F '\t' '{ print $2 }' o.tsv | sed 's|/.*||' | grep -vxFf want >rest; ids u_1.fq >got; same rest got "--extract: all others"
check "--extract: those as they were" sh -c '! grep -q kraken:taxid u_1.fq u_2.fq'
check "--extract: all reads once" test "$(cat c_1.fq u_1.fq | wc -l)" -eq "$(wc -l <all_1.fq)"

check "--extract by names, and several" c --extract "Nidovirales, Teseptimavirus" -e 10847 --classified-out c.fq --unclassified-out u.fq.gz all_1.fq
called $corona $t7 10847 >want; ids c.fq >got; same want got "--extract by names, and several: these"
check "--extract by names: by gzip" gzip -t u.fq.gz
check "--exclude" c --exclude 76804 --classified-out c.fq --unclassified-out u.fq all_1.fq
awk -F '\t' '$1 == "C" { print $2 }' o.tsv | sed 's|/.*||' >all; called $corona >gone; grep -vxFf gone all >want
ids c.fq >got; same want got "--exclude: not in the one"
called 0 >want; ids u.fq >got; same want got "--exclude: and not in the other"
expect 0 "warning: --exclude leaves --unclassified-out as it is.*; --extract 76804 --unclassified-out FILE has all reads but" \
	"--exclude and the unclassified alone" "$kmerhash" classify --db a.khdb --output o.tsv --exclude 76804 --unclassified-out u.fq all_1.fq
ids u.fq >got; same want got "--exclude and the unclassified alone: these"
check "--extract and --exclude" c --extract 10239 --exclude 76804 --classified-out c.fq --unclassified-out u.fq all_1.fq
called 0 $corona >no; awk -F '\t' '{ print $2 }' o.tsv | sed 's|/.*||' | grep -vxFf no >want
ids c.fq >got; same want got "--extract and --exclude: what is left"
check "the root: all that is classified" c --extract 1 --classified-out c.fq all_1.fq
ids c.fq >got; same all got "the root: the same as without"
printf 'sample\treads1\treads2\ns\tall_1.fq\tall_2.fq\n' >sheet
check "of samples" classify --db a.khdb --samples sheet --outdir out --extract 76804 --unclassified-out clean#.fq
c --paired --extract 76804 --unclassified-out u#.fq all_1.fq all_2.fq
same u_1.fq out/s.clean_1.fq "of samples: the same"
check "of samples: other clades" "$kmerhash" classify --db a.khdb --samples sheet --outdir out --exclude 76804 --unclassified-out clean#.fq --resume
check "of samples: are other parameters" test "$(wc -l <out/s.clean_1.fq)" -lt "$(wc -l <u_1.fq)"
check "with a second pass" c --sample-pass --extract 76804 --classified-out c.fq --unclassified-out u.fq all_1.fq
called $corona >want; ids c.fq >got; same want got "with a second pass: of the calls that it makes"
expect 0 "--paf and --sam have the reads that --extract and --exclude choose by the calls before --sample-pass" "with a second pass: SAM" \
	"$kmerhash" classify --db a.khdb --device cpu --output o.tsv --sample-pass --extract 76804 --sam a.sam all_1.fq
c --device cpu --extract 76804 --sam b.sam all_1.fq; same a.sam b.sam "with a second pass: SAM of the first calls"

expect 2 'exclude: "Homo" is neither a taxid nor the name .*.kmerhash inspect --find .Homo. looks for' "unknown taxa" c --extract 9606 --exclude Homo,1 --classified-out c2.fq all_1.fq
cp .err errors
check "unknown taxa: all at once" grep -q 'extract: taxid 9606 is no taxon' errors
nothing_left "unknown taxa" c2.fq
expect 2 '"" is neither' "an empty word" c --extract 1,,2 --classified-out c2.fq all_1.fq
expect 2 "say which reads are written" "no file of reads" c --extract 1 all_1.fq

# a name that two taxa have: neither is meant; of taxa below one another it is the upper one
mkdir two; cp "$data"/taxonomy/*.dmp two; chmod u+w two/*
sed -i "s/^\(10847\t|\t\)[^|]*\(\t|.*scientific name\)/\1Alike\2/; s/^\(10710\t|\t\)[^|]*\(\t|.*scientific name\)/\1Alike\2/" two/names.dmp
build -q --db two.khdb "$data"/genomes/*.gz --taxonomy two
expect 2 'extract: "Alike" is the name of several taxa, such as taxid 10[78][0-9]* .*, below .* and taxid 10[78][0-9]* .*: name the taxid' \
	"a name of two taxa" classify --db two.khdb --output o.tsv --extract Alike --classified-out alike.fq all_1.fq
nothing_left "a name of two taxa" alike.fq
check "their taxids" classify -q --db two.khdb --output - --extract 10847,10710 --classified-out c.fq all_1.fq

# --- where they lie: SAM beside PAF, and beside the bases of reads and references ---------------
sam() { c --device cpu --sam a.sam --paf a.paf "$@"; }
gz() { c --device cpu --sam a.sam.gz "$@"; }
# beside READS[,MATES]: check_sam.py of what sam has made
beside() { python "$tests/check_sam.py" a.sam a.paf "$1" "$data"/genomes/*.gz; }
if [ -n "$PYTHON3" ]; then
	check "--sam" sam --paired all_1.fq all_2.fq
	check "--sam: what PAF has, with the bases of the references" beside all_1.fq,all_2.fq
	check "--sam: all targets" [ "$(grep -c '^@SQ' a.sam)" = 6 ]
	python "$tests/check_paf.py" make from.fa "$data"/genomes/*.gz
	check "--sam: of FASTA, with gaps" sam from.fa
	check "--sam: of FASTA, with gaps: right" beside from.fa
	check "--sam: there are gaps" sh -c 'cut -f 6 a.sam | grep -q "[0-9]I.*[0-9]D\|[0-9]D.*[0-9]I"'
	lambda=$(gzip -dc "$data"/genomes/*Lambda* | sed 1d | tr -d '\n')
	printf '>a\n%s%s\n' "$(echo "$lambda" | cut -c 1001-4000)" "$(echo "$lambda" | cut -c 30001-33000)" >parts.fa
	check "--sam: a record of several parts" sam parts.fa
	check "--sam: all but the first are supplementary" [ "$(grep -v '^@' a.sam | cut -f 2 | tr '\n' ' ')" = "0 2048 " ]
	check "--sam: a record of several parts: right" beside parts.fa
	check "--sam of a species" sam --extract "Escherichia virus Lambda" --paired all_1.fq all_2.fq
	check "--sam of a species: right" beside all_1.fq,all_2.fq
	called 10710 >want; grep -v '^@' a.sam | cut -f 1 | uniq >got; same want got "--sam of a species: its fragments"
	check "--sam of a species: its reference alone" [ "$(grep '^@SQ' a.sam)" = "@SQ	SN:NC_001416.1	LN:48502" ]
	cp a.sam one.sam
	check "--sam, three threads, small blocks, gz" gz --threads 3 --set block-size=900 --extract 10710 --paired all_1.fq all_2.fq
	gzip -dc a.sam.gz >got; same one.sam got "--sam: the same bytes"
	check "--sam of a strain" sam --extract 10760 --paired all_1.fq all_2.fq
	check "--sam of a strain: the references of its species" grep -q "^@SQ	SN:NC_001604.1" a.sam
	check "--sam of samples" sh -c 'printf "sample\treads1\treads2\ns1\tall_1.fq\tall_2.fq\ns2\tall_1.fq\t\n" >sheet.tsv; "$@"' - "$kmerhash" classify --device cpu --db a.khdb \
		--samples sheet.tsv --outdir out --write sam,report --extract 10710
	same one.sam out/s1.sam "--sam of samples: the same bytes"
else skip "--sam" "no python3"; fi
plan
