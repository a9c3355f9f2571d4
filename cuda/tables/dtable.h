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
 * The GPUs are the members of a communicator (comm_gpu.h), of one process or several;
 * every call is made by all processes.  A part lies on each GPU: part[i] is of the i-th
 * local member, and so are its results, in the order of its queries.  Memory that is
 * given comes from cudaMalloc.  Calls come back when all local members are through; a
 * table is used by one thread at a time.
 *
 * Pairs, and keys of a query, are hashed, brought into the order of their bins, and
 * so of their owners, and sent, in chunks: one travels while the next is ordered.
 * The bins serve the owner as well, who does not bin again.
 */
#ifndef KH_DTABLE_H
#define KH_DTABLE_H

#include "../comm_gpu.h"
#include "table.h"

typedef struct kh_dtable kh_dtable;

typedef struct kh_dtable_config {
	const char *system;             /* "hashgraph", or a dynamic one of table.h */
	/* capacity: pairs a member; hashgraph: value_bits 0: keys alone; bins: of all members,
	 * more if a block could not build one; 0: choice. */
	kh_table_config table;
	int independent;
	unsigned chunks;                /* of an exchange, at most 16; 0: choice; 1: no overlap */
} kh_dtable_config;

/* What a local member has; work begins after what is in `stream`. */
typedef struct kh_dpart {
	const void *keys, *values;      /* values: of insert */
	size_t n;
	cudaStream_t stream;
} kh_dpart;

/* Where an operation's time goes, in this order; chunks that travel while others are
 * brought into order are in ORDER. */
enum kh_dphase {
	KH_DPHASE_HASH,                 /* hash values, and counts of their bins */
	KH_DPHASE_SUM,                  /* of the counts, over all members */
	KH_DPHASE_SPLIT,                /* hash ranges, and what goes where */
	KH_DPHASE_ORDER,                /* by owner */
	KH_DPHASE_MOVE,                 /* all-to-all, what is left of it */
	KH_DPHASE_TABLE,                /* build; count, intersect or retrieve */
	KH_DPHASE_BACK,                 /* answers to who asked, in the order asked */
	KH_DPHASES
};
const char *kh_dphase_name(enum kh_dphase p);

typedef struct kh_dtable_stats {
	unsigned members, chunks;
	uint64_t pairs, most;           /* of all members; of the one that has most */
	uint64_t bytes;                 /* of device memory, of the local members */
	/* Of the last operation, the longest of the local members: seconds a phase; from the
	 * first byte that travelled to the last; and bytes sent meanwhile to others, by the
	 * one that sent most. */
	double seconds[KH_DPHASES], wire;
	uint64_t wire_bytes;
} kh_dtable_stats;

/* `device` names the local members, as to kh_gpu_comm_open(); comm is borrowed. */
int kh_dtable_open(const kh_dtable_config *config, kh_gpu_comm *comm, const int *device,
		   size_t n, kh_dtable **d, kh_err *err);
void kh_dtable_close(kh_dtable *d);     /* NULL is allowed */

/* A hashgraph is built by one insert. */
int kh_dtable_insert(kh_dtable *d, const kh_dpart *part, kh_err *err);
/* counts[i][j]: values of key j of part i. */
int kh_dtable_count(kh_dtable *d, const kh_dpart *part, uint32_t *const *counts, kh_err *err);
/* The same, by a HashGraph of the queries whose rows meet the table's (the paper's query);
 * hashgraph only. */
int kh_dtable_join(kh_dtable *d, const kh_dpart *part, uint32_t *const *counts, kh_err *err);
/* Lists, which may take no more room than they are given: else KH_ENOMEM. */
int kh_dtable_retrieve(kh_dtable *d, const kh_dpart *part, const kh_lists *out, kh_err *err);
int kh_dtable_status(kh_dtable *d, kh_dtable_stats *stats, kh_err *err);

#endif
