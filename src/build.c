#include <config.h>
#include "build_in.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "mem.h"
#include "pipeline.h"

/* What a worker spends its time with: bytes into bases, what depends on order, the backend. */
enum { READ, SETTLE, ADD };

/* --- reading ------------------------------------------------------------------------------ */
static void show_progress(const struct build *b)
{
	uint64_t done, total;
	double s = kh_seconds() - b->started;

	kh_feed_progress(b->feed, &done, &total);
	if (total > done && done > 0)
		kh_progress("read %.1f of %.1f MB, %.0f MB/s, %.0f s left", done * 1e-6, total * 1e-6,
			    done * 1e-6 / s, (double)(total - done) * s / (double)done);
	else
		kh_progress("read %.1f MB, %.0f MB/s", done * 1e-6, done * 1e-6 / s);
}

/* In order of blocks. */
static int settle(void *arg, kh_block *blk, kh_err *err)
{
	struct worker *w = arg;
	struct build *b = w->build;
	int rc = kh_comm_check(b->o->comm, err);

	if (!rc)
		rc = kh_refs_settle(&b->refs, blk, b->o->refs[b->first_file + blk->file], &w->pieces, err);
	if (!rc)
		show_progress(b);
	return rc;
}

/* Sums of a sequence's bins come from several workers: each keeps its own list. */
static int add_digests(struct worker *w, const kh_sample *s, uint32_t stride, kh_err *err)
{
	int rc = kh_grow((void **)&w->part, &w->cap, w->n + s->n, sizeof *w->part, err);

	for (size_t i = 0; i < s->n && !rc; i++)
		w->part[w->n++] = (struct part) { s->piece[i].seq, kh_digest(s, &s->piece[i], stride) };
	return rc;
}

static int read_worker(void *arg, unsigned worker, kh_err *err)
{
	struct build *b = arg;
	struct worker *w = &b->worker[worker];
	kh_block *blk;
	int rc;

	w->build = b;
	kh_laps_begin(&w->laps);
	while ((rc = kh_feed_next(b->feed, &blk, err)) == 1) {
		kh_lap(&w->laps, READ);
		rc = kh_feed_settle(b->feed, blk, settle, w, err);
		kh_lap(&w->laps, SETTLE);
		if (!rc) {
			kh_sample s = { blk->ticket, blk->bases, blk->amb, blk->n_words,
					w->pieces.v, w->pieces.n };

			if (!b->choice.backend->builder_digests)
				rc = add_digests(w, &s, b->sketch.stride, err);
			if (!rc)
				rc = b->choice.backend->builder_add(b->builder, worker, &s, err);
		}
		kh_feed_release(b->feed, blk);
		kh_lap(&w->laps, ADD);
		if (rc)
			return rc;
	}
	kh_lap(&w->laps, READ);
	return rc;
}

static void show_parts(const struct build *b)
{
	static const char *const name[] = { "reading", "settling", "handing over or sampling", NULL };
	kh_laps sum = { 0 };

	for (unsigned i = 0; i < b->o->threads; i++)
		kh_laps_add(&sum, &b->worker[i].laps);
	kh_laps_show(&sum, b->o->threads, name);
}

static int check_bins(const struct build *b, kh_err *err)
{
	uint64_t stride = b->sketch.stride;

	if (b->all.bins <= UINT32_MAX)
		return KH_OK;
	while (stride < KH_STRIDE_MAX && b->all.bases / stride + b->all.sequences *
	       (2 + (b->o->max_span + stride - 1) / stride) > UINT32_MAX)
		stride++;
	return kh_fail(err, KH_EUSAGE, "%" PRIu64 " bins of %u bases are more than 32 bits can number: "
		       "use --stride %" PRIu64 " or more", b->all.bins, b->sketch.stride, stride);
}

