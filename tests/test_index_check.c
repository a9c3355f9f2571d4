/*
 * test_index_check.c - kh_index_check accepts a range if, and only if, it is one that
 * some keys encode to: every single byte of ranges is changed to other values, and the
 * verdict compared with that of a slow decoder, and with that of kh_probe_sound
 */
#include "test.h"

#include "made_tree.h"
#include "index/lookup_simd.h"

/* --- the slow decoder ------------------------------------------------------------- */
typedef struct decoder {
	const kh_range *r;
	const kh_bucket *b;
	const made *m;
	uint64_t words, entries, over;
	int64_t place, slot;            /* of the entry before */
} decoder;

static bool list_sound(decoder *d, unsigned len)
{
	unsigned n = len == 255 ? 1 : len;
	uint32_t last = 0;

	if (d->words + n > d->r->n_locs)
		return false;
	for (unsigned i = 0; i < n; i++) {
		const uint32_t x = made_word(d->m, d->words + i);

		if (len == 255 ? x >= N_TAXA : x >= N_BINS || (i > 0 && x <= last))
			return false;
		last = x;
	}
	d->words += n;
	d->entries++;
	d->over += len == 255;
	return true;
}

/* Position `pos` of bucket `number`: what home it has, and whether it may lie there. */
static bool entry_sound(decoder *d, uint64_t number, unsigned pos)
{
	const kh_bucket *b = &d->b[number];
	int64_t home = (int64_t)number - (pos < (b->flags & 31u)),
		slot = (int64_t)(19 * number + pos);
	int64_t place = home * 65536 + b->tag[pos];
	int64_t should = 19 * home > d->slot + 1 ? 19 * home : d->slot + 1;

	if (home < 0 || home >= d->r->buckets || place <= d->place || slot != should)
		return false;
	d->place = place;
	d->slot = slot;
	return list_sound(d, b->len[pos]);
}

static bool bucket_sound(decoder *d, uint64_t number)
{
	const kh_bucket *b = &d->b[number];
	unsigned carried = b->flags & 31, n = 0;
	unsigned next = number < d->r->buckets ? b[1].flags & 31 : 0;

	if (b->flags >> 6 || kh_bucket_base(b) != d->words || (b->flags >> 5 & 1) != (next > 0))
		return false;
	for (; n < 19 && b->len[n]; n++)
		if (!entry_sound(d, number, n))
			return false;
	for (unsigned i = n; i < 19; i++)
		if (b->len[i] || b->tag[i])
			return false;
	return carried <= n;
}

static bool sound(const made *x)
{
	decoder d = { x->dir, made_buckets(x), x, 0, 0, 0, -1, -1 };

	for (uint64_t i = 0; i <= d.r->buckets; i++)
		if (!bucket_sound(&d, i))
			return false;
	return d.words == d.r->n_locs && d.entries == d.r->entries && d.over == d.r->over;
}

/* --- mutations -------------------------------------------------------------------- */
struct tally {
	unsigned accepted, rejected;
};

static void judge(const made *x, struct tally *t, size_t at)
{
	kh_err err = { 0, "" };
	bool want = sound(x), got = !kh_index_check(x->image, &x->dir[0], N_BINS, N_TAXA, &err);

	if (want != got)
		fail_msg("byte %zu (%zu of its bucket): %s, but %s", at, at % 64,
			 want ? "sound" : "not sound", got ? "accepted" : err.msg);
	if (kh_probe_sound(x->image, &x->dir[0], N_BINS, N_TAXA) != got)
		fail_msg("byte %zu (%zu of its bucket): kh_index_check says %s, kh_probe_sound not",
			 at, at % 64, got ? "sound" : err.msg);
	assert_true(got || (err.code == KH_EFORMAT && strstr(err.msg, "bucket ")));
	t->accepted += got;
	t->rejected += !got;
}

static void mutate(const made *x, size_t from, size_t to, struct tally *t)
{
	unsigned char *p = x->image;

	for (size_t at = from; at < to; at++) {
		unsigned char was = p[at];
		/* flags and lengths: every value; else each bit, and a few values */
		bool all = at % 64 >= 6 && at % 64 < 26 && at < x->dir[0].first_loc * 4;

		for (unsigned v = 0; v < (all ? 256u : 8u); v++) {
			p[at] = (unsigned char)(all ? v : was ^ 1u << v);
			if (p[at] != was)
				judge(x, t, at);
		}
		for (unsigned v = 0; v < 4; v++) {
			p[at] = (unsigned char)test_rand();
			judge(x, t, at);
		}
		p[at] = was;
	}
}

static void check_set(pairs *p)
{
	kh_err err = { 0, "" };
	struct tally t[3] = { { 0, 0 } };
	size_t lists;
	made x;

	assert_int_equal(make_range(&x, p, tree, &err), 0);
	judge(&x, &t[0], 0);
	assert_int_equal(t[0].accepted, 1);
	lists = x.dir[0].first_loc * 4;
	mutate(&x, 0, lists, &t[1]);
	mutate(&x, lists, lists + kh_words_bytes(x.dir[0].n_locs, WORD_BITS), &t[2]);
	printf("# %u entries: of %u changed buckets %u are sound, of %u changed lists %u\n",
	       x.dir[0].entries, t[1].accepted + t[1].rejected, t[1].accepted,
	       t[2].accepted + t[2].rejected, t[2].accepted);
	free(x.image);
	free(p->v);
	*p = (pairs) { .v = NULL };
}

