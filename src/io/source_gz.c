/*
 * source_gz.c - gzip members and BGZF blocks
 *
 * A gzip file is a row of members: header, deflate data, and a trailer with CRC-32 and length.
 * gz_head.c parses the header, inflate.h inflates the data, and the trailer is checked here.  In
 * BGZF a member's header has its compressed size, so the row can be walked without inflating.
 */
#include <config.h>
#include "io/source.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "io/source_in.h"

enum { BGZF_MAX = 65536 };

static int gz_cut(const kh_source *s, kh_err *err)
{
	return kh_fail(err, KH_EFORMAT,
		       "%s: gzip data end early at byte %llu: the file was cut off",
		       s->name, (unsigned long long)s->taken);
}

int kh_gz_damaged(const char *name, uint64_t at, const char *what, kh_err *err)
{
	return kh_fail(err, KH_EFORMAT, "%s: damaged: gzip member at byte %llu: %s", name,
		       (unsigned long long)at, what);
}

static int gz_bad(const kh_source *s, const char *what, kh_err *err)
{
	return kh_gz_damaged(s->name, s->member_at, what, err);
}

/* Zeros up to the end of the file are padding (tapes, block devices). */
static int only_zeros(kh_source *s, kh_err *err)
{
	for (;;) {
		int rc = kh_source_fill(s, 1, err);

		if (rc)
			return rc;
		if (s->pos == s->end)
			return KH_OK;
		if (s->in[s->pos])
			return kh_fail(
				err, KH_EFORMAT,
				"%s: at byte %llu something that is not gzip follows the "
				"last gzip member",
				s->name, (unsigned long long)kh_source_at(s));
		s->pos++;
	}
}

static int at_last(kh_source *s, kh_err *err)
{
	s->gz = KH_GZ_END;
	if (!s->open_end || s->allow_no_eof)
		return 0;
	return kh_fail(
		err, KH_EFORMAT,
		"%s: BGZF without its end-of-file block: the file was "
		"cut off, or the program that wrote it did not finish (--set allow-no-eof takes it "
		"as whole)",
		s->name);
}

/* Between members.  1: *h is the header of the next, at pos, not consumed; 0: no more. */
static int next_member(kh_source *s, struct kh_gz_head *h, kh_err *err)
{
	int rc = kh_source_fill(s, 18, err);    /* the header of a BGZF block */
	const uint8_t *p = s->in + s->pos;
	size_t n = s->end - s->pos;

	if (rc)
		return rc;
	if (s->any_member && (n == 0 || p[0] == 0)) {
		rc = only_zeros(s, err);
		return rc ? rc : at_last(s, err);
	}
	if (p[0] != 0x1f || (n > 1 && p[1] != 0x8b))
		return only_zeros(s, err);
	s->member_at = kh_source_at(s);
	*h = kh_gz_parse_head(p, n);
	if (!h->n && !h->bad && !s->at_end) {
		rc = kh_source_fill(s, KH_SOURCE_IN, err);
		if (rc)
			return rc;
		*h = kh_gz_parse_head(s->in + s->pos, s->end - s->pos);
		if (!h->n && !h->bad && !s->at_end)
			h->bad = "its header is longer than 256 KiB";
	}
	if (h->bad)
		return gz_bad(s, h->bad, err);
	if (!h->n)
		return gz_cut(s, err);
	s->any_member = true;
	s->bsize = h->bsize;
	return 1;
}

int kh_gz_open(kh_source *s, kh_err *err)
{
	struct kh_gz_head h;

	s->gz = KH_GZ_MEMBER;
	s->kind = KH_SOURCE_STREAM;
	int rc = next_member(s, &h, err);
	if (rc < 0)
		return rc;
	if (h.bsize)
		s->kind = KH_SOURCE_BGZF;
	return kh_inflate_new(&s->z, err);
}

/* --- as a stream ----------------------------------------------------------------- */
static int body(kh_source *s, kh_inflate_io *out, kh_err *err)
{
	int rc = kh_source_fill(s, 1, err);

	if (rc)
		return rc;
	bool dry = s->pos == s->end;
	kh_inflate_io io = { s->in + s->pos, s->end - s->pos, out->out, out->n_out };
	enum kh_inflate_state st = kh_inflate_some(s->z, &io);
	size_t got = out->n_out - io.n_out;

	s->pos = s->end - io.n_in;
	s->crc = kh_crc32(s->crc, out->out, got);
	s->n_member += got;
	out->out = io.out;
	out->n_out = io.n_out;
	if (st == KH_INFLATE_BAD)
		return gz_bad(s, "its data cannot be inflated", err);
	if (st == KH_INFLATE_END)
		s->gz = KH_GZ_TRAILER;
	else if (dry && got == 0)
		return gz_cut(s, err);
	return KH_OK;
}

