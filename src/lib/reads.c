/* reads.c - reads of files, one batch after the other, by the parser of the command */
#include <config.h>
#include "lib/kmerhash_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "io/source.h"
#include "kmer/kmer.h"
#include "run/open.h"
#include "seqio/scan.h"

enum { CHUNK = 1 << 20 };               /* bytes that are read at a time */

/* One of the files: text that has been read, and its records. */
struct half {
	char *path;                     /* owned */
	kh_source *source;
	char *text;
	size_t n, cap;
	size_t stop;                    /* in text: behind the records that were parsed */
	bool end;                       /* there is no more to read */
	int failed;                     /* what comes behind them, and why */
	kh_err err;
	kh_position at;
	kh_parsed parsed;
	size_t next;                    /* the first record that was not given out */
};

struct kmerhash_reads {
	struct half half[2];
	int mates;
	kmerhash_record *record;        /* of the batch, with their texts: */
	char *text;
	size_t cap_record, cap_text;
};

/* --- one file --------------------------------------------------------------------- */
static int open_half(struct half *h, const char *path, kh_err *err)
{
	h->path = strdup(path);
	h->at = (kh_position) { .name = h->path, .line = 1 };
	return h->path ? kh_source_open(&h->source, path, err) : kh_fail_nomem(err);
}

static void close_half(struct half *h)
{
	kh_source_close(h->source);
	kh_parsed_free(&h->parsed);
	free(h->text);
	free(h->path);
}

static size_t left(const struct half *h)
{
	return h->parsed.n_rec - h->next;
}

/* Reads on behind what is left of the text. */
static int read_more(struct half *h, kh_err *err)
{
	int64_t got;
	int rc;

	if (h->stop > 0)
		memmove(h->text, h->text + h->stop, h->n - h->stop);
	h->n -= h->stop;
	h->stop = 0;
	rc = KH_GROW(h->text, h->cap, h->n + CHUNK + KH_SCAN_PAD, err);
	if (rc)
		return rc;
	got = kh_source_read(h->source, h->text + h->n, CHUNK, err);
	if (got < 0)
		return (int)got;
	h->n += (size_t)got;
	h->end = got == 0;
	memset(h->text + h->n, 0, KH_SCAN_PAD);
	return KH_OK;
}

/* Parses the next records if all have been given out. A failure counts when they have, too. */
static int fill(struct half *h)
{
	if (left(h) > 0)
		return KH_OK;
	h->next = h->parsed.n_rec = h->parsed.n_words = 0;
	while (!h->failed && !h->end && h->parsed.n_rec == 0) {
		if ((h->failed = read_more(h, &h->err)))
			break;
		h->parsed.text = h->text;
		h->failed = kh_reader_walk(&h->at, &h->parsed,
					   &(kh_char_range) { 0, h->n, h->end }, &h->stop, &h->err);
	}
	return h->parsed.n_rec > 0 ? KH_OK : h->failed;
}

/* --- a batch ---------------------------------------------------------------------- */
static char *put_bases(char *to, const struct half *h, const kh_record *r)
{
	for (uint64_t i = r->seq; i < r->seq + r->len; i++)
		*to++ = kh_packed_amb(h->parsed.amb, i)
				? 'N' : "ACGT"[kh_packed_base(h->parsed.bases, i)];
	*to++ = 0;
	return to;
}

static size_t id_length(const kmerhash_reads *r, const kh_record *x, const char *id)
{
	const size_t n = x->id_len;

	return r->mates && n > 2 && id[n - 2] == '/' && (id[n - 1] == '1' || id[n - 1] == '2')
		       ? n - 2 : n;
}

static int make_batch(kmerhash_reads *r, size_t n, kh_err *err)
{
	size_t bytes = 0;
	int rc = KH_GROW(r->record, r->cap_record, n, err);
	char *at;

	for (int m = 0; m <= r->mates; m++)
		for (size_t i = 0; i < n; i++) {
			const kh_record *x = &r->half[m].parsed.rec[r->half[m].next + i];

			bytes += x->len + 1 + (m == 0 ? x->id_len + 1 : 0);
		}
	if (rc || (rc = KH_GROW(r->text, r->cap_text, bytes, err)))
		return rc;
	at = r->text;
	for (size_t i = 0; i < n; i++) {
		const struct half *h = r->half;
		const kh_record *x = &h->parsed.rec[h->next + i];
		const char *id = h->text + x->name;
		const size_t len = id_length(r, x, id);

		r->record[i] = (kmerhash_record) { .name = at };
		memcpy(at, id, len);
		at[len] = 0;
		at += len + 1;
		r->record[i].read = (kmerhash_read) { .sequence = at, .length = x->len };
		at = put_bases(at, h, x);
		if (!r->mates)
			continue;
		x = &h[1].parsed.rec[h[1].next + i];
		r->record[i].read.mate = at;
		r->record[i].read.mate_length = x->len;
		at = put_bases(at, &h[1], x);
	}
	for (int m = 0; m <= r->mates; m++)
		r->half[m].next += n;
	return KH_OK;
}

static int next(kmerhash_reads *r, size_t *n, kh_err *err)
{
	struct half *h = r->half;

	for (int m = 0; m <= r->mates; m++)
		if (fill(&h[m])) {
			*err = h[m].err;
			return err->code;
		}
	*n = left(&h[0]);
	if (r->mates && !left(&h[0]) != !left(&h[1]))
		return kh_fail(err, KH_EFORMAT, "%s has more reads than %s",
			       h[left(&h[0]) == 0].path, h[left(&h[0]) > 0].path);
	if (r->mates && left(&h[1]) < *n)
		*n = left(&h[1]);
	return *n > 0 ? make_batch(r, *n, err) : KH_OK;
}

int kmerhash_reads_next(kmerhash_reads *r, const kmerhash_record **record, size_t *n,
			kmerhash_error *error)
{
	kh_err err = { 0, "" };
	const int rc = next(r, n, &err);

	*record = r->record;
	return kh_lib_tell(error, rc, &err);
}

/* As kmerhash_classify_files checks them. */
static int check_files(const char *path, const char *mates, kh_err *err)
{
	const char *const reads[2] = { path, mates };
	const kh_open_options o = { .reads = reads, .n_reads = mates ? 2 : 1,
				    .two = mates != NULL };
	kh_sheet sheet = { .v = NULL };
	const int rc = kh_open_sheet(&sheet, &o, NULL, err);

	kh_sheet_clear(&sheet);
	return rc;
}

int kmerhash_reads_open(kmerhash_reads **r, const char *path, const char *mates,
			kmerhash_error *error)
{
	kh_err err = { 0, "" };
	kmerhash_reads *x = kh_array(1, sizeof *x, &err);
	int rc = x ? check_files(path, mates, &err) : KH_ENOMEM;

	if (!rc)
		rc = open_half(&x->half[0], path, &err);
	if (!rc && mates) {
		x->mates = 1;
		rc = open_half(&x->half[1], mates, &err);
	}
	if (rc)
		kmerhash_reads_close(x);
	else
		*r = x;
	return kh_lib_tell(error, rc, &err);
}

void kmerhash_reads_close(kmerhash_reads *r)
{
	if (!r)
		return;
	close_half(&r->half[0]);
	close_half(&r->half[1]);
	free(r->record);
	free(r->text);
	free(r);
}
