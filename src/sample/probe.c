/*
 * probe.c - how many of a species' fragments are told: asked of a database with text
 *
 * A database of k-mers says it of fragments that the build has made of the references (told.c).
 * One with text is asked about the species of a sample, with reads that are made of the text of
 * each.
 * Short ones are perfect, and pairs where that makes them as long as the sample's.  Long ones have
 * as many errors as half of the sample's are away from the species, as these make close species
 * harder to tell apart: half of them other bases, a quarter bases that are inserted, and a quarter
 * such that are deleted.
 */
#include <config.h>
#include "sample/model_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "classify/match.h"
#include "sample/logs.h"

enum {
	BASES = 4096,                   /* of a long read, before errors */
	INSERT = 400,                   /* of a pair */
	WORDS = BASES / 16,             /* room for one of twice as many */
	LEAST = 2048,                   /* stretches of fewer bases are passed over */
	READS = 128,                    /* short ones of a size; long ones are KH_PROBES */
	PAIRS = 2,                      /* the first size that is one of pairs */
	FEW_SPECIES = 4                 /* fewer are asked about by one thread */
};

/* Reads of one kind, or pairs, and what they are called. */
typedef struct made {
	kh_block block;
	kh_job job;
	uint64_t bases[KH_PROBES * WORDS + 1];
	uint32_t amb[KH_PROBES * WORDS + 1];
	kh_record rec[2 * READS];
	kh_call call[READS];
	kh_candidates near[READS];
} made;

static void begin(made *m)
{
	memset(m, 0, sizeof *m);
	m->block = (kh_block) { .bases = m->bases, .amb = m->amb, .rec = m->rec };
	m->job = (kh_job) { .block = { &m->block } };
}

static unsigned text_base(const kh_db *db, uint64_t i)
{
	return db->text[i / KH_TEXT_WORD] >> 2 * (i % KH_TEXT_WORD) & 3;
}

/* Begins a read. */
static kh_record *add_read(made *m)
{
	kh_record *r = &m->rec[m->block.n_rec++];

	*r = (kh_record) { .seq = 32 * (uint64_t)m->block.n_words };
	return r;
}

static void put_base(made *m, kh_record *r, unsigned base)
{
	const uint64_t at = r->seq + r->len++;

	m->bases[at / 32] |= (uint64_t)base << 2 * (at % 32);
	m->block.n_words = (size_t)(at / 32) + 1;
}

/* --- long reads ---------------------------------------------------------------------------- */
/* The errors of a base, in 1/2^24: half of a species' long fragments find more of their features,
 * and each of these has k bases. */
static uint32_t errors_of(const kh_work *w, uint32_t i)
{
	const uint64_t *many = &w->many[i][KH_LONG * KH_SHARES];
	const uint32_t k = kh_rule_counted(w->in->rule).k;
	uint64_t all = 0, sum = 0;
	uint32_t share = 0;

	for (uint32_t j = 0; j < KH_SHARES; j++)
		all += many[j];
	while (share + 1 < KH_SHARES && 2 * (sum + many[share]) < all)
		sum += many[share++];
	return KH_EXP2_ONE -
	       kh_exp2q((kh_log2q(2 * KH_SHARES) - kh_log2q(2 * share + 1)) / k);
}

static void add_long_read(made *m, const kh_db *db, uint64_t at, uint32_t n, uint32_t errors)
{
	kh_record *r = add_read(m);

	for (uint64_t i = at; i < at + n && r->len + 1 < 32 * WORDS; i++) {
		const uint64_t x = kh_fmix64(i + 1);
		const unsigned base = text_base(db, i), other = base ^ (1 + (x >> 32) % 3);
		const unsigned what = (x & (KH_EXP2_ONE - 1)) < errors ? 1 + (x >> 60) % 4 : 0;

		/* 0: as it is; 1, 2: another one; 3: and one behind it; 4: none */
		if (what < 4)
			put_base(m, r, what == 1 || what == 2 ? other : base);
		if (what == 3)
			put_base(m, r, other);
	}
	m->job.n++;
}

/* --- short ones ---------------------------------------------------------------------------- */
static void put_mate(made *m, const kh_db *db, uint64_t at, uint32_t n, bool back)
{
	kh_record *r = add_read(m);

	for (uint32_t i = 0; i < n; i++)
		put_base(m, r, back ? 3 ^ text_base(db, at + n - 1 - i) : text_base(db, at + i));
}

/* With the middle number of features of a size, in all places of long ones. */
static void add_short_reads(made *m, const kh_db *db, const kh_probe *p, uint32_t size)
{
	const bool pairs = size >= PAIRS;
	const uint32_t features = (pairs ? 6u : 12u) << size;
	const uint32_t n = KH_TEXT_KMER + (features - 1) * KH_TEXT_STEP, each = READS / KH_PROBES;

	for (uint32_t j = 0; j < READS; j++) {
		const uint32_t of = p->bases[j / each] - INSERT;
		const uint64_t at = p->from[j / each] + of * (j % each) / each;

		put_mate(m, db, at, n, false);
		if (pairs)
			put_mate(m, db, at + INSERT - n, n, true);
	}
	m->job.n = READS;
	m->job.interleaved = pairs;
}

/* --- a species ----------------------------------------------------------------------------- */
/* A share as a database of k-mers has it (db.h).  Strains of a sample are told, and alone, four
 * fifths as often as the references. */
static uint16_t share_of(uint32_t part, uint32_t all)
{
	return (uint16_t)(1 + 65534 * part / all / 5 * 4);
}

/* Asks about the reads that were made for species i.  How many short ones are told is not kept: of
 * strains far from a reference it is less, and other species would seem to have them. */
