/* test_regions.c - regions: the order of anchors, losses, those in whose species the other mate
 * has none (classify/match_sort.h, match_region.h); hits of several places (match_hits.h) */
#include "test.h"

#include "classify/match_hits.h"

enum { SPECIES_A = 4, SPECIES_B, MOST = 2 * KH_REGION_LONE_MOST, LOSS = 2 };

/* Three targets, of ten bins each: one of species A, two of species B. */
static const uint32_t first[] = { 0, 10, 20 };
static const uint32_t species_row[] = { SPECIES_A, SPECIES_B, SPECIES_B };
static const uint32_t text[] = { 0 };

typedef struct pair {
	kh_match_db db;
	kh_matching m;
	kh_segment s;
	uint64_t anchor[2][MOST];
	kh_region region[2][MOST];
} pair;

/* A pair of which candidates are wanted, without regions. */
static void begin(pair *p)
{
	memset(p, 0, sizeof *p);
	p->db = (kh_match_db) { .text = text,
				.bins = { .n_targets = 3, .first = first,
					  .species_row = species_row },
				.sampling = { .scheme = KH_SYNCMER },
				.want = KH_WANT_CANDIDATES };
	p->m.db = &p->db;
	p->s.whole = true;
	for (int mate = 0; mate < 2; mate++) {
		p->m.found[mate].anchor = p->anchor[mate];
		p->m.found[mate].region = p->region[mate];
	}
}

static void add(pair *p, int mate, uint64_t bin)
{
	kh_found *f = &p->m.found[mate];

	f->anchor[f->n_regions] = bin << 32;
	f->region[f->n_regions] = (kh_region) { .from = (uint16_t)f->n_regions, .n = 1,
						.loss = LOSS };
	f->n_regions++;
}

/* Raises losses, and says of a region by how much. */
static uint32_t raised(pair *p, int mate, uint32_t region)
{
	kh_regions_raise_lone(&p->m, &p->s);
	return p->region[mate][region].loss - LOSS;
}

/* Both mates in A, and the first one in B, too. */
static void begin_lone(pair *p)
{
	begin(p);
	add(p, 0, 2);
	add(p, 0, 12);
	add(p, 1, 3);
}

TEST(test_one_mate)
{
	pair p;

	begin_lone(&p);
	assert_int_equal(raised(&p, 0, 1), KH_MATCH_NEARBY);
	assert_int_equal(p.region[0][0].loss, LOSS);
	assert_int_equal(p.region[1][0].loss, LOSS);
}

TEST(test_other_target_of_species)
{
	pair p;

	begin_lone(&p);
	add(&p, 1, 25);
	assert_int_equal(raised(&p, 0, 1), 0);
	assert_int_equal(p.region[1][1].loss, LOSS);
}

TEST(test_nothing_wanted)
{
	pair p;

	begin_lone(&p);
	p.db.want = KH_WANT_NONE;
	assert_int_equal(raised(&p, 0, 1), 0);
	begin_lone(&p);
	p.db.alleles = 1;
	assert_int_equal(raised(&p, 0, 1), 0);
	begin_lone(&p);
	p.db.sampling.scheme = KH_MINHASH;
	assert_int_equal(raised(&p, 0, 1), 0);
	begin_lone(&p);
	p.s.whole = false;
	assert_int_equal(raised(&p, 0, 1), 0);
}

/* A read without a mate, or a mate without regions, has nothing that is compared with. */
TEST(test_no_other_mate)
{
	pair p;

	begin(&p);
	add(&p, 0, 2);
	add(&p, 0, 12);
	assert_int_equal(raised(&p, 0, 1), 0);
}

TEST(test_many)
{
	pair p;

	begin_lone(&p);
	for (uint32_t i = 2; i < KH_REGION_LONE_MOST; i++)
		add(&p, 0, 2);
	assert_int_equal(raised(&p, 0, 1), KH_MATCH_NEARBY);
	begin_lone(&p);
	for (uint32_t i = 2; i < KH_REGION_LONE_MOST + 1; i++)
		add(&p, 0, 2);
	assert_int_equal(raised(&p, 0, 1), 0);
}

/* --- anchors ----------------------------------------------------------------------------- */
static int by_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Lists of seeds in regions of a mate, which is turned in some, and bins anywhere below 2^bits;
 * some regions differ only in bits in the middle. */
static uint32_t make_anchors(uint64_t *x, uint32_t bits, uint32_t seeds)
{
	const uint64_t mask = (UINT64_C(1) << bits) - 1, middle = UINT64_C(0x5500) & mask;
	uint64_t region[KH_MATCH_ANCHORS];
	const uint32_t regions = 1 + (uint32_t)(test_rand() % (KH_MATCH_ANCHORS / seeds));
	uint32_t n = 0;

	for (uint32_t i = 0; i < regions; i++)
		region[i] = i % 3 == 1 ? region[i - 1] ^ (test_rand() & middle)
				       : test_rand() & mask;
	for (uint32_t seed = 0; seed < seeds; seed++)
		for (uint32_t i = 0; i < regions; i++) {
			const uint64_t aside = i % 2 ? seeds - seed : seed;

			if (test_rand() % 4 > 0)
				x[n++] = ((region[i] + aside / 2) & mask) << 32 | seed;
		}
	return n;
}

