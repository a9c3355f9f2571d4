/*
 * match_hits.h - 12-mers and seeds of a mate that the text has where it lies by a claim   [HD]
 */
#ifndef KH_CLASSIFY_MATCH_HITS_H
#define KH_CLASSIFY_MATCH_HITS_H

#include "classify/match_place.h"

static KH_HD_CALLED uint32_t kh_place_diagonals_near(const kh_matching *m, const kh_place *p,
						     int step, int64_t *at, uint32_t n)
{
	const kh_place *const first = m->place, *const end = first + m->n_place;

	for (const kh_place *q = p + step; n < KH_MATCH_DIAGONALS; q += step) {
		const int64_t far = q < first || q >= end ? KH_MATCH_ASIDE + 1
							  : kh_place_at(q) - kh_place_at(p);

		if (far > KH_MATCH_ASIDE || far < -KH_MATCH_ASIDE || q->target != p->target ||
		    kh_place_mate(q) != kh_place_mate(p) ||
		    kh_place_strand(q) != kh_place_strand(p))
			break;
		at[n++] = kh_place_at(q);
	}
	return n;
}

/* Where a mate lies at a place, and a few bases aside. */
static KH_HD uint32_t kh_place_diagonals(const kh_matching *m, uint32_t place,
					 int64_t at[KH_MATCH_DIAGONALS])
{
	const kh_place *p = &m->place[place];

	at[0] = kh_place_at(p);
	if (place >= m->n_place)        /* it was sought beside the other mate */
		return 1;
	return kh_place_diagonals_near(m, p, -1, at, kh_place_diagonals_near(m, p, 1, at, 1));
}

/* The low bit of each of the 32 bases from base i of a mate on in which it differs from the text
 * where it lies so, or which is unknown.  What lies beside the target differs. */
static KH_HD uint64_t kh_text_differs(const kh_laid *l, int64_t at, uint32_t i)
{
	const int64_t begin = (int64_t)l->begin - at - i, end = (int64_t)l->end - at - i;
	const uint32_t from = begin > 0 ? (uint32_t)begin : 0;
	uint64_t x;

	if (begin >= 32 || end <= 0)
		return KH_TEXT_LOW;
	x = kh_laid_differ(l, l->read->base[i / 32], (uint64_t)(at + i + from), from);
	x |= l->read->unknown[i / 32];
	x |= ((UINT64_C(1) << 2 * from) - 1) & KH_TEXT_LOW;
	return end < 32 ? x | (KH_TEXT_LOW << 2 * (uint32_t)end) : x;
}

/* The same of all words of a mate; behind them is a word of zeros. */
static KH_HD void kh_text_all_differ(const kh_laid *l, int64_t at, uint64_t *wrong)
{
	const uint32_t words = (l->len + 31) / 32;

#ifdef KH_TEXT_SSE2
	if (words > 0 && kh_text_is_inside(l, at, 0, l->len)) {
		kh_text_wrongs(l, at, kh_text_on_target(l, at, 0, l->len), wrong);
		wrong[words] = 0;
		return;
	}
#endif
	for (uint32_t i = 0; i < words; i++)
		wrong[i] = kh_text_differs(l, at, 32 * i);
	wrong[words] = 0;
}

/* The k-mers of a mate that a call counts: those without N at every KH_TEXT_STEP bases. */
static KH_HD uint32_t kh_mate_kmers(const kh_matching *m, const kh_segment *s, uint32_t mate)
{
	const uint32_t k = KH_TEXT_KMER, len = s->mate[mate].len;
	const uint64_t *unknown = m->read[mate][0].unknown;
	uint64_t any = 0;
	uint32_t n = 0;

	if (kh_match_is_thin(m->db))
		return s->mate[mate].seeds;
	for (uint32_t i = 0; i < len; i += 32)
		any |= unknown[i / 32];
	if (any == 0)                   /* as nearly always */
		return len < k ? 0 : (len - k) / KH_TEXT_STEP + 1;
	for (uint32_t i = 0; i + k <= len; i += KH_TEXT_STEP)
		n += kh_packed_bits(unknown, i, k) == 0;
	return n;
}

/* Of columns from .. to - 1, which all match: how many k-mers begin in them that are counted, if
 * those do that are `rest` more than a multiple of KH_TEXT_STEP. */
static KH_HD uint32_t kh_text_kmers_between(uint32_t from, uint32_t to, uint32_t rest)
{
	const uint32_t step = KH_TEXT_STEP;

	if (to < from + KH_TEXT_KMER)
		return 0;
	/* how many begin in front of a column */
	return (to - KH_TEXT_KMER + step - rest) / step - (from + step - 1 - rest) / step;
}

/* Of a mate whose columns that do not match are known: the k-mers between them that are counted. */
static KH_HD uint32_t kh_text_kmers(const uint64_t *wrong, uint32_t len, bool back)
{
	const uint32_t rest = back && len >= KH_TEXT_KMER ? (len - KH_TEXT_KMER) % KH_TEXT_STEP : 0;
	uint32_t n = 0, from = 0;

	for (uint32_t w = 0; 32 * w < len; w++)
		for (uint64_t x = wrong[w] | wrong[w] << 1, end; x != 0; x &= end) {
			/* a run of columns, which have both bits each */
			const uint32_t column = 32 * w + kh_text_lowest(x);

			if (column >= len)
				break;
			n += kh_text_kmers_between(from, column, rest);
			end = x + (x & (0 - x));
			from = 32 * w + (end != 0 ? kh_text_lowest(end) : 32);
		}
	return n + kh_text_kmers_between(from, len, rest);
}

