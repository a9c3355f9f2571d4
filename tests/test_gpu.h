/* test_gpu.h - a test of kernels runs where there is a GPU, and says why where there is
 * none */
#ifndef KH_TEST_GPU_H
#define KH_TEST_GPU_H

#include "test.h"
#include <string.h>
#include "backend.h"

/* True: go on.  False: the plan is out, the caller returns *status. */
static inline bool gpu_there(int *status)
{
	const char *wish = getenv("KH_REQUIRE");

	*status = 0;
	if (kh_backend_cuda.n_devices() > 0)
		return true;
	if (wish && strstr(wish, "cuda")) {
		puts("Bail out! KH_REQUIRE=cuda, but no CUDA device can be used here");
		*status = 1;
	} else {
		puts("1..0 # SKIP no CUDA device can be used here");
	}
	return false;
}

#define ok(call) do { \
	kh_err e_ = { 0, "" }; \
	kh_err *err = &e_; \
	if (call) \
		fail_msg("%s: %s", #call, e_.msg); \
} while (0)

#endif
