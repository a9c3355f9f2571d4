/*
 * kernels.h - the launchers: what C may ask of the kernels
 *
 * Each returns a cudaError_t as an int, works on the current device in the given
 * stream, and does not wait unless it says so.  All pointers are to device memory.  A field
 * `room` is scratch; functions *_room say how many bytes of it are needed.
 */
#ifndef KH_CUDA_KERNELS_H
#define KH_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include "classify/class.h"
#include "classify/hll.h"
#include "index/index.h"
#include "kmer/sampling.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- sample.cu: the pairs of a block of references ----------------------------------- */
/* A piece (backend/sample.h).  Windows and bins are numbered over all pieces; `window` and
 * `summed` are the numbers of its first ones. */
typedef struct kh_gpu_piece {
	uint64_t at, starts, bases;
	uint64_t window, summed;
	uint32_t bin, local;
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
	uint64_t n_summed;              /* bins of all pieces, for the digests */
	/* room: kh_gpu_sample_room() bytes */
	void *room;
	size_t room_bytes;
	/* out: pairs in order of bins, and their number */
	uint64_t *key;                  /* 48 bits */
	uint32_t *bin;
	uint32_t *count;
	uint64_t *digest;               /* kh_digest of each piece; zero before */
} kh_gpu_sample;

size_t kh_gpu_sample_room(const kh_gpu_sample *s);
int kh_gpu_sample_run(const kh_gpu_sample *s, cudaStream_t stream);

/* --- pairs.cu: pairs to ranges of the index ----------------------------------------- */
/* A run of pairs in memory, and where its first pair goes when runs are gathered. */
typedef struct kh_gpu_pairs {
	const uint64_t *key;
	const uint32_t *bin;
	uint64_t n, to;
} kh_gpu_pairs;

/* From bins over all sequences to bins over targets (kh_remap); n = 0: bins stay as they are. */
typedef struct kh_gpu_remap {
	const uint32_t *first, *to;
	uint32_t n;
} kh_gpu_remap;

#define KH_GPU_DROPPED (UINT64_C(1) << KH_KEY_BITS)     /* a key that sorts behind all */

/* Parts one behind the other, the first at 0, and `total` pairs in all.  A part may lie where it
 * goes: then its bins are changed in place. */
typedef struct kh_gpu_gather {
	const kh_gpu_pairs *part;       /* n */
	uint32_t n;
	uint64_t total;
	kh_gpu_remap remap;
	uint64_t *key;
	uint32_t *bin;
} kh_gpu_gather;
int kh_gpu_gather_run(const kh_gpu_gather *g, cudaStream_t stream);

/* Stable, by the bits [from, bits) of keys; from KH_RANGE_BIT on: by range alone.  The sorted
 * arrays are where *key and *bin point afterwards. */
#define KH_RANGE_BIT 40
typedef struct kh_gpu_sort {
	uint64_t *key, *key2;
	uint32_t *bin, *bin2;
	uint64_t n;
	int from, bits;
	void *room;                     /* NULL: sets room_bytes only */
	size_t room_bytes;
} kh_gpu_sort;
int kh_gpu_sort_run(kh_gpu_sort *s, cudaStream_t stream);

/* at[i] = the first pair whose key is in range i or behind it, i = 0 .. 256 */
int kh_gpu_bounds(const uint64_t *key, uint64_t n, uint64_t *at, cudaStream_t stream);

/* Adds to weight[range] the number of its pairs, of n, or, if `count` is not NULL, of *count, which
 * are at most n; dropped pairs are not counted. */
int kh_gpu_weigh(const uint64_t *key, const uint32_t *count, uint64_t n, uint64_t *weight,
		 cudaStream_t stream);

/* One range among those that are encoded together. */
typedef struct kh_gpu_range {
	uint64_t pair;                  /* its first pair */
	uint64_t head;                  /* its first key, entry */
	uint64_t entry;
	uint64_t word;                  /* its first location, among those of all */
	uint64_t bucket;                /* in the image, 64 bytes */
	uint64_t loc;                   /* in the image, 4 bytes */
	uint32_t B;
	uint32_t over;
	uint32_t failed;                /* an entry lies too far behind its home */
	uint32_t start;                 /* its first place in kh_gpu_encode.start, of B + 2 */
} kh_gpu_range;

/* Sorted pairs of whole ranges, less than 2^32, and what is made from them.  range has
 * KH_RANGES + 1 elements; the last, a sentinel, has the ends of all. */
