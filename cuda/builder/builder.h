/* builder.h - the functions of the CUDA backend that build an index: backend.h says what each
 * does */
#ifndef KH_CUDA_BUILDER_H
#define KH_CUDA_BUILDER_H

#include "backend/backend.h"

int kh_cuda_builder_open(kh_builder **b, const kh_builder_options *o, kh_err *err);
int kh_cuda_builder_plan(kh_builder *b, uint64_t pairs, kh_plan *p, kh_err *err);
int kh_cuda_builder_add(kh_builder *b, unsigned worker, const kh_block_pieces *s, kh_err *err);
int kh_cuda_builder_finish(kh_builder *b, const kh_finish *f, kh_err *err);
void kh_cuda_builder_close(kh_builder *b);

/* Seconds that the steps of a build took on a device after everything had been read: waiting for
 * the last samples, putting pairs into the order of tickets, and by range for the exchange, the
 * exchange, sorting, encoding. */
typedef struct kh_cuda_times {
	double wait, gather, split, exchange, sort, encode;
	uint64_t pairs, bytes;          /* of the image */
} kh_cuda_times;
/* The times of device i of those that the builder was opened with. */
kh_cuda_times kh_cuda_builder_times(const kh_builder *b, unsigned i);

#endif
