/*
 * dtable.h - one hash table over several GPUs
 *
 * Distributed: each key, with its values, is on one GPU.  "hashgraph" is multi-GPU
 * HashGraph (Tripathy, Green 2021, Alg. 2): the hash range is cut where the GPUs get
 * equal numbers of pairs, whatever the duplicates, and each has the HashGraph of its
 * range; the other tables are WarpCore's mode (Juenger et al. 2020, IV-E), a multisplit
 * by equal ranges of a hash, then one of table.h on each GPU.  Independent (WarpCore's
 * other mode): each GPU has a table of its own pairs, a query goes to all, the answers
 * are put together.
 *
 * The GPUs are the members of a communicator (gpu/comm.h).  A part lies on each GPU: part[i] is of
 * member i, and so are its results, in the order of its queries.  Memory that is given comes from
 * cudaMalloc.  A call returns when all members are done; only one thread at a time may use a table.
 *
 * Pairs, and keys of a query, are hashed, brought into the order of their bins, and so of their
 * owners, and sent, in chunks: one travels while the next is ordered. The owner uses the same
 * bins, and does not bin again.
 */
#ifndef KHT_DTABLE_H
#define KHT_DTABLE_H

#include "cuda/tables/comm.h"
#include "cuda/tables/table.h"

typedef struct kht_dtable kht_dtable;

typedef struct kht_dtable_config {
	const char *system; /* "hashgraph", or a dynamic one of table.h */
	/* capacity: pairs a member; hashgraph: value_bits 0: keys alone; bins: of all members,
	 * more if a block could not build one; 0: choice. */
	kht_table_config table;
	int independent;
	unsigned chunks; /* of an exchange, at most 16; 0: choice; 1: no overlap */
} kht_dtable_config;

/* What a member has; work begins after what is in `stream`. */
typedef struct kht_dpart {
	const void *keys, *values; /* values: of insert */
	size_t n;
	cudaStream_t stream;
} kht_dpart;

/* Where an operation's time goes, in this order; chunks that travel while others are
 * brought into order are in ORDER. */
enum kht_dphase {
	KHT_DPHASE_HASH,  /* hash values, and counts of their bins */
	KHT_DPHASE_SUM,   /* of the counts, over all members */
	KHT_DPHASE_SPLIT, /* hash ranges, and what goes where */
	KHT_DPHASE_ORDER, /* by owner */
	KHT_DPHASE_MOVE,  /* all-to-all, what is left of it */
	KHT_DPHASE_TABLE, /* build; count, intersect or retrieve */
	KHT_DPHASE_BACK,  /* answers to the member that asked, in the order asked */
	KHT_DPHASES
};
const char *kht_dphase_name(enum kht_dphase p);

typedef struct kht_dtable_stats {
	unsigned members, chunks;
	uint64_t pairs, most; /* of all members; of the one that has most */
	uint64_t bytes;       /* of device memory */
	/* Of the last operation, the longest of the members: seconds a phase; from the
	 * first byte that travelled to the last; and bytes sent meanwhile to others, by the
	 * one that sent most. */
	double seconds[KHT_DPHASES], wire;
	uint64_t wire_bytes;
} kht_dtable_stats;

/* `device`: as to kh_gpu_comm_open(); comm is borrowed. */
int kht_dtable_open(const kht_dtable_config *config, kh_gpu_comm *comm, const int *device, size_t n,
		    kht_dtable **d, kh_err *err);
void kht_dtable_close(kht_dtable *d); /* NULL is allowed */

/* A hashgraph is built by one insert. */
int kht_dtable_insert(kht_dtable *d, const kht_dpart *part, kh_err *err);
/* counts[i][j]: values of key j of part i. */
int kht_dtable_count(kht_dtable *d, const kht_dpart *part, uint32_t *const *counts, kh_err *err);
/* The same, by a HashGraph of the queries whose rows meet the table's (the paper's query);
 * hashgraph only. */
int kht_dtable_join(kht_dtable *d, const kht_dpart *part, uint32_t *const *counts, kh_err *err);
/* Lists, which may take no more room than they are given: else KH_ENOMEM. */
int kht_dtable_retrieve(kht_dtable *d, const kht_dpart *part, const kht_lists *out, kh_err *err);
int kht_dtable_status(kht_dtable *d, kht_dtable_stats *stats, kh_err *err);

#endif
