/* backend_in.h - what the parts of the CUDA backend share: the functions of the table */
#ifndef KH_BACKEND_IN_H
#define KH_BACKEND_IN_H

#include "backend.h"

int kh_cuda_builder_open(kh_builder **b, const kh_builder_options *o, kh_err *err);
kh_plan kh_cuda_builder_plan(const kh_builder *b, uint64_t pairs);
int kh_cuda_builder_add(kh_builder *b, unsigned worker, const kh_sample *s, kh_err *err);
int kh_cuda_builder_digests(kh_builder *b, uint64_t *digest, kh_err *err);
int kh_cuda_builder_finish(kh_builder *b, const kh_finish *f, kh_err *err);
void kh_cuda_builder_close(kh_builder *b);

int kh_cuda_engine_open(kh_engine **e, const kh_db *db, const kh_engine_options *o,
			kh_err *err);
void kh_cuda_engine_close(kh_engine *e);
int kh_cuda_lane_open(kh_lane **l, kh_engine *e, unsigned worker, size_t block_size,
		      kh_err *err);
void kh_cuda_lane_close(kh_lane *l);
int kh_cuda_submit(kh_lane *l, kh_task *t, kh_err *err);
int kh_cuda_collect(kh_lane *l, kh_task **t, kh_err *err);
#define KH_CUDA_DEPTH 2

/* Seconds that the steps of a build took on a device when all had been read: waiting for the
 * last samples, bringing pairs into the order of tickets, by range for the exchange,
 * the exchange, sorting, encoding. */
typedef struct kh_cuda_times {
	double wait, gather, split, exchange, sort, encode;
	uint64_t pairs, bytes;          /* of the image */
} kh_cuda_times;
/* Of device i of those that the builder was opened with. */
kh_cuda_times kh_cuda_builder_times(const kh_builder *b, unsigned i);
/* For the bench: seconds of the classification kernels on a task, up to a part (kernels.h). */
int kh_cuda_query_time(kh_lane *l, kh_task *t, int part, double *seconds, kh_err *err);
/* The database on the lane's device. */
struct kh_gpu_index;
const struct kh_gpu_index *kh_cuda_lane_index(const kh_lane *l);

#endif
