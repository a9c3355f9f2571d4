/* model_in.h - inside the model: shares.c, breadth.c and decide.c work on what model.c holds */
#ifndef KH_SAMPLE_MODEL_IN_H
#define KH_SAMPLE_MODEL_IN_H

#include <stdatomic.h>
#include "sample/model.h"

/* A species becomes less likely by this for each mismatch that it is behind: 3 log2(e).  Of a long
 * fragment, for each part that others fit better: -log2(0.3) 2/3. */
enum { KH_DROP_COST = 283644, KH_DROP_COST_LONG = 75889 };

/* Of 65536: a share that is little beside the whole, one that is nearly all of it, and the one that
 * a species must have for a call not to be raised to the genus. */
enum { KH_LITTLE = 2048, KH_NEARLY_ALL = 55705, KH_KEEP = 10923 };     /* 1/32, .85, 1/6 */

/* The share of a species' own long fragments that is called the species, in 1/65536, 0: it is not
 * known; and -log2 of the shares that are, and that are not: of its own ones, and of what is
 * something else's. */
typedef struct kh_told {
	uint32_t share;
	uint32_t own[2], other[2];
} kh_told;

/* What the text is asked about of a species: where its long reads lie in it, and how many bases
 * they have; and what it answers. */
enum {
	KH_PROBES = 32,
	KH_PROBE_READS = 8      /* short ones of each place */
};
typedef struct kh_probe {
	uint64_t from[KH_PROBES];
	uint32_t bases[KH_PROBES];
	uint32_t told;                  /* long ones that are called it, 1/65536; 0: not known */
	/* as bits, short ones of each place that have it alone as their best; how many all do */
	uint8_t alone[KH_PROBES];
	uint32_t all_alone, all_sole;   /* sole: no other species is near */
	uint32_t reads;                 /* so many of them lie in a block */
} kh_probe;

/* A class with several candidates, as they are shared (shares.c). */
typedef struct kh_named {
	uint32_t at : 31;               /* its number among the species */
	uint32_t called : 1;            /* the class is called it */
	uint32_t cost;                  /* of its drop */
} kh_named;
typedef struct kh_tie {
	uint64_t many;
	size_t from;                    /* the first of n in kh_work.ties.named */
	uint32_t n, cell;
} kh_tie;
typedef struct kh_ties {
	size_t n, named;
} kh_ties;

/* Logarithms of how likely fragments of a cell are a species' own, or else what names it, for each
 * base of genome, and above 0; 0: none are its own. */
typedef struct kh_logs {
	uint32_t own, other;
} kh_logs;

/* Sums that all threads add to.  Most of what is shared goes to a few of them, and a sum that many
 * threads change is slow; so each thread has its own, if they are not too large for that. */
typedef struct kh_tallies {
	uint64_t *at;                   /* `copies` times n */
	size_t n;
	unsigned copies;
	bool shared;                    /* several threads have one copy */
} kh_tallies;
int kh_tallies_init(kh_tallies *s, size_t n, unsigned threads, kh_err *err);
static inline uint64_t *kh_tallies_of(const kh_tallies *s, unsigned thread)
{
	return s->at + thread % s->copies * s->n;
}

