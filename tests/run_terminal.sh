# run_terminal.sh - what is seen on a terminal only: progress, colours; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"
if [ -z "${PYTHON3:-}" ]; then
	echo "1..0 # SKIP no python3"
	exit 0
fi
unset NO_COLOR
TERM=xterm
export TERM

# on_terminal COMMAND...: its standard output and error are a terminal, whose bytes go to `seen`;
# with `-e` in front only its standard error is
cat >terminal.py <<'END'
import os, pty, subprocess, sys

words, both = sys.argv[1:], True
if words[0] == "-e":
    words, both = words[1:], False
ours, theirs = pty.openpty()
with open("out", "wb") as out:
    child = subprocess.Popen(words, stdout=theirs if both else out, stderr=theirs)
    os.close(theirs)
    with open("seen", "wb") as seen:
        while True:
            try:
                seen.write(os.read(ours, 65536))
            except OSError:     # the other end is closed
                break
sys.exit(child.wait())
END
on_terminal() { rm -f seen; "$PYTHON3" terminal.py "$@"; }
esc=$(printf '\033')
shows() { grep -aq -e "$1" seen; }
does() { name=$1; pattern=$2; shift 2; on_terminal "$@" >.err 2>&1; check "$name" shows "$pattern"; }
quiet() { name=$1; shift; on_terminal "$@" >.err 2>&1; check "$name" test -e seen -a ! -s seen; }

refs="--taxonomy $data/taxonomy --accession2taxid $data/taxonomy/accession2taxid.tsv $data/genomes"
reads="$data/reads/tiny_sim_1.fq.gz $data/reads/tiny_sim_2.fq.gz"
mb='[0-9.]* of [0-9.]* kB'
# Names and ids that a terminal should not get raw: U+009B, DEL, a byte that is no UTF-8.
csi=$(printf '\302\233')
mkdir odd; printf '1\t|\t1\t|\troot\t|\n2\t|\t1\t|\tspecies\t|\n' >odd/nodes.dmp
printf '2\t|\ta%s2J\344 name\t|\t\t|\tscientific name\t|\n' "$csi" >odd/names.dmp
one=$(echo "$data"/genomes/Escherichia_virus_phiX174*.gz)
{ gzip -dc "$one" | sed "1s/.*/>id${csi}/"; printf '>none%s\nACGTACGTACGTACGTACGTACGTACGT\n' "$csi"; } >odd.fa
printf 'id%s\t2\n' "$csi" >odd.map
build --db odd.khdb --taxonomy odd --seqid2taxid odd.map --max-unmapped 1 odd.fa
for o in --taxa --targets --unmapped; do
	on_terminal "$real" inspect $o odd.khdb
	check "inspect $o: nothing raw on a terminal" sh -c '! LC_ALL=C grep -aq "[$1]" seen && grep -aq "xc2.x9b" seen' - "$(printf '\233\344')"
	check "inspect $o: raw in a file" sh -c '"$1" inspect $2 odd.khdb | LC_ALL=C grep -aq "$3"' - "$real" $o "$csi"
done
cp odd.khdb "odd$csi.khdb"
for command in "inspect" "verify"; do
	on_terminal "$real" $command "odd$csi.khdb"
	check "$command: the name of a database: nothing raw on a terminal" sh -c '! LC_ALL=C grep -aq "[$1]" seen && grep -aq "odd.xc2.x9b" seen' - \
		"$(printf '\233')"
done
gzip -dc "$one" | awk 'NR > 1 { s = s $0 } END { for (i = 1; i < 4000; i += 50) print ">r" i "\n" substr(s, i, 150) }' >odd.reads
expect 0 "" "a taxon that is not UTF-8, on a page" "$real" classify --db odd.khdb --profile odd.tsv --html odd.html --json sum.json --output - odd.reads
check "a taxon that is not UTF-8: escaped" grep -q 'xe4 name' odd.html

does "build: progress" "$esc\[K.*of.* kB" -e "$real" build --db t.khdb $refs
does "classify: progress" "$mb" -e "$real" classify --db t.khdb --paired --report t.kreport --output t.tsv $reads
does "verify: progress" "checked $mb" "$real" verify t.khdb
does "verify: the line is wiped before the result" "$esc\[Kt.khdb: sound" "$real" verify t.khdb
does "merge: progress" "read 0 of 1 reports" -e "$real" merge --output t.table t.kreport
does "merge --outdir: progress" "of 1 " -e "$real" merge --format krona --outdir krona t.kreport

# Not where it is in the way.
quiet "build -q" -e "$real" build -q --db t.khdb $refs
quiet "classify -q" -e "$real" classify -q --db t.khdb --paired --output t.tsv $reads
quiet "verify -q" -e "$real" verify -q t.khdb
quiet "merge -q" -e "$real" merge -q --output t.table t.kreport
plain() { "$@" >said 2>&1; ! grep -q -e "$esc" -e "$mb" said; }
check "no terminal: nothing of it" plain "$real" verify t.khdb

# Colours.
does "an error has a colour" "$esc\[1;31mkmerhash verify:$esc\[0m none.khdb" "$real" verify none.khdb
on_terminal env NO_COLOR=1 "$real" verify none.khdb
check "NO_COLOR" sh -c '! grep -aq "\[1;31m" seen && grep -aq none.khdb seen'
does "NO_COLOR that is empty" '\[1;31m' env NO_COLOR= "$real" verify none.khdb
on_terminal env TERM=dumb "$real" verify none.khdb
check "a dumb terminal" sh -c '! grep -aq "\[1;31m" seen && grep -aq none.khdb seen'
check "no terminal: no colour" plain "$real" verify none.khdb
plan
