#include <config.h>
#include "index/many.h"

#include <stdatomic.h>
#include <string.h>
#include "index/keys.h"
#include "base/simd.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "databases are written and mapped as they lie in memory, the lowest byte first"
#endif

/* Four words as one number. */
static inline kh_wide four(const uint32_t *w, uint32_t bits)
{
	const uint64_t low = w[0] | (uint64_t)w[1] << bits, high = w[2] | (uint64_t)w[3] << bits;

	return low | (kh_wide)high << (2 * bits);
}

/* The last words, fewer than eight. */
static void pack_rest(char *out, const uint32_t *word, unsigned n, uint32_t bits)
{
	uint64_t held = 0;              /* bits that are not written yet */
	unsigned n_held = 0;

	for (unsigned i = 0; i < n; i++) {
		held |= (uint64_t)word[i] << n_held;
		for (n_held += bits; n_held >= 8; n_held -= 8, held >>= 8)
			*out++ = (char)held;
	}
	if (n_held > 0)
		*out = (char)held;
}

/* Eight words of b bits are b bytes, so each eight are packed by themselves, without a chain of
 * operations from each word to the next.  Their second half begins within a byte if b is odd.
 * What is written, 16 bytes at a time, ends before the words that are still to be read. */
static void pack(uint32_t *word, uint64_t n, uint32_t bits)
{
	const unsigned odd = bits % 2 * 4, half = (4 * bits - odd) / 8;
	const uint64_t bytes = (n * bits + 7) / 8, padded = (n * bits + 31) / 32 * 4;
	char *out = (char *)word;
	uint64_t i = 0;

	if (bits == 32 || n == 0)
		return;
	for (; i + 8 <= n; i += 8, out += bits) {
		const kh_wide low = four(word + i, bits), high = four(word + i + 4, bits);
		const kh_wide more = high << odd | (odd ? low >> (4 * bits - 4) : 0);

		memcpy(out, &low, sizeof low);
		memcpy(out + half, &more, sizeof more);
	}
	pack_rest(out, word + i, (unsigned)(n - i), bits);
	memset((char *)word + bytes, 0, (size_t)(padded - bytes));
}

static void unpack(const void *p, uint64_t bit, uint32_t bits, uint32_t *word, size_t n)
{
	const uint32_t mask = (uint32_t)((UINT64_C(1) << bits) - 1);

	for (size_t i = 0; i < n; i++, bit += bits) {
		uint64_t x;

		memcpy(&x, (const char *)p + (bit >> 3), sizeof x);
		word[i] = (uint32_t)(x >> (bit & 7)) & mask;
	}
}

static bool keys(uint64_t *place, const uint32_t *rest, size_t n, uint32_t B, uint64_t least)
{
	const kh_divisor by_b = kh_divisor_of(B);
	uint64_t wrong = 0;

	for (size_t i = 0; i < n; i++) {
		const uint64_t key = kh_key_least(place[i], B, by_b) + rest[i];

		wrong |= (key * B >> 24) ^ place[i];
		wrong |= key >> 40 | (key < least);
		least = key + 1;
		place[i] = key;
	}
	return wrong == 0;
}

static void places(const uint64_t *key, size_t n, uint32_t B, uint64_t *place, uint32_t *rest)
{
	const kh_divisor by_b = kh_divisor_of(B);

	for (size_t i = 0; i < n; i++)
		place[i] = key[i] * B >> 24;
	for (size_t i = 0; rest && i < n; i++)
		rest[i] = kh_divided((uint32_t)(key[i] * B & 0xffffff), by_b);
}

static void homes(const kh_bucket *b, uint64_t number, uint64_t *place)
{
	for (int i = 0; i < KH_BUCKET_SLOTS; i++)
		place[i] = number << 16 | b->tag[i];
}

static bool move(uint32_t *word, size_t n, const kh_steps *steps, uint32_t end)
{
	uint32_t wrong = 0;

	for (size_t i = 0; i < n; i++) {
		const uint32_t x = word[i];

		wrong |= x >= end;
		for (uint32_t s = 0; s < steps->n; s++)
			word[i] += steps->by[s] & -(uint32_t)(x >= steps->at[s]);
	}
	return !wrong;
}

static const kh_many plain = { "plain", pack, unpack, keys, places, homes, move };

const kh_many *kh_many_plain(void)
{
	return &plain;
}

const kh_many *kh_many_get(void)
{
	static _Atomic(const kh_many *) chosen;
	const kh_many *best = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (!best) {
		best = kh_simd_most() == 2 ? kh_many_avx512() : NULL;
		best = best ? best : &plain;
		atomic_store_explicit(&chosen, best, memory_order_relaxed);
	}
	return best;
}
