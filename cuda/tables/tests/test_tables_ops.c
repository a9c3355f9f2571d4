/* test_tables_ops.c - what only some of the GPU hash tables do, and all of them at size
 */
#define TEST_MAIN
#include "cuda/tables/tests/harness.h"
#include <math.h>
#include "cuda/tables/filter.h"
#include "kmer/kmer.h"

static void erased(struct job *j)
{
	struct pair *p = make_pairs(j, 3000, 2000), *left;
	size_t n = 0;
	kh_err err;

	open_job(j, "erase", 6000);
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
	kht_keys q = gpu_keys(j, gone, ng);
	ok(j, kht_table_erase(j->t, &q, NULL, &err), &err);
	check_all(j, left, n);
	if (kht_table_can(j->t) & KHT_TABLE_MIXED) {
		ok(j, kht_table_clean(j->t, NULL, &err), &err);
		check_all(j, left, n);
	}
	/* Slots of the erased take new keys. */
	struct pair *more = make_pairs(j, 2000, 2000);
	insert(j, more, 2000);
	for (size_t i = 0; i < 2000; i++)
		left[n++] = more[i];
	check_all(j, left, n);
	gpu_free(q.keys);
	kht_table_close(j->t);
	free(p);
	free(left);
	free(gone);
	free(more);
}

TEST(test_erased) { each_system(KHT_TABLE_ERASE, erased); }

/* Ageing: all keys are erased and others inserted, a quarter at a time, twenty times over, at a
 * load of .85. */
static void aged(struct job *j)
{
	const size_t n = small() ? 400 : 2000, part = n / 4;
	const bool values = !(j->sys->can & KHT_TABLE_NO_VALUES);
	struct pair *p = malloc(n * sizeof *p), *m = malloc(n * sizeof *m);
	uint64_t next = 0;
	kh_err err;

	j->cfg.load = 0.85;
	open_job(j, "ageing", n);
	for (int turn = 0; turn <= 20; turn++)
		for (size_t from = 0; from < n; from += part) {
			kht_keys gone = gpu_keys(j, p + from, turn ? part : 0);

			ok(j, kht_table_erase(j->t, &gone, NULL, &err), &err);
			for (size_t i = from; i < from + part; i++)
				p[i] = (struct pair) {
					cut(++next * UINT64_C(0x9e3779b97f4a7c15), j->cfg.key_bits),
					cut(values ? test_rand() : 0, j->cfg.value_bits)
				};
			insert(j, p + from, part);
			gpu_free(gone.keys);
			if (turn % 10)
				continue;
			memcpy(m, p, n * sizeof *m);
			if (turn || from + part == n)
				check_all(j, m, n);
		}
	kht_table_close(j->t);
	free(p);
	free(m);
}

TEST(test_aged) { each_system(KHT_TABLE_DYNAMIC | KHT_TABLE_ERASE, aged); }

/* Operations on distinct keys, in one batch; then what they left. */
static void mixed_once(struct job *j)
{
	const size_t n = 6000;
	const unsigned vb = j->cfg.value_bits;
	struct pair *p = malloc(2 * n * sizeof *p), *left = malloc(2 * n * sizeof *left);
	uint8_t *op = malloc(n);
	size_t nl = 0;
	kh_err err;

	open_job(j, j->what, n);
	for (size_t i = 0; i < 2 * n; i++)
		p[i] = (struct pair) { cut((i + 7) * UINT64_C(0x9e3779b97f4a7c15), j->cfg.key_bits),
				       i + 1 };
	insert(j, p, n / 2); /* the first half is there before */
	for (size_t i = 0; i < n; i++) {
		op[i] = test_rand() % 4;
		if (op[i] == KHT_OP_INSERT || op[i] == KHT_OP_UPDATE) {
			left[nl++] = (struct pair) { p[i].k, p[i].v + 100000 };
			p[i].v += 100000;
		} else if (op[i] == KHT_OP_SEARCH && i < n / 2) {
			left[nl++] = p[i];
		}
	}
	kht_ops o = { gpu_new(n), gpu_pairs(p, n, 0, j->cfg.key_bits), gpu_pairs(p, n, 1, vb), n,
		      MISSING };
	cuda_ok(cudaMemcpy((void *)o.op, op, n, cudaMemcpyHostToDevice));
	ok(j, kht_table_mixed(j->t, &o, NULL, &err), &err);
	void *v = gpu_take(j, o.values, n * vb / 8);
	for (size_t i = 0; i < n; i++)
		if (op[i] == KHT_OP_SEARCH)
			CHECK(j, at(v, i, vb) == (i < n / 2 ? i + 1 : cut(MISSING, vb)));
	check_all(j, left, nl);
	ok(j, kht_table_clean(j->t, NULL, &err), &err);
	check_all(j, left, nl);
	gpu_free(o.op);
	gpu_free(o.keys);
	kht_table_close(j->t);
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
			j->cfg.mapping = k & 2 ? KHT_MAP_MANY : KHT_MAP_ONE;
			j->cfg.length = k & 2 ? 2.5 : 0.4;
			mixed_once(j);
		}
}

