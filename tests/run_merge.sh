# run_merge.sh - tables of several reports: values, formats, real readers, bad reports; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"

merge() { "$kmerhash" merge -q "$@"; }

check "a database" build --db a.khdb "$data"/genomes/*.gz
mkdir run
for s in tiny_sim sarscov2_real; do
	check "a run of $s" classify --db a.khdb --paired --report run/$s.kreport --output run/$s.tsv \
		"$data/reads/${s}_1.fq.gz" "$data/reads/${s}_2.fq.gz"
done
check "a run with 8 columns" classify --db a.khdb --report run/both.kreport --set distinct \
	--use-names --output run/both.tsv.gz "$data/reads/tiny_sim_1.fq.gz" "$data/reads/sarscov2_real_1.fq.gz"
printf '' >none.fq
check "a run of nothing" classify --db a.khdb --report none.kreport --output none.tsv none.fq
names="both=run/both.kreport sarscov2_real=run/sarscov2_real.kreport tiny_sim=run/tiny_sim.kreport"

# --- tables ---------------------------------------------------------------------------
if [ -n "${PYTHON3:-}" ]; then
	for value in clade reads share all; do
		python "$tests/oracle_merge.py" table $value $names >want
		merge --value $value run >got; same want got "table of $value, beside the oracle"
	done
	merge -f cami-profile run >profile
	check "CAMI profile, beside the oracle" sh -c '"$1" "$2" cami $3 <profile' - "$PYTHON3" "$tests/oracle_merge.py" "$names"
else skip "tables, beside the oracle" "no python3"; fi
merge run >want
merge run/both.kreport run/sarscov2_real.kreport run/tiny_sim.kreport >got; same want got "files are as their folder"
printf 'both\trun/both.kreport\n\nrun/sarscov2_real.kreport\r\nrun/tiny_sim.kreport\n' >list
merge --list list >got; same want got "a list is, too"
gzip -c run/both.kreport >both.kreport.gz
merge both.kreport.gz run/sarscov2_real.kreport run/tiny_sim.kreport >got; same want got "a report by gzip"
merge -o o.tsv.gz run && gzip -dc o.tsv.gz >got; same want got "a table by gzip"
merge run/tiny_sim.kreport run/both.kreport run/sarscov2_real.kreport | cut -f 1-4 >got
cut -f 1-4 want >cut; same cut got "rows do not depend on the order of samples"
merge run/both.kreport | cut -f 5 | sed -n 3p >got
check "one sample: the reads of the root" grep -qx "$(awk -F '\t' '$7 == 1 { print $2 }' run/both.kreport)" got
for r in species S s; do merge -r $r run >got.$r; done
awk -F '\t' 'NR == 1 || $2 == "S"' want >cut; same cut got.species "rows of a rank"
same got.species got.S "a rank by its letter"; same got.species got.s "a rank by its letter, small"
awk -F '\t' 'NR == 1 || $2 == "S1"' want >cut; merge -r S1 run >got; same cut got "rows of a code"
merge none.kreport run >got; check "a report without reads" test "$(cut -f 5 got | sort -u | tr '\n' ' ')" = "0 none "
mkdir named; cp run/both.kreport 'named/a b.report.txt'
check "a sample's name has blanks" sh -c '"$1" merge named/*.txt | head -n 1 | cut -f 5 | grep -qx "a b"' - "$kmerhash"

# --- Kraken 2's own -------------------------------------------------------------------
printf '%s\n' ' 10.00	1	1	U	0	unclassified' ' 90.00	9	0	-	1	root' ' 90.00	9	3	-	10239	  Viruses' \
	' 60.00	6	0	1	2731342	    Monodnaviria' ' 60.00	6	6	-	10847	      Escherichia virus phiX174' >blank.kreport
expect 0 "" "rank codes that are missing" merge blank.kreport
check "rank codes that are missing: rows" grep -qx '10847		Escherichia virus phiX174		6' .out
{ echo "# Database options"; sed 's/\t-\t/\tR1\t/' blank.kreport; } >inspect.kreport
expect 0 "" "a header of kraken2-inspect" merge inspect.kreport

printf '%s\n' '100.00	9	0	R	1	root' ' 60.00	6	0	R1	10239	  Viruses' ' 60.00	6	0	R2	2559587	    Riboviria' \
	' 60.00	6	6	K	2732396	      Orthornavirae' ' 30.00	3	0	R1	131567	  cellular organisms' \
	' 30.00	3	3	D	2	    Bacteria' >k2.report
check "R1 of viruses by NCBI's ranks of 2025: a domain" test "$(merge -r D k2.report | cut -f 2-3,5 | tr '\t\n' '  ')" = \
	"rank name k2 D Viruses 6 D Bacteria 3 "
check "R1 of viruses by NCBI's ranks of 2025: the code of a realm" test "$(merge k2.report | awk -F '\t' '$1 == 2559587 { print $2, $4 }')" = "D1 d__Viruses"

# bracken SECOND CLADE: a report of Bracken's, of which a species has SECOND reads
bracken() {
	printf '%s\n' '100.00	300	0	R	1	root' '100.00	300	0	D	10239	  Viruses' "33.33	${2:-100}	0	G	110456	    Teseptimavirus" \
		'16.67	50	50	S	2732706	      Escherichia virus T3' "16.33	$1	$1	S	1985738	      Escherichia virus T7" \
		'66.67	200	0	G	694002	    Betacoronavirus' '66.67	200	200	S	694009	      SARS-related coronavirus' >bracken.report
}
for reads in 48 49 51 52; do
	bracken $reads
	expect 0 "warning: 1 clade has as many reads as its parts but for one" "a report of Bracken's, $reads reads" "$kmerhash" merge bracken.report
	check "a report of Bracken's, $reads reads: they are there" grep -q "^1985738.*	$reads\$" .out
done
bracken 50; expect 0 "" "a report of Bracken's that adds up" "$kmerhash" merge bracken.report
check "a report of Bracken's that adds up: no warning" test ! -s .err
for reads in 47 53; do
	bracken $reads; expect 1 "bracken.report:3: column 2: 100 reads in the clade, but $((reads + 50)) in its parts: rows are missing" \
		"a report of which rows are missing, $reads reads" "$kmerhash" merge bracken.report
done
bracken 50; sed -i 5d bracken.report
expect 1 "bracken.report:3: .*rows are missing" "a report of which a row is missing" "$kmerhash" merge bracken.report

# --- formats --------------------------------------------------------------------------
merge -f krona run/both.kreport >both.krona
check "Krona: all reads" test "$(awk '{ n += $1 } END { print n }' both.krona)" -eq "$(wc -l <run/tiny_sim.tsv | awk '{ print $1 + 100 }')"
check "Krona: a strain counts for its species" grep -q "$(printf 'Teseptimavirus\tEscherichia virus T7$')" both.krona
cat >biom.py <<'EOF'
import json, sys

b = json.load(open(sys.argv[1]))
rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[2])]
assert b["format"] == "Biological Observation Matrix 1.0.0" and b["matrix_type"] == "sparse"
assert [c["id"] for c in b["columns"]] == rows[0][4:]
want = {(r[0], rows[0][4 + i]): int(x) for r in rows[1:] if r[0] != "0" for i, x in enumerate(r[4:]) if x != "0"}
got = {(b["rows"][i]["id"], b["columns"][j]["id"]): n for i, j, n in b["data"]}
assert got == want and len(b["data"]) == len(got), set(got.items()) ^ set(want.items())
assert b["shape"] == [len(b["rows"]), len(b["columns"])]
lineage = {r[0]: r[3] for r in rows}
for r in b["rows"]:
    assert ";".join(r["metadata"]["taxonomy"]) == lineage[r["id"]], r
EOF
merge --value reads run >reads; check "BIOM" merge -f biom -o run.biom run
by_python "BIOM: the reads and lineages of the table" biom.py run.biom reads
for rank in genus species; do
	merge --rank $rank run >clades; merge --rank $rank -f biom -o rank.biom run
	if [ -n "${PYTHON3:-}" ]; then check "BIOM of one rank: the reads of each $rank" python biom.py rank.biom clades; fi
done
expect 2 "value has no meaning with --format biom" "a value where it has no meaning" merge -f biom --value clade run
expect 2 "taxpasta and KrakenTools make MetaPhlAn's" "MetaPhlAn's format is gone" merge -f metaphlan run
merge -f cami-profile run >profile
check "CAMI profile: three samples" test "$(grep -c '^@SampleID' profile)" -eq 3
check "CAMI profile: no rank above 100 %" awk -F '\t' '/^@SampleID/ { split("", n) } /^[0-9]/ { n[$2] += $5; if (n[$2] > 100.0001) exit 1 }' profile
cat >page.py <<'EOF'
from page_data import page_data

data = page_data("run.html")
head, unclassified, *rows = [line.rstrip("\n").split("\t") for line in open("reads")]
want = {(int(r[0]), r[2]): [int(x) for x in r[4:]] for r in rows}
got = {(t, n): [s["direct"][i] for s in data["samples"]]
       for i, (t, n) in enumerate(zip(data["taxa"]["taxid"], data["taxa"]["name"]))}
assert got == want, set(map(str, got.items())) ^ set(map(str, want.items()))
assert [s["name"] for s in data["samples"]] == head[4:]
assert [s["unclassified"] for s in data["samples"]] == [int(x) for x in unclassified[4:]]
EOF
check "a page" merge -f html -o run.html run
merge --value reads run >reads
by_python "the page has the reads of the table" page.py
check "a page for each sample" merge -f html -O pages run
mkdir paged
check "a page by classify" classify --db a.khdb --prefix paged/s --write report,html "$data/reads/tiny_sim_1.fq.gz"
cp paged/s.html before.html
check "a page for each sample, where classify has put its own" merge -f html -O paged paged
same before.html paged/s.html "a page for each sample: classify's stays"
check "a page for each sample: they are there" test -s pages/both.merged.html -a -s pages/tiny_sim.merged.html
expect 2 "3 samples need --outdir" "Krona of several samples" merge -f krona run
check "a file a sample" merge -f krona -O krona run
same both.krona krona/both.krona "a file a sample: one of them"

# --- all samples as one report --------------------------------------------------------
for i in 1 2; do
	gzip -dc "$data/reads/tiny_sim_$i.fq.gz" | head -n 400 >sim_$i.fq
	gzip -dc "$data/reads/sarscov2_real_$i.fq.gz" >real_$i.fq
done
printf 'sample\treads1\treads2\na\tsim_1.fq\tsim_2.fq\nb\treal_1.fq\treal_2.fq\nc\tsim_1.fq\tsim_2.fq\nnone\t%s\t\n' none.fq >sheet
check "samples" classify --db a.khdb --samples sheet --outdir sum
# --- names, and what is there already: a row a case ---------------------------------------
mkdir own; for s in x x.profile s.kreport a.report b.kreport.x; do cp sum/a.report "own/$s.kreport"; done
cp sum/b.report own/x.profile.kreport
merge -o names.tsv own
check "names as they were made" test "$(head -n 1 names.tsv | cut -f 5- | tr '\t' ' ')" = "a.report b.kreport.x s.kreport x x.profile"
merge -f krona -o b.krona sum/b.report
check "the report of x.profile, not of x" merge -f krona -O single own
same b.krona single/x.profile.krona "x.profile: its own report"
for o in "" "-f cami-profile" "-f krona" "-f biom" "-f html"; do
	rm -rf into; cp -r sum into; gzip -dc prof.tsv.gz >into/a.profile 2>.err || echo mine >into/a.profile
	(cd into && cksum *) >was; check "into the folder of the samples: ${o:-table}" merge $o -O into into
	(cd into && cksum $(cut -d ' ' -f 3 ../was)) >is; same was is "into the folder of the samples: ${o:-table}: all is as it was"
done
printf '.b\tsum/b.report\n' >list
expect 2 "cannot be the name of a file" "a name that is none, last" merge -f krona -O early -l list sum/a.report
nothing_left "a name that is none, last" early
printf 'a\tsum/b.report\nb\tinto/a.report\n' >list; cp sum/a.report into/b.krona; printf 'a\tsum/b.report\nb\tinto/b.krona\n' >list
expect 2 "both an input and an output" "an output that is an input, last" merge -f krona -O into -l list
check "an output that is an input, last: nothing was written" cmp sum/a.report into/b.krona
# Counts that 64 bits do not hold.
while IFS='|' read -r what message rows; do
	printf "$rows" >big.kreport; printf '%s\tbig.kreport\n' p q >list
	expect 1 "$message" "$what" merge -l list
done <<'EOF'
a child of 2^64 - 1 and more|in its parts|100.00\t5\t5\tR\t1\troot\n0.00\t18446744073709551615\t18446744073709551615\tD\t2\t  Bacteria\n0.00\t1\t1\tD\t3\t  X\n
two samples of 2^62|more than 2.63 - 1 cannot be counted|100.00\t4611686018427387904\t4611686018427387904\tR\t1\troot\n
unclassified and classified|more than 2.63 - 1 cannot be counted|50.00\t9223372036854775807\t9223372036854775807\tU\t0\tunclassified\n50.00\t1\t1\tR\t1\troot\n
EOF

# --- profiles -------------------------------------------------------------------------
check "samples with profiles" classify --db a.khdb --samples sheet --outdir prof --profile profile.tsv
cat >profiles.py <<'EOF'
import csv
import sys

SAMPLES = ("a", "b", "c", "none")
COLUMN = {"reads": "reads", "share": "reads_percent", "abundance": "abundance_percent",
          "detected": "detected"}
NONE = {"reads": "0.00", "share": "0.00000000", "abundance": "0.00000000", "detected": "-"}
value = sys.argv[1]
values = list(COLUMN) if value == "all" else [value]
rows = {s: {r["taxid"]: r for r in csv.DictReader(open("prof/%s.profile.tsv" % s),
                                                  delimiter="\t", quoting=csv.QUOTE_NONE)}
        for s in SAMPLES}
every = {t: r for s in SAMPLES for t, r in rows[s].items()}


def cell(sample, taxid, v):
    x = rows[sample].get(taxid, {}).get(COLUMN[v], "-")
    return NONE[v] if x == "-" else "%.8f" % (float(x) / 100) if v in ("share", "abundance") else x


def lineage(taxid):
    if taxid == "0":
        return []
    r = every[taxid]
    letter = "d" if r["rank"] == "superkingdom" else r["rank"][0]
    return lineage(r["parent"]) + ["%s__%s" % (letter, r["name"])]


head, *lines = [line.rstrip("\n").split("\t") for line in open("got")]
assert head[4:] == [s + ("_" + v if value == "all" else "") for s in SAMPLES for v in values], head
assert len(lines) > 10 and {r[0] for r in lines} == set(every), lines
for taxid, code, name, above, *have in lines:
    want = lineage(taxid)
    assert above == ";".join(want) and name == every[taxid]["name"], above
    assert code == (want[-1][0].upper() if want else "U"), code
    assert have == [cell(s, taxid, v) for s in SAMPLES for v in values], (taxid, have)
EOF
for value in reads share abundance all; do
	merge --value $value --set profile=profile.tsv -o got prof
	by_python "profiles: $value" profiles.py $value
done
merge --set profile=profile.tsv -o got prof
check "profiles: species and the unknown add up to one" awk -F '\t' 'NR > 1 && $2 ~ /^[SU]$/ { for (i = 5; i <= NF; i++) sum[i] += $i }
	END { for (i in sum) { n++; bad += sum[i] < .999999 || sum[i] > 1.000001 } exit n != 4 || bad }' got
merge prof/*.profile.tsv >want; merge --set profile=profile.tsv prof >got; same want got "profiles by name"
merge -r species prof/*.profile.tsv >got; awk -F '\t' 'NR == 1 || $2 == "S"' want >cut; same cut got "profiles: rows of a rank"
mkdir less; cp prof/* less; rm less/a.profile.tsv
expect 1 "less/a.profile.tsv: there is no such file, but less/a.(report|json) of the same sample" "a sample without a profile" \
	"$kmerhash" merge --set profile=profile.tsv less
rm -f less/a.json less/b.report less/b.profile.tsv; [ -e less/a.report ] || cp run/both.kreport less/a.report
expect 1 "less/a.profile.tsv: there is no such file, but less/a.report " "a sample that has a report, and no profile" \
	"$kmerhash" merge --set profile=profile.tsv less
expect 1 "less/b.profile.tsv: there is no such file, but less/b.json " "a sample that has a summary, and no profile" \
	"$kmerhash" merge --set profile=profile.tsv less
gzip -c prof/a.profile.tsv >a.profile.tsv.gz
merge prof/a.profile.tsv >want; merge a.profile.tsv.gz >got; same want got "a profile by gzip"
for s in a none; do
	awk -F '\t' -v OFS='\t' 'NR == 1 { next } $10 == 0 { print "#unknown", $7 } $10 > 0 && $2 != "kingdom" && $7 > 0 { print $10, $7 }' \
		prof/$s.profile.tsv | sort >want
	merge -f cami-profile prof/$s.profile.tsv | awk -F '\t' -v OFS='\t' '/^#unknown/ { print } /^[0-9]/ { print $1, $5 }' | sort >got
	same want got "CAMI profile: the abundances of its table, $s"
done
check "CAMI profile of profiles" test "$(merge -f cami-profile --set profile=profile.tsv prof | grep -c '^@SampleID')" -eq 4
expect 1 "a.profile.tsv is a profile, but sum/b.report is a report" "a report and a profile" merge sum/b.report prof/a.profile.tsv
expect 2 "format krona is made of reports" "a format of reports" merge -f krona prof/a.profile.tsv
expect 2 "value clade is nothing that a profile has" "a value of reports" merge --value clade prof/a.profile.tsv
expect 2 "value abundance is nothing that a report has" "a value of profiles" merge --value abundance sum/a.report
expect 1 "prof: no profile in this folder: no \*.x" "a folder without profiles" merge --set profile=x prof
# refused MESSAGE NAME: of bad.tsv
refused() {
	expect 1 "^kmerhash merge: bad.*$1" "a profile: $2" merge -o o.tsv bad.*
	nothing_left "a profile: $2" o.tsv
}
edited() { awk -F '\t' -v OFS='\t' "$1" prof/a.profile.tsv >bad.tsv; refused "$2" "$3"; }
rm -f bad.*
edited 'NR == 3 { $10 = "x" } 1' ':3: column 10: "x" is not a taxid' "a taxid that is none"
edited 'NR == 3 { $2 = "x" } 1' ':3: column 2: "x" is not a rank' "a rank that is none"
edited 'NR == 4 { $11 = 77 } 1' ':4: taxid [0-9]+ is below taxid 77' "a parent without a row"
edited 'NR == 4 { $4 = "-1" } 1' ':4: column 4: "-1" is not a number of reads' "reads that are no number"
edited 'NR == 4 { $6 = "100.5" } 1' ':4: column 6: "100.5" is not a number from 0 to 100' "more than all"
edited 'NR == 4 { $7 = "." } 1' ':4: column 7: "." is not a number from 0 to 100' "an abundance that is none"
edited 'NR == 4 { $3 = "here" } 1' ':4: column 3: "here" is not yes, low, no or -' "what is neither there nor not"
edited '{ $6 = $7 } 1' ':1: there is no column reads_percent' "a column that is missing"
edited 'NR == 5 { NF = 9 } 1' ':5: 9 columns' "columns that are missing"
edited '1; NR == 5' 'has two rows' "a taxon twice"
edited '$10 != 0' 'rows are missing' "cut off"
edited '1; $10 == 0' 'no row below' "rows behind the last"
awk -F '\t' -v OFS='\t' '{ NF = 19 } 1' prof/a.profile.tsv >bad.tsv
expect 0 "" "a profile without what is not needed" merge bad.tsv
rm bad.tsv

# --- files of other runs ------------------------------------------------------------------
# In a folder: a run of a and b, then one of a alone that writes less, under the same names.
classify --db a.khdb --paired --prefix first --write lines,report,json,profile sim_1.fq sim_2.fq
classify --db a.khdb --paired --prefix second --write lines,report,json,profile real_1.fq real_2.fq
# mixed FILES OF THE SECOND RUN...: the others are of the first one
mixed() { rm -rf mix; mkdir mix; for end in tsv report json profile.tsv; do cp first.$end mix/a.$end; done
	for end; do cp second.$end mix/a.$end; done; }
# other FILE NAME COMMAND...
other() { file=$1; what=$2; shift 2
	expect 1 "mix/a.$file: not among the outputs in mix/a.json" "$what" "$kmerhash" merge -o o.tsv "$@"; nothing_left "$what" o.tsv; }
mixed; check "one run: a report" merge -o o.tsv mix; check "one run: a profile" merge -o o.tsv --set profile=profile.tsv mix
check "one run: both" merge -o o.tsv -f html --set profile=profile.tsv mix
gzip mix/a.report; check "one run: a report compressed since" merge -o o.tsv mix; gzip -d mix/a.report; rm -f o.tsv
mixed report json
other profile.tsv "an earlier profile" --set profile=profile.tsv mix
other profile.tsv "an earlier profile, by its name" mix/a.profile.tsv
other profile.tsv "an earlier profile beside the report" -f html --set profile=profile.tsv mix
mixed profile.tsv json; other report "an earlier report" mix; other report "an earlier report beside the profile" --set profile=profile.tsv mix
printf 'x\tmix/a.report\n' >list; other report "an earlier report, of a list" --list list
gzip mix/a.report; other report.gz "an earlier report, compressed since" mix
mixed json; other report "a later summary" mix; mixed report; other report "an earlier summary" mix
# a run that writes no profile, and one that writes no summary
mixed; classify --db a.khdb --paired --prefix mix/a --write report,json real_1.fq real_2.fq
other profile.tsv "a run without a profile into the same folder" --set profile=profile.tsv mix
mixed; classify --db a.khdb --paired --prefix mix/a --write report real_1.fq real_2.fq
other report "a run without a summary into the same folder" mix
other report "a run without a summary, by its profile" --set profile=profile.tsv mix
mixed; rm mix/a.json; check "no summary: nothing is compared" merge -o o.tsv mix; rm -f o.tsv
mixed; echo '{"tool": "fastp"}' >mix/a.json; check "a summary of another program" merge -o o.tsv mix; rm -f o.tsv
mixed; awk -F '\t' '$2 != "species" || n++' first.profile.tsv >mix/a.profile.tsv
other profile.tsv "a profile without a species" --set profile=profile.tsv mix
rm mix/a.json; expect 1 "mix/a.profile.tsv: the abundances of species and of the unknown add up to .* not to 100" \
	"a profile without a species, and no summary" "$kmerhash" merge -o o.tsv --set profile=profile.tsv mix

# --- programs that read them ----------------------------------------------------------
# KH_READERS=DIR: they are in DIR/NAME/bin (virtual environments, each with its own libraries)
for d in ${KH_READERS:+"$KH_READERS"/*/bin}; do PATH=$PATH:$d; done
# reader PROGRAM NAME: is it here?  else NAME is skipped
reader() { command -v "$1" >.err 2>&1 || { skip "$2" "no $1 here"; return 1; }; }
if reader ktImportText "ktImportText"; then
	check "ktImportText" ktImportText -o krona.html krona/*.krona
	check "ktImportText: the samples by their names" grep -q '<dataset>sarscov2_real<' krona.html
fi
if reader biom "biom"; then
	check "biom: the file is valid" sh -c 'biom validate-table -i run.biom --format-version 1.0.0 | grep -q "is a valid BIOM"'
	check "biom: as HDF5" biom convert -i run.biom -o all.hdf5 --to-hdf5
	check "biom: what it read" sh -c 'biom summarize-table -i all.hdf5 | grep -q "Num samples: 3"'
fi
if reader opal.py "OPAL"; then
	merge -f cami-profile run/tiny_sim.kreport >one.profile
	classify --db a.khdb --paired --output - --profile tiny_sim.profile.tsv "$data"/reads/tiny_sim_?.fq.gz
	merge -f cami-profile tiny_sim.profile.tsv >own.cami
	check "OPAL" opal.py -g one.profile -o opal one.profile own.cami
	check "OPAL: a profile is what it is" awk -F '\t' '
		$1 == "one.profile" && $3 == "L1 norm error" { n++; bad += $5 != 0 } END { exit !n || bad }' opal/results.tsv
	check "OPAL: of a table by classify, each rank has all but the unknown" awk -F '\t' '
		FNR == NR { if ($1 == "#unknown") known = 1 - $2 / 100; next }
		$1 == "own.cami" && $3 == "Sum of abundances" { n++; bad += ($5 - known) ^ 2 > 1e-10 }
		$1 == "own.cami" && $2 == "species" && $3 == "True positives" { right = $5 }
		END { exit n != 7 || bad || known < .9 || right < 4 }' own.cami opal/results.tsv
fi
if reader amber.py "AMBER"; then
	mkdir ncbi; cp "$data"/taxonomy/*.dmp ncbi; : >ncbi/merged.dmp
	# the binning as kmerhash-merge(1) makes it
	{ printf '@Version:0.10.0\n@SampleID:tiny_sim\n@@SEQUENCEID\tTAXID\n'
		sed 's/	[^	]*(taxid \([0-9]*\))/	\1/' run/tiny_sim.tsv | awk -F '\t' '/^C/ { print $2 "\t" $3 }'; } >binning
	sed 's/^@@.*/&	_LENGTH/; /^@/!s/$/	300/' binning >gold
	check "AMBER" amber.py -g gold -o amber --ncbi_dir ncbi binning
	check "AMBER: all is where it belongs" awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "accuracy_seq") c = i; next }
		$2 != "Gold standard" && $c != "" { n++; bad += $c != 1 } END { exit !n || bad }' amber/results.tsv
