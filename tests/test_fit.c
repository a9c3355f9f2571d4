/* test_fit.c - reads that lie along text, compared four columns and many diagonals at a time: as
 * column by column */
#include "test.h"
#include "kmer/fit.h"

enum { TEXT = 4096, TRIALS = 40000 };

static uint32_t text[TEXT / KH_TEXT_WORD + KH_TEXT_BEHIND];
static uint32_t alleles[TEXT / KH_TEXT_WORD + KH_TEXT_BEHIND];
/* The same with some bases changed, or put in place of the allele. */
static uint32_t near_text[TEXT / KH_TEXT_WORD + KH_TEXT_BEHIND];

static uint32_t base_at(const uint32_t *words, uint64_t i)
{
	return words[i / KH_TEXT_WORD] >> 2 * (i % KH_TEXT_WORD) & 3;
}

/* Bases of the text, or alleles, from `at` on: about one in `each` is another one, or unknown, and
 * one in `gap` is left out. */
static void make_read(kh_oriented *r, uint64_t at, uint32_t len, uint32_t each, uint32_t gap)
{
	const bool known = test_rand() % 2;

	memset(r, 0, sizeof *r);
	for (uint32_t i = 0; i < len; i++, at++) {
		uint64_t base;

		at += test_rand() % gap == 0;
		base = base_at(text, at);
		if (test_rand() % 2)
			base ^= base_at(alleles, at);
		if (test_rand() % each == 0)
			base = test_rand() % 4;
		r->base[i / 32] |= base << 2 * (i % 32);
		if (!known && test_rand() % (8 * each) == 0)
			r->unknown[i / 32] |= UINT64_C(1) << 2 * (i % 32);
	}
}

static void same_fit(const kh_alignment *a, const kh_alignment *b)
{
	assert_int_equal(a->score, b->score);
	assert_int_equal(a->matches, b->matches);
	assert_int_equal(a->columns, b->columns);
	assert_int_equal(a->from, b->from);
	assert_int_equal(a->to, b->to);
}

/* The best HSP, column by column. */
static kh_alignment fit_columns(const kh_laid *l, int64_t at, uint32_t from, uint32_t to)
{
	kh_alignment best = { 0, 0, 0, 0, 0 };
	uint32_t sum = 0, matches = 0;

	for (uint32_t i = from, first = from; i < to; i++) {
		const int64_t x = at + (int64_t)i;
		const uint32_t shift = 2 * (i % 32);
		const uint32_t read = l->read->base[i / 32] >> shift & 3;
		const bool unknown = l->read->unknown[i / 32] >> shift & 1;
		const bool on_target = x >= (int64_t)l->begin && x < (int64_t)l->end;
		bool same = false;

		if (on_target && !unknown) {
			same = read == base_at(l->text, (uint64_t)x);
			if (l->alleles)
				same |= read == (base_at(l->text, (uint64_t)x) ^
						 base_at(l->alleles, (uint64_t)x));
		}
		if (same) {
			sum++;
			matches++;
			if (sum > best.score)
				best = (kh_alignment) { sum, matches, i + 1 - first, first, i + 1 };
		} else if (on_target && sum > 1) {
			sum--;
		} else {
			sum = matches = 0;
			first = i + 1;
		}
	}
	return best;
}

static kh_text_seen seen;

/* The best HSP aside as fit.h says it: one way to lie after another. */
static kh_text_aside aside(const kh_laid *l, int64_t at, bool here, uint32_t from, uint32_t to)
{
	kh_text_aside best = { { 0, 0, 0, 0, 0 }, at };

	for (int i = here ? 0 : 1; i <= 2 * KH_END_ASIDE; i++) {
		const int64_t x = i % 2 ? at + (i + 1) / 2 : at - i / 2;
		kh_alignment fit = fit_columns(l, x, from, to);

		if (fit.score < KH_END_SCORE)
			continue;
		fit.score -= i > 0 ? KH_GAP_COST : 0;
		if (fit.score > best.fit.score)
			best = (kh_text_aside) { fit, x };
	}
	return best;
}

