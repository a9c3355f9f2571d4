/* test_join.c - which sample a worker joins that has none */
#include "test.h"
#include "run/slots.h"

enum { N = 4, NONE = -1 };

/* A sample: 'j' may be joined, 'o' is being opened, '-' neither; and its workers. */
struct row {
	const char *slots;
	unsigned each;
	int want;
};

static const struct row row[] = {
	{ "-0 -0 -0 -0", 2, NONE },
	{ "-3 -1 -0 -0", 2, NONE },     /* all their blocks are taken */
	{ "o1 o1 o1 o1", 2, NONE },
	{ "-1 j1 -0 -0", 2, 1 },
	{ "j3 j2 j2 j4", 2, 1 },        /* the fewest workers, the first of those */
	{ "j9 -0 -0 -0", 2, 0 },        /* the last sample has all workers */
	{ "o1 j1 o1 o1", 2, 1 },        /* less than each is to have */
	{ "o1 j2 o1 o1", 2, NONE },     /* as many: the others will be there soon */
	{ "o1 j2 o1 j1", 2, 3 },
	{ "o1 j3 o1 o1", 4, 1 },
	{ "o1 j4 o1 o1", 4, NONE },
	{ "o1 j2 -2 -2", 1, NONE },
	{ "o2 j2 -0 -0", 2, 1 },        /* that one would have no fewer */
	{ "o3 o2 j2 -0", 2, 2 },
};

TEST(test_rule)
{
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		static kh_slot slot[N];

		for (int k = 0; k < N; k++) {
			const char kind = row[i].slots[3 * k];

			slot[k] = (kh_slot) { .used = true,
							 .opening = kind == 'o',
							 .joinable = kind == 'j' };
			slot[k].workers = (unsigned)(row[i].slots[3 * k + 1] - '0');
		}
		const kh_slot *to = kh_slot_to_join(slot, N, row[i].each);
		const int got = to ? (int)(to - slot) : NONE;
		if (got != row[i].want)
			fail_msg("%s, %u each: joins %d, expected %d", row[i].slots, row[i].each,
				 got, row[i].want);
	}
}