fi
if reader taxpasta "taxpasta"; then
	check "taxpasta" taxpasta merge -p kraken2 -o taxpasta.tsv run/tiny_sim.kreport run/sarscov2_real.kreport sum/a.report
	check "taxpasta: all reads" awk -F '\t' 'NR > 1 { n += $4 } END { exit n != '"$(awk -F '\t' '{ n += $3 } END { print n }' sum/a.report)"' }' taxpasta.tsv
fi
if reader multiqc "MultiQC"; then
	check "MultiQC" multiqc -q -o multiqc run sum/a.report
	check "MultiQC: the samples" grep -q sarscov2_real multiqc/multiqc_data/multiqc_general_stats.txt
	classify --db a.khdb --prefix S01 --write report sim_1.fq
	multiqc -q -o named S01.report >.err 2>&1
	check "MultiQC: SAMPLE.report is SAMPLE" test "$(cut -f 1 named/multiqc_data/multiqc_kraken.txt | sort -u | tr '\n' ' ')" = "S01 Sample "
fi
if reader kreport2krona.py "KrakenTools"; then
	tool() { python "$(command -v "$1.py")" $2 >.out 2>.err; }      # KrakenTools' first lines name any python
	reads=$(awk -F '\t' '{ n += $3 } END { print n }' run/tiny_sim.kreport)
	tool kreport2krona "-r run/tiny_sim.kreport -o kt.krona"
	check "KrakenTools: kreport2krona has all reads" test "$(awk -F '\t' '{ n += $1 } END { print n }' kt.krona)" = "$reads"
	tool kreport2mpa "-r run/tiny_sim.kreport -o kt.mpa"
	check "KrakenTools: kreport2mpa has the species" grep -q 's__Escherichia_virus_phiX174	50$' kt.mpa
	tool combine_kreports "-r run/tiny_sim.kreport run/sarscov2_real.kreport -o kt.both"
	check "KrakenTools: combine_kreports has both samples" grep -q '#S2' kt.both
