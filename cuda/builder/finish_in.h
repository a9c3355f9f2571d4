/*
 * finish_in.h - the end of a build on one device: a wave of ranges
 *
 * finish_sort.c	gathers and sorts its pairs
 * finish_exchange.c	before that, gives them to who owns them
 * finish_encode.c	makes images of them
 * finish_cuda.c	has a wave a device at a time, and hands the images over in order
 */
#ifndef KH_FINISH_IN_H
#define KH_FINISH_IN_H

#include "builder_in.h"
#include "shard.h"

struct kh_wave {
	kh_builder *b;
	struct kh_cuda_share *share;
	const kh_finish *f;
	cudaStream_t stream;
	unsigned from, to;              /* ranges */
	kh_gpu_sort sort;
	kh_gpu_buf key[2], bin[2], room;
	kh_gpu_buf at, hat;             /* bounds: device, host */
	uint64_t *bound;
	/* encoding: those of ranges first .. next - 1 are images */
	unsigned first, next;
	kh_gpu_encode e;
	kh_gpu_buf range, head, entry, lead, slot, len, several, many, counts, start,
		scan, image;
	kh_gpu_buf hrange, hcounts;     /* pinned */
	kh_gpu_buf bins_first, bins_taxon, tree_parent, tree_end;
	kh_gpu_buf remap_first, remap_to, parts;
	kh_gpu_remap remap;
	int bits;                       /* of keys: one more if some are marked as dropped */
	cudaEvent_t ready[2];           /* of what is handed over */
};

/* On the share's device, which is the current one from then on. */
int kh_wave_open(struct kh_wave *w, kh_err *err);
void kh_wave_close(struct kh_wave *w);
/* An array to the device; waits for nothing, p must stay. */
int kh_wave_put(struct kh_wave *w, kh_gpu_buf *to, const void *p, size_t bytes, kh_err *err);
/* Device to pinned host memory, and waits. */
int kh_wave_get(struct kh_wave *w, void *to, const void *from, size_t bytes, kh_err *err);
int kh_wave_wait(struct kh_wave *w, kh_err *err);
/* Frees what is not needed, unless that much memory is free anyway: to give back tens of
 * gigabytes takes tens of milliseconds.  `sorted`: key[] and bin[] too, but for the sorted. */
int kh_wave_make_free(struct kh_wave *w, uint64_t bytes, bool sorted, kh_err *err);

/* The pairs that the share's store has, or those of the wave's ranges in the host's store, to
 * key[0] and bin[0] in the order of tickets, with their final bins. */
int kh_wave_gather(struct kh_wave *w, kh_err *err);
/* Room for n pairs in key[i] and bin[i]. */
int kh_wave_room(struct kh_wave *w, uint64_t n, int i, kh_err *err);
/* By key, or for the exchange by range only; and the bounds of ranges. */
int kh_wave_sort(struct kh_wave *w, bool by_range, kh_err *err);
/* Images of as many ranges from `next` on as there is room for. */
int kh_wave_encode(struct kh_wave *w, kh_err *err);
/* A range that has an image. */
kh_range kh_wave_range(const struct kh_wave *w, unsigned p);

/* --- finish_exchange.c --- */
/* Of n waves, gathered, one of each share: every wave gets the pairs of its own ranges, which
 * are those of its member in a cut of equal weights, and from .. to are set.  Nothing moves if
 * this is the only rank and the waves have near-equal numbers of pairs. */
int kh_waves_exchange(struct kh_wave *wave, unsigned n, kh_err *err);
/* The host's store: each rank gets the pairs of the ranges of its devices, with their final
 * bins; *from and *to: which those are. */
int kh_store_exchange(kh_builder *b, const kh_remap *remap, unsigned *from, unsigned *to,
		      kh_err *err);

#endif
