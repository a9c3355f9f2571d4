/*
 * probe.c - classifies reads made from the text of a species' references
 *
 * Short reads, 8 from each of 32 places, show how many fit the species alone: genes that its
 * relatives share never do, whether the species is there or not (cover.c, which chooses the
 * species).  They are perfect, lie in tracts of the size that cover.c counts in, and have about the
 * length of most of the sample's; they are pairs if that length takes two reads.  Long reads, one
 * from each place, show how many are called the species (told.c).  Errors make close species harder
 * to tell apart, so long reads get the median divergence of the species' long fragments as errors:
 * half substitutions, a quarter insertions, a quarter deletions.
 */
#include <config.h>
#include "sample/model_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "classify/match.h"
#include "db/join.h"
#include "sample/logs.h"
#include "kmer/fit.h"

enum {
	BASES = 4096,                   /* of a long read, before errors */
	INSERT = 400,                   /* of a pair */
	WORDS = BASES / 16,             /* room for one of twice as many */
	LEAST = 2048,                   /* stretches of fewer bases are passed over */
	READS = KH_PROBES * KH_PROBE_READS,     /* short ones; long ones are KH_PROBES */
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

struct kh_asker {
	const kh_modelling *w;
	kh_matcher *matcher;
	made made;
};

int kh_asker_new(kh_asker **out, const kh_modelling *w, const kh_rule *rule, kh_err *err)
{
	kh_asker *a = kh_array(1, sizeof *a, err);
	int rc = a ? kh_matcher_new(&a->matcher, w->in->db, rule, err) : KH_ENOMEM;

	if (rc) {
		free(a);
		return rc;
	}
	a->w = w;
	*out = a;
	return KH_OK;
}

void kh_asker_free(kh_asker *a)
{
	if (!a)
		return;
	kh_matcher_free(a->matcher);
	free(a);
}

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
static uint32_t errors_of(const kh_modelling *w, uint32_t i)
{
	const uint32_t k = kh_rule_counted(w->in->rule).k;
	uint64_t of[KH_CELLS], *many = of + KH_LONG * KH_SHARES, all = 0, sum = 0;
	uint32_t share = 0;

	kh_many_of(w, i, of);
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
		const uint64_t x = kh_fmix64(kh_db_base_number(db, i) + 1);
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
	uint64_t text[(INSERT + 31) / 32];
	const uint32_t words = (n + 31) / 32;

	for (uint32_t i = 0; i < words; i++)
		text[i] = kh_text_bases(db->text, at + 32 * i);
	for (uint32_t i = 0; i < words; i++)
		m->bases[m->block.n_words++] =
			(back ? ~kh_text_reverse_word(text, n, i) : text[i]) &
			kh_text_first(n - 32 * i < 32 ? n - 32 * i : 32);
	r->len = n;
}

/* Where read j of a place begins, behind the place: evenly over one tract, where tracts are longer
 * than places, or over one that begins there, and one in the middle of the place. */
static uint32_t begins(const kh_probe *p, uint32_t tract, uint32_t j)
{
	const uint32_t of = p->bases[j / KH_PROBE_READS] - INSERT, i = j % KH_PROBE_READS;

	if (p->reads == KH_PROBE_READS)
		return of * i / p->reads;
	return of / 2 * (i / p->reads) +
	       (tract < of / 2 ? tract : of / 2) * (i % p->reads) / p->reads;
}

/* With the middle number of k-mers of a size, in all places of long ones; tracts have so many
 * bases. */
static void add_short_reads(made *m, const kh_db *db, kh_probe *p, uint32_t size, uint64_t tract)
{
	const bool pairs = size >= PAIRS;
	const uint32_t kmers = (pairs ? 6u : 12u) << size;
	const uint32_t n = KH_TEXT_KMER + (kmers - 1) * KH_TEXT_STEP;

	p->reads = tract < BASES ? KH_PROBE_READS / 2 : KH_PROBE_READS;
	for (uint32_t j = 0; j < READS; j++) {
		const uint64_t at = p->from[j / KH_PROBE_READS] + begins(p, (uint32_t)tract, j);

		put_mate(m, db, at, n, false);
		if (pairs)
			put_mate(m, db, at + INSERT - n, n, true);
	}
	m->job.n = READS;
	m->job.interleaved = pairs;
}

/* --- a species ----------------------------------------------------------------------------- */
/* Is read j called species i? */
static bool is_told(const kh_modelling *w, const made *m, uint32_t i, uint32_t j)
{
	const uint32_t call = m->call[j].taxon;

	return call != KH_NO_TAXON && w->in->db->tax->species[call] == w->m->at[i].taxon;
}

static int ask(kh_asker *a, kh_err *err)
{
	made *m = &a->made;

	return kh_match_job(a->matcher, &m->job,
			    &(kh_match_results) { .call = m->call, .candidates = m->near }, err);
}

/* The size that most of its short fragments have, of equal ones the least. */
static uint32_t size_of(const kh_modelling *w, uint32_t i)
{
	uint64_t many[KH_CELLS], sum[KH_LONG] = { 0 };
	uint32_t most = 0;

	kh_many_of(w, i, many);
	for (uint32_t cell = 0; cell < KH_LONG * KH_SHARES; cell++)
		sum[cell / KH_SHARES] += many[cell];
	for (uint32_t size = 1; size < KH_LONG; size++)
		most = sum[size] > sum[most] ? size : most;
	return most;
}

static void make_short(const kh_modelling *w, made *m, uint32_t i)
{
	begin(m);
	add_short_reads(m, w->in->db, &w->probe[i], size_of(w, i),
			(uint64_t)KH_INTERVAL * w->in->db->h->sampling.stride
				<< w->m->at[i].cover.shift);
}

static int ask_short(kh_asker *a, uint32_t i, kh_err *err)
{
	const kh_modelling *w = a->w;
	made *m = &a->made;
	kh_probe *p = &w->probe[i];
	int rc;

	make_short(w, m, i);
	rc = ask(a, err);
	for (uint32_t j = 0; j < READS && !rc; j++) {
		const bool alone =
			is_told(w, m, i, j) && kh_class_best(&m->near[j]) == w->m->at[i].taxon;

		p->alone[j / KH_PROBE_READS] |= (uint8_t)(alone << j % KH_PROBE_READS);
		p->all_alone += alone;
		p->all_sole += alone && m->near[j].species[1] == KH_NO_TAXON;
	}
	return rc;
}

/* Strains of a sample are told four fifths as often as the references. */
static int ask_long(kh_asker *a, uint32_t i, kh_err *err)
{
	const kh_modelling *w = a->w;
	made *m = &a->made;
	kh_probe *p = &w->probe[i];
	uint32_t told = 0;
	int rc;

	begin(m);
	for (uint32_t j = 0; j < KH_PROBES; j++)
		add_long_read(m, w->in->db, p->from[j], p->bases[j], errors_of(w, i));
	rc = ask(a, err);
	for (uint32_t j = 0; j < KH_PROBES && !rc; j++)
		told += is_told(w, m, i, j);
	p->told = 1 + 65534 * told / KH_PROBES / 5 * 4;
	return rc;
}

static bool wants_short(const kh_presence *p)
{
	return kh_fit_short(&p->fit) >= KH_FEW && p->cover.n >= KH_COVER_LEAST && !p->cover.clear;
}

static bool wants_long(const kh_presence *p)
{
	return p->fit.many_long >= KH_FEW;
}

static int ask_about(kh_asker *a, uint32_t i, kh_err *err)
{
	const kh_presence *p = &a->w->m->at[i];
	const int rc = wants_short(p) ? ask_short(a, i, err) : KH_OK;

	return rc || !wants_long(p) ? rc : ask_long(a, i, err);
}

static int ask_some(void *arg, unsigned id, kh_err *err)
{
	kh_modelling *w = arg;
	kh_rule rule = *w->in->rule;
	kh_asker *a = NULL;
	int rc;

	(void)id;
	rule.want = KH_WANT_CANDIDATES;
	rc = kh_asker_new(&a, w, &rule, err);
	for (uint32_t x; !rc && (x = atomic_fetch_add(&w->next, 1)) < w->due.n;)
		rc = ask_about(a, w->due.v[x], err);
	kh_asker_free(a);
	return rc;
}

/* --- where the reads begin ----------------------------------------------------------------- */
/* The index in kh_model.at of the species of a stretch of the text, if it is to be asked about and
 * the stretch is long enough; else UINT32_MAX. */
static uint32_t presence_of_stretch(const kh_modelling *w, uint32_t stretch, uint64_t *from,
				    uint64_t *bases)
{
	const kh_db *db = w->in->db;
	const uint32_t s = db->tax->species[db->target[db->kept[stretch].target].taxon];
	const uint32_t i = s == KH_NO_TAXON ? 0 : w->place[s];

	*from = (uint64_t)db->kept[stretch].first_bin * db->h->sampling.stride;
	*bases = db->stretch[stretch].end - *from;
	return i == 0 || *bases < LEAST || w->m->at[i - 1].fit.total < KH_FEW ? UINT32_MAX : i - 1;
}

/* Spreads them evenly over all stretches of a species. */
static int find_places(kh_modelling *w, kh_err *err)
{
	uint64_t *all = kh_array(w->m->n, sizeof *all, err);
	uint64_t *before = kh_array(w->m->n, sizeof *before, err);
	const uint32_t n = all && before ? w->in->db->n_kept : 0;
	const int rc = all && before ? KH_OK : KH_ENOMEM;
	uint64_t from, bases;

	for (uint32_t t = 0; t < n; t++) {
		const uint32_t i = presence_of_stretch(w, t, &from, &bases);

		if (i != UINT32_MAX)
			all[i] += bases;
	}
	for (uint32_t t = 0; t < n; t++) {
		const uint32_t i = presence_of_stretch(w, t, &from, &bases);
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

int kh_probe_make(kh_modelling *w, kh_err *err)
{
	int rc;

	w->probe = kh_array(w->m->n, sizeof *w->probe, err);
	rc = w->probe ? find_places(w, err) : KH_ENOMEM;
	w->due.n = 0;
	for (uint32_t i = 0; i < w->m->n && !rc; i++)
		if (kh_probe_has(w, i) && (wants_short(&w->m->at[i]) || wants_long(&w->m->at[i])))
			w->due.v[w->due.n++] = i;
	atomic_store(&w->next, 0);
	return w->due.n == 0 ? rc : kh_modelling_run(w, w->due.n, FEW_SPECIES, ask_some, err);
}

/* --- the species as if it were not there ---------------------------------------------------- */
int kh_probe_kin(kh_asker *a, uint32_t i, uint32_t genus, kh_mean *x, kh_err *err)
{
	const kh_taxonomy *tax = a->w->in->db->tax;
	made *m = &a->made;
	int rc;

	make_short(a->w, m, i);
	kh_matcher_hide(a->matcher, a->w->m->at[i].taxon);
	rc = kh_match_job(a->matcher, &m->job, &(kh_match_results) { .call = m->call }, err);
	for (uint32_t j = 0; j < READS && !rc; j++) {
		const kh_call *c = &m->call[j];

		if (c->taxon == KH_NO_TAXON || c->taxon < genus || c->taxon >= tax->end[genus])
			continue;
		x->sum += 2 * kh_class_share(c) + 1;
		x->n++;
	}
	return rc;
}
