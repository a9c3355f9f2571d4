/* dtable_in.h - what the files of a table over several GPUs share */
#ifndef KHT_DTABLE_IN_H
#define KHT_DTABLE_IN_H

#include <stdbool.h>
#include "cuda/tables/dtable.h"
#include "cuda/tables/dtable_kernels.h"
#include "cuda/kernels/gpu.h"

#define KHT_DCHUNKS  16
#define KHT_DMEMBERS 64
#define KHT_DTRY(x)                                                                                \
	do {                                                                                       \
		int rc_ = (x);                                                                     \
		if (rc_)                                                                           \
			return rc_;                                                                \
	} while (0)

/* What a member has memory for; all of it may travel, so it comes from cudaMalloc.  A
 * HashGraph's own: OFFSET, TABLE_KEYS, TABLE_VALUES and SPLIT; the others are of a call. */
enum kht_droom {
	KHT_DROOM_OFFSET,
	KHT_DROOM_TABLE_KEYS,
	KHT_DROOM_TABLE_VALUES,
	KHT_DROOM_SPLIT,    /* first bin of each member */
	KHT_DROOM_MIX,      /* hash values, in the order given */
	KHT_DROOM_KEYS,     /* the same by bins, chunk by chunk: sent from here */
	KHT_DROOM_VALUES,   /* their values; of queries, their numbers */
	KHT_DROOM_GOT_KEYS, /* what came, chunk by chunk, by sender */
	KHT_DROOM_GOT_VALUES,
	KHT_DROOM_COUNT, /* [chunk][bin] */
	KHT_DROOM_SUM,
	KHT_DROOM_MATRIX, /* [from][to][chunk]: what goes where */
	KHT_DROOM_UP,     /* small things from the host */
	KHT_DROOM_NUMBER, /* 0, 1 .. */
	KHT_DROOM_ANSWER, /* counts, in the order of GOT_KEYS */
	KHT_DROOM_BACK,   /* the same where they were asked, in the order of KEYS */
	KHT_DROOM_START,  /* of the lists of ANSWER in LISTS */
	KHT_DROOM_START_BACK,
	KHT_DROOM_LISTS,
	KHT_DROOM_LISTS_BACK,
	KHT_DROOM_ROWS, /* queries as a HashGraph: offsets, keys, values */
	KHT_DROOM_ROW_KEYS,
	KHT_DROOM_ROW_VALUES,
	KHT_DROOMS
};

/* Of one exchange and member, by [chunk][other member], and the end: where what goes begins,
 * how much it is; where what comes begins, how much; and where an answer to what went goes. */
typedef struct kht_dplan {
	size_t *at, *n, *from, *got, *back;
} kht_dplan;

typedef struct kht_dmember {
	int device;
	kht_table *t; /* a HashGraph's only lends scratch */
	kht_hashgraph_part part;
	cudaEvent_t given, phase[KHT_DPHASES + 1], wire_from, wire_to;
	cudaEvent_t ordered[KHT_DCHUNKS], moved[KHT_DCHUNKS];
	kh_gpu_buf room[KHT_DROOMS];
	kht_dplan keys, lists;
} kht_dmember;

struct kht_dtable {
	kht_table_config cfg;
	kh_gpu_comm *comm; /* borrowed */
	bool hashgraph, independent, built;
	unsigned members, chunks;
	kht_dmember *m;
	cudaStream_t *work, *wire;
	unsigned count_log2, bins_log2; /* bins that are counted, that keys are ordered by */
	uint32_t rows;                  /* of a bin */
	uint64_t seed;
	unsigned key_bytes, value_bytes;
	uint64_t *held; /* pairs of each member */
	/* host, pinned: the matrix; the splits; small things of each member */
	kh_gpu_buf host;
	kh_gpu_message *message; /* [2][member]: the second go with the first */
	size_t *bytes;          /* of the messages: [2][member][4][member] */
	uint64_t wire_bytes;
	bool timed;
};

/* --- dtable_move.c ---------------------------------------------------------------- */

