#include <config.h>
#include "merge/blanks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "merge/formats_in.h"

/* The share of wrong ones among what is more than in the blank. */
static const double false_discoveries = .05;

const char *kh_merge_blank_name(enum kh_merge_blank_verdict v)
{
	static const char *const name[] = { "no blank", "not in the blank", "as in the blank",
					    "more than in the blank" };

	return name[v];
}

/* --- the test ----------------------------------------------------------------------- */
static double log_factorial(double n)
{
	int sign;

	return lgamma_r(n + 1, &sign);
}

double kh_merge_binomial(uint64_t x, uint64_t n, double f)
{
	const bool upper = (double)x > (double)n * f;
	const double odds = f / (1 - f);
	uint64_t k = upper ? x : x - 1;
	double term, sum = 0;

	if (x == 0)
		return 1;
	if (x > n)
		return 0;
	term = exp(log_factorial((double)n) - log_factorial((double)k) -
		   log_factorial((double)(n - k)) + (double)k * log(f) +
		   (double)(n - k) * log1p(-f));
	/* terms become smaller from the mean on, to both sides */
	while (term > sum * 1e-17) {
		sum += term;
		if (k == (upper ? n : 0))
			break;
		term *= upper ? odds * (double)(n - k) / ((double)k + 1)
			      : (double)k / (odds * ((double)(n - k) + 1));
		k = upper ? k + 1 : k - 1;
	}
	return upper ? fmin(1, sum) : fmax(0, 1 - sum);
}

/* The incomplete beta function I_y(d/2, d/2) as a series, which is symmetrical about 1/2. */
double kh_merge_f(double y, double d)
{
	const double a = d / 2, z = fmin(y, 1 - y);
	double sum = 0, term = exp(log_factorial(d - 1) - 2 * log_factorial(a - 1) +
				   a * log(z * (1 - z))) / a;

	for (double k = 0; term > sum * 1e-17; k++) {
		sum += term;
		term *= z * (d + k) / (a + 1 + k);
	}
	return y <= .5 ? sum : 1 - sum;
}

/* --- samples and controls ----------------------------------------------------------- */
static uint64_t reads_of(const kh_merge *m, const kh_merge_cell *c)
{
	return m->profiles ? ((uint64_t)c->reads + 50) / 100 : c->clade;
}

static bool is_species(const kh_merge *m, uint32_t taxon)
{
	return strcmp(m->taxon[taxon].code, "S") == 0;
}

/* All reads of each sample: of a profile those of its species and of the unknown. */
static void count_reads(const kh_merge *m, uint64_t *all)
{
	for (size_t i = 0; i < m->n_samples; i++)
		all[i] = m->profiles ? reads_of(m, &m->sample[i].unknown)
				     : m->sample[i].unclassified + m->sample[i].classified;
	for (size_t c = 0; c < m->n_cells && m->profiles; c++)
		if (is_species(m, m->cell[c].taxon))
			all[m->cell[c].sample] += reads_of(m, &m->cell[c]);
}

static double million(uint64_t reads, uint64_t of)
{
	return of > 0 ? (double)reads * 1e6 / (double)of : 0;
}

/* Numbers about their mean, as they come. */
struct spread {
	double n, mean, squares;
};

static void spread(struct spread *s, double x)
{
	const double off = x - s->mean;

	s->n++;
	s->mean += off / s->n;
	s->squares += off * (x - s->mean);
}

static double by_frequency(const kh_merge *m, uint32_t taxon, const uint64_t *all)
{
	struct spread own = { .n = 0 }, reagent = { .n = 0 };

	for (size_t i = m->first[taxon]; i < m->first[taxon + 1]; i++) {
		const kh_merge_sample *s = &m->sample[m->cell[i].sample];
		const double f = log((double)reads_of(m, &m->cell[i]) /
				     (double)all[m->cell[i].sample]);

		if (s->control || !(s->concentration > 0) || !isfinite(f))
			continue;
		spread(&own, f);
		spread(&reagent, f + log(s->concentration));
	}
	/* what both fit but for rounding tells nothing */
	const double both = own.squares + reagent.squares;
	return both > 1e-18 ? kh_merge_f(reagent.squares / both, own.n - 1) : (double)NAN;
}

/* what: of the species in common. */
static int add(kh_merge *m, size_t *cap, const kh_merge_cell *c, const uint64_t *all,
	       const kh_merge_blank *what, uint64_t controls, kh_err *err)
{
	const uint64_t reads = reads_of(m, c), n = all[c->sample];
	kh_merge_blank x = *what;

	if (reads == 0 || m->sample[c->sample].control)
		return KH_OK;
	x.sample = c->sample;
	x.reads = reads;
	x.rate = million(reads, n);
	x.control_rate = million(x.control, controls);
	if (x.control > 0) {
		x.verdict = KH_MERGE_AS_IN_BLANK;
		x.p = kh_merge_binomial(reads, reads + x.control,
					(double)n / ((double)n + (double)controls));
	}
	const int rc = KH_GROW(m->blank, *cap, m->n_blanks + 1, err);
	if (!rc)
		m->blank[m->n_blanks++] = x;
	return rc;
}

