/*
 * source_gzdev.c - a gzip source between its sequential reader and a device
 *
 * The device reads the file by itself, from the header on where it begins.  When it stops, the
 * sequential reader goes on from there.
 */
#include <config.h>
#include "io/source.h"

#include <stdlib.h>
#include <unistd.h>
#include "io/source_in.h"
#include "io/together.h"

static bool is_worth_it(const kh_source *s)
{
	return s->with.by.f && !s->no_device && s->size > 0 &&
	       s->size - kh_source_at(s) > s->with.least;
}

/* Where the data of the BGZF block begin that the reader stands in front of; 0: it is none. */
static uint64_t block_data(kh_source *s)
{
	if (s->late.code || s->gz != KH_GZ_MEMBER || kh_source_fill(s, KH_SOURCE_IN, &s->late))
		return 0;
	const uint8_t *p = s->in + s->pos;
	const size_t n = s->end - s->pos;
	const bool is_gz = n > 2 && p[0] == 0x1f && p[1] == 0x8b;
	const struct kh_gz_head h = is_gz ? kh_gz_parse_head(p, n) : (struct kh_gz_head) { .n = 0 };

	s->member_at = kh_source_at(s);
	return h.n && !h.bad && h.bsize ? s->member_at + h.n : 0;
}

int kh_gzdev_begin(kh_source *s, bool *began, kh_err *err)
{
	const bool members = s->kind == KH_SOURCE_BGZF;
	uint64_t data = 0;
	int rc = KH_OK;

	*began = false;
	if (!s->gz || !is_worth_it(s))
		return KH_OK;
	if (members)
		data = block_data(s);
	else if (s->kind == KH_SOURCE_STREAM && kh_gz_to_data(s) && !s->bsize)
		data = kh_source_at(s);
	if (data == 0 || data - s->member_at > KH_INFLATER_HEAD)
		return KH_OK;
	if (!s->device) {
		const kh_gzdev_options o = { .by = s->with.by, .name = s->name, .fd = s->fd,
					     .size = s->size, .part = s->with.part };

		rc = kh_gzdev_new(&s->device, &o, err);
	}
	s->no_device = !s->device;
	if (rc || !s->device)
		return rc;
	s->device_from = s->member_at;
	kh_gzdev_start(s->device, s->member_at, data, members);
	*began = true;
	return KH_OK;
}

int kh_gzdev_end(kh_source *s, kh_err *err)
{
	kh_gzdev_rest r;

	kh_gzdev_leave(s->device, &r);
	/* where it soon comes to what it cannot do, it would only read much in vain */
	s->no_device = r.failed || r.at - s->device_from < s->with.least;
	free(s->back);
	s->back = NULL;
	s->back_pos = s->back_end = 0;
	s->pos = s->end = KH_INFLATE_BACK;
	s->at_end = false;
	if (lseek(s->fd, (off_t)r.at, SEEK_SET) < 0)
		return kh_fail_errno(err, s->name);
	s->taken = r.at;
	s->crc = r.crc;
	s->n_member = r.n_member;
	s->member_at = r.member_at;
	s->any_member = true;
	s->open_end = r.open_end;
	s->gz = r.where == KH_GZDEV_AT_HEADER    ? KH_GZ_MEMBER
		: r.where == KH_GZDEV_AT_TRAILER ? KH_GZ_TRAILER
						 : KH_GZ_BODY;
	return s->gz == KH_GZ_BODY ? kh_gz_resume(s, r.window, r.n_window, r.skip, err) : KH_OK;
}
