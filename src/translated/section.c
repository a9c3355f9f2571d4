/* section.c - the section as it is in the file: checks, look-ups */
#include <config.h>
#include "translated/section.h"

#if defined __SSE2__
#include <emmintrin.h>
#endif
#include <stdbool.h>
#include <string.h>
#include "text/text.h"

static uint64_t up_to_64(uint64_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

uint64_t kh_translated_text_bytes(uint64_t codons)
{
	return (3 * codons / KH_TEXT_WORD + KH_TEXT_BEHIND) * sizeof(uint32_t);
}

/* --- checks --------------------------------------------------------------------------- */
static bool zeros(const uint32_t *p, int n)
{
	while (n > 0 && p[n - 1] == 0)
		n--;
	return n == 0;
}

static bool genera_are_sound(const kh_translated *t, uint32_t n_taxa)
{
	const kh_translated_head *h = t->head;

	for (uint32_t i = 0; i < h->genera; i++) {
		const kh_translated_genus *g = &t->genus[i];

		if (g->taxon >= n_taxa || g->threshold == 0 || g->called > g->taxon ||
		    g->first % KH_GENUS_CODONS != 0 || kh_translated_end(t, i) <= g->first ||
		    (i > 0 ? g->taxon <= g[-1].taxon : g->first != 0))
			return false;
	}
	return h->genera > 0 || h->codons == 0;
}

static bool lines_are_sound(const kh_translated *t)
{
	const uint64_t lines = (uint64_t)t->head->lines + t->head->behind;
	uint64_t places = 0;
	uint32_t wrong = 0;

	for (uint64_t i = 0; i < lines; i++) {
		const kh_translated_line *l = &t->line[i];

		if (l->base != places || l->n > KH_TAGS || l->more > (l->n == KH_TAGS) || l->zero)
			return false;
		for (unsigned j = l->n; j < KH_TAGS; j++)
			if (l->tag[j] != 0)
				return false;
		places += l->n;
	}
	for (uint64_t i = 0; i < t->head->places; i++)
		wrong += t->place[i] >= t->head->codons;
	return places == t->head->places && wrong == 0 && !t->line[lines - 1].more;
}

int kh_translated_find(kh_translated *t, const void *section, uint64_t bytes, uint32_t n_taxa,
		       kh_err *err)
{
	const char *at = section;
	const kh_translated_head *h = section;
	uint64_t genera, lines, places;

	*t = (kh_translated) { .head = h };
	if (bytes < sizeof *h || (h->k != 8 && h->k != KH_KEY_MOST) ||
	    h->lines == 0 || h->codons > UINT32_MAX || h->codons % KH_GENUS_CODONS != 0 ||
	    h->places > h->codons || !zeros(h->zero, 8))
		return kh_fail(err, KH_EFORMAT, "the head of its translated seeds is damaged");
	genera = up_to_64((uint64_t)h->genera * sizeof *t->genus);
	lines = ((uint64_t)h->lines + h->behind) * sizeof *t->line;
	places = up_to_64(h->places * sizeof *t->place);
	if (bytes != sizeof *h + genera + lines + places + kh_translated_text_bytes(h->codons))
		return kh_fail(err, KH_EFORMAT, "its translated seeds do not fit their head");
	t->genus = (const void *)(at + sizeof *h);
	t->line = (const void *)(at + sizeof *h + genera);
	t->place = (const void *)(at + sizeof *h + genera + lines);
	t->text = (const void *)(at + sizeof *h + genera + lines + places);
	if (!genera_are_sound(t, n_taxa) || !lines_are_sound(t))
		return kh_fail(err, KH_EFORMAT, "its translated seeds are damaged");
	return KH_OK;
}

void kh_translated_move(kh_translated *t, const void *copy)
{
	const char *from = (const void *)t->head, *to = copy;

	t->genus = (const void *)(to + ((const char *)t->genus - from));
	t->line = (const void *)(to + ((const char *)t->line - from));
	t->place = (const void *)(to + ((const char *)t->place - from));
	t->text = (const void *)(to + ((const char *)t->text - from));
	t->head = copy;
}

/* --- look-ups ------------------------------------------------------------------------- */
/* The first of the tags of a line that is this one; KH_TAGS or more: none is. */
#if defined __SSE2__
static unsigned first_of(const uint16_t tag[KH_TAGS], uint16_t is)
{
	const __m128i *v = (const void *)tag, all = _mm_set1_epi16((short)is);
	uint32_t at = 0;

	for (int i = 0; i < 2; i++) {
		const __m128i a = _mm_cmpeq_epi16(_mm_loadu_si128(v + 2 * i), all);
		const __m128i b = _mm_cmpeq_epi16(_mm_loadu_si128(v + 2 * i + 1), all);

		at |= (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(a, b)) << 16 * i;
	}
	return at ? (unsigned)__builtin_ctz(at) : KH_TAGS;
}
#else
static unsigned first_of(const uint16_t tag[KH_TAGS], uint16_t is)
{
	const uint64_t one = UINT64_C(0x0001000100010001), all = is * one;

	for (unsigned i = 0; i < KH_TAGS; i += 4) {
		uint64_t x;

		memcpy(&x, tag + i, sizeof x);
		x ^= all;               /* the lowest 16 bits that are 0 become those set below */
		x = (x - one) & ~x & one << 15;
		if (x)
			return i + (unsigned)__builtin_ctzll(x) / 16;
	}
	return KH_TAGS;
}
#endif

uint32_t kh_translated_look_up(const kh_translated *t, uint32_t key)
{
	const uint16_t tag = (uint16_t)key;

	for (const kh_translated_line *l = &t->line[kh_translated_line_of(t, key)];; l++) {
		const unsigned first = first_of(l->tag, tag);

		if (first < l->n)
			return l->base + first;
		if (!l->more)
			return UINT32_MAX;
	}
}

uint32_t kh_translated_genus_of(const kh_translated *t, uint32_t at)
{
	uint32_t lo = 0, hi = t->head->genera;

	while (hi - lo > 1) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (t->genus[mid].first <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}
