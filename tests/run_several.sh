# run_several.sh - several databases, one answer: the bytes of one database of all references, whatever they
# are divided into; what does not go together; speaks TAP
[ -n "$PYTHON3" ] || { echo "1..0 # SKIP no python3"; exit 0; }
build_dir=$PWD
. "$KH_SRCDIR/tests/tap.sh"
unset KMERHASH_DB
device=         # alignments are made by the CPU; the last lines are those of any device
classify() { "$kmerhash" classify -q --device cpu "$@"; }
# Parts are built for the bases of all.
parts() { # NAME N TAXONOMY OPTION...: databases of NAME.1.fa ... NAME.N.fa and NAME.all.fa
	refs=$1 count=$2 tree=$3; shift 3
	bases=$(grep -v '>' "$refs.all.fa" | tr -d '\n' | wc -c)
	for i in $(seq "$count") all; do
		"$kmerhash" build -q --db "$refs.$i.khdb" --taxonomy "$tree" --set total-bases="$bases" "$@" "$refs.$i.fa" || return 1
	done
}
dbs_of() { for i in $(seq "$2"); do printf -- '--db %s.%s.khdb ' "$1" "$i"; done; }

# Lines, alignments, report and, of a whole sample, calls and profile: as one database of all has them.
like_one() { # NAME N READS...
	refs=$1 count=$2; shift 2
	for dbs in "--db $refs.all.khdb" "$(dbs_of "$refs" "$count")"; do
		to=one; [ "$dbs" = "--db $refs.all.khdb" ] || to=several
		# shellcheck disable=SC2086
		classify $dbs --set distinct --set identity --paf $to.paf --report $to.report --output $to.tsv "$@" &&
			classify $dbs --set second-best --use-names --output $to.second "$@" &&
			classify $dbs --sample-pass --profile $to.profile --report $to.pass --output $to.calls "$@" || return 1
	done 2>.err
	for f in tsv paf report second profile pass calls; do cmp one.$f several.$f || return 1; done
}
divide() { "$PYTHON3" "$tests/divide.py" "$@"; }

# --- random divisions ---------------------------------------------------------------------------
make_viruses
for f in tiny_sim_1 tiny_sim_2 sarscov2_real_1 sarscov2_real_2; do gzip -dc "$data/reads/$f.fq.gz" | awk -v f=$f 'NR % 4 == 1 { sub(/^@/, "@" f ".") } 1'; done >>viruses/reads.fq
check "60 strains of 4 species" "$PYTHON3" "$tests/make_world.py" strains 60 strains "$data" 4
check "280 species of one stretch" "$PYTHON3" "$tests/make_world.py" strains 280 many "$data" 280
check "strains with taxa of their own" "$PYTHON3" "$tests/make_world.py" below below "$data"
check "close species" "$PYTHON3" "$tests/make_world.py" sisters sisters "$data"
while read -r world seed count reads; do
	of=$world.$seed
	check "$of: division" divide "$seed" "$count" $world/refs.fa $world/taxonomy "$of"
	check "$of: databases" parts "$of" "$count" $world/taxonomy
	for r in $reads; do check "$of: $count databases: $r" like_one "$of" "$count" $world/$r; done
done <<END
viruses 1 2 reads.fq
viruses 2 2 reads.fq
viruses 3 3 reads.fq
viruses 4 4 reads.fq
viruses 5 5 reads.fq
strains 6 2 reads.fq
strains 7 4 reads.fq
many 11 2 reads.fq
below 8 2 reads.fq long.fq
sisters 9 2 reads.fq long.fq
sisters 10 3 reads.fq long.fq
END

# --- together with other options -------------------------------------------------------------------
cp viruses.4.1.khdb a.khdb; cp viruses.4.2.khdb b.khdb
three="--db viruses.3.1.khdb --db viruses.3.2.khdb --db viruses.3.3.khdb"
# shellcheck disable=SC2086
check "one thread" classify $three -p 1 --set block-size=10000 --output one.tsv viruses/reads.fq
# shellcheck disable=SC2086
check "four threads" classify $three -p 4 --output four.tsv viruses/reads.fq
same one.tsv four.tsv "any number of threads"
printf 'sample\treads1\nx\tviruses/reads.fq\n' >sheet.tsv
# shellcheck disable=SC2086
check "a sheet of samples" classify $three --samples sheet.tsv --outdir out --write lines,report,json,html
same one.tsv out/x.tsv "a sheet of samples: the same lines"
# shellcheck disable=SC2086
check "--resume" classify $three --samples sheet.tsv --outdir out --write lines,report,json,html --resume
check "the summary names all databases" "$PYTHON3" -c 'import json
x = json.load(open("out/x.json"))
assert x["database"]["name"] == "viruses.3.1 + viruses.3.2 + viruses.3.3", x["database"]
assert x["run"]["database"]["path"] == ["viruses.3.%d.khdb" % i for i in (1, 2, 3)], x["run"]["database"]'
check "its digest is that of one database" sh -c '"$1" classify -q --device cpu --db viruses.3.all.khdb --json all.json --output - "$2" &&
	grep \"digest\" all.json >1 && grep \"digest\" out/x.json >2 && cmp 1 2 && grep \"targets\" all.json >1 && grep \"targets\" out/x.json >2 && cmp 1 2' - "$kmerhash" viruses/reads.fq
