/*
 * gpu.h - devices, buffers and errors of the CUDA backend, for C
 *
 * A device is a field of what uses it, never a global.  Buffers are made when first
 * needed, grow, and are used again; nothing is allocated in the steady state.  Host
 * buffers are pinned.  A call whose failure is an error goes through kh_gpu_check, so that
 * it names the call and the device.  Where the status is an answer (is there a device, is a
 * launch done), the caller looks at it; what frees, closes or drops is not checked.
 */
#ifndef KH_CUDA_GPU_H
#define KH_CUDA_GPU_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

/* KH_OK, or a message: `call` failed on the current device. */
int kh_gpu_check(int status, const char *call, kh_err *err);
#define KH_GPU(call, err) kh_gpu_check((int)(call), #call, err)

/* Devices that can be used; 0 without a driver, and why.  Makes no context. */
int kh_gpu_count(kh_err *why);
/* Makes it the current device of this thread, which messages name.  Only functions that free
 * something may change that device in another way: they have no message. */
int kh_gpu_use(int device, kh_err *err);
int kh_gpu_current(void);
/* Bytes free on the current device. */
int kh_gpu_free(uint64_t *bytes, kh_err *err);
/* A stream of the current device, for short kernels that others wait for: they go before those of
 * other streams. */
int kh_gpu_first_stream(cudaStream_t *s, kh_err *err);
/* Lets devices read and write each other's memory, as far as they can.  *all: all of them can.
 * Changes the current device of this thread. */
int kh_gpu_peers(const int *device, size_t n, bool *all, kh_err *err);

/* A buffer, owned by the code that declares it; zeroed at first, and given back by the functions
 * below. */
typedef struct kh_gpu_buf {
	void *p;
	size_t bytes;
	enum { KH_GPU_DEVICE, KH_GPU_PINNED, KH_GPU_PAGES } of;
} kh_gpu_buf;

/* Makes room for `bytes`; a buffer that grows gets half as much again if there is so much. What was
 * in it is lost, so nothing may be under way on it.  KH_ENOMEM: the device has too little memory;
 * the buffer is empty then. */
int kh_gpu_room(kh_gpu_buf *b, size_t bytes, kh_err *err);
/* The same; all of it is zero when it grows, once the stream has come so far. */
int kh_gpu_zero_room(kh_gpu_buf *b, size_t bytes, cudaStream_t stream, kh_err *err);
int kh_gpu_room_exact(kh_gpu_buf *b, size_t bytes, kh_err *err);
int kh_gpu_host_room(kh_gpu_buf *b, size_t bytes, kh_err *err);
/* The same of exactly so many bytes, in large pages.  Pinning memory holds up all launches; large
 * pages take a tenth of the time.  For 1 MiB and more. */
int kh_gpu_host_pages(kh_gpu_buf *b, size_t bytes, kh_err *err);
void kh_gpu_drop(kh_gpu_buf *b);

/* Buffers of a struct by their names, which are also the array `all`. */
#define KH_GPU_BUFS(all, ...) \
	union { \
		struct { kh_gpu_buf __VA_ARGS__; }; \
		kh_gpu_buf all[sizeof(struct { kh_gpu_buf __VA_ARGS__; }) / sizeof(kh_gpu_buf)]; \
	}
/* For such an array. */
#define KH_GPU_DROP(all) kh_gpu_drop_all(all, sizeof all / sizeof *all)
void kh_gpu_drop_all(kh_gpu_buf *b, size_t n);
/* Parts of a buffer begin at multiples of 256 bytes. */
static inline size_t kh_gpu_up(size_t n)
{
	return (n + 255) & ~(size_t)255;
}

#endif
