/*
 * rounds.h - an index in parts, asked by all-to-all: features travel to the member that
 * owns their range, and lists come back; and an index on the host, asked in its own order
 *
 * All members go through the same rounds together, as sending is collective.  A round takes
 * the tasks that wait for a device and puts them through three steps, each in the
 * device's stream of that round:
 *
 *	start    the features of the tasks, sampled and put in order of owners; how many for each
 *	ask      features to their owners, which look them up; how many words of lists for each
 *	answer   lists to those that asked; tasks are decided with them, and their results fetched
 *
 * Before ask and answer the host must learn the numbers, so that it knows what to receive: one
 * thread of the process waits for them. While it does, other rounds are in other steps. Several
 * processes go through rounds until each has said in one that it is done; with one process, the
 * thread sleeps when there is nothing to do.
 *
 * Where the index lies on the host, each device is its own owner, of all ranges, and sorts its
 * features in place of sending them: a device knows the addresses of so few pages of the host's
 * memory that reads here and there take ten times as long as in order.  A round of more tasks has
 * more features a page.
 *
 * Nothing is left out or added up at the owner: a list has no bin twice, and the decision is made
 * on the device that asked. So calls are those of a whole index.
 */
#ifndef KH_CUDA_ENGINE_ROUNDS_H
#define KH_CUDA_ENGINE_ROUNDS_H

#include <pthread.h>
#include "cuda/gpu/comm.h"
#include "cuda/engine/engine_in.h"
#include "base/threads.h"

/* A task of a queue. It belongs to the rounds from kh_rounds_put until kh_rounds_wait has
 * returned. */
typedef struct kh_rounds_task {
	size_t device;                  /* of the engine's */
	kh_gpu_query q;                 /* as for one pass, with segment, without scratch */
	uint64_t features;              /* at most so many in its reads */
	cudaEvent_t staged;             /* recorded when its input is on the way */
	void *results;                  /* on the host: `bytes` from q.counts on */
	size_t bytes;
	bool done;
	struct kh_rounds_task *next;
} kh_rounds_task;

/* --- what queues do: rounds.c --------------------------------------------------- */
typedef struct kh_rounds kh_rounds;

/* Waits until all processes close; x may be NULL. */
void kh_rounds_close(kh_rounds *x);
/* e is open but for this; comm is taken over. */
int kh_rounds_open(kh_rounds **x, const kh_engine *e, kh_gpu_comm *comm,
		     kh_comm *processes, kh_err *err);
/* Bytes of a device that they take, when tasks are of short reads. */
uint64_t kh_rounds_bytes(const kh_engine *e);
void kh_rounds_put(kh_rounds *x, kh_rounds_task *t);
/* Waits until its results are there, or the exchange has failed. */
int kh_rounds_wait(kh_rounds *x, kh_rounds_task *t, kh_err *err);
/* To be held while memory is taken or given back and rounds are under way: freeing waits for the
 * device, which may itself wait for a device that the thread of the rounds has not served yet.
 * That holds for pinned memory of the host, too.  NULL: there are no rounds. */
void kh_rounds_hold(kh_rounds *x);
void kh_rounds_let_go(kh_rounds *x);

/* --- a round: round.c --------------------------------------------------------- */
enum { KH_ROUND_TASKS = 64 };           /* of a device, at most */
/* added to a number of features to say that this is the last round */
#define KH_ROUND_LAST (UINT64_C(1) << 32)

enum kh_round_state { KH_ROUND_IDLE, KH_ROUND_STARTED, KH_ROUND_ASKED, KH_ROUND_ANSWERED };

/* Numbers of a device that the host must know, a place for each member, on both. */
struct kh_counts {
	uint64_t *sent, *got;           /* features */
	/* words of lists: in its answers, and in the answers to it */
	uint64_t *words, *reply;
	uint32_t *features;             /* for the device alone: features of its tasks */
};

/* What a device has of a round. */
typedef struct kh_side {
	const struct kh_cuda_copy *c;
	kh_rounds_task *task[KH_ROUND_TASKS];
	unsigned n_tasks;
	uint64_t features;              /* of the tasks, at most */
	uint64_t n_home, n_asked;
	/* of its own tasks: features, in the order of owners, their places there, the answers; as
	 * an owner: features of all, their lists, what is sent of them; scratch of sorts, and
	 * numbers */
	KH_GPU_BUFS(all, key, out, place, order, len, before, word, list,
		    asked, loc, asked_len, asked_before, answer,
		    sorting, counts, host);
	struct kh_counts dev, at;       /* in counts, in host */
	kh_cuda_scratch scratch;
	size_t *extent;                 /* of two messages: four for each member */
} kh_side;

/* What is the same in all rounds. */
struct kh_members {
	const kh_engine *e;
	kh_gpu_comm *comm;
	unsigned n;                     /* of all processes */
	bool own;                       /* each reads all of the index itself, over the bus */
	uint64_t features;              /* of a round and device, if it is more than one task */
	uint64_t *one;                  /* 1 for each */
	pthread_mutex_t memory;         /* held while something is being sent */
};

/* How many features a round has of a device, if that is more than one task. */
uint64_t kh_round_features(const kh_engine *e);
/* m->comm is set. */
int kh_members_open(struct kh_members *m, const kh_engine *e, kh_err *err);
void kh_members_close(struct kh_members *m);

typedef struct kh_round {
	struct kh_members *m;
	enum kh_round_state state;
	kh_side *side;                  /* one for each of the engine's devices */
	cudaStream_t *stream;
	kh_gpu_message *message;        /* [2][device]: the second go with the first */
	bool last;                      /* this process has no more tasks */
	bool all_last;                  /* nor has any: known from ask on */
	bool quiet;                     /* no features came or went */
} kh_round;

/* Room for n elements; for one if n is 0, so that there is an address. */
static inline int kh_side_room(kh_gpu_buf *b, uint64_t n, size_t bytes, kh_err *err)
{
	return kh_gpu_room(b, (size_t)(n ? n : 1) * bytes, err);
}
/* Scratch of sorts and sums of n numbers, which want so many bytes; 0: they cannot be made. */
int kh_side_scratch(kh_side *s, size_t bytes, uint64_t n, kh_err *err);
/* Puts the features of device i in order of owners, or of the index (route.c). */
int kh_side_route(kh_round *r, size_t i, kh_err *err);

int kh_round_open(kh_round *r, struct kh_members *m, kh_err *err);
void kh_round_close(kh_round *r);
/* Samples the features of the tasks into `key`, and counts them in the counts of the device. */
int kh_round_sample(kh_round *r, kh_err *err);
/* Puts what is in `key` in order of owners, and tells them how many features will come. */
int kh_round_start(kh_round *r, kh_err *err);
int kh_round_ask(kh_round *r, kh_err *err);
int kh_round_answer(kh_round *r, kh_err *err);
/* Waits until the results of the tasks are there. */
int kh_round_finish(kh_round *r, kh_err *err);

#endif
