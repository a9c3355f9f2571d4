# run_library.sh - libkmerhash: what it exports, as it is installed, from C, and
# its calls beside those of the command; speaks TAP
build_dir=$PWD
. "${KH_SRCDIR:?}/tests/tap.sh"
header=$KH_SRCDIR/src/lib/kmerhash.h
MAKEFLAGS=; export MAKEFLAGS

# --- what can be seen ---------------------------------------------------------------
grep -o 'kmerhash_[a-z_]*(' "$header" | tr -d '(' | sort -u >declared
# Without the kernels' inline variables of C++ (type u), which no tool makes local.
exports() { awk 'NF == 3 && $2 != "u" { print $3 }' | grep -v '^_\(init\|fini\)$' | sort -u; }
nm -D --defined-only "$build_dir/libkmerhash.so.1" | sed 's/@.*//' | exports >dynamic
nm -g --defined-only "$build_dir/libkmerhash.a" | exports >static
# sanitizers add names of their own
clean() { grep -v '^__\(asan\|odr_asan\|ubsan\|tsan\|sanitizer\)' "$1" >"$1.own"; same declared "$1.own" "$2"; }
clean dynamic "the shared library exports what the header declares"
clean static "so does the archive"
check "its soname" sh -c 'readelf -d "$1" | grep -q "SONAME.*libkmerhash\.so\.1"' - "$build_dir/libkmerhash.so.1"

# --- as it is installed -----------------------------------------------------------------
check "make install" make -s -C "$build_dir" install DESTDIR="$t/root"
for name in kraken2 k2; do # links that hold wherever the tree is put
	check "$name of libexec is the program" cmp "$(find root -name $name -type l)" "$build_dir/kmerhash"
done
check "kraken2 of libexec takes its command line" sh -c '"$1" --version | grep -q "(kmerhash "' - "$(find root -name kraken2 -type l)"
check "folders of other places" make -s -C "$build_dir" install-exec DESTDIR="$t/other" bindir=/opt/kh/bin pkglibexecdir=/opt/kh-1/lib/kh
check "folders of other places: the link" test "$(readlink other/opt/kh-1/lib/kh/kraken2)" = ../../../kh/bin/kmerhash
pc=$(find root -name kmerhash.pc)
libdir=$(dirname "$(dirname "$pc")")
LD_LIBRARY_PATH=$t/$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
check "version of pkg-config" grep -q "^Version: $("$real" --version | cut -d' ' -f2)\$" "$pc"
if command -v pkg-config >/dev/null; then
	flags=$(PKG_CONFIG_PATH=$t/$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$t/root \
		pkg-config --cflags --libs kmerhash)
else
	flags="-I$t/$(dirname "$libdir")/include -L$t/$libdir -lkmerhash"
fi
# shellcheck disable=SC2086  # a compiler and its options
check "the example by what pkg-config says" $CC $KH_SANITIZE -std=gnu11 -Wall -Wextra -Wpedantic -Werror \
	-o example "$tests/library_example.c" $flags
echo '#include <kmerhash.h>' >plus.cc
if command -v g++ >/dev/null; then
	check "the header is C++, too" g++ -Wall -Wextra -Wpedantic -Werror -I"$(dirname "$header")" -fsyntax-only plus.cc
else
	skip "the header is C++, too" "no g++"
fi

# --- calls -------------------------------------------------------------------------------
build --db db.khdb "$data"/genomes/*.gz
two_lines() { gzip -dc "$@" | awk 'NR % 4 == 1 { printf "%s\t", substr($1, 2) } NR % 4 == 2'; }
# Of a line of classify what the example prints: C or U, name, taxid, hits and features.
columns() {
	awk -F '\t' -v OFS='\t' '{ hits = 0; all = 0; m = split($5, part, " ")
		for (i = 1; i <= m; i++) { split(part[i], x, ":"); if (x[1] != "A") { all += x[2]; if (x[1] > 0) hits = x[2] } }
		print $1, $2, $3, hits, all }' "$1"
}
single=$(find "$data/reads" -name '*_1.f*q.gz' | sort)
for f in $single; do two_lines "$f"; done >single.tsv
for f in $single; do
	two_lines "$f" >1.tsv
	two_lines "$(echo "$f" | sed 's/_1\(\.f[a-z]*\.gz\)$/_2\1/')" >2.tsv
	paste 1.tsv 2.tsv | awk -F '\t' -v OFS='\t' '{ sub(/\/1$/, "", $1); print $1, $2, $4 }'
done >pairs.tsv
# shellcheck disable=SC2046,SC2086
classify --db db.khdb --output single.out $single
# shellcheck disable=SC2046,SC2086
classify --db db.khdb --paired --output pairs.out \
	$(for f in $single; do echo "$f" "$(echo "$f" | sed 's/_1\(\.f[a-z]*\.gz\)$/_2\1/')"; done)
columns single.out >single.want
columns pairs.out >pairs.want
[ -s pairs.want ] || not_ok "there are pairs"
awk 'NR % 3 == 1' single.tsv >mixed.tsv; awk 'NR % 3 == 1' single.want >mixed.want
awk 'NR % 5 < 3' pairs.tsv >>mixed.tsv; awk 'NR % 5 < 3' pairs.want >>mixed.want
sort -k2,2 mixed.tsv >shuffled.tsv
as=${KH_DEVICE:-cpu}
for threads in 1 4; do
	for what in single pairs mixed; do
		./example -t $threads -d "$as" db.khdb <$what.tsv >$what.got 2>errors
		same $what.want $what.got "$what, by $threads threads: the calls of the command"
	done
done
check "nothing is printed" test ! -s errors
expect 1 "nowhere.khdb" "the example tells of an error" ./example nowhere.khdb </dev/null

"$build_dir/tests/library_check" db.khdb "$as" $n <mixed.tsv >taps 2>errors
status=$?
cat taps
n=$((n + $(grep -c '^\(not \)*ok' taps)))
check "library_check ends, and prints no message" test $status -eq 0 -a ! -s errors

# A database that is replaced while it is open.
cp db.khdb other.khdb
mkfifo lines
./example -d "$as" other.khdb <lines >replaced.out 2>replaced.err &
exec 3>lines
for i in $(seq 100); do cat single.tsv; done | head -n 10000 >&3       # a batch
check "a batch is classified" until_true test -s replaced.out
echo x | dd of=other.khdb bs=1 seek=100000 conv=notrunc 2>/dev/null
cat single.tsv >&3
exec 3>&-
wait $! && not_ok "a database that is changed" || check "a database that is changed" grep -q "was changed while it was in use" replaced.err

check "the example is installed" sh -c 'cmp "$(find root -name library_example.c)" "$1"' - "$tests/library_example.c"
plan
