/*
 * fuzz_db.c - a small sound database, edited as the input says, with its checksums
 * repaired, so that the edits reach the checks behind them; what is still accepted is
 * looked up in and classified with
 *
 * Input: a byte (bit 0: leave the checksums as they are, bit 1: do not check the index, nor
 * use it, bits 2-7: how much is cut off the end), then edits of 12 bytes: place (0-10 a section,
 * 11 the header), kind, position (u16), value (u64).
 */
#include <config.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "fuzz.h"
#include "classify/match.h"
#include "load_tree.h"
#include "packed.h"
#include "kmer/text.h"

enum { GENOME = 6000, TARGETS = 3, N_TAXA = 6, STRIDE = 32,
       GENOME_BINS = (GENOME + STRIDE - 1) / STRIDE, OVER = 300,
       APART = GENOME_BINS + 1, ALL_BINS = TARGETS * APART };

static const kh_sampling sampling = { KH_SYNCMER, 14, 8, STRIDE, 0, 1 };
static const kh_db_taxon taxa[N_TAXA] = { { 1, 0, 6, 0, 0 },    { 10, 0, 4, 30, 5 },
					  { 100, 1, 4, 38, 7 }, { 1000, 2, 4, 46, 9 },
					  { 20, 0, 6, 30, 11 }, { 200, 4, 6, 38, 13 } };
static const char names[] = "root\0a\0b\0c\0d\0e", ids[] = "x\0yy\0zzz";
static char genome[TARGETS][GENOME + 1];
static unsigned char *base;
static size_t base_bytes;

/* --- the sound database ----------------------------------------------------------- */
static void append(kh_db_header *h, int s, const void *p, size_t n)
{
	kh_db_extent *e = &h->section[s];
	size_t end = e->at + e->bytes;

	base = realloc(base, (end + n + 4095) / 4096 * 4096);
	REQUIRE(base);
	memcpy(base + end, p, n);
	memset(base + end + n, 0, (4096 - (end + n) % 4096) % 4096);
	e->bytes += n;
	base_bytes = end + n;
}

static void begin(kh_db_header *h, int s)
{
	base_bytes = (base_bytes + 4095) / 4096 * 4096;
	h->section[s].at = base_bytes;
}

typedef struct pair {
	uint64_t key;
	uint32_t bin;
} pair;

static int by_key(const void *a, const void *b)
{
	const pair *x = a, *y = b;

	return x->key != y->key ? (x->key < y->key ? -1 : 1)
				: (x->bin > y->bin) - (x->bin < y->bin);
}

/* Equal halves of the genomes: lists of several bins; made-up features with OVER bins, in one
 * species and in two. */
static size_t sample(pair *out)
{
	uint64_t key[GENOME];
	uint32_t pos[GENOME];
	size_t n = 0;

	for (uint32_t t = 0; t < TARGETS; t++) {
		for (int i = 0; i < GENOME; i++)
			genome[t][i] = "ACGT"[kh_fmix64((uint64_t)i +
							9999 * (i < GENOME / 2 ? 0 : t + 1u)) &
					      3];
		packed p = pack(genome[t], GENOME);
		kh_stretch st = { p.bases, p.amb, 0, GENOME - sampling.k + 1 };
		size_t m = kh_sampling_run(&sampling, &st, key, pos);
		for (size_t i = 0; i < m; i++)
			out[n++] = (pair) { key[i], t * APART + pos[i] / STRIDE };
		unpack(&p);
	}
	for (uint32_t i = 0; i < OVER; i++) {
		out[n++] = (pair) { UINT64_C(0x7fffffffffe), i };
		out[n++] = (pair) { UINT64_C(0x7ffffffffff), i < 180 ? i : 2 * APART + i - 180 };
	}
	qsort(out, n, sizeof *out, by_key);
	return n;
}

static void add_range(kh_db_header *h, kh_seed_range *dir, const kh_image *im)
{
	static const char zero[64];
	const size_t at = h->section[KH_SEC_INDEX].bytes;
	const size_t lists = im->range.words * sizeof *im->word;
	const size_t lines = kh_seed_line_bytes(&im->range);

	*dir = im->range;
	dir->first_line = at / 64;
	dir->first_word = (at + lines) / 4;
	append(h, KH_SEC_INDEX, lines ? (const void *)im->line : zero, lines);
	append(h, KH_SEC_INDEX, lists ? (const void *)im->word : zero, lists);
	append(h, KH_SEC_INDEX, zero, kh_seed_bytes(dir) - lines - lists);
	h->features += dir->seeds;
	h->over += dir->over;
	h->locations += im->locations;
}

