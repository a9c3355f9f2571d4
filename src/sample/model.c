/* model.c - fits and shares in turn, verdicts, decisions */
#include <config.h>
#include "sample/model_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

enum {
	ROUNDS = 6,             /* at most, before species are refuted, and again after it */
	LONG_IS = 8,            /* a long fragment counts as so many more */
	FEW_SPECIES = 4,        /* fewer are fitted by one thread */
	NARROW_LEAST = 5,       /* located fragments that a species is judged narrow by */
	NARROW_MOST = 20        /* with so many intervals, narrow only if far more are expected */
};

const char *kh_verdict_name(enum kh_verdict v)
{
	static const char *const name[] = {
		"present", "divergent", "reads of a relative that is not in the database",
		"shared with a relative", "in few places only", "too few reads to judge",
	};

	return name[v];
}

/* --- the species of a sample ------------------------------------------------------ */
static int find_some(void *arg, unsigned id, kh_err *err)
{
	kh_modelling *w = arg;
	const kh_classes *c = w->in->classes;

	(void)err;
	for (size_t i = kh_modelling_from(w, c->n, id); i < kh_modelling_from(w, c->n,
									      id + 1); i++) {
		if (!w->cell.used[c->at[i].cell])
			w->cell.used[c->at[i].cell] = true;
		for (int j = 0; j < KH_CANDIDATES && c->at[i].species[j] != KH_NO_TAXON; j++) {
			_Atomic uint32_t *at =
				(_Atomic uint32_t *)&w->place[c->at[i].species[j]];

			if (!atomic_load_explicit(at, memory_order_relaxed))
				atomic_store_explicit(at, 1, memory_order_relaxed);
		}
	}
	return KH_OK;
}

/* The species that classes name, and the cells that they have. */
static int list_species(kh_modelling *w, kh_err *err)
{
	const kh_taxonomy *tax = w->in->db->tax;
	const int rc = kh_modelling_run(w, w->in->classes->n, KH_FEW_CLASSES, find_some, err);

	if (rc)
		return rc;
	for (uint32_t t = 0; t < tax->n; t++)
		if (w->place[t])
			w->place[t] = ++w->m->n;
	for (uint32_t cell = 0; cell < KH_CELLS; cell++)
		if (w->cell.used[cell]) {
			w->cell.slot[cell] = w->cell.n;
			w->cell.at[w->cell.n++] = cell;
		}
	w->m->at = kh_array(w->m->n, sizeof *w->m->at, err);
	w->many = kh_array((size_t)w->m->n * w->cell.n, sizeof *w->many, err);
	w->due.v = kh_array(w->m->n, sizeof *w->due.v, err);
	w->family = kh_array(w->m->n, sizeof *w->family, err);
	return w->m->at && w->many && w->due.v && w->family ? KH_OK : KH_ENOMEM;
}

static uint32_t family_of(const kh_taxonomy *tax, uint32_t species, kh_rank family)
{
	for (uint32_t t = species; t != 0; t = tax->parent[t])
		if (tax->rank[t] == family)
			return t;
	return tax->genus[species];
}

