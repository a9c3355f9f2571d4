#include <config.h>
#include "sample/frames.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "io/bgzf.h"
#include "io/inflate.h"
#include "io/spill.h"

enum { HEADER = 18, TRAILER = 8 };      /* sizes in a block of BGZF */

struct place {
	uint64_t at;
	size_t packed, n;
};

struct packer {
	kh_bgzf *z;
	kh_inflate *u;
	char *p;
	size_t cap;
};

struct kh_frames {
	struct packer *worker;
	unsigned workers;
	bool pack;
	pthread_mutex_t lock;           /* guards `place` to `end` while frames are put */
	struct place *place;            /* by ticket */
	size_t n, cap;
	uint64_t end;
	kh_spill file;
};

/* --- numbers ---------------------------------------------------------------------- */
void kh_frame_number(kh_buf *f, uint64_t x)
{
	if (kh_buf_reserve(f, KH_FRAME_NUMBER))
		f->n = (size_t)(kh_frame_put(f->p + f->n, x) - f->p);
}

int kh_frames_open(kh_frames **out, const char *beside, unsigned workers, bool pack, kh_err *err)
{
	kh_frames *s = kh_array(1, sizeof *s, err);
	int rc = KH_OK;

	if (!s)
		return KH_ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	s->file = (kh_spill) { -1, "the lines" };
	s->workers = workers;
	s->pack = pack;
	s->worker = kh_array(workers, sizeof *s->worker, err);
	if (!s->worker)
		rc = KH_ENOMEM;
	for (unsigned i = 0; pack && i < workers && !rc; i++) {
		rc = kh_bgzf_new(&s->worker[i].z, err);
		if (!rc)
			rc = kh_inflate_new(&s->worker[i].u, err);
	}
	if (!rc)
		rc = kh_spill_open(&s->file, beside, err);
	if (rc) {
		kh_frames_close(s);
		return rc;
	}
	*out = s;
	return KH_OK;
}

void kh_frames_close(kh_frames *s)
{
	if (!s)
		return;
	for (unsigned i = 0; s->worker && i < s->workers; i++) {
		kh_bgzf_free(s->worker[i].z);
		kh_inflate_free(s->worker[i].u);
		free(s->worker[i].p);
	}
	kh_spill_close(&s->file);
	free(s->worker);
	free(s->place);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* --- frames ----------------------------------------------------------------------- */
static int reserve(kh_frames *s, uint64_t ticket, struct place *p, kh_err *err)
{
	int rc = KH_OK;

	pthread_mutex_lock(&s->lock);
	if (ticket >= s->cap) {
		const size_t old = s->cap;

		rc = kh_grow((void **)&s->place, &s->cap, ticket + 1, sizeof *s->place, err);
		if (!rc)
			memset(s->place + old, 0, (s->cap - old) * sizeof *s->place);
	}
	if (!rc) {
		p->at = s->end;
		s->end += p->packed;
		s->place[ticket] = *p;
		s->n = ticket + 1 > s->n ? ticket + 1 : s->n;
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static int pack(struct packer *w, const kh_buf *f, size_t *packed, kh_err *err)
{
	int rc = kh_grow((void **)&w->p, &w->cap, (f->n / KH_BGZF_UNIT + 1) * KH_BGZF_MAX, 1, err);

	*packed = 0;
	for (size_t at = 0; at < f->n && !rc; at += KH_BGZF_UNIT) {
		const size_t n = f->n - at < KH_BGZF_UNIT ? f->n - at : KH_BGZF_UNIT;

		*packed += kh_bgzf_pack(w->z, f->p + at, n, w->p + *packed);
	}
	return rc;
}

int kh_frames_put(kh_frames *s, unsigned worker, uint64_t ticket, const kh_buf *f, kh_err *err)
{
	struct packer *w = &s->worker[worker];
	struct place p = { .packed = f->n, .n = f->n };
	int rc = KH_OK;

	if (s->pack)
		rc = pack(w, f, &p.packed, err);
	if (!rc)
		rc = reserve(s, ticket, &p, err);
	return rc ? rc : kh_spill_write(&s->file, s->pack ? w->p : f->p, p.packed, p.at, err);
}

static int unpack(struct packer *w, const struct place *p, kh_buf *f, kh_err *err)
{
	const uint8_t *at = (const uint8_t *)w->p, *const end = at + p->packed;

	for (f->n = 0; at < end && f->n < p->n;) {
		const size_t block = (size_t)(at[16] | at[17] << 8) + 1;
		const size_t n = p->n - f->n < KH_BGZF_UNIT ? p->n - f->n : KH_BGZF_UNIT;
		const kh_inflate_io io = { at + HEADER, block - HEADER - TRAILER,
					   (uint8_t *)f->p + f->n, n };

		if (block > (size_t)(end - at) || block < HEADER + TRAILER ||
		    !kh_inflate_block(w->u, &io))
			break;
		f->n += n;
		at += block;
	}
	if (f->n != p->n)
		return kh_fail(err, KH_EIO, "temporary file of the lines: it has been changed");
	return KH_OK;
}

int kh_frames_get(kh_frames *s, unsigned worker, uint64_t ticket, kh_buf *f, kh_err *err)
{
	struct packer *w = &s->worker[worker];
	const struct place *p = &s->place[ticket];
	int rc = kh_grow((void **)&f->p, &f->cap, p->n, 1, err);

	f->n = p->n;
	if (!rc && !s->pack)
		return kh_spill_read(&s->file, f->p, p->n, p->at, err);
	if (!rc)
		rc = kh_grow((void **)&w->p, &w->cap, p->packed, 1, err);
	if (!rc)
		rc = kh_spill_read(&s->file, w->p, p->packed, p->at, err);
	return rc ? rc : unpack(w, p, f, err);
}

uint64_t kh_frames_count(const kh_frames *s)
{
	return s->n;
}

uint64_t kh_frames_bytes(const kh_frames *s)
{
	return s->end;
}
