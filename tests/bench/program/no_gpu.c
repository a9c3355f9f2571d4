/* no_gpu.c - in place of those of gpu/ where there is no CUDA */
#include <config.h>
#include "tests/bench/program/bench_in.h"

int kh_bench_cuda(kh_bench *b, kh_err *err)
{
	(void)b;
	return kh_fail(err, KH_ENODEV, "pipeline: built without CUDA");
}
