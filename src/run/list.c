#include <config.h>
#include "run/list.h"

#include "run/digits.h"

static char *put_border(char *at, const char border[3])
{
	memcpy(at, border, 3);
	return at + 3;
}

/* Between two runs stands a blank, and behind ambiguous k-mers one more even at the end. */
char *kh_list_put(char *at, const kh_taxonomy *tax, const kh_k2_run *run, size_t n)
{
	if (n == 0)
		return put_border(at, "0:0");
	for (size_t i = 0; i < n; i++) {
		const uint32_t what = run[i].what;

		if (what == KH_K2_MATES || what == KH_K2_FRAMES) {
			at = put_border(at, what == KH_K2_MATES ? "|:|" : "-:-");
		} else {
			if (what == KH_K2_AMBIGUOUS)
				*at++ = 'A';
			else
				at = put_number(at, what == KH_NO_TAXON ? 0 : tax->taxid[what]);
			*at++ = ':';
			at = put_number(at, run[i].n);
		}
		*at = ' ';
		at += i + 1 < n || what == KH_K2_AMBIGUOUS;
	}
	return at;
}
