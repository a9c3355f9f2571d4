/*
 * fuzz_db.c - a small sound database, edited as the input says, with its checksums
 * repaired, so that the edits reach the checks behind them; what is still accepted is
 * looked up in and classified with
 *
 * Input: a byte (bit 0: leave the checksums as they are, bit 1: do not check the index, nor
 * use it, bit 2: the database has text, bits 3-7: how much is cut off the end), then edits of 12
 * bytes: place (0-7 a section, 8 the header, 9 the text, 10 what is kept of it), kind, position
 * (u16), value (u64).
 */
#include <config.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "fuzz.h"
#include "classify/classify.h"
#include "classify/match.h"
#include "load_tree.h"
#include "packed.h"
#include "text/text.h"

enum { GENOME = 6000, TARGETS = 3, N_TAXA = 6, SPAN = KH_TEXT_SPAN, STRIDE = 32, GAP = 17,
       GENOME_BINS = (GENOME + STRIDE - 1) / STRIDE, OVER = 300,
       MOST_BINS = TARGETS * (GENOME_BINS + GAP) + 2 * (1 + GAP),
       WORD_BITS = 10 /* there are fewer than 1024 bins */ };

static const kh_sampling sampling = { KH_SYNCMER, 14, 8, STRIDE, 0, 1 };
static const kh_db_taxon taxa[N_TAXA] = { { 1, 0, 6, 0, 0 },    { 10, 0, 4, 30, 5 },
					  { 100, 1, 4, 38, 7 }, { 1000, 2, 4, 46, 9 },
					  { 20, 0, 6, 30, 11 }, { 200, 4, 6, 38, 13 } };
static const char names[] = "root\0a\0b\0c\0d\0e", ids[] = "x\0yy\0zzz";
static char genome[TARGETS][GENOME + 1];
/* Behind a target: 1 with text, GAP without; from a target to the next; of all. */
static uint32_t gap, apart, all_bins;
/* What is being made, then one of the two that were: without text, and with it. */
static unsigned char *base, *made[2];
static size_t base_bytes, made_bytes[2];

/* --- the sound database ----------------------------------------------------------- */
static kh_db_extent *extent_of(kh_db_header *h, int s)
{
	return s == KH_SEC_TEXT ? &h->text : s == KH_SEC_KEPT ? &h->kept : &h->section[s];
}

static void append(kh_db_header *h, int s, const void *p, size_t n)
{
	kh_db_extent *e = extent_of(h, s);
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
	extent_of(h, s)->at = base_bytes;
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
 * species, which become a vote, and in two. */
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
			out[n++] = (pair) { key[i], t * apart + pos[i] / STRIDE };
		unpack(&p);
	}
	for (uint32_t i = 0; i < OVER; i++) {
		out[n++] = (pair) { UINT64_C(0x7fffffffffe), i };
		out[n++] = (pair) { UINT64_C(0x7ffffffffff), i < 200 ? i : 2 * apart + i - 200 };
	}
	qsort(out, n, sizeof *out, by_key);
	return n;
}

static void add_seeds(kh_db_header *h, kh_seed_range *dir, const kh_image *im)
{
	static const char zero[64];
	const size_t at = h->section[KH_SEC_INDEX].bytes, lists = im->seeds.words * sizeof *im->loc;
	const size_t lines = kh_seed_line_bytes(&im->seeds);

	*dir = im->seeds;
	dir->first_line = at / 64;
	dir->first_word = (at + lines) / 4;
	append(h, KH_SEC_INDEX, lines ? (const void *)im->bucket : zero, lines);
	append(h, KH_SEC_INDEX, lists ? (const void *)im->loc : zero, lists);
	append(h, KH_SEC_INDEX, zero, kh_seed_bytes(dir) - lines - lists);
	h->features += dir->seeds;
	h->entries += dir->seeds;
	h->over += dir->over;
	h->locations += im->locations;
}

static void add_range(kh_db_header *h, kh_range *dir, const kh_image *im)
{
	static const char zero[64];
	size_t at = h->section[KH_SEC_INDEX].bytes, buckets = (im->range.buckets + (size_t)1) * 64;
	size_t lists = kh_words_bytes(im->range.n_locs, WORD_BITS);

	*dir = im->range;
	dir->first_bucket = at / 64;
	dir->first_loc = (at + buckets) / 4;
	append(h, KH_SEC_INDEX, im->bucket, buckets);
	append(h, KH_SEC_INDEX, lists ? (const void *)im->loc : zero, lists);
	append(h, KH_SEC_INDEX, zero, kh_range_bytes(dir, WORD_BITS) - buckets - lists);
	h->features += dir->keys;
	h->entries += dir->entries;
	h->over += dir->over;
	h->locations += im->locations;
}

