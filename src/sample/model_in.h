/*
 * model_in.h - inside the model: its state while it is made (kh_modelling), which model.c owns, and
 * the steps in order: shares.c, fit.c, cover.c with probe.c, told.c, long.c, breadth.c, sure.c,
 * borne.c, decide.c, support.c
 */
#ifndef KH_SAMPLE_MODEL_IN_H
#define KH_SAMPLE_MODEL_IN_H

#include <stdatomic.h>
#include "sample/model.h"

/* What a drop costs a species, in log2 of its likelihood: 3 log2(e) a mismatch; of a long fragment
 * 1/5 log2(e). */
enum { KH_DROP_COST = 283644, KH_DROP_COST_LONG = 18910 };

/* Shares of 65536: a negligible one, nearly all, and the least probability of a species for which
 * a call of it is not raised to the genus. */
enum { KH_LITTLE = 2048, KH_NEARLY_ALL = 55705, KH_KEEP = 10923 };     /* 1/32, .85, 1/6 */

/* The share of a species' own long fragments that the first pass calls the species, in 1/65536; 0:
 * not known.  And -log2 of the probability that a fragment is called it, [0], or not, [1]: of its
 * own fragments, and of others'. */
typedef struct kh_told {
	uint32_t share;
	uint32_t own[2], other[2];
} kh_told;

/* Reads made from the text of a species (probe.c): the places of its long reads and their bases;
 * and how many of the reads are classified as the species. */
enum {
	KH_PROBES = 32,         /* places, with a long read each */
	KH_PROBE_READS = 8      /* short reads of each place */
};
typedef struct kh_probe {
	uint64_t from[KH_PROBES];
	uint32_t bases[KH_PROBES];
	uint32_t told;                  /* long reads that are called it, 1/65536; 0: not known */
	/* as bits: the short reads of each place that have it alone as their best */
	uint8_t alone[KH_PROBES];
	uint32_t all_alone, all_sole;   /* how many of all; sole: without any other candidate */
	uint32_t reads;                 /* short reads in a tract */
} kh_probe;

/* A class with several candidates, among which its fragments are shared (shares.c). */
typedef struct kh_named {
	uint32_t at : 31;               /* the candidate's index in kh_model.at */
	uint32_t called : 1;            /* it is the call of the class */
	uint32_t cost;                  /* of its drop */
} kh_named;
typedef struct kh_tie {
	uint64_t many;
	size_t from;                    /* the first of n in kh_modelling.ties.named */
	uint32_t n, cell;
} kh_tie;
typedef struct kh_ties {
	size_t n, named;
} kh_ties;

/* For a species and a cell: log2 of the density of its own fragments, and of others' that name it,
 * a base of genome, shifted above 0; own 0: no fragment is its own. */
typedef struct kh_logs {
	uint32_t own, other;
} kh_logs;

/* Sums that all threads add to.  Most additions go to a few sums, and a sum that many threads
 * change is slow; so each thread has a copy of all, if the copies are not too large. */
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

