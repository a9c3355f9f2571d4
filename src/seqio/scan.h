/*
 * scan.h - the inner loops over text: newlines, nucleotides to bits, quality bytes
 *
 * The plain C versions are the specification.  On x86-64 machines with AVX2, versions in AVX2 are
 * used, with the same results (KH_SIMD=none in the environment forbids it).  All may read up to
 * KH_SCAN_PAD bytes behind their input, but these bytes do not change the result.
 *
 * Nucleotides: ACGTU in either case are bases; the other IUPAC letters RYSWKMBDHVN, X,
 * '-', '*' and '.' are ambiguous; everything else is bad.
 */
#ifndef KH_SEQIO_SCAN_H
#define KH_SEQIO_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "seqio/reader.h"

enum { KH_SCAN_PAD = 64 };

/* Packed sequences (kmer.h).  Room must be there for a word more than is packed. */
typedef struct kh_packed {
	uint64_t *bases;
	uint32_t *amb;
} kh_packed;

/* Sequence lines, as they are packed. */
typedef struct kh_seq_lines {
	uint64_t at;            /* in, out: number of the next base */
	uint64_t n;             /* out: line feeds passed */
	size_t last;            /* out: offset behind the last of them, or 0 */
} kh_seq_lines;

typedef struct kh_scan {
	const char *name;
	/* Packs s[0..n) as bases number at, at + 1, ...; keeps what is below `at` in the
	 * same word.  Gives how many are good: the index of the first bad byte, or n; the
	 * words of what follows a bad byte are undefined. */
	size_t (*pack)(const kh_packed *to, uint64_t at, const char *s, size_t n);
	/* The same, but passes over line feeds. */
	size_t (*lines)(const kh_packed *to, kh_seq_lines *l, const char *s, size_t n);
	/* Index of the first byte that is not a quality, '!' to '~', or n. */
	size_t (*quality)(const char *s, size_t n);
	/* FASTQ records of exactly four lines with nothing odd about them, as far as the
	 * parsed batch has room; gives where the first other one starts. */
	size_t (*fastq)(kh_parsed *parsed, const kh_char_range *r);
} kh_scan;

const kh_scan *kh_scan_get(void);
void kh_scan_choose(const kh_scan *s);          /* for tests */
const kh_scan *kh_scan_plain(void);
const kh_scan *kh_scan_avx2(void);      /* NULL: not on this machine */

/* Behind the last base of a sequence of n that starts at `at` (a multiple of 32): sets
 * the rest of the mask's last word, clears that of the bases. */
static inline void kh_pack_end(const kh_packed *p, uint64_t at, uint64_t n)
{
	uint64_t w = (at + n) >> 5;
	unsigned r = n & 31;

	if (r) {
		p->bases[w] &= (UINT64_C(1) << 2 * r) - 1;
		p->amb[w] = (p->amb[w] & ((UINT32_C(1) << r) - 1)) | UINT32_MAX << r;
	}
}

#endif
