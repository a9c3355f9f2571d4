# run_doors.sh - a file that is two things of a run: all pairs of reads, mates, files of the database and
# outputs, by all kinds of names, through the command, the links, the library and its Python module;
# speaks TAP
build_dir=$PWD
. "${KH_SRCDIR:?}/tests/tap.sh"
KMERHASH_LIBRARY=${KH_LIBRARY:-$build_dir/libkmerhash.so.1}; export KMERHASH_LIBRARY
library=${KH_LIBRARY_FILES:-$build_dir/tests/library_files}
mkdir made bin; ln -s "$real" bin/kraken2; ln -s "$real" bin/k2
gzip -dc "$data/reads/tiny_sim_1.fq.gz" >made/1.fq; gzip -dc "$data/reads/tiny_sim_2.fq.gz" >made/2.fq
gzip -dc "$data"/genomes/*.gz >refs.fa
build --db made/db.khdb refs.fa || exit 1
# one that is used beside it, before or behind
gzip -dc "$data"/genomes/*T3*.gz >one.fa
build --set total-bases="$(grep -v '>' refs.fa | tr -d '\n' | wc -c)" --db made/beside.khdb one.fa || exit 1
check "a database of Kraken 2" "$build_dir/tests/make_kraken" made/k2 "$data/taxonomy" cells=90000 refs.fa
doors="command several kraken2 k2 library"
[ -z "${PYTHON3:-}" ] || [ "$PYTHON3" = : ] || [ -n "${KH_SANITIZE:-}" ] || doors="$doors python pyseveral"
if command -v bzip2 >/dev/null; then doors="$doors bzip2"; bzip2 -c made/1.fq >made/1.bz2; bzip2 -c made/2.fq >made/2.bz2; fi
cat >files.py <<'END'
import os, sys
sys.path.insert(0, os.environ["KH_SRCDIR"] + "/packaging/python")
import kmerhash
names = [None if word == "none" else word for word in sys.argv[1:]]
dbs = names[0].split("+")
with kmerhash.Database(dbs if len(dbs) > 1 else dbs[0], device="cpu", threads=2) as db:
    db.classify_files(names[1], names[2], lines=names[3], report=names[4])
END

# through DOOR DATABASE READS MATES LINES REPORT: mates may be none
through() {
	door=$1; shift
	two=--paired; [ "$2" != none ] || two=
	[ "$3" != none ] || set -- "$1" "$2" none "$4" "$5"
	case $door in
	command) mates=$3; [ "$mates" != none ] || { mates=; two=; }
		"$kmerhash" classify -q --db "$1" ${mates:+--paired} --output "$4" --report "$5" "$2" ${mates:+"$mates"} ;;
	several) mates=$3; [ "$mates" != none ] || { mates=; two=; }
		"$kmerhash" classify -q --device cpu --db w/beside.khdb --db "$1" ${mates:+--paired} --output "$4" --report "$5" "$2" ${mates:+"$mates"} ;;
	kraken2 | bzip2) mates=$3; [ "$mates" != none ] || mates=
		bin/kraken2 --db "$1" ${mates:+--paired} --output "$4" --report "$5" "$2" ${mates:+"$mates"} ;;
	k2) mates=$3; [ "$mates" != none ] || mates=
		bin/k2 classify --db "$1" ${mates:+--paired} --output "$4" --report "$5" "$2" ${mates:+"$mates"} ;;
	library) "$library" "$1" "$2" "$3" "$4" "$5" ;;
	python) "$PYTHON3" files.py "$1" "$2" "$3" "$4" "$5" ;;
	pyseveral) "$PYTHON3" files.py "$1+w/beside.khdb" "$2" "$3" "$4" "$5" ;;
	esac
}

# Gives a file another name, as $name.
alias_of() { # KIND FILE
	name=$2
	case $1 in
	dots) name=$(dirname "$2")/../$(basename "$(dirname "$2")")/$(basename "$2") ;;
	soft) ln -s "$PWD/$2" w/other; name=w/other ;;
	hard) ln "$2" w/other; name=w/other ;;
	copy) cp "$2" w/other; name=w/other ;;
	esac
}
sums() { find w -type f ! -name new.\* | sort | xargs cksum; }

# Two of reads, mates, lines, report and db (of a file in it) are one file: nothing is changed.
refused() { # DOOR KIND FIRST SECOND [DATABASE FILE]
	rm -rf w; cp -r made w
	end=fq; [ "$1" != bzip2 ] || end=bz2
	reads=w/1.$end; mates=w/2.$end; lines=w/l.tsv; report=w/r.report; db=w/${5:-k2}
	echo lines >$lines; echo report >$report
	case $1 in library | python | command | *several) db=w/${5:-db.khdb} ;; esac
	eval "file=\$$3"; [ "$3" != db ] || file=$db${6:+/$6}
	case $1 in *several) db=w/db.khdb ;; esac
	alias_of "$2" "$file"
	eval "$4=\$name"
	sums >was
	if through "$1" "$db" "$reads" "$mates" "$lines" "$report" >.out 2>.err </dev/null; then
		echo "exit 0" >>.err; not_ok "$1: $4 is $3${6:+ ($6)}, by $2"; return
	fi
	sums >is
	if cmp -s was is && ! grep -q Traceback.*Traceback .err; then ok "$1: $4 is $3${6:+ ($6)}, by $2"
	else echo "a file was changed" >>.err; not_ok "$1: $4 is $3${6:+ ($6)}, by $2"; fi
}

for door in $doors; do
	rm -rf w; cp -r made w
	end=fq; [ $door != bzip2 ] || end=bz2
	db=w/k2; case $door in library | python | command | *several) db=w/db.khdb ;; esac
	through $door $db w/1.$end w/2.$end w/l.tsv w/r.report >.out 2>.err </dev/null
	check "$door: files of their own" test -s w/l.tsv -a -s w/r.report
	for kind in same dots soft hard; do
		for first in reads mates; do
			for second in lines report; do refused $door $kind $first $second; done
		done
		refused $door $kind reads mates
		refused $door $kind lines report
		for second in lines report; do
			case $door in library | python | command | *several) refused $door $kind db $second ;; esac
			case $door in *several) refused $door $kind db $second beside.khdb; continue ;; esac
			refused $door $kind db $second k2 hash.k2d
			refused $door $kind db $second k2 taxo.k2d
			refused $door $kind db $second k2 opts.k2d
		done
	done
	refused $door copy reads mates
done

# --- reads twice ------------------------------------------------------------------------------
rm -rf w; cp -r made w; ln -s 1.fq w/link.fq; ln w/1.fq w/hard.fq
for files in "w/1.fq w/1.fq" "w/1.fq w/2.fq w/link.fq" "w/hard.fq w/1.fq" "--paired w/1.fq w/2.fq w/1.fq w/2.fq" \
	"--paired w/1.fq w/2.fq w/2.fq w/link.fq" "--paired w/1.fq w/1.fq" "--interleaved w/1.fq w/hard.fq"; do
	# shellcheck disable=SC2086
	expect 2 "twice|first mates and for the second" "reads twice: $files" classify --db w/db.khdb --output x.tsv $files
	nothing_left "reads twice: $files" x.tsv
done
check "an empty file twice" sh -c ': >e1; : >e2; "$1" classify -q --db w/db.khdb --paired --output x.tsv e1 e2' - "$kmerhash"
check "/dev/null twice" classify --db w/db.khdb --output x.tsv /dev/null /dev/null
rm -f x.tsv
"$library" -r w/1.fq w/hard.fq 2>.err && not_ok "library: reads and mates of one file" || ok "library: reads and mates of one file"
check "library: reads and mates" "$library" -r w/1.fq w/2.fq

# --- a file of bzip2 that is cut ------------------------------------------------------------------
if command -v bzip2 >/dev/null; then
	for cut in 1 2; do
		rm -rf w; cp -r made w; head -c 5000 made/$cut.bz2 >w/$cut.bz2
		for mates in none w/2.bz2; do
			[ $mates != none ] || [ $cut = 1 ] || continue
			expect 1 "" "bzip2: mates $cut are cut, $mates" through bzip2 w/k2 w/1.bz2 $mates w/new.l w/new.r
			nothing_left "bzip2: mates $cut are cut, $mates" w/new.l w/new.r
		done
	done
	printf 'not bzip2' >w/1.bz2
	expect 1 "bzip2" "bzip2: a file that is none" bin/kraken2 --db w/k2 --bzip2-compressed --output w/new.l w/1.bz2
	nothing_left "bzip2: a file that is none" w/new.l
	rm -rf w; cp -r made w; through bzip2 w/k2 w/1.bz2 w/2.bz2 w/l w/r 2>.err
	through kraken2 w/k2 w/1.fq w/2.fq w/l.want w/r.want 2>.err
	same w/l w/l.want "bzip2: the lines of the files themselves"; same w/r w/r.want "bzip2: their report"
else skip "files of bzip2" "no bzip2"; fi

# --- inspect --taxdump ----------------------------------------------------------------------------
rm -rf w; cp -r made w; cp -r "$data/taxonomy" w/tax; chmod -R u+w w; mkdir w/hard w/dumps; cp made/db.khdb w/dumps/nodes.dmp
ln w/tax/names.dmp w/hard/nodes.dmp; ln -s tax w/soft; ln -s ../db.khdb w/hard/names.dmp
for folder in w/tax w/soft w/hard w/dumps; do
	db=w/db.khdb; [ $folder != w/dumps ] || db=w/dumps/nodes.dmp
	sums >was
	expect 2 "is not replaced|and an output" "inspect --taxdump $folder" "$kmerhash" inspect --taxdump $folder $db
	sums >is; same was is "inspect --taxdump $folder: it is untouched"
done
check "inspect --taxdump" "$kmerhash" inspect --taxdump w/new w/db.khdb
check "inspect --taxdump again" "$kmerhash" inspect --taxdump w/new w/db.khdb
plan
