/*
 * engine.h - the launchers that classify
 *
 * Each returns a cudaError_t as an int, works on the current device in the given
 * stream, and does not wait unless it says so.  All pointers are to device memory.
 *
 * Example: of two reads, the first has 100 bases and the second 600.  Items 0 and 1 are the reads,
 * items 2, 3 and 4 the parts of the second one, of 200 bases each.  A thread does item 0, or leaves
 * it to a warp; warps do the parts; and a thread adds these up to a call
 * (match_kernels.cuh).
 */
#ifndef KH_CUDA_KERNELS_ENGINE_H
#define KH_CUDA_KERNELS_ENGINE_H

#include <cuda_runtime_api.h>
#include "classify/class.h"
#include "classify/hll.h"
#include "classify/match_types.h"
#include "translated/look_up.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- match.cu, translate.cu: reads to calls ------------------------------------------ */
/* A record: its first 32-base word and its bases. */
typedef struct kh_gpu_record {
	uint32_t word, len;
} kh_gpu_record;

/* Where the records of fragment i are: record[step * i], and of its mate record[mate + step * i].
 * Of n pairs from two files: step 1, mate n; of interleaved pairs: 2 and 1; of single reads: 1 and
 * 0, as they have no mates. */
typedef struct kh_gpu_order {
	uint32_t step, mate;
} kh_gpu_order;

/* A part of a fragment that has several.  `number` counts from 0, through both mates; the parts of
 * a fragment stand one behind the other. */
typedef struct kh_gpu_slice {
	uint32_t fragment, number;
} kh_gpu_slice;

/* A fragment of several parts. */
typedef struct kh_gpu_long {
	uint32_t fragment;
	uint32_t first, n;              /* its parts */
} kh_gpu_long;

/* A bank of a census (census.h).  All is zero at first, but for `interval` and `origin`. */
typedef struct kh_gpu_census {
	kh_class *at;                   /* cap of them */
	uint32_t *n;                    /* places in `at` that were taken, or asked for */
	uint32_t cap;
	uint32_t bits;
	/* 2^bits, twice as many as cap: an open-addressed table.  0: free; else 1 + a place in
	 * `at`, or UINT32_MAX while that is written, and the upper half of its class's mix. */
	uint64_t *slot;
	uint64_t *many;                 /* KH_N_MOST + 1 */
	uint32_t *mask;                 /* of each interval */
	const uint64_t *interval;       /* first one of each target */
	/* of what bins.h calls target t: its bin b lies in interval (origin[t] + b) / KH_INTERVAL,
	 * of the sum modulo 2^64 */
	const uint64_t *origin;
} kh_gpu_census;

/* A bank of the counters of distinct features (census.h).  All is zero at first. */
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

/* What a launch reads of the host's memory, in chunks of KH_GPU_CHUNK bytes (fetch.h). */
typedef struct kh_gpu_fetch {
	uint32_t cap;                   /* chunks that there is room for; 0: none are fetched */
	uint32_t shift;                 /* a bucket has the chunks of 2^shift bytes */
	uint64_t bytes;                 /* of index and text */
	/* KH_GPU_FETCH_COUNTS bytes: chunks that were wanted, which may be more; of these, that
	 * have been fetched before; that were put in order; anchors; chunks of each bucket */
	uint32_t *n, *n_before, *n_ordered, *n_found, *bucket;
	uint64_t *from;                 /* cap: their addresses; 0: it is none */
	uint32_t *rank;                 /* cap: number in its bucket */
	uint32_t *order;                /* cap */
	uint32_t *next;                 /* cap: of first lines (kh_small_lines) */
	char *to;                       /* cap chunks: copies of them */
	uint64_t *found;                /* KH_GPU_FOUND_EACH cap: anchors of mates */
} kh_gpu_fetch;

