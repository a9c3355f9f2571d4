/* pieces.c - the features of pieces, and their checksums */
#include <config.h>
#include "build/pieces.h"

#include <stdbool.h>
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
		const kh_sampling_span span = { .bases = s->bases, .amb = s->amb, .from = p->at,
						.to = p->at + p->starts };
		uint32_t *bin = to->bin + to->n;
		const size_t n = kh_sampling_run(sampling, &span, to->key + to->n, bin);

		for (size_t k = 0; k < n; k++)          /* these were positions */
			bin[k] = p->bin + bin[k] / sampling->stride;
		to->n += n;
	}
	return KH_OK;
}

/* Is one of the bases from `at` up to `end` unknown? */
static bool any_unknown(const uint32_t *amb, uint64_t at, uint64_t end)
{
	const uint64_t first = at / 32, last = (end - 1) / 32;
	const uint32_t front = UINT32_MAX << at % 32, back = UINT32_MAX >> (31 - (end - 1) % 32);
	uint32_t any = first == last ? 0 : (amb[first] & front) | (amb[last] & back);

	if (first == last)
		return (amb[first] & front & back) != 0;
	for (uint64_t w = first + 1; w < last; w++)
		any |= amb[w];
	return any != 0;
}

/* What a bin of n known bases, a multiple of 16, adds. */
static uint64_t known_bin(const uint64_t *bases, uint64_t at, uint32_t n, uint64_t number)
{
	uint64_t h = kh_fmix64(number);

	for (uint32_t i = 0; i < n; i += 16)
		h = kh_fmix64(h ^ (kh_packed_bits(bases, at + i, 16) | UINT64_C(16) << 48));
	return h;
}

uint64_t kh_digest(const kh_block_pieces *s, const kh_piece *p, uint32_t stride)
{
	uint64_t sum = 0, at = p->at, end = p->at + p->bases;
	const bool plain = at < end && stride % 16 == 0 && !any_unknown(s->amb, at, end);

	for (uint32_t bin = p->local; at < end; bin++, at += stride) {
		uint64_t h, stop = end - at < stride ? end : at + stride;

		if (plain && stop - at == stride) {
			sum += known_bin(s->bases, at, stride, bin + UINT64_C(1));
			continue;
		}
		h = kh_fmix64(bin + UINT64_C(1));
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
