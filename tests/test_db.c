/*
 * test_db.c - the database file: written, opened, compared, damaged
 *
 * The database of data/ is built once; then its sections are read and written anew.
 */
#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "build/build.h"
#include "db/join.h"

static char folder[] = "db-test.XXXXXX";
static const char *const genome[] = { "Escherichia_phage_T7.NC_001604.1",
				      "Enterobacteria_phage_T3.NC_003298.1",
				      "Escherichia_virus_phiX174.NC_001422.1" };

/* Of n genomes. */
static void build_of(const char *path, unsigned threads, int from, int n)
{
	const char *src = test_srcdir();
	char name[3][512], dir[400], map[512];
	const char *refs[3] = { name[0], name[1], name[2] }, *maps[1] = { map };
	kh_build_options o = { .refs = refs + from,
			       .n_refs = (size_t)n,
			       .db = path,
			       .taxonomy = dir,
			       .maps = maps,
			       .n_maps = 1,
			       .sampling = { KH_SYNCMER, 0, 0, 0, 0, 0 },
			       .bases = 39937 + 38208 + 5386,
			       .threads = threads,
			       .device = "cpu",
			       .max_unmapped = 0 };
	kh_build_summary sum;
	kh_err err = { 0, "" };

	for (int i = 0; i < 3; i++)
		snprintf(name[i], sizeof name[i], "%s/data/genomes/%s.fa.gz", src, genome[i]);
	snprintf(dir, sizeof dir, "%s/data/taxonomy", src);
	snprintf(map, sizeof map, "%s/accession2taxid.tsv", dir);
	if (kh_build(&o, &sum, &err))
		fail_msg("%s", err.msg);
}

static void build(const char *path, unsigned threads)
{
	build_of(path, threads, 0, 3);
}

/* --- bytes of a file, aligned ----------------------------------------------------- */
typedef struct bytes {
	unsigned char *p;
	size_t n;
} bytes;

static bytes slurp(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	bytes b = { NULL, 0 };

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	b.n = (size_t)st.st_size;
	b.p = aligned_alloc(4096, (b.n + 4095) / 4096 * 4096);
	assert_int_equal(read(fd, b.p, b.n), b.n);
	close(fd);
	return b;
}

static bool there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

static kh_db *open_db(const char *path)
{
	static const kh_db_options o = { .threads = 2 };
	kh_err err = { 0, "" };
	kh_db *db = NULL;

	if (kh_db_open(&db, path, &o, &err))
		fail_msg("%s", err.msg);
	return db;
}

static void refused(const char *path, int code, const char *want)
{
	static const kh_db_options o = { .threads = 2 };
	kh_err err = { 0, "" };
	kh_db *db = NULL;

	assert_int_equal(kh_db_open(&db, path, &o, &err), code);
	assert_null(db);
	if (!strstr(err.msg, want))
		fail_msg("'%s' has no '%s'", err.msg, want);
}

/* Writes all sections of db again; ids of `extra` bytes join the unmapped ones. */
static void rewrite(const kh_db *db, const char *path, size_t extra)
{
	kh_db_header h = *db->h;
	kh_db_writer *w = NULL;
	kh_err err = { 0, "" };
	char *more = malloc(extra + 1);

	for (size_t i = 0; i < extra; i++)
		more[i] = i % 1000 == 999 || i + 1 == extra ? 0 : 'x';
	h.unmapped += (extra + 999) / 1000;
	h.sequences += (extra + 999) / 1000;
	assert_int_equal(kh_db_create(&w, path, &err), 0);
	for (int s = KH_SEC_INDEX; s < KH_SEC_SUMS; s++) {
		const char *from = (const char *)db->map + h.section[s].at;
		size_t n = (size_t)h.section[s].bytes, step = 4093;

		if (h.section[s].at == 0)
			continue;
		assert_int_equal(kh_db_begin(w, (enum kh_section)s, &err), 0);
		for (size_t at = 0; at < n; at += step)
			assert_int_equal(
				kh_db_append(w, from + at, n - at < step ? n - at : step, &err), 0);
		if (s == KH_SEC_UNMAPPED)
			assert_int_equal(kh_db_append(w, more, extra, &err), 0);
	}
	assert_false(there(path));
	const uint64_t length = kh_db_length(w);
	assert_int_equal(kh_db_commit(w, &h, &err), 0);
	assert_int_equal(h.file_bytes, length);
	kh_db_abandon(w);
	free(more);
}

