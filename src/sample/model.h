/*
 * model.h - the sample as a whole: which species its fragments come from, and what that says of
 * each fragment
 *
 * For each species the fragments that name it are a mixture of its own and of others'
 * (fit.h).  Fragments that name several species are shared among these by how many of their own
 * they have a base of genome; so fits and shares are worked out in turn, in up to twelve rounds.
 * Half way, those whose fragments do not lie all over the genome are refuted (cover.c); in the end,
 * what is an echo of an abundant relative, or lies in few places; and for each class of fragments
 * the chance that it is its best species' own decides the call.  All in integers.
 *
 * Example (tests/bench/profiles --made): a sample of 3000 pairs of E. coli, of whose genus the
 * database has nothing.  The first pass calls 282 of them S. enterica and 170 S. bongori, as these
 * are nearest.  Too few fit either species alone, so both are refuted, and no pair is called below
 * the family.
 */
#ifndef KH_SAMPLE_MODEL_H
#define KH_SAMPLE_MODEL_H

#include <stdatomic.h>
#include "base/team.h"
#include "db/db.h"
#include "sample/classes.h"
#include "sample/fit.h"
#include "sample/lengths.h"

/* Fragments of a sample from which on calls are changed. */
#define KH_SAMPLE_LEAST 500

enum kh_verdict {
	KH_PRESENT,             /* a strain within 4 % of a reference */
	KH_DIVERGENT,           /* one that is farther, but all over the genome */
	KH_RELATIVE,            /* the fragments come from something related */
	/* the fragments come from a far more abundant species of the family */
	KH_ECHO,
	KH_NARROW,              /* the fragments lie in few places of the genome */
	KH_TOO_FEW              /* there are too few fragments to tell */
};
/* In plain words, which all outputs have. */
const char *kh_verdict_name(enum kh_verdict v);

/* How sure it is that a species is there (sure.c). */
enum kh_confidence {
	KH_NO_CONFIDENCE,       /* it was not judged to be there */
	KH_LOW,                 /* little speaks for it, or few fragments that are near */
	KH_HIGH
};

/* Why a species that is there has a low confidence: the first of these that holds. */
enum kh_doubt {
	KH_NO_DOUBT,
	KH_DOUBT_READS,         /* fewer than KH_SURE_READS different ones */
	KH_DOUBT_SHARE,         /* its own are a small share of those that name it */
	KH_DOUBT_IDENTITY,      /* its identity is not known within 2 % */
	KH_DOUBT_FAR,           /* it may be farther than a strain */
	KH_DOUBT_REST           /* a quarter of its fragments or more fit nothing */
};
enum { KH_SURE_READS = 10 };

/* Of a species' short fragments, those that have it alone as their best, and a place (cover.c).
 * In 1/1024: */
enum { KH_COVER_ONE = 1024 };
typedef struct kh_cover {
	uint64_t n;                     /* how many fragments these are */
	uint64_t sole;                  /* of these, those that no other species is near */
	uint32_t share;                 /* of where its own would be so, they lie over so much */
	uint32_t off;                   /* which is so by a standard error of this */
	uint32_t part;                  /* of its own, they would be so many; 0: not known */
	uint64_t borne;                 /* so many fragments they bear out, 1/256; 0: not known */
	uint32_t alone;                 /* so many perfect reads of it are so; 0: not known */
	uint32_t lead;                  /* sole ones, of as many as of perfect reads */
	bool sister;                    /* another species is near some perfect reads */
	bool lacks;                     /* it lacks genes that strains have */
	bool clear;                     /* it would stand whatever perfect reads were */
	uint8_t shift, shift_genes;     /* a block is 2^shift stretches */
} kh_cover;

typedef struct kh_presence {
	uint32_t taxon;                 /* of the species */
	enum kh_verdict verdict;
	enum kh_confidence confidence;
	enum kh_doubt doubt;
	kh_fit fit;                     /* .own: as it is in the end */
	kh_cover cover;
	/* its fragments are those of something related (cover.c, told.c) */
	bool refuted;
	bool steady;                    /* all that is called it is its own (cover.c) */
	uint32_t own_long;              /* so many of its long fragments are its own, 1/65536 */
	uint32_t rival;                 /* the largest species of its family, which may be itself */
	bool by_long;                   /* the fit is of the long ones (long.c) */
	uint64_t length;                /* stretches of its genome, at least 2 */
	uint64_t least;                 /* those of its strain with the shortest genome */
	bool many_strains;              /* more than lists keep places for: KH_SPECIES_PLACES */
	uint64_t counted;               /* own fragments whose place is known */
	uint64_t found, expected;       /* stretches that they lie in; expected in 1/256 */
	/* the same fragments; of many strains, those that have it alone as their best */
	uint64_t lone;
	uint64_t share;                 /* sum of 64 h / n of its fragments; see fit.total */
	/* fragments with a class that the first pass called it, those of them that are near, and
	 * those that are not far (sure.c) */
	uint64_t called, near, close;
	uint64_t seen;                  /* share of its own fragments that are seen, 1/65536 */
} kh_presence;