TEST(test_mixed) { each_system(KHT_TABLE_MIXED, mixed); }

/* Values i < n belong to key i % d; `heavy` more, from n on, to one key. */
struct load {
	size_t n, d, heavy;
	struct pair *p;
};

static void large_counts(struct job *j, const struct load *l, const kht_keys *q,
			 const kht_keys *one)
{
	bool many = is_multi(j) || is_counter(j);
	uint32_t *c = gpu_new(l->d * 4), *h = gpu_new(4);
	kh_err err;

	ok(j, kht_table_count(j->t, q, c, NULL, &err), &err);
	ok(j, kht_table_count(j->t, one, h, NULL, &err), &err);
	c = gpu_take(j, c, l->d * 4);
	h = gpu_take(j, h, 4);
	for (size_t i = 0; i < l->d; i++)
		CHECK(j, c[i] == (many ? 10 : 1));
	CHECK(j, h[0] == (many ? l->heavy : 1));
	free(c);
	free(h);
}

static void large_lists(struct job *j, const struct load *l, const kht_keys *q, const kht_keys *one)
{
	const unsigned vb = j->cfg.value_bits;
	kht_lists all = { gpu_new((l->d + 1) * 8), gpu_new(l->n * vb / 8), l->n };
	kht_lists heavy = { gpu_new(16), gpu_new(l->heavy * vb / 8), l->heavy };
	uint64_t sum = 0, want = 0;
	kh_err err;

	ok(j, kht_table_retrieve(j->t, q, &all, NULL, &err), &err);
	ok(j, kht_table_retrieve(j->t, one, &heavy, NULL, &err), &err);
	ok(j, kht_table_status(j->t, NULL, NULL, &err), &err);
	uint64_t *off = gpu_take(j, all.offsets, (l->d + 1) * 8);
	void *v = gpu_take(j, all.values, l->n * vb / 8);
	void *w = gpu_take(j, heavy.values, l->heavy * vb / 8);
	free(gpu_take(j, heavy.offsets, 16));
	for (size_t i = 0; i < l->d; i++)
		for (uint64_t k = off[i]; k < off[i + 1]; k++)
			CHECK(j, at(v, k, vb) % l->d == i);
	for (size_t i = 0; i < l->heavy; i++) {
		sum += at(w, i, vb);
		want += l->n + i;
	}
	CHECK(j, sum == want);
	free(off);
	free(v);
	free(w);
}

/* One key with very many values among others, and a large batch, by known sums.  In a
 * table with a slot a pair, n values of a key are n^2 steps: fewer there. */
static void large(struct job *j)
{
	bool slow = strcmp(j->sys->name, "multi") == 0;
	struct load l = { .n = small() ? 20000 : 10000000, .heavy = small() ? 2000 : 1000000 };
	kh_err err;

	l.d = l.n / 10;
	l.heavy /= slow ? 20 : 1;
	l.p = malloc((l.n + l.heavy) * sizeof *l.p);
	assert_non_null(l.p);
	for (size_t i = 0; i < l.n + l.heavy; i++) {
		uint64_t k = i < l.n ? i % l.d : l.d;
		l.p[i] = (struct pair) {
			cut((k + 1) * UINT64_C(0x9e3779b97f4a7c15), j->cfg.key_bits), i
		};
	}
	bool keys_only = (j->sys->can & KHT_TABLE_DYNAMIC) && !is_multi(j);
	j->cfg.distinct = 2 * l.d;
	j->cfg.group = slow ? 32 : 0;
	open_job(j, "large", keys_only ? 2 * l.d : l.n + l.heavy);
	insert(j, l.p, l.n + l.heavy);
	ok(j, kht_table_status(j->t, NULL, NULL, &err), &err);
	kht_keys q = gpu_keys(j, l.p, l.d), one = gpu_keys(j, l.p + l.n, 1);
	large_counts(j, &l, &q, &one);
	if (is_multi(j))
		large_lists(j, &l, &q, &one);
	gpu_free(q.keys);
	gpu_free(one.keys);
	free(l.p);
	kht_table_close(j->t);
}