/* --- the tests -------------------------------------------------------------------- */
static void test_opened(void **state)
{
	kh_db *db = open_db("a.khdb");
	const kh_db_header *h = db->h;
	kh_err err = { 0, "" };

	(void)state;
	assert_memory_equal(h->magic, KH_DB_MAGIC, 8);
	assert_int_equal(h->file_bytes, db->bytes);
	assert_int_equal(h->sampling.scheme, KH_SYNCMER);
	assert_int_equal(h->sampling.k, kh_default_k(h->bases));
	assert_int_equal(h->bases, 39937 + 38208 + 5386);
	assert_int_equal(h->n_targets, 3);
	assert_int_equal(h->sampling.stride, 16);
	assert_int_equal(h->bins, 2497 + 2388 + 337 + 3);
	assert_int_equal(db->n_kept, 3);
	assert_int_equal(db->bins.n_species, 3);
	assert_string_equal(db->ids + db->target[1].id, "NC_003298.1");
	assert_int_equal(db->target[1].first_bin, 2497 + 1);
	assert_int_equal(db->tax->taxid[db->target[2].taxon], 10847);
	assert_string_equal(h->tool, PACKAGE_STRING);
	assert_int_equal(kh_db_unchanged(db, &err), 0);
	kh_db_close(db);
	kh_db_close(NULL);
}

static void test_same_bytes(void **state)
{
	kh_db *db = open_db("a.khdb");

	(void)state;
	build("b.khdb", 2);
	rewrite(db, "c.khdb", 0);
	bytes a = slurp("a.khdb"), b = slurp("b.khdb"), c = slurp("c.khdb");
	assert_true(a.n == b.n && a.n == c.n);
	assert_memory_equal(a.p, b.p, a.n);
	assert_memory_equal(a.p, c.p, a.n);
	free(a.p);
	free(b.p);
	free(c.p);
	kh_db_close(db);
	unlink("b.khdb");
	unlink("c.khdb");
}

/* A database in memory with one byte changed, at 3000 places and at the ends of each section, is
 * refused. */
static void test_every_byte(void **state)
{
	static const kh_db_options all = { .threads = 1 };
	bytes b = slurp("a.khdb");
	const kh_db_header h = *(kh_db_header *)b.p;
	kh_db *db = NULL;
	kh_err err;

	(void)state;
	assert_int_equal(kh_db_open_bytes(&db, b.p, b.n, &all, &err), 0);
	kh_db_close(db);
	for (unsigned i = 0; i < 3000; i++) {
		const kh_db_extent *e = &h.section[i % KH_N_SECTIONS];
		const bool first = i < KH_N_SECTIONS, end = !first && i < 2 * KH_N_SECTIONS;
		size_t at = first ? e->at : end ? e->at + e->bytes - 1
			  : i < 500 ? i - 2 * KH_N_SECTIONS : (size_t)(test_rand() % b.n);

		if (at >= b.n || ((first || end) && e->bytes == 0))
			continue;
		unsigned char was = b.p[at];
		b.p[at] ^= (unsigned char)(1u << test_rand() % 8);
		int rc = kh_db_open_bytes(&db, b.p, b.n, &all, &err);
		if (rc != KH_EFORMAT)
			fail_msg("byte %zu changed: %d", at, rc);
		b.p[at] = was;
	}
	free(b.p);
}

/* Any length but the right one is refused. */
static void test_every_length(void **state)
{
	static const kh_db_options all = { .threads = 1 };
	bytes b = slurp("a.khdb");
	const kh_db_header h = *(kh_db_header *)b.p;
	kh_db *db = NULL;
	kh_err err;

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		size_t n = i < KH_N_SECTIONS       ? (size_t)h.section[i].at
			   : i < 2 * KH_N_SECTIONS ? (size_t)h.section[i - KH_N_SECTIONS].at + 1
						   : test_rand() % b.n;
		unsigned char *p = aligned_alloc(64, n / 64 * 64 + 64);

		memcpy(p, b.p, n);
		assert_int_equal(kh_db_open_bytes(&db, p, n, &all, &err), KH_EFORMAT);
		free(p);
	}
	free(b.p);
}

/* More than one block of checksums; the message names the block that is damaged. */
static void test_blocks(void **state)
{
	kh_db *db = open_db("a.khdb");
	char want[100];

	(void)state;
	rewrite(db, "big.khdb", 40 << 20);
	kh_db_close(db);
	db = open_db("big.khdb");
	assert_int_equal(db->h->section[KH_SEC_SUMS].bytes, 3 * 8);
	kh_db_close(db);
	int fd = open("big.khdb", O_RDWR);
	uint64_t at = KH_DB_PAGE + 2 * KH_DB_BLOCK;
	assert_int_equal(pwrite(fd, "y", 1, (off_t)at + 5), 1);
	close(fd);
	snprintf(want, sizeof want, "damaged: the checksum of bytes %llu to ",
		 (unsigned long long)at);
	refused("big.khdb", KH_EFORMAT, want);
	unlink("big.khdb");
}

