/* build.c - a build from start to end, and its k */
#include <config.h>
#include "build/build_in.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/size.h"
#include "taxonomy/lineage.h"

/* What follows from the number of bases, if it is not given; of this, all follows from k. */
static void choose_sampling(struct build *b, uint64_t bases)
{
	const kh_build_options *o = b->o;
	const kh_sampling *given = &o->sampling;
	kh_sampling *s = &b->sampling;

	bases = o->bases ? o->bases : bases;
	s->k = given->k ? given->k : kh_default_k(bases);
	if (given->stride == 0)
		s->stride = s->scheme == KH_MINHASH ? kh_default_minhash_stride(bases)
						    : kh_default_stride(bases);
	if (s->scheme == KH_SYNCMER && given->s == 0)
		s->s = kh_default_s(bases, s->k, s->stride);
	if (s->scheme == KH_MINHASH && given->s == 0)
		s->s = kh_default_minhash_s(bases, s->stride);
	b->part = o->max_db_size ? KH_LIMIT_ALL
		  : o->base	 ? KH_LIMIT_ALL - o->base->h->least
				 : kh_default_share(bases, s);
}

/* What share of the features a dry run makes an index of: enough for the size of lines and lists
 * to be that of all. */
static uint64_t trial_share(const struct build *b)
{
	enum { ENOUGH = 1 << 22 };
	uint64_t share = b->limit.most;

	for (uint64_t n = b->sum->estimate.text; n > 4 * (uint64_t)ENOUGH; n /= 2)
		share = share > KH_LIMIT_FIRST ? share / 2 : share;
	return share;
}

static uint32_t least_rank(const struct build *b)
{
	typedef unsigned __int128 wide;

	return (uint32_t)(KH_LIMIT_ALL - (uint64_t)((wide)b->limit.share * b->part >> 32));
}

static int try_sampling(struct build *b, kh_err *err)
{
	int rc = kh_sampling_check(&b->sampling, err);

	b->sampling.least = least_rank(b);
	if (!rc)
		rc = kh_build_plan(b, err);
	if (rc || !b->o->dry_run)
		return rc ? rc : kh_build_read(b, err);
	/* a dry run leaves a pipe to those who want what is in it */
	if (!b->sum->estimate.known)
		return KH_OK;
	b->limit.share = trial_share(b);
	b->sampling.least = least_rank(b);
	return kh_build_read(b, err);
}

/* Reads the references. Without -k the right k is known only when the last base has been read. It
 * is guessed from the sizes of the files; if the guess was wrong, all of them are read again. */
static int read_all(struct build *b, kh_err *err)
{
	kh_sampling guess;
	uint64_t bases = 0, part;
	int rc = kh_build_look(b, &bases, err);

	if (!rc) {
		choose_sampling(b, bases);
		if (b->limit.share == 0)
			kh_limit_start(&b->limit, kh_build_estimate_file(b));
		rc = try_sampling(b, err);
	}
	if (rc || kh_build_settled(b->o) || (b->o->dry_run && !b->sum->estimate.known))
		return rc;
	guess = b->sampling;
	part = b->part;
	choose_sampling(b, b->all.bases);
	if (guess.k == b->sampling.k && guess.stride == b->sampling.stride && part == b->part)
		return KH_OK;
	kh_log(KH_INFO, "%" PRIu64 " bases call for k = %u and bins of %u, not %u and %u: "
	       "reading again", b->all.bases, b->sampling.k, b->sampling.stride, guess.k,
	       guess.stride);
	kh_build_forget(b);
	return try_sampling(b, err);
}

/* From the text that was read to the file. */
static int make_database(struct build *b, kh_err *err)
{
	int rc;

	kh_build_add_digests(b);
	if ((rc = kh_build_same_sequences(b, err)) || (rc = kh_build_find_targets(b, err)) ||
	    (rc = kh_build_text_sample(b, err)))
		return rc;
	return kh_build_write(b, err);
}

/* All that was made of the references, so that they can be read again. */
static void start_over(struct build *b)
{
	struct taxa *t = &b->taxa;

	kh_db_abandon(b->out.w);
	kh_build_forget(b);
	kh_taxonomy_free(t->tax);
	free(t->target);
	free(t->first);
	free(t->taxon);
	free(t->dropped);
	kh_bin_map_clear(&t->bins);
	free(t->kept);
	free(t->alleles);
	free(t->strains);
	free(t->tiles);
	free(t->few);
	free(b->out.dir);
	free(b->base.now);
	*t = (struct taxa) { .dump = t->dump };
	b->out = (struct file) { .w = NULL };
	b->base = (struct base) { .now = NULL };
	b->input = (struct input) { .text = 0 };
}

static void clear(struct build *b)
{
	const unsigned threads = b->o->threads;

	start_over(b);
	for (unsigned i = 0; b->in.worker && i < threads; i++) {
		free(b->in.worker[i].pieces.v);
		free(b->in.worker[i].features.key);
		free(b->in.worker[i].features.bin);
		free(b->in.worker[i].part);
	}
	free(b->in.worker);
	kh_build_same_clear(b);
	kh_taxdump_close(b->taxa.dump);
}

