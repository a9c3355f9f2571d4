/* build.c - a build from start to end, and its k */
#include <config.h>
#include "build/build_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "taxonomy/lineage.h"

/* What follows from the number of bases, if it is not given; of this, all follows from k. */
static void choose_sampling(struct build *b, uint64_t bases)
{
	const kh_build_options *o = b->o;
	const kh_sampling *given = &o->sampling;
	kh_sampling *s = &b->sampling;

	bases = o->bases ? o->bases : bases;
	s->k = given->k ? given->k : o->text ? kh_text_k(bases) : kh_default_k(bases);
	if (given->stride == 0)
		s->stride = o->text ? kh_text_stride(bases)
			    : given->k && !o->bases ? KH_STRIDE
						    : kh_default_stride(bases);
	if (s->scheme == KH_SYNCMER && given->s == 0)
		s->s = o->text ? kh_text_s(bases, s->k, s->stride) : kh_default_s(s->k);
	b->part = !o->text || o->max_db_size ? KH_LIMIT_ALL
		  : o->base		     ? KH_LIMIT_ALL - o->base->h->least
					     : kh_text_share(bases, s);
	b->gap = o->text ? 1 : 1 + (b->o->max_span + s->stride - 1) / s->stride;
}

static int check_sampling(const struct build *b, kh_err *err)
{
	int rc = kh_sampling_check(&b->sampling, err);

	if (!rc && b->o->max_span < b->sampling.stride)
		rc = kh_fail(err, KH_EUSAGE, "a span of %" PRIu32 " bases is less than a bin of %"
			     PRIu32 ": use a greater --set max-span", b->o->max_span,
			     b->sampling.stride);
	return rc;
}

/* What share of the features a dry run makes an index of: enough for the size of buckets and lists
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
	int rc = check_sampling(b, err);

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
	int rc = kh_build_split(b, &bases, err);

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

/* From pairs to the file. */
static int make_database(struct build *b, kh_err *err)
{
	int rc;

	if ((rc = kh_build_add_digests(b, err)) || (rc = kh_build_gather(b, err)) ||
	    (rc = kh_build_find_taxa(b, err)) || (rc = kh_build_text_sample(b, err)))
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
	free(t->to);
	kh_bin_map_clear(&t->bins);
	free(t->old_first);
	free(t->kept);
	free(t->alleles);
	free(t->strains);
	free(t->tiles);
	free(t->few);
	free(b->out.dir);
	free(b->out.seeds);
	for (unsigned i = 0; b->out.kept && i < KH_RANGES; i++)
		free((void *)b->out.kept[i].p);
	free(b->out.kept);
	for (unsigned i = 0; b->out.keys && i < KH_RANGES; i++)
		free((void *)b->out.keys[i].p);
	free(b->out.keys);
	free(b->out.n_full);
	free(b->base.now);
	free(b->base.to);
	free(b->base.vote_to);
	*t = (struct taxa) { .dump = t->dump };
	b->out = (struct file) { .w = NULL };
	b->base = (struct base) { .to = NULL };
	b->mine = (struct own_input) { .first_file = 0 };
}

static void clear(struct build *b)
{
	const unsigned threads = b->o->threads;

	start_over(b);
	for (unsigned i = 0; b->in.worker && i < threads; i++) {
		free(b->in.worker[i].pieces.v);
		free(b->in.worker[i].part);
		free(b->in.worker[i].excerpts.v);
	}
	free(b->in.worker);
	free(b->excerpts.v);
	kh_taxdump_close(b->taxa.dump);
}

/* The device; to add references, or to make that possible, needs one that can. */
static int choose_backend(struct build *b, kh_err *err)
{
	const kh_build_options *o = b->o;
	const bool grows = !o->text && (o->base || o->growable);
	const bool host = grows && strcmp(o->device, "auto") == 0;
	int rc = kh_backend_choose(&b->on.choice, host ? "cpu" : o->device, err);

	if (!rc && o->text && o->comm)
		return kh_fail(err, KH_EUSAGE, "databases with text are made by one process");
	if (!rc && o->translated && (o->comm || grows))
		return kh_fail(err, KH_EUSAGE, "--translated is for one process, without "
			       "--growable and --base");
	if (rc || !grows)
		return rc;
	if (!b->on.choice.backend->grows)
		return kh_fail(err, KH_EUSAGE, "--base and --growable have no meaning for %s: "
			       "use --device cpu", b->on.choice.backend->name);
	if (o->comm)
		return kh_fail(err, KH_EUSAGE, "--base and --growable are for one process");
	return KH_OK;
}

