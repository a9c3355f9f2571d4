/* test_lanes.c - sums of products, several side by side: plain, and in AVX2 */
#include "test.h"
#include "sample/lanes.h"
#include "sample/logs.h"

/* In place: a term begins one place before the sums, one where they do, the others elsewhere. */
static void check_lanes(kh_lanes_fn *sum_up, uint32_t n, uint32_t terms)
{
	kh_lanes is[12], was[12], other[2][12];
	kh_term term[KH_TERMS] = { { is, { { 0 } } }, { is + 1, { { 0 } } },
				   { other[0], { { 0 } } }, { other[1], { { 0 } } } };

	for (uint32_t i = 0; i < 12 * KH_LANES; i++) {
		is[i / 4].at[i % 4] = test_rand() % 4 ? test_rand() >> 32 : UINT32_MAX;
		other[0][i / 4].at[i % 4] = test_rand() % 4 ? test_rand() >> 32 : 0;
		other[1][i / 4].at[i % 4] = test_rand() >> (32 + test_rand() % 32);
	}
	for (uint32_t i = 0; i < KH_TERMS * KH_LANES; i++)
		term[i / 4].factor.at[i % 4] = test_rand() % (KH_EXP2_ONE / 4 + 1);
	memcpy(was, is, sizeof was);
	sum_up(is + 1, n, term, terms);
	for (uint32_t i = 0; i < 12; i++)
		for (uint32_t j = 0; j < KH_LANES; j++) {
			uint64_t sum = 0;

			for (uint32_t k = 0; k < terms && i > 0; k++) {
				const kh_lanes *x = k == 0 ? was : k == 1 ? was + 1 : term[k].x;

				sum += x[i - 1].at[j] * term[k].factor.at[j];
			}
			assert_int_equal(is[i].at[j], i > 0 && i <= n ? sum >> 24 : was[i].at[j]);
		}
}

TEST(test_lanes)
{
	for (uint32_t round = 0; round < 500; round++)
		for (uint32_t terms = 0; terms <= KH_TERMS; terms++) {
			check_lanes(kh_lanes_plain, round % 11, terms);
			if (kh_lanes_avx2())
				check_lanes(kh_lanes_avx2(), round % 11, terms);
		}
}
