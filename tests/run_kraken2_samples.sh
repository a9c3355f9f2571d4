# run_kraken2_samples.sh - databases of Kraken 2: many samples, reads by taxon, summaries, pages,
# tables of several reports; speaks TAP
#
# What a sample gives is what a run of its own gives, and kraken2 where it is installed.
here=$PWD
. "$KH_SRCDIR/tests/tap.sh"
make=$here/tests/make_kraken
reads=$tests/corpus/kraken2
for f in "$data"/genomes/*.gz; do f=${f##*/}; gzip -dc "$data/genomes/$f" >"${f%.gz}"; done
check "a database" "$make" dna "$data/taxonomy" cells=90000 ./*.fa
check "a database of proteins" "$make" protein "$data/taxonomy" k=15 l=12 cells=250000 protein=1 ./*.fa
for m in 1 2; do
	gzip -dc "$data/reads/tiny_sim_$m.fq.gz" >sim_$m.fq
	cp "$reads/odd_$m.fq" .
done
cp "$reads/odd.fa" .
gzip -c sim_1.fq >sim_1.fq.gz
cat >sheet <<EOF
sample	reads1	reads2
single	odd.fa	
pairs	odd_1.fq	odd_2.fq
sim	sim_1.fq.gz	sim_2.fq
EOF
reads_of() { case $1 in single) echo odd.fa ;; pairs) echo --paired odd_1.fq odd_2.fq ;; sim) echo --paired sim_1.fq sim_2.fq ;; esac; }
json() { sed '/^  "run": {/,/^  }/d' "$1"; }
theirs=; ! command -v kraken2 >/dev/null || theirs=kraken2
# In other versions ranks have other letters, and equal siblings another order.
rows() { cut -f 1-3,5- "$1" | sort; }

# --- samples ---------------------------------------------------------------------------
# Each case: a database and options of Kraken 2; some of them are settings here.
settings() { echo "$*" | sed 's/--quick/--set quick/; s/--report-zero-counts/--set zero-counts/; s/--\(minimum-[a-z-]*\) /--set \1=/g'; }
while read -r base options; do
	rm -rf out own; mkdir own
	of="$base $options"
	check "samples, $of" classify --db $base $(settings $options) --samples sheet --outdir out --threads 2 --set block-size=2000
	for s in single pairs sim; do
		classify --db $base $(settings $options) --output own/$s.tsv --report own/$s.report --json own/$s.json $(reads_of $s)
		same own/$s.tsv out/$s.tsv "$of: lines of $s"
		same own/$s.report out/$s.report "$of: report of $s"
		json own/$s.json >a; json out/$s.json >b; same a b "$of: summary of $s"
		[ "$theirs" ] || { skip "$of: kraken2 and $s" "kraken2 is not installed"; continue; }
		kraken2 --db ./$base $options --report k.report $(reads_of $s) >k.tsv 2>.err
		same k.tsv out/$s.tsv "$of: lines of $s by kraken2"
		rows k.report >a; rows out/$s.report >b; same a b "$of: rows of $s by kraken2"
	done
done <<'EOF'
dna
dna --confidence 0.15 --use-names
dna --minimum-hit-groups 4 --minimum-base-quality 25
dna --report-zero-counts
dna --quick
protein --confidence 0.02
EOF

# --- reads by taxon ----------------------------------------------------------------------
rm -rf out
check "reads of samples" classify --db dna --samples sheet --outdir out --classified-out c#.fq --unclassified-out u#.fq
for s in pairs sim; do
	classify --db dna --output - --classified-out c#.fq --unclassified-out u#.fq $(reads_of $s)
	for f in c_1 c_2 u_1 u_2; do same $f.fq out/$s.$f.fq "reads of samples: $s, $f"; done
	[ "$theirs" ] || { skip "reads of samples: kraken2 and $s" "kraken2 is not installed"; continue; }
	kraken2 --db ./dna --output - --classified-out k_c#.fq --unclassified-out k_u#.fq $(reads_of $s) 2>.err
	for f in c_1 c_2 u_1 u_2; do same k_$f.fq out/$s.$f.fq "reads of samples: $s, $f by kraken2"; done
done
classify --db dna --output - --classified-out c.fa --unclassified-out u.fa odd.fa
same c.fa out/single.c.fq "reads of samples: without mates"
same u.fa out/single.u.fq "reads of samples: unclassified ones without mates"
# A clade by the dump file, and the fragments that the lines call in it.
awk -F '\t' -v top=76804 '{ parent[$1] = $3 } END { for (t in parent) { x = t
	while (x != top && x != 1) x = parent[x]
	if (x == top) print t } }' "$data/taxonomy/nodes.dmp" | sort >clade
called() { awk -F '\t' 'NR == FNR { is[$1] = 1; next } ($3 in is) == want { print $2 }' want="$1" clade "$2"; }
ids() { sed -n '1~4s/^@\([^ /]*\).*/\1/p' "$1"; }
rm -rf out
check "--extract of samples" classify --db dna --samples sheet --outdir out --extract 76804 --classified-out c#.fq --unclassified-out u#.fq
for s in pairs sim; do
	called 1 out/$s.tsv | sed 's|/[12]$||' >want
	for m in 1 2; do ids out/$s.c_$m.fq >got; same want got "--extract of samples: $s, mates $m"; done
	called 0 out/$s.tsv | sed 's|/[12]$||' >want; ids out/$s.u_1.fq >got; same want got "--extract of samples: the rest of $s"
