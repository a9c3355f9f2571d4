# run_parts.sh - a database in parts: candidates of each, joined, give the bytes of several databases used as one; files
# of candidates that are damaged, foreign or of other reads; speaks TAP
[ -n "$PYTHON3" ] || { echo "1..0 # SKIP no python3"; exit 0; }
. "$KH_SRCDIR/tests/tap.sh"
unset KMERHASH_DB
# Parts are built for the bases of all.
parts() { # NAME N TAXONOMY: databases of NAME.1.fa ... NAME.N.fa
	bases=$(grep -v '>' "$1.all.fa" | tr -d '\n' | wc -c)
	for i in $(seq "$2"); do
		"$kmerhash" build -q --db "$1.$i.khdb" --taxonomy "$3" --set total-bases="$bases" "$1.$i.fa" || return 1
	done
}
dbs_of() { for i in $(seq "$2"); do printf -- '--db %s.%s.khdb ' "$1" "$i"; done; }
# The order of the files is any.
joins_of() { for i in $(seq "$2" -1 1); do printf -- '--join %s.%s.cand ' "$1" "$i"; done; }
candidates() { # NAME N OPTION... READS...
	refs=$1 count=$2; shift 2
	for i in $(seq "$count"); do classify --db "$refs.$i.khdb" --candidates "$refs.$i.cand" "$@" || return 1; done
}
both() { # OPTION... READS...: what several databases and a join write, as several.NAME and join.NAME
	# shellcheck disable=SC2046
	classify $(dbs_of "$refs" "$count") --prefix several --write "$what" "$@" &&
		"$kmerhash" classify $(dbs_of "$refs" "$count") $(joins_of "$refs" "$count") --prefix join --write "$what" "$@" 2>said || return 1
	for f in $(echo "$what" | tr , ' '); do
		f=${f%lines}; f=${f:-tsv}
		[ "$f" = profile ] && f=profile.tsv
		cmp "several.$f" "join.$f" || return 1
	done
}
like_several() { # NAME N OPTION... READS...
	what=lines,report
	candidates "$@" && refs=$1 count=$2 && shift 2 && both "$@" && both --confidence .3 --use-names "$@" &&
		what=lines,report,paf && both --set identity --set distinct "$@" &&
		candidates "$refs" "$count" --set second-best "$@" && what=lines && both --set second-best "$@" &&
		candidates "$refs" "$count" --sample-pass "$@" && what=lines,report && both --sample-pass "$@" &&
		what=lines,report,profile && both --sample-pass "$@"
}

# --- random divisions ---------------------------------------------------------------------------
make_viruses
for m in 1 2; do gzip -dc "$data/reads/tiny_sim_$m.fq.gz" "$data/reads/sarscov2_real_$m.fq.gz" >viruses/pairs_$m.fq; done
check "280 species of one stretch" "$PYTHON3" "$tests/make_world.py" strains 280 many "$data" 280
check "60 strains of 4 species" "$PYTHON3" "$tests/make_world.py" strains 60 strains "$data" 4
check "strains with taxa of their own" "$PYTHON3" "$tests/make_world.py" below below "$data"
check "close species" "$PYTHON3" "$tests/make_world.py" sisters sisters "$data"
# Where a tag hits the element by chance, a mate has ten places at once that are none.
check "an element of 30 species" "$PYTHON3" "$tests/make_world.py" carriers carriers "$data"
mates() { printf -- '--paired %s/pairs_1.fq %s/pairs_2.fq' "$1" "$1"; }
while read -r world seed count reads; do
	of=$world.$seed
	check "$of: division" "$PYTHON3" "$tests/divide.py" "$seed" "$count" $world/refs.fa $world/taxonomy "$of"
	check "$of: databases" parts "$of" "$count" $world/taxonomy
	for r in $reads; do
		# shellcheck disable=SC2046
		case $r in
		pairs) check "$of: $count parts: pairs" like_several "$of" "$count" $(mates $world) ;;
		*) check "$of: $count parts: $r" like_several "$of" "$count" $world/$r ;;
		esac
	done
