/* limit.c - the share of the features that makes a database of a given size: limit.h */
#include <config.h>
#include "build/limit.h"
#include "base/size.h"

#include "index/index.h"

enum {
	EMPTY = KH_RANGES * 64,         /* an index without features: a line a range */
	BUILDS_MAX = 8
};

void kh_limit_start(kh_limit *l, uint64_t estimate)
{
	/* An estimate may be wrong by some factor, but if it is far below the limit, all probably
	 * fit. */
	const bool fits = estimate > 0 && estimate <= l->bytes / 4;
	const bool all = l->bytes == 0 || (fits && l->most == KH_LIMIT_ALL);

	*l = (kh_limit) { .bytes = l->bytes, .most = l->most, .exceeds = l->most + 1 };
	l->share = all ? KH_LIMIT_ALL : KH_LIMIT_FIRST;
	l->clipped = l->share > l->most;
	l->share = l->clipped ? l->most : l->share;
}

/* What a file without features would have. */
static uint64_t rest_of(const kh_limit_size *built)
{
	return built->file - built->index + EMPTY;
}

/* The share whose database probably has the size of the limit, less a margin: the number of
 * features in a share varies by its square root, and lines are added in steps. */
static uint64_t predict(const kh_limit *l, const kh_limit_size *built)
{
	typedef unsigned __int128 wide;
	const uint64_t left = l->bytes - l->bytes / 128 - rest_of(built);
	const uint64_t used = built->index > EMPTY ? built->index - EMPTY : 1;
	wide share = (wide)l->share * left / used;
	unsigned root = 0;

	for (uint64_t n = built->features; n >= 4; n /= 4)
		root++;
	if (share > 64 * KH_LIMIT_ALL)
		share = 64 * KH_LIMIT_ALL;
	share -= root > 2 ? 2 * share >> root : share / 2;
	/* if nearly all features fit, all are worth a trial */
	if (share > KH_LIMIT_ALL - KH_LIMIT_ALL / 16)
		share = KH_LIMIT_ALL;
	return (uint64_t)share;
}

/* Have the features hardly any room, or none? */
static bool no_room(const kh_limit *l, const kh_limit_size *built)
{
	return rest_of(built) + l->bytes / 64 > l->bytes;
}

static int check_room(const kh_limit *l, const kh_limit_size *built, kh_err *err)
{
	if (!no_room(l, built))
		return KH_OK;
	return kh_fail(err, KH_EUSAGE, "--max-db-size %s is too small: targets, taxa and an "
		       "empty index need %s", kh_size_as_option(l->bytes).s,
		       kh_size_beside_option(rest_of(built), l->bytes).s);
}

bool kh_limit_is_tight(const kh_limit *l, const kh_limit_size *built)
{
	return l->bytes > 0 && (no_room(l, built) || predict(l, built) < KH_LIMIT_ALL / 4);
}

uint64_t kh_limit_roomy(const kh_limit *l, const kh_limit_size *built)
{
	kh_limit at = *l;
	uint64_t low = 1, high = UINT64_C(1) << 50;

	if (built->index < 2 * EMPTY)
		return 0;
	while (low < high) {
		at.bytes = low + (high - low) / 2;
		if (kh_limit_is_tight(&at, built))
			low = at.bytes + 1;
		else
			high = at.bytes;
	}
	return low;
}

int kh_limit_all(const kh_limit *l, const kh_limit_size *built, kh_limit_size *all, kh_err *err)
{
	const double rest = (double)(built->file - built->index);
	const double used = built->index > EMPTY ? (double)(built->index - EMPTY) : 0;
	const double empty = EMPTY < built->index ? EMPTY : (double)built->index;
	double times = (double)l->most / (double)l->share;
	int rc;

	if (l->bytes && rest + empty + used * times > (double)l->bytes) {
		if ((rc = check_room(l, built, err)))
			return rc;
		times = ((double)l->bytes - rest - empty) / used;
	}
	*all = (kh_limit_size) { .file = (uint64_t)(rest + empty + used * times + 0.5),
				 .features = (uint64_t)((double)built->features * times) };
	return KH_OK;
}

static void choose(kh_limit *l, const kh_limit_size *built)
{
	uint64_t share = predict(l, built);

	l->clipped |= share > l->most;
	share = share > l->most ? l->most : share;
	if (l->builds >= BUILDS_MAX) {  /* the best one so far is built once more */
		l->share = l->fits;
	} else if (share > l->fits && share < l->exceeds) {
		l->share = share;
	} else {
		l->clipped |= l->exceeds > l->most && l->most < KH_LIMIT_ALL;
		l->share = l->fits + (l->exceeds - l->fits) / 2;
	}
}

int kh_limit_next(kh_limit *l, const kh_limit_size *built, bool *keep, kh_err *err)
{
	const bool fits = built->file <= l->bytes, whole = l->share == l->most;
	const bool nearly = built->file >= l->bytes - l->bytes / 32;
	int rc;

	l->builds++;
	*keep = l->bytes == 0 || (fits && (whole || nearly || l->builds > BUILDS_MAX));
	l->clipped |= *keep && whole && !nearly && l->most < KH_LIMIT_ALL;
	if (*keep)
		return KH_OK;
	if (!fits && l->builds == 1 && l->share == KH_LIMIT_ALL) {
		/* All features were tried because the estimate was wrong.  The share is found as if
		 * there had been none, for an estimate must not decide what is in a database. */
		kh_limit_start(l, 0);
		return KH_OK;
	}
	if ((rc = check_room(l, built, err)))
		return rc;
	if (fits && l->share > l->fits)
		l->fits = l->share;
	if (!fits && l->share < l->exceeds)
		l->exceeds = l->share;
	choose(l, built);
	if (l->share == 0)
		return kh_fail(err, KH_EUSAGE,
			       "--max-db-size %s has no room for any features",
			       kh_size_as_option(l->bytes).s);
	kh_log(KH_INFO, "%s of at most %s: reading again, for %.2f %% of the features",
	       kh_size_beside_option(built->file, l->bytes).s, kh_size_as_option(l->bytes).s,
	       (double)l->share * 100 / (double)KH_LIMIT_ALL);
	return KH_OK;
}