/* Calls f for each member, with its device as the current one. */
typedef int kht_deach(kht_dtable *d, size_t i, void *arg, kh_err *err);
int kht_dt_each(kht_dtable *d, kht_deach *f, void *arg, kh_err *err);
int kht_dt_room(kht_dmember *m, enum kht_droom r, size_t bytes, kh_err *err);
static inline void *kht_dt_at(const kht_dmember *m, enum kht_droom r, size_t byte)
{
	return (char *)m->room[r].p + byte;
}
/* Where chunk c of n begins, at a whole line of memory; c = chunks: the end.  Each is a little
 * smaller than the one before: nothing hides the way of the last. */
static inline size_t kht_dt_chunk(const kht_dtable *d, size_t n, unsigned c)
{
	const size_t all = (size_t)d->chunks * (2 * d->chunks + 1);
	const size_t before = (size_t)c * (3 * d->chunks + 1 - c);

	const size_t at = n / all * before + n % all * before / all;

	return c < d->chunks ? at & ~(size_t)63 : at;
}
/* Keys that came in all chunks before c. */
static inline size_t kht_dt_came(const kht_dtable *d, const kht_dplan *p, unsigned c)
{
	return p->from[(size_t)c * d->members];
}
uint64_t *kht_dt_matrix(const kht_dtable *d); /* the host's */
uint32_t *kht_dt_splits(const kht_dtable *d);
void *kht_dt_up(const kht_dtable *d, size_t i); /* for (chunks * members + 1) kht_run */
size_t kht_dt_host_bytes(const kht_dtable *d);
/* The end of a phase, and before the first the beginning. */
int kht_dt_mark(kht_dtable *d, size_t i, unsigned phase, kh_err *err);
int kht_dt_mark_all(kht_dtable *d, unsigned phase, kh_err *err);
/* Begins the phases: work waits for what is in the streams of the parts. */
int kht_dt_begin(kht_dtable *d, const kht_dpart *part, kh_err *err);
/* The phases HASH to SPLIT: hash values, the splits if they are not there yet, the
 * matrix on the host. */
int kht_dt_divide(kht_dtable *d, const kht_dpart *part, bool split, kh_err *err);
/* The same with no division: everything goes to all. */
int kht_dt_broadcast(kht_dtable *d, const kht_dpart *part, kh_err *err);
/* Adds up the matrices of the members, each of which has filled its row in device memory, and
 * brings the result to the host, which waits. */
int kht_dt_share(kht_dtable *d, kh_err *err);
/* Plans from the matrix. */
enum {
	KHT_DPLAN_OWN = 1, /* what stays is moved too */
	KHT_DPLAN_TO_ALL = 2,
	KHT_DPLAN_LISTS = 4, /* of lists, not of keys */
	KHT_DPLAN_BACK = 8   /* a move: answers, the other way */
};
void kht_dt_plan(kht_dtable *d, unsigned how);
/* What is moved, in pieces of `width` bytes; keys_of: from there, not from `send`. */
typedef struct kht_dmove {
	enum kht_droom send, recv;
	unsigned width, how;
	const kht_dpart *keys_of;
} kht_dmove;
/* Chunk c, in the streams `wire`; `with`: goes along, or NULL. */
int kht_dt_move(kht_dtable *d, unsigned c, const kht_dmove *v, const kht_dmove *with, kh_err *err);
/* Stream `wire` continues with chunk c when `work` has come to this point. */
int kht_dt_wire_after(kht_dtable *d, unsigned c, kh_err *err);
/* Marks the point that `wire` has to reach before `work` continues with chunk c; and makes `work`
 * wait for it. */
int kht_dt_wire_done(kht_dtable *d, unsigned c, kh_err *err);
int kht_dt_work_after(kht_dtable *d, size_t i, unsigned c, kh_err *err);
/* Brings all chunks of the hash values into the order of their bins, and sends them; with the
 * parts' values of so many bytes, or with numbers, which are kept. */
typedef struct kht_dorder {
	const kht_dpart *part;
	unsigned value_bytes;
	bool numbers;
} kht_dorder;
int kht_dt_exchange(kht_dtable *d, const kht_dorder *o, unsigned how, kh_err *err);
/* Waits until all members are done. */
int kht_dt_finish(kht_dtable *d, kh_err *err);
int kht_dt_times(kht_dtable *d, kht_dtable_stats *s, kh_err *err);

#endif
