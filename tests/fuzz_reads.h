/* fuzz_reads.h - bytes that parsers read through a callback, in reads of all lengths */
#ifndef KH_FUZZ_READS_H
#define KH_FUZZ_READS_H

#include <string.h>

#include "base/msg.h"

typedef struct reader {
	const char *p, *end;
	size_t step;            /* of the next read, which grows; 0: all there is */
} reader;

static int64_t give(void *arg, void *buf, size_t n, kh_err *err)
{
	reader *r = arg;

	(void)err;
	if (n > (size_t)(r->end - r->p))
		n = (size_t)(r->end - r->p);
	if (r->step && n > r->step)
		n = r->step;
	r->step += r->step != 0;
	memcpy(buf, r->p, n);
	r->p += n;
	return (int64_t)n;
}

#endif
