/* no_tables.c - in place of the bench of cuda/tables/ where that library is left out */
#include <config.h>
#include "tests/bench/program/measure.h"

int kh_bench_tables(const kh_bench_tables_options *o, FILE *out, kh_err *err)
{
	(void)o;
	(void)out;
	return kh_fail(err, KH_ENODEV,
		       "tables: built without the GPU hash tables (configure "
		       "--with-tables; they need CUDA)");
}
