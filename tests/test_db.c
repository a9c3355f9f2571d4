/*
 * test_db.c - the database file: many blocks of checksums, of which one is damaged; several joined
 *
 * The database of data/ is built once; then its sections are read and written anew.
 * run_identical.sh has the bytes of builds, run_db.sh what is refused.
 */
#define TEST_MAIN
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
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
			       .max_unmapped = 0 };
	kh_build_summary sum;

	for (int i = 0; i < 3; i++)
		snprintf(name[i], sizeof name[i], "%s/data/genomes/%s.fa.gz", src, genome[i]);
	snprintf(dir, sizeof dir, "%s/data/taxonomy", src);
	snprintf(map, sizeof map, "%s/accession2taxid.tsv", dir);
	OK(kh_build(&o, &sum, err));
}

static void build(const char *path, unsigned threads) { build_of(path, threads, 0, 3); }

static bool there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

static kh_db *open_db(const char *path)
{
	static const kh_db_options o = { .threads = 2 };
	kh_db *db = NULL;

	OK(kh_db_open(&db, path, &o, err));
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
	char *more = malloc(extra + 1);

	for (size_t i = 0; i < extra; i++)
		more[i] = i % 1000 == 999 || i + 1 == extra ? 0 : 'x';
	h.unmapped += (extra + 999) / 1000;
	h.sequences += (extra + 999) / 1000;
	OK(kh_db_create(&w, path, err));
	for (int s = KH_SEC_INDEX; s < KH_SEC_SUMS; s++) {
		const char *from = (const char *)db->map + h.section[s].at;
		size_t n = (size_t)h.section[s].bytes, step = 4093;

		if (h.section[s].at == 0)
			continue;
		OK(kh_db_begin(w, (enum kh_section)s, err));
		for (size_t at = 0; at < n; at += step)
			OK(kh_db_append(w, from + at, n - at < step ? n - at : step, err));
		if (s == KH_SEC_UNMAPPED)
			OK(kh_db_append(w, more, extra, err));
	}
	assert_false(there(path));
	const uint64_t length = kh_db_length(w);
	OK(kh_db_commit(w, &h, err));
	assert_int_equal(h.file_bytes, length);
	kh_db_abandon(w);
	free(more);
}

/* --- the tests -------------------------------------------------------------------- */

/* More than one block of checksums; the message names the block that is damaged. */
TEST(test_blocks)
{
	kh_db *db = open_db("a.khdb");
	char want[100];

	rewrite(db, "big.khdb", 40 << 20);
	kh_db_close(db);
	db = open_db("big.khdb");
	assert_int_equal(db->h->section[KH_SEC_SUMS].bytes, 3 * 8);
	kh_db_close(db);
	int fd = open("big.khdb", O_RDWR);
	uint64_t at = KH_DB_PAGE + 2 * KH_DB_CHUNK;
	assert_int_equal(pwrite(fd, "y", 1, (off_t)at + 5), 1);
	close(fd);
	snprintf(want, sizeof want, "damaged: the checksum of bytes %llu to ",
		 (unsigned long long)at);
	refused("big.khdb", KH_EFORMAT, want);
	unlink("big.khdb");
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
		assert_int_equal(a->bins.species_row[i], b->bins.species_row[i]);
	}
}

TEST(test_joined)
{
	kh_db *part[3] = { NULL }, *all = open_db("a.khdb"), *db = NULL;
	char path[] = "0.khdb";
	kh_err err = { 0, "" };

	for (int i = 0; i < 3; i++, path[0]++) {
		build_of(path, 1, i, 1);
		part[i] = open_db(path);
		unlink(path);
	}
	if (kh_db_join(&db, part, 3, false, &err))
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
	assert_int_equal(kh_db_join(&db, (kh_db *[]) { part[0], all }, 2, false, &err), KH_EUSAGE);
	assert_string_equal(err.msg, "a.khdb and a.khdb are the same database");
	kh_db_close(part[0]);
	kh_db_close(all);
}

FIXTURE(setup)
{
	if (!mkdtemp(folder))
		return 1;
	char path[64];
	snprintf(path, sizeof path, "%s/a.khdb", folder);
	build(path, 1);
	return chdir(folder);
}

FIXTURE(teardown)
{
	unlink("a.khdb");
	return chdir("..") != 0 || rmdir(folder) != 0;
}

int main(void) { return test_run(setup, teardown); }
