/* answers_read.c - a file of candidates is read: answers.h */
#include <config.h>
#include "run/answers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/mem.h"
#include "io/inflate.h"
#include "io/source.h"

/* --- records ------------------------------------------------------------------------------- */
struct span {
	const unsigned char *at, *end;
	bool bad;
};

static uint32_t byte(struct span *s)
{
	s->bad |= s->at == s->end;
	return s->at < s->end ? *s->at++ : 0;
}

static uint32_t long_number(struct span *s)
{
	uint64_t x = 0;

	for (unsigned shift = 0; shift < 35; shift += 7) {
		const uint32_t b = byte(s);

		x |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80) {
			s->bad |= x > UINT32_MAX;
			return (uint32_t)x;
		}
	}
	s->bad = true;
	return 0;
}

static inline uint32_t number(struct span *s)
{
	return s->at < s->end && *s->at < 0x80 ? *s->at++ : long_number(s);
}

static uint32_t taxon(struct span *s, uint32_t x, uint32_t n_taxa)
{
	s->bad |= x != KH_NO_TAXON && x >= n_taxa;
	return x;
}

static void get_second(struct span *s, const kh_answers_head *h, kh_second *second)
{
	second->taxon = taxon(s, number(s) - 1, h->n_taxa);
	second->hits = second->taxon != KH_NO_TAXON ? number(s) : 0;
}

static void get_candidates(struct span *s, const kh_answers_head *h, kh_candidates *c)
{
	uint32_t n = byte(s);

	if (n > KH_ANSWERS_MATES && n <= KH_ANSWERS_MATES + KH_MATES_MOST) {
		kh_candidates_set_mates_fit(c, n - KH_ANSWERS_MATES);
		n = 1;
	}
	s->bad |= n > KH_CANDIDATES;
	if (n > 0 && !s->bad)
		c->bin = number(s) - 1;
	for (uint32_t i = 0; i < n && !s->bad; i++) {
		const uint64_t x = (i > 0 ? (uint64_t)c->species[i - 1] : 0) + number(s);

		s->bad |= x >= h->n_taxa || (i > 0 && x <= c->species[i - 1]);
		c->species[i] = (uint32_t)x;
		c->drop[i] = (uint8_t)byte(s);
	}
}

/* Fragments that have something. */
struct some {
	uint16_t i[KH_ANSWERS_BLOCK];
	size_t n;
};

static void get_bits(struct span *s, kh_answers *to, struct some *any, struct some *placed)
{
	any->n = placed->n = 0;
	for (size_t i = 0; i < to->n; i++) {
		const uint32_t bits = byte(s);

		to->v[i] = (kh_answer) { .call.taxon = KH_NO_TAXON, .bits = (uint8_t)bits };
		s->bad |= bits > KH_ANSWER_BITS ||
			  (bits & (KH_ANSWER_ANY | KH_ANSWER_PLACED)) == KH_ANSWER_PLACED;
		any->i[any->n] = placed->i[placed->n] = (uint16_t)i;
		any->n += (bits & KH_ANSWER_ANY) != 0;
		placed->n += (bits & KH_ANSWER_PLACED) != 0;
	}
}

static void get_placed(struct span *s, const kh_answers_head *h, kh_answers *to,
		       const struct some *placed)
{
	uint32_t x[KH_ANSWERS_COLUMNS][KH_ANSWERS_BLOCK];

	for (int c = 0; c < KH_ANSWERS_COLUMNS; c++)
		for (size_t i = 0; i < placed->n; i++)
			x[c][i] = number(s);
	for (size_t i = 0; i < placed->n; i++) {
		kh_answer *a = &to->v[placed->i[i]];

		a->score = x[KH_ANSWERS_SCORE][i];
		a->call.taxon = taxon(s, x[KH_ANSWERS_TAXON][i] - 1, h->n_taxa);
		a->call.hits = x[KH_ANSWERS_HITS][i];
		a->level = (uint8_t)x[KH_ANSWERS_LEVEL][i];
		s->bad |= a->score == 0 || x[KH_ANSWERS_LEVEL][i] >= KH_LEVELS ||
			  a->call.hits > a->call.kmers;
		for (int m = 0; m < 2; m++) {
			a->bound[m] = (uint16_t)x[KH_ANSWERS_BOUND + m][i];
			a->need[m] = (uint16_t)x[KH_ANSWERS_NEED + m][i];
		}
	}
}

