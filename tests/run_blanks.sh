# run_blanks.sh - samples beside their negative controls: classify's sheet, merge's table and pages,
# and the test of them beside an exact one of whole numbers; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"
[ -n "$PYTHON3" ] || { echo "1..0 # SKIP no python3"; exit 0; }

genome() { echo "$data"/genomes/*"$1"*.fa.gz; }
T7=$(genome T7) lambda=$(genome Lambda) phi=$(genome phiX174) sars=$(genome acute) mers=$(genome Middle)
check "build" build --db db.khdb --taxonomy "$data/taxonomy" -a "$data/taxonomy/accession2taxid.tsv" \
	"$T7" "$lambda" "$phi" "$sars" "$mers"
# Reagents have phiX174 and lambda.  Two blanks have little else; two samples have them as well, one
# has lambda of its own, and one has neither.  A read of SARS-CoV-2 got into a blank from a sample.
sample() { reads=$1 to=$2; shift 2; python "$tests/make_world.py" sample "$reads" "$to.fq" 100 "$@"; }
merge() { "$kmerhash" merge "$@"; }
sample 60 b1 "$phi:40:0" "$lambda:19:0" "$sars:1:0"
sample 40 b2 "$phi:30:0" "$lambda:10:0"
sample 1000 s1 "$sars:900:0" "$phi:60:0" "$lambda:40:0"
sample 1000 s2 "$mers:950:0" "$phi:40:0" "$lambda:10:0"
sample 1000 s3 "$lambda:900:0" "$phi:100:0"
sample 1000 s4 "$T7:995:0" "$sars:5:0"
printf 'sample\treads1\tcontrol\ns1\ts1.fq\t\nb1\tb1.fq\tyes\ns2\ts2.fq\tno\nb2\tb2.fq\tBlank\ns3\ts3.fq\t0\ns4\ts4.fq\tsample\n' >sheet
check "samples with controls" classify --db db.khdb --samples sheet --outdir out --sample-pass --html out/all.html
# judged SAMPLE TAXID VERDICT
judged() { test "$(awk -F '\t' -v s="$1" -v t="$2" '$1 == s && $2 == t { print $10 }' out/samples.blanks.tsv)" = "$3"; }
for x in "s1 10847:as" "s1 10710:as" "s1 694009:more than" "s2 10847:as" "s2 10710:as" "s3 10847:as" "s3 10710:more than"; do
	check "$x in the blank" judged ${x%%:*} "${x#*:} in the blank"
done
check "s2, MERS: not in the blank" judged s2 1335626 "not in the blank"
check "s4, T7: not in the blank" judged s4 1985738 "not in the blank"
check "s4, five reads of SARS, of which a blank has one: as in the blank" judged s4 694009 "as in the blank"
check "no row of a control" sh -c '! grep "^b" out/samples.blanks.tsv'
cat >exact.py <<'EOF'
import csv
import sys
from fractions import Fraction
from math import comb

counts, total = {}, {}
for name in sys.argv[3:]:
    for row in open("out/%s.report" % name):
        _, clade, _, rank, taxid, _ = row.rstrip("\n").split("\t")
        if rank == "S" and int(clade):
            counts[name, taxid] = int(clade)
        if taxid in "01":
            total[name] = total.get(name, 0) + int(clade)
controls = sys.argv[2].split(",")
m = sum(total[c] for c in controls)
p, have = {}, {}
for (name, taxid), x in counts.items():
    y = sum(counts.get((c, taxid), 0) for c in controls)
    if name not in controls:
        have[name, taxid] = x, y
    if name not in controls and y:
        n, f = x + y, Fraction(total[name], total[name] + m)
        a, b = f.numerator, f.denominator
        p[name, taxid] = float(Fraction(sum(comb(n, k) * a ** k * (b - a) ** (n - k) for k in range(x, n + 1)), b ** n))
ranked = sorted(p, key=p.get)
q = {}
for i, key in enumerate(ranked):
    q[key] = min(p[k] * len(p) / (j + 1) for j, k in enumerate(ranked) if j >= i)
rows = {(r["sample"], r["taxid"]): r for r in csv.DictReader(open(sys.argv[1]), delimiter="\t")}
assert set(rows) == set(have), set(rows) ^ set(have)
for key, r in rows.items():
    x, y = have[key]
    assert (int(r["reads"]), int(r["control_reads"])) == (x, y), r
    assert abs(float(r["per_million"]) - 1e6 * x / total[key[0]]) < .006, r
    assert abs(float(r["control_per_million"]) - 1e6 * y / m) < .006, r
    if key not in p:
        assert (r["p"], r["q"], r["verdict"]) == ("-", "-", "not in the blank"), r
        continue
    for name, want in (("p", p[key]), ("q", q[key])):
        assert abs(float(r[name]) - want) <= .006 * want, (r, want)
    assert r["verdict"] == ("more than in the blank" if q[key] <= .05 else "as in the blank"), r
EOF
check "as an exact test has it" python exact.py out/samples.blanks.tsv b1,b2 b1 b2 s1 s2 s3 s4
merge -f blanks --set controls=b1,b2 out/s1.report out/b1.report out/s2.report out/b2.report out/s3.report out/s4.report >got
same out/samples.blanks.tsv got "merge has the same of the reports"
merge -f blanks --set controls=b2 out/??.report >got
check "one control, and another one as a sample" python exact.py got b2 b1 b2 s1 s2 s3 s4
check "of profiles" sh -c '"$1" merge -f blanks --set controls=b1,b2 --set profile=profile.tsv out >got &&
	awk -F "\t" "\$1 == \"s3\" && \$2 == 10710 && \$10 == \"more than in the blank\" { a = 1 }
		\$1 == \"s3\" && \$2 == 10847 && \$10 == \"as in the blank\" { b = 1 } END { exit !a || !b }" got' - "$kmerhash"
merge -f html --set controls=b1,b2 --set profile=profile.tsv -o page.html out
cat >page.py <<'EOF'
import csv
import sys
from page_data import page_data

data, rows = page_data(sys.argv[1]), {}
for r in csv.DictReader(open("out/samples.blanks.tsv"), delimiter="\t"):
    rows[r["sample"], int(r["taxid"])] = r
keys, seen = [c["key"] for c in data["columns"]], 0
for s in data["samples"]:
    for i, v in s["values"].items():
        v, r = dict(zip(keys, v)), rows.get((s["name"], data["taxa"]["taxid"][int(i)]))
        assert v["blank"] == (r and r["verdict"]), (s["name"], i, v, r)
        seen += r is not None
        assert not r or (abs(v["rate"] - float(r["per_million"])) < 1 and
                         abs(v["control"] - float(r["control_per_million"])) < 1), (v, r)
        assert s["name"][0] == "b" or not r or v["why"], (s["name"], v)
assert seen == len(rows), (seen, len(rows))
EOF
check "the page of classify has the verdicts" python page.py out/all.html
check "the page of merge, too" python page.py page.html
merge -f html --set controls=b1,b2 -o page.html out
sed 's/^.*assert s\["name"\].*$//' page.py >reports.py
check "and one of reports only" python reports.py page.html
merge -f html --set profile=profile.tsv -o page.html out
check "without controls a page has no such column" sh -c '! grep -q "\"key\":\"blank\"" page.html'
rm -r out
check "without a page or the second pass" classify --db db.khdb --samples sheet --outdir out
check "there is the table" python exact.py out/samples.blanks.tsv b1,b2 b1 b2 s1 s2 s3 s4
cut -f 1,2 sheet >plain; rm -r out
check "a sheet without controls has none" sh -c '"$1" classify -q --db db.khdb --samples plain --outdir out && test ! -e out/samples.blanks.tsv' - "$kmerhash"
sed 's/yes/perhaps/' sheet >bad
expect 1 'bad:3: column 3: "perhaps" is neither yes nor no' "a control that is neither" classify --db db.khdb --samples bad --outdir bad.out
expect 2 "compared with their controls by reports" "no reports" classify --db db.khdb --samples sheet --outdir bad.out --write lines
expect 2 "no sample is called 'b3'" "a control that is not there" merge -f blanks --set controls=b1,b3 out
expect 2 "needs --set controls" "no controls" merge -f blanks out
expect 2 "controls has no meaning with --format krona" "controls of another format" merge -f krona --set controls=b1 out
plan