typedef struct kh_work {
	const kh_model_input *in;
	kh_model *m;
	uint32_t *place;                /* by taxon: 1 + index in m->at, 0: none */
	uint64_t (*many)[KH_CELLS];     /* by species: its fragments, in 1/256 */
	/* of these, what is of classes with one candidate: it does not change */
	uint64_t (*alone)[KH_CELLS];
	/* by species: its long fragments that are called it, and those of one candidate */
	uint64_t *called, *called_alone;
	struct {                        /* the other classes */
		kh_tie *v;
		size_t n;
		kh_named *named;        /* the species that they name */
		kh_ties *of;            /* where each thread puts them */
	} ties;
	uint64_t *weight;               /* they are shared by these logarithms, by species */
	uint64_t (*before)[KH_CELLS];   /* as w->many was when it was fitted last */
	bool fitted;                    /* there was such a fit */
	uint64_t *told_many;            /* by species: long fragments that are called it */
	kh_told *told;                  /* by species; NULL: not known yet */
	kh_probe *probe;                /* by species; NULL: the text has not been asked yet */
	uint64_t *found, *found_genes;  /* by species: its blocks with any fragment (cover.c) */
	unsigned threads;               /* threads that work on it now */
	_Atomic uint32_t n_moved;       /* species that moved in the last round */
	struct {
		uint32_t *v, n;
	} due;                          /* species that the text is asked about */
	_Atomic uint32_t next;          /* the first of these, or of all, that no thread took */
	const uint32_t *own;            /* by species: its own shares (breadth.c) */
	struct {                        /* cells that classes have */
		_Atomic bool used[KH_CELLS];
		uint32_t slot[KH_CELLS], n;     /* which of these it is; how many there are */
		kh_logs *logs;          /* by species and cell, for decisions */
	} cell;
	/* of threads: what m->first and m->last are made of, the latter twice: before it is known
	 * what calls become in the end, and after */
	kh_tallies first, decided, last;
	/* of threads: what w->many has beside w->alone, by species and used cell */
	kh_tallies shared;
	uint32_t *family;               /* by species: its family, or what is in its place */
	struct {                        /* the least share: */
		uint32_t strain;        /* of a long fragment of a strain (long.c) */
		uint32_t near, close;   /* of any that is near, or not far (sure.c) */
	} least;
} kh_work;

/* Threads add to the same sums. */
static inline void kh_add(uint64_t *sum, uint64_t many)
{
	atomic_fetch_add_explicit((_Atomic uint64_t *)sum, many, memory_order_relaxed);
}

/* Adds to a sum of kh_tallies_of.  An atomic addition takes several times as long as a plain one,
 * even if no other thread comes near. */
static inline void kh_tallies_add(const kh_tallies *s, uint64_t *sum, uint64_t many)
{
	if (s->shared)
		kh_add(sum, many);
	else
		*sum += many;
}

/* Adds fragments with a call, by taxon, then without one. */
static inline void kh_add_call(const kh_tallies *s, unsigned thread, uint32_t call, uint64_t many)
{
	const size_t at = call == KH_NO_TAXON ? s->n - 1 : call;

	kh_tallies_add(s, kh_tallies_of(s, thread) + at, many);
}
/* The sums of all threads, to be freed. */
uint64_t *kh_tallies_add_up(const kh_tallies *s, kh_err *err);

/* The species number i of a class; NULL behind the last one. */
static inline kh_presence *kh_species_of(const kh_work *w, const kh_class *k, int i)
{
	if (i == KH_CANDIDATES || k->species[i] == KH_NO_TAXON)
		return NULL;
	return &w->m->at[w->place[k->species[i]] - 1];
}

/* Do the calls of a class name this species? */
static inline bool kh_is_called(const kh_work *w, const kh_class *k, uint32_t species)
{
	return k->call != KH_NO_TAXON && w->in->db->tax->species[k->call] == species;
}

/* The logarithms by which fragments of a class are less likely to be candidate number i's own, or
 * something else's that fits it. */
typedef struct kh_costs {
	uint64_t own, other;
} kh_costs;

static inline kh_costs kh_costs_of(const kh_work *w, const kh_class *k, int i)
{
	const bool is_long = k->cell / KH_SHARES == KH_LONG;
	const bool not = !kh_is_called(w, k, k->species[i]);
	const uint64_t drop =
		(uint64_t)k->drop[i] * (is_long ? KH_DROP_COST_LONG : KH_DROP_COST);
	const kh_told *t = w->told ? &w->told[w->place[k->species[i]] - 1] : NULL;

	if (!t || !is_long)
		return (kh_costs) { drop, drop };
	return (kh_costs) { drop + t->own[not], drop + t->other[not] };
}

/* Densities at a cell, times the species' fragments: of its own, and of all others. */
typedef struct kh_parts {
	uint64_t own, other;
} kh_parts;
kh_parts kh_parts_of(const kh_work *w, const kh_presence *p, uint32_t cell);

/* Has all threads work on so many things, a part each, by fn(w); or one, if they are fewer than
 * `few`. */
