# run_stamp.sh - a database that was checked is not checked again until it changes; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"

sim=$data/reads/tiny_sim_1.fq.gz
# c OPTIONS...: classifies with a.khdb, saying what is remembered
c() { "$kmerhash" classify -v --db a.khdb --output o.tsv "$@" "$sim"; }
stamps() { ls .cache/kmerhash 2>.err | wc -l; }
settle() { sleep 3; }                   # what changed less than 2 s ago is not remembered
before='a.khdb was checked before'
now='that it was checked is remembered'
checked() { name=$1; shift; expect 0 "$now" "$name: checked" c "$@"; cp .err said; check "$name: not before" sh -c '! grep -q "was checked before" said'; }
known() { name=$1; shift; expect 0 "$before" "$name: not checked again" c "$@"; }

build --db a.khdb "$data"/genomes/*.gz
touch a.khdb
expect 0 "" "a file that is new" c
check "a file that is new: is not remembered" test "$(stamps)" -eq 0
settle
checked "the first time"; cp o.tsv want.tsv
known "the second time"; same want.tsv o.tsv "the second time: the same calls"
check "one stamp" test "$(stamps)" -eq 1
checked "--set verify" --set verify
known "behind --set verify"
expect 0 "" "--set no-verify" c --set no-verify
expect 2 "not both" "--set verify and --set no-verify" c --set verify --set no-verify
stamp=$(echo .cache/kmerhash/checked-*)
check "a stamp: of the user alone" test "$(stat -c %a "$stamp")" = 600 -a "$(stat -c %a .cache/kmerhash)" = 700

# --- where and how long ---------------------------------------------------------------------
preload=$(dirname "$real")/tests/preload_fail.so
if [ -f "$preload" ]; then
	for type in 65735546 4d44 2011bab0; do                  # FUSE, as of sshfs; FAT; exFAT
		expect 0 "" "a file system of type $type" env LD_PRELOAD="$preload" KH_FS_TYPE=$type "$real" classify -v --db a.khdb --output o.tsv "$sim"
		cp .err said; check "a file system of type $type: nothing is remembered" sh -c '! grep -q "checked before\|is remembered" said'
	done
else skip "file systems" "no preload_fail.so"; fi
: >.cache/kmerhash/checked-1-2; touch -d '40 days ago' .cache/kmerhash/checked-1-2
: >.cache/kmerhash/checked-1-3; touch -d '20 days ago' .cache/kmerhash/checked-1-3
touch -d '31 days ago' "$stamp"; checked "a stamp of last month"
check "old stamps go" test ! -e .cache/kmerhash/checked-1-2 -a -e .cache/kmerhash/checked-1-3
rm .cache/kmerhash/checked-1-3

# --- any change ---------------------------------------------------------------------------
chmod 600 a.khdb; settle; checked "another mode"
cp a.khdb b.khdb; mv b.khdb a.khdb; settle; checked "another file of the name"
touch -d '2020-01-01' a.khdb; settle; checked "its time set back"
size=$(wc -c <a.khdb)
flip() { printf '\377\000\377' | dd of="$1" bs=1 seek=$((size / 3)) conv=notrunc 2>.err; }
cp a.khdb good; known "a stamp of what is to be damaged"
old=$(stat -c %.9Y a.khdb); flip a.khdb; touch -d "@$old" a.khdb; settle
expect 1 "checksum" "damaged, its time set back" c
check "damaged: nothing is remembered of it" sh -c '! "$1" classify -q --db a.khdb "$2" >o.tsv 2>.err' - "$kmerhash" "$sim"

# --- that it is really left out: a stamp of a damaged file, made by hand --------------------
fake() { # FILE: the stamp that it would have
	s=.cache/kmerhash/checked-$(printf '%x-%x' "$(stat -c %d "$1")" "$(stat -c %i "$1")")
	printf 'kmerhash %s checked %s bytes, written %s, changed %s, header %s\n' \
		"$("$kmerhash" --version | sed 's/.* //')" "$(wc -c <"$1")" "$(stat -c %.9Y "$1" | tr -d .)" \
		"$(stat -c %.9Z "$1" | tr -d .)" "$(od -An -tx8 -j 4088 -N 8 "$1" | tr -d ' ')" >"$s"
	chmod 600 "$s"
	echo "$s"
}
# Checksums are of 16 MiB, and those of the index alone may be left out: this one has several.
{ echo ">NC_001422.1"; head -c 50000000 /dev/urandom | LC_ALL=C tr '\000-\377' '[A*64][C*64][G*64][T*64]' | fold -w 80; } >large.fa
check "a large database" build --db large.khdb large.fa
check "a large database: it is" test "$(wc -c <large.khdb)" -gt 20000000
printf '\377\000\377' | dd of=large.khdb bs=1 seek=1000000 conv=notrunc 2>.err
expect 1 "checksum" "a large database, damaged" "$kmerhash" classify --db large.khdb --output o.tsv "$sim"
fake large.khdb >name
expect 0 "large.khdb was checked before" "a stamp of a damaged file is believed" "$kmerhash" classify -v --db large.khdb --output o.tsv "$sim"
expect 1 "checksum" "and not with --set verify" "$kmerhash" classify --set verify --db large.khdb --output o.tsv "$sim"
cp large.khdb a.khdb; rm -f large.* o.tsv
fake a.khdb >name
expect 1 "checksum" "a stamp of a damaged file, --set verify" c --set verify
expect 1 "checksum" "a stamp of a damaged file, the command verify" "$kmerhash" verify a.khdb
s=$(cat name)
chmod 660 "$s"; expect 1 "checksum" "a stamp that others may write" c; chmod 600 "$s"
chmod 770 .cache/kmerhash; expect 1 "checksum" "a folder that others may write" c; chmod 700 .cache/kmerhash
cp "$s" other; rm "$s"; ln -s "$PWD/other" "$s"; expect 1 "checksum" "a stamp that is a link" c; rm "$s"
for edit in 's/checked \([0-9]*\)/checked 1\1/' 's/written /written 1/' 's/changed /changed 1/' 's/header ./header x/' 's/kmerhash [^ ]*/kmerhash 9.9/' 's/$/ /'; do
	sed "$edit" other >"$s"; chmod 600 "$s"
	expect 1 "checksum" "a stamp that is another, $edit" c
