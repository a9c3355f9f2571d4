/*
 * load.h - opens what classifying begins with: a database, checked as the device needs it, and
 * the rule
 *
 * The command classify and the library (lib/kmerhash.h) both begin here; then both open a
 * kh_compute (classify/compute.h), whose queues take jobs.
 */
#ifndef KH_RUN_LOAD_H
#define KH_RUN_LOAD_H

#include "classify/backend.h"
#include "translated/level.h"

typedef struct kh_load_options {
	const char *const *db;          /* paths of n databases, which are used as one */
	size_t n;
	bool by_name;                   /* of taxonomies of both kinds: taxonomy/join.h */
	const kh_devices *on;
	bool no_verify;                 /* the index is not checked */
	/* the index is checked even if the file was found sound before */
	bool verify;
	bool stamps;                    /* a file that was found sound is remembered */
	double confidence;              /* 0 to 1 */
	const kh_translated_level *unknown;     /* of unknown species; NULL: strict */
	uint32_t want;                  /* KH_WANT_... */
	bool aligned;                   /* alignments are wanted: kh_task.aligned */
	/* of a database of Kraken 2: hit groups that a call needs; stop at so many */
	uint32_t min_groups;
	bool quick;
} kh_load_options;

/* Chooses the devices for n databases: those that `device` names, as --device does; for NULL or
 * "auto" the best ones that can be used with them, and that can align if that is wanted. */
int kh_load_devices(kh_choice *c, const char *device, const kh_load_options *o, kh_err *err);
int kh_load(kh_db **db, kh_rule *rule, const kh_load_options *o, kh_err *err);

#endif
