/*
 * test_exchange.c - features to their owners, or in the order of the index, and lists back, against
 * kh_index_find
 *
 * Outputs are poisoned first and have a guard behind them.
 */
#include "test_gpu.h"

#include "gpu_area.h"
#include "cuda/kernels/engine.h"
#include "made_index.h"
#include "index/shard.h"

/* --- features in the order of owners, or of the index -------------------------------- */
static const size_t sizes[] = { 0, 1, 31, 255, 256, 257, 1023, 1024, 1025, 30000, (1 << 20) + 1 };

struct routed {
	uint64_t *key;
	size_t n, bound;
	kh_gpu_route r;
	area akey, n_key, sent, out, place, order, scratch;
};

static void route(struct routed *x, int from, bool one_range)
{
	const uint32_t n32 = (uint32_t)x->n;

	x->key = calloc(x->bound + 1, 8);
	for (size_t i = 0; i < x->bound; i++)
		x->key[i] = one_range    ? test_rand() >> 24 | UINT64_C(77) << 40
			    : i % 3      ? test_rand() >> 16
			    : i % 2      ? (UINT64_C(1) << KH_KEY_BITS) - 1 - test_rand() % 3
					 : UINT64_C(78) << 40 | test_rand() % 1000;
	x->akey = area_new(x->key, x->bound * 8);
	x->n_key = area_new(&n32, 4);
	x->sent = area_new(NULL, x->r.members * 8);
	x->out = area_new(NULL, x->bound * 8);
	x->place = area_new(NULL, x->bound * 4);
	x->order = area_new(NULL, x->bound * 4);
	x->scratch = area_new(NULL, kh_gpu_route_scratch(x->bound, from));
	assert_true(x->scratch.n > 0);
	x->r.key = (uint64_t *)x->akey.dev;
	x->r.n = (uint32_t *)x->n_key.dev;
	x->r.bound = x->bound;
	x->r.from = from;
	x->r.flag = x->n % 2 ? UINT64_C(1) << 32 : 0;
	x->r.sent = (uint64_t *)x->sent.dev;
	x->r.out = (uint64_t *)x->out.dev;
	x->r.place = (uint32_t *)x->place.dev;
	x->r.order = (uint32_t *)x->order.dev;
	x->r.scratch = x->scratch.dev;
	x->r.scratch_bytes = x->scratch.n;
	cuda(kh_gpu_route_run(&x->r, NULL));
}

static void unroute(struct routed *x)
{
	area_free(&x->akey);
	area_free(&x->n_key);
	area_free(&x->sent);
	area_free(&x->out);
	area_free(&x->place);
	area_free(&x->order);
	area_free(&x->scratch);
	free(x->key);
}

/* Each key stands at its place, no two share one, and places ascend with the bits of keys. */
static void check_places(struct routed *x)
{
	const uint64_t *out = area_get(&x->out);
	const uint32_t *place = area_get(&x->place);
	bool *seen = calloc(x->n + 1, sizeof *seen);

	for (size_t i = 0; i < x->n; i++) {
		assert_true(place[i] < x->n && out[place[i]] == x->key[i] && !seen[place[i]]);
		seen[place[i]] = true;
		assert_true(i == 0 || out[i - 1] >> x->r.from <= out[i] >> x->r.from);
	}
	free(seen);
}

static void route_once(size_t n, size_t more, unsigned members, bool one_range)
{
	struct routed x = { .n = n, .bound = n + more };
	uint64_t weight[KH_RANGES], want[KH_GPU_MEMBERS_MAX] = { 0 };
	const uint64_t *sent;
	kh_shards cut;

	for (int p = 0; p < KH_RANGES; p++)
		weight[p] = test_rand() % 3 ? test_rand() % 1000 : 0;
	kh_shards_cut(&cut, weight, members);
	x.r.members = members;
	memcpy(x.r.first, cut.first, (members + 1) * sizeof *cut.first);
	route(&x, n % 2 ? KH_RANGE_BIT : KH_KEY_BITS - 24, one_range);
	for (size_t i = 0; i < n; i++)
		want[kh_shards_owner(&cut, kh_key_range(x.key[i]))]++;
	check_places(&x);
	sent = area_get(&x.sent);
	area_get(&x.akey);
	area_get(&x.order);
	area_get(&x.scratch);
	for (unsigned m = 0; m < members; m++)
		assert_true(sent[m] == want[m] + x.r.flag);
	unroute(&x);
}

static void test_route(void **state)
{
	static const unsigned members[] = { 1, 2, 3, 4, 64, 255, 256 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
			route_once(sizes[i], 1 + test_rand() % 100, members[m],
				   test_rand() % 3 == 0);
			if (m % 3 == i % 3)
				route_once(sizes[i], sizes[i] + 1, members[m], false);
		}
}

/* --- answers ---------------------------------------------------------------------- */
static void make_index(made *m, kh_taxonomy *tax, uint64_t *key, size_t n)
{
	pairs p = { .v = NULL };

	for (size_t i = 0; i < n; i++) {
		const unsigned kind = (unsigned)(test_rand() % 16);

		key[i] = test_rand() >> 24;
		add_list(&p, key[i], kind == 0   ? 254
				     : kind == 1 ? 255 + (unsigned)(test_rand() % 200)
						 : 1 + (unsigned)(test_rand() % 20));
	}
	ok(make_range(m, &p, tax, err));
	free(p.v);
}