static int describe_species(kh_modelling *w, kh_err *err)
{
	const kh_db *db = w->in->db;
	const kh_rank family = kh_rank_find("family", 6);
	const uint64_t interval = (uint64_t)KH_INTERVAL * db->h->sampling.stride;
	uint64_t *length = kh_array(db->tax->n, sizeof *length, err);
	uint64_t *bases = kh_array(db->tax->n, sizeof *bases, err);
	uint64_t *of_taxon = kh_array(db->tax->n, sizeof *of_taxon, err);
	uint64_t *sequences = kh_array(db->tax->n, sizeof *sequences, err);

	if (!length || !bases || !of_taxon || !sequences) {
		free(length);
		free(bases);
		free(of_taxon);
		free(sequences);
		return KH_ENOMEM;
	}
	kh_species_intervals(db, length);
	for (uint32_t i = 0; i < db->h->n_targets; i++) {
		const uint32_t s = db->tax->species[db->target[i].taxon];

		of_taxon[db->target[i].taxon] += db->target[i].bases;
		if (s != KH_NO_TAXON) {
			bases[s] += db->target[i].bases;
			sequences[s]++;
		}
	}
	for (uint32_t t = 0; t < db->tax->n; t++) {
		const uint32_t i = w->place[t] - 1;

		if (!w->place[t])
			continue;
		w->m->at[i].taxon = t;
		w->m->at[i].length = w->m->at[i].least = length[t];
		w->m->at[i].own_long = 65536;
		w->m->at[i].bases = bases[t];
		w->m->at[i].sequences = sequences[t];
		w->m->at[i].many_strains =
			bases[t] / interval > (uint64_t)KH_SPECIES_PLACES * length[t];
		w->family[i] = family_of(db->tax, t, family);
	}
	for (uint32_t t = 0; t < db->tax->n; t++) {
		const uint32_t s = db->tax->species[t], i = s == KH_NO_TAXON ? 0 : w->place[s];
		const uint64_t has = of_taxon[t] / interval;

		/* what has less than half of it is no genome */
		if (i && 2 * has >= length[s] && has < w->m->at[i - 1].least)
			w->m->at[i - 1].least = has;
	}
	free(length);
	free(bases);
	free(of_taxon);
	free(sequences);
	return KH_OK;
}

/* --- verdicts --------------------------------------------------------------------- */
static void first_verdict(kh_presence *p)
{
	p->verdict = p->fit.kind == KH_FIT_FEW		  ? KH_TOO_FEW
		     : !p->fit.own			  ? KH_RELATIVE
		     : kh_divergence[p->fit.shape[0]] > 40 ? KH_DIVERGENT
							   : KH_PRESENT;
}

static void refute(kh_presence *p, enum kh_verdict v)
{
	p->fit.own = false;
	p->verdict = v;
}

/* It has little beside `most`, the most fragments that any species of the family has of its own. */
static bool is_rare(const kh_presence *p, uint64_t most)
{
	return kh_presence_own(p) << 16 < KH_LITTLE * most;
}

static bool is_echo(const kh_presence *p, uint64_t most)
{
	const uint64_t own = kh_presence_own(p);

	return p->verdict != KH_TOO_FEW && own > 0 && 2 * own < p->fit.total && is_rare(p, most);
}

/* Has it found less than this share, in tenths, of the intervals to be expected? */
static bool is_below(const kh_presence *p, uint64_t tenths)
{
	return 10 * 256 * (p->found + 1) < tenths * p->expected;
}

/* Part of a genome, or genes that are read more often than others, are no artefact; so if there are
 * many intervals, and all fragments are alike and near the reference, a fifth will do, but not
 * beside a far more abundant species of its family.  A few long reads have many places, one behind
 * the other, so by chance they may lie in fewer intervals than as many short ones. */
static bool is_narrow(const kh_presence *p, uint64_t most)
{
	const bool doubtful = p->found < NARROW_MOST || is_rare(p, most);
	const bool clear = p->fit.weight[0] >> 4 >= KH_NEARLY_ALL &&
			   kh_divergence[p->fit.shape[0]] <= 10;

	if (p->verdict == KH_TOO_FEW || !p->fit.own || p->counted < NARROW_LEAST)
		return false;
	if (p->fit.weak)
		return is_below(p, 8);
	return is_below(p, doubtful ? (p->by_long ? 5 : 7) : clear ? 2 : 5);
}

/* Most fragments of a species that is there have a place in it.  Those of genes that many species
 * have in common, often in several copies, do not. */
static bool is_common(const kh_presence *p)
{
	return p->verdict != KH_TOO_FEW && p->fit.weak &&
	       (p->lone < NARROW_LEAST || 2 * 256 * p->lone < kh_presence_own(p));
}

/* The species of a family that has the most fragments of its own. */
struct largest {
	uint64_t own;
	uint32_t taxon;
};

