/* data.c - references in memory, and reads cut from them: as a file and as jobs */
#include <config.h>
#include "tests/bench/program/bench_in.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "build/refs.h"

enum { LEN = 150 };

/* --- references ------------------------------------------------------------------- */
void kh_bench_refs_clear(kh_bench_refs *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->item[i].bases);
		free(r->item[i].amb);
		free(r->item[i].piece);
		free(r->item[i].pairs.key);
		free(r->item[i].pairs.loc);
	}
	free(r->item);
	free(r->first);
	free(r->taxon);
	free(r->species);
}

static int keep(kh_bench_refs *r, const kh_block *blk, const kh_pieces *p, kh_err *err)
{
	int rc = kh_grow((void **)&r->item, &r->cap, r->n + 1, sizeof *r->item, err);
	kh_bench_item *x;

	if (rc)
		return rc;
	x = &r->item[r->n++];
	*x = (kh_bench_item) { .n_words = blk->n_words, .n = p->n };
	x->bases = kh_array(x->n_words + 2, sizeof *x->bases, err);
	x->amb = kh_array(x->n_words + 2, sizeof *x->amb, err);
	x->piece = kh_array(p->n, sizeof *x->piece, err);
	if (!x->bases || !x->amb || !x->piece)
		return KH_ENOMEM;
	memcpy(x->bases, blk->bases, x->n_words * sizeof *x->bases);
	memcpy(x->amb, blk->amb, x->n_words * sizeof *x->amb);
	if (p->n)
		memcpy(x->piece, p->v, p->n * sizeof *x->piece);
	for (size_t i = 0; i < p->n; i++) {
		r->starts += p->v[i].starts;
		r->bases += p->v[i].bases;
	}
	return KH_OK;
}

/* Numbers the bins of the sequences, which all become targets of the root. */
static int targets(kh_bench_refs *r, const kh_refs *refs, kh_err *err)
{
	r->n_seq = (uint32_t)refs->n;
	r->first = kh_array(refs->n + 1, sizeof *r->first, err);
	r->taxon = kh_array(refs->n + 1, sizeof *r->taxon, err);
	r->species = kh_array(refs->n, sizeof *r->species, err);
	if (!r->first || !r->taxon || !r->species)
		return KH_ENOMEM;
	for (size_t i = 0; i < refs->n; i++) {
		r->first[i] = refs->ref[i].first_bin;
		r->species[i] = r->n_seq;
	}
	r->first[refs->n] = (uint32_t)refs->next_bin;
	if (r->starts == 0)
		return kh_fail(err, KH_EFORMAT, "the references are too short to be sampled");
	return KH_OK;
}

static int load(kh_bench_refs *r, kh_feed *feed, kh_refs *refs, kh_err *err)
{
	kh_pieces p = { .v = NULL };
	kh_jobs none;
	kh_block *blk;
	int rc = KH_OK;

	while (!rc && r->bases < KH_BENCH_BASES && (rc = kh_feed_next(feed, &blk, err)) == 1) {
		rc = kh_feed_commit(feed, blk, &none, err);
		if (!rc)
			rc = kh_refs_add(
				refs, blk,
				kh_refs_path(r->b->o->refs, r->b->o->n_refs, blk->file), &p, err);
		if (!rc)
			rc = keep(r, blk, &p, err);
		kh_feed_release(feed, blk);
	}
	free(p.v);
	return rc;
}

int kh_bench_refs_load(kh_bench_refs *r, kh_bench *b, kh_err *err)
{
	const uint64_t bytes = (uint64_t)b->refs->bytes;
	const uint32_t k = kh_default_k(bytes), stride = kh_default_stride(bytes);
	kh_feed_options fo = { .path = { b->o->refs }, .n_path = { b->o->n_refs }, .pieces = true,
			       .workers = 1 };
	kh_refs refs = { .ref = NULL };
	kh_monitor *m = NULL;
	kh_feed *feed = NULL;
	int rc;

	*r = (kh_bench_refs) { .b = b,
			       .sampling = { KH_SYNCMER, k, kh_default_s(bytes, k, stride), stride,
					     0, 1 } };
	fo.front = kh_refs_front(&r->sampling);
	rc = kh_refs_init(&refs, &r->sampling, 1, err);
	refs.allow_duplicates = true;
	if (!rc && !(rc = kh_monitor_new(&m, err)) && !(rc = kh_feed_open(&feed, &fo, m, err)))
		rc = load(r, feed, &refs, err);
	if (!rc)
		rc = targets(r, &refs, err);
	kh_feed_close(feed);
	kh_monitor_free(m);
	kh_refs_clear(&refs);
	return rc;
}

/* --- reads ------------------------------------------------------------------------ */
/* Pieces that reads are cut from, and where each begins if all stand in a row. */
struct source {
	const kh_bench_item *item;
	const kh_piece *piece;
	uint64_t from;
};

static int sources(const kh_bench_refs *r, struct source **out, size_t *n, uint64_t *total,
		   kh_err *err)
{
	size_t cap = 0;
	int rc = KH_OK;

	for (size_t i = 0; i < r->n && !rc; i++)
		for (size_t j = 0; j < r->item[i].n && !rc; j++) {
			const kh_piece *p = &r->item[i].piece[j];

			if (p->bases < LEN)
				continue;
			rc = kh_grow((void **)out, &cap, *n + 1, sizeof **out, err);
			if (!rc)
				(*out)[(*n)++] = (struct source) { &r->item[i], p, *total };
			*total += p->bases;
		}
	return rc || *n
		       ? rc
		       : kh_fail(err, KH_EFORMAT, "the references are too short to cut reads from");
}

