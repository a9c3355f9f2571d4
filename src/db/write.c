#include <config.h>
#include "db/db.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/mem.h"
#include "base/threads.h"

struct kh_db_writer {
	kh_out *out;
	uint64_t at;                    /* bytes in the file */
	XXH3_state_t *sum;              /* of the chunk being filled */
	uint64_t *sums;
	size_t n_sums, cap_sums;
	uint64_t summed;                /* bytes that the checksums cover so far */
	kh_queue *todo, *done;          /* bytes for the helper; NULL: there is none */
	int current;                    /* section, or -1 */
	kh_db_extent section[KH_SECTIONS_MAX];
};

/* Bytes to be added to the checksums. */
struct bytes {
	const void *p;
	size_t n;
};

enum { HELP_FROM = 1 << 20 };           /* the fewest bytes that are worth handing to the helper */

/* Adds bytes to the checksums, which cover the file from its second page on. */
static int sum(kh_db_writer *w, const char *from, size_t n, kh_err *err)
{
	int rc = KH_OK;

	while (!rc && n > 0) {
		uint64_t in_chunk = w->summed % KH_DB_CHUNK;
		size_t m = n < KH_DB_CHUNK - in_chunk ? n : (size_t)(KH_DB_CHUNK - in_chunk);

		XXH3_64bits_update(w->sum, from, m);
		from += m;
		n -= m;
		w->summed += m;
		if (in_chunk + m < KH_DB_CHUNK)
			continue;
		rc = KH_GROW(w->sums, w->cap_sums, w->n_sums + 1, err);
		if (!rc)
			w->sums[w->n_sums++] = XXH3_64bits_digest(w->sum);
		XXH3_64bits_reset(w->sum);
	}
	return rc;
}

/* Adds bytes to the file and to the checksums, at the same time if there is a helper. */
static int put(kh_db_writer *w, const void *p, size_t n, kh_err *err)
{
	struct bytes s = { p, n };
	bool help = w->todo && n >= HELP_FROM;
	int rc;

	if (help)
		kh_queue_push(w->todo, &s);
	rc = kh_out_write(w->out, p, n, err);
	w->at += n;
	if (help)
		return !kh_queue_pop(w->done) && !rc ? KH_ECANCEL : rc;
	return rc ? rc : sum(w, p, n, err);
}

/* --- the helper ------------------------------------------------------------------- */
struct helped {
	kh_db_writer *w;
	int (*fn)(void *arg, kh_err *err);
	void *arg;
};

static int helped_worker(void *arg, unsigned worker, kh_err *err)
{
	static struct bytes end;
	struct helped *h = arg;
	struct bytes *s;
	int rc;

	if (worker == 0) {
		rc = h->fn(h->arg, err);
		kh_queue_push(h->w->todo, &end);
		return rc;
	}
	while ((s = kh_queue_pop(h->w->todo)) != NULL && s->n > 0) {
		rc = sum(h->w, s->p, s->n, err);
		if (rc)
			return rc;
		kh_queue_push(h->w->done, s);
	}
	return s ? KH_OK : KH_ECANCEL;
}

int kh_db_with_helper(kh_db_writer *w, int (*fn)(void *arg, kh_err *err), void *arg, kh_err *err)
{
	struct helped h = { w, fn, arg };
	kh_monitor *m = NULL;
	int rc = kh_monitor_new(&m, err);

	if (!rc)
		rc = kh_queue_new(&w->todo, m, 2, err);
	if (!rc)
		rc = kh_queue_new(&w->done, m, 2, err);
	if (!rc)
		rc = kh_threads_run(m, 2, helped_worker, &h, err);
	kh_queue_free(w->todo);
	kh_queue_free(w->done);
	w->todo = w->done = NULL;
	kh_monitor_free(m);
	return rc;
}

