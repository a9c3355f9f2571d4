/*
 * host.cuh - what every table's host part shares: its base, memory, launches
 *
 * struct kht_table is the head of every table.  Memory that lives as long as the table is
 * registered in mem[] and freed by kht_table_close(); scratch comes from a pool in stream
 * order, so that calls on several streams do not share it.  At the end the open function of each
 * table, and what each can do.
 */
#ifndef KHT_HOST_CUH
#define KHT_HOST_CUH

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include "cuda/tables/table.h"

#define KHT_BLOCK 256

/* Threads of blocks that probe.  They are fewer, because a block occupies the multiprocessor
 * until its slowest warp is done. */
#ifndef KHT_PROBE_BLOCK
#define KHT_PROBE_BLOCK 128
#endif

/* Counters that kernels raise: struct kht_table's `note`. */
enum kht_note {
	KHT_NOTE_FAILED,
	KHT_NOTE_TRUNCATED,
	KHT_NOTE_POOL,
	KHT_NOTE_USED,
	KHT_NOTE_SIDE,
	KHT_NOTE_SIDE2,
	KHT_NOTE_A,
	KHT_NOTE_B,
	KHT_NOTES
};

struct kht_table {
	const kht_table_fn *fn;
	const kht_table_system *system;
	kht_table_config cfg;
	cudaMemPool_t pool; /* borrowed: all tables of the device share it */
	int device;
	unsigned long long *note; /* KHT_NOTES counters on the device */
	void *mem[12];
	unsigned n_mem;
	uint64_t bytes, slots, restarts;
	size_t built; /* pairs of the one insert of a table that takes no more */
};

static inline int kht_cuda(cudaError_t e, const char *what, kh_err *err)
{
	if (e == cudaSuccess)
		return KH_OK;
	(void)cudaGetLastError();
	return kh_fail(err, e == cudaErrorMemoryAllocation ? KH_ENOMEM : KH_EDEVICE, "%s: %s", what,
		       cudaGetErrorString(e));
}

/* To be called after each launch: its error, if any. */
static inline int kht_launched(const char *what, kh_err *err)
{
	return kht_cuda(cudaGetLastError(), what, err);
}

/* Copies to the host, and waits for it. */
static inline int kht_to_host(void *to, const void *from, size_t bytes, const char *what,
			      kht_stream s, kh_err *err)
{
	int rc = kht_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, s), what, err);

	return rc ? rc : kht_cuda(cudaStreamSynchronize(s), what, err);
}

/* From the host, whose memory may change afterwards. */
static inline int kht_to_device(void *to, const void *from, size_t bytes, const char *what,
				kht_stream s, kh_err *err)
{
	int rc = kht_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, s), what, err);

	return rc ? rc : kht_cuda(cudaStreamSynchronize(s), what, err);
}

static inline unsigned kht_blocks(size_t threads, unsigned block = KHT_BLOCK)
{
	return (unsigned)((threads + block - 1) / block);
}

/* Memory for the life of the table, every byte set to `fill`. */
template <class T>
static int kht_take(kht_table *t, T **p, size_t n, int fill, kht_stream s, kh_err *err)
{
	size_t bytes = (n * sizeof(T) + 255) & ~(size_t)255;
	int rc = kht_cuda(cudaMalloc((void **)p, bytes), "memory for a table", err);

	if (rc)
		return rc;
	t->mem[t->n_mem++] = *p;
	t->bytes += bytes;
	return kht_cuda(cudaMemsetAsync(*p, fill, bytes, s), "clearing a table", err);
}

/* Scratch of one call, given back in stream order when it goes out of scope. */
template <class T> struct kht_scratch {
	T *p = nullptr;
	kht_stream s = nullptr;

	kht_scratch() {}
	kht_scratch(const kht_scratch &) = delete;
	kht_scratch &operator=(const kht_scratch &) = delete;
	~kht_scratch()
	{
		if (p)
			(void)cudaFreeAsync(p, s);
	}
	int take(kht_table *t, size_t n, kht_stream stream, kh_err *err)
	{
		s = stream;
		return kht_cuda(
			cudaMallocFromPoolAsync((void **)&p, n * sizeof(T) + 16, t->pool, s),
			"scratch of a table", err);
	}
	operator T *() const { return p; }
};

static inline bool kht_is_prime(uint64_t x)
{
	if (x % 2 == 0)
		return x == 2;
	for (uint64_t d = 3; d * d <= x; d += 2)
		if (x % d == 0)
			return false;
	return x > 1;
}

static inline uint32_t kht_next_prime(uint64_t x)
{
	while (!kht_is_prime(x))
		x++;
	return (uint32_t)x;
}

/* table.cu: fills the head of a zeroed table; the caller frees it if that fails. */
int kht_table_init(kht_table *t, const kht_table_fn *fn, const kht_table_config *cfg, kht_stream s,
		   kh_err *err);

/* A C function of the table's list that calls member F. */
template <auto F> struct kht_member;
template <class T, class R, class... P, R (T::*F)(P...)> struct kht_member<F> {
	static R call(kht_table *t, P... p) { return (static_cast<T *>(t)->*F)(p...); }
};

/* The functions of tables of type T: what CAN names, by members of the same names, and
 * count, retrieve and fold by A (kht_by_view, kht_by_spans). */