typedef struct kh_gpu_encode {
	const uint64_t *key;
	uint32_t *bin;                  /* lists are sorted, and cut, in place */
	uint64_t n;
	kh_gpu_range *range;
	kh_bins bins;
	/* n_targets: each target stands in a row of targets of its species, perhaps alone; the
	 * first bin behind that row.  Not used if bins.most is 0. */
	const uint32_t *row_end;
	kh_tree tree;
	uint32_t *head;                 /* n_heads: first pair of each key */
	uint64_t n_heads;
	uint32_t *entry;                /* n_entries + 1: first pair of each entry */
	uint64_t n_entries;
	uint64_t *lead;                 /* n_entries + 1: max of 19 * home - j; then the words of
					 * lists before */
	uint32_t *slot;                 /* n_entries */
	uint8_t *len;                   /* n_entries + 1 */
	uint32_t *several;              /* entries of several keys, at most cap_several of them */
	uint32_t *many;                 /* entries of more than KH_GPU_MANY pairs */
	uint32_t cap_several;           /* for kh_gpu_lists: how many there are */
	uint32_t *counts;               /* [0] several, [1] many: zero before */
	uint64_t *n_out;                /* what kh_gpu_heads and _entries found */
	uint32_t *start;                /* of each range: the first entry of each bucket, and the
					 * one behind the last */
	kh_bucket *image;
	void *room;                     /* for scans */
	size_t room_bytes;
} kh_gpu_encode;
#define KH_GPU_MANY 256

size_t kh_gpu_encode_room(uint64_t n);
int kh_gpu_heads(const kh_gpu_encode *e, cudaStream_t stream);          /* head, n_out */
int kh_gpu_range_heads(const kh_gpu_encode *e, cudaStream_t stream);    /* range[].head */
int kh_gpu_entries(const kh_gpu_encode *e, cudaStream_t stream);        /* entry, n_out */
int kh_gpu_place(const kh_gpu_encode *e, cudaStream_t stream); /* slot, failed, several */
int kh_gpu_lists(const kh_gpu_encode *e,
		 cudaStream_t stream); /* len, words before, over */
/* image, with range[].bucket, .loc and .start set; n_start: places in start */
int kh_gpu_fill(const kh_gpu_encode *e, uint64_t n_start, cudaStream_t stream);

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
	uint32_t *room;                 /* kh_gpu_split_room() bytes */
} kh_gpu_split;
size_t kh_gpu_split_room(uint64_t bound, uint32_t n);
int kh_gpu_split_run(const kh_gpu_split *s, cudaStream_t stream);

/* --- classify_warp.cu, slices_warp.cu, classify_block.cu: reads to calls ------------ */
/* A database in device memory, by value.  The directory counts from `image`, which is NULL
 * if the ranges lie on several devices: addresses stand in the directory then. */
typedef struct kh_gpu_index {
	const kh_bucket *image;
	const kh_range *dir;
	kh_bins bins;
	/* The target of bin `x << guess_shift`, for each x up to one behind the last bin: so
	 * that the search for the target of a bin has few targets left. */
	const uint32_t *guess;
	uint32_t guess_shift;
	kh_tree tree;
	uint32_t bits;                  /* of a word of a list */
} kh_gpu_index;

/* A record: its first 32-base word and its bases. */
typedef struct kh_gpu_record {
	uint32_t word, len;
} kh_gpu_record;

/* Room of one block of threads of the kernel for what is long or crowded. */
typedef struct kh_gpu_scratch {
	uint64_t *key, *key2;           /* cap_keys */
	uint64_t *loc;
	uint32_t *n_loc;
	uint64_t *seen;                 /* cap_seen, a power of two; all ones */
	uint32_t *bin, *count, *hits;   /* cap_table, a power of two */
	uint32_t *h, *best, *over;      /* n_taxa; zero */
	uint32_t *touched, *touched2, *lcas;
	uint32_t *votes, *voted;        /* n_taxa; votes: zero */
	uint64_t cap_keys, cap_seen, cap_table;
} kh_gpu_scratch;

/* What belongs to a segment: n features, or notes, from `at`. */
typedef struct kh_gpu_segment {
	uint32_t at, n;
} kh_gpu_segment;

/* A slice: a segment of a fragment that has several.  `number` counts from 0, through both
 * mates; the slices of a fragment stand one behind the other. */
typedef struct kh_gpu_slice {
	uint32_t fragment, number;
} kh_gpu_slice;

/* A fragment of several segments. */
typedef struct kh_gpu_long {
	uint32_t fragment;
	uint32_t first, n;              /* its slices */
} kh_gpu_long;

/* What a slice says of a taxon: hits of its best window there, or votes for it (a species), or that
 * it is the LCA of overpopulated features; the number of them in the lower bits of `what`. */
typedef struct kh_gpu_note {
	uint32_t taxon, what;
} kh_gpu_note;
#define KH_GPU_NOTE_HITS 0u
#define KH_GPU_NOTE_VOTES (1u << 30)
#define KH_GPU_NOTE_OVER (2u << 30)
#define KH_GPU_NOTE_COUNT ((1u << 30) - 1)

