/*
 * fuzz_answers.c - a file of candidates: any text of a block, any file whose checksums are right
 *
 * Input: a byte (bits 0 and 1: KH_WANT_...; the highest: the rest is what stands between head and
 * tail of a file, else the text of a block), a byte: how many fragments there are, and the rest.
 */
#include <config.h>

#include <unistd.h>
#include <xxhash.h>
#include "fuzz.h"
#include "run/answers.h"

enum { N_TAXA = 100 };

static void check(const kh_answers *a, const kh_answers_head *h)
{
	for (size_t i = 0; i < a->n; i++) {
		const kh_answer *x = &a->v[i];
		const kh_candidates *c = &a->candidates[i];
		const kh_second *second = &a->second[i];

		if (!(x->bits & KH_ANSWER_ANY))
			continue;
		REQUIRE(x->call.taxon < N_TAXA || x->call.taxon == KH_NO_TAXON);
		REQUIRE(x->level < KH_LEVELS && x->call.hits <= x->call.kmers);
		for (int k = 0; k < KH_CANDIDATES && h->want == KH_WANT_CANDIDATES; k++)
			REQUIRE(c->species[k] == KH_NO_TAXON ||
				(c->species[k] < N_TAXA &&
				 (k == 0 || c->species[k] > c->species[k - 1])));
		REQUIRE(h->want != KH_WANT_SECOND || second->taxon == KH_NO_TAXON ||
			second->taxon < N_TAXA);
	}
}

static void block(kh_answers_head *h, const uint8_t *p, size_t n, kh_answers *a)
{
	unsigned char *copy = malloc(n + 1);    /* reads behind it are seen */

	REQUIRE(copy);
	memcpy(copy, p, n);
	if (kh_answers_decode(h, copy, n, a))
		check(a, h);
	free(copy);
}

static void file(kh_answers_head *h, const uint8_t *p, size_t n, kh_answers *a)
{
	kh_answers_tail t = { .fragments = a->n, .magic = "KHcandsE" };
	char path[] = "/tmp/fuzz_answers.XXXXXX";
	const int fd = mkstemp(path);
	kh_answers_in *f = NULL;
	kh_err err = { 0, "" };
	char *all = malloc(sizeof *h + n + sizeof t);
	int rc;

	REQUIRE(fd >= 0 && all);
	h->sum = XXH3_64bits(h, offsetof(kh_answers_head, sum));
	memcpy(all, h, sizeof *h);
	memcpy(all + sizeof *h, p, n);
	memcpy(all + sizeof *h + n, &t, sizeof t);
	t.sum = XXH3_64bits(all, sizeof *h + n + offsetof(kh_answers_tail, sum));
	memcpy(all + sizeof *h + n, &t, sizeof t);
	REQUIRE(write(fd, all, sizeof *h + n + sizeof t) > 0);
	close(fd);
	rc = kh_answers_in_open(&f, path, &err);
	for (uint64_t i = 0; !rc && i < (a->n + KH_ANSWERS_BLOCK - 1) / KH_ANSWERS_BLOCK; i++) {
		rc = kh_answers_read(f, i, a, &err);
		if (!rc)
			check(a, h);
	}
	REQUIRE(!rc || (err.code == KH_EFORMAT && err.msg[0]));
	kh_answers_in_close(f);
	unlink(path);
	free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	kh_answers_head h = { .magic = "KHcands1", .n_taxa = N_TAXA };
	kh_answers *a;

	if (size < 2 || (data[0] & 3) == 3)
		return 0;
	REQUIRE(a = calloc(1, sizeof *a));
	h.want = data[0] & 3;
	if (data[0] & 0x80) {
		a->n = 4 * (size_t)data[1];
		file(&h, data + 2, size - 2, a);
	} else {
		a->n = data[1];
		block(&h, data + 2, size - 2, a);
	}
	kh_answers_free(a);
	return 0;
}