done <<END
viruses 1 2 reads.fq pairs
viruses 2 3 reads.fq pairs
viruses 3 5 reads.fq pairs
viruses 4 6 reads.fq pairs
many 5 8 reads.fq
strains 6 2 reads.fq
below 8 2 reads.fq pairs long.fq
sisters 9 2 reads.fq long.fq
carriers 2 3 pairs
carriers 3 3 pairs
END

# --- what is compared ----------------------------------------------------------------------------
# shellcheck disable=SC2046
candidates viruses.2 3 $(mates viruses)
refs=viruses.2 count=3 what=lines
# shellcheck disable=SC2046
check "a join of three" both $(mates viruses)
check "a join compares few pairs" "$PYTHON3" -c 'import re
compared, n = map(int, re.search(r"(\d+) of (\d+) fragments (?:was|were) compared", open("said").read()).groups())
assert 0 < compared < n / 4, (n, compared)'
check "one thread" classify -p 1 --set block-size=5000 --db viruses.2.1.khdb --candidates one.cand viruses/reads.fq
check "four threads" classify -p 4 --db viruses.2.1.khdb --candidates four.cand viruses/reads.fq
same one.cand four.cand "any number of threads"
gzip -k viruses/reads.fq
check "compressed reads" classify --db viruses.2.1.khdb --candidates gz.cand viruses/reads.fq.gz
same one.cand gz.cand "compressed reads: the same candidates"

# --- damage --------------------------------------------------------------------------------------
head -n 32 viruses/reads.fq >few.fq
check "candidates of few reads" candidates viruses.1 2 few.fq
check "each cut and each changed byte of a file is an error, and nothing is written" "$PYTHON3" -c 'import os, subprocess, sys
whole = open("viruses.1.2.cand", "rb").read()
def joined(what, said):
    open("bad.cand", "wb").write(what)
    p = subprocess.run([sys.argv[1], "classify", "-q", "--db", "viruses.1.1.khdb", "--db", "viruses.1.2.khdb", "--join", "viruses.1.1.cand",
                        "--join", "bad.cand", "--report", "bad.report", "few.fq"], capture_output=True)
    assert not os.path.exists("bad.report") or said == b"", said
    assert (p.returncode, p.stdout) == (1, b"") and said in p.stderr if said else p.returncode == 0, (len(what), p)
joined(whole, b"")
os.remove("bad.report")
for n in range(len(whole)):
    joined(whole[:n], b"bad.cand: ")
for n in range(len(whole)):
    joined(whole[:n] + bytes([whole[n] ^ 1 << n % 8]) + whole[n + 1:], b"bad.cand: ")
joined(whole + b"x", b"bad.cand: ")' "$kmerhash"