/* The index, and its directory. */
static void make_index(kh_db_header *h, const kh_bins *bins)
{
	static kh_seed_range dir[KH_RANGES];
	static pair all[TARGETS * GENOME + 2 * OVER];
	size_t n = sample(all), i = 0;
	kh_pair_scratch room = { .key = NULL };
	kh_image im = { .line = NULL };
	kh_err err;

	REQUIRE(!kh_pair_scratch_grow(&room, n, &err));
	for (uint32_t r = 0; r < KH_RANGES; r++) {
		kh_pairs p = { room.key, room.loc, 0 };

		for (; i < n && kh_key_range(all[i].key) == r; i++, p.n++) {
			p.key[p.n] = all[i].key & ((UINT64_C(1) << 40) - 1);
			p.loc[p.n] = all[i].bin;
		}
		REQUIRE(!kh_seeds_encode(&im, &room, &p, bins, &err));
		add_range(h, &dir[r], &im);
	}
	kh_pair_scratch_clear(&room);
	kh_image_clear(&im);
	begin(h, KH_SEC_DIR);
	append(h, KH_SEC_DIR, dir, sizeof dir);
}

static void repair(unsigned char *p, size_t n)
{
	kh_db_header *h = (kh_db_header *)p;
	kh_db_extent s = h->section[KH_SEC_SUMS];

	if (s.at >= KH_DB_PAGE && s.at <= n && s.bytes <= n - s.at &&
	    s.at - KH_DB_PAGE < KH_DB_BLOCK) {
		uint64_t sum = XXH3_64bits(p + KH_DB_PAGE, s.at - KH_DB_PAGE);

		memcpy(p + s.at, &sum, s.bytes < 8 ? s.bytes : 8);
		h->sums = XXH3_64bits(p + s.at, s.bytes);
	}
	h->self = XXH3_64bits(h, offsetof(kh_db_header, self));
}

/* The last target has alleles, and the first ones have few. */
static void add_text(kh_db_header *h)
{
	static const kh_db_allele few[] = { { 3, 5 }, { 3, 27 }, { GENOME_BINS + 9, 126 } };
	static uint32_t text[ALL_BINS * (STRIDE / KH_TEXT_WORD) + KH_TEXT_BEHIND];
	static uint32_t alleles[GENOME_BINS * (STRIDE / KH_TEXT_WORD) + KH_TEXT_BEHIND];

	for (uint32_t t = 0; t < TARGETS; t++) {
		packed p = pack(genome[t], GENOME);

		for (uint32_t i = 0; i < GENOME; i += KH_TEXT_WORD)
			text[(t * APART * STRIDE + i) / KH_TEXT_WORD] = (uint32_t)kh_packed_bits(
				p.bases, i, GENOME - i < KH_TEXT_WORD ? GENOME - i : KH_TEXT_WORD);
		unpack(&p);
	}
	for (uint32_t i = 0; i < GENOME / KH_TEXT_WORD; i += 3)
		alleles[i] = UINT32_C(0x00c00100) << i % 8;
	begin(h, KH_SEC_TEXT);
	append(h, KH_SEC_TEXT, text, sizeof text);
	append(h, KH_SEC_TEXT, alleles, sizeof alleles);
	append(h, KH_SEC_TEXT, few, sizeof few);
}

static void add_kept(kh_db_header *h)
{
	begin(h, KH_SEC_KEPT);
	for (uint32_t i = 0; i < TARGETS; i++) {
		const kh_db_kept k = { i, 0, i * APART, GENOME_BINS, i == TARGETS - 1 };

		append(h, KH_SEC_KEPT, &k, sizeof k);
	}
}

static void add_targets(kh_db_header *h, const uint32_t *first, const uint32_t *taxon)
{
	begin(h, KH_SEC_TARGETS);
	for (uint32_t i = 0; i < TARGETS; i++) {
		const kh_db_target t = { first[i], taxon[i], GENOME, 0,
					 i == 0 ? 0 : i == 1 ? 2 : 5 };

		append(h, KH_SEC_TARGETS, &t, sizeof t);
	}
}

