/* remote_in.h - what the files of remote/ have in common */
#ifndef KH_REMOTE_REMOTE_IN_H
#define KH_REMOTE_REMOTE_IN_H

#include <pthread.h>
#include "base/threads.h"
#include "remote/remote.h"

/* A job in the process that does it. */
typedef struct kh_remote_job {
	uint32_t number, use;           /* its place in kh_remote.job; how often it was taken */
	uint64_t id;                    /* of process 0 */
	bool own;                       /* it is a job of this process, 0, so nothing was copied */
	kh_task task;
	kh_job job;                     /* of a job that came as a message: */
	kh_block block[2];
	kh_record *rec;
	size_t cap_rec;
	void *message;                  /* the message that the blocks point into */
	uint64_t *out;                  /* the answer: id, calls, and candidates if wanted */
	struct kh_remote_job *next_idle;
} kh_remote_job;

/* A thread that takes messages. */
typedef struct kh_server {
	kh_remote *r;
	kh_tasks tasks;
	kh_distinct distinct;           /* .n == 0: not wanted */
} kh_server;

/* What process 0 knows of the work of one process. */
struct kh_member {
	unsigned threads, jobs;
};

struct kh_remote {
	kh_remote_options o;
	kh_compute compute;             /* of this process */
	const kh_db *db;
	unsigned self, size;
	kh_server *server;              /* o.on.threads */
	kh_monitor *m;
	pthread_mutex_t lock;           /* held for a few instructions */
	/* under the lock: */
	struct kh_member *member;
	kh_remote_job *idle, **job;
	size_t n_jobs, cap_jobs;
	unsigned stopping;              /* servers that have ended */
	/* process 0 */
	kh_threads *threads;
	uint32_t depth;                 /* tasks that a worker may have under way */
	kh_task_queue **queue;          /* by worker, for dispatch.c; NULL: closed */
};

/* serve.c: the loop of one server; a worker whose arg is the kh_remote. */
int kh_remote_server(void *arg, unsigned id, kh_err *err);
/* A job is done on the devices of this process: what a kh_server does about its tasks. */
int kh_remote_done(void *server, kh_task *t, kh_err *err);
/* Ends a job that is done: sends its calls to process 0, and frees the job. */
int kh_remote_finished(kh_remote *r, kh_remote_job *j, kh_err *err);

/* Messages contain numbers, never addresses. A process that gets a number back looks up what it
 * stands for, and checks that the process that answers was asked for it. */
static inline uint64_t kh_remote_ticket(uint32_t number, uint32_t use)
{
	return (uint64_t)use << 32 | number;
}

/* dispatch.c: the task that process `from` was given under this number, and has not done yet. */
kh_task *kh_dispatch_task(kh_remote *r, uint64_t id, unsigned from);
/* Says that all calls of the task have come. */
void kh_dispatch_done(kh_remote *r, uint64_t id);
void kh_dispatch_stop(kh_remote *r, const kh_err *e);

/* wire.c: a job as a message and back; what servers have counted. Messages are checked: any bytes
 * give either a failure or something that can be used. */
int kh_remote_pack(const kh_task *t, uint64_t id, void **p, size_t *n, kh_err *err);
/* Takes over m->p.  wanted: beside calls, as rule->candidates says. */
int kh_remote_unpack(kh_remote_job *j, kh_message *m, uint32_t wanted, kh_err *err);
/* Bytes of the calls of n fragments, and of their candidates. */
size_t kh_remote_calls_bytes(size_t n, bool candidates);
/* Takes the calls of a task of process 0 into t->call (and t->candidates); of db only
 * the header, the taxonomy, the targets and their bins are used. */
int kh_remote_unpack_calls(const kh_task *t, const kh_message *m, const kh_db *db,
			   const kh_rule *rule, kh_err *err);
int kh_remote_pack_distinct(const kh_distinct *s, void **p, size_t *n, kh_err *err);
int kh_remote_add_distinct(kh_distinct *s, const kh_message *m, kh_err *err);
/* The number at the start of a message that has one. */
int kh_remote_number(const kh_message *m, uint64_t *id, kh_err *err);

#endif