static int compare(kh_merge *m, const uint64_t *all, kh_err *err)
{
	kh_merge_blank what = { .verdict = KH_MERGE_NO_BLANK };
	uint64_t controls = 0;
	size_t cap = 0;
	bool any = false;
	int rc = KH_OK;

	for (size_t i = 0; i < m->n_samples; i++) {
		controls += m->sample[i].control ? all[i] : 0;
		any |= m->sample[i].control;
	}
	if (controls > 0)
		what.verdict = KH_MERGE_NOT_IN_BLANK;
	else if (any)
		kh_log(KH_WARN, "the controls have no reads, so nothing is compared with them");
	for (uint32_t t = 0; t < m->n && !rc; t++) {
		if (!is_species(m, t))
			continue;
		what.taxon = t;
		what.control = 0;
		what.by_frequency = by_frequency(m, t, all);
		for (size_t c = m->first[t]; c < m->first[t + 1]; c++)
			if (m->sample[m->cell[c].sample].control)
				what.control += reads_of(m, &m->cell[c]);
		for (size_t c = m->first[t]; c < m->first[t + 1] && !rc; c++)
			rc = add(m, &cap, &m->cell[c], all, &what, controls, err);
	}
	return rc;
}

/* --- false discoveries -------------------------------------------------------------- */
static bool was_tested(const kh_merge_blank *x)
{
	return x->verdict > KH_MERGE_NOT_IN_BLANK;
}

/* What was tested stands first, the greatest p in front; of equal ones, and of the others, in the
 * order of samples. */
static int by_p(const void *a, const void *b)
{
	const kh_merge_blank *x = a, *y = b;
	const bool tested = was_tested(x);

	if (tested != was_tested(y))
		return tested ? -1 : 1;
	return x->p > y->p ? -1 : x->p < y->p;
}

static int by_sample(const void *a, const void *b)
{
	const kh_merge_blank *x = a, *y = b;

	if (x->sample != y->sample)
		return x->sample < y->sample ? -1 : 1;
	return x->taxon < y->taxon ? -1 : x->taxon > y->taxon;
}

/* The least rate of false ones at which each test is believed. */
static void judge(kh_merge *m)
{
	size_t tests = 0;
	double q = 1;

	qsort(m->blank, m->n_blanks, sizeof *m->blank, by_p);
	while (tests < m->n_blanks && was_tested(&m->blank[tests]))
		tests++;
	for (size_t i = 0; i < tests; i++) {
		kh_merge_blank *x = &m->blank[i];

		q = fmin(q, x->p * (double)tests / (double)(tests - i));
		x->q = q;
		x->verdict = q <= false_discoveries ? KH_MERGE_MORE_THAN_IN_BLANK
						    : KH_MERGE_AS_IN_BLANK;
	}
	qsort(m->blank, m->n_blanks, sizeof *m->blank, by_sample);
}

int kh_merge_blanks(kh_merge *m, kh_err *err)
{
	uint64_t *all = kh_array(m->n_samples, sizeof *all, err);
	int rc = all ? KH_OK : KH_ENOMEM;

	if (!rc) {
		count_reads(m, all);
		rc = compare(m, all, err);
	}
	if (!rc && m->n_blanks > 0)
		judge(m);
	free(all);
	return rc;
}

/* --- as a table --------------------------------------------------------------------- */
void kh_merge_blanks_table(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	bool concentrations = false;

	for (size_t i = 0; i < m->n_samples; i++)
		concentrations |= m->sample[i].concentration > 0;
	kh_buf_string(&s->b, "sample\ttaxid\tname\treads\tper_million\tcontrol_reads\t"
			     "control_per_million\tp\tq\tverdict");
	kh_buf_string(&s->b, concentrations ? "\tp_freq" : "");
	kh_merge_end_row(s);
	for (size_t i = 0; i < m->n_blanks && !s->rc; i++) {
		const kh_merge_blank *x = &m->blank[i];

		if (x->sample < o->from || x->sample >= o->to)
			continue;
		kh_buf_print(&s->b, "%s\t%" PRIu32 "\t", m->sample[x->sample].name,
			     m->taxon[x->taxon].taxid);
		kh_buf_string(&s->b, kh_merge_name(m, x->taxon));
		kh_buf_print(&s->b, "\t%" PRIu64 "\t%.2f\t%" PRIu64 "\t%.2f\t", x->reads, x->rate,
			     x->control, x->control_rate);
		if (was_tested(x))
			kh_buf_print(&s->b, "%.3g\t%.3g", x->p, x->q);
		else
			kh_buf_string(&s->b, "-\t-");
		kh_buf_print(&s->b, "\t%s", kh_merge_blank_name(x->verdict));
		if (concentrations && isnan(x->by_frequency))
			kh_buf_string(&s->b, "\t-");
		else if (concentrations)
			kh_buf_print(&s->b, "\t%.3g", x->by_frequency);
		kh_merge_end_row(s);
	}
}
