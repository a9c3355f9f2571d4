#include <config.h>
#include "kraken2/scan.h"

#include <stdbool.h>
#include <stdlib.h>
#include "base/mem.h"
#include "kraken2/frames.h"

void kh_k2_queries_clear(kh_k2_queries *a)
{
	free(a->key);
	free(a->run);
	*a = (kh_k2_queries) { .n = 0 };
}

void kh_k2_scanner_clear(kh_k2_scanner *s)
{
	free(s->chars);
	free(s->ring);
	free(s->frames);
	*s = (kh_k2_scanner) { .cap_ring = 0 };
}

/* Room for so many keys and runs more. */
static int reserve(kh_k2_queries *a, size_t more, kh_err *err)
{
	int rc = KH_GROW(a->key, a->cap, a->n + more, err);

	if (rc || a->n + more < KH_K2_CODES)
		return rc ? rc : KH_GROW(a->run, a->cap_runs, a->n_runs + more, err);
	return kh_fail(err, KH_EUSAGE, "a read with more than 2^32 k-mers");
}

int kh_k2_border(kh_k2_queries *a, uint32_t code, kh_err *err)
{
	const int rc = reserve(a, 1, err);

	if (!rc)
		a->run[a->n_runs++] = (kh_k2_run) { code, 1 };
	return rc;
}

/* --- the minimizers of a sequence ------------------------------------------------- */
/* The least of the last l-mers. */
typedef struct window {
	uint64_t *ring;                 /* of mask + 1 candidates */
	uint64_t mask, width;
	uint64_t least, at;             /* the least one, and the number of its l-mer */
} window;

/* Looks at the `n` l-mers up to number `last` again; of equal ones the last is taken, as it stays
 * longest. */
static void look_again(window *w, uint64_t last, uint64_t n)
{
	w->least = UINT64_MAX;
	for (uint64_t i = n; i-- > 0;) {
		const uint64_t x = w->ring[(last - i) & w->mask];

		if (x <= w->least) {
			w->least = x;
			w->at = last - i;
		}
	}
}

/* Adds l-mer number i, the lmers-th one since an ambiguous character. */
static inline void add_lmer(window *w, uint64_t candidate, uint64_t i, uint64_t lmers)
{
	w->ring[i & w->mask] = candidate;
	if (lmers == 1 || candidate <= w->least) {
		w->least = candidate;
		w->at = i;
	} else if (i - w->at >= w->width) {
		look_again(w, i, w->width);
	}
}

/* Adds k-mers to the queries, in the places that have been reserved. */
typedef struct adding {
	uint64_t *key;
	kh_k2_run *run;                 /* the last one; behind it is room */
	uint64_t last;                  /* minimizer of the last query, or UINT64_MAX */
} adding;

static inline void add_kmer(adding *a, const kh_k2_queries *to, uint32_t what)
{
	if (a->run >= to->run + to->n_runs && a->run->what == what)
		a->run->n++;
	else
		*++a->run = (kh_k2_run) { what, 1 };
}

/* The loop over characters, made twice: for bases and for residues. */
static inline void scan_chars(const kh_k2_rule *rule, const unsigned char *c, uint64_t n, window *w,
			      kh_k2_queries *to, const bool protein)
{
	const kh_k2_rule r = *rule;     /* in registers */
	const unsigned bits = protein ? 4 : 2, up = bits * (r.l - 1);
	adding a = { to->key + to->n - 1, to->run + to->n_runs - 1, UINT64_MAX };
	uint64_t x = 0, rc = 0, chars = 0, lmers = 0;

	for (uint64_t i = 0; i < n; i++) {
		if (c[i] == KH_K2_CHAR_AMBIGUOUS) {
			chars = lmers = 0;
		} else {
			x = (x << bits | c[i]) & r.mask;
			rc = protein ? 0 : rc >> 2 | (uint64_t)(3 - c[i]) << up;
			if (++chars >= r.l)
				add_lmer(w, kh_k2_candidate(&r, x, rc), i, ++lmers);
		}
		if (i + 1 < r.k)
			continue;
		if (!kh_k2_certain(&r, lmers)) {
			add_kmer(&a, to, KH_K2_AMBIGUOUS);
			continue;
		}
		if (w->least != a.last) {
			a.last = w->least;
			*++a.key = kh_k2_key(&r, a.last);
		}
		add_kmer(&a, to, (uint32_t)(a.key - to->key));
	}
	to->n = (size_t)(a.key + 1 - to->key);
	to->n_runs = (size_t)(a.run + 1 - to->run);
}

static int scan_sequence(kh_k2_scanner *s, const kh_k2_rule *r, const unsigned char *c, uint64_t n,
			 kh_k2_queries *a, kh_err *err)
{
	const uint64_t width = kh_k2_window(r), most = width < n ? width : n;
	window w = { .mask = 1, .width = width };
	int rc;

	if (n < r->k)
		return KH_OK;
	while (w.mask + 1 < most)
		w.mask = 2 * w.mask + 1;
	rc = KH_GROW(s->ring, s->cap_ring, (size_t)w.mask + 1, err);
	if (!rc)
		rc = reserve(a, (size_t)(n - r->k + 1), err);
	if (rc)
		return rc;
	w.ring = s->ring;
	if (r->protein)
		scan_chars(r, c, n, &w, a, true);
	else
		scan_chars(r, c, n, &w, a, false);
	return KH_OK;
}

