# run_in_use.sh - a database that is overwritten, cut or replaced while commands use it: one line,
# exit 1, no output under its name and no temporary file; speaks TAP
lib=$PWD/tests/preload_fail.so
. "$KH_SRCDIR/tests/tap.sh"

check "a database" build --db a.khdb "$data"/genomes/*.gz
check "another one" build -k 18 --db b.khdb "$data"/genomes/*.gz
size=$(wc -c <a.khdb)
gzip -dc "$data/reads/tiny_sim_1.fq.gz" >1.fq
said="x.khdb: was changed while it was in use"

# --- what may happen to x.khdb, a copy of a.khdb ------------------------------------------------
cut() { : >x.khdb; }
cut_half() { truncate -s $((size / 8192 * 4096)) x.khdb; }
overwrite() { head -c "$size" /dev/urandom >x.new; cat x.new >x.khdb; }
overwrite_index() { head -c $((size - 8192)) /dev/urandom | dd of=x.khdb bs=4096 seek=1 conv=notrunc 2>/dev/null; }
another() { cat b.khdb >x.khdb; }
replace() { cp a.khdb x.new && mv x.new x.khdb; }
times_back() { # one byte of the index, and the times that the file had
	touch -r x.khdb x.times
	printf 'x' | dd of=x.khdb bs=1 seek=5000 conv=notrunc 2>/dev/null
	touch -r x.times x.khdb
}
header_back() { # a byte of the header's checksum, as another database would have another one
	touch -r x.khdb x.times
	printf 'x' | dd of=x.khdb bs=1 seek=4090 conv=notrunc 2>/dev/null
	touch -r x.times x.khdb
}
ways="cut cut_half overwrite overwrite_index another replace times_back"
# Offsets that somebody overwrites meanwhile lead anywhere, which a sanitizer reports first.
! grep -q __ubsan_handle "$real" || ways="cut cut_half another replace times_back"
alone() { [ "$(wc -l <"$t/.err")" -eq 1 ]; }
alone_and_left() { # NAME FILE...
	name=$1; shift
	if alone; then ok "$name: one line"; else not_ok "$name: one line"; fi
	nothing_left "$name" "$@"
}

# --- reads are still coming when it happens -------------------------------------------------
# The first reads have been classified, so the database is loaded; then it is changed; then the
# other reads come.
classify_meanwhile() { # WAY OPTION...
	way=$1; shift
	cp a.khdb x.khdb; rm -f reads lines.tsv; mkfifo reads
	timeout "$seconds" "$real" classify -q --device "${KH_DEVICE:-cpu}" -p 2 --set block-size=4K --db x.khdb --report r.kreport \
		--json r.json --classified-out c.fq "$@" reads >lines.tsv 2>said &
	pid=$!
	exec 3>reads
	head -n 4000 1.fq >&3
	until_true test -s lines.tsv
	$way
	tail -n +4001 1.fq >&3
	exec 3>&-
	wait $pid
	status=$?
	cat said >&2
	return $status
}
for way in $ways; do
	expect 1 "^kmerhash classify: $said\$" "classify, $way" classify_meanwhile $way
	alone_and_left "classify, $way" r.kreport r.json c.fq
done
# ... one of several databases
bases=$(gzip -dc "$data"/genomes/*.gz | grep -v '>' | tr -d '\n' | wc -c)
check "one more" build --set total-bases="$bases" --db y.khdb "$data"/genomes/*T[37]*.gz
several() { KH_DEVICE=cpu classify_meanwhile "$1" --db y.khdb; }
for way in $ways; do
	expect 1 "^kmerhash classify: $said\$" "several databases, $way" several $way
	alone_and_left "several databases, $way" r.kreport r.json c.fq
done
case $ways in *overwrite*)
	expect 1 "$said" "classify --set no-verify, overwrite" classify_meanwhile overwrite --set no-verify ;;
esac
expect 0 "" "classify, nothing happens" classify_meanwhile true
rm -f r.kreport r.json c.fq
# Where the time of change is that of writing, which can be set back, as by sshfs (FUSE) and on FAT.
without_change() { # TYPE COMMAND...
	LD_PRELOAD=$lib KH_FS_TYPE=$1; export LD_PRELOAD KH_FS_TYPE
	shift; "$@"; status=$?
	unset LD_PRELOAD KH_FS_TYPE
	return $status
}
if [ -f "$lib" ]; then
	for type in 65735546 4d44; do
		for way in cut another header_back; do
			expect 1 "^kmerhash classify: $said\$" "classify, $way, type $type" without_change $type classify_meanwhile $way
			alone_and_left "classify, $way, type $type" r.kreport r.json c.fq
		done
		expect 0 "" "classify, type $type, nothing happens" without_change $type classify_meanwhile true
		rm -f r.kreport r.json c.fq
	done
else
	skip "where the time of change can be set back" "no library of faults"
fi

# --- lines are still to be printed ----------------------------------------------------------
awk 'BEGIN { for (i = 0; i < 4000; i++) printf ">sequence_with_a_long_name_%d kraken:taxid|10710\nACGTACGTGACTGATCGTAGCTAGCTGATCGTACGATC\n", i }' >many.fa
check "a database of many targets" build -k 18 --db many.khdb many.fa
inspect_meanwhile() {
	cp many.khdb x.khdb || return; rm -f lines; mkfifo lines
	timeout "$seconds" "$real" inspect --targets x.khdb >lines 2>said &
	pid=$!
	exec 3<lines
	read -r line <&3
	$1
	cat <&3 >/dev/null
	exec 3<&-
	wait $pid
	status=$?
	cat said >&2
	return $status
}
size=$(wc -c <many.khdb)
for way in $ways; do
	expect 1 "^kmerhash inspect: $said\$" "inspect, $way" inspect_meanwhile $way
	alone_and_left "inspect, $way"
done
expect 0 "" "inspect, nothing happens" inspect_meanwhile true

# --- just after it was mapped, before anything is checked ----------------------------------------
size=$(wc -c <a.khdb)
when_mapped() { # COMMAND OPTION...
	cp a.khdb x.khdb
	{ echo "set -e"; echo "size=$size"; sed -n '/^cut()/,/^}/p' "$KH_SRCDIR/tests/run_in_use.sh"; echo "$way"; } >do.sh
	LD_PRELOAD=$lib KH_WHEN_MAPPED="sh do.sh" timeout "$seconds" "$real" "$@"
}
if [ -f "$lib" ]; then
	for way in $ways; do
		expect 1 "^kmerhash verify: $said\$" "verify, $way" when_mapped verify x.khdb
		alone_and_left "verify, $way"
		expect 1 "^kmerhash classify: $said\$" "classify, $way before it is loaded" \
			when_mapped classify -q --device "${KH_DEVICE:-cpu}" --db x.khdb --output o.tsv --report r.kreport 1.fq
		alone_and_left "classify, $way before it is loaded" o.tsv r.kreport
	done
else
	skip "just after it was mapped" "no library of faults"
fi

# --- references that change while a build reads them more than once -----------------------------
# r.fa before its N-th opening: the database is none, or that of the one file or of the other.
bases() { awk -v seed="$1" -v n="$2" 'BEGIN { x = seed; for (i = 0; i < n; i++) { x = x * 16807 % 2147483647; printf "%s", substr("ACGT", int(x / 2147483647 * 4) + 1, 1) } print "" }'; }
long=$(awk 'BEGIN { for (i = 0; i < 400000; i++) printf "x" }')         # sizes say nothing of the bases
ref() { { echo ">a|kraken:taxid|10847 $3"; bases $1 60000; echo ">b|kraken:taxid|10710"; bases 8 $2; }; }
made() { timeout "$seconds" "$real" build -q --threads 1 --taxonomy "$data/taxonomy" --db "$@"; }
in_place() { cp r.fa r.times; touch -r r.fa r.times; cat r.two >r.fa; touch -r r.times r.fa; }
replaced() { mv r.two r.fa; }
longer() { { cat r.fa; echo ">c|kraken:taxid|694009"; bases 5 50000; } >r.new; cat r.new >r.fa; }
gone() { rm r.fa; }
# changed WAY TYPE OPTION...: at any opening; TYPE: of the file system, which tells no time of change
changed() {
	way=$1 type=$2; shift 2; found=0 bad=
	cp r.one r.fa; made one.khdb "$@" r.fa || return
	{ echo "set -e"; sed -n '/^bases()/p; /^in_place()/,/^gone()/p' "$KH_SRCDIR/tests/run_in_use.sh"; echo "$way"; } >do.sh
	cp r.second r.two; [ "$way" = gone ] || sh do.sh; mv r.fa r.then; [ "$way" = gone ] || made two.khdb "$@" r.then || return
	for i in 1 2 3 4 5 6 7 8; do
		rm -f x.khdb r.fa; cp r.one r.fa; cp r.second r.two
		(LD_PRELOAD=$lib KH_WHEN_OPENED="$i:r.fa:sh do.sh"; export LD_PRELOAD KH_WHEN_OPENED
		[ -z "$type" ] || { KH_FS_TYPE=$type; export KH_FS_TYPE; }
		made x.khdb "$@" r.fa) 2>.err; status=$?
		case $status in
		0) cmp -s x.khdb one.khdb || { [ "$way" != gone ] && cmp -s x.khdb two.khdb; } || bad="$bad $i: neither;" ;;
		1) ! grep -q "r.fa: was changed while the database was made of it" .err || found=$((found + 1)); left x.khdb || bad="$bad $i: left;" ;;
		*) bad="$bad $i: status $status;" ;;
		esac
	done
	echo "$found found; $bad" >.err; [ -z "$bad" ] && { [ $found -gt 0 ] || [ "$way" = gone ]; }
}
if [ -f "$lib" ]; then
	for many in 60000 100000; do
		ref 3 30000 "$([ $many = 60000 ] || echo "$long")" >r.one; ref 4 $many >r.second
		[ $many = 100000 ] || ref 4 30000 >r.second             # of the same size
		for options in "--max-db-size 90K -k 12" "--max-db-size 90K" ""; do
			for way in in_place replaced longer gone; do
				if changed $way "" $options 2>said; then ok "references change, $way: $many, $options"
				else cat said >>.err; not_ok "references change, $way: $many, $options"; fi
			done
		done
	done
	ref 3 30000 >r.one; ref 4 30000 >r.second
	if changed in_place 65735546 --max-db-size 90K -k 12; then ok "references change, and the file does not tell"; else not_ok "references change, and the file does not tell"; fi
else skip "references change" "no library of faults"; fi

# --- a build onto a link ------------------------------------------------------------------------
mkdir -p there; cp a.khdb there/old.khdb; ln -s there/old.khdb link.khdb
inode=$(stat -c %i there/old.khdb)
build_meanwhile() {
	build --db link.khdb -k 18 "$data"/genomes/*.gz || return
	[ -L link.khdb ] && cmp b.khdb there/old.khdb && [ "$(stat -c %i there/old.khdb)" != "$inode" ]
}
check "build onto a link: a new file takes the place of the link's target" build_meanwhile
rm there/old.khdb
check "build onto a link whose target is gone" build --db link.khdb "$data"/genomes/*.gz
same a.khdb there/old.khdb "build onto a link whose target is gone: it is there again"
ln -s loop.khdb loop.khdb
expect 1 "loop.khdb: " "build onto a link to itself" build --db loop.khdb "$data"/genomes/*.gz
nothing_left "build onto links"
plan
