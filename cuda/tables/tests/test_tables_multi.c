/*
 * test_tables_multi.c - one hash table over 1, 2 .. all GPUs, against a sorted array
 *
 * KH_MEMBERS=n takes n members, several on a GPU if there are fewer; NCCL (KH_GPU_COMM=nccl)
 * refuses that, peer copies do not.
 */
#define TEST_MAIN
#include "cuda/tables/tests/harness.h"
#include "cuda/tables/dtable.h"
#include "cuda/tables/dtable_kernels.h"

#define MEMBERS 16

struct world { /* the members, and what lies on each */
	struct job j;
	int device[MEMBERS];
	unsigned members;
	kh_gpu_comm *comm;
	kht_dtable *d;
	kht_dtable_config cfg;
	struct pair *pair[MEMBERS];
	size_t n[MEMBERS];
	struct pair *model; /* all, sorted */
	size_t all;
};

/* Keys of a case: the i-th of all. */
struct load {
	const char *what;
	uint64_t (*key)(uint64_t i, uint64_t all);
	size_t each; /* pairs a member */
	int without; /* member that has none, from the end; 0: all have */
	bool even;   /* keys allow even loads */
};

static const kht_table_system hashgraph = { "hashgraph", "", KHT_TABLE_MULTI, 1, NULL };

static uint64_t scatter(uint64_t i) { return (i + 77) * UINT64_C(0x9e3779b97f4a7c15); }
static uint64_t unique(uint64_t i, uint64_t all) { return (void)all, scatter(i); }
static uint64_t sixteen(uint64_t i, uint64_t all) { return scatter(i % (all / 16 + 1)); }
static uint64_t one(uint64_t i, uint64_t all) { return (void)i, (void)all, ~UINT64_C(0); }
static uint64_t third(uint64_t i, uint64_t all)
{
	return i % 3 == 0 ? 0 : scatter(i % (all / 2 + 1));
}
static uint64_t sequence(uint64_t i, uint64_t all) { return (void)all, i; }

/* --- the world -------------------------------------------------------------------- */
static unsigned gpus(void)
{
	int n = 0;

	cuda_ok(cudaGetDeviceCount(&n));
	return (unsigned)n;
}

static unsigned most_members(void)
{
	const char *s = getenv("KH_MEMBERS");
	unsigned n = s ? (unsigned)atoi(s) : gpus();

	return n < MEMBERS ? n : MEMBERS;
}

static void use(const struct world *w, unsigned i) { cuda_ok(cudaSetDevice(w->device[i])); }

static void open_world(struct world *w, unsigned members)
{
	kh_err err;

	w->members = members;
	for (unsigned i = 0; i < members; i++)
		w->device[i] = (int)(i % gpus());
	ok(&w->j, kh_gpu_comm_open(&w->comm, w->device, members, &err), &err);
}

static void make_load(struct world *w, const struct load *l, unsigned seed)
{
	size_t at = 0;

	w->all = 0;
	for (unsigned i = 0; i < w->members; i++) {
		w->n[i] = l->without && i == w->members - (unsigned)l->without
				  ? 0
				  : l->each + (l->each > 10 ? i * 13 : 0);
		w->all += w->n[i];
	}
	w->model = malloc((w->all + 1) * sizeof *w->model);
	assert_non_null(w->model);
	for (unsigned i = 0; i < w->members; i++) {
		w->pair[i] = w->model + at;
		for (size_t k = 0; k < w->n[i]; k++, at++)
			w->model[at] = (struct pair) { cut(l->key(at + seed, w->all),
							   w->cfg.table.key_bits),
						       cut(test_rand(), w->cfg.table.value_bits) };
	}
}

static void open_table(struct world *w)
{
	kh_err err;

	w->j.cfg = w->cfg.table;
	w->cfg.table.capacity = w->all + 1;
	w->cfg.table.side = w->all + 1;
	ok(&w->j, kht_dtable_open(&w->cfg, w->comm, w->device, w->members, &w->d, &err), &err);
}