static void one_trial(void)
{
	static const uint32_t each[] = { 2, 3, 4, 10, 50, 1000 };
	const uint32_t len = 1 + (uint32_t)(test_rand() % KH_TEXT_SPAN);
	const int64_t begin = test_rand() % (TEXT / 2), end = begin + test_rand() % (TEXT / 2);
	const int64_t lies = test_rand() % (TEXT - 2 * KH_TEXT_SPAN);
	const int64_t at = lies + (int64_t)(test_rand() % 21) - 10;
	const uint32_t from = (uint32_t)(test_rand() % len);
	const uint32_t to = from + (uint32_t)(test_rand() % (len - from + 1));
	const bool whole = test_rand() % 2, here = test_rand() % 2;
	uint32_t amb[KH_TEXT_WORDS] = { 0 };
	kh_oriented r;
	kh_laid l = { &r, len, text, test_rand() % 2 ? alleles : NULL,
			    whole ? 0 : (uint64_t)begin, whole ? TEXT : (uint64_t)end, NULL };
	kh_alignment want, got;
	kh_text_aside a, b;

	make_read(&r, (uint64_t)lies, len, each[test_rand() % 6], test_rand() % 2 ? 40 : 400);
	want = fit_columns(&l, at, from, to);
	got = kh_text_fit(&l, at, from, to);
	same_fit(&want, &got);
	l.seen = &seen;
	got = kh_text_fit(&l, at, from, to);
	same_fit(&want, &got);
	if (from == to)
		return;
	for (uint32_t i = 0; i < len; i++)
		amb[i / 32] |= (uint32_t)(r.unknown[i / 32] >> 2 * (i % 32) & 1) << i % 32;
	kh_text_see_nothing(&seen, amb, 0, len);
	for (int i = 0; i < 9; i++) {   /* where the text repeats itself, and as it was seen */
		const int64_t x = at + i % 3 * 3;

		l.seen = i > 0 ? &seen : NULL;
		l.text = i / 3 == 1 ? near_text : text;
		a = aside(&l, x, here, from, to);
		b = kh_text_fit_aside(&l, x, here, from, to);
		same_fit(&a.fit, &b.fit);
		assert_true(a.at == b.at);
	}
}

TEST(test_fits)
{
	for (uint64_t i = 0; i < TEXT / KH_TEXT_WORD; i++) {
		text[i] = (uint32_t)test_rand();
		alleles[i] = UINT32_C(3) << test_rand() % 32 & (uint32_t)test_rand();
	}
	/* a repeat of three bases, where many diagonals are equally good */
	for (uint64_t i = 512; i < 1024; i++) {
		text[i / KH_TEXT_WORD] &= ~(UINT32_C(3) << 2 * (i % KH_TEXT_WORD));
		text[i / KH_TEXT_WORD] |= (uint32_t)(i % 3) << 2 * (i % KH_TEXT_WORD);
	}
	for (uint64_t i = 0; i < TEXT / KH_TEXT_WORD; i++) {
		const uint32_t base = UINT32_C(3) << 2 * (test_rand() % 16);

		near_text[i] = text[i] ^ (base & (test_rand() % 2 ? alleles[i]
								  : (uint32_t)test_rand()));
	}
	kh_text_eights_init(seen.eights);
	for (int i = 0; i < TRIALS; i++)
		one_trial();
}

/* Reads that begin with a word, as whole ones do, and others are taken word by word. */
TEST(test_take)
{
	enum { WORDS = KH_TEXT_WORDS + 3 };
	uint64_t bases[WORDS];
	uint32_t amb[WORDS];

	for (int i = 0; i < 1000; i++) {
		const uint32_t n = (uint32_t)(test_rand() % (KH_TEXT_SPAN + 1));
		const uint32_t words = (n + 31) / 32;
		const uint64_t at = test_rand() % 2 ? 32 * (test_rand() % 2) : test_rand() % 32;
		const bool known = test_rand() % 2;
		kh_oriented want, got;

		for (int w = 0; w < WORDS; w++) {
			bases[w] = (uint64_t)test_rand() << 32 ^ (uint64_t)test_rand();
			amb[w] = known ? 0 : UINT32_C(1) << test_rand() % 32;
		}
		for (uint32_t w = 0; w < words; w++)
			kh_text_take_word(&want, bases, amb, at, n, w);
		kh_text_take(&got, bases, amb, at, n);
		assert_memory_equal(want.base, got.base, words * sizeof *want.base);
		assert_memory_equal(want.unknown, got.unknown, words * sizeof *want.unknown);
	}
}

/* A mate without bases is turned without reading or writing a word. */
TEST(test_no_bases)
{
	kh_oriented r[3], before[3];

	memset(r, 0x5a, sizeof r);
	memcpy(before, r, sizeof r);
	kh_text_turn(&r[1], &r[0], 0);
	assert_memory_equal(r, before, sizeof r);
}
