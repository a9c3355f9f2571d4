/* gpu_parsed.h - fragments that lie on a device, as it leaves those that it has parsed, beside the
 * same ones on the host; for a database of Kraken 2, too */
#ifndef KH_TEST_GPU_PARSED_H
#define KH_TEST_GPU_PARSED_H

#include "gpu_text.h"
#include "cuda/kernels/engine.h"
#include "cuda/kernels/gpu.h"

enum { THERE_READS = 400, THERE_BASES = 250 };

static void *on_device(const void *from, size_t n)
{
	void *p = NULL;

	assert_int_equal(cudaMalloc(&p, n), cudaSuccess);
	assert_int_equal(cudaMemcpy(p, from, n, cudaMemcpyHostToDevice), cudaSuccess);
	return p;
}

/* The records of a block. */
static kh_parsed_there put_there(const struct made_block *m, bool mates, int device)
{
	const size_t words = m->b.n_words + 1, each = mates ? 2 : 1;
	kh_gpu_record rec[THERE_READS];
	uint32_t *len = calloc(THERE_READS, sizeof *len);

	for (size_t i = 0; i < THERE_READS; i++) {
		rec[i] = (kh_gpu_record) { (uint32_t)(m->rec[i].seq / 32),
					   (uint32_t)m->rec[i].len };
		len[i / each] += rec[i].len;
	}
	m->amb[words - 1] = UINT32_MAX;
	assert_int_equal(cudaSetDevice(device), cudaSuccess);
	return (kh_parsed_there) { .n = (uint32_t)(THERE_READS / each),
				   .n_words = (uint32_t)m->b.n_words,
				   .mates = mates,
				   .device = device,
				   .len = len,
				   .bases = on_device(m->bases, words * 8),
				   .amb = on_device(m->amb, words * 4),
				   .record = on_device(rec, sizeof rec) };
}

static void free_there(kh_parsed_there *t)
{
	cudaFree((void *)(uintptr_t)t->bases);
	cudaFree((void *)(uintptr_t)t->amb);
	cudaFree((void *)(uintptr_t)t->record);
	free((void *)(uintptr_t)t->len);
}

/* Reads of a genome and random ones, of all lengths that are parsed on a device. */
static void make_short_block(struct made_block *m)
{
	char text[THERE_BASES + 256];

	new_block(m, THERE_READS, THERE_BASES);
	for (unsigned i = 0; i < THERE_READS; i++) {
		const size_t len = i % 8 ? THERE_BASES : test_rand() % THERE_BASES;

		make_read(text, len);
		add_record(m, text, len);
	}
}

/* As single reads and as mates: n_jobs at once, of which two lie on device number `at`, two on the
 * next one. */
static void same_calls_there(const struct way *cpu, const struct way *device, const kh_db *db,
			     const kh_rule *rule, size_t n_jobs, size_t at)
{
	enum { THERE_JOBS = 4 };
	const size_t n = n_jobs * THERE_READS;
	struct made_block block[THERE_JOBS];
	kh_parsed_there there[THERE_JOBS];
	kh_job job[THERE_JOBS], on[THERE_JOBS];

	for (int mates = 0; mates < 2; mates++) {
		for (size_t i = 0; i < n_jobs; i++) {
			make_short_block(&block[i]);
			there[i] = put_there(&block[i], (i + mates) % 2,
					     device->device[(at + i / 2) % device->n_devices]);
			job[i] = (kh_job) { .n = there[i].n, .block = { &block[i].b },
					    .interleaved = there[i].mates };
			on[i] = (kh_job) { .n = there[i].n, .there = &there[i] };
		}
		struct answer a = answer_new(n, KH_WANT_NONE), b = answer_new(n, KH_WANT_NONE);
		run_jobs(cpu, db, rule, job, n_jobs, &a);
		run_jobs(device, db, rule, on, n_jobs, &b);
		same_answers(&a, &b, n, db->tax->n, "parsed on a device");
		answer_clear(&a);
		answer_clear(&b);
		for (size_t i = 0; i < n_jobs; i++) {
			free_there(&there[i]);
			free_block(&block[i]);
		}
	}
}

static void check_there(const struct way *cpu, const struct way *device)
{
	const kh_build_options o = options_of(SYNCMERS(18, 10, 32), false);
	kh_rule rule;

	make_references();
	kh_db *const db = open_built(&o, false, &rule);
	same_calls_there(cpu, device, db, &rule, 4, 0);
	kh_db_close(db);
}

/* A database of Kraken 2 whose keys are so short that most k-mers are found, each of any taxon:
 * some fragments have more of these than the kernel has room for. */
static void check_kraken_there(const struct way *cpu, const struct way *device)
{
	enum { CELLS = 5003, TAXA = 400 };
	static uint32_t file[KH_K2_HASH_HEAD / 4 + CELLS], parent[TAXA], end[TAXA], taxon[TAXA];
	uint32_t *cells = file + KH_K2_HASH_HEAD / 4;
	kh_taxonomy tax = { .n = TAXA, .parent = parent, .end = end };
	kh_k2 k = { .rule = { .k = 35, .l = 31, .mask = (UINT64_C(1) << 62) - 1,
			      .seed = (UINT64_C(1) << 62) - 1, .toggle = 0x1234567,
			      .capacity = CELLS, .inverse = UINT64_MAX / CELLS, .key_bits = 4,
			      .value_bits = 28, .cell_bytes = 4, .n_nodes = TAXA,
			      .min_groups = 2 },
		    .tax = &tax, .taxon = taxon };
	static const kh_db_header none;
	const kh_db db = { .h = &none, .k2 = &k, .tax = &tax, .image = cells, .fd = -1,
			   .map = file };
	struct way way = *device;

	way.be = device->be->kraken;
	for (uint32_t i = 0; i < TAXA; i++) {
		taxon[i] = i ? i - 1 : KH_NO_TAXON;
		end[i] = i ? i + 1 : TAXA;
	}
	for (uint32_t i = 0; i < CELLS; i++)
		cells[i] = test_rand() % 40 ? (uint32_t)(test_rand() % 16) << 28 |
						     (uint32_t)(1 + test_rand() % (TAXA - 1))
					   : 0;
	/* of the second one of several, minimizers would be counted */
	for (size_t i = 0; i < way.n_devices; i++)
		same_calls_there(cpu, &way, &db, NULL, 1, i);
}

#endif