# --- what does not go together ---------------------------------------------------------------------
two="--db viruses.1.1.khdb --db viruses.1.2.khdb"
ours="--join viruses.1.1.cand --join viruses.1.2.cand"
refused() { # STATUS PATTERN NAME ARGUMENT...
	status=$1 pattern=$2 what=$3; shift 3
	expect "$status" "$pattern" "$what" classify --report x.report "$@"
	check "$what: no line" test ! -s "$t/.out"
	nothing_left "$what" x.report
}
# shellcheck disable=SC2086
{
	check "a join" classify $two $ours --output x.tsv few.fq
	refused 2 "viruses.1.2.khdb: no --join has its candidates|there are 2 and 1" "a part is missing" $two --join viruses.1.1.cand few.fq
	refused 2 "viruses.1.1.cand and viruses.1.1.cand are of the same database" "a part twice" $two --join viruses.1.1.cand --join viruses.1.1.cand few.fq
	refused 2 "viruses.3.1.cand: these candidates are of none of the databases" "a foreign part" $two --join viruses.1.1.cand --join viruses.3.1.cand few.fq
	refused 1 "missing.cand: No such file" "a file is missing" $two --join viruses.1.1.cand --join missing.cand few.fq
	refused 1 "few.fq: not a file of classify --candidates" "not a file of candidates" $two --join viruses.1.1.cand --join few.fq few.fq
	refused 2 "are to be made with --sample-pass" "made without --sample-pass" $two $ours --sample-pass few.fq
	refused 2 "are to be made with --set second-best" "made without second-best" $two $ours --set second-best few.fq
	refused 1 "viruses.1.1.cand: these candidates are of other reads: fragment 1 or" "other reads" $two $ours viruses/pairs_1.fq
	sed 's/^A/C/' few.fq >changed.fq
	refused 1 "these candidates are of other reads" "other bases" $two $ours changed.fq
	awk 'NR <= 4 { first = first $0 "\n"; next } { print } END { printf "%s", first }' few.fq >order.fq
	refused 1 "these candidates are of other reads: fragment 1 or" "another order" $two $ours order.fq
	cat few.fq viruses/pairs_1.fq >more.fq
	refused 1 "these candidates are of other reads: fragment 9 or" "more reads" $two $ours more.fq
	head -n 28 few.fq >less.fq
	classify $two $ours --output less.tsv --report less.report less.fq 2>said
	check "fewer reads: status" test $? -eq 1
	check "fewer reads: message" grep -q "these candidates are of other reads: 8 fragments, and 7 were read" said
	nothing_left "fewer reads" less.tsv
	nothing_left "fewer reads" less.report
	check "candidates of one part for fewer reads" classify --db viruses.1.2.khdb --candidates less.cand less.fq
	refused 1 "viruses.1.1.cand and less.cand are of different reads: 8 and 7 fragments" "parts that read others" $two --join viruses.1.1.cand --join less.cand few.fq
	refused 2 "is written alone" "candidates and a report" --db viruses.1.1.khdb --candidates x.cand few.fq
	expect 2 "one of them" "candidates and a join" classify $two $ours --candidates x.cand few.fq
	expect 2 "is for one database" "candidates of two" classify $two --candidates x.cand few.fq
	nothing_left "candidates that are refused" x.cand
	limited() { "$kmerhash" build -q --taxonomy "$data/taxonomy" --set total-bases="$bases" --db "$@"; }
	bases=$(grep -v '>' viruses.1.all.fa | tr -d '\n' | wc -c)
	check "a part of limited size" limited small.khdb --max-db-size $(($(wc -c <viruses.1.2.khdb) * 9 / 10)) viruses.1.2.fa
	refused 2 "small.khdb leaves out k-mers, as it was built with --max-db-size" "a part of limited size: a join" \
		--db viruses.1.1.khdb --db small.khdb $ours few.fq
	expect 2 "small.khdb leaves out k-mers, as it was built with --max-db-size: it cannot be a part" "a part of limited size: its candidates" \
		"$kmerhash" classify --db small.khdb --candidates x.cand few.fq
	nothing_left "a part of limited size" x.cand
	check "a part with repeats" limited repeats.khdb --set keep-repeats viruses.1.2.fa
	refused 2 "repeats.khdb was built with --set keep-repeats, and viruses.1.1.khdb without it" "a part with repeats: a join" \
		--db viruses.1.1.khdb --db repeats.khdb $ours few.fq
	check "a part of another k" limited other.khdb -k 18 viruses.1.2.fa
	expect 0 "candidates for parts with the same seeds: k = 18, s = [0-9]+, stride 16 .build --set total-bases" "a part of another k: its candidates" \
		"$kmerhash" classify --db other.khdb --candidates other.cand few.fq
	refused 2 "their seeds differ: .*: build the smaller .*, and parts of one collection each with that of all of it" "a part of another k" \
		--db viruses.1.1.khdb --db other.khdb $ours few.fq
	expect 2 "viruses.1.1.cand" "a join onto its input" classify $two $ours --output viruses.1.1.cand few.fq
	check "a join onto its input: it is still there" classify $two $ours --output x.tsv few.fq
}
plan