TEST(test_large) { each_system(0, large); }

/* Inserts on four streams at once, then look-ups on four. */
static void streams(struct job *j)
{
	const size_t n = 4000;
	struct pair *p = make_pairs(j, n, 3000);
	cudaStream_t s[4];
	uint32_t *c[4];
	kht_kv kv[4];
	kh_err err;

	open_job(j, "streams", n);
	cuda_ok(cudaDeviceSynchronize());
	for (int i = 0; i < 4; i++) {
		cuda_ok(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
		kv[i] = gpu_kv(j, p + i * n / 4, n / 4);
		c[i] = gpu_new(n / 4 * 4);
	}
	for (int i = 0; i < 4; i++)
		ok(j, kht_table_insert(j->t, &kv[i], s[i], &err), &err);
	cuda_ok(cudaDeviceSynchronize());
	for (int i = 0; i < 4; i++) {
		kht_keys q = { kv[i].keys, n / 4 };
		ok(j, kht_table_count(j->t, &q, c[i], s[i], &err), &err);
	}
	cuda_ok(cudaDeviceSynchronize());
	struct pair *m = malloc(n * sizeof *m);
	memcpy(m, p, n * sizeof *m);
	qsort(m, n, sizeof *m, by_pair);
	for (int i = 0; i < 4; i++) {
		uint32_t *h = gpu_take(j, c[i], n / 4 * 4);
		for (size_t k = 0; k < n / 4; k++)
			CHECK(j, h[k] == (is_multi(j) || is_counter(j)
						  ? multiplicity(m, n, p[i * n / 4 + k].k)
						  : 1));
		free(h);
		gpu_free(kv[i].keys);
		gpu_free(kv[i].values);
		cuda_ok(cudaStreamDestroy(s[i]));
	}
	check_all(j, p, n);
	kht_table_close(j->t);
	free(m);
	free(p);
}

TEST(test_streams) { each_system(KHT_TABLE_DYNAMIC, streams); }

/* No false negatives; false positives near what the sizes promise. */
TEST(test_bloom)
{
	struct job j = { .sys = kht_table_system_find("bloom"),
			 .cfg = { .key_bits = 64, .value_bits = 32, .bits = 12, .hashes = 6 } };
	const size_t n = 20000;
	kh_err err;

	open_job(&j, "bloom", n);
	struct pair *p = malloc(2 * n * sizeof *p);
	for (size_t i = 0; i < 2 * n; i++)
		p[i] = (struct pair) { i * UINT64_C(0x9e3779b97f4a7c15), 0 };
	insert(&j, p, n);
	kht_keys q = gpu_keys(&j, p, 2 * n);
	uint32_t *c = gpu_new(2 * n * 4);
	ok(&j, kht_table_count(j.t, &q, c, NULL, &err), &err);
	c = gpu_take(&j, c, 2 * n * 4);
	size_t wrong = 0;
	for (size_t i = 0; i < 2 * n; i++)
		if (i < n)
			CHECK(&j, c[i] == 1);
		else
			wrong += c[i];
	CHECK(&j, wrong < n / 50);
	gpu_free(q.keys);
	kht_table_close(j.t);
	free(c);
	free(p);
}

/* --- a filter fed by sequence --- */
struct text {
	uint64_t *bases;
	uint32_t *masked;
	size_t words;
};

static struct text random_text(size_t words, unsigned every)
{
	struct text t = { malloc(words * 8), malloc(words * 4), words };

	for (size_t i = 0; i < words; i++) {
		t.bases[i] = test_rand();
		t.masked[i] = every && test_rand() % every == 0 ? 1u << test_rand() % 32 : 0;
	}
	return t;
}

static struct text reverse_text(const struct text *t)
{
	struct text r = { calloc(t->words, 8), calloc(t->words, 4), t->words };
	const uint64_t n = t->words * 32;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t j = n - 1 - i;
		r.bases[j >> 5] |= (uint64_t)(3 - kh_packed_base(t->bases, i)) << 2 * (j & 31);
		r.masked[j >> 5] |= kh_packed_amb(t->masked, i) << (j & 31);
	}
	return r;
}

