/*
 * harness.h - every GPU hash table against a sorted array on the host: what the
 * tests of tables share
 *
 * KH_SEED repeats a run; KH_TABLE=name keeps to one system; KH_SMALL=1 shrinks the large
 * cases (for compute-sanitizer).
 */
#ifndef KHT_TESTS_HARNESS_H
#define KHT_TESTS_HARNESS_H

#include "tests/test.h"
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

static inline void gpu_free(const void *d) { cuda_ok(cudaFree((void *)(uintptr_t)d)); }

static inline kht_keys gpu_keys(const struct job *j, const struct pair *p, size_t n)
{
	return (kht_keys) { gpu_pairs(p, n, 0, j->cfg.key_bits), n };
}

static inline kht_kv gpu_kv(const struct job *j, const struct pair *p, size_t n)
{
	return (kht_kv) { gpu_pairs(p, n, 0, j->cfg.key_bits),
			  gpu_pairs(p, n, 1, j->cfg.value_bits), n };
}

static inline void open_job(struct job *j, const char *what, size_t capacity)
{
	kh_err err;

	j->what = what;
	j->cfg.capacity = capacity;
	ok(j, kht_table_open(j->sys->name, &j->cfg, NULL, &j->t, &err), &err);
}

static inline void insert(struct job *j, const struct pair *p, size_t n)
{
	const kht_kv kv = gpu_kv(j, p, n);
	kh_err err;

	ok(j, kht_table_insert(j->t, &kv, NULL, &err), &err);
	cuda_ok(cudaDeviceSynchronize());
	gpu_free(kv.keys);
	gpu_free(kv.values);
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

static inline bool is_multi(const struct job *j) { return j->sys->can & KHT_TABLE_MULTI; }
static inline bool is_counter(const struct job *j) { return strcmp(j->sys->name, "counting") == 0; }

/* In lists of a key that the model has r times. */
static inline size_t listed(const struct job *j, size_t r) { return is_multi(j) ? r : r > 0; }

/* --- checks ---------------------------------------------------------------------------
 */

static inline void shuffle(struct pair *p, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		const size_t o = test_rand() % i;
		const struct pair x = p[i - 1];

		p[i - 1] = p[o];
		p[o] = x;
	}
}

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
	shuffle(q, c);
	*nq = c;
	return q;
}

/* What a table says of queries, as far as it can be asked. */
struct said {
	uint32_t *count[2]; /* of kht_table_count() and kht_table_join() */
	void *value, *list;
	uint8_t *found;
	uint64_t *offset, *sum;
};

/* `room`: values in all lists. */
static inline struct said ask(struct job *j, const struct pair *q, size_t nq, size_t room)
{
	const size_t vb = j->cfg.value_bits / 8;
	const kht_keys keys = gpu_keys(j, q, nq);
	struct said s = { .found = NULL };
	kh_err err;

	for (int join = 0; join <= !!(j->sys->can & KHT_TABLE_JOIN); join++) {
		uint32_t *d = gpu_new(nq * 4);

		ok(j, (join ? kht_table_join : kht_table_count)(j->t, &keys, d, NULL, &err), &err);
		s.count[join] = gpu_take(j, d, nq * 4);
	}
	if (j->sys->can & KHT_TABLE_FIND) {
		const kht_found out = { gpu_new(nq * vb), gpu_new(nq), MISSING };

		ok(j, kht_table_find(j->t, &keys, &out, NULL, &err), &err);
		s.value = gpu_take(j, out.values, nq * vb);
		s.found = gpu_take(j, out.found, nq);
	}
	if (!(j->sys->can & KHT_TABLE_NO_VALUES)) {
		const kht_lists out = { gpu_new((nq + 1) * 8), gpu_new(room * vb), room };
		uint64_t *d = gpu_new(nq * 8);

		ok(j, kht_table_retrieve(j->t, &keys, &out, NULL, &err), &err);
		ok(j, kht_table_status(j->t, NULL, NULL, &err), &err);
		ok(j, kht_table_fold(j->t, &keys, d, NULL, &err), &err);
		s.offset = gpu_take(j, out.offsets, (nq + 1) * 8);
		s.list = gpu_take(j, out.values, room * vb);
		s.sum = gpu_take(j, d, nq * 8);
	}
	gpu_free(keys.keys);
	return s;
}

