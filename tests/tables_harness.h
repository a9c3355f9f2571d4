/*
 * tables_harness.h - every GPU hash table against a sorted array on the host: what the
 * tests of tables share
 *
 * KH_SEED repeats a run; KH_TABLE=name keeps to one system; KH_SMALL=1 shrinks the large
 * cases (for compute-sanitizer).
 */
#ifndef KHT_TABLES_HARNESS_H
#define KHT_TABLES_HARNESS_H

#include "test.h"
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <string.h>
#include "cuda/tables/table.h"

#define GUARD   64
#define MISSING UINT64_C(0x5a5a5a5a5a5a5a5a)

/* --- helpers ---------------------------------------------------------------------- */

struct pair {
	uint64_t k, v;
};

struct job { /* one table with its widths, for messages */
	const kht_table_system *sys;
	kht_table_config cfg;
	kht_table *t;
	const char *what;
};

static inline bool small(void) { return getenv("KH_SMALL") != NULL; }

#define CHECK(j, cond)                                                                             \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fail_msg("%s %u/%u, %s: %s", (j)->sys->name, (j)->cfg.key_bits,            \
				 (j)->cfg.value_bits, (j)->what, #cond);                           \
	} while (0)

static inline void ok(const struct job *j, int rc, const kh_err *err)
{
	if (rc)
		fail_msg("%s %u/%u, %s: %s", j->sys->name, j->cfg.key_bits, j->cfg.value_bits,
			 j->what, err->msg);
}

static inline void cuda_ok(cudaError_t e)
{
	if (e != cudaSuccess)
		fail_msg("CUDA: %s", cudaGetErrorString(e));
}

static inline uint64_t cut(uint64_t x, unsigned bits) { return bits == 32 ? (uint32_t)x : x; }

static inline uint64_t at(const void *p, size_t i, unsigned bits)
{
	return bits == 32 ? ((const uint32_t *)p)[i] : ((const uint64_t *)p)[i];
}

static inline void put(void *p, size_t i, unsigned bits, uint64_t x)
{
	if (bits == 32)
		((uint32_t *)p)[i] = (uint32_t)x;
	else
		((uint64_t *)p)[i] = x;
}

/* Device memory with a guard behind, poisoned. */
static inline void *gpu_new(size_t bytes)
{
	void *p;

	cuda_ok(cudaMalloc(&p, bytes + GUARD));
	cuda_ok(cudaMemset(p, 0xa5, bytes + GUARD));
	return p;
}

/* Copies to new host memory, checks the guard, frees the device's. */
static inline void *gpu_take(const struct job *j, void *d, size_t bytes)
{
	unsigned char *h = malloc(bytes + GUARD);

	assert_non_null(h);
	cuda_ok(cudaMemcpy(h, d, bytes + GUARD, cudaMemcpyDeviceToHost));
	cuda_ok(cudaFree(d));
	for (size_t i = 0; i < GUARD; i++)
		CHECK(j, h[bytes + i] == 0xa5);
	return h;
}

/* Field 0: keys; 1: values. */
static inline void *gpu_pairs(const struct pair *p, size_t n, int field, unsigned bits)
{
	void *h = malloc(n * 8 + 8), *d;

	assert_non_null(h);
	for (size_t i = 0; i < n; i++)
		put(h, i, bits, field ? p[i].v : p[i].k);
	d = gpu_new(n * bits / 8);
	cuda_ok(cudaMemcpy(d, h, n * bits / 8, cudaMemcpyHostToDevice));
	free(h);
	return d;
}

static inline void open_job(struct job *j)
{
	kh_err err;

	ok(j, kht_table_open(j->sys->name, &j->cfg, NULL, &j->t, &err), &err);
}

static inline void insert(struct job *j, const struct pair *p, size_t n)
{
	kht_kv kv = { gpu_pairs(p, n, 0, j->cfg.key_bits), gpu_pairs(p, n, 1, j->cfg.value_bits),
		      n };
	kh_err err;

	ok(j, kht_table_insert(j->t, &kv, NULL, &err), &err);
	cuda_ok(cudaDeviceSynchronize());
	cuda_ok(cudaFree((void *)kv.keys));
	cuda_ok(cudaFree((void *)kv.values));
}

/* --- the model -----------------------------------------------------------------------
 */

static inline int by_pair(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->k != y->k)
		return x->k < y->k ? -1 : 1;
	return (x->v > y->v) - (x->v < y->v);
}

