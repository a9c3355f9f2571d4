/* test_regions.c - regions in whose species the other mate has none (classify/match_region.h) */
#include "test.h"

#include "classify/match_region.h"

enum { SPECIES_A = 4, SPECIES_B, MOST = 2 * KH_LONE_MOST, LOSS = 2 };

/* Three targets, of ten bins each: one of species A, two of species B. */
static const uint32_t first[] = { 0, 10, 20 }, species[] = { SPECIES_A, SPECIES_B, SPECIES_B };
static const uint32_t text[] = { 0 };

typedef struct pair {
	kh_match_db db;
	kh_matching m;
	kh_mates s;
	uint64_t candidate[2][MOST];
	kh_region region[2][MOST];
} pair;

/* A pair of which candidates are wanted, without regions. */
static void begin(pair *p)
{
	memset(p, 0, sizeof *p);
	p->db = (kh_match_db) { .text = text,
				.bins = { .n_targets = 3, .first = first, .species = species },
				.sampling = { .scheme = KH_SYNCMER },
				.candidates = KH_WANT_CANDIDATES };
	p->m.db = &p->db;
	p->s.only = true;
	for (int mate = 0; mate < 2; mate++) {
		p->m.found[mate].candidate = p->candidate[mate];
		p->m.found[mate].region = p->region[mate];
	}
}

static void add(pair *p, int mate, uint64_t bin)
{
	kh_found *f = &p->m.found[mate];

	f->candidate[f->n_regions] = bin << 32;
	f->region[f->n_regions] = (kh_region) { .from = (uint16_t)f->n_regions, .n = 1,
						.loss = LOSS };
	f->n_regions++;
}

/* Raises losses, and says of a region by how much. */
static uint32_t raised(pair *p, int mate, uint32_t region)
{
	kh_places_raise_lone(&p->m, &p->s);
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
	p.db.candidates = KH_WANT_NONE;
	assert_int_equal(raised(&p, 0, 1), 0);
	begin_lone(&p);
	p.db.alleles = 1;
	assert_int_equal(raised(&p, 0, 1), 0);
	begin_lone(&p);
	p.db.sampling.scheme = KH_MINHASH;
	assert_int_equal(raised(&p, 0, 1), 0);
	begin_lone(&p);
	p.s.only = false;
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
	for (uint32_t i = 2; i < KH_LONE_MOST; i++)
		add(&p, 0, 2);
	assert_int_equal(raised(&p, 0, 1), KH_MATCH_NEARBY);
	begin_lone(&p);
	for (uint32_t i = 2; i < KH_LONE_MOST + 1; i++)
		add(&p, 0, 2);
	assert_int_equal(raised(&p, 0, 1), 0);
}
