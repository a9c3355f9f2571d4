/*
 * volumes.h - calls of fragments by the candidates that each volume of a collection gave
 *
 * The databases that are used as one are the volumes of a collection, and each has a file of
 * candidates (answers.h).  A fragment without seeds in any volume has no call.  If one volume alone
 * has seeds of it, or if no other volume counts beside one (classify/answer.h), the fragment gets
 * the answer of that volume, in the numbers of the joined database.  All other fragments are
 * compared with the databases, so the calls are those that these give without the files.
 */
#ifndef KH_RUN_VOLUMES_H
#define KH_RUN_VOLUMES_H

#include "classify/backend.h"
#include "run/answers.h"

typedef struct kh_volumes kh_volumes;

/* Fails if no join can take the candidates of a database, whatever the other volumes are. */
int kh_volumes_can_join(const kh_db *db, kh_err *err);

/* Opens a file for each volume of a joined database, in any order.  Fails if one is missing or
 * damaged, or if they are of other databases, rules or reads than one another.  compared: more is
 * wanted of fragments than the files have, so those with seeds are compared. */
typedef struct kh_volumes_options {
	const kh_db *db;
	const kh_rule *rule;
	const char *const *path;
	size_t n;
	bool compared;
} kh_volumes_options;

int kh_volumes_open(kh_volumes **p, const kh_volumes_options *o, kh_err *err);
void kh_volumes_close(kh_volumes *p);
/* All reads have been read: fails if they are not those of the files. */
int kh_volumes_check(const kh_volumes *p, uint64_t fragments, const kh_answers_sum *sum,
		     kh_err *err);

/* The fragments of a job; zero it first, to be cleared. */
typedef struct kh_volumes_asked {
	uint64_t *hash;
	kh_answer *answer;
	struct kh_rivals *rivals;
	size_t cap_hash, cap_answer, cap_rivals;
} kh_volumes_asked;

/* Counts the fragments of a task, and sets where its answers go. */
int kh_volumes_ask(kh_volumes_asked *w, kh_task *t, kh_answers_sum *sum, kh_err *err);
/* Counts the fragments of a task, and sets what the files know of them.  scratch: of the worker. */
int kh_volumes_look_up(kh_volumes_asked *w, const kh_volumes *p, kh_answers *scratch, kh_task *t,
		       kh_answers_sum *sum, kh_err *err);
void kh_volumes_asked_clear(kh_volumes_asked *w);

#endif
