/* given.h - text that a parser reads through a callback, in reads of all lengths */
#ifndef KH_GIVEN_H
#define KH_GIVEN_H

#include <string.h>

#include "base/msg.h"

typedef struct given {
	const char *p;
	size_t n, step;         /* bytes of the next read at most; 0: all there is */
	size_t more, fail;      /* by how much that grows; which read fails, from 1 */
} given;

static int64_t give(void *arg, void *buf, size_t n, kh_err *err)
{
	given *g = arg;

	if (g->fail && g->fail-- == 1)
		return kh_fail(err, KH_EIO, "the disk is gone");
	n = n < g->n ? n : g->n;
	n = g->step && g->step < n ? g->step : n;
	g->step += g->more;
	memcpy(buf, g->p, n);
	g->p += n;
	g->n -= n;
	return (int64_t)n;
}

#endif