fi

# --- bad reports ----------------------------------------------------------------------
good() { cat run/tiny_sim.kreport; }
# bad "MESSAGE" NAME: bad.kreport is refused
bad() {
	expect 1 "^kmerhash merge: bad.kreport:?.*$1" "$2" merge -o o.tsv run/both.kreport bad.kreport
	nothing_left "$2" o.tsv
}
good | sed '3s/	/	x/' >bad.kreport; bad ':3: column 2: "x[0-9]+" is not a number of reads' "a count that is none"
good | sed '4s/^/x/' >bad.kreport; bad ':4: column 1: "x.*" is not a percentage' "a percentage that is none"
good | sed '2s/	D	/	Q9	/' >bad.kreport; bad ':2: column 4: "Q9" is not a rank code' "a rank code that is none"
good | sed '1s/	1	root/	-1	root/' >bad.kreport; bad ':1: column 5: "-1" is not a taxid' "a taxid that is none"
good | sed '3s/$/	more/' >bad.kreport; bad ':3: 7 columns between tabs, expected 6' "a column too many"
good | sed '3s/	D.*//' >bad.kreport; bad ':3: 3 columns' "columns that are missing"
good | sed '2s/  Viruses/   Viruses/' >bad.kreport; bad ':2: column 6: 3 blanks' "blanks that are odd"
good | sed '2s/  Viruses/      Viruses/' >bad.kreport; bad ':2: "Viruses" is indented by 6 blanks' "a level that is left out"
for i in 1 2 3; do printf 'no\treport\n'; done >bad.kreport; bad ':1: 2 columns' "what is no report"
check "what is no report: one message" sh -c "\"$kmerhash\" merge -o o.tsv run/both.kreport bad.kreport 2>&1 | wc -l | grep -qx 1"
good | head -n 8 >bad.kreport; bad 'rows are missing' "a report cut off between rows"
good | head -c 300 >bad.kreport; bad '(rows are missing|columns|is not a name|was cut off)' "a report cut off in a row"
good | awk -F '\t' -v OFS='\t' '$5 == 10847 { $5 = 10710 } 1' >bad.kreport; bad 'taxid 10710 (below|has two rows)' "a taxid twice"
good | awk -F '\t' -v OFS='\t' '$5 == 694002 { $5 = 77777 } 1' >bad.kreport; bad 'below .*two taxonomies' "two taxonomies"
good | awk -F '\t' -v OFS='\t' '$5 == 1 { $5 = 2 } 1' >bad.kreport; bad 'the root has taxid 2, expected 1' "a root that is none"
printf '' >bad.kreport; bad 'is empty' "an empty file"
echo "some text" >bad.kreport; bad ':1: 1 column between' "text"
good | sed 's/Siphoviridae/Siphos/' >bad.kreport
expect 0 "1 row has another name" "another name: a warning" "$kmerhash" merge -o o.tsv run/both.kreport bad.kreport
good | awk -F '\t' -v OFS='\t' '$5 > 1 { $5 += 3000000 } 1' >other.kreport
expect 0 "the reports are of two taxonomies, as Orthornavirae is taxid 2732396 and 5732396" "numbers of another taxonomy: a warning" \
	"$kmerhash" merge -o o.tsv run/both.kreport other.kreport
