/*
 * told.c - how many of a species' own fragments are told: called that species
 *
 * Where species are close, many fragments of one fit others as well, and are called their genus.
 * How many do not is asked of the finished index, with excerpts of the references in place of
 * reads: the second pass of classify needs it to share such fragments among the species.
 */
#include <config.h>
#include "build/build_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/threads.h"
#include "classify/class.h"
#include "classify/classify.h"
#include "kmer/kmer.h"

enum {
	LEAST = 16,             /* fragments, to say anything */
	MOST = 256,             /* excerpts of a species that are asked about */
	MOST_LONG = 64,         /* and long reads of each kind that are made of them */
	IN_LONG = 8,            /* excerpts of such a read ... */
	IN_LONG_ERRORS = 5,     /* ... and of one with errors: ever longer ones tell ever more */
	SPAN_MOST = 4096,       /* bases of a segment, for there to be long reads */
	ERROR = 20,             /* one of so many of its bases is wrong */
	WORDS = 2 * MOST * KH_LONG * KH_EXCERPT_WORDS + 2 * MOST_LONG * IN_LONG * SPAN_MOST / 32,
	RECORDS = 2 * MOST * KH_LONG + 2 * MOST_LONG
};

/* The excerpts of a species: from number `first` on, n of them. */
struct host {
	uint32_t species;
	size_t first, n;
};

struct asking {
	const struct build *b;
	kh_db db;                       /* of what look-ups need */
	kh_rule rule;
	const kh_excerpt **of;          /* excerpts by species */
	struct host *host;
	size_t n_hosts;
	uint32_t length[KH_LONG];      /* bases of a fragment of each size */
	uint16_t *told;
	_Atomic size_t next;
};

/* A job of made reads, and what it is called. */
struct reads {
	kh_block block;
	kh_job job;
	uint64_t bases[WORDS];
	uint32_t amb[WORDS];
	kh_record rec[RECORDS];
	kh_call call[RECORDS];
	kh_candidates near[RECORDS];
	uint32_t kind[RECORDS];         /* size, or KH_LONG, or with errors KH_LONG + 1 */
};

/* Bases that probably have the middle number of features of a size. */
static uint32_t length_of(const kh_sampling *s, uint32_t size)
{
	const uint64_t apart = s->scheme == KH_SYNCMER ? s->k - s->s + 1
						       : (s->stride + s->s - 1) / s->s;
	const uint64_t each = (apart << 32) / kh_sampling_share(s);
	const uint64_t bases = s->k + ((UINT64_C(12) << size) - 1) * each;

	return bases < KH_EXCERPT ? (uint32_t)bases : KH_EXCERPT;
}

/* Begins a read of words that are free. */
static uint64_t add_read(struct reads *r, uint64_t len, uint32_t kind)
{
	const size_t at = r->block.n_words, words = (size_t)(len + 31) / 32;

	r->rec[r->job.n] = (kh_record) { .seq = 32 * (uint64_t)at, .len = len };
	r->kind[r->job.n++] = kind;
	r->block.n_words += words;
	memset(r->bases + at, 0, words * sizeof *r->bases);
	memset(r->amb + at, 0xff, words * sizeof *r->amb);
	return 32 * (uint64_t)at;
}

/* Puts the bases of an excerpt from number `from` on where base number `at` is. */
static void put_bases(struct reads *r, uint64_t at, const kh_excerpt *x, uint32_t from,
		      uint32_t bases)
{
	for (uint32_t i = from; i < from + bases; i++, at++) {
		r->bases[at / 32] |= (uint64_t)kh_packed_base(x->base, i) << 2 * (at % 32);
		r->amb[at / 32] &= ~(UINT32_C(1) << at % 32);
	}
}

/* Excerpt number i of those of a species that are asked about; behind the last one the first. */
static const kh_excerpt *excerpt_of(const struct asking *a, const struct host *h, size_t i)
{
	const size_t some = h->n < MOST ? h->n : MOST;

	return a->of[h->first + i % some * h->n / some];
}

/* The first bases of an excerpt, and its last ones if these are others. */
static void add_short_reads(struct reads *r, const kh_excerpt *x, uint32_t bases, uint32_t size)
{
	put_bases(r, add_read(r, bases, size), x, 0, bases);
	if (2 * bases <= KH_EXCERPT)
		put_bases(r, add_read(r, bases, size), x, KH_EXCERPT - bases, bases);
}

