/* build_ranks.c - a build between the ranks */
#include <config.h>
#include "build_in.h"

int kh_build_share(const struct build *b, void *p, size_t n, kh_err *err)
{
	return b->o->comm ? kh_comm_broadcast(b->o->comm, 0, p, n, err) : KH_OK;
}
