#include <config.h>
#include "classify/kraken.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "kraken2/decide.h"
#include "kraken2/lookup.h"
#include "kraken2/scan.h"

/* Keys that are looked up together, or a few more. */
enum { TOGETHER = 1024 };

struct kh_k2_classifier {
	const kh_db *db;
	kh_tree tree;
	kh_k2_scanner scanner;
	kh_k2_decider decider;
	/* fragments that wait for a look-up: their queries, and where those of each end */
	kh_k2_queries queries;
	struct end {
		size_t keys, runs;
	} *end;
	size_t n_waiting, cap_end;
	uint32_t *taxon;                /* of each key of the queries */
	size_t cap_taxon;
	/* where results go */
	kh_call *call;
	kh_k2_runs *runs;
	kh_distinct *distinct;
	bool mates;
	size_t done;                    /* fragments of the job */
};

int kh_k2_classifier_new(kh_k2_classifier **out, const kh_db *db, kh_err *err)
{
	kh_k2_classifier *c = kh_array(1, sizeof *c, err);

	if (!c)
		return KH_ENOMEM;
	c->db = db;
	c->tree = kh_taxonomy_tree(db->tax);
	*out = c;
	return KH_OK;
}

void kh_k2_classifier_free(kh_k2_classifier *c)
{
	if (!c)
		return;
	kh_k2_scanner_clear(&c->scanner);
	kh_k2_decider_clear(&c->decider);
	kh_k2_queries_clear(&c->queries);
	free(c->end);
	free(c->taxon);
	free(c);
}

void kh_k2_runs_clear(kh_k2_runs *r)
{
	free(r->own);
	free(r->own_list);
	*r = (kh_k2_runs) { .n = 0 };
}

/* --- results ---------------------------------------------------------------------- */
int kh_k2_runs_more(kh_k2_runs *r, const kh_k2_run *run, size_t n, kh_err *err)
{
	kh_k2_list *list = &r->own_list[r->n_lists - 1];
	const int rc = kh_grow((void **)&r->own, &r->cap, r->n + n, sizeof *r->own, err);

	for (size_t i = 0; i < n && !rc; i++)
		if (r->n > list->from && r->own[r->n - 1].what == run[i].what)
			r->own[r->n - 1].n += run[i].n;
		else
			r->own[r->n++] = run[i];
	list->n = (uint32_t)r->n - list->from;
	r->run = r->own;
	return rc;
}

int kh_k2_runs_add(kh_k2_runs *r, const kh_k2_run *run, size_t n, kh_err *err)
{
	const int rc = kh_grow((void **)&r->own_list, &r->cap_lists, r->n_lists + 1,
			       sizeof *r->own_list, err);

	if (rc)
		return rc;
	r->list = r->own_list;
	r->own_list[r->n_lists++] = (kh_k2_list) { .from = (uint32_t)r->n };
	if (r->n + n >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE, "reads with more than 2^32 k-mers in a block");
	return kh_k2_runs_more(r, run, n, err);
}

static int count_distinct(const kh_k2_classifier *c, size_t first, size_t n, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = first; i < first + n && !rc; i++)
		if (c->taxon[i] != KH_NO_TAXON)
			rc = kh_distinct_add(c->distinct, c->taxon[i], &c->queries.key[i], 1, err);
	return rc;
}

static int settle_fragment(kh_k2_classifier *c, kh_k2_fragment *f, kh_err *err)
{
	kh_k2_verdict v;
	int rc = kh_k2_decide(&c->decider, &c->db->k2->rule, &c->tree, f, &v, err);
	if (!rc && c->distinct)
		rc = count_distinct(c, f->first_key, v.keys, err);
	if (!rc && c->runs)
		rc = kh_k2_runs_add(c->runs, f->run, f->n_runs, err);
	c->call[c->done++] = (kh_call) { .taxon = v.taxon,
					 .kmers = v.kmers < UINT32_MAX ? (uint32_t)v.kmers
									  : UINT32_MAX,
					 .hits = v.score, .found = v.groups };
	return rc;
}

/* Looks up the queries and calls the fragments that wait. */
static int settle(kh_k2_classifier *c, kh_err *err)
{
	const kh_k2_table table = { &c->db->k2->rule, c->db->image, c->db->k2->taxon };
	int rc = kh_grow((void **)&c->taxon, &c->cap_taxon, c->queries.n, sizeof *c->taxon, err);
	struct end from = { 0, 0 };

	if (!rc)
		kh_k2_lookup(&table, c->queries.key, c->queries.n, c->taxon);
	for (size_t i = 0; i < c->n_waiting && !rc; i++) {
		kh_k2_fragment f = { .run = c->queries.run + from.runs,
				     .n_runs = c->end[i].runs - from.runs, .taxon = c->taxon,
				     .first_key = from.keys, .mates = c->mates };

		from = c->end[i];
		rc = settle_fragment(c, &f, err);
	}
	c->n_waiting = c->queries.n = c->queries.n_runs = 0;
	return rc;
}

/* --- fragments -------------------------------------------------------------------- */
static int queue(kh_k2_classifier *c, const kh_job *job, size_t i, kh_err *err)
{
	const kh_k2_rule *rule = &c->db->k2->rule;
	const kh_block *b[2];
	const kh_record *r[2];
	int rc = KH_OK;

	kh_job_records(job, i, b, r);
	for (int mate = 0; mate < 2 && r[mate] && !rc; mate++) {
		const kh_k2_bases bases = { b[mate]->bases, b[mate]->amb, r[mate]->seq,
					    r[mate]->len };

		rc = kh_k2_scan(&c->scanner, rule, &bases, &c->queries, err);
		if (!rc && mate == 0 && r[1])
			rc = kh_k2_border(&c->queries, KH_K2_MATES, err);
	}
	c->mates = r[1] != NULL;
	if (!rc)
		rc = kh_grow((void **)&c->end, &c->cap_end, c->n_waiting + 1, sizeof *c->end, err);
	if (!rc)
		c->end[c->n_waiting++] = (struct end) { c->queries.n, c->queries.n_runs };
	return rc;
}

int kh_k2_classify_job(kh_k2_classifier *c, const kh_job *job, kh_call *call, kh_k2_runs *runs,
		       kh_distinct *distinct, kh_err *err)
{
	int rc = KH_OK;

	c->call = call;
	c->runs = runs;
	c->distinct = distinct;
	c->done = c->n_waiting = c->queries.n = c->queries.n_runs = 0;
	if (runs)
		runs->n = runs->n_lists = 0;
	for (size_t i = 0; i < job->n && !rc; i++) {
		rc = queue(c, job, i, err);
		if (!rc && c->queries.n >= TOGETHER)
			rc = settle(c, err);
	}
	return rc ? rc : settle(c, err);
}
