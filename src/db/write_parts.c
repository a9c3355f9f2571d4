/*
 * write_parts.c - the index of a database, written by several processes
 *
 * Checksums are of blocks, so each block is written by one process: the one that has its last
 * byte. What a process has behind its last whole block goes to the next one, which puts it in
 * front of its own; what the last one has left goes to process 0, which writes on. A process
 * whose bytes do not reach the end of a block passes on what it was given as well.
 */
#include <config.h>
#include "db/write_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* threads, each with a block: no disk gets faster with more */
enum { WRITERS = 8 };

/* Of the bytes of all processes, from .. to - 1 are of this process. */
struct part {
	kh_db_writer *w;
	const kh_db_stretch *s;
	size_t n;
	uint64_t from, to, all;
	kh_message head; /* of the process before: up to `from`, from the start of a block */
	uint64_t first, n_blocks;       /* the blocks that this process writes */
	_Atomic uint64_t next;
	uint64_t *sum;
};

const char *kh_db_file(const kh_db_writer *w)
{
	return kh_out_file(w->out);
}

int kh_db_join(kh_db_writer **out, const char *path, const char *file, kh_err *err)
{
	kh_db_writer *w = kh_array(1, sizeof *w, err);
	int rc = w ? kh_out_join(&w->out, path, file, err) : KH_ENOMEM;

	if (rc) {
		free(w);
		return rc;
	}
	*out = w;
	return KH_OK;
}

/* Copies n bytes of this process, from number `at` on. */
static void copy_out(const struct part *p, uint64_t at, char *to, size_t n)
{
	for (size_t i = 0; n > 0; i++) {
		const kh_db_stretch *s = &p->s[i];
		size_t m;

		if (at >= s->n) {
			at -= s->n;
			continue;
		}
		m = s->n - (size_t)at < n ? s->n - (size_t)at : n;
		memcpy(to, (const char *)s->p + at, m);
		to += m;
		n -= m;
		at = 0;
	}
}

/* Copies n bytes from the start of the block that `from` lies in: fewer than a block. */
static void copy_block(const struct part *p, uint64_t at, char *to, size_t n)
{
	if (at < p->from) {
		memcpy(to, p->head.p, p->head.n);
		to += p->head.n;
		n -= p->head.n;
		at = p->from;
	}
	copy_out(p, at - p->from, to, n);
}

static int write_blocks(void *arg, unsigned worker, kh_err *err)
{
	struct part *p = arg;
	char *block = malloc(KH_DB_BLOCK);
	int rc = block ? KH_OK : kh_fail_nomem(err);

	(void)worker;
	for (uint64_t i; !rc && (i = p->next++) < p->n_blocks;) {
		const uint64_t at = (p->first + i) * KH_DB_BLOCK;

		copy_block(p, at, block, KH_DB_BLOCK);
		p->sum[i] = XXH3_64bits(block, KH_DB_BLOCK);
		rc = kh_out_pwrite(p->w->out, block, KH_DB_BLOCK, KH_DB_PAGE + at, err);
	}
	free(block);
	return rc;
}

/* --- tails ------------------------------------------------------------------------ */
static int post_tail(const struct part *p, kh_comm *c, uint64_t at, kh_err *err)
{
	size_t n = (size_t)(p->to - at);
	char *tail = malloc(n ? n : 1);

	if (!tail)
		return kh_fail_nomem(err);
	copy_block(p, at, tail, n);
	return kh_comm_post(c, (kh_comm_self(c) + 1) % kh_comm_size(c), KH_CHANNEL_TAIL, tail, n,
			    err);
}

/* Sends the next process its head first, if that does not depend on ours, so that processes need
 * not wait in a row. */
