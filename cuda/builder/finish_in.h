/*
 * finish_in.h - the end of a build on one device: a wave of ranges
 *
 * wave.c		what a wave has on the device
 * finish_sort.c	gathers and sorts its pairs
 * again.c		makes them again
 * finish_exchange.c	before that, gives them to the devices that own their ranges
 * finish_encode.c	finds their keys, and finish_seeds.c makes images of them
 * finish_deliver.c	delivers these
 * finish.c		runs a wave a device at a time
 */
#ifndef KH_CUDA_BUILDER_FINISH_IN_H
#define KH_CUDA_BUILDER_FINISH_IN_H

#include "cuda/builder/builder_in.h"
#include "index/shard.h"

/* The pairs of a wave: gathered on side 0, sorted on either side. */
struct kh_wave_pairs {
	/* scratch: of the sort; sources: where they are gathered from */
	KH_GPU_BUFS(all, key[2], bin[2], scratch, sources);
	kh_gpu_buf at, hat;             /* first pair of each range: on the device, on the host */
	const uint64_t *bound;          /*   the same, in hat */
	kh_gpu_sort sort;
	int bits;                       /* of keys: one more if some are marked as dropped */
};

/* What bins mean, the same for all waves. */
struct kh_wave_tables {
	KH_GPU_BUFS(all, bins_first, bins_species);
};

/* What a range is for the file, and where it lies in the image. */
struct kh_wave_made {
	kh_seed_range seeds;
	uint64_t locations;             /* of kh_image */
	uint64_t at, bytes;             /* in the image */
	uint64_t lists;                 /* bytes of it in front of its lists */
};

/* The images made of the sorted pairs: ranges first .. next - 1 have one. */
struct kh_wave_images {
	unsigned first, next;
	struct kh_wave_made made[KH_RANGES];
	kh_gpu_encode e;
	kh_gpu_buf range, hrange, counts, hcounts;      /* h...: on the host */
	/* by key; scan: scratch */
	KH_GPU_BUFS(all, head, lead, len, scan, image);
};

/* The levels of lines that the image has. */
struct kh_wave_seeds {
	unsigned n;                     /* levels */
	kh_gpu_level level[KH_SEED_LEVELS];
	kh_gpu_level_range part[KH_SEED_LEVELS][KH_RANGES + 1];        /* as `parts` has them */
	/* key, value: of each level; key2, value2: for their sort; left: which are left over */
	KH_GPU_BUFS(all, key[KH_SEED_LEVELS], value[KH_SEED_LEVELS], key2, value2, left, scratch,
		    parts, at);
};

/* Images that are delivered, apart from their wave, which goes on. */
struct kh_wave_out {
	struct kh_cuda_owner *owner;
	cudaStream_t stream;
	cudaEvent_t ready[2];           /* one of two images that are copied has come */
	kh_gpu_buf image;
	struct kh_wave_made made[KH_RANGES];
	unsigned first, next;           /* ranges */
	uint64_t held;                  /* bytes of the image, as the budget counts them */
	bool busy;                      /* being delivered: it is the other thread's */
};

struct kh_wave {
	kh_builder *b;
	struct kh_cuda_owner *owner;
	const kh_finish *f;
	cudaStream_t stream;
	unsigned from, to;              /* ranges */
	uint64_t held;                  /* bytes of images that may not have been delivered yet */
	bool lacks;                     /* the last step had not the memory that it wanted: */
	kh_err why;
	struct kh_wave_pairs pairs;
	struct kh_wave_tables tables;
	struct kh_wave_images images;
	struct kh_wave_seeds seeds;
};

/* --- wave.c --- */
/* Opens a wave on the device of its owner, which becomes the current one. */
int kh_wave_open(struct kh_wave *w, kh_err *err);
void kh_wave_close(struct kh_wave *w);
/* Gives back its pairs and images, so that it can take ranges from .. to - 1. */
void kh_wave_reset(struct kh_wave *w, unsigned from, unsigned to);
/* Copies an array to the device without waiting, so p must stay unchanged. */
int kh_wave_put(struct kh_wave *w, kh_gpu_buf *to, const void *p, size_t bytes, kh_err *err);
/* Copies from the device to the host, and waits. */
int kh_wave_get(struct kh_wave *w, void *to, const void *from, size_t bytes, kh_err *err);
int kh_wave_wait(struct kh_wave *w, kh_err *err);
/* Makes room for n pairs on a side. */
int kh_wave_room(struct kh_wave *w, uint64_t n, int side, kh_err *err);

/* Gives back what is not needed any more, unless the budget has that much left: to give back tens
 * of gigabytes takes tens of milliseconds.  What is not needed when ... */
enum kh_wave_state {
	KH_WAVE_GATHERED,               /* ... pairs are in order: the store */
	KH_WAVE_SORTED                  /* ... they are sorted: their other side and the scratch */
};
void kh_wave_make_free(struct kh_wave *w, uint64_t bytes, enum kh_wave_state s);
/* Is the other side of the sorted pairs still there? */
bool kh_wave_has_side(const struct kh_wave *w);
/* What is known of ranges, images.hrange, to the device and back. */
int kh_wave_put_ranges(struct kh_wave *w, kh_err *err);
int kh_wave_get_ranges(struct kh_wave *w, kh_err *err);

/* --- finish_sort.c --- */
/* Gathers on side 0, in the order of tickets and with their final bins, the pairs that the store
 * of the owner has, or those of the ranges of the wave in the store of the host. */
int kh_wave_gather(struct kh_wave *w, kh_err *err);
/* Sorts by key, or, for the exchange, by range only; and finds the bounds of ranges. */
int kh_wave_sort(struct kh_wave *w, bool by_range, kh_err *err);

/* --- again.c --- */
/* The pairs of the wave's ranges to side 0. */
int kh_wave_sample_again(struct kh_wave *w, kh_err *err);

/* --- finish_encode.c --- */
/* Makes the images of as many ranges from `next` on as there is room for. */
int kh_wave_encode(struct kh_wave *w, kh_err *err);

/* --- finish_seeds.c --- */
/* Makes those of images.first .. next - 1, whose keys have been found; *bytes: what they have. */
int kh_wave_encode_seeds(struct kh_wave *w, uint64_t *bytes, kh_err *err);

/* --- finish_deliver.c --- */
int kh_wave_out_open(struct kh_wave_out *o, struct kh_cuda_owner *s, kh_err *err);
void kh_wave_out_close(struct kh_wave_out *o);
/* The images of the wave, which goes on without them. */
void kh_wave_take(struct kh_wave_out *o, struct kh_wave *w);
/* Gives them to the sink, in order, by way of two pinned buffers, and back to the device. */
int kh_wave_deliver(struct kh_wave_out *o, const kh_finish *f, kh_gpu_buf pinned[2], kh_err *err);

/* --- finish_exchange.c --- */
/* Of waves that have gathered their pairs, one of each owner: every wave gets the pairs of its own
 * ranges, which are those of its device in a cut of equal weights, and from .. to are set.
 * Nothing moves if the waves have near-equal numbers of pairs, or if a device has no room for what
 * would come: then *fits is false. */
int kh_waves_exchange(struct kh_wave *wave, unsigned n, bool *fits, kh_err *err);

#endif