int kh_work_run(kh_work *w, size_t things, size_t few, kh_worker_fn *fn, kh_err *err);
/* Classes, and species: fewer are shared out, and decided, by one thread. */
enum { KH_FEW_CLASSES = 1 << 13, KH_MANY_SPECIES = 200 };
/* The part of a thread, of so many things. */
static inline size_t kh_work_from(const kh_work *w, size_t things, unsigned thread)
{
	return (size_t)((uint64_t)things * thread / w->threads);
}

/* Looks at all classes: finds those that are to be shared, and counts what one alone says. */
int kh_ties_open(kh_work *w, kh_err *err);
/* Shares out the fragments into w->shared; before the first fits by drops alone. */
int kh_ties_divide(kh_work *w, kh_err *err);
/* Sets what near is. */
void kh_near_begin(kh_work *w);
/* Count a class for kh_ties_open: what is a species' alone; fragments that were called a species,
 * and those of them that are near, or long. */
void kh_cover_count(kh_work *w, const kh_class *k);
void kh_count_called(kh_work *w, const kh_class *k);
/* Says how large the blocks of each species are. */
void kh_cover_begin(kh_work *w);
/* Asks the text about the species that have been fitted: w->probe. */
int kh_probe_make(kh_work *w, kh_err *err);
/* A mean of 2 share + 1, of shares as cells have them. */
typedef struct kh_mean {
	uint64_t sum, n;
} kh_mean;
/* Has a species places that reads are made of? */
static inline bool kh_probe_has(const kh_work *w, uint32_t i)
{
	return w->probe[i].bases[KH_PROBES - 1] > 0;
}
/* Asks the text by a rule: of one thread. */
typedef struct kh_asker kh_asker;
int kh_asker_new(kh_asker **a, const kh_work *w, const kh_rule *rule, kh_err *err);
void kh_asker_free(kh_asker *a);
/* Adds short reads of species i that would be called the genus, or below, if it were not in the
 * database. */
int kh_probe_kin(kh_asker *a, uint32_t i, uint32_t genus, kh_mean *x, kh_err *err);
/* Finds out over how much of its genome each species lies, and refutes some; with w->probe. */
int kh_cover_make(kh_work *w, kh_err *err);
/* Makes those that are far from their reference, but lie all over it, their own. */
void kh_cover_rescue(const kh_work *w, kh_presence *p);
/* Leaves a species no more of its own than those bear out that are its alone: what ties gave it
 * beyond that is a relative's, as near as it. */
void kh_cover_limit(kh_presence *p);
/* When calls are decided: gives it back in families that no species is missing from.  What ties
 * gave one species there, another one lacks. */
int kh_cover_give_back(const kh_work *w, kh_err *err);
/* Is what is called a species all its own, as its verdict stands? */
bool kh_cover_is_steady(const kh_presence *p);
/* Refutes species of whose long fragments too few are told, and makes w->told; with w->probe. */
int kh_told_make(kh_work *w, kh_err *err);
/* Finds how near species are whose fragments are nearly all long. */
void kh_judge_long(kh_work *w);
/* found[i] += the blocks of 2^shift[i] stretches, or stretches if it is NULL, of the targets of
 * species i that have a mask with a bit of own[i]. */
int kh_search(kh_work *w, const uint32_t *own, const uint8_t *shift, uint64_t *found, kh_err *err);
/* Counts, for each species, its own located fragments, and the stretches that they lie in. */
int kh_breadth(kh_work *w, kh_err *err);
/* Leaves a species that was refuted those fragments that are near, if they are most of those that
 * were called it. */
void kh_keep_near(kh_presence *p);
/* Sets its confidence, and the doubt. */
void kh_judge_confidence(kh_presence *p);
/* Fragments of cover.n that tell something. */
enum { KH_COVER_LEAST = 40 };
/* Makes w->cell.logs; then decides the call of a class. */
int kh_decide_begin(kh_work *w, kh_err *err);
uint32_t kh_decide(const kh_work *w, const kh_class *k);
/* Finds out, when all are decided, which calls the sample does not support, and changes them. */
int kh_support_make(kh_work *w, kh_err *err);

#endif