/* What has been fetched for a mate, and found in it. */
typedef struct kh_gpu_asked {
	uint32_t lines;                 /* where the lines of its seeds are, */
	uint32_t text;                  /*   and then what its anchors are compared with */
	uint32_t first, n;              /* anchors, ascending; n is UINT32_MAX: there is no room
					 * for them */
	uint32_t known;                 /* as kh_short_ask says */
} kh_gpu_asked;
#define KH_GPU_FOUND_EACH 2
#define KH_GPU_CHUNK 64
#define KH_GPU_BUCKETS 16384
#define KH_GPU_FETCH_COUNTS (64 + KH_GPU_BUCKETS * 4)
#define KH_GPU_NOT_FETCHED UINT32_MAX

/* As a call's taxon: the fragment is left to the host. */
#define KH_GPU_CALL_LEFT (UINT32_MAX - 1)     /* as KH_ON_HOST */
/* Meanwhile: a long fragment whose call its first parts do not decide. */
#define KH_GPU_CALL_OPEN (UINT32_MAX - 2)

/* Numbers that kernels count in device memory. */
enum {
	KH_GPU_AGAIN,                   /* fragments whose other seeds must be looked up, too */
	KH_GPU_REST,                    /* fragments that threads leave to warps */
	KH_GPU_REST_TAKEN,              /* of these and first parts, those that warps have begun */
	KH_GPU_PARTS_TAKEN,             /* the same of other parts */
	KH_GPU_FOUND,                   /* features in `found` */
	KH_GPU_UNCOUNTED,               /* fragments that a census leaves to the host */
	KH_GPU_UNCOUNTED_FOUND,         /* fragments whose taxa have no registers */
	KH_GPU_HOST,                    /* fragments left to the host */
	KH_GPU_UNCALLED                 /* fragments to be looked at by translated seeds */
};
#define KH_GPU_QUERY_COUNTS 64          /* bytes of them */

/* A claim of a part of a long fragment, and a part: n of them. */
#define KH_GPU_PART_CLAIMS KH_MATCH_PLACES
typedef struct kh_gpu_part_claim {
	uint32_t species_no;
	int32_t score;
	uint32_t matches, columns, hits, variable;
	uint32_t strain;                /* what taxon the species has here, if it is the best */
} kh_gpu_part_claim;

typedef struct kh_gpu_part {
	uint32_t kmers, n;
	kh_gpu_part_claim claim[KH_GPU_PART_CLAIMS];
	kh_kept kept;                   /* of a fragment's part number 0: what those are compared
					 * with that are compared later */
} kh_gpu_part;

/* Translated seeds in device memory, and kh_letter_of. */
typedef struct kh_gpu_translated {
	kh_translated seeds;
	uint32_t k;
	uint8_t letter[64];
} kh_gpu_translated;

typedef struct kh_gpu_query {
	kh_match_db db;                 /* the database */
	kh_rule rule;
	const uint64_t *bases;
	const uint32_t *amb;
	const kh_gpu_record *record;
	uint32_t n;                     /* fragments */
	uint32_t n_words;               /* of 32 bases */
	kh_gpu_order order;             /* of records */
	uint32_t calls_later;           /* the host may call fragments that have no call here */
	kh_call *call;
	kh_beside beside;               /* n of what is wanted beside calls */
	uint32_t *class_of;             /* n: classes in `census`, or NULL: there is none */
	kh_gpu_census census;
	uint32_t *counts;               /* KH_GPU_QUERY_COUNTS bytes, zero before */
	uint32_t *mark;                 /* n_words + 1: which k-mers are features */
	/* n each.  again: fragments to be compared by all seeds; then, in translate.cu, those
	 * without a call.  rest: those that are left to warps */
	uint32_t *again, *rest;
	kh_gpu_fetch fetch;             /* of the launch */
	kh_gpu_asked *asked;            /* 2 n: of each mate, if anything is fetched */
	/* fragments of several parts, and these */
	const kh_gpu_long *longs;       /* n_longs */
	const kh_gpu_slice *slice;      /* n_slices */
	uint32_t n_longs, n_slices;
	kh_gpu_part *part;              /* n_slices */
	/* Features found, wanted if `found` is not NULL.  had: which of the marked ones a fragment
	 * with a call has found.  Features that `counters` do not count, as their `set` is NULL or
	 * a taxon has no registers, have their keys in `found`; found_at: where those of each
	 * fragment begin, or KH_GPU_COUNTED. */
	uint32_t *had;                  /* n_words */
	kh_gpu_counters counters;
	uint64_t *found;
	uint32_t *found_at;             /* n */
	/* n, or NULL: not wanted.  Taxa or grades of fragments without a call, by translated seeds,
	 * KH_NO_TAXON, or KH_GPU_CALL_LEFT */
	uint32_t *genus;
	kh_gpu_translated translated;
} kh_gpu_query;

