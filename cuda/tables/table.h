/*
 * table.h - the GPU hash tables of the literature behind one C interface
 *
 * A table maps keys of 32 or 64 bits to values of 32 or 64 bits, one or many a key.
 * Keys, values and results are arrays in device memory; work goes to the caller's stream
 * and nothing waits for it, except kh_table_status() and the builds that say so (static
 * tables learn their size from the data; cuckoo looks whether it must start again).
 *
 *     kh_table_open("csr", &config, stream, &t, &err);
 *     kh_table_insert(t, &pairs, stream, &err);
 *     kh_table_status(t, stream, &stats, &err);       waits; tells what did not fit
 *     kh_table_retrieve(t, &keys, &lists, stream, &err);
 *     kh_table_close(t);
 *
 * What does not fit (a full table, a pool that ran dry, lists beyond the caller's room)
 * is counted on the device and comes back from kh_table_status() as KH_ENOMEM.
 *
 * Concurrency: calls on several streams may overlap if they only read, or if they all
 * insert (tables that can: KH_TABLE_DYNAMIC); the caller orders all else.  Every bit
 * pattern is a legal key: those that a table uses as marks live in side lists.
 * Kernels that want the values of a key without a copy use the views in spans.cuh.
 */
#ifndef KH_TABLE_H
#define KH_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include "msg.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st *kh_stream;          /* cudaStream_t */
typedef struct kh_table kh_table;

enum kh_layout { KH_LAYOUT_DEFAULT, KH_LAYOUT_PACKED, KH_LAYOUT_AOS, KH_LAYOUT_SOA };
enum kh_mapping { KH_MAP_AUTO, KH_MAP_ONE, KH_MAP_MANY, KH_MAP_QUAD };
enum kh_op { KH_OP_SEARCH, KH_OP_INSERT, KH_OP_UPDATE, KH_OP_DELETE };

/* What a table can do. */
enum {
	KH_TABLE_MULTI = 1,             /* several values a key */
	KH_TABLE_DYNAMIC = 2,           /* more than one insert */
	KH_TABLE_ERASE = 4,
	KH_TABLE_MIXED = 8,             /* kh_table_mixed() and kh_table_clean() */
	KH_TABLE_NO_VALUES = 16, /* values may be NULL; a value found is a count or 1 */
	KH_TABLE_INEXACT = 32,          /* may report keys that were never inserted */
	KH_TABLE_FIND = 64              /* kh_table_find() */
};

/* All zero but capacity and widths is a sensible table. */
typedef struct kh_table_config {
	uint64_t capacity;              /* pairs it must hold, below 2^32 */
	uint64_t distinct;              /* distinct keys expected; 0: capacity */
	uint64_t side; /* room for the values of a key that is a mark; 0: 1024 */
	uint64_t seed;                  /* of the hash functions */
	double load;                    /* keys a slot; 0: the table's own choice */
	unsigned key_bits, value_bits;  /* 32 or 64 */
	unsigned group; /* lanes that probe together: 1, 2 .. 32; 0: choice */
	unsigned window;                /* slots probed linearly before the second hash */
	enum kh_layout layout;
	double range; /* HashGraph: pairs a hash value (the paper's C); 0: 1 */
	unsigned bins;                  /* HashGraph V2, at least; 0: one a 4096 hash values */
	double growth;                  /* BucketList: lambda; 0: 1.1 */
	unsigned first;                 /* BucketList: s0; 0: 1 */
	uint64_t pool; /* BucketList: values; DACHash: nodes; 0: choice */
	unsigned subtables, rounds;     /* cuckoo: 2 to 4; longest chain of evictions */
	unsigned node; /* DACHash: pairs a super node: 1, 2 .. 32; 0: 8 */
	unsigned hashes, bits;          /* Bloom: bits set a key; bits of memory a key */
	int reorder;                    /* DACHash: reorder batches by hash value */
	unsigned combined;              /* DACHash: buckets a row of the reorder; 0: 256 */
	enum kh_mapping mapping; /* DACHash; QUAD: four lanes a node of 8 packed pairs */
	double length; /* DACHash: super nodes a bucket expected; 0: 0.5 */
	double threshold;               /* DACHash: the length that switches; 0: 0.6 */
	int direct;                     /* bucket64: never partition before insert */
} kh_table_config;

/* A batch of pairs to store; of keys to look for. */
typedef struct kh_kv {
	const void *keys, *values;
	size_t n;
} kh_kv;

typedef struct kh_keys {
	const void *keys;
	size_t n;
} kh_keys;

/* One value a key: values[i], or `missing` where there is none; found may be NULL. */
typedef struct kh_found {
	void *values;
	uint8_t *found;
	uint64_t missing;
} kh_found;

/* Lists in compressed rows: those of key i are values[offsets[i]] up to offsets[i + 1].
 * offsets has n + 1 places, values has room for `capacity`. */
