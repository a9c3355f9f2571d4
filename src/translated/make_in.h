/* make_in.h - inside the making of translated seeds: make.h */
#ifndef KH_TRANSLATED_MAKE_IN_H
#define KH_TRANSLATED_MAKE_IN_H

#include <stdbool.h>
#include "translated/make.h"

#define KH_ORF_CODONS 60                /* without a stop */
#define KH_GENUS_CODONS 32              /* the first codon of a genus is a multiple of these */

/* An open reading frame of a target, without a stop: its first base along the target. */
typedef struct kh_orf {
	uint64_t at;
	uint32_t codons;
	uint32_t strand;                /* 1: the reverse complement is read */
} kh_orf;

typedef struct kh_orfs {
	kh_orf *v;
	size_t n, cap;
	uint64_t *covered;              /* a bit for each base */
	size_t cap_covered;
} kh_orfs;

/* Finds the ORFs of a target that are long enough, the longest first.  An ORF is left out if those
 * before it cover more than half of it. */
int kh_orfs_find(kh_orfs *c, const kh_translated_input *in, const kh_translated_target *t,
		 kh_err *err);

/* A key at a place: key << 32 | codon. */
typedef uint64_t kh_key_at;
#define KH_TRANSLATED_RANGES 256

static inline uint32_t kh_translated_range(kh_key_at key)
{
	return (uint32_t)(key >> 56);
}

/* An ORF of a target that the database keeps: its first codon, of the genus or of all, and where
 * this begins in the text: twice its first base, and 1 more if it is read downwards.  Behind those
 * of a genus is one of no target: zeros. */
typedef struct kh_laid_orf {
	uint32_t codon, target;
	uint64_t place;
} kh_laid_orf;
#define KH_NO_TARGET UINT32_MAX

/* What is kept of a genus. */
typedef struct kh_genus_made {
	size_t first, n;                /* of its targets */
	uint32_t family;
	kh_key_at *key;                 /* codons counted from its first one */
	size_t n_keys;
	/* its keys of each range; then, where the next one of them goes */
	size_t at[KH_TRANSLATED_RANGES];
	uint64_t codons;
	kh_laid_orf *orf;
	size_t n_orfs;
	size_t first_orf;               /* among those of all */
} kh_genus_made;

/* A key of a genus in one of its tiles, and, in another genus, the place of the same key. */
typedef struct kh_shared_key {
	uint32_t of;                    /* the genus */
	uint32_t tile, genus;
	int64_t shift;                  /* codons from its place to that */
} kh_shared_key;

/* The keys of a range, by their upper 8 bits: a task of threads, which make the same bytes for any
 * number of these. */
typedef struct kh_range_made {
	size_t begin, end;              /* of all keys; when they are sorted, of those kept */
	size_t first;                   /* the number of the first one among all that are kept */
	kh_shared_key *shared;
	size_t n_shared, cap_shared;
} kh_range_made;

#define KH_CODON_STEP 64

struct kh_translated_made {
	kh_translated_head head;
	kh_translated_genus *genus;
	kh_translated_line *line;
	uint8_t *place;
	const kh_translated_input *in;
	kh_genus_made *made;            /* head.genera, while it is made */
	kh_key_at *key;                 /* of all genera, ascending */
	kh_range_made range[KH_TRANSLATED_RANGES];
	uint64_t codons;                /* of all genera */
	kh_laid_orf *orf;               /* of all genera, by codon */
	size_t n_orfs;
	/* by KH_CODON_STEP codons: the last genus, and ORF, that begins at the first of these
	 * or before */
	struct { uint32_t genus, orf; } *step;
};

/* The genus of a codon. */
static inline uint32_t kh_genus_at(const kh_translated_made *m, uint32_t codon)
{
	uint32_t i = m->step[codon / KH_CODON_STEP].genus;

	while (i + 1 < m->head.genera && m->genus[i + 1].first <= codon)
		i++;
	return i;
}

/* The ORF of a codon. */
static inline const kh_laid_orf *kh_orf_at(const kh_translated_made *m, uint32_t codon)
{
	const kh_laid_orf *s = &m->orf[m->step[codon / KH_CODON_STEP].orf];
	const kh_laid_orf *last = m->orf + m->n_orfs - 1;

	while (s < last && s[1].codon <= codon)
		s++;
	return s;
}

/* Where a codon of an ORF begins in the text. */
static inline uint64_t kh_orf_place(const kh_laid_orf *s, uint32_t codon)
{
	const uint64_t bases = 3 * (uint64_t)(codon - s->codon);

	return s->place & 1 ? s->place - 2 * bases : s->place + 2 * bases;
}

/* Adds n bases of the text, from a place on, to those, zeros so far, of `to` from number `at`
 * on. */
void kh_read_bases(const uint32_t *text, uint64_t place, uint64_t n, uint64_t *to, uint64_t at);
/* The bases of n codons as they are read, in words of 32. */
void kh_read_codons(const kh_translated_made *m, uint32_t codon, uint32_t n, uint64_t *to);

/* Sorts the keys of a range, equal ones by their places, and notes the keys that two genera share.
 * Keeps the keys of one genus, or of a few genera of one family, each with its lowest place in each
 * genus. */
int kh_table_range(void *made, size_t range, kh_err *err);      /* of a kh_translated_made */
/* Makes the table of the keys that are kept. */
int kh_table_make(kh_translated_made *m, kh_err *err);

/* Notes the keys that two genera share, of a sorted range. */
int kh_shared_find(kh_translated_made *m, kh_range_made *r, kh_err *err);
/* Raises the thresholds of genera by these. */
int kh_thresholds_make(kh_translated_made *m, kh_err *err);

#endif
