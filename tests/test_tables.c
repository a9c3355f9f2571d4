/*
 * test_tables.c - every GPU hash table against a sorted array on the host
 *
 * Tables: 1 helpers, 2 the model, 3 checks, 4 the cases.
 * KH_SEED repeats a run; KH_TABLE=name keeps to one system; KH_SMALL=1 shrinks the large
 * cases (for compute-sanitizer).
 */
#include "test.h"
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <string.h>
#include "index.h"
#include "table.h"

#define GUARD 64
#define MISSING UINT64_C(0x5a5a5a5a5a5a5a5a)

/* --- 1 helpers ----------------------------------------------------------------------- */

struct pair { uint64_t k, v; };

struct job {                            /* one table with its widths, for messages */
	const kh_table_system *sys;
	kh_table_config cfg;
	kh_table *t;
	const char *what;
};

static bool small(void)
{
	return getenv("KH_SMALL") != NULL;
}

#define CHECK(j, cond) do { if (!(cond)) fail_msg("%s %u/%u, %s: %s", (j)->sys->name, \
	(j)->cfg.key_bits, (j)->cfg.value_bits, (j)->what, #cond); } while (0)

static void ok(const struct job *j, int rc, const kh_err *err)
{
	if (rc)
		fail_msg("%s %u/%u, %s: %s", j->sys->name, j->cfg.key_bits, j->cfg.value_bits,
			 j->what, err->msg);
}

static void cuda_ok(cudaError_t e)
{
	if (e != cudaSuccess)
		fail_msg("CUDA: %s", cudaGetErrorString(e));
}

static uint64_t cut(uint64_t x, unsigned bits)
{
	return bits == 32 ? (uint32_t)x : x;
}

static uint64_t at(const void *p, size_t i, unsigned bits)
{
	return bits == 32 ? ((const uint32_t *)p)[i] : ((const uint64_t *)p)[i];
}

static void put(void *p, size_t i, unsigned bits, uint64_t x)
{
	if (bits == 32)
		((uint32_t *)p)[i] = (uint32_t)x;
	else
		((uint64_t *)p)[i] = x;
}

/* Device memory with a guard behind, poisoned. */
static void *gpu_new(size_t bytes)
{
	void *p;

	cuda_ok(cudaMalloc(&p, bytes + GUARD));
	cuda_ok(cudaMemset(p, 0xa5, bytes + GUARD));
	return p;
}

/* Copies to new host memory, checks the guard, frees the device's. */
static void *gpu_take(const struct job *j, void *d, size_t bytes)
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
static void *gpu_pairs(const struct pair *p, size_t n, int field, unsigned bits)
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

static void open_job(struct job *j)
{
	kh_err err;

	ok(j, kh_table_open(j->sys->name, &j->cfg, NULL, &j->t, &err), &err);
}

static void insert(struct job *j, const struct pair *p, size_t n)
{
	kh_kv kv = { gpu_pairs(p, n, 0, j->cfg.key_bits), gpu_pairs(p, n, 1, j->cfg.value_bits), n };
	kh_err err;

	ok(j, kh_table_insert(j->t, &kv, NULL, &err), &err);
	cuda_ok(cudaDeviceSynchronize());
	cuda_ok(cudaFree((void *)kv.keys));
	cuda_ok(cudaFree((void *)kv.values));
}

/* --- 2 the model ----------------------------------------------------------------------- */

static int by_pair(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->k != y->k)
		return x->k < y->k ? -1 : 1;
	return (x->v > y->v) - (x->v < y->v);
}

static int by_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* First pair of the sorted array with a key not below k. */
static size_t lower(const struct pair *m, size_t n, uint64_t k)
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

static size_t multiplicity(const struct pair *m, size_t n, uint64_t k)
{
	size_t i = lower(m, n, k), j = i;

	while (j < n && m[j].k == k)
		j++;
	return j - i;
}

static bool has_pair(const struct pair *m, size_t n, uint64_t k, uint64_t v)
{
	for (size_t i = lower(m, n, k); i < n && m[i].k == k; i++)
		if (m[i].v == v)
			return true;
	return false;
}

/* --- 3 checks --------------------------------------------------------------------------- */

/* Queries: each key of the sorted model, as many others, and the marks. */
static struct pair *make_queries(const struct job *j, const struct pair *m, size_t n, size_t *nq)
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