/* A part of a census (backend.h).  All is zero at first, but for `stretch`. */
typedef struct kh_gpu_census {
	kh_class *at;                   /* cap of them */
	uint32_t *n;                    /* places in `at` that were taken, or asked for */
	uint32_t cap;
	uint32_t bits;
	/* 2^bits, twice as many as cap: an open-addressed table.  0: free; else 1 + a place in
	 * `at`, or UINT32_MAX while that is written, and the upper half of its class's mix. */
	uint64_t *slot;
	uint64_t *many;                 /* KH_N_MOST + 1 */
	uint32_t *mask;                 /* of each stretch */
	const uint64_t *stretch;        /* first one of each target */
} kh_gpu_census;

/* A part of the counters of distinct features (backend.h).  All is zero at first. */
typedef struct kh_gpu_counters {
	uint32_t *set;                  /* of each taxon: 1 + the number of its registers, or: */
	uint32_t *n;                    /* taxa that have asked for registers */
	uint32_t cap;                   /* taxa that there are registers for */
	uint64_t *found;                /* cap: features, with repeats */
	uint32_t *reg;                  /* cap times KH_HLL_SIZE bytes */
} kh_gpu_counters;
#define KH_GPU_SET_FREE 0u                      /* it has not asked yet */
#define KH_GPU_SET_BUSY (UINT32_MAX - 1)        /* it is being given a number */
#define KH_GPU_NO_SET UINT32_MAX                /* there was no room for it */
#define KH_GPU_COUNTED UINT32_MAX               /* in place of where a fragment's features are */

/* Numbers that kernels count in device memory. */
enum {
	KH_GPU_LEFT,                    /* fragments left to the kernel of blocks, */
	KH_GPU_LEFT_TAKEN,              /*   and those of them, and long ones, that it has begun */
	KH_GPU_FOUND,                   /* places in `found` */
	KH_GPU_SLICES_LEFT,             /* slices left to blocks */
	KH_GPU_SLICES_TAKEN,
	KH_GPU_UNCOUNTED,               /* fragments that a census has no room for */
	KH_GPU_UNCOUNTED_FOUND,         /* fragments whose taxa have no registers */
	KH_GPU_NOTES = 8                /* 64 bits */
};
#define KH_GPU_QUERY_COUNTS 64          /* bytes of them */

typedef struct kh_gpu_query {
	kh_gpu_index ix;
	kh_rule rule;
	const uint64_t *bases;
	const uint32_t *amb;
	const kh_gpu_record *record;
	uint32_t n;                     /* fragments */
	uint32_t mates;                 /* record of fragment i: i, its mate: mates + i;
	                                 * 0: no mates; UINT32_MAX: 2 i and 2 i + 1 */
	kh_call *call;
	kh_candidates *candidates;      /* n, or NULL: not wanted */
	uint32_t *class_of;             /* n: classes in `census`, or NULL: there is none */
	kh_gpu_census census;
	uint32_t *counts;               /* KH_GPU_QUERY_COUNTS bytes, zero before */
	uint32_t more_room;             /* 1: warps get the large room, as many are crowded */
	uint32_t *left;                 /* n: what is left to the kernel of blocks */
	/* fragments of several segments, and these */
	const kh_gpu_long *longs;       /* n_longs */
	const kh_gpu_slice *slice;      /* n_slices */
	uint32_t n_longs, n_slices;
	uint32_t *slice_left;           /* n_slices */
	kh_gpu_segment *noted;          /* n_slices: the notes of each */
	kh_gpu_note *note;              /* cap_notes; if there is no more room, noted[].n is
					 * UINT32_MAX */
	uint32_t cap_notes;
	const kh_gpu_scratch *scratch;  /* n_scratch */
	uint32_t n_scratch;
	/* features found, by fragment: wanted if found is not NULL */
	uint64_t *found;
	uint32_t *found_at;             /* n */
	kh_gpu_counters counters;       /* these count them, if set is not NULL: found_at of a
					 * fragment is KH_GPU_COUNTED then */
	/* In two passes, if segment is not NULL.  Without `list`: the distinct features of
	 * all segments are appended to key.  With it, they are not sampled again, the
	 * list of key[i] is list[i], and ix.image is the words that lists lie in, of 32 bits
	 * (ix.bits).  Segment i is that of fragment i, segment n + i slice i. */
	kh_gpu_segment *segment;        /* n + n_slices */
	uint64_t *key;
	uint32_t *n_key;                /* features in key, of all queries so far */
	const kh_list *list;
} kh_gpu_query;

int kh_gpu_query_run(const kh_gpu_query *q, cudaStream_t stream);
/* The kernels of a query that follow those for fragments of one segment: slices by warps; then, by
 * blocks, the slices that are left, and last the fragments that are left and the long ones. */
