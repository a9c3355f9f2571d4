# run_workflow.sh - the Snakemake workflow on data/; speaks TAP
: "${KH_SRCDIR:?}"
if ! command -v "${SNAKEMAKE:=snakemake}" >/dev/null; then
	echo "1..0 # SKIP no snakemake"
	exit 0
fi
n=0
ok() { n=$((n + 1)); if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi; }

t=${TMPDIR:-/tmp}/kh-workflow.$$
mkdir "$t" || exit 1
trap 'rm -rf "$t"' EXIT
PATH=$PWD:$PATH XDG_CACHE_HOME=$t/cache
export PATH XDG_CACHE_HOME
mkdir "$t/run" && cp -R "$KH_SRCDIR/workflow/.test/config" "$t/run/" && chmod -R u+w "$t/run" &&
	ln -s "$KH_SRCDIR/data" "$t/data" && mkdir "$t/run/local" && cd "$t/run" || exit 1
sed 's|^data_root:.*|data_root: ../data|' config/config.yaml >config/new &&
	mv config/new config/config.yaml

run() {
	"$SNAKEMAKE" --snakefile "$KH_SRCDIR/workflow/Snakefile" --cores 2 "$@" >"$t/out" 2>&1
}
say() { sed 's/^/# /' "$t/out"; }
# clade SAMPLE TAXID: fragments in it, by the report
clade() { awk -F '\t' -v id="$2" '$5 == id { print $2 }' "results/$1.kreport"; }

echo 1..9
run --lint
rc=$?
[ $rc -eq 0 ] || say
ok $rc "lint"

run
rc=$?
[ $rc -eq 0 ] || say
ok $rc "references to database to reports"

[ "$(clade tiny_sim 10710)" = 50 ] && [ "$(clade tiny_sim 10847)" = 50 ] &&
	[ "$(clade tiny_sim 694002)" = 100 ] && [ "$(clade sarscov2_real 694009)" -ge 95 ]
ok $? "the reports have the organisms that the reads came from"

printf '%s\t%s\n' sample fragments tiny_sim 300 sarscov2_real 100 sarscov2_single 100 >"$t/want"
cut -f1,2 results/summary.tsv | cmp -s - "$t/want"
ok $? "the summary has a line for each sample"

run
rc=$?
grep -q 'Nothing to be done' "$t/out" || rc=1
[ $rc -eq 0 ] || say
ok $rc "a second run does nothing"

# A sample whose file ends inside a record.
gzip -dc "$t/data/reads/tiny_sim_1.fq.gz" | head -c 10000 >local/cut.fq
printf 'cut\t%s\t\t\n' "$PWD/local/cut.fq" >>config/samples.tsv
! run && grep -q 'cut.fq:[0-9]*: record [0-9]*' logs/kmerhash/cut.log
rc=$?
[ $rc -eq 0 ] || say
ok $rc "a FASTQ file that is cut off fails the workflow, and the log says where"
[ -z "$(find . -name 'cut.kreport' -o -name 'cut.tsv.gz' -o -name 'cut.run.json' -o -name '*.tmp')" ]
ok $? "and leaves nothing behind"

gzip -dc "$t/data/reads/tiny_sim_1.fq.gz" >local/cut.fq
run && [ -s results/cut.kreport ]
rc=$?
[ $rc -eq 0 ] || say
ok $rc "the whole file mends it"

sed 's/^samples:/smaples:/' config/config.yaml >config/new && mv config/new config/config.yaml
! run && grep -q smaples "$t/out"
ok $? "an unknown key of the configuration is an error"