/* --- the same of bases without an ambiguous one, as most reads are ------------------- */
/*
 * Three loops without a branch that depends on the bases, as a processor foresees none of those
 * in the window above.
 */
static bool any_ambiguous(const kh_k2_bases *b)
{
	const uint32_t *amb = b->amb + (b->at >> 5);
	uint32_t any = 0;

	for (uint64_t w = 0; w < b->n / 32; w++)
		any |= amb[w];
	if (b->n % 32)
		any |= amb[b->n / 32] & ((UINT32_C(1) << b->n % 32) - 1);
	return any != 0;
}

/* What is compared of each l-mer. */
static void find_candidates(const kh_k2_rule *rule, const kh_k2_bases *b, uint64_t *c)
{
	const uint64_t *bases = b->bases + (b->at >> 5);
	const unsigned up = 2 * (rule->l - 1);
	const uint64_t l = rule->l;
	uint64_t x = 0, rc = 0, word = 0;
	kh_k2_rule r = *rule;           /* in registers */

	r.protein = 0;
	for (uint64_t i = 0; i < b->n; i++) {
		word = i % 32 ? word >> 2 : bases[i / 32];
		x = (x << 2 | (word & 3)) & r.mask;
		rc = rc >> 2 | (~word & 3) << up;
		if (i + 1 >= l)
			c[i + 1 - l] = kh_k2_candidate(&r, x, rc);
	}
}

static void take_lesser(uint64_t *c, uint64_t n, uint64_t by)
{
	for (uint64_t i = 0; i < n; i++)
		c[i] = c[i + by] < c[i] ? c[i + by] : c[i];
}

/* Makes each of n candidates the least of it and those that follow, `width` in all. */
static void find_least(uint64_t *c, uint64_t n, uint64_t width)
{
	uint64_t done = 1;

	for (; 2 * done <= width; done *= 2)
		take_lesser(c, n - done, done);
	if (done < width)
		take_lesser(c, n - width + 1, width - done);
}

static void add_least(const kh_k2_rule *r, const uint64_t *least, uint64_t n, kh_k2_queries *to)
{
	uint64_t *key = to->key + to->n, last = UINT64_MAX;
	kh_k2_run *run = to->run + to->n_runs;

	for (uint64_t i = 0; i < n; i++) {
		const bool is_new = least[i] != last;

		last = least[i];
		*key = kh_k2_key(r, last);
		*run = (kh_k2_run) { (uint32_t)(key - to->key), (uint32_t)i };
		key += is_new;
		run += is_new;
	}
	run->n = (uint32_t)n;
	for (kh_k2_run *p = to->run + to->n_runs; p < run; p++)
		p->n = p[1].n - p->n;
	to->n = (size_t)(key - to->key);
	to->n_runs = (size_t)(run - to->run);
}

static int scan_plain(kh_k2_scanner *s, const kh_k2_rule *r, const kh_k2_bases *b, kh_k2_queries *a,
		      kh_err *err)
{
	int rc = KH_OK;

	if (b->n < r->k)
		return KH_OK;
	const uint64_t lmers = b->n - r->l + 1, kmers = b->n - r->k + 1;
	rc = KH_GROW(s->ring, s->cap_ring, (size_t)lmers, err);
	if (!rc)
		rc = reserve(a, (size_t)kmers + 1, err);
	if (rc)
		return rc;
	find_candidates(r, b, s->ring);
	find_least(s->ring, lmers, kh_k2_window(r));
	add_least(r, s->ring, kmers, a);
	return KH_OK;
}

/* --- bases ------------------------------------------------------------------------ */
/* A byte for each base; whole words of 32 are written. */
static void unpack(const kh_k2_bases *b, unsigned char *c)
{
	const uint64_t first = b->at >> 5, words = (b->n + 31) / 32;

	for (uint64_t w = 0; w < words; w++) {
		const uint64_t bases = b->bases[first + w];
		const uint32_t amb = b->amb[first + w];

		for (unsigned i = 0; i < 32; i++)
			c[32 * w + i] = (unsigned char)((bases >> 2 * i & 3) |
							(0 - (amb >> i & 1)));
	}
}

static int scan_frames(kh_k2_scanner *s, const kh_k2_rule *r, uint64_t bases, kh_k2_queries *a,
		       kh_err *err)
{
	kh_k2_frame frame[KH_K2_N_FRAMES];
	int rc = KH_GROW(s->frames, s->cap_frames, 2 * (size_t)bases + KH_K2_N_FRAMES, err);

	if (rc)
		return rc;
	kh_k2_translate(s->chars, bases, s->frames, frame);
	for (int i = 0; i < KH_K2_N_FRAMES && !rc; i++) {
		rc = scan_sequence(s, r, frame[i].residue, frame[i].n, a, err);
		if (!rc && i + 1 < KH_K2_N_FRAMES)
			rc = kh_k2_border(a, KH_K2_FRAMES, err);
	}
	return rc;
}

int kh_k2_scan(kh_k2_scanner *s, const kh_k2_rule *r, const kh_k2_bases *b, kh_k2_queries *a,
	       kh_err *err)
{
	if (!r->protein && !any_ambiguous(b))
		return scan_plain(s, r, b, a, err);
	const int rc = KH_GROW(s->chars, s->cap_chars, (size_t)b->n + 32, err);

	if (rc)
		return rc;
	unpack(b, s->chars);
	if (r->protein)
		return scan_frames(s, r, b->n, a, err);
	return scan_sequence(s, r, s->chars, b->n, a, err);
}