/* A long read has an excerpt in each segment, as each is looked at by itself; between them there is
 * nothing.  Errors are bases that have become their complements. */
static void add_long_read(struct reads *r, const struct asking *a, const struct host *h,
			  size_t from, uint32_t kind)
{
	const uint32_t span = a->rule.max_span,
		       apart = (KH_EXCERPT + span - 1) / span * span;
	const bool errors = kind > KH_LONG;
	const size_t some = errors ? IN_LONG_ERRORS : IN_LONG;
	const uint64_t at = add_read(r, (uint64_t)some * apart, kind);

	for (size_t j = 0; j < some; j++)
		put_bases(r, at + j * apart, excerpt_of(a, h, from + j), 0, KH_EXCERPT);
	for (uint64_t i = 0; errors && i < (uint64_t)some * apart; i++)
		if (kh_fmix64(i) % ERROR == 0)
			r->bases[(at + i) / 32] ^= UINT64_C(3) << 2 * ((at + i) % 32);
}

static void make_reads(const struct asking *a, const struct host *h, struct reads *r)
{
	const size_t some = h->n < MOST ? h->n : MOST,
		     longs = a->rule.max_span > SPAN_MOST ? 0
			   : h->n < MOST_LONG ? h->n : MOST_LONG;

	r->job = (kh_job) { .block = { &r->block } };
	r->block = (kh_block) { .bases = r->bases, .amb = r->amb, .rec = r->rec };
	for (size_t i = 0; i < some; i++)
		for (uint32_t size = 0; size < KH_LONG; size++)
			add_short_reads(r, excerpt_of(a, h, i), a->length[size], size);
	for (size_t i = 0; i < longs; i++)
		for (uint32_t kind = KH_LONG; kind < KH_TOLD_ALONE; kind++)
			add_long_read(r, a, h, i * some / longs, kind);
}

/* Is the read of the size that it was made for? */
static bool fits(const kh_call *c, uint32_t kind)
{
	return kind >= KH_LONG ? c->features > KH_N_MOST
				    : c->features >= (uint32_t)KH_N_LEAST << kind &&
				      c->features < (uint32_t)KH_N_LEAST << (kind + 1);
}

/* Counts a fragment of `kind` in all[x], and if it is so and so in told[x]: x = kind, and that is
 * told; x = KH_TOLD_ALONE + kind, among those of a short kind that are told, and nothing else is
 * near. */
static void count(const kh_taxonomy *tax, const struct host *h, const kh_call *call,
		  const kh_candidates *near, uint32_t kind, uint32_t all[KH_TOLD],
		  uint32_t told[KH_TOLD])
{
	const bool is = call->taxon != KH_NO_TAXON && tax->species[call->taxon] == h->species;

	all[kind]++;
	told[kind] += is;
	if (!is || kind >= KH_LONG)
		return;
	all[KH_TOLD_ALONE + kind]++;
	told[KH_TOLD_ALONE + kind] += near->species[0] == h->species &&
				      near->species[1] == KH_NO_TAXON;
}

static int ask_about(struct asking *a, kh_classifier *c, const struct host *h, struct reads *r,
		     kh_err *err)
{
	uint32_t all[KH_TOLD] = { 0 }, told[KH_TOLD] = { 0 };
	int rc;

	make_reads(a, h, r);
	kh_classifier_want(c, r->near, NULL);
	rc = kh_classify_job(c, &r->job, r->call, NULL, err);
	for (size_t i = 0; i < r->job.n && !rc; i++)
		if (fits(&r->call[i], r->kind[i]))
			count(a->db.tax, h, &r->call[i], &r->near[i], r->kind[i], all, told);
	for (uint32_t i = 0; i < KH_TOLD; i++)
		if (all[i] >= LEAST)
			a->told[(size_t)h->species * KH_TOLD + i] =
				(uint16_t)(1 + 65534 * told[i] / all[i]);
	return rc;
}

static int ask_some(void *arg, unsigned id, kh_err *err)
{
	struct asking *a = arg;
	struct reads *r = kh_array(1, sizeof *r, err);
	kh_classifier *c = NULL;
	int rc = r ? kh_classifier_new(&c, &a->db, &a->rule, err) : KH_ENOMEM;

	(void)id;
	for (size_t i; !rc && (i = atomic_fetch_add(&a->next, 1)) < a->n_hosts;)
		if (a->host[i].n >= LEAST)
			rc = ask_about(a, c, &a->host[i], r, err);
	kh_classifier_free(c);
	free(r);
	return rc;
}

