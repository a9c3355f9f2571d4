/*
 * fuzz_wire.c - any bytes as a message of another process
 *
 * The first byte says what the message is taken for; what is accepted must be usable: records lie
 * in their blocks, calls have taxa that exist, candidates are species and bins of targets.
 *	j  a job                 c  calls of 3 fragments
 *	k  calls with candidates d  (else) counts of distinct features
 */
#include <config.h>

#include <string.h>

#include "fuzz.h"
#include "classify/class.h"
#include "classify/classify.h"
#include "kmer/kmer.h"
#include "remote/remote_in.h"

enum { N_TAXA = 11, N_TARGETS = 2, STRIDE = 128 };

/* Messages of another length are refused by it, before a field is looked at. */
_Static_assert(sizeof(kh_candidates) == 64, "the corpus has 64 bytes of candidates a fragment");
static const uint64_t stretch[N_TARGETS + 1] = { 0, 2, 3 };

/* A database with a root, a genus, and species 2, 5 and 9 with strains; two targets, of 1000 and of
 * 200 bases, with the bins 0 to 7 and 9 to 10, all of which are kept. */
static const kh_db *made_db(void)
{
	static uint32_t species[N_TAXA] = { KH_NO_TAXON, KH_NO_TAXON, 2, 2, 2, 5, 5, 5, 5, 9, 9 };
	static const uint32_t first[] = { 0, 9, 12 }, taxon[] = { 3, 10, 2, 9 };
	static const kh_db_target target[N_TARGETS] = { { .first_bin = 0, .bases = 1000 },
							{ .first_bin = 9, .bases = 200 } };
	static const kh_db_kept kept[N_TARGETS] = { { 0, 0, 0, 8, 0 }, { 1, 0, 9, 2, 0 } };
	static kh_text_stretch text[N_TARGETS] = { { .end = 1000 }, { .end = 9 * STRIDE + 200 } };
	static const kh_db_header h = { .sampling = { .stride = STRIDE }, .n_targets = N_TARGETS };
	static kh_taxonomy tax = { .n = N_TAXA, .species = species };
	static kh_db db = { .h = &h, .tax = &tax, .target = target, .kept = kept,
			    .n_kept = N_TARGETS, .stretch = text,
			    .bins = { .first = first, .taxon = taxon,
				      .n_targets = N_TARGETS, .n_species = 2 } };

	return &db;
}

/* A message of exactly n bytes, so that a read behind its end is noticed. */
static kh_message message(const uint8_t *data, size_t n)
{
	kh_message m = { .from = 1, .p = calloc(n, 1), .n = n };

	if (n > 0)
		memcpy(m.p, data, n);
	return m;
}

/* The ends of each record can be read. */
static uint64_t touch(const kh_job *j)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < j->n; i++) {
		const kh_block *b[2];
		const kh_record *r[2];

		kh_job_records(j, i, b, r);
		for (int k = 0; k < 2 && r[k]; k++)
			if (r[k]->len > 0)
				sum += kh_packed_base(b[k]->bases, r[k]->seq) +
				       kh_packed_amb(b[k]->amb, r[k]->seq + r[k]->len - 1);
	}
	return sum;
}

static void job(const uint8_t *data, size_t n)
{
	kh_remote_job j = { .number = 0 }, again = { .number = 0 };
	kh_message m = message(data, n), back = { .from = 1 };
	kh_err err = { 0, "" };

	if (!kh_remote_unpack(&j, &m, n % 2, &err)) {
		REQUIRE(j.job.n > 0);
		const uint64_t sum = touch(&j.job);

		REQUIRE(!kh_remote_pack(&j.task, j.id, &back.p, &back.n, &err));
		REQUIRE(!kh_remote_unpack(&again, &back, n % 2, &err));
		REQUIRE(again.id == j.id && again.job.n == j.job.n && touch(&again.job) == sum);
	} else {
		REQUIRE(err.code && err.msg[0]);
	}
	free(j.message);
	free(j.rec);
	free(j.out);
	free(again.message);
	free(again.rec);
	free(again.out);
	free(m.p);
}

/* A bin, or none, is one that has a stretch. */
static void place(uint32_t bin)
{
	const kh_bins *b = &made_db()->bins;

	if (bin != KH_NO_BIN) {
		const uint32_t t = kh_bins_target(b, bin);

		REQUIRE(t < N_TARGETS);
		REQUIRE(kh_class_stretch(stretch, b, t, bin) < stretch[t + 1]);
	}
}

/* As the second pass uses them: without a check. */
static void candidates(const kh_candidates *c)
{
	static uint64_t marked[N_TAXA];
	const kh_db *db = made_db();
	uint32_t n = 0;

	for (int i = 0; i < KH_CANDIDATES; i++) {
		REQUIRE(c->drop[i] <= KH_CANDIDATE_DROP_LONG);
		REQUIRE(c->species[i] != KH_NO_TAXON || c->drop[i] == 0);
		if (c->species[i] == KH_NO_TAXON)
			continue;
		REQUIRE(n == 0 || c->species[i] > c->species[i - 1]);
		REQUIRE(db->tax->species[c->species[i]] == c->species[i]);
		marked[c->species[i]]++;
		n++;
	}
	REQUIRE(n == KH_CANDIDATES || c->species[n] == KH_NO_TAXON);
	place(c->bin);
}

static void calls(const uint8_t *data, size_t n, bool with)
{
	kh_call call[3] = { { 0 } };
	kh_candidates cand[3] = { kh_candidates_none() };
	const kh_job of = { .n = 3 };
	const kh_task t = { .job = &of, .call = call, .candidates = with ? cand : NULL };
	kh_message m = message(data, n);
	uint64_t id = 0;

	const kh_rule rule = { .candidates = with };

	if (!kh_remote_number(&m, &id, NULL) &&
	    !kh_remote_unpack_calls(&t, &m, made_db(), &rule, NULL)) {
		for (int i = 0; i < 3; i++) {
			REQUIRE(call[i].taxon < N_TAXA || call[i].taxon == KH_NO_TAXON);
			REQUIRE(call[i].hits <= call[i].features &&
				call[i].found <= call[i].features);
			if (with)
				candidates(&cand[i]);
		}
	}
	free(m.p);
}

static void counts(const uint8_t *data, size_t n)
{
	kh_distinct d = { .n = 0 };
	kh_message m = message(data, n);

	REQUIRE(!kh_distinct_init(&d, N_TAXA, NULL));
	if (!kh_remote_add_distinct(&d, &m, NULL))
		for (uint32_t i = 0; i < N_TAXA; i++)
			kh_distinct_count(&d, i);
	kh_distinct_clear(&d);
	free(m.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	switch (data[0]) {
	case 'j':
		job(data + 1, size - 1);
		break;
	case 'c':
	case 'k':
		calls(data + 1, size - 1, data[0] == 'k');
		break;
	default:
		counts(data + 1, size - 1);
	}
	return 0;
}