static void test_header(void **state)
{
	static const struct { size_t at; unsigned char x; bool repair; const char *want;
	} bad[] = {
		{ 0, 'K', true, "does not begin" },
		{ offsetof(kh_db_header, version), 2, true,
		  "a database of format 2, and this program reads format 4: build it again" },
		{ offsetof(kh_db_header, version), 3, false,
		  "a database of format 3, and this program reads format 4: build it again" },
		{ 100, 77, false, "the checksum of its header is wrong" },
		{ offsetof(kh_db_header, byte_order), 1, true, "of another kind" },
		{ offsetof(kh_db_header, file_bytes) + 7, 1, true, "truncated or extended" },
		{ offsetof(kh_db_header, section) + 6, 1, true, "section index lies outside" },
		{ offsetof(kh_db_header, section) + 8 + 7, 1, true, "section index lies outside" },
		{ offsetof(kh_db_header, section) + 16 * KH_SEC_SUMS + 8, 0, true,
		  "table of checksums" },
		{ offsetof(kh_db_header, sums), 1, true, "table of checksums" },
		{ offsetof(kh_db_header, n_taxa) + 3, 1, true, "sizes of its sections" },
		{ offsetof(kh_db_header, sampling) + 4, 40, true, "k is 40" },
		{ offsetof(kh_db_header, section) + 16 * KH_N_SECTIONS, 1, true,
		  "sections that this program does not know" },
		{ offsetof(kh_db_header, features) + 4, 1, true, "directory does not fit" },
		{ offsetof(kh_db_header, bins), 0x2c, true, "number of bins" },
		{ offsetof(kh_db_header, bins) + 3, 3, true, "a parameter" },   /* and of bits */
		{ offsetof(kh_db_header, word_bits), 11, true, "a parameter" },
		{ offsetof(kh_db_header, zero), 1, true, "must be zero" },
		{ offsetof(kh_db_header, zero2) + 3000, 1, true, "must be zero" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		bytes b = slurp("a.khdb");
		kh_db_header *h = (kh_db_header *)b.p;

		b.p[bad[i].at] = bad[i].x;
		if (bad[i].repair)
			h->self = XXH3_64bits(h, offsetof(kh_db_header, self));
		FILE *f = fopen("bad.khdb", "wb");
		assert_int_equal(fwrite(b.p, 1, b.n, f), b.n);
		fclose(f);
		refused("bad.khdb", KH_EFORMAT, bad[i].want);
		free(b.p);
	}
	unlink("bad.khdb");
}

static void test_places(void **state)
{
	(void)state;
	refused("none.khdb", KH_EIO, "none.khdb: ");
	refused("/dev/null", KH_EFORMAT, "ordinary file");
	assert_int_equal(mkdir("d", 0700), 0);
	refused("d", KH_EUSAGE, "holds 0 databases");
	assert_int_equal(link("a.khdb", "d/x.khdb"), 0);
	kh_db_close(open_db("d"));
	assert_int_equal(link("a.khdb", "d/y.khdb"), 0);
	refused("d", KH_EUSAGE, "holds 2 databases");
	unlink("d/x.khdb");
	unlink("d/y.khdb");
	rmdir("d");
	fclose(fopen("empty.khdb", "w"));
	refused("empty.khdb", KH_EFORMAT, "0 bytes are too few");
	assert_int_equal(truncate("empty.khdb", 8192), 0);
	refused("empty.khdb", KH_EFORMAT, "never completed");
	unlink("empty.khdb");
}

static void test_changed(void **state)
{
	kh_db *db = open_db("a.khdb");
	struct timespec t[2] = { { 1, 2 }, { 3, 4 } };
	kh_err err = { 0, "" };

	(void)state;
	assert_int_equal(utimensat(AT_FDCWD, "a.khdb", t, 0), 0);
	assert_int_equal(kh_db_unchanged(db, &err), KH_EIO);
	assert_non_null(strstr(err.msg, "was changed"));
	kh_db_close(db);
}

/* Wrong structure under right checksums is found when the index is checked. */
static void test_damaged_range(void **state)
{
	static const kh_db_options later = { .threads = 2, .later = true };
	bytes b = slurp("a.khdb");
	kh_db_header *h = (kh_db_header *)b.p;
	const kh_seed_range *dir = (const kh_seed_range *)(b.p + h->section[KH_SEC_DIR].at);
	uint64_t *sums = (uint64_t *)(b.p + h->section[KH_SEC_SUMS].at);
	kh_db *db = NULL;
	kh_err err = { 0, "" };

	(void)state;
	b.p[h->section[KH_SEC_INDEX].at + dir[77].first_line * 64] = 255;
	assert_int_equal(h->section[KH_SEC_SUMS].bytes, 8);
	sums[0] = XXH3_64bits(b.p + KH_DB_PAGE, h->section[KH_SEC_SUMS].at - KH_DB_PAGE);
	h->sums = XXH3_64bits(sums, 8);
	h->self = XXH3_64bits(h, offsetof(kh_db_header, self));
	assert_int_equal(kh_db_open_bytes(&db, b.p, b.n, &later, &err), 0);
	assert_int_equal(kh_db_check(db, 2, &err), KH_EFORMAT);
	assert_non_null(strstr(err.msg, "range 77, "));
	kh_db_close(db);
	free(b.p);
}

static void test_writer_refuses(void **state)
{
	kh_db_writer *w = NULL;
	kh_err err = { 0, "" };

	(void)state;
	assert_int_equal(kh_db_create(&w, "/dev/null", &err), KH_EUSAGE);
	assert_int_equal(kh_db_create(&w, "no-such/x.khdb", &err), KH_EIO);
	assert_null(w);
	assert_int_equal(kh_db_create(&w, "w.khdb", &err), 0);
	assert_int_equal(kh_db_begin(w, KH_SEC_NAMES, &err), 0);
	assert_int_equal(kh_db_append(w, "root", 5, &err), 0);
	kh_db_abandon(w);
	assert_false(there("w.khdb"));
}

/* --- several databases ------------------------------------------------------------- */
/* What a joined database has is what a database of all has, but for the holes between texts, of
 * which numbers of bases know nothing. */
static void assert_same_text(const kh_db *a, const kh_db *b)
{
	const uint32_t stride = a->h->sampling.stride;

	for (uint32_t i = 0; i < a->n_kept; i++) {
		const uint64_t x = a->kept[i].first_bin * (uint64_t)stride;
		const uint64_t y = b->kept[i].first_bin * (uint64_t)stride;

		assert_int_equal(a->kept[i].target, b->kept[i].target);
		assert_int_equal(a->kept[i].bins, b->kept[i].bins);
		assert_int_equal(a->stretch[i].end - x, b->stretch[i].end - y);
		assert_int_equal(kh_db_base_number(b, y), x);
		assert_int_equal(kh_db_base_number(b, b->stretch[i].end), a->stretch[i].end);
		assert_memory_equal(a->text + x / 16, b->text + y / 16,
				    (a->kept[i].bins + 1) * stride / 4);
		assert_int_equal(a->bins.taxon[i], b->bins.taxon[i]);
		assert_int_equal(a->bins.species[i], b->bins.species[i]);
	}
}

static void test_joined(void **state)
{
	kh_db *part[3] = { NULL }, *all = open_db("a.khdb"), *db = NULL;
	char path[] = "0.khdb";
	kh_err err = { 0, "" };

	(void)state;
	for (int i = 0; i < 3; i++, path[0]++) {
		build_of(path, 1, i, 1);
		part[i] = open_db(path);
		unlink(path);
	}
	if (kh_db_join(&db, part, 3, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(db->h->digest, all->h->digest);
	assert_int_equal(db->h->bases, all->h->bases);
	assert_int_equal(db->h->n_targets, all->h->n_targets);
	assert_int_equal(db->n_kept, all->n_kept);
	assert_int_equal(db->tax->n, all->tax->n);
	assert_memory_equal(db->tax->taxid, all->tax->taxid, all->tax->n * sizeof(uint32_t));
	assert_string_equal(db->path, "0.khdb, 1.khdb, 2.khdb");
	assert_same_text(all, db);
	kh_db_close(db);
	part[0] = open_db("a.khdb");
	assert_int_equal(kh_db_join(&db, (kh_db *[]) { part[0], all }, 2, &err), KH_EUSAGE);
	assert_string_equal(err.msg, "a.khdb and a.khdb are the same database");
	kh_db_close(part[0]);
	kh_db_close(all);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return 1;
	char path[64];
	snprintf(path, sizeof path, "%s/a.khdb", folder);
	build(path, 1);
	return chdir(folder);
}

static int teardown(void **state)
{
	(void)state;
	unlink("a.khdb");
	return chdir("..") != 0 || rmdir(folder) != 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opened),         cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_every_byte),     cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_blocks),         cmocka_unit_test(test_header),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_damaged_range),   cmocka_unit_test(test_changed),
		cmocka_unit_test(test_writer_refuses), cmocka_unit_test(test_joined),
	};

	test_seed();
	return cmocka_run_group_tests_name("db", tests, setup, teardown);
}
