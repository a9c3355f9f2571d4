# run_sample.sh - the second pass: calls and profile beside an independent implementation, the same
# ones for any threads and blocks, and answers to samples that say little; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"
[ -n "$PYTHON3" ] || { echo "1..0 # SKIP no python3"; exit 0; }

T3=$data/genomes/Enterobacteria_phage_T3.NC_003298.1.fa.gz
T7=$data/genomes/Escherichia_phage_T7.NC_001604.1.fa.gz
lambda=$data/genomes/Escherichia_virus_Lambda.NC_001416.1.fa.gz
phi=$data/genomes/Escherichia_virus_phiX174.NC_001422.1.fa.gz
mers=$data/genomes/Middle_East_respiratory_syndrome_related_coronavirus.JX869059.2.fa.gz
sars=$data/genomes/Severe_acute_respiratory_syndrome_coronavirus_2.NC_045512.2.fa.gz

second() { "$kmerhash" classify -q "$@"; }
sample() { "$PYTHON3" "$tests/make_world.py" sample "$@"; }
# agrees DATABASE READS [OPTION]: lines and profile
agrees() {
	# shellcheck disable=SC2086 # both mates
	second --db "$1" --output calls.tsv --profile p.tsv ${3:---sample-pass} $2 &&
	oracle oracle_sample.py "$1" calls.tsv p.tsv ${4:-} $2
}
# covers DATABASE READS: the same, and the coverage in a page
covers() {
	second --db "$1" --output calls.tsv --profile p.tsv --html page.html --sample-pass "$2" &&
	oracle oracle_sample.py "$1" calls.tsv p.tsv --page page.html "$2"
}
# of TAXID COLUMN: what p.tsv says of it
of() { awk -F '\t' -v t="$1" -v c="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $at["taxid"] == t { print $at[c] }' p.tsv; }
# verdict TAXID WORDS
verdict() { test "$(of "$1" verdict)" = "$2"; }
# number JSON-KEY: of j.json
number() { sed -n 's/.*"'"$1"'": \([0-9]*\).*/\1/p' j.json; }

# Marker genes: six species with eight copies of a gene; and six with the eight segments of a genome.
"$PYTHON3" -c 'import random; random.seed(1)
def word(n): return "".join(random.choices("ACGT", k=n))
genes, segments, ids = open("genes.fa", "w"), open("segments.fa", "w"), open("ids.tsv", "w")
for species in range(6):
    gene = word(1500)
    for copy in range(8):
        at = random.randrange(1500)
        print(">g%d.%d\n%sC%s" % (species, copy, gene[:at], gene[at + 1:]), file=genes)
        print(">s%d.%d\n%s" % (species, copy, word(1500)), file=segments)
        for kind in "gs":
            print("%s%d.%d\td__D;p__P;c__C;o__O;f__F;g__G;s__S %d" % (kind, species, copy, species), file=ids)'
for of in genes segments; do check "build, $of" "$kmerhash" build -q --db $of.khdb --lineage ids.tsv $of.fa; done
sed -n '2p' genes.fa | awk '{ for (i = 0; i < 600; i++) printf ">r%d\n%s\n", i, substr($0, 100 + i % 20, 250) }' >amplicon.fa
for o in "--sample-pass" "--profile p.tsv"; do
	expect 0 "warning: most species have fewer than 5000 bases in the database, as marker genes" "marker genes: $o" \
		"$kmerhash" classify --db genes.khdb --output calls.tsv $o amplicon.fa
	check "segments: $o" "$kmerhash" classify --db segments.khdb --output calls.tsv $o amplicon.fa
	"$kmerhash" classify --db segments.khdb --output calls.tsv $o amplicon.fa 2>said
	check "segments: no warning of marker genes" sh -c '! grep marker said'
done
"$kmerhash" classify --db genes.khdb --output calls.tsv amplicon.fa 2>said
check "marker genes without a second pass: no warning" sh -c '! grep marker said'

# In the sample: relatives of T7 (T3, which is absent), a strain of lambda, phiX174 and SARS-CoV-2
# as they are, MERS, which is absent.
build() { "$kmerhash" build -q --taxonomy "$data/taxonomy" -a "$data/taxonomy/accession2taxid.tsv" "$@"; }
check "build" build --db db.khdb "$T7" "$lambda" "$phi" "$sars"
check "build both relatives" build --db both.khdb "$T3" "$T7" "$lambda" "$phi" "$sars"
check "build, other seeds" build --db k.khdb -k 21 --set smer-len=11 "$T7" "$lambda" "$phi"
check "build, seeds so short that random reads have some" build --db short.khdb -k 10 --set smer-len=4 "$T7" "$lambda" "$phi"
check "sample" sample 5200 s.fq 150 "$T3:3:0" "$lambda:2:0.03" "$phi:1:0" "$sars:2:0" "$mers:1:0"
check "sample, fewer" sample 700 few.fq 150 "$T3:3:0" "$lambda:2:0.03" "$phi:1:0" "$mers:1:0"
check "sample of relatives" sample 800 near.fq 100 "$T7:2:0.01" "$T3:2:0.06" "$lambda:1:0.05"
check "sample of few of its own" sample 1500 among.fq 150 "$T3:10:0" "$T7:0.35:0"
check "sample of two reads" sample 600 rare.fq 150 "$lambda:595:0" "$phi:2:0" "$phi:3:0.6"
check "sample of many of one, and few of a relative that is not there" sample 1600 echo.fq 150 "$T7:10:0" "$T3:0.06:0" "$T3:0.4:0.13"
gzip -dc "$lambda" | awk '/^>/ { print; next } { s = s $0 } END { print substr(s, 1, 21000) }' >part.fa
check "sample of part of a genome" sample 600 part.fq 150 part.fa:1:0.001
check "sample of part of a relative's genome" sample 600 stretch.fq 150 part.fa:1:0.03
# long reads, and reads of a stretch so short that they have but few places
sample 12 ends.fq 20000 "$lambda:1:0.01"
gzip -dc "$lambda" | awk '/^>/ { print; next } { s = s $0 } END { print substr(s, 1, 1500) }' >piece.fa
sample 600 piece.fq 100 piece.fa:1:0.001
# a strain that is far from lambda, everywhere
gzip -dc "$lambda" | "$PYTHON3" -c 'import random, sys; random.seed(3)
head, *seq = sys.stdin.read().split("\n")
print(head, "".join(random.choice("ACGT".replace(c, "")) if random.random() < .062 else c for c in "".join(seq)), sep="\n")' >far.fa
sample 600 far.fq 150 far.fa:1:0 "$phi:.1:0"
python "$tests/make_world.py" sisters sisters "$data"
check "build, close species" "$kmerhash" build -q --db sisters.khdb --taxonomy sisters/taxonomy sisters/refs.fa
head -n 3000 sisters/reads.fq >sisters.fq
check "sample of some hundred" sample 540 hundreds.fq 150 "$T3:3:0" "$lambda:2:0.02" "$phi:1:0"
check "small sample" sample 300 small.fq 150 "$T3:3:0" "$lambda:2:0.02" "$phi:1:0"

check "calls and profile" agrees db.khdb few.fq
check "a relative alone is one" verdict 1985738 "reads of a relative that is not in the database"
check "and so is its genus" verdict 110456 "reads of a relative that is not in the database"
check "that is not there" test "$(of 110456 detected)" = no
check "and why" test "$(of 110456 why)" = \
	"reads of a relative that is not in the database: they are like those of Escherichia virus T7, which is not there"
check "no read is called below the genus" test -z "$(awk '$3 == 1985738 || $3 == 10760' calls.tsv)"
check "but the genus, as no other one of its family has such reads" test "$(awk '$3 == 110456' calls.tsv | wc -l)" -gt 20
check "a strain is present" verdict 10710 present
check "and of the genus of that it is said" test "$(of 186765 why)" = "Escherichia virus Lambda is there"
check "calls, profile and coverage, relatives in the database" covers both.khdb near.fq
check "a strain at 95 % is present" verdict 10710 present
check "calls and profile, other seeds" agrees k.khdb near.fq
check "calls and profile, reads that are like chance" agrees short.khdb few.fq
check "a few of its own among a relative's" agrees db.khdb among.fq
check "two reads, and chance hits of others" agrees db.khdb rare.fq
check "both of them stay" test "$(awk '$1 == "C" && $3 == 10847' calls.tsv | wc -l)" -eq 2
check "part of a genome, as it is" agrees db.khdb part.fq
check "part of a genome: present" verdict 10710 present
check "a stretch like that of something else" agrees db.khdb stretch.fq
check "a stretch of something else is not the species" verdict 10710 "reads of a relative that is not in the database"
check "long reads of a genome" agrees db.khdb ends.fq
check "these are of it" test "$(of 10710 detected)" = yes
check "reads of a stretch" covers db.khdb piece.fq
check "these are in few places" verdict 10710 "in few places only"
check "and where" sh -c 'echo "$1" | grep -q "^in [0-9]* places only (plasmid, phage?)"' - "$(of 10710 why)"
check "a strain that is far, but all over the genome" agrees db.khdb far.fq
check "that is one" verdict 10710 divergent
check "nearly all of its reads are called it" test "$(awk '$3 == 10710' calls.tsv | wc -l)" -gt 500
# a sister lacks a fourth of the genes, in runs; a strain is as far everywhere, and another one is farther
gzip -dc "$lambda" | "$PYTHON3" -c 'import random, sys; random.seed(5)
head, *seq = sys.stdin.read().split("\n")
seq = "".join(seq)
for name, rate, lacks in ("lacks", .05, 5), ("all", .05, 0), ("farther", .09, 0), ("part", .011, 0):
    genes = [seq[i:i + 2400] for i in range(0, len(seq), 2400)]
    genes = ["".join(random.choice("ACGT".replace(c, "")) if random.random() < rate else c for c in g) for g in genes]
    for i in range(lacks):
        genes[4 * i + 1] = "".join(random.choices("ACGT", k=2400))
    open(name + ".fa", "w").write(head + "\n" + "".join(genes[:4] if name == "part" else genes) + "\n")'
for name in lacks all farther part; do sample 900 "$name.fq" 150 "$name.fa:1:0" "$phi:.1:0"; done
check "a sister that lacks genes" agrees db.khdb lacks.fq
check "that is one" verdict 10710 "reads of a relative that is not in the database"
check "a strain that lacks none" agrees db.khdb all.fq
check "that is one" verdict 10710 divergent
check "a strain that is as far as some sisters are, and has all genes" agrees db.khdb farther.fq
check "that is one" verdict 10710 divergent
# pairs of a sister that lacks every fourth gene, and of a strain whose genes are as far; and of one
# among others' pairs, of which 80 are like it in 32 bases, by chance
gzip -dc "$lambda" | "$PYTHON3" -c 'import random, sys
seq = "".join(sys.stdin.read().split("\n")[1:])
def change(s, rate):
    return "".join(random.choice("ACGT".replace(c, "")) if random.random() < rate else c for c in s)
def word(n):
    return "".join(random.choices("ACGT", k=n))
for name, lacks, rates, many in ("gaps", 4, (.02, .05, .08), 900), ("whole", 999, (.02, .05, .08), 900), ("among", 999, (.02, .04, .06), 100):
    random.seed(5)
    genome = "".join(change(seq[i:i + 600], rates[i // 600 % 3]) if i // 600 % lacks else word(600) for i in range(0, len(seq), 600))
    with open(name + "_1.fq", "w") as ones, open(name + "_2.fq", "w") as twos:
        for i in range(max(many, 600)):
            at, end = random.randrange(len(genome) - 600), random.randrange(200, 600)
            first = genome[at:at + 150]
            last = genome[at + end - 150:at + end].translate(str.maketrans("ACGT", "TGCA"))[::-1]
            if i >= many:
                first, last = word(60) + (first[:32] if i < 180 else word(32)) + word(58), word(150)
            print("@r%d\n%s\n+\n%s" % (i, first, "I" * 150), file=ones)
            print("@r%d\n%s\n+\n%s" % (i, last, "I" * 150), file=twos)'
check "pairs of a sister that lacks genes here and there" agrees db.khdb "gaps_1.fq gaps_2.fq" "--paired --sample-pass"
check "that is one" verdict 10710 "reads of a relative that is not in the database"
check "pairs of a strain that lacks none" agrees db.khdb "whole_1.fq whole_2.fq" "--paired --sample-pass"
check "that is one" verdict 10710 divergent
check "pairs of a strain among those of others" agrees db.khdb "among_1.fq among_2.fq" "--paired --sample-pass"
check "that is one, whatever these have in common with it" verdict 10710 present
check "and keeps its pairs" test "$(awk '$3 == 10710' calls.tsv | wc -l)" -ge 95
# all reads have an error in every tenth base
sample 1500 perfect.fq 100 "$lambda:1:0" "$sars:1:0"
python -c 'import random, sys; random.seed(7)
for i, line in enumerate(sys.stdin):
    bases = (random.choice("ACGT".replace(c, "")) if c in "ACGT" and random.random() < .1 else c for c in line)
    sys.stdout.write("".join(bases) if i % 4 == 1 else line)' <perfect.fq >noisy.fq
check "species whose reads have many errors" agrees db.khdb noisy.fq
check "are there" sh -c 'test "$1 $2" = "divergent divergent"' - "$(of 10710 verdict)" "$(of 694009 verdict)"
check "a fifth of a genome, near its reference" agrees db.khdb part.fq
check "that is there" verdict 10710 present
# T3, which is absent, has most long reads that are called T7, but those of T7 are near
sample 900 mixed.fq 2000 "$T3:6:0" "$T7:1:0.01" "$lambda:2:0"
check "long reads of a relative, and of a strain" agrees db.khdb mixed.fq
check "T7 is a relative" verdict 1985738 "reads of a relative that is not in the database"
check "all of its reads go to the genus" test -z "$(awk '$3 == 10760 || $3 == 1985738' calls.tsv)" -a "$(awk '$3 == 110456' calls.tsv | wc -l)" -ge 50
# two genera of a family, genes of which change at rates of their own; long reads of a species of each that is not there
python -c 'import random; random.seed(5)
rates = [random.choice((.1, .3, 1, 2)) for _ in range(223)]
def change(s, rate):
    return "".join(random.choice("ACGT".replace(c, "")) if random.random() < rate * rates[i // 900] * (1 if i % 3 == 2 else .1)
                   else c for i, c in enumerate(s))
family = "".join(random.choices("ACGT", k=200000))
refs, ids, reads = open("kin.fa", "w"), open("kin.tsv", "w"), open("kin.fq", "w")
for g, genus in enumerate([change(family, .4) for _ in range(2)]):
    for s, species in enumerate([change(genus, .25) for _ in range(3)]):
        if s < 2:
            print(">k%d.%d\n%s" % (g, s, species), file=refs)
            print("k%d.%d\td__D;p__P;c__C;o__O;f__Kin;g__Genus%d;s__S %d.%d" % (g, s, g, g, s), file=ids)
            continue
        for i in range(60):
            at = random.randrange(194000)
            print("@%d.%d\n%s\n+\n%s" % (i, g, species[at:at + 6000], "I" * 6000), file=reads)'
check "build, two genera of a family" "$kmerhash" build -q --db kin.khdb --lineage kin.tsv kin.fa
check "long reads of new species of both" agrees kin.khdb kin.fq
check "are called their genera" awk -F '\t' 'NR == FNR { if ($1 ~ /^Genus/) is[$10] = substr($1, 6); next }
	{ right += ($3 in is) && is[$3] == substr($2, length($2)) } END { exit right < 110 }' p.tsv calls.tsv
check "what a far more abundant relative has in common" agrees both.khdb echo.fq
check "calls and profile, a close species that is absent" agrees sisters.khdb sisters.fq
check "its sister is" verdict 8000001 present
head -n 1200 sisters/long.fq >long.fq
check "calls and profile of long reads" agrees sisters.khdb long.fq
head -n 320 sisters/gaps.fq >gaps.fq
check "calls and profile of long reads with gaps" agrees sisters.khdb gaps.fq
check "long reads of strains" "$PYTHON3" "$tests/make_world.py" below below "$data"
check "their build" "$kmerhash" build -q --db below.khdb --taxonomy below/taxonomy below/refs.fa
check "calls and profile of long reads where strains differ" agrees below.khdb below/long.fq
check "long ones: its sister is" verdict 8000001 present
awk 'NR % 4 == 2 { n = length($0) } NR % 8 == 4 { gsub("I", "IH"); $0 = substr($0, 1, n) } { print }' \
	long.fq >told.fq
check "calls and profile of long reads with qualities" agrees sisters.khdb told.fq
# one species of five that are 4 % apart is not there, and has every fourth read
python "$tests/make_world.py" sisters clade "$data" 0.04
check "build species of a clade" "$kmerhash" build -q --db clade.khdb --taxonomy clade/taxonomy clade/refs.fa
second --db clade.khdb --output clade.tsv --sample-pass clade/reads.fq
check "few reads of an absent species are called a relative" awk '
	substr($2, 2) % 4 == 0 { n++; wrong += $3 > 8000000 }
	substr($2, 2) % 4 != 0 { right += $3 == 8000001 }
	END { exit wrong > n / 3 || right < 4400 }' clade.tsv
# a species of two strains, and a sample of a third one, of one of the two, and of both
python "$tests/make_world.py" isolate isolate "$data"
check "build, two strains of a species" "$kmerhash" build -q --db isolate.khdb --taxonomy isolate/taxonomy isolate/refs.fa
# strains NAME: how many reads of the sample are called each of the two
strains() {
	second --db isolate.khdb --output calls.tsv --sample-pass isolate/$1.fq
	awk '$3 == 9000001 { a++ } $3 == 9000002 { b++ } END { print a + 0, b + 0 }' calls.tsv
}
check "calls and profile of a third strain" agrees isolate.khdb isolate/third.fq
check "they are called the species" test "$(strains third)" = "0 0"
second --db isolate.khdb --output first.tsv isolate/third.fq
check "where the first pass called both strains" sh -c 'test $(grep -c 9000001 first.tsv) -gt 50 && test $(grep -c 9000002 first.tsv) -gt 50'
check "calls and profile of a strain that is a reference" agrees isolate.khdb isolate/first.fq
check "they are called the strain" sh -c 'test $1 -gt 300 && test $2 -eq 0' - $(strains first)
check "calls and profile of both strains" agrees isolate.khdb isolate/both.fq

# the reads of something absent, with two species of the only genus of a family
"$PYTHON3" "$tests/make_world.py" kin kin "$data"
for refs in near wide; do
	"$kmerhash" build -q --db $refs.khdb --taxonomy kin/taxonomy -a "$data/taxonomy/accession2taxid.tsv" kin/$refs.fa "$lambda"
done
check "calls of something as far from two species as these are from each other" agrees wide.khdb kin/reads.fq
check "are their genus" test "$(awk '$1 == "C" { print $3 }' calls.tsv | sort -u)" = 1910954
check "calls of something much farther" agrees near.khdb kin/reads.fq
check "are the family" test "$(awk '$1 == "C" { print $3 }' calls.tsv | sort -u)" = 10841
check "they are called both" sh -c 'test $1 -gt 150 && test $2 -gt 100' - $(strains both)
check "a profile alone keeps the calls" agrees db.khdb few.fq --set=no-verify --keep
second --db db.khdb --output first.tsv few.fq
same first.tsv calls.tsv "a profile alone keeps the lines"
# ten species whose strains have alleles, .1 % apart
python "$tests/make_world.py" strains 40 ties "$data" 10
check "build, species that tie" "$kmerhash" build -q --db ties.khdb --taxonomy ties/taxonomy ties/refs.fa
check "sample of them" sample 1500 ties.fq 150 ties/refs.fa:1:0.002
second --db ties.khdb --output plain.tsv ties.fq
check "a read that several species fit is their LCA's, by all places" oracle oracle_ties.py ties.khdb plain.tsv ties.fq
second --db ties.khdb --output first.tsv --profile p.tsv ties.fq
same plain.tsv first.tsv "calls do not depend on what else is wanted"
check "a sample of some hundred" agrees db.khdb hundreds.fq
second --db db.khdb --output first.tsv hundreds.fq
check "some of its calls change" sh -c '! cmp -s first.tsv calls.tsv'
check "a small sample keeps its calls" agrees db.khdb small.fq
second --db db.khdb --output first.tsv small.fq
same first.tsv calls.tsv "a small sample keeps its lines"
second --db db.khdb --output - --sample-pass --json j.json small.fq
expect 0 "fewer than 500 fragments say too little" "and a warning says so" \
	"$kmerhash" classify --db db.khdb --output - --sample-pass --html small.html small.fq
check "and there is one" test "$(grep -c "fewer than 500" "$t/.err")" -eq 1
check "and the page says so" grep -q '"label":"Second pass","value":"calls are those of the first pass' small.html
"$kmerhash" classify --db db.khdb --output - --profile p.tsv small.fq 2>told
check "a profile alone does not change calls, and has no warning" sh -c '! grep "too little" told'
check "and the summary says so" grep -q '"calls": "kept: too few fragments"' j.json

# something of another genus, which is like one genus here and like another one of its family there
gzip -dc "$lambda" | "$PYTHON3" -c 'import random, sys; random.seed(5)
seq = "".join(sys.stdin.read().split("\n")[1:])
far = "".join(random.choice("ACGT") if random.random() < .4 else c for c in seq)
for name, x, y in (("21", seq, far), ("22", far, seq)):
    print(">" + name, "taxid|" + name, "\n" + "".join((x, y)[i // 2000 % 2][i:i + 2000] for i in range(0, len(seq), 2000)))' >halves.fa
mkdir halves
printf '%s\t|\t%s\t|\t%s\t|\n' 1 1 "no rank" 10 1 family 11 10 genus 12 10 genus 21 11 species 22 12 species >halves/nodes.dmp
for x in 1:root 10:Fa 11:Ga 12:Gb 21:Sa 22:Sb; do printf '%s\t|\t%s\t|\t\t|\tscientific name\t|\n' ${x%:*} ${x#*:}; done >halves/names.dmp
check "build, two genera of a family" "$kmerhash" build -q --db halves.khdb --taxonomy halves halves.fa
sample 900 halves.fq 150 "$lambda:1:0.03"
check "calls and profile of another genus" agrees halves.khdb halves.fq
check "it is called the family" test "$(awk '$3 == 10' calls.tsv | wc -l)" -gt 600
check "and neither of the two genera" test -z "$(awk '$3 > 10' calls.tsv)"
# --- few reads, and copies of one ----------------------------------------------------
# few NAME READS: they are lambda's, beside 600 of phiX174
sample 600 beside.fq 150 "$phi:1:0"
few() { cat beside.fq "$2" >few.fq; check "calls and profile, $1" agrees db.khdb few.fq; }
# has DETECTED DISTINCT WHY: of lambda, which has no abundance
has() {
	test "$(of 10710 detected) $(of 10710 abundance_percent)" = "$1 -" &&
		of 10710 distinct_reads | awk -v d="$2" '{ exit $1 < d - .1 || $1 > d + .1 }' &&
		of 10710 why | grep -q "^too few reads to judge: $3, near it; no abundance of so few; yes needs 10 "
}
sample 12 l.fq 150 "$lambda:1:0"
head -n 4 l.fq >one.fq
few "one read" one.fq
check "one read is low, and what would make it yes" has low 1 "1 read in 1 place"
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sed "1s/.*/@copy$i/" one.fq; done >copies.fq
few "twelve copies of a read" copies.fq
check "they are judged as one" has low 1 "12 reads in 1 place"
sample 3 three.fq 150 "$lambda:1:0.025"
few "three reads of a strain that is not near" three.fq
check "they are low, as of one that is" has low 3 "3 reads in 3 places"
few "twelve reads" l.fq
check "they are there" sh -c 'test "$1" = yes && echo "$2" | grep -q "^[0-9]* % of its reads fit one strain at 99.9 % identity$"' - "$(of 10710 detected)" "$(of 10710 why)"
head -n 32 l.fq >eight.fq
few "eight reads" eight.fq
check "they are low, and why" sh -c 'test "$1" = low && echo "$2" | grep -q "; low: only 8 different reads, yes needs 10$"' - "$(of 10710 detected)" "$(of 10710 why)"

# --- references that are part of a genome ---------------------------------------------
# part TAXID: it is there, has no abundance by genomes, and the unknown has all
part() {
	test "$(of "$1" detected) $(of "$1" abundance_percent) $(of 0 abundance_percent)" = "yes - 100.000000" &&
		of "$1" why | grep -q "references are part of a genome: [0-9]* bases, a plasmid or fragment" &&
		test "$(of "$1" covered_percent)" = - && of "$1" bases_percent | awk '{ exit $1 < 90 }'
}
gzip -dc "$sars" | awk '/^>/ { print; next } { s = s $0 } END { print substr(s, 1, 2500) }' >piece.fa
check "build, a fragment and its genus" build --db part.khdb piece.fa "$mers"
check "sample of the fragment" sample 600 piece.fq 100 piece.fa:1:0
check "calls and profile, a fragment" agrees part.khdb piece.fq
check "no abundance by genomes of a fragment" part 694009
mkdir cell; gzip -dc "$lambda" | sed 's/^>/>kraken:taxid|777|/' >cell/plasmid.fa
printf '1\t|\t1\t|\tno rank\t|\n2\t|\t1\t|\tsuperkingdom\t|\n777\t|\t2\t|\tspecies\t|\n' >cell/nodes.dmp
printf '%s\t|\t%s\t|\t\t|\tscientific name\t|\n' 1 root 2 Bacteria 777 "Bacillus unius" >cell/names.dmp
check "build, a plasmid" "$kmerhash" build -q --db cell.khdb --taxonomy cell cell/plasmid.fa
check "sample of the plasmid" sample 600 cell.fq 100 cell/plasmid.fa:1:0
check "calls and profile, a plasmid" agrees cell.khdb cell.fq
check "no abundance by genomes of a plasmid" part 777
check "sample of short and long reads" sample 600 mixed.fq 100 "$T7:1:0"
sample 15 mixed2.fq 4000 "$phi:0:0" "$lambda:1:0"; cat mixed2.fq >>mixed.fq
check "calls and profile, short and long reads" agrees both.khdb mixed.fq
check "long reads weigh by their bases" sh -c 'echo "$1" | awk "{ exit \$1 < 48 || \$1 > 52 }"' - "$(of 10710 bases_percent)"

# --- one result ---------------------------------------------------------------------
# all FOLDER OPTION...: every output that there is
all() {
	mkdir "$1" && to=$1 && shift &&
	second --db db.khdb --sample-pass --output "$to/lines" --report "$to/report" \
		--profile "$to/profile.tsv" --classified-out "$to/c.fq" --unclassified-out "$to/u.fq" \
		"$@" s.fq
}
check "one thread" all one --threads 1
check "four threads, small blocks" all four --threads 4 --set block-size=3000
for f in lines report profile.tsv c.fq u.fq; do same one/$f four/$f "$f: threads and blocks"; done
check "as many reads as there are" test "$(cat one/c.fq one/u.fq | wc -l)" -eq "$(wc -l <s.fq)"
check "reads are told as they are called" sh -c '
	awk -F "\t" "\$1 == \"C\" { print \$2, \$3 }" one/lines >want
	awk "NR % 4 == 1 { sub(/^@/, \"\"); sub(/kraken:taxid\|/, \"\"); print }" one/c.fq >have
	cmp want have'
awk -F '\t' '$3 > 0 { n += $3 } END { print n }' one/report >n
check "the report is that of the lines" test "$(cat n)" -eq "$(wc -l <one/lines)"
second --db db.khdb --sample-pass --output - --report alone s.fq
same one/report alone "the report without lines"
second --db db.khdb --sample-pass --output lines.gz s.fq && gzip -dc lines.gz >lines
same one/lines lines "lines as .gz"
second --db db.khdb --sample-pass s.fq >out
same one/lines out "lines on the standard output"
# workers that are free write texts anew as well, while others read the next samples
printf 'sample\treads1\none\ts.fq\nsmall\tsmall.fq\ntwo\ts.fq\n' >sheet
for threads in 1 4; do
	rm -rf sheets
	second --db db.khdb --sample-pass --samples sheet --outdir sheets --classified-out c.fq \
		--unclassified-out u.fq --threads $threads --set block-size=3000
	for s in one two; do
		for f in tsv=lines report=report c.fq=c.fq u.fq=u.fq; do
			same one/${f#*=} sheets/$s.${f%%=*} "$s of a sheet, $threads threads: ${f#*=}"
		done
	done
done
check "nothing is left behind" test -z "$(ls -A one | grep kmerhash)"

# --- selected reads, other samples ---------------------------------------------------
second --db db.khdb --sample-pass --output lines --extract 10710 --classified-out e.fq s.fq
check "reads of a clade, as they are called in the end" sh -c '
	awk -F "\t" "\$3 == 10710 { print \$2 }" lines >want
	awk "NR % 4 == 1 { print substr(\$1, 2) }" e.fq >have
	test -s have && cmp want have'
second --db db.khdb --sample-pass --output lines --exclude 694009 --classified-out e.fq s.fq
check "reads without a clade" sh -c '
	awk -F "\t" "\$1 == \"C\" && \$3 != 694009 && \$3 != 2697049 { print \$2 }" lines >want
	awk "NR % 4 == 1 { print substr(\$1, 2) }" e.fq >have
	test -s have && cmp want have'
printf 'sample\treads1\treads2\none\ts.fq\t\ntwo\tnear.fq\t\nthree\tsmall.fq\t\nfour\ts.fq\tx2.fq\nfour\tnear.fq\t\n' \
	>sheet
sed '/^@s/s/$/ 2/' s.fq >x2.fq
mkdir own
own() { s=$1; shift; second --db db.khdb --sample-pass --output own/$s.tsv --report own/$s.report \
	--profile own/$s.p.tsv --classified-out own/$s.c.fq "$@"; }
own one s.fq; own two near.fq; own three small.fq
for threads in 1 3; do
	rm -rf many
	check "samples, $threads threads" second --db db.khdb --samples sheet --outdir many --sample-pass \
		--profile p.tsv --classified-out 'c.fq' --threads $threads --set block-size=20K
	for s in one two three; do
		for f in tsv report p.tsv c.fq; do same own/$s.$f many/$s.$f "samples, $s.$f: $threads threads"; done
	done
	check "samples, pairs and single reads: all lines" test \
		"$(wc -l <many/four.tsv)" -eq $(($(wc -l <one/lines) + $(wc -l <own/two.tsv)))
	[ $threads -eq 1 ] && cp -r many many1
done
for f in tsv report p.tsv c.fq; do same many1/four.$f many/four.$f "pairs and single reads, $f: threads"; done

# --- forms --------------------------------------------------------------------------
second --db db.khdb --output - --profile p.tsv s.fq
rm -f x.cami
expect 2 "such as x\\.tsv; of that kmerhash merge --format cami-profile" "--profile x.cami" second --db db.khdb --output - --profile x.cami s.fq
expect 2 "such as \\./x\\.y\\.tsv\$" "--profile ./x.y.json" second --db db.khdb --output - --profile ./x.y.json s.fq
check "--profile x.cami: no file" test ! -e x.cami
"$kmerhash" merge -f cami-profile -o p.cami p.tsv
check "a profile of CAMI" "$PYTHON3" -c '
lines = open("p.cami").read().splitlines()
assert lines[0] == "@SampleID:p" and lines[1] == "@Version:0.10.0"
rows = [l.split("\t") for l in lines[4:]]
unknown = rows.pop()
assert unknown[0] == "#unknown" and float(unknown[1]) > 1, unknown
assert all(len(r) == 5 and len(r[2].split("|")) == len(r[3].split("|")) for r in rows)
species = sum(float(r[4]) for r in rows if r[1] == "species")
assert abs(species + float(unknown[1]) - 100) < 1e-3, species'

check "the name of a sample in a page and a summary" sh -c '"$1" classify -q --db db.khdb --set sample="S 01" \
	--prefix named --write html,json s.fq &&
	grep -q "\"sample\": \"S 01\"" named.json && grep -q "\"name\":\"S 01\",\"unclassified\"" named.html' - "$kmerhash"
check "--prefix names the sample" sh -c '"$1" classify -q --db db.khdb --prefix ./S02 s.fq &&
	grep -q "\"sample\": \"S02\"" S02.json' - "$kmerhash"
expect 2 "not printable" "--set sample with a line end" second --db db.khdb --output - --set sample="$(printf 'a\nb')" s.fq
mkdir barred; cp "$data"/taxonomy/*.dmp barred
sed -i 's/Escherichia virus phiX174/Escherichia | phi|X/; s/Sinsheimervirus/Sins|heimervirus/' barred/names.dmp
build --taxonomy barred --db barred.khdb "$data"/genomes/*.gz
second --db barred.khdb --output - --profile p.tsv s.fq
"$kmerhash" merge -f cami-profile -o p.cami p.tsv
check "a profile of CAMI: names with bars" "$PYTHON3" -c '
rows = [l.split("\t") for l in open("p.cami").read().splitlines()[4:] if l[0] != "#"]
assert all(len(r[2].split("|")) == len(r[3].split("|")) for r in rows), rows
assert [r[3].split("|")[-1] for r in rows if r[0] == "10847"] == ["Escherichia _ phi_X"], rows'

# No taxon has an abundance, and the unknown has all.
all_unknown() { awk -F '\t' 'NR > 1 && $10 > 0 && $7 + $15 > 0 { bad = 1 } $10 == "0" { ok = $7 == 100 && $15 == 100 }
	END { exit bad || !ok }' p.tsv; }
# --- samples that say little --------------------------------------------------------
# says NAME: lines and profile of the reads in x.fq
says() {
	check "$1" second --db db.khdb --sample-pass --output x.tsv --report r --profile p.tsv \
		--json j.json x.fq
	check "$1: all lines" test "$((4 * $(wc -l <x.tsv)))" -eq "$(wc -l <x.fq)"
	check "$1: a profile" grep -q '^unknown	-	-' p.tsv
}
: >x.fq
says "no reads"
head -n 4 s.fq >x.fq
says "one read"
sample 6000 x.fq 150 "$phi:1:0"
says "one genome, 160 times"
check "one genome: present" verdict 10847 present
check "one genome: no call is changed" test "$(number changed)" -eq 0
sample 40000 x.fq 150 "$phi:1:0.002" "$T3:0.0001:0"
says "one genome at 1000x"
check "1000x: present" verdict 10847 present
sample 6000 x.fq 150 "$mers:1:0"
says "nothing of the references"
check "nothing: no species is called" sh -c '! grep "	S	" r'
check "nothing: all is unknown" all_unknown
python -c 'import random; random.seed(1)
for i in range(6000): print("@r%d\n%s\n+\n%s" % (i, "".join(random.choices("ACGT", k=150)), "I" * 150))' >x.fq
says "random reads"
check "random reads: all is unknown" all_unknown
sample 20 x.fq 3000 "$lambda:1:0.01"
says "long reads"
awk 'NR % 4 == 2 { $0 = substr($0, 1, 30) } NR % 4 == 0 { $0 = substr($0, 1, 30) } 1' s.fq >x.fq
says "reads too short for a class"

# --- usage --------------------------------------------------------------------------
expect 2 "named for two outputs" "an output named twice" second --db db.khdb --output p --profile p s.fq
expect 1 "cannot|No such" "a folder that is not there" \
	second --db db.khdb --output - --profile no/where.tsv s.fq
plan
