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

#include <unistd.h>
#include <xxhash.h>
#include "fuzz.h"
#include "build/build.h"
#include "classify/match.h"
#include "packed.h"

enum { GENOME = 6000, TARGETS = 6, STRIDE = 32 };

static const char nodes[] =
	"1\t|\t1\t|\tno rank\t|\n10\t|\t1\t|\tgenus\t|\n20\t|\t1\t|\tfamily\t|\n"
	"100\t|\t10\t|\tspecies\t|\n1000\t|\t100\t|\tstrain\t|\n1001\t|\t100\t|\tstrain\t|\n"
	"101\t|\t10\t|\tspecies\t|\n200\t|\t20\t|\tspecies\t|\n";
static const unsigned taxid[TARGETS] = { 1000, 1001, 101, 101, 200, 200 };
static char genome[TARGETS][GENOME + 1];
static unsigned char *base;
static size_t base_bytes;

/* --- the sound database ----------------------------------------------------------- */
/* Halves that all have: lists of several bins; strains of a species that differ at some bases, or
 * at few; ends that only one strain has. */
static void make_genomes(void)
{
	for (uint64_t t = 0; t < TARGETS; t++)
		for (uint64_t i = 0; i < GENOME; i++) {
			const uint64_t later = i < 3 * GENOME / 4 ? t / 2 + 1 : t + 9;
			const uint64_t text = i < GENOME / 2 ? 0 : later;
			const bool differs = t % 2 && i % (t < 3 ? 97 : 1499) == 50;

			genome[t][i] = "ACGT"[kh_fmix64(i + 9999 * (text + 99 * differs)) & 3];
		}
}

static void put_files(void)
{
	FILE *n = fopen("nodes.dmp", "w"), *names = fopen("names.dmp", "w");
	FILE *refs = fopen("refs", "w");

	REQUIRE(n && names && refs);
	fputs(nodes, n);
	for (const char *p = nodes; *p; p = strchr(p, '\n') + 1)
		fprintf(names, "%u\t|\tx\t|\t\t|\tscientific name\t|\n", (unsigned)atoi(p));
	for (int t = 0; t < TARGETS; t++)
		fprintf(refs, ">%d taxid|%u\n%s\n", t, taxid[t], genome[t]);
	fprintf(refs, ">unmapped\n%s\n", genome[0]);
	REQUIRE(!fclose(n) && !fclose(names) && !fclose(refs));
}

/* In a folder of its own. */
static void make_base(void)
{
	static const char *const files[] = { "refs", "nodes.dmp", "names.dmp", "db" };
	char dir[] = "/tmp/fuzz_db.XXXXXX", was[4096];
	const kh_build_options o = { .refs = files, .n_refs = 1, .db = files[3], .taxonomy = ".",
				     .sampling = { KH_SYNCMER, 14, 10, STRIDE, 0, 1 },
				     .threads = 1, .max_unmapped = 1 };
	kh_build_summary sum;
	kh_err err;
	FILE *f;

	REQUIRE(getcwd(was, sizeof was) && mkdtemp(dir) && !chdir(dir));
	kh_log_level(KH_ERROR);
	make_genomes();
	put_files();
	REQUIRE(!kh_build(&o, &sum, &err));
	REQUIRE(f = fopen("db", "r"));
	REQUIRE(!fseek(f, 0, SEEK_END));
	base_bytes = (size_t)ftell(f);
	rewind(f);
	REQUIRE((base = malloc(base_bytes)) && fread(base, 1, base_bytes, f) == base_bytes);
	fclose(f);
	for (int i = 0; i < 4; i++)
		unlink(files[i]);
	REQUIRE(!chdir(was) && !rmdir(dir));
}

static void repair(unsigned char *p, size_t n)
{
	kh_db_header *h = (kh_db_header *)p;
	kh_db_extent s = h->section[KH_SEC_SUMS];

	if (s.at >= KH_DB_PAGE && s.at <= n && s.bytes <= n - s.at &&
	    s.at - KH_DB_PAGE < KH_DB_CHUNK) {
		uint64_t sum = XXH3_64bits(p + KH_DB_PAGE, s.at - KH_DB_PAGE);

		memcpy(p + s.at, &sum, s.bytes < 8 ? s.bytes : 8);
		h->sums = XXH3_64bits(p + s.at, s.bytes);
	}
	h->self = XXH3_64bits(h, offsetof(kh_db_header, self));
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

/* An alignment lies in its record and in its target, and its HSPs and gaps are as long. */
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
	const kh_match_results to = { .call = call,
				      .candidates = wanted,
				      .aligned = kh_db_is_thin(db->h) ? NULL : &aligned };

	REQUIRE(!kh_match_job(m, job, &to, &err));
	for (size_t i = 0; i < aligned.n; i++)
		check_aligned(db, job, &aligned, &aligned.v[i]);
	if (!kh_db_is_thin(db->h))
		REQUIRE(call->taxon == KH_NO_TAXON ? aligned.n == 0 : aligned.n > 0);
	kh_alignments_clear(&aligned);
	kh_matcher_free(m);
	free(wanted);
}

/* Mates of so many bases, the first one from `at` on. */
static void classify(const kh_db *db, size_t at, size_t a, size_t b)
{
	packed p[2] = { pack(genome[at / 700 % 2] + at, a), pack(genome[2] + 1200, b) };
	kh_record r[2] = { { .len = a }, { .len = b } };
	kh_block blk[2] = { { .bases = p[0].bases, .amb = p[0].amb, .rec = &r[0] },
			    { .bases = p[1].bases, .amb = p[1].amb, .rec = &r[1] } };
	kh_job job = { .n = 1, .block = { &blk[0], b > 0 ? &blk[1] : NULL } };
	kh_call call;

	classify_job(db, &job, &call);
	REQUIRE(call.taxon == KH_NO_TAXON || call.taxon < db->h->n_taxa);
	REQUIRE(call.hits <= call.kmers && call.kmers <= a + b);
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
	for (size_t at = 0; at < 2 * GENOME / 3; at += 700) {
		classify(db, at, 150, 0);
		classify(db, at, 150, 150);
		classify(db, at, 512, 40);
		classify(db, at, 1700, 1600);
	}
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
