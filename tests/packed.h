/* packed.h - sequences for tests: packed by the slow rule of kmer.h, random, reversed; k-mers and
 * repeats by their definitions */
#ifndef KH_TEST_PACKED_H
#define KH_TEST_PACKED_H

#include <stdlib.h>
#include <string.h>
#include "bases.h"
#include "kmer/kmer.h"

/* Of the low 2k bits and their reverse complement the lesser one. */
static inline uint64_t canonical_of(uint64_t x, unsigned k)
{
	const uint64_t rc = kh_kmer_rc(x, k);

	return x < rc ? x : rc;
}

typedef struct packed {
	uint64_t *bases;
	uint32_t *amb;
	size_t n;
} packed;

/* One word more than is needed, of bits that must not matter. */
static inline packed pack(const char *s, size_t n)
{
	size_t words = n / 32 + 2;
	packed p = { malloc(words * sizeof *p.bases), malloc(words * sizeof *p.amb), n };

	memset(p.bases, 0xa5, words * sizeof *p.bases);
	memset(p.amb, 0xff, words * sizeof *p.amb);
	for (size_t i = 0; i < n; i++) {
		unsigned b = base_of((unsigned char)s[i]), sh = i & 31;

		p.bases[i >> 5] = (p.bases[i >> 5] & ~(UINT64_C(3) << 2 * sh)) | (uint64_t)(b & 3)
											 << 2 * sh;
		p.amb[i >> 5] = (p.amb[i >> 5] & ~(UINT32_C(1) << sh)) | (uint32_t)(b > 3) << sh;
	}
	return p;
}

static inline void unpack(packed *p)
{
	free(p->bases);
	free(p->amb);
}

#ifdef KH_TEST_H
/* n random bases, one in `odd` of them an N (0: none); NUL-terminated, to be freed. */
static inline char *random_bases(size_t n, unsigned odd)
{
	char *s = malloc(n + 1);

	for (size_t i = 0; i < n; i++)
		s[i] = odd && test_rand() % odd == 0 ? 'N' : "ACGT"[test_rand() & 3];
	s[n] = 0;
	return s;
}

#endif

static inline char *reversed(const char *s)
{
	size_t n = strlen(s);
	char *r = malloc(n + 1);

	for (size_t i = 0; i < n; i++) {
		unsigned b = base_of((unsigned char)s[n - 1 - i]);

		r[i] = b > 3 ? 'N' : "TGCA"[b];
	}
	r[n] = 0;
	return r;
}

/* From the letters, one by one. */
static inline uint64_t slow_kmer(const char *s, unsigned k)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < k; i++)
		x = x << 2 | base_of((unsigned char)s[i]);
	return x;
}

/* Is a k-mer a tandem repeat?  Base by base, as kmerhash-db(5) has it. */
static inline int slow_repeat(uint64_t kmer, unsigned k)
{
	const unsigned longest = k / 3 < 6 ? k / 3 : 6;

	for (unsigned p = longest / 2 + 1; p <= longest; p++) {
		unsigned differ = 0;

		for (unsigned i = 0; i + p < k; i++)
			differ += (kmer >> 2 * i & 3) != (kmer >> 2 * (i + p) & 3);
		if (4 * differ < k - p)
			return 1;
	}
	return 0;
}

#endif