/* What the answer of an owner must be, and the lists that are made of it where it was asked for. */
static void compare(const made *m, const kh_gpu_reply *r, const uint64_t *key,
		    const uint32_t *place, area a[6])
{
	const uint64_t *before = area_get(&a[1]), *words = area_get(&a[3]);
	const uint8_t *len = area_get(&a[2]);
	const uint32_t *word = area_get(&a[4]);
	const kh_list *list = area_get(&a[5]);
	uint64_t at = 0;

	area_get(&a[0]);
	for (uint64_t i = 0; i < r->n; i++) {
		const kh_list l = kh_index_find(made_buckets(m), m->dir, key[i], WORD_BITS);

		assert_true(before[i] == at);
		assert_int_equal(len[i], l.over ? KH_LIST_OVER : l.n);
		for (uint32_t j = 0; j < l.n; j++)
			assert_int_equal(word[at + j],
					 kh_word(m->image, l.bit + j * WORD_BITS, WORD_BITS));
		at += l.n;
	}
	assert_true(before[r->n] == at);
	for (unsigned k = 0; k < r->members; k++)
		assert_true(words[k] == before[r->from[k + 1]] - before[r->from[k]]);
	for (uint64_t i = 0; i < r->n; i++) {
		const uint32_t to = place[i];

		assert_int_equal(list[i].n, kh_list_words(len[to]));
		assert_int_equal(list[i].over, len[to] == KH_LIST_OVER);
		assert_true(list[i].bit == before[to] * 32);
	}
}

/* n keys of `members` that ask, in any order of places. */
static void answer_once(const made *m, const uint64_t *known, size_t n_known, size_t n,
			unsigned members)
{
	uint64_t *key = calloc(n + 1, 8), total = 0;
	uint32_t *place = calloc(n + 1, 4);
	kh_gpu_reply r = { .n = n, .members = members };

	for (size_t i = 0; i < n; i++) {
		const size_t j = test_rand() % (i + 1);

		key[i] = (test_rand() % 3 ? known[test_rand() % n_known] : test_rand() >> 24) |
			 (test_rand() & 0xff) << 40;
		total += kh_index_find(made_buckets(m), m->dir, key[i], WORD_BITS).n;
		place[i] = place[j];    /* a shuffle */
		place[j] = (uint32_t)i;
	}
	for (unsigned k = 0; k < members; k++)
		r.from[k + 1] =
			k + 1 == members ? n : r.from[k] + test_rand() % (n - r.from[k] + 1);
	area dk = area_new(key, n * 8), dp = area_new(place, n * 4);
	area di = area_new(m->image, m->bytes), dd = area_new(m->dir, sizeof m->dir);
	area a[6] = { area_new(NULL, n * 8), area_new(NULL, (n + 1) * 8), area_new(NULL, n),
		      area_new(NULL, members * 8), area_new(NULL, total * 4),
		      area_new(NULL, n * sizeof(kh_list)) };
	area back = area_new(NULL, (n + 1) * 8);
	area scratch = area_new(NULL, kh_gpu_sums_scratch(n));

	r.ix = (kh_gpu_index) { .image = (kh_bucket *)di.dev, .dir = (kh_range *)dd.dev,
				.bits = WORD_BITS };
	r.key = (uint64_t *)dk.dev;
	r.bit = (uint64_t *)a[0].dev;
	r.before = (uint64_t *)a[1].dev;
	r.len = (uint8_t *)a[2].dev;
	r.words = (uint64_t *)a[3].dev;
	r.word = (uint32_t *)a[4].dev;
	r.scratch = scratch.dev;
	r.scratch_bytes = scratch.n;
	cuda(kh_gpu_reply_find(&r, NULL));
	cuda(kh_gpu_reply_pack(&r, NULL));
	const kh_gpu_taken t = { .len = r.len, .place = (uint32_t *)dp.dev, .n = n,
				 .before = (uint64_t *)back.dev, .list = (kh_list *)a[5].dev,
				 .scratch = scratch.dev, .scratch_bytes = scratch.n };
	cuda(kh_gpu_take_lists(&t, NULL));
	compare(m, &r, key, place, a);
	assert_memory_equal(area_get(&back), a[1].host, (n + 1) * 8);
	area_get(&scratch);
	for (int i = 0; i < 6; i++)
		area_free(&a[i]);
	area_free(&dk);
	area_free(&dp);
	area_free(&di);
	area_free(&dd);
	area_free(&back);
	area_free(&scratch);
	free(key);
	free(place);
}

static void test_answers(void **state)
{
	enum { KNOWN = 3000 };
	static const unsigned members[] = { 1, 2, 4, 256 };
	uint64_t *known = malloc(KNOWN * sizeof *known);
	kh_taxonomy *tax = small_tree();
	made m;

	(void)state;
	make_index(&m, tax, known, KNOWN);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t k = 0; k < sizeof members / sizeof *members; k++)
			answer_once(&m, known, KNOWN, sizes[i], members[k]);
	free(m.image);
	kh_taxonomy_free(tax);
	free(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_route),
		cmocka_unit_test(test_answers),
	};
	int status;

	test_seed();
	if (!gpu_there(&status))
		return status;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