/* Process 0 knows the sizes, also of the ranges that others have made. */
static kh_limit_size size_of(const struct build *b)
{
	const kh_range *last = b->o->text ? NULL : &b->out.dir[KH_RANGES - 1];

	return (kh_limit_size) {
		.file = kh_db_length(b->out.w),
		.index = (last ? last->first_bucket * 64 +
				 kh_range_bytes(last, b->taxa.bins.bins.bits)
			       : b->out.image_bytes) + b->out.keys_bytes,
		.features = b->sum->header.features
	};
}

/* Process 0 says whether the database is kept. */
static int judge(struct build *b, bool *keep, kh_err *err)
{
	struct {
		kh_limit limit;
		uint64_t keep;
	} said = { b->limit, 1 };
	int rc = KH_OK;

	*keep = true;
	if (b->limit.bytes == 0)
		return KH_OK;
	if (kh_comm_self(b->o->comm) == 0) {
		const kh_limit_size built = size_of(b);

		rc = kh_limit_next(&said.limit, &built, keep, err);
		said.keep = *keep;
	}
	if (!rc)
		rc = kh_build_broadcast(b, &said, sizeof said, err);
	b->limit = said.limit;
	*keep = said.keep != 0;
	return rc;
}

/* The index of a part of the features, which are chosen as for a database of limited size, says how
 * large that of all of them is going to be. */
static int dry_run(struct build *b, kh_err *err)
{
	const kh_build_options *o = b->o;
	kh_build_estimate *e = &b->sum->estimate;
	const bool first = kh_comm_self(o->comm) == 0;
	int rc = read_all(b, err);

	if (rc || !e->known || (rc = make_database(b, err)))
		return rc;
	const kh_limit_size part = first ? size_of(b) : (kh_limit_size) { .file = 0 };
	const kh_limit_size all = kh_limit_all(&b->limit, &part);
	b->mine.text = b->all.bases - (o->text && o->base ? o->base->h->bases : 0);
	b->limit.share = b->limit.most;
	b->sampling.least = least_rank(b);
	rc = kh_build_plan(b, err);
	e->bases = b->all.bases;
	e->file = all.file;
	e->distinct = all.features;
	b->sum->header = (kh_db_header) { .version = 0 };
	return rc;
}

/* Databases of some share of the features, until one is what it should be. */
static int build_to_fit(struct build *b, kh_err *err)
{
	for (bool keep = false;;) {
		int rc = kh_build_create(b, err); /* early: a folder may not let it be written */

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
	if (b->limit.clipped)
		kh_log(KH_WARN, "%s has %.2f %% of the features, and no more can be taken from it: "
		       "a database made anew from all references may have more",
		       b->o->base->path, (double)b->limit.most * 100 / (double)KH_LIMIT_ALL);
	return kh_build_commit(b, err);
}

int kh_build(const kh_build_options *o, kh_build_summary *sum, kh_err *err)
{
	struct build b = { .o = o, .sum = sum, .sampling = o->sampling,
			   .on = { .memory = o->gpu_memory, .comm = o->comm,
				   .threads = o->threads } };
	int rc;

	*sum = (kh_build_summary) { .backend = NULL };
	b.limit.bytes = o->max_db_size;
	b.limit.most = o->base && !o->text ? KH_LIMIT_ALL - o->base->h->least : KH_LIMIT_ALL;
	b.in.worker = kh_array(o->threads, sizeof *b.in.worker, err);
	rc = b.in.worker ? choose_backend(&b, err) : KH_ENOMEM;
	if (!rc && kh_build_settled(o)) {
		choose_sampling(&b, 0);
		rc = check_sampling(&b, err);
	}
	if (!rc)
		rc = o->taxonomy ? kh_taxdump_open(&b.taxa.dump, o->taxonomy, err) : KH_OK;
	if (!rc && o->lineages)
		rc = kh_lineages_taxdump(o->lineages, &b.taxa.dump, err);
	if (!rc)
		rc = kh_build_agree(&b, err);
	if (!rc)
		rc = build_to_fit(&b, err);
	/* first, as the other processes may be waiting for what is closed below */
	if (rc)
		kh_comm_fail(o->comm, err);
	sum->backend = b.on.choice.backend ? b.on.choice.backend->name : NULL;
	clear(&b);
	return rc;
}
