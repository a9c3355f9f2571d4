/*
 * engine.h - the launchers that classify
 *
 * Each returns a cudaError_t as an int, works on the current device in the given
 * stream, and does not wait unless it says so.  All pointers are to device memory.  A field
 * functions *_scratch say how many bytes of `scratch` are needed.
 */
#ifndef KH_CUDA_KERNELS_ENGINE_H
#define KH_CUDA_KERNELS_ENGINE_H

#include <cuda_runtime_api.h>
#include "classify/class.h"
#include "classify/hll.h"
#include "classify/match_segment.h"
#include "index/index.h"
#include "translated/look_up.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* As a call's taxon: the fragment is left to the host (match.cu). */
#define KH_GPU_CALL_LEFT (UINT32_MAX - 1)     /* as KH_ON_HOST */
/* Meanwhile: a long fragment of which those parts do not tell enough that are compared first. */
#define KH_GPU_CALL_OPEN (UINT32_MAX - 2)

/* Numbers that kernels count in device memory. */
enum {
	KH_GPU_LEFT,                    /* fragments left to the kernel of blocks, */
	KH_GPU_LEFT_TAKEN,              /*   and those of them, and long ones, that it has begun */
	KH_GPU_FOUND,                   /* places in `found` */
	KH_GPU_SLICES_LEFT,             /* slices left to blocks */
	KH_GPU_SLICES_TAKEN,
	KH_GPU_UNCOUNTED,               /* fragments that a census has no room for */
	KH_GPU_UNCOUNTED_FOUND,         /* fragments whose taxa have no registers */
	KH_GPU_HOST,                    /* fragments left to the host */
	KH_GPU_NOTES,                   /* 64 bits */
	KH_GPU_AGAIN = KH_GPU_NOTES + 2,/* of a database with text: fragments whose other seeds are
					 * to be looked up, too, */
	KH_GPU_REST,                    /*   those that threads leave to warps, */
	KH_GPU_REST_TAKEN,              /*   and those of them, and parts, that these have begun, */
	KH_GPU_PARTS_TAKEN,             /*   and parts that are not compared first */
	KH_GPU_UNCALLED                 /* fragments to be looked at by translated seeds */
};
#define KH_GPU_QUERY_COUNTS 64          /* bytes of them */

/* What is made of the fragments. */
enum kh_gpu_pass {
	KH_GPU_WHOLE,                   /* their calls */
	/* the same in two passes, if the index is not at hand: */
	KH_GPU_FEATURES,                /* the distinct features of all segments, appended to key */
	/* the calls, when the lists of these have come.  ix.image is the words that they lie in,
	 * of 32 bits (ix.bits) */
	KH_GPU_LISTS
};

/* A claim of a part of a long fragment, and a part: n of them. */
#define KH_GPU_PART_CLAIMS (KH_MATCH_PLACES / 2)
typedef struct kh_gpu_part_claim {
	uint32_t species;
	int32_t score;
	uint32_t matches, columns, hits;
	uint32_t strain;                /* what taxon the species has here, if it is the best */
} kh_gpu_part_claim;

typedef struct kh_gpu_part {
	uint32_t kmers, n;
	kh_gpu_part_claim claim[KH_GPU_PART_CLAIMS];
} kh_gpu_part;

/* Translated seeds in device memory, and kh_letter_of. */
typedef struct kh_gpu_translated {
	kh_translated seeds;
	uint32_t k;
	uint8_t letter[64];
} kh_gpu_translated;