static int ask(kh_work *w, kh_matcher *matcher, made *m, uint32_t i, uint32_t size, kh_err *err)
{
	const uint32_t *species = w->in->db->tax->species, own = w->m->at[i].taxon;
	uint16_t *told = w->probe[i].told;
	uint32_t is = 0, alone = 0;
	int rc;

	rc = kh_match_job(matcher, &m->job, m->call, m->near, NULL, NULL, err);
	for (size_t j = 0; j < m->job.n && !rc; j++)
		if (m->call[j].taxon != KH_NO_TAXON && species[m->call[j].taxon] == own) {
			is++;
			alone += m->near[j].species[0] == own &&
				 m->near[j].species[1] == KH_NO_TAXON;
		}
	if (size == KH_LONG)
		told[KH_LONG] = told[KH_LONG + 1] = share_of(is, KH_PROBES);
	else if (is > 0)
		told[KH_TOLD_ALONE + size] = share_of(alone, is);
	return rc;
}

/* The sizes of short fragments that are asked about: with one, all smaller ones. */
static uint32_t sizes_of(const uint64_t many[KH_CELLS])
{
	uint32_t cells = KH_LONG * KH_SHARES;

	while (cells > 0 && many[cells - 1] == 0)
		cells--;
	return (cells + KH_SHARES - 1) / KH_SHARES;
}

static int ask_about(kh_work *w, kh_matcher *matcher, made *m, uint32_t i, kh_err *err)
{
	const kh_db *db = w->in->db;
	const kh_probe *p = &w->probe[i];
	const kh_fit *fit = &w->m->at[i].fit;
	const uint32_t sizes = kh_fit_short(fit) < KH_FEW ? 0 : sizes_of(w->many[i]);
	int rc = KH_OK;

	if (p->bases[KH_PROBES - 1] == 0)
		return KH_OK;
	for (uint32_t size = 0; size < sizes && !rc; size++) {
		begin(m);
		add_short_reads(m, db, p, size);
		rc = ask(w, matcher, m, i, size, err);
	}
	if (rc || fit->many_long < KH_FEW)
		return rc;
	begin(m);
	for (uint32_t j = 0; j < KH_PROBES; j++)
		add_long_read(m, db, p->from[j], p->bases[j], errors_of(w, i));
	return ask(w, matcher, m, i, KH_LONG, err);
}

static int ask_some(void *arg, unsigned id, kh_err *err)
{
	kh_work *w = arg;
	kh_rule rule = *w->in->rule;
	kh_matcher *matcher = NULL;
	made *m = kh_array(1, sizeof *m, err);
	int rc = KH_ENOMEM;

	(void)id;
	rule.candidates = KH_WANT_CANDIDATES;
	if (m)
		rc = kh_matcher_new(&matcher, w->in->db, &rule, err);
	for (uint32_t x; !rc && (x = atomic_fetch_add(&w->next, 1)) < w->n_due;)
		rc = ask_about(w, matcher, m, w->due[x], err);
	kh_matcher_free(matcher);
	free(m);
	return rc;
}

/* --- where the reads begin ----------------------------------------------------------------- */
/* The number of the species of a stretch of the text, if it is to be asked about and the stretch is
 * long enough; else UINT32_MAX. */
static uint32_t species_of(const kh_work *w, uint32_t stretch, uint64_t *from, uint64_t *bases)
{
	const kh_db *db = w->in->db;
	const uint32_t s = db->tax->species[db->target[db->kept[stretch].target].taxon];
	const uint32_t i = s == KH_NO_TAXON ? 0 : w->place[s];

	*from = (uint64_t)db->kept[stretch].first_bin * db->h->sampling.stride;
	*bases = db->stretch[stretch].end - *from;
	return i == 0 || *bases < LEAST || w->m->at[i - 1].fit.total < KH_FEW ? UINT32_MAX : i - 1;
}

/* Spreads them evenly over all stretches of a species. */
static int find_places(kh_work *w, kh_err *err)
{
	uint64_t *all = kh_array(w->m->n, sizeof *all, err);
	uint64_t *before = kh_array(w->m->n, sizeof *before, err);
	const uint32_t n = all && before ? w->in->db->n_kept : 0;
	const int rc = all && before ? KH_OK : KH_ENOMEM;
	uint64_t from, bases;

	for (uint32_t t = 0; t < n; t++) {
		const uint32_t i = species_of(w, t, &from, &bases);

		if (i != UINT32_MAX)
			all[i] += bases;
	}
	for (uint32_t t = 0; t < n; t++) {
		const uint32_t i = species_of(w, t, &from, &bases);
		const uint64_t last = bases > BASES ? bases - BASES : 0;

		for (uint32_t j = 0; j < KH_PROBES && i != UINT32_MAX; j++) {
			const uint64_t at = all[i] * (2 * j + 1) / (2 * KH_PROBES) - before[i];

			/* behind this stretch, or, wrapped around, in front of it */
			if (at >= bases)
				continue;
			w->probe[i].from[j] = from + (at < last ? at : last);
			w->probe[i].bases[j] = bases < BASES ? (uint32_t)bases : BASES;
		}
		if (i != UINT32_MAX)
			before[i] += bases;
	}
	free(all);
	free(before);
	return rc;
}

int kh_probe_make(kh_work *w, kh_err *err)
{
	int rc;

	w->probe = kh_array(w->m->n, sizeof *w->probe, err);
	rc = w->probe ? find_places(w, err) : KH_ENOMEM;
	w->n_due = 0;
	for (uint32_t i = 0; i < w->m->n; i++)
		if (w->m->at[i].fit.total >= KH_FEW)
			w->due[w->n_due++] = i;
	atomic_store(&w->next, 0);
	return rc ? rc : kh_work_run(w, w->n_due, FEW_SPECIES, ask_some, err);
}