static kh_taxonomy *tree(void)
{
	uint32_t x[4][N_TAXA];
	uint8_t rank[N_TAXA];
	kh_taxonomy raw = { .n = N_TAXA,
			    .taxid = x[0],
			    .parent = x[1],
			    .end = x[2],
			    .name = x[3],
			    .rank = rank,
			    .names = (char *)(uintptr_t)names,
			    .names_len = sizeof names },
		    *t = NULL;
	kh_err err;

	for (uint32_t i = 0; i < N_TAXA; i++) {
		x[0][i] = taxa[i].taxid;
		x[1][i] = taxa[i].parent;
		x[2][i] = taxa[i].end;
		x[3][i] = (uint32_t)taxa[i].name;
		rank[i] = (uint8_t)taxa[i].rank;
	}
	REQUIRE(!load_tree(&t, &raw, &err));
	return t;
}

/* The index, and its directory. */
static void make_index(kh_db_header *h, const kh_bins *bins)
{
	static kh_range dir[KH_RANGES];
	static kh_seed_range seeds[KH_RANGES];

	static pair all[TARGETS * GENOME + 2 * OVER];
	size_t n = sample(all), i = 0;
	kh_pair_scratch room = { .key = NULL };
	kh_image im = { .bucket = NULL };
	kh_taxonomy *tax = tree();
	kh_err err;

	REQUIRE(!kh_pair_scratch_grow(&room, n, &err));
	for (uint32_t r = 0; r < KH_RANGES; r++) {
		kh_pairs p = { room.key, room.loc, 0 };

		for (; i < n && kh_key_range(all[i].key) == r; i++, p.n++) {
			p.key[p.n] = all[i].key & ((UINT64_C(1) << 40) - 1);
			p.loc[p.n] = all[i].bin;
		}
		if (bins->places) {
			REQUIRE(!kh_seeds_encode(&im, &room, &p, bins, &err));
			add_seeds(h, &seeds[r], &im);
		} else {
			REQUIRE(!kh_index_encode(&im, &p, bins, tax, &err));
			add_range(h, &dir[r], &im);
		}
	}
	kh_pair_scratch_clear(&room);
	kh_image_clear(&im);
	kh_taxonomy_free(tax);
	begin(h, KH_SEC_DIR);
	if (bins->places)
		append(h, KH_SEC_DIR, seeds, sizeof seeds);
	else
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
	static uint32_t text[MOST_BINS * (STRIDE / KH_TEXT_WORD) + KH_TEXT_BEHIND];
	static uint32_t alleles[GENOME_BINS * (STRIDE / KH_TEXT_WORD) + KH_TEXT_BEHIND];

	for (uint32_t t = 0; t < TARGETS; t++) {
		packed p = pack(genome[t], GENOME);

		for (uint32_t i = 0; i < GENOME; i += KH_TEXT_WORD)
			text[(t * apart * STRIDE + i) / KH_TEXT_WORD] = (uint32_t)kh_packed_bits(
				p.bases, i, GENOME - i < KH_TEXT_WORD ? GENOME - i : KH_TEXT_WORD);
		unpack(&p);
	}
	for (uint32_t i = 0; i < GENOME / KH_TEXT_WORD; i += 3)
		alleles[i] = UINT32_C(0x00c00100) << i % 8;
	begin(h, KH_SEC_TEXT);
	append(h, KH_SEC_TEXT, text,
	       (all_bins * (STRIDE / KH_TEXT_WORD) + KH_TEXT_BEHIND) * sizeof *text);
	append(h, KH_SEC_TEXT, alleles, sizeof alleles);
	append(h, KH_SEC_TEXT, few, sizeof few);
}

