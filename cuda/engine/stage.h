/* stage.h - the input of a job as the kernels read it */
#ifndef KH_CUDA_ENGINE_STAGE_H
#define KH_CUDA_ENGINE_STAGE_H

#include "cuda/kernels/engine.h"
#include "seqio/feed.h"

/* Words of a fragment that was parsed on a device: of mates of 250 bases. */
#define KH_CUDA_PARSED_WORDS 16
/* No device: the host. */
#define KH_CUDA_HOST (-1)

/* Where the words of a job's packed bases, their masks, the records, its long fragments and their
 * parts lie behind one another. */
typedef struct kh_cuda_layout {
	bool parts;                     /* long fragments have parts */
	size_t words;                   /* their number; they come first */
	size_t n_longs, n_slices;
	size_t amb, rec, longs, slice, bytes;   /* offsets in bytes; the end */
} kh_cuda_layout;

/* parts: with room for as many parts as so many words can have. */
kh_cuda_layout kh_cuda_lay_out(size_t words, size_t records, bool parts);
/* Fills in the input of j, whose sides s are (kh_job_side_of), and the numbers of l: `bytes` is
 * then what has been used.  False: a record is too long for the kernels. */
bool kh_cuda_stage(char *to, kh_cuda_layout *l, const kh_job *j, const kh_job_side s[2]);
/* The order in which records are staged, or in which they were parsed. */
kh_gpu_order kh_cuda_order_of(const kh_job *j);
kh_gpu_order kh_cuda_order_of_parsed(const kh_parsed_there *t);
/* Bases to order of q, and its parts: the job's input, which has been copied to `in` on the
 * device. */
void kh_cuda_query_input(kh_gpu_query *q, const kh_job *j, const kh_cuda_layout *l,
			 const void *in);
/* The same for what was parsed there. */
void kh_cuda_query_parsed(kh_gpu_query *q, const kh_parsed_there *t);
/* The layout of a copy of it, without parts; no bytes: it is on this device.  And of what most
 * tasks have, or less. */
kh_cuda_layout kh_cuda_lay_out_parsed(const kh_parsed_there *t, int device);
kh_cuda_layout kh_cuda_lay_out_usual(void);
/* Copies it to `to`, if the layout has bytes: *t is there then, when the stream has come so far. */
int kh_cuda_copy_parsed(kh_parsed_there *t, const kh_cuda_layout *l, void *to, cudaStream_t stream,
			kh_err *err);

#endif