done
sed 's/header ./header f/' other >"$s"; chmod 600 "$s"; cmp -s other "$s" ||
	expect 1 "checksum" "a stamp with another header" c
: >"$s"; expect 1 "checksum" "an empty stamp" c
rm "$s"

# --- the same of text: its blocks of 16 MiB are checked by themselves ------------------------
{ echo ">NC_001422.1"; head -c 144000000 /dev/urandom | LC_ALL=C tr '\000-\377' '[A*64][C*64][G*64][T*64]' | fold -w 80; } >large.fa
check "text" build --db text.khdb large.fa
rm large.fa
set -- $(od -An -tu8 -j 216 -N 16 text.khdb)           # where it begins, its bytes
check "text: of more than two blocks" test "$2" -gt 33554432
t() { "$kmerhash" classify -v --db text.khdb --output o.tsv "$@" "$sim"; }
settle
expect 0 "$now" "text: checked" t
expect 0 "text.khdb was checked before" "text: not checked again" t
printf '\377\000\377' | dd of=text.khdb bs=1 seek=$(($1 + $2 / 2)) conv=notrunc 2>.err
settle
expect 1 "checksum" "text: damaged" t
expect 0 "" "text: damaged, --set no-verify" t --set no-verify
fake text.khdb >name
expect 0 "text.khdb was checked before" "text: a stamp of a damaged file is believed" t
expect 1 "checksum" "text: and not with --set verify" t --set verify
expect 1 "checksum" "text: nor by the command verify" "$kmerhash" verify text.khdb
rm -f text.khdb "$(cat name)" o.tsv

# --- the command verify, and no cache at all ---------------------------------------------------
cp good a.khdb; settle
expect 0 "" "verify" "$kmerhash" verify -q a.khdb
known "behind verify"
rm -rf .cache
mkdir cache; expect 0 "$now" "XDG_CACHE_HOME" env XDG_CACHE_HOME="$PWD/cache" "$kmerhash" classify -v --db a.khdb --output o.tsv "$sim"
check "XDG_CACHE_HOME: is used" test "$(ls cache/kmerhash | wc -l)" -eq 1 -a ! -e .cache
expect 0 "" "no home" env -u HOME "$kmerhash" classify --db a.khdb --output o.tsv "$sim"
expect 0 "" "a home that is none" env HOME=/dev/null "$kmerhash" classify --db a.khdb --output o.tsv "$sim"
same want.tsv o.tsv "a home that is none: the same calls"
plan
