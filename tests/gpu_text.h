/* gpu_text.h - calls of the CPU, and of devices */
#ifndef KH_TEST_GPU_TEXT_H
#define KH_TEST_GPU_TEXT_H

#include "gpu_queues.h"
#include "gpu_references.h"
#include "build/build.h"
#include "kmer/text.h"

enum { TEXT_READS = 600 };

/* All kinds of jobs that devices are given. */
static void same_calls_by_text(const struct way *cpu, const struct way *device, const kh_db *db,
			       const kh_rule *rule, const char *what)
{
	const size_t n = 3 * TEXT_READS + 1;
	struct answer a = answer_new(n, rule->want), b = answer_new(n, rule->want);
	struct made_block block[3];

	for (int i = 0; i < 3; i++)
		make_block(&block[i], TEXT_READS, i);
	kh_job job[] = {
		{ .n = TEXT_READS, .block = { &block[0].b } },
		{ .n = TEXT_READS / 2, .block = { &block[2].b }, .interleaved = true },
		{ .n = TEXT_READS, .block = { &block[1].b } },
		{ .n = TEXT_READS / 2,
		  .block = { &block[0].b, &block[1].b },
		  .from = { 3, TEXT_READS / 2 } },
		{ .n = 1, .block = { &block[2].b, &block[0].b }, .from = { 7, 9 } },
	};
	run_jobs(cpu, db, rule, job, 5, &a);
	run_jobs(device, db, rule, job, 5, &b);
	same_answers(&a, &b, n, db->tax->n, what);
	answer_clear(&a);
	answer_clear(&b);
	for (int i = 0; i < 3; i++)
		free_block(&block[i]);
}

/* Databases of several kinds, and ways of asking them. */
static void check_text(const struct way *cpu, const struct way *device)
{
	static const kh_sampling sampling[] = { { KH_SYNCMER, 18, 14, 16, 0, 1 },
						{ KH_SYNCMER, 18, 10, 32, 0, 1 },
						{ KH_SYNCMER, 9, 5, 16, 0, 1 },
						{ KH_MINHASH, 18, 7, 64, 0, 1 },
						{ KH_MINHASH, 31, 2, 16, 1u << 30, 0 },
						{ KH_SYNCMER, 20, 4, 512, 0, 0 } };

	for (size_t i = 0; i < sizeof sampling / sizeof *sampling; i++) {
		const kh_build_options o = options_of(sampling[i], i % 2);
		kh_rule rule;
		char what[40];

		make_references();
		kh_db *const db = open_built(&o, i % 2, &rule);
		snprintf(what, sizeof what, "text, k %u, stride %u", sampling[i].k,
			 sampling[i].stride);
		same_calls_by_text(cpu, device, db, &rule, what);
		rule.confidence = 300;
		for (rule.want = KH_WANT_CANDIDATES; rule.want <= KH_WANT_SECOND; rule.want++)
			same_calls_by_text(cpu, device, db, &rule, what);
		kh_db_close(db);
	}
}

#endif
