/* test_pairs.c - pairs by range: gathered in order, sorted stably, spilled */
#include "test.h"

#include <unistd.h>
#include "base/threads.h"
#include "index/pairs.h"

typedef struct batch {
	uint64_t *key;
	uint32_t *bin;
	size_t n;
} batch;

enum { MAX = 40 };

typedef struct sample {
	batch b[MAX];
	unsigned n;             /* tickets */
	unsigned next;          /* of these threads */
	kh_store *store;
	kh_monitor *m;
} sample;

/* What keys are like: mixed; few different; ascending; descending; all one; of one range and
 * alike in all their upper bits. */
static uint64_t some_key(unsigned kind, size_t i)
{
	switch (kind) {
	case 1:
		return test_rand() % 5 * UINT64_C(0x1234567890) + (test_rand() % 256 << 40);
	case 2:
		return (uint64_t)i * UINT64_C(0x1000003);
	case 3:
		return (UINT64_C(1) << 48) - 1 - (uint64_t)i * UINT64_C(0x1000003);
	case 4:
		return (UINT64_C(1) << 48) - 1;
	case 5:
		return (UINT64_C(77) << 40) + test_rand() % 100000;
	default:
		return test_rand() >> 16;
	}
}

static void make(sample *s, unsigned kind, unsigned n, size_t most)
{
	*s = (sample) { .n = n };
	for (unsigned t = 0; t < n; t++) {
		batch *b = &s->b[t];

		b->n = t % 5 == 3 ? 0 : test_rand() % most;
		b->key = malloc(b->n * 8 + 8);
		b->bin = malloc(b->n * 4 + 4);
		for (size_t i = 0; i < b->n; i++) {
			b->key[i] = some_key(kind, i);
			b->bin[i] = (uint32_t)(t * most + i);
		}
	}
}

/* --- by definition ---------------------------------------------------------------- */
typedef struct item {
	uint64_t key;
	uint32_t bin;
	size_t nth;
} item;

static int by_key(const void *a, const void *b)
{
	const item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->nth < y->nth ? -1 : x->nth > y->nth;
}

static size_t expect(const sample *s, unsigned range, item *out)
{
	size_t n = 0;

	for (unsigned t = 0; t < s->n; t++)
		for (size_t i = 0; i < s->b[t].n; i++) {
			if (s->b[t].key[i] >> 40 != range)
				continue;
			out[n] = (item) { s->b[t].key[i] & ((UINT64_C(1) << 40) - 1),
					  s->b[t].bin[i], n };
			n++;
		}
	if (n > 0)
		qsort(out, n, sizeof *out, by_key);
	return n;
}

static void check_ranges(const sample *s)
{
	size_t total = 0;
	kh_pair_scratch room = { .key = NULL };
	kh_pairs got;

	for (unsigned t = 0; t < s->n; t++)
		total += s->b[t].n;
	item *want = malloc((total + 1) * sizeof *want);
	for (unsigned r = 0; r < KH_RANGES; r++) {
		const size_t n = expect(s, r, want);

		OK(kh_store_range(s->store, r, &room, &got, err));
		assert_int_equal(got.n, n);
		for (size_t i = 0; i < n; i++)
			assert_true(got.key[i] == want[i].key && got.loc[i] == want[i].bin);
	}
	kh_pair_scratch_clear(&room);
	free(want);
}

/* --- the store, filled by two threads in any order -------------------------------- */
static int add_worker(void *arg, unsigned worker, kh_err *err)
{
	sample *s = arg;
	int rc = KH_OK;

	(void)worker;
	while (!rc) {
		kh_monitor_lock(s->m);
		unsigned t = s->n - ++s->next;          /* the last ticket first */
		kh_monitor_unlock(s->m);
		if (t >= s->n)
			break;
		rc = kh_store_add(s->store, t, s->b[t].key, s->b[t].bin, s->b[t].n, err);
	}
	return rc;
}

static void fill(sample *s, uint64_t memory)
{
	s->next = 0;
	OK(kh_store_new(&s->store, memory, "pairs-test.khdb", err));
	OK(kh_monitor_new(&s->m, err));
	OK(kh_threads_run(s->m, 2, add_worker, s, err));
	kh_monitor_free(s->m);
}

TEST(test_sorted)
{
	static const uint64_t memory[] = { 0, 1, 20000, UINT64_C(1) << 40 };

	for (unsigned kind = 0; kind < 6; kind++) {
		sample s;

		make(&s, kind, kind < 5 ? 1 + 9 * kind : 9, 3000);
		for (unsigned m = 0; m < 4; m++) {
			fill(&s, memory[m]);
			check_ranges(&s);
			kh_store_free(s.store);
		}
		for (unsigned t = 0; t < s.n; t++) {
			free(s.b[t].key);
			free(s.b[t].bin);
		}
	}
}

TEST(test_empty)
{
	sample s = { .n = 0 };

	fill(&s, 0);
	check_ranges(&s);
	kh_store_free(s.store);
	kh_store_free(NULL);
}

/* The spill file has no name, and is made beside what is to be written. */
TEST(test_spill_place)
{
	kh_err err = { 0, "" };
	uint64_t key = 1;
	uint32_t bin = 2;
	kh_store *s;

	assert_int_equal(kh_store_new(&s, 1, "no-such-folder/x.khdb", &err), 0);
	assert_int_equal(kh_store_add(s, 0, &key, &bin, 1, &err), KH_EIO);
	assert_non_null(strstr(err.msg, "no-such-folder/"));
	kh_store_free(s);
}
