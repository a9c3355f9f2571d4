/* cuco_identity.cuh - releases of cuCollections before that for CCCL 3 use thrust::identity, which
 * CCCL 3 has no longer */
#ifndef KHT_CUCO_IDENTITY_CUH
#define KHT_CUCO_IDENTITY_CUH

#include <cuda/std/version>
#if CCCL_MAJOR_VERSION >= 3
namespace thrust {
template <class T = void> struct identity {
	template <class U> __host__ __device__ U &&operator()(U &&x) const
	{
		return static_cast<U &&>(x);
	}
};
}
#endif

#endif
