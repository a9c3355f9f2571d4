/*
 * table.h - the GPU hash tables of the literature behind one C interface
 *
 * A table maps keys of 32 or 64 bits to values of 32 or 64 bits, one or many a key.
 * Keys, values and results are arrays in device memory; work goes to the caller's stream
 * and nothing waits for it, except kht_table_status() and the builds that say so (static
 * tables learn their size from the data; cuckoo looks whether it must start again).
 *
 *     kht_table_open("csr", &config, stream, &t, &err);
 *     kht_table_insert(t, &pairs, stream, &err);
 *     kht_table_status(t, stream, &stats, &err);       waits; tells what did not fit
 *     kht_table_retrieve(t, &keys, &lists, stream, &err);
 *     kht_table_close(t);
 *
 * What does not fit (a full table, a pool that ran dry, lists beyond the caller's room)
 * is counted on the device and comes back from kht_table_status() as KH_ENOMEM.
 *
 * Concurrency: calls on several streams may overlap if they only read, or if they all
 * insert (tables that can: KHT_TABLE_DYNAMIC); the caller orders all else.  Every bit
 * pattern is a legal key: those that a table uses as marks live in side lists.
 * Kernels that want the values of a key without a copy use views (views.cuh).
 */
#ifndef KHT_TABLE_H
#define KHT_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st *kht_stream; /* cudaStream_t */
typedef struct kht_table kht_table;

enum kht_layout { KHT_LAYOUT_DEFAULT, KHT_LAYOUT_PACKED, KHT_LAYOUT_AOS, KHT_LAYOUT_SOA };
enum kht_mapping { KHT_MAP_AUTO, KHT_MAP_ONE, KHT_MAP_MANY, KHT_MAP_QUAD };
enum kht_op { KHT_OP_SEARCH, KHT_OP_INSERT, KHT_OP_UPDATE, KHT_OP_DELETE };

/* What a table can do. */
enum {
	KHT_TABLE_MULTI = 1,   /* several values a key */
	KHT_TABLE_DYNAMIC = 2, /* more than one insert */
	KHT_TABLE_ERASE = 4,
	KHT_TABLE_MIXED = 8,      /* kht_table_mixed() and kht_table_clean() */
	KHT_TABLE_NO_VALUES = 16, /* values may be NULL; a value found is a count or 1 */
	KHT_TABLE_INEXACT = 32,   /* may report keys that were never inserted */
	KHT_TABLE_FIND = 64,      /* kht_table_find() */
	KHT_TABLE_JOIN = 128      /* kht_table_join() */
};

/* All zero but capacity and widths is a sensible table. */
typedef struct kht_table_config {
	uint64_t capacity;             /* pairs it must hold, below 2^32 */
	uint64_t distinct;             /* distinct keys expected; 0: capacity */
	uint64_t side;                 /* room for the values of a key that is a mark; 0: 1024 */
	uint64_t seed;                 /* of the hash functions */
	double load;                   /* keys a slot; 0: the table's own choice */
	unsigned key_bits, value_bits; /* 32 or 64 */
	unsigned group;                /* lanes that probe together: 1, 2 .. 32; 0: choice */
	unsigned window;               /* slots probed linearly before the second hash */
	enum kht_layout layout;
	double range;               /* HashGraph: pairs a hash value (the paper's C); 0: 1 */
	unsigned bins;              /* HashGraph V2, at least; 0: one a 4096 hash values */
	double growth;              /* BucketList: lambda; 0: 1.1 */
	unsigned first;             /* BucketList: s0; 0: 1 */
	uint64_t pool;              /* BucketList: values; DACHash: nodes; 0: choice */
	unsigned subtables, rounds; /* cuckoo: 2 to 4; longest chain of evictions */
	unsigned node;              /* DACHash: pairs a super node: 1, 2 .. 32; 0: 8 */
	unsigned hashes, bits;      /* Bloom: bits set a key; bits of memory a key */
	int reorder;                /* DACHash: reorder batches by hash value */
	unsigned combined;          /* DACHash: buckets a row of the reorder; 0: 256 */
	enum kht_mapping mapping;   /* DACHash; QUAD: four lanes a node of 8 packed pairs */
	double length;              /* DACHash: super nodes a bucket expected; 0: 0.5 */
	double threshold;           /* DACHash: the length that switches; 0: 0.6 */
	int direct;                 /* bucket64: never partition before insert */
} kht_table_config;

/* A batch of pairs to store; of keys to look for. */
typedef struct kht_kv {
	const void *keys, *values;
	size_t n;
} kht_kv;

typedef struct kht_keys {
	const void *keys;
	size_t n;
} kht_keys;

/* One value a key: values[i], or `missing` where there is none; found may be NULL. */
typedef struct kht_found {
	void *values;
	uint8_t *found;
	uint64_t missing;
} kht_found;

/* Lists in compressed rows: those of key i are values[offsets[i]] up to offsets[i + 1].
 * offsets has n + 1 places, values has room for `capacity`. */
typedef struct kht_lists {
	uint64_t *offsets;
	void *values;
	uint64_t capacity;
} kht_lists;

/* A batch of operations in any mix, each key at most once among the writers: values are
 * what to store for insert and update, and get what search finds, or `missing`. */
