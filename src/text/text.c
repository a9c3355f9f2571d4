/* text.c - reads compared with text: text.h */
#include <config.h>
#include "text/text.h"

#include <stdbool.h>

/* --- reads ------------------------------------------------------------------------ */
/* Each bit of 32 as the low bit of a base. */
static uint64_t spread(uint32_t amb)
{
	uint64_t x = amb;

	x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
	x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	x = (x | x << 2) & UINT64_C(0x3333333333333333);
	return (x | x << 1) & KH_TEXT_LOW;
}

/* Bits of the first m <= 32 bases. */
static uint64_t first_bases(uint32_t m)
{
	return m < 32 ? (UINT64_C(1) << 2 * m) - 1 : UINT64_MAX;
}

/* n bases in reverse order; what was behind the last one comes first, and is shifted out. */
static void reverse(uint64_t *to, const uint64_t *from, uint32_t n)
{
	const uint32_t words = (n + 31) / 32;
	const unsigned sh = 2 * (32 * words - n);

	for (uint32_t i = 0; i < words; i++) {
		const uint64_t x = kh_kmer_reverse(from[words - 1 - i], 32);
		const uint64_t y = i + 1 < words ? kh_kmer_reverse(from[words - 2 - i], 32) : 0;

		to[i] = sh ? x >> sh | y << (64 - sh) : x;
	}
}

void kh_text_read(kh_oriented to[2], const uint64_t *bases, const uint32_t *amb, uint64_t at,
		  uint32_t n)
{
	const unsigned sh = (unsigned)(at % 32);
	uint64_t other[KH_TEXT_WORDS];

	for (uint32_t i = 0; i < (n + 31) / 32; i++) {
		const uint64_t w = at / 32 + i;
		const uint32_t m = n - 32 * i < 32 ? n - 32 * i : 32;
		const bool two = sh + m > 32;
		const uint64_t x = bases[w] >> 2 * sh | (two ? bases[w + 1] << (64 - 2 * sh) : 0);
		const uint32_t a = amb[w] >> sh | (two ? amb[w + 1] << (32 - sh) : 0);

		to[0].base[i] = x & first_bases(m);
		to[0].unknown[i] = spread(a) & first_bases(m);
		other[i] = ~x & first_bases(m);
	}
	reverse(to[1].base, other, n);
	reverse(to[1].unknown, to[0].unknown, n);
}

/* --- the best stretch ------------------------------------------------------------- */
/* A sum over columns, which begins anew where it comes to 0. */
struct sum {
	uint32_t now;
	uint32_t from, wrong;           /* its first column, and its mismatches */
	kh_alignment best;
};

static inline void add_matches(struct sum *s, uint32_t from, uint32_t to)
{
	s->now += to - from;
	if (s->now > s->best.score)
		s->best = (kh_alignment) { s->now, to - s->from - s->wrong, to - s->from, s->from,
					   to };
}

static inline void add_mismatch(struct sum *s, uint32_t at)
{
	s->wrong++;
	if (s->now > 1) {
		s->now--;
		return;
	}
	s->now = s->wrong = 0;
	s->from = at + 1;
}

kh_alignment kh_text_fit(const kh_laid *l, int64_t at, uint32_t from, uint32_t to)
{
	const int64_t first = (int64_t)l->begin - at, last = (int64_t)l->end - at;
	uint32_t done;
	struct sum s = { .now = 0 };

	to = last >= (int64_t)to ? to : last > 0 ? (uint32_t)last : 0;
	from = first <= (int64_t)from ? from : first < (int64_t)to ? (uint32_t)first : to;
	done = s.from = from;

	for (uint32_t i = done; i < to; i = (i / 32 + 1) * 32) {
		/* the columns of a word of the read; in front of the target nothing is read */
		const uint32_t w = i / 32, skip = 2 * (i % 32);
		const uint64_t here = kh_text_bases(l->text, (uint64_t)(at + (int64_t)i)) << skip;
		uint64_t x = kh_text_differ(l->read->base[w], here) | l->read->unknown[w];

		for (x = x >> skip << skip; x != 0; x &= x - 1) {
			const uint32_t column = 32 * w + (uint32_t)__builtin_ctzll(x) / 2;

			if (column >= to)
				break;
			add_matches(&s, done, column);
			add_mismatch(&s, column);
			done = column + 1;
		}
	}
	if (done < to)
		add_matches(&s, done, to);
	return s.best;
}

struct aside {
	kh_alignment fit;
	int64_t at;
};

/* The best stretch of some columns of a read that lies aside of `at`; of equal ones, that which is
 * less far aside, and of these the one further on. */
static struct aside fit_aside(const kh_laid *l, int64_t at, uint32_t from, uint32_t to)
{
	struct aside best = { .at = at };

	for (int d = 1; d <= KH_END_ASIDE; d++)
		for (int sign = 1; sign >= -1; sign -= 2) {
			const int64_t here = at + sign * d;
			const kh_alignment fit = kh_text_fit(l, here, from, to);

			if (fit.score > best.fit.score)
				best = (struct aside) { fit, here };
		}
	return best;
}

/* Adds what lies aside to a fit, from its end, or its beginning, on; false: that is too little. */
static bool add_end(kh_alignment *fit, const kh_alignment *end, bool behind)
{
	if (end->score < KH_END_SCORE)
		return false;
	fit->score += end->score - KH_GAP_COST;
	fit->matches += end->matches;
	fit->columns += end->columns;
	if (behind)
		fit->to = end->to;
	else
		fit->from = end->from;
	return true;
}

void kh_text_fit_ends(const kh_laid *l, int64_t at, uint32_t gaps, kh_alignment *fit)
{
	int64_t here = at;
	uint32_t n = gaps;
	struct aside end;

	while (n-- > 0 && l->len - fit->to >= KH_END_BASES) {
		end = fit_aside(l, here, fit->to, l->len);
		if (!add_end(fit, &end.fit, true))
			break;
		here = end.at;
	}
	here = at;
	n = gaps;
	while (n-- > 0 && fit->from >= KH_END_BASES) {
		end = fit_aside(l, here, 0, fit->from);
		if (!add_end(fit, &end.fit, false))
			break;
		here = end.at;
	}
}

/* --- the mate's place ------------------------------------------------------------- */
uint64_t kh_text_nearest(const kh_laid *l, uint64_t from, uint64_t to, uint32_t *differ)
{
	const kh_oriented *r = l->read;
	const uint32_t n = l->len, *text = l->text;
	const uint64_t m0 = first_bases(n < 32 ? n : 32);
	const uint64_t m1 = n > 32 ? first_bases(n < 64 ? n - 32 : 32) : 0;
	const uint64_t q0 = r->base[0], q1 = m1 ? r->base[1] : 0;
	const uint64_t u0 = r->unknown[0], u1 = m1 ? r->unknown[1] : 0;
	uint64_t where = from;
	uint32_t least = UINT32_MAX;

	for (uint64_t i = from; i <= to; i++) {
		const uint64_t x = (kh_text_differ(q0, kh_text_bases(text, i)) | u0) & m0;
		const uint64_t y = (kh_text_differ(q1, kh_text_bases(text, i + 32)) | u1) & m1;
		const uint32_t d = kh_text_count(x) + kh_text_count(y);

		if (d < least) {
			least = d;
			where = i;
		}
	}
	*differ = least;
	return where;
}