/* May fragment i, which has no call here, still get one?  Translated seeds say something of it, or
 * the host is to look at it.  Then the host counts it, as a call would take it from its class. */
static KH_HD int kh_gpu_called_later(const kh_gpu_query *q, uint32_t i)
{
	return q->calls_later && q->call[i].taxon == KH_NO_TAXON &&
	       (!q->genus || q->genus[i] != KH_NO_TAXON);
}

/* Up to KH_GPU_TOGETHER queries at once, of one database: their fragments, and parts of long ones,
 * are compared, and then looked at by translated seeds and counted, as far as each query
 * wants that.  They are parameters of kernels, which may have 32,764 bytes of
 * these, and 4096 before CUDA 12.1. */
#define KH_GPU_TOGETHER (CUDART_VERSION >= 12010 ? 16 : 3)
int kh_gpu_queries_run(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream);
/* match_plain.cu: the first of these steps, of one database whose text has no alleles. */
int kh_gpu_queries_match_plain(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream);
/* translate.cu: fragments without a call looked at by translated seeds, of those queries that want
 * that, when its kernels have been made ready on the current device. */
int kh_gpu_query_translate_prepare(void);
int kh_gpu_queries_translate(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream);
/* Makes its kernels ready on the current device; bytes of local memory that all its threads take
 * there at most. */
int kh_gpu_query_match_prepare(uint64_t *bytes);
int kh_gpu_query_match_prepare_plain(uint64_t *bytes);

/* --- fetch.cu: chunks of the host's memory ------------------------------------------ */
/* Makes its kernels ready on the current device. */
int kh_gpu_fetch_prepare(void);
/* Before kernels say which chunks they want, whose numbers begin anew, and then: these are
 * fetched. */
int kh_gpu_fetch_begin(const kh_gpu_fetch *f, cudaStream_t stream);
int kh_gpu_fetch_run(const kh_gpu_fetch *f, cudaStream_t stream);

/* --- census.cu: fragments by class --------------------------------------------------- */
/* Makes its kernel ready on the current device. */
int kh_gpu_census_prepare(void);
/* Counts the fragments of queries that have been compared, of those with a census. */
int kh_gpu_census_add(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream);
/* Adds the bits of n masks to others. */
int kh_gpu_census_join(uint32_t *mask, const uint32_t *other, uint64_t n, cudaStream_t stream);
/* found[t], of n targets: tracts of 2^shift[t] intervals that have a mask with a bit of own[t]. */
typedef struct kh_gpu_census_search {
	const uint32_t *mask;
	const uint64_t *interval;
	const uint32_t *own;
	const uint8_t *shift;
	uint32_t *found;
	uint32_t n;
} kh_gpu_census_search;
int kh_gpu_census_search_run(const kh_gpu_census_search *s, cudaStream_t stream);

/* --- counters.cu: features found, by taxon --------------------------------------------- */
/* Makes its kernel ready on the current device. */
int kh_gpu_counters_prepare(void);
/* Counts what the fragments of queries have found, of those with counters. */
int kh_gpu_counters_add(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
