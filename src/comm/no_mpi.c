/* no_mpi.c - in place of mpi.c where there is no MPI */
#include <config.h>
#include "comm/comm_in.h"

int kh_comm_carry(kh_comm *c, kh_err *err)
{
	return kh_fail(
		err, KH_EUSAGE,
		"%u copies of this program were started, but it was built without "
		"MPI (configure --with-mpi): they would write the same files; KH_COMM=off in the "
		"environment lets each run by itself",
		c->size);
}
