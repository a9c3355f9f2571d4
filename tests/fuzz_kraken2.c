/*
 * fuzz_kraken2.c - the three files of a database of Kraken 2; with what is accepted, reads are
 * called
 *
 * Input: lengths of opts.k2d (one byte) and of taxo.k2d (two), these two files, and as the rest
 * hash.k2d.
 */
#include <config.h>
#include "fuzz.h"
#include "classify/kraken.h"
#include "packed.h"

enum { N = 400 };

/* Checks what a job of this database gives. */
static void classify(kh_k2 *k, const unsigned char *cells)
{
	char text[N + 1];

	for (int i = 0; i < N; i++)
		text[i] = i == 130 ? 'N' : "ACGT"[kh_fmix64((uint64_t)i / 3) & 3];
	packed p[2] = { pack(text, N), pack(text + 200, 50) };
	kh_record r[2] = { { .len = N }, { .len = 50 } };
	kh_block blk[2] = { { .bases = p[0].bases, .amb = p[0].amb, .rec = &r[0] },
			    { .bases = p[1].bases, .amb = p[1].amb, .rec = &r[1] } };
	kh_job job = { .n = 1, .block = { &blk[0], &blk[1] } };
	kh_db db = { .k2 = k, .image = cells, .tax = k->tax };
	kh_k2_classifier *c = NULL;
	kh_k2_runs runs = { .n = 0 };
	uint64_t kmers = 0;
	kh_call call;
	kh_err err;

	k->rule.confidence = 0.1;
	REQUIRE(!kh_k2_classifier_new(&c, &db, &err));
	REQUIRE(!kh_k2_classify_job(c, &job, &call, &runs, NULL, &err));
	REQUIRE(call.taxon == KH_NO_TAXON || call.taxon < k->tax->n);
	for (size_t i = 0; i < runs.n; i++) {
		const uint32_t what = runs.run[i].what;

		REQUIRE(what >= KH_K2_CODES || what < k->tax->n);
		kmers += what == KH_K2_MATES || what == KH_K2_FRAMES ? 0 : runs.run[i].n;
	}
	if (!k->rule.protein)
		REQUIRE(kmers == (N >= k->rule.k ? N - k->rule.k + 1 : 0) +
				 (50 >= k->rule.k ? 50 - k->rule.k + 1 : 0));
	REQUIRE(runs.n_lists == 1 && runs.list[0].from == 0 && runs.list[0].n == runs.n);
	kh_k2_runs_clear(&runs);
	kh_k2_classifier_free(c);
	unpack(&p[0]);
	unpack(&p[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	kh_k2 k = { .tax = NULL };
	kh_err err = { 0, "" };

	if (size < 3 || size - 3 < (size_t)data[0] + data[1] + 256u * data[2])
		return 0;
	const uint8_t *taxo = data + 3 + data[0], *hash = taxo + data[1] + 256u * data[2];
	const kh_k2_file f[3] = { { data + 3, data[0], "opts.k2d" },
				  { taxo, (uint64_t)(hash - taxo), "taxo.k2d" },
				  { hash, (uint64_t)(data + size - hash), "hash.k2d" } };
	const int rc = kh_k2_parse_opts(&k.rule, &f[0], &err) ? -1
		       : kh_k2_parse_taxo(&k, &f[1], &err) ? -1
							   : kh_k2_parse_hash(&k, &f[2], &err);

	if (rc) {
		REQUIRE(err.code == KH_EFORMAT && err.msg[0]);
	} else {
		/* in memory of its own, as cells are aligned where a file is mapped */
		unsigned char *cells = malloc((size_t)f[2].n - KH_K2_HASH_HEAD);

		REQUIRE(cells);
		memcpy(cells, hash + KH_K2_HASH_HEAD, (size_t)f[2].n - KH_K2_HASH_HEAD);
		if (kh_k2_bad_cell(&k.rule, cells, 0, k.rule.capacity) == k.rule.capacity)
			classify(&k, cells);
		free(cells);
	}
	kh_k2_clear(&k);
	return 0;
}