TEST(test_sort)
{
	for (int trial = 0; trial < 3000; trial++) {
		uint64_t x[KH_MATCH_ANCHORS], other[KH_MATCH_ANCHORS];
		uint64_t want[KH_MATCH_ANCHORS];
		const uint32_t bits = 1 + (uint32_t)(test_rand() % 31);
		const uint32_t n =
			make_anchors(x, bits, 1 + (uint32_t)(test_rand() % KH_MATCH_SEEDS));

		if (n == 0)
			continue;
		memcpy(want, x, sizeof want);
		qsort(want, n, sizeof *want, by_u64);
		kh_anchors_sort_many(x, other, n);
		assert_memory_equal(x, want, n * sizeof *x);
	}
}

/* Regions of anchors in order, and their losses, as match.h says what these are. */
TEST(test_losses)
{
	enum { K = 14, STRIDE = 16, LEN = 256 };
	uint64_t anchor[KH_MATCH_ANCHORS];
	kh_region region[KH_MATCH_ANCHORS];
	uint8_t seed[KH_MATCH_ANCHORS];
	uint32_t pos[KH_MATCH_SEEDS];
	kh_match_db db = { .text = text, .sampling = { .scheme = KH_SYNCMER, .k = K,
						       .stride = STRIDE } };
	kh_matching m = { .db = &db };

	for (int trial = 0; trial < 3000; trial++) {
		const uint32_t seeds = 1 + (uint32_t)(test_rand() % KH_MATCH_SEEDS);
		kh_found f = { .pos = pos, .n = seeds, .anchor = anchor, .region = region,
			       .seed = seed };

		for (uint32_t i = 0; i < seeds; i++) {
			pos[i] = i * (LEN - K) / (seeds > 1 ? seeds - 1 : 1);
			if (test_rand() % 8 > 0)
				kh_seed_add(&f.known, i);
		}
		f.n_anchors = make_anchors(anchor, 20, seeds);
		qsort(anchor, f.n_anchors, sizeof *anchor, by_u64);
		kh_regions_find(&m, &f, LEN);
		uint32_t next = 0;

		for (uint32_t i = 0; i < f.n_regions; i++) {
			const kh_region *r = &region[i];

			assert_int_equal(r->from, next);
			next += r->n;
			assert_int_equal(r->loss, kh_region_loss_of(&m, &f, LEN, r->from, r->n));
		}
		assert_int_equal(next, f.n_anchors);
		assert_int_equal(f.unseen, kh_region_loss_of(&m, &f, LEN, 0, 0));
		for (uint32_t i = 0; i < f.n_anchors; i++)
			assert_int_equal(seed[i], (uint32_t)anchor[i]);
	}
}

/* The regions that are compared first: all with the least loss. */
TEST(test_likeliest)
{
	kh_region region[40];
	uint16_t which[KH_MATCH_ANCHORS];
	kh_found f = { .region = region };

	for (int trial = 0; trial < 1000; trial++) {
		uint32_t loss, n, k = 0;

		f.n_regions = (uint32_t)(test_rand() % 41);
		for (uint32_t i = 0; i < f.n_regions; i++)
			region[i].loss = test_rand() % 3 ? (uint16_t)(test_rand() % 9)
							 : KH_REGION_DONE;
		n = kh_regions_likeliest(&f, which, &loss);
		assert_int_equal(loss, kh_regions_least_loss(&f));
		for (uint32_t i = 0; i < f.n_regions; i++)
			if (region[i].loss == loss) {
				assert_true(k < n);
				assert_int_equal(which[k++], i);
			}
		assert_int_equal(k, n);
	}
}

/* --- hits ------------------------------------------------------------------------------------- */
/* K-mers that match in one of several ways, one after another. */
TEST(test_hits_of_several)
{
	for (int trial = 0; trial < 3000; trial++) {
		uint64_t wrong[KH_MATCH_DIAGONALS][KH_TEXT_WORDS + 1];
		const uint32_t len = 1 + (uint32_t)(test_rand() % KH_TEXT_SPAN);
		const uint32_t ways = 1 + (uint32_t)(test_rand() % KH_MATCH_DIAGONALS);
		const bool back = test_rand() % 2;
		uint32_t want = 0;

		for (uint32_t d = 0; d < ways; d++)
			for (uint32_t w = 0; w <= KH_TEXT_WORDS; w++)
				wrong[d][w] = 32 * w < len ? test_rand() & test_rand() &
								     test_rand() & test_rand() &
								     KH_TEXT_LOW : 0;
		for (uint32_t i = 0; i + KH_TEXT_KMER <= len; i += KH_TEXT_STEP) {
			const uint32_t from = back ? len - KH_TEXT_KMER - i : i;
			uint32_t d = 0;

			while (d < ways && kh_packed_bits(wrong[d], from, KH_TEXT_KMER) != 0)
				d++;
			want += d < ways;
		}
		assert_int_equal(kh_text_kmers_any(wrong, ways, len, back), want);
	}
}
