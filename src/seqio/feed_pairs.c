/*
 * feed_pairs.c - turns records into fragments: finds, checks and counts mates
 *
 * With two streams, committed blocks with records that have no mate yet wait in a list. A failure
 * of one stream is raised when all pairs in front of it have been checked, so the error that is
 * reported is the first one in the order of records.
 */
#include <config.h>
#include "seqio/feed.h"

#include <stdio.h>
#include <string.h>
#include "seqio/feed_in.h"
#include "base/mem.h"

typedef unsigned long long ull;

/* The hashes of a block's names, from its first record on. */
static const uint64_t *mate_hashes(const kh_block *p)
{
	const struct feed_block *b = p->priv;

	return b->mate.v + (p->rec - b->parsed.rec);
}

/* Of a name: its first word, or all of the header. */
static int shown_len(const kh_record *r, bool all)
{
	const uint32_t n = all ? r->name_len : r->id_len;

	return n > 80 ? 80 : (int)n;
}

/* Makes the names of a committed block readable, if its text was not kept. */
static int names_again(const kh_feed *f, struct feed_block *b, kh_err *err)
{
	return f->o.text == KH_FEED_BASES ? feed_text_again(f, b, err) : KH_OK;
}

/* same_mate: they have one name, but are not mates 1 and 2. */
static int fail_names(kh_feed *f, const kh_job *j, size_t i, bool same_mate, kh_err *err)
{
	const kh_block *b[2];
	const kh_record *r[2];
	int rc;

	kh_job_records(j, i, b, r);
	for (int k = 0; k < 2; k++)
		if ((rc = names_again(f, b[k]->priv, err)))
			return rc;
	return kh_fail(err, KH_EFORMAT,
		       "%s%s%s: pair %llu: the mates have %s, '%.*s' and '%.*s' "
		       "(--set no-mate-check takes them as they are)",
		       feed_file_name(&f->st[b[0]->stream], b[0]->file), b[0] == b[1] ? "" : ", ",
		       b[0] == b[1] ? "" : feed_file_name(&f->st[b[1]->stream], b[1]->file),
		       (ull)(j->first + i + 1),
		       same_mate ? "the same number" : "different names",
		       shown_len(r[0], same_mate), b[0]->text + r[0]->name,
		       shown_len(r[1], same_mate), b[1]->text + r[1]->name);
}

static int check_mates(kh_feed *f, const kh_job *j, kh_err *err)
{
	const kh_block *a = j->block[0], *b = j->block[1] ? j->block[1] : a;

	if (f->o.no_mate_check)
		return KH_OK;
	size_t step = j->interleaved ? 2 : 1;
	size_t from = j->interleaved ? j->from[0] + 1 : j->from[1];
	const uint64_t *ha = mate_hashes(a) + j->from[0], *hb = mate_hashes(b) + from;
	for (size_t i = 0; i < j->n; i++) {
		const uint64_t x = ha[i * step], y = hb[i * step];

		if (!feed_same_names(x, y) || feed_same_mate(x, y))
			return fail_names(f, j, i, feed_same_names(x, y), err);
		f->n_swapped += feed_swapped(x, y);
	}
	return KH_OK;
}

int feed_check_pairs(kh_feed *f, kh_block *p, kh_err *err)
{
	const kh_job j = {
		.first = f->n_frag, .n = p->n_rec / 2, .block = { p }, .interleaved = true
	};

	return j.n > 0 ? check_mates(f, &j, err) : KH_OK;
}

/* --- jobs ------------------------------------------------------------------------ */
kh_job_side kh_job_side_of(const kh_job *j, int mate)
{
	kh_job_side s = { .block = j->block[mate] };

	if (!s.block)
		return s;
	s.rec = s.block->rec + j->from[mate];
	s.n = j->interleaved ? 2 * j->n : j->n;
	if (s.n == s.block->n_rec) {            /* most often: no need to look at each */
		s.to = s.block->n_words;
		return s;
	}
	s.from = UINT64_MAX;
	for (size_t i = 0; i < s.n; i++) {
		const uint64_t from = s.rec[i].seq / 32,
			       to = (s.rec[i].seq + s.rec[i].len + 31) / 32;

		s.from = from < s.from ? from : s.from;
		s.to = to > s.to ? to : s.to;
	}
	return s;
}

/* Numbers and checks a job, holds its blocks, and adds it to those that b has completed. */
static int add_job(kh_feed *f, struct feed_block *b, const kh_job *job, kh_err *err)
{
	kh_job j = *job;
	int rc = KH_GROW(b->jobs.v, b->jobs.cap, b->jobs.n + 1, err);

	j.first = f->n_frag;
	if (!rc && (j.interleaved || j.block[1]))
		rc = check_mates(f, &j, err);
	if (rc)
		return rc;
	j.ticket = f->n_job++;
	f->n_frag += j.n;
	feed_ref(f, j.block[0]->priv);
	if (j.block[1])
		feed_ref(f, j.block[1]->priv);
	b->jobs.v[b->jobs.n++] = j;
	return KH_OK;
}

