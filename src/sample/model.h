/*
 * model.h - the sample as a whole: which species its fragments come from, and the calls that follow
 *
 * The fragments that name a species are a mixture of its own and of others' (fit.h).  Fragments
 * that name several species are shared among them by each species' own fragments a base of genome;
 * so fits and shares are worked out in turn, in up to twelve rounds.  Half way, species whose
 * fragments do not lie all over the genome are refuted (cover.c); in the end, those that echo an
 * abundant relative, or lie in few places.  Then each class of fragments is called its best species
 * or a taxon above, by the probability that it is that species' own.  All in integers.
 *
 * Example (tests/bench/profiles --made): a sample has 3000 pairs of E. coli, and the database no
 * species of Escherichia.  The first pass calls 282 of them S. enterica and 170 S. bongori, the
 * nearest species.  Too few fit either species alone, so both are refuted, and no pair is called
 * below the family.
 */
#ifndef KH_SAMPLE_MODEL_H
#define KH_SAMPLE_MODEL_H

#include <stdatomic.h>
#include "base/team.h"
#include "db/db.h"
#include "sample/classes.h"
#include "sample/fit.h"
#include "sample/lengths.h"

/* Calls are changed in samples of so many fragments or more; a long one counts as nine. */
#define KH_SAMPLE_LEAST 500

enum kh_verdict {
	KH_PRESENT,             /* a strain within 4 % of a reference */
	KH_DIVERGENT,           /* a strain of the species that is farther */
	KH_RELATIVE,            /* the fragments come from something related */
	/* the fragments come from a far more abundant species of the family */
	KH_ECHO,
	KH_NARROW,              /* the fragments lie in few places of the genome */
	KH_TOO_FEW              /* there are too few fragments to judge */
};
/* The verdict in words, as all outputs print it. */
const char *kh_verdict_name(enum kh_verdict v);

/* How sure it is that a species is there (sure.c). */
enum kh_confidence {
	KH_NO_CONFIDENCE,       /* it is not judged to be there */
	KH_LOW,                 /* there with a kh_doubt, or few fragments of high identity */
	KH_HIGH
};

/* Why a species that is there has a low confidence: the first of these that holds. */
enum kh_doubt {
	KH_NO_DOUBT,
	KH_DOUBT_READS,         /* fewer than KH_SURE_READS different fragments */
	KH_DOUBT_SHARE,         /* its own fragments are a small share of those that name it */
	KH_DOUBT_IDENTITY,      /* its identity is not known within 2 % */
	KH_DOUBT_FAR,           /* it may be farther than a strain of the species */
	KH_DOUBT_REST           /* more than a quarter of its fragments are not its own */
};
enum { KH_SURE_READS = 10 };

/* The short fragments of a species that fit it alone: it is their only best species, and they are
 * located (cover.c).  Shares are in 1/1024. */
enum { KH_COVER_ONE = 1024 };
typedef struct kh_cover {
	uint64_t n;                     /* how many fragments these are */
	uint64_t sole;                  /* of these, those without any other candidate */
	/* pairs without any other candidate that are called it, however few of their k-mers are
	 * found: those of which one mate only fits it; the others, and the bases between their
	 * mates */
	uint64_t one_mate, both_mates, apart;
	uint32_t share;                 /* the cover: the part of the genome they lie over */
	uint32_t off;                   /* the standard error of the cover */
	uint32_t part;                  /* n, of the number expected by `alone`; 0: not known */
	uint64_t borne;                 /* its short fragments times `part`, 1/256; 0: not known */
	uint32_t alone;                 /* share of perfect reads that fit it alone; 0: not known */
	uint32_t lead;                  /* share of sole fragments, over that of perfect reads */
	bool sister;                    /* more than a tenth of perfect reads are not sole */
	bool lacks;                     /* it lacks genes that strains have */
	bool clear;                     /* not refuted by any result of perfect reads */
	uint8_t shift, shift_genes;     /* a tract is 2^shift intervals */
} kh_cover;

