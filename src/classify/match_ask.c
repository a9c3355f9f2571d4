/* match_ask.c - which seeds are looked up, and what they find: match_in.h */
#include <config.h>
#include "classify/match_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "classify/match_place.h"

static void seeds_clear(kh_seeds *s)
{
	free(s->key);
	free(s->pos);
}

static int seeds_room(kh_seeds *s, size_t more, kh_err *err)
{
	int rc = KH_GROW(s->key, s->cap_key, s->n + more, err);

	return rc ? rc : KH_GROW(s->pos, s->cap_pos, s->n + more, err);
}

static void asked_clear(kh_seeds_asked *a)
{
	seeds_clear(&a->seeds);
	free(a->number);
	kh_seeds_found_clear(&a->found);
}

static int asked_room(kh_seeds_asked *a, size_t more, kh_err *err)
{
	int rc = seeds_room(&a->seeds, more, err);

	return rc ? rc : KH_GROW(a->number, a->cap_number, a->seeds.n + more, err);
}

void kh_asking_clear(kh_asking_all *w)
{
	free(w->v);
	seeds_clear(&w->all);
	asked_clear(&w->early);
	asked_clear(&w->others);
	kh_joint_found_clear(&w->found);
}

/* --- asking --------------------------------------------------------------------------- */
static int sample(kh_asking_all *w, kh_mate *x, const kh_sampling *k, kh_err *err)
{
	const uint64_t starts = kh_sampling_starts(k, x->len);
	const kh_sampling_span span = { x->bases, x->amb, x->at, x->at + starts };
	kh_seeds *all = &w->all;
	int rc = seeds_room(all, (size_t)kh_sampling_asked_bound(k, starts), err);

	x->first_seed = all->n;
	if (rc || starts == 0)
		return rc;
	x->seeds = (uint32_t)kh_sampling_asked(k, &span, all->key + all->n, all->pos + all->n);
	all->n += x->seeds;
	return KH_OK;
}

static void ask(kh_seeds_asked *to, const kh_seeds *all, size_t i)
{
	kh_seeds *s = &to->seeds;

	s->key[s->n] = all->key[i];
	s->pos[s->n] = all->pos[i];
	to->number[s->n++] = (uint32_t)i;
}

static int ask_early(kh_asking_all *w, kh_mate *x, uint32_t apart, struct kh_asking_mate *early,
		     kh_err *err)
{
	kh_seeds_asked *to = &w->early;
	uint32_t next = 0;
	int rc = asked_room(to, x->seeds, err);

	early->seed = to->seeds.n;
	for (size_t i = x->first_seed; i < x->first_seed + x->seeds && !rc; i++)
		if (w->all.pos[i] >= next) {
			next = w->all.pos[i] + apart;
			ask(to, &w->all, i);
		}
	early->seeds = x->asked = (uint32_t)(to->seeds.n - early->seed);
	return rc;
}

int kh_asking_add(kh_asking_all *w, const kh_segment *s, const kh_sampling *k, uint32_t apart,
		  kh_err *err)
{
	int rc = KH_GROW(w->v, w->cap, w->n + 1, err);
	kh_asking *x = &w->v[w->n];

	if (rc)
		return rc;
	*x = (kh_asking) { .s = *s };
	for (int i = 0; i < 2 && !rc; i++) {
		if (s->mate[i].len == 0)
			continue;
		rc = sample(w, &x->s.mate[i], k, err);
		if (!rc)
			rc = ask_early(w, &x->s.mate[i], apart, &x->early[i], err);
	}
	w->n += !rc;
	return rc;
}

/* Asks for the seeds of a mate that were not asked for, which all have numbers in order. */
static int ask_others(kh_asking_all *w, kh_mate *x, const struct kh_asking_mate *early,
		      kh_err *err)
{
	const uint32_t *had = w->early.number + early->seed, *end = had + early->seeds;
	int rc = asked_room(&w->others, x->seeds - early->seeds, err);

	for (size_t i = x->first_seed; i < x->first_seed + x->seeds && !rc; i++) {
		if (had < end && *had == i)
			had++;
		else
			ask(&w->others, &w->all, i);
	}
	x->asked = x->seeds;
	return rc;
}

