/*
 * breadth.c - over how much of a genome the fragments of a species are spread
 *
 * The reads of a species that is in the sample fall everywhere on its genome. Genes acquired
 * from another species, or contamination of a reference, collect reads in a few places.
 * An interval is 8 bins.  Its mask notes, as bits, the shares of k-mers found of the fragments that
 * are located in it.
 *
 * A species may have more strains than lists keep bins for (KH_SPECIES_PLACES).  The share of its
 * own fragments that are located then says in how much of its genome fragments can be located.
 */
#include <config.h>
#include "sample/model_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "sample/logs.h"

enum { LARGE = 1 << 20 };       /* intervals: fewer are searched by one thread */

int kh_intervals(const kh_db *db, uint64_t **first, kh_err *err)
{
	const uint64_t bases = (uint64_t)KH_INTERVAL * db->h->sampling.stride;
	uint64_t *at = kh_array((size_t)db->h->n_targets + 1, sizeof *at, err);

	if (!at)
		return KH_ENOMEM;
	for (uint32_t i = 0; i < db->h->n_targets; i++)
		at[i + 1] = at[i] + db->target[i].bases / bases + 1;
	*first = at;
	return KH_OK;
}

static size_t mask_bytes(const kh_marks *m)
{
	return m->first[m->db->h->n_targets] * sizeof *m->mask;
}

int kh_marks_init(kh_marks *m, const kh_db *db, kh_err *err)
{
	*m = (kh_marks) { .db = db };
	const int rc = kh_intervals(db, &m->first, err);

	if (!rc)
		m->mask = kh_pages(mask_bytes(m), err);
	return rc || m->mask ? rc : KH_ENOMEM;
}

void kh_marks_clear(kh_marks *m)
{
	if (m->mask)
		kh_pages_free((void *)m->mask, mask_bytes(m));
	free(m->first);
}

/* The mask of the interval where a window begins. */
static inline _Atomic uint32_t *place_of(const kh_marks *m, uint32_t target, uint32_t bin)
{
	const kh_db_locus l = kh_db_locate(m->db, target, bin);

	return &m->mask[m->first[l.target] + l.at / KH_INTERVAL];
}

static void mark(_Atomic uint32_t *mask, uint32_t share)
{
	const uint32_t bit = UINT32_C(1) << share;

	if (!(atomic_load_explicit(mask, memory_order_relaxed) & bit))
		atomic_fetch_or_explicit(mask, bit, memory_order_relaxed);
}

/* The masks of many genomes do not fit into caches, so they are prefetched some fragments ahead. */
void kh_marks_add(kh_marks *m, const kh_classes *c, const kh_class_of *of,
		  const kh_candidates *cand, size_t n)
{
	enum { AHEAD = 16 };
	_Atomic uint32_t *mask[AHEAD];

	for (size_t i = 0; i < n + AHEAD; i++) {
		if (i >= AHEAD && of[i - AHEAD].target != KH_NO_TARGET)
			mark(mask[i % AHEAD], c->at[of[i - AHEAD].index].cell % KH_SHARES);
		if (i >= n || of[i].target == KH_NO_TARGET)
			continue;
		mask[i % AHEAD] = place_of(m, of[i].target, cand[i].bin);
		__builtin_prefetch((const void *)mask[i % AHEAD], 1);
	}
}

int kh_genomes_are_short(const kh_db *db, bool *are, kh_err *err)
{
	const kh_tree tree = kh_taxonomy_tree(db->tax);
	uint64_t *bases = kh_array(tree.n, sizeof *bases, err);
	uint32_t n_species = 0, n_short = 0;

	if (!bases)
		return KH_ENOMEM;
	for (uint32_t i = 0; i < db->n_kept; i++)
		bases[kh_tree_own_species(&tree, db->target[db->kept[i].target].taxon)] +=
			kh_db_kept_bases(db, &db->kept[i]);
	for (uint32_t i = 0; i < tree.n; i++) {
		n_species += bases[i] > 0;
		n_short += bases[i] > 0 && bases[i] < KH_SHORT_GENOME;
	}
	free(bases);
	*are = n_short > n_species / 2;
	return KH_OK;
}