/* With one stream, all records of a block are one job. */
static int make_single(kh_feed *f, struct feed_block *b, kh_err *err)
{
	const kh_job j = {
		.n = f->o.interleaved ? b->pub.n_rec / 2 : b->pub.n_rec,
		.block = { &b->pub, NULL }, .interleaved = f->o.interleaved,
	};

	return b->pub.n_rec > 0 ? add_job(f, b, &j, err) : KH_OK;
}

/* --- two streams ----------------------------------------------------------------- */
static struct feed_wait *waiting(struct feed_stream *st)
{
	return st->wait.n > 0 ? &st->wait.v[st->wait.head] : NULL;
}

static void wait_pop(kh_feed *f, struct feed_stream *st)
{
	feed_unref(f, st->wait.v[st->wait.head].b);
	st->wait.head = (st->wait.head + 1) % f->n_blocks;
	st->wait.n--;
}

/* All records of the first waiting block have their mates. */
static void wait_over(kh_feed *f, struct feed_stream *st)
{
	if (f->o.text == KH_FEED_BASES)
		feed_drop_text(f, st->wait.v[st->wait.head].b);
	wait_pop(f, st);
}

/* Has the stream s a record in a file of which the other has no more?  Remembers its name; from now
 * on its records are only counted. 1, 0, < 0. */
static int find_orphan(kh_feed *f, int s, kh_err *err)
{
	struct feed_stream *st = &f->st[s], *other = &f->st[!s];
	const struct feed_wait *w = waiting(st), *o = waiting(other);

	if (!w || other->counted.files <= w->b->pub.file
	    || (o && o->b->pub.file == w->b->pub.file))
		return 0;
	int rc = names_again(f, w->b, err);
	if (rc)
		return rc;
	const kh_block *p = &w->b->pub;
	const kh_record *r = &p->rec[w->from];
	snprintf(f->orphan_name, sizeof f->orphan_name, "%.*s", shown_len(r, false),
		 p->text + r->name);
	f->orphan_file = p->file;
	pthread_mutex_lock(&f->lock);
	f->orphan = 1 + s;
	pthread_mutex_unlock(&f->lock);
	while (st->wait.n > 0)
		wait_pop(f, st);
	while (other->wait.n > 0)
		wait_pop(f, other);
	return 1;
}

/* Makes a job of the pairs that the first waiting blocks of both streams have in common. 1; 0:
 * there are none; < 0. */
static int make_pairs(kh_feed *f, struct feed_block *done, kh_err *err)
{
	struct feed_wait *a = waiting(&f->st[0]), *b = waiting(&f->st[1]);

	if (!a || !b || a->b->pub.file != b->b->pub.file)
		return 0;
	size_t na = a->b->pub.n_rec - a->from, nb = b->b->pub.n_rec - b->from;
	const kh_job j = {
		.n = na < nb ? na : nb, .block = { &a->b->pub, &b->b->pub },
		.from = { a->from, b->from },
	};
	int rc = add_job(f, done, &j, err);
	if (rc)
		return rc;
	a->from += j.n;
	b->from += j.n;
	if (j.n == na)
		wait_over(f, &f->st[0]);
	if (j.n == nb)
		wait_over(f, &f->st[1]);
	return 1;
}

static int fail_unequal(const kh_feed *f, kh_err *err)
{
	size_t i = f->orphan_file;
	int s = f->orphan - 1;
	const struct feed_stream *more = &f->st[s], *less = &f->st[!s];

	return kh_fail(err, KH_EFORMAT,
		       "%s has %llu record%s, %s has %llu: '%s', record %llu, is "
		       "the first without a mate", feed_file_name(more, i),
		       (ull)more->counted.v[i], kh_plural(more->counted.v[i]),
		       feed_file_name(less, i), (ull)less->counted.v[i], f->orphan_name,
		       (ull)less->counted.v[i] + 1);
}

/* Has the other stream come so far that nothing of it can be in front of the failure? */
static bool is_due(const kh_feed *f, int s)
{
	const struct feed_stream *st = &f->st[s], *o = &f->st[!s];

	if (!st->failed)
		return false;
	if (o->failed)
		return st->n_rec < o->n_rec || (st->n_rec == o->n_rec && s == 0);
	return o->n_rec + (s == 0) > st->n_rec || o->finished
	       || o->counted.files > st->counted.files;
}

static int end_of_pairs(kh_feed *f, kh_err *err)
{
	for (int s = 0; s < 2; s++)
		if (is_due(f, s)) {
			if (err)
				*err = f->st[s].err;
			return f->st[s].err.code;
		}
	if (f->orphan && f->st[f->orphan - 1].counted.files > f->orphan_file)
		return fail_unequal(f, err);
	return KH_OK;
}

int feed_make_jobs(kh_feed *f, struct feed_block *b, kh_err *err)
{
	int rc;

	if (f->n_streams == 1)
		return make_single(f, b, err);
	while ((rc = make_pairs(f, b, err)) > 0)
		;
	for (int s = 0; s < 2 && !rc && !f->orphan; s++)
		rc = find_orphan(f, s, err);
	return rc < 0 ? rc : end_of_pairs(f, err);
}
