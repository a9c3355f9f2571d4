# run_bench.sh - kmerhash-bench pipeline on the CPU, and on a GPU if there is one: every stage,
# with a rate and a share of a limit; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"
refs="$data/genomes/Escherichia_virus_phiX174*.gz $data/genomes/Enterobacteria_phage_T3*.gz"
check "a database" build --db a.khdb $refs
mkdir out
program=$(dirname "$real")/kmerhash-bench
bench() { "$program" --device ${on:-cpu} --threads 2 --repeat 2 --dir out "$@"; }

# row STAGE COLUMNS: the line is there once; least <= median <= most, all above 0; the rate of
# one thread (columns has 1), limit and share (columns has s) above 0, share = median / limit (0.000 of little)
row() {
	check "$1" awk -v want="$1" -v columns="$2" '
	substr($0, 1, 30) ~ "^" want " *$" {
		n++
		$0 = substr($0, 31)
		ok = $1 > 0 && $1 <= $2 && $2 <= $3 && (columns ~ /1/ ? $4 > 0 : $4 == "-")
		if (columns ~ /s/)
			ok = ok && $6 > 0 && ($7 > 0 || $2 / $6 < 0.0005) && $2 / $6 < 1.002 * $7 + 0.001 &&
				$2 / $6 > 0.998 * $7 - 0.001 && $8 == "of"
		else
			ok = ok && NF == 5
		line = $0
	}
	END { if (n != 1 || !ok) { print n " lines of " want ": " line; exit 1 } }' table
}

expect 0 "" "pipeline" bench --db a.khdb pipeline $refs
cp .out table
row "limit: memcpy" 1
row "limit: one file, durable" -
row "limit: random 64 bytes" 1
for s in "build: read" "build: read, parse, pack" "build: sample" "build: partition" \
	"build: gather, sort" "build: encode" "classify: load, check" "classify: read" \
	"classify: read, parse, pack" "classify: sample" "classify: look up" \
	"classify: compare, decide" "classify: sample to decision" "classify: format"; do
	row "$s" 1s
done
row "build: write" -s
row "classify: write" -s
row "classify: format, write [0-9]+ MB" -s
check "no other line but the head" test "$(wc -l <table)" -eq 21
check "no file is left" test -z "$(ls -A out)"

expect 0 "" "without a database" bench pipeline $refs
check "without a database: no stage of classify" test "$(grep -c '^classify' .out)" -eq 0
check "without a database: those of a build" test "$(grep -c '^build' .out)" -eq 7

on=cuda
bench pipeline none.fa >.out 2>.err
if ! grep -q "CUDA" .err || [ "$KH_REQUIRE" = cuda ]; then
	expect 0 "" "on a GPU" bench --db a.khdb pipeline $refs
	cp .out table
	for s in "limit: memcpy" "limit: one file, durable" "limit: copy to the GPU" \
		"limit: GPU memory, both ways"; do
		row "$s" -
	done
	for s in "build: read" "build: read, parse, pack" "build: copy, by blocks" \
		"build: sample, syncmers" "build: sample, minhash" "build: sort by 48 bits" \
		"build: read to pairs" "build: partition, by blocks" "build: sort" "build: encode" \
		"build: first byte to ready" "build: index to the host" "build: write" \
		"classify: load, check" "classify: read" "classify: read, parse, pack" \
		"classify: compare" "classify: format" "classify: write" \
		"classify: format, write [0-9]+ MB"; do
		row "$s" -s
	done
	check "on a GPU: no other line but the head" test "$(wc -l <table)" -eq 25
else
	skip "on a GPU" "no GPU"
fi
on=

# A link that another user has put under a name that can be guessed is not written through.
echo precious >precious
sh -c 'for n in "" .db .lines; do ln -s ../precious out/.kmerhash-bench.$$$n; done
	ln -s ../precious out/.kmerhash-bench
	exec "$@"' sh "$program" --device cpu --threads 2 --repeat 1 --dir out pipeline $refs >.out 2>.err
check "a planted link: measured" test $? -eq 0 -a -s .out
check "a planted link: what it points to is as it was" test "$(cat precious)" = precious
check "a planted link: it is still there" test "$(find out -type l | wc -l)" -eq 4
rm out/.kmerhash-bench*

# What cannot be measured is said.
expect 2 "must be named" "no references" bench pipeline
expect 2 "number from 1" "not a number" bench --repeat 0 pipeline $refs
expect 2 "lists the options" "no such option" bench --speed pipeline $refs
expect 2 "kmerhash-bench" "it was a command of kmerhash" "$kmerhash" bench pipeline $refs
expect 1 "none\.fa" "a missing reference" bench pipeline none.fa
expect 2 "ordinary file" "no ordinary file" bench pipeline /dev/null
printf '>short\nACGT\n' >short.fa
expect 1 "too short" "short references" bench pipeline short.fa
expect 1 "none/" "no folder to write to" "$program" --device cpu --dir none pipeline short.fa
expect 1 "none\.khdb" "a missing database" bench --db none.khdb pipeline $refs
expect 2 "one of auto, cpu, cuda" "an unknown device" "$program" --device tpu pipeline $refs
expect 1 "CUDA|cuda" "a device that is not there" "$program" --device cuda:999 pipeline $refs
check "no file is left after errors" test -z "$(ls -A out)"
plan