/* The shares j at which at least half of the fragments of a species are its own; *all: the
 * fragments with such shares, in 1/256. */
static uint32_t own_shares(const kh_modelling *w, const kh_presence *p, uint64_t *all_own)
{
	uint64_t many[KH_CELLS];
	uint32_t mask = 0;

	*all_own = 0;
	kh_many_of(w, (uint32_t)(p - w->m->at), many);
	for (uint32_t j = 0; j < KH_SHARES; j++) {
		uint64_t own = 0, all = 0;

		for (uint32_t cell = j; cell < KH_CELLS; cell += KH_SHARES) {
			if (many[cell] == 0)
				continue;
			const kh_expected d = kh_expected_of(w, p, cell);

			all += many[cell];
			own += d.own > d.other ? many[cell] : 0;
		}
		mask |= (uint32_t)(2 * own > all) << j;
		*all_own += 2 * own > all ? all : 0;
	}
	return mask;
}

/* The species that is best alone, or NULL. */
static kh_presence *best_species(const kh_modelling *w, const kh_class *k)
{
	const uint32_t best = kh_class_alone(k);

	return best == KH_NO_TAXON ? NULL : &w->m->at[w->place[best] - 1];
}

/* The intervals of its genome that can be told by place; all: its own fragments, in 1/256. */
static uint64_t told_by_place(const kh_presence *p, uint64_t all)
{
	const uint64_t n = 256 * p->counted, g = n < all ? p->length * n / all : p->length;

	return !p->many_strains ? p->length : g > 2 ? g : 2;
}

/* G intervals, N fragments: G (1 - e^(-N / G)), in 1/256. */
static uint64_t expect(uint64_t g, uint64_t n)
{
	const uint64_t left = n < 64 * g ? kh_exp2q(n * KH_LOG2_E / g) : 0;

	return g * (KH_EXP2_ONE - left) >> 16;
}

/* The tracts of each target in which fragments of its species lie; threads share the targets. */
struct search {
	const kh_modelling *w;
	const uint64_t *first;          /* interval of each target */
	unsigned threads;
	uint32_t *own, *found;          /* by target */
	uint8_t *shift;
};

/* So many of eight masks have any of `own`. */
static uint32_t count_eight(const uint32_t x[8], uint32_t own)
{
	uint32_t n = 0;

	for (int i = 0; i < 8; i++)
		n += (x[i] & own) > 0;
	return n;
}

/* The bits that any of eight masks has. */
static uint32_t any_of_eight(const uint32_t x[8])
{
	uint64_t y[4];

	memcpy(y, x, sizeof y);
	y[0] |= y[1] | y[2] | y[3];
	return (uint32_t)(y[0] | y[0] >> 32);
}

/* The tracts of 2^shift of n masks that have any of `own`; most masks of a small sample are 0. */
static uint32_t count_tracts(const uint32_t *mask, uint64_t n, uint32_t own, uint8_t shift)
{
	uint32_t found = 0;

	for (uint64_t x = 0; x < n && own;) {
		const bool eight = n - x >= 8;

		if (eight && !(any_of_eight(mask + x) & own)) {
			x += 8;
		} else if (eight && shift == 0) {
			found += count_eight(mask + x, own);
			x += 8;
		} else if ((eight && shift >= 3) || mask[x] & own) {
			found++;
			x = ((x >> shift) + 1) << shift;
		} else {
			x++;
		}
	}
	return found;
}

static int search_some(void *arg, unsigned id, kh_err *err)
{
	const struct search *s = arg;
	const uint64_t n = s->w->in->db->h->n_targets;

	(void)err;
	for (uint64_t t = n * id / s->threads; t < n * (id + 1) / s->threads; t++)
		s->found[t] = count_tracts(s->w->in->mask + s->first[t],
					   s->first[t + 1] - s->first[t], s->own[t], s->shift[t]);
	return KH_OK;
}

