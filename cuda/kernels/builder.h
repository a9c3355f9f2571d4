/*
 * builder.h - the launchers that make an index
 *
 * Each returns a cudaError_t as an int, works on the current device in the given
 * stream, and does not wait unless it says so.  All pointers are to device memory.  Functions
 * *_scratch say how many bytes of `scratch` are needed.
 */
#ifndef KH_CUDA_KERNELS_BUILDER_H
#define KH_CUDA_KERNELS_BUILDER_H

#include <cuda_runtime_api.h>
#include "index/index.h"
#include "kmer/sampling.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- sample.cu: the pairs of a block of references ----------------------------------- */
/* A piece (backend/pieces.h).  Windows are numbered over all pieces; `window` is the number of its
 * first one. */
typedef struct kh_gpu_piece {
	uint64_t at, starts;
	uint64_t window;
	uint32_t bin;
} kh_gpu_piece;

/* Pieces are ascending, and no two share a 32-base word.  Kernels may read one word behind the last
 * word of bases and of amb. */
typedef struct kh_gpu_sample {
	kh_sampling sampling;
	const uint64_t *bases;
	const uint32_t *amb;
	const kh_gpu_piece *piece;
	uint32_t n_pieces;
	uint32_t n_words;               /* 32-base words */
	uint64_t n_windows;             /* of minhash */
	/* scratch: kh_gpu_sample_scratch() bytes */
	void *scratch;
	size_t scratch_bytes;
	/* out: pairs in order of bins, and their number */
	uint64_t *key;                  /* 48 bits */
	uint32_t *bin;
	uint32_t *count;
} kh_gpu_sample;

size_t kh_gpu_sample_scratch(const kh_gpu_sample *s);
int kh_gpu_sample_run(const kh_gpu_sample *s, cudaStream_t stream);

/* --- pairs.cu: pairs to ranges of the index ----------------------------------------- */
/* A run of pairs in memory, and where its first pair goes when runs are gathered. */
typedef struct kh_gpu_pairs {
	const uint64_t *key;
	const uint32_t *bin;
	uint64_t n, to;
} kh_gpu_pairs;

/* Parts one behind the other, the first at 0, and `total` pairs in all.  */
typedef struct kh_gpu_gather {
	const kh_gpu_pairs *part;       /* n */
	uint32_t n;
	uint64_t total;
	uint64_t *key;
	uint32_t *bin;
} kh_gpu_gather;
int kh_gpu_gather_run(const kh_gpu_gather *g, cudaStream_t stream);

/* Stable, by the bits [from, bits) of keys; from KH_RANGE_BIT on: by range alone.  The sorted
 * arrays are where *key and *bin point afterwards. */
typedef struct kh_gpu_sort {
	uint64_t *key, *key2;
	uint32_t *bin, *bin2;
	uint64_t n;
	int from, bits;
	void *scratch;                  /* NULL: sets scratch_bytes only */
	size_t scratch_bytes;
} kh_gpu_sort;
int kh_gpu_sort_run(kh_gpu_sort *s, cudaStream_t stream);

/* at[i] = the first pair whose key is in range i or behind it, i = 0 .. 256 */
int kh_gpu_bounds(const uint64_t *key, uint64_t n, uint64_t *at, cudaStream_t stream);

/* Adds to weight[range] the number of its pairs, of n, or, if `count` is not NULL, of *count, which
 * are at most n. */
int kh_gpu_weigh(const uint64_t *key, const uint32_t *count, uint64_t n, uint64_t *weight,
		 cudaStream_t stream);

/* One range among those that are encoded together. */
typedef struct kh_gpu_range {
	uint64_t pair;                  /* its first pair, */
	uint64_t head;                  /*   key, */
	uint64_t entry;                 /*   slot, */
	uint64_t word;                  /*   and word of a list, among those of all */
	uint64_t loc;                   /* where its lists begin in the image, in words */
	uint32_t over, lists;           /* seeds of too many bins; and of so many that they have a
					 * list */
} kh_gpu_range;

/* Sorted pairs of whole ranges, less than 2^32, and what is made from them.  range has
 * KH_RANGES + 1 elements; the last, a sentinel, has the ends of all. */
