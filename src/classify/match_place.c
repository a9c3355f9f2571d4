/* match_place.c - the places of a mate: candidates, regions, comparisons; match_rule.h */
#include <config.h>
#include "classify/match_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

int kh_places_new(kh_matcher *m, kh_err *err)
{
	m->sorted = kh_array(KH_MATCH_CANDIDATES, sizeof *m->sorted, err);
	for (int i = 0; i < 2; i++) {
		struct kh_found *f = &m->found[i];

		f->candidate = kh_array(KH_MATCH_CANDIDATES, sizeof *f->candidate, err);
		f->region = kh_array(KH_MATCH_CANDIDATES, sizeof *f->region, err);
		if (!m->sorted || !f->candidate || !f->region)
			return KH_ENOMEM;
	}
	return KH_OK;
}

void kh_places_free(kh_matcher *m)
{
	free(m->sorted);
	for (int i = 0; i < 2; i++) {
		free(m->found[i].candidate);
		free(m->found[i].region);
	}
	free(m->place);
}

/* --- candidates --------------------------------------------------------------------------- */
/* A list that is whole and for which there is room becomes candidates. */
static void add_list(struct kh_found *f, uint32_t seed, const uint32_t *bin, uint32_t n)
{
	if (f->n_candidates + n > KH_MATCH_CANDIDATES)
		return;
	for (uint32_t j = 0; j < n; j++)
		if (bin[j] == KH_SEED_MANY)
			return;
	for (uint32_t j = 0; j < n; j++)
		f->candidate[f->n_candidates++] = (uint64_t)bin[j] << 32 | seed;
	kh_seed_add(&f->known, seed);
}