static int trailer(kh_source *s, kh_err *err)
{
	int rc = kh_source_fill(s, KH_GZ_TRAILER_BYTES, err);
	const uint8_t *p = s->in + s->pos;

	if (rc)
		return rc;
	if (s->end - s->pos < KH_GZ_TRAILER_BYTES)
		return gz_cut(s, err);
	if (kh_le32(p) != s->crc)
		return gz_bad(s, KH_GZ_BAD_CRC, err);
	if (kh_le32(p + 4) != (uint32_t)s->n_member)
		return gz_bad(s, KH_GZ_BAD_LENGTH, err);
	s->pos += KH_GZ_TRAILER_BYTES;
	if (s->bsize
	    && (kh_source_at(s) - s->member_at != s->bsize || s->n_member > BGZF_MAX))
		return gz_bad(s, "its BGZF size is wrong", err);
	s->open_end = s->bsize && s->n_member > 0;
	s->gz = KH_GZ_MEMBER;
	return KH_OK;
}

static int member(kh_source *s, kh_err *err)
{
	struct kh_gz_head h;
	int rc = next_member(s, &h, err);

	if (rc < 1)
		return rc;
	s->pos += h.n;
	s->crc = 0;
	s->n_member = 0;
	kh_inflate_reset(s->z);
	s->gz = KH_GZ_BODY;
	return KH_OK;
}

bool kh_gz_to_data(kh_source *s)
{
	int rc = s->late.code;
	bool went = false;

	while (!rc && (s->gz == KH_GZ_MEMBER || s->gz == KH_GZ_TRAILER)) {
		went = s->gz == KH_GZ_MEMBER;
		rc = went ? member(s, &s->late) : trailer(s, &s->late);
	}
	return !rc && went && s->gz == KH_GZ_BODY;
}

int64_t kh_gz_read(kh_source *s, uint8_t *buf, size_t n, kh_err *err)
{
	kh_inflate_io out = { NULL, 0, buf, n };
	int rc = s->late.code;

	while (!rc && out.n_out > 0 && s->gz != KH_GZ_END
	       && !(out.n_out < n && kh_source_dry(s))) {
		if (s->gz == KH_GZ_MEMBER)
			rc = member(s, &s->late);
		else if (s->gz == KH_GZ_BODY)
			rc = body(s, &out, &s->late);
		else
			rc = trailer(s, &s->late);
	}
	if (rc && out.n_out == n) {
		if (err)
			*err = s->late;
		return rc;
	}
	return (int64_t)(n - out.n_out);
}

/* --- BGZF in runs ---------------------------------------------------------------- */
/* Appends the block at pos to the run. */
static int take_block(kh_source *s, kh_bgzf_run *run, kh_err *err)
{
	int rc = kh_source_fill(s, s->bsize, err);

	if (rc)
		return rc;
	if (s->end - s->pos < s->bsize)
		return gz_cut(s, err);
	const uint8_t *p = s->in + s->pos;
	size_t n_out = kh_le32(p + s->bsize - 4);
	if (n_out > BGZF_MAX)
		return gz_bad(s, "a BGZF block of more than 64 KiB", err);
	rc = KH_GROW(run->data, run->cap, run->n + s->bsize, err);
	if (rc)
		return rc;
	if (run->n == 0)
		run->at = s->member_at;
	memcpy(run->data + run->n, p, s->bsize);
	run->n += s->bsize;
	run->n_out += n_out;
	s->pos += s->bsize;
	s->open_end = n_out > 0;
	return KH_OK;
}

int kh_source_bgzf_run(kh_source *s, kh_bgzf_run *run, size_t want, kh_err *err)
{
	struct kh_gz_head h = { 0, 0, NULL };
	int rc = s->late.code;

	run->n = run->n_out = 0;
	while (!rc && run->n_out < want && s->gz != KH_GZ_END
	       && !(run->n_out > 0 && kh_source_dry(s))) {
		rc = next_member(s, &h, &s->late);
		if (rc <= 0)
			continue;
		if (!h.bsize) {
			s->kind = KH_SOURCE_STREAM;
			return KH_OK;
		}
		rc = take_block(s, run, &s->late);
	}
	if (rc && run->n_out == 0) {
		if (err)
			*err = s->late;
		return rc;
	}
	return KH_OK;
}

int kh_bgzf_run_inflate(kh_bgzf_run *run, const char *name, char *out, size_t *n, kh_err *err)
{
	int rc = KH_OK;

	*n = 0;
	if (!run->z)
		rc = kh_inflate_new(&run->z, err);
	for (size_t i = 0; !rc && i < run->n;) {
		const uint8_t *p = run->data + i;
		struct kh_gz_head h = kh_gz_parse_head(p, run->n - i);
		size_t n_out = kh_le32(p + h.bsize - 4);
		kh_inflate_io io = { p + h.n, h.bsize - h.n - KH_GZ_TRAILER_BYTES,
				     (uint8_t *)out + *n, n_out };
		const char *bad = NULL;

		if (!kh_inflate_block(run->z, &io))
			bad = "its data cannot be inflated";
		else if (kh_crc32(0, out + *n, n_out) != kh_le32(p + h.bsize - KH_GZ_TRAILER_BYTES))
			bad = KH_GZ_BAD_CRC;
		if (bad)
			return kh_gz_damaged(name, run->at + i, bad, err);
		*n += n_out;
		i += h.bsize;
	}
	return rc;
}

void kh_bgzf_run_free(kh_bgzf_run *run)
{
	free(run->data);
	kh_inflate_free(run->z);
	*run = (kh_bgzf_run) { 0 };
}