static inline int by_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* First pair of the sorted array with a key not below k. */
static inline size_t lower(const struct pair *m, size_t n, uint64_t k)
{
	size_t from = 0, to = n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		if (m[mid].k < k)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static inline size_t multiplicity(const struct pair *m, size_t n, uint64_t k)
{
	size_t i = lower(m, n, k), j = i;

	while (j < n && m[j].k == k)
		j++;
	return j - i;
}

static inline bool has_pair(const struct pair *m, size_t n, uint64_t k, uint64_t v)
{
	for (size_t i = lower(m, n, k); i < n && m[i].k == k; i++)
		if (m[i].v == v)
			return true;
	return false;
}

/* --- checks ---------------------------------------------------------------------------
 */

/* Queries: each key of the sorted model, as many others, and the marks. */
static inline struct pair *make_queries(const struct job *j, const struct pair *m, size_t n,
					size_t *nq)
{
	struct pair *q = malloc((2 * n + 8) * sizeof *q);
	size_t c = 0;

	assert_non_null(q);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || m[i].k != m[i - 1].k) {
			q[c++].k = m[i].k;
			q[c++].k = cut(test_rand(), j->cfg.key_bits);
		}
	for (uint64_t i = 0; i < 3; i++) {
		q[c++].k = i;
		q[c++].k = cut(~i, j->cfg.key_bits);
	}
	for (size_t i = c; i > 1; i--) {
		size_t o = test_rand() % i;
		struct pair x = q[i - 1];
		q[i - 1] = q[o];
		q[o] = x;
	}
	*nq = c;
	return q;
}

static inline void check_lists(struct job *j, const struct pair *m, size_t n, const struct pair *q,
			       size_t nq)
{
	const unsigned vb = j->cfg.value_bits;
	kht_keys keys = { gpu_pairs(q, nq, 0, j->cfg.key_bits), nq };
	kht_lists out = { gpu_new((nq + 1) * 8), NULL, 8 };
	uint64_t *list = malloc(n * 8 + 8);
	kh_err err;

	for (size_t i = 0; i < nq; i++)
		out.capacity += multiplicity(m, n, q[i].k);

	out.values = gpu_new(out.capacity * vb / 8);
	ok(j, kht_table_retrieve(j->t, &keys, &out, NULL, &err), &err);
	ok(j, kht_table_status(j->t, NULL, NULL, &err), &err);
	uint64_t *offset = gpu_take(j, out.offsets, (nq + 1) * 8);
	void *values = gpu_take(j, out.values, out.capacity * vb / 8);
	CHECK(j, offset[0] == 0);
	for (size_t i = 0; i < nq; i++) {
		size_t r = multiplicity(m, n, q[i].k), first = lower(m, n, q[i].k);

		if (!(j->sys->can & KHT_TABLE_MULTI)) {
			CHECK(j, offset[i + 1] - offset[i] == (r > 0));
			CHECK(j, !r || has_pair(m, n, q[i].k, at(values, offset[i], vb)));
			continue;
		}
		CHECK(j, offset[i + 1] - offset[i] == r);
		for (size_t k = 0; k < r; k++)
			list[k] = at(values, offset[i] + k, vb);
		qsort(list, r, sizeof *list, by_u64);
		for (size_t k = 0; k < r; k++)
			CHECK(j, list[k] == m[first + k].v);
	}
	cuda_ok(cudaFree((void *)keys.keys));
	free(offset);
	free(values);
	free(list);
}

static inline void check_counts(struct job *j, const struct pair *m, size_t n, const struct pair *q,
				size_t nq)
{
	kht_keys keys = { gpu_pairs(q, nq, 0, j->cfg.key_bits), nq };
	bool multi = j->sys->can & KHT_TABLE_MULTI || strcmp(j->sys->name, "counting") == 0;
	kh_err err;

	for (int join = 0; join < 2; join++) {
		uint32_t *d = gpu_new(nq * 4);

		if (join && !(j->sys->can & KHT_TABLE_JOIN)) {
			cuda_ok(cudaFree(d));
			continue;
		}
		ok(j, (join ? kht_table_join : kht_table_count)(j->t, &keys, d, NULL, &err), &err);
		uint32_t *c = gpu_take(j, d, nq * 4);
		for (size_t i = 0; i < nq; i++) {
			size_t r = multiplicity(m, n, q[i].k);
			CHECK(j, c[i] == (multi ? r : r > 0));
		}
		free(c);
	}
	cuda_ok(cudaFree((void *)keys.keys));
}

