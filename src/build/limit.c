/* limit.c - the share of the features that makes a database of a given size: limit.h */
#include <config.h>
#include "build/limit.h"

#include <inttypes.h>
#include "index/index.h"

enum {
	EMPTY = KH_RANGES * 2 * sizeof(kh_bucket),      /* an index without features */
	BUILDS_MAX = 8
};

void kh_limit_start(kh_limit *f, uint64_t estimate)
{
	/* An estimate may be wrong by some factor, but if it is far below the limit, all probably
	 * fit. */
	const bool fits = estimate > 0 && estimate <= f->bytes / 4;
	const bool all = f->bytes == 0 || (fits && f->most == KH_LIMIT_ALL);

	*f = (kh_limit) { .bytes = f->bytes, .most = f->most, .exceeds = f->most + 1 };
	f->share = all ? KH_LIMIT_ALL : KH_LIMIT_FIRST;
	f->clipped = f->share > f->most;
	f->share = f->clipped ? f->most : f->share;
}

/* The share whose database probably has the size of the limit, less a margin: the number of
 * features in a share varies by its square root, and buckets grow in steps. */
static uint64_t predict(const kh_limit *f, const kh_limit_size *built)
{
	typedef unsigned __int128 wide;
	const uint64_t rest = built->file - built->index + EMPTY;
	const uint64_t left = f->bytes - f->bytes / 128 - rest;
	const uint64_t used = built->index > EMPTY ? built->index - EMPTY : 1;
	wide share = (wide)f->share * left / used;
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

kh_limit_size kh_limit_all(const kh_limit *f, const kh_limit_size *built)
{
	const double rest = (double)(built->file - built->index);
	const double used = built->index > EMPTY ? (double)(built->index - EMPTY) : 0;
	const double empty = EMPTY < built->index ? EMPTY : (double)built->index;
	double times = (double)f->most / (double)f->share;

	if (f->bytes && rest + empty + used * times > (double)f->bytes)
		times = ((double)f->bytes - rest - empty) / used;
	if (times < 0)                  /* nothing fits, which the build is going to say */
		times = 0;
	return (kh_limit_size) { .file = (uint64_t)(rest + empty + used * times + 0.5),
				 .features = (uint64_t)((double)built->features * times) };
}

static void choose(kh_limit *f, const kh_limit_size *built)
{
	uint64_t share = predict(f, built);

	f->clipped |= share > f->most;
	share = share > f->most ? f->most : share;
	if (f->builds >= BUILDS_MAX) {  /* the best one so far is built once more */
		f->share = f->fits;
	} else if (share > f->fits && share < f->exceeds) {
		f->share = share;
	} else {
		f->clipped |= f->exceeds > f->most && f->most < KH_LIMIT_ALL;
		f->share = f->fits + (f->exceeds - f->fits) / 2;
	}
}

int kh_limit_next(kh_limit *f, const kh_limit_size *built, bool *keep, kh_err *err)
{
	const bool fits = built->file <= f->bytes, whole = f->share == f->most;
	const bool nearly = built->file >= f->bytes - f->bytes / 32;
	const uint64_t rest = built->file - built->index + EMPTY;

	f->builds++;
	*keep = f->bytes == 0 || (fits && (whole || nearly || f->builds > BUILDS_MAX));
	f->clipped |= *keep && whole && !nearly && f->most < KH_LIMIT_ALL;
	if (*keep)
		return KH_OK;
	if (!fits && f->builds == 1 && f->share == KH_LIMIT_ALL) {
		/* All features were tried because the estimate was wrong.  The share is found as if
		 * there had been none, for an estimate must not decide what is in a database. */
		kh_limit_start(f, 0);
		return KH_OK;
	}
	if (rest + f->bytes / 64 > f->bytes)
		return kh_fail(err, KH_EUSAGE,
			       "--max-db-size %" PRIu64 ": targets, taxa and an empty index take "
			       "%" PRIu64 " bytes already", f->bytes, rest);
	if (fits && f->share > f->fits)
		f->fits = f->share;
	if (!fits && f->share < f->exceeds)
		f->exceeds = f->share;
	choose(f, built);
	if (f->share == 0)
		return kh_fail(err, KH_EUSAGE,
			       "--max-db-size %" PRIu64 " has no room for any features", f->bytes);
	kh_log(KH_INFO, "%.1f MB of at most %.1f MB: reading again, for %.2f %% of the features",
	       (double)built->file * 1e-6, (double)f->bytes * 1e-6,
	       (double)f->share * 100 / (double)KH_LIMIT_ALL);
	return KH_OK;
}
