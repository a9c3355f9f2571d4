/* no_gpu.c - in place of the benches of cuda/ where there is no CUDA */
#include <config.h>
#include "bench/gpu_build.h"
#include "bench/bench_in.h"
#include "bench/lookup_placement.h"

int kh_bench_cuda(kh_bench *b, kh_err *err)
{
	(void)b;
	return kh_fail(err, KH_ENODEV, "bench pipeline: this kmerhash was built without CUDA");
}

int kh_bench_placement(const kh_bench_placement_options *o, FILE *out, kh_err *err)
{
	(void)o;
	(void)out;
	return kh_fail(err, KH_ENODEV, "bench placement: this kmerhash was built without CUDA");
}

int kh_bench_packed(const kh_bench_packed_options *o, FILE *out, kh_err *err)
{
	(void)o;
	(void)out;
	return kh_fail(err, KH_ENODEV, "bench build: this kmerhash was built without CUDA");
}
