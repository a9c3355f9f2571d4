/*
 * scan_in.h - packed bits on their way to the arrays, for what packs many letters at a time
 */
#ifndef KH_SEQIO_SCAN_IN_H
#define KH_SEQIO_SCAN_IN_H

#include "seqio/scan.h"

/* The word that is being filled: its number, how many bases it has, and these. */
struct kh_sink {
	const kh_packed *to;
	size_t w;
	unsigned r;
	uint64_t bases;
	uint32_t amb;
};

/* Goes on behind base at - 1, keeping what is before `at` in the same word. */
static inline struct kh_sink kh_sink_at(const kh_packed *to, uint64_t at)
{
	struct kh_sink k = { .to = to, .w = at >> 5, .r = at & 31 };

	if (k.r) {
		k.bases = to->bases[k.w] & ((UINT64_C(1) << 2 * k.r) - 1);
		k.amb = to->amb[k.w] & ((UINT32_C(1) << k.r) - 1);
	}
	return k;
}

static inline void kh_sink_end(const struct kh_sink *k)
{
	k->to->bases[k->w] = k->bases;
	k->to->amb[k->w] = k->amb;
}

#endif