/* What the build will take, as far as the sizes of the files tell. */
static void show_plan(struct build *b)
{
	const kh_sketch *sk = &b->sketch;
	uint64_t done, total, pairs;
	kh_plan p;

	kh_feed_progress(b->feed, &done, &total);
	if (total == 0)
		return;
	pairs = sk->scheme == KH_SYNCMER ? total / (sk->k - sk->s + 1) : total / sk->stride * sk->s;
	p = b->choice.backend->builder_plan(b->builder, pairs);
	if (p.have)
		kh_log(KH_DEBUG, "plan: %.1f MB of input, about %.1f million features, %.1f MB on %s to sort them, of "
		       "%.1f MB%s", (double)total * 1e-6, (double)pairs * 1e-6, (double)p.need * 1e-6,
		       b->choice.backend->name, (double)p.have * 1e-6,
		       p.need > p.have ? ": the rest is spilled" : "");
	else
		kh_log(KH_DEBUG, "plan: %.1f MB of input, about %.1f million features, %.1f MB on %s to sort them",
		       (double)total * 1e-6, (double)pairs * 1e-6, (double)p.need * 1e-6,
		       b->choice.backend->name);
}

/* One pass over this rank's references with b->sketch. */
static int read_refs(struct build *b, kh_err *err)
{
	const kh_build_options *o = b->o;
	const size_t suits = b->choice.backend->block_size;
	const size_t block_size = o->block_size ? o->block_size : suits ? suits : 1 << 20;
	kh_feed_options fo = { .path = { o->refs + b->first_file }, .n_path = { b->n_files }, .pieces = true,
		.allow_no_eof = o->allow_no_eof, .block_size = block_size,
		.n_blocks = o->threads + 2, .front = kh_refs_front(&b->sketch),
		.from = b->from_byte, .to = b->to_byte };
	kh_builder_options bo = { .sketch = b->sketch, .threads = o->threads,
		.block_size = block_size, .memory = o->memory, .gpu_memory = o->gpu_memory,
		.tmp = o->db, .device = b->choice.device, .n_devices = b->choice.n, .comm = o->comm };
	int rc = kh_refs_init(&b->refs, &b->sketch, b->gap, err);

	b->refs.allow_duplicates = o->allow_duplicates;
	b->refs.number_later = o->comm != NULL;
	const double opening = kh_seconds();

	if (!rc && b->n_files > 0 && !(rc = kh_monitor_new(&b->m, err)))
		rc = kh_feed_open(&b->feed, &fo, b->m, err);
	if (!rc)
		rc = b->choice.backend->builder_open(&b->builder, &bo, err);
	b->started = kh_seconds();
	b->sum->seconds_open += b->started - opening;
	if (b->begun == 0)
		b->begun = b->started;
	if (!rc && b->feed) {
		show_plan(b);
		rc = kh_crew_run(b->m, o->threads, read_worker, b, err);
		show_parts(b);
	}
	kh_progress_end();
	if (!rc)
		rc = kh_build_total(b, err);
	b->sum->seconds_read += kh_seconds() - b->started;
	return rc ? rc : check_bins(b, err);
}

static void forget_refs(struct build *b)
{
	if (b->builder)
		b->choice.backend->builder_close(b->builder);
	b->builder = NULL;
	kh_feed_close(b->feed);
	b->feed = NULL;
	kh_monitor_free(b->m);
	b->m = NULL;
	kh_refs_clear(&b->refs);
	for (unsigned i = 0; b->worker && i < b->o->threads; i++)
		b->worker[i].n = 0;
}

/* Sums of sequences, of which several workers have read parts. */
static int add_up_digests(struct build *b, kh_err *err)
{
	uint64_t *sum;
	int rc;

	for (unsigned i = 0; i < b->o->threads; i++)
		for (size_t j = 0; j < b->worker[i].n; j++)
			b->refs.ref[b->worker[i].part[j].seq].digest += b->worker[i].part[j].digest;
	if (!b->choice.backend->builder_digests)
		return KH_OK;
	sum = kh_array(b->refs.n, sizeof *sum, err);
	rc = sum ? b->choice.backend->builder_digests(b->builder, sum, err) : KH_ENOMEM;
	for (size_t i = 0; i < b->refs.n && !rc; i++)
		b->refs.ref[i].digest += sum[i];
	free(sum);
	return rc;
}