static void make_base(void)
{
	kh_db_header h = { .version = KH_DB_VERSION,
			   .header_bytes = KH_DB_PAGE,
			   .byte_order = UINT64_C(0x0102030405060708),
			   .bins = ALL_BINS,
			   .n_targets = TARGETS,
			   .n_taxa = N_TAXA,
			   .word_bits = KH_SEED_BITS_MIN,
			   .sequences = TARGETS + 1,
			   .unmapped = 1,
			   .bases = TARGETS * GENOME,
			   .tool = "fuzz" };
	/* targets 0 and 1 are of species 2, target 2 is of species 5 */
	const uint32_t first[TARGETS + 1] = { 0, APART, 2 * APART, ALL_BINS };
	const uint32_t taxon[TARGETS + 2] = { 3, 2, 5, 2, 5 }, species[TARGETS] = { 3, 3, 4 };
	const kh_bins b = { .first = first, .taxon = taxon, .species = species,
			    .n_targets = TARGETS, .n_species = 2, .bits = h.word_bits };
	uint64_t sums = 0;

	kh_db_set_sampling(&h, &sampling);
	memcpy(h.magic, KH_DB_MAGIC, 8);
	base = NULL;
	base_bytes = KH_DB_PAGE;
	begin(&h, KH_SEC_INDEX);
	make_index(&h, &b);
	add_text(&h);
	add_kept(&h);
	begin(&h, KH_SEC_TAXA);
	append(&h, KH_SEC_TAXA, taxa, sizeof taxa);
	begin(&h, KH_SEC_NAMES);
	append(&h, KH_SEC_NAMES, names, sizeof names);
	add_targets(&h, first, taxon);
	begin(&h, KH_SEC_IDS);
	append(&h, KH_SEC_IDS, ids, sizeof ids);
	begin(&h, KH_SEC_UNMAPPED);
	append(&h, KH_SEC_UNMAPPED, "u", 2);
	begin(&h, KH_SEC_SUMS);
	append(&h, KH_SEC_SUMS, &sums, sizeof sums);
	h.file_bytes = base_bytes;
	memcpy(base, &h, sizeof h);
	repair(base, base_bytes);
}

/* --- edits ------------------------------------------------------------------------ */
static void edit(unsigned char *p, const uint8_t *e)
{
	const kh_db_header *h = (const kh_db_header *)base;     /* where things were */
	uint16_t pos;
	uint64_t value, old = 0;

	memcpy(&pos, e + 2, 2);
	memcpy(&value, e + 4, 8);
	const unsigned place = e[0] % (KH_N_SECTIONS + 1), width = 1u << e[1] % 4;
	const kh_db_extent header = { 0, 456 };
	const kh_db_extent *x = place < KH_N_SECTIONS ? &h->section[place] : &header;
	const size_t from = x->at, bytes = x->bytes;
	if (bytes == 0)         /* there are no translated seeds */
		return;
	size_t at = from + pos % bytes / width * width;
	if (at + width > base_bytes)
		return;
	memcpy(&old, p + at, width);
	switch (e[1] / 4 % 3) {
	case 1:
		value += old;
		break;
	case 2:
		value ^= old;
	}
	memcpy(p + at, &value, width);
}

/* --- use of what was accepted ----------------------------------------------------- */
static void look_up(const kh_db *db, const uint64_t *key, size_t n)
{
	kh_seeds_found found = { .bin = NULL };
	kh_err err;

	REQUIRE(!kh_seeds_find(&db->seeds, key, n, &found, &err));
	for (size_t i = 0; i < found.n; i++)
		REQUIRE(found.bin[i] >> 32 < db->h->bins || found.bin[i] >> 32 == KH_SEED_MANY);
	kh_seeds_found_clear(&found);
}

