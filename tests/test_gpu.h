/* test_gpu.h - a test of kernels runs where there is a GPU, and says why where there is
 * none */
#ifndef KH_TEST_GPU_H
#define KH_TEST_GPU_H

#include "test.h"
#include "classify/backend.h"

/* True: go on.  False: the plan is out, the caller returns *status. */
static inline bool gpu_there(int *status)
{
	kh_err why = { 0, "" };
	const bool there = kh_backend_cuda.n_devices(&why) > 0;

	*status = there ? 0 : test_no_gpu(why.msg);
	return there;
}

#endif
