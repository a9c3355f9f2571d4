/* test_sample.c - parts of the second pass: logarithms, fits, lanes; oracle_sample.py has shapes */
#include "test.h"

#include <math.h>
#include "sample/fit.h"
#include "sample/lanes.h"
#include "sample/lengths.h"
#include "sample/logs.h"
#include "sample/model_in.h"
#include "sample/shapes.h"

static kh_shapes shapes;
static const kh_sampling syncmer = { KH_SYNCMER, 18, 14, 112, 0, 0 };

/* --- logarithms ------------------------------------------------------------------- */
TEST(test_logs)
{
	for (uint64_t x = 1; x < UINT64_C(1) << 62; x += x / 3 + 1) {
		const double is = log2((double)x) * 65536;

		assert_true((double)kh_log2q(x) <= is + 2 && (double)kh_log2q(x) > is - 4);
	}
	assert_int_equal(kh_log2q(1), 0);
	assert_int_equal(kh_log2q(UINT64_C(1) << 63), 63 << 16);
	assert_int_equal(kh_log2q(UINT64_MAX), (64 << 16) - 1);
	assert_int_equal(KH_LOG2_E, lround(floor(65536 / log(2))));
}

TEST(test_powers)
{
	assert_int_equal(kh_exp2q(0), KH_EXP2_ONE);
	assert_int_equal(kh_exp2q(65536), KH_EXP2_ONE / 2);
	assert_int_equal(kh_exp2q(24 << 16), 1);
	assert_int_equal(kh_exp2q(25 << 16), 0);
	assert_int_equal(kh_exp2q(UINT64_C(1) << 40), 0);
	for (uint64_t y = 0; y < 26 << 16; y += 37) {
		const double is = 16777216 * exp2(-(double)y / 65536);

		assert_true(fabs(kh_exp2q(y) - is) < 1.5 + is * 4e-6);
		assert_true(y == 0 || kh_exp2q(y) <= kh_exp2q(y - 37 < y ? y - 37 : 0));
	}
}

/* --- fits ------------------------------------------------------------------------- */
static void make_shapes(uint32_t n)
{
	static const kh_sampling counted = { KH_MINHASH, 12, 1, 5, 0, 1 };
	static const kh_sampling seeds = { KH_SYNCMER, 18, 10, 16, 0, 1 };
	uint64_t many[KH_N_MOST + 1] = { 0 };

	many[n] = 1000;
	OK(kh_shapes_make(&shapes, &counted, &seeds, many, NULL, err));
}

/* `n` fragments of 40 features, as shape x has them. */
static void add_fragments(uint64_t many[KH_CELLS], uint32_t x, uint64_t n)
{
	for (uint32_t j = 2 * KH_SHARES; j < 3 * KH_SHARES; j++)
		many[j] += n * 256 * shapes.f[x][j] / 65535;
}

/* The fit of fragments of up to three shapes, so many each. */
struct some { uint32_t shape; uint64_t n; };
static kh_fit fit_of(struct some a, struct some b, struct some c)
{
	uint64_t many[KH_CELLS] = { 0 };
	kh_fit fit;

	add_fragments(many, a.shape, a.n);
	add_fragments(many, b.shape, b.n);
	add_fragments(many, c.shape, c.n);
	kh_fit_make(&fit, &shapes, many);
	return fit;
}
#define SOME(shape, n) ((struct some) { shape, n })
#define NONE           SOME(0, 0)

/* Alone, what is evenly far is one divergence, too, and not two. */
TEST(test_fit_alone)
{
	static const struct { uint32_t features, from, to, own; } row[] = {
		{ 40, 0, KH_JUNK, 70 }, { 54, KH_EVEN, KH_SHAPES, 60 },
	};

	for (int i = 0; i < 2; i++) {
		make_shapes(row[i].features);
		for (uint32_t x = row[i].from; x < row[i].to; x++) {
			const kh_fit fit = fit_of(SOME(x, 3000), NONE, NONE);

			assert_int_equal(fit.kind, KH_FIT_ONE);
			assert_int_equal(fit.own, kh_divergence[x] <= row[i].own);
			assert_true(fit.shape[0] < KH_JUNK && (x >= KH_EVEN || fit.shape[0] == x));
			if (x >= KH_EVEN)
				continue;
			assert_true(fit.low <= x && x <= fit.high);
			assert_true(fit.weight[0] > KH_WEIGHT_ONE * 9 / 10);
		}
	}
}

/* Of a strain 5 % from the reference many genes are farther: it is believed; but not where genes
 * are a strain's and a relative's (.6 % and 7 %). */