typedef struct kh_modelling {
	const kh_model_input *in;
	kh_model *m;
	uint32_t *place;                /* by taxon: 1 + index in kh_model.at, 0: none */
	/* by species and used cell: its fragments, in 1/256 (kh_many_of); and of these those of
	 * classes with one candidate, constant in all rounds */
	uint64_t *many, *alone;
	/* by species, in 1/256: its long fragments that are called it, of `many` and of `alone` */
	uint64_t *called, *called_alone;
	struct {                        /* the other classes */
		kh_tie *v;
		size_t n;
		kh_named *named;        /* their candidates */
		kh_ties *of;            /* where each thread puts them */
	} ties;
	uint64_t *weight;               /* by species: log2 of its weight when ties are shared */
	bool fitted;                    /* there was a fit */
	uint64_t *told_many;            /* by species: all long fragments that are called it */
	kh_told *told;                  /* by species; NULL: not known yet */
	kh_probe *probe;                /* by species; NULL: not made yet */
	uint64_t *found, *found_genes;  /* by species: its tracts with any fragment (cover.c) */
	unsigned threads;               /* threads that work on it now */
	_Atomic uint32_t n_moved;       /* species whose own fragments changed in the last round */
	struct {
		uint32_t *v, n;
	} due;                          /* species that reads are made of (probe.c) */
	_Atomic uint32_t next;          /* the first one in `due`, or of all, that no thread took */
	uint32_t *own;                  /* by species, as bits: its own shares (breadth.c), */
	uint64_t *of_own;               /* and the fragments with these, in 1/256 */
	struct {                        /* cells that classes have */
		_Atomic bool used[KH_CELLS];
		uint32_t slot[KH_CELLS];        /* the number of a cell among the used ones, */
		uint32_t at[KH_CELLS], n;       /* and of each of these n the cell */
		kh_logs *logs;          /* by species and used cell, for decisions */
	} cell;
	/* fragments by call: the first pass's, decide.c's and, in the end, support.c's */
	kh_tallies first, decided, last;
	/* the fragments of w->many that are not in w->alone, by species and used cell */
	kh_tallies shared;
	uint32_t *family;               /* by species: its family, or kh_taxonomy.genus */
	struct {                        /* the least share found: */
		uint32_t strain;        /* of a long fragment of a strain (long.c) */
		uint32_t near, close;   /* at 98 % identity, and at 95 % (sure.c) */
	} least;
} kh_modelling;

/* Adds to a sum that several threads add to. */
static inline void kh_add(uint64_t *sum, uint64_t many)
{
	atomic_fetch_add_explicit((_Atomic uint64_t *)sum, many, memory_order_relaxed);
}

/* Adds to a sum of kh_tallies_of.  An atomic addition takes several times as long as a plain one,
 * even if no other thread uses the sum. */
static inline void kh_tallies_add(const kh_tallies *s, uint64_t *sum, uint64_t many)
{
	if (s->shared)
		kh_add(sum, many);
	else
		*sum += many;
}

/* Adds fragments to the sum of their call's taxon; the last sum is of those without a call. */
static inline void kh_add_call(const kh_tallies *s, unsigned thread, uint32_t call, uint64_t many)
{
	const size_t at = call == KH_NO_TAXON ? s->n - 1 : call;

	kh_tallies_add(s, kh_tallies_of(s, thread) + at, many);
}
/* The sums of all threads, to be freed. */
uint64_t *kh_tallies_add_up(const kh_tallies *s, kh_err *err);

/* Candidate i of a class; NULL behind the last one. */
static inline kh_presence *kh_species_of(const kh_modelling *w, const kh_class *k, int i)
{
	if (i == KH_CANDIDATES || k->species[i] == KH_NO_TAXON)
		return NULL;
	return &w->m->at[w->place[k->species[i]] - 1];
}

/* Is the call of a class this species, or below it? */
static inline bool kh_is_called(const kh_modelling *w, const kh_class *k, uint32_t species)
{
	return k->call != KH_NO_TAXON && w->in->db->tax->species[k->call] == species;
}

/* The fragments of species i by cell, in 1/256. */
void kh_many_of(const kh_modelling *w, uint32_t i, uint64_t many[KH_CELLS]);

/* The expected fragments of a species in a cell, but for a factor: its own, and others'. */
typedef struct kh_expected {
	uint64_t own, other;
} kh_expected;
kh_expected kh_expected_of(const kh_modelling *w, const kh_presence *p, uint32_t cell);

/* Runs fn(w) in all threads, each on its part of `things` things; in one, if these are fewer than
 * `few`. */
int kh_modelling_run(kh_modelling *w, size_t things, size_t few, kh_worker_fn *fn, kh_err *err);
/* Of fewer classes, or species, one thread does a step by itself. */
enum { KH_FEW_CLASSES = 1 << 13, KH_MANY_SPECIES = 200 };
/* Where the part of a thread begins, of so many things. */
static inline size_t kh_modelling_from(const kh_modelling *w, size_t things, unsigned thread)
{
	return (size_t)((uint64_t)things * thread / w->threads);
}

