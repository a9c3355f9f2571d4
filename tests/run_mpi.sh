# run_mpi.sh - several processes by mpirun on this machine: the communicator; speaks TAP
. "$KH_SRCDIR/tests/mpi.sh"

# --- the communicator --------------------------------------------------------------------
for i in 2 3 4; do check "$i processes: messages and collectives" processes $i "$comm" messages; done
# seen N TEXT NAME: so many processes saw it
seen() { if [ "$(grep -Ec -e "$2" .out)" -eq "$1" ]; then ok "$3"; else sed 's/^/# /' .out; not_ok "$3"; fi; }
expect 1 "" "a process fails" processes 4 "$comm" fail 2
seen 3 "saw it: process 2 failed: the disk is full" "a process fails: each of the others names it"
expect 1 "" "a process fails, another clears up for long" processes 3 "$comm" slow 1
seen 1 "process 2 has cleared up" "a process fails, another clears up for long: it is waited for"
# What is ended by MPI_Abort may crash mpirun itself (Open MPI 4.1): any status but those of success and of time.
KH_COMM_TIMEOUT=4; export KH_COMM_TIMEOUT
processes 3 "$comm" stop 1 >.out 2>.err; status=$?
check "a process stops answering: ended" test $status -ne 0 -a $status -ne 124 -a $status -ne 137
seen 2 "saw it: process 1 does not answer: nothing heard of it for 4 s" "a process stops answering: each of the others names it"
expect 0 "" "a process parts late" processes 3 "$comm" late 1
unset KH_COMM_TIMEOUT
expect 1 "KH_COMM_TIMEOUT: 'soon' is not a number" "a time-out that is none" \
	env KH_COMM_TIMEOUT=soon mpirun -n 2 "$comm" messages
# The other process never comes to MPI_Init.
expect 1 "MPI did not start within 5 s \(five times KH_COMM_TIMEOUT\): do all 2 processes run" "a process that never starts" \
	env KH_COMM_TIMEOUT=1 mpirun -n 2 sh -c '[ $OMPI_COMM_WORLD_RANK = 0 ] || exec sleep 60; exec "$@"' sh \
	"$real" build -q --db never.khdb --taxonomy "$data/taxonomy" "$data"/genomes/*.gz
plan