static int search_all(struct search *s, kh_err *err)
{
	const kh_model_input *in = s->w->in;
	kh_team *team = s->first[in->db->h->n_targets] < LARGE ? NULL : in->team;

	if (in->search)
		return in->search(in->arg, s->own, s->shift, s->found, err);
	s->threads = kh_team_size(team);
	return kh_team_run(team, search_some, s, err);
}

/* kh_modelling.place of a target's species; 0: it has none, or none of the sample. */
static uint32_t place_of_target(const kh_modelling *w, uint32_t target)
{
	const kh_db *db = w->in->db;
	const uint32_t species = db->tax->species[db->target[target].taxon];

	return species == KH_NO_TAXON ? 0 : w->place[species];
}

int kh_search(kh_modelling *w, const uint32_t *own, const uint8_t *shift, uint64_t *found,
	      kh_err *err)
{
	const uint32_t n = (uint32_t)w->in->db->h->n_targets;
	struct search s = { .w = w,
			    .own = kh_array(n, sizeof *s.own, err),
			    .found = kh_array(n, sizeof *s.found, err),
			    .shift = kh_array(n, sizeof *s.shift, err) };
	uint64_t *first = NULL;
	int rc = s.own && s.found && s.shift ? kh_intervals(w->in->db, &first, err) : KH_ENOMEM;

	for (uint32_t t = 0, at; t < n && !rc; t++)
		if ((at = place_of_target(w, t))) {
			s.own[t] = own[at - 1];
			s.shift[t] = shift[at - 1];
		}
	s.first = first;
	if (!rc)
		rc = search_all(&s, err);
	for (uint32_t t = 0, at; t < n && !rc; t++)
		if ((at = place_of_target(w, t)))
			found[at - 1] += s.found[t];
	free(first);
	free(s.own);
	free(s.found);
	free(s.shift);
	return rc;
}

static int count_some(void *arg, unsigned id, kh_err *err)
{
	kh_modelling *w = arg;
	const kh_classes *c = w->in->classes;

	(void)err;
	const size_t end = kh_modelling_from(w, c->n, id + 1);

	for (size_t i = kh_modelling_from(w, c->n, id); i < end; i++) {
		const kh_class *k = &c->at[i];
		kh_presence *p = best_species(w, k);

		if (!p || !(w->own[p - w->m->at] >> k->cell % KH_SHARES & 1))
			continue;
		if (k->located)
			kh_add(&p->counted, k->many);
		if (k->located || p->many_strains)
			kh_add(&p->lone, k->many);
	}
	return KH_OK;
}

static int own_some(void *arg, unsigned id, kh_err *err)
{
	kh_modelling *w = arg;
	const size_t n = w->m->n;

	(void)err;
	for (size_t i = kh_modelling_from(w, n, id); i < kh_modelling_from(w, n, id + 1); i++)
		w->own[i] = own_shares(w, &w->m->at[i], &w->of_own[i]);
	return KH_OK;
}

int kh_breadth(kh_modelling *w, kh_err *err)
{
	uint64_t *found = kh_array(w->m->n, sizeof *found, err);
	uint8_t *shift = kh_array(w->m->n, sizeof *shift, err);        /* tracts of one interval */
	int rc;

	w->own = kh_array(w->m->n, sizeof *w->own, err);
	w->of_own = kh_array(w->m->n, sizeof *w->of_own, err);
	rc = w->own && w->of_own && found && shift
		     ? kh_modelling_run(w, w->m->n, KH_MANY_SPECIES, own_some, err) : KH_ENOMEM;
	if (!rc)
		rc = kh_modelling_run(w, w->in->classes->n, KH_FEW_CLASSES, count_some, err);
	if (!rc)
		rc = kh_search(w, w->own, shift, found, err);
	for (uint32_t i = 0; i < w->m->n && !rc; i++) {
		kh_presence *p = &w->m->at[i];

		p->found = found[i];
		p->expected = expect(told_by_place(p, w->of_own[i]), p->counted);
	}
	free(found);
	free(shift);
	return rc;
}
