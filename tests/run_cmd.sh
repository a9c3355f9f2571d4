# run_cmd.sh - what is common to commands: help, versions, dry runs; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"

# --- help and versions -------------------------------------------------------------------------
"$real" -h >want; "$real" help >got; same want got "help: the list of commands"
for c in $(sed -n 's/^  \([a-z]*\) .*/\1/p' want); do
	"$real" $c -h >want.c; "$real" help $c >got.c
	same want.c got.c "help $c"
done
expect 2 "'none' is not a command" "help of what is no command" "$real" help none
has() { printf '%s\n' "$2" >.line; name=$1; shift 2; check "$name" grep -Eq -f .line "$@"; }
"$real" --version >one; "$real" --version -v >all; "$real" version --verbose >all.2
same all all.2 "--version -v: version --verbose"
check "--version: one line" test "$(wc -l <one)" -eq 1
head -n 1 all >first; same one first "--version -v begins with it"
for line in 'build	.*(gcc|clang).*, with(out)? CUDA.*, with(out)? MPI' 'libraries	zlib [0-9.]+, jansson' 'cpu	[0-9]+ threads' \
	'memory	[0-9.]+ GB left ' 'devices	cpu; '; do
	has "--version -v: ${line%%	*}" "^$line" all
done
expect 2 "takes no 'x'" "--version x" "$real" --version x

# --- a machine without a GPU -----------------------------------------------------------------------
CUDA_VISIBLE_DEVICES= "$real" build --db a.khdb --taxonomy "$data/taxonomy" \
	--accession2taxid "$data/taxonomy/accession2taxid.tsv" "$data"/genomes/*.gz 2>said
check "no GPU: not a word of CUDA" sh -c '! grep -i cuda said'

# --- dry runs ----------------------------------------------------------------------------------------
dry_build() { build --dry-run "$@" "$data"/genomes/*.gz; }
dry_build --db x.khdb >plan
nothing_left "build --dry-run" x.khdb
for line in 'references	6' 'text	[0-9]+' 'k	14' 'features	[0-9]+' 'memory	[0-9]+' 'temporary file	[0-9]+' 'database	[0-9]+'; do
	has "build --dry-run: ${line%%	*}" "^$line\$" plan
done
# What it foretells is what comes, within a third (files as small as these are compressed by a guess).
value() { sed -n "s/^$1	//p" plan; }
features=$("$real" inspect a.khdb | sed -n 's/^features	//p')
check "build --dry-run: about the features that come" test $(($(value features) * 3)) -gt $((features * 2)) -a \
	$(($(value features) * 3)) -lt $((features * 5))
expect 1 "no-such/x.khdb: " "build --dry-run: a folder that is not there" dry_build --db no-such/x.khdb
expect 1 "none.tsv: No such file" "build --dry-run: a table that is not there" dry_build --db x.khdb --seqid2taxid none.tsv
expect 1 "none.fa: No such file" "build --dry-run: a reference that is not there" build --dry-run --db x.khdb none.fa

r1=$data/reads/tiny_sim_1.fq.gz
echo old >link.to; ln -s link.to link
classify --dry-run --db a.khdb --output o.tsv --report link --json j.json "$r1" >plan
nothing_left "classify --dry-run" o.tsv j.json
check "classify --dry-run: what is there stays" grep -qx old link.to
for line in 'inputs	1' 'bytes	[0-9]+' 'database	a.khdb' 'k	14' 'targets	6' 'features	[0-9]+' 'index	[0-9]+' 'threads	[0-9]+' 'memory	[1-9][0-9]+'; do
	has "classify --dry-run: ${line%%	*}" "^$line\$" plan
done
# --- where the time goes -------------------------------------------------------------------------
"$real" classify -q --db a.khdb --output - --json j.json "$r1"
seconds() { sed -n 's/^ *"seconds_'"$1"'": \([0-9.e-]*\),$/\1/p' j.json; }
check "seconds: database and classify are within the total" awk -v d="$(seconds database)" -v c="$(seconds classify)" \
	-v t="$(seconds total)" 'BEGIN { exit !(d > 0 && c > 0 && d + c <= t + 0.001) }'
rm -f j.json
expect 1 "none.fq" "classify --dry-run: reads that are not there" classify --dry-run --db a.khdb none.fq
expect 1 "none.khdb" "classify --dry-run: a database that is not there" classify --dry-run --db none.khdb "$r1"
expect 1 "no-such/o" "classify --dry-run: a folder that is not there" classify --dry-run --db a.khdb --output no-such/o "$r1"
plan