/* Pairs `from` to `to` (of 4) of each member. */
static void insert_part(struct world *w, unsigned from, unsigned to)
{
	kht_dpart part[MEMBERS];
	kh_err err;

	for (unsigned i = 0; i < w->members; i++) {
		const size_t a = w->n[i] * from / 4, n = w->n[i] * to / 4 - a;

		use(w, i);
		part[i] = (kht_dpart) { gpu_pairs(w->pair[i] + a, n, 0, w->cfg.table.key_bits),
					gpu_pairs(w->pair[i] + a, n, 1, w->cfg.table.value_bits), n,
					NULL };
	}
	ok(&w->j, kht_dtable_insert(w->d, part, &err), &err);
	for (unsigned i = 0; i < w->members; i++) {
		use(w, i);
		gpu_free(part[i].keys);
		gpu_free(part[i].values);
	}
}

/* --- queries ---------------------------------------------------------------------- */
struct asked {
	struct pair *q[MEMBERS];
	kht_dpart part[MEMBERS];
};

/* Member i asks for each key that it is the i-th to ask for, for some twice, for others that
 * are not there; one member asks nothing. */
static void make_questions(struct world *w, struct asked *a)
{
	for (unsigned i = 0; i < w->members; i++) {
		size_t n = 0;

		a->q[i] = malloc((2 * w->all / w->members + 20) * sizeof *a->q[i]);
		assert_non_null(a->q[i]);
		for (size_t k = i; k < w->all; k += w->members)
			if (k == 0 || w->model[k].k != w->model[k - 1].k) {
				a->q[i][n++].k = w->model[k].k;
				if (k % 3 == 0)
					a->q[i][n++].k = cut(test_rand(), w->cfg.table.key_bits);
			}
		a->q[i][n++].k = w->all ? w->model[w->all / 2].k : 5;
		a->q[i][n++].k = cut(~UINT64_C(0), w->cfg.table.key_bits);
		if (w->members > 2 && i == 1)
			n = 0;
		shuffle(a->q[i], n);
		use(w, i);
		a->part[i] = (kht_dpart) { gpu_pairs(a->q[i], n, 0, w->cfg.table.key_bits), NULL, n,
					   NULL };
	}
}

static void drop_questions(struct world *w, struct asked *a)
{
	for (unsigned i = 0; i < w->members; i++) {
		use(w, i);
		gpu_free(a->part[i].keys);
		free(a->q[i]);
	}
}

/* Values that a key must have. */
static size_t wanted(const struct world *w, uint64_t k)
{
	return listed(&w->j, multiplicity(w->model, w->all, k));
}

static void ask_counts(struct world *w, const struct asked *a, bool join)
{
	uint32_t *count[MEMBERS];
	kh_err err;

	for (unsigned i = 0; i < w->members; i++) {
		use(w, i);
		count[i] = gpu_new(a->part[i].n * 4);
	}
	ok(&w->j, (join ? kht_dtable_join : kht_dtable_count)(w->d, a->part, count, &err), &err);
	for (unsigned i = 0; i < w->members; i++) {
		use(w, i);
		uint32_t *c = gpu_take(&w->j, count[i], a->part[i].n * 4);
		for (size_t k = 0; k < a->part[i].n; k++)
			CHECK(&w->j, c[k] == wanted(w, a->q[i][k].k));
		free(c);
	}
}

static void ask_lists(struct world *w, const struct asked *a)
{
	const unsigned vb = w->cfg.table.value_bits;
	kht_lists out[MEMBERS];
	kh_err err;

	for (unsigned i = 0; i < w->members; i++) {
		use(w, i);
		out[i].offsets = gpu_new((a->part[i].n + 1) * 8);
		out[i].capacity = 0;
		for (size_t k = 0; k < a->part[i].n; k++)
			out[i].capacity += wanted(w, a->q[i][k].k);
		out[i].values = gpu_new(out[i].capacity * vb / 8);
	}
	ok(&w->j, kht_dtable_retrieve(w->d, a->part, out, &err), &err);
	ok(&w->j, kht_dtable_status(w->d, NULL, &err), &err);
	for (unsigned i = 0; i < w->members; i++) {
		use(w, i);
		uint64_t *o = gpu_take(&w->j, out[i].offsets, (a->part[i].n + 1) * 8);
		void *v = gpu_take(&w->j, out[i].values, out[i].capacity * vb / 8);
		CHECK(&w->j, o[0] == 0 && o[a->part[i].n] == out[i].capacity);
		for (size_t k = 0; k < a->part[i].n; k++)
			check_list(&w->j, w->model, w->all, a->q[i][k].k, v, o[k], o[k + 1] - o[k]);
		free(o);
		free(v);
	}
}