typedef struct kh_lists {
	uint64_t *offsets;
	void *values;
	uint64_t capacity;
} kh_lists;

/* A batch of operations in any mix, each key at most once among the writers: values are
 * what to store for insert and update, and get what search finds, or `missing`. */
typedef struct kh_ops {
	const uint8_t *op;              /* enum kh_op */
	const void *keys;
	void *values;
	size_t n;
	uint64_t missing;
} kh_ops;

typedef struct kh_table_stats {
	uint64_t bytes;                 /* of device memory that the table itself takes */
	uint64_t pairs; /* stored now; counters: distinct keys; Bloom: bits set */
	uint64_t slots;
	uint64_t failed;                /* pairs that did not fit, since open */
	uint64_t truncated;             /* values beyond a caller's room, since open */
	uint64_t restarts;              /* cuckoo: new functions */
	uint64_t pool_used, pool;       /* BucketList, DACHash */
} kh_table_stats;

/* A table's operations; NULL: it has none such. */
typedef struct kh_table_fn {
	int (*insert)(kh_table *, const kh_kv *, kh_stream, kh_err *);
	int (*find)(kh_table *, const kh_keys *, const kh_found *, kh_stream, kh_err *);
	int (*count)(kh_table *, const kh_keys *, uint32_t *, kh_stream, kh_err *);
	int (*retrieve)(kh_table *, const kh_keys *, const kh_lists *, kh_stream,
			kh_err *);
	int (*fold)(kh_table *, const kh_keys *, uint64_t *, kh_stream, kh_err *);
	int (*join)(kh_table *, const kh_keys *, uint32_t *, kh_stream, kh_err *);
	int (*erase)(kh_table *, const kh_keys *, kh_stream, kh_err *);
	int (*mixed)(kh_table *, const kh_ops *, kh_stream, kh_err *);
	int (*clean)(kh_table *, kh_stream, kh_err *);
	int (*stats)(kh_table *, kh_stream, kh_table_stats *, kh_err *);
	void (*view)(const kh_table *, void *view);
} kh_table_fn;

/* One system.  `open` gets a checked config with its defaults filled in. */
typedef struct kh_table_system {
	const char *name;
	const char *source;             /* row of the list of systems, paper, section */
	unsigned can;                   /* KH_TABLE_* */
	double load;                    /* the default */
	int (*open)(const kh_table_config *, kh_stream, kh_table **, kh_err *);
} kh_table_system;

/* All systems, ended by one with no name; the one of that name, or NULL. */
extern const kh_table_system kh_table_systems[];
const kh_table_system *kh_table_system_find(const char *name);

/* Makes an empty table on the current device, owned by the caller until kh_table_close().
 * All its memory is taken here, except the scratch of a call (a pool that the device's
 * tables share). */
int kh_table_open(const char *system, const kh_table_config *config, kh_stream stream,
		  kh_table **table, kh_err *err);
/* The caller has waited for the table's work.  NULL is allowed. */
void kh_table_close(kh_table *t);

unsigned kh_table_can(const kh_table *t);

/* Adds pairs.  Single-valued tables keep one of the values that a key gets in one batch,
 * and the later batch's otherwise. */
int kh_table_insert(kh_table *t, const kh_kv *pairs, kh_stream stream, kh_err *err);
int kh_table_find(kh_table *t, const kh_keys *keys, const kh_found *out, kh_stream stream,
		  kh_err *err);
/* counts[i]: values of key i. */
int kh_table_count(kh_table *t, const kh_keys *keys, uint32_t *counts, kh_stream stream,
		   kh_err *err);
/* Count, exclusive scan, copy. */
int kh_table_retrieve(kh_table *t, const kh_keys *keys, const kh_lists *out,
		      kh_stream stream, kh_err *err);
/* sums[i]: sum modulo 2^64 of the values of key i, with no copy of them. */
int kh_table_fold(kh_table *t, const kh_keys *keys, uint64_t *sums, kh_stream stream,
		  kh_err *err);
/* counts as kh_table_count(), by building a table of the queries (HashGraph
 * probe-new). */
int kh_table_join(kh_table *t, const kh_keys *keys, uint32_t *counts, kh_stream stream,
		  kh_err *err);
int kh_table_erase(kh_table *t, const kh_keys *keys, kh_stream stream, kh_err *err);
int kh_table_mixed(kh_table *t, const kh_ops *ops, kh_stream stream, kh_err *err);
/* Gives the room of deleted pairs back. */
int kh_table_clean(kh_table *t, kh_stream stream, kh_err *err);
/* Waits for the stream.  KH_ENOMEM if anything did not fit; *stats is set also then, and
 * may be NULL. */
int kh_table_status(kh_table *t, kh_stream stream, kh_table_stats *stats, kh_err *err);
/* The view of spans.cuh that belongs to the system and its widths. */
int kh_table_view(const kh_table *t, void *view, kh_err *err);

#ifdef __cplusplus
}
#endif
#endif
