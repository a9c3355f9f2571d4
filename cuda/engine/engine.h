/*
 * engine.h - the functions of the CUDA backend that classify: backend.h says what each does
 *
 * Example: index and text have 100 GB, and each of two GPUs has room for 70.  So neither can have
 * all of it: it is cut into 187 tiles of 512 MiB (index/shares.h), of which the first GPU has 93,
 * and each reads the other one's.  With room for 120 GB, each would have all.  With one GPU of 70
 * GB, the tiles that it has no room for are on the host.
 */
#ifndef KH_CUDA_ENGINE_H
#define KH_CUDA_ENGINE_H

#include "classify/backend.h"

/* Tasks of a queue under way: of the rate of plain single reads on an H200 with 16 threads, 2 make
 * .95, and 4 as much as 3; each takes 8 MB of pinned memory more a thread. */
#define KH_CUDA_DEPTH 3
#define KH_CUDA_BLOCK_SIZE ((size_t)2 << 20)    /* bytes of text of the usual block */

int kh_cuda_engine_open(kh_engine **e, const kh_db *db, const kh_engine_options *o,
			kh_err *err);
void kh_cuda_engine_close(kh_engine *e);
int kh_cuda_queue_open(kh_task_queue **l, kh_engine *e, unsigned worker, size_t block_size,
		      kh_err *err);
void kh_cuda_queue_close(kh_task_queue *l);
int kh_cuda_submit(kh_task_queue *l, kh_task *t, kh_err *err);
int kh_cuda_collect(kh_task_queue *l, kh_task **t, kh_err *err);
bool kh_cuda_takes_parsed(const kh_engine *e);
int kh_cuda_census_open(kh_census **c, kh_engine *e, const kh_census_options *o, kh_err *err);
int kh_cuda_census_read(kh_census *c, unsigned bank, kh_team *team, kh_census_bank *p, kh_err *err);
int kh_cuda_census_search(kh_census *c, const kh_census_search *s, kh_err *err);
void kh_cuda_census_close(kh_census *c);
int kh_cuda_counters_open(kh_counters **c, kh_engine *e, uint32_t taxa, kh_err *err);
int kh_cuda_counters_read(kh_counters *c, kh_distinct *to, kh_err *err);
void kh_cuda_counters_close(kh_counters *c);

#endif