/* Sorts candidates, which come in the order of seeds, by bins of so many bits. */
static void sort_candidates(uint64_t *a, uint64_t *other, uint32_t n, uint32_t bits)
{
	uint64_t *from = a, *to = other;

	if (n <= 32) {
		for (uint32_t i = 1; i < n; i++) {
			const uint64_t x = a[i];
			uint32_t j = i;

			for (; j > 0 && a[j - 1] > x; j--)
				a[j] = a[j - 1];
			a[j] = x;
		}
		return;
	}
	for (uint32_t shift = 32; shift < 32 + bits; shift += 8) {
		uint32_t next[256] = { 0 }, sum = 0;
		uint64_t *const swap = from;

		for (uint32_t i = 0; i < n; i++)
			next[from[i] >> shift & 255]++;
		for (int d = 0; d < 256; d++) {
			const uint32_t here = next[d];

			next[d] = sum;
			sum += here;
		}
		for (uint32_t i = 0; i < n; i++)
			to[next[from[i] >> shift & 255]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != a)
		memcpy(a, from, n * sizeof *a);
}

/* --- regions ------------------------------------------------------------------------------ */
static uint32_t bin_of(uint64_t candidate)
{
	return (uint32_t)(candidate >> 32);
}

static uint32_t loss_of(const kh_matcher *m, const struct kh_found *f, uint32_t len,
			const kh_seed_set *found)
{
	return kh_match_loss(f->pos, f->n, m->rule->sampling.k, len, &f->known, found);
}

static void find_regions(const kh_matcher *m, struct kh_found *f, uint32_t len)
{
	const uint32_t k = m->rule->sampling.k;
	/* two k-mers of a mate are in bins that far apart at most */
	const uint32_t far = len < k ? 0 : (len - k) / m->rule->sampling.stride + 1;

	f->n_regions = 0;
	for (uint32_t i = 0, j; i < f->n_candidates; i = j) {
		struct kh_region *r = &f->region[f->n_regions++];
		kh_seed_set found = { { 0 } };

		for (j = i; j < f->n_candidates; j++) {
			if (j > i && bin_of(f->candidate[j]) - bin_of(f->candidate[j - 1]) > far)
				break;
			kh_seed_add(&found, (uint32_t)f->candidate[j]);
		}
		*r = (struct kh_region) { i, j - i, loss_of(m, f, len, &found), false };
	}
}

void kh_places_regions(kh_matcher *m, const struct kh_mates *s, uint32_t mate, size_t seed)
{
	const uint32_t n = s->mate[mate].asked, *end = m->bins.end + seed;
	static const kh_seed_set none;
	struct kh_found *f = &m->found[mate];

	f->n = n < KH_MATCH_SEEDS ? n : KH_MATCH_SEEDS;
	f->n_candidates = 0;
	f->known = none;
	f->best = 0;
	for (uint32_t i = 0; i < f->n; i++) {
		const uint32_t from = seed + i > 0 ? m->bins.end[seed + i - 1] : 0;

		add_list(f, i, m->bins.bin + from, end[i] - from);
	}
	sort_candidates(f->candidate, m->sorted, f->n_candidates, m->db->bins.bits);
	find_regions(m, f, s->mate[mate].len);
	f->unseen = loss_of(m, f, s->mate[mate].len, &none);
}

/* --- places ------------------------------------------------------------------------------- */
kh_laid kh_places_laid(const kh_matcher *m, const struct kh_mates *s, const struct kh_spot *p)
{
	const uint32_t mate = kh_place_mate(p);
	const kh_db_kept *t = &m->db->kept[p->target];
	const uint64_t begin = (uint64_t)t->first_bin * m->rule->sampling.stride;

	return (kh_laid) { &m->read[mate][kh_place_strand(p)], s->mate[mate].len, m->db->text,
			   begin, begin + kh_db_kept_bases(m->db, t) };
}

/* Compares a mate at a place; its ends, too, if the score is half of the best one's or more. */
static int add_place(kh_matcher *m, const struct kh_mates *s, uint32_t mate, uint32_t strand,
		     int64_t at, uint32_t bin, kh_err *err)
{
	struct kh_spot p = { .number = kh_place_number(mate, strand, at),
			     .target = kh_bins_target(&m->db->bins, bin) };
	uint32_t *best = &m->found[mate].best;
	const kh_laid l = kh_places_laid(m, s, &p);
	int rc = kh_grow((void **)&m->place, &m->cap_place, m->n_place + 1, sizeof *m->place, err);

	if (rc)
		return rc;
	p.fit = kh_text_fit(&l, at, 0, l.len);
	if (2 * p.fit.score >= *best)
		kh_text_fit_ends(&l, at, s->only ? 1 : KH_MATCH_GAPS, &p.fit);
	*best = p.fit.score > *best ? p.fit.score : *best;
	m->place[m->n_place++] = p;
	return KH_OK;
}

/* A seed as it stands in a mate and in its reverse complement: k bases, and where they begin. */
struct stands {
	uint32_t at[2];
	uint64_t bases[2];
};

static struct stands stands(const kh_matcher *m, const struct kh_mates *s, uint32_t mate,
			    uint32_t pos)
{
	const uint32_t k = m->rule->sampling.k, back = s->mate[mate].len - k - pos;

	return (struct stands) { { pos, back },
				 { kh_packed_bits(m->read[mate][0].base, pos, k),
				   kh_packed_bits(m->read[mate][1].base, back, k) } };
}

enum { FIRST = 4 };

/* Of the 32 bases of the text from each text[i] on, which begins i bases further: the low bit of
 * those where some bases begin as a seed does. */
static uint64_t begin_alike(uint64_t bases, const uint64_t text[FIRST])
{
	uint64_t differ = 0;

	/* each of its first bases 32 times */
	for (int i = 0; i < FIRST; i++)
		differ |= text[i] ^ (bases >> 2 * i & 3) * KH_TEXT_LOW;
	return ~(differ | differ >> 1) & KH_TEXT_LOW;
}

/* Does a seed lie in a bin on one of the last n places?  Nearly all seeds of a region lie on the
 * place that the first one found. */
static bool on_place(const kh_matcher *m, size_t n, const uint32_t at[2], uint32_t bin)
{
	const int64_t stride = m->rule->sampling.stride, from = bin * stride;

	for (const struct kh_spot *p = m->place + m->n_place - n; n > 0; n--, p++) {
		const int64_t here = kh_place_at(p) + at[kh_place_strand(p)];

		if (here >= from && here < from + stride &&
		    bin - m->db->kept[p->target].first_bin < m->db->kept[p->target].bins)
			return true;
	}
	return false;
}

/* Compares the mate where the text has the seed, which begins with one of n <= 32 bases there. */
static int look_at(kh_matcher *m, const struct kh_mates *s, uint32_t mate, const struct stands *f,
		   uint32_t bin, int64_t from, uint32_t n, kh_err *err)
{
	const uint64_t mask = kh_kmer_mask(m->rule->sampling.k);
	const uint64_t first = n < 32 ? (UINT64_C(1) << 2 * n) - 1 : UINT64_MAX;
	uint64_t text[FIRST], alike[2];
	int rc = KH_OK;

	for (int i = 0; i < FIRST; i++)
		text[i] = kh_text_bases(m->db->text, (uint64_t)(from + i));
	alike[0] = begin_alike(f->bases[0], text) & first;
	alike[1] = begin_alike(f->bases[1], text) & first;
	for (uint64_t any = alike[0] | alike[1]; any != 0 && !rc; any &= any - 1) {
		const uint64_t bit = any & (0 - any);
		const int64_t at = from + __builtin_ctzll(any) / 2;
		const uint64_t here = kh_text_bases(m->db->text, (uint64_t)at) & mask;

		for (uint32_t strand = 0; strand < 2 && !rc; strand++)
			if (alike[strand] & bit && here == f->bases[strand])
				rc = add_place(m, s, mate, strand, at - f->at[strand], bin, err);
	}
	return rc;
}

/* Compares the mate at each place where the text of the candidate's bin has the seed. */
static int look(kh_matcher *m, const struct kh_mates *s, uint32_t mate, const struct stands *f,
		uint32_t bin, kh_err *err)
{
	const uint32_t stride = m->rule->sampling.stride;
	int rc = KH_OK;

	for (uint32_t i = 0; i < stride && !rc; i += 32)
		rc = look_at(m, s, mate, f, bin, (int64_t)bin * stride + i,
			     stride - i < 32 ? stride - i : 32, err);
	return rc;
}

static int compare(kh_matcher *m, const struct kh_mates *s, uint32_t mate, struct kh_region *r,
		   kh_err *err)
{
	const struct kh_found *f = &m->found[mate];
	const size_t before = m->n_place;
	int rc = KH_OK;

	r->compared = true;
	for (uint32_t i = r->from; i < r->from + r->n && !rc; i++) {
		const uint32_t bin = bin_of(f->candidate[i]);
		const struct stands x = stands(m, s, mate, f->pos[(uint32_t)f->candidate[i]]);

		if (m->n_place - before >= KH_MATCH_DIAGONALS)
			break;
		if (!on_place(m, m->n_place - before, x.at, bin))
			rc = look(m, s, mate, &x, bin, err);
	}
	return rc;
}

/* The least loss of a region that was not compared. */
static uint32_t least_loss(const struct kh_found *f)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < f->n_regions; i++)
		if (!f->region[i].compared && f->region[i].loss < least)
			least = f->region[i].loss;
	return least;
}