static void add_kept(kh_db_header *h)
{
	begin(h, KH_SEC_KEPT);
	for (uint32_t i = 0; i < TARGETS; i++) {
		const kh_db_kept k = { i, 0, i * apart, GENOME_BINS, i == TARGETS - 1 };

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

static void make_base(bool text)
{
	gap = text ? 1 : GAP;
	apart = GENOME_BINS + gap;
	all_bins = TARGETS * apart + 2 * (1 + gap);
	kh_db_header h = { .version = text ? KH_DB_VERSION_TEXT : KH_DB_VERSION,
			   .header_bytes = KH_DB_PAGE,
			   .byte_order = UINT64_C(0x0102030405060708),
			   .max_span = SPAN,
			   .gap = gap,
			   .n_targets = TARGETS,
			   .n_taxa = N_TAXA,
			   .max_locations = 254,
			   .n_species = 2,
			   .word_bits = text ? KH_SEED_BITS_MIN : WORD_BITS,
			   .sequences = TARGETS + 1,
			   .unmapped = 1,
			   .bases = TARGETS * GENOME,
			   .tool = "fuzz" };
	/* targets 0 and 1 are of species 2, target 2 is of species 5 */
	const uint32_t first[TARGETS + 2] = { 0, apart, 2 * apart, 3 * apart, 3 * apart + 1 + gap };
	const uint32_t taxon[TARGETS + 2] = { 3, 2, 5, 2, 5 }, species[TARGETS] = { 3, 3, 4 };
	const kh_bins b = { .n = TARGETS + 2, .first = first, .taxon = taxon,
			    .n_targets = TARGETS, .votes = 3 * apart, .species = species,
			    .most = 254, .bits = h.word_bits, .places = text };
	uint64_t sums = 0;

	kh_db_set_sampling(&h, &sampling);
	h.bins = all_bins;
	memcpy(h.magic, KH_DB_MAGIC, 8);
	base = NULL;
	base_bytes = KH_DB_PAGE;
	begin(&h, KH_SEC_INDEX);
	make_index(&h, &b);
	if (text) {
		add_text(&h);
		add_kept(&h);
	}
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
	kh_minima(&h, h.minima);
	memcpy(base, &h, sizeof h);
	repair(base, base_bytes);
	made[text] = base;
	made_bytes[text] = base_bytes;
}

/* --- edits ------------------------------------------------------------------------ */
static void edit(unsigned char *p, const uint8_t *e)
{
	const kh_db_header *h = (const kh_db_header *)base;     /* where things were */
	uint16_t pos;
	uint64_t value, old = 0;

	memcpy(&pos, e + 2, 2);
	memcpy(&value, e + 4, 8);
	const unsigned place = e[0] % (KH_N_SECTIONS + 3), width = 1u << e[1] % 4;
	const kh_db_extent header = { 0, 576 };
	const kh_db_extent *x = place < KH_N_SECTIONS    ? &h->section[place]
				: place == KH_N_SECTIONS || !h->text.at ? &header
				: place == KH_N_SECTIONS + 1 ? &h->text : &h->kept;
	const size_t from = x->at, bytes = x->bytes;
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
static void look_up_seeds(const kh_db *db, const uint64_t *key, size_t n)
{
	kh_seeds_found found = { .bin = NULL };
	kh_err err;

	REQUIRE(!kh_seeds_find(&db->seeds, key, n, &found, &err));
	for (size_t i = 0; i < found.n; i++)
		REQUIRE(found.bin[i] >> 32 < db->bins.votes ||
			found.bin[i] >> 32 == KH_SEED_MANY);
	kh_seeds_found_clear(&found);
}

static void look_up(const kh_db *db, const uint64_t *key, size_t n)
{
	const uint64_t bits = db->h->section[KH_SEC_INDEX].bytes * 8;

	for (size_t i = 0; i < n; i++) {
		kh_list l = kh_index_find(db->image, db->dir, key[i], WORD_BITS);

		REQUIRE(l.n <= KH_LIST_MAX && l.bit + l.n * WORD_BITS <= bits);
		for (uint32_t j = 0; j < l.n; j++)
			REQUIRE(kh_word(db->image, l.bit + j * WORD_BITS, WORD_BITS) <
				(l.over ? db->h->n_taxa : db->h->bins));
	}
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
	kh_classifier *c = NULL;
	kh_matcher *m = NULL;
	kh_rule rule;
	kh_err err;

	kh_rule_init(&rule, db->h);
	if (db->text) {
		kh_candidates *wanted = calloc(job->n, sizeof *wanted);
		kh_alignments aligned = { .n = 0 };

		REQUIRE(wanted && !kh_matcher_new(&m, db, &rule, &err));
		REQUIRE(!kh_match_job(m, job, call, wanted, &aligned, NULL, &err));
		for (size_t i = 0; i < aligned.n; i++)
			check_aligned(db, job, &aligned, &aligned.v[i]);
		REQUIRE(call->taxon == KH_NO_TAXON ? aligned.n == 0 : aligned.n > 0);
		kh_alignments_clear(&aligned);
		kh_matcher_free(m);
		free(wanted);
	} else {
		REQUIRE(!kh_classifier_new(&c, db, &rule, &err));
		REQUIRE(!kh_classify_job(c, job, call, NULL, &err));
		kh_classifier_free(c);
	}
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
	REQUIRE(call.hits <= call.features && (db->text || call.found <= call.features));
	REQUIRE(!db->text || (call.features <= a + b && call.hits <= call.features));
	unpack(&p[0]);
	unpack(&p[1]);
}

static void use(const kh_db *db)
{
	uint64_t key[300];

	for (int i = 0; i < 300; i++)
		key[i] = i < 2 ? (uint64_t)-i & ((UINT64_C(1) << 48) - 1)
			       : kh_fmix64((uint64_t)i) >> 16;
	if (db->text)
		look_up_seeds(db, key, 300);
	else
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
	const bool text = data[0] & 4;

	if (!made[text])
		make_base(text);
	base = made[text];
	base_bytes = made_bytes[text];
	size_t n = base_bytes - (data[0] >> 3) * (data[0] & 1 ? 1 : 997) % base_bytes;
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
	REQUIRE(size > 1 || (data[0] & ~4) > 1 || db);
	kh_db_close(db);
	free(map);
	return 0;
}