/* --- k -------------------------------------------------------------------------------- */
static void set_k(struct build *b, uint32_t k)
{
	b->sketch.k = k;
	if (b->sketch.scheme == KH_SYNCMER && b->o->sketch.s == 0)
		b->sketch.s = kh_default_s(k);
}

/* Reads the references.  Without -k the right k is known only behind the last base: it is
 * guessed from the sizes, and if the guess was wrong all is read again. */
static int read_all(struct build *b, kh_err *err)
{
	uint64_t bases = 0;
	int rc = kh_build_deal(b, &bases, err);

	if (rc || b->sketch.k)
		return rc ? rc : read_refs(b, err);
	set_k(b, kh_default_k(bases));
	rc = kh_sketch_check(&b->sketch, err);
	if (!rc)
		rc = read_refs(b, err);
	if (rc || kh_default_k(b->all.bases) == b->sketch.k)
		return rc;
	bases = b->all.bases;
	kh_log(KH_INFO, "%" PRIu64 " bases call for k = %u, not %u: reading again", bases,
	       kh_default_k(bases), b->sketch.k);
	forget_refs(b);
	set_k(b, kh_default_k(bases));
	rc = kh_sketch_check(&b->sketch, err);
	return rc ? rc : read_refs(b, err);
}

/* --- taxa ------------------------------------------------------------------------------ */
/* What headers and tables say of each sequence. */
static int look_up(struct build *b, uint32_t *taxid, kh_err *err)
{
	const kh_refs *r = &b->refs;
	int rc = KH_OK;

	for (size_t i = 0; i < b->o->n_maps && !rc; i++)
		rc = kh_idmap_load(r->map, b->o->maps[i], err);
	for (size_t i = 0; i < r->n && !rc; i++)
		taxid[i] = r->ref[i].header_taxid ? r->ref[i].header_taxid
						  : kh_idmap_taxid(r->map, r->number[i]);
	return rc;
}

static int check_unmapped(const struct build *b, kh_err *err)
{
	const size_t n = b->refs.n, unmapped = n - b->n_targets;
	size_t shown = 0;

	if (n == 0 && b->o->max_unmapped < 1)
		return kh_fail(err, KH_EFORMAT, "the references hold no sequence");
	if (unmapped == 0)
		return KH_OK;
	kh_log(KH_WARN, "%zu of %zu sequences have no taxon and are left out", unmapped, n);
	for (size_t i = 0; i < n && shown < 10; i++)
		if (b->to[i] == KH_DROP) {
			kh_log(KH_WARN, "  no taxon: %s", kh_refs_id(&b->refs, i));
			shown++;
		}
	if (unmapped > shown)
		kh_log(KH_WARN, "  and %zu more: kmerhash inspect --unmapped lists them", unmapped - shown);
	if (b->o->max_unmapped >= 1)
		return KH_OK;
	if (b->n_targets == 0)
		return kh_fail(err, KH_EFORMAT, "none of %zu sequences has a taxon of this taxonomy "
			       "(build --allow-unmapped makes an empty database)", n);
	if ((double)unmapped > b->o->max_unmapped * (double)n)
		return kh_fail(err, KH_EFORMAT, "%zu of %zu sequences have no taxon, more than "
			       "build --max-unmapped %g allows", unmapped, n, b->o->max_unmapped);
	return KH_OK;
}

/* Which sequences are targets, their bins without those of the others, and the tree of
 * their taxa. */