TEST(test_fit_far)
{
	make_shapes(40);
	const kh_fit lone = fit_of(SOME(8, 700), SOME(KH_JUNK, 300), NONE);
	const kh_fit two = fit_of(SOME(2, 56), SOME(10, 300), SOME(KH_JUNK, 77));

	assert_int_equal(lone.kind, KH_FIT_ONE);
	assert_int_equal(kh_divergence[lone.shape[0]], 50);
	assert_true(lone.own);
	assert_int_equal(two.kind, KH_FIT_ONE);
	assert_false(two.own);
}

/* So many fragments of a strain, beside others of a relative: about as many are found to be the
 * strain's, and how far both are, in thousandths, at most and at least. */
TEST(test_fit_pairs)
{
	static const struct {
		uint32_t features, strain, relative;
		uint64_t own, most, step, all, off;
		uint32_t near, far;
	} row[] = {
		/* .3 %, and a relative at 10 % */
		{ 40, 1, 12, 2000, 2000, 1, 8000, 200, 6, 85 },
		/* 1.5 %, a relative that is not much farther (8.5 %), and not as many */
		{ 54, 4, 11, 1000, 4000, 1000, 5000, 300, 40, 50 },
		/* 2 %, and an even one (6.5 %), so near that one divergence fits both well */
		{ 54, 5, KH_EVEN + 2, 500, 1000, 250, 4000, 150, 30, 50 },
	};

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		make_shapes(row[i].features);
		for (uint64_t own = row[i].own; own <= row[i].most; own += row[i].step) {
			const kh_fit fit = fit_of(SOME(row[i].strain, own),
						  SOME(row[i].relative, row[i].all - own), NONE);

			assert_int_equal(fit.kind, KH_FIT_TWO);
			assert_true(fit.own && !fit.weak);
			assert_in_range((kh_fit_own(&fit) >> 8) + row[i].off - own, 1,
					2 * row[i].off - 1);
			assert_true(kh_divergence[fit.shape[0]] <= row[i].near);
			assert_true(kh_divergence[fit.shape[1]] >= row[i].far);
			assert_true(fit.low <= fit.shape[0] && fit.shape[0] <= fit.high);
			if (row[i].relative >= KH_EVEN)
				assert_true(fit.shape[1] >= KH_EVEN &&
					    kh_divergence[fit.high] < 65);
		}
	}
}

TEST(test_fit_little)
{
	uint64_t many[KH_CELLS] = { 0 };
	kh_fit fit;

	make_shapes(40);
	kh_fit_make(&fit, &shapes, many);
	assert_int_equal(fit.kind, KH_FIT_FEW);
	assert_int_equal(kh_fit_own(&fit), 0);
	many[95] = 5 * 256 - 1;
	kh_fit_make(&fit, &shapes, many);
	assert_int_equal(fit.kind, KH_FIT_FEW);
	assert_int_equal(kh_fit_own(&fit), many[95] / 2);
	many[95]++;
	kh_fit_make(&fit, &shapes, many);
	assert_int_equal(fit.kind, KH_FIT_ONE);
	assert_true(fit.own);
	many[95] = UINT64_C(1) << 42;           /* nothing overflows */
	many[70] = 1;
	kh_fit_make(&fit, &shapes, many);
	assert_int_equal(fit.shape[0], 0);
	assert_true(kh_fit_own(&fit) > (UINT64_C(1) << 42) * 9 / 10);
}

/* What ties gave a species is no longer its own, but still fits it. */
TEST(test_limit)
{
	kh_presence p = { .refuted = false };

	make_shapes(40);
	const kh_fit before = p.fit = fit_of(SOME(0, 300), SOME(KH_JUNK, 100), NONE);
	assert_int_equal(before.kind, KH_FIT_ONE);
	assert_true(before.own);
	assert_true(before.weight[0] < KH_WEIGHT_ONE / 10 * 9);
	assert_int_equal(kh_fit_first(&p.fit), before.weight[0]);
	p.cover.borne = before.total;
	kh_cover_limit(&p);
	assert_memory_equal(&p.fit, &before, sizeof before);
	p.cover.borne = before.total / 2;
	kh_cover_limit(&p);
	assert_in_range(p.fit.weight[0], before.weight[0] / 2 - 8, before.weight[0] / 2);
	assert_int_equal(kh_fit_first(&p.fit), before.weight[0]);
}

/* It is given back where another species bears out more, but not where one is a relative's, or a
 * species is alone in its family. */
