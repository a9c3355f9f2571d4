# run_fuzz.sh - each fuzz target over its stored corpus; speaks TAP
: "${KH_SRCDIR:?}"
set -- $KH_FUZZ
echo "1..$#"
n=0
for f; do
	n=$((n + 1))
	dir=$KH_SRCDIR/tests/corpus/${f##*/}
	if [ -d "$dir" ] && out=$("./$f" "$dir"/* 2>&1); then echo "ok $n - ${f##*/}"
	else echo "not ok $n - ${f##*/}"; echo "$out" | tail -n 20 | sed 's/^/# /'; fi
done
