/*
 * plan.c - how much memory and disk a build is going to take, before it reads
 *
 * Features that do not fit into the memory that is left go to a temporary file. The other memory
 * that the build needs has no such way out, so it is compared with what is left before anything
 * is read: a process that the system kills for want of memory cannot say why.
 */
#include <config.h>
#include "build/build_in.h"

#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include "base/mem.h"
#include "base/size.h"

enum {
	HELPERS = 2,            /* threads beside the workers, for checksums of what is written */
	FEATURE = 12,           /* bytes of a key and a bin */
	PAIR = 9,               /* the same as index/pairs.h holds them */
	SORT = 36,              /* bytes for a pair while its range is sorted and encoded */
	SEED_BYTES = 6          /* bytes of the database for each feature, at most */
};

/* Bases that are kept and sampled; the text of a database that is added to is sampled again. */
static uint64_t all_text(const struct build *b)
{
	return b->input.text + (b->o->base ? b->o->base->h->bases : 0);
}

/* Memory for all but pairs: blocks with their records and packed bases; files that
 * are inflated ahead; for each worker the
 * features of its block, the range that it encodes, and one more encoded range that waits to be
 * written. */
static uint64_t other_memory(const struct build *b, uint64_t features)
{
	const uint64_t threads = b->o->threads, block = kh_build_block_size(b);
	const uint64_t blocks = (threads + 2) * (2 * block + block / 2);
	const uint64_t own = threads * kh_sampling_bound(&b->sampling, block) * FEATURE * 3 / 2;
	const uint64_t most = threads * KH_FEED_AHEAD;
	const uint64_t ahead = b->input.small_gz < most ? b->input.small_gz : most;
	const uint64_t range = features / KH_RANGES + 1;

	return all_text(b) / 4 + blocks + ahead + own + (threads + 2) * range * SORT;
}

/* Of all references, if none is left out. */
static uint64_t all_features(const struct build *b)
{
	const kh_sampling *s = &b->sampling;

	return s->scheme == KH_SYNCMER ? all_text(b) / (s->k - s->s + 1)
				       : all_text(b) / s->stride * s->s;
}

uint64_t kh_build_estimate_file(const struct build *b)
{
	return b->input.known ? all_text(b) / 4 + all_features(b) * SEED_BYTES : 0;
}

/* Features that this pass over the references probably finds. */
static uint64_t pass_features(const struct build *b)
{
	typedef unsigned __int128 wide;

	return (uint64_t)((wide)all_features(b) * kh_sampling_share(&b->sampling) >> 32);
}

/* Of how many of all features there is to be room: those of this pass over the references, or, as
 * long as the share is not known, those that a database of the size that is allowed probably
 * has. */
static uint64_t some_features(const struct build *b)
{
	const uint64_t all = all_features(b), limit = b->o->max_db_size / SEED_BYTES;

	if (b->o->max_db_size == 0 || b->limit.builds > 0)
		return pass_features(b);
	return limit < all ? limit : all;
}

static void estimate(const struct build *b, kh_build_estimate *e)
{
	*e = (kh_build_estimate) { .text = b->input.text, .known = b->input.known,
				   .k = b->sampling.k };
	e->features = some_features(b);
	e->file = e->features * SEED_BYTES + (b->thin ? 0 : all_text(b) / 4);
	if (b->o->max_db_size && e->file > b->o->max_db_size)
		e->file = b->o->max_db_size;
	e->pairs = e->features * PAIR;
	e->other = other_memory(b, e->features);
	/* the text, its alleles, and the k-mers of the text */
	e->alike = all_text(b) / 4 + all_text(b) / 4 + all_text(b) / 2;
	e->left = kh_memory_left_now(b->o->threads + HELPERS);
}

