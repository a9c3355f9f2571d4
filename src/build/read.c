/* read.c - a pass over the references: numbers their records and bins, keeps their text, makes
 * checksums; k-mers are sampled later, in text.c */
#include <config.h>
#include "build/build_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/progress.h"
#include "base/threads.h"

/* What a worker spends its time on: parsing, what depends on the order of blocks, text that is
 * kept, checksums. */
enum { READ, COMMIT, KEEP, ADD };

/* What depends on the order of blocks: numbers records and their bins. */
static int number_records(void *arg, kh_block *blk, kh_err *err)
{
	struct build *b = arg;
	const char *path = kh_refs_path(b->o->refs, b->o->n_refs, blk->file);

	return kh_refs_add(&b->refs, blk, path, blk->user, err);
}

static int commit(struct build *b, kh_block *blk, kh_err *err)
{
	kh_jobs none;
	const int rc = kh_feed_commit(b->in.feed, blk, &none, err);

	if (rc)
		return rc;
	kh_step s = { .doing = "read", .started = b->in.started };

	kh_feed_progress(b->in.feed, &s.done, &s.total);
	kh_progress(&s);
	return KH_OK;
}

/* Is there a k-mer without an unknown base?  Mostly the first one is. */
static bool has_kmer(const kh_block_pieces *s, const kh_piece *p, uint32_t k)
{
	const uint64_t end = p->starts > 0 ? p->at + p->starts + k - 1 : p->at;
	uint32_t run = 0;

	for (uint64_t i = p->at; i < end && run < k; i++)
		run = kh_packed_amb(s->amb, i) ? 0 : run + 1;
	return run == k;
}

/* Several workers may read the bins of one sequence, so each keeps a list of its own of
 * digests. */
static int add_digests(struct worker *w, const kh_block_pieces *s, const kh_sampling *rule,
		       kh_err *err)
{
	int rc = KH_GROW(w->part, w->cap, w->n + s->n, err);

	for (size_t i = 0; i < s->n && !rc; i++)
		w->part[w->n++] =
			(struct part) { s->piece[i].seq, kh_digest(s, &s->piece[i], rule->stride),
					has_kmer(s, &s->piece[i], rule->k) };
	return rc;
}

static int read_blocks(void *arg, unsigned worker, kh_err *err)
{
	struct build *b = arg;
	struct worker *w = &b->in.worker[worker];
	kh_block *blk;
	int rc;

	kh_timer_start(&w->timer);
	while ((rc = kh_feed_next(b->in.feed, &blk, err)) == 1) {
		kh_timer_mark(&w->timer, READ);
		blk->user = &w->pieces;
		rc = commit(b, blk, err);
		kh_timer_mark(&w->timer, COMMIT);
		if (!rc) {
			kh_block_pieces s = { blk->ticket, blk->bases, blk->amb, w->pieces.v,
					      w->pieces.n };

			rc = kh_build_text_add(b, &s, err);
			kh_timer_mark(&w->timer, KEEP);
			if (!rc)
				rc = add_digests(w, &s, &b->sampling, err);
		}
		kh_feed_release(b->in.feed, blk);
		kh_timer_mark(&w->timer, ADD);
		if (rc)
			return rc;
	}
	if (rc == 1)
		rc = KH_OK;
	kh_timer_mark(&w->timer, READ);
	return rc;
}

static void show_parts(const struct build *b)
{
	static const char *const name[] = { "reading", "committing", "keeping text",
					    "checksums", NULL };
	kh_timer sum = { 0 };

	for (unsigned i = 0; i < b->o->threads; i++)
		kh_timer_add(&sum, &b->in.worker[i].timer);
	kh_timer_show(&sum, b->o->threads, name);
}

static int check_bins(const struct build *b, kh_err *err)
{
	uint64_t stride = b->sampling.stride;

	if (b->all.bins <= UINT32_MAX)
		return KH_OK;
	while (stride < KH_TEXT_SPAN && b->all.bases / stride + 2 * b->all.sequences > UINT32_MAX)
		stride *= 2;
	return kh_fail(err, KH_EUSAGE,
		       "%" PRIu64 " bins of %u bases are more than 32 bits can number: "
		       "use --set stride %" PRIu64 " or more",
		       b->all.bins, b->sampling.stride, stride);
}

static int open_feed(struct build *b, kh_err *err)
{
	const kh_build_options *o = b->o;
	const kh_feed_options fo = { .path = { o->refs },
				     .n_path = { o->n_refs },
				     .pieces = true,
				     .allow_no_eof = o->allow_no_eof,
				     .block_size = kh_build_block_size(b),
				     .workers = o->threads,
				     .threads = o->threads,
				     .inflate = o->inflate,
				     .front = kh_refs_front(&b->sampling),
				     .committed = number_records,
				     .arg = b };
	int rc = kh_monitor_new(&b->in.m, err);

	if (!rc)
		rc = kh_feed_open(&b->in.feed, &fo, b->in.m, err);
	return rc;
}

static int open_pass(struct build *b, kh_err *err)
{
	const kh_build_options *o = b->o;
	int rc = kh_refs_init(&b->refs, &b->sampling, err);

	b->refs.allow_duplicates = o->allow_duplicates;
	b->refs.no_header_taxid = !o->taxonomy;
	b->refs.lineages = o->header_lineages ? o->lineages : NULL;
	if (!rc)
		rc = kh_build_base_refs(b, err);
	b->refs.file_taxid = o->file_taxid;
	if (!rc && o->n_refs > 0)
		rc = open_feed(b, err);
	if (!rc)
		rc = kh_store_new(&b->in.store, b->in.memory, b->o->db, err);
	if (!rc)
		rc = kh_build_text_start(b, err);
	b->in.started = kh_seconds();
	return rc;
}

int kh_build_read(struct build *b, kh_err *err)
{
	int rc = open_pass(b, err);

	if (!rc && b->in.feed)
		rc = kh_build_plan_spill(b, err);
	if (!rc && b->in.feed) {
		rc = kh_threads_run(b->in.m, b->o->threads, read_blocks, b, err);
		show_parts(b);
	}
	kh_progress_end();
	b->all = (struct totals) { b->refs.bases, b->refs.next_bin, b->refs.n };
	b->sum->seconds_read += kh_seconds() - b->in.started;
	if (!rc)
		rc = kh_build_same_files(b, err);
	return rc ? rc : check_bins(b, err);
}

void kh_build_forget(struct build *b)
{
	kh_store_free(b->in.store);
	b->in.store = NULL;
	kh_build_text_free(b);
	kh_feed_close(b->in.feed);
	b->in.feed = NULL;
	kh_refs_clear(&b->refs);
	kh_monitor_free(b->in.m);
	b->in.m = NULL;
	for (unsigned i = 0; b->in.worker && i < b->o->threads; i++)
		b->in.worker[i].n = 0;
}

void kh_build_add_digests(struct build *b)
{
	for (unsigned i = 0; i < b->o->threads; i++) {
		const struct worker *w = &b->in.worker[i];

		for (size_t j = 0; j < w->n; j++) {
			kh_ref *r = &b->refs.ref[w->part[j].seq];

			r->digest += w->part[j].digest;
			r->known |= w->part[j].known;
		}
	}
}
