# run_db.sh - damaged and harmful databases are refused, each with its reason; speaks TAP
[ -n "$PYTHON3" ] || { echo "1..0 # SKIP no python3"; exit 0; }
. "$KH_SRCDIR/tests/tap.sh"
check "a database" build --db a.khdb "$data"/genomes/Escherichia_virus_phiX174*.gz \
	"$data"/genomes/Enterobacteria_phage_T3*.gz
expect 0 "" "it is sound" "$kmerhash" verify a.khdb
mkdir bad
check "bad databases" "$PYTHON3" "$tests/make_bad_dbs.py" a.khdb bad
# seeds at five places and more, in as many species, and with alleles
check "20 species of 2 strains" "$PYTHON3" "$tests/make_world.py" strains 40 world "$data" 20
check "one with lists" "$kmerhash" build -q --db t.khdb --taxonomy world/taxonomy world/refs.fa
expect 0 "" "it is sound" "$kmerhash" verify t.khdb
mkdir bad/t
check "bad ones with lists" "$PYTHON3" "$tests/make_bad_dbs.py" t.khdb bad/t
grep -e bad-x-text -e bad-x-seeds bad/t/list | sed 's/^/t\//' >>bad/list
check "strains" "$PYTHON3" "$tests/make_world.py" below below "$data"
check "one with strains" "$kmerhash" build -q --db s.khdb --taxonomy below/taxonomy below/refs.fa
expect 0 "" "it is sound" "$kmerhash" verify s.khdb
mkdir bad/s
check "bad ones with strains" "$PYTHON3" "$tests/make_bad_dbs.py" s.khdb bad/s strains
sed 's/^/s\//' bad/s/list >>bad/list
tab=$(printf '\t')
while IFS=$tab read -r file want; do
	expect 1 "^kmerhash verify: bad/$file: .*($want)" "$file" "$kmerhash" verify "bad/$file"
	[ "$(wc -l <.err)" -eq 1 ] || not_ok "$file: one line"
done <bad/list
# On a GPU the index is checked there, while it is loaded.
while IFS=$tab read -r file want; do
	case ${KH_DEVICE:-}:$file in
	:*) ;;
	*index*|*seeds*)
		expect 1 "^kmerhash classify: bad/$file: .*($want)" "classify: $file" \
			classify --db "bad/$file" --output o.tsv "$data/reads/tiny_sim_1.fq.gz"
		nothing_left "classify: $file" o.tsv ;;
	esac
done <bad/list
# The commands that use it say the same; a damaged index may be used if that is asked for.
for file in bad-flip-index-middle bad-cut-in-taxa bad-version-3; do
	expect 1 "^kmerhash classify: bad/$file" "classify: $file" \
		classify --db bad/$file.khdb --output o.tsv --report o.kreport "$data/reads/tiny_sim_1.fq.gz"
	nothing_left "classify: $file" o.tsv o.kreport
	expect 1 "^kmerhash inspect: bad/$file" "inspect: $file" "$kmerhash" inspect bad/$file.khdb
	check "inspect: $file: no output" test ! -s .out
done
expect 0 "" "--set no-verify leaves out the index" \
	classify --set no-verify --db bad/t/bad-x-seeds-tag.khdb "$data/reads/tiny_sim_1.fq.gz"
expect 1 "ordinary file" "no file" "$kmerhash" verify /dev/null
expect 2 "holds [0-9]* databases" "a folder of many" "$kmerhash" verify bad
mkdir one && cp a.khdb one/x.khdb
expect 0 "" "a folder of one" "$kmerhash" verify one
expect 1 "none.khdb" "good and missing ones" "$kmerhash" verify a.khdb none.khdb one
check "good and missing ones: the others are checked" test "$(grep -c sound .out)" -eq 2
# Of edits of each field, checksums made anew, the program says what the page's other reader says.
verdicts() {
	rm -rf edits; mkdir edits && "$PYTHON3" "$tests/edit_dbs.py" "$1" edits "$seed" &&
	"$PYTHON3" "$tests/oracle_db.py" --sound edits/*.khdb >said || return
	"$kmerhash" verify edits/*.khdb 2>.refused | sed 's/: sound.*//' >sound
	awk -F '\t' '$2 == "sound" { print $1 }' said >oracle
	diff oracle sound >differ && return
	sed 's/^[<>] //' differ | grep -h -F -f - said .refused
	return 1
}
added() {
	good=0
	for file in $(cat sound); do
		rm -f x.khdb; "$real" build -q --base $file --db x.khdb --max-unmapped 1 --taxonomy "$data/taxonomy" \
			--accession2taxid "$data/taxonomy/accession2taxid.tsv" "$data"/genomes/*T7*.gz
		case $? in
		0) good=$((good + 1)); "$kmerhash" verify -q x.khdb;;
		1) test ! -e x.khdb;;
		*) false;;
		esac || return
	done
	test $good -gt 5
}
seed=${KH_SEED:-1}
check "two genomes, to be edited" "$real" build -q --db two.khdb -k 10 --taxonomy "$data/taxonomy" \
	--accession2taxid "$data/taxonomy/accession2taxid.tsv" "$data"/genomes/*phiX174*.gz "$data"/genomes/Enterobacteria_phage_T3*.gz
check "the same with translated seeds" "$real" build -q --db translated.khdb -k 10 --translated --taxonomy "$data/taxonomy" \
	--accession2taxid "$data/taxonomy/accession2taxid.tsv" "$data"/genomes/*phiX174*.gz "$data"/genomes/Enterobacteria_phage_T3*.gz
for db in two s translated; do
	check "edits of $db with right checksums: the same verdict as oracle_db.py (KH_SEED=$seed)" verdicts $db.khdb
	[ $db != two ] || check "edits that are sound: something is added to each, or it is an error" added
	check "edits of $db: most are refused, some are not" test "$(wc -l <sound)" -gt 5 -a "$(($(wc -l <said) - $(wc -l <sound)))" -gt 100
done
plan