int kh_places_best(kh_matcher *m, const struct kh_mates *s, uint32_t mate, uint32_t slack,
		   kh_err *err)
{
	const uint32_t len = s->mate[mate].len;
	struct kh_found *f = &m->found[mate];
	uint32_t loss;
	int rc = KH_OK;

	while (!rc && (loss = least_loss(f)) < len && len - loss + slack >= f->best)
		for (uint32_t i = 0; i < f->n_regions && !rc; i++)
			if (!f->region[i].compared && f->region[i].loss == loss)
				rc = compare(m, s, mate, &f->region[i], err);
	return rc;
}

int kh_places_from(kh_matcher *m, const struct kh_mates *s, uint32_t mate, int64_t score,
		   bool *more, kh_err *err)
{
	struct kh_found *f = &m->found[mate];
	int rc = KH_OK;

	for (uint32_t i = 0; i < f->n_regions && !rc; i++)
		if (!f->region[i].compared &&
		    (int64_t)s->mate[mate].len - f->region[i].loss >= score) {
			*more = true;
			rc = compare(m, s, mate, &f->region[i], err);
		}
	return rc;
}

/* --- their order -------------------------------------------------------------------------- */
static int by_number(const void *a, const void *b)
{
	const struct kh_spot *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

void kh_places_sort(kh_matcher *m)
{
	struct kh_spot *p = m->place;

	if (m->n_place > 32) {
		qsort(p, m->n_place, sizeof *p, by_number);
		return;
	}
	for (size_t i = 1; i < m->n_place; i++) {
		const struct kh_spot x = p[i];
		size_t j = i;

		for (; j > 0 && p[j - 1].number > x.number; j--)
			p[j] = p[j - 1];
		p[j] = x;
	}
}

/* --- seeds that a place has --------------------------------------------------------------- */
static uint32_t near_places(const kh_matcher *m, const struct kh_spot *p, int64_t step, int64_t *at,
			    uint32_t n)
{
	const struct kh_spot *const first = m->place, *const end = first + m->n_place;

	for (const struct kh_spot *q = p + step; n < KH_MATCH_DIAGONALS; q += step) {
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
static uint32_t places_about(const kh_matcher *m, uint32_t place, int64_t at[KH_MATCH_DIAGONALS])
{
	const struct kh_spot *p = &m->place[place];

	at[0] = kh_place_at(p);
	if (place >= m->n_place)        /* it was sought beside the other mate */
		return 1;
	return near_places(m, p, -1, at, near_places(m, p, 1, at, 1));
}

/* The low bit of each base in which a mate differs from the text where it lies so, or which is
 * unknown.  What lies beside the target differs. */
static void differ(const kh_laid *l, int64_t at, uint64_t *to)
{
	for (uint32_t i = 0; i < l->len; i += 32) {
		const int64_t begin = (int64_t)l->begin - at - i, end = (int64_t)l->end - at - i;
		const uint32_t from = begin > 0 ? (uint32_t)begin : 0;
		uint64_t x;

		to[i / 32] = KH_TEXT_LOW;
		if (begin >= 32 || end <= 0)
			continue;
		x = kh_text_bases(l->text, (uint64_t)(at + i + from)) << 2 * from;
		x = kh_text_differ(l->read->base[i / 32], x) | l->read->unknown[i / 32];
		x |= ((UINT64_C(1) << 2 * from) - 1) & KH_TEXT_LOW;
		to[i / 32] = end < 32 ? x | (KH_TEXT_LOW << 2 * (uint32_t)end) : x;
	}
	to[(l->len + 31) / 32] = 0;
}

uint32_t kh_places_kmers(const kh_matcher *m, const struct kh_mates *s, uint32_t mate)
{
	const uint32_t k = KH_TEXT_KMER, len = s->mate[mate].len;
	const uint64_t *unknown = m->read[mate][0].unknown;
	uint64_t any = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < len; i += 32)
		any |= unknown[i / 32];
	if (any == 0)                   /* as nearly always */
		return len < k ? 0 : (len - k) / KH_TEXT_STEP + 1;
	for (uint32_t i = 0; i + k <= len; i += KH_TEXT_STEP)
		n += kh_packed_bits(unknown, i, k) == 0;
	return n;
}

uint32_t kh_places_hits(const kh_matcher *m, const struct kh_mates *s, const kh_claim *c)
{
	const uint32_t k = KH_TEXT_KMER;
	uint32_t hits = 0;

	for (uint32_t mate = 0; mate < 2; mate++) {
		const uint32_t len = s->mate[mate].len;
		uint64_t wrong[KH_MATCH_DIAGONALS][KH_TEXT_WORDS + 1];
		int64_t at[KH_MATCH_DIAGONALS];
		uint32_t n, strand;
		kh_laid l;

		if (!(c->mates >> mate & 1))
			continue;
		strand = kh_place_strand(&m->place[c->place[mate]]);
		l = kh_places_laid(m, s, &m->place[c->place[mate]]);
		n = places_about(m, c->place[mate], at);
		for (uint32_t d = 0; d < n; d++)
			differ(&l, at[d], wrong[d]);
		for (uint32_t i = 0; i + k <= len; i += KH_TEXT_STEP) {
			const uint32_t from = strand ? len - k - i : i;
			uint32_t d = 0;

			while (d < n && kh_packed_bits(wrong[d], from, k) != 0)
				d++;
			hits += d < n;
		}
	}
	return hits;
}

void kh_places_note(kh_matcher *m, const struct kh_mates *s, const kh_claim *c)
{
	const uint64_t mask = kh_kmer_mask(m->rule->sampling.k);

	for (uint32_t mate = 0; mate < 2; mate++) {
		const struct kh_mate *x = &s->mate[mate];
		int64_t at[KH_MATCH_DIAGONALS];
		uint32_t n, strand;

		if (!(c->mates >> mate & 1))
			continue;
		strand = kh_place_strand(&m->place[c->place[mate]]);
		n = places_about(m, c->place[mate], at);
		for (size_t i = x->first; i < x->first + x->seeds; i++) {
			const struct stands f = stands(m, s, mate, m->all.pos[i]);
			uint32_t d = 0;

			while (d < n && (at[d] + f.at[strand] < 0 ||
					 (kh_text_bases(m->db->text,
							(uint64_t)(at[d] + f.at[strand])) &
					  mask) != f.bases[strand]))
				d++;
			if (d < n)
				m->had[m->n_had++] = m->all.key[i];
		}
	}
}
