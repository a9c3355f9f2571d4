#include <config.h>
#include "base/errs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"

void kh_errs_clear(kh_errs *e)
{
	free(e->v);
	*e = (kh_errs) { .v = NULL };
}

int kh_errs_add(kh_errs *e, const kh_err *one, kh_err *err)
{
	int rc;

	e->found++;
	if (e->n == KH_ERRS_KEPT)
		return KH_OK;
	rc = KH_GROW(e->v, e->cap, e->n + 1, err);
	if (!rc)
		e->v[e->n++] = *one;
	return rc;
}

int kh_errs_note(kh_errs *e, kh_err *err, int code, const char *fmt, ...)
{
	kh_err one = { .code = code };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(one.msg, sizeof one.msg, fmt, ap);
	va_end(ap);
	return kh_errs_add(e, &one, err);
}
