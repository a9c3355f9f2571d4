/*
 * by_genus.h - a sample's fragments by the genus and family that translated seeds give them
 *
 * A call by translated seeds says that something of the genus is there, not which species.  The
 * sample agrees on a genus if, of the fragments that are like it at all, enough are firmly of it,
 * and if these lie all over the genomes of its species, not in a gene or a prophage.  The same is
 * so for a family.  Then the sample has an unknown species of the genus, or an unknown genus of the
 * family, and fragments whose own score was too low get that call, too.
 *
 * Example: of the pairs of a made-up new species, 82 are like its genus, and 75 of these firmly: 91
 * in 100, where KH_AGREE_GENUS is 55, so the sample agrees.  Of the pairs of a new genus, 160 are
 * like another genus, and 30 of these firmly: 18 in 100, so the sample does not agree.  But 491 are
 * like the family, and 414 of these firmly: 84 in 100, where KH_AGREE_WEAKLY is 80, so the sample
 * agrees on the family, and pairs that are weakly of it are called it, too.
 *
 * A few calls of a genus are taken for reads of another one, if the sample does not agree on the
 * genus and has none of its species.
 */
#ifndef KH_RUN_BY_GENUS_H
#define KH_RUN_BY_GENUS_H

#include <stdatomic.h>
#include "classify/backend.h"
#include "run/report.h"
#include "sample/classes.h"
#include "sample/model.h"
#include "translated/graded.h"

enum {
	KH_BY_GENUS_LEAST = 10,         /* calls, if no species of the genus is there */
	KH_AGREE_LEAST = 20,            /* firm fragments on which a sample may agree, */
	KH_AGREE_GENUS = 55,            /* and so many of 100 that are at least weak: of a genus, */
	KH_AGREE_FAMILY = 68,           /*   of a family, */
	KH_AGREE_WEAKLY = 80,           /*   of one whose weak fragments are called, too; */
	KH_AGREE_SPREAD = 50,           /* and of 100 windows in which so many would lie */
	KH_GENOME_WINDOWS = 64          /* of what the database has of a species */
};

/* Of a taxon; sums of all workers, which do not depend on their order. */
typedef struct kh_by_genus_sum {
	_Atomic uint64_t calls;         /* fragments that translated seeds have called it */
	/* of a genus or a family: fragments of these grades, or above */
	_Atomic uint64_t weak, firm;
	_Atomic uint64_t waiting[4];    /* of a genus, not called it, by the family's grade */
	_Atomic uint64_t codons, same;  /* of those that are firm: kh_likeness */
	_Atomic uint64_t votes, windows; /* of a species: fragments that lie there, and in which */
	uint64_t width;                 /* of a window of a species: bases */
	bool family, many_genera;       /* of a genus that has seeds; of two or more */
} kh_by_genus_sum;

/* Fragments of a worker whose classes may yet get a call: in the upper half the number of the
 * class, in the lower one the result of translated seeds. */
typedef struct kh_by_genus_classed {
	uint64_t *v;
	size_t n, cap;
} kh_by_genus_classed;

typedef struct kh_by_genus {
	const kh_db *db;
	unsigned threads;
	kh_by_genus_classed *classed;   /* by worker */
	kh_by_genus_sum *of;            /* by taxon; NULL: there are no translated seeds */
	/* By taxon, when they have been judged: calls of translated seeds in the end; whether the
	 * sample agrees on it; and whether its calls are none in the end. */
	uint64_t *many;
	bool *agrees, *dropped;
	bool changes;                   /* calls */
} kh_by_genus;

/* An organism on whose genus or family the sample agrees, and which is none of its species. */
typedef struct kh_unknown {
	uint64_t fragments;             /* whether or not calls are changed */
	uint64_t codons, same;          /* residues of it and of its relatives */
	uint32_t nearest[2];            /* species with most votes; KH_NO_TAXON: none */
} kh_unknown;

/* Nothing is counted if the database has no translated seeds. */
int kh_by_genus_init(kh_by_genus *g, const kh_db *db, unsigned threads, kh_err *err);
void kh_by_genus_clear(kh_by_genus *g);

/* Is it a call of translated seeds?  It is above species, and no features agree with it. */
static inline bool kh_by_genus_is(const kh_by_genus *g, const kh_call *c)
{
	return g->of && c->taxon != KH_NO_TAXON && c->hits == 0 &&
	       g->db->tax->species[c->taxon] == KH_NO_TAXON;
}

/* Counts the fragments of a task, whose classes are known. */
int kh_by_genus_add(kh_by_genus *g, unsigned worker, const kh_task *t, const kh_class_of *of,
		    kh_err *err);
/* Decides on what the sample agrees, when all are counted. */
void kh_by_genus_agree(kh_by_genus *g);
/* After that: if the model changes calls, withdraws the agreement on taxa that the model takes for
 * something else, and moves the fragments that the other agreements call, and calls that are
 * dropped. */
/* What became of a class of a worker, by its number. */
typedef uint32_t kh_by_genus_decision(const void *arg, unsigned worker, uint32_t class);
void kh_by_genus_judge(kh_by_genus *g, const kh_model *m, kh_by_genus_decision *decision,
		       const void *arg, kh_moves *moves);
/* Makes *c, the call of a fragment by its class or by the rule, the final one, if translated seeds
 * decide that: `said` is their result.  False: they do not, and *c stays. */
bool kh_by_genus_end(const kh_by_genus *g, uint32_t said, kh_call *c);
/* Is there an unknown organism of a taxon of which `known` reads are those of species?  Of a
 * family: no, if most of its fragments are of genera that have one. */
bool kh_by_genus_unknown(const kh_by_genus *g, uint32_t taxon, double known, kh_unknown *u);

#endif
