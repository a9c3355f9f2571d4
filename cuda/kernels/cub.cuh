/* cub.cuh - calls of CUB that neither throw nor wait for ever */
#ifndef KH_CUDA_KERNELS_CUB_CUH
#define KH_CUDA_KERNELS_CUB_CUH

#include <cub/util_device.cuh>
#include <cuda_runtime_api.h>
#include <atomic>
#include <mutex>

/* CUB asks each device for its version once, and keeps the answer in a static object.  If the
 * device cannot be selected for that, CUB throws while the object is being made, and the next
 * thread that needs it would wait for ever.  So one thread asks before the first call, and
 * nothing calls CUB any more once it has thrown. */
struct kh_cub_state {
	std::mutex first;
	std::atomic<uint64_t> known { 0 };      /* devices, a bit each */
	std::atomic<bool> threw { false };
};
inline kh_cub_state kh_cub;

namespace {

inline cudaError_t cub_lost()
{
	int device;
	cudaError_t e = cudaGetDevice(&device);

	kh_cub.threw = true;
	return e != cudaSuccess ? e : cudaErrorUnknown;
}

inline cudaError_t cub_meet(int device)
{
	std::lock_guard<std::mutex> lock(kh_cub.first);
	cudaError_t e;
	int version;

	if (kh_cub.threw)
		return cub_lost();
	e = cub::PtxVersion(version, device);
	if (e == cudaSuccess)
		e = cub::SmVersion(version, device);
	if (e == cudaSuccess)
		kh_cub.known |= UINT64_C(1) << device % 64;
	return e;
}

/* Calls CUB; an exception becomes an error code. */
template <class F>
cudaError_t caught(F call)
{
	int device;
	cudaError_t e = cudaGetDevice(&device);

	try {
		if (e == cudaSuccess && !(kh_cub.known >> device % 64 & 1))
			e = cub_meet(device);
		if (e == cudaSuccess && kh_cub.threw)
			e = cub_lost();
		return e != cudaSuccess ? e : call();
	} catch (...) {
		return cub_lost();
	}
}

/* Parts of a room begin at multiples of 256 bytes. */
inline size_t up(size_t n)
{
	return (n + 255) & ~(size_t)255;
}

} /* namespace */

#endif
