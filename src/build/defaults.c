/* defaults.c - the parameters that a build chooses by itself: build.h */
#include <config.h>
#include "build/build.h"
#include "build/limit.h"
#include "index/seeds.h"
#include "kmer/text.h"

uint32_t kh_default_k(uint64_t bases)
{
	uint32_t k = 4;

	while (k < 18 && (UINT64_C(1) << 2 * (k - 4)) / 2 < bases)
		k++;
	if (bases > KH_BASES_18)
		k = 20;
	return k < KH_K_MIN ? KH_K_MIN : k;
}

uint32_t kh_default_stride(uint64_t bases)
{
	const uint64_t with_gaps = bases + bases / 8;
	uint32_t stride = KH_TEXT_WORD;

	while (stride < 64 && with_gaps / stride >> KH_SEED_BITS_MIN != 0)
		stride *= 2;
	while (stride < KH_TEXT_SPAN && with_gaps / stride >> KH_SEED_BITS_MAX != 0)
		stride *= 2;
	return stride;
}

/* Of 100000 k-mers, how many may have a seed. */
static uint64_t text_seeds(uint64_t bases, uint32_t stride)
{
	enum { OF_A_SLOT = 692 };

	return OF_A_SLOT * kh_seed_slots(kh_seed_bits((bases + bases / 64) / stride));
}

/* One k-mer in k - s + 1 is a syncmer, and k - s is even.  Seeds that are all syncmers find as many
 * reads as a fifteenth more of denser ones, of which some are left out. */
uint32_t kh_default_s(uint64_t bases, uint32_t k, uint32_t stride)
{
	const uint32_t each = (uint32_t)(100000 * 16 / 15 / text_seeds(bases, stride));

	return k >= 16 ? k - (each - 1) / 2 * 2 : k - 4;
}

/* Windows of 64 bases find more reads of 36 to 75 bases than those of 16, 32, 128 or 256: in longer
 * ones seeds are further apart here and there, and shorter ones keep a share less close to that of
 * the slots. */
uint32_t kh_default_minhash_stride(uint64_t bases)
{
	const uint32_t stride = kh_default_stride(bases);

	return stride < 64 ? 64 : stride;
}

uint32_t kh_default_minhash_s(uint64_t bases, uint32_t stride)
{
	const uint64_t n = text_seeds(bases, stride) * stride / 100000;

	return n < 1 ? 1 : n < KH_MINHASH_S_MAX ? (uint32_t)n : KH_MINHASH_S_MAX;
}

uint64_t kh_default_share(uint64_t bases, const kh_sampling *s)
{
	const bool minhash = s->scheme == KH_MINHASH;
	const uint64_t of = minhash ? s->stride : s->k - s->s + 1, kept = minhash ? s->s : 1;
	const uint64_t share = text_seeds(bases, s->stride) * of * KH_LIMIT_ALL / (100000 * kept);

	return share < KH_LIMIT_ALL ? share : KH_LIMIT_ALL;
}