static inline void check_fold(struct job *j, const struct pair *m, size_t n, const struct pair *q,
			      size_t nq)
{
	kht_keys keys = { gpu_pairs(q, nq, 0, j->cfg.key_bits), nq };
	uint64_t *d = gpu_new(nq * 8), *sum;
	kh_err err;

	ok(j, kht_table_fold(j->t, &keys, d, NULL, &err), &err);
	sum = gpu_take(j, d, nq * 8);
	for (size_t i = 0; i < nq; i++) {
		uint64_t want = 0;
		size_t r = multiplicity(m, n, q[i].k), first = lower(m, n, q[i].k);

		for (size_t k = 0; k < r; k++)
			want += m[first + k].v;
		if (j->sys->can & KHT_TABLE_MULTI)
			CHECK(j, sum[i] == want);
		else
			CHECK(j, r ? has_pair(m, n, q[i].k, sum[i]) : sum[i] == 0);
	}
	cuda_ok(cudaFree((void *)keys.keys));
	free(sum);
}

static inline void check_find(struct job *j, const struct pair *m, size_t n, const struct pair *q,
			      size_t nq)
{
	const unsigned vb = j->cfg.value_bits;
	kht_keys keys = { gpu_pairs(q, nq, 0, j->cfg.key_bits), nq };
	kht_found out = { gpu_new(nq * vb / 8), gpu_new(nq), MISSING };
	kh_err err;

	ok(j, kht_table_find(j->t, &keys, &out, NULL, &err), &err);
	void *v = gpu_take(j, out.values, nq * vb / 8);
	uint8_t *f = gpu_take(j, out.found, nq);
	for (size_t i = 0; i < nq; i++) {
		size_t r = multiplicity(m, n, q[i].k);
		uint64_t got = at(v, i, vb);

		CHECK(j, f[i] == (r > 0));
		if (!r)
			CHECK(j, got == cut(MISSING, vb));
		else if (strcmp(j->sys->name, "counting") == 0)
			CHECK(j, got == r);
		else
			CHECK(j, (j->sys->can & KHT_TABLE_NO_VALUES) ? got == 1
								     : has_pair(m, n, q[i].k, got));
	}
	cuda_ok(cudaFree((void *)keys.keys));
	free(v);
	free(f);
}

/* The table holds the pairs of p, in any order; sorts p. */
static inline void check_all(struct job *j, struct pair *p, size_t n)
{
	size_t nq;
	kh_err err;

	qsort(p, n, sizeof *p, by_pair);
	struct pair *q = make_queries(j, p, n, &nq);
	ok(j, kht_table_status(j->t, NULL, NULL, &err), &err);
	check_counts(j, p, n, q, nq);
	if (j->sys->can & KHT_TABLE_FIND)
		check_find(j, p, n, q, nq);
	if (!(j->sys->can & KHT_TABLE_NO_VALUES)) {
		check_lists(j, p, n, q, nq);
		check_fold(j, p, n, q, nq);
	}
	free(q);
}

/* Calls f for every exact system that can do `can`, and all widths it takes. */
static inline void each_system(unsigned can, void (*f)(struct job *))
{
	static const unsigned widths[4][2] = { { 32, 32 }, { 32, 64 }, { 64, 32 }, { 64, 64 } };
	const char *only = getenv("KH_TABLE");

	for (const kht_table_system *s = kht_table_systems; s->name; s++) {
		if ((s->can & can) != can || (s->can & KHT_TABLE_INEXACT) ||
		    (only && strcmp(only, s->name) != 0))
			continue;
		for (int w = 0; w < 4; w++) {
			struct job j = { .sys = s, .what = "" };

			if (((s->can & KHT_TABLE_NO_VALUES) && widths[w][1] == 64) ||
			    (small() && (w == 1 || w == 2)))
				continue;
			j.cfg.key_bits = widths[w][0];
			j.cfg.value_bits = widths[w][1];
			j.cfg.capacity = 1000;
			f(&j);
		}
	}
}

/* n pairs over about `distinct` keys. */
static inline struct pair *make_pairs(const struct job *j, size_t n, uint64_t distinct)
{
	struct pair *p = malloc((n + 8) * sizeof *p);
	uint64_t salt = test_rand();

	assert_non_null(p);
	for (size_t i = 0; i < n; i++) {
		uint64_t k = test_rand() % distinct;
		p[i].k = cut((k + salt) * UINT64_C(0x9e3779b97f4a7c15) >> 7, j->cfg.key_bits);
		p[i].v = cut(test_rand(), j->cfg.value_bits);
	}
	return p;
}

static inline void run_pairs(struct job *j, struct pair *p, size_t n, const char *what)
{
	j->what = what;
	j->cfg.capacity = n ? n : 1;
	j->cfg.side = n + 1;
	open_job(j);
	insert(j, p, n);
	check_all(j, p, n);
	kht_table_close(j->t);
}

/* Runs the tests where there is a GPU. */
static inline int run_on_gpu(void)
{
	int n = 0;
	const cudaError_t e = cudaGetDeviceCount(&n);

	return n > 0 ? test_run(NULL, NULL) : test_no_gpu(cudaGetErrorString(e));
}

#endif
