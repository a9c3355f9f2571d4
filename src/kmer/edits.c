/* edits.c - two sequences aligned with the fewest edits: edits.h */
#include <config.h>
#include "kmer/edits.h"

#include <stdlib.h>
#include "base/mem.h"

/* A cost is 65536 for each edit and 1 for each gap. */
enum { EDIT = 1 << 16, OPEN = EDIT + 1, FIRST_ASIDE = 4 };
#define NEVER (UINT32_C(1) << 31)

/* The best alignment from a cell on may begin with a base that the read lacks, or that only it has;
 * if so it does, and gaps lie in front.  If a gap had better go on than end before a cell, one is
 * the best from there on, too, as to begin one costs least of all. */
enum { LACKS = 1, HAS = 2 };

void kh_edits_clear(kh_edits *e)
{
	free(e->read);
	free(e->text);
	free(e->cost);
	free(e->step);
	*e = (kh_edits) { .n = 0 };
}

int kh_edits_begin(kh_edits *e, size_t n, size_t m, kh_err *err)
{
	int rc = KH_GROW(e->read, e->cap_read, n + 1, err);

	if (!rc)
		rc = KH_GROW(e->text, e->cap_text, m + 1, err);
	e->n = n;
	e->m = m;
	return rc;
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Row i: what it costs to align the bases of the read from i on with those of the text from j on,
 * where j is on diagonal low + k.  best[k], and has[k] if the first base is one that only the read
 * has, are of the row behind it, and become those of this one. */
static void fill_row(const kh_edits *e, int64_t i, uint32_t *restrict best,
		     uint32_t *restrict has)
{
	const int64_t width = (int64_t)e->width, m = (int64_t)e->m, at = i + e->low;
	const int64_t first = at < 0 ? -at : 0, last = m - at < width - 1 ? m - at : width - 1;
	const uint8_t *text = e->text, read = e->read[i];
	uint8_t *restrict step = e->step + (size_t)(i * width);
	uint32_t right = NEVER, lacks = NEVER;          /* of j + 1 */

	for (int64_t k = last; k >= first; k--) {
		const uint32_t beside = best[k] + (read & text[at + k] ? 0 : EDIT);
		const uint32_t down = lesser(has[k - 1] + EDIT, best[k - 1] + OPEN);

		lacks = lesser(lacks + EDIT, right + OPEN);
		right = lesser(beside, lesser(lacks, down));
		has[k] = down;
		best[k] = right;
		step[k] = (uint8_t)((right == lacks) * LACKS | (right == down) * HAS);
	}
}

/* The cost of the best alignment on e->width diagonals from e->low on. */
static int fill(kh_edits *e, uint32_t *cost, kh_err *err)
{
	const size_t all = 2 * (e->width + 1);          /* k - 1 may be -1 */
	uint32_t *best, *has;
	int rc = KH_GROW(e->cost, e->cap_cost, all, err);

	if (!rc)
		rc = KH_GROW(e->step, e->cap_step, (e->n + 1) * e->width, err);
	if (rc)
		return rc;
	for (size_t k = 0; k < all; k++)
		e->cost[k] = NEVER;
	best = e->cost + 1;
	has = best + e->width + 1;
	/* behind the last bases are some that match, and cost nothing */
	e->read[e->n] = e->text[e->m] = UINT8_MAX;
	best[(int64_t)e->m - (int64_t)e->n - e->low] = 0;
	for (int64_t i = (int64_t)e->n; i >= 0; i--)
		fill_row(e, i, best, has);
	*cost = best[-e->low];
	return KH_OK;
}

int kh_edits_align(kh_edits *e, int64_t low, int64_t high, uint32_t most, uint32_t *edits,
		   kh_err *err)
{
	const uint32_t all = (uint32_t)(e->n < e->m ? e->m - e->n : e->n - e->m);
	uint32_t top, cost;
	int rc;

	e->i = e->j = 0;
	*edits = most;
	if (most <= all)
		return KH_OK;
	/* one that leaves the band has two edits more for each diagonal aside */
	top = lesser((most - 1 - all) / 2, KH_EDITS_ASIDE);
	for (uint32_t aside = lesser(FIRST_ASIDE, top);; aside = lesser(2 * aside, top)) {
		e->low = low - aside;
		e->width = (size_t)(high - low + 1) + 2 * (size_t)aside;
		rc = fill(e, &cost, err);
		if (rc)
			return rc;
		*edits = cost / EDIT;
		top = lesser(top, (*edits - all) / 2);
		if (aside >= top)
			return KH_OK;
	}
}

bool kh_edits_next(kh_edits *e, size_t *columns, int64_t *gap)
{
	const size_t first = e->i + e->j;

	*columns = 0;
	*gap = 0;
	while (e->i < e->n || e->j < e->m) {
		const int64_t k = (int64_t)e->j - (int64_t)e->i - e->low;
		const uint8_t s = e->step[e->i * e->width + (size_t)k];

		if (s & LACKS) {
			++*gap;
			e->j++;
		} else if (s & HAS) {
			--*gap;
			e->i++;
		} else if (*gap) {
			return true;
		} else {
			++*columns;
			e->i++;
			e->j++;
		}
	}
	return e->i + e->j > first;
}