static int swap_tails(struct part *p, kh_comm *c, kh_err *err)
{
	const uint64_t last = p->to - p->to % KH_DB_BLOCK;
	const bool own = last >= p->from;
	int rc = own ? post_tail(p, c, last, err) : KH_OK;

	if (!rc && kh_comm_self(c) > 0)
		rc = kh_comm_take_from(c, kh_comm_self(c) - 1, KH_CHANNEL_TAIL, &p->head, err);
	if (!rc && p->head.n != p->from % KH_DB_BLOCK)
		rc = kh_fail(err, KH_EIO, "process %u sent %zu bytes of a block, not %llu",
			     p->head.from, p->head.n, (unsigned long long)(p->from % KH_DB_BLOCK));
	if (!rc && !own)
		rc = post_tail(p, c, last, err);
	p->first = p->from / KH_DB_BLOCK;
	p->n_blocks = own ? last / KH_DB_BLOCK - p->first : 0;
	return rc;
}

/* --- all -------------------------------------------------------------------------- */
static int place(struct part *p, kh_comm *c, kh_err *err)
{
	const unsigned size = kh_comm_size(c), self = kh_comm_self(c);
	uint64_t *bytes = kh_array(size, sizeof *bytes, err), own = 0;
	int rc = bytes ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < p->n; i++)
		own += p->s[i].n;
	if (!rc) {                      /* those of the others are 0 here */
		bytes[self] = own;
		rc = kh_comm_sum(c, bytes, size, err);
	}
	for (unsigned r = 0; r < size && !rc; r++) {
		p->from += r < self ? bytes[r] : 0;
		p->all += bytes[r];
	}
	p->to = p->from + own;
	free(bytes);
	return rc;
}

/* Process 0 gets the checksums of all blocks; when they are there, all processes have synced. */
static int gather_sums(struct part *p, kh_comm *c, kh_err *err)
{
	kh_db_writer *w = p->w;
	kh_mail m;
	int rc = kh_comm_gather(c, p->sum, (size_t)p->n_blocks * sizeof *p->sum, true, &m, err);

	for (unsigned r = 0; r < m.size && !rc; r++) {
		const size_t n = m.got[r] / sizeof *w->sums;

		rc = KH_GROW(w->sums, w->cap_sums, w->n_sums + n, err);
		if (!rc && n > 0)
			memcpy(w->sums + w->n_sums, m.recv[r], m.got[r]);
		w->n_sums += n;
	}
	kh_mail_clear(&m);
	return rc;
}

/* Process 0: goes on behind the whole blocks. */
static int go_on(struct part *p, kh_comm *c, kh_err *err)
{
	const uint64_t done = p->all - p->all % KH_DB_BLOCK;
	kh_db_writer *w = p->w;
	kh_message tail;
	int rc = kh_comm_take_from(c, kh_comm_size(c) - 1, KH_CHANNEL_TAIL, &tail, err);

	if (rc)
		return rc;
	assert(w->n_sums == done / KH_DB_BLOCK);
	if (tail.n != p->all - done) {
		free(tail.p);
		return kh_fail(err, KH_EIO, "process %u sent %zu bytes of a block, not %llu",
			       tail.from, tail.n, (unsigned long long)(p->all - done));
	}
	w->at = KH_DB_PAGE + done;
	w->summed = done;
	w->section[w->current].bytes = done;
	rc = kh_out_seek(w->out, w->at, err);
	if (!rc)
		rc = kh_db_append(w, tail.p, tail.n, err);
	free(tail.p);
	return rc;
}

int kh_db_append_parts(kh_db_writer *w, kh_comm *c, const kh_db_stretch *s, size_t n,
		       unsigned threads, kh_err *err)
{
	struct part p = { .w = w, .s = s, .n = n };
	int rc = place(&p, c, err);

	assert(w->summed == 0);
	if (!rc)
		rc = swap_tails(&p, c, err);
	if (!rc && !(p.sum = kh_array((size_t)p.n_blocks, sizeof *p.sum, err)))
		rc = KH_ENOMEM;
	if (!rc)
		rc = kh_side_by_side(threads < WRITERS ? threads : WRITERS, write_blocks, &p, err);
	if (!rc)
		rc = kh_out_sync(w->out, err);
	if (!rc)
		rc = gather_sums(&p, c, err);
	if (!rc && kh_comm_self(c) == 0)
		rc = go_on(&p, c, err);
	free(p.head.p);
	free(p.sum);
	return rc;
}
