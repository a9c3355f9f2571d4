/*
 * tuning.h - launch constants that measurements have chosen, and what each gains
 *
 * tests/bench/gpu/rates measures them; none of them changes a result.
 *
 *	constant   sm_90 (H200)   others tried, and the rate with these as a part of it
 *	SHARED     60             each kernel its own: .90; 100: .88; 45: 1.00; 30: .96; 15: .88
 *	                          (report of .fq.gz); 30: 1.02 (pairs 5 % off)
 *	MATCH_EACH 16             6: 1.03, and .95 with --sample-pass (the same)
 *	BATCHES    8              4: .91 to .97 (plain pairs); 16: .99 (.fq.gz)
 *	FETCHES    1              2: .90 (placement=host, 20 million reads)
 *	FETCHED    2^21           2^20: .69 (the same)
 *	FETCH_EACH 1              not varied
 *	UNITS      2              4: .94, .97 (report of .fq.gz)
 *	ROOMS      2              1: .90 of eight samples at once, 1.01 of one (.fq.gz); 4: 1.00 of
 *	                          both, also with batches of 128 MiB
 */
#ifndef KH_CUDA_KERNELS_TUNING_H
#define KH_CUDA_KERNELS_TUNING_H

enum {
	/* Percent of the first cache that are shared memory while a kernel runs.  A multiprocessor
	 * has one share at a time: a block of a kernel with another one waits until it is empty.
	 * So all kernels that run beside each other have the same. */
	KH_TUNE_SHARED = 60,
	KH_TUNE_MATCH_EACH = 16,        /* warps of match_kernel on a multiprocessor, at most */
	KH_TUNE_BATCHES = 8,            /* launches of a device that are under way */
	/* Launches, if they read the host's memory: larger ones, whose chunks lie closer. */
	KH_TUNE_FETCHES = 1,
	KH_TUNE_FETCHED = 1 << 21,      /* chunks that such a launch has room for, at most */
	KH_TUNE_FETCH_EACH = 1,         /* blocks of 256 threads that fetch, on a multiprocessor */
	KH_TUNE_UNITS = 2,              /* of a stripe of compressed bits */
	KH_TUNE_ROOMS = 2               /* batches of several files that are inflated at a time */
};

#ifdef __CUDACC__
namespace {

/* Gives kernels the same share, on the current device. */
template <typename... Kernel>
cudaError_t share_alike(Kernel *...kernel)
{
	cudaError_t e = cudaSuccess;

	((e = e == cudaSuccess ? cudaFuncSetAttribute(
					 kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
					 KH_TUNE_SHARED)
			       : e),
	 ...);
	return e;
}

} /* namespace */
#endif

#endif
