#include <config.h>
#include "base/mem.h"

#include <stdlib.h>

void *kh_array(size_t n, size_t size, kh_err *err)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		kh_fail(err, KH_ENOMEM, "out of memory: %zu times %zu bytes", n, size);
	return p;
}

int kh_grow(void **p, size_t *cap, size_t need, size_t size, kh_err *err)
{
	size_t n = *cap + *cap / 2 + 16, bytes;

	if (need <= *cap)
		return KH_OK;
	if (n < need)
		n = need;
	if (__builtin_mul_overflow(n, size, &bytes))
		return kh_fail_nomem(err);
	void *q = realloc(*p, bytes);
	if (!q)
		return kh_fail(err, KH_ENOMEM, "out of memory: %zu bytes", bytes);
	*p = q;
	*cap = n;
	return KH_OK;
}
