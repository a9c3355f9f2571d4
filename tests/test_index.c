/* test_index.c - the index against a model of its contract: placement, lists, look-up */
#include "test.h"

#include "made_tree.h"
#include "index/lookup_simd.h"

/* --- the model: entries by (home, tag), each with its distinct bins --------------- */
typedef struct entry {
	uint64_t place, slot;
	uint32_t *bin;                  /* what is left, where lists are cut by species */
	size_t n;
} entry;

typedef struct model {
	entry *e;
	uint32_t *bin;
	size_t n, keys;
} model;

static int by_bin(const void *a, const void *b)
{
	return (*(const uint32_t *)a > *(const uint32_t *)b) -
	       (*(const uint32_t *)a < *(const uint32_t *)b);
}

static uint32_t species_of(uint32_t bin)
{
	return target_species[bin / (TARGET_BINS + GAP)];
}

/* Replaces bins of a species by one behind all, where they are in more than `most` targets or
 * more than 2 `most`, or 254. */
static void cut(entry *e, uint32_t most)
{
	unsigned has[N_SPECIES] = { 0 }, hosts[N_SPECIES] = { 0 };
	bool much[N_SPECIES], seen[N_TARGETS] = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < e->n; i++) {
		const uint32_t s = species_of(e->bin[i]), t = e->bin[i] / (TARGET_BINS + GAP);

		has[s]++;
		hosts[s] += !seen[t];
		seen[t] = true;
	}
	for (uint32_t s = 0; s < N_SPECIES; s++)
		much[s] = hosts[s] > most || has[s] > (most < 127 ? 2 * most : 254);
	for (size_t i = 0; i < e->n; i++)
		if (!much[species_of(e->bin[i])])
			e->bin[kept++] = e->bin[i];
	for (uint32_t s = 0; s < N_SPECIES; s++)
		if (much[s])
			e->bin[kept++] = VOTES + s * (1 + GAP);
	e->n = kept;
}

/* Of sorted pairs. */
static model make_model(const pairs *p, uint32_t B)
{
	model m = { malloc((p->n + 1) * sizeof *m.e), malloc((p->n + 1) * sizeof *m.bin), 0, 0 };

	for (size_t i = 0; i < p->n; i++) {
		uint64_t place = p->v[i].key * B >> 24;

		m.keys += i == 0 || p->v[i].key != p->v[i - 1].key;
		if (m.n == 0 || m.e[m.n - 1].place != place)
			m.e[m.n++] = (entry) { place, 0, m.bin + i, 0 };
		m.e[m.n - 1].bin[m.e[m.n - 1].n++] = p->v[i].bin;
	}
	for (size_t i = 0; i < m.n; i++) {
		entry *e = &m.e[i];
		size_t kept = 0;

		qsort(e->bin, e->n, sizeof *e->bin, by_bin);
		for (size_t j = 0; j < e->n; j++)
			if (kept == 0 || e->bin[kept - 1] != e->bin[j])
				e->bin[kept++] = e->bin[j];
		e->n = kept;
		if (p->most > 0)
			cut(e, p->most);
		e->slot = 19 * (e->place >> 16);        /* as far back as may be, in order */
		if (i > 0 && e->slot <= e[-1].slot)
			e->slot = e[-1].slot + 1;
	}
	return m;
}

static void free_model(model *m)
{
	free(m->bin);
	free(m->e);
}

static bool fits(const model *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->e[i].slot / 19 > (m->e[i].place >> 16) + 1)
			return false;
	return true;
}

static uint32_t taxon_at(uint32_t bin)
{
	return bin < VOTES ? target_taxon[bin / (TARGET_BINS + GAP)]
			   : species_taxon[(bin - VOTES) / (1 + GAP)];
}

/* The common ancestor that is below no other common ancestor. */
static uint32_t slow_lca(const entry *e)
{
	uint32_t taxon = taxon_at(e->bin[0]);

	for (size_t i = 1; i < e->n; i++) {
		uint32_t t = taxon_at(e->bin[i]);

		while (t < taxon || t >= tree_end[taxon])
			taxon = tree_parent[taxon];
	}
	return taxon;
}

/* --- the image against the model -------------------------------------------------- */
static void check_size(const pairs *p, const made *m)
{
	const kh_range *r = &m->dir[0];
	model first = make_model(p, 1);
	uint32_t B = first.keys > 0 ? (uint32_t)((first.keys + 14) / 15) : 1;

	assert_int_equal(r->keys, first.keys);
	free_model(&first);
	for (; B < r->buckets; B += (B + 15) / 16) {
		model tight = make_model(p, B);

		assert_false(fits(&tight));
		free_model(&tight);
	}
	assert_int_equal(B, r->buckets);
}