/* An alignment lies in its record and in its target, and its stretches and gaps are as long. */
static void check_aligned(const kh_db *db, const kh_job *job, const kh_alignments *a,
			  const kh_aligned *x)
{
	const kh_align_run *run = a->run + x->first_run;
	uint64_t read = 0, target = 0, columns = 0;

	REQUIRE(x->target < db->h->n_targets && x->end <= db->target[x->target].bases);
	REQUIRE(x->from < x->to && x->to <= job->block[x->mate]->rec[0].len && x->at < x->end);
	REQUIRE(x->first_run + x->n_runs <= a->n_runs && x->matches <= x->columns);
	for (uint32_t i = 0; i < x->n_runs; i++) {
		const int64_t by = run[i].gap;

		read += run[i].columns + (uint64_t)(by < 0 ? -by : 0);
		target += run[i].columns + (uint64_t)(by > 0 ? by : 0);
		columns += run[i].columns + (uint64_t)(by < 0 ? -by : by);
	}
	REQUIRE(read == x->to - x->from && target == x->end - x->at && columns == x->columns);
}

static void classify_job(const kh_db *db, const kh_job *job, kh_call *call)
{
	kh_matcher *m = NULL;
	kh_rule rule;
	kh_candidates *wanted = calloc(job->n, sizeof *wanted);
	kh_alignments aligned = { .n = 0 };
	kh_err err;

	kh_rule_init(&rule, db->h);
	REQUIRE(wanted && !kh_matcher_new(&m, db, &rule, &err));
	REQUIRE(!kh_match_job(m, job, call, wanted, db->text ? &aligned : NULL, NULL, &err));
	for (size_t i = 0; i < aligned.n; i++)
		check_aligned(db, job, &aligned, &aligned.v[i]);
	if (db->text)
		REQUIRE(call->taxon == KH_NO_TAXON ? aligned.n == 0 : aligned.n > 0);
	kh_alignments_clear(&aligned);
	kh_matcher_free(m);
	free(wanted);
}

static void classify(const kh_db *db, size_t a, size_t b)
{
	packed p[2] = { pack(genome[0] + 700, a), pack(genome[2] + 1200, b) };
	kh_record r[2] = { { .len = a }, { .len = b } };
	kh_block blk[2] = { { .bases = p[0].bases, .amb = p[0].amb, .rec = &r[0] },
			    { .bases = p[1].bases, .amb = p[1].amb, .rec = &r[1] } };
	kh_job job = { .n = 1, .block = { &blk[0], b > 0 ? &blk[1] : NULL } };
	kh_call call;

	classify_job(db, &job, &call);
	REQUIRE(call.taxon == KH_NO_TAXON || call.taxon < db->h->n_taxa);
	REQUIRE(call.hits <= call.features && call.features <= a + b);
	unpack(&p[0]);
	unpack(&p[1]);
}

static void use(const kh_db *db)
{
	uint64_t key[300];

	for (int i = 0; i < 300; i++)
		key[i] = i < 2 ? (uint64_t)-i & ((UINT64_C(1) << 48) - 1)
			       : kh_fmix64((uint64_t)i) >> 16;
	look_up(db, key, 300);
	classify(db, 150, 0);
	classify(db, 150, 150);
	classify(db, 512, 40);
	classify(db, 1700, 1600);
	for (uint32_t i = 0; i < db->h->n_targets; i++)
		REQUIRE(strlen(db->ids + db->target[i].id) < db->h->section[KH_SEC_IDS].bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	kh_db_options o = { .threads = 1 };
	kh_err err = { 0, "" };
	kh_db *db = NULL;
	void *map = NULL;

	if (size < 1)
		return 0;
	if (!base)
		make_base();
	size_t n = base_bytes - (data[0] >> 2) * (data[0] & 1 ? 1 : 997) % base_bytes;
	REQUIRE(posix_memalign(&map, 64, n) == 0);
	unsigned char *p = map, *all = malloc(base_bytes);
	REQUIRE(all);
	memcpy(all, base, base_bytes);
	for (size_t i = 1; i + 12 <= size; i += 12)
		edit(all, data + i);
	memcpy(p, all, n);
	free(all);
	if (!(data[0] & 1) && n >= KH_DB_PAGE)
		repair(p, n);
	o.no_verify = data[0] & 2;
	if (kh_db_open_bytes(&db, p, n, &o, &err))
		REQUIRE(err.code == KH_EFORMAT && err.msg[0]);
	else if (!o.no_verify)
		use(db);
	REQUIRE(size > 1 || data[0] > 1 || db);
	kh_db_close(db);
	free(map);
	return 0;
}