template <class T, unsigned CAN, class A> constexpr kht_table_fn kht_bind()
{
	kht_table_fn f = {};

	f.insert = kht_member<&T::insert>::call;
	f.count = A::count;
	if constexpr (!(CAN & KHT_TABLE_NO_VALUES)) {
		f.retrieve = A::retrieve;
		f.fold = A::fold;
	}
	if constexpr ((CAN & KHT_TABLE_FIND) != 0)
		f.find = kht_member<&T::find>::call;
	if constexpr ((CAN & KHT_TABLE_JOIN) != 0)
		f.join = kht_member<&T::join>::call;
	if constexpr ((CAN & KHT_TABLE_ERASE) != 0)
		f.erase = kht_member<&T::erase>::call;
	if constexpr ((CAN & KHT_TABLE_MIXED) != 0) {
		f.mixed = kht_member<&T::mixed>::call;
		f.clean = kht_member<&T::clean>::call;
	}
	if constexpr ((CAN & KHT_TABLE_DYNAMIC) != 0) {
		f.used = kht_member<&T::used>::call;
		f.stats = kht_member<&T::stats>::call;
	}
	f.view = [](const kht_table *t, void *v) {
		*(typename T::view_type *)v = static_cast<const T *>(t)->view();
	};
	return f;
}

/* Makes a table of type T (plain data), all zero but its head, and calls its open(), which finds
 * the config in `cfg`.  *out is set also on failure: kht_table_close() frees it. */
template <class T, unsigned CAN, class A>
static int kht_make(const kht_table_config *c, kht_stream s, kht_table **out, kh_err *err)
{
	static constexpr kht_table_fn fn = kht_bind<T, CAN, A>();
	T *t = (T *)calloc(1, sizeof(T));
	int rc;

	*out = t;
	rc = kht_table_init(t, &fn, c, s, err);
	return rc ? rc : t->open(s, err);
}

/* The same for T<K, V> of the widths of the config. */
template <template <class, class> class T, unsigned CAN, template <class> class A>
static int kht_make_wide(const kht_table_config *c, kht_stream s, kht_table **out, kh_err *err)
{
	typedef T<uint32_t, uint32_t> narrow;
	typedef T<uint32_t, uint64_t> wide_values;
	typedef T<uint64_t, uint32_t> wide_keys;
	typedef T<uint64_t, uint64_t> wide;

	if (c->key_bits == 32)
		return c->value_bits == 32
			       ? kht_make<narrow, CAN, A<narrow>>(c, s, out, err)
			       : kht_make<wide_values, CAN, A<wide_values>>(c, s, out, err);
	return c->value_bits == 32 ? kht_make<wide_keys, CAN, A<wide_keys>>(c, s, out, err)
				   : kht_make<wide, CAN, A<wide>>(c, s, out, err);
}

/* The same for T<K>, whose values are of 32 bits; `otherwise` is what a user who asks for
 * others is told. */
template <template <class> class T, unsigned CAN, template <class> class A>
static int kht_make_keyed(const kht_table_config *c, const char *otherwise, kht_stream s,
			  kht_table **out, kh_err *err)
{
	if (c->value_bits != 32)
		return kh_fail(err, KH_EUSAGE, "%s", otherwise);
	return c->key_bits == 32 ? kht_make<T<uint32_t>, CAN, A<T<uint32_t>>>(c, s, out, err)
				 : kht_make<T<uint64_t>, CAN, A<T<uint64_t>>>(c, s, out, err);
}

/* Calls f<K, V>() for the widths of the config. */
#define KHT_DISPATCH(f, cfg, ...)                                                                  \
	((cfg)->key_bits == 32     ? (cfg)->value_bits == 32 ? f<uint32_t, uint32_t>(__VA_ARGS__)  \
							     : f<uint32_t, uint64_t>(__VA_ARGS__)  \
	 : (cfg)->value_bits == 32 ? f<uint64_t, uint32_t>(__VA_ARGS__)                            \
				   : f<uint64_t, uint64_t>(__VA_ARGS__))

/* --- the tables ---------------------------------------------------------------------- */

/* What table.cu tells the user of a table is what its open function binds. */
enum {
	KHT_CSR_CAN = KHT_TABLE_MULTI,
	KHT_SORTED_CAN = KHT_TABLE_MULTI,
	KHT_HASHGRAPH_CAN = KHT_TABLE_MULTI | KHT_TABLE_JOIN,
	KHT_SINGLE_CAN = KHT_TABLE_DYNAMIC | KHT_TABLE_ERASE | KHT_TABLE_FIND,
	KHT_BUCKET64_CAN = KHT_TABLE_DYNAMIC | KHT_TABLE_FIND,
	KHT_WINDOW64_CAN = KHT_SINGLE_CAN,
	KHT_MULTI_CAN = KHT_TABLE_MULTI | KHT_TABLE_DYNAMIC | KHT_TABLE_ERASE,
	KHT_BUCKETLIST_CAN = KHT_TABLE_MULTI | KHT_TABLE_DYNAMIC,
	KHT_RUNLIST_CAN = KHT_BUCKETLIST_CAN,
	KHT_COUNTING_CAN = KHT_TABLE_DYNAMIC | KHT_TABLE_NO_VALUES | KHT_TABLE_FIND,
	KHT_HASHSET_CAN = KHT_COUNTING_CAN | KHT_TABLE_ERASE,
	KHT_BLOOM_CAN = KHT_COUNTING_CAN | KHT_TABLE_INEXACT,
	KHT_CUCKOO_CAN = KHT_TABLE_FIND,
	KHT_DACHASH_CAN = KHT_SINGLE_CAN | KHT_TABLE_MIXED
};

extern "C" {
int kht_csr_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_sorted_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_hashgraph1_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_hashgraph2_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_single_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_bucket64_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_multi_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_bucketlist_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_runlist_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_hashset_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_counting_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_bloom_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_cuckoo_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_window64_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_dachash_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
}

#endif
