#!/bin/sh
# gpu_pass.sh - what the second pass costs on a GPU: reports of many species with and without it
#
#	gpu_pass.sh [READS...]          millions of reads; 20
#
# The references are 8 Gbp of 2000 simulated species.  The reads have 100 bases and 1 % of errors; a
# tenth of them is random, and no read is given twice.  A report, one with --sample-pass, and one
# with --profile are made in turn, RUNS times (3).  A table goes to stdout: reads a second by
# `classify -v`, which does not count loading the database, and the median of each kind as a share
# of that of the report.
#
# KMERHASH, SIMGEN, WORK and OUT are those of gpu.sh; LENGTH: bases of a genome; DEVICE: cpu, to try
# the script.
: "${TESTS:=$(dirname "$0")}"
GPU_FUNCTIONS=1
. "$(dirname "$0")/gpu.sh"
: "${LENGTH:=4000000}" "${DEVICE:=cuda}"
WORLD="--genera 400 --species 5 --strains 1 --length $LENGTH --seed 11"

# reads MILLIONS: PARTS files, each of all species, as a program that makes reads is one thread
reads() {
	parts=$(nproc)
	mkdir -p "$WORK/pass.$1"
	[ -s "$WORK/pass.$1/1.fq" ] || for i in $(seq "$parts"); do
		# shellcheck disable=SC2086
		"$SIMGEN" reads --out "$WORK/pass.$1/$i" $WORLD --reads $(($1 * 1000000 / parts)) \
			--read-length 100 --error .01 --alien .1 --read-seed "$i" >/dev/null 2>&1 &
	done
	wait
}

# rate KIND MILLIONS options...: a line of $OUT/rates
rate() {
	kind=$1 m=$2; shift 2
	"$KMERHASH" classify -vv --device "$DEVICE" --db "$WORK/pass.khdb" --output - --report "$WORK/pass.$kind.rep" \
		"$@" "$WORK/pass.$m"/*.fq >"$OUT/run.log" 2>&1 || fail "$kind: $(tail -1 "$OUT/run.log")"
	cat "$OUT/run.log" >>"$OUT/pass.log"
	sed -n "s/.* classify on [a-z]*: \([0-9]*\) reads.s, .*/$m $kind \1/p" "$OUT/run.log" >>"$OUT/rates"
}

[ -s "$WORK/pass.khdb" ] || {
	# shellcheck disable=SC2086
	refs pass $WORLD --files 16
	build pass "$WORK/pass.khdb" >"$OUT/run.log" 2>&1 || fail "build: $(tail -1 "$OUT/run.log")"
	rm -rf "$WORK/pass"
}
: >"$OUT/rates"
for m in "${@:-20}"; do
	reads "$m"
	for i in $(seq "$RUNS"); do
		rate report "$m"
		rate sample-pass "$m" --sample-pass
		rate profile "$m" --profile "$WORK/pass.profile"
	done
done
sort -k 1,2 -k 3,3n "$OUT/rates" | awk '
	{ k = $1 " " $2; if (!(k in n)) key[++keys] = k; r[k, ++n[k]] = $3 * 1e-6 }
	END { printf "%-24s %8s %8s %8s %8s\n", "# million reads", "least", "M read/s", "most", "share"
		for (i = 1; i <= keys; i++) { k = key[i]; split(k, a); median[k] = r[k, int((n[k] + 1) / 2)] }
		for (i = 1; i <= keys; i++) { k = key[i]; split(k, a)
			printf "%-24s %8.2f %8.2f %8.2f %8.2f\n", k, r[k, 1], median[k], r[k, n[k]],
				median[k] / median[a[1] " report"] } }'
exit $((failed > 0))