typedef struct kh_gpu_query {
	enum kh_gpu_pass pass;
	kh_gpu_index ix;
	kh_rule rule;
	const uint64_t *bases;
	const uint32_t *amb;
	const kh_gpu_record *record;
	uint32_t n;                     /* fragments */
	uint32_t n_words;               /* of 32 bases */
	uint32_t mates;                 /* record of fragment i: i, its mate: mates + i;
	                                 * 0: no mates; UINT32_MAX: 2 i and 2 i + 1 */
	kh_call *call;
	kh_candidates *candidates;      /* n, or NULL: not wanted */
	uint32_t *class_of;             /* n: classes in `census`, or NULL: there is none */
	kh_gpu_census census;
	uint32_t *counts;               /* KH_GPU_QUERY_COUNTS bytes, zero before */
	uint32_t more_output;             /* 1: warps get the large room, as many are crowded */
	uint32_t *left;                 /* n: what is left to the kernel of blocks */
	/* fragments of several segments, and these */
	const kh_gpu_long *longs;       /* n_longs */
	const kh_gpu_slice *slice;      /* n_slices */
	uint32_t n_longs, n_slices;
	uint32_t *slice_left;           /* n_slices */
	kh_gpu_segment *noted;          /* n_slices: the notes of each */
	uint32_t *place;                /* n_slices: kh_located.bin of each; NULL: not wanted */
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
	/* where the features of a query of two passes are: segment i is that of fragment i,
	 * segment n + i slice i */
	kh_gpu_segment *segment;        /* n + n_slices */
	uint64_t *key;
	uint32_t *n_key;                /* features in key, of all queries so far */
	const kh_list *list;            /* of key[i] */
	/* a database with text: what is in `ix` but for the bins and the tree is not there then */
	kh_match_db text;
	uint32_t *mark;                 /* n_words + 1: which k-mers are features */
	kh_gpu_part *part;              /* n_slices, which are parts then */
	uint32_t *again, *rest;         /* n each */
	/* n, or NULL: not wanted.  The taxa that fragments without a call get by translated seeds,
	 * KH_NO_TAXON, or KH_GPU_CALL_LEFT */
	uint32_t *genus;
	kh_gpu_translated translated;
} kh_gpu_query;

int kh_gpu_query_run(const kh_gpu_query *q, cudaStream_t stream);
/* The same of up to KH_GPU_TOGETHER queries at once, of one database, which has text.  They are
 * parameters of kernels, which may have 32,764 bytes of these, and 4096 before CUDA 12.1. */
#define KH_GPU_TOGETHER (CUDART_VERSION >= 12010 ? 16 : 3)
int kh_gpu_queries_run(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream);
/* match.cu: their fragments, and parts of long ones, compared with text. */
int kh_gpu_queries_match(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream);
/* match_plain.cu: the same, where the text has no alleles. */
int kh_gpu_queries_match_plain(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream);
/* translate.cu: fragments without a call looked at by translated seeds. */
int kh_gpu_query_translate(const kh_gpu_query *q, cudaStream_t stream);
/* Bytes of local memory that all its threads on the current device take at most. */
int kh_gpu_query_match_local(uint64_t *bytes);
int kh_gpu_query_match_local_plain(uint64_t *bytes);
/* What kh_gpu_query_run launches, one after the other: fragments of one segment by warps; slices by
 * warps; then, by blocks, the slices that are left, and last the fragments that are left and the
 * long ones. */
int kh_gpu_query_warps(const kh_gpu_query *q, cudaStream_t stream);
int kh_gpu_query_slices(const kh_gpu_query *q, cudaStream_t stream);
int kh_gpu_query_slices_left(const kh_gpu_query *q, cudaStream_t stream);
int kh_gpu_query_left(const kh_gpu_query *q, cudaStream_t stream);

/* --- census.cu: fragments by class --------------------------------------------------- */
/* Counts the fragments of a query that has been run, and their slices. */
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

/* Features of a member in the order of their owners, or of the index itself where the member reads
 * that: stably, by the bits from `from` on of keys. */
typedef struct kh_gpu_route {
	uint64_t *key;                  /* `bound`; what lies behind the *n features is lost */
	const uint32_t *n;
	uint64_t bound;
	int from;                       /* KH_RANGE_BIT: by range alone, which is by owner */
	/* member m owns the ranges from first[m] up to first[m + 1] */
	uint16_t first[KH_GPU_MEMBERS_MAX + 1];
	uint32_t members;
	uint64_t flag;                  /* 0, or 2^32: added to each number sent */
	uint64_t *sent;                 /* members: keys for each */
	uint64_t *out;                  /* bound: keys of member 0, of member 1, ... */
	uint32_t *place, *order;        /* bound; place: of key[i] in `out` */
	void *scratch;
	size_t scratch_bytes;
} kh_gpu_route;

/* Bytes of `scratch`; 0: it failed. */
size_t kh_gpu_route_scratch(uint64_t bound, int from);
int kh_gpu_route_run(const kh_gpu_route *r, cudaStream_t stream);

/* Bytes of `scratch` below, for n keys; 0: it failed. */
size_t kh_gpu_sums_scratch(uint64_t n);

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
	void *scratch;
	size_t scratch_bytes;
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
	void *scratch;
	size_t scratch_bytes;
} kh_gpu_taken;

int kh_gpu_take_lists(const kh_gpu_taken *t, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