static kh_limit_size size_of(const struct build *b)
{
	return (kh_limit_size) { .file = kh_db_length(b->out.w), .index = b->out.image_bytes,
				 .features = b->sum->header.features };
}

static void tell_thin(const struct build *b, const kh_limit_size *built)
{
	const uint64_t limit = b->limit.bytes, roomy = kh_limit_roomy(&b->limit, built);
	char hint[64] = "";

	if (roomy > 0)
		snprintf(hint, sizeof hint, "; %s has room for them",
			 kh_size_beside_option(roomy, limit).s);
	kh_log(KH_WARN, "--max-db-size %s has no room for the bases of the references: "
	       "an index alone is made, without --sample-pass, --profile, --paf, --sam, build "
	       "--base and GPUs%s", kh_size_as_option(limit).s, hint);
}

/* Is the database to be made anew without text, as with it there is no room for seeds?  Translated
 * seeds are in the text, and one that is added to has it. */
static bool turns_thin(struct build *b)
{
	const kh_limit_size built = size_of(b);

	if (b->thin || b->o->translated || b->o->base || !kh_limit_is_tight(&b->limit, &built))
		return false;
	tell_thin(b, &built);
	b->thin = true;
	kh_limit_start(&b->limit, 0);
	return true;
}

/* Is the database kept?  Else another share of the features is tried, or one without text. */
static int judge(struct build *b, bool *keep, kh_err *err)
{
	const kh_limit_size built = size_of(b);

	*keep = false;
	if (turns_thin(b))
		return KH_OK;
	*keep = true;
	return b->limit.bytes > 0 ? kh_limit_next(&b->limit, &built, keep, err) : KH_OK;
}

/* The index of a part of the features, which are chosen as for a database of limited size, says how
 * large that of all of them is going to be. */
static int dry_run(struct build *b, kh_err *err)
{
	const kh_build_options *o = b->o;
	kh_build_estimate *e = &b->sum->estimate;
	int rc;

	for (bool again = true; again;) {
		if ((rc = read_all(b, err)) || !e->known || (rc = make_database(b, err)))
			return rc;
		again = turns_thin(b);
		if (again) {
			start_over(b);
			b->sum->header = (kh_db_header) { .version = 0 };
		}
		if (again && (rc = kh_db_create(&b->out.w, o->db, err)))
			return rc;
	}
	const kh_limit_size part = size_of(b);
	kh_limit_size all;

	if ((rc = kh_limit_all(&b->limit, &part, &all, err)))
		return rc;
	b->input.text = b->all.bases - (o->base ? o->base->h->bases : 0);
	const uint64_t trial = b->limit.share;
	b->limit.share = b->limit.most;
	b->sampling.least = least_rank(b);
	rc = kh_build_plan(b, err);
	e->bases = b->all.bases;
	e->file = all.file;
	e->distinct = all.features;
	e->thin = b->thin;
	e->share = part.features ? ldexp((double)trial * (double)b->part, -64) *
				   (double)all.features / (double)part.features : 0;
	b->sum->header = (kh_db_header) { .version = 0 };
	return rc;
}

/* Databases of some share of the features, until one is what it should be. */
static int build_to_fit(struct build *b, kh_err *err)
{
	for (bool keep = false;;) {
		/* early: a folder may not let it be written */
		int rc = kh_db_create(&b->out.w, b->o->db, err);

		if (rc || b->o->dry_run)
			return rc ? rc : dry_run(b, err);
		if ((rc = read_all(b, err)) ||
		    (rc = make_database(b, err)) || (rc = judge(b, &keep, err)))
			return rc;
		if (keep)
			break;
		start_over(b);
		b->sum->header = (kh_db_header) { .version = 0 };
	}
	return kh_build_commit(b, err);
}

int kh_build(const kh_build_options *o, kh_build_summary *sum, kh_err *err)
{
	struct build b = { .o = o, .sum = sum, .sampling = o->sampling };
	int rc;

	*sum = (kh_build_summary) { .seconds_read = 0 };
	b.limit.bytes = o->max_db_size;
	b.limit.most = KH_LIMIT_ALL;
	b.in.worker = kh_array(o->threads, sizeof *b.in.worker, err);
	rc = b.in.worker ? KH_OK : KH_ENOMEM;
	if (!rc && kh_build_settled(o)) {
		choose_sampling(&b, 0);
		rc = kh_sampling_check(&b.sampling, err);
	}
	if (!rc)
		rc = o->taxonomy ? kh_taxdump_open(&b.taxa.dump, o->taxonomy, err) : KH_OK;
	if (!rc && o->lineages)
		rc = kh_lineages_taxdump(o->lineages, &b.taxa.dump, err);
	if (!rc)
		rc = build_to_fit(&b, err);
	clear(&b);
	return rc;
}