static int put_padding(kh_db_writer *w, kh_err *err)
{
	static const char zero[KH_DB_PAGE];
	size_t n = (size_t)(-w->at % KH_DB_PAGE);

	return n > 0 ? put(w, zero, n, err) : KH_OK;
}

int kh_db_create(kh_db_writer **db, const char *path, kh_err *err)
{
	static const char zero[KH_DB_PAGE];
	kh_db_writer *w = kh_array(1, sizeof *w, err);
	int rc;

	if (!w)
		return KH_ENOMEM;
	w->current = -1;
	w->sum = XXH3_createState();
	rc = w->sum ? kh_out_open(&w->out, path, err) : kh_fail_nomem(err);
	if (!rc && !kh_out_whole(w->out))
		rc = kh_fail(err, KH_EUSAGE,
			     "%s: a database must be an ordinary file, and alone in it", path);
	if (!rc)
		rc = kh_out_write(w->out, zero, sizeof zero, err);
	if (rc) {
		kh_db_abandon(w);
		return rc;
	}
	XXH3_64bits_reset(w->sum);
	w->at = KH_DB_PAGE;
	*db = w;
	return KH_OK;
}

void kh_db_abandon(kh_db_writer *w)
{
	if (!w)
		return;
	kh_out_close(w->out);
	if (w->sum)
		XXH3_freeState(w->sum);
	free(w->sums);
	free(w);
}

int kh_db_begin(kh_db_writer *w, enum kh_section s, kh_err *err)
{
	int rc = put_padding(w, err);

	assert(w->section[s].at == 0);
	w->current = s;
	w->section[s].at = w->at;
	return rc;
}

int kh_db_append(kh_db_writer *w, const void *p, size_t n, kh_err *err)
{
	assert(w->current >= 0);
	w->section[w->current].bytes += n;
	return put(w, p, n, err);
}

/* The table of checksums covers all before it, so it is not part of itself. */
static int put_sums(kh_db_writer *w, kh_db_header *h, kh_err *err)
{
	int rc = put_padding(w, err);

	if (!rc && (w->at - KH_DB_PAGE) % KH_DB_CHUNK != 0) {
		rc = KH_GROW(w->sums, w->cap_sums, w->n_sums + 1, err);
		if (!rc)
			w->sums[w->n_sums++] = XXH3_64bits_digest(w->sum);
	}
	if (rc)
		return rc;
	w->section[KH_SEC_SUMS] = (kh_db_extent) { w->at, w->n_sums * sizeof *w->sums };
	h->sums = XXH3_64bits(w->sums, w->n_sums * sizeof *w->sums);
	w->at += w->n_sums * sizeof *w->sums;
	return kh_out_write(w->out, w->sums, w->n_sums * sizeof *w->sums, err);
}

uint64_t kh_db_length(const kh_db_writer *w)
{
	const uint64_t sums = (w->at + KH_DB_PAGE - 1) / KH_DB_PAGE * KH_DB_PAGE;

	return sums + (sums - KH_DB_PAGE + KH_DB_CHUNK - 1) / KH_DB_CHUNK * sizeof *w->sums;
}

int kh_db_commit(kh_db_writer *w, kh_db_header *h, kh_err *err)
{
	int rc = put_sums(w, h, err);

	if (rc)
		return rc;
	memcpy(h->magic, KH_DB_MAGIC, sizeof h->magic);
	h->version = KH_DB_VERSION;
	h->header_bytes = KH_DB_PAGE;
	h->byte_order = UINT64_C(0x0102030405060708);
	h->file_bytes = w->at;
	memcpy(h->section, w->section, sizeof h->section);
	strncpy(h->tool, PACKAGE_STRING, sizeof h->tool - 1);
	h->self = XXH3_64bits(h, offsetof(kh_db_header, self));
	rc = kh_out_sync(w->out, err);
	if (!rc)
		rc = kh_out_pwrite(w->out, h, sizeof *h, 0, err);
	return rc ? rc : kh_out_commit(&w->out, 1, err);
}
