/*
 * trial.c - how long a build is going to take, by what a dry run has done of it
 *
 * It has read for some time.  The index of what it has read is made, too, and thrown away: all of
 * it as if it were of one species, as tables of accessions, which may take minutes to read, are not
 * looked at.  Then a file without a name is written beside the database for some time.
 */
#include <config.h>
#include "build/build_in.h"

#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "io/spill.h"

enum { CHUNK = 8 << 20, CHUNKS_MAX = 32 };

/* --- reading ---------------------------------------------------------------------------- */
/* What the whole pass takes, by what was read of the files so far; returns their share. */
static double time_reading(struct build *b)
{
	const double seconds = kh_seconds() - b->in.started;
	uint64_t done = 0, total = 0;
	double share = 1;

	if (b->in.feed)
		kh_feed_progress(b->in.feed, &done, &total);
	if (done > 0 && done < total)
		share = (double)done / (double)total;
	b->sum->estimate.seconds_read = seconds / share;
	return share;
}

/* --- the index -------------------------------------------------------------------------- */
static int count_keys(void *arg, const kh_image *im, kh_err *err)
{
	uint64_t *keys = arg;

	(void)err;
	*keys += im->range.keys;
	return KH_OK;
}

/* Makes the index of what was read; *keys: the features in it. */
static int make_index(struct build *b, uint64_t *keys, kh_err *err)
{
	static const uint32_t zero[1];
	const uint32_t end = UINT32_MAX - 1 - b->gap;
	const kh_bins whole = { .n = 1, .first = zero, .taxon = zero };
	kh_taxonomy *tax = NULL;
	kh_bin_map map = { .first = NULL };
	kh_finish f = { .sink = count_keys, .arg = keys,
			.keep_keys = b->o->growable };
	int rc = kh_taxonomy_prune(&tax, b->taxa.dump, zero, 0, err);

	if (!rc) {
		const kh_tree tree = kh_taxonomy_tree(tax);

		rc = kh_bin_map_init(&map, &whole, end, b->gap, &tree, err);
	}
	map.bins.most = b->o->max_locations;
	f.bins = &map.bins;
	f.tax = tax;
	if (!rc && b->refs.next_bin < end)
		rc = b->on.choice.backend->build.finish(b->in.builder, &f, err);
	kh_bin_map_clear(&map);
	kh_taxonomy_free(tax);
	return rc;
}

/* By the time of this part of the features.  What share of them a database of limited size will
 * have is not known yet, so it is taken to have all.  What a database that is added to has is taken
 * to need as long as new features, which is more than it does. */
static int time_index(struct build *b, double share, kh_err *err)
{
	const kh_db *base = b->o->base;
	kh_build_estimate *e = &b->sum->estimate;
	const double pass = (double)kh_build_pass_features(b), began = kh_seconds();
	const double all = pass * (double)KH_LIMIT_ALL / (double)kh_sampling_share(&b->sampling);
	uint64_t keys = 0;
	int rc;

	if (!b->on.choice.backend->on_host || b->o->comm || pass == 0)
		return KH_OK;
	rc = make_index(b, &keys, err);
	if (rc || keys == 0)
		return rc;
	const double seconds = kh_seconds() - began;

	e->seconds_index = seconds * all / (pass * share);
	if (base)
		e->seconds_index += seconds * (double)base->h->features / (double)keys;
	return KH_OK;
}

/* --- the disk --------------------------------------------------------------------------- */
/* Writes chunks of n bytes for a while, each until it is on the disk. */
static int write_some(const kh_spill *s, const void *chunk, size_t n, double *rate, kh_err *err)
{
	const double began = kh_seconds();
	double seconds = 0;
	uint64_t at = 0;
	int rc = KH_OK;

	for (int i = 0; i < CHUNKS_MAX && seconds < KH_TRIAL && !rc; i++, at += n) {
		rc = kh_spill_write(s, chunk, n, at, err);
		if (!rc && fdatasync(s->fd) != 0)
			rc = kh_fail_errno(err, s->what);
		seconds = kh_seconds() - began;
	}
	*rate = (double)at / (seconds > 0 ? seconds : 1e-9);
	return rc;
}

static int time_writing(struct build *b, kh_err *err)
{
	kh_build_estimate *e = &b->sum->estimate;
	const size_t n = e->file < CHUNK ? (size_t)e->file + 1 : CHUNK;
	kh_spill file = { -1, "the trial" };
	uint64_t *chunk = kh_array(n / sizeof *chunk + 1, sizeof *chunk, err);
	int rc = chunk ? kh_spill_open(&file, b->o->db, err) : KH_ENOMEM;

	for (size_t i = 0; !rc && i <= n / sizeof *chunk; i++)
		chunk[i] = kh_fmix64(i);        /* which no file system makes smaller */
	if (!rc)
		rc = write_some(&file, chunk, n, &e->write_rate, err);
	if (!rc)
		e->seconds_write = (double)e->file / e->write_rate;
	kh_spill_close(&file);
	free(chunk);
	return rc;
}

int kh_build_trial(struct build *b, kh_err *err)
{
	const double share = time_reading(b);
	int rc = time_index(b, share, err);

	if (!rc && kh_comm_self(b->o->comm) == 0)
		rc = time_writing(b, err);
	return rc;
}
