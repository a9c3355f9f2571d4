/*
 * open.c - finds, maps and watches a database file
 */
#include <config.h>
#include "db/db.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/memory_left.h"
#include "base/size.h"
#include "db/in_use.h"
#include "db/join.h"
#include "db/kraken.h"
#include "db/load_in.h"
#include "db/pages.h"
#include "db/stamp.h"

int kh_db_open_bytes(kh_db **out, const void *map, uint64_t bytes, const kh_db_options *o,
		     kh_err *err)
{
	kh_db *db = kh_array(1, sizeof *db, err);
	int rc;

	if (!db)
		return KH_ENOMEM;
	db->fd = -1;
	db->path = strdup("database");
	db->map = (void *)(uintptr_t)map;
	db->bytes = bytes;
	rc = db->path ? kh_db_load(db, o, err) : kh_fail_nomem(err);
	if (rc) {
		kh_db_close(db);
		return rc;
	}
	*out = db;
	return KH_OK;
}

/* Finds the one *.khdb of a folder; *found is to be freed. */
static int find_in_folder(const char *folder, char **found, kh_err *err)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int n = 0, rc = KH_OK;

	if (!d)
		return kh_fail_errno(err, folder);
	*found = NULL;
	while ((e = readdir(d)) && !rc) {
		size_t len = strlen(e->d_name);

		if (e->d_name[0] == '.' || len < 6 || strcmp(e->d_name + len - 5, ".khdb") != 0)
			continue;
		if (n++ == 0 && asprintf(found, "%s/%s", folder, e->d_name) < 0) {
			*found = NULL;
			rc = kh_fail_nomem(err);
		}
	}
	closedir(d);
	if (!rc && n != 1) {
		free(*found);
		*found = NULL;
		rc = kh_fail(err, KH_EUSAGE, "%s: the folder holds %d databases (*.khdb), not one",
			     folder, n);
	}
	return rc;
}

int kh_db_find(char **file, const char *path, kh_err *err)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return kh_db_is_kraken(path) ? kh_db_kraken_file(file, path, KH_K2_HASH, err)
					     : find_in_folder(path, file, err);
	*file = strdup(path);
	return *file ? KH_OK : kh_fail_nomem(err);
}

static int map_file(kh_db *db, kh_err *err)
{
	struct stat st;

	db->fd = open(db->path, O_RDONLY | O_CLOEXEC);
	if (db->fd < 0 || fstat(db->fd, &st) != 0)
		return kh_fail_errno(err, db->path);
	if (!S_ISREG(st.st_mode))
		return kh_fail(err, KH_EFORMAT, "%s: a database must be an ordinary file",
			       db->path);
	db->bytes = (uint64_t)st.st_size;
	if (db->bytes < (kh_db_is_kraken_file(db->path) ? KH_K2_HASH_HEAD : sizeof(kh_db_header)))
		return kh_fail(err, KH_EFORMAT, "%s: %" PRIu64 " byte%s too few for a database",
			       db->path, db->bytes, db->bytes == 1 ? " is" : "s are");
	void *map = kh_db_map(db);
	if (map == MAP_FAILED && errno == ENOMEM)
		return kh_fail(err, KH_ENOMEM, "%s: %s to be mapped, and %s are left of the "
			       "address space (ulimit -v)", db->path, kh_size_show(db->bytes).s,
			       kh_size_show(kh_address_space_left()).s);
	if (map == MAP_FAILED)
		return kh_fail_errno(err, db->path);
	db->map = map;
	kh_db_watch(db, &st);
	return KH_OK;
}

/* Loads the database, without checking its index if that was checked before; *known: it was. */
static int load_once(kh_db *db, const kh_db_options *o, bool *known, kh_err *err)
{
	kh_db_options use = *o;
	uint64_t self;
	int rc;

	*known = !o->no_verify && o->stamps && !o->again && kh_stamp_find(db, &self);
	use.no_verify |= *known;
	rc = kh_db_is_kraken_file(db->path) ? kh_db_load_kraken(db, &use, err)
					    : kh_db_load(db, &use, err);
	if (rc || !*known)
		return rc;
	*known = self == db->h->self;
	db->unchecked = !*known && o->later;
	kh_log(KH_DEBUG, "%s was %schecked before", db->path, *known ? "" : "not ");
	if (!*known && !db->k2)
		rc = kh_db_check_text(db, o->threads, err);
	if (rc || *known || o->later)
		return rc;
	return db->k2 ? kh_db_check_kraken(db, o->threads, err) : kh_db_check(db, o->threads, err);
}

int kh_db_open(kh_db **out, const char *path, const kh_db_options *o, kh_err *err)
{
	kh_db *db = kh_array(1, sizeof *db, err);
	bool known = false;
	int rc;

	if (!db)
		return KH_ENOMEM;
	db->fd = -1;
	rc = kh_db_find(&db->path, path, err);
	if (!rc && !o->kraken && kh_db_is_kraken_file(db->path))
		rc = kh_fail(err, KH_EUSAGE, "%s: with a database of Kraken 2 reads can be "
			     "classified, and nothing else", path);
	if (!rc)
		rc = map_file(db, err);
	if (!rc)
		rc = kh_db_reason(db, load_once(db, o, &known, err), err);
	if (rc) {
		kh_db_close(db);
		return rc;
	}
	db->stamps = o->stamps;
	if (o->stamps && !known && !o->no_verify && (!o->later || db->k2))
		kh_stamp_write(db);
	*out = db;
	return KH_OK;
}

void kh_db_close(kh_db *db)
{
	if (!db)
		return;
	kh_taxonomy_free(db->tax);
	kh_db_close_kraken(db);
	kh_bin_map_clear(&db->bin_map);
	free(db->stretch);
	kh_translated_clear(&db->translated);
	if (db->fd >= 0) {
		kh_db_forget(db);
		if (db->map)
			munmap(db->map, (size_t)db->bytes);
		close(db->fd);
	}
	kh_joined_free(db->joined);
	free(db->path);
	free(db);
}
