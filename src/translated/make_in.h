/* make_in.h - inside the making of translated seeds: make.h */
#ifndef KH_TRANSLATED_MAKE_IN_H
#define KH_TRANSLATED_MAKE_IN_H

#include <stdbool.h>
#include "translated/make.h"

#define KH_STRETCH_CODONS 60            /* without a stop */

/* A stop-free stretch of a target: its first base along the target. */
typedef struct kh_coding {
	uint64_t at;
	uint32_t codons;
	uint32_t strand;                /* 1: the reverse complement is read */
} kh_coding;

typedef struct kh_codings {
	kh_coding *v;
	size_t n, cap;
	uint64_t *covered;              /* a bit for each base */
	size_t cap_covered;
} kh_codings;

/* The stretches of a target that are long enough: the longest first; one that is covered by those
 * before it for more than half is left out. */
int kh_codings_find(kh_codings *c, const kh_translated_input *in, const kh_translated_target *t,
		    kh_err *err);

/* A key at a place: key << 32 | codon. */
typedef uint64_t kh_key_at;
#define KH_TRANSLATED_RANGES 256

static inline uint32_t kh_translated_range(kh_key_at key)
{
	return (uint32_t)(key >> 56);
}

/* A stretch of a target that the database keeps: its first codon, of the genus or of all, and
 * where this begins in the text, as a place of the section. */
typedef struct kh_laid_stretch {
	uint64_t codon, place;
} kh_laid_stretch;

/* What is kept of a genus. */
typedef struct kh_genus_made {
	size_t first, n;                /* of its targets */
	uint32_t family;
	kh_key_at *key;                 /* codons counted from its first one */
	size_t n_keys, cap_keys;
	uint64_t *text;
	size_t cap_text;                /* words of 32 bases */
	uint64_t codons;
	kh_laid_stretch *stretch;
	size_t n_stretches, cap_stretches;
} kh_genus_made;

struct kh_translated_made {
	kh_translated_head head;
	kh_translated_genus *genus;
	kh_translated_line *line;
	uint8_t *place;
	uint64_t *text;
	kh_genus_made *made;            /* head.genera, while it is made */
	kh_key_at *key;                 /* of all genera, ascending */
	size_t n_keys;
	/* where the keys of each range, by their upper 8 bits, begin: tasks of threads, which make
	 * the same bytes for any number of these */
	size_t range[KH_TRANSLATED_RANGES + 1];
	uint64_t codons;                /* of all genera */
	uint64_t db_bases;              /* as in the input */
	kh_laid_stretch *stretch;       /* of all genera, by codon */
	size_t n_stretches;
};

/* The genus of each KH_GENUS_CODONS codons. */
uint32_t *kh_genus_of_codons(const kh_translated_made *m, kh_err *err);

/* Sorts the keys of each range; equal ones stay in the order of their places. */
int kh_table_sort(kh_translated_made *m, unsigned threads, kh_err *err);
/* Of these, makes the table of those that one genus has. */
int kh_table_make(kh_translated_made *m, unsigned threads, kh_err *err);

/* Raises the thresholds of genera by keys that two of them have. */
int kh_thresholds_make(kh_translated_made *m, unsigned threads, kh_err *err);

/* fn(arg, i, err) for i from 0 to n - 1, by several threads. */
typedef int kh_each_fn(void *arg, size_t i, kh_err *err);
int kh_translated_each(size_t n, unsigned threads, kh_each_fn *fn, void *arg, kh_err *err);

#endif
