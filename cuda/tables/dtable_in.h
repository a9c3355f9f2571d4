/* dtable_in.h - what the files of a table over several GPUs share */
#ifndef KH_DTABLE_IN_H
#define KH_DTABLE_IN_H

#include <stdbool.h>
#include "dtable.h"
#include "dtable_kernels.h"
#include "../gpu.h"

#define KH_DCHUNKS  16
#define KH_DMEMBERS 64                  /* of one process */
#define KH_DTRY(x)                                                                       \
	do {                                                                             \
		int rc_ = (x);                                                           \
		if (rc_)                                                                 \
			return rc_;                                                      \
	} while (0)

/* What a member has memory for; all of it may travel, so it comes from cudaMalloc.  A
 * HashGraph's own: OFFSET, TABLE_KEYS, TABLE_VALUES and SPLIT; the others are of a call. */
enum kh_droom {
	KH_DROOM_OFFSET,
	KH_DROOM_TABLE_KEYS,
	KH_DROOM_TABLE_VALUES,
	KH_DROOM_SPLIT,                 /* first bin of each member */
	KH_DROOM_MIX,                   /* hash values, in the order given */
	KH_DROOM_KEYS,                  /* the same by bins, chunk by chunk: sent from here */
	KH_DROOM_VALUES,                /* their values; of queries, their numbers */
	KH_DROOM_GOT_KEYS,              /* what came, chunk by chunk, by sender */
	KH_DROOM_GOT_VALUES,
	KH_DROOM_COUNT,                 /* [chunk][bin] */
	KH_DROOM_SUM,
	KH_DROOM_MATRIX,                /* [from][to][chunk]: what goes where */
	KH_DROOM_UP,                    /* small things from the host */
	KH_DROOM_NUMBER,                /* 0, 1 .. */
	KH_DROOM_ANSWER,                /* counts, in the order of GOT_KEYS */
	KH_DROOM_BACK,                  /* the same where they were asked, in the order of KEYS */
	KH_DROOM_START,                 /* of the lists of ANSWER in LISTS */
	KH_DROOM_START_BACK,
	KH_DROOM_LISTS,
	KH_DROOM_LISTS_BACK,
	KH_DROOM_ROWS,                  /* queries as a HashGraph: offsets, keys, values */
	KH_DROOM_ROW_KEYS,
	KH_DROOM_ROW_VALUES,
	KH_DROOMS
};

/* Of one exchange and member, by [chunk][other member], and the end: where what goes begins,
 * how much it is; where what comes begins, how much; and where an answer to what went goes. */
typedef struct kh_dplan {
	size_t *at, *n, *from, *got, *back;
} kh_dplan;

typedef struct kh_dmember {
	int device;
	kh_table *t;                    /* a HashGraph's only lends scratch */
	kh_hashgraph_part part;
	cudaEvent_t given, phase[KH_DPHASES + 1], wire_from, wire_to;
	cudaEvent_t ordered[KH_DCHUNKS], moved[KH_DCHUNKS];
	kh_gpu_buf room[KH_DROOMS];
	kh_dplan keys, lists;
} kh_dmember;

struct kh_dtable {
	kh_table_config cfg;
	kh_gpu_comm *comm;              /* borrowed */
	bool hashgraph, independent, built;
	unsigned members, first, chunks;
	size_t n;                       /* local members */
	kh_dmember *m;
	cudaStream_t *work, *wire;
	unsigned count_log2, bins_log2; /* bins that are counted, that keys are ordered by */
	uint32_t rows;                  /* of a bin */
	uint64_t seed;
	unsigned key_bytes, value_bytes;
	uint64_t *held;                 /* pairs of each member */
	/* host, pinned: the matrix; the splits; small things of each local member */
	kh_gpu_buf host;
	kh_gpu_parcel *parcel;          /* [2][local]: the second go with the first */
	size_t *bytes;                  /* of the parcels: [2][local][4][member] */
	uint64_t wire_bytes;
	bool timed;
};

/* --- dtable_move.c -------------------------------------------------------------------- */

