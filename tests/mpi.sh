# mpi.sh - what tests with several processes share; read by `.` in place of tap.sh: processes N COMMAND...
if [ ! -x "$PWD/tests/test_comm" ]; then echo "1..0 # SKIP built without MPI (configure --with-mpi)"; exit 0; fi
if ! command -v mpirun >/dev/null; then echo "1..0 # SKIP no mpirun"; exit 0; fi
comm=$PWD/tests/test_comm
. "$KH_SRCDIR/tests/tap.sh"

# Open MPI: as root, more processes than cores, none bound to one.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
# What MPI itself leaves allocated is not ours to free.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
# When a process is killed, mpirun gives the others a second between SIGTERM and SIGKILL: not enough where the
# disk stalls while they remove their files.  (It takes that time whenever processes fail.)
patient='--mca odls_base_sigkill_timeout 10'
processes() { size=$1; shift; timeout -k 5 "$seconds" mpirun -n "$size" "$@"; }
# The same, each process with a GPU of its own if they are to work on GPUs (KH_GPUS of them): then not
# more processes than GPUs.
processes_apart() {
	case ${KH_DEVICE:-} in
	cuda*) size=$1; shift; processes "$size" sh -c 'CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK exec "$@"' sh "$@" ;;
	*) processes "$@" ;;
	esac
}
few_gpus() { case ${KH_DEVICE:-} in cuda*) [ "$1" -gt "${KH_GPUS:-1}" ] ;; *) false ;; esac; }
