/*
 * census.h - counters on devices: a sample's fragments by class, and distinct features by taxon,
 * counted while they are classified
 *
 * Both are used by the queues of one engine, and closed before it.
 */
#ifndef KH_CLASSIFY_CENSUS_H
#define KH_CLASSIFY_CENSUS_H

#include "base/team.h"
#include "classify/class.h"
#include "classify/distinct.h"

typedef struct kh_engine kh_engine;

/*
 * The census of a sample: its fragments are counted by class (classify/class.h) where they are
 * classified, so only their calls have to come to the host.  A census has banks, which know
 * different classes: tasks of worker w are counted in bank w % banks.  Its memory does not grow.
 * When a bank has as many classes as it can hold, fragments of other classes are left to the host.
 * So are fragments without a call of which translated seeds say something: the host finds what they
 * are like, and if they get a call, it takes them out of their class.
 */
typedef struct kh_census {
	unsigned banks;
} kh_census;

typedef struct kh_census_options {
	/* first interval of each target, and the number of them all: n_targets + 1 */
	const uint64_t *interval;
	uint32_t n_targets;
	uint32_t classes;               /* that each bank can hold; 0: as many as suit */
} kh_census_options;

/* What a bank has counted. */
typedef struct kh_census_bank {
	/* n different ones; they live as long as the census */
	kh_class *at;
	uint32_t n;
	uint64_t many[KH_N_MOST + 1];   /* fragments that have a class, by features */
} kh_census_bank;

/* Counts the tracts of each target that have an interval whose mask has a bit in common with
 * own[target].  A tract is 2^shift[target] intervals in a row, the first from that target's first
 * one on; the last one may have fewer. */
typedef struct kh_census_search {
	const uint32_t *own;
	const uint8_t *shift;
	const uint32_t *also;           /* masks that were made on the host, or NULL; the census
					 * keeps them for the next searches */
	uint32_t *found;                /* of each target */
} kh_census_search;

typedef struct kh_census_functions {
	/* NULL: the device has no census.  For candidates (kh_rule) only.  *c becomes NULL where
	 * there is not enough memory for one, or no way. */
	int (*open)(kh_census **c, kh_engine *e, const kh_census_options *o, kh_err *err);
	/* When all tasks that it was given to have been collected: */
	int (*read)(kh_census *c, unsigned bank, kh_team *team, kh_census_bank *p, kh_err *err);
	int (*search)(kh_census *c, const kh_census_search *s, kh_err *err);
	void (*close)(kh_census *c);
} kh_census_functions;

/*
 * The counters of distinct features of a sample, on the devices that find them, so that no feature
 * has to come to the host.  Their memory does not grow: there are registers for so many taxa, and
 * what fragments of others have found is counted by the host.
 */
typedef struct kh_counters kh_counters;

typedef struct kh_counters_functions {
	/* NULL: the device has none.  taxa: of so many, 0: as many as suit.  *c becomes NULL where
	 * there is not enough memory for any, or no way. */
	int (*open)(kh_counters **c, kh_engine *e, uint32_t taxa, kh_err *err);
	/* When all tasks that they were given to have been collected: adds what they counted. */
	int (*read)(kh_counters *c, kh_distinct *to, kh_err *err);
	void (*close)(kh_counters *c);
} kh_counters_functions;

#endif