static void check_bucket(const model *m, size_t *i, const kh_bucket *b, uint64_t number,
			 uint64_t *words)
{
	unsigned carried = 0, pos = 0;
	bool goes_on = false;

	assert_true(kh_bucket_base(b) == *words);
	for (; *i < m->n && m->e[*i].slot / 19 == number; ++*i, pos++) {
		const entry *e = &m->e[*i];

		assert_int_equal(e->slot % 19, pos);
		assert_int_equal(b->tag[pos], e->place & 0xffff);
		assert_int_equal(b->len[pos], e->n > 254 ? 255 : e->n);
		carried += e->place >> 16 == number - 1;
		*words += e->n > 254 ? 1 : e->n;
	}
	for (size_t j = *i; j < m->n && m->e[j].place >> 16 <= number; j++)
		goes_on |= m->e[j].place >> 16 == number;
	assert_int_equal(b->flags, carried | (unsigned)goes_on << 5);
	for (; pos < 19; pos++)
		assert_true(b->len[pos] == 0 && b->tag[pos] == 0);
}

static void check_image(const model *m, const made *x)
{
	uint64_t words = 0, locations = 0, over = 0;
	size_t i = 0;

	for (uint64_t b = 0; b <= x->dir[0].buckets; b++)
		check_bucket(m, &i, made_buckets(x) + b, b, &words);
	assert_int_equal(i, m->n);
	assert_int_equal(x->dir[0].entries, m->n);
	assert_int_equal(x->dir[0].n_locs, words);
	for (i = 0; i < m->n; i++) {
		over += m->e[i].n > 254;
		locations += m->e[i].n > 254 ? 0 : m->e[i].n;
	}
	assert_int_equal(x->dir[0].over, over);
	assert_int_equal(x->locations, locations);
	assert_int_equal(x->bytes % 64, 0);
}

/* The look-up, which its quick form must equal. */
static kh_list find(const made *x, uint64_t key)
{
	const kh_range *r = &x->dir[kh_key_range(key)];
	uint64_t place = kh_key_place(key, r->buckets);
	const kh_bucket *home = made_buckets(x) + r->first_bucket + (place >> 16);
	kh_list l = kh_index_find(made_buckets(x), x->dir, key, WORD_BITS);
	kh_list quick = kh_probe_find(r, home, (uint32_t)(place & 0xffff), WORD_BITS);

	assert_int_equal(quick.n, l.n);
	assert_int_equal(quick.bit, l.bit);
	assert_int_equal(quick.over, l.over);
	return l;
}

static void check_list(const made *x, const entry *e, uint64_t key)
{
	kh_list l = find(x, key);
	const uint64_t at = (l.bit - x->dir[0].first_loc * 32) / WORD_BITS;

	if (e->n > 254) {
		assert_true(l.over && l.n == 1);
		assert_int_equal(made_word(x, at), slow_lca(e));
		return;
	}
	assert_true(!l.over && l.n == e->n);
	for (size_t i = 0; i < e->n; i++) {
		assert_int_equal(made_word(x, at + i), e->bin[i]);
		assert_int_equal(kh_word(x->image, l.bit + i * WORD_BITS, WORD_BITS), e->bin[i]);
	}
}

static const entry *model_find(const model *m, uint64_t place)
{
	size_t lo = 0, hi = m->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (m->e[mid].place < place)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->n && m->e[lo].place == place ? &m->e[lo] : NULL;
}

/* A key of any range must be found, or be absent, as in the model. */
static void check_key(const model *m, const made *x, uint64_t key)
{
	const uint64_t low = key & ((UINT64_C(1) << 40) - 1);
	const entry *e = model_find(m, low * x->dir[0].buckets >> 24);

	key = low | (test_rand() & 255) << 40;
	if (e)
		check_list(x, e, key);
	else
		assert_int_equal(find(x, key).n, 0);
}

static void check_look_up(const pairs *p, const model *m, const made *x)
{
	const uint64_t step = (UINT64_C(1) << 24) / x->dir[0].buckets + 1;

	for (size_t i = 0; i < p->n; i++) {
		if (i > 0 && p->v[i].key == p->v[i - 1].key)
			continue;
		check_key(m, x, p->v[i].key);
		check_key(m, x, p->v[i].key + step);            /* neighbours in the same home */
		check_key(m, x, p->v[i].key - step);
		check_key(m, x, p->v[i].key + step * 65536);    /* the same tag next door */
	}
	for (int i = 0; i < 2000; i++)
		check_key(m, x, test_rand());
	for (uint64_t h = 0; h < x->dir[0].buckets && h < 200; h++)
		for (uint64_t tag = 0; tag < 65536; tag += 65535)
			check_key(m, x, key_at(x->dir[0].buckets, h, tag, 0));
	check_key(m, x, 0);
	check_key(m, x, UINT64_MAX);
}