/* Writes a record of FASTQ with the bases from `at` of the row; returns its end. */
static char *cut(char *to, const struct source *s, size_t n, uint64_t at, uint32_t number)
{
	size_t lo = 0, hi = n;

	while (hi - lo > 1) {
		size_t mid = (lo + hi) / 2;

		if (s[mid].from <= at)
			lo = mid;
		else
			hi = mid;
	}
	at -= s[lo].from;
	if (at > s[lo].piece->bases - LEN)
		at = s[lo].piece->bases - LEN;
	at += s[lo].piece->at;
	to += snprintf(to, 32, "@read%u\n", number);
	for (int i = 0; i < LEN; i++)
		*to++ = kh_packed_amb(s[lo].item->amb, at + (uint64_t)i)
				? 'N' : "ACGT"[kh_packed_base(s[lo].item->bases, at + (uint64_t)i)];
	memcpy(to, "\n+\n", 3);
	memset(to + 3, 'F', LEN);
	to[3 + LEN] = '\n';
	return to + 4 + LEN;
}

static int make(kh_bench_reads *r, const kh_bench_refs *refs, kh_err *err)
{
	struct source *s = NULL;
	uint64_t total = 0;
	size_t n = 0;
	char *text = kh_array(r->reads, 2 * LEN + 64, err), *to = text;
	int rc = text ? sources(refs, &s, &n, &total, err) : KH_ENOMEM;

	for (uint32_t i = 0; i < r->reads && !rc; i++)
		to = cut(to, s, n, kh_fmix64(i + 1) % total, i);
	for (char *from = text; from < to && !rc;) {
		ssize_t m = write(r->fd, from, (size_t)(to - from));

		if (m < 0 && errno != EINTR)
			rc = kh_fail_errno(err, r->b->o->dir);
		from += m > 0 ? m : 0;
	}
	free(text);
	free(s);
	return rc;
}

/* --- jobs ------------------------------------------------------------------------- */
static int add_jobs(kh_bench_reads *r, const kh_jobs *jobs, kh_err *err)
{
	int rc = kh_grow((void **)&r->job, &r->cap_job, r->n + jobs->n, sizeof *r->job, err);

	if (rc || jobs->n == 0)
		return rc;
	memcpy(r->job + r->n, jobs->job, jobs->n * sizeof *r->job);
	r->n += jobs->n;
	return KH_OK;
}

/* Keeps all blocks, as jobs point into them. */
static int parse_all(kh_bench_reads *r, kh_err *err)
{
	const size_t block_size = r->block_size ? r->block_size : KH_BENCH_STEP;
	kh_feed_options fo = { .path = { &r->path }, .n_path = { 1 }, .block_size = block_size,
			       .workers = 1,
			       .held = (unsigned)((size_t)r->file.bytes / block_size + 1) };
	kh_block *blk;
	kh_jobs jobs;
	int rc = kh_monitor_new(&r->m, err);

	if (!rc)
		rc = kh_feed_open(&r->feed, &fo, r->m, err);
	while (!rc && (rc = kh_feed_next(r->feed, &blk, err)) == 1) {
		rc = kh_grow((void **)&r->block, &r->cap_block, r->n_block + 1, sizeof *r->block,
			     err);
		if (!rc)
			r->block[r->n_block++] = blk;
		if (!rc)
			rc = kh_feed_commit(r->feed, blk, &jobs, err);
		if (!rc)
			rc = add_jobs(r, &jobs, err);
	}
	r->call = rc ? NULL : kh_array(r->n, sizeof *r->call, err);
	for (size_t i = 0; r->call && i < r->n; i++) {
		r->call[i] = kh_array(r->job[i].n, sizeof **r->call, err);
		if (!r->call[i])
			return KH_ENOMEM;
	}
	return rc ? rc : r->call ? KH_OK : KH_ENOMEM;
}

int kh_bench_reads_open(kh_bench_reads *r, const kh_bench_refs *refs, size_t block_size,
			kh_err *err)
{
	int rc;

	*r = (kh_bench_reads) { .b = refs->b, .block_size = block_size };
	r->fd = kh_bench_file(r->b, err);
	if (r->fd < 0)
		return r->fd;
	snprintf(r->name, sizeof r->name, "/dev/fd/%d", r->fd);
	r->path = r->name;
	/* more of them would find what they need in the caches */
	r->reads =
		refs->bases / 4 < KH_BENCH_READS ? (uint32_t)(refs->bases / 4) + 1 : KH_BENCH_READS;
	r->file = (kh_bench_files) { .path = &r->path, .n = 1, .reads = true };
	rc = make(r, refs, err);
	if (!rc)
		rc = kh_bench_files_open(&r->file, err);
	return rc ? rc : parse_all(r, err);
}

void kh_bench_reads_close(kh_bench_reads *r)
{
	for (size_t i = 0; r->call && i < r->n; i++)
		free(r->call[i]);
	for (size_t i = 0; i < r->n; i++)
		kh_feed_release_job(r->feed, &r->job[i]);
	for (size_t i = 0; i < r->n_block; i++)
		kh_feed_release(r->feed, r->block[i]);
	free(r->call);
	free(r->job);
	free(r->block);
	kh_feed_close(r->feed);
	kh_monitor_free(r->m);
	kh_bench_files_close(&r->file);
	if (r->fd > 0)
		close(r->fd);
}