done
check "--extract of samples: there are some" test -s out/sim.c_1.fq
check "--exclude" classify --db dna --exclude 76804 --classified-out x.fq --output lines.tsv sim_1.fq
awk -F '\t' '$1 == "C"' lines.tsv >some; called 0 some | sed 's|/[12]$||' >want; ids x.fq >got; same want got "--exclude: all others that are classified"

# --- resume ------------------------------------------------------------------------------
resume() { classify --db dna --samples sheet --outdir again --resume "$@"; }
inode() { stat -c %i again/sim.tsv; }
check "--resume: a first run" resume --confidence 0.0004
first=$(inode)
check "--resume: the same again" resume --confidence 0.0004
check "--resume: nothing is done again" [ "$(inode)" = "$first" ]
check "--resume: another confidence" resume --confidence 0.0008
check "--resume: all is done again" [ "$(inode)" != "$first" ]
first=$(inode)
printf '\1' | dd of=dna/opts.k2d bs=1 seek=40 conv=notrunc 2>/dev/null
check "--resume: another database" resume --confidence 0.0008
check "--resume: all is done again for it" [ "$(inode)" != "$first" ]
printf '\0' | dd of=dna/opts.k2d bs=1 seek=40 conv=notrunc 2>/dev/null
# A table of which a cell has been corrected, and a taxonomy with another name: the first 32 bytes are the same.
another() { # NAME: done again, and then no more
	first=$(inode)
	check "--resume: $1" resume --confidence 0.0008
	check "--resume: all is done again: $1" [ "$(inode)" != "$first" ]
	first=$(inode)
	check "--resume: $1, again" resume --confidence 0.0008
	check "--resume: nothing is done again: $1" [ "$(inode)" = "$first" ]
}
another "the database as it was"
cp -r dna kept
set -- $(od -An -v -t u4 -w4 -j32 dna/hash.k2d | awk '$1 { print NR - 1 }' | head -n 2)
dd if=dna/hash.k2d of=cell bs=1 skip=$((32 + 4 * $1)) count=4 2>/dev/null
dd if=cell of=dna/hash.k2d bs=1 seek=$((32 + 4 * $2)) conv=notrunc 2>/dev/null
another "another cell"
cp kept/hash.k2d dna; another "the cell as it was"
LC_ALL=C sed 's/Lambda/Lombda/' kept/taxo.k2d >dna/taxo.k2d
check "another name" sh -c '! cmp -s kept/taxo.k2d dna/taxo.k2d'
another "another name"
cp kept/taxo.k2d dna

# --- summaries and pages -------------------------------------------------------------------
check "a summary and a page" classify --db dna --paired --json one.json --html one.html --report one.report --output - sim_1.fq sim_2.fq
cat >compare.py <<'EOF'
import json
from page_data import page_data

data, summary = page_data("one.html"), json.load(open("one.json"))
taxa, sample = data["taxa"], data["samples"][0]
clade = list(sample["direct"])
for i in range(len(clade) - 1, 0, -1):
    clade[taxa["parent"][i]] += clade[i]
page = {t: (c, d, n) for t, c, d, n in zip(taxa["taxid"], clade, sample["direct"], taxa["name"])}
report, unclassified = {}, 0
for line in open("one.report", encoding="utf-8"):
    share, c, d, code, taxid, name = line.rstrip("\n").split("\t")
    if code == "U":
        unclassified = int(c)
    else:
        report[int(taxid)] = (int(c), int(d), name.strip())
assert page == report, set(page.items()) ^ set(report.items())
assert sample["unclassified"] == unclassified
f = summary["fragments"]
assert (f["input"], f["unclassified"]) == (report[1][0] + unclassified, unclassified)
assert f["bases"] == sum(len(l) - 1 for m in "12" for i, l in enumerate(open(f"sim_{m}.fq")) if i % 4 == 1)
d = summary["database"]
assert (d["tool"], d["scheme"], d["k"]) == ("Kraken 2", "kraken2", 35), d
EOF
by_python "the page and the summary have the counts of the report" compare.py
check "the page says what the database is" grep -q 'of 31 characters, k = 35' one.html

# --- tables of several reports ---------------------------------------------------------------
merge() { "$kmerhash" merge -q "$@"; }
rm -rf ours k; mkdir ours k
for s in single pairs sim; do classify --db dna --set distinct --report ours/$s.report --output - $(reads_of $s); done
if [ -n "${PYTHON3:-}" ]; then
	for value in clade reads share all; do
		python "$tests/oracle_merge.py" table $value pairs=ours/pairs.report sim=ours/sim.report single=ours/single.report >want
		merge --value $value ours >got; same want got "merge: $value, beside the oracle"
	done
else skip "merge, beside the oracle" "no python3"; fi
if [ "$theirs" ]; then
	for s in single pairs sim; do kraken2 --db ./dna --report k/$s.report --output - $(reads_of $s) 2>.err; done
	for dir in ours k; do merge $dir | cut -f 1,3,5- | sort >table.$dir; done
	same table.k table.ours "merge: of kraken2's reports"
else skip "merge: of kraken2's reports" "kraken2 is not installed"; fi
check "merge: a page" merge --format html --output page.html ours
plan
