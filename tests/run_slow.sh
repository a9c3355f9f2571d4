# run_slow.sh - valid inputs that a careless reader takes long for: CPU time grows with their bytes, not
# with the square of these; speaks TAP
. "$KH_SRCDIR/tests/tap.sh"
[ -n "${PYTHON3:-}" ] || { echo "1..0 # SKIP no python3"; exit 0; }

mkdir tax
check "a database" build --db d.khdb "$data"/genomes/*.gz
python "$tests/slow_inputs.py" "$real" >found 2>.err || not_ok "slow_inputs.py"
while read -r line; do
	case $line in
	"ok - "*) ok "${line#ok - }" ;;
	"not ok - "*) : >.err; not_ok "${line#not ok - }" ;;
	*) echo "$line" ;;
	esac
done <found
plan
