#include <config.h>
#include "seqio/batch.h"

#include <assert.h>
#include <string.h>
#include "seqio/reader_in.h"

/* Sequences are copied to a padded buffer, so many bases at a time, as kh_scan may read behind its
 * input. */
enum { STRETCH = 4096 };

static int bad_base(const kh_bases *s, size_t at, uint64_t number, int mate, kh_err *err)
{
	return kh_fail(err, KH_EFORMAT,
		       "read %llu%s: expected a nucleotide, found byte 0x%02x at base %llu",
		       (unsigned long long)number + 1, mate ? ", second mate" : "",
		       (unsigned)(unsigned char)s->p[at], (unsigned long long)at + 1);
}

static int add_sequence(kh_batch *b, const kh_bases *s, uint64_t number, int mate, kh_err *err)
{
	kh_record rec = { .seq = (uint64_t)b->parsed.n_words << 5, .len = s->n };
	char text[STRETCH + KH_SCAN_PAD] = { 0 };
	int rc = kh_parsed_reserve(&b->parsed, s->n, err);
	const kh_packed to = { b->parsed.bases, b->parsed.amb };

	if (rc)
		return rc;
	for (size_t at = 0; at < s->n; at += STRETCH) {
		const size_t n = s->n - at < STRETCH ? s->n - at : STRETCH;

		memcpy(text, s->p + at, n);
		const size_t good = kh_scan_get()->pack(&to, rec.seq + at, text, n);
		if (good < n)
			return bad_base(s, at + good, number, mate, err);
		if (b->parsed.mask.u)
			kh_mask_u(&b->parsed, rec.seq + at, text, n);
	}
	b->bases += s->n;
	return kh_parsed_push(&b->parsed, &rec, err);
}

int kh_batch_add(kh_batch *b, const kh_bases *seq, const kh_bases *mate, uint64_t number,
		 kh_err *err)
{
	const bool pair = mate->p != NULL;
	int rc = add_sequence(b, seq, number, 0, err);

	assert(b->n == 0 || pair == b->job.interleaved);
	b->job.interleaved = pair;
	if (!rc && pair)
		rc = add_sequence(b, mate, number, 1, err);
	b->n += !rc;
	return rc;
}

const kh_job *kh_batch_job(kh_batch *b)
{
	const kh_parsed *p = &b->parsed;

	b->block = (kh_block) { .bases = p->bases, .amb = p->amb, .rec = p->rec,
				.n_words = p->n_words, .n_rec = p->n_rec };
	b->job = (kh_job) { .n = b->n, .block = { &b->block, NULL },
			    .interleaved = b->job.interleaved };
	return &b->job;
}

void kh_batch_reset(kh_batch *b)
{
	b->parsed.n_rec = b->parsed.n_words = 0;
	b->n = 0;
	b->bases = 0;
}

void kh_batch_free(kh_batch *b)
{
	kh_parsed_free(&b->parsed);
}