static void check_world(struct world *w, const struct load *l)
{
	struct asked a;
	kht_dtable_stats s;
	kh_err err;

	qsort(w->model, w->all, sizeof *w->model, by_pair);
	make_questions(w, &a);
	ask_counts(w, &a, false);
	if (w->j.sys == &hashgraph)
		ask_counts(w, &a, true);
	if (w->cfg.table.value_bits)
		ask_lists(w, &a);
	drop_questions(w, &a);
	ok(&w->j, kht_dtable_status(w->d, &s, &err), &err);
	CHECK(&w->j, s.members == w->members && s.pairs == w->all);
	if (l->even && w->j.sys == &hashgraph)
		CHECK(&w->j, (double)s.most <= 1.05 * (double)w->all / w->members + 3);
}

static void run_load(struct world *w, const struct load *l)
{
	w->j.what = l->what;
	make_load(w, l, 0);
	open_table(w);
	if (w->j.sys->can & KHT_TABLE_DYNAMIC) {
		insert_part(w, 0, 1);
		insert_part(w, 1, 4);
	} else {
		insert_part(w, 0, 4);
	}
	check_world(w, l);
	kht_dtable_close(w->d);
	free(w->model);
}

/* For 1, 2 .. members. */
static void each_world(void (*f)(struct world *))
{
	for (unsigned p = 1; p <= most_members(); p++) {
		struct world w = { .j = { .sys = &hashgraph, .what = "open" } };

		open_world(&w, p);
		f(&w);
		kh_gpu_comm_close(w.comm);
	}
}

static void each_width(struct world *w, const struct load *l, const char *system, bool alone)
{
	static const unsigned widths[4][2] = { { 32, 32 }, { 64, 64 }, { 32, 64 }, { 64, 32 } };

	const int most = small() ? 1 : w->j.sys == &hashgraph ? 4 : 2;

	for (int k = 0; k < most; k++)
		for (unsigned chunks = k || alone ? 4 : 1; chunks <= 4; chunks += 3) {
			w->cfg = (kht_dtable_config) {
				.system = system,
				.independent = alone,
				.chunks = chunks,
				.table = { .key_bits = widths[k][0], .value_bits = widths[k][1] },
			};
			run_load(w, l);
		}
}

/* --- multi-GPU HashGraph ---------------------------------------------------------- */
static const struct load plain[] = {
	{ "unique", unique, 6000, 0, true },
	{ "sixteen a key", sixteen, 9000, 0, true },
	{ "sequence", sequence, 5000, 0, true },
	{ "first has none", unique, 700, 1, false },
	{ "a third equal", third, 3000, 0, false },
	{ "one each", unique, 1, 0, false },
	{ "none", unique, 0, 0, false },
};

static void hashgraphs(struct world *w)
{
	static const struct load heavy = { "one key, a large bin", one, 90000, 0, false };

	for (size_t i = small() ? 3 : 0; i < sizeof plain / sizeof *plain; i++)
		each_width(w, &plain[i], "hashgraph", false);
	if (!small())
		each_width(w, &heavy, "hashgraph", false);
}

TEST(test_hashgraph) { each_world(hashgraphs); }

static void keys_alone(struct world *w)
{
	for (size_t i = small() ? 3 : 0; i < sizeof plain / sizeof *plain; i++)
		for (unsigned bits = 32; bits <= 64; bits += 32) {
			w->cfg = (kht_dtable_config) { .system = "hashgraph",
						       .chunks = 2,
						       .table = { .key_bits = bits } };
			run_load(w, &plain[i]);
		}
}

TEST(test_keys_alone) { each_world(keys_alone); }

/* Few bins, each as large as a block takes, and rows away from one a pair. */
static void sizes_of_bins(struct world *w)
{
	static const double range[] = { 0.25, 1, 4 };
	const struct load l = { "large bins", unique, 100000 / w->members, 0, false };
	const struct load twice = { "large bins", sixteen, 60000 / w->members, 0, false };

	for (int k = 0; k < 3; k++)
		for (unsigned bits = 0; bits <= 64; bits += 32) {
			w->cfg = (kht_dtable_config) {
				.system = "hashgraph",
				.chunks = 4,
				.table = { .key_bits = bits ? bits : 32,
					   .value_bits = bits,
					   .bins = 1,
					   .range = range[k] },
			};
			run_load(w, k == 1 ? &l : &twice);
		}
}