check "the page names all databases" grep -q 'viruses.3.1 + viruses.3.2 + viruses.3.3' out/x.html
KMERHASH_DB=viruses.3.1.khdb; export KMERHASH_DB
check "KMERHASH_DB counts where no --db does" classify --db viruses.3.all.khdb --output env.tsv viruses/reads.fq
unset KMERHASH_DB
check "one database of all" classify --db viruses.3.all.khdb --output all.tsv viruses/reads.fq
same all.tsv env.tsv "KMERHASH_DB counts where no --db does: the same lines"

# --- the library and Python -------------------------------------------------------------------------
KMERHASH_LIBRARY=${KH_LIBRARY:-$build_dir/libkmerhash.so.1}; export KMERHASH_LIBRARY
if [ -n "${KH_SANITIZE:-}" ]; then skip "Python" "python3 has no sanitizer"; else
check "Python" "$PYTHON3" -c 'import sys
sys.path.insert(0, sys.argv[1] + "/packaging/python")
import kmerhash
with kmerhash.Database(["viruses.3.1.khdb", "viruses.3.2.khdb", "viruses.3.3.khdb"], device="cpu", threads=2) as db:
    db.classify_files("viruses/reads.fq", lines="python.tsv")
    assert db.taxon(10710).name == "Escherichia virus Lambda"
for bad in ([], ["viruses.3.1.khdb"] * 2):
    try:
        kmerhash.Database(bad, device="cpu")
        sys.exit(f"{bad} were opened")
    except kmerhash.Error as error:
        assert "no database" in str(error) or "same database" in str(error), error' "$KH_SRCDIR"
same one.tsv python.tsv "Python: the same lines"
fi

# --- what does not go together -----------------------------------------------------------------------
refused() { # STATUS PATTERN NAME DATABASE...
	status=$1 pattern=$2 what=$3; shift 3
	dbs=; for db in "$@"; do dbs="$dbs --db $db"; done
	# shellcheck disable=SC2086
	expect "$status" "$pattern" "$what" classify $dbs --report x.report viruses/reads.fq
	check "$what: no line" test ! -s "$t/.out"
	nothing_left "$what" x.report
}
mkdir other; ln a.khdb other/hard.khdb; ln -s ../a.khdb other/soft.khdb; cp a.khdb other/copy.khdb
for twice in a.khdb other/hard.khdb other/soft.khdb other/copy.khdb; do
	refused 2 "a.khdb and $twice are the same database" "twice: $twice" a.khdb b.khdb $twice
done
size=$(wc -c <b.khdb)
cp b.khdb cut.khdb; truncate -s $((size - 4096)) cut.khdb
refused 1 "cut.khdb: truncated" "the second one is cut" a.khdb cut.khdb
cp b.khdb flipped.khdb; printf 'x' | dd of=flipped.khdb bs=1 seek=5000 conv=notrunc 2>/dev/null
refused 1 "flipped.khdb: " "a byte of the second one is flipped" a.khdb flipped.khdb
refused 1 "missing.khdb: No such file" "the second one is missing" a.khdb missing.khdb
build_of() { "$kmerhash" build -q --taxonomy viruses/taxonomy "$@"; }
for k in "-k 18" "--set smer-len=8" "--set stride=32" "--set scheme=minhash"; do
	rm -f k.khdb
	# shellcheck disable=SC2086
	check "build $k" build_of --db k.khdb --set total-bases=192055 $k viruses.4.2.fa
	refused 2 "a.khdb and k.khdb cannot be used together, as their seeds differ: syncmer, k = " "$k" a.khdb k.khdb
done
limited() { "$kmerhash" build -q --taxonomy sisters/taxonomy --set total-bases=560004 "$@"; }
check "databases without text" limited --db thin.khdb --max-db-size 100K sisters.9.2.fa
check "databases without text" limited --db thin2.khdb --max-db-size 100K sisters.9.1.fa
refused 2 "thin.khdb lacks the bases of its references, as it was built with a small --max-db-size, and sisters.9.1.khdb has them" "one without text" sisters.9.1.khdb thin.khdb
check "two without text" classify --db thin.khdb --db thin2.khdb --output thin.tsv sisters/reads.fq
check "two without text find reads of both" "$PYTHON3" -c 'import sys
found = {line.split("\t")[2] for line in open("thin.tsv")}
sys.exit(len(found & {"8000001", "8000002", "8000003", "8000004"}) < 2)'
cp -r "$data/taxonomy" renamed; sed 's/Lambda/lambda/' "$data/taxonomy/names.dmp" >renamed/names.dmp
check "a taxonomy with another name" "$kmerhash" build -q --taxonomy renamed --set total-bases=192055 --db renamed.khdb viruses/refs.fa
refused 2 'viruses.3.all.khdb and renamed.khdb do not agree on taxid 186765: .*;Siphoviridae;Lambdavirus \(genus\) and .*;Siphoviridae;lambdavirus \(genus\)' \
	"another name" viruses.3.all.khdb renamed.khdb