static int check_memory(const kh_build_estimate *e, kh_err *err)
{
	if (e->other <= e->left.bytes)
		return KH_OK;
	return kh_fail(err, KH_ENOMEM,
		       "the build needs about %s of memory even if all features go to disk, "
		       "and %s are left %s; fewer --threads or a smaller --set block-size need "
		       "less", kh_size_show(e->other).s, kh_size_show(e->left.bytes).s,
		       e->left.limit);
}

int kh_build_plan(struct build *b, kh_err *err)
{
	kh_build_estimate *e = &b->sum->estimate;
	uint64_t most;
	int rc;

	estimate(b, e);
	if ((rc = check_memory(e, err)))
		return rc;
	/* leaves some free: this is an estimate, and other programs take memory, too */
	most = e->left.bytes == UINT64_MAX ? 0 : (e->left.bytes - e->other) / 8 * 7 + 1;
	if (b->o->memory && (most == 0 || b->o->memory < most))
		most = b->o->memory;
	else if (most && e->pairs > most)
		kh_log(KH_INFO,
		       "about %s of features, and %s of memory are left %s: what does not fit "
		       "goes to a temporary file", kh_size_show(e->pairs).s,
		       kh_size_show(e->left.bytes).s, e->left.limit);
	e->kept = most && e->pairs > most ? most : e->pairs;
	b->in.memory = most;
	return KH_OK;
}

/* Bytes that can still be written beside this file, 0 if unknown; *memory: the file
 * system is one in memory. */
static uint64_t disk_left(const char *beside, bool *memory)
{
	const char *slash = strrchr(beside, '/');
	char folder[4096];
	struct statfs s;
	int n = snprintf(folder, sizeof folder, "%.*s",
			 slash ? (int)(slash - beside + 1) : 2, slash ? beside : "./");

	*memory = false;
	if (n < 0 || (size_t)n >= sizeof folder || statfs(folder, &s))
		return 0;
	*memory = s.f_type == TMPFS_MAGIC || s.f_type == RAMFS_MAGIC;
	return (uint64_t)s.f_bavail * (uint64_t)s.f_bsize;
}

/* As features are an estimate, a quarter of them may have no room. */
static int check_disk(const struct build *b, uint64_t bytes, kh_err *err)
{
	const uint64_t memory = b->in.memory, there = kh_memory_left_now(0).bytes;
	const char *beside = b->o->db;
	bool in_memory;
	uint64_t disk = disk_left(beside, &in_memory);

	if (in_memory) {                /* a file there takes up the same memory */
		const uint64_t rest = there > memory ? there - memory : 0;

		disk = disk < rest ? disk : rest;
	}
	if (bytes - bytes / 4 <= memory + disk)
		return KH_OK;
	return kh_fail(err, KH_ENOMEM,
		       "about %s of features have to be kept, but there are %s of memory for them "
		       "and %s of disk beside %s", kh_size_show(bytes).s,
		       memory == b->o->memory ? kh_size_as_option(memory).s
					      : kh_size_show(memory).s,
		       kh_size_show(disk).s, beside);
}

int kh_build_plan_spill(const struct build *b, kh_err *err)
{
	const kh_build_estimate *e = &b->sum->estimate;
	/* each worker sorts one of 256 ranges, which takes its pairs twice */
	const uint64_t need = e->pairs + 2 * (e->pairs / KH_RANGES + 1) * b->o->threads;
	const uint64_t have = b->in.memory;
	const uint64_t spilled = have && e->pairs > have ? e->pairs - have : 0;

	if (!e->known || e->text == 0)
		return KH_OK;
	kh_log(KH_DEBUG,
	       "plan: %s of input, about %.1f million features, %s to sort them, of %s%s",
	       kh_size_show(e->text).s, (double)e->features * 1e-6, kh_size_show(need).s,
	       kh_size_show(have ? have : e->left.bytes).s,
	       spilled ? ": the rest is spilled" : "");
	if (spilled)
		kh_log(KH_DEBUG, "plan: about %s are spilled to a temporary file",
		       kh_size_show(spilled).s);
	return have && need > have ? check_disk(b, e->pairs, err) : KH_OK;
}
