/* classify_coverage.c - what the page of classify --html says of where reads lie */
#include <config.h>
#include "cmd/classify_in.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"
#include "page/page.h"

/* So many species, those with the most reads: the page must not grow with the database. */
enum { SPECIES = 300 };

/* A read that shares i of 32 features with its reference is about so near to it: k bases in a row
 * are the same for a share I^k of the features. */
static int identities(const struct classify *j, kh_page_covered *c, kh_err *err)
{
	const double k = kh_rule_counted(&j->rule).k;

	c->identity = kh_array(KH_SHARES + 1, sizeof *c->identity, err);
	if (!c->identity)
		return KH_ENOMEM;
	for (int i = 0; i <= KH_SHARES; i++)
		c->identity[i] = pow((double)i / KH_SHARES, 1.0 / k);
	c->n_identities = KH_SHARES;
	return KH_OK;
}

static void describe(const kh_db *db, const kh_covered *s, kh_page_reference *r,
		     kh_page_coverage *to)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const kh_db_target *t = &db->target[s->target[i].target];

		r[i] = (kh_page_reference) { .id = db->ids + t->id,
					     .bases = t->bases,
					     .reads = s->target[i].many,
					     .bin = s->target[i].part,
					     .n_bins = s->target[i].n };
	}
	*to = (kh_page_coverage) { .taxon = s->species, .reads = s->many, .reference = r,
				   .n_references = s->n, .identity = s->share };
}

int kh_classify_coverage(const struct classify *j, const kh_pass_result *r, kh_page_covered *c,
			 kh_err *err)
{
	size_t n;
	int rc = kh_coverage_list(r->coverage, r->classes, SPECIES, &c->list, &n, err);

	if (!rc)
		rc = identities(j, c, err);
	if (rc)
		return rc;
	c->species = kh_array(n, sizeof *c->species, err);
	c->reference = kh_array(n * KH_COVERAGE_TARGETS, sizeof *c->reference, err);
	if (!c->species || !c->reference)
		return KH_ENOMEM;
	for (size_t i = 0; i < n; i++)
		describe(j->db, &c->list[i], &c->reference[i * KH_COVERAGE_TARGETS],
			 &c->species[i]);
	c->n = n;
	return KH_OK;
}

void kh_classify_coverage_clear(kh_page_covered *c)
{
	free(c->species);
	free(c->reference);
	free(c->identity);
	free(c->list);
}