TEST(test_give_back)
{
	static const struct {
		uint64_t borne;         /* of the other species, in halves of what it has */
		uint32_t family;
		bool own, given;
	} cases[] = {
		{ 3, 0, true, true }, { 2, 0, true, false },
		{ 3, 0, false, false }, { 3, 1, true, false },
	};
	kh_presence p[2] = { { .refuted = false }, { .refuted = false } };
	uint32_t family[2] = { 0, 0 };
	kh_taxonomy tax = { .n = 2 };
	const kh_db db = { .tax = &tax };
	const kh_model_input in = { .db = &db };
	kh_model m = { .at = p, .n = 2 };
	const kh_modelling w = { .in = &in, .m = &m, .family = family };

	make_shapes(40);
	const kh_fit before = fit_of(SOME(0, 300), SOME(KH_JUNK, 100), NONE);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		p[0].fit = p[1].fit = before;
		p[0].cover.borne = before.total / 2;
		p[1].cover.borne = before.total * cases[i].borne / 2;
		p[1].fit.own = cases[i].own;
		family[1] = cases[i].family;
		kh_cover_limit(&p[0]);
		OK(kh_cover_give_back(&w, err));
		assert_int_equal(p[0].fit.weight[0] == before.weight[0], cases[i].given);
		assert_int_equal(p[0].fit.n, cases[i].given ? before.n : 3);
	}
}

/* --- lanes ------------------------------------------------------------------------ */
static uint64_t any_below_32_bits(void)
{
	return test_rand() % 4 ? test_rand() >> (32 + test_rand() % 32) : UINT32_MAX;
}

/* Sums of products in place: a term begins one place before them, one where they do. */
static void check_sum_up(const kh_lanes_fns *fns, uint32_t from, uint32_t n, uint32_t terms)
{
	kh_lanes is[12], was[12], other[2][12], factor[KH_TERMS];
	const kh_term term[KH_TERMS] = { { is, &factor[0] }, { is + 1, &factor[1] },
					 { other[0], &factor[2] }, { other[1], &factor[3] } };

	for (uint32_t i = 0; i < 12 * KH_LANES; i++) {
		is[i / 4].at[i % 4] = any_below_32_bits();
		other[0][i / 4].at[i % 4] = any_below_32_bits();
		other[1][i / 4].at[i % 4] = any_below_32_bits();
	}
	for (uint32_t i = 0; i < KH_TERMS * KH_LANES; i++)
		factor[i / 4].at[i % 4] = test_rand() % (KH_EXP2_ONE / 4 + 1);
	memcpy(was, is, sizeof was);
	fns->sum_up(is + 1, from, n, term, terms);
	for (uint32_t i = 0; i < 12; i++)
		for (uint32_t j = 0; j < KH_LANES; j++) {
			uint64_t sum = 0;

			for (uint32_t k = 0; k < terms && i > 0; k++)
				sum += (k < 2 ? was + k : term[k].x)[i - 1].at[j] * factor[k].at[j];
			assert_int_equal(is[i].at[j],
					 i > from && i <= n ? sum >> 24 : was[i].at[j]);
		}
}

static void check_add_up(const kh_lanes_fns *fns, uint32_t n, uint32_t rows)
{
	kh_lanes x[6][12], is[12] = { 0 };

	for (uint32_t i = 0; i < 6 * 12 * KH_LANES; i++)
		x[i / 48][i / 4 % 12].at[i % 4] = any_below_32_bits();
	fns->add_up(is, n, x[0], rows, 12);
	for (uint32_t i = 0; i < 12; i++)
		for (uint32_t j = 0; j < KH_LANES; j++) {
			uint64_t sum = 0;

			for (uint32_t row = 0; row < rows && i < n; row++)
				sum += x[row][i].at[j];
			assert_int_equal(is[i].at[j], sum);
		}
}

static void check_lanes(const kh_lanes_fns *fns, uint32_t round)
{
	for (uint32_t terms = 0; terms <= KH_TERMS; terms++)
		check_sum_up(fns, round % 3, round % 11, terms);
	for (uint32_t rows = 1; rows <= 6; rows++)
		check_add_up(fns, round % 13, rows);
}

TEST(test_lanes)
{
	for (uint32_t round = 0; round < 500; round++) {
		check_lanes(&kh_lanes_plain, round);
		if (kh_lanes_avx2())
			check_lanes(kh_lanes_avx2(), round);
	}
}