static int refute_some(kh_modelling *w, kh_err *err)
{
	struct largest *most = kh_array(w->in->db->tax->n, sizeof *most, err);

	if (!most)
		return KH_ENOMEM;
	for (uint32_t i = 0; i < w->m->n; i++) {
		const uint64_t own = kh_presence_own(&w->m->at[i]);

		if (own > most[w->family[i]].own)
			most[w->family[i]] = (struct largest) { own, w->m->at[i].taxon };
	}
	for (uint32_t i = 0; i < w->m->n; i++) {
		kh_presence *p = &w->m->at[i];
		const struct largest *of = &most[w->family[i]];

		p->rival = of->taxon;
		if (p->refuted)
			refute(p, KH_RELATIVE);
		else if (is_echo(p, of->own))
			refute(p, KH_ECHO);
		else if (is_narrow(p, of->own))
			refute(p, KH_NARROW);
		else if (is_common(p))
			refute(p, KH_RELATIVE);
		kh_keep_near(p);
		kh_judge_confidence(p);
		p->steady = kh_cover_is_steady(p);
	}
	free(most);
	return KH_OK;
}

/* Adds up what the profile says of a species besides its fit. */
static void sum_up(kh_modelling *w, uint32_t i)
{
	kh_presence *p = &w->m->at[i];
	uint64_t seen = 0;

	for (uint32_t j = 0; j < w->cell.n; j++) {
		const uint64_t many = w->many[(size_t)i * w->cell.n + j];
		const uint32_t cell = w->cell.at[j];

		p->share += (many * (2 * (cell % KH_SHARES) + 1)) >> 8;
		seen += many * w->m->shapes.seen[p->fit.shape[0]][cell / KH_SHARES];
	}
	p->seen = p->fit.total > 0 ? seen / p->fit.total : 65536;
}

/* --- fits ------------------------------------------------------------------------- */
/* Adds up what is a species' alone, and what all threads have shared, and leaves none of that.  Has
 * any sum changed? */
static bool take_shares(kh_modelling *w, uint32_t i)
{
	const size_t n = w->cell.n, from = i * n;
	uint64_t sum[KH_CELLS];
	bool changed;

	memcpy(sum, w->alone + from, n * sizeof *sum);
	for (unsigned c = 0; c < w->shared.copies; c++) {
		uint64_t *shared = kh_tallies_of(&w->shared, c) + from;

		for (size_t j = 0; j < n; j++)
			sum[j] += shared[j];
		memset(shared, 0, n * sizeof *shared);
	}
	changed = memcmp(w->many + from, sum, n * sizeof *sum) != 0;
	memcpy(w->many + from, sum, n * sizeof *sum);
	return changed;
}

/* Has what is its own changed by more than a fragment, and more than 1 in 256? */
static bool has_moved(uint64_t before, uint64_t now)
{
	const uint64_t by = before > now ? before - now : now - before;

	return by > 256 && by > now >> 8;
}

/* Some fits take many times as long as others, so each thread takes the next species when it is
 * ready.  A species whose fragments have not changed since the last round keeps its fit. */
static int fit_some(void *arg, unsigned id, kh_err *err)
{
	kh_modelling *w = arg;
	uint64_t many[KH_CELLS];

	(void)id;
	(void)err;
	for (uint32_t i; (i = atomic_fetch_add(&w->next, 1)) < w->m->n;) {
		const uint64_t own = kh_presence_own(&w->m->at[i]);

		if (!take_shares(w, i) && w->fitted)
			continue;
		kh_many_of(w, i, many);
		kh_fit_make(&w->m->at[i].fit, &w->m->shapes, many);
		if (!w->fitted || has_moved(own, kh_presence_own(&w->m->at[i])))
			atomic_fetch_add(&w->n_moved, 1);
	}
	return KH_OK;
}

static int fit_all(kh_modelling *w, kh_err *err)
{
	int rc;

	atomic_store(&w->next, 0);
	atomic_store(&w->n_moved, 0);
	rc = kh_modelling_run(w, w->m->n, FEW_SPECIES, fit_some, err);
	w->fitted = true;
	return rc;
}

/* Shares and fits in turn, until no species moves any more. */
static int settle(kh_modelling *w, kh_err *err)
{
	int rc = KH_OK;

	for (int round = 0; round < ROUNDS && !rc; round++)
		if ((rc = kh_ties_divide(w, err)) || (rc = fit_all(w, err)) || w->n_moved == 0)
			break;
	return rc;
}