/* Looks at all classes: counts those with one candidate, and lists the others, to be shared. */
int kh_ties_open(kh_modelling *w, kh_err *err);
/* Shares the listed classes out into w->shared; before the first fits, by drops only. */
int kh_ties_divide(kh_modelling *w, kh_err *err);
/* Sets w->least.near and w->least.close. */
void kh_near_begin(kh_modelling *w);
/* Count a class for kh_ties_open: in kh_cover, if it fits a species alone; and in
 * kh_presence.called, near and close, and w->told_many. */
void kh_cover_count(kh_modelling *w, const kh_class *k);
void kh_count_called(kh_modelling *w, const kh_class *k);
/* Sets the sizes of each species' tracts. */
void kh_cover_begin(kh_modelling *w);
/* Classifies reads made from the text of species that have been fitted: w->probe. */
int kh_probe_make(kh_modelling *w, kh_err *err);
/* A mean of 2 share + 1, of shares as cells have them. */
typedef struct kh_mean {
	uint64_t sum, n;
} kh_mean;
/* Has a species text for reads to be made from? */
static inline bool kh_probe_has(const kh_modelling *w, uint32_t i)
{
	return w->probe[i].bases[KH_PROBES - 1] > 0;
}
/* Classifies made reads by a rule; for one thread. */
typedef struct kh_asker kh_asker;
int kh_asker_new(kh_asker **a, const kh_modelling *w, const kh_rule *rule, kh_err *err);
void kh_asker_free(kh_asker *a);
/* Adds to *x the shares of short reads of species i that are called the genus or below when the
 * species is hidden. */
int kh_probe_kin(kh_asker *a, uint32_t i, uint32_t genus, kh_mean *x, kh_err *err);
/* Makes w->probe, finds over how much of its genome each species lies, and refutes some. */
int kh_cover_make(kh_modelling *w, kh_err *err);
/* Gives a species its fragments as its own if they are far from its reference, but all over it. */
void kh_cover_rescue(const kh_modelling *w, kh_presence *p);
/* Limits a species' own fragments to kh_cover.borne; the others, which ties gave it, become those
 * of a relative of the same divergence. */
void kh_cover_limit(kh_presence *p);
/* After calls are decided: undoes the limit in families that no species is missing from.  There,
 * fragments that ties gave one species too many are those that another one lacks. */
int kh_cover_give_back(const kh_modelling *w, kh_err *err);
/* Are all fragments called the species its own, by its verdict and its fit? */
bool kh_cover_is_steady(const kh_presence *p);
/* Makes w->told by w->probe, and refutes species whose long fragments are called it too seldom. */
int kh_told_make(kh_modelling *w, kh_err *err);
/* Finds the identity of species whose fragments are nearly all long. */
void kh_judge_long(kh_modelling *w);
/* Adds to found[i] how many tracts of 2^shift[i] intervals, in the targets of species i, have a
 * mask with a bit of own[i]. */
int kh_search(kh_modelling *w, const uint32_t *own, const uint8_t *shift, uint64_t *found,
	      kh_err *err);
/* Counts, for each species, its own located fragments, and the intervals that they lie in. */
int kh_breadth(kh_modelling *w, kh_err *err);
/* Leaves a species that was judged a relative, an echo, or narrow by copies of a few fragments its
 * near fragments, if enough of those that were called it are near. */
void kh_keep_near(kh_presence *p);
/* Sets p->confidence and p->doubt. */
void kh_judge_confidence(kh_presence *p);
/* The least cover.n that a species is judged by. */
enum { KH_COVER_LEAST = 40 };
/* The first makes w->cell.logs; the second decides the call of a class. */
int kh_decide_begin(kh_modelling *w, kh_err *err);
uint32_t kh_decide(const kh_modelling *w, const kh_class *k);
/* After all classes are decided: changes the calls that the sample does not support. */
int kh_support_make(kh_modelling *w, kh_err *err);

#endif