TEST(test_sizes_of_bins)
{
	if (!small())
		each_world(sizes_of_bins);
}

/* --- WarpCore over several GPUs --------------------------------------------------- */
static void warpcores(struct world *w)
{
	static const char *const name[] = { "multi", "bucketlist", "single", "bucket64" };
	static const struct load few = { "one key", one, 300, 0, false };

	for (int k = 0; k < 4; k++) {
		w->j.sys = kht_table_system_find(name[k]);
		for (int alone = 0; alone < 2; alone++) {
			const bool multi = is_multi(&w->j);

			/* Apart, tables of one value a key may have one each. */
			for (size_t i = small() ? 3 : 0; i < sizeof plain / sizeof *plain; i++)
				if (multi || !alone ||
				    (plain[i].key != sixteen && plain[i].key != third))
					each_width(w, &plain[i], name[k], alone);
			if (multi || !alone)
				each_width(w, &few, name[k], alone);
		}
	}
}

TEST(test_warpcore) { each_world(warpcores); }

/* --- refusals --------------------------------------------------------------------- */
static void refusals(struct world *w)
{
	const struct load l = { "refusals", unique, 900, 0, true };
	struct asked a;
	kht_lists out[MEMBERS];
	kht_dtable *d = NULL;
	kh_err err;

	w->cfg = (kht_dtable_config) { .system = "csr",
				       .table = { .key_bits = 32, .value_bits = 32 } };
	make_load(w, &l, 0);
	w->cfg.table.capacity = w->all;
	assert_int_equal(kht_dtable_open(&w->cfg, w->comm, w->device, w->members, &d, &err),
			 KH_EUSAGE);
	w->cfg.system = "hashgraph";
	w->cfg.chunks = 17;
	assert_int_equal(kht_dtable_open(&w->cfg, w->comm, w->device, w->members, &d, &err),
			 KH_EUSAGE);
	w->cfg.chunks = 0;
	open_table(w);
	insert_part(w, 0, 4);
	kht_dpart none[MEMBERS] = { { NULL, NULL, 0, NULL } };
	assert_int_equal(kht_dtable_insert(w->d, none, &err), KH_EUSAGE);
	assert_string_equal(err.msg, "a HashGraph is built by one insert");

	qsort(w->model, w->all, sizeof *w->model, by_pair);
	make_questions(w, &a);
	for (unsigned i = 0; i < w->members; i++) {
		use(w, i);
		out[i] = (kht_lists) { gpu_new((a.part[i].n + 1) * 8), gpu_new(10 * 4), 10 };
	}
	ok(&w->j, kht_dtable_retrieve(w->d, a.part, out, &err), &err);
	assert_int_equal(kht_dtable_status(w->d, NULL, &err), KH_ENOMEM);
	for (unsigned i = 0; i < w->members; i++) {
		use(w, i);
		free(gpu_take(&w->j, out[i].offsets, (a.part[i].n + 1) * 8));
		free(gpu_take(&w->j, out[i].values, 10 * 4));
	}
	drop_questions(w, &a);
	kht_dtable_close(w->d);
	kht_dtable_close(NULL);
	free(w->model);
}

TEST(test_refusals) { each_world(refusals); }

/* A bin's rows and pairs fit into what a block may have: 99, 163 and 227 KiB are what devices of
 * compute capability 8.6, 8.0 and 9.0 allow; this device says what it allows. */
TEST(test_memory_of_bins)
{
	uint32_t memory[] = { 96 << 10, 160 << 10, 224 << 10, 0 };
	kh_err err;

	assert_int_equal(kht_hashgraph_bin_memory(0, &memory[3], &err), KH_OK);
	assert_in_range(memory[3], 32 << 10, 1 << 20);
	for (size_t i = 0; i < 4; i++)
		for (unsigned pair = 4; pair <= 16; pair += 4) {
			const uint32_t rows =
				kht_hashgraph_bin_rows(pair > 8 ? 64 : 32,
						       pair > 8 ? pair * 8 - 64 : pair * 8 - 32,
						       memory[i]);

			assert_true(rows >= 1024 && (rows & (rows - 1)) == 0);
			assert_true(rows * (4 + pair + pair / 4) <= memory[i]);
		}
}

int main(void) { return run_on_gpu(); }
