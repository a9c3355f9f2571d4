/* test_gpu.h - a test of kernels runs where there is a GPU, and says why where there is
 * none */
#ifndef KH_TEST_GPU_H
#define KH_TEST_GPU_H

#include "test.h"
#include <string.h>
#include "classify/backend.h"

/* True: go on.  False: the plan is out, the caller returns *status. */
static inline bool gpu_there(int *status)
{
	const char *wish = getenv("KH_REQUIRE");
	kh_err why = { 0, "" };

	*status = 0;
	if (kh_backend_cuda.n_devices(&why) > 0)
		return true;
	if (wish && strstr(wish, "cuda")) {
		printf("Bail out! KH_REQUIRE=cuda, but no CUDA device can be used here: %s\n",
		       why.msg);
		*status = 1;
	} else {
		printf("1..0 # SKIP no CUDA device can be used here: %s\n", why.msg);
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