static void check_lists(struct job *j, const struct pair *m, size_t n, const struct pair *q, size_t nq)
{
	const unsigned vb = j->cfg.value_bits;
	kh_keys keys = { gpu_pairs(q, nq, 0, j->cfg.key_bits), nq };
	kh_lists out = { gpu_new((nq + 1) * 8), NULL, 8 };
	uint64_t *list = malloc(n * 8 + 8);
	kh_err err;

	for (size_t i = 0; i < nq; i++)
		out.capacity += multiplicity(m, n, q[i].k);

	out.values = gpu_new(out.capacity * vb / 8);
	ok(j, kh_table_retrieve(j->t, &keys, &out, NULL, &err), &err);
	ok(j, kh_table_status(j->t, NULL, NULL, &err), &err);
	uint64_t *offset = gpu_take(j, out.offsets, (nq + 1) * 8);
	void *values = gpu_take(j, out.values, out.capacity * vb / 8);
	CHECK(j, offset[0] == 0);
	for (size_t i = 0; i < nq; i++) {
		size_t r = multiplicity(m, n, q[i].k), first = lower(m, n, q[i].k);

		if (!(j->sys->can & KH_TABLE_MULTI)) {
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

static void check_counts(struct job *j, const struct pair *m, size_t n, const struct pair *q, size_t nq)
{
	kh_keys keys = { gpu_pairs(q, nq, 0, j->cfg.key_bits), nq };
	bool multi = j->sys->can & KH_TABLE_MULTI || strcmp(j->sys->name, "counting") == 0;
	kh_err err;

	for (int join = 0; join < 2; join++) {
		uint32_t *d = gpu_new(nq * 4);

		if (join && strncmp(j->sys->name, "hashgraph", 9) != 0) {
			cuda_ok(cudaFree(d));
			continue;
		}
		ok(j, (join ? kh_table_join : kh_table_count)(j->t, &keys, d, NULL, &err), &err);
		uint32_t *c = gpu_take(j, d, nq * 4);
		for (size_t i = 0; i < nq; i++) {
			size_t r = multiplicity(m, n, q[i].k);
			CHECK(j, c[i] == (multi ? r : r > 0));
		}
		free(c);
	}
	cuda_ok(cudaFree((void *)keys.keys));
}

static void check_fold(struct job *j, const struct pair *m, size_t n, const struct pair *q, size_t nq)
{
	kh_keys keys = { gpu_pairs(q, nq, 0, j->cfg.key_bits), nq };
	uint64_t *d = gpu_new(nq * 8), *sum;
	kh_err err;

	ok(j, kh_table_fold(j->t, &keys, d, NULL, &err), &err);
	sum = gpu_take(j, d, nq * 8);
	for (size_t i = 0; i < nq; i++) {
		uint64_t want = 0;
		size_t r = multiplicity(m, n, q[i].k), first = lower(m, n, q[i].k);

		for (size_t k = 0; k < r; k++)
			want += m[first + k].v;
		if (j->sys->can & KH_TABLE_MULTI)
			CHECK(j, sum[i] == want);
		else
			CHECK(j, r ? has_pair(m, n, q[i].k, sum[i]) : sum[i] == 0);
	}
	cuda_ok(cudaFree((void *)keys.keys));
	free(sum);
}

static void check_find(struct job *j, const struct pair *m, size_t n, const struct pair *q, size_t nq)
{
	const unsigned vb = j->cfg.value_bits;
	kh_keys keys = { gpu_pairs(q, nq, 0, j->cfg.key_bits), nq };
	kh_found out = { gpu_new(nq * vb / 8), gpu_new(nq), MISSING };
	kh_err err;

	ok(j, kh_table_find(j->t, &keys, &out, NULL, &err), &err);
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
			CHECK(j, (j->sys->can & KH_TABLE_NO_VALUES) ? got == 1
								    : has_pair(m, n, q[i].k, got));
	}
	cuda_ok(cudaFree((void *)keys.keys));
	free(v);
	free(f);
}

/* The table holds the pairs of p, in any order; sorts p. */
static void check_all(struct job *j, struct pair *p, size_t n)
{
	size_t nq;
	kh_err err;

	qsort(p, n, sizeof *p, by_pair);
	struct pair *q = make_queries(j, p, n, &nq);
	ok(j, kh_table_status(j->t, NULL, NULL, &err), &err);
	check_counts(j, p, n, q, nq);
	if (j->sys->can & KH_TABLE_FIND)
		check_find(j, p, n, q, nq);
	if (!(j->sys->can & KH_TABLE_NO_VALUES)) {
		check_lists(j, p, n, q, nq);
		check_fold(j, p, n, q, nq);
	}
	free(q);
}

/* --- 4 the cases ------------------------------------------------------------------------- */

/* Calls f for every exact system that can do `can`, and all widths it takes. */
static void each_system(unsigned can, void (*f)(struct job *))
{
	static const unsigned widths[4][2] = { { 32, 32 }, { 32, 64 }, { 64, 32 }, { 64, 64 } };
	const char *only = getenv("KH_TABLE");

	for (const kh_table_system *s = kh_table_systems; s->name; s++) {
		if ((s->can & can) != can || (s->can & KH_TABLE_INEXACT) ||
		    (only && strcmp(only, s->name) != 0))
			continue;
		for (int w = 0; w < 4; w++) {
			struct job j = { .sys = s, .what = "" };

			if (((s->can & KH_TABLE_NO_VALUES) && widths[w][1] == 64) ||
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
static struct pair *make_pairs(const struct job *j, size_t n, uint64_t distinct)
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

static void run_pairs(struct job *j, struct pair *p, size_t n, const char *what)
{
	j->what = what;
	j->cfg.capacity = n ? n : 1;
	j->cfg.side = n + 1;
	open_job(j);
	insert(j, p, n);
	check_all(j, p, n);
	kh_table_close(j->t);
}

static void sizes(struct job *j)
{
	static const size_t n[] = { 0, 1, 31, 32, 33, 255, 256, 257, 5000 };

	for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
		struct pair *p = make_pairs(j, n[i], n[i] * 4 + 1);
		run_pairs(j, p, n[i], "unique");
		free(p);
		p = make_pairs(j, n[i], n[i] / 8 + 1);
		run_pairs(j, p, n[i], "eight a key");
		free(p);
	}
}

static void test_sizes(void **state)
{
	(void)state;
	each_system(0, sizes);
}

static void equal_keys(struct job *j)
{
	static const uint64_t key[] = { 0, ~UINT64_C(0), ~UINT64_C(1), 0x12345678 };

	for (size_t k = 0; k < 4; k++) {
		struct pair *p = make_pairs(j, 700, 700);
		for (size_t i = 0; i < 700; i++)
			p[i].k = cut(key[k], j->cfg.key_bits);
		run_pairs(j, p, 700, "one key");
		free(p);
	}
}

static void test_equal_keys(void **state)
{
	(void)state;
	each_system(0, equal_keys);
}

/* Marks among other keys; each with a few values, those of all bits set among them. */
static void marks(struct job *j)
{
	struct pair *p = make_pairs(j, 900, 300);

	for (size_t i = 0; i < 60; i++) {
		p[i * 15].k = cut(i % 3 == 0 ? 0 : i % 3 == 1 ? ~UINT64_C(0) : ~UINT64_C(1), j->cfg.key_bits);
		p[i * 15].v = cut(i % 4 == 0 ? ~UINT64_C(0) : i, j->cfg.value_bits);
	}
	run_pairs(j, p, 900, "marks");
	free(p);
}

static void test_marks(void **state)
{
	(void)state;
	each_system(0, marks);
}

static void groups(struct job *j)
{
	for (unsigned g = 1; g <= 32; g *= small() ? 8 : 2)
		for (int layout = KH_LAYOUT_PACKED; layout <= KH_LAYOUT_SOA; layout++) {
			bool open = strcmp(j->sys->name, "single") == 0 || strcmp(j->sys->name, "multi") == 0;
			struct pair *p;

			if (layout == KH_LAYOUT_PACKED && (j->cfg.key_bits != 32 || j->cfg.value_bits != 32))
				continue;
			if (!open && layout != KH_LAYOUT_SOA)
				continue;
			p = make_pairs(j, 3000, 1500);
			j->cfg.group = g;
			j->cfg.load = 0.97;
			j->cfg.layout = (enum kh_layout)layout;
			run_pairs(j, p, 3000, "groups and layouts");
			free(p);
		}
}

static void test_groups(void **state)
{
	(void)state;
	each_system(KH_TABLE_DYNAMIC, groups);
}

/* Several inserts, the last of them with known keys. */
static void batches(struct job *j)
{
	struct pair *p = make_pairs(j, 4000, 9000);

	j->what = "batches";
	j->cfg.capacity = 4000;
	open_job(j);
	for (size_t from = 0, n = 1; from < 4000; from += n, n = n * 2 + 1)
		insert(j, p + from, from + n < 4000 ? n : 4000 - from);
	check_all(j, p, 4000);
	kh_table_close(j->t);
	free(p);
}

static void test_batches(void **state)
{
	(void)state;
	each_system(KH_TABLE_DYNAMIC, batches);
}

/* Twice as many keys as slots: those that fail are counted, the others are there. */
static void full(struct job *j)
{
	struct pair *p = make_pairs(j, 4000, UINT64_C(1) << 40), *s = p;
	kh_table_stats st;
	kh_err err;

	j->what = "full";
	j->cfg.capacity = 1000;
	j->cfg.load = 0.9;
	j->cfg.pool = strcmp(j->sys->name, "dachash") == 0 ? 4 : 1500;
	open_job(j);
	insert(j, p, 4000);
	CHECK(j, kh_table_status(j->t, NULL, &st, &err) == KH_ENOMEM);
	CHECK(j, st.failed > 0 && st.failed < 4000);
	if (strcmp(j->sys->name, "bucketlist") != 0) {
		size_t d = 0;
		qsort(s, 4000, sizeof *s, by_pair);
		for (size_t i = 0; i < 4000; i++)
			d += i == 0 || s[i].k != s[i - 1].k;
		CHECK(j, st.pairs + st.failed == (j->sys->can & KH_TABLE_MULTI ? 4000 : d));
	}
	kh_table_close(j->t);
	free(p);
}

static void test_full(void **state)
{
	(void)state;
	each_system(KH_TABLE_DYNAMIC, full);
}

/* Less room than values: reported, nothing written beyond. */
static void truncated(struct job *j)
{
	struct pair *p = make_pairs(j, 3000, 500);
	kh_keys q = { gpu_pairs(p, 3000, 0, j->cfg.key_bits), 3000 };
	kh_lists out = { gpu_new(3001 * 8), gpu_new(100 * j->cfg.value_bits / 8), 100 };
	kh_err err;

	j->what = "truncated";
	j->cfg.capacity = 3000;
	open_job(j);
	insert(j, p, 3000);
	ok(j, kh_table_retrieve(j->t, &q, &out, NULL, &err), &err);
	CHECK(j, kh_table_status(j->t, NULL, NULL, &err) == KH_ENOMEM);
	free(gpu_take(j, out.offsets, 3001 * 8));
	free(gpu_take(j, out.values, 100 * j->cfg.value_bits / 8));
	cuda_ok(cudaFree((void *)q.keys));
	kh_table_close(j->t);
	free(p);
}

static void test_truncated(void **state)
{
	(void)state;
	each_system(KH_TABLE_MULTI, truncated);
}

static void erased(struct job *j)
{
	struct pair *p = make_pairs(j, 3000, 2000), *left;
	size_t n = 0;
	kh_err err;

	j->what = "erase";
	j->cfg.capacity = 6000;
	open_job(j);
	for (size_t i = 0; i < 6; i++)
		p[i].k = cut(i < 3 ? i : ~(uint64_t)(i - 3), j->cfg.key_bits);
	insert(j, p, 3000);
	qsort(p, 3000, sizeof *p, by_pair);
	left = malloc(6000 * sizeof *left);
	struct pair *gone = malloc(3000 * sizeof *gone);
	size_t ng = 0;
	for (size_t i = 0; i < 3000; i++)
		if (p[i].k % 3 == 0)
			gone[ng++] = p[i];
		else
			left[n++] = p[i];
	kh_keys q = { gpu_pairs(gone, ng, 0, j->cfg.key_bits), ng };
	ok(j, kh_table_erase(j->t, &q, NULL, &err), &err);
	check_all(j, left, n);
	if (kh_table_can(j->t) & KH_TABLE_MIXED) {
		ok(j, kh_table_clean(j->t, NULL, &err), &err);
		check_all(j, left, n);
	}
	/* Slots of the erased take new keys. */
	struct pair *more = make_pairs(j, 2000, 2000);
	insert(j, more, 2000);
	for (size_t i = 0; i < 2000; i++)
		left[n++] = more[i];
	check_all(j, left, n);
	cuda_ok(cudaFree((void *)q.keys));
	kh_table_close(j->t);
	free(p);
	free(left);
	free(gone);
	free(more);
}

static void test_erased(void **state)
{
	(void)state;
	each_system(KH_TABLE_ERASE, erased);
}

/* Operations on distinct keys, in one batch; then what they left. */
static void mixed_once(struct job *j)
{
	const size_t n = 6000;
	const unsigned vb = j->cfg.value_bits;
	struct pair *p = malloc(2 * n * sizeof *p), *left = malloc(2 * n * sizeof *left);
	uint8_t *op = malloc(n);
	size_t nl = 0;
	kh_err err;

	j->cfg.capacity = n;
	open_job(j);
	for (size_t i = 0; i < 2 * n; i++)
		p[i] = (struct pair) { cut((i + 7) * UINT64_C(0x9e3779b97f4a7c15), j->cfg.key_bits), i + 1 };
	insert(j, p, n / 2);            /* the first half is there before */
	for (size_t i = 0; i < n; i++) {
		op[i] = test_rand() % 4;
		if (op[i] == KH_OP_INSERT || op[i] == KH_OP_UPDATE) {
			left[nl++] = (struct pair) { p[i].k, p[i].v + 100000 };
			p[i].v += 100000;
		} else if (op[i] == KH_OP_SEARCH && i < n / 2) {
			left[nl++] = p[i];
		}
	}
	kh_ops o = { gpu_new(n), gpu_pairs(p, n, 0, j->cfg.key_bits), gpu_pairs(p, n, 1, vb), n, MISSING };
	cuda_ok(cudaMemcpy((void *)o.op, op, n, cudaMemcpyHostToDevice));
	ok(j, kh_table_mixed(j->t, &o, NULL, &err), &err);
	void *v = gpu_take(j, o.values, n * vb / 8);
	for (size_t i = 0; i < n; i++)
		if (op[i] == KH_OP_SEARCH)
			CHECK(j, at(v, i, vb) == (i < n / 2 ? i + 1 : cut(MISSING, vb)));
	check_all(j, left, nl);
	ok(j, kh_table_clean(j->t, NULL, &err), &err);
	check_all(j, left, nl);
	cuda_ok(cudaFree((void *)o.op));
	cuda_ok(cudaFree((void *)o.keys));
	kh_table_close(j->t);
	free(v);
	free(p);
	free(left);
	free(op);
}

static void mixed(struct job *j)
{
	for (unsigned node = 1; node <= 32; node *= small() ? 8 : 2)
		for (int k = 0; k < 4; k++) {
			j->what = k & 1 ? "mixed, reordered" : "mixed";
			j->cfg.node = node;
			j->cfg.reorder = k & 1;
			j->cfg.mapping = k & 2 ? KH_MAP_MANY : KH_MAP_ONE;
			j->cfg.length = k & 2 ? 2.5 : 0.4;
			mixed_once(j);
		}
}

static void test_mixed(void **state)
{
	(void)state;
	each_system(KH_TABLE_MIXED, mixed);
}

/* One key with very many values among others, and a large batch, by known sums. */
static void large(struct job *j)
{
	const size_t n = small() ? 20000 : 10000000, heavy = small() ? 2000 : 1000000, d = n / 10;
	const unsigned kb = j->cfg.key_bits, vb = j->cfg.value_bits;
	bool multi = j->sys->can & KH_TABLE_MULTI, counts = strcmp(j->sys->name, "counting") == 0;
	bool slow = strcmp(j->sys->name, "multi") == 0;
	size_t of_heavy = slow ? heavy / 20 : heavy, total = n + of_heavy;
	struct pair *p = malloc(total * sizeof *p);
	kh_err err;

	j->what = "large";
	for (size_t i = 0; i < total; i++) {
		uint64_t k = i < n ? i % d : d;
		p[i] = (struct pair) { cut((k + 1) * UINT64_C(0x9e3779b97f4a7c15), kb), i };
	}
	j->cfg.capacity = total;
	j->cfg.distinct = 2 * d;
	if (!multi)
		j->cfg.capacity = 2 * d;
	if (!(j->sys->can & KH_TABLE_DYNAMIC))
		j->cfg.capacity = total;
	j->cfg.group = slow ? 32 : 0;
	open_job(j);
	insert(j, p, total);
	ok(j, kh_table_status(j->t, NULL, NULL, &err), &err);
	kh_keys q = { gpu_pairs(p, d, 0, kb), d };
	struct pair h = { p[n].k, 0 };
	kh_keys one = { gpu_pairs(&h, 1, 0, kb), 1 };
	uint32_t *c = gpu_new(d * 4), *hc = gpu_new(4);
	ok(j, kh_table_count(j->t, &q, c, NULL, &err), &err);
	ok(j, kh_table_count(j->t, &one, hc, NULL, &err), &err);
	c = gpu_take(j, c, d * 4);
	hc = gpu_take(j, hc, 4);
	for (size_t i = 0; i < d; i++)
		CHECK(j, c[i] == (multi || counts ? 10 : 1));
	CHECK(j, hc[0] == (multi || counts ? of_heavy : 1));
	if (multi) {
		kh_lists out = { gpu_new((d + 1) * 8), gpu_new(n * vb / 8), n };
		kh_lists l1 = { gpu_new(16), gpu_new(of_heavy * vb / 8), of_heavy };
		uint64_t sum = 0, want = 0;

		ok(j, kh_table_retrieve(j->t, &q, &out, NULL, &err), &err);
		ok(j, kh_table_retrieve(j->t, &one, &l1, NULL, &err), &err);
		ok(j, kh_table_status(j->t, NULL, NULL, &err), &err);
		uint64_t *off = gpu_take(j, out.offsets, (d + 1) * 8);
		void *v = gpu_take(j, out.values, n * vb / 8), *v1 = gpu_take(j, l1.values, of_heavy * vb / 8);
		free(gpu_take(j, l1.offsets, 16));
		for (size_t i = 0; i < d; i++)
			for (uint64_t k = off[i]; k < off[i + 1]; k++)
				CHECK(j, at(v, k, vb) % d == i);
		for (size_t i = 0; i < of_heavy; i++) {
			sum += at(v1, i, vb);
			want += n + i;
		}
		CHECK(j, sum == want);
		free(off);
		free(v);
		free(v1);
	}
	cuda_ok(cudaFree((void *)q.keys));
	cuda_ok(cudaFree((void *)one.keys));
	free(c);
	free(hc);
	free(p);
	kh_table_close(j->t);
}

static void test_large(void **state)
{
	(void)state;
	each_system(0, large);
}

/* Inserts on four streams at once, then look-ups on four. */
static void streams(struct job *j)
{
	const size_t n = 4000;
	struct pair *p = make_pairs(j, n, 3000);
	cudaStream_t s[4];
	uint32_t *c[4];
	kh_kv kv[4];
	kh_err err;

	j->what = "streams";
	j->cfg.capacity = n;
	open_job(j);
	cuda_ok(cudaDeviceSynchronize());
	for (int i = 0; i < 4; i++) {
		cuda_ok(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
		kv[i] = (kh_kv) { gpu_pairs(p + i * n / 4, n / 4, 0, j->cfg.key_bits),
				  gpu_pairs(p + i * n / 4, n / 4, 1, j->cfg.value_bits), n / 4 };
		c[i] = gpu_new(n / 4 * 4);
	}
	for (int i = 0; i < 4; i++)
		ok(j, kh_table_insert(j->t, &kv[i], s[i], &err), &err);
	cuda_ok(cudaDeviceSynchronize());
	for (int i = 0; i < 4; i++) {
		kh_keys q = { kv[i].keys, n / 4 };
		ok(j, kh_table_count(j->t, &q, c[i], s[i], &err), &err);
	}
	cuda_ok(cudaDeviceSynchronize());
	struct pair *m = malloc(n * sizeof *m);
	memcpy(m, p, n * sizeof *m);
	qsort(m, n, sizeof *m, by_pair);
	for (int i = 0; i < 4; i++) {
		uint32_t *h = gpu_take(j, c[i], n / 4 * 4);
		for (size_t k = 0; k < n / 4; k++)
			CHECK(j, h[k] == ((j->sys->can & KH_TABLE_MULTI) || strcmp(j->sys->name, "counting") == 0
					  ? multiplicity(m, n, p[i * n / 4 + k].k) : 1));
		free(h);
		cuda_ok(cudaFree((void *)kv[i].keys));
		cuda_ok(cudaFree((void *)kv[i].values));
		cuda_ok(cudaStreamDestroy(s[i]));
	}
	check_all(j, p, n);
	kh_table_close(j->t);
	free(m);
	free(p);
}

static void test_streams(void **state)
{
	(void)state;
	each_system(KH_TABLE_DYNAMIC, streams);
}

/* No false negatives; false positives near what the sizes promise. */
static void test_bloom(void **state)
{
	struct job j = { .sys = kh_table_system_find("bloom"), .what = "bloom" };
	const size_t n = 20000;
	kh_err err;

	(void)state;
	j.cfg = (kh_table_config) { .capacity = n, .key_bits = 64, .value_bits = 32, .bits = 12, .hashes = 6 };
	open_job(&j);
	struct pair *p = malloc(2 * n * sizeof *p);
	for (size_t i = 0; i < 2 * n; i++)
		p[i] = (struct pair) { i * UINT64_C(0x9e3779b97f4a7c15), 0 };
	insert(&j, p, n);
	kh_keys q = { gpu_pairs(p, 2 * n, 0, 64), 2 * n };
	uint32_t *c = gpu_new(2 * n * 4);
	ok(&j, kh_table_count(j.t, &q, c, NULL, &err), &err);
	c = gpu_take(&j, c, 2 * n * 4);
	size_t wrong = 0;
	for (size_t i = 0; i < 2 * n; i++)
		if (i < n)
			CHECK(&j, c[i] == 1);
		else
			wrong += c[i];
	CHECK(&j, wrong < n / 50);
	cuda_ok(cudaFree((void *)q.keys));
	kh_table_close(j.t);
	free(c);
	free(p);
}

/* One range of the product's index, made by src/index.c: the model of row 13. */
static void encode_range(kh_image *im, const struct pair *p, size_t n, kh_err *err)
{
	uint32_t end = 1, zero = 0;
	kh_taxonomy tax = { .n = 1, .parent = &zero, .end = &end };
	kh_bins bins = { .n = 1, .first = &zero, .taxon = &zero };
	kh_pairs in = { malloc(n * 8 + 8), malloc(n * 4 + 4), n };

	for (size_t i = 0; i < n; i++) {
		in.key[i] = p[i].k & ((UINT64_C(1) << 40) - 1);
		in.loc[i] = (uint32_t)p[i].v;
	}
	assert_int_equal(kh_index_encode(im, &in, &bins, &tax, err), KH_OK);
	free(in.key);
	free(in.loc);
}

/* The table of row 13 gives what src/index.c gives: merged entries, cap and all. */
static void index_case(struct job *j, struct pair *p, size_t n)
{
	static kh_range dir[KH_RANGES];
	struct pair *m = malloc((n + 1) * sizeof *m), *q;
	kh_image im[KH_RANGES] = { { .bucket = NULL } };
	size_t nq, total = 0;
	kh_err err;

	j->cfg.capacity = n ? n : 1;
	open_job(j);
	insert(j, p, n);
	qsort(p, n, sizeof *p, by_pair);
	q = make_queries(j, p, n, &nq);
	for (size_t i = 0; i < n; i++)
		m[i] = (struct pair) { kh_key(p[i].k), p[i].v };
	qsort(m, n, sizeof *m, by_pair);
	for (uint64_t r = 0; r < KH_RANGES; r++) {
		size_t from = lower(m, n, r << 40), to = lower(m, n, (r + 1) << 40);
		encode_range(&im[r], m + from, to - from, &err);
		dir[r] = im[r].range;
	}
	for (size_t i = 0; i < nq; i++)
		total += kh_index_find(im[kh_key_range(kh_key(q[i].k))].bucket, dir, kh_key(q[i].k)).n;
	kh_keys keys = { gpu_pairs(q, nq, 0, j->cfg.key_bits), nq };
	kh_lists out = { gpu_new((nq + 1) * 8), gpu_new(total * 4), total };
	ok(j, kh_table_retrieve(j->t, &keys, &out, NULL, &err), &err);
	ok(j, kh_table_status(j->t, NULL, NULL, &err), &err);
	uint64_t *off = gpu_take(j, out.offsets, (nq + 1) * 8), *sum = gpu_new(nq * 8);
	uint32_t *v = gpu_take(j, out.values, total * 4);
	ok(j, kh_table_fold(j->t, &keys, sum, NULL, &err), &err);
	sum = gpu_take(j, sum, nq * 8);
	for (size_t i = 0; i < nq; i++) {
		uint64_t key = kh_key(q[i].k), want = 0;
		const kh_image *r = &im[kh_key_range(key)];
		kh_list l = kh_index_find(r->bucket, dir, key);

		CHECK(j, off[i + 1] - off[i] == l.n);
		for (uint32_t k = 0; k < l.n; k++) {
			CHECK(j, v[off[i] + k] == r->loc[l.loc + k]);
			want += r->loc[l.loc + k];
		}
		CHECK(j, sum[i] == want);
	}
	for (int r = 0; r < KH_RANGES; r++)
		kh_image_clear(&im[r]);
	cuda_ok(cudaFree((void *)keys.keys));
	kh_table_close(j->t);
	free(off);
	free(sum);
	free(v);
	free(m);
	free(q);
}

static void test_index(void **state)
{
	static const unsigned bits[] = { 32, 64 };
	const char *only = getenv("KH_TABLE");

	(void)state;
	for (int b = 0; b < 2; b++)
		for (int k = 0; k < 4; k++) {
			struct job j = { .sys = kh_table_system_find("index"), .what = "index" };
			size_t n = k == 0 ? 0 : k == 1 ? 1 : k == 2 ? 3000 : small() ? 20000 : 400000;
			struct pair *p;

			if (only && strcmp(only, "index") != 0)
				continue;
			j.cfg.key_bits = bits[b];
			j.cfg.value_bits = 32;
			p = make_pairs(&j, n, n / 3 + 1);
			for (size_t i = 0; i < n && n > 2000; i++) {
				p[i].v = k == 2 ? i : p[i].v % 100000;
				if (i < 1000)   /* lists of 254, 255 and some more */
					p[i].k = i < 254 ? 1 : i < 254 + 255 ? 2 : 3;
			}
			index_case(&j, p, n);
			free(p);
		}
}

/* A cuckoo table too full for its functions starts again, and says so when it gives up. */
static void test_cuckoo_fails(void **state)
{
	struct job j = { .sys = kh_table_system_find("cuckoo"), .what = "cuckoo too full" };
	struct pair *p;
	kh_err err;

	(void)state;
	j.cfg = (kh_table_config) { .capacity = 5000, .key_bits = 32, .value_bits = 32, .subtables = 2, .load = 0.95 };
	p = make_pairs(&j, 5000, UINT64_C(1) << 40);
	open_job(&j);
	kh_kv kv = { gpu_pairs(p, 5000, 0, 32), gpu_pairs(p, 5000, 1, 32), 5000 };
	CHECK(&j, kh_table_insert(j.t, &kv, NULL, &err) == KH_ENOMEM);
	cuda_ok(cudaFree((void *)kv.keys));
	cuda_ok(cudaFree((void *)kv.values));
	kh_table_close(j.t);
	free(p);
}

static void test_usage(void **state)
{
	kh_table_config c = { .capacity = 10, .key_bits = 32, .value_bits = 32 };
	kh_table *t = NULL;
	kh_err err;

	(void)state;
	assert_int_equal(kh_table_open("nothing", &c, NULL, &t, &err), KH_EUSAGE);
	assert_string_equal(err.msg, "no table is called 'nothing'");
	c.key_bits = 16;
	assert_int_equal(kh_table_open("csr", &c, NULL, &t, &err), KH_EUSAGE);
	c.key_bits = 32;
	c.group = 3;
	assert_int_equal(kh_table_open("single", &c, NULL, &t, &err), KH_EUSAGE);
	c.group = 0;
	assert_int_equal(kh_table_open("csr", &c, NULL, &t, &err), KH_OK);
	assert_int_equal(kh_table_clean(t, NULL, &err), KH_EUSAGE);
	assert_string_equal(err.msg, "table csr has no clean");
	kh_table_close(t);
	kh_table_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_equal_keys),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_erased),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_bloom),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_cuckoo_fails),
	};
	const char *require = getenv("KH_REQUIRE");
	int n = 0;

	if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0) {
		if (require && strstr(require, "cuda")) {
			printf("Bail out! no CUDA device\n");
			return 1;
		}
		printf("1..0 # SKIP no CUDA device\n");
		return 0;
	}
	test_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
