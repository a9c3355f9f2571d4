/*
 * host.cuh - what every table's host part shares: its base, memory, launches
 *
 * struct kh_table is the head of every table.  Memory that lives as long as the table is
 * registered in mem[] and freed by kh_table_close(); scratch comes from a pool in stream
 * order, so that calls on several streams do not share it.
 */
#ifndef KH_TABLES_HOST_CUH
#define KH_TABLES_HOST_CUH

#include <cuda_runtime.h>
#include <stdlib.h>
#include "table.h"

#define KH_BLOCK 256

/* Threads of blocks that probe: a block holds its place until its slowest warp is
 * done, so these are smaller. */
#ifndef KH_PROBE_BLOCK
#define KH_PROBE_BLOCK 128
#endif

/* Counters that kernels raise: struct kh_table's `note`. */
enum kh_note {
	KH_NOTE_FAILED,
	KH_NOTE_TRUNCATED,
	KH_NOTE_POOL,
	KH_NOTE_USED,
	KH_NOTE_SIDE,
	KH_NOTE_SIDE2,
	KH_NOTE_A,
	KH_NOTE_B,
	KH_NOTES
};

struct kh_table {
	const kh_table_fn *fn;
	const kh_table_system *system;
	kh_table_config cfg;
	cudaMemPool_t pool;             /* borrowed: all tables of the device share it */
	int device;
	unsigned long long *note;       /* KH_NOTES counters on the device */
	void *mem[12];
	unsigned n_mem;
	uint64_t bytes, slots, restarts;
};

static inline int kh_cuda(cudaError_t e, const char *what, kh_err *err)
{
	if (e == cudaSuccess)
		return KH_OK;
	(void)cudaGetLastError();
	return kh_fail(err, e == cudaErrorMemoryAllocation ? KH_ENOMEM : KH_EDEVICE,
		       "%s: %s", what, cudaGetErrorString(e));
}

/* After a launch. */
static inline int kh_launched(const char *what, kh_err *err)
{
	return kh_cuda(cudaGetLastError(), what, err);
}

static inline unsigned kh_blocks(size_t threads, unsigned block = KH_BLOCK)
{
	return (unsigned)((threads + block - 1) / block);
}

/* Memory for the life of the table, every byte set to `fill`. */
template <class T>
static int kh_take(kh_table *t, T **p, size_t n, int fill, kh_stream s, kh_err *err)
{
	size_t bytes = (n * sizeof(T) + 255) & ~(size_t)255;
	int rc = kh_cuda(cudaMalloc((void **)p, bytes), "memory for a table", err);

	if (rc)
		return rc;
	t->mem[t->n_mem++] = *p;
	t->bytes += bytes;
	return kh_cuda(cudaMemsetAsync(*p, fill, bytes, s), "clearing a table", err);
}

/* Scratch of one call, given back in stream order when it goes out of scope. */
template <class T> struct kh_scratch {
	T *p = nullptr;
	kh_stream s = nullptr;

	kh_scratch() {}
	kh_scratch(const kh_scratch &) = delete;
	kh_scratch &operator=(const kh_scratch &) = delete;
	~kh_scratch()
	{
		if (p)
			(void)cudaFreeAsync(p, s);
	}
	int take(kh_table *t, size_t n, kh_stream stream, kh_err *err)
	{
		s = stream;
		return kh_cuda(cudaMallocFromPoolAsync((void **)&p, n * sizeof(T) + 16,
						       t->pool, s),
			       "scratch of a table", err);
	}
	operator T *() const { return p; }
};

static inline bool kh_is_prime(uint64_t x)
{
	if (x % 2 == 0)
		return x == 2;
	for (uint64_t d = 3; d * d <= x; d += 2)
		if (x % d == 0)
			return false;
	return x > 1;
}

static inline uint32_t kh_next_prime(uint64_t x)
{
	while (!kh_is_prime(x))
		x++;
	return (uint32_t)x;
}

/* A table object of type T (plain data), zeroed; kh_table_open() fills its head. */
template <class T> static T *kh_table_make() { return (T *)calloc(1, sizeof(T)); }

/* Adapters from the C function table to members of T. */
template <class T> struct kh_bind {
	static int insert(kh_table *t, const kh_kv *p, kh_stream s, kh_err *e)
	{
		return ((T *)t)->insert(p, s, e);
	}
	static int find(kh_table *t, const kh_keys *k, const kh_found *o, kh_stream s,
			kh_err *e)
	{
		return ((T *)t)->find(k, o, s, e);
	}
	static int count(kh_table *t, const kh_keys *k, uint32_t *c, kh_stream s,
			 kh_err *e)
	{
		return ((T *)t)->count(k, c, s, e);
	}
	static int retrieve(kh_table *t, const kh_keys *k, const kh_lists *o, kh_stream s,
			    kh_err *e)
	{
		return ((T *)t)->retrieve(k, o, s, e);
	}
	static int fold(kh_table *t, const kh_keys *k, uint64_t *o, kh_stream s,
			kh_err *e)
	{
		return ((T *)t)->fold(k, o, s, e);
	}
	static int join(kh_table *t, const kh_keys *k, uint32_t *c, kh_stream s,
			kh_err *e)
	{
		return ((T *)t)->join(k, c, s, e);
	}
	static int erase(kh_table *t, const kh_keys *k, kh_stream s, kh_err *e)
	{
		return ((T *)t)->erase(k, s, e);
	}
	static int mixed(kh_table *t, const kh_ops *o, kh_stream s, kh_err *e)
	{
		return ((T *)t)->mixed(o, s, e);
	}
	static int clean(kh_table *t, kh_stream s, kh_err *e)
	{
		return ((T *)t)->clean(s, e);
	}
	static int stats(kh_table *t, kh_stream s, kh_table_stats *st, kh_err *e)
	{
		return ((T *)t)->stats(s, st, e);
	}
	static void view(const kh_table *t, void *v)
	{
		*(typename T::view_type *)v = ((const T *)t)->view();
	}
};

/* Calls open<K, V>() for the widths of the config. */
#define KH_DISPATCH(open, cfg, ...)                                                      \
	((cfg)->key_bits == 32     ? (cfg)->value_bits == 32                             \
					     ? open<uint32_t, uint32_t>(__VA_ARGS__)     \
					     : open<uint32_t, uint64_t>(__VA_ARGS__)     \
	 : (cfg)->value_bits == 32 ? open<uint64_t, uint32_t>(__VA_ARGS__)               \
				   : open<uint64_t, uint64_t>(__VA_ARGS__))

/* table.cu: fills the head of a table that kh_table_make() made; frees it if that
 * fails. */
int kh_table_init(kh_table *t, const kh_table_fn *fn, const kh_table_config *cfg,
		  kh_stream s, kh_err *err);

#endif
