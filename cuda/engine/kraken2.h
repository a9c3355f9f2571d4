/*
 * kraken2.h - the functions that classify with a database of Kraken 2: backend.h says what each
 * does
 */
#ifndef KH_CUDA_ENGINE_KRAKEN2_H
#define KH_CUDA_ENGINE_KRAKEN2_H

#include "classify/backend.h"

int kh_cuda_k2_engine_open(kh_engine **e, const kh_db *db, const kh_engine_options *o,
			   kh_err *err);
void kh_cuda_k2_engine_close(kh_engine *e);
int kh_cuda_k2_queue_open(kh_task_queue **l, kh_engine *e, unsigned worker, size_t block_size,
			  kh_err *err);
void kh_cuda_k2_queue_close(kh_task_queue *l);
int kh_cuda_k2_submit(kh_task_queue *l, kh_task *t, kh_err *err);
int kh_cuda_k2_collect(kh_task_queue *l, kh_task **t, kh_err *err);
bool kh_cuda_k2_takes_parsed(const kh_engine *e);

#endif
