#include <config.h>
#include "db/kraken.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/buf.h"
#include "base/mem.h"
#include "base/threads.h"

/* --- names ------------------------------------------------------------------------ */
int kh_db_kraken_file(char **file, const char *folder, const char *name, kh_err *err)
{
	if (asprintf(file, "%s/%s", folder, name) >= 0)
		return KH_OK;
	*file = NULL;
	return kh_fail_nomem(err);
}

bool kh_db_is_kraken(const char *folder)
{
	static const char *const name[] = { KH_K2_HASH, KH_K2_TAXO, KH_K2_OPTS };
	bool is = false;

	for (size_t i = 0; i < sizeof name / sizeof *name && !is; i++) {
		char *file = NULL;

		is = kh_db_kraken_file(&file, folder, name[i], NULL) == 0 &&
		     access(file, F_OK) == 0;
		free(file);
	}
	return is;
}

bool kh_db_is_kraken_file(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash ? slash + 1 : path, KH_K2_HASH) == 0;
}

/* --- the small files -------------------------------------------------------------- */
/* Reads a file beside the table. */
static int read_beside(const kh_db *db, const char *name, char **path, kh_buf *b, kh_err *err)
{
	const char *slash = strrchr(db->path, '/');
	FILE *f = NULL;
	struct stat st;
	int rc = KH_OK;

	if (asprintf(path, "%.*s%s", slash ? (int)(slash + 1 - db->path) : 0, db->path, name) < 0) {
		*path = NULL;
		return kh_fail_nomem(err);
	}
	f = fopen(*path, "re");
	if (!f || fstat(fileno(f), &st) != 0)
		rc = kh_fail_errno(err, *path);
	else if (!S_ISREG(st.st_mode))
		rc = kh_fail(err, KH_EFORMAT, "%s: a database must be an ordinary file", *path);
	if (!rc)
		rc = kh_buf_reserve(b, (size_t)st.st_size + 1) ? KH_OK : kh_fail_nomem(err);
	if (!rc) {
		b->n = fread(b->p, 1, (size_t)st.st_size + 1, f);
		if (ferror(f))
			rc = kh_fail_errno(err, *path);
	}
	if (f)
		fclose(f);
	return rc;
}

static int parse_beside(kh_db *db, const char *name, XXH3_state_t *sum, kh_err *err)
{
	char *path = NULL;
	kh_buf b = { .n = 0 };
	int rc = read_beside(db, name, &path, &b, err);
	const kh_k2_file f = { (const unsigned char *)b.p, b.n, path };

	if (!rc)
		rc = strcmp(name, KH_K2_OPTS) == 0 ? kh_k2_parse_opts(&db->k2->rule, &f, err)
						   : kh_k2_parse_taxo(db->k2, &f, err);
	if (!rc)
		XXH3_64bits_update(sum, b.p, b.n);
	free(b.p);
	free(path);
	return rc;
}

/* --- the whole -------------------------------------------------------------------- */
/* What runs ask the header of a database for. */
static int make_header(kh_db *db, const XXH3_state_t *sum, kh_err *err)
{
	kh_db_header *h = kh_array(1, sizeof *h, err);

	if (!h)
		return KH_ENOMEM;
	h->file_bytes = db->bytes;
	h->features = db->k2->keys;
	h->n_taxa = db->tax->n;
	h->sampling.k = db->k2->rule.k;
	h->section[KH_SEC_INDEX] = (kh_db_extent) { KH_K2_HASH_HEAD,
						    db->bytes - KH_K2_HASH_HEAD };
	h->self = XXH3_64bits_digest(sum);
	snprintf(h->tool, sizeof h->tool, "Kraken 2");
	db->h = h;
	db->image = (const char *)db->map + KH_K2_HASH_HEAD;
	return KH_OK;
}

int kh_db_load_kraken(kh_db *db, const kh_db_options *o, kh_err *err)
{
	const kh_k2_file table = { db->map, db->bytes, db->path };
	XXH3_state_t *sum = XXH3_createState();
	int rc;

	db->k2 = kh_array(1, sizeof *db->k2, err);
	if (!db->k2 || !sum) {
		XXH3_freeState(sum);
		return kh_fail_nomem(err);
	}
	XXH3_64bits_reset(sum);
	rc = parse_beside(db, KH_K2_OPTS, sum, err);
	if (!rc)
		rc = parse_beside(db, KH_K2_TAXO, sum, err);
	if (!rc)
		rc = kh_k2_parse_hash(db->k2, &table, err);
	if (!rc) {
		XXH3_64bits_update(sum, db->map, KH_K2_HASH_HEAD);
		db->tax = db->k2->tax;
		db->k2->tax = NULL;
		rc = make_header(db, sum, err);
	}
	XXH3_freeState(sum);
	return rc || o->no_verify ? rc : kh_db_check_kraken(db, o->threads, err);
}

void kh_db_close_kraken(kh_db *db)
{
	if (!db->k2)
		return;
	kh_k2_clear(db->k2);
	free(db->k2);
	free((void *)(uintptr_t)db->h);
	db->k2 = NULL;
	db->h = NULL;
}

/* --- cells ------------------------------------------------------------------------ */
enum { CHUNK = 1 << 20 };

static int check_chunk(void *arg, size_t i, kh_err *err)
{
	const kh_db *db = *(const kh_db **)arg;
	const kh_k2_rule *r = &db->k2->rule;
	const uint64_t at = (uint64_t)i * CHUNK;
	const uint64_t end = r->capacity - at < CHUNK ? r->capacity : at + CHUNK;
	const uint64_t bad = kh_k2_bad_cell(r, db->image, at, end);

	if (bad < end)
		return kh_fail(err, KH_EFORMAT, "%s: cell %" PRIu64 " has taxon %" PRIu32
			       ", and the taxonomy has %" PRIu32 " nodes", db->path,
			       bad, kh_k2_read(r, db->image, bad).value, r->n_nodes);
	return KH_OK;
}

int kh_db_check_kraken(const kh_db *db, unsigned threads, kh_err *err)
{
	const uint64_t chunks = (db->k2->rule.capacity + CHUNK - 1) / CHUNK;

	return kh_each(threads, (size_t)chunks, check_chunk, &db, err);
}
