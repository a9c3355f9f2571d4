/*
 * fuzz_translated.c - a small sound section of translated seeds, edited as the input says; what is
 * still accepted is looked up in, and fragments are compared with it
 *
 * Input: a byte (all but its lowest bit: what is cut off the end, in fours), then edits of 10
 * bytes: position (u16, in fours: the section's words, its first 64 Ki), value (u64, of which so
 * many low bytes are written as the lowest two bits of its last byte say, and one).
 */
#include <config.h>
#include "fuzz.h"
#include "kmer/kmer.h"
#include "kmer/text.h"
#include "translated/graded.h"
#include "translated/make.h"
#include "translated/rule.h"

enum { GENOME = 3072, TARGETS = 3, WORDS = TARGETS * GENOME / 32, N_TAXA = 5,
       READ = 150, LONG = 600 };

static uint64_t text[WORDS + KH_TEXT_BEHIND];
static struct section {
	char *p;
	size_t bytes;
} section;

static int append(void *arg, const void *p, size_t n, kh_err *err)
{
	struct section *s = arg;

	(void)err;
	s->p = realloc(s->p, s->bytes + n + 1);
	REQUIRE(s->p);
	memcpy(s->p + s->bytes, p, n);
	s->bytes += n;
	return 0;
}

static void make(void)
{
	static const uint16_t *const none[1];
	const kh_translated_target target[TARGETS] = {
		{ 1, 1, 0, 0, GENOME, 0, false },
		{ 2, 2, 0, GENOME, GENOME, GENOME, false },
		{ 4, 3, 0, 2 * GENOME, GENOME, 2 * GENOME, false }
	};
	const kh_translated_input in = { (const void *)text, none, target, TARGETS,
					 TARGETS * GENOME, 1 };
	kh_translated_made *m = NULL;
	kh_err err = { 0, "" };

	REQUIRE(kh_translated_make(&m, &in, &err) == 0);
	REQUIRE(kh_translated_put(m, append, &section, &err) == 0);
	kh_translated_made_free(m);
}

/* Random bases, but no codon begins with T: so there is no stop on this strand. */
static void make_text(void)
{
	for (uint64_t i = 0; i < TARGETS * GENOME; i++) {
		uint64_t base = kh_fmix64(i + 1) & 3;

		if (i % 3 == 0 && base == 3)
			base = 1;
		text[i / 32] |= base << 2 * (i % 32);
	}
}

/* What a database with the text has of it. */
static kh_translated_text database(void)
{
	static const uint32_t taxon[TARGETS] = { 1, 2, 4 };
	kh_translated_text t = { (const void *)text, TARGETS * GENOME, NULL, TARGETS };

	t.stretch = malloc(TARGETS * sizeof *t.stretch);
	REQUIRE(t.stretch);
	for (uint64_t i = 0; i < TARGETS; i++)
		t.stretch[i] = (kh_translated_stretch) { i * GENOME, (i + 1) * GENOME, taxon[i],
							 taxon[i] };
	return t;
}

/* Reads of the text, of which some bases differ. */
static void classify(const kh_translated *t)
{
	static const uint32_t known[WORDS + 1];
	const kh_translated_call *call;
	kh_translator *r = NULL;
	kh_err err = { 0, "" };
	size_t n;

	REQUIRE(kh_translator_new(&r, t, &err) == 0);
	kh_translator_compare(r, true);
	for (uint64_t i = 0; i < 16; i++) {
		const uint64_t at = kh_fmix64(i) % (TARGETS * GENOME - LONG);
		const kh_translated_read mate[2] = { { text, known, at, i % 4 ? READ : LONG },
						     { text, known, at + READ, READ } };

		REQUIRE(kh_translator_add(r, mate, (size_t)i, &err) == 0);
	}
	REQUIRE(kh_translator_settle(r, &call, &n, &err) == 0 && n == 16);
	for (size_t i = 0; i < n; i++)
		REQUIRE(call[i].number == i && call[i].like.same <= call[i].like.codons &&
			(call[i].like.said == UINT32_MAX || call[i].like.said < N_TAXA ||
			 kh_is_graded(call[i].like.said)));
	kh_translator_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	kh_translated_text of;
	kh_translated t;
	kh_err err = { 0, "" };
	const struct section *s = &section;
	uint64_t *copy;
	size_t left;

	if (!section.p) {
		make_text();
		make();
	}
	if (size == 0)
		return 0;
	of = database();
	left = s->bytes - 4 * (size_t)(data[0] >> 1) % s->bytes;
	copy = malloc(left + 64);
	REQUIRE(copy);
	memcpy(copy, s->p, left);
	for (size_t i = 1; i + 10 <= size; i += 10) {
		const size_t at = 4 * (size_t)(data[i] | data[i + 1] << 8);
		const size_t n = (data[i + 9] & 3u) + 1u;

		if (at + n <= left)
			memcpy((char *)copy + at, data + i + 2, n);
	}
	if (kh_translated_find(&t, copy, left, N_TAXA, &of, &err) == 0) {
		for (uint64_t i = 0; i < 64; i++) {
			uint32_t found;
			const uint32_t place =
				kh_translated_look_up(&t, (uint32_t)kh_fmix64(i), &found);

			REQUIRE(found <= KH_KEY_GENERA &&
				(found == 0 || place + (uint64_t)found <= t.head->places));
		}
		classify(&t);
		of.stretch = NULL;         /* it is t's */
		kh_translated_clear(&t);
	} else {
		REQUIRE(err.code == KH_EFORMAT && err.msg[0]);
	}
	free(of.stretch);
	free(copy);
	return 0;
}