static int map_targets(struct build *b, const uint32_t *said, kh_err *err)
{
	const size_t n = b->refs.n;
	uint32_t shift = 0;
	int rc;

	b->target = kh_array(n, sizeof *b->target, err);
	b->first = kh_array(n, sizeof *b->first, err);
	b->taxon = kh_array(n, sizeof *b->taxon, err);
	b->to = kh_array(n, sizeof *b->to, err);
	b->old_first = kh_array(b->n_own, sizeof *b->old_first, err);
	if (!b->target || !b->first || !b->taxon || !b->to || !b->old_first)
		return KH_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t first = b->refs.ref[i].first_bin;
		uint32_t next = i + 1 < n ? b->refs.ref[i + 1].first_bin : (uint32_t)b->refs.next_bin;
		uint32_t taxid = said[i] ? kh_taxdump_find(b->dump, said[i]) : 0;

		if (i - b->first_seq < b->n_own)
			b->old_first[i - b->first_seq] = first - b->first_bin;
		b->to[i] = taxid ? first - shift : KH_DROP;
		if (!taxid) {
			shift += next - first;
			continue;
		}
		b->target[b->n_targets] = (uint32_t)i;
		b->first[b->n_targets] = first - shift;
		b->taxon[b->n_targets++] = taxid;
	}
	rc = kh_comm_rank(b->o->comm) == 0 ? check_unmapped(b, err) : KH_OK;
	if (!rc)
		rc = kh_taxonomy_prune(&b->tax, b->dump, b->taxon, b->n_targets, err);
	for (uint32_t i = 0; i < b->n_targets && !rc; i++)
		b->taxon[i] = kh_taxonomy_find(b->tax, b->taxon[i]);
	b->sum->header.bins = b->refs.next_bin - shift;
	return rc;
}

static int find_taxa(struct build *b, kh_err *err)
{
	double t = kh_seconds();
	uint32_t *taxid = kh_array(b->refs.n, sizeof *taxid, err);
	int rc = taxid ? KH_OK : KH_ENOMEM;

	if (!rc && kh_comm_rank(b->o->comm) == 0)
		rc = look_up(b, taxid, err);
	if (!rc)
		rc = kh_build_share(b, taxid, b->refs.n * sizeof *taxid, err);
	if (!rc)
		rc = map_targets(b, taxid, err);
	if (!rc)
		rc = kh_build_same_taxa(b, err);
	free(taxid);
	b->sum->seconds_map = kh_seconds() - t;
	return rc;
}

int kh_build(const kh_build_options *o, kh_build_summary *sum, kh_err *err)
{
	struct build b = { .o = o, .sum = sum, .sketch = o->sketch };
	int rc;

	*sum = (kh_build_summary) { .backend = NULL };
	b.gap = 1 + (o->max_span + o->sketch.stride - 1) / o->sketch.stride;
	b.worker = kh_array(o->threads, sizeof *b.worker, err);
	rc = b.worker ? kh_backend_choose(&b.choice, o->device, err) : KH_ENOMEM;
	if (!rc && b.sketch.k) {
		set_k(&b, b.sketch.k);
		rc = kh_sketch_check(&b.sketch, err);
	}
	if (!rc)
		rc = kh_taxdump_open(&b.dump, o->taxonomy, err);
	if (!rc)
		rc = kh_build_agree(&b, err);
	if (!rc)                        /* early: a folder that cannot be written to is told at once */
		rc = kh_build_create(&b, err);
	if (!rc && !(rc = read_all(&b, err)) && !(rc = add_up_digests(&b, err)) &&
	    !(rc = kh_build_gather(&b, err)) && !(rc = find_taxa(&b, err)))
		rc = kh_build_write(&b, err);
	if (rc)                         /* first: the others may wait for what is closed below */
		kh_comm_fail(o->comm, err);
	sum->backend = b.choice.backend ? b.choice.backend->name : NULL;
	kh_db_abandon(b.w);
	forget_refs(&b);
	for (unsigned i = 0; b.worker && i < o->threads; i++) {
		free(b.worker[i].pieces.v);
		free(b.worker[i].part);
	}
	free(b.worker);
	kh_taxdump_close(b.dump);
	kh_taxonomy_free(b.tax);
	free(b.target);
	free(b.first);
	free(b.taxon);
	free(b.to);
	free(b.old_first);
	free(b.dir);
	for (unsigned i = 0; b.kept && i < KH_RANGES; i++)
		free((void *)b.kept[i].p);
	free(b.kept);
	return rc;
}
