#include <config.h>
#include "classify/distinct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* Registers of several taxa, one behind the other.  Each page that is written to first costs more
 * than what is written there: so rooms get larger, and large ones have large pages. */
struct kh_registers {
	struct kh_registers *before;
	uint8_t reg[];
};

enum { FIRST_ROOM = 4, LARGEST_ROOM = 4096 };   /* taxa */

int kh_distinct_init(kh_distinct *s, uint32_t n, kh_err *err)
{
	*s = (kh_distinct) { .n = n };
	s->found = kh_array(n, sizeof *s->found, err);
	s->reg = kh_array(n, sizeof *s->reg, err);
	return s->found && s->reg ? KH_OK : KH_ENOMEM;
}

void kh_distinct_clear(kh_distinct *s)
{
	for (struct kh_registers *room = s->room, *before; room; room = before) {
		before = room->before;
		free(room);
	}
	free(s->reg);
	free(s->found);
	*s = (kh_distinct) { .n = 0 };
}

static int make_room(kh_distinct *s, kh_err *err)
{
	const uint32_t n = s->in_room == 0		? FIRST_ROOM
			   : s->in_room < LARGEST_ROOM ? 4 * s->in_room : LARGEST_ROOM;
	struct kh_registers *room =
		kh_array_large(1, sizeof *room + (size_t)n * KH_HLL_SIZE, err);

	if (!room)
		return KH_ENOMEM;
	room->before = s->room;
	s->room = room;
	s->in_room = s->left = n;
	return KH_OK;
}

static uint8_t *registers(kh_distinct *s, uint32_t taxon, kh_err *err)
{
	if (!s->reg[taxon] && (s->left > 0 || !make_room(s, err))) {
		s->reg[taxon] = s->room->reg + (size_t)(s->in_room - s->left--) * KH_HLL_SIZE;
		memset(s->reg[taxon], 0, KH_HLL_SIZE);
	}
	return s->reg[taxon];
}

int kh_distinct_add(kh_distinct *s, uint32_t taxon, const uint64_t *key, size_t n, kh_err *err)
{
	uint8_t *reg = registers(s, taxon, err);

	if (!reg)
		return KH_ENOMEM;
	s->found[taxon] += n;
	for (size_t i = 0; i < n; i++) {
		const kh_hll x = kh_hll_of(key[i]);

		reg[x.at] = x.value > reg[x.at] ? (uint8_t)x.value : reg[x.at];
	}
	return KH_OK;
}

/* Nothing else names either array, so that many registers are compared at a time. */
static void take_greater(uint8_t *restrict reg, const uint8_t *restrict more)
{
	for (int i = 0; i < KH_HLL_SIZE; i++)
		reg[i] = more[i] > reg[i] ? more[i] : reg[i];
}

int kh_distinct_take(kh_distinct *s, uint32_t taxon, uint64_t found,
		     const uint8_t more[KH_HLL_SIZE], kh_err *err)
{
	uint8_t *reg = registers(s, taxon, err);

	if (!reg)
		return KH_ENOMEM;
	s->found[taxon] += found;
	take_greater(reg, more);
	return KH_OK;
}

int kh_distinct_join(kh_distinct *s, uint32_t into, const kh_distinct *from, uint32_t taxon,
		     kh_err *err)
{
	if (from->reg[taxon])
		return kh_distinct_take(s, into, from->found[taxon], from->reg[taxon], err);
	s->found[into] += from->found[taxon];
	return KH_OK;
}

uint64_t kh_distinct_count(const kh_distinct *s, uint32_t taxon)
{
	const double m = KH_HLL_SIZE, alpha = 0.7213 / (1 + 1.079 / m);
	const uint8_t *reg = s->reg[taxon];
	uint64_t sum = 0, zeros = 0;            /* sum: of 2^-register, in 2^-51: 0 above 51 */
	double estimate;

	if (!reg)
		return 0;
	for (int i = 0; i < KH_HLL_SIZE; i++) {
		sum += UINT64_C(1) << 51 >> reg[i];
		zeros += reg[i] == 0;
	}
	estimate = alpha * m * m / ldexp((double)sum, -51);
	if (estimate <= 2.5 * m && zeros > 0)
		estimate = m * log(m / (double)zeros);  /* linear counting */
	return (uint64_t)(estimate + 0.5);
}
