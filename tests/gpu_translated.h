/* gpu_translated.h - fragments looked at by translated seeds: by a device, beside the CPU */
#ifndef KH_TEST_GPU_TRANSLATED_H
#define KH_TEST_GPU_TRANSLATED_H

#include "gpu_queues.h"
#include "gpu_references.h"
#include "kmer/text.h"
#include "translated/graded.h"
#include "translated/level.h"
#include "translated/rule.h"

enum { GENE_READS = 400,
       GENOME = 43200,          /* bases of each of three genera, */
       FARTHER = GENOME / 8 };  /* of which so many are as far from what reads are of */

/* Changes some codons, mostly in their last base, but makes no stop of them. */
static void drift_codons(char *p, size_t n, size_t share)
{
	for (size_t i = 0; i + 3 <= n; i += 3) {
		char *at = p + i + (test_rand() % 5 ? 2 : test_rand() % 3), was = *at;

		if (test_rand() % 100 >= share)
			continue;
		*at = "ACGT"[test_rand() & 3];
		if (p[i] == 'T' && (p[i + 1] == 'A' || p[i + 1] == 'G'))
			*at = was == 'T' && at == p + i ? 'C' : was;
	}
}

/* References of three genera (one is a species without a genus) that are genes of one ancestor;
 * `genome`, from which reads are made, becomes what other species of these might have. */
static void make_genes(void)
{
	static const unsigned taxon[] = { 11, 21, 31 };
	static char ancestor[GENOME];
	size_t n = 0;

	random_bases(ancestor, GENOME);
	for (size_t i = 0; i < GENOME; i += 3)
		if (ancestor[i] == 'T')
			ancestor[i] = "ACG"[test_rand() % 3];
	for (int g = 0; g < 3; g++) {
		char *const mine = genome + g * GENOME;

		memcpy(mine, ancestor, GENOME);
		drift_codons(mine, GENOME, 70);
		n = put_sequence(n, taxon[g], mine, GENOME);
		for (size_t i = 0; i < 8; i++)
			drift_codons(mine + i * FARTHER, FARTHER, 30 + 10 * i);
	}
	random_bases(genome + 3 * GENOME, sizeof genome - 3 * GENOME);
	random_bases(repeat, sizeof repeat);
	random_bases(crowd, sizeof crowd);
	put_file(REFS, refs, n);
}

/* What the CPU says of fragment i. */
static uint32_t genus_by_cpu(kh_translator *r, const kh_job *job, size_t i)
{
	kh_translated_read mate[2] = { { .len = 0 } };
	const kh_translated_call *call;
	const kh_block *b[2];
	const kh_record *rec[2];
	size_t n;

	kh_job_records(job, i, b, rec);
	for (int m = 0; m < 2 && rec[m]; m++)
		mate[m] = (kh_translated_read) { b[m]->bases, b[m]->amb, rec[m]->seq, rec[m]->len };
	OK(kh_translator_add(r, mate, i, err));
	OK(kh_translator_settle(r, &call, &n, err));
	return n > 0 ? call[0].like.said : KH_NO_TAXON;
}

/* Compares what a task was given; returns how many genera there are. */
static size_t same_genera(const kh_task *t, kh_translator *r, const char *what)
{
	size_t genera = 0, host = 0;

	assert_non_null(t->genus);
	for (size_t i = 0; i < t->job->n; i++) {
		uint32_t is;

		if (t->call[i].taxon != KH_NO_TAXON)
			continue;
		host += t->genus[i] == KH_ON_HOST;
		if (t->genus[i] == KH_ON_HOST)
			continue;
		is = genus_by_cpu(r, t->job, i);
		genera += is != KH_NO_TAXON &&
			  (!kh_is_graded(is) || kh_graded_family(is) == KH_GRADE_CALLED);
		if (is != t->genus[i])
			fail_msg("%s: fragment %zu of %zu: genus %u, not %u", what, i, t->job->n,
				 t->genus[i], is);
	}
	assert_true(genera + host > 0);
	return genera;
}

static size_t ask_genera(const struct way *w, const kh_db *db, const kh_rule *rule,
			 const kh_job *job, size_t n, const char *what)
{
	kh_engine_options eo = { .rule = rule,
				 .on = devices_of(w),
				 .queues = 1,
				 .translate = true };
	kh_call *call = calloc(2 * GENE_READS, sizeof *call);
	kh_engine *e = NULL;
	kh_task_queue *queue = NULL;
	kh_translator *r = NULL;
	size_t genera = 0;

	OK(kh_translator_new(&r, &db->translated, err));
	OK(w->be->engine_open(&e, db, &eo, err));
	OK(w->be->queue_open(&queue, e, 0, 1 << 16, err));
	for (size_t i = 0; i < n; i++) {
		kh_task task = { .job = &job[i], .call = call }, *t;

		OK(w->be->submit(queue, &task, err));
		OK(w->be->collect(queue, &t, err));
		assert_ptr_equal(t, &task);
		genera += same_genera(t, r, what);
	}
	if (genera <= GENE_READS / 4)
		fail_msg("%s: only %zu genera", what, genera);
	w->be->queue_close(queue);
	w->be->engine_close(e);
	kh_translator_free(r);
	free(call);
	return genera;
}

/* The same with each level, whose calls are added up. */
static void ask_levels(const struct way *w, kh_db *db, const kh_rule *rule, const kh_job *job,
		       size_t n, const char *what, size_t genera[3])
{
	static const char *const name[] = { "strict", "balanced", "sensitive" };

	for (int i = 0; i < 3; i++) {
		db->translated.level = *kh_translated_level_of(name[i]);
		genera[i] += ask_genera(w, db, rule, job, n, what);
	}
}

static void check_translated(const struct way *w)
{
	struct made_block block[3];
	size_t genera[3] = { 0, 0, 0 };

	for (int all = 0; all < 2; all++) {
		kh_build_options o = options_of(SYNCMERS(18, 14, 16), all);
		kh_rule rule;

		o.translated = true;
		make_genes();
		kh_db *const db = open_built(&o, false, &rule);
		for (int i = 0; i < 3; i++)
			make_block(&block[i], GENE_READS, i);
		const kh_job job[] = {
			{ .n = GENE_READS, .block = { &block[0].b } },
			{ .n = GENE_READS / 2, .block = { &block[2].b }, .interleaved = true },
			{ .n = GENE_READS, .block = { &block[1].b } },
			{ .n = GENE_READS / 2,
			  .block = { &block[0].b, &block[1].b },
			  .from = { 3, GENE_READS / 2 } },
			{ .n = GENE_READS, .block = { &block[1].b, &block[1].b } },
		};
		ask_levels(w, db, &rule, job, sizeof job / sizeof *job, all ? "all text" : "text",
			   genera);
		kh_db_close(db);
		for (int i = 0; i < 3; i++)
			free_block(&block[i]);
	}
	/* not each level has more than the one before: two genera above a threshold are no call */
	if (genera[2] <= genera[0] || genera[2] <= genera[1])
		fail_msg("%zu, %zu, %zu genera", genera[0], genera[1], genera[2]);
}

#endif
