/*
 * rule.h - how keys are looked up in a database of Kraken 2: minimizers, hashes, cells   [HD]
 *
 * What is said here is what the CPU and the kernels share.  The words are those of Kraken 2: the
 * minimizer of a k-mer is the least of its l-mers in an order that a mask makes; cells of the table
 * have a part of a minimizer's hash, the key, and the number of a taxon, the value.
 */
#ifndef KH_KRAKEN2_RULE_H
#define KH_KRAKEN2_RULE_H

#include <string.h>
#include "kmer/kmer.h"
#include "taxonomy/tree.h"

/* What a run of k-mers was called, other than a taxon by its preorder number or KH_NO_TAXON. */
#define KH_K2_AMBIGUOUS (UINT32_MAX - 1)        /* k-mers that are not looked up */
#define KH_K2_MATES (UINT32_MAX - 2)            /* the border between mates, */
#define KH_K2_FRAMES (UINT32_MAX - 3)           /* and between reading frames */
#define KH_K2_CODES (UINT32_MAX - 3)            /* numbers from here on are codes */

/* Neighbouring k-mers of a fragment that were called the same. */
typedef struct kh_k2_run {
	uint32_t what, n;
} kh_k2_run;

/* Where the runs of a fragment are among those of a job. */
typedef struct kh_k2_list {
	uint32_t from, n;
} kh_k2_list;

/* All that follows from the files of a database and the options of a run. */
typedef struct kh_k2_rule {
	/* minimizers */
	uint32_t k, l;                  /* in characters */
	uint32_t protein;               /* 0 or 1: characters are residues, of 4 bits */
	uint32_t old_complement;        /* 0 or 1: the fault of databases before 2.0.8 is kept */
	uint64_t mask;                  /* the bits of an l-mer */
	uint64_t seed;                  /* bits of an l-mer that count; all: no spaced seed */
	uint64_t toggle;                /* within mask */
	uint64_t least_hash;            /* keys of lesser hashes are not in the table */
	/* the table */
	uint64_t capacity, inverse;     /* in cells, and (2^64 - 1) / capacity */
	uint32_t key_bits, value_bits;
	uint32_t cell_bytes;            /* 4 or 5 */
	uint32_t n_nodes;               /* values are below */
	/* the decision */
	double confidence;              /* 0 to 1 */
	uint32_t min_groups;            /* hit groups that a call needs */
	uint32_t quick;                 /* 0 or 1: stop when there are so many */
} kh_k2_rule;

/* l-mers of a k-mer */
static KH_HD uint32_t kh_k2_window(const kh_k2_rule *r)
{
	return r->k - r->l + 1;
}

/*
 * Is the k-mer looked up that ends in a run of `lmers` l-mers without an ambiguous character?  One
 * l-mer less than a k-mer has is enough; then its minimizer is the least of these l-mers.
 */
static KH_HD int kh_k2_certain(const kh_k2_rule *r, uint64_t lmers)
{
	return lmers > 0 && lmers + 1 >= kh_k2_window(r);
}

/* What is compared to find the minimizer; x and its reverse complement rc have l characters. */
static KH_HD uint64_t kh_k2_candidate(const kh_k2_rule *r, uint64_t x, uint64_t rc)
{
	if (r->old_complement)          /* complemented, but not moved to where it belongs */
		rc = ~((~rc & r->mask) << (64 - 2 * r->l)) & r->mask;
	if (!r->protein && rc < x)
		x = rc;
	return (x & r->seed) ^ r->toggle;
}

/* The key that a candidate stands for. */
static KH_HD uint64_t kh_k2_key(const kh_k2_rule *r, uint64_t candidate)
{
	return candidate ^ r->toggle;
}

/* hash modulo capacity: the estimate is right or one too small */
static KH_HD uint64_t kh_k2_cell(const kh_k2_rule *r, uint64_t hash)
{
#ifdef __CUDA_ARCH__
	const uint64_t q = __umul64hi(hash, r->inverse);
#else
	__extension__ typedef unsigned __int128 wide;
	const uint64_t q = (uint64_t)((wide)hash * r->inverse >> 64);
#endif
	const uint64_t rest = hash - q * r->capacity;

	return rest >= r->capacity ? rest - r->capacity : rest;
}

/* A cell's key and value. */
typedef struct kh_k2_content {
	uint64_t key;
	uint32_t value;
} kh_k2_content;

/* In a cell of five bytes the key's upper bits are the last byte, and no more of it than 32 bits is
 * kept. */
static KH_HD kh_k2_content kh_k2_read(const kh_k2_rule *r, const unsigned char *cells, uint64_t i)
{
	const unsigned char *p = cells + i * r->cell_bytes;
	kh_k2_content c;
	uint32_t a;

	if (r->cell_bytes == 4) {
		a = *(const uint32_t *)(const void *)p;
		c.key = a >> r->value_bits;
	} else {
		a = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
		c.key = a >> r->value_bits | (uint32_t)p[4] << (32 - r->value_bits);
	}
	c.value = a & ((UINT32_C(1) << r->value_bits) - 1);
	return c;
}

/* The value of the key with this hash, from the cell where a search for it begins; 0: none. */
static KH_HD uint32_t kh_k2_find(const kh_k2_rule *r, const unsigned char *cells, uint64_t hash,
				 uint64_t cell)
{
	const uint64_t key = hash >> (64 - r->key_bits);

	for (uint64_t left = r->capacity; left > 0; left--) {
		const kh_k2_content c = kh_k2_read(r, cells, cell);

		if (c.value == 0 || c.key == key)
			return c.value;
		cell = cell + 1 == r->capacity ? 0 : cell + 1;
	}
	return 0;
}

/*
 * Hits that the clade of a call needs, of so many k-mers.  The number of k-mers is one of 64 bits,
 * which a quick search that ends early can make less than 0; the product is cut to 32 bits.
 */
static KH_HD uint32_t kh_k2_required(const kh_k2_rule *r, uint64_t kmers)
{
	const double product = r->confidence * (double)kmers;
	uint64_t whole;

	if (!(product < 9223372036854775808.0))         /* 2^63: no number of that size is left */
		return 0;
	whole = (uint64_t)product;
	return (uint32_t)(whole + ((double)whole < product));
}

#endif
