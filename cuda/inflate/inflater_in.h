/* inflater_in.h - what inflater.c, batch.c and parser.c share */
#ifndef KH_CUDA_INFLATE_INFLATER_IN_H
#define KH_CUDA_INFLATE_INFLATER_IN_H

#include <pthread.h>
#include "cuda/kernels/gpu.h"
#include "cuda/inflate/inflate.h"
#include "io/inflater.h"

enum {
	SLOTS = KH_INFLATER_SLOTS, FRONT = KH_INFLATER_FRONT, CARRY = KH_INFLATER_CARRY,
	CHUNK = 4 << 20,
	PART = 1 << 20,         /* of a chunk: what is copied to a device at a time */
	ROOMS = KH_TUNE_ROOMS,
	/* text of a compressed byte, in a slot: more than gzip -9 makes of FASTQ */
	RATIO = 7
};

struct kh_inflate_chunk {                  /* free ones are a list */
	struct kh_inflate_chunk *next;
	cudaStream_t stream;
	kh_gpu_buf host;        /* CHUNK bytes, in large pages */
};

/* What kernels need beside slots. */
struct kh_inflate_room {
	unsigned files;         /* that are run in it */
	pthread_mutex_t run;    /* held while a batch is run: guards all below */
	cudaStream_t stream;
	cudaEvent_t done;
	KH_GPU_BUFS(all, counts, maybe, key, sorted, segment, stripe, unit, member, token, symbol,
		    map, windows, sort, host);
};

struct kh_inflate_device {
	int number;
	enum { NEW, READY, NEVER } state;
	unsigned files;
	uint32_t groups;
	uint64_t scratch;
	size_t slot;            /* bytes */
	struct kh_inflate_chunk *chunk;
	struct kh_inflate_room room[ROOMS];
	unsigned rooms;         /* that there is memory for */
};

struct kh_inflater {
	pthread_mutex_t mu;     /* guards the lists, and states and files of devices */
	struct kh_inflate_device *device;
	size_t n;
	uint64_t limit;         /* bytes of each that may be taken; 0: all */
	kh_inflater_file *spare;
	kh_inflater_parser *parser;     /* spare ones */
	size_t slot;            /* bytes; 0: as many as a device has room for */
};

struct kh_inflater_file {
	kh_inflater *z;
	struct kh_inflate_device *d;
	struct kh_inflate_room *room;
	kh_inflater_file *next;
	KH_GPU_BUFS(all, in0, in1, text0, text1, window0, window1);
	unsigned window;        /* the one in front of the next batch */
};

static inline uint32_t kh_inflate_cap_text(size_t slot)
{
	return (uint32_t)(RATIO * slot);
}

/* Rows of 32 tokens: four bits a token, and a quarter more for what each stripe has beside. */
static inline uint32_t kh_inflate_cap_row(size_t slot)
{
	return (uint32_t)((slot + FRONT) / 16 * 5 / 4 + (1 << 14));
}

static inline char *kh_inflate_in_of(const kh_inflater_file *f, unsigned slot)
{
	return slot ? f->in1.p : f->in0.p;
}

static inline char *kh_inflate_text_of(const kh_inflater_file *f, unsigned slot)
{
	return slot ? f->text1.p : f->text0.p;
}

/* inflater.c: bytes of this thread's device that may be taken. */
int kh_inflate_left(const kh_inflater *z, uint64_t *bytes, kh_err *err);

/* batch.c */
int kh_inflate_run(kh_inflater_file *f, kh_inflater_run *r, kh_err *err);

/* parser.c */
int kh_inflate_parser_open(kh_inflater_file *f, bool wants_names, kh_inflater_parser **p,
			   kh_err *err);
unsigned kh_inflate_parser_buffers(const kh_inflater_parser *p);
void kh_inflate_parser_close(kh_inflater_parser *p);
void kh_inflate_parsers_free(kh_inflater *z);
int kh_inflate_parse(kh_inflater_parser *p, kh_inflater_parse *x, kh_err *err);

#endif
