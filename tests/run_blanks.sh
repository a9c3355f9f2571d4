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
cat >profiles.py <<'EOF'
import csv
import sys

rows = {(r["sample"], r["taxid"]): r["verdict"] for r in csv.DictReader(open(sys.argv[1] + "/samples.blanks.tsv"), delimiter="\t")}
controls, seen = sys.argv[2].split(","), 0
for name in ("b1", "b2", "s1", "s2", "s3", "s4"):
    table = list(csv.reader(open(sys.argv[1] + "/" + name + ".profile.tsv"), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert table[0][2:4] == ["detected", "blank"] and all(len(r) == len(table[0]) for r in table), table[0]
    at = table[0].index("taxid")
    for r in table[1:]:
        want = rows.get((name, r[at])) if r[1] == "species" else None
        assert r[3] == (want or "-") and (not want or name not in controls), (name, r, want)
        seen += want is not None
assert seen == len(rows) > 0, (seen, len(rows))
EOF
check "the profiles have the verdicts" python profiles.py out b1,b2
pass() { "$kmerhash" classify --db db.khdb --sample-pass "$@"; }
resume() { pass --outdir out --resume --html out/all.html --samples "$1" 2>err && test "$(grep -c "is there already" err)" = "$2"; }
blanked() { ! grep blank "$1"/*.profile.tsv; }
check "by one thread" pass --samples sheet --outdir one --html one/all.html -p 1
for f in samples.blanks.tsv b1.profile.tsv s1.profile.tsv s3.profile.tsv; do same one/$f out/$f "$f is the same"; done
ls -i out/*.profile.tsv out/*.json >before
check "--resume does no sample again" resume sheet 6
ls -i out/*.profile.tsv out/*.json >after
same before after "and writes none of their files again"
sed 's/Blank/no/' sheet >fewer
check "nor with one control less" resume fewer 6
check "the profiles have the new verdicts" python profiles.py out b1
cut -f 1,2 sheet >plain
check "nor without any" resume plain 6
check "the profiles have no such column" blanked out
cp out/s1.profile.tsv was
check "with both again" resume sheet 6
for s in b1 s1 s2; do same one/$s.profile.tsv out/$s.profile.tsv "$s has them as at first"; done
cp was out/s1.profile.tsv
check "a profile that its summary does not tell of: one sample is done again" resume sheet 5
same one/s1.profile.tsv out/s1.profile.tsv "and has the verdicts"
check "merge reads the profiles" merge --set profile=profile.tsv out
check "compressed profiles without summaries" pass --samples sheet --outdir zip --profile profile.tsv.gz --write report
gzip -dc zip/s1.profile.tsv.gz >got
same one/s1.profile.tsv got "have them"

# Of reagents a sample has the less, the more DNA it has: phiX174 and lambda in s1 to s3.
printf 'sample\treads1\tcontrol\tconcentration\ns1\ts1.fq\t\t20.5\ns2\ts2.fq\t\t31\ns3\ts3.fq\t\t1.2e1\ns4\ts4.fq\t\t3\nb1\tb1.fq\tyes\ttoo low\nb2\tb2.fq\tyes\t0\n' >measured
check "concentrations" pass --samples measured --outdir freq --html freq/all.html
cat >freq.py <<'EOF'
import csv
import math
import sys
from page_data import page_data

conc, points = {"s1": 20.5, "s2": 31, "s3": 12, "s4": 3}, {}
out, blanks = sys.argv[1:3]
rows = list(csv.DictReader(open(out + "/samples.blanks.tsv"), delimiter="\t"))
for r in rows:
    points.setdefault(r["taxid"], []).append((math.log(conc[r["sample"]]), math.log(int(r["reads"]) / 1000)))


def squares(v):
    return sum((x - sum(v) / len(v)) ** 2 for x in v)


def area(d, to, n=2000):
    """of (sin x cos x)^(d - 1) by Simpson's rule: with y = sin^2 x, of the beta distribution"""
    f = [(math.sin(to * k / n) * math.cos(to * k / n)) ** (d - 1) for k in range(n + 1)]
    return (f[0] + f[n] + 4 * sum(f[1:n:2]) + 2 * sum(f[2:n:2])) * to / n / 3


seen = set()
for r in rows:
    v = points[r["taxid"]]
    assert blanks == "yes" or (r["p"], r["q"], r["verdict"]) == ("-", "-", "no blank"), r
    if len(v) == 1:
        assert r["p_freq"] == "-", r
        continue
    one, none = squares([f + c for c, f in v]), squares([f for _, f in v])
    want = area(len(v) - 1, math.asin((one / (one + none)) ** .5)) / area(len(v) - 1, math.pi / 2)
    assert abs(float(r["p_freq"]) - want) <= .006 * want, (r, want)
    seen.add(len(v))
assert seen == {2, 3}, seen
data = page_data(out + "/all.html")
at = [c["key"] for c in data["columns"]].index("frequency")
of = {(s["name"], str(data["taxa"]["taxid"][int(i)])): v[at] for s in data["samples"] for i, v in s["values"].items()}
for r in rows:
    x = of[r["sample"], r["taxid"]]
    assert (x is None) == (r["p_freq"] == "-") and (x is None or abs(x - float(r["p_freq"])) <= .006 * x), (r, x)
EOF
check "as decontam's frequency method has it" python freq.py freq yes
cut -f 1-10 freq/samples.blanks.tsv | sort >got
sort out/samples.blanks.tsv >want
same want got "all else is as without them"
sed '/^b/d' measured >unblanked
check "without blanks" pass --samples unblanked --outdir alone --html alone/all.html
check "there is that method" python freq.py alone no
check "and no verdict in profiles" blanked alone
sed 's/3$/-3/' measured >bad
expect 1 'bad:5: column 4: "-3" is no concentration' "one below 0" pass --samples bad --outdir bad.out
sed 's/3$/3 ng/' measured >bad
expect 1 '"3 ng" is no concentration' "one with a unit" pass --samples bad --outdir bad.out
printf 's4\ts3.fq\t\t4\n' | cat measured - >bad
expect 1 'bad:8: column 4: "4" is another concentration' "two of a sample" pass --samples bad --outdir bad.out
merge -f html --set profile=profile.tsv -o page.html out
check "without controls a page has no such column" sh -c '! grep -q "\"key\":\"blank\"" page.html'
rm -r out
check "without a page or the second pass" classify --db db.khdb --samples sheet --outdir out
check "there is the table" python exact.py out/samples.blanks.tsv b1,b2 b1 b2 s1 s2 s3 s4
rm -r out
check "a sheet without controls has none" sh -c '"$1" classify -q --db db.khdb --samples plain --outdir out && test ! -e out/samples.blanks.tsv' - "$kmerhash"
rm -r out
printf 'sample\treads1\tType\tcontrol\ns1\ts1.fq\tstool\t\nb1\tb1.fq\tNegative\t\ns2\ts2.fq\tsample\tno\nb2\tb2.fq\tblank\t\ns3\ts3.fq\t\t\ns4\ts4.fq\tyes\t\n' >types
# Host removal may leave nothing of a blank.
: >empty.fq
printf 'sample\treads1\tcontrol\ns1\ts1.fq\t\nb1\tempty.fq\tyes\nb2\tempty.fq\tyes\n' >nothing
"$kmerhash" classify --db db.khdb --samples nothing --outdir none --sample-pass --profile profile.tsv 2>none.log
check "controls without a read: a warning" grep -q "the controls have no reads" none.log
check "and no verdict in the table" sh -c 'test "$(cut -f 10 none/samples.blanks.tsv | sort -u)" = "no blank
verdict"'
check "nor in the profile" sh -c '! grep -q "in the blank" none/s1.profile.tsv && grep -q "	no blank	" none/s1.profile.tsv'
check "types of samples" classify --db db.khdb --samples types --outdir out
check "say the same, and any other word nothing" python exact.py out/samples.blanks.tsv b1,b2 b1 b2 s1 s2 s3 s4
sed 's/yes/perhaps/' sheet >bad
expect 1 'bad:3: column 3: "perhaps" is neither yes nor no' "a control that is neither" classify --db db.khdb --samples bad --outdir bad.out
expect 2 "compared with their controls by reports" "no reports" classify --db db.khdb --samples sheet --outdir bad.out --write lines
expect 2 "no sample is called 'b3'" "a control that is not there" merge -f blanks --set controls=b1,b3 out
expect 2 "needs --set controls" "no controls" merge -f blanks out
expect 2 "controls has no meaning with --format krona" "controls of another format" merge -f krona --set controls=b1 out
plan