/* Inserts t if `put`, else asks; what comes back is the caller's. */
static uint32_t *feed(kht_filter *f, const struct text *t, bool put)
{
	struct job j = { .sys = kht_table_system_find("bloom"), .what = "filter" };
	kht_sequence q = { gpu_new(t->words * 8), gpu_new(t->words * 4), t->words };
	uint32_t *out = gpu_new(t->words * 4);
	kh_err err;

	cuda_ok(cudaMemcpy((void *)q.bases, t->bases, t->words * 8, cudaMemcpyHostToDevice));
	cuda_ok(cudaMemcpy((void *)q.masked, t->masked, t->words * 4, cudaMemcpyHostToDevice));
	ok(&j,
	   put ? kht_filter_insert(f, &q, NULL, &err)
	       : kht_filter_query(f, &q, out, NULL, &err),
	   &err);
	cuda_ok(cudaDeviceSynchronize());
	cuda_ok(cudaFree((void *)q.bases));
	cuda_ok(cudaFree((void *)q.masked));
	return gpu_take(&j, out, t->words * 4);
}

/* Whether base i begins a k-mer. */
static bool begins(const struct text *t, uint64_t i, unsigned k)
{
	for (uint64_t j = i; j < i + k; j++)
		if (j >= t->words * 32 || kh_packed_amb(t->masked, j))
			return false;
	return true;
}

/* How many k-mers of t were found: `all` of them must have been. */
static size_t ask_text(kht_filter *f, const struct text *t, unsigned k, bool all, size_t *kmers)
{
	uint32_t *found = feed(f, t, false);
	size_t n = 0;

	*kmers = 0;
	for (uint64_t i = 0; i < t->words * 32; i++) {
		bool is = begins(t, i, k), got = kh_packed_amb(found, i);

		if (got != is && (all || !is))
			fail_msg("k %u, base %llu: %d", k, (unsigned long long)i, got);
		*kmers += is;
		n += got;
	}
	free(found);
	return n;
}

TEST(test_filter)
{
	static const struct {
		unsigned k, m;
	} with[] = { { 31, 0 }, { 31, 31 }, { 31, 8 }, { 24, 16 }, { 17, 0 }, { 8, 0 } };
	const size_t words = small() ? 400 : 5000;

	for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
		struct text t = random_text(words, 20), r = reverse_text(&t);
		struct text other = random_text(words, 0);
		kht_filter_config c = { .k = with[i].k, .m = with[i].m, .seed = test_rand() };
		kht_filter *f;
		kh_err err;
		size_t kmers, asked, wrong;

		for (uint64_t b = c.capacity = 0; b < words * 32; b++)
			c.capacity += begins(&t, b, c.k);
		assert_int_equal(kht_filter_open(&c, NULL, &f, &err), KH_OK);
		assert_int_equal(ask_text(f, &t, c.k, false, &kmers), 0);
		free(feed(f, &t, true));
		ask_text(f, &t, c.k, true, &kmers);
		ask_text(f, &r, c.k, true, &kmers);
		assert_int_equal(kmers, c.capacity);
		wrong = ask_text(f, &other, c.k, false, &asked);
		double rate = (double)wrong / (double)asked;
		double theory = kht_filter_theory(f, (double)kmers);
		/* Shorter k-mers, and minimizers, may be there by chance. */
		if (c.k == 31 && c.m != 8 && !small() && fabs(log(rate / theory)) > 0.35)
			fail_msg("k %u, m %u: %g false positives, not %g", c.k, c.m, rate, theory);
		kht_filter_close(f);
		for (int j = 0; j < 3; j++) {
			free((j == 0 ? t : j == 1 ? r : other).bases);
			free((j == 0 ? t : j == 1 ? r : other).masked);
		}
	}
}

/* A cuckoo table too full for its functions starts again, and says so when it gives up.
 */
TEST(test_cuckoo_fails)
{
	struct job j = { .sys = kht_table_system_find("cuckoo"),
			 .cfg = { .key_bits = 32, .value_bits = 32, .subtables = 2, .load = .95 } };
	struct pair *p = make_pairs(&j, 5000, UINT64_C(1) << 40);
	const kht_kv kv = gpu_kv(&j, p, 5000);
	kh_err err;

	open_job(&j, "cuckoo too full", 5000);
	CHECK(&j, kht_table_insert(j.t, &kv, NULL, &err) == KH_ENOMEM);
	gpu_free(kv.keys);
	gpu_free(kv.values);
	kht_table_close(j.t);
	free(p);
}

int main(void) { return run_on_gpu(); }
