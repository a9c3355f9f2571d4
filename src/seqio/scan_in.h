/*
 * scan_in.h - the word of packed bases that is being filled, for code that packs many letters at
 * once
 */
#ifndef KH_SEQIO_SCAN_IN_H
#define KH_SEQIO_SCAN_IN_H

#include "seqio/scan.h"

/* The word that is being filled: its number w, and its r bases. */
struct kh_sink {
	const kh_packed *to;
	size_t w;
	unsigned r;
	uint64_t bases;
	uint32_t amb;
};

/* Goes on at base `at`; the bases before it in the same word are kept. */
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