/* What is wanted beside calls. */
static void get_beside(struct span *s, const kh_answers_head *h, kh_answers *to,
		       const struct some *any, const struct some *placed)
{
	for (size_t i = 0; i < any->n; i++)
		kh_beside_clear(kh_beside_of(to->candidates, to->second, any->i[i]));
	for (size_t i = 0; i < placed->n && h->want == KH_WANT_CANDIDATES && !s->bad; i++)
		get_candidates(s, h, &to->candidates[placed->i[i]]);
	for (size_t i = 0; i < placed->n && h->want == KH_WANT_SECOND && !s->bad; i++)
		get_second(s, h, &to->second[placed->i[i]]);
}

bool kh_answers_decode(const kh_answers_head *h, const unsigned char *p, size_t n, kh_answers *to)
{
	const size_t groups = (to->n + KH_ANSWERS_GROUP - 1) / KH_ANSWERS_GROUP;
	struct span s = { p, p + n, false };
	struct some any, placed;

	get_bits(&s, to, &any, &placed);
	for (size_t i = 0; i < to->n; i++)
		to->v[i].call.kmers = number(&s);
	for (int m = 0; m < 2; m++)
		for (size_t i = 0; i < any.n; i++)
			to->v[any.i[i]].load[m] = (uint8_t)byte(&s);
	get_placed(&s, h, to, &placed);
	get_beside(&s, h, to, &any, &placed);
	for (size_t i = 0; i < groups; i++)
		to->check[i] = (uint8_t)byte(&s);
	return !s.bad && s.at == s.end;
}

/* --- the file ------------------------------------------------------------------------------ */
struct kh_answers_in {
	char *path;
	kh_source *source;
	kh_answers_head head;
	kh_answers_tail tail;
	uint64_t blocks;
	uint64_t *at;                   /* where each begins, and the last one ends */
};

const char *kh_answers_in_path(const kh_answers_in *f)
{
	return f->path;
}

const kh_answers_head *kh_answers_in_head(const kh_answers_in *f)
{
	return &f->head;
}

const kh_answers_tail *kh_answers_in_tail(const kh_answers_in *f)
{
	return &f->tail;
}

void kh_answers_in_close(kh_answers_in *f)
{
	if (!f)
		return;
	kh_source_close(f->source);
	free(f->path);
	free(f->at);
	free(f);
}

/* Checks the head, and by the tail that the file is whole. */
static int read_ends(kh_answers_in *f, uint64_t size, kh_err *err)
{
	int rc = KH_OK;

	if (size >= sizeof f->head)
		rc = kh_source_pread(f->source, &f->head, sizeof f->head, 0, err);
	if (!rc && (size < sizeof f->head || memcmp(f->head.magic, "KHcands1", 8) != 0))
		return kh_fail(err, KH_EFORMAT, "%s: not a file of classify --candidates",
			       f->path);
	if (!rc && f->head.sum != XXH3_64bits(&f->head, offsetof(kh_answers_head, sum)))
		return kh_fail(err, KH_EFORMAT, "%s: the head is damaged", f->path);
	if (!rc && size >= sizeof f->head + sizeof f->tail)
		rc = kh_source_pread(f->source, &f->tail, sizeof f->tail, size - sizeof f->tail,
				     err);
	if (rc)
		return rc;
	if (memcmp(f->tail.magic, "KHcandsE", 8) != 0)
		return kh_fail(err, KH_EFORMAT, "%s: truncated: its end is missing", f->path);
	f->blocks = f->tail.fragments / KH_ANSWERS_BLOCK +
		    (f->tail.fragments % KH_ANSWERS_BLOCK > 0);
	if (f->blocks > (size - sizeof f->head - sizeof f->tail) / sizeof(uint32_t))
		return kh_fail(err, KH_EFORMAT, "%s: %" PRIu64 " fragments have no room in its %"
			       PRIu64 " bytes", f->path, f->tail.fragments, size);
	return KH_OK;
}

static int check_sum(const kh_answers_in *f, uint64_t size, kh_err *err)
{
	enum { CHUNK = 1 << 18 };
	XXH3_state_t *x = XXH3_createState();
	char *chunk = kh_array(CHUNK, 1, err);
	const uint64_t end = size - sizeof f->tail + offsetof(kh_answers_tail, sum);
	int rc = x && chunk ? KH_OK : kh_fail_nomem(err);

	if (!rc)
		XXH3_64bits_reset(x);
	for (uint64_t at = 0, n; at < end && !rc; at += n) {
		n = end - at < CHUNK ? end - at : CHUNK;
		rc = kh_source_pread(f->source, chunk, (size_t)n, at, err);
		if (!rc)
			XXH3_64bits_update(x, chunk, (size_t)n);
	}
	if (!rc && XXH3_64bits_digest(x) != f->tail.sum)
		rc = kh_fail(err, KH_EFORMAT, "%s: damaged: its checksum is wrong", f->path);
	XXH3_freeState(x);
	free(chunk);
	return rc;
}