grep '>' viruses.4.2.fa | sed 's/>\([^ ]*\).*/\1\td__Viruses;p__P;c__C;o__O;f__F;g__G;s__G s/' >lineages.tsv
check "a taxonomy of lineages" "$kmerhash" build -q --lineage lineages.tsv --set total-bases=192055 --db lineages.khdb viruses.4.2.fa
refused 2 "a.khdb and lineages.khdb: the taxonomy of the second was made of lineages" "lineages" a.khdb lineages.khdb
# What a database of dump files and lineages gives, of which one ends in a species that the dump files have.
sed '/>/s/ .*//' viruses.4.2.fa >bare.fa
sed '1s/g__G;s__G s/g__Teseptimavirus;s__Escherichia virus T7/' lineages.tsv >t7.tsv
check "lineages with a species of the dump files" "$kmerhash" build -q --lineage t7.tsv --set total-bases=192055 --db t7.khdb bare.fa
check "both kinds in one database" "$kmerhash" build -q --taxonomy "$data/taxonomy" --lineage t7.tsv --set move-taxa --set total-bases=192055 --db kinds.khdb viruses.4.1.fa bare.fa
for dbs in "--db kinds.khdb" "--db viruses.4.1.khdb --db t7.khdb --set join=names" "--db t7.khdb --db viruses.4.1.khdb --set join=names"; do
	# shellcheck disable=SC2086
	classify $dbs --sample-pass --set lineage-column --report kinds.report --output kinds.tsv viruses/reads.fq || echo failed >kinds.tsv
	[ "$dbs" != "--db kinds.khdb" ] || { mv kinds.report want.report; mv kinds.tsv want.tsv; continue; }
	same kinds.report want.report "the report of one database: $dbs"
	same kinds.tsv want.tsv "the lines of one database: $dbs"
done
check "and that species has reads of both" awk -F'\t' '$5 == 1985738 && $2 > 100 { n = 1 } END { exit !n }' want.report
sed 's/[dpcofgs]__//g; s/;P;/;P;Q;R;S;T;/' lineages.tsv >no_ranks.tsv
check "lineages without ranks" "$kmerhash" build -q --lineage no_ranks.tsv --set total-bases=192055 --db no_ranks.khdb bare.fa
expect 2 "no_ranks.khdb: its lineages have no ranks" "taxa without ranks" classify --db viruses.4.1.khdb --db no_ranks.khdb --set join=names viruses/reads.fq
expect 2 "--set join takes 'names', not 'taxids'" "how taxa are joined" classify --db a.khdb --db b.khdb --set join=taxids viruses/reads.fq
expect 2 "--set join=names is for several --db" "one database" classify --db a.khdb --set join=names viruses/reads.fq
check "any device" sh -c '"$1" classify -q --db a.khdb --db b.khdb --output any.tsv "$2"' - "$kmerhash" viruses/reads.fq
check "a database of Kraken 2" "$build_dir/tests/make_kraken" k2 "$data/taxonomy" cells=90000 viruses/refs.fa
refused 2 "k2: a database of Kraken 2 is not used together with others" "Kraken 2's" a.khdb k2
expect 2 "a result.* b.khdb|b.khdb" "a result is the second database" classify --db a.khdb --db b.khdb --report b.khdb --output - viruses/reads.fq
same b.khdb viruses.4.2.khdb "a result is the second database: it is as it was"
check "translated seeds" build_of --db translated.khdb --translated --set total-bases=192055 viruses.4.2.fa
expect 0 "translated.khdb: translated seeds are not used" "translated seeds" "$kmerhash" classify --device cpu --db a.khdb --db translated.khdb --output translated.tsv viruses/reads.fq
check "without them" classify --db a.khdb --db b.khdb --output ab.tsv viruses/reads.fq
same ab.tsv any.tsv "any device: the lines of the CPU"
same ab.tsv translated.tsv "translated seeds: as without"

# Of a database with a share of the seeds, only these are looked up in the others.
check "a share of the seeds" limited --db share.khdb --max-db-size 200K sisters.9.2.fa
check "databases with different shares" classify --db sisters.9.1.khdb --db share.khdb --output share.tsv sisters/reads.fq
check "all seeds" classify --db sisters.9.1.khdb --db sisters.9.2.khdb --output full.tsv sisters/reads.fq
check "databases with different shares: nearly the same calls" "$PYTHON3" -c 'import sys
calls = [[line.split("\t")[2] for line in open(f)] for f in ("full.tsv", "share.tsv")]
same = sum(a == b for a, b in zip(*calls))
print(same, len(calls[0]))
sys.exit(same < 0.95 * len(calls[0]))'
plan