/* Is the species in the sample, near or far? */
static inline bool kh_presence_is_there(const kh_presence *p)
{
	return p->verdict == KH_PRESENT || p->verdict == KH_DIVERGENT;
}

/* Fragments that are the species' own, in 1/256. */
static inline uint64_t kh_presence_own(const kh_presence *p)
{
	const kh_fit *f = &p->fit;
	const uint64_t near = p->by_long ? f->many_long * f->weight[0] >> 20 : f->many_long;

	return f->own ? kh_fit_own(f) + (near * p->own_long >> 16) : 0;
}

/* Fragments that are its own, in 1/256, as if those that lie in one place, more than chance
 * puts there, were one: copies of a fragment count once. */
static inline uint64_t kh_presence_different(const kh_presence *p)
{
	const uint64_t own = kh_presence_own(p), places = p->found << 8, of = p->expected;

	/* so many places are of a deep sample */
	if (of == 0 || places >= of || of >> 32)
		return own;
	return own / of * places + own % of * places / of;
}

typedef struct kh_model {
	kh_shapes shapes;
	kh_presence *at;                /* by ascending taxon */
	uint32_t n;
	uint32_t *decision;             /* of each class: its call */
	/* by taxon, then without one: fragments with a class by their first and their final call */
	uint64_t *first, *last;
	uint64_t changed;               /* of these, those whose call is another one now */
	/* by taxon: what any call of it becomes in the end (support.c); NULL: it stays */
	uint32_t *end_up;
	/* changing calls was wanted, and the sample is large enough */
	bool changes;
	bool small;                     /* the sample is not large enough */
} kh_model;

typedef struct kh_model_input {
	const kh_db *db;
	const kh_rule *rule;
	const kh_classes *classes;      /* joined */
	const uint32_t *mask;           /* of each stretch: bit j, a located fragment of share j */
	/* NULL, or what is called instead where masks lie elsewhere: sets found[t], of each target,
	 * to how many of its blocks of 2^shift[t] stretches have a mask with a bit of own[t] */
	int (*search)(void *arg, const uint32_t *own, const uint8_t *shift, uint32_t *found,
		      kh_err *err);
	void *arg;
	uint64_t fragments;             /* of the sample */
	/* of the features of its long reads, the share that errors leave, as qualities say, in
	 * 1/2^24; 0: not known */
	uint32_t errors_leave;
	bool change;                    /* change calls, if the sample is large enough */
	/* by taxon, or NULL: genera of which there is an unknown species, as proteins say */
	const bool *agreed;
	kh_team *team;
} kh_model_input;

/* What a call becomes in the end. */
static inline uint32_t kh_model_end(const kh_model *m, uint32_t call)
{
	return m->end_up && call != KH_NO_TAXON ? m->end_up[call] : call;
}

int kh_model_make(kh_model *m, const kh_model_input *in, kh_err *err);
void kh_model_clear(kh_model *m);

/* Numbers the stretches of all targets, in their order. *first, to be freed: the first one of
 * each target, and the number behind the last. */
int kh_stretches(const kh_db *db, uint64_t **first, kh_err *err);

/* Which shares were found in each stretch, marked by all workers (breadth.c). */
typedef struct kh_marks {
	const kh_db *db;
	uint64_t *first;                /* as kh_stretches has them */
	_Atomic uint32_t *mask;         /* of each stretch: kh_model_input.mask */
} kh_marks;

int kh_marks_init(kh_marks *m, const kh_db *db, kh_err *err);
void kh_marks_clear(kh_marks *m);
/* Marks where n fragments lie, whose classes are of `c`. */
void kh_marks_add(kh_marks *m, const kh_classes *c, const kh_class_of *of,
		  const kh_candidates *cand, size_t n);

/* Have most species fewer bases than this, as marker genes have?  Then no reads can be spread over
 * a genome.  What is alike in sequences of a species counts once: copies of a gene are one gene,
 * and the segments of a virus add up to its genome. */
enum { KH_SHORT_GENOME = 5000 };
int kh_genomes_are_short(const kh_db *db, bool *are, kh_err *err);

#endif