/* A list of a key has its values, in any order, or one of them. */
static inline void check_list(const struct job *j, const struct pair *m, size_t n, uint64_t k,
			      const void *values, size_t from, size_t many)
{
	const size_t first = lower(m, n, k);
	uint64_t *list = malloc(many * 8 + 8);

	CHECK(j, many == listed(j, multiplicity(m, n, k)));
	for (size_t i = 0; i < many; i++)
		list[i] = at(values, from + i, j->cfg.value_bits);
	qsort(list, many, sizeof *list, by_u64);
	for (size_t i = 0; i < many; i++)
		CHECK(j, is_multi(j) ? list[i] == m[first + i].v : has_pair(m, n, k, list[i]));
	free(list);
}

/* Is what was said of query i, of key k, what the sorted model has? */
static inline void check_said(const struct job *j, const struct pair *m, size_t n,
			      const struct said *s, size_t i, uint64_t k)
{
	const size_t r = multiplicity(m, n, k), first = lower(m, n, k);
	const unsigned vb = j->cfg.value_bits;
	uint64_t sum = 0;

	for (int join = 0; join < 2; join++)
		if (s->count[join])
			CHECK(j, s->count[join][i] == (is_counter(j) ? r : listed(j, r)));
	if (s->found) {
		const uint64_t got = at(s->value, i, vb);

		CHECK(j, s->found[i] == (r > 0));
		if (!r)
			CHECK(j, got == cut(MISSING, vb));
		else if (j->sys->can & KHT_TABLE_NO_VALUES)
			CHECK(j, got == (is_counter(j) ? r : 1));
		else
			CHECK(j, has_pair(m, n, k, got));
	}
	if (!s->list)
		return;
	check_list(j, m, n, k, s->list, s->offset[i], s->offset[i + 1] - s->offset[i]);
	for (size_t x = first; x < first + r; x++)
		sum += m[x].v;
	if (is_multi(j))
		CHECK(j, s->sum[i] == sum);
	else
		CHECK(j, r ? has_pair(m, n, k, s->sum[i]) : s->sum[i] == 0);
}

/* The table holds the pairs of p, in any order; sorts p. */
static inline void check_all(struct job *j, struct pair *p, size_t n)
{
	size_t nq, room = 0;
	kh_err err;

	qsort(p, n, sizeof *p, by_pair);
	struct pair *q = make_queries(j, p, n, &nq);
	for (size_t i = 0; i < nq; i++)
		room += multiplicity(p, n, q[i].k);
	ok(j, kht_table_status(j->t, NULL, NULL, &err), &err);
	struct said s = ask(j, q, nq, room);
	CHECK(j, !s.list || s.offset[0] == 0);
	for (size_t i = 0; i < nq; i++)
		check_said(j, p, n, &s, i, q[i].k);
	void *const all[] = { s.count[0], s.count[1], s.value, s.list, s.found, s.offset, s.sum };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		free(all[i]);
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
	j->cfg.side = n + 1;
	open_job(j, what, n ? n : 1);
	insert(j, p, n);
	check_all(j, p, n);
	kht_table_close(j->t);
}

/* The same of pairs made here. */
static inline void run_made(struct job *j, size_t n, uint64_t distinct, const char *what)
{
	struct pair *p = make_pairs(j, n, distinct);

	run_pairs(j, p, n, what);
	free(p);
}

/* Runs the tests where there is a GPU. */
static inline int run_on_gpu(void)
{
	int n = 0;
	const cudaError_t e = cudaGetDeviceCount(&n);

	return n > 0 ? test_run(NULL, NULL) : test_no_gpu(cudaGetErrorString(e));
}

#endif