/* --- the species and their excerpts ----------------------------------------------- */
/* The species of each sequence, or KH_NO_TAXON. */
static uint32_t *species_of_sequences(const struct build *b, kh_err *err)
{
	uint32_t *of = kh_array(b->refs.n, sizeof *of, err);

	if (!of)
		return NULL;
	for (size_t i = 0; i < b->refs.n; i++)
		of[i] = KH_NO_TAXON;
	for (uint32_t i = 0; i < b->taxa.n_targets; i++)
		of[b->taxa.target[i]] = b->taxa.tax->species[b->taxa.taxon[i]];
	return of;
}

/* Puts excerpts in the order of their species, those of one species as they were. */
static int sort_excerpts(struct asking *a, kh_err *err)
{
	const kh_excerpts *e = &a->b->excerpts;
	const uint32_t n_taxa = a->b->taxa.tax->n;
	size_t *at = kh_array((size_t)n_taxa + 1, sizeof *at, err);
	uint32_t *species = at ? species_of_sequences(a->b, err) : NULL;
	int rc = KH_ENOMEM;

	a->of = kh_array(e->n, sizeof *a->of, err);
	a->host = kh_array(n_taxa, sizeof *a->host, err);
	if (!species || !a->of || !a->host)
		goto out;
	for (size_t i = 0; i < e->n; i++)
		if (species[e->v[i].seq] != KH_NO_TAXON)
			at[species[e->v[i].seq] + 1]++;
	for (uint32_t t = 0; t < n_taxa; t++) {
		if (at[t + 1] > 0)
			a->host[a->n_hosts++] = (struct host) { t, at[t], at[t + 1] };
		at[t + 1] += at[t];
	}
	for (size_t i = 0; i < e->n; i++)
		if (species[e->v[i].seq] != KH_NO_TAXON)
			a->of[at[species[e->v[i].seq]]++] = &e->v[i];
	rc = KH_OK;
out:
	free(at);
	free(species);
	return rc;
}

/* --- the index, as it is in the file ----------------------------------------------- */
static int map_index(struct asking *a, size_t bytes, kh_err *err)
{
	const bool on_output = strcmp(a->b->o->db, "-") == 0;
	const char *name = on_output ? "/dev/stdout" : kh_db_file(a->b->out.w);
	const int fd = open(name, O_RDONLY | O_CLOEXEC);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED) {
		kh_fail(err, KH_EIO, "%s: %s", name, strerror(errno));
	} else {
		a->db.map = map;
		a->db.image = (const char *)map + KH_DB_PAGE;
	}
	if (fd >= 0)
		close(fd);
	return map == MAP_FAILED ? KH_EIO : KH_OK;
}

int kh_build_told(struct build *b, kh_err *err)
{
	const kh_range *last = &b->out.dir[KH_RANGES - 1];
	const size_t bytes = KH_DB_PAGE + (size_t)(last->first_bucket * sizeof(kh_bucket) +
						   kh_range_bytes(last, b->taxa.bins.bins.bits));
	struct asking a = { .b = b };
	int rc;

	a.db.h = &b->sum->header;
	a.db.dir = b->out.dir;
	a.db.tax = b->taxa.tax;
	a.db.bins = b->taxa.bins.bins;
	kh_rule_init(&a.rule, a.db.h);
	a.rule.candidates = KH_WANT_CANDIDATES;
	for (uint32_t i = 0; i < KH_LONG; i++)
		a.length[i] = length_of(&b->sampling, i);
	a.told = kh_array((size_t)a.db.tax->n * KH_TOLD, sizeof *a.told, err);
	rc = a.told ? sort_excerpts(&a, err) : KH_ENOMEM;
	if (!rc && a.n_hosts > 0 && !(rc = map_index(&a, bytes, err)))
		rc = kh_side_by_side(b->o->threads, ask_some, &a, err);
	if (!rc)
		rc = kh_db_begin(b->out.w, KH_SEC_TOLD, err);
	if (!rc)
		rc = kh_db_append(b->out.w, a.told,
				  (size_t)a.db.tax->n * KH_TOLD * sizeof *a.told, err);
	if (a.db.map)
		munmap(a.db.map, bytes);
	free(a.told);
	free(a.of);
	free(a.host);
	return rc;
}