int kh_gpu_query_slices(const kh_gpu_query *q, cudaStream_t stream);
int kh_gpu_query_slices_left(const kh_gpu_query *q, cudaStream_t stream);
int kh_gpu_query_left(const kh_gpu_query *q, cudaStream_t stream);

/* --- census.cu: fragments by class --------------------------------------------------- */
/* Counts the fragments of a query that has been run. */
int kh_gpu_census_add(const kh_gpu_query *q, cudaStream_t stream);
/* Adds the bits of n masks to others. */
int kh_gpu_census_join(uint32_t *mask, const uint32_t *other, uint64_t n, cudaStream_t stream);
/* found[t], of n targets: the stretches whose masks have a bit in common with own[t]. */
typedef struct kh_gpu_census_search {
	const uint32_t *mask;
	const uint64_t *stretch;
	const uint32_t *own;
	uint32_t *found;
	uint32_t n;
} kh_gpu_census_search;
int kh_gpu_census_search_run(const kh_gpu_census_search *s, cudaStream_t stream);

/* --- counters.cu: features found, by taxon --------------------------------------------- */
/* Counts what the fragments of a query have found. */
int kh_gpu_counters_add(const kh_gpu_query *q, cudaStream_t stream);

/* --- check.cu --------------------------------------------------------------------- */
/* Checks what kh_index_check checks, for n ranges from `first` on.  bad[range], all ones before,
 * gets the first bad bucket, and entries[range], zero before, the number of entries. */
int kh_gpu_index_check(const kh_gpu_index *ix, uint32_t n_bins, uint32_t first,
		       uint32_t n, uint32_t *bad, uint32_t *entries, cudaStream_t stream);

/* --- exchange.cu: features to their owners, lists back ---------------------------- */
#define KH_GPU_MEMBERS_MAX 256

/* Features in order of owners.  n: how many there are, in device memory. */
typedef struct kh_gpu_route {
	const uint64_t *key;
	const uint32_t *n;
	uint8_t owner[KH_RANGES];       /* member of each range */
	uint32_t members;
	uint64_t flag;                  /* 0, or 2^32: added to each number sent */
	uint64_t *sent;                 /* members: keys for each; zero before */
	uint32_t *taken;                /* members: zero before */
	uint64_t *out;                  /* keys of member 0, of member 1, ... */
	uint32_t *place;                /* of key[i] in `out` */
} kh_gpu_route;

int kh_gpu_route_run(const kh_gpu_route *r, cudaStream_t stream);

/* Features of a member that reads all of the index itself, in the order in which that has them. */
typedef struct kh_gpu_order {
	uint64_t *key;                  /* `bound`; what lies behind the *n features is lost */
	const uint32_t *n;
	uint64_t bound;
	uint32_t members, self;
	uint64_t flag;
	uint64_t *sent;                 /* as above: all are for itself */
	uint64_t *out;                  /* bound */
	uint32_t *place, *order;        /* bound; place: of key[i] in `out` */
	void *room;
	size_t room_bytes;
} kh_gpu_order;

/* Bytes of `room`; 0: it failed. */
size_t kh_gpu_order_room(uint64_t bound);
int kh_gpu_order_run(const kh_gpu_order *o, cudaStream_t stream);

/* Bytes of `room` below, for n keys; 0: it failed. */
size_t kh_gpu_sums_room(uint64_t n);

/* What an owner answers to n keys; those of member m begin at from[m]. */
typedef struct kh_gpu_reply {
	kh_gpu_index ix;
	const uint64_t *key;
	uint64_t n;
	uint64_t from[KH_GPU_MEMBERS_MAX + 1];
	uint32_t members;
	uint32_t by_bus;                /* 1: the index is read over the bus */
	uint64_t *bit;                  /* n: where the list is */
	uint64_t *before;               /* n + 1: words in front of each list */
	uint8_t *len;                   /* n: as in a bucket */
	uint64_t *words;                /* members: of all lists of each */
	uint32_t *word;                 /* before[n], of kh_gpu_reply_pack */
	void *room;
	size_t room_bytes;
} kh_gpu_reply;

int kh_gpu_reply_find(const kh_gpu_reply *r, cudaStream_t stream); /* all but word */
int kh_gpu_reply_pack(const kh_gpu_reply *r, cudaStream_t stream);

/* Answers that have come, in the order of `out` above, as lists of the features. */
typedef struct kh_gpu_taken {
	const uint8_t *len;
	const uint32_t *place;
	uint64_t n;
	uint64_t *before;               /* n + 1 */
	kh_list *list;                  /* n, in the words that have come, of 32 bits */
	void *room;
	size_t room_bytes;
} kh_gpu_taken;

int kh_gpu_take_lists(const kh_gpu_taken *t, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