int kh_asking_ask_others(kh_asking_all *w, kh_err *err)
{
	int rc = KH_OK;

	w->others.seeds.n = 0;
	for (size_t i = 0; i < 2 * w->n && !rc; i++)
		rc = ask_others(w, &w->v[i / 2].s.mate[i % 2], &w->v[i / 2].early[i % 2], err);
	return rc;
}

/* Leaves out what was found in a species. */
static void hide(kh_seeds_found *f, const kh_match_db *db, uint32_t species)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		const uint64_t bin = f->bin[i] >> 32;

		if (bin == KH_SEED_MANY ||
		    db->tree.species[db->bins.taxon[kh_match_target(db, (uint32_t)bin)]] != species)
			f->bin[n++] = f->bin[i];
	}
	f->n = n;
}

int kh_asking_look_up(kh_asking_all *w, kh_seeds_asked *asked, const kh_match_db *db,
		      kh_err *err)
{
	const uint64_t words = db->sampling.stride / KH_TEXT_WORD;
	const uint64_t many = (uint64_t)KH_SEED_MANY << 32;
	kh_seeds_found *f = &asked->found;
	int rc = kh_joint_find(&w->index, asked->seeds.key, asked->seeds.n, &w->found, f, err);

	w->next = 0;
	if (!rc && w->hidden != KH_NO_TAXON)
		hide(f, db, w->hidden);
	if (rc || kh_match_is_thin(db))
		return rc;
	KH_UNROLLED
	for (size_t i = 0; i < f->n; i++)
		if (f->bin[i] < many)
			__builtin_prefetch(db->text + (f->bin[i] >> 32) * words);
	return KH_OK;
}

/* --- what they find ------------------------------------------------------------------- */
/* The bins that some seeds of a mate have, each with the number of its seed below. */
struct bins {
	const uint64_t *bin;
	size_t n;
	const uint32_t *number;         /* of each seed among all that wait; NULL: the same */
	size_t from;                    /* the number of the mate's first seed among all */
};

/* The first bin from number i on that is not of a seed in front of `seed`. */
static size_t first_of(const kh_seeds_found *f, size_t i, size_t seed)
{
	size_t step = 1, end = i;

	while (end < f->n && (uint32_t)f->bin[end] < seed) {
		i = end + 1;
		end += step;
		step *= 2;
	}
	end = end < f->n ? end : f->n;
	while (i < end) {
		const size_t half = i + (end - i) / 2;

		if ((uint32_t)f->bin[half] < seed)
			i = half + 1;
		else
			end = half;
	}
	return i;
}

/* A bin as an anchor: with the number of its seed in the mate. */
static inline uint64_t anchor(const struct bins *b, size_t i)
{
	const uint32_t seed = (uint32_t)b->bin[i];

	return b->bin[i] - seed + ((b->number ? b->number[seed] : seed) - b->from);
}

/* Makes anchors of all bins; false: a seed has more bins than its list, or the mate more seeds
 * than are compared. */
static bool add_all(kh_found *f, const struct bins *b)
{
	uint64_t *to = f->anchor + f->n_anchors;
	bool many = false;

	KH_UNROLLED
	for (size_t i = 0; i < b->n; i++) {
		many |= b->bin[i] >= (uint64_t)KH_SEED_MANY << 32;
		to[i] = b->bin[i] - b->from;
	}
	for (size_t i = 0; i < b->n && b->number; i++)
		to[i] = anchor(b, i);
	f->n_anchors += (uint32_t)b->n;
	return !many && (b->n == 0 || (uint32_t)to[b->n - 1] < f->n);
}

/* The bins of one seed, which stand together. */
struct list {
	const uint64_t *bin;
	size_t n;
};

/* The list that begins with bin i, by its seed in the mate; *many: it is not whole. */
static struct list list_at(const struct bins *b, size_t i, bool *many)
{
	struct list l = { b->bin + i, 0 };

