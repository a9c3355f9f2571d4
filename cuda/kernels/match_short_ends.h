/*
 * match_short_ends.h - the ends of mates, compared by all threads of a warp (match_short.h)   [HD]
 *
 * Few of a warp's threads have a place at a time whose ends are to be compared, and that takes
 * longest: each end with sixteen ways to lie aside.  So all threads of the warp do it for one place
 * after the other: half of them for what goes on behind its best HSP, and half for what is in
 * front of it, each for one way to lie.  On the CPU, which the tests use, a thread is alone.
 */
#ifndef KH_CUDA_KERNELS_MATCH_SHORT_ENDS_H
#define KH_CUDA_KERNELS_MATCH_SHORT_ENDS_H

#include "classify/match_small.h"

/* What the threads of a warp share: a mate where it lies, its best HSP, and what goes on behind
 * that and in front of it. */
typedef struct kh_short_shared {
	kh_oriented read;
	kh_laid laid;
	int64_t at;
	kh_alignment fit, end[2];
} kh_short_shared;

/* Does this hold for a thread of the warp?  All of them ask. */
static KH_HD bool kh_short_any(bool x)
{
#ifdef __CUDA_ARCH__
	x = __any_sync(0xffffffff, x);
#endif
	return x;
}

#ifdef __CUDACC__
static __device__ void kh_short_share(const kh_laid *l, int64_t at, const kh_alignment *fit,
				      kh_short_shared *to)
{
	for (uint32_t w = 0; 32 * w < l->len; w++)
		if (32 * w < fit->from || 32 * (w + 1) > fit->to) {
			to->read.base[w] = l->read->base[w];
			to->read.unknown[w] = l->read->unknown[w];
		}
	to->laid = *l;
	to->laid.read = &to->read;
	to->at = at;
	to->fit = *fit;
}

/* What goes on behind the HSP, and in front of it, as kh_text_fit_aside says.  False: nothing
 * does. */
static __device__ bool kh_short_fit_sides(kh_short_shared *x)
{
	enum { WAYS = KH_ASIDES - 1 };          /* half of a warp */
	const uint32_t lane = threadIdx.x % 32, front = lane / WAYS, way = 1 + lane % WAYS;
	const kh_text_side side = kh_text_side_of(&x->fit, x->at, front, false);
	const int64_t at = x->at + kh_text_aside_of(way);
	kh_text_window w;
	const bool may = kh_text_next_window(&x->laid, &side, &w) &&
			 kh_text_may_score(&x->laid, at, w.from, w.from + w.n);
	kh_alignment end = { 0, 0, 0, 0, 0 };

	if (!__any_sync(0xffffffff, may))
		return false;
	if (may)
		end = kh_text_fit(&x->laid, at, w.from, w.from + w.n);
	end.score = kh_text_less_gap(end.score, way);
	const uint32_t mine = end.score << 8 | (WAYS - way);
	const uint32_t best = __reduce_max_sync(0xffffu << WAYS * front, mine);

	if (mine == best)
		x->end[front] = end;
	return true;
}
#endif

/* As kh_text_fit_ends, of a place of each thread that wants that; all threads of the warp call
 * it. */
static KH_HD void kh_short_fit_ends(const kh_laid *l, int64_t at, bool wanted, kh_alignment *fit,
				    kh_short_shared *shared)
{
#ifdef __CUDA_ARCH__
	for (uint32_t left = __ballot_sync(0xffffffff, wanted); left; left &= left - 1) {
		const bool mine = kh_lowest_bit(left) == threadIdx.x % 32;

		if (mine)
			kh_short_share(l, at, fit, shared);
		__syncwarp();
		const bool found = kh_short_fit_sides(shared);

		__syncwarp();
		for (int i = 0; i < 2 && mine && found; i++)
			if (shared->end[i].score > 0)
				kh_text_add_end(fit, &shared->end[i]);
		__syncwarp();
	}
#else
	(void)shared;
	if (wanted)
		kh_text_fit_ends(l, at, false, fit);
#endif
}

#endif
