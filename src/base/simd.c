#include <config.h>
#include "base/simd.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

int kh_simd_most(void)
{
	static _Atomic(int) known = -1;                 /* not known yet */
	int most = atomic_load_explicit(&known, memory_order_relaxed);

	if (most < 0) {
		const char *s = getenv("KH_SIMD");

		most = s && strcmp(s, "none") == 0 ? 0 : s && strcmp(s, "avx2") == 0 ? 1 : 2;
		atomic_store_explicit(&known, most, memory_order_relaxed);
	}
	return most;
}