#ifndef __CUDACC__
static_assert(KH_TEXT_KMER == 12 && KH_TEXT_STEP == 5, "kh_text_kmers_in and kh_text_counted");

/* The low bits of those of 32 columns from which on a k-mer matches, by those that do not match
 * here and behind. */
static inline uint64_t kh_text_kmers_in(uint64_t here, uint64_t behind)
{
	const uint64_t a = ~here & KH_TEXT_LOW, b = ~behind & KH_TEXT_LOW;
	const uint64_t a2 = a & (a >> 2 | b << 62), b2 = b & b >> 2;
	const uint64_t a4 = a2 & (a2 >> 4 | b2 << 60), b4 = b2 & b2 >> 4;
	const uint64_t a8 = a4 & (a4 >> 8 | b4 << 56);

	return a8 & (a4 >> 16 | b4 << 48);
}

/* The low bits of those of 32 columns whose k-mers are counted, if those of the first k-mer are
 * `rest` more than a multiple of KH_TEXT_STEP. */
static inline uint64_t kh_text_counted(uint32_t word, uint32_t rest)
{
	return UINT64_C(0x1004010040100401) << 2 * ((rest + 3 * word) % KH_TEXT_STEP);
}

/* The k-mers that are counted and match in one of n ways. */
static inline uint32_t kh_text_kmers_any(uint64_t wrong[][KH_TEXT_WORDS + 1], uint32_t n,
					 uint32_t len, bool back)
{
	const uint32_t starts = len < KH_TEXT_KMER ? 0 : len - KH_TEXT_KMER + 1;
	const uint32_t rest = back && starts > 0 ? (starts - 1) % KH_TEXT_STEP : 0;
	uint32_t hits = 0;

	for (uint32_t w = 0; 32 * w < starts; w++) {
		const uint32_t left = starts - 32 * w;
		uint64_t any = 0;

		for (uint32_t d = 0; d < n; d++)
			any |= kh_text_kmers_in(wrong[d][w], wrong[d][w + 1]);
		hits += kh_text_count(any & kh_text_counted(w, rest) & kh_text_first(left));
	}
	return hits;
}
#endif

/* Those of a mate that the text has where the mate lies in one of n ways; `back`: it is turned. */
static KH_HD uint32_t kh_text_hits(const kh_laid *l, const int64_t *at, uint32_t n, bool back)
{
	const uint32_t len = l->len;
	uint64_t wrong[KH_MATCH_DIAGONALS][KH_TEXT_WORDS + 1];
	uint32_t hits = 0;

	for (uint32_t d = 0; d < n; d++)
		kh_text_all_differ(l, at[d], wrong[d]);
	if (n == 1)                     /* as nearly always */
		return kh_text_kmers(wrong[0], len, back);
#ifndef __CUDACC__
	hits = kh_text_kmers_any(wrong, n, len, back);
#else
	for (uint32_t i = 0; i + KH_TEXT_KMER <= len; i += KH_TEXT_STEP) {
		const uint32_t from = back ? len - KH_TEXT_KMER - i : i;
		uint32_t d = 0;

		while (d < n && kh_packed_bits(wrong[d], from, KH_TEXT_KMER) != 0)
			d++;
		hits += d < n;
	}
#endif
	return hits;
}

/* Those that the text has at a place, or a few bases aside. */
static KH_HD uint32_t kh_place_hits(const kh_matching *m, const kh_segment *s, uint32_t place)
{
	const kh_place *p = &m->place[place];
	const kh_laid l = kh_place_laid(m, s, p);
	int64_t at[KH_MATCH_DIAGONALS];

	return kh_text_hits(&l, at, kh_place_diagonals(m, place, at), kh_place_strand(p) != 0);
}

/* Those of a segment that the text has where a claim has its mates. */
static KH_HD_CALLED uint32_t kh_claim_hits(const kh_matching *m, const kh_segment *s,
					   const kh_claim *c)
{
	uint32_t hits = 0;

	for (uint32_t mate = 0; mate < 2; mate++)
		if (c->mates >> mate & 1)
			hits += kh_match_is_thin(m->db)
					? kh_thin_hits(m, s, &m->place[c->place[mate]])
					: kh_place_hits(m, s, c->place[mate]);
	return hits;
}

/* Where a mate lies by a claim, to be asked which of its seeds the text has there. */
typedef struct kh_diagonals {
	int64_t at[KH_MATCH_DIAGONALS];
	uint32_t n, strand;
} kh_diagonals;

static KH_HD kh_diagonals kh_claim_diagonals(const kh_matching *m, const kh_claim *c, uint32_t mate)
{
	kh_diagonals x;

	x.strand = kh_place_strand(&m->place[c->place[mate]]);
	x.n = kh_place_diagonals(m, c->place[mate], x.at);
	return x;
}

static KH_HD bool kh_diagonals_have_seed(const kh_matching *m, const kh_segment *s, uint32_t mate,
					 const kh_diagonals *x, uint32_t pos)
{
	const uint64_t mask = kh_kmer_mask(m->db->sampling.k);
	const kh_seed_strands f = kh_seed_strands_of(m, s, mate, pos);

	for (uint32_t d = 0; d < x->n; d++) {
		const int64_t at = x->at[d] + f.at[x->strand];

		if (at < 0)
			continue;
		const uint32_t *text = kh_match_text(m->db, at);

		if ((kh_text_bases(text, (uint64_t)at) & mask) == f.bases[x->strand])
			return true;
	}
	return false;
}

#endif
