# tap.sh - what the test scripts share; read by `.`: a folder of their own, TAP, expectations
#
#	expect STATUS "TEXT" NAME COMMAND...   exit status, and a pattern that stderr must have
#	                                       (grep -E; empty: any)
#	same A B NAME                          equal bytes
#	check NAME COMMAND...                  the command succeeds
#	plan                                   at the end
#
# KH_LIMIT=N in the environment: what takes longer than so many seconds hangs (400: a machine may be
# slow, and its disk stall for seconds).
# KH_ORACLES=no in the environment: nothing that the program writes is compared with an independent
# implementation, or shown to a browser or Snakemake.  So it is where a sanitizer looks at the program
# (.ci/run), which runs on all the same inputs; another run compares.
# KH_DEVICE=cuda in the environment: classify runs on that device unless a test says
# another one; skipped where there is none
: "${KH_SRCDIR:?}"
real=${KMERHASH:-$PWD/kmerhash}         # kmerhash: the same, but it fails if it hangs
data=$KH_SRCDIR/data
tests=$KH_SRCDIR/tests
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
LC_ALL=C
export LC_ALL
unset XDG_CACHE_HOME
t=$(mktemp -d "${TMPDIR:-/tmp}/kh-test.XXXXXX") || exit 1
trap 'rm -rf "$t"' EXIT
trap 'exit 1' HUP INT TERM
cd "$t" || exit 1
HOME=$t                                 # the cache of commands is there, too
export HOME
n=0
seconds=${KH_LIMIT:-400}
limit=; ! command -v timeout >/dev/null || limit="timeout $seconds"
device=${KH_DEVICE:+--device $KH_DEVICE}
cat >.kmerhash <<EOF && chmod +x .kmerhash
#!/bin/sh
command=\$1; [ \$# -eq 0 ] || shift
case \$command in
classify) exec $limit "$real" classify $device "\$@" ;;
*) exec $limit "$real" \$command "\$@" ;;
esac
EOF
kmerhash=$t/.kmerhash

ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok() {
	n=$((n + 1)); echo "not ok $n - $1"
	[ ! -s "$t/.err" ] || head -n 20 "$t/.err" | sed 's/^/# /'
}
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
plan() { echo "1..$n"; }

check() {
	name=$1; shift
	if "$@" >"$t/.err" 2>&1; then ok "$name"; else not_ok "$name"; fi
}

same() { check "$3" cmp "$1" "$2"; }

expect() {
	status=$1; pattern=$2; name=$3; shift 3
	"$@" >"$t/.out" 2>"$t/.err"
	got=$?
	if [ $got -ne "$status" ]; then
		echo "exit status $got, not $status" >>"$t/.err"; not_ok "$name"
	elif [ -n "$pattern" ] && ! grep -Eq -e "$pattern" "$t/.err"; then
		echo "no '$pattern' in this" >>"$t/.err"; not_ok "$name"
	else ok "$name"; fi
}

# Which of these exist (they should not), and temporary files of any name.
left() {
	for f; do [ ! -e "$f" ] || { echo "$f is there" >"$t/.err"; return 1; }; done
	find . -name '.*.tmp' -o -name '.kmerhash-spill*' | grep . >"$t/.err" && return 1
	return 0
}
# until_true COMMAND...: it succeeds now, or in the next minute
until_true() { tries=0; until "$@"; do [ $tries -lt 600 ] || return 1; sleep 0.1; tries=$((tries + 1)); done; }
nothing_left() { name=$1; shift; if left "$@"; then ok "$name: nothing is left"; else not_ok "$name: nothing is left"; fi; }

# Sets $own to the KiB of address space that the program maps before it does anything, with its
# libraries, so that a limit can leave as much to any build.  Fails where
# a limit does not suit the build, as with a sanitizer.
own_space() {
	own=9000
	until (ulimit -v "$own"; exec "$real" --version) >/dev/null 2>&1; do
		own=$((own + 1000))
		[ $own -lt 1000000 ] || return 1
	done
}

# Ends the script where no GPU can be used: skipped with the reason, or, as KH_REQUIRE=cuda
# asks for, failed.
need_gpu() { # PROGRAM
	"$1" build -q --db .gpu.khdb --taxonomy "$data/taxonomy" \
		--accession2taxid "$data/taxonomy/accession2taxid.tsv" "$data"/genomes/*.gz 2>.err &&
		"$1" classify -q --device cuda --db .gpu.khdb --output .gpu.tsv "$data/reads/tiny_sim_1.fq.gz" 2>.err && return
	why=$(head -n 1 .err)
	case ${KH_REQUIRE:-} in *cuda*) echo "Bail out! KH_REQUIRE=cuda, but $why"; exit 1 ;; esac
	echo "1..0 # SKIP $why"
	exit 0
}

# PYTHON3 with the modules of tests/; fails where there is none
python() { [ -n "${PYTHON3:-}" ] && PYTHONPATH=$tests "$PYTHON3" "$@"; }
# by_python NAME SCRIPT ARGUMENT...: what a script says, if there is one to run it
by_python() { name=$1; shift; if [ -n "${PYTHON3:-}" ]; then check "$name" python "$@"; else skip "$name" "no python3"; fi; }
# The TAP of a Python test, its lines numbered on; as many as it has planned, and at least one.
include() {
	"$@" >"$t/tap" 2>"$t/.err" || { not_ok "$*"; return; }
	while IFS= read -r line; do
		case $line in
		"ok "*) ok "${line#ok * - }" ;;
		"not ok "*) not_ok "${line#not ok * - }" ;;
		"#"*) echo "$line" ;;
		esac
	done <"$t/tap"
	planned=$(sed -n 's/^1\.\.\([1-9][0-9]*\)$/\1/p' "$t/tap")
	[ "$(grep -Ec '^(not )?ok ' "$t/tap")" = "$planned" ] || not_ok "$*: as many tests as are planned"
}
# oracle SCRIPT ARGUMENT...: of tests/, unless none is asked
oracle() { [ "${KH_ORACLES:-}" = no ] || python "$tests/$@"; }
build() { "$kmerhash" build -q --taxonomy "$data/taxonomy" --accession2taxid "$data/taxonomy/accession2taxid.tsv" "$@"; }
classify() { "$kmerhash" classify -q "$@"; }
# The genomes of data/ as a world of make_world.py: viruses/, with taxids in the headers.
make_viruses() {
	mkdir viruses; ln -s "$data/taxonomy" viruses/taxonomy
	for f in "$data"/genomes/*.gz; do
		id=$(gzip -dc "$f" | sed -n '1s/^>\([^ ]*\).*/\1/p')
		taxid=$(awk -v id="$id" '$2 == id { print $3 }' "$data/taxonomy/accession2taxid.tsv")
		gzip -dc "$f" | sed "s/^>\([^ ]*\).*/>\1 taxid|$taxid/"
	done >viruses/refs.fa
	"$PYTHON3" "$tests/make_world.py" reads 600 viruses/reads.fq "$data"/genomes/*.gz
}

case ${KH_DEVICE:-} in cuda*) need_gpu "$real" ;; esac
