/*
 * parts.h - calls of fragments by the candidates that each part of a collection gave
 *
 * The databases that are used as one are the parts of a collection, and each has a file of
 * candidates (answers.h).  A fragment that no part has seeds of has no call; one of which one part
 * alone has seeds, or beside which no other one counts (classify/answer.h), gets the answer of that
 * part, in the numbers of the joined database.  All others are compared with the databases, so what
 * comes out is what these give without the files.
 */
#ifndef KH_RUN_PARTS_H
#define KH_RUN_PARTS_H

#include "classify/backend.h"
#include "run/answers.h"

typedef struct kh_parts kh_parts;

/* Fails if no join can take the candidates of a database, whatever the other parts are. */
int kh_parts_can_join(const kh_db *db, kh_err *err);

/* Opens a file for each part of a joined database, in any order.  Fails if one is missing or
 * damaged, or if they are of other databases, rules or reads than one another.  compared: more is
 * wanted of fragments than the files have, so those with seeds are compared. */
typedef struct kh_parts_options {
	const kh_db *db;
	const kh_rule *rule;
	const char *const *path;
	size_t n;
	bool compared;
} kh_parts_options;

int kh_parts_open(kh_parts **p, const kh_parts_options *o, kh_err *err);
void kh_parts_close(kh_parts *p);
/* All reads have been read: fails if they are not those of the files. */
int kh_parts_check(const kh_parts *p, uint64_t fragments, const kh_answers_sum *sum,
		   kh_err *err);

/* The fragments of a job; zero it first, to be cleared. */
typedef struct kh_parts_asked {
	uint64_t *hash;
	kh_answer *answer;
	struct kh_rivals *rivals;
	size_t cap_hash, cap_answer, cap_rivals;
} kh_parts_asked;

/* Counts the task's fragments, and sets where its answers go; */
int kh_parts_ask(kh_parts_asked *w, kh_task *t, kh_answers_sum *sum, kh_err *err);
/* or counts them, and sets what the files know of them.  scratch: of the worker. */
int kh_parts_look_up(kh_parts_asked *w, const kh_parts *p, kh_answers *scratch, kh_task *t,
		     kh_answers_sum *sum, kh_err *err);
void kh_parts_asked_clear(kh_parts_asked *w);

#endif
