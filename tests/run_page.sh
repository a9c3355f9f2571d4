# run_page.sh - classify --html: one page, whole or absent, with the counts of the report; and in
# a real browser, if Chromium and its driver are here; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"
sim="$data/reads/tiny_sim_1.fq.gz $data/reads/tiny_sim_2.fq.gz"
check "a database" build --db a.khdb -k 16 --taxonomy "$data/taxonomy" \
	--accession2taxid "$data/taxonomy/accession2taxid.tsv" "$data"/genomes/*.gz

# The page without its command, which names files and threads.
export SOURCE_DATE_EPOCH=86400  # what a page says of today
counts() { sed 's/"label":"Command","value":"[^"]*"//' "$1"; }

page() { classify --db a.khdb --paired --output lines --report report --html "$@" $sim; }
expect 0 "" "a page" page one.html --threads 1
expect 0 "" "a page by two threads and small blocks" page two.html --threads 2 --set block-size=1K
counts one.html >one; counts two.html >two
same one two "the same page by two threads and small blocks"
expect 0 "" "a page beside no other output" classify --db a.khdb --paired --output - --html two.html $sim
counts two.html >two; same one two "the same page beside no other output"
page three.html.gz && gzip -dc three.html.gz >three.html && counts three.html >three
same one three "the same page, compressed"
check "the date, the database and its date" sh -c 'sed "s/.*\"facts\"://" one.html | grep -q "{\"label\":\"Date\",\"value\":\"1970-01-02 00:00 UTC\"}.*\"value\":\"a, of 20[-0-9]* [0-9:]* UTC, by kmerhash"'
check "nothing in it asks for another file" sh -c '! grep -Eq "(src|href) *= *.?(https?:|//)|@import|[^L]url[(]" one.html'
expect 1 "none.fq" "a failure" classify --db a.khdb --output o.tsv --html none.html $data/reads/tiny_sim_1.fq.gz none.fq
check "a failure leaves no page" test ! -e none.html
check "an empty input" sh -c ': >empty.fq; "$@"' - "$kmerhash" classify --db a.khdb --output - --html empty.html empty.fq

# What the page has is what the report has.
cat >compare.py <<'EOF'
from page_data import page_data

data = page_data("one.html")
taxa, sample = data["taxa"], data["samples"][0]
clade = list(sample["direct"])
for i in range(len(clade) - 1, 0, -1):
    clade[taxa["parent"][i]] += clade[i]
page = {t: (c, d, n) for t, c, d, n in zip(taxa["taxid"], clade, sample["direct"], taxa["name"])}
report = {}
for line in open("report", encoding="utf-8"):
    share, c, d, code, taxid, name = line.rstrip("\n").split("\t")
    if code == "U":
        assert int(c) == sample["unclassified"]
    else:
        report[int(taxid)] = (int(c), int(d), name.strip())
assert page == report, set(page.items()) ^ set(report.items())
assert (data["format"], data["version"], data["unit"]) == ("kmerhash-page", 2, "pairs")
EOF
by_python "the page has the counts of the report" compare.py

# What was looked for: all taxa of the database, with the genomes that each has.
expect 0 "" "a page of one virus" classify --db a.khdb --paired --output - --html virus.html $data/reads/sarscov2_real_1.fq.gz $data/reads/sarscov2_real_2.fq.gz
cat >known.py <<'EOF'
import base64
import os
import subprocess
import zlib
from page_data import page_data

known = page_data("virus.html")["known"]
n = known["listed"]
text = zlib.decompress(base64.b64decode(known["list"])).decode().split("\n")
rows = {t: (r, m, *(g.split() + ["0"] * 2)[:2], "part" if g.endswith("part") else "")
        for m, t, r, g in zip(*(text[k * n:k * n + n] for k in range(4)))}
said = subprocess.run([os.environ["kmerhash"], "inspect", "--find", "", "a.khdb"], check=True,
                      stdout=subprocess.PIPE, encoding="utf-8").stdout.splitlines()
want = {}
for row in said[1:]:
    taxid, rank, name, genomes, longest, references = row.split("\t")
    want[taxid] = (rank, name, genomes, longest, "part" if references == "part" else "")
want.pop("1")
assert rows == want and n == known["all"] == len(want) > 30, (rows, want)
assert rows["10710"][2:] == ("1", "48502", ""), rows["10710"]
assert rows["694002"][2:4] == ("2", "30119"), rows["694002"]
EOF
export kmerhash; by_python "the page has the taxa of the database" known.py
many() { awk -v OFS='\t' 'BEGIN { for (i = 0; i < 51000; i++) { s = ""; for (k = i; length(s) < 40; k = (k * 1103 + 12345) % 65521) s = s substr("ACGT", k % 4 + 1, 1);
	print ">g" i "\n" s >"many.fa"; print "g" i, "d__Bacteria;f__F" int(i / 99) ";g__G" int(i / 9) ";s__G" int(i / 9) " s" i >"many.tsv" } }'; }
many && check "a database of 51,000 species" build --db many.khdb -k 16 --lineage many.tsv many.fa
check "its page" classify --db many.khdb --output - --html genera.html empty.fq
check "its page is below 400 kB" [ "$(wc -c <genera.html)" -lt 400000 ]
head -n 9000 many.fa >some.fa
check "a page of 5000 taxa" classify --db many.khdb --output - --profile some.tsv --html large.html some.fa
check "a page of 5000 taxa is below 1 MB" [ "$(wc -c <large.html)" -lt 1000000 -a "$(wc -l <some.tsv)" -gt 5000 ]
check "it lists what is above species" grep -q '"known":{"all":[0-9]*,"listed":6184,' genera.html
expect 0 "" "a page with a profile" page profile.html --profile profile.tsv
expect 0 "" "the same by two threads and small blocks" page two.html --profile two.tsv --threads 2 --set block-size=1K
counts profile.html >one; counts two.html >two
same one two "the same page with a profile by two threads and small blocks"
cat >profile.py <<'EOF'
import csv
import gzip
import math
import sys
from page_data import page_data

data = page_data("profile.html")
# lengths of the genomes of species that have one only, and the bases of the sample
length = {}
with open(sys.argv[1] + "/taxonomy/accession2taxid.tsv") as rows:
    taxid_of = {r.split("\t")[1]: r.split("\t")[2] for r in rows}
for path in sys.argv[2:]:
    with gzip.open(path, "rt") as lines:
        head, *sequence = lines.read().splitlines()
    if head[0] == ">":
        length[taxid_of[head[1:].split()[0]]] = sum(map(len, sequence))
all_bases = 0
for mate in "12":
    with gzip.open("%s/reads/tiny_sim_%s.fq.gz" % (sys.argv[1], mate), "rt") as lines:
        all_bases += sum(len(line) - 1 for i, line in enumerate(lines) if i % 4 == 1)
taxid, keys = data["taxa"]["taxid"], [c["key"] for c in data["columns"]]
values = {int(i): dict(zip(keys, v)) for i, v in data["samples"][0]["values"].items()}
assert keys == ["detected", "distinct", "abundance", "identity", "why", "evenness", "covered", "first", "next"]
seen = present = above = 0
for row in csv.DictReader(open("profile.tsv", encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE):
    if row["rank"] != "species" and int(row["taxid"]) in taxid:
        told = values[taxid.index(int(row["taxid"]))]
        assert ((told["detected"] or "-"), told["why"]) == (row["detected"], row["why"]), row
        above += row["why"] != "-"
    if row["rank"] != "species" or int(row["taxid"]) not in taxid:
        continue
    i = taxid.index(int(row["taxid"]))
    seen += 1
    assert (values[i]["detected"] or "-") == row["detected"], row
    assert values[i]["why"] == row["why"] and values[i]["first"] == int(row["reads_first"]), row
    assert abs(100 * values[i]["abundance"] - float(row["abundance_percent"])) < 1e-4, row
    assert abs(values[i]["distinct"] - float(row["distinct_reads"])) < .006, row
    even, covered = values[i]["evenness"], values[i]["covered"]
    if even is not None:
        assert abs(even - min(1, float(row["stretches"]) / float(row["stretches_expected"]))) < 0.01, row
    if row["verdict"] == "present" and row["taxid"] in length:
        bases = float(row["bases_percent"]) / 100 * all_bases
        want = (1 if even is None else even) * (1 - math.exp(-bases / length[row["taxid"]]))
        assert abs(covered - want) < 0.03 * want + 1e-5, (row, covered, want)
        present += 1
    identity = values[i]["identity"]
    assert row["identity_percent"] == ("-" if identity is None else "%.1f" % (100 * identity)), row
assert seen >= 4 and present >= 2 and above >= 8, (seen, present, above)

# Abundances of what is below a taxon add up to its own, and species and the unknown to all, but for the
# sixth digit, where numbers of the page end.
below, ranks = {}, data["ranks"]
for i, parent in enumerate(data["taxa"]["parent"][1:], 1):
    while parent and values.get(parent, {}).get("abundance") is None:
        parent = data["taxa"]["parent"][parent]     # "no rank": no abundance is told of it
    if values.get(i, {}).get("abundance") is not None:
        below[parent] = below.get(parent, 0) + values[i]["abundance"]
own = {i: v["abundance"] for i, v in values.items() if v["abundance"] is not None}
kinds = {ranks[data["taxa"]["rank"][i]] for i in own}
assert {"species", "genus", "family"} <= kinds and len(own) > 12, (kinds, own)
for i, sum_below in below.items():
    assert not i or abs(sum_below - own[i]) < 5e-6, (i, sum_below, own[i])
assert all(i in below for i in own if ranks[data["taxa"]["rank"][i]] != "species"), (below, own)
unknown = next(r for r in csv.DictReader(open("profile.tsv"), delimiter="\t") if r["taxid"] == "0")
assert abs(below[0] + float(unknown["abundance_percent"]) / 100 - 1) < 5e-6, (below[0], unknown)

# Reads with a place: as many in the bars of identity, no more than in the clade, and along the
# references no more than that.
clade = list(data["samples"][0]["direct"])
for i in range(len(clade) - 1, 0, -1):
    clade[data["taxa"]["parent"][i]] += clade[i]
cover = data["samples"][0]["coverage"]
assert len(data["identities"]) == 33 and len(cover) >= 4, cover
for t, c in cover.items():
    assert c["reads"] == sum(c["identity"]) <= clade[taxid.index(int(t))], c
    assert all(r["reads"] == sum(r["bins"]) and r["bases"] > 0 for r in c["references"]), c
    assert 0 < sum(r["reads"] for r in c["references"]) <= c["reads"], c
EOF
by_python "the page has what the profile has" profile.py "$data" "$data"/genomes/*.gz

# Two species whose genomes are alike in one half, and differ in 1 base of 90 in the other.
cat >alike.py <<'EOF'
import random

rng = random.Random(5)
a = [rng.choice("ACGT") for _ in range(30000)]
b = a[:15000] + [rng.choice("ACGT".replace(x, "")) if i % 90 == 0 else x for i, x in enumerate(a[15000:])]
c = [rng.choice("ACGT") for _ in range(30000)]
for name, genome in (("a", a), ("b", b), ("c", c)):
    open(name + ".fa", "w").write(">%s1\n%s\n" % (name, "".join(genome)))
with open("alike.fq", "w") as out:
    for i in range(1200):
        genome, at = (c if i % 3 == 0 else a), rng.randrange(29900)
        out.write("@%s%d\n%s\n+\n%s\n" % ("c" if i % 3 == 0 else "a", i, "".join(genome[at:at + 100]), "I" * 100))
with open("alike.tsv", "w") as out:
    for name in "abc":
        out.write("%s1\td__D;f__F;g__%s;s__%s %s\n" % (name, name.upper(), name.upper(), name))
EOF
cat >next.py <<'EOF'
import re
import subprocess
import sys
from page_data import page_data

page, sample, sam = sys.argv[1:4]
data = page_data(page)
s = [s for s in data["samples"] if s["name"] == sample][0]
taxa, clade, keys = data["taxa"], list(s["direct"]), [c["key"] for c in data["columns"]]
for i in range(len(clade) - 1, 0, -1):
    clade[taxa["parent"][i]] += clade[i]
if keys and len(data["samples"]) == 1:
    said = {taxa["name"][int(i)]: v[keys.index("next")] for i, v in s["values"].items()}
    assert said["C c"] == "none is near any of its reads", said
    name, near, same = re.fullmatch(r"(.*): near ([\d.]+) % of its reads, as good for ([\d.]+) %", said["A a"]).groups()
    assert name == "B b" and float(near) == 100 and 45 < float(same) < 55, said
for i in range(1, len(clade)):
    if taxa["name"][i] not in ("A a", "C c"):
        continue
    want = s["values"][str(i)][keys.index("first")] if keys else clade[i]
    command = s["readout"][0].replace("kmerhash", sys.argv[4], 1) + str(taxa["taxid"][i]).join(["", *s["readout"][1:]])
    subprocess.run(command, shell=True, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with open(str(taxa["taxid"][i]) + sam) as lines:
        reads = [x for x in lines if (x[0] != "@" if sam == ".sam" else x.startswith("@"))]
    assert len({x.split()[0] for x in reads}) == want > 0, (taxa["name"][i], len(reads), want, command)
    assert sam != ".sam" or all(int(x.split("\t")[1]) & 4 == 0 for x in reads), reads[:2]
EOF
if [ -n "$PYTHON3" ]; then
	check "two species that are alike" python alike.py
	check "their database" build --db alike.khdb --lineage alike.tsv a.fa b.fa c.fa
	cp alike.fq "it's alike.fq"
	check "their page" classify --db alike.khdb --sample-pass -o - --html alike.html "it's alike.fq"
	check "it has the second-best species, and commands that take reads out" python next.py alike.html "it's alike" .sam "$kmerhash"
	printf 'sample\treads1\nx\talike.fq\ny\tb.fa\n' >alike.sheet
	check "a page of samples" classify --db alike.khdb --samples alike.sheet --outdir alike.out --html alike.html --set no-verify
	check "it has the commands" python next.py alike.html x .sam "$kmerhash"
	check "a small database" build --db thin.khdb --max-db-size 64K --lineage alike.tsv a.fa b.fa c.fa
	check "its page" classify --db thin.khdb -o - --html alike.html alike.fq
	check "its reads are taken out as they are" python next.py alike.html alike .fq "$kmerhash"
else skip "the second-best species" "no python3"; fi

# --- in a browser ------------------------------------------------------------------------------
why=
[ "${KH_ORACLES:-}" != no ] || why="KH_ORACLES=no"
command -v "${CHROMIUM:-chromium}" >/dev/null || why="no chromium here"
command -v "${CHROMEDRIVER:-chromedriver}" >/dev/null || why="no chromedriver here (Debian: chromium-driver)"
[ -n "$PYTHON3" ] && "$PYTHON3" -c "import selenium" 2>/dev/null ||
	why="no python3 with selenium here (Debian: python3-selenium)"
if [ -n "$why" ]; then skip "pages in a browser" "$why"; plan; exit 0; fi
include $limit "$PYTHON3" "$tests/page_browser.py" profile.html virus.html genera.html
plan