/* Checks everything that is promised for a set of pairs, which is used up. */
static uint32_t check_set(pairs *p)
{
	kh_err err = { 0, "" };
	made x;
	int rc = make_range(&x, p, tree, &err);

	if (rc)
		fail_msg("%s", err.msg);
	model m = make_model(p, x.dir[0].buckets);
	uint32_t B = x.dir[0].buckets;
	assert_true(fits(&m));
	check_size(p, &x);
	check_image(&m, &x);
	check_look_up(p, &m, &x);
	if (kh_index_check(x.image, &x.dir[0], N_BINS, N_TAXA, &err))
		fail_msg("kh_index_check: %s", err.msg);
	free_model(&m);
	free(x.image);
	free(p->v);
	*p = (pairs) { .most = p->most };
	return B;
}

/* --- sets ------------------------------------------------------------------------- */
static void test_small(void **state)
{
	pairs p = { .v = NULL };

	(void)state;
	assert_int_equal(check_set(&p), 1);             /* no keys at all */
	add_list(&p, 0, 1);
	assert_int_equal(check_set(&p), 1);
	add_list(&p, (UINT64_C(1) << 40) - 1, 3);
	assert_int_equal(check_set(&p), 1);
	add_list(&p, 0, 1);
	add_list(&p, (UINT64_C(1) << 40) - 1, 1);
	assert_int_equal(check_set(&p), 1);
	for (unsigned n = 1; n <= 60; n++) {
		for (unsigned i = 0; i < n; i++)
			add_list(&p, test_rand() >> 24, 1);
		check_set(&p);
	}
}

static void test_random(void **state)
{
	static const unsigned size[] = { 15, 16, 247, 1000, 3000 };

	(void)state;
	for (unsigned i = 0; i < sizeof size / sizeof size[0]; i++)
		for (int round = 0; round < 4; round++) {
			pairs p = { .v = NULL };

			for (unsigned j = 0; j < size[i]; j++)
				add_list(&p, test_rand() >> 24,
					 1 + (unsigned)(test_rand() % (j % 50 ? 3 : 40)));
			check_set(&p);
		}
}

static void test_lengths(void **state)
{
	static const unsigned length[] = { 1, 2, 253, 254, 255, 256, 300, 1079 };
	pairs p = { .v = NULL };

	(void)state;
	for (unsigned i = 0; i < 64; i++)
		add_list(&p, test_rand() >> 24, length[i % 8]);
	check_set(&p);
	for (unsigned i = 0; i < 8; i++) {
		add_list(&p, test_rand() >> 24, length[i]);
		check_set(&p);
	}
	/* repeats of a pair count once: 200 bins, each three times */
	for (unsigned i = 0; i < 600; i++)
		add_pair(&p, 77,
			 i % 200 / TARGET_BINS * (TARGET_BINS + GAP) + i % 200 % TARGET_BINS);
	check_set(&p);
}

/* Lists of all lengths, of one species and of several, cut at all lengths: to locations, to
 * votes, to both, and to one LCA all the same. */
static void test_cut(void **state)
{
	static const uint32_t most[] = { 1, 2, 3, 16, 100, 254 };
	static const unsigned length[] = { 1,   2,   3,   4,   17,  40,  101,
					   130, 253, 254, 255, 300, 700, 1079 };

	(void)state;
	for (unsigned i = 0; i < sizeof most / sizeof *most; i++)
		for (int round = 0; round < 4; round++) {
			pairs p = { .most = most[i] };

			for (unsigned j = 0; j < 400; j++)
				add_list(&p, test_rand() >> 24, 1 + (unsigned)(test_rand() % 6));
			for (unsigned j = 0; j < sizeof length / sizeof *length; j++)
				add_list(&p, test_rand() >> 24, length[j]);
			for (unsigned j = 0; j < 900; j++)      /* in all targets */
				add_pair(&p, j % 9, random_bin());
			check_set(&p);
		}
}

/* `count[h]` keys with home h of B; what is missing to 15 B - 14 keys goes to the home that
 * follows `count`, as equal (home, tag). */
static void put_homes(pairs *p, uint32_t B, const unsigned *count, unsigned n)
{
	unsigned total = 0;

	for (unsigned h = 0; h < n; h++)
		for (unsigned i = 0; i < count[h]; i++, total++)
			add_list(p, key_at(B, h, i * (65536 / (count[h] + 1)), 0), 1);
	for (unsigned i = 0; total < 15 * B - 14; i++, total++)
		add_list(p, key_at(B, n + i % (B - n), 40000 + i / (B - n), 0), 1);
	assert_true(total <= 15 * B);
}