typedef struct kht_ops {
	const uint8_t *op; /* enum kht_op */
	const void *keys;
	void *values;
	size_t n;
	uint64_t missing;
} kht_ops;

typedef struct kht_table_stats {
	uint64_t bytes; /* of device memory that the table itself takes */
	uint64_t pairs; /* stored now; counters: distinct keys; Bloom: bits set */
	uint64_t slots;
	uint64_t failed;          /* pairs that did not fit, since open */
	uint64_t truncated;       /* values beyond a caller's room, since open */
	uint64_t restarts;        /* cuckoo: new functions */
	uint64_t pool_used, pool; /* BucketList, DACHash */
} kht_table_stats;

/* A table's operations; NULL: it has none such. */
typedef struct kht_table_fn {
	int (*insert)(kht_table *, const kht_kv *, kht_stream, kh_err *);
	int (*find)(kht_table *, const kht_keys *, const kht_found *, kht_stream, kh_err *);
	int (*count)(kht_table *, const kht_keys *, uint32_t *, kht_stream, kh_err *);
	int (*retrieve)(kht_table *, const kht_keys *, const kht_lists *, kht_stream, kh_err *);
	int (*fold)(kht_table *, const kht_keys *, uint64_t *, kht_stream, kh_err *);
	int (*join)(kht_table *, const kht_keys *, uint32_t *, kht_stream, kh_err *);
	int (*erase)(kht_table *, const kht_keys *, kht_stream, kh_err *);
	int (*mixed)(kht_table *, const kht_ops *, kht_stream, kh_err *);
	int (*clean)(kht_table *, kht_stream, kh_err *);
	/* Tables that take several inserts: starts to count what is stored, into the counter
	 * that kht_table_status() then reads; what is to be said of that and other counters. */
	int (*used)(kht_table *, kht_stream, kh_err *);
	void (*stats)(kht_table *, const unsigned long long *counters, kht_table_stats *);
	void (*view)(const kht_table *, void *view);
	void (*close)(kht_table *); /* what kht_take() did not take */
} kht_table_fn;

/* One system.  `open` gets a checked config with its defaults filled in. */
typedef struct kht_table_system {
	const char *name;
	const char *source; /* what it is, paper, section */
	unsigned can;       /* KHT_TABLE_* */
	double load;        /* the default */
	int (*open)(const kht_table_config *, kht_stream, kht_table **, kh_err *);
} kht_table_system;

/* All systems, ended by one with no name; the one of that name, or NULL. */
extern const kht_table_system kht_table_systems[];
const kht_table_system *kht_table_system_find(const char *name);

/* Makes an empty table on the current device, owned by the caller until kht_table_close().
 * All its memory is taken here, except the scratch of a call (a pool that the device's
 * tables share). */
int kht_table_open(const char *system, const kht_table_config *config, kht_stream stream,
		   kht_table **table, kh_err *err);
/* The same for a system that need not be among those above. */
int kht_table_open_system(const kht_table_system *s, const kht_table_config *config,
			  kht_stream stream, kht_table **table, kh_err *err);
/* The caller must have waited for the table's work.  NULL is allowed. */
void kht_table_close(kht_table *t);

unsigned kht_table_can(const kht_table *t);

/* Adds pairs.  Single-valued tables keep one of the values that a key gets in one batch,
 * and the later batch's otherwise. */
int kht_table_insert(kht_table *t, const kht_kv *pairs, kht_stream stream, kh_err *err);
int kht_table_find(kht_table *t, const kht_keys *keys, const kht_found *out, kht_stream stream,
		   kh_err *err);
/* counts[i]: values of key i. */
int kht_table_count(kht_table *t, const kht_keys *keys, uint32_t *counts, kht_stream stream,
		    kh_err *err);
/* Count, exclusive scan, copy. */
int kht_table_retrieve(kht_table *t, const kht_keys *keys, const kht_lists *out, kht_stream stream,
		       kh_err *err);
/* sums[i]: sum modulo 2^64 of the values of key i, with no copy of them. */
int kht_table_fold(kht_table *t, const kht_keys *keys, uint64_t *sums, kht_stream stream,
		   kh_err *err);
/* counts as kht_table_count(), by building a table of the queries (HashGraph
 * probe-new). */
int kht_table_join(kht_table *t, const kht_keys *keys, uint32_t *counts, kht_stream stream,
		   kh_err *err);
int kht_table_erase(kht_table *t, const kht_keys *keys, kht_stream stream, kh_err *err);
int kht_table_mixed(kht_table *t, const kht_ops *ops, kht_stream stream, kh_err *err);
/* Frees the room of deleted pairs. */
int kht_table_clean(kht_table *t, kht_stream stream, kh_err *err);
/* Waits for the stream.  KH_ENOMEM if anything did not fit; *stats is set also then, and
 * may be NULL. */
int kht_table_status(kht_table *t, kht_stream stream, kht_table_stats *stats, kh_err *err);
/* The view of the system and its widths: csr.cuh has that of csr, and so on. */
int kht_table_view(const kht_table *t, void *view, kh_err *err);

#ifdef __cplusplus
}
#endif
#endif
