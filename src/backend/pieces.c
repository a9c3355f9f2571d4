/* pieces.c - the features of pieces, and the checksum of a stretch of a sequence */
#include <config.h>
#include "backend/pieces.h"

#include "base/mem.h"

int kh_pieces_features(kh_features *to, const kh_block_pieces *s, const kh_sampling *sampling,
		       kh_err *err)
{
	uint64_t bound = 0;
	int rc;

	to->n = 0;
	for (size_t i = 0; i < s->n; i++)
		bound += kh_sampling_bound(sampling, s->piece[i].starts);
	if ((rc = KH_GROW(to->key, to->cap_key, bound, err)) ||
	    (rc = KH_GROW(to->bin, to->cap_bin, bound, err)))
		return rc;
	for (size_t i = 0; i < s->n; i++) {
		const kh_piece *p = &s->piece[i];
		const kh_stretch stretch = { .bases = s->bases, .amb = s->amb, .from = p->at,
					     .to = p->at + p->starts };
		uint32_t *bin = to->bin + to->n;
		const size_t n = kh_sampling_run(sampling, &stretch, to->key + to->n, bin);

		for (size_t k = 0; k < n; k++)          /* these were positions */
			bin[k] = p->bin + bin[k] / sampling->stride;
		to->n += n;
	}
	return KH_OK;
}

uint64_t kh_digest(const kh_block_pieces *s, const kh_piece *p, uint32_t stride)
{
	uint64_t sum = 0, at = p->at, end = p->at + p->bases;

	for (uint32_t bin = p->local; at < end; bin++, at += stride) {
		uint64_t h = kh_fmix64(bin + UINT64_C(1)),
			 stop = end - at < stride ? end : at + stride;

		for (uint64_t i = at; i < stop; i += 16) {
			unsigned n = stop - i < 16 ? (unsigned)(stop - i) : 16;
			uint64_t amb = 0;

			for (unsigned j = 0; kh_packed_ambiguous(s->amb, i, n) && j < n; j++)
				amb |= (uint64_t)kh_packed_amb(s->amb, i + j) << j;
			h = kh_fmix64(h ^ (kh_packed_bits(s->bases, i, n) | amb << 32 |
					   (uint64_t)n << 48));
		}
		sum += h;
	}
	return sum;
}