/* --- the whole -------------------------------------------------------------------- */
static int decide_some(void *arg, unsigned id, kh_err *err)
{
	kh_modelling *w = arg;
	const kh_classes *c = w->in->classes;

	(void)err;
	for (size_t i = kh_modelling_from(w, c->n, id); i < kh_modelling_from(w, c->n,
									      id + 1); i++) {
		const kh_class *k = &c->at[i];
		const uint32_t call = w->m->changes ? kh_decide(w, k) : k->call;

		w->m->decision[i] = call;
		kh_add_call(&w->first, id, k->call, k->many);
		kh_add_call(&w->decided, id, call, k->many);
	}
	return KH_OK;
}

static int decide_all(kh_modelling *w, kh_err *err)
{
	const size_t taxa = (size_t)w->in->db->tax->n + 1;
	const unsigned threads = kh_team_size(w->in->team);
	kh_model *m = w->m;
	int rc;

	m->small = w->in->fragments + LONG_IS * w->in->classes->many[0] < KH_SAMPLE_LEAST;
	m->changes = w->in->change && !m->small;
	m->decision = kh_array_large(w->in->classes->n, sizeof *m->decision, err);
	if (!m->decision)
		return KH_ENOMEM;
	if ((rc = kh_tallies_init(&w->first, taxa, threads, err)) ||
	    (rc = kh_tallies_init(&w->decided, taxa, threads, err)) ||
	    (m->changes && (rc = kh_decide_begin(w, err))) ||
	    (rc = kh_modelling_run(w, w->in->classes->n, KH_FEW_CLASSES, decide_some, err)))
		return rc;
	m->first = kh_tallies_add_up(&w->first, err);
	if (!m->first)
		return KH_ENOMEM;
	if (m->changes)
		return kh_support_make(w, err);
	m->last = kh_tallies_add_up(&w->decided, err);
	return m->last ? KH_OK : KH_ENOMEM;
}

static int work(kh_modelling *w, kh_err *err)
{
	const kh_sampling counted = kh_rule_counted(w->in->rule);
	int rc;

	if ((rc = kh_shapes_make(&w->m->shapes, &counted, &w->in->rule->sampling,
				 w->in->classes->many, w->in->team, err)) ||
	    (rc = list_species(w, err)) || (rc = describe_species(w, err)) ||
	    (rc = kh_ties_open(w, err)))
		return rc;
	kh_cover_begin(w);
	if ((rc = settle(w, err)) || (rc = kh_cover_make(w, err)) || (rc = kh_told_make(w, err)) ||
	    (rc = settle(w, err)))
		return rc;
	kh_judge_long(w);
	for (uint32_t i = 0; i < w->m->n; i++) {
		kh_cover_rescue(w, &w->m->at[i]);
		first_verdict(&w->m->at[i]);
		sum_up(w, i);
	}
	if ((rc = kh_breadth(w, err)) || (rc = refute_some(w, err)))
		return rc;
	for (uint32_t i = 0; i < w->m->n; i++)
		kh_cover_limit(&w->m->at[i]);
	rc = decide_all(w, err);
	return rc ? rc : kh_cover_give_back(w, err);
}

int kh_model_make(kh_model *m, const kh_model_input *in, kh_err *err)
{
	kh_modelling w = { .in = in, .m = m };
	int rc = KH_ENOMEM;

	*m = (kh_model) { .n = 0 };
	w.place = kh_array(in->db->tax->n, sizeof *w.place, err);
	if (w.place)
		rc = work(&w, err);
	free(w.place);
	free(w.many);
	free(w.alone);
	free(w.called);
	free(w.called_alone);
	free(w.cell.logs);
	free(w.first.at);
	free(w.decided.at);
	free(w.last.at);
	free(w.shared.at);
	free(w.ties.v);
	free(w.ties.named);
	free(w.ties.of);
	free(w.told_many);
	free(w.weight);
	free(w.own);
	free(w.of_own);
	free(w.due.v);
	free(w.family);
	free(w.told);
	free(w.probe);
	free(w.found);
	free(w.found_genes);
	if (rc)
		kh_model_clear(m);
	return rc;
}

void kh_model_clear(kh_model *m)
{
	free(m->at);
	free(m->decision);
	free(m->first);
	free(m->last);
	free(m->end_up);
	*m = (kh_model) { .n = 0 };
}