/* --- lengths ---------------------------------------------------------------------- */
TEST(test_numbered_on)
{
	static const struct {
		const char *a, *b;
		bool is;
	} cases[] = {
		{ "NZ_BCQD01000001.1", "NZ_BCQD01000002.1", true },
		{ "BK006935.2", "BK006936.2", true },
		{ "BK006939.2", "BK006940.2", true },
		{ "contig9", "contig10", true },
		{ "NC_000913.3", "NC_000964.3", false },
		{ "NC_000913.3", "NZ_000914.3", false },
		{ "BK006936.2", "BK006935.2", false },
		{ "chrX", "chrY", false },
		{ "", "", false },
		{ "1", "2", true },
		{ "a99999999999999999999", "a100000000000000000000", false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(kh_numbered_on(cases[i].a, cases[i].b), cases[i].is);
}

/* --- very many species ------------------------------------------------------------ */
enum { SPECIES = 100000, GENERA = 1000, MANY = 1 + GENERA + SPECIES };

/* A tree of root, genera, and species with a target each. */
static kh_db *wide_db(void)
{
	static kh_db_header h;
	static kh_taxonomy t;
	static kh_db db;
	kh_db_target *target = calloc(SPECIES, sizeof *target);
	uint32_t n = 1;

	t = (kh_taxonomy) { .n = MANY, .taxid = calloc(MANY, 4), .parent = calloc(MANY, 4),
			    .end = calloc(MANY, 4), .rank = calloc(MANY, 1),
			    .species = calloc(MANY, 4), .genus = calloc(MANY, 4) };
	h = (kh_db_header) { .n_targets = SPECIES };
	kh_db_set_sampling(&h, &syncmer);
	t.end[0] = MANY;
	t.species[0] = t.genus[0] = KH_NO_TAXON;
	for (uint32_t g = 0, s = 0; g < GENERA; g++) {
		const uint32_t genus = n;

		t.species[n] = KH_NO_TAXON;
		t.genus[n] = n;
		t.rank[n] = KH_RANK_GENUS;
		t.end[n++] = genus + 1 + SPECIES / GENERA;
		for (uint32_t i = 0; i < SPECIES / GENERA; i++, s++, n++) {
			t.parent[n] = t.genus[n] = genus;
			t.species[n] = n;
			t.rank[n] = KH_RANK_SPECIES;
			t.end[n] = n + 1;
			target[s] = (kh_db_target) { .taxon = n, .bases = 100000 + s };
		}
	}
	db = (kh_db) { .h = &h, .tax = &t, .target = target, .ids = "" };
	return &db;
}

static void wide_free(kh_db *db)
{
	free(db->tax->taxid);
	free(db->tax->parent);
	free(db->tax->end);
	free(db->tax->rank);
	free(db->tax->species);
	free(db->tax->genus);
	free((void *)(uintptr_t)db->target);
}

/* Each species has fragments of its own at one share, and half of them share with the next. */
static void wide_classes(kh_classes *c, const kh_db *db)
{
	OK(kh_classes_init(c, err));
	c->cap = c->n = (size_t)2 * SPECIES;
	c->at = calloc(c->n, sizeof *c->at);
	for (uint32_t s = 0; s < SPECIES; s++) {
		const uint32_t t = db->target[s].taxon, next = db->target[(s + 1) % SPECIES].taxon;
		const uint64_t many = s % 10 == 0 ? 40 : s % 3;
		const kh_class own = { .species = { t, KH_NO_TAXON, KH_NO_TAXON, KH_NO_TAXON },
				       .call = t, .cell = 64 + 28 + s % 4, .enough = 1,
				       .many = many };

		c->at[2 * s] = c->at[2 * s + 1] = own;
		c->at[2 * s + 1].species[0] = t < next ? t : next;
		c->at[2 * s + 1].species[1] = t < next ? next : t;
		c->many[40] += 2 * many;
	}
}

TEST(test_very_many_species)
{
	kh_db *db = wide_db();
	kh_rule rule = { .sampling = syncmer };
	kh_classes c;
	kh_model one, four;
	uint64_t *first;
	kh_monitor *m;

	wide_classes(&c, db);
	OK(kh_intervals(db, &first, err));
	uint32_t *mask = calloc(first[SPECIES], sizeof *mask);
	kh_model_input in = { .db = db, .rule = &rule, .classes = &c, .mask = mask,
			      .fragments = 1 << 20, .change = true };
	OK(kh_model_make(&one, &in, err));
	assert_int_equal(one.n, SPECIES);
	OK(kh_monitor_new(&m, err));
	OK(kh_team_new(&in.team, m, 4, err));
	OK(kh_model_make(&four, &in, err));
	kh_team_free(in.team);
	assert_memory_equal(one.decision, four.decision, c.n * sizeof *one.decision);
	for (uint32_t s = 0; s < SPECIES; s++) {
		assert_memory_equal(&one.at[s].fit.weight, &four.at[s].fit.weight, 12);
		/* a species that shares fragments with a large one may be reported */
		if (s % 10 != 1)
			assert_int_equal(one.at[s].verdict,
					 s % 10 == 0 ? KH_PRESENT : KH_TOO_FEW);
		if (s % 10 == 0)
			assert_int_equal(one.decision[2 * s], db->target[s].taxon);
	}
	kh_monitor_free(m);
	kh_model_clear(&one);
	kh_model_clear(&four);
	kh_classes_clear(&c);
	free(mask);
	free(first);
	wide_free(db);
}
