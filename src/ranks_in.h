/* ranks_in.h - what the parts of ranks share */
#ifndef KH_RANKS_IN_H
#define KH_RANKS_IN_H

#include "pipeline.h"
#include "ranks.h"
#include "shard.h"

enum {                                  /* channels */
	KH_CH_JOB = 1,                  /* rank 0 -> one that does it */
	KH_CH_CALLS,                    /* back */
	KH_CH_LOOKUP,                   /* who does a job -> an owner */
	KH_CH_LISTS,                    /* back */
	KH_CH_STOP,                     /* rank 0 -> all: there are no more jobs */
	KH_CH_END                       /* all -> rank 0: what was counted */
};

/* A job at the rank that does it. */
typedef struct kh_ranks_job {
	uint64_t id;                    /* of rank 0 */
	bool own;                       /* we are rank 0: id is the slot, nothing was copied */
	kh_task task;
	kh_job job;                     /* of a message: */
	kh_block block[2];
	kh_record *rec;
	size_t cap_rec;
	void *message;                  /* what the blocks point into */
	uint64_t *out;                  /* id, then the calls: to be posted */
	/* of an index in parts, by owner: */
	kh_asked asked;
	size_t *n_asked;
	kh_answer *part;
	void **lists;                   /* messages that part points into */
	unsigned waiting;               /* for so many of them */
	struct kh_ranks_job *next_idle, *next;
} kh_ranks_job;

/* One thread of those that take messages. */
typedef struct kh_server {
	kh_ranks *r;
	kh_lane *lane;                  /* of the rank's own backend; NULL: the index is in parts */
	kh_classifier *classifier;
	kh_sketches sketches;           /* .n == 0: not wanted */
	unsigned under_way;
} kh_server;

/* How one rank is doing, for rank 0. */
struct kh_member {
	unsigned threads, jobs;
};

struct kh_ranks {
	kh_ranks_options o;
	const kh_backend *be;           /* of this rank */
	kh_engine *engine;
	const kh_db *db;
	unsigned rank, size;
	kh_share share;
	bool devices;                   /* all ranks have some, which may share an index */
	uint8_t owner[KH_RANGES];       /* if sharded */
	kh_server *server;              /* o.threads */
	kh_monitor *m;
	/* under the monitor's lock */
	struct kh_member *member;
	kh_ranks_job *idle, *all;
	unsigned stopping;              /* servers that have come to their end */
	/* rank 0 */
	kh_crew *crew;
	kh_lane **dealing;              /* lanes of ranks_deal.c */
	size_t n_dealing, cap_dealing;
};

/* ranks_serve.c: the loop of one server; a worker of a crew whose arg is the kh_ranks. */
int kh_ranks_server(void *arg, unsigned id, kh_err *err);
/* A job is done: gives its calls to rank 0, and itself back. */
int kh_ranks_finished(kh_ranks *r, kh_ranks_job *j, kh_err *err);

/* ranks_shard.c: a job comes (its features are asked for), keys to be looked up, lists. */
int kh_shard_job(kh_server *s, kh_ranks_job *j, kh_err *err);
int kh_shard_lookup(kh_server *s, const kh_message *m, kh_err *err);
int kh_shard_lists(kh_server *s, kh_message *m, kh_err *err);         /* takes over m->p */
void kh_shard_clear(kh_ranks *r, kh_ranks_job *j);

/* ranks_deal.c: the calls of a task have come; no more will. */
void kh_deal_done(kh_ranks *r, uint64_t id);
kh_task *kh_deal_task(uint64_t id);
void kh_deal_stop(kh_ranks *r, const kh_err *e);

/* ranks_msg.c: a job as a message and back; what servers have counted. */
int kh_ranks_pack(const kh_task *t, uint64_t id, void **p, size_t *n, kh_err *err);
int kh_ranks_unpack(kh_ranks_job *j, kh_message *m, kh_err *err);      /* takes over m->p */
int kh_ranks_pack_sketches(const kh_sketches *s, void **p, size_t *n, kh_err *err);
int kh_ranks_add_sketches(kh_sketches *s, const kh_message *m, kh_err *err);

#endif