typedef struct kh_presence {
	uint32_t taxon;                 /* of the species */
	enum kh_verdict verdict;
	enum kh_confidence confidence;
	enum kh_doubt doubt;
	kh_fit fit;                     /* .own: by the final verdict */
	kh_cover cover;
	/* its fragments are those of a relative (cover.c, told.c) */
	bool refuted;
	bool steady;                    /* all fragments called it are its own (cover.c) */
	uint32_t own_long;              /* share of its long fragments that are its own, 1/65536 */
	uint32_t rival;                 /* the largest species of its family, which may be itself */
	bool by_long;                   /* the fit is of the long ones (long.c) */
	uint64_t length;                /* intervals of its genome, at least 2 */
	uint64_t least;                 /* intervals of the shortest genome of its strains */
	uint64_t bases, sequences;      /* of all its targets */
	bool many_strains;              /* more than lists keep bins for: KH_SPECIES_PLACES */
	uint64_t counted;               /* own fragments that are located */
	uint64_t found, expected;       /* intervals that they lie in; expected in 1/256 */
	/* as counted; with many_strains, all own fragments that have it alone as their best */
	uint64_t lone;
	uint64_t share;                 /* sum of 64 h / n of its fragments; see fit.total */
	/* fragments with a class that the first pass called it; and those of them without another
	 * candidate whose identity is at least 98 %, or 95 % (sure.c) */
	uint64_t called, near, close;
	uint64_t seen;                  /* share of own fragments with h >= KH_H_LEAST, 1/65536 */
} kh_presence;

/* Is the species in the sample, divergent or not? */
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

/* The same, with copies of a fragment counted once: scaled down if the fragments lie in fewer
 * intervals than chance gives. */
static inline uint64_t kh_presence_different(const kh_presence *p)
{
	const uint64_t own = kh_presence_own(p), places = p->found << 8, of = p->expected;

	/* so many intervals are found in a deep sample only */
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
	uint64_t changed;               /* fragments whose final call differs from the first */
	/* by taxon: what a call of it becomes in the end (support.c); NULL: calls stay */
	uint32_t *end_up;
	bool changes;                   /* kh_model_input.change, and the sample is large enough */
	bool small;                     /* the sample is not large enough */
} kh_model;

typedef struct kh_model_input {
	const kh_db *db;
	const kh_rule *rule;
	const kh_classes *classes;      /* joined */
	const uint32_t *mask;           /* of each interval: bit j, a located fragment of share j */
	/* NULL, or searches masks that lie on a device: sets found[t], of each target, to how many
	 * of its tracts of 2^shift[t] intervals have a mask with a bit of own[t] */
	int (*search)(void *arg, const uint32_t *own, const uint8_t *shift, uint32_t *found,
		      kh_err *err);
	void *arg;
	uint64_t fragments;             /* of the sample */
	/* the share of k-mers in long reads without an error, by qualities.h, in 1/2^24; 0: not
	 * known */
	uint32_t errors_leave;
	bool change;                    /* change calls, if the sample is large enough */
	/* by taxon, or NULL: genera of which the sample has an unknown species, by proteins */
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

/* Numbers the intervals of all targets, in their order.  (*first)[t], to be freed: the first one
 * of target t; behind the last target, how many intervals there are. */
int kh_intervals(const kh_db *db, uint64_t **first, kh_err *err);

/* The shares of the fragments located in each interval, marked by all workers (breadth.c). */
typedef struct kh_marks {
	const kh_db *db;
	uint64_t *first;                /* from kh_intervals */
	_Atomic uint32_t *mask;         /* of each interval: kh_model_input.mask */
} kh_marks;

int kh_marks_init(kh_marks *m, const kh_db *db, kh_err *err);
void kh_marks_clear(kh_marks *m);
/* Marks where n fragments are located; of[i] is a class of `c`. */
void kh_marks_add(kh_marks *m, const kh_classes *c, const kh_class_of *of,
		  const kh_candidates *cand, size_t n);

/* Are most species shorter than this, as in a database of marker genes?  Then reads cannot be
 * spread over a genome.  Only the stretches that are kept count: copies of a gene count once, and
 * the segments of a virus add up to its genome. */
enum { KH_SHORT_GENOME = 5000 };
int kh_genomes_are_short(const kh_db *db, bool *are, kh_err *err);

#endif
