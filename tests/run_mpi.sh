# run_mpi.sh - several ranks by mpirun on this machine: the communicator; speaks TAP
. "$KH_SRCDIR/tests/mpi.sh"

# --- the communicator --------------------------------------------------------------------
for i in 2 3 4; do check "$i ranks: messages and collectives" ranks $i "$comm" messages; done
# seen N TEXT NAME: so many ranks saw it
seen() { if [ "$(grep -Ec -e "$2" .out)" -eq "$1" ]; then ok "$3"; else sed 's/^/# /' .out; not_ok "$3"; fi; }
expect 1 "" "a rank fails" ranks 4 "$comm" fail 2
seen 3 "saw it: rank 2 failed: the disk is full" "a rank fails: each of the others names it"
expect 1 "" "a rank fails, another clears up for long" ranks 3 "$comm" slow 1
seen 1 "rank 2 has cleared up" "a rank fails, another clears up for long: it is waited for"
# What is ended by MPI_Abort may crash mpirun itself (Open MPI 4.1): any status but those of success and of time.
KH_COMM_TIMEOUT=4; export KH_COMM_TIMEOUT
ranks 3 "$comm" stop 1 >.out 2>.err; status=$?
check "a rank stops answering: ended" test $status -ne 0 -a $status -ne 124 -a $status -ne 137
seen 2 "saw it: rank 1 does not answer: nothing heard of it for 4 s" "a rank stops answering: each of the others names it"
expect 0 "" "a rank parts late" ranks 3 "$comm" late 1
unset KH_COMM_TIMEOUT
expect 1 "KH_COMM_TIMEOUT: 'soon' is not a number" "a time-out that is none" \
	env KH_COMM_TIMEOUT=soon mpirun -n 2 "$comm" messages
plan