/* f for each local member, whose device is the current one. */
typedef int kh_deach(kh_dtable *d, size_t i, void *arg, kh_err *err);
int kh_dt_each(kh_dtable *d, kh_deach *f, void *arg, kh_err *err);
int kh_dt_room(kh_dmember *m, enum kh_droom r, size_t bytes, kh_err *err);
static inline void *kh_dt_at(const kh_dmember *m, enum kh_droom r, size_t byte)
{
	return (char *)m->room[r].p + byte;
}
/* Where chunk c of n begins, at a whole line of memory; c = chunks: the end.  Each is a little
 * smaller than the one before: nothing hides the way of the last. */
static inline size_t kh_dt_chunk(const kh_dtable *d, size_t n, unsigned c)
{
	const size_t all = (size_t)d->chunks * (2 * d->chunks + 1);
	const size_t before = (size_t)c * (3 * d->chunks + 1 - c);

	const size_t at = n / all * before + n % all * before / all;

	return c < d->chunks ? at & ~(size_t)63 : at;
}
/* Keys that came in all chunks before c. */
static inline size_t kh_dt_came(const kh_dtable *d, const kh_dplan *p, unsigned c)
{
	return p->from[(size_t)c * d->members];
}
uint64_t *kh_dt_matrix(const kh_dtable *d);     /* the host's */
uint32_t *kh_dt_splits(const kh_dtable *d);
void *kh_dt_up(const kh_dtable *d, size_t i);   /* for (chunks * members + 1) kh_run */
size_t kh_dt_host_bytes(const kh_dtable *d);
/* The end of a phase, and before the first the beginning. */
int kh_dt_mark(kh_dtable *d, size_t i, unsigned phase, kh_err *err);
int kh_dt_mark_all(kh_dtable *d, unsigned phase, kh_err *err);
/* Work waits for the parts, phases begin. */
int kh_dt_begin(kh_dtable *d, const kh_dpart *part, kh_err *err);
/* The phases HASH to SPLIT: hash values, the splits if they are not there yet, the
 * matrix on the host. */
int kh_dt_divide(kh_dtable *d, const kh_dpart *part, bool split, kh_err *err);
/* The same with no division: everything goes to all. */
int kh_dt_broadcast(kh_dtable *d, const kh_dpart *part, kh_err *err);
/* Adds up the matrices of the members, each of which has filled its row in device memory, and
 * brings the result to the host, which waits. */
int kh_dt_share(kh_dtable *d, kh_err *err);
/* Plans from the matrix. */
enum {
	KH_DPLAN_OWN = 1,               /* what stays is moved too */
	KH_DPLAN_TO_ALL = 2,
	KH_DPLAN_LISTS = 4,             /* of lists, not of keys */
	KH_DPLAN_BACK = 8               /* a move: answers, the other way */
};
void kh_dt_plan(kh_dtable *d, unsigned how);
/* What is moved, in pieces of `width` bytes; keys_of: from there, not from `send`. */
typedef struct kh_dmove {
	enum kh_droom send, recv;
	unsigned width, how;
	const kh_dpart *keys_of;
} kh_dmove;
/* Chunk c, in the streams `wire`; `with`: goes along, or NULL. */
int kh_dt_move(kh_dtable *d, unsigned c, const kh_dmove *v, const kh_dmove *with,
	       kh_err *err);
/* The wire goes on with chunk c when work has come here. */
int kh_dt_wire_after(kh_dtable *d, unsigned c, kh_err *err);
/* Work may go on with chunk c when the wire has come here; and it waits for that. */
int kh_dt_wire_done(kh_dtable *d, unsigned c, kh_err *err);
int kh_dt_work_after(kh_dtable *d, size_t i, unsigned c, kh_err *err);
/* Brings all chunks of the hash values into the order of their bins, and sends them; with the
 * parts' values of so many bytes, or with numbers, which are kept. */
typedef struct kh_dorder {
	const kh_dpart *part;
	unsigned value_bytes;
	bool numbers;
} kh_dorder;
int kh_dt_exchange(kh_dtable *d, const kh_dorder *o, unsigned how, kh_err *err);
/* Waits for all local members. */
int kh_dt_finish(kh_dtable *d, kh_err *err);
int kh_dt_times(kh_dtable *d, kh_dtable_stats *s, kh_err *err);

#endif