static void test_homes(void **state)
{
	static const struct { unsigned count[4], fits;
	} set[] = {
		{ { 19, 0, 0, 0 }, 1 },    { { 20, 0, 0, 0 }, 1 },    { { 38, 0, 0, 0 }, 1 },
		{ { 39, 0, 0, 0 }, 0 },    { { 38, 1, 0, 0 }, 1 },    { { 38, 19, 0, 0 }, 1 },
		{ { 38, 20, 0, 0 }, 0 },   { { 38, 19, 19, 19 }, 1 }, { { 38, 19, 20, 0 }, 0 },
		{ { 19, 19, 19, 19 }, 1 }, { { 20, 37, 0, 0 }, 1 },   { { 20, 38, 0, 0 }, 0 },
		{ { 19, 38, 0, 0 }, 1 },   { { 19, 39, 0, 0 }, 0 },   { { 20, 18, 19, 20 }, 1 },
		{ { 0, 38, 0, 1 }, 1 },    { { 0, 38, 1, 0 }, 1 },    { { 1, 38, 0, 0 }, 1 },
		{ { 20, 19, 19, 0 }, 1 },  { { 38, 0, 38, 0 }, 1 },
	};
	pairs p = { .v = NULL };

	(void)state;
	for (unsigned i = 0; i < sizeof set / sizeof set[0]; i++) {
		put_homes(&p, 20, set[i].count, 4);
		uint32_t B = check_set(&p);
		assert_true(set[i].fits ? B == 20 : B > 20);
	}
}

/* The last home carries into the bucket behind the last; there is no other room. */
static void test_last_home(void **state)
{
	static const unsigned last[] = { 1, 19, 20, 38, 39, 60 };
	pairs p = { .v = NULL };

	(void)state;
	for (unsigned i = 0; i < sizeof last / sizeof last[0]; i++) {
		for (unsigned j = 0; j < last[i]; j++)
			add_list(&p, key_at(10, 9, 65535 - j * 7, 0), 2);
		for (unsigned j = last[i]; j < 140; j++)
			add_list(&p, key_at(10, j % 9, j, 0), 1);
		uint32_t B = check_set(&p);
		assert_true(last[i] <= 38 ? B == 10 : B > 10);
	}
}

/* Equal (home, tag): the union of lists, repeats once, over 254 the LCA. */
static void test_unions(void **state)
{
	pairs p = { .v = NULL };

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		unsigned n = 1 + (unsigned)(test_rand() % 60);

		for (unsigned i = 0; i < n; i++)
			add_list(&p,
				 key_at(5, test_rand() % 5, test_rand() % 3,
					(unsigned)(test_rand() % 9)),
				 round < 20 ? 3 : 30);
		check_set(&p);
	}
}

/* Random, but crowded: homes in use are few. */
static void test_adversarial(void **state)
{
	pairs p = { .v = NULL };

	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		uint32_t B = 2 + (uint32_t)(test_rand() % 30),
			 used = 1 + (uint32_t)(test_rand() % B);
		unsigned n = 15 * B - (unsigned)(test_rand() % 15);

		for (unsigned i = 0; i < n; i++)
			add_list(&p,
				 key_at(B, test_rand() % used,
					test_rand() % (round % 2 ? 65536 : 64), 0),
				 1);
		check_set(&p);
	}
	for (unsigned i = 0; i < 500; i++)              /* all in one home, at any B for long */
		add_list(&p, (UINT64_C(1) << 39) + i * 5000, 1);
	check_set(&p);
}

/* Half a million keys in a row fit no B below 2^24: that is an error, and takes no memory. */
static void test_too_close(void **state)
{
	pairs p = { .v = NULL };
	kh_err err = { 0, "" };
	made x;

	(void)state;
	for (unsigned i = 0; i < 500000; i++)
		add_pair(&p, (UINT64_C(1) << 30) + i, 0);
	assert_int_equal(make_range(&x, &p, tree, &err), KH_EFORMAT);
	assert_non_null(strstr(err.msg, "500000 features"));
	assert_non_null(strstr(err.msg, "too close together"));
	free(p.v);
	/* as many as there is room for at the usual load, and one more */
	kh_index_too_large(15 * ((UINT64_C(1) << 24) - 1), &err);
	assert_non_null(strstr(err.msg, "too close together"));
	kh_index_too_large(15 * ((UINT64_C(1) << 24) - 1) + 1, &err);
	assert_non_null(strstr(err.msg, "too many"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small), cmocka_unit_test(test_random),
		cmocka_unit_test(test_lengths), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_homes),
		cmocka_unit_test(test_last_home), cmocka_unit_test(test_unions),
		cmocka_unit_test(test_adversarial), cmocka_unit_test(test_too_close),
	};

	test_seed();
	return cmocka_run_group_tests_name("index", tests, make_tree, free_tree);
}
