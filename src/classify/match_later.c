/* match_later.c - hits and strains of a long fragment, when its species is known: match_in.h */
#include <config.h>
#include "classify/match_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* Parts that are kept for strains, at most: what seeds have found takes some kilobytes of each. */
enum { STRAIN_PARTS = 4096 };

void kh_later_clear(kh_later *l)
{
	free(l->part);
	free(l->place);
	free(l->word);
	free(l->claim);
	free(l->credit);
}

void kh_later_forget(kh_later *l)
{
	l->n_part = l->n_place = l->n_word = l->n_claim = l->n_credit = 0;
}

/* --- parts -------------------------------------------------------------------------------- */
/* Where the arrays of what a mate has found begin, in words, and end. */
struct arrays {
	size_t anchor, region, pos, seed, end;
};

static struct arrays arrays_of(const kh_found *f)
{
	struct arrays a = { .anchor = 0 };

	a.region = a.anchor + f->n_anchors;
	a.pos = a.region + f->n_regions;
	a.seed = a.pos + (f->n + 1) / 2;
	a.end = a.seed + f->n_anchors / 8 + 3;          /* seeds are read 16 at a time */
	return a;
}

static_assert(sizeof(kh_region) == sizeof(uint64_t), "a word has a region");

static int keep_found(kh_later *l, const kh_found *f, kh_err *err)
{
	const struct arrays a = arrays_of(f);
	int rc = KH_GROW(l->word, l->cap_word, l->n_word + a.end, err);
	uint64_t *to = l->word + l->n_word;

	if (rc)
		return rc;
	memcpy(to + a.anchor, f->anchor, f->n_anchors * sizeof *f->anchor);
	memcpy(to + a.region, f->region, f->n_regions * sizeof *f->region);
	memcpy(to + a.pos, f->pos, f->n * sizeof *f->pos);
	memcpy(to + a.seed, f->seed, f->n_anchors);
	memset((uint8_t *)(to + a.seed) + f->n_anchors, 0, 16);
	l->n_word += a.end;
	return KH_OK;
}

int kh_later_keep(kh_later *l, const kh_matching *m, const kh_segment *s, bool strains, kh_err *err)
{
	int rc = KH_GROW(l->part, l->cap_part, l->n_part + 1, err);
	kh_later_part *p;

	if (!rc)
		rc = KH_GROW(l->place, l->cap_place, l->n_place + m->n_place, err);
	if (!rc)
		rc = KH_GROW(l->claim, l->cap_claim, l->n_claim + m->here.n, err);
	if (rc)
		return rc;
	p = &l->part[l->n_part];
	*p = (kh_later_part) { .s = *s, .place = l->n_place, .word = l->n_word,
			       .n_place = m->n_place, .of = m->found[0],
			       .found = strains && l->n_part < STRAIN_PARTS };
	memcpy(l->place + l->n_place, m->place, m->n_place * sizeof *m->place);
	rc = p->found ? keep_found(l, &m->found[0], err) : KH_OK;
	if (rc)
		return rc;
	l->n_place += m->n_place;
	l->n_part++;
	return KH_OK;
}

/* The places of a part as it was compared, and its bases as they lie in a strand. */
static void places_again(const kh_later *l, uint32_t part, uint32_t place, kh_matching *m)
{
	const kh_later_part *p = &l->part[part];
	const kh_mate *mate = &p->s.mate[0];

	m->place = l->place + p->place;
	m->n_place = p->n_place;
	kh_text_take(&m->read[0][0], mate->bases, mate->amb, mate->at, mate->len);
	if (kh_place_strand(&m->place[place]))
		kh_text_turn(&m->read[0][1], &m->read[0][0], mate->len);
}

/* A part as it was when it was compared. */
static void compare_again(const kh_later *l, uint32_t part, kh_matching *m)
{
	const kh_later_part *p = &l->part[part];
	const struct arrays a = arrays_of(&p->of);
	const kh_mate *mate = &p->s.mate[0];
	uint64_t *from = l->word + p->word;

	m->place = l->place + p->place;
	m->n_place = p->n_place;
	m->found[0] = p->of;
	m->found[0].anchor = from + a.anchor;
	m->found[0].region = (kh_region *)(from + a.region);
	m->found[0].pos = (const uint32_t *)(from + a.pos);
	m->found[0].seed = (uint8_t *)(from + a.seed);
	kh_text_read(m->read[0], mate->bases, mate->amb, mate->at, mate->len);
}

/* --- claims ------------------------------------------------------------------------------- */
void kh_later_claims(kh_later *l, const kh_claim *c, uint32_t sum)
{
	l->claim[l->n_claim++] = (kh_later_claim) { (uint32_t)l->n_part - 1, c->place[0], sum };
}

int kh_later_credit(kh_later *l, const kh_matching *m, const kh_segment *s, const kh_claim *c,
		    const kh_credit *credit, kh_err *err)
{
	int rc = KH_GROW(l->credit, l->cap_credit, l->n_credit + 1, err);
	kh_credit *x = &l->credit[l->n_credit];

	if (rc)
		return rc;
	*x = *credit;
	x->claim = l->n_claim - 1;
	if (!l->n_claim || !l->part[l->n_part - 1].found)
		x->strain = kh_strain_of_claim(m, s, c);
	l->n_credit++;
	return KH_OK;
}

uint32_t kh_later_hits(const kh_later *l, const kh_match_db *db, uint32_t sum)
{
	kh_matching m = { .db = db };
	uint32_t hits = 0;

	for (size_t i = 0; i < l->n_claim; i++)
		if (l->claim[i].sum == sum) {
			places_again(l, l->claim[i].part, l->claim[i].place, &m);
			hits += kh_place_hits(&m, &l->part[l->claim[i].part].s,
					      l->claim[i].place);
		}
	return hits;
}

/* --- strains ------------------------------------------------------------------------------ */
/* Finds the strains of a sum where they are not known. */
static void find_strains(kh_later *l, const kh_matching *m, uint32_t sum)
{
	kh_matching again = { .db = m->db, .seen = m->seen };

	for (size_t i = 0; i < l->n_credit; i++) {
		kh_credit *x = &l->credit[i];

		if (x->sum != sum || x->strain != KH_NO_TAXON)
			continue;
		const kh_later_claim *c = &l->claim[x->claim];

		compare_again(l, c->part, &again);
		const kh_claim claim = kh_claim_of_place(&again, c->place);

		x->strain = kh_strain_of_claim(&again, &l->part[c->part].s, &claim);
	}
}

kh_strain_poll kh_later_poll(kh_later *l, const kh_matching *m, uint32_t sum,
			     uint32_t species_no)
{
	kh_strain_poll p = kh_strain_poll_of(kh_species_taxon(m->db, species_no), 0);

	if (!kh_species_has_strains(m->db, species_no))
		return p;
	find_strains(l, m, sum);
	do {
		for (size_t i = 0; i < l->n_credit; i++)
			if (l->credit[i].sum == sum)
				kh_strain_poll_see(&m->db->tree, &p, l->credit[i].strain);
		for (size_t i = 0; i < l->n_credit; i++)
			if (l->credit[i].sum == sum)
				kh_strain_poll_count(&m->db->tree, &p, l->credit[i].strain);
	} while (kh_strain_poll_next(&p));
	return p;
}