good | sed '2s/	/	x/; 5s/	/	y/' >bad.kreport
good | sed '3s/$/	more/' >bad2.kreport
expect 1 'bad.kreport:2: column 2' "all errors at once: the first" merge bad.kreport bad2.kreport none.kreport missing.kreport
cp .err all
check "all errors at once: a second one in the file" grep -q 'bad.kreport:5: column 2' all
check "all errors at once: another file" grep -q 'bad2.kreport:3' all
check "all errors at once: a missing one" grep -q 'missing.kreport: No such file' all
check "all errors at once: no more" test "$(wc -l <all)" -eq 4
mkdir other empty; cp run/both.kreport other/both.kreport
expect 2 "two samples are called both: other/both.kreport and run/both.kreport" "two samples of one name" merge other run
expect 1 "empty: no report in this folder" "a folder without reports" merge empty
printf 'run/both.kreport\0run/tiny_sim.kreport\n' >list
expect 1 'list:1: column 17: a NUL byte' "a list of find -print0" merge --list list

# --- options --------------------------------------------------------------------------
expect 2 "no reports are named" "no reports" merge
expect 2 "format: 'x' is none of" "a format that is none" merge -f x run
expect 2 "rank: 'tribe' is neither" "a rank that is none" merge -r tribe run
expect 2 "rank has no meaning" "a rank where it has no meaning" merge -f krona -r S run/both.kreport
expect 2 "value: 'x' is none of" "a value that is none" merge --value x run
expect 2 "not both" "one file, and one a sample" merge -o x -O y run
expect 2 "run/both.kreport is both an input" "an output that is an input" merge -o run/both.kreport run
plan