	*many = false;
	for (; i + l.n < b->n && (uint32_t)l.bin[l.n] == (uint32_t)l.bin[0]; l.n++)
		*many |= l.bin[l.n] >> 32 == KH_SEED_MANY;
	return l;
}

/* Finds the lists of seeds, and their lengths; KH_LIST_OVER: one is not whole, or has as many or
 * more. */
static void find_lists(const kh_found *f, const struct bins b[2],
		       struct list list[KH_MATCH_SEEDS], uint8_t len[KH_MATCH_SEEDS])
{
	struct list l;
	bool many;

	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < b[k].n; i += l.n) {
			const uint32_t seed = (uint32_t)anchor(&b[k], i);

			l = list_at(&b[k], i, &many);
			if (seed >= f->n)
				continue;
			list[seed] = l;
			len[seed] = many || l.n > KH_LIST_OVER ? KH_LIST_OVER : (uint8_t)l.n;
		}
}

/* Makes anchors of the bins of seeds that are not passed over (kh_lists_pass_over), in their
 * order. */
static void add_some(kh_found *f, const struct bins b[2])
{
	struct list list[KH_MATCH_SEEDS];
	uint8_t len[KH_MATCH_SEEDS] = { 0 };

	find_lists(f, b, list, len);
	kh_lists_pass_over(len, f->n);
	f->n_anchors = 0;
	for (uint32_t i = 0; i < f->n; i++) {
		if (len[i] == KH_LIST_OVER)
			continue;
		kh_seed_add(&f->known, i);
		for (uint32_t j = 0; j < len[i]; j++)
			f->anchor[f->n_anchors++] = list[i].bin[j] >> 32 << 32 | i;
	}
}

/* Makes anchors of the bins that early and other seeds have; nearly always of all of them. */
static void add(kh_found *f, const struct bins b[2])
{
	if (b[0].n + b[1].n >= KH_LIST_OVER || !add_all(f, &b[0]) || !add_all(f, &b[1]))
		add_some(f, b);
	else
		f->known = kh_seed_below(f->n);
}

/* Positions of seeds from number i on; NULL: there are none. */
static const uint32_t *from_seed(const uint32_t *pos, size_t i)
{
	return pos ? pos + i : NULL;
}

/* Bins from number i on; NULL: there are none. */
static const uint64_t *from_bin(const kh_seeds_found *found, size_t i)
{
	return found->n > 0 ? found->bin + i : NULL;
}

bool kh_asking_early_anchors(kh_asking_all *w, kh_asking *x, uint32_t mate, kh_found *f)
{
	struct kh_asking_mate *a = &x->early[mate];
	const kh_seeds_found *found = &w->early.found;
	const size_t end = a->seed + a->seeds;
	struct bins b[2] = { { .from = a->seed }, { .n = 0 } };

	a->bin = w->next;
	w->next = first_of(found, w->next, end);
	a->bins = (uint32_t)(w->next - a->bin);
	b[0].bin = from_bin(found, a->bin);
	b[0].n = a->bins;
	kh_found_begin(f, from_seed(w->early.seeds.pos, a->seed), a->seeds);
	add(f, b);
	return b[0].n > 0;
}

bool kh_asking_all_anchors(kh_asking_all *w, kh_asking *x, uint32_t mate, kh_found *f)
{
	const struct kh_asking_mate *a = &x->early[mate];
	const kh_mate *m = &x->s.mate[mate];
	const kh_seeds_found *others = &w->others.found;
	const size_t from = w->next;

	while (w->next < others->n &&
	       w->others.number[(uint32_t)others->bin[w->next]] < m->first_seed + m->seeds)
		w->next++;
	const struct bins b[2] = {
		{ from_bin(&w->early.found, a->bin), a->bins, w->early.number, m->first_seed },
		{ from_bin(others, from), w->next - from, w->others.number, m->first_seed }
	};

	kh_found_begin(f, from_seed(w->all.pos, m->first_seed), m->seeds);
	add(f, b);
	return b[0].n + b[1].n > 0;
}