static int find_blocks(kh_answers_in *f, uint64_t size, kh_err *err)
{
	const size_t n = (size_t)f->blocks;
	const uint64_t end = size - sizeof f->tail - n * sizeof(uint32_t);
	uint32_t *bytes = kh_array(n, sizeof *bytes, err);
	int rc = bytes && (f->at = kh_array(n + 1, sizeof *f->at, err)) ? KH_OK : KH_ENOMEM;

	if (!rc)
		rc = kh_source_pread(f->source, bytes, n * sizeof *bytes, end, err);
	if (!rc)
		f->at[0] = sizeof f->head;
	for (size_t i = 0; i < n && !rc; i++) {
		f->at[i + 1] = f->at[i] + bytes[i];
		if (bytes[i] > KH_BGZF_MAX || bytes[i] < sizeof kh_bgzf_eof)
			rc = kh_fail(err, KH_EFORMAT, "%s: block %zu has %" PRIu32 " bytes",
				     f->path, i, bytes[i]);
	}
	if (!rc && f->at[n] != end)
		rc = kh_fail(err, KH_EFORMAT, "%s: its blocks have %" PRIu64 " bytes, not %"
			     PRIu64, f->path, f->at[n], end);
	free(bytes);
	return rc;
}

int kh_answers_in_open(kh_answers_in **out, const char *path, kh_err *err)
{
	kh_answers_in *f = kh_array(1, sizeof *f, err);
	uint64_t size = 0;
	int rc = f ? KH_OK : KH_ENOMEM;

	*out = f;
	if (!rc && !(f->path = strdup(path)))
		rc = kh_fail_nomem(err);
	if (!rc)
		rc = kh_source_check(path, &size, err);
	if (!rc && size == 0)
		rc = kh_fail(err, KH_EFORMAT, "%s: not a file of classify --candidates", path);
	if (!rc)
		rc = kh_source_open(&f->source, path, err);
	if (!rc)
		rc = read_ends(f, size, err);
	if (!rc)
		rc = check_sum(f, size, err);
	return rc ? rc : find_blocks(f, size, err);
}

void kh_answers_free(kh_answers *a)
{
	if (!a)
		return;
	kh_inflate_free(a->inflate);
	free(a->packed);
	free(a->text);
	free(a);
}

static int make_room(kh_answers *a, kh_err *err)
{
	if (a->text)
		return KH_OK;
	if (kh_inflate_new(&a->inflate, err) ||
	    !(a->packed = kh_array(KH_BGZF_MAX, 1, err)) ||
	    !(a->text = kh_array(KH_BGZF_UNIT, 1, err)))
		return KH_ENOMEM;
	return KH_OK;
}

/* A block of BGZF as kh_bgzf_pack makes it. */
static size_t unpack(kh_answers *a, size_t n)
{
	enum { HEAD = 18, END = 8 };
	uint32_t crc, size;
	kh_inflate_io io = { a->packed + HEAD, n - HEAD - END, a->text, 0 };

	memcpy(&crc, a->packed + n - END, sizeof crc);
	memcpy(&size, a->packed + n - END + 4, sizeof size);
	io.n_out = size;
	kh_inflate_reset(a->inflate);
	return size <= KH_BGZF_UNIT && kh_inflate_block(a->inflate, &io) &&
	       kh_crc32(0, a->text, size) == crc ? size : 0;
}

int kh_answers_read(const kh_answers_in *f, uint64_t block, kh_answers *to, kh_err *err)
{
	const size_t n = (size_t)(f->at[block + 1] - f->at[block]);
	const uint64_t left = f->tail.fragments - block * KH_ANSWERS_BLOCK;
	int rc = make_room(to, err);
	size_t bytes;

	if (!rc)
		rc = kh_source_pread(f->source, to->packed, n, f->at[block], err);
	if (rc)
		return rc;
	to->n = (size_t)(left < KH_ANSWERS_BLOCK ? left : KH_ANSWERS_BLOCK);
	bytes = unpack(to, n);
	if (bytes == 0 || !kh_answers_decode(&f->head, to->text, bytes, to))
		return kh_fail(err, KH_EFORMAT, "%s: block %" PRIu64 " is damaged", f->path,
			       block);
	return KH_OK;
}