static void test_plain(void **state)
{
	pairs p = { .v = NULL };

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		add_list(&p, test_rand() >> 24, 1 + i % 3);
	check_set(&p);
}

/* Full homes, carried entries, a home whose bucket is all carried ones, the last home. */
static void test_carried(void **state)
{
	static const unsigned count[2][8] = { { 38, 19, 3, 0, 20, 5, 19, 25 },
					      { 38, 19, 3, 0, 20, 5, 6, 38 } };
	pairs p = { .v = NULL };

	(void)state;
	for (unsigned set = 0; set < 2; set++) {
		for (unsigned h = 0; h < 8; h++)
			for (unsigned i = 0; i < count[set][h]; i++)
				add_list(&p, key_at(10, h + 2u, 1000 * i + 7, 0), i % 7 ? 1 : 2);
		check_set(&p);
	}
}

static void test_over(void **state)
{
	pairs p = { .v = NULL };

	(void)state;
	for (unsigned i = 0; i < 30; i++)
		add_list(&p, test_rand() >> 24, i % 3 ? 1 : 253 + i);
	check_set(&p);
}

static void test_empty(void **state)
{
	pairs p = { .v = NULL };

	(void)state;
	check_set(&p);
}

/* Changes of several bytes: flags of neighbours that agree, equal tags, a hole. */
static void change_buckets(made *x, struct tally *t)
{
	for (uint32_t i = 0; i < x->dir[0].buckets; i++) {
		kh_bucket *b = made_buckets(x) + i, was[2] = { b[0], b[1] };
		unsigned n = 0;

		b[0].flags ^= KH_BUCKET_GOES_ON;
		b[1].flags ^= 1;
		judge(x, t, 64 * i + 6);
		memcpy(b, was, sizeof was);
		b[1].tag[0] = b[0].tag[KH_BUCKET_SLOTS - 1];
		judge(x, t, 64 * i + 64 + 26);
		memcpy(b, was, sizeof was);
		while (n < KH_BUCKET_SLOTS && b->len[n])
			n++;
		if (n == 0 || n == KH_BUCKET_SLOTS)
			continue;
		b->len[n] = b->len[n - 1];
		b->tag[n] = b->tag[n - 1];
		b->len[n - 1] = 0;
		b->tag[n - 1] = 0;
		for (uint32_t less = 0; less < 2; less++) {
			x->dir[0].entries -= less;
			judge(x, t, 64 * i + 7 + n);
			x->dir[0].entries += less;
		}
		memcpy(b, was, sizeof was);
	}
}

/* Many buckets, of all fills; a byte at random changed to others. */
static void test_many(void **state)
{
	struct tally t = { 0, 0 };
	pairs p = { .v = NULL };
	kh_err err = { 0, "" };
	made x;

	(void)state;
	for (unsigned i = 0; i < 2500; i++)
		add_list(&p, test_rand() >> 24,
			 i % 50 ? 1 + (unsigned)(test_rand() % 5) : 230 + i % 40);
	assert_int_equal(make_range(&x, &p, tree, &err), 0);
	for (unsigned i = 0; i < 10000; i++) {
		unsigned char *byte = (unsigned char *)x.image + test_rand() % x.bytes, was = *byte;

		judge(&x, &t, (size_t)(byte - (unsigned char *)x.image));
		*byte = (unsigned char)(i % 2 ? test_rand() : was ^ 1u << i / 2 % 8);
		judge(&x, &t, (size_t)(byte - (unsigned char *)x.image));
		*byte = was;
	}
	printf("# %u entries: of %u changed bytes %u leave it sound\n", x.dir[0].entries,
	       t.accepted + t.rejected - 10000, t.accepted - 10000);
	change_buckets(&x, &t);
	free(x.image);
	free(p.v);
}

/* Counts of the directory, one more and one less. */
static void test_counts(void **state)
{
	pairs p = { .v = NULL };
	kh_err err = { 0, "" };
	made x;

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		add_list(&p, test_rand() >> 24, i == 7 ? 300 : 2);
	assert_int_equal(make_range(&x, &p, tree, &err), 0);
	for (int by = -1; by <= 1; by += 2) {
		kh_range r[3] = { x.dir[0], x.dir[0], x.dir[0] };

		r[0].n_locs += (uint64_t)(int64_t)by;
		r[1].entries += (uint32_t)by;
		r[2].over += (uint32_t)by;
		for (int i = 0; i < 3; i++) {
			assert_int_equal(kh_index_check(x.image, &r[i], N_BINS, N_TAXA, &err),
					 KH_EFORMAT);
			assert_false(kh_probe_sound(x.image, &r[i], N_BINS, N_TAXA));
		}
	}
	assert_int_equal(kh_index_check(x.image, &x.dir[0], 1, N_TAXA, &err), KH_EFORMAT);
	assert_int_equal(kh_index_check(x.image, &x.dir[0], N_BINS, 0, &err), KH_EFORMAT);
	assert_false(kh_probe_sound(x.image, &x.dir[0], 1, N_TAXA));
	assert_false(kh_probe_sound(x.image, &x.dir[0], N_BINS, 0));
	free(x.image);
	free(p.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain), cmocka_unit_test(test_carried),
		cmocka_unit_test(test_over), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_many), cmocka_unit_test(test_counts),
	};

	test_seed();
	return cmocka_run_group_tests_name("index_check", tests, make_tree, free_tree);
}
