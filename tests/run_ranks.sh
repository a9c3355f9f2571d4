# run_ranks.sh - taxonomies as NCBI, ICTV, GTDB, SILVA, Greengenes, UNITE and DADA2's sets have them; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"

for form in ncbi2023 ncbi2025 mixed ictv gtdb silva greengenes unite dada2; do
	name="$form: ranks and sums in the report, merge, Krona, CAMI, Bracken, MultiQC, taxpasta, lines and profile"
	[ -n "${PYTHON3:-}" ] || { skip "$name" "no python3"; continue; }
	mkdir $form
	check "$name" sh -c 'cd $3 && "$1" "$2" "$4" $3' - "$PYTHON3" "$tests/oracle_ranks.py" $form "$kmerhash"
done
plan
