/*
 * classify.h - the reference classifier: what the rule (rule.h) makes of a job's fragments
 */
#ifndef KH_CLASSIFY_CLASSIFY_H
#define KH_CLASSIFY_CLASSIFY_H

#include <stdbool.h>
#include "db/db.h"
#include "seqio/feed.h"
#include "classify/distinct.h"
#include "classify/rule.h"

void kh_rule_init(kh_rule *r, const kh_db_header *h);

/* The reference classifier: one worker's scratch. */
typedef struct kh_classifier kh_classifier;

int kh_classifier_new(kh_classifier **c, const kh_db *db, const kh_rule *rule, kh_err *err);
void kh_classifier_free(kh_classifier *c);
/* The segments of a job's fragments that have several, in their order. */
typedef struct kh_places {
	kh_located *at;
	size_t n, cap;
} kh_places;

/* Sets where the candidates of the next job go, one after the other, and the places of segments;
 * NULL: nowhere. Only with rule->candidates. */
void kh_classifier_want(kh_classifier *c, kh_candidates *to, kh_places *places);
int kh_classify_job(kh_classifier *c, const kh_job *job, kh_call *call, kh_distinct *distinct,
		    kh_err *err);

/* --- the same in two steps, where other processes hold parts of the index ------------------ */
/* The distinct features of a segment. */
typedef struct kh_segment {
	uint32_t n, span;
	bool only, last;                /* of its fragment */
} kh_segment;

/* What a job asks the index for: the features of its segments, one behind the other. */
typedef struct kh_asked {
	uint64_t *key;
	kh_segment *segment;
	size_t n, n_segments, cap_key, cap_segment;
} kh_asked;

/* The lists from one part of the index: a length for each key, as in a bucket (index.h), then the
 * words of all lists. */
typedef struct kh_answer {
	const uint8_t *len;             /* NULL: this part is in our own memory */
	const uint32_t *word;
} kh_answer;

/* The answers of all parts; those that have been used are passed over. */
typedef struct kh_answers {
	const uint8_t *owner;           /* of each range: its part */
	kh_answer *part;
} kh_answers;

int kh_classify_ask(kh_classifier *c, const kh_job *job, kh_asked *a, kh_err *err);
int kh_classify_answer(kh_classifier *c, const kh_asked *a, kh_answers *answers, kh_call *call,
		       kh_distinct *distinct, kh_err *err);
void kh_asked_clear(kh_asked *a);

/* Makes the answer to n keys, `head` bytes behind the start of *p (malloc'd, to be freed by the
 * caller). The process that asked checks with the other function that an answer fits its keys,
 * and learns where its arrays are. */
int kh_answer_make(const kh_db *db, const uint64_t *key, size_t n, size_t head, void **p,
		   size_t *bytes, kh_err *err);
int kh_answer_read(kh_answer *a, const void *p, size_t bytes, size_t n, kh_err *err);
#endif
