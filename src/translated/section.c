/* section.c - the section as it is in the file: checks, parts, look-ups */
#include <config.h>
#include "translated/section.h"

#include <stdbool.h>
#include <stdlib.h>
#include "base/mem.h"
#include "taxonomy/tree.h"
#include "kmer/text.h"
#include "translated/graded.h"
#include "translated/level.h"

static uint64_t up_to_64(uint64_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

uint64_t kh_translated_place_bytes(uint64_t n, uint32_t bits)
{
	return (n * bits + 7) / 8;
}

uint32_t kh_translated_bits(uint64_t n)
{
	uint32_t bits = 1;

	while (bits < 63 && n > UINT64_C(1) << bits)
		bits++;
	return bits;
}

uint32_t kh_translated_taxon(const kh_taxonomy *tax, uint32_t taxon)
{
	const kh_tree tree = kh_taxonomy_tree(tax);
	const uint32_t genus = tree.genus[taxon];

	if (genus != KH_NO_TAXON && tax->rank[genus] == KH_RANK_GENUS)
		return genus;
	return kh_tree_own_species(&tree, taxon);
}

/* --- checks --------------------------------------------------------------------------- */
static bool genera_are_sound(const kh_translated *t, uint32_t n_taxa)
{
	for (uint32_t i = 0; i < t->head->genera; i++) {
		const kh_translated_genus *g = &t->genus[i];

		if (g->taxon >= n_taxa || g->threshold == 0 || g->called > g->taxon ||
		    g->family > g->taxon || (i > 0 && g->taxon <= g[-1].taxon))
			return false;
	}
	return true;
}

static bool lines_are_sound(const kh_translated *t, uint64_t end)
{
	const uint64_t lines = (uint64_t)t->head->lines + t->head->behind;
	uint64_t places = 0;
	uint32_t wrong = 0;

	for (uint64_t i = 0; i < lines; i++) {
		const kh_translated_line *l = &t->line[i];

		if (l->base != places || l->n > KH_TAGS || (l->later && l->n < KH_TAGS) || l->zero)
			return false;
		for (unsigned j = l->n; j < KH_TAGS; j++)
			if (l->tag[j] != 0)
				return false;
		places += l->n;
	}
	for (uint64_t i = 0; i < t->head->places; i++)
		wrong += kh_translated_at(t, i) >= end;
	return places == t->head->places && wrong == 0 && t->line[lines - 1].later == 0;
}

static bool head_is_sound(const kh_translated_head *h, uint64_t end)
{
	return (h->k == 8 || h->k == KH_KEY_MOST) && h->lines > 0 && h->genera < KH_GRADED_GENERA &&
	       h->nothing == 0 && h->places <= end && h->places <= UINT32_MAX &&
	       h->bits == kh_translated_bits(end) && h->bits <= KH_PLACE_BITS &&
	       kh_all_zero(h->zero, sizeof h->zero);
}

/* --- parts ---------------------------------------------------------------------------- */
uint32_t kh_translated_genus_of(const kh_translated *t, uint32_t taxon)
{
	uint32_t lo = 0, hi = t->head->genera;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;

		if (t->genus[mid].taxon < taxon)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->head->genera && t->genus[lo].taxon == taxon ? lo : KH_NO_TAXON;
}

int kh_translated_find(kh_translated *t, const void *section, uint64_t bytes, uint32_t n_taxa,
		       const kh_translated_text *of, kh_err *err)
{
	const char *at = section;
	const kh_translated_head *h = section;
	const uint64_t end = 2 * of->bases;
	uint64_t genera, lines, places;

	*t = (kh_translated) { .head = h, .level = *kh_translated_level_usual() };
	if (bytes < sizeof *h || !head_is_sound(h, end))
		return kh_fail(err, KH_EFORMAT, "the head of its translated seeds is damaged");
	genera = up_to_64((uint64_t)h->genera * sizeof *t->genus);
	lines = ((uint64_t)h->lines + h->behind) * sizeof *t->line;
	places = up_to_64(kh_translated_place_bytes(h->places, h->bits));
	if (bytes != sizeof *h + genera + lines + places + KH_TEXT_BEHIND * sizeof *t->text)
		return kh_fail(err, KH_EFORMAT, "its translated seeds do not fit their head");
	t->genus = (const void *)(at + sizeof *h);
	t->line = (const void *)(at + sizeof *h + genera);
	t->place = (const void *)(at + sizeof *h + genera + lines);
	if (!genera_are_sound(t, n_taxa) || !lines_are_sound(t, end) ||
	    (h->places > 0 && of->n == 0))
		return kh_fail(err, KH_EFORMAT, "its translated seeds are damaged");
	t->text = of->text;
	t->bases = of->bases;
	t->stretch = of->stretch;
	t->n_stretches = of->n;
	for (size_t i = 0; i < t->n_stretches; i++)
		t->stretch[i].genus = kh_translated_genus_of(t, t->stretch[i].genus);
	return KH_OK;
}

void kh_translated_clear(kh_translated *t)
{
	free(t->stretch);
	*t = (kh_translated) { .head = NULL };
}

void kh_translated_move(kh_translated *t, const void *copy)
{
	const char *from = (const void *)t->head, *to = copy;

	t->genus = (const void *)(to + ((const char *)t->genus - from));
	t->line = (const void *)(to + ((const char *)t->line - from));
	t->place = (const void *)(to + ((const char *)t->place - from));
	t->head = copy;
}
