/* wrap_kernel.cu - a kernel that fails: wrap_cuda.c launches it in another's place */
#include <cuda_runtime_api.h>

__global__ void trap_kernel()
{
	__trap();
}

extern "C" int kh_wrap_trap(cudaStream_t stream)
{
	trap_kernel<<<1, 1, 0, stream>>>();
	return cudaGetLastError();
}