typedef struct kh_gpu_encode {
	const uint64_t *key;
	uint32_t *bin;                  /* lists are cut in place */
	uint64_t n;
	kh_gpu_range *range;
	kh_bins bins;
	uint32_t *head;                 /* n_heads: first pair of each key */
	uint64_t n_heads;
	/* n_heads + 1: the slots of the seeds before each, and above 32 bits the words of their
	 * lists */
	uint64_t *lead;
	uint8_t *len;                   /* n_heads + 1 */
	uint64_t *n_out;                /* what kh_gpu_heads has found */
	void *image;
	void *scratch;                  /* for scans and selections */
	size_t scratch_bytes;
} kh_gpu_encode;

size_t kh_gpu_heads_scratch(uint64_t n);
int kh_gpu_heads(const kh_gpu_encode *e, cudaStream_t stream);          /* head, n_out */
int kh_gpu_range_heads(const kh_gpu_encode *e, cudaStream_t stream);    /* range[].head */

/* --- seeds.cu: keys and their pairs to lines and lists ------------------------------ */
/* scratch: kh_gpu_seeds_scratch() bytes. */
size_t kh_gpu_seeds_scratch(uint64_t n);
/* len, lead, range[].entry, .word, .over, .lists; `bin` has the lists, and stays the same if they
 * are made again */
int kh_gpu_seed_lists(const kh_gpu_encode *e, cudaStream_t stream);
/* The slots of all seeds, in order. */
int kh_gpu_seed_slots(const kh_gpu_encode *e, uint64_t *key, uint32_t *value, cudaStream_t stream);
/* The words of lists, to range[].loc of the image. */
int kh_gpu_seed_words(const kh_gpu_encode *e, cudaStream_t stream);

/* What a range has in a level: its first slot, and the first of its lines in the image. */
typedef struct kh_gpu_level_range {
	uint64_t slot, line;
	uint32_t lines;
} kh_gpu_level_range;

/* The slots that come to a level, less than 2^32, in the order of range and y, which are their
 * keys.  part has KH_RANGES + 1 elements; the last one, a sentinel, has the end of all slots. */
typedef struct kh_gpu_level {
	const uint64_t *key;
	const uint32_t *value;
	uint64_t n;
	const kh_gpu_level_range *part;
	uint32_t bits;
} kh_gpu_level;

/* Those of them that are left over: n, in their order, with the keys of the next level. */
typedef struct kh_gpu_left {
	uint64_t n;
	uint64_t *key;
	uint32_t *value;
	uint32_t *left;                 /* n: their numbers in this level */
	uint64_t *n_out;                /* n once more */
	void *scratch;
	size_t scratch_bytes;
} kh_gpu_left;

/* Adds their number to *n. */
int kh_gpu_seed_count_left(const kh_gpu_level *x, uint64_t *n, cudaStream_t stream);
int kh_gpu_seed_left(const kh_gpu_level *x, const kh_gpu_left *l, cudaStream_t stream);
/* The lines of the level that are not empty; part[].line is set. */
int kh_gpu_seed_lines(const kh_gpu_level *x, void *image, cudaStream_t stream);

/* --- split.cu: pairs to the owners of their ranges -------------------------------- */
/* The pairs of a block, *count of them and at most `bound`, stably into n runs: run i has the
 * ranges that owner i has by kh_shards_even.  Or, if to > 0 and n = 1, those of the ranges
 * from .. to - 1, and no others. */
#define KH_GPU_OWNERS 64
typedef struct kh_gpu_split {
	const uint64_t *key;
	const uint32_t *bin;
	const uint32_t *count;
	uint64_t bound;
	uint32_t n;
	uint32_t from, to;
	/* out */
	uint64_t *key2;
	uint32_t *bin2;
	uint64_t *size;                 /* n: pairs of each run; NULL: not wanted */
	uint32_t *scratch;              /* kh_gpu_split_scratch() bytes */
} kh_gpu_split;
size_t kh_gpu_split_scratch(uint64_t bound, uint32_t n);
int kh_gpu_split_run(const kh_gpu_split *s, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
